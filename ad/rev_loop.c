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
    Atom turn;   /* the turn that is run backwards, i64 */
    Bld front;   /* what a turn of the reverse loop begins with */
    Vars params; /* of the reverse loop */
    Atoms inits, res;
    Vars carried; /* free variables whose adjoints are carried.. */
    VarSet *is_carried;
    int n_seeds, first_each, first_sum;
    Ints which; /* of the loop's parameters: those with a seed */
    Ints kept;  /* those that the forward sweep keeps, */
    Vars elems; /* and what it read of others */
} Back;

static Var *back_param(Back *B, const char *base, Type t, Atom init)
{
    Var *v = var_new(B->r->cx, base, t, B->copy->loc);
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

static void refuse(Loc loc)
{
    diag_limit(loc, "reverse mode (`vjp`) does not support loops that change the size of an array: "
                    "let this one carry an array of the largest size and how much of it counts, or "
                    "take `jvp`; a function that calls itself becomes one unless `#[depth(N)]` "
                    "says how deep");
}

/* Turns are run from the last to the first; but in their order where none depends on another, since
 * then they may be those of a map. */
static void begin_turn(Back *B, bool in_order)
{
    Rev *r = B->r;
    Ctx *cx = r->cx;
    const Exp *e = B->copy;
    Atom last = bld_binop(&r->bl, e->loc, OP_SUB, B->n, atom_i64(1));
    Exp *turn = exp_binop(cx, e->loc, OP_SUB, last, atom_var(B->k));
    bld_define(&B->front, B->turn.var, in_order ? exp_atom(cx, e->loc, atom_var(B->k)) : turn);
    if (B->turn.var != e->loop.i)
        bld_define(&B->front, e->loop.i, exp_conv(cx, e->loc, e->loop.i->type.elem, B->turn));
}

/* Does a turn hand on the adjoints of what the loop carries as they are? */
static bool any_order(const Back *B, const Atoms *seeds)
{
    for (int i = 0; i < B->n_seeds; i++)
        if (seeds->at[i].var != B->params.at[i])
            return false;
    return true;
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
            refuse(e->loc);
            continue;
        }
        Atom init = rev_has(r, y) ? rev_take(r, y) : ad_zero(&r->bl, e->loc, y->type);
        Var *seed = back_param(B, "seed", p->type, ad_as(&r->bl, e->loc, init, p->type));
        rev_add(&B->in, e->loc, e->loop.body->res.at[j], atom_var(seed));
        vec_push(r->cx->perm, &B->which, j);
    }
    B->n_seeds = B->params.n;
}

/* The adjoints of free arrays are carried, from what has come together so far. */
static void carry_free(Back *B)
{
    Rev *r = B->r;
    VarSet *free = varmap_new(r->cx->perm);
    B->is_carried = varmap_new(r->cx->perm);
    free_in_body(free, B->copy->loop.body);
    Vars vs = varset_list(r->cx->perm, free);
    for (int i = 0; i < vs.n; i++) {
        Var *v = vs.at[i];
        if (v->type.rank == 0 || !varset_has(r->active, v) || rev_apart(r, v) ||
            vars_find(&B->copy->loop.params, v) >= 0)
            continue;
        Var *p = back_param(B, "adj", v->type,
                            rev_has(r, v) ? rev_take(r, v) : ad_zero(&r->bl, v->loc, v->type));
        /* v may be what a turn gives: then it has a seed. */
        rev_add(&B->in, v->loc, atom_var(v), atom_var(p));
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
        ad_atom(cx, &B->res, ad_with(&in->bl, L->loc, atom_var(p), &at, L->each.at[i], true));
    }
    B->first_sum = B->params.n;
    for (int i = 0; i < L->sums.n; i++) {
        Type t = atom_type(L->sums.at[i]);
        Var *p = back_param(B, "sum", t, ad_zero(&B->r->bl, L->loc, t));
        ad_atom(cx, &B->res, ad_add(&in->bl, L->loc, atom_var(p), L->sums.at[i]));
    }
}

/* --- What is kept --------------------------------------------------------------------------- */

/* A loop that does what the forward sweep does, with names of its own: its results are those of the
 * loop, then the elements of arrays that are kept. */
static Exp *forward_loop(Back *B)
{
    Ctx *cx = B->r->cx;
    const Exp *e = B->copy;
    Vars ps = {0};
    Atoms res = {0}, elems = atoms_of_vars(cx, &B->elems);
    vec_append(cx->perm, &ps, &e->loop.params);
    vec_push(cx->perm, &ps, e->loop.i);
    vec_append(cx->perm, &res, &e->loop.body->res);
    vec_append(cx->perm, &res, &elems);
    Bld bl = {.cx = cx, .stms = B->in.fwd};
    Lambda *own = rename_lambda(cx, lambda_new(cx, ps, bld_body(&bl, res)));
    Exp *l = exp_new(cx, E_LOOP, e->loc);
    *l = *B->s->exp;
    l->loop.i = own->params.at[--own->params.n];
    l->loop.params = own->params;
    l->loop.body = own->body;
    return l;
}

/* The loop, which keeps parameters and elements: in arrays that are behind its results. */
static Vars keep(Back *B, Stms *fwd)
{
    Ctx *cx = B->r->cx;
    Exp *l = forward_loop(B);
    int n = l->loop.params.n, n_params = B->kept.n;
    Vars ps = {0}, tapes = {0};
    Atoms inits = {0}, res = {0};
    Stm s = {.exp = l};
    Bld body = bld_new(cx), front = bld_new(cx);
    vec_append(cx->perm, &ps, &l->loop.params);
    vec_append(cx->perm, &inits, &l->loop.inits);
    vec_append(cx->perm, &s.pat, &B->s->pat);
    for (int j = 0; j < n; j++)
        ad_atom(cx, &res, l->loop.body->res.at[j]);
    Atom turn = ad_i64(&body, l->loc, atom_var(l->loop.i));
    Bld behind = bld_new(cx);
    for (int k = 0; k < n_params + B->elems.n; k++) {
        bool param = k < n_params;
        Atom val = param ? atom_var(ps.at[B->kept.at[k]]) : l->loop.body->res.at[n + k - n_params];
        Type t = type_array(
            cx, param ? ps.at[B->kept.at[k]]->type : B->elems.at[k - n_params]->type, B->n);
        Var *p = var_new(cx, "kept", t, l->loc), *tape = var_new(cx, "kept", t, l->loc);
        DimIndexes at = ad_row_at(cx, t, turn);
        vec_push(cx->perm, &ps, p);
        ad_atom(cx, &inits, ad_scratch(&front, l->loc, t));
        ad_atom(cx, &res, ad_with(param ? &body : &behind, l->loc, atom_var(p), &at, val, true));
        vec_push(cx->perm, &s.pat, tape);
        vec_push(cx->perm, &tapes, tape);
    }
    vec_append(cx->perm, &body.stms, &l->loop.body->stms);
    vec_append(cx->perm, &body.stms, &behind.stms);
    l->loop.params = ps;
    l->loop.inits = inits;
    l->loop.body = bld_body(&body, res);
    vec_append(cx->perm, fwd, &front.stms);
    vec_push(cx->perm, fwd, s);
    return tapes;
}

static bool changes_in_turn(const Back *B, const VarSet *bound, Type t)
{
    for (int d = 0; d < t.rank; d++)
        if (t.dims[d].var && varset_has(bound, t.dims[d].var))
            return true;
    return sizes_change(B->copy, t);
}

/* Of an array that is read at some places alone, what is read there is kept, not all of it: adds
 * the statements' variables. */
static bool elements_do(Back *B, const Body *turn, Var *p)
{
    Vars elems = {0};
    VarSet *bound = varmap_new(B->r->cx->perm), *forward = varmap_new(B->r->cx->perm);
    bound_in_body(bound, turn);
    for (int i = 0; i < B->in.fwd.n; i++)
        if (B->in.fwd.at[i].pat.n == 1)
            varset_add(forward, B->in.fwd.at[i].pat.at[0]);
    for (int i = 0; i < turn->stms.n; i++) {
        const Stm *s = &turn->stms.at[i];
        VarSet *free = varmap_new(B->r->cx->perm);
        free_in_stm(free, s);
        if (!varset_has(free, p))
            continue;
        Var *x = s->pat.at[0];
        if (s->exp->kind != E_INDEX || s->exp->index.arr.var != p || !varset_has(forward, x) ||
            x->type.rank == p->type.rank || changes_in_turn(B, bound, x->type))
            return false;
        vec_push(B->r->cx->perm, &elems, x);
    }
    for (int i = 0; i < turn->res.n; i++)
        if (turn->res.at[i].var == p)
            return false;
    vec_append(B->r->cx->perm, &B->elems, &elems);
    return p->type.rank > 0;
}

/* What a turn of the reverse loop needs of the loop's parameters. */
static void choose_kept(Back *B, const Body *turn)
{
    Rev *r = B->r;
    VarSet *free = varmap_new(r->cx->perm);
    free_in_body(free, turn);
    for (int j = 0; j < B->copy->loop.params.n; j++) {
        Var *p = B->copy->loop.params.at[j];
        if (!varset_has(free, p) || elements_do(B, turn, p))
            continue;
        if (sizes_change(B->copy, p->type))
            refuse(B->copy->loc);
        else
            vec_push(r->cx->perm, &B->kept, j);
    }
}

/* The turn finds there what was kept. */
static Body *find_kept(Back *B, const Body *turn, Stms *fwd)
{
    Rev *r = B->r;
    choose_kept(B, turn);
    if (B->kept.n + B->elems.n == 0) {
        vec_push(r->cx->perm, fwd, *B->s);
        return bld_body(&(Bld){.cx = r->cx, .stms = turn->stms}, turn->res);
    }
    Vars tapes = keep(B, fwd), vars = {0};
    for (int i = 0; i < B->kept.n; i++)
        vec_push(r->cx->perm, &vars, B->copy->loop.params.at[B->kept.at[i]]);
    vec_append(r->cx->perm, &vars, &B->elems);
    for (int i = 0; i < tapes.n; i++) {
        DimIndexes at = ad_row_at(r->cx, tapes.at[i]->type, B->turn);
        Exp *e = exp_new(r->cx, E_INDEX, B->copy->loc);
        e->index.arr = atom_var(tapes.at[i]);
        e->index.at = at;
        e->index.safe = true;
        bld_define(&B->front, vars.at[i], e);
    }
    Bld rest = bld_new(r->cx);
    for (int i = 0; i < turn->stms.n; i++)
        if (turn->stms.at[i].pat.n != 1 || vars_find(&B->elems, turn->stms.at[i].pat.at[0]) < 0)
            bld_stm(&rest, turn->stms.at[i]);
    return bld_body(&rest, turn->res);
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

static Exp *back_loop(Back *B, Body *turn)
{
    Exp *l = exp_new(B->r->cx, E_LOOP, B->copy->loc);
    l->attrs = B->copy->attrs;
    l->loop.kind = LOOP_FOR;
    l->loop.params = B->params;
    l->loop.inits = B->inits;
    l->loop.i = B->k;
    l->loop.bound = B->n;
    l->loop.body = turn;
    return l;
}

/* The turn: what it begins with, then its sweeps, but for what was kept. */
static Body *whole_turn(Back *B, Atoms res, bool in_order, Stms *fwd)
{
    begin_turn(B, in_order);
    Body *turn = find_kept(B, rev_close(&B->in, res), fwd);
    vec_append(B->r->cx->perm, &B->front.stms, &turn->stms);
    return bld_body(&B->front, res);
}

/* Turns that hand on nothing but sums: the iterations of a map. */
static void turns_at_once(Back *B, Lift *L, Stms *fwd)
{
    Ctx *cx = B->r->cx;
    Iterations its = {.L = *L};
    vec_push(cx->perm, &its.params, B->k);
    Atoms res = rev_results(&its);
    ad_atom(cx, &its.arrs, ad_iota(&B->r->bl, L->loc, B->n));
    for (int i = 0; i < B->n_seeds; i++)
        bld_define(&B->r->bl, B->params.at[i], exp_atom(cx, L->loc, B->inits.at[i]));
    Body *turn = whole_turn(B, res, true, fwd);
    rev_run(&its, lambda_new(cx, its.params, turn), B->copy->attrs);
}

static void turn_backwards(Back *B, Lift *L, Stms *fwd)
{
    Rev *r = B->r;
    Ctx *cx = r->cx;
    Atoms seeds = {0};
    for (int i = 0; i < B->which.n; i++)
        ad_atom(cx, &seeds, rev_take(&B->in, B->copy->loop.params.at[B->which.at[i]]));
    bool in_order = any_order(B, &seeds);
    for (int i = 0; i < B->carried.n; i++)
        ad_atom(cx, &seeds, rev_dense(&B->in, B->carried.at[i]));
    rev_lift(L, B->is_carried);
    if (in_order && B->carried.n == 0) {
        turns_at_once(B, L, fwd);
        for (int i = 0; i < B->which.n; i++)
            rev_add(r, L->loc, B->s->exp->loop.inits.at[B->which.at[i]], B->inits.at[i]);
        return;
    }
    carry_pieces(B, L);
    vec_append(cx->perm, &seeds, &B->res);
    Atoms out = bld_exps(&r->bl, "adj", back_loop(B, whole_turn(B, seeds, in_order, fwd)));
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
    bool wide = B.copy->loop.i->type.elem == T_I64;
    Var *turn = wide ? B.copy->loop.i : var_new(cx, "turn", type_prim(T_I64), s->exp->loc);
    B.k = var_new(cx, "k", type_prim(T_I64), s->exp->loc);
    B.turn = atom_var(turn);
    varset_add(L.bound, B.k);
    varset_add(L.bound, turn);
    activity(&B);
    seed_params(&B);
    carry_free(&B);
    rev_body(&B.in, B.copy->loop.body);
    turn_backwards(&B, &L, fwd);
}
