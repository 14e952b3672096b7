/* What a tuning does at the moment: on a terminal one line that changes, elsewhere a line now and
 * then, none in the first seconds. */
#ifndef AUTOTUNE_TUNER_PROGRESS_H
#define AUTOTUNE_TUNER_PROGRESS_H

#include "autotune/data/forest.h"

#include <stdio.h>

typedef struct {
    FILE *to;
    bool quiet;   /* nothing is shown */
    int columns;  /* of a terminal; 0: it is none */
    double shown; /* seconds after the start, of the last line that is no terminal's */
    bool drawn;   /* there is a line on the terminal */
} Progress;

typedef struct {
    int runs, expected; /* so far; in all, at least */
    const char *dataset, *trying;
    double best; /* seconds; INFINITY: none yet */
    double gone; /* seconds since the start */
} ProgressState;

/* Of standard error. */
Progress progress_open(bool quiet);
/* "[3/15] a: trying ...; best so far 1.2 ms; 3 s gone, about 9 s left" */
const char *progress_text(Arena *a, const ProgressState *s);
void progress_show(Arena *a, Progress *p, const ProgressState *s);
/* Takes the line off the terminal, before anything else is written there. */
void progress_clear(Progress *p);

/* Which version settings ask for, in words. */
const char *trying_text(Arena *a, const Forest *f, const int64_t *settings);

#endif
