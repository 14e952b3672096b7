/* Stages of a compilation: who is at work, for internal errors and for --time-passes. */
#ifndef BASE_STAGE_H
#define BASE_STAGE_H

#include <stdbool.h>
#include <stdio.h>

/* From now on this stage works (a name that stays). Gives the one that did, to which a stage within
 * another hands back with stage_leave. */
const char *stage_enter(const char *name);
void stage_leave(const char *around);
/* "start-up" before the first. */
const char *stage_name(void);

/* From now on the time of stages is taken; of those within others, theirs only. */
void stage_times_begin(void);
/* A line for each, in the order of their beginnings: milliseconds, and how often it was entered. */
void stage_times_print(FILE *f);

#endif
