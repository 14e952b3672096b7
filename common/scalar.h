/* Scalar operations: one text for the interpreter, for generated host code (C) and for kernels
 * (OpenCL C 1.2), so that all three agree. Only what is not a plain operator is here.
 *
 * Types: mf_i8 mf_i16 mf_i32 mf_i64, mf_u8 .. mf_u64, mf_f16, mf_f32, mf_f64, mf_bool (8 bits, 0 or
 * 1); also without the mf_ unless MF_NO_SHORT_TYPES is defined (but for mf_bool: bool8 is
 * reserved). T below is one of the names.
 *
 * Integers, T = i8 .. i64, u8 .. u64 (all total and wrapping around, as Futhark's):
 *   mf_add_T mf_sub_T mf_mul_T (x, y)  mf_neg_T(x)
 *   mf_div_T mf_mod_T (x, y)   towards minus infinity; the remainder has the divisor's sign
 *   mf_quot_T mf_rem_T (x, y)  towards zero          (all four: 0 when y is 0: check before)
 *   mf_shl_T mf_shr_T (x, y)   y outside 0 .. bits-1 shifts everything out; shr copies the sign of
 *                              signed types
 *   mf_pow_T(x, y)             0 when y < 0: check before
 *   mf_min_T mf_max_T (x, y)  mf_abs_T mf_sgn_T (x)
 *   mf_popc_T mf_clz_T mf_ctz_T (x)  -> i32; of 0: clz and ctz are the number of bits
 *   mf_mulhi_T(x, y)  mf_madhi_T(a, b, c) = mulhi(a, b) + c
 *   mf_getbit_T(i32 bit, T x) -> i32  mf_setbit_T(i32 bit, T x, i32 b) -> T
 * Floats, T = f16, f32, f64:
 *   mf_min_T mf_max_T (x, y)   NaN only if both are
 *   mf_mod_T(x, y) (C's fmod)  mf_pow_T mf_atan2_T mf_hypot_T mf_copysign_T mf_nextafter_T (x, y)
 *   mf_abs_T mf_sgn_T mf_sqrt_T mf_rsqrt_T mf_cbrt_T mf_recip_T mf_exp_T mf_exp2_T mf_exp10_T
 *   mf_expm1_T mf_log_T mf_log2_T mf_log10_T mf_log1p_T mf_sin_T mf_cos_T mf_tan_T mf_asin_T
 *   mf_acos_T mf_atan_T mf_sinh_T mf_cosh_T mf_tanh_T mf_asinh_T mf_acosh_T mf_atanh_T mf_sinpi_T
 *   mf_cospi_T mf_tanpi_T mf_asinpi_T mf_acospi_T mf_atanpi_T mf_gamma_T mf_lgamma_T mf_erf_T
 *   mf_erfc_T (x)
 *   mf_atan2pi_T(x, y)  mf_ceil_T mf_floor_T mf_trunc_T mf_round_T (x; half to even)
 *   mf_fma_T mf_mad_T (a, b, c)  mf_lerp_T(a, b, t) = a + (b - a) * t  mf_ldexp_T(x, n): n whole
 *   mf_isnan_T mf_isinf_T (x) -> bool
 *   mf_to_bits_f32(x) -> u32  mf_from_bits_u32(u32) -> f32, likewise f16 and u16, f64 and u64
 * f16, whose numbers are their bits (u16), so that no operator of C means them: each operation is
 * that of f32, rounded to the nearest number, or the even one of two. Of + - * / and sqrt that is
 * the result rounded once, since 24 bits are more than 2 * 11 + 1 (Figueroa 1995).
 *   mf_add_f16 mf_sub_f16 mf_mul_f16 mf_div_f16 (x, y)  mf_neg_f16(x)
 *   mf_eq_f16 mf_ne_f16 mf_lt_f16 mf_le_f16 (x, y) -> bool
 *   mf_f16_to_T(x)  mf_T_to_f16(x), T = each other type, bool; rounded once
 * Float to integer, F = f32, f64; I = an integer type:
 *   mf_F_to_I(x)  truncates; NaN and infinities give 0, other values outside I's range its end
 * Signed to unsigned, I = i8 .. i64, U = u8 .. u64:
 *   mf_I_to_U(x)  the bits of x, cut or filled up with zeros as in Futhark's prelude, where C would
 *                 copy the sign
 * Sizes, offsets, numbers of bytes and of work-items (i64; what does not fit becomes the next end):
 *   mf_size_add mf_size_sub mf_size_mul (x, y)  mf_size_ceildiv(x, y): 0 <= x, 0 < y
 *   mf_slice_end(start, n, stride): behind the last of n positions, for messages
 * All other conversions are casts; to bool is x != 0.
 * Constants: MF_INF_F32 MF_NAN_F32 MF_INF_F64 MF_NAN_F64.
 *
 * f64 is there when the device has it (MF_HAS_F64). MF_WITHOUT_SMALL (integers of 8 and 16 bits),
 * MF_WITHOUT_F16, MF_WITHOUT_F32 and MF_WITHOUT_F64 leave the functions of these types away, which
 * the OpenCL compiler need not read then; those of f16 need those of f32. MF_TO_HALF and MF_OF_HALF
 * are conversions of f32 to the bits of f16 and back, if the device has them. */
#ifndef COMMON_SCALAR_H
#define COMMON_SCALAR_H

/* Either rounding of the product will do. */
#ifndef MF_MAD
#define MF_MAD(a, b, c) ((a) * (b) + (c))
#endif

#ifdef __OPENCL_VERSION__
#define MF_FN static inline
typedef char mf_i8;
typedef short mf_i16;
typedef int mf_i32;
typedef long mf_i64;
typedef uchar mf_u8;
typedef ushort mf_u16;
typedef uint mf_u32;
typedef ulong mf_u64;
typedef ushort mf_f16;
typedef float mf_f32;
typedef uchar mf_bool;
#ifdef MF_HAS_F64
typedef double mf_f64;
#endif
#define MF_CALL_f32(fn) fn
#define MF_CALL_f64(fn) fn
#else
#include <math.h>
#include <stdint.h>
#include <string.h>
#define MF_FN           static inline __attribute__((unused))
#define MF_HAS_F64      1
typedef int8_t mf_i8;
typedef int16_t mf_i16;
typedef int32_t mf_i32;
typedef int64_t mf_i64;
typedef uint8_t mf_u8;
typedef uint16_t mf_u16;
typedef uint32_t mf_u32;
typedef uint64_t mf_u64;
typedef uint16_t mf_f16;
typedef float mf_f32;
typedef double mf_f64;
typedef uint8_t mf_bool;
#define MF_CALL_f32(fn) fn##f
#define MF_CALL_f64(fn) fn
#endif

#ifndef MF_NO_SHORT_TYPES
typedef mf_i8 i8;
typedef mf_i16 i16;
typedef mf_i32 i32;
typedef mf_i64 i64;
typedef mf_u8 u8;
typedef mf_u16 u16;
typedef mf_u32 u32;
typedef mf_u64 u64;
typedef mf_f16 f16;
typedef mf_f32 f32;
#ifdef MF_HAS_F64
typedef mf_f64 f64;
#endif
#endif

#define MF_INF_F32 ((mf_f32)INFINITY)
#define MF_NAN_F32 ((mf_f32)NAN)
#define MF_INF_F64 ((mf_f64)INFINITY)
#define MF_NAN_F64 ((mf_f64)NAN)

/* --- Integers --- */

/* What signed and unsigned types share. T: the type; U: an unsigned type at least as wide as both T
 * and u32, in which arithmetic wraps without promotion to int; B: bits. */
#define MF_INT_COMMON(T, U, B)                                                                     \
    MF_FN mf_##T mf_add_##T(mf_##T x, mf_##T y)                                                    \
    {                                                                                              \
        return (mf_##T)((U)x + (U)y);                                                              \
    }                                                                                              \
    MF_FN mf_##T mf_sub_##T(mf_##T x, mf_##T y)                                                    \
    {                                                                                              \
        return (mf_##T)((U)x - (U)y);                                                              \
    }                                                                                              \
    MF_FN mf_##T mf_mul_##T(mf_##T x, mf_##T y)                                                    \
    {                                                                                              \
        return (mf_##T)((U)x * (U)y);                                                              \
    }                                                                                              \
    MF_FN mf_##T mf_neg_##T(mf_##T x)                                                              \
    {                                                                                              \
        return (mf_##T)((U)0 - (U)x);                                                              \
    }                                                                                              \
    MF_FN mf_##T mf_min_##T(mf_##T x, mf_##T y)                                                    \
    {                                                                                              \
        return x < y ? x : y;                                                                      \
    }                                                                                              \
    MF_FN mf_##T mf_max_##T(mf_##T x, mf_##T y)                                                    \
    {                                                                                              \
        return x < y ? y : x;                                                                      \
    }                                                                                              \
    MF_FN mf_##T mf_shl_##T(mf_##T x, mf_##T y)                                                    \
    {                                                                                              \
        return (U)y < (B) ? (mf_##T)((U)x << (U)y) : (mf_##T)0;                                    \
    }                                                                                              \
    MF_FN mf_i32 mf_getbit_##T(mf_i32 bit, mf_##T x)                                               \
    {                                                                                              \
        return (mf_u32)bit < (B) ? (mf_i32)(((U)x >> bit) & 1) : 0;                                \
    }                                                                                              \
    MF_FN mf_##T mf_setbit_##T(mf_i32 bit, mf_##T x, mf_i32 b)                                     \
    {                                                                                              \
        U m = (mf_u32)bit < (B) ? (U)1 << bit : 0;                                                 \
        return (mf_##T)(b ? (U)x | m : (U)x & ~m);                                                 \
    }                                                                                              \
    MF_FN mf_##T mf_madhi_##T(mf_##T a, mf_##T b, mf_##T c)                                        \
    {                                                                                              \
        return mf_add_##T(mf_mulhi_##T(a, b), c);                                                  \
    }                                                                                              \
    /* x^y by repeated squaring. */                                                                \
    MF_FN mf_##T mf_pow_nonneg_##T(mf_##T x, mf_##T y)                                             \
    {                                                                                              \
        U r = 1, p = (U)x;                                                                         \
        for (U n = (U)y; n != 0; n >>= 1) {                                                        \
            if (n & 1)                                                                             \
                r *= p;                                                                            \
            p *= p;                                                                                \
        }                                                                                          \
        return (mf_##T)r;                                                                          \
    }

#define MF_INT_SIGNED(T, U, B)                                                                     \
    MF_INT_COMMON(T, U, B)                                                                         \
    /* y == -1 is apart: the smallest number has no opposite. */                                   \
    MF_FN mf_##T mf_quot_##T(mf_##T x, mf_##T y)                                                   \
    {                                                                                              \
        return y == 0 ? (mf_##T)0 : y == -1 ? mf_neg_##T(x) : (mf_##T)(x / y);                     \
    }                                                                                              \
    MF_FN mf_##T mf_rem_##T(mf_##T x, mf_##T y)                                                    \
    {                                                                                              \
        return y == 0 || y == -1 ? (mf_##T)0 : (mf_##T)(x % y);                                    \
    }                                                                                              \
    MF_FN mf_##T mf_div_##T(mf_##T x, mf_##T y)                                                    \
    {                                                                                              \
        mf_##T q = mf_quot_##T(x, y), r = mf_rem_##T(x, y);                                        \
        return r != 0 && (r ^ y) < 0 ? (mf_##T)(q - 1) : q;                                        \
    }                                                                                              \
    MF_FN mf_##T mf_mod_##T(mf_##T x, mf_##T y)                                                    \
    {                                                                                              \
        mf_##T r = mf_rem_##T(x, y);                                                               \
        return r != 0 && (r ^ y) < 0 ? (mf_##T)(r + y) : r;                                        \
    }                                                                                              \
    MF_FN mf_##T mf_shr_##T(mf_##T x, mf_##T y)                                                    \
    {                                                                                              \
        return (mf_##T)(x >> ((U)y < (B) ? (int)y : (B)-1));                                       \
    }                                                                                              \
    MF_FN mf_##T mf_abs_##T(mf_##T x)                                                              \
    {                                                                                              \
        return x < 0 ? mf_neg_##T(x) : x;                                                          \
    }                                                                                              \
    MF_FN mf_##T mf_sgn_##T(mf_##T x)                                                              \
    {                                                                                              \
        return (mf_##T)((x > 0) - (x < 0));                                                        \
    }                                                                                              \
    MF_FN mf_##T mf_pow_##T(mf_##T x, mf_##T y)                                                    \
    {                                                                                              \
        return y < 0 ? (mf_##T)0 : mf_pow_nonneg_##T(x, y);                                        \
    }

#define MF_INT_UNSIGNED(T, U, B)                                                                   \
    MF_INT_COMMON(T, U, B)                                                                         \
    MF_FN mf_##T mf_quot_##T(mf_##T x, mf_##T y)                                                   \
    {                                                                                              \
        return y == 0 ? (mf_##T)0 : (mf_##T)(x / y);                                               \
    }                                                                                              \
    MF_FN mf_##T mf_rem_##T(mf_##T x, mf_##T y)                                                    \
    {                                                                                              \
        return y == 0 ? (mf_##T)0 : (mf_##T)(x % y);                                               \
    }                                                                                              \
    MF_FN mf_##T mf_div_##T(mf_##T x, mf_##T y)                                                    \
    {                                                                                              \
        return mf_quot_##T(x, y);                                                                  \
    }                                                                                              \
    MF_FN mf_##T mf_mod_##T(mf_##T x, mf_##T y)                                                    \
    {                                                                                              \
        return mf_rem_##T(x, y);                                                                   \
    }                                                                                              \
    MF_FN mf_##T mf_shr_##T(mf_##T x, mf_##T y)                                                    \
    {                                                                                              \
        return (U)y < (B) ? (mf_##T)((U)x >> (U)y) : (mf_##T)0;                                    \
    }                                                                                              \
    MF_FN mf_##T mf_abs_##T(mf_##T x)                                                              \
    {                                                                                              \
        return x;                                                                                  \
    }                                                                                              \
    MF_FN mf_##T mf_sgn_##T(mf_##T x)                                                              \
    {                                                                                              \
        return (mf_##T)(x != 0);                                                                   \
    }                                                                                              \
    MF_FN mf_##T mf_pow_##T(mf_##T x, mf_##T y)                                                    \
    {                                                                                              \
        return mf_pow_nonneg_##T(x, y);                                                            \
    }

/* Counting bits, by the unsigned type N of the same width. */
#ifdef __OPENCL_VERSION__
#define MF_POPC(T, N, x)   ((mf_i32)popcount((mf_##N)(x)))
#define MF_CLZ(T, N, B, x) ((mf_i32)clz((mf_##N)(x)))
#else
#define MF_POPC(T, N, x)   ((mf_i32)__builtin_popcountll((mf_##N)(x)))
#define MF_CLZ(T, N, B, x) ((x) == 0 ? (B) : (mf_i32)__builtin_clzll((mf_##N)(x)) - (64 - (B)))
#endif
#define MF_INT_BITS(T, N, U, B)                                                                    \
    MF_FN mf_i32 mf_popc_##T(mf_##T x)                                                             \
    {                                                                                              \
        return MF_POPC(T, N, x);                                                                   \
    }                                                                                              \
    MF_FN mf_i32 mf_clz_##T(mf_##T x)                                                              \
    {                                                                                              \
        return MF_CLZ(T, N, B, x);                                                                 \
    }                                                                                              \
    MF_FN mf_i32 mf_ctz_##T(mf_##T x)                                                              \
    {                                                                                              \
        return MF_POPC(T, N, ~(U)x & ((U)x - 1));                                                  \
    }

/* The upper half of the product, by the type W twice as wide. */
#define MF_INT_MULHI(T, W, B)                                                                      \
    MF_FN mf_##T mf_mulhi_##T(mf_##T x, mf_##T y)                                                  \
    {                                                                                              \
        return (mf_##T)(((W)x * (W)y) >> (B));                                                     \
    }
MF_INT_MULHI(i32, mf_i64, 32)
MF_INT_MULHI(u32, mf_u64, 32)
#ifdef __OPENCL_VERSION__
MF_FN mf_i64 mf_mulhi_i64(mf_i64 x, mf_i64 y)
{
    return mul_hi(x, y);
}
MF_FN mf_u64 mf_mulhi_u64(mf_u64 x, mf_u64 y)
{
    return mul_hi(x, y);
}
#elif defined(__SIZEOF_INT128__)
__extension__ typedef __int128 mf_i128;
__extension__ typedef unsigned __int128 mf_u128;
MF_INT_MULHI(i64, mf_i128, 64)
MF_INT_MULHI(u64, mf_u128, 64)
#else
/* By halves; of numbers with a sign, what a negative one counts for less as one without. */
MF_FN mf_u64 mf_mulhi_u64(mf_u64 x, mf_u64 y)
{
    mf_u64 low = (mf_u64)(mf_u32)x * (mf_u32)y, left = (x >> 32) * (mf_u32)y + (low >> 32),
           right = (mf_u32)x * (y >> 32) + (mf_u32)left;
    return (x >> 32) * (y >> 32) + (left >> 32) + (right >> 32);
}
MF_FN mf_i64 mf_mulhi_i64(mf_i64 x, mf_i64 y)
{
    mf_u64 high = mf_mulhi_u64((mf_u64)x, (mf_u64)y);
    return (mf_i64)(high - (x < 0 ? (mf_u64)y : 0) - (y < 0 ? (mf_u64)x : 0));
}
#endif

/* --- Sizes --- */

#define MF_SIZE_MAX ((mf_i64)(~(mf_u64)0 >> 1))

/* The end of i64 that a result with this sign is beyond. */
MF_FN mf_i64 mf_size_end(mf_bool negative)
{
    return negative ? -MF_SIZE_MAX - 1 : MF_SIZE_MAX;
}
MF_FN mf_i64 mf_size_add(mf_i64 x, mf_i64 y)
{
    mf_i64 r = (mf_i64)((mf_u64)x + (mf_u64)y);
    return ((x ^ r) & (y ^ r)) < 0 ? mf_size_end(x < 0) : r;
}
MF_FN mf_i64 mf_size_sub(mf_i64 x, mf_i64 y)
{
    mf_i64 r = (mf_i64)((mf_u64)x - (mf_u64)y);
    return ((x ^ y) & (x ^ r)) < 0 ? mf_size_end(x < 0) : r;
}
MF_FN mf_i64 mf_size_mul(mf_i64 x, mf_i64 y)
{
    mf_i64 r = (mf_i64)((mf_u64)x * (mf_u64)y), high = mf_mulhi_i64(x, y);
    return high == (r < 0 ? -1 : 0) ? r : mf_size_end((x < 0) != (y < 0));
}
MF_FN mf_i64 mf_size_ceildiv(mf_i64 x, mf_i64 y)
{
    return x / y + (x % y != 0);
}
/* Of a unit stride exactly, though n may have wrapped around; it is then too large or negative. */
MF_FN mf_i64 mf_slice_end(mf_i64 start, mf_i64 n, mf_i64 stride)
{
    if (stride == 1 || stride == -1)
        return (mf_i64)((mf_u64)start + (mf_u64)n * (mf_u64)stride);
    return mf_size_add(start, mf_size_mul(n, stride));
}

MF_INT_SIGNED(i32, mf_u32, 32)
MF_INT_SIGNED(i64, mf_u64, 64)
MF_INT_UNSIGNED(u32, mf_u32, 32)
MF_INT_UNSIGNED(u64, mf_u64, 64)
MF_INT_BITS(i32, u32, mf_u32, 32)
MF_INT_BITS(i64, u64, mf_u64, 64)
MF_INT_BITS(u32, u32, mf_u32, 32)
MF_INT_BITS(u64, u64, mf_u64, 64)

/* From the signed type T, whose bits are those of the unsigned type N. */
#define MF_TO_UNSIGNED(T, N, U)                                                                    \
    MF_FN mf_##U mf_##T##_to_##U(mf_##T x)                                                         \
    {                                                                                              \
        return (mf_##U)(mf_##N)x;                                                                  \
    }
#define MF_TO_LARGE_UNSIGNED(T, N)                                                                 \
    MF_TO_UNSIGNED(T, N, u32)                                                                      \
    MF_TO_UNSIGNED(T, N, u64)
MF_TO_LARGE_UNSIGNED(i32, u32)
MF_TO_LARGE_UNSIGNED(i64, u64)

/* --- Integers of 8 and 16 bits --- */

#ifndef MF_WITHOUT_SMALL
#define MF_TO_SMALL_UNSIGNED(T, N)                                                                 \
    MF_TO_UNSIGNED(T, N, u8)                                                                       \
    MF_TO_UNSIGNED(T, N, u16)
MF_TO_SMALL_UNSIGNED(i8, u8)
MF_TO_LARGE_UNSIGNED(i8, u8)
MF_TO_SMALL_UNSIGNED(i16, u16)
MF_TO_LARGE_UNSIGNED(i16, u16)
MF_TO_SMALL_UNSIGNED(i32, u32)
MF_TO_SMALL_UNSIGNED(i64, u64)
MF_INT_MULHI(i8, mf_i32, 8)
MF_INT_MULHI(u8, mf_u32, 8)
MF_INT_MULHI(i16, mf_i32, 16)
MF_INT_MULHI(u16, mf_u32, 16)
MF_INT_SIGNED(i8, mf_u32, 8)
MF_INT_SIGNED(i16, mf_u32, 16)
MF_INT_UNSIGNED(u8, mf_u32, 8)
MF_INT_UNSIGNED(u16, mf_u32, 16)
MF_INT_BITS(i8, u8, mf_u8, 8)
MF_INT_BITS(i16, u16, mf_u16, 16)
MF_INT_BITS(u8, u8, mf_u8, 8)
MF_INT_BITS(u16, u16, mf_u16, 16)
#endif

/* --- Floats --- */

#define MF_MATH1(T, name, fn)                                                                      \
    MF_FN mf_##T mf_##name##_##T(mf_##T x)                                                         \
    {                                                                                              \
        return MF_CALL_##T(fn)(x);                                                                 \
    }
#define MF_MATH2(T, name, fn)                                                                      \
    MF_FN mf_##T mf_##name##_##T(mf_##T x, mf_##T y)                                               \
    {                                                                                              \
        return MF_CALL_##T(fn)(x, y);                                                              \
    }
#define MF_EXPR1(T, name, e)                                                                       \
    MF_FN mf_##T mf_##name##_##T(mf_##T x)                                                         \
    {                                                                                              \
        return (e);                                                                                \
    }

#define MF_FLOAT(T)                                                                                \
    MF_MATH2(T, mod, fmod)                                                                         \
    MF_MATH2(T, pow, pow)                                                                          \
    MF_MATH2(T, atan2, atan2)                                                                      \
    MF_MATH2(T, hypot, hypot)                                                                      \
    MF_MATH2(T, copysign, copysign)                                                                \
    MF_MATH2(T, nextafter, nextafter)                                                              \
    MF_MATH1(T, abs, fabs)                                                                         \
    MF_MATH1(T, sqrt, sqrt)                                                                        \
    MF_MATH1(T, cbrt, cbrt)                                                                        \
    MF_MATH1(T, exp2, exp2)                                                                        \
    MF_MATH1(T, expm1, expm1)                                                                      \
    MF_MATH1(T, log2, log2)                                                                        \
    MF_MATH1(T, log10, log10)                                                                      \
    MF_MATH1(T, log1p, log1p)                                                                      \
    MF_MATH1(T, sin, sin)                                                                          \
    MF_MATH1(T, cos, cos)                                                                          \
    MF_MATH1(T, tan, tan)                                                                          \
    MF_MATH1(T, asin, asin)                                                                        \
    MF_MATH1(T, acos, acos)                                                                        \
    MF_MATH1(T, atan, atan)                                                                        \
    MF_MATH1(T, sinh, sinh)                                                                        \
    MF_MATH1(T, cosh, cosh)                                                                        \
    MF_MATH1(T, tanh, tanh)                                                                        \
    MF_MATH1(T, asinh, asinh)                                                                      \
    MF_MATH1(T, acosh, acosh)                                                                      \
    MF_MATH1(T, atanh, atanh)                                                                      \
    MF_MATH1(T, gamma, tgamma)                                                                     \
    MF_MATH1(T, lgamma, lgamma)                                                                    \
    MF_MATH1(T, erf, erf)                                                                          \
    MF_MATH1(T, erfc, erfc)                                                                        \
    MF_MATH1(T, ceil, ceil)                                                                        \
    MF_MATH1(T, floor, floor)                                                                      \
    MF_MATH1(T, trunc, trunc)                                                                      \
    MF_MATH1(T, round, rint)                                                                       \
    MF_EXPR1(T, recip, (mf_##T)1 / x)                                                              \
    MF_EXPR1(T, sgn, x > 0 ? (mf_##T)1 : x < 0 ? (mf_##T) - 1 : x)                                 \
    MF_FN mf_##T mf_fma_##T(mf_##T a, mf_##T b, mf_##T c)                                          \
    {                                                                                              \
        return MF_CALL_##T(fma)(a, b, c);                                                          \
    }                                                                                              \
    MF_FN mf_##T mf_mad_##T(mf_##T a, mf_##T b, mf_##T c)                                          \
    {                                                                                              \
        return MF_MAD(a, b, c);                                                                    \
    }                                                                                              \
    MF_FN mf_##T mf_lerp_##T(mf_##T a, mf_##T b, mf_##T t)                                         \
    {                                                                                              \
        return a + (b - a) * t;                                                                    \
    }                                                                                              \
    MF_FN mf_##T mf_ldexp_##T(mf_##T x, mf_##T n)                                                  \
    {                                                                                              \
        return MF_CALL_##T(ldexp)(x, n > 9999 ? 9999 : n < -9999 ? -9999 : (int)n);                \
    }                                                                                              \
    MF_FN mf_bool mf_isnan_##T(mf_##T x)                                                           \
    {                                                                                              \
        return x != x;                                                                             \
    }                                                                                              \
    MF_FN mf_bool mf_isinf_##T(mf_##T x)                                                           \
    {                                                                                              \
        return x == (mf_##T)INFINITY || x == -(mf_##T)INFINITY;                                    \
    }

/* OpenCL has these; C does not, or as calls. */
#ifdef __OPENCL_VERSION__
#define MF_FLOAT_MORE(T)                                                                           \
    MF_MATH2(T, min, fmin)                                                                         \
    MF_MATH2(T, max, fmax)                                                                         \
    MF_MATH1(T, rsqrt, rsqrt)                                                                      \
    MF_MATH1(T, exp10, exp10)                                                                      \
    MF_MATH1(T, sinpi, sinpi)                                                                      \
    MF_MATH1(T, cospi, cospi)                                                                      \
    MF_MATH1(T, tanpi, tanpi)                                                                      \
    MF_MATH1(T, asinpi, asinpi)                                                                    \
    MF_MATH1(T, acospi, acospi)                                                                    \
    MF_MATH1(T, atanpi, atanpi)                                                                    \
    MF_MATH2(T, atan2pi, atan2pi)
#else
#define MF_PI 3.14159265358979323846
/* The smaller and the larger number are selects, of which loops become vectors. Of those that count
 * in units of pi the argument is reduced exactly first, so that whole and half numbers give exact
 * results. */
#define MF_FLOAT_MORE(T)                                                                           \
    MF_FN mf_##T mf_min_##T(mf_##T x, mf_##T y)                                                    \
    {                                                                                              \
        return ((x < y) | (y != y)) ? x : y;                                                       \
    }                                                                                              \
    MF_FN mf_##T mf_max_##T(mf_##T x, mf_##T y)                                                    \
    {                                                                                              \
        return ((x > y) | (y != y)) ? x : y;                                                       \
    }                                                                                              \
    MF_EXPR1(T, rsqrt, (mf_##T)1 / MF_CALL_##T(sqrt)(x))                                           \
    MF_EXPR1(T, exp10, MF_CALL_##T(pow)((mf_##T)10, x))                                            \
    MF_EXPR1(T, asinpi, (mf_##T)(asin((double)x) / MF_PI))                                         \
    MF_EXPR1(T, acospi, (mf_##T)(acos((double)x) / MF_PI))                                         \
    MF_EXPR1(T, atanpi, (mf_##T)(atan((double)x) / MF_PI))                                         \
    MF_FN mf_##T mf_atan2pi_##T(mf_##T x, mf_##T y)                                                \
    {                                                                                              \
        return (mf_##T)(atan2((double)x, (double)y) / MF_PI);                                      \
    }                                                                                              \
    MF_FN mf_##T mf_sinpi_##T(mf_##T x)                                                            \
    {                                                                                              \
        double r = fmod((double)x, 2.0);                                                           \
        if (r != r || r == 0.0 || r == 1.0 || r == -1.0)                                           \
            return r != r ? (mf_##T)r : (mf_##T)copysign(0.0, (double)x);                          \
        return (mf_##T)(r > 0.5 && r < 1.5     ? sin((1.0 - r) * MF_PI)                            \
                        : r < -0.5 && r > -1.5 ? sin((-1.0 - r) * MF_PI)                           \
                                               : sin(r * MF_PI));                                  \
    }                                                                                              \
    MF_FN mf_##T mf_cospi_##T(mf_##T x)                                                            \
    {                                                                                              \
        double r = fabs(fmod((double)x, 2.0));                                                     \
        return r == 0.5 || r == 1.5 ? (mf_##T)0 : (mf_##T)cos(r * MF_PI);                          \
    }                                                                                              \
    MF_FN mf_##T mf_tanpi_##T(mf_##T x)                                                            \
    {                                                                                              \
        return mf_sinpi_##T(x) / mf_cospi_##T(x);                                                  \
    }
#endif

/* Truncation into integers. LO and HI, exact in both float types, are the bounds of the open
 * interval in which it is exact; MIN and MAX what lies outside it becomes. */
#define MF_TO_INT(F, T, LO, HI, MIN, MAX)                                                          \
    MF_FN mf_##T mf_##F##_to_##T(mf_##F x)                                                         \
    {                                                                                              \
        if (x > (mf_##F)(LO) && x < (mf_##F)(HI))                                                  \
            return (mf_##T)x;                                                                      \
        if (mf_isnan_##F(x) || mf_isinf_##F(x))                                                    \
            return 0;                                                                              \
        return x < 0 ? (mf_##T)(MIN) : (mf_##T)(MAX);                                              \
    }
/* 32 and 64 bits: the bound below the smallest number is not exact in f32, so it is the number
 * itself, excluded, which MIN then gives. */
#define MF_TO_INTS(F)                                                                              \
    MF_TO_INT(F, i32, MF_I32_LO_##F, 2147483648.0f, -2147483647 - 1, 2147483647)                   \
    MF_TO_INT(F, i64, -9223372036854775808.0f, 9223372036854775808.0f, -9223372036854775807 - 1,   \
              9223372036854775807)                                                                 \
    MF_TO_INT(F, u32, -1, 4294967296.0f, 0, 4294967295u)                                           \
    MF_TO_INT(F, u64, -1, 18446744073709551616.0f, 0, ~(mf_u64)0)
#ifdef MF_WITHOUT_SMALL
#define MF_TO_SMALL_INTS(F)
#else
#define MF_TO_SMALL_INTS(F)                                                                        \
    MF_TO_INT(F, i8, -129, 128, -128, 127)                                                         \
    MF_TO_INT(F, i16, -32769, 32768, -32768, 32767)                                                \
    MF_TO_INT(F, u8, -1, 256, 0, 255)                                                              \
    MF_TO_INT(F, u16, -1, 65536, 0, 65535)
#endif
#define MF_I32_LO_f32 -2147483648.0f
#define MF_I32_LO_f64 -2147483649.0

#ifndef MF_WITHOUT_F32
MF_FLOAT(f32)
MF_FLOAT_MORE(f32)
MF_TO_INTS(f32)
MF_TO_SMALL_INTS(f32)
#ifndef MF_STRAIGHT_MATH
MF_MATH1(f32, exp, exp)
MF_MATH1(f32, log, log)
#endif

#ifdef __OPENCL_VERSION__
MF_FN mf_u32 mf_to_bits_f32(mf_f32 x)
{
    return as_uint(x);
}
MF_FN mf_f32 mf_from_bits_u32(mf_u32 x)
{
    return as_float(x);
}
#else
MF_FN mf_u32 mf_to_bits_f32(mf_f32 x)
{
    mf_u32 r;
    memcpy(&r, &x, sizeof r);
    return r;
}
MF_FN mf_f32 mf_from_bits_u32(mf_u32 x)
{
    mf_f32 r;
    memcpy(&r, &x, sizeof r);
    return r;
}
#endif

/* exp and log without branches, tables and calls, so that a compiler makes vectors of loops with
 * them: drivers of CPUs have them as functions that stay calls. They err by less than one unit in
 * the last place. */
#if defined(MF_STRAIGHT_MATH) || !defined(__OPENCL_VERSION__)
#ifdef __OPENCL_VERSION__
#define mf_straight_exp mf_exp_f32
#define mf_straight_log mf_log_f32
#endif

/* 2^n, -126 <= n <= 127 */
MF_FN mf_f32 mf_exp2_whole(mf_i32 n)
{
    return mf_from_bits_u32((mf_u32)(n + 127) << 23);
}

/* x = n ln 2 + r, with an n ln 2 whose first part is exact; 2^n in two factors, since it may be
 * subnormal or too large. */
MF_FN mf_f32 mf_straight_exp(mf_f32 x)
{
    const mf_f32 big = 12582912.0f; /* 1.5 * 2^23: what is added to it loses its fraction */
    mf_f32 y = x < -104.0f ? -104.0f : x > 89.0f ? 89.0f : x;
    mf_f32 shifted = y * 1.44269504f + big, n = shifted - big;
    mf_i32 k = (mf_i32)(mf_to_bits_f32(shifted) - mf_to_bits_f32(big)), k1 = k >> 1;
    mf_f32 r = y - n * 0.693145752f - n * 1.42860677e-6f;
    mf_f32 q = 0.5f + r * (0.166666657f +
                           r * (0.0416662805f +
                                r * (0.0083335042f + r * (0.00139457535f + r * 0.000197892659f))));
    mf_f32 e = (1.0f + (r + r * r * q)) * mf_exp2_whole(k1) * mf_exp2_whole(k - k1);
    return x != x ? x : e;
}

/* x = 2^k (1 + f), with 1 + f between the roots of 1/2 and 2. */
MF_FN mf_f32 mf_straight_log(mf_f32 x)
{
    const mf_u32 root = 0x3f3504f3U; /* the bits of the root of 1/2 */
    mf_i32 tiny = x < 1.17549435e-38f;
    mf_u32 u = mf_to_bits_f32(tiny ? x * 8388608.0f : x) - root;
    mf_f32 k = (mf_f32)((mf_i32)u >> 23) - (tiny ? 23.0f : 0.0f);
    mf_f32 f = mf_from_bits_u32((u & 0x7fffffU) + root) - 1.0f;
    mf_f32 q =
        0.333333135f +
        f * (-0.250000089f +
             f * (0.200021192f +
                  f * (-0.166679963f +
                       f * (0.142195508f +
                            f * (-0.1240559f +
                                 f * (0.118881784f + f * (-0.116756529f + f * 0.0674660802f)))))));
    mf_f32 l = k * 0.693145752f + (f - (0.5f * f * f - (f * f * f * q + k * 1.42860677e-6f)));
    mf_f32 edge = x < 0.0f ? MF_NAN_F32 : x == 0.0f ? -MF_INF_F32 : x; /* or infinity, or NaN */
    return x > 0.0f && x < MF_INF_F32 ? l : edge;
}
#endif

#endif

#if defined(MF_HAS_F64) && !defined(MF_WITHOUT_F64)
MF_FLOAT(f64)
MF_MATH1(f64, exp, exp)
MF_MATH1(f64, log, log)
MF_FLOAT_MORE(f64)
MF_TO_INTS(f64)
MF_TO_SMALL_INTS(f64)
#ifdef __OPENCL_VERSION__
MF_FN mf_u64 mf_to_bits_f64(mf_f64 x)
{
    return as_ulong(x);
}
MF_FN mf_f64 mf_from_bits_u64(mf_u64 x)
{
    return as_double(x);
}
#else
MF_FN mf_u64 mf_to_bits_f64(mf_f64 x)
{
    mf_u64 r;
    memcpy(&r, &x, sizeof r);
    return r;
}
MF_FN mf_f64 mf_from_bits_u64(mf_u64 x)
{
    mf_f64 r;
    memcpy(&r, &x, sizeof r);
    return r;
}
#endif
#endif

/* As of soft floats, for tables of all. */
#ifndef __OPENCL_VERSION__
MF_FN mf_f64 mf_f32_to_f64(mf_f32 x)
{
    return (mf_f64)x;
}
MF_FN mf_f32 mf_f64_to_f32(mf_f64 x)
{
    return (mf_f32)x;
}
MF_FN mf_f64 mf_f64_to_f64(mf_f64 x)
{
    return x;
}
#endif

#include "common/soft.h"

#endif
