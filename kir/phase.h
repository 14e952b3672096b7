/* Launches as phases of one kernel: what a launch of another kernel does, appended to the kernel
 * that is being made, and barriers over the grid between phases that depend on each other.
 *
 *     a host loop of launches             one kernel
 *     for i < n                           for i < n
 *       launch p in g groups                for v from group_id to g by groups { p in group v }
 *       launch q in h groups                grid_barrier
 *                                           for v from group_id to h by groups { q in group v }
 *                                           grid_barrier
 *
 * The kernel is launched with no more groups than the device holds at once, in one dimension. It
 * has a KP_FAILURE: once a work-item has failed, all that the phases after the next barrier of the
 * grid would do is left out, by all groups alike. No barrier is left out, so none is waited for in
 * vain. */
#ifndef KIR_PHASE_H
#define KIR_PHASE_H

#include "kir/kir.h"

/* The argument of a phase for a formal of its kernel. */
typedef struct {
    KBuf *buf;          /* KP_MEM, KP_LOCAL: a buffer of the kernel being made, of the same type */
    const KExp *offset; /* KP_MEM: where the argument's first element is in it; NULL: 0 */
    const KExp *value;  /* KP_SCALAR */
} KPhaseArg;

typedef struct {
    const KFun *fun;       /* as made */
    const KPhaseArg *args; /* for each formal of fun; that of a KP_FAILURE says nothing */
    const KExp *groups[3]; /* of its launch, the same for the whole grid; NULL: 1 */
} KPhase;

/* Appends what a launch of p->fun does, for all its work-groups, which the groups of the kernel
 * being made share out. Its work-items find the group size of that kernel: if fun counts on one,
 * they must be the same. NULL, or why it cannot be done; then nothing is appended. */
const char *kir_phase(KBuild *b, const KPhase *p);
/* A barrier over the grid: only where all groups come, equally often. */
void kb_meet_grid(KBuild *b);
/* Had anything failed at the last barrier of the grid, or before the launch? The same for the whole
 * grid, which leaves loops by it: what their conditions are made of may be rubbish then. */
const KExp *kb_stopped(KBuild *b);

#endif
