/* segscan^1: segmented inclusive scan, reduce-then-scan (see segments.h for chunks and threads).
 *
 * Segments of several chunks: (1) each chunk is reduced, (2) the chunks' sums of each segment are
 * scanned, (3) each chunk is scanned, beginning with the sum of the chunks before it. Segments of
 * one chunk need (3) only. A chunk is scanned by P threads in tiles of P neighbouring elements, or,
 * on a CPU and when segments are very short, by one thread. Operators on arrays: one thread a
 * segment. */
#include "codegen/segments.h"

/* Writes the accumulators, or for arrays the atoms, as the scanned results of the present element.
 */
static void store_scanned(KGen *kg, const Stm *s, const KLoc *outs, const char **acc)
{
    const Exp *e = s->exp;
    int depth = e->seg.nest.n;
    const Sx **ix = NEWN(kg->cx->perm, const Sx *, depth);
    nest_indices(kg, &e->seg.nest, depth, ix);
    for (int j = 0; j < e->seg.nes.n; j++)
        kg_line(kg, "%s = %s;", loc_elem(kg, &outs[j], ix, depth), acc[j]);
}

/* acc := the sum of what lies before chunk `c` of its segment: nothing for the first one. The sums
 * of the chunks up to each one are in blocks that the launch gives. */
static void load_carry(KGen *kg, const Accs *ac, const SegNames *n)
{
    kg_open(kg, "if (%s > 0)", n->c);
    for (int j = 0; j < ac->n; j++) {
        const char *sums = kg_param_out(kg, "sums", NULL, ac->types[j]);
        kg_line(kg, "%s = %s[%s - 1];", ac->acc[j], sums, n->unit);
    }
    kg_close(kg);
}

/* --- By one thread a chunk -------------------------------------------------------------------- */

static Stage scan_sequential(Host *h, const Stm *s, const Segments *sg, const ArrLoc *outs)
{
    const Exp *e = s->exp;
    const Nest *nest = &e->seg.nest;
    KGen *kg = kg_new(h, "segscan_seq", e);
    Accs ac = accs_new(kg, e);
    const char *gid = nest_open(kg, sx_mul(h->cx, sg->n_segs, sg->chunks));
    SegNames n = {.unit = gid,
                  .seg = kg_name(kg, "seg"),
                  .c = kg_name(kg, "c"),
                  .beg = kg_name(kg, "beg"),
                  .len = kg_name(kg, "len")};
    n.chunks = sx_c_factor(kg_host_sx(kg, sg->chunks));
    n.chunk = sx_c_factor(kg_host_sx(kg, sg->chunk));
    n.width = sx_c_factor(kg_host_sx(kg, sg->width));
    segments_locate(kg, &n);
    accs_declare(kg, &ac, &e->seg.nes);
    load_carry(kg, &ac, &n);
    nest_bind(kg, nest, nest->n - 1, n.seg);
    WorkMark m = kg_work_begin(kg);
    const char *i = kg_name(kg, "i");
    kg_open(kg, "for (i64 %s = 0; %s < %s; %s++)", i, i, n.len, i);
    HeapMark turn = heap_mark(kg);
    nest_bind_dim(kg, &vec_last(nest), kg_text(kg, "%s + %s", n.beg, i));
    const KLoc *ko = seg_outs(kg, s, 0, outs);
    seg_hint_maps(kg, e, ko, s);
    kg_stms(kg, e->seg.body);
    seg_store_maps(kg, e, ko, s);
    accs_apply(kg, &ac, ac.acc, accs_atoms(kg, &ac, e->seg.body->res.at));
    store_scanned(kg, s, ko, ac.acc);
    heap_release(kg, turn);
    kg_close(kg);
    kg_work_end(kg, m);
    nest_close(kg);
    return (Stage){.kg = kg, .k = kg_finish(kg)};
}

/* --- By several threads a chunk --------------------------------------------------------------- */

/* The loop over tiles: each thread holds one element of the tile in acc; carry: the sum of all
 * tiles before. */
typedef struct {
    const char *off, *in; /* the element's number in the chunk; is there one? */
    const char **carry;
} Tile;

static Tile open_tiles(KGen *kg, const Accs *ac, const SegNames *n)
{
    Tile t = {.off = kg_name(kg, "off"), .in = kg_name(kg, "in")};
    const char *i = kg_name(kg, "tile"), *tiles = kg_name(kg, "tiles");
    t.carry = NEWN(kg->cx->perm, const char *, ac->n);
    for (int j = 0; j < ac->n; j++) {
        t.carry[j] = kg_name(kg, "carry");
        kg_line(kg, "%s %s = %s;", ctype_c(ac->types[j]), t.carry[j], ac->acc[j]);
    }
    kg_line(kg, "const i64 %s = mf_index_div(%s + %s - 1, %s);", tiles, n->chunk, n->threads,
            n->threads);
    kg_open(kg, "for (i64 %s = 0; %s < %s; %s++)", i, i, tiles, i);
    kg_line(kg, "const i64 %s = %s * %s + %s;", t.off, i, n->threads, n->p);
    kg_line(kg, "const bool %s = %s && %s < %s;", t.in, n->active, t.off, n->len);
    return t;
}

/* Scans the tile; acc := the element's result, carry := the sum up to the tile's end. */
static void scan_tile(KGen *kg, const Accs *ac, const SegNames *n, const Tile *t)
{
    accs_scan(kg, ac, "lid", n->p, n->threads, n->active);
    kg_open(kg, "if (%s)", n->active);
    accs_apply(kg, ac, t->carry, ac->acc);
    const char *last = kg_name(kg, "last");
    kg_line(kg, "const i64 %s = lid - %s + %s - 1;", last, n->p, n->threads);
    Accs carry = *ac;
    carry.acc = t->carry;
    accs_apply(kg, &carry, t->carry, accs_at(kg, ac, last));
    kg_close(kg);
}

static void close_tiles(KGen *kg)
{
    seg_barrier(kg); /* the buffers are used again */
    kg_close(kg);
    kg_close(kg);
}

/* seg, c, beg, len for all threads (those without a chunk get an empty one). */
static void locate_all(KGen *kg, SegNames *n)
{
    const char *len = kg_name(kg, "len");
    segments_locate(kg, n);
    kg_line(kg, "const i64 %s = %s ? %s : 0;", len, n->active, n->len);
    n->len = len;
}

void seg_scan_chunk(KGen *kg, const Stm *s, const Accs *ac, const SegNames *n, const KLoc *outs)
{
    const Exp *e = s->exp;
    const Nest *nest = &e->seg.nest;
    Tile t = open_tiles(kg, ac, n);
    for (int j = 0; j < ac->n; j++)
        kg_line(kg, "%s = %s;", ac->acc[j], kg_atom_c(kg, e->seg.nes.at[j]));
    kg_open(kg, "if (%s)", t.in);
    WorkMark m = kg_work_begin(kg);
    nest_bind(kg, nest, nest->n - 1, n->seg);
    nest_bind_dim(kg, &vec_last(nest), kg_text(kg, "%s + %s", n->beg, t.off));
    seg_hint_maps(kg, e, outs, s);
    kg_stms(kg, e->seg.body);
    seg_store_maps(kg, e, outs, s);
    const char **x = accs_atoms(kg, ac, e->seg.body->res.at);
    for (int j = 0; j < ac->n; j++)
        kg_line(kg, "%s = %s;", ac->acc[j], x[j]);
    kg_work_end(kg, m);
    kg_close(kg);
    scan_tile(kg, ac, n, &t);
    kg_open(kg, "if (%s)", t.in);
    nest_bind(kg, nest, nest->n - 1, n->seg);
    nest_bind_dim(kg, &vec_last(nest), kg_text(kg, "%s + %s", n->beg, t.off));
    store_scanned(kg, s, outs, ac->acc);
    kg_close(kg);
    close_tiles(kg);
}

static Stage scan_tiled(Host *h, const Stm *s, const Segments *sg, const ArrLoc *outs)
{
    const Exp *e = s->exp;
    KGen *kg = kg_new(h, "segscan", e);
    Accs ac = accs_new(kg, e);
    accs_local(kg, &ac);
    SegNames n = segments_open(kg, sg);
    locate_all(kg, &n);
    accs_declare(kg, &ac, &e->seg.nes);
    kg_open(kg, "if (%s)", n.active);
    load_carry(kg, &ac, &n);
    kg_close(kg);
    seg_scan_chunk(kg, s, &ac, &n, seg_outs(kg, s, 0, outs));
    return (Stage){.kg = kg, .k = kg_finish(kg)};
}

/* Scans the partial results of each segment, in place. */
static Stage scan_partials(Host *h, const Exp *e, const Segments *sg, Mem *const *parts)
{
    KGen *kg = kg_new(h, "segscan_partials", e);
    Accs ac = accs_new(kg, e);
    accs_local(kg, &ac);
    SegNames n = segments_open(kg, sg);
    locate_all(kg, &n);
    accs_declare(kg, &ac, &e->seg.nes);
    Tile t = open_tiles(kg, &ac, &n);
    const char **elem = NEWN(h->cx->perm, const char *, ac.n);
    for (int j = 0; j < ac.n; j++) {
        elem[j] = kg_text(kg, "%s[%s * %s + %s]", kg_param_mem(kg, parts[j], ac.types[j]), n.seg,
                          n.width, t.off);
        kg_updates(kg, parts[j]);
        kg_line(kg, "%s = %s;", ac.acc[j], kg_atom_c(kg, e->seg.nes.at[j]));
    }
    kg_open(kg, "if (%s)", t.in);
    for (int j = 0; j < ac.n; j++)
        kg_line(kg, "%s = %s;", ac.acc[j], elem[j]);
    kg_close(kg);
    scan_tile(kg, &ac, &n, &t);
    kg_open(kg, "if (%s)", t.in);
    for (int j = 0; j < ac.n; j++)
        kg_line(kg, "%s = %s;", elem[j], ac.acc[j]);
    kg_close(kg);
    close_tiles(kg);
    return (Stage){.kg = kg, .k = kg_finish(kg)};
}

/* --- The construct ---------------------------------------------------------------------------- */

/* Launches the scan of the chunks, sequential or tiled; sums: of the chunks before (NULL: one
 * chunk). */
static void launch_scan(Host *h, const Stage *seq, const Stage *tiled, const Segments *sg,
                        Mem *const *sums)
{
    HostIf hi = host_if_more(h, sg->threads, 1);
    h->ops = &hi.op.then_;
    stage_launch(tiled, sg, sums);
    host_if_else(h, &hi);
    Segments one = *sg;
    one.threads = sx_const(h->cx, 1);
    stage_launch(seq, &one, sums);
    host_if_end(h, &hi);
}

static void segscan_staged(Host *h, const Stm *s, const ArrLoc *outs)
{
    const Exp *e = s->exp;
    int n = e->seg.nes.n;
    Mem **sums = NEWN(h->cx->perm, Mem *, n), **none = NEWN(h->cx->perm, Mem *, n);
    KGen *sizes = kg_new(h, "segscan", e);
    Segments sg = segments_plan(sizes, &e->seg.nest, 1);
    Stage seq = scan_sequential(h, s, &sg, outs), tiled = scan_tiled(h, s, &sg, outs);
    for (int j = 0; j < n; j++)
        none[j] = outs[j].mem; /* any block: not read when there is one chunk a segment */
    HostIf hi = host_if_more(h, sg.chunks, 1);
    h->ops = &hi.op.then_;
    for (int j = 0; j < n; j++)
        sums[j] = host_alloc(
            h, "partial",
            sx_mul(h->cx, sx_mul(h->cx, sg.n_segs, sg.chunks),
                   sx_const(h->cx, prim_type_bytes[e->seg.op->params.at[j]->type.elem])));
    Stage red = red_elements(h, e, &sg, NULL, NULL);
    stage_launch(&red, &sg, sums);
    Segments sg2 = segments_of_partials(h, &sg);
    Stage mid = scan_partials(h, e, &sg2, sums);
    stage_launch(&mid, &sg2, NULL);
    launch_scan(h, &seq, &tiled, &sg, sums);
    host_if_else(h, &hi);
    launch_scan(h, &seq, &tiled, &sg, none);
    host_if_end(h, &hi);
}

void cg_segscan(Host *h, const Stm *s)
{
    const Exp *e = s->exp;
    int n = e->seg.nes.n;
    ArrLoc *outs = NEWN(h->cx->perm, ArrLoc, s->pat.n);
    for (int j = 0; j < s->pat.n; j++)
        outs[j] = nest_result(h, &e->seg.nest, e->seg.nest.n, s->pat.at[j]);
    if (types_scalar(&e->seg.op->params, 0, n))
        segscan_staged(h, s, outs);
    else
        seg_sequential(h, s, outs, true);
    for (int j = 0; j < s->pat.n; j++)
        host_bind(h, s->pat.at[j], outs[j]);
}
