/* segmap^1 without level-0 constructs: one thread an element, the innermost dimension fastest. Also
 * what is left of sequential array code at the host level, as kernels of one work-item. */
#include "codegen/kernel.h"

/* Level-0 constructs inside are executed by the thread. */
static void segmap_threads(Host *h, const Stm *s)
{
    const Exp *e = s->exp;
    Ctx *cx = h->cx;
    const Nest *nest = &e->seg.nest;
    const Body *b = e->seg.body;
    int depth = nest->n;
    KGen *kg = kg_new(h, "segmap", e);
    kg->solo = true;
    kg->at = e->loc;
    if (body_has_seg(e->seg.body))
        kg_irregular(kg, true,
                     "not shared by a work-group: arrays that it would share have no bound");
    const Sx *n = nest_size(cx, nest, 0, depth);
    ArrLoc *outs = NEWN(cx->perm, ArrLoc, s->pat.n);
    for (int j = 0; j < s->pat.n; j++)
        outs[j] = host_result(h, s->pat.at[j]);
    const Sx **ix = NEWN(cx->perm, const Sx *, depth);
    nest_indices(kg, nest, depth, ix);
    nest_bind(kg, nest, depth, nest_open(kg, n));
    WorkMark m = kg_work_begin(kg);
    KLoc *rows = NEWN(cx->perm, KLoc, s->pat.n);
    for (int j = 0; j < s->pat.n; j++) {
        KLoc l = kg_result(kg, &outs[j], s->pat.at[j]->type);
        rows[j] = loc_row_n(kg, &l, s->pat.at[j]->type.rank, ix, depth);
        place_hint(kg, b, b->res.at[j], rows[j]);
    }
    kg_stms(kg, b);
    for (int j = 0; j < s->pat.n; j++)
        kg_store(kg, &rows[j], atom_type(b->res.at[j]), b->res.at[j]);
    kg_work_end(kg, m);
    nest_close(kg);
    nest_finish(kg, n);
    for (int j = 0; j < s->pat.n; j++)
        host_bind(h, s->pat.at[j], outs[j]);
}

void cg_segmap(Host *h, const Stm *s)
{
    if (!body_has_seg(s->exp->seg.body) || !cg_group(h, s))
        segmap_threads(h, s);
}

/* --- Leftovers ----------------------------------------------------------------------------- */

/* A block and location for result j: the memory of what s updates in place, or fresh. */
static ArrLoc sequential_place(Host *h, const Stm *s, int j, bool *in_place)
{
    bool updated = false;
    Var *v = s->pat.at[j], *root = NULL;
    if (v->type.rank > 0)
        root = place_of_exp(s->exp, j, &updated);
    *in_place = root != NULL;
    if (root)
        return *host_loc(h, root);
    for (int k = 0; k < v->type.rank;
         k++) /* loops over arrays stay on the host, see wants_device */
        for (int i = 0; i < s->pat.n; i++)
            if (v->type.dims[k].var && v->type.dims[k].var == s->pat.at[i])
                ice(s->exp->loc, "a kernel that computes the size of its result");
    return host_result(h, v);
}

/* The arrays that s writes in place are its own. */
static void own_root(KGen *kg, const Stm *s, int j)
{
    bool updated = false;
    Var *root = place_of_exp(s->exp, j, &updated);
    KLoc l = *kg_arr(kg, root);
    l.fresh = updated;
    kg_bind_arr(kg, root, l);
    if (updated)
        kg_updates(kg, host_loc(kg->h, root)->mem);
}

static void hint_place(KGen *kg, Var *v, KLoc place)
{
    KLoc *p = NEW(kg->cx->perm, KLoc);
    *p = place;
    varmap_put(kg->hints, v, p);
}

void cg_sequential(Host *h, const Stm *s)
{
    Ctx *cx = h->cx;
    int n = s->pat.n;
    KGen *kg = kg_new(h, "sequential", s->exp);
    kg->group_size = sx_const(cx, 1);
    kg->max_threads = sx_const(cx, 1);
    kg->guard = true;
    ArrLoc *outs = NEWN(cx->perm, ArrLoc, n);
    bool *in_place = NEWN(cx->perm, bool, n);
    KLoc *places = NEWN(cx->perm, KLoc, n);
    for (int j = 0; j < n; j++) {
        outs[j] = sequential_place(h, s, j, &in_place[j]);
        if (in_place[j])
            own_root(kg, s, j);
        places[j] = kg_result(kg, &outs[j], s->pat.at[j]->type);
        if (!in_place[j] && s->pat.at[j]->type.rank > 0)
            hint_place(kg, s->pat.at[j], places[j]);
    }
    WorkMark m = kg_work_begin(kg);
    kb_if(kg->kb, kx_not(cx->perm, kg->stopped));
    kg_stm(kg, s);
    for (int j = 0; j < n; j++)
        kg_store(kg, &places[j], s->pat.at[j]->type, atom_var(s->pat.at[j]));
    kb_end(kg->kb);
    kg_work_end(kg, m);
    Kernel *k = kg_finish(kg);
    kg_launch(kg, k, sx_const(cx, 1));
    for (int j = 0; j < n; j++) {
        if (s->pat.at[j]->type.rank > 0)
            host_bind(h, s->pat.at[j], outs[j]);
        else
            host_read_result(h, s->pat.at[j], outs[j].mem);
    }
}
