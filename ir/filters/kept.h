/* Filters, as the frontend makes them of scans and scatters: statements of a body (kept.c). */
#ifndef IR_FILTERS_KEPT_H
#define IR_FILTERS_KEPT_H

#include "ir/ir.h"

typedef struct {
    const Stm *scan, *scatter;
    int flags;         /* the number of the scan's result that says which elements are kept */
    int from, to;      /* the scan's and the scatter's place in the body */
    VarSet *counts;    /* how many are kept */
    VarSet *elsewhere; /* results of the scan that others use as well */
} Kept;
/* Is statement `at` of b the first one of a filter? defs: Var -> Exp *, of variables that are bound
 * alone. That nothing of it is consumed is left to whoever asks. */
bool kept_find(Ctx *cx, const VarMap *defs, const Body *b, int at, Kept *k);

#endif
