/* Built-in kernels that run on the devices of all ranks, whose groups wait for each other (runtime/values/exchange.c).
 *
 * mf_beside: each rank gets rows of the ranks beside it. mf_gather: of arrays of which each rank has a part all ranks get the
 * whole. That goes through windows: a group copies its part
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

/* The word of rank `of` at which this group hears from rank r's. */
static inline __global uint *mf_word(__global uchar *const *windows, long words, int of, int r)
{
    return (__global uint *)(windows[of] + words) + (r * GROUPS + get_group_id(0)) * MF_SPREAD;
}

/* What the group has done so far is done, and the other ranks' are told. */
static inline void mf_tell_all(__global uchar *const *windows, long words, int rank, int ranks, uint turn)
{
    barrier(CLK_GLOBAL_MEM_FENCE);
    for (int r = get_local_id(0); r < ranks; r += get_local_size(0))
        if (r != rank)
            mf_tell(mf_word(windows, words, r, rank), turn);
}

static inline void mf_await_all(__global uchar *const *windows, long words, int rank, int ranks, uint turn)
{
    for (int r = get_local_id(0); r < ranks; r += get_local_size(0))
        while (r != rank && (int)(mf_told(mf_word(windows, words, rank, r)) - turn) < 0)
            ;
    barrier(CLK_GLOBAL_MEM_FENCE);
}

/* place: the byte of windows where slots, of `slot` bytes each, begin with the stream's byte `done`; words: where those of
 * others begin. */
__kernel void mf_gather(MF_OF_8(MF_WINDOW_OF) MF_OF_8(MF_ARRAY_OF) int n, long done, long most, long piece, int rank, int ranks,
                        long place, long slot, long words, uint turn)
{
    __global uchar *const windows[] = {MF_OF_8(MF_NAME_OF)};
    const mf_array arrays[] = {MF_OF_8(MF_PARTS_OF)};
    for (long at = -piece; at < most; at += piece, turn++) {
        const long next = at + piece;
        if (next < most) {
            const long to = done + min(next + piece, most);
            for (int k = 1; k < ranks; k++) {
                const int r = (rank + k) % ranks;
                mf_rows(arrays, n, rank, MF_GIVE, windows[r] + place + mf_slot(rank, r, ranks, slot) + next, done + next, to);
            }
            mf_tell_all(windows, words, rank, ranks, turn + 1);
            mf_rows(arrays, n, rank, MF_KEEP, windows[rank], done + next, to);
        }
        if (at < 0)
            continue;
        mf_await_all(windows, words, rank, ranks, turn);
        for (int k = 1; k < ranks; k++) {
            const int r = (rank + k) % ranks;
            mf_rows(arrays, n, r, MF_TAKE, windows[rank] + place + mf_slot(r, rank, ranks, slot) + at, done + at,
                    done + min(at + piece, most));
        }
    }
}

/* Of `own` bytes of rows from byte `at` of the block on the rank before gets the first give_low, and the rank behind the last
 * give_high; the `low` bytes before them are what that one gives, the `high` bytes behind them what this one does. Rows are of
 * `unit` bytes. Ranks that are not beside tell each other, too: they know then that slots are free. */
__kernel void mf_beside(MF_OF_8(MF_WINDOW_OF) __global uchar *block, long at, long own, long low, long high, long give_low,
                        long give_high, long unit, int rank, int ranks, long place, long slot, long words, uint turn)
{
    __global uchar *const windows[] = {MF_OF_8(MF_NAME_OF)};
    __global uchar *const mine = windows[rank] + place, *const rows = block + at;
    const int before = rank - 1, behind = rank + 1;
    if (give_low > 0)
        mf_move(windows[before] + place + mf_slot(rank, before, ranks, slot), rows, give_low, unit);
    if (give_high > 0)
        mf_move(windows[behind] + place + mf_slot(rank, behind, ranks, slot), rows + own - give_high, give_high, unit);
    mf_tell_all(windows, words, rank, ranks, turn + 1);
    mf_await_all(windows, words, rank, ranks, turn + 1);
    if (low > 0)
        mf_move(rows - low, mine + mf_slot(before, rank, ranks, slot), low, unit);
    if (high > 0)
        mf_move(rows + own, mine + mf_slot(behind, rank, ranks, slot), high, unit);
}
#else
__kernel void mf_gather(__global int *x)
{
    x[0] = 0;
}

__kernel void mf_beside(__global int *x)
{
    x[0] = 0;
}
#endif
