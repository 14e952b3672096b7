/* Level-0 constructs: the threads of one work-group share out the elements. Called in group mode,
 * behind and before barriers; what an element needs is thread code. */
#include "kernels/level1/segments.h"
#include "kernels/thread/hist.h"

static void enter(KGen *kg)
{
    kg_sync(kg);
    kg->coop = false;
}

static void leave(KGen *kg)
{
    kg->coop = !kg->solo;
    kg_touch(kg);
    kg_sync(kg);
}

/* The loop of each thread over its elements; the nest's first n dimensions are bound. A thread that
 * is alone goes over all of them, and stops its whole work if one fails. */
static WorkMark open_elements(KGen *kg, const Nest *nest, int n, bool straight)
{
    const KExp *total = kg_at(kg, nest_size_k(kg, nest, 0, n));
    const KExp *j = kg->solo ? kb_for(kg->kb, "j", kg_int(kg, 0), total, kg_int(kg, 1))
                             : kg_open_shared(kg, total, straight);
    nest_bind(kg, nest, n, j);
    if (kg->solo)
        return (WorkMark){.heap = heap_mark(kg)};
    return kg_work_begin(kg);
}

static void close_elements(KGen *kg, WorkMark m)
{
    if (kg->solo) {
        heap_release(kg, m.heap);
        kb_end(kg->kb);
        return;
    }
    kg_work_end(kg, m);
    kg_close_shared(kg);
}

/* Shared memory for the results; a scalar gets a cell. */
static KLoc *alloc_results(KGen *kg, const Stm *s)
{
    KLoc *outs = NEWN(kg->cx->perm, KLoc, s->pat.n);
    for (int j = 0; j < s->pat.n; j++)
        if (!varset_has(kg->unread, s->pat.at[j]))
            outs[j] = kg_alloc(kg, s->pat.at[j], s->pat.at[j]->type);
    return outs;
}

static void bind_results_from(KGen *kg, const Stm *s, int from, const KLoc *outs)
{
    for (int j = from; j < s->pat.n; j++) {
        if (varset_has(kg->unread, s->pat.at[j]))
            continue;
        if (s->pat.at[j]->type.rank > 0) {
            kg_bind_arr(kg, s->pat.at[j], outs[j]);
            continue;
        }
        kg_load(kg, s->pat.at[j], &outs[j], NULL, 0);
        kg_touch(kg);
    }
}

static void bind_results(KGen *kg, const Stm *s, const KLoc *outs)
{
    bind_results_from(kg, s, 0, outs);
}

static void map_elements(KGen *kg, const Stm *s, const KLoc *outs)
{
    const Exp *e = s->exp;
    const Body *b = e->seg.body;
    int depth = e->seg.nest.n;
    KLoc *rows = NEWN(kg->cx->perm, KLoc, s->pat.n);
    const KExp **ix = NEWN(kg->cx->perm, const KExp *, depth);
    nest_indices(kg, &e->seg.nest, depth, ix);
    WorkMark m = open_elements(kg, &e->seg.nest, depth, seg_is_straight(b));
    for (int j = 0; j < s->pat.n; j++)
        rows[j] = loc_row_n(kg, &outs[j], s->pat.at[j]->type.rank, ix, depth);
    KPlace first = kb_place(kg->kb);
    for (int j = 0; j < s->pat.n; j++)
        place_hint(kg, b, b->res.at[j], rows[j]);
    kg_stms(kg, b);
    for (int j = 0; j < s->pat.n; j++)
        kg_store(kg, &rows[j], atom_type(b->res.at[j]), b->res.at[j]);
    /* When the element's work fails, the group goes on with zeros. */
    for (int j = 0; j < s->pat.n && !kg->solo && kg_work_fails(kg); j++)
        if (s->pat.at[j]->type.rank == depth)
            loc_store_at(kg, first, &rows[j], kg_zero(kg, s->pat.at[j]->type.elem));
    close_elements(kg, m);
}

static void segmap0(KGen *kg, const Stm *s)
{
    KLoc *outs = alloc_results(kg, s);
    enter(kg);
    map_elements(kg, s, outs);
    leave(kg);
    bind_results(kg, s, outs);
}

/* --- Reductions and scans ------------------------------------------------------------------ */

static void take_bufs(KGen *kg, Accs *ac, bool scan)
{
    for (int j = 0; j < ac->n; j++) {
        ac->bufs[j] = group_buffer(kg, ac->types[j], kg->group_size);
        ac->beside[j] = scan ? group_buffer(kg, ac->types[j], kg->group_size) : NULL;
    }
}

/* By all threads together; outs: where the results go. */
static void together_red(KGen *kg, const Stm *s, const Accs *ac, const KLoc *outs)
{
    const Exp *e = s->exp;
    const Nest *nest = &e->seg.nest;
    KBuild *b = kg->kb;
    Chunk n = group_segments(kg, nest);
    accs_declare(kg, ac, &e->seg.nes);
    kb_if(b, n.active);
    nest_bind(kg, nest, nest->n - 1, n.seg);
    seg_accumulate(kg, e, ac, &n, outs, s);
    kb_end(b);
    accs_tree(kg, ac, &n);
    kb_if(b, kg_and(kg, n.active, kg_eq(kg, n.p, kg_int(kg, 0))));
    nest_bind(kg, nest, nest->n - 1, n.seg);
    const KExp **ix = NEWN(kg->cx->perm, const KExp *, nest->n);
    nest_indices(kg, nest, nest->n - 1, ix);
    for (int j = 0; j < ac->n; j++)
        loc_store(kg, &outs[j], ix, nest->n - 1, kg_of(kg, ac->acc[j]));
    kb_end(b);
    seg_meet(kg); /* the buffers are used again */
    kb_end(b);
}

/* A segment a thread. */
static void apart(KGen *kg, const Stm *s, bool scan, KLoc *outs)
{
    const Exp *e = s->exp;
    WorkMark m = open_elements(kg, &e->seg.nest, e->seg.nest.n - 1, false);
    seg_fold(kg, e, s, outs, scan);
    close_elements(kg, m);
}

/* Each construct by itself: nothing is the matter between them in a group of one. */
static void apart_with_maps(KGen *kg, const Stm *s, KLoc *outs, const GroupAfter *after)
{
    apart(kg, s, s->exp->kind == E_SEGSCAN, outs);
    for (int i = 0; i < after->n; i++)
        map_elements(kg, &after->maps[i], after->outs[i]);
}

static bool on_scalars(const KGen *kg, const Exp *e)
{
    return !kg->solo && types_scalar(&e->seg.op->params, 0, e->seg.nes.n);
}

static void scalars0(KGen *kg, const Stm *s, KLoc *outs, const GroupAfter *after)
{
    bool scan = s->exp->kind == E_SEGSCAN;
    Accs ac = accs_new(kg, s->exp);
    take_bufs(kg, &ac, scan);
    enter(kg);
    kg_if_single(kg);
    apart_with_maps(kg, s, outs, after);
    kb_else(kg->kb);
    if (scan)
        group_scan(kg, s, &ac, outs, after);
    else
        together_red(kg, s, &ac, outs);
    kb_end(kg->kb);
    leave(kg);
}

/* Of one segment: the results are scalars that all know. A work-item that is alone finds them in
 * the cells to which its code writes. */
static void one_segment0(KGen *kg, const Stm *s)
{
    KBuild *b = kg->kb;
    KLoc *outs = alloc_results(kg, s);
    Accs ac = accs_new(kg, s->exp);
    take_bufs(kg, &ac, false);
    KVar **results = NEWN(kg->cx->perm, KVar *, ac.n);
    for (int j = 0; j < ac.n; j++)
        results[j] = kb_var(b, s->pat.at[j]->base, ac.types[j], kg_zero(kg, ac.types[j]));
    enter(kg);
    kg_if_single(kg);
    apart(kg, s, false, outs);
    for (int j = 0; j < ac.n; j++)
        kb_set(b, results[j], loc_load(kg, "x", &outs[j], NULL, 0));
    kb_else(b);
    group_reduce(kg, s, &ac, outs, results);
    kb_end(b);
    leave(kg);
    for (int j = 0; j < ac.n; j++)
        kg_let(kg, s->pat.at[j], kg_of(kg, results[j]));
    bind_results_from(kg, s, ac.n, outs);
}

/* Operators on arrays, and all operators on a CPU, are applied by one thread a segment. */
static void reduce_or_scan0(KGen *kg, const Stm *s)
{
    if (s->exp->kind == E_SEGRED && s->exp->seg.nest.n == 1 && on_scalars(kg, s->exp)) {
        one_segment0(kg, s);
        return;
    }
    KLoc *outs = alloc_results(kg, s);
    if (on_scalars(kg, s->exp)) {
        scalars0(kg, s, outs, &(GroupAfter){0});
    } else {
        enter(kg);
        apart(kg, s, s->exp->kind == E_SEGSCAN, outs);
        leave(kg);
    }
    bind_results(kg, s, outs);
}

int group_scan_stms(KGen *kg, const Body *b, int i)
{
    const Stm *s = &b->stms.at[i];
    if (!kg->coop || s->exp->kind != E_SEGSCAN || !on_scalars(kg, s->exp))
        return 0;
    KLoc *outs = alloc_results(kg, s);
    bind_results(kg, s, outs);
    GroupAfter after = group_after(kg, b, i);
    after.outs = NEWN(kg->cx->perm, KLoc *, after.n);
    for (int k = 0; k < after.n; k++) {
        after.outs[k] = alloc_results(kg, &after.maps[k]);
        bind_results(kg, &after.maps[k], after.outs[k]);
    }
    scalars0(kg, s, outs, &after);
    return 1 + after.n;
}

static void segscatter0(KGen *kg, const Stm *s)
{
    const Exp *e = s->exp;
    int n = e->seg.dests.n, n_ix = 0, at = 0;
    KLoc *locs = kg_dests(kg, s, &e->seg.dests);
    for (int j = 0; j < n; j++)
        n_ix += e->seg.dests.at[j].rank;
    enter(kg);
    WorkMark m = open_elements(kg, &e->seg.nest, e->seg.nest.n, false);
    kg_stms(kg, e->seg.body);
    const Atom *res = e->seg.body->res.at;
    for (int j = 0; j < n; j++) {
        const Dest *d = &e->seg.dests.at[j];
        kg_scatter_write(kg, d, &locs[j], res + at, res[n_ix + j]);
        at += d->rank;
    }
    close_elements(kg, m);
    leave(kg);
    for (int j = 0; j < n; j++)
        kg_bind_arr(kg, s->pat.at[j], locs[j]);
}

/* Work-items that take turns: all of them pass every barrier. */
static void hist_in_turns(KGen *kg, const Hist *h, const KExp *total, const KLoc *locs)
{
    KBuf *owner = group_buffer(kg, T_I32, kg->group_size);
    KBuf *left = group_buffer(kg, T_I32, sx_const(kg->cx, 1));
    Turns t = turns_begin(kg, h, owner, left);
    turns_update(kg, h, &t, 0, kg_int(kg, 0), total, locs);
}

/* Each element updates its bin, beside the others; the first work-item alone without atomics. */
static void hist_beside(KGen *kg, const Hist *h, const KExp *total, const KLoc *locs)
{
    WorkMark m = hist_open_element(kg, h, 0, hist_open_shared(kg, h, total));
    hist_update(kg, h, hist_bins(kg, h, locs, hist_index(kg, h)), hist_vals(kg, h));
    hist_close_element(kg, m);
    kb_end(kg->kb);
}

/* One after the other: a group of one work-item. */
static void hist_alone(KGen *kg, const Hist *h, const KLoc *locs)
{
    const Exp *e = h->e;
    WorkMark m = open_elements(kg, &e->seg.nest, e->seg.nest.n, false);
    kg_stms(kg, e->seg.body);
    hist_open_bounds(kg, h);
    hist_combine(kg, h, hist_bins(kg, h, locs, hist_index(kg, h)), hist_vals(kg, h));
    kb_end(kg->kb);
    close_elements(kg, m);
}

static void hist_by_group(KGen *kg, const Hist *h, const KLoc *locs)
{
    const Exp *e = h->e;
    kg_if_single(kg);
    hist_alone(kg, h, locs);
    kb_else(kg->kb);
    const KExp *all = nest_size_k(kg, &e->seg.nest, 0, e->seg.nest.n);
    const KExp *total = kb_let(kg->kb, "total", kg_at(kg, all));
    if (!h->parts)
        hist_in_turns(kg, h, total, locs);
    else
        hist_beside(kg, h, total, locs);
    kb_end(kg->kb);
}

/* Elements smaller than a word are no matter for atomics in local memory, where other arrays may
 * share the word. */
static void seghist0(KGen *kg, const Stm *s)
{
    Hist h = hist_of(kg->cx, s->exp);
    for (int j = 0; j < h.n; j++)
        if (prim_type_bytes[h.op->params.at[j]->type.elem] < 4)
            h.parts = NULL;
    KLoc *locs = kg_dests(kg, s, h.dests);
    enter(kg);
    if (kg->solo)
        hist_alone(kg, &h, locs);
    else
        hist_by_group(kg, &h, locs);
    leave(kg);
    for (int j = 0; j < h.n; j++)
        kg_bind_arr(kg, s->pat.at[j], locs[j]);
}

void group_seg(KGen *kg, const Stm *s)
{
    const Exp *e = s->exp;
    if (!kg->coop && !kg->solo)
        ice(e->loc, "%s^%d inside the code of one thread", form_info[e->kind].text, e->seg.level);
    if (e->kind == E_SEGMAP) {
        segmap0(kg, s);
    } else if (e->kind == E_SEGSCATTER) {
        segscatter0(kg, s);
    } else if (e->kind == E_SEGHIST) {
        seghist0(kg, s);
    } else {
        reduce_or_scan0(kg, s);
    }
}
