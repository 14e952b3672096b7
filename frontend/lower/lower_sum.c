/* Lowering of sums and match, and values that only a type describes: empty arrays, and what the
 * constructors that a sum is not of would hold.
 *
 * A sum value is a tuple of scalars and arrays: the number of its constructor (i8, if there are not
 * more of them; they are sorted by name), then the components. Numbers of different constructors
 * share a component of their type; an array has its own, since whether sizes are equal is not known
 * of a type alone, and all values of a type must look alike:
 *
 *     #both f32 i32 [n]i32 | #one i32        tag  f32  i32  [n]i32
 *                                  #both      0   x    y    zs
 *                                  #one       1   0    x    zeros
 *
 * What a value does not use is zero, so that values can be compared component by component. */
#include "frontend/lower/lower_int.h"

PrimType sum_tag(const AType *at)
{
    int most = at->elems.n - 1;
    return most <= INT8_MAX ? T_I8 : most <= INT16_MAX ? T_I16 : T_I32;
}

/* --- Layouts -------------------------------------------------------------------------------- */

/* A component of sums of some type. */
typedef struct {
    PrimType elem;
    int rank;
    int user;     /* the last constructor that has taken it */
    bool nothing; /* stands for () */
} Part;
typedef VEC(Part) Parts;

/* Where constructor k has its next leaf. */
static int place_leaf(Low *L, Parts *parts, PrimType elem, int rank, int k)
{
    for (int i = 0; rank == 0 && i < parts->n; i++) {
        Part *p = &parts->at[i];
        if (p->rank || p->elem != elem || p->user == k)
            continue;
        p->user = k;
        return i;
    }
    vec_push(L->cx->perm, parts, ((Part){elem, rank, k, false}));
    return parts->n - 1;
}

static void type_leaves(Low *L, const AType *at, int rank, Parts *out);

/* The components of a sum but its number, as far as constructors before n need them; *places: those
 * of the last one, counted from 1, without what stands for (). */
static Parts sum_parts(Low *L, const AType *at, int n, SumPlaces *places)
{
    Parts parts = {0};
    for (int k = 0; k < n; k++) {
        Parts own = {0};
        for (int i = 0; i < at->elems.at[k]->elems.n; i++)
            type_leaves(L, at->elems.at[k]->elems.at[i], 0, &own);
        for (int i = 0; i < own.n; i++) {
            int place = place_leaf(L, &parts, own.at[i].elem, own.at[i].rank, k) + 1;
            if (k == n - 1 && !own.at[i].nothing)
                vec_push(L->cx->perm, places, place);
        }
    }
    return parts;
}

/* The leaves of values of a type without parameters. */
static void type_leaves(Low *L, const AType *at, int rank, Parts *out)
{
    at = type_deref(at);
    for (; at->kind == TY_ARRAY; at = type_deref(at->array.elem))
        rank++;
    if (at->kind == TY_SUM) {
        SumPlaces places = {0};
        Parts parts = sum_parts(L, at, at->elems.n, &places);
        vec_push(L->cx->perm, out, ((Part){sum_tag(at), rank, 0, false}));
        for (int i = 0; i < parts.n; i++)
            vec_push(L->cx->perm, out,
                     ((Part){parts.at[i].elem, parts.at[i].rank + rank, 0, false}));
    } else if (type_is_composite(at) && at->elems.n) {
        for (int i = 0; i < at->elems.n; i++)
            type_leaves(L, at->elems.at[i], rank, out);
    } else {
        bool scalar = at->kind == TY_SCALAR;
        vec_push(L->cx->perm, out,
                 ((Part){scalar ? at->scalar : T_BOOL, rank, 0, !scalar && !rank}));
    }
}

int sum_values(Low *L, const AType *at)
{
    Parts leaves = {0};
    type_leaves(L, at, 0, &leaves);
    return leaves.n;
}

SumPlaces sum_type_places(Low *L, const AType *at, int k)
{
    SumPlaces places = {0};
    (void)sum_parts(L, type_deref(at), k + 1, &places);
    return places;
}

Val *val_sum(Low *L, const Vals *holds, int chosen, Atom tag, int rank)
{
    Arena *a = L->cx->perm;
    SumLayout *layout = NEW(a, SumLayout);
    Parts parts = {0};
    Vals elems = {0};
    vec_push(a, &elems, val_atom(L, tag));
    layout->holds = *holds;
    for (int k = 0; k < holds->n; k++) {
        Atoms leaves = val_leaves(L, holds->at[k]);
        SumPlaces places = {0};
        for (int i = 0; i < leaves.n; i++) {
            Type t = atom_type(leaves.at[i]);
            int at = place_leaf(L, &parts, t.elem, t.rank - rank, k) + 1;
            vec_push(a, &places, at);
            if (at == elems.n)
                vec_push(a, &elems, val_atom(L, leaves.at[i]));
            else if (k == chosen)
                elems.at[at] = val_atom(L, leaves.at[i]);
        }
        vec_push(a, &layout->places, places);
    }
    Val *v = val_tuple(L, elems);
    v->sum = layout;
    return v;
}

Val *sum_holds(Low *L, const Val *v, int k)
{
    const SumPlaces *places = &v->sum->places.at[k];
    Atoms leaves = {0};
    for (int i = 0; i < places->n; i++)
        vec_push(L->cx->perm, &leaves, v->elems.at[places->at[i]]->atom);
    return val_rebuild(L, v->sum->holds.at[k], &leaves);
}

/* --- Values that only a type describes ------------------------------------------------------ */

typedef struct {
    Low *L;
    const Env *env;
    Loc loc;
    bool empty;          /* an empty array of such, else zeros */
    bool held;           /* what a sum would hold: its sizes are those of size_held */
    const AType *beside; /* another part of the same value, and its type, or NULL */
    const Val *beside_val;
} Blank;

/* The size of an array that nobody has made. One that only the run knows may be that of a value at
 * hand; else it does not matter. */
static Atom blank_size(const Blank *b, const Size *s)
{
    Atom n;
    s = size_deref(s);
    if (size_atom(b->L, b->env, b->held ? size_held(b->L, s) : s, &n))
        return n;
    if (s->kind == SZ_UNKNOWN) {
        if (b->beside && size_shown_by(b->beside, b->beside_val, s, &n))
            return n;
        if (size_met(b->L, b->env, s, &n))
            return n;
    }
    return atom_i64(0);
}

Atom zeros(Low *L, Loc loc, Type t)
{
    Atom zero = prim_is_float(t.elem) ? atom_float(t.elem, 0)
                : t.elem == T_BOOL    ? atom_bool(false)
                                      : atom_int(t.elem, 0);
    if (!t.rank)
        return zero;
    Exp *e = exp_new(L->cx, E_REPLICATE, loc);
    for (int d = 0; d < t.rank; d++)
        vec_push(L->cx->perm, &e->replicate.dims, t.dims[d]);
    e->replicate.val = zero;
    return emit(L, e);
}

static Atom blank_leaf(const Blank *b, Type t)
{
    if (!b->empty)
        return zeros(b->L, b->loc, t);
    Exp *e = exp_new(b->L->cx, E_ARRAYLIT, b->loc);
    e->arraylit.elem = t;
    return emit(b->L, e);
}

static Val *blank(const Blank *b, const AType *at, Atoms dims);

static Val *blank_parts(const Blank *b, const AType *at, Atoms dims)
{
    Vals vs = {0};
    for (int i = 0; i < at->elems.n; i++) {
        Val *v = blank(b, at->elems.at[i], dims);
        vec_push(b->L->cx->perm, &vs, v);
    }
    return val_tuple(b->L, vs);
}

static Val *blank_sum(const Blank *b, const AType *at, Atoms dims)
{
    Low *L = b->L;
    Vals holds = {0};
    Blank held = *b;
    held.held = true;
    Atom tag = blank_leaf(b, (Type){sum_tag(at), dims.n, dims.at});
    for (int k = 0; k < at->elems.n; k++) {
        Val *v = blank_parts(&held, at->elems.at[k], dims);
        vec_push(L->cx->perm, &holds, v);
    }
    return val_sum(L, &holds, -1, tag, dims.n + b->empty);
}

/* Of a type parameter: as the value that is known of it. */
static Val *blank_like(const Blank *b, const Env *en, Atoms dims)
{
    Low *L = b->L;
    Atoms as = val_leaves(L, en->val);
    for (int i = 0; i < as.n; i++) {
        Type t = type_drop(atom_type(as.at[i]), en->drop);
        as.at[i] = blank_leaf(b, type_array_n(L->cx, t, dims.at, dims.n));
    }
    return val_rebuild(L, en->val, &as);
}

/* Each array below with the dims so far. */
static Val *blank(const Blank *b, const AType *at, Atoms dims)
{
    Low *L = b->L;
    at = type_deref(at);
    switch (at->kind) {
    case TY_SCALAR: return val_atom(L, blank_leaf(b, (Type){at->scalar, dims.n, dims.at}));
    case TY_ARRAY: {
        Atoms more = {0};
        vec_append(L->cx->perm, &more, &dims);
        vec_push(L->cx->perm, &more, count_arg(L, b->loc, blank_size(b, at->array.dim)));
        return blank(b, at->array.elem, more);
    }
    case TY_TUPLE:
    case TY_RECORD:
        return at->elems.n ? blank_parts(b, at, dims)
                           : val_atom(L, blank_leaf(b, (Type){T_BOOL, dims.n, dims.at}));
    case TY_SUM: return blank_sum(b, at, dims);
    case TY_VAR: {
        const Env *en = env_find(b->env, at->var);
        if (!en) /* nobody can tell: there is no value of that type */
            return blank(b, &(AType){.kind = TY_TUPLE}, dims);
        if (!en->type)
            return blank_like(b, en, dims);
        Blank there = *b;
        there.env = en->type_env;
        there.beside = NULL;
        return blank(&there, en->type, dims);
    }
    case TY_FUN: return val_fun(L, (Fun){.kind = FUN_LAMBDA});
    case TY_META:
    case TY_ERROR: break;
    }
    ice(b->loc, "lowering: a value of no type");
}

Val *empty_array(Low *L, const Env *env, const AType *elem, Loc loc)
{
    Blank b = {.L = L, .env = env, .loc = loc, .empty = true};
    return blank(&b, elem, (Atoms){0});
}

/* Whether all arrays of the type have sizes that are known here. */
static bool sized_here(const Blank *b, const AType *at)
{
    Atom n;
    at = type_deref(at);
    if (at->kind == TY_ARRAY)
        return size_atom(b->L, b->env, size_held(b->L, size_deref(at->array.dim)), &n) &&
               sized_here(b, at->array.elem);
    for (int i = 0; type_is_composite(at) && i < at->elems.n; i++)
        if (!sized_here(b, at->elems.at[i]))
            return false;
    if (at->kind == TY_VAR) {
        const Env *en = env_find(b->env, at->var);
        Blank there = *b;
        there.env = en ? en->type_env : NULL;
        return en && (!en->type || sized_here(&there, en->type));
    }
    return at->kind != TY_FUN;
}

Val *blank_value(Low *L, const Env *env, const AType *at, Loc loc)
{
    Blank b = {.L = L, .env = env, .loc = loc};
    return sized_here(&b, at) ? blank(&b, at, (Atoms){0}) : NULL;
}

/* --- Constructors --------------------------------------------------------------------------- */

Val *lower_constr(Low *L, Env *env, const AExp *e)
{
    const AType *at = type_deref(e->type);
    int chosen = type_part(at, e->constr.name);
    Vals args = {0}, holds = {0};
    for (int i = 0; i < e->constr.elems.n; i++) {
        Val *v = lower_exp(L, env, e->constr.elems.at[i]);
        vec_push(L->cx->perm, &args, v);
    }
    Val *own = val_tuple(L, args);
    Blank b = {.L = L, .env = env, .loc = low_loc(L, e->loc), .held = true};
    b.beside = at->elems.at[chosen];
    b.beside_val = own;
    for (int k = 0; k < at->elems.n; k++) {
        Val *v = k == chosen ? own : blank_parts(&b, at->elems.at[k], (Atoms){0});
        vec_push(L->cx->perm, &holds, v);
    }
    return val_sum(L, &holds, chosen, atom_int(sum_tag(at), chosen), 0);
}

/* --- match ---------------------------------------------------------------------------------- */

static Atom matches(Low *L, const Pat *p, const Val *v);

static Atom all_match(Low *L, const Pats *ps, const Val *v)
{
    Atom all = atom_bool(true);
    for (int i = 0; i < ps->n; i++)
        all = emit_both(L, ps->at[i]->loc, all, matches(L, ps->at[i], v->elems.at[i]));
    return all;
}

/* Whether v is of the pattern's form. Only looks at numbers: those of another constructor are there
 * too, and do no harm. */
static Atom matches(Low *L, const Pat *p, const Val *v)
{
    Loc loc = low_loc(L, p->loc);
    Atom ok = atom_bool(true);
    switch (p->kind) {
    case P_VAR:
    case P_WILD: return ok;
    case P_ASCRIBE: return matches(L, p->pat, v);
    case P_TUPLE: return p->elems.n ? all_match(L, &p->elems, v) : ok;
    case P_RECORD:
        for (int i = 0; i < p->elems.n; i++)
            ok = emit_both(
                L, loc, ok,
                matches(L, p->elems.at[i], lower_project(p->type, v, p->names.at[i], p->loc)));
        return ok;
    case P_LIT: return emit_op(L, loc, OP_EQ, v->atom, val_scalar(lower_exp(L, NULL, p->lit), loc));
    case P_CONSTR: {
        const AType *at = type_deref(p->type);
        int k = type_part(at, p->name);
        if (at->elems.n > 1)
            ok = emit_op(L, loc, OP_EQ, v->elems.at[0]->atom, atom_int(sum_tag(at), k));
        return emit_both(L, loc, ok, all_match(L, &p->elems, sum_holds(L, v, k)));
    }
    }
    ice(p->loc, "no pattern");
}

/* Cases that may be the one: all but the last have a test that only the run decides. */
typedef struct {
    Low *L;
    Env *env;
    const AExp *e;
    Val *what;
    VEC(const Case *) cases;
    Atoms tests;
} Match;

static Val *lower_case(const Match *m, int i)
{
    const Case *c = m->cases.at[i];
    return lower_exp(m->L, bind_pat(m->L, m->env, c->pat, m->what), c->body);
}

/* One of the cases first to last: if `first` is the case, or, when they are many, by the number of
 * the one that is (`at`), so that a thousand of them do not nest a thousand deep. */
static Val *lower_cases(const Match *m, int first, int last, const Atom *at)
{
    Low *L = m->L;
    if (first == last)
        return lower_case(m, first);
    Loc loc = low_loc(L, m->e->loc);
    int mid = at ? (first + last) / 2 : first;
    Atom test = at ? emit_op(L, loc, OP_LE, *at, atom_int(T_I32, mid)) : m->tests.at[first];
    Scope *s1 = scope_push(L);
    Val *v1 = lower_cases(m, first, mid, at);
    scope_pop(L, s1);
    Scope *s2 = scope_push(L);
    Val *v2 = lower_cases(m, mid + 1, last, at);
    scope_pop(L, s2);
    return join_branches(L, loc, test, s1, v1, s2, v2, m->e->type, m->env);
}

Val *lower_match(Low *L, Env *env, const AExp *e)
{
    enum { MANY = 8 };
    Match m = {.L = L, .env = env, .e = e, .what = lower_exp(L, env, e->match.e)};
    for (int i = 0; i < e->match.cases.n; i++) {
        const Case *c = &e->match.cases.at[i];
        bool last = i == e->match.cases.n - 1; /* they cover all values */
        Atom test = last ? atom_bool(true) : matches(L, c->pat, m.what);
        if (!test.var && !test.c.i)
            continue;
        vec_push(L->cx->perm, &m.cases, c);
        vec_push(L->cx->perm, &m.tests, test);
        if (!test.var)
            break;
    }
    if (m.cases.n > 1)
        preload_sizes(L, env, e->type, NULL);
    int last = m.cases.n - 1;
    if (m.cases.n <= MANY)
        return lower_cases(&m, 0, last, NULL);
    Atom at = atom_int(T_I32, last);
    for (int i = last - 1; i >= 0; i--)
        at = emit_choice(L, low_loc(L, m.cases.at[i]->loc), m.tests.at[i], atom_int(T_I32, i), at);
    return lower_cases(&m, 0, last, &at);
}
