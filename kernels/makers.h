/* What makes kernels: one for each construct of level 1, and one for sequential code on arrays that
 * is left at the host level. A maker reads its surroundings in the builder that it is given, and
 * leaves in it the operations that the construct is: blocks, kernels, launches, branches between
 * regimes. outs: where the results lie, a cell of memory for a scalar. */
#ifndef KERNELS_MAKERS_H
#define KERNELS_MAKERS_H

#include "plan/plan_build.h"

typedef void KernelMaker(PlanBuild *pb, const Stm *s, const ArrLoc *outs);

KernelMaker make_segmap;
KernelMaker make_segred;
KernelMaker make_segscan;
KernelMaker make_segscatter;
KernelMaker make_seghist;
/* Any sequential array expression (a SOAC, a loop, a float iota) as a kernel of one work-item. */
KernelMaker make_sequential;

#endif
