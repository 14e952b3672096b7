/* As few and as simple conditions as can be for what a launch has to keep within limits.
 *
 * What they are of are expressions over scalar parameters, GROUPS and GROUP_SIZE, as range.h gives
 * them. A condition is meant in real numbers, which the host computes with, where a scalar counts
 * as at least 1, and as infinite if it is negative: a product is then at least each of its factors,
 * and one condition says what many do. It is `0 <= v` for a scalar v, or `x <= most`, x being a sum
 * of products and quotients, with smallest and largest among their factors. */
#ifndef KIR_FACTS_LIMITS_H
#define KIR_FACTS_LIMITS_H

#include "kir/facts/range.h"

typedef VEC(KRange) KLimits;

/* Conditions under which no scalar in the expressions is negative, each hi is at most `most`, and
 * each lo at least -most - 1. A lo or hi may be NULL: then there is no such limit. They may ask for
 * a little more than that. */
KExps klimits_conditions(Arena *a, const KLimits *limits, int64_t most);

#endif
