/* Tuning parameters and general sizes by their names: what they are set to, by tuning files and
 * --param, too, and what they are else. */
#include "common/spell.h"
#include "runtime/core/internal.h"

#include <ctype.h>
#include <errno.h>
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

RT_API int64_t rt_param(rt_ctx *ctx, int param)
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
        bool none = size->size == RT_MATRIX_UNITS && value == 0;
        ctx->user_sizes[size->size] = none ? -1 : value;
        rt_note_sizes(ctx);
        if (size->size == RT_LOCAL_MEMORY)
            rt_refusals_forget(ctx);
    }
    return RT_OK;
}

/* --- Tuning files and --param --- */

/* "NAME=INT" with blanks around each part: cuts the name out of line. False if it is not that. */
static bool rt_parse_assignment(char *line, char **name, int64_t *value)
{
    char *eq = strchr(line, '='), *end;
    if (!eq)
        return false;
    *eq = '\0';
    *name = line + strspn(line, " \t");
    for (char *s = eq; s > *name && (*s == '\0' || isspace((unsigned char)*s)); s--)
        *s = '\0';
    errno = 0;
    *value = strtoll(eq + 1, &end, 10);
    if (end == eq + 1 || errno)
        return false;
    end += strspn(end, " \t\r\n");
    return **name != '\0' && *end == '\0' && *value >= 0;
}

RT_API int rt_tuning_assignment(rt_ctx *ctx, const char *text)
{
    char *name, *copy = rt_format("%s", text);
    int64_t value;
    int rc = rt_parse_assignment(copy, &name, &value)
                 ? rt_set_param(ctx, name, value)
                 : rt_error_set(ctx, "expected NAME=INT, got '%s'", text);
    free(copy);
    return rc;
}

/* What begins the line of an origin, and what is said when it is another's. */
static const struct {
    const char *head, *warning;
    bool tells; /* which one it is */
} rt_origins[RT_N_ORIGINS] = {
    {"device: ", "tuned on another device: ", true},
    {"program: ", "tuned for another version of the program", false},
};

static uint64_t rt_program_hash(const rt_program *p)
{
    uint64_t h = RT_HASH_START ^ p->kernels_hash;
    for (int i = 0; i < p->n_params; i++)
        h = rt_hash(rt_hash(h, p->params[i].name), p->params[i].cls);
    return h;
}

RT_API char *rt_tuning_origin(const rt_ctx *ctx, rt_origin which)
{
    const char *head = rt_origins[which].head;
    if (which == RT_ORIGIN_PROGRAM)
        return rt_format("%s%016" PRIx64, head, rt_program_hash(ctx->prog));
    char *text = rt_format("%s%s", head, ctx->device.name);
    for (char *s = text; *s; s++)
        if (*s == '\n' || *s == '\r')
            *s = ' ';
    return text;
}

/* Warns if a comment is the line of an origin that is not ours. */
static void rt_check_origin(const rt_ctx *ctx, const char *path, int number, const char *comment)
{
    const char *text = comment + 2 + strspn(comment + 2, " \t");
    for (int i = 0; i < RT_N_ORIGINS; i++) {
        size_t n = strlen(rt_origins[i].head), end = strcspn(text, "\r\n");
        if (strncmp(text, rt_origins[i].head, n) != 0)
            continue;
        char *own = rt_tuning_origin(ctx, i);
        if (!ctx->config.quiet && (strlen(own) != end || strncmp(own, text, end) != 0))
            fprintf(stderr, "%s:%d: warning: %s%.*s\n", path, number, rt_origins[i].warning,
                    rt_origins[i].tells ? (int)(end - n) : 0, text + n);
        free(own);
    }
}

/* A line of a tuning file. */
static int rt_tuning_line(rt_ctx *ctx, const char *path, int number, char *line)
{
    char *name, *comment = strstr(line, "--"), text[64];
    int64_t value;
    if (comment == line)
        rt_check_origin(ctx, path, number, comment);
    if (comment)
        *comment = '\0';
    line[strcspn(line, "\r\n")] = '\0';
    if (line[strspn(line, " \t")] == '\0')
        return RT_OK;
    snprintf(text, sizeof text, "%s", line);
    if (!rt_parse_assignment(line, &name, &value))
        return rt_error_set(ctx, "%s:%d: expected name=int, got '%s'", path, number, text);
    if (rt_set_param(ctx, name, value) && !ctx->config.quiet)
        fprintf(stderr, "%s:%d: warning: %s\n", path, number, rt_error(ctx));
    return RT_OK;
}

RT_API int rt_tuning_file(rt_ctx *ctx, const char *path)
{
    char *line = NULL;
    size_t cap = 0;
    int rc = RT_OK;
    const char *wrong;
    FILE *f = rt_file_open(path, true, &wrong);
    if (!f)
        return rt_error_set(ctx, "cannot read %s: %s", path, wrong);
    for (int number = 1; rc == RT_OK && getline(&line, &cap, f) >= 0; number++)
        rc = rt_tuning_line(ctx, path, number, line);
    if (rc == RT_OK && ferror(f))
        rc = rt_error_set(ctx, "cannot read %s: %s", path, strerror(errno));
    free(line);
    fclose(f);
    return rc;
}
