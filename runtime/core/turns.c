/* Programs that take turns on a device: a tuner runs one on several data sets, a process each. What
 * takes most of its time is building kernels, which drivers do one after the other in a process,
 * and beside each other in several; running must not be disturbed. So whoever holds the lock on a
 * file runs, and gives it to others while it builds. */
#include "runtime/core/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

RT_API int rt_turns(rt_ctx *ctx, const char *path)
{
    rt_turn *t = &ctx->turn;
    if (t->file)
        close(t->file);
    t->file = 0;
    if (!path)
        return RT_OK;
    if (!ctx->target->builds_aside)
        return rt_error_set(ctx, "%s builds kernels with what it runs them on", ctx->device.name);
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe may have no writer */
    if (file <= 0)
        return rt_error_set(ctx, "cannot open %s: %s", path, strerror(errno));
    t->file = file;
    return RT_OK;
}

RT_API void rt_turn_take(rt_ctx *ctx)
{
    rt_turn *t = &ctx->turn;
    if (!t->file || t->mine)
        return;
    double start = rt_seconds();
    ctx->limit.held++;
    while (flock(t->file, LOCK_EX) != 0 && errno == EINTR)
        ;
    t->mine = true;
    ctx->build_seconds += rt_seconds() - start; /* the others' */
    ctx->limit.held--;
}

RT_API bool rt_turn_give(rt_ctx *ctx)
{
    rt_turn *t = &ctx->turn;
    if (!t->mine)
        return false;
    rt_dev_finish(ctx->dev); /* what is wrong is still so for whoever waits next */
    flock(t->file, LOCK_UN);
    t->mine = false;
    return true;
}
