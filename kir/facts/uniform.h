/* What is the same for all work-items of a group. */
#ifndef KIR_FACTS_UNIFORM_H
#define KIR_FACTS_UNIFORM_H

#include "kir/kir.h"

typedef struct KUniform KUniform;

/* Looks at the whole kernel, and stays true as long as it is not changed. */
KUniform *kuniform_of(Arena *a, const KFun *f);
/* Has the expression, wherever its variables are in scope, one value for all work-items of a group
 * that are there together? What is loaded from a place that is the same for all counts as
 * the same. */
bool kuniform_exp(const KUniform *u, const KExp *x);
/* Do the work-items of a group come to the statement all together, or not at all? To a barrier of
 * its lead: those of that. */
bool kuniform_flow(const KUniform *u, const KStm *s);

/* hazard.c. What is wrong with the barriers of a kernel, NULL if nothing; *at: where. A barrier
 * stands where all work-items meet. Between a write to local memory and another work-item's access
 * to the same place, one of the two a plain one, there is a barrier on every way. */
const char *kir_hazard(Arena *a, const KFun *f, const KStm **at);

#endif
