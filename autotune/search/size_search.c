/* Coordinate search for sizes: a change that one data set loses by ends a try, so most cost few
 * runs. */
#include "autotune/search/size_search.h"

#include "autotune/search/paths.h"

#include <math.h>
#include <string.h>

/* What a data set must gain (relative) that a default be left for it. Many values are tried, so the
 * luckiest is faster by something. */
static const double WORTH = 0.03;
/* Values from the default : FARTHEST to the default * FARTHEST are tried. */
enum { FARTHEST = 16, PASSES = 2 };

typedef VEC(const int64_t *) Known;

typedef struct {
    Arena *a;
    const SizeSearch *s;
    SizesFound *found;
    Sample *base, *now; /* [dataset] under the defaults, and the sizes chosen so far; +inf: it does
                           not count */
    double longest;     /* measurement so far, in seconds */
    Known known;        /* values of all sizes that were tried */
    int first;          /* the data set that lost last: likely the next one to lose */
} Coordinates;

static bool over(const Coordinates *c)
{
    return c->found->runs >= c->s->tests || c->s->clock() + c->longest >= c->s->seconds;
}

/* A measurement: it may have built kernels. */
static bool measure(Coordinates *c, int d, const int64_t *values, double rival, Sample *out)
{
    double from = c->s->clock();
    c->found->complete = c->s->run(c->s->env, d, values, rival, 0, out);
    c->found->runs += c->found->complete;
    c->longest = fmax(c->longest, c->s->clock() - from);
    return c->found->complete;
}

static bool faster(const Sample *a, const Sample *than)
{
    return a->seconds < (1 - WORTH) * than->seconds &&
           !times_equal(a->seconds, than->seconds, a->noise + than->noise);
}

static bool slower(const Sample *a, const Sample *than)
{
    return a->seconds > than->seconds &&
           !times_equal(a->seconds, than->seconds, a->noise + than->noise);
}

/* May anything more be measured? */
static bool goes_on(Coordinates *c)
{
    c->found->limited |= over(c);
    return c->found->complete && !c->found->limited;
}

/* Does some data set gain by the values, and none lose? By a measurement each, up to the first that
 * loses. */
static bool seems_better(Coordinates *c, const int64_t *values)
{
    bool gains = false;
    int n = c->s->n_datasets, first = c->first;
    for (int i = 0; i < n; i++) {
        int d = (first + i) % n;
        Sample then = {0};
        if (isinf(c->now[d].seconds))
            continue;
        if (!goes_on(c) || !measure(c, d, values, c->now[d].seconds, &then))
            return false;
        if (then.cut || slower(&then, &c->now[d])) {
            c->first = d;
            return false;
        }
        gains |= faster(&then, &c->now[d]);
    }
    return gains;
}

/* The same by pairs, whose times then count. */
static bool is_better(Coordinates *c, const int64_t *values)
{
    const int64_t *const both[2] = {c->found->chosen, values};
    bool gains = false;
    Sample *then = NEWN(c->a, Sample, c->s->n_datasets);
    for (int d = 0; d < c->s->n_datasets; d++) {
        Sample pair[2];
        then[d] = c->now[d];
        if (isinf(c->now[d].seconds))
            continue;
        if (!goes_on(c))
            return false;
        c->found->complete = c->s->pair(c->s->env, d, both, pair);
        c->found->runs += 2 * c->found->complete;
        /* What is no loss beyond noise may be one, several times over. */
        if (!c->found->complete || slower(&pair[1], &pair[0]) || slower(&pair[1], &c->base[d]))
            return false;
        gains |= faster(&pair[1], &pair[0]);
        then[d] = pair[1];
    }
    if (gains)
        memcpy(c->now, then, sizeof *then * (size_t)c->s->n_datasets);
    return gains;
}

static bool was_tried(Coordinates *c, const int64_t *values)
{
    size_t bytes = sizeof *values * (size_t)c->s->n;
    for (int i = 0; i < c->known.n; i++)
        if (memcmp(c->known.at[i], values, bytes) == 0)
            return true;
    vec_push(c->a, &c->known, (const int64_t *)arena_memdup(c->a, values, bytes));
    return false;
}

/* Twice the value or half of it, 0 where it is the default; -1 if it is too far from that. */
static int64_t neighbour(int64_t def, int64_t value, bool up)
{
    int64_t now = value ? value : def, next = up ? 2 * now : now / 2;
    if (next < 1 || next > def * FARTHEST || next * FARTHEST < def)
        return -1;
    return next == def ? 0 : next;
}

/* Goes on in one direction as long as that gains. Did it? */
static bool climb(Coordinates *c, int size, bool up)
{
    int64_t *values = arena_memdup(c->a, c->found->chosen, sizeof *values * (size_t)c->s->n);
    for (bool moved = false;; moved = true) {
        values[size] = neighbour(c->s->defaults[size], c->found->chosen[size], up);
        if (values[size] < 0 || was_tried(c, values) || !goes_on(c))
            return moved;
        c->found->tried[size]++;
        if (!seems_better(c, values) || !is_better(c, values))
            return moved;
        c->found->chosen[size] = values[size];
    }
}

static void measure_defaults(Coordinates *c)
{
    int n = c->s->n_datasets;
    for (int d = 0; d < n; d++)
        c->base[d].seconds = INFINITY;
    for (int d = 0; d < n && goes_on(c); d++)
        measure(c, d, c->found->chosen, INFINITY, &c->base[d]);
    memcpy(c->now, c->base, sizeof *c->now * (size_t)n);
}

SizesFound sizes_search(Arena *a, const SizeSearch *s)
{
    SizesFound found = {.complete = true};
    int wanted = 0;
    found.chosen = NEWN(a, int64_t, s->n);
    found.tried = NEWN(a, int, s->n);
    for (int i = 0; i < s->n; i++)
        wanted += s->defaults[i] > 0;
    if (!wanted)
        return found;
    Coordinates c = {.a = a, .s = s, .found = &found, .longest = s->expected};
    c.base = NEWN(a, Sample, s->n_datasets);
    c.now = NEWN(a, Sample, s->n_datasets);
    was_tried(&c, found.chosen);
    measure_defaults(&c);
    bool moved = true;
    for (int pass = 0; pass < PASSES && moved && goes_on(&c); pass++) {
        moved = false;
        for (int i = 0; i < s->n; i++)
            if (s->defaults[i] > 0)
                moved |= climb(&c, i, true) || climb(&c, i, false);
    }
    return found;
}
