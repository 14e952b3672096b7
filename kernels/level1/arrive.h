/* Partial results that the groups of a launch find, and that the last of them combines: a launch is
 * spared. Nobody waits for anybody, so any device can do it.
 *
 * A group (where work-items work by themselves: each of them) puts its part into a block, arrives
 * at the counter of what it is a part of, and hears how many did before. Who finds all others there
 * reads their parts, combines them, in order, and sets the counter back to 0 for the next launch.
 * Arriving orders memory; parts are words that are written and read whole (PEEK, POST). */
#ifndef KERNELS_LEVEL1_ARRIVE_H
#define KERNELS_LEVEL1_ARRIVE_H

#include "kernels/level1/segments.h"

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

/* Blocks for so many counters and parts, of n values that op combines. */
ArriveMems arrive_mems(PlanBuild *pb, const Lambda *op, int n, const KExp *counters,
                       const KExp *parts);
Arrive arrive_open(KGen *kg, const ArriveMems *m, int n, const PrimType *types);
void arrive_put(const Arrive *a, const KExp *at, const KExp *const *x);
const KExp **arrive_get(const Arrive *a, const KExp *at);

/* Makes code for a whole group (team), or one work-item: is it the last one? */
typedef void ArriveThen(void *env, const KExp *last, bool team);
/* Arrives at the counter where `all` do, and goes on with `then`, which is made for each kind of
 * target. All work-items of a group come here, `one` holds for the one that arrives, which did put
 * the part, or others did before a barrier of the group. */
void arrive(const Arrive *a, const KExp *one, const KExp *counter, const KExp *all,
            ArriveThen *then, void *env);

/* Where the partial results of a segment lie: the first one, the next ones `step` apart. */
typedef struct {
    const Arrive *arrive;
    const KExp *first, *step;
} Parts;
/* By the threads of the chunk n that was the last of its segment, n->seg: combines the partial
 * results of all of them, in their order, and stores the segment's (segred.c). */
void seg_combine(KGen *kg, const Stm *s, const ArrLoc *outs, const Accs *ac, const Chunk *n,
                 const Parts *parts, const KExp *last);
/* The same by a work-item that works by itself, which was the last. */
void seg_combine_alone(KGen *kg, const Stm *s, const ArrLoc *outs, const Accs *ac, const Chunk *n,
                       const Parts *parts);

#endif
