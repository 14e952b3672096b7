/* Settings for several data sets that are best together, if times are sums over the forest
 * (predict.c): which data sets get to a node decides what is best for it and all below it, so the
 * optimum is found from the leaves up over sets of data sets. A candidate is each value that
 * divides the data sets differently, and none. */
#include "autotune/search/choose.h"

#include <math.h>

enum { MAX_STATES = 1 << 16, MAX_DATASETS = 64 };
typedef uint64_t Mask;

/* What is best for a node, of which the data sets of `mask` get to its comparison. */
typedef struct {
    int node; /* plus 1; 0: the row is free */
    Mask mask;
    double cost;
    int64_t setting;
} State;

typedef struct {
    const Choice *c;
    const double *weight; /* [dataset] of a second */
    State *states;        /* open addressing */
    int n_states, room;
} Table;

/* The row of the state, or the free one where it belongs. */
static State *find_state(const Table *t, int node, Mask mask)
{
    uint64_t h = (mask ^ (uint64_t)(node + 1) << 58) * 0x9e3779b97f4a7c15u;
    int i = (int)(h >> 33) & (t->room - 1);
    while (t->states[i].node && (t->states[i].node != node + 1 || t->states[i].mask != mask))
        i = (i + 1) & (t->room - 1);
    return &t->states[i];
}

static void table_grow(Arena *a, Table *t)
{
    Table old = *t;
    t->room = old.room ? 4 * old.room : 128;
    t->states = NEWN(a, State, t->room);
    for (int i = 0; i < old.room; i++)
        if (old.states[i].node)
            *find_state(t, old.states[i].node - 1, old.states[i].mask) = old.states[i];
}

static void remember(Table *t, State s)
{
    if (2 * ++t->n_states > t->room)
        table_grow(t->c->a, t);
    *find_state(t, s.node - 1, s.mask) = s;
}

static double cost_node(Table *t, int node, Mask mask);

static double cost_below(Table *t, int parent, bool outcome, Mask mask)
{
    const Forest *f = t->c->f;
    double cost = 0;
    for (int i = parent + 1; mask && i < f->nodes.n; i++)
        if (f->nodes.at[i].parent == parent && (parent < 0 || f->nodes.at[i].outcome == outcome))
            cost += cost_node(t, i, mask);
    return cost;
}

/* Which data sets go on under the outcome. */
static Mask part_of(const Choice *c, int node, int64_t setting, Mask mask, bool outcome)
{
    Mask part = 0;
    for (int d = 0; d < c->n; d++)
        if (mask >> d & 1 && outcome_can_be(&c->datasets[d].opinions[node], setting, outcome))
            part |= (Mask)1 << d;
    return part;
}

/* INFINITY: nobody knows what the setting does. */
static double cost_of(Table *t, int node, Mask mask, int64_t setting)
{
    const Choice *c = t->c;
    double cost = 0;
    for (int d = 0; d < c->n; d++) {
        if (!(mask >> d & 1))
            continue;
        bool known;
        double loss = predict_loss(c->f, &c->datasets[d], node, setting, &known);
        if (!known && !c->must_unset[node])
            return INFINITY;
        cost += t->weight[d] * fmin(loss, HOPELESS * c->datasets[d].best);
    }
    return cost + cost_below(t, node, true, part_of(c, node, setting, mask, true)) +
           cost_below(t, node, false, part_of(c, node, setting, mask, false));
}

static double cost_node(Table *t, int node, Mask mask)
{
    const Choice *c = t->c;
    State *s = find_state(t, node, mask);
    if (s->node)
        return s->cost;
    if (t->n_states >= MAX_STATES)
        return 0; /* as if all below were at everyone's own best */
    double best = cost_of(t, node, mask, THRESHOLD_UNSET);
    int64_t setting = THRESHOLD_UNSET;
    for (int d = 0; d < c->n && !c->must_unset[node]; d++) {
        const Opinion *op = &c->datasets[d].opinions[node];
        if (!(mask >> d & 1) || op->refused)
            continue;
        for (int k = 0; k < op->curve.n; k++) {
            int i = op->curve.at[k].i;
            int64_t value = i < op->pars.n ? op->pars.at[i] : THRESHOLD_NEVER;
            double cost = cost_of(t, node, mask, value);
            if (cost < best - 1e-9) {
                best = cost;
                setting = value;
            }
        }
    }
    best = isinf(best) ? 0 : best; /* a node of which nothing is known */
    remember(t, (State){node + 1, mask, best, setting});
    return best;
}

static void read_below(Table *t, int parent, bool outcome, Mask mask, int64_t *settings)
{
    const Forest *f = t->c->f;
    for (int i = parent + 1; mask && i < f->nodes.n; i++) {
        if (f->nodes.at[i].parent != parent || (parent >= 0 && f->nodes.at[i].outcome != outcome))
            continue;
        int64_t s = settings[i] = find_state(t, i, mask)->setting;
        read_below(t, i, true, part_of(t->c, i, s, mask, true), settings);
        read_below(t, i, false, part_of(t->c, i, s, mask, false), settings);
    }
}

void joint_least(const Choice *c, const double *weight, int64_t *settings)
{
    Mask all = 0;
    for (int i = 0; i < c->f->nodes.n; i++)
        settings[i] = THRESHOLD_UNSET;
    for (int d = 0; d < c->n && d < MAX_DATASETS; d++)
        if (c->in[d])
            all |= (Mask)1 << d;
    if (c->n > MAX_DATASETS)
        return;
    Table t = {.c = c, .weight = weight};
    table_grow(c->a, &t);
    cost_below(&t, -1, false, all);
    read_below(&t, -1, false, all, settings);
}
