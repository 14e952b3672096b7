/* Measuring a program on a data set: as many runs as it takes to know the median. */
#ifndef AUTOTUNE_MEASURE_H
#define AUTOTUNE_MEASURE_H

#include "autotune/session.h"

typedef struct {
    bool ok;
    const char *why; /* not ok: what happened */
    bool wrong;      /* not ok because the result differs from the expected one */
    double median;   /* seconds */
    double noise;    /* relative half-width of the median's 95 % confidence interval */
    int n;           /* runs */
    LogLines log;    /* of one run */
} Measurement;

/* One warm-up run (checked), then runs until the median is known well enough; limit: seconds a
 * single run may take. */
Measurement session_measure(Session *s, int d, double limit);

/* How many times faster `tuned` is; programs tell whole microseconds, so none counts as one. */
double speedup(double untuned, double tuned);
/* "1.23 ms" */
const char *time_text(Arena *a, double seconds);

#endif
