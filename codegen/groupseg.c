/* Level-0 constructs: the threads of one work-group share out the elements. Called in group mode,
 * behind and before barriers; what an element needs is thread code. */
#include "codegen/hist.h"
#include "codegen/segments.h"

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
static WorkMark open_elements(KGen *kg, const Nest *nest, int n)
{
    const char *j = kg_name(kg, "j"), *total = sx_c(nest_size_k(kg, nest, 0, n));
    if (kg->solo)
        kg_open(kg, "for (i64 %s = 0; %s < %s; %s++)", j, j, total, j);
    else
        kg_open_shared(kg, j, total);
    nest_bind(kg, nest, n, j);
    if (kg->solo)
        return (WorkMark){.heap = heap_mark(kg)};
    return kg_work_begin(kg);
}

/* zero: lvalues that become 0 when the element's work has failed, as the group goes on with them.
 */
static void close_elements(KGen *kg, WorkMark m, const Texts *zero)
{
    if (kg->solo) {
        heap_release(kg, m.heap);
        kg_close(kg);
        return;
    }
    kg_work_end_reset(kg, m, zero);
    kg_close_shared(kg);
}

/* Shared memory for the results; a scalar gets a cell. */
static KLoc *alloc_results(KGen *kg, const Stm *s)
{
    KLoc *outs = NEWN(kg->cx->perm, KLoc, s->pat.n);
    for (int j = 0; j < s->pat.n; j++)
        outs[j] = kg_alloc(kg, s->pat.at[j], s->pat.at[j]->type);
    return outs;
}

static void bind_results(KGen *kg, const Stm *s, const KLoc *outs)
{
    for (int j = 0; j < s->pat.n; j++) {
        if (s->pat.at[j]->type.rank > 0) {
            kg_bind_arr(kg, s->pat.at[j], outs[j]);
            continue;
        }
        kg_decl(kg, s->pat.at[j], loc_elem(kg, &outs[j], NULL, 0));
        group_buffer_free(kg, outs[j].mem);
        kg_touch(kg);
    }
}

static void segmap0(KGen *kg, const Stm *s)
{
    const Exp *e = s->exp;
    const Body *b = e->seg.body;
    int depth = e->seg.nest.n;
    KLoc *outs = alloc_results(kg, s), *rows = NEWN(kg->cx->perm, KLoc, s->pat.n);
    const Sx **ix = NEWN(kg->cx->perm, const Sx *, depth);
    nest_indices(kg, &e->seg.nest, depth, ix);
    enter(kg);
    WorkMark m = open_elements(kg, &e->seg.nest, depth);
    for (int j = 0; j < s->pat.n; j++) {
        rows[j] = loc_row_n(kg, &outs[j], s->pat.at[j]->type.rank, ix, depth);
        place_hint(kg, b, b->res.at[j], rows[j]);
    }
    kg_stms(kg, b);
    Texts zero = {0};
    for (int j = 0; j < s->pat.n; j++) {
        kg_store(kg, &rows[j], atom_type(b->res.at[j]), b->res.at[j]);
        if (s->pat.at[j]->type.rank == depth)
            vec_push(kg->cx->perm, &zero, loc_elem(kg, &rows[j], NULL, 0));
    }
    close_elements(kg, m, &zero);
    leave(kg);
    bind_results(kg, s, outs);
}

/* --- Reductions and scans --------------------------------------------------------------------- */

/* The threads are dealt out evenly to the segments; opens the loop over segments (all threads take
 * every turn). */
static SegNames open_segments(KGen *kg, const Nest *nest)
{
    SegNames n = {.chunks = "1",
                  .c = "0",
                  .beg = "0",
                  .unit = kg_name(kg, "seg"),
                  .p = kg_name(kg, "p"),
                  .active = kg_name(kg, "active"),
                  .threads = kg_name(kg, "threads")};
    const char *segs = kg_name(kg, "segs"), *per = kg_name(kg, "per_turn");
    const char *base = kg_name(kg, "base"), *mine = kg_name(kg, "mine");
    n.seg = n.unit;
    n.width = n.chunk = n.len = sx_c_factor(kg_sx(kg, nest_width(nest)));
    kg_line(kg, "const i64 %s = %s;", segs, sx_c(nest_size_k(kg, nest, 0, nest->n - 1)));
    kg_line(kg,
            "const i64 %s = mf_max_i64(1, mf_min_i64(mf_index_div(get_local_size(0), "
            "mf_max_i64(1, %s)), %s));",
            n.threads, segs, n.width);
    segments_share(kg, &n, per, mine);
    kg_open(kg, "for (i64 %s = 0; %s < %s; %s += %s)", base, base, segs, base, per);
    kg_line(kg, "const i64 %s = %s + %s;", n.unit, base, mine);
    kg_line(kg, "const bool %s = %s < %s && %s < %s;", n.active, mine, per, n.unit, segs);
    return n;
}

static void take_bufs(KGen *kg, Accs *ac)
{
    for (int j = 0; j < ac->n; j++)
        ac->bufs[j] = group_buffer(kg, ac->types[j], kg->group_size);
}

static void free_bufs(KGen *kg, const Accs *ac)
{
    for (int j = 0; j < ac->n; j++)
        group_buffer_free(kg, ac->bufs[j]);
}

/* By all threads together; outs: where the results go. */
static void together_red(KGen *kg, const Stm *s, const Accs *ac, const KLoc *outs)
{
    const Exp *e = s->exp;
    const Nest *nest = &e->seg.nest;
    SegNames n = open_segments(kg, nest);
    accs_declare(kg, ac, &e->seg.nes);
    kg_open(kg, "if (%s)", n.active);
    nest_bind(kg, nest, nest->n - 1, n.seg);
    seg_accumulate(kg, e, ac, &n, outs, s);
    kg_close(kg);
    accs_tree(kg, ac, "lid", n.p, n.threads, n.active);
    kg_open(kg, "if (%s && %s == 0)", n.active, n.p);
    nest_bind(kg, nest, nest->n - 1, n.seg);
    const Sx **ix = NEWN(kg->cx->perm, const Sx *, nest->n);
    nest_indices(kg, nest, nest->n - 1, ix);
    for (int j = 0; j < ac->n; j++)
        kg_line(kg, "%s = %s;", loc_elem(kg, &outs[j], ix, nest->n - 1), ac->acc[j]);
    kg_close(kg);
    seg_barrier(kg); /* the buffers are used again */
    kg_close(kg);
}

static void together_scan(KGen *kg, const Stm *s, const Accs *ac, const KLoc *outs)
{
    SegNames n = open_segments(kg, &s->exp->seg.nest);
    accs_declare(kg, ac, &s->exp->seg.nes);
    seg_scan_chunk(kg, s, ac, &n, outs);
}

/* A segment a thread. */
static void apart(KGen *kg, const Stm *s, bool scan, KLoc *outs)
{
    const Exp *e = s->exp;
    WorkMark m = open_elements(kg, &e->seg.nest, e->seg.nest.n - 1);
    seg_fold(kg, e, s, outs, scan);
    close_elements(kg, m, &(Texts){0});
}

/* Operators on arrays, and all operators on a CPU, are applied by one thread a segment. */
static void reduce_or_scan0(KGen *kg, const Stm *s)
{
    const Exp *e = s->exp;
    bool scan = e->kind == E_SEGSCAN;
    bool scalars = !kg->solo && types_scalar(&e->seg.op->params, 0, e->seg.nes.n);
    KLoc *outs = alloc_results(kg, s);
    Accs ac = {0};
    if (scalars) {
        ac = accs_new(kg, e);
        take_bufs(kg, &ac);
    }
    enter(kg);
    if (scalars) {
        kg_line(kg, "#if MF_IS_CPU");
        apart(kg, s, scan, outs);
        kg_line(kg, "#else");
        kg_block(kg);
        if (scan)
            together_scan(kg, s, &ac, outs);
        else
            together_red(kg, s, &ac, outs);
        kg_close(kg);
        kg_line(kg, "#endif");
        free_bufs(kg, &ac);
    } else {
        apart(kg, s, scan, outs);
    }
    leave(kg);
    bind_results(kg, s, outs);
}

static void segscatter0(KGen *kg, const Stm *s)
{
    const Exp *e = s->exp;
    int n = e->seg.dests.n, n_ix = 0, at = 0;
    KLoc *locs = kg_dests(kg, s, &e->seg.dests);
    for (int j = 0; j < n; j++)
        n_ix += e->seg.dests.at[j].rank;
    enter(kg);
    WorkMark m = open_elements(kg, &e->seg.nest, e->seg.nest.n);
    kg_stms(kg, e->seg.body);
    const Atom *res = e->seg.body->res.at;
    for (int j = 0; j < n; j++) {
        const Dest *d = &e->seg.dests.at[j];
        kg_scatter_write(kg, d, &locs[j], res + at, res[n_ix + j]);
        at += d->rank;
    }
    close_elements(kg, m, &(Texts){0});
    leave(kg);
    for (int j = 0; j < n; j++)
        kg_bind_arr(kg, s->pat.at[j], locs[j]);
}

/* Work-items that take turns: all of them pass every barrier. */
static void hist_in_turns(KGen *kg, const Exp *e, const Hist *h, const KLoc *locs)
{
    const char *owner = group_buffer(kg, T_I32, kg->group_size);
    const char *left = group_buffer(kg, T_I32, sx_const(kg->cx, 1));
    const char *base = kg_name(kg, "base"), *j = kg_name(kg, "j"), *total = kg_name(kg, "total");
    int depth = e->seg.nest.n;
    Turns t = turns_begin(kg, h, owner, left);
    kg_line(kg, "const i64 %s = %s;", total, sx_c(nest_size_k(kg, &e->seg.nest, 0, depth)));
    kg_open(kg, "for (i64 %s = 0; %s < %s; %s += get_local_size(0))", base, base, total, base);
    turns_declare(kg, h, &t);
    kg_line(kg, "const i64 %s = %s + lid;", j, base);
    kg_open(kg, "if (%s < %s)", j, total);
    nest_bind(kg, &e->seg.nest, depth, j);
    WorkMark m = kg_work_begin(kg);
    kg_stms(kg, e->seg.body);
    hist_open_bounds(kg, h, 0);
    turns_set(kg, h, &t);
    kg_close(kg);
    kg_work_end(kg, m);
    kg_close(kg);
    turns_take(kg, h, &t, locs);
    kg_close(kg);
    group_buffer_free(kg, owner);
    group_buffer_free(kg, left);
}

/* Each element updates its bin, beside the others; the first work-item alone without atomics. */
static void hist_beside(KGen *kg, const Exp *e, const Hist *h, const KLoc *locs)
{
    const char *total = kg_name(kg, "total"), *base = kg_name(kg, "base"), *j = kg_name(kg, "j");
    const char *many = hist_shared_c(h);
    int depth = e->seg.nest.n;
    kg_line(kg, "const i64 %s = %s;", total, sx_c(nest_size_k(kg, &e->seg.nest, 0, depth)));
    kg_open(kg, "for (i64 %s = 0; %s < %s; %s += %s ? get_local_size(0) : 1)", base, base, total,
            base, many);
    kg_line(kg, "const i64 %s = %s + (%s ? lid : 0);", j, base, many);
    kg_open(kg, "if (%s < %s && (%s || lid == 0))", j, total, many);
    nest_bind(kg, &e->seg.nest, depth, j);
    WorkMark m = kg_work_begin(kg);
    kg_stms(kg, e->seg.body);
    hist_open_bounds(kg, h, 0);
    hist_update(kg, h, hist_bins(kg, h, locs, hist_index(kg, h)), hist_vals(kg, h));
    kg_close(kg);
    kg_work_end(kg, m);
    kg_close(kg);
    kg_close(kg);
}

/* One after the other: a group of one work-item. */
static void hist_alone(KGen *kg, const Exp *e, const Hist *h, const KLoc *locs)
{
    WorkMark m = open_elements(kg, &e->seg.nest, e->seg.nest.n);
    kg_stms(kg, e->seg.body);
    hist_open_bounds(kg, h, 0);
    hist_combine(kg, h, hist_bins(kg, h, locs, hist_index(kg, h)), hist_vals(kg, h));
    kg_close(kg);
    close_elements(kg, m, &(Texts){0});
}

static void hist_by_group(KGen *kg, const Exp *e, const Hist *h, const KLoc *locs)
{
    kg_line(kg, "#if MF_IS_CPU");
    kg_block(kg);
    hist_alone(kg, e, h, locs);
    kg_close(kg);
    kg_line(kg, "#else");
    kg_block(kg);
    if (h->way == HIST_TURNS)
        hist_in_turns(kg, e, h, locs);
    else
        hist_beside(kg, e, h, locs);
    kg_close(kg);
    kg_line(kg, "#endif");
}

/* Elements smaller than a word are no matter for atomics in local memory, where other arrays may
 * share the word. */
static void seghist0(KGen *kg, const Stm *s)
{
    const Exp *e = s->exp;
    Hist h = hist_of(e);
    if (h.way != HIST_TURNS && prim_type_bytes[h.op->params.at[0]->type.elem] < 4)
        h.way = HIST_TURNS;
    KLoc *locs = kg_dests(kg, s, h.dests);
    enter(kg);
    if (kg->solo)
        hist_alone(kg, e, &h, locs);
    else
        hist_by_group(kg, e, &h, locs);
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
