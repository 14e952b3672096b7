/* The pool of threads of the target `native`.
 *
 * A run opens the gate to as many helpers as can be of use. Who of them is awake enters; the caller
 * begins at once, and closes the gate when all pieces are taken, so that it waits for those alone
 * who came in: a thread that is still being woken then costs nothing. Between runs helpers look at
 * the gate for a while, since most launches follow each other closely and waking a thread takes
 * longer than most of them, and then sleep.
 *
 * Pieces are handed out in parts of what is left, large ones first: few of them, and at the end
 * small ones, so that pieces of unequal length balance. */
#include "runtime/drivers/pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* How long to look before sleeping, a look's worth of which between two of the clock; and into how
 * many parts for each thread the pieces left are cut. */
enum { RT_LINE = 64, RT_LOOK_NS = 50000, RT_LOOKS_A_TIME = 64, RT_CUTS = 4 };

/* The gate: places that are open in the present run, whose number stands above. */
static const uint64_t RT_PLACES = 0xffff, RT_RUN = 0x10000;

struct rt_pool {
    /* What helpers look at, and find behind the gate. */
    _Alignas(RT_LINE) uint64_t gate;
    rt_pool_work *work;
    void *job;
    size_t end, cuts;
    bool over;                      /* they are to end */
    _Alignas(RT_LINE) size_t next;  /* the next piece */
    _Alignas(RT_LINE) int left;     /* helpers that have left the present run */
    _Alignas(RT_LINE) int sleeping; /* helpers that sleep */
    bool waits;                     /* the caller sleeps */
    int helpers, places;            /* all; those that the present run has room for */
    int64_t look;
    pthread_mutex_t lock;
    pthread_cond_t opened, done;
    pthread_t threads[];
};

/* A helper is told its number and its pool by an argument that it frees. */
typedef struct {
    rt_pool *pool;
    int number;
} rt_helper;

/* --- Looking --- */

static void rt_pool_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

static int64_t rt_pool_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* One more look without a result; false: it is time to sleep. */
static bool rt_pool_looks(const rt_pool *p, int *looks, int64_t *since)
{
    if (p->look == 0)
        return false;
    rt_pool_pause();
    if (++*looks % RT_LOOKS_A_TIME != 0)
        return true;
    int64_t now = rt_pool_now();
    *since = *since ? *since : now;
    return now - *since < p->look;
}

/* --- Runs --- */

/* Works until all pieces are taken. */
static void rt_pool_share(rt_pool *p, int thread)
{
    size_t end = p->end, at = __atomic_load_n(&p->next, __ATOMIC_RELAXED);
    while (at < end) {
        size_t some = (end - at) / p->cuts;
        some = some ? some : 1;
        if (__atomic_compare_exchange_n(&p->next, &at, at + some, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED)) {
            p->work(p->job, thread, at, at + some);
            at = __atomic_load_n(&p->next, __ATOMIC_RELAXED);
        }
    }
}

/* Comes into the present run, if it has a place open. Each helper that looks after it has said that
 * it sleeps sees the gate open, or the caller sees it sleeping. */
static bool rt_pool_enter(rt_pool *p)
{
    uint64_t gate = __atomic_load_n(&p->gate, __ATOMIC_SEQ_CST);
    while (gate & RT_PLACES)
        if (__atomic_compare_exchange_n(&p->gate, &gate, gate - 1, true, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED))
            return true;
    return false;
}

static bool rt_pool_over(rt_pool *p)
{
    return __atomic_load_n(&p->over, __ATOMIC_RELAXED);
}

/* Waits for a place in a run; false: there will be none. */
static bool rt_pool_await(rt_pool *p)
{
    int looks = 0;
    int64_t since = 0;
    do {
        if (rt_pool_enter(p))
            return true;
    } while (!rt_pool_over(p) && rt_pool_looks(p, &looks, &since));
    bool in;
    pthread_mutex_lock(&p->lock);
    __atomic_add_fetch(&p->sleeping, 1, __ATOMIC_SEQ_CST);
    while (!(in = rt_pool_enter(p)) && !rt_pool_over(p))
        pthread_cond_wait(&p->opened, &p->lock);
    __atomic_sub_fetch(&p->sleeping, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&p->lock);
    return in;
}

static void rt_pool_leave(rt_pool *p)
{
    __atomic_add_fetch(&p->left, 1, __ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&p->waits, __ATOMIC_SEQ_CST))
        return;
    pthread_mutex_lock(&p->lock);
    pthread_cond_signal(&p->done);
    pthread_mutex_unlock(&p->lock);
}

static void *rt_pool_thread(void *arg)
{
    rt_helper h = *(rt_helper *)arg;
    free(arg);
    while (rt_pool_await(h.pool)) {
        rt_pool_share(h.pool, h.number);
        rt_pool_leave(h.pool);
    }
    return NULL;
}

/* The present run with a closed gate. */
static uint64_t rt_pool_present(const rt_pool *p)
{
    return __atomic_load_n(&p->gate, __ATOMIC_RELAXED) & ~RT_PLACES;
}

RT_API void rt_pool_wake(rt_pool *p)
{
    int lacking = p->places - p->helpers + __atomic_load_n(&p->sleeping, __ATOMIC_SEQ_CST);
    if (lacking <= 0)
        return;
    pthread_mutex_lock(&p->lock);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < lacking; i++)
        pthread_cond_signal(&p->opened);
}

/* Closes the gate; waits until all who came in have left. */
static void rt_pool_close(rt_pool *p)
{
    uint64_t gate = __atomic_exchange_n(&p->gate, rt_pool_present(p), __ATOMIC_SEQ_CST);
    int came = p->places - (int)(gate & RT_PLACES), looks = 0;
    int64_t since = 0;
    while (__atomic_load_n(&p->left, __ATOMIC_ACQUIRE) < came) {
        if (rt_pool_looks(p, &looks, &since))
            continue;
        pthread_mutex_lock(&p->lock);
        __atomic_store_n(&p->waits, true, __ATOMIC_SEQ_CST);
        while (__atomic_load_n(&p->left, __ATOMIC_SEQ_CST) < came)
            pthread_cond_wait(&p->done, &p->lock);
        __atomic_store_n(&p->waits, false, __ATOMIC_SEQ_CST);
        pthread_mutex_unlock(&p->lock);
    }
}

RT_API void rt_pool_run(rt_pool *p, rt_pool_work *work, void *job, size_t first, size_t end,
                        bool wake)
{
    size_t n = end - first;
    p->places = n <= (size_t)p->helpers ? (int)n - 1 : p->helpers;
    p->work = work;
    p->job = job;
    p->end = end;
    p->cuts = (size_t)(p->places + 1) * RT_CUTS;
    __atomic_store_n(&p->next, first, __ATOMIC_RELAXED);
    __atomic_store_n(&p->left, 0, __ATOMIC_RELAXED);
    if (p->places > 0)
        __atomic_store_n(&p->gate, (rt_pool_present(p) + RT_RUN) | (uint64_t)p->places,
                         __ATOMIC_SEQ_CST);
    if (wake)
        rt_pool_wake(p);
    rt_pool_share(p, 0);
    if (p->places > 0)
        rt_pool_close(p);
}

/* --- Pools --- */

/* One helper more; false: there can be none. */
static bool rt_pool_add(rt_pool *p)
{
    rt_helper *h = malloc(sizeof *h);
    if (!h)
        return false;
    *h = (rt_helper){p, p->helpers + 1};
    if (pthread_create(&p->threads[p->helpers], NULL, rt_pool_thread, h) != 0) {
        free(h);
        return false;
    }
    p->helpers++;
    return true;
}

/* Signals are for the program's own threads: helpers inherit that all are blocked. */
RT_API rt_pool *rt_pool_new(int threads, bool looks)
{
    sigset_t all, before;
    threads = threads < 1 ? 1 : threads < RT_DEV_MOST_THREADS ? threads : RT_DEV_MOST_THREADS;
    size_t bytes = sizeof(rt_pool) + (size_t)threads * sizeof(pthread_t);
    rt_pool *p = aligned_alloc(RT_LINE, (bytes + RT_LINE - 1) / RT_LINE * RT_LINE);
    if (!p)
        return NULL;
    memset(p, 0, sizeof *p);
    p->look = looks ? RT_LOOK_NS : 0;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->opened, NULL);
    pthread_cond_init(&p->done, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (int i = 1; i < threads && rt_pool_add(p); i++)
        continue;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return p;
}

RT_API void rt_pool_free(rt_pool *p)
{
    pthread_mutex_lock(&p->lock);
    __atomic_store_n(&p->over, true, __ATOMIC_RELAXED);
    pthread_cond_broadcast(&p->opened);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < p->helpers; i++)
        pthread_join(p->threads[i], NULL);
    pthread_cond_destroy(&p->opened);
    pthread_cond_destroy(&p->done);
    pthread_mutex_destroy(&p->lock);
    free(p);
}
