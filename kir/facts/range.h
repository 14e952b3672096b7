/* Between which numbers integers of a kernel are, told by expressions over what the host knows of a
 * launch: scalar parameters, the size and the number of groups. Sums of these are meant as exact
 * numbers: the host computes them with mf_size_add and the like.
 *
 * Scalar parameters are taken to be at least 0; whoever relies on a range must see to that. */
#ifndef KIR_FACTS_RANGE_H
#define KIR_FACTS_RANGE_H

#include "base/ptrmap.h"
#include "kir/kir.h"

typedef struct {
    const KExp *lo, *hi; /* both included; NULL: nothing known */
} KRange;

typedef struct KRanges KRanges;

KRanges *kranges_new(Arena *a, const KFun *f);
/* What is known of a variable from here on. */
void kranges_set(KRanges *r, const KVar *v, KRange range);
/* What the variable was bound to, by a LET. */
void kranges_define(KRanges *r, const KVar *v, const KExp *x);
/* What the variable of a FOR is less than. */
void kranges_end(KRanges *r, const KVar *v, const KExp *end);
/* Sums and products that are not exact must not wrap: that is for the caller to see to, too. */
KRange krange_of(KRanges *r, const KExp *x);
/* What is in one of them. */
KRange kranges_either(KRanges *r, KRange x, KRange y);
/* Is there a sum or a product in it that is not exact? */
bool kexp_may_wrap(const KExp *x);
/* The sum of two bounds, with one number in it. */
const KExp *kbound_add(Arena *a, const KExp *x, const KExp *y);
/* For sure at least 0? An expression over what the host knows. */
bool kbound_is_natural(const KExp *x);

/* Takes it that the condition is so, until kranges_forget to where kranges_mark was. */
void kranges_assume(KRanges *r, const KExp *cond, bool so);
/* The same of x >= 1: so are then the factors of a product that are scalars. */
void kranges_assume_some(KRanges *r, const KExp *x);
int kranges_mark(const KRanges *r);
void kranges_forget(KRanges *r, int mark);

#endif
