/* Rows of a ragged nest by teams (see segrows.c): a group works on tiles of items, one after the
 * other. Its work-items compute the tile's points together, dealt out, into local memory, and sum
 * them up there along their rows (rowruns.c). Where a body asks for the row of its point, the rows
 * of all of them are noted down before: each work-item walks over an equal share of rows and
 * points. Numbers within a tile have 32 bits, whatever the offsets have. */
#include "kernels/rows/rows.h"

enum { STRAIGHT_UNROLL = 4, MAP_UNROLL = 8 };

/* The work-item's share of the tile's items, where it begins in the tile: i32. */
typedef struct {
    const KExp *row, *point, *items;
} Share;

static const KExp *lid(KGen *kg)
{
    return kg_to_i32(kg, kg->lid);
}

static const KExp *team(KGen *kg)
{
    return kg_to_i32(kg, kg_id(kg, KID_GROUP_SIZE));
}

RowTiles row_tiles(RowsKernel *w)
{
    KGen *kg = w->kg;
    const Rows *r = w->r;
    RowTiles t = {.w = w, .stage = seg_stage(kg, &w->ac, r->each)};
    const KExp *items = sx_mul(kg->cx, kg->group_size, sx_const(kg->cx, r->each));
    if (w->ac.n > 0)
        runs_locals(&t);
    if (nest_wants_row(kg, r->d)) {
        t.ends = kg_param_local(kg, "ends", T_U16, sx_add(kg->cx, items, sx_const(kg->cx, 1)));
        t.row_of = kg_param_local(kg, "row_of", T_U16, items);
    }
    t.starts = kg_param_mem(kg, r->starts, T_I64);
    return t;
}

/* --- What a tile holds ------------------------------------------------------------------------ */

/* How many rows end before that tile, or the end. */
static const KExp *start_of(const RowTiles *t, const KExp *tile)
{
    KGen *kg = t->w->kg;
    const KExp *place = kg_min(kg, tile, kg_host(kg, t->w->r->tiles));
    return kb_load(kg->kb, "start", t->starts, kb_let(kg->kb, "place", place));
}

static void find_tile(Tile *x, const KExp *tile)
{
    KGen *kg = x->kg;
    KBuild *b = kg->kb;
    const Rows *r = x->w->r;
    const KExp *size = kg_mul(kg, kg_id(kg, KID_GROUP_SIZE), kg_int(kg, r->each));
    const KExp *items = kg_host(kg, r->items);
    const KExp *from = kb_let(b, "from", kg_mul(kg, tile, size));
    const KExp *to = kb_let(b, "to", kg_min(kg, kg_add(kg, from, size), items));
    x->row0 = kb_let(b, "row0", kg_of(kg, x->t->next_row0));
    const KExp *row1 = kb_let(b, "row1", kg_of(kg, x->t->next_row1));
    kb_set(b, x->t->next_row0, row1);
    kb_set(b, x->t->next_row1, start_of(x->t, kg_add(kg, tile, kg_int(kg, 2))));
    x->rows = kb_let(b, "rows", kg_to_i32(kg, kg_sub(kg, row1, x->row0)));
    x->point0 = kb_let(b, "point0", kg_sub(kg, from, x->row0));
    x->points = kg_sub(kg, kg_sub(kg, to, row1), x->point0);
    x->points = kb_let(b, "points", kg_to_i32(kg, x->points));
    x->end = kg_to_i32(kg, kg_max(kg, tile_offset(x, x->rows), kg_int(kg, 0)));
}

/* --- The rows of points ----------------------------------------------------------------------- */

static const KExp *end_of(Tile *x, const KExp *row)
{
    const KExp *end = kb_load(x->kg->kb, "end", x->t->ends, kg_to_i64(x->kg, row));
    return kb_let(x->kg->kb, "end", kg_to_i32(x->kg, end));
}

/* Behind the last row that ends here are points of one that does not. */
static void fill_ends(Tile *x)
{
    KGen *kg = x->kg;
    KBuild *b = kg->kb;
    Arena *a = kg->cx->perm;
    const KExp *k = kb_for(b, "k", lid(kg), x->rows, team(kg));
    const KExp *end = tile_offset(x, kg_op(kg, OP_ADD, k, kg_i32(kg, 1)));
    kb_store(b, x->t->ends, kg_to_i64(kg, k), kx_conv(a, T_U16, end));
    kb_end(b);
    kb_if(b, kg_eq(kg, lid(kg), kg_i32(kg, 0)));
    kb_store(b, x->t->ends, kg_to_i64(kg, x->rows), kx_conv(a, T_U16, x->points));
    kb_end(b);
}

typedef struct {
    Tile *tile;
    const KExp *item;
} Before;

static const KExp *ends_before(KGen *kg, void *env, const KExp *row)
{
    const Before *x = env;
    return kg_lt(kg, kg_op(kg, OP_ADD, end_of(x->tile, row), row), x->item);
}

/* How many of the tile's rows, at least `from` and at most `to`, end before its item `item`. */
static const KExp *rows_ended(Tile *x, const KExp *from, const KExp *to, const KExp *item)
{
    return nest_bisect(x->kg, from, to, ends_before, &(Before){x, item});
}

static Share find_share(Tile *x)
{
    KGen *kg = x->kg;
    KBuild *b = kg->kb;
    Share s;
    const KExp *zero = kg_i32(kg, 0), *each = kg_i32(kg, x->w->r->each);
    const KExp *all = kb_let(b, "items", kg_op(kg, OP_ADD, x->rows, x->points));
    const KExp *from = kb_let(b, "from", kg_op(kg, OP_MIN, kg_op(kg, OP_MUL, lid(kg), each), all));
    s.items = kb_let(b, "my_items", kg_op(kg, OP_MIN, kg_op(kg, OP_SUB, all, from), each));
    const KExp *least = kg_op(kg, OP_MAX, zero, kg_op(kg, OP_SUB, from, x->points));
    s.row = rows_ended(x, least, kg_op(kg, OP_MIN, from, x->rows), from);
    s.point = kb_let(b, "my_point", kg_op(kg, OP_SUB, from, s.row));
    return s;
}

static void note_row(Tile *x, const KExp *point, const KExp *row)
{
    kb_store(x->kg->kb, x->t->row_of, kg_to_i64(x->kg, point),
             kx_conv(x->kg->cx->perm, T_U16, row));
}

/* The share's points are all of one row. */
static void note_one_row(Tile *x, const Share *s, const KExp *stop)
{
    KGen *kg = x->kg;
    const KExp *p = kb_for(kg->kb, "p", s->point, stop, kg_i32(kg, 1));
    kg_loop_unroll(kg, STRAIGHT_UNROLL);
    note_row(x, p, s->row);
    kb_end(kg->kb);
}

/* Item by item. */
static void note_some_rows(Tile *x, const Share *s)
{
    KGen *kg = x->kg;
    KBuild *b = kg->kb;
    const KExp *one = kg_i32(kg, 1);
    KVar *row = kb_var(b, "row", T_I32, s->row), *point = kb_var(b, "point", T_I32, s->point);
    KVar *end = kb_var(b, "end", T_I32, end_of(x, s->row));
    kb_for(b, "item", kg_i32(kg, 0), s->items, one);
    kb_if(b, kg_lt(kg, kg_of(kg, point), kg_of(kg, end)));
    note_row(x, kg_of(kg, point), kg_of(kg, row));
    kb_set(b, point, kg_op(kg, OP_ADD, kg_of(kg, point), one));
    kb_else(b);
    kb_set(b, row, kg_op(kg, OP_ADD, kg_of(kg, row), one));
    kb_set(b, end, end_of(x, kg_of(kg, row)));
    kb_end(b);
    kb_end(b);
}

static void note_rows(Tile *x)
{
    KGen *kg = x->kg;
    KBuild *b = kg->kb;
    fill_ends(x);
    rows_meet(kg);
    Share s = find_share(x);
    const KExp *stop = kb_let(b, "stop", kg_op(kg, OP_ADD, s.point, s.items));
    kb_if(b, kg_le(kg, stop, end_of(x, s.row)));
    note_one_row(x, &s, stop);
    kb_else(b);
    note_some_rows(x, &s);
    kb_end(b);
    rows_meet(kg);
}

/* --- Its points ------------------------------------------------------------------------------- */

static void bind_point(Tile *x, const KExp *p)
{
    KGen *kg = x->kg;
    const KExp *row = x->row0;
    if (x->t->row_of)
        row =
            kg_add(kg, row, kg_to_i64(kg, kb_load(kg->kb, "row", x->t->row_of, kg_to_i64(kg, p))));
    nest_bind_point(kg, x->w->r->d, kg_add(kg, x->point0, kg_to_i64(kg, p)), row);
}

/* The tile's points into the stage; behind the last one neutral values, so that all have as many.
 * While loads of little code are on their way, others can begin: what it computes is kept in
 * registers (the result), which put_points then takes. */
static KBuf **compute_points(Tile *x, bool maps, bool brief)
{
    KGen *kg = x->kg;
    KBuild *b = kg->kb;
    const Rows *r = x->w->r;
    const Accs *ac = &x->w->ac;
    KBuf **own = brief ? NEWN(kg->cx->perm, KBuf *, ac->n) : NULL;
    for (int j = 0; brief && j < ac->n; j++)
        own[j] = kb_array(b, "own", ac->types[j], r->each);
    const KExp *k, *p = tile_points_open(kg, r->each, brief ? -1 : 0, &k);
    Accs value = accs_like(kg, ac);
    accs_declare(kg, &value, &r->e->seg.nes);
    kb_if(b, kg_lt(kg, p, x->points));
    WorkMark m = kg_work_begin(kg);
    bind_point(x, p);
    accs_set(kg, &value, rows_point(x->w, maps));
    kg_work_end(kg, m);
    kb_end(b);
    value.bufs = brief ? own : x->t->stage;
    accs_put(kg, &value, brief ? kg_to_i64(kg, k) : kb_let(b, "at", tile_place(kg, p)));
    kb_end(b);
    return own;
}

static void put_points(Tile *x, KBuf *const *own)
{
    KGen *kg = x->kg;
    const KExp *k, *p = tile_points_open(kg, x->w->r->each, -1, &k);
    const KExp *at = kb_let(kg->kb, "at", tile_place(kg, p));
    for (int j = 0; j < x->w->ac.n; j++)
        kb_store(kg->kb, x->t->stage[j], at, kb_load(kg->kb, "x", own[j], kg_to_i64(kg, k)));
    kb_end(kg->kb);
}

/* --- The group's tiles ------------------------------------------------------------------------ */

/* A scan knows what lies before the group; else that is neutral so far. */
static Carried begin_carry(RowTiles *t, WalkWhat what)
{
    RowsKernel *w = t->w;
    KGen *kg = w->kg;
    Carried c = {.tail = accs_like(kg, &w->ac)};
    accs_declare(kg, &c.tail, &w->r->e->seg.nes);
    c.ended = kb_var(kg->kb, "any_ended", T_I32, kg_i32(kg, 0));
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
    if (t->row_of)
        note_rows(&x);
    return x;
}

static void one_tile(RowTiles *t, WalkWhat what, const Carried *c, const KExp *tile)
{
    Tile x = tile_open(t, tile);
    bool brief = seg_is_brief(t->w->r->e);
    if (!brief) /* others still read the stage, of the tile before; loads need not wait for that */
        rows_meet(x.kg);
    KBuf **own = compute_points(&x, what != WALK_TAILS, brief);
    runs_mark_heads(&x);
    if (brief) {
        rows_meet(x.kg);
        put_points(&x, own);
    }
    rows_meet(x.kg);
    runs_sum(&x, what, c);
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
        kb_if(b, kg_eq(kg, kg_of(kg, c->ended), kg_i32(kg, 0)));
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
    t->next_row0 = kb_var(b, "row0", T_I64, start_of(t, from));
    t->next_row1 = kb_var(b, "row1", T_I64, start_of(t, kg_add(kg, from, one)));
    return kb_for(b, "tile", from, to, one);
}

void row_tiles_walk(RowTiles *t, WalkWhat what)
{
    Carried c = begin_carry(t, what);
    runs_begin(t);
    one_tile(t, what, &c, tiles_open(t));
    kb_end(t->w->kg->kb);
    leave_group(t, what, &c);
}

void row_tiles_map(RowTiles *t, RowsPoint *point)
{
    KGen *kg = t->w->kg;
    KBuild *b = kg->kb;
    Tile x = tile_open(t, tiles_open(t));
    const KExp *p = kb_for(b, "p", lid(kg), x.points, team(kg));
    if (seg_is_short(t->w->r->e->seg.body, false))
        kg_loop_unroll(kg, MAP_UNROLL);
    WorkMark m = kg_work_begin(kg);
    bind_point(&x, p);
    point(t->w);
    kg_work_end(kg, m);
    kb_end(b);
    rows_meet(kg); /* the buffers are used again */
    kb_end(b);
}
