/* Lowering of operators and of the numeric modules' functions to scalar operations. */
#include "frontend/lower/lower_int.h"

#include <math.h>

/* --- Tables --------------------------------------------------------------------------------- */

/* Builtins that are one scalar operation on their arguments. */
static const struct {
    BuiltinId id;
    PrimOp op;
} direct[] = {
    {BI_ADD, OP_ADD},
    {BI_SUB, OP_SUB},
    {BI_MUL, OP_MUL},
    {BI_DIV, OP_DIV},
    {BI_MOD, OP_MOD},
    {BI_QUOT, OP_QUOT},
    {BI_REM, OP_REM},
    {BI_POW, OP_POW},
    {BI_SHL, OP_SHL},
    {BI_SHR, OP_SHR},
    {BI_LT, OP_LT},
    {BI_LE, OP_LE},
    {BI_ABS, OP_ABS},
    {BI_SGN, OP_SGN},
    {BI_MIN, OP_MIN},
    {BI_MAX, OP_MAX},
    {BI_POPC, OP_POPC},
    {BI_CLZ, OP_CLZ},
    {BI_CTZ, OP_CTZ},
    {BI_MUL_HI, OP_MULHI},
    {BI_SQRT, OP_SQRT},
    {BI_RSQRT, OP_RSQRT},
    {BI_CBRT, OP_CBRT},
    {BI_EXP, OP_EXP},
    {BI_EXP2, OP_EXP2},
    {BI_EXP10, OP_EXP10},
    {BI_LOG, OP_LOG},
    {BI_LOG2, OP_LOG2},
    {BI_LOG10, OP_LOG10},
    {BI_LOG1P, OP_LOG1P},
    {BI_SIN, OP_SIN},
    {BI_COS, OP_COS},
    {BI_TAN, OP_TAN},
    {BI_ASIN, OP_ASIN},
    {BI_ACOS, OP_ACOS},
    {BI_ATAN, OP_ATAN},
    {BI_ATAN2, OP_ATAN2},
    {BI_SINH, OP_SINH},
    {BI_COSH, OP_COSH},
    {BI_TANH, OP_TANH},
    {BI_ASINH, OP_ASINH},
    {BI_ACOSH, OP_ACOSH},
    {BI_ATANH, OP_ATANH},
    {BI_HYPOT, OP_HYPOT},
    {BI_GAMMA, OP_GAMMA},
    {BI_LGAMMA, OP_LGAMMA},
    {BI_ERF, OP_ERF},
    {BI_ERFC, OP_ERFC},
    {BI_CEIL, OP_CEIL},
    {BI_FLOOR, OP_FLOOR},
    {BI_TRUNC, OP_TRUNC},
    {BI_ROUND, OP_ROUND},
    {BI_FMA, OP_FMA},
    {BI_MAD, OP_MAD},
    {BI_ISNAN, OP_ISNAN},
    {BI_ISINF, OP_ISINF},
    {BI_COPYSIGN, OP_COPYSIGN},
    {BI_LOGAND, OP_LAND},
    {BI_LOGOR, OP_LOR},
    {BI_NEXTAFTER, OP_NEXTAFTER},
    {BI_EXPM1, OP_EXPM1},
    {BI_SINPI, OP_SINPI},
    {BI_COSPI, OP_COSPI},
    {BI_TANPI, OP_TANPI},
    {BI_ASINPI, OP_ASINPI},
    {BI_ACOSPI, OP_ACOSPI},
    {BI_ATANPI, OP_ATANPI},
    {BI_ATAN2PI, OP_ATAN2PI},
    {BI_TO_BITS, OP_TO_BITS},
    {BI_FROM_BITS, OP_FROM_BITS},
    {BI_NEGATE, OP_NEG},
    {BI_INVERT, OP_COMPL},
};

static bool find_direct(BuiltinId id, PrimOp *op)
{
    for (size_t i = 0; i < sizeof direct / sizeof *direct; i++) {
        if (direct[i].id == id) {
            *op = direct[i].op;
            return true;
        }
    }
    return false;
}

/* --- Constants ------------------------------------------------------------------------------ */

/* Of a type of floats, as IEEE 754 has them: what 1 lacks to the next larger number, the greatest
 * power of 2. The least one that is normal is 2 divided by the latter. */
static double epsilon(PrimType t)
{
    double e = 1;
    while (prim_round(t, 1 + e / 2) != 1)
        e /= 2;
    return e;
}

static double greatest_power(PrimType t)
{
    double p = 1;
    while (isfinite(prim_round(t, 2 * p)))
        p *= 2;
    return p;
}

Val *lower_member_const(Low *L, const Binding *b)
{
    PrimType t = b->scalar;
    switch ((int)b->builtin) {
    case BI_HIGHEST: return val_atom(L, atom_highest(t));
    case BI_LOWEST: return val_atom(L, atom_lowest(t));
    case BI_NUM_BITS: return val_atom(L, atom_int(T_I32, prim_bits(t)));
    case BI_INF: return val_atom(L, atom_float(t, INFINITY));
    case BI_NAN: return val_atom(L, atom_float(t, NAN));
    case BI_PI: return val_atom(L, atom_float(t, 3.14159265358979323846));
    case BI_EULER: return val_atom(L, atom_float(t, 2.71828182845904523536));
    case BI_EPSILON: return val_atom(L, atom_float(t, epsilon(t)));
    case BI_LARGEST: return val_atom(L, atom_float(t, greatest_power(t) * (2 - epsilon(t))));
    case BI_SMALLEST: return val_atom(L, atom_float(t, 2 / greatest_power(t)));
    default: ice(b->loc, "lowering: constant `%s` is not known", b->name);
    }
}

/* --- Equality ------------------------------------------------------------------------------- */

static Val *lower_equal(Low *L, Loc loc, Val *a, Val *b);

static Val *equal_elems(Low *L, void *env, Val **args, Loc loc)
{
    (void)env;
    return lower_equal(L, loc, args[0], args[1]);
}

static Val *lower_equal(Low *L, Loc loc, Val *a, Val *b)
{
    Atoms as = val_leaves(L, a), bs = val_leaves(L, b);
    ASSERT(as.n == bs.n);
    Atom all = atom_bool(true);
    for (int i = 0; i < as.n; i++) {
        Atom eq;
        if (atom_type(as.at[i]).rank == 0) {
            eq = emit_op(L, loc, OP_EQ, as.at[i], bs.at[i]);
        } else {
            Val *rows[2] = {val_atom(L, as.at[i]), val_atom(L, bs.at[i])};
            Val *eqs = make_map(L, loc, rows, 2, equal_elems, NULL, NULL, NULL);
            eq = reduce_prim(L, loc, OP_LAND, eqs->atom);
        }
        all = i == 0 ? eq : emit(L, exp_binop(L->cx, loc, OP_LAND, all, eq));
    }
    return val_atom(L, all);
}

/* --- Operators ------------------------------------------------------------------------------ */

/* & | ^ on integers and on truth values */
static Atom bits_op(Low *L, const Call *c, PrimOp ints, PrimOp bools)
{
    Atom a = val_scalar(c->arg[0], c->loc), b = val_scalar(c->arg[1], c->loc);
    PrimOp op = atom_type(a).elem == T_BOOL ? bools : ints;
    return emit(L, exp_binop(L->cx, c->loc, op, a, b));
}

static PrimType unsigned_of(PrimType t)
{
    return prim_is_signed(t) ? prim_like(PK_UNSIGNED, t) : t;
}

static PrimType signed_of(PrimType t)
{
    return prim_is_signed(t) ? t : prim_like(PK_SIGNED, t);
}

/* A shift right of the same bits as another type; a place that is none is none of that
 * type either. */
static Atom shift_as(Low *L, const Call *c, PrimType as)
{
    Atom a = val_scalar(c->arg[0], c->loc), b = val_scalar(c->arg[1], c->loc);
    PrimType t = atom_type(a).elem;
    a = emit_conv(L, c->loc, as, a);
    b = emit_conv(L, c->loc, as, b);
    return emit_conv(L, c->loc, t, emit(L, exp_binop(L->cx, c->loc, OP_SHR, a, b)));
}

static Atom convert(Low *L, const Call *c)
{
    PrimType to = c->fn->bind->scalar;
    Atom a = val_scalar(c->arg[0], c->loc);
    PrimType from = atom_type(a).elem;
    if (to == T_BOOL && from != T_BOOL)
        return emit(L, exp_binop(L->cx, c->loc, OP_NE, a, atom_number(from, 0)));
    return emit_conv(L, c->loc, to, a);
}

static Atom direct_op(Low *L, const Call *c, PrimOp op)
{
    ASSERT(prim_info[op].arity == c->n);
    Atom a = val_scalar(c->arg[0], c->loc);
    if (c->n == 2)
        return emit_op(L, c->loc, op, a, val_scalar(c->arg[1], c->loc));
    Exp *e = exp_new(L->cx, E_PRIM, c->loc);
    e->prim.op = op;
    e->prim.type = atom_type(a).elem;
    for (int i = 0; i < c->n; i++)
        vec_push(L->cx->perm, &e->prim.args, val_scalar(c->arg[i], c->loc));
    return emit(L, e);
}

/* --- Functions made of several operations --------------------------------------------------- */

/* The representation of a float, an integer as it is. */
static Atom bits_of(Low *L, Loc loc, Atom x)
{
    if (!prim_is_float(atom_type(x).elem))
        return x;
    return emit(L, exp_unop(L->cx, loc, OP_TO_BITS, x));
}

static Atom get_bit(Low *L, const Call *c)
{
    Atom x = bits_of(L, c->loc, val_scalar(c->arg[1], c->loc));
    PrimType t = atom_type(x).elem;
    Atom i = emit_conv(L, c->loc, t, val_scalar(c->arg[0], c->loc));
    Atom bit = emit(L, exp_binop(L->cx, c->loc, OP_SHR, x, i));
    bit = emit(L, exp_binop(L->cx, c->loc, OP_AND, bit, atom_int(t, 1)));
    return emit_conv(L, c->loc, T_I32, bit);
}

static Atom set_bit(Low *L, const Call *c)
{
    Atom arg = val_scalar(c->arg[1], c->loc), x = bits_of(L, c->loc, arg);
    PrimType t = atom_type(x).elem;
    Atom i = emit_conv(L, c->loc, t, val_scalar(c->arg[0], c->loc));
    Atom b = emit_conv(L, c->loc, t, val_scalar(c->arg[2], c->loc));
    Atom mask = emit(L, exp_binop(L->cx, c->loc, OP_SHL, atom_int(t, 1), i));
    mask = emit(L, exp_unop(L->cx, c->loc, OP_COMPL, mask));
    Atom kept = emit(L, exp_binop(L->cx, c->loc, OP_AND, x, mask));
    b = emit(L, exp_binop(L->cx, c->loc, OP_SHL, b, i));
    x = emit(L, exp_binop(L->cx, c->loc, OP_OR, kept, b));
    if (!prim_is_float(atom_type(arg).elem))
        return x;
    return emit(L, exp_unop(L->cx, c->loc, OP_FROM_BITS, x));
}

/* v0 + (v1 - v0) * t */
static Atom lerp(Low *L, const Call *c)
{
    Atom v0 = val_scalar(c->arg[0], c->loc), v1 = val_scalar(c->arg[1], c->loc);
    Atom t = val_scalar(c->arg[2], c->loc);
    Atom d = emit(L, exp_binop(L->cx, c->loc, OP_SUB, v1, v0));
    d = emit(L, exp_binop(L->cx, c->loc, OP_MUL, d, t));
    return emit(L, exp_binop(L->cx, c->loc, OP_ADD, v0, d));
}

static Atom mad_hi(Low *L, const Call *c)
{
    Atom h = emit(L, exp_binop(L->cx, c->loc, OP_MULHI, val_scalar(c->arg[0], c->loc),
                               val_scalar(c->arg[1], c->loc)));
    return emit(L, exp_binop(L->cx, c->loc, OP_ADD, h, val_scalar(c->arg[2], c->loc)));
}

static Atom ldexp_of(Low *L, const Call *c)
{
    Atom x = val_scalar(c->arg[0], c->loc), i = val_scalar(c->arg[1], c->loc);
    Atom f = emit_conv(L, c->loc, atom_type(x).elem, i);
    return emit(L, exp_binop(L->cx, c->loc, OP_LDEXP, x, f));
}

static Atom recip(Low *L, const Call *c)
{
    Atom x = val_scalar(c->arg[0], c->loc), one = atom_number(atom_type(x).elem, 1);
    return emit(L, exp_binop(L->cx, c->loc, OP_DIV, one, x));
}

static Atom from_fraction(Low *L, const Call *c)
{
    PrimType t = c->fn->bind->scalar;
    Atom x = emit_conv(L, c->loc, t, val_scalar(c->arg[0], c->loc));
    Atom y = emit_conv(L, c->loc, t, val_scalar(c->arg[1], c->loc));
    return emit(L, exp_binop(L->cx, c->loc, OP_DIV, x, y));
}

static Val *lower_composite(Low *L, const Call *c)
{
    switch ((int)c->id) {
    case BI_GET_BIT: return val_atom(L, get_bit(L, c));
    case BI_SET_BIT: return val_atom(L, set_bit(L, c));
    case BI_LERP: return val_atom(L, lerp(L, c));
    case BI_MAD_HI: return val_atom(L, mad_hi(L, c));
    case BI_LDEXP: return val_atom(L, ldexp_of(L, c));
    case BI_RECIP: return val_atom(L, recip(L, c));
    case BI_FRACTION: return val_atom(L, from_fraction(L, c));
    default: return NULL;
    }
}

Val *lower_prim(Low *L, const Call *c)
{
    PrimOp op;
    Loc loc = c->loc;
    if (find_direct(c->id, &op))
        return val_atom(L, direct_op(L, c, op));
    switch ((int)c->id) {
    case BI_BAND: return val_atom(L, bits_op(L, c, OP_AND, OP_LAND));
    case BI_BOR: return val_atom(L, bits_op(L, c, OP_OR, OP_LOR));
    case BI_BXOR: return val_atom(L, bits_op(L, c, OP_XOR, OP_NE));
    case BI_USHR:
    case BI_ASHR: {
        PrimType t = atom_type(val_scalar(c->arg[0], loc)).elem;
        return val_atom(L, shift_as(L, c, c->id == BI_USHR ? unsigned_of(t) : signed_of(t)));
    }
    case BI_EQ: return lower_equal(L, loc, c->arg[0], c->arg[1]);
    case BI_NE:
        if (c->arg[0]->kind == V_ATOM && atom_type(c->arg[0]->atom).rank == 0)
            return val_atom(L, direct_op(L, c, OP_NE));
        return val_atom(L, emit_not(L, loc, lower_equal(L, loc, c->arg[0], c->arg[1])->atom));
    case BI_GT:
    case BI_GE: {
        Atom a = val_scalar(c->arg[0], loc), b = val_scalar(c->arg[1], loc);
        op = c->id == BI_GT ? OP_LT : OP_LE;
        return val_atom(L, emit_op(L, loc, op, b, a));
    }
    case BI_NEG: return val_atom(L, emit_neg(L, loc, val_scalar(c->arg[0], loc)));
    case BI_NOT: {
        Atom a = val_scalar(c->arg[0], loc);
        if (atom_type(a).elem == T_BOOL)
            return val_atom(L, emit_not(L, loc, a));
        return val_atom(L, emit(L, exp_unop(L->cx, loc, OP_COMPL, a)));
    }
    case BI_CONV: return val_atom(L, convert(L, c));
    default: return lower_composite(L, c);
    }
}
