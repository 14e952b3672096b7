/* Tuning files and --param. */
#include "runtime/core/internal.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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
