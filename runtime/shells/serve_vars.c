/* What the commands of the server stand on: answers, types by name, variables. */
#include "runtime/shells/serve.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* --- Answers --- */

RT_API bool rt_srv_fail(const char *fmt, ...)
{
    va_list ap;
    puts("%%% FAILURE");
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    putchar('\n');
    return false;
}

/* --- Types --- */

RT_API void rt_srv_print_type(const rt_server *s, int type)
{
    if (type >= 0) {
        fputs(s->prog->types[type].name, stdout);
        return;
    }
    const rt_entry_def *e = &s->prog->entries[-1 - type];
    putchar('(');
    for (int i = 0; i < e->n_out; i++)
        printf("%s%s", i ? ", " : "", s->prog->types[e->out[i].type].name);
    putchar(')');
}

RT_API int rt_srv_components(const rt_server *s, int type)
{
    if (type >= 0)
        return rt_type_components(s->prog, type);
    const rt_entry_def *e = &s->prog->entries[-1 - type];
    return rt_slots_components(s->prog, e->n_out, e->out);
}

RT_API bool rt_srv_field(const rt_server *s, int type, const char *name, int *field_type, int *at)
{
    char number[16];
    bool tuple = type < 0;
    int n = tuple ? s->prog->entries[-1 - type].n_out : s->prog->types[type].n_fields;
    *at = 0;
    for (int i = 0; i < n; i++) {
        snprintf(number, sizeof number, "%d", i);
        *field_type =
            tuple ? s->prog->entries[-1 - type].out[i].type : s->prog->types[type].fields[i].type;
        if (strcmp(name, tuple ? number : s->prog->types[type].fields[i].name) == 0)
            return true;
        *at += rt_type_components(s->prog, *field_type);
    }
    return false;
}

RT_API bool rt_srv_has_fields(const rt_type_def *t)
{
    return t->kind == RT_KIND_RECORD || (t->kind == RT_KIND_OPAQUE && t->n_fields);
}

RT_API bool rt_srv_type(const rt_server *s, const char *name, int *type)
{
    *type = rt_type_named(s->prog, name);
    return *type >= 0 || rt_srv_fail("Unknown type: %s", name);
}

/* --- Variables --- */

RT_API rt_var *rt_srv_lookup(const rt_server *s, const char *name)
{
    for (int i = 0; i < s->n_vars; i++)
        if (strcmp(s->vars[i].name, name) == 0)
            return &s->vars[i];
    return NULL;
}

RT_API rt_var *rt_srv_var(const rt_server *s, const char *name)
{
    rt_var *v = rt_srv_lookup(s, name);
    if (!v)
        rt_srv_fail("Unknown variable: %s", name);
    else if (v->consumed)
        rt_srv_fail("Variable was consumed: %s", name);
    return v && !v->consumed ? v : NULL;
}

RT_API bool rt_srv_is_new(const rt_server *s, const char *name)
{
    return !rt_srv_lookup(s, name) || rt_srv_fail("Variable already exists: %s", name);
}

RT_API bool rt_srv_all_new(const rt_server *s, int n, char **names)
{
    for (int i = 0; i < n; i++) {
        if (!rt_srv_is_new(s, names[i]))
            return false;
        for (int k = 0; k < i; k++)
            if (strcmp(names[i], names[k]) == 0)
                return rt_srv_fail("Variable already exists: %s", names[i]);
    }
    return true;
}

RT_API void rt_srv_define(rt_server *s, const char *name, int type, int n, const rt_value *values)
{
    if (s->n_vars == s->cap_vars) {
        s->cap_vars = s->cap_vars ? 2 * s->cap_vars : 16;
        s->vars = rt_grow(s->vars, (size_t)s->cap_vars * sizeof *s->vars);
    }
    rt_var *v = &s->vars[s->n_vars++];
    *v = (rt_var){.name = rt_format("%s", name), .type = type, .n = n};
    v->values = rt_grow(NULL, (size_t)n * sizeof *v->values);
    if (n > 0)
        memcpy(v->values, values, (size_t)n * sizeof *v->values);
}

RT_API void rt_srv_drop(rt_server *s, rt_var *v)
{
    rt_values_release(s->ctx, v->n, v->values);
    free(v->values);
    free(v->name);
    *v = s->vars[--s->n_vars];
}
