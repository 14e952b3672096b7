/* segred^1 of segments that lie beside each other in memory, as columns do: neighbouring threads take
 * neighbouring segments, and each a chunk of its own from the first element to the last, so that what a
 * warp reads is in one piece without a transposed copy. The partial results are combined as those of
 * other reductions are.
 *
 * Where work-items work for themselves each has a strip of neighbouring segments, whose accumulators are
 * a private array: for each element of the chunk it goes along the strip, which is how the elements lie,
 * and what the target's compiler makes vectors of. */
#include "kernels/segments.h"

enum {
    TURNS = 4,  /* of the elements that are worth a thread, so that few partial results are left */
    STRIP = 256 /* segments */
};

/* Can strips be worked on? */
static bool has_strips(const Stm *s)
{
    const Exp *e = s->exp;
    return s->pat.n == e->seg.nes.n && seg_is_short(e->seg.body, true) &&
           seg_is_short(e->seg.op->body, true) && !exp_traps(e);
}

/* Host: segments of a strip; 1 where neighbouring work-items have one each. */
static const Sx *strip_of(Ctx *cx, const Stm *s)
{
    const Sx *one = sx_const(cx, 1);
    return has_strips(s) ? sx_op(cx, SX_MAX, one, sx_mul(cx, sx_single(cx), sx_const(cx, STRIP)))
                         : one;
}

static Segments cut_across(PlanBuild *pb, const Nest *nest, const Sx *strip)
{
    Ctx *cx = pb->cx;
    const Sx *one = sx_const(cx, 1);
    Segments sg = {.n_segs = nest_size(cx, nest, 0, nest->n - 1),
                   .width = sx_atom(cx, nest_width(nest)),
                   .threads = one};
    const Sx *fill = sx_mul(cx, sx_size(cx, SIZE_NUM_GROUPS), sx_size(cx, SIZE_GROUP_SIZE));
    const Sx *strips = sx_op(cx, SX_CEILDIV, sg.n_segs, strip);
    const Sx *each = sx_op(cx, SX_DIV, fill, sx_op(cx, SX_MAX, strips, one));
    const Sx *worth = sx_mul(cx, sx_size(cx, SIZE_ITEM_ELEMS), sx_const(cx, TURNS));
    segments_cut(pb, &sg, sx_mul(cx, each, sg.n_segs), sx_op(cx, SX_CEILDIV, sg.width, worth));
    return sg;
}

typedef struct {
    KGen *kg;
    const Exp *e;
    const Segments *sg;
    const Sx *strip;
    Accs ac;
    KBuf **to; /* the results */
} Across;

static void locate(KGen *kg, Chunk *n)
{
    n->beg = kb_let(kg->kb, "beg", kg_mul(kg, n->c, n->chunk));
    n->len = kb_let(kg->kb, "len", kg_min(kg, n->chunk, kg_sub(kg, n->width, n->beg)));
}

static const Sx *strips_of(const Across *t)
{
    return sx_op(t->kg->cx, SX_CEILDIV, t->sg->n_segs, t->strip);
}

static void put(const Across *t, const Chunk *n, const KExp *const *x)
{
    KGen *kg = t->kg;
    const KExp *unit = kg_add(kg, kg_mul(kg, n->seg, n->chunks), n->c);
    for (int j = 0; j < t->ac.n; j++)
        kb_store(kg->kb, t->to[j], unit, x[j]);
}

/* The segment and chunk number `flat`. */
static void reduce_one(const Across *t, const Stm *s, Chunk n, const KExp *flat, const ArrLoc *outs)
{
    KGen *kg = t->kg;
    const Exp *e = t->e;
    n.c = kg_split(kg, flat, kg_host(kg, t->sg->n_segs), &n.seg);
    n.seg = kb_let(kg->kb, "seg", n.seg);
    locate(kg, &n);
    accs_declare(kg, &t->ac, &e->seg.nes);
    nest_bind(kg, &e->seg.nest, e->seg.nest.n - 1, n.seg);
    seg_accumulate(kg, e, &t->ac, &n, seg_outs(kg, s, t->ac.n, outs), s);
    put(t, &n, accs_now(kg, &t->ac));
}

static const KExp **load_all(KGen *kg, const Accs *ac, KBuf *const *bufs, const KExp *at)
{
    const KExp **x = NEWN(kg->cx->perm, const KExp *, ac->n);
    for (int j = 0; j < ac->n; j++)
        x[j] = kb_load(kg->kb, "x", bufs[j], at);
    return x;
}

/* acc[i] := op(acc[i], element k of segment first + i) */
static void accumulate_strip(const Across *t, KBuf *const *bufs, const KExp *first, const KExp *count,
                             const KExp *k)
{
    KGen *kg = t->kg;
    const Exp *e = t->e;
    const Accs *ac = &t->ac;
    const Nest *nest = &e->seg.nest;
    int mark = ranges_mark(kg->known);
    const KExp *i = kb_for(kg->kb, "i", kg_int(kg, 0), count, kg_int(kg, 1));
    nest_bind(kg, nest, nest->n - 1, kb_let(kg->kb, "seg", kg_add(kg, first, i)));
    nest_bind_dim(kg, &vec_last(nest), k);
    kg_stms(kg, e->seg.body);
    accs_declare(kg, ac, &e->seg.nes);
    accs_apply(kg, ac, load_all(kg, ac, bufs, i), accs_atoms(kg, ac, e->seg.body->res.at));
    for (int j = 0; j < ac->n; j++)
        kb_store(kg->kb, bufs[j], i, kg_of(kg, ac->acc[j]));
    kb_end(kg->kb);
    ranges_reset(kg->known, mark);
}

/* The strip and chunk number `flat`. */
static void reduce_strip(const Across *t, Chunk n, const KExp *flat)
{
    KGen *kg = t->kg;
    KBuild *b = kg->kb;
    const Accs *ac = &t->ac;
    const KExp *zero = kg_int(kg, 0), *one = kg_int(kg, 1), *number;
    n.c = kg_split(kg, flat, kg_host(kg, strips_of(t)), &number);
    locate(kg, &n);
    const KExp *first = kb_let(b, "first", kg_mul(kg, number, kg_int(kg, STRIP)));
    const KExp *rest = kg_sub(kg, kg_host(kg, t->sg->n_segs), first);
    const KExp *count = kb_let(b, "count", kg_min(kg, kg_int(kg, STRIP), rest));
    KBuf **bufs = NEWN(kg->cx->perm, KBuf *, ac->n);
    for (int j = 0; j < ac->n; j++) {
        bufs[j] = kb_array(b, "acc", ac->types[j], STRIP);
        const KExp *i = kb_for(b, "i", zero, count, one);
        kb_store(b, bufs[j], i, kg_atom(kg, t->e->seg.nes.at[j]));
        kb_end(b);
    }
    const KExp *k = kb_for(b, "k", n.beg, kg_add(kg, n.beg, n.len), one);
    accumulate_strip(t, bufs, first, count, k);
    kb_end(b);
    const KExp *i = kb_for(b, "i", zero, count, one);
    n.seg = kg_add(kg, first, i);
    put(t, &n, load_all(kg, ac, bufs, i));
    kb_end(b);
}

static Stage red_across(PlanBuild *pb, const Stm *s, const Segments *sg, const Sx *strip,
                        const ArrLoc *outs)
{
    KGen *kg = kg_new(pb, "segred_across", s->exp);
    Across t = {.kg = kg, .e = s->exp, .sg = sg, .strip = strip, .ac = accs_new(kg, s->exp)};
    t.to = NEWN(pb->cx->perm, KBuf *, t.ac.n);
    for (int j = 0; j < t.ac.n; j++)
        t.to[j] = kg_param_out(kg, "out", t.ac.types[j]);
    const KExp *flat = nest_open(kg, sx_mul(pb->cx, strips_of(&t), sg->chunks));
    Chunk n = {.chunks = kg_host(kg, sg->chunks),
               .chunk = kg_host(kg, sg->chunk),
               .threads = kg_int(kg, 1),
               .width = kg_host(kg, sg->width),
               .p = kg_int(kg, 0)};
    if (has_strips(s)) {
        kg_if_single(kg);
        reduce_strip(&t, n, flat);
        kb_else(kg->kb);
    }
    reduce_one(&t, s, n, flat, outs);
    if (has_strips(s))
        kb_end(kg->kb);
    nest_close(kg);
    return (Stage){kg, kg_finish(kg)};
}

void segred_across(PlanBuild *pb, const Stm *s, const ArrLoc *outs)
{
    const Sx *strip = pb_let(pb, "strip", strip_of(pb->cx, s));
    Segments sg = cut_across(pb, &s->exp->seg.nest, strip);
    segred_stages(pb, s, outs, &sg, red_across(pb, s, &sg, strip, outs));
}
