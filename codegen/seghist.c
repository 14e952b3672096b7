/* seghist^1: histograms, one for each of S segments (the outer dimensions of the nest that the
 * destinations have too), of H bins and w elements each.
 *
 * An operator on one scalar (atomics or compare and swap, see hist.h):
 *   local   the bins of a segment fit in local memory, and its elements are as many as its bins:
 *           a group takes a chunk of a segment's elements, collects them in copies of the bins in
 *           local memory, and updates the destination with what they hold in the end;
 *   global  else: a thread an element, which updates the destination at once.
 * Any other operator:
 *   turns   a segment's elements are cut into C chunks, each with bins of its own in global memory
 *           (the destination itself if C = 1) and worked on by one group, whose work-items take
 *           turns; or by one thread, on a CPU and where the operator is one on arrays. A second
 *           kernel combines the C bins of each place. C is bounded by the memory for the bins.
 * Nothing waits for another group. On a CPU device a chunk belongs to one work-item, without
 * atomics and barriers: its local bins are the cache's. */
#include "codegen/hist.h"
#include "codegen/segments.h"

#include <string.h>

/* What the kernels of a seghist share. Host values. */
typedef struct {
    Host *h;
    const Exp *e;
    Hist hist;
    int k;                             /* dimensions of the segments */
    const Sx *n_segs, *width, *n_bins; /* S, w, H */
    const Sx *chunks, *chunk;          /* chunks of a segment, elements of a chunk */
} SegHist;

static SegHist seghist_of(Host *h, const Stm *s)
{
    Ctx *cx = h->cx;
    const Exp *e = s->exp;
    SegHist sh = {.h = h, .e = e, .hist = hist_of(e), .k = hist_segments(e)};
    const Type t = e->seg.dests.at[0].arr.var->type;
    sh.n_segs = nest_size(cx, &e->seg.nest, 0, sh.k);
    sh.width = nest_size(cx, &e->seg.nest, sh.k, e->seg.nest.n);
    sh.n_bins = sx_product(cx, t.dims + sh.k, sh.hist.rank - sh.k);
    return sh;
}

/* The destinations, which the kernel updates in place. */
static KLoc *dest_locs(KGen *kg, const SegHist *sh)
{
    KLoc *locs = NEWN(kg->cx->perm, KLoc, sh->hist.n);
    for (int j = 0; j < sh->hist.n; j++) {
        const Var *v = sh->hist.dests->at[j].arr.var;
        locs[j] = kg_result(kg, host_loc(sh->h, v), v->type);
        kg_updates(kg, host_loc(sh->h, v)->mem);
    }
    return locs;
}

/* Declares the position of bin number `flat` of the segment at hand, in all dimensions. */
static const Sx **bin_position(KGen *kg, const SegHist *sh, int from, const char *flat)
{
    const Type t = sh->hist.dests->at[0].arr.var->type;
    int rank = sh->hist.rank;
    const Sx **ix = NEWN(kg->cx->perm, const Sx *, rank);
    Var **idx = NEWN(kg->cx->perm, Var *, rank);
    for (int d = 0; d < rank; d++) {
        idx[d] = d < from ? sh->e->seg.nest.at[d].idx
                          : var_new(kg->cx, "bin", type_prim(T_I64), sh->e->loc);
        ix[d] = sx_var(kg->cx, idx[d]);
    }
    kg_unflatten(kg, flat, idx + from, t.dims + from, rank - from);
    return ix;
}

/* --- Global: a thread an element -------------------------------------------------------------- */

static void global_kernel(const SegHist *sh)
{
    const Nest *nest = &sh->e->seg.nest;
    KGen *kg = kg_new(sh->h, "seghist", sh->e);
    const Hist *h = &sh->hist;
    const Sx *n = nest_size(kg->cx, nest, 0, nest->n);
    kg->guard = true;
    const char *el = nest_open(kg, n), *many = hist_shared_c(h), *i = el;
    if (strcmp(many, "1") != 0) { /* without atomics the first thread takes all elements */
        i = kg_name(kg, "i");
        kg_open(kg, "for (i64 %s = %s; %s < (%s ? %s + 1 : %s == 0 ? %s : 0); %s++)", i, el, i,
                many, el, el, sx_c_factor(kg_host_sx(kg, n)), i);
    } else {
        kg_block(kg);
    }
    nest_bind(kg, nest, nest->n, i);
    WorkMark m = kg_work_begin(kg);
    kg_stms(kg, sh->e->seg.body);
    hist_open_bounds(kg, h, sh->k);
    KLoc *bins = hist_bins(kg, h, dest_locs(kg, sh), hist_index(kg, h));
    hist_update(kg, h, bins, hist_vals(kg, h));
    kg_close(kg);
    kg_work_end(kg, m);
    kg_close(kg);
    nest_close(kg);
    nest_finish(kg, n);
}

/* --- Chunks of segments ----------------------------------------------------------------------- */

/* Names inside a kernel that works on one chunk after the other. */
typedef struct {
    const char *seg, *c, *beg, *len;
} Chunk;

/* Opens the loop over the chunks of worker number `first` of `step`; binds the segment's indices.
 */
static Chunk open_chunks(KGen *kg, const SegHist *sh, const char *first, const char *step)
{
    Ctx *cx = kg->cx;
    const char *unit = kg_name(kg, "unit"), *units = kg_name(kg, "units");
    Chunk c = {kg_name(kg, "seg"), kg_name(kg, "c"), kg_name(kg, "beg"), kg_name(kg, "len")};
    const char *chunks = sx_c_factor(kg_host_sx(kg, sh->chunks));
    const char *chunk = sx_c_factor(kg_host_sx(kg, sh->chunk));
    const char *width = sx_c_factor(kg_host_sx(kg, sh->width));
    kg_line(kg, "const i64 %s = stopped ? 0 : %s;", units,
            sx_c(kg_host_sx(kg, sx_mul(cx, sh->n_segs, sh->chunks))));
    kg_open(kg, "for (i64 %s = %s; %s < %s; %s += %s)", unit, first, unit, units, unit, step);
    kg_line(kg, "const i64 %s = mf_index_div(%s, %s), %s = %s - %s * %s;", c.seg, unit, chunks, c.c,
            unit, c.seg, chunks);
    kg_line(kg, "const i64 %s = %s * %s;", c.beg, c.c, chunk);
    kg_line(kg, "const i64 %s = mf_max_i64(0, mf_min_i64(%s, %s - %s));", c.len, chunk, width,
            c.beg);
    nest_bind(kg, &sh->e->seg.nest, sh->k, c.seg);
    return c;
}

/* Opens the loop of this work-item over numbers below `len` (or all of them, by the first one). */
static const char *open_items(KGen *kg, const char *len, const char *many)
{
    const char *i = kg_name(kg, "i");
    kg_open(
        kg,
        "for (i64 %s = %s ? lid : lid == 0 ? 0 : %s; %s < %s; %s += %s ? get_local_size(0) : 1)", i,
        many, len, i, len, i, many);
    return i;
}

/* The element at `off` of a chunk; the block that is opened is entered if it is in bounds. */
static WorkMark open_element(KGen *kg, const SegHist *sh, const Chunk *c, const char *off)
{
    const Nest *nest = &sh->e->seg.nest;
    const char *at = kg_name(kg, "at");
    kg_line(kg, "const i64 %s = %s + %s;", at, c->beg, off);
    nest_bind_range(kg, nest, sh->k, nest->n, at);
    WorkMark m = kg_work_begin(kg);
    kg_stms(kg, sh->e->seg.body);
    hist_open_bounds(kg, &sh->hist, sh->k);
    return m;
}

static void close_element(KGen *kg, WorkMark m)
{
    kg_close(kg);
    kg_work_end(kg, m);
}

/* --- Local: bins of a group ------------------------------------------------------------------- */

/* Local memory is a word for each bin and copy. */
static PrimType local_elem(const Hist *h)
{
    PrimType t = h->op->params.at[0]->type.elem;
    return prim_type_bytes[t] < 4 ? T_U32 : t;
}

typedef struct {
    KLoc bins;
    const char *name, *n_bins, *copies;
} LocalBins;

static KLoc local_bin(KGen *kg, const LocalBins *lb, const char *at)
{
    KLoc l = lb->bins;
    l.offset = sx_text(kg->cx, at);
    return l;
}

static void local_clear(KGen *kg, const SegHist *sh, const LocalBins *lb, const char *many)
{
    const char *i = open_items(kg, kg_text(kg, "%s * %s", lb->n_bins, lb->copies), many);
    kg_line(kg, "%s[%s] = %s;", lb->name, i, kg_atom_c(kg, sh->hist.nes[0]));
    kg_close(kg);
    seg_barrier(kg);
}

static void local_collect(KGen *kg, const SegHist *sh, const LocalBins *lb, const Chunk *c,
                          const char *many)
{
    const Hist *h = &sh->hist;
    const Type t = h->dests->at[0].arr.var->type;
    const char *off = open_items(kg, c->len, many);
    WorkMark m = open_element(kg, sh, c, off);
    const char *at = kg_name(kg, "at");
    const Sx *flat = sx_const(kg->cx, 0);
    for (int d = sh->k; d < h->rank; d++)
        flat = sx_add(kg->cx, sx_mul(kg->cx, flat, kg_sx(kg, t.dims[d])), kg_sx(kg, h->index[d]));
    kg_line(kg, "const i64 %s = (lid %% %s) * %s + %s;", at, lb->copies, lb->n_bins, sx_c(flat));
    KLoc bin = local_bin(kg, lb, at);
    kg_line(kg, "#if MF_IS_CPU");
    hist_combine(kg, h, &bin, hist_vals(kg, h));
    kg_line(kg, "#else");
    hist_update(kg, h, &bin, hist_vals(kg, h));
    kg_line(kg, "#endif");
    close_element(kg, m);
    kg_close(kg);
    seg_barrier(kg);
}

/* Bins that still hold the neutral element change nothing. */
static void local_flush(KGen *kg, const SegHist *sh, const LocalBins *lb, const char *many)
{
    const Hist *h = &sh->hist;
    const char *b = open_items(kg, lb->n_bins, many), *r = kg_name(kg, "r");
    const char *type = ctype_c(h->op->params.at[0]->type.elem);
    KLoc first = local_bin(kg, lb, b);
    kg_open(kg, "for (i64 %s = 1; %s < %s; %s++)", r, r, lb->copies, r);
    HistVal other = {.text = kg_text(kg, "%s[%s * %s + %s]", lb->name, r, lb->n_bins, b)};
    hist_combine(kg, h, &first, &other);
    kg_close(kg);
    HistVal sum = {.text = kg_name(kg, "sum")};
    kg_line(kg, "const %s %s = %s[%s];", type, sum.text, lb->name, b);
    kg_open(kg, "if (%s != %s)", sum.text, kg_atom_c(kg, h->nes[0]));
    KLoc *bins = hist_bins(kg, h, dest_locs(kg, sh), bin_position(kg, sh, sh->k, b));
    hist_update(kg, h, bins, &sum);
    kg_close(kg);
    kg_close(kg);
    seg_barrier(kg);
}

static void local_kernel(const SegHist *sh, const Sx *group_size, const Sx *copies)
{
    KGen *kg = kg_new(sh->h, "seghist_local", sh->e);
    const char *many = hist_shared_c(&sh->hist);
    PrimType elem = local_elem(&sh->hist);
    kg->guard = true;
    kg->group_size = group_size;
    kg->max_threads = sx_mul(kg->cx, sx_size(kg->cx, SIZE_NUM_GROUPS), kg->group_size);
    LocalBins lb = {.n_bins = sx_c_factor(kg_host_sx(kg, sh->n_bins)),
                    .copies = sx_c_factor(kg_host_sx(kg, copies))};
    const Sx *count =
        sx_op(kg->cx, SX_MAX, sx_const(kg->cx, 1), sx_mul(kg->cx, sh->n_bins, copies));
    lb.name = kg_param_local(kg, "bins", elem, count);
    lb.bins = (KLoc){.space = SP_LOCAL, .elem = elem, .mem = lb.name};
    Chunk c = open_chunks(
        kg, sh, kg_text(kg, "%s ? get_group_id(0) : get_group_id(0) == 0 ? 0 : LONG_MAX", many),
        kg_text(kg, "(%s ? get_num_groups(0) : 1)", many));
    local_clear(kg, sh, &lb, many);
    local_collect(kg, sh, &lb, &c, many);
    local_flush(kg, sh, &lb, many);
    kg_close(kg);
    Kernel *k = kg_finish(kg);
    kg_launch(kg, k, nest_groups(kg, sx_mul(kg->cx, sh->n_segs, sh->chunks), sx_const(kg->cx, 1)));
}

/* --- Operators on one scalar ------------------------------------------------------------------ */

/* Groups enough for the device, and chunks that are worth bins of their own. */
static void plan_chunks(SegHist *sh, const Sx *workers, const Sx *least)
{
    Ctx *cx = sh->h->cx;
    const Sx *one = sx_const(cx, 1);
    const Sx *share = sx_op(cx, SX_CEILDIV, workers, sx_op(cx, SX_MAX, one, sh->n_segs));
    const Sx *most = sx_op(cx, SX_DIV, sh->width, sx_op(cx, SX_MAX, one, least));
    sh->chunks = host_let(sh->h, "chunks", sx_op(cx, SX_MAX, one, sx_op(cx, SX_MIN, share, most)));
    sh->chunk = host_let(sh->h, "chunk", sx_op(cx, SX_CEILDIV, sh->width, sh->chunks));
}

enum {
    LOCAL_SHARE = 2,     /* at most 1/2 of the local memory is for bins: two groups at a time */
    LOCAL_COPIES = 8,    /* of few bins, so that less work-items meet in one */
    ELEMS_PER_ITEM = 16, /* at least, in a chunk */
};

static void seghist_scalar(Host *h, SegHist *sh)
{
    Ctx *cx = h->cx;
    const Sx *one = sx_const(cx, 1), *cpu = sx_is_cpu(cx);
    const Sx *item = sx_const(cx, prim_type_bytes[local_elem(&sh->hist)]);
    const Sx *n_bins = sx_op(cx, SX_MAX, one, sh->n_bins);
    const Sx *room = sx_op(cx, SX_DIV, sx_size(cx, SIZE_LOCAL_MEMORY),
                           sx_mul(cx, sx_const(cx, LOCAL_SHARE), item)); /* bins */
    const Sx *fits = sx_op(cx, SX_MIN, one, sx_op(cx, SX_DIV, room, n_bins));
    const Sx *full = sx_op(cx, SX_MIN, one, sx_op(cx, SX_DIV, sh->width, n_bins));
    HostIf hi = host_if_more(h, sx_mul(cx, fits, full), 0);
    h->ops = &hi.op.then_;
    const Sx *group_size =
        host_let(h, "size", sx_select(cx, cpu, one, sx_size(cx, SIZE_GROUP_SIZE)));
    const Sx *copies =
        sx_op(cx, SX_MIN, sx_const(cx, LOCAL_COPIES), sx_op(cx, SX_DIV, room, n_bins));
    copies = host_let(h, "copies", sx_select(cx, cpu, one, sx_op(cx, SX_MAX, one, copies)));
    const Sx *least =
        sx_op(cx, SX_MAX, n_bins, sx_mul(cx, group_size, sx_const(cx, ELEMS_PER_ITEM)));
    plan_chunks(sh, sx_size(cx, SIZE_NUM_GROUPS), least);
    local_kernel(sh, group_size, copies);
    host_if_else(h, &hi);
    global_kernel(sh);
    host_if_end(h, &hi);
}

/* --- Turns: bins of chunks in global memory --------------------------------------------------- */

/* Where the bins of chunk c of the segment at hand lie: value j's in `mems`, to be set at the
 * launch. Strides are parameters: if there is one chunk only, they are the destination's. */
typedef struct {
    const Sx **offset, **step, ***strides; /* host values, for each value j */
} BinLayout;

/* The i64 size of what a bin holds of value j. */
static const Sx *bin_elems(Ctx *cx, const Hist *h, int j)
{
    Type t = hist_bin_type(h, j);
    return sx_product(cx, t.dims, t.rank);
}

static const Sx *all_elems(Ctx *cx, const Hist *h, int j)
{
    Type t = h->dests->at[j].arr.var->type;
    return sx_product(cx, t.dims, t.rank);
}

static BinLayout layout_bins(const SegHist *sh)
{
    Host *h = sh->h;
    Ctx *cx = h->cx;
    int n = sh->hist.n;
    BinLayout l = {NEWN(cx->perm, const Sx *, n), NEWN(cx->perm, const Sx *, n),
                   NEWN(cx->perm, const Sx **, n)};
    const Sx *more = sx_op(cx, SX_MIN, sx_const(cx, 1), sx_sub(cx, sh->chunks, sx_const(cx, 1)));
    more = host_let(h, "more", more);
    for (int j = 0; j < n; j++) {
        const Var *v = sh->hist.dests->at[j].arr.var;
        const ArrLoc *d = host_loc(h, v);
        const Sx *zero = sx_const(cx, 0), *unit = sx_const(cx, 1);
        l.offset[j] = host_let(h, "offset", sx_select(cx, more, zero, d->at.offset));
        l.strides[j] = NEWN(cx->perm, const Sx *, v->type.rank);
        for (int k = v->type.rank - 1; k >= 0; k--) {
            l.strides[j][k] = host_let(h, "stride", sx_select(cx, more, unit, d->at.strides[k]));
            unit = sx_mul(cx, unit, sx_atom(cx, v->type.dims[k]));
        }
        l.step[j] = host_let(h, "step", sx_mul(cx, more, unit));
    }
    return l;
}

static const char **bin_params(KGen *kg, const Hist *h)
{
    const char **mems = NEWN(kg->cx->perm, const char *, h->n);
    for (int j = 0; j < h->n; j++)
        mems[j] = kg_param_out(kg, "bins", NULL, h->dests->at[j].arr.var->type.elem);
    kg_updates(kg, NULL); /* those; they may be the destination's */
    return mems;
}

static KLoc *chunk_locs(KGen *kg, const SegHist *sh, const BinLayout *l, const char **mems,
                        const Chunk *c)
{
    Ctx *cx = kg->cx;
    KLoc *locs = NEWN(cx->perm, KLoc, sh->hist.n);
    for (int j = 0; j < sh->hist.n; j++) {
        Type t = sh->hist.dests->at[j].arr.var->type;
        locs[j] = (KLoc){.space = SP_GLOBAL, .elem = t.elem, .mem = mems[j]};
        const Sx *step = sx_mul(cx, sx_text(cx, c->c), kg_host_sx(kg, l->step[j]));
        locs[j].offset = sx_add(cx, kg_host_sx(kg, l->offset[j]), step);
        locs[j].strides = NEWN(cx->perm, const Sx *, t.rank);
        for (int k = 0; k < t.rank; k++)
            locs[j].strides[k] = kg_host_sx(kg, l->strides[j][k]);
    }
    return locs;
}

/* bin := neutral element, for the bins of a chunk that are not the destination's. */
static void clear_bins(KGen *kg, const SegHist *sh, const KLoc *locs, bool apart)
{
    const Hist *h = &sh->hist;
    const char *b = kg_name(kg, "b"), *n = sx_c_factor(kg_host_sx(kg, sh->n_bins));
    kg_open(kg, "if (%s > 1)", sx_c_factor(kg_host_sx(kg, sh->chunks)));
    kg_open(kg, "for (i64 %s = %s; %s < %s; %s += %s)", b, apart ? "0" : "lid", b, n, b,
            apart ? "1" : "get_local_size(0)");
    KLoc *bins = hist_bins(kg, h, locs, bin_position(kg, sh, sh->k, b));
    for (int j = 0; j < h->n; j++)
        kg_store(kg, &bins[j], hist_bin_type(h, j), h->nes[j]);
    kg_close(kg);
    kg_close(kg);
}

/* A chunk a thread. */
static void turns_apart(KGen *kg, const SegHist *sh, const BinLayout *l, const char **mems)
{
    const Hist *h = &sh->hist;
    Chunk c = open_chunks(kg, sh, "get_global_id(0)", "get_global_size(0)");
    KLoc *locs = chunk_locs(kg, sh, l, mems, &c);
    clear_bins(kg, sh, locs, true);
    const char *off = kg_name(kg, "off");
    kg_open(kg, "for (i64 %s = 0; %s < %s; %s++)", off, off, c.len, off);
    WorkMark m = open_element(kg, sh, &c, off);
    hist_combine(kg, h, hist_bins(kg, h, locs, hist_index(kg, h)), hist_vals(kg, h));
    close_element(kg, m);
    kg_close(kg);
    kg_close(kg);
}

/* A chunk a group. */
static void turns_together(KGen *kg, const SegHist *sh, const BinLayout *l, const char **mems,
                           const char *owner, const char *left)
{
    const Hist *h = &sh->hist;
    Turns t = turns_begin(kg, h, owner, left);
    Chunk c = open_chunks(kg, sh, "get_group_id(0)", "get_num_groups(0)");
    KLoc *locs = chunk_locs(kg, sh, l, mems, &c);
    clear_bins(kg, sh, locs, false);
    kg_meet(kg, true);
    const char *base = kg_name(kg, "base"), *off = kg_name(kg, "off");
    kg_open(kg, "for (i64 %s = 0; %s < %s; %s += get_local_size(0))", base, base, c.len, base);
    turns_declare(kg, h, &t);
    kg_line(kg, "const i64 %s = %s + lid;", off, base);
    kg_open(kg, "if (%s < %s)", off, c.len);
    WorkMark m = open_element(kg, sh, &c, off);
    turns_set(kg, h, &t);
    close_element(kg, m);
    kg_close(kg);
    turns_take(kg, h, &t, locs);
    kg_close(kg);
    kg_close(kg);
}

/* The first kernel; *apart: chunks are threads' on a GPU, too. */
static KGen *turns_kernel(const SegHist *sh, const BinLayout *l, bool apart)
{
    KGen *kg = kg_new(sh->h, "seghist_turns", sh->e);
    kg->guard = true;
    kg->max_threads = sx_mul(kg->cx, sx_size(kg->cx, SIZE_NUM_GROUPS), kg->group_size);
    const char **mems = bin_params(kg, &sh->hist);
    if (apart) {
        turns_apart(kg, sh, l, mems);
        return kg;
    }
    const Sx *one = sx_const(kg->cx, 1),
             *items = sx_select(kg->cx, sx_is_cpu(kg->cx), one, kg->group_size);
    const char *owner = kg_param_local(kg, "owner", T_I32, items);
    const char *left = kg_param_local(kg, "left", T_I32, one);
    kg_line(kg, "#if MF_IS_CPU");
    kg_block(kg);
    turns_apart(kg, sh, l, mems);
    kg_close(kg);
    kg_line(kg, "#else");
    kg_block(kg);
    turns_together(kg, sh, l, mems, owner, left);
    kg_close(kg);
    kg_line(kg, "#endif");
    return kg;
}

static void launch_turns(KGen *kg, Kernel *k, const SegHist *sh, bool apart, Mem *const *mems)
{
    Ctx *cx = kg->cx;
    KParams args = {0};
    int j = 0;
    for (int i = 0; i < kg->params.n; i++) {
        KParam p = kg->params.at[i];
        if (p.kind == KP_MEM && !p.mem)
            p.mem = mems[j++];
        vec_push(cx->perm, &args, p);
    }
    const Sx *per_group = kg->group_size;
    if (!apart)
        per_group = sx_select(cx, sx_is_cpu(cx), per_group, sx_const(cx, 1));
    kg_launch_args(kg, k, args, nest_groups(kg, sx_mul(cx, sh->n_segs, sh->chunks), per_group));
}

/* The second kernel: one thread a bin. */
static void combine_kernel(const SegHist *sh, Mem *const *subs)
{
    Ctx *cx = sh->h->cx;
    const Hist *h = &sh->hist;
    KGen *kg = kg_new(sh->h, "seghist_combine", sh->e);
    const Sx *n = sx_mul(cx, sh->n_segs, sh->n_bins);
    const char *b = nest_open(kg, n), *c = kg_name(kg, "c");
    WorkMark m = kg_work_begin(kg);
    KLoc *bins = hist_bins(kg, h, dest_locs(kg, sh), bin_position(kg, sh, 0, b));
    HistVal *xs = NEWN(cx->perm, HistVal, h->n);
    kg_open(kg, "for (i64 %s = 0; %s < %s; %s++)", c, c, sx_c_factor(kg_host_sx(kg, sh->chunks)),
            c);
    const char *at = kg_name(kg, "at");
    kg_line(kg, "const i64 %s = %s * %s + %s;", at, c, sx_c_factor(kg_host_sx(kg, n)), b);
    for (int j = 0; j < h->n; j++) {
        Type t = hist_bin_type(h, j);
        KLoc l = {.space = SP_GLOBAL, .elem = t.elem};
        l.mem = kg_param_mem(kg, subs[j], t.elem);
        l.offset = sx_mul(cx, sx_text(cx, at), kg_host_sx(kg, bin_elems(cx, h, j)));
        l.strides = loc_strides_row_major(kg, t, sx_const(cx, 1));
        xs[j] = (HistVal){.text = loc_elem(kg, &l, NULL, 0), .loc = l};
    }
    hist_combine(kg, h, bins, xs);
    kg_close(kg);
    kg_work_end(kg, m);
    nest_close(kg);
    nest_finish(kg, n);
}

enum {
    BINS_BYTES = 128 << 20, /* at most, for the bins of all chunks */
    CPU_CHUNK = 1024        /* elements, at least */
};

static void plan_turns(SegHist *sh, bool apart)
{
    Ctx *cx = sh->h->cx;
    const Sx *one = sx_const(cx, 1), *cpu = sx_is_cpu(cx), *groups = sx_size(cx, SIZE_NUM_GROUPS);
    const Sx *size = sx_size(cx, SIZE_GROUP_SIZE), *bytes = one;
    for (int j = 0; j < sh->hist.n; j++) {
        PrimType t = sh->hist.dests->at[j].arr.var->type.elem;
        bytes = sx_add(cx, bytes,
                       sx_mul(cx, all_elems(cx, &sh->hist, j), sx_const(cx, prim_type_bytes[t])));
    }
    const Sx *room = sx_op(cx, SX_DIV, sx_const(cx, BINS_BYTES), bytes);
    const Sx *threads = sx_mul(cx, groups, size);
    const Sx *workers = apart ? threads : sx_select(cx, cpu, threads, groups);
    workers = sx_op(cx, SX_MIN, workers, sx_mul(cx, sh->n_segs, room));
    /* Few bins are soon combined by many threads, but a CPU has not many. */
    const Sx *few = sx_op(cx, SX_MAX, sx_mul(cx, size, sx_const(cx, 4)),
                          sx_op(cx, SX_DIV, sh->n_bins, sx_const(cx, 16)));
    const Sx *many = sx_op(cx, SX_MAX, sx_const(cx, CPU_CHUNK), sh->n_bins);
    plan_chunks(sh, workers, apart ? many : sx_select(cx, cpu, many, few));
}

static void seghist_turns(Host *h, SegHist *sh)
{
    Ctx *cx = h->cx;
    int n = sh->hist.n;
    bool apart = !types_scalar(&sh->hist.op->params, 0, n);
    plan_turns(sh, apart);
    BinLayout l = layout_bins(sh);
    KGen *kg = turns_kernel(sh, &l, apart);
    Kernel *k = kg_finish(kg);
    Mem **dests = NEWN(cx->perm, Mem *, n), **subs = NEWN(cx->perm, Mem *, n);
    for (int j = 0; j < n; j++)
        dests[j] = host_loc(h, sh->hist.dests->at[j].arr.var)->mem;
    HostIf hi = host_if_more(h, sh->chunks, 1);
    h->ops = &hi.op.then_;
    for (int j = 0; j < n; j++) {
        PrimType t = sh->hist.dests->at[j].arr.var->type.elem;
        const Sx *bytes = sx_mul(cx, all_elems(cx, &sh->hist, j), sx_const(cx, prim_type_bytes[t]));
        subs[j] = host_alloc(h, "bins", sx_mul(cx, sh->chunks, bytes));
    }
    launch_turns(kg, k, sh, apart, subs);
    combine_kernel(sh, subs);
    host_if_else(h, &hi);
    launch_turns(kg, k, sh, apart, dests);
    host_if_end(h, &hi);
}

/* --- The construct ---------------------------------------------------------------------------- */

void cg_seghist(Host *h, const Stm *s)
{
    SegHist sh = seghist_of(h, s);
    if (sh.hist.way == HIST_TURNS)
        seghist_turns(h, &sh);
    else
        seghist_scalar(h, &sh);
    for (int j = 0; j < s->pat.n; j++) /* written in place */
        host_bind(h, s->pat.at[j], *host_loc(h, s->exp->seg.dests.at[j].arr.var));
}
