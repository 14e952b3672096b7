/* segscan^1 in one launch, for segments of several tiles, on devices where a group may wait for
 * those that have begun before it (fact LOOKS_BACK; board.h).
 *
 * A group draws the number of a tile, computes the tile's elements and scans them in local memory,
 * as segscan.c does, and writes their sum on the board. Then it looks back: of a window of tiles
 * before its own it takes what is there, each either the tile's sum or the sum of all up to there,
 * and goes on window by window until it meets one of the latter. So it knows what lies before its
 * tile, writes the sum up to its own end on the board, and stores the elements. Elements are read
 * and written once.
 *
 *     number     0      1      2      3      4
 *              whole  whole  part   part   (here: adds 3, 2 and all up to 1)
 *
 * The first tile of a segment has nothing before it and never waits, so nobody looks further back.
 *
 * A scatter of the same elements that reads the scanned ones (what a filter becomes) is done where
 * they would be stored. */
#include "kernels/level1/board.h"

#include <limits.h>

enum {
    WINDOW = 32,      /* tiles at a time: one for each work-item of a warp */
    ITEM_BYTES = 160, /* of local memory for a work-item: its elements, and two more */
    LEAST_ELEMS = 2,  /* so many elements it has at least, and at most */
    MOST_ELEMS = 32,
    MOST_TILES = 1 << 22, /* the board has 256 MB then */
    UNROLL = 4,
    AT_ONCE = 8 /* elements that code with branches is unrolled for */
};

typedef struct {
    KGen *kg;
    const Stm *s;
    const Exp *e;
    const KLoc *outs;
    Accs ac;
    Chunk n; /* the tile */
    int each;
    KBuf **stage;
    KBuf **seen;              /* in the window: values, the nearest first */
    KBuf **before;            /* one of each: the sum of all before the tile */
    const ScanReader *reader; /* NULL: none, all results are stored */
    KBuf *nearest; /* tiles between the nearest that tells all and this one; INT32_MAX: not seen yet
                    */
    Board bd;
} Back;

static const KExp *i32(Back *k, int64_t x)
{
    return kx_conv(k->kg->cx->perm, T_I32, kg_int(k->kg, x));
}

static const KExp *i64_of(Back *k, const KExp *x)
{
    return kx_conv(k->kg->cx->perm, T_I64, x);
}

static const KExp **stage_get(Back *k, const KExp *at)
{
    const KExp **x = NEWN(k->kg->cx->perm, const KExp *, k->ac.n);
    for (int j = 0; j < k->ac.n; j++)
        x[j] = kb_load(k->kg->kb, "x", k->stage[j], at);
    return x;
}

static void put(Back *k, KBuf *const *bufs, const KExp *at, const KExp **x)
{
    for (int j = 0; j < k->ac.n; j++)
        kb_store(k->kg->kb, bufs[j], at, x[j]);
}

/* --- The tile's elements ------------------------------------------------------------------- */

static bool is_brief(const Back *k)
{
    return seg_is_short(k->e->seg.body, true) && seg_is_short(k->e->seg.op->body, true);
}

/* Opens the loop over a work-item's elements. Short code is done for all of them side by side; with
 * branches for some, since drivers take long over it: 1.3 s for 32 elements of a map with two
 * checks. */
static const KExp *open_elems(Back *k, bool plain)
{
    KGen *kg = k->kg;
    const KExp *i = kb_for(kg->kb, "k", kg_int(kg, 0), kg_int(kg, k->each), kg_int(kg, 1));
    if (is_brief(k))
        kg_loop_unroll(kg, plain || k->each < AT_ONCE ? -1 : AT_ONCE);
    return i;
}

static bool is_plain(const Exp *e)
{
    return seg_is_short(e->seg.body, false) && !exp_traps(e);
}

/* The number in the tile of an element that is dealt out. */
static const KExp *dealt_number(Back *k, const KExp *i)
{
    KGen *kg = k->kg;
    return kb_let(kg->kb, "number", kg_add(kg, kg_mul(kg, i, kg_id(kg, KID_GROUP_SIZE)), kg->lid));
}

/* Opens the branch for numbers below the tile's length, where that is asked, and binds the element.
 */
static void if_element(Back *k, const KExp *number, bool asked)
{
    KGen *kg = k->kg;
    const Nest *nest = &k->e->seg.nest;
    kb_if(kg->kb, asked ? kg_lt(kg, number, k->n.len) : kx_bool(kg->cx->perm, true));
    nest_bind(kg, nest, nest->n - 1, k->n.seg);
    nest_bind_dim(kg, &vec_last(nest), kg_add(kg, k->n.beg, number));
}

typedef void ElemsMaker(Back *k, bool asked);

/* Most tiles are full: there the loads of plain code are on their way together, without a question
 * between them. */
static void make_elems(Back *k, bool plain, ElemsMaker *make)
{
    KGen *kg = k->kg;
    KBuild *b = kg->kb;
    if (!is_brief(k) || !plain) {
        make(k, true);
        return;
    }
    const KExp *all = kg_mul(kg, kg_id(kg, KID_GROUP_SIZE), kg_int(kg, k->each));
    kb_if(b, kg_eq(kg, k->n.len, all));
    make(k, false);
    kb_else(b);
    make(k, true);
    kb_end(b);
}

static void compute_elems(Back *k, bool asked)
{
    KGen *kg = k->kg;
    const KExp *number = dealt_number(k, open_elems(k, is_plain(k->e)));
    Accs x = accs_like(kg, &k->ac);
    accs_declare(kg, &x, &k->e->seg.nes);
    if_element(k, number, asked);
    WorkMark m = kg_work_begin(kg);
    if (!k->reader)
        seg_hint_maps(kg, k->e, k->outs, k->s);
    kg_stms(kg, k->e->seg.body);
    if (!k->reader)
        seg_store_maps(kg, k->e, k->outs, k->s);
    accs_set(kg, &x, accs_atoms(kg, &k->ac, k->e->seg.body->res.at));
    kg_work_end(kg, m);
    kb_end(kg->kb);
    put(k, k->stage, seg_stage_at(kg, number), accs_now(kg, &x));
    kb_end(kg->kb);
}

/* The run of each work-item, scanned in place; acc: its sum. */
static void scan_run(Back *k)
{
    KGen *kg = k->kg;
    const KExp *i = open_elems(k, true);
    const KExp *number = kg_add(kg, kg_mul(kg, kg->lid, kg_int(kg, k->each)), i);
    const KExp *at = kb_let(kg->kb, "place", seg_stage_at(kg, number));
    accs_apply(kg, &k->ac, accs_now(kg, &k->ac), stage_get(k, at));
    put(k, k->stage, at, accs_now(kg, &k->ac));
    kb_end(kg->kb);
}

/* The scatter's part for the element at hand, whose scanned values are `sum`. What the scan maps
 * out is computed again: what that reads was read a moment ago. */
static void read_scanned(Back *k, const KExp *number, const Accs *sum)
{
    KGen *kg = k->kg;
    WorkMark m = kg_work_begin(kg);
    if (k->s->pat.n > k->ac.n)
        kg_stms(kg, k->e->seg.body);
    const KExp *left = kg_sub(kg, kg_sub(kg, k->n.width, k->n.beg), number);
    seg_read_scanned(kg, k->s, k->reader, kg_eq(kg, left, kg_int(kg, 1)), sum);
    kg_work_end(kg, m);
}

static bool stores_plainly(const Back *k)
{
    /* the scatter does not fail, or it would not be here */
    return !k->reader || (is_plain(k->e) && seg_is_short(k->reader->scatter->exp->seg.body, false));
}

/* Stores the elements, each behind what lies before the run that it is in. */
static void store_elems(Back *k, bool asked)
{
    KGen *kg = k->kg;
    int depth = k->e->seg.nest.n;
    const KExp **ix = NEWN(kg->cx->perm, const KExp *, depth);
    const KExp *number = dealt_number(k, open_elems(k, stores_plainly(k)));
    if_element(k, number, asked);
    nest_indices(kg, &k->e->seg.nest, depth, ix);
    Accs sum = accs_like(kg, &k->ac), side = k->ac;
    accs_declare(kg, &sum, &k->e->seg.nes);
    side.bufs = k->ac.beside;
    const KExp *run = kb_let(kg->kb, "run", kg_quot(kg, number, kg_int(kg, k->each)));
    accs_apply(kg, &sum, accs_load(kg, &side, run), stage_get(k, seg_stage_at(kg, number)));
    if (k->reader)
        read_scanned(k, number, &sum);
    for (int j = 0; !k->reader && j < k->ac.n; j++)
        loc_store(kg, &k->outs[j], ix, depth, kg_of(kg, sum.acc[j]));
    kb_end(kg->kb);
    kb_end(kg->kb);
}

/* --- What lies before ---------------------------------------------------------------------- */

static const KExp *is_first(Back *k)
{
    return kg_eq(k->kg, k->kg->lid, kg_int(k->kg, 0));
}

/* The tile's sum goes on the board: it is all up to its end where nothing lies before. */
static void post_sum(Back *k)
{
    KGen *kg = k->kg;
    KBuild *b = kg->kb;
    Arena *a = kg->cx->perm;
    const KExp *zero = kg_int(kg, 0);
    const KExp *last = kg_sub(kg, kg_id(kg, KID_GROUP_SIZE), kg_int(kg, 1));
    kb_if(b, is_first(k));
    const KExp *mark = kx_select(a, kg_eq(kg, k->n.c, zero), k->bd.whole, k->bd.part);
    board_post(&k->bd, accs_load(kg, &k->ac, last), mark);
    kb_store(b, k->nearest, zero, i32(k, INT32_MAX));
    put(k, k->before, zero, accs_atoms(kg, &k->ac, k->e->seg.nes.at));
    kb_end(b);
    seg_meet(kg);
}

/* Each work-item of the first warp waits for one tile of the window, which begins `far` tiles back:
 * within the segment, and said so, since 32 bits are then known to be enough. */
static void look_at_window(Back *k, const KVar *far, const KExp *window)
{
    KGen *kg = k->kg;
    KBuild *b = kg->kb;
    const KExp *within = kg_max(kg, kg_int(kg, 0), kg_min(kg, i64_of(k, kg_of(kg, far)), k->n.c));
    const KExp *back = kb_let(b, "back", kg_add(kg, within, kg->lid));
    kb_if(b, kg_and(kg, kg_lt(kg, kg->lid, window), kg_lt(kg, back, k->n.c)));
    Accs x = accs_like(kg, &k->ac);
    accs_declare(kg, &x, &k->e->seg.nes);
    const KExp *number = kg_sub(kg, kg_sub(kg, k->bd.number, kg_int(kg, 1)), back);
    const KExp *whole = board_wait(&k->bd, number, &x);
    put(k, k->seen, kg->lid, accs_now(kg, &x));
    kb_if(b, whole);
    kb_stm(b, (KStm){.kind = KST_ATOMIC,
                     .buf = k->nearest,
                     .op = OP_MIN,
                     .x = {kg_int(kg, 0), kx_conv(kg->cx->perm, T_I32, back)}});
    kb_end(b);
    kb_end(b);
    seg_meet(kg);
}

/* One work-item adds up what was seen in the window, from near to far; acc: what it has seen
 * before. With all that lies before the tile it knows, and writes, all up to the tile's end. */
static void add_window(Back *k, const Accs *acc, const KExp *count, const KExp *found)
{
    KGen *kg = k->kg;
    KBuild *b = kg->kb;
    const KExp *last = kg_sub(kg, kg_id(kg, KID_GROUP_SIZE), kg_int(kg, 1)), *zero = kg_int(kg, 0);
    Accs seen = k->ac;
    seen.bufs = k->seen;
    kb_if(b, is_first(k));
    const KExp *i = kb_for(b, "i", zero, count, kg_int(kg, 1));
    if (seg_is_short(k->e->seg.op->body, false))
        kg_loop_unroll(kg, UNROLL);
    accs_apply(kg, acc, accs_load(kg, &seen, i), accs_now(kg, acc));
    kb_end(b);
    kb_if(b, found);
    put(k, k->before, zero, accs_now(kg, acc));
    Accs sum = accs_copy(kg, acc, "sum");
    accs_apply(kg, &sum, accs_now(kg, acc), accs_load(kg, &k->ac, last));
    board_post(&k->bd, accs_now(kg, &sum), k->bd.whole);
    kb_end(b);
    kb_end(b);
    seg_meet(kg);
}

static void look_back(Back *k)
{
    KGen *kg = k->kg;
    KBuild *b = kg->kb;
    Arena *a = kg->cx->perm;
    const KExp *zero = kg_int(kg, 0), *one = kg_int(kg, 1);
    const KExp *window = kg_min(kg, kg_int(kg, WINDOW), kg_id(kg, KID_GROUP_SIZE));
    window = kb_let(b, "window", window);
    Accs acc = accs_like(kg, &k->ac);
    accs_declare(kg, &acc, &k->e->seg.nes);
    KVar *far = kb_var(b, "far", T_I32, i32(k, 0));
    KVar *more = kb_var(b, "more", T_BOOL, kg_lt(kg, zero, k->n.c));
    kb_while(b, kg_of(kg, more));
    look_at_window(k, far, window);
    const KExp *nearest = kb_load(b, "nearest", k->nearest, zero);
    const KExp *found = kb_let(b, "found", kg_lt(kg, nearest, i32(k, INT32_MAX)));
    const KExp *upto = kx_prim2(a, OP_SUB, nearest, kg_of(kg, far));
    const KExp *count = kx_select(a, found, kg_add(kg, i64_of(k, upto), one), window);
    add_window(k, &acc, kb_let(b, "count", count), found);
    kb_set(b, more, kx_not(a, found));
    kb_set(b, far, kx_prim2(a, OP_ADD, kg_of(kg, far), kx_conv(a, T_I32, window)));
    kb_end(b);
}

/* beside := for each work-item, what lies before its run. */
static void sum_before(Back *k)
{
    KGen *kg = k->kg;
    KBuild *b = kg->kb;
    Accs all = k->ac;
    all.bufs = k->before;
    accs_set(kg, &k->ac, accs_load(kg, &all, kg_int(kg, 0)));
    kb_if(b, kg_lt(kg, kg_int(kg, 0), kg->lid));
    const KExp **left = accs_load(kg, &k->ac, kg_sub(kg, kg->lid, kg_int(kg, 1)));
    accs_apply(kg, &k->ac, accs_now(kg, &k->ac), left);
    kb_end(b);
    put(k, k->ac.beside, kg->lid, accs_now(kg, &k->ac));
    seg_meet(kg);
}

/* --- The kernel ---------------------------------------------------------------------------- */

static int elems_of(const Exp *e)
{
    int bytes = 0, each = MOST_ELEMS;
    for (int j = 0; j < e->seg.nes.n; j++)
        bytes += prim_type_bytes[e->seg.op->params.at[j]->type.elem];
    while (each > LEAST_ELEMS && (each + 2) * bytes > ITEM_BYTES)
        each /= 2;
    return each;
}

/* Tiles of equal size, whole warps. */
static Segments cut(PlanBuild *pb, const Segments *sg, int each)
{
    Ctx *cx = pb->cx;
    const KExp *one = sx_const(cx, 1), *warp = sx_const(cx, WINDOW);
    const KExp *tile = sx_mul(cx, sx_size(cx, SIZE_GROUP_SIZE), sx_const(cx, each));
    Segments t = {
        .n_segs = sg->n_segs, .width = sg->width, .threads = sx_size(cx, SIZE_GROUP_SIZE)};
    t.chunks = sx_op(cx, SX_MAX, one, sx_op(cx, SX_CEILDIV, sg->width, tile));
    t.chunks = pb_let(pb, "tiles", t.chunks);
    const KExp *warps = sx_op(cx, SX_CEILDIV, sg->width, sx_mul(cx, t.chunks, warp));
    t.chunk = pb_let(pb, "tile", sx_op(cx, SX_MIN, tile, sx_mul(cx, warps, warp)));
    return t;
}

static KBuf **locals(Back *k, const char *base, int count)
{
    KBuf **bufs = NEWN(k->kg->cx->perm, KBuf *, k->ac.n);
    for (int j = 0; j < k->ac.n; j++)
        bufs[j] = kg_param_local(k->kg, base, k->ac.types[j], sx_const(k->kg->cx, count));
    return bufs;
}

static void make(Back *k, const Segments *t, KBuf *words)
{
    KGen *kg = k->kg;
    KBuild *b = kg->kb;
    kg_if_teams(kg); /* never launched elsewhere */
    const KExp *total = nest_total(kg, sx_mul(kg->cx, t->n_segs, t->chunks));
    kb_if(b, kg_lt(kg, kg_int(kg, 0), total));
    k->bd = board_open(kg, &k->ac, words, total);
    k->n = (Chunk){.chunks = kg_host(kg, t->chunks),
                   .chunk = kg_host(kg, t->chunk),
                   .width = kg_host(kg, t->width),
                   .threads = kg_id(kg, KID_GROUP_SIZE),
                   .unit = k->bd.number,
                   .p = kg->lid,
                   .active = kx_bool(kg->cx->perm, true)};
    segments_locate(kg, &k->n);
    make_elems(k, is_plain(k->e), compute_elems);
    seg_meet(kg);
    accs_declare(kg, &k->ac, &k->e->seg.nes);
    scan_run(k);
    accs_scan(kg, &k->ac, &k->n);
    post_sum(k);
    look_back(k);
    sum_before(k);
    make_elems(k, stores_plainly(k), store_elems);
    kb_end(b);
    kb_end(b);
}

/* The launch, and the branch for where it cannot be. */
static bool back_begin(PlanBuild *pb, const Stm *s, const Segments *sg, const ArrLoc *outs,
                       const ScanReader *reader)
{
    Ctx *cx = pb->cx;
    const Exp *e = s->exp;
    if (!board_holds(e))
        return false;
    KGen *kg = kg_new(pb, reader ? "segscan_scatter" : "segscan_back", e);
    Back k = {.kg = kg, .s = s, .e = e, .ac = accs_new(kg, e), .each = elems_of(e)};
    kg->guard = reader;
    k.reader = reader;
    const KExp *fits =
        sx_op(cx, SX_MIN, seg_tile_fits(cx, e, k.each), sx_size(cx, SIZE_LOOKS_BACK));
    Segments t = cut(pb, sg, k.each);
    const KExp *tiles = sx_mul(cx, t.n_segs, t.chunks), *one = sx_const(cx, 1);
    const KExp *few = sx_op(cx, SX_DIV, sx_const(cx, MOST_TILES), sx_op(cx, SX_MAX, tiles, one));
    accs_local(kg, &k.ac, true);
    k.stage = seg_stage(kg, &k.ac, k.each);
    k.seen = locals(&k, "seen", WINDOW);
    k.before = locals(&k, "before", 1);
    k.nearest = kg_param_local(kg, "nearest", T_I32, sx_const(cx, 1));
    k.outs = reader ? NULL : seg_outs(kg, s, 0, outs);
    Mem *board = pb_mem(pb, "board");
    int n_ops = pb->ops->n;
    kg->max_threads = sx_const(cx, 1); /* as good as any: such kernels are not launched */
    make(&k, &t, kg_param_mem(kg, board, T_U64));
    if (kg->uses_scratch || kg->uses_heap) {
        pb->ops->n = n_ops; /* without the memory of threads */
        return false;
    }
    Kernel *kernel = kg_finish(kg);
    pb_choose(pb, "segscan_back", sx_op(cx, SX_MIN, fits, few), cost_always(cx),
              "always: it reads its elements once");
    pb_if_fits(pb, (Fit){kernel, kg->group_size, kg_local_bytes(kg)});
    pb_alloc_shared(pb, board, board_bytes(cx, tiles), ALLOC_BOARD);
    kg_launch(kg, kernel, tiles);
    pb_else(pb);
    return true;
}

bool segscan_back(PlanBuild *pb, const Stm *s, const Segments *sg, const ArrLoc *outs)
{
    return back_begin(pb, s, sg, outs, NULL);
}

bool segscan_scatter(PlanBuild *pb, const Stm *s, const ScanReader *reader)
{
    const Nest *nest = &s->exp->seg.nest;
    Segments sg = {.n_segs = sx_const(pb->cx, 1), .width = sx_atom(pb->cx, nest_width(nest))};
    return back_begin(pb, s, &sg, NULL, reader);
}
