/* The boundary between host and device: types and their components, upload, download, calls. */
#include "runtime/values/boundary.h"

#include <string.h>

RT_API int rt_type_components(const rt_program *prog, int type)
{
    const rt_type_def *t = &prog->types[type];
    if (t->kind == RT_KIND_PRIM || t->kind == RT_KIND_ARRAY)
        return 1;
    if (t->kind == RT_KIND_OPAQUE && t->elem >= 0)
        return rt_type_components(prog, t->elem);
    int n = t->n_components;
    for (int i = 0; i < t->n_fields; i++)
        n += rt_type_components(prog, t->fields[i].type);
    return n;
}

RT_API void rt_type_component(const rt_program *prog, int type, int k, rt_prim *prim, int *rank)
{
    const rt_type_def *t = &prog->types[type];
    if (t->kind == RT_KIND_PRIM || t->kind == RT_KIND_ARRAY) {
        *prim = t->prim;
        *rank = t->kind == RT_KIND_PRIM ? 0 : t->rank;
    } else if (t->kind == RT_KIND_OPAQUE && t->elem >= 0) {
        rt_type_component(prog, t->elem, k, prim, rank);
        *rank += t->rank;
    } else if (t->kind == RT_KIND_SUM) {
        *prim = t->components[k].prim;
        *rank = t->components[k].rank;
    } else {
        for (int i = 0; i < t->n_fields; i++) {
            int n = rt_type_components(prog, t->fields[i].type);
            if (k < n) {
                rt_type_component(prog, t->fields[i].type, k, prim, rank);
                return;
            }
            k -= n;
        }
    }
}

RT_API int rt_type_named(const rt_program *prog, const char *name)
{
    for (int i = 0; i < prog->n_types; i++)
        if (strcmp(prog->types[i].name, name) == 0)
            return i;
    return -1;
}

RT_API int rt_slots_components(const rt_program *prog, int n, const rt_slot_def *slots)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += rt_type_components(prog, slots[i].type);
    return sum;
}

RT_API const bool *rt_parted_in(const rt_program *prog, const rt_entry_def *e)
{
    return prog->ranks ? prog->ranks->parted[e - prog->entries] : NULL;
}

RT_API int rt_upload(rt_ctx *ctx, const rt_hvalue *h, rt_value *v)
{
    memset(v, 0, sizeof *v);
    v->prim = h->prim;
    v->rank = h->rank;
    memcpy(v->shape, h->shape, sizeof v->shape);
    if (h->rank == 0) {
        memcpy(&v->scalar, h->data, (size_t)rt_prim_size(h->prim));
        return RT_OK;
    }
    int64_t bytes = rt_hvalue_bytes(h);
    if (rt_alloc(ctx, &v->mem, bytes, "argument"))
        return RT_ERR;
    if (rt_write(ctx, v->mem, 0, bytes, h->data)) {
        rt_unref(ctx, &v->mem);
        return RT_ERR;
    }
    return RT_OK;
}

RT_API int rt_ask_waited(rt_ctx *ctx)
{
    if (!ctx->waited)
        return RT_OK;
    ctx->waited = false;
    ctx->unchecked = true;
    return rt_sync(ctx);
}

RT_API int rt_download(rt_ctx *ctx, const rt_value *v, rt_hvalue *h)
{
    if (rt_whole(ctx, v) || rt_ask_waited(ctx))
        return RT_ERR;
    if (!rt_hvalue_make(h, v->prim, v->rank, v->shape))
        return rt_error_set(ctx, "out of memory for a result");
    if (v->rank == 0) {
        memcpy(h->data, &v->scalar, (size_t)rt_prim_size(v->prim));
        return RT_OK;
    }
    int64_t bytes = rt_hvalue_bytes(h);
    if (bytes > 0 && rt_read(ctx, v->mem, 0, bytes, h->data)) {
        rt_hvalue_free(h);
        return RT_ERR;
    }
    return RT_OK;
}

RT_API void rt_values_release(rt_ctx *ctx, int n, rt_value *v)
{
    for (int i = 0; i < n; i++)
        rt_unref(ctx, &v[i].mem);
}

RT_API int rt_value_own(rt_ctx *ctx, rt_value *v)
{
    rt_hvalue shape = {.prim = v->prim, .rank = v->rank};
    memcpy(shape.shape, v->shape, sizeof shape.shape);
    int64_t bytes = rt_hvalue_bytes(&shape);
    rt_mem *copy = NULL;
    if (rt_whole(ctx, v) || rt_alloc(ctx, &copy, bytes, "copy of an argument") ||
        rt_copy(ctx, copy, 0, v->mem, 0, bytes)) {
        rt_unref(ctx, &copy);
        return RT_ERR;
    }
    rt_unref(ctx, &v->mem);
    v->mem = copy;
    return RT_OK;
}

/* Copies those consumed arguments that somebody else holds too. */
static int rt_own_consumed(rt_ctx *ctx, const rt_entry_def *e, rt_value *in)
{
    int at = 0;
    for (int i = 0; i < e->n_in; i++) {
        int n = rt_type_components(ctx->prog, e->in[i].type);
        for (int k = at; k < at + n; k++)
            if (e->in[i].unique && in[k].rank > 0 && !rt_sole(in[k].mem) &&
                rt_value_own(ctx, &in[k]))
                return RT_ERR;
        for (int k = at; k < at + n; k++)
            if (e->in[i].unique && in[k].rank > 0)
                rt_content_new(ctx, in[k].mem);
        at += n;
    }
    return RT_OK;
}

/* What the entry reads as a whole becomes whole. What it may have in parts becomes so or whole
 * inside: not of a block that is another argument, too. */
static int rt_in_parts(rt_ctx *ctx, const rt_entry_def *e, rt_value *in)
{
    int n = rt_slots_components(ctx->prog, e->n_in, e->in), rc = RT_OK;
    const bool *may = rt_parted_in(ctx->prog, e);
    int64_t parted_bytes = 0;
    for (int k = 0; k < n && rc == RT_OK; k++) {
        bool parted = may && may[k], twice = false;
        for (int j = 0; parted && j < n; j++)
            twice |= j != k && in[j].mem == in[k].mem;
        if (parted)
            parted_bytes += rt_shape_bytes(in[k].prim, in[k].rank, in[k].shape);
        rc = !parted ? rt_whole(ctx, &in[k]) : twice ? rt_value_own(ctx, &in[k]) : RT_OK;
    }
    ctx->ranks.crowded = parted_bytes > ctx->ranks.memory / 2 && ctx->ranks.memory > 0;
    return rc;
}

/* Makes ready for a call. */
static int rt_call_prepare(rt_ctx *ctx, const rt_entry_def *e, rt_value *in, rt_value *out)
{
    memset(out, 0, (size_t)rt_slots_components(ctx->prog, e->n_out, e->out) * sizeof *out);
    ctx->error[0] = '\0';
    ctx->error_told = false;
    ctx->limit.over = false;
    ctx->ranks.failed = false;
    if (rt_ranks(ctx) > 1 && rt_in_parts(ctx, e, in))
        return RT_ERR;
    return rt_own_consumed(ctx, e, in);
}

/* Runs the entry; whoever calls ends the limit and the parts, behind what else is to count. */
static int rt_call_run(rt_ctx *ctx, const rt_entry_def *e, rt_value *in, rt_value *out)
{
    rt_comparisons_clear(ctx);
    ctx->run++;
    rt_limit_begin(ctx);
    rt_parts_begin(ctx);
    int rc = e->call(ctx, in, out);
    rt_loop_leave(ctx);
    return rc;
}

/* Messages of calls begin in one way, whatever has failed. */
static int rt_call_stopped(rt_ctx *ctx)
{
    char error[sizeof ctx->error];
    memcpy(error, ctx->error, sizeof error);
    if (!ctx->error_told)
        rt_error_set(ctx, "Error: %s", error);
    ctx->error_told = true;
    return RT_ERR;
}

/* What was launched before a failure must not be reported as a failure of the next call. */
static int rt_call_failed(rt_ctx *ctx, const rt_entry_def *e, rt_value *out)
{
    char error[sizeof ctx->error];
    bool told = ctx->error_told;
    memcpy(error, ctx->error, sizeof error);
    rt_steps_drop(ctx);
    (void)rt_sync(ctx);
    memcpy(ctx->error, error, sizeof error);
    ctx->error_told = told;
    int n_out = rt_slots_components(ctx->prog, e->n_out, e->out);
    rt_values_release(ctx, n_out, out);
    memset(out, 0, (size_t)n_out * sizeof *out);
    return rt_call_stopped(ctx);
}

RT_API int rt_call_entry(rt_ctx *ctx, const rt_entry_def *e, rt_value *in, rt_value *out,
                         int64_t *us)
{
    *us = 0;
    if (rt_agree(ctx, rt_call_prepare(ctx, e, in, out) || rt_sync(ctx), RT_AT_BEGIN))
        return rt_call_stopped(ctx);
    int rc = rt_call_run(ctx, e, in, out);
    if (rc == RT_OK)
        rc = rt_sync(ctx);
    rc = rt_agree(ctx, rc, RT_AT_END);
    rt_parts_end(ctx);
    *us = (int64_t)(rt_limit_end(ctx) * 1e6);
    return rc == RT_OK ? RT_OK : rt_call_failed(ctx, e, out);
}

RT_API int rt_call_later(rt_ctx *ctx, const rt_entry_def *e, rt_value *in, rt_value *out)
{
    int64_t us;
    if (rt_ranks(ctx) > 1)
        return rt_call_entry(ctx, e, in, out, &us);
    if (rt_call_prepare(ctx, e, in, out))
        return rt_call_stopped(ctx);
    int rc = rt_call_run(ctx, e, in, out);
    if (rc == RT_OK)
        rc = rt_steps_run(ctx);
    rt_parts_end(ctx);
    (void)rt_limit_end(ctx);
    return rc == RT_OK ? RT_OK : rt_call_failed(ctx, e, out);
}
