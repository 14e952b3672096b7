/* What tuning a program found, as data: what its reports are made of. */
#ifndef AUTOTUNE_TUNING_H
#define AUTOTUNE_TUNING_H

#include "autotune/measure.h"
#include "autotune/search.h"

/* The final check on one data set: untuned and tuned against each other. */
typedef struct {
    bool made;
    Measurement untuned, tuned;
    bool same;  /* both took the same versions */
    bool loses; /* the tuned program is slower beyond noise, or fails */
} Verdict;

typedef struct {
    const char *entry;
    const Forest *forest;
    const Datasets *datasets;
    const SearchResult *found;
    Verdict *verdicts; /* [dataset]; not made where no version runs */
    double seconds;    /* of the search */
} Tuning;

/* --- verdict.c ------------------------------------------------------------------------------ */

/* Measures both settings on data set d; a run may take `limit` seconds. What looks like a loss is
 * measured again before it is believed. */
Verdict verdict_on(Session *s, int d, double limit, const int64_t *untuned, const int64_t *tuned);

/* --- report_text.c -------------------------------------------------------------------------- */

/* "unset", "never", or the number. */
const char *threshold_text(Arena *a, int64_t value);
/* Prints what was found: thresholds, the values that suit all data sets, conflicts. */
void report_found(Arena *a, const Tuning *t);
/* Prints the head of the table of verdicts, and the row of a data set. */
void report_verdict_head(void);
void report_verdict(Arena *a, const Tuning *t, int d);

#endif
