/* dev.h for the processor that the program itself runs on: kernels are functions of the program,
 * buffers its memory, and what is asked for is done when the call returns.
 *
 * Threads are for work that is worth them: what a kernel's groups took tells whether the next
 * launch is shared out at all, and whether threads are woken for it. */
#include "runtime/drivers/dev_driver.h"
#include "runtime/drivers/pool.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A thread's copy of a launch's arguments, whose local memory lies behind them. */
typedef struct {
    char *at;
    size_t size;
} rt_nat_scratch;

/* How long a thread worked for a command; in a line of the cache of its own. */
typedef struct {
    _Alignas(64) int64_t ns;
} rt_nat_busy;

struct rt_dev_event {
    int64_t begin, ns;
    rt_dev_event *next; /* of those that are free */
    rt_nat_busy busy[];
};

typedef struct {
    rt_dev base;
    int threads;
    rt_pool *pool; /* NULL: nothing was large enough for it so far */
    bool stop;     /* see rt_dev_stop */
    bool profiling;
    int64_t memory, changes;
    rt_nat_scratch *scratch; /* [threads] */
    rt_dev_event *events;    /* free ones */
    unsigned char fetched[RT_DEV_FETCH];
} rt_nat_dev;

struct rt_dev_buffer {
    char *at;
    bool own;
    size_t mapped; /* bytes that other processes have, too; else 0 */
    int file;      /* ... in which they lie; -1: it is another process's */
};

typedef struct {
    enum { RT_NAT_VALUE, RT_NAT_BUFFER, RT_NAT_LOCAL } kind;
    size_t size; /* LOCAL: a multiple of RT_NAT_ALIGN */
    rt_scalar value;
} rt_nat_slot;

struct rt_dev_kernel {
    rt_dev_function *function;
    int n, cap;
    rt_nat_slot *args;
    void **at;    /* what the function is given, but for local memory */
    size_t local; /* bytes of all local memory */
    double ns;    /* that a group took at the last launch; 0: not known */
};

/* Where local memory begins; which buffers are large, in pages of the processor that are; what is
 * copied by several threads, in which pieces. */
enum { RT_NAT_ALIGN = 64, RT_NAT_PAGE = 2 << 20, RT_NAT_COPY = 2 << 20, RT_NAT_PIECE = 1 << 19 };

static const rt_dev_error rt_nat_ok = {RT_DEV_OK, "", ""};

static rt_dev_error rt_nat_no_memory(const char *call)
{
    return (rt_dev_error){RT_DEV_REFUSED, call, "out of memory"};
}

static rt_dev_error rt_nat_no_texts(void)
{
    return (rt_dev_error){RT_DEV_FAILED, "building a kernel", "kernels are functions here"};
}

static int64_t rt_nat_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* --- The device --- */

static const rt_driver rt_nat_driver;

RT_API rt_dev_error rt_nat_open(const rt_dev_info *info, bool profiling, rt_dev **out)
{
    rt_nat_dev *d = calloc(1, sizeof *d);
    int threads = info->units < 1 ? 1 : (int)info->units;
    rt_nat_scratch *scratch = calloc((size_t)threads, sizeof *scratch);
    *out = NULL;
    if (!d || !scratch) {
        free(d);
        free(scratch);
        return rt_nat_no_memory("calloc");
    }
    *d = (rt_nat_dev){.base.driver = &rt_nat_driver,
                      .threads = threads,
                      .profiling = profiling,
                      .memory = info->memory,
                      .scratch = scratch};
    *out = &d->base;
    return rt_nat_ok;
}

static void rt_nat_close(rt_dev *base)
{
    rt_nat_dev *d = (rt_nat_dev *)base;
    if (d->pool)
        rt_pool_free(d->pool);
    for (int i = 0; i < d->threads; i++)
        free(d->scratch[i].at);
    while (d->events) {
        rt_dev_event *e = d->events;
        d->events = e->next;
        free(e);
    }
    free(d->scratch);
    free(d);
}

static rt_dev_error rt_nat_finish(rt_dev *base)
{
    (void)base;
    return rt_nat_ok;
}

static int64_t rt_nat_local_given(rt_dev *base)
{
    (void)base;
    return 0;
}

static int64_t rt_nat_changes(const rt_dev *base)
{
    return ((const rt_nat_dev *)base)->changes;
}

static void *rt_nat_queue(rt_dev *base)
{
    (void)base;
    return NULL;
}

static bool rt_nat_stop(rt_dev *base, bool stop)
{
    __atomic_store_n(&((rt_nat_dev *)base)->stop, stop, __ATOMIC_RELAXED);
    return true;
}

/* The pool, made when there is something to share out; false: no memory. More threads than
 * processors would keep each other from working if they looked for work. */
static bool rt_nat_pool(rt_nat_dev *d)
{
    if (!d->pool)
        d->pool = rt_pool_new(d->threads, d->threads <= rt_nat_cpus());
    return d->pool != NULL;
}

/* --- Programs: there are none --- */

static rt_dev_error rt_nat_build(rt_dev *base, int n, const char **texts, const char *options,
                                 rt_dev_program **out, char **log)
{
    (void)base, (void)n, (void)texts, (void)options;
    *out = NULL;
    *log = NULL;
    return rt_nat_no_texts();
}

static rt_dev_error rt_nat_load(rt_dev *base, const unsigned char *binary, size_t n,
                                const char *options, rt_dev_program **out)
{
    (void)base, (void)binary, (void)n, (void)options;
    *out = NULL;
    return rt_nat_no_texts();
}

static unsigned char *rt_nat_binary(rt_dev *base, rt_dev_program *p, size_t *n)
{
    (void)base, (void)p;
    *n = 0;
    return NULL;
}

static rt_dev_program *rt_nat_program_ref(rt_dev *base, rt_dev_program *p)
{
    (void)base;
    return p;
}

static void rt_nat_program_unref(rt_dev *base, rt_dev_program *p)
{
    (void)base, (void)p;
}

static rt_dev_error rt_nat_kernel_new(rt_dev *base, rt_dev_program *p, const char *name,
                                      rt_dev_kernel **out, char **log)
{
    (void)base, (void)p, (void)name;
    *out = NULL;
    *log = NULL;
    return rt_nat_no_texts();
}

/* --- Kernels --- */

static rt_dev_error rt_nat_kernel_of(rt_dev *base, rt_dev_function *f, rt_dev_kernel **out)
{
    (void)base;
    *out = f ? calloc(1, sizeof **out) : NULL;
    if (!f)
        return (rt_dev_error){RT_DEV_FAILED, "a kernel as function", "there is none"};
    if (!*out)
        return rt_nat_no_memory("calloc");
    (*out)->function = f;
    return rt_nat_ok;
}

static void rt_nat_kernel_free(rt_dev *base, rt_dev_kernel *k)
{
    (void)base;
    free(k->args);
    free(k->at);
    free(k);
}

static void rt_nat_kernel_needs(rt_dev *base, rt_dev_kernel *k, int64_t *max_group, int64_t *local)
{
    (void)base, (void)k;
    *max_group = 0;
    *local = 0;
}

/* Makes room for so many arguments. */
static bool rt_nat_room(rt_dev_kernel *k, int n)
{
    if (n > k->cap) {
        int cap = n < 8 ? 8 : 2 * n;
        rt_nat_slot *args = realloc(k->args, (size_t)cap * sizeof *args);
        k->args = args ? args : k->args;
        void **at = args ? realloc(k->at, (size_t)cap * sizeof *at) : NULL;
        if (!at)
            return false;
        memset(args + k->cap, 0, (size_t)(cap - k->cap) * sizeof *args);
        k->at = at;
        k->cap = cap;
        for (int i = 0; i < cap; i++)
            if (args[i].kind == RT_NAT_VALUE)
                at[i] = &args[i].value;
    }
    k->n = n > k->n ? n : k->n;
    return true;
}

static rt_dev_error rt_nat_set(rt_dev_kernel *k, int index, rt_nat_slot arg, void *at)
{
    if (!rt_nat_room(k, index + 1))
        return rt_nat_no_memory("realloc");
    rt_nat_slot *a = &k->args[index];
    k->local += (arg.kind == RT_NAT_LOCAL ? arg.size : 0) - (a->kind == RT_NAT_LOCAL ? a->size : 0);
    *a = arg;
    k->at[index] = arg.kind == RT_NAT_VALUE ? &a->value : at;
    return rt_nat_ok;
}

static rt_dev_error rt_nat_arg(rt_dev *base, rt_dev_kernel *k, int index, size_t size,
                               const void *value)
{
    rt_nat_slot a = {.kind = value ? RT_NAT_VALUE : RT_NAT_LOCAL};
    (void)base;
    if (value && size > sizeof a.value)
        return (rt_dev_error){RT_DEV_FAILED, "an argument", "it is too large"};
    if (value)
        memcpy(&a.value, value, size);
    else
        a.size = (size + RT_NAT_ALIGN - 1) / RT_NAT_ALIGN * RT_NAT_ALIGN;
    return rt_nat_set(k, index, a, NULL);
}

static rt_dev_error rt_nat_arg_buffer(rt_dev *base, rt_dev_kernel *k, int index, rt_dev_buffer *b)
{
    (void)base;
    return rt_nat_set(k, index, (rt_nat_slot){.kind = RT_NAT_BUFFER}, b->at);
}

/* --- Events --- */

static rt_dev_event *rt_nat_event(const rt_nat_dev *d)
{
    rt_dev_event *e;
    return aligned_alloc(_Alignof(rt_dev_event), sizeof *e + (size_t)d->threads * sizeof *e->busy);
}

/* One that begins now; NULL if none is wanted, or there is no memory. */
static rt_dev_event *rt_nat_begin(rt_nat_dev *d, rt_dev_event **event)
{
    if (!event)
        return NULL;
    rt_dev_event *e = d->events;
    if (e)
        d->events = e->next;
    else
        e = d->profiling ? rt_nat_event(d) : NULL;
    if (e) {
        memset(e->busy, 0, (size_t)d->threads * sizeof *e->busy);
        e->begin = rt_nat_now();
    }
    return *event = e;
}

static rt_dev_error rt_nat_end(rt_dev_event *e)
{
    if (e)
        e->ns = rt_nat_now() - e->begin;
    return rt_nat_ok;
}

static int64_t rt_nat_event_span(rt_dev *base, rt_dev_event *e, int64_t *begin)
{
    rt_nat_dev *d = (rt_nat_dev *)base;
    *begin = e ? e->begin : 0;
    if (!e)
        return 0;
    e->next = d->events;
    d->events = e;
    return e->ns;
}

static int rt_nat_event_busy(rt_dev *base, const rt_dev_event *e, int64_t *ns)
{
    const rt_nat_dev *d = (const rt_nat_dev *)base;
    for (int i = 0; e && i < d->threads; i++)
        ns[i] += e->busy[i].ns;
    return d->threads;
}

/* --- Launches --- */

typedef struct {
    rt_nat_dev *d;
    rt_dev_kernel *k;
    rt_nat_busy *busy; /* of each thread; NULL: nobody asks */
    size_t groups[3], size[3], n;
    bool measured, woken; /* for the caller's thread */
} rt_nat_grid;

/* Scratch memory for every thread; false: there is no memory. */
static bool rt_nat_scratches(rt_nat_dev *d, const rt_dev_kernel *k)
{
    size_t args = (size_t)k->n * sizeof *k->at, size = k->local + args;
    size = (size + RT_NAT_ALIGN - 1) / RT_NAT_ALIGN * RT_NAT_ALIGN;
    for (int i = 0; i < d->threads; i++) {
        rt_nat_scratch *s = &d->scratch[i];
        if (s->size >= size)
            continue;
        free(s->at);
        s->at = aligned_alloc(RT_NAT_ALIGN, size);
        s->size = s->at ? size : 0;
        if (!s->at)
            return false;
    }
    return true;
}

/* The arguments with the thread's local memory. */
static void *const *rt_nat_args(const rt_nat_grid *l, int thread)
{
    const rt_dev_kernel *k = l->k;
    if (k->local == 0)
        return k->at;
    char *local = l->d->scratch[thread].at;
    void **args = (void **)(void *)(local + k->local);
    for (int i = 0; i < k->n; i++) {
        bool is_local = k->args[i].kind == RT_NAT_LOCAL;
        args[i] = is_local ? local : k->at[i];
        local += is_local ? k->args[i].size : 0;
    }
    return args;
}

static void rt_nat_groups(const rt_nat_grid *l, int thread, size_t first, size_t end)
{
    int64_t since = l->busy ? rt_nat_now() : 0;
    l->k->function(rt_nat_args(l, thread), l->groups, l->size, first, end);
    if (l->busy)
        l->busy[thread].ns += rt_nat_now() - since;
}

/* A launch that is worth waking threads. */
static const double RT_NAT_WAKE_NS = 8000;

static bool rt_nat_stopped(const rt_nat_dev *d)
{
    return __atomic_load_n(&d->stop, __ATOMIC_RELAXED);
}

/* The groups that one of several threads has got. What a launch is worth shows at the first ones.
 */
static void rt_nat_share(void *job, int thread, size_t first, size_t end)
{
    rt_nat_grid *l = job;
    bool measures = thread == 0 && !l->measured;
    if (rt_nat_stopped(l->d))
        return;
    int64_t since = measures ? rt_nat_now() : 0;
    rt_nat_groups(l, thread, first, end);
    if (!measures)
        return;
    l->measured = true;
    l->k->ns = (double)(rt_nat_now() - since + 1) / (double)(end - first);
    if (!l->woken && l->k->ns * (double)(l->n - end) > RT_NAT_WAKE_NS)
        rt_pool_wake(l->d->pool);
}

/* Groups by this thread alone, for about as long as others need to come; how many. */
static size_t rt_nat_alone(rt_nat_grid *l)
{
    enum { ALONE_NS = 1500, PARTS = 8 };
    int64_t since = rt_nat_now(), gone = 0;
    size_t at = 0;
    for (size_t some = l->n / PARTS + 1; at < l->n && gone < ALONE_NS; some *= 2) {
        some = some < l->n - at ? some : l->n - at;
        rt_nat_groups(l, 0, at, at + some);
        at += some;
        gone = rt_nat_now() - since;
    }
    l->k->ns = (double)(gone + 1) / (double)at;
    return at;
}

/* All groups of a launch: by this thread, if that takes no longer than others need to come; by
 * those that are awake; by all. Launches of a kernel are taken to be alike, until it shows that
 * this one is not. */
static void rt_nat_run(rt_nat_grid *l)
{
    static const double COME_NS = 1000;
    rt_nat_dev *d = l->d;
    double expected = l->k->ns * (double)l->n;
    size_t done = 0;
    if (l->n == 1 || !rt_nat_pool(d)) {
        rt_nat_groups(l, 0, 0, l->n);
        return;
    }
    if (expected > 0 && expected < COME_NS)
        done = rt_nat_alone(l);
    l->woken = done > 0 || expected == 0 || expected >= RT_NAT_WAKE_NS;
    if (done < l->n)
        rt_pool_run(d->pool, rt_nat_share, l, done, l->n, l->woken);
}

static rt_dev_error rt_nat_launch(rt_dev *base, rt_dev_kernel *k, int n_dims, const size_t *global,
                                  const size_t *local, rt_dev_event **event)
{
    rt_nat_dev *d = (rt_nat_dev *)base;
    rt_nat_grid l = {.d = d, .k = k, .groups = {1, 1, 1}, .size = {1, 1, 1}, .n = 1};
    for (int i = 0; i < n_dims; i++) {
        l.size[i] = local[i];
        l.groups[i] = global[i] / local[i];
        l.n *= l.groups[i];
    }
    if (k->local > 0 && !rt_nat_scratches(d, k))
        return rt_nat_no_memory("aligned_alloc");
    d->changes++;
    rt_dev_event *e = rt_nat_begin(d, event);
    l.busy = e ? e->busy : NULL;
    if (l.n > 0 && !rt_nat_stopped(d))
        rt_nat_run(&l);
    return rt_nat_end(e);
}

/* --- Memory --- */

static rt_dev_buffer *rt_nat_buffer(char *at, bool own)
{
    rt_dev_buffer *b = malloc(sizeof *b);
    if (b)
        *b = (rt_dev_buffer){.at = at, .own = own, .file = -1};
    return b;
}

/* Large ones lie in large pages, where the system has them: it hands those out, cleared, and finds
 * them in a tenth of the time. */
static rt_dev_error rt_nat_alloc(rt_dev *base, int64_t bytes, int64_t in_use, rt_dev_buffer **out)
{
    rt_nat_dev *d = (rt_nat_dev *)base;
    bool large = bytes >= 2 * RT_NAT_PAGE;
    size_t align = large ? RT_NAT_PAGE : RT_BLOCK_ALIGN;
    size_t size = ((size_t)bytes + align - 1) / align * align;
    *out = NULL;
    if (bytes <= 0 || (d->memory > 0 && in_use > d->memory - bytes))
        return rt_nat_no_memory("posix_memalign");
    void *at;
    if (posix_memalign(&at, align, RT_WATCHED ? (size_t)bytes : size))
        return rt_nat_no_memory("posix_memalign");
    *out = rt_nat_buffer(at, true);
    if (!*out) {
        free(at);
        return rt_nat_no_memory("malloc");
    }
    if (large && !RT_WATCHED)
        (void)madvise(at, size, MADV_HUGEPAGE);
    return rt_nat_ok;
}

static void rt_nat_free(rt_dev *base, rt_dev_buffer *b)
{
    (void)base;
    if (b->mapped > 0)
        munmap(b->at, b->mapped);
    if (b->mapped > 0 && b->file >= 0)
        close(b->file);
    if (b->own)
        free(b->at);
    free(b);
}

/* The handle of a buffer is where it lies: how long it is, the caller knows alone. */
static rt_dev_error rt_nat_adopt(rt_dev *base, const void *handle, rt_dev_buffer **out,
                                 int64_t *bytes)
{
    (void)base, (void)bytes;
    *out = NULL;
    if (!handle || (uintptr_t)handle % RT_BLOCK_ALIGN != 0)
        return (rt_dev_error){RT_DEV_REFUSED, "a buffer of others",
                              "it does not begin at a multiple of 128"};
    *out = rt_nat_buffer((char *)(uintptr_t)handle, false);
    return *out ? rt_nat_ok : rt_nat_no_memory("malloc");
}

static void *rt_nat_handle(rt_dev *base, rt_dev_buffer *b)
{
    (void)base;
    return b->at;
}

static rt_dev_error rt_nat_part(rt_dev *base, rt_dev_buffer *whole, int64_t off, int64_t bytes,
                                rt_dev_buffer **out)
{
    (void)base, (void)bytes;
    *out = rt_nat_buffer(whole->at + off, false);
    return *out ? rt_nat_ok : rt_nat_no_memory("malloc");
}

/* --- Transfers --- */

typedef struct {
    char *dst;
    const char *src;
    size_t bytes;
} rt_nat_moved;

static void rt_nat_move_pieces(void *job, int thread, size_t first, size_t end)
{
    const rt_nat_moved *m = job;
    size_t from = first * RT_NAT_PIECE, to = end * RT_NAT_PIECE;
    (void)thread;
    to = to < m->bytes ? to : m->bytes;
    memcpy(m->dst + from, m->src + from, to - from);
}

static rt_dev_error rt_nat_move(rt_nat_dev *d, void *dst, const void *src, int64_t bytes,
                                rt_dev_event **event)
{
    rt_nat_moved m = {dst, src, (size_t)bytes};
    size_t pieces = (m.bytes + RT_NAT_PIECE - 1) / RT_NAT_PIECE;
    rt_dev_event *e = rt_nat_begin(d, event);
    if (m.bytes < RT_NAT_COPY || !rt_nat_pool(d))
        memcpy(dst, src, m.bytes);
    else
        rt_pool_run(d->pool, rt_nat_move_pieces, &m, 0, pieces, true);
    return rt_nat_end(e);
}

static rt_dev_error rt_nat_write(rt_dev *base, rt_dev_buffer *dst, int64_t off, int64_t bytes,
                                 const void *src, rt_dev_event **event)
{
    rt_nat_dev *d = (rt_nat_dev *)base;
    d->changes++;
    return rt_nat_move(d, dst->at + off, src, bytes, event);
}

static rt_dev_error rt_nat_write_later(rt_dev *base, rt_dev_buffer *dst, int64_t off, int64_t bytes,
                                       const void *src)
{
    return rt_nat_write(base, dst, off, bytes, src, NULL);
}

static rt_dev_error rt_nat_read(rt_dev *base, rt_dev_buffer *src, int64_t off, int64_t bytes,
                                void *dst, rt_dev_event **event)
{
    return rt_nat_move((rt_nat_dev *)base, dst, src->at + off, bytes, event);
}

static rt_dev_error rt_nat_fetch(rt_dev *base, rt_dev_buffer *src, int64_t off, int64_t bytes,
                                 int64_t to, rt_dev_event **event)
{
    rt_nat_dev *d = (rt_nat_dev *)base;
    return rt_nat_move(d, d->fetched + to, src->at + off, bytes, event);
}

static rt_dev_error rt_nat_fetched(rt_dev *base, int64_t from, int64_t bytes, void *dst)
{
    rt_nat_dev *d = (rt_nat_dev *)base;
    memcpy(dst, d->fetched + from, (size_t)bytes);
    return rt_nat_ok;
}

static rt_dev_error rt_nat_copy(rt_dev *base, rt_dev_buffer *dst, int64_t dst_off,
                                rt_dev_buffer *src, int64_t src_off, int64_t bytes,
                                rt_dev_event **event)
{
    rt_nat_dev *d = (rt_nat_dev *)base;
    d->changes++;
    return rt_nat_move(d, dst->at + dst_off, src->at + src_off, bytes, event);
}

static rt_dev_error rt_nat_fill(rt_dev *base, rt_dev_buffer *dst, int64_t off, int size,
                                const void *value, rt_dev_event **event)
{
    return rt_nat_write(base, dst, off, size, value, event);
}

/* --- Beside other processes --- */

/* A file without a name, which others find where the process has it open, and know by its number.
 */
typedef union {
    rt_dev_offer offer;
    struct {
        int64_t process, file, bytes;
        uint64_t device, number;
    } there;
} rt_nat_offer;

static rt_dev_error rt_nat_map(int file, size_t bytes, int may, rt_dev_buffer **out)
{
    void *at = mmap(NULL, bytes, may, MAP_SHARED, file, 0);
    *out = at != MAP_FAILED ? rt_nat_buffer(at, false) : NULL;
    if (*out) {
        (*out)->mapped = bytes;
        return rt_nat_ok;
    }
    if (at != MAP_FAILED)
        munmap(at, bytes);
    return rt_nat_no_memory("mmap");
}

static rt_dev_error rt_nat_offer_new(rt_dev *base, int64_t bytes, int64_t in_use,
                                     rt_dev_buffer **out, rt_dev_offer *offer)
{
    rt_nat_dev *d = (rt_nat_dev *)base;
    rt_nat_offer o = {{{0}}};
    struct stat st;
    int file =
        d->memory <= 0 || in_use <= d->memory - bytes ? memfd_create("window", MFD_CLOEXEC) : -1;
    *out = NULL;
    if (file < 0)
        return rt_nat_no_memory("memfd_create");
    rt_dev_error e = rt_nat_no_memory("ftruncate");
    if (ftruncate(file, (off_t)bytes) == 0 && fstat(file, &st) == 0)
        e = rt_nat_map(file, (size_t)bytes, PROT_READ | PROT_WRITE, out);
    if (e.status != RT_DEV_OK) {
        close(file);
        return e;
    }
    (*out)->file = file;
    o.there.process = getpid();
    o.there.file = file;
    o.there.bytes = bytes;
    o.there.device = (uint64_t)st.st_dev;
    o.there.number = (uint64_t)st.st_ino;
    *offer = o.offer;
    return rt_nat_ok;
}

static rt_dev_error rt_nat_take(rt_dev *base, const rt_dev_offer *offer, rt_dev_buffer **out)
{
    (void)base;
    const rt_nat_offer o = {*offer};
    char path[64];
    struct stat st;
    *out = NULL;
    snprintf(path, sizeof path, "/proc/%" PRId64 "/fd/%" PRId64, o.there.process, o.there.file);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    rt_dev_error e = {RT_DEV_FAILED, "memory of other processes", "it cannot be seen"};
    if (file >= 0 && fstat(file, &st) == 0 && (uint64_t)st.st_dev == o.there.device &&
        (uint64_t)st.st_ino == o.there.number)
        e = rt_nat_map(file, (size_t)o.there.bytes, PROT_READ, out);
    if (file >= 0)
        close(file);
    return e;
}

static void rt_nat_leave(rt_dev *base, rt_dev_buffer *taken)
{
    rt_nat_free(base, taken);
}

/* Nothing has to wait: what is asked for is done. */
static rt_dev_error rt_nat_mark_new(rt_dev *base, rt_dev_mark **out, rt_dev_offer *offer)
{
    (void)base, (void)offer;
    *out = NULL;
    return rt_nat_ok;
}

static rt_dev_error rt_nat_mark_take(rt_dev *base, const rt_dev_offer *offer, rt_dev_mark **out)
{
    (void)base, (void)offer;
    *out = NULL;
    return rt_nat_ok;
}

static rt_dev_error rt_nat_mark(rt_dev *base, rt_dev_mark *m)
{
    (void)base, (void)m;
    return rt_nat_ok;
}

#define RT_NAT_ROW(result, name, params, ...) .name = rt_nat_##name,
static const rt_driver rt_nat_driver = {RT_DRIVER_CALLS(RT_NAT_ROW).kernel_of = rt_nat_kernel_of,
                                        .stop = rt_nat_stop,
                                        .busy = rt_nat_event_busy,
                                        .offer_new = rt_nat_offer_new,
                                        .take = rt_nat_take,
                                        .leave = rt_nat_leave,
                                        .mark_new = rt_nat_mark_new,
                                        .mark_take = rt_nat_mark_take,
                                        .mark_set = rt_nat_mark,
                                        .mark_await = rt_nat_mark};
#undef RT_NAT_ROW
