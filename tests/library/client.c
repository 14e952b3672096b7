/* Everything in the header of types.sf, from C. Built under AddressSanitizer; prints what the
 * suites' runners add up. */
#include "types.h"

#include "checks.h"

/* The call fails, with a message that has these words. */
static void fails_at(int line, int code, int want, const char *words)
{
    char *message = futhark_context_get_error(ctx);
    bool ok = code == want && message && strstr(message, words);
    CHECK_AT(line, ok, words);
    if (!ok)
        printf("    code %d, message: %s\n", code, message ? message : "none");
    free(message);
    CHECK_AT(line, futhark_context_get_error(ctx) == NULL, "a message is given once");
}
#define FAILS(e, code, words) fails_at(__LINE__, (e), (code), (words))

static struct futhark_opaque_point *point(float x, float y)
{
    struct futhark_opaque_point *p = NULL;
    OK(futhark_new_opaque_point(ctx, &p, x, y));
    return p;
}

static float x_of(const struct futhark_opaque_point *p)
{
    float x = -1;
    OK(futhark_project_opaque_point_x(ctx, &x, p));
    return x;
}

/* --- Records and arrays of them --- */

static void records(void)
{
    float xs[] = {1, 2, 3}, ys[] = {4, 5, 6}, r[3] = {0};
    int32_t is[] = {7, 8, 9};
    int8_t bs[] = {1, 2, 3};
    int64_t n = 0;
    struct futhark_f32_1d *x = futhark_new_f32_1d(ctx, xs, 3), *y = futhark_new_f32_1d(ctx, ys, 3),
                          *sum, *part;
    struct futhark_i32_1d *i = futhark_new_i32_1d(ctx, is, 3);
    struct futhark_i8_1d *b = futhark_new_i8_1d(ctx, bs, 3);
    struct futhark_opaque_point *q = point(10, 100), *swapped;
    struct futhark_opaque_arr1d_point *ps, *all;
    struct futhark_opaque_tup2_point_arr1d_i32 *t;
    struct futhark_opaque_arr1d_tup2_f32_i8 *u;
    OK(futhark_zip_opaque_arr1d_point(ctx, &ps, x, y));
    OK(futhark_new_opaque_tup2_point_arr1d_i32(ctx, &t, q, i));
    OK(futhark_zip_opaque_arr1d_tup2_f32_i8(ctx, &u, x, b));
    OK(futhark_entry_main(ctx, &sum, &swapped, &all, &n, ps, q, t, u));
    OK(futhark_context_sync(ctx));
    OK(futhark_values_f32_1d(ctx, sum, r));
    CHECK(r[0] == 10 + 400 + 10 + 7 + 1 + 1 && r[2] == 30 + 600 + 10 + 9 + 3 + 3);
    CHECK(n == 3 && futhark_shape_f32_1d(ctx, sum)[0] == 3 &&
          futhark_shape_opaque_arr1d_point(ctx, all)[0] == 3);
    CHECK(x_of(swapped) == 100);
    OK(futhark_project_opaque_arr1d_point_x(ctx, &part, all));
    OK(futhark_values_f32_1d(ctx, part, r));
    CHECK(r[0] == 4 && r[1] == 5 && r[2] == 6);

    /* An element of an array of records: taken out, put in. Who shares the array keeps what
     * it has. */
    struct futhark_opaque_point *e;
    OK(futhark_index_opaque_arr1d_point(ctx, &e, all, 2));
    CHECK(x_of(e) == 6);
    OK(futhark_set_opaque_arr1d_point(ctx, all, q, 0));
    OK(futhark_values_f32_1d(ctx, part, r));
    CHECK(r[0] == 4);
    futhark_free_opaque_point(ctx, e);
    OK(futhark_index_opaque_arr1d_point(ctx, &e, all, 0));
    CHECK(x_of(e) == 10);
    FAILS(futhark_set_opaque_arr1d_point(ctx, all, q, 3), FUTHARK_PROGRAM_ERROR,
          "index 3 is out of bounds");
    FAILS(futhark_index_opaque_arr1d_point(ctx, &e, all, -1), FUTHARK_PROGRAM_ERROR,
          "index -1 is out of bounds");

    struct futhark_opaque_point *elems[] = {q, e, swapped, q};
    struct futhark_opaque_arr1d_point *four, *none;
    OK(futhark_new_opaque_arr1d_point(ctx, &four, elems, 4));
    CHECK(futhark_shape_opaque_arr1d_point(ctx, four)[0] == 4);
    OK(futhark_new_opaque_arr1d_point(ctx, &none, elems, 0));
    CHECK(futhark_shape_opaque_arr1d_point(ctx, none)[0] == 0);

    /* As bytes, into memory of the function's, of ours, and back. */
    void *bytes = NULL;
    size_t size = 0, again = 0;
    OK(futhark_store_opaque_arr1d_point(ctx, four, NULL, &size));
    OK(futhark_store_opaque_arr1d_point(ctx, four, &bytes, &again));
    CHECK(size == again && size == 2 * (7 + 8 + 16));
    void *own = malloc(size);
    OK(futhark_store_opaque_arr1d_point(ctx, four, &own, &again));
    CHECK(bytes && memcmp(own, bytes, size) == 0);
    struct futhark_opaque_arr1d_point *back = futhark_restore_opaque_arr1d_point(ctx, own);
    CHECK(back != NULL);
    struct futhark_f32_1d *by;
    float r4[4] = {0};
    OK(futhark_project_opaque_arr1d_point_y(ctx, &by, back));
    OK(futhark_values_f32_1d(ctx, by, r4));
    CHECK(r4[0] == 100 && r4[2] == 10 && r4[3] == 100);
    ((char *)own)[0] = 'x';
    FAILS(futhark_restore_opaque_arr1d_point(ctx, own) ? 0 : 2, 2,
          "no stored value of type []point");
    free(own);
    free(bytes);

    struct futhark_f32_1d *shorter = futhark_new_f32_1d(ctx, xs, 2);
    struct futhark_opaque_arr1d_point *bad;
    FAILS(futhark_zip_opaque_arr1d_point(ctx, &bad, shorter, y), FUTHARK_PROGRAM_ERROR,
          "arrays of size 2 and 3");

    futhark_free_f32_1d(ctx, shorter);
    futhark_free_f32_1d(ctx, by);
    futhark_free_opaque_arr1d_point(ctx, back);
    futhark_free_opaque_arr1d_point(ctx, none);
    futhark_free_opaque_arr1d_point(ctx, four);
    futhark_free_opaque_point(ctx, e);
    futhark_free_f32_1d(ctx, part);
    futhark_free_opaque_arr1d_point(ctx, all);
    futhark_free_opaque_point(ctx, swapped);
    futhark_free_f32_1d(ctx, sum);
    futhark_free_opaque_arr1d_tup2_f32_i8(ctx, u);
    futhark_free_opaque_tup2_point_arr1d_i32(ctx, t);
    futhark_free_opaque_arr1d_point(ctx, ps);
    futhark_free_opaque_point(ctx, q);
    futhark_free_i8_1d(ctx, b);
    futhark_free_i32_1d(ctx, i);
    futhark_free_f32_1d(ctx, y);
    futhark_free_f32_1d(ctx, x);
}

/* Arrays of records with two dimensions, whose elements hold arrays. */
static void grids(void)
{
    float xs[6] = {1, 2, 3, 4, 5, 6}, ys[6] = {6, 5, 4, 3, 2, 1};
    struct futhark_f32_2d *x = futhark_new_f32_2d(ctx, xs, 2, 3),
                          *y = futhark_new_f32_2d(ctx, ys, 2, 3);
    struct futhark_opaque_arr2d_point *ps;
    OK(futhark_zip_opaque_arr2d_point(ctx, &ps, x, y));
    struct GRID *g;
    struct CELL *cell;
    struct futhark_f64_1d *deep;
    double d[2] = {0};
    bool flag = false;
    OK(futhark_entry_grid(ctx, &g, ps));
    OK(INDEX_GRID(ctx, &cell, g, 1, 2));
    OK(DEEP_OF(ctx, &deep, cell));
    OK(FLAG_OF(ctx, &flag, cell));
    OK(futhark_values_f64_1d(ctx, deep, d));
    CHECK(d[0] == 6 && d[1] == 1 && !flag);
    OK(SET_GRID(ctx, g, cell, 0, 0));
    struct CELL *first;
    OK(INDEX_GRID(ctx, &first, g, 0, 0));
    OK(FLAG_OF(ctx, &flag, first));
    CHECK(!flag);
    FREE_CELL(ctx, first);
    futhark_free_f64_1d(ctx, deep);
    FREE_CELL(ctx, cell);
    FREE_GRID(ctx, g);
    futhark_free_opaque_arr2d_point(ctx, ps);
    futhark_free_f32_2d(ctx, y);
    futhark_free_f32_2d(ctx, x);
}

static void scalars(void)
{
    int8_t a = 0;
    uint8_t b = 0;
    int16_t c = 0;
    uint16_t d = 0;
    int32_t e = 0;
    uint32_t f = 0;
    int64_t g = 0;
    uint64_t h = 0;
    float x = 0;
    double y = 0;
    bool z = true;
    OK(futhark_entry_scalars(ctx, &a, &b, &c, &d, &e, &f, &g, &h, &x, &y, &z, -8, 255, -300, 40000,
                             -70000, 4000000000u, -5000000000, 10000000000000000000u, 1.5f, 2.25,
                             true));
    CHECK(a == -7 && b == 0 && c == -299 && d == 40001 && e == -69999 && f == 4000000001u);
    CHECK(g == -4999999999 && h == 10000000000000000001u && x == 2.5f && y == 3.25 && !z);
    OK(futhark_entry_nothing(ctx, true));
}

/* --- Failures --- */

static void failures(void)
{
    int32_t xs[] = {1, 2, 3}, v = 0;
    int64_t good[] = {2, 0}, bad[] = {1, 7};
    struct futhark_i32_1d *x = futhark_new_i32_1d(ctx, xs, 3), *r;
    struct futhark_i64_1d *g = futhark_new_i64_1d(ctx, good, 2),
                          *b = futhark_new_i64_1d(ctx, bad, 2);
    /* The call does not wait, so the failure shows when somebody does; then all is well again. */
    int code = futhark_entry_pick(ctx, &r, x, b);
    if (code == FUTHARK_SUCCESS) {
        FAILS(futhark_context_sync(ctx), FUTHARK_PROGRAM_ERROR,
              "Error: Index [7] out of bounds for array of shape [3]");
        futhark_free_i32_1d(ctx, r);
    } else {
        FAILS(code, FUTHARK_PROGRAM_ERROR, "Error: Index [7] out of bounds for array of shape [3]");
    }
    OK(futhark_entry_pick(ctx, &r, x, g));
    OK(futhark_context_sync(ctx));
    OK(futhark_index_i32_1d(ctx, &v, r, 0));
    CHECK(v == 3);
    FAILS(futhark_index_i32_1d(ctx, &v, r, 2), FUTHARK_PROGRAM_ERROR,
          "index 2 is out of bounds for dimension 0 of size 2");
    futhark_free_i32_1d(ctx, r);
    FAILS(futhark_new_i32_1d(ctx, xs, -1) ? 0 : 2, 2, "a size is negative or too large");
    FAILS(futhark_new_i32_1d(ctx, xs, (int64_t)1 << 45) ? 0 : 2, 2, "out of device memory");
    FAILS(futhark_entry_pick(ctx, &r, NULL, g), FUTHARK_PROGRAM_ERROR, "a value is NULL");

    /* Consumed: who else holds the array keeps it, whoever gave it away may only free it. */
    struct futhark_i32_1d *once;
    OK(futhark_entry_bump(ctx, &once, x, 1, 9));
    OK(futhark_index_i32_1d(ctx, &v, once, 1));
    CHECK(v == 9);
    FAILS(futhark_values_i32_1d(ctx, x, xs), FUTHARK_PROGRAM_ERROR, "an earlier call consumed");
    FAILS(futhark_entry_bump(ctx, &r, x, 0, 0), FUTHARK_PROGRAM_ERROR, "an earlier call consumed");
    FAILS(futhark_entry_bump(ctx, &r, once, 3, 0), FUTHARK_PROGRAM_ERROR,
          "Error: Index [3] out of bounds");
    futhark_free_i32_1d(ctx, once);
    futhark_free_i32_1d(ctx, x);
    futhark_free_i64_1d(ctx, g);
    futhark_free_i64_1d(ctx, b);
}

/* --- Contexts --- */

static void configurations(void)
{
    struct futhark_context_config *cfg = futhark_context_config_new();
    futhark_context_config_set_device(cfg, "no such device");
    struct futhark_context *c = futhark_context_new(cfg), *before = ctx;
    char *message = futhark_context_get_error(c);
    CHECK(message && strstr(message, "no device matches device no such device"));
    free(message);
    ctx = c;
    FAILS(futhark_context_sync(c), FUTHARK_PROGRAM_ERROR, "the context could not be made");
    ctx = before;
    futhark_context_free(c);
    futhark_context_config_free(cfg);

    cfg = futhark_context_config_new();
    CHECK(futhark_get_tuning_param_count() > 0);
    for (int i = 0; i < futhark_get_tuning_param_count(); i++) {
        CHECK(futhark_get_tuning_param_name(i) && futhark_get_tuning_param_class(i));
        CHECK(futhark_context_config_set_tuning_param(cfg, futhark_get_tuning_param_name(i), 64) ==
              0);
    }
    CHECK(futhark_get_tuning_param_name(-1) == NULL &&
          futhark_get_tuning_param_class(1 << 20) == NULL);
    CHECK(futhark_context_config_set_tuning_param(cfg, "default_threshold", 1) == 0);
    CHECK(futhark_context_config_set_tuning_param(cfg, "no.such", 1) != 0);
    CHECK(futhark_context_config_load_tuning(cfg, "no such file") != 0);
    CHECK(strstr(futhark_context_config_get_program(cfg), "__kernel") != NULL);
    futhark_context_config_set_default_group_size(cfg, 32);
    futhark_context_config_set_profiling(cfg, 1);
    futhark_context_config_set_logging(cfg, 1);
    c = futhark_context_new(cfg);
    CHECK(futhark_context_get_error(c) == NULL);
    FILE *log = tmpfile();
    futhark_context_set_logging_file(c, log);
    float xs[6] = {1, 2, 3, 4, 5, 6}, r[2] = {0};
    struct futhark_f32_2d *x = futhark_new_f32_2d(c, xs, 2, 3);
    struct futhark_f32_1d *s;
    CHECK(futhark_entry_sums(c, &s, x) == 0 && futhark_values_f32_1d(c, s, r) == 0 && r[0] == 6 &&
          r[1] == 15);
    CHECK(ftell(log) > 0);
    fclose(log);
    futhark_context_set_logging_file(c, stderr);
    char *report = futhark_context_report(c);
    CHECK(report && strstr(report, "\"events\"") && strstr(report, "sums"));
    free(report);
    futhark_free_f32_1d(c, s);
    futhark_free_f32_2d(c, x);
    CHECK(futhark_context_clear_caches(c) == 0);
    futhark_context_free(c);
    futhark_context_config_free(cfg);
}

int main(void)
{
    struct futhark_context_config *cfg = futhark_context_config_new();
    ctx = futhark_context_new(cfg);
    char *message = futhark_context_get_error(ctx);
    if (message) {
        printf("failed: %s\n", message);
        return 1;
    }
    records();
    grids();
    scalars();
    failures();
    configurations();
    OK(futhark_context_sync(ctx));
    futhark_context_free(ctx);
    futhark_context_config_free(cfg);
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
