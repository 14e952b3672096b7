/* What minifut profile measured, as data: what its table, JSON, page and trace are made of. */
#ifndef AUTOTUNE_BENCH_PROFILING_H
#define AUTOTUNE_BENCH_PROFILING_H

#include "autotune/bench/roofline.h"
#include "autotune/run/replies.h"
#include "autotune/tuner/tuning.h"

/* What takes a share of a run. */
typedef enum {
    SHARE_LINE,     /* of the program: its kernels */
    SHARE_BUILTIN,  /* the runtime's own kernels: fills, transpositions... */
    SHARE_TRANSFER, /* between host and device, and copies there */
    SHARE_HOST      /* the device waits */
} ShareKind;

/* A kernel, or all of a construct's of one kind, within a share. */
typedef struct {
    const char *construct; /* "segred", "segscan_seq", "fill", "copy on device" */
    ProfileRow row;
    double least; /* seconds in which the device could do that */
} ShareKernel;

typedef struct {
    ShareKind kind;
    const char *file;         /* SHARE_LINE: which, ... */
    int line;                 /* ... from 1 */
    const char *text;         /* the line's, without blanks around it; else what it is */
    ProfileRow sum;           /* of its kernels together */
    double least;             /* seconds in which the device could do that */
    VEC(ShareKernel) kernels; /* the longest first */
} Share;
typedef VEC(Share) Shares;

/* Moved between host and device before and after a run: inputs, results. */
typedef struct {
    double bytes, seconds;
} Moved;

/* One data set. Times are seconds, means over the runs. */
typedef struct {
    const char *failed; /* why there is no profile; NULL: there is one */
    bool interrupted;
    const char *versions; /* that a run takes: "V0 + V4" */
    VersionIds ids;       /* the same */
    double run;           /* without profiling ... */
    double profiled;      /* ... and with it */
    double whole; /* what shares are of: `profiled`, or what the device took if that is more */
    double kernels, transfers, host; /* its shares */
    double peak;                     /* bytes of device memory */
    Moved inputs, results;
    Profile rows;   /* kernels and transfers */
    bool threads;   /* the device tells how much its threads worked */
    Shares shares;  /* all of them, the longest first */
    double dropped; /* of what follows: what the program does not keep */
    Spans first,
        warm; /* what happened in the first run, which builds kernels, and in a later one */
} Profiled;

typedef struct {
    const char *source, *text; /* the program: its name, its lines */
    const char *entry, *device;
    const char *tuning; /* the tuning file; NULL: none */
    int runs;
    Ceilings ceilings;
    const Datasets *datasets;
    Profiled *of;       /* [dataset] */
    VersionWords words; /* for the page */
} Profiling;

/* --- profiles.c ----------------------------------------------------------------------------- */

/* Profiles data set d in so many runs, under the settings in force; p->failed says what is wrong.
 */
void profile_dataset(Arena *a, Session *s, int d, double limit, int runs, Profiled *p);

/* --- profiling_shares.c ---------------------------------------------------------------------- */

/* Sorts p->rows into p->shares, and the time of a run into who takes it. */
void profile_shares(Arena *a, const Profiling *all, Profiled *p);
/* How much of a time threads worked: parts of it. */
typedef struct {
    double mean, least, most; /* on average, the least and the most busy one */
} Busy;
/* False: it is not known. */
bool busy_of(const ProfileRow *r, Busy *b);
/* Of the work: in which share of the time the device could do it, per cent; -1: there is none. */
double bound_percent(double least, double seconds);
/* Is it memory that bounds this work, rather than arithmetic? */
bool bound_by_bytes(const Ceilings *c, double bytes, double operations);

/* --- profiling_text.c ----------------------------------------------------------------------- */

/* What is on top of the tables. */
void profiling_head(Arena *a, const Profiling *all);
/* The table of data set d. */
void profiling_text(Arena *a, const Profiling *all, int d);

/* How many, on average; "" for none. */
const char *count_text(Arena *a, double n);
/* "1.23 MB" */
const char *bytes_text(Arena *a, double bytes);
/* A rate in units of 10^9 a second; "" where there is nothing to do. */
const char *rate_text(Arena *a, double work, double seconds);
/* Why some of it is above what the device is said to reach; NULL: none is. */
const char *above_ceilings(const Ceilings *c, const Profiled *p);
/* How busy the threads were: "97% 91-100%", as programs say it; "" where that is not known. */
const char *busy_text(Arena *a, const ProfileRow *r);
/* How near the work is to the bound that applies: "18 % bytes"; "" where there is nothing to do. */
const char *bound_text(Arena *a, const Ceilings *c, const ProfileRow *r, double least);

/* --- profiling_json.c ----------------------------------------------------------------------- */

/* The whole as an object of docs/commands.md. */
void profiling_json(Out *o, const Profiling *all);

/* --- profiling_html.c ----------------------------------------------------------------------- */

/* The whole as a page. */
void profiling_html(Arena *a, Out *o, const Profiling *all);

/* --- profiling_trace.c ---------------------------------------------------------------------- */

/* Chrome's trace event format. */
void profiling_trace(Arena *a, Out *o, const Profiling *all);

#endif
