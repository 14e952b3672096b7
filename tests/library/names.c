/* What names.sf writes in several ways is one type: values go from any entry to any other. Built
 * under AddressSanitizer. */
#include "names.h"
#include "checks.h"

typedef struct futhark_opaque_rec__x_i32__y_i32 point;

typedef int make(struct futhark_context *, point **, int32_t);

static void all_take_it(make *makes, int32_t y)
{
    point *p = NULL;
    int32_t sum = 0, difference = 0, product = 0, number = 0;
    OK(makes(ctx, &p, 4));
    OK(futhark_entry_named(ctx, &sum, p));
    OK(futhark_entry_fields(ctx, &difference, p));
    OK(futhark_entry_both(ctx, &product, p));
    OK(futhark_entry_ordered(ctx, &number, p));
    CHECK(sum == 4 + y && difference == 4 - y && product == 4 * y && number == 40 + y);
    futhark_free_opaque_rec__x_i32__y_i32(ctx, p);
}

static void arrays(void)
{
    struct futhark_opaque_arr1d_body *bodies = NULL;
    struct futhark_opaque_arr1d_v3 *pos = NULL;
    struct futhark_opaque_v3 *mid = NULL;
    float x = 0;
    OK(futhark_entry_bodies(ctx, &bodies, 5));
    OK(futhark_project_opaque_arr1d_body_pos(ctx, &pos, bodies));
    OK(futhark_entry_middle(ctx, &mid, pos));
    OK(futhark_project_opaque_v3_0(ctx, &x, mid));
    CHECK(x == 2);
    struct futhark_opaque_rec__at_v3__far_bool *whole = NULL;
    OK(futhark_entry_whole(ctx, &whole, true, mid));
    OK(futhark_entry_part(ctx, &x, whole));
    CHECK(x == 102);
    futhark_free_opaque_rec__at_v3__far_bool(ctx, whole);
    futhark_free_opaque_arr1d_body(ctx, bodies);
    futhark_free_opaque_arr1d_v3(ctx, pos);
    futhark_free_opaque_v3(ctx, mid);
}

static void tuning_parameter(int64_t value)
{
    int64_t n = 0;
    OK(futhark_entry_block(ctx, &n, 5));
    CHECK(n == value);
}

int main(void)
{
    struct futhark_context_config *cfg = futhark_context_config_new();
    ctx = futhark_context_new(cfg);
    tuning_parameter(5);
    futhark_context_free(ctx);
    CHECK(futhark_context_config_set_tuning_param(cfg, "blok", 9) != 0);
    CHECK(futhark_context_config_set_tuning_param(cfg, "block", 9) == 0);
    ctx = futhark_context_new(cfg);
    tuning_parameter(9);
    all_take_it(futhark_entry_written, 5);
    all_take_it(futhark_entry_inferred, 6);
    all_take_it(futhark_entry_returned, 7);
    arrays();
    futhark_context_free(ctx);
    futhark_context_config_free(cfg);
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
