/* Settings for all data sets together, from what is known of each. */
#ifndef AUTOTUNE_SEARCH_CHOOSE_H
#define AUTOTUNE_SEARCH_CHOOSE_H

#include "autotune/search/paths.h"

/* What to choose for. */
typedef struct {
    Arena *a; /* for what is not kept */
    const Forest *f;
    const DatasetResult *datasets;
    int n;
    bool *in;         /* [dataset] it counts */
    bool *must_unset; /* [node] nothing may be asked for */
    const SearchOptions *o;
} Choice;

/* A choice for which no data set counts yet, and all may be asked for. */
Choice choice_of(Arena *a, const Forest *f, int n_datasets, const SearchOptions *o,
                 const DatasetResult *datasets);

/* How many times slower than its best a data set is taken to be that fails. */
#define HOPELESS 1e6

/* --- joint.c -------------------------------------------------------------------------------- */

/* The settings with the least sum of seconds, each data set's times its weight, as predicted.
 * Unset where no value is better. */
void joint_least(const Choice *c, const double *weight, int64_t *settings);

/* --- objective.c ---------------------------------------------------------------------------- */

/* What the settings are worth: the less the better. */
double objective(const Choice *c, const int64_t *settings);
/* The same of what data sets take: [dataset]. */
double objective_of(const Choice *c, const double *seconds);
/* The settings that are best for the objective, as predicted. */
void objective_least(const Choice *c, int64_t *settings);

/* --- robust.c ------------------------------------------------------------------------------- */

/* Asks for as little as is possible without making a data set slower beyond noise, and for values
 * as near to the defaults. ranges may be NULL. */
void ask_for_less(const Choice *c, int64_t *settings, Allowed *ranges);

/* --- choose.c ------------------------------------------------------------------------------- */

/* Chooses the settings for all data sets whose best is finite: everything of *r beside datasets,
 * complete and runs is filled in. */
void choose(Arena *a, const Forest *f, int n_datasets, const SearchOptions *o, SearchResult *r);
/* The same near settings that were found to be best, without a look at data not seen. */
void choose_near(Arena *a, const Forest *f, int n_datasets, const SearchOptions *o,
                 const int64_t *settings, SearchResult *r);

#endif
