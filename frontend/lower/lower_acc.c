/* Lowering of accumulators. A function that writes to one cannot ask what was written: all that it
 * does to it is to make a list. So an accumulator is such a list, which whoever applies the
 * function gives it, with room for as many writes as there will be; `streamed` of the prelude
 * counts them, and has scatter or reduce_by_index take what the lists of all elements hold.
 *
 *     \acc x -> if x > 0 then write acc i x else acc        of one write becomes
 *     \x -> if x > 0 then (i, x) else (-1, 0)
 *
 * A short list is a component for each write, which are scalars of the program in the end; a long
 * one an array of indices and one of values, with `write` as an update. */
#include "frontend/lower/lower_int.h"

enum {
    FEW_WRITES = 4, /* up to so many a list is short */
    MANY_WRITES =
        64 /* more of them are counted, even if all elements can be seen to make as many */
};

static bool is_short(Atom room)
{
    return !room.var && room.c.i <= FEW_WRITES;
}

/* The shape of one write's value: that of the rows of `like`, or of an array of `room` of them. */
static Type value_type(Low *L, Atom like, const Atom *room)
{
    Type t = type_row(atom_type(like));
    return room ? type_array(L->cx, t, *room) : t;
}

/* --- Lists ---------------------------------------------------------------------------------- */

/* The values of a new list for arrays like dest. */
static Val *no_values(Low *L, Loc loc, const Val *dest, const Atom *room)
{
    Atoms as = val_leaves(L, dest);
    for (int i = 0; i < as.n; i++)
        as.at[i] = zeros(L, loc, value_type(L, as.at[i], room));
    return val_rebuild(L, dest, &as);
}

/* Arrays of the types of dest's, which nobody looks into. */
static Val *sizes_alone(Low *L, Loc loc, const Val *dest)
{
    Atoms as = val_leaves(L, dest);
    for (int i = 0; i < as.n; i++) {
        Exp *e = exp_new(L->cx, E_SCRATCH, loc);
        e->scratch.type = atom_type(as.at[i]);
        as.at[i] = emit(L, e);
    }
    return val_rebuild(L, dest, &as);
}

/* An accumulator for arrays like dest, of no writes. The index of what is not written is no
 * array's. */
static Val *acc_new(Low *L, Loc loc, Atom room, const Val *dest)
{
    Vals parts = {0}, at = {0}, values = {0};
    Atom none = atom_i64(-1);
    vec_push(L->cx->perm, &parts, sizes_alone(L, loc, dest));
    vec_push(L->cx->perm, &parts, val_atom(L, atom_i64(0)));
    if (is_short(room)) {
        for (int i = 0; i < room.c.i; i++) {
            vec_push(L->cx->perm, &at, val_atom(L, none));
            vec_push(L->cx->perm, &values, no_values(L, loc, dest, NULL));
        }
        vec_push(L->cx->perm, &parts, val_tuple(L, at));
        vec_push(L->cx->perm, &parts, val_tuple(L, values));
    } else {
        Atom is = emit(L, exp_replicate(L->cx, loc, room, none));
        vec_push(L->cx->perm, &parts, val_atom(L, is));
        vec_push(L->cx->perm, &parts, no_values(L, loc, dest, &room));
    }
    return val_tuple(L, parts);
}

/* --- Writes --------------------------------------------------------------------------------- */

/* Component i of a short list, `old`, after write number n of x. */
static Val *put_short(Low *L, Loc loc, Val *old, int i, Atom n, Val *x)
{
    Atoms as = val_leaves(L, old), xs = val_leaves(L, fit_like(L, loc, x, old));
    Atom here = emit_op(L, loc, OP_EQ, n, atom_i64(i));
    for (int k = 0; k < as.n; k++)
        as.at[k] = emit_choice(L, loc, here, xs.at[k], as.at[k]);
    return val_rebuild(L, old, &as);
}

/* The arrays of a long list after write number n of x. There is room, since the same function was
 * applied to count; but a sum of floats in it may come out otherwise now, so that is checked. */
static Val *put_long(Low *L, Loc loc, const Val *old, Atom n, Val *x)
{
    Atoms as = val_leaves(L, old), xs = val_leaves(L, x);
    ASSERT(as.n == xs.n);
    for (int k = 0; k < as.n; k++) {
        Type t = value_type(L, as.at[k], NULL);
        Exp *e = exp_new(L->cx, E_UPDATE, loc);
        e->update.arr = as.at[k];
        e->update.val = fit_atom(L, loc, xs.at[k], t.dims, t.rank);
        vec_push(L->cx->perm, &e->update.at, ((DimIndex){.start = n}));
        for (int d = 0; d < t.rank; d++) {
            DimIndex all = {true, atom_i64(0), t.dims[d], atom_i64(1)};
            vec_push(L->cx->perm, &e->update.at, all);
        }
        as.at[k] = emit(L, e);
    }
    return val_rebuild(L, old, &as);
}

/* What was written to acc at `part`, ACC_AT or ACC_VALUES, and x. */
static Val *put(Low *L, Loc loc, const Vals *acc, int part, Val *x)
{
    Val *old = acc->at[part];
    Atom n = acc->at[ACC_COUNT]->atom;
    Vals all = {0};
    if (acc->at[ACC_AT]->kind == V_ATOM)
        return put_long(L, loc, old, n, x);
    for (int i = 0; i < old->elems.n; i++)
        vec_push(L->cx->perm, &all, put_short(L, loc, old->elems.at[i], i, n, x));
    return val_tuple(L, all);
}

static Val *lower_write(Low *L, const Call *c)
{
    const Vals *acc = &c->arg[0]->elems;
    Vals parts = {0};
    Atom n = emit_op(L, c->loc, OP_ADD, acc->at[ACC_COUNT]->atom, atom_i64(1));
    vec_push(L->cx->perm, &parts, acc->at[ACC_LIKE]);
    vec_push(L->cx->perm, &parts, val_atom(L, n));
    vec_push(L->cx->perm, &parts, put(L, c->loc, acc, ACC_AT, c->arg[1]));
    vec_push(L->cx->perm, &parts, put(L, c->loc, acc, ACC_VALUES, c->arg[2]));
    return val_tuple(L, parts);
}

/* --- What a function writes ----------------------------------------------------------------- */

/* The accumulator that f returns of a new one with that much room. */
static const Vals *written_by(Low *L, Val *f, Atom room, const Val *dest, Val *x, Loc loc)
{
    Val *outer = L->acc;
    Val *acc = L->acc = acc_new(L, loc, room, dest);
    acc = apply2(L, f, acc, x, loc);
    L->acc = outer;
    return &acc->elems;
}

/* Leaf k of the components of a short list as an array. */
static Atom short_as_array(Low *L, Loc loc, const Val *list, int k, Type elem)
{
    Exp *e = exp_new(L->cx, E_ARRAYLIT, loc);
    e->arraylit.elem = elem;
    for (int i = 0; i < list->elems.n; i++)
        vec_push(L->cx->perm, &e->arraylit.elems, val_leaves(L, list->elems.at[i]).at[k]);
    return emit(L, e);
}

/* acc_list room dest f x: how many writes f makes for x, and the first of them. */
static Val *lower_acc_list(Low *L, const Call *c)
{
    Val *dest = c->arg[1];
    Atom room = c->arg[0]->atom;
    const Vals *acc = written_by(L, c->arg[2], room, dest, c->arg[3], c->loc);
    Val *at = acc->at[ACC_AT], *values = acc->at[ACC_VALUES];
    Vals res = {0};
    if (is_short(room)) {
        Atoms as = val_leaves(L, dest);
        for (int k = 0; k < as.n; k++)
            as.at[k] = short_as_array(L, c->loc, values, k, value_type(L, as.at[k], NULL));
        at = val_atom(L, short_as_array(L, c->loc, at, 0, type_prim(T_I64)));
        values = val_rebuild(L, dest, &as);
    }
    vec_push(L->cx->perm, &res, acc->at[ACC_COUNT]);
    vec_push(L->cx->perm, &res, at);
    vec_push(L->cx->perm, &res, values);
    return val_tuple(L, res);
}

/* --- How many writes a function makes ------------------------------------------------------- */

/* A body, and those around it, all inside of a function that writes; what it binds besides its
 * statements. */
typedef struct Around {
    const Stms *stms;
    const Vars *params;
    const Var *i;
    const struct Around *up;
} Around;

/* The expression whose result number *res is v, and the body that it stands in; NULL: there is no
 * such statement. */
static const Exp *made_by(const Around **at, const Var *v, int *res)
{
    for (; *at; *at = (*at)->up)
        for (int i = (*at)->stms->n; i-- > 0;) {
            *res = vars_find(&(*at)->stms->at[i].pat, v);
            if (*res >= 0)
                return (*at)->stms->at[i].exp;
        }
    return NULL;
}

/* Makes of the number one that is computed here, outside of these bodies; false if it depends on
 * more than scalars that they compute of what is known outside. */
static bool computed_outside(Low *L, const Around *at, Atom *n)
{
    int res;
    for (const Around *in = at; n->var && in; in = in->up)
        if (in->i == n->var || (in->params && vars_find(in->params, n->var) >= 0))
            return false;
    const Exp *e = n->var ? made_by(&at, n->var, &res) : NULL;
    if (!e)
        return true;
    if (exp_traps(e) || (e->kind != E_PRIM && e->kind != E_CONV))
        return false;
    Exp *c = arena_memdup(L->cx->perm, e, sizeof *e);
    if (e->kind == E_CONV && !computed_outside(L, at, &c->conv.arg))
        return false;
    if (e->kind == E_PRIM) {
        c->prim.args = (Atoms){0};
        vec_append(L->cx->perm, &c->prim.args, &e->prim.args);
        for (int i = 0; i < c->prim.args.n; i++)
            if (!computed_outside(L, at, &c->prim.args.at[i]))
                return false;
    }
    *n = emit(L, c);
    return true;
}

/* The most writes that there can be, if that is seen. Exact: there are as many. Any number of exact
 * ones will do for lists of all elements; of others, which leave room, few. */
typedef struct {
    bool seen, exact;
    Atom n;
} Most;

static Most most_writes(Low *L, const Around *at, Atom n);

static Most most_in(Low *L, const Body *b, const Vars *params, const Var *i, const Around *up,
                    int res)
{
    Around at = {&b->stms, params, i, up};
    return most_writes(L, &at, b->res.at[res]);
}

/* The larger one. */
static Most either(Most a, Most b)
{
    if (!a.seen || !b.seen)
        return (Most){0};
    if (atom_eq(a.n, b.n))
        return (Most){true, a.exact && b.exact, a.n};
    return (Most){!a.n.var && !b.n.var, false, a.n.c.i > b.n.c.i ? a.n : b.n};
}

static Most most_of_loop(Low *L, const Around *at, const Exp *e, int res)
{
    Most before = most_writes(L, at, e->loop.inits.at[res]);
    Most each = most_in(L, e->loop.body, &e->loop.params, e->loop.i, at, res);
    Atom turns = e->loop.bound;
    if (e->loop.kind != LOOP_FOR || !before.seen || !each.seen || !computed_outside(L, at, &turns))
        return (Most){0};
    turns = at_least_0(L, e->loc, emit_conv(L, e->loc, T_I64, turns));
    Atom n = emit_op(L, e->loc, OP_ADD, before.n, emit_op(L, e->loc, OP_MUL, turns, each.n));
    return (Most){true, before.exact && each.exact, n};
}

/* Of n, which counts writes from 0 in the innermost of these bodies, or from what a parameter of
 * the loop around it is. */
static Most most_writes(Low *L, const Around *at, Atom n)
{
    int res;
    const Exp *e = n.var ? made_by(&at, n.var, &res) : NULL;
    Most m = {true, true, n.var ? atom_i64(0) : n};
    if (!e)
        return m;
    if (e->kind == E_PRIM && e->prim.op == OP_ADD) {
        m = most_writes(L, at, e->prim.args.at[0]);
        if (m.seen)
            m.n = emit_op(L, e->loc, OP_ADD, m.n, e->prim.args.at[1]); /* a constant */
    } else if (e->kind == E_IF) {
        m = either(most_in(L, e->branch.then_, NULL, NULL, at, res),
                   most_in(L, e->branch.else_, NULL, NULL, at, res));
    } else if (e->kind == E_LOOP) {
        m = most_of_loop(L, at, e, res);
    } else {
        return (Most){0};
    }
    bool much_room = !m.exact && (m.n.var || m.n.c.i > MANY_WRITES);
    return much_room ? (Most){0} : m;
}

/* acc_most dest f xs: 0 if it cannot be seen how many writes f makes at most for an element of xs,
 * else 1 if it is one, 2 if it is another number; and the number. */
static Val *lower_acc_most(Low *L, const Call *c)
{
    Vars params = {0};
    Scope *sc = scope_push(L); /* nothing of it stays */
    Val *x = params_like(L, c->arg[2], true, &params, c->loc);
    const Vals *acc = written_by(L, c->arg[1], atom_i64(0), c->arg[0], x, c->loc);
    scope_pop(L, sc);
    Around body = {&sc->bld.stms, &params, NULL, NULL};
    Most most = most_writes(L, &body, acc->at[ACC_COUNT]->atom);
    int how = !most.seen ? 0 : atom_is_int(most.n, 1) ? 1 : 2;
    return val_pair(L, val_atom(L, atom_i64(how)), val_atom(L, most.n));
}

Val *lower_accumulator(Low *L, const Call *c)
{
    switch ((int)c->id) {
    case BI_ACC_WRITE: return lower_write(L, c);
    case BI_ACC_LIST: return lower_acc_list(L, c);
    case BI_ACC_MOST: return lower_acc_most(L, c);
    default: return NULL;
    }
}
