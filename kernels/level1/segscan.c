/* segscan^1: segmented inclusive scan, reduce-then-scan (see segments.h for chunks and threads).
 *
 * Segments of several chunks: (1) each chunk is reduced, (2) the chunks' sums of each segment are
 * scanned, (3) each chunk is scanned, beginning with the sum of the chunks before it. Segments of
 * one chunk need (3) only. A chunk is scanned by P threads in tiles of neighbouring elements,
 * several of them a thread, which scans its own in registers; or, on a CPU and when segments are
 * very short, by one thread. Operators on arrays: one thread a segment.
 *
 * Elements are made twice, in (1) and in (3). Where sums are exact, as of a filter's flags, both
 * must find the same (want_same_elements). */
#include "kernels/level1/segments.h"

/* Writes the accumulators as the scanned results of the present element. */
static void store_scanned(KGen *kg, const Stm *s, const KLoc *outs, const Accs *ac)
{
    const Exp *e = s->exp;
    int depth = e->seg.nest.n;
    const KExp **ix = NEWN(kg->cx->perm, const KExp *, depth);
    nest_indices(kg, &e->seg.nest, depth, ix);
    for (int j = 0; j < ac->n; j++)
        loc_store(kg, &outs[j], ix, depth, kg_of(kg, ac->acc[j]));
}

/* acc := the sum of what lies before chunk `c` of its segment: nothing for the first one. Gives the
 * buffers, blocks of the launch, of the sums up to the end of each chunk. */
static KBuf *const *load_carry(KGen *kg, const Accs *ac, const Chunk *n)
{
    KBuf **sums = NEWN(kg->cx->perm, KBuf *, ac->n);
    kb_if(kg->kb, kg_lt(kg, kg_int(kg, 0), n->c));
    const KExp *before = kg_sub(kg, n->unit, kg_int(kg, 1));
    for (int j = 0; j < ac->n; j++) {
        sums[j] = kg_param_out(kg, "sums", ac->types[j]);
        kb_set(kg->kb, ac->acc[j], kb_load(kg->kb, "sum", sums[j], before));
    }
    kb_end(kg->kb);
    return sums;
}

/* --- By one thread a chunk ----------------------------------------------------------------- */

/* What a chunk's elements are scanned into: results, or a scatter that reads them. */
typedef struct {
    const Stm *s;
    const KLoc *outs;
    const ScanReader *reader; /* NULL: none */
    const Accs *ac;
    const Chunk *n;
    KBuf *const *sums; /* up to the end of each chunk; of a reader's */
} Scanned;

/* The body of element i of the chunk. */
static void scanned_element(KGen *kg, const Scanned *sc, const KExp *i)
{
    const Exp *e = sc->s->exp;
    nest_bind_dim(kg, &vec_last(&e->seg.nest), kg_add(kg, sc->n->beg, i));
    if (!sc->reader)
        seg_hint_maps(kg, e, sc->outs, sc->s);
    kg_stms(kg, e->seg.body);
    if (!sc->reader)
        seg_store_maps(kg, e, sc->outs, sc->s);
}

/* sum := op(sum, the element at hand). */
static void add_element(KGen *kg, const Exp *e, const Accs *sum)
{
    accs_apply(kg, sum, accs_now(kg, sum), accs_atoms(kg, sum, e->seg.body->res.at));
}

/* Blocks of neighbouring elements, that are scanned in registers; so many of them at least. */
enum { BLOCK = 8, LEAST_BLOCKS = 4 };

static const KExp *open_block(KGen *kg)
{
    const KExp *k = kb_for(kg->kb, "k", kg_int(kg, 0), kg_int(kg, BLOCK), kg_int(kg, 1));
    kg_loop_unroll(kg, 1); /* the target's compiler does it */
    return k;
}

/* A block is scanned by itself, and what lies before is added behind: then blocks wait for each
 * other once, not for each element. A scan of 2^18 f32 takes 76 us instead of 213. */
static void scan_block(KGen *kg, const Scanned *sc, const KExp *first)
{
    KBuild *b = kg->kb;
    const Exp *e = sc->s->exp;
    const Accs *ac = sc->ac;
    KBuf **own = NEWN(kg->cx->perm, KBuf *, ac->n);
    const KExp **x = NEWN(kg->cx->perm, const KExp *, ac->n);
    for (int j = 0; j < ac->n; j++)
        own[j] = kb_array(b, "own", ac->types[j], BLOCK);
    Accs sum = accs_like(kg, ac);
    accs_declare(kg, &sum, &e->seg.nes);
    const KExp *k = open_block(kg);
    scanned_element(kg, sc, kg_add(kg, first, k));
    add_element(kg, e, &sum);
    for (int j = 0; j < ac->n; j++)
        kb_store(b, own[j], k, kg_of(kg, sum.acc[j]));
    kb_end(b);
    k = open_block(kg);
    nest_bind_dim(kg, &vec_last(&e->seg.nest), kg_add(kg, sc->n->beg, kg_add(kg, first, k)));
    for (int j = 0; j < ac->n; j++)
        x[j] = kb_load(b, "x", own[j], k);
    Accs all = accs_copy(kg, ac, "all");
    accs_apply(kg, &all, accs_now(kg, ac), x);
    store_scanned(kg, sc->s, sc->outs, &all);
    kb_end(b);
    accs_apply(kg, ac, accs_now(kg, ac), accs_now(kg, &sum));
}

/* Does an element wait long for the one before? Operations on integers take a cycle. */
static bool is_slow(const Exp *e)
{
    for (int j = 0; j < e->seg.nes.n; j++)
        if (!prim_is_float(e->seg.op->params.at[j]->type.elem))
            return false;
    return seg_is_brief(e);
}

/* Scans the first elements in blocks, where that pays; the number of them. */
static const KExp *scan_blocks(KGen *kg, const Scanned *sc)
{
    KBuild *b = kg->kb;
    const KExp *zero = kg_int(kg, 0), *len = sc->n->len, *block = kg_int(kg, BLOCK);
    if (!is_slow(sc->s->exp))
        return zero;
    const KExp *least = kg_int(kg, LEAST_BLOCKS * BLOCK);
    const KExp *many = kg_and(kg, kg_id(kg, KID_VECTORS), kg_le(kg, least, len));
    const KExp *full = kg_sub(kg, len, kg_rem(kg, len, block));
    kb_if(b, many);
    scan_block(kg, sc, kb_for(b, "first", zero, full, block));
    kb_end(b);
    kb_end(b);
    return kx_select(kg->cx->perm, many, full, zero);
}

/* The chunk's elements, scanned, for a scatter. The launch gives the sums up to each chunk's end.
 */
static void scan_for_reader(KGen *kg, const Scanned *sc)
{
    const Chunk *n = sc->n;
    KBuild *b = kg->kb;
    const KExp *one = kg_int(kg, 1), *zero = kg_int(kg, 0);
    const KExp *end = kg_add(kg, n->beg, n->len);
    bool keeps = seg_keeps(sc->s, sc->reader), behind = seg_lasts_are_sums(sc->reader, sc->s);
    const KExp *kept = NULL;
    if (keeps)
        kept = kb_load(b, "kept", sc->sums[0], n->unit);
    const KExp *i = kb_for(b, "i", zero, n->len, one);
    HeapMark turn = heap_mark(kg);
    const KExp *before = keeps ? kb_let(b, "before", kg_of(kg, sc->ac->acc[0])) : NULL;
    const KExp *left = kg_sub(kg, kg_sub(kg, n->width, n->beg), i);
    const KExp *last = behind ? NULL : kg_eq(kg, left, one);
    scanned_element(kg, sc, i);
    add_element(kg, sc->s->exp, sc->ac);
    if (keeps)
        seg_keep(kg, sc->s, sc->reader, last, before, kept, sc->ac);
    else
        seg_read_scanned(kg, sc->s, sc->reader, last, sc->ac);
    heap_release(kg, turn);
    kb_end(b);
    if (!behind)
        return;
    kb_if(b, kg_and(kg, kg_lt(kg, zero, n->len), kg_eq(kg, end, n->width)));
    seg_store_last(kg, sc->s, sc->reader, kg_sub(kg, end, one), sc->ac);
    kb_end(b);
}

static void scan_elements(KGen *kg, const Scanned *sc)
{
    const KExp *i = kb_for(kg->kb, "i", scan_blocks(kg, sc), sc->n->len, kg_int(kg, 1));
    HeapMark turn = heap_mark(kg);
    scanned_element(kg, sc, i);
    add_element(kg, sc->s->exp, sc->ac);
    store_scanned(kg, sc->s, sc->outs, sc->ac);
    heap_release(kg, turn);
    kb_end(kg->kb);
}

static Stage scan_sequential(PlanBuild *pb, const Stm *s, const Segments *sg, const ArrLoc *outs,
                             const ScanReader *reader)
{
    const Exp *e = s->exp;
    const Nest *nest = &e->seg.nest;
    KGen *kg = kg_new(pb, reader ? "segscan_scatter_seq" : "segscan_seq", e);
    kg->guard = reader;
    Accs ac = accs_new(kg, e);
    Chunk n = {.unit = nest_open(kg, sx_mul(pb->cx, sg->n_segs, sg->chunks))};
    n.chunks = kg_host(kg, sg->chunks);
    n.chunk = kg_host(kg, sg->chunk);
    n.width = kg_host(kg, sg->width);
    segments_locate(kg, &n);
    accs_declare(kg, &ac, &e->seg.nes);
    KBuf *const *sums = load_carry(kg, &ac, &n);
    nest_bind(kg, nest, nest->n - 1, n.seg);
    Scanned sc = {s, reader ? NULL : seg_outs(kg, s, 0, outs), reader, &ac, &n, sums};
    WorkMark m = kg_work_begin(kg);
    if (reader)
        scan_for_reader(kg, &sc);
    else
        scan_elements(kg, &sc);
    kg_work_end(kg, m);
    nest_close(kg);
    return (Stage){.kg = kg, .k = kg_finish(kg)};
}

/* --- By several threads a chunk ------------------------------------------------------------ */

/* The loop over tiles of `each` neighbouring elements a thread; carry: the sum of all tiles before.
 */
typedef struct {
    const KExp *beg; /* the number in the chunk of the tile's first element */
    Accs carry;
} Tile;

static Tile open_tiles(KGen *kg, const Accs *ac, const Chunk *n, int each)
{
    KBuild *b = kg->kb;
    Tile t = {.carry = accs_copy(kg, ac, "carry")};
    const KExp *size = kb_let(b, "tile", kg_mul(kg, n->threads, kg_int(kg, each)));
    const KExp *more = kg_sub(kg, kg_add(kg, n->chunk, size), kg_int(kg, 1));
    const KExp *tiles = kb_let(b, "tiles", kg_quot(kg, more, size));
    const KExp *i = kb_for(b, "i", kg_int(kg, 0), tiles, kg_int(kg, 1));
    t.beg = kb_let(b, "first", kg_mul(kg, i, size));
    return t;
}

static void close_tiles(KGen *kg)
{
    seg_meet(kg); /* the buffers are used again */
    kb_end(kg->kb);
    kb_end(kg->kb);
}

/* Opens the branch for the threads that have an element at off. */
static void if_element(KGen *kg, const Chunk *n, const KExp *off)
{
    kb_if(kg->kb, kg_and(kg, n->active, kg_lt(kg, off, n->len)));
}

/* carry := op(carry, the sum of the tile), which the last thread's buffers hold. */
static void add_tile(KGen *kg, const Accs *ac, const Chunk *n, const Accs *carry)
{
    const KExp *beg = kg_sub(kg, kg->lid, n->p);
    const KExp *last = kg_sub(kg, kg_add(kg, beg, n->threads), kg_int(kg, 1));
    accs_apply(kg, carry, accs_now(kg, carry), accs_load(kg, ac, last));
}

/* seg, c, beg, len for all threads (those without a chunk get an empty one). */
static void locate_all(KGen *kg, Chunk *n)
{
    segments_locate(kg, n);
    n->len = kb_let(kg->kb, "len", kx_select(kg->cx->perm, n->active, n->len, kg_int(kg, 0)));
}

static void bind_element(KGen *kg, const Exp *e, const Chunk *n, const KExp *off)
{
    const Nest *nest = &e->seg.nest;
    nest_bind(kg, nest, nest->n - 1, n->seg);
    nest_bind_dim(kg, &vec_last(nest), kg_add(kg, n->beg, off));
}

/* --- A tile ------------------------------------------------------------------------------- */

/* The elements of a tile that a thread scans by itself: `each` neighbours, in registers. */
typedef struct {
    int each;
    KBuf **own;
    KBuf **stage;     /* local memory for all elements of the tile */
    const KExp *room; /* the place in the stage of the chunk's first element */
} Elems;

static Elems elems_new(KGen *kg, const Accs *ac, const Chunk *n, int each, KBuf **stage)
{
    Elems el = {.each = each, .own = NEWN(kg->cx->perm, KBuf *, ac->n), .stage = stage};
    for (int j = 0; j < ac->n; j++)
        el.own[j] = kb_array(kg->kb, "own", ac->types[j], each);
    el.room = kb_let(kg->kb, "room", kg_mul(kg, kg_sub(kg, kg->lid, n->p), kg_int(kg, each)));
    return el;
}

/* Opens the loop of an active thread over its elements; the number of the one at hand among them.
 */
static const KExp *open_own(KGen *kg, const Elems *el, const Chunk *n)
{
    kb_if(kg->kb, n->active); /* threads that have no chunk have no place in the stage either */
    const KExp *k = kb_for(kg->kb, "k", kg_int(kg, 0), kg_int(kg, el->each), kg_int(kg, 1));
    kg_loop_unroll(kg, -1);
    return k;
}

/* The number in the tile of element k: of the thread's own, or of those that are dealt out to the
 * threads, so that neighbouring threads have neighbouring elements. */
static const KExp *own_number(KGen *kg, const Elems *el, const Chunk *n, const KExp *k)
{
    return kg_add(kg, kg_mul(kg, n->p, kg_int(kg, el->each)), k);
}

static const KExp *dealt_number(KGen *kg, const Chunk *n, const KExp *k)
{
    return kg_add(kg, kg_mul(kg, k, n->threads), n->p);
}

/* The place of element `number` in the stage. */
static const KExp *stage_at(KGen *kg, const Elems *el, const KExp *number)
{
    return seg_stage_at(kg, kg_add(kg, el->room, number));
}

static void close_own(KGen *kg)
{
    kb_end(kg->kb);
    kb_end(kg->kb);
}

/* Opens the branch for the elements that the chunk has; in a full tile all. */
static void if_there(KGen *kg, const Chunk *n, const KExp *off, bool full)
{
    kb_if(kg->kb, full ? kx_bool(kg->cx->perm, true) : kg_lt(kg, off, n->len));
}

typedef void ElemsMaker(KGen *kg, const Stm *s, const Accs *ac, const Chunk *n, const Tile *t,
                        const Elems *el, const KLoc *outs, bool full);

/* Most tiles are full: there the loads of short code are on their way together, without a question
 * for each. */
static void make_elems(KGen *kg, const Stm *s, const Accs *ac, const Chunk *n, const Tile *t,
                       const Elems *el, const KLoc *outs, ElemsMaker *make)
{
    if (el->each == 1) {
        make(kg, s, ac, n, t, el, outs, false);
        return;
    }
    const KExp *end = kg_add(kg, t->beg, kg_mul(kg, n->threads, kg_int(kg, el->each)));
    kb_if(kg->kb, kg_le(kg, end, n->len));
    make(kg, s, ac, n, t, el, outs, true);
    kb_else(kg->kb);
    make(kg, s, ac, n, t, el, outs, false);
    kb_end(kg->kb);
}

/* Computes the elements of the tile, dealt out, into the stage. */
static void compute_elems(KGen *kg, const Stm *s, const Accs *ac, const Chunk *n, const Tile *t,
                          const Elems *el, const KLoc *outs, bool full)
{
    const Exp *e = s->exp;
    const KExp *k = open_own(kg, el, n), *number = dealt_number(kg, n, k);
    const KExp *off = kb_let(kg->kb, "off", kg_add(kg, t->beg, number));
    Accs x = accs_like(kg, ac);
    accs_declare(kg, &x, &e->seg.nes);
    if_there(kg, n, off, full);
    WorkMark m = kg_work_begin(kg);
    bind_element(kg, e, n, off);
    seg_hint_maps(kg, e, outs, s);
    kg_stms(kg, e->seg.body);
    seg_store_maps(kg, e, outs, s);
    accs_set(kg, &x, accs_atoms(kg, ac, e->seg.body->res.at));
    kg_work_end(kg, m);
    kb_end(kg->kb);
    const KExp *at = stage_at(kg, el, number);
    for (int j = 0; j < ac->n; j++)
        kb_store(kg->kb, el->stage[j], at, kg_of(kg, x.acc[j]));
    close_own(kg);
}

/* own := the thread's elements, scanned; acc: their sum. */
static void scan_own(KGen *kg, const Accs *ac, const Chunk *n, const Elems *el)
{
    const KExp **x = NEWN(kg->cx->perm, const KExp *, ac->n);
    const KExp *k = open_own(kg, el, n);
    const KExp *at = stage_at(kg, el, own_number(kg, el, n, k));
    for (int j = 0; j < ac->n; j++)
        x[j] = kb_load(kg->kb, "x", el->stage[j], at);
    accs_apply(kg, ac, accs_now(kg, ac), x);
    for (int j = 0; j < ac->n; j++)
        kb_store(kg->kb, el->own[j], k, kg_of(kg, ac->acc[j]));
    close_own(kg);
}

/* The sum of all that lies before the thread's elements: of the tiles before, and of the threads
 * to the left. */
static Accs sum_before(KGen *kg, const Accs *ac, const Chunk *n, const Tile *t)
{
    const KExp *zero = kg_int(kg, 0), *one = kg_int(kg, 1);
    Accs before = accs_copy(kg, &t->carry, "before");
    kb_if(kg->kb, kg_and(kg, n->active, kg_lt(kg, zero, n->p)));
    accs_apply(kg, &before, accs_now(kg, &before), accs_load(kg, ac, kg_sub(kg, kg->lid, one)));
    kb_end(kg->kb);
    return before;
}

/* The scanned elements into the stage. */
static void add_before(KGen *kg, const Accs *before, const Chunk *n, const Elems *el)
{
    const KExp **x = NEWN(kg->cx->perm, const KExp *, before->n);
    const KExp *k = open_own(kg, el, n);
    for (int j = 0; j < before->n; j++)
        x[j] = kb_load(kg->kb, "x", el->own[j], k);
    Accs sum = accs_copy(kg, before, "sum");
    accs_apply(kg, &sum, accs_now(kg, before), x);
    const KExp *at = stage_at(kg, el, own_number(kg, el, n, k));
    for (int j = 0; j < before->n; j++)
        kb_store(kg->kb, el->stage[j], at, kg_of(kg, sum.acc[j]));
    close_own(kg);
    seg_meet(kg);
}

static void store_elems(KGen *kg, const Stm *s, const Accs *ac, const Chunk *n, const Tile *t,
                        const Elems *el, const KLoc *outs, bool full)
{
    const Exp *e = s->exp;
    int depth = e->seg.nest.n;
    const KExp *k = open_own(kg, el, n), *number = dealt_number(kg, n, k);
    const KExp *off = kb_let(kg->kb, "off", kg_add(kg, t->beg, number));
    const KExp **ix = NEWN(kg->cx->perm, const KExp *, depth);
    if_there(kg, n, off, full);
    bind_element(kg, e, n, off);
    nest_indices(kg, &e->seg.nest, depth, ix);
    const KExp *at = stage_at(kg, el, number);
    for (int j = 0; j < ac->n; j++) {
        const KExp *x = kb_load(kg->kb, "x", el->stage[j], at);
        loc_store(kg, &outs[j], ix, depth, x);
    }
    kb_end(kg->kb);
    close_own(kg);
}

static void scan_chunk(KGen *kg, const Stm *s, const Accs *ac, const Chunk *n, int each,
                       KBuf **stage, const KLoc *outs)
{
    const Exp *e = s->exp;
    Elems el = elems_new(kg, ac, n, each, stage);
    Tile t = open_tiles(kg, ac, n, each);
    make_elems(kg, s, ac, n, &t, &el, outs, compute_elems);
    seg_meet(kg);
    accs_set(kg, ac, accs_atoms(kg, ac, e->seg.nes.at));
    scan_own(kg, ac, n, &el);
    accs_scan(kg, ac, n);
    Accs before = sum_before(kg, ac, n, &t);
    kb_if(kg->kb, n->active);
    add_tile(kg, ac, n, &t.carry);
    kb_end(kg->kb);
    add_before(kg, &before, n, &el);
    make_elems(kg, s, ac, n, &t, &el, outs, store_elems);
    close_tiles(kg);
}

static Stage scan_tiled(PlanBuild *pb, const Stm *s, const Segments *sg, const ArrLoc *outs)
{
    const Exp *e = s->exp;
    KGen *kg = kg_new(pb, "segscan", e);
    Accs ac = accs_new(kg, e);
    accs_local(kg, &ac, true);
    Chunk n = segments_open(kg, sg);
    locate_all(kg, &n);
    accs_declare(kg, &ac, &e->seg.nes);
    kb_if(kg->kb, n.active);
    load_carry(kg, &ac, &n);
    kb_end(kg->kb);
    const KLoc *ko = seg_outs(kg, s, 0, outs);
    int each = seg_each(e);
    scan_chunk(kg, s, &ac, &n, each, seg_stage(kg, &ac, each), ko);
    return (Stage){.kg = kg, .k = kg_finish(kg)};
}

Stage scan_partials(PlanBuild *pb, const Exp *e, const Segments *sg, Mem *const *parts)
{
    KGen *kg = kg_new(pb, "segscan_partials", e);
    Accs ac = accs_new(kg, e);
    accs_local(kg, &ac, true);
    Chunk n = segments_open(kg, sg);
    locate_all(kg, &n);
    accs_declare(kg, &ac, &e->seg.nes);
    Tile t = open_tiles(kg, &ac, &n, 1);
    KBuf **bufs = NEWN(pb->cx->perm, KBuf *, ac.n);
    const KExp *off = kb_let(kg->kb, "off", kg_add(kg, t.beg, n.p));
    const KExp *at = kg_add(kg, kg_mul(kg, n.seg, n.width), off);
    for (int j = 0; j < ac.n; j++) {
        bufs[j] = kg_param_mem(kg, parts[j], ac.types[j]);
        kg_updates(kg, parts[j]);
    }
    accs_set(kg, &ac, accs_atoms(kg, &ac, e->seg.nes.at));
    if_element(kg, &n, off);
    for (int j = 0; j < ac.n; j++)
        kb_set(kg->kb, ac.acc[j], kb_load(kg->kb, "x", bufs[j], at));
    kb_end(kg->kb);
    accs_scan(kg, &ac, &n);
    kb_if(kg->kb, n.active);
    accs_apply(kg, &ac, accs_now(kg, &t.carry), accs_now(kg, &ac));
    add_tile(kg, &ac, &n, &t.carry);
    kb_end(kg->kb);
    if_element(kg, &n, off);
    for (int j = 0; j < ac.n; j++)
        kb_store(kg->kb, bufs[j], at, kg_of(kg, ac.acc[j]));
    kb_end(kg->kb);
    close_tiles(kg);
    return (Stage){.kg = kg, .k = kg_finish(kg)};
}

/* --- The construct ------------------------------------------------------------------------- */

/* Launches the scan of the chunks, sequential or tiled; sums: of the chunks before (NULL: one
 * chunk). */
static void launch_scan(PlanBuild *pb, const Stage *seq, const Stage *tiled, const Segments *sg,
                        Mem *const *sums)
{
    pb_if_more(pb, sg->threads, 1);
    stage_launch(tiled, sg, sums);
    pb_else(pb);
    Segments one = *sg;
    one.threads = sx_const(pb->cx, 1);
    stage_launch(seq, &one, sums);
    pb_end(pb);
}

/* What compilers may make otherwise in each kernel: functions of floats, such as sin (of vectors),
 * and products (added without being rounded). */
typedef struct {
    bool functions, products;
} Inexact;

static void inexact_in_body(void *env, Body *b);

static void inexact_in_lambda(void *env, Lambda *l)
{
    inexact_in_body(env, l->body);
}

/* env: Inexact */
static void inexact_in_body(void *env, Body *b)
{
    Inexact *found = env;
    for (int i = 0; i < b->stms.n; i++) {
        const Exp *e = b->stms.at[i].exp;
        if (e->kind == E_PRIM && prim_is_float(e->prim.type)) {
            found->functions |= prim_info[e->prim.op].cost == PRIM_COST_FUNCTION;
            found->products |= e->prim.op == OP_MUL;
        }
        if (e->kind == E_CALL)
            inexact_in_body(env, e->call.fn->lam->body);
        exp_visit(e,
                  &(ExpVisitor){.env = env, .body = inexact_in_body, .lambda = inexact_in_lambda});
    }
}

/* Floats are added up as they come, whole numbers counted exactly: of those it matters. */
void want_same_elements(Plan *plan, const Exp *e)
{
    bool exact = false;
    for (int j = 0; j < e->seg.nes.n; j++)
        exact |= !prim_is_float(e->seg.op->params.at[j]->type.elem);
    if (!exact)
        return;
    Inexact found = {0};
    inexact_in_body(&found, e->seg.body);
    plan->same_math |= found.functions;
    plan->same_products |= found.products;
}

/* sums := for each chunk, the sum up to its end in its segment. Its elements are made twice, here
 * and where they are scanned. */
static void sum_chunks(PlanBuild *pb, const Exp *e, const Segments *sg, Mem **sums)
{
    Ctx *cx = pb->cx;
    const KExp *chunks = sx_mul(cx, sg->n_segs, sg->chunks);
    want_same_elements(pb->plan, e);
    for (int j = 0; j < e->seg.nes.n; j++) {
        int bytes = prim_type_bytes[e->seg.op->params.at[j]->type.elem];
        sums[j] = pb_alloc(pb, "partial", sx_mul(cx, chunks, sx_const(cx, bytes)));
    }
    Stage red = red_elements(pb, e, sg);
    stage_launch(&red, sg, sums);
    Segments sg2 = segments_of_partials(pb, sg);
    Stage mid = scan_partials(pb, e, &sg2, sums);
    stage_launch(&mid, &sg2, NULL);
}

static void scan_chunks(PlanBuild *pb, const Stm *s, const ArrLoc *outs, bool in_one)
{
    const Exp *e = s->exp;
    int n = e->seg.nes.n;
    Mem **sums = NEWN(pb->cx->perm, Mem *, n), **none = NEWN(pb->cx->perm, Mem *, n);
    int each = seg_each(e);
    Segments sg = segments_plan(pb, e, each, each);
    const KExp *fits = seg_tile_fits(pb->cx, e, each);
    sg.threads = pb_let(pb, "threads", sx_select(pb->cx, fits, sg.threads, sx_const(pb->cx, 1)));
    Stage seq = scan_sequential(pb, s, &sg, outs, NULL), tiled = scan_tiled(pb, s, &sg, outs);
    for (int j = 0; j < n; j++)
        none[j] = outs[j].mem; /* any block: not read when there is one chunk a segment */
    pb_if_more(pb, sg.chunks, 1);
    bool back = in_one && segscan_back(pb, s, &sg, outs);
    sum_chunks(pb, e, &sg, sums);
    launch_scan(pb, &seq, &tiled, &sg, sums);
    if (back)
        pb_end(pb);
    pb_else(pb);
    launch_scan(pb, &seq, &tiled, &sg, none);
    pb_end(pb);
}

void segscan_scatter_chunks(PlanBuild *pb, const Stm *s, const ScanReader *reader)
{
    const Exp *e = s->exp;
    Mem **sums = NEWN(pb->cx->perm, Mem *, e->seg.nes.n);
    Segments sg = segments_plan(pb, e, 1, 1);
    Stage seq = scan_sequential(pb, s, &sg, NULL, reader);
    sum_chunks(pb, e, &sg, sums);
    stage_launch(&seq, &sg, sums);
}

void segscan_chunks(PlanBuild *pb, const Stm *s, const ArrLoc *outs)
{
    scan_chunks(pb, s, outs, true);
}

void segscan_launches(PlanBuild *pb, const Stm *s, const ArrLoc *outs)
{
    scan_chunks(pb, s, outs, false);
}
