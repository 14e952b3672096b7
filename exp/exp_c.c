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

/* --- Operations ------------------------------------------------------------------------------- */

typedef struct {
    const char *sign;
    PLevel level;
} Infix;

/* The operator that op is in C on operands of type t; no sign where a function is needed. */
static Infix infix_of(PrimOp op, PrimType t, bool exact)
{
    bool plain = prim_is_float(t) || exact;
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

static bool is_index_division(const KExp *x)
{
    return x->exact && (x->op == OP_QUOT || x->op == OP_REM);
}

/* Of an operation; dividing what is not negative by a constant is cheap as it stands. */
static Infix infix(const KExp *x)
{
    if (is_index_division(x) && x->x[1]->kind == KE_CONST)
        return (Infix){x->op == OP_QUOT ? " / " : " % ", P_PRODUCT};
    return infix_of(x->op, x->x[0]->type.elem, x->exact);
}

static void args_text(Out *o, const KExp *x)
{
    for (int i = 0; i < x->n; i++) {
        out_puts(o, i ? ", " : "");
        exp_c(o, x->x[i], P_SELECT);
    }
}

static PLevel level_of(const KExp *x);

/* Of one kind they need no parentheses; nothing else is left bare: C compilers warn. */
static void infix_text(Out *o, const KExp *x, Infix f)
{
    bool chain = f.level == P_LAND || f.level == P_LOR;
    bool apart = f.level == P_BITS || f.level == P_COMPARE;
    for (int i = 0; i < 2; i++) {
        const KExp *arg = x->x[i];
        PLevel level = apart || (i && !chain) ? f.level + 1 : f.level;
        if (f.level == P_LOR && level_of(arg) == P_LAND)
            level = P_LAND + 1;
        out_puts(o, i ? f.sign : "");
        exp_c(o, arg, level);
    }
}

static void function_text(Out *o, const KExp *x)
{
    PrimType t = x->x[0]->type.elem;
    if (x->type.index)
        out_printf(o, "mf_%s%s_index(", is_index_division(x) ? "exact_" : "",
                   prim_info[x->op].text);
    else if (is_index_division(x) && x->op == OP_QUOT)
        out_puts(o, "mf_index_div(");
    else if (is_index_division(x))
        out_puts(o, "mf_index_mod(");
    else if (x->saturate)
        out_printf(o, "mf_size_%s(", prim_info[x->op].text);
    else
        out_printf(o, "mf_%s_%s(", x->op == OP_MULHI ? "mulhi" : prim_info[x->op].text,
                   prim_type_text[t]);
    args_text(o, x);
    out_puts(o, ")");
}

/* Level of the text that exp_text makes for x, so that it knows about parentheses. */
static PLevel level_of(const KExp *x)
{
    switch (x->kind) {
    case KE_SELECT: return P_SELECT;
    case KE_CONV: return x->type.elem == T_BOOL ? P_COMPARE : P_UNARY;
    case KE_PRIM:
        if (x->op == OP_NOT || x->op == OP_COMPL ||
            (x->op == OP_NEG && prim_is_float(x->type.elem)))
            return P_UNARY;
        Infix f = infix(x);
        return f.sign ? f.level : P_PRIMARY;
    case KE_CONST:
    case KE_VAR:
    case KE_HOST:
    case KE_ID:
    case KE_PART:
    case KE_VECTOR:
    case N_KEXPS: break;
    }
    return P_PRIMARY;
}

static void prim_text(Out *o, const KExp *x)
{
    PrimType t = x->x[0]->type.elem;
    Infix f = infix(x);
    if (x->op == OP_NOT)
        out_puts(o, "!");
    else if (x->op == OP_COMPL)
        out_printf(o, "(%s)~", ctype_c(t));
    else if (x->op == OP_NEG && prim_is_float(t))
        out_puts(o, "-");
    else if (f.sign) {
        infix_text(o, x, f);
        return;
    } else {
        function_text(o, x);
        return;
    }
    exp_c(o, x->x[0], P_UNARY);
}

/* Is a function needed where C would not do, or not say, the same? */
static bool conv_function(KType from, KType to)
{
    return prim_is_int(to.elem) &&
           (prim_is_float(from.elem) || prim_is_signed(from.elem) > prim_is_signed(to.elem));
}

/* A work-item's place in the launch: get_NAME(dimension), as an index mf_NAME(dimension). */
static const char *const launch_id[N_KIDS] = {
    [KID_GROUP] = "group_id",    [KID_LOCAL] = "local_id",        [KID_GROUP_SIZE] = "local_size",
    [KID_GROUPS] = "num_groups", [KID_GRID_SIZE] = "global_size",
};

static void conv_text(Out *o, const KExp *x)
{
    KType from = x->x[0]->type, to = x->type;
    if (to.elem == T_BOOL) {
        exp_c(o, x->x[0], P_PRIMARY);
        out_puts(o, " != 0");
    } else if (conv_function(from, to)) {
        out_printf(o, "mf_%s_to_%s(", prim_type_text[from.elem], prim_type_text[to.elem]);
        exp_c(o, x->x[0], P_SELECT);
        out_puts(o, ")");
    } else if (to.index && x->x[0]->kind == KE_ID && launch_id[x->x[0]->id]) {
        out_printf(o, "mf_%s(%d)", launch_id[x->x[0]->id], x->x[0]->dim);
    } else {
        out_puts(o, "(");
        exp_c_type(o, to);
        out_puts(o, ")");
        exp_c(o, x->x[0], P_UNARY);
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

static void const_text(Out *o, const KExp *x)
{
    if (x->type.index)
        out_printf(o, x->c.i < 0 ? "(%lld)" : "%lld", (long long)x->c.i);
    else
        out_puts(o, kir_const_c(x->c));
}

void exp_c(Out *o, const KExp *x, PLevel level)
{
    bool paren = level_of(x) < level;
    out_puts(o, paren ? "(" : "");
    switch (x->kind) {
    case KE_CONST: const_text(o, x); break;
    case KE_VAR: out_puts(o, x->var->name); break;
    case KE_HOST: out_puts(o, var_c_name(x->host)); break;
    case KE_PRIM: prim_text(o, x); break;
    case KE_CONV: conv_text(o, x); break;
    case KE_SELECT:
        exp_c(o, x->x[0], P_LOR);
        out_puts(o, " ? ");
        exp_c(o, x->x[1], P_LOR);
        out_puts(o, " : ");
        exp_c(o, x->x[2], P_SELECT);
        break;
    case KE_ID: id_text(o, x); break;
    case KE_PART:
        exp_c(o, x->x[0], P_PRIMARY);
        out_printf(o, ".s%d", x->dim);
        break;
    case KE_VECTOR:
        out_puts(o, "(");
        exp_c_type(o, x->type);
        out_puts(o, ")(");
        args_text(o, x);
        out_puts(o, ")");
        break;
    case N_KEXPS: break;
    }
    out_puts(o, paren ? ")" : "");
}

const char *kir_exp_c(const KExp *x)
{
    Out o = {0};
    exp_c(&o, x, P_SELECT);
    const char *text = intern(o.text);
    out_free(&o);
    return text;
}

const char *exp_c_sign(const KExp *x)
{
    return infix(x).sign;
}

const KExp *exp_without_cast(const KExp *x)
{
    bool casts = x->kind == KE_CONV && x->type.lanes == 1 && !conv_function(x->x[0]->type, x->type);
    return casts && x->type.elem != T_BOOL ? x->x[0] : x;
}
