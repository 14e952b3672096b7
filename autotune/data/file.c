#include "autotune/data/file.h"

#include "common/values.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put(Arena *a, Settings *s, const char *name, int64_t value)
{
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->at[i].name, name) == 0) {
            s->at[i].value = value;
            return;
        }
    vec_push(a, s, ((Setting){arena_strdup(a, name), value}));
}

/* Cuts the comment off and the white space around. */
static char *trim(char *line)
{
    char *comment = strstr(line, "--");
    if (comment)
        *comment = '\0';
    while (isspace((unsigned char)*line))
        line++;
    char *end = line + strlen(line);
    while (end > line && isspace((unsigned char)end[-1]))
        *--end = '\0';
    return line;
}

static bool parse_line(Arena *a, char *line, Settings *s)
{
    char *eq = strchr(line, '='), *end;
    if (!eq || eq == line)
        return false;
    *eq = '\0';
    errno = 0;
    long long v = strtoll(eq + 1, &end, 10);
    if (end == eq + 1 || *trim(end) || errno || v < 0)
        return false;
    put(a, s, trim(line), v);
    return true;
}

bool tuning_read(Arena *a, const char *path, Settings *s, const char **wrong)
{
    const char *why;
    FILE *f = rt_file_open(path, false, &why);
    if (!f) {
        *wrong = arena_printf(a, "cannot read %s: %s", path, why);
        return false;
    }
    char *buf = NULL;
    size_t cap = 0;
    bool ok = true;
    for (int n = 1; ok && getline(&buf, &cap, f) >= 0; n++) {
        char *line = trim(buf);
        if (*line && !parse_line(a, line, s)) {
            *wrong = arena_printf(a, "%s:%d: expected name=number", path, n);
            ok = false;
        }
    }
    if (ok && ferror(f)) {
        *wrong = arena_printf(a, "cannot read %s: %s", path, strerror(errno));
        ok = false;
    }
    free(buf);
    fclose(f);
    return ok;
}

const char *tuning_comment(Arena *a, const char *path, const char *head)
{
    const char *rest = NULL, *wrong;
    FILE *f = rt_file_open(path, false, &wrong);
    char *buf = NULL;
    size_t cap = 0;
    while (f && getline(&buf, &cap, f) >= 0) {
        const char *text = strncmp(buf, "--", 2) == 0 ? buf + 2 + strspn(buf + 2, " \t") : "";
        if (*text && strncmp(text, head, strlen(head)) == 0)
            rest = arena_strndup(a, text + strlen(head), strcspn(text + strlen(head), "\r\n"));
    }
    free(buf);
    if (f)
        fclose(f);
    return rest;
}

bool tuning_is(const char *path)
{
    Arena *a = arena_new();
    Settings s = {0};
    const char *wrong;
    bool is = tuning_read(a, path, &s, &wrong);
    arena_free(a);
    return is;
}

void tuning_print(Out *o, const char *comment, const Settings *s)
{
    for (const char *line = comment; *line;) {
        size_t n = strcspn(line, "\n");
        out_puts(o, "-- ");
        out_putn(o, line, n);
        out_puts(o, "\n");
        line += n + (line[n] == '\n');
    }
    for (int i = 0; i < s->n; i++)
        out_printf(o, "%s=%lld\n", s->at[i].name, (long long)s->at[i].value);
}
