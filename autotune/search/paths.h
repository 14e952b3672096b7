/* What strategies measure with, and choose from: runs of a data set that are remembered by the path
 * that they took through the forest, and the times of paths not taken. */
#ifndef AUTOTUNE_SEARCH_PATHS_H
#define AUTOTUNE_SEARCH_PATHS_H

#include "autotune/search/search.h"

/* --- paths.c -------------------------------------------------------------------------------- */

/* The search on one data set. */
typedef struct {
    Arena *a;
    const Forest *f;
    int dataset;
    RunFn *run;
    void *env;
    DatasetResult *res;
    int64_t *cur; /* [node] present settings */
    double parts; /* as runs take it */
    bool failed;  /* the run function gave up */
} Probe;

/* A probe of data set d that knows nothing yet, all thresholds unset; it fills in *res. */
Probe probe_new(Arena *a, const Forest *f, int d, RunFn *run, void *env, DatasetResult *res);
/* Probes of n data sets; each has settings to try apart from those that its result keeps. */
Probe *probes_new(Arena *a, Arena *scratch, const Forest *f, int n, RunFn *run, void *env,
                  DatasetResult *results);
/* The time of the present settings: from memory if the same versions ran before, else by a run.
 * What was cut is run again if it is asked for with more time. *memo: the row of the memory. */
Sample probe_measure(Probe *p, double rival, int *memo);
/* Runs the present settings, remembered as row `memo`, once more: the faster time counts from now
 * on. */
void probe_again(Probe *p, int memo);

/* Points of curves take as long as the runs that they are of do by now. */
void points_refresh(const Forest *f, DatasetResult *res);

/* How many of the pars lie below the setting: 0 = comparison always true, n = always false. */
int opinion_rank(const Opinion *op, int64_t setting);
/* The ranges of the opinions, if nothing is known but the data set's own best settings. */
void opinion_ranges(const Forest *f, DatasetResult *res);
/* What the settings would execute, PATH_UNKNOWN where that cannot be told yet; false if that is
 * anywhere. */
bool path_of(const Forest *f, const DatasetResult *res, const int64_t *settings, int64_t *path);
/* The row of the memory that is the path of the settings, -1 if it was not taken yet or cannot be
 * told. */
int memory_find(const Forest *f, const DatasetResult *res, const int64_t *settings);
/* Can the node's comparison come out like that under the setting? */
bool outcome_can_be(const Opinion *op, int64_t setting, bool outcome);
/* Is the node's comparison made under the settings, as far as the opinions know? */
bool node_reached(const Forest *f, const DatasetResult *res, const int64_t *settings, int node);
/* Puts n values in order, each once; how many there are then. */
int values_sort(int64_t *at, int n);
/* Are the two within what counts as equal? */
bool times_equal(double a, double b, double noise);
/* Were the two measured, some while apart, and are they so close that the device's changing clock,
 * or something else that ran, may have decided between them? Then both are run again, DOUBT_ROUNDS
 * times at most, and the faster time of each counts. */
bool samples_in_doubt(const Sample *a, const Sample *b);
enum { DOUBT_ROUNDS = 2 };

/* --- parts.c -------------------------------------------------------------------------------- */

/* The time of the settings, put together from parts of runs; false if these do not tell it. Its
 * noise is that of the parts, since settings are compared that differ in nests from one run; *noise
 * (may be NULL): with that of this run, in seconds. */
bool parts_told(const Forest *f, const DatasetResult *res, const int64_t *settings, Sample *out,
                double *noise);
/* Sets thresholds of nests that are open[node] to versions of which nothing is known yet, so that a
 * run with them and one with the settings as they were tell the same of all other nests. False:
 * there is none, or a run would not tell its parts. *rival: seconds of the run that is most like
 * it. */
bool parts_ride(const Forest *f, const DatasetResult *res, const bool *open, int64_t *settings,
                double *rival);
/* By what factor runs that tell their parts take longer, as far as is known: 1 at least. */
double parts_slowdown(const DatasetResult *res);
/* Is something known of what the settings take in one of these nests? */
bool parts_settle(const Forest *f, const DatasetResult *res, const bool *open,
                  const int64_t *settings);

/* --- predict.c ------------------------------------------------------------------------------ */

typedef struct {
    double seconds, noise;
    bool known; /* false: what the program does unset was not seen, and is taken for the default */
} Prediction;

/* The time of a data set under settings: as measured if that path was taken, else put together from
 * the curves of the thresholds. */
Prediction predict(const Forest *f, const DatasetResult *res, const int64_t *settings);
/* What a setting of the node costs more than the data set's own, with what is below at its own. */
double predict_loss(const Forest *f, const DatasetResult *res, int node, int64_t setting,
                    bool *known);

#endif
