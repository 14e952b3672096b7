/* Flattening: from the SOAC dialect to the SEG dialect, by the rules G0-G9 of incremental
 * flattening (Henriksen et al., PPoPP'19, figures 3 and 4). The essay is atop flatten.c. */
#ifndef FLATTEN_FLATTEN_H
#define FLATTEN_FLATTEN_H

#include "base/out.h"
#include "ir/ir.h"

/* Ctx.flatten_mode. */
typedef enum {
    FLATTEN_INCREMENTAL, /* every mapping of the parallelism to the hardware, guarded by thresholds
                          */
    FLATTEN_MODERATE,    /* G4-G7 and the paper's static heuristic (section 3.1); no thresholds */
    FLATTEN_FULL,        /* all parallelism, always; no thresholds */
    FLATTEN_OUTER,       /* the outermost parallelism only; no thresholds */
    N_FLATTEN_MODES
} FlattenMode;

/* "incremental" ...; -1 if there is no such mode. */
extern const char *const fl_mode_text[N_FLATTEN_MODES];
int fl_mode_of_text(const char *s);

/* The pass. Needs: SOAC dialect. Gives: SEG dialect, every variable bound once. Threshold names are
 * ENTRY.suff_outer_par_K and ENTRY.suff_intra_par_K, K from 0 in program order. Keeps the
 * derivation of this run for fl_explain. */
PassFn fl_flatten;

/* A threshold comparison of a flattened program (E_SUFF), in program order. */
typedef struct {
    const char *name; /* ENTRY.suff_outer_par_K */
    bool intra;
    Path path;           /* enclosing comparisons, outermost first */
    const char *par;     /* the parallelism of the version, as text over sizes: "n * p" */
    const char *work;    /* all that there is */
    const char *untuned; /* when the version is taken untuned on GPUs; "": where there is enough */
    Loc loc;             /* the SOAC whose versions it separates */
} FlThreshold;
typedef VEC(FlThreshold) FlThresholds;
FlThresholds fl_thresholds(Ctx *cx, const Entry *en);

/* Something to add to each parallel construct that explain lists: what its kernel keeps in local
 * memory and so on. Text: complete lines. JSON: members `, "key": value`. */
typedef struct {
    void *env;
    void (*kernel)(void *env, Out *o, const Exp *seg);
    void (*kernel_json)(void *env, Out *o, const Exp *seg);
    /* What an entry chooses at run time beside its versions. */
    void (*run_time)(void *env, Out *o, const char *entry);
    void (*run_time_json)(void *env, Out *o, const char *entry);
    /* What people want to know of its kernels: complete lines. */
    void (*names)(void *env, Out *o, const Exp *seg);
    /* The program as it is before flattening, in which what ranks share out and exchange stands;
     * NULL: it is for one process. */
    const Prog *ranks;
} FlExplainHook;

/* The derivation (rule by rule, with source positions; of the last fl_flatten with this cx), the
 * tree of versions with its thresholds as the paper prints them, and the parallel constructs of
 * each leaf. `flat` may have been simplified since. hook may be NULL. */
void fl_explain(Out *o, Ctx *cx, const Prog *flat, const FlExplainHook *hook);
/* The versions in plain words. */
void fl_explain_plain(Out *o, Ctx *cx, const Prog *flat, const FlExplainHook *hook);
void fl_explain_json(Out *o, Ctx *cx, const Prog *flat, const FlExplainHook *hook);
/* The same as a page, with the text of the program (`name`), to whose lines places are links. */
void fl_explain_html(Out *o, Ctx *cx, const Prog *flat, const FlExplainHook *hook, const char *name,
                     const char *source);

#endif
