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
/* ... along the rows of a ragged nest, balanced whatever their lengths are. */
KernelMaker make_segmap_rows;
KernelMaker make_segred_rows;
KernelMaker make_segscan_rows;
KernelMaker make_segscatter;
KernelMaker make_seghist;
/* Who reads a result of a scan besides the scatter below: nobody, whoever wants its last element,
 * others. */
typedef enum { WANT_NONE, WANT_LAST, WANT_ALL } ScanWant;
/* A scatter over one dimension, that of the scan, with results of the scan among its arrays. It
 * writes nothing that the scan reads. */
typedef struct {
    const Stm *scatter;
    const ArrLoc *dests, *outs; /* where the results lie of the scatter, of the scan */
    const ScanWant *wants;      /* of each result of the scan */
} ScanReader;
/* A scan of scalars over one dimension, and the scatter: in one launch, where devices can. */
void make_scan_scatter(PlanBuild *pb, const Stm *scan, const ScanReader *reader);
/* Any sequential array expression (a SOAC, a loop, a float iota) as a kernel of one work-item. */
KernelMaker make_sequential;

#endif
