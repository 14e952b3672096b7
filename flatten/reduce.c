/* Reductions and scans: direct constructs, and rule G9 for those with SOACs in their function. */
#include "flatten/rules.h"

/* --- The parts of the four forms ------------------------------------------------------------ */

static bool scans(const Exp *e)
{
    return exp_is(e, F_SCAN);
}

Exp *reduce_construct(Flat *fl, const MapNest *S1, const Body *b, const Exp *e)
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

/* How e_rec divides a redomap's function: what stands up to its last SOAC is a map, scalar code
 * behind that stays in the reduction's function, so that neither its results nor inputs that it
 * passes on become arrays. */
typedef struct {
    Stms head, tail;
    Vars passed; /* scalars that the head gives to the tail, or to the operator itself */
    Vars inputs; /* scalar parameters of the function likewise ... */
    Atoms arrs;  /* ... and the arrays that they are elements of */
} Division;

static bool is_turning(const Exp *e)
{
    return e->kind == E_LOOP || exp_is_soac(e);
}

static bool is_scalar_code(const Stm *s)
{
    return types_scalar(&s->pat, 0, s->pat.n) && !exp_traps(s->exp) &&
           (exp_is(s->exp, F_SCALAR) || (s->exp->kind == E_IF && !exp_any(s->exp, is_turning)));
}

static void add_uses(VarSet *need, const Atoms *as, int from, int to)
{
    for (int k = from; k < to; k++)
        if (as->at[k].var)
            varset_add(need, as->at[k].var);
}

/* What the head binds, or the function takes, of what the tail needs. False: not scalars alone. */
static bool find_passed(Flat *fl, const Exp *e, const Lambda *fn, const VarSet *need, Division *d)
{
    Ctx *cx = fl->cx;
    for (int i = 0; i < d->head.n; i++)
        for (int k = 0; k < d->head.at[i].pat.n; k++)
            if (varset_has(need, d->head.at[i].pat.at[k]))
                vec_push(cx->perm, &d->passed, d->head.at[i].pat.at[k]);
    for (int k = 0; k < fn->params.n; k++)
        if (varset_has(need, fn->params.at[k])) {
            vec_push(cx->perm, &d->inputs, fn->params.at[k]);
            vec_push(cx->perm, &d->arrs, e->soac.arrs.at[k]);
        }
    return types_scalar(&d->passed, 0, d->passed.n) && types_scalar(&d->inputs, 0, d->inputs.n);
}

/* False: all of fn is the map's, since the tail would read as many arrays and do nothing,
 * or more. */
static bool divide(Flat *fl, const Exp *e, const Lambda *fn, Division *d)
{
    Ctx *cx = fl->cx;
    const Stms *ss = &fn->body->stms;
    int n = e->soac.nes.n;
    if (op_has_arrays(e->soac.op)) /* rule G4 wants it without a function */
        return false;
    VarSet *head = varmap_new(cx->perm), *need = varmap_new(cx->perm);
    add_uses(head, &fn->body->res, n, fn->body->res.n);
    bool *in_head = NEWN(cx->perm, bool, ss->n);
    for (int i = ss->n - 1; i >= 0; i--) {
        in_head[i] = !is_scalar_code(&ss->at[i]) || binds_any(&ss->at[i], head);
        if (in_head[i])
            free_in_exp(head, ss->at[i].exp);
    }
    *d = (Division){0};
    for (int i = 0; i < ss->n; i++)
        vec_push(cx->perm, in_head[i] ? &d->head : &d->tail, ss->at[i]);
    add_uses(need, &fn->body->res, 0, n);
    d->tail = stms_live(fl->cx, &d->tail, need, false);
    return find_passed(fl, e, fn, need, d) && d->passed.n <= n &&
           (d->passed.n < n || d->tail.n > 0);
}

/* The reduction (scan) that is left when a map gave `ys`. */
static Exp *rest_of(Flat *fl, const Exp *e, Atoms ys)
{
    Exp *red = exp_new(fl->cx, scans(e) ? E_SCAN : E_REDUCE, e->loc);
    red->soac.width = e->soac.width;
    red->soac.arrs = ys;
    red->soac.op = e->soac.op;
    red->soac.nes = e->soac.nes;
    red->soac.comm = e->soac.comm;
    red->attrs = e->attrs;
    return red;
}

/* ... with the division's tail as its function. */
static Exp *rest_with_tail(Flat *fl, const Exp *e, const Lambda *fn, const Division *d, Atoms ys)
{
    Ctx *cx = fl->cx;
    Vars params = {0};
    Atoms res = {0};
    vec_append(cx->perm, &params, &d->passed);
    vec_append(cx->perm, &params, &d->inputs);
    vec_append(cx->perm, &ys, &d->arrs);
    for (int k = 0; k < e->soac.nes.n; k++)
        vec_push(cx->perm, &res, fn->body->res.at[k]);
    Bld bl = bld_new(cx);
    bl.stms = d->tail;
    Exp *red = rest_of(fl, e, ys);
    red->kind = scans(e) ? E_SCANOMAP : E_REDOMAP;
    red->soac.fn = rename_lambda(cx, lambda_new(cx, params, bld_body(&bl, res)));
    return red;
}

static Atoms first_of(Ctx *cx, const Vars *pat, int n)
{
    Atoms as = {0};
    for (int k = 0; k < n; k++)
        vec_push(cx->perm, &as, atom_var(pat->at[k]));
    return as;
}

/* let y = map fn xs in reduce op ne y (scan likewise), with what fn maps out as it is; with scalar
 * code at the end of fn in the reduction: let y = map head xs in redomap op ne tail y. */
Body *split_redomap(Flat *fl, const Stm *s, const Lambda *fn)
{
    Ctx *cx = fl->cx;
    const Exp *e = s->exp;
    int n = e->soac.nes.n;
    Division d;
    bool divided = divide(fl, e, fn, &d);
    Body *head = fn->body;
    if (divided) {
        Bld hb = bld_new(cx);
        hb.stms = d.head;
        Atoms res = atoms_of_vars(cx, &d.passed);
        for (int k = n; k < fn->body->res.n; k++)
            vec_push(cx->perm, &res, fn->body->res.at[k]);
        head = bld_body(&hb, res);
    }
    int first = divided ? d.passed.n : n; /* of what is mapped out */
    Bld bl = bld_new(cx);
    Exp *map = exp_map(cx, e->loc, e->soac.width, e->soac.arrs, lambda_new(cx, fn->params, head));
    map->attrs = e->attrs;
    Stm ms = {.exp = map};
    ms.pat = exp_pat(cx, "ys", map);
    bld_stm(&bl, ms);
    Atoms ys = first_of(cx, &ms.pat, first);
    Exp *red = divided ? rest_with_tail(fl, e, fn, &d, ys) : rest_of(fl, e, ys);
    Atoms res = bld_exps(&bl, "res", red);
    for (int k = 0; k < res.n; k++)
        res.at[k].var->base = s->pat.at[k]->base;
    for (int k = n; k < s->pat.n; k++) {
        Var *mapped = ms.pat.at[first + k - n];
        mapped->base = s->pat.at[k]->base;
        inherit_consumed(fl, s->pat.at[k], mapped);
        vec_push(cx->perm, &res, atom_var(mapped));
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
    Lambda *fn = reduce_fn(fl, e);
    MapNest S1 = nest_push(fl, S, e->soac.width, &fn->params, &e->soac.arrs);
    VarSet *variant = varmap_new(fl->cx->perm);
    nest_vars(&S1, variant);
    Body *b = fl->level == 0 ? fn->body : hoist_invariants(fl, variant, fn->body, out);
    b = sums_by_component(fl, &S1, b);
    fn = lambda_new(fl->cx, fn->params, b);
    const char *what = scans(e) ? "segscan" : "segred";
    ReducePlan p = plan_reduce(fl, S, &S1, e, b);
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
        Par of;
        if (p.ragged || (p.varying && extent_is_known(fl, &S1, b))) {
            Extent x = extent_of(fl, &S1, b, NULL, out);
            if (!p.ragged)
                x = extent_with(&x, par_in_all(fl, &S1, b, out), out);
            of = par_of_rows(&x, &par);
        } else if (rows_in_turns(fl, &S1, b)) {
            of = par_of_turns(fl, &S1, b, &par);
        } else {
            of = (Par){par_of_nest(fl, &S1, &par), par_in_all(fl, &S1, b, &par),
                       cost_of_fold(fl, &S1, e, b, &par), false};
        }
        version_add(fl, &vs, false, bld_body(&bl, res), &par, of, e->loc);
        log_rule(fl, "G9", &S1, e, "e_top: %s^%d, the rest sequential; %s", what, fl->level,
                 vec_last(&vs).name);
    }
    log_rule(fl, "G9", &S1, e, "e_rec: map, then %s", scans(e) ? "scan" : "reduce");
    Flat inner = *fl;
    inner.path = versions_path(fl, &vs);
    inner.depth++;
    if (p.ragged || p.varying)
        go_ragged(&inner, &S1);
    if (!p.top)
        return name_results(fl, S, s, split_results(&inner, S, s, fn, out), out);
    Bld bl = bld_new(fl->cx);
    Atoms res = split_results(&inner, S, s, fn, &bl);
    return versions_fold(fl, S, &vs, bld_body(&bl, res), s, out);
}

Atoms flatten_reduce(Flat *fl, const MapNest *S, const Stm *s, Bld *out)
{
    if (!op_has_arrays(s->exp->soac.op))
        return rule_g9(fl, S, s, out);
    if (!s->exp->soac.fn)
        return g4_applies(s->exp) ? rule_g4(fl, S, s, out) : rule_g14(fl, S, s, out);
    log_rule(fl, "G9", S, s->exp, "operator on arrays: map, then %s, for %s",
             scans(s->exp) ? "scan" : "reduce", g4_applies(s->exp) ? "G4" : "G14");
    return name_results(fl, S, s, split_results(fl, S, s, s->exp->soac.fn, out), out);
}
