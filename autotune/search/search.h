/* The search for thresholds: pure, timings in, settings out. Strategies beside each other measure
 * data sets' paths through the forest (monotone.c, exhaustive.c, stochastic.c) on one core that
 * remembers them (paths.c); what to ask for on all data sets together is then chosen from what is
 * known (choose.c), with nothing asked for as the choice unless something else gains beyond noise.
 * docs/tuner.md says how. */
#ifndef AUTOTUNE_SEARCH_SEARCH_H
#define AUTOTUNE_SEARCH_SEARCH_H

#include "autotune/data/forest.h"

/* A comparison made during a run: threshold `node` was compared with `par`, and held or not. */
typedef struct {
    int node;
    int64_t par;
    bool held;
} Compared;
typedef VEC(Compared) Compareds;

/* What of a run's time the versions under a threshold took, from its comparison to the next one. */
typedef struct {
    int node;
    double seconds;
    double noise; /* relative */
} Part;

/* What a run told. seconds is +inf for a version that failed, was refused, too slow or wrong. */
typedef struct {
    double seconds;
    double noise;       /* relative half-width of the confidence interval */
    bool cut;           /* stopped as it could not win: it takes `seconds` at least */
    bool partial;       /* ... within a run: there may have been more comparisons */
    bool told;          /* not measured, but put together from parts of runs */
    Compareds compared; /* duplicates allowed */
    VEC(Part) parts;    /* none: cannot be told. If `partial`: at least so much */
} Sample;

/* Runs data set d with the settings, one a node: THRESHOLD_UNSET (the program decides as if it were
 * not tuned), THRESHOLD_NEVER, THRESHOLD_ALWAYS or a value. rival: the seconds that the run must
 * come near to matter, INFINITY for none: one that lost by far may be cut. parts: 0 if
 * they are of no use, else by what factor runs that tell them take longer, as far as is known.
 * False: give up the whole search. */
typedef bool RunFn(void *env, int dataset, const int64_t *settings, double rival, double parts,
                   Sample *out);

/* A measured point of a threshold's curve on a data set: with the pars pars[0..i-1] below the
 * threshold and the others at or above it. */
typedef struct {
    int i;
    double seconds, noise;
    bool cut; /* at least so many seconds */
    int memo; /* the row of the data set's memory; -1: put together */
} Point;

/* What one data set says about one threshold. */
typedef struct {
    VEC(int64_t) pars; /* distinct, increasing; none if the data set never makes the comparison */
    bool known;        /* the program got to where the comparison is made at least once */
    bool met_unset;    /* ... with the threshold unset, */
    int64_t unset;     /* which was like this setting; 0: like none */
    double unset_seconds; /* then: with it unset and the others as for the curve; else NAN */
    VEC(Point) curve;
    double best;       /* the least of the curve */
    int64_t low, high; /* best settings t: low < t <= high */
    bool free;         /* both outcomes are equally fast: no constraint */
    bool refused; /* the device cannot run the version: comparisons go on as if it were false */
} Opinion;

/* What a path through the forest took: of each node PATH_NONE if it was not got to, the least par
 * for which the comparison held (THRESHOLD_NEVER: none), or PATH_OWN for a program that decided
 * otherwise than by a number. */
typedef struct {
    int64_t *path; /* NULL: cannot be told */
    Sample sample;
    const int64_t *settings; /* of its first run */
} Memo;
enum { PATH_NONE = -1, PATH_OWN = -2, PATH_UNKNOWN = -3 };

typedef struct {
    Opinion *opinions; /* [node] */
    VEC(Memo) memory;
    Sample untuned; /* with nothing set */
    double best;    /* seconds of the data set's own best settings; INFINITY: none works */
    int64_t *own;   /* those settings */
    int runs;       /* how many runs were made (not answered from memory) */
    double chosen;  /* seconds with the settings for all, as measured or as the curves tell */
    double unseen;  /* with those chosen from the other data sets alone; NAN: not known */
} DatasetResult;

/* A threshold of which no setting is best for all data sets. */
typedef struct {
    int node;
    int *datasets; /* those that would have another one, and those that would lose by it */
    int n_datasets;
    int64_t chosen;
    double loss; /* what that costs the former, in sum: 0.5 is half of a data set's own best time */
} Conflict;

typedef struct {
    int64_t low, high; /* all t with low < t <= high are as good as the setting */
} Allowed;

typedef struct {
    bool complete;     /* false: the run function gave up; the rest says what is known by then */
    int64_t *settings; /* [node] for all data sets together */
    Allowed *allowed;  /* [node], of those that are set */
    DatasetResult *datasets;
    VEC(Conflict) conflicts;
    int runs;
    /* Geometric means over the data sets of seconds : seconds of the own best. */
    double untuned, chosen, unseen; /* unseen: NAN for a single data set */
    bool distrusted; /* better settings were found, but would lose on data not seen: not chosen */
} SearchResult;

/* What is to be least. */
typedef enum {
    OBJECTIVE_REGRET,  /* the mean of seconds : those of the data set's own best */
    OBJECTIVE_SUM,     /* all data sets' seconds together */
    OBJECTIVE_GEOMEAN, /* the geometric mean of seconds */
    OBJECTIVE_WORST,   /* the greatest of seconds : those of the data set's own best */
    OBJECTIVE_COST,    /* what the cost function says */
} Objective;

/* What the times of n data sets are worth, which may be anything: the less the better. INFINITY for
 * seconds: the data set fails. bests: of their own best settings. */
typedef double CostFn(void *env, int n, const int *datasets, const double *seconds,
                      const double *bests);

typedef struct {
    Objective objective;
    const double *weights; /* [dataset]; NULL: each counts the same */
    CostFn *cost;          /* for OBJECTIVE_COST, with its environment */
    void *cost_env;
    /* Told before the exhaustive search starts: combinations of paths of all data sets, and paths,
     * each of which is run. NULL: nobody. */
    void (*plan)(double combinations, double paths);
    /* The stochastic search ends after so many runs (0: 20 for each version and data set) or
     * seconds (0: no limit) of this clock. */
    int tests;
    double seconds;
    double (*clock)(void);
} SearchOptions;

/* --- monotone.c ----------------------------------------------------------------------------- */

/* The method of TFP'21: n versions cost n runs on each data set if sizes do not vary in a run, less
 * where runs tell their parts, O(log p) each if they do. */
SearchResult search_monotone(Arena *a, const Forest *f, int n_datasets, const SearchOptions *o,
                             RunFn *run, void *env);

/* --- exhaustive.c --------------------------------------------------------------------------- */

/* Every distinct combination of paths of the data sets: each path of each is run once. */
SearchResult search_exhaustive(Arena *a, const Forest *f, int n_datasets, const SearchOptions *o,
                               RunFn *run, void *env);

/* --- stochastic.c --------------------------------------------------------------------------- */

/* Settings drawn by several techniques, until the limits or as long as there is something new. */
SearchResult search_stochastic(Arena *a, const Forest *f, int n_datasets, const SearchOptions *o,
                               RunFn *run, void *env);

/* How many runs it may make; a proposal that was begun is run on all data sets, though. */
int search_tests(const SearchOptions *o, int n_nodes, int n_datasets);

/* --- settle.c ------------------------------------------------------------------------------- */

/* Runs what was chosen where its time is only put together from parts, and chooses anew until all
 * of it is measured. *r, a complete result, is not any more if the run function gave up. */
void settle(Arena *a, const Forest *f, int n_datasets, const SearchOptions *o, RunFn *run,
            void *env, SearchResult *r);

#endif
