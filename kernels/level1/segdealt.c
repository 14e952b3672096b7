/* Reductions of long segments whose order matters, elements dealt out (see segments.h for chunks).
 *
 * Each thread of a group combines a run of its chunk, but a warp that reads a number of each of its
 * runs reads as many places far apart. So a group goes through all runs together, a piece of each
 * at a time: neighbouring threads make neighbouring elements of a piece, as many of it as the
 * memory reads at once, and in local memory each takes those of its own run.
 *
 *     run      0 0 0 0 0 0 0 0  1 1 1 1 1 1 1 1  2 2 2 2 2 2 2 2     (each: 4, three threads)
 *     turn     0 0 0 0 1 1 1 1  0 0 0 0 1 1 1 1  0 0 0 0 1 1 1 1
 *     made by  0 1 2 0 1 2 0 1  1 2 0 1 2 0 1 2  2 0 1 2 0 1 2 0
 *
 * Behind the last element neutral ones are combined, so that loads wait for no question. */
#include "kernels/level1/segments.h"

/* Neighbours of 4 bytes, or of 8, which the memory reads at once. */
enum { EACH = 8, EACH_WIDE = 4, MOST_BYTES = 32 };

int seg_dealt_each(const Exp *e)
{
    int bytes = 0;
    for (int j = 0; j < e->seg.nes.n; j++)
        bytes += prim_type_bytes[e->seg.op->params.at[j]->type.elem];
    bool plain = seg_is_short(e->seg.body, false) && seg_is_short(e->seg.op->body, true);
    if (op_is_comm(e) || !plain || exp_traps(e) || e->seg.body->res.n > e->seg.nes.n ||
        vec_last(&e->seg.nest).arrs.n == 0 || bytes > MOST_BYTES)
        return 0;
    return bytes <= MOST_BYTES / 2 ? EACH : EACH_WIDE;
}

static void meet(KGen *kg)
{
    kb_meet(kg->kb, 1u << KS_LOCAL);
}

static const KExp *open_piece(KGen *kg, int each)
{
    const KExp *i = kb_for(kg->kb, "i", kg_int(kg, 0), kg_int(kg, each), kg_int(kg, 1));
    kg_loop_unroll(kg, -1);
    return i;
}

/* The elements of the pieces that begin at `from` of each run of so many. */
static void make_elems(KGen *kg, const Exp *e, const Accs *ac, const Chunk *n, KBuf **stage,
                       const KExp *run, const KExp *from, int each)
{
    KBuild *b = kg->kb;
    Arena *a = kg->cx->perm;
    const KExp *some = kg_int(kg, each), *i = open_piece(kg, each);
    const KExp *number = kb_let(b, "number", kg_add(kg, kg_mul(kg, i, n->threads), n->p));
    const KExp *of = kb_let(b, "of", kg_quot(kg, number, some));
    const KExp *in = kg_add(kg, from, kg_sub(kg, number, kg_mul(kg, of, some)));
    const KExp *off = kb_let(b, "off", kg_add(kg, kg_mul(kg, of, run), in));
    const KExp *at = kg_min(kg, off, kg_sub(kg, n->len, kg_int(kg, 1)));
    nest_bind_dim(kg, &vec_last(&e->seg.nest), kg_add(kg, n->beg, at));
    kg_stms(kg, e->seg.body);
    const KExp **x = accs_atoms(kg, ac, e->seg.body->res.at);
    const KExp **ne = accs_atoms(kg, ac, e->seg.nes.at);
    const KExp *place = kb_let(b, "place", seg_stage_at(kg, number));
    for (int j = 0; j < ac->n; j++)
        kb_store(b, stage[j], place, kx_select(a, kg_lt(kg, off, n->len), x[j], ne[j]));
    kb_end(b);
}

static void combine_piece(KGen *kg, const Accs *ac, const Chunk *n, KBuf **stage, int each)
{
    const KExp *i = open_piece(kg, each);
    const KExp *number = kg_add(kg, kg_mul(kg, n->p, kg_int(kg, each)), i);
    const KExp *place = kb_let(kg->kb, "place", seg_stage_at(kg, number));
    Accs staged = *ac;
    staged.bufs = stage;
    accs_apply(kg, ac, accs_now(kg, ac), accs_load(kg, &staged, place));
    kb_end(kg->kb);
}

void seg_accumulate_dealt(KGen *kg, const Exp *e, const Accs *ac, const Chunk *n, KBuf **stage,
                          int each)
{
    KBuild *b = kg->kb;
    WorkMark m = kg_work_begin(kg);
    const KExp *one = kg_int(kg, 1), *some = kg_int(kg, each);
    const KExp *tile = kg_mul(kg, n->threads, some);
    const KExp *pieces = kg_quot(kg, kg_add(kg, n->len, kg_sub(kg, tile, one)), tile);
    const KExp *run = kb_let(b, "run", kg_mul(kg, pieces, some));
    const KExp *from = kb_for(b, "from", kg_int(kg, 0), run, some);
    make_elems(kg, e, ac, n, stage, run, from, each);
    meet(kg);
    combine_piece(kg, ac, n, stage, each);
    meet(kg);
    kb_end(b);
    kg_work_end(kg, m);
}
