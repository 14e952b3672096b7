/* Loops in reverse.
 *
 *     loop (x = x0) for i < n do               loop (x' = y', w' = w'0) for k < n do
 *       f x w i                          =>      let i = n - 1 - k, x = xs[i]
 *                                                ... f again, then its reverse ...
 *                                                in (f_x' x', w' + f_w' x')
 *
 * with what the forward sweep has kept of x (tape.c). Adjoints of what is free in the body are
 * carried on; those of arrays outside of a map around leave the loop in pieces (pieces.c). Where
 * the loop changes the size of an array it carries, its reverse carries the size backwards. */
#include "ad/reverse.h"

typedef struct {
    Turns T;
    Rev in;
    Var *k;      /* the reverse loop's counter */
    Bld front;   /* what a turn of the reverse loop begins with */
    Vars params; /* of the reverse loop: sizes, seeds, adjoints that are carried, each, sums */
    Atoms inits;
    Ints sizes;   /* of the loop's parameters: sizes of those with a seed, which change; */
    Var **size;   /* what they are in the reverse loop, by their number */
    Ints which;   /* those with a seed */
    Vars carried; /* free variables whose adjoints are carried */
    VarSet *is_carried;
} Back;

static Var *back_param(Back *B, const char *base, Type t, Atom init)
{
    Ctx *cx = B->T.r->cx;
    Var *v = var_new(cx, base, t, B->T.copy->loc);
    vec_push(cx->perm, &B->params, v);
    ad_atom(cx, &B->inits, init);
    return v;
}

/* Turns are run from the last to the first; but in their order where none depends on another, since
 * then they may be those of a map. */
static void begin_turn(Back *B, bool in_order)
{
    Rev *r = B->T.r;
    Ctx *cx = r->cx;
    const Exp *e = B->T.copy;
    Atom last = bld_binop(&r->bl, e->loc, OP_SUB, B->T.n, atom_i64(1));
    Exp *turn = exp_binop(cx, e->loc, OP_SUB, last, atom_var(B->k));
    bld_define(&B->front, B->T.turn.var, in_order ? exp_atom(cx, e->loc, atom_var(B->k)) : turn);
    if (B->T.turn.var != e->loop.i)
        bld_define(&B->front, e->loop.i, exp_conv(cx, e->loc, e->loop.i->type.elem, B->T.turn));
}

/* Does a turn hand on the adjoints of what the loop carries as they are? */
static bool any_order(const Back *B, const Atoms *seeds)
{
    for (int i = 0; i < seeds->n; i++)
        if (seeds->at[i].var != B->params.at[i])
            return false;
    return true;
}

static void activity(Back *B)
{
    const Vars *own = &B->T.s->exp->loop.params, *fresh = &B->T.copy->loop.params;
    VarSet *active = B->T.r->active;
    for (int j = 0; j < own->n; j++)
        if (varset_has(active, own->at[j]))
            varset_add(active, fresh->at[j]);
    ad_activity(active, B->T.copy->loop.body);
}

/* --- What the reverse loop carries ---------------------------------------------------------- */

/* t with sizes that change as `by` has them. */
static Type with_sizes(const Back *B, Type t, Var *const *by)
{
    Type r = {t.elem, t.rank, NEWN(B->T.r->cx->perm, Atom, t.rank)};
    for (int d = 0; d < t.rank; d++) {
        int k = t.dims[d].var ? vars_find(&B->T.copy->loop.params, t.dims[d].var) : -1;
        r.dims[d] = k < 0 ? t.dims[d] : atom_var(by[k]);
    }
    return r;
}

/* Sizes of p begin as they are when the loop ends. */
static void size_params(Back *B, const Var *p)
{
    const Vars *all = &B->T.copy->loop.params;
    for (int d = 0; d < p->type.rank; d++) {
        int k = p->type.dims[d].var ? vars_find(all, p->type.dims[d].var) : -1;
        if (k < 0 || B->size[k])
            continue;
        B->size[k] = back_param(B, "size", type_prim(T_I64), atom_var(B->T.s->pat.at[k]));
        vec_push(B->T.r->cx->perm, &B->sizes, k);
    }
}

/* The adjoints of what the loop gives begin its reverse sweep. */
static void seed_params(Back *B)
{
    Rev *r = B->T.r;
    const Exp *e = B->T.copy;
    const Vars *ps = &e->loop.params;
    B->size = NEWN(r->cx->perm, Var *, ps->n);
    for (int j = 0; j < ps->n; j++)
        if (varset_has(r->active, ps->at[j])) {
            size_params(B, ps->at[j]);
            vec_push(r->cx->perm, &B->which, j);
        }
    for (int i = 0; i < B->which.n; i++) {
        int j = B->which.at[i];
        Type t = ps->at[j]->type;
        Var *y = B->T.s->pat.at[j];
        Atom init = rev_has(r, y) ? rev_take(r, y) : ad_zero(&r->bl, e->loc, y->type);
        init = ad_as(&r->bl, e->loc, init, with_sizes(B, t, B->T.s->pat.at));
        Var *seed = back_param(B, "seed", with_sizes(B, t, B->size), init);
        rev_add(&B->in, e->loc, e->loop.body->res.at[j], atom_var(seed));
    }
}

/* The adjoints of free arrays are carried, from what has come together so far. */
static void carry_free(Back *B)
{
    Rev *r = B->T.r;
    VarSet *free = varmap_new(r->cx->perm);
    B->is_carried = varmap_new(r->cx->perm);
    free_in_body(free, B->T.copy->loop.body);
    Vars vs = varset_list(r->cx->perm, free);
    for (int i = 0; i < vs.n; i++) {
        Var *v = vs.at[i];
        if (v->type.rank == 0 || !varset_has(r->active, v) || rev_apart(r, v) ||
            vars_find(&B->T.copy->loop.params, v) >= 0)
            continue;
        Var *p = back_param(B, "adj", v->type,
                            rev_has(r, v) ? rev_take(r, v) : ad_zero(&r->bl, v->loc, v->type));
        /* v may be what a turn gives: then it has a seed. */
        rev_add(&B->in, v->loc, atom_var(v), atom_var(p));
        vec_push(r->cx->perm, &B->carried, v);
        varset_add(B->is_carried, v);
    }
}

/* What pieces need is carried: arrays of what each turn gives, and sums. Adds what a turn gives. */
static void carry_pieces(Back *B, Lift *L, Atoms *res)
{
    Rev *in = &B->in;
    Ctx *cx = in->cx;
    for (int i = 0; i < L->each.n; i++) {
        Type t = type_array(cx, atom_type(L->each.at[i]), B->T.n);
        Var *p = back_param(B, "each", t, ad_scratch(&L->out->bl, L->loc, t));
        DimIndexes at = ad_row_at(cx, t, B->T.turn);
        ad_atom(cx, res, ad_with(&in->bl, L->loc, atom_var(p), &at, L->each.at[i], true));
    }
    for (int i = 0; i < L->sums.n; i++) {
        Type t = atom_type(L->sums.at[i]);
        Var *p = back_param(B, "sum", t, ad_zero(&L->out->bl, L->loc, t));
        ad_atom(cx, res, ad_add(&in->bl, L->loc, atom_var(p), L->sums.at[i]));
    }
}

/* --- The reverse loop ----------------------------------------------------------------------- */

static void add_to_inits(Back *B, const Atom *seeds)
{
    const Exp *e = B->T.s->exp;
    for (int i = 0; i < B->which.n; i++)
        rev_add(B->T.r, e->loc, e->loop.inits.at[B->which.at[i]], seeds[i]);
}

static void came_out(Back *B, Lift *L, const Atoms *out)
{
    Rev *r = B->T.r;
    Atoms each = {0}, sums = {0};
    int at = B->sizes.n;
    const Atom *seeds = out->at + at;
    at += B->which.n;
    for (int i = 0; i < B->carried.n; i++)
        rev_set(r, B->carried.at[i], out->at[at++]);
    for (int i = 0; i < L->each.n; i++)
        ad_atom(r->cx, &each, out->at[at++]);
    for (int i = 0; i < L->sums.n; i++)
        ad_atom(r->cx, &sums, out->at[at++]);
    rev_lifted(L, &each, &sums);
    add_to_inits(B, seeds);
}

static Exp *back_loop(Back *B, Body *turn)
{
    Exp *l = exp_new(B->T.r->cx, E_LOOP, B->T.copy->loc);
    l->attrs = B->T.copy->attrs;
    l->loop.kind = LOOP_FOR;
    l->loop.params = B->params;
    l->loop.inits = B->inits;
    l->loop.i = B->k;
    l->loop.bound = B->T.n;
    l->loop.body = turn;
    return l;
}

/* The turn: what it begins with, then its sweeps, but for what was kept. */
static Body *whole_turn(Back *B, Atoms res, bool in_order, Stms *fwd)
{
    begin_turn(B, in_order);
    Body *turn = rev_from_tape(&B->T, rev_close(&B->in, res), fwd, &B->front);
    vec_append(B->T.r->cx->perm, &B->front.stms, &turn->stms);
    return bld_body(&B->front, res);
}

/* Turns that hand on nothing but sums: the iterations of a map. */
static void turns_at_once(Back *B, Lift *L, Stms *fwd)
{
    Ctx *cx = L->out->cx;
    Iterations its = {.L = *L};
    vec_push(cx->perm, &its.params, B->k);
    Atoms res = rev_results(&its);
    ad_atom(cx, &its.arrs, ad_iota(&L->out->bl, L->loc, B->T.n));
    for (int i = 0; i < B->which.n; i++)
        bld_define(&L->out->bl, B->params.at[i], exp_atom(cx, L->loc, B->inits.at[i]));
    Body *turn = whole_turn(B, res, true, fwd);
    rev_run(&its, lambda_new(cx, its.params, turn), B->T.copy->attrs);
    add_to_inits(B, B->inits.at);
}

static void turn_backwards(Back *B, Lift *L, Stms *fwd)
{
    Ctx *cx = L->out->cx;
    const Vars *ps = &B->T.copy->loop.params;
    Atoms res = {0};
    for (int i = 0; i < B->sizes.n; i++)
        ad_atom(cx, &res, atom_var(ps->at[B->sizes.at[i]]));
    for (int i = 0; i < B->which.n; i++)
        ad_atom(cx, &res, rev_take(&B->in, ps->at[B->which.at[i]]));
    bool in_order = any_order(B, &res);
    for (int i = 0; i < B->carried.n; i++)
        ad_atom(cx, &res, rev_dense(&B->in, B->carried.at[i]));
    rev_lift(L, B->is_carried);
    if (in_order && B->carried.n == 0) {
        turns_at_once(B, L, fwd);
        return;
    }
    carry_pieces(B, L, &res);
    Atoms out = bld_exps(&L->out->bl, "adj", back_loop(B, whole_turn(B, res, in_order, fwd)));
    came_out(B, L, &out);
}

/* What varies from turn to turn. */
static Lift lift_turns(Back *B)
{
    const Exp *e = B->T.copy;
    Lift L = rev_lift_new(&B->in, B->T.r, e->loc, B->T.n);
    bound_in_body(L.bound, e->loop.body);
    for (int i = 0; i < e->loop.params.n; i++)
        varset_add(L.bound, e->loop.params.at[i]);
    varset_add(L.bound, e->loop.i);
    varset_add(L.own, e->loop.i);
    if (B->T.r->inside)
        for (Vars vs = varset_list(B->in.cx->perm, L.bound); vs.n--;)
            varset_add(B->T.r->inside, vs.at[vs.n]);
    varset_add(L.bound, B->k);
    varset_add(L.bound, B->T.turn.var);
    return L;
}

void rev_loop(Rev *r, const Stm *s, Stms *fwd)
{
    Ctx *cx = r->cx;
    Loc loc = s->exp->loc;
    Back B = {.in = rev_inner(r), .front = bld_new(cx)};
    B.T = (Turns){.r = r, .s = s, .copy = rename_exp(cx, s->exp), .in = &B.in};
    /* How many turns is known to the forward sweep, which keeps that many. */
    Bld turns = bld_new(cx);
    Atom n = ad_i64(&turns, loc, s->exp->loop.bound);
    B.T.n = bld_binop(&turns, loc, OP_MAX, n, atom_i64(0));
    vec_append(cx->perm, fwd, &turns.stms);
    Var *i = B.T.copy->loop.i;
    B.T.turn = atom_var(i->type.elem == T_I64 ? i : var_new(cx, "turn", type_prim(T_I64), loc));
    B.k = var_new(cx, "k", type_prim(T_I64), loc);
    Lift L = lift_turns(&B);
    activity(&B);
    seed_params(&B);
    for (int k = 0; k < B.sizes.n; k++)
        varset_add(L.bound, B.params.at[k]);
    carry_free(&B);
    rev_body(&B.in, B.T.copy->loop.body);
    turn_backwards(&B, &L, fwd);
}
