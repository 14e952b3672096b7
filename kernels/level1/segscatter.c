/* segscatter^1: one thread computes one element's positions and values and writes them, if they lie
 * in bounds. When two threads write the same place, one of the values stays. Also the scatter that
 * reads a scan, where the scan is made (segback.c, segscan.c). */
#include "kernels/level1/segments.h"

static void write_elements(KGen *kg, const Exp *e, const ArrLoc *outs)
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

/* --- Behind a scan ------------------------------------------------------------------------- */

/* The number of the scan's result that it is; -1: none. */
static int result_number(const Stm *scan, Atom a)
{
    for (int j = 0; j < scan->pat.n; j++)
        if (a.var == scan->pat.at[j])
            return j;
    return -1;
}

/* The element at hand for the scatter, from the scanned values and those mapped out beside them. */
static void bind_reader(KGen *kg, const Stm *scan, const NestDim *d, const KExp **values)
{
    Var *i = vec_last(&scan->exp->seg.nest).idx;
    kg_let(kg, d->idx, kg_atom(kg, atom_var(i)));
    ranges_dim(kg->known, d);
    for (int j = 0; j < d->xs.n; j++) {
        int r = result_number(scan, d->arrs.at[j]);
        if (r >= 0)
            kg_let(kg, d->xs.at[j], values[r]);
        else
            kg_bind_row(kg, d->xs.at[j], d->arrs.at[j], sx_var(kg->cx, d->idx));
    }
}

/* Stores the results that others read as well. */
static void store_wanted(KGen *kg, const Stm *scan, const ScanReader *r, const KExp *last,
                         const KExp **values)
{
    const KExp *ix[1];
    nest_indices(kg, &scan->exp->seg.nest, 1, ix);
    for (int j = 0; j < scan->pat.n; j++) {
        if (r->wants[j] == WANT_NONE)
            continue;
        KLoc out = kg_result(kg, &r->outs[j], scan->pat.at[j]->type);
        kb_if(kg->kb, r->wants[j] == WANT_ALL ? kx_bool(kg->cx->perm, true) : last);
        loc_store(kg, &out, ix, 1, values[j]);
        kb_end(kg->kb);
    }
}

void seg_read_scanned(KGen *kg, const Stm *scan, const ScanReader *r, const KExp *last,
                      const Accs *sum)
{
    const Exp *scatter = r->scatter->exp;
    const Atom *res = scan->exp->seg.body->res.at;
    const KExp **values = NEWN(kg->cx->perm, const KExp *, scan->pat.n);
    for (int j = 0; j < scan->pat.n; j++)
        values[j] = j < sum->n ? kg_of(kg, sum->acc[j]) : kg_atom(kg, res[j]);
    store_wanted(kg, scan, r, last, values);
    bind_reader(kg, scan, &scatter->seg.nest.at[0], values);
    kg_stms(kg, scatter->seg.body);
    write_elements(kg, scatter, r->dests);
}

/* --- By itself ----------------------------------------------------------------------------- */

void make_segscatter(PlanBuild *pb, const Stm *s, const ArrLoc *outs)
{
    const Exp *e = s->exp;
    const Nest *nest = &e->seg.nest;
    KGen *kg = kg_new(pb, "segscatter", e);
    kg->guard = true;
    const KExp *n = nest_open_dims(kg, nest, nest->n);
    WorkMark m = kg_work_begin(kg);
    kg_stms(kg, e->seg.body);
    write_elements(kg, e, outs);
    kg_work_end(kg, m);
    nest_close_dims(kg);
    nest_finish(kg, n);
}
