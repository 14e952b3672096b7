/* Segmented reductions and scans: chunks, threads and accumulators (see segments.h). */
#include "kernels/level1/segments.h"

/* --- Numbers ------------------------------------------------------------------------------- */

enum { NEIGHBOURS = 8 }; /* of 4 bytes are what the memory reads at a time */

/* What chunks are cut for: so many that all run at once. Of one more for each segment the last few
 * would run alone, as long as all the others. Where a team is a work-item that does not matter. */
static const KExp *even_share(Ctx *cx, const KExp *teams, const KExp *n_segs)
{
    const KExp *one = sx_const(cx, 1);
    if (kx_is_int(n_segs, 1))
        return teams;
    const KExp *each = sx_op(cx, SX_DIV, teams, sx_op(cx, SX_MAX, n_segs, one));
    return sx_select(cx, sx_teams(cx), sx_mul(cx, each, n_segs), teams);
}

/* Elements that are worth a work-item: of those that have loops, fewer, each as long as many. */
static const KExp *worth_an_item(Ctx *cx, const Exp *e)
{
    enum { LOOPS = 64 };
    const KExp *elems = sx_size(cx, SIZE_ITEM_ELEMS);
    if (seg_is_straight(e->seg.body))
        return elems;
    return sx_op(cx, SX_MAX, sx_op(cx, SX_DIV, elems, sx_const(cx, LOOPS)), sx_const(cx, 1));
}

/* Threads of a team enough for `least` elements each, or up to `most` where the segments are so
 * many that fewer threads fill the device; when there are few segments, chunks so that there are
 * teams enough, of elements that are worth their work-items. Where a team is one work-item, that is
 * one a chunk, and as many chunks as keep the device busy. */
Segments segments_plan(PlanBuild *pb, const Exp *e, int least, int most)
{
    Ctx *cx = pb->cx;
    const Nest *nest = &e->seg.nest;
    const KExp *one = sx_const(cx, 1), *team = sx_team_size(cx);
    const KExp *s = nest_size(cx, nest, 0, nest->n - 1), *w = sx_atom(cx, nest_width(nest));
    const KExp *in_group = sx_op(cx, SX_DIV, sx_size(cx, SIZE_GROUP_SIZE), team);
    const KExp *teams = sx_mul(cx, sx_size(cx, SIZE_NUM_GROUPS), in_group);
    const KExp *threads = sx_op(cx, SX_CEILDIV, w, sx_const(cx, least));
    const KExp *worth = sx_mul(cx, team, worth_an_item(cx, e));
    Segments sg = {.n_segs = s, .width = w};
    if (most > least) {
        const KExp *fill = sx_mul(cx, teams, team);
        const KExp *share = sx_op(cx, SX_CEILDIV, fill, sx_op(cx, SX_MAX, s, one));
        const KExp *few = sx_op(cx, SX_MAX, sx_const(cx, NEIGHBOURS),
                                sx_op(cx, SX_CEILDIV, w, sx_const(cx, most)));
        threads = sx_op(cx, SX_MIN, threads, sx_op(cx, SX_MAX, share, few));
    }
    sg.threads = pb_let(pb, "threads", sx_op(cx, SX_MAX, one, sx_op(cx, SX_MIN, team, threads)));
    segments_cut(pb, &sg, even_share(cx, teams, s), sx_op(cx, SX_CEILDIV, w, worth));
    return sg;
}

/* Long chunks begin where the memory reads neighbours at once, even those of a byte: warps that
 * read across such places, and write there, take twice as long. */
static const KExp *aligned(Ctx *cx, const KExp *chunk)
{
    enum { ALIGN = 128, LONG = 16 * ALIGN };
    const KExp *to = sx_const(cx, ALIGN), *less = sx_sub(cx, sx_const(cx, LONG), chunk);
    const KExp *is_short = sx_op(cx, SX_MAX, less, sx_const(cx, 0));
    return sx_select(cx, is_short, chunk, sx_mul(cx, sx_op(cx, SX_CEILDIV, chunk, to), to));
}

void segments_cut(PlanBuild *pb, Segments *sg, const KExp *workers, const KExp *most)
{
    Ctx *cx = pb->cx;
    const KExp *one = sx_const(cx, 1);
    const KExp *share = sx_op(cx, SX_CEILDIV, workers, sx_op(cx, SX_MAX, sg->n_segs, one));
    sg->chunks = sx_op(cx, SX_MAX, one, sx_op(cx, SX_MIN, share, most));
    sg->chunks = pb_let(pb, "chunks", sg->chunks);
    sg->chunk = sx_op(cx, SX_MAX, one, sx_op(cx, SX_CEILDIV, sg->width, sg->chunks));
    sg->chunk = pb_let(pb, "chunk", aligned(cx, pb_let(pb, "chunk", sg->chunk)));
}

Segments segments_of_partials(PlanBuild *pb, const Segments *first)
{
    Ctx *cx = pb->cx;
    Segments sg = {.n_segs = first->n_segs, .width = first->chunks, .chunk = first->chunks};
    sg.chunks = sx_const(cx, 1);
    sg.threads = pb_let(pb, "threads", sx_op(cx, SX_MIN, sx_team_size(cx), first->chunks));
    return sg;
}

/* --- The loop over chunks ------------------------------------------------------------------ */

/* One of two by the target: where work-items of a group work together, where each works by itself.
 */
static const KExp *by_target(KGen *kg, const KExp *teams, const KExp *single)
{
    return kx_select(kg->cx->perm, kg_id(kg, KID_TEAMS), teams, single);
}

/* The loop of a group in which this thread has the chunk `mine` of `per` at a time. */
static void open_turns(KGen *kg, Chunk *n, const KExp *from, const KExp *to, const KExp *step,
                       const KExp *per, const KExp *mine)
{
    KBuild *b = kg->kb;
    n->unit = kb_let(b, "unit", kg_add(kg, kb_for(b, "base", from, to, step), mine));
    const KExp *some = kg_and(kg, kg_lt(kg, mine, per), kg_lt(kg, n->unit, to));
    n->active = kb_let(b, "active", some);
}

/* Of how many chunks a group's threads take one each, and which is this thread's. */
static const KExp *number_threads(KGen *kg, Chunk *n, const KExp **mine)
{
    KBuild *b = kg->kb;
    const KExp *per = kb_let(b, "per_group", kg_quot(kg, kg_id(kg, KID_GROUP_SIZE), n->threads));
    *mine = kb_let(b, "mine", kg_quot(kg, kg->lid, n->threads));
    n->p = kb_let(b, "p", kg_sub(kg, kg->lid, kg_mul(kg, *mine, n->threads)));
    return per;
}

void segments_share(KGen *kg, Chunk *n, const KExp *group, const KExp *groups, const KExp *units)
{
    const KExp *mine, *per = number_threads(kg, n, &mine);
    open_turns(kg, n, kg_mul(kg, group, per), units, kg_mul(kg, groups, per), per, mine);
}

/* All chunks together. */
static const KExp *open_units(KGen *kg, const Segments *sg)
{
    const KExp *total = sx_mul(kg->cx, sg->n_segs, sg->chunks);
    const KExp *per_group = sx_op(kg->cx, SX_DIV, kg->group_size, sg->threads);
    kg->max_threads = nest_max_threads(kg, total, per_group);
    return nest_total(kg, total);
}

static Chunk chunk_numbers(KGen *kg, const Segments *sg)
{
    return (Chunk){.only = kx_is_int(sg->n_segs, 1),
                   .chunks = kg_host(kg, sg->chunks),
                   .chunk = kg_host(kg, sg->chunk),
                   .width = kg_host(kg, sg->width)};
}

/* Where work-items work for themselves each has neighbours: they lie side by side in memory, and so
 * do their results, which two cores had better not write in turn. */
Chunk segments_open(KGen *kg, const Segments *sg)
{
    Chunk n = chunk_numbers(kg, sg);
    const KExp *zero = kg_int(kg, 0), *one = kg_int(kg, 1);
    bool all = kx_same(sg->threads, sx_team_size(kg->cx)); /* the group's */
    n.threads = by_target(kg, all ? kg_id(kg, KID_GROUP_SIZE) : kg_host(kg, sg->threads), one);
    const KExp *units = open_units(kg, sg), *mine = zero, *per = one;
    n.p = kg->lid;
    if (!all)
        per = number_threads(kg, &n, &mine);
    n.p = by_target(kg, n.p, zero);
    const KExp *group = kg_id(kg, KID_GROUP), *groups = kg_id(kg, KID_GROUPS);
    const KExp *items = kg_global_size(kg);
    const KExp *share = kg_quot(kg, kg_add(kg, units, kg_sub(kg, items, one)), items);
    const KExp *from = kg_min(kg, units, kg_mul(kg, kg_global_id(kg), share));
    const KExp *to = kg_min(kg, units, kg_add(kg, from, share));
    open_turns(kg, &n, by_target(kg, kg_mul(kg, group, per), from), by_target(kg, units, to),
               by_target(kg, kg_mul(kg, groups, per), one), by_target(kg, per, one),
               by_target(kg, mine, zero));
    if (all)
        n.active = kx_bool(kg->cx->perm, true);
    return n;
}

Chunk segments_each(KGen *kg, const Segments *sg, const KExp *first, const KExp *step)
{
    Chunk n = chunk_numbers(kg, sg);
    n.unit = kb_for(kg->kb, "unit", first, open_units(kg, sg), step);
    segments_locate(kg, &n);
    return n;
}

const KExp *segments_number(KGen *kg, const Chunk *n)
{
    if (n->only)
        return kg_int(kg, 0);
    /* A division takes as long as a short segment, and most have one chunk. */
    const KExp *single = kg_and(kg, kg_id(kg, KID_VECTORS), kg_eq(kg, n->chunks, kg_int(kg, 1)));
    const KExp *seg = kx_select(kg->cx->perm, single, n->unit, kg_quot(kg, n->unit, n->chunks));
    return kb_let(kg->kb, "seg", seg);
}

void segments_locate(KGen *kg, Chunk *n)
{
    KBuild *b = kg->kb;
    n->seg = segments_number(kg, n);
    n->c = kb_let(b, "c", kg_sub(kg, n->unit, kg_mul(kg, n->seg, n->chunks)));
    /* Chunks are rounded up: the last ones may have nothing left. */
    n->beg = kb_let(b, "beg", kg_min(kg, kg_mul(kg, n->c, n->chunk), n->width));
    n->len = kb_let(b, "len", kg_min(kg, n->chunk, kg_sub(kg, n->width, n->beg)));
}

Chunk group_segments(KGen *kg, const Nest *nest)
{
    KBuild *b = kg->kb;
    const KExp *one = kg_int(kg, 1), *zero = kg_int(kg, 0), *width = kg_atom(kg, nest_width(nest));
    Chunk n = {.chunks = one, .c = zero, .beg = zero, .width = width, .chunk = width, .len = width};
    const KExp *segs = kb_let(b, "segs", kg_at(kg, nest_size_k(kg, nest, 0, nest->n - 1)));
    const KExp *most = kg_quot(kg, kg_id(kg, KID_GROUP_SIZE), kg_max(kg, one, segs));
    n.threads = kb_let(b, "threads", kg_max(kg, one, kg_min(kg, most, width)));
    segments_share(kg, &n, zero, one, segs);
    n.seg = n.unit;
    return n;
}

/* --- Results ------------------------------------------------------------------------------- */

KLoc *seg_outs(KGen *kg, const Stm *s, int from, const ArrLoc *outs)
{
    KLoc *l = NEWN(kg->cx->perm, KLoc, s->pat.n);
    for (int j = from; j < s->pat.n; j++)
        l[j] = kg_result(kg, &outs[j], s->pat.at[j]->type);
    return l;
}

/* Results in row-major order, as most are, need not know in which row they are. */
void seg_store_reduced(KGen *kg, const Stm *s, const ArrLoc *outs, const KExp *seg,
                       const KExp *const *x)
{
    const Exp *e = s->exp;
    int depth = e->seg.nest.n - 1;
    const KExp **ix = NEWN(kg->cx->perm, const KExp *, depth);
    nest_bind(kg, &e->seg.nest, depth, seg);
    nest_indices(kg, &e->seg.nest, depth, ix);
    for (int j = 0; j < e->seg.nes.n; j++) {
        Type t = s->pat.at[j]->type;
        KLoc l = kg_result(kg, &outs[j], t);
        if (depth > 1 && lmad_is_row_major(kg->cx, outs[j].at, t))
            kb_store(kg->kb, l.mem, kg_add(kg, kg_at(kg, l.at.offset), seg), x[j]);
        else
            loc_store(kg, &l, ix, depth, x[j]);
    }
}

void seg_store_maps(KGen *kg, const Exp *e, const KLoc *maps, const Stm *s)
{
    int depth = e->seg.nest.n;
    const KExp **ix = NEWN(kg->cx->perm, const KExp *, depth);
    nest_indices(kg, &e->seg.nest, depth, ix);
    for (int j = e->seg.nes.n; j < s->pat.n; j++) {
        KLoc row = loc_row_n(kg, &maps[j], s->pat.at[j]->type.rank, ix, depth);
        Atom r = e->seg.body->res.at[j];
        kg_store(kg, &row, atom_type(r), r);
    }
}

void seg_hint_maps(KGen *kg, const Exp *e, const KLoc *maps, const Stm *s)
{
    int depth = e->seg.nest.n;
    const KExp **ix = NEWN(kg->cx->perm, const KExp *, depth);
    nest_indices(kg, &e->seg.nest, depth, ix);
    for (int j = e->seg.nes.n; j < s->pat.n; j++) {
        place_hint(kg, e->seg.body, e->seg.body->res.at[j],
                   loc_row_n(kg, &maps[j], s->pat.at[j]->type.rank, ix, depth));
    }
}

/* --- Tiles in local memory ----------------------------------------------------------------- */

int seg_each(const Exp *e)
{
    int bytes = 0;
    for (int j = 0; j < e->seg.nes.n; j++)
        bytes += prim_type_bytes[e->seg.op->params.at[j]->type.elem];
    if (!seg_is_short(e->seg.body, true) || !seg_is_short(e->seg.op->body, true))
        return 1;
    return bytes <= 8 ? 8 : bytes <= 16 ? 4 : bytes <= 32 && e->kind == E_SEGSCAN ? 2 : 1;
}

/* The elements of a tile, with gaps (see seg_stage_at). */
static const KExp *stage_count(Ctx *cx, const KExp *group_size, int each)
{
    const KExp *n = sx_mul(cx, group_size, sx_const(cx, each));
    return sx_add(cx, n, sx_op(cx, SX_CEILDIV, n, sx_const(cx, STAGE_GAP)));
}

const KExp *seg_tile_fits(Ctx *cx, const Exp *e, int each)
{
    enum { ROUND = 16 };                     /* bytes to which a buffer is rounded up */
    int bufs = e->kind == E_SEGSCAN ? 2 : 1; /* accs_local */
    const KExp *group_size = sx_size(cx, SIZE_GROUP_SIZE);
    const KExp *bytes = sx_const(cx, (int64_t)(bufs + 1) * ROUND * e->seg.nes.n);
    for (int j = 0; j < e->seg.nes.n; j++) {
        int size = prim_type_bytes[e->seg.op->params.at[j]->type.elem];
        const KExp *own = sx_mul(cx, group_size, sx_const(cx, bufs));
        const KExp *count = sx_add(cx, own, stage_count(cx, group_size, each));
        bytes = sx_add(cx, bytes, sx_mul(cx, count, sx_const(cx, size)));
    }
    return sx_op(cx, SX_DIV, sx_size(cx, SIZE_LOCAL_MEMORY), bytes);
}

KBuf **seg_stage(KGen *kg, const Accs *ac, int each)
{
    KBuf **stage = NEWN(kg->cx->perm, KBuf *, ac->n);
    for (int j = 0; j < ac->n; j++)
        stage[j] =
            kg_param_local(kg, "stage", ac->types[j], stage_count(kg->cx, kg->group_size, each));
    return stage;
}

const KExp *seg_stage_at(KGen *kg, const KExp *number)
{
    const KExp *at = kb_let(kg->kb, "at", number);
    return kg_add(kg, at, kg_quot(kg, at, kg_int(kg, STAGE_GAP)));
}

/* --- Stages -------------------------------------------------------------------------------- */

void stage_launch(const Stage *st, const Segments *sg, Mem *const *outs)
{
    Ctx *cx = st->kg->cx;
    const KExp *per_group = sx_op(cx, SX_DIV, st->kg->group_size, sg->threads);
    const KExp *groups = nest_groups(st->kg, sx_mul(cx, sg->n_segs, sg->chunks), per_group);
    kg_launch_on(st->kg, st->k, outs, groups);
}

void stages_begin(Stages *st, int n, const KExp *const *bytes)
{
    const Segments *sg = st->sg;
    PlanBuild *pb = st->first.kg->pb;
    const KExp *all = sx_mul(pb->cx, sg->n_segs, sg->chunks);
    st->parts = NEWN(pb->cx->perm, Mem *, n);
    pb_if_more(pb, sg->chunks, 1);
    for (int j = 0; j < n; j++)
        st->parts[j] = pb_alloc(pb, "partial", sx_mul(pb->cx, all, bytes[j]));
    stage_launch(&st->first, sg, st->parts);
}

void stages_end(Stages *st, Mem *const *final)
{
    PlanBuild *pb = st->first.kg->pb;
    pb_else(pb);
    stage_launch(&st->first, st->sg, final);
    pb_end(pb);
}
