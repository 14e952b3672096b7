/* When things happened, for a client that draws it: commands of the server and builds of kernels by
 * the host's clock, launches and transfers by the device's. */
#include "runtime/core/internal.h"

#include <inttypes.h>
#include <stdlib.h>

static const char *const rt_track_names[] = {"host", "build", "kernel", "transfer"};

static void rt_span_add(rt_ctx *ctx, rt_span span)
{
    enum { MOST = 1 << 18 };
    rt_timeline *t = &ctx->timeline;
    if (t->n == MOST) {
        t->dropped++;
        return;
    }
    if (t->n == t->cap) {
        t->cap = t->cap ? 2 * t->cap : 256;
        t->spans = rt_grow(t->spans, (size_t)t->cap * sizeof *t->spans);
    }
    t->spans[t->n++] = span;
}

RT_API double rt_timeline_now(const rt_ctx *ctx)
{
    return ctx->timeline.on ? rt_seconds() : 0;
}

RT_API void rt_timeline_host(rt_ctx *ctx, rt_track track, const char *name, const char *place,
                             double since)
{
    if (ctx->timeline.on && since > 0)
        rt_span_add(ctx, (rt_span){.track = track,
                                   .name = name,
                                   .place = place,
                                   .asked = since,
                                   .ns = (int64_t)((rt_seconds() - since) * 1e9)});
}

RT_API void rt_timeline_device(rt_ctx *ctx, rt_track track, const char *name, const char *place,
                               double asked, int64_t begin, int64_t ns)
{
    if (ctx->timeline.on && asked > 0)
        rt_span_add(ctx, (rt_span){track, name, place, asked, begin, ns});
}

static bool rt_on_device(const rt_span *s)
{
    return s->track == RT_TRACK_KERNEL || s->track == RT_TRACK_TRANSFER;
}

/* What the device's clock is behind the host's: nobody tells, but nothing begins before the host
 * has asked for it, and what is asked of an idle device begins soon. */
static double rt_clock_offset(const rt_timeline *t)
{
    double offset = 0;
    bool first = true;
    for (int i = 0; i < t->n; i++) {
        const rt_span *s = &t->spans[i];
        double behind = s->asked * 1e9 - (double)s->begin;
        if (!rt_on_device(s) || (!first && behind <= offset))
            continue;
        offset = behind;
        first = false;
    }
    return offset;
}

RT_API void rt_timeline_print(const rt_ctx *ctx, FILE *f)
{
    const rt_timeline *t = &ctx->timeline;
    double offset = rt_clock_offset(t);
    for (int i = 0; i < t->n; i++) {
        const rt_span *s = &t->spans[i];
        double begin = rt_on_device(s) ? (double)s->begin + offset : s->asked * 1e9;
        fprintf(f, "%s %.0f %" PRId64 " %s\t%s\n", rt_track_names[s->track], begin, s->ns, s->name,
                s->place);
    }
    if (t->dropped)
        fprintf(f, "dropped %" PRId64 "\n", t->dropped);
}

RT_API void rt_timeline_clear(rt_ctx *ctx)
{
    ctx->timeline.n = 0;
    ctx->timeline.dropped = 0;
}

RT_API void rt_timeline_free(rt_ctx *ctx)
{
    free(ctx->timeline.spans);
}
