/* What explain.c and explain_json.c share: the walk over a flattened entry. */
#ifndef FLATTEN_EXPLAIN_H
#define FLATTEN_EXPLAIN_H

#include "flatten/rules.h"

typedef struct {
    Ctx *cx;
    Out *o;
    const FlExplainHook *hook;
    VarMap *defs; /* of the entry's host level: Var -> Exp */
    int n_leaves;
    const char *name; /* of the program, on a page */
} Explain;

Explain ex_new(Ctx *cx, Out *o, const Entry *en, const FlExplainHook *hook);
const Exp *ex_guard(const Explain *x, const Exp *e); /* the SUFF that an if tests; else NULL */
const char *ex_par_text(Explain *x, Atom par);       /* n * p */
const char *ex_pat_text(Explain *x, const Vars *pat);
const char *ex_seg_text(Explain *x, const Exp *seg);   /* segred^1 <x in xs> (+) 0 */
const char *ex_thread_text(Explain *x, const Body *b); /* what one thread does */

#endif
