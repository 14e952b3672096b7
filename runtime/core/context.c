/* Contexts: opening and closing. */
#include "runtime/core/internal.h"

#include <stdlib.h>
#include <string.h>

static int rt_ctx_open_device(rt_ctx *ctx)
{
    ctx->device.among = ctx->config.comm && ctx->config.at.ranks > 1;
    rt_dev_error e = rt_dev_open(&ctx->device, ctx->config.profile || rt_late_asks(ctx), &ctx->dev);
    if (rt_dev_check(ctx, e, ctx->device.name))
        return RT_ERR;
    ctx->device.local_given = rt_dev_local_given(ctx->dev);
    return rt_failure_init(ctx);
}

/* MINIFUT_INDEX=64, for tests: as if no launch could do with 32 bits. */
static bool rt_wide_only(void)
{
    const char *user = getenv("MINIFUT_INDEX");
    return user && strcmp(user, "64") == 0;
}

static void rt_ctx_add_kernels(rt_ctx *ctx)
{
    const rt_builtins *builtins = ctx->builtins;
    int n = ctx->prog->n_kernels;
    ctx->n_kernels = n + builtins->n_kernels;
    size_t bytes = 2 * (size_t)ctx->n_kernels * sizeof *ctx->kernels;
    ctx->kernels = rt_grow(NULL, bytes);
    memset(ctx->kernels, 0, bytes);
    for (int i = 0; i < 2 * ctx->n_kernels; i++) {
        rt_kernel *k = &ctx->kernels[i];
        k->id = i % ctx->n_kernels;
        k->wide = i >= ctx->n_kernels;
        k->def = k->id < n ? &ctx->prog->kernels[k->id] : &builtins->kernels[k->id - n];
    }
}

RT_API rt_ctx *rt_ctx_new(const rt_program *prog, const rt_config *config, char **error)
{
    rt_ctx *ctx = rt_grow(NULL, sizeof *ctx);
    memset(ctx, 0, sizeof *ctx);
    *error = NULL;
    ctx->prog = prog;
    ctx->config = *config;
    ctx->log_file = ctx->debug_file = stderr;
    ctx->wide = rt_wide_only();
    rt_steps_drop(ctx);
    rt_params_open(ctx);
    bool ok = rt_device_open(ctx, error);
    if (ok && config->memory > 0 &&
        (ctx->device.memory <= 0 || ctx->device.memory > config->memory))
        ctx->device.memory = config->memory;
    bool functions = ok && ctx->target->functions;
    ctx->builtins = functions ? rt_builtins_by_functions() : rt_builtins_by_kernels();
    rt_ctx_add_kernels(ctx);
    ok = ok && rt_texts_open(ctx, error);
    if (ok && rt_ctx_open_device(ctx)) {
        *error = rt_format("%s", ctx->error);
        ok = false;
    }
    if (!ok) {
        rt_ctx_free(ctx);
        return NULL;
    }
    ctx->profiling = ctx->config.profile;
    rt_cache_open(ctx);
    rt_sized_open(ctx);
    rt_debug(ctx, "Using platform: %s", ctx->device.platform_name);
    rt_debug(ctx, "Using device: %s", ctx->device.name);
    rt_debug(ctx, "Kernel cache: %s", ctx->cache[0] ? ctx->cache : "none");
    return ctx;
}

RT_API void rt_ctx_enter(rt_ctx *ctx)
{
    rt_dev_enter(ctx->dev);
}

RT_API void rt_ctx_free(rt_ctx *ctx)
{
    if (ctx->dev) {
        rt_dev_finish(ctx->dev);
        rt_profile_collect(ctx);
    }
    rt_kept_free(ctx);
    rt_free_all_blocks(ctx);
    for (int i = 0; i < 2 * ctx->n_kernels; i++)
        rt_kernel_free(ctx, &ctx->kernels[i]);
    free(ctx->unpacked);
    free(ctx->texts);
    rt_steps_free(ctx);
    rt_timeline_free(ctx);
    if (ctx->failure)
        rt_dev_free(ctx->dev, ctx->failure);
    rt_pages_free(ctx);
    if (ctx->dev)
        rt_dev_close(ctx->dev);
    free(ctx->kernels);
    rt_params_free(ctx);
    free(ctx->comparisons);
    free(ctx->parts.seconds);
    free(ctx->pending);
    free(ctx);
}
