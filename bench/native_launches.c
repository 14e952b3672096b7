/* What launches of functions cost on `native`, behind the runtime's text:
 *
 *     { sh runtime/bundle.sh; cat bench/native_launches.c; } > l.c && cc -O2 -o l l.c -ldl -lm &&
 * ./l 2
 *
 * For the driver alone and through the core: an empty function in 1, 2, 8 and 1000 groups,
 * microseconds for a launch and its wait, of many one after the other and of some after a pause; a
 * copy, a fill and a transposition of several sizes, in GB/s of what they read and write; rows of
 * skewed length. */
#include <unistd.h>

static void k_empty(void *const *args, const size_t groups[3], const size_t size[3], size_t first,
                    size_t end)
{
    (void)args, (void)groups, (void)size, (void)first, (void)end;
}

/* Group g adds g times. */
static void k_skewed(void *const *args, const size_t groups[3], const size_t size[3], size_t first,
                     size_t end)
{
    float *out = args[0];
    (void)groups, (void)size;
    for (size_t g = first; g < end; g++) {
        volatile float x = 0;
        for (size_t i = 0; i < g; i++)
            x += 1;
        out[g] = x;
    }
}

/* So many work-items: out[i] = xs[i] + 1, 4096 a group. */
static void k_add(void *const *args, const size_t groups[3], const size_t size[3], size_t first,
                  size_t end)
{
    float *out = args[0];
    const float *xs = args[1];
    (void)groups, (void)size;
    for (size_t i = first * 4096; i < end * 4096; i++)
        out[i] = xs[i] + 1;
}

enum { K_EMPTY, K_SKEWED, K_ADD, N_KERNELS };
static const rt_kernel_def kernels[] = {{.name = "empty", .function = {k_empty}, .prov = ""},
                                        {.name = "skewed", .function = {k_skewed}, .prov = ""},
                                        {.name = "add", .function = {k_add}, .prov = ""}};
static const rt_program program = {.name = "l", .n_kernels = N_KERNELS, .kernels = kernels};

static void check(int rc)
{
    if (rc)
        exit(1);
}

static double launches(rt_ctx *ctx, int64_t groups, int times, int pause)
{
    const int64_t one = 1;
    double sum = 0;
    for (int i = 0; i < times; i++) {
        if (pause)
            usleep((useconds_t)pause);
        double start = rt_seconds();
        for (int k = 0; k < (pause ? 1 : 100); k++)
            check(rt_launch(ctx, K_EMPTY, 1, &groups, &one, 0, NULL) || rt_sync(ctx));
        sum += rt_seconds() - start;
    }
    return 1e6 * sum / times / (pause ? 1 : 100);
}

static double driver_launches(rt_dev *d, rt_dev_kernel *k, size_t groups)
{
    const size_t one = 1;
    enum { TIMES = 100000 };
    double start = rt_seconds();
    for (int i = 0; i < TIMES; i++) {
        rt_dev_launch(d, k, 1, &groups, &one, NULL);
        rt_dev_finish(d);
    }
    return 1e6 * (rt_seconds() - start) / TIMES;
}

/* The least of some runs, in seconds. */
#define BEST(call)                                                                                 \
    ({                                                                                             \
        double best = 1e9;                                                                         \
        for (int run = 0; run < 15; run++) {                                                       \
            double start = rt_seconds();                                                           \
            check(call);                                                                           \
            double gone = rt_seconds() - start;                                                    \
            best = gone < best ? gone : best;                                                      \
        }                                                                                          \
        best;                                                                                      \
    })

static void moves(rt_ctx *ctx, int64_t n)
{
    rt_mem *a = NULL, *b = NULL;
    const int64_t zero = 0, rows = n >= 1 << 20 ? 1024 : 128, one = 1, groups = n / 4096;
    int64_t shape[] = {n / 64, 8, 8}, ds[] = {64, 8, 1}, ss[] = {64, 1, 8}, bytes = n * 4;
    check(rt_alloc(ctx, &a, bytes, "a") || rt_alloc(ctx, &b, bytes, "b"));
    check(rt_fill(ctx, a, 0, n, 4, &zero) || rt_fill(ctx, b, 0, n, 4, &zero));
    double gb = 1e-9 * (double)bytes;
    rt_arg args[] = {RT_A_MEM(b), RT_A_MEM(a)};
    printf("%9ld f32:  map %5.1f  copy %5.1f  fill %5.1f  iota %5.1f  transpose %5.1f, to 4 rows "
           "%5.1f, "
           "from 4 rows %5.1f  strided %5.1f\n",
           (long)n, 2 * gb / BEST(rt_launch(ctx, K_ADD, 1, &groups, &one, 2, args)),
           2 * gb / BEST(rt_copy(ctx, b, 0, a, 0, bytes)),
           gb / BEST(rt_fill(ctx, b, 0, n, 4, &zero)), gb / BEST(rt_iota(ctx, b, 0, n, 4, 0, 1)),
           2 * gb / BEST(rt_transpose(ctx, b, 0, a, 0, 1, rows, n / rows, 4)),
           2 * gb / BEST(rt_transpose(ctx, b, 0, a, 0, 1, n / 4, 4, 4)),
           2 * gb / BEST(rt_transpose(ctx, b, 0, a, 0, 1, 4, n / 4, 4)),
           2 * gb / BEST(rt_copy_strided(ctx, 4, 3, shape, b, 0, ds, a, 0, ss)));
    rt_unref(ctx, &a);
    rt_unref(ctx, &b);
}

static void skewed(rt_ctx *ctx)
{
    const int64_t groups = 10000, one = 1;
    rt_mem *a = NULL;
    check(rt_alloc(ctx, &a, groups * 4, "a"));
    rt_arg args[] = {RT_A_MEM(a)};
    printf("rows of skewed length: %.2f ms\n",
           1e3 * BEST(rt_launch(ctx, K_SKEWED, 1, &groups, &one, 1, args)));
    rt_unref(ctx, &a);
}

int main(int argc, char **argv)
{
    char *error;
    static const int64_t groups[] = {1, 2, 8, 1000};
    rt_config cfg = {.device = "native", .cache = "", .threads = argc > 1 ? atoi(argv[1]) : 0};
    rt_ctx *ctx = rt_ctx_new(&program, &cfg, &error);
    rt_dev_kernel *k;
    if (!ctx) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    printf("%d threads\n", (int)ctx->device.units);
    if (rt_dev_kernel_of(ctx->dev, k_empty, &k).status != RT_DEV_OK)
        return 1;
    for (int i = 0; i < 4; i++)
        printf("%4ld groups: driver %.3f us, core %.3f, after 5 ms %.2f\n", (long)groups[i],
               driver_launches(ctx->dev, k, (size_t)groups[i]), launches(ctx, groups[i], 1000, 0),
               launches(ctx, groups[i], 100, 5000));
    rt_dev_kernel_free(ctx->dev, k);
    for (int64_t n = 1 << 14; n <= 1 << 24; n *= 4)
        moves(ctx, n);
    skewed(ctx);
    rt_ctx_free(ctx);
    return 0;
}
