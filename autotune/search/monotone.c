/* The monotone search (TFP'21). Nothing is set in a data set's first run, which tells what untuned
 * programs do and which degrees of parallelism (pars) the thresholds are compared with. Then
 * bottom-up over the forest: of each threshold, with what is below it already at its best and what
 * was not looked at yet unset, both outcomes are tried if all its pars are equal on that data set
 * (size-invariant: n versions cost n runs, the first one among them); else the best place between
 * its pars is found by a binary search that compares neighbours (size-variant: O(log p) runs, right
 * when time has a single valley over the threshold). Those of loops come after the nests in them,
 * which are tried with launches apart. Runs that would execute the same versions as an earlier one
 * are answered from memory.
 *
 * Nests beside each other are tried side by side where runs tell their parts (parts.c): a run for
 * one of them also tries a version of each that is still to come. The best of them together is run
 * as a whole at the end; if it is slower than its parts told, these depend on each other, and the
 * nests are gone through one after the other. */
#include "autotune/search/choose.h"

#include <math.h>

/* Noise of so much of the best time hides what a threshold does. */
static const double HIDING = 0.1;
/* A difference of so many times its noise is known well enough. */
static const double HIDDEN = 4;
/* Times that differ by more than this factor do so for other reasons than noise. */
static const double MUCH = 1.25;
/* A whole that is slower than its parts told by more than this. */
static const double SURPRISE = 1.1;

typedef struct {
    Probe p;
    /* The least time so far of what present runs compete with. While siblings of what is tried are
     * still unset, other parts of the forest are no measure for it. */
    double bar;
    int nests;  /* how many groups of nests beside each other is what is tried in? */
    bool *open; /* [node] a nest of them that was not looked at yet */
    bool apart; /* parts of runs count */
    bool rides; /* ... and runs try several versions at once */
} Search;

/* --- Nests beside each other ------------------------------------------------------------------ */

/* A run that tells what the present settings take, and something of nests that are still to come.
 * False if that was not to be. */
static bool ride(Search *s)
{
    Probe *p = &s->p;
    double rival;
    int memo;
    int64_t *own = p->cur, *ridden = arena_memdup(p->a, own, sizeof *own * (size_t)p->f->nodes.n);
    Sample m;
    if (!s->rides || !parts_ride(p->f, p->res, s->open, ridden, &rival))
        return false;
    p->cur = ridden;
    probe_measure(p, rival, &memo);
    p->cur = own;
    if (parts_told(p->f, p->res, own, &m, NULL))
        return true;
    s->rides = parts_settle(p->f, p->res, s->open, ridden);
    return false;
}

/* What parts of runs tell of the present settings. */
static bool told_apart(const Search *s, Sample *m)
{
    return s->apart && s->nests > 0 && parts_told(s->p.f, s->p.res, s->p.cur, m, NULL);
}

/* The time of the present settings, from parts of runs, or else a run. */
static Sample measure(Search *s, int *memo)
{
    Sample m;
    *memo = -1;
    s->p.parts = s->rides && s->nests > 0 ? parts_slowdown(s->p.res) : 0;
    if (!told_apart(s, &m) && !(s->nests > 0 && ride(s) && told_apart(s, &m))) {
        m = probe_measure(&s->p, s->bar, memo);
        if (told_apart(s, &m))
            *memo = -1;
    }
    if (!m.cut)
        s->bar = fmin(s->bar, m.seconds);
    return m;
}

static int64_t setting_at(const Opinion *op, int rank)
{
    return rank < op->pars.n ? op->pars.at[rank] : THRESHOLD_NEVER;
}

static Sample measure_rank(Search *s, int node, int i)
{
    Opinion *op = &s->p.res->opinions[node];
    int memo;
    s->p.cur[node] = setting_at(op, i);
    Sample m = measure(s, &memo);
    Point point = {i, m.seconds, m.noise, m.cut, memo};
    for (int k = 0; k < op->curve.n; k++)
        if (op->curve.at[k].i == i) {
            op->curve.at[k] = point;
            return m;
        }
    vec_push(s->p.a, &op->curve, point);
    return m;
}

static Sample again_at(Search *s, int node, int i)
{
    Opinion *op = &s->p.res->opinions[node];
    int memo;
    s->p.cur[node] = setting_at(op, i);
    probe_measure(&s->p, s->bar, &memo);
    probe_again(&s->p, memo);
    return measure_rank(s, node, i);
}

/* A choice between close times is made after both ran in turn, once more if that has turned it; the
 * fastest of each counts. */
static void confirm(Search *s, int node, Sample *on, Sample *off)
{
    bool turned = true;
    for (int k = 0; k < DOUBT_ROUNDS && turned && samples_in_doubt(on, off) && !s->p.failed; k++) {
        bool faster = on->seconds < off->seconds;
        *off = again_at(s, node, 1);
        *on = again_at(s, node, 0);
        turned = faster != (on->seconds < off->seconds);
    }
}

/* Was a point below or above the rank much faster than so many seconds? A single valley's lowest is
 * on that side, too. */
static bool falls(const Opinion *op, int rank, double seconds, bool above)
{
    for (int k = 0; k < op->curve.n; k++) {
        const Point *p = &op->curve.at[k];
        if ((above ? p->i > rank : p->i < rank) && !p->cut && MUCH * p->seconds < seconds)
            return true;
    }
    return false;
}

/* Binary search for the lowest point of the curve over ranks 0..n, assuming a single valley, both
 * ends of which are known. Neighbours are compared where it is not known which side of a rank is
 * lower. Where one side is much lower, so is most likely its end, and the next rank is
 * near that. */
static int valley(Search *s, int node, int n)
{
    enum { HALF = 2, NEAR = 8 };
    const Opinion *op = &s->p.res->opinions[node];
    int lo = 0, hi = n, part = HALF;
    bool below = true;
    while (lo < hi) {
        int mid = below ? lo + (hi - lo) / part : hi - 1 - (hi - 1 - lo) / part;
        double seconds = measure_rank(s, node, mid).seconds;
        bool above = falls(op, mid, seconds, true);
        below = falls(op, mid, seconds, false);
        part = below == above ? HALF : NEAR;
        if (below == above)
            below = seconds <= measure_rank(s, node, mid + 1).seconds;
        if (below)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

static void set_range(Opinion *op, int rank)
{
    op->low = rank > 0 ? op->pars.at[rank - 1] : 0;
    op->high = setting_at(op, rank);
}

/* Is the node compared when `parent` has that outcome (-1: at the roots)? */
static bool is_compared(const Forest *f, int node, int parent, bool outcome)
{
    const Node *n = &f->nodes.at[node];
    return n->parent == parent && (parent < 0 || n->outcome == outcome);
}

static void solve_below(Search *s, int parent, bool outcome);

/* Is it a loop that is much slower in one launch? Then it stays apart: each value between makes
 * other launches one, with a kernel of their own to build. */
static bool stays_apart(const Search *s, int node, const Sample *apart, const Sample *together)
{
    return node_is_loop(&s->p.f->nodes.at[node]) && MUCH * apart->seconds < together->seconds;
}

/* The rank that is best, all below the node being at its best for both outcomes. */
static int best_rank(Search *s, int node)
{
    Opinion *op = &s->p.res->opinions[node];
    int n = op->pars.n;
    Sample off = measure_rank(s, node, n), on = measure_rank(s, node, 0);
    if (n > 1 && stays_apart(s, node, &on, &off))
        return 0;
    if (n > 1) {
        int rank = valley(s, node, n);
        return measure_rank(s, node, rank).seconds < off.seconds ? rank : n;
    }
    if (!op->refused)
        confirm(s, node, &on, &off);
    return on.seconds < off.seconds && !op->refused ? 0 : 1;
}

/* Finds the best setting of a node whose ancestors' settings lead to it, with what lies below. */
static void solve_node(Search *s, int node)
{
    Opinion *op = &s->p.res->opinions[node];
    int64_t *cur = &s->p.cur[node];
    int memo;
    *cur = THRESHOLD_NEVER;
    solve_below(s, node, false);
    measure(s, &memo);
    if (op->pars.n == 0) { /* this data set never makes the comparison */
        *cur = THRESHOLD_UNSET;
        return;
    }
    *cur = THRESHOLD_ALWAYS;
    solve_below(s, node, true);
    int rank = best_rank(s, node);
    /* What the untuned program does is known by now, but for loops that were apart until here. */
    if (op->met_unset ? !op->unset : node_is_loop(&s->p.f->nodes.at[node])) {
        *cur = THRESHOLD_UNSET;
        op->unset_seconds = measure(s, &memo).seconds;
    }
    *cur = setting_at(op, rank);
    set_range(op, rank);
}

static bool hopeless(const Opinion *op)
{
    for (int k = 0; k < op->curve.n; k++)
        if (!isinf(op->curve.at[k].seconds))
            return false;
    return true;
}

/* How much of the difference between the curve's first two points may be noise, in seconds. */
static double doubt(const Opinion *op)
{
    double noise = 0;
    for (int k = 0; k < op->curve.n && k < 2; k++)
        if (isfinite(op->curve.at[k].seconds))
            noise += op->curve.at[k].seconds * op->curve.at[k].noise;
    return noise;
}

/* Were the outcomes measured with another part of the program so slow that its noise hides what
 * would count in a run of `best` seconds? What parts of runs tell is apart from that. */
static bool hidden(const Opinion *op, double best)
{
    double noise = doubt(op);
    for (int k = 0; k < op->curve.n; k++)
        if (op->curve.at[k].memo < 0)
            return false;
    return op->pars.n == 1 && op->curve.n == 2 && noise > HIDING * best &&
           fabs(op->curve.at[0].seconds - op->curve.at[1].seconds) <= HIDDEN * noise;
}

/* How many are compared there, of loops or of nests? */
static int count_compared(const Forest *f, int parent, bool outcome, bool loops)
{
    int n = 0;
    for (int i = 0; i < f->nodes.n; i++)
        n += is_compared(f, i, parent, outcome) && node_is_loop(&f->nodes.at[i]) == loops;
    return n;
}

/* Solves the nodes that are compared when `parent` has that outcome (-1: the roots), last one
 * first; then once more those of which nothing was to be learned, since a run broke off before it
 * got to them, or failed for a version of another one that has been found out since. Those of
 * loops, which all nests may be in, come after the others. */
static void solve_each(Search *s, int parent, bool outcome, bool loops)
{
    const Forest *f = s->p.f;
    int left = count_compared(f, parent, outcome, true) +
               (loops ? 0 : count_compared(f, parent, outcome, false));
    bool several = parent >= 0 && left > 1;
    double outer = s->bar;
    s->bar = several ? INFINITY : outer;
    for (int again = 0; again < 2; again++)
        for (int i = f->nodes.n - 1; i >= 0; i--) {
            Opinion *op = &s->p.res->opinions[i];
            if (!is_compared(f, i, parent, outcome) || node_is_loop(&f->nodes.at[i]) != loops ||
                (again && (op->pars.n == 0 || !hopeless(op))))
                continue;
            s->open[i] = false;
            left -= !again;
            if (left <= 0)
                s->bar = fmin(outer, s->bar);
            op->curve.n = 0;
            solve_node(s, i);
        }
    s->bar = fmin(outer, s->bar);
}

/* Does the present settings' whole take what its parts told? */
static bool holds_together(Search *s)
{
    Sample parts;
    int memo;
    double noise;
    if (!parts_told(s->p.f, s->p.res, s->p.cur, &parts, &noise))
        return true;
    Sample whole = probe_measure(&s->p, s->bar, &memo);
    return s->p.failed || whole.seconds * (1 - whole.noise) <= SURPRISE * (parts.seconds + noise);
}

static void solve_below(Search *s, int parent, bool outcome)
{
    const Forest *f = s->p.f;
    bool group = count_compared(f, parent, outcome, false) > 1;
    s->nests += group;
    for (int i = 0; i < f->nodes.n && group; i++)
        s->open[i] |= is_compared(f, i, parent, outcome) && !node_is_loop(&f->nodes.at[i]);
    solve_each(s, parent, outcome, false);
    s->nests -= group;
    if (group && s->nests == 0 && s->apart && !holds_together(s)) {
        s->apart = s->rides = false;
        solve_each(s, parent, outcome, false);
    }
    solve_each(s, parent, outcome, true);
}

static bool hides(const Search *s, int node)
{
    const Forest *f = s->p.f;
    bool any = hidden(&s->p.res->opinions[node], s->bar);
    for (int i = node + 1; i < f->nodes.n && !any; i++)
        any = f->nodes.at[i].parent == node && hides(s, i);
    return any;
}

/* Solves the trees once more, with all else at its best, in which something slow hid
 * a difference. */
static void solve_hidden(Search *s)
{
    enum { TIMES = 2 };
    for (int again = 0; again < TIMES; again++)
        for (int i = s->p.f->nodes.n - 1; i >= 0; i--) {
            if (s->p.f->nodes.at[i].parent >= 0 || !hides(s, i))
                continue;
            s->p.res->opinions[i].curve.n = 0;
            solve_node(s, i);
        }
}

/* What won by little over what untuned programs do is measured once more in turn with it. */
static void confirm_gain(Search *s, int first)
{
    DatasetResult *res = s->p.res;
    int64_t *own = s->p.cur;
    int memo;
    measure(s, &memo);
    for (int k = 0; k < DOUBT_ROUNDS && memo >= 0 && memo != first && !s->p.failed; k++) {
        Sample *best = &res->memory.at[memo].sample, *untuned = &res->memory.at[first].sample;
        if (!samples_in_doubt(best, untuned))
            break;
        s->p.cur = NEWN(s->p.a, int64_t, s->p.f->nodes.n);
        probe_again(&s->p, first);
        s->p.cur = own;
        probe_again(&s->p, memo);
    }
}

/* Times that were measured again since count in the curves, too; whether a difference counts is a
 * matter of the best time. */
static void refresh(const Forest *f, DatasetResult *res, int first)
{
    points_refresh(f, res);
    for (int i = 0; i < f->nodes.n; i++) {
        Opinion *op = &res->opinions[i];
        for (int k = 0; k < op->curve.n; k++)
            op->best = fmin(op->best, op->curve.at[k].seconds);
        double apart =
            op->curve.n == 2 ? fabs(op->curve.at[0].seconds - op->curve.at[1].seconds) : 0;
        op->free =
            op->refused || (op->pars.n == 1 && op->curve.n == 2 &&
                            (apart <= doubt(op) || times_equal(res->best, res->best + apart, 0)));
    }
    res->untuned = res->memory.at[first].sample;
}

/* While nests are tried, the launches of a loop stay apart unless the first run put them together:
 * a loop in one launch is a kernel of its own for each combination of versions in it, which takes
 * longer to build than all else. */
static void keep_loops_apart(Probe *p)
{
    for (int i = 0; i < p->f->nodes.n; i++) {
        const Opinion *op = &p->res->opinions[i];
        bool apart = op->pars.n == 0 || (op->unset && opinion_rank(op, op->unset) == 0);
        if (node_is_loop(&p->f->nodes.at[i]) && apart)
            p->cur[i] = THRESHOLD_ALWAYS;
    }
}

static bool solve_dataset(Arena *a, const Forest *f, int d, RunFn *run, void *env,
                          DatasetResult *res)
{
    Search s = {
        .p = probe_new(a, f, d, run, env, res), .bar = INFINITY, .open = NEWN(a, bool, f->nodes.n)};
    int first, last;
    for (int i = -1; i < f->nodes.n && !s.apart; i++)
        s.apart = count_compared(f, i, false, false) > 1 || count_compared(f, i, true, false) > 1;
    s.rides = s.apart;
    s.p.parts = s.apart;
    s.bar = probe_measure(&s.p, s.bar, &first).seconds;
    if (first < 0)
        return false;
    keep_loops_apart(&s.p);
    solve_below(&s, -1, false);
    solve_hidden(&s);
    confirm_gain(&s, first);
    Sample own = probe_measure(&s.p, s.bar, &last);
    if (s.p.failed)
        return false;
    res->best = fmin(own.seconds, res->memory.at[first].sample.seconds);
    refresh(f, res, first);
    for (int i = 0; i < f->nodes.n && res->best < own.seconds; i++)
        res->own[i] = THRESHOLD_UNSET;
    return true;
}

SearchResult search_monotone(Arena *a, const Forest *f, int n_datasets, const SearchOptions *o,
                             RunFn *run, void *env)
{
    SearchResult r = {.complete = true, .datasets = NEWN(a, DatasetResult, n_datasets)};
    for (int d = 0; d < n_datasets; d++) {
        DatasetResult *res = &r.datasets[d];
        if (!r.complete)
            probe_new(a, f, d, run, env, res);
        else
            r.complete = solve_dataset(a, f, d, run, env, res);
        r.runs += res->runs;
        if (isinf(res->best)) /* what never runs has no opinion */
            res->opinions = NEWN(a, Opinion, f->nodes.n);
    }
    choose(a, f, n_datasets, o, &r);
    return r;
}
