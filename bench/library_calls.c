/* What a call of a library costs: products of two 64x64 matrices that are on the device. Prints the
 * microseconds of a call that is waited for, of one among many that are not, and the report of as
 * many calls with profiling.
 *   usage: library_calls DEVICE CALLS */
#include "matmul.h"

#include <stdlib.h>
#include <time.h>

enum { N = 64 };

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static void must(struct futhark_context *ctx, bool ok)
{
    if (ok)
        return;
    fprintf(stderr, "%s\n", futhark_context_get_error(ctx));
    exit(1);
}

static void call(struct futhark_context *ctx, struct futhark_f32_2d *a, struct futhark_f32_2d *b,
                 bool wait)
{
    struct futhark_f32_2d *c;
    must(ctx, futhark_entry_main(ctx, &c, a, b) == FUTHARK_SUCCESS);
    must(ctx, !wait || futhark_context_sync(ctx) == FUTHARK_SUCCESS);
    futhark_free_f32_2d(ctx, c);
}

static double mean_us(struct futhark_context *ctx, struct futhark_f32_2d *a,
                      struct futhark_f32_2d *b, int calls, bool wait)
{
    for (int i = 0; i < 100; i++)
        call(ctx, a, b, true);
    double start = now_us();
    for (int i = 0; i < calls; i++)
        call(ctx, a, b, wait);
    must(ctx, futhark_context_sync(ctx) == FUTHARK_SUCCESS);
    return (now_us() - start) / calls;
}

/* The product's first row and last element are what they are to be. */
static bool right(struct futhark_context *ctx, struct futhark_f32_2d *a, struct futhark_f32_2d *b,
                  const float *values)
{
    static float got[N * N];
    struct futhark_f32_2d *c;
    must(ctx, futhark_entry_main(ctx, &c, a, b) == 0 && futhark_values_f32_2d(ctx, c, got) == 0);
    futhark_free_f32_2d(ctx, c);
    for (int i = 0; i < N * N; i++) {
        float want = 0;
        for (int k = 0; k < N; k++)
            want += values[i / N * N + k] * values[k * N + i % N];
        if (got[i] != want)
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    int calls = atoi(argv[2]);
    float values[N * N];
    for (int i = 0; i < N * N; i++)
        values[i] = (float)(i * 7 % 11);
    for (int profiling = 0; profiling < 2; profiling++) {
        struct futhark_context_config *cfg = futhark_context_config_new();
        futhark_context_config_set_device(cfg, argv[1]);
        futhark_context_config_set_profiling(cfg, profiling);
        struct futhark_context *ctx = futhark_context_new(cfg);
        char *error = futhark_context_get_error(ctx);
        if (error) {
            fprintf(stderr, "%s\n", error);
            return 1;
        }
        struct futhark_f32_2d *a = futhark_new_f32_2d(ctx, values, N, N),
                              *b = futhark_new_f32_2d(ctx, values, N, N);
        must(ctx, a && b);
        if (!right(ctx, a, b, values)) {
            fprintf(stderr, "wrong result\n");
            return 1;
        }
        if (!profiling)
            printf("{\"waited\": %.2f, \"queued\": %.2f, \"calls\": %d, \"report\": ",
                   mean_us(ctx, a, b, calls, true), mean_us(ctx, a, b, calls, false), calls);
        else
            mean_us(ctx, a, b, 1000, true);
        char *report = profiling ? futhark_context_report(ctx) : NULL;
        if (report)
            printf("%s}\n", report);
        free(report);
        futhark_free_f32_2d(ctx, a);
        futhark_free_f32_2d(ctx, b);
        futhark_context_free(ctx);
        futhark_context_config_free(cfg);
    }
    return 0;
}
