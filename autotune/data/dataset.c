/* minifut dataset: random inputs. */
#include "autotune/autotune.h"
#include "autotune/data/random.h"
#include "base/diag.h"
#include "base/vec.h"
#include "command/args.h"
#include "common/values.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char about[] = "usage: minifut dataset [options] -g TYPE|VALUE ...\n"
                            "\n"
                            "Writes random values to standard output, one for each -g, in order; "
                            "other options are for the values\n"
                            "that follow.\n";

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

static int take_order(void *env, const char *what)
{
    Gen *g = env;
    const char *wrong = random_check(g->a, what);
    if (wrong) {
        fprintf(stderr, "minifut dataset: %s\n", wrong);
        return EXIT_USAGE;
    }
    g->next.what = what;
    vec_push(g->a, &g->orders, g->next);
    g->next.seeded = false;
    return -1;
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
    if (!rt_parse_scalar(lo, p, &b.lo) || !rt_parse_scalar(colon + 1, p, &b.hi))
        return false;
    double least = rt_float_get(p, &b.lo), most = rt_float_get(p, &b.hi);
    int64_t from = rt_int_get(p, &b.lo), to = rt_int_get(p, &b.hi);
    if (rt_prim_is_float(p)    ? !isfinite(least) || !isfinite(most) || least > most
        : rt_prim_is_signed(p) ? from > to
                               : (uint64_t)from > (uint64_t)to)
        return false;
    g->next.bounds[p] = b;
    return true;
}

static int take_seed(void *env, const char *v)
{
    Gen *g = env;
    char *end;
    errno = 0;
    g->next.seeded = true;
    g->next.seed = strtoull(v, &end, 10);
    if (*v >= '0' && *v <= '9' && !*end && !errno)
        return -1;
    fprintf(stderr, "minifut dataset: a seed is a number, not '%s'\n", v);
    return EXIT_USAGE;
}

static int take_text(void *env, const char *none)
{
    (void)none;
    ((Gen *)env)->next.binary = false;
    return -1;
}

static int take_binary(void *env, const char *none)
{
    (void)none;
    ((Gen *)env)->next.binary = true;
    return -1;
}

static int take_word(void *env, const char *word)
{
    (void)env;
    fprintf(stderr, "minifut dataset: cannot understand '%s' (minifut dataset --help)\n", word);
    return EXIT_USAGE;
}

#define NAMED(TAG, T, text, ...) text " "

static int take_bounds(void *env, const char *arg)
{
    if (strncmp(arg, "--", 2) != 0 || !strstr(arg, "-bounds"))
        return ARGS_UNKNOWN;
    return parse_bounds(env, arg + 2) ? -1 : take_word(env, arg);
}

int dataset_main(int argc, char **argv)
{
    static const ArgRow rows[] = {
        {"-g, --generate T",
         "a type such as f32, [100]i32, [1024][64]f32, or a scalar value such as 42i64",
         .take = take_order},
        {"-s, --seed N", "seed (default 1)", .take = take_seed},
        {"-t, --text", "as text (default)", .take = take_text},
        {"-b, --binary", "in binary form", .take = take_binary},
        {"--TYPE-bounds=A:B",
         "least and largest value of that element type, e.g. --f32-bounds=-1:1\n"
         "(default: floats 0:1, integers their whole range)",
         .take = take_word, .values = RT_NUMBERS(NAMED, )},
        {0}};
    Gen g = {.a = arena_new()};
    const Args args = {"minifut dataset", about, rows, 0, &g, take_bounds, take_word, NULL, NULL};
    int code = args_read(&args, argc, argv);
    if (code < 0 && !g.orders.n) {
        args_help(&args, stderr);
        code = EXIT_USAGE;
    }
    if (code < 0)
        code = generate(&g);
    if (fflush(stdout) != 0 && code == 0) {
        fprintf(stderr, "minifut dataset: cannot write: %s\n", strerror(errno));
        code = EXIT_USER;
    }
    arena_free(g.a);
    return code;
}
