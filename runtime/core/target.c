/* What hangs on the target of a device: on the kind of code that is written for it. Policy stands
 * in a row here, sizes and facts in a column of facts.def. */
#include "runtime/core/internal.h"
#include "runtime/texts.h"

#include <stdlib.h>
#include <string.h>

/* GPUs: drivers take twice as long to begin a copy of their own as a kernel (7 to 14 us against 4
 * to 6), which for so few bytes is all there is. CPUs: how long PoCL's optimiser takes grows with
 * the square of a text, 3 s for 59 kB, 6 for 84, 19 for 130 and 97 for 240, and minutes for a loop
 * around several kernels; without it each takes a second. */
enum { RT_GPU, RT_CPU, RT_NATIVE, RT_N_TARGETS };

static const rt_target rt_targets[RT_N_TARGETS] = {
    [RT_GPU] = {.name = "gpu",
                .options = "",
                .most_optimised = SIZE_MAX,
                .sized = true,
                .builds_aside = true,
                .stride_group = 256,
                .stride_groups = 64,
                .by_kernel = 65536},
    [RT_CPU] = {.name = "cpu",
                .options = " -DMF_STRAIGHT_MATH",
                .step_options = "-cl-opt-disable",
                .most_optimised = 80000,
                .stride_group = 64,
                .stride_groups = 4},
    [RT_NATIVE] = {.name = "native",
                   .functions = true,
                   .options = "",
                   .most_optimised = SIZE_MAX,
                   .builds_aside = true},
};

RT_API const rt_target *rt_target_named(const char *name)
{
    for (int t = 0; t < RT_N_TARGETS; t++)
        if (strcmp(rt_targets[t].name, name) == 0)
            return &rt_targets[t];
    return NULL;
}

RT_API const rt_target *rt_target_of(const rt_dev_info *d)
{
    const char *user = getenv("MINIFUT_CODE"); /* for testing that code here */
    const rt_target *named = user ? rt_target_named(user) : NULL;
    if (d->rank.native)
        return &rt_targets[RT_NATIVE];
    return named && !named->functions ? named : &rt_targets[d->rank.cpu ? RT_CPU : RT_GPU];
}

/* --- Texts --- */

typedef struct {
    char *at;
    size_t n, cap;
} rt_grown;

static void rt_grown_room(rt_grown *t, size_t n)
{
    if (t->cap - t->n >= n)
        return;
    t->cap = 2 * (t->n + n);
    t->at = rt_grow(t->at, t->cap);
}

static size_t rt_packed_number(const char **at)
{
    size_t n = 0, unit = 1;
    for (int place = PACKED_BASE; place >= PACKED_BASE; unit *= PACKED_BASE) {
        place = packed_place(*(*at)++);
        n += unit * (size_t)(place % PACKED_BASE);
    }
    return n;
}

/* What `at`, behind "@", says. */
static const char *rt_packed_again(rt_grown *t, const char *at, packed_recent *recent)
{
    size_t said = rt_packed_number(&at), n = PACKED_LEAST + rt_packed_number(&at);
    size_t back = said < PACKED_RECENT ? (size_t)recent->at[said] : said + 1 - PACKED_RECENT;
    packed_use(recent, (int)back);
    rt_grown_room(t, n);
    for (; n > 0; n--, t->n++)
        t->at[t->n] = t->at[t->n - back];
    return at;
}

RT_API char *rt_unpack(const char *at)
{
    rt_grown t = {0};
    packed_recent recent = {{0}};
    while (*at) {
        size_t plain = strcspn(at, "@$");
        bool end = at[plain] == '$', sign = at[plain] == '@' && strchr("@$", at[plain + 1]);
        rt_grown_room(&t, plain + 1);
        memcpy(t.at + t.n, at, plain);
        t.n += plain;
        at += plain;
        if (end || sign) {
            t.at[t.n++] = end ? 0 : at[1];
            at += end ? 1 : 2;
        } else if (*at) {
            at = rt_packed_again(&t, at + 1, &recent);
        }
    }
    return t.at;
}

/* Cuts config.kernels apart, where lines name the kernels. Those may stand in any order. */
static bool rt_texts_given(rt_ctx *ctx, char **error)
{
    char *all = ctx->unpacked = rt_format("\n%s", ctx->config.kernels), *first = NULL;
    char **lines = rt_grow(NULL, (size_t)ctx->prog->n_kernels * sizeof *lines);
    for (int i = 0; i < ctx->prog->n_kernels && !*error; i++) {
        const char *name = ctx->prog->kernels[i].name;
        char *line = rt_format("\n" RT_DUMP_KERNEL, name), *at = strstr(all, line);
        if (!at)
            *error = rt_format("the program that was set has no kernel %s", name);
        lines[i] = at;
        ctx->texts[i] = at ? at + strlen(line) : "";
        first = !first || at < first ? at : first;
        free(line);
    }
    for (int i = 0; i < ctx->prog->n_kernels && !*error; i++)
        lines[i][0] = '\0';
    ctx->common = first && first > all ? all : NULL;
    free(lines);
    return !*error;
}

RT_API bool rt_texts_open(rt_ctx *ctx, char **error)
{
    if (ctx->target->functions || (!ctx->config.kernels && !ctx->prog->texts))
        return true;
    ctx->texts = rt_grow(NULL, (size_t)ctx->prog->n_kernels * sizeof *ctx->texts);
    if (ctx->config.kernels)
        return rt_texts_given(ctx, error);
    const char *text = ctx->unpacked = rt_unpack(ctx->prog->texts);
    for (int i = 0; i < ctx->prog->n_kernels; i++) {
        ctx->texts[i] = text;
        text += strlen(text) + 1;
    }
    return true;
}

RT_API const char *rt_text_of(const rt_ctx *ctx, const rt_kernel *k)
{
    bool own = k->id >= 0 && k->id < ctx->prog->n_kernels;
    if (ctx->target->functions)
        return NULL;
    return own && ctx->unpacked ? ctx->texts[k->id] : k->def->source;
}

/* --- Facts and sizes --- */

RT_API void rt_facts_open(rt_ctx *ctx)
{
    const rt_dev_info *d = &ctx->device;
#define RT_FACT_VALUE(id, name, gpu, native, unit)                                                 \
    ctx->facts[RT_##id] = (ctx->target->functions ? (native) : (gpu)) * (unit);

#define RT_SIZE_VALUE(id, name, option, gpu, native, unit, ...)                                    \
    RT_FACT_VALUE(id, name, gpu, native, unit)
    RT_FACTS(RT_FACT_VALUE, RT_SIZE_VALUE, RT_FACT_NONE)
}

RT_API int64_t rt_at_most(const rt_ctx *ctx, rt_size_class c, int64_t v)
{
#define RT_NO_MOST(id, ...)                                     [RT_##id] = RT_NO_SIZE,
#define RT_MOST(id, name, option, gpu, native, unit, most, ...) [RT_##id] = RT_##most,
    static const rt_size_class most[] = {RT_FACTS(RT_NO_MOST, RT_MOST, RT_FACT_NONE)};
    bool bounded = c != RT_NO_SIZE && most[c] != RT_NO_SIZE;
    return bounded && v > ctx->facts[most[c]] ? ctx->facts[most[c]] : v;
}

/* Does the device multiply by four warps together, in kernels that are built for their sizes? What
 * they call stands in remarks (dev_opencl.c), which a driver may not leave as they are, so it is
 * tried, once. */
static bool rt_has_wide_units(rt_ctx *ctx)
{
    enum { UNKNOWN, NONE, SOME, FOUR_WARPS = 128 };
    int32_t x[2] = {0, 0};
    if (ctx->device.matrix_units < 2 || !ctx->sized)
        return false;
    if (ctx->wide_units == UNKNOWN) {
        bool ran = rt_dev_tries(ctx->dev, rt_text_units_cl, "", "mf_units", FOUR_WARPS, x);
        ctx->wide_units = ran && x[1] == FOUR_WARPS ? SOME : NONE;
        rt_debug(ctx, "Products of four warps: %s", ctx->wide_units == SOME ? "yes" : "no");
    }
    return ctx->wide_units == SOME;
}

RT_API int64_t rt_size(rt_ctx *ctx, rt_size_class c)
{
    int64_t v = ctx->user_sizes[c] ? ctx->user_sizes[c] : ctx->facts[c];
    if (ctx->user_sizes[c] < 0)
        return 0;
    /* Wide products: without any units they can be tried; with theirs, tiles must begin where they
     * may, as where kernels declare them. */
    if (c == RT_MATRIX_UNITS && v > 1)
        v = !ctx->device.matrix_units ? 3 : rt_has_wide_units(ctx) ? 2 : 1;
    return rt_at_most(ctx, c, v);
}
