/* Rows of a ragged nest by teams (see segrows.c): a group works on tiles of items, one after the
 * other. It notes down where the tile's rows end, computes the points together, dealt out, into
 * local memory, and each work-item walks over an equal share of rows and points there. Numbers
 * within a tile have 32 bits, whatever the offsets have. */
#include "kernels/rows/rows.h"

enum {
    STAGE_UNROLL = 8,
    STRAIGHT_UNROLL = 4,
    STAGE_SHIFT = 5 /* a gap every 32 elements, as in segments.c */
};

/* The tile at work. */
typedef struct {
    RowTiles *t;
    RowsKernel *w;
    KGen *kg;
    const KExp *row0, *point0;                /* where it begins */
    const KExp *rows, *points;                /* how many end in it, and there are: i32 */
    const KExp *my_row, *my_point, *my_items; /* the work-item's share, in the tile: i32 */
} Tile;

static const KExp *i32(KGen *kg, int64_t x)
{
    return kx_conv(kg->cx->perm, T_I32, kg_int(kg, x));
}

static const KExp *to_i32(KGen *kg, const KExp *x)
{
    return kx_conv(kg->cx->perm, T_I32, x);
}

static const KExp *to_i64(KGen *kg, const KExp *x)
{
    return kx_conv(kg->cx->perm, T_I64, x);
}

static const KExp *op(KGen *kg, PrimOp o, const KExp *x, const KExp *y)
{
    return kx_prim2(kg->cx->perm, o, x, y);
}

static const KExp *lid(KGen *kg)
{
    return to_i32(kg, kg->lid);
}

static const KExp *team(KGen *kg)
{
    return to_i32(kg, kg_id(kg, KID_GROUP_SIZE));
}

static void meet(KGen *kg)
{
    kb_meet(kg->kb, 1u << KS_LOCAL);
}

RowTiles row_tiles(RowsKernel *w)
{
    KGen *kg = w->kg;
    const Rows *r = w->r;
    RowTiles t = {.w = w, .stage = seg_stage(kg, &w->ac, r->each)};
    const KExp *items = sx_mul(kg->cx, kg->group_size, sx_const(kg->cx, r->each));
    t.ends = kg_param_local(kg, "ends", T_U16, sx_add(kg->cx, items, sx_const(kg->cx, 1)));
    if (nest_wants_row(kg, r->d))
        t.row_of = kg_param_local(kg, "row_of", T_U16, items);
    t.starts = kg_param_mem(kg, r->starts, T_I64);
    return t;
}

/* --- What a tile holds ------------------------------------------------------------------------ */

static void find_tile(Tile *x, const KExp *tile)
{
    KGen *kg = x->kg;
    KBuild *b = kg->kb;
    const Rows *r = x->w->r;
    const KExp *one = kg_int(kg, 1);
    const KExp *size = kg_mul(kg, kg_id(kg, KID_GROUP_SIZE), kg_int(kg, r->each));
    const KExp *items = kg_host(kg, r->items);
    const KExp *from = kb_let(b, "from", kg_mul(kg, tile, size));
    const KExp *to = kb_let(b, "to", kg_min(kg, kg_add(kg, from, size), items));
    x->row0 = kb_load(b, "row0", x->t->starts, tile);
    const KExp *row1 = kb_load(b, "row1", x->t->starts, kg_add(kg, tile, one));
    x->point0 = kb_let(b, "point0", kg_sub(kg, from, x->row0));
    x->rows = kb_let(b, "rows", to_i32(kg, kg_sub(kg, row1, x->row0)));
    x->points = kg_sub(kg, kg_sub(kg, to, row1), x->point0);
    x->points = kb_let(b, "points", to_i32(kg, x->points));
}

static const KExp *end_of(Tile *x, const KExp *row)
{
    const KExp *end = kb_load(x->kg->kb, "end", x->t->ends, to_i64(x->kg, row));
    return kb_let(x->kg->kb, "end", to_i32(x->kg, end));
}

/* Behind the last row that ends here are points of one that does not. */
static void fill_ends(Tile *x)
{
    KGen *kg = x->kg;
    KBuild *b = kg->kb;
    Arena *a = kg->cx->perm;
    const KExp *k = kb_for(b, "k", lid(kg), x->rows, team(kg));
    const KExp *row = kg_add(kg, kg_add(kg, x->row0, to_i64(kg, k)), kg_int(kg, 1));
    const KExp *end = kg_sub(kg, nest_offset(kg, x->w->r->d, row), x->point0);
    kb_store(b, x->t->ends, to_i64(kg, k), kx_conv(a, T_U16, end));
    kb_end(b);
    kb_if(b, kg_eq(kg, lid(kg), i32(kg, 0)));
    kb_store(b, x->t->ends, to_i64(kg, x->rows), kx_conv(a, T_U16, x->points));
    kb_end(b);
}

typedef struct {
    Tile *tile;
    const KExp *item;
} Before;

static const KExp *ends_before(KGen *kg, void *env, const KExp *row)
{
    const Before *x = env;
    return kg_lt(kg, op(kg, OP_ADD, end_of(x->tile, row), row), x->item);
}

/* How many of the tile's rows, at least `from` and at most `to`, end before its item `item`. */
static const KExp *rows_ended(Tile *x, const KExp *from, const KExp *to, const KExp *item)
{
    return nest_bisect(x->kg, from, to, ends_before, &(Before){x, item});
}

static const KExp *place(KGen *kg, const KExp *point)
{
    const KExp *gaps = op(kg, OP_SHR, point, i32(kg, STAGE_SHIFT));
    return to_i64(kg, op(kg, OP_ADD, point, gaps));
}

static void find_share(Tile *x)
{
    KGen *kg = x->kg;
    KBuild *b = kg->kb;
    const KExp *zero = i32(kg, 0), *each = i32(kg, x->w->r->each);
    const KExp *all = kb_let(b, "items", op(kg, OP_ADD, x->rows, x->points));
    const KExp *from = kb_let(b, "from", op(kg, OP_MIN, op(kg, OP_MUL, lid(kg), each), all));
    x->my_items = kb_let(b, "my_items", op(kg, OP_MIN, op(kg, OP_SUB, all, from), each));
    const KExp *least = op(kg, OP_MAX, zero, op(kg, OP_SUB, from, x->points));
    x->my_row = rows_ended(x, least, op(kg, OP_MIN, from, x->rows), from);
    x->my_point = kb_let(b, "my_point", op(kg, OP_SUB, from, x->my_row));
}

/* --- The walk over a share -------------------------------------------------------------------- */

/* Where it is: a row, a point, where the row ends. */
typedef struct {
    KVar *row, *point, *end;
} Spot;

/* Opens the branch of shares within one row, and the loop over their points; kb_end and kb_else
 * lead to the others. */
static const KExp *straight_open(Tile *x)
{
    KGen *kg = x->kg;
    KBuild *b = kg->kb;
    const KExp *stop = kb_let(b, "stop", op(kg, OP_ADD, x->my_point, x->my_items));
    kb_if(b, kg_le(kg, stop, end_of(x, x->my_row)));
    const KExp *p = kb_for(b, "p", x->my_point, stop, i32(kg, 1));
    kg_loop_unroll(kg, STRAIGHT_UNROLL);
    return p;
}

/* Opens the loop over the share's items, and the branch of those that are points; walk_row_end
 * that of a row's end. */
static Spot walk_open(Tile *x)
{
    KGen *kg = x->kg;
    KBuild *b = kg->kb;
    Spot at = {.row = kb_var(b, "row", T_I32, x->my_row)};
    at.point = kb_var(b, "point", T_I32, x->my_point);
    at.end = kb_var(b, "end", T_I32, end_of(x, x->my_row));
    kb_for(b, "item", i32(kg, 0), x->my_items, i32(kg, 1));
    kb_if(b, kg_lt(kg, kg_of(kg, at.point), kg_of(kg, at.end)));
    return at;
}

static void walk_row_end(Tile *x, const Spot *at)
{
    KGen *kg = x->kg;
    kb_set(kg->kb, at->point, op(kg, OP_ADD, kg_of(kg, at->point), i32(kg, 1)));
    kb_else(kg->kb);
}

static void walk_close(Tile *x, const Spot *at)
{
    KGen *kg = x->kg;
    KBuild *b = kg->kb;
    kb_set(b, at->row, op(kg, OP_ADD, kg_of(kg, at->row), i32(kg, 1)));
    kb_set(b, at->end, end_of(x, kg_of(kg, at->row)));
    kb_end(b);
    kb_end(b);
}

/* --- Its points ------------------------------------------------------------------------------- */

static void note_row(Tile *x, const KExp *point, const KExp *row)
{
    kb_store(x->kg->kb, x->t->row_of, to_i64(x->kg, point), kx_conv(x->kg->cx->perm, T_U16, row));
}

static void note_rows(Tile *x)
{
    KGen *kg = x->kg;
    const KExp *p = straight_open(x);
    note_row(x, p, x->my_row);
    kb_end(kg->kb);
    kb_else(kg->kb);
    Spot at = walk_open(x);
    note_row(x, kg_of(kg, at.point), kg_of(kg, at.row));
    walk_row_end(x, &at);
    walk_close(x, &at);
    kb_end(kg->kb);
    meet(kg);
}

/* The loop over the tile's points, dealt out; each is bound. */
static const KExp *points_open(Tile *x, bool brief, WorkMark *m)
{
    KGen *kg = x->kg;
    const KExp *p = kb_for(kg->kb, "p", lid(kg), x->points, team(kg));
    if (brief)
        kg_loop_unroll(kg, STAGE_UNROLL);
    *m = kg_work_begin(kg);
    const KExp *row = x->row0;
    if (x->t->row_of)
        row = kg_add(kg, row, to_i64(kg, kb_load(kg->kb, "row", x->t->row_of, to_i64(kg, p))));
    nest_bind_point(kg, x->w->r->d, kg_add(kg, x->point0, to_i64(kg, p)), row);
    return p;
}

static void fill_stage(Tile *x, bool maps)
{
    KGen *kg = x->kg;
    KBuild *b = kg->kb;
    WorkMark m;
    const KExp *p = points_open(x, seg_is_brief(x->w->r->e), &m);
    const KExp **v = rows_point(x->w, maps);
    const KExp *at = kb_let(b, "at", place(kg, p));
    for (int j = 0; j < x->w->ac.n; j++)
        kb_store(b, x->t->stage[j], at, v[j]);
    kg_work_end(kg, m);
    kb_end(b);
    meet(kg);
}

static const KExp *row_number(Tile *x, const KExp *row)
{
    return kg_add(x->kg, x->row0, to_i64(x->kg, row));
}

static void walk_point(Tile *x, WalkWhat what, const KExp *point)
{
    KGen *kg = x->kg;
    KBuild *b = kg->kb;
    const Accs *ac = &x->w->ac;
    const KExp *at = kb_let(b, "at", place(kg, point));
    const KExp **v = NEWN(kg->cx->perm, const KExp *, ac->n);
    for (int j = 0; j < ac->n; j++)
        v[j] = kb_load(b, "x", x->t->stage[j], at);
    accs_apply(kg, ac, accs_now(kg, ac), v);
    for (int j = 0; what == WALK_SCAN && j < ac->n; j++)
        kb_store(b, x->t->stage[j], at, kg_of(kg, ac->acc[j]));
}

static void walk(Tile *x, WalkWhat what)
{
    KGen *kg = x->kg;
    KBuild *b = kg->kb;
    walk_point(x, what, straight_open(x));
    kb_end(b);
    kb_else(b);
    Spot w = walk_open(x);
    walk_point(x, what, kg_of(kg, w.point));
    walk_row_end(x, &w);
    rows_end(x->w, what, row_number(x, kg_of(kg, w.row)));
    walk_close(x, &w);
    kb_end(b);
}

/* --- The group's tiles ------------------------------------------------------------------------ */

/* What the group has of a row that goes on: uniform. */
typedef struct {
    Accs tail;
    KVar *ended; /* has a row ended in it? i32 */
} Carried;

/* Declares what lies before the work-item: in the tile, or before it. */
static Accs before_share(Tile *x, const Carried *c, KVar **ended)
{
    KGen *kg = x->kg;
    Accs in_tile = rows_before_in_group(x->w, ended);
    Accs before = accs_copy(kg, &c->tail, "before");
    rows_add_tail(x->w, &before, accs_now(kg, &in_tile),
                  kx_ne(kg->cx->perm, kg_of(kg, *ended), i32(kg, 0)));
    return before;
}

/* The first row that ends in the share: with what lies before it. */
static void finish_first(Tile *x, const Carried *c)
{
    KGen *kg = x->kg;
    KBuild *b = kg->kb;
    RowsKernel *w = x->w;
    KVar *ended = NULL;
    Accs before = before_share(x, c, &ended);
    kb_if(b, kg_of(kg, w->has_ended));
    Accs sum = accs_like(kg, &w->ac);
    sum.acc = w->found;
    accs_apply(kg, &sum, accs_now(kg, &before), accs_now(kg, &sum));
    const KExp *row = kb_let(b, "first_row", row_number(x, x->my_row));
    rows_store(w, row, accs_now(kg, &sum));
    const KExp *any = op(kg, OP_OR, kg_of(kg, ended), kg_of(kg, c->ended));
    kb_if(b, kg_eq(kg, any, i32(kg, 0)));
    kb_store(b, w->first, kg_id(kg, KID_GROUP), row);
    kb_end(b);
    kb_end(b);
}

/* The tile is done. */
static void carry_on(Tile *x, const Carried *c)
{
    KGen *kg = x->kg;
    KBuild *b = kg->kb;
    const KExp *last = kb_let(b, "last", kg_sub(kg, kg_id(kg, KID_GROUP_SIZE), kg_int(kg, 1)));
    const KExp *flag = kb_load(b, "flag", x->w->flags, last);
    const KExp **tail = accs_load(kg, &x->w->ac, last);
    rows_add_tail(x->w, &c->tail, tail, kx_ne(kg->cx->perm, flag, i32(kg, 0)));
    kb_set(b, c->ended, op(kg, OP_OR, kg_of(kg, c->ended), flag));
}

static void scan_share(Tile *x, const Carried *c)
{
    KGen *kg = x->kg;
    KBuild *b = kg->kb;
    RowsKernel *w = x->w;
    KVar *ended = NULL;
    Accs before = before_share(x, c, &ended);
    accs_set(kg, &w->ac, accs_now(kg, &before));
    walk(x, WALK_SCAN);
    meet(kg);
    const KExp *p = kb_for(b, "p", lid(kg), x->points, team(kg));
    const KExp *at = kb_let(b, "at", place(kg, p));
    const KExp *ix = kg_sx_of(kg, kb_let(b, "point", kg_add(kg, x->point0, to_i64(kg, p))));
    for (int j = 0; j < w->ac.n; j++)
        loc_store(kg, &w->outs[j], &ix, 1, kb_load(b, "x", x->t->stage[j], at));
    kb_end(b);
}

/* A scan knows what lies before the group; else that is neutral so far. */
static Carried begin_carry(RowTiles *t, WalkWhat what)
{
    RowsKernel *w = t->w;
    KGen *kg = w->kg;
    Carried c = {.tail = accs_like(kg, &w->ac)};
    accs_declare(kg, &c.tail, &w->r->e->seg.nes);
    c.ended = kb_var(kg->kb, "any_ended", T_I32, i32(kg, 0));
    if (what == WALK_SCAN)
        for (int j = 0; j < w->ac.n; j++)
            kb_set(kg->kb, c.tail.acc[j],
                   kb_load(kg->kb, "before", w->tails[j], kg_id(kg, KID_GROUP)));
    return c;
}

static Tile tile_open(RowTiles *t, const KExp *tile)
{
    Tile x = {.t = t, .w = t->w, .kg = t->w->kg};
    find_tile(&x, tile);
    fill_ends(&x);
    meet(x.kg);
    find_share(&x);
    if (t->row_of)
        note_rows(&x);
    return x;
}

static void one_tile(RowTiles *t, WalkWhat what, const Carried *c, const KExp *tile)
{
    RowsKernel *w = t->w;
    KGen *kg = w->kg;
    Tile x = tile_open(t, tile);
    fill_stage(&x, what != WALK_TAILS);
    rows_declare(w);
    walk(&x, what == WALK_REDUCE ? WALK_REDUCE : WALK_TAILS);
    rows_scan_tails(w);
    if (what == WALK_REDUCE)
        finish_first(&x, c);
    if (what == WALK_SCAN)
        scan_share(&x, c);
    carry_on(&x, c);
    meet(kg); /* the buffers are used again */
}

static void leave_group(RowTiles *t, WalkWhat what, const Carried *c)
{
    RowsKernel *w = t->w;
    KGen *kg = w->kg;
    KBuild *b = kg->kb;
    if (what == WALK_SCAN)
        return;
    kb_if(b, kg_eq(kg, kg->lid, kg_int(kg, 0)));
    rows_leave(w, accs_now(kg, &c->tail), kg_of(kg, c->ended));
    if (what == WALK_REDUCE) {
        kb_if(b, kg_eq(kg, kg_of(kg, c->ended), i32(kg, 0)));
        kb_store(b, w->first, kg_id(kg, KID_GROUP), kg_int(kg, -1));
        kb_end(b);
    }
    kb_end(b);
}

/* The loop over the group's tiles. */
static const KExp *tiles_open(RowTiles *t)
{
    KGen *kg = t->w->kg;
    KBuild *b = kg->kb;
    const Rows *r = t->w->r;
    const KExp *tiles = nest_total(kg, r->tiles), *one = kg_int(kg, 1);
    const KExp *groups = kg_host(kg, r->groups);
    const KExp *each =
        kg_quot(kg, kg_sub(kg, kg_add(kg, kg_host(kg, r->tiles), groups), one), groups);
    each = kb_let(b, "each", each);
    const KExp *from = kb_let(b, "from", kg_mul(kg, kg_id(kg, KID_GROUP), each));
    const KExp *to = kb_let(b, "to", kg_min(kg, kg_add(kg, from, each), tiles));
    return kb_for(b, "tile", from, to, one);
}

void row_tiles_walk(RowTiles *t, WalkWhat what)
{
    Carried c = begin_carry(t, what);
    one_tile(t, what, &c, tiles_open(t));
    kb_end(t->w->kg->kb);
    leave_group(t, what, &c);
}

void row_tiles_map(RowTiles *t, RowsPoint *point)
{
    KGen *kg = t->w->kg;
    Tile x = tile_open(t, tiles_open(t));
    WorkMark m;
    points_open(&x, seg_is_short(t->w->r->e->seg.body, false), &m);
    point(t->w);
    kg_work_end(kg, m);
    kb_end(kg->kb);
    meet(kg); /* the buffers are used again */
    kb_end(kg->kb);
}
