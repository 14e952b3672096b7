/* The rest of common/scalar.h: operations on floats that C and OpenCL C need not have, f16. */
#ifndef COMMON_SOFT_H
#define COMMON_SOFT_H
#if !defined(MF_WITHOUT_F16) && !defined(MF_WITHOUT_F32)
/* Sign, 5 bits of the exponent, 10 of the fraction. As bits of f32 the exponent is 112 more, and
 * the fraction has 13 bits more; what is below 2^-14 is a multiple of 2^-24, as are f32 from 0.5
 * to 1. Selects, no branches: compilers make vectors of loops with them.
 */
#ifdef MF_TO_HALF
MF_FN mf_f32 mf_f16_to_f32(mf_f16 x)
{
    return MF_OF_HALF(x);
}
MF_FN mf_f16 mf_f32_to_f16(mf_f32 x)
{
    return MF_TO_HALF(x);
}
#else
MF_FN mf_f32 mf_f16_to_f32(mf_f16 x)
{
    mf_u32 a = x & 0x7fffU, more = 112U << 23;
    mf_u32 normal = (a << 13) + (a < 0x7c00U ? more : 2 * more);
    mf_u32 tiny = mf_to_bits_f32((mf_f32)(mf_i32)a * 5.9604644775390625e-8f); /* 2^-24 */
    return mf_from_bits_u32((a < 0x400U ? tiny : normal) | (x & 0x8000U) << 16);
}
MF_FN mf_f16 mf_f32_to_f16(mf_f32 x)
{
    mf_u32 bits = mf_to_bits_f32(x), a = bits & 0x7fffffffU, half_ = 126U << 23;
    mf_u32 even = a + 0xfffU + ((a >> 13) & 1U); /* halves are rounded up if that makes them even */
    mf_u32 normal = (even - (a < 0x38800000U ? 0 : 112U << 23)) >> 13;
    mf_u32 finite = normal < 0x7c00U ? normal : 0x7c00U;
    mf_u32 tiny = mf_to_bits_f32(mf_from_bits_u32(a < half_ ? a : half_) + 0.5f) - half_;
    mf_u32 nan_ = 0x7e00U | (a >> 13 & 0x3ffU);
    mf_u32 number = a < 0x38800000U ? tiny : finite;
    return (mf_f16)((a > 0x7f800000U ? nan_ : number) | (bits >> 16 & 0x8000U));
}
#endif

#define MF_SOFT1(name)                                                                             \
    MF_FN mf_f16 mf_##name##_f16(mf_f16 x)                                                         \
    {                                                                                              \
        return mf_f32_to_f16(mf_##name##_f32(mf_f16_to_f32(x)));                                   \
    }
#define MF_SOFT2(name)                                                                             \
    MF_FN mf_f16 mf_##name##_f16(mf_f16 x, mf_f16 y)                                               \
    {                                                                                              \
        return mf_f32_to_f16(mf_##name##_f32(mf_f16_to_f32(x), mf_f16_to_f32(y)));                 \
    }
#define MF_SOFT_INFIX(T, name, op)                                                                 \
    MF_FN mf_##T mf_##name##_f16(mf_f16 x, mf_f16 y)                                               \
    {                                                                                              \
        return mf_##T##_OF_F32(mf_f16_to_f32(x) op mf_f16_to_f32(y));                              \
    }
#define mf_f16_OF_F32(x)  mf_f32_to_f16(x)
#define mf_bool_OF_F32(x) (x)
MF_SOFT_INFIX(f16, add, +)
MF_SOFT_INFIX(f16, sub, -)
MF_SOFT_INFIX(f16, mul, *)
MF_SOFT_INFIX(bool, eq, ==)
MF_SOFT_INFIX(bool, ne, !=)
MF_SOFT_INFIX(bool, lt, <)
MF_SOFT_INFIX(bool, le, <=)

/* OpenCL's quotients and roots of f32 may err by three units in the last place: then what is left
 * over is added, which is exact. Nothing is left of what is not finite. */
#ifdef __OPENCL_VERSION__
#define MF_NEARER(result, rest, more) ((rest) < 0 || (rest) > 0 ? (result) + (more) : (result))
#else
#define MF_NEARER(result, rest, more) (result)
#endif
MF_FN mf_f16 mf_div_f16(mf_f16 x, mf_f16 y)
{
    mf_f32 a = mf_f16_to_f32(x), b = mf_f16_to_f32(y), q = a / b;
    return mf_f32_to_f16(MF_NEARER(q, fma(-q, b, a), fma(-q, b, a) / b));
}
MF_FN mf_f16 mf_sqrt_f16(mf_f16 x)
{
    mf_f32 a = mf_f16_to_f32(x), r = mf_sqrt_f32(a);
    return mf_f32_to_f16(MF_NEARER(r, fma(-r, r, a), 0.5f * fma(-r, r, a) / r));
}
MF_FN mf_f16 mf_recip_f16(mf_f16 x)
{
    return mf_div_f16(0x3c00, x);
}

/* The sum of a product, which is exact, rounded to the number whose last bit is odd if it is not
 * exact: what is lost (Knuth's two sums) is then not taken for a half. */
MF_FN mf_f16 mf_fma_f16(mf_f16 a, mf_f16 b, mf_f16 c)
{
    mf_f32 p = mf_f16_to_f32(a) * mf_f16_to_f32(b), z = mf_f16_to_f32(c), s = p + z, of_z = s - p;
    mf_f32 lost = (p - (s - of_z)) + (z - of_z);
    mf_u32 bits = mf_to_bits_f32(s), inexact = (lost < 0) | (lost > 0);
    mf_u32 step = (lost > 0) == (s > 0) ? 1U : ~0U;
    return mf_f32_to_f16(mf_from_bits_u32(bits + (inexact & ~bits & 1U ? step : 0U)));
}
MF_FN mf_f16 mf_mad_f16(mf_f16 a, mf_f16 b, mf_f16 c)
{
    return mf_add_f16(mf_mul_f16(a, b), c);
}

MF_FN mf_f16 mf_neg_f16(mf_f16 x)
{
    return (mf_f16)(x ^ 0x8000U);
}
MF_FN mf_f16 mf_abs_f16(mf_f16 x)
{
    return (mf_f16)(x & 0x7fffU);
}
MF_FN mf_f16 mf_copysign_f16(mf_f16 x, mf_f16 y)
{
    return (mf_f16)((x & 0x7fffU) | (y & 0x8000U));
}
MF_FN mf_bool mf_isnan_f16(mf_f16 x)
{
    return (x & 0x7fffU) > 0x7c00U;
}
MF_FN mf_bool mf_isinf_f16(mf_f16 x)
{
    return (x & 0x7fffU) == 0x7c00U;
}
/* Bits of numbers of one sign are in the order of what is without it. */
MF_FN mf_f16 mf_nextafter_f16(mf_f16 x, mf_f16 y)
{
    mf_bool away = mf_lt_f16(x, y) == (x < 0x8000U);
    if (mf_isnan_f16(x) || mf_isnan_f16(y))
        return 0x7e00;
    if (mf_eq_f16(x, y))
        return y;
    return (x & 0x7fffU) == 0 ? (mf_f16)((y & 0x8000U) | 1U) : (mf_f16)(away ? x + 1U : x - 1U);
}
MF_FN mf_u16 mf_to_bits_f16(mf_f16 x)
{
    return x;
}
MF_FN mf_f16 mf_from_bits_u16(mf_u16 x)
{
    return x;
}

/* Of zeros the second, on each device. */
MF_FN mf_f16 mf_min_f16(mf_f16 x, mf_f16 y)
{
    return mf_lt_f16(x, y) | mf_isnan_f16(y) ? x : y;
}
MF_FN mf_f16 mf_max_f16(mf_f16 x, mf_f16 y)
{
    return mf_lt_f16(y, x) | mf_isnan_f16(y) ? x : y;
}

MF_SOFT2(mod)
MF_SOFT2(pow)
MF_SOFT2(atan2)
MF_SOFT2(atan2pi)
MF_SOFT2(hypot)
MF_SOFT2(ldexp)
MF_SOFT1(sgn)
MF_SOFT1(rsqrt)
MF_SOFT1(cbrt)
MF_SOFT1(exp)
MF_SOFT1(exp2)
MF_SOFT1(exp10)
MF_SOFT1(expm1)
MF_SOFT1(log)
MF_SOFT1(log2)
MF_SOFT1(log10)
MF_SOFT1(log1p)
MF_SOFT1(sin)
MF_SOFT1(cos)
MF_SOFT1(tan)
MF_SOFT1(asin)
MF_SOFT1(acos)
MF_SOFT1(atan)
MF_SOFT1(sinh)
MF_SOFT1(cosh)
MF_SOFT1(tanh)
MF_SOFT1(asinh)
MF_SOFT1(acosh)
MF_SOFT1(atanh)
MF_SOFT1(sinpi)
MF_SOFT1(cospi)
MF_SOFT1(tanpi)
MF_SOFT1(asinpi)
MF_SOFT1(acospi)
MF_SOFT1(atanpi)
MF_SOFT1(gamma)
MF_SOFT1(lgamma)
MF_SOFT1(erf)
MF_SOFT1(erfc)
MF_SOFT1(ceil)
MF_SOFT1(floor)
MF_SOFT1(trunc)
MF_SOFT1(round)

/* Conversions by way of f32, which has all f16, and all integers that are not infinite as f16. */
#define MF_SOFT_CONV(T)                                                                            \
    MF_FN mf_f16 mf_##T##_to_f16(mf_##T x)                                                         \
    {                                                                                              \
        return mf_f32_to_f16((mf_f32)x);                                                           \
    }                                                                                              \
    MF_FN mf_##T mf_f16_to_##T(mf_f16 x)                                                           \
    {                                                                                              \
        return mf_f32_to_##T(mf_f16_to_f32(x));                                                    \
    }
MF_SOFT_CONV(i32)
MF_SOFT_CONV(i64)
MF_SOFT_CONV(u32)
MF_SOFT_CONV(u64)
#ifndef MF_WITHOUT_SMALL
MF_SOFT_CONV(i8)
MF_SOFT_CONV(i16)
MF_SOFT_CONV(u8)
MF_SOFT_CONV(u16)
#endif
MF_FN mf_f16 mf_bool_to_f16(mf_bool x)
{
    return x ? 0x3c00 : 0;
}
MF_FN mf_bool mf_f16_to_bool(mf_f16 x)
{
    return (x & 0x7fffU) != 0;
}
#ifdef MF_HAS_F64
MF_FN mf_f64 mf_f16_to_f64(mf_f16 x)
{
    return (mf_f64)mf_f16_to_f32(x);
}
/* By the f32 beside it whose last bit is odd, if it is none: no half is made that was none. */
MF_FN mf_f16 mf_f64_to_f16(mf_f64 x)
{
    mf_f32 near_ = (mf_f32)x;
    mf_f64 back = (mf_f64)near_;
    mf_u32 bits = mf_to_bits_f32(near_), inexact = (back < x) | (back > x);
    mf_u32 step = (back < x) == (x > 0) ? 1U : ~0U;
    return mf_f32_to_f16(mf_from_bits_u32(bits + (inexact & ~bits & 1U ? step : 0U)));
}
#endif
#define MF_INF_F16 ((mf_f16)0x7c00)
#define MF_NAN_F16 ((mf_f16)0x7e00)
#endif

#endif
