/* Reductions, one for each element of a nest, over arrays that do not vary with its innermost
 * dimension: all pairs of something (n-body), nearest neighbours and their likes.
 *
 *     segmap^1 .. <x in xs> { redomap op (f x) ys }
 *
 * A thread works on R elements at once, so that each y that it reads is used R times and R chains
 * of operations run side by side. All threads of a group read the same y at the same time, which
 * the memory gives to all of a warp at once: nothing is staged. What f knows of x lies in registers
 * (sumseach.c):
 *
 *     for k = 0, 4 ..:
 *         y[4] := ys[k .. k+3]
 *         acc[i] := op(acc[i], f(own[i], y[0])) ..
 *
 * A thread's elements are a group apart, so that neighbours read and store neighbours. Where the
 * elements do not fill the device so, their reductions are cut into pieces (sums.h).
 *
 * If the arrays vary with the innermost dimension, but not with one before it, a thread's elements
 * are neighbours in that one, and threads are beside each other in the others. */
#include "kernels/level1/sums.h"

enum {
    GROUP = 128,  /* threads of a group */
    TOGETHER = 4, /* k that become straight code */
    GROUPS = 64,  /* wanted for a compute unit, so that the last ones do not run alone for long */
    LEAST_GROUPS = 4,  /* ... and at least */
    WHOLE_GROUPS = 64, /* ... where reductions are not cut */
    PIECE = 64         /* elements of a piece, at least */
};

typedef struct {
    Each t;
    const Pieces *pieces; /* NULL: whole reductions */
    Share share;          /* the block and piece at work */
} Shared;

/* --- The kernel ------------------------------------------------------------------------------ */

/* The elements k .. k + TOGETHER - 1: their scalars, neighbours, are loaded first. */
static void accumulate_some(const Each *t, const KExp *k)
{
    KGen *kg = t->kg;
    const Sums *r = t->r;
    KBuf **some = NEWN(kg->cx->perm, KBuf *, r->params->n);
    for (int p = 0; p < r->params->n; p++) {
        Type type = r->params->at[p]->type;
        if (type.rank > 0)
            continue;
        some[p] = kb_array(kg->kb, "some", type.elem, TOGETHER);
        const KExp *u = kb_for(kg->kb, "u", kg_int(kg, 0), kg_int(kg, TOGETHER), kg_int(kg, 1));
        kg_loop_unroll(kg, -1); /* by us: neighbours are seen to be such */
        const KExp *at = kg_sx_of(kg, kg_add(kg, k, u));
        kb_store(kg->kb, some[p], u, loc_load(kg, "x", kg_arr(kg, r->arrs->at[p].var), &at, 1));
        kb_end(kg->kb);
    }
    const KExp *u = kb_for(kg->kb, "u", kg_int(kg, 0), kg_int(kg, TOGETHER), kg_int(kg, 1));
    kg_loop_unroll(kg, TOGETHER);
    each_bind(t, kg_add(kg, k, u), false);
    for (int p = 0; p < r->params->n; p++)
        if (some[p])
            kg_let(kg, r->params->at[p], kb_load(kg->kb, "x", some[p], u));
    each_accumulate(t);
    kb_end(kg->kb);
}

static void accumulate(const Shared *sh)
{
    const Each *t = &sh->t;
    KGen *kg = t->kg;
    KBuild *b = kg->kb;
    const KExp *from = sh->share.from, *one = kg_int(kg, 1), *some = kg_int(kg, TOGETHER);
    const KExp *len = kg_max(kg, kg_int(kg, 0), kg_sub(kg, sh->share.to, from));
    const KExp *turns = kb_let(b, "turns", kg_quot(kg, len, some));
    const KExp *turn = kb_for(b, "turn", kg_int(kg, 0), turns, one);
    accumulate_some(t, kg_add(kg, from, kg_mul(kg, turn, some)));
    kb_end(b);
    const KExp *k = kb_for(b, "k", kg_add(kg, from, kg_mul(kg, turns, some)), sh->share.to, one);
    each_bind(t, k, true);
    each_accumulate(t);
    kb_end(b);
}

static void store_elements(const Shared *sh, const KLoc *outs)
{
    const Each *t = &sh->t;
    KGen *kg = t->kg;
    const NestDim *d = sums_inner(t->r);
    int mark = ranges_mark(kg->known);
    const KExp *i = each_open(t), *at = kb_let(kg->kb, "at", each_element(t, i));
    kb_if(kg->kb, kg_lt(kg, at, kg_atom(kg, d->width)));
    nest_bind_dim(kg, d, at);
    if (sh->pieces)
        sums_store_parts(kg, t->r, sh->pieces, sh->share.piece, t->acc, i, 1);
    else
        sums_store(kg, t->r, outs, t->acc, i);
    kb_end(kg->kb);
    kb_end(kg->kb);
    ranges_reset(kg->known, mark);
}

/* The dimensions but the one in which a thread has several elements. */
static Nest other_dims(const Each *t)
{
    Nest others = {0};
    const Nest *nest = &t->r->e->seg.nest;
    for (int d = 0; d < t->r->depth; d++)
        if (&nest->at[d] != sums_inner(t->r))
            vec_push(t->kg->cx->perm, &others, nest->at[d]);
    return others;
}

static const KExp *others_size(const Each *t)
{
    const Nest others = other_dims(t);
    return nest_size(t->kg->cx, &others, 0, others.n);
}

/* Host: blocks beside each other; all. */
static const KExp *blocks_along(const Each *t)
{
    Ctx *cx = t->kg->cx;
    if (t->r->behind > 0)
        return sx_op(cx, SX_CEILDIV, others_size(t), sx_const(cx, GROUP));
    return sx_op(cx, SX_CEILDIV, sx_atom(cx, sums_inner(t->r)->width), sx_const(cx, GROUP * t->n));
}

static const KExp *blocks_in_all(const Each *t)
{
    Ctx *cx = t->kg->cx;
    const KExp *below = others_size(t);
    if (t->r->behind > 0)
        below = sx_op(cx, SX_CEILDIV, sx_atom(cx, sums_inner(t->r)->width), sx_const(cx, t->n));
    return sx_mul(cx, below, blocks_along(t));
}

/* Binds the dimensions but one, and finds the thread's elements in that; of one with dimensions
 * behind it, in a branch (kb_end) for those that there are. */
static void open_elements(Each *t, const KExp *lane, const KExp *block)
{
    KGen *kg = t->kg;
    KBuild *b = kg->kb;
    const Nest others = other_dims(t);
    const KExp *n = kg_host(kg, blocks_along(t));
    const KExp *q = kb_let(b, "q", kg_quot(kg, block, n));
    const KExp *in_row = kg_sub(kg, block, kg_mul(kg, q, n));
    if (t->r->behind == 0) {
        const KExp *first = kg_mul(kg, in_row, kg_int(kg, GROUP * t->n));
        t->first = kb_let(b, "first", kg_add(kg, first, lane));
        t->step = kg_int(kg, GROUP);
        nest_bind_range(kg, &others, 0, others.n, q);
        return;
    }
    const KExp *at = kb_let(b, "at", kg_add(kg, kg_mul(kg, in_row, kg_int(kg, GROUP)), lane));
    kb_if(b, kg_lt(kg, at, kg_host(kg, others_size(t))));
    t->first = kb_let(b, "first", kg_mul(kg, q, kg_int(kg, t->n)));
    t->step = kg_int(kg, 1);
    nest_bind_range(kg, &others, 0, others.n, at);
}

static Kernel *share_kernel(Shared *sh, const ArrLoc *outs)
{
    Each *t = &sh->t;
    KGen *kg = t->kg;
    KBuild *b = kg->kb;
    const Sums *r = t->r;
    kg->group_size = sx_const(kg->cx, GROUP);
    kg->at = r->e->loc;
    kg_if_teams(kg);
    const KExp *lane = kb_let(b, "lane", kg_rem(kg, kg->lid, kg_int(kg, GROUP)));
    sh->share = sums_open_share(kg, r, blocks_in_all(t), sh->pieces);
    open_elements(t, lane, sh->share.block);
    each_load(t);
    t->acc = sums_accs(kg, r, t->n);
    accumulate(sh);
    store_elements(sh, sh->pieces ? NULL : seg_outs(kg, r->stm, 0, outs));
    if (r->behind > 0)
        kb_end(b);
    kb_end(b);
    kb_end(b);
    return kg_finish(kg);
}

/* --- Launches -------------------------------------------------------------------------------- */

static const KExp *groups_of(Ctx *cx, int units)
{
    return sx_mul(cx, sx_size(cx, SIZE_TILE_GROUPS), sx_const(cx, units));
}

static void open_branch(PlanBuild *pb, const Each *t, Kernel *k, const KExp *can, const KExp *pays)
{
    Ctx *cx = pb->cx;
    const KExp *team = sx_op(cx, SX_DIV, sx_size(cx, SIZE_TEAM_LIMIT), sx_const(cx, GROUP));
    pb_choose(pb, "segshare", sx_op(cx, SX_MIN, can, team), pays,
              "work-items with several elements each keep the device busy");
    pb_if_fits(pb, (Fit){k, t->kg->group_size, sx_const(cx, 0)});
}

static void whole_branch(Shared sh, const ArrLoc *outs)
{
    Each *t = &sh.t;
    PlanBuild *pb = t->kg->pb;
    Kernel *k = share_kernel(&sh, outs);
    const KExp *blocks = blocks_in_all(t);
    open_branch(pb, t, k, sx_const(pb->cx, 1),
                cost_percent(pb->cx, blocks, groups_of(pb->cx, WHOLE_GROUPS)));
    kg_launch(t->kg, k, nest_groups(t->kg, blocks, sx_const(pb->cx, 1)));
    pb_else(pb);
}

static void cut_branch(Shared sh, const ArrLoc *outs)
{
    Each *t = &sh.t;
    PlanBuild *pb = t->kg->pb;
    Ctx *cx = pb->cx;
    const KExp *blocks = blocks_in_all(t), *one = sx_const(cx, 1);
    const KExp *share = sx_op(cx, SX_DIV, groups_of(cx, GROUPS), sx_op(cx, SX_MAX, blocks, one));
    const KExp *most = sx_op(cx, SX_DIV, sx_atom(cx, t->r->width), sx_const(cx, PIECE));
    const KExp *want = pb_let(pb, "want", sx_op(cx, SX_MIN, share, most));
    Pieces p = sums_cut(pb, t->r, want, TOGETHER);
    sh.pieces = &p;
    Kernel *k = share_kernel(&sh, outs);
    const KExp *fill = cost_percent(cx, sx_mul(cx, blocks, want), groups_of(cx, LEAST_GROUPS));
    open_branch(pb, t, k, sx_sub(cx, want, one), fill);
    sums_alloc(pb, t->r, &p);
    kg_launch(t->kg, k, nest_groups(t->kg, sx_mul(cx, blocks, p.pieces), one));
    sums_combine(pb, t->r, &p, outs);
    pb_else(pb);
}

/* Do other dimensions take their rows from this one's? */
static bool gives_rows(const Nest *nest, const NestDim *dim)
{
    for (int d = 0; d < nest->n; d++)
        for (int j = 0; j < nest->at[d].arrs.n; j++)
            if (vars_find(&dim->xs, nest->at[d].arrs.at[j].var) >= 0)
                return true;
    return false;
}

/* What depends on the dimension in which a thread has several elements. */
static VarSet *inside_of(Ctx *cx, const Sums *r)
{
    VarSet *inside = varmap_new(cx->perm);
    sums_inside(r, r->depth, inside);
    varset_add(inside, sums_inner(r)->idx);
    sums_add_vars(inside, &sums_inner(r)->xs);
    return inside;
}

static int share_branches(PlanBuild *pb, Sums *r, const ArrLoc *outs)
{
    Shared sh = {.t.r = r};
    sh.t.n = each_find(pb->cx, r, inside_of(pb->cx, r), &sh.t.mine);
    while (!sh.t.n && r->red && r->behind < r->depth - 1) {
        r->behind++;
        sh.t.mine.n = 0;
        if (!gives_rows(&r->e->seg.nest, sums_inner(r)))
            sh.t.n = each_find(pb->cx, r, inside_of(pb->cx, r), &sh.t.mine);
    }
    if (!sh.t.n)
        return 0;
    sh.t.kg = kg_new(pb, "segshare", r->e);
    whole_branch(sh, outs);
    if (r->behind > 0 || r->branches || !sums_can_cut(pb->cx, r))
        return 1;
    sh.t.kg = kg_new(pb, "segshare", r->e);
    cut_branch(sh, outs);
    return 2;
}

/* --- All shapes ------------------------------------------------------------------------------ */

int sums_branches(PlanBuild *pb, const Stm *s, const ArrLoc *outs)
{
    Sums r;
    int n = 0;
    if (sums_of(pb->cx, s, &r)) {
        if (r.branches)
            return share_branches(pb, &r, outs) + lanes_branches(pb, s, outs);
        int blocks = segblock_branch(pb, &r, outs), products = segmatrix_branches(pb, &r, outs);
        int tiles = segtile_branches(pb, &r, outs);
        if (tiles > 0)
            return blocks + products + tiles;
        n = blocks + products + share_branches(pb, &r, outs);
    }
    return n + lanes_branches(pb, s, outs);
}
