/* segscan^1 along rows in one launch, on devices where a group may wait for those that have begun
 * before it (fact LOOKS_BACK; board.h). Else it takes three (segrows.c).
 *
 * A group sums up its tail first, what lies behind the last row's end in it, which is short where
 * rows are, and writes it on the board; if a row ended, nobody need look further back than there.
 * Then it looks back, so that it knows what lies before it when it begins with its tiles.
 *
 *     group       0      1      2      3      4
 *     row ends    x      x             .      x     (here: 4 adds 3, 2 and what 1 has behind x)
 *     mark      whole  whole  part   part   whole
 *
 * Most rows are short: at first a group looks at its neighbour alone, then at as many at a time as
 * it has work-items. Reductions ask the groups' tails in a launch of their own: they need them
 * last, and one after the other would wait for those that are not done. */
#include "kernels/level1/board.h"
#include "kernels/rows/rows.h"

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

/* Each work-item waits for a group of the window, the last one for the nearest of them; acc: what
 * these leave, from the nearest on that tells all. */
static void look_at_window(Back *k, const KExp *far, const KExp *window)
{
    KGen *kg = k->kg;
    KBuild *b = kg->kb;
    const KExp *zero = kg_int(kg, 0), *one = kg_int(kg, 1);
    const KExp *behind = kg_sub(kg, kg_sub(kg, window, one), kg->lid);
    const KExp *at = kg_sub(kg, kg_sub(kg, kg_sub(kg, k->bd.number, one), far), behind);
    at = kb_let(b, "at", at);
    Accs seen = accs_copy(kg, &k->w->ac, "seen");
    kb_if(b, kg_and(kg, kg_lt(kg, kg->lid, window), kg_le(kg, zero, at)));
    const KExp *whole = board_wait(&k->bd, kg_max(kg, zero, kg_min(kg, at, k->bd.number)), &seen);
    kb_if(b, whole);
    kb_stm(b, (KStm){.kind = KST_ATOMIC,
                     .buf = k->nearest,
                     .op = OP_MAX,
                     .x = {zero, kg_to_i32(kg, kg->lid)}});
    kb_end(b);
    kb_end(b);
    rows_meet(kg);
    const KExp *nearest = kg_to_i64(kg, kb_load(b, "nearest", k->nearest, zero));
    kb_if(b, kg_le(kg, nearest, kg->lid));
    accs_set(kg, &k->w->ac, accs_now(kg, &seen));
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
    const KExp *zero = kg_int(kg, 0);
    const Atoms *nes = &k->w->r->e->seg.nes;
    KVar *window = kb_var(b, "window", T_I64, kg_int(kg, 1)), *far = kb_var(b, "far", T_I64, zero);
    KVar *more = kb_var(b, "more", T_BOOL, kg_lt(kg, zero, k->bd.number));
    kb_while(b, kg_of(kg, more));
    kb_if(b, is_first(kg));
    kb_store(b, k->nearest, zero, kg_i32(kg, -1));
    kb_end(b);
    accs_set(kg, &k->w->ac, accs_atoms(kg, &k->w->ac, nes->at));
    rows_meet(kg);
    const KExp *now = kb_let(b, "now", kg_of(kg, window));
    look_at_window(k, kb_let(b, "passed", kg_of(kg, far)), now);
    accs_apply(kg, before, accs_now(kg, &k->w->ac), accs_now(kg, before));
    kb_set(b, more, kg_lt(kg, kb_load(b, "nearest", k->nearest, zero), kg_i32(kg, 0)));
    kb_set(b, far, kg_add(kg, kg_of(kg, far), now));
    kb_set(b, window, kg_id(kg, KID_GROUP_SIZE));
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

/* The group's tiles, then what lies before the first row that ends in them. */
static void reduce_back(Back *k)
{
    RowsKernel *w = k->w;
    KGen *kg = k->kg;
    KBuild *b = kg->kb;
    const Atoms *nes = &w->r->e->seg.nes;
    Carried c = row_tiles_carry(k->t);
    c.first = accs_like(kg, &w->ac);
    accs_declare(kg, &c.first, nes);
    c.first_row = kb_var(b, "first_row", T_I64, kg_int(kg, 0));
    row_tiles_each(k->t, WALK_REDUCE, &c);
    const KExp *ended = kb_let(b, "ended", rows_is_set(kg, kg_of(kg, c.ended)));
    kb_if(b, is_first(kg));
    post_tail(k, accs_now(kg, &c.tail), ended);
    kb_end(b);
    kb_if(b, kg_and(kg, ended, kg_lt(kg, kg_int(kg, 0), k->bd.number)));
    accs_declare(kg, &w->ac, nes);
    Accs before = nothing_before(k);
    look_back(k, &before);
    kb_if(b, is_first(kg));
    Accs sum = accs_copy(kg, &w->ac, "sum");
    accs_apply(kg, &sum, accs_now(kg, &before), accs_now(kg, &c.first));
    rows_store(w, kg_of(kg, c.first_row), accs_now(kg, &sum));
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
