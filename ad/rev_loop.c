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

#include "ir/chains/alike.h"

typedef struct {
    Turns T;
    Rev in;
    Var *k;      /* the reverse loop's counter */
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

/* What a turn begins with: turns are run from the last to the first; but in their order where none
 * depends on another, since then they may be those of a map. */
static Bld begin_turn(Back *B, bool in_order)
{
    Rev *r = B->T.r;
    Ctx *cx = r->cx;
    Bld front = bld_new(cx);
    const Exp *e = B->T.copy;
    Atom last = bld_binop(&r->bl, e->loc, OP_SUB, B->T.n, atom_i64(1));
    Exp *turn = exp_binop(cx, e->loc, OP_SUB, last, atom_var(B->k));
    bld_define(&front, B->T.turn.var, in_order ? exp_atom(cx, e->loc, atom_var(B->k)) : turn);
    if (B->T.turn.var != e->loop.i)
        bld_define(&front, e->loop.i, exp_conv(cx, e->loc, e->loop.i->type.elem, B->T.turn));
    return front;
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

/* An array is carried of what each turn gives: the turn's result behind the others. */
static void carry_each(Back *B, const Lift *L, Bld *turn, Atom val, Atoms *res)
{
    Ctx *cx = turn->cx;
    Type t = type_array(cx, atom_type(val), B->T.n);
    Var *p = back_param(B, "each", t, ad_scratch(&L->out->bl, L->loc, t));
    DimIndexes at = ad_row_at(cx, t, B->T.turn);
    ad_atom(cx, res, ad_with(turn, L->loc, atom_var(p), &at, val, true));
}

static void carry_sum(Back *B, const Lift *L, Bld *turn, Atom val, Atoms *res)
{
    Type t = atom_type(val);
    Var *p = back_param(B, "sum", t, ad_zero(&L->out->bl, L->loc, t));
    ad_atom(turn->cx, res, ad_add(turn, L->loc, atom_var(p), val));
}

/* --- The reverse loop ----------------------------------------------------------------------- */

static void add_to_inits(Back *B, const Atom *seeds)
{
    const Exp *e = B->T.s->exp;
    for (int i = 0; i < B->which.n; i++)
        rev_add(B->T.r, e->loc, e->loop.inits.at[B->which.at[i]], seeds[i]);
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

/* The statements of a turn's sweeps that these results need, but for what was kept. */
static Stms sweeps(Back *B, Atoms res, Stms *fwd)
{
    Bld all = bld_new(B->T.r->cx);
    Body *turn = rev_from_tape(&B->T, rev_close(&B->in, res), fwd, &all);
    vec_append(all.cx->perm, &all.stms, &turn->stms);
    return all.stms;
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
    Bld turn = begin_turn(B, true);
    Stms stms = sweeps(B, res, fwd);
    vec_append(cx->perm, &turn.stms, &stms);
    rev_run(&its, lambda_new(cx, its.params, bld_body(&turn, res)), B->T.copy->attrs);
    add_to_inits(B, B->inits.at);
}

/* --- What waits until all turns are done ---------------------------------------------------- */

/* In the reverse sweep nothing but seeds goes from turn to turn. What a turn makes for sums alone,
 * of what is small beside a seed, all turns can make at once, the iterations of a map:
 *
 *     loop (x', w') for k < n do               loop (x', ss) for k < n do
 *       let s = small x'                 =>      in (next x', ss with [i] = small x')
 *       in (next x', w' + fold s)              sum over i of fold ss[i]
 */
enum When { AT_TURN, ANY_TIME, LATE }; /* any time: in both */
typedef struct {
    Back *B;
    const Lift *L;
    int rank; /* of the largest seed */
    Stms stms;
    enum When *when; /* by statement */
    VarSet *varies;  /* what depends on what is handed on, or on what is large */
    VarSet *large;
    VarSet *needed; /* by what is made at turns */
} Waits;

static bool has_any(const VarSet *of, const VarSet *set)
{
    for (int i = 0; (i = ptrmap_next(of, i)) >= 0; i++)
        if (varset_has(set, ptrmap_key(of, i)))
            return true;
    return false;
}

/* Small is what has some of a largest seed's sizes, and lacks one that is not constant. */
static bool is_large(const Waits *W, const Var *v)
{
    bool small = false;
    if (v->type.rank >= W->rank || ad_type_varies(W->L->bound, v->type))
        return true;
    for (int i = 0; i < W->B->which.n; i++) {
        const Var *seed = W->B->params.at[i];
        small = small || rev_like(v, seed);
        if (seed->type.rank == W->rank && rev_like(seed, v))
            return true;
    }
    return !small;
}

/* Does each turn read something large that the forward sweep has kept? Then what is small is kept
 * for little more. */
static bool keeps_large(const Waits *W)
{
    for (int i = 0; i < W->stms.n; i++) {
        const Stm *s = &W->stms.at[i];
        const Exp *e = s->exp;
        if (e->kind == E_INDEX && atom_eq(e->index.at.at[0].start, W->B->T.turn) &&
            !e->index.at.at[0].is_slice && s->pat.at[0]->type.rank >= W->rank)
            return true;
    }
    return false;
}

static void handed_on(Waits *W)
{
    const Back *B = W->B;
    W->varies = varmap_new(B->T.r->cx->perm);
    W->large = varmap_new(B->T.r->cx->perm);
    for (int i = 0; i < B->which.n; i++)
        if (B->params.at[i]->type.rank > W->rank)
            W->rank = B->params.at[i]->type.rank;
    for (int i = 0; i < B->params.n; i++) {
        varset_add(W->varies, B->params.at[i]);
        if (i >= B->which.n || is_large(W, B->params.at[i]))
            varset_add(W->large, B->params.at[i]);
    }
}

/* When may s be made? `needed`: what the turn hands on needs it. */
static enum When when_made(Waits *W, const Stm *s, bool needed)
{
    VarSet *free = varmap_new(W->B->T.r->cx->perm);
    free_in_stm(free, s);
    bool large = has_any(free, W->large);
    for (int k = 0; k < s->pat.n; k++)
        if (is_large(W, s->pat.at[k])) {
            varset_add(W->large, s->pat.at[k]);
            large = true;
        }
    bool varies = large || has_any(free, W->varies);
    for (int k = 0; varies && k < s->pat.n; k++)
        varset_add(W->varies, s->pat.at[k]);
    return !varies ? ANY_TIME : large || needed ? AT_TURN : LATE;
}

/* Of what is late so far, what statements at turns need is made at turns, too. */
static void made_at_turns(Waits *W)
{
    for (int i = W->stms.n - 1; i >= 0; i--) {
        const Stm *s = &W->stms.at[i];
        if (W->when[i] == LATE && binds_any(s, W->needed))
            W->when[i] = AT_TURN;
        if (W->when[i] == AT_TURN)
            free_in_stm(W->needed, s);
    }
}

/* Finds out which statements wait, if the turn gives `res`. Those with a fold are worth it. */
static bool choose_late(Waits *W, Atoms res)
{
    Ctx *cx = W->B->T.r->cx;
    bool worth = false;
    W->when = NEWN(cx->perm, enum When, W->stms.n);
    W->needed = varmap_new(cx->perm);
    for (int i = 0; i < res.n; i++)
        if (res.at[i].var)
            varset_add(W->needed, res.at[i].var);
    for (int i = 0; i < W->stms.n; i++)
        W->when[i] = LATE;
    made_at_turns(W);
    for (int i = 0; i < W->stms.n; i++)
        W->when[i] = when_made(W, &W->stms.at[i], W->when[i] == AT_TURN);
    made_at_turns(W);
    for (int i = 0; i < W->stms.n; i++)
        worth = worth || (W->when[i] == LATE && ad_folds(W->stms.at[i].exp));
    return worth;
}

static VarSet *bound_when(const Waits *W, enum When when)
{
    VarSet *vs = varmap_new(W->B->T.r->cx->perm);
    for (int i = 0; i < W->stms.n; i++)
        for (int k = 0; W->when[i] == when && k < W->stms.at[i].pat.n; k++)
            varset_add(vs, W->stms.at[i].pat.at[k]);
    return vs;
}

static Stms but_for(const Waits *W, enum When when)
{
    Bld bl = bld_new(W->B->T.r->cx);
    for (int i = 0; i < W->stms.n; i++)
        if (W->when[i] != when)
            bld_stm(&bl, W->stms.at[i]);
    return bl.stms;
}

/* The sums that are late: those of late values, and of numbers, for each of which a turn would be
 * added to what the turns before gave. */
static Atoms late_sums(const Waits *W)
{
    VarSet *late = bound_when(W, LATE), *early = bound_when(W, AT_TURN);
    Atoms sums = {0};
    for (int i = 0; i < W->L->sums.n; i++) {
        const Var *v = W->L->sums.at[i].var;
        if (v && (varset_has(late, v) || (v->type.rank == 0 && varset_has(early, v))))
            ad_atom(W->B->T.r->cx, &sums, W->L->sums.at[i]);
    }
    return sums;
}

/* What turns keep for what is late. */
static Vars kept_for_late(const Waits *W, const Atoms *sums)
{
    Ctx *cx = W->B->T.r->cx;
    VarSet *early = bound_when(W, AT_TURN), *used = varmap_new(cx->perm);
    Vars kept = {0};
    for (int i = 0; i < W->B->which.n; i++)
        varset_add(early, W->B->params.at[i]);
    for (int i = 0; i < W->stms.n; i++)
        if (W->when[i] == LATE)
            free_in_stm(used, &W->stms.at[i]);
    for (int i = 0; i < sums->n; i++)
        varset_add(used, sums->at[i].var);
    Vars vs = varset_list(cx->perm, used);
    for (int i = 0; i < vs.n; i++)
        if (varset_has(early, vs.at[i]))
            vec_push(cx->perm, &kept, vs.at[i]);
    return kept;
}

/* The sums that are late, of all turns at once, of what they kept. */
static Atoms sum_late(Waits *W, const Vars *kept, const Atom *rows, Atoms late)
{
    const Lift *L = W->L;
    Ctx *cx = L->out->cx;
    Rev in = rev_inner(L->in);
    Iterations its = {.L = *L};
    Atoms each = {0}, sums = {0};
    in.bl.stms = but_for(W, AT_TURN);
    its.L.in = &in;
    its.L.sums = late;
    its.L.each = (Atoms){0};
    vec_push(cx->perm, &its.params, W->B->k);
    ad_atom(cx, &its.arrs, ad_iota(&L->out->bl, L->loc, W->B->T.n));
    for (int i = 0; i < kept->n; i++) {
        varset_add(L->bound, kept->at[i]);
        vec_push(cx->perm, &its.params, kept->at[i]);
        ad_atom(cx, &its.arrs, rows[i]);
    }
    Atoms made = rev_results(&its);
    Bld turn = begin_turn(W->B, true);
    vec_append(cx->perm, &turn.stms, &in.bl.stms);
    Body *fn = ad_needed(cx, bld_body(&turn, made));
    rev_made(&its, lambda_new(cx, its.params, fn), W->B->T.copy->attrs, &each, &sums);
    return sums;
}

/* --- A turn --------------------------------------------------------------------------------- */

/* The reverse loop, with names of its own: what it gives. */
static Atoms run_backwards(Back *B, Bld *out, Bld *turn, Atoms res)
{
    Ctx *cx = out->cx;
    Vars ps = {0};
    vec_append(cx->perm, &ps, &B->params);
    vec_push(cx->perm, &ps, B->k);
    Lambda *own = rename_lambda(cx, lambda_new(cx, ps, bld_body(turn, res)));
    Exp *l = back_loop(B, own->body);
    l->loop.i = own->params.at[--own->params.n];
    l->loop.params = own->params;
    return bld_exps(out, "adj", l);
}

static void came_out(Back *B, Lift *L, const Atoms *out, const Atoms *each, const Atoms *sums)
{
    int at = B->sizes.n;
    const Atom *seeds = out->at + at;
    at += B->which.n;
    for (int i = 0; i < B->carried.n; i++)
        rev_set(B->T.r, B->carried.at[i], out->at[at++]);
    rev_lifted(L, each, sums);
    add_to_inits(B, seeds);
}

/* The statements of a turn, and of its sums those that are not late. */
static Atoms carry_all(Back *B, const Waits *W, const Vars *kept, const Atoms *late, Bld *turn,
                       Atoms res)
{
    const Lift *L = W->L;
    for (int i = 0; i < L->each.n; i++)
        carry_each(B, L, turn, L->each.at[i], &res);
    for (int i = 0; i < kept->n; i++)
        carry_each(B, L, turn, atom_var(kept->at[i]), &res);
    for (int i = 0, k = 0; i < L->sums.n; i++)
        if (k < late->n && atom_eq(late->at[k], L->sums.at[i]))
            k++;
        else
            carry_sum(B, L, turn, L->sums.at[i], &res);
    return res;
}

/* The loop hands on `res` and carries what pieces need, but for what is late. */
static void turn_by_turn(Back *B, Lift *L, Atoms res, bool in_order, Stms *fwd)
{
    Ctx *cx = L->out->cx;
    Waits W = {.B = B, .L = L};
    Vars kept = {0};
    Atoms own = {0}, all = {0}, late = {0}, each = {0}, sums = {0}, behind = {0};
    handed_on(&W);
    vec_append(cx->perm, &own, &res);
    vec_append(cx->perm, &own, &L->each);
    vec_append(cx->perm, &all, &own);
    vec_append(cx->perm, &all, &L->sums);
    W.stms = sweeps(B, all, fwd);
    bool waits = !in_order && B->sizes.n == 0 && attr_strips(B->T.copy->attrs) == 0 &&
                 keeps_large(&W) && choose_late(&W, own);
    if (waits) {
        late = late_sums(&W);
        kept = kept_for_late(&W, &late);
    }
    Bld turn = begin_turn(B, in_order);
    Stms stms = waits ? but_for(&W, LATE) : W.stms;
    vec_append(cx->perm, &turn.stms, &stms);
    Atoms out = run_backwards(B, &L->out->bl, &turn, carry_all(B, &W, &kept, &late, &turn, res));
    const Atom *at = out.at + res.n;
    for (int i = 0; i < L->each.n; i++)
        ad_atom(cx, &each, *at++);
    if (waits)
        behind = sum_late(&W, &kept, at, late);
    at += kept.n;
    for (int i = 0, k = 0; i < L->sums.n; i++)
        ad_atom(cx, &sums,
                k < late.n && atom_eq(late.at[k], L->sums.at[i]) ? behind.at[k++] : *at++);
    came_out(B, L, &out, &each, &sums);
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
    if (in_order && B->carried.n == 0)
        turns_at_once(B, L, fwd);
    else
        turn_by_turn(B, L, res, in_order, fwd);
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
    Back B = {.in = rev_inner(r)};
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
