/* What a program says of building kernels: that it goes on, in a line that goes away (on a
 * terminal) or stays (-L), and how long it took (-D). A library says nothing of it unasked.
 *
 * Drivers with costly programs build a kernel at its first launch in groups of a size, before it
 * runs. That launch is then waited for by itself, and what it took without the run, which the
 * driver tells, is what building took. */
#include "runtime/core/internal.h"

#include <string.h>

static void rt_tell_building(rt_ctx *ctx)
{
    rt_tell *t = &ctx->tell;
    const char *first = t->missed ? " (first run on this device)" : "";
    if (ctx->config.tell == RT_TELL_LOG && !t->logged)
        rt_log(ctx, "Building kernels%s...", first);
    t->logged = true;
    if (ctx->config.tell == RT_TELL_LINE)
        fprintf(stderr, "building kernels%s...", first);
    fflush(stderr);
}

RT_API void rt_tell_source(rt_ctx *ctx)
{
    ctx->tell.missed = ctx->cache[0] != '\0'; /* what drivers keep for themselves, we do not know */
    rt_tell_building(ctx);
}

RT_API void rt_tell_built(rt_ctx *ctx, double seconds)
{
    ctx->tell.seconds += seconds;
    if (ctx->config.tell == RT_TELL_LINE)
        fputs("\r\033[K", stderr);
    fflush(stderr);
}

RT_API void rt_tell_end(rt_ctx *ctx)
{
    rt_tell *t = &ctx->tell;
    if (t->logged && ctx->config.tell == RT_TELL_LOG)
        rt_log(ctx, "Built kernels in %.2f s.", t->seconds);
    *t = (rt_tell){0};
}

/* --- At a launch --- */

static int rt_late_wait(rt_ctx *ctx)
{
    return rt_dev_check(ctx, rt_dev_finish(ctx->dev), "waiting for the device");
}

RT_API bool rt_late_asks(const rt_ctx *ctx)
{
    return ctx->device.costly_programs &&
           (ctx->config.debug || ctx->config.tell != RT_TELL_NOTHING);
}

RT_API int rt_late_begin(rt_ctx *ctx, rt_kernel *k, int n_dims, const size_t *local, rt_late *l)
{
    size_t group[3] = {1, 1, 1};
    memcpy(group, local, (size_t)n_dims * sizeof *local);
    *l = (rt_late){0};
    if (!rt_late_asks(ctx) || memcmp(k->built_for, group, sizeof group) == 0)
        return RT_OK;
    memcpy(k->built_for, group, sizeof group);
    if (rt_late_wait(ctx))
        return RT_ERR;
    rt_tell_building(ctx);
    *l = (rt_late){.on = true, .start = rt_seconds()};
    return RT_OK;
}

RT_API int rt_late_end(rt_ctx *ctx, const rt_kernel *k, rt_late *l)
{
    if (!l->on)
        return RT_OK;
    int rc = rt_late_wait(ctx);
    int64_t begin, ran = l->event ? rt_dev_event_span(ctx->dev, l->event, &begin) : 0;
    double built = rt_seconds() - l->start - 1e-9 * (double)ran;
    rt_tell_built(ctx, built);
    rt_debug(ctx,
             "The driver built kernel %s (%s) at its launch in groups of %zux%zux%zu in %s%.1f ms",
             k->def->name, k->def->prov, k->built_for[0], k->built_for[1], k->built_for[2],
             ran > 0 ? "" : "at most ", 1e3 * built);
    return rc;
}
