/* Makes settings robust: what does not pay beyond noise is not asked for. */
#include "autotune/search/choose.h"

#include <math.h>
#include <string.h>

/* Is a user's objective worse than it was? That may be so though no data set is slower. */
static bool worse_for_user(const Choice *c, const int64_t *settings, const Prediction *was)
{
    double *seconds = NEWN(c->a, double, c->n);
    for (int d = 0; d < c->n; d++)
        seconds[d] = was[d].seconds;
    return c->o->objective == OBJECTIVE_COST && objective(c, settings) > objective_of(c, seconds);
}

/* Is no data set slower beyond noise than it was, under settings of which all is known? */
static bool as_good(const Choice *c, const int64_t *settings, const Prediction *was)
{
    bool faster = false;
    for (int d = 0; d < c->n; d++) {
        if (!c->in[d])
            continue;
        Prediction p = predict(c->f, &c->datasets[d], settings);
        bool same = times_equal(p.seconds, was[d].seconds, p.noise + was[d].noise);
        if ((!same && p.seconds > was[d].seconds) || (!p.known && was[d].known))
            return false;
        faster |= !same;
    }
    return !faster || !worse_for_user(c, settings, was);
}

static void unset_all(const Choice *c, int64_t *settings, const Prediction *was)
{
    int64_t *none = NEWN(c->a, int64_t, c->f->nodes.n);
    if (as_good(c, none, was))
        memset(settings, 0, sizeof *settings * (size_t)c->f->nodes.n);
}

/* Unsets what can be, the lowest first, until nothing can be any more. */
static void unset_some(const Choice *c, int64_t *settings, const Prediction *was)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = c->f->nodes.n - 1; i >= 0; i--) {
            int64_t set = settings[i];
            if (set == THRESHOLD_UNSET)
                continue;
            settings[i] = THRESHOLD_UNSET;
            if (as_good(c, settings, was))
                changed = true;
            else
                settings[i] = set;
        }
    }
}

typedef VEC(int64_t) Bounds;

/* The values at which a comparison changes for a data set, from 0 to THRESHOLD_NEVER. */
static Bounds bounds_of(const Choice *c, const int64_t *settings, int node)
{
    Bounds b = {0};
    vec_push(c->a, &b, (int64_t)0);
    vec_push(c->a, &b, THRESHOLD_NEVER);
    for (int d = 0; d < c->n; d++) {
        const Opinion *op = &c->datasets[d].opinions[node];
        if (c->in[d] && node_reached(c->f, &c->datasets[d], settings, node))
            for (int k = 0; k < op->pars.n; k++)
                vec_push(c->a, &b, op->pars.at[k]);
    }
    b.n = values_sort(b.at, b.n);
    return b;
}

/* The values around the present one that are as good. */
static Allowed range_of(const Choice *c, int64_t *settings, int node, const Prediction *was)
{
    Bounds b = bounds_of(c, settings, node);
    int64_t set = settings[node];
    int at = 1; /* b.at[at - 1] < set <= b.at[at] */
    while (at < b.n - 1 && b.at[at] < set)
        at++;
    int low = at - 1, high = at;
    for (bool good = true; good && low > 0; low -= good) {
        settings[node] = b.at[low];
        good = as_good(c, settings, was);
    }
    for (bool good = true; good && high < b.n - 1; high += good) {
        settings[node] = b.at[high + 1];
        good = as_good(c, settings, was);
    }
    settings[node] = set;
    return (Allowed){b.at[low], b.at[high]};
}

static int64_t nearest(Allowed r, int64_t wanted)
{
    return wanted <= r.low ? r.low + 1 : wanted > r.high ? r.high : wanted;
}

void ask_for_less(const Choice *c, int64_t *settings, Allowed *ranges)
{
    Prediction *was = NEWN(c->a, Prediction, c->n);
    for (int d = 0; d < c->n; d++)
        if (c->in[d])
            was[d] = predict(c->f, &c->datasets[d], settings);
    unset_all(c, settings, was);
    unset_some(c, settings, was);
    for (int i = 0; i < c->f->nodes.n; i++) {
        if (settings[i] == THRESHOLD_UNSET)
            continue;
        Allowed r = range_of(c, settings, i, was);
        settings[i] = nearest(r, c->f->nodes.at[i].def);
        if (ranges)
            ranges[i] = r;
    }
}
