/* Scalar expressions as text that means the same in C and in OpenCL C. Operators are used where
 * they are total and have the same meaning everywhere, the functions of runtime/scalar.h elsewhere
 * (signed overflow, division, shifts, mathematical functions). */
#include "codegen/plan.h"

#include "base/intern.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *ctype_c(PrimType t)
{
    return t == T_BOOL ? "mf_bool" : prim_type_text[t];
}

/* The shortest decimal text that reads back as the same number, always with a point or an exponent.
 */
static const char *float_c(Const c)
{
    bool single = c.type == T_F32;
    if (isnan(c.f))
        return single ? "MF_NAN_F32" : "MF_NAN_F64";
    if (isinf(c.f)) {
        if (c.f > 0)
            return single ? "MF_INF_F32" : "MF_INF_F64";
        return single ? "(-MF_INF_F32)" : "(-MF_INF_F64)";
    }
    char num[48], buf[64];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(num, sizeof num, "%.*g", digits, c.f);
        if (single ? strtof(num, NULL) == (float)c.f : strtod(num, NULL) == c.f)
            break;
    }
    if (!strpbrk(num, ".e"))
        strcat(num, ".0");
    bool neg = signbit(c.f);
    snprintf(buf, sizeof buf, "%s%s%s%s", neg ? "(" : "", num, single ? "f" : "", neg ? ")" : "");
    return intern(buf);
}

static const char *int_c(Const c)
{
    char buf[48];
    if (c.type == T_I64 && c.i == INT64_MIN)
        return "(-9223372036854775807L - 1)";
    if (c.type == T_I32 && c.i == INT32_MIN)
        return "(-2147483647 - 1)";
    if (c.type == T_U64)
        snprintf(buf, sizeof buf, "%lluUL", (unsigned long long)c.i);
    else if (c.type == T_U32)
        snprintf(buf, sizeof buf, "%lluU", (unsigned long long)c.i);
    else
        snprintf(buf, sizeof buf, c.i < 0 ? "(%lld%s)" : "%lld%s", (long long)c.i,
                 c.type == T_I64 ? "L" : "");
    return intern(buf);
}

const char *atom_c(Atom a)
{
    if (a.var)
        return var_c_name(a.var);
    return prim_is_float(a.c.type) ? float_c(a.c) : int_c(a.c);
}

/* The infix operator that op is in C on operands of type t, or NULL where a function is needed. */
static const char *infix(PrimOp op, PrimType t)
{
    bool f = prim_is_float(t);
    switch ((int)op) { /* not over all operations: what is not listed is a function */
    case OP_ADD: return f ? "+" : NULL;
    case OP_SUB: return f ? "-" : NULL;
    case OP_MUL: return f ? "*" : NULL;
    case OP_DIV: return f ? "/" : NULL;
    case OP_AND: return "&";
    case OP_OR: return "|";
    case OP_XOR: return "^";
    case OP_LAND: return "&&";
    case OP_LOR: return "||";
    case OP_MIN: return t == T_BOOL ? "&&" : NULL;
    case OP_MAX: return t == T_BOOL ? "||" : NULL;
    case OP_EQ: return "==";
    case OP_NE: return "!=";
    case OP_LT: return "<";
    case OP_LE: return "<=";
    }
    return NULL;
}

static const char *prim_c(PrimOp op, PrimType t, const Atoms *args)
{
    Out o = {0};
    const char *sign = infix(op, t);
    const char *x = atom_c(args->at[0]);
    if (op == OP_NOT) {
        out_printf(&o, "!%s", x);
    } else if (op == OP_COMPL) {
        out_printf(&o, "(%s)~%s", ctype_c(t), x);
    } else if (op == OP_NEG && prim_is_float(t)) {
        out_printf(&o, "-%s", x);
    } else if (sign) {
        out_printf(&o, "%s %s %s", x, sign, atom_c(args->at[1]));
    } else {
        out_printf(&o, "mf_%s_%s(", op == OP_MULHI ? "mulhi" : prim_info[op].text,
                   prim_type_text[t]);
        for (int i = 0; i < args->n; i++)
            out_printf(&o, "%s%s", i ? ", " : "", atom_c(args->at[i]));
        out_puts(&o, ")");
    }
    const char *text = intern(o.text);
    out_free(&o);
    return text;
}

static const char *conv_c(PrimType from, PrimType to, Atom a)
{
    char buf[192];
    const char *x = atom_c(a);
    if (from == to)
        return x;
    if (to == T_BOOL)
        snprintf(buf, sizeof buf, "%s != 0", x);
    else if (prim_is_int(to) && (prim_is_float(from) || prim_is_signed(from) > prim_is_signed(to)))
        snprintf(buf, sizeof buf, "mf_%s_to_%s(%s)", prim_type_text[from], prim_type_text[to], x);
    else
        snprintf(buf, sizeof buf, "(%s)%s", ctype_c(to), x);
    return intern(buf);
}

const char *scalar_c(const Exp *e)
{
    if (e->kind == E_ATOM)
        return atom_c(e->atom);
    if (e->kind == E_PRIM)
        return prim_c(e->prim.op, e->prim.type, &e->prim.args);
    if (e->kind == E_CONV)
        return conv_c(e->conv.from, e->conv.to, e->conv.arg);
    ice(e->loc, "%s is not a scalar expression", form_info[e->kind].tag);
}

/* --- Checks ---------------------------------------------------------------------------------- */

const char *scalar_check_c(const Exp *e, const char **msg)
{
    if (e->kind != E_PRIM || !prim_is_int(e->prim.type))
        return NULL;
    PrimOp op = e->prim.op;
    Atom y = e->prim.args.n > 1 ? e->prim.args.at[1] : (Atom){0};
    char buf[128];
    if (op == OP_DIV || op == OP_MOD || op == OP_QUOT || op == OP_REM) {
        if (!y.var && y.c.i != 0)
            return NULL;
        *msg = "division by zero";
        snprintf(buf, sizeof buf, "%s != 0", atom_c(y));
        return intern(buf);
    }
    if (op == OP_POW && prim_is_signed(e->prim.type)) {
        if (!y.var && y.c.i >= 0)
            return NULL;
        *msg = "negative exponent";
        snprintf(buf, sizeof buf, "%s >= 0", atom_c(y));
        return intern(buf);
    }
    return NULL;
}

static bool const_in(Atom a, int64_t lo, Atom size)
{
    return !a.var && !size.var && a.c.i >= lo && a.c.i < size.c.i;
}

/* `0 <= s && `, or nothing if that is plain. */
static const char *not_negative(Atom a)
{
    if (!a.var && a.c.i >= 0)
        return "";
    char buf[128];
    snprintf(buf, sizeof buf, "0 <= %s && ", atom_c(a));
    return intern(buf);
}

/* The condition for one index component to lie in a dimension of size `size`, appended to o. */
static void dim_check(Out *o, DimIndex d, Atom size)
{
    const char *sep = o->n ? " && " : "", *s = atom_c(d.start), *z = atom_c(size);
    if (!d.is_slice) {
        if (!const_in(d.start, 0, size))
            out_printf(o, "%s%s%s < %s", sep, not_negative(d.start), s, z);
        return;
    }
    if (atom_is_int(d.start, 0) && atom_eq(d.n, size) && atom_is_int(d.stride, 1))
        return;
    if (!d.start.var && !d.n.var && !d.stride.var && const_in(d.start, 0, size) && d.n.c.i >= 1 &&
        const_in(atom_i64(d.start.c.i + (d.n.c.i - 1) * d.stride.c.i), 0, size))
        return;
    const char *n = atom_c(d.n), *st = atom_c(d.stride), *close = "";
    out_puts(o, sep);
    if (d.n.var || d.n.c.i < 1) { /* empty slices are fine anywhere */
        out_printf(o, "(%s == 0 || (%s > 0 && ", n, n);
        close = "))";
    }
    if (atom_is_int(d.stride, 1))
        out_printf(o, "%s%s <= %s - %s%s", not_negative(d.start), s, z, n, close);
    else
        out_printf(o, "%s%s < %s && 0 <= %s + (%s - 1) * %s && %s + (%s - 1) * %s < %s%s",
                   not_negative(d.start), s, z, s, n, st, s, n, st, z, close);
}

static const DimIndexes *index_dims(const Exp *e, Type *t, bool *safe)
{
    if (e->kind == E_INDEX) {
        *t = atom_type(e->index.arr);
        *safe = e->index.safe;
        return &e->index.at;
    }
    ASSERT(e->kind == E_UPDATE);
    *t = atom_type(e->update.arr);
    *safe = e->update.safe;
    return &e->update.at;
}

const char *index_check_c(const Exp *e)
{
    Type t;
    bool safe;
    const DimIndexes *at = index_dims(e, &t, &safe);
    if (safe)
        return NULL;
    Out o = {0};
    for (int k = 0; k < at->n; k++)
        dim_check(&o, at->at[k], t.dims[k]);
    const char *text = o.n ? intern(o.text) : NULL;
    out_free(&o);
    return text;
}

static void push_arg(Ctx *cx, Texts *args, const char *text)
{
    vec_push(cx->perm, args, text);
}

/* start:end or start:end:stride, as the interpreter prints it. */
static void slice_args(Ctx *cx, Out *msg, DimIndex d, Texts *args)
{
    bool unit = atom_is_int(d.stride, 1);
    out_puts(msg, unit ? "%ld:%ld" : "%ld:%ld:%ld");
    push_arg(cx, args, atom_c(d.start));
    const char *start = atom_c(d.start), *n = atom_c(d.n);
    push_arg(cx, args,
             arena_printf(cx->perm, "mf_slice_end(%s, %s, %s)", start, n, atom_c(d.stride)));
    if (!unit)
        push_arg(cx, args, atom_c(d.stride));
}

int index_site(Ctx *cx, Plan *p, const Exp *e, Texts *args)
{
    Type t;
    bool safe;
    const DimIndexes *at = index_dims(e, &t, &safe);
    Out o = {0};
    *args = (Texts){0};
    out_puts(&o, "index [");
    for (int k = 0; k < at->n; k++) {
        DimIndex d = at->at[k];
        out_puts(&o, k ? ", " : "");
        if (d.is_slice) {
            slice_args(cx, &o, d, args);
        } else {
            out_puts(&o, "%ld");
            push_arg(cx, args, atom_c(d.start));
        }
    }
    out_puts(&o, "] out of bounds for array of shape ");
    for (int k = 0; k < t.rank; k++) {
        out_puts(&o, "[%ld]");
        push_arg(cx, args, atom_c(t.dims[k]));
    }
    bool fits = args->n <= 8; /* what a failure can carry */
    int site = plan_site(p, e->loc, fits ? o.text : "index out of bounds");
    if (!fits)
        *args = (Texts){0};
    out_free(&o);
    return site;
}

int assert_site(Ctx *cx, Plan *p, const Exp *e, Texts *args)
{
    Out o = {0};
    int n = 0;
    for (const char *m = e->assertion.msg; *m; m++) {
        if (m[0] == '%' && m[1] == 'd') {
            out_puts(&o, n++ < 8 ? "%ld" : "?");
            m++;
        } else {
            bool percent = m[0] == '%' && m[1] == '%'; /* escaped there as in sites */
            out_putn(&o, m, percent ? 2 : 1);
            m += percent;
        }
    }
    *args = (Texts){0};
    for (int i = 0; i < e->assertion.args.n && i < 8; i++)
        push_arg(cx, args, atom_c(e->assertion.args.at[i]));
    int site = plan_site(p, e->loc, o.text ? o.text : "assertion failed");
    out_free(&o);
    return site;
}
