/* Guards: which versions and kernels are taken. */
#include "runtime/core/internal.h"

#include <inttypes.h>

RT_API void rt_comparisons_clear(rt_ctx *ctx)
{
    ctx->n_comparisons = 0;
}

RT_API bool rt_compare(rt_ctx *ctx, int param, int64_t par, int64_t threshold)
{
    enum { MOST = 4096 };
    bool result = threshold <= par;
    rt_log(ctx, "Compared %s <= %" PRId64 ": %s.", ctx->prog->params[param].name, par,
           result ? "true" : "false");
    /* Backwards: a comparison in a loop is among the last ones. */
    for (int i = ctx->n_comparisons - 1; i >= 0; i--) {
        rt_comparison *c = &ctx->comparisons[i];
        if (c->param == param && c->par == par && c->threshold == threshold) {
            c->count++;
            return result;
        }
    }
    if (ctx->n_comparisons == ctx->cap_comparisons && ctx->cap_comparisons < MOST) {
        ctx->cap_comparisons = ctx->cap_comparisons ? 2 * ctx->cap_comparisons : 16;
        ctx->comparisons =
            rt_grow(ctx->comparisons, (size_t)ctx->cap_comparisons * sizeof *ctx->comparisons);
    }
    if (ctx->n_comparisons < ctx->cap_comparisons)
        ctx->comparisons[ctx->n_comparisons++] = (rt_comparison){param, par, threshold, result, 1};
    return result;
}

RT_API bool rt_suff(rt_ctx *ctx, int param, int64_t version_par, int64_t work)
{
    rt_part(ctx, param);
    return rt_compare(ctx, param, mf_par_in_effect(version_par, work), rt_param(ctx, param));
}

/* decides: it does so untuned whether it pays, not the threshold. */
static bool rt_suff_if(rt_ctx *ctx, int param, int64_t par, bool decides, bool pays)
{
    bool untuned = ctx->user_params[param] == 0 && ctx->user_sizes[RT_THRESHOLD] == 0;
    int64_t threshold = rt_param(ctx, param);
    rt_part(ctx, param);
    if (untuned && decides && pays != (threshold <= par))
        threshold = pays && par > 0 ? par : par + 1;
    return rt_compare(ctx, param, par, threshold);
}

RT_API bool rt_suff_beside_blocks(rt_ctx *ctx, int param, int64_t version_par, int64_t work)
{
    return rt_suff_if(ctx, param, mf_par_in_effect(version_par, work),
                      !ctx->facts[RT_WEIGHS_LAUNCHES], false);
}

RT_API bool rt_suff_or_pays(rt_ctx *ctx, int param, int64_t version_par, int64_t work,
                            int64_t spared, bool pays)
{
    bool weighs = ctx->facts[RT_WEIGHS_LAUNCHES];
    return rt_suff_if(ctx, param, mf_par_in_effect(version_par, work), weighs || spared == 0,
                      pays && (weighs || spared > 0));
}

RT_API bool rt_suff_balanced(rt_ctx *ctx, int param, int64_t version_par, int64_t work,
                             int64_t spared, int64_t steps, int64_t elems)
{
    enum { EACH = 8 }; /* for a thread, so that none is left alone for long */
    if (ctx->facts[RT_WEIGHS_LAUNCHES])
        return rt_suff_if(ctx, param, version_par > 0 ? mf_gain(spared, steps, elems) : 0, true,
                          mf_pays(spared, steps, elems));
    bool fills = version_par >= EACH * ctx->facts[RT_COMPUTE_UNITS];
    return rt_suff_if(ctx, param, mf_par_in_effect(version_par, work), true, fills);
}

RT_API bool rt_takes(rt_ctx *ctx, int param, bool can, int64_t pays)
{
    const char *name = ctx->prog->params[param].name;
    if (!can) {
        rt_log(ctx, "Choice %s: no, it cannot run here.", name);
        return false;
    }
    int64_t percent = pays > 1 ? pays : 1, bar = rt_param(ctx, param);
    rt_log(ctx, "Choice %s: %s (%" PRId64 " of %" PRId64 " %%).", name,
           bar <= percent ? "yes, it pays" : "no, it does not pay", percent, bar);
    return rt_compare(ctx, param, percent, bar);
}
