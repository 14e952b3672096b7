/* minifut dataset: random inputs. */
#include "autotune/autotune.h"
#include "autotune/random.h"
#include "base/diag.h"
#include "base/vec.h"
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

/* A value to make, with the options that stand before it. */
typedef struct {
    const char *what;
    bool binary, seeded; /* seeded: `seed` is new since the last value */
    uint64_t seed;
    RandomBounds bounds[RT_N_PRIMS];
} Order;

typedef struct {
    Arena *a;
    Order next; /* the options so far */
    VEC(Order) orders;
} Gen;

static int write_value(const Order *o, const rt_hvalue *v)
{
    bool ok =
        o->binary ? rt_write_binary(stdout, v) : rt_write_text(stdout, v) && putchar('\n') != EOF;
    if (ok)
        return 0;
    fprintf(stderr, "minifut dataset: cannot write: %s\n", strerror(errno));
    return EXIT_USER;
}

/* Takes a -g. */
static int order(Gen *g, const char *what)
{
    const char *wrong = random_check(g->a, what);
    if (wrong) {
        fprintf(stderr, "minifut dataset: %s\n", wrong);
        return EXIT_USAGE;
    }
    g->next.what = what;
    vec_push(g->a, &g->orders, g->next);
    g->next.seeded = false;
    return 0;
}

/* Makes what was asked for, once all of it is known to be right. */
static int generate(Gen *g)
{
    RandomGen random = {.state = 1};
    for (int i = 0; i < g->orders.n; i++) {
        const Order *o = &g->orders.at[i];
        rt_hvalue v;
        memcpy(random.bounds, o->bounds, sizeof random.bounds);
        random.state = o->seeded ? o->seed : random.state;
        const char *wrong = random_value(g->a, &random, o->what, &v);
        if (wrong) {
            fprintf(stderr, "minifut dataset: %s\n", wrong);
            return EXIT_USER;
        }
        int code = write_value(o, &v);
        rt_hvalue_free(&v);
        if (code)
            return code;
    }
    return 0;
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
    RandomBounds b = {.set = true};
    bool is_float = p == RT_F32 || p == RT_F64;
    if (!rt_parse_scalar(lo, p, &b.lo) || !rt_parse_scalar(colon + 1, p, &b.hi))
        return false;
    double least = p == RT_F32 ? (double)b.lo.f32 : b.lo.f64,
           most = p == RT_F32 ? (double)b.hi.f32 : b.hi.f64;
    if (is_float      ? !isfinite(least) || !isfinite(most) || least > most
        : p == RT_U64 ? b.lo.u64 > b.hi.u64
                      : random_int(p, b.lo) > random_int(p, b.hi))
        return false;
    g->next.bounds[p] = b;
    return true;
}

static int parse_seed(Gen *g, const char *v)
{
    char *end;
    errno = 0;
    g->next.seeded = true;
    g->next.seed = strtoull(v, &end, 10);
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
    Gen g = {.a = arena_new()};
    int code = 0;
    for (int i = 0; i < argc && code == 0; i++) {
        const char *a = argv[i], *v;
        if (strcmp(a, "--help") == 0 || strcmp(a, "-h") == 0) {
            fputs(help, stdout);
            return 0;
        } else if (strcmp(a, "-b") == 0 || strcmp(a, "--binary") == 0) {
            g.next.binary = true;
        } else if (strcmp(a, "-t") == 0 || strcmp(a, "--text") == 0) {
            g.next.binary = false;
        } else if ((v = value_of("-s", "--seed", argc, argv, &i))) {
            code = parse_seed(&g, v);
        } else if ((v = value_of("-g", "--generate", argc, argv, &i))) {
            code = order(&g, v);
        } else if (strncmp(a, "--", 2) != 0 || !parse_bounds(&g, a + 2)) {
            fprintf(stderr, "minifut dataset: cannot understand '%s' (minifut dataset --help)\n",
                    a);
            code = EXIT_USAGE;
        }
    }
    if (code == 0 && !g.orders.n) {
        fputs(help, stderr);
        code = EXIT_USAGE;
    }
    if (code == 0)
        code = generate(&g);
    if (fflush(stdout) != 0 && code == 0) {
        fprintf(stderr, "minifut dataset: cannot write: %s\n", strerror(errno));
        code = EXIT_USER;
    }
    arena_free(g.a);
    return code;
}
