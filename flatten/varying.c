/* Rules G11 and G12: branches whose condition, and loops whose number of turns varies with the nest
 * around them, with parallelism inside.
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
 *     S |- if c then b1 else b2      =>   the elements of S, parted by c; S1 |- b1; S2 |- b2, and
 *                                         the results go to their places */
#include "flatten/rules.h"

static const MapNest host_nest;

/* --- G12: loops ----------------------------------------------------------------------------- */

typedef struct {
    Flat *fl;
    const MapNest *S;
    const Exp *e;
    const Vars *pat;
    VarSet *variant; /* of S and the params */
    Atom rows;       /* elements of S */
} Turning;

/* Before a turn: the elements listed, and for each param an array of their values, or, where it
 * does not vary, its value. */
typedef struct {
    Subset those;
    Atom turn; /* FOR: its number */
    Atoms vals;
} State;

static bool is_variant(const Turning *t, int k)
{
    return varset_has(t->variant, t->e->loop.params.at[k]);
}

/* The elements listed, with their params. */
static MapNest nest_of_state(const Turning *t, const State *st, Var **elem)
{
    MapNest N = nest_of_subset(t->fl, t->S, st->those, elem, t->e->loc);
    for (int k = 0; k < t->e->loop.params.n; k++)
        if (is_variant(t, k))
            nest_extend(t->fl, &N, t->e->loop.params.at[k], st->vals.at[k]);
    return N;
}

/* Is there another turn for an element of the nest above? */
static Atom goes_on(const Turning *t, const State *st, Bld *bl)
{
    const Exp *e = t->e;
    if (e->loop.kind == LOOP_WHILE)
        return atom_var(e->loop.cond);
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

/* The same values of some of those listed: at.which are places in the list. */
static State state_of_some(const Turning *t, const State *st, Subset at, MapNest *N, Bld *bl)
{
    Ctx *cx = t->fl->cx;
    Loc loc = t->e->loc;
    Vars places = {0};
    Atoms arrs = {0};
    vec_push(cx->perm, &places, var_new(cx, "place", type_prim(T_I64), loc));
    vec_push(cx->perm, &arrs, at.which);
    *N = nest_push(t->fl, &host_nest, at.n, &places, &arrs);
    Atom place = atom_var(places.at[0]);
    State r = {.those = {at.n, {0}}, .turn = st->turn};
    r.those.which = bld_exp(bl, "elem", exp_index(cx, loc, st->those.which, &place, 1, true));
    for (int k = 0; k < st->vals.n; k++) {
        Atom v = st->vals.at[k];
        if (is_variant(t, k))
            v = bld_exp(bl, t->e->loop.params.at[k]->base, exp_index(cx, loc, v, &place, 1, true));
        vec_push(cx->perm, &r.vals, v);
    }
    N->dims.at[0].pre = bl->stms;
    return r;
}

/* Rows of results become what those at the places `at` of the list have. */
static void put_results(const Turning *t, const State *st, Subset at, Atoms *results, Bld *out)
{
    MapNest N;
    Bld bl = bld_new(t->fl->cx);
    State some = state_of_some(t, st, at, &N, &bl);
    put_rows(t->fl, &N, some.those.which, &some.vals, results, t->e->loc, out);
}

/* The list of those at some places, and their values, moved together. */
static State keep_some(const Turning *t, const State *st, Subset at, Bld *out)
{
    MapNest N;
    Flat *fl = t->fl;
    Loc loc = t->e->loc;
    Bld bl = bld_new(fl->cx);
    State some = state_of_some(t, st, at, &N, &bl);
    Seg sg = {.kind = E_SEGMAP, .S = &N, .loc = loc};
    vec_push(fl->cx->perm, &sg.res, some.those.which);
    for (int k = 0; k < some.vals.n; k++)
        if (is_variant(t, k) && atom_type(some.vals.at[k]).rank == 0)
            vec_push(fl->cx->perm, &sg.res, some.vals.at[k]);
    Atoms numbers = bld_exps(out, "kept", seg_make(fl, &sg));
    some.those.which = numbers.at[0];
    for (int k = 0, m = 1; k < some.vals.n; k++) {
        if (!is_variant(t, k))
            continue;
        Atom v = some.vals.at[k];
        some.vals.at[k] =
            atom_type(v).rank == 0 ? numbers.at[m++] : expand_atom(fl, &N, v, "kept", loc, out);
    }
    return some;
}

/* which, the values that vary, results. */
static Atoms parts_of(const Turning *t, const State *st, const Atoms *results)
{
    Atoms r = {0};
    vec_push(t->fl->cx->perm, &r, st->those.which);
    for (int k = 0; k < st->vals.n; k++)
        if (is_variant(t, k))
            vec_push(t->fl->cx->perm, &r, st->vals.at[k]);
    if (results)
        vec_append(t->fl->cx->perm, &r, results);
    return r;
}

/* If some of those listed have ended, what they have are results, and they leave the list. */
static State leave_ended(const Turning *t, const State *st, Atom live, Atoms *results, Bld *out)
{
    Flat *fl = t->fl;
    Loc loc = t->e->loc;
    Bld all = bld_new(fl->cx), some = bld_new(fl->cx);
    Atoms as_before = {0}, now = {0}, kept_results = *results;
    *results = (Atoms){0};
    State before = *st;
    before.vals = (Atoms){0};
    before.those.which = flat_rows(fl, st->those.which, 1, live, loc, &all);
    for (int k = 0; k < st->vals.n; k++) {
        Atom v = st->vals.at[k];
        vec_push(fl->cx->perm, &before.vals,
                 is_variant(t, k) ? flat_rows(fl, v, 1, live, loc, &all) : v);
    }
    as_before = parts_of(t, &before, &kept_results);
    vec_append(fl->cx->perm, results, &kept_results);

    MapNest N = nest_of_state(t, st, NULL);
    Subset on = {.n = live}, ended = {.n = live};
    Bld bl = bld_new(fl->cx);
    Atom flag = goes_on(t, st, &bl);
    part_places(fl, &N, &bl, flag, &on, &ended, loc, &some);
    put_results(t, st, ended, results, &some);
    State less = keep_some(t, st, on, &some);
    now = parts_of(t, &less, results);

    Exp *same = exp_binop(fl->cx, loc, OP_EQ, live, st->those.n);
    Exp *e = exp_if(fl->cx, loc, bld_exp(out, "same", same), bld_body(&all, as_before),
                    bld_body(&some, now));
    Atoms made = bld_exps(out, "left", e);
    State r = {.those = {live, made.at[0]}, .turn = st->turn};
    int m = 1;
    for (int k = 0; k < st->vals.n; k++)
        vec_push(fl->cx->perm, &r.vals, is_variant(t, k) ? made.at[m++] : st->vals.at[k]);
    *results = (Atoms){0};
    while (m < made.n)
        vec_push(fl->cx->perm, results, made.at[m++]);
    return r;
}

/* At the end: those in the list have ended. If nobody has left it, their values are the results. */
static Atoms last_results(const Turning *t, const State *st, Atoms results, Bld *out)
{
    Flat *fl = t->fl;
    Loc loc = t->e->loc;
    Bld all = bld_new(fl->cx), some = bld_new(fl->cx);
    Atoms whole = {0};
    for (int k = 0; k < st->vals.n; k++) {
        Atom v = st->vals.at[k];
        if (is_variant(t, k))
            v = flat_rows(fl, v, 1, t->rows, loc, &all);
        else
            v = bld_exp(&all, "all", exp_replicate(fl->cx, loc, t->rows, v));
        vec_push(fl->cx->perm, &whole, v);
    }
    Var *elem;
    MapNest N = nest_of_state(t, st, &elem);
    Atoms vals = {0};
    for (int k = 0; k < st->vals.n; k++)
        vec_push(fl->cx->perm, &vals,
                 is_variant(t, k) ? atom_var(t->e->loop.params.at[k]) : st->vals.at[k]);
    put_rows(fl, &N, atom_var(elem), &vals, &results, loc, &some);
    Exp *same = exp_binop(fl->cx, loc, OP_EQ, t->rows, st->those.n);
    Exp *e = exp_if(fl->cx, loc, bld_exp(out, "nobody", same), bld_body(&all, whole),
                    bld_body(&some, results));
    return bld_exps(out, "ended", e);
}

/* --- The host loop ---------------------------------------------------------------------------- */

static Atom loop_param(Flat *fl, Exp *loop, Var *p, Atom init)
{
    vec_push(fl->cx->perm, &loop->loop.params, p);
    vec_push(fl->cx->perm, &loop->loop.inits, init);
    return atom_var(p);
}

static Var *number(Flat *fl, const char *base, PrimType t)
{
    return var_new(fl->cx, base, type_prim(t), (Loc){0});
}

/* The elements of S, all of them, with what the loop begins with. */
static State first_state(const Turning *t, Bld *out)
{
    Flat *fl = t->fl;
    const Exp *e = t->e;
    State st = {.those = {.n = t->rows}};
    Exp *iota = exp_new(fl->cx, E_IOTA, e->loc);
    iota->iota.n = t->rows;
    iota->iota.start = atom_i64(0);
    iota->iota.stride = atom_i64(1);
    st.those.which = bld_exp(out, "which", iota);
    if (e->loop.kind == LOOP_FOR)
        st.turn = atom_int(e->loop.i->type.elem, 0);
    for (int k = 0; k < e->loop.params.n; k++) {
        Atom init = e->loop.inits.at[k];
        if (is_variant(t, k)) {
            init = expand_atom(fl, t->S, init, e->loop.params.at[k]->base, e->loc, out);
            if (t->S->dims.n > 1)
                init = flat_rows(fl, init, t->S->dims.n, t->rows, e->loc, out);
        }
        vec_push(fl->cx->perm, &st.vals, init);
    }
    return st;
}

/* Params of the host loop: (more, live, n, turn, which, values, results). */
typedef struct {
    Exp *loop;
    Atom live;
    State st;
    Atoms results;
} Host;

static Host host_loop(const Turning *t, const State *first, Atom live, Bld *out)
{
    Flat *fl = t->fl;
    const Exp *e = t->e;
    Ctx *cx = fl->cx;
    Host h = {.loop = exp_new(cx, E_LOOP, e->loc)};
    h.loop->loop.kind = LOOP_WHILE;
    h.loop->loop.bound = atom_i64(0);
    h.loop->loop.cond = number(fl, "more", T_BOOL);
    Atom more = bld_exp(out, "more", exp_binop(cx, e->loc, OP_LT, atom_i64(0), live));
    loop_param(fl, h.loop, h.loop->loop.cond, more);
    h.live = loop_param(fl, h.loop, number(fl, "live", T_I64), live);
    Atom n = loop_param(fl, h.loop, number(fl, "n", T_I64), t->rows);
    h.st.those.n = n;
    if (e->loop.kind == LOOP_FOR)
        h.st.turn = loop_param(fl, h.loop, e->loop.i, first->turn);
    Type list = type_array(cx, type_prim(T_I64), n);
    h.st.those.which =
        loop_param(fl, h.loop, var_new(cx, "which", list, e->loc), first->those.which);
    for (int k = 0; k < e->loop.params.n; k++) {
        Var *p = e->loop.params.at[k];
        if (is_variant(t, k))
            p = var_new(cx, plural(fl, p->base, 1), type_array(cx, p->type, n), p->loc);
        vec_push(cx->perm, &h.st.vals, loop_param(fl, h.loop, p, first->vals.at[k]));
    }
    Atoms blanks = blank_rows(fl, t->rows, t->pat, e->loc, out);
    for (int k = 0; k < blanks.n; k++) {
        Var *r = var_new(cx, blanks.at[k].var->base, blanks.at[k].var->type, e->loc);
        vec_push(cx->perm, &h.results, loop_param(fl, h.loop, r, blanks.at[k]));
    }
    return h;
}

/* A turn of all that are left. */
static void host_turn(const Turning *t, const Host *h)
{
    Flat *fl = t->fl, inner = *fl;
    const Exp *e = t->e;
    Ctx *cx = fl->cx;
    Bld bl = bld_new(cx);
    Atoms results = {0};
    vec_append(cx->perm, &results, &h->results);
    State st = leave_ended(t, &h->st, h->live, &results, &bl);
    MapNest N = nest_of_state(t, &st, NULL);
    inner.depth++;
    Body *turn = loop_body(&inner, &N, e, t->variant);
    vec_append(cx->perm, &bl.stms, &turn->stms);
    st.vals = turn->res;
    if (e->loop.kind == LOOP_FOR) {
        Atom one = atom_int(e->loop.i->type.elem, 1);
        st.turn = bld_exp(&bl, "turn", exp_binop(cx, e->loc, OP_ADD, st.turn, one));
    }
    Atom live = count_live(t, &st, &bl);
    Atoms next = {0};
    vec_push(cx->perm, &next,
             bld_exp(&bl, "more", exp_binop(cx, e->loc, OP_LT, atom_i64(0), live)));
    vec_push(cx->perm, &next, live);
    vec_push(cx->perm, &next, st.those.n);
    if (e->loop.kind == LOOP_FOR)
        vec_push(cx->perm, &next, st.turn);
    vec_push(cx->perm, &next, st.those.which);
    vec_append(cx->perm, &next, &st.vals);
    vec_append(cx->perm, &next, &results);
    h->loop->loop.body = bld_body(&bl, next);
}

/* Rule G12: a loop under S whose number of turns varies with S, with parallelism inside, is a loop
 * of the host over the elements of S that still turn. */
Atoms rule_g12(Flat *fl, const MapNest *S0, const Stm *s, Bld *out)
{
    Ctx *cx = fl->cx;
    MapNest S = nest_copy(fl, S0);
    const Exp *e = s->exp;
    log_rule(fl, "G12", S0, e, "a loop over the elements that still turn");
    keep_rows(fl, &S, out);
    Turning t = {.fl = fl, .S = &S, .e = e, .pat = &s->pat, .variant = varmap_new(cx->perm)};
    nest_vars(&S, t.variant);
    add_variant_params(fl, t.variant, e);
    t.rows = par_of_nest(fl, &S, out);
    State first = first_state(&t, out);
    Host h = host_loop(&t, &first, count_live(&t, &first, out), out);
    host_turn(&t, &h);
    Atoms made = bld_exps(out, "turned", h.loop);
    for (int k = 0; k < made.n; k++)
        made.at[k].var->base = h.loop->loop.params.at[k]->base;
    int m = 2; /* more, live */
    State last = {.those = {.n = made.at[m++]}};
    if (e->loop.kind == LOOP_FOR)
        last.turn = made.at[m++];
    last.those.which = made.at[m++];
    Atoms results = {0};
    for (int k = 0; k < e->loop.params.n; k++)
        vec_push(cx->perm, &last.vals, made.at[m++]);
    while (m < made.n)
        vec_push(cx->perm, &results, made.at[m++]);
    results = last_results(&t, &last, results, out);
    for (int k = 0; k < results.n; k++) {
        results.at[k].var->base = plural(fl, s->pat.at[k]->base, S.dims.n);
        results.at[k] = shape_rows(fl, &S, results.at[k], e->loc, out);
    }
    return results;
}

/* --- G11: branches -------------------------------------------------------------------------- */

/* Results of one branch for its part of S, if there is any. */
static Atoms branch_results(Flat *fl, const MapNest *S, Subset part, const Body *b, const Stm *s,
                            const Atoms *results, Bld *out)
{
    Ctx *cx = fl->cx;
    Loc loc = s->exp->loc;
    Flat inner = *fl;
    inner.depth++;
    Bld some = bld_new(cx), none = bld_new(cx);
    Atoms put = {0};
    vec_append(cx->perm, &put, results);
    MapNest N = nest_of_subset(fl, S, part, NULL, loc);
    Atoms made = flatten_body(&inner, &N, b, &some), vals = {0};
    Var *elem;
    MapNest R = nest_of_subset(fl, S, part, &elem, loc);
    for (int k = 0; k < made.n; k++) {
        Var *v = var_like(cx, s->pat.at[k]);
        nest_extend(fl, &R, v, made.at[k]);
        vec_push(cx->perm, &vals, atom_var(v));
    }
    put_rows(fl, &R, atom_var(elem), &vals, &put, loc, &some);
    Atom any = bld_exp(out, "any", exp_binop(cx, loc, OP_LT, atom_i64(0), part.n));
    Exp *e = exp_if(cx, loc, any, bld_body(&some, put), bld_body(&none, *results));
    return bld_exps(out, "put", e);
}

/* Rule G11: if c then e1 else e2 under S, where c varies: the elements of S are parted by c, each
 * branch goes on under those that take it. */
Atoms rule_g11(Flat *fl, const MapNest *S0, const Stm *s, Bld *out)
{
    Ctx *cx = fl->cx;
    const Exp *e = s->exp;
    MapNest S = nest_copy(fl, S0);
    log_rule(fl, "G11", S0, e, "each branch for its own elements");
    keep_rows(fl, &S, out);
    Atom rows = par_of_nest(fl, &S, out);
    MapNest H = nest_push(fl, &host_nest, rows, NULL, NULL);
    Bld pre = bld_new(cx), none = bld_new(cx);
    define_row(fl, &S, atom_var(H.dims.at[0].idx), e->loc, &pre);
    H.dims.at[0].pre = pre.stms;
    Subset yes = {.n = rows}, no = {.n = rows};
    yes.n = count_flags(fl, &H, &none, e->branch.test, e->loc, out);
    part_places(fl, &H, &none, e->branch.test, &yes, &no, e->loc, out);
    Atoms results = blank_rows(fl, rows, &s->pat, e->loc, out);
    results = branch_results(fl, &S, yes, e->branch.then_, s, &results, out);
    results = branch_results(fl, &S, no, e->branch.else_, s, &results, out);
    for (int k = 0; k < results.n; k++) {
        results.at[k].var->base = plural(fl, s->pat.at[k]->base, S.dims.n);
        varset_add(fl->fresh, results.at[k].var);
        results.at[k] = shape_rows(fl, &S, results.at[k], e->loc, out);
    }
    return results;
}
