/* Runs of a data set, remembered by the path that they took through the forest. */
#include "autotune/search/paths.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Two times are equal for us if they differ by less than this (relative; and in seconds, since
 * programs tell whole microseconds and a launch costs a few), or by less than their noise. */
static const double EQUAL = 0.02, EQUAL_SECONDS = 3e-6;

bool times_equal(double a, double b, double noise)
{
    if (isinf(a) || isinf(b))
        return isinf(a) && isinf(b);
    return fabs(a - b) <= fmax(EQUAL_SECONDS, fmax(EQUAL, noise) * fmin(a, b));
}

bool samples_in_doubt(const Sample *a, const Sample *b)
{
    const double CLOSE = 1.25;
    double most = fmax(a->seconds, b->seconds), least = fmin(a->seconds, b->seconds),
           noise = a->noise + b->noise;
    return noise > 0 && !a->told && !b->told && !isinf(most) && !a->cut && !b->cut &&
           most <= CLOSE * least && !times_equal(a->seconds, b->seconds, noise);
}

Probe probe_new(Arena *a, const Forest *f, int d, RunFn *run, void *env, DatasetResult *res)
{
    int n = f->nodes.n;
    res->opinions = NEWN(a, Opinion, n);
    res->own = NEWN(a, int64_t, n);
    res->best = INFINITY;
    res->chosen = res->unseen = NAN;
    for (int i = 0; i < n; i++) {
        res->opinions[i].high = THRESHOLD_NEVER;
        res->opinions[i].best = INFINITY;
        res->opinions[i].unset_seconds = NAN;
    }
    return (Probe){
        .a = a, .f = f, .dataset = d, .run = run, .env = env, .res = res, .cur = res->own};
}

Probe *probes_new(Arena *a, Arena *scratch, const Forest *f, int n, RunFn *run, void *env,
                  DatasetResult *results)
{
    Probe *probes = NEWN(scratch, Probe, n);
    for (int d = 0; d < n; d++) {
        probes[d] = probe_new(a, f, d, run, env, &results[d]);
        probes[d].cur = NEWN(scratch, int64_t, f->nodes.n);
    }
    return probes;
}

/* --- Paths ---------------------------------------------------------------------------------- */

int opinion_rank(const Opinion *op, int64_t setting)
{
    int i = 0;
    while (i < op->pars.n && op->pars.at[i] < setting)
        i++;
    return i;
}

static int64_t least_held(const Opinion *op, int64_t setting)
{
    int rank = opinion_rank(op, setting);
    return rank < op->pars.n ? op->pars.at[rank] : THRESHOLD_NEVER;
}

bool outcome_can_be(const Opinion *op, int64_t setting, bool outcome)
{
    if (op->known && op->pars.n == 0)
        return false;
    if (op->refused)
        return !outcome;
    if (setting == THRESHOLD_UNSET && !op->unset)
        return true;
    int rank = opinion_rank(op, setting == THRESHOLD_UNSET ? op->unset : setting);
    return outcome ? rank < op->pars.n : rank > 0;
}

bool node_reached(const Forest *f, const DatasetResult *res, const int64_t *settings, int node)
{
    const Node *n = &f->nodes.at[node];
    return n->parent < 0 ||
           (outcome_can_be(&res->opinions[n->parent], settings[n->parent], n->outcome) &&
            node_reached(f, res, settings, n->parent));
}

bool path_of(const Forest *f, const DatasetResult *res, const int64_t *settings, int64_t *path)
{
    bool known = true;
    for (int i = 0; i < f->nodes.n; i++) {
        const Opinion *op = &res->opinions[i];
        const Node *n = &f->nodes.at[i];
        int64_t s = settings[i] == THRESHOLD_UNSET ? op->unset : settings[i];
        if (n->parent >= 0 &&
            (path[n->parent] == PATH_NONE ||
             !outcome_can_be(&res->opinions[n->parent], settings[n->parent], n->outcome)))
            path[i] = PATH_NONE;
        else if (op->refused)
            path[i] = THRESHOLD_NEVER;
        else if (s ? !op->known : !op->met_unset)
            path[i] = PATH_UNKNOWN;
        else
            path[i] = s ? least_held(op, s) : PATH_OWN;
        known &= path[i] != PATH_UNKNOWN;
    }
    return known;
}

int memory_find(const Forest *f, const DatasetResult *res, const int64_t *settings)
{
    enum { SMALL = 64 };
    int n = f->nodes.n, found = -1;
    int64_t small[SMALL], *path = n <= SMALL ? small : malloc(sizeof *path * (size_t)n);
    if (path && path_of(f, res, settings, path))
        for (int i = 0; i < res->memory.n && found < 0; i++) {
            const int64_t *known = res->memory.at[i].path;
            if (known && memcmp(known, path, sizeof *path * (size_t)n) == 0)
                found = i;
        }
    if (path != small)
        free(path);
    return found;
}

void opinion_ranges(const Forest *f, DatasetResult *res)
{
    for (int i = 0; i < f->nodes.n; i++) {
        Opinion *op = &res->opinions[i];
        int rank = opinion_rank(op, res->own[i]);
        op->free = res->own[i] == THRESHOLD_UNSET || op->pars.n == 0;
        op->low = rank > 0 ? op->pars.at[rank - 1] : 0;
        op->high = rank < op->pars.n ? op->pars.at[rank] : THRESHOLD_NEVER;
    }
}

/* --- What runs tell ------------------------------------------------------------------------- */

static int cmp_i64(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int values_sort(int64_t *at, int n)
{
    int kept = 0;
    qsort(at, (size_t)n, sizeof *at, cmp_i64);
    for (int i = 0; i < n; i++)
        if (kept == 0 || at[i] != at[kept - 1])
            at[kept++] = at[i];
    return kept;
}

static void add_par(Probe *p, int node, int64_t par)
{
    Opinion *op = &p->res->opinions[node];
    vec_push(p->a, &op->pars, par);
    op->pars.n = values_sort(op->pars.at, op->pars.n);
    op->known = true;
}

/* A comparison that always held, and yet what follows a false one was compared too: the version was
 * refused. */
static void learn_refused(Probe *p, const Sample *sample)
{
    for (int i = 0; i < sample->compared.n; i++) {
        const Node *n = &p->f->nodes.at[sample->compared.at[i].node];
        bool held = false, failed = n->parent < 0 || n->outcome;
        for (int k = 0; k < sample->compared.n && !failed; k++)
            if (sample->compared.at[k].node == n->parent) {
                held |= sample->compared.at[k].held;
                failed |= !sample->compared.at[k].held;
            }
        if (held && !failed)
            p->res->opinions[n->parent].refused = true;
    }
}

/* The setting that an unset threshold was like, in a run that was got through as a whole or not. */
static void learn_unset(Probe *p, const Sample *sample, int node, bool whole)
{
    Opinion *op = &p->res->opinions[node];
    int64_t failed = 0, held = THRESHOLD_NEVER; /* the greatest and the least such par */
    bool compared = false;
    for (int i = 0; i < sample->compared.n; i++) {
        Compared c = sample->compared.at[i];
        if (c.node != node)
            continue;
        compared = true;
        held = c.held && c.par < held ? c.par : held;
        failed = !c.held && c.par > failed ? c.par : failed;
    }
    op->met_unset |= compared || whole;
    op->unset = !compared || failed >= held ? THRESHOLD_UNSET : held > 0 ? held : THRESHOLD_ALWAYS;
}

static void learn(Probe *p, const Sample *sample)
{
    Opinion *ops = p->res->opinions;
    for (int i = 0; i < sample->compared.n; i++)
        add_par(p, sample->compared.at[i].node, sample->compared.at[i].par);
    learn_refused(p, sample);
    /* A run that broke off says nothing about what it did not get to. */
    bool whole = !isinf(sample->seconds) && !sample->partial;
    for (int i = 0; i < p->f->nodes.n; i++) {
        if (!node_reached(p->f, p->res, p->cur, i))
            continue;
        ops[i].known |= whole && p->cur[i] != THRESHOLD_UNSET;
        if (p->cur[i] == THRESHOLD_UNSET && !ops[i].met_unset)
            learn_unset(p, sample, i, whole);
    }
}

/* --- Measuring ------------------------------------------------------------------------------ */

static int64_t *present_path(Probe *p)
{
    int64_t *path = NEWN(p->a, int64_t, p->f->nodes.n);
    return path_of(p->f, p->res, p->cur, path) ? path : NULL;
}

Sample probe_measure(Probe *p, double rival, int *memo)
{
    Sample sample = {.seconds = INFINITY};
    *memo = -1;
    if (p->failed)
        return sample;
    int row = memory_find(p->f, p->res, p->cur);
    if (row >= 0) {
        sample = p->res->memory.at[row].sample;
        *memo = row;
        if (!sample.cut || sample.seconds >= rival)
            return sample;
    }
    sample = (Sample){0};
    if (!p->run(p->env, p->dataset, p->cur, rival, p->parts, &sample)) {
        p->failed = true;
        return (Sample){.seconds = INFINITY};
    }
    p->res->runs++;
    learn(p, &sample);
    if (row < 0) {
        *memo = p->res->memory.n;
        vec_push(p->a, &p->res->memory,
                 ((Memo){present_path(p), sample,
                         arena_memdup(p->a, p->cur, sizeof *p->cur * (size_t)p->f->nodes.n)}));
    } else {
        p->res->memory.at[row].sample = sample;
    }
    return sample;
}

void probe_again(Probe *p, int memo)
{
    Sample again = {0};
    if (p->failed || !p->run(p->env, p->dataset, p->cur, INFINITY, 0, &again)) {
        p->failed = true;
        return;
    }
    p->res->runs++;
    if (memo >= 0 && again.seconds < p->res->memory.at[memo].sample.seconds) {
        Sample *now = &p->res->memory.at[memo].sample;
        again.parts.at = now->parts.at;
        again.parts.n = now->parts.n;
        *now = again;
    }
}

void points_refresh(const Forest *f, DatasetResult *res)
{
    for (int i = 0; i < f->nodes.n; i++)
        for (int k = 0; k < res->opinions[i].curve.n; k++) {
            Point *p = &res->opinions[i].curve.at[k];
            if (p->memo < 0)
                continue;
            const Sample *s = &res->memory.at[p->memo].sample;
            p->seconds = s->seconds;
            p->noise = s->noise;
            p->cut = s->cut;
        }
}
