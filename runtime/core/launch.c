/* Launching kernels, waiting, and failures inside kernels. */
#include "runtime/core/internal.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
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
    int slot; /* the first one */
    rt_dev_error e = rt_small_buffer(ctx, &ctx->failure_page, &slot, &ctx->failure);
    return rt_dev_check(ctx, e, "failure buffer") ? RT_ERR : rt_failure_reset(ctx);
}

RT_API int rt_ask_failure(rt_ctx *ctx)
{
    if (!ctx->unchecked)
        return RT_OK;
    ctx->asked = true;
    ctx->answer_at = RT_FETCH_FAILURE;
    rt_dev_error e =
        rt_dev_fetch(ctx->dev, ctx->failure, 0, sizeof(rt_failure), ctx->answer_at, NULL);
    return rt_dev_check(ctx, e, "failure buffer");
}

RT_API int rt_answer_failure(rt_ctx *ctx)
{
    int64_t args[8];
    rt_failure found;
    const rt_failure *f = &found;
    if (!ctx->asked)
        return RT_OK;
    rt_dev_error e = rt_dev_fetched(ctx->dev, ctx->answer_at, sizeof found, &found);
    if (rt_dev_check(ctx, e, "failure buffer"))
        return RT_ERR;
    ctx->asked = ctx->unchecked = false;
    if (f->site == RT_UNMET) {
        rt_failure_reset(ctx);
        return rt_error_set(
            ctx, "the work-groups of a kernel waited for each other in vain: this device does "
                 "not run as many at once as it should");
    }
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
    ctx->steps.waits++;
    if (rt_steps_run(ctx))
        return RT_ERR;
    if (!ctx->unchecked)
        return rt_dev_check(ctx, rt_dev_finish(ctx->dev), "waiting for the device");
    return rt_ask_failure(ctx) ? RT_ERR : rt_answer_failure(ctx);
}

/* --- Launches --- */

static bool rt_is_set(const rt_kernel *k, int at, const rt_arg_state *now)
{
    const rt_arg_state *set = &k->set[at];
    return set->bits == now->bits && set->size == now->size && set->kind == now->kind;
}

/* Sets argument `at`. `buffer`: that of a BUFFER. */
static rt_dev_error rt_set_arg(rt_ctx *ctx, rt_kernel *k, int at, const rt_arg_state *now,
                               rt_dev_buffer *buffer)
{
    rt_dev_error e = now->kind == RT_SET_BUFFER
                         ? rt_dev_arg_buffer(ctx->dev, k->kernel, at, buffer)
                         : rt_dev_arg(ctx->dev, k->kernel, at, now->size,
                                      now->kind == RT_SET_VALUE ? &now->bits : NULL);
    k->set[at] = e.status == RT_DEV_OK ? *now : (rt_arg_state){0};
    return e;
}

/* The two arguments of a kernel that knows of failures, and those of a heap: what is not set yet.
 */
static rt_dev_error rt_set_pair(rt_ctx *ctx, rt_kernel *k, int at, rt_dev_buffer *buffer,
                                int64_t number, size_t size, const void *value)
{
    rt_arg_state block = {.kind = RT_SET_BUFFER, .bits = (uint64_t)number};
    rt_arg_state scalar = {.kind = RT_SET_VALUE, .size = size};
    rt_dev_error e = {RT_DEV_OK, "", ""};
    memcpy(&scalar.bits, value, size);
    if (!rt_is_set(k, at, &block))
        e = rt_set_arg(ctx, k, at, &block, buffer);
    if (e.status == RT_DEV_OK && !rt_is_set(k, at + 1, &scalar))
        e = rt_set_arg(ctx, k, at + 1, &scalar, NULL);
    return e;
}

/* What an argument other than a heap is to be set to. */
static rt_arg_state rt_wanted(const rt_kernel *k, int i, const rt_arg *a)
{
    rt_arg_state now = {.kind = RT_SET_BUFFER, .bits = a->mem ? (uint64_t)a->mem->number : 0};
    if (a->kind == RT_ARG_SCALAR || a->kind == RT_ARG_FLOAT) {
        now = (rt_arg_state){.kind = RT_SET_VALUE, .size = a->size};
        memcpy(&now.bits, &a->scalar, a->size);
    } else if (a->kind == RT_ARG_LOCAL) {
        size_t bytes = rt_is_own_local(k, i, a) ? RT_LOCAL_ALIGN : rt_local_size(a);
        now = (rt_arg_state){.kind = RT_SET_LOCAL, .size = bytes};
    }
    return now;
}

RT_API int32_t rt_launch_number(rt_ctx *ctx, const rt_kernel *k, const rt_mem *heap)
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

/* Sets the arguments that changed; *bad is the first one that was not taken, or -1. */
static rt_dev_error rt_set_args(rt_ctx *ctx, rt_kernel *k, int n_args, const rt_arg *args,
                                const rt_mem *heap, int64_t chunk, int *bad)
{
    enum { PAIR = 2, MORE = 3 }; /* for failures two, for the heap one more */
    int at = 0;
    rt_dev_error e = {RT_DEV_OK, "", ""};
    rt_set_room(k, n_args + MORE);
    *bad = -1;
    if (k->def->failure) {
        int32_t launch = rt_launch_number(ctx, k, heap);
        e = rt_set_pair(ctx, k, at, ctx->failure, 0, sizeof launch, &launch);
        at += PAIR;
    }
    for (int i = 0; i < n_args && e.status == RT_DEV_OK; i++) {
        const rt_arg *a = &args[i];
        *bad = i;
        if (a->kind == RT_ARG_HEAP) {
            e = rt_set_pair(ctx, k, at, heap->buf, heap->number, sizeof chunk, &chunk);
            at += PAIR;
            continue;
        }
        rt_arg_state now = rt_wanted(k, i, a);
        if (!rt_is_set(k, at, &now))
            e = rt_set_arg(ctx, k, at, &now, a->mem ? a->mem->buf : ctx->failure);
        at++;
    }
    return e;
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
                                    const size_t *local, rt_late *late)
{
    rt_dev_event **event = rt_profile_event(ctx, k->id),
                 **own = late->on && !event ? &late->event : NULL;
    rt_dev_error e = rt_dev_launch(ctx->dev, k->kernel, n_dims, global, local, event ? event : own);
    if (e.status != RT_DEV_OK && event)
        ctx->n_pending--;
    return e;
}

RT_API int rt_enqueue(rt_ctx *ctx, rt_kernel *k, int n_dims, const size_t *global,
                      const size_t *local, int n_args, const rt_arg *args, rt_mem *heap,
                      int64_t chunk)
{
    int bad;
    char what[512];
    rt_late late;
    if (rt_limit_launch(ctx, k) || rt_late_begin(ctx, k, n_dims, local, &late))
        return RT_ERR;
    rt_dev_error e = rt_set_args(ctx, k, n_args, args, heap, chunk, &bad);
    bool refused = bad >= 0 && args[bad].kind == RT_ARG_LOCAL;
    if (e.status == RT_DEV_OK) {
        e = rt_enqueue_once(ctx, k, n_dims, global, local, &late);
        if (e.status == RT_DEV_REFUSED && ctx->free_blocks && ctx->steps.n == 0) {
            /* Drivers that reserve memory late fail here. */
            rt_free_dead_blocks(ctx);
            rt_dev_finish(ctx->dev);
            e = rt_enqueue_once(ctx, k, n_dims, global, local, &late);
        }
        refused = e.status == RT_DEV_REFUSED;
    }
    int late_rc = rt_late_end(ctx, k, &late);
    if (e.status == RT_DEV_OK)
        return rt_limit_launched(ctx, k) ? RT_ERR : late_rc;
    rt_launch_text(k, n_dims, global, local, what, sizeof what);
    rt_dev_check(ctx, e, what);
    if (!refused)
        return RT_ERR;
    int64_t group = 1;
    for (int i = 0; i < n_dims; i++)
        group *= (int64_t)local[i];
    rt_kernel_refused(ctx, k, group, rt_local_bytes(k, n_args, args), e.name);
    return RT_REFUSED;
}

RT_API double rt_count(const rt_arg *args, int i)
{
    int64_t n = args[i].size == sizeof(int64_t) ? args[i].scalar.i64 : args[i].scalar.i32;
    return n < 0 ? INFINITY : n == 0 ? 1.0 : (double)n;
}

/* Are 32 bits enough for the indices of a launch? */
static bool rt_is_narrow(const rt_kernel_def *def, int n_dims, const size_t *global,
                         const size_t *local, const rt_arg *args)
{
    int64_t groups[3] = {1, 1, 1}, size[3] = {1, 1, 1};
    rt_narrow *narrow = def->narrow;
    for (int i = 0; i < n_dims; i++) {
        groups[i] = (int64_t)(global[i] / local[i]);
        size[i] = (int64_t)local[i];
    }
    return !narrow || narrow(args, groups, size);
}

/* Builds the kernel; makes groups smaller that may be, if the device cannot run them as they are.
 * RT_REFUSED: not on this device, or not in this shape. */
static int rt_prepare(rt_ctx *ctx, rt_kernel *k, int n_dims, size_t *local, int n_args,
                      const rt_arg *args)
{
    int64_t group = 1, local_bytes = rt_local_bytes(k, n_args, args);
    int rc = rt_build(ctx, k);
    bool may_shrink = rc == RT_OK && n_dims == 1 && !k->def->fixed_group && !k->numbers;
    while (may_shrink && (int64_t)local[0] > k->max_group && local[0] % 2 == 0)
        local[0] /= 2;
    for (int i = 0; i < n_dims; i++)
        group *= (int64_t)local[i];
    if (rc || rt_kernel_fits(ctx, k, group, local_bytes))
        return rc;
    rt_error_set(ctx,
                 "kernel %s (%s) cannot run in groups of %" PRId64 " work-items with %" PRId64
                 " bytes of local memory on this device",
                 k->def->name, k->def->prov, group, local_bytes + k->own_local);
    return RT_REFUSED;
}

/* Of a variant what is built for this launch, if that fits; else itself. */
static int rt_choose_kernel(rt_ctx *ctx, rt_kernel **k, int n_dims, size_t *local, int n_args,
                            const rt_arg *args)
{
    rt_kernel *sized = rt_sized(ctx, *k, n_dims, local, args);
    if (sized != *k && rt_prepare(ctx, sized, n_dims, local, n_args, args) == RT_OK) {
        *k = sized;
        return RT_OK;
    }
    if (sized != *k)
        rt_sized_give_up(ctx, *k);
    return rt_prepare(ctx, *k, n_dims, local, n_args, args);
}

/* A compute unit has registers for the largest group that the driver allows, so for as many smaller
 * ones as that has work-items, and the local memory that one group may have. */
RT_API int64_t rt_groups_at_once(const rt_ctx *ctx, const rt_kernel *k, int64_t group,
                                 int64_t local)
{
    enum { MOST_OF_UNIT = 16 }; /* of NVIDIA's compute units, those that take the fewest */
    int64_t bytes = k->own_local + local, n = k->max_group / group;
    if (!ctx->device.groups_wait)
        return 1;
    if (bytes > 0 && ctx->device.local_memory / bytes < n)
        n = ctx->device.local_memory / bytes;
    n = n < 1 ? 1 : n < MOST_OF_UNIT ? n : MOST_OF_UNIT;
    return n * ctx->device.units;
}

RT_API int rt_launch_once(rt_ctx *ctx, int kernel, int n_dims, const int64_t *global,
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
    const rt_kernel_def *def = ctx->kernels[kernel].def;
    rt_kernel *k = rt_variant(ctx, kernel, !rt_is_narrow(def, n_dims, g, l, args));
    k->run = ctx->run;
    int rc = rt_choose_kernel(ctx, &k, n_dims, l, n_args, args);
    if (rc)
        return rc;
    if (!heap && rt_may_note(ctx, k, n_dims, (int64_t)l[0], n_args, args))
        return rt_step_note(ctx, k, kernel, (int64_t)(g[0] / l[0]), (int64_t)l[0], n_args, args);
    if ((rc = rt_steps_run(ctx)))
        return rc;
    if (ctx->launch == INT_MAX - 2) {
        /* Numbers start again: nothing before may count as "a later launch". */
        if ((rc = rt_sync(ctx)))
            return rc;
        ctx->launch = 0;
    }
    rc = rt_enqueue(ctx, k, n_dims, g, l, n_args, args, heap, chunk);
    if (rc == RT_OK && k->def->may_fail)
        ctx->unchecked = true;
    return rc;
}

RT_API int rt_launch(rt_ctx *ctx, int kernel, int n_dims, const int64_t *global,
                     const int64_t *local, int n_args, const rt_arg *args)
{
    const rt_kernel_def *def = ctx->kernels[kernel].def;
    bool heap = false;
    for (int i = 0; i < n_dims; i++) {
        if (global[i] == 0)
            return RT_OK;
        if (global[i] < 0 || global[i] > RT_MAX_BYTES || local[i] <= 0)
            return rt_error_set(
                ctx, "kernel %s (%s): a launch of %" PRId64 " work-items in groups of %" PRId64,
                def->name, def->prov, global[i], local[i]);
    }
    for (int i = 0; i < n_args; i++)
        heap = heap || args[i].kind == RT_ARG_HEAP;
    int rc = heap ? rt_steps_run(ctx) : rt_loop_launches(ctx, def, n_args, args, global[0]);
    if (rc == RT_OK)
        rc = heap ? rt_launch_heap(ctx, &ctx->kernels[kernel], n_dims, global, local, n_args, args)
                  : rt_launch_once(ctx, kernel, n_dims, global, local, n_args, args, NULL, 0);
    if (rc)
        rt_loop_leave(ctx);
    return rc;
}
