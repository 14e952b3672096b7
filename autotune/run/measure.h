/* Measuring a program on a data set: as many runs as it takes to know the median. */
#ifndef AUTOTUNE_RUN_MEASURE_H
#define AUTOTUNE_RUN_MEASURE_H

#include "autotune/run/session.h"

typedef struct {
    bool ok;
    const char *why;  /* not ok: what happened */
    bool wrong;       /* not ok because the result differs from the expected one */
    bool gone;        /* not ok because the program does not start any more */
    bool cut;         /* ok, but it lost by far: of one run, which took `median` at least */
    bool partial;     /* cut within that run: the log ends there */
    double median;    /* seconds */
    double noise;     /* relative half-width of the median's 95 % confidence interval */
    int n;            /* runs */
    LogLines log;     /* the comparisons of a run, each once, in order */
    TimedParts parts; /* medians; of what was cut: those of one run, `partial`: so far. None: not
                         asked for, or not told */
} Measurement;

/* One warm-up run (checked), then runs until it is known with 95 % confidence whether the version
 * is faster than `rival` seconds (INFINITY: there is none), or the median to about one per cent;
 * one run or less of what takes more than twice as long. limit: seconds a single run may take. */
Measurement session_measure(Session *s, int d, double limit, double rival);
/* The same, and its parts, from some more runs: even if it is cut. Those take longer, by `slowdown`
 * as far as is known. */
Measurement session_measure_parts(Session *s, int d, double limit, double rival, double slowdown);

enum { MOST_IN_TURN = 3 };
/* n setups in turn, run by run, so that what changes with time (clocks, heat, others' work)
 * changes all: until it is known of the first one and each other which is faster, or their medians
 * to about one per cent. */
void session_measure_in_turn(Session *s, int d, int n, const Setup setups[], double limit,
                             Measurement m[]);

/* How many times faster `tuned` is; programs tell whole microseconds, so none counts as one. */
double speedup(double untuned, double tuned);
/* "0.97 to 1.08": the same by what is known of both times. */
const char *speedup_range(Arena *a, const Measurement *untuned, const Measurement *tuned);
/* Is its interval wider than 20 %, and that not for the clock's sake? Then the machine did
 * something else, too. */
bool was_disturbed(const Measurement *m);
/* Warns if so many of n data sets were; `worst`: the noise of the worst. */
void warn_if_busy(const char *tool, int disturbed, int n, double worst);
/* "1.23 ms" */
const char *time_text(Arena *a, double seconds);

#endif
