/* Partial results that the groups of a launch find, and that the last of them combines: a launch is
 * spared. Nobody waits for anybody, so any device can do it.
 *
 * A group (where work-items work by themselves: each of them) puts its part into a block, arrives at
 * the counter of what it is a part of, and hears how many did before. Who finds all others there
 * reads their parts, combines them, in order, and sets the counter back to 0 for the next launch.
 * Arriving orders memory; parts are words that are written and read whole (PEEK, POST). */
#ifndef KERNELS_ARRIVE_H
#define KERNELS_ARRIVE_H

#include "kernels/segments.h"

/* Host: the blocks. */
typedef struct {
    Mem *count, **parts;
} ArriveMems;
/* In the kernel. */
typedef struct {
    KGen *kg;
    int n;
    const PrimType *types;
    KBuf *count, **parts;
    KBuf *told; /* local: is the group the last one? */
} Arrive;

/* New names; the blocks for so many counters and parts, of n values of those types. */
ArriveMems arrive_mems(PlanBuild *pb, int n);
void arrive_alloc(PlanBuild *pb, const ArriveMems *m, const Sx *counters, const Sx *parts, int n,
                  const PrimType *types);
Arrive arrive_open(KGen *kg, const ArriveMems *m, int n, const PrimType *types);
void arrive_put(const Arrive *a, const KExp *at, const KExp *const *x);
const KExp **arrive_get(const Arrive *a, const KExp *at);

/* Makes code for a whole group, or one work-item: is it the last one? */
typedef void ArriveThen(void *env, const KExp *last);
/* Arrives at the counter where `all` do, and goes on with `then`, which is made for each kind of
 * target. All work-items of a group come here, `one` holds for the one that arrives, which did put
 * the part, or others did before a barrier of the group. */
void arrive(const Arrive *a, const KExp *one, const KExp *counter, const KExp *all,
            ArriveThen *then, void *env);

#endif
