/* Options that tune, bench and profile share. */
#ifndef AUTOTUNE_RUN_OPTIONS_H
#define AUTOTUNE_RUN_OPTIONS_H

#include "autotune/run/session.h"
#include "command/html.h"
#include "command/output.h"

/* How traces of profile begin. */
#define TRACE_HEAD "{\"displayTimeUnit\": \"ms\", \"otherData\": {\"program\": "

enum { MOST_COUNTS = 16 };

typedef struct {
    SessionOptions session;
    const char *source;                /* prog.sf */
    const char *folder;                /* data sets; NULL: those of the program's directives */
    const char *tuning;                /* tuning file: default SOURCE.tuning */
    bool tuning_given;                 /* by an option */
    const char *json;                  /* write results here */
    const char *report;                /* ... and as a page here */
    const char *html, *trace;          /* profile: write a page here, what happened when there */
    double runs;                       /* profile: so many, of each data set */
    bool untuned;                      /* profile: whatever tuning file there is */
    bool roofline;                     /* bench: kernels beside the ceilings of the device ... */
    double gbs, gflops;                /* ... which are these; 0: to be measured */
    bool skip_compile;                 /* the binary is up to date */
    const char *only;                  /* tune: "thresholds" ... */
    bool only_thresholds;              /* ... sizes are left alone */
    double ranks;                      /* 0: not by MPI */
    const char *ranks_list;            /* bench: "1,2,4" ... */
    int counts[MOST_COUNTS], n_counts; /* ... numbers of ranks to compare; 0: not by MPI */
    double jobs; /* tune: data sets at the same time, where the device allows it; 0: not said */
    bool fresh;  /* tune: what is in the log does not count */
    const char *strategy, *objective, *weights; /* tune: strategies.h */
    double tests, seconds;                      /* tune: limits of --strategy=stochastic; 0: none */
    bool dry_run;                               /* tune: tells what it would do */
    bool quiet;
    bool force;        /* writes over files that are not ours */
    Output written[6]; /* all that it writes, as far as it was asked for */
} ToolOptions;

enum { TOOL_TUNE = 1, TOOL_BENCH = 2, TOOL_PROFILE = 4 };

typedef struct {
    const char *name;
    int which;
    const char *about; /* what its help begins with */
} Tool;

/* Reads the tool's arguments; -1 to go on, else the exit code. */
int tool_options(Arena *a, const Tool *tool, int argc, char **argv, ToolOptions *o);
/* Compiles if asked to, finds the data sets, starts the session. NULL after a message; *code is
 * then the exit code. */
Session *tool_open(Arena *a, const char *tool, ToolOptions *o, Datasets *ds, int *code);
/* The log beside the tuning file. */
const char *tool_log(Arena *a, const ToolOptions *o);
/* Writes a file that was asked for, one of o->written; false after a message. */
bool tool_write(const char *tool, const ToolOptions *o, const char *path, const Out *text);

#endif
