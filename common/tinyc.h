/* For tcc, which compiles a program in a twentieth of a second and lacks some of what GNU C has
 * built in: counting bits, and accesses of memory in one step. Nothing for other compilers. */
#ifndef COMMON_TINYC_H
#define COMMON_TINYC_H
#if defined(__TINYC__)
#if !defined(__x86_64__)
#error "with tcc, programs can be made for x86-64 only: set CC to gcc or clang"
#endif

#define __thread /* commands have one thread that asks; libraries are refused */
#define __VERSION__               "tcc"
#define __builtin_cpu_supports(x) 0
#define __builtin_prefetch(place)
#define __builtin_ia32_pause()  __asm__ volatile("pause")
#define __builtin_ctzll(x)      (__builtin_popcountll(~(x) & ((x)-1)))
#define __builtin_popcountll(x) mf_tiny_ones(x)
#define __builtin_clzll(x)      mf_tiny_zeros(x)

static inline int mf_tiny_ones(unsigned long x)
{
    x -= (x >> 1) & 0x5555555555555555ul;
    x = (x & 0x3333333333333333ul) + ((x >> 2) & 0x3333333333333333ul);
    x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0ful;
    return (int)((x * 0x0101010101010101ul) >> 56);
}

/* In front of the highest bit; x > 0. */
static inline int mf_tiny_zeros(unsigned long x)
{
    for (int shift = 1; shift < 64; shift *= 2)
        x |= x >> shift;
    return 64 - mf_tiny_ones(x);
}

/* What x86-64 loads or stores at an aligned place it does in one step and in their order, and tcc
 * keeps nothing in registers over statements; a step that changes what is there orders all. Newer
 * ones have some of these, by other names. */
#if !defined(__ATOMIC_RELAXED)
#define __ATOMIC_RELAXED 0
#define __ATOMIC_ACQUIRE 2
#define __ATOMIC_RELEASE 3
#define __ATOMIC_ACQ_REL 4
#define __ATOMIC_SEQ_CST 5
#endif

static inline void mf_tiny_fence(void)
{
    __asm__ volatile("mfence" ::: "memory");
}

/* Becomes `next` if it was `old`; back comes what was there. */
#define MF_TINY_SWAP(bytes, T, letter)                                                             \
    static inline T mf_tiny_swap##bytes(volatile void *p, T old, T next)                           \
    {                                                                                              \
        __asm__ volatile("lock; cmpxchg" letter " %2, %1"                                          \
                         : "+a"(old), "+m"(*(volatile T *)p)                                       \
                         : "r"(next)                                                               \
                         : "memory");                                                              \
        return old;                                                                                \
    }
MF_TINY_SWAP(4, unsigned int, "l")
MF_TINY_SWAP(8, unsigned long, "q")

static inline int mf_tiny_replace(volatile void *p, void *seen, unsigned long next, int size)
{
    unsigned long old = size == 8 ? *(unsigned long *)seen : *(unsigned int *)seen,
                  was = size == 8 ? mf_tiny_swap8(p, old, next)
                                  : mf_tiny_swap4(p, (unsigned int)old, (unsigned int)next);
    if (was != old && size == 8)
        *(unsigned long *)seen = was;
    else if (was != old)
        *(unsigned int *)seen = (unsigned int)was;
    return was == old;
}

/* What was at p, which is of 4 or 8 bytes. */
static inline unsigned long mf_tiny_update(volatile void *p, int what, unsigned long x, int size)
{
    unsigned long old = size == 8 ? *(volatile unsigned long *)p : *(volatile unsigned int *)p,
                  next;
    do {
        switch (what) {
        case '+': next = old + x; break;
        case '&': next = old & x; break;
        case '|': next = old | x; break;
        case '^': next = old ^ x; break;
        default: next = x; break;
        }
    } while (!mf_tiny_replace(p, &old, next, size));
    return old;
}

#define MF_TINY_UPDATE(p, what, x)                                                                 \
    ((__typeof__(*(p)))mf_tiny_update(p, what, (unsigned long)(x), sizeof *(p)))
#define __sync_synchronize() mf_tiny_fence()
#define __atomic_store_n(p, x, order)                                                              \
    ((void)(*(volatile __typeof__(*(p)) *)(p) = (x)), mf_tiny_fence())
#define __atomic_load_n(p, order)        (*(volatile __typeof__(*(p)) *)(p))
#define __atomic_fetch_add(p, x, order)  MF_TINY_UPDATE(p, '+', x)
#define __atomic_fetch_sub(p, x, order)  MF_TINY_UPDATE(p, '+', -(unsigned long)(x))
#define __atomic_fetch_and(p, x, order)  MF_TINY_UPDATE(p, '&', x)
#define __atomic_fetch_or(p, x, order)   MF_TINY_UPDATE(p, '|', x)
#define __atomic_fetch_xor(p, x, order)  MF_TINY_UPDATE(p, '^', x)
#define __atomic_exchange_n(p, x, order) MF_TINY_UPDATE(p, '=', x)
#define __atomic_add_fetch(p, x, order)  (MF_TINY_UPDATE(p, '+', x) + (x))
#define __atomic_sub_fetch(p, x, order)  (MF_TINY_UPDATE(p, '+', -(unsigned long)(x)) - (x))
#define __atomic_compare_exchange_n(p, seen, x, weak, order, other)                                \
    mf_tiny_replace(p, seen, (unsigned long)(x), sizeof *(p))
#endif
#endif
