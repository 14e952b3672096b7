#include "packages/semver.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

enum { MAX_DIGITS = 18 }; /* of a number: it fits 64 bits */

/* A number without leading zeros; the characters of it, 0 if there is none. */
static size_t read_number(const char *s, size_t n, uint64_t *x)
{
    size_t k = 0;
    *x = 0;
    if (n && *s == '0')
        return 1;
    for (; k < n && isdigit((unsigned char)s[k]); k++)
        *x = *x * 10 + (uint64_t)(s[k] - '0');
    return k <= MAX_DIGITS ? k : 0;
}

/* What stands behind `mark`, of the characters that `is` says; NULL if the mark is not there. *at
 * moves behind it; false if nothing follows the mark. */
static bool read_part(Arena *a, const char *s, size_t n, size_t *at, char mark, int (*is)(int),
                      const char **part)
{
    *part = NULL;
    if (*at == n || s[*at] != mark)
        return true;
    size_t from = ++*at;
    while (*at < n && is((unsigned char)s[*at]))
        ++*at;
    *part = arena_strndup(a, s + from, *at - from);
    return *at > from;
}

size_t semver_read(Arena *a, const char *s, size_t n, Semver *v)
{
    uint64_t *numbers[] = {&v->major, &v->minor, &v->patch};
    size_t at = 0;
    for (int i = 0; i < 3; i++) {
        if (i && (at == n || s[at++] != '.'))
            return 0;
        size_t k = read_number(s + at, n - at, numbers[i]);
        if (!k)
            return 0;
        at += k;
    }
    return read_part(a, s, n, &at, '-', isdigit, &v->time) &&
                   read_part(a, s, n, &at, '+', isalnum, &v->commit)
               ? at
               : 0;
}

bool semver_is(Arena *a, const char *s, Semver *v)
{
    size_t n = strlen(s);
    return n && semver_read(a, s, n, v) == n;
}

static int compare_numbers(uint64_t x, uint64_t y)
{
    return (x > y) - (x < y);
}

int semver_compare(Semver x, Semver y)
{
    int c = compare_numbers(x.major, y.major);
    c = c ? c : compare_numbers(x.minor, y.minor);
    c = c ? c : compare_numbers(x.patch, y.patch);
    if (c || (!x.time && !y.time))
        return c;
    if (!x.time || !y.time)
        return x.time ? -1 : 1;
    c = compare_numbers(strlen(x.time), strlen(y.time));
    return c ? c : strcmp(x.time, y.time);
}

const char *semver_text(Arena *a, Semver v)
{
    return arena_printf(a, "%" PRIu64 ".%" PRIu64 ".%" PRIu64 "%s%s%s%s", v.major, v.minor, v.patch,
                        v.time ? "-" : "", v.time ? v.time : "", v.commit ? "+" : "",
                        v.commit ? v.commit : "");
}

bool semver_is_commit(Semver v)
{
    return !v.major && !v.minor && !v.patch && v.time && v.commit;
}
