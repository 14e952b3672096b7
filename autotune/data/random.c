#include "autotune/data/random.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t next(RandomGen *g)
{
    uint64_t z = (g->state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* Uniform in lo..hi, both included. */
static uint64_t between(RandomGen *g, uint64_t lo, uint64_t hi)
{
    uint64_t span = hi - lo + 1;
    return span ? lo + next(g) % span : next(g);
}

static double unit(RandomGen *g)
{
    return (double)(next(g) >> 11) * 0x1p-53;
}

/* X: an element of a type of floats, with the arithmetic of the type. */
#define RANDOM_FLOAT(TAG, T, text, bits, C, ...)                                                   \
    case RT_##TAG: {                                                                               \
        C lo = b->set ? b->lo.T : 0, hi = b->set ? b->hi.T : 1;                                    \
        C u = (C)unit(g), span = hi - lo; /* of bounds far apart, infinite */                      \
        *(C *)to = isfinite(span) ? lo + u * span : lo * (1 - u) + hi * u;                         \
        return;                                                                                    \
    }

/* ... of one without: with f64's, so that no span is infinite. */
#define RANDOM_SOFT(TAG, ...)                                                                      \
    case RT_##TAG: {                                                                               \
        double lo = b->set ? rt_float_get(p, &b->lo) : 0,                                          \
               hi = b->set ? rt_float_get(p, &b->hi) : 1;                                          \
        rt_scalar x;                                                                               \
        rt_float_put(p, lo + unit(g) * (hi - lo), &x);                                             \
        memcpy(to, &x, (size_t)rt_prim_size(p));                                                   \
        return;                                                                                    \
    }

static void random_element(RandomGen *g, rt_prim p, void *to)
{
    const RandomBounds *b = &g->bounds[p];
    switch ((int)p) {
        RT_HARD_FLOATS(RANDOM_FLOAT, )
        RT_SOFT_FLOATS(RANDOM_SOFT, )
    }
    uint64_t v = p == RT_BOOL ? next(g) >> 63 : next(g);
    if (b->set)
        v = between(g, (uint64_t)rt_int_get(p, &b->lo), (uint64_t)rt_int_get(p, &b->hi));
    memcpy(to, &v, (size_t)rt_prim_size(p)); /* little endian, as the data formats are */
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

static bool read_value(const char *what, rt_hvalue *v)
{
    rt_reader r;
    rt_reader_mem(&r, what, strlen(what), what);
    if (!rt_read_any(&r, v))
        return false;
    if (rt_reader_at_end(&r))
        return true;
    rt_hvalue_free(v);
    return false;
}

static const char *neither(Arena *a, const char *what)
{
    return arena_printf(a, "'%s' is neither a type such as [10]f32 nor a value", what);
}

const char *random_check(Arena *a, const char *what)
{
    rt_prim p;
    int rank;
    int64_t shape[RT_MAX_RANK];
    rt_hvalue v;
    if (parse_type(what, &p, &rank, shape))
        return NULL;
    if (!read_value(what, &v))
        return neither(a, what);
    rt_hvalue_free(&v);
    return NULL;
}

const char *random_value(Arena *a, RandomGen *g, const char *what, rt_hvalue *v)
{
    rt_prim p;
    int rank;
    int64_t shape[RT_MAX_RANK];
    if (!parse_type(what, &p, &rank, shape))
        return read_value(what, v) ? NULL : neither(a, what);
    if (!rt_hvalue_make(v, p, rank, shape))
        return arena_printf(a, "%s is too large", what);
    int64_t n = rt_hvalue_count(v);
    for (int64_t i = 0; i < n; i++)
        random_element(g, p, (char *)v->data + i * rt_prim_size(p));
    return NULL;
}
