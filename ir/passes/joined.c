/* Concatenations that are not made: a SOAC that runs over one reads the element of the part that
 * holds it.
 *
 *     let a = xs[r:n-r:1]                   map n (iota n, ys) \(i, y) ->
 *     let b = xs[0:r:1]                ==>    let first = i < n-r
 *     let c = concat 0 n (a, b)               let j = if first then i+r else i-(n-r)
 *     map n (c, ys) \(x, y) -> ..             let x = xs[j]
 *                                             ..
 * as `rotate` is lowered. If the parts are of several arrays, the choice is between reads of
 * scalars (values, for replicates and literals of one element: a stencil's borders).
 *
 * Only where that is less work than the copies: each use of the concatenation is as an input of a
 * SOAC that stands in the same body, directly or by a slice, so that each element is read as often
 * as the SOACs run, and its parts are there anyway: views, parameters, arrays that something else
 * needs too. A part that is made for the concatenation alone is built in its place without a copy
 * (memory/place.c).
 *
 * After fusion, since a producer does not fuse with a consumer that reads it by an index. What is
 * read later than before must keep its value: neither the arrays read nor the concatenation nor its
 * rows are consumed anywhere.
 *
 * Before: well-formed. After: well-formed; unused concatenations are left to simplify. */
#include "ir/passes/fuse_merge.h"
#include "ir/passes/uses.h"

typedef struct {
    Ctx *cx;
    Uses *us;
    VarMap *joined; /* Var -> Exp *: concatenations that are not to be made, slices of such */
} Joined;

/* --- Parts ---------------------------------------------------------------------------------- */

/* Where the rows of a part are: row k is arr[start + k * stride], or `arr` is itself the value of
 * each. */
typedef struct {
    Atom arr, start, stride;
    bool value;
} Source;

static bool slices_rows(const Exp *e)
{
    Type t = atom_type(e->index.arr);
    for (int d = 0; d < e->index.at.n; d++) {
        const DimIndex *at = &e->index.at.at[d];
        bool whole = at->is_slice && atom_is_int(at->start, 0) && atom_is_int(at->stride, 1) &&
                     atom_eq(at->n, t.dims[d]);
        if (d == 0 ? !at->is_slice : !whole)
            return false;
    }
    return e->index.safe;
}

static bool source_of(const Joined *J, Atom part, Source *out)
{
    const Exp *d = uses_def(J->us, part);
    *out = (Source){part, atom_i64(0), atom_i64(1), false};
    if (d && d->kind == E_INDEX && slices_rows(d)) {
        const DimIndex *rows = &d->index.at.at[0];
        *out = (Source){d->index.arr, rows->start, rows->stride, false};
    } else if (d && d->kind == E_REPLICATE && d->replicate.dims.n == 1) {
        *out = (Source){.arr = d->replicate.val, .value = true};
    } else if (d && d->kind == E_ARRAYLIT && d->arraylit.elems.n == 1) {
        *out = (Source){.arr = d->arraylit.elems.at[0], .value = true};
    } else if (d && !exp_is(d, F_VIEW) && uses_count(J->us, part.var) == 1) {
        return false;
    }
    return uses_stable(J->us, out->arr) && uses_stable(J->us, part);
}

static bool same_source(const Source *a, const Source *b)
{
    return !a->value && !b->value && atom_eq(a->arr, b->arr);
}

enum { MAX_PARTS = 4, MAX_READS = 8 };

/* The parts of a concatenation that may be read one by one; returns their number, 0: it may not. */
static int sources_of(const Joined *J, const Exp *e, Source *out)
{
    int n = e->concat.arrs.n;
    if (e->concat.dim != 0 || n < 2 || n > MAX_PARTS)
        return 0;
    bool same = true;
    for (int k = 0; k < n; k++) {
        if (!source_of(J, e->concat.arrs.at[k], &out[k]))
            return 0;
        same = same && same_source(&out[0], &out[k]);
    }
    return same || atom_type(e->concat.arrs.at[0]).rank == 1 ? n : 0;
}

/* --- Reading -------------------------------------------------------------------------------- */

typedef struct {
    const Exp *e; /* the concatenation */
    Source part[MAX_PARTS];
    int n;
    Atom i; /* of the row */
} Read;

static Body *one_result(Bld *bl, Atom a)
{
    Atoms res = {0};
    vec_push(bl->cx->perm, &res, a);
    return bld_body(bl, res);
}

/* The position in its array of the row that is number i - before of part k. */
static Atom position(Bld *bl, const Read *rd, int k, Atom before)
{
    Loc loc = rd->e->loc;
    Atom at = bld_binop(bl, loc, OP_SUB, rd->i, before);
    at = bld_binop(bl, loc, OP_MUL, at, rd->part[k].stride);
    return bld_binop(bl, loc, OP_ADD, at, rd->part[k].start);
}

static Atom row_at(Bld *bl, const Read *rd, int k, Atom pos)
{
    const Source *part = &rd->part[k];
    return part->value ? part->arr
                       : bld_exp(bl, "x", exp_index(bl->cx, rd->e->loc, part->arr, &pos, 1, true));
}

static Atom part_end(Bld *bl, const Read *rd, int k, Atom before)
{
    Atom size = atom_type(rd->e->concat.arrs.at[k]).dims[0];
    return bld_binop(bl, rd->e->loc, OP_ADD, before, size);
}

/* The position in the one array: all are computed, so that the choice is no more than a select. */
static Atom position_from(Bld *bl, const Read *rd, int k, Atom before)
{
    Atom here = position(bl, rd, k, before);
    if (k == rd->n - 1)
        return here;
    Loc loc = rd->e->loc;
    Atom end = part_end(bl, rd, k, before);
    Atom first = bld_exp(bl, "first", exp_binop(bl->cx, loc, OP_LT, rd->i, end));
    Atom there = position_from(bl, rd, k + 1, end);
    Bld then_ = bld_new(bl->cx), else_ = bld_new(bl->cx);
    return bld_exp(bl, "j",
                   exp_if(bl->cx, loc, first, one_result(&then_, here), one_result(&else_, there)));
}

/* The scalar of part k or one behind it. */
static Atom scalar_from(Bld *bl, const Read *rd, int k, Atom before)
{
    if (k == rd->n - 1)
        return row_at(bl, rd, k, position(bl, rd, k, before));
    Loc loc = rd->e->loc;
    Atom end = part_end(bl, rd, k, before);
    Atom first = bld_exp(bl, "first", exp_binop(bl->cx, loc, OP_LT, rd->i, end));
    Bld then_ = bld_new(bl->cx), else_ = bld_new(bl->cx);
    Atom here = row_at(&then_, rd, k, position(&then_, rd, k, before));
    Atom there = scalar_from(&else_, rd, k + 1, end);
    return bld_exp(bl, "x",
                   exp_if(bl->cx, loc, first, one_result(&then_, here), one_result(&else_, there)));
}

/* Row i of the concatenation or slice of one that is bound by e. */
static Atom read_row(const Joined *J, Bld *bl, const Exp *e, Atom i)
{
    Read read = {.e = e, .i = i}, *rd = &read;
    if (e->kind == E_INDEX) {
        const DimIndex *rows = &e->index.at.at[0];
        read.i = bld_binop(bl, e->loc, OP_MUL, i, rows->stride);
        read.i = bld_binop(bl, e->loc, OP_ADD, read.i, rows->start);
        read.e = uses_def(J->us, e->index.arr);
    }
    read.n = sources_of(J, read.e, read.part);
    Atom none = atom_i64(0);
    bool same = true;
    for (int k = 1; k < rd->n; k++)
        same = same && same_source(&rd->part[0], &rd->part[k]);
    return same ? row_at(bl, rd, 0, position_from(bl, rd, 0, none)) : scalar_from(bl, rd, 0, none);
}

/* --- SOACs ---------------------------------------------------------------------------------- */

static bool op_on_arrays(const Exp *e)
{
    return e->soac.op && !types_scalar(&e->soac.op->params, 0, e->soac.op->params.n);
}

/* May input k of e, a concatenation, be read by its function instead? */
static bool may_read(const Joined *J, const Exp *e, int k)
{
    const Lambda *f = e->soac.fn ? e->soac.fn : e->soac.op;
    int first = f->params.n - e->soac.arrs.n;
    return !op_on_arrays(e) && uses_stable(J->us, atom_var(f->params.at[first + k])) &&
           uses_stable(J->us, e->soac.arrs.at[k]);
}

static const Exp *joined_input(const Joined *J, const Exp *e, int k)
{
    Atom a = e->soac.arrs.at[k];
    return a.var ? varmap_get(J->joined, a.var) : NULL;
}

/* e with the reads of its joined inputs in its function. */
static Exp *read_inputs(Joined *J, Bld *out, const Exp *e)
{
    Ctx *cx = J->cx;
    const Lambda *f = fuse_fn_of(cx, e);
    Exp *r = exp_new(cx, e->kind, e->loc);
    *r = *e;
    r->soac.arrs = (Atoms){0};
    Vars params = {0};
    for (int k = 0; k < e->soac.arrs.n; k++)
        if (!joined_input(J, e, k)) {
            vec_push(cx->perm, &r->soac.arrs, e->soac.arrs.at[k]);
            vec_push(cx->perm, &params, f->params.at[k]);
        }
    Atom i = uses_index_input(J->us, out, e, &r->soac.arrs, &params);
    Bld bl = bld_new(cx);
    for (int k = 0; k < e->soac.arrs.n; k++) {
        const Exp *arr = joined_input(J, e, k);
        if (!arr)
            continue;
        Stm s = {.exp = exp_atom(cx, arr->loc, read_row(J, &bl, arr, i))};
        vec_push(cx->perm, &s.pat, f->params.at[k]);
        bld_stm(&bl, s);
    }
    vec_append(cx->perm, &bl.stms, &f->body->stms);
    r->soac.fn = lambda_new(cx, params, bld_body(&bl, f->body->res));
    r->kind = kind_with_fn(r->kind);
    return r;
}

/* --- Bodies --------------------------------------------------------------------------------- */

/* By array: how often SOACs of b run over it and could read it instead. */
static VarMap *soac_reads(const Joined *J, const Body *b)
{
    VarMap *read = varmap_new(J->cx->perm);
    for (int i = 0; i < b->stms.n; i++) {
        const Exp *e = b->stms.at[i].exp;
        for (int k = 0; exp_is_soac(e) && k < e->soac.arrs.n; k++) {
            Atom a = e->soac.arrs.at[k];
            if (a.var && may_read(J, e, k))
                varmap_put(read, a.var, (void *)((uintptr_t)varmap_get(read, a.var) + 1));
        }
    }
    return read;
}

static bool only_read(const Joined *J, const VarMap *read, const Var *v)
{
    return uses_count(J->us, v) > 0 && uses_count(J->us, v) == (uintptr_t)varmap_get(read, v);
}

/* Adds to `read` the slices of concatenations that are only read themselves. */
static void count_slices(const Joined *J, const Body *b, VarMap *read)
{
    for (int i = 0; i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i];
        const Exp *of = s->exp->kind == E_INDEX ? uses_def(J->us, s->exp->index.arr) : NULL;
        if (!of || of->kind != E_CONCAT || !slices_rows(s->exp) ||
            !only_read(J, read, s->pat.at[0]))
            continue;
        const Var *arr = s->exp->index.arr.var;
        varmap_put(read, arr, (void *)((uintptr_t)varmap_get(read, arr) + 1));
    }
}

/* Enters what b joins, if only SOACs of b read it, and the slices through which they do. */
static void find_joined(Joined *J, const Body *b)
{
    VarMap *read = soac_reads(J, b);
    count_slices(J, b, read);
    for (int i = 0; i < b->stms.n; i++) {
        const Exp *e = b->stms.at[i].exp;
        const Var *v = b->stms.at[i].pat.n ? b->stms.at[i].pat.at[0] : NULL;
        Source part[MAX_PARTS];
        if (e->kind == E_CONCAT ? only_read(J, read, v) && uses_count(J->us, v) <= MAX_READS &&
                                      sources_of(J, e, part)
                                : e->kind == E_INDEX && e->index.arr.var && slices_rows(e) &&
                                      varmap_get(J->joined, e->index.arr.var))
            varmap_put(J->joined, v, e);
    }
}

static Lambda *join_lambda(void *env, Lambda *l);

static Body *join_body(void *env, Body *b)
{
    Joined *J = env;
    find_joined(J, b);
    ExpMapper m = {.env = env, .body = join_body, .lambda = join_lambda};
    Bld bl = bld_new(J->cx);
    for (int i = 0; i < b->stms.n; i++) {
        Stm s = b->stms.at[i];
        bool reads = false;
        for (int k = 0; exp_is_soac(s.exp) && k < s.exp->soac.arrs.n; k++)
            reads = reads || joined_input(J, s.exp, k);
        if (exp_is(s.exp, F_CODE))
            s.exp = exp_map_parts(J->cx, s.exp, &m);
        if (reads)
            s.exp = read_inputs(J, &bl, s.exp);
        bld_stm(&bl, s);
    }
    return bld_body(&bl, b->res);
}

static Lambda *join_lambda(void *env, Lambda *l)
{
    return lambda_new(((Joined *)env)->cx, l->params, join_body(env, l->body));
}

Prog *pass_joined(Ctx *cx, const Prog *in)
{
    Prog *p = NEW(cx->perm, Prog);
    p->dialect = in->dialect;
    for (int i = 0; i < in->entries.n; i++) {
        Entry en = in->entries.at[i];
        Joined J = {.cx = cx, .us = uses_entry(cx, &en)};
        J.joined = varmap_new(cx->perm);
        en.body = join_body(&J, en.body);
        vec_push(cx->perm, &p->entries, en);
    }
    return p;
}
