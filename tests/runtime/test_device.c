/* Device operations, put behind the output of runtime/bundle.sh and check_builtins.c: built-in
 * operations, the free list, refused launches, failures, the cache. */
static const char src_tight[] =
    "__kernel void tight(__global mf_failure *failure, int launch, __global int *x, int fail,\n"
    "                    __local int *l)\n"
    "{\n"
    "    if (mf_failed_before(failure, launch))\n"
    "        return;\n"
    "    if (fail > 0)\n"
    "        mf_fail(failure, launch, 0, get_global_id(0) * 0 + fail, -1, 2, 3, 4, 5, 6, 7);\n"
    "    if (get_global_id(0) == 0)\n"
    "        x[0] += 1;\n"
    "}\n";
static const char src_wrong[] = "__kernel void wrong(int x) { this is not C; }\n";

/* Scalar functions on host and device: DO is expanded for each, as code and as text. */
#define OPS2(DO, T)                                                                                \
    DO(add, T)                                                                                     \
    DO(sub, T)                                                                                     \
    DO(mul, T)                                                                                     \
    DO(div, T)                                                                                     \
    DO(mod, T)                                                                                     \
    DO(quot, T) DO(rem, T) DO(shl, T) DO(shr, T) DO(pow, T) DO(min, T) DO(max, T) DO(mulhi, T)
#define OPS1(DO, T) DO(neg, T) DO(abs, T) DO(sgn, T) DO(popc, T) DO(clz, T) DO(ctz, T)
#define OPSF(DO, F)                                                                                \
    DO(i8, F) DO(i16, F) DO(i32, F) DO(i64, F) DO(u8, F) DO(u16, F) DO(u32, F) DO(u64, F)
#define ALL(D2, D1, DF)                                                                            \
    OPS2(D2, i8)                                                                                   \
    OPS2(D2, i16)                                                                                  \
    OPS2(D2, i32)                                                                                  \
    OPS2(D2, i64)                                                                                  \
    OPS2(D2, u8)                                                                                   \
    OPS2(D2, u16)                                                                                  \
    OPS2(D2, u32)                                                                                  \
    OPS2(D2, u64)                                                                                  \
    OPS1(D1, i8)                                                                                   \
    OPS1(D1, i16)                                                                                  \
    OPS1(D1, i32)                                                                                  \
    OPS1(D1, i64) OPS1(D1, u8) OPS1(D1, u16) OPS1(D1, u32) OPS1(D1, u64) OPSF(DF, f32) OPSF(DF, f64)
#define TEXT2(op, T) "    *o++ = (i64)mf_" #op "_" #T "((" #T ")x, (" #T ")y);\n"
#define TEXT1(op, T) "    *o++ = (i64)mf_" #op "_" #T "((" #T ")x);\n"
#define TEXTF(T, F)  "    *o++ = (i64)mf_" #F "_to_" #T "((" #F ")f);\n"
#define CODE2(op, T) *o++ = (i64)mf_##op##_##T((T)x, (T)y);
#define CODE1(op, T) *o++ = (i64)mf_##op##_##T((T)x);
#define CODEF(T, F)  *o++ = (i64)mf_##F##_to_##T((F)f);
#define ONE2(op, T)  +1
enum { N_OPS = 0 ALL(ONE2, ONE2, ONE2), N_SCALARS = 400 };

static const char src_scalars[] =
    "__kernel void scalars(__global const i64 *xs, __global const i64 *ys, __global const f64 "
    "*fs,\n"
    "                      __global i64 *out, i64 n_ops)\n"
    "{\n"
    "    const i64 i = get_global_id(0), x = xs[i], y = ys[i];\n"
    "    const f64 f = fs[i];\n"
    "    __global i64 *o = out + i * n_ops;\n" ALL(TEXT2, TEXT1, TEXTF) "}\n";

static const char src_widths[] =
    "__kernel void widths(__global int *x, long n) { x[0] = (int)n; }\n";

static bool narrow_widths(const rt_arg *args, const int64_t *groups, const int64_t *size)
{
    (void)groups;
    (void)size;
    return rt_count(args, 1) <= 10.0;
}

static const rt_kernel_def kernels[] = {
    {.name = "tight", .source = src_tight, .prov = "t.sf:1:1", .failure = true, .may_fail = true},
    {.name = "wrong", .source = src_wrong, .prov = "t.sf:2:2"},
    {.name = "scalars", .source = src_scalars, .prov = "t.sf:3:3", .types = ~0u},
    {.name = "widths", .source = src_widths, .prov = "t.sf:4:4", .narrow = narrow_widths}};
static const rt_param_def params[] = {{"main.t", "threshold(def, )", 0},
                                      {"main.g", "group_size", 0}};
static const rt_site_def sites[] = {{"bad %ld %ld %ld %ld %ld %ld %ld %ld.", "t.sf:1:2", NULL}};
static const rt_program program = {.name = "t",
                                   .n_kernels = 4,
                                   .kernels = kernels,
                                   .n_params = 2,
                                   .params = params,
                                   .n_sites = 1,
                                   .sites = sites};

static void test_memory(rt_ctx *ctx)
{
    rt_mem *a = NULL, *b = NULL, *c = NULL;
    check(rt_alloc(ctx, &a, 0, "nothing") == RT_OK && a && rt_sole(a), "a block of 0 bytes");
    check(rt_alloc(ctx, &a, 100000, "a") == RT_OK, "a block");
    b = rt_ref(a);
    check(!rt_sole(a), "two references");
    rt_unref(ctx, &b);
    rt_dev_buffer *buf = a->buf;
    check(rt_alloc(ctx, &a, 90000, "again") == RT_OK && a->buf == buf,
          "a dead block is taken again");
    int32_t x = 0;
    check(rt_write_scalar(ctx, a, 4000, 4, &(int32_t){42}) == RT_OK &&
              rt_alloc(ctx, &b, 100, "b") == RT_OK && rt_copy(ctx, b, 8, a, 4000, 4) == RT_OK &&
              rt_read_scalar(ctx, b, 8, 4, &x) == RT_OK && x == 42,
          "a scalar there and back");
    const rt_target *target = ctx->target;
    ctx->target = rt_target_named("gpu");
    check(rt_write_scalar(ctx, a, 4002, 2, &(int16_t){7}) == RT_OK &&
              rt_write_scalar(ctx, a, 4001, 1, &(int8_t){1}) == RT_OK &&
              rt_read_scalar(ctx, a, 4000, 4, &x) == RT_OK && x == 42 + 256 + 7 * 65536,
          "scalars written as on GPUs");
    ctx->target = target;
    rt_set(ctx, &c, a);
    rt_set(ctx, &c, c);
    rt_swap(&b, &c);
    check(!rt_sole(a) && b == a, "set and swap");
    check(rt_copy(ctx, a, 0, c, 0, 1 << 20) == RT_ERR && strstr(rt_error(ctx), "of block"),
          "range");
    rt_mem *huge = NULL;
    check(rt_alloc(ctx, &huge, INT64_MAX / 4, "huge") == RT_ERR && !huge &&
              strstr(rt_error(ctx), "out of device memory"),
          "out of memory");
    check(rt_alloc(ctx, &huge, -1, "negative") == RT_ERR, "a negative size");
    rt_unref(ctx, &a);
    rt_unref(ctx, &b);
    rt_unref(ctx, &c);
    rt_unref(ctx, &c);
    check(ctx->live_bytes == 0, "no block is left");
}

static int launch_tight(rt_ctx *ctx, rt_mem *x, int64_t group, int64_t local, int fail)
{
    rt_arg args[] = {RT_A_MEM(x), RT_A_I32(fail), RT_A_LOCAL(local)};
    return rt_launch(ctx, 0, 1, (const int64_t[]){64}, &group, 3, args);
}

static int launch_widths(rt_ctx *ctx, rt_mem *x, int64_t n)
{
    rt_arg args[] = {RT_A_MEM(x), RT_A_I64(n)};
    return rt_launch(ctx, 3, 1, (const int64_t[]){1}, (const int64_t[]){1}, 2, args);
}

/* A kernel whose variant with 64-bit indices does not fit. */
static void test_widths(rt_ctx *ctx)
{
    rt_mem *x = NULL;
    rt_kernel *wide = rt_variant(ctx, 3, true);
    check(rt_alloc(ctx, &x, 4, "x") == RT_OK && rt_build(ctx, wide) == RT_OK, "x");
    wide->own_local = rt_size(ctx, RT_LOCAL_MEMORY) + 1; /* not all drivers tell */
    ctx->run++;
    check(rt_fits(ctx, 3, 1, 0) && launch_widths(ctx, x, 5) == RT_OK, "a launch with 32 bits");
    check(rt_fits(ctx, 3, 1, 0) && launch_widths(ctx, x, 50) == RT_REFUSED, "64 bits do not fit");
    check(!rt_fits(ctx, 3, 1, 0), "nor do they in this run");
    ctx->run++;
    check(rt_fits(ctx, 3, 1, 0) && launch_widths(ctx, x, 7) == RT_OK, "32 bits do in the next one");
    check(rt_fits(ctx, 3, 1, 0), "and still do");
    check(launch_widths(ctx, x, -1) == RT_REFUSED, "a negative size");
    rt_unref(ctx, &x);
}

static void test_launches(rt_ctx *ctx)
{
    rt_mem *x = NULL;
    int32_t n = 0;
    int64_t most = rt_size(ctx, RT_MAX_GROUP_SIZE), memory = rt_size(ctx, RT_LOCAL_MEMORY);
    check(rt_alloc(ctx, &x, 4, "x") == RT_OK && rt_write_scalar(ctx, x, 0, 4, &n) == RT_OK, "x");
    check(rt_fits(ctx, 0, 1, 64) && rt_fits(ctx, 0, most, 64), "it fits");
    check(!rt_fits(ctx, 0, most + 1, 64) && !rt_fits(ctx, 0, 1, memory + 1), "it does not fit");
    check(launch_tight(ctx, x, 1, memory + 1, 0) == RT_REFUSED, "a refused launch");
    check(rt_set_param(ctx, "default_shared_memory", 32) == RT_OK && !rt_fits(ctx, 0, 1, 64),
          "a lower limit");
    check(launch_tight(ctx, x, 1, 64, 0) == RT_REFUSED, "a launch above the limit");
    check(rt_set_param(ctx, "default_shared_memory", 0) == RT_OK && rt_fits(ctx, 0, 1, 64),
          "the limit taken back");
    check(launch_tight(ctx, x, 16, 64, 0) == RT_OK && rt_sync(ctx) == RT_OK, "a launch");
    int rc = launch_tight(ctx, x, 16, 64, 5);
    check(rc == RT_OK && launch_tight(ctx, x, 16, 64, 6) == RT_OK, "launches that fail inside");
    check(rt_read_scalar(ctx, x, 0, 4, &n) == RT_ERR &&
              strcmp(rt_error(ctx), "Error: bad 5 -1 2 3 4 5 6 7.\nt.sf:1:2:") == 0,
          rt_error(ctx));
    check(rt_read_scalar(ctx, x, 0, 4, &n) == RT_OK && n == 2,
          "after a failure: later launches did nothing, the device works");
    check(rt_launch(ctx, 1, 1, (const int64_t[]){1}, (const int64_t[]){1}, 0, NULL) == RT_ERR &&
              strncmp(rt_error(ctx), "kernel wrong (t.sf:2:2) does not build", 38) == 0,
          "a kernel that does not compile");
    check(rt_launch(ctx, 0, 1, (const int64_t[]){0}, (const int64_t[]){8}, 0, NULL) == RT_OK,
          "nothing to launch");
    rt_unref(ctx, &x);
}

static void test_params(rt_ctx *ctx)
{
    check(rt_param(ctx, 0) == 32768 && rt_param(ctx, 1) == rt_size(ctx, RT_GROUP_SIZE), "defaults");
    check(rt_set_param(ctx, "default_threshold", 7) == RT_OK && rt_param(ctx, 0) == 7, "general");
    check(rt_set_param(ctx, "main.t", 9) == RT_OK && rt_param(ctx, 0) == 9, "particular");
    check(rt_suff(ctx, 0, 9, 9) && !rt_suff(ctx, 0, 8, 8) && rt_suff(ctx, 0, 9, 9), "compared");
    check(ctx->n_comparisons == 2 && ctx->comparisons[0].count == 2, "two different comparisons");
    check(rt_set_param(ctx, "main.g", 1 << 30) == RT_OK &&
              rt_param(ctx, 1) == rt_size(ctx, RT_MAX_GROUP_SIZE),
          "a group size beyond the device's");
    check(rt_set_param(ctx, "nobody", 1) == RT_ERR && rt_set_param(ctx, "main.t", -1) == RT_ERR,
          "wrong parameters");
    rt_set_param(ctx, "main.t", 0);
    rt_set_param(ctx, "default_threshold", 0);
    check(rt_param(ctx, 0) == 32768, "back to the default");
}

/* What pays decides where launches are weighed and nobody has set a threshold; the threshold in the
 * report is one that amounts to the outcome. */
static void test_untuned(rt_ctx *ctx)
{
    int64_t weighs = ctx->facts[RT_WEIGHS_LAUNCHES];
    rt_comparisons_clear(ctx);
    ctx->facts[RT_WEIGHS_LAUNCHES] = 1;
    check(rt_suff_or_pays(ctx, 0, 8, 8, 1, true) &&
              !rt_suff_or_pays(ctx, 0, 1 << 20, 1 << 20, 1, false),
          "untuned: what pays");
    check(ctx->comparisons[0].threshold == 8 && ctx->comparisons[1].threshold == (1 << 20) + 1,
          "thresholds that amount to it");
    check(rt_suff_or_pays(ctx, 0, 1 << 20, 1 << 20, 1, true) &&
              ctx->comparisons[2].threshold == 32768 && !rt_suff_or_pays(ctx, 0, 8, 8, 1, false) &&
              ctx->comparisons[3].threshold == 32768,
          "the usual one where it says the same");
    check(!rt_suff_or_pays(ctx, 0, 0, 0, 1, true), "untuned: a version without work");
    rt_set_param(ctx, "main.t", 9);
    check(!rt_suff_or_pays(ctx, 0, 8, 8, 1, true) && rt_suff_or_pays(ctx, 0, 9, 9, 1, false),
          "tuned");
    rt_set_param(ctx, "main.t", 0);
    rt_set_param(ctx, "default_threshold", 9);
    check(!rt_suff_or_pays(ctx, 0, 8, 8, 1, true) && rt_suff_or_pays(ctx, 0, 9, 9, 1, false),
          "a general threshold");
    rt_set_param(ctx, "default_threshold", 0);
    ctx->facts[RT_WEIGHS_LAUNCHES] = 0;
    check(!rt_suff_or_pays(ctx, 0, 8, 8, 1, true) &&
              rt_suff_or_pays(ctx, 0, 1 << 20, 1 << 20, 1, false),
          "on CPUs");
    check(!rt_suff_or_pays(ctx, 0, 1 << 20, 1 << 20, 0, false) &&
              !rt_suff_or_pays(ctx, 0, 1 << 20, 1 << 20, 0, true) &&
              !rt_suff_or_pays(ctx, 0, 8, 8, 0, true),
          "... of what spares nothing");
    check(!rt_suff_beside_blocks(ctx, 0, 1 << 20, 1 << 20), "... of what blocks do better");
    rt_set_param(ctx, "main.t", 8);
    check(rt_suff_beside_blocks(ctx, 0, 8, 8), "... tuned");
    rt_set_param(ctx, "main.t", 0);
    ctx->facts[RT_WEIGHS_LAUNCHES] = weighs;
    check(rt_suff_beside_blocks(ctx, 0, 1 << 20, 1 << 20) && !rt_suff_beside_blocks(ctx, 0, 8, 8),
          "... where launches are weighed");
    ctx->facts[RT_WEIGHS_LAUNCHES] = 0;
    int64_t units = ctx->facts[RT_COMPUTE_UNITS];
    ctx->facts[RT_COMPUTE_UNITS] = 2;
    check(rt_suff_balanced(ctx, 0, 16, 1 << 20, 5, 1 << 20, 1 << 20) &&
              !rt_suff_balanced(ctx, 0, 15, 1 << 20, 5, 1, 1 << 20),
          "... of rows: some for each thread");
    rt_set_param(ctx, "main.t", 1 << 20);
    check(!rt_suff_balanced(ctx, 0, 16, 1 << 20, 5, 1, 1 << 20), "... tuned");
    rt_set_param(ctx, "main.t", 0);
    ctx->facts[RT_COMPUTE_UNITS] = units;
    ctx->facts[RT_WEIGHS_LAUNCHES] = 1;
    check(rt_suff_balanced(ctx, 0, 1, 1, 5, 8, 1) &&
              !rt_suff_balanced(ctx, 0, 1, 1 << 20, 5, 8 << 20, 1 << 20),
          "one row: of one point, of many");
    rt_set_param(ctx, "main.t", RT_FULL_DEVICE * 2);
    check(rt_suff_balanced(ctx, 0, 1, 1, 5, 8, 1) &&
              !rt_suff_balanced(ctx, 0, 1 << 20, 1 << 20, 0, 32, 32 * RT_FULL_DEVICE),
          "... tuned: one point still pays, what takes as long as all together does not");
    rt_set_param(ctx, "main.t", 0);
    ctx->facts[RT_WEIGHS_LAUNCHES] = weighs;
    rt_comparisons_clear(ctx);
}

/* The rows of facts.def: every name of a size sets it, none sets another or goes beyond
 * the device. */
static void test_facts(rt_ctx *ctx)
{
#define NAME_OF(id, name, option, ...) {RT_##id, "default_" name},
    static const struct {
        rt_size_class size;
        const char *name;
    } names[] = {RT_FACTS(RT_FACT_NONE, NAME_OF, NAME_OF)};
    check(rt_size(ctx, RT_COMPUTE_UNITS) == ctx->device.units &&
              rt_size(ctx, RT_MAX_GROUP_SIZE) == ctx->device.max_group &&
              rt_size(ctx, RT_LOCAL_MEMORY) == ctx->device.local_memory &&
              rt_size(ctx, RT_COALESCES) == !ctx->target->functions,
          "facts of the device");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int64_t before[RT_N_SIZES];
        for (int c = 0; c < RT_N_SIZES; c++)
            before[c] = rt_size(ctx, (rt_size_class)c);
        bool ok = rt_set_param(ctx, names[i].name, 3) == RT_OK;
        for (int c = 0; c < RT_N_SIZES; c++)
            ok = ok && rt_size(ctx, (rt_size_class)c) == ((int)names[i].size == c ? 3 : before[c]);
        check(ok, names[i].name);
        rt_set_param(ctx, names[i].name, 0);
    }
    int64_t memory = rt_size(ctx, RT_LOCAL_MEMORY);
    rt_set_param(ctx, "default_local_memory", memory + 1);
    rt_set_param(ctx, "default_group_size", RT_MAX_BYTES);
    check(rt_size(ctx, RT_LOCAL_MEMORY) == memory &&
              rt_size(ctx, RT_GROUP_SIZE) == rt_size(ctx, RT_MAX_GROUP_SIZE),
          "sizes beyond the device's");
    rt_set_param(ctx, "default_local_memory", 0);
    rt_set_param(ctx, "default_group_size", 0);
}

/* Interesting numbers first, then random ones of every size. */
static int64_t number(int i)
{
    static const int64_t some[] = {0,         1,     -1,     2,         -2,        127,
                                   -128,      32767, -32768, INT32_MAX, INT32_MIN, INT64_MAX,
                                   INT64_MIN, 255,   65535,  UINT32_MAX};
    int64_t r = (int64_t)((uint64_t)below(1 << 30) << 34 ^ (uint64_t)below(1 << 30) << 17 ^
                          (uint64_t)below(1 << 30));
    return i < 16 ? some[i] : r >> below(64);
}

static void test_scalars(rt_ctx *ctx)
{
    static int64_t xs[N_SCALARS], ys[N_SCALARS], want[N_SCALARS * N_OPS], got[N_SCALARS * N_OPS];
    static double fs[N_SCALARS];
    int64_t *o = want, n = N_SCALARS, local = 8;
    for (int i = 0; i < N_SCALARS; i++) {
        xs[i] = number(i < 256 ? i / 16 : 99);
        ys[i] = number(i < 256 ? i % 16 : 99);
        double f = i == 0 ? NAN : i == 1 ? INFINITY : i == 2 ? -INFINITY : (double)xs[i] + 0.75;
        fs[i] = f;
        int64_t x = xs[i], y = ys[i];
        ALL(CODE2, CODE1, CODEF)
    }
    rt_mem *mx = NULL, *my = NULL, *mf = NULL, *mo = NULL;
    bool ok = !rt_alloc(ctx, &mx, n * 8, "xs") && !rt_alloc(ctx, &my, n * 8, "ys") &&
              !rt_alloc(ctx, &mf, n * 8, "fs") && !rt_alloc(ctx, &mo, (int64_t)sizeof got, "out") &&
              !rt_write(ctx, mx, 0, n * 8, xs) && !rt_write(ctx, my, 0, n * 8, ys) &&
              !rt_write(ctx, mf, 0, n * 8, fs);
    rt_arg args[] = {RT_A_MEM(mx), RT_A_MEM(my), RT_A_MEM(mf), RT_A_MEM(mo), RT_A_I64(N_OPS)};
    ok = ok && !rt_launch(ctx, 2, 1, &n, &local, 5, args) &&
         !rt_read(ctx, mo, 0, (int64_t)sizeof got, got);
    check(ok, ok ? "" : rt_error(ctx));
    for (int k = 0; k < N_OPS && ok; k++) {
        char what[200] = "";
        for (int i = 0; i < N_SCALARS && !what[0]; i++)
            if (got[i * N_OPS + k] != want[i * N_OPS + k])
                snprintf(what, sizeof what, "scalar function %d of %ld, %ld, %g: %ld, host %ld", k,
                         (long)xs[i], (long)ys[i], fs[i], (long)got[i * N_OPS + k],
                         (long)want[i * N_OPS + k]);
        check(!what[0], what);
    }
    rt_unref(ctx, &mx);
    rt_unref(ctx, &my);
    rt_unref(ctx, &mf);
    rt_unref(ctx, &mo);
}

/* Damages every cached kernel, then builds again. */
static void test_cache(const char *folder)
{
    char *error, cmd[600];
    rt_config cfg = {.cache = folder};
    for (int round = 0; round < 4; round++) {
        rt_ctx *ctx = rt_ctx_new(&program, &cfg, &error);
        rt_mem *x = NULL;
        check(ctx && rt_alloc(ctx, &x, 4, "x") == RT_OK && launch_tight(ctx, x, 1, 8, 0) == RT_OK &&
                  rt_sync(ctx) == RT_OK,
              "a launch through the cache");
        if (ctx)
            rt_ctx_free(ctx);
        snprintf(cmd, sizeof cmd,
                 round == 0   ? "ls %s/*.bin > /dev/null"
                 : round == 1 ? "for f in %s/*.bin; do head -c 100 $f > $f.x; mv $f.x $f; done"
                              : "for f in %s/*.bin; do printf 'xxxxxxxx' | dd of=$f bs=1 seek=99 "
                                "conv=notrunc 2> /dev/null; done",
                 folder);
        check(system(cmd) == 0, "a file in the cache");
    }
}

/* Which device is taken: each of these is better than the next. */
static void test_rank(void)
{
    static const rt_rank order[] = {{true, false, 100, 1000, false}, {true, false, 60, 1500, false},
                                    {true, false, 80, 0, false},     {true, true, 8, 1, false},
                                    {false, false, 64, 900, false},  {false, true, 2, 0, true},
                                    {false, true, 256, 3000, false}, {false, true, 2, 3000, false},
                                    {false, true, 2, 0, false}};
    enum { N = sizeof order / sizeof *order };
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
            check(rt_rank_better(order[i], order[k]) == (i < k), "the order of devices");
}

int main(int argc, char **argv)
{
    char *error;
    if (argc < 2)
        return 2;
    rt_config cfg = {.cache = argv[1]};
    rt_ctx *ctx = rt_ctx_new(&program, &cfg, &error);
    if (!ctx) {
        printf("FAIL device: %s\n0 passed, 1 failed\n", error);
        return 1;
    }
    test_rank();
    test_params(ctx);
    test_untuned(ctx);
    test_facts(ctx);
    test_scalars(ctx);
    test_memory(ctx);
    test_launches(ctx);
    test_widths(ctx);
    test_fill_iota(ctx);
    test_transpose(ctx, false);
    test_transpose(ctx, true);
    test_strided(ctx, false);
    test_strided(ctx, true);
    rt_ctx_free(ctx);
    test_cache(argv[1]);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
