/* segscatter^1: one thread computes one element's positions and values and writes them, if they lie
 * in bounds. When two threads write the same place, one of the values stays. */
#include "kernels/level1/segments.h"

void seg_scatter_write(KGen *kg, const Exp *e, const ArrLoc *outs)
{
    const Atom *res = e->seg.body->res.at;
    int at = 0, n_ix = 0;
    for (int j = 0; j < e->seg.dests.n; j++)
        n_ix += e->seg.dests.at[j].rank;
    for (int j = 0; j < e->seg.dests.n; j++) {
        const Dest *d = &e->seg.dests.at[j];
        KLoc dest = kg_result(kg, &outs[j], d->arr.var->type);
        kg_scatter_write(kg, d, &dest, res + at, res[n_ix + j]);
        at += d->rank;
    }
}

void make_segscatter(PlanBuild *pb, const Stm *s, const ArrLoc *outs)
{
    const Exp *e = s->exp;
    const Nest *nest = &e->seg.nest;
    KGen *kg = kg_new(pb, "segscatter", e);
    kg->guard = true;
    const KExp *n = nest_open_dims(kg, nest, nest->n);
    WorkMark m = kg_work_begin(kg);
    kg_stms(kg, e->seg.body);
    seg_scatter_write(kg, e, outs);
    kg_work_end(kg, m);
    nest_close_dims(kg);
    nest_finish(kg, n);
}
