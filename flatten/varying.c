/* Rule G12: loops whose number of turns varies with the nest around them, with parallelism inside.
 *
 *     S |- loop p = a while c do b   =>   n, which = those of S for which c holds first
 *                                         loop (n, live, which, ps = as, rs) while live > 0 do
 *                                           (if live < n: rows of rs become what those that have
 *                                            ended gave; which and ps, of those that have not)
 *                                           S', <p in ps> |- b       (S': elements `which` of S)
 *                                           live = how many c still holds for
 *
 * Those that have ended do nothing any more, so that nothing has to be masked: what could fail, or
 * not end, is not done. What all elements that turn know alike, a counter, stays one number.
 *
 * Arrays whose size is another one for each element, or in each turn, are rows (carried.c): ps has
 * their offsets and the data of all that are listed, rs a shelf. They become what the body gives as
 * rows; where they leave or stay, live ones alone are moved. */
#include "flatten/rules.h"

static const MapNest host_nest;

/* --- G12: loops ----------------------------------------------------------------------------- */

/* A size of rows that the loop carries: one of its params, or what varies with S. */
typedef struct {
    Atom width;
    int param; /* -1: none */
} SizeOf;

typedef struct {
    Flat *fl;
    const MapNest *S;
    const Exp *e;
    const Vars *pat;
    VarSet *variant; /* of S and the params */
    Atom rows;       /* elements of S */
    VEC(SizeOf) sizes;
} Turning;

/* Before a turn: the elements listed, and for each param an array of their values, or, where it
 * does not vary, its value; of rows the data. */
typedef struct {
    Subset those;
    Atom turn; /* FOR: its number */
    Atoms vals;
    Atom ends;          /* one more than there are elements */
    Atoms offs, points; /* of each size */
} State;

/* What those have that have ended: by param; of rows the data on the shelf of their size. */
typedef struct {
    Atoms vals;
    VEC(Shelf) shelves;
} Ended;

static bool is_variant(const Turning *t, int k)
{
    return varset_has(t->variant, t->e->loop.params.at[k]);
}

static bool is_size(const Turning *t, int k)
{
    for (int c = 0; c < t->sizes.n; c++)
        if (t->sizes.at[c].param == k)
            return true;
    return false;
}

/* The number of the size that param k has as rows; -1: it is none. */
static int size_of(const Turning *t, int k)
{
    Type p = t->e->loop.params.at[k]->type;
    for (int c = 0; c < t->sizes.n && p.rank > 0; c++)
        if (atom_eq(t->sizes.at[c].width, p.dims[0]))
            return c;
    return -1;
}

/* A value for each element, of the same size for all. */
static bool is_value(const Turning *t, int k)
{
    return is_variant(t, k) && !is_size(t, k) && size_of(t, k) < 0;
}

static void find_sizes(Turning *t)
{
    const Vars *ps = &t->e->loop.params;
    for (int k = 0; k < ps->n; k++) {
        Type p = ps->at[k]->type;
        if (p.rank == 0 || size_of(t, k) >= 0 ||
            (!atom_variant(t->variant, p.dims[0]) && !size_turns(t->e, p.dims[0])))
            continue;
        int param = vars_find(ps, p.dims[0].var);
        vec_push(t->fl->cx->perm, &t->sizes, (SizeOf){p.dims[0], param});
    }
}

/* The elements listed, with their params. */
static MapNest nest_of_state(const Turning *t, const State *st, Var **elem)
{
    Flat *fl = t->fl;
    MapNest N = nest_of_subset(fl, t->S, st->those, elem, t->e->loc);
    for (int k = 0; k < t->e->loop.params.n; k++)
        if (is_value(t, k))
            nest_extend(fl, &N, t->e->loop.params.at[k], st->vals.at[k]);
    for (int c = 0; c < t->sizes.n; c++) {
        Ragged r = {.rows = st->those.n, .offs = st->offs.at[c], .points = st->points.at[c]};
        r.width = t->sizes.at[c].width.var;
        if (t->sizes.at[c].param >= 0)
            know_sizes(fl, &N, t->sizes.at[c].width.var, r, t->e->loc);
        else
            vec_push(fl->cx->perm, &N.ragged, r);
    }
    for (int k = 0; k < t->e->loop.params.n; k++) {
        int c = size_of(t, k);
        if (c >= 0)
            know_row(fl, &N, t->e->loop.params.at[k], st->vals.at[k], t->sizes.at[c].width,
                     known_ragged(&N, t->sizes.at[c].width.var), t->e->loc);
    }
    return N;
}

/* Is there another turn for an element of the nest above? */
static Atom goes_on(const Turning *t, const State *st, Bld *bl)
{
    const Exp *e = t->e;
    if (e->loop.kind == LOOP_WHILE) {
        int k = vars_find(&e->loop.params, e->loop.cond);
        return is_variant(t, k) ? atom_var(e->loop.cond) : st->vals.at[k];
    }
    return bld_exp(bl, "on", exp_binop(t->fl->cx, e->loc, OP_LT, st->turn, e->loop.bound));
}

static Atom count_live(const Turning *t, const State *st, Bld *out)
{
    MapNest N = nest_of_state(t, st, NULL);
    Bld bl = bld_new(t->fl->cx);
    Atom on = goes_on(t, st, &bl);
    Atom live = count_flags(t->fl, &N, &bl, on, t->e->loc, out);
    live.var->base = "live";
    return live;
}

/* The same values of some of those listed: at.which are places in the list. Of rows the elements'
 * own; *widths: how long they are. */
static State state_of_some(const Turning *t, const State *st, Subset at, MapNest *N, Atoms *widths,
                           Bld *bl)
{
    Ctx *cx = t->fl->cx;
    Loc loc = t->e->loc;
    Vars places = {0};
    Atoms arrs = {0}, begins = {0};
    vec_push(cx->perm, &places, var_new(cx, "place", type_prim(T_I64), loc));
    vec_push(cx->perm, &arrs, at.which);
    *N = nest_push(t->fl, &host_nest, at.n, &places, &arrs);
    Atom place = atom_var(places.at[0]);
    State r = {.those = {at.n, {0}}, .turn = st->turn};
    r.those.which = bld_exp(bl, "elem", exp_index(cx, loc, st->those.which, &place, 1, true));
    for (int c = 0; c < t->sizes.n; c++) {
        Atom offs = st->offs.at[c], next = bld_binop(bl, loc, OP_ADD, place, atom_i64(1));
        Atom begin = bld_exp(bl, "begin", exp_index(cx, loc, offs, &place, 1, true));
        Atom end = bld_exp(bl, "end", exp_index(cx, loc, offs, &next, 1, true));
        vec_push(cx->perm, &begins, begin);
        vec_push(cx->perm, widths, bld_exp(bl, "n", exp_binop(cx, loc, OP_SUB, end, begin)));
    }
    for (int k = 0; k < st->vals.n; k++) {
        Atom v = st->vals.at[k];
        const char *base = t->e->loop.params.at[k]->base;
        int c = size_of(t, k);
        if (c >= 0)
            v = view_of_row(t->fl, v, base, begins.at[c], widths->at[c], loc, bl);
        else if (is_value(t, k))
            v = bld_exp(bl, base, exp_index(cx, loc, v, &place, 1, true));
        vec_push(cx->perm, &r.vals, v);
    }
    N->dims.at[0].pre = bl->stms;
    return r;
}

/* What the elements `elem` of N have become results: vals by param. */
static void put_ended(const Turning *t, MapNest *N, Atom elem, const Atoms *widths,
                      const Atoms *vals, Ended *ended, Bld *out)
{
    Ctx *cx = t->fl->cx;
    Loc loc = t->e->loc;
    Atoms mine = {0}, to = {0};
    for (int k = 0; k < vals->n; k++)
        if (!is_size(t, k) && size_of(t, k) < 0) {
            vec_push(cx->perm, &mine, vals->at[k]);
            vec_push(cx->perm, &to, ended->vals.at[k]);
        }
    put_rows(t->fl, N, elem, &mine, &to, loc, out);
    for (int k = 0, m = 0; k < vals->n; k++)
        if (!is_size(t, k) && size_of(t, k) < 0)
            ended->vals.at[k] = to.at[m++];
    for (int c = 0; c < t->sizes.n; c++) {
        Atoms rows = {0}, data = {0};
        for (int k = 0; k < vals->n; k++)
            if (size_of(t, k) == c) {
                vec_push(cx->perm, &rows, vals->at[k]);
                vec_push(cx->perm, &data, ended->vals.at[k]);
            }
        shelve_rows(t->fl, N, elem, widths->at[c], &rows, &ended->shelves.at[c], &data, loc, out);
        for (int k = 0, m = 0; k < vals->n; k++)
            if (size_of(t, k) == c)
                ended->vals.at[k] = data.at[m++];
    }
}

/* Rows of results become what those at the places `at` of the list have. */
static void put_results(const Turning *t, const State *st, Subset at, Ended *ended, Bld *out)
{
    MapNest N;
    Atoms widths = {0};
    Bld bl = bld_new(t->fl->cx);
    State some = state_of_some(t, st, at, &N, &widths, &bl);
    put_ended(t, &N, some.those.which, &widths, &some.vals, ended, out);
}

/* The list of those at some places, and their values, moved together. */
static State keep_some(const Turning *t, const State *st, Subset at, Atom ends, Bld *out)
{
    MapNest N;
    Flat *fl = t->fl;
    Loc loc = t->e->loc;
    Atoms widths = {0};
    Bld bl = bld_new(fl->cx);
    State some = state_of_some(t, st, at, &N, &widths, &bl);
    Seg sg = {.kind = E_SEGMAP, .S = &N, .loc = loc};
    vec_push(fl->cx->perm, &sg.res, some.those.which);
    for (int k = 0; k < some.vals.n; k++)
        if (is_value(t, k) && atom_type(some.vals.at[k]).rank == 0)
            vec_push(fl->cx->perm, &sg.res, some.vals.at[k]);
    Atoms numbers = bld_exps(out, "kept", seg_make(fl, &sg));
    some.those.which = numbers.at[0];
    for (int k = 0, m = 1; k < some.vals.n; k++) {
        if (!is_value(t, k))
            continue;
        Atom v = some.vals.at[k];
        some.vals.at[k] =
            atom_type(v).rank == 0 ? numbers.at[m++] : expand_atom(fl, &N, v, "kept", loc, out);
    }
    for (int c = 0; c < t->sizes.n; c++) {
        const Ragged r = carried_sizes(fl, &N, widths.at[c], loc, out);
        vec_push(fl->cx->perm, &some.offs, flat_rows(fl, r.offs, 1, ends, loc, out));
        vec_push(fl->cx->perm, &some.points, r.points);
        for (int k = 0; k < some.vals.n; k++)
            if (size_of(t, k) == c)
                some.vals.at[k] = carried_data(fl, &N, some.vals.at[k], &r, loc, out);
    }
    return some;
}

/* --- The parts of a state, one behind the other ----------------------------------------------- */

/* To a list, or from it. */
typedef struct {
    Ctx *cx;
    Atoms *list;
    int from; /* -1: to it */
    struct {
        const char *base;
        Var *as;  /* what it is called in the loop */
        int size; /* the part that is its size; -1: it is known outside */
    } * what;     /* of each part; NULL: nobody asks */
} Parts;

static int part(Parts *p, Atom *a, const char *base, Var *as, int size)
{
    if (p->from >= 0) {
        *a = p->list->at[p->from];
        return p->from++;
    }
    if (p->what) {
        p->what[p->list->n].base = base;
        p->what[p->list->n].as = as;
        p->what[p->list->n].size = size;
    }
    vec_push(p->cx->perm, p->list, *a);
    return p->list->n - 1;
}

/* n, ends: the parts that say how many there are. */
static void state_parts(const Turning *t, Parts *p, State *st, int n, int ends, bool alike)
{
    part(p, &st->those.which, "which", NULL, n);
    for (int k = 0; k < st->vals.n; k++) {
        Var *v = t->e->loop.params.at[k];
        Atom *a = &st->vals.at[k];
        if (size_of(t, k) >= 0) {
            Atom room = p->from < 0 ? atom_type(*a).dims[0] : atom_i64(0);
            int size = part(p, &room, "room", NULL, -1);
            part(p, a, plural(t->fl, v->base, 1), NULL, size);
        } else if (is_value(t, k)) {
            part(p, a, plural(t->fl, v->base, 1), NULL, n);
        } else if (alike && !is_size(t, k)) {
            part(p, a, v->base, v, -1);
        }
    }
    for (int c = 0; c < t->sizes.n; c++) {
        part(p, &st->offs.at[c], "offs", NULL, ends);
        part(p, &st->points.at[c], "points", NULL, -1);
    }
}

static void ended_parts(const Turning *t, Parts *p, Ended *ended)
{
    int *rooms = NEWN(t->fl->cx->perm, int, t->sizes.n + 1);
    for (int c = 0; c < t->sizes.n; c++) {
        Shelf *sh = &ended->shelves.at[c];
        part(p, &sh->used, "used", NULL, -1);
        rooms[c] = part(p, &sh->room, "room", NULL, -1);
        part(p, &sh->starts, "starts", NULL, -1);
        part(p, &sh->widths, "widths", NULL, -1);
    }
    for (int k = 0; k < ended->vals.n; k++) {
        int c = size_of(t, k);
        const char *base = plural(t->fl, t->pat->at[k]->base, 1);
        if (!is_size(t, k))
            part(p, &ended->vals.at[k], base, NULL, c >= 0 ? rooms[c] : -1);
    }
}

/* Copies, to which parts may come. */
static State state_copy(const Turning *t, const State *st)
{
    State r = *st;
    Arena *mem = t->fl->cx->perm;
    r.vals = r.offs = r.points = (Atoms){0};
    vec_append(mem, &r.vals, &st->vals);
    vec_append(mem, &r.offs, &st->offs);
    vec_append(mem, &r.points, &st->points);
    return r;
}

static Ended ended_copy(const Turning *t, const Ended *ended)
{
    Ended r = {0};
    vec_append(t->fl->cx->perm, &r.vals, &ended->vals);
    vec_append(t->fl->cx->perm, &r.shelves, &ended->shelves);
    return r;
}

static Atoms all_parts(const Turning *t, State *st, Ended *ended)
{
    Atoms list = {0};
    Parts p = {t->fl->cx, &list, -1, NULL};
    state_parts(t, &p, st, -1, -1, false);
    if (ended)
        ended_parts(t, &p, ended);
    return list;
}

/* --- Turns ------------------------------------------------------------------------------------ */

/* The same list, which has so many elements, as is known outside. */
static State with_counts(const Turning *t, const State *st, Atom n, Atom ends, Bld *out)
{
    Flat *fl = t->fl;
    Loc loc = t->e->loc;
    State r = state_copy(t, st);
    r.those.which = flat_rows(fl, st->those.which, 1, n, loc, out);
    for (int k = 0; k < st->vals.n; k++)
        if (is_value(t, k))
            r.vals.at[k] = flat_rows(fl, st->vals.at[k], 1, n, loc, out);
    for (int c = 0; c < t->sizes.n; c++)
        r.offs.at[c] = flat_rows(fl, st->offs.at[c], 1, ends, loc, out);
    return r;
}

/* If some of those listed have ended, what they have are results, and they leave the list. */
static State leave_ended(const Turning *t, const State *st, Atom live, Ended *ended, Bld *out)
{
    Flat *fl = t->fl;
    Loc loc = t->e->loc;
    Bld all = bld_new(fl->cx), some = bld_new(fl->cx);
    Ended kept = ended_copy(t, ended), more = ended_copy(t, ended);
    Atom ends = {0};
    if (t->sizes.n)
        ends = bld_binop(out, loc, OP_ADD, live, atom_i64(1));
    State before = with_counts(t, st, live, ends, &all);
    Atoms as_before = all_parts(t, &before, &kept);

    MapNest N = nest_of_state(t, st, NULL);
    Subset on = {.n = live}, gone = {.n = live};
    Bld bl = bld_new(fl->cx);
    Atom flag = goes_on(t, st, &bl);
    part_places(fl, &N, &bl, flag, &on, &gone, loc, &some);
    put_results(t, st, gone, &more, &some);
    State less = keep_some(t, st, on, ends, &some);
    Atoms now = all_parts(t, &less, &more);

    Exp *same = exp_binop(fl->cx, loc, OP_EQ, live, st->those.n);
    Exp *e = exp_if(fl->cx, loc, bld_exp(out, "same", same), bld_body(&all, as_before),
                    bld_body(&some, now));
    Atoms made = bld_exps(out, "left", e);
    Parts p = {fl->cx, &made, 0, NULL};
    State r = state_copy(t, &before);
    *ended = kept;
    r.those.n = live;
    r.ends = ends;
    state_parts(t, &p, &r, -1, -1, false);
    ended_parts(t, &p, ended);
    return r;
}

/* All elements' results, by param, and the offsets of rows. */
typedef struct {
    Atoms vals, offs, points;
} Results;

/* At the end: those in the list have ended. If nobody has left it, their values are the results. */
static Results last_results(const Turning *t, const State *st, Ended *ended, Bld *out)
{
    Flat *fl = t->fl;
    Ctx *cx = fl->cx;
    Loc loc = t->e->loc;
    Bld all = bld_new(cx), some = bld_new(cx);
    Atom ends = {0};
    if (t->sizes.n)
        ends = bld_binop(out, loc, OP_ADD, t->rows, atom_i64(1));
    State whole = with_counts(t, st, t->rows, ends, &all);
    Atoms as_listed = {0}, in_order = {0};
    for (int k = 0; k < st->vals.n; k++)
        if (!is_variant(t, k))
            whole.vals.at[k] =
                bld_exp(&all, "all", exp_replicate(cx, loc, t->rows, st->vals.at[k]));
    Var *elem;
    MapNest N = nest_of_state(t, st, &elem);
    Atoms vals = {0}, widths = {0};
    for (int k = 0; k < st->vals.n; k++)
        vec_push(cx->perm, &vals,
                 is_variant(t, k) ? atom_var(t->e->loop.params.at[k]) : st->vals.at[k]);
    for (int c = 0; c < t->sizes.n; c++)
        vec_push(cx->perm, &widths, t->sizes.at[c].width);
    put_ended(t, &N, atom_var(elem), &widths, &vals, ended, &some);
    Results r = {.vals = whole.vals, .offs = whole.offs, .points = whole.points};
    for (int c = 0; c < t->sizes.n; c++) {
        Atoms data = {0};
        for (int k = 0; k < vals.n; k++)
            if (size_of(t, k) == c)
                vec_push(cx->perm, &data, ended->vals.at[k]);
        const Ragged own = shelf_in_order(fl, t->rows, &ended->shelves.at[c], &data, loc, &some);
        vec_push(cx->perm, &as_listed, whole.offs.at[c]);
        vec_push(cx->perm, &as_listed, whole.points.at[c]);
        vec_push(cx->perm, &in_order, flat_rows(fl, own.offs, 1, ends, loc, &some));
        vec_push(cx->perm, &in_order, own.points);
        for (int k = 0, m = 0; k < vals.n; k++)
            if (size_of(t, k) == c)
                ended->vals.at[k] = data.at[m++];
    }
    for (int k = 0; k < vals.n; k++) {
        if (is_size(t, k))
            continue;
        if (size_of(t, k) >= 0) {
            vec_push(cx->perm, &as_listed, atom_type(whole.vals.at[k]).dims[0]);
            vec_push(cx->perm, &in_order, atom_type(ended->vals.at[k]).dims[0]);
        }
        vec_push(cx->perm, &as_listed, whole.vals.at[k]);
        vec_push(cx->perm, &in_order, ended->vals.at[k]);
    }
    Exp *same = exp_binop(cx, loc, OP_EQ, t->rows, st->those.n);
    Exp *e = exp_if(cx, loc, bld_exp(out, "nobody", same), bld_body(&all, as_listed),
                    bld_body(&some, in_order));
    Atoms made = bld_exps(out, "ended", e);
    int m = 0;
    for (int c = 0; c < t->sizes.n; c++) {
        r.offs.at[c] = made.at[m++];
        r.points.at[c] = made.at[m++];
    }
    for (int k = 0; k < vals.n; k++) {
        if (is_size(t, k))
            continue;
        m += size_of(t, k) >= 0;
        r.vals.at[k] = made.at[m++];
    }
    return r;
}

/* --- The host loop ---------------------------------------------------------------------------- */

/* The elements of S, all of them, with what the loop begins with. */
static State first_state(const Turning *t, MapNest *S, Bld *out)
{
    Flat *fl = t->fl;
    const Exp *e = t->e;
    State st = {.those = {.n = t->rows}};
    VEC(Ragged) sizes = {0};
    Exp *iota = exp_new(fl->cx, E_IOTA, e->loc);
    iota->iota.n = t->rows;
    iota->iota.start = atom_i64(0);
    iota->iota.stride = atom_i64(1);
    st.those.which = bld_exp(out, "which", iota);
    if (e->loop.kind == LOOP_FOR)
        st.turn = atom_int(e->loop.i->type.elem, 0);
    if (t->sizes.n)
        st.ends = bld_binop(out, e->loc, OP_ADD, t->rows, atom_i64(1));
    for (int c = 0; c < t->sizes.n; c++) {
        int k = t->sizes.at[c].param;
        Atom width = k < 0 ? t->sizes.at[c].width : e->loop.inits.at[k];
        Ragged r = carried_sizes(fl, S, width, e->loc, out);
        vec_push(fl->cx->perm, &sizes, r);
        vec_push(fl->cx->perm, &st.offs, flat_rows(fl, r.offs, 1, st.ends, e->loc, out));
        vec_push(fl->cx->perm, &st.points, r.points);
    }
    for (int k = 0; k < e->loop.params.n; k++) {
        Atom init = e->loop.inits.at[k];
        int c = size_of(t, k);
        if (c >= 0) {
            init = carried_data(fl, S, init, &sizes.at[c], e->loc, out);
        } else if (is_value(t, k)) {
            init = expand_atom(fl, t->S, init, e->loop.params.at[k]->base, e->loc, out);
            if (t->S->dims.n > 1)
                init = flat_rows(fl, init, t->S->dims.n, t->rows, e->loc, out);
        }
        vec_push(fl->cx->perm, &st.vals, init);
    }
    return st;
}

/* Nobody has ended. */
static Ended nothing_yet(const Turning *t, Bld *out)
{
    Flat *fl = t->fl;
    Ended r = {0};
    for (int c = 0; c < t->sizes.n; c++)
        vec_push(fl->cx->perm, &r.shelves, shelf_of(fl, t->rows, t->e->loc, out));
    for (int k = 0; k < t->pat->n; k++) {
        Vars one = {0};
        Atom a = {0};
        vec_push(fl->cx->perm, &one, t->pat->at[k]);
        if (size_of(t, k) >= 0)
            a = shelf_blank(fl, atom_i64(0), t->pat->at[k], t->e->loc, out);
        else if (!is_size(t, k))
            a = blank_rows(fl, t->rows, &one, t->e->loc, out).at[0];
        vec_push(fl->cx->perm, &r.vals, a);
    }
    return r;
}

/* The parts of the host loop: (more, live, n, turn, which, values, results). */
typedef struct {
    Atom more, live;
    State st;
    Ended ended;
} Host;

static void host_parts(const Turning *t, Parts *p, Host *h)
{
    const Exp *e = t->e;
    int ends = -1;
    part(p, &h->more, "more", NULL, -1);
    part(p, &h->live, "live", NULL, -1);
    int n = part(p, &h->st.those.n, "n", NULL, -1);
    if (e->loop.kind == LOOP_FOR)
        part(p, &h->st.turn, "turn", e->loop.i, -1);
    if (t->sizes.n)
        ends = part(p, &h->st.ends, "ends", NULL, -1);
    state_parts(t, p, &h->st, n, ends, true);
    ended_parts(t, p, &h->ended);
}

static Host host_copy(const Turning *t, const Host *h)
{
    Host r = *h;
    r.st = state_copy(t, &h->st);
    r.ended = ended_copy(t, &h->ended);
    return r;
}

static Host host_from(const Turning *t, const Host *like, Atoms *list)
{
    Host r = host_copy(t, like);
    Parts p = {t->fl->cx, list, 0, NULL};
    host_parts(t, &p, &r);
    return r;
}

enum { MOST_PARTS = 16 }; /* of a param, and beside these */

/* The loop, without its body; *h: what it begins with becomes its params. */
static Exp *host_loop(const Turning *t, Host *h)
{
    Ctx *cx = t->fl->cx;
    const Exp *e = t->e;
    Exp *loop = exp_new(cx, E_LOOP, e->loc);
    Parts p = {cx, &loop->loop.inits, -1, NULL};
    p.what = arena_alloc(cx->perm, sizeof *p.what * MOST_PARTS * (size_t)(e->loop.params.n + 1));
    host_parts(t, &p, h);
    loop->loop.kind = LOOP_WHILE;
    loop->loop.bound = atom_i64(0);
    for (int i = 0; i < loop->loop.inits.n; i++) {
        Type type = atom_type(loop->loop.inits.at[i]);
        Var *v = p.what[i].as;
        if (!v) {
            if (p.what[i].size >= 0)
                type =
                    type_array(cx, type_row(type), atom_var(loop->loop.params.at[p.what[i].size]));
            v = var_new(cx, p.what[i].base, type, e->loc);
        }
        vec_push(cx->perm, &loop->loop.params, v);
    }
    loop->loop.cond = loop->loop.params.at[0];
    Atoms params = atoms_of_vars(cx, &loop->loop.params);
    *h = host_from(t, h, &params);
    return loop;
}

/* What the body gives for those listed; false: its rows are not known. */
static bool values_after(const Turning *t, Flat *fl, State *st, Bld *out)
{
    Ctx *cx = fl->cx;
    const Body *b = t->e->loop.body;
    MapNest N = nest_of_state(t, st, NULL);
    if (t->sizes.n == 0) {
        Body *turn = loop_body(fl, &N, t->e, t->variant);
        vec_append(cx->perm, &out->stms, &turn->stms);
        st->vals = turn->res;
        return true;
    }
    Body values = {.stms = b->stms};
    RowsList rows = {0};
    Atoms made = {0};
    for (int c = 0; c < t->sizes.n; c++) {
        const SizeOf *size = &t->sizes.at[c];
        Rows r = {.width = size->param >= 0 ? b->res.at[size->param] : size->width};
        for (int k = 0; k < b->res.n; k++)
            if (size_of(t, k) == c)
                vec_push(cx->perm, &r.arrs, b->res.at[k]);
        vec_push(cx->perm, &rows, r);
    }
    for (int k = 0; k < b->res.n; k++)
        if (is_value(t, k))
            vec_push(cx->perm, &values.res, b->res.at[k]);
    if (!rule_g6_rows(fl, &N, &values, &rows, &made, out))
        return false;
    for (int k = 0, m = 0; k < b->res.n; k++)
        if (is_value(t, k))
            st->vals.at[k] = made.at[m++];
        else if (size_of(t, k) < 0)
            st->vals.at[k] = b->res.at[k];
    for (int c = 0; c < t->sizes.n; c++) {
        Rows *r = &rows.at[c];
        st->offs.at[c] = flat_rows(fl, r->sizes.offs, 1, st->ends, t->e->loc, out);
        st->points.at[c] = r->sizes.points;
        for (int k = 0, m = 0; k < b->res.n; k++)
            if (size_of(t, k) == c)
                st->vals.at[k] = r->data.at[m++];
    }
    return true;
}

/* A turn of all that are left. */
static Body *host_turn(const Turning *t, const Host *h)
{
    Flat *fl = t->fl, inner = *fl;
    const Exp *e = t->e;
    Ctx *cx = fl->cx;
    Bld bl = bld_new(cx);
    Host next = host_copy(t, h);
    next.st = leave_ended(t, &h->st, h->live, &next.ended, &bl);
    inner.depth++;
    if (!values_after(t, &inner, &next.st, &bl))
        return NULL;
    if (e->loop.kind == LOOP_FOR) {
        Atom one = atom_int(e->loop.i->type.elem, 1);
        next.st.turn = bld_exp(&bl, "turn", exp_binop(cx, e->loc, OP_ADD, next.st.turn, one));
    }
    next.live = count_live(t, &next.st, &bl);
    next.more = bld_exp(&bl, "more", exp_binop(cx, e->loc, OP_LT, atom_i64(0), next.live));
    Atoms res = {0};
    Parts p = {cx, &res, -1, NULL};
    host_parts(t, &p, &next);
    return bld_body(&bl, res);
}

/* The loop of the host, and what it leaves; false: the body's rows are not known. */
static bool turn(Turning *t, MapNest *S, Results *results, Bld *out)
{
    Flat *fl = t->fl;
    Ctx *cx = fl->cx;
    const Exp *e = t->e;
    Host h = {.st = first_state(t, S, out)};
    h.live = count_live(t, &h.st, out);
    h.more = bld_exp(out, "more", exp_binop(cx, e->loc, OP_LT, atom_i64(0), h.live));
    h.ended = nothing_yet(t, out);
    Exp *loop = host_loop(t, &h);
    loop->loop.body = host_turn(t, &h);
    if (!loop->loop.body)
        return false;
    Atoms made = bld_exps(out, "turned", loop);
    for (int k = 0; k < made.n; k++)
        made.at[k].var->base = loop->loop.params.at[k]->base;
    Host last = host_from(t, &h, &made);
    *results = last_results(t, &last.st, &last.ended, out);
    return true;
}

static Turning turning(Flat *fl, MapNest *S, const Stm *s, Bld *out)
{
    const Exp *e = s->exp;
    log_rule(fl, "G12", S, e, "a loop over the elements that still turn");
    keep_rows(fl, S, out);
    Turning t = {.fl = fl, .S = S, .e = e, .pat = &s->pat, .variant = varmap_new(fl->cx->perm)};
    nest_vars(S, t.variant);
    find_sizes(&t);
    for (int c = 0; c < t.sizes.n; c++)
        varset_add(t.variant, t.sizes.at[c].width.var);
    add_variant_params(fl, t.variant, e);
    t.rows = par_of_nest(fl, S, out);
    return t;
}

/* Rule G12: a loop under S whose number of turns varies with S, with parallelism inside, is a loop
 * of the host over the elements of S that still turn. */
Atoms rule_g12(Flat *fl, const MapNest *S0, const Stm *s, Bld *out)
{
    MapNest S = nest_copy(fl, S0);
    Turning t = turning(fl, &S, s, out);
    Results r;
    bool done = turn(&t, &S, &r, out);
    ASSERT(done && t.sizes.n == 0);
    for (int k = 0; k < r.vals.n; k++) {
        r.vals.at[k].var->base = plural(fl, s->pat.at[k]->base, S.dims.n);
        r.vals.at[k] = shape_rows(fl, &S, r.vals.at[k], s->exp->loc, out);
    }
    return r.vals;
}

bool turn_rows(Flat *fl, MapNest *S0, const Stm *s, Bld *out)
{
    int log_at = fl->log->n;
    Budget before = *fl->budget;
    Bld bl = bld_new(fl->cx);
    MapNest S = nest_copy(fl, S0);
    Turning t = turning(fl, &S, s, &bl);
    Results r;
    if (!turn(&t, &S, &r, &bl)) {
        fl->log->n = log_at;
        *fl->budget = before;
        return false;
    }
    Given g = {.vals = r.vals};
    for (int c = 0; c < t.sizes.n; c++) {
        Ragged own = {.rows = t.rows, .offs = r.offs.at[c], .points = r.points.at[c]};
        vec_push(fl->cx->perm, &g.sizes,
                 (SizeGiven){t.sizes.at[c].param, t.sizes.at[c].width, own});
    }
    know_given(fl, &S, &s->pat, &g, s->exp->loc, &bl);
    vec_append(fl->cx->perm, &out->stms, &bl.stms);
    *S0 = S;
    return true;
}
