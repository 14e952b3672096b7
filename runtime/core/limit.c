/* A time limit for calls, which the program itself keeps: it looks at the clock between launches,
 * and a call that has taken too long fails like any other, with its data and kernels still there.
 *
 * Launches only queue up, so the clock says little: where a limit is set, the device is waited for
 * after a batch of them. Batches grow as long as one takes a small part of the limit: waiting costs
 * little of a call that is within its limit, and one that is not is left soon after. A launch that
 * is on its way ends early where the driver can do that (rt_dev_stop). Else, and if it goes on all
 * the same for as long as it takes to start the program again, the program ends, having said so as
 * a failure of the call.
 *
 * Some drivers build a kernel when it is first launched. Where a limit is set, that launch as a
 * whole counts as building, like all builds, which would else be taken for a slow program. */
#include "runtime/core/internal.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

/* How long a launch may go on beyond the limit, and how often to look while that does not count.
 * Of several ranks the first one ends, which waits for the launches of others, too: whoever ends
 * before it has it ended before it has spoken. */
static const double RT_LEAVE_SECONDS = 1, RT_FOLLOW_SECONDS = 5, RT_LOOK_SECONDS = 0.25;
static rt_ctx *rt_watched; /* whose call has a limit; of a server, the only one */

/* --- Launches that go on ---------------------------------------------------------------------- */

/* 0: not any more. */
static void rt_limit_wake_after(double seconds)
{
    int64_t us = seconds > 0 ? (int64_t)(seconds * 1e6) + 1 : 0;
    struct itimerval t = {{0, 0}, {(time_t)(us / 1000000), (suseconds_t)(us % 1000000)}};
    setitimer(ITIMER_REAL, &t, NULL);
}

/* Comes between whatever the program does: beside building and writing, it waits for the device. */
static void rt_limit_woken(int sig)
{
    (void)sig;
    rt_ctx *ctx = rt_watched;
    if (!ctx)
        return;
    rt_limit *l = &ctx->limit;
    double gone = rt_call_gone(ctx), left = l->seconds + RT_LEAVE_SECONDS - gone;
    if (ctx->config.at.rank > 0)
        left += RT_FOLLOW_SECONDS;
    if (l->stops && !l->held && gone >= l->seconds)
        l->stopped = rt_dev_stop(ctx->dev, true);
    if (l->held || l->building > 0 || left > 0) {
        rt_limit_wake_after(left > RT_LOOK_SECONDS ? left : RT_LOOK_SECONDS);
        return;
    }
    rt_parts_end(ctx);
    rt_parts_print(ctx, stdout);
    printf(
        "stopped: %" PRId64
        "\n%%%%%% FAILURE\nstopped after %.3g s in a launch that went on: the time limit is %.3g s,"
        " the program ends\n%%%%%% OK\n",
        (int64_t)(gone * 1e6), gone, l->seconds);
    fflush(stdout);
    _exit(1);
}

static void rt_limit_watch(rt_ctx *ctx)
{
    struct sigaction act;
    memset(&act, 0, sizeof act);
    act.sa_handler = rt_limit_woken;
    act.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &act, NULL);
    rt_watched = ctx;
    rt_limit_wake_after(ctx->limit.seconds + (ctx->limit.stops ? 0 : RT_LEAVE_SECONDS));
}

/* --- Calls ------------------------------------------------------------------------------------ */

RT_API void rt_limit_begin(rt_ctx *ctx)
{
    rt_limit *l = &ctx->limit;
    l->start = rt_seconds();
    l->built = ctx->build_seconds;
    l->looked = 0;
    l->batch = l->left = 1;
    l->running = true;
    l->building = 0;
    l->held = 0;
    l->stops = rt_dev_stop(ctx->dev, false);
    if (l->seconds > 0)
        rt_limit_watch(ctx);
}

RT_API double rt_limit_end(rt_ctx *ctx)
{
    double gone = rt_call_gone(ctx);
    if (rt_watched == ctx) {
        rt_limit_wake_after(0);
        rt_watched = NULL;
    }
    if (ctx->limit.stopped)
        rt_dev_stop(ctx->dev, false);
    ctx->limit.stopped = ctx->limit.running = false;
    return gone > 0 ? gone : 0;
}

static int rt_limit_wait(rt_ctx *ctx)
{
    return rt_dev_check(ctx, rt_dev_finish(ctx->dev), "waiting for the device");
}

/* The device is waited for after the next batch. */
static void rt_limit_next(rt_limit *l, double gone)
{
    enum {
        GROWTH = 4,
        PARTS = 8,
        MOST = 1 << 20
    }; /* a batch is to take one of so many parts of the limit */
    double took = gone - l->looked, part = l->seconds / PARTS;
    if (took * GROWTH <= part && l->batch < MOST)
        l->batch *= GROWTH;
    else if (took > part)
        l->batch = l->batch > GROWTH ? l->batch / GROWTH : 1;
    l->looked = gone;
    l->left = l->batch;
}

static int rt_limit_over(rt_ctx *ctx, double gone)
{
    ctx->limit.over = true;
    return rt_error_set(ctx, "stopped after %.3g s: the time limit is %.3g s", gone,
                        ctx->limit.seconds);
}

/* builds: the launch makes the driver build its kernel. */
static int rt_limit_ask(rt_ctx *ctx, bool builds)
{
    rt_limit *l = &ctx->limit;
    if (l->stopped)
        return rt_limit_over(ctx, rt_call_gone(ctx));
    if (!l->running || l->seconds <= 0 || (--l->left > 0 && !builds))
        return RT_OK;
    if (rt_limit_wait(ctx))
        return RT_ERR;
    double gone = rt_call_gone(ctx);
    if (gone > l->seconds)
        return rt_limit_over(ctx, gone);
    if (l->left <= 0)
        rt_limit_next(l, gone);
    l->building = builds ? rt_seconds() : 0;
    return RT_OK;
}

RT_API int rt_limit_launch(rt_ctx *ctx, const rt_kernel *k)
{
    return rt_limit_ask(ctx, !k->launched && ctx->device.costly_programs);
}

RT_API int rt_limit_ahead(rt_ctx *ctx)
{
    int rc = rt_limit_ask(ctx, false);
    if (ctx->limit.running && ctx->limit.seconds > 0)
        ctx->limit.left++;
    return rc;
}

RT_API int rt_limit_launched(rt_ctx *ctx, rt_kernel *k)
{
    rt_limit *l = &ctx->limit;
    k->launched = true;
    if (l->stopped)
        return rt_limit_over(ctx, rt_call_gone(ctx));
    if (l->building == 0)
        return RT_OK;
    int rc = rt_limit_wait(ctx);
    ctx->build_seconds += rt_seconds() - l->building;
    rt_timeline_host(ctx, RT_TRACK_BUILD, k->def->name, k->def->prov, l->building);
    l->building = 0;
    return rc;
}
