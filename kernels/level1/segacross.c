/* segred^1 of segments that lie beside each other in memory, as columns do: a group has a block of
 * neighbouring segments, and of each several threads, neighbours in neighbouring segments, so that
 * what a warp reads is in one piece without a transposed copy. Threads of a segment combine in
 * local memory. If the blocks do not fill the device, they are cut into chunks, each of a group,
 * and the last group to have done one of a block combines what all found of its segments
 * (arrive.h).
 *
 * Where work-items work for themselves each has a strip of neighbouring segments, whose
 * accumulators are a private array: for each element of the chunk it goes along the strip, which is
 * how the elements lie, and what the target's compiler makes vectors of. */
#include "kernels/level1/arrive.h"

enum {
    TURNS = 4,   /* of the elements that are worth a thread, so that few partial results are left */
    BESIDE = 64, /* segments of a block, at most, where several threads of each are needed */
    ROUND = 8,   /* ... and a multiple of that if there are several blocks */
    WAITING = 2, /* of the groups that fill the device so many are one, whose loads are on their
                    way: few parts are left */
    STRIP = 256  /* segments of a work-item */
};

/* --- Numbers ------------------------------------------------------------------------------- */

/* Segments of a block where there are groups, `some` of them unless all segments fill the device:
 * then one thread to each suffices. */
static const KExp *beside_in_group(Ctx *cx, const KExp *n_segs, const KExp *fill, int some)
{
    const KExp *team = sx_team_size(cx), *round = sx_const(cx, ROUND);
    const KExp *most = sx_select(cx, sx_op(cx, SX_DIV, n_segs, fill), team, sx_const(cx, some));
    const KExp *blocks = sx_op(cx, SX_MAX, sx_op(cx, SX_CEILDIV, n_segs, most), sx_const(cx, 1));
    const KExp *even = sx_op(cx, SX_CEILDIV, sx_op(cx, SX_CEILDIV, n_segs, blocks), round);
    return sx_op(cx, SX_MIN, team, sx_op(cx, SX_MIN, n_segs, sx_mul(cx, even, round)));
}

Blocks blocks_of(PlanBuild *pb, const Stm *s, int most, int turns)
{
    Ctx *cx = pb->cx;
    const Nest *nest = &s->exp->seg.nest;
    int strip = has_strips(s) ? STRIP : 1;
    const KExp *one = sx_const(cx, 1), *team = sx_team_size(cx);
    const KExp *teams = sx_mul(cx, sx_size(cx, SIZE_NUM_GROUPS),
                               sx_op(cx, SX_DIV, sx_size(cx, SIZE_GROUP_SIZE), team));
    Blocks bl = {.n_segs = nest_size(cx, nest, 0, nest->n - 1)};
    const KExp *fill = sx_op(cx, SX_MAX, sx_mul(cx, teams, team), one);
    const KExp *in_group = beside_in_group(cx, bl.n_segs, fill, most);
    const KExp *beside = sx_select(cx, sx_teams(cx), in_group, sx_const(cx, strip));
    bl.beside = pb_let(pb, "beside", sx_op(cx, SX_MAX, beside, one));
    bl.threads = pb_let(pb, "threads", sx_op(cx, SX_MAX, sx_op(cx, SX_DIV, team, bl.beside), one));
    bl.cut = (Segments){.n_segs = sx_op(cx, SX_CEILDIV, bl.n_segs, bl.beside),
                        .width = sx_atom(cx, nest_width(nest)),
                        .threads = team};
    const KExp *workers =
        sx_op(cx, SX_DIV, teams, sx_select(cx, sx_teams(cx), sx_const(cx, WAITING), one));
    const KExp *each = sx_op(cx, SX_DIV, workers, sx_op(cx, SX_MAX, bl.cut.n_segs, one));
    const KExp *worth =
        sx_mul(cx, bl.threads, sx_mul(cx, sx_size(cx, SIZE_ITEM_ELEMS), sx_const(cx, turns)));
    segments_cut(pb, &bl.cut, sx_mul(cx, each, bl.cut.n_segs),
                 sx_op(cx, SX_CEILDIV, bl.cut.width, worth));
    return bl;
}

/* Which of its segments the thread has, of the chunk at hand. */
static void locate(KGen *kg, const Blocks *bl, Chunk *n, const KExp *block)
{
    KBuild *b = kg->kb;
    Arena *a = kg->cx->perm;
    const KExp *teams = kg_id(kg, KID_TEAMS), *zero = kg_int(kg, 0), *one = kg_int(kg, 1);
    n->beg = kb_let(b, "beg", kg_min(kg, kg_mul(kg, n->c, n->chunk), n->width));
    n->len = kb_let(b, "len", kg_min(kg, n->chunk, kg_sub(kg, n->width, n->beg)));
    n->apart = kg_host(kg, bl->beside);
    n->threads = kx_select(a, teams, kg_host(kg, bl->threads), one);
    n->p = kb_let(b, "p", kx_select(a, teams, kg_quot(kg, kg->lid, n->apart), zero));
    const KExp *mine = kx_select(a, teams, kg_sub(kg, kg->lid, kg_mul(kg, n->p, n->apart)), zero);
    n->seg = kb_let(b, "seg", kg_add(kg, kg_mul(kg, block, n->apart), mine));
    const KExp *there = kg_lt(kg, n->seg, kg_host(kg, bl->n_segs));
    n->active =
        kb_let(b, "there", kg_and(kg, n->active, kg_and(kg, kg_lt(kg, n->p, n->threads), there)));
}

Chunk blocks_open(KGen *kg, const Blocks *bl, Chunk *unit, const KExp **block)
{
    *unit = segments_open(kg, &bl->cut);
    unit->c = kb_let(kg->kb, "c", kg_split(kg, unit->unit, kg_host(kg, bl->cut.n_segs), block));
    *block = kb_let(kg->kb, "block", *block);
    unit->whole = true;
    Chunk n = *unit;
    locate(kg, bl, &n, *block);
    return n;
}

/* --- A block ------------------------------------------------------------------------------- */

typedef struct {
    KGen *kg;
    const Stm *s;
    const Exp *e;
    const Blocks *bl;
    const ArrLoc *outs;
    const KExp *several; /* chunks of a block? */
    Arrive arrive;
    Accs ac;
    Chunk n; /* of the thread's segment; of the first one of a strip */
} Across;

/* Partial results of neighbouring segments are neighbours. */
static Parts parts_of(const Across *t, const KExp *seg)
{
    return (Parts){&t->arrive, seg, kg_host(t->kg, t->bl->n_segs)};
}

/* A chunk's result: partial, or all there is. */
static void put(const Across *t, const KExp *seg, const KExp *const *x)
{
    KGen *kg = t->kg;
    kb_if(kg->kb, t->several);
    arrive_put(&t->arrive, kg_add(kg, seg, kg_mul(kg, t->n.c, kg_host(kg, t->bl->n_segs))), x);
    kb_else(kg->kb);
    seg_store_reduced(kg, t->s, t->outs, seg, x);
    kb_end(kg->kb);
}

/* acc := the thread's share of its segment. */
static void accumulate(const Across *t)
{
    KGen *kg = t->kg;
    nest_bind(kg, &t->e->seg.nest, t->e->seg.nest.n - 1, t->n.seg);
    seg_accumulate(kg, t->e, &t->ac, &t->n, seg_outs(kg, t->s, t->ac.n, t->outs), t->s);
}

static void reduce_block(const Across *t)
{
    KGen *kg = t->kg;
    const Chunk *n = &t->n;
    kb_if(kg->kb, n->active);
    accumulate(t);
    kb_end(kg->kb);
    accs_tree(kg, &t->ac, n);
    kb_if(kg->kb, kg_and(kg, n->active, kg_eq(kg, n->p, kg_int(kg, 0))));
    put(t, n->seg, accs_now(kg, &t->ac));
    kb_end(kg->kb);
}

/* --- A strip ------------------------------------------------------------------------------- */

bool has_strips(const Stm *s)
{
    const Exp *e = s->exp;
    return s->pat.n == e->seg.nes.n && seg_is_short(e->seg.body, true) &&
           seg_is_short(e->seg.op->body, true) && !exp_traps(e);
}

/* Segments of a strip that begins with `seg`. */
static const KExp *strip_count(KGen *kg, const Blocks *bl, const KExp *seg)
{
    const KExp *rest = kg_sub(kg, kg_host(kg, bl->n_segs), seg);
    return kb_let(kg->kb, "count", kg_min(kg, kg_host(kg, bl->beside), rest));
}

Strip strip_open(KGen *kg, const Exp *e, const Blocks *bl, const Accs *ac, const Chunk *n)
{
    Strip st = {.kg = kg, .e = e, .n = n, .ac = *ac, .bufs = NEWN(kg->cx->perm, KBuf *, ac->n)};
    st.count = strip_count(kg, bl, n->seg);
    for (int j = 0; j < ac->n; j++)
        st.bufs[j] = kb_array(kg->kb, "acc", ac->types[j], STRIP);
    return st;
}

const KExp *strip_each(const Strip *st)
{
    return kb_for(st->kg->kb, "i", kg_int(st->kg, 0), st->count, kg_int(st->kg, 1));
}

const KExp *strip_segment(const Strip *st, const KExp *i)
{
    return kb_let(st->kg->kb, "seg", kg_add(st->kg, st->n->seg, i));
}

const KExp **strip_get(const Strip *st, const KExp *i)
{
    const KExp **x = NEWN(st->kg->cx->perm, const KExp *, st->ac.n);
    for (int j = 0; j < st->ac.n; j++)
        x[j] = kb_load(st->kg->kb, "x", st->bufs[j], i);
    return x;
}

void strip_set(const Strip *st, const KExp *i, const KExp *const *x)
{
    for (int j = 0; j < st->ac.n; j++)
        kb_store(st->kg->kb, st->bufs[j], i, x[j]);
}

void strip_clear(const Strip *st)
{
    const KExp *i = strip_each(st);
    strip_set(st, i, accs_atoms(st->kg, &st->ac, st->e->seg.nes.at));
    kb_end(st->kg->kb);
}

void strip_add(const Strip *st, void (*done)(void *env, const Accs *sum), void *env)
{
    KGen *kg = st->kg;
    KBuild *b = kg->kb;
    const Nest *nest = &st->e->seg.nest;
    const Body *body = st->e->seg.body;
    const KExp *end = kg_add(kg, st->n->beg, st->n->len);
    const KExp *k = kb_for(b, "k", st->n->beg, end, kg_int(kg, 1));
    Accs sum = accs_like(kg, &st->ac);
    int mark = ranges_mark(kg->known);
    const KExp *i = strip_each(st);
    nest_bind(kg, nest, nest->n - 1, strip_segment(st, i));
    nest_bind_dim(kg, &vec_last(nest), k);
    kg_stms(kg, body);
    accs_declare(kg, &sum, &st->e->seg.nes);
    accs_apply(kg, &sum, strip_get(st, i), accs_atoms(kg, &sum, body->res.at));
    strip_set(st, i, accs_now(kg, &sum));
    if (done)
        done(env, &sum);
    kb_end(b);
    ranges_reset(kg->known, mark);
    kb_end(b);
}

static void reduce_strip(const Across *t)
{
    KGen *kg = t->kg;
    Strip st = strip_open(kg, t->e, t->bl, &t->ac, &t->n);
    strip_clear(&st);
    strip_add(&st, NULL, NULL);
    const KExp *i = strip_each(&st);
    put(t, strip_segment(&st, i), strip_get(&st, i));
    kb_end(kg->kb);
}

/* The only segment of a work-item. */
static void reduce_one(const Across *t)
{
    accumulate(t);
    put(t, t->n.seg, accs_now(t->kg, &t->ac));
}

/* --- The construct ------------------------------------------------------------------------- */

static void combine(void *env, const KExp *last, bool team)
{
    const Across *t = env;
    KGen *kg = t->kg;
    Chunk n = t->n;
    Parts parts = parts_of(t, n.seg);
    last = kg_and(kg, last, t->several);
    if (team) {
        seg_combine(kg, t->s, t->outs, &t->ac, &n, &parts, kb_let(kg->kb, "combines", last));
        return;
    }
    kb_if(kg->kb, last);
    const KExp *count = strip_count(kg, t->bl, n.seg);
    const KExp *i = kb_for(kg->kb, "i", kg_int(kg, 0), count, kg_int(kg, 1));
    n.seg = kb_let(kg->kb, "seg", kg_add(kg, n.seg, i));
    parts.first = n.seg;
    seg_combine_alone(kg, t->s, t->outs, &t->ac, &n, &parts);
    kb_end(kg->kb);
    kb_end(kg->kb);
}

/* All work-items of the group have put their parts. */
static void meet_others(Across *t, const Chunk *unit, const KExp *block)
{
    KGen *kg = t->kg;
    KBuild *b = kg->kb;
    const KExp *teams = kg_id(kg, KID_TEAMS), *zero = kg_int(kg, 0);
    const KExp *first = kg_eq(kg, kx_select(kg->cx->perm, teams, kg->lid, zero), zero);
    first = kb_let(b, "first", kg_and(kg, unit->active, first));
    kg_if_teams(kg);
    kb_meet(b, 1u << KS_LOCAL | 1u << KS_GLOBAL);
    kb_end(b);
    arrive(&t->arrive, first, block, unit->chunks, combine, t);
}

void segred_across(PlanBuild *pb, const Stm *s, const ArrLoc *outs)
{
    const Exp *e = s->exp;
    Blocks bl = blocks_of(pb, s, BESIDE, TURNS);
    const KExp *zero = sx_const(pb->cx, 0), *one = sx_const(pb->cx, 1), *chunks = bl.cut.chunks;
    const KExp *parts =
        sx_select(pb->cx, sx_sub(pb->cx, chunks, one), sx_mul(pb->cx, bl.n_segs, chunks), zero);
    ArriveMems mems = arrive_mems(pb, e->seg.op, e->seg.nes.n, bl.cut.n_segs, parts);
    KGen *kg = kg_new(pb, "segred_across", e);
    KBuild *b = kg->kb;
    kg->group_size = sx_team_size(pb->cx);
    Across t = {.kg = kg, .s = s, .e = e, .bl = &bl, .outs = outs, .ac = accs_new(kg, e)};
    accs_local(kg, &t.ac, false);
    t.arrive = arrive_open(kg, &mems, t.ac.n, t.ac.types);
    t.several = kg_lt(kg, kg_int(kg, 1), kg_host(kg, chunks));
    Chunk unit;
    const KExp *block;
    t.n = blocks_open(kg, &bl, &unit, &block);
    accs_declare(kg, &t.ac, &e->seg.nes);
    kg_if_teams(kg);
    reduce_block(&t);
    kb_else(b);
    kb_if(b, t.n.active);
    if (has_strips(s))
        reduce_strip(&t);
    else
        reduce_one(&t);
    kb_end(b);
    kb_end(b);
    meet_others(&t, &unit, block);
    seg_meet(kg); /* the buffers are used again */
    kb_end(b);
    Stage st = {kg, kg_finish(kg)};
    stage_launch(&st, &bl.cut, NULL);
}
