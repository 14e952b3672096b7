/* Tuning files and --param. */
#include "runtime/internal.h"

#include <ctype.h>
#include <errno.h>
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

/* A line of a tuning file, without its comment. */
static int rt_tuning_line(rt_ctx *ctx, const char *path, int number, char *line)
{
    char *name, *comment = strstr(line, "--"), text[64];
    int64_t value;
    if (comment)
        *comment = '\0';
    line[strcspn(line, "\r\n")] = '\0';
    if (line[strspn(line, " \t")] == '\0')
        return RT_OK;
    snprintf(text, sizeof text, "%s", line);
    if (!rt_parse_assignment(line, &name, &value))
        return rt_error_set(ctx, "%s:%d: expected name=int, got '%s'", path, number, text);
    if (rt_set_param(ctx, name, value))
        fprintf(stderr, "%s:%d: warning: %s\n", path, number, rt_error(ctx));
    return RT_OK;
}

RT_API int rt_tuning_file(rt_ctx *ctx, const char *path)
{
    char *line = NULL;
    size_t cap = 0;
    int rc = RT_OK;
    FILE *f = fopen(path, "r");
    if (!f)
        return rt_error_set(ctx, "cannot read %s: %s", path, strerror(errno));
    for (int number = 1; rc == RT_OK && getline(&line, &cap, f) >= 0; number++)
        rc = rt_tuning_line(ctx, path, number, line);
    if (rc == RT_OK && ferror(f))
        rc = rt_error_set(ctx, "cannot read %s: %s", path, strerror(errno));
    free(line);
    fclose(f);
    return rc;
}
