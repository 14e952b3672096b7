/* Reductions and scans: direct constructs, and rule G9 for those with SOACs in their function. */
#include "flatten/rules.h"

static bool has_array(const Vars *vs)
{
    for (int k = 0; k < vs->n; k++)
        if (vs->at[k]->type.rank > 0)
            return true;
    return false;
}

bool op_is_invariant(const VarSet *variant, const Exp *e)
{
    for (int k = 0; k < e->soac.nes.n; k++)
        if (atom_variant(variant, e->soac.nes.at[k]))
            return false;
    Arena *tmp = arena_new();
    Ctx cx = {.perm = tmp};
    Vars frees = free_vars_lambda(&cx, e->soac.op);
    bool flat = true;
    for (int i = 0; i < frees.n; i++)
        flat = flat && !varset_has(variant, frees.at[i]);
    arena_free(tmp);
    return flat;
}

bool is_flat_op(const VarSet *variant, const Exp *e)
{
    return !has_array(&e->soac.op->params) && op_is_invariant(variant, e);
}

/* --- The parts of the four forms ------------------------------------------------------------ */

static bool scans(const Exp *e)
{
    return exp_is(e, F_SCAN);
}

/* The function whose results are reduced: fn, or the identity on the rows of the arrays. */
static Lambda *mapped_fn(Flat *fl, const Exp *e)
{
    if (e->soac.fn)
        return e->soac.fn;
    Vars params = {0};
    for (int k = 0; k < e->soac.arrs.n; k++) {
        /* Named after the operator's second parameters. */
        const Var *like = e->soac.op->params.at[e->soac.nes.n + k];
        Type t = type_row(atom_type(e->soac.arrs.at[k]));
        vec_push(fl->cx->perm, &params, var_new(fl->cx, like->base, t, like->loc));
    }
    Bld none = bld_new(fl->cx);
    return lambda_new(fl->cx, params, bld_body(&none, atoms_of_vars(fl->cx, &params)));
}

static Exp *reduce_construct(Flat *fl, const MapNest *S1, const Body *b, const Exp *e)
{
    Seg sg = {.kind = scans(e) ? E_SEGSCAN : E_SEGRED,
              .S = S1,
              .stms = b->stms,
              .res = b->res,
              .op = e->soac.op,
              .nes = e->soac.nes,
              .comm = e->soac.comm,
              .loc = e->loc,
              .attrs = e->attrs};
    return seg_make(fl, &sg);
}

/* let y = map fn xs in reduce op ne y (scan likewise), with what fn maps out as it is. */
static Body *split_redomap(Flat *fl, const Stm *s, const Lambda *fn)
{
    Ctx *cx = fl->cx;
    const Exp *e = s->exp;
    Bld bl = bld_new(cx);
    Exp *map =
        exp_map(cx, e->loc, e->soac.width, e->soac.arrs, lambda_new(cx, fn->params, fn->body));
    map->attrs = e->attrs;
    Stm ms = {.exp = map};
    ms.pat = exp_pat(cx, "ys", map);
    bld_stm(&bl, ms);
    Exp *red = exp_new(cx, scans(e) ? E_SCAN : E_REDUCE, e->loc);
    red->soac.width = e->soac.width;
    red->soac.op = e->soac.op;
    red->soac.nes = e->soac.nes;
    red->soac.comm = e->soac.comm;
    red->attrs = e->attrs;
    for (int k = 0; k < e->soac.nes.n; k++)
        vec_push(cx->perm, &red->soac.arrs, atom_var(ms.pat.at[k]));
    Atoms res = bld_exps(&bl, "res", red);
    for (int k = 0; k < res.n; k++)
        res.at[k].var->base = s->pat.at[k]->base;
    for (int k = e->soac.nes.n; k < ms.pat.n; k++) {
        ms.pat.at[k]->base = s->pat.at[k]->base;
        inherit_consumed(fl, s->pat.at[k], ms.pat.at[k]);
        vec_push(cx->perm, &res, atom_var(ms.pat.at[k]));
    }
    return bld_body(&bl, res);
}

/* --- Rules ---------------------------------------------------------------------------------- */

static Atoms split_results(Flat *fl, const MapNest *S, const Stm *s, const Lambda *fn, Bld *out)
{
    Body *b = split_redomap(fl, s, fn);
    analyse_body(fl, b);
    return flatten_body(fl, S, b, out);
}

/* Rule G9: redomap op f v xs with SOACs in f becomes
 * if Par(S1) >= t_top then segred^l S1 op v (f x) else S |- let y = map f xs in reduce op v y,
 * where S1 = S,<x in xs>. Likewise scanomap. Without SOACs in f: the segred alone. */
static Atoms rule_g9(Flat *fl, const MapNest *S, const Stm *s, Bld *out)
{
    const Exp *e = s->exp;
    Lambda *fn = mapped_fn(fl, e);
    MapNest S1 = nest_push(fl, S, e->soac.width, &fn->params, &e->soac.arrs);
    VarSet *variant = varmap_new(fl->cx->perm);
    nest_vars(&S1, variant);
    Body *b = fl->level == 0 ? fn->body : hoist_invariants(fl, variant, fn->body, out);
    fn = lambda_new(fl->cx, fn->params, b);
    const char *what = scans(e) ? "segscan" : "segred";
    ReducePlan p = plan_reduce(fl, S, e, nest_body_par(fl, &S1, b));
    if (!p.rec) {
        log_rule(fl, "G9", &S1, e, "%s^%d%s", what, fl->level, p.why);
        return bind_results(fl, S, &s->pat, reduce_construct(fl, &S1, b, e), out);
    }
    Versions vs = {0};
    if (*p.why)
        log_rule(fl, "G9", &S1, e, "e_top pruned (%s)", p.why);
    if (p.top) {
        Bld bl = bld_new(fl->cx), par = bld_new(fl->cx);
        Atoms res = bind_fresh(fl, S, &s->pat, reduce_construct(fl, &S1, b, e), &bl);
        Par of = {par_of_nest(fl, &S1, &par), par_in_all(fl, &S1, b, &par), no_cost()};
        version_add(fl, &vs, false, bld_body(&bl, res), &par, of, e->loc);
        log_rule(fl, "G9", &S1, e, "e_top: %s^%d, the rest sequential; %s", what, fl->level,
                 vec_last(&vs).name);
    }
    log_rule(fl, "G9", &S1, e, "e_rec: map, then %s", scans(e) ? "scan" : "reduce");
    Flat inner = *fl;
    inner.path = versions_path(fl, &vs);
    inner.depth++;
    if (!p.top)
        return name_results(fl, S, s, split_results(&inner, S, s, fn, out), out);
    Bld bl = bld_new(fl->cx);
    Atoms res = split_results(&inner, S, s, fn, &bl);
    return versions_fold(fl, S, &vs, bld_body(&bl, res), s, out);
}

Atoms flatten_reduce(Flat *fl, const MapNest *S, const Stm *s, Bld *out)
{
    if (!has_array(&s->exp->soac.op->params))
        return rule_g9(fl, S, s, out);
    if (!s->exp->soac.fn)
        return rule_g4(fl, S, s, out);
    log_rule(fl, "G9", S, s->exp, "operator on arrays: map, then %s, for G4",
             scans(s->exp) ? "scan" : "reduce");
    return name_results(fl, S, s, split_results(fl, S, s, s->exp->soac.fn, out), out);
}
