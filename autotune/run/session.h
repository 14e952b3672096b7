/* A compiled program with its data sets, ready to be run again and again: what tune and bench
 * share. Starts the program's server, loads inputs (text, binary, .gz), runs an entry point under
 * given settings, reads the comparisons it made, and checks its results. Restarts a server that
 * died. */
#ifndef AUTOTUNE_RUN_SESSION_H
#define AUTOTUNE_RUN_SESSION_H

#include "autotune/data/file.h"
#include "autotune/data/folder.h"
#include "autotune/data/forest.h"
#include "common/values.h"

enum { MOST_RANKS = 4096 };

typedef struct {
    const char *program; /* path of the binary */
    bool forked;         /* it is a shared object, to run in a fork of this process */
    int ranks;           /* by MPI, on so many; 0: without */
    const char *entry;   /* NULL: "main", else the only one */
    const char *device, *platform;
    Settings file;    /* of a tuning file: the user's own parameters among them hold for all runs */
    bool profile;     /* for session_profile */
    double timeout;   /* seconds a call may take */
    double tolerance; /* relative, of floats when results are compared; 0: session_tolerance's */
} SessionOptions;

/* The tolerance when none is asked for: 1e-2 for f16, 1e-5 for f32, 1e-9 for f64. */
double session_tolerance(rt_prim p, double asked);

typedef struct Session Session;
/* NULL and *wrong on failure. */
Session *session_open(Arena *a, const SessionOptions *o, const Datasets *ds, const char **wrong);
void session_close(Session *s); /* NULL is fine */
/* Goes over to another entry point. NULL, or what is wrong. */
const char *session_use(Session *s, const char *entry);
/* What data set d must give, instead of its output: n values (copied). */
void session_expect(Session *s, int d, const rt_hvalue *values, int n);
/* s, which has not run yet, expects the results that the other session does, which is done. Both
 * are of the same data sets. */
void session_expect_same(Session *s, Session *other);
const char *session_entry(const Session *s);
/* The thresholds that the entry point uses. */
const Forest *session_forest(const Session *s);

/* The user's own tuning parameters (`#[param(NAME)]`) that are set, as "NAME=INT "; "" if
 * none is. */
const char *session_user_params(Session *s);
/* Has the program (any entry point of it) this tuning parameter? */
bool session_knows(Session *s, const char *param);

/* What the program says to a command about its entry point; "": it does not know that. */
const char *session_told(Session *s, const char *command);
/* What tuning holds for, program and device: lines for the comment of a tuning file. */
static inline const char *session_origin(Session *s)
{
    return session_told(s, "tuning_origin");
}
/* What stands for all that an entry point does: where it is another, measurements do not hold; ""
 * where the program tells none. */
const char *session_key_of(Session *s, const char *entry);
static inline const char *session_key(Session *s)
{
    return session_key_of(s, session_entry(s));
}

/* A number that kernels of the entry point depend on: work-items of groups... or what one that a
 * maker may choose must have of what it takes to pay, in percent. */
typedef struct {
    const char *name;    /* "main.group_size" */
    int64_t def;         /* its value where nothing is set, on this device */
    const char *kernels; /* their names, with blanks between; of a choice, their kind */
    bool choice;
} Size;
typedef VEC(Size) Sizes;
const Sizes *session_sizes(const Session *s);

/* Thresholds for all following runs; values beside session_forest's nodes. */
void session_set(Session *s, const int64_t *values);

/* How many choices of makers the entry point has; and what is said to all of them, for all
 * following runs: THRESHOLD_ALWAYS to take their kernels wherever these can run, THRESHOLD_NEVER,
 * THRESHOLD_UNSET to do what pays. */
int session_choices(const Session *s);
void session_choose(Session *s, int64_t value);

/* What runs are made under. */
typedef struct {
    const int64_t *thresholds; /* values beside session_forest's nodes */
    const int64_t *sizes;      /* ... and beside session_sizes; NULL: the defaults */
} Setup;
/* Thresholds and sizes for all following runs. */
void session_set_up(Session *s, Setup u);

typedef struct {
    const char *name;
    int64_t par;
    bool outcome;
} LogLine;
typedef VEC(LogLine) LogLines;

/* What of a run's time the versions under a threshold took, up to the next comparison. */
typedef struct {
    const char *name;
    double seconds, noise; /* noise: relative, where it is a median */
} TimedPart;
typedef VEC(TimedPart) TimedParts;

/* All following runs give up after so many seconds of running (building is not counted), but the
 * program lives on with its data; 0: they do not. */
void session_stop_after(Session *s, double seconds);
/* All following runs tell their parts, which takes longer, or do not. */
void session_tell_parts(Session *s, bool on);

/* From now on the program's runs and those of other sessions with the same file take turns: the
 * session has its turn except where it waits for another one's, and where a run that is checked
 * builds kernels, which goes on beside others' runs. False: the program cannot do that on its
 * device, or there is no such file. */
bool session_take_turns(Session *s, const char *path);
/* Can it? */
bool session_can_take_turns(Session *s, const char *path);

/* The device, its platform and driver: what times hold for. */
const char *session_device(Session *s);

typedef struct {
    bool ok;
    double
        seconds; /* of the computation alone, as the program measured it; `stopped`: until then */
    const char *why;  /* not ok: what happened */
    const char *told; /* ... in the words of the program, several lines; NULL: it said nothing */
    bool wrong;       /* not ok because the result differs from the expected one */
    bool stopped;     /* not ok because it gave up: session_stop_after */
    bool gone;    /* not ok because the program does not start any more: that says nothing of the
                     settings */
    LogLines log; /* comparisons, in order; those of a failed run up to its failure */
    TimedParts parts; /* if they are told, and can be: of a failed run up to its failure */
} RunResult;

/* Reads data set d and hands it to the program: NULL, or what is wrong with the file. */
const char *session_check(Session *s, int d);

/* Runs the entry on data set d. With `check`, the result is compared with the data set's expected
 * output if there is one, else with the first checked result of that data set. */
RunResult session_run(Session *s, int d, double limit, bool check);

/* Seconds that each thread of a device worked; empty where devices do not tell. */
typedef VEC(double) ThreadTimes;

/* A kernel or transfer in a run of the entry: means over some runs. */
typedef struct {
    const char *name, *place; /* in the program, or what it is */
    double launches, seconds;
    double bytes, operations; /* that it must move and compute: docs/commands.md */
    ThreadTimes threads;      /* within these seconds */
} ProfileRow;
typedef VEC(ProfileRow) Profile;

/* Profiles runs on data set d. NULL, or what is wrong. */
const char *session_profile(Session *s, int d, double limit, Profile *p);

/* What is profiled from now on is all that the program tells of (session_told: profile, report,
 * timeline), and of data set d; the data sets are sent again, which a run does, but for what a
 * script makes. NULL, or what is wrong. */
const char *session_profile_begin(Session *s, int d);
/* All following commands are profiled, or only the runs of session_profile_runs. */
void session_profile_all(Session *s, bool on);
/* `runs` runs on data set d, to whose inputs being there and whose kernels being built a run before
 * sees. NULL, or what is wrong. */
const char *session_profile_runs(Session *s, int d, double limit, int runs, RunResult each[]);

#endif
