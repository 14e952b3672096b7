/* What a launch, an allocation and a wait cost in calls of the driver: put behind the output of
 * runtime/bundle.sh and linked with fake_opencl.c, which counts, and ends the program if a launch
 * is given a buffer that was released. */
long fake_calls(const char *prefix);

static int passed, failed;

/* How many calls `what` made since `before`, of the functions that begin with prefix. */
static void expect(const char *what, const char *prefix, long before, long want)
{
    long got = fake_calls(prefix) - before;
    passed += got == want;
    failed += got != want;
    if (got != want)
        printf("FAIL launches: %s: %ld calls of %s, not %ld\n", what, got, prefix, want);
}

enum { PLAIN, LOOKS, FAILS, HEAP, SIZED, SIZES, TILED, FUNCTION };
#define KERNEL(its_name, looks, fails)                                                             \
    {                                                                                              \
        .name = its_name, .source = "", .prov = "t.sf:1:1", .failure = looks, .may_fail = fails    \
    }
/* Built for the argument n. */
#define SIZED_KERNEL(its_name)                                                                     \
    {                                                                                              \
        .name = its_name, .source = "", .prov = "t.sf:1:1", .sized = true, .steady = 1u << 1       \
    }
/* What a function was given, and how often. */
static struct {
    int64_t n;
    size_t groups, size, first, end;
    long calls;
} told;

static void tells(void *const *args, const size_t groups[3], const size_t size[3], size_t first,
                  size_t end)
{
    told.n = *(const int64_t *)args[1];
    told.groups = groups[0];
    told.size = size[0];
    told.first = first;
    told.end = end;
    told.calls++;
}

static const rt_kernel_def kernels[] = {
    KERNEL("plain", false, false),
    KERNEL("looks", true, false),
    KERNEL("fails", true, true),
    KERNEL("heap", true, false),
    SIZED_KERNEL("sized"),
    SIZED_KERNEL("sizes"),
    {.name = "tiled", .source = "", .prov = "t.sf:1:1", .private_words = 64},
    {.name = "function", .function = {tells}, .prov = "t.sf:1:1"}};
static const rt_param_def params[] = {{"loop", "threshold(0, )", 1}};
static const rt_program program = {
    .name = "t", .n_kernels = 8, .kernels = kernels, .n_params = 1, .params = params};

typedef struct {
    rt_mem *mem;
    int64_t n, group;
    float x;
    int local;
} Given;

static void launch(rt_ctx *ctx, int kernel, Given g)
{
    rt_arg args[] = {RT_A_MEM(g.mem), RT_A_I64(g.n), RT_A_F32(g.x), RT_A_LOCAL(g.local), RT_A_HEAP};
    int rc = rt_launch(ctx, kernel, 1, &g.n, &g.group, kernel == HEAP ? 5 : 4, args);
    failed += rc != RT_OK;
    if (rc != RT_OK)
        printf("FAIL launches: %s\n", rt_error(ctx));
}

/* A launch that is noted down as the step `at`, which waits as it should. */
typedef struct {
    const char *what;
    int kernel, at_block; /* 0: a, 1: b */
    bool small;           /* one group */
    int meets;
} Step;

static void expect_launch(rt_ctx *ctx, const char *what, int kernel, Given g, long sets)
{
    long all = fake_calls("cl"), set = fake_calls("clSetKernelArg");
    launch(ctx, kernel, g);
    expect(what, "clSetKernelArg", set, sets);
    expect(what, "cl", all, sets + 1);
}

/* Flushes cost nothing beside what they flush. */
static void expect_sync(rt_ctx *ctx, const char *what, const char *call, long want)
{
    long before = fake_calls(call), all = fake_calls("cl") - fake_calls("clFlush");
    failed += rt_sync(ctx) != RT_OK;
    expect(what, call, before, want);
    expect(what, "cl", all + fake_calls("clFlush"), want);
}

static void test_arguments(rt_ctx *ctx, rt_mem *a, rt_mem *b)
{
    Given g = {a, 1024, 64, 1.0f, 16};
    launch(ctx, PLAIN, g); /* builds it */
    expect_launch(ctx, "the same again", PLAIN, g, 0);
    g.x = 2.0f;
    expect_launch(ctx, "another number", PLAIN, g, 1);
    g.mem = b;
    expect_launch(ctx, "another block", PLAIN, g, 1);
    g.mem = NULL;
    expect_launch(ctx, "no block", PLAIN, g, 1);
    g.mem = b;
    g.local = 32;
    expect_launch(ctx, "a block and more local memory", PLAIN, g, 2);
    g.group = 128;
    expect_launch(ctx, "another group size", PLAIN, g, 0);
}

/* The driver gives the new buffer the handle of the old one. */
static void test_handles(rt_ctx *ctx)
{
    rt_mem *m = NULL;
    rt_alloc(ctx, &m, 1 << 20, "old");
    Given g = {m, 1024, 64, 1.0f, 16};
    launch(ctx, PLAIN, g);
    rt_dev_buffer *old = m->buf;
    rt_unref(ctx, &m);
    rt_free_dead_blocks(ctx);
    rt_alloc(ctx, &m, 1 << 21, "new");
    failed += m->buf != old;
    g.mem = m;
    expect_launch(ctx, "a reused handle", PLAIN, g, 1);
    rt_unref(ctx, &m);
}

static void test_numbers(rt_ctx *ctx, rt_mem *a)
{
    Given g = {a, 1024, 64, 1.0f, 16};
    launch(ctx, LOOKS, g);
    launch(ctx, FAILS, g);
    expect_launch(ctx, "a kernel that looks, after one that can fail", LOOKS, g, 1);
    expect_launch(ctx, "and again", LOOKS, g, 0);
    expect_launch(ctx, "a kernel that can fail", FAILS, g, 1);
    expect_launch(ctx, "and again", FAILS, g, 1);
    expect_launch(ctx, "a kernel that looks", LOOKS, g, 1);
    ctx->launch = INT_MAX - 2;
    long sets = fake_calls("clSetKernelArg"), reads = fake_calls("clEnqueueReadBuffer");
    launch(ctx, FAILS, g);
    expect("numbers begin again", "clSetKernelArg", sets, 1);
    expect("numbers begin again", "clEnqueueReadBuffer", reads, 1);
    failed += ctx->launch != 1;
}

/* What is built, and set, for a launch of a kernel that is built for the numbers of launches. */
static void expect_sized(rt_ctx *ctx, const char *what, int kernel, Given g, long builds, long sets)
{
    long build = fake_calls("clBuildProgram"), set = fake_calls("clSetKernelArg");
    long launches = fake_calls("clEnqueueNDRangeKernel");
    ctx->run++;
    launch(ctx, kernel, g);
    expect(what, "clBuildProgram", build, builds);
    expect(what, "clSetKernelArg", set, sets);
    expect(what, "clEnqueueNDRangeKernel", launches, 1);
}

static void test_sized(rt_ctx *ctx, rt_mem *a)
{
    enum { MOST = 8 };
    Given g = {a, 1024, 64, 1.0f, 16};
    expect_sized(ctx, "sizes", SIZED, g, 1, 4);
    expect_sized(ctx, "the same sizes", SIZED, g, 0, 0);
    g.x = 2.0f;
    expect_sized(ctx, "the same sizes, another number", SIZED, g, 0, 1);
    for (g.n = 1; g.n < MOST; g.n++)
        expect_sized(ctx, "other sizes", SIZED, g, 1, 4);
    expect_sized(ctx, "too many sizes", SIZED, g, 1, 4);
    g.n++;
    expect_sized(ctx, "any sizes", SIZED, g, 0, 1);
    g.n = 1024;
    expect_sized(ctx, "the first sizes again", SIZED, g, 0, 0);
    g.n = 1;
    expect_sized(ctx, "the second sizes again", SIZED, g, 0, 0);
    g.n = 77;
    rt_set_param(ctx, "default_group_size", 128);
    expect_sized(ctx, "groups of another size are asked for", SIZED, g, 1, 4);
    g.n = 1;
    expect_sized(ctx, "what was built before", SIZED, g, 0, 0);
    rt_set_param(ctx, "default_group_size", 0);
    g.n = 78;
    expect_sized(ctx, "any sizes as before", SIZED, g, 0, 1);
}

/* All of one run: after a few sizes one kernel is for all others. */
static void test_changing(rt_ctx *ctx, rt_mem *a)
{
    Given g = {a, 1024, 64, 1.0f, 16};
    long builds = fake_calls("clBuildProgram");
    for (g.group = 32; g.group <= 1024; g.group += 32)
        launch(ctx, SIZES, g);
    expect("sizes that change in a run", "clBuildProgram", builds, 4);
    ctx->run++;
    g.group = 1000;
    launch(ctx, SIZES, g);
    expect("and in the next one", "clBuildProgram", builds, 4);
}

/* Whether a kernel fits is asked of what is built for a launch, not of one for any numbers. */
static void test_sized_fits(rt_ctx *ctx)
{
    long builds = fake_calls("clBuildProgram");
    bool ok = rt_fits(ctx, SIZED, 256, 1 << 10) && !rt_fits(ctx, SIZED, 256, 1 << 20) &&
              !rt_fits(ctx, SIZED, 4096, 0);
    expect("fits", "clBuildProgram", builds, 0);
    failed += !ok;
}

/* More local memory than the device tells of is only for kernels that are built for their sizes. */
static void test_room(rt_ctx *ctx, int kernel, bool fits, const char *what)
{
    const rt_dev_info before = ctx->device;
    ctx->device.hides_local = true;
    ctx->room = 100 << 10;
    bool ok = rt_fits(ctx, kernel, 256, 60 << 10) == fits && !rt_fits(ctx, kernel, 256, 101 << 10);
    passed += ok;
    failed += !ok;
    if (!ok)
        printf("FAIL launches: room, %s\n", what);
    ctx->device = before;
    ctx->room = 0;
}

static void expect_groups(rt_ctx *ctx, const char *what, const rt_kernel *k, int64_t group,
                          int64_t local, int64_t want)
{
    int64_t got = rt_groups_at_once(ctx, k, group, local);
    passed += got == want;
    failed += got != want;
    if (got != want)
        printf("FAIL launches: %s: %ld groups, not %ld\n", what, (long)got, (long)want);
}

static void test_groups_at_once(rt_ctx *ctx)
{
    const rt_dev_info before = ctx->device;
    rt_kernel k = {.max_group = 896, .own_local = 100};
    ctx->device.units = 10;
    ctx->device.local_memory = 48 << 10;
    ctx->device.groups_wait = false;
    expect_groups(ctx, "none that may wait", &k, 256, 0, 1);
    ctx->device.groups_wait = true;
    expect_groups(ctx, "as registers allow", &k, 256, 0, 30);
    expect_groups(ctx, "one of a unit", &k, 512, 0, 10);
    expect_groups(ctx, "small ones", &k, 32, 0, 160);
    expect_groups(ctx, "as local memory allows", &k, 256, 20000, 20);
    expect_groups(ctx, "all local memory", &k, 256, (48 << 10) - 100, 10);
    ctx->device = before;
}

static void test_waits(rt_ctx *ctx, rt_mem *a)
{
    int32_t x;
    Given g = {a, 1024, 64, 1.0f, 16};
    rt_sync(ctx);
    expect_sync(ctx, "nothing to wait for", "cl", 0);
    launch(ctx, PLAIN, g);
    expect_sync(ctx, "a launch that cannot fail", "clFinish", 1);
    launch(ctx, FAILS, g);
    expect_sync(ctx, "one that can", "clEnqueueReadBuffer", 1);
    expect_sync(ctx, "nothing more", "cl", 0);
    launch(ctx, PLAIN, g);
    long all = fake_calls("clEnqueue");
    rt_read_scalar(ctx, a, 0, 4, &x);
    expect("a number", "clEnqueue", all, 1);
    expect_sync(ctx, "which waits", "cl", 0);
    launch(ctx, FAILS, g);
    all = fake_calls("clEnqueue");
    rt_read_scalar(ctx, a, 0, 4, &x);
    expect("a number and a failure", "clEnqueue", all, 2);
}

/* Scalars beside one another are read together, until something may have changed them. */
static void test_scalars(rt_ctx *ctx, rt_mem *a, rt_mem *b)
{
    const int32_t given[] = {5, 6, 7};
    int32_t got[3] = {0, 0, 0};
    bool ok = rt_write(ctx, a, 256, sizeof given, given) == RT_OK;
    long all = fake_calls("clEnqueue");
    for (int i = 0; i < 3; i++)
        ok = ok && rt_read_scalar(ctx, a, 256 + 4 * i, 4, &got[i]) == RT_OK;
    expect("neighbours", "clEnqueue", all, 1);
    failed += !ok || memcmp(given, got, sizeof given) != 0;
    ok = rt_read_scalar(ctx, b, 256, 4, got) == RT_OK && got[0] == 0;
    ok = ok && rt_read_scalar(ctx, a, 0, 4, got) == RT_OK && got[0] == 0;
    expect("another block, another place", "clEnqueue", all, 3);
    long reads = fake_calls("clEnqueueReadBuffer");
    ok = ok && rt_write(ctx, a, 4, 4, &given[1]) == RT_OK &&
         rt_read_scalar(ctx, a, 4, 4, got) == RT_OK && got[0] == 6;
    expect("after a write", "clEnqueueReadBuffer", reads, 1);
    failed += !ok;
}

/* A page comes while the host goes on with its first scalar: what is still under way is not taken
 * for the next page. */
static void test_pages(rt_ctx *ctx)
{
    enum { N = 2 * RT_SLOTS };
    rt_mem *m[N] = {NULL};
    int32_t got = -1;
    for (int32_t i = 0; i < N; i++) {
        failed += rt_alloc(ctx, &m[i], sizeof i, "small") != RT_OK;
        failed += rt_write(ctx, m[i], 0, sizeof i, &i) != RT_OK;
    }
    setenv("FAKE_LATE", "part", 1);
    for (int i = 0; i < N; i++)
        for (int k = i; k < N; k++) {
            bool ok = rt_read_scalar(ctx, m[i], 0, sizeof got, &got) == RT_OK && got == i;
            ok = ok && rt_read_scalar(ctx, m[k], 0, sizeof got, &got) == RT_OK && got == k;
            passed += ok;
            failed += !ok;
            if (!ok)
                printf("FAIL launches: scalars %d and %d of pages: %d\n", i, k, got);
        }
    unsetenv("FAKE_LATE");
    for (int i = 0; i < N; i++)
        rt_unref(ctx, &m[i]);
}

static void test_memory(rt_ctx *ctx)
{
    rt_mem *m[3] = {NULL, NULL, NULL};
    for (int i = 0; i < 3; i++)
        rt_alloc(ctx, &m[i], 1000 + 4096 * i, "first");
    long all = fake_calls("cl");
    for (int step = 0; step < 10; step++)
        for (int i = 0; i < 3; i++) {
            rt_unref(ctx, &m[i]);
            rt_alloc(ctx, &m[i], 1000 + 4096 * i, "again");
        }
    expect("blocks that there were", "cl", all, 0);
    for (int i = 0; i < 3; i++)
        rt_unref(ctx, &m[i]);
}

/* In a loop a name gets the block that it had, so that the arguments of launches stay what they
 * are. */
static void test_names(rt_ctx *ctx)
{
    static const char *const names[] = {"x", "y", "z"};
    rt_mem *m[3] = {NULL, NULL, NULL}, *had[3];
    for (int step = 0; step < 4; step++) {
        for (int i = 0; i < 3; i++) {
            failed += rt_alloc(ctx, &m[i], 50000, names[i]) != RT_OK;
            failed += step > 0 && m[i] != had[i];
            had[i] = m[i];
        }
        for (int i = 0; i < 3; i++)
            rt_unref(ctx, &m[step % 2 ? 2 - i : i]);
    }
}

/* Behind each launch the runtime looks whether the heap was large enough. */
static void test_heap(rt_ctx *ctx, rt_mem *a)
{
    Given g = {a, 1024, 64, 1.0f, 16};
    launch(ctx, HEAP, g);
    long all = fake_calls("cl"), sets = fake_calls("clSetKernelArg");
    launch(ctx, HEAP, g);
    expect("a kernel with a heap", "clSetKernelArg", sets, 1);
    expect("a kernel with a heap", "cl", all, 3);
}

static void test_profile(void)
{
    char *error;
    rt_config cfg = {.cache = "", .profile = true};
    rt_ctx *ctx = rt_ctx_new(&program, &cfg, &error);
    rt_mem *m = NULL;
    rt_alloc(ctx, &m, 1024, "m");
    long events = fake_calls("clReleaseEvent");
    for (int i = 0; i < 5; i++)
        launch(ctx, PLAIN, (Given){m, 1024, 64, 1.0f, 16});
    rt_profile_collect(ctx);
    expect("profiled", "clReleaseEvent", events, 5);
    rt_unref(ctx, &m);
    rt_ctx_free(ctx);
}

/* --- A driver that calls functions --- */

static struct {
    rt_dev_function *function;
    void *args[8];
    int64_t values[8];
} called; /* its one kernel */

static rt_dev_error call_kernel_of(rt_dev *d, rt_dev_function *f, rt_dev_kernel **out)
{
    (void)d;
    called.function = f;
    *out = (rt_dev_kernel *)&called;
    return (rt_dev_error){RT_DEV_OK, "", ""};
}

static void call_kernel_free(rt_dev *d, rt_dev_kernel *k)
{
    (void)d;
    (void)k;
}

static void call_kernel_needs(rt_dev *d, rt_dev_kernel *k, int64_t *max_group, int64_t *local)
{
    (void)d;
    (void)k;
    *max_group = *local = 0;
}

static rt_dev_error call_arg(rt_dev *d, rt_dev_kernel *k, int i, size_t size, const void *value)
{
    (void)d;
    (void)k;
    called.args[i] = &called.values[i];
    if (value)
        memcpy(called.args[i], value, size);
    return (rt_dev_error){RT_DEV_OK, "", ""};
}

static rt_dev_error call_arg_buffer(rt_dev *d, rt_dev_kernel *k, int i, rt_dev_buffer *b)
{
    return call_arg(d, k, i, sizeof(rt_dev_buffer *), &b);
}

static rt_dev_error call_launch(rt_dev *d, rt_dev_kernel *k, int n_dims, const size_t *global,
                                const size_t *local, rt_dev_event **event)
{
    (void)d;
    (void)k;
    (void)event;
    const size_t groups[3] = {global[0] / local[0], 1, 1}, size[3] = {local[0], 1, 1};
    failed += n_dims != 1;
    called.function(called.args, groups, size, 0, groups[0]);
    return (rt_dev_error){RT_DEV_OK, "", ""};
}

/* A kernel that is a function: nothing is built, and it is no step of a launch made of many. */
static void test_function(void)
{
    enum { STEPS = 20 };
    char *error;
    rt_config cfg = {.cache = ""};
    rt_ctx *ctx = rt_ctx_new(&program, &cfg, &error);
    rt_mem *m = NULL;
    rt_alloc(ctx, &m, 4096, "m");
    Given g = {m, 1000, 64, 1.0f, 16};
    const rt_arg none = RT_A_MEM(m);
    failed += rt_launch(ctx, FUNCTION, 1, &g.n, &g.group, 1, &none) != RT_ERR ||
              !strstr(rt_error(ctx), "texts are built");
    rt_driver calls = *ctx->dev->driver;
    calls.kernel_of = call_kernel_of;
    calls.kernel_free = call_kernel_free;
    calls.kernel_needs = call_kernel_needs;
    calls.arg = call_arg;
    calls.arg_buffer = call_arg_buffer;
    calls.launch = call_launch;
    ctx->dev->driver = &calls;
    long all = fake_calls("cl");
    failed += rt_set_param(ctx, "loop", (int64_t)1 << 40) != RT_OK;
    rt_loop_begin(ctx, 0);
    for (int i = 0; i < STEPS; i++)
        launch(ctx, FUNCTION, g);
    failed += rt_loop_end(ctx) != RT_OK;
    expect("functions", "cl", all, 0);
    bool ok = told.calls == STEPS && told.n == g.n && told.groups == 16 && told.size == 64 &&
              told.first == 0 && told.end == 16;
    passed += ok;
    failed += !ok;
    if (!ok)
        printf("FAIL launches: %ld calls of a function\n", told.calls);
    rt_unref(ctx, &m);
    rt_ctx_free(ctx);
}

/* --- Built-in operations that are no kernels --- */

static struct {
    int fills, iotas;
    rt_matrices transposed;
    rt_copied copied;
} done;

static int do_fill(rt_ctx *ctx, rt_mem *dst, int64_t off, int64_t count, int elem,
                   const void *value)
{
    done.fills += ctx && dst && off == 3 && count == 5 && elem == 4 && *(const int *)value == 7;
    return RT_OK;
}

static int do_iota(rt_ctx *ctx, rt_mem *dst, int64_t off, int64_t count, int elem, int64_t start,
                   int64_t step)
{
    done.iotas += ctx && dst && off == 3 && count == 5 && elem == 4 && start == 1 && step == 2;
    return RT_OK;
}

static int do_transpose(rt_ctx *ctx, const rt_matrices *m)
{
    (void)ctx;
    done.transposed = *m;
    return RT_OK;
}

static int do_copy(rt_ctx *ctx, const rt_copied *c)
{
    (void)ctx;
    done.copied = *c;
    return RT_OK;
}

/* Asked for is what is left to do: nothing of no elements, and no plain copies. */
static void test_builtins(rt_ctx *ctx, rt_mem *a, rt_mem *b)
{
    static const rt_builtins mine = {
        .fill = do_fill, .iota = do_iota, .transpose = do_transpose, .copy = do_copy};
    const rt_builtins *before = ctx->builtins;
    const int64_t shape[] = {4, 1, 6}, dense[] = {6, 6, 1}, turned[] = {1, 9, 4},
                  every[] = {20, 0, 2};
    const int seven = 7;
    long all = fake_calls("clEnqueue");
    ctx->builtins = &mine;
    bool ok =
        rt_fill(ctx, a, 3, 0, 4, &seven) == RT_OK && rt_fill(ctx, a, 3, 5, 4, &seven) == RT_OK;
    ok = ok && rt_iota(ctx, a, 3, 0, 4, 1, 2) == RT_OK && rt_iota(ctx, a, 3, 5, 4, 1, 2) == RT_OK;
    ok = ok && done.fills == 1 && done.iotas == 1;
    ok = ok && rt_copy_strided(ctx, 4, 3, shape, a, 5, dense, b, 0, every) == RT_OK;
    ok = ok && done.copied.n == 24 && done.copied.rank == 2 && done.copied.dst_off == 5 &&
         done.copied.dims[0].n == 6 && done.copied.dims[0].src == 2 &&
         done.copied.dims[1].src == 20;
    ok = ok && !done.transposed.dst &&
         rt_copy_strided(ctx, 4, 3, shape, a, 5, dense, b, 0, turned) == RT_OK;
    ok = ok && done.transposed.dst == a && done.transposed.rows == 6 && done.transposed.cols == 4;
    expect("built-in operations", "clEnqueue", all, 0);
    ok = ok && rt_transpose(ctx, a, 0, b, 0, 1, 1, 24, 4) == RT_OK;
    expect("a plain copy", "clEnqueue", all, 1);
    passed += ok;
    failed += !ok;
    if (!ok)
        printf("FAIL launches: built-in operations\n");
    ctx->builtins = before;
}

/* --- Loops of steps --- */

/* A loop whose launches are noted down: all but the first one cost the driver nothing until they
 * run as one. */
static void test_steps(rt_ctx *ctx, rt_mem *a, rt_mem *b)
{
    enum { STEPS = 20 };
    Given g = {a, 64, 64, 1.0f, 16};
    for (int loop = 0; loop < 3; loop++) {
        bool in_one = loop < 2;
        failed += rt_set_param(ctx, "loop", in_one ? (int64_t)1 << 40 : 1) != RT_OK;
        rt_loop_begin(ctx, 0);
        long before = fake_calls("clEnqueueNDRangeKernel"), all = fake_calls("clEnqueue");
        for (int i = 0; i < STEPS; i++) {
            g.mem = i % 2 ? a : b;
            launch(ctx, i % 3 ? PLAIN : FAILS, g);
        }
        expect("steps of a loop", "clEnqueueNDRangeKernel", before, in_one ? 1 : STEPS);
        failed += rt_loop_end(ctx) != RT_OK;
        expect("its end", "clEnqueueNDRangeKernel", before, in_one ? 2 : STEPS);
        expect("with the words of the steps", "clEnqueue", all, in_one ? 3 : STEPS);
        before = fake_calls("clEnqueueNDRangeKernel");
        launch(ctx, PLAIN, g);
        expect("a launch after it", "clEnqueueNDRangeKernel", before, 1);
    }
    long before = fake_calls("clEnqueueNDRangeKernel");
    failed += rt_set_param(ctx, "loop", (int64_t)1 << 40) != RT_OK;
    rt_loop_begin(ctx, 0);
    for (int i = 0; i < STEPS; i++)
        launch(ctx, PLAIN, g);
    failed += rt_sync(ctx) != RT_OK;
    expect("steps before a wait", "clEnqueueNDRangeKernel", before, 2);
    failed += rt_loop_end(ctx) != RT_OK;
}

/* Where steps run in groups that fill a compute unit, tiles in registers are launched for
 * themselves, and groups that are not whole warps. */
static void test_apart(rt_ctx *ctx, rt_mem *a)
{
    enum { STEPS = 20 };
    static const struct {
        const char *what;
        int kernel;
        int64_t group;
        bool in_one; /* even then */
    } cases[] = {{"steps with tiles", TILED, 64, false},
                 {"of odd groups", PLAIN, 48, false},
                 {"of whole warps", PLAIN, 96, true}};
    const rt_dev_info before = ctx->device;
    for (int i = 0; i < 6; i++) {
        bool full = i >= 3;
        Given g = {a, cases[i % 3].group, cases[i % 3].group, 1.0f, 16};
        ctx->device.parts_meet = full;
        ctx->device.max_group = 1024;
        failed += rt_set_param(ctx, "loop", (int64_t)1 << 40) != RT_OK;
        rt_loop_begin(ctx, 0);
        long launches = fake_calls("clEnqueueNDRangeKernel");
        for (int k = 0; k < STEPS; k++)
            launch(ctx, cases[i % 3].kernel, g);
        failed += rt_loop_end(ctx) != RT_OK;
        expect(cases[i % 3].what, "clEnqueueNDRangeKernel", launches,
               full && !cases[i % 3].in_one ? STEPS : 2);
    }
    ctx->device = before;
}

/* Groups wait where they must, and what the first group does alone waits for nobody but others. */
static void test_order(rt_ctx *ctx, rt_mem *a, rt_mem *b)
{
    static const Step steps[] = {
        {"the first one", PLAIN, 0, true, RT_GOES_ON},
        {"one group after itself", PLAIN, 0, true, RT_GOES_ON},
        {"many after one", PLAIN, 0, false, RT_MEETS},
        {"another block", PLAIN, 1, true, RT_GOES_ON},
        {"one group after many", PLAIN, 0, true, RT_MEETS},
        {"a block of before the barrier", PLAIN, 1, false, RT_GOES_ON},
        {"many after many", PLAIN, 1, false, RT_MEETS},
        {"what can fail", FAILS, 0, true, RT_GOES_ON},
        {"what need not know", PLAIN, 0, true, RT_GOES_ON},
        {"what has to know", LOOKS, 0, true, RT_MEETS_AND_LOOKS},
        {"and knows", LOOKS, 0, true, RT_GOES_ON},
        {"nothing has failed", PLAIN, 1, false, RT_GOES_ON},
        {"since then", PLAIN, 1, false, RT_MEETS},
        {"what can fail again", FAILS, 1, false, RT_MEETS},
        {"a block that it touched", PLAIN, 1, false, RT_MEETS_AND_LOOKS},
    };
    enum { N = sizeof steps / sizeof *steps };
    const rt_dev_info before = ctx->device;
    ctx->device.units = 10;
    for (int wait = 0; wait < 3; wait++) { /* at last with groups that are parts of larger ones */
        ctx->device.groups_wait = wait > 0;
        ctx->device.parts_meet = wait > 1;
        failed += rt_set_param(ctx, "loop", (int64_t)1 << 40) != RT_OK;
        launch(ctx, PLAIN, (Given){a, 64, 64, 1.0f, 16});
        rt_loop_begin(ctx, 0);
        launch(ctx, PLAIN,
               (Given){a, 64, 64, 1.0f, 16}); /* is not noted: nobody knows the loop yet */
        for (int i = 0; i < N; i++)
            launch(ctx, steps[i].kernel,
                   (Given){steps[i].at_block ? b : a, steps[i].small ? 64 : 1024, 64, 1.0f, 16});
        failed += ctx->steps.n != N || rt_loop_end(ctx) != RT_OK;
        for (int i = 0; i < N; i++) {
            int got = ctx->steps.list[i].meets, want = steps[i].meets;
            if (!wait) /* one group, which only asks what has failed */
                want = steps[i].kernel == LOOKS && want ? RT_MEETS_AND_LOOKS : RT_GOES_ON;
            passed += got == want;
            failed += got != want;
            if (got != want)
                printf("FAIL launches: %s: %d, not %d (%d)\n", steps[i].what, got, want, wait);
        }
    }
    ctx->device = before;
}

int main(void)
{
    char *error;
    rt_config cfg = {.cache = ""};
    rt_ctx *ctx = rt_ctx_new(&program, &cfg, &error);
    rt_mem *a = NULL, *b = NULL;
    if (!ctx) {
        printf("FAIL launches: %s\n0 passed, 1 failed\n", error);
        return 1;
    }
    rt_alloc(ctx, &a, 4096, "a");
    rt_alloc(ctx, &b, 4096, "b");
    test_arguments(ctx, a, b);
    test_handles(ctx);
    test_numbers(ctx, a);
    test_sized_fits(ctx);
    test_room(ctx, SIZED, true, "of any sizes");
    test_sized(ctx, a);
    test_room(ctx, SIZED, false, "of too many sizes");
    test_changing(ctx, a);
    test_groups_at_once(ctx);
    test_waits(ctx, a);
    test_scalars(ctx, a, b);
    test_pages(ctx);
    test_memory(ctx);
    test_names(ctx);
    test_heap(ctx, a);
    test_steps(ctx, a, b);
    test_order(ctx, a, b);
    test_apart(ctx, a);
    test_builtins(ctx, a, b);
    expect("not profiled", "clReleaseEvent", 0, 0);
    test_profile();
    test_function();
    rt_unref(ctx, &a);
    rt_unref(ctx, &b);
    rt_ctx_free(ctx);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
