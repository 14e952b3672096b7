/* How near each kernel of a program is to what the device can do: what the kernel must move and
 * compute (plan/work.c) against the time it takes. */
#ifndef AUTOTUNE_BENCH_ROOFLINE_H
#define AUTOTUNE_BENCH_ROOFLINE_H

#include "autotune/run/session.h"
#include "base/out.h"

/* Bytes and floating-point operations a second. */
typedef struct {
    double bytes, operations;
    bool unsteady; /* measured, and the best that was reached was not reached again: the device can
                      do more */
} Ceilings;

/* --- ceilings.c ----------------------------------------------------------------------------- */

/* What the device of these options reaches in a copy and in chains of multiply-adds (f32): compiles
 * and runs a program of its own. What is not 0 in *c is left as it is. NULL, or what went wrong. */
const char *ceilings_measure(Arena *a, const SessionOptions *o, Ceilings *c);
/* Why they are none, as the end of a sentence; "" if they are steady. */
const char *ceilings_doubt(const Ceilings *c);

/* --- roofline.c ----------------------------------------------------------------------------- */

/* Seconds in which the device could do what the row must. */
double least_seconds(const Ceilings *c, const ProfileRow *r);
/* Profiles runs of data set d and prints a table, sorted by what would be gained at the nearer
 * ceiling; adds the member "roofline" of an object to json. NULL, or what went wrong. */
const char *roofline(Arena *a, Session *s, int d, double limit, const Ceilings *c, Out *json);

#endif
