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
    static const char *const text[N_PRIM_TYPES] = {
        [T_BOOL] = "RT_BOOL", [T_I8] = "RT_I8",   [T_I16] = "RT_I16", [T_I32] = "RT_I32",
        [T_I64] = "RT_I64",   [T_U8] = "RT_U8",   [T_U16] = "RT_U16", [T_U32] = "RT_U32",
        [T_U64] = "RT_U64",   [T_F32] = "RT_F32", [T_F64] = "RT_F64"};
    return text[t];
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
