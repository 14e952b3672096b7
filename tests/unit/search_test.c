/* The tuner's search on simulated programs: exactly n x d runs when sizes do not vary, the optimum for
 * every monotone case, logarithmic cost when they vary, conflicts reported. */
#include "autotune/search.h"
#include "tests/unit/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NODES = 12, MAX_DATA = 4, MAX_PARS = 64 };

/* A program: the forest, for each data set and threshold the degrees of parallelism that it is compared
 * with (one each time it is executed), and the cost of executing a version once. */
typedef struct {
    Forest f;
    int n_data;
    int64_t pars[MAX_DATA][MAX_NODES][MAX_PARS];
    int n_pars[MAX_DATA][MAX_NODES];
    /* Seconds of the guarded version for each par, and of what runs when the comparison is false and
     * nothing further is compared. */
    double on[MAX_DATA][MAX_NODES][MAX_PARS], off[MAX_DATA][MAX_NODES];
    int runs;
} Program;

static bool has_child(const Program *p, int node, bool outcome)
{
    for (int i = 0; i < p->f.nodes.n; i++)
        if (p->f.nodes.at[i].parent == node && p->f.nodes.at[i].outcome == outcome)
            return true;
    return false;
}

/* Executes the comparisons under a parent and outcome; their time. */
static double execute(Arena *a, const Program *p, int d, const int64_t *set, int parent, bool outcome,
                      Compareds *log)
{
    double t = 0;
    for (int i = 0; i < p->f.nodes.n; i++) {
        const Node *n = &p->f.nodes.at[i];
        if (n->parent != parent || (parent >= 0 && n->outcome != outcome))
            continue;
        for (int k = 0; k < p->n_pars[d][i]; k++) {
            int64_t par = p->pars[d][i][k];
            if (log)
                vec_push(a, log, ((Compared){i, par, set[i] <= par}));
            bool on = set[i] <= par;
            if (on)
                t += p->on[d][i][k];
            else if (!has_child(p, i, false))
                t += p->off[d][i];
            if (has_child(p, i, on))
                t += execute(a, p, d, set, i, on, log) / p->n_pars[d][i];
        }
    }
    return t;
}

typedef struct {
    Arena *a;
    Program *p;
} Env;

static bool run(void *env, int d, const int64_t *settings, double rival, Sample *out)
{
    (void)rival;
    Env *e = env;
    e->p->runs++;
    *out = (Sample){0};
    out->seconds = execute(e->a, e->p, d, settings, -1, false, &out->compared);
    return true;
}

/* A random program of one chain (as one nest gives), sizes not varying. Monotone: a version is best for
 * all parallelism above some bound, the same one for every data set. */
static void random_chain(Arena *a, Program *p, int nodes, int data)
{
    memset(p, 0, sizeof *p);
    p->n_data = data;
    for (int i = 0; i < nodes; i++) {
        Node n = {arena_printf(a, "t%d", i), i - 1, false, 32768};
        vec_push(a, &p->f.nodes, n);
        int64_t bound = 1 + rand() % 100000;
        for (int d = 0; d < data; d++) {
            int64_t par = 1 + rand() % 100000;
            p->n_pars[d][i] = 1;
            p->pars[d][i][0] = par;
            /* Better than everything below if par >= bound, else worse than everything below. */
            p->on[d][i][0] = par >= bound ? 1.0 + 0.2 * i : 50.0 - i;
        }
    }
    for (int d = 0; d < data; d++)
        p->off[d][nodes - 1] = 20;
}

/* The best time of a data set over all combinations of outcomes. */
static double brute_force(Arena *a, const Program *p, int d)
{
    int n = p->f.nodes.n;
    double best = INFINITY;
    for (int mask = 0; mask < 1 << n; mask++) {
        int64_t set[MAX_NODES];
        for (int i = 0; i < n; i++)
            set[i] = mask >> i & 1 ? THRESHOLD_ALWAYS : THRESHOLD_NEVER;
        best = fmin(best, execute(a, p, d, set, -1, false, NULL));
    }
    return best;
}

static void test_chains(void)
{
    for (int round = 0; round < 300; round++) {
        Arena *a = arena_new();
        static Program p;
        int nodes = 1 + rand() % 6, data = 1 + rand() % MAX_DATA;
        random_chain(a, &p, nodes, data);
        Env env = {a, &p};
        SearchResult r = search_monotone(a, &p.f, data, run, &env);
        CHECK(r.complete);
        CHECK_INT(r.runs, (nodes + 1) * data); /* n versions x d data sets */
        CHECK_INT(p.runs, r.runs);
        for (int d = 0; d < data; d++) {
            double want = brute_force(a, &p, d);
            CHECK(fabs(r.datasets[d].best - want) < 1e-9);
            if (r.conflicts.n == 0) /* each data set as fast as alone (or within what counts as equal) */
                CHECK(execute(a, &p, d, r.settings, -1, false, NULL) <= want * 1.0201);
        }
        arena_free(a);
    }
}

/* Two independent nests under the false branch of a first one, as in LocVolCalib: t0 {t1 t2} {t3 t4}. */
static void test_forest(void)
{
    static const int parent[] = {-1, 0, 1, 0, 3};
    for (int round = 0; round < 200; round++) {
        Arena *a = arena_new();
        static Program p;
        memset(&p, 0, sizeof p);
        p.n_data = 1;
        for (int i = 0; i < 5; i++) {
            vec_push(a, &p.f.nodes, ((Node){arena_printf(a, "t%d", i), parent[i], false, 32768}));
            p.n_pars[0][i] = 1;
            p.pars[0][i][0] = 1 + rand() % 1000;
            p.on[0][i][0] = 1 + rand() % 100;
            p.off[0][i] = 1 + rand() % 100;
        }
        Env env = {a, &p};
        SearchResult r = search_monotone(a, &p.f, 1, run, &env);
        CHECK_INT(r.runs, 6);
        CHECK(fabs(r.datasets[0].best - brute_force(a, &p, 0)) < 1e-9);
        arena_free(a);
    }
}

/* One threshold inside a loop whose parallelism shrinks: the version pays above a bound. */
static void test_size_variant(void)
{
    for (int round = 0; round < 200; round++) {
        Arena *a = arena_new();
        static Program p;
        memset(&p, 0, sizeof p);
        p.n_data = 1;
        vec_push(a, &p.f.nodes, ((Node){"t0", -1, false, 32768}));
        int n = 2 + rand() % (MAX_PARS - 2);
        int64_t bound = rand() % (n + 1);
        p.n_pars[0][0] = n;
        p.off[0][0] = 10;
        for (int k = 0; k < n; k++) {
            p.pars[0][0][k] = k + 1;
            p.on[0][0][k] = k + 1 > bound ? 5 : 15;
        }
        Env env = {a, &p};
        SearchResult r = search_monotone(a, &p.f, 1, run, &env);
        double best = INFINITY;
        for (int64_t t = 1; t <= n + 1; t++)
            best = fmin(best, execute(a, &p, 0, &t, -1, false, NULL));
        CHECK(fabs(r.datasets[0].best - best) < 1e-9);
        CHECK(fabs(execute(a, &p, 0, r.settings, -1, false, NULL) - best) < 1e-9);
        CHECK(r.runs <= 3 + 2 * (int)ceil(log2(n + 1)));
        arena_free(a);
    }
}

/* Data set 0 wants the version at parallelism 10, data set 1 does not want it at 1000. */
static void test_conflict(void)
{
    Arena *a = arena_new();
    static Program p;
    memset(&p, 0, sizeof p);
    p.n_data = 2;
    vec_push(a, &p.f.nodes, ((Node){"t0", -1, false, 32768}));
    p.n_pars[0][0] = p.n_pars[1][0] = 1;
    p.pars[0][0][0] = 10;
    p.pars[1][0][0] = 1000;
    p.on[0][0][0] = 1;
    p.off[0][0] = 2; /* regret 1 without the version */
    p.on[1][0][0] = 10;
    p.off[1][0] = 1; /* regret 9 with it */
    Env env = {a, &p};
    SearchResult r = search_monotone(a, &p.f, 2, run, &env);
    CHECK_INT(r.conflicts.n, 1);
    CHECK_INT(r.conflicts.at[0].n_datasets, 2);
    CHECK(r.settings[0] > 1000);
    arena_free(a);
}

/* A version that fails is never chosen, and a failing last version is no obstacle. */
static bool run_failing(void *env, int d, const int64_t *settings, double rival, Sample *out)
{
    (void)rival;
    (void)env, (void)d;
    *out = (Sample){.seconds = settings[0] <= 7 ? 1 : INFINITY};
    vec_push((Arena *)env, &out->compared, ((Compared){0, 7, settings[0] <= 7}));
    return true;
}

static void test_failing(void)
{
    Arena *a = arena_new();
    Forest f = {0};
    vec_push(a, &f.nodes, ((Node){"t0", -1, false, 32768}));
    SearchResult r = search_monotone(a, &f, 1, run_failing, a);
    CHECK_INT(r.settings[0], 7);
    CHECK_INT(r.runs, 2);
    arena_free(a);
}

/* The version of t1 does not fit the device: the comparison holds, but the next one follows. */
static bool run_refusing(void *env, int d, const int64_t *settings, double rival, Sample *out)
{
    (void)rival;
    (void)d;
    Arena *a = env;
    *out = (Sample){.seconds = 9};
    vec_push(a, &out->compared, ((Compared){0, 10, settings[0] <= 10}));
    if (settings[0] <= 10)
        return true;
    vec_push(a, &out->compared, ((Compared){1, 100, settings[1] <= 100}));
    vec_push(a, &out->compared, ((Compared){2, 40000, settings[2] <= 40000}));
    out->seconds = settings[2] <= 40000 ? 5 : 3;
    return true;
}

static void test_refused(void)
{
    Arena *a = arena_new();
    Forest f = {0};
    for (int i = 0; i < 3; i++)
        vec_push(a, &f.nodes, ((Node){arena_printf(a, "t%d", i), i - 1, false, 1000}));
    SearchResult r = search_monotone(a, &f, 1, run_refusing, a);
    CHECK(r.datasets[0].opinions[1].refused);
    CHECK(r.settings[2] > 40000); /* reached whatever t1 is */
    CHECK(r.runs <= 4);
    CHECK_INT((int)r.datasets[0].best, 3);
    arena_free(a);
}

static void test_classes(void)
{
    Arena *a = arena_new();
    Forest f = {0};
    const char *wrong;
    CHECK(forest_add(a, &f, "main.suff_outer_par_0", "threshold(def, )", 32768, &wrong));
    CHECK(forest_add(a, &f, "main.suff_intra_par_1", "threshold(32, !main.suff_outer_par_0)", 32768, &wrong));
    CHECK(forest_add(a, &f, "main.suff_outer_par_2",
                     "threshold(def, !main.suff_outer_par_0 main.suff_intra_par_1)", 32768, &wrong));
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
    test_chains();
    test_forest();
    test_size_variant();
    test_conflict();
    test_failing();
    test_refused();
    return check_summary();
}
