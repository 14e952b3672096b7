/* A client of a library for several ranks, of tests/ranks/parts.sf: all ranks make the same calls.
 * Says "ok" at rank 0 if what each of them got is right. */
#include "parts.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1000, K = 3 };

static int rank, wrong; /* rank: among those of a context */

static void check(bool ok, const char *what, struct futhark_context *ctx)
{
    char *error = ctx && !ok ? futhark_context_get_error(ctx) : NULL;
    if (!ok)
        fprintf(stderr, "rank %d: %s: %s\n", rank, what, error ? error : "");
    free(error);
    wrong += !ok;
}

/* The context has failed, with words in its message. */
static void check_failed(struct futhark_context *ctx, bool failed, const char *words)
{
    char *error = futhark_context_get_error(ctx);
    if (!failed || !error || !strstr(error, words))
        fprintf(stderr, "rank %d: expected '%s': %s\n", rank, words, error ? error : "no error");
    wrong += !failed || !error || !strstr(error, words);
    free(error);
}

static struct futhark_context_config *configured(void)
{
    struct futhark_context_config *cfg = futhark_context_config_new();
    static const char *const shared[] = {"maps.suff_dist_0", "steps.suff_dist_0",
                                         "fails.suff_dist_0"};
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
        check(futhark_context_config_set_tuning_param(cfg, shared[i], 1) == 0, shared[i], NULL);
    return cfg;
}

/* Results in parts: read whole, an element of them, stored, given to another call. */
static void use(struct futhark_context *ctx)
{
    int64_t xs[N], got[N], sum, one;
    struct futhark_i64_1d *in, *ys, *zs, *again;
    void *bytes = NULL;
    size_t n;
    for (int i = 0; i < N; i++)
        xs[i] = i * 7 % 31;
    in = futhark_new_i64_1d(ctx, xs, N);
    check(futhark_entry_maps(ctx, &ys, &sum, in, K) == FUTHARK_SUCCESS, "maps", ctx);
    check(futhark_entry_maps(ctx, &zs, &sum, ys, K) == FUTHARK_SUCCESS, "maps of parts", ctx);
    int64_t want = 0;
    for (int i = 0; i < N; i++)
        want += xs[i] + 2 * K;
    check(sum == want, "the sum", NULL);
    check(futhark_index_i64_1d(ctx, &one, zs, N - 1) == FUTHARK_SUCCESS && one == xs[N - 1] + 2 * K,
          "index", ctx);
    check(futhark_values_i64_1d(ctx, ys, got) == FUTHARK_SUCCESS, "values", ctx);
    for (int i = 0; i < N; i++)
        xs[i] += K;
    check(memcmp(xs, got, sizeof xs) == 0, "elements", NULL);
    for (int i = 0; i < N; i++)
        xs[i] -= K;
    check(futhark_values_i64_1d(ctx, in, got) == FUTHARK_SUCCESS && memcmp(xs, got, sizeof xs) == 0,
          "an argument", ctx);
    struct futhark_opaque_pair *pair, *restored;
    check(futhark_entry_paired(ctx, &pair, in) == FUTHARK_SUCCESS, "paired", ctx);
    check(futhark_store_opaque_pair(ctx, pair, &bytes, &n) == FUTHARK_SUCCESS, "store", ctx);
    restored = futhark_restore_opaque_pair(ctx, bytes);
    check(restored && futhark_project_opaque_pair_twice(ctx, &again, restored) == FUTHARK_SUCCESS,
          "restore", ctx);
    check(futhark_values_i64_1d(ctx, again, got) == FUTHARK_SUCCESS, "values", ctx);
    for (int i = 0; i < N; i++)
        xs[i] *= 2;
    check(memcmp(xs, got, sizeof xs) == 0, "stored elements", NULL);
    free(bytes);
    if (rank % 2) /* what frees is each rank's own */
        check(futhark_free_opaque_pair(ctx, restored) == FUTHARK_SUCCESS, "free", ctx);
    check(futhark_free_opaque_pair(ctx, pair) == FUTHARK_SUCCESS, "free", ctx);
    if (rank % 2 == 0)
        check(futhark_free_opaque_pair(ctx, restored) == FUTHARK_SUCCESS, "free", ctx);
    futhark_free_i64_1d(ctx, again);
    futhark_free_i64_1d(ctx, in);
    futhark_free_i64_1d(ctx, ys);
    futhark_free_i64_1d(ctx, zs);
}

/* What fails on one rank fails on all, and the context goes on. */
static void fail(struct futhark_context *ctx)
{
    int64_t at[N] = {0};
    struct futhark_i64_1d *is, *out = NULL;
    at[N - 1] = N; /* in the last one's share */
    is = futhark_new_i64_1d(ctx, at, N);
    int code = futhark_entry_fails(ctx, &out, is);
    code = code ? code : futhark_context_sync(ctx); /* one rank does not wait */
    check_failed(ctx, code == FUTHARK_PROGRAM_ERROR, "Index [1000] out of bounds");
    int64_t sum;
    code = futhark_entry_maps(ctx, &out, &sum, rank == 0 ? NULL : is, 1);
    check_failed(ctx, code == FUTHARK_PROGRAM_ERROR, "a value is NULL");
    struct futhark_i64_1d *none = futhark_new_i64_1d(ctx, at, rank == 0 ? -1 : 1);
    check_failed(ctx, !none, "a size is negative");
    futhark_free_i64_1d(ctx, is);
}

static void with_context(struct futhark_context_config *cfg, MPI_Comm ranks)
{
    MPI_Comm_rank(ranks, &rank);
    struct futhark_context *ctx = futhark_context_new(cfg);
    use(ctx);
    fail(ctx);
    use(ctx);
    check(futhark_context_sync(ctx) == FUTHARK_SUCCESS, "sync", ctx);
    futhark_context_free(ctx);
    futhark_context_config_free(cfg);
}

int main(int argc, char **argv)
{
    int all;
    struct futhark_context_config *cfg = configured();
    struct futhark_context *ctx = futhark_context_new(cfg);
    check_failed(ctx, true, "call MPI_Init before");
    futhark_context_free(ctx);
    MPI_Init(&argc, &argv);
    with_context(cfg, MPI_COMM_WORLD);

    /* Those of a communicator. */
    MPI_Comm some;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &some);
    cfg = configured();
    check(futhark_context_config_set_communicator(cfg, MPI_Comm_c2f(some)) == FUTHARK_SUCCESS,
          "communicator", NULL);
    with_context(cfg, some);
    MPI_Comm_free(&some);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);

    /* One of them has no device, or other parameters. */
    cfg = configured();
    futhark_context_config_set_device(cfg, rank == 1 ? "no such device" : "native");
    ctx = futhark_context_new(cfg);
    check_failed(ctx, true, "rank 1: ");
    futhark_context_free(ctx);
    futhark_context_config_set_device(cfg, "native");
    futhark_context_config_set_tuning_param(cfg, "maps.suff_dist_0", 2 + (size_t)rank);
    ctx = futhark_context_new(cfg);
    check_failed(ctx, true, "other tuning parameters");
    futhark_context_free(ctx);
    futhark_context_config_free(cfg);

    MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        puts(all ? "wrong" : "ok");
    MPI_Finalize();
    return 0;
}
