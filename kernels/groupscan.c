/* Scans by a work-group (level 0), all segments of the nest at once:
 *
 *   1. the elements are computed, dealt out to all work-items, into local memory;
 *   2. each work-item sums up neighbouring elements of a segment;
 *   3. the work-items of a segment scan their sums;
 *   4. each work-item goes over its elements again, beginning with what lies before them, and does
 *      the maps that follow (groupafter.c).
 *
 * The sequential run of elements is the gain: a step over the work-items costs a barrier and an
 * application of the operator by all of them. So many groups are small (groupcost.c). */
#include "kernels/segments.h"

/* Where the scanned values are while the group works on them: the results themselves if these lie in
 * local memory, or if there is no bound for a copy that does. */
static KLoc *stage_new(KGen *kg, const Stm *s, int n, const KLoc *outs)
{
    KLoc *stage = NEWN(kg->cx->perm, KLoc, n);
    for (int j = 0; j < n; j++) {
        Type t = s->pat.at[j]->type;
        bool here = outs[j].mem->space == KS_LOCAL || !kg_bound_count(kg, t);
        stage[j] = here ? outs[j] : group_alloc(kg, t);
    }
    return stage;
}

static void meet_all(KGen *kg)
{
    kg_if_teams(kg);
    kb_meet(kg->kb, 1u << KS_LOCAL | 1u << KS_GLOBAL);
    kb_end(kg->kb);
}

/* Elements that fail are neutral ones: the group goes on. */
static void compute_elems(KGen *kg, const Stm *s, const Accs *ac, const KLoc *stage, const KLoc *outs)
{
    const Exp *e = s->exp;
    const Nest *nest = &e->seg.nest;
    const Sx **ix = NEWN(kg->cx->perm, const Sx *, nest->n);
    nest_indices(kg, nest, nest->n, ix);
    const KExp *j = kg_open_shared(kg, kg_at(kg, nest_size_k(kg, nest, 0, nest->n)),
                                   seg_is_straight(e->seg.body));
    nest_bind(kg, nest, nest->n, j);
    Accs x = accs_like(kg, ac);
    accs_declare(kg, &x, &e->seg.nes);
    WorkMark m = kg_work_begin(kg);
    seg_hint_maps(kg, e, outs, s);
    kg_stms(kg, e->seg.body);
    seg_store_maps(kg, e, outs, s);
    accs_set(kg, &x, accs_atoms(kg, ac, e->seg.body->res.at));
    kg_work_end(kg, m);
    for (int k = 0; k < ac->n; k++)
        loc_store(kg, &stage[k], ix, nest->n, kg_of(kg, x.acc[k]));
    kg_close_shared(kg);
    meet_all(kg);
}

/* The elements of a work-item. */
typedef struct {
    const Nest *nest;
    const KLoc *stage;
    const KExp *beg, *end;
} Own;

/* An odd number of neighbours each, so that work-items at the same one of theirs are in different
 * banks of the local memory. */
static Own own_elements(KGen *kg, const Nest *nest, const KLoc *stage, const Chunk *n)
{
    KBuild *b = kg->kb;
    const KExp *one = kg_int(kg, 1), *two = kg_int(kg, 2);
    const KExp *share = kg_quot(kg, kg_sub(kg, kg_add(kg, n->width, n->threads), one), n->threads);
    const KExp *each = kg_add(kg, kg_mul(kg, two, kg_quot(kg, share, two)), one);
    each = kb_let(b, "each", each);
    Own own = {.nest = nest, .stage = stage, .beg = kb_let(b, "beg", kg_mul(kg, n->p, each))};
    own.end = kb_let(b, "end", kg_min(kg, n->width, kg_add(kg, own.beg, each)));
    return own;
}

/* Opens the loop over the elements; ix become the indices of the one at hand, x its values. */
static void open_own(KGen *kg, const Own *own, const Accs *ac, const Sx **ix, const KExp **x)
{
    ix[own->nest->n - 1] = kg_sx_of(kg, kb_for(kg->kb, "i", own->beg, own->end, kg_int(kg, 1)));
    for (int j = 0; j < ac->n; j++)
        x[j] = loc_load(kg, "x", &own->stage[j], ix, own->nest->n);
}

/* acc := what lies before the work-item's elements, whose sum it held. */
static void set_before(KGen *kg, const Accs *ac, const Chunk *n, const Atoms *nes)
{
    accs_set(kg, ac, accs_atoms(kg, ac, nes->at));
    kb_if(kg->kb, kg_lt(kg, kg_int(kg, 0), n->p));
    accs_set(kg, ac, accs_load(kg, ac, kg_sub(kg, kg->lid, kg_int(kg, 1))));
    kb_end(kg->kb);
}

/* Scans the stage in place. */
static void scan_stage(KGen *kg, const Stm *s, const Accs *ac, const KLoc *stage,
                       const GroupAfter *after)
{
    KBuild *b = kg->kb;
    const Exp *e = s->exp;
    const Nest *nest = &e->seg.nest;
    const Sx **ix = NEWN(kg->cx->perm, const Sx *, nest->n);
    const KExp **x = NEWN(kg->cx->perm, const KExp *, ac->n);
    nest_indices(kg, nest, nest->n - 1, ix);
    Chunk n = group_segments(kg, nest);
    Own own = own_elements(kg, nest, stage, &n);
    accs_declare(kg, ac, &e->seg.nes);
    kb_if(b, n.active);
    nest_bind(kg, nest, nest->n - 1, n.seg);
    open_own(kg, &own, ac, ix, x);
    accs_apply(kg, ac, accs_now(kg, ac), x);
    kb_end(b);
    kb_end(b);
    accs_scan(kg, ac, &n);
    kb_if(b, n.active);
    nest_bind(kg, nest, nest->n - 1, n.seg);
    set_before(kg, ac, &n, &e->seg.nes);
    open_own(kg, &own, ac, ix, x);
    accs_apply(kg, ac, accs_now(kg, ac), x);
    for (int j = 0; j < ac->n; j++)
        if (after->n == 0 || after->kept[j])
            loc_store(kg, &stage[j], ix, nest->n, kg_of(kg, ac->acc[j]));
    group_after_elem(kg, s, after, ac, ix);
    kb_end(b);
    kb_end(b);
    meet_all(kg); /* the buffers are used again, the elements read by others */
    kb_end(b);
}

/* Results that lie elsewhere than in the stage; kept (NULL: all): which of them. */
static void copy_out(KGen *kg, const Stm *s, int n, const KLoc *stage, const KLoc *outs,
                     const bool *kept)
{
    const Nest *nest = &s->exp->seg.nest;
    const Sx **ix = NEWN(kg->cx->perm, const Sx *, nest->n);
    bool any = false;
    for (int j = 0; j < n; j++)
        any = any || (stage[j].mem != outs[j].mem && (!kept || kept[j]));
    if (!any)
        return;
    kg_loops_open_shared(kg, s->pat.at[0]->type, ix);
    for (int j = 0; j < n; j++)
        if (stage[j].mem != outs[j].mem && (!kept || kept[j]))
            loc_store(kg, &outs[j], ix, nest->n, loc_load(kg, "x", &stage[j], ix, nest->n));
    kg_close_shared(kg);
}

void group_scan(KGen *kg, const Stm *s, const Accs *ac, const KLoc *outs, const GroupAfter *after)
{
    KLoc *stage = stage_new(kg, s, ac->n, outs);
    GroupAfter here = *after;
    here.outs = NEWN(kg->cx->perm, KLoc *, after->n);
    for (int i = 0; i < after->n; i++)
        here.outs[i] = stage_new(kg, &after->maps[i], after->maps[i].pat.n, after->outs[i]);
    compute_elems(kg, s, ac, stage, outs);
    scan_stage(kg, s, ac, stage, &here);
    copy_out(kg, s, ac->n, stage, outs, after->kept);
    for (int i = 0; i < after->n; i++)
        copy_out(kg, &after->maps[i], after->maps[i].pat.n, here.outs[i], after->outs[i], NULL);
}
