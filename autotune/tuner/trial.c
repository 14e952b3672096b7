/* Which versions runs took, and how long they took. */
#include "autotune/tuner/tuning.h"

#include <math.h>
#include <string.h>

uint8_t *ways_of(Arena *a, const Forest *f, const LogLines *log)
{
    uint8_t *ways = NEWN(a, uint8_t, f->nodes.n);
    for (int i = 0; i < log->n; i++) {
        int node = forest_find(f, log->at[i].name);
        if (node >= 0)
            ways[node] |= log->at[i].outcome ? WAY_TRUE : WAY_FALSE;
    }
    return ways;
}

const char *short_name(const char *threshold)
{
    const char *dot = strrchr(threshold, '.');
    return dot ? dot + 1 : threshold;
}

/* --- The numbers of versions ---------------------------------------------------------------- */

/* The walk over the forest in the order of minifut explain, which numbers what is left when no
 * further comparison is made. */
typedef struct {
    Arena *a;
    const Forest *f;
    const uint8_t *ways;
    int number;
    VersionIds taken;
} Walk;

static bool asked_below(const Walk *w, int parent, bool outcome)
{
    for (int i = 0; i < w->f->nodes.n; i++) {
        const Node *n = &w->f->nodes.at[i];
        if (n->parent == parent && n->outcome == outcome && w->ways[i] && !node_is_loop(n))
            return true;
    }
    return false;
}

static void walk_below(Walk *w, int parent, bool outcome, bool taken);

static void walk_node(Walk *w, int node)
{
    bool held = w->ways[node] & WAY_TRUE, not_held = w->ways[node] & WAY_FALSE;
    /* A version that was refused: the comparison held, and the next one was made all the same. */
    if (held && !not_held && asked_below(w, node, false)) {
        held = false;
        not_held = true;
    }
    walk_below(w, node, true, held);
    walk_below(w, node, false, not_held);
}

static void walk_below(Walk *w, int parent, bool outcome, bool taken)
{
    bool leaf = true;
    for (int i = 0; i < w->f->nodes.n; i++) {
        const Node *n = &w->f->nodes.at[i];
        if (n->parent != parent || (parent >= 0 && n->outcome != outcome) || node_is_loop(n))
            continue;
        leaf = false;
        walk_node(w, i);
    }
    if (!leaf)
        return;
    if (taken)
        vec_push(w->a, &w->taken, w->number);
    w->number++;
}

VersionIds version_ids(Arena *a, const Forest *f, const uint8_t *ways)
{
    Walk w = {.a = a, .f = f, .ways = ways};
    walk_below(&w, -1, false, true);
    return w.taken;
}

const char *versions_taken(Arena *a, const Forest *f, const uint8_t *ways)
{
    VersionIds ids = version_ids(a, f, ways);
    const char *text = "";
    for (int i = 0; i < ids.n; i++)
        text = arena_printf(a, "%s%sV%d", text, i ? " + " : "", ids.at[i]);
    for (int i = 0; i < f->nodes.n; i++)
        if (node_is_loop(&f->nodes.at[i]) && ways[i] & WAY_FALSE)
            text = arena_printf(a, "%s, a loop in one launch", text);
    return text;
}

/* --- Trials --------------------------------------------------------------------------------- */

bool same_versions(const Measurement *a, const Measurement *b)
{
    if (a->log.n != b->log.n)
        return false;
    for (int i = 0; i < a->log.n; i++)
        if (strcmp(a->log.at[i].name, b->log.at[i].name) != 0 ||
            a->log.at[i].outcome != b->log.at[i].outcome)
            return false;
    return true;
}

void trial_note(Arena *a, Trials *ts, const Forest *f, const int64_t *settings,
                const Measurement *m)
{
    int n = f->nodes.n, k = 0;
    while (k < ts->n && (ts->at[k].m.ok != m->ok || ts->at[k].m.partial != m->partial ||
                         !same_versions(&ts->at[k].m, m)))
        k++;
    if (k == ts->n) {
        uint8_t *ways = ways_of(a, f, &m->log);
        vec_push(a, ts, ((Trial){versions_taken(a, f, ways), ways, NULL, *m, 0}));
    }
    Trial *t = &ts->at[k];
    t->times++;
    bool better =
        t->m.cut ? !m->cut || m->median > t->m.median : !m->cut && m->median < t->m.median;
    if (t->settings && !better)
        return;
    t->m = *m;
    t->settings = n ? arena_memdup(a, settings, (size_t)n * sizeof *settings) : NULL;
}

double tuning_best(const Tuning *t, int d)
{
    const Verdict *v = &t->verdicts[d];
    const Measurement *const checks[] = {&v->untuned, &v->tuned, &v->own};
    double best = INFINITY;
    for (int i = 0; i < 3 && v->made; i++)
        best = checks[i]->ok ? fmin(best, checks[i]->median) : best;
    if (isfinite(best))
        return best;
    for (int i = 0; i < t->trials[d].n; i++) {
        const Measurement *m = &t->trials[d].at[i].m;
        best = m->ok && !m->cut ? fmin(best, m->median) : best;
    }
    return best;
}

bool tuning_usable(const Tuning *t, int d)
{
    return isfinite(tuning_best(t, d));
}

double tuning_regret(const Tuning *t, int d)
{
    const Verdict *v = &t->verdicts[d];
    if (!v->made)
        return 0;
    return v->tuned.ok ? speedup(v->tuned.median, tuning_best(t, d)) - 1 : INFINITY;
}

double tuning_loss(const Tuning *t, bool tuned)
{
    double all = 0;
    int n = 0, made = 0;
    for (int d = 0; d < t->datasets->n; d++) {
        const Verdict *v = &t->verdicts[d];
        const Measurement *m = tuned ? &v->tuned : &v->untuned;
        n += tuning_usable(t, d);
        made += v->made;
        all += !v->made ? 0 : m->ok ? log(speedup(m->median, tuning_best(t, d))) : INFINITY;
    }
    return made && made == n ? exp(all / n) : tuned ? t->found->chosen : t->found->untuned;
}

Range tuning_range(const Tuning *t, int node)
{
    Range r = {0, THRESHOLD_NEVER, 0, 0};
    for (int d = 0; d < t->datasets->n; d++) {
        const Opinion *op = &t->found->datasets[d].opinions[node];
        r.refused += op->refused;
        if (op->pars.n == 0 || op->free)
            continue;
        r.asked++;
        r.low = op->low > r.low ? op->low : r.low;
        r.high = op->high < r.high ? op->high : r.high;
    }
    return r;
}
