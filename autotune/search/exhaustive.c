/* The exhaustive search (Rotendahl and Larsen 2020, section 3): every distinct combination of
 * the paths that data sets take through the forest, which needs no assumption on times.
 *
 * A threshold's values that matter to the data sets that get to it are the pars with which they
 * compare it, and none of them; which of them go on under which outcome decides what matters below.
 * A combination's time is the sum of those of its paths, so each path of each data set is run once,
 * and combinations are weighed from memory. A run is cut that loses by far to the best so far; if
 * the best combination has a path that was cut, that is run to its end, and they are
 * weighed anew. */
#include "autotune/search/choose.h"

#include <math.h>
#include <string.h>

/* A threshold to be given a value, for the data sets that get to it. */
typedef struct {
    int node;
    const bool *here; /* [dataset] */
} Open;

typedef struct {
    Arena *a;
    const Choice *c;
    Probe *probes; /* [dataset] */
    bool *here;    /* [dataset] it is swept */
    int64_t *settings;
    Open *open;   /* a stack: what must still be decided */
    double count; /* combinations so far */
    double least; /* what the best of them is worth */
    int64_t *best;
    bool failed;
} Sweep;

typedef void Visit(Sweep *s);

static void push_below(Sweep *s, int *top, int parent, bool outcome, const bool *here)
{
    bool any = false;
    for (int d = 0; d < s->c->n; d++)
        any |= here[d];
    for (int i = s->c->f->nodes.n - 1; i > parent && any; i--)
        if (s->c->f->nodes.at[i].parent == parent &&
            (parent < 0 || s->c->f->nodes.at[i].outcome == outcome))
            s->open[(*top)++] = (Open){i, here};
}

static const bool *going_on(Sweep *s, const Open *at, int64_t setting, bool outcome)
{
    bool *part = NEWN(s->a, bool, s->c->n);
    for (int d = 0; d < s->c->n; d++)
        part[d] =
            at->here[d] && outcome_can_be(&s->c->datasets[d].opinions[at->node], setting, outcome);
    return part;
}

typedef VEC(int64_t) Values;

/* The values that divide the data sets differently: each one's pars, and never. */
static Values values_at(Sweep *s, const Open *at)
{
    Values all = {0};
    for (int d = 0; d < s->c->n; d++) {
        const Opinion *op = &s->c->datasets[d].opinions[at->node];
        for (int k = 0; at->here[d] && !op->refused && k < op->pars.n; k++)
            vec_push(s->a, &all, op->pars.at[k] > 0 ? op->pars.at[k] : THRESHOLD_ALWAYS);
    }
    vec_push(s->a, &all, THRESHOLD_NEVER);
    all.n = values_sort(all.at, all.n);
    return all;
}

/* Visits every combination of values of what is open. */
static void each(Sweep *s, int top, Visit *visit)
{
    if (s->failed)
        return;
    if (top == 0) {
        s->count++;
        visit(s);
        return;
    }
    ArenaMark mark = arena_mark(s->a);
    Open at = s->open[top - 1];
    Values values = values_at(s, &at);
    for (int i = 0; i < values.n; i++) {
        int above = top - 1;
        Open *saved = arena_memdup(s->a, s->open, sizeof *saved * (size_t)top);
        s->settings[at.node] = values.at[i];
        push_below(s, &above, at.node, true, going_on(s, &at, values.at[i], true));
        push_below(s, &above, at.node, false, going_on(s, &at, values.at[i], false));
        each(s, above, visit);
        memcpy(s->open, saved, sizeof *saved * (size_t)top);
    }
    s->settings[at.node] = THRESHOLD_UNSET;
    arena_reset(s->a, mark);
}

/* Visits every combination of the paths of the data sets; how many there are. */
static double sweep(Sweep *s, Visit *visit)
{
    int top = 0;
    s->count = 0;
    memset(s->settings, 0, sizeof *s->settings * (size_t)s->c->f->nodes.n);
    push_below(s, &top, -1, false, s->here);
    each(s, top, visit);
    return s->count;
}

static void only_count(Sweep *s)
{
    (void)s;
}

/* --- Runs ----------------------------------------------------------------------------------- */

/* Runs the data set so that each threshold is compared, as far as that is possible. */
static void learn_pars(Probe *p)
{
    int n = p->f->nodes.n, memo;
    probe_measure(p, INFINITY, &memo);
    if (memo >= 0)
        p->res->untuned = p->res->memory.at[memo].sample;
    for (int i = 0; i < n && !p->failed; i++) {
        if (p->res->opinions[i].known)
            continue;
        for (int k = 0; k < n; k++)
            p->cur[k] = THRESHOLD_NEVER;
        for (int k = i; p->f->nodes.at[k].parent >= 0; k = p->f->nodes.at[k].parent)
            if (p->f->nodes.at[k].outcome)
                p->cur[p->f->nodes.at[k].parent] = THRESHOLD_ALWAYS;
        probe_measure(p, INFINITY, &memo);
    }
}

/* Runs the path of each data set that is swept; to its end, if a user's function may want
 * it slow. */
static void measure_paths(Sweep *s)
{
    size_t size = sizeof *s->settings * (size_t)s->c->f->nodes.n;
    bool whole = s->c->o->objective == OBJECTIVE_COST;
    for (int d = 0; d < s->c->n && !s->failed; d++) {
        Probe *p = &s->probes[d];
        int memo;
        if (!s->here[d])
            continue;
        memcpy(p->cur, s->settings, size);
        Sample m = probe_measure(p, whole ? INFINITY : p->res->best, &memo);
        s->failed |= p->failed;
        if (m.cut || m.seconds >= p->res->best)
            continue;
        p->res->best = m.seconds;
        memcpy(p->res->own, s->settings, size);
    }
}

/* The row of the data set's memory with the least time; -1: none. */
static int fastest(const DatasetResult *res)
{
    int best = -1;
    for (int i = 0; i < res->memory.n; i++) {
        const Memo *m = &res->memory.at[i];
        if (m->path && !m->sample.cut && !isinf(m->sample.seconds) &&
            (best < 0 || m->sample.seconds < res->memory.at[best].sample.seconds))
            best = i;
    }
    return best;
}

static void again(Probe *p, int row)
{
    memcpy(p->cur, p->res->memory.at[row].settings, sizeof *p->cur * (size_t)p->f->nodes.n);
    probe_again(p, row);
}

/* The fastest path of a data set and those that may be as fast run again in turn. */
static void confirm_best(Probe *p)
{
    DatasetResult *res = p->res;
    int best = fastest(res);
    for (int k = 0; k < DOUBT_ROUNDS && best >= 0 && !p->failed; k++) {
        Sample least = res->memory.at[best].sample;
        bool any = false;
        for (int i = 0; i < res->memory.n; i++)
            if (samples_in_doubt(&res->memory.at[i].sample, &least)) {
                again(p, i);
                any = true;
            }
        if (any)
            again(p, best);
        best = fastest(res);
    }
    if (best < 0 || p->failed)
        return;
    res->best = res->memory.at[best].sample.seconds;
    memcpy(res->own, res->memory.at[best].settings, sizeof *res->own * (size_t)p->f->nodes.n);
    res->untuned = res->memory.at[0].sample; /* it ran first */
}

static void weigh(Sweep *s)
{
    double worth = objective(s->c, s->settings);
    if (worth >= s->least)
        return;
    s->least = worth;
    memcpy(s->best, s->settings, sizeof *s->best * (size_t)s->c->f->nodes.n);
}

/* Runs to their end those paths of the best combination that were cut. Were there any? */
static bool complete_paths(Sweep *s)
{
    bool any = false;
    for (int d = 0; d < s->c->n && !s->failed; d++) {
        Probe *p = &s->probes[d];
        int memo = s->here[d] ? memory_find(s->c->f, p->res, s->best) : -1;
        if (memo < 0 || !p->res->memory.at[memo].sample.cut)
            continue;
        memcpy(p->cur, s->best, sizeof *s->best * (size_t)s->c->f->nodes.n);
        probe_measure(p, INFINITY, &memo);
        s->failed |= p->failed;
        any = true;
    }
    return any;
}

static void sweep_all(Sweep *s, const SearchOptions *o)
{
    for (int d = 0; d < s->c->n && !s->failed; d++) {
        learn_pars(&s->probes[d]);
        s->failed |= s->probes[d].failed;
        s->here[d] = !s->failed;
    }
    double all = s->failed ? 0 : sweep(s, only_count);
    memset(s->here, 0, sizeof *s->here * (size_t)s->c->n);
    for (int pass = 0; pass < 2; pass++) { /* to count, and to run */
        double paths = 0;
        for (int d = 0; d < s->c->n && !s->failed; d++) {
            s->here[d] = true;
            paths += sweep(s, pass ? measure_paths : only_count);
            s->here[d] = false;
        }
        if (!pass && !s->failed && o->plan)
            o->plan(all, paths);
    }
    for (int d = 0; d < s->c->n && !s->failed; d++) {
        confirm_best(&s->probes[d]);
        s->failed |= s->probes[d].failed;
    }
    for (int d = 0; d < s->c->n; d++)
        s->here[d] = s->c->in[d] = isfinite(s->probes[d].res->best);
    do {
        s->least = INFINITY;
        weigh(s); /* nothing set, which may be like no value */
        sweep(s, weigh);
    } while (complete_paths(s));
}

SearchResult search_exhaustive(Arena *a, const Forest *f, int n_datasets, const SearchOptions *o,
                               RunFn *run, void *env)
{
    SearchResult r = {.datasets = NEWN(a, DatasetResult, n_datasets)};
    int n = f->nodes.n;
    Arena *scratch = arena_new();
    Choice c = choice_of(scratch, f, n_datasets, o, r.datasets);
    Sweep s = {.a = scratch,
               .c = &c,
               .probes = probes_new(a, scratch, f, n_datasets, run, env, r.datasets),
               .here = NEWN(scratch, bool, n_datasets),
               .settings = NEWN(scratch, int64_t, n),
               .open = NEWN(scratch, Open, n + 1),
               .best = NEWN(a, int64_t, n)};
    sweep_all(&s, o);
    for (int d = 0; d < n_datasets; d++) {
        DatasetResult *res = &r.datasets[d];
        opinion_ranges(f, res);
        res->best = fmin(res->best, res->untuned.seconds);
        r.runs += res->runs;
    }
    r.complete = !s.failed;
    choose_near(a, f, n_datasets, o, s.best, &r);
    arena_free(scratch);
    return r;
}
