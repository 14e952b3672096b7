#include "autotune/search.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Two times are equal for us if they differ by less than this (relative; and in seconds, since
 * programs tell whole microseconds and a launch costs a few), or by less than their noise. */
static const double EQUAL = 0.02, EQUAL_SECONDS = 3e-6;
/* Times that differ by more than this factor need no confirmation. */
static const double CLOSE = 2;

typedef struct {
    char *key;
    Sample sample;
} Memo;

/* The search on one data set. */
typedef struct {
    Arena *a;
    const Forest *f;
    int dataset;
    RunFn *run;
    void *env;
    DatasetResult *res;
    int64_t *cur; /* [node] present settings */
    VEC(Memo) memo;
    bool failed;
} Search;

static int cmp_i64(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* How many of the pars lie below the setting: 0 = comparison always true, n = always false. */
static int rank_of(const Opinion *op, int64_t setting)
{
    int i = 0;
    while (i < op->pars.n && op->pars.at[i] < setting)
        i++;
    return i;
}

/* --- Which comparisons are made under given settings ---------------------------------------- */

/* Is the node's comparison made under the settings, as far as the opinions know? */
static bool reached(const Forest *f, const Opinion *ops, const int64_t *settings, int node)
{
    const Node *n = &f->nodes.at[node];
    if (n->parent < 0)
        return true;
    const Opinion *up = &ops[n->parent];
    if (!reached(f, ops, settings, n->parent) || (up->known && up->pars.n == 0))
        return false;
    if (up->refused)
        return !n->outcome;
    int rank = rank_of(up, settings[n->parent]);
    return n->outcome ? rank < up->pars.n : rank > 0;
}

/* A text that is equal for settings that execute the same versions; NULL if that cannot be told
 * yet. */
static char *signature(Search *s)
{
    int n = s->f->nodes.n;
    char *key = arena_alloc(s->a, (size_t)n * 8 + 1), *p = key;
    for (int i = 0; i < n; i++) {
        const Opinion *op = &s->res->opinions[i];
        if (!reached(s->f, s->res->opinions, s->cur, i) || op->refused)
            *p++ = '-';
        else if (!op->known)
            return NULL;
        else
            p += snprintf(p, 8, "%d", rank_of(op, s->cur[i]) % 1000000);
        *p++ = ' ';
    }
    return key;
}

static void add_par(Arena *a, Opinion *op, int64_t par)
{
    for (int i = 0; i < op->pars.n; i++)
        if (op->pars.at[i] == par)
            return;
    vec_push(a, &op->pars, par);
    qsort(op->pars.at, (size_t)op->pars.n, sizeof(int64_t), cmp_i64);
}

/* A comparison that held for all its pars, and yet what follows a false one was compared too: the
 * version was refused. */
static void learn_refused(Search *s, const Sample *sample)
{
    for (int i = 0; i < sample->compared.n; i++) {
        const Node *n = &s->f->nodes.at[sample->compared.at[i].node];
        if (n->parent < 0 || n->outcome)
            continue;
        Opinion *up = &s->res->opinions[n->parent];
        up->refused |= up->pars.n > 0 && rank_of(up, s->cur[n->parent]) == 0;
    }
}

static void learn(Search *s, const Sample *sample)
{
    Opinion *ops = s->res->opinions;
    for (int i = 0; i < sample->compared.n; i++) {
        Compared c = sample->compared.at[i];
        add_par(s->a, &ops[c.node], c.par);
        ops[c.node].known = true;
    }
    learn_refused(s, sample);
    if (isinf(sample->seconds) || sample->partial)
        return; /* a run that broke off says nothing about what it did not get to */
    for (int i = 0; i < s->f->nodes.n; i++)
        if (reached(s->f, ops, s->cur, i))
            ops[i].known = true;
}

/* The time of the present settings: from memory if the same versions ran before, else by a run. */
static Sample measure(Search *s)
{
    Sample sample = {.seconds = INFINITY};
    if (s->failed)
        return sample;
    char *key = signature(s);
    for (int i = 0; key && i < s->memo.n; i++)
        if (strcmp(s->memo.at[i].key, key) == 0)
            return s->memo.at[i].sample;
    if (!s->run(s->env, s->dataset, s->cur, INFINITY, &sample)) {
        s->failed = true;
        return (Sample){.seconds = INFINITY};
    }
    s->res->runs++;
    learn(s, &sample);
    key = signature(s);
    if (key)
        vec_push(s->a, &s->memo, ((Memo){key, sample}));
    return sample;
}

/* --- One data set --------------------------------------------------------------------------- */

static Sample measure_rank(Search *s, int node, int i)
{
    const Opinion *op = &s->res->opinions[node];
    s->cur[node] = i < op->pars.n ? op->pars.at[i] : THRESHOLD_NEVER;
    Sample m = measure(s);
    Opinion *o = &s->res->opinions[node];
    for (int k = 0; k < o->curve.n; k++)
        if (o->curve.at[k].i == i)
            return m;
    vec_push(s->a, &o->curve, ((Point){i, m.seconds}));
    return m;
}

static bool about_equal(const Sample *a, const Sample *b)
{
    if (isinf(a->seconds) || isinf(b->seconds))
        return isinf(a->seconds) && isinf(b->seconds);
    double noise = a->noise + b->noise;
    double least = fmin(a->seconds, b->seconds);
    return fabs(a->seconds - b->seconds) <= fmax(EQUAL_SECONDS, fmax(EQUAL, noise) * least);
}

/* Runs the node's version at rank i once more; the faster of the samples counts from now on. */
static bool run_again(Search *s, int node, int i, Sample *known)
{
    Opinion *op = &s->res->opinions[node];
    Sample again;
    s->cur[node] = i < op->pars.n ? op->pars.at[i] : THRESHOLD_NEVER;
    if (!s->run(s->env, s->dataset, s->cur, INFINITY, &again)) {
        s->failed = true;
        return false;
    }
    s->res->runs++;
    if (again.seconds >= known->seconds)
        return true;
    *known = again;
    char *key = signature(s);
    for (int k = 0; key && k < s->memo.n; k++)
        if (strcmp(s->memo.at[k].key, key) == 0)
            s->memo.at[k].sample = again;
    for (int k = 0; k < op->curve.n; k++)
        if (op->curve.at[k].i == i)
            op->curve.at[k].seconds = again.seconds;
    return true;
}

/* Two close times were measured some while apart, in which the device may have changed its clock,
 * or something else ran: a choice between them is made after both ran in turn. */
static void confirm(Search *s, int node, Sample *on, Sample *off)
{
    enum { ROUNDS = 2 };
    for (int k = 0; k < ROUNDS; k++) {
        double most = fmax(on->seconds, off->seconds), least = fmin(on->seconds, off->seconds);
        if (on->noise + off->noise == 0 || isinf(most) || most > CLOSE * least ||
            about_equal(on, off) || !run_again(s, node, 1, off) || !run_again(s, node, 0, on))
            return;
    }
}

/* Binary search for the lowest point of the curve over ranks 0..n, assuming a single valley. */
static int valley(Search *s, int node, int n)
{
    int lo = 0, hi = n;
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (measure_rank(s, node, mid).seconds <= measure_rank(s, node, mid + 1).seconds)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

static void set_range(Opinion *op, int rank)
{
    op->low = rank > 0 ? op->pars.at[rank - 1] : 0;
    op->high = rank < op->pars.n ? op->pars.at[rank] : THRESHOLD_NEVER;
}

static void solve_below(Search *s, int parent, bool outcome);

/* Finds the best setting of a node whose ancestors' settings lead to it, with what lies below. */
static void solve_node(Search *s, int node)
{
    Opinion *op = &s->res->opinions[node];
    s->cur[node] = THRESHOLD_NEVER;
    solve_below(s, node, false);
    Sample never = measure(s);
    if (op->pars.n == 0)
        return; /* this data set never makes the comparison */
    s->cur[node] = THRESHOLD_ALWAYS;
    solve_below(s, node, true);
    s->cur[node] = THRESHOLD_NEVER;
    int n = op->pars.n, rank;
    if (n == 1) {
        Sample off = measure_rank(s, node, 1), on = measure_rank(s, node, 0);
        if (!op->refused)
            confirm(s, node, &on, &off);
        rank = on.seconds < off.seconds && !op->refused ? 0 : 1;
        op->free = op->refused || about_equal(&on, &off);
    } else {
        rank = valley(s, node, n);
        if (!(measure_rank(s, node, rank).seconds < never.seconds))
            rank = n;
    }
    s->cur[node] = rank < n ? op->pars.at[rank] : THRESHOLD_NEVER;
    set_range(op, rank);
    op->best = INFINITY;
    for (int k = 0; k < op->curve.n; k++)
        op->best = fmin(op->best, op->curve.at[k].seconds);
}

/* Solves the nodes that are compared when `parent` has that outcome (-1: the roots), last one
 * first. */
static void solve_below(Search *s, int parent, bool outcome)
{
    for (int i = s->f->nodes.n - 1; i >= 0; i--) {
        const Node *n = &s->f->nodes.at[i];
        if (n->parent == parent && (parent < 0 || n->outcome == outcome))
            solve_node(s, i);
    }
}

static bool solve_dataset(Arena *a, const Forest *f, int d, RunFn *run, void *env,
                          DatasetResult *res)
{
    int n = f->nodes.n;
    res->opinions = NEWN(a, Opinion, n);
    res->own = NEWN(a, int64_t, n);
    Search s = {.a = a, .f = f, .dataset = d, .run = run, .env = env, .res = res, .cur = res->own};
    for (int i = 0; i < n; i++) {
        s.cur[i] = THRESHOLD_NEVER;
        res->opinions[i].high = THRESHOLD_NEVER;
    }
    measure(&s); /* the last version; tells the pars */
    solve_below(&s, -1, false);
    res->best = measure(&s).seconds;
    return !s.failed;
}

/* --- All data sets together ----------------------------------------------------------------- */

/* A value of the range low < t <= high for data sets not seen: the default if it lies inside, else
 * halfway (on a log scale) between the evidence on both sides. */
static int64_t pick(int64_t low, int64_t high, int64_t def)
{
    if (low < def && def <= high)
        return def;
    if (high == THRESHOLD_NEVER)
        return low < THRESHOLD_NEVER / 2 ? 2 * low : THRESHOLD_NEVER;
    if (low == 0)
        return high;
    int64_t mid = (int64_t)sqrt((double)low * (double)high);
    return mid <= low ? low + 1 : mid > high ? high : mid;
}

/* Seconds of the data set at a setting of the node: the nearest measured point of its curve. */
static double time_at(const Opinion *op, int64_t setting)
{
    int rank = rank_of(op, setting), best = -1;
    for (int k = 0; k < op->curve.n; k++)
        if (best < 0 || abs(op->curve.at[k].i - rank) < abs(op->curve.at[best].i - rank))
            best = k;
    return best < 0 ? 0 : op->curve.at[best].seconds;
}

static double regret(const Opinion *op, int64_t setting)
{
    double t = time_at(op, setting);
    if (op->curve.n == 0 || isinf(op->best))
        return 0;
    return isinf(t) ? 1e9 : t / op->best - 1;
}

/* No common value: the candidate (a par of some data set, or never) with the least sum of regrets.
 */
static int64_t least_regret(SearchResult *r, int node, const int *who, int n_who)
{
    int64_t best_t = THRESHOLD_NEVER;
    double best = INFINITY;
    for (int k = 0; k <= n_who; k++) {
        int n_c = k < n_who ? r->datasets[who[k]].opinions[node].pars.n : 1;
        for (int j = 0; j < n_c; j++) {
            int64_t t = k < n_who ? r->datasets[who[k]].opinions[node].pars.at[j] : THRESHOLD_NEVER;
            double sum = 0;
            for (int i = 0; i < n_who; i++)
                sum += regret(&r->datasets[who[i]].opinions[node], t);
            if (sum < best) {
                best = sum;
                best_t = t;
            }
        }
    }
    return best_t;
}

static void combine_node(Arena *a, const Forest *f, int n_datasets, SearchResult *r, int node)
{
    int *who = NEWN(a, int, n_datasets), n_who = 0;
    int64_t low = 0, high = THRESHOLD_NEVER;
    for (int d = 0; d < n_datasets; d++) {
        const Opinion *op = &r->datasets[d].opinions[node];
        if (op->pars.n == 0 || op->free || !reached(f, r->datasets[d].opinions, r->settings, node))
            continue;
        who[n_who++] = d;
        low = op->low > low ? op->low : low;
        high = op->high < high ? op->high : high;
    }
    if (low < high) {
        r->settings[node] = pick(low, high, f->nodes.at[node].def);
        return;
    }
    r->settings[node] = least_regret(r, node, who, n_who);
    int *clash = NEWN(a, int, n_who), n_clash = 0;
    for (int i = 0; i < n_who; i++) {
        const Opinion *op = &r->datasets[who[i]].opinions[node];
        if (op->low >= high || op->high <= low)
            clash[n_clash++] = who[i];
    }
    vec_push(a, &r->conflicts, ((Conflict){node, clash, n_clash, r->settings[node]}));
}

SearchResult search_monotone(Arena *a, const Forest *f, int n_datasets, RunFn *run, void *env)
{
    SearchResult r = {.complete = true};
    r.settings = NEWN(a, int64_t, f->nodes.n);
    r.datasets = NEWN(a, DatasetResult, n_datasets);
    int done = 0; /* of a search that was given up, what is known of these */
    for (int d = 0; d < n_datasets && r.complete; d++) {
        r.complete = solve_dataset(a, f, d, run, env, &r.datasets[d]);
        if (r.complete && isinf(r.datasets[d].best)) /* what never runs has no opinion */
            r.datasets[d].opinions = NEWN(a, Opinion, f->nodes.n);
        r.runs += r.datasets[d].runs;
        done += r.complete;
    }
    for (int i = 0; i < f->nodes.n; i++)
        r.settings[i] = done ? f->nodes.at[i].def : THRESHOLD_UNSET;
    for (int i = 0; done && i < f->nodes.n; i++)
        combine_node(a, f, done, &r, i);
    return r;
}
