/* Scans by a work-group (level 0), all segments of the nest at once. A work-item has a run of neighbouring
 * elements of a segment in its registers:
 *
 *   1. it computes them, and sums them up;
 *   2. the work-items of a segment scan their sums;
 *   3. it goes over its elements again, beginning with what lies before them, and does the maps that
 *      follow (groupafter.c).
 *
 * The sequential run of elements is the gain: a step over the work-items costs a barrier and an
 * application of the operator by all of them. So many groups are small (groupcost.c). Segments of more
 * elements than registers are for are scanned a strip at a time.
 *
 * Elements whose code is long are dealt out to all work-items first, into local memory. */
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

/* The values of the element at hand, its mapped-out results stored; the nest is bound by bind. One that fails is
 * neutral, as is one that is not there (NULL: all are): the group goes on. */
typedef void Bind(KGen *kg, const Nest *nest, const KExp *i);

static Accs element(KGen *kg, const Stm *s, const Accs *ac, const KLoc *outs, Bind *bind, const KExp *i, const KExp *there)
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

static void compute_elems(KGen *kg, const Stm *s, const Accs *ac, const KLoc *stage, const KLoc *outs)
{
    const Nest *nest = &s->exp->seg.nest;
    const Sx **ix = NEWN(kg->cx->perm, const Sx *, nest->n);
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
    int most;                             /* elements */
    KBuf **own;                           /* their values */
    const KExp *each, *step, *strip, *beg; /* elements of a run, of a strip; where the strip begins, and the run */
} Run;

/* Odd numbers, so that work-items at the same element of theirs are in different banks of the local
 * memory. */
static int most_elements(const Accs *ac)
{
    enum { MOST = 17, WORD = 4, MOST_WORDS = 40 };
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

/* An element of the run: its number there, and in the segment. Beyond the segment's end it is the last one again,
 * which keeps loads from waiting for a question each, and its value neutral. */
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
    const KExp *at = kb_let(kg->kb, "at", kg_add(kg, r->beg, k)), *last = kg_sub(kg, r->n->width, kg_int(kg, 1));
    Elem el = {.k = k, .there = kb_let(kg->kb, "there", kg_lt(kg, at, r->n->width))};
    el.i = kb_let(kg->kb, "i", kg_min(kg, at, last));
    return el;
}

static void close_run(KGen *kg)
{
    kb_end(kg->kb);
    kb_end(kg->kb);
}

/* Applies the operator to acc and the own element k. */
static void apply_own(KGen *kg, const Accs *ac, const Run *r, const KExp *k)
{
    const KExp **x = NEWN(kg->cx->perm, const KExp *, ac->n);
    for (int j = 0; j < ac->n; j++)
        x[j] = kb_load(kg->kb, "x", r->own[j], k);
    accs_apply(kg, ac, accs_now(kg, ac), x);
}

static const KExp **staged(KGen *kg, const Nest *nest, const Accs *ac, const KLoc *stage, const KExp *i)
{
    const Sx **ix = NEWN(kg->cx->perm, const Sx *, nest->n);
    const KExp **x = NEWN(kg->cx->perm, const KExp *, ac->n);
    nest_indices(kg, nest, nest->n - 1, ix);
    ix[nest->n - 1] = kg_sx_of(kg, i);
    for (int j = 0; j < ac->n; j++)
        x[j] = loc_load(kg, "x", &stage[j], ix, nest->n);
    return x;
}

/* own := the elements, computed here or taken from the stage (NULL: they are computed). */
static void take_run(KGen *kg, const Stm *s, const Accs *ac, const Run *r, const KLoc *stage, const KLoc *outs)
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
    const KExp **ne = accs_atoms(kg, ac, e->seg.nes.at);
    for (int j = 0; j < ac->n; j++)
        kb_store(kg->kb, r->own[j], el.k, kx_select(kg->cx->perm, el.there, x[j], ne[j]));
    close_run(kg);
}

/* acc := acc and the elements. */
static void sum_run(KGen *kg, const Accs *ac, const Run *r)
{
    apply_own(kg, ac, r, open_run(kg, r));
    close_run(kg);
}

/* The first run of a segment goes on where the strip before ended. */
static void if_first_of_segment(KGen *kg, const Run *r)
{
    kb_if(kg->kb, kg_eq(kg, r->n->p, kg_int(kg, 0)));
}

static void begin_run(KGen *kg, const Accs *ac, const Run *r, const Accs *carry)
{
    if_first_of_segment(kg, r);
    accs_set(kg, ac, accs_now(kg, carry));
    kb_end(kg->kb);
}

/* acc := what lies before the run; the buffers hold that of the next work-item. */
static void set_before(KGen *kg, const Accs *ac, const Run *r, const Accs *carry)
{
    if_first_of_segment(kg, r);
    accs_set(kg, ac, accs_now(kg, carry));
    accs_set(kg, carry, accs_load(kg, ac, kg_sub(kg, kg_add(kg, kg->lid, r->n->threads), kg_int(kg, 1))));
    kb_else(kg->kb);
    accs_set(kg, ac, accs_load(kg, ac, kg_sub(kg, kg->lid, kg_int(kg, 1))));
    kb_end(kg->kb);
}

/* The scanned elements of the run, and what the maps behind the scan make of them. */
static void scan_run(KGen *kg, const Stm *s, const Accs *ac, const Run *r, const KLoc *outs,
                     const GroupAfter *after)
{
    const Nest *nest = &s->exp->seg.nest;
    const Sx **ix = NEWN(kg->cx->perm, const Sx *, nest->n);
    Elem el = elem_at(kg, r, open_run(kg, r));
    nest_indices(kg, nest, nest->n - 1, ix);
    ix[nest->n - 1] = kg_sx_of(kg, el.i);
    apply_own(kg, ac, r, el.k);
    VarMap *now = group_after_elem(kg, s, after, ac, ix);
    kb_if(kg->kb, el.there);
    for (int j = 0; j < ac->n; j++)
        if (after->n == 0 || after->kept[j])
            loc_store(kg, &outs[j], ix, nest->n, kg_of(kg, ac->acc[j]));
    group_after_store(kg, s, after, ix, now);
    kb_end(kg->kb);
    close_run(kg);
}

/* stage: where the elements are, NULL: they are computed; scanned: where what is scanned goes. */
static void scan_segments(KGen *kg, const Stm *s, const Accs *ac, const KLoc *stage, const KLoc *scanned,
                          const KLoc *outs, const GroupAfter *after)
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
    sum_run(kg, ac, &r);
    kb_end(b);
    accs_scan(kg, ac, &n);
    kb_if(b, n.active);
    nest_bind(kg, nest, nest->n - 1, n.seg);
    set_before(kg, ac, &r, &carry);
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
    bool deals = !seg_is_straight(s->exp->seg.body);
    here.outs = NEWN(kg->cx->perm, KLoc *, after->n);
    for (int i = 0; i < after->n; i++)
        here.outs[i] = stage_new(kg, &after->maps[i], after->maps[i].pat.n, after->outs[i]);
    if (deals)
        compute_elems(kg, s, ac, stage, outs);
    scan_segments(kg, s, ac, deals ? stage : NULL, stage, outs, &here);
    copy_out(kg, s, ac->n, stage, outs, after->kept);
    for (int i = 0; i < after->n; i++)
        copy_out(kg, &after->maps[i], after->maps[i].pat.n, here.outs[i], after->outs[i], NULL);
}
