/* The monotone search for thresholds (TFP'21): pure, timings in, settings out.
 *
 * Per data set, bottom-up over the forest. With every threshold at THRESHOLD_NEVER the program
 * takes the last version; this run also tells which degrees of parallelism (pars) each threshold is
 * compared with. For each threshold, with what is below it already at its best, the version it
 * guards is then tried: one run if all its pars are equal on that data set (size-invariant: n
 * versions cost n runs), else a binary search over the distinct pars, comparing neighbours
 * (size-variant: O(log p) runs, right when time has a single valley over the threshold). Runs that
 * would execute the same versions as an earlier one are answered from memory.
 *
 * Over data sets: each gives, for each threshold, the range of values that choose its best version;
 * ranges of the data sets that get to the threshold are intersected from the roots down. Without
 * intersection the value with the least total regret is taken and the conflict reported. */
#ifndef AUTOTUNE_SEARCH_H
#define AUTOTUNE_SEARCH_H

#include "autotune/forest.h"

/* A comparison made during a run: threshold `node` was compared with `par`, and held or not. */
typedef struct {
    int node;
    int64_t par;
    bool held;
} Compared;
typedef VEC(Compared) Compareds;

/* What a run told. seconds is +inf for a version that failed, was refused, too slow or wrong. */
typedef struct {
    double seconds;
    double noise;       /* relative half-width of the confidence interval */
    bool cut;           /* stopped as it could not win: it takes `seconds` at least */
    bool partial;       /* ... within a run: there may have been more comparisons */
    Compareds compared; /* duplicates allowed */
} Sample;

/* Runs data set d with the settings, one a node: THRESHOLD_UNSET (the program decides as if it were
 * not tuned), THRESHOLD_NEVER, THRESHOLD_ALWAYS or a value. rival: the seconds that the run must
 * come near to matter, INFINITY for none: one that lost by far may be cut. False: give up the whole
 * search. */
typedef bool RunFn(void *env, int dataset, const int64_t *settings, double rival, Sample *out);

/* A measured point of a threshold's curve on a data set: with the pars pars[0..i-1] below the
 * threshold and the others at or above it. */
typedef struct {
    int i;
    double seconds;
} Point;

/* What one data set says about one threshold. */
typedef struct {
    VEC(int64_t) pars; /* distinct, increasing; none if the data set never makes the comparison */
    bool known;        /* the program got to where the comparison is made at least once */
    VEC(Point) curve;
    double best;       /* the least of the curve */
    int64_t low, high; /* best settings t: low < t <= high */
    bool free;         /* both outcomes are equally fast: no constraint */
    bool refused; /* the device cannot run the version: comparisons go on as if it were false */
} Opinion;

typedef struct {
    Opinion *opinions; /* [node] */
    double best;       /* seconds of the data set's own best settings */
    int64_t *own;      /* those settings */
    int runs;          /* how many runs were made (not answered from memory) */
} DatasetResult;

typedef struct {
    int node;
    int *datasets; /* those whose ranges have no common value */
    int n_datasets;
    int64_t chosen;
} Conflict;

typedef struct {
    bool complete;     /* false: the run function gave up; the rest says what is known by then */
    int64_t *settings; /* [node] for all data sets together */
    DatasetResult *datasets;
    VEC(Conflict) conflicts;
    int runs;
} SearchResult;

SearchResult search_monotone(Arena *a, const Forest *f, int n_datasets, RunFn *run, void *env);

#endif
