/* A client of attack.sf as a library, for attack.py:
 *
 *     client calls SEED N       N calls at random, of which many fail, each with its message: the
 *                               context goes on
 *     client cache SEED N DIR   N times a kernel is taken from a damaged entry of the cache DIR, or
 *                               built
 *     client tuning FILE...     a context for each tuning file, which may be wrong
 *
 * Prints what is wrong, and last `N passed, N failed`. Sanitizers see the rest. */
#include "attack.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct futhark_context Ctx;
enum { MOST = 64 };

static uint64_t state; /* of the pseudo-random numbers (splitmix64) */

static size_t pick(size_t n)
{
    uint64_t z = (state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (size_t)((z ^ (z >> 31)) % n);
}

static long failed;

static void check(bool ok, const char *what)
{
    if (!ok && ++failed < 20)
        printf("wrong: %s\n", what);
}

/* A failure has a message, once; what did not fail has none. */
static bool failure(Ctx *c, int code, const char *about)
{
    char *said = futhark_context_get_error(c);
    check((said != NULL) == (code != 0), about);
    check(!said || strstr(said, about), said ? said : "");
    free(said);
    return code != 0;
}

/* --- Calls ---------------------------------------------------------------------------------- */

static void scale_of(Ctx *c, int64_t n)
{
    float in[MOST], out[MOST];
    for (int64_t i = 0; i < n; i++)
        in[i] = (float)i;
    struct futhark_f32_1d *xs = futhark_new_f32_1d(c, in, n), *ys = NULL;
    check(xs && futhark_entry_scale(c, &ys, 2, xs) == 0 && futhark_values_f32_1d(c, ys, out) == 0,
          "scale");
    for (int64_t i = 0; i < n; i++)
        check(out[i] == 2 * in[i], "scale's result");
    futhark_free_f32_1d(c, xs);
    futhark_free_f32_1d(c, ys);
}

static void scale(Ctx *c)
{
    scale_of(c, (int64_t)pick(MOST));
}

static void pick_elements(Ctx *c)
{
    int32_t in[MOST], got[MOST];
    int64_t is[MOST], n = 1 + (int64_t)pick(MOST - 1);
    bool wrong = pick(2);
    for (int64_t i = 0; i < n; i++) {
        in[i] = (int32_t)(3 * i);
        is[i] = (int64_t)pick((size_t)n);
    }
    if (wrong)
        is[pick((size_t)n)] = pick(2) ? n + (int64_t)pick(9) : -1 - (int64_t)pick(9);
    struct futhark_i32_1d *xs = futhark_new_i32_1d(c, in, n), *ys = NULL;
    struct futhark_i64_1d *at = futhark_new_i64_1d(c, is, n);
    int code = futhark_entry_pick(c, &ys, xs, at);
    code = code ? code : futhark_context_sync(c);
    check(failure(c, code, wrong ? "out of bounds" : "pick") == wrong, "pick");
    if (!wrong && code == 0 && futhark_values_i32_1d(c, ys, got) == 0)
        for (int64_t i = 0; i < n; i++)
            check(got[i] == 3 * is[i], "pick's result");
    if (ys)
        futhark_free_i32_1d(c, ys);
    futhark_free_i32_1d(c, xs);
    futhark_free_i64_1d(c, at);
}

static void bump(Ctx *c)
{
    int32_t in[MOST] = {0}, x = 0;
    int64_t n = 1 + (int64_t)pick(MOST - 1), i = (int64_t)pick((size_t)(2 * n)) - n / 2;
    bool wrong = i < 0 || i >= n;
    struct futhark_i32_1d *xs = futhark_new_i32_1d(c, in, n), *ys = NULL;
    int code = futhark_entry_bump(c, &ys, xs, i, 7);
    code = code ? code : futhark_context_sync(c);
    check(failure(c, code, "out of bounds") == wrong, "bump");
    if (!wrong && code == 0)
        check(futhark_index_i32_1d(c, &x, ys, i) == 0 && x == 7, "bump's result");
    if (!wrong && pick(2)) /* it is consumed */
        check(failure(c, futhark_entry_bump(c, &(struct futhark_i32_1d *){NULL}, xs, 0, 1), ""),
              "an argument consumed twice");
    if (ys && !wrong)
        check(failure(c, futhark_index_i32_1d(c, &x, ys, n + (int64_t)pick(3)), ""),
              "an index behind the end");
    if (ys)
        futhark_free_i32_1d(c, ys);
    futhark_free_i32_1d(c, xs);
}

static void divide(Ctx *c)
{
    int64_t out = 0, b = (int64_t)pick(3);
    int code = futhark_entry_divide(c, &out, 10, b);
    code = code ? code : futhark_context_sync(c);
    check(failure(c, code, "by zero") == (b == 0) && (b == 0 || out == 10 / b), "divide");
}

static void sizes_that_disagree(Ctx *c)
{
    float in[MOST * 4] = {1};
    int64_t n = (int64_t)pick(8), m = (int64_t)pick(8), k = (int64_t)pick(8);
    struct futhark_f32_2d *xss = futhark_new_f32_2d(c, in, n, m);
    struct futhark_f32_1d *ys = futhark_new_f32_1d(c, in, k), *zs = NULL;
    bool wrong = failure(c, futhark_entry_product(c, &zs, xss, ys), "size");
    check(wrong == (m != k), "product");
    if (!wrong)
        futhark_free_f32_1d(c, zs);
    futhark_free_f32_2d(c, xss);
    futhark_free_f32_1d(c, ys);
}

static void too_large(Ctx *c)
{
    static const int64_t sizes[] = {-1, INT64_MIN, INT64_MAX, (int64_t)1 << 59, 5};
    int64_t n = sizes[pick(sizeof sizes / sizeof *sizes)];
    struct futhark_i64_1d *xs = NULL;
    int code = futhark_entry_count(c, &xs, n);
    code = code ? code : futhark_context_sync(c);
    check(failure(c, code, "") == (n != 5), "count");
    if (xs)
        futhark_free_i64_1d(c, xs);
    if (n != 5) {
        struct futhark_f32_1d *ys = futhark_new_f32_1d(c, NULL, n);
        check(!ys && failure(c, !ys, ""), "an array of such a size");
    }
}

static void records_and_sums(Ctx *c)
{
    struct futhark_opaque_point *p = NULL, *q = NULL, *ps[2];
    struct futhark_opaque_shape *s = NULL, *again = NULL;
    struct futhark_opaque_arr1d_point *a = NULL, *b = NULL;
    struct futhark_f64_1d *xs = NULL;
    void *bytes = NULL;
    size_t n = 0;
    int32_t k = (int32_t)pick(3);
    double area;
    check(futhark_new_opaque_point(c, &p, 1.5f, 7) == 0 && futhark_entry_shape(c, &s, k, p) == 0,
          "a shape");
    check(futhark_store_opaque_shape(c, s, &bytes, &n) == 0, "bytes of a shape");
    if (pick(2))
        ((unsigned char *)bytes)[pick(2)] ^=
            (unsigned char)(1 << pick(8)); /* how long it is, nobody says: sizes must be right */
    again = futhark_restore_opaque_shape(c, bytes); /* of wrong bytes another one, or none */
    free(bytes);
    failure(c, !again, "");
    if (again) {
        failure(c, futhark_entry_area(c, &area, again), "");
        futhark_free_opaque_shape(c, again);
    }
    int other = (int)pick(2);
    int code = other ? futhark_destruct_opaque_shape_line(c, &q, &xs, s)
                     : futhark_destruct_opaque_shape_dot(c, &q, s);
    check(failure(c, code, "") == (futhark_variant_opaque_shape(c, s) != other), "a variant");
    if (code == 0)
        futhark_free_opaque_point(c, q);
    if (code == 0 && other)
        futhark_free_f64_1d(c, xs);
    ps[0] = ps[1] = p;
    check(futhark_new_opaque_arr1d_point(c, &a, ps, 2) == 0 &&
              futhark_entry_mirror(c, &b, &q, a) == 0,
          "points");
    futhark_free_opaque_point(c, q);
    q = NULL;
    bool outside = pick(2);
    check(failure(c, futhark_index_opaque_arr1d_point(c, &q, b, outside ? 2 : 1), "") == outside,
          "a point by its index");
    if (q)
        futhark_free_opaque_point(c, q);
    futhark_free_opaque_arr1d_point(c, a);
    futhark_free_opaque_arr1d_point(c, b);
    futhark_free_opaque_point(c, p);
    futhark_free_opaque_shape(c, s);
}

static void calls(long n)
{
    static void (*const kinds[])(Ctx *) = {
        scale, pick_elements, bump, divide, sizes_that_disagree, too_large, records_and_sums};
    enum { KINDS = sizeof kinds / sizeof *kinds };
    struct futhark_context_config *cfg = futhark_context_config_new();
    Ctx *c = futhark_context_new(cfg);
    for (long i = 0; i < n; i++) {
        kinds[pick(KINDS)](c);
        if (pick(2000) == 0)
            free(futhark_context_report(c));
        if (pick(2000) == 0)
            futhark_context_clear_caches(c);
    }
    futhark_context_free(c);
    futhark_context_config_free(cfg);
}

/* --- The cache ------------------------------------------------------------------------------ */

/* An entry of the cache, at random: its path. */
static bool entry_of(const char *folder, char *path, size_t size)
{
    DIR *dir = opendir(folder);
    size_t n = 0;
    for (struct dirent *e; dir && (e = readdir(dir));) {
        size_t len = strlen(e->d_name);
        if (len > 4 && strcmp(e->d_name + len - 4, ".bin") == 0 && pick(++n) == 0)
            snprintf(path, size, "%s/%s", folder, e->d_name);
    }
    if (dir)
        closedir(dir);
    return n > 0;
}

static void damage(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDWR);
    bool there = fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0;
    off_t at = there ? (off_t)pick(pick(2) ? 24 : (size_t)st.st_size) : 0;
    unsigned char byte = (unsigned char)pick(256);
    bool done = false;
    switch (there ? pick(6) : 5) {
    case 0: done = ftruncate(fd, at) == 0; break;
    case 1: done = ftruncate(fd, st.st_size + 1 + (off_t)pick(99)) == 0; break;
    case 2: done = pwrite(fd, "\xff\xff\xff\xff\xff\xff\xff\x7f", 8, 8) == 8; break; /* its size */
    case 3: done = unlink(path) == 0 && symlink("/dev/zero", path) == 0; break;
    case 4: done = unlink(path) == 0 && mkfifo(path, 0600) == 0; break;
    default: done = there && pwrite(fd, &byte, 1, at) == 1; break;
    }
    if (fd >= 0)
        close(fd);
    check(done, "an entry could not be damaged");
}

static void cache(long n, const char *folder)
{
    char path[4096];
    for (long i = -1; i < n; i++) {
        struct futhark_context_config *cfg = futhark_context_config_new();
        futhark_context_config_set_cache_file(cfg, folder);
        Ctx *c = futhark_context_new(cfg);
        scale_of(c, MOST); /* launches its kernel, so that what was damaged is made anew */
        futhark_context_free(c);
        futhark_context_config_free(cfg);
        bool there = entry_of(folder, path, sizeof path);
        check(there, "the cache has no entries");
        if (there && i < n - 1)
            damage(path);
    }
}

/* --- Tuning files --------------------------------------------------------------------------- */

static void tuning(const char *file)
{
    struct futhark_context_config *cfg = futhark_context_config_new();
    check(futhark_context_config_load_tuning(cfg, file) == 0, "a tuning file that is there");
    Ctx *c = futhark_context_new(cfg);
    char *said = futhark_context_get_error(c);
    if (!said)
        scale(c);
    free(said);
    futhark_context_free(c);
    futhark_context_config_free(cfg);
}

int main(int argc, char **argv)
{
    const char *part = argc > 2 ? argv[1] : "";
    long n = argc > 3 ? atol(argv[3]) : 0;
    if (strcmp(part, "tuning") == 0) {
        for (int i = 2; i < argc; i++)
            tuning(argv[i]);
        n = argc - 2;
    } else if (n > 0) {
        state = strtoull(argv[2], NULL, 10);
        if (strcmp(part, "calls") == 0)
            calls(n);
        else if (argc > 4)
            cache(n, argv[4]);
    }
    printf("%ld passed, %ld failed\n", n - failed, failed);
    return failed != 0;
}
