/* The parts of a call: the time from one comparison of a threshold to the next one belongs to the
 * first one's threshold, since a comparison stands where its versions are chosen. Of two calls with
 * the same comparisons up to a nest, the difference between the nest's parts is that between its
 * versions, whatever nests beside it took.
 *
 * Only if asked for, since the device is waited for before each comparison. Steps in one launch
 * (steps.c) cannot be told apart: a call that makes some has no parts. */
#include "runtime/core/internal.h"

#include <stdlib.h>
#include <string.h>

RT_API double rt_call_gone(const rt_ctx *ctx)
{
    return rt_seconds() - ctx->limit.start - (ctx->build_seconds - ctx->limit.built);
}

RT_API void rt_parts_wanted(rt_ctx *ctx, bool wanted)
{
    rt_parts *p = &ctx->parts;
    p->wanted = wanted;
    if (wanted && !p->seconds)
        p->seconds = rt_grow(NULL, (size_t)(ctx->prog->n_params + 1) * sizeof *p->seconds);
}

/* What was going on goes on no more. */
static void rt_part_end(rt_ctx *ctx)
{
    rt_parts *p = &ctx->parts;
    double gone = rt_call_gone(ctx),
           *seconds = &p->seconds[p->param < 0 ? ctx->prog->n_params : p->param];
    *seconds = (*seconds < 0 ? 0 : *seconds) + gone - p->since;
    p->since = gone;
}

RT_API void rt_parts_begin(rt_ctx *ctx)
{
    rt_parts *p = &ctx->parts;
    p->there = p->wanted;
    p->param = -1; /* nothing was compared yet */
    p->since = 0;
    for (int i = 0; i <= ctx->prog->n_params && p->wanted; i++)
        p->seconds[i] = -1;
}

RT_API void rt_part(rt_ctx *ctx, int param)
{
    rt_parts *p = &ctx->parts;
    if (!p->there)
        return;
    p->there =
        rt_dev_finish(ctx->dev).status == RT_DEV_OK; /* whoever waits next says what is wrong */
    rt_part_end(ctx);
    p->param = param;
}

RT_API void rt_parts_end(rt_ctx *ctx)
{
    if (ctx->parts.there)
        rt_part_end(ctx);
}

RT_API void rt_parts_print(const rt_ctx *ctx, FILE *f)
{
    const rt_parts *p = &ctx->parts;
    for (int i = 0; i < ctx->prog->n_params && p->there; i++)
        if (p->seconds[i] >= 0)
            fprintf(f, "part: %s %.3f\n", ctx->prog->params[i].name, p->seconds[i] * 1e6);
}
