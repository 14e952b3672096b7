/* seghist^1: histograms, one for each of S segments (the outer dimensions of the nest that the
 * destinations have too), of H bins and w elements each.
 *
 * Operators that have parts (hist.h):
 *   local   the bins of a segment fit in local memory, and its elements are as many as its bins:
 *           a group takes a chunk of a segment's elements, collects them in copies of the bins in
 *           local memory, and updates the destination with what they hold in the end;
 *   global  else: a thread an element, which updates the destination at once.
 * Any other operator, and on a CPU what does not fit but has several elements a bin:
 *   turns   a segment's elements are cut into C chunks, each with bins of its own in global memory
 *           (the destination itself if C = 1) and worked on by one group, whose work-items take
 *           turns; or by one thread, on a CPU and where the operator is one on arrays. A second
 *           kernel combines the C bins of each place. C is bounded by the memory for the bins.
 * Bins of 8 and 16 bits, several to a word, which many would change at a time, are on GPUs summed
 * up in words of their own (wide), by one operation each, and combined with the destination behind.
 * Nothing waits for another group. On a CPU device a chunk belongs to one work-item, without
 * atomics and barriers: its local bins are the cache's. */
#include "kernels/level1/segments.h"
#include "kernels/thread/hist.h"

/* What the kernels of a seghist share. Host values. */
typedef struct {
    PlanBuild *pb;
    const ArrLoc *outs; /* the destinations */
    Hist hist;
    Segments sg;        /* S segments of w elements, their chunks */
    const KExp *n_bins; /* H, of a segment */
} SegHist;

static SegHist seghist_of(PlanBuild *pb, const Exp *e, const ArrLoc *outs)
{
    Ctx *cx = pb->cx;
    SegHist sh = {.pb = pb, .outs = outs, .hist = hist_of(pb->cx, e)};
    const Type t = e->seg.dests.at[0].arr.var->type;
    int k = sh.hist.segs;
    sh.sg.n_segs = nest_size(cx, &e->seg.nest, 0, k);
    sh.sg.width = nest_size(cx, &e->seg.nest, k, e->seg.nest.n);
    sh.n_bins = sx_product(cx, t.dims + k, sh.hist.rank - k);
    return sh;
}

/* The destinations, which the kernel updates in place. */
static KLoc *dest_locs(KGen *kg, const SegHist *sh)
{
    KLoc *locs = NEWN(kg->cx->perm, KLoc, sh->hist.n);
    for (int j = 0; j < sh->hist.n; j++) {
        const Var *v = sh->hist.dests->at[j].arr.var;
        locs[j] = kg_result(kg, &sh->outs[j], v->type);
        kg_updates(kg, sh->outs[j].mem);
    }
    return locs;
}

/* The bins with number `flat` in the destination's dimensions from .. of arrays at locs. */
static KLoc *bins_at(KGen *kg, const SegHist *sh, const KLoc *locs, int from, const KExp *flat)
{
    const Exp *e = sh->hist.e;
    const Type t = sh->hist.dests->at[0].arr.var->type;
    int rank = sh->hist.rank;
    const KExp **ix = NEWN(kg->cx->perm, const KExp *, rank);
    Var **idx = NEWN(kg->cx->perm, Var *, rank);
    for (int d = 0; d < rank; d++) {
        idx[d] =
            d < from ? e->seg.nest.at[d].idx : var_new(kg->cx, "bin", type_prim(T_I64), e->loc);
        ix[d] = sx_var(kg->cx, idx[d]);
    }
    kg_unflatten(kg, flat, idx + from, t.dims + from, rank - from);
    return hist_bins(kg, &sh->hist, locs, ix);
}

/* --- Global: a thread an element ----------------------------------------------------------- */

static void global_kernel(const SegHist *sh)
{
    const Hist *h = &sh->hist;
    KGen *kg = kg_new(sh->pb, "seghist", h->e);
    const KExp *n = nest_size(kg->cx, &h->e->seg.nest, 0, h->e->seg.nest.n);
    kg->guard = true;
    Arena *a = kg->cx->perm;
    const KExp *el = nest_open(kg, n), *many = hist_shared(kg, h), *i = el;
    if (many->kind != KE_CONST) { /* without atomics the first thread takes all elements */
        const KExp *zero = kg_int(kg, 0);
        const KExp *rest = kx_select(a, kg_eq(kg, el, zero), kg_host(kg, n), zero);
        const KExp *end = kx_select(a, many, kg_add(kg, el, kg_int(kg, 1)), rest);
        i = kb_for(kg->kb, "i", el, end, kg_int(kg, 1));
    } else {
        kb_open_block(kg->kb);
    }
    WorkMark m = hist_open_element(kg, h, 0, i);
    KLoc *bins = hist_bins(kg, h, dest_locs(kg, sh), hist_index(kg, h));
    hist_update(kg, h, bins, hist_vals(kg, h));
    hist_close_element(kg, m);
    kb_end(kg->kb);
    nest_close(kg);
    nest_finish(kg, n);
}

/* Opens the loop over the chunks first, first+step .. of a worker; binds the segment's indices. */
static Chunk open_chunks(KGen *kg, const SegHist *sh, const KExp *first, const KExp *step)
{
    Chunk c = segments_each(kg, &sh->sg, first, step);
    nest_bind(kg, &sh->hist.e->seg.nest, sh->hist.segs, c.seg);
    return c;
}

/* The element at `off` of a chunk. */
static WorkMark open_element(KGen *kg, const SegHist *sh, const Chunk *c, const KExp *off)
{
    const KExp *at = kb_let(kg->kb, "at", kg_add(kg, c->beg, off));
    return hist_open_element(kg, &sh->hist, sh->hist.segs, at);
}

/* --- Local: bins of a group ---------------------------------------------------------------- */

/* Local memory has a word for each value of a bin and copy. */
typedef struct {
    KBuf **mems; /* of each value */
    const KExp *n_bins, *copies;
} LocalBins;

static KLoc *local_bins(KGen *kg, const SegHist *sh, const LocalBins *lb, const KExp *at)
{
    KLoc *bins = NEWN(kg->cx->perm, KLoc, sh->hist.n);
    for (int j = 0; j < sh->hist.n; j++)
        bins[j] = (KLoc){.mem = lb->mems[j], .at = {.offset = kg_sx_of(kg, at)}};
    return bins;
}

static HistVal *values_of(KGen *kg, const Hist *h, const KLoc *bins)
{
    HistVal *xs = NEWN(kg->cx->perm, HistVal, h->n);
    for (int j = 0; j < h->n; j++)
        xs[j].x = kb_let(kg->kb, "sum", hist_get(kg, &bins[j], h->op->params.at[j]->type.elem));
    return xs;
}

static void local_clear(KGen *kg, const SegHist *sh, const LocalBins *lb)
{
    const Hist *h = &sh->hist;
    const KExp *i = hist_open_shared(kg, h, kg_mul(kg, lb->n_bins, lb->copies));
    KLoc *bins = local_bins(kg, sh, lb, i);
    for (int j = 0; j < h->n; j++)
        hist_put(kg, &bins[j], kg_atom(kg, h->nes[j]));
    kb_end(kg->kb);
    seg_meet(kg);
}

static void local_collect(KGen *kg, const SegHist *sh, const LocalBins *lb, const Chunk *c)
{
    const Hist *h = &sh->hist;
    const Type t = h->dests->at[0].arr.var->type;
    WorkMark m = open_element(kg, sh, c, hist_open_shared(kg, h, c->len));
    const KExp *at = kg_mul(kg, kg_rem(kg, kg->lid, lb->copies), lb->n_bins);
    const KExp *flat = sx_const(kg->cx, 0);
    for (int d = h->segs; d < h->rank; d++)
        flat = sx_add(kg->cx, sx_mul(kg->cx, flat, kg_sx(kg, t.dims[d])), kg_sx(kg, h->index[d]));
    KLoc *bins = local_bins(kg, sh, lb, kb_let(kg->kb, "at", kg_add(kg, at, kg_at(kg, flat))));
    kg_if_single(kg);
    hist_combine(kg, h, bins, hist_vals(kg, h));
    kb_else(kg->kb);
    hist_update(kg, h, bins, hist_vals(kg, h));
    kb_end(kg->kb);
    hist_close_element(kg, m);
    kb_end(kg->kb);
    seg_meet(kg);
}

/* Bins that still hold the neutral element change nothing. */
static void local_flush(KGen *kg, const SegHist *sh, const LocalBins *lb)
{
    KBuild *b = kg->kb;
    const Hist *h = &sh->hist;
    const KExp *bin = hist_open_shared(kg, h, lb->n_bins);
    KLoc *first = local_bins(kg, sh, lb, bin);
    const KExp *r = kb_for(b, "r", kg_int(kg, 1), lb->copies, kg_int(kg, 1));
    KLoc *copy = local_bins(kg, sh, lb, kg_add(kg, kg_mul(kg, r, lb->n_bins), bin));
    hist_combine(kg, h, first, values_of(kg, h, copy));
    kb_end(b);
    HistVal *sums = values_of(kg, h, first);
    const KExp *changed = kx_bool(kg->cx->perm, false);
    for (int j = 0; j < h->n; j++)
        changed =
            kx_or(kg->cx->perm, changed, kx_ne(kg->cx->perm, sums[j].x, kg_atom(kg, h->nes[j])));
    kb_if(b, changed);
    hist_update(kg, h, bins_at(kg, sh, dest_locs(kg, sh), h->segs, bin), sums);
    kb_end(b);
    kb_end(kg->kb);
    seg_meet(kg);
}

static void local_kernel(const SegHist *sh, const KExp *copies)
{
    KGen *kg = kg_new(sh->pb, "seghist_local", sh->hist.e);
    Arena *a = kg->cx->perm;
    kg->guard = true;
    kg->group_size = sh->sg.threads;
    LocalBins lb = {.n_bins = kg_host(kg, sh->n_bins), .copies = kg_host(kg, copies)};
    const KExp *count =
        sx_op(kg->cx, SX_MAX, sx_const(kg->cx, 1), sx_mul(kg->cx, sh->n_bins, copies));
    lb.mems = NEWN(a, KBuf *, sh->hist.n);
    for (int j = 0; j < sh->hist.n; j++)
        lb.mems[j] =
            kg_param_local(kg, "bins", hist_word(sh->hist.op->params.at[j]->type.elem), count);
    /* Without atomics the first group does everything. */
    const KExp *many = hist_shared(kg, &sh->hist), *group = kg_id(kg, KID_GROUP);
    const KExp *zero = kg_int(kg, 0);
    const KExp *alone = kx_select(a, kg_eq(kg, group, zero), zero, kg_int(kg, INT64_MAX));
    const KExp *step = kx_select(a, many, kg_id(kg, KID_GROUPS), kg_int(kg, 1));
    Chunk c = open_chunks(kg, sh, kx_select(a, many, group, alone), step);
    local_clear(kg, sh, &lb);
    local_collect(kg, sh, &lb, &c);
    local_flush(kg, sh, &lb);
    kb_end(kg->kb);
    Kernel *k = kg_finish(kg);
    kg_launch(kg, k,
              nest_groups(kg, sx_mul(kg->cx, sh->sg.n_segs, sh->sg.chunks), sx_const(kg->cx, 1)));
}

/* --- Turns: bins of chunks in global memory ------------------------------------------------ */

static const Var *dest_var(const SegHist *sh, int j)
{
    return sh->hist.dests->at[j].arr.var;
}

/* The bytes of the bins of value j that a chunk has, of all segments. */
static const KExp *bins_bytes(const SegHist *sh, int j)
{
    Ctx *cx = sh->pb->cx;
    Type t = dest_var(sh, j)->type;
    int k = sh->hist.segs;
    return sx_mul(cx, sx_product(cx, t.dims + k, t.rank - k),
                  sx_const(cx, prim_type_bytes[t.elem]));
}

/* Where the bins of chunk c of the segment at hand lie: value j's in a block that is set at the
 * launch. Strides are parameters: if there is one chunk only, they are the destination's. */
typedef struct {
    Lmad *at;          /* of host values, for each value j: of the first chunk's */
    const KExp **step; /* ... and how far apart chunks are */
} BinLayout;

static BinLayout layout_bins(const SegHist *sh)
{
    PlanBuild *pb = sh->pb;
    Ctx *cx = pb->cx;
    int n = sh->hist.n;
    BinLayout l = {NEWN(cx->perm, Lmad, n), NEWN(cx->perm, const KExp *, n)};
    const KExp *more = sx_sub(cx, sh->sg.chunks, sx_const(cx, 1));
    more = pb_let(pb, "more", sx_op(cx, SX_MIN, sx_const(cx, 1), more));
    for (int j = 0; j < n; j++) {
        const Var *v = dest_var(sh, j);
        const ArrLoc *d = &sh->outs[j];
        const KExp *zero = sx_const(cx, 0), *unit = sx_const(cx, 1);
        const KExp **strides = NEWN(cx->perm, const KExp *, v->type.rank);
        l.at[j] = (Lmad){pb_let(pb, "offset", sx_select(cx, more, zero, d->at.offset)), strides};
        for (int k = v->type.rank - 1; k >= 0; k--) {
            strides[k] = pb_let(pb, "stride", sx_select(cx, more, unit, d->at.strides[k]));
            unit = sx_mul(cx, unit, sx_atom(cx, v->type.dims[k]));
        }
        l.step[j] = pb_let(pb, "step", sx_mul(cx, more, unit));
    }
    return l;
}

static KBuf **bin_params(KGen *kg, const Hist *h)
{
    KBuf **mems = NEWN(kg->cx->perm, KBuf *, h->n);
    for (int j = 0; j < h->n; j++)
        mems[j] = kg_param_out(kg, "bins", h->dests->at[j].arr.var->type.elem);
    kg_updates(kg, NULL); /* those; they may be the destination's */
    return mems;
}

static KLoc *chunk_locs(KGen *kg, const SegHist *sh, const BinLayout *l, KBuf *const *mems,
                        const Chunk *c)
{
    Ctx *cx = kg->cx;
    KLoc *locs = NEWN(cx->perm, KLoc, sh->hist.n);
    for (int j = 0; j < sh->hist.n; j++) {
        int rank = dest_var(sh, j)->type.rank;
        locs[j] = (KLoc){.mem = mems[j]};
        const KExp *step = sx_mul(cx, kg_sx_of(kg, c->c), kg_host_sx(kg, l->step[j]));
        locs[j].at = kg_host_lmad(kg, l->at[j], rank);
        locs[j].at.offset = sx_add(cx, locs[j].at.offset, step);
    }
    return locs;
}

/* bin := neutral element, for the bins of a chunk that are not the destination's; by one work-item
 * (apart), or all of the group. */
static void clear_bins(KGen *kg, const SegHist *sh, const KLoc *locs, bool apart)
{
    const Hist *h = &sh->hist;
    KBuild *b = kg->kb;
    const KExp *one = kg_int(kg, 1);
    kb_if(b, kg_lt(kg, one, kg_host(kg, sh->sg.chunks)));
    const KExp *bin = kb_for(b, "b", apart ? kg_int(kg, 0) : kg->lid, kg_host(kg, sh->n_bins),
                             apart ? one : kg_id(kg, KID_GROUP_SIZE));
    KLoc *bins = bins_at(kg, sh, locs, h->segs, bin);
    for (int j = 0; j < h->n; j++)
        kg_store(kg, &bins[j], hist_bin_type(h, j), h->nes[j]);
    kb_end(b);
    kb_end(b);
}

/* A chunk a thread. */
static void turns_apart(KGen *kg, const SegHist *sh, const BinLayout *l, KBuf *const *mems)
{
    const Hist *h = &sh->hist;
    Chunk c = open_chunks(kg, sh, kg_global_id(kg), kg_global_size(kg));
    KLoc *locs = chunk_locs(kg, sh, l, mems, &c);
    clear_bins(kg, sh, locs, true);
    const KExp *off = kb_for(kg->kb, "off", kg_int(kg, 0), c.len, kg_int(kg, 1));
    WorkMark m = open_element(kg, sh, &c, off);
    hist_combine(kg, h, hist_bins(kg, h, locs, hist_index(kg, h)), hist_vals(kg, h));
    hist_close_element(kg, m);
    kb_end(kg->kb);
    kb_end(kg->kb);
}

/* A chunk a group. */
static void turns_together(KGen *kg, const SegHist *sh, const BinLayout *l, KBuf *const *mems,
                           KBuf *owner, KBuf *left)
{
    const Hist *h = &sh->hist;
    Turns t = turns_begin(kg, h, owner, left);
    Chunk c = open_chunks(kg, sh, kg_id(kg, KID_GROUP), kg_id(kg, KID_GROUPS));
    KLoc *locs = chunk_locs(kg, sh, l, mems, &c);
    clear_bins(kg, sh, locs, false);
    kg_meet(kg);
    turns_update(kg, h, &t, h->segs, c.beg, c.len, locs);
    kb_end(kg->kb);
}

/* The first kernel; apart: chunks are threads' on a GPU, too. */
static Stage turns_kernel(const SegHist *sh, bool apart)
{
    BinLayout l = layout_bins(sh);
    KGen *kg = kg_new(sh->pb, "seghist_turns", sh->hist.e);
    kg->guard = true;
    KBuf **mems = bin_params(kg, &sh->hist);
    if (apart) {
        turns_apart(kg, sh, &l, mems);
        return (Stage){kg, kg_finish(kg)};
    }
    KBuf *owner = kg_param_local(kg, "owner", T_I32, sx_team_size(kg->cx));
    KBuf *left = kg_param_local(kg, "left", T_I32, sx_const(kg->cx, 1));
    kg_if_single(kg);
    turns_apart(kg, sh, &l, mems);
    kb_else(kg->kb);
    turns_together(kg, sh, &l, mems, owner, left);
    kb_end(kg->kb);
    return (Stage){kg, kg_finish(kg)};
}

/* The second kernel: one thread a bin. wide: bins of `parts` are words (hist_word). */
static void combine_kernel(const SegHist *sh, Mem *const *parts, bool wide)
{
    Ctx *cx = sh->pb->cx;
    const Hist *h = &sh->hist;
    KGen *kg = kg_new(sh->pb, "seghist_combine", h->e);
    const KExp *n = sx_mul(cx, sh->sg.n_segs, sh->n_bins);
    const KExp *b = nest_open(kg, n);
    WorkMark m = kg_work_begin(kg);
    KLoc *bins = bins_at(kg, sh, dest_locs(kg, sh), 0, b);
    HistVal *xs = NEWN(cx->perm, HistVal, h->n);
    const KExp *c = kb_for(kg->kb, "c", kg_int(kg, 0), kg_host(kg, sh->sg.chunks), kg_int(kg, 1));
    const KExp *at =
        kg_sx_of(kg, kb_let(kg->kb, "at", kg_add(kg, kg_mul(kg, c, kg_host(kg, n)), b)));
    for (int j = 0; j < h->n; j++) {
        Type t = hist_bin_type(h, j);
        KLoc l = {.mem = kg_param_mem(kg, parts[j], wide ? hist_word(t.elem) : t.elem)};
        const KExp *first = sx_mul(cx, at, kg_host_sx(kg, sx_product(cx, t.dims, t.rank)));
        l.at = lmad_row_major(cx, t, first, sx_const(cx, 1));
        xs[j] = (HistVal){.x = t.rank == 0 ? hist_get(kg, &l, t.elem) : NULL, .loc = l};
    }
    hist_combine(kg, h, bins, xs);
    kb_end(kg->kb);
    kg_work_end(kg, m);
    nest_close(kg);
    nest_finish(kg, n);
}

enum {
    BINS_BYTES = 128 << 20, /* at most, for the bins of all chunks */
    ITEM_CHUNK = 1024,      /* elements of one work-item, at least */
    SINGLE_FILL = 8         /* elements of a work-item for each bin, at least, on a CPU */
};

/* Chunks that are worth bins of their own; apart: each belongs to one work-item. */
static void plan_turns(SegHist *sh, bool apart)
{
    Ctx *cx = sh->pb->cx;
    const KExp *team = sx_team_size(cx), *bytes = sx_const(cx, 1);
    for (int j = 0; j < sh->hist.n; j++)
        bytes = sx_add(cx, bytes, sx_mul(cx, sh->sg.n_segs, bins_bytes(sh, j)));
    const KExp *room = sx_op(cx, SX_DIV, sx_const(cx, BINS_BYTES), bytes);
    const KExp *worth = sx_const(cx, ITEM_CHUNK), *bins = sh->n_bins;
    if (!apart) { /* few bins are soon combined by many threads */
        worth = sx_mul(cx, team, sx_size(cx, SIZE_ITEM_ELEMS));
        bins = sx_op(cx, SX_DIV, bins, sx_op(cx, SX_MIN, team, sx_const(cx, 16)));
    }
    const KExp *fill = sx_mul(cx, sx_single(cx), sx_const(cx, SINGLE_FILL));
    bins = sx_mul(cx, bins, sx_op(cx, SX_MAX, sx_const(cx, 1), fill));
    sh->sg.threads = apart ? sx_const(cx, 1) : team;
    const KExp *workers = sx_op(cx, SX_DIV, sx_size(cx, SIZE_GROUP_SIZE), sh->sg.threads);
    workers = sx_mul(cx, sx_size(cx, SIZE_NUM_GROUPS), workers);
    workers = sx_op(cx, SX_MIN, workers, sx_mul(cx, sh->sg.n_segs, room));
    const KExp *most = sx_op(cx, SX_DIV, sh->sg.width, sx_op(cx, SX_MAX, worth, bins));
    segments_cut(sh->pb, &sh->sg, workers, most);
}

static void seghist_turns(PlanBuild *pb, SegHist *sh, bool apart)
{
    int n = sh->hist.n;
    Stages st = {.first = turns_kernel(sh, apart), .sg = &sh->sg};
    Mem **dests = NEWN(pb->cx->perm, Mem *, n);
    const KExp **bytes = NEWN(pb->cx->perm, const KExp *, n);
    for (int j = 0; j < n; j++) {
        dests[j] = sh->outs[j].mem;
        bytes[j] = bins_bytes(sh, j);
    }
    stages_begin(&st, n, bytes);
    combine_kernel(sh, st.parts, false);
    stages_end(&st, dests);
}

/* --- Operators that have parts ------------------------------------------------------------- */

enum {
    LOCAL_SHARE = 2,     /* at most 1/2 of the local memory is for bins: two groups at a time */
    LOCAL_COPIES = 8,    /* of few bins, so that less work-items meet in one */
    ELEMS_PER_ITEM = 16, /* at least, in a chunk */
};

static void seghist_parts(PlanBuild *pb, SegHist *sh)
{
    Ctx *cx = pb->cx;
    const KExp *one = sx_const(cx, 1);
    int bytes = 0; /* of a bin */
    for (int j = 0; j < sh->hist.n; j++)
        bytes += prim_type_bytes[hist_word(sh->hist.op->params.at[j]->type.elem)];
    const KExp *n_bins = sx_op(cx, SX_MAX, one, sh->n_bins);
    const KExp *room = sx_op(cx, SX_DIV, sx_size(cx, SIZE_LOCAL_MEMORY),
                             sx_const(cx, (int64_t)LOCAL_SHARE * bytes)); /* bins */
    const KExp *fits = sx_op(cx, SX_MIN, one, sx_op(cx, SX_DIV, room, n_bins));
    const KExp *full = cost_percent(cx, sh->sg.width, n_bins);
    pb_choose(pb, "seghist_local", fits, full, "there are as many elements as bins");
    const KExp *group_size = pb_let(pb, "size", sx_team_size(cx));
    const KExp *copies =
        sx_op(cx, SX_MIN, sx_const(cx, LOCAL_COPIES), sx_op(cx, SX_DIV, room, n_bins));
    copies = sx_op(cx, SX_MIN, group_size, sx_op(cx, SX_MAX, one, copies));
    copies = pb_let(pb, "copies", copies);
    const KExp *least =
        sx_op(cx, SX_MAX, n_bins, sx_mul(cx, group_size, sx_const(cx, ELEMS_PER_ITEM)));
    sh->sg.threads = group_size;
    segments_cut(pb, &sh->sg, sx_size(cx, SIZE_NUM_GROUPS), sx_op(cx, SX_DIV, sh->sg.width, least));
    local_kernel(sh, copies);
    pb_else(pb);
    SegHist apart = *sh;
    plan_turns(&apart, true);
    const KExp *several = sx_sub(cx, sx_mul(cx, sx_single(cx), apart.sg.chunks), one);
    pb_choose(pb, "seghist_turns", several, cost_always(cx),
              "always: no two work-items meet in a bin");
    seghist_turns(pb, &apart, true);
    pb_else(pb);
    global_kernel(sh);
    pb_end(pb);
    pb_end(pb);
}

/* --- Wide bins of narrow values ------------------------------------------------------------ */

enum { WIDE_BINS = 8 }; /* to an element, at most: they are cleared and combined */

/* The operation of value j on words; N_PRIM_OPS: there is none. */
static PrimOp word_op(const Hist *h, int j)
{
    const HistPart *p = &h->parts[j];
    return p->in_word != N_PRIM_OPS ? p->in_word : p->atomic;
}

/* Are there narrow values, and do all have operations and constant neutral elements? */
static bool can_be_wide(const Hist *h)
{
    bool narrow = false, all = true;
    for (int j = 0; j < h->n; j++) {
        narrow |= prim_type_bytes[h->op->params.at[j]->type.elem] < 4;
        all &= word_op(h, j) != N_PRIM_OPS && !h->nes[j].var;
    }
    return narrow && all;
}

static Type wide_type(Type t)
{
    t.elem = hist_word(t.elem);
    return t;
}

/* The operator on words. */
static Lambda *wide_op(Ctx *cx, const Hist *h)
{
    Vars params = {0};
    Atoms res = {0};
    Bld b = bld_new(cx);
    for (int i = 0; i < 2 * h->n; i++) {
        const Var *v = h->op->params.at[i];
        vec_push(cx->perm, &params, var_new(cx, v->base, wide_type(v->type), v->loc));
    }
    for (int j = 0; j < h->n; j++) {
        Exp *e = exp_binop(cx, h->e->loc, word_op(h, j), atom_var(params.at[j]),
                           atom_var(params.at[h->n + j]));
        vec_push(cx->perm, &res, bld_exp(&b, "t", e));
    }
    return lambda_new(cx, params, bld_body(&b, res));
}

/* The body, whose values are words. */
static Body *wide_body(Ctx *cx, const Hist *h)
{
    const Body *old = h->e->seg.body;
    Bld b = bld_new(cx);
    Atoms res = {0};
    for (int i = 0; i < old->stms.n; i++)
        bld_stm(&b, old->stms.at[i]);
    for (int i = 0; i < old->res.n; i++) {
        Atom x = old->res.at[i];
        PrimType t = atom_type(x).elem;
        bool narrow = i >= h->rank && hist_word(t) != t;
        vec_push(cx->perm, &res,
                 narrow ? bld_exp(&b, "wide", exp_conv(cx, h->e->loc, hist_word(t), x)) : x);
    }
    return bld_body(&b, res);
}

/* The same histogram with words for bins. */
static const Exp *widened(Ctx *cx, const Hist *h)
{
    Exp *e = exp_new(cx, E_SEGHIST, h->e->loc);
    *e = *h->e;
    e->seg.dests = (Dests){0};
    e->seg.nes = (Atoms){0};
    for (int j = 0; j < h->n; j++) {
        Dest d = h->dests->at[j];
        const Type t = d.arr.var->type;
        d.arr = atom_var(var_new(cx, "wide", wide_type(t), e->loc));
        vec_push(cx->perm, &e->seg.dests, d);
        vec_push(cx->perm, &e->seg.nes, const_conv(hist_word(t.elem), h->nes[j].c));
    }
    e->seg.op = wide_op(cx, h);
    e->seg.body = wide_body(cx, h);
    return e;
}

static void clear_kernel(const SegHist *sh, Mem *const *wide)
{
    const Hist *h = &sh->hist;
    KGen *kg = kg_new(sh->pb, "seghist_clear", h->e);
    const KExp *n = sx_mul(kg->cx, sh->sg.n_segs, sh->n_bins), *b = nest_open(kg, n);
    for (int j = 0; j < h->n; j++) {
        KBuf *bins = kg_param_mem(kg, wide[j], h->dests->at[j].arr.var->type.elem);
        kg_updates(kg, wide[j]);
        kb_store(kg->kb, bins, b, kg_atom(kg, h->nes[j]));
    }
    nest_close(kg);
    nest_finish(kg, n);
}

/* Where work-items meet: words are cleared, take all elements, and are combined with the
 * destination; opens the branch for where they are not worth that. False, with nothing done, for
 * what has no words. */
static bool wide_begin(PlanBuild *pb, const SegHist *sh)
{
    Ctx *cx = pb->cx;
    const Hist *h = &sh->hist;
    if (!can_be_wide(h))
        return false;
    const Exp *e = widened(cx, h);
    ArrLoc *outs = NEWN(cx->perm, ArrLoc, h->n);
    Mem **wide = NEWN(cx->perm, Mem *, h->n);
    const KExp *zero = sx_const(cx, 0), *one = sx_const(cx, 1);
    pb_choose(pb, "seghist_wide", sx_teams(cx),
              cost_percent(cx, sx_mul(cx, sh->sg.width, sx_const(cx, WIDE_BINS)), sh->n_bins),
              "there is an element for each eight bins");
    for (int j = 0; j < h->n; j++) {
        const Type t = e->seg.dests.at[j].arr.var->type;
        const KExp *bytes = sx_const(cx, prim_type_bytes[t.elem]);
        wide[j] = pb_alloc(pb, "wide", sx_mul(cx, sx_product(cx, t.dims, t.rank), bytes));
        outs[j] = (ArrLoc){.mem = wide[j], .at = lmad_row_major(cx, t, zero, one)};
    }
    SegHist words = seghist_of(pb, e, outs), once = *sh;
    once.sg.chunks = one;
    clear_kernel(&words, wide);
    seghist_parts(pb, &words);
    combine_kernel(&once, wide, true);
    pb_else(pb);
    return true;
}

/* --- The construct ------------------------------------------------------------------------- */

void make_seghist(PlanBuild *pb, const Stm *s, const ArrLoc *outs)
{
    SegHist sh = seghist_of(pb, s->exp, outs);
    if (sh.hist.parts) {
        bool wide = wide_begin(pb, &sh);
        seghist_parts(pb, &sh);
        if (wide)
            pb_end(pb);
        return;
    }
    bool apart = !types_scalar(&sh.hist.op->params, 0, sh.hist.n);
    plan_turns(&sh, apart);
    seghist_turns(pb, &sh, apart);
}
