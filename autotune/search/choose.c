/* Settings for all data sets together: the best ones for the objective, as little of them as is
 * needed, and only what would also do on data not seen. */
#include "autotune/search/choose.h"

#include <math.h>
#include <string.h>

static void choose_for(const Choice *c, int64_t *settings, Allowed *ranges)
{
    objective_least(c, settings);
    ask_for_less(c, settings, ranges);
}

/* --- Leaving one out ------------------------------------------------------------------------ */

/* The logarithm of the mean factor by which data sets are slower than at their own best with what
 * would be chosen from the others. */
static double unseen_loss(const Choice *c, double *seconds)
{
    int64_t *settings = NEWN(c->a, int64_t, c->f->nodes.n);
    double all = 0;
    int n = 0;
    for (int d = 0; d < c->n; d++) {
        if (!c->in[d])
            continue;
        c->in[d] = false;
        choose_for(c, settings, NULL);
        c->in[d] = true;
        const DatasetResult *res = &c->datasets[d];
        seconds[d] = fmin(predict(c->f, res, settings).seconds, HOPELESS * res->best);
        all += log(seconds[d] / res->best);
        n++;
    }
    return n ? all / n : 0;
}

/* The same with settings for all. */
static double seen_loss(const Choice *c, const int64_t *settings)
{
    double all = 0;
    int n = 0;
    for (int d = 0; d < c->n; d++)
        if (c->in[d]) {
            const DatasetResult *res = &c->datasets[d];
            double t = fmin(predict(c->f, res, settings).seconds, HOPELESS * res->best);
            all += log(t / res->best);
            n++;
        }
    return n ? all / n : 0;
}

/* The factor by which that data set gains which gains most. */
static double greatest_gain(const Choice *c, const int64_t *settings)
{
    double most = 1;
    for (int d = 0; d < c->n; d++)
        if (c->in[d]) {
            const DatasetResult *res = &c->datasets[d];
            most = fmax(most, res->untuned.seconds / predict(c->f, res, settings).seconds);
        }
    return most;
}

/* Would what is chosen lose on data not seen, more than it gains on these? What some data set gains
 * much by is asked for all the same: that it was seen is sure. */
static bool loses_unseen(const Choice *c, const int64_t *settings, double untuned, double unseen)
{
    const double NOISE = 0.02, MUCH = 1.25;
    double harm = unseen - untuned, gain = untuned - seen_loss(c, settings);
    return harm > NOISE && harm > gain && greatest_gain(c, settings) <= MUCH;
}

/* Does without the thresholds that cost most on data not seen, one after the other, until the
 * choice is sound. Two data sets are no evidence of a third; and what a user's objective makes of
 * some of the data sets says nothing. */
static void choose_sound(const Choice *c, SearchResult *r, int n_in)
{
    enum { ENOUGH = 3 };
    int n = c->f->nodes.n;
    double *seconds = NEWN(c->a, double, c->n);
    int64_t *unset = NEWN(c->a, int64_t, n);
    double untuned = seen_loss(c, unset), unseen = NAN;
    bool leave_out = n_in > 1 && c->o->objective != OBJECTIVE_COST;
    for (;;) {
        memset(r->allowed, 0, sizeof *r->allowed * (size_t)n);
        choose_for(c, r->settings, r->allowed);
        if (leave_out)
            unseen = unseen_loss(c, seconds);
        r->untuned = exp(untuned);
        r->chosen = exp(seen_loss(c, r->settings));
        r->unseen = exp(unseen);
        for (int d = 0; d < c->n && leave_out; d++)
            if (c->in[d])
                r->datasets[d].unseen = seconds[d];
        if (!leave_out || n_in < ENOUGH || !loses_unseen(c, r->settings, untuned, unseen))
            return;
        int worst = -1;
        double least = INFINITY;
        for (int i = 0; i < n; i++) {
            if (r->settings[i] == THRESHOLD_UNSET)
                continue;
            c->must_unset[i] = true;
            double without = unseen_loss(c, seconds);
            c->must_unset[i] = false;
            if (without < least) {
                least = without;
                worst = i;
            }
        }
        if (worst < 0)
            return; /* nothing is asked for, though some of the others would */
        r->distrusted = c->must_unset[worst] = true;
    }
}

/* --- Conflicts ------------------------------------------------------------------------------ */

/* The settings with data set d's own for the node and all below it. */
static void with_own(const Choice *c, const int64_t *settings, int d, int node, int64_t *mixed)
{
    bool *below = NEWN(c->a, bool, c->f->nodes.n);
    for (int i = 0; i < c->f->nodes.n; i++) {
        int parent = c->f->nodes.at[i].parent;
        below[i] = i == node || (parent >= 0 && below[parent]);
        mixed[i] = below[i] ? c->datasets[d].own[i] : settings[i];
    }
}

/* By how many seconds d would be faster if the node and all below it were at its own best; 0 within
 * noise. */
static double wish(const Choice *c, const int64_t *settings, int d, int node)
{
    const DatasetResult *res = &c->datasets[d];
    int64_t *mixed = NEWN(c->a, int64_t, c->f->nodes.n);
    bool known;
    if (!c->in[d] || !node_reached(c->f, res, settings, node) ||
        predict_loss(c->f, res, node, settings[node], &known) <= 0)
        return 0;
    with_own(c, settings, d, node, mixed);
    Prediction now = predict(c->f, res, settings), own = predict(c->f, res, mixed);
    if (now.seconds <= own.seconds || times_equal(now.seconds, own.seconds, now.noise + own.noise))
        return 0;
    return fmin(now.seconds, HOPELESS * res->best) - own.seconds;
}

/* Would d lose beyond noise if the node had the setting? */
static bool minds(const Choice *c, int64_t *settings, int d, int node, int64_t setting)
{
    const DatasetResult *res = &c->datasets[d];
    int64_t was = settings[node];
    Prediction now = predict(c->f, res, settings), then;
    settings[node] = setting;
    then = predict(c->f, res, settings);
    settings[node] = was;
    return then.seconds > now.seconds &&
           !times_equal(then.seconds, now.seconds, then.noise + now.noise);
}

/* Those that would have another setting, and those that would then lose. */
static void find_conflict(Arena *a, const Choice *c, SearchResult *r, int node)
{
    Conflict k = {.node = node, .datasets = NEWN(a, int, c->n), .chosen = r->settings[node]};
    double *wishes = NEWN(c->a, double, c->n);
    for (int d = 0; d < c->n; d++) {
        wishes[d] = wish(c, r->settings, d, node);
        k.loss += wishes[d] > 0 ? wishes[d] / c->datasets[d].best : 0;
    }
    for (int d = 0; d < c->n; d++) {
        bool in = wishes[d] > 0;
        for (int e = 0; e < c->n && c->in[d] && !in; e++)
            in = wishes[e] > 0 && minds(c, r->settings, d, node, c->datasets[e].own[node]);
        if (in)
            k.datasets[k.n_datasets++] = d;
    }
    if (k.loss > 0)
        vec_push(a, &r->conflicts, k);
}

Choice choice_of(Arena *a, const Forest *f, int n_datasets, const SearchOptions *o,
                 const DatasetResult *datasets)
{
    return (Choice){
        a, f, datasets, n_datasets, NEWN(a, bool, n_datasets), NEWN(a, bool, f->nodes.n), o};
}

static Choice choice_new(Arena *a, const Forest *f, int n_datasets, const SearchOptions *o,
                         SearchResult *r)
{
    Arena *scratch = arena_new();
    r->settings = NEWN(a, int64_t, f->nodes.n);
    r->allowed = NEWN(a, Allowed, f->nodes.n);
    r->untuned = r->chosen = r->unseen = NAN;
    Choice c = choice_of(scratch, f, n_datasets, o, r->datasets);
    for (int d = 0; d < n_datasets; d++)
        c.in[d] = isfinite(r->datasets[d].best);
    return c;
}

static void choice_end(Arena *a, const Choice *c, SearchResult *r)
{
    for (int i = 0; i < c->f->nodes.n; i++)
        find_conflict(a, c, r, i);
    for (int d = 0; d < c->n; d++)
        if (c->in[d])
            r->datasets[d].chosen = predict(c->f, &c->datasets[d], r->settings).seconds;
    arena_free(c->a);
}

void choose(Arena *a, const Forest *f, int n_datasets, const SearchOptions *o, SearchResult *r)
{
    Choice c = choice_new(a, f, n_datasets, o, r);
    int n_in = 0;
    for (int d = 0; d < n_datasets; d++)
        n_in += c.in[d];
    if (n_in)
        choose_sound(&c, r, n_in);
    choice_end(a, &c, r);
}

void choose_near(Arena *a, const Forest *f, int n_datasets, const SearchOptions *o,
                 const int64_t *settings, SearchResult *r)
{
    Choice c = choice_new(a, f, n_datasets, o, r);
    memcpy(r->settings, settings, sizeof *settings * (size_t)f->nodes.n);
    ask_for_less(&c, r->settings, r->allowed);
    int64_t *unset = NEWN(c.a, int64_t, f->nodes.n);
    r->untuned = exp(seen_loss(&c, unset));
    r->chosen = exp(seen_loss(&c, r->settings));
    choice_end(a, &c, r);
}
