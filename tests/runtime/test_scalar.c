/* The corner cases of scalar.h, under UBSan; test_device.c compares host and device. */
#include "common/cost.h"
#include "common/scalar.h"

#include <stdio.h>

static int passed, failed;

#define CHECK(e)                                                                                   \
    do {                                                                                           \
        passed += (e) ? 1 : 0;                                                                     \
        failed += (e) ? 0 : 1;                                                                     \
        if (!(e))                                                                                  \
            printf("FAIL scalar: %s\n", #e);                                                       \
    } while (0)

static void test_integers(void)
{
    CHECK(mf_div_i32(-7, 2) == -4 && mf_mod_i32(-7, 2) == 1 && mf_mod_i32(7, -2) == -1);
    CHECK(mf_quot_i32(-7, 2) == -3 && mf_rem_i32(-7, 2) == -1);
    CHECK(mf_div_i32(1, 0) == 0 && mf_mod_u8(1, 0) == 0 && mf_rem_i64(1, 0) == 0);
    CHECK(mf_div_i32(INT32_MIN, -1) == INT32_MIN && mf_mod_i64(INT64_MIN, -1) == 0);
    CHECK(mf_div_i8(-128, -1) == -128);
    CHECK(mf_add_i32(INT32_MAX, 1) == INT32_MIN && mf_mul_i16(32767, 32767) == 1);
    CHECK(mf_neg_i64(INT64_MIN) == INT64_MIN && mf_abs_i8(-128) == -128);
    CHECK(mf_shl_i8(1, 7) == -128 && mf_shr_i8(-128, 9) == -1 && mf_shr_u8(128, 3) == 16);
    CHECK(mf_shl_i32(1, -1) == 0 && mf_shl_i64(1, 63) == INT64_MIN && mf_shr_i32(-8, 1) == -4);
    CHECK(mf_popc_i8(-1) == 8 && mf_popc_i64(-1) == 64);
    CHECK(mf_clz_i8(1) == 7 && mf_clz_u64(0) == 64 && mf_ctz_i16(0) == 16 && mf_ctz_i32(8) == 3);
    CHECK(mf_mulhi_i8(-128, -128) == 64 && mf_mulhi_i32(-1, 1) == -1);
    CHECK(mf_mulhi_u64(UINT64_MAX, UINT64_MAX) == UINT64_MAX - 1);
    CHECK(mf_pow_i32(3, 4) == 81 && mf_pow_i8(2, 7) == -128 && mf_pow_i32(2, -1) == 0);
    CHECK(mf_setbit_i32(31, 0, 1) == INT32_MIN && mf_getbit_i8(7, -1) == 1);
}

static void test_floats(void)
{
    CHECK(mf_min_f32(NAN, 1) == 1 && mf_max_f64(1, NAN) == 1 && mf_isnan_f32(mf_min_f32(NAN, NAN)));
    CHECK(mf_sgn_f64(-3) == -1 && mf_isinf_f32(-INFINITY) && mf_round_f32(2.5f) == 2);
    CHECK(mf_sinpi_f64(0.5) == 1 && mf_cospi_f32(0.5f) == 0 && mf_sinpi_f64(1) == 0);
    CHECK(fabs(mf_sinpi_f64(-0.75) + sqrt(.5)) < 1e-15 && mf_cospi_f64(-3) == -1);
    CHECK(mf_from_bits_u32(mf_to_bits_f32(1.5f)) == 1.5f && mf_to_bits_f64(0.0) == 0);
}

static void test_conversions(void)
{
    CHECK(mf_f32_to_i32(NAN) == 0 && mf_f32_to_i32(INFINITY) == 0);
    CHECK(mf_f32_to_i32(3e9f) == INT32_MAX && mf_f32_to_i32(-2147483648.0f) == INT32_MIN);
    CHECK(mf_f32_to_i32(-1.9f) == -1 && mf_f64_to_i32(-2147483648.5) == INT32_MIN);
    CHECK(mf_f64_to_i8(-128.9) == -128 && mf_f64_to_u8(-0.5) == 0 && mf_f64_to_u8(255.9) == 255);
    CHECK(mf_f64_to_i64(1e300) == INT64_MAX && mf_f64_to_u64(-5) == 0);
    CHECK(mf_f64_to_u64(1e30) == UINT64_MAX && mf_f32_to_i64(-1e30f) == INT64_MIN);
}

/* Sizes stop at the ends instead of wrapping around; a product with 0 is 0, whatever
 * came before. */
static void test_sizes(void)
{
    const mf_i64 some[] = {0,
                           1,
                           -1,
                           2,
                           -3,
                           255,
                           INT64_C(1) << 31,
                           INT64_C(1) << 32,
                           -(INT64_C(1) << 32),
                           (INT64_C(1) << 48) - 1,
                           INT64_C(1) << 62,
                           INT64_MAX / 3,
                           INT64_MAX,
                           INT64_MIN};
    const int n = sizeof some / sizeof *some;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            mf_i64 x = some[i], y = some[j], r;
            mf_i64 end = (x < 0) != (y < 0) ? INT64_MIN : INT64_MAX;
            CHECK(mf_size_mul(x, y) == (__builtin_mul_overflow(x, y, &r) ? end : r));
            CHECK(mf_size_add(x, y) ==
                  (__builtin_add_overflow(x, y, &r) ? x < 0 ? INT64_MIN : INT64_MAX : r));
            CHECK(mf_size_sub(x, y) ==
                  (__builtin_sub_overflow(x, y, &r) ? x < 0 ? INT64_MIN : INT64_MAX : r));
        }
    CHECK(mf_size_mul(mf_size_mul(INT64_MAX, INT64_MAX), 0) == 0);
    CHECK(mf_size_ceildiv(INT64_MAX, 256) == INT64_MAX / 256 + 1 && mf_size_ceildiv(0, 7) == 0 &&
          mf_size_ceildiv(7, 7) == 1);
    CHECK(mf_slice_end(3, 4, 2) == 11 && mf_slice_end(INT64_MAX - 5, 3, 4) == INT64_MAX);
    CHECK(mf_slice_end(INT64_MAX, 1, 1) == INT64_MIN &&
          mf_slice_end(5, 6, -1) == -1); /* j of i:j */
}

/* Parallelism counts in full if it fills a device or is all there is; never more, never nothing. */
static void test_parallelism(void)
{
    CHECK(mf_par_in_effect(32768, INT64_MAX) == 32768 &&
          mf_par_in_effect(1 << 20, 1 << 30) == 1 << 20);
    CHECK(mf_par_in_effect(7, 7) == 7 && mf_par_in_effect(7, 0) == 7);
    CHECK(mf_par_in_effect(0, 0) == 0 && mf_par_in_effect(0, 1000) == 0);
    CHECK(mf_par_in_effect(1000, 1000 * 65) == 500); /* 64 steps more: half */
    CHECK(mf_par_in_effect(2, INT64_MAX) == 1);
    mf_i64 before = 1000;
    for (mf_i64 work = 1000; work < (mf_i64)1 << 40; work *= 2) {
        CHECK(mf_par_in_effect(1000, work) <= before);
        before = mf_par_in_effect(1000, work);
    }
    CHECK(before == 1);
}

/* What untuned programs of bench/ choose: launches spared, steps and elements of e_middle for the
 * sizes of data sets (bench/results/decisions.md has the table), and the edges. */
static void test_pays(void)
{
    CHECK(mf_pays(4, 15, 1 * 3201) &&
          mf_pays(4, 15, 64 * 3201)); /* NW: a block, a diagonal of D1 */
    CHECK(mf_pays(5, 24, 1 * 6144) && mf_pays(5, 24, 64 * 6144)); /* LUD: the border of a step */
    CHECK(mf_pays(1, 33, 32 * 1056) &&
          mf_pays(1, 257, 2016 * 64544)); /* ... the interior: D2's last and first */
    CHECK(!mf_pays(2, 1618, 17616000) && !mf_pays(3, 379, 1835000)); /* OptionPricing D2 */
    CHECK(mf_pays(2, 103, 863880) && !mf_pays(2, 809, 8084000)); /* Heston: 1062, 10000 quotes */
    CHECK(!mf_pays(4, 4495, 1149580) && mf_pays(4, 5, 1310720)); /* SRAD: one image, many */
    CHECK(!mf_pays(2, 10023, 3 * 855280) && mf_pays(2, 3, 4096 * 384)); /* NN */
    CHECK(mf_pays(14, 283, 215220224) && !mf_pays(2, 4113, 9441280)); /* BFAST: D1's V1, D2's V3 */
    /* Rows alone (cost_of_top, cost_of_middle): sums of 2, 4 and 5 f32; scans of 255 and 256
     * elements, in 127 and 128 rows. */
    CHECK(mf_pays(0, 2, 4 * 32768) && mf_pays(0, 4, 4 * 32768) && !mf_pays(0, 5, 4 * 32768) &&
          !mf_pays(0, 1, 0));
    CHECK(!mf_pays(0, 256, 255 * 32768) && mf_pays(0, 256, 256 * 32768));
    CHECK(!mf_pays(0, 256, 2 * 127 * 32768) && mf_pays(0, 256, 2 * 128 * 32768));
    CHECK(mf_pays(1, 64, 0) && !mf_pays(1, 65, 0) && mf_pays(1, 65, 32768) &&
          !mf_pays(1, 65, 32767));
    CHECK(mf_pays(3, 0, 0) && mf_pays(1, 1, INT64_MAX) && !mf_pays(1, INT64_MAX, INT64_MAX));
}

/* Between got and the exact result, in units of the last place of a float. */
static double units_off(float got, double want)
{
    int e;
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got) ? 0 : INFINITY;
    if (isinf(got) || isinf(want))
        return got == (float)want ? 0 : INFINITY;
    frexp(want, &e);
    return fabs(got - want) / ldexp(1, (e < -125 ? -125 : e) - 24);
}

/* The functions without branches that kernels of CPUs have, for floats of all kinds. */
static void test_straight(void)
{
    double worst_exp = 0, worst_log = 0;
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 10007) {
        float x = mf_from_bits_u32((mf_u32)bits);
        worst_exp = fmax(worst_exp, units_off(mf_straight_exp(x), exp(x)));
        worst_log = fmax(worst_log, units_off(mf_straight_log(x), log(x)));
    }
    CHECK(worst_exp < 1 && worst_log < 1);
    CHECK(mf_straight_exp(0) == 1 && mf_straight_exp(INFINITY) == INFINITY &&
          mf_straight_exp(-INFINITY) == 0);
    CHECK(mf_straight_exp(89) == INFINITY && mf_straight_exp(-104) == 0 &&
          mf_straight_exp(-100) > 0);
    CHECK(mf_straight_log(1) == 0 && mf_straight_log(INFINITY) == INFINITY &&
          isnan(mf_straight_log(-1)));
    CHECK(mf_straight_log(0) == -INFINITY && mf_straight_log(-0.0f) == -INFINITY);
    CHECK(isnan(mf_straight_exp(NAN)) && isnan(mf_straight_log(NAN)));
}

int main(void)
{
    test_integers();
    test_straight();
    test_sizes();
    test_parallelism();
    test_pays();
    test_floats();
    test_conversions();
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
