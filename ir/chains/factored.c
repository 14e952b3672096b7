/* A factor that all terms of a sum have is multiplied once, with the sum.
 *
 *     let rs = map n (as) { .. r := map d (xs) \x -> redomap + (*) x a; in r }
 *     let ss = map d (rs transposed) \c -> redomap + f c
 *
 *     ==> let ts = map w (as transposed) \c -> redomap + f c
 *         let ss = map d (xs) \x -> redomap + (*) x ts
 *
 * for n products of matrix xs with a vector a the sum of these, and one product. So are the
 * adjoints of what all rows are moved by before a matrix is applied to them (means, in `x - mean`).
 * f is nothing, or a negation. Of vectors that were not in memory before, each element is now.
 *
 * Of floats with --fast-math alone: where rows of xs cancel each other they do so after the sum
 * now, so that most of its digits may be lost, or it is infinite (in f16 soon), and an infinite
 * element of xs makes a NaN of no vectors at all.
 *
 * SOAC dialect, before fusion, which makes one of a product and what it is added to. Before:
 * well-formed. After: well-formed. */
#include "ir/passes/uses.h"

typedef struct {
    Ctx *cx;
    const Uses *us;
} Factored;

/* Rows that are products of a matrix that all have in common. */
typedef struct {
    int map, result;    /* the statement that makes them, as result number .. */
    const Stm *product; /* of its function: a row */
    const Stm *view;    /* ... of xs, transposed; NULL: xs is an array outside */
    Atom a, width;      /* the vector; its elements */
} Rows;

/* --- Which sums ------------------------------------------------------------------------------- */

/* The number of the statement that binds v; -1: there is none. */
static int bound_at(const Stms *stms, const Var *v)
{
    for (int i = 0; v && i < stms->n; i++)
        if (vars_find(&stms->at[i].pat, v) >= 0)
            return i;
    return -1;
}

/* Is e a sum of scalars that begins with 0? */
static bool is_sum(const Exp *e)
{
    const Exp *op = exp_is_fold(e) && e->soac.nes.n == 1 ? lambda_op(e->soac.op) : NULL;
    if (!op || op->prim.op != OP_ADD || e->soac.nes.at[0].var || !e->soac.comm)
        return false;
    Const zero = e->soac.nes.at[0].c;
    return prim_is_float(zero.type) ? zero.f == 0 : zero.i == 0;
}

/* All that f does: its only statement, which is its result. NULL: it does more. */
static const Exp *only_exp(const Lambda *f)
{
    const Body *b = f->body;
    bool one = b->stms.n == 1 && b->res.n == 1 && b->stms.at[0].pat.n == 1;
    return one && b->res.at[0].var == b->stms.at[0].pat.at[0] ? b->stms.at[0].exp : NULL;
}

/* Is e a map of the sums of what rows of one array have, each of which may be negated? */
static bool is_sums_of_rows(const Exp *e)
{
    if (e->kind != E_MAP || e->soac.arrs.n != 1)
        return false;
    const Var *row = e->soac.fn->params.at[0];
    const Exp *sum = only_exp(e->soac.fn);
    if (row->type.rank != 1 || !sum || !is_sum(sum) || sum->soac.arrs.n != 1 ||
        sum->soac.arrs.at[0].var != row)
        return false;
    if (!sum->soac.fn)
        return true;
    const Lambda *f = sum->soac.fn;
    const Exp *of = only_exp(f);
    return of && of->kind == E_PRIM && of->prim.op == OP_NEG &&
           of->prim.args.at[0].var == f->params.at[0];
}

/* A map of sums of products, of rows of one array and of a vector: sets that. */
static bool is_product(const Factored *F, const Exp *e, Rows *r)
{
    if (e->kind != E_MAP || e->soac.arrs.n != 1)
        return false;
    const Var *row = e->soac.fn->params.at[0];
    const Exp *sum = only_exp(e->soac.fn);
    if (!sum || sum->kind != E_REDOMAP || !is_sum(sum) || sum->soac.arrs.n != 2)
        return false;
    const Exp *of = lambda_op(sum->soac.fn);
    int at = sum->soac.arrs.at[0].var == row;
    r->a = sum->soac.arrs.at[at];
    r->width = sum->soac.width;
    bool exact = of && (!prim_is_float(of->prim.type) || F->cx->fast_math);
    return exact && of->prim.op == OP_MUL && sum->soac.arrs.at[1 - at].var == row && r->a.var &&
           r->a.var != row && atom_type(r->a).rank == 1;
}

static bool is_transposed(const Exp *e)
{
    return e->kind == E_REARRANGE && atom_type(e->rearrange.arr).rank == 2 &&
           e->rearrange.perm[0] == 1;
}

/* Is result r->result of the map f such a product, of an array that is the same for all of its
 * elements, and a vector that is not? */
static bool find_product(const Factored *F, const Lambda *f, Rows *r)
{
    Atom row = f->body->res.at[r->result];
    int at = bound_at(&f->body->stms, row.var);
    if (at < 0 || uses_count(F->us, row.var) != 1)
        return false;
    r->product = &f->body->stms.at[at];
    if (!is_product(F, r->product->exp, r))
        return false;
    VarSet *own = varmap_new(F->cx->perm);
    bound_in_body(own, f->body);
    for (int k = 0; k < f->params.n; k++)
        varset_add(own, f->params.at[k]);
    Atom xs = r->product->exp->soac.arrs.at[0], width = r->product->exp->soac.width;
    if (varset_has(own, xs.var)) {
        int view = bound_at(&f->body->stms, xs.var);
        if (view < 0 || !is_transposed(f->body->stms.at[view].exp))
            return false;
        r->view = &f->body->stms.at[view];
        xs = r->view->exp->rearrange.arr;
    }
    bool same = !varset_has(own, xs.var) && !(width.var && varset_has(own, width.var)) &&
                !(r->width.var && varset_has(own, r->width.var));
    return same && varset_has(own, r->a.var) && uses_stable(F->us, xs) && uses_stable(F->us, r->a);
}

/* Is e a sum of the columns of such rows, which nobody else looks at? */
static bool find_rows(const Factored *F, const Stms *before, const Exp *e, Rows *r)
{
    if (!is_sums_of_rows(e))
        return false;
    const Var *turned = e->soac.arrs.at[0].var;
    int view = bound_at(before, turned);
    if (view < 0 || uses_count(F->us, turned) != 1 || !is_transposed(before->at[view].exp))
        return false;
    const Var *rows = before->at[view].exp->rearrange.arr.var;
    r->map = bound_at(before, rows);
    if (r->map < 0 || uses_count(F->us, rows) != 1 || before->at[r->map].exp->kind != E_MAP)
        return false;
    r->result = vars_find(&before->at[r->map].pat, rows);
    return find_product(F, before->at[r->map].exp->soac.fn, r);
}

/* --- Instead ---------------------------------------------------------------------------------- */

/* Its body, which gives vectors instead of products. */
static Body *without_product(const Factored *F, const Body *b, const Rows *r)
{
    Bld bl = bld_new(F->cx);
    Atoms res = {0};
    for (int i = 0; i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i];
        bool unused = s == r->view && uses_count(F->us, s->pat.at[0]) == 1;
        if (s != r->product && !unused)
            bld_stm(&bl, *s);
    }
    for (int j = 0; j < b->res.n; j++)
        vec_push(F->cx->perm, &res, j == r->result ? r->a : b->res.at[j]);
    return bld_body(&bl, res);
}

/* The array of the vectors, which the map of rows gives now. */
static Atom vectors(const Factored *F, Stm *map, const Rows *r)
{
    Ctx *cx = F->cx;
    Exp *e = arena_memdup(cx->perm, map->exp, sizeof *e);
    const Lambda *f = e->soac.fn;
    Stm s = {.exp = e};
    e->soac.fn = lambda_new(cx, f->params, without_product(F, f->body, r));
    Var *v = var_new(cx, r->a.var->base, type_array(cx, r->a.var->type, e->soac.width), e->loc);
    for (int j = 0; j < map->pat.n; j++)
        vec_push(cx->perm, &s.pat, j == r->result ? v : map->pat.at[j]);
    *map = s;
    return atom_var(v);
}

/* Appends what gives `sums`, of `e`, to `out`, where its rows are made. */
static void factor_out(const Factored *F, Bld *out, const Stm *sums, const Rows *r)
{
    static const int turned[] = {1, 0};
    Ctx *cx = F->cx;
    Loc loc = sums->exp->loc;
    Atom as = vectors(F, &out->stms.at[r->map], r);
    Exp *each = rename_exp(cx, sums->exp);
    each->soac.width = r->width;
    each->soac.arrs = (Atoms){0};
    vec_push(cx->perm, &each->soac.arrs,
             bld_exp(out, "turned", exp_rearrange(cx, loc, turned, as)));
    Subst *su = subst_new(cx);
    subst_add(su, r->a.var, bld_exp(out, "sums", each));
    if (r->view)
        subst_add(
            su, r->view->pat.at[0],
            bld_exp(out, "turned", exp_rearrange(cx, loc, turned, r->view->exp->rearrange.arr)));
    bld_define(out, sums->pat.at[0], subst_exp(cx, su, r->product->exp));
}

static Body *factored_body(void *env, Body *b);

static Lambda *factored_lambda(void *env, Lambda *l)
{
    Factored *F = env;
    return lambda_new(F->cx, l->params, factored_body(env, l->body));
}

static Body *factored_body(void *env, Body *b)
{
    Factored *F = env;
    ExpMapper m = {.env = env, .body = factored_body, .lambda = factored_lambda};
    Bld bl = bld_new(F->cx);
    VarSet *gone = varmap_new(F->cx->perm);
    for (int i = 0; i < b->stms.n; i++) {
        Stm s = {b->stms.at[i].pat, exp_map_parts(F->cx, b->stms.at[i].exp, &m)};
        Rows r = {0};
        if (!find_rows(F, &bl.stms, s.exp, &r)) {
            bld_stm(&bl, s);
            continue;
        }
        varset_add(gone, s.exp->soac.arrs.at[0].var);
        factor_out(F, &bl, &s, &r);
    }
    Bld left = bld_new(F->cx);
    for (int i = 0; i < bl.stms.n; i++)
        if (bl.stms.at[i].pat.n != 1 || !varset_has(gone, bl.stms.at[i].pat.at[0]))
            bld_stm(&left, bl.stms.at[i]);
    return bld_body(&left, b->res);
}

Prog *pass_factored(Ctx *cx, const Prog *in)
{
    Prog *p = NEW(cx->perm, Prog);
    p->dialect = in->dialect;
    for (int i = 0; i < in->entries.n; i++) {
        Entry en = in->entries.at[i];
        Factored F = {cx, uses_entry(cx, &en)};
        en.body = factored_body(&F, en.body);
        vec_push(cx->perm, &p->entries, en);
    }
    return p;
}
