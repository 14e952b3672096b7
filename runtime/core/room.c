/* Local memory: how much a launch takes, and a group may have. Drivers tell how much there is for
 * arguments of kernels; what kernels declare themselves, as those do that are built for their sizes
 * (sized.c), may be more: on an H200 224 KiB instead of 48. Nothing says so, hence it is tried,
 * once, with a kernel that does little else, when a kernel first needs more than is told. */
#include "runtime/core/internal.h"
#include "runtime/texts.h"

#include <stdlib.h>

/* --- Of a group --- */

/* Can a kernel declare so many bytes? */
static bool rt_room_for(rt_ctx *ctx, int64_t bytes)
{
    int32_t x[2] = {0, 0};
    char *options = rt_format("-DMF_ROOM=%d", (int)bytes);
    bool ran = rt_dev_tries(ctx->dev, rt_text_room_cl, options, "mf_room", 1, x);
    free(options);
    return ran && x[1] == bytes / 4 - 1;
}

RT_API int64_t rt_room(rt_ctx *ctx, int64_t bytes)
{
    static const int kibs[] = {
        224, 163, 99, 96,
        64}; /* of NVIDIA's devices: what there is, and less where the driver keeps some */
    int64_t told = rt_size(ctx, RT_LOCAL_MEMORY);
    if (bytes <= told || !ctx->sized || !ctx->device.hides_local ||
        ctx->user_sizes[RT_LOCAL_MEMORY])
        return told;
    if (ctx->device.local_given)
        return ctx->device.local_given;
    for (size_t i = 0; ctx->room == 0 && i < sizeof kibs / sizeof *kibs; i++)
        if (kibs[i] * 1024 > told && rt_room_for(ctx, kibs[i] * 1024))
            ctx->room = kibs[i] * 1024;
    if (ctx->room == 0)
        ctx->room = told;
    rt_debug(ctx, "Kernels may declare %d KiB of local memory", (int)(ctx->room / 1024));
    return ctx->room;
}

RT_API bool rt_does_attention(rt_ctx *ctx)
{
    return rt_size(ctx, RT_MATRIX_UNITS) && rt_room(ctx, RT_ATTENTION_BYTES) >= RT_ATTENTION_BYTES;
}

/* --- Of a launch --- */

RT_API size_t rt_local_size(const rt_arg *a)
{
    size_t n = a->size ? a->size : 1;
    return (n + RT_LOCAL_ALIGN - 1) / RT_LOCAL_ALIGN * RT_LOCAL_ALIGN;
}

RT_API bool rt_is_own_local(const rt_kernel *k, int i, const rt_arg *a)
{
    return k->declares && a->kind == RT_ARG_LOCAL && i < 64 && (k->def->steady >> i & 1);
}

RT_API int64_t rt_local_bytes(const rt_kernel *k, int n_args, const rt_arg *args)
{
    int64_t n = 0;
    for (int i = 0; i < n_args; i++)
        if (args[i].kind == RT_ARG_LOCAL)
            n +=
                rt_is_own_local(k, i, &args[i]) ? RT_LOCAL_ALIGN : (int64_t)rt_local_size(&args[i]);
    return n;
}
