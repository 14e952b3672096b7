/* Reductions of elements in two dimensions over arrays of which each varies with one of the two:
 * matrix products and their likes, whatever the functions and orientations.
 *
 *     segmap^1 .. <xs in xss> <ys in yss> { redomap op f xs ys }
 *
 * Each element of xs is wanted by all columns, each of ys by all rows. So a group of S x S
 * threads works on a block of S*R rows and columns, R x R of them a thread:
 *
 *     acc[R][R] := neutral elements                       in registers
 *     for k0 = 0, D ..:
 *         tiles := the elements k0 .. k0+D-1 of the block's rows and columns, in local memory
 *         for k in the tile:
 *             a[R], b[R] := those of the thread
 *             acc[i][j] := op(acc[i][j], f(a[i], b[j]))
 *     results of the thread's elements := what the body makes of acc
 *
 * An element of global memory is then read once for S*R results and one of local memory for R. The
 * elements of the next tile are on their way to registers while this one is worked on. In both
 * dimensions a thread's elements are S apart: a warp reads neighbours or one element of the tiles,
 * and stores neighbours. Who loads what of a tile depends on which of its directions lies side by
 * side in memory: transposed operands cost the same.
 *
 * A group has 256 threads. S is 16 where there are elements enough. Where there are few, their
 * reductions are long, or it does not matter: then groups reduce pieces (sums.h), and with S below
 * 16 the group's 256 / S^2 slices, each of S x S threads, take one k of the tile in turn and combine
 * in the end, which operators that commute allow.
 *
 * At a block's edge, rows, columns and k beyond the end are clamped to the last, which makes loads
 * right; only what belongs to an element is stored. No accumulator sees a k beyond the end, so
 * nothing is asked of the operator: elements are combined as one thread would, one after the other.
 *
 * The shape is that of Volkov and Demmel, "Benchmarking GPUs to tune dense linear algebra" (SC
 * 2008); as a transformation of mapnests, "block and register tiling", Futhark has it as well. */
#include "kernels/sums.h"

enum {
    GROUP = 256,              /* threads of a group */
    TOGETHER = 4,             /* rows of a thread that are neighbours: vectors in a tile */
    VECTOR_BYTES = 16,        /* to which tiles are aligned */
    ACC_BYTES = 512,          /* of a thread's accumulators, at most: half of its registers */
    MOST_APPLICATIONS = 4096, /* statements of f and op in straight code */
    SHARED = 2                /* rows or columns that read an element, at least */
};

/* A shape of blocks, and for how many elements it is. Where reductions are cut into pieces: */
enum { FEW = 1, MANY = 2 };
typedef struct {
    int elems;     /* a set of those */
    int side, reg; /* S, R */
    int piece;     /* elements of a piece, at least; 0: they are not cut */
    int least;     /* rows and columns, at least; of small blocks, which are mostly empty if
                      need be, rows or columns */
    int groups;    /* wanted for a compute unit */
    int units;     /* compute units for a group, at most */
} Shape;

typedef struct {
    Sides s;
    KGen *kg; /* those of the sides */
    const Sums *r;
    Shape shape;
    const Pieces *pieces; /* NULL: whole reductions */
    Share share;          /* the block and piece at work */
    KBuf **acc;
    const KExp *first[N_SIDES]; /* row and column of the block's first element */
    const KExp *lane;           /* the thread's number: of a group of GROUP, which passes see */
    const KExp *slice;          /* the number of its slice */
    const KExp *mine[N_SIDES];  /* its row and column in the slice */
} Tiles;

static int block_of(const Shape *s)
{
    return s->side * s->reg;
}

static int slices_of(const Shape *s)
{
    return GROUP / (s->side * s->side);
}

/* Elements of a row that are staged at a time: each thread loads R of each array. */
static int depth_of(const Shape *s)
{
    return GROUP / s->side;
}

/* Between the elements of a tile that are one k apart: with a gap, so that these are in many banks.
 */
static int pitch_of(const Tiles *t, PrimType elem)
{
    return block_of(&t->shape) + VECTOR_BYTES / prim_type_bytes[elem];
}

/* --- Staging --------------------------------------------------------------------------------- */

/* A loop over 0 .. n-1, which the target's compiler makes straight code of. */
static const KExp *open_each(KGen *kg, int n)
{
    const KExp *i = kb_for(kg->kb, "i", kg_int(kg, 0), kg_int(kg, n), kg_int(kg, 1));
    kg_loop_unroll(kg, n);
    return i;
}

/* Element `turn` of the thread's share of a tile: its k, and its number among rows or columns.
 * Neighbouring threads have neighbours in memory. */
static void share_at(const Tiles *t, const Operand *o, const KExp *turn, const KExp **k,
                     const KExp **number)
{
    KGen *kg = t->kg;
    Arena *a = kg->cx->perm;
    int block = block_of(&t->shape), deep = depth_of(&t->shape);
    const KExp *along = kx_eq(a, kg_host(kg, o->step), kg_int(kg, 1));
    const KExp *depth = kg_int(kg, deep), *wide = kg_int(kg, block);
    const KExp *below = kg_mul(kg, turn, kg_int(kg, GROUP / block));
    const KExp *beside = kg_mul(kg, turn, kg_int(kg, GROUP / deep));
    *k = kx_select(a, along, kg_rem(kg, t->lane, depth),
                   kg_add(kg, kg_quot(kg, t->lane, wide), below));
    *number = kx_select(a, along, kg_add(kg, kg_quot(kg, t->lane, depth), beside),
                        kg_rem(kg, t->lane, wide));
}

/* x, but at most the last of so many. */
static const KExp *clamped(KGen *kg, const KExp *x, Atom width)
{
    return kg_min(kg, x, kg_sub(kg, kg_atom(kg, width), kg_int(kg, 1)));
}

/* next := the thread's share of the tile from k0 on. */
static void load_next(Tiles *t, const Operand *o, const KExp *k0)
{
    KGen *kg = t->kg;
    const NestDim *d = t->s.dim[o->side];
    const KExp *turn = open_each(kg, t->shape.reg), *k, *number;
    share_at(t, o, turn, &k, &number);
    kg_let(kg, d->idx, clamped(kg, kg_add(kg, t->first[o->side], number), d->width));
    kg_let(kg, t->r->k, clamped(kg, kg_add(kg, k0, k), t->r->width));
    kb_store(kg->kb, o->next, turn, loc_load(kg, "x", &o->from, NULL, 0));
    kb_end(kg->kb);
}

static const KExp *tile_at(const Tiles *t, const Operand *o, const KExp *k, const KExp *number)
{
    KGen *kg = t->kg;
    return kg_add(kg, kg_mul(kg, k, kg_int(kg, pitch_of(t, o->tile->elem))), number);
}

/* tile := next */
static void store_next(Tiles *t, const Operand *o)
{
    KGen *kg = t->kg;
    const KExp *turn = open_each(kg, t->shape.reg), *k, *number;
    share_at(t, o, turn, &k, &number);
    const KExp *x = kb_load(kg->kb, "x", o->next, turn);
    kb_store(kg->kb, o->tile, tile_at(t, o, k, number), x);
    kb_end(kg->kb);
}

static void each_staged(Tiles *t, const KExp *k0)
{
    for (int i = 0; i < t->s.operands.n; i++) {
        const Operand *o = &t->s.operands.at[i];
        if (o->side == N_SIDES)
            continue;
        if (k0)
            load_next(t, o, k0);
        else
            store_next(t, o);
    }
}

/* --- Accumulating ---------------------------------------------------------------------------- */

/* The number in the block of the thread's element i of a side. */
static const KExp *number_of(const Tiles *t, int side, const KExp *i)
{
    KGen *kg = t->kg;
    const KExp *some = kg_int(kg, TOGETHER), *apart = kg_int(kg, t->shape.side);
    if (side == ROWS) {
        const KExp *vec = kg_add(kg, t->mine[ROWS], kg_mul(kg, kg_quot(kg, i, some), apart));
        return kg_add(kg, kg_mul(kg, vec, some), kg_rem(kg, i, some));
    }
    return kg_add(kg, t->mine[side], kg_mul(kg, i, apart));
}

/* The values of the operands at k of the tile that begins at k0: the thread's own, and what is the
 * same for all elements. */
static void load_own(Tiles *t, const KExp *k0, const KExp *k)
{
    KGen *kg = t->kg;
    kg_let(kg, t->r->k, kg_add(kg, k0, k));
    for (int n = 0; n < t->s.operands.n; n++) {
        const Operand *o = &t->s.operands.at[n];
        if (o->side == N_SIDES) {
            kg_let(kg, o->v, loc_load(kg, "x", &o->from, NULL, 0));
            continue;
        }
        const KExp *i = open_each(kg, t->shape.reg);
        kg_loop_unroll(kg, -1); /* by us: neighbours are seen to be such */
        const KExp *at = tile_at(t, o, k, number_of(t, o->side, i));
        kb_store(kg->kb, o->own, i, kb_load(kg->kb, "x", o->tile, at));
        kb_end(kg->kb);
    }
}

static const KExp *acc_at(const Tiles *t, const KExp *i, const KExp *j)
{
    return kg_add(t->kg, kg_mul(t->kg, i, kg_int(t->kg, t->shape.reg)), j);
}

/* acc[i][j] := op(acc[i][j], f(the operands' elements i and j)) */
static void accumulate(Tiles *t, const KExp *const *at)
{
    KGen *kg = t->kg;
    int n = t->r->nes->n;
    for (int i = 0; i < t->s.operands.n; i++) {
        const Operand *o = &t->s.operands.at[i];
        if (o->side != N_SIDES)
            kg_let(kg, o->v, kb_load(kg->kb, "x", o->own, at[o->side]));
    }
    kg_stms(kg, &t->s.rest);
    const KExp **x = NEWN(kg->cx->perm, const KExp *, n);
    for (int j = 0; j < n; j++)
        x[j] = kg_atom(kg, t->s.rest.res.at[j]);
    sums_apply(kg, t->r, t->acc, acc_at(t, at[ROWS], at[COLS]), x);
}

/* How many k of a tile become straight code, of those of a slice. */
static int depth_unrolled(const Tiles *t)
{
    int stms = 1 + t->s.rest.stms.n + t->r->op->body->stms.n;
    int n = MOST_APPLICATIONS / (t->shape.reg * t->shape.reg * stms);
    int most = depth_of(&t->shape) / slices_of(&t->shape);
    return n > most ? most : n < 1 ? 1 : n;
}

/* Accumulates those of the first `depth` k of the tile that begins at k0 which are the slice's. */
static void work_on(Tiles *t, const KExp *k0, const KExp *depth, int unroll)
{
    KGen *kg = t->kg;
    const KExp *at[N_SIDES], *slices = kg_int(kg, slices_of(&t->shape));
    const KExp *more = kg_add(kg, depth, kg_sub(kg, slices, kg_int(kg, 1)));
    const KExp *turns = kg_quot(kg, kg_sub(kg, more, t->slice), slices);
    if (unroll > 1)
        turns = kg_int(kg, depth_of(&t->shape) / slices_of(&t->shape));
    const KExp *turn = kb_for(kg->kb, "k", kg_int(kg, 0), turns, kg_int(kg, 1));
    kg_loop_unroll(kg, unroll);
    load_own(t, k0, kg_add(kg, kg_mul(kg, turn, slices), t->slice));
    at[ROWS] = open_each(kg, t->shape.reg);
    at[COLS] = open_each(kg, t->shape.reg);
    accumulate(t, at);
    kb_end(kg->kb);
    kb_end(kg->kb);
    kb_end(kg->kb);
}

static void meet(KGen *kg)
{
    kb_meet(kg->kb, 1u << KS_LOCAL);
}

static void reduce_block(Tiles *t)
{
    KGen *kg = t->kg;
    KBuild *b = kg->kb;
    const KExp *from = t->share.from, *to = t->share.to, *depth = kg_int(kg, depth_of(&t->shape));
    kb_if(b, kg_lt(kg, from, to));
    each_staged(t, from);
    kb_end(b);
    const KExp *k0 = kb_for(b, "k", from, to, depth);
    const KExp *next = kb_let(b, "next", kg_add(kg, k0, depth));
    each_staged(t, NULL);
    meet(kg);
    kb_if(b, kg_lt(kg, next, to));
    each_staged(t, next);
    kb_end(b);
    kb_if(b, kg_le(kg, next, to));
    work_on(t, k0, depth, depth_unrolled(t));
    kb_else(b);
    work_on(t, k0, kg_min(kg, depth, kg_sub(kg, to, k0)), 1);
    kb_end(b);
    meet(kg); /* the tiles are written again */
    kb_end(b);
}

/* --- Slices ---------------------------------------------------------------------------------- */

/* Of `left` slices the second half gives the first half its accumulators. */
static void fold_half(Tiles *t, KBuf **folded, int left)
{
    KGen *kg = t->kg;
    KBuild *b = kg->kb;
    int cells = t->shape.reg * t->shape.reg, n = t->r->nes->n;
    int threads = left / 2 * t->shape.side * t->shape.side;
    const KExp *half = kg_int(kg, threads), *all = kg_int(kg, 2 * threads);
    kb_if(b, kg_and(kg, kg_le(kg, half, t->lane), kg_lt(kg, t->lane, all)));
    const KExp *i = open_each(kg, cells);
    for (int j = 0; j < n; j++)
        kb_store(b, folded[j], kg_add(kg, kg_mul(kg, i, half), kg_sub(kg, t->lane, half)),
                 kb_load(b, "x", t->acc[j], i));
    kb_end(b);
    kb_end(b);
    meet(kg);
    kb_if(b, kg_lt(kg, t->lane, half));
    i = open_each(kg, cells);
    const KExp **x = NEWN(kg->cx->perm, const KExp *, n);
    for (int j = 0; j < n; j++)
        x[j] = kb_load(b, "x", folded[j], kg_add(kg, kg_mul(kg, i, half), t->lane));
    sums_apply(kg, t->r, t->acc, i, x);
    kb_end(b);
    kb_end(b);
    meet(kg);
}

/* acc of the first slice := those of all slices, combined. */
static void fold_slices(Tiles *t)
{
    KGen *kg = t->kg;
    int slices = slices_of(&t->shape);
    KBuf **folded = NEWN(kg->cx->perm, KBuf *, t->r->nes->n);
    for (int j = 0; slices > 1 && j < t->r->nes->n; j++) {
        int64_t n = (int64_t)GROUP / 2 * t->shape.reg * t->shape.reg;
        PrimType elem = t->r->op->params.at[j]->type.elem;
        folded[j] = kg_param_local(kg, "folded", elem, sx_const(kg->cx, n));
    }
    for (int left = slices; left > 1; left /= 2)
        fold_half(t, folded, left);
}

/* --- Results --------------------------------------------------------------------------------- */

/* The element in row at[ROWS] and column at[COLS], whose reduction is in acc at `cell`. */
static void finish_element(Tiles *t, const KLoc *outs, const KExp *const *at, const KExp *cell)
{
    KGen *kg = t->kg;
    const Nest *nest = &t->r->e->seg.nest;
    int mark = ranges_mark(kg->known);
    for (int d = t->r->depth - 2; d < t->r->depth; d++)
        nest_bind_dim(kg, &nest->at[d], at[&nest->at[d] == t->s.dim[ROWS] ? ROWS : COLS]);
    if (t->pieces)
        sums_store_part(kg, t->r, t->pieces, t->share.piece, t->acc, cell);
    else
        sums_store(kg, t->r, outs, t->acc, cell);
    ranges_reset(kg->known, mark);
}

static void store_block(Tiles *t, const KLoc *outs)
{
    KGen *kg = t->kg;
    const KExp *i[N_SIDES], *at[N_SIDES];
    const KExp *there = kg_eq(kg, t->slice, kg_int(kg, 0));
    for (int d = 0; d < N_SIDES; d++) {
        i[d] = open_each(kg, t->shape.reg);
        at[d] = kb_let(kg->kb, "at", kg_add(kg, t->first[d], number_of(t, d, i[d])));
        there = kg_and(kg, there, kg_lt(kg, at[d], kg_atom(kg, t->s.dim[d]->width)));
    }
    kb_if(kg->kb, there);
    finish_element(t, outs, at, acc_at(t, i[ROWS], i[COLS]));
    kb_end(kg->kb);
    kb_end(kg->kb);
    kb_end(kg->kb);
}

/* --- The kernel ------------------------------------------------------------------------------ */

/* Host: blocks along a side, the last of which may be cut; all blocks. */
static const Sx *blocks_along(const Tiles *t, int side)
{
    Ctx *cx = t->kg->cx;
    return sx_op(cx, SX_CEILDIV, sx_atom(cx, t->s.dim[side]->width),
                 sx_const(cx, block_of(&t->shape)));
}

static const Sx *blocks_in_all(const Tiles *t)
{
    Ctx *cx = t->kg->cx;
    const Sx *n = sx_mul(cx, blocks_along(t, ROWS), blocks_along(t, COLS));
    return sx_mul(cx, nest_size(cx, &t->r->e->seg.nest, 0, t->r->depth - 2), n);
}

/* Opens the loop over the blocks of a group and locates the one at hand. */
static void open_blocks(Tiles *t)
{
    KGen *kg = t->kg;
    KBuild *b = kg->kb;
    t->share = sums_open_share(kg, t->r, blocks_in_all(t), t->pieces);
    const KExp *rest = t->share.block, *size = kg_int(kg, block_of(&t->shape));
    for (int d = COLS; d >= ROWS; d--) {
        const KExp *n = kg_host(kg, blocks_along(t, d));
        const KExp *q = kb_let(b, "q", kg_quot(kg, rest, n));
        t->first[d] = kb_let(b, "first", kg_mul(kg, kg_sub(kg, rest, kg_mul(kg, q, n)), size));
        rest = q;
    }
    nest_bind_range(kg, &t->r->e->seg.nest, 0, t->r->depth - 2, rest);
}

static void declare_buffers(Tiles *t)
{
    KGen *kg = t->kg;
    for (int i = 0; i < t->s.operands.n; i++) {
        Operand *o = &t->s.operands.at[i];
        PrimType elem = o->v->type.elem;
        if (o->side == N_SIDES)
            continue;
        int64_t n = (int64_t)depth_of(&t->shape) * pitch_of(t, elem);
        o->tile = kg_param_local(kg, "tile", elem, sx_const(kg->cx, n));
        o->tile->align = VECTOR_BYTES;
        o->next = kb_array(kg->kb, "next", elem, t->shape.reg);
        o->own = kb_array(kg->kb, "own", elem, t->shape.reg);
    }
    t->acc = sums_accs(kg, t->r, t->shape.reg * t->shape.reg);
}

static void number_threads(Tiles *t)
{
    KGen *kg = t->kg;
    const KExp *side = kg_int(kg, t->shape.side);
    const KExp *square = kg_int(kg, t->shape.side * t->shape.side);
    t->lane = kb_let(kg->kb, "lane", kg_rem(kg, kg->lid, kg_int(kg, GROUP)));
    t->slice = kb_let(kg->kb, "slice", kg_quot(kg, t->lane, square));
    const KExp *in_slice = t->lane;
    if (slices_of(&t->shape) > 1)
        in_slice = kb_let(kg->kb, "in_slice", kg_rem(kg, t->lane, square));
    else
        t->slice = kg_int(kg, 0);
    t->mine[ROWS] = kb_let(kg->kb, "row", kg_quot(kg, in_slice, side));
    t->mine[COLS] = kb_let(kg->kb, "col", kg_rem(kg, in_slice, side));
}

/* NULL where an operand varies with more than one side, or f knows of more than operands. */
static Kernel *tile_kernel(Tiles *t, const ArrLoc *outs)
{
    KGen *kg = t->kg;
    kg->group_size = sx_const(kg->cx, GROUP);
    kg->at = t->r->e->loc;
    kg_if_teams(kg);
    number_threads(t);
    open_blocks(t);
    if (!sides_find(&t->s))
        return NULL;
    declare_buffers(t);
    reduce_block(t);
    fold_slices(t);
    store_block(t, t->pieces ? NULL : seg_outs(kg, t->r->stm, 0, outs));
    kb_end(kg->kb);
    kb_end(kg->kb);
    return kg_finish(kg);
}

/* --- Which shape ----------------------------------------------------------------------------- */

/* Host: 0 if the device has no groups of such a kind. */
static const Sx *fits_device(const Tiles *t)
{
    Ctx *cx = t->kg->cx;
    const Sx *room = sx_op(cx, SX_DIV, sx_size(cx, SIZE_LOCAL_MEMORY), kg_local_bytes(t->kg));
    const Sx *team = sx_op(cx, SX_DIV, sx_size(cx, SIZE_TEAM_LIMIT), sx_const(cx, GROUP));
    return sx_op(cx, SX_MIN, room, team);
}

/* Not 0 if there are blocks enough to keep the device busy, of those that are whole (and one more).
 */
static const Sx *worth_whole(const Tiles *t)
{
    Ctx *cx = t->kg->cx;
    const Sx *n = nest_size(cx, &t->r->e->seg.nest, 0, t->r->depth - 2);
    for (int d = 0; d < N_SIDES; d++)
        n = sx_mul(cx, n,
                   sx_op(cx, SX_DIV, sx_atom(cx, t->s.dim[d]->width),
                         sx_const(cx, block_of(&t->shape))));
    return sx_op(cx, SX_DIV, sx_add(cx, n, sx_const(cx, 1)), sx_size(cx, SIZE_TILE_GROUPS));
}

/* The pieces of a reduction that keep the device busy, each of some tiles at least. */
static const Sx *pieces_wanted(const Tiles *t)
{
    Ctx *cx = t->kg->cx;
    const Sx *blocks = sx_op(cx, SX_MAX, blocks_in_all(t), sx_const(cx, 1));
    const Sx *groups = sx_mul(cx, sx_size(cx, SIZE_TILE_GROUPS), sx_const(cx, t->shape.groups));
    const Sx *most = sx_op(cx, SX_DIV, sx_atom(cx, t->r->width), sx_const(cx, t->shape.piece));
    return sx_op(cx, SX_MIN, sx_op(cx, SX_DIV, groups, blocks), most);
}

/* Not 0 if there are several pieces, which do keep it busy, of blocks that are not mostly empty. */
static const Sx *worth_cutting(const Tiles *t, const Sx *want)
{
    Ctx *cx = t->kg->cx;
    const Sx *one = sx_const(cx, 1), *units = sx_size(cx, SIZE_TILE_GROUPS);
    const Sx *fill = sx_op(cx, SX_DIV, units, sx_const(cx, t->shape.units));
    const Sx *n = sx_mul(cx, blocks_in_all(t), want);
    const Sx *worth = sx_op(cx, SX_DIV, n, sx_op(cx, SX_MAX, fill, one));
    const Sx *rows = sx_atom(cx, t->s.dim[ROWS]->width), *cols = sx_atom(cx, t->s.dim[COLS]->width);
    const Sx *few = sx_op(cx, SX_MIN, rows, cols), *many = sx_op(cx, SX_MAX, rows, cols);
    const Sx *side = slices_of(&t->shape) > 1 ? many : few;
    worth = sx_op(cx, SX_MIN, worth, sx_op(cx, SX_DIV, side, sx_const(cx, t->shape.least)));
    worth = sx_op(cx, SX_MIN, worth, sx_op(cx, SX_DIV, few, sx_const(cx, SHARED)));
    return sx_op(cx, SX_MIN, worth, sx_sub(cx, want, one));
}

static Tiles tiles_of(PlanBuild *pb, const Sums *r, const ArrLoc *outs, const Shape *shape)
{
    KGen *kg = kg_new(pb, "segtile", r->e);
    return (Tiles){.s = sides_of(kg, r, outs), .kg = kg, .r = r, .shape = *shape};
}

static void open_branch(PlanBuild *pb, const Tiles *t, Kernel *k, const Sx *worth)
{
    pb_if_more(pb, sx_op(pb->cx, SX_MIN, worth, fits_device(t)), 0);
    pb_if_fits(pb, (Fit){k, t->kg->group_size, kg_local_bytes(t->kg)});
}

/* Opens the branch of a shape; false, with nothing done, where f forbids all. */
static bool whole_branch(PlanBuild *pb, Tiles *t, const ArrLoc *outs)
{
    Kernel *k = tile_kernel(t, outs);
    if (!k)
        return false;
    open_branch(pb, t, k, worth_whole(t));
    kg_launch(t->kg, k, nest_groups(t->kg, blocks_in_all(t), sx_const(pb->cx, 1)));
    return true;
}

static bool cut_branch(PlanBuild *pb, Tiles *t, const ArrLoc *outs)
{
    Ctx *cx = pb->cx;
    const Sx *want = pb_let(pb, "want", pieces_wanted(t));
    Pieces p = sums_cut(pb, t->r, want, depth_of(&t->shape));
    t->pieces = &p;
    Kernel *k = tile_kernel(t, outs);
    if (!k)
        return false;
    open_branch(pb, t, k, worth_cutting(t, want));
    sums_alloc(pb, t->r, &p);
    const Sx *n = sx_mul(cx, blocks_in_all(t), p.pieces);
    kg_launch(t->kg, k, nest_groups(t->kg, n, sx_const(cx, 1)));
    sums_combine(pb, t->r, &p, outs);
    return true;
}

/* A segmap is chosen where elements are many, a segred where they are few. */
static bool allows(const Sums *r, const Shape *s, bool cuts)
{
    return (s->elems & (r->red ? MANY : FEW)) && (!s->piece || cuts) &&
           sums_bytes(r) * s->reg * s->reg <= ACC_BYTES && (slices_of(s) == 1 || r->comm);
}

int segtile_branches(PlanBuild *pb, const Sums *r, const ArrLoc *outs)
{
    static const Shape shapes[] = {
        {.elems = MANY, .side = 16, .reg = 8},
        {.elems = MANY, .side = 16, .reg = 8, .piece = 256, .least = 65, .groups = 2, .units = 1},
        {.elems = MANY, .side = 16, .reg = 4},
        {.elems = MANY | FEW,
         .side = 16, .reg = 4, .piece = 32, .least = 33, .groups = 2, .units = 4},
        {.elems = MANY | FEW,
         .side = 8, .reg = 4, .piece = 64, .least = 17, .groups = 4, .units = 4},
        {.elems = FEW, .side = 4, .reg = 4, .piece = 128, .least = 9, .groups = 4, .units = 4},
        {.elems = FEW, .side = 2, .reg = 4, .piece = 256, .least = 5, .groups = 4, .units = 4},
        {.elems = FEW, .side = 1, .reg = 4, .piece = 512, .least = 2, .groups = 4, .units = 4},
    };
    bool cuts = sums_can_cut(pb->cx, r);
    int n = 0;
    for (size_t i = 0; r->depth >= 2 && i < sizeof shapes / sizeof *shapes; i++) {
        if (!allows(r, &shapes[i], cuts))
            continue;
        Tiles t = tiles_of(pb, r, outs, &shapes[i]);
        if (!(shapes[i].piece ? cut_branch : whole_branch)(pb, &t, outs))
            break;
        pb_else(pb);
        n++;
    }
    return n;
}
