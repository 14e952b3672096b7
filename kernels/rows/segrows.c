/* segred^1 and segscan^1 along the rows of a ragged nest, balanced by construction: rows and points
 * together are items, in the order in which they lie, each row's end behind its points, and every
 * work-item gets an equal share of them (the merge path of Merrill and Garland, "Merge-based
 * Parallel Sparse Matrix-Vector Multiplication", SC 2016). Where a share begins a binary search
 * over the offsets tells. So empty rows, one row of everything and a million short ones take about
 * as long.
 *
 *     items    point point END point END END point point point .. END
 *     shares  |- work-item 0 -|- work-item 1 -|- work-item 2 -| ..
 *
 * Who works alone walks over its share: it stores what it has found when a row ends, and has a tail
 * when the share does. Groups of several work-items share out tiles of items instead (rowtiles.c),
 * and sum up the points of a tile together (rowruns.c); to them a point weighs more than a row's
 * end. What rows that cross groups lack, a second kernel of one group adds: it scans the tails that
 * groups leave, from one row's end to the next. A scan finds first what the groups leave, which of
 * teams is the sum of the points behind the last row's end; then, each of which knows what lies
 * before it, it does its elements. Where groups may ask each other all this is one launch
 * (rowback.c). */
#include "kernels/rows/rows.h"

enum {
    CARRY_UNROLL = 4, /* loads of so many groups are on their way */
    MOST_VALUE = 32   /* bytes of what is accumulated */
};

/* Room for what the groups leave. */
static void rows_alloc(Rows *r)
{
    Ctx *cx = r->pb->cx;
    const Exp *e = r->e;
    r->tails = NEWN(cx->perm, Mem *, e->seg.nes.n);
    for (int j = 0; j < e->seg.nes.n; j++) {
        int bytes = prim_type_bytes[e->seg.op->params.at[j]->type.elem];
        r->tails[j] = pb_alloc(r->pb, "tail", sx_mul(cx, r->groups, sx_const(cx, bytes)));
    }
    r->ended = pb_alloc(r->pb, "ended", sx_mul(cx, r->groups, sx_const(cx, 4)));
    r->first = pb_alloc(r->pb, "first", sx_mul(cx, r->groups, sx_const(cx, 8)));
}

static const KExp *flag_of(KGen *kg, const KExp *b)
{
    return kx_conv(kg->cx->perm, T_I32, b);
}

/* --- Who works alone -------------------------------------------------------------------------- */

/* The points of one row from `point` up to `stop`. */
static void walk_points(RowsKernel *w, WalkWhat what, const KExp *row, const KExp *point,
                        const KExp *stop)
{
    KGen *kg = w->kg;
    KBuild *b = kg->kb;
    const Rows *r = w->r;
    const KExp *p = kb_for(b, "point", point, stop, kg_int(kg, 1));
    nest_bind_point(kg, r->d, p, row);
    const KExp **x = rows_point(w, what != WALK_TAILS);
    accs_apply(kg, &w->ac, accs_now(kg, &w->ac), x);
    const KExp *ix = sx_var(kg->cx, r->d->idx);
    for (int j = 0; what == WALK_SCAN && j < w->ac.n; j++)
        loc_store(kg, &w->outs[j], &ix, 1, kg_of(kg, w->ac.acc[j]));
    kb_end(b);
}

/* The work-item's share, row by row; the number of the first row. */
static const KExp *walk_alone(RowsKernel *w, WalkWhat what)
{
    KGen *kg = w->kg;
    KBuild *b = kg->kb;
    const KExp *zero = kg_int(kg, 0), *one = kg_int(kg, 1);
    const KExp *items = nest_total(kg, w->r->items), *share = kg_host(kg, w->r->share);
    const KExp *from = kg_min(kg, kg_mul(kg, kg_global_id(kg), share), items);
    from = kb_let(b, "from", from);
    const KExp *to = kb_let(b, "to", kg_min(kg, kg_add(kg, from, share), items));
    const KExp *row0 = rows_before(w, from);
    KVar *at_row = kb_var(b, "at_row", T_I64, row0);
    KVar *at_point = kb_var(b, "at_point", T_I64, kg_sub(kg, from, row0));
    KVar *left = kb_var(b, "left", T_I64, kg_sub(kg, to, from));
    WorkMark m = kg_work_begin(kg);
    kb_while(b, kg_lt(kg, zero, kg_of(kg, left)));
    const KExp *row = kb_let(b, "row", kg_of(kg, at_row));
    const KExp *point = kb_let(b, "first_point", kg_of(kg, at_point));
    const KExp *end = nest_offset(kg, w->r->d, kg_add(kg, row, one));
    const KExp *stop = kg_min(kg, end, kg_add(kg, point, kg_of(kg, left)));
    stop = kb_let(b, "stop", stop);
    walk_points(w, what, row, point, stop);
    kb_set(b, left, kg_sub(kg, kg_of(kg, left), kg_sub(kg, stop, point)));
    kb_set(b, at_point, stop);
    kb_if(b, kg_lt(kg, zero, kg_of(kg, left)));
    rows_end(w, what, row);
    kb_set(b, at_row, kg_add(kg, row, one));
    kb_set(b, left, kg_sub(kg, kg_of(kg, left), one));
    kb_end(b);
    kb_end(b);
    kg_work_end(kg, m);
    return row0;
}

static void reduce_alone(RowsKernel *w)
{
    KGen *kg = w->kg;
    KBuild *b = kg->kb;
    rows_declare(w);
    const KExp *row0 = walk_alone(w, WALK_REDUCE), *group = kg_id(kg, KID_GROUP);
    Accs found = w->ac;
    found.acc = w->found;
    kb_if(b, kg_of(kg, w->has_ended));
    rows_store(w, row0, accs_now(kg, &found));
    kb_store(b, w->first, group, row0);
    kb_else(b);
    kb_store(b, w->first, group, kg_int(kg, -1));
    kb_end(b);
    rows_leave(w, accs_now(kg, &w->ac), flag_of(kg, kg_of(kg, w->has_ended)));
}

static void tails_alone(RowsKernel *w)
{
    KGen *kg = w->kg;
    rows_declare(w);
    walk_alone(w, WALK_TAILS);
    rows_leave(w, accs_now(kg, &w->ac), flag_of(kg, kg_of(kg, w->has_ended)));
}

static void scan_alone(RowsKernel *w)
{
    KGen *kg = w->kg;
    rows_declare(w);
    for (int j = 0; j < w->ac.n; j++)
        kb_set(kg->kb, w->ac.acc[j], kb_load(kg->kb, "before", w->tails[j], kg_id(kg, KID_GROUP)));
    walk_alone(w, WALK_SCAN);
}

/* --- Kernels ---------------------------------------------------------------------------------- */

/* The kernel that walks over all items; NULL if its work-items want memory of their own. */
static Kernel *walking_kernel(const Rows *r, WalkWhat what, const char *kind, KGen **made)
{
    RowsKernel w = rows_kernel(r, kind);
    KGen *kg = *made = w.kg;
    RowTiles t = row_tiles(&w);
    if (what == WALK_REDUCE)
        w.first = kg_param_mem(kg, r->first, T_I64);
    if (what != WALK_TAILS)
        w.outs = seg_outs(kg, r->s, 0, r->outs);
    kg_if_teams(kg);
    if (what == WALK_TAILS)
        row_tiles_leave(&t);
    else
        row_tiles_walk(&t, what);
    kb_else(kg->kb);
    if (what == WALK_REDUCE)
        reduce_alone(&w);
    else if (what == WALK_TAILS)
        tails_alone(&w);
    else
        scan_alone(&w);
    kb_end(kg->kb);
    return rows_need_memory(kg) ? NULL : kg_finish(kg);
}

/* --- What crosses groups ---------------------------------------------------------------------- */

/* The share of one work-item of the groups' tails, from .. to-1. */
typedef struct {
    const KExp *from, *to;
} Share;

static Share carry_share(RowsKernel *w)
{
    KGen *kg = w->kg;
    KBuild *b = kg->kb;
    const KExp *size = kg_id(kg, KID_GROUP_SIZE), *one = kg_int(kg, 1);
    const KExp *n = nest_total(kg, w->r->groups);
    const KExp *share = kg_quot(kg, kg_sub(kg, kg_add(kg, n, size), one), size);
    share = kb_let(b, "share", share);
    Share s;
    s.from = kb_let(b, "from", kg_min(kg, kg_mul(kg, kg->lid, share), n));
    s.to = kb_let(b, "to", kg_min(kg, kg_add(kg, s.from, share), n));
    return s;
}

static const KExp **load_tail(RowsKernel *w, const KExp *g)
{
    const KExp **x = NEWN(w->kg->cx->perm, const KExp *, w->ac.n);
    for (int j = 0; j < w->ac.n; j++)
        x[j] = kb_load(w->kg->kb, "tail", w->tails[j], g);
    return x;
}

/* acc := acc and what group g leaves. */
static void add_group(RowsKernel *w, const KExp *g)
{
    KGen *kg = w->kg;
    KBuild *b = kg->kb;
    const KExp *ended = kb_let(b, "ends", rows_is_set(kg, kb_load(b, "ended", w->ended, g)));
    rows_add_tail(w, &w->ac, load_tail(w, g), ended);
    kb_set(b, w->has_ended, kx_or(kg->cx->perm, kg_of(kg, w->has_ended), ended));
}

/* Of a group: its first row that ended, what is there, and what the group leaves. */
typedef struct {
    KVar *row, *ended;
    Accs there, tail;
} Left;

/* Loads that do not wait for what is stored of groups before. */
static Left load_left(RowsKernel *w, const KExp *g)
{
    KGen *kg = w->kg;
    KBuild *b = kg->kb;
    Left l = {.there = accs_like(kg, &w->ac), .tail = accs_like(kg, &w->ac)};
    const KExp *row = kb_load(b, "row", w->first, g);
    const KExp *at = kg_sx_of(kg, row);
    accs_declare(kg, &l.there, &w->r->e->seg.nes);
    accs_declare(kg, &l.tail, &w->r->e->seg.nes);
    l.row = kb_var(b, "first_row", T_I64, row);
    l.ended = kb_var(b, "ends", T_BOOL, rows_is_set(kg, kb_load(b, "ended", w->ended, g)));
    kb_if(b, kg_le(kg, kg_int(kg, 0), row));
    for (int j = 0; j < w->ac.n; j++)
        kb_set(b, l.there.acc[j], loc_load(kg, "there", &w->outs[j], &at, 1));
    kb_end(b);
    accs_set(kg, &l.tail, load_tail(w, g));
    return l;
}

/* result[first] := what lies before the group, and what is there; acc := acc and what it leaves */
static void complete_first(RowsKernel *w, const Left *l)
{
    KGen *kg = w->kg;
    KBuild *b = kg->kb;
    kb_if(b, kg_le(kg, kg_int(kg, 0), kg_of(kg, l->row)));
    Accs sum = accs_copy(kg, &w->ac, "sum");
    accs_apply(kg, &sum, accs_now(kg, &w->ac), accs_now(kg, &l->there));
    rows_store(w, kg_of(kg, l->row), accs_now(kg, &sum));
    kb_end(b);
    rows_add_tail(w, &w->ac, accs_now(kg, &l->tail), kg_of(kg, l->ended));
}

/* The group's tail becomes what lies before it. */
static void keep_before(RowsKernel *w, const KExp *g)
{
    KBuild *b = w->kg->kb;
    const KExp **x = load_tail(w, g);
    for (int j = 0; j < w->ac.n; j++)
        kb_store(b, w->tails[j], g, kg_of(w->kg, w->ac.acc[j]));
    rows_add_tail(w, &w->ac, x, rows_is_set(w->kg, kb_load(b, "ended", w->ended, g)));
}

static void keep_all(RowsKernel *w, const Share *s)
{
    const KExp *g = kb_for(w->kg->kb, "g", s->from, s->to, kg_int(w->kg, 1));
    kg_loop_unroll(w->kg, CARRY_UNROLL);
    keep_before(w, g);
    kb_end(w->kg->kb);
}

/* Some groups at a time. */
static void complete_all(RowsKernel *w, const Share *s)
{
    KGen *kg = w->kg;
    KBuild *b = kg->kb;
    Left left[CARRY_UNROLL];
    const KExp *g[CARRY_UNROLL], *last = kg_sub(kg, s->to, kg_int(kg, 1));
    const KExp *base = kb_for(b, "g", s->from, s->to, kg_int(kg, CARRY_UNROLL));
    for (int k = 0; k < CARRY_UNROLL; k++) {
        g[k] = kb_let(b, "group", kg_add(kg, base, kg_int(kg, k)));
        left[k] = load_left(w, kg_min(kg, g[k], last));
    }
    for (int k = 0; k < CARRY_UNROLL; k++) {
        kb_if(b, kg_lt(kg, g[k], s->to));
        complete_first(w, &left[k]);
        kb_end(b);
    }
    kb_end(b);
}

static void launch_carry(const Rows *r)
{
    RowsKernel w = rows_kernel(r, r->scan ? "segscan_carry" : "segred_carry");
    KGen *kg = w.kg;
    KBuild *b = kg->kb;
    if (!r->scan) {
        w.first = kg_param_mem(kg, r->first, T_I64);
        w.outs = seg_outs(kg, r->s, 0, r->outs);
    }
    Share s = carry_share(&w);
    rows_declare(&w);
    kg_if_teams(kg);
    const KExp *own = kb_for(b, "g", s.from, s.to, kg_int(kg, 1));
    kg_loop_unroll(kg, CARRY_UNROLL);
    add_group(&w, own);
    kb_end(b);
    rows_scan_tails(&w, kb_var(b, "flag", T_I32, flag_of(kg, kg_of(kg, w.has_ended))));
    KVar *ended = NULL;
    Accs before = rows_before_in_group(&w, &ended);
    accs_set(kg, &w.ac, accs_now(kg, &before));
    kb_end(b);
    if (r->scan)
        keep_all(&w, &s);
    else
        complete_all(&w, &s);
    kg_launch(kg, kg_finish(kg), sx_const(kg->cx, 1));
}

/* --- The constructs --------------------------------------------------------------------------- */

/* A thread a row. */
static void each_row(PlanBuild *pb, const Stm *s, const ArrLoc *outs, bool scan)
{
    const Exp *e = s->exp;
    const NestDim *d = &e->seg.nest.at[0];
    KGen *kg = kg_new(pb, scan ? "segscan_row" : "segred_row", e);
    kg->guard = true;
    const KExp *rows = sx_atom(pb->cx, d->rows);
    kg_let(kg, d->row, nest_open(kg, rows));
    WorkMark m = kg_work_begin(kg);
    seg_fold(kg, e, s, seg_outs(kg, s, 0, outs), scan);
    kg_work_end(kg, m);
    nest_close(kg);
    nest_finish(kg, rows);
}

/* Values that groups can exchange. */
static bool is_exchanged(const Exp *e)
{
    return types_scalar(&e->seg.op->params, 0, e->seg.op->params.n) &&
           rows_value_bytes(e) <= MOST_VALUE;
}

/* Where work-items want memory of their own a thread has a row. */
static void by_shares(PlanBuild *pb, const Stm *s, const ArrLoc *outs, bool scan)
{
    int n_ops = pb->ops->n;
    Rows r = rows_plan(pb, s, outs, scan);
    bool back = scan && rows_back(&r);
    rows_alloc(&r);
    KGen *kg = NULL, *rest = NULL;
    Kernel *k = scan ? walking_kernel(&r, WALK_TAILS, "segscan_tails", &kg)
                     : walking_kernel(&r, WALK_REDUCE, "segred_rows", &kg);
    if (!k) {
        pb->ops->n = n_ops;
        each_row(pb, s, outs, scan);
        return;
    }
    pb_if_more(pb, sx_teams(pb->cx), 0);
    rows_launch_starts(&r);
    pb_end(pb);
    kg_launch(kg, k, r.groups);
    pb_if_more(pb, r.groups, scan ? 0 : 1);
    launch_carry(&r);
    pb_end(pb);
    if (scan) {
        k = walking_kernel(&r, WALK_SCAN, "segscan_rows", &rest);
        kg_launch(rest, k, r.groups);
    }
    if (back)
        pb_end(pb);
}

void make_segred_rows(PlanBuild *pb, const Stm *s, const ArrLoc *outs)
{
    if (is_exchanged(s->exp))
        by_shares(pb, s, outs, false);
    else
        each_row(pb, s, outs, false);
}

void make_segscan_rows(PlanBuild *pb, const Stm *s, const ArrLoc *outs)
{
    if (is_exchanged(s->exp))
        by_shares(pb, s, outs, true);
    else
        each_row(pb, s, outs, true);
}
