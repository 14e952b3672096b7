/* Maps in reverse: a map over the same arrays and the adjoints of the results, whose function runs
 * the forward and then the reverse sweep. Adjoints of elements are elements of its results, those
 * of free scalars are summed, those of free arrays leave in pieces (pieces.c). */
#include "ad/reverse.h"

typedef struct {
    Rev *r;
    const Stm *s;
    Lambda *fn; /* with fresh names */
    Rev in;
    Lift L;
    Vars params;
    Atoms arrs;
    Ints which;           /* of fn's parameters: those with an adjoint */
    VEC(SumPlan *) plans; /* of L.sums: of arrays */
    Vars inputs;          /* of the plans, but for parameters */
} MapBack;

static void begin(MapBack *M)
{
    Rev *r = M->r;
    const Exp *e = M->s->exp;
    VarSet *bound = varmap_new(r->cx->perm);
    bound_in_body(bound, M->fn->body);
    M->L.own = varmap_new(r->cx->perm);
    for (int i = 0; i < M->fn->params.n; i++) {
        Var *p = M->fn->params.at[i];
        Atom arr = e->soac.arrs.at[i];
        const Exp *def = arr.var ? varmap_get(r->defs, arr.var) : NULL;
        varset_add(bound, p);
        if (rev_active(r, arr))
            varset_add(r->active, p);
        if (def && def->kind == E_IOTA && atom_is_int(def->iota.start, 0) &&
            atom_is_int(def->iota.stride, 1))
            varset_add(M->L.own, p);
    }
    M->in = rev_inner_map(r, bound);
    M->L.in = &M->in;
    M->L.out = r;
    M->L.loc = e->loc;
    M->L.bound = bound;
    M->L.width = e->soac.width;
    ad_activity(r->active, M->fn->body);
}

static void seeds(MapBack *M)
{
    Rev *r = M->r;
    Loc loc = M->L.loc;
    vec_append(r->cx->perm, &M->params, &M->fn->params);
    vec_append(r->cx->perm, &M->arrs, &M->s->exp->soac.arrs);
    for (int j = 0; j < M->s->pat.n; j++) {
        if (!rev_has(r, M->s->pat.at[j]))
            continue;
        Atom arr = rev_take(r, M->s->pat.at[j]);
        Var *seed = ad_var(r->cx, "seed", type_row(atom_type(arr)), loc);
        varset_add(M->L.bound, seed);
        vec_push(r->cx->perm, &M->params, seed);
        ad_atom(r->cx, &M->arrs, arr);
        rev_add(&M->in, loc, M->fn->body->res.at[j], atom_var(seed));
    }
}

/* Sums of arrays need values of all iterations: parameters, others are results of the map. */
static void plan_sums(MapBack *M)
{
    Ctx *cx = M->r->cx;
    Stms all = {0};
    Vars inputs = {0};
    vec_append(cx->perm, &all, &M->in.fwd);
    vec_append(cx->perm, &all, &M->in.bl.stms);
    bound_in_body(M->L.bound, bld_body(&(Bld){.cx = cx, .stms = all}, (Atoms){0}));
    for (int i = 0; i < M->L.sums.n; i++) {
        bool scalar = atom_type(M->L.sums.at[i]).rank == 0;
        SumPlan *p = scalar ? NULL : ad_sum_plan(cx, M->L.bound, &all, M->L.sums.at[i], &inputs);
        vec_push(cx->perm, &M->plans, p);
    }
    for (int i = 0; i < inputs.n; i++)
        if (vars_find(&M->params, inputs.at[i]) < 0)
            vec_push(cx->perm, &M->inputs, inputs.at[i]);
}

/* Scalars that are summed come first: the map's function is fused with their reduction. */
static Atoms results(MapBack *M, int *n_acc)
{
    Ctx *cx = M->r->cx;
    Atoms res = {0}, elems = {0};
    for (int i = 0; i < M->fn->params.n; i++)
        if (rev_has(&M->in, M->fn->params.at[i])) {
            ad_atom(cx, &elems, rev_take(&M->in, M->fn->params.at[i]));
            vec_push(cx->perm, &M->which, i);
        }
    rev_lift(&M->L, NULL);
    for (int i = 0; i < M->L.sums.n; i++)
        if (atom_type(M->L.sums.at[i]).rank == 0)
            ad_atom(cx, &res, M->L.sums.at[i]);
    *n_acc = res.n;
    plan_sums(M);
    Atoms inputs = atoms_of_vars(cx, &M->inputs);
    vec_append(cx->perm, &res, &inputs);
    vec_append(cx->perm, &res, &M->L.each);
    vec_append(cx->perm, &res, &elems);
    return res;
}

static Exp *back_map(MapBack *M, Lambda *fn, int n_acc)
{
    Ctx *cx = M->r->cx;
    Loc loc = M->L.loc;
    if (n_acc == 0)
        return exp_map(cx, loc, M->L.width, M->arrs, fn);
    Exp *e = ad_soac(cx, E_REDOMAP, loc, M->L.width, M->arrs);
    Vars ps = {0}, xs = {0};
    Bld bl = bld_new(cx);
    Atoms res = {0};
    for (int i = 0; i < n_acc; i++) {
        Type t = atom_type(fn->body->res.at[i]);
        vec_push(cx->perm, &ps, ad_var(cx, "acc", t, loc));
        vec_push(cx->perm, &xs, ad_var(cx, "x", t, loc));
        ad_atom(cx, &e->soac.nes, atom_zero(t.elem));
        ad_atom(cx, &res, bld_binop(&bl, loc, OP_ADD, atom_var(ps.at[i]), atom_var(xs.at[i])));
    }
    vec_append(cx->perm, &ps, &xs);
    e->soac.fn = fn;
    e->soac.op = lambda_new(cx, ps, bld_body(&bl, res));
    e->soac.comm = true;
    return e;
}

void rev_map(Rev *r, const Stm *s, Stms *fwd)
{
    Ctx *cx = r->cx;
    MapBack M = {.r = r, .s = s, .fn = rename_lambda(cx, s->exp->soac.fn)};
    vec_push(cx->perm, fwd, *s);
    begin(&M);
    seeds(&M);
    rev_body(&M.in, M.fn->body);
    int n_acc;
    Atoms res = results(&M, &n_acc);
    if (res.n == 0)
        return;
    Lambda *fn = lambda_new(cx, M.params, rev_close(&M.in, res));
    Exp *back = back_map(&M, fn, n_acc);
    back->attrs = s->exp->attrs;
    Atoms out = bld_exps(&r->bl, "adj", back), each = {0}, sums = {0};
    int at_acc = 0, at = n_acc;
    Summer S = {&r->bl, M.L.loc, M.L.width, varmap_new(cx->perm)};
    for (int i = 0; i < M.params.n; i++)
        ad_stack(&S, M.params.at[i], M.arrs.at[i]);
    for (int i = 0; i < M.inputs.n; i++)
        ad_stack(&S, M.inputs.at[i], out.at[at++]);
    for (int i = 0; i < M.L.sums.n; i++)
        ad_atom(cx, &sums, M.plans.at[i] ? ad_sum_code(&S, M.plans.at[i]) : out.at[at_acc++]);
    for (int i = 0; i < M.L.each.n; i++)
        ad_atom(cx, &each, out.at[at++]);
    rev_lifted(&M.L, &each, &sums);
    for (int i = 0; i < M.which.n; i++)
        rev_add(r, M.L.loc, s->exp->soac.arrs.at[M.which.at[i]], out.at[at++]);
}
