/* minifut dataset: random inputs. The generator is splitmix64, so a seed gives the same values
 * everywhere. */
#include "autotune/autotune.h"
#include "base/diag.h"
#include "runtime/values.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: minifut dataset [options] -g TYPE|VALUE ...\n"
    "\n"
    "Writes random values to standard output, one for each -g, in order.\n"
    "  -g, --generate=T   a type such as f32, [100]i32, [1024][64]f32, or a scalar value such as "
    "42i64\n"
    "  -s, --seed=N       seed of the values that follow (default 1)\n"
    "  -t, --text         as text (default); applies to the values that follow\n"
    "  -b, --binary       in binary form\n"
    "  --TYPE-bounds=A:B  least and largest value of that element type, e.g. --f32-bounds=-1:1\n"
    "                     (default: floats 0:1, integers their whole range)\n";

typedef struct {
    rt_scalar lo, hi;
    bool set;
} Bounds;

typedef struct {
    uint64_t state;
    bool binary;
    Bounds bounds[RT_N_PRIMS];
} Gen;

static uint64_t next(Gen *g)
{
    uint64_t z = (g->state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* Uniform in lo..hi, both included. */
static uint64_t between(Gen *g, uint64_t lo, uint64_t hi)
{
    uint64_t span = hi - lo + 1;
    return span ? lo + next(g) % span : next(g);
}

static double unit(Gen *g)
{
    return (double)(next(g) >> 11) * 0x1p-53;
}

static int64_t as_int(rt_prim p, rt_scalar s)
{
    switch (p) {
    case RT_I8: return s.i8;
    case RT_I16: return s.i16;
    case RT_I32: return s.i32;
    case RT_U8: return s.u8;
    case RT_U16: return s.u16;
    case RT_U32: return s.u32;
    case RT_BOOL: return s.b;
    case RT_I64:
    case RT_U64:
    case RT_F32:
    case RT_F64: return s.i64;
    }
    return 0;
}

static void random_element(Gen *g, rt_prim p, void *to)
{
    const Bounds *b = &g->bounds[p];
    if (p == RT_F32) {
        float lo = b->set ? b->lo.f32 : 0, hi = b->set ? b->hi.f32 : 1;
        *(float *)to = lo + (float)unit(g) * (hi - lo);
    } else if (p == RT_F64) {
        double lo = b->set ? b->lo.f64 : 0, hi = b->set ? b->hi.f64 : 1;
        *(double *)to = lo + unit(g) * (hi - lo);
    } else {
        uint64_t v = p == RT_BOOL ? next(g) >> 63 : next(g);
        if (b->set)
            v = between(g, (uint64_t)as_int(p, b->lo), (uint64_t)as_int(p, b->hi));
        memcpy(to, &v, (size_t)rt_prim_size(p)); /* little endian, as the data formats are */
    }
}

/* "[10][20]f32": the shape and element type. False if it is no type. */
static bool parse_type(const char *s, rt_prim *p, int *rank, int64_t *shape)
{
    for (*rank = 0; *s == '['; ++*rank) {
        char *end;
        errno = 0;
        long long n = strtoll(s + 1, &end, 10);
        if (*rank == RT_MAX_RANK || end == s + 1 || n < 0 || errno)
            return false;
        if (strncmp(end, "i64", 3) == 0)
            end += 3;
        if (*end != ']')
            return false;
        shape[*rank] = n;
        s = end + 1;
    }
    return rt_prim_named(s, p);
}

static int write_value(const Gen *g, const rt_hvalue *v)
{
    bool ok =
        g->binary ? rt_write_binary(stdout, v) : rt_write_text(stdout, v) && putchar('\n') != EOF;
    if (ok)
        return 0;
    fprintf(stderr, "minifut dataset: cannot write: %s\n", strerror(errno));
    return EXIT_USER;
}

static int generate(Gen *g, const char *what)
{
    rt_prim p;
    int rank, code;
    int64_t shape[RT_MAX_RANK];
    rt_hvalue v;
    if (!parse_type(what, &p, &rank, shape)) {
        rt_reader r;
        rt_reader_mem(&r, what, strlen(what), what);
        bool ok = rt_read_any(&r, &v) && rt_reader_at_end(&r);
        if (!ok) {
            fprintf(stderr, "minifut dataset: '%s' is neither a type such as [10]f32 nor a value\n",
                    what);
            return EXIT_USAGE;
        }
    } else if (!rt_hvalue_make(&v, p, rank, shape)) {
        fprintf(stderr, "minifut dataset: %s is too large\n", what);
        return EXIT_USER;
    } else {
        int64_t n = rt_hvalue_count(&v);
        for (int64_t i = 0; i < n; i++)
            random_element(g, p, (char *)v.data + i * rt_prim_size(p));
    }
    code = write_value(g, &v);
    rt_hvalue_free(&v);
    return code;
}

/* "--f32-bounds=A:B" */
static bool parse_bounds(Gen *g, const char *arg)
{
    const char *dash = strstr(arg, "-bounds="), *colon = dash ? strchr(dash, ':') : NULL;
    char type[8] = "", lo[64] = "";
    if (!colon || dash - arg >= (int)sizeof type || colon - dash - 8 >= (int)sizeof lo)
        return false;
    memcpy(type, arg, (size_t)(dash - arg));
    memcpy(lo, dash + 8, (size_t)(colon - dash - 8));
    rt_prim p;
    if (!rt_prim_named(type, &p))
        return false;
    Bounds b = {.set = true};
    bool is_float = p == RT_F32 || p == RT_F64;
    if (!rt_parse_scalar(lo, p, &b.lo) || !rt_parse_scalar(colon + 1, p, &b.hi))
        return false;
    if (is_float      ? (p == RT_F32 ? b.lo.f32 > b.hi.f32 : b.lo.f64 > b.hi.f64)
        : p == RT_U64 ? b.lo.u64 > b.hi.u64
                      : as_int(p, b.lo) > as_int(p, b.hi))
        return false;
    g->bounds[p] = b;
    return true;
}

static int parse_seed(Gen *g, const char *v)
{
    char *end;
    errno = 0;
    g->state = strtoull(v, &end, 10);
    if (*v >= '0' && *v <= '9' && !*end && !errno)
        return 0;
    fprintf(stderr, "minifut dataset: a seed is a number, not '%s'\n", v);
    return EXIT_USAGE;
}

/* The value of "-x V", "--long=V" or "--long V", NULL if this is another option; moves *i over it.
 */
static const char *value_of(const char *opt, const char *lng, int argc, char **argv, int *i)
{
    const char *a = argv[*i];
    size_t n = strlen(lng);
    if (strncmp(a, lng, n) == 0 && a[n] == '=')
        return a + n + 1;
    if (strcmp(a, opt) != 0 && strcmp(a, lng) != 0)
        return NULL;
    if (*i + 1 == argc) {
        fprintf(stderr, "minifut dataset: option %s needs a value (minifut dataset --help)\n", a);
        exit(EXIT_USAGE);
    }
    return argv[++*i];
}

int dataset_main(int argc, char **argv)
{
    Gen g = {.state = 1};
    int made = 0, code = 0;
    for (int i = 0; i < argc && code == 0; i++) {
        const char *a = argv[i], *v;
        if (strcmp(a, "--help") == 0 || strcmp(a, "-h") == 0) {
            fputs(help, stdout);
            return 0;
        } else if (strcmp(a, "-b") == 0 || strcmp(a, "--binary") == 0) {
            g.binary = true;
        } else if (strcmp(a, "-t") == 0 || strcmp(a, "--text") == 0) {
            g.binary = false;
        } else if ((v = value_of("-s", "--seed", argc, argv, &i))) {
            code = parse_seed(&g, v);
        } else if ((v = value_of("-g", "--generate", argc, argv, &i))) {
            code = generate(&g, v);
            made++;
        } else if (strncmp(a, "--", 2) != 0 || !parse_bounds(&g, a + 2)) {
            fprintf(stderr, "minifut dataset: cannot understand '%s' (minifut dataset --help)\n",
                    a);
            code = EXIT_USAGE;
        }
    }
    if (!made && code == 0) {
        fputs(help, stderr);
        code = EXIT_USAGE;
    }
    if (fflush(stdout) != 0 && code == 0) {
        fprintf(stderr, "minifut dataset: cannot write: %s\n", strerror(errno));
        code = EXIT_USER;
    }
    return code;
}
