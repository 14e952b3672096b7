/* What is to be least over all data sets. */
#include "autotune/choose.h"

#include <math.h>

static double weight_of(const Choice *c, int d)
{
    return c->o->weights ? c->o->weights[d] : 1;
}

static double seconds_of(const Choice *c, int d, const int64_t *settings)
{
    const DatasetResult *res = &c->datasets[d];
    return fmin(predict(c->f, res, settings).seconds, HOPELESS * res->best);
}

/* The parts of an objective: of each data set, put together by sum or by the greatest; and for
 * joint_least(), by how much the objective changes with a second of a data set that takes so long. */
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

double objective(const Choice *c, const int64_t *settings)
{
    const Form *form = &forms[c->o->objective];
    double all = 0;
    for (int d = 0; d < c->n; d++) {
        if (!c->in[d])
            continue;
        double part = form->part(seconds_of(c, d, settings), c->datasets[d].best);
        all = form->greatest ? fmax(all, weight_of(c, d) * part) : all + weight_of(c, d) * part;
    }
    return all;
}

/* The weights of seconds under which joint_least() improves on the settings, of sum 1 over all bests. */
static void weigh(const Choice *c, const int64_t *settings, double *weight)
{
    const Form *form = &forms[c->o->objective];
    double all = 0;
    for (int d = 0; d < c->n; d++) {
        weight[d] = 0;
        if (!c->in[d])
            continue;
        double best = c->datasets[d].best;
        weight[d] = weight_of(c, d) * form->slope(seconds_of(c, d, settings), best);
        all += weight[d] * best;
    }
    for (int d = 0; d < c->n; d++)
        weight[d] = all > 0 ? weight[d] / all : 0;
}

/* Tries each value that divides the data sets, for one threshold after the other. */
static void polish(const Choice *c, int64_t *settings)
{
    double least = objective(c, settings);
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
                if (now < least - 1e-9 * fabs(least))
                    least = now;
                else
                    settings[i] = was;
            }
        }
    }
}

void objective_least(const Choice *c, int64_t *settings)
{
    enum { ROUNDS = 8, MANY = 64 };
    int n = c->f->nodes.n;
    double *weight = NEWN(c->a, double, c->n), least;
    int64_t *next = NEWN(c->a, int64_t, n);
    for (int i = 0; i < n; i++)
        settings[i] = THRESHOLD_UNSET;
    least = objective(c, settings);
    for (int round = 0; round < ROUNDS; round++) {
        weigh(c, settings, weight);
        joint_least(c, weight, next);
        double now = objective(c, next);
        if (!(now < least - 1e-9 * fabs(least)))
            break;
        least = now;
        for (int i = 0; i < n; i++)
            settings[i] = next[i];
        if (c->o->objective == OBJECTIVE_REGRET || c->o->objective == OBJECTIVE_SUM)
            break; /* the weights do not change */
    }
    if (c->n > MANY || c->o->objective == OBJECTIVE_GEOMEAN || c->o->objective == OBJECTIVE_WORST)
        polish(c, settings);
}
