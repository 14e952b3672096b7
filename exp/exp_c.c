/* Expressions as C text: for the host's compiler, with the functions of common/scalar.h, and for
 * OpenCL's, whose names the numbers of work-items have. */
#include "exp/exp_c.h"

#include "base/intern.h"

/* --- Types ------------------------------------------------------------------------------------ */

#define OPENCL_WORD(TAG, T, text, bits, C, CL, ...) [T_##TAG] = #CL,

void exp_c_type(Out *o, KType t)
{
    if (t.lanes == 1) {
        out_puts(o, t.index ? "mf_index" : ctype_c(t.elem));
        return;
    }
    static const char *const words[N_PRIM_TYPES] = {RT_SCALARS(OPENCL_WORD, )};
    out_printf(o, "%s%d", words[t.elem], t.lanes);
}

/* --- Facts of the device ---------------------------------------------------------------------- */

/* Of each fact: the name that it has in host code, where each function gets those that it uses from
 * rt_size, and that of its number there. */
static const struct {
    const char *c, *rt;
} size_names[] = {
#define FACT(id, name, gpu, native, unit)                      {name, "RT_" #id},
#define SIZE(id, name, option, gpu, native, unit, most, tried) {name, "RT_" #id},
#define SYNONYM(id, name, option)
    RT_FACTS(FACT, SIZE, SYNONYM)
#undef FACT
#undef SIZE
#undef SYNONYM
};

const char *size_c_name(SizeId id)
{
    return size_names[id].c;
}

const char *size_rt_name(SizeId id)
{
    return size_names[id].rt;
}

/* --- Where an operation might wrap around ----------------------------------------------------- */

/* |x| < 2^bits; 64 if it may be anything. Facts of the device are less than 2^40. */
static int bits_of(const KExp *x)
{
    enum { FACT_BITS = 40 };
    int bits = 0, l = x->n > 1 ? bits_of(x->x[x->n - 2]) : 64;
    int r = x->n > 1 ? bits_of(x->x[x->n - 1]) : 64, more = l > r ? l : r;
    switch (x->kind) {
    case KE_CONST:
        while (bits < 64 && x->c.i >> bits != 0 && x->c.i >> bits != -1)
            bits++;
        return bits + (x->c.i < 0);
    case KE_SIZE: return FACT_BITS;
    case KE_SELECT: return more;
    case KE_CEILDIV: return l;
    case KE_PRIM:
        bits = x->op == OP_ADD || x->op == OP_SUB   ? more + 1
               : x->op == OP_MUL                    ? l + r
               : x->op == OP_MIN || x->op == OP_MAX ? more
               : x->op == OP_QUOT                   ? l
               : x->op == OP_REM                    ? r
                                                    : 64;
        return bits > 64 ? 64 : bits;
    case KE_VAR:
    case KE_HOST:
    case KE_CONV:
    case KE_ID:
    case KE_PART:
    case KE_VECTOR:
    case N_KEXPS: break;
    }
    return 64;
}

/* --- Operations ------------------------------------------------------------------------------- */

/* How operations on sizes are written. */
typedef enum {
    AS_MARKED, /* as in kernels: what is exact is an operator, all else wraps around or does not */
    AS_SIZE,   /* for people, without the types of constants */
    AS_EXACT_SIZE /* with the functions for sizes (common/scalar.h) where it might wrap around */
} Mode;

typedef struct {
    const char *sign;
    PLevel level;
} Infix;

/* The operator that op is in C on operands of type t; no sign where a function is needed. */
static Infix infix_of(PrimOp op, PrimType t, bool exact)
{
    bool plain = prim_is_float(t) || exact;
    if (prim_is_soft(t))
        return (Infix){0};
    switch ((int)op) { /* not over all operations: what is not listed is a function */
    case OP_ADD: return plain ? (Infix){" + ", P_SUM} : (Infix){0};
    case OP_SUB: return plain ? (Infix){" - ", P_SUM} : (Infix){0};
    case OP_MUL: return plain ? (Infix){" * ", P_PRODUCT} : (Infix){0};
    case OP_DIV: return prim_is_float(t) ? (Infix){" / ", P_PRODUCT} : (Infix){0};
    case OP_AND: return (Infix){" & ", P_BITS};
    case OP_OR: return (Infix){" | ", P_BITS};
    case OP_XOR: return (Infix){" ^ ", P_BITS};
    case OP_LAND: return (Infix){" && ", P_LAND};
    case OP_LOR: return (Infix){" || ", P_LOR};
    case OP_MIN: return t == T_BOOL ? (Infix){" && ", P_LAND} : (Infix){0};
    case OP_MAX: return t == T_BOOL ? (Infix){" || ", P_LOR} : (Infix){0};
    case OP_EQ: return (Infix){" == ", P_COMPARE};
    case OP_NE: return (Infix){" != ", P_COMPARE};
    case OP_LT: return (Infix){" < ", P_COMPARE};
    case OP_LE: return (Infix){" <= ", P_COMPARE};
    }
    return (Infix){0};
}

/* Is it C's sign? */
static bool is_minus(const KExp *x)
{
    return x->op == OP_NEG && prim_is_float(x->type.elem) && !prim_is_soft(x->type.elem);
}

static bool is_index_division(const KExp *x)
{
    return x->exact && (x->op == OP_QUOT || x->op == OP_REM);
}

/* Does it stop at the end of i64? */
static bool saturates(const KExp *x, Mode m)
{
    bool could = x->exact && (x->op == OP_ADD || x->op == OP_SUB || x->op == OP_MUL);
    return x->saturate || (could && m == AS_EXACT_SIZE && bits_of(x) > 63);
}

/* Of an operation; dividing what is not negative by a constant is cheap as it stands. */
static Infix infix(const KExp *x, Mode m)
{
    if (is_index_division(x) && (m != AS_MARKED || x->x[1]->kind == KE_CONST))
        return (Infix){x->op == OP_QUOT ? " / " : " % ", P_PRODUCT};
    if (saturates(x, m))
        return (Infix){0};
    return infix_of(x->op, x->x[0]->type.elem, x->exact);
}

static PLevel level_of(const KExp *x, Mode m);
static void text_of(Out *o, const KExp *x, PLevel level, Mode m);

/* Operands that stand alone. */
static PLevel alone(Mode m)
{
    return m == AS_MARKED ? P_SELECT : P_SUM;
}

static void args_text(Out *o, const KExp *x, Mode m)
{
    for (int i = 0; i < x->n; i++) {
        out_puts(o, i ? ", " : "");
        text_of(o, x->x[i], alone(m), m);
    }
}

/* Of numbers that leave room for the sum of both an expression, else a function. */
static bool ceildiv_stops(const KExp *x, Mode m)
{
    return m == AS_EXACT_SIZE && bits_of(x->x[0]) > 62;
}

static void ceildiv_text(Out *o, const KExp *x, Mode m)
{
    if (ceildiv_stops(x, m)) {
        out_puts(o, "mf_size_ceildiv(");
        args_text(o, x, m);
        out_puts(o, ")");
        return;
    }
    out_puts(o, "(");
    text_of(o, x->x[0], P_SUM, m);
    out_puts(o, " + ");
    text_of(o, x->x[1], P_SUM, m);
    out_puts(o, " - 1) / ");
    text_of(o, x->x[1], P_UNARY, m);
}

/* Of one kind they need no parentheses; nothing else is left bare: C compilers warn. */
static void infix_text(Out *o, const KExp *x, Infix f, Mode m)
{
    bool chain = f.level == P_LAND || f.level == P_LOR;
    bool apart = f.level == P_BITS || f.level == P_COMPARE;
    for (int i = 0; i < 2; i++) {
        const KExp *arg = x->x[i];
        PLevel level = apart || (i && !chain) ? f.level + 1 : f.level;
        if (f.level == P_LOR && level_of(arg, m) == P_LAND)
            level = P_LAND + 1;
        out_puts(o, i ? f.sign : "");
        text_of(o, arg, level, m);
    }
}

static void function_text(Out *o, const KExp *x, Mode m)
{
    PrimType t = x->x[0]->type.elem;
    if (x->type.index)
        out_printf(o, "mf_%s%s_index(", is_index_division(x) ? "exact_" : "",
                   prim_info[x->op].text);
    else if (is_index_division(x) && x->op == OP_QUOT)
        out_puts(o, "mf_index_div(");
    else if (is_index_division(x))
        out_puts(o, "mf_index_mod(");
    else if (saturates(x, m))
        out_printf(o, "mf_size_%s(", prim_info[x->op].text);
    else
        out_printf(o, "mf_%s_%s(", x->op == OP_MULHI ? "mulhi" : prim_info[x->op].text,
                   prim_type_text[t]);
    args_text(o, x, m);
    out_puts(o, ")");
}

/* Is a function needed where C would not do, or not say, the same? */
static bool conv_function(KType from, KType to)
{
    if (prim_is_soft(from.elem) || prim_is_soft(to.elem))
        return from.elem != to.elem;
    return prim_is_int(to.elem) &&
           (prim_is_float(from.elem) || prim_is_signed(from.elem) > prim_is_signed(to.elem));
}

/* Level of the text that exp_text makes for x, so that it knows about parentheses. */
static PLevel level_of(const KExp *x, Mode m)
{
    switch (x->kind) {
    case KE_SELECT: return P_SELECT;
    case KE_CONV:
        return conv_function(x->x[0]->type, x->type) ? P_PRIMARY
               : x->type.elem == T_BOOL              ? P_COMPARE
                                                     : P_UNARY;
    case KE_PRIM:
        if (x->op == OP_NOT || x->op == OP_COMPL || is_minus(x))
            return P_UNARY;
        Infix f = infix(x, m);
        return f.sign ? f.level : P_PRIMARY;
    case KE_CEILDIV: return ceildiv_stops(x, m) ? P_PRIMARY : P_PRODUCT;
    case KE_CONST:
    case KE_VAR:
    case KE_HOST:
    case KE_SIZE:
    case KE_ID:
    case KE_PART:
    case KE_VECTOR:
    case N_KEXPS: break;
    }
    return P_PRIMARY;
}

static void prim_text(Out *o, const KExp *x, Mode m)
{
    PrimType t = x->x[0]->type.elem;
    Infix f = infix(x, m);
    if (x->op == OP_NOT)
        out_puts(o, "!");
    else if (x->op == OP_COMPL)
        out_printf(o, "(%s)~", ctype_c(t));
    else if (is_minus(x))
        out_puts(o, "-");
    else if (f.sign) {
        infix_text(o, x, f, m);
        return;
    } else {
        function_text(o, x, m);
        return;
    }
    text_of(o, x->x[0], P_UNARY, m);
}

/* A work-item's place in the launch: get_NAME(dimension), as an index mf_NAME(dimension). */
static const char *const launch_id[N_KIDS] = {
    [KID_GROUP] = "group_id",    [KID_LOCAL] = "local_id",        [KID_GROUP_SIZE] = "local_size",
    [KID_GROUPS] = "num_groups", [KID_GRID_SIZE] = "global_size",
};

static void conv_text(Out *o, const KExp *x, Mode m)
{
    KType from = x->x[0]->type, to = x->type;
    if (conv_function(from, to)) {
        out_printf(o, "mf_%s_to_%s(", prim_type_text[from.elem], prim_type_text[to.elem]);
        text_of(o, x->x[0], P_SELECT, m);
        out_puts(o, ")");
    } else if (to.elem == T_BOOL) {
        text_of(o, x->x[0], P_PRIMARY, m);
        out_puts(o, " != 0");
    } else if (to.index && x->x[0]->kind == KE_ID && launch_id[x->x[0]->id]) {
        out_printf(o, "mf_%s(%d)", launch_id[x->x[0]->id], x->x[0]->dim);
    } else {
        out_puts(o, "(");
        exp_c_type(o, to);
        out_puts(o, ")");
        text_of(o, x->x[0], P_UNARY, m);
    }
}

static const char *const other_id[N_KIDS] = {
    [KID_LANE] = "mf_lane()",
    [KID_LANES] = "MF_LANES",
    [KID_IN_LEAD] = "MF_IN_LEAD",
    [KID_LEAD_SIZE] = "MF_LEAD_SIZE",
    [KID_FAILED_BEFORE] = "mf_failed_before(failure, launch)",
    [KID_ATOMIC64] = "MF_ATOMIC64",
    [KID_UNROLLS] = "MF_UNROLLS",
    [KID_HAS_SLICES] = "has_slices",
};

static void id_text(Out *o, const KExp *x)
{
    if (launch_id[x->id])
        out_printf(o, "get_%s(%d)", launch_id[x->id], x->dim);
    else if (other_id[x->id])
        out_puts(o, other_id[x->id]);
    else
        ice(NO_LOC, "%s: the kernel is not specialised to its target", kid_info[x->id].word);
}

static void const_text(Out *o, const KExp *x, Mode m)
{
    bool small = m != AS_MARKED && x->c.i <= INT32_MAX && x->c.i >= -INT32_MAX;
    if (x->type.index || small)
        out_printf(o, x->c.i < 0 ? "(%lld)" : "%lld", (long long)x->c.i);
    else
        out_puts(o, kir_const_c(x->c));
}

static void text_of(Out *o, const KExp *x, PLevel level, Mode m)
{
    bool paren = level_of(x, m) < level;
    out_puts(o, paren ? "(" : "");
    switch (x->kind) {
    case KE_CONST: const_text(o, x, m); break;
    case KE_VAR: out_puts(o, x->var->name); break;
    case KE_HOST: out_puts(o, var_c_name(x->host)); break;
    case KE_SIZE: out_puts(o, size_names[x->fact].c); break;
    case KE_CEILDIV: ceildiv_text(o, x, m); break;
    case KE_PRIM: prim_text(o, x, m); break;
    case KE_CONV: conv_text(o, x, m); break;
    case KE_SELECT:
        text_of(o, x->x[0], P_LOR, m);
        out_puts(o, " ? ");
        text_of(o, x->x[1], P_LOR, m);
        out_puts(o, " : ");
        text_of(o, x->x[2], alone(m), m);
        break;
    case KE_ID: id_text(o, x); break;
    case KE_PART:
        text_of(o, x->x[0], P_PRIMARY, m);
        out_printf(o, ".s%d", x->dim);
        break;
    case KE_VECTOR:
        out_puts(o, "MF_VECTOR(");
        exp_c_type(o, x->type);
        out_puts(o, ")(");
        args_text(o, x, m);
        out_puts(o, ")");
        break;
    case N_KEXPS: break;
    }
    out_puts(o, paren ? ")" : "");
}

void exp_c(Out *o, const KExp *x, PLevel level)
{
    text_of(o, x, level, AS_MARKED);
}

static const char *interned(const KExp *x, PLevel level, Mode m)
{
    Out o = {0};
    text_of(&o, x, level, m);
    const char *text = intern(o.text);
    out_free(&o);
    return text;
}

const char *kir_exp_c(const KExp *x)
{
    return interned(x, P_SELECT, AS_MARKED);
}

const char *sx_c(const KExp *a)
{
    return interned(a, P_SUM, AS_SIZE);
}

const char *sx_c_factor(const KExp *a)
{
    return interned(a, P_UNARY, AS_SIZE);
}

const char *sx_exact_c(const KExp *a)
{
    return interned(a, P_SUM, AS_EXACT_SIZE);
}

const char *exp_c_sign(const KExp *x)
{
    return infix(x, AS_MARKED).sign;
}

const KExp *exp_without_cast(const KExp *x)
{
    bool casts = x->kind == KE_CONV && x->type.lanes == 1 && !conv_function(x->x[0]->type, x->type);
    return casts && x->type.elem != T_BOOL ? x->x[0] : x;
}
