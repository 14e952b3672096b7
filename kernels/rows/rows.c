/* Rows of a ragged nest: what the kernels of teams and of those who work alone share (see
 * segrows.c). */
#include "kernels/rows/rows.h"

enum {
    RUN_BYTES = 16,   /* of a run that are loaded at a time, at most */
    MOST_EACH = 8,    /* points of a work-item, a power of 2 up to GAP_EVERY */
    STAGE_BYTES = 64, /* of local memory for its points */
    MOST_GROUP = 128, /* work-items; a tile has at most 2^15 items */
    LEAST_GROUP = 32,
    SMALL_LOCAL = 16384, /* bytes of local memory that all devices have */
    /* Groups, by eighths of those that fill a device: of maps and reductions so many that the last
     * ones do not run almost alone; of reductions whose points are a load each few, since to begin
     * takes a group as long as some tiles of these; less if one group adds up what they leave; of a
     * scan as many as run at once: they sum up what they leave before they begin. */
    MAP_GROUPS = 64,
    RED_GROUPS = 32,
    LOAD_GROUPS = 20,
    CARRY_GROUPS = 16,
    SCAN_GROUPS = 10
};

int rows_value_bytes(const Exp *e)
{
    int bytes = 0;
    for (int j = 0; j < e->seg.nes.n; j++)
        bytes += prim_type_bytes[e->seg.op->params.at[j]->type.elem];
    return bytes;
}

static int each_of(const Exp *e)
{
    int each = MOST_EACH;
    while (each > 2 && each * rows_value_bytes(e) > STAGE_BYTES)
        each /= 2;
    return each;
}

/* Bytes of local memory for a work-item, rounded up: what the group says of each value and flag, a
 * part of what is carried on, the stage with its gaps, heads, a strip's value and flag (rowruns.c),
 * and what points of which somebody asks the row want: marks, and the latest row twice
 * (rowtiles.c). */
static int local_bytes(const Exp *e)
{
    enum { FLAG = 4, ROW = 2, LATEST = 4 };
    int value = rows_value_bytes(e), each = each_of(e), stage = each * value;
    int runs = each + (value + FLAG + 1) / 2, rows = 2 * (each * ROW + LATEST);
    return 3 * value + 2 * FLAG + stage + stage * GAP / GAP_EVERY + runs + rows;
}

/* The largest group that has the local memory that it needs: that of its work-items, a few parts of
 * what is carried on, and what its buffers, six for each value and others, are rounded up by. */
static const KExp *most_group(Ctx *cx, const Exp *e)
{
    enum { ROUND = 16, OTHERS = 10 };
    const KExp *local = sx_size(cx, SIZE_LOCAL_MEMORY), *group = sx_const(cx, LEAST_GROUP);
    for (int64_t n = 2 * LEAST_GROUP; n <= MOST_GROUP; n *= 2) {
        int64_t bytes = n * local_bytes(e) + FEW_PARTS * rows_value_bytes(e);
        bytes += ROUND * (6 * e->seg.nes.n + OTHERS);
        const KExp *fits = sx_op(cx, SX_DIV, local, sx_const(cx, bytes));
        bool always = bytes <= SMALL_LOCAL;
        group = always ? sx_const(cx, n) : sx_select(cx, fits, sx_const(cx, n), group);
    }
    return group;
}

/* Of an array that is not the same for all points? */
static bool loads_own(const Exp *e)
{
    return e->kind == E_INDEX && e->index.at.at[0].start.var;
}

static bool loads_once(const Exp *e)
{
    int loads = 0;
    for (int i = 0; i < e->seg.body->stms.n; i++)
        loads += loads_own(e->seg.body->stms.at[i].exp);
    return seg_is_brief(e) && loads <= 1;
}

/* How many groups there are, by eighths of those that fill a device. */
static const KExp *eighths_of(Ctx *cx, const Exp *e, bool scan)
{
    if (e->kind == E_SEGMAP)
        return sx_const(cx, MAP_GROUPS);
    const KExp *back = sx_size(cx, SIZE_LOOKS_BACK);
    int reduced = loads_once(e) ? LOAD_GROUPS : RED_GROUPS;
    return scan ? sx_const(cx, SCAN_GROUPS)
                : sx_select(cx, back, sx_const(cx, reduced), sx_const(cx, CARRY_GROUPS));
}

/* A team's shares are as large as its local memory is for, and groups have several tiles; who works
 * alone has as much as gives work to all. */
Rows rows_plan(PlanBuild *pb, const Stm *s, const ArrLoc *outs, bool scan)
{
    Ctx *cx = pb->cx;
    const Exp *e = s->exp;
    Rows r = {.pb = pb, .s = s, .e = e, .d = &e->seg.nest.at[0], .outs = outs, .scan = scan};
    r.each = each_of(e);
    r.group_size = pb_let(pb, "group", sx_op(cx, SX_MIN, sx_team_size(cx), most_group(cx, e)));
    const KExp *several = sx_teams(cx);
    const KExp *weight = sx_select(cx, several, sx_const(cx, POINT_WEIGHT), sx_const(cx, 1));
    const KExp *points = sx_mul(cx, sx_atom(cx, r.d->width), weight);
    r.items = pb_let(pb, "items", sx_add(cx, sx_atom(cx, r.d->rows), points));
    const KExp *fill = sx_size(cx, SIZE_NUM_GROUPS);
    const KExp *all = sx_mul(cx, fill, sx_size(cx, SIZE_GROUP_SIZE));
    const KExp *worth = sx_size(cx, SIZE_ITEM_ELEMS);
    const KExp *alone = sx_op(cx, SX_MAX, worth, sx_op(cx, SX_CEILDIV, r.items, all));
    const KExp *each = sx_const(cx, r.each * POINT_WEIGHT);
    r.share = pb_let(pb, "share", sx_select(cx, several, each, alone));
    const KExp *tile = sx_mul(cx, r.share, r.group_size);
    r.tiles = pb_let(pb, "tiles", sx_op(cx, SX_CEILDIV, r.items, tile));
    const KExp *most = sx_mul(cx, fill, eighths_of(cx, e, scan));
    most = sx_op(cx, SX_CEILDIV, most, sx_const(cx, 8));
    const KExp *some = sx_op(cx, SX_MIN, r.tiles, most);
    r.groups = pb_let(pb, "groups", sx_select(cx, several, some, r.tiles));
    const KExp *starts = sx_add(cx, r.tiles, sx_const(cx, 1));
    r.starts = pb_alloc(pb, "starts", sx_mul(cx, starts, sx_const(cx, 8)));
    return r;
}

RowsKernel rows_kernel(const Rows *r, const char *kind)
{
    KGen *kg = kg_new(r->pb, kind, r->e);
    Ctx *cx = kg->cx;
    RowsKernel w = {.r = r, .kg = kg, .group = kg_id(kg, KID_GROUP)};
    kg->guard = true; /* what was computed before tells where rows begin */
    kg->sized = true;
    kg->group_size = r->group_size;
    kg->max_threads = sx_const(cx, 1); /* bodies with memory of threads are refused */
    w.ac = accs_new(kg, r->e);
    accs_local(kg, &w.ac, true);
    w.flags = kg_param_local(kg, "flags", T_I32, kg->group_size);
    w.flags_beside = kg_param_local(kg, "flags_beside", T_I32, kg->group_size);
    if (!r->tails)
        return w;
    w.tails = NEWN(cx->perm, KBuf *, w.ac.n);
    for (int j = 0; j < w.ac.n; j++)
        w.tails[j] = kg_param_mem(kg, r->tails[j], w.ac.types[j]);
    w.ended = kg_param_mem(kg, r->ended, T_I32);
    return w;
}

void rows_declare(RowsKernel *w)
{
    KGen *kg = w->kg;
    accs_declare(kg, &w->ac, &w->r->e->seg.nes);
    w->has_ended = kb_var(kg->kb, "has_ended", T_BOOL, kx_bool(kg->cx->perm, false));
    w->found = NEWN(kg->cx->perm, KVar *, w->ac.n);
    for (int j = 0; j < w->ac.n; j++)
        w->found[j] = kb_var(kg->kb, "found", w->ac.types[j], kg_of(kg, w->ac.acc[j]));
}

typedef struct {
    RowsKernel *w;
    const KExp *item;
    int weight; /* items of a point */
} Before;

/* A row's end is an item behind those of the row, and of the rows before it. */
static const KExp *ends_before(KGen *kg, void *env, const KExp *row)
{
    const Before *x = env;
    const KExp *end = nest_offset(kg, x->w->r->d, kg_add(kg, row, kg_int(kg, 1)));
    return kg_lt(kg, kg_add(kg, kg_mul(kg, end, kg_int(kg, x->weight)), row), x->item);
}

typedef const KExp *Search(KGen *kg, const KExp *from, const KExp *to, NestBefore *before,
                           void *env);

static const KExp *find_before(Before *x, Search *search)
{
    KGen *kg = x->w->kg;
    const NestDim *d = x->w->r->d;
    const KExp *points = kg_mul(kg, kg_atom(kg, d->width), kg_int(kg, x->weight));
    const KExp *least = kg_max(kg, kg_int(kg, 0), kg_sub(kg, x->item, points));
    return search(kg, least, kg_min(kg, x->item, kg_atom(kg, d->rows)), ends_before, x);
}

const KExp *rows_before(RowsKernel *w, const KExp *item)
{
    return find_before(&(Before){w, item, 1}, nest_bisect);
}

void rows_launch_starts(const Rows *r)
{
    Ctx *cx = r->pb->cx;
    Recall once;
    pb_recall_begin(r->pb, &once);
    KGen *kg = kg_new(r->pb, "row_tiles", r->e);
    RowsKernel w = {.r = r, .kg = kg};
    kg->guard = true;
    KBuf *starts = kg_param_mem(kg, r->starts, T_I64);
    const KExp *n = sx_add(cx, r->tiles, sx_const(cx, 1));
    const KExp *tile = nest_open(kg, n), *size = kg_host(kg, sx_mul(cx, r->share, r->group_size));
    const KExp *item = kg_min(kg, kg_mul(kg, tile, size), kg_host(kg, r->items));
    Before x = {&w, kb_let(kg->kb, "item", item), POINT_WEIGHT};
    kb_store(kg->kb, starts, tile, find_before(&x, nest_search)); /* many, and others wait */
    nest_close(kg);
    nest_finish(kg, n);
    Mems found = {0};
    vec_push(cx->scratch, &found, r->starts);
    pb_recall_end(r->pb, &once, &found);
}

void rows_store(RowsKernel *w, const KExp *row, const KExp *const *x)
{
    KGen *kg = w->kg;
    const KExp *at = kg_sx_of(kg, kb_let(kg->kb, "row", row));
    for (int j = 0; j < w->ac.n; j++)
        loc_store(kg, &w->outs[j], &at, 1, x[j]);
}

const KExp **rows_point(RowsKernel *w, bool maps)
{
    KGen *kg = w->kg;
    const Exp *e = w->r->e;
    if (maps)
        seg_hint_maps(kg, e, w->outs, w->r->s);
    kg_stms(kg, e->seg.body);
    if (maps)
        seg_store_maps(kg, e, w->outs, w->r->s);
    return accs_atoms(kg, &w->ac, e->seg.body->res.at);
}

void rows_end(RowsKernel *w, WalkWhat what, const KExp *row)
{
    KGen *kg = w->kg;
    KBuild *b = kg->kb;
    const Accs *ac = &w->ac;
    if (what == WALK_REDUCE) {
        kb_if(b, kg_of(kg, w->has_ended));
        rows_store(w, row, accs_now(kg, ac));
        kb_else(b);
        for (int j = 0; j < ac->n; j++)
            kb_set(b, w->found[j], kg_of(kg, ac->acc[j]));
        kb_end(b);
    }
    accs_set(kg, ac, accs_atoms(kg, ac, w->r->e->seg.nes.at));
    kb_set(b, w->has_ended, kx_bool(kg->cx->perm, true));
}

/* --- Tails ------------------------------------------------------------------------------------ */

static void put_tail(RowsKernel *w, KBuf **to, KBuf *flags, KVar *flag)
{
    Accs right = w->ac;
    right.bufs = to;
    accs_put(w->kg, &right, w->kg->lid);
    kb_store(w->kg->kb, flags, w->kg->lid, kg_of(w->kg, flag));
}

/* One reads one buffer and writes the other, so that a barrier a step is enough. */
static void tail_step(RowsKernel *w, KVar *flag, const KExp *d, bool back)
{
    KGen *kg = w->kg;
    KBuild *b = kg->kb;
    Accs left = w->ac;
    KBuf *from = back ? w->flags_beside : w->flags, *to = back ? w->flags : w->flags_beside;
    left.bufs = back ? w->ac.beside : w->ac.bufs;
    const KExp *open = kg_eq(kg, kg_of(kg, flag), kg_zero(kg, T_I32));
    kb_if(b, kg_and(kg, kg_le(kg, d, kg->lid), open));
    const KExp *beside = kb_let(b, "beside", kg_sub(kg, kg->lid, d));
    accs_apply(kg, &w->ac, accs_load(kg, &left, beside), accs_now(kg, &w->ac));
    kb_set(b, flag, kb_load(b, "flag", from, beside));
    kb_end(b);
    put_tail(w, back ? w->ac.bufs : w->ac.beside, to, flag);
    rows_meet(kg);
}

void rows_scan_tails(RowsKernel *w, KVar *flag)
{
    KGen *kg = w->kg;
    KBuild *b = kg->kb;
    put_tail(w, w->ac.bufs, w->flags, flag);
    rows_meet(kg);
    const KExp *d = kb_for_times(b, "d", kg_int(kg, 1), kg_id(kg, KID_GROUP_SIZE), 4);
    tail_step(w, flag, d, false);
    tail_step(w, flag, kg_mul(kg, kg_int(kg, 2), d), true);
    kb_end(b);
}

Accs rows_before_in_group(RowsKernel *w, KVar **ended)
{
    KGen *kg = w->kg;
    KBuild *b = kg->kb;
    Accs before = accs_like(kg, &w->ac);
    accs_declare(kg, &before, &w->r->e->seg.nes);
    *ended = kb_var(b, "ended", T_I32, kg_zero(kg, T_I32));
    kb_if(b, kg_lt(kg, kg_int(kg, 0), kg->lid));
    const KExp *left = kb_let(b, "beside", kg_sub(kg, kg->lid, kg_int(kg, 1)));
    accs_set(kg, &before, accs_load(kg, &w->ac, left));
    kb_set(b, *ended, kb_load(b, "flag", w->flags, left));
    kb_end(b);
    return before;
}

void rows_leave(RowsKernel *w, const KExp *const *tail, const KExp *ended)
{
    KBuild *b = w->kg->kb;
    for (int j = 0; j < w->ac.n; j++)
        kb_store(b, w->tails[j], w->group, tail[j]);
    kb_store(b, w->ended, w->group, ended);
}

void rows_add_tail(RowsKernel *w, const Accs *acc, const KExp *const *x, const KExp *ended)
{
    KGen *kg = w->kg;
    KBuild *b = kg->kb;
    kb_if(b, ended);
    accs_set(kg, acc, (const KExp **)(uintptr_t)x);
    kb_else(b);
    accs_apply(kg, acc, accs_now(kg, acc), (const KExp **)(uintptr_t)x);
    kb_end(b);
}

void rows_meet(KGen *kg)
{
    kb_meet(kg->kb, 1u << KS_LOCAL);
}

const KExp *rows_is_set(KGen *kg, const KExp *flag)
{
    return kx_ne(kg->cx->perm, flag, kg_zero(kg, flag->type.elem));
}

/* --- Tiles ------------------------------------------------------------------------------------ */

const KExp *tile_offset(Tile *x, const KExp *row)
{
    const KExp *number = kg_add(x->kg, x->row0, kg_to_i64(x->kg, row));
    return kg_sub(x->kg, nest_offset(x->kg, x->w->r->d, number), x->point0);
}

KBuf **tile_stage(KGen *kg, const Accs *ac, int each)
{
    Ctx *cx = kg->cx;
    const KExp *points = sx_mul(cx, kg->group_size, sx_const(cx, each));
    const KExp *gaps = sx_op(cx, SX_CEILDIV, points, sx_const(cx, GAP_EVERY));
    const KExp *count = sx_add(cx, points, sx_mul(cx, gaps, sx_const(cx, GAP)));
    KBuf **stage = NEWN(cx->perm, KBuf *, ac->n);
    for (int j = 0; j < ac->n; j++) {
        stage[j] = kg_param_local(kg, "stage", ac->types[j], count);
        stage[j]->align = RUN_BYTES;
    }
    return stage;
}

KBuf *tile_marks(KGen *kg, const char *base, PrimType t, int each)
{
    const KExp *points = sx_mul(kg->cx, kg->group_size, sx_const(kg->cx, each));
    KBuf *marks = kg_param_local(kg, base, t, points);
    marks->align = each * prim_type_bytes[t];
    return marks;
}

const KExp *tile_place(KGen *kg, const KExp *point)
{
    enum { SHIFT = 5 };
    _Static_assert(1 << SHIFT == GAP_EVERY, "gaps");
    const KExp *gaps = kg_op(kg, OP_SHR, point, kg_i32(kg, SHIFT));
    gaps = kg_op(kg, OP_MUL, gaps, kg_i32(kg, GAP));
    return kg_to_i64(kg, kg_op(kg, OP_ADD, point, gaps));
}

const KExp *tile_points_open(KGen *kg, int each, int unroll, const KExp **k)
{
    *k = kb_for(kg->kb, "k", kg_i32(kg, 0), kg_i32(kg, each), kg_i32(kg, 1));
    if (unroll)
        kg_loop_unroll(kg, unroll);
    return kb_let(kg->kb, "p",
                  kg_op(kg, OP_ADD, kg_op(kg, OP_MUL, *k, kg_to_i32(kg, kg_id(kg, KID_GROUP_SIZE))),
                        kg_to_i32(kg, kg->lid)));
}

bool rows_need_memory(const KGen *kg)
{
    return kg->uses_scratch || kg->uses_heap;
}
