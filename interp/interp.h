/* The interpreter: runs both dialects of the IR on host values. It is the definition of the
 * language, the oracle that every pass and every kernel is compared with, so it prefers plainness
 * to speed: sequential, left to right, every index checked.
 *
 * Values are as the types say: integers wrap around, f32 operations round to f32 after each
 * operation (common/scalar.h gives their meaning, shared with the kernels). Reductions and scans
 * run left to right from the neutral element, so float results may differ from a parallel run by
 * rounding. Arrays are views of reference-counted buffers; an update happens in place when nobody
 * else can see the buffer and in a copy otherwise, so results never depend on the consumption rules
 * being followed, but a variable that is read after it was consumed is reported as a bug of the
 * compiler.
 *
 * Guards (SUFF) compare a threshold of the caller with the degree of parallelism. */
#ifndef INTERP_INTERP_H
#define INTERP_INTERP_H

#include "common/cost.h"
#include "common/values.h"
#include "ir/ir.h"

#include <stdio.h>

/* How guards are decided; the zero value takes all defaults. */
typedef struct {
    void *env;
    /* The threshold of a guard by its full name; NULL: RT_FULL_DEVICE for all. */
    int64_t (*threshold)(void *env, const char *name);
    /* Told of every comparison made, as the compiled program logs it:
     * Compared NAME <= PAR: outcome. May be NULL. */
    void (*compared)(void *env, const char *name, int64_t par, bool outcome);
    /* Asked for an `intra` guard whose comparison held: do its work-groups fit? NULL: always. */
    bool (*fits)(void *env, const Exp *suff);
} InterpGuards;

typedef enum {
    INTERP_OK,
    INTERP_USER, /* the program or its arguments are wrong: the message says where */
    INTERP_BUG   /* the IR is malformed: a type that its value has not, a read after consumption */
} InterpStatus;

typedef struct {
    InterpStatus status;
    rt_hvalue *values; /* INTERP_OK: one per result of the entry's body */
    int n;
    Loc loc;       /* where it stopped, if that is known */
    char *message; /* otherwise: what happened, and the place on a second line, if it is known */
} InterpResult;

/* A program made ready to run. It may be run any number of times. */
typedef struct Interp Interp;
Interp *interp_new(const Prog *p);
void interp_free(Interp *in); /* NULL is fine */

/* The entry of that name; NULL for name: `main`, or the only one. NULL if there is none. */
const Entry *interp_entry(const Prog *p, const char *name);
/* Says that there is none, and which there are; EXIT_USER. */
int interp_no_entry(const Prog *p, const char *name);

/* Runs an entry on n_args values, one for each of the entry's params, in order (arguments are
 * copied, never changed). Messages of INTERP_USER are texts of ir/stops.h, or about arguments:
 *
 *     Error: Index [1, 2:8] out of bounds for array of shape [3][4].
 *     prog.sf:12:7:
 *
 *     Error: entry point arguments have invalid sizes.
 *     main: argument 2 (ys): size n is 3 here, but 4 before
 *
 *     Error: main: argument 1 (xs): expected [][]f32, got [3]f32 */
InterpResult interp_run(Interp *in, const Entry *en, const rt_hvalue *args, int n_args,
                        const InterpGuards *guards);
void interp_result_free(InterpResult *r);
/* Says why a run stopped that is not INTERP_OK, with the line that it happened in; the exit code:
 * EXIT_USER or EXIT_BUG. */
int interp_complain(const InterpResult *r);

/* How results are written. */
typedef enum {
    INTERP_VALUES, /* Futhark's text format; what is or holds a sum as people write it */
    INTERP_BINARY,
    INTERP_CHARS /* text, but of []u8 the characters */
} InterpFormat;

/* `minifut run`: reads the entry's arguments from `in` as the generated program does (text or
 * binary, in parameter order, nothing after them), runs it, writes the results to `out`, one a line
 * (text) or one after another (binary). Messages go to stderr. Returns the exit code: 0, EXIT_USER,
 * EXIT_USER (no such entry, too), EXIT_BUG. `guards` may be NULL. */
int interp_main(const Prog *p, const char *entry, FILE *in, FILE *out, InterpFormat format,
                const InterpGuards *guards);

/* --- display.c --- */

/* Prints a value of the type, which covers vals[0 .. x->n_vals-1], on one line. */
bool interp_show(FILE *out, const ExtType *x, const rt_hvalue *vals);
/* The same for people who look at it: of a large array the ends of each dimension, with dots
 * between, `[0i64, 1i64, 2i64, ..., 9997i64, 9998i64, 9999i64]`; *all tells whether it was all. */
bool interp_show_ends(FILE *out, const ExtType *x, const rt_hvalue *vals, bool *all);

#endif
