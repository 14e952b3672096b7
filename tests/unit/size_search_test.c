/* The search for sizes on simulated programs: it finds what is best where that is so for all data
 * sets, loses on none, and ends at its limits. */
#include "autotune/search/size_search.h"
#include "tests/unit/check.h"

#include <math.h>
#include <stdlib.h>

enum { MAX_SIZES = 4, MAX_DATA = 6 };

/* Times have a factor for each size, which grows by a slope on both sides of the best value. */
typedef struct {
    int n, n_data;
    int64_t defaults[MAX_SIZES];
    int best[MAX_DATA][MAX_SIZES];     /* twice (half, if negative) the default so many times */
    double slope[MAX_DATA][MAX_SIZES]; /* of each step; 0: no matter */
    int fails[MAX_SIZES];              /* from so many steps on nothing runs; 0: never */
    double base[MAX_DATA], noise;
    int runs, give_up;  /* the run at which the function gives up; 0: never */
    double time, build; /* of the clock; what sizes that are no defaults take more */
} Program;

static double uniform(double low, double high)
{
    return low + (high - low) * rand() / RAND_MAX;
}

static int steps_of(const Program *p, const int64_t *values, int s)
{
    return values[s] ? (int)lround(log2((double)values[s] / (double)p->defaults[s])) : 0;
}

/* What the values take, without noise. */
static double cost(const Program *p, int d, const int64_t *values)
{
    double t = p->base[d];
    for (int s = 0; s < p->n; s++) {
        int k = steps_of(p, values, s);
        if (p->fails[s] && abs(k) >= p->fails[s])
            return INFINITY;
        t *= pow(1 + p->slope[d][s], abs(k - p->best[d][s]));
    }
    return t;
}

static bool run(void *env, int d, const int64_t *values, double rival, double parts, Sample *out)
{
    Program *p = env;
    (void)parts;
    double t = cost(p, d, values);
    if (p->give_up && p->runs >= p->give_up)
        return false;
    p->runs++;
    p->time += 1;
    for (int s = 0; s < p->n; s++)
        p->time += values[s] ? p->build : 0;
    *out = (Sample){
        .seconds = t * (1 + uniform(-1, 1) * p->noise), .noise = p->noise, .cut = t > 2 * rival};
    return true;
}

static bool run_pair(void *env, int d, const int64_t *const values[2], Sample out[2])
{
    return run(env, d, values[0], INFINITY, 0, &out[0]) &&
           run(env, d, values[1], INFINITY, 0, &out[1]);
}

static Program *clocked;

static double clock_of(void)
{
    return clocked->time;
}

static SizesFound search(Arena *a, Program *p, int tests, double seconds)
{
    clocked = p;
    p->runs = 0;
    p->time = 0;
    return sizes_search(a, &(SizeSearch){p->n, p->n_data, p->defaults, run, run_pair, p, tests,
                                         seconds, 1, clock_of});
}

static Program program(int n, int n_data)
{
    static const int64_t defaults[MAX_SIZES] = {256, 1056, 4, 132};
    Program p = {.n = n, .n_data = n_data};
    for (int s = 0; s < n; s++)
        p.defaults[s] = defaults[s];
    for (int d = 0; d < n_data; d++)
        p.base[d] = pow(10, uniform(-4, 0));
    return p;
}

/* As many steps as the default can be halved and doubled. */
static int some_steps(const Program *p, int s)
{
    int k = rand() % 7 - 3, down = (int)floor(log2((double)p->defaults[s]));
    return k < -down ? -down : k;
}

/* One best value suits all data sets: it is found, in whatever size it is. */
static void test_best(Arena *a)
{
    for (int i = 0; i < 300; i++) {
        Program p = program(1 + rand() % MAX_SIZES, 1 + rand() % MAX_DATA);
        for (int s = 0; s < p.n; s++) {
            int k = some_steps(&p, s);
            for (int d = 0; d < p.n_data; d++) {
                p.best[d][s] = k;
                p.slope[d][s] = uniform(0.06, 1);
            }
        }
        SizesFound f = search(a, &p, 10000, INFINITY);
        bool best = f.complete && !f.limited && f.runs == p.runs;
        for (int s = 0; s < p.n; s++)
            best &= steps_of(&p, f.chosen, s) == p.best[0][s] &&
                    (f.chosen[s] == 0) == (p.best[0][s] == 0);
        CHECK(best);
    }
}

/* Nothing matters: each neighbour is tried once, on all data sets. */
static void test_flat(Arena *a)
{
    Program p = program(3, 4);
    SizesFound f = search(a, &p, 10000, INFINITY);
    CHECK_INT(f.runs, 4 + 4 * 2 * 3);
    for (int s = 0; s < 3; s++) {
        CHECK_INT(f.chosen[s], 0);
        CHECK_INT(f.tried[s], 2);
    }
    p.defaults[1] = 0; /* left alone */
    f = search(a, &p, 10000, INFINITY);
    CHECK_INT(f.runs, 4 + 4 * 2 * 2);
    CHECK_INT(f.tried[1], 0);
    p.n = 0;
    f = search(a, &p, 10000, INFINITY);
    CHECK(f.complete && f.runs == 0);
}

/* A data set that loses ends a try, and is asked first from then on. */
static void test_loser(Arena *a)
{
    Program p = program(1, 5);
    p.best[0][0] = 1;
    p.slope[0][0] = p.slope[3][0] = 0.5;
    SizesFound f = search(a, &p, 10000, INFINITY);
    CHECK_INT(f.runs, 5 + 4 + 1);
    CHECK_INT(f.chosen[0], 0);
}

/* Each data set has other best values. */
static Program quarrel(double noise)
{
    Program p = program(1 + rand() % MAX_SIZES, 1 + rand() % MAX_DATA);
    p.noise = noise;
    for (int d = 0; d < p.n_data; d++)
        for (int s = 0; s < p.n; s++) {
            p.best[d][s] = some_steps(&p, s);
            p.slope[d][s] = rand() % 2 ? 0 : uniform(0, 0.5);
        }
    return p;
}

/* By how much a data set is slower than with the defaults, relative, at most. */
static double loss(const Program *p, const int64_t *chosen, double *gain)
{
    const int64_t none[MAX_SIZES] = {0};
    double most = 0;
    for (int d = 0; d < p->n_data; d++) {
        double ratio = cost(p, d, chosen) / cost(p, d, none);
        most = fmax(most, ratio - 1);
        *gain = fmax(*gain, 1 - ratio);
    }
    return most;
}

/* A default is left only if some data set gains and none loses; with noise, hardly ever. */
static void test_no_loss(Arena *a)
{
    int gains = 0, losses = 0;
    for (int i = 0; i < 1000; i++) {
        double noise = i % 2 ? 0.015 : 0, gain = 0;
        Program p = quarrel(noise);
        SizesFound f = search(a, &p, 10000, INFINITY);
        double lost = loss(&p, f.chosen, &gain);
        bool changed = false;
        for (int s = 0; s < p.n; s++)
            changed |= f.chosen[s] != 0;
        CHECK(noise > 0 || (lost <= 0.0201 && (gain >= 0.0299) == changed));
        gains += gain > 0.03;
        losses += lost > 0.02 + 3 * noise;
    }
    CHECK(gains > 300);
    CHECK(losses <= 10);
}

/* Values that nothing runs with end a direction; the other one is still tried. */
static void test_failing(Arena *a)
{
    Program p = program(2, 2);
    p.fails[0] = 2;
    p.fails[1] = 1;
    p.best[0][0] = p.best[1][0] = 3;
    p.slope[0][0] = p.slope[1][0] = 0.5;
    SizesFound f = search(a, &p, 10000, INFINITY);
    CHECK_INT(f.chosen[0], 512);
    CHECK_INT(f.chosen[1], 0);
    p.base[1] = INFINITY; /* a data set on which nothing runs does not count */
    f = search(a, &p, 10000, INFINITY);
    CHECK_INT(f.chosen[0], 512);
}

static void test_limits(Arena *a)
{
    Program p = program(2, 3);
    for (int d = 0; d < 3; d++) {
        p.best[d][0] = 3;
        p.slope[d][0] = 0.5;
    }
    int64_t last = 0;
    for (int tests = 0; tests < 60; tests++) {
        SizesFound f = search(a, &p, tests, INFINITY), g = search(a, &p, 10000, tests + 1);
        CHECK(f.runs <= tests + 1 && f.complete); /* a pair is not taken apart */
        CHECK(tests > 3 || f.tried[0] + f.tried[1] == 0);
        CHECK(g.runs == f.runs && g.chosen[0] == f.chosen[0]);
        CHECK(f.limited == (f.runs >= tests && f.chosen[0] < 2048) || f.chosen[0] == 2048);
        CHECK(f.chosen[0] >= last); /* what was found by then stays */
        last = f.chosen[0];
        p.give_up = tests;
        f = search(a, &p, 10000, INFINITY);
        CHECK(tests == 0 || f.complete || (f.runs <= tests && f.chosen[0] <= last));
        p.give_up = 0;
    }
    CHECK_INT(last, 2048);
}

/* What takes longer than it was expected to, as it builds kernels, counts for what follows. */
static void test_long(Arena *a)
{
    Program p = program(1, 4);
    p.build = 10;
    SizesFound f = search(a, &p, 10000, 20); /* four for the defaults, then one that takes 11 */
    CHECK(f.limited && f.complete);
    CHECK_INT(f.runs, 5);
    f = search(a, &p, 10000, 29);
    CHECK_INT(f.runs, 6);
    f = search(a, &p, 10000, 1);
    CHECK(f.limited && f.runs == 0);
}

int main(void)
{
    Arena *a = arena_new();
    srand(11);
    test_best(a);
    test_flat(a);
    test_loser(a);
    test_no_loss(a);
    test_failing(a);
    test_limits(a);
    test_long(a);
    arena_free(a);
    return check_summary();
}
