/* Variables that only carry values around. */
#ifndef KIR_FACTS_CARRIED_H
#define KIR_FACTS_CARRIED_H

#include "kir/kir.h"

typedef VEC(const KStm *) KStms;
typedef struct KCarried KCarried;

KCarried *kcarried_of(Arena *a, const KBlock *b);
/* The VARs, v's own among them, such that v never has another value than one of those with which
 * they begin; NULL if there are no such. */
const KStms *kcarried_firsts(const KCarried *c, const KVar *v);

#endif
