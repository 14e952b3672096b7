/* A search that knows nothing of forests, as OpenTuner's: thresholds are integers on a logarithmic
 * scale, several techniques propose settings, and a bandit gives the turns to those that have
 * brought better ones. For comparison, and for programs whose times are not monotone and whose
 * combinations are too many. Settings that take a path that was taken before are answered from
 * memory. */
#include "autotune/search/choose.h"

#include <math.h>
#include <string.h>

enum { ELITE = 8, IDLE = 300 /* proposals in a row that need no run: all is known */ };

typedef struct {
    Arena *a;
    const Choice *c;
    Probe *probes;         /* [dataset] */
    int64_t *elite[ELITE]; /* the best settings so far, the best one first */
    int n_elite;
    uint64_t seed;
    bool failed;
} Draw;

static double uniform(Draw *s)
{
    s->seed = s->seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(s->seed >> 11) / 9007199254740992.0;
}

static int below(Draw *s, int n)
{
    return (int)(uniform(s) * n);
}

/* --- Techniques ----------------------------------------------------------------------------- */

enum { LOG_MOST = 40 };

static int64_t from_log(double x)
{
    return x <= 0 ? THRESHOLD_ALWAYS : x >= LOG_MOST ? THRESHOLD_NEVER : (int64_t)exp2(x);
}

/* Unset counts as the default here, which may be 0. */
static double to_log(const Draw *s, int node, int64_t setting)
{
    int64_t t = setting == THRESHOLD_UNSET ? s->c->f->nodes.at[node].def : setting;
    return t <= THRESHOLD_ALWAYS ? 0 : fmin(log2((double)t), LOG_MOST);
}

static const int64_t *one_elite(Draw *s)
{
    return s->elite[below(s, s->n_elite)];
}

/* All anew. */
static void at_random(Draw *s, int64_t *out)
{
    for (int i = 0; i < s->c->f->nodes.n; i++)
        out[i] = from_log(uniform(s) * LOG_MOST);
}

/* The best, one threshold somewhat changed. */
static void step(Draw *s, int64_t *out)
{
    int i = below(s, s->c->f->nodes.n);
    double by = (uniform(s) + uniform(s) + uniform(s) - 1.5) * 12;
    out[i] = from_log(to_log(s, i, out[i]) + by);
}

/* The best, one threshold at an end, or unset. */
static void flip(Draw *s, int64_t *out)
{
    static const int64_t ends[] = {THRESHOLD_ALWAYS, THRESHOLD_NEVER, THRESHOLD_UNSET};
    out[below(s, s->c->f->nodes.n)] = ends[below(s, 3)];
}

/* The best, one threshold at a parallelism that it was compared with, or above it. */
static void at_par(Draw *s, int64_t *out)
{
    int i = below(s, s->c->f->nodes.n);
    const Opinion *op = &s->c->datasets[below(s, s->c->n)].opinions[i];
    if (op->pars.n)
        out[i] = op->pars.at[below(s, op->pars.n)] + below(s, 2);
}

/* Each threshold from one of two good settings. */
static void cross(Draw *s, int64_t *out)
{
    const int64_t *a = one_elite(s), *b = one_elite(s);
    for (int i = 0; i < s->c->f->nodes.n; i++)
        out[i] = below(s, 2) ? a[i] : b[i];
}

/* Differential evolution: by what two good settings differ, a third is moved. */
static void differ(Draw *s, int64_t *out)
{
    const int64_t *a = one_elite(s), *b = one_elite(s), *c = one_elite(s);
    for (int i = 0; i < s->c->f->nodes.n; i++)
        if (below(s, 2))
            out[i] = from_log(to_log(s, i, a[i]) + 0.7 * (to_log(s, i, b[i]) - to_log(s, i, c[i])));
}

/* out holds the best settings so far. */
typedef void Technique(Draw *s, int64_t *out);
static Technique *const techniques[] = {at_random, step, flip, at_par, cross, differ};
enum { N_TECHNIQUES = sizeof techniques / sizeof *techniques };

typedef struct {
    double turns[N_TECHNIQUES], gains[N_TECHNIQUES], all;
} Bandit;

/* Who brought better settings most often, with a bonus for those that had few turns (UCB1). */
static int whose_turn(const Bandit *b)
{
    int best = 0;
    double most = -1;
    for (int i = 0; i < N_TECHNIQUES; i++) {
        double score = b->turns[i] > 0
                           ? b->gains[i] / b->turns[i] + sqrt(0.1 * log(b->all + 1) / b->turns[i])
                           : INFINITY;
        if (score > most) {
            most = score;
            best = i;
        }
    }
    return best;
}

/* --- Trying --------------------------------------------------------------------------------- */

/* Runs all data sets; what was cut to its end if `whole`. */
static void try_settings(Draw *s, const int64_t *settings, bool whole)
{
    for (int d = 0; d < s->c->n && !s->failed; d++) {
        Probe *p = &s->probes[d];
        int memo;
        memcpy(p->cur, settings, sizeof *settings * (size_t)s->c->f->nodes.n);
        Sample m = probe_measure(p, whole ? INFINITY : p->res->best, &memo);
        s->failed |= p->failed;
        if (m.cut || m.seconds >= p->res->best)
            continue;
        p->res->best = m.seconds;
        memcpy(p->res->own, settings, sizeof *settings * (size_t)s->c->f->nodes.n);
        s->c->in[d] = true;
    }
}

static int runs_so_far(const Draw *s)
{
    int runs = 0;
    for (int d = 0; d < s->c->n; d++)
        runs += s->c->datasets[d].runs;
    return runs;
}

/* Takes the settings among the best, if they are. Are they the best? */
static bool keep(Draw *s, const int64_t *settings)
{
    int at = s->n_elite;
    double worth = objective(s->c, settings);
    while (at > 0 && worth < objective(s->c, s->elite[at - 1]))
        at--;
    if (at == ELITE)
        return false;
    if (s->n_elite < ELITE)
        s->n_elite++;
    memmove(s->elite + at + 1, s->elite + at, sizeof *s->elite * (size_t)(s->n_elite - 1 - at));
    s->elite[at] = arena_memdup(s->a, settings, sizeof *settings * (size_t)s->c->f->nodes.n);
    return at == 0;
}

/* Is a path of the settings known by a run that was cut? */
static bool has_cut(const Draw *s, const int64_t *settings)
{
    for (int d = 0; d < s->c->n; d++) {
        int row = memory_find(s->c->f, &s->c->datasets[d], settings);
        if (row >= 0 && s->c->datasets[d].memory.at[row].sample.cut)
            return true;
    }
    return false;
}

int search_tests(const SearchOptions *o, int n_nodes, int n_datasets)
{
    return o->tests ? o->tests : 20 * (n_nodes + 1) * n_datasets;
}

static void draw(Draw *s, const SearchOptions *o)
{
    Bandit b = {0};
    int n = s->c->f->nodes.n, tests = search_tests(o, n, s->c->n);
    double start = o->clock ? o->clock() : 0;
    int64_t *next = NEWN(s->a, int64_t, n);
    for (int idle = 0; n > 0 && !s->failed && idle < IDLE && runs_so_far(s) < tests; idle++) {
        if (o->clock && o->seconds > 0 && o->clock() - start > o->seconds)
            break;
        int by = whose_turn(&b), before = runs_so_far(s);
        memcpy(next, s->elite[0], sizeof *next * (size_t)n);
        techniques[by](s, next);
        try_settings(s, next, false);
        bool better = !s->failed && objective(s->c, next) < objective(s->c, s->elite[0]);
        if (better && has_cut(s, next))
            try_settings(s, next, true);
        if (s->failed)
            break;
        idle = runs_so_far(s) > before ? 0 : idle;
        b.all++;
        b.turns[by]++;
        b.gains[by] += keep(s, next) && better;
    }
}

SearchResult search_stochastic(Arena *a, const Forest *f, int n_datasets, const SearchOptions *o,
                               RunFn *run, void *env)
{
    SearchResult r = {.datasets = NEWN(a, DatasetResult, n_datasets)};
    int n = f->nodes.n;
    Arena *scratch = arena_new();
    Choice c = choice_of(scratch, f, n_datasets, o, r.datasets);
    Draw s = {.a = scratch,
              .c = &c,
              .probes = probes_new(a, scratch, f, n_datasets, run, env, r.datasets),
              .seed = 1};
    int64_t *unset = NEWN(scratch, int64_t, n);
    try_settings(&s, unset, true);
    for (int d = 0; d < n_datasets; d++)
        if (r.datasets[d].memory.n)
            r.datasets[d].untuned = r.datasets[d].memory.at[0].sample;
    keep(&s, unset);
    draw(&s, o);
    for (int d = 0; d < n_datasets; d++) {
        opinion_ranges(f, &r.datasets[d]);
        r.runs += r.datasets[d].runs;
    }
    r.complete = !s.failed;
    choose_near(a, f, n_datasets, o, s.elite[0], &r);
    arena_free(scratch);
    return r;
}
