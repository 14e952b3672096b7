/* What tuning a program found, as data: what its reports are made of. */
#ifndef AUTOTUNE_TUNER_TUNING_H
#define AUTOTUNE_TUNER_TUNING_H

#include "autotune/run/meter.h"
#include "autotune/search/search.h"
#include "autotune/search/size_search.h"
#include "autotune/tuner/progress.h"
#include "base/out.h"

/* How the comparisons of a threshold went in a run: a set of these, empty if it made none. */
enum { WAY_TRUE = 1, WAY_FALSE = 2 };

typedef VEC(int) VersionIds; /* as minifut explain counts versions */
typedef VEC(const char *)
    VersionWords; /* what versions do, by that number; NULL: nothing is known of it */

/* A version (or several, where a program has several nests) as it ran on a data set. */
typedef struct {
    const char *taken;       /* "V1", "V0 + V4": numbered as in minifut explain */
    uint8_t *ways;           /* [node] */
    const int64_t *settings; /* under which it was measured */
    Measurement m;           /* the fastest that was not cut, else the longest */
    int times;               /* how often it was measured */
} Trial;
typedef VEC(Trial) Trials;

/* The final check on one data set: untuned, tuned and what is best there alone, against
 * each other. */
typedef struct {
    bool made;
    Measurement untuned, tuned, own;
    bool same;  /* untuned and tuned took the same versions */
    bool gains; /* the tuned program is faster beyond noise */
    bool loses; /* ... slower, or fails */
} Verdict;

typedef struct {
    const char *source, *folder; /* the program; its data sets (NULL: the program's own) */
    const char *entry;
    const char *device;               /* NULL: not known */
    const char *strategy, *objective; /* as asked for */
    bool complete;                    /* false: it ended early, and this is the best so far */
    const Forest *forest;
    const Datasets *datasets;
    const SearchResult *found;
    Trials *trials;    /* [dataset] */
    Verdict *verdicts; /* [dataset]; not made where no version runs, nor where it ended before */
    double seconds;    /* of the search */
    bool withdrawn;    /* what was chosen lost to the untuned program: nothing is set */
    const VersionWords *words; /* what versions do */
    const Sizes *sizes;
    const int64_t *size_values;    /* [size] what is set; NULL: nothing */
    const SizesFound *sizes_found; /* NULL: they were left alone */
} Tuning;

/* --- tune_sizes.c --------------------------------------------------------------------------- */

typedef struct {
    Arena *a;
    Meter *m;
    const Datasets *ds;
    const Sizes *sizes;
    const SearchResult *found; /* the thresholds */
    Progress *shown;
    double start,
        seconds; /* of the tuning, and how long it may take (0: not told), by this clock */
    double (*clock)(void);
    int runs;
    const char *gone;  /* set if the program does not start any more: why */
    const bool *close; /* [size] a choice that a bar of twice or half of it would turn somewhere */
} SizeTuner;

/* Do reports for people tell of size i? Of most choices of kernels there is nothing to tell. */
static inline bool size_is_told(const Tuning *t, int i)
{
    bool tried = t->sizes_found && t->sizes_found->tried[i];
    return !t->sizes->at[i].choice || tried || (t->size_values && t->size_values[i]);
}
/* Searches for sizes, with the thresholds found: sizes_search on the program. */
SizesFound tune_sizes(SizeTuner *t);
/* How many measurements that may make. */
int sizes_tests(int n_datasets);

/* --- trial.c -------------------------------------------------------------------------------- */

/* How the comparisons of a run went, a set for each node. */
uint8_t *ways_of(Arena *a, const Forest *f, const LogLines *log);
/* The numbers of the versions that a run took; the same as text, "V0 + V4". */
VersionIds version_ids(Arena *a, const Forest *f, const uint8_t *ways);
const char *versions_taken(Arena *a, const Forest *f, const uint8_t *ways);
/* A name without its entry: "suff_outer_par_0". */
const char *short_name(const char *threshold);

/* Did both runs take the same versions? */
bool same_versions(const Measurement *a, const Measurement *b);
/* Adds a measurement to those of its data set; of runs that took the same versions the fastest is
 * kept. */
void trial_note(Arena *a, Trials *ts, const Forest *f, const int64_t *settings,
                const Measurement *m);

/* Is a version known that runs on data set d? */
bool tuning_usable(const Tuning *t, int d);
/* Seconds of data set d's own optimum: the least of the final check, else of all that was measured.
 * +inf if nothing runs. */
double tuning_best(const Tuning *t, int d);
/* By how much the tuned program misses that, relative; 0 without a verdict, +inf if it fails. */
double tuning_regret(const Tuning *t, int d);
/* The geometric mean over the data sets of what the tuned or untuned program takes : their own
 * optima; from the final check if it was made of all, else from the search. */
double tuning_loss(const Tuning *t, bool tuned);

/* The values of a threshold that suit every data set that asks for something: low < t <= high. */
typedef struct {
    int64_t low, high;  /* no value if low >= high */
    int asked, refused; /* how many data sets ask; on how many the device refuses the version */
} Range;

Range tuning_range(const Tuning *t, int node);

/* --- verdict.c ------------------------------------------------------------------------------ */

/* Measures both on data set d, and its own thresholds (res) under the tuned sizes. What looks like
 * a loss is measured again before it is believed. */
Verdict verdict_on(Meter *m, const Forest *f, int d, const DatasetResult *res,
                   const int64_t *untuned, Setup tuned);

/* Why nothing is to be set, in words; NULL: the tuned program is faster somewhere, and not worse
 * for the objective, beyond noise, as the verdicts tell. */
const char *verdicts_refuse(Arena *a, const Tuning *t, const SearchOptions *o);

/* --- report_text.c -------------------------------------------------------------------------- */

/* "unset", "never", or the number. */
const char *threshold_text(Arena *a, int64_t value);
/* Prints what was found: thresholds, the values that suit all data sets, conflicts. */
void report_found(Arena *a, const Tuning *t);
/* Prints the sizes. */
void report_sizes(const Tuning *t);
/* Prints how near the settings come to each data set's own best. */
void report_loss(const Tuning *t);
/* Prints the head of the table of verdicts, and the row of a data set. */
void report_verdict_head(void);
void report_verdict(Arena *a, const Tuning *t, int d);

/* --- report_json.c -------------------------------------------------------------------------- */

/* "KEY": and the measurement as an object. */
void json_measurement(Out *o, const char *key, const Measurement *m);
/* The whole tuning as an object of docs/tuner.md. */
void report_json(Arena *a, Out *o, const Tuning *t);

/* --- versions_html.c ------------------------------------------------------------------------ */

/* The forest of thresholds as a list of lists: each with its setting, and each version with what
 * `leaf` says of it ("": nothing). */
typedef struct {
    Arena *a;
    Out *o;
    const Forest *forest;
    const int64_t *settings;
    const VersionWords *words;
    void *env;
    const char *(*leaf)(void *env, int node, bool outcome);
} Tree;

void tree_html(const Tree *t);
/* The versions that ran as a table with bars, the fastest first. */
void trials_html(Arena *a, Out *o, const Forest *f, const VersionWords *words,
                 const Trials *trials);
/* "1.23 ms +- 0.4 %", or why there is no time. */
const char *measured_text(Arena *a, const Measurement *m);

/* --- report_html.c -------------------------------------------------------------------------- */

/* The whole tuning as a page. */
void report_html(Arena *a, Out *o, const Tuning *t);

#endif
