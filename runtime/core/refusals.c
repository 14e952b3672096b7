/* Which kernels fit the device, in which shapes; what was refused is remembered. */
#include "runtime/core/internal.h"

#include <inttypes.h>

/* Remembers that k cannot run in this shape. */
static void rt_refuse(rt_kernel *k, int64_t group, int64_t local)
{
    if (k->n_refusals == k->cap_refusals) {
        k->cap_refusals = k->cap_refusals ? 2 * k->cap_refusals : 4;
        k->refusals = rt_grow(k->refusals, (size_t)k->cap_refusals * sizeof *k->refusals);
    }
    k->refusals[k->n_refusals++] = (rt_shape){group, local};
    k->fits = (rt_shape){0, 0};
}

static bool rt_was_refused(const rt_kernel *k, int64_t group, int64_t local)
{
    for (int i = 0; i < k->n_refusals; i++)
        if (group >= k->refusals[i].group && local >= k->refusals[i].local)
            return true;
    return false;
}

static void rt_forget_refusals(rt_kernel *k)
{
    k->n_refusals = 0;
    k->fits = (rt_shape){0, 0};
    k->unsized = false;
}

RT_API void rt_refusals_forget(rt_ctx *ctx)
{
    for (int i = 0; i < 2 * ctx->n_kernels; i++)
        for (rt_kernel *k = &ctx->kernels[i]; k; k = k->numbers ? k->next : k->sized)
            rt_forget_refusals(k);
}

RT_API bool rt_kernel_fits(rt_ctx *ctx, rt_kernel *k, int64_t group, int64_t local)
{
    const char *name = k->def->name;
    if (group <= k->fits.group && local <= k->fits.local)
        return true;
    if (rt_was_refused(k, group, local))
        return false;
    bool later = rt_is_sized(ctx, k) && !k->changing; /* its launch asks what is built for it */
    int rc = later ? RT_OK : rt_build(ctx, k);
    if (rc == RT_ERR)
        return true; /* the launch will say why */
    int64_t need = k->own_local + local;
    int64_t memory = later || k->numbers ? rt_room(ctx, need) : rt_size(ctx, RT_LOCAL_MEMORY);
    int64_t most = ctx->facts[RT_MAX_GROUP_SIZE];
    most = k->kernel && k->max_group < most ? k->max_group : most;
    if (rc == RT_REFUSED) {
        rt_log(ctx, "Refused %s: it needs more than the device has.", name);
        group = local = 0;
    } else if (need > memory) {
        rt_log(ctx,
               "Refused %s: needs %" PRId64 " bytes of local memory, the device offers %" PRId64
               ".",
               name, need, memory);
        group = 0;
    } else if (group > most) {
        rt_log(ctx,
               "Refused %s: needs groups of %" PRId64 " work-items, the device offers %" PRId64 ".",
               name, group, most);
        local = 0;
    } else {
        k->fits = later ? k->fits : (rt_shape){group, local};
        return true;
    }
    rt_refuse(k, group, local);
    return false;
}

RT_API void rt_kernel_refused(rt_ctx *ctx, rt_kernel *k, int64_t group, int64_t local,
                              const char *why)
{
    rt_refuse(k, group, local);
    rt_log(ctx,
           "Refused %s: %s for groups of %" PRId64 " work-items and %" PRId64
           " bytes of local memory.",
           k->def->name, why, group, local + k->own_local);
}

RT_API bool rt_fits(rt_ctx *ctx, int kernel, int64_t group_size, int64_t local_bytes)
{
    rt_kernel *narrow = rt_variant(ctx, kernel, false), *wide = rt_variant(ctx, kernel, true);
    rt_kernel *last = wide->run > 0 && wide->run >= narrow->run ? wide : narrow;
    if (rt_kernel_fits(ctx, last, group_size, local_bytes))
        return true;
    /* The sizes of an earlier run may have been others. */
    return last->run != ctx->run && rt_kernel_fits(ctx, narrow, group_size, local_bytes);
}
