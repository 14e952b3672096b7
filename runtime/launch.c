/* Launching kernels, waiting, and failures inside kernels. */
#include "runtime/internal.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

/* --- Failures --- */

/* Says that nothing has failed. `launch` is larger than any launch's number, see mf_failed_before.
 */
RT_API int rt_failure_reset(rt_ctx *ctx)
{
    static const rt_failure none = {.site = -1, .launch = INT_MAX};
    rt_dev_error e = rt_dev_write(ctx->dev, ctx->failure, 0, sizeof none, &none, NULL);
    return rt_dev_check(ctx, e, "failure buffer");
}

RT_API int rt_failure_init(rt_ctx *ctx)
{
    rt_dev_error e = rt_dev_alloc(ctx->dev, sizeof(rt_failure), 0, &ctx->failure);
    return rt_dev_check(ctx, e, "failure buffer") ? RT_ERR : rt_failure_reset(ctx);
}

/* Reads the failure buffer, now or when the queue is waited for. */
static int rt_read_failure(rt_ctx *ctx, bool wait)
{
    ctx->asked = true;
    rt_dev_error e = rt_dev_read(ctx->dev, ctx->failure, 0, sizeof ctx->found_failure,
                                 &ctx->found_failure, wait, NULL);
    return rt_dev_check(ctx, e, "failure buffer");
}

RT_API int rt_ask_failure(rt_ctx *ctx)
{
    return ctx->unchecked ? rt_read_failure(ctx, false) : RT_OK;
}

RT_API int rt_answer_failure(rt_ctx *ctx)
{
    int64_t args[8];
    const rt_failure *f = &ctx->found_failure;
    if (!ctx->asked)
        return RT_OK;
    ctx->asked = ctx->unchecked = false;
    if (f->site < 0)
        return RT_OK;
    for (int i = 0; i < 8; i++)
        args[i] = f->args[i];
    if (rt_failure_reset(ctx))
        return RT_ERR;
    return rt_fail(ctx, f->site, args);
}

RT_API int rt_sync(rt_ctx *ctx)
{
    if (!ctx->unchecked)
        return rt_dev_check(ctx, rt_dev_finish(ctx->dev), "waiting for the device");
    return rt_read_failure(ctx, true) ? RT_ERR : rt_answer_failure(ctx);
}

/* --- Launches --- */

/* Bytes of local memory for an argument. */
static size_t rt_local_size(const rt_arg *a)
{
    return a->size ? a->size : 8;
}

/* Sets argument `at` to what `now` says, unless it is that already. `value`: bytes, or NULL. */
static rt_dev_error rt_set_arg(rt_kernel *k, int at, rt_arg_state now, const void *value,
                               rt_dev_buffer *buffer)
{
    rt_arg_state *set = &k->set[at];
    if (set->kind == now.kind && set->size == now.size && set->bits == now.bits)
        return (rt_dev_error){RT_DEV_OK, "", ""};
    rt_dev_error e = buffer ? rt_dev_arg_buffer(k->kernel, at, buffer)
                            : rt_dev_arg(k->kernel, at, now.size, value);
    *set = e.status == RT_DEV_OK ? now : (rt_arg_state){0};
    return e;
}

static rt_dev_error rt_set_value(rt_kernel *k, int at, size_t size, const void *value)
{
    rt_arg_state now = {.kind = RT_SET_VALUE, .size = size};
    memcpy(&now.bits, value, size);
    return rt_set_arg(k, at, now, value, NULL);
}

static rt_dev_error rt_set_local(rt_kernel *k, int at, size_t bytes)
{
    return rt_set_arg(k, at, (rt_arg_state){.kind = RT_SET_LOCAL, .size = bytes}, NULL, NULL);
}

/* NULL: the failure buffer. */
static rt_dev_error rt_set_buffer(rt_ctx *ctx, rt_kernel *k, int at, const rt_mem *m)
{
    rt_arg_state now = {.kind = RT_SET_BUFFER, .bits = m ? (uint64_t)m->number : 0};
    return rt_set_arg(k, at, now, NULL, m ? m->buf : ctx->failure);
}

/* The number of a launch: larger than that of any before which could fail. Only those that can fail
 * themselves need one of their own; for others the argument stays what it is. */
static int32_t rt_launch_number(rt_ctx *ctx, const rt_kernel *k, const rt_mem *heap)
{
    bool own = k->def->may_fail || heap;
    ctx->launch += own;
    return ctx->launch + !own;
}

/* Makes room for what is known of so many arguments. */
static void rt_set_room(rt_kernel *k, int n)
{
    if (n <= k->n_set)
        return;
    k->set = rt_grow(k->set, (size_t)n * sizeof *k->set);
    memset(k->set + k->n_set, 0, (size_t)(n - k->n_set) * sizeof *k->set);
    k->n_set = n;
}

/* Sets the arguments; *bad is the first one that was not taken, or -1. */
static rt_dev_error rt_set_args(rt_ctx *ctx, rt_kernel *k, int n_args, const rt_arg *args,
                                const rt_mem *heap, int64_t chunk, int *bad)
{
    enum { MORE = 3 }; /* the failure buffer, the number, bytes of heap */
    int at = 0;
    rt_dev_error e = {RT_DEV_OK, "", ""};
    rt_set_room(k, n_args + MORE);
    *bad = -1;
    if (k->def->failure) {
        int32_t launch = rt_launch_number(ctx, k, heap);
        e = rt_set_buffer(ctx, k, at++, NULL);
        if (e.status == RT_DEV_OK)
            e = rt_set_value(k, at++, sizeof launch, &launch);
    }
    for (int i = 0; i < n_args && e.status == RT_DEV_OK; i++) {
        const rt_arg *a = &args[i];
        switch (a->kind) {
        case RT_ARG_SCALAR: e = rt_set_value(k, at++, a->size, &a->scalar); break;
        case RT_ARG_LOCAL: e = rt_set_local(k, at++, rt_local_size(a)); break;
        case RT_ARG_MEM:
        case RT_ARG_UPDATED: e = rt_set_buffer(ctx, k, at++, a->mem); break;
        case RT_ARG_HEAP:
            e = rt_set_buffer(ctx, k, at++, heap);
            if (e.status == RT_DEV_OK)
                e = rt_set_value(k, at++, sizeof chunk, &chunk);
            break;
        }
        *bad = i;
    }
    return e;
}

static int64_t rt_local_bytes(int n_args, const rt_arg *args)
{
    int64_t n = 0;
    for (int i = 0; i < n_args; i++)
        if (args[i].kind == RT_ARG_LOCAL)
            n += (int64_t)rt_local_size(&args[i]);
    return n;
}

/* "kernel main_map_3 (prog.sf:12:7), 1024 work-items in groups of 32x2" */
static void rt_launch_text(const rt_kernel *k, int n_dims, const size_t *global,
                           const size_t *local, char *buf, size_t n)
{
    size_t at = (size_t)snprintf(buf, n, "kernel %s (%s), ", k->def->name, k->def->prov);
    for (int i = 0; i < n_dims && at < n; i++)
        at += (size_t)snprintf(buf + at, n - at, "%s%zu", i ? "x" : "", global[i]);
    for (int i = 0; i < n_dims && at < n; i++)
        at += (size_t)snprintf(buf + at, n - at, "%s%zu", i ? "x" : " work-items in groups of ",
                               local[i]);
}

static rt_dev_error rt_enqueue_once(rt_ctx *ctx, rt_kernel *k, int n_dims, const size_t *global,
                                    const size_t *local)
{
    rt_dev_event **event = rt_profile_event(ctx, (int)(k - ctx->kernels));
    rt_dev_error e = rt_dev_launch(ctx->dev, k->kernel, n_dims, global, local, event);
    if (e.status != RT_DEV_OK && event)
        ctx->n_pending--;
    return e;
}

static int rt_enqueue(rt_ctx *ctx, rt_kernel *k, int n_dims, const size_t *global,
                      const size_t *local, int n_args, const rt_arg *args, rt_mem *heap,
                      int64_t chunk)
{
    int bad;
    char what[512];
    rt_dev_error e = rt_set_args(ctx, k, n_args, args, heap, chunk, &bad);
    bool refused = bad >= 0 && args[bad].kind == RT_ARG_LOCAL;
    if (e.status == RT_DEV_OK) {
        e = rt_enqueue_once(ctx, k, n_dims, global, local);
        if (e.status == RT_DEV_REFUSED && ctx->free_blocks) {
            /* Drivers that reserve memory late fail here. */
            rt_free_dead_blocks(ctx);
            rt_dev_finish(ctx->dev);
            e = rt_enqueue_once(ctx, k, n_dims, global, local);
        }
        refused = e.status == RT_DEV_REFUSED;
    }
    if (e.status == RT_DEV_OK)
        return RT_OK;
    rt_launch_text(k, n_dims, global, local, what, sizeof what);
    rt_dev_check(ctx, e, what);
    if (!refused)
        return RT_ERR;
    int64_t group = 1;
    for (int i = 0; i < n_dims; i++)
        group *= (int64_t)local[i];
    rt_kernel_refused(ctx, k, group, rt_local_bytes(n_args, args), e.name);
    return RT_REFUSED;
}

RT_API int rt_launch_once(rt_ctx *ctx, rt_kernel *k, int n_dims, const int64_t *global,
                          const int64_t *local, int n_args, const rt_arg *args, rt_mem *heap,
                          int64_t chunk)
{
    const size_t most = RT_DEV_MOST_ITEMS; /* kernels stride through what is left */
    size_t g[3], l[3];
    for (int i = 0; i < n_dims; i++) {
        l[i] = (size_t)local[i];
        g[i] = ((size_t)global[i] + l[i] - 1) / l[i] * l[i];
        if (g[i] > most)
            g[i] = most / l[i] * l[i];
    }
    if (ctx->launch == INT_MAX - 2) {
        /* Numbers start again: nothing before may count as "a later launch". */
        int rc = rt_sync(ctx);
        if (rc)
            return rc;
        ctx->launch = 0;
    }
    int rc = rt_enqueue(ctx, k, n_dims, g, l, n_args, args, heap, chunk);
    if (rc == RT_OK && k->def->may_fail)
        ctx->unchecked = true;
    return rc;
}

RT_API int rt_launch_kernel(rt_ctx *ctx, rt_kernel *k, int n_dims, const int64_t *global,
                            const int64_t *local, int n_args, const rt_arg *args)
{
    int64_t group = 1;
    bool heap = false;
    for (int i = 0; i < n_dims; i++) {
        if (global[i] == 0)
            return RT_OK;
        if (global[i] < 0 || global[i] > RT_MAX_BYTES || local[i] <= 0)
            return rt_error_set(
                ctx, "kernel %s (%s): a launch of %" PRId64 " work-items in groups of %" PRId64,
                k->def->name, k->def->prov, global[i], local[i]);
        group *= local[i];
    }
    int rc = rt_build(ctx, k);
    if (rc)
        return rc;
    int64_t local_bytes = rt_local_bytes(n_args, args);
    if (!rt_kernel_fits(ctx, k, group, local_bytes)) {
        rt_error_set(ctx,
                     "kernel %s (%s) cannot run in groups of %" PRId64 " work-items with %" PRId64
                     " bytes of local memory on this device",
                     k->def->name, k->def->prov, group, local_bytes + k->own_local);
        return RT_REFUSED;
    }
    for (int i = 0; i < n_args; i++)
        heap = heap || args[i].kind == RT_ARG_HEAP;
    return heap ? rt_launch_heap(ctx, k, n_dims, global, local, n_args, args)
                : rt_launch_once(ctx, k, n_dims, global, local, n_args, args, NULL, 0);
}

RT_API int rt_launch(rt_ctx *ctx, int kernel, int n_dims, const int64_t *global,
                     const int64_t *local, int n_args, const rt_arg *args)
{
    return rt_launch_kernel(ctx, &ctx->kernels[kernel], n_dims, global, local, n_args, args);
}
