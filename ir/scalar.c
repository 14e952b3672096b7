/* The scalar operations of prims.def as functions on values, a table by (operation, type). What
 * they compute is common/scalar.h's business. */
#include "ir/scalar.h"

#include "common/scalar.h"

/* Tables, aligned by hand. */
/* clang-format off */

typedef mf_bool mf_b; /* T of the table is part of the names of types and functions */
#define mf_b_to_f16   mf_bool_to_f16
#define mf_f16_to_b   mf_f16_to_bool
#define mf_f16_to_f16 /* x is what it was */

#define ARGS Val *d, const Val *a, const Val *b, const Val *c
#define UNUSED (void)a, (void)b, (void)c

/* X(TAG, T, member of Val, ...): columns of the table */
#define SIGNED(X, ...)   RT_SIGNED(COLUMNS, X, __VA_ARGS__)
#define UNSIGNED(X, ...) RT_UNSIGNED(COLUMNS, X, __VA_ARGS__)
#define INTS(X, ...)     RT_INTS(COLUMNS, X, __VA_ARGS__)
#define SOFT(X, ...)     RT_SOFT_FLOATS(COLUMNS, X, __VA_ARGS__)
#define HARD(X, ...)     RT_HARD_FLOATS(COLUMNS, X, __VA_ARGS__)
#define FLOATS(X, ...)   SOFT(X, __VA_ARGS__) HARD(X, __VA_ARGS__)
#define PLAIN(X, ...)    BOOLS(X, __VA_ARGS__) INTS(X, __VA_ARGS__) HARD(X, __VA_ARGS__)
#define NUMS(X, ...)     RT_NUMBERS(COLUMNS, X, __VA_ARGS__)
#define BOOLS(X, ...)    RT_BOOLS(COLUMNS, X, __VA_ARGS__)
#define ALL(X, ...)      RT_SCALARS(COLUMNS, X, __VA_ARGS__)
#define COLUMNS(TAG, T, text, bits, C, CL, V, X, ...) X(TAG, T, V, __VA_ARGS__)
/* The words that have the bits of floats, with the floats' member. */
#define WORDS(X, ...)           RT_FLOATS(WORD, X, __VA_ARGS__)
#define WORD(TAG, T, text, bits, C, CL, V, X, ...) X(U##bits, u##bits, V, __VA_ARGS__)

/* Each row: TYPES, shape of the function, operation, name or expression over x, y, z. */
#define OPERATIONS(R)                                                                              \
    R(INTS, UN, NEG, mf_neg_) R(INTS, UN, ABS, mf_abs_) R(INTS, UN, SGN, mf_sgn_)                  \
    R(INTS, UN_I, POPC, mf_popc_) R(INTS, UN_I, CLZ, mf_clz_) R(INTS, UN_I, CTZ, mf_ctz_)          \
    R(INTS, BIN, ADD, mf_add_) R(INTS, BIN, SUB, mf_sub_) R(INTS, BIN, MUL, mf_mul_)               \
    R(INTS, BIN, DIV, mf_div_) R(INTS, BIN, MOD, mf_mod_) R(INTS, BIN, QUOT, mf_quot_)             \
    R(INTS, BIN, REM, mf_rem_) R(INTS, BIN, POW, mf_pow_) R(INTS, BIN, MIN, mf_min_)               \
    R(INTS, BIN, MAX, mf_max_) R(INTS, BIN, SHL, mf_shl_) R(INTS, BIN, SHR, mf_shr_)               \
    R(INTS, BIN, MULHI, mf_mulhi_)                                                                 \
    R(INTS, EXPR, COMPL, ~x) R(INTS, EXPR, AND, x & y) R(INTS, EXPR, OR, x | y)                    \
    R(INTS, EXPR, XOR, x ^ y)                                                                      \
    R(HARD, EXPR, NEG, -x) R(HARD, EXPR, ADD, x + y) R(HARD, EXPR, SUB, x - y)                     \
    R(HARD, EXPR, MUL, x * y) R(HARD, EXPR, DIV, x / y)                                            \
    R(SOFT, UN, NEG, mf_neg_) R(SOFT, BIN, ADD, mf_add_) R(SOFT, BIN, SUB, mf_sub_)                \
    R(SOFT, BIN, MUL, mf_mul_) R(SOFT, BIN, DIV, mf_div_)                                          \
    R(FLOATS, UN, ABS, mf_abs_) R(FLOATS, UN, SGN, mf_sgn_) R(FLOATS, UN, SQRT, mf_sqrt_)          \
    R(FLOATS, UN, RSQRT, mf_rsqrt_) R(FLOATS, UN, CBRT, mf_cbrt_) R(FLOATS, UN, EXP, mf_exp_)      \
    R(FLOATS, UN, EXP2, mf_exp2_) R(FLOATS, UN, EXP10, mf_exp10_)                                  \
    R(FLOATS, UN, EXPM1, mf_expm1_) R(FLOATS, UN, LOG, mf_log_) R(FLOATS, UN, LOG2, mf_log2_)      \
    R(FLOATS, UN, LOG10, mf_log10_) R(FLOATS, UN, LOG1P, mf_log1p_) R(FLOATS, UN, SIN, mf_sin_)    \
    R(FLOATS, UN, COS, mf_cos_) R(FLOATS, UN, TAN, mf_tan_) R(FLOATS, UN, ASIN, mf_asin_)          \
    R(FLOATS, UN, ACOS, mf_acos_) R(FLOATS, UN, ATAN, mf_atan_) R(FLOATS, UN, SINH, mf_sinh_)      \
    R(FLOATS, UN, COSH, mf_cosh_) R(FLOATS, UN, TANH, mf_tanh_) R(FLOATS, UN, ASINH, mf_asinh_)    \
    R(FLOATS, UN, ACOSH, mf_acosh_) R(FLOATS, UN, ATANH, mf_atanh_)                                \
    R(FLOATS, UN, SINPI, mf_sinpi_) R(FLOATS, UN, COSPI, mf_cospi_)                                \
    R(FLOATS, UN, ASINPI, mf_asinpi_) R(FLOATS, UN, ACOSPI, mf_acospi_)                            \
    R(FLOATS, UN, ATANPI, mf_atanpi_) R(FLOATS, BIN, ATAN2PI, mf_atan2pi_)                         \
    R(FLOATS, UN_I, TO_BITS, mf_to_bits_) R(FLOATS, BIN, LDEXP, mf_ldexp_)                         \
    R(WORDS, RECAST, FROM_BITS, mf_from_bits_)                                                     \
    R(FLOATS, UN, TANPI, mf_tanpi_) R(FLOATS, UN, ERF, mf_erf_) R(FLOATS, UN, ERFC, mf_erfc_)      \
    R(FLOATS, UN, GAMMA, mf_gamma_) R(FLOATS, UN, LGAMMA, mf_lgamma_)                              \
    R(FLOATS, UN, FLOOR, mf_floor_) R(FLOATS, UN, CEIL, mf_ceil_)                                  \
    R(FLOATS, UN, ROUND, mf_round_) R(FLOATS, UN, TRUNC, mf_trunc_)                                \
    R(FLOATS, UN_I, ISNAN, mf_isnan_) R(FLOATS, UN_I, ISINF, mf_isinf_)                            \
    R(FLOATS, BIN, MOD, mf_mod_) R(FLOATS, BIN, POW, mf_pow_) R(FLOATS, BIN, MIN, mf_min_)         \
    R(FLOATS, BIN, MAX, mf_max_) R(FLOATS, BIN, ATAN2, mf_atan2_)                                  \
    R(FLOATS, BIN, HYPOT, mf_hypot_) R(FLOATS, BIN, COPYSIGN, mf_copysign_)                        \
    R(FLOATS, BIN, NEXTAFTER, mf_nextafter_) R(FLOATS, TER, FMA, mf_fma_)                          \
    R(FLOATS, TER, MAD, mf_mad_)                                                                   \
    R(BOOLS, EXPR, NOT, !x) R(BOOLS, EXPR, LAND, x & y) R(BOOLS, EXPR, LOR, x | y)                 \
    R(BOOLS, EXPR, MIN, x & y) R(BOOLS, EXPR, MAX, x | y)                                          \
    R(PLAIN, EXPR_I, EQ, x == y) R(PLAIN, EXPR_I, NE, x != y) R(PLAIN, EXPR_I, LT, x < y)          \
    R(PLAIN, EXPR_I, LE, x <= y)                                                                   \
    R(SOFT, BIN_I, EQ, mf_eq_) R(SOFT, BIN_I, NE, mf_ne_) R(SOFT, BIN_I, LT, mf_lt_)               \
    R(SOFT, BIN_I, LE, mf_le_)

/* How a result is stored. */
#define PUT_i(e) VAL_PUT_i(*d, e);
#define PUT_f(e) VAL_PUT_f(*d, e);
#define PUT_d(e) VAL_PUT_d(*d, e);

#define DEF_UN(TAG, T, m, OP, f) PUT_##m(f##T((mf_##T)a->m))
#define DEF_UN_I(TAG, T, m, OP, f) d->i = f##T((mf_##T)a->m);
#define DEF_BIN(TAG, T, m, OP, f) PUT_##m(f##T((mf_##T)a->m, (mf_##T)b->m))
#define DEF_BIN_I(TAG, T, m, OP, f) d->i = f##T((mf_##T)a->m, (mf_##T)b->m);
#define DEF_TER(TAG, T, m, OP, f) PUT_##m(f##T((mf_##T)a->m, (mf_##T)b->m, (mf_##T)c->m))
#define DEF_EXPR(TAG, T, m, OP, e)                                                                 \
    mf_##T x = (mf_##T)a->m, y = (mf_##T)b->m;                                                     \
    (void)x, (void)y;                                                                              \
    PUT_##m((mf_##T)(e))
#define DEF_EXPR_I(TAG, T, m, OP, e)                                                               \
    mf_##T x = (mf_##T)a->m, y = (mf_##T)b->m;                                                     \
    d->i = (e);

/* m: member of the result; the operand is an integer. */
#define DEF_RECAST(TAG, T, m, OP, f) PUT_##m(f##T((mf_##T)a->i))

#define DEF(TAG, T, m, HOW, OP, what)                                                              \
    static void op_##OP##_##T(ARGS)                                                                \
    {                                                                                              \
        UNUSED;                                                                                    \
        DEF_##HOW(TAG, T, m, OP, what)                                                             \
    }
#define DEFINE(TYPES, HOW, OP, what) TYPES(DEF, HOW, OP, what)
OPERATIONS(DEFINE)

#define ENT(TAG, T, m, OP) [OP_##OP][T_##TAG] = op_##OP##_##T,
#define ENTRY(TYPES, HOW, OP, what) TYPES(ENT, OP)
static ScalarFn *const table[N_PRIM_OPS][N_PRIM_TYPES] = {OPERATIONS(ENTRY)};

ScalarFn *scalar_fn(PrimOp op, PrimType t)
{
    return table[op][t];
}

/* --- Conversions ---------------------------------------------------------------------------- */

#define CONV_CAST(TAG, T, m, FTAG, F, fm)                                                          \
    static void conv_##F##_##T(ARGS)                                                               \
    {                                                                                              \
        UNUSED;                                                                                    \
        PUT_##m((mf_##T)(mf_##F)a->fm)                                                             \
    }
#define CONV_CALL(TAG, T, m, FTAG, F, fm)                                                         \
    static void conv_##F##_##T(ARGS)                                                               \
    {                                                                                              \
        UNUSED;                                                                                    \
        PUT_##m(mf_##F##_to_##T((mf_##F)a->fm))                                                    \
    }
#define CONV_TEST(FTAG, F, fm, dummy)                                                              \
    static void conv_##F##_b(ARGS)                                                                 \
    {                                                                                              \
        UNUSED;                                                                                    \
        d->i = (mf_##F)a->fm != 0;                                                                 \
    }
/* The types once more, as what is converted, since no macro expands within itself. */
#define FROM_SIGNED(TO, X) TO(X, I8, i8, i) TO(X, I16, i16, i) TO(X, I32, i32, i) TO(X, I64, i64, i)
#define FROM_UNSIGNED(TO, X)                                                                       \
    TO(X, U8, u8, i) TO(X, U16, u16, i) TO(X, U32, u32, i) TO(X, U64, u64, i) TO(X, BOOL, b, i)
#define FROM_SOFT(TO, X) TO(X, F16, f16, i)
#define FROM_HARD(TO, X) TO(X, F32, f32, f) TO(X, F64, f64, d)
#define FROM_FLOATS(TO, X) FROM_SOFT(TO, X) FROM_HARD(TO, X)
#define FROM_ALL(TO, X)    FROM_SIGNED(TO, X) FROM_UNSIGNED(TO, X) FROM_FLOATS(TO, X)
#define ONE(...) +1
_Static_assert(FROM_ALL(ONE, ) == N_PRIM_TYPES, "a row of the table is missing here");

FROM_SIGNED(SIGNED, CONV_CAST)
FROM_SIGNED(UNSIGNED, CONV_CALL)
FROM_SIGNED(HARD, CONV_CAST)
FROM_UNSIGNED(INTS, CONV_CAST)
FROM_UNSIGNED(HARD, CONV_CAST)
FROM_FLOATS(INTS, CONV_CALL)
FROM_HARD(HARD, CONV_CAST)
FROM_ALL(SOFT, CONV_CALL)
FROM_SOFT(HARD, CONV_CALL)
PLAIN(CONV_TEST, 0)
FROM_SOFT(BOOLS, CONV_CALL)

#define CONV_ENT(TAG, T, m, FTAG, F, fm) [T_##FTAG][T_##TAG] = conv_##F##_##T,
static ScalarFn *const conversions[N_PRIM_TYPES][N_PRIM_TYPES] = {FROM_ALL(ALL, CONV_ENT)};

ScalarFn *scalar_conv(PrimType from, PrimType to)
{
    return conversions[from][to];
}

Val scalar_const(Const c)
{
    Val v = {0};
    switch ((int)c.type) {
#define X(TAG, T, text, bits, C, CL, V, ...)                                                       \
    case T_##TAG: VAL_PUT_##V(v, mf_f64_to_##T(c.f)); return v;
        RT_FLOATS(X, )
#undef X
    }
    v.i = c.i;
    return v;
}

Atom const_atom(PrimType t, Val v)
{
    switch ((int)t) {
#define X(TAG, T, text, bits, C, CL, V, ...)                                                       \
    case T_##TAG: return atom_float(t, mf_##T##_to_f64((mf_##T)v.V));
        RT_FLOATS(X, )
#undef X
    }
    return atom_int(t, v.i);
}

Atom const_conv(PrimType to, Const c)
{
    Val v = scalar_const(c), none = {0}, r = v;
    if (c.type != to)
        scalar_conv(c.type, to)(&r, &v, &none, &none);
    return const_atom(to, r);
}

bool prim_takes(char operands, PrimType t)
{
    switch (operands) {
    case 'I': return prim_is_int(t);
    case 'F': return prim_is_float(t);
    case 'N': return t != T_BOOL;
    case 'B': return t == T_BOOL;
    case 'W': return prim_type_kind[t] == PK_UNSIGNED && prim_like(PK_FLOAT, t) != N_PRIM_TYPES;
    case 'S': return prim_is_float(t) || prim_is_signed(t);
    default: return true;
    }
}

bool const_fits(Const c)
{
    if (c.type >= N_PRIM_TYPES)
        return false;
    if (prim_is_float(c.type))
        return isnan(c.f) || prim_round(c.type, c.f) == c.f;
    return atom_int(c.type, c.i).c.i == c.i;
}
