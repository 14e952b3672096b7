/* segred^1 and segscan^1: which kernels they get. Operators on arrays are applied by one thread a
 * segment; long segments are cut into chunks (segred.c, segscan.c). Of short ones as many whole
 * ones as fit are packed into the tile of a work-group, one behind the other, which is done here.
 *
 *   segments   |  0  |  1  |  2  |  3  |  4  |           of w elements, in the order of memory
 *   threads    |   0   |   1   |   2   |   3   |         a run of `each` elements each: scans
 *              |  0  |  1  |  2  |  3  |  4  |           whole segments: reductions
 *
 * The elements are computed dealt out over the tile, so that neighbouring threads read neighbours
 * however short the segments are, and change places in padded local memory.
 *
 * Of a reduction each thread then combines a segment, or a part of one if it is longer than two
 * runs; the parts are combined in order.
 *
 * Of a scan each thread goes through a run of its own, in which segments begin and end anywhere;
 * the sums of the runs are scanned, each over so many threads as its segment reaches to the left,
 * in the order of the elements. Where a segment began in an earlier run, what lies before the run
 * is added. Scans go back to global memory the way they came.
 *
 * Only where work-items work together, and for constructs whose arrays lie along the segments:
 * others are read as well by a thread a segment, or better. */
#include "common/policy.h"
#include "kernels/level1/sums.h"

enum { RUN_UNROLL = 4 }; /* loads of so many elements are on their way at a time */
/* In segments of so many elements those that neighbouring threads read at a time fill what memory
 * transfers anyhow, in scans and in reductions whose order does not matter: nothing is gained there
 * for finding the segment of each element. */
enum { WOVEN = 64 };

typedef struct {
    KGen *kg;
    const Stm *s;
    const Exp *e;
    Accs ac;
    int each; /* elements a thread */
    KBuf **stage;
    const KLoc *outs;
    const ArrLoc *results;    /* those of a reduction */
    const KExp *width, *base; /* base: the tile's first segment */
    const KExp *segs, *count; /* its segments, and their elements */
    /* of a scan: */
    const KExp *run, *off; /* the thread's first element: in the tile, in its segment */
    const KExp *rest;      /* so many more from there on are of a segment that began before */
    /* of a reduction: */
    const KExp *threads, *turn; /* of a segment; segments at a time */
    const KExp *mine,
        *part; /* the thread's segment of those, its number among that one's threads */
} Pack;

/* --- Elements, dealt out ------------------------------------------------------------------- */

/* Opens the loop of a thread over the elements that are dealt out to it; the number in the tile of
 * the one at hand. */
static const KExp *open_dealt(Pack *p)
{
    KGen *kg = p->kg;
    const KExp *k = kb_for(kg->kb, "k", kg_int(kg, 0), kg_int(kg, p->each), kg_int(kg, 1));
    kg_loop_unroll(kg, -1);
    const KExp *at = kg_add(kg, kg_mul(kg, k, kg_id(kg, KID_GROUP_SIZE)), kg->lid);
    return kb_let(kg->kb, "number", at);
}

typedef void ElemsMaker(Pack *p, bool full);

/* Most tiles are full: there loads are on their way together, without a question for each. */
static void make_elems(Pack *p, ElemsMaker *make)
{
    KGen *kg = p->kg;
    const KExp *all = kg_mul(kg, kg_id(kg, KID_GROUP_SIZE), kg_int(kg, p->each));
    kb_if(kg->kb, kg_eq(kg, p->count, all));
    make(p, true);
    kb_else(kg->kb);
    make(p, false);
    kb_end(kg->kb);
}

/* Opens the branch for elements of segments, in a full tile all, and binds the one at hand. */
static void if_element(Pack *p, bool full, const KExp *number)
{
    KGen *kg = p->kg;
    const Nest *nest = &p->e->seg.nest;
    kb_if(kg->kb, full ? kx_bool(kg->cx->perm, true) : kg_lt(kg, number, p->count));
    const KExp *q = kb_let(kg->kb, "q", kg_quot(kg, number, p->width));
    nest_bind(kg, nest, nest->n - 1, kb_let(kg->kb, "seg", kg_add(kg, p->base, q)));
    nest_bind_dim(kg, &vec_last(nest), kg_sub(kg, number, kg_mul(kg, q, p->width)));
}

static void stage_put(Pack *p, const KExp *number, const KExp **x)
{
    const KExp *at = seg_stage_at(p->kg, number);
    for (int j = 0; j < p->ac.n; j++)
        kb_store(p->kg->kb, p->stage[j], at, x[j]);
}

static const KExp **stage_get(Pack *p, const KExp *number)
{
    const KExp **x = NEWN(p->kg->cx->perm, const KExp *, p->ac.n);
    const KExp *at = seg_stage_at(p->kg, number);
    for (int j = 0; j < p->ac.n; j++)
        x[j] = kb_load(p->kg->kb, "x", p->stage[j], at);
    return x;
}

/* Computes the elements into the stage; neutral ones fill the tile. */
static void compute_elems(Pack *p, bool full)
{
    KGen *kg = p->kg;
    const Exp *e = p->e;
    const KExp *number = open_dealt(p);
    Accs x = accs_like(kg, &p->ac);
    accs_declare(kg, &x, &e->seg.nes);
    if_element(p, full, number);
    WorkMark m = kg_work_begin(kg);
    seg_hint_maps(kg, e, p->outs, p->s);
    kg_stms(kg, e->seg.body);
    seg_store_maps(kg, e, p->outs, p->s);
    accs_set(kg, &x, accs_atoms(kg, &x, e->seg.body->res.at));
    kg_work_end(kg, m);
    kb_end(kg->kb);
    stage_put(p, number, accs_now(kg, &x));
    kb_end(kg->kb);
}

/* Writes the scanned elements. */
static void store_elems(Pack *p, bool full)
{
    KGen *kg = p->kg;
    int depth = p->e->seg.nest.n;
    const KExp **ix = NEWN(kg->cx->perm, const KExp *, depth);
    const KExp *number = open_dealt(p);
    if_element(p, full, number);
    nest_indices(kg, &p->e->seg.nest, depth, ix);
    const KExp **x = stage_get(p, number);
    for (int j = 0; j < p->ac.n; j++)
        loc_store(kg, &p->outs[j], ix, depth, x[j]);
    kb_end(kg->kb);
    kb_end(kg->kb);
}

/* --- A thread's run ------------------------------------------------------------------------ */

/* Opens the loop over the run; the number in it of the element at hand. */
static const KExp *open_run(Pack *p)
{
    KGen *kg = p->kg;
    const KExp *k = kb_for(kg->kb, "k", kg_int(kg, 0), kg_int(kg, p->each), kg_int(kg, 1));
    kg_loop_unroll(kg, -1);
    return k;
}

static const KExp *i32_of(Pack *p, const KExp *x)
{
    return kx_conv(p->kg->cx->perm, T_I32, x);
}

/* acc := the element at hand added to those of its segment in the run before it. left: elements of
 * the segment from this one on. It changes and is small: an i32 in every variant of the kernel. */
static void add_element(Pack *p, const KExp *number, const KVar *left, const KExp *width)
{
    KGen *kg = p->kg;
    const KExp **x = stage_get(p, number);
    kb_if(kg->kb, kg_eq(kg, kg_of(kg, left), width));
    accs_set(kg, &p->ac, accs_atoms(kg, &p->ac, p->e->seg.nes.at));
    kb_end(kg->kb);
    accs_apply(kg, &p->ac, accs_now(kg, &p->ac), x);
}

static void next_element(Pack *p, KVar *left, const KExp *width)
{
    KGen *kg = p->kg;
    Arena *a = kg->cx->perm;
    const KExp *one = i32_of(p, kg_int(kg, 1)), *now = kg_of(kg, left);
    const KExp *fewer = kx_prim2(a, OP_SUB, now, one);
    kb_set(kg->kb, left, kx_select(a, kg_eq(kg, now, one), width, fewer));
}

static KVar *elements_left(Pack *p)
{
    KGen *kg = p->kg;
    return kb_var(kg->kb, "left", T_I32, i32_of(p, kg_sub(kg, p->width, p->off)));
}

/* own := the run, scanned from each beginning of a segment on. */
static void scan_run(Pack *p, KBuf **own)
{
    KGen *kg = p->kg;
    const KExp *width = kb_let(kg->kb, "w", i32_of(p, p->width));
    KVar *left = elements_left(p);
    const KExp *k = open_run(p);
    add_element(p, kg_add(kg, p->run, k), left, width);
    for (int j = 0; j < p->ac.n; j++)
        kb_store(kg->kb, own[j], k, kg_of(kg, p->ac.acc[j]));
    next_element(p, left, width);
    kb_end(kg->kb);
}

/* --- Between the threads ------------------------------------------------------------------- */

/* Scans the sums of the runs, those of one segment. */
static void scan_sums(Pack *p)
{
    KGen *kg = p->kg;
    KBuild *b = kg->kb;
    const KExp *each = kg_int(kg, p->each), *less = kg_int(kg, p->each - 1);
    Chunk n = {.active = kx_bool(kg->cx->perm, true)};
    const KExp *last = kg_rem(kg, kg_add(kg, p->run, less), p->width);
    n.p = kb_let(b, "reach", kg_quot(kg, last, each)); /* runs to the left, all of its segment */
    n.threads = kb_let(b, "threads", kg_quot(kg, kg_add(kg, p->width, less), each));
    accs_scan(kg, &p->ac, &n);
}

/* The sum of the elements before the run, of the segment that goes on in it: for threads that have
 * such a one. */
static const KExp **sum_before(Pack *p)
{
    KGen *kg = p->kg;
    return accs_load(kg, &p->ac, kg_sub(kg, kg->lid, kg_int(kg, 1)));
}

/* The scanned run into the stage. */
static void add_before(Pack *p, KBuf *const *own)
{
    KGen *kg = p->kg;
    KBuild *b = kg->kb;
    const KExp *zero = kg_int(kg, 0), **x = NEWN(kg->cx->perm, const KExp *, p->ac.n);
    Accs before = accs_like(kg, &p->ac);
    accs_declare(kg, &before, &p->e->seg.nes);
    kb_if(b, kg_lt(kg, zero, p->rest));
    accs_set(kg, &before, sum_before(p));
    kb_end(b);
    const KExp *k = open_run(p);
    for (int j = 0; j < p->ac.n; j++)
        x[j] = kb_load(b, "x", own[j], k);
    accs_set(kg, &p->ac, x);
    kb_if(b, kg_lt(kg, k, p->rest));
    accs_apply(kg, &p->ac, accs_now(kg, &before), x);
    kb_end(b);
    stage_put(p, kg_add(kg, p->run, k), accs_now(kg, &p->ac));
    kb_end(b);
    seg_meet(kg);
}

/* --- A tile -------------------------------------------------------------------------------- */

static void scan_tile(Pack *p)
{
    KGen *kg = p->kg;
    KBuf **own = NEWN(kg->cx->perm, KBuf *, p->ac.n);
    for (int j = 0; j < p->ac.n; j++)
        own[j] = kb_array(kg->kb, "own", p->ac.types[j], p->each);
    scan_run(p, own);
    scan_sums(p);
    add_before(p, own);
    make_elems(p, store_elems);
}

/* acc := the elements of the thread's part of its segment in the tile, combined. That it lies in
 * the tile is said once more: 32 bits are then seen to do for positions. */
static void reduce_part(Pack *p, const KExp *seg)
{
    KGen *kg = p->kg;
    KBuild *b = kg->kb;
    const KExp *zero = kg_int(kg, 0), *one = kg_int(kg, 1);
    const KExp *tile = kg_mul(kg, kg_id(kg, KID_GROUP_SIZE), kg_int(kg, p->each));
    const KExp *more = kg_sub(kg, kg_add(kg, p->width, p->threads), one);
    const KExp *len = kb_let(b, "len", kg_quot(kg, more, p->threads));
    const KExp *from = kb_let(b, "from", kg_mul(kg, p->part, len));
    const KExp *first = kg_add(kg, kg_mul(kg, seg, p->width), from);
    first = kb_let(b, "first", kg_min(kg, tile, first));
    len = kg_min(kg, len, kg_sub(kg, p->width, from));
    const KExp *k = kb_for(b, "k", zero, kb_let(b, "own", kg_min(kg, tile, len)), one);
    kg_loop_unroll(kg, RUN_UNROLL);
    accs_apply(kg, &p->ac, accs_now(kg, &p->ac), stage_get(p, kg_add(kg, first, k)));
    kb_end(b);
}

/* Which of a segment's threads, and which of its segments at a time, this one is. */
static void number_threads(Pack *p, const KExp *threads)
{
    KGen *kg = p->kg;
    KBuild *b = kg->kb;
    p->threads = kg_host(kg, threads);
    p->turn = kb_let(b, "turn", kg_quot(kg, kg_id(kg, KID_GROUP_SIZE), p->threads));
    p->mine = kb_let(b, "mine", kg_quot(kg, kg->lid, p->threads));
    p->part = kb_let(b, "p", kg_rem(kg, kg->lid, p->threads));
}

/* In turns, of which there is one where segments are longer than runs. */
static void reduce_tile(Pack *p)
{
    KGen *kg = p->kg;
    KBuild *b = kg->kb;
    Chunk n = {.threads = p->threads, .p = p->part};
    const KExp *zero = kg_int(kg, 0);
    const KExp *seg = kg_add(kg, kb_for(b, "first", zero, p->segs, p->turn), p->mine);
    seg = kb_let(b, "seg", seg);
    const KExp *there = kg_and(kg, kg_lt(kg, p->mine, p->turn), kg_lt(kg, seg, p->segs));
    n.active = kb_let(b, "active", there);
    accs_declare(kg, &p->ac, &p->e->seg.nes);
    kb_if(b, n.active);
    reduce_part(p, seg);
    kb_end(b);
    accs_tree(kg, &p->ac, &n);
    kb_if(b, kg_and(kg, n.active, kg_eq(kg, p->part, zero)));
    seg_store_reduced(kg, p->s, p->results, kg_add(kg, p->base, seg), accs_now(kg, &p->ac));
    kb_end(b);
    seg_meet(kg); /* the buffers are used again */
    kb_end(b);
}

/* Opens the loop over the tiles of a group. */
static void open_tiles(Pack *p, const KExp *n_segs, const KExp *per)
{
    KGen *kg = p->kg;
    KBuild *b = kg->kb;
    kg->max_threads = nest_max_threads(kg, n_segs, per);
    const KExp *total = nest_total(kg, n_segs), *of_group = kg_host(kg, per);
    const KExp *first = kg_mul(kg, kg_id(kg, KID_GROUP), of_group);
    const KExp *step = kg_mul(kg, kg_id(kg, KID_GROUPS), of_group);
    p->base = kb_for(b, "base", first, total, step);
    p->segs = kb_let(b, "segs", kg_min(kg, of_group, kg_sub(kg, total, p->base)));
    p->count = kb_let(b, "count", kg_mul(kg, p->segs, p->width));
}

static void locate_run(Pack *p)
{
    KGen *kg = p->kg;
    KBuild *b = kg->kb;
    const KExp *zero = kg_int(kg, 0);
    p->run = kb_let(b, "run", kg_mul(kg, kg->lid, kg_int(kg, p->each)));
    p->off = kb_let(b, "off", kg_rem(kg, p->run, p->width));
    const KExp *rest = kg_sub(kg, p->width, p->off);
    p->rest = kb_let(b, "rest", kx_select(kg->cx->perm, kg_lt(kg, zero, p->off), rest, zero));
}

static void launch_tiles(PlanBuild *pb, const Stm *s, const ArrLoc *outs, int each, const KExp *per)
{
    const Exp *e = s->exp;
    const Nest *nest = &e->seg.nest;
    bool scan = e->kind == E_SEGSCAN;
    const KExp *runs = sx_const(pb->cx, 2 * (int64_t)each),
               *width = sx_atom(pb->cx, nest_width(nest));
    const KExp *parts =
        sx_op(pb->cx, SX_MAX, sx_op(pb->cx, SX_CEILDIV, width, runs), sx_const(pb->cx, 1));
    parts = scan ? NULL : pb_let(pb, "threads", parts);
    const KExp *n_segs = nest_size(pb->cx, nest, 0, nest->n - 1);
    KGen *kg = kg_new(pb, scan ? "segscan_packed" : "segred_packed", e);
    Pack p = {.kg = kg, .s = s, .e = e, .results = outs, .ac = accs_new(kg, e), .each = each};
    kg_if_teams(kg); /* never launched elsewhere */
    accs_local(kg, &p.ac, scan);
    p.stage = seg_stage(kg, &p.ac, each);
    p.outs = seg_outs(kg, s, scan ? 0 : p.ac.n, outs);
    p.width = kg_host(kg, sx_atom(pb->cx, nest_width(nest)));
    if (!scan)
        number_threads(&p, parts);
    open_tiles(&p, n_segs, per);
    make_elems(&p, compute_elems);
    seg_meet(kg);
    if (scan) {
        accs_declare(kg, &p.ac, &e->seg.nes);
        locate_run(&p);
        scan_tile(&p);
    } else {
        reduce_tile(&p);
    }
    seg_meet(kg); /* the buffers are used again */
    kb_end(kg->kb);
    kb_end(kg->kb);
    Kernel *k = kg_finish(kg);
    pb_if_fits(pb, (Fit){k, kg->group_size, kg_local_bytes(kg)});
    kg_launch(kg, k, nest_groups_turning(kg, n_segs, per));
}

/* --- When it pays -------------------------------------------------------------------------- */

/* Do the results of a scan lie along the segments? */
static bool lie_along(const Stm *s, const ArrLoc *outs)
{
    for (int j = 0; j < s->pat.n; j++) {
        int rank = s->pat.at[j]->type.rank;
        if (rank > 0 && !kx_is_int(outs[j].at.strides[rank - 1], 1))
            return false;
    }
    return true;
}

/* Whole segments in a tile: 0 where there is no room, or none is worth it. */
static const KExp *per_group(Ctx *cx, const Exp *e, int each)
{
    const KExp *zero = sx_const(cx, 0), *one = sx_const(cx, 1);
    const KExp *tile = sx_mul(cx, sx_size(cx, SIZE_GROUP_SIZE), sx_const(cx, each));
    const KExp *room = sx_select(cx, seg_tile_fits(cx, e, each), tile, zero);
    const KExp *w = sx_atom(cx, nest_width(&e->seg.nest));
    return sx_op(cx, SX_DIV, sx_select(cx, sx_teams(cx), room, zero), sx_op(cx, SX_MAX, w, one));
}

/* Launches tiles, and opens the branch for segments that are not so short. False, with nothing
 * done, for constructs that are never packed. */
static bool pack_begin(PlanBuild *pb, const Stm *s, const ArrLoc *outs)
{
    Ctx *cx = pb->cx;
    const Exp *e = s->exp;
    bool scan = e->kind == E_SEGSCAN;
    int each = seg_each(e);
    if (e->seg.nest.n < 2 || each == 1 || !mem_reads_along(cx, e, pb->locs) ||
        (scan && !lie_along(s, outs)))
        return false;
    const KExp *n_segs = nest_size(cx, &e->seg.nest, 0, e->seg.nest.n - 1);
    const KExp *w = sx_atom(cx, nest_width(&e->seg.nest)), *one = sx_const(cx, 1);
    const KExp *per = pb_let(pb, "per_group", per_group(cx, e, each));
    /* reductions of one element are maps; of scans a work-item has several in a tile */
    const KExp *can = sx_op(cx, SX_MIN, per, scan ? w : sx_sub(cx, w, one));
    const KExp *pays = cost_always(cx);
    if (!scan) {
        /* a tile for each compute unit at least; smaller ones are shared out better */
        const KExp *fill = sx_mul(cx, sx_op(cx, SX_MAX, per, one), sx_size(cx, SIZE_COMPUTE_UNITS));
        pays = cost_percent(cx, n_segs, fill);
    }
    if (scan || op_is_comm(e)) {
        const KExp *most = sx_const(cx, WOVEN - 1);
        pays = cost_both(cx, pays, cost_percent_most(cx, most, w));
    }
    pb_choose(pb, "segpack", can, pays,
              "segments are short, and there are tiles of them for each compute unit");
    launch_tiles(pb, s, outs, each, per);
    pb_else(pb);
    return true;
}

/* --- The constructs ------------------------------------------------------------------------ */

static void make_either(PlanBuild *pb, const Stm *s, const ArrLoc *outs, KernelMaker *chunks)
{
    const Exp *e = s->exp;
    if (!types_scalar(&e->seg.op->params, 0, e->seg.nes.n)) {
        seg_sequential(pb, s, outs, e->kind == E_SEGSCAN);
        return;
    }
    int branches = e->kind == E_SEGRED ? sums_branches(pb, s, outs) : 0;
    branches += pack_begin(pb, s, outs);
    chunks(pb, s, outs);
    while (branches-- > 0)
        pb_end(pb);
}

/* ... where `least` segments lie beside each other, as those of the innermost dimension do. */
static void across_if_wide(PlanBuild *pb, const Stm *s, const ArrLoc *outs, int least)
{
    const Nest *nest = &s->exp->seg.nest;
    Ctx *cx = pb->cx;
    const KExp *beside = sx_atom(cx, nest->at[nest->n - 2].width);
    pb_choose(pb, "segred_across", sx_const(cx, 1), cost_percent(cx, beside, sx_const(cx, least)),
              "segments enough lie beside each other");
    segred_across(pb, s, outs);
    pb_else(pb);
    segred_chunks(pb, s, outs);
    pb_end(pb);
}

/* Of columns of several matrices a warp at least has to be of one. And where the order matters, of
 * which a work-item has a run, few columns are better dealt out (segdealt.c): 2^24 pairs in one
 * take 98 us so, 194 in a block. */
static void reduce_across(PlanBuild *pb, const Stm *s, const ArrLoc *outs)
{
    enum { FEW = 8 };
    if (s->exp->seg.nest.n > 2)
        across_if_wide(pb, s, outs, RT_USUAL_WARP);
    else if (!op_is_comm(s->exp))
        across_if_wide(pb, s, outs, FEW);
    else
        segred_across(pb, s, outs);
}

void make_segred(PlanBuild *pb, const Stm *s, const ArrLoc *outs)
{
    const Exp *e = s->exp;
    bool across = e->seg.nest.n > 1 && mem_reads_across(pb->cx, e, pb->locs);
    make_either(pb, s, outs, across ? reduce_across : segred_chunks);
}

void make_segscan(PlanBuild *pb, const Stm *s, const ArrLoc *outs)
{
    bool across = s->exp->seg.nest.n > 1 && mem_reads_across(pb->cx, s->exp, pb->locs);
    make_either(pb, s, outs, across ? segscan_across : segscan_chunks);
}

void make_scan_scatter(PlanBuild *pb, const Stm *s, const ScanReader *reader)
{
    bool one = segscan_scatter(pb, s, reader);
    pb_if_more(pb, sx_size(pb->cx, SIZE_SCAN_SCATTERS), 0);
    segscan_scatter_chunks(pb, s, reader);
    pb_else(pb);
    segscan_launches(pb, s, reader->outs);
    make_segscatter(pb, reader->scatter, reader->dests);
    pb_end(pb);
    if (one)
        pb_end(pb);
}
