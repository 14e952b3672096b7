/* Values: round trips, messages, and mutated input (run under ASan). `test_values [SECONDS]`. */
#include "common/values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int passed, failed;

static void check(bool ok, const char *what, const char *detail)
{
    if (ok) {
        passed++;
    } else {
        failed++;
        printf("FAIL values: %s: %s\n", what, detail);
    }
}

/* The text of a value. */
static char *text_of(const rt_hvalue *v)
{
    char *text = NULL;
    size_t n;
    FILE *f = open_memstream(&text, &n);
    rt_write_text(f, v);
    fclose(f);
    return text;
}

/* What reading `in` gives, as text, or the error's message. */
static char *read_as(const char *in, size_t n, const char *prim, int rank)
{
    rt_reader r;
    rt_hvalue v;
    rt_prim p = RT_I32;
    rt_reader_mem(&r, in, n, "in");
    bool ok =
        prim ? rt_prim_named(prim, &p) && rt_read_value(&r, p, rank, &v) : rt_read_any(&r, &v);
    if (!ok)
        return strdup(r.error);
    char *t = text_of(&v);
    rt_hvalue_free(&v);
    return t;
}

static void reads(const char *in, const char *prim, int rank, const char *want)
{
    char *got = read_as(in, strlen(in), prim, rank), detail[2000];
    snprintf(detail, sizeof detail, "got      %s\n    expected %s", got, want);
    check(strcmp(got, want) == 0, in, detail);
    free(got);
}

static void test_scalars(void)
{
    reads("16", "i32", 0, "16i32");
    reads("16", "f32", 0, "16.0f32");
    reads("  -- a comment\n -5i64", "i64", 0, "-5i64");
    reads("-9223372036854775808", "i64", 0, "-9223372036854775808i64");
    reads("18446744073709551615", "u64", 0, "18446744073709551615u64");
    reads("0xFFi8", "i8", 0, "-1i8");
    reads("0b1010u8", "u8", 0, "10u8");
    reads("1_000_000", "i32", 0, "1000000i32");
    reads("0x1f32", "i32", 0, "7986i32");
    reads("1e3", "f64", 0, "1000.0f64");
    reads("-1.5e-3f32", "f32", 0, "-0.0015f32");
    reads("1e+10f32", "f32", 0, "1e+10f32");
    reads("0x1.8p1", "f64", 0, "3.0f64");
    reads("0.1", "f64", 0, "0.1f64");
    reads("0.1", "f32", 0, "0.1f32");
    reads("16777217", "f64", 0, "16777217.0f64");
    reads("f32.nan", "f32", 0, "f32.nan");
    reads("-f64.inf", "f64", 0, "-f64.inf");
    reads("true", "bool", 0, "true");
    reads("-0.0", "f32", 0, "-0.0f32");
    reads("255i8", "i8", 0, "-1i8");
    reads("-1u8", "u8", 0, "255u8");
    reads("300", "i8", 0, "44i8");
    reads("-1", "u32", 0, "4294967295u32");
    reads("4294967296", "i32", 0, "0i32");
    reads("[128i8, -129i8]", NULL, 0, "[-128i8, 127i8]");
    reads("18446744073709551617i64", "i64", 0, "1i64");
    reads("-0x100000000000000000003", NULL, 0, "-3i64");
    reads("300", NULL, 0, "300i32");
    reads("3000000000", NULL, 0, "3000000000i64");
    reads("2.5", NULL, 0, "2.5f64");
}

static void test_arrays(void)
{
    reads("[1, 2,3]", "i32", 1, "[1i32, 2i32, 3i32]");
    reads("[1,2,]", "i32", 1, "[1i32, 2i32]");
    reads("[[1i8], [2i8]]", NULL, 0, "[[1i8], [2i8]]");
    reads("[[1,2],[3,4]]", "f32", 2, "[[1.0f32, 2.0f32], [3.0f32, 4.0f32]]");
    reads("[1.5, 2]", NULL, 0, "[1.5f64, 2.0f64]");
    reads("[]", "i32", 1, "empty([0]i32)");
    reads("[[],[]]", "i32", 2, "empty([2][0]i32)");
    reads("[]", "i32", 2, "empty([0][0]i32)");
    reads("empty([0][3]i32)", "i32", 2, "empty([0][3]i32)");
    reads("empty ( [ 3 ] [ 0 ] bool )", NULL, 0, "empty([3][0]bool)");
    reads("[empty([0]i32)]", "i32", 2, "empty([1][0]i32)");
    reads("[empty([0][2]i8), empty([0][2]i8)]", NULL, 0, "empty([2][0][2]i8)");
    reads("[[], empty([0]i8)]", NULL, 0, "empty([2][0]i8)");
    reads("\"hi\\n\"", "u8", 1, "[104u8, 105u8, 10u8]");
    reads("[\"a\", [98], \"c\"]", "u8", 2, "[[97u8], [98u8], [99u8]]");
    reads("[[\"a\"], [\"\\\\\"]]", NULL, 0, "[[[97u8]], [[92u8]]]");
    reads("[\"\", \"\"]", NULL, 0, "empty([2][0]u8)");
    reads("[true,false -- no\n,true]", "bool", 1, "[true, false, true]");
    reads(
        "[0.1f16, 65504, -1e-7, 6e-8, f16.inf, -f16.inf, f16.nan, 2049]", NULL, 0,
        "[0.1f16, 6.55e+04f16, -1.19e-07f16, 5.96e-08f16, f16.inf, -f16.inf, f16.nan, 2048.0f16]");
    /* Halves between two numbers, and what is beside them by less than a double can tell. */
    reads(
        "[1.00048828125, 1.000488281250000000000000000001, 1.00048828124999999999999999999, 65520,"
        " 65519.99999999999999999999, 2.98023223876953125e-8, 2.980232238769531250000000001e-8]",
        "f16", 1, "[1.0f16, 1.001f16, 1.0f16, f16.inf, 6.55e+04f16, 0.0f16, 5.96e-08f16]");
    reads("0x1.801p0", "f16", 0, "1.5f16");
    reads("[f32.inf, -f32.inf, f32.nan]", NULL, 0, "[f32.inf, -f32.inf, f32.nan]");
}

static void test_errors(void)
{
    reads("", "i32", 0, "in:1:1: expected a value, got end of input");
    reads("1.5", "i32", 0, "in:1:1: expected i32, got a decimal number");
    reads("\n  1i64", "i32", 0, "in:2:3: expected i32, got a literal of type i64");
    reads("true", "i32", 0, "in:1:1: expected i32, got a bool");
    reads("abc", "i32", 0, "in:1:1: expected i32, got 'abc'");
    reads("[1,2", "i32", 1, "in:1:5: expected ',' or ']', got end of input");
    reads("[1 2]", "i32", 1, "in:1:4: expected ',' or ']', got '2'");
    reads("[[1],[2,3]]", "i32", 2, "in:1:11: a row of 2 elements after one of 1");
    reads("[1]", "i32", 2, "in:1:2: expected an array of 2 dimensions, got '1' after 1 brackets");
    reads("[[1]]", "i32", 1, "in:1:2: too many dimensions: expected 1");
    reads("[[1],2]", NULL, 0,
          "in:1:6: expected an array of 2 dimensions, got '2' after 1 brackets");
    reads("[1]", "i32", 0, "in:1:1: expected i32, got an array");
    reads("7", "i32", 1, "in:1:1: expected an array of 1 dimension, got '7'");
    reads("[]", NULL, 0, "in:1:3: the type of an empty array is not known: write empty([0]i32)");
    reads("empty([1]i32)", "i32", 1, "in:1:13: an empty array needs a dimension of 0");
    reads("empty([0]i32)", "f32", 1, "in:1:13: expected []f32, got an empty []i32");
    reads("[empty([0]i8)]", "i16", 2, "in:1:13: expected []i16, got an empty []i8");
    reads("[empty([0]i8)]", "i8", 1, "in:1:13: expected i8, got an empty []i8");
    reads("[[1i8], empty([0]i8)]", NULL, 0, "in:1:20: a row of 0 elements after one of 1");
    reads("[empty([0]i8), [[1i8]]]", NULL, 0, "in:1:17: too many dimensions: expected 2");
    reads("[[[]], empty([0]i8)]", NULL, 0, "in:1:19: expected [][]i8, got an empty []i8");
    reads("[empty([2]i8)]", NULL, 0, "in:1:13: an empty array needs a dimension of 0");
    reads("[[],1]", NULL, 0, "in:1:5: expected a row, as before, got '1'");
    reads("[[[]],1i8]", NULL, 0, "in:1:7: expected a row, as before, got '1'");
    reads("[1,[]]", NULL, 0, "in:1:4: too many dimensions: expected 1");
    reads("0b11", "f32", 0, "in:1:1: expected f32, got a binary integer");
    reads("[0x10]", "f64", 1, "in:1:2: expected f64, got a hexadecimal integer");
    reads("0b11f64", "f64", 0, "in:1:1: expected f64, got a binary integer");
    reads("0b11f64", NULL, 0, "in:1:1: expected f64, got a binary integer");
    reads("-0x1p", "f64", 0, "in:1:1: expected f64, got '-0x1p'");
    reads("-nanx", "f64", 0, "in:1:1: expected f64, got '-nanx'");
    reads("-f64.nanx", "f64", 0, "in:1:1: expected f64, got '-f64.nanx'");
    reads("\"a", "u8", 1, "in:1:3: unterminated string");
    reads("[\"ab\", \"c\"]", "u8", 2, "in:1:11: a row of 1 elements after one of 2");
    reads("[\"a\"]", "i32", 1, "in:1:2: expected i32, got a string, which is a []u8");
    reads("[\"a\"]", "f32", 2, "in:1:2: expected []f32, got a string, which is a []u8");
    reads("\"a\"", "u8", 2, "in:1:1: expected [][]u8, got a string, which is a []u8");
    reads("[[[]], \"a\"]", NULL, 0, "in:1:8: expected a row, as before, got '\"'");
    reads("[\"a\", 1]", NULL, 0,
          "in:1:7: expected an array of 2 dimensions, got '1' after 1 brackets");
    reads("1.2.3", "f64", 0, "in:1:1: expected f64, got '1.2.3'");
    reads("1e", "f32", 0, "in:1:1: expected f32, got '1e'");
    reads("f8.nan", "f32", 0, "in:1:1: expected f32, got 'f8.nan'");
}

/* Text -> value -> binary -> value -> text. */
static void round_trip(const char *in)
{
    rt_reader r;
    rt_hvalue v, w;
    char *bin = NULL, why[200] = "";
    size_t n;
    rt_reader_mem(&r, in, strlen(in), "in");
    if (!rt_read_any(&r, &v)) {
        check(false, in, r.error);
        return;
    }
    FILE *f = open_memstream(&bin, &n);
    fputs(" \n", f);
    rt_write_binary(f, &v);
    fclose(f);
    rt_reader_mem(&r, bin, n, "bin");
    bool ok = rt_read_value(&r, v.prim, v.rank, &w);
    check(ok, in, r.error);
    if (ok) {
        check(rt_hvalue_equal(&w, &v, 0, why, sizeof why), in, why);
        check(rt_reader_at_end(&r), in, "more data after the value");
        rt_hvalue_free(&w);
    }
    for (size_t cut = 2; cut < n; cut++) {
        rt_reader_mem(&r, bin, cut, "bin");
        ok = rt_read_any(&r, &w);
        check(!ok && strstr(r.error, cut == 2 ? "expected a value" : "the data ends"), in, r.error);
        if (ok)
            rt_hvalue_free(&w);
    }
    free(bin);
    rt_hvalue_free(&v);
}

static void test_binary(void)
{
    round_trip("1i8");
    round_trip("[1u16, 2u16]");
    round_trip("[[1.5f32, f32.nan], [f32.inf, 0f32]]");
    round_trip("[0.1f16, -f16.inf, 6e-08f16]");
    round_trip("empty([3][0]f64)");
    round_trip("empty([1099511627776][4294967296][0]i8)");
    round_trip("[true, false]");
    static const char
        f8[] = {'b', 2, 0, ' ', ' ', 'f', '8', 0},
        v3[] = "b\3\0 i32....", i32[] = "b\2\0 i32....",
        huge[] = "b\2\2 i32\xff\xff\xff\xff\xff\xff\xff\x7f\xff\xff\xff\xff\xff\xff\xff\x7f";
    const struct {
        const char *data;
        size_t n;
        const char *want;
    } bad[] = {{f8, 8, "in: byte 7: unknown element type 'f8'"},
               {v3, 11, "in: byte 7: version 3 of the binary format, expected 2"},
               {i32, 11, "in: byte 7: expected []f32, got a binary i32"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char *got = read_as(bad[i].data, bad[i].n, "f32", 1);
        check(strcmp(got, bad[i].want) == 0, "bad binary", got);
        free(got);
    }
    char *got = read_as(huge, sizeof huge - 1, "i32", 2);
    check(strcmp(got, "in: byte 23: the array is larger than any memory") == 0, "huge", got);
    free(got);
}

static void test_compare(void)
{
    rt_reader r;
    rt_hvalue a, b, c;
    char why[200];
    const char *text = "[1.0f32, 2.0f32] [1.0f32, 2.001f32] [1i32, 2i32]";
    rt_reader_mem(&r, text, strlen(text), "in");
    bool ok = rt_read_any(&r, &a) && rt_read_any(&r, &b) && rt_read_any(&r, &c);
    check(ok, "three values", r.error);
    check(rt_hvalue_equal(&a, &b, 0.002, why, sizeof why), "near", why);
    check(!rt_hvalue_equal(&a, &b, 1e-5, why, sizeof why), "far", why);
    check(strcmp(why, "[1]: 2.0f32, expected 2.001f32; 1 of 2 elements differ") == 0, "why", why);
    check(!rt_hvalue_equal(&a, &c, 1, why, sizeof why), "types", why);
    rt_hvalue_free(&a);
    rt_hvalue_free(&b);
    rt_hvalue_free(&c);
}

/* Floats survive printing, at random bits. */
static void test_floats(void)
{
    uint64_t seed = 42;
    char buf[48];
    int bad = 0;
    for (int i = 0; i < 20000; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        rt_scalar s = {.u64 = seed ^ seed >> 29}, back;
        rt_prim p = i & 1 ? RT_F32 : RT_F64;
        rt_scalar_text(p, &s, buf, sizeof buf);
        bool nan = p == RT_F32 ? isnan(s.f32) : isnan(s.f64);
        if (!rt_parse_scalar(buf, p, &back) ||
            (!nan && memcmp(&back, &s, (size_t)rt_prim_size(p)) != 0))
            bad++;
    }
    snprintf(buf, sizeof buf, "%d of 20000 wrong", bad);
    check(bad == 0, "floats read back", buf);
}

/* Mutated bytes must give a value or a message, whatever happens. */
static void fuzz(double seconds)
{
    static const char *const seeds[] = {
        "[[1, 2], [3, 4]] 5i64 f32.nan [true, false]",
        "empty([0][3]i32) \"abc\\n\" -1.5e-3f64 0x1Fu8",
        "b\2\1 i32\2\0\0\0\0\0\0\0\1\0\0\0\2\0\0\0 [1.0, 2.0] -- end", "[[[1i8]],[[2i8]]] []"};
    static const size_t lengths[] = {43, 42, 23 + 18, 20};
    unsigned seed = 7;
    clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);
    long runs = 0;
    while (clock() < end) {
        for (int k = 0; k < 1000; k++, runs++) {
            char buf[64];
            size_t which = (size_t)rand_r(&seed) % 4, n = lengths[which];
            memcpy(buf, seeds[which], n);
            for (int m = rand_r(&seed) % 4; m >= 0; m--)
                buf[(size_t)rand_r(&seed) % n] =
                    (char)(rand_r(&seed) % 3 ? "[]-\"(),.eb0159\\nxfiu"[rand_r(&seed) % 20]
                                             : rand_r(&seed));
            char *exact = malloc(n);
            memcpy(exact, buf, n);
            rt_reader r;
            rt_hvalue v;
            rt_reader_mem(&r, exact, n, "fuzz");
            while (!rt_reader_at_end(&r)) {
                bool ok = rand_r(&seed) & 1
                              ? rt_read_any(&r, &v)
                              : rt_read_value(&r, (rt_prim)(rand_r(&seed) % RT_N_PRIMS),
                                              rand_r(&seed) % 3, &v);
                if (!ok)
                    break;
                free(text_of(&v));
                rt_hvalue_free(&v);
            }
            free(exact);
        }
    }
    check(runs > 0, "fuzz", "no run");
}

int main(int argc, char **argv)
{
    test_scalars();
    test_arrays();
    test_errors();
    test_binary();
    test_compare();
    test_floats();
    fuzz(argc > 1 ? atof(argv[1]) : 1.0);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
