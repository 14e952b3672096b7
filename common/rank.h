/* Which of several devices is taken when nobody chooses: one rule for generated programs and for
 * `minifut devices`. */
#ifndef COMMON_RANK_H
#define COMMON_RANK_H

#include <stdbool.h>

typedef struct {
    bool gpu, cpu;       /* neither: an accelerator */
    unsigned units, mhz; /* compute units, clock (0: not known) */
    bool native;         /* a CPU without OpenCL */
} rt_rank;

static inline int rt_rank_class(rt_rank r)
{
    return r.gpu ? 3 : !r.cpu ? 2 : r.native ? 1 : 0;
}

/* Is a better than b? GPUs come before accelerators, these before the processor without OpenCL, and
 * that before CPUs by OpenCL; among equals the one with more units times clock. Of two that are
 * equal in that too, the first in OpenCL's order is taken. */
static inline bool rt_rank_better(rt_rank a, rt_rank b)
{
    int ka = rt_rank_class(a), kb = rt_rank_class(b);
    double sa = (double)a.units * (a.mhz ? a.mhz : 1), sb = (double)b.units * (b.mhz ? b.mhz : 1);
    return ka != kb ? ka > kb : sa > sb;
}

static inline const char *rt_rank_kind(rt_rank r)
{
    return r.gpu ? "GPU" : r.cpu ? "CPU" : "accelerator";
}

#endif
