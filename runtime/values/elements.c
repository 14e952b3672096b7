/* Values at the boundary and what they are made of: elements of arrays, what variants of
 * sums hold. */
#include "runtime/values/boundary.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- Elements of arrays: one array for each component of an element --- */

RT_API int rt_element(rt_ctx *ctx, const rt_value *v, int rank, const int64_t *index, int64_t *at)
{
    *at = 0;
    for (int i = 0; i < rank; i++) {
        if (index[i] < 0 || index[i] >= v->shape[i])
            return rt_error_set(
                ctx, "index %" PRId64 " is out of bounds for dimension %d of size %" PRId64,
                index[i], i, v->shape[i]);
        *at = *at * v->shape[i] + index[i];
    }
    return RT_OK;
}

/* Are two components of an array of type t of the same sizes? */
static int rt_same_sizes(rt_ctx *ctx, const rt_type_def *t, const int64_t *x, const int64_t *y)
{
    for (int i = 0; i < t->rank; i++)
        if (x[i] != y[i])
            return rt_error_set(ctx,
                                "%s: arrays of size %" PRId64 " and %" PRId64 " in dimension %d",
                                t->name, x[i], y[i], i);
    return RT_OK;
}

RT_API int rt_same_shapes(rt_ctx *ctx, int type, const rt_value *v)
{
    int n = rt_type_components(ctx->prog, type), rc = RT_OK;
    for (int k = 1; k < n && rc == RT_OK; k++)
        rc = rt_same_sizes(ctx, &ctx->prog->types[type], v[0].shape, v[k].shape);
    return rc;
}

/* What one element of component v is, whose array has `rank` dimensions in front, and its bytes. */
static rt_value rt_element_value(const rt_value *v, int rank, int64_t *bytes)
{
    rt_value e = {.prim = v->prim, .rank = v->rank - rank};
    memcpy(e.shape, v->shape + rank, (size_t)e.rank * sizeof *e.shape);
    *bytes = rt_shape_bytes(e.prim, e.rank, e.shape);
    return e;
}

static int rt_element_read(rt_ctx *ctx, const rt_value *v, int rank, int64_t at, rt_value *e)
{
    int64_t bytes;
    *e = rt_element_value(v, rank, &bytes);
    if (rt_whole(ctx, v))
        return RT_ERR;
    if (e->rank == 0)
        return rt_read_scalar(ctx, v->mem, at * bytes, (int)bytes, &e->scalar);
    return rt_alloc(ctx, &e->mem, bytes, "element") ||
                   rt_copy(ctx, e->mem, 0, v->mem, at * bytes, bytes)
               ? RT_ERR
               : RT_OK;
}

RT_API int rt_element_get(rt_ctx *ctx, int n, const rt_value *from, int rank, int64_t at,
                          rt_value *to)
{
    for (int k = 0; k < n; k++)
        if (rt_element_read(ctx, &from[k], rank, at, &to[k])) {
            rt_values_release(ctx, k + 1, to);
            return RT_ERR;
        }
    return RT_OK;
}

/* Element `at` of component v becomes e, which must have the same shape. */
static int rt_element_write(rt_ctx *ctx, rt_value *v, int rank, int64_t at, const rt_value *e)
{
    int64_t bytes;
    rt_value is = rt_element_value(v, rank, &bytes);
    for (int i = 0; i < is.rank; i++)
        if (is.shape[i] != e->shape[i])
            return rt_error_set(
                ctx, "an element has size %" PRId64 " in dimension %d, the others have %" PRId64,
                e->shape[i], i, is.shape[i]);
    if (rt_whole(ctx, v) || rt_whole(ctx, e))
        return RT_ERR;
    if (is.rank == 0)
        return rt_write_scalar(ctx, v->mem, at * bytes, (int)bytes, &e->scalar);
    return rt_copy(ctx, v->mem, at * bytes, e->mem, 0, bytes);
}

/* --- Which components a value holds --- */

RT_API int rt_variant_number(const rt_value *sum)
{
    return (int)rt_int_get(sum[0].prim, &sum[0].scalar);
}

RT_API int rt_variant_components(const rt_program *prog, const rt_variant_def *v)
{
    int n = 0;
    for (int i = 0; i < v->n; i++)
        n += rt_type_components(prog, v->types[i]);
    return n;
}

/* Element `at` of component v becomes zeros. */
static int rt_element_clear(rt_ctx *ctx, rt_value *v, int rank, int64_t at)
{
    int64_t bytes;
    rt_element_value(v, rank, &bytes);
    if (rt_whole(ctx, v))
        return RT_ERR;
    void *zeros = calloc(1, (size_t)bytes + 1);
    int rc = zeros ? rt_write(ctx, v->mem, at * bytes, bytes, zeros)
                   : rt_error_set(ctx, "out of memory");
    free(zeros);
    return rc;
}

/* Marks the components of the value that is at v[at[0]], v[at[1]], ... which it holds: of a sum,
 * those of its variant. `room` is for more positions. */
static void rt_mark_held(const rt_program *prog, int type, const rt_value *v, const int *at,
                         int *room, bool *held)
{
    const rt_type_def *t = &prog->types[type];
    if (t->kind == RT_KIND_RECORD) {
        for (int i = 0; i < t->n_fields; i++) {
            rt_mark_held(prog, t->fields[i].type, v, at, room, held);
            at += rt_type_components(prog, t->fields[i].type);
        }
        return;
    }
    if (t->kind != RT_KIND_SUM) {
        for (int i = rt_type_components(prog, type) - 1; i >= 0; i--)
            held[at[i]] = true;
        return;
    }
    held[at[0]] = true;
    const rt_variant_def *d = &t->variants[rt_variant_number(&v[at[0]])];
    int n = rt_variant_components(prog, d);
    for (int i = 0; i < n; i++)
        room[i] = at[d->places[i]];
    for (int i = 0, part = 0; i < d->n; i++) {
        rt_mark_held(prog, d->types[i], v, room + part, room + n, held);
        part += rt_type_components(prog, d->types[i]);
    }
}

/* For each component of a value of n of them whether it is one or, as an array, of
 * another variant. */
static bool *rt_held(const rt_program *prog, int type, int n, const rt_value *v)
{
    bool *held = rt_grow(NULL, (size_t)n + 1);
    int *room = rt_grow(NULL, (size_t)n * (size_t)(n + 2) * sizeof *room);
    for (int k = 0; k < n; k++) {
        held[k] = !v[k].rank;
        room[k] = k;
    }
    rt_mark_held(prog, type, v, room, room + n, held);
    free(room);
    return held;
}

RT_API int rt_element_set(rt_ctx *ctx, int elem, int n, rt_value *to, int rank, int64_t at,
                          const rt_value *e)
{
    bool *held = rt_held(ctx->prog, elem, n, e);
    int rc = RT_OK;
    for (int k = 0; k < n && rc == RT_OK; k++) {
        if (!rt_sole(to[k].mem)) /* others that share the block keep what they have */
            rc = rt_value_own(ctx, &to[k]);
        rt_content_new(ctx, to[k].mem);
        if (rc == RT_OK)
            rc = held[k] ? rt_element_write(ctx, &to[k], rank, at, &e[k])
                         : rt_element_clear(ctx, &to[k], rank, at);
    }
    free(held);
    return rc;
}

/* Room for an array of `rank` dimensions of what e is. */
static int rt_elements_room(rt_ctx *ctx, rt_value *v, int rank, const int64_t *shape,
                            const rt_value *e)
{
    v->prim = e->prim;
    v->rank = rank + e->rank;
    memcpy(v->shape, shape, (size_t)rank * sizeof *shape);
    memcpy(v->shape + rank, e->shape, (size_t)e->rank * sizeof *shape);
    int64_t bytes = rt_shape_bytes(v->prim, v->rank, v->shape);
    if (bytes < 0)
        return rt_error_set(ctx, "a size is negative or too large");
    return rt_alloc(ctx, &v->mem, bytes, "array");
}

/* Component k of an array of such elements: held[i] tells what element i holds. */
static int rt_elements_component(rt_ctx *ctx, int rank, int elem, const int64_t *shape,
                                 int64_t count, const rt_value *const *elems, bool *const *held,
                                 int k, rt_value *out)
{
    rt_value none = {0};
    rt_type_component(ctx->prog, elem, k, &none.prim, &none.rank);
    int64_t like = 0;
    while (like < count && !held[like][k])
        like++;
    like = like < count ? like : 0;
    int rc = rt_elements_room(ctx, out, rank, shape, count ? &elems[like][k] : &none);
    for (int64_t i = 0; i < count && rc == RT_OK; i++)
        rc = held[i][k] ? rt_element_write(ctx, out, rank, i, &elems[i][k])
                        : rt_element_clear(ctx, out, rank, i);
    return rc;
}

RT_API int rt_elements_new(rt_ctx *ctx, int type, int elem, const int64_t *shape, int64_t count,
                           const rt_value *const *elems, rt_value *out)
{
    int n = rt_type_components(ctx->prog, type), rc = RT_OK;
    memset(out, 0, (size_t)n * sizeof *out);
    bool **held = rt_grow(NULL, (size_t)(count + 1) * sizeof *held);
    for (int64_t i = 0; i < count; i++)
        held[i] = rt_held(ctx->prog, elem, n, elems[i]);
    for (int k = 0; k < n && rc == RT_OK; k++)
        rc = rt_elements_component(ctx, ctx->prog->types[type].rank, elem, shape, count, elems,
                                   held, k, &out[k]);
    if (rc)
        rt_values_release(ctx, n, out);
    for (int64_t i = 0; i < count; i++)
        free(held[i]);
    free(held);
    return rc;
}

/* --- Variants of sums --- */

RT_API int rt_variant_make(rt_ctx *ctx, int type, int k, const rt_value *holds, rt_value *out)
{
    const rt_program *prog = ctx->prog;
    const rt_variant_def *v = &prog->types[type].variants[k];
    int n = rt_type_components(prog, type), n_holds = rt_variant_components(prog, v);
    memset(out, 0, (size_t)n * sizeof *out);
    for (int i = 0; i < n; i++)
        rt_type_component(prog, type, i, &out[i].prim, &out[i].rank);
    if (out[0].prim == RT_I8)
        out[0].scalar.i8 = (int8_t)k;
    else if (out[0].prim == RT_I16)
        out[0].scalar.i16 = (int16_t)k;
    else
        out[0].scalar.i32 = k;
    for (int i = 0; i < n_holds; i++) {
        out[v->places[i]] = holds[i];
        rt_ref(holds[i].mem);
    }
    for (int i = 0; i < n; i++) /* what other variants hold: no elements */
        if (out[i].rank && !out[i].mem && rt_alloc(ctx, &out[i].mem, 0, "array")) {
            rt_values_release(ctx, n, out);
            return RT_ERR;
        }
    return RT_OK;
}

RT_API int rt_variant_holds(rt_ctx *ctx, int type, const rt_value *from, rt_value *out)
{
    const rt_variant_def *v = &ctx->prog->types[type].variants[rt_variant_number(from)];
    int n = rt_variant_components(ctx->prog, v);
    for (int i = 0; i < n; i++) {
        out[i] = from[v->places[i]];
        rt_ref(out[i].mem);
    }
    return n;
}

RT_API bool rt_type_holds_sum(const rt_program *prog, int type)
{
    const rt_type_def *t = &prog->types[type];
    if (t->kind == RT_KIND_SUM || (t->kind == RT_KIND_OPAQUE && t->elem >= 0))
        return t->kind == RT_KIND_SUM || rt_type_holds_sum(prog, t->elem);
    for (int i = 0; i < t->n_fields; i++)
        if (rt_type_holds_sum(prog, t->fields[i].type))
            return true;
    return false;
}

/* --- Values from outside --- */

/* Part of a value from outside: element `at` of the arrays h, which have so many dimensions in
 * front. `room` is for more of them: what a variant holds is less than the sum. */
typedef struct {
    const rt_hvalue **h, **room;
    int outer;
    int64_t at;
} rt_outside;

static int rt_check_part(rt_ctx *ctx, int type, rt_outside p);

static int rt_check_fields(rt_ctx *ctx, const rt_type_def *t, rt_outside p)
{
    int rc = RT_OK;
    for (int i = 0; i < t->n_fields && rc == RT_OK; i++) {
        rc = rt_check_part(ctx, t->fields[i].type, p);
        p.h += rt_type_components(ctx->prog, t->fields[i].type);
    }
    return rc;
}

/* Elements without sums differ in nothing that is looked at here: one stands for all. */
static int rt_check_elements(rt_ctx *ctx, int type, rt_outside p)
{
    const rt_type_def *t = &ctx->prog->types[type];
    int n = rt_type_components(ctx->prog, type), rc = RT_OK;
    for (int k = 1; k < n && rc == RT_OK; k++)
        rc = rt_same_sizes(ctx, t, p.h[0]->shape + p.outer, p.h[k]->shape + p.outer);
    if (rc || t->elem < 0)
        return rc;
    int64_t count = 1;
    for (int i = p.outer; i < p.outer + t->rank && rt_type_holds_sum(ctx->prog, t->elem); i++)
        count *= p.h[0]->shape[i];
    rt_outside e = p;
    e.outer += t->rank;
    for (int64_t i = 0; i < count && rc == RT_OK; i++) {
        e.at = p.at * count + i;
        rc = rt_check_part(ctx, t->elem, e);
    }
    return rc;
}

static int rt_check_sum(rt_ctx *ctx, const rt_type_def *t, rt_outside p)
{
    rt_prim prim = p.h[0]->prim;
    int64_t k = rt_int_get(prim, (const char *)p.h[0]->data + p.at * rt_prim_size(prim));
    if (k < 0 || k >= t->n_variants)
        return rt_error_set(ctx, "%s: a number is that of no variant", t->name);
    const rt_variant_def *v = &t->variants[k];
    int n = rt_variant_components(ctx->prog, v), rc = RT_OK;
    for (int i = 0; i < n; i++)
        p.room[i] = p.h[v->places[i]];
    rt_outside held = {p.room, p.room + n, p.outer, p.at};
    for (int i = 0; i < v->n && rc == RT_OK; i++) {
        rc = rt_check_part(ctx, v->types[i], held);
        held.h += rt_type_components(ctx->prog, v->types[i]);
    }
    return rc;
}

/* Is each sum in it one of its variants, and are the arrays that are one array to callers of the
 * same sizes? */
static int rt_check_part(rt_ctx *ctx, int type, rt_outside p)
{
    const rt_type_def *t = &ctx->prog->types[type];
    switch (t->kind) {
    case RT_KIND_RECORD: return rt_check_fields(ctx, t, p);
    case RT_KIND_OPAQUE: return rt_check_elements(ctx, type, p);
    case RT_KIND_SUM: return rt_check_sum(ctx, t, p);
    case RT_KIND_PRIM:
    case RT_KIND_ARRAY: break;
    }
    return RT_OK;
}

static int rt_check_value(rt_ctx *ctx, int type, int n, const rt_hvalue *h)
{
    size_t most = (size_t)n * (size_t)(n + 1);
    const rt_hvalue **all = rt_grow(NULL, most * sizeof *all);
    for (int i = 0; i < n; i++)
        all[i] = &h[i];
    int rc = rt_check_part(ctx, type, (rt_outside){all, all + n, 0, 0});
    free(all);
    return rc;
}

RT_API int rt_take_value(rt_ctx *ctx, int type, rt_hvalue *h, rt_value *out)
{
    int n = rt_type_components(ctx->prog, type);
    int rc = rt_check_value(ctx, type, n, h);
    for (int i = 0; i < n && rc == RT_OK; i++)
        rc = h[i].data ? rt_upload(ctx, &h[i], &out[i]) : RT_OK;
    for (int i = 0; i < n; i++)
        rt_hvalue_free(&h[i]);
    if (rc)
        rt_values_release(ctx, n, out);
    return rc;
}
