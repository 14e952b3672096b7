/* Scans by a work-group (level 0), all segments of the nest at once. A work-item has a run of
 * neighbouring elements of a segment in its registers:
 *
 *   1. it computes them, and sums them up;
 *   2. the work-items of a segment scan their sums;
 *   3. it goes over its elements again, beginning with what lies before them, and does the maps
 *      that follow (groupafter.c).
 *
 * The sequential run of elements is the gain: a step over the work-items costs a barrier and an
 * application of the operator by all of them. So many groups are small (cost/group_time.c).
 * Segments of more elements than registers are for are scanned a strip at a time.
 *
 * Elements whose code is long are dealt out to all work-items first, into local memory. */
#include "kernels/level1/segments.h"

/* Where the values are while the group works on them: the results themselves if these lie in local
 * memory, or if there is no bound for a copy that does. */
static KLoc stage_for(KGen *kg, const KLoc *out, Type t)
{
    bool here = out->mem && (out->mem->space == KS_LOCAL || !kg_bound_count(kg, t));
    return here ? *out : group_alloc(kg, t);
}

/* Of what a scan gives; if elements are made there before they are scanned, also of what nobody
 * reads. */
static KLoc *stage_new(KGen *kg, const Stm *s, int n, const KLoc *outs, bool elements)
{
    KLoc *stage = NEWN(kg->cx->perm, KLoc, n);
    for (int j = 0; j < n; j++)
        if (outs[j].mem || elements)
            stage[j] = stage_for(kg, &outs[j], s->pat.at[j]->type);
    return stage;
}

static void meet_all(KGen *kg)
{
    kg_if_teams(kg);
    kb_meet(kg->kb, 1u << KS_LOCAL | 1u << KS_GLOBAL);
    kb_end(kg->kb);
}

/* The values of the element at hand, its mapped-out results stored; the nest is bound by bind. One
 * that fails is neutral, as is one that is not there (NULL: all are): the group goes on. */
typedef void Bind(KGen *kg, const Nest *nest, const KExp *i);

static Accs element(KGen *kg, const Stm *s, const Accs *ac, const KLoc *outs, Bind *bind,
                    const KExp *i, const KExp *there)
{
    const Exp *e = s->exp;
    Accs x = accs_like(kg, ac);
    accs_declare(kg, &x, &e->seg.nes);
    if (there)
        kb_if(kg->kb, there);
    bind(kg, &e->seg.nest, i);
    WorkMark m = kg_work_begin(kg);
    seg_hint_maps(kg, e, outs, s);
    kg_stms(kg, e->seg.body);
    seg_store_maps(kg, e, outs, s);
    accs_set(kg, &x, accs_atoms(kg, ac, e->seg.body->res.at));
    kg_work_end(kg, m);
    if (there)
        kb_end(kg->kb);
    return x;
}

static void bind_all(KGen *kg, const Nest *nest, const KExp *i)
{
    nest_bind(kg, nest, nest->n, i);
}

static void bind_last(KGen *kg, const Nest *nest, const KExp *i)
{
    nest_bind_dim(kg, &vec_last(nest), i);
}

static void compute_elems(KGen *kg, const Stm *s, const Accs *ac, const KLoc *stage,
                          const KLoc *outs)
{
    const Nest *nest = &s->exp->seg.nest;
    const KExp **ix = NEWN(kg->cx->perm, const KExp *, nest->n);
    nest_indices(kg, nest, nest->n, ix);
    const KExp *j = kg_open_shared(kg, kg_at(kg, nest_size_k(kg, nest, 0, nest->n)), false);
    Accs x = element(kg, s, ac, outs, bind_all, j, NULL);
    for (int k = 0; k < ac->n; k++)
        loc_store(kg, &stage[k], ix, nest->n, kg_of(kg, x.acc[k]));
    kg_close_shared(kg);
    meet_all(kg);
}

/* --- Runs ----------------------------------------------------------------------------------- */

/* The run of a work-item in the strip at hand. */
typedef struct {
    const Chunk *n;
    int most;                /* elements */
    KBuf **own;              /* their values */
    const KExp *each, *step; /* how many elements a run has, and a strip */
    const KExp *strip, *beg; /* where the strip begins, and the run */
} Run;

/* Odd numbers, so that work-items at the same element of theirs are in different banks of the local
 * memory. */
static int most_elements(const Accs *ac)
{
    enum { MOST = 9, WORD = 4, MOST_WORDS = 40 };
    int words = 0, most = MOST;
    for (int j = 0; j < ac->n; j++)
        words += (prim_type_bytes[ac->types[j]] + WORD - 1) / WORD;
    while (most > 1 && most * words > MOST_WORDS)
        most = most / 2 | 1;
    return most;
}

static const KExp *ceil_quot(KGen *kg, const KExp *x, const KExp *y)
{
    return kg_quot(kg, kg_sub(kg, kg_add(kg, x, y), kg_int(kg, 1)), y);
}

/* Opens the loop over the strips. */
static Run open_strips(KGen *kg, const Accs *ac, const Chunk *n)
{
    KBuild *b = kg->kb;
    const KExp *one = kg_int(kg, 1), *two = kg_int(kg, 2);
    Run r = {.n = n, .most = most_elements(ac), .own = NEWN(kg->cx->perm, KBuf *, ac->n)};
    const KExp *share = kb_let(b, "share", kg_max(kg, one, ceil_quot(kg, n->width, n->threads)));
    const KExp *strips = ceil_quot(kg, share, kg_int(kg, r.most));
    const KExp *even = ceil_quot(kg, share, kb_let(b, "strips", strips));
    r.each = kb_let(b, "each", kg_add(kg, kg_mul(kg, two, kg_quot(kg, even, two)), one));
    r.step = kb_let(b, "step", kg_mul(kg, r.each, n->threads));
    r.strip = kb_for(b, "strip", kg_int(kg, 0), n->width, r.step);
    r.beg = kb_let(b, "beg", kg_add(kg, r.strip, kg_mul(kg, n->p, r.each)));
    for (int j = 0; j < ac->n; j++)
        r.own[j] = kb_array(b, "own", ac->types[j], r.most);
    return r;
}

/* An element of the run: its number there, and in the segment. Beyond the segment's end it is the
 * last one again, which keeps loads from waiting for a question each, but not added to what lies
 * before. */
typedef struct {
    const KExp *k, *i, *there;
} Elem;

static const KExp *open_run(KGen *kg, const Run *r)
{
    const KExp *k = kb_for(kg->kb, "k", kg_int(kg, 0), kg_int(kg, r->most), kg_int(kg, 1));
    kg_loop_unroll(kg, r->most);
    kb_if(kg->kb, kg_lt(kg, k, r->each));
    return k;
}

static Elem elem_at(KGen *kg, const Run *r, const KExp *k)
{
    const KExp *at = kb_let(kg->kb, "at", kg_add(kg, r->beg, k));
    const KExp *last = kg_sub(kg, r->n->width, kg_int(kg, 1));
    Elem el = {.k = k, .there = kb_let(kg->kb, "there", kg_lt(kg, at, r->n->width))};
    el.i = kb_let(kg->kb, "i", kg_min(kg, at, last));
    return el;
}

static void close_run(KGen *kg)
{
    kb_end(kg->kb);
    kb_end(kg->kb);
}

/* acc := acc and the element, if it is there. */
static void apply_own(KGen *kg, const Accs *ac, const Run *r, const Elem *el)
{
    const KExp **x = NEWN(kg->cx->perm, const KExp *, ac->n);
    kb_if(kg->kb, el->there);
    for (int j = 0; j < ac->n; j++)
        x[j] = kb_load(kg->kb, "x", r->own[j], el->k);
    accs_apply(kg, ac, accs_now(kg, ac), x);
    kb_end(kg->kb);
}

static const KExp **staged(KGen *kg, const Nest *nest, const Accs *ac, const KLoc *stage,
                           const KExp *i)
{
    const KExp **ix = NEWN(kg->cx->perm, const KExp *, nest->n);
    const KExp **x = NEWN(kg->cx->perm, const KExp *, ac->n);
    nest_indices(kg, nest, nest->n - 1, ix);
    ix[nest->n - 1] = kg_sx_of(kg, i);
    for (int j = 0; j < ac->n; j++)
        x[j] = loc_load(kg, "x", &stage[j], ix, nest->n);
    return x;
}

/* own := the elements, computed here or taken from the stage (NULL: they are computed); acc: their
 * sum. */
static void take_run(KGen *kg, const Stm *s, const Accs *ac, const Run *r, const KLoc *stage,
                     const KLoc *outs)
{
    const Exp *e = s->exp;
    Elem el = elem_at(kg, r, open_run(kg, r));
    const KExp **x;
    if (stage) {
        x = staged(kg, &e->seg.nest, ac, stage, el.i);
    } else {
        bool once = s->pat.n > ac->n; /* mapped-out results */
        Accs here = element(kg, s, ac, outs, bind_last, el.i, once ? el.there : NULL);
        x = accs_now(kg, &here);
    }
    for (int j = 0; j < ac->n; j++)
        kb_store(kg->kb, r->own[j], el.k, x[j]);
    apply_own(kg, ac, r, &el);
    close_run(kg);
}

static const KExp *is_first(KGen *kg, const Run *r)
{
    return kg_eq(kg, r->n->p, kg_int(kg, 0));
}

/* The first run of a segment goes on where the strip before ended. */
static void begin_run(KGen *kg, const Accs *ac, const Run *r, const Accs *carry)
{
    kb_if(kg->kb, is_first(kg, r));
    accs_set(kg, ac, accs_now(kg, carry));
    kb_end(kg->kb);
}

/* --- Over the work-items ---------------------------------------------------------------------- */

/* What a work-item is told of the sums: that of those to the left, and that of the strip. */
typedef struct {
    Accs left, strip;
} Sums;

/* Does no segment go on in the next sub-group? */
static const KExp *fits_lanes(KGen *kg, const Chunk *n)
{
    const KExp *lanes = kg_id(kg, KID_LANES), *size = kg_id(kg, KID_GROUP_SIZE);
    const KExp *zero = kg_int(kg, 0);
    const KExp *whole = kg_eq(kg, kg_rem(kg, size, lanes), zero), *alone = kg_eq(kg, size, lanes);
    const KExp *parts = kg_eq(kg, kg_rem(kg, lanes, n->threads), zero);
    const KExp *within = kx_prim2(kg->cx->perm, OP_LOR, alone, parts);
    return kg_and(kg, kg_and(kg, kg_lt(kg, kg_int(kg, 1), lanes), whole), within);
}

static void scan_in_lanes(KGen *kg, const Accs *ac, const Chunk *n, const Sums *sums)
{
    KBuild *b = kg->kb;
    const KExp *lane = kg_id(kg, KID_LANE), *one = kg_int(kg, 1);
    meet_all(kg); /* as those do who scan in memory */
    const KExp *d = kb_for_times(b, "d", one, n->threads, 2);
    const KExp **left = accs_of_lane(kg, ac, kg_sub(kg, lane, d));
    kb_if(b, kg_and(kg, n->active, kg_le(kg, d, n->p)));
    accs_apply(kg, ac, left, accs_now(kg, ac));
    kb_end(b);
    kb_end(b);
    accs_set(kg, &sums->left, accs_of_lane(kg, ac, kg_sub(kg, lane, one)));
    const KExp *last = kg_sub(kg, kg_add(kg, kg_sub(kg, lane, n->p), n->threads), one);
    accs_set(kg, &sums->strip, accs_of_lane(kg, ac, last));
}

static void scan_in_memory(KGen *kg, const Accs *ac, const Run *r, const Sums *sums)
{
    KBuild *b = kg->kb;
    const KExp *one = kg_int(kg, 1);
    accs_scan(kg, ac, r->n);
    kb_if(b, r->n->active);
    kb_if(b, is_first(kg, r));
    accs_set(kg, &sums->strip,
             accs_load(kg, ac, kg_sub(kg, kg_add(kg, kg->lid, r->n->threads), one)));
    kb_else(b);
    accs_set(kg, &sums->left, accs_load(kg, ac, kg_sub(kg, kg->lid, one)));
    kb_end(b);
    kb_end(b);
}

/* acc := what lies before the run; carry: before the next strip. */
static void scan_sums(KGen *kg, const Accs *ac, const Run *r, const Atoms *nes, const Accs *carry)
{
    KBuild *b = kg->kb;
    Sums sums = {accs_like(kg, ac), accs_like(kg, ac)};
    accs_declare(kg, &sums.left, nes);
    accs_declare(kg, &sums.strip, nes);
    kb_if(b, fits_lanes(kg, r->n));
    scan_in_lanes(kg, ac, r->n, &sums);
    kb_else(b);
    scan_in_memory(kg, ac, r, &sums);
    kb_end(b);
    accs_set(kg, ac, accs_now(kg, &sums.left));
    begin_run(kg, ac, r, carry);
    accs_set(kg, carry, accs_now(kg, &sums.strip));
}

/* The scanned elements of the run, and what the maps behind the scan make of them. */
static void scan_run(KGen *kg, const Stm *s, const Accs *ac, const Run *r, const KLoc *outs,
                     const GroupAfter *after)
{
    const Nest *nest = &s->exp->seg.nest;
    const KExp **ix = NEWN(kg->cx->perm, const KExp *, nest->n);
    Elem el = elem_at(kg, r, open_run(kg, r));
    nest_indices(kg, nest, nest->n - 1, ix);
    ix[nest->n - 1] = kg_sx_of(kg, el.i);
    apply_own(kg, ac, r, &el);
    VarMap *now = group_after_elem(kg, s, after, ac, ix);
    kb_if(kg->kb, el.there);
    for (int j = 0; j < ac->n; j++)
        if (!after->kept || after->kept[j])
            loc_store(kg, &outs[j], ix, nest->n, kg_of(kg, ac->acc[j]));
    group_after_store(kg, s, after, ix, now);
    kb_end(kg->kb);
    close_run(kg);
}

/* stage: where the elements are, NULL: they are computed; scanned: where what is scanned goes. */
static void scan_segments(KGen *kg, const Stm *s, const Accs *ac, const KLoc *stage,
                          const KLoc *scanned, const KLoc *outs, const GroupAfter *after)
{
    KBuild *b = kg->kb;
    const Exp *e = s->exp;
    const Nest *nest = &e->seg.nest;
    Chunk n = group_segments(kg, nest);
    Accs carry = accs_like(kg, ac);
    accs_declare(kg, &carry, &e->seg.nes);
    Run r = open_strips(kg, ac, &n);
    accs_declare(kg, ac, &e->seg.nes);
    kb_if(b, n.active);
    nest_bind(kg, nest, nest->n - 1, n.seg);
    begin_run(kg, ac, &r, &carry);
    take_run(kg, s, ac, &r, stage, outs);
    kb_end(b);
    scan_sums(kg, ac, &r, &e->seg.nes, &carry);
    kb_if(b, n.active);
    nest_bind(kg, nest, nest->n - 1, n.seg);
    scan_run(kg, s, ac, &r, scanned, after);
    kb_end(b);
    meet_all(kg); /* the buffers are used again, the elements read by others */
    kb_end(b);
    kb_end(b);
}

/* Results that lie elsewhere than in the stage; kept (NULL: all): which of them. */
static void copy_out(KGen *kg, const Stm *s, int n, const KLoc *stage, const KLoc *outs,
                     const bool *kept)
{
    const Nest *nest = &s->exp->seg.nest;
    const KExp **ix = NEWN(kg->cx->perm, const KExp *, nest->n);
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
    bool deals = !seg_is_straight(s->exp->seg.body);
    KLoc *stage = stage_new(kg, s, ac->n, outs, deals);
    GroupAfter here = *after;
    here.outs = NEWN(kg->cx->perm, KLoc *, after->n);
    for (int i = 0; i < after->n; i++)
        here.outs[i] = stage_new(kg, &after->maps[i], after->maps[i].pat.n, after->outs[i], false);
    if (deals)
        compute_elems(kg, s, ac, stage, outs);
    scan_segments(kg, s, ac, deals ? stage : NULL, stage, outs, &here);
    copy_out(kg, s, ac->n, stage, outs, after->kept);
    for (int i = 0; i < after->n; i++)
        copy_out(kg, &after->maps[i], after->maps[i].pat.n, here.outs[i], after->outs[i], NULL);
}
