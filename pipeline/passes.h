/* The pipeline: every pass in order, with verification, dumps and times. */
#ifndef PIPELINE_PASSES_H
#define PIPELINE_PASSES_H

#include "ir/ir.h"

typedef struct {
    const char *name; /* of the stage: dump key, argument of --after, --from, --to */
    PassFn *run;
    unsigned needs, gives; /* dialects */
    const char *why;       /* what it does, and why it stands where it stands */
} Pass;

extern const Pass pipeline[];
extern const int n_passes;

typedef struct {
    VerifyWhen verify; /* ir_verify after every pass, or the last of each dialect */
    bool trace;        /* prints the program after every pass to stderr ("unchanged" if it is) */
    bool lean; /* gives back the memory of passes; of what flattening did nothing is told then */
} PassOptions;

/* Parses, checks and lowers a program: the SOAC dialect. NULL after messages (flushed). */
Prog *front_end(Ctx *cx, const char *file);
/* Likewise, verified and without derivatives: what the interpreter takes. */
Prog *front_resolved(Ctx *cx, const char *file);
/* When programs are verified, by $MINIFUT_VERIFY: each, never; else at the ends. */
VerifyWhen verify_wanted(void);
/* The last stage that a program may go through if it is to go up to number `last`: passes move and
 * merge code, and know nothing of what is printed on the way, so that programs that print are left
 * as they are without derivatives. */
int passes_last(const Prog *p, int last);
/* What is said of a mode of flattening that does not exist. */
const char *unknown_mode(Arena *a, const char *mode);
/* The names of the modes, and of the stages (what the frontend gives, "lower", before them), with
 * spaces between. */
const char *mode_words(Arena *a);
const char *pass_words(Arena *a);
/* Index of the stage with this name, -1 if there is none. */
int pass_find(const char *name);
/* Runs the stages first..last (inclusive; nothing if last < first). */
Prog *passes_run(Ctx *cx, Prog *p, int first, int last, const PassOptions *opts);

#endif
