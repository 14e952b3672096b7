/* Rules for array operations: views of views, elements of arrays that are known, bounds checks. A
 * rule that would read an operand's operand later than before asks that its memory is never
 * consumed (simp_stable); one that makes a view of a fresh array a view of another (same_part) asks
 * that nobody consumes that view. Rules on an INDEX ask for `safe`, so that its bounds check and
 * message stay what they were, unless they keep the checked positions as they are. */
#include "ir/passes/simplify.h"

#include <string.h>

static Exp *as_atom(Simp *S, const Exp *e, Atom a)
{
    return exp_atom(S->cx, e->loc, a);
}

static Atom emit_binop(Simp *S, Loc loc, PrimOp op, Atom a, Atom b)
{
    return bld_binop(S->bl, loc, op, a, b);
}

static bool is_whole(const DimIndex *d, Atom size)
{
    return d->is_slice && atom_is_int(d->start, 0) && atom_is_int(d->stride, 1) &&
           atom_eq(d->n, size);
}

static bool all_fixed(const DimIndexes *at, int from)
{
    for (int i = from; i < at->n; i++)
        if (at->at[i].is_slice)
            return false;
    return true;
}

static bool all_whole(const DimIndexes *at, int from, Type t)
{
    for (int i = from; i < at->n; i++)
        if (!is_whole(&at->at[i], t.dims[i]))
            return false;
    return true;
}

static Exp *index_at(Simp *S, const Exp *e, Atom arr, DimIndexes at, bool safe)
{
    Exp *r = exp_new(S->cx, E_INDEX, e->loc);
    r->index.arr = arr;
    r->index.at = at;
    r->index.safe = safe;
    return r;
}

/* Whether e, a part of a fresh array, may be the same part of `other`. */
static bool same_part(const Simp *S, const Exp *e, Atom other)
{
    return simp_stable(S, other) && (all_fixed(&e->index.at, 0) || simp_stable(S, e->index.arr));
}

/* --- Bounds checks -------------------------------------------------------------------------- */

static Exp *index_safe(Simp *S, const Exp *e)
{
    if (e->index.safe || !ranges_in_bounds(S->ra, atom_type(e->index.arr), &e->index.at))
        return NULL;
    return index_at(S, e, e->index.arr, e->index.at, true);
}

static Exp *update_safe(Simp *S, const Exp *e)
{
    if (e->update.safe || !ranges_in_bounds(S->ra, atom_type(e->update.arr), &e->update.at))
        return NULL;
    Exp *r = exp_new(S->cx, E_UPDATE, e->loc);
    r->update = e->update;
    r->update.safe = true;
    return r;
}

/* --- Elements and parts of known arrays ----------------------------------------------------- */

/* xs[:] = xs */
static Exp *index_whole(Simp *S, const Exp *e)
{
    if (!all_whole(&e->index.at, 0, atom_type(e->index.arr)))
        return NULL;
    return as_atom(S, e, e->index.arr);
}

/* (iota n x s)[i] = x + i*s */
static Exp *index_iota(Simp *S, const Exp *e)
{
    const Exp *d = simp_def(S, e->index.arr);
    if (!d || d->kind != E_IOTA || !e->index.safe || e->index.at.at[0].is_slice)
        return NULL;
    Atom i = e->index.at.at[0].start;
    PrimType t = atom_type(d->iota.start).elem;
    if (prim_is_float(t))
        return NULL;
    if (t != T_I64)
        i = bld_exp(S->bl, "i", exp_conv(S->cx, e->loc, t, i));
    bool unit = atom_is_int(d->iota.stride, 1);
    Atom off =
        unit ? i : bld_exp(S->bl, "off", exp_binop(S->cx, e->loc, OP_MUL, i, d->iota.stride));
    return exp_binop(S->cx, e->loc, OP_ADD, d->iota.start, off);
}

/* (replicate [n..] v)[at.., rest] = v[rest], for each element of the slices in `at` */
static Exp *index_replicate(Simp *S, const Exp *e)
{
    const Exp *d = simp_def(S, e->index.arr);
    if (!d || d->kind != E_REPLICATE || !e->index.safe || !same_part(S, e, d->replicate.val))
        return NULL;
    int n = d->replicate.dims.n;
    Atoms dims = {0};
    for (int i = 0; i < n; i++)
        if (e->index.at.at[i].is_slice)
            vec_push(S->cx->perm, &dims, e->index.at.at[i].n);
    DimIndexes rest = {.at = e->index.at.at + n, .n = e->index.at.n - n};
    Exp *part = rest.n == 0 ? as_atom(S, e, d->replicate.val)
                            : index_at(S, e, d->replicate.val, rest, true);
    if (dims.n == 0)
        return part;
    Exp *r = exp_new(S->cx, E_REPLICATE, e->loc);
    r->replicate.dims = dims;
    r->replicate.val = rest.n == 0 ? d->replicate.val : bld_exp(S->bl, "part", part);
    return r;
}

/* [x, y, ..][1, rest] = y[rest] */
static Exp *index_arraylit(Simp *S, const Exp *e)
{
    const Exp *d = simp_def(S, e->index.arr);
    const DimIndex *first = &e->index.at.at[0];
    if (!d || d->kind != E_ARRAYLIT || first->is_slice || first->start.var ||
        first->start.c.i < 0 || first->start.c.i >= d->arraylit.elems.n)
        return NULL;
    Atom x = d->arraylit.elems.at[first->start.c.i];
    if (!same_part(S, e, x))
        return NULL;
    if (e->index.at.n == 1)
        return as_atom(S, e, x);
    if (!e->index.safe)
        return NULL;
    DimIndexes rest = {.at = e->index.at.at + 1, .n = e->index.at.n - 1};
    return index_at(S, e, x, rest, true);
}

/* The array of scalars whose elements in their order are those of a; NULL: it is no literal. */
static const Exp *flat_literal(const Simp *S, Atom a)
{
    const Exp *d = simp_def(S, a);
    if (d && d->kind == E_RESHAPE)
        d = simp_def(S, d->reshape.arr);
    return d && d->kind == E_ARRAYLIT && d->arraylit.elem.rank == 0 ? d : NULL;
}

/* An element of a literal that was flattened, see literal_flat. */
static Exp *index_flat_literal(Simp *S, const Exp *e)
{
    Type t = atom_type(e->index.arr);
    const Exp *d = flat_literal(S, e->index.arr);
    int64_t at = 0;
    if (!d || e->index.at.n != t.rank || t.rank < 2)
        return NULL;
    for (int k = 0; k < t.rank; k++) {
        const DimIndex *i = &e->index.at.at[k];
        if (i->is_slice || i->start.var || t.dims[k].var || i->start.c.i < 0 ||
            i->start.c.i >= t.dims[k].c.i)
            return NULL;
        at = at * t.dims[k].c.i + i->start.c.i;
    }
    return as_atom(S, e, d->arraylit.elems.at[at]);
}

/* (copy xs)[at] = xs[at] */
static Exp *index_copy(Simp *S, const Exp *e)
{
    const Exp *d = simp_def(S, e->index.arr);
    if (!d || d->kind != E_COPY || !same_part(S, e, d->copy.arr))
        return NULL;
    return index_at(S, e, d->copy.arr, e->index.at, e->index.safe);
}

/* (xs with [i] = v)[i] = v */
static Exp *index_update(Simp *S, const Exp *e)
{
    const Exp *d = simp_def(S, e->index.arr);
    if (!d || d->kind != E_UPDATE || !all_fixed(&e->index.at, 0) || !all_fixed(&d->update.at, 0))
        return NULL;
    for (int i = 0; i < e->index.at.n; i++)
        if (!atom_eq(e->index.at.at[i].start, d->update.at.at[i].start))
            return NULL;
    return as_atom(S, e, d->update.val);
}

/* Where position `at` of a slice is. */
static Atom composed_start(Simp *S, Loc loc, const DimIndex *slice, Atom at)
{
    if (atom_is_int(slice->stride, -1))
        return emit_binop(S, loc, OP_SUB, slice->start, at);
    return emit_binop(S, loc, OP_ADD, slice->start, emit_binop(S, loc, OP_MUL, at, slice->stride));
}

/* The positions of a view composed with positions into it. */
static bool compose(Simp *S, Loc loc, const DimIndexes *view, const DimIndexes *at, DimIndexes *out)
{
    int k = 0;
    for (int i = 0; i < view->n; i++) {
        DimIndex d = view->at[i];
        if (d.is_slice) {
            const DimIndex *in = &at->at[k++];
            Atom start = composed_start(S, loc, &d, in->start);
            Atom stride =
                in->is_slice ? emit_binop(S, loc, OP_MUL, d.stride, in->stride) : d.stride;
            d = (DimIndex){in->is_slice, start, in->is_slice ? in->n : atom_i64(1), stride};
        }
        vec_push(S->cx->perm, out, d);
    }
    return k == at->n;
}

/* xs[o:n:s][i] = xs[o + i*s] */
static Exp *index_slice(Simp *S, const Exp *e)
{
    const Exp *d = simp_def(S, e->index.arr);
    if (!d || d->kind != E_INDEX || !e->index.safe)
        return NULL;
    DimIndexes at = {0};
    if (!compose(S, e->loc, &d->index.at, &e->index.at, &at))
        return NULL;
    /* The view may be dead now, and its own check with it: that check moves here. */
    return index_at(S, e, d->index.arr, at, d->index.safe);
}

/* (rearrange p xs)[at] = xs[at permuted back], if the sliced dimensions keep their order. */
static Exp *index_rearrange(Simp *S, const Exp *e)
{
    const Exp *d = simp_def(S, e->index.arr);
    if (!d || d->kind != E_REARRANGE || !e->index.safe)
        return NULL;
    int n = e->index.at.n, last = -1;
    DimIndex *back = NEWN(S->cx->perm, DimIndex, n);
    for (int i = 0; i < n; i++) {
        back[d->rearrange.perm[i]] = e->index.at.at[i];
        if (!e->index.at.at[i].is_slice)
            continue;
        if (d->rearrange.perm[i] < last)
            return NULL;
        last = d->rearrange.perm[i];
    }
    DimIndexes at = {.at = back, .n = n, .cap = n};
    return index_at(S, e, d->rearrange.arr, at, true);
}

/* --- Updates -------------------------------------------------------------------------------- */

/* Is it all of a dimension, from its end? */
static bool is_reversed(const Simp *S, const DimIndex *d, Atom size)
{
    const Exp *e = simp_def(S, d->start);
    bool last = e && e->kind == E_PRIM && e->prim.op == OP_SUB &&
                atom_eq(e->prim.args.at[0], size) && atom_is_int(e->prim.args.at[1], 1);
    if (!size.var)
        last = atom_is_int(d->start, size.c.i - 1);
    return d->is_slice && last && atom_is_int(d->stride, -1) && atom_eq(d->n, size);
}

/* xs with [:] = v is a copy of v, xs with [n-1:n:-1] = v one of v[n-1:n:-1]. */
static Exp *update_whole(Simp *S, const Exp *e)
{
    Type t = atom_type(e->update.arr);
    bool turned = false;
    for (int i = 0; i < t.rank; i++) {
        bool back = is_reversed(S, &e->update.at.at[i], t.dims[i]);
        if (!back && !is_whole(&e->update.at.at[i], t.dims[i]))
            return NULL;
        turned = turned || back;
    }
    Exp *r = exp_new(S->cx, E_COPY, e->loc);
    r->copy.arr = e->update.val;
    if (turned)
        r->copy.arr = bld_exp(S->bl, "turned", index_at(S, e, r->copy.arr, e->update.at, true));
    return r;
}

/* --- Rearrangements, reshapes, copies ------------------------------------------------------- */

static Exp *rearrange_identity(Simp *S, const Exp *e)
{
    int rank = atom_type(e->rearrange.arr).rank;
    for (int i = 0; i < rank; i++)
        if (e->rearrange.perm[i] != i)
            return NULL;
    return as_atom(S, e, e->rearrange.arr);
}

static Exp *rearrange_rearrange(Simp *S, const Exp *e)
{
    const Exp *d = simp_def(S, e->rearrange.arr);
    if (!d || d->kind != E_REARRANGE)
        return NULL;
    int rank = atom_type(e->rearrange.arr).rank;
    int *perm = NEWN(S->cx->perm, int, rank);
    for (int i = 0; i < rank; i++)
        perm[i] = d->rearrange.perm[e->rearrange.perm[i]];
    return exp_rearrange(S->cx, e->loc, perm, d->rearrange.arr);
}

/* (rearrange (replicate v)) of a scalar v is a replicate. */
static Exp *rearrange_replicate(Simp *S, const Exp *e)
{
    const Exp *d = simp_def(S, e->rearrange.arr);
    if (!d || d->kind != E_REPLICATE || atom_type(d->replicate.val).rank > 0)
        return NULL;
    Exp *r = exp_new(S->cx, E_REPLICATE, e->loc);
    r->replicate.val = d->replicate.val;
    for (int i = 0; i < d->replicate.dims.n; i++)
        vec_push(S->cx->perm, &r->replicate.dims, d->replicate.dims.at[e->rearrange.perm[i]]);
    return r;
}

static Exp *reshape_same(Simp *S, const Exp *e)
{
    Type t = atom_type(e->reshape.arr);
    if (t.rank != e->reshape.dims.n)
        return NULL;
    int differ = 0;
    for (int i = 0; i < t.rank; i++)
        differ += !atom_eq(t.dims[i], e->reshape.dims.at[i]);
    return differ == 0 ? as_atom(S, e, e->reshape.arr) : NULL;
}

static Exp *reshape_reshape(Simp *S, const Exp *e)
{
    const Exp *d = simp_def(S, e->reshape.arr);
    if (!d || d->kind != E_RESHAPE)
        return NULL;
    Exp *r = exp_new(S->cx, E_RESHAPE, e->loc);
    r->reshape.dims = e->reshape.dims;
    r->reshape.arr = d->reshape.arr;
    return r;
}

/* reshape (replicate v), v scalar */
static Exp *reshape_replicate(Simp *S, const Exp *e)
{
    const Exp *d = simp_def(S, e->reshape.arr);
    if (!d || d->kind != E_REPLICATE || atom_type(d->replicate.val).rank > 0 ||
        e->reshape.dims.n == 0)
        return NULL;
    Exp *r = exp_new(S->cx, E_REPLICATE, e->loc);
    r->replicate.dims = e->reshape.dims;
    r->replicate.val = d->replicate.val;
    return r;
}

/* A copy of a copy copies the first array. */
static Exp *copy_copy(Simp *S, const Exp *e)
{
    const Exp *d = simp_def(S, e->copy.arr);
    if (!d || d->kind != E_COPY || !simp_stable(S, d->copy.arr))
        return NULL;
    Exp *r = exp_new(S->cx, E_COPY, e->loc);
    r->copy.arr = d->copy.arr;
    return r;
}

/* replicate [n..] (replicate [m..] v) = replicate [n.., m..] v */
static Exp *replicate_replicate(Simp *S, const Exp *e)
{
    const Exp *d = simp_def(S, e->replicate.val);
    if (!d || d->kind != E_REPLICATE || !simp_stable(S, d->replicate.val))
        return NULL;
    Exp *r = exp_new(S->cx, E_REPLICATE, e->loc);
    r->replicate.val = d->replicate.val;
    vec_append(S->cx->perm, &r->replicate.dims, &e->replicate.dims);
    vec_append(S->cx->perm, &r->replicate.dims, &d->replicate.dims);
    return r;
}

/* [[a, b], [c, d]] is [a, b, c, d] in another shape: one array goes to the device, and not one for
 * each row and a copy of that. Rows that come in the order of their definitions are different ones,
 * so that this is no larger than they are; of others there may be few, as [r, r] doubles r. */
static Exp *literal_flat(Simp *S, const Exp *e)
{
    enum { MOST = 1024 };
    const Atoms *rows = &e->arraylit.elems;
    int newest = -1, repeated = 0;
    if (e->arraylit.elem.rank == 0 || rows->n == 0)
        return NULL;
    Exp *flat = exp_new(S->cx, E_ARRAYLIT, e->loc), *r = exp_new(S->cx, E_RESHAPE, e->loc);
    flat->arraylit.elem = type_prim(e->arraylit.elem.elem);
    for (int i = 0; i < rows->n; i++) {
        const Exp *d = flat_literal(S, rows->at[i]);
        if (!d || !simp_stable(S, rows->at[i]))
            return NULL;
        if (rows->at[i].var->id > newest)
            newest = rows->at[i].var->id;
        else if ((repeated += d->arraylit.elems.n) > MOST)
            return NULL;
        vec_append(S->cx->perm, &flat->arraylit.elems, &d->arraylit.elems);
    }
    r->reshape.arr = bld_exp(S->bl, "literal", flat);
    vec_push(S->cx->perm, &r->reshape.dims, atom_i64(rows->n));
    for (int k = 0; k < e->arraylit.elem.rank; k++)
        vec_push(S->cx->perm, &r->reshape.dims, e->arraylit.elem.dims[k]);
    return r;
}

/* --- Concatenation -------------------------------------------------------------------------- */

static Exp *concat_one(Simp *S, const Exp *e)
{
    if (e->concat.arrs.n != 1)
        return NULL;
    Exp *r = exp_new(S->cx, E_COPY, e->loc);
    r->copy.arr = e->concat.arrs.at[0];
    return r;
}

/* Without the arrays of size 0 along the dimension; those of inner concatenations in their place,
 * unless there would be many: one that is used twice doubles them. */
static Exp *concat_flat(Simp *S, const Exp *e)
{
    enum { MANY = 64 };
    int more = MANY - e->concat.arrs.n;
    Exp *r = exp_new(S->cx, E_CONCAT, e->loc);
    r->concat.dim = e->concat.dim;
    r->concat.n = e->concat.n;
    bool changed = false;
    for (int i = 0; i < e->concat.arrs.n; i++) {
        Atom a = e->concat.arrs.at[i];
        const Exp *d = simp_def(S, a);
        bool empty = atom_is_int(atom_type(a).dims[e->concat.dim], 0);
        bool inner = d && d->kind == E_CONCAT && d->concat.dim == e->concat.dim &&
                     d->concat.arrs.n - 1 <= more;
        for (int k = 0; inner && k < d->concat.arrs.n; k++)
            inner = simp_stable(S, d->concat.arrs.at[k]);
        changed = changed || empty || inner;
        more -= inner ? d->concat.arrs.n - 1 : 0;
        if (inner)
            vec_append(S->cx->perm, &r->concat.arrs, &d->concat.arrs);
        else if (!empty)
            vec_push(S->cx->perm, &r->concat.arrs, a);
    }
    return changed && r->concat.arrs.n > 0 ? r : NULL;
}

const RuleRow array_rules[] = {
    {E_INDEX, index_whole},
    {E_INDEX, index_safe},
    {E_INDEX, index_iota},
    {E_INDEX, index_replicate},
    {E_INDEX, index_arraylit},
    {E_INDEX, index_flat_literal},
    {E_INDEX, index_copy},
    {E_INDEX, index_update},
    {E_INDEX, index_slice},
    {E_INDEX, index_rearrange},
    {E_UPDATE, update_whole},
    {E_UPDATE, update_safe},
    {E_REARRANGE, rearrange_identity},
    {E_REARRANGE, rearrange_rearrange},
    {E_REARRANGE, rearrange_replicate},
    {E_RESHAPE, reshape_same},
    {E_RESHAPE, reshape_reshape},
    {E_RESHAPE, reshape_replicate},
    {E_COPY, copy_copy},
    {E_REPLICATE, replicate_replicate},
    {E_ARRAYLIT, literal_flat},
    {E_CONCAT, concat_one},
    {E_CONCAT, concat_flat},
    {E_ATOM, NULL},
};
