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
    return RT_CL(ctx, "failure buffer",
                 clEnqueueWriteBuffer(ctx->queue, ctx->failure, CL_TRUE, 0, sizeof none, &none, 0,
                                      NULL, NULL));
}

RT_API int rt_failure_init(rt_ctx *ctx)
{
    cl_int err;
    ctx->failure = clCreateBuffer(ctx->context, CL_MEM_READ_WRITE, sizeof(rt_failure), NULL, &err);
    if (rt_cl_check(ctx, err, "clCreateBuffer", "failure buffer"))
        return RT_ERR;
    return rt_failure_reset(ctx);
}

RT_API int rt_ask_failure(rt_ctx *ctx)
{
    if (!ctx->unchecked)
        return RT_OK;
    ctx->asked = true;
    return RT_CL(ctx, "failure buffer",
                 clEnqueueReadBuffer(ctx->queue, ctx->failure, CL_FALSE, 0,
                                     sizeof ctx->found_failure, &ctx->found_failure, 0, NULL,
                                     NULL));
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
    if (rt_ask_failure(ctx) || RT_CL(ctx, "waiting for the device", clFinish(ctx->queue)))
        return RT_ERR;
    return rt_answer_failure(ctx);
}

/* --- Launches --- */

/* Errors that mean "not in this shape" rather than "something is wrong". */
static bool rt_is_refusal(cl_int err)
{
    return err == CL_OUT_OF_RESOURCES || err == CL_INVALID_WORK_GROUP_SIZE ||
           err == CL_INVALID_WORK_ITEM_SIZE || err == CL_MEM_OBJECT_ALLOCATION_FAILURE ||
           err == CL_OUT_OF_HOST_MEMORY;
}

/* Sets the arguments; *bad is the first one that was not taken, or -1. */
static cl_int rt_set_args(rt_ctx *ctx, rt_kernel *k, int n_args, const rt_arg *args, rt_mem *heap,
                          int64_t chunk, int *bad)
{
    cl_int launch = ctx->launch;
    cl_int err = clSetKernelArg(k->kernel, 0, sizeof ctx->failure, &ctx->failure);
    if (err == CL_SUCCESS)
        err = clSetKernelArg(k->kernel, 1, sizeof launch, &launch);
    *bad = -1;
    cl_uint at = 2;
    for (int i = 0; i < n_args && err == CL_SUCCESS; i++) {
        const rt_arg *a = &args[i];
        const cl_mem *buf = a->mem ? &a->mem->buf : &ctx->failure;
        switch (a->kind) {
        case RT_ARG_SCALAR: err = clSetKernelArg(k->kernel, at++, a->size, &a->scalar); break;
        case RT_ARG_LOCAL:
            err = clSetKernelArg(k->kernel, at++, a->size ? a->size : 8, NULL);
            break;
        case RT_ARG_MEM:
        case RT_ARG_UPDATED: err = clSetKernelArg(k->kernel, at++, sizeof(cl_mem), buf); break;
        case RT_ARG_HEAP:
            err = clSetKernelArg(k->kernel, at++, sizeof(cl_mem), &heap->buf);
            if (err == CL_SUCCESS)
                err = clSetKernelArg(k->kernel, at++, sizeof chunk, &chunk);
            break;
        }
        *bad = i;
    }
    return err;
}

static int64_t rt_local_bytes(int n_args, const rt_arg *args)
{
    int64_t n = 0;
    for (int i = 0; i < n_args; i++)
        if (args[i].kind == RT_ARG_LOCAL)
            n += (int64_t)(args[i].size ? args[i].size : 8);
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

static cl_int rt_enqueue_once(rt_ctx *ctx, rt_kernel *k, int n_dims, const size_t *global,
                              const size_t *local)
{
    cl_event *event = rt_profile_event(ctx, (int)(k - ctx->kernels));
    cl_int err = clEnqueueNDRangeKernel(ctx->queue, k->kernel, (cl_uint)n_dims, NULL, global, local,
                                        0, NULL, event);
    if (err != CL_SUCCESS && event)
        ctx->n_pending--;
    return err;
}

static int rt_enqueue(rt_ctx *ctx, rt_kernel *k, int n_dims, const size_t *global,
                      const size_t *local, int n_args, const rt_arg *args, rt_mem *heap,
                      int64_t chunk)
{
    int bad;
    char what[512];
    cl_int err = rt_set_args(ctx, k, n_args, args, heap, chunk, &bad);
    bool refused = err != CL_SUCCESS && bad >= 0 && args[bad].kind == RT_ARG_LOCAL;
    const char *call = "clSetKernelArg";
    if (err == CL_SUCCESS) {
        call = "clEnqueueNDRangeKernel";
        err = rt_enqueue_once(ctx, k, n_dims, global, local);
        if (rt_is_refusal(err) && ctx->free_blocks) {
            /* Drivers that reserve memory late fail here. */
            rt_free_dead_blocks(ctx);
            clFinish(ctx->queue);
            err = rt_enqueue_once(ctx, k, n_dims, global, local);
        }
        refused = rt_is_refusal(err);
    }
    if (err == CL_SUCCESS)
        return RT_OK;
    rt_launch_text(k, n_dims, global, local, what, sizeof what);
    rt_cl_check(ctx, err, call, what);
    if (!refused)
        return RT_ERR;
    int64_t group = 1;
    for (int i = 0; i < n_dims; i++)
        group *= (int64_t)local[i];
    rt_kernel_refused(ctx, k, group, rt_local_bytes(n_args, args), rt_cl_name(err));
    return RT_REFUSED;
}

RT_API int rt_launch_once(rt_ctx *ctx, rt_kernel *k, int n_dims, const int64_t *global,
                          const int64_t *local, int n_args, const rt_arg *args, rt_mem *heap,
                          int64_t chunk)
{
    /* Kernels stride through what is left when the grid is smaller. NVIDIA's get_global_size has
     * 32 bits, with sign. */
    const size_t most = INT_MAX;
    size_t g[3], l[3];
    for (int i = 0; i < n_dims; i++) {
        l[i] = (size_t)local[i];
        g[i] = ((size_t)global[i] + l[i] - 1) / l[i] * l[i];
        if (g[i] > most)
            g[i] = most / l[i] * l[i];
    }
    if (ctx->launch == INT_MAX - 1) {
        /* Numbers start again: nothing before may count as "a later launch". */
        int rc = rt_sync(ctx);
        if (rc)
            return rc;
        ctx->launch = 0;
    }
    ctx->launch++;
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
