/* What is to be least over all data sets, and settings for which it is. */
#include "autotune/search/choose.h"

#include <math.h>
#include <string.h>

static double weight_of(const Choice *c, int d)
{
    return c->o->weights ? c->o->weights[d] : 1;
}

static void seconds_of(const Choice *c, const int64_t *settings, double *seconds)
{
    for (int d = 0; d < c->n; d++)
        if (c->in[d])
            seconds[d] = predict(c->f, &c->datasets[d], settings).seconds;
}

/* The parts of an objective: of each data set, put together by sum or by the greatest; and for
 * joint_least(), by how much the objective changes with a second of a data set that takes
 * so long. */
typedef struct {
    double (*part)(double seconds, double best);
    double (*slope)(double seconds, double best);
    bool greatest;
} Form;

static double relative(double seconds, double best)
{
    return seconds / best;
}

static double slope_relative(double seconds, double best)
{
    (void)seconds;
    return 1 / best;
}

static double absolute(double seconds, double best)
{
    (void)best;
    return seconds;
}

static double slope_absolute(double seconds, double best)
{
    (void)seconds, (void)best;
    return 1;
}

static double logarithm(double seconds, double best)
{
    return log(seconds / best);
}

static double slope_logarithm(double seconds, double best)
{
    (void)best;
    return 1 / seconds;
}

/* The slope of the greatest: those that are near to it matter most. */
static double slope_worst(double seconds, double best)
{
    return pow(seconds / best, 8) / best;
}

static const Form forms[] = {
    [OBJECTIVE_REGRET] = {relative, slope_relative, false},
    [OBJECTIVE_SUM] = {absolute, slope_absolute, false},
    [OBJECTIVE_GEOMEAN] = {logarithm, slope_logarithm, false},
    [OBJECTIVE_WORST] = {relative, slope_worst, true},
};

/* With the user's own function, which knows of failures itself. */
static double cost_of(const Choice *c, const double *seconds)
{
    int n = 0, *datasets = NEWN(c->a, int, c->n);
    double *times = NEWN(c->a, double, c->n), *bests = NEWN(c->a, double, c->n);
    for (int d = 0; d < c->n; d++)
        if (c->in[d]) {
            datasets[n] = d;
            times[n] = seconds[d];
            bests[n++] = c->datasets[d].best;
        }
    return n ? c->o->cost(c->o->cost_env, n, datasets, times, bests) : 0;
}

double objective_of(const Choice *c, const double *seconds)
{
    if (c->o->objective == OBJECTIVE_COST)
        return cost_of(c, seconds);
    const Form *form = &forms[c->o->objective];
    double all = 0;
    for (int d = 0; d < c->n; d++) {
        if (!c->in[d])
            continue;
        double best = c->datasets[d].best;
        double part = weight_of(c, d) * form->part(fmin(seconds[d], HOPELESS * best), best);
        all = form->greatest ? fmax(all, part) : all + part;
    }
    return all;
}

double objective(const Choice *c, const int64_t *settings)
{
    ArenaMark mark = arena_mark(c->a);
    double *seconds = NEWN(c->a, double, c->n);
    seconds_of(c, settings, seconds);
    double worth = objective_of(c, seconds);
    arena_reset(c->a, mark);
    return worth;
}

/* By how much the objective changes with a second of each data set; a user's function is asked. */
static void slopes_at(const Choice *c, double *seconds, double *slope)
{
    const double STEP = 0.05;
    bool own = c->o->objective == OBJECTIVE_COST;
    double here = own ? cost_of(c, seconds) : 0;
    for (int d = 0; d < c->n; d++) {
        slope[d] = 0;
        if (!c->in[d])
            continue;
        double best = c->datasets[d].best, was = seconds[d];
        if (!own) {
            slope[d] =
                weight_of(c, d) * forms[c->o->objective].slope(fmin(was, HOPELESS * best), best);
            continue;
        }
        seconds[d] = isfinite(was) ? was * (1 + STEP) : was;
        slope[d] = isfinite(was) ? (cost_of(c, seconds) - here) / (was * STEP) : 1 / best;
        seconds[d] = was;
    }
}

/* The weights of seconds under which joint_least() improves on the settings, of sum 1 over all
 * bests. */
static void weigh(const Choice *c, const int64_t *settings, double *weight)
{
    double all = 0, *seconds = NEWN(c->a, double, c->n);
    seconds_of(c, settings, seconds);
    slopes_at(c, seconds, weight);
    for (int d = 0; d < c->n; d++) {
        weight[d] = weight[d] > 0 && isfinite(weight[d]) ? weight[d] : 0;
        all += c->in[d] ? weight[d] * c->datasets[d].best : 0; /* else there is none */
    }
    for (int d = 0; d < c->n; d++)
        weight[d] = all > 0 ? weight[d] / all : 0;
}

static bool is_better(double worth, double than)
{
    return worth < than && (isinf(than) || worth < than - 1e-9 * fabs(than));
}

/* Takes the settings if they are better. */
static bool improve(const Choice *c, const int64_t *next, int64_t *settings, double *least)
{
    double worth = objective(c, next);
    if (!is_better(worth, *least))
        return false;
    *least = worth;
    memcpy(settings, next, sizeof *settings * (size_t)c->f->nodes.n);
    return true;
}

/* Tries each value that divides the data sets, for one threshold after the other. Did it gain? */
static bool polish(const Choice *c, int64_t *settings, double *least)
{
    bool gained = false;
    for (int i = 0; i < c->f->nodes.n; i++) {
        if (c->must_unset[i])
            continue;
        for (int d = 0; d < c->n; d++) {
            const Opinion *op = &c->datasets[d].opinions[i];
            for (int k = 0; c->in[d] && k < op->curve.n; k++) {
                int64_t was = settings[i];
                int rank = op->curve.at[k].i;
                settings[i] = rank < op->pars.n ? op->pars.at[rank] : THRESHOLD_NEVER;
                double now = objective(c, settings);
                if (is_better(now, *least)) {
                    *least = now;
                    gained = true;
                } else {
                    settings[i] = was;
                }
            }
        }
    }
    return gained;
}

/* What is best for a single data set may do for all. */
static void try_own(const Choice *c, int64_t *settings, double *least)
{
    int64_t *next = NEWN(c->a, int64_t, c->f->nodes.n);
    for (int d = 0; d < c->n; d++) {
        for (int i = 0; i < c->f->nodes.n && c->in[d]; i++)
            next[i] = c->must_unset[i] ? THRESHOLD_UNSET : c->datasets[d].own[i];
        if (c->in[d])
            improve(c, next, settings, least);
    }
}

/* The best settings together for how the objective changes where one is, as long as that gains. */
static void descend(const Choice *c, int64_t *settings, double *least)
{
    enum { ROUNDS = 8 };
    bool straight = c->o->objective == OBJECTIVE_REGRET || c->o->objective == OBJECTIVE_SUM;
    double *weight = NEWN(c->a, double, c->n);
    int64_t *next = NEWN(c->a, int64_t, c->f->nodes.n);
    for (int round = 0; round < ROUNDS; round++) {
        weigh(c, settings, weight);
        joint_least(c, weight, next);
        if (!improve(c, next, settings, least) || straight) /* then the weights do not change */
            return;
    }
}

/* Nothing is known of a user's function, not even that less time is better. Where to begin: what is
 * best for the objectives that are known, or for a single data set; where to end: where neither a
 * change of one threshold gains, nor the best settings together for the function as it changes
 * there. */
static void cost_least(const Choice *c, int64_t *settings, double *least)
{
    enum { ROUNDS = 8 };
    int n = c->f->nodes.n;
    int64_t *next = NEWN(c->a, int64_t, n);
    for (Objective o = 0; o < OBJECTIVE_COST; o++) {
        SearchOptions known = *c->o;
        Choice other = *c;
        known.objective = o;
        other.o = &known;
        objective_least(&other, next);
        improve(c, next, settings, least);
    }
    try_own(c, settings, least);
    for (int round = 0; round < ROUNDS; round++) {
        descend(c, settings, least);
        if (!polish(c, settings, least))
            return;
    }
}

void objective_least(const Choice *c, int64_t *settings)
{
    enum { MANY = 64 };
    Objective o = c->o->objective;
    memset(settings, 0, sizeof *settings * (size_t)c->f->nodes.n);
    double least = objective(c, settings);
    if (o == OBJECTIVE_COST) {
        cost_least(c, settings, &least);
        return;
    }
    descend(c, settings, &least);
    try_own(c, settings, &least);
    if (c->n > MANY || o == OBJECTIVE_GEOMEAN || o == OBJECTIVE_WORST)
        polish(c, settings, &least);
}
