/* Many calls: as many as the first argument says in each of as many threads as the second does,
 * each with a context of its own or (third argument: "shared") all with one. Memory does
 * not grow. */
#include "types.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { N = 64, MOST_THREADS = 8 };
static long calls;

static long resident_kb(void)
{
    long kb = 0;
    char line[128];
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmRSS: %ld", &kb) == 1)
            break;
    if (f)
        fclose(f);
    return kb;
}

/* Wrong results. */
static long call_times(struct futhark_context *ctx, long n)
{
    float in[N], out[N];
    long wrong = 0;
    for (int i = 0; i < N; i++)
        in[i] = (float)i;
    struct futhark_f32_1d *xs = futhark_new_f32_1d(ctx, in, N), *ys;
    for (long i = 0; i < n; i++) {
        wrong += futhark_entry_scale(ctx, &ys, (float)(i % 7), xs) != 0;
        if (i % 100 == 0)
            wrong +=
                futhark_values_f32_1d(ctx, ys, out) != 0 || out[N - 1] != (float)(i % 7) * (N - 1);
        futhark_free_f32_1d(ctx, ys);
    }
    futhark_free_f32_1d(ctx, xs);
    return wrong + (futhark_context_sync(ctx) != 0);
}

static void *run(void *shared)
{
    struct futhark_context_config *cfg = shared ? NULL : futhark_context_config_new();
    struct futhark_context *ctx = shared ? shared : futhark_context_new(cfg);
    long wrong = call_times(ctx, calls);
    if (!shared) {
        futhark_context_free(ctx);
        futhark_context_config_free(cfg);
    }
    return (void *)wrong;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    calls = atol(argv[1]);
    int n = atoi(argv[2]);
    long wrong = 0, before = 0, after = 0;
    struct futhark_context_config *cfg = futhark_context_config_new();
    struct futhark_context *ctx = futhark_context_new(cfg);
    pthread_t threads[MOST_THREADS];
    if (n == 1) {
        wrong = call_times(ctx, calls / 10);
        before = resident_kb();
        wrong += call_times(ctx, calls);
        after = resident_kb();
    }
    for (int i = 0; i < n && n > 1; i++)
        pthread_create(&threads[i], NULL, run,
                       argc > 3 && strcmp(argv[3], "shared") == 0 ? ctx : NULL);
    for (int i = 0; i < n && n > 1; i++) {
        void *w;
        pthread_join(threads[i], &w);
        wrong += (long)w;
    }
    futhark_context_free(ctx);
    futhark_context_config_free(cfg);
    printf("%ld wrong, grown by %ld KB\n", wrong, after - before);
    return wrong || after - before > 1024;
}
