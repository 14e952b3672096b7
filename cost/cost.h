/* What things cost: how the compiler weighs one way of doing something against another, and how
 * programs do that when they know the sizes and the device. What is done is counted by those who do
 * it (rules, makers, passes); what that counts, and who wins, is said here and nowhere else.
 *
 *   pays.c        what a kernel needs to pay
 *   layouts.c     accesses to memory, by how arrays lie
 *   group_time.c  work-groups of a size */
#ifndef COST_COST_H
#define COST_COST_H

#include "common/cost.h"
#include "size/size.h"

/* --- pays.c ----------------------------------------------------------------------------------- */

/* A maker that knows several kernels for a construct says of each what it takes to pay, as a
 * percentage: 100 and more, it does. So a program can tell by how much, and users and the tuner may
 * move the bar (rt_takes). Several conditions: the least percentage. */

/* What there is of what it takes: 250 for five where two are needed. */
const KExp *cost_percent(Ctx *cx, const KExp *have, const KExp *need);
/* No more than so many: 50 for ten where five are bearable. */
const KExp *cost_percent_most(Ctx *cx, const KExp *most, const KExp *n);
const KExp *cost_both(Ctx *cx, const KExp *percent, const KExp *and);
/* It pays on all inputs: there is nothing to tune. */
const KExp *cost_always(Ctx *cx);

#endif
