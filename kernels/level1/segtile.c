/* Reductions of elements in two dimensions over arrays of which each varies with one of the two:
 * matrix products and their likes, whatever the functions and orientations.
 *
 *     segmap^1 .. <xs in xss> <ys in yss> { redomap op f xs ys }
 *
 * Each element of xs is wanted by all columns, each of ys by all rows. So a group of S x S
 * threads works on a block of S*R rows and S*Q columns, R x Q of them a thread:
 *
 *     acc[R][Q] := neutral elements                       in registers
 *     for k0 = 0, D ..:
 *         tiles := the elements k0 .. k0+D-1 of the block's rows and columns, in local memory
 *         for k in the tile:
 *             a[R], b[Q] := those of the thread
 *             acc[i][j] := op(acc[i][j], f(a[i], b[j]))
 *     results of the thread's elements := what the body makes of acc
 *
 * An element of global memory is then read once for S*R or S*Q results and one of local memory for
 * R or Q. The elements of the next tile are on their way to registers while this one is worked on,
 * and then go to the other half of the tiles' buffers. In both dimensions four elements of a thread
 * are neighbours, a vector in a tile; a warp has few rows and columns, so that it reads little of a
 * tile at a time. Who loads what of a tile depends on which of its directions lies side by side in
 * memory: transposed operands cost nearly the same.
 *
 * A group has 256 threads. S is 16 where there are elements enough. Where there are few, their
 * reductions are long, or it does not matter: then groups reduce pieces (sums.h), and with S below
 * 16 the group's 256 / S^2 slices, each of S x S threads, take one k of the tile in turn and
 * combine in the end, which operators that commute allow.
 *
 * At a block's edge, rows, columns and k beyond the end are clamped to the last, which makes loads
 * right; only what belongs to an element is stored. No accumulator sees a k beyond the end, so
 * nothing is asked of the operator: elements are combined as one thread would, one after the other.
 *
 * The shape is that of Volkov and Demmel, "Benchmarking GPUs to tune dense linear algebra" (SC
 * 2008); as a transformation of mapnests, "block and register tiling", Futhark has it as well. */
#include "kernels/level1/sums.h"

enum {
    GROUP = 256,       /* threads of a group */
    TOGETHER = 4,      /* rows or columns of a thread that are neighbours: vectors in a tile */
    VECTOR_BYTES = 16, /* to which tiles are aligned */
    HALVES = 2,        /* of a tile's buffer: one is read while the other is written */
    WARP_ROWS = 4,     /* of the threads of a warp, where there are as many */
    WARP_COLS = 8,
    ACC_BYTES = 512,         /* of a thread's accumulators, at most: half of its registers */
    OWN_BYTES = 784,         /* of all that a thread has in registers */
    FOLD_BYTES = 64,         /* of a thread's accumulators, folded together */
    TILE_BYTES = 40 * 1024,  /* of a group's tiles, if they can be less deep */
    MOST_APPLICATIONS = 4096 /* statements of f and op in straight code */
};

/* A shape of blocks, and for how many elements it is. */
enum { FEW = 1, MANY = 2 };
typedef struct {
    int elems;        /* a set of those */
    int side;         /* S */
    int reg[N_SIDES]; /* rows and columns of a thread */
    bool straight;    /* whole tiles have code of their own */
    bool instead;     /* where the shape before takes more registers than there are */
    Blocking blocks;  /* size and `either` follow */
} Shape;

typedef struct {
    Sides s;
    KGen *kg; /* those of the sides */
    const Sums *r;
    Shape shape;
    const Pieces *pieces; /* NULL: they cannot be cut */
    Share share;          /* the block and piece at work */
    KBuf **acc;
    const KExp *first[N_SIDES]; /* row and column of the block's first element */
    const KExp *lane;           /* the thread's number: of a group of GROUP, which passes see */
    const KExp *slice;          /* the number of its slice */
    const KExp *mine[N_SIDES];  /* its row and column in the slice */
} Tiles;

static int block_of(const Shape *s, int side)
{
    return s->blocks.size[side];
}

static int cells_of(const Shape *s)
{
    return s->reg[ROWS] * s->reg[COLS];
}

static int slices_of(const Shape *s)
{
    return GROUP / (s->side * s->side);
}

/* With what follows of its other numbers. */
static Shape whole_shape(const Shape *s)
{
    Shape whole = *s;
    for (int d = 0; d < N_SIDES; d++)
        whole.blocks.size[d] = s->side * s->reg[d];
    whole.blocks.either = slices_of(s) > 1;
    return whole;
}

/* Elements of a tile that a thread stages. */
static int share_of(const Shape *s, int side)
{
    return block_of(s, side) * s->blocks.depth / GROUP;
}

/* Between the elements of a tile that are one k apart: with a gap, so that these are in many banks.
 */
static int pitch_of(const Tiles *t, const Operand *o)
{
    return block_of(&t->shape, o->side) + VECTOR_BYTES / prim_type_bytes[o->v->type.elem];
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
    int block = block_of(&t->shape, o->side), deep = t->shape.blocks.depth;
    const KExp *along = kx_eq(a, kg_host(kg, o->step), kg_int(kg, 1));
    if (o->beside)
        along = kx_bool(a, false);
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
    const KExp *turn = open_each(kg, share_of(&t->shape, o->side)), *k, *number;
    share_at(t, o, turn, &k, &number);
    kg_let(kg, d->idx, clamped(kg, kg_add(kg, t->first[o->side], number), d->width));
    kg_let(kg, t->r->k, clamped(kg, kg_add(kg, k0, k), t->r->width));
    kb_store(kg->kb, o->next, turn, loc_load(kg, "x", &o->from, NULL, 0));
    kb_end(kg->kb);
}

/* half: the number of the half at work */
static const KExp *tile_at(const Tiles *t, const Operand *o, const KExp *half, const KExp *k,
                           const KExp *number)
{
    KGen *kg = t->kg;
    int pitch = pitch_of(t, o);
    const KExp *from = kg_mul(kg, half, kg_int(kg, (int64_t)t->shape.blocks.depth * pitch));
    return kg_add(kg, from, kg_add(kg, kg_mul(kg, k, kg_int(kg, pitch)), number));
}

/* half of the tile := next */
static void store_next(Tiles *t, const Operand *o, const KExp *half)
{
    KGen *kg = t->kg;
    const KExp *turn = open_each(kg, share_of(&t->shape, o->side)), *k, *number;
    share_at(t, o, turn, &k, &number);
    const KExp *x = kb_load(kg->kb, "x", o->next, turn);
    kb_store(kg->kb, o->tile, tile_at(t, o, half, k, number), x);
    kb_end(kg->kb);
}

typedef void StagedMaker(Tiles *t, const Operand *o, const KExp *at);

static void each_staged(Tiles *t, StagedMaker *make, const KExp *at)
{
    for (int i = 0; i < t->s.operands.n; i++)
        if (t->s.operands.at[i].side != N_SIDES)
            make(t, &t->s.operands.at[i], at);
}

/* --- Accumulating ---------------------------------------------------------------------------- */

/* The number in the block of an element of the thread's on a side. */
static const KExp *number_of(const Tiles *t, int side, const KExp *vec, const KExp *lane)
{
    KGen *kg = t->kg;
    const KExp *apart = kg_int(kg, t->shape.side);
    const KExp *first = kg_add(kg, t->mine[side], kg_mul(kg, vec, apart));
    return kg_add(kg, kg_mul(kg, first, kg_int(kg, TOGETHER)), lane);
}

/* The values of the operands at k of the tile that begins at k0: the thread's own, and what is the
 * same for all elements. */
static void load_own(Tiles *t, const KExp *half, const KExp *k0, const KExp *k)
{
    KGen *kg = t->kg;
    kg_let(kg, t->r->k, kg_add(kg, k0, k));
    for (int n = 0; n < t->s.operands.n; n++) {
        const Operand *o = &t->s.operands.at[n];
        if (o->side == N_SIDES) {
            kg_let(kg, o->v, loc_load(kg, "x", &o->from, NULL, 0));
            continue;
        }
        const KExp *vec = open_each(kg, t->shape.reg[o->side] / TOGETHER);
        const KExp *lane = open_each(kg, TOGETHER);
        kg_loop_unroll(kg, -1); /* by us: neighbours are seen to be such */
        const KExp *at = tile_at(t, o, half, k, number_of(t, o->side, vec, lane));
        const KExp *i = kg_add(kg, kg_mul(kg, vec, kg_int(kg, TOGETHER)), lane);
        kb_store(kg->kb, o->own, i, kb_load(kg->kb, "x", o->tile, at));
        kb_end(kg->kb);
        kb_end(kg->kb);
    }
}

static const KExp *acc_at(const Tiles *t, const KExp *i, const KExp *j)
{
    return kg_add(t->kg, kg_mul(t->kg, i, kg_int(t->kg, t->shape.reg[COLS])), j);
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
    int n = MOST_APPLICATIONS / (cells_of(&t->shape) * stms);
    int most = t->shape.blocks.depth / slices_of(&t->shape);
    return n > most ? most : n < 1 ? 1 : n;
}

/* Accumulates those of the first `deep` k of the tile that begins at k0 which are the slice's; so
 * many of them as straight code. */
static void work_on(Tiles *t, const KExp *half, const KExp *k0, const KExp *deep, int unroll)
{
    KGen *kg = t->kg;
    const KExp *at[N_SIDES], *slices = kg_int(kg, slices_of(&t->shape));
    const KExp *more = kg_add(kg, deep, kg_sub(kg, slices, kg_int(kg, 1)));
    const KExp *turns = kg_quot(kg, kg_sub(kg, more, t->slice), slices);
    const KExp *turn = kb_for(kg->kb, "k", kg_int(kg, 0), turns, kg_int(kg, 1));
    kg_loop_unroll(kg, unroll);
    load_own(t, half, k0, kg_add(kg, kg_mul(kg, turn, slices), t->slice));
    at[ROWS] = open_each(kg, t->shape.reg[ROWS]);
    at[COLS] = open_each(kg, t->shape.reg[COLS]);
    accumulate(t, at);
    kb_end(kg->kb);
    kb_end(kg->kb);
    kb_end(kg->kb);
}

/* The tile from k0 on. Where it is known to be whole, code is the better the more of it there is;
 * for some shapes that is worth the text. */
static void work_tile(Tiles *t, const KExp *half, const KExp *k0)
{
    KGen *kg = t->kg;
    const KExp *depth = kg_int(kg, t->shape.blocks.depth), *left = kg_sub(kg, t->share.to, k0);
    if (!t->shape.straight) {
        const KExp *deep = kb_let(kg->kb, "deep", kg_min(kg, depth, left));
        work_on(t, half, k0, deep, depth_unrolled(t));
        return;
    }
    kb_if(kg->kb, kg_le(kg, depth, left));
    work_on(t, half, k0, depth, depth_unrolled(t));
    kb_else(kg->kb);
    work_on(t, half, k0, left, 1);
    kb_end(kg->kb);
}

static void meet(KGen *kg)
{
    kb_meet(kg->kb, 1u << KS_LOCAL);
}

/* A barrier a tile is enough: it keeps apart what is written of one half and read of it in the next
 * turn, and what is read of the other and written then. */
static void reduce_block(Tiles *t)
{
    KGen *kg = t->kg;
    KBuild *b = kg->kb;
    const KExp *from = t->share.from, *to = t->share.to, *depth = kg_int(kg, t->shape.blocks.depth);
    KVar *half = kb_var(b, "half", T_I64, kg_int(kg, 0));
    KVar *other = kb_var(b, "other", T_I64, kg_int(kg, 1));
    kb_if(b, kg_lt(kg, from, to));
    each_staged(t, load_next, from);
    each_staged(t, store_next, kg_of(kg, half));
    kb_end(b);
    meet(kg);
    const KExp *k0 = kb_for(b, "k", from, to, depth);
    const KExp *next = kb_let(b, "next", kg_add(kg, k0, depth));
    kb_if(b, kg_lt(kg, next, to));
    each_staged(t, load_next, next);
    kb_end(b);
    work_tile(t, kg_of(kg, half), k0);
    kb_if(b, kg_lt(kg, next, to));
    each_staged(t, store_next, kg_of(kg, other));
    kb_end(b);
    meet(kg);
    const KExp *was = kb_let(b, "t", kg_of(kg, half));
    kb_set(b, half, kg_of(kg, other));
    kb_set(b, other, was);
    kb_end(b);
}

/* --- Slices ---------------------------------------------------------------------------------- */

/* Accumulators of a thread that are folded together: of several results fewer, for they take no
 * more local memory than those of one. */
static int folded_of(const Tiles *t)
{
    int n = cells_of(&t->shape);
    while (n > 1 && n * sums_bytes(t->r) > FOLD_BYTES)
        n /= 2;
    return n;
}

/* Of twice `half` threads the second half gives the first half its accumulators from `first` on. */
static void fold_half(Tiles *t, KBuf **folded, const KExp *first, const KExp *half)
{
    KGen *kg = t->kg;
    KBuild *b = kg->kb;
    int some = folded_of(t), n = t->r->nes->n;
    const KExp *all = kg_mul(kg, kg_int(kg, 2), half);
    kb_if(b, kg_and(kg, kg_le(kg, half, t->lane), kg_lt(kg, t->lane, all)));
    const KExp *i = open_each(kg, some);
    for (int j = 0; j < n; j++)
        kb_store(b, folded[j], kg_add(kg, kg_mul(kg, i, half), kg_sub(kg, t->lane, half)),
                 kb_load(b, "x", t->acc[j], kg_add(kg, first, i)));
    kb_end(b);
    kb_end(b);
    meet(kg);
    kb_if(b, kg_lt(kg, t->lane, half));
    i = open_each(kg, some);
    const KExp **x = NEWN(kg->cx->perm, const KExp *, n);
    for (int j = 0; j < n; j++)
        x[j] = kb_load(b, "x", folded[j], kg_add(kg, kg_mul(kg, i, half), t->lane));
    sums_apply(kg, t->r, t->acc, kg_add(kg, first, i), x);
    kb_end(b);
    kb_end(b);
    meet(kg);
}

/* acc of the first slice := those of all slices, combined. */
static void fold_slices(Tiles *t)
{
    KGen *kg = t->kg;
    int slices = slices_of(&t->shape), some = folded_of(t), turns = cells_of(&t->shape) / some;
    if (slices == 1)
        return;
    KBuf **folded = NEWN(kg->cx->perm, KBuf *, t->r->nes->n);
    for (int j = 0; j < t->r->nes->n; j++) {
        int64_t n = (int64_t)GROUP / 2 * some;
        PrimType elem = t->r->op->params.at[j]->type.elem;
        folded[j] = kg_param_local(kg, "folded", elem, sx_const(kg->cx, n));
    }
    const KExp *first = kg_int(kg, 0);
    if (turns > 1)
        first = kg_mul(kg, open_each(kg, turns), kg_int(kg, some));
    const KExp *parts = kb_for_times(kg->kb, "parts", kg_int(kg, 2), kg_int(kg, slices + 1), 2);
    fold_half(t, folded, first, kb_let(kg->kb, "half", kg_quot(kg, kg_int(kg, GROUP), parts)));
    kb_end(kg->kb);
    if (turns > 1)
        kb_end(kg->kb);
}

/* --- Results --------------------------------------------------------------------------------- */

/* Opens loops over the thread's rows and so many neighbours of its columns at a time, those of the
 * first slice, and binds the first of the elements at hand if it is there. The number of its
 * accumulator. */
static const KExp *open_cells(Tiles *t, int together)
{
    KGen *kg = t->kg;
    const Nest *nest = &t->r->e->seg.nest;
    const KExp *i[N_SIDES], *at[N_SIDES], *some = kg_int(kg, TOGETHER), *n = kg_int(kg, together);
    const KExp *there = kg_eq(kg, t->slice, kg_int(kg, 0));
    for (int d = 0; d < N_SIDES; d++) {
        i[d] = open_each(kg, t->shape.reg[d] / (d == COLS ? together : 1));
        i[d] = d == COLS ? kg_mul(kg, i[d], n) : i[d];
        const KExp *number = number_of(t, d, kg_quot(kg, i[d], some), kg_rem(kg, i[d], some));
        at[d] = kb_let(kg->kb, "at", kg_add(kg, t->first[d], number));
        there = kg_and(kg, there, kg_lt(kg, at[d], kg_atom(kg, t->s.dim[d]->width)));
    }
    kb_if(kg->kb, there);
    for (int d = t->r->depth - 2; d < t->r->depth; d++)
        nest_bind_dim(kg, &nest->at[d], at[&nest->at[d] == t->s.dim[ROWS] ? ROWS : COLS]);
    return acc_at(t, i[ROWS], i[COLS]);
}

static void end_cells(Tiles *t)
{
    for (int i = 0; i < 1 + N_SIDES; i++)
        kb_end(t->kg->kb);
}

/* Partial results lie as the nest goes: where rows of them are multiples of vectors, neighbours are
 * stored together. One by one that would write each sector of memory as often. */
static void store_vectors(Tiles *t)
{
    KGen *kg = t->kg;
    const KExp *one = kg_int(kg, 1), *some = kg_int(kg, TOGETHER), *zero = kg_int(kg, 0);
    const KExp *several = kg_lt(kg, one, kg_host(kg, t->pieces->pieces));
    const KExp *rest = kg_rem(kg, kg_atom(kg, t->s.dim[COLS]->width), some);
    kb_if(kg->kb, kg_and(kg, several, kg_eq(kg, rest, zero)));
    int mark = ranges_mark(kg->known);
    const KExp *cell = open_cells(t, TOGETHER);
    sums_store_parts(kg, t->r, t->pieces, t->share.piece, t->acc, cell, TOGETHER);
    ranges_reset(kg->known, mark);
    end_cells(t);
}

static void store_cells(Tiles *t, const KLoc *outs)
{
    KGen *kg = t->kg;
    int mark = ranges_mark(kg->known);
    const KExp *cell = open_cells(t, 1);
    if (t->pieces) {
        kb_if(kg->kb, kg_lt(kg, kg_int(kg, 1), kg_host(kg, t->pieces->pieces)));
        sums_store_parts(kg, t->r, t->pieces, t->share.piece, t->acc, cell, 1);
        kb_else(kg->kb);
    }
    sums_store(kg, t->r, outs, t->acc, cell);
    if (t->pieces)
        kb_end(kg->kb);
    ranges_reset(kg->known, mark);
    end_cells(t);
}

/* The results of the block, or the partial ones of its piece. */
static void store_block(Tiles *t, const KLoc *outs)
{
    bool beside = t->s.dim[COLS] == &t->r->e->seg.nest.at[t->r->depth - 1];
    bool vectors = t->pieces && t->shape.straight && beside;
    if (vectors) {
        store_vectors(t);
        kb_else(t->kg->kb);
    }
    store_cells(t, outs);
    if (vectors)
        kb_end(t->kg->kb);
}

/* --- The kernel ------------------------------------------------------------------------------ */

static void declare_buffers(Tiles *t)
{
    KGen *kg = t->kg;
    for (int i = 0; i < t->s.operands.n; i++) {
        Operand *o = &t->s.operands.at[i];
        PrimType elem = o->v->type.elem;
        if (o->side == N_SIDES)
            continue;
        int64_t n = (int64_t)HALVES * t->shape.blocks.depth * pitch_of(t, o);
        o->tile = kg_param_local(kg, "tile", elem, sx_const(kg->cx, n));
        o->tile->align = VECTOR_BYTES;
        o->next = kb_array(kg->kb, "next", elem, share_of(&t->shape, o->side));
        o->own = kb_array(kg->kb, "own", elem, t->shape.reg[o->side]);
    }
    t->acc = sums_accs(kg, t->r, cells_of(&t->shape));
}

/* Its place in the slice: a warp's threads are in few rows and columns, so that they read little of
 * a tile at a time. */
static void number_threads(Tiles *t)
{
    KGen *kg = t->kg;
    KBuild *b = kg->kb;
    int side = t->shape.side;
    const KExp *square = kg_int(kg, side * side);
    t->lane = kb_let(b, "lane", kg_rem(kg, kg->lid, kg_int(kg, GROUP)));
    t->slice = kb_let(b, "slice", kg_quot(kg, t->lane, square));
    const KExp *in_slice = t->lane;
    if (slices_of(&t->shape) > 1)
        in_slice = kb_let(b, "in_slice", kg_rem(kg, t->lane, square));
    else
        t->slice = kg_int(kg, 0);
    int wide = side < WARP_COLS ? side : WARP_COLS, high = side < WARP_COLS ? side : WARP_ROWS;
    const KExp *cols = kg_int(kg, wide), *rows = kg_int(kg, high);
    const KExp *warps = kg_int(kg, side / wide),
               *warp = kg_quot(kg, in_slice, kg_mul(kg, cols, rows));
    const KExp *row = kg_rem(kg, kg_quot(kg, in_slice, cols), rows),
               *col = kg_rem(kg, in_slice, cols);
    t->mine[ROWS] = kb_let(b, "row", kg_add(kg, kg_mul(kg, kg_quot(kg, warp, warps), rows), row));
    t->mine[COLS] = kb_let(b, "col", kg_add(kg, kg_mul(kg, kg_rem(kg, warp, warps), cols), col));
}

/* False where an operand varies with more than one side, or f knows of more than operands. */
static bool open_kernel(Tiles *t)
{
    KGen *kg = t->kg;
    kg->group_size = sx_const(kg->cx, GROUP);
    kg->at = t->r->e->loc;
    kg_if_teams(kg);
    number_threads(t);
    t->share = blocking_open(&t->s, &t->shape.blocks, t->pieces, t->first);
    return sides_find(&t->s);
}

static Kernel *tile_kernel(Tiles *t, const ArrLoc *outs)
{
    KGen *kg = t->kg;
    bool found = open_kernel(t);
    ASSERT(found);
    declare_buffers(t);
    reduce_block(t);
    fold_slices(t);
    store_block(t, seg_outs(kg, t->r->stm, 0, outs));
    kb_end(kg->kb);
    kb_end(kg->kb);
    return kg_finish(kg);
}

/* --- Which shape ----------------------------------------------------------------------------- */

/* Host: 0 if the device has no groups of such a kind. */
static const KExp *fits_device(const Tiles *t)
{
    Ctx *cx = t->kg->cx;
    const KExp *room = sx_op(cx, SX_DIV, sx_size(cx, SIZE_LOCAL_MEMORY), kg_local_bytes(t->kg));
    const KExp *team = sx_op(cx, SX_DIV, sx_size(cx, SIZE_TEAM_LIMIT), sx_const(cx, GROUP));
    return sx_op(cx, SX_MIN, room, team);
}

/* Bytes of the tiles of a shape. */
static int64_t tile_bytes(const Tiles *t, const Operands *operands)
{
    int64_t n = 0;
    for (int i = 0; i < operands->n; i++) {
        const Operand *o = &operands->at[i];
        if (o->side != N_SIDES)
            n += (int64_t)HALVES * t->shape.blocks.depth * pitch_of(t, o) *
                 prim_type_bytes[o->v->type.elem];
    }
    return n;
}

/* Of many operands tiles are less deep, as far as each thread of a group stages an element of each
 * and slices have a k each. */
static void settle_depth(Tiles *t, const Operands *operands)
{
    int *depth = &t->shape.blocks.depth, slices = slices_of(&t->shape);
    while (tile_bytes(t, operands) > TILE_BYTES && *depth / 2 >= slices &&
           share_of(&t->shape, ROWS) > 1 && share_of(&t->shape, COLS) > 1)
        *depth /= 2;
}

static Tiles tiles_of(PlanBuild *pb, const Sums *r, const ArrLoc *outs, const Shape *shape)
{
    KGen *kg = kg_new(pb, "segtile", r->e);
    return (Tiles){.s = sides_of(kg, r, outs), .kg = kg, .r = r, .shape = whole_shape(shape)};
}

static void open_branch(PlanBuild *pb, const Tiles *t, Kernel *k, const KExp *worth)
{
    const char *when =
        arena_printf(pb->cx->perm, "blocks of %d x %d are well filled and keep the device busy",
                     block_of(&t->shape, ROWS), block_of(&t->shape, COLS));
    pb_choose(pb, "segtile", fits_device(t), worth, when);
    pb_if_fits(pb, (Fit){k, t->kg->group_size, kg_local_bytes(t->kg)});
}

/* Opens the branch of a shape. */
static void shape_branch(PlanBuild *pb, Tiles *t, const ArrLoc *outs, bool cuts)
{
    Ctx *cx = pb->cx;
    Pieces p;
    const Blocking *b = &t->shape.blocks;
    const KExp *want = sx_const(cx, 1), *n = blocking_count(&t->s, b);
    if (cuts) {
        want = pb_let(pb, "want", blocking_pieces(&t->s, b));
        p = sums_cut(pb, t->r, want, t->shape.blocks.depth);
        t->pieces = &p;
        n = sx_mul(cx, n, p.pieces);
    }
    Kernel *k = tile_kernel(t, outs);
    open_branch(pb, t, k, blocking_worth(&t->s, b, want));
    if (cuts)
        sums_alloc(pb, t->r, &p);
    kg_launch(t->kg, k, nest_groups(t->kg, n, sx_const(cx, 1)));
    if (cuts) {
        pb_if_more(pb, p.pieces, 1);
        sums_combine(pb, t->r, &p, outs);
        pb_end(pb);
    }
}

/* Bytes of registers that a thread has for a shape. */
static int own_bytes(const Tiles *t)
{
    int n = sums_bytes(t->r) * cells_of(&t->shape);
    for (int i = 0; i < t->s.operands.n; i++) {
        const Operand *o = &t->s.operands.at[i];
        if (o->side != N_SIDES)
            n += prim_type_bytes[o->v->type.elem] *
                 (t->shape.reg[o->side] + share_of(&t->shape, o->side));
    }
    return n;
}

/* A segmap is chosen where elements are many, a segred where they are few. t: opened for whatever
 * shape. */
static bool allows(Tiles *t, const Shape *s)
{
    t->shape = whole_shape(s);
    settle_depth(t, &t->s.operands);
    return (s->elems & (t->r->red ? MANY : FEW)) && sums_bytes(t->r) * cells_of(s) <= ACC_BYTES &&
           own_bytes(t) <= OWN_BYTES && (slices_of(s) == 1 || t->r->comm);
}

int segtile_branches(PlanBuild *pb, const Sums *r, const ArrLoc *outs)
{
    static const Shape shapes[] = {
        {.elems = MANY,
         .side = 16,
         .reg = {8, 16},
         .straight = true,
         .blocks = {.depth = 8, .piece = 256, .least = 2, .groups = 1, .fill = 60, .full = 60}},
        {.elems = MANY,
         .side = 16,
         .reg = {8, 8},
         .straight = true,
         .instead = true,
         .blocks = {.depth = 16, .piece = 256, .least = 2, .groups = 2, .fill = 60, .full = 60}},
        {.elems = MANY,
         .side = 16,
         .reg = {4, 4},
         .straight = true,
         .blocks = {.depth = 16, .piece = 32, .least = 17, .groups = 2, .fill = 25}},
        {.elems = FEW,
         .side = 8,
         .reg = {4, 4},
         .blocks = {.depth = 32, .piece = 64, .least = 17, .groups = 4, .fill = 25}},
        {.elems = FEW,
         .side = 2,
         .reg = {4, 4},
         .blocks = {.depth = 128, .piece = 256, .least = 5, .groups = 4, .fill = 25}},
        {.elems = FEW,
         .side = 1,
         .reg = {4, 4},
         .blocks = {.depth = 256, .piece = 512, .least = 2, .groups = 4, .fill = 25}},
    };
    if (r->depth < 2)
        return 0;
    Tiles all = tiles_of(pb, r, outs, &shapes[0]);
    if (!open_kernel(&all))
        return 0;
    int n = 0;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        if (!allows(&all, &shapes[i]) || (shapes[i].instead && n > 0))
            continue;
        Tiles t = tiles_of(pb, r, outs, &shapes[i]);
        settle_depth(&t, &all.s.operands);
        shape_branch(pb, &t, outs, sums_can_cut(pb->cx, r));
        pb_else(pb);
        n++;
    }
    return n;
}
