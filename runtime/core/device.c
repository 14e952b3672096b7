/* Choosing a device. */
#include "runtime/core/internal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Are its kernels functions for `native`? */
static bool rt_has_functions(const rt_program *prog)
{
    for (int i = 0; i < prog->n_kernels; i++)
        if (!prog->kernels[i].function[0])
            return false;
    return true;
}

RT_API bool rt_device_list(const rt_program *prog, FILE *f)
{
    int n;
    rt_dev_info *all = rt_dev_find(true, rt_has_functions(prog), &n);
    for (int i = 0; i < n; i++)
        fprintf(f, "#%d: %s (%s, %s)\n", i, all[i].name, rt_rank_kind(all[i].rank),
                all[i].platform_name);
    free(all);
    return n > 0;
}

/* "#k" and what follows; k, or -1 when the text is no such thing. */
static int rt_ordinal(const char *text, const char **rest)
{
    char *end;
    *rest = text;
    if (!text || text[0] != '#')
        return -1;
    long k = strtol(text + 1, &end, 10);
    if (end == text + 1 || k < 0 || k > 1000)
        return -1;
    while (*end == ' ')
        end++;
    *rest = end;
    return (int)k;
}

/* Ranks on one machine take turns with the devices that are as good. */
static int rt_choose_beside(const rt_config *cfg, const rt_dev_info *all, int n, int best)
{
    int alike[64], found = 0;
    for (int i = 0; i < n && found < 64; i++)
        if (all[i].platform == all[best].platform && strcmp(all[i].name, all[best].name) == 0)
            alike[found++] = i;
    return alike[cfg->at.here % found];
}

/* The device that the options ask for: its index in all, or -1. "#k" counts the devices that match.
 */
static int rt_choose(const rt_config *cfg, const rt_dev_info *all, int n)
{
    const char *device, *platform;
    int k = rt_ordinal(cfg->device, &device), best = -1;
    int pk = rt_ordinal(cfg->platform, &platform), n_platforms = 0;
    for (int i = 0; i < n; i++) {
        bool new_platform = i == 0 || all[i].platform != all[i - 1].platform;
        bool matches = !platform || strstr(all[i].platform_name, platform);
        if (!matches)
            continue;
        n_platforms += new_platform;
        if ((pk >= 0 && n_platforms != pk + 1) || (device && !strstr(all[i].name, device)))
            continue;
        if (k == 0)
            return i;
        k -= k > 0;
        if (k < 0 && (best < 0 || rt_rank_better(all[i].rank, all[best].rank)))
            best = i;
    }
    return best >= 0 && cfg->comm ? rt_choose_beside(cfg, all, n, best) : best;
}

/* Threads of `native`: ranks on one machine share its processors. */
static int64_t rt_threads(const rt_config *cfg, int64_t most)
{
    long there = sysconf(_SC_NPROCESSORS_ONLN);
    if (cfg->threads > 0)
        return cfg->threads < RT_DEV_MOST_THREADS ? cfg->threads : RT_DEV_MOST_THREADS;
    if (!cfg->comm || getenv("MINIFUT_THREADS"))
        return most;
    int64_t each = there / cfg->at.beside > 1 ? there / cfg->at.beside : 1;
    return each < most ? each : most;
}

/* That of the queue that is to be used. */
static int rt_choose_by_queue(rt_ctx *ctx, const rt_dev_info *all, int n)
{
    bool profiling;
    const void *device = rt_dev_of_queue(ctx->config.queue, &profiling);
    ctx->config.profile = ctx->config.profile && profiling;
    for (int i = 0; i < n; i++)
        if (device && all[i].device == device)
            return i;
    return -1;
}

RT_API bool rt_device_open(rt_ctx *ctx, char **error)
{
    int n;
    const rt_config *cfg = &ctx->config;
    bool functions = rt_has_functions(ctx->prog);
    bool native = functions && cfg->device && strcmp(cfg->device, "native") == 0 && !cfg->platform;
    rt_dev_info *all = rt_dev_find(!native || cfg->queue, functions, &n);
    if (n == 0) {
        free(all);
        *error = rt_format("no OpenCL device found: install a driver (for CPUs: PoCL, in Debian "
                           "the package pocl-opencl-icd)");
        return false;
    }
    int i = cfg->queue ? rt_choose_by_queue(ctx, all, n) : rt_choose(cfg, all, n);
    if (i < 0 && cfg->queue) {
        *error = rt_format(
            "the command queue is not of a device that is listed, or runs commands out of order");
        free(all);
        return false;
    }
    if (i < 0) {
        *error = rt_format("no device matches%s%s%s%s; --list-devices shows the %d there %s",
                           cfg->device ? " device " : "", cfg->device ? cfg->device : "",
                           cfg->platform ? " platform " : "", cfg->platform ? cfg->platform : "", n,
                           n == 1 ? "is" : "are");
        free(all);
        return false;
    }
    ctx->device = all[i];
    ctx->device.queue = cfg->queue;
    if (all[i].rank.native)
        ctx->device.units = rt_threads(cfg, all[i].units);
    ctx->target = rt_target_of(&all[i]);
    /* "0", "1": whether groups may wait for others, on whatever device */
    const char *wait = getenv("MINIFUT_GROUPS_WAIT");
    if (wait && *wait)
        ctx->device.groups_wait = strcmp(wait, "1") == 0;
    /* So many bytes of local memory are told, and there are more: for tests */
    const char *told = getenv("MINIFUT_LOCAL_TOLD");
    if (told && *told) {
        ctx->device.local_memory = atoll(told);
        ctx->device.hides_local = true;
    }
    free(all);
    rt_facts_open(ctx);
    return true;
}
