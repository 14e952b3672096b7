/* The target `native`, put behind the output of runtime/bundle.sh and check_builtins.c: its driver
 * call by call, its pool, and contexts on it, with kernels written by hand. */
#include <dirent.h>
#include <pthread.h>
#include <unistd.h>

/* --- Kernels --- */

static size_t items_of(const size_t size[3])
{
    return size[0] * size[1] * size[2];
}

/* out[i] = k * i for each work-item; out, k. */
static void k_scale(void *const *args, const size_t groups[3], const size_t size[3], size_t first,
                    size_t end)
{
    int64_t *out = args[0], k = *(const int64_t *)args[1];
    (void)groups;
    for (size_t i = first * items_of(size); i < end * items_of(size); i++)
        out[i] += k * (int64_t)i;
}

/* counts[g] is one more, after work that grows with the square of g; counts, groups' worth. */
static void k_uneven(void *const *args, const size_t groups[3], const size_t size[3], size_t first,
                     size_t end)
{
    int32_t *counts = args[0], work = *(const int32_t *)args[1];
    (void)groups, (void)size;
    for (size_t g = first; g < end; g++) {
        volatile size_t x = 0;
        for (size_t i = 0; i < (size_t)work * g * g / 64; i++)
            x += i;
        counts[g]++;
    }
}

/* Sums through local memory: out, a (i32 local), b (i64 local), n. */
static void k_local(void *const *args, const size_t groups[3], const size_t size[3], size_t first,
                    size_t end)
{
    int64_t *out = args[0], n = *(const int64_t *)args[3];
    int32_t *a = args[1];
    int64_t *b = args[2];
    bool aligned = (uintptr_t)a % 64 == 0 && (uintptr_t)b % 64 == 0;
    (void)groups, (void)size;
    for (size_t g = first; g < end; g++) {
        for (int64_t i = 0; i < n; i++) {
            a[i] = (int32_t)(i + (int64_t)g);
            b[i] = (int64_t)a[i] * 2;
        }
        int64_t sum = aligned ? 0 : -1000000;
        for (int64_t i = 0; i < n; i++)
            sum += a[i] + b[i];
        out[g] = sum;
    }
}

/* Where each group is: out, three numbers of it. */
static void k_place(void *const *args, const size_t groups[3], const size_t size[3], size_t first,
                    size_t end)
{
    int32_t *out = args[0];
    for (size_t g = first; g < end; g++) {
        out[3 * g] = (int32_t)(g % groups[0] + 100 * size[0]);
        out[3 * g + 1] = (int32_t)(g / groups[0] % groups[1] + 100 * size[1]);
        out[3 * g + 2] = (int32_t)(g / groups[0] / groups[1] + 100 * size[2]);
    }
}

/* Group 5 fails, and every one counts: failures, launch, x. */
static void k_fails(void *const *args, const size_t groups[3], const size_t size[3], size_t first,
                    size_t end)
{
    rt_failure *f = args[0];
    int32_t launch = *(const int32_t *)args[1], *x = args[2];
    (void)groups, (void)size;
    for (size_t g = first; g < end; g++) {
        int32_t none = -1;
        if (__atomic_load_n(&f->site, __ATOMIC_RELAXED) >= 0 && f->launch < launch)
            return;
        if (g == 5 && __atomic_compare_exchange_n(&f->site, &none, 0, false, __ATOMIC_RELAXED,
                                                  __ATOMIC_RELAXED)) {
            f->launch = launch;
            f->args[0] = 77;
        }
        __atomic_add_fetch(x, 1, __ATOMIC_RELAXED);
    }
}

/* A millisecond a group. */
static void k_slow(void *const *args, const size_t groups[3], const size_t size[3], size_t first,
                   size_t end)
{
    int32_t *x = args[0];
    (void)groups, (void)size;
    for (size_t g = first; g < end; g++) {
        usleep(1000);
        __atomic_add_fetch(x, 1, __ATOMIC_RELAXED);
    }
}

static rt_dev *stopped;

/* ... and the tenth group stops the launch. */
static void k_stops(void *const *args, const size_t groups[3], const size_t size[3], size_t first,
                    size_t end)
{
    int32_t *x = args[0];
    (void)groups, (void)size;
    for (size_t g = first; g < end; g++)
        if (__atomic_add_fetch(x, 1, __ATOMIC_RELAXED) == 10)
            rt_dev_stop(stopped, true);
}

#define KERNEL(f)                                                                                  \
    {                                                                                              \
        .name = #f, .function = {f}, .prov = "t.sf:1:1"                                            \
    }
enum { K_SCALE, K_UNEVEN, K_LOCAL, K_FAILS, K_SLOW, N_KERNELS };
static const rt_kernel_def kernels[] = {KERNEL(k_scale),
                                        KERNEL(k_uneven),
                                        KERNEL(k_local),
                                        {.name = "k_fails",
                                         .function = {k_fails},
                                         .prov = "t.sf:2:1",
                                         .failure = true,
                                         .may_fail = true},
                                        KERNEL(k_slow)};
static const rt_site_def sites[] = {{"bad %ld.", "t.sf:1:2", NULL}};
static const rt_program program = {
    .name = "t", .n_kernels = N_KERNELS, .kernels = kernels, .n_sites = 1, .sites = sites};

/* --- The driver --- */

/* How many threads the process has. */
static int threads_now(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/task");
    for (struct dirent *e; d && (e = readdir(d));)
        n += e->d_name[0] != '.';
    if (d)
        closedir(d);
    return n;
}

static rt_dev *open_native(int threads, bool profiling)
{
    int n;
    rt_dev *d = NULL;
    rt_dev_info *all = rt_dev_find(false, true, &n), info = all[n - 1];
    free(all);
    info.units = threads ? threads : info.units;
    check(info.rank.native && rt_dev_open(&info, profiling, &d).status == RT_DEV_OK, "open");
    return d;
}

static rt_dev_buffer *zeros(rt_dev *d, int64_t bytes)
{
    rt_dev_buffer *b;
    check(rt_dev_alloc(d, bytes, 0, &b).status == RT_DEV_OK, "a buffer");
    void *none = calloc(1, (size_t)bytes);
    check(rt_dev_write(d, b, 0, bytes, none, NULL).status == RT_DEV_OK, "written");
    free(none);
    return b;
}

static rt_dev_kernel *kernel_of(rt_dev *d, rt_dev_function *f)
{
    rt_dev_kernel *k;
    check(rt_dev_kernel_of(d, f, &k).status == RT_DEV_OK, "a kernel");
    return k;
}

static bool launch(rt_dev *d, rt_dev_kernel *k, size_t groups, size_t size, rt_dev_event **e)
{
    const size_t global = groups * size;
    return rt_dev_launch(d, k, 1, &global, &size, e).status == RT_DEV_OK;
}

static void test_calls(int threads)
{
    rt_dev *d = open_native(threads, false);
    rt_dev_program *p;
    rt_dev_kernel *k;
    char *log;
    size_t n = 1;
    int64_t group, local, x = 3, changes = rt_dev_changes(d);
    check(rt_dev_build(d, 0, NULL, "", &p, &log).status == RT_DEV_FAILED && !p && !log, "no build");
    check(rt_dev_load(d, NULL, 0, "", &p).status == RT_DEV_FAILED && !p, "no load");
    check(rt_dev_kernel_new(d, NULL, "k", &k, &log).status == RT_DEV_FAILED && !k && !log,
          "no new");
    check(!rt_dev_binary(d, NULL, &n) && n == 0 && !rt_dev_queue(d), "no binary, no queue");
    check(rt_dev_kernel_of(d, NULL, &k).status == RT_DEV_FAILED && !k, "no function");
    rt_dev_buffer *a = zeros(d, 4096), *b = zeros(d, 4096), *part, *mine;
    check((uintptr_t)rt_dev_handle(d, a) % RT_BLOCK_ALIGN == 0, "aligned");
    k = kernel_of(d, k_scale);
    rt_dev_kernel_needs(d, k, &group, &local);
    check(group == 0 && local == 0, "needs");
    check(rt_dev_arg_buffer(d, k, 0, a).status == RT_DEV_OK &&
              rt_dev_arg(d, k, 1, sizeof x, &x).status == RT_DEV_OK,
          "arguments");
    x = 100; /* it was copied */
    check(rt_dev_arg(d, k, 1, 64, &x).status == RT_DEV_FAILED, "too large a value");
    check(launch(d, k, 0, 8, NULL) && launch(d, k, 16, 8, NULL), "launches");
    int64_t got[512];
    rt_dev_read(d, a, 0, 4096, got, NULL);
    check(got[0] == 0 && got[127] == 3 * 127 && got[128] == 0, "what a launch did");
    check(rt_dev_changes(d) > changes, "changes");
    check(rt_dev_part(d, a, 1016, 8, &part).status == RT_DEV_OK, "a part");
    check(rt_dev_copy(d, b, 8, part, 0, 8, NULL).status == RT_DEV_OK &&
              rt_dev_fetch(d, b, 0, 16, 64, NULL).status == RT_DEV_OK &&
              rt_dev_fetched(d, 72, 8, &x).status == RT_DEV_OK && x == 3 * 127,
          "copied and fetched");
    check(rt_dev_fill(d, b, 2, 2, &(int16_t){0x1234}, NULL).status == RT_DEV_OK &&
              rt_dev_write_later(d, b, 0, 2, "ab").status == RT_DEV_OK &&
              rt_dev_finish(d).status == RT_DEV_OK &&
              rt_dev_read(d, b, 0, 4, &x, NULL).status == RT_DEV_OK &&
              (x & 0xffffffff) == 0x12346261,
          "filled and written");
    rt_dev_free(d, part);
    static _Alignas(RT_BLOCK_ALIGN) char host[256];
    int64_t bytes = 200;
    check(rt_dev_adopt(d, host + 8, &mine, &bytes).status == RT_DEV_REFUSED && !mine,
          "not aligned");
    check(rt_dev_adopt(d, host, &mine, &bytes).status == RT_DEV_OK && bytes == 200, "adopted");
    check(rt_dev_copy(d, mine, 3, b, 0, 2, NULL).status == RT_DEV_OK && host[3] == 'a', "in it");
    rt_dev_free(d, mine);
    check(rt_dev_alloc(d, INT64_C(1) << 50, 0, &mine).status == RT_DEV_REFUSED && !mine,
          "too much");
    check(rt_dev_alloc(d, 4096, INT64_C(1) << 50, &mine).status == RT_DEV_REFUSED, "... in all");
    rt_dev_free(d, a);
    rt_dev_free(d, b);
    rt_dev_kernel_free(d, k);
    rt_dev_close(d);
}

static void test_shapes(int threads)
{
    rt_dev *d = open_native(threads, false);
    enum { X = 3, Y = 4, Z = 5, N = X * Y * Z };
    rt_dev_buffer *b = zeros(d, N * 12);
    rt_dev_kernel *k = kernel_of(d, k_place);
    const size_t global[] = {X * 2, Y * 1, Z * 7}, local[] = {2, 1, 7};
    static int32_t got[N][3];
    bool ok = rt_dev_arg_buffer(d, k, 0, b).status == RT_DEV_OK;
    for (int i = 0; i < 50; i++)
        ok = ok && rt_dev_launch(d, k, 3, global, local, NULL).status == RT_DEV_OK;
    rt_dev_read(d, b, 0, sizeof got, got, NULL);
    for (int g = 0; g < N; g++)
        ok = ok && got[g][0] == g % X + 200 && got[g][1] == g / X % Y + 100 &&
             got[g][2] == g / X / Y + 700;
    check(ok, "three dimensions");
    rt_dev_kernel_free(d, k);
    rt_dev_free(d, b);
    rt_dev_close(d);
}

/* Every group is done once, however long it takes, in launches large and small by turns. */
static void test_uneven(int threads)
{
    enum { MOST = 3000, TIMES = 300 };
    rt_dev *d = open_native(threads, false);
    rt_dev_buffer *b = zeros(d, MOST * 4);
    rt_dev_kernel *k = kernel_of(d, k_uneven);
    static int32_t got[MOST], want[MOST];
    memset(want, 0, sizeof want);
    bool ok = rt_dev_arg_buffer(d, k, 0, b).status == RT_DEV_OK;
    for (int i = 0; i < TIMES; i++) {
        size_t n = (size_t)(i % 3 == 0 ? 1 + below(20) : 1 + below(i % 10 ? 200 : MOST));
        int32_t work = (int32_t)below(2) * 2;
        ok = ok && rt_dev_arg(d, k, 1, sizeof work, &work).status == RT_DEV_OK &&
             launch(d, k, n, 4, NULL);
        for (size_t g = 0; g < n; g++)
            want[g]++;
        if (i % 50 == 0)
            usleep(2000);
    }
    rt_dev_read(d, b, 0, sizeof got, got, NULL);
    check(ok && memcmp(got, want, sizeof got) == 0, "each group once");
    rt_dev_kernel_free(d, k);
    rt_dev_free(d, b);
    rt_dev_close(d);
}

static void test_local(int threads)
{
    enum { GROUPS = 500 };
    rt_dev *d = open_native(threads, false);
    rt_dev_buffer *b = zeros(d, GROUPS * 8);
    rt_dev_kernel *k = kernel_of(d, k_local);
    static int64_t got[GROUPS];
    bool ok = rt_dev_arg_buffer(d, k, 0, b).status == RT_DEV_OK;
    for (int64_t n = 1; n < 3000; n = n * 3 + 1) {
        ok = ok && rt_dev_arg(d, k, 3, sizeof n, &n).status == RT_DEV_OK &&
             rt_dev_arg(d, k, 2, (size_t)n * 8, NULL).status == RT_DEV_OK &&
             rt_dev_arg(d, k, 1, (size_t)n * 4, NULL).status == RT_DEV_OK &&
             launch(d, k, GROUPS, 1, NULL);
        rt_dev_read(d, b, 0, sizeof got, got, NULL);
        for (int64_t g = 0; g < GROUPS; g++)
            ok = ok && got[g] == 3 * (n * (n - 1) / 2 + n * g);
    }
    check(ok, "local memory");
    rt_dev_kernel_free(d, k);
    rt_dev_free(d, b);
    rt_dev_close(d);
}

/* Threads come with the first launch that has work for them, and go with the device. */
static void test_threads(int threads)
{
    int before = threads_now();
    rt_dev *d = open_native(threads, false);
    check(threads_now() == before, "no thread before a launch");
    rt_dev_buffer *b = zeros(d, 800);
    rt_dev_kernel *k = kernel_of(d, k_slow);
    rt_dev_arg_buffer(d, k, 0, b);
    check(launch(d, k, 1, 8, NULL) && threads_now() == before, "nor for one group");
    check(launch(d, k, 30, 8, NULL) && threads_now() == before + threads - 1, "as many as asked");
    rt_dev_kernel_free(d, k);
    rt_dev_free(d, b);
    rt_dev_close(d);
    for (int i = 0; i < 1000 && threads_now() != before; i++)
        usleep(1000); /* a thread that was joined may still be listed */
    check(threads_now() == before, "none is left");
}

static void test_events(void)
{
    rt_dev *d = open_native(2, true);
    rt_dev_buffer *b = zeros(d, 8);
    rt_dev_kernel *k = kernel_of(d, k_slow);
    rt_dev_event *e[2];
    int64_t begin[2], busy[2] = {0, 0}, x;
    rt_dev_arg_buffer(d, k, 0, b);
    bool ok = launch(d, k, 8, 1, &e[0]) && rt_dev_read(d, b, 0, 8, &x, &e[1]).status == RT_DEV_OK;
    ok = ok && rt_dev_event_busy(d, e[0], busy) == 2;
    int64_t first = rt_dev_event_span(d, e[0], &begin[0]);
    int64_t second = rt_dev_event_span(d, e[1], &begin[1]);
    check(ok && first >= 2000000 && second >= 0 && begin[1] >= begin[0] + first, "events");
    check(busy[0] > 0 && busy[0] <= first && busy[1] <= first && busy[0] + busy[1] >= 8000000,
          "what threads worked: eight groups of a millisecond");
    rt_dev_kernel_free(d, k);
    rt_dev_free(d, b);
    rt_dev_close(d);
}

/* A launch that is stopped leaves out groups, and the next one works again. */
static void test_stop(int threads)
{
    enum { MANY = 1 << 24 };
    rt_dev *d = stopped = open_native(threads, false);
    rt_dev_buffer *b = zeros(d, 8);
    rt_dev_kernel *k = kernel_of(d, k_stops);
    int32_t before = 0, after = 0;
    rt_dev_arg_buffer(d, k, 0, b);
    check(launch(d, k, MANY, 1, NULL), "a launch that is stopped");
    rt_dev_read(d, b, 0, 4, &before, NULL);
    check(before >= 10 && before < MANY, "stopped");
    check(launch(d, k, 10, 1, NULL), "a launch while nothing runs");
    rt_dev_read(d, b, 0, 4, &after, NULL);
    check(before == after, "does nothing");
    check(rt_dev_stop(d, false) && launch(d, k, 10, 1, NULL), "a launch after that");
    rt_dev_read(d, b, 0, 4, &after, NULL);
    check(after == before + 10, "works");
    rt_dev_kernel_free(d, k);
    rt_dev_free(d, b);
    rt_dev_close(d);
}

/* --- Contexts --- */

static rt_ctx *context(int threads)
{
    char *error;
    rt_config cfg = {.device = "native", .cache = "", .threads = threads};
    rt_ctx *ctx = rt_ctx_new(&program, &cfg, &error);
    check(ctx, ctx ? "" : error);
    return ctx;
}

static void test_context(int threads)
{
    rt_ctx *ctx = context(threads);
    rt_mem *x = NULL;
    int32_t n = 0;
    check(ctx->target->functions && rt_size(ctx, RT_COMPUTE_UNITS) == threads, "facts");
    check(rt_alloc(ctx, &x, 4, "x") == RT_OK && rt_write_scalar(ctx, x, 0, 4, &n) == RT_OK, "x");
    rt_arg args[] = {RT_A_MEM(x)};
    const int64_t few = 4, many = 40, one = 1;
    check(rt_launch(ctx, K_FAILS, 1, &few, &one, 1, args) == RT_OK && rt_sync(ctx) == RT_OK,
          "a launch");
    check(rt_launch(ctx, K_FAILS, 1, &many, &one, 1, args) == RT_OK &&
              rt_launch(ctx, K_FAILS, 1, &many, &one, 1, args) == RT_OK,
          "launches that fail inside");
    check(rt_sync(ctx) == RT_ERR && strcmp(rt_error(ctx), "Error: bad 77.\nt.sf:1:2:") == 0,
          rt_error(ctx));
    check(rt_read_scalar(ctx, x, 0, 4, &n) == RT_OK && n <= 44, "later launches did nothing");
    rt_unref(ctx, &x);
    test_fill_iota(ctx);
    test_transpose(ctx, false);
    test_strided(ctx, false);
    check(ctx->live_bytes == 0, "no block is left");
    rt_ctx_free(ctx);
}

/* A call that takes too long fails, in the midst of a launch. */
static void test_limit(void)
{
    rt_ctx *ctx = context(2);
    rt_mem *x = NULL;
    int32_t none = 0;
    const int64_t many = 4000, few = 10, one = 1;
    check(rt_alloc(ctx, &x, 4, "x") == RT_OK && rt_write_scalar(ctx, x, 0, 4, &none) == RT_OK, "x");
    rt_arg args[] = {RT_A_MEM(x)};
    ctx->limit.seconds = 0.05;
    rt_limit_begin(ctx);
    int rc = rt_launch(ctx, K_SLOW, 1, &many, &one, 1, args);
    check(rc == RT_ERR && strncmp(rt_error(ctx), "stopped after ", 14) == 0, rt_error(ctx));
    rt_limit_end(ctx);
    check(ctx->limit.over, "too long");
    ctx->limit.over = false;
    rt_limit_begin(ctx);
    check(rt_launch(ctx, K_SLOW, 1, &few, &one, 1, args) == RT_OK && rt_sync(ctx) == RT_OK,
          "the next call");
    rt_limit_end(ctx);
    rt_unref(ctx, &x);
    rt_ctx_free(ctx);
}

static void *beside(void *arg)
{
    int64_t n = 100, one = 1, k = *(int *)arg;
    char *error;
    rt_config cfg = {.device = "native", .cache = "", .threads = 3};
    rt_ctx *ctx = rt_ctx_new(&program, &cfg, &error);
    rt_mem *x = NULL;
    static __thread int64_t got[100];
    bool ok = rt_alloc(ctx, &x, sizeof got, "x") == RT_OK &&
              rt_fill(ctx, x, 0, n, 8, &(int64_t){0}) == RT_OK;
    for (int i = 0; i < 500; i++) {
        rt_arg args[] = {RT_A_MEM(x), RT_A_I64(k)};
        ok = ok && rt_launch(ctx, K_SCALE, 1, &n, &one, 2, args) == RT_OK;
    }
    ok = ok && rt_read(ctx, x, 0, sizeof got, got) == RT_OK;
    for (int64_t i = 0; i < n; i++)
        ok = ok && got[i] == 500 * k * i;
    rt_unref(ctx, &x);
    rt_ctx_free(ctx);
    return ok ? arg : NULL;
}

static void test_beside(void)
{
    int k[] = {3, 5};
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, beside, &k[i]);
    for (int i = 0; i < 2; i++) {
        void *ok;
        pthread_join(t[i], &ok);
        check(ok, "a context beside another one");
    }
}

int main(int argc, char **argv)
{
    const char *user = getenv("MINIFUT_THREADS");
    int threads = user ? atoi(user) : 2;
    if (argc > 1 && strcmp(argv[1], "pool") != 0)
        return 2;
    test_calls(threads);
    test_shapes(threads);
    test_uneven(threads);
    test_local(threads);
    test_threads(threads);
    test_events();
    test_stop(threads);
    test_limit();
    test_beside();
    if (argc == 1)
        test_context(threads);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
