#include "command/source.h"

#include "command/output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Why a file is not read, NULL if it may be a program. */
static const char *no_program(const char *path, bool pipe)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return strerror(errno);
    if (S_ISDIR(st.st_mode))
        return strerror(EISDIR);
    bool is_pipe = S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode);
    return S_ISREG(st.st_mode) || (is_pipe && pipe) ? NULL : "it is no regular file";
}

/* NULL and errno if it cannot be read. */
static char *read_all(Arena *a, const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    size_t cap = 1 << 16, len = 0;
    char *text = malloc(cap);
    while (text) {
        len += fread(text + len, 1, cap - len, f);
        if (len < cap || len > MAX_SOURCE)
            break;
        char *more = realloc(text, cap *= 2);
        if (!more)
            free(text);
        text = more;
    }
    int err = !text ? ENOMEM : ferror(f) ? (errno ? errno : EIO) : len > MAX_SOURCE ? EFBIG : 0;
    fclose(f);
    char *kept = err ? NULL : arena_strndup(a, text, len);
    free(text);
    errno = err;
    *n = len;
    return kept;
}

static struct {
    SourceInstead *text;
    void *env;
} instead;

void source_set_instead(SourceInstead *text, void *env)
{
    instead.text = text;
    instead.env = env;
}

char *source_read(Arena *a, const char *path, bool pipe, Loc loc, size_t *n)
{
    const char *known = instead.text ? instead.text(instead.env, path, n) : NULL;
    if (known)
        return arena_strndup(a, known, *n);
    const char *wrong = no_program(path, pipe);
    char *text = wrong ? NULL : read_all(a, path, n);
    if (!text)
        diag_error(loc, "cannot read `%s`: %s", path, wrong ? wrong : strerror(errno));
    else
        output_protect(path, "a file of the program");
    return text;
}

bool source_there(const char *path)
{
    size_t n;
    struct stat st;
    return (instead.text && instead.text(instead.env, path, &n)) || stat(path, &st) == 0;
}

size_t source_stem(const char *name)
{
    static const char *const endings[] = {".sf", ".fut"};
    size_t n = strlen(name);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t k = strlen(endings[i]);
        if (n > k && !strcmp(name + n - k, endings[i]))
            return n - k;
    }
    return n;
}
