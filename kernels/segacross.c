/* segred^1 of segments that lie beside each other in memory, as columns do: neighbouring threads take
 * neighbouring segments, and each a chunk of its own from the first element to the last, so that what a
 * warp reads is in one piece without a transposed copy. The partial results are combined as those of
 * other reductions are. */
#include "kernels/segments.h"

enum { TURNS = 4 }; /* of the elements that are worth a thread, so that few partial results are left */

static Segments cut_across(PlanBuild *pb, const Nest *nest)
{
    Ctx *cx = pb->cx;
    const Sx *one = sx_const(cx, 1);
    Segments sg = {.n_segs = nest_size(cx, nest, 0, nest->n - 1),
                   .width = sx_atom(cx, nest_width(nest)),
                   .threads = one};
    const Sx *fill = sx_mul(cx, sx_size(cx, SIZE_NUM_GROUPS), sx_size(cx, SIZE_GROUP_SIZE));
    const Sx *each = sx_op(cx, SX_DIV, fill, sx_op(cx, SX_MAX, sg.n_segs, one));
    const Sx *worth = sx_mul(cx, sx_size(cx, SIZE_ITEM_ELEMS), sx_const(cx, TURNS));
    segments_cut(pb, &sg, sx_mul(cx, each, sg.n_segs), sx_op(cx, SX_CEILDIV, sg.width, worth));
    return sg;
}

static Stage red_across(PlanBuild *pb, const Stm *s, const Segments *sg, const ArrLoc *outs)
{
    const Exp *e = s->exp;
    KGen *kg = kg_new(pb, "segred_across", e);
    KBuild *b = kg->kb;
    const Nest *nest = &e->seg.nest;
    Accs ac = accs_new(kg, e);
    const KExp *flat = nest_open(kg, sx_mul(pb->cx, sg->n_segs, sg->chunks));
    Chunk n = {.chunks = kg_host(kg, sg->chunks),
               .chunk = kg_host(kg, sg->chunk),
               .threads = kg_int(kg, 1),
               .width = kg_host(kg, sg->width),
               .p = kg_int(kg, 0)};
    n.c = kg_split(kg, flat, kg_host(kg, sg->n_segs), &n.seg);
    n.seg = kb_let(b, "seg", n.seg);
    n.unit = kg_add(kg, kg_mul(kg, n.seg, n.chunks), n.c);
    n.beg = kb_let(b, "beg", kg_mul(kg, n.c, n.chunk));
    n.len = kb_let(b, "len", kg_min(kg, n.chunk, kg_sub(kg, n.width, n.beg)));
    accs_declare(kg, &ac, &e->seg.nes);
    nest_bind(kg, nest, nest->n - 1, n.seg);
    seg_accumulate(kg, e, &ac, &n, seg_outs(kg, s, ac.n, outs), s);
    for (int j = 0; j < ac.n; j++)
        kb_store(b, kg_param_out(kg, "out", ac.types[j]), n.unit, kg_of(kg, ac.acc[j]));
    nest_close(kg);
    return (Stage){kg, kg_finish(kg)};
}

void segred_across(PlanBuild *pb, const Stm *s, const ArrLoc *outs)
{
    Segments sg = cut_across(pb, &s->exp->seg.nest);
    segred_stages(pb, s, outs, &sg, red_across(pb, s, &sg, outs));
}
