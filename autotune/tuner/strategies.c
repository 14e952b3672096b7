#include "autotune/tuner/strategies.h"

#include "base/diag.h"
#include "common/spell.h"
#include "common/values.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const Strategy strategies[] = {
    {"monotone", search_monotone},
    {"exhaustive", search_exhaustive},
    {"stochastic", search_stochastic},
};
enum { N_STRATEGIES = sizeof strategies / sizeof *strategies };

static const char *const objectives[] = {
    [OBJECTIVE_REGRET] = "regret",
    [OBJECTIVE_SUM] = "sum",
    [OBJECTIVE_GEOMEAN] = "geomean",
    [OBJECTIVE_WORST] = "worst",
};
enum { N_OBJECTIVES = sizeof objectives / sizeof *objectives };

/* The strategies asked for; false if there is none of that name. */
static bool take_strategy(const char *name, SearchPlan *plan)
{
    if (strcmp(name, "all") == 0) {
        plan->strategy = strategies;
        plan->n = N_STRATEGIES;
    }
    for (int i = 0; i < N_STRATEGIES; i++)
        if (strcmp(name, strategies[i].name) == 0) {
            plan->strategy = &strategies[i];
            plan->n = 1;
        }
    return plan->n > 0;
}

int search_plan(const ToolOptions *o, SearchPlan *plan)
{
    const char *strategy = o->strategy ? o->strategy : "monotone";
    *plan = (SearchPlan){.objective = o->objective ? o->objective : "regret",
                         .o = {.objective = OBJECTIVE_COST,
                               .tests = (int)fmin(o->tests, INT_MAX),
                               .seconds = o->seconds}};
    for (int i = 0; i < N_OBJECTIVES; i++)
        if (strcmp(plan->objective, objectives[i]) == 0)
            plan->o.objective = (Objective)i;
    if (take_strategy(strategy, plan))
        return -1;
    rt_spelling s = rt_spell(strategy);
    for (int i = 0; i < N_STRATEGIES; i++)
        rt_spell_try(&s, strategies[i].name);
    fprintf(stderr, "minifut tune: unknown strategy '%s'%s (minifut tune --help)\n", strategy,
            rt_spell_hint(&s));
    return EXIT_USAGE;
}

bool search_cost(Arena *a, const ToolOptions *o, const Datasets *ds, SearchPlan *plan)
{
    const double LIMIT = 30, SECONDS = 1e-3;
    if (plan->o.objective != OBJECTIVE_COST)
        return true;
    int *all = NEWN(a, int, ds->n);
    double *seconds = NEWN(a, double, ds->n);
    for (int d = 0; d < ds->n; d++) {
        all[d] = d;
        seconds[d] = SECONDS;
    }
    plan->cost =
        cost_open(a, plan->objective, fmin(o->session.timeout, LIMIT), ds, plan->o.weights);
    plan->o.cost = cost_of;
    plan->o.cost_env = plan->cost;
    cost_of(plan->cost, ds->n, all, seconds, seconds);
    if (!cost_wrong(plan->cost))
        return true;
    rt_spelling s = rt_spell(plan->objective);
    for (int i = 0; i < N_OBJECTIVES; i++)
        rt_spell_try(&s, objectives[i]);
    fprintf(stderr, "minifut tune: %s%s\n", cost_wrong(plan->cost), rt_spell_hint(&s));
    return false;
}

/* A line "NAME WEIGHT", the name with blanks in it perhaps. False if it is none. */
static bool parse_weight(char *line, const char **name, double *weight)
{
    char *end = line + strlen(line);
    while (end > line && isspace((unsigned char)end[-1]))
        *--end = '\0';
    char *number = end;
    while (number > line && !isspace((unsigned char)number[-1]))
        number--;
    *weight = strtod(number, &end);
    if (number == line || *end || end == number || !(*weight >= 0) || isinf(*weight))
        return false;
    for (end = number; end > line && isspace((unsigned char)end[-1]);)
        *--end = '\0';
    *name = line;
    return true;
}

static int dataset_named(const Datasets *ds, const char *name)
{
    for (int d = 0; d < ds->n; d++)
        if (strcmp(ds->at[d].name, name) == 0)
            return d;
    return -1;
}

/* NULL, or what is wrong with the line. */
static const char *take_weight(Arena *a, char *line, const Datasets *ds, double *weights)
{
    const char *name;
    double weight;
    if (!parse_weight(line, &name, &weight))
        return "expected a data set's name and its weight";
    int d = dataset_named(ds, name);
    if (d < 0)
        return arena_printf(a, "there is no data set %s", name);
    weights[d] = weight;
    return NULL;
}

bool search_weights(Arena *a, const ToolOptions *o, const Datasets *ds, SearchPlan *plan)
{
    if (!o->weights)
        return true;
    const char *unread;
    FILE *f = rt_file_open(o->weights, true, &unread);
    if (!f) {
        fprintf(stderr, "minifut tune: cannot read %s: %s\n", o->weights, unread);
        return false;
    }
    double *weights = NEWN(a, double, ds->n), all = 0;
    for (int d = 0; d < ds->n; d++)
        weights[d] = 1;
    char *line = NULL;
    size_t room = 0;
    const char *wrong = NULL;
    int n = 0;
    while (!wrong && getline(&line, &room, f) >= 0) {
        n++;
        if (line[strspn(line, " \t\r\n")])
            wrong = take_weight(a, line, ds, weights);
    }
    for (int d = 0; d < ds->n; d++)
        all += weights[d];
    if (wrong)
        fprintf(stderr, "minifut tune: %s:%d: %s\n", o->weights, n, wrong);
    else if (!(all > 0) || ferror(f))
        fprintf(stderr, "minifut tune: %s: %s\n", o->weights,
                ferror(f) ? strerror(errno) : "no data set has a weight");
    bool ok = !wrong && all > 0 && !ferror(f);
    free(line);
    fclose(f);
    plan->o.weights = weights;
    return ok;
}
