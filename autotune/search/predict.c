/* The time of a data set under settings that were not measured, from the curves of its thresholds:
 * a program's time is what the data set's own best settings take, and what each other outcome costs
 * more. This holds for nests that follow one another, and for versions of one nest. */
#include "autotune/search/paths.h"

#include <math.h>
#include <stdlib.h>

/* The curve at a rank: between measured points as a line. */
static double curve_at(const Opinion *op, int rank)
{
    const Point *below = NULL, *above = NULL;
    for (int k = 0; k < op->curve.n; k++) {
        const Point *p = &op->curve.at[k];
        if (p->i <= rank && (!below || p->i > below->i))
            below = p;
        if (p->i >= rank && (!above || p->i < above->i))
            above = p;
    }
    if (!below || !above || below == above)
        return below ? below->seconds : above->seconds;
    double part = (double)(rank - below->i) / (above->i - below->i);
    return below->seconds + part * (above->seconds - below->seconds);
}

/* How a threshold's comparisons come out under a setting. */
typedef struct {
    double seconds; /* on its curve */
    double held;    /* for which part of its pars it holds */
    bool known;
} Outcome;

static bool is_leaf(const Forest *f, int node)
{
    for (int i = node + 1; i < f->nodes.n; i++)
        if (f->nodes.at[i].parent == node)
            return false;
    return true;
}

/* Where nobody knows what the program does unset, that is taken for what it does with the default;
 * it does not matter if both outcomes are equally fast and nothing follows. */
static Outcome outcome_of(const Forest *f, int node, const Opinion *op, int64_t setting)
{
    if (op->refused || op->pars.n == 0 || op->curve.n == 0)
        return (Outcome){0, 0, op->refused || op->pars.n == 0};
    if (setting == THRESHOLD_UNSET && !op->unset && !isnan(op->unset_seconds))
        return (Outcome){op->unset_seconds, 0.5, true};
    bool known = setting != THRESHOLD_UNSET || op->unset || (op->free && is_leaf(f, node));
    if (setting == THRESHOLD_UNSET)
        setting = op->unset ? op->unset : f->nodes.at[node].def;
    int rank = opinion_rank(op, setting);
    return (Outcome){curve_at(op, rank), 1 - (double)rank / op->pars.n, known};
}

double predict_loss(const Forest *f, const DatasetResult *res, int node, int64_t setting,
                    bool *known)
{
    const Opinion *op = &res->opinions[node];
    Outcome o = outcome_of(f, node, op, setting), own = outcome_of(f, node, op, res->own[node]);
    *known = o.known;
    /* Nothing is better than the own best settings: a gain is noise, or was found with other
     * settings elsewhere. */
    return isinf(own.seconds) ? 0 : fmax(o.seconds - own.seconds, 0);
}

/* Losses of the nodes that are got to, each in the part of the runs in which it is. */
static Prediction add_up(const Forest *f, const DatasetResult *res, const int64_t *settings,
                         double *part)
{
    Prediction p = {res->best, res->untuned.noise, true};
    for (int i = 0; i < f->nodes.n; i++) {
        const Node *n = &f->nodes.at[i];
        const Opinion *op = &res->opinions[i];
        part[i] = 1;
        if (n->parent >= 0) {
            const Opinion *up = &res->opinions[n->parent];
            bool never = up->known && up->pars.n == 0;
            double held = outcome_of(f, n->parent, up, settings[n->parent]).held;
            part[i] = never ? 0 : part[n->parent] * (n->outcome ? held : 1 - held);
        }
        if (part[i] <= 0 || op->refused)
            continue;
        bool known;
        p.seconds += part[i] * predict_loss(f, res, i, settings[i], &known);
        p.known &= known;
    }
    return p;
}

Prediction predict(const Forest *f, const DatasetResult *res, const int64_t *settings)
{
    enum { SMALL = 64 };
    int row = memory_find(f, res, settings), n = f->nodes.n;
    if (row >= 0) {
        const Sample *s = &res->memory.at[row].sample;
        return (Prediction){s->seconds, s->noise, true};
    }
    double small[SMALL], *part = n <= SMALL ? small : malloc(sizeof *part * (size_t)n);
    if (!part)
        return (Prediction){INFINITY, 0, false};
    Prediction p = add_up(f, res, settings, part);
    if (part != small)
        free(part);
    return p;
}
