/* segscan^1 and segred^1 along rows in one launch, on devices where a group may wait for those that
 * have begun before it (fact LOOKS_BACK; board.h). Else it takes two or three (segrows.c).
 *
 * A group of a scan sums up its tail first, what lies behind the last row's end in it, which is
 * short where rows are, and writes it on the board; if a row ended, nobody need look further back
 * than there. Then it looks back, so that it knows what lies before it when it begins with its
 * tiles.
 *
 *     group       0      1      2      3      4
 *     row ends    x      x             .      x     (here: 4 adds 3, 2 and what 1 has behind x)
 *     mark      whole  whole  part   part   whole
 *
 * Most rows are short: at first a group looks at its neighbour alone, then at some for each of its
 * work-items at a time. Reductions need what lies before last: a group tells its tail when it is
 * done, and then looks back if the first row that ends in it began before it. So nobody waits
 * before it has told. */
#include "kernels/level1/board.h"
#include "kernels/rows/rows.h"

enum { WIDE = 4 /* groups that a work-item looks at together */ };

typedef struct {
    RowTiles *t;
    RowsKernel *w;
    KGen *kg;
    Board bd;
    KBuf *nearest; /* work-item of the window whose group tells all; -1: none */
} Back;

static const char *kind_of(const Rows *r)
{
    return r->scan ? "segscan_rows_back" : "segred_rows_back";
}

static const KExp *is_first(KGen *kg)
{
    return kg_eq(kg, kg->lid, kg_int(kg, 0));
}

/* By one work-item. */
static void post_tail(Back *k, const KExp **tail, const KExp *ended)
{
    KGen *kg = k->kg;
    const KExp *all = kx_or(kg->cx->perm, ended, kg_eq(kg, k->bd.number, kg_int(kg, 0)));
    board_post(&k->bd, tail, kx_select(kg->cx->perm, all, k->bd.whole, k->bd.part));
}

/* What a work-item is told by WIDE groups, the last of which lies `behind` others that others look
 * at: acc := what they leave, from the nearest on that tells all; does one? */
static const KExp *look_at_groups(Back *k, const KExp *nearest, const KExp *reach,
                                  const KExp *behind)
{
    KGen *kg = k->kg;
    KBuild *b = kg->kb;
    const KExp *zero = kg_int(kg, 0), *at[WIDE], *number[WIDE], *whole[WIDE], *there[WIDE];
    Accs told[WIDE];
    KVar *found = kb_var(b, "found", T_I32, kg_i32(kg, 0));
    for (int i = 0; i < WIDE; i++) {
        const KExp *back = kb_let(b, "back", kg_add(kg, behind, kg_int(kg, WIDE - 1 - i)));
        at[i] = kb_let(b, "at", kg_sub(kg, nearest, back));
        there[i] = kg_and(kg, kg_lt(kg, back, reach), kg_le(kg, zero, at[i]));
        there[i] = kb_let(b, "there", there[i]);
        /* Of no other one than the nearest, which has begun, if not of that. */
        number[i] = kg_max(kg, zero, kx_select(kg->cx->perm, there[i], at[i], nearest));
        number[i] = kb_let(b, "group", kg_min(kg, number[i], k->bd.number));
        told[i] = accs_copy(kg, &k->w->ac, "told");
    }
    board_wait_for(&k->bd, WIDE, number, told, whole);
    for (int i = 0; i < WIDE; i++) {
        kb_if(b, there[i]);
        const KExp *all = kb_let(b, "all", whole[i]);
        rows_add_tail(k->w, &k->w->ac, accs_now(kg, &told[i]), all);
        kb_set(b, found, kg_op(kg, OP_MAX, kg_of(kg, found), kg_to_i32(kg, all)));
        kb_end(b);
    }
    return rows_is_set(kg, kg_of(kg, found));
}

/* The `reach` groups behind `far` ones, by `window` work-items, the last one of which waits for the
 * nearest; acc: what these leave, from the nearest on that tells all. */
static void look_at_window(Back *k, const KExp *far, const KExp *window, const KExp *reach)
{
    KGen *kg = k->kg;
    KBuild *b = kg->kb;
    const KExp *zero = kg_int(kg, 0), *one = kg_int(kg, 1);
    kb_if(b, kg_lt(kg, kg->lid, window));
    const KExp *behind = kg_mul(kg, kg_sub(kg, kg_sub(kg, window, one), kg->lid), kg_int(kg, WIDE));
    const KExp *nearest = kb_let(b, "nearest", kg_sub(kg, kg_sub(kg, k->bd.number, one), far));
    const KExp *found = look_at_groups(k, nearest, reach, kb_let(b, "behind", behind));
    kb_if(b, found);
    kb_stm(b, (KStm){.kind = KST_ATOMIC,
                     .buf = k->nearest,
                     .op = OP_MAX,
                     .x = {zero, kg_to_i32(kg, kg->lid)}});
    kb_end(b);
    kb_end(b);
    rows_meet(kg);
    const KExp *item = kg_to_i64(kg, kb_load(b, "nearest", k->nearest, zero));
    kb_if(b, kg_lt(kg, kg->lid, item));
    accs_set(kg, &k->w->ac, accs_atoms(kg, &k->w->ac, k->w->r->e->seg.nes.at));
    kb_end(b);
    Chunk n = {.threads = window, .p = kg->lid, .active = kg_lt(kg, kg->lid, window)};
    accs_tree(kg, &k->w->ac, &n);
}

/* Of the first work-item: before := what the groups before this one leave of the row that goes on;
 * acc is changed. */
static void look_back(Back *k, const Accs *before)
{
    KGen *kg = k->kg;
    KBuild *b = kg->kb;
    const KExp *zero = kg_int(kg, 0), *one = kg_int(kg, 1);
    const KExp *size = kg_id(kg, KID_GROUP_SIZE);
    const Atoms *nes = &k->w->r->e->seg.nes;
    KVar *window = kb_var(b, "window", T_I64, one), *reach = kb_var(b, "reach", T_I64, one);
    KVar *far = kb_var(b, "far", T_I64, zero);
    KVar *more = kb_var(b, "more", T_BOOL, kg_lt(kg, zero, k->bd.number));
    kb_while(b, kg_of(kg, more));
    kb_if(b, is_first(kg));
    kb_store(b, k->nearest, zero, kg_i32(kg, -1));
    kb_end(b);
    accs_set(kg, &k->w->ac, accs_atoms(kg, &k->w->ac, nes->at));
    rows_meet(kg);
    const KExp *now = kb_let(b, "now", kg_of(kg, reach)),
               *passed = kb_let(b, "passed", kg_of(kg, far));
    look_at_window(k, passed, kb_let(b, "items", kg_of(kg, window)), now);
    accs_apply(kg, before, accs_now(kg, &k->w->ac), accs_now(kg, before));
    kb_set(b, more, kg_lt(kg, kb_load(b, "nearest", k->nearest, zero), kg_i32(kg, 0)));
    kb_set(b, far, kg_add(kg, passed, now));
    kb_set(b, window, size);
    kb_set(b, reach, kg_mul(kg, size, kg_int(kg, WIDE)));
    rows_meet(kg);
    kb_end(b);
}

static Accs nothing_before(Back *k)
{
    Accs before = accs_like(k->kg, &k->w->ac);
    accs_declare(k->kg, &before, &k->w->r->e->seg.nes);
    return before;
}

/* The group leaves `tail`; who comes behind it need not look further than here. */
static void post_all(Back *k, const Accs *before, const Accs *tail, const KExp *ended)
{
    KGen *kg = k->kg;
    KBuild *b = kg->kb;
    kb_if(b, kg_and(kg, kx_not(kg->cx->perm, ended), kg_lt(kg, kg_int(kg, 0), k->bd.number)));
    Accs all = accs_copy(kg, before, "all");
    accs_apply(kg, &all, accs_now(kg, before), accs_now(kg, tail));
    board_post(&k->bd, accs_now(kg, &all), k->bd.whole);
    kb_end(b);
}

static void scan_back(Back *k)
{
    RowsKernel *w = k->w;
    KGen *kg = k->kg;
    KBuild *b = kg->kb;
    const KExp *zero = kg_int(kg, 0);
    const KExp *ended = rows_is_set(kg, kg_of(kg, row_tiles_tail(k->t)));
    Accs tail = accs_copy(kg, &w->ac, "tail");
    kb_if(b, is_first(kg));
    post_tail(k, accs_now(kg, &tail), ended);
    kb_end(b);
    Accs before = nothing_before(k);
    rows_meet(kg);
    look_back(k, &before);
    kb_if(b, is_first(kg));
    post_all(k, &before, &tail, ended);
    before.bufs = w->ac.bufs;
    accs_put(kg, &before, zero);
    kb_end(b);
    rows_meet(kg);
    Carried c = row_tiles_carry(k->t);
    accs_set(kg, &c.tail, accs_load(kg, &w->ac, zero));
    row_tiles_each(k->t, WALK_SCAN, &c);
}

/* The group's tiles, then what lies before the first row that ends in them, of which the first
 * work-item has stored the group's share. */
static void reduce_back(Back *k)
{
    RowsKernel *w = k->w;
    KGen *kg = k->kg;
    KBuild *b = kg->kb;
    Carried c = row_tiles_carry(k->t);
    row_tiles_each(k->t, WALK_REDUCE, &c);
    board_recall(&k->bd);
    w->group = k->bd.number;
    const KExp *ended = kb_let(b, "ended", rows_is_set(kg, kg_of(kg, c.ended)));
    kb_if(b, runs_is_last(kg));
    post_tail(k, accs_now(kg, &c.tail), ended);
    kb_end(b);
    const KExp *row = kb_let(b, "first_row", row_tiles_first(k->t));
    kb_if(b, kg_and(kg, ended, row_tiles_goes_on(k->t, row)));
    accs_declare(kg, &w->ac, &w->r->e->seg.nes);
    Accs before = nothing_before(k);
    look_back(k, &before);
    kb_if(b, is_first(kg));
    const KExp *at = kg_sx_of(kg, row), **there = NEWN(kg->cx->perm, const KExp *, w->ac.n);
    for (int j = 0; j < w->ac.n; j++)
        there[j] = kb_let(b, "there", loc_load(kg, "there", &w->outs[j], &at, 1));
    Accs sum = accs_copy(kg, &w->ac, "sum");
    accs_apply(kg, &sum, accs_now(kg, &before), there);
    rows_store(w, row, accs_now(kg, &sum));
    kb_end(b);
    kb_end(b);
}

/* The kernel; NULL if its work-items want memory of their own. */
static Kernel *back_kernel(const Rows *r, Mem *board, KGen **made)
{
    RowsKernel w = rows_kernel(r, kind_of(r));
    KGen *kg = *made = w.kg;
    KBuild *b = kg->kb;
    RowTiles t = row_tiles(&w);
    Back k = {.t = &t, .w = &w, .kg = kg};
    k.nearest = kg_param_local(kg, "nearest", T_I32, sx_const(kg->cx, 1));
    w.outs = seg_outs(kg, r->s, 0, r->outs);
    KBuf *words = kg_param_mem(kg, board, T_U64);
    kg_if_teams(kg); /* never launched elsewhere */
    const KExp *total = nest_total(kg, r->groups);
    kb_if(b, kg_lt(kg, kg_int(kg, 0), total));
    k.bd = board_open(kg, &w.ac, words, total);
    w.group = k.bd.number;
    if (r->scan)
        scan_back(&k);
    else
        reduce_back(&k);
    kb_end(b);
    kb_end(b);
    return rows_need_memory(kg) ? NULL : kg_finish(kg);
}

bool rows_back(const Rows *r)
{
    PlanBuild *pb = r->pb;
    Ctx *cx = pb->cx;
    if (!board_holds(r->e))
        return false;
    int n_ops = pb->ops->n;
    KGen *kg = NULL;
    Mem *board = pb_mem(pb, "board");
    Kernel *kernel = back_kernel(r, board, &kg);
    if (!kernel) {
        pb->ops->n = n_ops;
        return false;
    }
    pb_choose(pb, kind_of(r), sx_size(cx, SIZE_LOOKS_BACK), cost_always(cx),
              "always: groups ask each other");
    pb_if_fits(pb, (Fit){kernel, kg->group_size, kg_local_bytes(kg)});
    rows_launch_starts(r);
    pb_alloc_shared(pb, board, board_bytes(cx, r->groups), ALLOC_BOARD);
    kg_launch(kg, kernel, r->groups);
    pb_else(pb);
    return true;
}
