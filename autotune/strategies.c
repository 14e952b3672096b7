#include "autotune/strategies.h"

#include "base/diag.h"
#include "runtime/spell.h"

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

static int unknown(const char *what, const char *name, rt_spelling *s)
{
    fprintf(stderr, "minifut tune: unknown %s '%s'%s (minifut tune --help)\n", what, name,
            rt_spell_hint(s));
    return EXIT_USAGE;
}

int search_plan(const ToolOptions *o, SearchPlan *plan)
{
    const char *strategy = o->strategy ? o->strategy : "monotone";
    const char *objective = o->objective ? o->objective : "regret";
    rt_spelling s = rt_spell(strategy), t = rt_spell(objective);
    bool found = false;
    *plan = (SearchPlan){.o = {.tests = (int)fmin(o->tests, INT_MAX), .seconds = o->seconds}};
    if (strcmp(strategy, "all") == 0) {
        plan->strategy = strategies;
        plan->n = N_STRATEGIES;
    }
    for (int i = 0; i < N_STRATEGIES; i++) {
        rt_spell_try(&s, strategies[i].name);
        if (strcmp(strategy, strategies[i].name) == 0) {
            plan->strategy = &strategies[i];
            plan->n = 1;
        }
    }
    if (!plan->n)
        return unknown("strategy", strategy, &s);
    for (int i = 0; i < N_OBJECTIVES; i++) {
        rt_spell_try(&t, objectives[i]);
        if (strcmp(objective, objectives[i]) == 0) {
            plan->o.objective = (Objective)i;
            found = true;
        }
    }
    return found ? -1 : unknown("objective", objective, &t);
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
    FILE *f = fopen(o->weights, "r");
    if (!f) {
        fprintf(stderr, "minifut tune: cannot read %s: %s\n", o->weights, strerror(errno));
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
