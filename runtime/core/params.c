/* Tuning parameters and general sizes by their names: what they are set to, and what they are else.
 */
#include "common/spell.h"
#include "runtime/core/internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- Names of general sizes --- */

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

/* That of "default_NAME". */
static const rt_size_name *rt_default_named(const char *name)
{
    return strncmp(name, "default_", 8) == 0 ? rt_size_named(name + 8) : NULL;
}

/* --- Parameters --- */

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

RT_API void rt_params_open(rt_ctx *ctx)
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

RT_API void rt_params_free(rt_ctx *ctx)
{
    free(ctx->user_params);
    free(ctx->param_sizes);
}

RT_API int64_t rt_param(const rt_ctx *ctx, int param)
{
    const rt_param_def *p = &ctx->prog->params[param];
    rt_size_class size = ctx->param_sizes[param];
    int64_t v = ctx->user_params[param];
    if (v == 0)
        v = p->value;
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

RT_API bool rt_param_known(const rt_program *prog, const char *name)
{
    return rt_param_named(prog, name) >= 0 || rt_default_named(name);
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
        if (size->size == RT_LOCAL_MEMORY)
            rt_refusals_forget(ctx);
    }
    return RT_OK;
}
