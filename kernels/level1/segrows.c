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
 * A work-item walks over its share: it stores what it has found when a row ends, and has a tail
 * when the share does. The tails of a group's work-items are scanned, from one row's end to the
 * next, and give what the first row that ends in a share lacks. What rows that cross groups lack, a
 * second kernel of one group adds: it scans what the groups leave. A scan does all this twice:
 * first for what the groups leave, then, each of which knows what lies before it, for the elements.
 *
 * Groups of several work-items (a tile) compute their points together, dealt out, into local
 * memory, where each then walks over its own. */
#include "kernels/level1/segments.h"

enum {
    MOST_EACH = 16,   /* items of a work-item */
    STAGE_BYTES = 64, /* of local memory for its points */
    MOST_GROUP = 256, /* work-items */
    MOST_VALUE = 32,  /* bytes of what is accumulated */
    STAGE_UNROLL = 4
};

/* Host: the construct, and what its groups leave. */
typedef struct {
    PlanBuild *pb;
    const Stm *s;
    const Exp *e;
    const NestDim *d;
    const ArrLoc *outs;
    bool scan;
    int each; /* items of a work-item of a team */
    const KExp *group_size;
    const KExp *items, *share, *groups;
    const PrimType *types;
    Mem **tails;        /* a value a group */
    Mem *ended, *first; /* does a row end in the group? The first one that does; -1: none */
} Rows;

static int value_bytes(const Exp *e)
{
    int bytes = 0;
    for (int j = 0; j < e->seg.nes.n; j++)
        bytes += prim_type_bytes[e->seg.op->params.at[j]->type.elem];
    return bytes;
}

static int each_of(const Exp *e)
{
    int each = MOST_EACH;
    while (each > 2 && each * value_bytes(e) > STAGE_BYTES)
        each /= 2;
    return each;
}

/* Shares of teams are as large as their local memory is for; who works alone has as much as gives
 * work to all. */
static Rows rows_plan(PlanBuild *pb, const Stm *s, const ArrLoc *outs, bool scan)
{
    Ctx *cx = pb->cx;
    const Exp *e = s->exp;
    Rows r = {.pb = pb, .s = s, .e = e, .d = &e->seg.nest.at[0], .outs = outs, .scan = scan};
    r.each = each_of(e);
    r.group_size = sx_op(cx, SX_MIN, sx_team_size(cx), sx_const(cx, MOST_GROUP));
    r.items = pb_let(pb, "items", sx_add(cx, sx_atom(cx, r.d->rows), sx_atom(cx, r.d->width)));
    const KExp *several = sx_sub(cx, sx_team_size(cx), sx_const(cx, 1));
    const KExp *all = sx_mul(cx, sx_size(cx, SIZE_NUM_GROUPS), sx_size(cx, SIZE_GROUP_SIZE));
    const KExp *worth = sx_size(cx, SIZE_ITEM_ELEMS);
    const KExp *alone = sx_op(cx, SX_MAX, worth, sx_op(cx, SX_CEILDIV, r.items, all));
    r.share = pb_let(pb, "share", sx_select(cx, several, sx_const(cx, r.each), alone));
    const KExp *tile = sx_mul(cx, r.share, r.group_size);
    r.groups = pb_let(pb, "tiles", sx_op(cx, SX_CEILDIV, r.items, tile));
    PrimType *types = NEWN(cx->perm, PrimType, e->seg.nes.n);
    for (int j = 0; j < e->seg.nes.n; j++)
        types[j] = e->seg.op->params.at[j]->type.elem;
    r.types = types;
    return r;
}

/* Room for what the groups leave. */
static void rows_alloc(Rows *r)
{
    Ctx *cx = r->pb->cx;
    int n = r->e->seg.nes.n;
    r->tails = NEWN(cx->perm, Mem *, n);
    for (int j = 0; j < n; j++)
        r->tails[j] = pb_alloc(r->pb, "tail",
                               sx_mul(cx, r->groups, sx_const(cx, prim_type_bytes[r->types[j]])));
    r->ended = pb_alloc(r->pb, "ended", sx_mul(cx, r->groups, sx_const(cx, 4)));
    r->first = pb_alloc(r->pb, "first", sx_mul(cx, r->groups, sx_const(cx, 8)));
}

/* --- In a kernel ------------------------------------------------------------------------------ */

typedef struct {
    const Rows *r;
    KGen *kg;
    Accs ac;
    KBuf **stage; /* of the tile: its points */
    KBuf *flags;  /* of the group: has a row ended up to here? */
    KBuf **tails;
    KBuf *ended, *first_of;
    KLoc *outs;
    const KExp *items, *rows, *points;
    const KExp *begin, *end;           /* of the tile: points */
    const KExp *row0, *point0, *count; /* of the share: where it begins, its items */
    KVar *row, *point, *left, *has_ended;
    KVar **found; /* of the first row that ends */
} Walk;

static const KExp *bool_of(KGen *kg, const KExp *flag)
{
    return kx_ne(kg->cx->perm, flag, kg_zero(kg, T_I32));
}

static const KExp *flag_of(KGen *kg, const KExp *b)
{
    return kx_conv(kg->cx->perm, T_I32, b);
}

static void open_kernel(Walk *w, const Rows *r, const char *kind)
{
    KGen *kg = kg_new(r->pb, kind, r->e);
    Ctx *cx = kg->cx;
    int n = r->e->seg.nes.n;
    *w = (Walk){.r = r, .kg = kg};
    kg->guard = true; /* what was computed before tells where rows begin */
    kg->group_size = r->group_size;
    kg->max_threads =
        sx_const(cx, 1); /* as good as any: bodies with memory of threads are refused */
    w->ac = accs_new(kg, r->e);
    for (int j = 0; j < n; j++)
        w->ac.bufs[j] = kg_param_local(kg, "buf", w->ac.types[j], kg->group_size);
    w->flags = kg_param_local(kg, "flags", T_I32, kg->group_size);
    w->tails = NEWN(cx->perm, KBuf *, n);
    for (int j = 0; j < n; j++)
        w->tails[j] = kg_param_mem(kg, r->tails[j], w->ac.types[j]);
    w->ended = kg_param_mem(kg, r->ended, T_I32);
}

/* The place of a share that begins at item number `item`: how many rows end before it. */
static const KExp *rows_before(Walk *w, const KExp *item)
{
    KGen *kg = w->kg;
    KBuild *b = kg->kb;
    const KExp *zero = kg_int(kg, 0), *one = kg_int(kg, 1);
    KVar *low = kb_var(b, "low", T_I64, kg_max(kg, zero, kg_sub(kg, item, w->points)));
    KVar *high = kb_var(b, "high", T_I64, kg_min(kg, item, w->rows));
    kb_while(b, kg_lt(kg, kg_of(kg, low), kg_of(kg, high)));
    const KExp *sum = kg_add(kg, kg_of(kg, low), kg_of(kg, high));
    const KExp *mid = kb_let(b, "mid", kg_quot(kg, sum, kg_int(kg, 2)));
    const KExp *next = kb_let(b, "next", kg_add(kg, mid, one));
    const KExp *end_item = kg_add(kg, nest_offset(kg, w->r->d, next), mid);
    kb_if(b, kg_lt(kg, end_item, item));
    kb_set(b, low, next);
    kb_else(b);
    kb_set(b, high, mid);
    kb_end(b);
    kb_end(b);
    return kb_let(b, "rows_before", kg_of(kg, low));
}

/* The work-item's share, and of a team the points of the tile. */
static void find_share(Walk *w)
{
    KGen *kg = w->kg;
    KBuild *b = kg->kb;
    const Rows *r = w->r;
    w->items = nest_total(kg, r->items);
    w->rows = kg_atom(kg, r->d->rows);
    w->points = kg_atom(kg, r->d->width);
    const KExp *share = kg_host(kg, r->share);
    const KExp *from = kg_min(kg, kg_mul(kg, kg_global_id(kg), share), w->items);
    from = kb_let(b, "from", from);
    const KExp *to = kb_let(b, "to", kg_min(kg, kg_add(kg, from, share), w->items));
    w->count = kb_let(b, "count", kg_sub(kg, to, from));
    w->row0 = rows_before(w, from);
    w->point0 = kb_let(b, "point0", kg_sub(kg, from, w->row0));
}

/* result[row] := x */
static void store_row(Walk *w, const KExp *row, const KExp *const *x)
{
    KGen *kg = w->kg;
    const KExp *at = kg_sx_of(kg, kb_let(kg->kb, "row", row));
    for (int j = 0; j < w->ac.n; j++)
        loc_store(kg, &w->outs[j], &at, 1, x[j]);
}

/* --- The points of a tile --- */

static const KExp *stage_place(Walk *w, const KExp *point)
{
    return seg_stage_at(w->kg, kg_sub(w->kg, point, w->begin));
}

/* Opens the loop in which the work-items of a team share out the points of the tile. */
static const KExp *tile_open(Walk *w)
{
    KGen *kg = w->kg;
    const KExp *from = kg_add(kg, w->begin, kg->lid);
    return kb_for(kg->kb, "point", from, w->end, kg_id(kg, KID_GROUP_SIZE));
}

/* What is bound of the point: its value is the body's first results. */
static void make_point(Walk *w, bool maps)
{
    KGen *kg = w->kg;
    if (maps)
        seg_hint_maps(kg, w->r->e, w->outs, w->r->s);
    kg_stms(kg, w->r->e->seg.body);
    if (maps)
        seg_store_maps(kg, w->r->e, w->outs, w->r->s);
}

/* The tile: its points, computed and put into the stage. */
static void fill_stage(Walk *w, bool maps)
{
    KGen *kg = w->kg;
    KBuild *b = kg->kb;
    const Rows *r = w->r;
    const KExp *zero = kg_int(kg, 0), *one = kg_int(kg, 1);
    const KExp *size = kg_mul(kg, kg_id(kg, KID_GROUP_SIZE), kg_host(kg, r->share));
    const KExp *from = kg_mul(kg, kg_id(kg, KID_GROUP), size);
    from = kb_let(b, "tile", kg_min(kg, from, w->items));
    const KExp *to = kb_let(b, "tile_end", kg_min(kg, kg_add(kg, from, size), w->items));
    const KExp *row_from = rows_before(w, from), *row_to = rows_before(w, to);
    w->begin = kb_let(b, "begin", kg_sub(kg, from, row_from));
    w->end = kb_let(b, "end", kg_sub(kg, to, row_to));
    const KExp *last = kb_let(b, "last", kg_min(kg, w->rows, kg_add(kg, row_to, one)));
    (void)zero;
    const KExp *p = tile_open(w);
    if (seg_is_brief(r->e))
        kg_loop_unroll(kg, STAGE_UNROLL);
    WorkMark m = kg_work_begin(kg);
    const KExp *row = row_from;
    if (nest_wants_row(kg, r->d))
        row = nest_row_of(kg, r->d, p, row_from, last);
    nest_bind_point(kg, r->d, p, row);
    make_point(w, maps);
    const KExp **x = accs_atoms(kg, &w->ac, r->e->seg.body->res.at);
    const KExp *at = kb_let(b, "place", stage_place(w, p));
    for (int j = 0; j < w->ac.n; j++)
        kb_store(b, w->stage[j], at, x[j]);
    kg_work_end(kg, m);
    kb_end(b);
    kb_meet(b, 1u << KS_LOCAL);
}

/* --- The walk --- */

typedef enum { WALK_TAILS, WALK_REDUCE, WALK_SCAN } WalkWhat;

static void begin_walk(Walk *w)
{
    KBuild *b = w->kg->kb;
    w->row = kb_var(b, "at_row", T_I64, w->row0);
    w->point = kb_var(b, "at_point", T_I64, w->point0);
    w->left = kb_var(b, "left", T_I64, w->count);
}

/* The points of one row up to `stop`; of a team they are in the stage. */
static void walk_points(Walk *w, WalkWhat what, bool team, const KExp *row, const KExp *stop)
{
    KGen *kg = w->kg;
    KBuild *b = kg->kb;
    const Rows *r = w->r;
    const KExp *p = kb_for(b, "point", kg_of(kg, w->point), stop, kg_int(kg, 1));
    const KExp **x = NULL, *at = NULL;
    if (team) {
        at = kb_let(b, "place", stage_place(w, p));
        x = NEWN(kg->cx->perm, const KExp *, w->ac.n);
        for (int j = 0; j < w->ac.n; j++)
            x[j] = kb_load(b, "x", w->stage[j], at);
    } else {
        nest_bind_point(kg, r->d, p, row);
        make_point(w, what == WALK_REDUCE || what == WALK_SCAN);
        x = accs_atoms(kg, &w->ac, r->e->seg.body->res.at);
    }
    accs_apply(kg, &w->ac, accs_now(kg, &w->ac), x);
    if (what == WALK_SCAN && team)
        for (int j = 0; j < w->ac.n; j++)
            kb_store(b, w->stage[j], at, kg_of(kg, w->ac.acc[j]));
    if (what == WALK_SCAN && !team) {
        const KExp *ix = sx_var(kg->cx, r->d->idx);
        for (int j = 0; j < w->ac.n; j++)
            loc_store(kg, &w->outs[j], &ix, 1, kg_of(kg, w->ac.acc[j]));
    }
    kb_end(b);
}

/* A row ends: of the first one only this work-item's part is known. */
static void walk_end(Walk *w, WalkWhat what, const KExp *row)
{
    KGen *kg = w->kg;
    KBuild *b = kg->kb;
    const Accs *ac = &w->ac;
    if (what == WALK_REDUCE) {
        kb_if(b, kg_of(kg, w->has_ended));
        store_row(w, row, accs_now(kg, ac));
        kb_else(b);
        for (int j = 0; j < ac->n; j++)
            kb_set(b, w->found[j], kg_of(kg, ac->acc[j]));
        kb_end(b);
    }
    accs_set(kg, ac, accs_atoms(kg, ac, w->r->e->seg.nes.at));
    kb_set(b, w->has_ended, kx_bool(kg->cx->perm, true));
    kb_set(b, w->row, kg_add(kg, row, kg_int(kg, 1)));
    kb_set(b, w->left, kg_sub(kg, kg_of(kg, w->left), kg_int(kg, 1)));
}

static void walk(Walk *w, WalkWhat what, bool team)
{
    KGen *kg = w->kg;
    KBuild *b = kg->kb;
    const KExp *zero = kg_int(kg, 0), *one = kg_int(kg, 1);
    begin_walk(w);
    WorkMark m = {0};
    if (!team)
        m = kg_work_begin(kg);
    kb_while(b, kg_lt(kg, zero, kg_of(kg, w->left)));
    const KExp *row = kb_let(b, "row", kg_of(kg, w->row));
    const KExp *end = nest_offset(kg, w->r->d, kg_add(kg, row, one));
    const KExp *point = kb_let(b, "first_point", kg_of(kg, w->point));
    const KExp *stop = kg_min(kg, end, kg_add(kg, point, kg_of(kg, w->left)));
    stop = kb_let(b, "stop", stop);
    walk_points(w, what, team, row, stop);
    kb_set(b, w->left, kg_sub(kg, kg_of(kg, w->left), kg_sub(kg, stop, point)));
    kb_set(b, w->point, stop);
    kb_if(b, kg_lt(kg, zero, kg_of(kg, w->left)));
    walk_end(w, what, row);
    kb_end(b);
    kb_end(b);
    if (!team)
        kg_work_end(kg, m);
}

/* acc := neutral, nothing has ended. */
static void declare_walk(Walk *w)
{
    KGen *kg = w->kg;
    accs_declare(kg, &w->ac, &w->r->e->seg.nes);
    w->has_ended = kb_var(kg->kb, "has_ended", T_BOOL, kx_bool(kg->cx->perm, false));
    w->found = NEWN(kg->cx->perm, KVar *, w->ac.n);
    for (int j = 0; j < w->ac.n; j++)
        w->found[j] = kb_var(kg->kb, "found", w->ac.types[j], kg_of(kg, w->ac.acc[j]));
}

/* --- The tails of a group --- */

/* Inclusive scan of acc over the work-items, from one at which a row ended to the next such: the
 * sums are in the buffers then, and in flags whether a row ended up to there. */
static void scan_tails(Walk *w)
{
    KGen *kg = w->kg;
    KBuild *b = kg->kb;
    const Accs *ac = &w->ac;
    KVar *flag = kb_var(b, "flag", T_I32, flag_of(kg, kg_of(kg, w->has_ended)));
    accs_put(kg, ac, kg->lid);
    kb_store(b, w->flags, kg->lid, kg_of(kg, flag));
    kb_meet(b, 1u << KS_LOCAL);
    const KExp *d = kb_for_times(b, "d", kg_int(kg, 1), kg_id(kg, KID_GROUP_SIZE), 2);
    KVar *before = kb_var(b, "before", T_I32, kg_zero(kg, T_I32));
    Accs left = accs_copy(kg, ac, "left");
    kb_if(b, kg_le(kg, d, kg->lid));
    const KExp *from = kb_let(b, "from", kg_sub(kg, kg->lid, d));
    kb_set(b, before, kb_load(b, "flag", w->flags, from));
    accs_set(kg, &left, accs_load(kg, ac, from));
    kb_end(b);
    kb_meet(b, 1u << KS_LOCAL);
    kb_if(b, kg_le(kg, d, kg->lid));
    kb_if(b, kg_eq(kg, kg_of(kg, flag), kg_zero(kg, T_I32)));
    accs_apply(kg, ac, accs_now(kg, &left), accs_now(kg, ac));
    accs_put(kg, ac, kg->lid);
    kb_store(b, w->flags, kg->lid, kg_of(kg, before));
    kb_set(b, flag, kg_of(kg, before));
    kb_end(b);
    kb_end(b);
    kb_meet(b, 1u << KS_LOCAL);
    kb_end(b);
}

/* Declares what the work-items before this one leave in the group, and whether a row ended there.
 */
static Accs before_in_group(Walk *w, KVar **ended)
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

/* What the group leaves, by its last work-item (a team) or its only one. */
static void leave_tail(Walk *w, const KExp *ended)
{
    KGen *kg = w->kg;
    KBuild *b = kg->kb;
    const KExp *group = kg_id(kg, KID_GROUP);
    for (int j = 0; j < w->ac.n; j++)
        kb_store(b, w->tails[j], group, kg_of(kg, w->ac.acc[j]));
    kb_store(b, w->ended, group, ended);
}

static void leave_team_tail(Walk *w)
{
    KGen *kg = w->kg;
    KBuild *b = kg->kb;
    const KExp *size = kg_id(kg, KID_GROUP_SIZE);
    kb_if(b, kg_eq(kg, kg_add(kg, kg->lid, kg_int(kg, 1)), size));
    leave_tail(w, kb_load(b, "flag", w->flags, kg->lid));
    kb_end(b);
}

/* The first row that ends in the share: with what the group's work-items before have of it. */
static void finish_first(Walk *w, const KExp *const *before, const KExp *ended_before)
{
    KGen *kg = w->kg;
    KBuild *b = kg->kb;
    Arena *a = kg->cx->perm;
    kb_if(b, kg_of(kg, w->has_ended));
    Accs sum = accs_like(kg, &w->ac);
    sum.acc = w->found;
    const KExp **own = NEWN(a, const KExp *, w->ac.n);
    for (int j = 0; j < w->ac.n; j++)
        own[j] = kg_of(kg, w->found[j]);
    if (before)
        accs_apply(kg, &sum, (const KExp **)(uintptr_t)before, own);
    store_row(w, w->row0, accs_now(kg, &sum));
    kb_if(b, kg_eq(kg, ended_before, kg_zero(kg, T_I32)));
    kb_store(b, w->first_of, kg_id(kg, KID_GROUP), w->row0);
    kb_end(b);
    kb_end(b);
}

/* --- Reductions ------------------------------------------------------------------------------- */

static void no_first_yet(Walk *w, const KExp *none)
{
    KGen *kg = w->kg;
    kb_if(kg->kb, none);
    kb_store(kg->kb, w->first_of, kg_id(kg, KID_GROUP), kg_int(kg, -1));
    kb_end(kg->kb);
}

static void reduce_team(Walk *w)
{
    KGen *kg = w->kg;
    KBuild *b = kg->kb;
    fill_stage(w, true);
    walk(w, WALK_REDUCE, true);
    scan_tails(w);
    KVar *ended = NULL;
    Accs before = before_in_group(w, &ended);
    finish_first(w, accs_now(kg, &before), kg_of(kg, ended));
    leave_team_tail(w);
    const KExp *last = kg_sub(kg, kg_id(kg, KID_GROUP_SIZE), kg_int(kg, 1));
    const KExp *any = bool_of(kg, kb_load(b, "any", w->flags, last));
    const KExp *lead = kg_eq(kg, kg->lid, kg_int(kg, 0));
    no_first_yet(w, kg_and(kg, lead, kx_not(kg->cx->perm, any)));
}

static void reduce_alone(Walk *w)
{
    KGen *kg = w->kg;
    walk(w, WALK_REDUCE, false);
    finish_first(w, NULL, kg_zero(kg, T_I32));
    leave_tail(w, flag_of(kg, kg_of(kg, w->has_ended)));
    no_first_yet(w, kx_not(kg->cx->perm, kg_of(kg, w->has_ended)));
}

/* Does the kernel do with local memory and registers? */
static bool needs_memory(const KGen *kg)
{
    return kg->uses_scratch || kg->uses_heap;
}

static KGen *reduce_kernel(const Rows *r, Kernel **k)
{
    Walk w;
    open_kernel(&w, r, "segred_rows");
    KGen *kg = w.kg;
    w.stage = seg_stage(kg, &w.ac, r->each);
    w.first_of = kg_param_mem(kg, r->first, T_I64);
    w.outs = seg_outs(kg, r->s, 0, r->outs);
    find_share(&w);
    declare_walk(&w);
    kg_if_teams(kg);
    reduce_team(&w);
    kb_else(kg->kb);
    reduce_alone(&w);
    kb_end(kg->kb);
    if (needs_memory(kg))
        return NULL;
    *k = kg_finish(kg);
    return kg;
}

/* --- What crosses groups ---------------------------------------------------------------------- */

/* The share of one work-item of the groups' tails, from .. to-1. */
typedef struct {
    const KExp *from, *to;
} Share;

static Share carry_share(Walk *w)
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

/* acc := acc and what group g leaves. */
static void add_group(Walk *w, const KExp *g)
{
    KGen *kg = w->kg;
    KBuild *b = kg->kb;
    const KExp **x = NEWN(kg->cx->perm, const KExp *, w->ac.n);
    for (int j = 0; j < w->ac.n; j++)
        x[j] = kb_load(b, "x", w->tails[j], g);
    const KExp *ended = bool_of(kg, kb_load(b, "ended", w->ended, g));
    kb_if(b, ended);
    accs_set(kg, &w->ac, x);
    kb_set(b, w->has_ended, kx_bool(kg->cx->perm, true));
    kb_else(b);
    accs_apply(kg, &w->ac, accs_now(kg, &w->ac), x);
    kb_end(b);
}

/* result[first] := what lies before the group, and what is there. */
static void complete_first(Walk *w, const KExp *g)
{
    KGen *kg = w->kg;
    KBuild *b = kg->kb;
    const KExp *row = kb_load(b, "row", w->first_of, g);
    kb_if(b, kg_le(kg, kg_int(kg, 0), row));
    const KExp **there = NEWN(kg->cx->perm, const KExp *, w->ac.n);
    const KExp *at = kg_sx_of(kg, row);
    for (int j = 0; j < w->ac.n; j++)
        there[j] = loc_load(kg, "there", &w->outs[j], &at, 1);
    store_row(w, row, kg_apply(kg, w->ac.op, w->ac.n, accs_now(kg, &w->ac), there));
    kb_end(b);
}

/* The groups' tails become, for each group, what lies before it. */
static void keep_before(Walk *w, const KExp *g)
{
    KBuild *b = w->kg->kb;
    const KExp **x = NEWN(w->kg->cx->perm, const KExp *, w->ac.n);
    for (int j = 0; j < w->ac.n; j++)
        x[j] = kb_load(b, "own", w->tails[j], g);
    const KExp *ended = bool_of(w->kg, kb_load(b, "ended", w->ended, g));
    for (int j = 0; j < w->ac.n; j++)
        kb_store(b, w->tails[j], g, kg_of(w->kg, w->ac.acc[j]));
    kb_if(b, ended);
    accs_set(w->kg, &w->ac, x);
    kb_else(b);
    accs_apply(w->kg, &w->ac, accs_now(w->kg, &w->ac), x);
    kb_end(b);
}

static void carry_kernel(const Rows *r)
{
    Walk w;
    open_kernel(&w, r, r->scan ? "segscan_carry" : "segred_carry");
    KGen *kg = w.kg;
    KBuild *b = kg->kb;
    if (!r->scan) {
        w.first_of = kg_param_mem(kg, r->first, T_I64);
        w.outs = seg_outs(kg, r->s, 0, r->outs);
    }
    Share s = carry_share(&w);
    declare_walk(&w);
    kg_if_teams(kg);
    add_group(&w, kb_for(b, "g", s.from, s.to, kg_int(kg, 1)));
    kb_end(b);
    scan_tails(&w);
    KVar *ended = NULL;
    Accs before = before_in_group(&w, &ended);
    accs_set(kg, &w.ac, accs_now(kg, &before));
    kb_end(b);
    const KExp *g = kb_for(b, "g", s.from, s.to, kg_int(kg, 1));
    if (r->scan) {
        keep_before(&w, g);
    } else {
        complete_first(&w, g);
        add_group(&w, g);
    }
    kb_end(b);
    Kernel *k = kg_finish(kg);
    kg_launch(kg, k, sx_const(kg->cx, 1));
}

/* --- Scans ------------------------------------------------------------------------------------ */

static KGen *tails_kernel(const Rows *r, Kernel **k)
{
    Walk w;
    open_kernel(&w, r, "segscan_tails");
    KGen *kg = w.kg;
    w.stage = seg_stage(kg, &w.ac, r->each);
    find_share(&w);
    declare_walk(&w);
    kg_if_teams(kg);
    fill_stage(&w, false);
    walk(&w, WALK_TAILS, true);
    scan_tails(&w);
    leave_team_tail(&w);
    kb_else(kg->kb);
    walk(&w, WALK_TAILS, false);
    leave_tail(&w, flag_of(kg, kg_of(kg, w.has_ended)));
    kb_end(kg->kb);
    if (needs_memory(kg))
        return NULL;
    *k = kg_finish(kg);
    return kg;
}

/* acc := what lies before the group. */
static void take_before(Walk *w)
{
    KGen *kg = w->kg;
    const KExp **x = NEWN(kg->cx->perm, const KExp *, w->ac.n);
    for (int j = 0; j < w->ac.n; j++)
        x[j] = kb_load(kg->kb, "before", w->tails[j], kg_id(kg, KID_GROUP));
    accs_set(kg, &w->ac, x);
}

static void scan_team(Walk *w)
{
    KGen *kg = w->kg;
    KBuild *b = kg->kb;
    fill_stage(w, true);
    walk(w, WALK_TAILS, true);
    scan_tails(w);
    KVar *ended = NULL;
    Accs before = before_in_group(w, &ended);
    take_before(w);
    kb_if(b, bool_of(kg, kg_of(kg, ended)));
    accs_set(kg, &w->ac, accs_now(kg, &before));
    kb_else(b);
    accs_apply(kg, &w->ac, accs_now(kg, &w->ac), accs_now(kg, &before));
    kb_end(b);
    walk(w, WALK_SCAN, true);
    kb_meet(b, 1u << KS_LOCAL);
    const KExp *p = tile_open(w);
    const KExp *at = kb_let(b, "place", stage_place(w, p)), *ix = kg_sx_of(kg, p);
    for (int j = 0; j < w->ac.n; j++)
        loc_store(kg, &w->outs[j], &ix, 1, kb_load(b, "x", w->stage[j], at));
    kb_end(b);
}

static void scan_kernel(const Rows *r)
{
    Walk w;
    open_kernel(&w, r, "segscan_rows");
    KGen *kg = w.kg;
    w.stage = seg_stage(kg, &w.ac, r->each);
    w.outs = seg_outs(kg, r->s, 0, r->outs);
    find_share(&w);
    declare_walk(&w);
    kg_if_teams(kg);
    scan_team(&w);
    kb_else(kg->kb);
    take_before(&w);
    walk(&w, WALK_SCAN, false);
    kb_end(kg->kb);
    kg_launch(kg, kg_finish(kg), r->groups);
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
    return types_scalar(&e->seg.op->params, 0, e->seg.op->params.n) && value_bytes(e) <= MOST_VALUE;
}

/* The first kernel, or none if its work-items want memory of their own. */
static void by_shares(PlanBuild *pb, const Stm *s, const ArrLoc *outs, bool scan)
{
    int n_ops = pb->ops->n;
    Rows r = rows_plan(pb, s, outs, scan);
    rows_alloc(&r);
    Kernel *k = NULL;
    KGen *kg = scan ? tails_kernel(&r, &k) : reduce_kernel(&r, &k);
    if (!kg) {
        pb->ops->n = n_ops;
        each_row(pb, s, outs, scan);
        return;
    }
    kg_launch(kg, k, r.groups);
    pb_if_more(pb, r.groups, 1);
    if (!scan)
        carry_kernel(&r);
    pb_end(pb);
    if (scan) {
        carry_kernel(&r);
        scan_kernel(&r);
    }
}

void segred_rows(PlanBuild *pb, const Stm *s, const ArrLoc *outs)
{
    if (is_exchanged(s->exp))
        by_shares(pb, s, outs, false);
    else
        each_row(pb, s, outs, false);
}

void segscan_rows(PlanBuild *pb, const Stm *s, const ArrLoc *outs)
{
    if (is_exchanged(s->exp))
        by_shares(pb, s, outs, true);
    else
        each_row(pb, s, outs, true);
}
