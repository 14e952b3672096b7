/* Launches of kernels whose work-items have a heap: a chunk of a global block each, for arrays
 * whose sizes are known only inside. A work-item whose chunk is too small records how large it
 * should have been (mf_heap_alloc in prelude.cl) and ends its work; the launch then counts as an
 * attempt: what it updated in place is put back, chunks grow to at least twice their size, and it
 * is launched again. A kernel starts with the chunks that it last needed. */
#include "runtime/core/internal.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>

enum { HEAP_UNIT = 64, HEAP_FIRST = 64 << 20, HEAP_LEAST = 512, HEAP_MOST_FIRST = 1 << 20 };

/* The shape of an attempt. */
typedef struct {
    int64_t global, local, chunk;
    rt_mem *heap;
} rt_attempt;

static int64_t rt_work_items(const rt_attempt *a)
{
    return (a->global + a->local - 1) / a->local * a->local;
}

/* Makes fewer work-items; false if that is impossible. */
static bool rt_shrink(const rt_kernel *k, rt_attempt *a)
{
    int64_t groups = (a->global + a->local - 1) / a->local;
    if (groups > 1) {
        a->global = groups / 2 * a->local;
    } else if (a->local > 1 && !k->def->fixed_group) {
        a->local /= 2;
        a->global = a->local;
    } else {
        return false;
    }
    return true;
}

/* A block for all chunks, with as many work-items as there is memory for: up to a quarter of the
 * device's memory, or what a single group needs. */
static int rt_heap_block(rt_ctx *ctx, const rt_kernel *k, rt_attempt *a)
{
    int64_t most = ctx->device.memory > 0 ? ctx->device.memory / 4 : INT64_MAX / 4;
    int64_t left = rt_memory_left(ctx);
    most = most < left ? most : left;
    while (rt_work_items(a) > most / a->chunk && rt_shrink(k, a))
        continue;
    for (;;) {
        int64_t items = rt_work_items(a);
        if (items <= INT64_MAX / 4 / a->chunk &&
            rt_alloc(ctx, &a->heap, items * a->chunk, "heap") == RT_OK)
            return RT_OK;
        if (!rt_shrink(k, a))
            break;
    }
    return rt_error_set(
        ctx,
        "%s: out of device memory: arrays whose sizes are known only inside kernel %s "
        "need %" PRId64 " bytes for each of %" PRId64 " threads; the device has %" PRId64
        " bytes, %" PRId64 " of them in use",
        k->def->prov, k->def->name, a->chunk, rt_work_items(a), ctx->device.memory,
        ctx->live_bytes);
}

/* Keeps copies of what the kernel updates (save), or puts them back. */
static int rt_updated_blocks(rt_ctx *ctx, int n_args, const rt_arg *args, rt_mem **saved, bool save)
{
    for (int i = 0; i < n_args; i++) {
        rt_mem *m = args[i].mem;
        if (args[i].kind != RT_ARG_UPDATED || !m)
            continue;
        if (save && rt_alloc(ctx, &saved[i], m->size, "saved"))
            return RT_ERR;
        if (save ? rt_copy(ctx, saved[i], 0, m, 0, m->size)
                 : rt_copy(ctx, m, 0, saved[i], 0, m->size))
            return RT_ERR;
    }
    return RT_OK;
}

/* After an attempt: sets *need to the bytes that its chunks lacked, 0 if they were large enough or
 * if it does not matter, because an earlier launch had failed. What the attempt itself recorded as
 * failed may be its consequence, and comes again if not. */
static int rt_heap_need(rt_ctx *ctx, int64_t *need)
{
    rt_failure f;
    *need = 0;
    if (rt_dev_check(ctx, rt_dev_read(ctx->dev, ctx->failure, 0, sizeof f, &f, NULL),
                     "failure buffer"))
        return RT_ERR;
    if (f.heap_need == 0 || (f.site >= 0 && f.launch < ctx->launch))
        return RT_OK;
    *need = (int64_t)f.heap_need * HEAP_UNIT;
    return rt_failure_reset(ctx);
}

static int rt_attempts(rt_ctx *ctx, rt_kernel *k, int n_dims, rt_attempt a, int n_args,
                       const rt_arg *args, rt_mem **saved)
{
    int rc;
    for (;;) {
        int64_t need;
        a.chunk = k->chunk;
        if ((rc = rt_heap_block(ctx, k, &a)))
            break;
        const int64_t global[3] = {a.global, 1, 1}, local[3] = {a.local, 1, 1};
        rc = rt_launch_once(ctx, k->id, n_dims, global, local, n_args, args, a.heap, a.chunk);
        if (rc || (rc = rt_heap_need(ctx, &need)) || need == 0)
            break;
        if (need > INT64_MAX / 4)
            need = INT64_MAX / 4;
        k->chunk = need > 2 * k->chunk ? need : 2 * k->chunk;
        rt_log(ctx, "Heap of %s: %" PRId64 " bytes a thread were too few, again with %" PRId64 ".",
               k->def->name, a.chunk, k->chunk);
        rt_unref(ctx, &a.heap);
        if ((rc = rt_updated_blocks(ctx, n_args, args, saved, false)))
            break;
    }
    rt_unref(ctx, &a.heap);
    return rc;
}

/* Bytes a work-item at the first launch. MINIFUT_HEAP=BYTES, for tests: so few that heaps grow. */
static int64_t rt_first_chunk(int64_t work_items)
{
    const char *user = getenv("MINIFUT_HEAP");
    int64_t first = user ? strtoll(user, NULL, 10) : HEAP_FIRST / work_items;
    int64_t least = user ? HEAP_UNIT : HEAP_LEAST;
    first = first < least ? least : first > HEAP_MOST_FIRST ? HEAP_MOST_FIRST : first;
    return first / HEAP_UNIT * HEAP_UNIT;
}

/* n_dims is 1: kernels with a heap loop over their work. */
RT_API int rt_launch_heap(rt_ctx *ctx, rt_kernel *k, int n_dims, const int64_t *global,
                          const int64_t *local, int n_args, const rt_arg *args)
{
    rt_attempt a = {.global = global[0], .local = local[0]};
    if (n_dims != 1)
        return rt_error_set(ctx, "kernel %s (%s): a heap and %d dimensions", k->def->name,
                            k->def->prov, n_dims);
    if (k->chunk == 0)
        k->chunk = rt_first_chunk(rt_work_items(&a));
    rt_mem **saved = rt_grow(NULL, (size_t)n_args * sizeof *saved);
    for (int i = 0; i < n_args; i++)
        saved[i] = NULL;
    int rc = rt_updated_blocks(ctx, n_args, args, saved, true);
    if (rc == RT_OK)
        rc = rt_attempts(ctx, k, n_dims, a, n_args, args, saved);
    for (int i = 0; i < n_args; i++)
        rt_unref(ctx, &saved[i]);
    free(saved);
    return rc;
}
