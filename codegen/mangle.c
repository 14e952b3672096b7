/* Identifiers of generated code: the only place where they are made. A name is the source name with
 * what C does not allow replaced, and the variable's id: no reserved word and no name of the
 * runtime (rt_..., mf_...) ends in an underscore and digits, so nothing can clash. */
#include "codegen/plan.h"

#include "base/intern.h"

#include <string.h>

static bool is_alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

const char *c_ident(const char *base)
{
    char buf[64];
    size_t n = 0;
    if (!is_alpha(base[0]))
        buf[n++] = 'v';
    for (const char *p = base; *p && n < sizeof buf - 2; p++)
        buf[n++] = is_alpha(*p) || is_digit(*p) ? *p : *p == '\'' ? 'p' : '_';
    return intern_n(buf, n);
}

const char *var_c_name(const Var *v)
{
    char buf[96];
    snprintf(buf, sizeof buf, "%s_%d", c_ident(v->base ? v->base : "v"), v->id);
    return intern(buf);
}
