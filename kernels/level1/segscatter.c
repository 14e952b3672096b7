/* segscatter^1: one thread computes one element's positions and values and writes them, if they lie
 * in bounds. When two threads write the same place, one of the values stays. Also the scatter that
 * reads a scan, where the scan is made (segback.c, segscan.c), and what makes both a filter. */
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

/* Stores result j of the scan at `at`, which others read as well. */
static void store_result(KGen *kg, const Stm *scan, const ScanReader *r, int j, const KExp *at,
                         const KExp *value)
{
    KLoc out = kg_result(kg, &r->outs[j], scan->pat.at[j]->type);
    loc_store(kg, &out, &at, 1, value);
}

/* Stores what is wanted of the element at hand; last: see seg_read_scanned. */
static void store_wanted(KGen *kg, const Stm *scan, const ScanReader *r, const KExp *last,
                         const KExp **values)
{
    const KExp *at;
    nest_indices(kg, &scan->exp->seg.nest, 1, &at);
    for (int j = 0; j < scan->pat.n; j++) {
        if (r->wants[j] == WANT_NONE || (r->wants[j] == WANT_LAST && !last))
            continue;
        kb_if(kg->kb, r->wants[j] == WANT_ALL ? kx_bool(kg->cx->perm, true) : last);
        store_result(kg, scan, r, j, at, values[j]);
        kb_end(kg->kb);
    }
}

/* The scan's results of the element at hand. */
static const KExp **results_now(KGen *kg, const Stm *scan, const Accs *sum)
{
    const Atom *res = scan->exp->seg.body->res.at;
    const KExp **values = NEWN(kg->cx->perm, const KExp *, scan->pat.n);
    for (int j = 0; j < scan->pat.n; j++)
        values[j] = j < sum->n ? kg_of(kg, sum->acc[j]) : kg_atom(kg, res[j]);
    return values;
}

/* The scatter's body for the element at hand. */
static void read_results(KGen *kg, const Stm *scan, const ScanReader *r, const KExp **values)
{
    bind_reader(kg, scan, &r->scatter->exp->seg.nest.at[0], values);
    kg_stms(kg, r->scatter->exp->seg.body);
}

void seg_read_scanned(KGen *kg, const Stm *scan, const ScanReader *r, const KExp *last,
                      const Accs *sum)
{
    const KExp **values = results_now(kg, scan, sum);
    store_wanted(kg, scan, r, last, values);
    read_results(kg, scan, r, values);
    write_elements(kg, r->scatter->exp, r->dests);
}

/* --- Filters ------------------------------------------------------------------------------- */

/* The statement of b that binds a; NULL: none does. */
static const Exp *made_in(const Body *b, Atom a)
{
    for (int i = 0; a.var && i < b->stms.n; i++)
        if (b->stms.at[i].pat.n > 0 && b->stms.at[i].pat.at[0] == a.var)
            return b->stms.at[i].exp;
    return NULL;
}

static const Exp *op_in(const Body *b, Atom a, PrimOp op)
{
    const Exp *e = made_in(b, a);
    return e && e->kind == E_PRIM && e->prim.op == op && e->prim.type == T_I64 ? e : NULL;
}

/* The bool that a is 1 or 0 for; its var is NULL where there is none. */
static Atom flag_in(const Body *b, Atom a)
{
    const Exp *e = made_in(b, a);
    return e && e->kind == E_CONV && e->conv.from == T_BOOL ? e->conv.arg : (Atom){0};
}

/* The number of the result that is the flags, where the scan counts and maps them out; 0: none. */
static int counted(const Stm *scan)
{
    const Exp *e = scan->exp;
    const Exp *sum = e->seg.nes.n == 1 ? lambda_op(e->seg.op) : NULL;
    if (!sum || sum->prim.op != OP_ADD || sum->prim.type != T_I64 ||
        !atom_is_int(e->seg.nes.at[0], 0))
        return 0;
    Atom flag = flag_in(e->seg.body, e->seg.body->res.at[0]);
    int j = scan->pat.n - 1;
    while (j > 0 && (!flag.var || e->seg.body->res.at[j].var != flag.var))
        j--;
    return j;
}

/* The number of the scan's result that the scatter's variable is an element of; -1: none. */
static int result_of(const Stm *scan, const NestDim *d, Atom a)
{
    for (int j = 0; a.var && j < d->xs.n; j++)
        if (d->xs.at[j] == a.var)
            return result_number(scan, d->arrs.at[j]);
    return -1;
}

/* Is a, in the scatter's body, flag * count - 1? flags: their number among the scan's results. */
static bool is_place(const Stm *scan, const Exp *scatter, Atom a, int flags)
{
    const Body *b = scatter->seg.body;
    const NestDim *d = &scatter->seg.nest.at[0];
    const Exp *less = op_in(b, a, OP_SUB);
    const Exp *product = less ? op_in(b, less->prim.args.at[0], OP_MUL) : NULL;
    if (!product || !atom_is_int(less->prim.args.at[1], 1))
        return false;
    for (int k = 0; k < 2; k++) {
        Atom flag = flag_in(b, product->prim.args.at[k]);
        if (result_of(scan, d, flag) == flags &&
            result_of(scan, d, product->prim.args.at[1 - k]) == 0)
            return true;
    }
    return false;
}

bool seg_keeps(const Stm *scan, const ScanReader *r)
{
    const Exp *scatter = r->scatter->exp;
    Atom width = nest_width(&scan->exp->seg.nest);
    int flags = counted(scan);
    if (!flags)
        return false;
    for (int j = 0; j < scatter->seg.dests.n; j++) {
        const Dest *d = &scatter->seg.dests.at[j];
        if (d->rank != 1 || !atom_eq(d->arr.var->type.dims[0], width) ||
            !is_place(scan, scatter, scatter->seg.body->res.at[j], flags))
            return false;
    }
    return scatter->seg.dests.n > 0;
}

void seg_keep(KGen *kg, const Stm *scan, const ScanReader *r, const KExp *last, const KExp *before,
              const KExp *end, const Accs *sum)
{
    const Exp *scatter = r->scatter->exp;
    const Dests *dests = &scatter->seg.dests;
    const KExp **values = results_now(kg, scan, sum);
    store_wanted(kg, scan, r, last, values);
    read_results(kg, scan, r, values);
    kb_if_likely(kg->kb, kg_lt(kg, before, end));
    for (int j = 0; j < dests->n; j++) {
        Atom val = scatter->seg.body->res.at[dests->n + j];
        KLoc all = kg_result(kg, &r->dests[j], dests->at[j].arr.var->type);
        KLoc row = loc_row_n(kg, &all, dests->at[j].arr.var->type.rank, &before, 1);
        kg_store(kg, &row, atom_type(val), val);
    }
    kb_end(kg->kb);
}

bool seg_lasts_are_sums(const ScanReader *r, const Stm *scan)
{
    for (int j = scan->exp->seg.nes.n; j < scan->pat.n; j++)
        if (r->wants[j] == WANT_LAST)
            return false;
    return true;
}

void seg_store_last(KGen *kg, const Stm *scan, const ScanReader *r, const KExp *at, const Accs *sum)
{
    for (int j = 0; j < sum->n; j++)
        if (r->wants[j] == WANT_LAST)
            store_result(kg, scan, r, j, at, kg_of(kg, sum->acc[j]));
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
