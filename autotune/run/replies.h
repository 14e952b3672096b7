/* What the server of a program says of runs, read: lines of its replies. */
#ifndef AUTOTUNE_RUN_REPLIES_H
#define AUTOTUNE_RUN_REPLIES_H

#include "autotune/run/session.h"

/* The comparisons of a call, and how long the versions under them took, if it was to tell. NULL is
 * an empty reply. */
void reply_run(Arena *a, const char *reply, RunResult *res);
/* The microseconds behind the word, in seconds; -1: it is not there. */
double reply_seconds(const char *reply, const char *word);
/* The kernels of so many calls, as means over them. */
void reply_profile(Arena *a, const char *reply, int runs, Profile *p);
/* "[][]f32": rank 2, f32. False for types that consist of several values. */
bool reply_type(const char *type, rt_prim *prim, int *rank);

/* A command of the client, a build, a launch or a transfer. */
typedef struct {
    const char *track, *name, *place;
    double begin, seconds; /* by the host's clock */
} Span;
typedef VEC(Span) Spans;
/* All that happened since the profile began; how much more than the program keeps is not there. */
double reply_timeline(Arena *a, const char *reply, Spans *spans);

#endif
