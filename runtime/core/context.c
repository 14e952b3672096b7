/* Contexts: opening and closing, messages, sizes and parameters, guards. */
#include "runtime/core/internal.h"
#include "common/spell.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static __thread jmp_buf *rt_no_memory;

RT_API void *rt_grow(void *p, size_t bytes)
{
    void *q = realloc(p, bytes ? bytes : 1);
    if (!q && rt_no_memory)
        longjmp(*rt_no_memory, 1);
    if (!q) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return q;
}

RT_API void rt_leave_to(jmp_buf *place)
{
    rt_no_memory = place;
}

RT_API char *rt_format(const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    char *s = rt_grow(NULL, (size_t)(n < 0 ? 0 : n) + 1);
    s[0] = '\0';
    vsnprintf(s, (size_t)(n < 0 ? 0 : n) + 1, fmt, again);
    va_end(again);
    va_end(ap);
    return s;
}

/* --- Messages --- */

RT_API const char *rt_error(const rt_ctx *ctx)
{
    return ctx->error;
}

RT_API int rt_error_set(rt_ctx *ctx, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(ctx->error, sizeof ctx->error, fmt, ap);
    va_end(ap);
    ctx->error_told = false;
    return RT_ERR;
}

RT_API int rt_fail_with(rt_ctx *ctx, int site, const char *text)
{
    if (site < 0 || site >= ctx->prog->n_sites)
        return rt_error_set(ctx, "failure %d, which does not exist: %s", site, text);
    const rt_site_def *s = &ctx->prog->sites[site];
    rt_error_set(ctx, "Error: %s\n%s:%s%s", text, s->pos, s->excerpt ? "\n" : "", s->excerpt ? s->excerpt : "");
    ctx->error_told = true;
    return RT_ERR;
}

RT_API int rt_fail(rt_ctx *ctx, int site, const int64_t *args)
{
    char text[sizeof ctx->error];
    size_t at = 0;
    int next = 0;
    bool known = site >= 0 && site < ctx->prog->n_sites;
    for (const char *t = known ? ctx->prog->sites[site].text : ""; *t && at + 24 < sizeof text;
         t++) {
        if (strncmp(t, "%ld", 3) == 0 && args && next < 8) {
            at += (size_t)snprintf(text + at, sizeof text - at, "%" PRId64, args[next++]);
            t += 2;
        } else {
            t += t[0] == '%' && t[1] == '%';
            text[at++] = *t;
        }
    }
    text[at] = '\0';
    return rt_fail_with(ctx, site, text);
}

RT_API void rt_log(rt_ctx *ctx, const char *fmt, ...)
{
    va_list ap;
    if (!ctx->config.log)
        return;
    ctx->limit.held++;
    va_start(ap, fmt);
    vfprintf(ctx->log_file, fmt, ap);
    va_end(ap);
    putc('\n', ctx->log_file);
    ctx->limit.held--;
}

RT_API void rt_debug(rt_ctx *ctx, const char *fmt, ...)
{
    va_list ap;
    if (!ctx->config.debug)
        return;
    va_start(ap, fmt);
    vfprintf(ctx->debug_file, fmt, ap);
    va_end(ap);
    putc('\n', ctx->debug_file);
}

/* --- Opening and closing --- */

static int rt_ctx_open_device(rt_ctx *ctx)
{
    rt_dev_error e = rt_dev_open(&ctx->device, ctx->config.profile || rt_late_asks(ctx), &ctx->dev);
    if (rt_dev_check(ctx, e, ctx->device.name))
        return RT_ERR;
    ctx->device.local_given = rt_dev_local_given(ctx->dev);
    return rt_failure_init(ctx);
}

static const rt_size_name *rt_size_named(const char *name);

/* Is the parameter a size of kernels? */
static bool rt_is_size(const rt_ctx *ctx, int param)
{
    return ctx->param_sizes[param] != RT_NO_SIZE && ctx->param_sizes[param] != RT_THRESHOLD;
}

static void rt_note_sizes(rt_ctx *ctx)
{
    const uint64_t PRIME = 0x100000001b3u;
    uint64_t h = RT_HASH_START;
    for (int c = 0; c < RT_N_SIZES; c++)
        h = (h ^ (uint64_t)ctx->user_sizes[c]) * PRIME;
    for (int i = 0; i < ctx->prog->n_params; i++)
        if (rt_is_size(ctx, i))
            h = (h ^ (uint64_t)ctx->user_params[i]) * PRIME;
    ctx->sizes = h;
}

static void rt_ctx_add_params(rt_ctx *ctx)
{
    size_t n = (size_t)ctx->prog->n_params, bytes = n * sizeof *ctx->user_params;
    ctx->user_params = memset(rt_grow(NULL, bytes), 0, bytes);
    ctx->param_sizes = rt_grow(NULL, n * sizeof *ctx->param_sizes);
    for (size_t i = 0; i < n; i++) {
        const rt_size_name *named = rt_size_named(ctx->prog->params[i].cls);
        ctx->param_sizes[i] = named ? named->size : RT_NO_SIZE;
    }
    rt_note_sizes(ctx);
}

/* MINIFUT_INDEX=64, for tests: as if no launch could do with 32 bits. */
static bool rt_wide_only(void)
{
    const char *user = getenv("MINIFUT_INDEX");
    return user && strcmp(user, "64") == 0;
}

static void rt_ctx_add_kernels(rt_ctx *ctx)
{
    int n_builtin;
    const rt_kernel_def *builtin = rt_builtin_kernels(&n_builtin);
    int n = ctx->prog->n_kernels;
    ctx->n_kernels = n + n_builtin;
    size_t bytes = 2 * (size_t)ctx->n_kernels * sizeof *ctx->kernels;
    ctx->kernels = rt_grow(NULL, bytes);
    memset(ctx->kernels, 0, bytes);
    for (int i = 0; i < 2 * ctx->n_kernels; i++) {
        rt_kernel *k = &ctx->kernels[i];
        k->id = i % ctx->n_kernels;
        k->wide = i >= ctx->n_kernels;
        k->def = k->id < n ? &ctx->prog->kernels[k->id] : &builtin[k->id - n];
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
    rt_ctx_add_params(ctx);
    rt_ctx_add_kernels(ctx);
    bool ok = rt_device_open(ctx, error);
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

RT_API void rt_ctx_free(rt_ctx *ctx)
{
    if (ctx->dev) {
        rt_dev_finish(ctx->dev);
        rt_profile_collect(ctx);
    }
    rt_free_all_blocks(ctx);
    for (int i = 0; i < 2 * ctx->n_kernels; i++)
        rt_kernel_free(ctx, &ctx->kernels[i]);
    rt_steps_free(ctx);
    rt_timeline_free(ctx);
    if (ctx->failure)
        rt_dev_free(ctx->dev, ctx->failure);
    rt_pages_free(ctx);
    if (ctx->dev)
        rt_dev_close(ctx->dev);
    free(ctx->kernels);
    free(ctx->user_params);
    free(ctx->param_sizes);
    free(ctx->comparisons);
    free(ctx->parts.seconds);
    free(ctx->pending);
    free(ctx);
}

/* --- Sizes and parameters --- */

/* v, or less: what the device allows of a size. */
static int64_t rt_at_most(const rt_ctx *ctx, rt_size_class c, int64_t v)
{
#define RT_NO_MOST(id, ...)                                  [RT_##id] = RT_NO_SIZE,
#define RT_MOST(id, name, option, gpu, cpu, unit, most, ...) [RT_##id] = RT_##most,
    static const rt_size_class most[] = {RT_FACTS(RT_NO_MOST, RT_MOST, RT_FACT_NONE)};
    bool bounded = c != RT_NO_SIZE && most[c] != RT_NO_SIZE;
    return bounded && v > ctx->facts[most[c]] ? ctx->facts[most[c]] : v;
}

RT_API int64_t rt_size(const rt_ctx *ctx, rt_size_class c)
{
    int64_t v = ctx->user_sizes[c] ? ctx->user_sizes[c] : ctx->facts[c];
    return rt_at_most(ctx, c, v);
}

/* The general sizes by the names of parameter classes; and, with "default_" before them, of tuning
 * lines. Futhark's newer names are synonyms. */
#define RT_SIZE_NAME(id, name, option, ...) {name, option, RT_##id},
static const rt_size_name rt_size_names[] = {RT_FACTS(RT_FACT_NONE, RT_SIZE_NAME, RT_SIZE_NAME)};

/* The row whose name is the whole of `name`, up to a bracket; NULL for none. */
static const rt_size_name *rt_size_named(const char *name)
{
    size_t n = strcspn(name, "(");
    for (size_t i = 0; i < sizeof rt_size_names / sizeof *rt_size_names; i++)
        if (strlen(rt_size_names[i].name) == n && strncmp(rt_size_names[i].name, name, n) == 0)
            return &rt_size_names[i];
    return NULL;
}

RT_API const rt_size_name *rt_size_of_option(const char *option)
{
    const rt_size_name *s = rt_size_names;
    while (strcmp(s->option, option) != 0)
        s++;
    return s;
}

RT_API int64_t rt_param(const rt_ctx *ctx, int param)
{
    const rt_param_def *p = &ctx->prog->params[param];
    rt_size_class size = ctx->param_sizes[param];
    int64_t v = ctx->user_params[param];
    if (v == 0)
        v = ctx->is_cpu ? p->cpu : p->gpu;
    if (v == 0 && size != RT_NO_SIZE)
        v = rt_size(ctx, size);
    return rt_at_most(ctx, size, v);
}

RT_API int rt_param_named(const rt_program *prog, const char *name)
{
    for (int i = 0; i < prog->n_params; i++)
        if (strcmp(prog->params[i].name, name) == 0)
            return i;
    return -1;
}

/* That of "default_NAME". */
static const rt_size_name *rt_default_named(const char *name)
{
    return strncmp(name, "default_", 8) == 0 ? rt_size_named(name + 8) : NULL;
}

RT_API bool rt_param_known(const rt_program *prog, const char *name)
{
    return rt_param_named(prog, name) >= 0 || rt_default_named(name);
}

static void rt_forget_refusals(rt_kernel *k)
{
    k->n_refusals = 0;
    k->fits = (rt_shape){0, 0};
    k->unsized = false;
}

RT_API int rt_set_param(rt_ctx *ctx, const char *name, int64_t value)
{
    int p = rt_param_named(ctx->prog, name);
    const rt_size_name *size = rt_default_named(name);
    if (p < 0 && !size) {
        rt_spelling s = rt_spell(name);
        for (int i = 0; i < ctx->prog->n_params; i++)
            rt_spell_try(&s, ctx->prog->params[i].name);
        return rt_error_set(ctx, "unknown tuning parameter: %s%s", name, rt_spell_hint(&s));
    }
    if (value < 0)
        return rt_error_set(ctx, "tuning parameter %s cannot be negative: %" PRId64, name, value);
    if (p >= 0) {
        ctx->user_params[p] = value;
        if (rt_is_size(ctx, p))
            rt_note_sizes(ctx);
    } else if (size->size != RT_NO_SIZE) {
        ctx->user_sizes[size->size] = value;
        rt_note_sizes(ctx);
        for (int i = 0; i < 2 * ctx->n_kernels && size->size == RT_LOCAL_MEMORY; i++)
            for (rt_kernel *k = &ctx->kernels[i]; k; k = k->numbers ? k->next : k->sized)
                rt_forget_refusals(k);
    }
    return RT_OK;
}

/* --- Guards --- */

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

RT_API bool rt_suff_or_pays(rt_ctx *ctx, int param, int64_t version_par, int64_t work, int64_t spared,
                            bool pays)
{
    bool untuned = ctx->user_params[param] == 0 && ctx->user_sizes[RT_THRESHOLD] == 0;
    int64_t par = mf_par_in_effect(version_par, work), threshold = rt_param(ctx, param);
    bool weighs = ctx->facts[RT_WEIGHS_LAUNCHES];
    pays &= weighs || spared > 0;
    rt_part(ctx, param);
    if (untuned && (weighs || spared == 0) && pays != (threshold <= par))
        threshold = pays && par > 0 ? par : par + 1;
    return rt_compare(ctx, param, par, threshold);
}

RT_API bool rt_takes(rt_ctx *ctx, int param, bool can, bool pays)
{
    int64_t said = ctx->user_params[param];
    bool taken = can && (said ? said == 1 : pays);
    rt_log(ctx, "Choice %s: %s.", ctx->prog->params[param].name,
           !can ? "no, it cannot run here" : said ? (taken ? "yes, as is said" : "no, as is said")
                                           : taken ? "yes, it pays" : "no, it does not pay");
    return taken;
}

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
