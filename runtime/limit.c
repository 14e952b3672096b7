/* A time limit for calls, which the program itself keeps: it looks at the clock between launches, and a call that
 * has taken too long fails like any other, with its data and kernels still there.
 *
 * Launches only queue up, so the clock says little: where a limit is set, the device is waited for after a batch of
 * them. Batches grow as long as one takes a small part of the limit: waiting costs little of a call that is within
 * its limit, and one that is not is left soon after. A launch that is on its way cannot be stopped.
 *
 * Some drivers build a kernel when it is first launched. Where a limit is set, that launch as a whole counts as
 * building, like all builds, which would else be taken for a slow program. */
#include "runtime/internal.h"

RT_API double rt_limit_gone(const rt_ctx *ctx)
{
    return rt_seconds() - ctx->limit.start - (ctx->build_seconds - ctx->limit.built);
}

RT_API void rt_limit_begin(rt_ctx *ctx)
{
    rt_limit *l = &ctx->limit;
    l->start = rt_seconds();
    l->built = ctx->build_seconds;
    l->looked = 0;
    l->batch = l->left = 1;
    l->running = true;
}

RT_API double rt_limit_end(rt_ctx *ctx)
{
    double gone = rt_limit_gone(ctx);
    ctx->limit.running = false;
    return gone > 0 ? gone : 0;
}

static int rt_limit_wait(rt_ctx *ctx)
{
    return rt_dev_check(ctx, rt_dev_finish(ctx->dev), "waiting for the device");
}

/* The device is waited for after the next batch. */
static void rt_limit_next(rt_limit *l, double gone)
{
    enum { GROWTH = 4, PARTS = 8, MOST = 1 << 20 }; /* a batch is to take one of so many parts of the limit */
    double took = gone - l->looked, part = l->seconds / PARTS;
    if (took * GROWTH <= part && l->batch < MOST)
        l->batch *= GROWTH;
    else if (took > part)
        l->batch = l->batch > GROWTH ? l->batch / GROWTH : 1;
    l->looked = gone;
    l->left = l->batch;
}

RT_API int rt_limit_launch(rt_ctx *ctx, const rt_kernel *k)
{
    rt_limit *l = &ctx->limit;
    bool builds = !k->launched && ctx->device.costly_programs;
    if (!l->running || l->seconds <= 0 || (--l->left > 0 && !builds))
        return RT_OK;
    if (rt_limit_wait(ctx))
        return RT_ERR;
    double gone = rt_limit_gone(ctx);
    if (gone > l->seconds) {
        l->over = true;
        return rt_error_set(ctx, "stopped after %.3g s: the time limit is %.3g s", gone, l->seconds);
    }
    if (l->left <= 0)
        rt_limit_next(l, gone);
    l->building = builds ? rt_seconds() : 0;
    return RT_OK;
}

RT_API int rt_limit_launched(rt_ctx *ctx, rt_kernel *k)
{
    rt_limit *l = &ctx->limit;
    k->launched = true;
    if (l->building == 0)
        return RT_OK;
    int rc = rt_limit_wait(ctx);
    ctx->build_seconds += rt_seconds() - l->building;
    l->building = 0;
    return rc;
}
