/* What follows for sizes from what is known: is this below that, from where to where may it be,
 * what bounds it that can be computed elsewhere. True answers are certain; false ones say that no
 * proof was found.
 *
 *   compare.c facts and comparisons, on the prover (prove/) and what the IR says (ir/ranges.h)
 *   bounds.c  bounds in terms of other variables
 *
 * Sizes are compared as mathematical integers. Operations of which it is not certain that their
 * result fits into an i64 are taken for unknown numbers, unless the arithmetic is known to be
 * exact.
 */
#ifndef SIZE_PROVE_H
#define SIZE_PROVE_H

#include "ir/ranges.h"
#include "size/size.h"

typedef struct SxFacts SxFacts;

typedef enum {
    SX_MAY_WRAP, /* nothing is known of the arithmetic */
    SX_EXACT     /* nothing wraps around: index arithmetic of kernels (README.md) */
} SxArithmetic;

/* --- compare.c ------------------------------------------------------------------------------ */

/* ra: what is known of IR variables, now and later (its marks are scopes for facts here, too); NULL
 * for nothing. */
SxFacts *sx_facts_new(Ctx *cx, Ranges *ra, SxArithmetic arithmetic);
Ranges *sx_facts_ranges(SxFacts *f);
int sx_facts_mark(const SxFacts *f);
void sx_facts_reset(SxFacts *f, int mark);
void sx_assume_le(SxFacts *f, const KExp *a, const KExp *b);
void sx_assume_lt(SxFacts *f, const KExp *a, const KExp *b);

bool sx_le(SxFacts *f, const KExp *a, const KExp *b);
bool sx_lt(SxFacts *f, const KExp *a, const KExp *b);
bool sx_nonneg(SxFacts *f, const KExp *a);
/* *lo <= a <= *hi; INT64_MIN and INT64_MAX where nothing is known. */
void sx_interval(SxFacts *f, const KExp *a, int64_t *lo, int64_t *hi);

/* --- bounds.c --------------------------------------------------------------------------------- */

/* Bounds in terms of leaves that are known at another place (on the host, say). */
typedef struct {
    Ctx *cx;
    SxFacts *facts;
    bool (*known)(void *env, const KExp *leaf);
    void *env;
    VarMap *upper; /* of IR variables, as far as found */
    int depth;     /* of lower bounds at work */
} SxBounds;

SxBounds *sx_bounds_new(Ctx *cx, SxFacts *f, bool (*known)(void *env, const KExp *leaf), void *env);
/* A size over known leaves that is certainly not less (not greater) than a, if it is computed
 * exactly (sx_exact_c); NULL if none is found. An upper bound may be negative: that of a counter
 * that takes no turn is -1. */
const KExp *sx_upper(SxBounds *b, const KExp *a);
const KExp *sx_lower(SxBounds *b, const KExp *a);
/* The number of elements of an array of type t, or a bound of it; NULL if none is found. there:
 * what is known where it is computed. */
const KExp *sx_upper_count(SxBounds *b, Ranges *there, Type t);
/* v is at most upper: the caller knows. */
void sx_set_upper(SxBounds *b, const Var *v, const KExp *upper);

#endif
