/* Rules for statements with bodies: if, loop, SOACs and mapnests. Each function simplifies the
 * parts, replaces what results are known to be, and emits what is left. */
#include "ir/passes/simplify.h"

#include <string.h>

/* --- if ------------------------------------------------------------------------------------- */

static void replace_all(Simp *S, const Vars *pat, const Atoms *as)
{
    S->changed = true;
    for (int k = 0; k < pat->n; k++)
        simp_replace(S, pat->at[k], as->at[k]);
}

static Body *branch_body(Simp *S, const Body *b, Atom test, bool truth)
{
    Scope sc = simp_enter(S);
    simp_assume(S, test, truth);
    Body *r = simp_body(S, b);
    simp_leave(S, sc);
    return r;
}

/* What result k of an if is without the if: the same in both branches, or the condition itself. */
static bool if_result(Atom test, Atom x, Atom y, Atom *out)
{
    if (atom_eq(x, y))
        *out = x;
    else if (atom_eq(x, atom_bool(true)) && atom_eq(y, atom_bool(false)))
        *out = test;
    else
        return false;
    return true;
}

/* A choice between booleans that are known before: c && x, c || y, !c, as an operation. */
static Exp *if_as_operation(Simp *S, const Exp *e, Atom test, Atom x, Atom y)
{
    bool t_y = atom_eq(y, atom_bool(true)), f_y = atom_eq(y, atom_bool(false));
    if (atom_eq(x, atom_bool(true)) && y.var)
        return exp_binop(S->cx, e->loc, OP_LOR, test, y);
    if (f_y && x.var)
        return exp_binop(S->cx, e->loc, OP_LAND, test, x);
    if (atom_eq(x, atom_bool(false)) && t_y)
        return exp_unop(S->cx, e->loc, OP_NOT, test);
    return NULL;
}

static Body *with_results(Simp *S, const Body *b, Atoms res)
{
    Body *r = NEW(S->cx->perm, Body);
    r->stms = b->stms;
    r->res = res;
    return r;
}

/* Drops the results that are known; those left in both bodies and the pattern. */
static void emit_if(Simp *S, const Stm *s, Atom test, const Body *then_, const Body *else_)
{
    const Exp *e = s->exp;
    Atoms xs = {0}, ys = {0};
    Vars pat = {0};
    for (int k = 0; k < s->pat.n; k++) {
        Atom x = then_->res.at[k], y = else_->res.at[k], known;
        if (if_result(test, x, y, &known)) {
            simp_replace(S, s->pat.at[k], known);
            S->changed = true;
            continue;
        }
        vec_push(S->cx->perm, &xs, x);
        vec_push(S->cx->perm, &ys, y);
        vec_push(S->cx->perm, &pat, s->pat.at[k]);
    }
    bool empty = then_->stms.n == 0 && else_->stms.n == 0;
    if (pat.n == 0 && empty) {
        S->changed = true;
        return;
    }
    Exp *op = pat.n == 1 && empty ? if_as_operation(S, e, test, xs.at[0], ys.at[0]) : NULL;
    if (op) {
        S->changed = true;
    } else {
        op = exp_if(S->cx, e->loc, test, with_results(S, then_, xs), with_results(S, else_, ys));
        op->attrs = e->attrs;
    }
    simp_emit(S, pat, op);
}

void simp_if(Simp *S, const Stm *s)
{
    const Exp *e = s->exp;
    Atom test = simp_atom(S, e->branch.test);
    if (!test.var) {
        Atoms res = simp_splice(S, test.c.i ? e->branch.then_ : e->branch.else_);
        replace_all(S, &s->pat, &res);
        return;
    }
    const Exp *d = simp_def(S, test);
    bool negated = d && d->kind == E_PRIM && d->prim.op == OP_NOT;
    const Body *then_ = branch_body(S, e->branch.then_, test, true);
    const Body *else_ = branch_body(S, e->branch.else_, test, false);
    if (negated) {
        /* if !c then x else y = if c then y else x */
        S->changed = true;
        emit_if(S, s, d->prim.args.at[0], else_, then_);
    } else {
        emit_if(S, s, test, then_, else_);
    }
}

/* --- loop ----------------------------------------------------------------------------------- */

/* Params, inits, body results and pattern of a loop, position by position. */
typedef struct {
    Vars params, pat;
    Atoms inits, res;
} Carried;

/* Parameters that never change are their initial value. */
static Carried drop_invariant(Simp *S, const Stm *s)
{
    const Exp *e = s->exp;
    Carried c = {0};
    for (int k = 0; k < e->loop.params.n; k++) {
        Var *p = e->loop.params.at[k];
        Atom init = simp_atom(S, e->loop.inits.at[k]), r = simp_atom(S, e->loop.body->res.at[k]);
        if ((r.var == p || atom_eq(r, init)) && p != e->loop.cond) {
            S->changed = true;
            simp_replace(S, p, init);
            simp_replace(S, s->pat.at[k], init);
            continue;
        }
        vec_push(S->cx->perm, &c.params, p);
        vec_push(S->cx->perm, &c.pat, s->pat.at[k]);
        vec_push(S->cx->perm, &c.inits, init);
        vec_push(S->cx->perm, &c.res, e->loop.body->res.at[k]);
    }
    return c;
}

/* A loop that runs never or once. */
static bool loop_known(Simp *S, const Stm *s)
{
    const Exp *e = s->exp;
    Atoms inits = simp_atoms(S, &e->loop.inits);
    if (e->loop.kind == LOOP_WHILE) {
        for (int k = 0; k < inits.n; k++)
            if (e->loop.params.at[k] == e->loop.cond && atom_eq(inits.at[k], atom_bool(false))) {
                replace_all(S, &s->pat, &inits);
                return true;
            }
        return false;
    }
    Atom bound = simp_atom(S, e->loop.bound), zero = atom_int(e->loop.i->type.elem, 0);
    if (ranges_le(S->ra, bound, zero, 0) || atom_eq(bound, zero)) {
        replace_all(S, &s->pat, &inits);
        return true;
    }
    if (!atom_is_int(bound, 1))
        return false;
    for (int k = 0; k < inits.n; k++)
        simp_replace(S, e->loop.params.at[k], inits.at[k]);
    simp_replace(S, e->loop.i, zero);
    Atoms res = simp_splice(S, e->loop.body);
    replace_all(S, &s->pat, &res);
    return true;
}

void simp_loop(Simp *S, const Stm *s)
{
    const Exp *e = s->exp;
    if (loop_known(S, s))
        return;
    Carried c = drop_invariant(S, s);
    if (c.params.n == 0 && !exp_has_effect(e)) {
        S->changed = true;
        return;
    }
    Scope sc = simp_enter(S);
    Exp *r = exp_new(S->cx, E_LOOP, e->loc);
    r->attrs = e->attrs;
    r->loop.kind = e->loop.kind;
    r->loop.inits = c.inits;
    r->loop.params = simp_binders(S, &c.params);
    for (int k = 0; k < c.params.n; k++)
        if (c.params.at[k] == e->loop.cond)
            r->loop.cond = r->loop.params.at[k];
    if (r->loop.kind == LOOP_FOR) {
        r->loop.bound = simp_atom(S, e->loop.bound);
        r->loop.i = e->loop.i;
    }
    ranges_loop(S->ra, r);
    r->loop.body = simp_body(S, with_results(S, e->loop.body, c.res));
    simp_leave(S, sc);
    if (S->dialect != D_SOAC ||
        (!simp_loop_as_map(S, &c.pat, r) && !simp_loop_as_scatter(S, &c.pat, r)))
        simp_emit(S, c.pat, r);
}

/* --- SOACs ---------------------------------------------------------------------------------- */

static Lambda *simp_lambda(Simp *S, const Lambda *l)
{
    if (!l)
        return NULL;
    Scope sc = simp_enter(S);
    Vars params = simp_binders(S, &l->params);
    ranges_rows(S->ra, &params, &(Atoms){0});
    Body *b = simp_body(S, l->body);
    simp_leave(S, sc);
    return lambda_new(S->cx, params, b);
}

/* The rows of an array that all are the same atom. */
static bool constant_rows(const Simp *S, Atom arr, Atom *row)
{
    const Exp *d = simp_def(S, arr);
    if (!d || d->kind != E_REPLICATE || d->replicate.dims.n != 1 ||
        !simp_stable(S, d->replicate.val) || !simp_stable(S, arr))
        return false;
    *row = d->replicate.val;
    return true;
}

/* The array that arr is a copy of, if that cannot be noticed. */
static Atom without_copy(const Simp *S, Atom arr)
{
    const Exp *d = simp_def(S, arr);
    if (!d || d->kind != E_COPY || !simp_stable(S, d->copy.arr) || !simp_stable(S, arr))
        return arr;
    return d->copy.arr;
}

/* The inputs of a map or mapnest dimension: arrays and the variables for their rows. Rows that are
 * known, and rows that are there twice, are replaced. */
static void simp_inputs(Simp *S, const Atoms *arrs, const Vars *rows, Atoms *arrs_out,
                        Vars *rows_out)
{
    for (int j = 0; j < arrs->n; j++) {
        Atom arr = simp_atom(S, arrs->at[j]), row;
        Var *x = rows->at[j];
        bool known = constant_rows(S, arr, &row) && simp_stable(S, atom_var(x));
        if (!known && simp_stable(S, atom_var(x)))
            arr = without_copy(S, arr);
        for (int k = 0; !known && k < arrs_out->n; k++) {
            if (!atom_eq(arrs_out->at[k], arr) || !simp_stable(S, atom_var(x)) ||
                !simp_stable(S, atom_var(rows_out->at[k])))
                continue;
            known = true;
            row = atom_var(rows_out->at[k]);
        }
        if (known) {
            S->changed = true;
            simp_replace(S, x, row);
            continue;
        }
        S->changed = S->changed || !atom_eq(arr, simp_atom(S, arrs->at[j]));
        vec_push(S->cx->perm, arrs_out, arr);
        vec_push(S->cx->perm, rows_out, x);
    }
}

static Lambda *simp_fn(Simp *S, const Exp *e, Exp *r)
{
    Scope sc = simp_enter(S);
    Vars rows = {0}, params = e->soac.fn->params;
    Atoms arrs = e->soac.arrs;
    const Body *body = e->soac.fn->body;
    if (S->dialect == D_SOAC)
        body = simp_gathers(S, e, &arrs, &params);
    simp_inputs(S, &arrs, &params, &r->soac.arrs, &rows);
    rows = simp_binders(S, &rows);
    ranges_rows(S->ra, &rows, &r->soac.arrs);
    ranges_some(S->ra, simp_atom(S, e->soac.width));
    Body *b = simp_body(S, body);
    simp_leave(S, sc);
    return lambda_new(S->cx, rows, b);
}

static bool bound_in(const VarSet *inside, Atom a)
{
    return a.var && varset_has(inside, a.var);
}

static VarSet *bound_by_body(Simp *S, const Body *b)
{
    VarSet *set = varmap_new(S->cx->perm);
    for (int i = 0; i < b->stms.n; i++)
        for (int k = 0; k < b->stms.at[i].pat.n; k++)
            varset_add(set, b->stms.at[i].pat.at[k]);
    return set;
}

static VarSet *bound_by_lambda(Simp *S, const Lambda *l)
{
    VarSet *set = bound_by_body(S, l->body);
    for (int i = 0; i < l->params.n; i++)
        varset_add(set, l->params.at[i]);
    return set;
}

/* A view of rows of one of r's inputs, as the same view of the input; NULL: `row` is none. */
static Exp *mapped_view(Simp *S, const Exp *r, const VarSet *inside, Atom row)
{
    const Stms *ss = &r->soac.fn->body->stms;
    const Exp *e = NULL;
    for (int i = 0; i < ss->n; i++)
        if (ss->at[i].pat.n == 1 && ss->at[i].pat.at[0] == row.var)
            e = ss->at[i].exp;
    if (!e || (e->kind != E_RESHAPE && e->kind != E_REARRANGE))
        return NULL;
    for (int d = 0; e->kind == E_RESHAPE && d < e->reshape.dims.n; d++)
        if (bound_in(inside, e->reshape.dims.at[d]))
            return NULL;
    Atom of = exp_view_of(e), whole = {0};
    for (int j = 0; j < r->soac.fn->params.n; j++)
        if (of.var == r->soac.fn->params.at[j])
            whole = r->soac.arrs.at[j];
    Exp *inner = whole.var ? NULL : mapped_view(S, r, inside, of);
    if (inner)
        whole = bld_exp(S->bl, of.var->base, inner);
    if (!whole.var || !simp_stable(S, whole) || !simp_stable(S, row) || !simp_stable(S, of))
        return NULL;
    if (e->kind == E_REARRANGE) {
        int rank = atom_type(whole).rank, *perm = NEWN(S->cx->perm, int, rank);
        for (int d = 1; d < rank; d++)
            perm[d] = e->rearrange.perm[d - 1] + 1;
        return exp_rearrange(S->cx, e->loc, perm, whole);
    }
    Exp *v = exp_new(S->cx, E_RESHAPE, e->loc);
    v->reshape.arr = whole;
    vec_push(S->cx->perm, &v->reshape.dims, r->soac.width);
    vec_append(S->cx->perm, &v->reshape.dims, &e->reshape.dims);
    return v;
}

/* A mapped-out result without the map: a row of an input gives the input, a view of it a view, what
 * does not depend on the row is replicated. NULL if it is none of these. */
static Exp *mapped_result(Simp *S, const Exp *r, const VarSet *inside, Atom res, const Var *pat)
{
    for (int j = 0; j < r->soac.fn->params.n; j++) {
        if (res.var != r->soac.fn->params.at[j] || !simp_stable(S, res))
            continue;
        Atom arr = r->soac.arrs.at[j];
        if (simp_stable(S, arr) && simp_stable(S, atom_var((Var *)(uintptr_t)pat)))
            return exp_atom(S->cx, r->loc, arr);
        Exp *c = exp_new(S->cx, E_COPY, r->loc);
        c->copy.arr = arr;
        return c;
    }
    if (bound_in(inside, res))
        return simp_stable(S, atom_var((Var *)(uintptr_t)pat)) ? mapped_view(S, r, inside, res)
                                                               : NULL;
    return exp_replicate(S->cx, r->loc, r->soac.width, res);
}

/* The result before k, from `first` on, that is the same; NULL: there is none. */
static Var *same_result(const Simp *S, const Body *b, const Vars *pat, int first, int k)
{
    for (int j = first; j < k; j++)
        if (atom_eq(b->res.at[j], b->res.at[k]) && simp_stable(S, atom_var(pat->at[j])) &&
            simp_stable(S, atom_var(pat->at[k])))
            return pat->at[j];
    return NULL;
}

/* Results k >= first of a MAP, REDOMAP or SCANOMAP that need no function; the others stay in *pat.
 */
static void drop_mapped(Simp *S, Exp *r, const Vars *from, Vars *pat, int first)
{
    const Body *b = r->soac.fn->body;
    VarSet *inside = bound_by_lambda(S, r->soac.fn);
    Atoms res = {0};
    for (int k = 0; k < b->res.n; k++) {
        Exp *known = k >= first ? mapped_result(S, r, inside, b->res.at[k], from->at[k]) : NULL;
        Var *same = k > first && !known ? same_result(S, b, from, first, k) : NULL;
        if (same)
            known = exp_atom(S->cx, r->loc, atom_var(same));
        if (!known) {
            vec_push(S->cx->perm, &res, b->res.at[k]);
            vec_push(S->cx->perm, pat, from->at[k]);
            continue;
        }
        S->changed = true;
        if (known->kind == E_ATOM) {
            simp_replace(S, from->at[k], known->atom);
        } else {
            Vars one = {.at = (Var **)(uintptr_t)&from->at[k], .n = 1};
            simp_emit(S, one, known);
        }
    }
    r->soac.fn = lambda_new(S->cx, r->soac.fn->params, with_results(S, b, res));
}

/* A reduction of no element or one. */
static bool reduce_known(Simp *S, const Stm *s, const Exp *r)
{
    if (r->kind != E_REDUCE)
        return false;
    if (atom_is_int(r->soac.width, 0)) {
        replace_all(S, &s->pat, &r->soac.nes);
        return true;
    }
    if (!atom_is_int(r->soac.width, 1))
        return false;
    for (int k = 0; k < r->soac.nes.n; k++)
        if (atom_type(r->soac.nes.at[k]).rank > 0)
            return false;
    Atoms args = {0};
    vec_append(S->cx->perm, &args, &r->soac.nes);
    for (int k = 0; k < r->soac.arrs.n; k++) {
        Atom zero = atom_i64(0);
        Exp *x = exp_index(S->cx, r->loc, r->soac.arrs.at[k], &zero, 1, true);
        Vars pat = exp_pat(S->cx, "x", x);
        simp_emit(S, pat, x);
        vec_push(S->cx->perm, &args, atom_var(pat.at[0]));
    }
    Atoms res = bld_inline_lambda(S->bl, r->soac.op, &args);
    replace_all(S, &s->pat, &res);
    return true;
}

static Dests simp_dests(const Simp *S, const Dests *ds)
{
    Dests r = {0};
    for (int i = 0; i < ds->n; i++) {
        Dest d = {simp_atom(S, ds->at[i].arr), ds->at[i].rank};
        vec_push(S->cx->perm, &r, d);
    }
    return r;
}

/* A map that gives nothing and only asserts what does not depend on its rows: it holds of all of
 * them, if there are any. */
static bool assert_once(Simp *S, const Exp *r)
{
    const Stms *ss = &r->soac.fn->body->stms;
    VarSet *rows = varmap_new(S->cx->perm);
    for (int k = 0; k < r->soac.fn->params.n; k++)
        varset_add(rows, r->soac.fn->params.at[k]);
    for (int i = 0; i < ss->n; i++) {
        const Exp *e = ss->at[i].exp;
        if (exp_uses_any(e, rows) ||
            (e->kind != E_ASSERT && (!exp_is(e, F_SCALAR) || exp_traps(e))))
            return false;
    }
    Atom none = bld_exp(S->bl, "none", exp_binop(S->cx, r->loc, OP_LE, r->soac.width, atom_i64(0)));
    for (int i = 0; i < ss->n; i++) {
        Exp *e = NEW(S->cx->perm, Exp);
        *e = *ss->at[i].exp;
        if (e->kind == E_ASSERT)
            e->assertion.cond =
                bld_exp(S->bl, "ok", exp_binop(S->cx, e->loc, OP_LOR, none, e->assertion.cond));
        simp_emit(S, ss->at[i].pat, e);
    }
    S->changed = true;
    return true;
}

void simp_soac(Simp *S, const Stm *s)
{
    const Exp *e = s->exp;
    Exp *r = exp_new(S->cx, e->kind, e->loc);
    r->attrs = e->attrs;
    r->soac = e->soac;
    r->soac.width = simp_atom(S, e->soac.width);
    r->soac.nes = simp_atoms(S, &e->soac.nes);
    r->soac.dests = simp_dests(S, &e->soac.dests);
    r->soac.op = simp_lambda(S, e->soac.op);
    r->soac.arrs = (Atoms){0};
    if (!e->soac.fn) {
        r->soac.arrs = simp_atoms(S, &e->soac.arrs);
        if (!reduce_known(S, s, r))
            simp_emit(S, s->pat, r);
        return;
    }
    r->soac.fn = simp_fn(S, e, r);
    Vars pat = s->pat;
    if (!exp_is(e, F_DESTS)) {
        pat = (Vars){0};
        drop_mapped(S, r, &s->pat, &pat, e->soac.nes.n);
    }
    if (pat.n == 0 && (!exp_has_effect(r) || (r->kind == E_MAP && assert_once(S, r))))
        return;
    simp_emit(S, pat, r);
}

void simp_deriv(Simp *S, const Stm *s)
{
    const Exp *e = s->exp;
    Exp *r = exp_new(S->cx, e->kind, e->loc);
    r->deriv.args = simp_atoms(S, &e->deriv.args);
    r->deriv.seeds = simp_atoms(S, &e->deriv.seeds);
    r->deriv.fn = simp_lambda(S, e->deriv.fn);
    r->deriv.back = e->deriv.back ? simp_lambda(S, e->deriv.back) : NULL;
    simp_emit(S, s->pat, r);
}

/* --- Mapnests ------------------------------------------------------------------------------- */

/* Elements of an iota are computed from the index. */
static bool iota_row(Simp *S, const NestDim *nd, Atom arr, Var *x, Bld *first)
{
    const Exp *d = simp_def(S, arr);
    if (!d || d->kind != E_IOTA)
        return false;
    PrimType t = atom_type(d->iota.start).elem;
    if (!prim_is_int(t))
        return false;
    Atom i = atom_var(nd->idx);
    if (t != T_I64)
        i = bld_exp(first, "i", exp_conv(S->cx, d->loc, t, i));
    if (!atom_is_int(d->iota.stride, 1))
        i = bld_exp(first, "i", exp_binop(S->cx, d->loc, OP_MUL, i, d->iota.stride));
    if (!atom_is_int(d->iota.start, 0))
        i = bld_exp(first, "i", exp_binop(S->cx, d->loc, OP_ADD, i, d->iota.start));
    simp_replace(S, x, i);
    S->changed = true;
    return true;
}

static NestDim simp_dim(Simp *S, const NestDim *nd, Bld *first)
{
    NestDim r = {.idx = nd->idx, .width = simp_atom(S, nd->width), .row = nd->row};
    if (nd->row) {
        r.rows = simp_atom(S, nd->rows);
        r.offs = simp_atom(S, nd->offs);
    }
    Atoms arrs = {0};
    Vars xs = {0};
    simp_inputs(S, &nd->arrs, &nd->xs, &arrs, &xs);
    for (int j = 0; j < arrs.n; j++) {
        if (iota_row(S, nd, arrs.at[j], xs.at[j], first))
            continue;
        vec_push(S->cx->perm, &r.arrs, arrs.at[j]);
        vec_push(S->cx->perm, &r.xs, xs.at[j]);
    }
    r.xs = simp_binders(S, &r.xs);
    ranges_dim(S->ra, &r);
    return r;
}

/* The body of a nest, behind the statements that compute rows of iotas. */
static Body *simp_seg_body(Simp *S, const Body *b, Bld *first)
{
    Bld inner = bld_new(S->cx), *outer = S->bl;
    S->bl = &inner;
    for (int i = 0; i < first->stms.n; i++)
        simp_emit(S, first->stms.at[i].pat, first->stms.at[i].exp);
    Atoms res = simp_splice(S, b);
    S->bl = outer;
    return bld_body(&inner, res);
}

/* Results of a segmap over the grid that do not depend on the nest are replicated instead, those
 * that are the same one array. */
static void drop_known_results(Simp *S, Exp *r, const Vars *from, Vars *pat)
{
    VarSet *inside = bound_by_body(S, r->seg.body);
    Atoms res = {0}, widths = {0};
    for (int d = 0; d < r->seg.nest.n; d++) {
        const NestDim *nd = &r->seg.nest.at[d];
        vec_push(S->cx->perm, &widths, nd->width);
        varset_add(inside, nd->idx);
        if (nd->row)
            varset_add(inside, nd->row);
        for (int j = 0; j < nd->xs.n; j++)
            varset_add(inside, nd->xs.at[j]);
    }
    for (int k = 0; k < r->seg.body->res.n; k++) {
        Atom a = r->seg.body->res.at[k];
        Var *same = same_result(S, r->seg.body, from, 0, k);
        if (same) {
            S->changed = true;
            simp_replace(S, from->at[k], atom_var(same));
            continue;
        }
        if (bound_in(inside, a)) {
            vec_push(S->cx->perm, &res, a);
            vec_push(S->cx->perm, pat, from->at[k]);
            continue;
        }
        S->changed = true;
        Exp *rep = exp_new(S->cx, E_REPLICATE, r->loc);
        rep->replicate.dims = widths;
        rep->replicate.val = a;
        Vars one = {.at = (Var **)(uintptr_t)&from->at[k], .n = 1};
        simp_emit(S, one, rep);
    }
    r->seg.body = with_results(S, r->seg.body, res);
}

void simp_seg(Simp *S, const Stm *s)
{
    const Exp *e = s->exp;
    Exp *r = exp_new(S->cx, e->kind, e->loc);
    r->attrs = e->attrs;
    r->seg = e->seg;
    r->seg.nes = simp_atoms(S, &e->seg.nes);
    r->seg.dests = simp_dests(S, &e->seg.dests);
    r->seg.op = simp_lambda(S, e->seg.op);
    r->seg.nest = (Nest){0};
    Scope sc = simp_enter(S);
    Bld first = bld_new(S->cx);
    for (int d = 0; d < e->seg.nest.n; d++) {
        NestDim nd = simp_dim(S, &e->seg.nest.at[d], &first);
        vec_push(S->cx->perm, &r->seg.nest, nd);
    }
    r->seg.body = simp_seg_body(S, e->seg.body, &first);
    simp_leave(S, sc);
    Vars pat = s->pat;
    if (r->kind == E_SEGMAP && r->seg.level > 0) {
        pat = (Vars){0};
        drop_known_results(S, r, &s->pat, &pat);
        if (pat.n == 0 && !exp_has_effect(r))
            return;
    }
    simp_emit(S, pat, r);
}
