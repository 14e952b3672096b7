/* Put in front of every kernel; scalar.h follows. Extensions, and failures inside kernels. */
#if defined(cl_khr_fp64) || defined(__opencl_c_fp64)
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#define MF_HAS_F64 1
#endif

/* Numbers of f16 are their bits, in vectors, too. NVIDIA's devices convert f32 to them and back by an instruction; their
 * arithmetic on them is not used: of a product and a sum it would make one operation, with other bits than elsewhere. Others
 * convert as CPUs do (soft.h): half is an extension, which oclgrind has and cannot run. */
#if defined(__NV_CL_C_VERSION)
static inline ushort mf_to_half(float x)
{
    ushort r;
    __asm__("cvt.rn.f16.f32 %0,%1;" : "=h"(r) : "f"(x));
    return r;
}
static inline float mf_of_half(ushort x)
{
    float r;
    __asm__("cvt.f32.f16 %0,%1;" : "=f"(r) : "h"(x));
    return r;
}
#define MF_TO_HALF(x) mf_to_half(x)
#define MF_OF_HALF(x) mf_of_half(x)
#endif
#define mf_half2 ushort2
#define mf_half4 ushort4
#define mf_half8 ushort8

/* Loops are unrolled where the driver's compiler can (not around calls that it does not know), and conditions may be
 * known where a kernel is built for a device and its launches: no news for users. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed"
#pragma clang diagnostic ignored "-Wconstant-logical-operand"
#endif

/* NVIDIA's compiler adds products without rounding them where they are wanted for nothing else: not where the same element is
 * made in two kernels and must be found to be the same, such as what a filter counts and keeps. */
#ifdef MF_SAME_PRODUCTS
#pragma OPENCL FP_CONTRACT OFF
#ifdef FP_FAST_FMAF
#define MF_MAD(a, b, c) fma(a, b, c)
#endif
#endif

/* A vector's elements follow in parentheses. */
#define MF_VECTOR(type) (type)

/* Where a work-item is in its launch, as an index. */
#define mf_group_id(d)    ((mf_index)get_group_id(d))
#define mf_local_id(d)    ((mf_index)get_local_id(d))
#define mf_local_size(d)  ((mf_index)get_local_size(d))
#define mf_num_groups(d)  ((mf_index)get_num_groups(d))
#define mf_global_size(d) ((mf_index)get_global_size(d))

/* What a kernel is given before its own parameters: nothing, but in steps.cl. */
#define MF_GRID

/* A kernel may be built for the numbers of its launches (sized.c). Definitions before this text then say what
 * argument 3 is, MF_SIZE_3 (of local memory: its bytes, which are then declared here), and the size of groups, MF_GROUP. They are constants in both builds with 0 as what is given, so
 * that #if and sizes of arrays can ask: MF_SIZE(3, 0). */
#ifdef MF_SIZED
#define MF_SIZE(i, given) MF_SIZE_##i
#define MF_SHAPE          __attribute__((reqd_work_group_size(MF_GROUP, MF_GROUP_1, 1)))
#ifndef MF_LOCAL_GIVEN
#define MF_LOCAL(i, type, name) \
    __local type name[MF_SIZE_##i / sizeof(type)] __attribute__((aligned(MF_SIZE_##i > 16384 ? 1024 : 16))) MF_KEPT(type, name)
/* PoCL 6 ends with an assertion where it drops all uses of such an array, as of code for groups of another size, in a program
 * that is not optimised. */
#if defined(POCL_DEVICE_ADDRESS_BITS) && !defined(__OPTIMIZE__)
#define MF_KEPT(type, name) ; __local type *volatile name##_kept = name; (void)name##_kept
#else
#define MF_KEPT(type, name)
#endif
#endif
#define get_local_size(d) ((d) == 0 ? MF_GROUP : (d) == 1 ? MF_GROUP_1 : 1)
#define get_local_id(d)   ((d) == 1 && MF_GROUP_1 == 1 ? 0 : get_local_id(d))
#else
#define MF_SIZED          0
#define MF_GROUP          0
#define MF_SIZE(i, given) (given)
#define MF_SHAPE
#define MF_LOCAL_GIVEN
#endif
#ifdef MF_LOCAL_GIVEN
#define MF_LOCAL(i, type, name) __local type *const name = name##_given
#endif
/* Arrays of a thread in private memory instead of slices of blocks, in a kernel that is built for its sizes: up to so many bytes. */
#ifndef MF_PRIVATE_BYTES
#define MF_PRIVATE_BYTES 512
#endif
/* Are the turns of loops that its work-items share out known, so that short ones are unrolled? */
#ifndef MF_UNROLLS
#define MF_UNROLLS (MF_SIZED && MF_GROUP)
#endif

/* Long loops over private arrays: a CPU has no registers for them. */
#define MF_PRAGMA(text) _Pragma(#text)
#if defined(__x86_64__) || defined(__aarch64__)
#define MF_UNROLL(n) MF_PRAGMA(nounroll)
#else
#define MF_UNROLL(n) MF_PRAGMA(unroll n)
#endif

/* Neighbouring work-items that go in step exchange numbers without memory: so many, counted from a multiple of them. */
#if defined(__NV_CL_C_VERSION)
#define MF_LANES  32
#define mf_lane() ((int)get_local_id(0) & 31)
static inline uint mf_shuffle_word(uint x, uint lane)
{
    uint r;
    __asm__ volatile("shfl.sync.idx.b32 %0,%1,%2,31,-1;" : "=r"(r) : "r"(x), "r"(lane));
    return r;
}
#else
#define MF_LANES  1
#define mf_lane() 0
#define mf_shuffle_word(x, lane) (x)
#endif

/* The lead of a group: its first work-items, if these can meet without the others because they go in step; else all of
 * them. It has LEAD_LEAST (kir/kir.h) or more, unless the group has fewer: a barrier of a warp is then for all that there are. */
#if defined(__NV_CL_C_VERSION)
#define MF_IN_LEAD          (get_local_id(0) < MF_LANES)
#define MF_LEAD_SIZE        min((uint)get_local_size(0), (uint)MF_LANES)
#define mf_meet_lead(fence) __asm__ volatile("bar.warp.sync 0xffffffff;" : : : "memory")
#else
#define MF_IN_LEAD          true
#define MF_LEAD_SIZE        get_local_size(0)
#define mf_meet_lead(fence) barrier(fence)
#endif
#define mf_shuffle_bool(x, lane) ((uchar)mf_shuffle_word((uint)(x), lane))
#define mf_shuffle_i8(x, lane)   ((char)mf_shuffle_word((uint)(x), lane))
#define mf_shuffle_u8(x, lane)   ((uchar)mf_shuffle_word((uint)(x), lane))
#define mf_shuffle_i16(x, lane)  ((short)mf_shuffle_word((uint)(x), lane))
#define mf_shuffle_u16(x, lane)  ((ushort)mf_shuffle_word((uint)(x), lane))
#define mf_shuffle_i32(x, lane)  ((int)mf_shuffle_word((uint)(x), lane))
#define mf_shuffle_u32(x, lane)  mf_shuffle_word(x, lane)
#define mf_shuffle_f16(x, lane)  mf_shuffle_u16(x, lane)
#define mf_shuffle_f32(x, lane)  as_float(mf_shuffle_word(as_uint(x), lane))
static inline ulong mf_shuffle_u64(ulong x, uint lane)
{
    (void)lane; /* without shuffles */
    return (ulong)mf_shuffle_word((uint)(x >> 32), lane) << 32 | mf_shuffle_word((uint)x, lane);
}
#define mf_shuffle_i64(x, lane) ((long)mf_shuffle_u64((ulong)(x), lane))
#define mf_shuffle_f64(x, lane) as_double(mf_shuffle_u64(as_ulong(x), lane))

/* Atomics on 64 bits: sums and compare-and-swap. */
#ifdef cl_khr_int64_base_atomics
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#define MF_ATOMIC64 1
#define mf_atom_add atom_add
#define mf_atom_cmpxchg atom_cmpxchg
#define mf_atom_xchg atom_xchg
#else
#define MF_ATOMIC64 0
#define mf_atom_add(place, x) (0) /* in branches that are never taken */
#define mf_atom_cmpxchg(place, old, new) (0)
#define mf_atom_xchg(place, x) (0)
#endif

/* x is added to what lies at p, in one step. On f32 in global memory NVIDIA's devices take numbers too small to be normal
 * as 0. */
#if defined(__NV_CL_C_VERSION)
#define MF_ADDS(space, word, name, type, bits, cmpxchg, letter)                                                    \
    static inline void mf_add_##word##_##name(volatile space type *p, type x)                                          \
    {                                                                                                                  \
        __asm__ volatile("red." #word ".add." #name " [%0],%1;" : : "l"(p), letter(x) : "memory");                     \
    }
#else
#define MF_ADDS(space, word, name, type, bits, cmpxchg, letter)                                                    \
    static inline void mf_add_##word##_##name(volatile space type *p, type x)                                          \
    {                                                                                                                  \
        bits old, seen = cmpxchg((volatile space bits *)p, 0, 0);                                                      \
        do {                                                                                                           \
            old = seen;                                                                                                \
            seen = cmpxchg((volatile space bits *)p, old, as_##bits(as_##type(old) + x));                              \
        } while (seen != old);                                                                                         \
    }
#endif
MF_ADDS(__global, global, f32, float, uint, atomic_cmpxchg, "f")
MF_ADDS(__local, shared, f32, float, uint, atomic_cmpxchg, "f")
#ifdef MF_HAS_F64
MF_ADDS(__global, global, f64, double, ulong, mf_atom_cmpxchg, "d")
MF_ADDS(__local, shared, f64, double, ulong, mf_atom_cmpxchg, "d")
#endif

/* Work-items write different numbers into one word of local memory, and any of them may stay. A plain store
 * does that on every device; tools that look for data races are told so by -DMF_RACES. */
#ifdef MF_RACES
#define MF_WRITE_ANY(place, number) atomic_xchg(&(place), number)
#else
#define MF_WRITE_ANY(place, number) ((place) = (number))
#endif

#define mf_prefetch(buf, at) prefetch((buf) + (at), 1)

/* Words in global memory by which the groups of a launch tell each other something while they run: written
 * and read whole, past the caches of compute units. */
#ifdef MF_RACES
#define mf_peek_u32(place)    atomic_add((volatile __global uint *)(place), 0)
#define mf_peek_u64(place)    mf_atom_add((volatile __global ulong *)(place), 0)
#define mf_post_u32(place, x) ((void)atomic_xchg((volatile __global uint *)(place), x))
#define mf_post_u64(place, x) ((void)mf_atom_xchg((volatile __global ulong *)(place), x))
#else
#define mf_peek_u32(place)    (*(volatile __global uint *)(place))
#define mf_peek_u64(place)    (*(volatile __global ulong *)(place))
#define mf_post_u32(place, x) (*(volatile __global uint *)(place) = (x))
#define mf_post_u64(place, x) (*(volatile __global ulong *)(place) = (x))
#endif

/* What failure.h is written with. */
#define MF_HELPER               static inline
#define MF_GLOBAL               __global
#define MF_SEE(place)           atomic_or((volatile __global int *)(place), 0)
#define MF_SWAP(place, x)       atomic_xchg((volatile __global int *)(place), x)
#define MF_CAS(place, old, new) atomic_cmpxchg((volatile __global int *)(place), old, new)
#define MF_RAISE(place, x)      atomic_max((volatile __global unsigned *)(place), x)
#include "runtime/kernels/failure.h"

/* --- Barriers over the grid ---
 *
 * Only in launches of no more groups than the device runs at once, and only where those make progress
 * beside each other (rt_groups_at_once). One group meets itself on any device.
 *
 * What is before a barrier is seen behind it if mf_add_met releases it to the device and mf_look_met acquires it,
 * for the work-item that does that, and by the barriers of its group around it for the others. NVIDIA's compute
 * units have caches for plain loads that nobody keeps up to date: acquiring throws out what that of its compute unit
 * holds. Fences (membar.gl) do the same and take 0.3 us more of 1.5 (H200). mem_fence is a matter of one work-item
 * there, and of its group at best. */
#if defined(__NV_CL_C_VERSION)
#define MF_LOOK(place) (*(place))
#define MF_FENCE()     ((void)0)
#else
#define MF_LOOK(place) atomic_or(place, 0)
#if defined(__opencl_c_atomic_scope_device) && defined(__opencl_c_atomic_order_seq_cst)
#define MF_FENCE() atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_seq_cst, memory_scope_device)
#else
#define MF_FENCE() mem_fence(CLK_GLOBAL_MEM_FENCE)
#endif
#endif

#define MF_UNMET       (-2)        /* site: groups waited for others in vain */
#define MF_TURN        0x80000000u /* of mf_failure.met: another one as soon as all groups are there */
#define MF_FAILED(met) ((met) & MF_TURN ? 2u : 1u) /* of told: one of them failed on the way here */
#define MF_NEVER       4u                          /* ... one has given up waiting */
#ifndef MF_MOST_LOOKS
#define MF_MOST_LOOKS (1 << 26) /* before it does: tens of seconds */
#endif

/* Adds to met, behind all that the group did before. */
static inline uint mf_add_met(volatile __global uint *met, uint n)
{
#if defined(__NV_CL_C_VERSION)
    uint before;
    __asm__ volatile("atom.add.release.gpu.global.u32 %0,[%1],%2;" : "=r"(before) : "l"(met), "r"(n) : "memory");
    return before;
#else
    MF_FENCE();
    return atomic_add(met, n);
#endif
}

/* One more at *place; how many were there. What was written before it, by this work-item and, before a barrier, by
 * its group, is seen by whoever finds it counted, and by its group behind a barrier: of those that arrive, the
 * last may read what all others wrote. Nobody waits. */
static inline uint mf_arrive(volatile __global uint *place)
{
    uint before;
#if defined(__NV_CL_C_VERSION)
    __asm__ volatile("atom.add.acq_rel.gpu.global.u32 %0,[%1],1;" : "=r"(before) : "l"(place) : "memory");
#else
    MF_FENCE();
    before = atomic_inc(place);
    MF_FENCE();
#endif
    return before;
}

/* met, and above it told, which is not older; before all that the group does next. */
static inline ulong mf_look_met(volatile __global uint *met)
{
#if defined(__NV_CL_C_VERSION)
    ulong both; /* at once, which costs no more than either */
    __asm__ volatile("ld.acquire.gpu.global.u64 %0,[%1];" : "=l"(both) : "l"(met) : "memory");
    return both;
#else
    const uint now = MF_LOOK(met);
    return now | (ulong)MF_LOOK(met + 1) << 32;
#endif
}

/* A group comes to a barrier over the grid; done by one work-item for it. Has anything failed by now, here
 * or in another group? All groups hear the same. Nobody needs to look if nothing can have failed since the barrier
 * before this one.
 *
 * Each group adds 1, but the first so much more that all of them together change the highest bit and leave
 * the others as they were: whatever the number of groups, the next barrier finds its counter ready, in the
 * next launch, too. A group that is late may look after others have gone on, and failed since; so failures on
 * the way to a barrier, and to the next one, have different bits. These stay until the host resets them. */
static inline int mf_meet_groups(__global mf_failure *failure, int launch, bool look)
{
    volatile __global int *site = (volatile __global int *)&failure->site;
    volatile __global uint *met = (volatile __global uint *)&failure->met, *told = met + 1;
    const bool first = get_group_id(0) + get_group_id(1) + get_group_id(2) == 0;
    const uint n = (uint)(get_num_groups(0) * get_num_groups(1) * get_num_groups(2));
    if (look && MF_LOOK(site) != -1)
        atomic_or(told, MF_FAILED(MF_LOOK(met)));
    const uint before = mf_add_met(met, first ? MF_TURN - (n - 1) : 1u);
    ulong now = mf_look_met(met);
    for (int i = 0; i < MF_MOST_LOOKS && !((before ^ (uint)now) & MF_TURN) && !(now >> 32 & MF_NEVER); i++)
        now = mf_look_met(met);
    if (!((before ^ (uint)now) & MF_TURN)) {
        if (atomic_cmpxchg(site, -1, MF_UNMET) == -1)
            failure->launch = launch;
        atomic_or(told, MF_NEVER);
        return 1;
    }
    MF_FENCE();
    return (now >> 32 & (MF_FAILED(before) | MF_NEVER)) != 0;
}

/* All work-items of the grid meet, and hear whether anything has failed by now. */
static inline bool mf_meet_grid(__global mf_failure *failure, int launch, bool look, __local int *answer)
{
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (get_local_id(0) + get_local_id(1) + get_local_id(2) == 0)
        *answer = mf_meet_groups(failure, launch, look);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    return *answer != 0;
}

/* Numbers of elements and what is computed with them: 32 bits in the variant of a kernel for launches in
 * which they all fit. There nothing wraps around and nothing that is divided is negative; elsewhere that is
 * known of divisions that are exact only. */
#ifdef MF_INDEX32
typedef int mf_index;
#define mf_shuffle_index          mf_shuffle_i32
#define mf_at(i)                  ((uint)(i))
#define mf_exact_quot_index(a, b) ((int)((uint)(a) / (uint)(b)))
#define mf_exact_rem_index(a, b)  ((int)((uint)(a) % (uint)(b)))
#define mf_add_index(a, b)        ((a) + (b))
#define mf_sub_index(a, b)        ((a) - (b))
#define mf_mul_index(a, b)        ((a) * (b))
#define mf_quot_index(a, b)       mf_exact_quot_index(a, b)
#define mf_rem_index(a, b)        mf_exact_rem_index(a, b)
#define mf_div_index(a, b)        mf_exact_quot_index(a, b)
#define mf_mod_index(a, b)        mf_exact_rem_index(a, b)
#else
typedef long mf_index;
#define mf_shuffle_index          mf_shuffle_i64
#define mf_at(i)                  (i)
#define mf_exact_quot_index(a, b) mf_index_div(a, b)
#define mf_exact_rem_index(a, b)  mf_index_mod(a, b)
#define mf_add_index(a, b)        mf_add_i64(a, b)
#define mf_sub_index(a, b)        mf_sub_i64(a, b)
#define mf_mul_index(a, b)        mf_mul_i64(a, b)
#define mf_quot_index(a, b)       mf_quot_i64(a, b)
#define mf_rem_index(a, b)        mf_rem_i64(a, b)
#define mf_div_index(a, b)        mf_div_i64(a, b)
#define mf_mod_index(a, b)        mf_mod_i64(a, b)
#endif
#define mf_min_index(a, b) min((mf_index)(a), (mf_index)(b))
#define mf_max_index(a, b) max((mf_index)(a), (mf_index)(b))
