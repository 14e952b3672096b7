/* Rows of a ragged nest by teams (see segrows.c): a group works on tiles of items, one after the
 * other. Its work-items compute the tile's points together, dealt out, into local memory, and sum
 * them up there along their rows (rowruns.c). Where a body asks for the row of its point, the rows
 * of all of them are noted down before: each work-item walks over an equal share of rows and
 * points. Numbers within a tile have 32 bits, whatever the offsets have. */
#include "kernels/rows/rows.h"

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
    RowTiles t = {.w = w, .stage = tile_stage(kg, &w->ac, r->each)};
    if (w->ac.n > 0)
        runs_locals(&t);
    if (nest_wants_row(kg, r->d)) {
        t.begins = tile_marks(kg, "begins", T_U16, r->each);
        t.row_of = tile_marks(kg, "row_of", T_U16, r->each);
        t.latest = kg_param_local(kg, "latest", T_I32, kg->group_size);
        t.latest_beside = kg_param_local(kg, "latest_beside", T_I32, kg->group_size);
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

static const KExp *tile_items(const RowTiles *t)
{
    KGen *kg = t->w->kg;
    return kg_mul(kg, kg_id(kg, KID_GROUP_SIZE), kg_int(kg, t->w->r->each * POINT_WEIGHT));
}

static void find_tile(Tile *x, const KExp *tile)
{
    KGen *kg = x->kg;
    KBuild *b = kg->kb;
    const Rows *r = x->w->r;
    const KExp *weight = kg_int(kg, POINT_WEIGHT), *items = kg_host(kg, r->items);
    const KExp *size = tile_items(x->t);
    const KExp *from = kb_let(b, "from", kg_mul(kg, tile, size));
    const KExp *to = kb_let(b, "to", kg_min(kg, kg_add(kg, from, size), items));
    x->row0 = kb_let(b, "row0", kg_of(kg, x->t->next_row0));
    const KExp *row1 = kb_let(b, "row1", kg_of(kg, x->t->next_row1));
    kb_set(b, x->t->next_row0, row1);
    kb_set(b, x->t->next_row1, start_of(x->t, kg_add(kg, tile, kg_int(kg, 2))));
    x->rows = kb_let(b, "rows", kg_to_i32(kg, kg_sub(kg, row1, x->row0)));
    x->point0 = kb_let(b, "point0", kg_quot(kg, kg_sub(kg, from, x->row0), weight));
    x->points = kg_sub(kg, kg_quot(kg, kg_sub(kg, to, row1), weight), x->point0);
    x->points = kb_let(b, "points", kg_to_i32(kg, x->points));
    x->end = kg_to_i32(kg, kg_max(kg, tile_offset(x, x->rows), kg_int(kg, 0)));
}

/* --- The rows of points ----------------------------------------------------------------------- */

/* A loop over the points of the work-item's run: number k, and the point. */
static const KExp *run_open(RowTiles *t, const KExp **k)
{
    KGen *kg = t->w->kg;
    const KExp *each = kg_int(kg, t->w->r->each);
    *k = kb_for(kg->kb, "k", kg_int(kg, 0), each, kg_int(kg, 1));
    kg_loop_unroll(kg, -1);
    return kb_let(kg->kb, "p", kg_add(kg, kg_mul(kg, kg->lid, each), *k));
}

static void no_begins(RowTiles *t)
{
    KGen *kg = t->w->kg;
    const KExp *k, *p = run_open(t, &k);
    kb_store(kg->kb, t->begins, p, kx_conv(kg->cx->perm, T_U16, kg_int(kg, 0)));
    kb_end(kg->kb);
}

/* Where a row ends the next one begins; of several that end there the last one tells. */
static void note_begins(Tile *x)
{
    KGen *kg = x->kg;
    KBuild *b = kg->kb;
    const KExp *one = kg_i32(kg, 1), *r = kb_for(b, "r", lid(kg), x->rows, team(kg));
    const KExp *next = kb_let(b, "next", kg_op(kg, OP_ADD, r, one));
    const KExp *behind = kg_op(kg, OP_MIN, kg_op(kg, OP_ADD, next, one), x->rows);
    const KExp *end = kb_let(b, "to", kg_to_i32(kg, tile_offset(x, next)));
    const KExp *next_end = kg_min(kg, tile_offset(x, behind), kg_to_i64(kg, x->points));
    const KExp *later = kg_lt(kg, end, kg_to_i32(kg, next_end));
    const KExp *is_last = kx_or(kg->cx->perm, kg_eq(kg, next, x->rows), later);
    kb_if(b, kg_and(kg, kg_lt(kg, end, x->points), is_last));
    kb_store(b, x->t->begins, kg_to_i64(kg, end), kx_conv(kg->cx->perm, T_U16, next));
    kb_end(b);
    kb_end(b);
}

/* latest := the largest of those of the work-items up to this one, which is in `latest` or the one
 * beside. */
static void latest_step(RowTiles *t, KVar *latest, const KExp *d, bool back)
{
    KGen *kg = t->w->kg;
    KBuild *b = kg->kb;
    KBuf *from = back ? t->latest_beside : t->latest, *to = back ? t->latest : t->latest_beside;
    kb_if(b, kg_le(kg, d, kg->lid));
    const KExp *left = kb_load(b, "left", from, kb_let(b, "beside", kg_sub(kg, kg->lid, d)));
    kb_set(b, latest, kg_op(kg, OP_MAX, left, kg_of(kg, latest)));
    kb_end(b);
    kb_store(b, to, kg->lid, kg_of(kg, latest));
    rows_meet(kg);
}

/* before := the row that began last before the work-item's run, in the tile. Behind a barrier. */
static void find_latest(RowTiles *t, KVar *latest, KVar *before)
{
    KGen *kg = t->w->kg;
    KBuild *b = kg->kb;
    const KExp *lane = kg_id(kg, KID_LANE), *lanes = kg_id(kg, KID_LANES);
    const KExp *zero = kg_int(kg, 0), *one = kg_int(kg, 1);
    kb_if(b, accs_have_lanes(kg));
    const KExp *d = kb_for_times(b, "d", one, lanes, 2);
    kg_loop_unroll(kg, -1);
    const KExp *left = kg_of_lane(kg, latest, kg_sub(kg, lane, d));
    kb_if(b, kg_le(kg, d, lane));
    kb_set(b, latest, kg_op(kg, OP_MAX, left, kg_of(kg, latest)));
    kb_end(b);
    kb_end(b);
    left = kg_of_lane(kg, latest, kg_sub(kg, lane, one));
    kb_if(b, kg_lt(kg, zero, lane));
    kb_set(b, before, left);
    kb_end(b);
    const KExp *strip = kb_let(b, "strip", kg_quot(kg, kg->lid, lanes));
    kb_if(b, kg_eq(kg, lane, kg_sub(kg, lanes, one)));
    kb_store(b, t->latest, strip, kg_of(kg, latest));
    kb_end(b);
    rows_meet(kg);
    const KExp *earlier = kb_for(b, "earlier", zero, strip, one);
    left = kb_load(b, "left", t->latest, earlier);
    kb_set(b, before, kg_op(kg, OP_MAX, left, kg_of(kg, before)));
    kb_end(b);
    kb_else(b);
    kb_store(b, t->latest, kg->lid, kg_of(kg, latest));
    rows_meet(kg);
    d = kb_for_times(b, "d", one, kg_id(kg, KID_GROUP_SIZE), 4);
    latest_step(t, latest, d, false);
    latest_step(t, latest, kg_mul(kg, kg_int(kg, 2), d), true);
    kb_end(b);
    kb_if(b, kg_lt(kg, zero, kg->lid));
    left = kb_load(b, "left", t->latest, kb_let(b, "beside", kg_sub(kg, kg->lid, one)));
    kb_set(b, before, left);
    kb_end(b);
    kb_end(b);
}

/* Each point's row: the one that began last. Others may still read the rows of the tile before. */
static void note_rows(Tile *x)
{
    RowTiles *t = x->t;
    KGen *kg = x->kg;
    KBuild *b = kg->kb;
    note_begins(x);
    rows_meet(kg);
    KBuf *own = kb_array(b, "own", T_I32, t->w->r->each);
    KVar *latest = kb_var(b, "latest", T_I32, kg_i32(kg, 0));
    const KExp *k, *p = run_open(t, &k);
    kb_store(b, own, k, kg_to_i32(kg, kb_load(b, "begins", t->begins, p)));
    kb_end(b);
    run_open(t, &k);
    kb_set(b, latest, kg_op(kg, OP_MAX, kg_of(kg, latest), kb_load(b, "begins", own, k)));
    kb_store(b, own, k, kg_of(kg, latest));
    kb_end(b);
    no_begins(t);
    KVar *before = kb_var(b, "before", T_I32, kg_i32(kg, 0));
    find_latest(t, latest, before);
    p = run_open(t, &k);
    const KExp *row = kg_op(kg, OP_MAX, kg_of(kg, before), kb_load(b, "row", own, k));
    kb_store(b, t->row_of, p, kx_conv(kg->cx->perm, T_U16, row));
    kb_end(b);
    rows_meet(kg);
}

/* --- Its points ------------------------------------------------------------------------------- */

static void bind_point(Tile *x, const KExp *p)
{
    KGen *kg = x->kg;
    const KExp *row = x->row0;
    if (x->t->row_of && !x->one_row)
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

static Tile tile_open(RowTiles *t, const KExp *tile)
{
    Tile x = {.t = t, .w = t->w, .kg = t->w->kg};
    find_tile(&x, tile);
    if (t->row_of)
        note_rows(&x);
    return x;
}

/* Tiles in which no row ends, and of nothing but ends, need no barrier; opens the branch of the
 * others. */
static void open_usual(Tile *x, KBuf *const *own, const Carried *c)
{
    KGen *kg = x->kg;
    KBuild *b = kg->kb;
    const KExp *zero = kg_i32(kg, 0);
    kb_if(b, kg_eq(kg, x->rows, zero));
    runs_add_apart(x, own, c);
    kb_else(b);
    const KExp *begins = kg_le(kg, kg_int(kg, 0), tile_offset(x, zero));
    kb_if(b, kg_and(kg, kg_eq(kg, x->points, zero), begins));
    runs_of_none(x, c);
    kb_else(b);
}

static void close_usual(Tile *x)
{
    kb_end(x->kg->kb);
    kb_end(x->kg->kb);
}

static void one_tile(RowTiles *t, WalkWhat what, const Carried *c, const KExp *tile)
{
    Tile x = tile_open(t, tile);
    bool brief = seg_is_brief(t->w->r->e);
    if (!brief) /* others still read the stage, of the tile before; loads need not wait for that */
        rows_meet(x.kg);
    KBuf **own = compute_points(&x, what != WALK_TAILS, brief);
    if (c->apart)
        open_usual(&x, own, c);
    runs_mark_heads(&x);
    if (brief) {
        rows_meet(x.kg);
        put_points(&x, own);
    }
    if (what == WALK_REDUCE)
        runs_tell_carried(&x, c);
    rows_meet(x.kg);
    runs_sum(&x, what, c);
    if (c->apart)
        close_usual(&x);
}

static void leave_group(RowTiles *t, WalkWhat what, const Carried *c)
{
    RowsKernel *w = t->w;
    KGen *kg = w->kg;
    KBuild *b = kg->kb;
    if (what == WALK_SCAN)
        return;
    kb_if(b, runs_is_last(kg));
    rows_leave(w, accs_now(kg, &c->tail), kg_of(kg, c->ended));
    if (what == WALK_REDUCE) {
        kb_if(b, kg_eq(kg, kg_of(kg, c->ended), kg_i32(kg, 0)));
        kb_store(b, w->first, w->group, kg_int(kg, -1));
        kb_end(b);
    }
    kb_end(b);
}

/* The group's tiles: from the first to before the one that is returned. They are as many as
 * another's, or one more: compute units with a group of each kind end together. */
static const KExp *group_tiles(RowTiles *t, const KExp **from)
{
    KGen *kg = t->w->kg;
    KBuild *b = kg->kb;
    const Rows *r = t->w->r;
    const KExp *tiles = kb_let(b, "tiles", nest_total(kg, r->tiles)), *one = kg_int(kg, 1);
    const KExp *groups = kg_host(kg, r->groups), *group = t->w->group;
    const KExp *each = kb_let(b, "each", kg_quot(kg, tiles, groups));
    const KExp *more = kb_let(b, "more", kg_sub(kg, tiles, kg_mul(kg, each, groups)));
    *from = kb_let(b, "from", kg_add(kg, kg_mul(kg, group, each), kg_min(kg, group, more)));
    const KExp *to = kg_add(kg, *from, each), *next = kg_add(kg, to, one);
    return kb_let(b, "to", kx_select(kg->cx->perm, kg_lt(kg, group, more), next, to));
}

/* The loop over them. */
static const KExp *tiles_open(RowTiles *t, const KExp *from, const KExp *to)
{
    KGen *kg = t->w->kg;
    KBuild *b = kg->kb;
    const KExp *one = kg_int(kg, 1);
    t->next_row0 = kb_var(b, "row0", T_I64, start_of(t, from));
    t->next_row1 = kb_var(b, "row1", T_I64, start_of(t, kg_add(kg, from, one)));
    return kb_for(b, "tile", from, to, one);
}

/* acc := points of one row, `left` of them from `first` on, in any order: loads of a tile of them
 * are on their way together. */
static void add_points(RowTiles *t, const KExp *row, const KExp *first, const KExp *left)
{
    RowsKernel *w = t->w;
    KGen *kg = w->kg;
    KBuild *b = kg->kb;
    const KExp *all = kg_mul(kg, kg_id(kg, KID_GROUP_SIZE), kg_int(kg, w->r->each));
    const KExp *at = kb_for(b, "at", kg_int(kg, 0), left, all);
    Tile x = {.t = t, .w = w, .kg = kg, .row0 = row, .one_row = true};
    x.point0 = kb_let(b, "point0", kg_add(kg, first, at));
    x.points = kb_let(b, "points", kg_to_i32(kg, kg_min(kg, all, kg_sub(kg, left, at))));
    Accs own = w->ac;
    own.bufs = compute_points(&x, false, true);
    const KExp *k = kb_for(b, "k", kg_int(kg, 0), kg_int(kg, w->r->each), kg_int(kg, 1));
    kg_loop_unroll(kg, -1);
    accs_apply(kg, &w->ac, accs_now(kg, &w->ac), accs_load(kg, &own, k));
    kb_end(b);
    kb_end(b);
}

/* Where a tile begins, or the end: the point. */
static const KExp *point_at(RowTiles *t, const KExp *tile, const KExp *row)
{
    KGen *kg = t->w->kg;
    const KExp *items = kg_host(kg, t->w->r->items);
    const KExp *item = kg_min(kg, kg_mul(kg, tile, tile_items(t)), items);
    return kg_quot(kg, kg_sub(kg, item, row), kg_int(kg, POINT_WEIGHT));
}

const KExp *row_tiles_first(RowTiles *t)
{
    const KExp *from;
    group_tiles(t, &from);
    return start_of(t, from);
}

const KExp *row_tiles_goes_on(RowTiles *t, const KExp *row)
{
    KGen *kg = t->w->kg;
    const KExp *from;
    group_tiles(t, &from);
    return kg_lt(kg, nest_offset(kg, t->w->r->d, row), point_at(t, from, row));
}

/* What a group of a scan leaves are the points behind the last row's end in it. */
KVar *row_tiles_tail(RowTiles *t)
{
    RowsKernel *w = t->w;
    KGen *kg = w->kg;
    KBuild *b = kg->kb;
    const Exp *e = w->r->e;
    const KExp *from, *to = group_tiles(t, &from), *zero = kg_int(kg, 0);
    KVar *ended = kb_var(b, "any_ended", T_I32, kg_i32(kg, 0));
    accs_declare(kg, &w->ac, &e->seg.nes);
    kb_if(b, kg_lt(kg, from, to));
    const KExp *row0 = start_of(t, from), *row1 = start_of(t, to);
    const KExp *last_end = nest_offset(kg, w->r->d, row1);
    const KExp *first = kb_let(b, "first", kg_max(kg, last_end, point_at(t, from, row0)));
    const KExp *left = kg_max(kg, zero, kg_sub(kg, point_at(t, to, row1), first));
    Chunk n = {.beg = first,
               .len = kb_let(b, "left", left),
               .row = row1,
               .p = kg->lid,
               .threads = kg_id(kg, KID_GROUP_SIZE),
               .active = kx_bool(kg->cx->perm, true)};
    kb_set(b, ended, kg_to_i32(kg, kg_min(kg, kg_sub(kg, row1, row0), kg_int(kg, 1))));
    if (runs_in_any_order(e))
        add_points(t, row1, n.beg, n.len);
    else
        seg_accumulate(kg, e, &w->ac, &n, NULL, NULL);
    accs_tree(kg, &w->ac, &n);
    kb_end(b);
    return ended;
}

void row_tiles_leave(RowTiles *t)
{
    KGen *kg = t->w->kg;
    KVar *ended = row_tiles_tail(t);
    kb_if(kg->kb, kg_eq(kg, kg->lid, kg_int(kg, 0)));
    rows_leave(t->w, accs_now(kg, &t->w->ac), kg_of(kg, ended));
    kb_end(kg->kb);
}

Carried row_tiles_carry(RowTiles *t)
{
    RowsKernel *w = t->w;
    KGen *kg = w->kg;
    Carried c = {.tail = accs_like(kg, &w->ac)};
    accs_declare(kg, &c.tail, &w->r->e->seg.nes);
    c.ended = kb_var(kg->kb, "any_ended", T_I32, kg_i32(kg, 0));
    if (!w->r->scan && runs_in_any_order(w->r->e))
        c.apart = kb_var(kg->kb, "apart", T_I32, kg_i32(kg, 0));
    return c;
}

void row_tiles_each(RowTiles *t, WalkWhat what, const Carried *c)
{
    if (t->row_of)
        no_begins(t);
    runs_begin(t);
    const KExp *from, *to = group_tiles(t, &from);
    one_tile(t, what, c, tiles_open(t, from, to));
    kb_end(t->w->kg->kb);
    if (c->apart)
        runs_gather(t, c);
}

void row_tiles_walk(RowTiles *t, WalkWhat what)
{
    RowsKernel *w = t->w;
    KGen *kg = w->kg;
    Carried c = row_tiles_carry(t);
    for (int j = 0; what == WALK_SCAN && j < w->ac.n; j++)
        kb_set(kg->kb, c.tail.acc[j], kb_load(kg->kb, "before", w->tails[j], w->group));
    row_tiles_each(t, what, &c);
    leave_group(t, what, &c);
}

static bool are_numbers(const Vars *results)
{
    for (int j = 0; j < results->n; j++)
        if (results->at[j]->type.rank > 1)
            return false;
    return true;
}

static void store_apart(Tile *x, KBuf *const *own)
{
    RowsKernel *w = x->w;
    KGen *kg = x->kg;
    KBuild *b = kg->kb;
    const KExp *k, *p = tile_points_open(kg, w->r->each, -1, &k);
    kb_if(b, kg_lt(kg, p, x->points));
    const KExp *ix = kg_sx_of(kg, kb_let(b, "point", kg_add(kg, x->point0, kg_to_i64(kg, p))));
    for (int j = 0; j < w->r->s->pat.n; j++)
        loc_store(kg, &w->outs[j], &ix, 1, kb_load(b, "x", own[j], kg_to_i64(kg, k)));
    kb_end(b);
    kb_end(b);
}

/* Of little code: loads of all points are on their way before anything is stored. */
static void map_apart(Tile *x)
{
    RowsKernel *w = x->w;
    KGen *kg = x->kg;
    KBuild *b = kg->kb;
    const Stm *s = w->r->s;
    int n = s->pat.n;
    KBuf **own = NEWN(kg->cx->perm, KBuf *, n);
    KVar **value = NEWN(kg->cx->perm, KVar *, n);
    for (int j = 0; j < n; j++)
        own[j] = kb_array(b, "own", s->pat.at[j]->type.elem, w->r->each);
    const KExp *k, *p = tile_points_open(kg, w->r->each, -1, &k);
    for (int j = 0; j < n; j++)
        value[j] = kb_var(b, "value", own[j]->elem, kg_zero(kg, own[j]->elem));
    kb_if(b, kg_lt(kg, p, x->points));
    WorkMark m = kg_work_begin(kg);
    bind_point(x, p);
    kg_stms(kg, s->exp->seg.body);
    for (int j = 0; j < n; j++)
        kb_set(b, value[j], kg_atom(kg, s->exp->seg.body->res.at[j]));
    kg_work_end(kg, m);
    kb_end(b);
    for (int j = 0; j < n; j++)
        kb_store(b, own[j], kg_to_i64(kg, k), kg_of(kg, value[j]));
    kb_end(b);
    store_apart(x, own);
}

static void map_each(Tile *x, RowsPoint *point)
{
    KGen *kg = x->kg;
    const KExp *p = kb_for(kg->kb, "p", lid(kg), x->points, team(kg));
    WorkMark m = kg_work_begin(kg);
    bind_point(x, p);
    point(x->w);
    kg_work_end(kg, m);
    kb_end(kg->kb);
}

void row_tiles_map(RowTiles *t, RowsPoint *point)
{
    KGen *kg = t->w->kg;
    KBuild *b = kg->kb;
    const Stm *s = t->w->r->s;
    kg_if_teams(kg); /* never launched elsewhere */
    no_begins(t);
    rows_meet(kg);
    const KExp *from, *to = group_tiles(t, &from);
    Tile x = tile_open(t, tiles_open(t, from, to));
    if (seg_is_short(s->exp->seg.body, false) && are_numbers(&s->pat))
        map_apart(&x);
    else
        map_each(&x, point);
    kb_end(b);
    kb_end(b);
}
