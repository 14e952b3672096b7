/* C identifiers: different names give different ones. */
#include "base/ident.h"

#include "base/intern.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static bool is_alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* FNV-1a. */
static uint64_t hash(const char *s)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 0x100000001b3u;
    return h;
}

/* Letters, digits and single underscores stand for themselves. Two underscores and a letter escape
 * what C does not know (`p` a prime, `x` any other byte in hexadecimal), and an underscore that
 * follows one (`u`), so that no name looks like an escaped one; of a long name, `h` and a hash
 * stand for the rest. */
const char *c_ident(const char *base)
{
    enum { CUT = 36, MOST = 56, ESCAPE = 5 };
    char buf[MOST + ESCAPE + 1];
    size_t n = 0, cut = 0;
    const char *p = base;
    if (!is_alpha(*p))
        buf[n++] = 'v';
    for (; *p && n <= MOST; p++) {
        if (is_alpha(*p) || is_digit(*p))
            buf[n++] = *p;
        else if (*p == '_')
            n += (size_t)sprintf(buf + n, n == 0 || p == base || p[-1] == '_' ? "__u" : "_");
        else if (*p == '\'')
            n += (size_t)sprintf(buf + n, "__p");
        else
            n += (size_t)sprintf(buf + n, "__x%02x", (unsigned char)*p);
        if (n <= CUT)
            cut = n;
    }
    if (*p || n > MOST)
        n = cut + (size_t)sprintf(buf + cut, "__h%016llx", (unsigned long long)hash(base));
    return intern_n(buf, n);
}

const char *c_ident_numbered(const char *base, int id)
{
    char buf[96];
    snprintf(buf, sizeof buf, "%s_%d", c_ident(base), id);
    return intern(buf);
}
