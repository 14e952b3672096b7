/* The kernels by which ranks get the whole of arrays, or rows beside their own
 * (runtime/kernels/gather.cl), as C: ranks, their groups and work-items are threads. Random arrays,
 * windows and pieces, launch after launch, while ranks wait for each other in the kernel alone;
 * with the sanitizer of threads, to which a byte that is copied before it is told of is a race. */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 8, MOST_ARRAYS = 8, MOST_GROUPS = 3, ITEMS = 2, LAUNCHES = 6 };

/* --- What the kernel's text stands on --- */

typedef unsigned char uchar;
typedef unsigned uint;
typedef struct {
    uint x[4];
} uint4;

static _Thread_local int local_id, group_id, groups;
static _Thread_local pthread_barrier_t *meeting;

#define __kernel static
#define __global
#define CLK_GLOBAL_MEM_FENCE 0
#define barrier(flags)       ((void)pthread_barrier_wait(meeting))
#define min(a, b)            ((a) < (b) ? (a) : (b))
#define max(a, b)            ((a) > (b) ? (a) : (b))
#define get_local_id(d)      local_id
#define get_local_size(d)    ITEMS
#define get_group_id(d)      group_id
#define get_global_id(d)     (group_id * ITEMS + local_id)
#define get_global_size(d)   (groups * ITEMS)
#define GROUPS               MOST_GROUPS
#define MF_TELLS

static void mf_tell(uint *at, uint x)
{
    __atomic_store_n(at, x, __ATOMIC_RELEASE);
}

/* Who waits leaves the processor to others. */
static uint mf_told(const uint *at)
{
    sched_yield();
    return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

#include "runtime/kernels/gather.cl"

/* --- Ranks --- */

/* An exchange, for all ranks; n = 0: of rows beside, `low` and `high` of them of `unit` bytes each,
 * of the ranks' each[0] rows as far as there are total[0]. */
typedef struct {
    int ranks, n, groups;
    long low, high, unit;
    long each[MOST_ARRAYS], total[MOST_ARRAYS]; /* bytes */
    long slot, longest, piece;                  /* of windows, streams, pieces */
    bool apart[MOST_ARRAYS];                    /* each rank's rows are not in their place */
} Exchange;

typedef struct {
    int rank, n;
    const Exchange *exchanges;
    uchar **windows, *arrays[LAUNCHES][MOST_ARRAYS], *own[LAUNCHES][MOST_ARRAYS];
} Rank;

/* A launch's work-item. */
typedef struct {
    const Rank *of;
    const Exchange *e;
    uchar **arrays, **own;
    int group, item;
    uint turn;
    long half_at, done, most;
    pthread_barrier_t *meeting;
} Item;

static long half_of(const Exchange *e)
{
    return e->slot * max(1, e->ranks - 1);
}

typedef struct {
    long begin, own, low, high, give_low, give_high;
} Sides;

static Sides sides_of(const Exchange *e, int rank)
{
    long begin = min(rank * e->each[0], e->total[0]);
    long own = min(e->each[0], e->total[0] - begin), behind = e->total[0] - begin - own,
         u = e->unit;
    Sides s = {.begin = begin * u, .own = own * u};
    if (own > 0) {
        s.low = min(begin, e->low) * u;
        s.high = min(behind, e->high) * u;
        s.give_low = begin > 0 ? min(own, e->high) * u : 0;
        s.give_high = behind > 0 ? e->low * u : 0;
    }
    return s;
}

static void *work(void *arg)
{
    const Item *i = arg;
    const Exchange *e = i->e;
    local_id = i->item, group_id = i->group, groups = e->groups, meeting = i->meeting;
    uchar **w = i->of->windows, **a = i->arrays, **own = i->own;
    int rank = i->of->rank;
#define WINDOW(k) w[k < e->ranks ? k : 0],
#define ARRAY(k)                                                                                   \
    k < e->n ? a[k] : w[0], k < e->n ? own[k] : w[0], k < e->n ? e->each[k] : 0,                   \
        k < e->n ? e->total[k] : 0,
    if (e->n > 0) {
        mf_gather(MF_OF_8(WINDOW) MF_OF_8(ARRAY) e->n, i->done, i->most, e->piece, rank, e->ranks,
                  i->half_at, e->slot, 2 * half_of(e), i->turn);
        return NULL;
    }
    Sides s = sides_of(e, rank);
    mf_beside(MF_OF_8(WINDOW) a[0], e->low * e->unit, s.own, s.low, s.high, s.give_low, s.give_high,
              e->unit, rank, e->ranks, i->half_at, e->slot, 2 * half_of(e), i->turn);
    return NULL;
}

static void launch(Item item)
{
    enum { MOST = MOST_GROUPS * ITEMS };
    pthread_t threads[MOST];
    Item items[MOST];
    pthread_barrier_t meetings[MOST_GROUPS];
    int n = item.e->groups * ITEMS;
    for (int g = 0; g < item.e->groups; g++)
        pthread_barrier_init(&meetings[g], NULL, ITEMS);
    for (int k = 0; k < n; k++) {
        items[k] = item;
        items[k].group = k / ITEMS;
        items[k].item = k % ITEMS;
        items[k].meeting = &meetings[k / ITEMS];
        pthread_create(&threads[k], NULL, work, &items[k]);
    }
    for (int k = 0; k < n; k++)
        pthread_join(threads[k], NULL);
    for (int g = 0; g < item.e->groups; g++)
        pthread_barrier_destroy(&meetings[g]);
}

static void *rank(void *arg)
{
    Rank *r = arg;
    uint turn = 0x7ffffff0;
    int half = 0; /* numbers begin again at once */
    for (int x = 0; x < r->n; x++) {
        const Exchange *e = &r->exchanges[x];
        for (long done = 0; done < e->longest; done += e->slot, half = !half) {
            long most = min(e->longest - done, e->slot);
            launch((Item){.of = r,
                          .e = e,
                          .arrays = r->arrays[x],
                          .own = r->own[x],
                          .turn = turn,
                          .half_at = half * half_of(e),
                          .done = done,
                          .most = most});
            turn += (uint)((most + e->piece - 1) / e->piece);
        }
    }
    return NULL;
}

/* --- Cases --- */

static unsigned seed;
static long below(long n)
{
    return rand_r(&seed) % n;
}

static Exchange random_exchange(int ranks, long slot)
{
    static const long rows_of[] = {1, 2, 4, 12, 16, 48};
    Exchange e = {.ranks = ranks, .slot = slot, .n = 1 + (int)below(MOST_ARRAYS)};
    if (below(3) == 0) {
        e.unit = rows_of[below(6)];
        e.low = below(min(6, slot / e.unit + 1));
        e.high = below(min(6, slot / e.unit + 1));
        e.each[0] = max(1, max(e.low, e.high)) + below(90);
        e.total[0] = 1 + below(ranks * e.each[0]);
        e.each[0] = max(max(e.low, e.high), (e.total[0] + ranks - 1) / ranks);
        e.longest = 1;
        e.n = 0;
    }
    for (int k = 0; k < e.n; k++) {
        long row = rows_of[below(6)], rows = 1 + below(1 + below(900));
        e.each[k] = (rows + ranks - 1) / ranks * row;
        e.total[k] = rows * row;
        e.longest += (e.each[k] + 15) / 16 * 16;
        e.apart[k] = below(2);
    }
    e.groups = 1 + (int)below(MOST_GROUPS);
    e.piece = 16 * (1 + below(slot / 16));
    return e;
}

static uchar byte_of(int exchange, int array, long at)
{
    return (uchar)(exchange * 53 + array * 17 + at * 7 + at / 256);
}

/* The arrays of an exchange as rank r has them before: its own rows; NULL: as all have them then.
 */
static uchar *array_of(const Exchange *e, int exchange, int k, int r)
{
    uchar *a = aligned_alloc(16, (size_t)(e->total[k] + 15) / 16 * 16);
    for (long i = 0; i < e->total[k]; i++)
        a[i] = r < 0 || i / e->each[k] == r ? byte_of(exchange, k, i) : 0;
    return a;
}

/* Rank r's rows of it, which are then not in their place. */
static uchar *own_of(const Exchange *e, int k, int r, uchar *array)
{
    long at = min(r * e->each[k], e->total[k]), bytes = min(e->each[k], e->total[k] - at);
    uchar *own = aligned_alloc(16, (size_t)(bytes + 16) / 16 * 16);
    memcpy(own, array + at, (size_t)bytes);
    memset(array + at, 0, (size_t)bytes);
    return own;
}

/* Rank r's own rows and room for those beside; `all`: these are there. */
static uchar *block_of(const Exchange *e, int exchange, int r, bool all)
{
    Sides s = sides_of(e, r);
    long at = e->low * e->unit, bytes = at + s.own + e->high * e->unit;
    uchar *a = calloc(1, (size_t)bytes + 1);
    for (long i = all ? -s.low : 0; i < s.own + (all ? s.high : 0); i++)
        a[at + i] = byte_of(exchange, 0, s.begin + i);
    return a;
}

static size_t block_bytes(const Exchange *e, int r)
{
    return (size_t)(sides_of(e, r).own + (e->low + e->high) * e->unit);
}

static bool as_expected(const Rank *r, const Exchange *es)
{
    bool ok = true;
    for (int x = 0; x < LAUNCHES; x++) {
        if (es[x].n == 0) {
            uchar *want = block_of(&es[x], x, r->rank, true);
            ok = ok && memcmp(want, r->arrays[x][0], block_bytes(&es[x], r->rank)) == 0;
            free(want);
            free(r->arrays[x][0]);
        }
        for (int k = 0; k < es[x].n; k++) {
            uchar *want = array_of(&es[x], x, k, -1);
            ok = ok && memcmp(want, r->arrays[x][k], (size_t)es[x].total[k]) == 0;
            free(want);
            if (es[x].apart[k])
                free(r->own[x][k]);
            free(r->arrays[x][k]);
        }
    }
    return ok;
}

static bool gathers(unsigned which)
{
    seed = which;
    int ranks = which == 0 ? MOST_RANKS : 1 + (int)below(4);
    long slot = 16 * (4 + below(which % 2 ? 12 : 200)), half = slot * max(1, ranks - 1);
    Exchange es[LAUNCHES];
    Rank all[MOST_RANKS];
    pthread_t threads[MOST_RANKS];
    uchar *windows[MOST_RANKS];
    size_t bytes = (size_t)(2 * half) + sizeof(uint) * MOST_RANKS * MOST_GROUPS * MF_SPREAD;
    for (int x = 0; x < LAUNCHES; x++)
        es[x] = random_exchange(ranks, slot);
    for (int r = 0; r < ranks; r++) {
        windows[r] = aligned_alloc(16, bytes);
        memset(windows[r], 0, bytes);
        for (uint *w = (uint *)(windows[r] + 2 * half); w < (uint *)(windows[r] + bytes); w++)
            *w = 0x7ffffff0; /* what was told so far */
        all[r] = (Rank){.rank = r, .n = LAUNCHES, .exchanges = es, .windows = windows};
        for (int x = 0; x < LAUNCHES; x++) {
            if (es[x].n == 0)
                all[r].arrays[x][0] = block_of(&es[x], x, r, false);
            for (int k = 0; k < es[x].n; k++) {
                uchar *a = array_of(&es[x], x, k, r);
                all[r].arrays[x][k] = a;
                all[r].own[x][k] = es[x].apart[k] ? own_of(&es[x], k, r, a) : a;
            }
        }
    }
    for (int r = 0; r < ranks; r++)
        pthread_create(&threads[r], NULL, rank, &all[r]);
    for (int r = 0; r < ranks; r++)
        pthread_join(threads[r], NULL);
    bool ok = true;
    for (int r = 0; r < ranks; r++) {
        ok = as_expected(&all[r], es) && ok;
        free(windows[r]);
    }
    return ok;
}

int main(void)
{
    enum { CASES = 16 };
    int passed = 0, failed = 0;
    for (unsigned which = 0; which < CASES; which++) {
        bool ok = gathers(which);
        passed += ok;
        failed += !ok;
        if (!ok)
            printf("FAIL runtime: ranks gather arrays, case %u\n", which);
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
