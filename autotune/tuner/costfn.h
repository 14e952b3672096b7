/* A user's own cost function (Rasch and others, PPoPP'19, 4.2): a shell command that is told what
 * each data set takes and says what that is worth. It is run once for each such vector of times;
 * docs/tuner.md has the format. */
#ifndef AUTOTUNE_TUNER_COSTFN_H
#define AUTOTUNE_TUNER_COSTFN_H

#include "autotune/data/folder.h"

typedef struct Cost Cost;

/* The command, with a time limit for each run. weights: [dataset], NULL: each counts the same. */
Cost *cost_open(Arena *a, const char *command, double limit, const Datasets *ds,
                const double *weights);
/* What the times of n data sets are worth, the less the better: a CostFn (search.h), whose env is
 * the Cost. INFINITY once something went wrong. */
double cost_of(void *cost, int n, const int *datasets, const double *seconds, const double *bests);
/* What went wrong; NULL: nothing. An interrupt of this process is nothing wrong. */
const char *cost_wrong(const Cost *c);

#endif
