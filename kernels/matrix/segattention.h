/* Attention in one pass over keys (segattention.c). */
#ifndef KERNELS_MATRIX_SEGATTENTION_H
#define KERNELS_MATRIX_SEGATTENTION_H

#include "kernels/makers.h"

/* Opens branches (pb_end) for launches that do the construct, a segmap^1, by matrix units, if it is
 * attention whose operands these can read; what is appended next is done where none of them is
 * worth it. Their number. */
int attention_branches(PlanBuild *pb, const Stm *s, const ArrLoc *outs);

#endif
