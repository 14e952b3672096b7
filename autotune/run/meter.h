/* Measuring with a memory: what is in the log of an earlier tuning (journal.h) is not measured
 * again, and what is measured is in the log at once. */
#ifndef AUTOTUNE_RUN_METER_H
#define AUTOTUNE_RUN_METER_H

#include "autotune/run/measure.h"
#include "autotune/run/options.h"

typedef struct Meter Meter;

/* The log is that of the tuning file, with what holds for this program, device, entry point and
 * these options. Without a log (said on standard error) it measures all the same. */
Meter *meter_open(Arena *a, Session *s, const Datasets *ds, const ToolOptions *o);
void meter_close(Meter *m);
/* Other programs are on the device at the same time: what fails may do so for want of memory, and
 * is not in the log. */
void meter_beside_others(Meter *m);

/* The time of data set d under the setup, and its parts unless slowdown is 0: session_measure,
 * session_measure_parts, or from the log. */
Measurement meter_measure(Meter *m, int d, Setup setup, double rival, double slowdown);

/* ... of n setups against each other: session_measure_in_turn. */
void meter_measure_in_turn(Meter *m, int d, int n, const Setup setups[], Measurement res[]);

/* Profiles data set d under the thresholds, or finds that in the log: for each size the part of the
 * device's time, in per mille, that the kernel takes which takes most of those that depend on it.
 * False: the program does not tell. */
bool meter_shares(Meter *m, int d, const int64_t *thresholds, int64_t *shares);
/* No more of them are asked for: the program that was started for it ends, and gives back the
 * device's memory. */
void meter_shares_end(Meter *m);

const char *meter_log(const Meter *m); /* the file */
int meter_known(const Meter *m);       /* measurements in it that hold here and were not used yet */
int meter_recalled(const Meter *m);    /* how many were not made but found in it */

#endif
