/* Sums, over the iterations of a map, of arrays that each of them makes.
 *
 *     sum (map (\x -> .. map f ys ..) xs)    =>    map (\y -> sum (map (f x y) xs)) ys
 *
 * The array of all arrays is not made: each element of the sum is a reduction, and what is a nest
 * inside becomes a nest outside of it. Thus the adjoint of a matrix product is two products. A plan
 * says what is done before the map is there (its inputs have to be results of the map), and its
 * code is made behind it. */
#include "ad/reverse.h"

typedef enum { SUM_ROWS, SUM_ADD, SUM_MOVED, SUM_FILLED, SUM_MAP } SumKind;

struct SumPlan {
    SumKind kind;
    Atom v;
    bool varies;
    const Stm *s; /* what makes v in the map's function */
    struct SumPlan *a, *b;
};

typedef struct {
    Ctx *cx;
    const VarSet *bound; /* what varies */
    VarMap *made;        /* Var -> const Stm * */
    Vars *inputs;
} Planner;

static SumPlan *plan_new(Planner *P, SumKind kind, Atom v, const Stm *s)
{
    SumPlan *p = NEW(P->cx->perm, SumPlan);
    *p = (SumPlan){kind, v, ad_varies(P->bound, v), s, NULL, NULL};
    return p;
}

static void input(Planner *P, Atom a)
{
    if (ad_varies(P->bound, a) && vars_find(P->inputs, a.var) < 0)
        vec_push(P->cx->perm, P->inputs, a.var);
}

/* What of the map's function e reads. */
static void inputs_of(Planner *P, const Exp *e)
{
    VarSet *free = varmap_new(P->cx->perm);
    free_in_exp(free, e);
    Vars vs = varset_list(P->cx->perm, free);
    for (int i = 0; i < vs.n; i++)
        input(P, atom_var(vs.at[i]));
}

static bool is_loop(const Exp *e)
{
    return e->kind == E_LOOP || exp_is_soac(e);
}

/* Is it a map to interchange, perhaps one that sums something up besides: of rows, or of scalars
 * that are cheap? And do its inputs have a type that does not vary, as they have to leave the map?
 */
static bool may_interchange(Planner *P, const Stm *s, Atom v)
{
    const Exp *e = s->exp;
    if ((e->kind != E_MAP && e->kind != E_REDOMAP) || ad_varies(P->bound, e->soac.width))
        return false;
    if (atom_type(v).rank == 1 && body_any(e->soac.fn->body, is_loop))
        return false;
    VarSet *free = varmap_new(P->cx->perm);
    free_in_exp(free, e);
    Vars vs = varset_list(P->cx->perm, free);
    for (int i = 0; i < vs.n; i++)
        if (ad_varies(P->bound, atom_var(vs.at[i])) && ad_type_varies(P->bound, vs.at[i]->type))
            return false;
    return true;
}

/* Which array of s, made by a map, has what `now` binds in the map's function as elements? NULL:
 * none. */
static Var *result_of(const Stm *s, const Stm *now)
{
    const Exp *e = s->exp;
    if (now->pat.n == 1 && now->pat.at[0]->type.rank == 0)
        for (int k = e->soac.nes.n; k < s->pat.n; k++)
            if (e->soac.fn->body->res.at[k].var == now->pat.at[0])
                return s->pat.at[k];
    return NULL;
}

/* s, which makes v by a map, without what else it gives; but scalars that it gives, too, are read
 * where v is made of them: they are made once, and what is left are products of arrays. */
static const Stm *reading_results(const Planner *P, const Stm *s, Atom v)
{
    Ctx *cx = P->cx;
    const Exp *e = s->exp;
    const Lambda *f = e->soac.fn;
    Vars params = {0}, all = {0};
    Atoms res = {0}, arrs = {0}, from = {0};
    vec_append(cx->perm, &all, &f->params);
    vec_append(cx->perm, &from, &e->soac.arrs);
    Bld rest = bld_new(cx);
    for (int i = 0; i < f->body->stms.n; i++) {
        const Stm *now = &f->body->stms.at[i];
        Var *given = result_of(s, now);
        if (!given) {
            bld_stm(&rest, *now);
            continue;
        }
        vec_push(cx->perm, &all, now->pat.at[0]);
        ad_atom(cx, &from, atom_var(given));
    }
    ad_atom(cx, &res, f->body->res.at[vars_find(&s->pat, v.var)]);
    Body *b = ad_needed(cx, bld_body(&rest, res));
    VarSet *read = varmap_new(cx->perm);
    free_in_body(read, b);
    for (int k = 0; k < all.n; k++)
        if (varset_has(read, all.at[k])) {
            vec_push(cx->perm, &params, all.at[k]);
            ad_atom(cx, &arrs, from.at[k]);
        }
    Stm *r = NEW(cx->perm, Stm);
    vec_push(cx->perm, &r->pat, v.var);
    r->exp = exp_map(cx, e->loc, e->soac.width, arrs, lambda_new(cx, params, b));
    return r;
}

static SumPlan *plan(Planner *P, Atom v)
{
    const Stm *s = v.var ? varmap_get(P->made, v.var) : NULL;
    const Exp *e = s ? s->exp : NULL;
    if (e && e->kind == E_MAP && ad_applied(e->soac.fn) == OP_ADD) {
        SumPlan *p = plan_new(P, SUM_ADD, v, s);
        p->a = plan(P, e->soac.arrs.at[0]);
        p->b = plan(P, e->soac.arrs.at[1]);
        return p;
    }
    if (e && e->kind == E_REARRANGE) {
        SumPlan *p = plan_new(P, SUM_MOVED, v, s);
        p->a = plan(P, e->rearrange.arr);
        return p;
    }
    if (e && e->kind == E_REPLICATE && atom_type(e->replicate.val).rank == 0 &&
        ad_varies(P->bound, e->replicate.val)) {
        SumPlan *p = plan_new(P, SUM_FILLED, v, s);
        input(P, e->replicate.val);
        return p;
    }
    if (e && may_interchange(P, s, v)) {
        const Stm *m = atom_type(v).rank > 1 ? reading_results(P, s, v) : s;
        inputs_of(P, m->exp);
        return plan_new(P, SUM_MAP, v, m);
    }
    input(P, v);
    return plan_new(P, SUM_ROWS, v, s);
}

SumPlan *ad_sum_plan(Ctx *cx, const VarSet *bound, const Stms *stms, Atom v, Vars *inputs)
{
    Planner P = {cx, bound, varmap_new(cx->perm), inputs};
    for (int i = 0; i < stms->n; i++)
        for (int k = 0; k < stms->at[i].pat.n; k++)
            varmap_put(P.made, stms->at[i].pat.at[k], &stms->at[i]);
    return plan(&P, v);
}

/* --- Code ----------------------------------------------------------------------------------- */

static Atom stacked(const Summer *S, Atom a)
{
    const Atom *to = a.var ? varmap_get(S->stacked, a.var) : NULL;
    return to ? *to : (Atom){NULL, {T_BOOL, {0}}};
}

void ad_stack(Summer *S, const Var *v, Atom all)
{
    varmap_put(S->stacked, v, arena_memdup(S->bl->cx->perm, &all, sizeof all));
}

bool ad_is_few(Type t)
{
    return t.rank == 0 ||
           (t.rank == 1 && !t.dims[0].var && t.dims[0].c.i > 0 && t.dims[0].c.i <= AD_FEW);
}

void ad_few_out(Bld *bl, Loc loc, Atom v, Atoms *to)
{
    Type t = atom_type(v);
    if (t.rank == 0)
        ad_atom(bl->cx, to, v);
    for (int64_t i = 0; t.rank > 0 && i < t.dims[0].c.i; i++)
        ad_atom(bl->cx, to, ad_row(bl, loc, v, atom_i64(i)));
}

Atom ad_few_in(Bld *bl, Loc loc, Type t, const Atom **at)
{
    if (t.rank == 0)
        return *(*at)++;
    Exp *e = exp_new(bl->cx, E_ARRAYLIT, loc);
    e->arraylit.elem = type_row(t);
    for (int64_t i = 0; i < t.dims[0].c.i; i++)
        ad_atom(bl->cx, &e->arraylit.elems, *(*at)++);
    return bld_exp(bl, "sums", e);
}

void ad_sums_of(Ctx *cx, Exp *e, int n)
{
    Vars ps = {0}, xs = {0};
    Bld bl = bld_new(cx);
    Atoms res = {0};
    for (int i = 0; i < n; i++) {
        Type t = atom_type(e->soac.fn->body->res.at[i]);
        vec_push(cx->perm, &ps, var_new(cx, "acc", t, e->loc));
        vec_push(cx->perm, &xs, var_new(cx, "x", t, e->loc));
        ad_atom(cx, &e->soac.nes, atom_zero(t.elem));
        ad_atom(cx, &res, bld_binop(&bl, e->loc, OP_ADD, atom_var(ps.at[i]), atom_var(xs.at[i])));
    }
    vec_append(cx->perm, &ps, &xs);
    e->soac.op = lambda_new(cx, ps, bld_body(&bl, res));
    e->soac.comm = true;
}

static Atom sum_few(Bld *bl, Loc loc, Atom n, const Atoms *arrs, Lambda *fn)
{
    Atom v = fn->body->res.at[0];
    Bld each = bld_new(bl->cx);
    Atoms res = {0};
    vec_append(bl->cx->perm, &each.stms, &fn->body->stms);
    ad_few_out(&each, loc, v, &res);
    Exp *e = ad_soac(bl->cx, E_REDOMAP, loc, n, *arrs);
    e->soac.fn = lambda_new(bl->cx, fn->params, bld_body(&each, res));
    ad_sums_of(bl->cx, e, res.n);
    Atoms sums = bld_exps(bl, "sum", e);
    const Atom *at = sums.at;
    return ad_few_in(bl, loc, atom_type(v), &at);
}

/* The sum of what fn, of one result, gives over arrs. */
static Atom sum_map(Bld *bl, Loc loc, Atom n, const Atoms *arrs, Lambda *fn)
{
    Ctx *cx = bl->cx;
    Atom v = fn->body->res.at[0];
    if (ad_is_few(atom_type(v)))
        return sum_few(bl, loc, n, arrs, fn);
    VarSet *bound = varmap_new(cx->perm);
    Vars inputs = {0}, made = {0};
    bound_in_body(bound, fn->body);
    for (int i = 0; i < fn->params.n; i++)
        varset_add(bound, fn->params.at[i]);
    SumPlan *p = ad_sum_plan(cx, bound, &fn->body->stms, v, &inputs);
    Summer S = {bl, loc, n, varmap_new(cx->perm)};
    Atoms res = {0};
    for (int i = 0; i < inputs.n; i++) {
        int k = vars_find(&fn->params, inputs.at[i]);
        if (k >= 0) {
            ad_stack(&S, inputs.at[i], arrs->at[k]);
            continue;
        }
        vec_push(cx->perm, &made, inputs.at[i]);
        ad_atom(cx, &res, atom_var(inputs.at[i]));
    }
    if (made.n) {
        Bld b = {.cx = cx, .stms = fn->body->stms};
        Lambda *front = lambda_new(cx, fn->params, ad_needed(cx, bld_body(&b, res)));
        Atoms out = bld_exps(bl, "inputs", exp_map(cx, loc, n, *arrs, rename_lambda(cx, front)));
        for (int i = 0; i < made.n; i++)
            ad_stack(&S, made.at[i], out.at[i]);
    }
    return ad_sum_code(&S, p);
}

/* An interchange under construction: what the outer map goes over, what the sum does, and the
 * arguments for the interchanged map's function. */
typedef struct {
    Vars outer, inner;
    Atoms arrs, rows, args;
} Turn;

/* x of all iterations: a value of each in the sum. */
static void sum_over(Ctx *cx, Turn *T, const Var *x, Atom all)
{
    Var *y = var_new(cx, x->base, x->type, x->loc);
    vec_push(cx->perm, &T->inner, y);
    ad_atom(cx, &T->rows, all);
    ad_atom(cx, &T->args, atom_var(y));
}

static void turn_array(Summer *S, Turn *T, const Var *x, Atom arr)
{
    Ctx *cx = S->bl->cx;
    Atom all = stacked(S, arr);
    Atom over = all.var ? ad_transposed(S->bl, S->loc, all) : arr;
    Var *y = var_new(cx, x->base, type_row(atom_type(over)), x->loc);
    vec_push(cx->perm, &T->outer, y);
    ad_atom(cx, &T->arrs, over);
    if (all.var)
        sum_over(cx, T, x, atom_var(y));
    else
        ad_atom(cx, &T->args, atom_var(y));
}

/* A map over what the interchanged one goes over: what varies has a dimension of iterations inside.
 */
static Atom interchanged(Summer *S, const SumPlan *p)
{
    Ctx *cx = S->bl->cx;
    const Exp *e = p->s->exp;
    const Lambda *f = e->soac.fn;
    Turn T = {0};
    Atoms res = {0}, sums = {0};
    ad_atom(cx, &res, f->body->res.at[vars_find(&p->s->pat, p->v.var)]);
    Bld all = {.cx = cx, .stms = f->body->stms}, in = bld_new(cx), each = bld_new(cx);
    Lambda *g = lambda_new(cx, (Vars){0}, ad_needed(cx, bld_body(&all, res)));
    for (int k = 0; k < f->params.n; k++) {
        vec_push(cx->perm, &g->params, f->params.at[k]);
        turn_array(S, &T, f->params.at[k], e->soac.arrs.at[k]);
    }
    Vars free = free_vars_lambda(cx, g);
    for (int i = 0; i < free.n; i++) {
        Atom of_all = stacked(S, atom_var(free.at[i]));
        if (!of_all.var)
            continue;
        vec_push(cx->perm, &g->params, free.at[i]);
        sum_over(cx, &T, free.at[i], of_all);
    }
    Atoms given = bld_inline_lambda(&each, g, &T.args);
    Lambda *h = lambda_new(cx, T.inner, bld_body(&each, given));
    ad_atom(cx, &sums, sum_map(&in, S->loc, S->n, &T.rows, h));
    Lambda *over = lambda_new(cx, T.outer, bld_body(&in, sums));
    return bld_exp(S->bl, "sums", exp_map(cx, S->loc, e->soac.width, T.arrs, over));
}

static Atom filled(Summer *S, const SumPlan *p)
{
    const Exp *e = p->s->exp;
    Atom all = stacked(S, e->replicate.val);
    ASSERT(all.var);
    Atom sum = ad_sum_rows(S->bl, S->loc, all);
    return ad_filled(S->bl, S->loc, e->replicate.dims.at, e->replicate.dims.n, sum);
}

Atom ad_sum_code(Summer *S, const SumPlan *p)
{
    switch (p->kind) {
    case SUM_ROWS: {
        Atom all = stacked(S, p->v);
        ASSERT(all.var || !p->varies); /* an input that nobody stacked */
        if (!all.var)
            all = bld_exp(S->bl, "all", exp_replicate(S->bl->cx, S->loc, S->n, p->v));
        return ad_sum_rows(S->bl, S->loc, all);
    }
    case SUM_ADD: return ad_add(S->bl, S->loc, ad_sum_code(S, p->a), ad_sum_code(S, p->b));
    case SUM_MOVED:
        return bld_exp(
            S->bl, "moved",
            exp_rearrange(S->bl->cx, S->loc, p->s->exp->rearrange.perm, ad_sum_code(S, p->a)));
    case SUM_FILLED: return filled(S, p);
    case SUM_MAP: return interchanged(S, p);
    }
    ice(S->loc, "no plan of a sum");
}
