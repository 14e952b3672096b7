/* segscan^1 of segments that lie beside each other in memory, as columns do: reduce-then-scan by
 * blocks of neighbouring segments (segacross.c), cut into chunks, of a group each. (1) Each chunk's
 * segments are reduced, (2) the sums of each segment's chunks are scanned, (3) chunks are scanned,
 * beginning with what lies before them. Where blocks fill the device they are one chunk, and (3) is
 * all.
 *
 * A group goes through its chunk in tiles, of which a thread has a few elements of one segment that
 * follow each other, in registers; neighbours have those of neighbouring segments, so that what a
 * warp reads and writes is in one piece. The threads of a segment meet in local memory.
 *
 * Where work-items work for themselves each has a strip (segacross.c).
 *
 * Elements are made twice: this is for short code. */
#include "common/policy.h"
#include "kernels/level1/segments.h"

enum {
    BESIDE = 32,    /* segments of a block, at most: neighbours of a warp */
    TURNS = 4,      /* as in blocks_of */
    OWN_BYTES = 64, /* of a thread's elements in a tile, */
    LEAST_OWN = 2,  /* which are so many at least */
    MOST_OWN = 8,
    LEAST_BESIDE = 2 /* segments, else a warp reads too many pieces */
};

typedef struct {
    KGen *kg;
    const Stm *s;
    const Exp *e;
    const Blocks *bl;
    const KLoc *outs;
    Accs ac, carry; /* carry: the sum of what lies before the tile */
    Chunk n;
    const KExp *beg; /* the number in the chunk of the thread's first element of the tile */
    int each;        /* elements that it has */
    KBuf **own;
} Columns;

static int own_elems(const Exp *e)
{
    int bytes = 0;
    for (int j = 0; j < e->seg.nes.n; j++)
        bytes += prim_type_bytes[e->seg.op->params.at[j]->type.elem];
    int each = OWN_BYTES / bytes;
    return each < LEAST_OWN ? LEAST_OWN : each > MOST_OWN ? MOST_OWN : each;
}

/* --- A tile -------------------------------------------------------------------------------- */

/* Opens the loop of an active thread over its elements. */
static const KExp *open_own(const Columns *t)
{
    KGen *kg = t->kg;
    kb_if(kg->kb, t->n.active);
    nest_bind(kg, &t->e->seg.nest, t->e->seg.nest.n - 1, t->n.seg);
    const KExp *k = kb_for(kg->kb, "k", kg_int(kg, 0), kg_int(kg, t->each), kg_int(kg, 1));
    kg_loop_unroll(kg, -1);
    return k;
}

/* Opens the branch for element k, if the chunk has it; all of a full tile are there. */
static void if_element(const Columns *t, const KExp *k, bool full)
{
    KGen *kg = t->kg;
    const KExp *off = kb_let(kg->kb, "off", kg_add(kg, t->beg, k));
    kb_if(kg->kb, full ? kx_bool(kg->cx->perm, true) : kg_lt(kg, off, t->n.len));
    nest_bind_dim(kg, &vec_last(&t->e->seg.nest), kg_add(kg, t->n.beg, off));
}

static void close_own(const Columns *t)
{
    kb_end(t->kg->kb);
    kb_end(t->kg->kb);
}

static const KExp **own_at(const Columns *t, const KExp *k)
{
    const KExp **x = NEWN(t->kg->cx->perm, const KExp *, t->ac.n);
    for (int j = 0; j < t->ac.n; j++)
        x[j] = kb_load(t->kg->kb, "x", t->own[j], k);
    return x;
}

static void put_own(const Columns *t, const KExp *k, const Accs *x)
{
    for (int j = 0; j < x->n; j++)
        kb_store(t->kg->kb, t->own[j], k, kg_of(t->kg, x->acc[j]));
}

static void make_own(const Columns *t, bool full)
{
    KGen *kg = t->kg;
    const Exp *e = t->e;
    const KExp *k = open_own(t);
    Accs x = accs_like(kg, &t->ac);
    accs_declare(kg, &x, &e->seg.nes);
    if_element(t, k, full);
    WorkMark m = kg_work_begin(kg);
    seg_hint_maps(kg, e, t->outs, t->s);
    kg_stms(kg, e->seg.body);
    seg_store_maps(kg, e, t->outs, t->s);
    accs_set(kg, &x, accs_atoms(kg, &x, e->seg.body->res.at));
    kg_work_end(kg, m);
    kb_end(kg->kb);
    put_own(t, k, &x);
    close_own(t);
}

/* own := the thread's elements, scanned; acc: their sum. */
static void scan_own(const Columns *t)
{
    KGen *kg = t->kg;
    accs_set(kg, &t->ac, accs_atoms(kg, &t->ac, t->e->seg.nes.at));
    const KExp *k = open_own(t);
    accs_apply(kg, &t->ac, accs_now(kg, &t->ac), own_at(t, k));
    put_own(t, k, &t->ac);
    close_own(t);
}

/* The sum of all that lies before the thread's elements. */
static Accs sum_before(const Columns *t)
{
    KGen *kg = t->kg;
    Accs before = accs_copy(kg, &t->carry, "before");
    kb_if(kg->kb, kg_and(kg, t->n.active, kg_lt(kg, kg_int(kg, 0), t->n.p)));
    const KExp *left = kg_sub(kg, kg->lid, t->n.apart);
    accs_apply(kg, &before, accs_now(kg, &before), accs_load(kg, &t->ac, left));
    kb_end(kg->kb);
    return before;
}

/* carry := op(carry, the sum of the tile), which the last thread of the segment has. */
static void add_tile(const Columns *t)
{
    KGen *kg = t->kg;
    const KExp *behind = kg_sub(kg, kg_sub(kg, t->n.threads, t->n.p), kg_int(kg, 1));
    const KExp *last = kg_add(kg, kg->lid, kg_mul(kg, behind, t->n.apart));
    kb_if(kg->kb, t->n.active);
    accs_apply(kg, &t->carry, accs_now(kg, &t->carry), accs_load(kg, &t->ac, last));
    kb_end(kg->kb);
}

/* The sum up to the element that is bound, where its result is; env: Columns. */
static void store_sum(void *env, const Accs *sum)
{
    const Columns *t = env;
    const Nest *nest = &t->e->seg.nest;
    const KExp **ix = NEWN(t->kg->cx->perm, const KExp *, nest->n);
    nest_indices(t->kg, nest, nest->n, ix);
    for (int j = 0; j < sum->n; j++)
        loc_store(t->kg, &t->outs[j], ix, nest->n, kg_of(t->kg, sum->acc[j]));
}

static void store_own(Columns *t, const Accs *before, bool full)
{
    KGen *kg = t->kg;
    const KExp *k = open_own(t);
    if_element(t, k, full);
    Accs sum = accs_copy(kg, before, "sum");
    accs_apply(kg, &sum, accs_now(kg, before), own_at(t, k));
    store_sum(t, &sum);
    kb_end(kg->kb);
    close_own(t);
}

/* --- A chunk ------------------------------------------------------------------------------- */

/* Most tiles are full: there loads are on their way together, without a question for each. */
static void scan_tiles(Columns *t)
{
    KGen *kg = t->kg;
    KBuild *b = kg->kb;
    const Chunk *n = &t->n;
    const KExp *each = kg_int(kg, t->each);
    const KExp *size = kb_let(b, "tile", kg_mul(kg, n->threads, each));
    const KExp *first = kb_for(b, "first", kg_int(kg, 0), n->chunk, size);
    const KExp *full = kb_let(b, "full", kg_le(kg, kg_add(kg, first, size), n->len));
    t->beg = kb_let(b, "own", kg_add(kg, first, kg_mul(kg, n->p, each)));
    kb_if(b, full);
    make_own(t, true);
    kb_else(b);
    make_own(t, false);
    kb_end(b);
    scan_own(t);
    accs_scan(kg, &t->ac, n);
    Accs before = sum_before(t);
    add_tile(t);
    kb_if(b, full);
    store_own(t, &before, true);
    kb_else(b);
    store_own(t, &before, false);
    kb_end(b);
    seg_meet(kg); /* the buffers are used again */
    kb_end(b);
}

static Columns columns_open(PlanBuild *pb, const char *name, const Stm *s, const Blocks *bl,
                            bool scan)
{
    const Exp *e = s->exp;
    KGen *kg = kg_new(pb, name, e);
    kg->group_size = sx_team_size(pb->cx);
    Columns t = {.kg = kg, .s = s, .e = e, .bl = bl, .ac = accs_new(kg, e), .each = own_elems(e)};
    accs_local(kg, &t.ac, scan);
    Chunk unit;
    const KExp *block;
    t.n = blocks_open(kg, bl, &unit, &block);
    accs_declare(kg, &t.ac, &e->seg.nes);
    return t;
}

/* The place of the sum of chunk c of segment `seg`. */
static const KExp *sum_at(const Columns *t, const KExp *seg, const KExp *c)
{
    return kg_add(t->kg, kg_mul(t->kg, seg, t->n.chunks), c);
}

static void put_sum(const Columns *t, KBuf *const *sums, const KExp *seg, const KExp *const *x)
{
    for (int j = 0; j < t->ac.n; j++)
        kb_store(t->kg->kb, sums[j], sum_at(t, seg, t->n.c), x[j]);
}

static KBuf **sums_of(const Columns *t)
{
    KBuf **sums = NEWN(t->kg->cx->perm, KBuf *, t->ac.n);
    for (int j = 0; j < t->ac.n; j++)
        sums[j] = kg_param_out(t->kg, "sums", t->ac.types[j]);
    return sums;
}

static void reduce_tiles(Columns *t, KBuf *const *sums)
{
    KGen *kg = t->kg;
    const Chunk *n = &t->n;
    kb_if(kg->kb, n->active);
    nest_bind(kg, &t->e->seg.nest, t->e->seg.nest.n - 1, n->seg);
    seg_accumulate(kg, t->e, &t->ac, n, NULL, t->s);
    kb_end(kg->kb);
    accs_tree(kg, &t->ac, n);
    kb_if(kg->kb, kg_and(kg, n->active, kg_eq(kg, n->p, kg_int(kg, 0))));
    put_sum(t, sums, n->seg, accs_now(kg, &t->ac));
    kb_end(kg->kb);
}

static void reduce_strip(Columns *t, KBuf *const *sums)
{
    Strip st = strip_open(t->kg, t->e, t->bl, &t->ac, &t->n);
    strip_clear(&st);
    strip_add(&st, NULL, NULL);
    const KExp *i = strip_each(&st);
    put_sum(t, sums, strip_segment(&st, i), strip_get(&st, i));
    kb_end(t->kg->kb);
}

/* What lies before chunk c of segment `seg`, if that is not the first one. */
static const KExp **load_sum(const Columns *t, KBuf *const *sums, const KExp *seg)
{
    const KExp **x = NEWN(t->kg->cx->perm, const KExp *, t->ac.n);
    const KExp *before = sum_at(t, seg, kg_sub(t->kg, t->n.c, kg_int(t->kg, 1)));
    for (int j = 0; j < t->ac.n; j++)
        x[j] = kb_load(t->kg->kb, "sum", sums[j], before);
    return x;
}

static void scan_block(Columns *t, KBuf *const *sums)
{
    KGen *kg = t->kg;
    t->carry = accs_copy(kg, &t->ac, "carry");
    kb_if(kg->kb, kg_and(kg, t->n.active, kg_lt(kg, kg_int(kg, 0), t->n.c)));
    accs_set(kg, &t->carry, load_sum(t, sums, t->n.seg));
    kb_end(kg->kb);
    t->own = NEWN(kg->cx->perm, KBuf *, t->ac.n);
    for (int j = 0; j < t->ac.n; j++)
        t->own[j] = kb_array(kg->kb, "own", t->ac.types[j], t->each);
    scan_tiles(t);
}

static void scan_strip(Columns *t, KBuf *const *sums)
{
    KGen *kg = t->kg;
    Strip st = strip_open(kg, t->e, t->bl, &t->ac, &t->n);
    kb_if(kg->kb, kg_lt(kg, kg_int(kg, 0), t->n.c));
    const KExp *i = strip_each(&st);
    strip_set(&st, i, load_sum(t, sums, strip_segment(&st, i)));
    kb_end(kg->kb);
    kb_else(kg->kb);
    strip_clear(&st);
    kb_end(kg->kb);
    strip_add(&st, store_sum, t);
}

typedef void ChunkMaker(Columns *t, KBuf *const *sums);

/* A kernel over all chunks: by groups, and by work-items that work for themselves. */
static Stage over_chunks(PlanBuild *pb, const char *name, const Stm *s, const Blocks *bl,
                         const ArrLoc *outs, ChunkMaker *group, ChunkMaker *alone)
{
    Columns t = columns_open(pb, name, s, bl, outs != NULL);
    KGen *kg = t.kg;
    t.outs = outs ? seg_outs(kg, s, 0, outs) : NULL;
    KBuf *const *sums = sums_of(&t);
    kg_if_teams(kg);
    group(&t, sums);
    kb_else(kg->kb);
    if (has_strips(s)) {
        kb_if(kg->kb, t.n.active);
        alone(&t, sums);
        kb_end(kg->kb);
    }
    kb_end(kg->kb);
    seg_meet(kg); /* the buffers are used again */
    kb_end(kg->kb);
    return (Stage){kg, kg_finish(kg)};
}

/* --- The construct ------------------------------------------------------------------------- */

/* Chunks are whole tiles. */
static Blocks plan_blocks(PlanBuild *pb, const Stm *s)
{
    Ctx *cx = pb->cx;
    Blocks bl = blocks_of(pb, s, BESIDE, TURNS);
    const KExp *tile = sx_mul(cx, bl.threads, sx_const(cx, own_elems(s->exp)));
    const KExp *tiles = sx_op(cx, SX_CEILDIV, bl.cut.chunk, tile);
    bl.cut.chunk = pb_let(pb, "chunk", sx_mul(cx, tiles, tile));
    const KExp *chunks = sx_op(cx, SX_CEILDIV, bl.cut.width, bl.cut.chunk);
    bl.cut.chunks = pb_let(pb, "chunks", sx_op(cx, SX_MAX, chunks, sx_const(cx, 1)));
    return bl;
}

static void launch_all(PlanBuild *pb, const Stm *s, const ArrLoc *outs)
{
    Ctx *cx = pb->cx;
    const Exp *e = s->exp;
    int n = e->seg.nes.n;
    Mem **sums = NEWN(cx->perm, Mem *, n), **none = NEWN(cx->perm, Mem *, n);
    Blocks bl = plan_blocks(pb, s);
    Stage scan = over_chunks(pb, "segscan_across", s, &bl, outs, scan_block, scan_strip);
    want_same_elements(pb->plan, e);
    pb_if_more(pb, bl.cut.chunks, 1);
    for (int j = 0; j < n; j++) {
        int bytes = prim_type_bytes[e->seg.op->params.at[j]->type.elem];
        const KExp *count = sx_mul(cx, bl.n_segs, bl.cut.chunks);
        sums[j] = pb_alloc(pb, "partial", sx_mul(cx, count, sx_const(cx, bytes)));
        none[j] = outs[j].mem; /* any block: not read where there is one chunk */
    }
    Stage reduce = over_chunks(pb, "segred_beside", s, &bl, NULL, reduce_tiles, reduce_strip);
    stage_launch(&reduce, &bl.cut, sums);
    Segments parts = {.n_segs = bl.n_segs, .chunks = bl.cut.chunks};
    parts = segments_of_partials(pb, &parts);
    Stage between = scan_partials(pb, e, &parts, sums);
    stage_launch(&between, &parts, NULL);
    stage_launch(&scan, &bl.cut, sums);
    pb_else(pb);
    stage_launch(&scan, &bl.cut, none);
    pb_end(pb);
}

/* By groups, which exchange sums in local memory, or by work-items in strips. */
static const KExp *can_launch(Ctx *cx, const Stm *s)
{
    const KExp *alone = sx_const(cx, has_strips(s));
    return sx_select(cx, sx_teams(cx), seg_tile_fits(cx, s->exp, 0), alone);
}

void segscan_across(PlanBuild *pb, const Stm *s, const ArrLoc *outs)
{
    Ctx *cx = pb->cx;
    const Exp *e = s->exp;
    const Nest *nest = &e->seg.nest;
    const KExp *beside = sx_atom(cx, nest->at[nest->n - 2].width);
    int least = nest->n > 2 ? RT_USUAL_WARP : LEAST_BESIDE; /* as in reduce_across */
    if (!seg_is_short(e->seg.body, true) || !seg_is_short(e->seg.op->body, true)) {
        segscan_chunks(pb, s, outs);
        return;
    }
    pb_choose(pb, "segscan_across", can_launch(cx, s),
              cost_percent(cx, beside, sx_const(cx, least)),
              "segments enough lie beside each other");
    launch_all(pb, s, outs);
    pb_else(pb);
    segscan_chunks(pb, s, outs);
    pb_end(pb);
}
