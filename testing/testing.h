/* minifut test: runs the directives of programs. test.c is the command: it starts a process for
 * each program, so that nothing a program does can stop the rest; program.c checks one program in
 * such a process, outcome.c counts; run_script.c makes the inputs that are scripts; property.c
 * tries properties; interpret.c and compiled.c are its two routes; driver.c saves the programs
 * their start on CPUs. */
#ifndef TESTING_TESTING_H
#define TESTING_TESTING_H

#include "autotune/data/directives.h"
#include "autotune/run/session.h"
#include "flatten/flatten.h"
#include "ir/ir.h"

typedef struct {
    int jobs;
    bool interpret, compile; /* which routes */
    int modes[N_FLATTEN_MODES];
    int n_modes;
    const char *device;
    double tolerance; /* 0: test_tolerance's */
    double timeout;   /* seconds a program may take altogether */
    Words exclude;    /* tags */
    bool keep, verbose;
    bool choices; /* with makers' choices forced both ways, too */
    int ranks;    /* compiled, by MPI on so many; 0: without */
    bool forks;   /* driver_start succeeded */
} TestOptions;

/* What a program's process tells the one that started it. */
typedef struct {
    char at[256]; /* what it is doing */
    int passed, failed;
    bool skipped;
} JobNews;

/* What a case gave in the interpreter. */
typedef struct {
    bool known;
    rt_hvalue *values;
    int n;
} CaseResult;

typedef struct {
    Arena *a;
    const TestOptions *o;
    const char *file;
    const char *tmp; /* a folder for this program */
    FILE *report;    /* lines about failures */
    size_t said;     /* how much of tmp/messages test_messages has seen */
    JobNews *progress;
    Directives d;
    Ctx *cx;
    Prog *prog;          /* as lowered */
    CaseResult *results; /* [case] */
} Run;

/* Checks the program of run->file: directives, frontend, both routes. Counts and reports; whatever
 * goes to standard error meanwhile is in tmp/messages. */
void test_program(Run *run);

void test_at(Run *run, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void test_pass(Run *run);
/* A failure; the line begins with the program, and with the line of the case if there is one. */
void test_fail(Run *run, const TestCase *c, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The relative difference that is allowed of floats; 0: session_tolerance's. What `.fut` files
 * expect was written for futhark test, which allows more. */
double test_tolerance(const Run *run);

/* What went to standard error, from byte `from` on. */
char *test_said(Run *run, size_t from);
/* Flushes the messages (base/diag.h); the first line of them. */
const char *test_messages(Run *run);

/* The type of values with elements of t's. */
rt_prim test_prim(Type t);
/* Runs the script of a case that has one, for its input. False after a message. */
bool test_script(Run *run, TestCase *c);
/* Why a case cannot hold the arguments or results of its entry point: sums have no text. NULL: it
 * can. */
const char *test_unwritable(Run *run, const TestCase *c);
/* Has the case's entry point a parameter that is or holds a sum? Then a server has to make it. */
bool test_takes_sum(const Run *run, const TestCase *c);
/* Looks for arguments for which the program's properties do not hold, in the interpreter; of each
 * that it finds none for, some that it has tried become cases. */
void test_properties(Run *run);
/* Runs the cases in the interpreter, keeps their results. */
void test_interpret(Run *run);
/* Builds the program in a mode and runs the cases with default thresholds and with each comparison
 * forced both ways. */
void test_versions(Run *run, FlattenMode mode);

/* Starts the OpenCL driver in this process, for its forks. False where these could not use it: each
 * program then starts it anew. */
bool driver_start(void);

#endif
