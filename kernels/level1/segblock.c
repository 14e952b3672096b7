/* Reductions for elements of a nest, on devices whose work-items work for themselves: CPUs. The
 * same constructs as in segtile.c and segshare.c.
 *
 * A work-item has a block of elements: rows and up to COLUMNS columns where arrays vary with one of
 * two dimensions (sides.c), else one row, that is, neighbours in the innermost dimension, whose
 * reductions are over the same arrays. The innermost loop is over the columns, so that the target's
 * compiler makes vectors of it, whatever the functions do, and makes R * U steps for each:
 *
 *     acc[rows][columns] := neutral elements                      private arrays
 *     for k0 = 0, D ..:
 *         tile[D][columns] := elements k0 .. k0+D-1 of the columns
 *         for R rows of the block, for U of these k:
 *             a[R][U] := those of the rows                        registers
 *             for j in the columns:
 *                 acc[i][j] := op(.. op(acc[i][j], f(a[i][0], tile[k][j])) ..)
 *     results := what the body makes of acc
 *
 * An accumulator is loaded and stored once for U steps, an element of a tile once for R rows: then
 * arithmetic takes longer than memory. (R * U accumulators in registers, the loop over k inside, is
 * what other authors do; but for that the compiler has to make vectors of straight code, and the
 * one of the usual OpenCL driver does not.) Tiles lie by columns whatever lies side by side in
 * memory. Each element is reduced in order. */
#include "kernels/level1/sums.h"

enum {
    COLUMNS = 128,
    MOST_ROWS = 64,          /* of a block; acc and tiles stay in the first and second cache */
    DEPTH = 32,              /* D */
    MOST_EACH = 4,           /* R, U */
    MOST_APPLICATIONS = 128, /* statements of f and op in straight code */
    BLOCK_BYTES = 64 * 1024, /* of acc and tiles; halves of COLUMNS until they fit */
    BLOCKS = 8,              /* wanted for a compute unit */
    LEAST_ELEMENTS = 16      /* of all blocks */
};

typedef struct {
    KGen *kg;
    const Sums *r;
    Sides *s;                   /* NULL: a block is a row, */
    Vars mine;                  /* ... of elements of which f knows these */
    KBuf **own;                 /* their values */
    Share share;                /* the block at work */
    int columns;                /* that blocks have, at most */
    int reg, steps;             /* R, U */
    const KExp *height;         /* host: rows of a block, a multiple of R */
    const KExp *first[N_SIDES]; /* row and column of the block's first element */
    const KExp *count[N_SIDES]; /* how many it has */
    KBuf **acc;
} Block;

static const NestDim *dim_of(const Block *t, int side)
{
    return t->s ? t->s->dim[side] : sums_inner(t->r);
}

static int64_t most_rows(const Block *t)
{
    return t->s ? MOST_ROWS : 1;
}

/* --- Columns --------------------------------------------------------------------------------- */

static const KExp *each_column(Block *t)
{
    return kb_for(t->kg->kb, "j", kg_int(t->kg, 0), t->count[COLS], kg_int(t->kg, 1));
}

static const KExp *cell_at(const Block *t, const KExp *row, const KExp *j)
{
    return kg_add(t->kg, kg_mul(t->kg, row, kg_int(t->kg, t->columns)), j);
}

/* tile := the elements of the columns at the k from k0 on, so many. */
static void load_tile(Block *t, const Operand *o, const KExp *k0, const KExp *depth, bool along)
{
    KGen *kg = t->kg;
    KBuild *b = kg->kb;
    const KExp *zero = kg_int(kg, 0), *one = kg_int(kg, 1);
    const KExp *out = kb_for(b, along ? "j" : "k", zero, along ? t->count[COLS] : depth, one);
    const KExp *in = kb_for(b, along ? "k" : "j", zero, along ? depth : t->count[COLS], one);
    const KExp *k = along ? in : out, *j = along ? out : in;
    kg_let(kg, dim_of(t, COLS)->idx, kg_add(kg, t->first[COLS], j));
    kg_let(kg, t->r->k, kg_add(kg, k0, k));
    kb_store(b, o->tile, cell_at(t, k, j), loc_load(kg, "x", &o->from, NULL, 0));
    kb_end(b);
    kb_end(b);
}

/* Elements that lie side by side in memory are loaded one after the other. */
static void load_tiles(Block *t, const KExp *k0, const KExp *depth)
{
    KGen *kg = t->kg;
    for (int i = 0; i < t->s->operands.n; i++) {
        const Operand *o = &t->s->operands.at[i];
        if (o->side != COLS)
            continue;
        const KExp *along = kx_eq(kg->cx->perm, kg_host(kg, o->step), kg_int(kg, 1));
        kb_if(kg->kb, along);
        load_tile(t, o, k0, depth, true);
        kb_else(kg->kb);
        load_tile(t, o, k0, depth, false);
        kb_end(kg->kb);
    }
}

/* own := what f knows of the columns. */
static void load_own(Block *t)
{
    KGen *kg = t->kg;
    int mark = ranges_mark(kg->known);
    const KExp *j = each_column(t);
    nest_bind_dim(kg, dim_of(t, COLS), kg_add(kg, t->first[COLS], j));
    sums_before(kg, t->r);
    for (int v = 0; v < t->mine.n; v++)
        kb_store(kg->kb, t->own[v], j, kg_atom(kg, atom_var(t->mine.at[v])));
    kb_end(kg->kb);
    ranges_reset(kg->known, mark);
}

/* --- Accumulating ---------------------------------------------------------------------------- */

/* What f reads at some k in succession, by operand or array, row and k. */
typedef struct {
    const KExp *at[MOST_EACH][MOST_EACH];
} Read;

static const KExp *load_at_row(Block *t, const Operand *o, const KExp *row, const KExp *k)
{
    KGen *kg = t->kg;
    const NestDim *d = dim_of(t, ROWS);
    const KExp *last = kg_sub(kg, kg_atom(kg, d->width), kg_int(kg, 1));
    kg_let(kg, d->idx, kg_min(kg, kg_add(kg, t->first[ROWS], row), last));
    kg_let(kg, t->r->k, k);
    return loc_load(kg, "x", &o->from, NULL, 0);
}

/* ... and is the same for all columns. Rows beyond the end are clamped to the last. */
static Read *read_rows(Block *t, const KExp *i0, const KExp *k, int steps)
{
    KGen *kg = t->kg;
    Read *read = NEWN(kg->cx->perm, Read, t->s->operands.n);
    for (int n = 0; n < t->s->operands.n; n++) {
        const Operand *o = &t->s->operands.at[n];
        for (int i = 0; o->side != COLS && i < t->reg; i++)
            for (int u = 0; u < steps; u++)
                read[n].at[i][u] = o->side == N_SIDES && i > 0
                                       ? read[n].at[0][u]
                                       : load_at_row(t, o, kg_add(kg, i0, kg_int(kg, i)),
                                                     kg_add(kg, k, kg_int(kg, u)));
    }
    return read;
}

/* Adds what is the column's. */
static void read_columns(Block *t, Read *read, const KExp *k, int steps, const KExp *j)
{
    KGen *kg = t->kg;
    for (int n = 0; n < t->s->operands.n; n++) {
        const Operand *o = &t->s->operands.at[n];
        for (int u = 0; o->side == COLS && u < steps; u++) {
            const KExp *at = cell_at(t, kg_add(kg, k, kg_int(kg, u)), j);
            read[n].at[0][u] = kb_load(kg->kb, "x", o->tile, at);
            for (int i = 1; i < t->reg; i++)
                read[n].at[i][u] = read[n].at[0][u];
        }
    }
}

/* The scalars of the arrays over which all reduce. */
static Read *read_shared(Block *t, const KExp *k, int steps)
{
    KGen *kg = t->kg;
    const Sums *r = t->r;
    Read *read = NEWN(kg->cx->perm, Read, r->params->n);
    for (int p = 0; p < r->params->n; p++)
        for (int u = 0; r->params->at[p]->type.rank == 0 && u < steps; u++) {
            const KExp *at = kg_sx_of(kg, kg_add(kg, k, kg_int(kg, u)));
            read[p].at[0][u] = loc_load(kg, "x", kg_arr(kg, r->arrs->at[p].var), &at, 1);
        }
    return read;
}

/* The values of f at row i and step u, of which k is the number. */
static const KExp **apply_f(Block *t, const Read *read, int i, int u, const KExp *k)
{
    KGen *kg = t->kg;
    const Sums *r = t->r;
    const Body *f = t->s ? &t->s->rest : r->f;
    kg_let(kg, r->k, kg_add(kg, k, kg_int(kg, u)));
    for (int n = 0; t->s && n < t->s->operands.n; n++)
        kg_let(kg, t->s->operands.at[n].v, read[n].at[i][u]);
    for (int p = 0; !t->s && p < r->params->n; p++) {
        if (read[p].at[i][u])
            kg_let(kg, r->params->at[p], read[p].at[i][u]);
        else
            kg_bind_row(kg, r->params->at[p], r->arrs->at[p], sx_var(kg->cx, r->k));
    }
    kg_stms(kg, f);
    const KExp **x = NEWN(kg->cx->perm, const KExp *, r->nes->n);
    for (int j = 0; j < r->nes->n; j++)
        x[j] = kg_atom(kg, f->res.at[j]);
    return x;
}

/* acc of the R rows from i0 on: with the elements k .. k + steps - 1, of tiles that begin at k0. */
static void accumulate(Block *t, const KExp *i0, const KExp *k0, const KExp *k, int steps)
{
    KGen *kg = t->kg;
    int n = t->r->nes->n;
    Read *read = t->s ? read_rows(t, i0, k, steps) : read_shared(t, k, steps);
    const KExp *j = each_column(t), **x = NEWN(kg->cx->perm, const KExp *, n);
    if (t->s)
        read_columns(t, read, kg_sub(kg, k, k0), steps, j);
    for (int v = 0; v < t->mine.n; v++)
        kg_let(kg, t->mine.at[v], kb_load(kg->kb, "own", t->own[v], j));
    for (int i = 0; i < t->reg; i++) {
        const KExp *cell = cell_at(t, kg_add(kg, i0, kg_int(kg, i)), j);
        for (int a = 0; a < n; a++)
            x[a] = kb_load(kg->kb, "acc", t->acc[a], cell);
        for (int u = 0; u < steps; u++)
            x = sums_combined(kg, t->r, x, apply_f(t, read, i, u, k));
        for (int a = 0; a < n; a++)
            kb_store(kg->kb, t->acc[a], cell, x[a]);
    }
    kb_end(kg->kb);
}

/* ... with the elements from .. to-1. */
static void accumulate_all(Block *t, const KExp *i0, const KExp *from, const KExp *to)
{
    KGen *kg = t->kg;
    KBuild *b = kg->kb;
    const KExp *zero = kg_int(kg, 0), *one = kg_int(kg, 1), *some = kg_int(kg, t->steps);
    const KExp *len = kg_max(kg, zero, kg_sub(kg, to, from));
    const KExp *turns = kb_let(b, "turns", kg_quot(kg, len, some));
    const KExp *turn = kb_for(b, "turn", zero, turns, one);
    accumulate(t, i0, from, kb_let(b, "k", kg_add(kg, from, kg_mul(kg, turn, some))), t->steps);
    kb_end(b);
    if (t->steps > 1) {
        const KExp *k = kb_for(b, "k", kg_add(kg, from, kg_mul(kg, turns, some)), to, one);
        accumulate(t, i0, from, k, 1);
        kb_end(b);
    }
}

static void reduce_block(Block *t)
{
    KGen *kg = t->kg;
    KBuild *b = kg->kb;
    if (!t->s) {
        accumulate_all(t, kg_int(kg, 0), t->share.from, t->share.to);
        return;
    }
    const KExp *deep = kg_int(kg, DEPTH), *k0 = kb_for(b, "k", t->share.from, t->share.to, deep);
    const KExp *depth = kb_let(b, "depth", kg_min(kg, deep, kg_sub(kg, t->share.to, k0)));
    load_tiles(t, k0, depth);
    const KExp *i0 = kb_for(b, "i", kg_int(kg, 0), t->count[ROWS], kg_int(kg, t->reg));
    accumulate_all(t, i0, k0, kg_add(kg, k0, depth));
    kb_end(b);
    kb_end(b);
}

/* --- The kernel ------------------------------------------------------------------------------ */

/* Host: blocks along a side, the last of which may be cut; all blocks. */
static const KExp *blocks_along(const Block *t, int side)
{
    Ctx *cx = t->kg->cx;
    const KExp *width = sx_atom(cx, dim_of(t, side)->width);
    return sx_op(cx, SX_CEILDIV, width, side == ROWS ? t->height : sx_const(cx, t->columns));
}

/* Dimensions around those of a block. */
static int around(const Block *t)
{
    return t->r->depth - (t->s ? 2 : 1);
}

static const KExp *blocks_across(const Block *t)
{
    Ctx *cx = t->kg->cx;
    return sx_mul(cx, nest_size(cx, &t->r->e->seg.nest, 0, around(t)), blocks_along(t, COLS));
}

static const KExp *blocks_in_all(const Block *t)
{
    const KExp *n = blocks_across(t);
    return t->s ? sx_mul(t->kg->cx, n, blocks_along(t, ROWS)) : n;
}

/* Locates the block on a side, of which `rest` blocks are numbered; those of the other sides. */
static const KExp *locate(Block *t, int side, const KExp *rest)
{
    KGen *kg = t->kg;
    KBuild *b = kg->kb;
    const KExp *n = kg_host(kg, blocks_along(t, side));
    const KExp *size = side == ROWS ? kg_host(kg, t->height) : kg_int(kg, t->columns);
    const KExp *q = kb_let(b, "q", kg_quot(kg, rest, n));
    const KExp *width = kg_atom(kg, dim_of(t, side)->width);
    t->first[side] = kb_let(b, "first", kg_mul(kg, kg_sub(kg, rest, kg_mul(kg, q, n)), size));
    t->count[side] = kb_let(b, "count", kg_min(kg, size, kg_sub(kg, width, t->first[side])));
    return q;
}

static void open_blocks(Block *t)
{
    KGen *kg = t->kg;
    t->share = sums_open_share(kg, t->r, blocks_in_all(t), NULL);
    const KExp *rest = locate(t, COLS, t->share.block);
    t->count[ROWS] = kg_int(kg, 1);
    if (t->s)
        rest = locate(t, ROWS, rest);
    nest_bind_range(kg, &t->r->e->seg.nest, 0, around(t), rest);
}

static void declare_buffers(Block *t)
{
    KGen *kg = t->kg;
    const Sums *r = t->r;
    t->acc = NEWN(kg->cx->perm, KBuf *, r->nes->n);
    for (int a = 0; a < r->nes->n; a++)
        t->acc[a] =
            kb_array(kg->kb, "acc", r->op->params.at[a]->type.elem, most_rows(t) * t->columns);
    for (int i = 0; t->s && i < t->s->operands.n; i++) {
        Operand *o = &t->s->operands.at[i];
        if (o->side == COLS)
            o->tile = kb_array(kg->kb, "tile", o->v->type.elem, (int64_t)DEPTH * t->columns);
    }
    t->own = NEWN(kg->cx->perm, KBuf *, t->mine.n);
    for (int v = 0; v < t->mine.n; v++)
        t->own[v] = kb_array(kg->kb, "own", t->mine.at[v]->type.elem, t->columns);
}

static void clear_accs(Block *t)
{
    KGen *kg = t->kg;
    const KExp *rows = t->s ? kg_host(kg, t->height) : kg_int(kg, 1);
    const KExp *i = kb_for(kg->kb, "i", kg_int(kg, 0), rows, kg_int(kg, 1)), *j = each_column(t);
    for (int a = 0; a < t->r->nes->n; a++)
        kb_store(kg->kb, t->acc[a], cell_at(t, i, j), kg_atom(kg, t->r->nes->at[a]));
    kb_end(kg->kb);
    kb_end(kg->kb);
}

static void store_block(Block *t, const KLoc *outs)
{
    KGen *kg = t->kg;
    const Nest *nest = &t->r->e->seg.nest;
    int mark = ranges_mark(kg->known);
    const KExp *i = kb_for(kg->kb, "i", kg_int(kg, 0), t->count[ROWS], kg_int(kg, 1));
    const KExp *j = each_column(t);
    for (int d = around(t); d < t->r->depth; d++) {
        bool row = t->s && &nest->at[d] == dim_of(t, ROWS);
        const KExp *at = kg_add(kg, t->first[row ? ROWS : COLS], row ? i : j);
        nest_bind_dim(kg, &nest->at[d], kb_let(kg->kb, "at", at));
    }
    sums_store(kg, t->r, outs, t->acc, cell_at(t, i, j));
    kb_end(kg->kb);
    kb_end(kg->kb);
    ranges_reset(kg->known, mark);
}

/* NULL where what f reads is not as it must be. */
static Kernel *block_kernel(Block *t, const ArrLoc *outs)
{
    KGen *kg = t->kg;
    kg->group_size = sx_const(kg->cx, 1);
    kg->at = t->r->e->loc;
    kg_if_single(kg);
    open_blocks(t);
    if (t->s && !sides_find(t->s))
        return NULL;
    declare_buffers(t);
    clear_accs(t);
    if (!t->s)
        load_own(t);
    reduce_block(t);
    store_block(t, seg_outs(kg, t->r->stm, 0, outs));
    kb_end(kg->kb);
    kb_end(kg->kb);
    return kg_finish(kg);
}

/* --- The launch ------------------------------------------------------------------------------ */

/* R and U, so that straight code remains short; columns, so that buffers remain small. */
static void choose_shape(Block *t)
{
    const Sums *r = t->r;
    int stms = 1 + r->f->stms.n + r->op->body->stms.n, bytes = (int)most_rows(t) * sums_bytes(r);
    t->reg = t->s ? MOST_EACH : 1;
    t->steps = MOST_EACH;
    while (t->steps > 1 && t->reg * t->steps * stms > MOST_APPLICATIONS)
        t->steps /= 2;
    while (t->reg > 1 && t->reg * stms > MOST_APPLICATIONS)
        t->reg /= 2;
    for (int p = 0; t->s && p < r->params->n; p++)
        bytes += DEPTH * prim_type_bytes[r->params->at[p]->type.elem];
    t->columns = COLUMNS;
    while (t->columns > LEAST_ELEMENTS && bytes * t->columns > BLOCK_BYTES)
        t->columns /= 2;
}

/* Rows of a block: fewer where there would be too few blocks. */
static const KExp *height_of(const Block *t)
{
    Ctx *cx = t->kg->cx;
    const KExp *one = sx_const(cx, 1), *reg = sx_const(cx, t->reg);
    const KExp *want = sx_mul(cx, sx_size(cx, SIZE_COMPUTE_UNITS), sx_const(cx, BLOCKS));
    want = sx_op(cx, SX_DIV, want, sx_op(cx, SX_MAX, blocks_across(t), one));
    want = sx_op(cx, SX_MAX, want, one);
    const KExp *rows = sx_op(cx, SX_CEILDIV, sx_atom(cx, dim_of(t, ROWS)->width), want);
    rows = sx_mul(cx, sx_op(cx, SX_CEILDIV, rows, reg), reg);
    return sx_op(cx, SX_MAX, reg, sx_op(cx, SX_MIN, rows, sx_const(cx, MOST_ROWS)));
}

/* For some elements at least. */
static const KExp *worth_it(const Block *t)
{
    Ctx *cx = t->kg->cx;
    const KExp *elems = nest_size(cx, &t->r->e->seg.nest, 0, t->r->depth);
    return cost_percent(cx, elems, sx_const(cx, LEAST_ELEMENTS));
}

static const KExp *groups_of(const Block *t)
{
    Ctx *cx = t->kg->cx;
    const KExp *most = sx_mul(cx, sx_size(cx, SIZE_NUM_GROUPS), sx_size(cx, SIZE_PIECES));
    return sx_op(cx, SX_MIN, blocks_in_all(t), most);
}

static int open_branch(Block *t, const ArrLoc *outs)
{
    PlanBuild *pb = t->kg->pb;
    choose_shape(t);
    if (t->s)
        t->height = pb_let(pb, "height", height_of(t));
    Kernel *k = block_kernel(t, outs);
    if (!k)
        return 0;
    pb_choose(pb, "segblock", sx_single(pb->cx), worth_it(t),
              "there are 16 elements or more (where work-items have groups for themselves)");
    kg_launch(t->kg, k, groups_of(t));
    pb_else(pb);
    return 1;
}

int segblock_branch(PlanBuild *pb, const Sums *r, const ArrLoc *outs)
{
    if (r->depth >= 2) {
        KGen *kg = kg_new(pb, "segblock", r->e);
        Sides s = sides_of(kg, r, outs);
        if (open_branch(&(Block){.kg = kg, .r = r, .s = &s}, outs))
            return 1;
    }
    Block t = {.r = r};
    VarSet *inside = varmap_new(pb->cx->perm);
    sums_inside(r, r->depth - 1, inside);
    if (!each_find(pb->cx, r, inside, &t.mine))
        return 0;
    t.kg = kg_new(pb, "segblock", r->e);
    return open_branch(&t, outs);
}
