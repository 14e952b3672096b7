/* The parts of the host walk among themselves (host.c host_array.c host_guards.c host_late.c
 * host_steps.c host_choices.c host_life.c host_moves.c host_gather.c). */
#ifndef HOST_HOST_WALK_H
#define HOST_HOST_WALK_H

#include "kernels/makers.h"
#include "plan/expr.h"

/* host_array.c */
void host_array_stm(PlanBuild *pb, const Stm *s);
/* Asserts that there may be so many elements of `bytes` each, in memory or as work to do. */
void host_check_count(PlanBuild *pb, const Atom *dims, int n, int bytes);
/* Allocates the block of array v, which lies at the result; a block of its own for a scalar that a
 * kernel gives. */
ArrLoc host_result(PlanBuild *pb, const Var *v);

/* host_scan.c */

/* The scatter further down that can be done where the scan stands, statement `scan` of b, together
 * with the scratch arrays between them that it writes; NULL: there is none, or it is no
 * such scan. */
const Stm *host_scan_reader(Ctx *cx, const Body *b, int scan);
/* Who reads each result of the scan besides the scatter. */
const ScanWant *host_scan_wants(Ctx *cx, const Body *b, int scan, const Stm *scatter);

/* host_guards.c */

/* The kernels of the guarded version, with the sizes that are known at the branch; computations of
 * sizes are moved in front of it. A kernel whose sizes are known only later relies on the refusal
 * of its launch. */
void host_find_fits(PlanBuild *pb, HostOp *branch, HostOps *before);

/* host_late.c: after the walk */
void host_late_reads(Ctx *cx, EntryPlan *ep); /* scalars are read where they are needed */

/* host_steps.c: after the walk */
void host_steps(Ctx *cx, Plan *plan, EntryPlan *ep); /* thresholds of loops that launch */

/* host_choices.c: after the walk */
void host_choices(Ctx *cx, Plan *plan, EntryPlan *ep); /* names of makers' choices */

/* host_life.c: after that */
void host_prune(Ctx *cx, EntryPlan *ep);     /* scalars that nothing uses */
void host_lifetimes(Ctx *cx, EntryPlan *ep); /* inserts H_RELEASE */

/* host_moves.c: after that */
void host_moves(Ctx *cx, EntryPlan *ep); /* copies that change nothing */

/* host_gather.c: after that */
void host_gathers(Ctx *cx, EntryPlan *ep); /* parts are gathered from where they are */

#endif
