/* A built-in kernel: of arrays of which each rank has a part all ranks get the whole, through windows
 * (runtime/values/exchange.c). It runs on the devices of all ranks, whose groups wait for each other: a group copies its part
 * of the rank's own rows into the rank's window, tells the group of the same number on each other rank so, and copies from
 * their windows what these have told it of. So groups of one launch do not wait for each other, and each copies what was
 * written by one.
 *
 * A rank's stream is what it has of each array, one behind the other, each from a multiple of 16 bytes on. The kernel is
 * about `most` bytes of all streams from byte `done` on, by pieces: a group copies from others while others copy from it.
 * `turn` and what follows tell how many pieces there were so far, in this launch and before: such numbers only grow.
 *   -DGROUPS=n  the most that there may be */
#if defined(__NV_CL_C_VERSION)
static inline void mf_tell(__global uint *at, uint x)
{
    __asm__ volatile("st.release.sys.global.u32 [%0],%1;" : : "l"(at), "r"(x) : "memory");
}

static inline uint mf_told(__global const uint *at)
{
    uint x;
    __asm__ volatile("ld.acquire.sys.global.u32 %0,[%1];" : "=r"(x) : "l"(at) : "memory");
    return x;
}
#define MF_TELLS
#endif

#ifdef MF_TELLS
#define MF_OF_8(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define MF_SPREAD  8 /* words from one that others wait at to the next one */

/* Four at once: what comes from another device is a long time coming. */
#define MF_MOVE(elem)                                                                              \
    {                                                                                              \
        __global elem *restrict a = (__global elem *)to;                                           \
        __global const elem *restrict b = (__global const elem *)from;                             \
        const long end = n / sizeof(elem), step = get_global_size(0);                              \
        long i = get_global_id(0);                                                                 \
        for (; i + 3 * step < end; i += 4 * step) {                                                \
            const elem x = b[i], y = b[i + step], z = b[i + 2 * step], w = b[i + 3 * step];        \
            a[i] = x;                                                                              \
            a[i + step] = y;                                                                       \
            a[i + 2 * step] = z;                                                                   \
            a[i + 3 * step] = w;                                                                   \
        }                                                                                          \
        for (; i < end; i += step)                                                                 \
            a[i] = b[i];                                                                           \
    }

static inline void mf_move(__global uchar *to, __global const uchar *from, long n, long unit)
{
    if (unit % 16 == 0)
        MF_MOVE(uint4)
    else if (unit % 4 == 0)
        MF_MOVE(uint)
    else
        MF_MOVE(uchar)
}

/* An array, of `total` bytes: `each` for each rank, as far as there are. */
typedef struct {
    __global uchar *at;
    long each, total;
} mf_array;

/* Of rank r's stream bytes from .. to - 1, which are byte 0 of the window on: into it (own) or out of it. */
static inline void mf_rows(const mf_array *arrays, int n, int r, bool own, __global uchar *window, long from, long to)
{
    long begin = 0;
    for (int k = 0; k < n; k++) {
        const mf_array a = arrays[k];
        const long row = min(r * a.each, a.total), end = begin + min(a.each, a.total - row);
        const long low = max(from, begin), high = min(to, end);
        __global uchar *there = a.at + row + (low - begin), *here = window + (low - from);
        if (low < high && own)
            mf_move(here, there, high - low, a.each | a.total);
        else if (low < high)
            mf_move(there, here, high - low, a.each | a.total);
        begin = (end + 15) / 16 * 16;
    }
}

#define MF_WINDOW_OF(k) __global uchar *w##k,
#define MF_ARRAY_OF(k)  __global uchar *a##k, long each##k, long total##k,
#define MF_NAME_OF(k)   w##k,
#define MF_PARTS_OF(k)  {a##k, each##k, total##k},

/* place: the byte of windows where the stream's byte `done` is to be; words: where those of others begin. */
__kernel void mf_gather(MF_OF_8(MF_WINDOW_OF) MF_OF_8(MF_ARRAY_OF) int n, int rank, int ranks, long place, long words, long done,
                        long most, long piece, uint turn)
{
    __global uchar *const windows[] = {MF_OF_8(MF_NAME_OF)};
    const mf_array arrays[] = {MF_OF_8(MF_PARTS_OF)};
    const int me = get_local_id(0), size = get_local_size(0), group = get_group_id(0);
    for (long at = -piece; at < most; at += piece, turn++) {
        const long next = at + piece;
        if (next < most) {
            mf_rows(arrays, n, rank, true, windows[rank] + place + next, done + next, done + min(next + piece, most));
            barrier(CLK_GLOBAL_MEM_FENCE);
            for (int r = me; r < ranks; r += size)
                if (r != rank)
                    mf_tell((__global uint *)(windows[r] + words) + (rank * GROUPS + group) * MF_SPREAD, turn + 1);
        }
        if (at < 0)
            continue;
        for (int r = me; r < ranks; r += size)
            while (r != rank && (int)(mf_told((__global uint *)(windows[rank] + words) + (r * GROUPS + group) * MF_SPREAD) - turn) < 0)
                ;
        barrier(CLK_GLOBAL_MEM_FENCE);
        for (int k = 1; k < ranks; k++) {
            const int r = (rank + k) % ranks;
            mf_rows(arrays, n, r, false, windows[r] + place + at, done + at, done + min(at + piece, most));
        }
    }
}
#else
__kernel void mf_gather(__global int *x)
{
    x[0] = 0;
}
#endif
