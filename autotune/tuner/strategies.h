/* What `minifut tune` was asked to search for, and how. */
#ifndef AUTOTUNE_TUNER_STRATEGIES_H
#define AUTOTUNE_TUNER_STRATEGIES_H

#include "autotune/run/options.h"
#include "autotune/search/search.h"
#include "autotune/tuner/costfn.h"

typedef struct {
    const char *name;
    SearchResult (*search)(Arena *a, const Forest *f, int n_datasets, const SearchOptions *o,
                           RunFn *run, void *env);
} Strategy;

/* The strategies asked for are strategy[0..n-1]. */
typedef struct {
    const Strategy *strategy;
    int n;
    SearchOptions o;
    Cost *cost;            /* a user's own objective */
    const char *objective; /* its name, or the user's command */
} SearchPlan;

/* Reads --strategy and --objective: what is no objective's name is a command, for search_cost(). -1
 * to go on, else the exit code, after a message. */
int search_plan(const ToolOptions *o, SearchPlan *plan);
/* The command that is the objective, if one is: runs it once with made-up times, so that a mistake
 * shows before anything is measured. False after a message. */
bool search_cost(Arena *a, const ToolOptions *o, const Datasets *ds, SearchPlan *plan);
/* Reads --weights: lines of a data set's name and its weight; what is not named has weight 1. False
 * after a message. */
bool search_weights(Arena *a, const ToolOptions *o, const Datasets *ds, SearchPlan *plan);

#endif
