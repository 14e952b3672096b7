/* The points of a tile summed up along their rows (see rowtiles.c). They lie in local memory, the
 * stage, a run of neighbours for each work-item, and beside them lies where rows begin, the heads:
 *
 *     points   a  b  c  d   e  f  g  h    i  j  k  l     runs of 4, three work-items
 *     heads    .  .  x  .   .  .  .  .    .  x  .  .     a row begins, another one has ended
 *     summed   a ab  c cd   e ef efg efgh i  j jk jkl    within runs, from head to head
 *     before         -           cd         cdefgh       each: of the row that goes on
 *
 * Work-items that exchange registers, a strip, scan what their runs leave, from head to head (where
 * none do, the group is one strip, and scans in local memory); what strips leave lies in local
 * memory. So two barriers are enough until sums are known: of the row that ends with h it is
 * `before` of its run, cd, and efgh; before that comes what the strips leave between the row's
 * beginning and the run's, and what tiles before this one do. */
#include "kernels/rows/rows.h"

enum { STRIP_LEAST = 2, STRIPS_UNROLL = 8, HEADS_UNROLL = 4 };

/* The points of a run and its heads: in registers where the operator is short, so that their loads
 * do not wait for what is stored between; else where they lie. */
typedef struct {
    bool apart;
    Accs points;
    KBuf *heads;
} Own;

/* A work-item's run: what it leaves is the accumulators' value. */
typedef struct {
    Tile *x;
    Own own;
    const KExp *lanes; /* does the group consist of sub-groups that exchange registers? */
    const KExp *strip; /* work-items of a strip */
    KVar *head;        /* how many of the run's points come before its first head: i32 */
    KVar *has_head;    /* i32 */
    Accs before;       /* what lies before the run in its strip, from the last head on */
    KVar *has_before;  /* ... is there such a head? i32 */
    const KExp *parts; /* of the tail of the tiles before */
} Run;

static Accs carried_locals(RowsKernel *w, const char *base, const KExp *count)
{
    Accs ac = w->ac;
    ac.bufs = NEWN(w->kg->cx->perm, KBuf *, ac.n);
    for (int j = 0; j < ac.n; j++)
        ac.bufs[j] = kg_param_local(w->kg, base, ac.types[j], count);
    return ac;
}

void runs_locals(RowTiles *t)
{
    RowsKernel *w = t->w;
    KGen *kg = w->kg;
    Ctx *cx = kg->cx;
    const KExp *strips = sx_op(cx, SX_CEILDIV, kg->group_size, sx_const(cx, STRIP_LEAST));
    t->heads = tile_marks(kg, "heads", T_U8, w->r->each);
    t->strips = w->ac;
    t->strips.bufs = NEWN(cx->perm, KBuf *, w->ac.n);
    for (int j = 0; j < w->ac.n; j++)
        t->strips.bufs[j] = kg_param_local(kg, "strip", w->ac.types[j], strips);
    t->strip_ended = kg_param_local(kg, "strip_ended", T_I32, strips);
    if (w->r->scan)
        return;
    bool apart = runs_in_any_order(w->r->e);
    t->carried = carried_locals(w, "carried", sx_const(cx, apart ? FEW_PARTS : 1));
    if (apart)
        t->parts = carried_locals(w, "parts", kg->group_size);
}

const KExp *runs_is_last(KGen *kg)
{
    return kg_eq(kg, kg->lid, kg_sub(kg, kg_id(kg, KID_GROUP_SIZE), kg_int(kg, 1)));
}

/* A point of the run: its number in it, and in the tile; its place in the stage. */
typedef struct {
    const KExp *k, *number, *at;
} RunPoint;

/* Is the loop over a run's points straight code? */
static bool is_unrolled(const Tile *x)
{
    return seg_is_short(x->w->r->e->seg.op->body, true);
}

/* The loop over them. A run has no gap within: it is a part of what lies between two. */
static RunPoint run_open(Tile *x)
{
    KGen *kg = x->kg;
    KBuild *b = kg->kb;
    const KExp *each = kg_int(kg, x->w->r->each), *first = kg_mul(kg, kg->lid, each);
    const KExp *gaps = kg_mul(kg, kg_quot(kg, first, kg_int(kg, GAP_EVERY)), kg_int(kg, GAP));
    RunPoint p = {.k = kb_for(b, "k", kg_int(kg, 0), each, kg_int(kg, 1))};
    if (is_unrolled(x))
        kg_loop_unroll(kg, -1);
    p.number = kb_let(b, "p", kg_add(kg, first, p.k));
    p.at = kb_let(b, "at", kg_add(kg, p.number, gaps));
    return p;
}

/* --- Heads ------------------------------------------------------------------------------------ */

static const KExp *no_head(KGen *kg)
{
    return kx_conv(kg->cx->perm, T_U8, kg_int(kg, 0));
}

void runs_begin(RowTiles *t)
{
    KGen *kg = t->w->kg;
    const KExp *k, *p = tile_points_open(kg, t->w->r->each, -1, &k);
    kb_store(kg->kb, t->heads, kg_to_i64(kg, p), no_head(kg));
    kb_end(kg->kb);
    rows_meet(kg);
}

/* Opens the loop over the work-item's rows, of those that end in the tile. */
static const KExp *rows_open(Tile *x)
{
    KGen *kg = x->kg;
    const KExp *size = kg_to_i32(kg, kg_id(kg, KID_GROUP_SIZE)), *lid = kg_to_i32(kg, kg->lid);
    return kb_for(kg->kb, "r", lid, x->rows, size);
}

/* Where such a row ends, counted from the tile's first point: i32. */
static const KExp *end_of_row(Tile *x, const KExp *r)
{
    const KExp *next = kg_op(x->kg, OP_ADD, r, kg_i32(x->kg, 1));
    return kb_let(x->kg->kb, "to", kg_to_i32(x->kg, tile_offset(x, next)));
}

/* Where a row ends that is followed by points the next one begins that has some. */
void runs_mark_heads(Tile *x)
{
    KGen *kg = x->kg;
    KBuild *b = kg->kb;
    x->end = kb_let(b, "last_end", x->end);
    const KExp *r = rows_open(x);
    kg_loop_unroll(kg, HEADS_UNROLL);
    const KExp *end = end_of_row(x, r);
    kb_if(b, kg_lt(kg, end, x->points));
    kb_store(b, x->t->heads, kg_to_i64(kg, end), kx_conv(kg->cx->perm, T_U8, kg_int(kg, 1)));
    kb_end(b);
    kb_end(b);
}

/* --- Sums ------------------------------------------------------------------------------------- */

static KBuf *array_of_run(Tile *x, PrimType t)
{
    return kb_array(x->kg->kb, "own", t, x->w->r->each);
}

/* The head of a point that lies in local memory. */
static const KExp *head_of(Tile *x, const RunPoint *p)
{
    return kb_load(x->kg->kb, "head", x->t->heads, p->number);
}

/* None is one for the next tile. */
static void clear_heads(Tile *x)
{
    KBuild *b = x->kg->kb;
    RunPoint p = run_open(x);
    kb_store(b, x->t->heads, p.number, no_head(x->kg));
    kb_end(b);
}

static Own load_run(Tile *x, const Accs *stage)
{
    KBuild *b = x->kg->kb;
    Own own = {.apart = is_unrolled(x), .points = *stage};
    if (!own.apart)
        return own;
    own.heads = array_of_run(x, T_U8);
    own.points.bufs = NEWN(x->kg->cx->perm, KBuf *, stage->n);
    for (int j = 0; j < stage->n; j++)
        own.points.bufs[j] = array_of_run(x, stage->types[j]);
    RunPoint p = run_open(x);
    kb_store(b, own.heads, p.k, head_of(x, &p));
    for (int j = 0; j < stage->n; j++)
        kb_store(b, own.points.bufs[j], p.k, kb_load(b, "x", stage->bufs[j], p.at));
    kb_end(b);
    return own;
}

static void put_run(Tile *x, const Own *own, const Accs *stage)
{
    KBuild *b = x->kg->kb;
    RunPoint p = run_open(x);
    for (int j = 0; j < stage->n; j++)
        kb_store(b, stage->bufs[j], p.at, kb_load(b, "x", own->points.bufs[j], p.k));
    kb_end(b);
}

/* wanted: do others ask for the sums, before finish_runs? */
static void sum_run(Run *u, bool wanted)
{
    Tile *x = u->x;
    KGen *kg = x->kg;
    KBuild *b = kg->kb;
    const Accs *ac = &x->w->ac;
    const Exp *e = x->w->r->e;
    Accs stage = *ac;
    stage.bufs = x->t->stage;
    bool traps = body_traps(e->seg.op->body); /* of neutral values, behind the last point */
    Own own = u->own = load_run(x, &stage);
    RunPoint p = run_open(x);
    const KExp *at = own.apart ? p.k : p.at;
    if (traps)
        kb_if(b, kg_lt(kg, kg_to_i32(kg, p.number), x->points));
    kb_if(b, rows_is_set(kg, own.apart ? kb_load(b, "head", own.heads, p.k) : head_of(x, &p)));
    accs_set(kg, ac, accs_atoms(kg, ac, e->seg.nes.at));
    kb_set(b, u->head, kg_op(kg, OP_MIN, kg_of(kg, u->head), kg_to_i32(kg, p.k)));
    kb_set(b, u->has_head, kg_i32(kg, 1));
    kb_end(b);
    accs_apply(kg, ac, accs_now(kg, ac), accs_load(kg, &own.points, at));
    accs_put(kg, &own.points, at);
    if (traps)
        kb_end(b);
    kb_end(b);
    if (own.apart && wanted)
        put_run(x, &own, &stage);
    clear_heads(x);
}

/* What the strip leaves. */
static void leave_strip(Run *u, const KExp *strip)
{
    Tile *x = u->x;
    Accs left = x->w->ac;
    left.bufs = x->t->strips.bufs;
    accs_put(x->kg, &left, strip);
    kb_store(x->kg->kb, x->t->strip_ended, strip, kg_of(x->kg, u->has_head));
}

static void scan_in_lanes(Run *u)
{
    KGen *kg = u->x->kg;
    KBuild *b = kg->kb;
    const Accs *ac = &u->x->w->ac;
    const KExp *lane = kg_id(kg, KID_LANE), *lanes = kg_id(kg, KID_LANES), *one = kg_int(kg, 1);
    const KExp *d = kb_for_times(b, "d", one, lanes, 2), *from = kg_sub(kg, lane, d);
    kg_loop_unroll(kg, -1);
    const KExp **left = accs_of_lane(kg, ac, from), *head = kg_of_lane(kg, u->has_head, from);
    const KExp *open = kg_eq(kg, kg_of(kg, u->has_head), kg_zero(kg, T_I32));
    kb_if(b, kg_and(kg, kg_le(kg, d, lane), open));
    accs_apply(kg, ac, left, accs_now(kg, ac));
    kb_set(b, u->has_head, head);
    kb_end(b);
    kb_end(b);
    left = accs_of_lane(kg, ac, kg_sub(kg, lane, one));
    head = kg_of_lane(kg, u->has_head, kg_sub(kg, lane, one));
    kb_if(b, kg_lt(kg, kg_int(kg, 0), lane));
    accs_set(kg, &u->before, left);
    kb_set(b, u->has_before, head);
    kb_end(b);
    kb_if(b, kg_eq(kg, lane, kg_sub(kg, lanes, one)));
    leave_strip(u, kg_quot(kg, kg->lid, lanes));
    kb_end(b);
}

static void scan_in_memory(Run *u)
{
    RowsKernel *w = u->x->w;
    KGen *kg = u->x->kg;
    KBuild *b = kg->kb;
    const KExp *size = kg_id(kg, KID_GROUP_SIZE), *zero = kg_int(kg, 0), *one = kg_int(kg, 1);
    rows_scan_tails(w, u->has_head);
    kb_if(b, kg_lt(kg, zero, kg->lid));
    const KExp *beside = kb_let(b, "beside", kg_sub(kg, kg->lid, one));
    accs_set(kg, &u->before, accs_load(kg, &w->ac, beside));
    kb_set(b, u->has_before, kb_load(b, "flag", w->flags, beside));
    kb_end(b);
    kb_if(b, kg_eq(kg, kg->lid, kg_sub(kg, size, one)));
    leave_strip(u, zero);
    kb_end(b);
}

/* Behind the barrier the strips' sums are known, and to a reduction `before` of each run. */
static void scan_runs(Run *u, bool tell)
{
    Tile *x = u->x;
    KGen *kg = x->kg;
    KBuild *b = kg->kb;
    kb_if(b, u->lanes);
    scan_in_lanes(u);
    kb_else(b);
    scan_in_memory(u);
    kb_end(b);
    Accs before = u->before;
    before.bufs = x->w->ac.beside;
    if (tell)
        accs_put(kg, &before, kg->lid);
    rows_meet(kg);
}

/* acc := what the strip leaves, behind acc */
static void add_strip(Tile *x, const Accs *acc, const KExp *strip)
{
    KBuild *b = x->kg->kb;
    const KExp *ended = rows_is_set(x->kg, kb_load(b, "ended", x->t->strip_ended, strip));
    rows_add_tail(x->w, acc, accs_load(x->kg, &x->t->strips, strip), ended);
}

/* --- Rows ------------------------------------------------------------------------------------- */

/* sum := of the points from `from` to `to`-1, some of the tile's, which are the row's in it. */
static void sum_points(const Run *u, const Accs *sum, const KExp *from, const KExp *to)
{
    Tile *x = u->x;
    KGen *kg = x->kg;
    KBuild *b = kg->kb;
    Accs stage = *sum, before = *sum, strips = *sum;
    stage.bufs = x->t->stage;
    before.bufs = x->w->ac.beside;
    strips.bufs = x->t->strips.bufs;
    const KExp *each = kg_i32(kg, x->w->r->each);
    const KExp *last = kb_let(b, "last", kg_op(kg, OP_SUB, to, kg_i32(kg, 1)));
    accs_set(kg, sum, accs_load(kg, &stage, kb_let(b, "at", tile_place(kg, last))));
    const KExp *run = kb_let(b, "run", kg_quot(kg, kg_to_i64(kg, last), kg_int(kg, x->w->r->each)));
    kb_if(b, kg_lt(kg, from, kg_op(kg, OP_MUL, kg_to_i32(kg, run), each)));
    accs_apply(kg, sum, accs_load(kg, &before, run), accs_now(kg, sum));
    KVar *at = kb_var(b, "at", T_I32, kg_to_i32(kg, kg_quot(kg, run, u->strip)));
    const KExp *points = kb_let(b, "points", kg_op(kg, OP_MUL, kg_to_i32(kg, u->strip), each));
    const KExp *earlier = kg_lt(kg, from, kg_op(kg, OP_MUL, kg_of(kg, at), points));
    kb_while(b, kg_and(kg, kg_lt(kg, kg_i32(kg, 0), kg_of(kg, at)), earlier));
    kb_set(b, at, kg_op(kg, OP_SUB, kg_of(kg, at), kg_i32(kg, 1)));
    accs_apply(kg, sum, accs_load(kg, &strips, kg_to_i64(kg, kg_of(kg, at))), accs_now(kg, sum));
    kb_end(b);
    kb_end(b);
}

static void store_row(Tile *x, const KExp *r, const Accs *sum, const Carried *c)
{
    RowsKernel *w = x->w;
    KGen *kg = x->kg;
    KBuild *b = kg->kb;
    const KExp *zero = kg_i32(kg, 0);
    const KExp *row = kb_let(b, "row", kg_add(kg, x->row0, kg_to_i64(kg, r)));
    rows_store(w, row, accs_now(kg, sum));
    if (w->first) {
        const KExp *none = kg_eq(kg, kg_of(kg, c->ended), zero);
        kb_if(b, kg_and(kg, kg_eq(kg, r, zero), none));
        kb_store(b, w->first, w->group, row);
        kb_end(b);
    }
}

/* Each row that ends in the tile. The first one is that of the group's first work-item. */
static void store_rows(const Run *u, const Carried *c)
{
    Tile *x = u->x;
    RowsKernel *w = x->w;
    KGen *kg = x->kg;
    KBuild *b = kg->kb;
    const KExp *zero = kg_i32(kg, 0);
    const KExp *r = rows_open(x);
    const KExp *since = kg_max(kg, tile_offset(x, r), kg_int(kg, -1));
    const KExp *from = kb_let(b, "from", kg_to_i32(kg, since));
    const KExp *to = end_of_row(x, r);
    Accs sum = accs_like(kg, &w->ac);
    accs_declare(kg, &sum, &w->r->e->seg.nes);
    kb_if(b, kg_lt(kg, kg_op(kg, OP_MAX, from, zero), to));
    sum_points(u, &sum, from, to);
    kb_end(b);
    kb_if(b, kg_lt(kg, from, zero));
    const KExp *part = kb_for(b, "part", kg_int(kg, 0), u->parts, kg_int(kg, 1));
    accs_apply(kg, &sum, accs_load(kg, &x->t->carried, part), accs_now(kg, &sum));
    kb_end(b);
    kb_end(b);
    store_row(x, r, &sum, c);
    kb_end(b);
}

/* The scanned points go to their places. */
static void store_points(Tile *x)
{
    RowsKernel *w = x->w;
    KGen *kg = x->kg;
    KBuild *b = kg->kb;
    const KExp *k, *p = tile_points_open(kg, w->r->each, -1, &k);
    kb_if(b, kg_lt(kg, p, x->points));
    const KExp *at = kb_let(b, "at", tile_place(kg, p));
    const KExp *ix = kg_sx_of(kg, kb_let(b, "point", kg_add(kg, x->point0, kg_to_i64(kg, p))));
    for (int j = 0; j < w->ac.n; j++)
        loc_store(kg, &w->outs[j], &ix, 1, kb_load(b, "x", x->t->stage[j], at));
    kb_end(b);
    kb_end(b);
}

/* Each run's points before its first head, behind what lies before the run. */
static void finish_runs(const Run *u, const Carried *c)
{
    Tile *x = u->x;
    KGen *kg = x->kg;
    KBuild *b = kg->kb;
    const Accs *ac = &x->w->ac;
    Accs before = accs_copy(kg, &c->tail, "before"), sum = accs_like(kg, ac), stage = *ac;
    stage.bufs = x->t->stage;
    const KExp *strips = kb_let(b, "strips", kg_quot(kg, kg->lid, u->strip));
    add_strip(x, &before, kb_for(b, "strip", kg_int(kg, 0), strips, kg_int(kg, 1)));
    kb_end(b);
    rows_add_tail(x->w, &before, accs_now(kg, &u->before),
                  rows_is_set(kg, kg_of(kg, u->has_before)));
    RunPoint p = run_open(x);
    const KExp *at = u->own.apart ? p.k : p.at;
    kb_if(b, kg_lt(kg, kg_to_i32(kg, p.k), kg_of(kg, u->head)));
    accs_declare(kg, &sum, &x->w->r->e->seg.nes);
    accs_apply(kg, &sum, accs_now(kg, &before), accs_load(kg, &u->own.points, at));
    sum.bufs = u->own.points.bufs;
    accs_put(kg, &sum, at);
    kb_end(b);
    kb_end(b);
    if (u->own.apart)
        put_run(x, &u->own, &stage);
}

/* --- A tile ----------------------------------------------------------------------------------- */

/* Behind the last row that ends here lies nothing, or what the strips have left since. */
static void carry_on(const Run *u, const Carried *c)
{
    Tile *x = u->x;
    KGen *kg = x->kg;
    KBuild *b = kg->kb;
    const KExp *size = kg_id(kg, KID_GROUP_SIZE);
    const KExp *strips = kb_let(b, "strips", kg_quot(kg, size, u->strip));
    const KExp *strip = kb_for(b, "strip", kg_int(kg, 0), strips, kg_int(kg, 1));
    kg_loop_unroll(kg, STRIPS_UNROLL);
    add_strip(x, &c->tail, strip);
    kb_end(b);
    const KExp *some = kg_lt(kg, kg_i32(kg, 0), x->rows);
    kb_if(b, kg_and(kg, some, kg_eq(kg, x->end, x->points)));
    accs_set(kg, &c->tail, accs_atoms(kg, &x->w->ac, x->w->r->e->seg.nes.at));
    kb_end(b);
}

static Run run_of(Tile *x)
{
    KGen *kg = x->kg;
    KBuild *b = kg->kb;
    const Accs *ac = &x->w->ac;
    const Atoms *nes = &x->w->r->e->seg.nes;
    Run u = {.x = x, .lanes = accs_have_lanes(kg), .before = accs_like(kg, ac)};
    const KExp *lanes = kg_id(kg, KID_LANES), *size = kg_id(kg, KID_GROUP_SIZE);
    u.strip = kx_select(kg->cx->perm, u.lanes, lanes, size);
    accs_declare(kg, ac, nes);
    accs_declare(kg, &u.before, nes);
    u.head = kb_var(b, "first_head", T_I32, kg_i32(kg, x->w->r->each));
    u.has_head = kb_var(b, "has_head", T_I32, kg_i32(kg, 0));
    u.has_before = kb_var(b, "has_before", T_I32, kg_i32(kg, 0));
    return u;
}

/* The tail goes to the first row that ends, in one part or one of each work-item. */
void runs_tell_carried(Tile *x, const Carried *c)
{
    KGen *kg = x->kg;
    KBuild *b = kg->kb;
    Accs carried = c->tail, parts = c->tail;
    carried.bufs = x->t->carried.bufs;
    parts.bufs = x->t->parts.bufs;
    if (c->apart) {
        kb_if(b, rows_is_set(kg, kg_of(kg, c->apart)));
        accs_put(kg, &parts, kg->lid);
        kb_else(b);
    }
    kb_if(b, runs_is_last(kg));
    accs_put(kg, &carried, kg_int(kg, 0));
    kb_end(b);
    if (c->apart)
        kb_end(b);
}

/* Behind a barrier: some work-items make few of many parts, before the next one. */
static void fold_carried(Run *u, const Carried *c)
{
    Tile *x = u->x;
    KGen *kg = x->kg;
    KBuild *b = kg->kb;
    u->parts = kg_int(kg, 1);
    if (!c->apart)
        return;
    const KExp *apart = rows_is_set(kg, kg_of(kg, c->apart)), *size = kg_id(kg, KID_GROUP_SIZE);
    const KExp *few = kb_let(b, "few", kg_min(kg, size, kg_int(kg, FEW_PARTS)));
    u->parts = kb_let(b, "parts", kx_select(kg->cx->perm, apart, few, u->parts));
    Accs sum = accs_like(kg, &x->w->ac);
    sum.bufs = x->t->carried.bufs;
    kb_if(b, kg_and(kg, apart, kg_lt(kg, kg->lid, few)));
    accs_declare(kg, &sum, &x->w->r->e->seg.nes);
    const KExp *part = kb_for(b, "part", kg->lid, size, few);
    accs_apply(kg, &sum, accs_now(kg, &sum), accs_load(kg, &x->t->parts, part));
    kb_end(b);
    accs_put(kg, &sum, kg->lid);
    kb_end(b);
    accs_set(kg, &c->tail, accs_atoms(kg, &c->tail, x->w->r->e->seg.nes.at));
    kb_set(b, c->apart, kg_i32(kg, 0));
}

/* --- Tiles in which no row ends, or no point lies --------------------------------------------- */

bool runs_in_any_order(const Exp *e)
{
    return seg_is_brief(e) && op_is_comm(e) && !body_traps(e->seg.op->body);
}

void runs_add_apart(Tile *x, KBuf *const *own, const Carried *c)
{
    KGen *kg = x->kg;
    Accs points = c->tail;
    points.bufs = (KBuf **)own;
    const KExp *k = kb_for(kg->kb, "k", kg_int(kg, 0), kg_int(kg, x->w->r->each), kg_int(kg, 1));
    kg_loop_unroll(kg, -1);
    accs_apply(kg, &c->tail, accs_now(kg, &c->tail), accs_load(kg, &points, k));
    kb_end(kg->kb);
    kb_set(kg->kb, c->apart, kg_i32(kg, 1));
}

void runs_gather(RowTiles *t, const Carried *c)
{
    RowsKernel *w = t->w;
    KGen *kg = w->kg;
    const KExp *size = kg_id(kg, KID_GROUP_SIZE);
    Chunk all = {.threads = size, .p = kg->lid, .active = kx_bool(kg->cx->perm, true)};
    Accs tail = c->tail;
    tail.bufs = w->ac.bufs;
    accs_tree(kg, &tail, &all);
    rows_meet(kg);
    kb_if(kg->kb, runs_is_last(kg));
    accs_set(kg, &tail, accs_load(kg, &tail, kg_int(kg, 0)));
    kb_end(kg->kb);
}

void runs_of_none(Tile *x, const Carried *c)
{
    KGen *kg = x->kg;
    Accs none = accs_like(kg, &x->w->ac);
    const KExp *r = rows_open(x);
    accs_declare(kg, &none, &x->w->r->e->seg.nes);
    store_row(x, r, &none, c);
    kb_end(kg->kb);
    kb_set(kg->kb, c->ended, kg_i32(kg, 1));
}

void runs_sum(Tile *x, WalkWhat what, const Carried *c)
{
    KGen *kg = x->kg;
    KBuild *b = kg->kb;
    Run u = run_of(x);
    if (what == WALK_REDUCE)
        fold_carried(&u, c);
    sum_run(&u, what == WALK_REDUCE);
    scan_runs(&u, what == WALK_REDUCE);
    if (what == WALK_REDUCE)
        store_rows(&u, c);
    if (what == WALK_SCAN) {
        finish_runs(&u, c);
        rows_meet(kg);
        store_points(x);
        carry_on(&u, c);
    } else {
        kb_if(b, runs_is_last(kg));
        carry_on(&u, c);
        kb_end(b);
    }
    kb_set(b, c->ended,
           kg_op(kg, OP_MAX, kg_of(kg, c->ended), kg_op(kg, OP_MIN, x->rows, kg_i32(kg, 1))));
}
