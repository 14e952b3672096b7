/* Reductions of one segment by a work-group (level 0). The work-items share out the elements; of
 * their sums some combine a few each, and then every work-item combines what those have: the result
 * is known to all behind two barriers, and lies in no memory. A tree of pairs has a barrier for
 * each doubling, and one for telling the result. Which sums meet is free only if the operator
 * commutes; else it is a tree. */
#include "kernels/level1/segments.h"

enum { FEW = 8, MOST = 4 * FEW }; /* work-items that combine the sums of up to FEW * FEW, of more */

static bool is_brief(const Exp *e)
{
    return seg_is_short(e->seg.body, false) && seg_is_short(e->seg.op->body, false);
}

static void element(KGen *kg, const Stm *s, const Accs *ac, const KLoc *outs, const KExp *j)
{
    const Exp *e = s->exp;
    nest_bind_dim(kg, &vec_last(&e->seg.nest), j);
    seg_hint_maps(kg, e, outs, s);
    kg_stms(kg, e->seg.body);
    seg_store_maps(kg, e, outs, s);
    accs_apply(kg, ac, accs_now(kg, ac), accs_atoms(kg, ac, e->seg.body->res.at));
}

/* Elements dealt out like those of maps, so that what maps hand over stays where it is. */
static void accumulate(KGen *kg, const Stm *s, const Accs *ac, const KLoc *outs, const KExp *width)
{
    WorkMark m = kg_work_begin(kg);
    const KExp *j = kg_open_shared(kg, width, is_brief(s->exp));
    HeapMark turn = heap_mark(kg);
    element(kg, s, ac, outs, j);
    heap_release(kg, turn);
    kg_close_shared(kg);
    kg_work_end(kg, m);
}

/* acc := acc and those of from[begin], from[begin + step] .. before `end`. */
static void fold(KGen *kg, const Accs *ac, KBuf **from, const KExp *begin, const KExp *end,
                 const KExp *step)
{
    Accs other = *ac;
    other.bufs = from;
    const KExp *i = kb_for(kg->kb, "i", begin, end, step);
    accs_apply(kg, ac, accs_now(kg, ac), accs_load(kg, &other, i));
    kb_end(kg->kb);
}

/* How many work-items combine the sums of all: about as many as each has to combine. */
static const KExp *combiners(KGen *kg, const KExp *threads)
{
    Arena *a = kg->cx->perm;
    const KExp *most = kg_int(kg, MOST), *some = kg_int(kg, 2 * FEW), *few = kg_int(kg, FEW);
    const KExp *n = kx_select(a, kg_le(kg, threads, kg_int(kg, 4 * FEW * FEW)), some, most);
    return kg_min(kg, threads, kx_select(a, kg_le(kg, threads, kg_int(kg, FEW * FEW)), few, n));
}

/* all := the first n elements of `few`, combined by everybody. */
static void gather(KGen *kg, const Accs *few, const Accs *all, const KExp *n)
{
    seg_meet(kg);
    accs_set(kg, all, accs_load(kg, few, kg_int(kg, 0)));
    fold(kg, all, few->bufs, kg_int(kg, 1), n, kg_int(kg, 1));
}

/* What the combiners have lies beside the sums that others still read. */
static void in_two_steps(KGen *kg, const Accs *ac, const Accs *few, const Accs *all,
                         const KExp *threads)
{
    KBuild *b = kg->kb;
    const KExp *n = kb_let(b, "n", combiners(kg, threads));
    accs_put(kg, ac, kg->lid);
    seg_meet(kg);
    kb_if(b, kg_lt(kg, kg->lid, n));
    fold(kg, ac, ac->bufs, kg_add(kg, kg->lid, n), threads, n);
    accs_put(kg, few, kg->lid);
    kb_end(b);
    gather(kg, few, all, n);
}

/* Lane l of a sub-group adds what lane l + d has: the first has the sum in order. */
static void in_lanes(KGen *kg, const Accs *ac, const Accs *few, const Accs *all)
{
    KBuild *b = kg->kb;
    const KExp *lanes = kg_id(kg, KID_LANES), *lane = kg_id(kg, KID_LANE);
    const KExp *d = kb_for_times(b, "d", kg_int(kg, 1), lanes, 2);
    accs_apply(kg, ac, accs_now(kg, ac), accs_of_lane(kg, ac, kg_add(kg, lane, d)));
    kb_end(b);
    kb_if(b, kg_eq(kg, lane, kg_int(kg, 0)));
    accs_put(kg, few, kg_quot(kg, kg->lid, lanes));
    kb_end(b);
    gather(kg, few, all, kg_quot(kg, kg_id(kg, KID_GROUP_SIZE), lanes));
}

static void in_tree(KGen *kg, const Accs *ac, const Accs *all, const Chunk *n)
{
    accs_tree(kg, ac, n);
    seg_meet(kg);
    accs_set(kg, all, accs_load(kg, ac, kg_int(kg, 0)));
}

/* A run of elements for each work-item. */
static void accumulate_runs(KGen *kg, const Stm *s, const Accs *ac, const KLoc *outs,
                            const Chunk *n)
{
    kb_if(kg->kb, n->active);
    seg_accumulate(kg, s->exp, ac, n, outs, s);
    kb_end(kg->kb);
}

static Accs few_of(KGen *kg, const Accs *ac)
{
    Accs few = *ac;
    few.bufs = NEWN(kg->cx->perm, KBuf *, ac->n);
    for (int j = 0; j < ac->n; j++)
        few.bufs[j] = group_buffer(kg, ac->types[j], sx_const(kg->cx, MOST));
    return few;
}

void group_reduce(KGen *kg, const Stm *s, const Accs *ac, const KLoc *outs, KVar **results)
{
    KBuild *b = kg->kb;
    const Exp *e = s->exp;
    const KExp *one = kg_int(kg, 1), *width = kg_atom(kg, nest_width(&e->seg.nest));
    const KExp *some = kg_min(kg, kg_id(kg, KID_GROUP_SIZE), width);
    Chunk n = {.beg = kg_int(kg, 0), .len = width, .p = kg->lid};
    n.threads = kb_let(b, "threads", kg_max(kg, one, some));
    n.active = kb_let(b, "active", kg_lt(kg, kg->lid, n.threads));
    Accs few = few_of(kg, ac), all = *ac;
    all.acc = results;
    accs_declare(kg, ac, &e->seg.nes);
    if (op_is_comm(e))
        accumulate(kg, s, ac, outs, width);
    else
        accumulate_runs(kg, s, ac, outs, &n);
    kb_if(b, accs_have_lanes(kg));
    in_lanes(kg, ac, &few, &all);
    kb_else(b);
    if (op_is_comm(e))
        in_two_steps(kg, ac, &few, &all, n.threads);
    else
        in_tree(kg, ac, &all, &n);
    kb_end(b);
    seg_meet(kg); /* the buffers are used again */
}
