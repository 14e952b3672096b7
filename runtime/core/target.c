/* What hangs on the target of a device: on the kind of code that is written for it. Policy stands
 * in a row here, sizes and facts in a column of facts.def. */
#include "runtime/core/internal.h"

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

static void rt_grown_add(rt_grown *t, const char *s, size_t n)
{
    if (t->cap - t->n < n) {
        t->cap = 2 * (t->n + n);
        t->at = rt_grow(t->at, t->cap);
    }
    memcpy(t->at + t->n, s, n);
    t->n += n;
}

static size_t rt_line_length(const char *s)
{
    size_t n = strcspn(s, "\n");
    return n + (s[n] == '\n');
}

/* The lines of a text, with so much in front of each. */
static void rt_grown_add_lines(rt_grown *t, const char *s, const char *indent, size_t n_indent)
{
    for (size_t n; *s; s += n) {
        n = rt_line_length(s);
        rt_grown_add(t, indent, *s == '\n' ? 0 : n_indent);
        rt_grown_add(t, s, n);
    }
}

RT_API char *rt_text_whole(const char *const *shared, const char *text)
{
    rt_grown t = {0};
    for (size_t n; *text; text += n) {
        size_t indent = strspn(text, " ");
        n = rt_line_length(text);
        if (text[indent] == '@')
            rt_grown_add_lines(&t, shared[strtoul(text + indent + 1, NULL, 10)], text, indent);
        else
            rt_grown_add(&t, text, n);
    }
    rt_grown_add(&t, "", 1);
    return t.at;
}

RT_API const char *rt_text_of(const rt_ctx *ctx, const rt_kernel *k)
{
    const char *text = ctx->target->functions ? NULL : k->def->source;
    bool own = k->id >= 0 && k->id < ctx->prog->n_kernels;
    if (!text || !own || !ctx->prog->shared)
        return text;
    if (!ctx->texts[k->id])
        ctx->texts[k->id] = rt_text_whole(ctx->prog->shared, text);
    return ctx->texts[k->id];
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

RT_API int64_t rt_size(const rt_ctx *ctx, rt_size_class c)
{
    int64_t v = ctx->user_sizes[c] ? ctx->user_sizes[c] : ctx->facts[c];
    return rt_at_most(ctx, c, v);
}
