/* segred^1: segmented reduction (see segments.h for the regimes).
 *
 * Each thread accumulates its share of a chunk, the threads of a chunk combine in local memory in
 * the order of their numbers. If segments have several chunks, the group that is the last to have
 * done one of a segment does the same over the partial results (arrive.h). A commutative operator
 * lets neighbouring threads take neighbouring elements; otherwise (and on a CPU) each thread has
 * consecutive elements. Operators on arrays are applied by one thread a segment. */
#include "kernels/level1/arrive.h"

enum { LEAST_ELEMS = 4, MOST_ELEMS = 16 }; /* a thread; of costly ones from 1 on */

/* Thread 0 of each chunk has what its threads found together. */
static void open_found(KGen *kg, const Chunk *n)
{
    kb_if(kg->kb, kg_and(kg, n->active, kg_eq(kg, n->p, kg_int(kg, 0))));
}

/* The end of a kernel, the chunks' results where they are put. */
static Stage finish_stage(KGen *kg)
{
    seg_meet(kg); /* the buffers are used again */
    kb_end(kg->kb);
    return (Stage){kg, kg_finish(kg)};
}

/* acc := the chunk's elements, combined; dealt: so many of a thread's are dealt out at a time, 0:
 * none are. */
static void reduce_chunk(KGen *kg, const Exp *e, const Accs *ac, Chunk *n, const ArrLoc *outs,
                         const Stm *s, int dealt)
{
    kb_if(kg->kb, n->active);
    segments_locate(kg, n);
    nest_bind(kg, &e->seg.nest, e->seg.nest.n - 1, n->seg);
    if (dealt)
        seg_accumulate_dealt(kg, e, ac, n, seg_stage(kg, ac, dealt), dealt);
    else
        seg_accumulate(kg, e, ac, n, outs ? seg_outs(kg, s, ac->n, outs) : NULL, s);
    kb_end(kg->kb);
    accs_tree(kg, ac, n);
}

/* acc := the chunks' elements, reduced chunk by chunk; outs: of the mapped-out results, NULL: they
 * are not written. */
static Chunk red_chunks(KGen *kg, const Stm *s, const Exp *e, Accs *ac, const Segments *sg,
                        const ArrLoc *outs, int dealt)
{
    *ac = accs_new(kg, e);
    accs_local(kg, ac, false);
    Chunk n = segments_open(kg, sg);
    n.whole = kx_is_int(sg->chunks, 1);
    accs_declare(kg, ac, &e->seg.nes);
    reduce_chunk(kg, e, ac, &n, outs, s, dealt);
    return n;
}

Stage red_elements(PlanBuild *pb, const Exp *e, const Segments *sg)
{
    KGen *kg = kg_new(pb, "segred", e);
    Accs ac;
    Chunk n = red_chunks(kg, NULL, e, &ac, sg, NULL, 0);
    KBuf **to = NEWN(pb->cx->perm, KBuf *, ac.n);
    for (int j = 0; j < ac.n; j++)
        to[j] = kg_param_out(kg, "out", ac.types[j]);
    open_found(kg, &n);
    for (int j = 0; j < ac.n; j++)
        kb_store(kg->kb, to[j], n.unit, kg_of(kg, ac.acc[j]));
    kb_end(kg->kb);
    return finish_stage(kg);
}

/* Whole segments. */
static Stage red_segments(PlanBuild *pb, const Stm *s, const Segments *sg, const ArrLoc *outs,
                          int dealt)
{
    KGen *kg = kg_new(pb, dealt ? "segred_dealt" : "segred", s->exp);
    Accs ac;
    Chunk n = red_chunks(kg, s, s->exp, &ac, sg, outs, dealt);
    open_found(kg, &n);
    seg_store_reduced(kg, s, outs, n.unit, accs_now(kg, &ac));
    kb_end(kg->kb);
    return finish_stage(kg);
}

/* --- Several chunks a segment, in one launch --- */

/* acc := the thread's share of the partial results. */
static void combine_share(KGen *kg, const Exp *e, const Accs *ac, const Chunk *all,
                          const Parts *parts)
{
    accs_set(kg, ac, accs_atoms(kg, ac, e->seg.nes.at));
    const KExp *off = seg_open_share(kg, all, e);
    const KExp *at = kg_add(kg, parts->first, kg_mul(kg, off, parts->step));
    accs_apply(kg, ac, accs_now(kg, ac), arrive_get(parts->arrive, at));
    kb_end(kg->kb);
    kb_end(kg->kb);
}

void seg_combine(KGen *kg, const Stm *s, const ArrLoc *outs, const Accs *ac, const Chunk *n,
                 const Parts *parts, const KExp *last)
{
    Chunk all = *n;
    all.len = n->chunks;
    kb_if(kg->kb, kg_and(kg, last, all.active));
    combine_share(kg, s->exp, ac, &all, parts);
    kb_end(kg->kb);
    all.threads = kx_select(kg->cx->perm, last, all.threads, kg_int(kg, 0));
    accs_tree(kg, ac, &all);
    all.active = kg_and(kg, all.active, last);
    open_found(kg, &all);
    seg_store_reduced(kg, s, outs, n->seg, accs_now(kg, ac));
    kb_end(kg->kb);
}

void seg_combine_alone(KGen *kg, const Stm *s, const ArrLoc *outs, const Accs *ac, const Chunk *n,
                       const Parts *parts)
{
    Chunk all = *n;
    all.len = n->chunks;
    combine_share(kg, s->exp, ac, &all, parts);
    seg_store_reduced(kg, s, outs, n->seg, accs_now(kg, ac));
}

typedef struct {
    KGen *kg;
    const Stm *s;
    const ArrLoc *outs;
    Accs ac;
    Chunk n;
    Arrive arrive;
} Arriving;

/* By the last one of a segment's chunks, each of which has a whole group (or a work-item that works
 * by itself): its result, of the partial ones in their order. */
static void combine_chunks(void *env, const KExp *last, bool team)
{
    Arriving *w = env;
    (void)team;
    KGen *kg = w->kg;
    Parts parts = {&w->arrive, kg_mul(kg, w->n.seg, w->n.chunks), kg_int(kg, 1)};
    seg_combine(kg, w->s, w->outs, &w->ac, &w->n, &parts, last);
}

static Stage red_arriving(PlanBuild *pb, const Stm *s, const Segments *sg, const ArrLoc *outs,
                          const ArriveMems *mems, int dealt)
{
    KGen *kg = kg_new(pb, dealt ? "segred_dealt" : "segred_arriving", s->exp);
    KBuild *b = kg->kb;
    Arriving w = {.kg = kg, .s = s, .outs = outs, .ac = accs_new(kg, s->exp)};
    accs_local(kg, &w.ac, false);
    w.n = segments_open(kg, sg);
    w.n.seg = segments_number(kg, &w.n);
    accs_declare(kg, &w.ac, &s->exp->seg.nes);
    w.arrive = arrive_open(kg, mems, w.ac.n, w.ac.types);
    const KExp *seg = w.n.seg;
    reduce_chunk(kg, s->exp, &w.ac, &w.n, outs, s, dealt);
    w.n.seg = seg;
    const KExp *teams = kg_id(kg, KID_TEAMS), *zero = kg_int(kg, 0);
    const KExp *first = kg_eq(kg, kx_select(pb->cx->perm, teams, kg->lid, zero), zero);
    first = kb_let(b, "first", kg_and(kg, w.n.active, first));
    kb_if(b, first);
    arrive_put(&w.arrive, w.n.unit, accs_now(kg, &w.ac));
    kb_end(b);
    arrive(&w.arrive, first, w.n.seg, w.n.chunks, combine_chunks, &w);
    return finish_stage(kg);
}

/* --- Operators on arrays ------------------------------------------------------------------- */

void seg_sequential(PlanBuild *pb, const Stm *s, const ArrLoc *outs, bool scan)
{
    const Exp *e = s->exp;
    const Nest *nest = &e->seg.nest;
    KGen *kg = kg_new(pb, scan ? "segscan_seq" : "segred_seq", e);
    const KExp *n_segs = nest_open_dims(kg, nest, nest->n - 1);
    WorkMark m = kg_work_begin(kg);
    seg_fold(kg, e, s, seg_outs(kg, s, 0, outs), scan);
    kg_work_end(kg, m);
    nest_close_dims(kg);
    nest_finish(kg, n_segs);
}

/* --- The construct ------------------------------------------------------------------------- */

/* Straight from memory, neighbours by neighbouring threads, more elements cost a thread little
 * beside what it costs itself. */
static int most_elems(PlanBuild *pb, const Exp *e)
{
    bool reads = e->seg.nest.n > 1 && mem_reads_along(pb->cx, e, pb->locs);
    return reads && op_is_comm(e) && seg_is_brief(e) ? MOST_ELEMS : LEAST_ELEMS;
}

/* Opens the branch where elements can be dealt out, so many a thread at a time, in chunks of `len`:
 * of a tile at least. */
static void choose_dealt(PlanBuild *pb, const Exp *e, const KExp *len, int each)
{
    Ctx *cx = pb->cx;
    const KExp *team = sx_team_size(cx);
    const KExp *tiles = sx_op(cx, SX_DIV, len, sx_mul(cx, team, sx_const(cx, each)));
    const KExp *can = sx_op(cx, SX_MIN, sx_teams(cx), seg_tile_fits(cx, e, each));
    pb_choose(pb, "segred_dealt", sx_op(cx, SX_MIN, can, tiles), cost_always(cx),
              "always: neighbours in memory are read together");
}

/* Chunks of segments, the last of which combines them. Dealt out chunks begin where the memory
 * reads neighbours at once. */
static void launch_arriving(PlanBuild *pb, const Stm *s, const Segments *sg, const ArrLoc *outs)
{
    Ctx *cx = pb->cx;
    int each = seg_dealt_each(s->exp);
    ArriveMems mems = arrive_mems(pb, s->exp->seg.op, s->exp->seg.nes.n, sg->n_segs,
                                  sx_mul(cx, sg->n_segs, sg->chunks));
    if (each) {
        const KExp *n = sx_const(cx, each);
        choose_dealt(pb, s->exp, sg->chunk, each);
        Segments even = *sg;
        even.chunk = pb_let(pb, "chunk", sx_mul(cx, sx_op(cx, SX_CEILDIV, sg->chunk, n), n));
        Stage st = red_arriving(pb, s, &even, outs, &mems, each);
        stage_launch(&st, &even, NULL);
        pb_else(pb);
    }
    Stage st = red_arriving(pb, s, sg, outs, &mems, 0);
    stage_launch(&st, sg, NULL);
    if (each)
        pb_end(pb);
}

static void launch_rows(PlanBuild *pb, const Stm *s, const Segments *sg, const ArrLoc *outs,
                        int dealt)
{
    Stage rows = red_segments(pb, s, sg, outs, dealt);
    const KExp *per_group = sx_op(pb->cx, SX_DIV, rows.kg->group_size, sg->threads);
    kg_launch(rows.kg, rows.k, nest_groups_turning(rows.kg, sg->n_segs, per_group));
}

/* Whole segments; those dealt out are a group's each. */
static void launch_segments(PlanBuild *pb, const Stm *s, const Segments *sg, const ArrLoc *outs)
{
    int each = seg_dealt_each(s->exp);
    if (each) {
        Segments by_group = *sg;
        by_group.threads = sx_team_size(pb->cx);
        choose_dealt(pb, s->exp, sg->width, each);
        launch_rows(pb, s, &by_group, outs, each);
        pb_else(pb);
    }
    launch_rows(pb, s, sg, outs, 0);
    if (each)
        pb_end(pb);
}

void segred_chunks(PlanBuild *pb, const Stm *s, const ArrLoc *outs)
{
    Ctx *cx = pb->cx;
    const Exp *e = s->exp;
    int least = seg_is_straight(e->seg.body) ? LEAST_ELEMS : 1;
    Segments sg = segments_plan(pb, e, least, most_elems(pb, e)), each = sg;
    pb_if_more(pb, sg.chunks, 1);
    sg.threads = sx_team_size(cx);
    launch_arriving(pb, s, &sg, outs);
    pb_else(pb);
    each.chunks = sx_const(cx, 1);
    each.chunk = each.width;
    launch_segments(pb, s, &each, outs);
    pb_end(pb);
}
