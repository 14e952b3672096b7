/* SOACs and their SEG counterparts. Both are a nest of dimensions around a body (a SOAC has one
 * dimension) whose first results may be reduced or scanned along the innermost dimension and whose
 * other results go to element [idx_1, .., idx_d] of an output; or are written by scatter or hist.
 */
#include "interp/code.h"

/* The SOAC at work. */
typedef struct {
    Interp *in;
    SoacCode *x;
    Loc loc;
} Run;

/* --- Inputs and outputs --------------------------------------------------------------------- */

static void bind_row(Run *r, Opd x, const Arr *a, int64_t i)
{
    char *at = a->base + i * a->stride[0];
    if (!x.is_array) {
        r->in->slots[x.slot] = scalar_load((PrimType)a->elem, at);
        return;
    }
    Arr *v = arr_view(r->in, a);
    v->base = at;
    v->rank--;
    for (int d = 0; d < v->rank; d++) {
        v->n[d] = a->n[d + 1];
        v->stride[d] = a->stride[d + 1];
    }
    slot_set_array(r->in, x.slot, v);
}

/* Of nothing that was moved out of nothing it may be any number (ir.h). */
static int64_t natural_width(const Run *r, const DimCode *d)
{
    int64_t width = r->in->slots[d->width].i;
    return width < 0 ? 0 : width;
}

static void open_dim(Run *r, DimCode *d)
{
    int64_t width = natural_width(r, d);
    for (int j = 0; j < d->n; j++) {
        Arr *a = interp_array(r->in, d->arrs[j], r->loc);
        if (a->n[0] != width || (a->rank > 1) != d->xs[j].is_array)
            interp_fail(r->in, INTERP_BUG, r->loc,
                        "%s of width %lld over an array of %lld elements",
                        form_info[r->x->kind].text, (long long)width, (long long)a->n[0]);
        a->refs++;
        d->in[j] = a;
    }
}

static void bind_dim(Run *r, const DimCode *d, int64_t i)
{
    if (d->idx >= 0)
        r->in->slots[d->idx].i = i;
    for (int j = 0; j < d->n; j++)
        bind_row(r, d->xs[j], d->in[j], i);
}

static void close_dim(Run *r, DimCode *d)
{
    for (int j = 0; j < d->n; j++) {
        arr_release(r->in, d->in[j]);
        if (d->xs[j].is_array && r->x->has_body)
            slot_set_array(r->in, d->xs[j].slot, NULL);
    }
}

static void wrong_shape(Run *r, int k)
{
    interp_fail(r->in, INTERP_BUG, r->loc, "result %d of %s has another shape than its type says",
                k, form_info[r->x->kind].text);
}

/* Stores v, whose reference it takes, at `to`: where an element of result k with `depth` outer
 * dimensions fixed lies. */
static void put_at(Run *r, int k, char *to, int depth, bool is_array, Val v)
{
    const Arr *out = r->x->out[k];
    if (!is_array) {
        if (out->rank != depth)
            wrong_shape(r, k);
        scalar_store((PrimType)out->elem, to, v);
        return;
    }
    bool same = out->rank == depth + v.a->rank;
    for (int d = 0; same && d < v.a->rank; d++)
        same = out->n[depth + d] == v.a->n[d];
    if (!same)
        wrong_shape(r, k);
    arr_copy_to(to, out->stride + depth, v.a);
    arr_release(r->in, v.a);
}

/* out[at_1, .., at_depth] := v, whose reference it takes. */
static void put_result(Run *r, int k, int depth, bool is_array, Val v)
{
    const Arr *out = r->x->out[k];
    char *to = out->base;
    for (int d = 0; d < depth; d++)
        to += r->x->at[d] * out->stride[d];
    put_at(r, k, to, depth, is_array, v);
}

/* --- Reducing and scanning ------------------------------------------------------------------ */

static void start_acc(Run *r)
{
    for (int k = 0; k < r->x->n_red; k++)
        r->x->acc[k] = interp_take(r->in, r->x->nes[k], r->loc);
}

/* acc := op(acc, the operator's second half of parameters, bound already) */
static void step_acc(Run *r)
{
    SoacCode *x = r->x;
    for (int k = 0; k < x->n_red; k++) {
        Opd p = x->op.params[k];
        if (p.is_array)
            slot_set_array(r->in, p.slot, x->acc[k].a);
        else
            r->in->slots[p.slot] = x->acc[k];
    }
    r->in->exec(r->in, &x->op.body);
    for (int k = 0; k < x->n_red; k++)
        x->acc[k] = interp_take(r->in, x->op.body.res[k], r->loc);
}

static void pass_to_op(Run *r)
{
    SoacCode *x = r->x;
    for (int k = 0; k < x->n_red; k++) {
        Opd p = x->op.params[x->n_red + k];
        Val v = interp_take(r->in, x->body.res[k], r->loc);
        if (p.is_array)
            slot_set_array(r->in, p.slot, v.a);
        else
            r->in->slots[p.slot] = v;
    }
}

/* --- Scatter -------------------------------------------------------------------------------- */

static void scatter_one(Run *r, int d, const Opd *index, Opd val)
{
    const Arr *dest = r->x->out[d];
    int rank = r->x->dests[d].rank;
    char *to = dest->base;
    Val v = interp_take(r->in, val, r->loc);
    bool inside = true;
    for (int j = 0; j < rank && inside; j++) {
        int64_t i = r->in->slots[index[j].slot].i;
        inside = i >= 0 && i < dest->n[j];
        if (inside)
            to += i * dest->stride[j];
    }
    if (!val.is_array) {
        if (inside)
            scalar_store((PrimType)dest->elem, to, v);
        return;
    }
    bool same = dest->rank == rank + v.a->rank;
    for (int j = 0; same && j < v.a->rank; j++)
        same = dest->n[rank + j] == v.a->n[j];
    if (!same)
        wrong_shape(r, d);
    if (inside)
        arr_copy_to(to, dest->stride + rank, v.a);
    arr_release(r->in, v.a);
}

static void scatter_all(Run *r)
{
    SoacCode *x = r->x;
    const Opd *index = x->body.res, *vals = x->body.res;
    for (int d = 0; d < x->n_dests; d++)
        vals += x->dests[d].rank;
    for (int d = 0; d < x->n_dests; d++) {
        scatter_one(r, d, index, vals[d]);
        index += x->dests[d].rank;
    }
}

/* --- Histograms ----------------------------------------------------------------------------- */

/* Element `at` of a destination, below its first `rank` dimensions: a fresh copy. */
static Val hist_load(Run *r, const Arr *dest, char *at, int rank)
{
    if (dest->rank == rank)
        return scalar_load((PrimType)dest->elem, at);
    Arr *view = arr_view(r->in, dest);
    view->base = at;
    view->rank = dest->rank - rank;
    for (int j = 0; j < view->rank; j++) {
        view->n[j] = dest->n[rank + j];
        view->stride[j] = dest->stride[rank + j];
    }
    Arr *own = arr_new(r->in, r->loc, (PrimType)dest->elem, view->rank, view->n);
    arr_copy_to(own->base, own->stride, view);
    arr_release(r->in, view);
    return (Val){.a = own};
}

static void set_param(Run *r, Opd p, Val v)
{
    if (p.is_array)
        slot_set_array(r->in, p.slot, v.a);
    else
        r->in->slots[p.slot] = v;
}

/* dest[index] := op(dest[index], value) */
static void hist_one(Run *r)
{
    SoacCode *x = r->x;
    int n = x->n_red, rank = x->dests[0].rank;
    const Opd *index = x->body.res, *vals = x->body.res + rank;
    for (int k = 0; k < n; k++)
        set_param(r, x->op.params[n + k], interp_take(r->in, vals[k], r->loc));
    for (int j = 0; j < rank; j++) {
        int64_t i = r->in->slots[index[j].slot].i;
        if (i < 0 || i >= x->out[0]->n[j])
            return;
    }
    for (int k = 0; k < n; k++) {
        char *at = x->out[k]->base;
        for (int j = 0; j < rank; j++)
            at += r->in->slots[index[j].slot].i * x->out[k]->stride[j];
        x->bins[k] = at;
        set_param(r, x->op.params[k], hist_load(r, x->out[k], at, rank));
    }
    r->in->exec(r->in, &x->op.body);
    for (int k = 0; k < n; k++)
        x->acc[k] = interp_take(r->in, x->op.body.res[k], r->loc);
    for (int k = 0; k < n; k++)
        put_at(r, k, x->bins[k], rank, x->op.body.res[k].is_array, x->acc[k]);
}

/* --- The nest ------------------------------------------------------------------------------- */

/* One position of the innermost dimension, its rows bound. */
static void element(Run *r)
{
    SoacCode *x = r->x;
    if (x->has_body)
        r->in->exec(r->in, &x->body);
    if (x->is_hist) {
        hist_one(r);
        return;
    }
    if (x->n_dests) {
        scatter_all(r);
        return;
    }
    if (x->n_red) {
        if (x->has_body)
            pass_to_op(r);
        step_acc(r);
        for (int k = 0; x->is_scan && k < x->n_red; k++) {
            Opd o = x->op.body.res[k];
            if (o.is_array)
                x->acc[k].a->refs++;
            put_result(r, k, x->n_dims, o.is_array, x->acc[k]);
        }
    }
    for (int k = x->n_red; k < x->n_dst; k++) {
        Opd o = x->body.res[k];
        put_result(r, k, x->n_dims, o.is_array, interp_take(r->in, o, r->loc));
    }
}

/* Results that are built up: all but those of a plain reduction. */
static bool is_built(const SoacCode *x, int k)
{
    return x->n_dests || x->is_scan || x->n_dims > 1 || x->dims[0].row >= 0 || k >= x->n_red;
}

/* --- The same, faster, where the innermost dimension has to do with scalars only ------------ */

static void set_cursors(Run *r, const DimCode *d)
{
    SoacCode *x = r->x;
    int inner = x->n_dims - 1;
    for (int j = 0; j < d->n; j++) {
        const Arr *a = d->in[j];
        x->from[j] = (Cursor){a->base, a->stride[0], (PrimType)a->elem, d->xs[j].slot};
    }
    for (int k = x->is_scan ? 0 : x->n_red; k < x->n_dst; k++) {
        const Arr *a = x->out[k];
        if (a->rank != x->n_dims)
            wrong_shape(r, k);
        char *at = a->base;
        for (int i = 0; i < inner; i++)
            at += x->at[i] * a->stride[i];
        int32_t slot = k < x->n_red ? x->op.params[k].slot : x->body.res[k].slot;
        x->to[k] = (Cursor){at, a->stride[inner], (PrimType)a->elem, slot};
    }
}

/* The accumulators live in the operator's first parameters. */
static void scalar_step(Interp *in, SoacCode *x)
{
    Val *S = in->slots;
    const Opd *acc = x->op.params, *arg = x->op.params + x->n_red;
    if (x->has_body)
        for (int k = 0; k < x->n_red; k++)
            S[arg[k].slot] = S[x->body.res[k].slot];
    in->exec(in, &x->op.body);
    if (x->n_red == 1) {
        S[acc[0].slot] = S[x->op.body.res[0].slot];
        return;
    }
    for (int k = 0; k < x->n_red; k++)
        x->acc[k] = S[x->op.body.res[k].slot];
    for (int k = 0; k < x->n_red; k++)
        S[acc[k].slot] = x->acc[k];
}

static void scalar_line(Run *r, const DimCode *d, int64_t width)
{
    SoacCode *x = r->x;
    Interp *in = r->in;
    Val *S = in->slots;
    int first_out = x->is_scan ? 0 : x->n_red, n_in = d->n, n_out = x->n_dst, n_red = x->n_red;
    set_cursors(r, d);
    for (int k = 0; k < n_red; k++)
        S[x->op.params[k].slot] = x->acc[k];
    for (int64_t i = 0; i < width; i++) {
        if (d->idx >= 0)
            S[d->idx].i = i;
        for (Cursor *c = x->from, *end = c + n_in; c < end; c++) {
            S[c->slot] = scalar_load(c->t, c->at);
            c->at += c->stride;
        }
        if (x->has_body)
            in->exec(in, &x->body);
        if (n_red)
            scalar_step(in, x);
        for (Cursor *c = x->to + first_out, *end = x->to + n_out; c < end; c++) {
            scalar_store(c->t, c->at, S[c->slot]);
            c->at += c->stride;
        }
    }
    for (int k = 0; k < n_red; k++)
        x->acc[k] = S[x->op.params[k].slot];
}

static void finish_acc(Run *r)
{
    SoacCode *x = r->x;
    for (int k = 0; k < x->n_red; k++) {
        bool is_array = x->nes[k].is_array, of_row = x->n_dims == 1 && x->dims[0].row >= 0;
        if (!x->is_scan && (x->n_dims > 1 || of_row))
            put_result(r, k, of_row ? 1 : x->n_dims - 1, is_array, x->acc[k]);
        else if (!x->is_scan && is_array)
            slot_set_array(r->in, x->dst[k], x->acc[k].a);
        else if (!x->is_scan)
            r->in->slots[x->dst[k]] = x->acc[k];
        else if (is_array)
            arr_release(r->in, x->acc[k].a);
    }
}

static void dimension(Run *r, int d);

/* Positions from .. to-1 of dimension d, over which the innermost one accumulates. */
static void line(Run *r, int d, int64_t from, int64_t to)
{
    SoacCode *x = r->x;
    DimCode *dim = &x->dims[d];
    bool innermost = d == x->n_dims - 1, accumulates = innermost && !x->is_hist;
    if (accumulates)
        start_acc(r);
    if (innermost && x->all_scalar)
        scalar_line(r, dim, to);
    for (int64_t i = from; i < to && !(innermost && x->all_scalar); i++) {
        x->at[d] = i;
        bind_dim(r, dim, i);
        if (innermost)
            element(r);
        else
            dimension(r, d + 1);
    }
    if (dim->row >= 0)
        x->at[d] = r->in->slots[dim->row].i; /* where what is reduced goes */
    if (accumulates)
        finish_acc(r);
}

static int64_t offset(const Arr *offs, int64_t row)
{
    int64_t first = scalar_load(T_I64, offs->base).i;
    return scalar_load(T_I64, offs->base + row * offs->stride[0]).i - first;
}

/* The rows of a ragged dimension, one after the other. */
static void ragged_dimension(Run *r, const DimCode *dim)
{
    Val *S = r->in->slots;
    int64_t rows = S[dim->rows].i, from = 0;
    const Arr *offs = interp_array(r->in, dim->offs, r->loc);
    if (offs->n[0] <= rows || offset(offs, rows) != S[dim->width].i)
        interp_fail(r->in, INTERP_BUG, r->loc, "offsets that do not cover the points");
    for (int64_t row = 0; row < rows; row++) {
        int64_t to = offset(offs, row + 1);
        if (to < from)
            interp_fail(r->in, INTERP_BUG, r->loc, "offsets that decrease");
        S[dim->row].i = row;
        line(r, 0, from, to);
        from = to;
    }
}

static void dimension(Run *r, int d)
{
    DimCode *dim = &r->x->dims[d];
    open_dim(r, dim);
    if (dim->row >= 0)
        ragged_dimension(r, dim);
    else
        line(r, d, 0, natural_width(r, dim));
    close_dim(r, dim);
}

void interp_soac(Interp *in, const Ins *p)
{
    SoacCode *x = p->soac;
    Run r = {in, x, p->e->loc};
    for (int d = 0; d < x->n_dests; d++)
        x->out[d] = arr_unique(in, r.loc, interp_take(in, x->dests[d].arr, r.loc).a);
    for (int k = 0; !x->n_dests && k < x->n_dst; k++) {
        int64_t n[RT_MAX_RANK];
        if (!is_built(x, k))
            continue;
        interp_shape(in, &x->shapes[k], n);
        x->out[k] = arr_new(in, r.loc, x->shapes[k].elem, x->shapes[k].rank, n);
    }
    dimension(&r, 0);
    for (int k = 0; k < x->n_dst; k++)
        if (is_built(x, k))
            slot_set_array(in, x->dst[k], x->out[k]);
}
