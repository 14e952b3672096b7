/* Loops in reverse.
 *
 *     loop (x = x0) for i < n do               loop (x = x0, xs = scratch) for i < n do
 *       f x w i                          =>      let xs = xs with [i] = x
 *                                                in (f x w i, xs)                    forward
 *
 *                                              loop (x' = y', w' = w'0) for k < n do
 *                                                let i = n - 1 - k, x = xs[i]
 *                                                ... f again, then its reverse ...
 *                                                in (f_x' x', w' + f_w' x')          reverse
 *
 * Of what the loop carries, that alone is kept which the reverse sweep of a turn reads. Adjoints of
 * what is free in the body are carried on; those of arrays outside of a map around leave the loop
 * in pieces (pieces.c). */
#include "ad/reverse.h"

typedef struct {
    Rev *r;
    const Stm *s;
    Exp *copy; /* the loop with fresh names: the body of the reverse sweep */
    Rev in;
    Atom n;      /* turns, i64, at least 0 */
    Var *k;      /* the reverse loop's counter */
    Atom turn;   /* n - 1 - k: in the reverse loop */
    Bld front;   /* what a turn of the reverse loop begins with */
    Vars params; /* of the reverse loop */
    Atoms inits, res;
    Vars carried; /* free variables whose adjoints are carried.. */
    VarSet *is_carried;
    int n_seeds, first_each, first_sum;
    Ints which; /* of the loop's parameters: those with a seed */
} Back;

static Var *back_param(Back *B, const char *base, Type t, Atom init)
{
    Var *v = ad_var(B->r->cx, base, t, B->copy->loc);
    vec_push(B->r->cx->perm, &B->params, v);
    ad_atom(B->r->cx, &B->inits, init);
    return v;
}

static bool sizes_change(const Exp *loop, Type t)
{
    for (int d = 0; d < t.rank; d++)
        if (t.dims[d].var && vars_find(&loop->loop.params, t.dims[d].var) >= 0)
            return true;
    return false;
}

static void begin_turn(Back *B)
{
    Rev *r = B->r;
    Ctx *cx = r->cx;
    const Exp *e = B->copy;
    Bld *bl = &B->front;
    B->k = ad_var(cx, "k", type_prim(T_I64), e->loc);
    Atom last = bld_binop(&r->bl, e->loc, OP_SUB, B->n, atom_i64(1));
    Exp *turn = exp_binop(cx, e->loc, OP_SUB, last, atom_var(B->k));
    if (e->loop.i->type.elem == T_I64) {
        bld_define(bl, e->loop.i, turn);
        B->turn = atom_var(e->loop.i);
    } else {
        B->turn = bld_exp(bl, "turn", turn);
        bld_define(bl, e->loop.i, exp_conv(cx, e->loc, e->loop.i->type.elem, B->turn));
    }
}

static void activity(Back *B)
{
    const Vars *own = &B->s->exp->loop.params, *fresh = &B->copy->loop.params;
    for (int j = 0; j < own->n; j++)
        if (varset_has(B->r->active, own->at[j]))
            varset_add(B->r->active, fresh->at[j]);
    ad_activity(B->r->active, B->copy->loop.body);
}

/* The adjoints of what the loop gives begin its reverse sweep. */
static void seed_params(Back *B)
{
    Rev *r = B->r;
    const Exp *e = B->copy;
    for (int j = 0; j < e->loop.params.n; j++) {
        Var *p = e->loop.params.at[j], *y = B->s->pat.at[j];
        if (!varset_has(r->active, p))
            continue;
        if (sizes_change(e, p->type)) {
            diag_limit(e->loc, "derivatives of loops that change the size of an array are not "
                               "supported in reverse mode");
            continue;
        }
        Atom init = rev_has(r, y) ? rev_take(r, y) : ad_zero(&r->bl, e->loc, y->type);
        Var *seed = back_param(B, "seed", p->type, ad_as(&r->bl, e->loc, init, p->type));
        rev_add(&B->in, e->loc, e->loop.body->res.at[j], atom_var(seed));
        vec_push(r->cx->perm, &B->which, j);
    }
    B->n_seeds = B->params.n;
}

/* Each free variable that may get an adjoint carries it, from what has come together so far. */
static void carry_free(Back *B)
{
    Rev *r = B->r;
    VarSet *free = varmap_new(r->cx->perm);
    B->is_carried = varmap_new(r->cx->perm);
    free_in_body(free, B->copy->loop.body);
    Vars vs = varset_list(r->cx->perm, free);
    for (int i = 0; i < vs.n; i++) {
        Var *v = vs.at[i];
        if (!varset_has(r->active, v) || rev_apart(r, v) ||
            vars_find(&B->copy->loop.params, v) >= 0)
            continue;
        Var *p = back_param(B, "adj", v->type,
                            rev_has(r, v) ? rev_take(r, v) : ad_zero(&r->bl, v->loc, v->type));
        rev_set(&B->in, v, atom_var(p));
        vec_push(r->cx->perm, &B->carried, v);
        varset_add(B->is_carried, v);
    }
}

/* What pieces need is carried: arrays of what each turn gives, and sums. */
static void carry_pieces(Back *B, Lift *L)
{
    Rev *in = &B->in;
    Ctx *cx = in->cx;
    B->first_each = B->params.n;
    for (int i = 0; i < L->each.n; i++) {
        Type t = type_array(cx, atom_type(L->each.at[i]), B->n);
        Var *p = back_param(B, "each", t, ad_scratch(&B->r->bl, L->loc, t));
        DimIndexes at = ad_row_at(cx, t, B->turn);
        ad_atom(cx, &B->res, ad_with(&in->bl, L->loc, atom_var(p), &at, L->each.at[i]));
    }
    B->first_sum = B->params.n;
    for (int i = 0; i < L->sums.n; i++) {
        Type t = atom_type(L->sums.at[i]);
        Var *p = back_param(B, "sum", t, ad_zero(&B->r->bl, L->loc, t));
        ad_atom(cx, &B->res, ad_add(&in->bl, L->loc, atom_var(p), L->sums.at[i]));
    }
}

/* --- What is kept --------------------------------------------------------------------------- */

/* The loop, which keeps the parameters numbered `kept`, in arrays that are behind its results. */
static Vars keep(Back *B, const Ints *kept, Stms *fwd)
{
    Rev *r = B->r;
    Ctx *cx = r->cx;
    const Exp *e = B->s->exp;
    Exp *l = exp_new(cx, E_LOOP, e->loc);
    *l = *e;
    l->loop.params = (Vars){0};
    l->loop.inits = (Atoms){0};
    vec_append(cx->perm, &l->loop.params, &e->loop.params);
    vec_append(cx->perm, &l->loop.inits, &e->loop.inits);
    Vars tapes = {0};
    Stm s = {.exp = l};
    Bld body = bld_new(cx), front = bld_new(cx);
    Atoms res = {0};
    vec_append(cx->perm, &s.pat, &B->s->pat);
    vec_append(cx->perm, &res, &e->loop.body->res);
    Atom turn = ad_i64(&body, e->loc, atom_var(e->loop.i));
    for (int i = 0; i < kept->n; i++) {
        Var *v = e->loop.params.at[kept->at[i]];
        Type t = type_array(cx, v->type, B->n);
        Var *p = ad_var(cx, "kept", t, e->loc), *tape = ad_var(cx, "kept", t, e->loc);
        DimIndexes at = ad_row_at(cx, t, turn);
        vec_push(cx->perm, &l->loop.params, p);
        ad_atom(cx, &l->loop.inits, ad_scratch(&front, e->loc, t));
        ad_atom(cx, &res, ad_with(&body, e->loc, atom_var(p), &at, atom_var(v)));
        vec_push(cx->perm, &s.pat, tape);
        vec_push(cx->perm, &tapes, tape);
    }
    vec_append(cx->perm, &body.stms, &e->loop.body->stms);
    l->loop.body = bld_body(&body, res);
    vec_append(cx->perm, fwd, &front.stms);
    vec_push(cx->perm, fwd, s);
    return tapes;
}

/* A turn of the reverse loop finds what it needs of the loop's parameters. */
static void find_params(Back *B, const Body *turn, Stms *fwd)
{
    Rev *r = B->r;
    Ints kept = {0};
    VarSet *free = varmap_new(r->cx->perm);
    free_in_body(free, turn);
    for (int j = 0; j < B->copy->loop.params.n; j++) {
        Var *p = B->copy->loop.params.at[j];
        if (!varset_has(free, p))
            continue;
        if (sizes_change(B->copy, p->type))
            diag_limit(B->copy->loc, "derivatives of loops that change the size of an array are "
                                     "not supported in reverse mode");
        else
            vec_push(r->cx->perm, &kept, j);
    }
    if (kept.n == 0) {
        vec_push(r->cx->perm, fwd, *B->s);
        return;
    }
    Vars tapes = keep(B, &kept, fwd);
    for (int i = 0; i < kept.n; i++) {
        Atom tape = atom_var(tapes.at[i]);
        DimIndexes at = ad_row_at(r->cx, tapes.at[i]->type, B->turn);
        Exp *e = exp_new(r->cx, E_INDEX, B->copy->loc);
        e->index.arr = tape;
        e->index.at = at;
        e->index.safe = true;
        bld_define(&B->front, B->copy->loop.params.at[kept.at[i]], e);
    }
}

/* --- The reverse loop ----------------------------------------------------------------------- */

static void came_out(Back *B, Lift *L, const Atoms *out)
{
    Rev *r = B->r;
    Atoms each = {0}, sums = {0};
    for (int i = 0; i < L->each.n; i++)
        ad_atom(r->cx, &each, out->at[B->first_each + i]);
    for (int i = 0; i < L->sums.n; i++)
        ad_atom(r->cx, &sums, out->at[B->first_sum + i]);
    for (int i = 0; i < B->carried.n; i++)
        rev_set(r, B->carried.at[i], out->at[B->n_seeds + i]);
    rev_lifted(L, &each, &sums);
    for (int i = 0; i < B->which.n; i++)
        rev_add(r, L->loc, B->s->exp->loop.inits.at[B->which.at[i]], out->at[i]);
}

static void turn_backwards(Back *B, Lift *L, Stms *fwd)
{
    Rev *r = B->r;
    Ctx *cx = r->cx;
    Atoms seeds = {0};
    for (int i = 0; i < B->which.n; i++)
        ad_atom(cx, &seeds, rev_take(&B->in, B->copy->loop.params.at[B->which.at[i]]));
    for (int i = 0; i < B->carried.n; i++)
        ad_atom(cx, &seeds, rev_dense(&B->in, B->carried.at[i]));
    rev_lift(L, B->is_carried);
    carry_pieces(B, L);
    vec_append(cx->perm, &seeds, &B->res);
    Body *turn = rev_close(&B->in, seeds);
    find_params(B, turn, fwd);
    vec_append(cx->perm, &B->front.stms, &turn->stms);
    Exp *back = exp_new(cx, E_LOOP, B->copy->loc);
    back->attrs = B->copy->attrs;
    back->loop.kind = LOOP_FOR;
    back->loop.params = B->params;
    back->loop.inits = B->inits;
    back->loop.i = B->k;
    back->loop.bound = B->n;
    back->loop.body = bld_body(&B->front, seeds);
    Atoms out = bld_exps(&r->bl, "adj", back);
    came_out(B, L, &out);
}

void rev_loop(Rev *r, const Stm *s, Stms *fwd)
{
    Ctx *cx = r->cx;
    Back B = {.r = r, .s = s, .copy = rename_exp(cx, s->exp), .in = rev_inner(r)};
    B.front = bld_new(cx);
    /* How many turns is known to the forward sweep, which keeps that many. */
    Bld turns = bld_new(cx);
    Atom n = ad_i64(&turns, s->exp->loc, s->exp->loop.bound);
    B.n = bld_binop(&turns, s->exp->loc, OP_MAX, n, atom_i64(0));
    vec_append(cx->perm, fwd, &turns.stms);
    Lift L = {.in = &B.in, .out = r, .loc = s->exp->loc, .width = B.n};
    L.bound = varmap_new(cx->perm);
    L.own = varmap_new(cx->perm);
    bound_in_body(L.bound, B.copy->loop.body);
    for (int i = 0; i < B.copy->loop.params.n; i++)
        varset_add(L.bound, B.copy->loop.params.at[i]);
    varset_add(L.bound, B.copy->loop.i);
    varset_add(L.own, B.copy->loop.i);
    if (r->inside)
        for (Vars vs = varset_list(cx->perm, L.bound); vs.n--;)
            varset_add(r->inside, vs.at[vs.n]);
    begin_turn(&B);
    varset_add(L.bound, B.k);
    if (B.turn.var)
        varset_add(L.bound, B.turn.var);
    activity(&B);
    seed_params(&B);
    carry_free(&B);
    rev_body(&B.in, B.copy->loop.body);
    turn_backwards(&B, &L, fwd);
}
