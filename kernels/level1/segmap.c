/* segmap^1 without level-0 constructs: one thread an element, the innermost dimension fastest. Also
 * what is left of sequential array code at the host level, as kernels of one work-item. */
#include "kernels/level1/sums.h"
#include "kernels/matrix/segattention.h"

/* Level-0 constructs inside are executed by the thread. */
static void segmap_threads(PlanBuild *pb, const Stm *s, const ArrLoc *outs)
{
    const Exp *e = s->exp;
    Ctx *cx = pb->cx;
    const Nest *nest = &e->seg.nest;
    const Body *b = e->seg.body;
    int depth = nest->n;
    KGen *kg = kg_new(pb, "segmap", e);
    kg->solo = true;
    kg->at = e->loc;
    kg->sized = !seg_is_straight(b);
    if (body_has_seg(e->seg.body))
        kg_irregular(kg, true,
                     "not shared by a work-group: arrays that it would share have no bound");
    const KExp **ix = NEWN(cx->perm, const KExp *, depth);
    nest_indices(kg, nest, depth, ix);
    const KExp *n =
        seg_is_straight(b) ? nest_open_strips(kg, nest, depth) : nest_open_dims(kg, nest, depth);
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
    nest_close_dims(kg);
    nest_finish(kg, n);
}

static void segmap_threads_or_tiles(PlanBuild *pb, const Stm *s, const ArrLoc *outs)
{
    int n = attention_branches(pb, s, outs) + sums_branches(pb, s, outs);
    segmap_threads(pb, s, outs);
    while (n-- > 0)
        pb_end(pb);
}

void make_segmap(PlanBuild *pb, const Stm *s, const ArrLoc *outs)
{
    if (varset_has(pb->groups, s->exp->seg.nest.at[0].idx))
        make_group(pb, s, outs);
    else
        segmap_threads_or_tiles(pb, s, outs);
}

/* --- Leftovers ----------------------------------------------------------------------------- */

/* Loops over arrays stay on the host, see mem_is_device_loop. */
static void check_sizes(const Stm *s)
{
    for (int j = 0; j < s->pat.n; j++)
        for (int k = 0; k < s->pat.at[j]->type.rank; k++)
            for (int i = 0; i < s->pat.n; i++)
                if (s->pat.at[j]->type.dims[k].var == s->pat.at[i])
                    ice(s->exp->loc, "a kernel that computes the size of its result");
}

/* If s writes result j in place, the array that it updates is the kernel's own. */
static bool own_root(KGen *kg, const Stm *s, int j)
{
    bool updated = false;
    Var *root = s->pat.at[j]->type.rank > 0 ? place_of_exp(s->exp, j, &updated) : NULL;
    if (!root)
        return false;
    KLoc l = *kg_arr(kg, root);
    l.fresh = updated;
    kg_bind_arr(kg, root, l);
    if (updated)
        kg_updates(kg, pb_loc(kg->pb, root)->mem);
    return true;
}

static void hint_place(KGen *kg, Var *v, KLoc place)
{
    KLoc *p = NEW(kg->cx->perm, KLoc);
    *p = place;
    varmap_put(kg->hints, v, p);
}

void make_sequential(PlanBuild *pb, const Stm *s, const ArrLoc *outs)
{
    Ctx *cx = pb->cx;
    int n = s->pat.n;
    check_sizes(s);
    KGen *kg = kg_new(pb, "sequential", s->exp);
    kg->group_size = sx_const(cx, 1);
    kg->max_threads = sx_const(cx, 1);
    kg->guard = true;
    KLoc *places = NEWN(cx->perm, KLoc, n);
    for (int j = 0; j < n; j++) {
        bool in_place = own_root(kg, s, j);
        places[j] = kg_result(kg, &outs[j], s->pat.at[j]->type);
        if (!in_place && s->pat.at[j]->type.rank > 0)
            hint_place(kg, s->pat.at[j], places[j]);
    }
    WorkMark m = kg_work_begin(kg);
    kb_if(kg->kb, kx_not(cx->perm, kg->stopped));
    kg_stm(kg, s);
    for (int j = 0; j < n; j++)
        kg_store(kg, &places[j], s->pat.at[j]->type, atom_var(s->pat.at[j]));
    kb_end(kg->kb);
    kg_work_end(kg, m);
    kg_launch(kg, kg_finish(kg), sx_const(cx, 1));
}
