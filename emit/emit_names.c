/* Names and literals that several parts of the C program mention. */
#include "base/intern.h"
#include "emit/emit_parts.h"

#include <string.h>

const char *c_string(Ctx *cx, const char *s)
{
    Out o = {0};
    out_c_string(&o, s, strlen(s));
    const char *text = arena_strndup(cx->perm, o.text, o.n);
    out_free(&o);
    return text;
}

const char *rt_prim_c(PrimType t)
{
    static const char *const names[N_PRIM_TYPES] = {
#define X(TAG, ...) [T_##TAG] = "RT_" #TAG,
        RT_SCALARS(X, )
#undef X
    };
    return names[t];
}

const char *rt_member_c(PrimType t)
{
    static const char *const names[N_PRIM_TYPES] = {
#define X(TAG, T, ...) [T_##TAG] = #T,
        RT_SCALARS(X, )
#undef X
    };
    return names[t];
}

const char *entry_fn(const Entry *en)
{
    char buf[160];
    snprintf(buf, sizeof buf, "entry_%s", c_ident(en->name));
    return intern(buf);
}

const char *kernel_enum(const Kernel *k)
{
    char buf[160];
    snprintf(buf, sizeof buf, "K_%s", k->name);
    return intern(buf);
}

const char *param_enum(Ctx *cx, const char *name)
{
    size_t n = strcspn(name, "."); /* ENTRY.suff_outer_par_0 */
    return arena_printf(cx->perm, "P_%s_%s", c_ident(arena_strndup(cx->perm, name, n)),
                        name + n + (name[n] == '.'));
}

int emit_param_id(const Plan *p, const char *name)
{
    for (int i = 0; i < plan_n_params(p); i++)
        if (strcmp(plan_param_name(p, i), name) == 0)
            return i;
    ice((Loc){0}, "unknown tuning parameter %s", name);
}
