/* What minifut bench measured, as data: what its page is made of. */
#ifndef AUTOTUNE_BENCH_BENCH_H
#define AUTOTUNE_BENCH_BENCH_H

#include "autotune/run/options.h"
#include "autotune/tuner/tuning.h"

/* One data set. */
typedef struct {
    Measurement untuned, tuned; /* tuned: with a tuning file only */
    bool same;          /* ... which is the untuned program there, so both are one measurement */
    bool fine;          /* what was measured ran */
    const char *result; /* "right", ... */
    Trials trials;      /* each version by itself */
    Profile profile;    /* of the tuned program, else of the untuned one */
    const char *unprofiled; /* why there is none */
} BenchRow;

typedef struct {
    const char *source, *text; /* the program: its name, its lines */
    const char *entry, *device;
    const char *tuning;      /* the tuning file; NULL: none */
    const int64_t *settings; /* its thresholds */
    const int64_t *sizes;
    const Forest *forest;
    const Datasets *datasets;
    BenchRow *rows;     /* [dataset] */
    VersionWords words; /* for the page */
} Bench;

/* --- bench_versions.c ----------------------------------------------------------------------- */

/* Measures each version of the forest on data set d: what it takes to get there, and the last
 * version wherever else there is a choice. Sizes stay as they are. */
Trials bench_versions(Arena *a, Session *s, int d, double limit);

/* --- bench_ranks.c -------------------------------------------------------------------------- */

/* Measures the data sets on each of the numbers of ranks that were asked for (o->counts), with the
 * tuning file if there is one; s is a session on the first of them, and closed. The exit code. */
int bench_ranks(Arena *a, Session *s, const Datasets *ds, ToolOptions *o);

/* --- bench_html.c --------------------------------------------------------------------------- */

/* The whole as a page. */
void bench_html(Arena *a, Out *o, const Bench *b);

#endif
