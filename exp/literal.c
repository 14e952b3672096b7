/* Constants as C text, and names of their types. */
#include "exp/exp.h"

#include "base/intern.h"
#include "common/values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The shortest decimal text that reads back as the same number, always with a point or an exponent;
 * of soft types, the bits. */
static void float_text(Out *o, Const c)
{
    if (prim_is_soft(c.type)) {
        rt_scalar bits;
        rt_float_put((rt_prim)c.type, c.f, &bits);
        out_printf(o, "0x%llx", (unsigned long long)rt_int_get((rt_prim)c.type, &bits));
        return;
    }
    if (isnan(c.f) || isinf(c.f)) {
        out_printf(o,
                   isnan(c.f) ? "MF_NAN_F%d"
                   : c.f > 0  ? "MF_INF_F%d"
                              : "(-MF_INF_F%d)",
                   prim_bits(c.type));
        return;
    }
    char num[48];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(num, sizeof num, "%.*g", digits, c.f);
        if (prim_read(c.type, num) == c.f)
            break;
    }
    const char *point = strpbrk(num, ".e") ? "" : ".0", *f = c.type == T_F32 ? "f" : "";
    out_printf(o, signbit(c.f) ? "(%s%s%s)" : "%s%s%s", num, point, f);
}

static void int_text(Out *o, Const c)
{
    if (c.type == T_I64 && c.i == INT64_MIN)
        out_puts(o, "(-9223372036854775807L - 1)");
    else if (c.type == T_I32 && c.i == INT32_MIN)
        out_puts(o, "(-2147483647 - 1)");
    else if (c.type == T_U64)
        out_printf(o, "%lluUL", (unsigned long long)c.i);
    else if (c.type == T_U32)
        out_printf(o, "%lluU", (unsigned long long)c.i);
    else
        out_printf(o, c.i < 0 ? "(%lld%s)" : "%lld%s", (long long)c.i, c.type == T_I64 ? "L" : "");
}

const char *kir_const_c(Const c)
{
    Out o = {0};
    if (prim_is_float(c.type))
        float_text(&o, c);
    else
        int_text(&o, c);
    const char *text = intern(o.text);
    out_free(&o);
    return text;
}

const char *ctype_c(PrimType t)
{
    return t == T_BOOL ? "mf_bool" : prim_type_text[t];
}
