/* The host level: a program becomes a plan. */
#ifndef HOST_HOST_H
#define HOST_HOST_H

#include "plan/plan.h"

/* The plan of a program of the SEG dialect; what its memory needs (memory/memory.h) is done first,
 * unless it is done. */
Plan *host_plan(Ctx *cx, const Prog *p, bool fast_math);

#endif
