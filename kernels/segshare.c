/* Reductions, one for each element of a nest, over arrays that do not vary with its innermost
 * dimension: all pairs of something (n-body), nearest neighbours and their likes.
 *
 *     segmap^1 .. <x in xs> { redomap op (f x) ys }
 *
 * A thread works on R elements at once, so that each y that it reads is used R times and R chains of
 * operations run side by side. All threads of a group read the same y at the same time, which the
 * memory gives to all of a warp at once: nothing is staged. What f knows of x lies in registers:
 *
 *     acc[R] := neutral elements;  own[R] := what f knows of the thread's elements
 *     for k = 0, 4 ..:
 *         y[4] := ys[k .. k+3]
 *         acc[i] := op(acc[i], f(own[i], y[0])) ..
 *
 * A thread's elements are a group apart, so that neighbours read and store neighbours. Where the
 * elements do not fill the device so, their reductions are cut into pieces (sums.h). */
#include "kernels/sums.h"

enum {
    GROUP = 128,      /* threads of a group */
    MOST_EACH = 8,     /* R, at most */
    LEAST_EACH = 4,
    TOGETHER = 4,      /* k that become straight code */
    OWN_BYTES = 256,   /* of a thread's accumulators and its elements, at most */
    GROUPS = 64,       /* wanted for a compute unit, so that the last ones do not run alone for long */
    LEAST_GROUPS = 4,  /* ... and at least */
    WHOLE_GROUPS = 64, /* ... where reductions are not cut */
    PIECE = 64         /* elements of a piece, at least */
};

typedef struct {
    KGen *kg;
    const Sums *r;
    const Pieces *pieces; /* NULL: whole reductions */
    Share share;          /* the block and piece at work */
    int each;             /* R */
    Vars mine;            /* what f knows of an element */
    KBuf **own;           /* the values of those for the thread's elements */
    KBuf **acc;
    const KExp *first; /* the thread's first element */
} Shared;

static const NestDim *inner_dim(const Sums *r)
{
    return &r->e->seg.nest.at[r->depth - 1];
}

/* --- Which nests ----------------------------------------------------------------------------- */

static bool has_atom(const VarSet *set, Atom a)
{
    return a.var && varset_has(set, a.var);
}

/* Are the arrays, their number of elements and what reductions begin with the same for all? */
static bool shares_arrays(const Sums *r, const VarSet *inside)
{
    for (int p = 0; p < r->arrs->n; p++)
        if (varset_has(inside, r->arrs->at[p].var))
            return false;
    for (int j = 0; j < r->nes->n; j++)
        if (has_atom(inside, r->nes->at[j]))
            return false;
    return r->arrs->n > 0 && !has_atom(inside, r->width);
}

/* Finds what f and op know of an element; returns R, 0 if these are not just some scalars. */
static int find_mine(Ctx *cx, const Sums *r, Vars *mine)
{
    VarSet *inside = varmap_new(cx->perm), *used = varmap_new(cx->perm);
    sums_inside(r, r->depth - 1, inside);
    if (!shares_arrays(r, inside))
        return 0;
    free_in_body(used, r->f);
    free_in_lambda(used, r->op);
    Vars vs = varset_list(cx->perm, used);
    int bytes = sums_bytes(r);
    for (int i = 0; i < vs.n; i++) {
        Var *v = vs.at[i];
        if (!varset_has(inside, v))
            continue;
        if (v->type.rank > 0)
            return 0;
        bytes += prim_type_bytes[v->type.elem];
        vec_push(cx->perm, mine, v);
    }
    int each = bytes * MOST_EACH <= OWN_BYTES ? MOST_EACH : LEAST_EACH;
    return mine->n > 0 && bytes * each <= OWN_BYTES ? each : 0;
}

/* --- The kernel ------------------------------------------------------------------------------ */

/* A loop over the thread's elements, straight code in the end. */
static const KExp *open_each(const Shared *t)
{
    KGen *kg = t->kg;
    const KExp *i = kb_for(kg->kb, "i", kg_int(kg, 0), kg_int(kg, t->each), kg_int(kg, 1));
    kg_loop_unroll(kg, t->each);
    return i;
}

static const KExp *element(const Shared *t, const KExp *i)
{
    return kg_add(t->kg, t->first, kg_mul(t->kg, i, kg_int(t->kg, GROUP)));
}

/* own := what f knows of the thread's elements; of the last one where there are no more. */
static void load_own(Shared *t)
{
    KGen *kg = t->kg;
    const NestDim *d = inner_dim(t->r);
    t->own = NEWN(kg->cx->perm, KBuf *, t->mine.n);
    for (int v = 0; v < t->mine.n; v++)
        t->own[v] = kb_array(kg->kb, "own", t->mine.at[v]->type.elem, t->each);
    int mark = ranges_mark(kg->known);
    const KExp *i = open_each(t), *last = kg_sub(kg, kg_atom(kg, d->width), kg_int(kg, 1));
    nest_bind_dim(kg, d, kg_min(kg, element(t, i), last));
    sums_before(kg, t->r);
    for (int v = 0; v < t->mine.n; v++)
        kb_store(kg->kb, t->own[v], i, kg_atom(kg, atom_var(t->mine.at[v])));
    kb_end(kg->kb);
    ranges_reset(kg->known, mark);
}

/* acc := op(acc, f(own, what is bound of an element of the arrays)) */
static void accumulate_each(Shared *t)
{
    KGen *kg = t->kg;
    const Sums *r = t->r;
    const KExp *i = open_each(t), **x = NEWN(kg->cx->perm, const KExp *, r->nes->n);
    for (int v = 0; v < t->mine.n; v++)
        kg_let(kg, t->mine.at[v], kb_load(kg->kb, "own", t->own[v], i));
    for (int s = 0; s < r->f->stms.n; s++)
        kg_stm(kg, &r->f->stms.at[s]);
    for (int j = 0; j < r->nes->n; j++)
        x[j] = kg_atom(kg, r->f->res.at[j]);
    sums_apply(kg, r, t->acc, i, x);
    kb_end(kg->kb);
}

/* Declares the number k of an element, and rows of arrays there; scalars are loaded if asked for. */
static void bind_element(Shared *t, const KExp *k, bool scalars)
{
    KGen *kg = t->kg;
    const Sums *r = t->r;
    kg_let(kg, r->k, k);
    for (int p = 0; p < r->params->n; p++)
        if (scalars || r->params->at[p]->type.rank > 0)
            kg_bind_row(kg, r->params->at[p], r->arrs->at[p], sx_var(kg->cx, r->k));
}

/* The elements k .. k + TOGETHER - 1: their scalars, neighbours, are loaded first. */
static void accumulate_some(Shared *t, const KExp *k)
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
        const Sx *at = kg_sx_of(kg, kg_add(kg, k, u));
        kb_store(kg->kb, some[p], u,
                 loc_load(kg, "x", kg_arr(kg, r->arrs->at[p].var), &at, 1));
        kb_end(kg->kb);
    }
    const KExp *u = kb_for(kg->kb, "u", kg_int(kg, 0), kg_int(kg, TOGETHER), kg_int(kg, 1));
    kg_loop_unroll(kg, TOGETHER);
    bind_element(t, kg_add(kg, k, u), false);
    for (int p = 0; p < r->params->n; p++)
        if (some[p])
            kg_let(kg, r->params->at[p], kb_load(kg->kb, "x", some[p], u));
    accumulate_each(t);
    kb_end(kg->kb);
}

static void accumulate(Shared *t)
{
    KGen *kg = t->kg;
    KBuild *b = kg->kb;
    const KExp *from = t->share.from, *one = kg_int(kg, 1), *some = kg_int(kg, TOGETHER);
    const KExp *len = kg_max(kg, kg_int(kg, 0), kg_sub(kg, t->share.to, from));
    const KExp *turns = kb_let(b, "turns", kg_quot(kg, len, some));
    const KExp *turn = kb_for(b, "turn", kg_int(kg, 0), turns, one);
    accumulate_some(t, kg_add(kg, from, kg_mul(kg, turn, some)));
    kb_end(b);
    const KExp *k = kb_for(b, "k", kg_add(kg, from, kg_mul(kg, turns, some)), t->share.to, one);
    bind_element(t, k, true);
    accumulate_each(t);
    kb_end(b);
}

static void store_elements(Shared *t, const KLoc *outs)
{
    KGen *kg = t->kg;
    const NestDim *d = inner_dim(t->r);
    int mark = ranges_mark(kg->known);
    const KExp *i = open_each(t), *at = kb_let(kg->kb, "at", element(t, i));
    kb_if(kg->kb, kg_lt(kg, at, kg_atom(kg, d->width)));
    nest_bind_dim(kg, d, at);
    if (t->pieces)
        sums_store_part(kg, t->r, t->pieces, t->share.piece, t->acc, i);
    else
        sums_store(kg, t->r, outs, t->acc, i);
    kb_end(kg->kb);
    kb_end(kg->kb);
    ranges_reset(kg->known, mark);
}

/* Host: blocks of the innermost dimension; all. */
static const Sx *blocks_along(const Shared *t)
{
    Ctx *cx = t->kg->cx;
    return sx_op(cx, SX_CEILDIV, sx_atom(cx, inner_dim(t->r)->width),
                 sx_const(cx, GROUP * t->each));
}

static const Sx *blocks_in_all(const Shared *t)
{
    Ctx *cx = t->kg->cx;
    return sx_mul(cx, nest_size(cx, &t->r->e->seg.nest, 0, t->r->depth - 1), blocks_along(t));
}

static Kernel *share_kernel(Shared *t, const ArrLoc *outs)
{
    KGen *kg = t->kg;
    KBuild *b = kg->kb;
    const Sums *r = t->r;
    kg->group_size = sx_const(kg->cx, GROUP);
    kg->at = r->e->loc;
    kg_if_teams(kg);
    const KExp *lane = kb_let(b, "lane", kg_rem(kg, kg->lid, kg_int(kg, GROUP)));
    t->share = sums_open_share(kg, r, blocks_in_all(t), t->pieces);
    const KExp *n = kg_host(kg, blocks_along(t));
    const KExp *q = kb_let(b, "q", kg_quot(kg, t->share.block, n));
    const KExp *in_row = kg_sub(kg, t->share.block, kg_mul(kg, q, n));
    t->first = kb_let(b, "first",
                      kg_add(kg, kg_mul(kg, in_row, kg_int(kg, GROUP * t->each)), lane));
    nest_bind_range(kg, &r->e->seg.nest, 0, r->depth - 1, q);
    load_own(t);
    t->acc = sums_accs(kg, r, t->each);
    accumulate(t);
    store_elements(t, t->pieces ? NULL : seg_outs(kg, r->stm, 0, outs));
    kb_end(b);
    kb_end(b);
    return kg_finish(kg);
}

/* --- Launches -------------------------------------------------------------------------------- */

static const Sx *groups_of(Ctx *cx, int units)
{
    return sx_mul(cx, sx_size(cx, SIZE_TILE_GROUPS), sx_const(cx, units));
}

static void open_branch(PlanBuild *pb, const Shared *t, Kernel *k, const Sx *worth)
{
    Ctx *cx = pb->cx;
    const Sx *team = sx_op(cx, SX_DIV, sx_size(cx, SIZE_TEAM_LIMIT), sx_const(cx, GROUP));
    pb_if_more(pb, sx_op(cx, SX_MIN, worth, team), 0);
    pb_if_fits(pb, (Fit){k, t->kg->group_size, sx_const(cx, 0)});
}

static void whole_branch(Shared t, const ArrLoc *outs)
{
    PlanBuild *pb = t.kg->pb;
    Kernel *k = share_kernel(&t, outs);
    const Sx *blocks = blocks_in_all(&t);
    open_branch(pb, &t, k, sx_op(pb->cx, SX_DIV, blocks, groups_of(pb->cx, WHOLE_GROUPS)));
    kg_launch(t.kg, k, nest_groups(t.kg, blocks, sx_const(pb->cx, 1)));
    pb_else(pb);
}

static void cut_branch(Shared t, const ArrLoc *outs)
{
    PlanBuild *pb = t.kg->pb;
    Ctx *cx = pb->cx;
    const Sx *blocks = blocks_in_all(&t), *one = sx_const(cx, 1);
    const Sx *share = sx_op(cx, SX_DIV, groups_of(cx, GROUPS), sx_op(cx, SX_MAX, blocks, one));
    const Sx *most = sx_op(cx, SX_DIV, sx_atom(cx, t.r->width), sx_const(cx, PIECE));
    const Sx *want = pb_let(pb, "want", sx_op(cx, SX_MIN, share, most));
    Pieces p = sums_cut(pb, t.r, want, TOGETHER);
    t.pieces = &p;
    Kernel *k = share_kernel(&t, outs);
    const Sx *fill = sx_op(cx, SX_DIV, sx_mul(cx, blocks, want), groups_of(cx, LEAST_GROUPS));
    open_branch(pb, &t, k, sx_op(cx, SX_MIN, fill, sx_sub(cx, want, one)));
    sums_alloc(pb, t.r, &p);
    kg_launch(t.kg, k, nest_groups(t.kg, sx_mul(cx, blocks, p.pieces), one));
    sums_combine(pb, t.r, &p, outs);
    pb_else(pb);
}

static int share_branches(PlanBuild *pb, const Sums *r, const ArrLoc *outs)
{
    Shared t = {.r = r};
    t.each = find_mine(pb->cx, r, &t.mine);
    if (!t.each)
        return 0;
    t.kg = kg_new(pb, "segshare", r->e);
    whole_branch(t, outs);
    if (!sums_can_cut(pb->cx, r))
        return 1;
    t.kg = kg_new(pb, "segshare", r->e);
    cut_branch(t, outs);
    return 2;
}

/* --- All shapes ------------------------------------------------------------------------------ */

int sums_branches(PlanBuild *pb, const Stm *s, const ArrLoc *outs)
{
    Sums r;
    if (!sums_of(pb->cx, s, &r))
        return 0;
    int n = segtile_branches(pb, &r, outs);
    return n > 0 ? n : share_branches(pb, &r, outs);
}
