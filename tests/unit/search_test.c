/* The tuner's search on simulated programs: exactly n x d runs when sizes do not vary, logarithmic
 * cost when they do; the optimum, which is found otherwise here, within what counts as equal; what
 * noise, cut runs and data sets left out change of that. */
#include "autotune/search/search.h"
#include "tests/unit/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NODES = 30, MAX_DATA = 10, MAX_PARS = 64, MAX_PATHS = 512 };

/* A program: the forest, for each data set and threshold the degrees of parallelism that it is
 * compared with (one each time it is executed), what it decides untuned, and the cost of executing
 * a version once. */
typedef struct {
    Forest f;
    int n_data;
    int64_t pars[MAX_DATA][MAX_NODES][MAX_PARS];
    int n_pars[MAX_DATA][MAX_NODES];
    bool untuned[MAX_DATA][MAX_NODES][MAX_PARS];
    /* Seconds of the guarded version for each par, and of what runs when the comparison
     * is false. */
    double on[MAX_DATA][MAX_NODES][MAX_PARS], off[MAX_DATA][MAX_NODES];
} Program;

/* How it is run. */
typedef struct {
    Arena *a;
    const Program *p;
    double noise;  /* standard deviation of a time, relative */
    double cut;    /* runs that take so many times longer than their rival are cut; 0: none */
    bool tells;    /* runs tell their parts */
    double beside; /* what it costs that node 1's version runs beside node 0's */
    int runs, cuts;
    uint64_t paths[MAX_DATA][MAX_PATHS]; /* hashes of what was executed */
    int n_paths[MAX_DATA];
    bool repeated; /* a path was run twice */
} Env;

static bool child_of(const Program *p, int i, int parent, bool outcome)
{
    const Node *n = &p->f.nodes.at[i];
    return n->parent == parent && (parent < 0 || n->outcome == outcome);
}

static bool has_child(const Program *p, int node, bool outcome)
{
    for (int i = 0; i < p->f.nodes.n; i++)
        if (child_of(p, i, node, outcome))
            return true;
    return false;
}

static bool outcome_of(const Program *p, int d, int i, int k, int64_t set)
{
    return set ? set <= p->pars[d][i][k] : p->untuned[d][i][k];
}

/* Executes the comparisons under a parent and outcome; their time. */
static double execute(Arena *a, const Program *p, int d, const int64_t *set, int parent,
                      bool outcome, Compareds *log)
{
    double t = 0;
    for (int i = 0; i < p->f.nodes.n; i++) {
        if (!child_of(p, i, parent, outcome))
            continue;
        for (int k = 0; k < p->n_pars[d][i]; k++) {
            bool on = outcome_of(p, d, i, k, set[i]);
            if (log)
                vec_push(a, log, ((Compared){i, p->pars[d][i][k], on}));
            t += on ? p->on[d][i][k] : p->off[d][i];
            if (has_child(p, i, on))
                t += execute(a, p, d, set, i, on, log) / p->n_pars[d][i];
        }
    }
    return t;
}

static double time_of(const Program *p, int d, const int64_t *set)
{
    return execute(NULL, p, d, set, -1, false, NULL);
}

static double uniform(void)
{
    return (rand() + 0.5) / (RAND_MAX + 1.0);
}

static int cmp_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of some noisy times, with its confidence interval as measure.c has it. */
static void measured(double t, double deviation, Sample *out)
{
    enum { RUNS = 45 };
    double times[RUNS];
    for (int i = 0; i < RUNS; i++)
        times[i] = t * (1 + deviation * sqrt(-2 * log(uniform())) * cos(6.283185307 * uniform()));
    qsort(times, RUNS, sizeof *times, cmp_double);
    out->seconds = times[RUNS / 2];
    out->noise = 1.57 * (times[3 * RUNS / 4] - times[RUNS / 4]) / sqrt(RUNS) / out->seconds;
}

/* The parts of a run that breaks off after so many seconds: what is executed is what has a share in
 * the loop around it, as execute has it. */
static void tell_parts(Env *e, int d, const int64_t *set, int parent, bool outcome, double share,
                       double *left, Sample *out)
{
    const Program *p = e->p;
    for (int i = 0; i < p->f.nodes.n; i++) {
        if (!child_of(p, i, parent, outcome))
            continue;
        Part part = {.node = i};
        int held = 0, n = p->n_pars[d][i];
        for (int k = 0; k < n; k++) {
            bool on = outcome_of(p, d, i, k, set[i]);
            held += on;
            part.seconds += share * (on ? p->on[d][i][k] : p->off[d][i]);
        }
        if (i == 1 && held && outcome_of(p, d, 0, 0, set[0]))
            part.seconds += e->beside;
        part.seconds = fmin(part.seconds, *left);
        *left -= part.seconds;
        if (e->noise > 0 && !out->partial) {
            Sample noisy;
            measured(part.seconds, e->noise, &noisy);
            part.seconds = noisy.seconds;
            part.noise = noisy.noise;
        }
        if (part.seconds > 0)
            vec_push(e->a, &out->parts, part);
        for (int on = 0; on < 2; on++) {
            int times = on ? held : n - held;
            if (times && has_child(p, i, on))
                tell_parts(e, d, set, i, on, share * times / n, left, out);
        }
    }
}

static void note_path(Env *e, int d, const Compareds *log)
{
    uint64_t h = 14695981039346656037u;
    for (int i = 0; i < log->n; i++)
        h = (h ^ (uint64_t)(2 * log->at[i].node + log->at[i].held) ^
             (uint64_t)log->at[i].par << 8) *
            1099511628211u;
    for (int i = 0; i < e->n_paths[d]; i++)
        e->repeated |= e->paths[d][i] == h;
    if (e->n_paths[d] < MAX_PATHS)
        e->paths[d][e->n_paths[d]++] = h;
}

static bool run(void *env, int d, const int64_t *settings, double rival, double parts, Sample *out)
{
    Env *e = env;
    double left;
    e->runs++;
    *out = (Sample){0};
    out->seconds = execute(e->a, e->p, d, settings, -1, false, &out->compared);
    if (e->beside > 0 && outcome_of(e->p, d, 0, 0, settings[0]) &&
        outcome_of(e->p, d, 1, 0, settings[1]))
        out->seconds += e->beside;
    note_path(e, d, &out->compared);
    if (e->cut > 0 && out->seconds > e->cut * rival) {
        out->cut = true;
        out->seconds = e->cut * rival + uniform() * (out->seconds - e->cut * rival);
        out->partial = rand() % 2; /* though its comparisons are known */
        e->cuts++;
    } else if (e->noise > 0) {
        measured(out->seconds, e->noise, out);
    }
    left = out->partial ? out->seconds : INFINITY;
    if (parts > 0 && e->tells)
        tell_parts(e, d, settings, -1, false, 1, &left, out);
    return true;
}

static SearchResult search(Arena *a, Env *e)
{
    static const SearchOptions options;
    return search_monotone(a, &e->p->f, e->p->n_data, &options, run, e);
}

/* --- The optimum, found otherwise --- */

/* For all data sets of a mask together, each second of them with its weight: sizes do not vary. */
static double memo[MAX_NODES][1 << MAX_DATA];

static double optimum_below(const Program *p, const double *w, int parent, bool outcome, int mask)
{
    double all = 0;
    for (int i = 0; i < p->f.nodes.n; i++) {
        if (!mask || !child_of(p, i, parent, outcome))
            continue;
        if (memo[i][mask] < 0) {
            double best = INFINITY;
            for (int c = 0; c <= p->n_data; c++) { /* the par of each data set, never */
                double t = 0;
                int on = 0;
                for (int d = 0; d < p->n_data; d++) {
                    int64_t set = c < p->n_data ? p->pars[c][i][0] : THRESHOLD_NEVER;
                    if (!(mask >> d & 1))
                        continue;
                    bool held = outcome_of(p, d, i, 0, set);
                    on |= held << d;
                    t += w[d] * (held ? p->on[d][i][0] : p->off[d][i]);
                }
                t += optimum_below(p, w, i, true, on) + optimum_below(p, w, i, false, mask & ~on);
                best = fmin(best, t);
            }
            memo[i][mask] = best;
        }
        all += memo[i][mask];
    }
    return all;
}

static double optimum(const Program *p, const double *w, int mask)
{
    for (int i = 0; i < p->f.nodes.n; i++)
        for (int m = 0; m < 1 << p->n_data; m++)
            memo[i][m] = -1;
    return optimum_below(p, w, -1, false, mask);
}

static double regret_of(const Program *p, const double *own, const int64_t *set)
{
    double all = 0;
    for (int d = 0; d < p->n_data; d++)
        all += time_of(p, d, set) / own[d] / p->n_data;
    return all;
}

/* The least mean of times : own best times; own is filled in. */
static double least_regret(const Program *p, double *own)
{
    double w[MAX_DATA];
    for (int d = 0; d < p->n_data; d++)
        w[d] = 1;
    for (int d = 0; d < p->n_data; d++)
        own[d] = optimum(p, w, 1 << d);
    for (int d = 0; d < p->n_data; d++)
        w[d] = 1 / own[d] / p->n_data;
    static const int64_t unset[MAX_NODES];
    return fmin(regret_of(p, own, unset), optimum(p, w, (1 << p->n_data) - 1));
}

/* --- Random programs --- */

/* Monotone: a version pays above a bound, the same one for every data set; else it
 * pays anywhere. */
static void random_program(Arena *a, Program *p, int nodes, int data, bool monotone)
{
    p->f = (Forest){0};
    p->n_data = data;
    int deep = rand() % 3; /* chains, or bushes */
    for (int i = 0; i < nodes; i++) {
        int parent = i == 0 || rand() % 8 == 0 ? -1 : rand() % 3 < deep ? rand() % i : i - 1;
        Node n = {arena_printf(a, "t%d", i), parent, rand() % 6 == 0, 32768};
        vec_push(a, &p->f.nodes, n);
        double bound = exp(uniform() * 14), steep = 0.3 + uniform();
        for (int d = 0; d < data; d++) {
            double par = 1 + floor(exp(uniform() * 14)), work = exp(uniform() * 4);
            p->n_pars[d][i] = 1;
            p->pars[d][i][0] = (int64_t)par;
            p->untuned[d][i][0] = rand() % 5 ? par >= 32768 : rand() % 2;
            p->off[d][i] = work;
            p->on[d][i][0] = work * (monotone ? pow(bound / par, steep) : exp(4 * uniform() - 2));
        }
    }
}

static void test_monotone(void)
{
    enum { PROGRAMS = 10000 };
    int distrusted = 0, conflicts = 0;
    double excess = 0;
    for (int round = 0; round < PROGRAMS; round++) {
        Arena *a = arena_new();
        static Program p;
        int nodes = 1 + rand() % (round % 10 ? 8 : MAX_NODES),
            data = 1 + rand() % (round % 10 ? 5 : MAX_DATA);
        random_program(a, &p, nodes, data, round % 4);
        Env env = {.a = a, .p = &p};
        SearchResult r = search(a, &env);
        double own[MAX_DATA], least = least_regret(&p, own), got = regret_of(&p, own, r.settings);
        CHECK(r.complete && !env.repeated);
        CHECK_INT(r.runs,
                  (nodes + 1) * data); /* n versions x d data sets, the untuned one among them */
        CHECK_INT(env.runs, r.runs);
        for (int d = 0; d < data; d++) {
            CHECK(fabs(r.datasets[d].best / own[d] - 1) < 1e-9);
            double t = time_of(&p, d, r.settings);
            CHECK(fabs(r.datasets[d].chosen / t - 1) < 0.02);
        }
        distrusted += r.distrusted;
        if (!r.distrusted) {
            CHECK(got <= least * 1.02); /* within what counts as equal */
            excess += got / least - 1;
        }
        if (got > 1.05) /* monotone or not, what is lost is told */
            CHECK(r.conflicts.n > 0 || r.distrusted);
        conflicts += r.conflicts.n > 0;
        arena_free(a);
    }
    CHECK(distrusted < PROGRAMS / 100);
    CHECK(conflicts > 100);
    CHECK(excess / PROGRAMS < 0.001);
}

/* Nests beside each other are tried side by side: as good, in no more runs than there are versions
 * and in less where there are such nests. Where runs are cut that lose by far, one more may be
 * needed, rarely. */
static void test_parts(void)
{
    enum { PROGRAMS = 1200 };
    int runs = 0, versions = 0, over = 0;
    for (int round = 0; round < PROGRAMS; round++) {
        Arena *a = arena_new();
        static Program p;
        int nodes = 1 + rand() % (round % 10 ? 8 : MAX_NODES), data = 1 + rand() % 5;
        random_program(a, &p, nodes, data, round % 4);
        Env env = {.a = a, .p = &p, .tells = true, .cut = round % 2 ? 2 : 0};
        SearchResult r = search(a, &env);
        double own[MAX_DATA], least = least_regret(&p, own), got = regret_of(&p, own, r.settings);
        CHECK(r.complete && !env.repeated);
        CHECK_INT(env.runs, r.runs);
        for (int d = 0; d < data; d++) {
            CHECK(fabs(r.datasets[d].best / own[d] - 1) < 1e-9);
            if (!env.cut) {
                CHECK(r.datasets[d].runs <= nodes + 1);
                CHECK(fabs(r.datasets[d].chosen / time_of(&p, d, r.settings) - 1) < 0.02);
            }
            over += r.datasets[d].runs > nodes + 1;
        }
        if (!r.distrusted && !(env.cut && r.conflicts.n))
            CHECK(got <= least * 1.02);
        runs += r.runs;
        versions += (nodes + 1) * data;
        arena_free(a);
    }
    CHECK(over <= PROGRAMS / 100);
    CHECK(runs < versions * 0.85);
}

/* LocVolCalib's forest: two versions of all of it, or three nests of three versions each. */
static const int locvolcalib[] = {-1, 0, 1, 2, 1, 4, 1, 6};

static void random_nests(Arena *a, Program *p, int data)
{
    random_program(a, p, 8, data, true);
    for (int i = 0; i < 8; i++) {
        p->f.nodes.at[i].parent = locvolcalib[i];
        p->f.nodes.at[i].outcome = false;
    }
}

/* Its nine versions take six or seven runs: of the whole two, of the three nests three, and what is
 * best in each of them together. With noise, times that are near are measured again, less often
 * where nests are told apart. */
static void test_nests(void)
{
    enum { PROGRAMS = 300 };
    int runs[2] = {0}, near = 0;
    for (int round = 0; round < 2 * PROGRAMS; round++) {
        Arena *a = arena_new();
        static Program p;
        int tells = round % 2;
        srand(round / 2); /* the same with and without parts */
        random_nests(a, &p, 1);
        Env exact = {.a = a, .p = &p, .tells = true},
            env = {.a = a, .p = &p, .tells = tells, .noise = 0.03};
        CHECK(search(a, &exact).runs <= 7);
        SearchResult r = search(a, &env);
        double own[MAX_DATA], least = least_regret(&p, own);
        near += tells && regret_of(&p, own, r.settings) <= least * 1.01;
        runs[tells] += r.runs;
        arena_free(a);
    }
    CHECK(near >= PROGRAMS * 99 / 100);
    CHECK(runs[1] < PROGRAMS * 8);
    CHECK(runs[0] > 2 * runs[1]);
}

/* A version of one nest makes one of the other slower: what the parts told of both is
 * not believed. */
static void test_beside(void)
{
    for (int round = 0; round < 16; round++) {
        Arena *a = arena_new();
        static Program p;
        p.f = (Forest){0};
        p.n_data = 1;
        for (int i = 0; i < 2; i++) {
            vec_push(a, &p.f.nodes, ((Node){arena_printf(a, "t%d", i), -1, false, 32768}));
            p.n_pars[0][i] = 1;
            p.pars[0][i][0] = 100;
            p.untuned[0][i][0] = round >> i & 1;
            p.off[0][i] = 4;
            p.on[0][i][0] = 1 + (round >> (2 + i) & 1);
        }
        Env env = {.a = a, .p = &p, .tells = true, .beside = 9};
        SearchResult r = search(a, &env);
        CHECK(r.datasets[0].best <= 4 + fmax(p.on[0][0][0], p.on[0][1][0]));
        CHECK(r.runs <= 4);
        arena_free(a);
    }
}

static double count_told;

static void plan(double combinations, double paths)
{
    (void)paths;
    count_told = combinations;
}

/* The exhaustive search finds the optimum, cut runs or not, and the monotone one is as good. */
static void test_exhaustive(void)
{
    for (int round = 0; round < 1000; round++) {
        Arena *a = arena_new();
        static Program p;
        random_program(a, &p, 1 + rand() % 6, 1 + rand() % 3, round % 2);
        Env env = {.a = a, .p = &p, .cut = round % 3 ? 2 : 0}, other = {.a = a, .p = &p};
        SearchOptions o = {.plan = plan};
        SearchResult r = search_exhaustive(a, &p.f, p.n_data, &o, run, &env), m = search(a, &other);
        double own[MAX_DATA], least = least_regret(&p, own), got = regret_of(&p, own, r.settings);
        CHECK(r.complete && count_told >= 1);
        for (int d = 0; d < p.n_data; d++)
            CHECK(fabs(r.datasets[d].best / fmin(own[d], r.datasets[d].untuned.seconds) - 1) <
                  1e-9);
        CHECK(got <= least * 1.02);
        if (!m.distrusted)
            CHECK(regret_of(&p, own, m.settings) <= got * 1.02);
        arena_free(a);
    }
}

/* Draws find most optima of small programs, in a limited number of runs, none of them twice. */
static void test_stochastic(void)
{
    enum { PROGRAMS = 300 };
    int near = 0;
    for (int round = 0; round < PROGRAMS; round++) {
        Arena *a = arena_new();
        static Program p;
        static const int64_t unset[MAX_NODES];
        random_program(a, &p, 1 + rand() % 6, 1 + rand() % 3, round % 2);
        Env env = {.a = a, .p = &p, .cut = round % 3 ? 2 : 0};
        SearchOptions o = {.tests = round % 4 ? 0 : 10};
        SearchResult r = search_stochastic(a, &p.f, p.n_data, &o, run, &env);
        double own[MAX_DATA], least = least_regret(&p, own), got = regret_of(&p, own, r.settings);
        CHECK(r.complete && r.runs == env.runs);
        CHECK(round % 4 || r.runs <= 10 + 2 * p.n_data);
        CHECK(got <= regret_of(&p, own, unset) * 1.02);
        near += round % 4 && got <= least * 1.03;
        arena_free(a);
    }
    CHECK(near >= PROGRAMS * 3 / 4 * 9 / 10);
}

/* LocVolCalib's forests: the thesis' (four versions, or two nests of three each), and ours, in
 * which there are two versions of all of it, or three nests of three versions each. */
static void test_count(void)
{
    static const int thesis[] = {-1, 0, 1, 2, 3, 4, 3, 6};
    static const struct {
        const int *parents;
        double one;
    } rows[] = {{thesis, 13}, {locvolcalib, 29}};
    for (int row = 0; row < 2; row++)
        for (int data = 1; data <= 2; data++) {
            Arena *a = arena_new();
            static Program p;
            random_program(a, &p, 8, data, true);
            for (int i = 0; i < 8; i++) {
                p.f.nodes.at[i].parent = rows[row].parents[i];
                p.f.nodes.at[i].outcome = false;
                for (int d = 0; d < data; d++)
                    p.pars[d][i][0] = 7; /* all alike: no more combinations than for one */
            }
            Env env = {.a = a, .p = &p};
            SearchOptions o = {.plan = plan};
            SearchResult r = search_exhaustive(a, &p.f, data, &o, run, &env);
            CHECK(count_told == rows[row].one);
            CHECK(!env.repeated && r.runs >= data * rows[row].one);
            arena_free(a);
        }
}

/* With 3 % noise on each timing, parts told or not. */
static void test_noise(void)
{
    enum { PROGRAMS = 1000 };
    int near = 0;
    for (int round = 0; round < PROGRAMS; round++) {
        Arena *a = arena_new();
        static Program p;
        random_program(a, &p, 1 + rand() % (round % 10 ? 8 : MAX_NODES), 1 + rand() % MAX_DATA,
                       true);
        Env env = {.a = a, .p = &p, .noise = 0.03, .tells = round % 2};
        SearchResult r = search(a, &env);
        double own[MAX_DATA], least = least_regret(&p, own);
        near += regret_of(&p, own, r.settings) <= least * 1.01;
        arena_free(a);
    }
    CHECK(near >= PROGRAMS * 99 / 100);
}

/* Something else ran beside the first run of the better version, so that it took 1.1 instead
 * of 1. */
static bool run_disturbed(void *env, int d, const int64_t *settings, double rival, double parts,
                          Sample *out)
{
    Env *e = env;
    (void)rival, (void)parts;
    *out = (Sample){.noise = 0.01};
    double t = execute(e->a, e->p, d, settings, -1, false, &out->compared);
    out->seconds = t == 1 && e->cuts++ == 0 ? 1.1 : t;
    return true;
}

/* What is close is run again, by either search. */
static void test_disturbed(void)
{
    for (int exhaustive = 0; exhaustive < 2; exhaustive++) {
        Arena *a = arena_new();
        static Program p;
        p.f = (Forest){0};
        p.n_data = 1;
        vec_push(a, &p.f.nodes, ((Node){"t0", -1, false, 32768}));
        p.n_pars[0][0] = 1;
        p.pars[0][0][0] = 100;
        p.untuned[0][0][0] = false;
        p.on[0][0][0] = 1;
        p.off[0][0] = 1.05;
        Env env = {.a = a, .p = &p};
        SearchOptions o = {0};
        SearchResult r =
            (exhaustive ? search_exhaustive : search_monotone)(a, &p.f, 1, &o, run_disturbed, &env);
        CHECK(r.settings[0] > 0 && r.settings[0] <= 100);
        CHECK(r.datasets[0].best == 1);
        arena_free(a);
    }
}

/* What lost by far is cut, which spoils nothing: each data set's own best is found all the same,
 * and of what is chosen for all of them nothing is known by halves. */
static void test_cut(void)
{
    static const SearchOptions options;
    int cuts = 0, near = 0;
    for (int round = 0; round < 1000; round++) {
        Arena *a = arena_new();
        static Program p;
        int nodes = 1 + rand() % 10, data = 1 + rand() % 5;
        random_program(a, &p, nodes, data, true);
        Env env = {.a = a, .p = &p, .cut = 2};
        SearchResult r = search(a, &env);
        double own[MAX_DATA], least = least_regret(&p, own);
        CHECK(!env.repeated);
        CHECK_INT(r.runs, (nodes + 1) * data);
        for (int d = 0; d < data; d++)
            CHECK(fabs(r.datasets[d].best / own[d] - 1) < 1e-9);
        if (!r.conflicts.n && !r.distrusted)
            CHECK(regret_of(&p, own, r.settings) <= least * 1.02);
        settle(a, &p.f, data, &options, run, &env, &r);
        for (int d = 0; d < data; d++)
            CHECK(fabs(r.datasets[d].chosen / time_of(&p, d, r.settings) - 1) < 1e-9);
        near += r.distrusted || regret_of(&p, own, r.settings) <= least * 1.02;
        cuts += env.cuts;
        arena_free(a);
    }
    CHECK(near >= 990);
    CHECK(cuts > 1000);
}

/* One threshold suits all data sets: left out, each is served by what the others ask for. */
static void test_left_out(void)
{
    double all = 0;
    int n = 0;
    for (int round = 0; round < 500; round++) {
        Arena *a = arena_new();
        static Program p;
        p.f = (Forest){0};
        p.n_data = MAX_DATA;
        double bound = 32768 * exp(4 * uniform() - 2);
        vec_push(a, &p.f.nodes, ((Node){"t0", -1, false, 32768}));
        for (int d = 0; d < MAX_DATA; d++) {
            int64_t par = 1 + (int64_t)exp(uniform() * 14);
            p.n_pars[d][0] = 1;
            p.pars[d][0][0] = par;
            p.untuned[d][0][0] = par >= 32768;
            p.off[d][0] = 1;
            p.on[d][0][0] = pow(bound / (double)par, 0.5);
        }
        Env env = {.a = a, .p = &p};
        SearchResult r = search(a, &env);
        CHECK(r.chosen < 1.03);
        all += log(r.unseen);
        n++;
        arena_free(a);
    }
    CHECK(exp(all / n) <= 1.02);
}

/* No value is best for all, but nobody loses beyond noise: nothing is asked for. */
static void test_ties(void)
{
    static const double on[] = {1, 1, 1}, off[] = {1.015, 1.01, 0.99};
    Arena *a = arena_new();
    static Program p;
    p.f = (Forest){0};
    p.n_data = 3;
    vec_push(a, &p.f.nodes, ((Node){"t0", -1, false, 32768}));
    for (int d = 0; d < 3; d++) {
        p.n_pars[d][0] = 1;
        p.pars[d][0][0] = 100 + d;
        p.untuned[d][0][0] = d == 1;
        p.on[d][0][0] = on[d];
        p.off[d][0] = off[d];
    }
    Env env = {.a = a, .p = &p};
    SearchResult r = search(a, &env);
    CHECK_INT(r.settings[0], THRESHOLD_UNSET);
    CHECK_INT(r.conflicts.n, 0);
    arena_free(a);
}

/* One threshold inside a loop whose parallelism shrinks: the version pays above a bound. */
static void test_size_variant(void)
{
    double runs = 0, halvings = 0; /* where the valley is steep */
    for (int round = 0; round < 500; round++) {
        Arena *a = arena_new();
        static Program p;
        p.f = (Forest){0};
        p.n_data = 1;
        vec_push(a, &p.f.nodes, ((Node){"t0", -1, false, 32768}));
        int n = 2 + rand() % (MAX_PARS - 2);
        int64_t bound = rand() % (n + 1), unset = rand() % (n + 1);
        p.n_pars[0][0] = n;
        p.off[0][0] = 10;
        for (int k = 0; k < n; k++) {
            p.pars[0][0][k] = k + 1;
            p.untuned[0][0][k] =
                round % 4 ? k + 1 > unset : rand() % 2; /* as if by a number, or not */
            p.on[0][0][k] = round % 2 ? (k + 1 > bound ? 5 : 15) : k + 1 > bound ? 0.1 : 1000;
        }
        Env env = {.a = a, .p = &p};
        SearchResult r = search(a, &env);
        double best = INFINITY;
        for (int64_t t = 0; t <= n + 1; t++)
            best = fmin(best, time_of(&p, 0, &t));
        CHECK(fabs(r.datasets[0].best - best) < 1e-9);
        CHECK(time_of(&p, 0, r.settings) <= best * 1.02);
        CHECK(r.runs <= 4 + 2 * (int)ceil(log2(n + 1)));
        runs += round % 2 ? 0 : r.runs;
        halvings += round % 2 ? 0 : ceil(log2(n + 1));
        arena_free(a);
    }
    CHECK(runs <= halvings + 250 * 4.7); /* bounds are anywhere here; with two runs for each halving
                                            there are 5.2 more */
}

/* The same of many degrees of parallelism, where the version pays always or never: a few
 * runs tell. */
static void test_steep_to_the_end(void)
{
    for (int side = 0; side < 2; side++) {
        Arena *a = arena_new();
        static Program p;
        p.f = (Forest){0};
        p.n_data = 1;
        vec_push(a, &p.f.nodes, ((Node){"t0", -1, false, 32768}));
        p.n_pars[0][0] = MAX_PARS;
        p.off[0][0] = 1;
        for (int k = 0; k < MAX_PARS; k++) {
            p.pars[0][0][k] = k + 1;
            p.untuned[0][0][k] = false;
            p.on[0][0][k] = side ? 0.1 : 10;
        }
        Env env = {.a = a, .p = &p};
        SearchResult r = search(a, &env);
        int64_t best = side ? THRESHOLD_ALWAYS : THRESHOLD_NEVER;
        CHECK(fabs(r.datasets[0].best - time_of(&p, 0, &best)) < 1e-9);
        CHECK(r.runs <= 6);
        arena_free(a);
    }
}

/* Data set 0 wants the version at parallelism 10, data set 1 does not want it at 1000. */
static void test_conflict(void)
{
    Arena *a = arena_new();
    static Program p;
    p.f = (Forest){0};
    p.n_data = 2;
    vec_push(a, &p.f.nodes, ((Node){"t0", -1, false, 32768}));
    p.n_pars[0][0] = p.n_pars[1][0] = 1;
    p.pars[0][0][0] = 10;
    p.pars[1][0][0] = 1000;
    p.untuned[0][0][0] = p.untuned[1][0][0] = true;
    p.on[0][0][0] = 1;
    p.off[0][0] = 2; /* loses 1 without the version */
    p.on[1][0][0] = 10;
    p.off[1][0] = 1; /* loses 9 with it */
    Env env = {.a = a, .p = &p};
    SearchResult r = search(a, &env);
    CHECK_INT(r.conflicts.n, 1);
    CHECK_INT(r.conflicts.at[0].n_datasets, 2);
    CHECK(fabs(r.conflicts.at[0].loss - 1) < 1e-9);
    CHECK(r.settings[0] > 1000);
    arena_free(a);
}

/* What is to be least decides: a long data set gains little, a short one loses much. */
static void test_objectives(void)
{
    static const double weights[] = {1, 100};
    static const struct {
        Objective objective;
        const double *weights;
        bool on;
    } rows[] = {{OBJECTIVE_REGRET, NULL, false},
                {OBJECTIVE_SUM, NULL, true},
                {OBJECTIVE_SUM, weights, false},
                {OBJECTIVE_GEOMEAN, NULL, false},
                {OBJECTIVE_WORST, NULL, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Arena *a = arena_new();
        static Program p;
        p.f = (Forest){0};
        p.n_data = 2;
        vec_push(a, &p.f.nodes, ((Node){"t0", -1, false, 32768}));
        for (int d = 0; d < 2; d++) {
            p.n_pars[d][0] = 1;
            p.pars[d][0][0] = 50;
            p.untuned[d][0][0] = i % 2;
        }
        p.on[0][0][0] = 100;
        p.off[0][0] = 120;
        p.on[1][0][0] = 3;
        p.off[1][0] = 1;
        Env env = {.a = a, .p = &p};
        SearchOptions o = {.objective = rows[i].objective, .weights = rows[i].weights};
        SearchResult r = search_monotone(a, &p.f, 2, &o, run, &env);
        CHECK((time_of(&p, 0, r.settings) < 110) == rows[i].on);
        arena_free(a);
    }
}

/* Users' objectives: with less time they get better; only what is in time counts; what takes
 * longest and shortest is to be near. */
static double cost_squares(int n, const double *seconds)
{
    double all = 0;
    for (int i = 0; i < n; i++)
        all += seconds[i] * seconds[i];
    return all;
}

static double cost_late(int n, const double *seconds)
{
    double all = 0;
    for (int i = 0; i < n; i++)
        all += (seconds[i] > 20) + seconds[i] / 1e4;
    return all;
}

static double cost_spread(int n, const double *seconds)
{
    double least = INFINITY, most = 0;
    for (int i = 0; i < n; i++) {
        least = fmin(least, seconds[i]);
        most = fmax(most, seconds[i]);
    }
    return most - least;
}

typedef double Worth(int n, const double *seconds);
static Worth *const users[] = {cost_squares, cost_late, cost_spread};

static double cost_of_user(void *env, int n, const int *datasets, const double *seconds,
                           const double *bests)
{
    for (int i = 0; i < n; i++)
        CHECK(datasets[i] == i && bests[i] > 0);
    return (*(Worth *const *)env)(n, seconds);
}

static double user_worth(const Program *p, Worth *user, const int64_t *set)
{
    double seconds[MAX_DATA];
    for (int d = 0; d < p->n_data; d++)
        seconds[d] = time_of(p, d, set);
    return user(p->n_data, seconds);
}

static double longest(const Program *p, const int64_t *set)
{
    double most = 0;
    for (int d = 0; d < p->n_data; d++)
        most = fmax(most, time_of(p, d, set));
    return most;
}

/* The least, over all settings that differ. */
static double least_of_user(const Program *p, Worth *user, int64_t *set, int node)
{
    if (node == p->f.nodes.n)
        return user_worth(p, user, set);
    double least = INFINITY;
    for (int d = 0; d <= p->n_data; d++) {
        set[node] = d < p->n_data ? p->pars[d][node][0] : THRESHOLD_NEVER;
        least = fmin(least, least_of_user(p, user, set, node + 1));
    }
    return least;
}

/* The exhaustive search finds the optimum of any objective; the monotone one that of most, in which
 * no change of a single threshold gains, and it is never worse than untuned. */
static void test_users_objective(void)
{
    enum { PROGRAMS = 200 };
    int n = sizeof users / sizeof *users;
    for (int u = 0; u < n; u++) {
        int near = 0;
        for (int round = 0; round < PROGRAMS; round++) {
            Arena *a = arena_new();
            static Program p;
            Worth *user = users[u];
            random_program(a, &p, 1 + rand() % 4, 1 + rand() % 3, round % 2);
            Env env = {.a = a, .p = &p, .cut = 2}, other = {.a = a, .p = &p};
            SearchOptions o = {
                .objective = OBJECTIVE_COST, .cost = cost_of_user, .cost_env = &user};
            SearchResult x = search_exhaustive(a, &p.f, p.n_data, &o, run, &env);
            SearchResult m = search_monotone(a, &p.f, p.n_data, &o, run, &other);
            int64_t unset[MAX_NODES] = {0}, set[MAX_NODES] = {0};
            double untuned = user_worth(&p, user, unset),
                   least = fmin(untuned, least_of_user(&p, user, set, 0));
            double got = user_worth(&p, user, m.settings);
            near += got <= least + 0.03 * fabs(least) + 1e-9;
            double equal =
                0.05 * least + 0.04 * longest(&p, x.settings); /* within what counts as equal */
            CHECK(user_worth(&p, user, x.settings) <= least + equal);
            CHECK(got <= untuned + 0.05 * untuned + 0.04 * longest(&p, unset));
            arena_free(a);
        }
        CHECK(near >= PROGRAMS * 8 / 10);
    }
}

/* A version that fails is never chosen, and a failing last version is no obstacle. */
static bool run_failing(void *env, int d, const int64_t *settings, double rival, double parts,
                        Sample *out)
{
    (void)rival, (void)parts;
    (void)env, (void)d;
    *out = (Sample){.seconds = settings[0] && settings[0] <= 7 ? 1 : INFINITY};
    vec_push((Arena *)env, &out->compared, ((Compared){0, 7, settings[0] && settings[0] <= 7}));
    return true;
}

static void test_failing(void)
{
    Arena *a = arena_new();
    Forest f = {0};
    vec_push(a, &f.nodes, ((Node){"t0", -1, false, 32768}));
    SearchResult r = search_monotone(a, &f, 1, &(SearchOptions){0}, run_failing, a);
    CHECK_INT(r.settings[0], 7);
    CHECK_INT(r.runs, 2);
    arena_free(a);
}

/* The version of t1 does not fit the device: the comparison holds, but the next one follows. */
static int64_t or_default(int64_t setting)
{
    return setting ? setting : 1000;
}

static bool run_refusing(void *env, int d, const int64_t *settings, double rival, double parts,
                         Sample *out)
{
    (void)rival, (void)parts;
    (void)d;
    Arena *a = env;
    *out = (Sample){.seconds = 9};
    vec_push(a, &out->compared, ((Compared){0, 10, or_default(settings[0]) <= 10}));
    if (or_default(settings[0]) <= 10)
        return true;
    vec_push(a, &out->compared, ((Compared){1, 100, or_default(settings[1]) <= 100}));
    vec_push(a, &out->compared, ((Compared){2, 40000, or_default(settings[2]) <= 40000}));
    out->seconds = or_default(settings[2]) <= 40000 ? 5 : 3;
    return true;
}

static void test_refused(void)
{
    Arena *a = arena_new();
    Forest f = {0};
    for (int i = 0; i < 3; i++)
        vec_push(a, &f.nodes, ((Node){arena_printf(a, "t%d", i), i - 1, false, 1000}));
    SearchResult r = search_monotone(a, &f, 1, &(SearchOptions){0}, run_refusing, a);
    CHECK(r.datasets[0].opinions[1].refused);
    CHECK(r.settings[2] > 40000); /* reached whatever t1 is */
    CHECK(r.runs <= 4);
    CHECK_INT((int)r.datasets[0].best, 3);
    arena_free(a);
}

/* Two nests that are not as independent as the forest says: on the second data set, both versions
 * are good alone. */
static bool run_dependent(void *env, int d, const int64_t *settings, double rival, double parts,
                          Sample *out)
{
    static const double seconds[2][2][2] = {{{4, 3}, {5, 5}},
                                            {{4, 4.2}, {3, 50}}}; /* [d][outcome of 0][of 1] */
    static const int64_t par[] = {10, 100};
    bool held[2];
    (void)rival, (void)parts;
    for (int i = 0; i < 2; i++) {
        held[i] = or_default(settings[i]) <= par[d];
        vec_push(env, &out->compared, ((Compared){i, par[d], held[i]}));
    }
    out->seconds = seconds[d][held[0]][held[1]];
    return true;
}

static void test_settle(void)
{
    Arena *a = arena_new();
    Forest f = {0};
    for (int i = 0; i < 2; i++)
        vec_push(a, &f.nodes, ((Node){arena_printf(a, "t%d", i), -1, false, 1000}));
    SearchOptions o = {0};
    SearchResult r = search_monotone(a, &f, 2, &o, run_dependent, a);
    int searched = r.runs;
    CHECK(r.settings[0] > 10 && r.settings[0] <= 100 && r.settings[1] != 0 && r.settings[1] <= 10);
    CHECK(r.datasets[1].chosen < 3.3); /* as it was put together */
    settle(a, &f, 2, &o, run_dependent, a, &r);
    CHECK(r.complete);
    CHECK_INT(r.runs - searched, 1);
    CHECK_INT((int)r.datasets[0].chosen, 4);
    CHECK_INT((int)r.datasets[1].chosen, 3);
    for (int d = 0; d < 2; d++) {
        Sample s = {0};
        run_dependent(a, d, r.settings, INFINITY, 0, &s);
        CHECK(s.seconds == r.datasets[d].chosen);
    }
    arena_free(a);
}

static void test_classes(void)
{
    Arena *a = arena_new();
    Forest f = {0};
    const char *wrong;
    CHECK(forest_add(a, &f, "main.suff_outer_par_0", "threshold(def, )", 32768, &wrong));
    CHECK(forest_add(a, &f, "main.suff_intra_par_1", "threshold(32, !main.suff_outer_par_0)", 32768,
                     &wrong));
    CHECK(forest_add(a, &f, "main.suff_outer_par_2",
                     "threshold(def, !main.suff_outer_par_0 main.suff_intra_par_1)", 32768,
                     &wrong));
    CHECK_INT(f.nodes.at[0].parent, -1);
    CHECK_INT(f.nodes.at[1].parent, 0);
    CHECK_INT(f.nodes.at[1].def, 32);
    CHECK(!f.nodes.at[1].outcome);
    CHECK_INT(f.nodes.at[2].parent, 1);
    CHECK(f.nodes.at[2].outcome);
    CHECK(!forest_add(a, &f, "x", "threshold(def, !nobody)", 32768, &wrong));
    CHECK(!forest_add(a, &f, "x", "group_size", 32768, &wrong));
    arena_free(a);
}

int main(void)
{
    srand(7);
    test_classes();
    test_monotone();
    test_exhaustive();
    test_count();
    test_stochastic();
    test_noise();
    test_disturbed();
    test_cut();
    test_left_out();
    test_ties();
    test_size_variant();
    test_steep_to_the_end();
    test_conflict();
    test_objectives();
    test_users_objective();
    test_failing();
    test_refused();
    test_settle();
    test_parts();
    test_nests();
    test_beside();
    return check_summary();
}
