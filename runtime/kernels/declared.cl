/* What kernels, prelude.cl and scalar.h call of OpenCL C, declared as Clang's opencl-c.h declares it, in place of that header
 * (dev_opencl.c): its 17000 declarations, for vectors and images too, take PoCL longer than all that a small program is. */
#define MF_CALLED __attribute__((overloadable))
#define MF_PURE   __attribute__((overloadable, const))

#define MF_PLACE(name) size_t MF_PURE name(uint);
MF_PLACE(get_global_id)
MF_PLACE(get_global_size)
MF_PLACE(get_group_id)
MF_PLACE(get_local_id)
MF_PLACE(get_local_size)
MF_PLACE(get_num_groups)

void MF_CALLED __attribute__((convergent)) barrier(cl_mem_fence_flags);
void MF_CALLED mem_fence(cl_mem_fence_flags);
#if defined(__opencl_c_atomic_scope_device) && defined(__opencl_c_atomic_order_seq_cst)
void MF_CALLED atomic_work_item_fence(cl_mem_fence_flags, memory_order, memory_scope);
#endif

#define MF_ATOMICS(T, space)                                                 \
    T MF_CALLED atomic_add(volatile space T *, T);                           \
    T MF_CALLED atomic_sub(volatile space T *, T);                           \
    T MF_CALLED atomic_min(volatile space T *, T);                           \
    T MF_CALLED atomic_max(volatile space T *, T);                           \
    T MF_CALLED atomic_and(volatile space T *, T);                           \
    T MF_CALLED atomic_or(volatile space T *, T);                            \
    T MF_CALLED atomic_xor(volatile space T *, T);                           \
    T MF_CALLED atomic_xchg(volatile space T *, T);                          \
    T MF_CALLED atomic_cmpxchg(volatile space T *, T, T);                    \
    T MF_CALLED atomic_inc(volatile space T *);
MF_ATOMICS(int, __global)
MF_ATOMICS(uint, __global)
MF_ATOMICS(int, __local)
MF_ATOMICS(uint, __local)
#ifdef cl_khr_int64_base_atomics
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#define MF_ATOMS(T, space)                                                   \
    T MF_CALLED atom_add(volatile space T *, T);                             \
    T MF_CALLED atom_xchg(volatile space T *, T);                            \
    T MF_CALLED atom_cmpxchg(volatile space T *, T, T);
MF_ATOMS(long, __global)
MF_ATOMS(ulong, __global)
MF_ATOMS(long, __local)
MF_ATOMS(ulong, __local)
#endif

#define MF_OF_INTS(T, U)                                                     \
    U MF_PURE abs(T);                                                        \
    T MF_PURE clz(T);                                                        \
    T MF_PURE popcount(T);                                                   \
    T MF_PURE min(T, T);                                                     \
    T MF_PURE max(T, T);                                                     \
    T MF_PURE mul_hi(T, T);
MF_OF_INTS(char, uchar)
MF_OF_INTS(uchar, uchar)
MF_OF_INTS(short, ushort)
MF_OF_INTS(ushort, ushort)
MF_OF_INTS(int, uint)
MF_OF_INTS(uint, uint)
MF_OF_INTS(long, ulong)
MF_OF_INTS(ulong, ulong)

#define MF_OF_1(T, name) T MF_PURE name(T);
#define MF_OF_2(T, name) T MF_PURE name(T, T);
#define MF_OF_FLOATS(T)                                                      \
    MF_OF_1(T, acos) MF_OF_1(T, acosh) MF_OF_1(T, acospi)                    \
    MF_OF_1(T, asin) MF_OF_1(T, asinh) MF_OF_1(T, asinpi)                    \
    MF_OF_1(T, atan) MF_OF_1(T, atanh) MF_OF_1(T, atanpi)                    \
    MF_OF_1(T, cbrt) MF_OF_1(T, ceil) MF_OF_1(T, floor)                      \
    MF_OF_1(T, cos) MF_OF_1(T, cosh) MF_OF_1(T, cospi)                       \
    MF_OF_1(T, erf) MF_OF_1(T, erfc) MF_OF_1(T, fabs)                        \
    MF_OF_1(T, exp) MF_OF_1(T, exp2) MF_OF_1(T, exp10) MF_OF_1(T, expm1)     \
    MF_OF_1(T, lgamma) MF_OF_1(T, tgamma)                                    \
    MF_OF_1(T, log) MF_OF_1(T, log2) MF_OF_1(T, log10) MF_OF_1(T, log1p)     \
    MF_OF_1(T, rint) MF_OF_1(T, trunc) MF_OF_1(T, sqrt) MF_OF_1(T, rsqrt)    \
    MF_OF_1(T, sin) MF_OF_1(T, sinh) MF_OF_1(T, sinpi)                       \
    MF_OF_1(T, tan) MF_OF_1(T, tanh) MF_OF_1(T, tanpi)                       \
    MF_OF_2(T, atan2) MF_OF_2(T, atan2pi) MF_OF_2(T, copysign)               \
    MF_OF_2(T, fmax) MF_OF_2(T, fmin) MF_OF_2(T, fmod)                       \
    MF_OF_2(T, hypot) MF_OF_2(T, nextafter) MF_OF_2(T, pow)                  \
    T MF_PURE fma(T, T, T);                                                  \
    T MF_PURE ldexp(T, int);
MF_OF_FLOATS(float)
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
MF_OF_FLOATS(double)
#endif
