/* Put in front of kernels that are C functions, behind common/scalar.h: what kir/target/native.c
 * and exp/exp_c.c write. The twin of prelude.cl. */
#include <stdbool.h>
#include <stddef.h>

#define MF_HELPER static inline __attribute__((unused))

/* A program is one file, compiled as it is or, by minifut, in parts, side by side: its host code
 * (RT_PART_HOST), and each RT_PARTS-th of its kernels, from number RT_PART on (RT_PART_KERNELS).
 * Kernels for other processors, too, are compiled a second time (RT_WIDE), for those that have
 * wide vectors. */
#if !defined(RT_PART_KERNELS)
#define RT_KERNEL(name) static void name
#elif defined(RT_WIDE)
#define RT_KERNEL(name) __attribute__((visibility("hidden"))) void name##_wide
#else
#define RT_KERNEL(name) __attribute__((visibility("hidden"))) void name
#endif
#ifndef RT_PARTS
#define RT_PARTS 1
#define RT_PART  0
#endif

/* --- Which group and work-item it is --- */

typedef struct {
    size_t group[3], groups[3], item[3], size[3];
} mf_place;

/* Group `first`, counted with dimension 0 innermost. */
MF_HELPER __attribute__((always_inline)) mf_place mf_begin(const size_t *groups, const size_t *size,
                                                           size_t first)
{
    return (mf_place){
        {first % groups[0], first / groups[0] % groups[1], first / groups[0] / groups[1]},
        {groups[0], groups[1], groups[2]},
        {0, 0, 0},
        {size[0], size[1], size[2]}};
}

MF_HELPER __attribute__((always_inline)) void mf_next(mf_place *p)
{
    if (++p->group[0] < p->groups[0])
        return;
    p->group[0] = 0;
    if (++p->group[1] < p->groups[1])
        return;
    p->group[1] = 0;
    p->group[2]++;
}

#define mf_group_id(d)     ((mf_index)mf.group[d])
#define mf_local_id(d)     ((mf_index)mf.item[d])
#define mf_local_size(d)   ((mf_index)mf.size[d])
#define mf_num_groups(d)   ((mf_index)mf.groups[d])
#define mf_global_size(d)  ((mf_index)(mf.groups[d] * mf.size[d]))
#define get_group_id(d)    mf_group_id(d)
#define get_local_id(d)    mf_local_id(d)
#define get_local_size(d)  mf_local_size(d)
#define get_num_groups(d)  mf_num_groups(d)
#define get_global_size(d) mf_global_size(d)

#define MF_UNROLLS 0 /* kernels are not built for sizes */

/* --- Vectors, what functions give that give several numbers --- */

#define MF_VECTORS(TAG, T, text, bits, C, CL, ...)                                                 \
    typedef struct {                                                                               \
        mf_##T s0, s1;                                                                             \
    } CL##2;                                                                                       \
    typedef struct {                                                                               \
        mf_##T s0, s1, s2, s3;                                                                     \
    } CL##4;                                                                                       \
    typedef struct {                                                                               \
        mf_##T s0, s1, s2, s3, s4, s5, s6, s7;                                                     \
    } CL##8;                                                                                       \
    MF_HELPER CL##2 mf_make_##CL##2(mf_##T a, mf_##T b)                                            \
    {                                                                                              \
        return (CL##2){a, b};                                                                      \
    }                                                                                              \
    MF_HELPER CL##4 mf_make_##CL##4(mf_##T a, mf_##T b, mf_##T c, mf_##T d)                        \
    {                                                                                              \
        return (CL##4){a, b, c, d};                                                                \
    }                                                                                              \
    MF_HELPER CL##8 mf_make_##CL##8(mf_##T a, mf_##T b, mf_##T c, mf_##T d, mf_##T e, mf_##T f,    \
                                    mf_##T g, mf_##T h)                                            \
    {                                                                                              \
        return (CL##8){a, b, c, d, e, f, g, h};                                                    \
    }
RT_NUMBERS(MF_VECTORS, )
#define MF_VECTOR(type) mf_make_##type

/* --- Memory --- */

/* Elements that lie in memory which has elements of other types, too. */
#define MF_VIEW(TAG, T, ...) typedef mf_##T __attribute__((may_alias)) mf_view_##T;
RT_NUMBERS(MF_VIEW, )
typedef mf_bool mf_view_mf_bool; /* bytes lie anywhere */

/* Where to write if c, or else, without a branch: compilers make one of ?:, and half of a filter's
 * are guessed wrong. */
MF_HELPER __attribute__((always_inline)) void *mf_where(bool c, void *place, void *nowhere)
{
    size_t all = -(size_t)c;
    return (void *)(((size_t)place & all) | ((size_t)nowhere & ~all));
}

/* What lies at p gets another value in one step; back comes what was there. A group that sees the
 * value also sees what was written before it. */
#define MF_ATOMIC(T, name, value)                                                                  \
    MF_HELPER mf_##T mf_atomic_##name##_##T(mf_##T *p, mf_##T x)                                   \
    {                                                                                              \
        mf_##T old = __atomic_load_n(p, __ATOMIC_RELAXED);                                         \
        while (!__atomic_compare_exchange_n(p, &old, value, true, __ATOMIC_ACQ_REL,                \
                                            __ATOMIC_RELAXED))                                     \
            ;                                                                                      \
        return old;                                                                                \
    }
#define MF_ATOMIC_BUILTIN(T, name, builtin)                                                        \
    MF_HELPER mf_##T mf_atomic_##name##_##T(mf_##T *p, mf_##T x)                                   \
    {                                                                                              \
        return builtin(p, x, __ATOMIC_ACQ_REL);                                                    \
    }
#define MF_ATOMICS(T)                                                                              \
    MF_ATOMIC_BUILTIN(T, add, __atomic_fetch_add)                                                  \
    MF_ATOMIC_BUILTIN(T, sub, __atomic_fetch_sub)                                                  \
    MF_ATOMIC_BUILTIN(T, and, __atomic_fetch_and)                                                  \
    MF_ATOMIC_BUILTIN(T, or, __atomic_fetch_or)                                                    \
    MF_ATOMIC_BUILTIN(T, xor, __atomic_fetch_xor)                                                  \
    MF_ATOMIC_BUILTIN(T, xchg, __atomic_exchange_n)                                                \
    MF_ATOMIC(T, min, old < x ? old : x)                                                           \
    MF_ATOMIC(T, max, old < x ? x : old)                                                           \
    MF_HELPER mf_##T mf_atomic_cmpxchg_##T(mf_##T *p, mf_##T old, mf_##T x)                        \
    {                                                                                              \
        __atomic_compare_exchange_n(p, &old, x, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);        \
        return old;                                                                                \
    }
MF_ATOMICS(i32)
MF_ATOMICS(u32)
MF_ATOMICS(i64)
MF_ATOMICS(u64)
#define MF_ATOMIC64 1

/* Sums of floats, by their bits N. */
#define MF_ATOMIC_SUM(T, N)                                                                        \
    MF_HELPER mf_##T mf_atomic_add_##T(mf_##T *p, mf_##T x)                                        \
    {                                                                                              \
        mf_view_##N *bits = (mf_view_##N *)p;                                                      \
        mf_##N old = __atomic_load_n(bits, __ATOMIC_RELAXED);                                      \
        while (!__atomic_compare_exchange_n(bits, &old, mf_to_bits_##T(mf_from_bits_##N(old) + x), \
                                            true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))             \
            ;                                                                                      \
        return mf_from_bits_##N(old);                                                              \
    }
MF_ATOMIC_SUM(f32, u32)
MF_ATOMIC_SUM(f64, u64)

/* Several groups write different numbers into one word of their local memory, which nobody else
 * has. */
#define MF_WRITE_ANY(place, number) ((place) = (number))

/* Words by which groups tell each other something while they run. */
#define mf_peek_u32(place)    __atomic_load_n(place, __ATOMIC_ACQUIRE)
#define mf_peek_u64(place)    __atomic_load_n(place, __ATOMIC_ACQUIRE)
#define mf_post_u32(place, x) __atomic_store_n(place, x, __ATOMIC_RELEASE)
#define mf_post_u64(place, x) __atomic_store_n(place, x, __ATOMIC_RELEASE)
#define mf_arrive(place)      __atomic_fetch_add(place, 1, __ATOMIC_ACQ_REL)

#define MF_GLOBAL
#define MF_SEE(place)           __atomic_load_n(place, __ATOMIC_ACQUIRE)
#define MF_SWAP(place, x)       mf_atomic_xchg_i32(place, x)
#define MF_CAS(place, old, new) mf_atomic_cmpxchg_i32(place, old, new)
#define MF_RAISE(place, x)      mf_atomic_max_u32(place, x)
#include "runtime/kernels/failure.h"

/* --- Numbers of elements and what is computed with them: always of 64 bits --- */

typedef mf_i64 mf_index;
#define mf_exact_quot_index(a, b) mf_index_div(a, b)
#define mf_exact_rem_index(a, b)  mf_index_mod(a, b)
#define mf_add_index(a, b)        mf_add_i64(a, b)
#define mf_sub_index(a, b)        mf_sub_i64(a, b)
#define mf_mul_index(a, b)        mf_mul_i64(a, b)
#define mf_quot_index(a, b)       mf_quot_i64(a, b)
#define mf_rem_index(a, b)        mf_rem_i64(a, b)
#define mf_div_index(a, b)        mf_div_i64(a, b)
#define mf_mod_index(a, b)        mf_mod_i64(a, b)
#define mf_min_index(a, b)        mf_min_i64(a, b)
#define mf_max_index(a, b)        mf_max_i64(a, b)

/* There need not be such an element. */
#define mf_prefetch(buf, at)                                                                       \
    __builtin_prefetch((const void *)((uintptr_t)(buf) + (uintptr_t)(at) * sizeof *(buf)))

/* --- Loops with functions, as vectors --- */

/* Without calls: see common/scalar.h. */
#define mf_exp_f32 mf_straight_exp
#define mf_log_f32 mf_straight_log

/* What one instruction does is as fast as its product alone. */
#if (defined(__FMA__) || defined(__ARM_FEATURE_FMA)) && !defined(MF_STRICT_MATH)
#define mf_mad_f32 __builtin_fmaf
#define mf_mad_f64 __builtin_fma
#endif

/* What the C library has for vectors, too (libmvec of glibc, which -lm brings). They err by up to
 * four units in the last place, and what a loop's vectors leave over is computed one by one, with
 * less: equal elements may have results that differ in their last bits. MF_STRICT_MATH does without
 * them (minifut compile --strict-math), and so do programs that make the same element in two
 * kernels and must find it to be the same, such as what a filter counts and keeps (MF_SAME_MATH).
 */
#if defined(__GLIBC__) && defined(__x86_64__) && !defined(__clang__) &&                            \
    !defined(MF_STRICT_MATH) && !defined(MF_SAME_MATH)
#define MF_OF_VECTORS __attribute__((const, nothrow, simd("notinbranch")))
#define MF_VECTOR1(name)                                                                           \
    MF_OF_VECTORS double name(double);                                                             \
    MF_OF_VECTORS float name##f(float);
#define MF_VECTOR2(name)                                                                           \
    MF_OF_VECTORS double name(double, double);                                                     \
    MF_OF_VECTORS float name##f(float, float);
MF_VECTOR1(exp)
MF_VECTOR1(log)
MF_VECTOR2(pow)
#if __GLIBC_PREREQ(2, 35)
MF_VECTOR1(acos)
MF_VECTOR1(acosh)
MF_VECTOR1(asin)
MF_VECTOR1(asinh)
MF_VECTOR1(atan)
MF_VECTOR1(atanh)
MF_VECTOR1(cbrt)
MF_VECTOR1(cosh)
MF_VECTOR1(erf)
MF_VECTOR1(erfc)
MF_VECTOR1(exp2)
MF_VECTOR1(expm1)
MF_VECTOR1(log10)
MF_VECTOR1(log1p)
MF_VECTOR1(log2)
MF_VECTOR1(sinh)
MF_VECTOR1(tan)
MF_VECTOR1(tanh)
MF_VECTOR2(atan2)
MF_VECTOR2(hypot)
#endif
/* By other names, since compilers join both of a number to one call, of which there are no vectors.
 */
MF_OF_VECTORS double mf_vector_sin_f64(double) __asm__("sin");
MF_OF_VECTORS float mf_vector_sin_f32(float) __asm__("sinf");
MF_OF_VECTORS double mf_vector_cos_f64(double) __asm__("cos");
MF_OF_VECTORS float mf_vector_cos_f32(float) __asm__("cosf");
#define mf_sin_f32 mf_vector_sin_f32
#define mf_sin_f64 mf_vector_sin_f64
#define mf_cos_f32 mf_vector_cos_f32
#define mf_cos_f64 mf_vector_cos_f64
#endif
