/* A built-in kernel: of arrays of which each rank has a part all ranks get the whole, through windows
 * (runtime/values/exchange.c). It runs on the devices of all ranks, whose groups wait for each other: a group copies its part
 * of the rank's own rows into the window of each other rank, where this one has a slot, tells the group of the same number
 * there so, and copies from its rank's window what these have told it of. So groups of one launch do not wait for each other,
 * and each copies what was written by one. Devices write to each other faster than they read, and nobody waits for it.
 *
 * A rank's stream is what it has of each array, one behind the other, each from a multiple of 16 bytes on. The kernel is
 * about `most` bytes of all streams from byte `done` on, by pieces: a group copies one while the next one is on its way.
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

/* Four at once: each is a long time coming. */
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

/* An array, of `total` bytes: `each` for each rank, as far as there are. This rank's are at `own`, or in their place. */
typedef struct {
    __global uchar *at, *own;
    long each, total;
} mf_array;

/* Of rank r's stream bytes from .. to - 1, which are byte 0 of the window on: into it, out of it, or, of this rank's, where
 * they belong. */
enum { MF_GIVE, MF_TAKE, MF_KEEP };
static inline void mf_rows(const mf_array *arrays, int n, int r, int how, __global uchar *window, long from, long to)
{
    long begin = 0;
    for (int k = 0; k < n; k++) {
        const mf_array a = arrays[k];
        const long row = min(r * a.each, a.total), end = begin + min(a.each, a.total - row), unit = a.each | a.total;
        const long low = max(from, begin), high = min(to, end), bytes = high - low;
        __global uchar *place = a.at + row + (low - begin), *here = window + (low - from);
        __global uchar *own = a.own == a.at ? place : a.own + (low - begin);
        if (bytes > 0 && how == MF_GIVE)
            mf_move(here, own, bytes, unit);
        else if (bytes > 0 && (how == MF_TAKE || own != place))
            mf_move(place, how == MF_TAKE ? here : own, bytes, unit);
        begin = (end + 15) / 16 * 16;
    }
}

#define MF_WINDOW_OF(k) __global uchar *w##k,
#define MF_ARRAY_OF(k)  __global uchar *a##k, __global uchar *own##k, long each##k, long total##k,
#define MF_NAME_OF(k)   w##k,
#define MF_PARTS_OF(k)  {a##k, own##k, each##k, total##k},

/* Of rank r's bytes in the window of rank `of` the first: the others have slots there, one behind the other. */
static inline long mf_slot(int r, int of, int ranks, long slot)
{
    return (r + ranks - of - 1) % ranks * slot;
}

/* place: the byte of windows where slots, of `slot` bytes each, begin with the stream's byte `done`; words: where those of
 * others begin. */
__kernel void mf_gather(MF_OF_8(MF_WINDOW_OF) MF_OF_8(MF_ARRAY_OF) int n, int rank, int ranks, long place, long slot, long words,
                        long done, long most, long piece, uint turn)
{
    __global uchar *const windows[] = {MF_OF_8(MF_NAME_OF)};
    const mf_array arrays[] = {MF_OF_8(MF_PARTS_OF)};
    const int me = get_local_id(0), size = get_local_size(0), group = get_group_id(0);
    for (long at = -piece; at < most; at += piece, turn++) {
        const long next = at + piece;
        if (next < most) {
            const long to = done + min(next + piece, most);
            for (int k = 1; k < ranks; k++) {
                const int r = (rank + k) % ranks;
                mf_rows(arrays, n, rank, MF_GIVE, windows[r] + place + mf_slot(rank, r, ranks, slot) + next, done + next, to);
            }
            barrier(CLK_GLOBAL_MEM_FENCE);
            for (int r = me; r < ranks; r += size)
                if (r != rank)
                    mf_tell((__global uint *)(windows[r] + words) + (rank * GROUPS + group) * MF_SPREAD, turn + 1);
            mf_rows(arrays, n, rank, MF_KEEP, windows[rank], done + next, to);
        }
        if (at < 0)
            continue;
        for (int r = me; r < ranks; r += size)
            while (r != rank && (int)(mf_told((__global uint *)(windows[rank] + words) + (r * GROUPS + group) * MF_SPREAD) - turn) < 0)
                ;
        barrier(CLK_GLOBAL_MEM_FENCE);
        for (int k = 1; k < ranks; k++) {
            const int r = (rank + k) % ranks;
            mf_rows(arrays, n, r, MF_TAKE, windows[rank] + place + mf_slot(r, rank, ranks, slot) + at, done + at,
                    done + min(at + piece, most));
        }
    }
}
#else
__kernel void mf_gather(__global int *x)
{
    x[0] = 0;
}
#endif
