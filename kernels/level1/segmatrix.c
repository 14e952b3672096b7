/* Products of matrices of f16 or f32, summed in f32, by the matrix units of a device: what sides.c
 * finds where the function is f32.f16 x * f32.f16 y, or x * y of f32, and the operator +.
 *
 *     segmap^1 .. <xs in xss> <ys in yss> { redomap (+) (\x y -> f32.f16 x * f32.f16 y) xs ys }
 *
 * Of f32 the units take two numbers of 11 bits each, or, if mathematics may be fast, one (KTile).
 *
 * A group has a block of rows and columns, each of its warps a part of it, of which it multiplies
 * pieces of 16 x 8 by one instruction (kinds.def: MULTIPLY). Tiles come into local memory by copies
 * that wait for nobody, some rounds ahead of the products:
 *
 *     copy tiles 0 .. S-2, a round each
 *     until tile 0 is there; barrier
 *     load the first step of tile 0
 *     for tiles t = 0 ..:
 *         for steps of 16 k:
 *             before the last one: until tile t+1 is there; barrier
 *             load the next step, of the next tile in the end
 *             behind the first one: copy tile t+S-1 to where tile t-1 was
 *             acc += the step's rows * its columns
 *
 * Products that are wide (KTile) take tiles as they are, and are under way while the next ones are
 * copied:
 *
 *     for tiles t = 0 ..:
 *         until tile t is there; barrier
 *         begin acc += all steps of tile t;  copy tile t+S-1;  until acc is there
 *
 * Where rows begin anywhere, threads load what is copied, and wait for it; blocks are small, so
 * that others have something to do meanwhile.
 *
 * What copies can be of says tiles.h. In the end the sums change places in local memory, too, so
 * that neighbours store neighbours.
 *
 * The shape is that of NVIDIA's CUTLASS for devices of compute capability 8 (cp.async, ldmatrix,
 * mma.sync); measured: bench/results/decisions.md. */
#include "kernels/level1/sums.h"

#include "kernels/matrix/tiles.h"

enum { GAP = 4, DEPTH_BYTES = 128 };

typedef struct {
    Blocking blocks;
    PrimType elem;     /* of the operands */
    int warp[N_SIDES]; /* rows and columns of a warp */
    int stages;        /* tiles in local memory, S */
    bool wide;         /* products; operands are f16 */
    bool anywhere;     /* rows of operands may begin */
    bool rounded;      /* f32 are (KTile) */
} Shape;

/* An operand, as its tiles are copied. Of tiles that are turned the rows are k. */
typedef struct {
    const Operand *o;
    bool turned;
    const KExp *apart; /* host: its rows, in memory */
    int from;          /* in the tiles of a stage */
    TileCopy copy;     /* of a tile, as far as it is always the same */
} Factor;

typedef struct {
    Sides s;
    KGen *kg; /* that of the sides */
    const Sums *r;
    Shape shape;
    const Pieces *pieces; /* NULL: they cannot be cut */
    Share share;
    Factor factor[N_SIDES];
    KBuf *tiles, *fragments, **acc;
    const KExp *first[N_SIDES],
        *warp[N_SIDES];        /* row and column: of the block; in it, of the warp */
    const KExp *lane, *thread; /* of the warp, of the group */
} Matrix;

static int warps_of(const Shape *s)
{
    return s->blocks.size[ROWS] / s->warp[ROWS] * (s->blocks.size[COLS] / s->warp[COLS]);
}

static int threads_of(const Shape *s)
{
    return warps_of(s) * KTILE_LANES;
}

static int cells_of(const Shape *s)
{
    return s->warp[ROWS] * s->warp[COLS] / KTILE_LANES;
}

/* Elements of a tile; its rows, and the length of them. */
static int tile_of(const Shape *s, int side)
{
    return s->blocks.size[side] * s->blocks.depth;
}

static int pitch_of(const Matrix *m, int side)
{
    return m->factor[side].turned ? m->shape.blocks.size[side] : m->shape.blocks.depth;
}

/* Rows of a tile. */
static int rows_of(const Matrix *m, int side)
{
    return tile_of(&m->shape, side) / pitch_of(m, side);
}

static int stage_of(const Shape *s)
{
    return tile_of(s, ROWS) + tile_of(s, COLS);
}

/* --- Which products -------------------------------------------------------------------------- */

static bool is_sum(const Lambda *op)
{
    const Exp *e = lambda_op(op);
    return e && e->prim.op == OP_ADD && e->prim.type == T_F32;
}

/* The operand of which v is the value in f32; N_SIDES: of none. */
static int side_of(const Sides *s, const Var *v)
{
    for (int k = 0; k < s->operands.n; k++)
        if (s->operands.at[k].v == v)
            return s->operands.at[k].side;
    for (int i = 0; i < s->rest.stms.n; i++) {
        const Stm *st = &s->rest.stms.at[i];
        if (st->exp->kind != E_CONV || st->pat.at[0] != v)
            continue;
        for (int k = 0; k < s->operands.n; k++)
            if (st->exp->conv.arg.var == s->operands.at[k].v && st->exp->conv.to == T_F32)
                return s->operands.at[k].side;
    }
    return N_SIDES;
}

/* x * y in f32, of an element of each side? */
static bool is_product(const Sides *s, PrimType elem)
{
    const Body *f = &s->rest;
    int n = elem == T_F32 ? 1 : 3;
    if (s->operands.n != 2 || f->stms.n != n || s->r->nes->n != 1 || !is_sum(s->r->op))
        return false;
    for (int i = 0; i < 2; i++)
        if (s->operands.at[i].v->type.elem != elem)
            return false;
    const Stm *last = &f->stms.at[n - 1];
    const Exp *e = last->exp;
    if (e->kind != E_PRIM || e->prim.op != OP_MUL || f->res.at[0].var != last->pat.at[0])
        return false;
    int x = side_of(s, e->prim.args.at[0].var), y = side_of(s, e->prim.args.at[1].var);
    return x != y && x != N_SIDES && y != N_SIDES;
}

/* --- Where operands lie ---------------------------------------------------------------------- */

/* Finds how tiles of an operand are copied. Host: 1 where neighbours can be, else 0;
 * NULL: nowhere. */
static const KExp *find_factor(const Matrix *m, const Operand *o, Factor *f)
{
    const Sides *s = &m->s;
    VarSet *inside = varmap_new(s->kg->cx->perm);
    sums_inside(s->r, 0, inside);
    Source from = {.elem = o->v->type.elem,
                   .at = o->from.at.offset,
                   .nest = &s->r->e->seg.nest,
                   .batch = s->r->depth - 2,
                   .inside = inside,
                   .across = s->dim[o->side]->idx,
                   .along = s->r->k,
                   .n_across = s->dim[o->side]->width,
                   .n_along = s->r->width,
                   .anywhere = m->shape.anywhere};
    /* Strides of an array that is copied where that pays are known at run time: then as they are in
     * the copy. */
    const KExp *along = tile_growth(s->kg->cx, from.at, from.along);
    from.turned = !along || !kx_same(along, sx_const(s->kg->cx, 1));
    *f = (Factor){.o = o, .turned = from.turned};
    return o->from.computed ? NULL : tile_source(s->kg, &from, &f->apart);
}

/* Host: 1 where both are copied so, else 0; NULL: nowhere. */
static const KExp *find_factors(Matrix *m)
{
    const KExp *can = sx_const(m->kg->cx, 1);
    for (int i = 0; i < m->s.operands.n && can; i++) {
        const Operand *o = &m->s.operands.at[i];
        can = tile_both(m->kg->cx, can, find_factor(m, o, &m->factor[o->side]));
    }
    m->factor[COLS].from = tile_of(&m->shape, ROWS);
    return can;
}

/* --- Copies ---------------------------------------------------------------------------------- */

/* What is the same for all tiles of a side. */
static void locate(Matrix *m, int side)
{
    Factor *f = &m->factor[side];
    f->copy = (TileCopy){.panels = m->shape.wide,
                         .anywhere = m->shape.anywhere,
                         .tiles = m->tiles,
                         .mem = f->o->from.mem,
                         .pitch = pitch_of(m, side),
                         .rows = rows_of(m, side),
                         .threads = threads_of(&m->shape)};
    tile_locate(m->kg, &f->copy, m->thread);
}

/* Where the tile of a side is in that stage. */
static const KExp *tile_at(const Matrix *m, int side, const KExp *stage)
{
    KGen *kg = m->kg;
    const KExp *at = kg_mul(kg, stage, kg_int(kg, stage_of(&m->shape)));
    return kg_add(kg, at, kg_int(kg, m->factor[side].from));
}

/* Copies the tile of a side from k0 on to stage `stage`. */
static void copy_tile(const Matrix *m, int side, const KExp *stage, const KExp *k0)
{
    KGen *kg = m->kg;
    const Factor *f = &m->factor[side];
    const NestDim *d = m->s.dim[side];
    bool turned = f->turned;
    TileCopy c = f->copy;
    const KExp *across = turned ? c.begin : c.row, *along = turned ? c.row : c.begin;
    const KExp *number = kb_let(kg->kb, "number", kg_add(kg, m->first[side], across));
    const KExp *k = kb_let(kg->kb, "k", kg_add(kg, k0, along)), *width = kg_atom(kg, d->width);
    kb_open_block(kg->kb);
    kg_let(kg, d->idx, number);
    kg_let(kg, m->r->k, k);
    c.from = kb_let(kg->kb, "from", kg_at(kg, f->o->from.at.offset));
    c.apart = kg_host(kg, f->apart);
    c.to = tile_at(m, side, stage);
    c.number = turned ? k : number;
    c.end = turned ? m->share.to : width;
    c.place = turned ? number : k;
    c.len = turned ? width : m->share.to;
    tile_copy(kg, &c);
    kb_end(kg->kb);
}

static void copy_tiles(const Matrix *m, const KExp *stage, const KExp *k0)
{
    for (int d = 0; d < N_SIDES; d++)
        copy_tile(m, d, stage, k0);
}

/* --- Products -------------------------------------------------------------------------------- */

static KTile tile_shape(const Matrix *m)
{
    KTile t = {.elem = m->shape.elem, .rows = m->shape.warp[ROWS], .cols = m->shape.warp[COLS]};
    t.wide = m->shape.wide;
    t.rounded = m->shape.rounded;
    for (int d = 0; d < N_SIDES; d++) {
        t.pitch[d] = t.wide ? KTILE_PANEL : pitch_of(m, d);
        t.tall[d] = t.wide ? rows_of(m, d) : 0;
        t.turned[d] = m->factor[d].turned;
    }
    return t;
}

/* The half of the fragments that the step k of a tile has, which follows on the last one's. */
static int half_of(const Matrix *m, int step)
{
    return m->shape.wide ? 0 : step % 2;
}

static int steps_of(const Matrix *m)
{
    return m->shape.blocks.depth / ktile_depth(m->shape.elem);
}

/* Loads what the step of the tile in that stage multiplies. */
static void load_fragments(const Matrix *m, const KExp *stage, int step)
{
    KGen *kg = m->kg;
    KStm s = {.kind = KST_FRAGMENTS, .buf = m->tiles, .with = m->fragments, .tile = tile_shape(m)};
    s.tile.half = half_of(m, step);
    s.tile.k = step * ktile_depth(s.tile.elem);
    for (int d = 0; d < N_SIDES; d++) {
        s.x[d] = tile_at(m, d, stage);
        vec_push(kg->cx->perm, &s.args, m->warp[d]);
    }
    kb_stm(kg->kb, s);
}

static void multiply(const Matrix *m, int step)
{
    KTile shape = tile_shape(m);
    shape.half = half_of(m, step);
    shape.k = m->shape.wide ? step * ktile_depth(shape.elem) : 0;
    shape.last = m->shape.wide && step == steps_of(m) - 1;
    tile_multiply(m->kg, m->fragments, m->acc[0], &shape);
}

/* The stage that has tile t. */
static const KExp *stage_at(const Matrix *m, const KExp *t)
{
    KGen *kg = m->kg;
    return kb_let(kg->kb, "stage", kg_rem(kg, t, kg_int(kg, m->shape.stages)));
}

/* Copies tile t to its stage, if it is one of the n. */
static void copy_next(const Matrix *m, const KExp *t, const KExp *n)
{
    KGen *kg = m->kg;
    kb_if(kg->kb, kg_lt(kg, t, n));
    copy_tiles(m, stage_at(m, t),
               kg_add(kg, m->share.from, kg_mul(kg, t, kg_int(kg, m->shape.blocks.depth))));
    kb_end(kg->kb);
}

/* Until tile t is there. What was read of the one before is then free. */
static void next_tile(const Matrix *m)
{
    tile_round(m->kg, m->shape.stages - 2);
    tile_meet(m->kg);
}

/* What a step takes is loaded before the step before it is multiplied; for the last one of a tile,
 * that is in the next tile. */
static void multiply_tile(const Matrix *m, const KExp *t, const KExp *n)
{
    KGen *kg = m->kg;
    int steps = steps_of(m), ahead = m->shape.stages - 1;
    const KExp *read = stage_at(m, t);
    for (int step = 0; step < steps; step++) {
        if (step == steps - 1) {
            read = stage_at(m, kg_add(kg, t, kg_int(kg, 1)));
            next_tile(m);
        }
        load_fragments(m, read, (step + 1) % steps);
        if (step == 0)
            copy_next(m, kg_add(kg, t, kg_int(kg, ahead)), n);
        multiply(m, step);
    }
}

static void multiply_wide(const Matrix *m, const KExp *t, const KExp *n)
{
    KGen *kg = m->kg;
    const KExp *read = stage_at(m, t);
    tile_round(kg, m->shape.stages - 2);
    tile_expose(kg);
    tile_meet(kg);
    for (int step = 0; step < steps_of(m); step++) {
        load_fragments(m, read, step);
        multiply(m, step);
    }
    copy_next(m, kg_add(kg, t, kg_int(kg, m->shape.stages - 1)), n);
    tile_settle(kg, m->acc[0]);
}

static void reduce_block(const Matrix *m)
{
    KGen *kg = m->kg;
    KBuild *b = kg->kb;
    int stages = m->shape.stages, depth = m->shape.blocks.depth;
    for (int t = 0; t < stages - 1; t++) {
        if (t > 0)
            tile_round(m->kg, stages);
        copy_tiles(m, kg_int(kg, t), kg_add(kg, m->share.from, kg_int(kg, t * depth)));
    }
    if (!m->shape.wide) {
        next_tile(m);
        load_fragments(m, kg_int(kg, 0), 0);
    }
    const KExp *left = kg_add(kg, kg_sub(kg, m->share.to, m->share.from), kg_int(kg, depth - 1));
    const KExp *n = kb_let(b, "n", kg_quot(kg, kg_max(kg, left, kg_int(kg, 0)), kg_int(kg, depth)));
    const KExp *t = kb_for(b, "t", kg_int(kg, 0), n, kg_int(kg, 1));
    (m->shape.wide ? multiply_wide : multiply_tile)(m, t, n);
    kb_end(b);
    tile_round(m->kg, 0);
    tile_meet(m->kg);
}

/* --- Results --------------------------------------------------------------------------------- */

static const KExp *open_each(KGen *kg, int n)
{
    const KExp *i = kb_for(kg->kb, "i", kg_int(kg, 0), kg_int(kg, n), kg_int(kg, 1));
    kg_loop_unroll(kg, n);
    return i;
}

/* Sums of the block, in the place of its tiles, from which they are stored: as the units leave them
 * in lanes, neighbours would be written apart. */
static KBuf *sums_of_block(const Matrix *m)
{
    KGen *kg = m->kg;
    KBuf *sums = kb_buf_new(kg->kb, "sums", KS_LOCAL, T_F32);
    sums->of = m->tiles;
    kb_stm(kg->kb, (KStm){.kind = KST_VIEW, .buf = sums});
    return sums;
}

/* Elements between the rows of these: with a gap, so that those of eight rows are in many banks. */
static int sums_pitch(const Shape *s)
{
    return s->blocks.size[COLS] + GAP;
}

/* The number, in the warp's part, of number `of` in a piece of eight rows or columns. Of f32 from
 * tiles that are turned, neighbours are in four pieces one after the other (KTile). */
static const KExp *in_pieces(const Matrix *m, int side, const KExp *piece, const KExp *of)
{
    KGen *kg = m->kg;
    enum { FOUR = 4 };
    const KExp *eight = kg_int(kg, KTILE_COLS), *four = kg_int(kg, FOUR);
    if (!m->factor[side].turned || m->shape.elem != T_F32)
        return kg_add(kg, kg_mul(kg, piece, eight), of);
    const KExp *at = kg_add(kg, kg_mul(kg, kg_quot(kg, piece, four), eight), of);
    return kg_add(kg, kg_mul(kg, at, four), kg_rem(kg, piece, four));
}

/* Of 16 x 8 sums a lane has two neighbours in row lane / 4, and two eight rows below. */
static void gather_sums(const Matrix *m, KBuf *sums)
{
    KGen *kg = m->kg;
    enum { QUAD = 4, PAIR = 2 };
    int cols = m->shape.warp[COLS] / KTILE_COLS;
    const KExp *quad = kg_int(kg, QUAD), *pair = kg_int(kg, PAIR), *none = kg_int(kg, 0);
    const KExp *in_row = in_pieces(m, COLS, none, kg_mul(kg, kg_rem(kg, m->lane, quad), pair));
    const KExp *row =
        kg_add(kg, m->warp[ROWS], in_pieces(m, ROWS, none, kg_quot(kg, m->lane, quad)));
    const KExp *pitch = kg_int(kg, sums_pitch(&m->shape)), *col = kg_add(kg, m->warp[COLS], in_row);
    const KExp *at = kb_let(kg->kb, "at", kg_add(kg, kg_mul(kg, row, pitch), col));
    const KExp *i = open_each(kg, m->shape.warp[ROWS] / KTILE_ROWS), *j = open_each(kg, cols);
    const KExp *low = open_each(kg, PAIR), *beside = open_each(kg, PAIR);
    const KExp *below = in_pieces(m, ROWS, kg_add(kg, kg_mul(kg, i, pair), low), none);
    const KExp *right = in_pieces(m, COLS, j, beside);
    const KExp *piece = kg_add(kg, kg_mul(kg, i, kg_int(kg, cols)), j);
    const KExp *cell =
        kg_add(kg, kg_mul(kg, piece, quad), kg_add(kg, kg_mul(kg, low, pair), beside));
    kb_store(kg->kb, sums, kg_add(kg, at, kg_add(kg, kg_mul(kg, below, pitch), right)),
             kb_load(kg->kb, "x", m->acc[0], cell));
    for (int d = 0; d < 4; d++)
        kb_end(kg->kb);
}

enum { TOGETHER = 4 }; /* neighbours that a thread stores as a vector */

/* The column of the thread's first elements, of so many neighbours, in the block. */
static const KExp *column(const Matrix *m, int together)
{
    KGen *kg = m->kg;
    const KExp *cols = kg_int(kg, m->shape.blocks.size[COLS] / together);
    return kg_mul(kg, kg_rem(kg, m->thread, cols), kg_int(kg, together));
}

/* The rows of the thread's elements, `step` apart, as many as there are; so many neighbours in
 * each. */
typedef struct {
    KTurns turns;
    int step;
    const KExp *row, *from; /* the first one: in the block, of all */
} Cells;

static Cells cells_of_thread(const Matrix *m, int together)
{
    KGen *kg = m->kg;
    int cols = m->shape.blocks.size[COLS] / together, apart = threads_of(&m->shape) / cols;
    const KExp *step = kg_int(kg, apart), *row = kg_quot(kg, m->thread, kg_int(kg, cols));
    Cells c = {.step = apart, .row = row};
    c.from = kb_let(kg->kb, "from", kg_add(kg, m->first[ROWS], row));
    const KExp *left = kg_sub(kg, kg_atom(kg, m->s.dim[ROWS]->width), c.from);
    const KExp *n =
        kg_quot(kg, kg_max(kg, kg_add(kg, left, kg_int(kg, apart - 1)), kg_int(kg, 0)), step);
    n = kb_let(kg->kb, "n", kg_min(kg, n, kg_int(kg, m->shape.blocks.size[ROWS] / apart)));
    c.turns = kg_turns(kg, n, together);
    return c;
}

/* Binds the element at hand; where its sum is. */
static const KExp *bind_cell(const Matrix *m, const Cells *c)
{
    KGen *kg = m->kg;
    const Nest *nest = &m->r->e->seg.nest;
    const KExp *below = kg_mul(kg, kx_var(kg->cx->perm, c->turns.turn), kg_int(kg, c->step));
    const KExp *beside = kx_var(kg->cx->perm, c->turns.beside);
    const KExp *col = kg_add(kg, column(m, c->turns.together), beside);
    const KExp *at[N_SIDES] = {
        [ROWS] = kg_add(kg, c->from, below), [COLS] = kg_add(kg, m->first[COLS], col)};
    for (int d = m->r->depth - 2; d < m->r->depth; d++)
        nest_bind_dim(kg, &nest->at[d], at[&nest->at[d] == m->s.dim[ROWS] ? ROWS : COLS]);
    const KExp *pitch = kg_int(kg, sums_pitch(&m->shape));
    return kg_add(kg, kg_mul(kg, kg_add(kg, c->row, below), pitch), col);
}

static void store_parts(const Matrix *m, KBuf *sums)
{
    KBlock one = {0};
    Cells c = cells_of_thread(m, 1);
    kb_enter(m->kg->kb, &one);
    sums_store_parts(m->kg, m->r, m->pieces, m->share.piece, &sums, bind_cell(m, &c), 1);
    kb_end(m->kg->kb);
    kg_take_turns(m->kg, &c.turns, &one);
}

static void store_results(const Matrix *m, const KLoc *outs, KBuf *sums, int together)
{
    KBlock one = {0};
    Cells c = cells_of_thread(m, together);
    kb_enter(m->kg->kb, &one);
    sums_store(m->kg, m->r, outs, &sums, bind_cell(m, &c));
    kb_end(m->kg->kb);
    kg_take_turns(m->kg, &c.turns, &one);
}

/* x, which is a multiple of TOGETHER if *all then is true, as one that is seen to be. */
static const KExp *multiple(const Matrix *m, const KExp *x, const KExp **all)
{
    KGen *kg = m->kg;
    const KExp *n = sx_const(kg->cx, TOGETHER);
    const KExp *rest = kg_rem(kg, kg_at(kg, x), kg_int(kg, TOGETHER));
    *all = kg_and(kg, *all, kg_eq(kg, rest, kg_int(kg, 0)));
    return sx_mul(kg->cx, sx_op(kg->cx, SX_DIV, x, n), n);
}

/* The results, of which neighbours are vectors where all is true; NULL: not seen to be anywhere. */
static const KLoc *as_vectors(const Matrix *m, const KLoc *outs, const KExp **all)
{
    KGen *kg = m->kg;
    Arena *a = kg->cx->perm;
    int n = m->r->stm->pat.n, depth = m->r->depth;
    KLoc *some = NEWN(a, KLoc, n);
    int cols = m->s.dim[COLS] == &m->r->e->seg.nest.at[depth - 1] ? depth - 1 : depth - 2;
    *all = kg_eq(kg, kg_rem(kg, kg_atom(kg, m->s.dim[COLS]->width), kg_int(kg, TOGETHER)),
                 kg_int(kg, 0));
    for (int i = 0; i < n; i++) {
        some[i] = outs[i];
        if (outs[i].computed || !kx_is_int(outs[i].at.strides[cols], 1))
            return NULL;
        const KExp **strides = NEWN(a, const KExp *, depth);
        for (int d = 0; d < depth; d++)
            strides[d] =
                d == cols ? outs[i].at.strides[d] : multiple(m, outs[i].at.strides[d], all);
        some[i].at = (Lmad){multiple(m, outs[i].at.offset, all), strides};
    }
    return some;
}

static void store_block(const Matrix *m, const KLoc *outs)
{
    KGen *kg = m->kg;
    int mark = ranges_mark(kg->known);
    kb_open_block(kg->kb);
    KBuf *sums = sums_of_block(m);
    gather_sums(m, sums);
    tile_meet(kg);
    const KExp *cols = kg_atom(kg, m->s.dim[COLS]->width), *all;
    const KExp *there = kg_lt(kg, kg_add(kg, m->first[COLS], column(m, 1)), cols);
    if (m->pieces) {
        kb_if(kg->kb, kg_lt(kg, kg_int(kg, 1), kg_host(kg, m->pieces->pieces)));
        kb_if(kg->kb, there);
        store_parts(m, sums);
        kb_end(kg->kb);
        kb_else(kg->kb);
    }
    const KLoc *some = as_vectors(m, outs, &all);
    if (some) {
        kb_if(kg->kb, all);
        kb_if(kg->kb, kg_lt(kg, kg_add(kg, m->first[COLS], column(m, TOGETHER)), cols));
        store_results(m, some, sums, TOGETHER);
        kb_end(kg->kb);
        kb_else(kg->kb);
    }
    kb_if(kg->kb, there);
    store_results(m, outs, sums, 1);
    kb_end(kg->kb);
    for (int i = 0; i < (some != NULL) + (m->pieces != NULL); i++)
        kb_end(kg->kb);
    ranges_reset(kg->known, mark);
    tile_meet(kg);
    kb_end(kg->kb);
}

/* --- The kernel ------------------------------------------------------------------------------ */

static void number_threads(Matrix *m)
{
    KGen *kg = m->kg;
    int warps = m->shape.blocks.size[COLS] / m->shape.warp[COLS];
    m->thread = kb_let(kg->kb, "thread", kg_rem(kg, kg->lid, kg_int(kg, threads_of(&m->shape))));
    const KExp *lanes = kg_int(kg, KTILE_LANES), *beside = kg_int(kg, warps);
    const KExp *warp = kb_let(kg->kb, "warp", kg_quot(kg, m->thread, lanes));
    m->lane = kb_let(kg->kb, "lane", kg_rem(kg, m->thread, lanes));
    const KExp *part[N_SIDES] = {kg_quot(kg, warp, beside), kg_rem(kg, warp, beside)};
    for (int d = 0; d < N_SIDES; d++)
        m->warp[d] = kb_let(kg->kb, "part", kg_mul(kg, part[d], kg_int(kg, m->shape.warp[d])));
}

static Matrix matrix_of(PlanBuild *pb, const Sums *r, const ArrLoc *outs, const Shape *shape)
{
    KGen *kg = kg_new(pb, "segmatrix", r->e);
    Matrix m = {.s = sides_of(kg, r, outs), .kg = kg, .r = r, .shape = *shape};
    m.shape.blocks.depth = DEPTH_BYTES / prim_type_bytes[shape->elem];
    return m;
}

/* Begins the kernel. Host: 1 where it can be used, else 0; NULL: nowhere. */
static const KExp *open_kernel(Matrix *m)
{
    KGen *kg = m->kg;
    kg->group_size = sx_const(kg->cx, threads_of(&m->shape));
    kg->declares = true;
    kg->at = m->r->e->loc;
    kg_if_teams(kg);
    number_threads(m);
    m->share = blocking_open(&m->s, &m->shape.blocks, m->pieces, m->first);
    return sides_find(&m->s) && is_product(&m->s, m->shape.elem) ? find_factors(m) : NULL;
}

static Kernel *matrix_kernel(Matrix *m, const ArrLoc *outs)
{
    KGen *kg = m->kg;
    int64_t n = (int64_t)stage_of(&m->shape) * m->shape.stages;
    int64_t sums = (int64_t)m->shape.blocks.size[ROWS] * sums_pitch(&m->shape);
    ASSERT(m->shape.stages > 1); /* see reduce_block */
    ASSERT(m->shape.blocks.depth > ktile_depth(m->shape.elem));
    ASSERT(!m->shape.wide || n * prim_type_bytes[m->shape.elem] > KTILE_WIDE_BYTES);
    ASSERT(sums * prim_type_bytes[T_F32] <= n * prim_type_bytes[m->shape.elem]);
    m->tiles = kg_param_local(kg, "tiles", m->shape.elem, sx_const(kg->cx, n));
    m->tiles->align = TILE_ALIGN;
    for (int d = 0; d < N_SIDES; d++)
        locate(m, d);
    KTile shape = tile_shape(m);
    m->fragments = kb_array(kg->kb, "fragments", T_U32, ktile_words(&shape));
    m->acc = sums_accs(kg, m->r, cells_of(&m->shape));
    reduce_block(m);
    store_block(m, seg_outs(kg, m->r->stm, 0, outs));
    kb_end(kg->kb);
    kb_end(kg->kb);
    return kg_finish(kg);
}

/* Opens the branch of a shape. */
static void shape_branch(PlanBuild *pb, Matrix *m, const ArrLoc *outs)
{
    Ctx *cx = pb->cx;
    const Blocking *b = &m->shape.blocks;
    const KExp *want = pb_let(pb, "want", blocking_pieces(&m->s, b));
    Pieces p = sums_cut(pb, m->r, want, b->depth);
    m->pieces = &p;
    const KExp *can = open_kernel(m);
    ASSERT(can);
    Kernel *k = matrix_kernel(m, outs);
    const char *when =
        arena_printf(cx->perm, "blocks of %d x %d are well filled and keep the matrix units busy",
                     b->size[ROWS], b->size[COLS]);
    pb_choose(pb, "segmatrix",
              sx_op(cx, SX_MIN, can, tile_units(cx, threads_of(&m->shape), m->shape.wide)),
              blocking_worth(&m->s, b, want), when);
    pb_if_fits(pb, (Fit){k, m->kg->group_size, kg_local_bytes(m->kg)});
    sums_alloc(pb, m->r, &p);
    kg_launch(m->kg, k,
              nest_groups(m->kg, sx_mul(cx, blocking_count(&m->s, b), p.pieces), sx_const(cx, 1)));
    pb_if_more(pb, p.pieces, 1);
    sums_combine(pb, m->r, &p, outs);
    pb_end(pb);
}

int segmatrix_branches(PlanBuild *pb, const Sums *r, const ArrLoc *outs)
{
#define LARGE .piece = 512, .least = 64, .groups = 1, .fill = 60, .full = 60
#define SMALL .size = {64, 64}, .piece = 512, .least = 9, .groups = 2, .fill = 10
    static const Shape shapes[] = {
        {.elem = T_F16,
         .blocks = {.size = {128, 256}, LARGE},
         .warp = {16, 256},
         .stages = 4,
         .wide = true},
        {.elem = T_F16, .blocks = {.size = {128, 256}, LARGE}, .warp = {64, 64}, .stages = 3},
        {.elem = T_F32,
         .rounded = true,
         .blocks = {.size = {128, 256}, LARGE},
         .warp = {64, 64},
         .stages = 3},
        {.elem = T_F32, .blocks = {.size = {128, 128}, LARGE}, .warp = {32, 64}, .stages = 3},
        {.elem = T_F32, .blocks = {.size = {128, 64}, LARGE}, .warp = {32, 64}, .stages = 3},
        {.elem = T_F16, .blocks = {SMALL}, .warp = {32, 32}, .stages = 4},
        {.elem = T_F32, .rounded = true, .blocks = {SMALL}, .warp = {32, 32}, .stages = 4},
        {.elem = T_F32, .blocks = {SMALL}, .warp = {32, 32}, .stages = 4},
        {.elem = T_F16, .blocks = {SMALL}, .warp = {32, 32}, .stages = 3, .anywhere = true},
        {.elem = T_F32,
         .rounded = true,
         .blocks = {SMALL},
         .warp = {32, 32},
         .stages = 3,
         .anywhere = true},
        {.elem = T_F32, .blocks = {SMALL}, .warp = {32, 32}, .stages = 3, .anywhere = true},
    };
#undef LARGE
#undef SMALL
    if (r->depth < 2 || !sums_can_cut(pb->cx, r))
        return 0;
    int n = 0;
    for (int i = 0; i < (int)(sizeof shapes / sizeof *shapes); i++) {
        const Shape *s = &shapes[i];
        if (s->elem == T_F32 && s->rounded != pb->plan->fast_math)
            continue;
        Matrix tried = matrix_of(pb, r, outs, s);
        if (!open_kernel(&tried))
            continue;
        Matrix m = matrix_of(pb, r, outs, s);
        shape_branch(pb, &m, outs);
        pb_else(pb);
        n++;
    }
    return n;
}
