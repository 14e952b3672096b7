/* Iterations that do not depend on each other, in reverse: a map, whose function gives what is
 * stacked, and what sums of arrays need (array_sums.c); what is summed are scalars first, with
 * which the map is fused. */
#include "ad/reverse.h"

/* Sums of arrays need values of all iterations: parameters, others are results of the map. */
static void plan_sums(Iterations *M)
{
    Ctx *cx = M->L.in->cx;
    Stms all = rev_lift_stms(&M->L);
    Vars inputs = {0};
    for (int i = 0; i < M->L.sums.n; i++) {
        bool few = ad_is_few(atom_type(M->L.sums.at[i]));
        SumPlan *p = few ? NULL : ad_sum_plan(cx, M->L.bound, &all, M->L.sums.at[i], &inputs);
        vec_push(cx->perm, &M->plans, p);
    }
    for (int i = 0; i < inputs.n; i++)
        if (vars_find(&M->params, inputs.at[i]) < 0)
            vec_push(cx->perm, &M->inputs, inputs.at[i]);
}

Atoms rev_results(Iterations *M)
{
    Ctx *cx = M->L.in->cx;
    Atoms res = {0};
    for (int i = 0; i < M->L.sums.n; i++)
        if (ad_is_few(atom_type(M->L.sums.at[i])))
            ad_few_out(&M->L.in->bl, M->L.loc, M->L.sums.at[i], &res);
    M->n_acc = res.n;
    plan_sums(M);
    Atoms inputs = atoms_of_vars(cx, &M->inputs);
    vec_append(cx->perm, &res, &inputs);
    vec_append(cx->perm, &res, &M->L.each);
    vec_append(cx->perm, &res, &M->elems);
    return res;
}

/* Leaves out what fn does not read, but for one array. */
static Lambda *read_only(Iterations *M, const Lambda *fn, Atoms *arrs)
{
    Ctx *cx = M->L.in->cx;
    VarSet *free = varmap_new(cx->perm);
    Vars ps = {0};
    free_in_body(free, fn->body);
    for (int i = 0; i < fn->params.n; i++) {
        bool last = i + 1 == fn->params.n && ps.n == 0;
        if (!varset_has(free, fn->params.at[i]) && !last)
            continue;
        vec_push(cx->perm, &ps, fn->params.at[i]);
        ad_atom(cx, arrs, M->arrs.at[i]);
    }
    return lambda_new(cx, ps, fn->body);
}

static Exp *map_or_sum(Iterations *M, const Lambda *whole)
{
    Ctx *cx = M->L.in->cx;
    Loc loc = M->L.loc;
    Atoms arrs = {0};
    Lambda *fn = read_only(M, whole, &arrs);
    if (M->n_acc == 0)
        return exp_map(cx, loc, M->L.width, arrs, fn);
    Exp *e = ad_soac(cx, E_REDOMAP, loc, M->L.width, arrs);
    e->soac.fn = fn;
    ad_sums_of(cx, e, M->n_acc);
    return e;
}

Atoms rev_made(Iterations *M, Lambda *fn, unsigned attrs, Atoms *each, Atoms *sums)
{
    Ctx *cx = M->L.in->cx;
    Bld *bl = &M->L.out->bl;
    Atoms out = {0}, elems = {0};
    int at = M->n_acc;
    if (fn->body->res.n) {
        Exp *e = map_or_sum(M, fn);
        e->attrs = attrs;
        out = bld_exps(bl, "adj", e);
    }
    Summer S = {bl, M->L.loc, M->L.width, varmap_new(cx->perm)};
    for (int i = 0; i < M->params.n; i++)
        ad_stack(&S, M->params.at[i], M->arrs.at[i]);
    for (int i = 0; i < M->inputs.n; i++)
        ad_stack(&S, M->inputs.at[i], out.at[at++]);
    const Atom *acc = out.at;
    for (int i = 0; i < M->L.sums.n; i++) {
        Type t = atom_type(M->L.sums.at[i]);
        ad_atom(cx, sums,
                M->plans.at[i] ? ad_sum_code(&S, M->plans.at[i])
                               : ad_few_in(bl, M->L.loc, t, &acc));
    }
    for (int i = 0; i < M->L.each.n; i++)
        ad_atom(cx, each, out.at[at++]);
    for (int i = 0; i < M->elems.n; i++)
        ad_atom(cx, &elems, out.at[at++]);
    return elems;
}

Atoms rev_run(Iterations *M, Lambda *fn, unsigned attrs)
{
    Atoms each = {0}, sums = {0};
    Atoms elems = rev_made(M, fn, attrs, &each, &sums);
    rev_lifted(&M->L, &each, &sums);
    return elems;
}
