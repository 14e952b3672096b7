/* Attention in one pass over keys, by matrix units: a segmap^1 for rows, of which each is the chain
 * that ir/chains/attention.c finds (there is why this may be done, too).
 *
 *     segmap^1 .. <q_i in q> { out_i = softmax (f (q_i k^T)) v }
 *
 * A group has a block of rows, each of its warps some of them. It goes over tiles of keys, of which
 * the next one is copied meanwhile:
 *
 *     copy the block of q, tile 0 of k and v;  max = -inf, sum = 0, out = 0, for each row
 *     for tiles t = 0 ..:
 *         until tile t is there; barrier;  copy tile t+1
 *         s = f (q k^T)                           sums of the units, in registers
 *         m = max max s;  r = exp (max - m);  max = m
 *         p = exp (s - m)
 *         sum = sum * r + p summed;  out = out * r + f16 p v
 *     out = g (out / sum), where the program divides
 *
 * So no more than inputs and outputs is in memory. A lane has the sums of some columns of a row;
 * four neighbours, a quad, have all columns. They agree on the row's maximum in each tile, on its
 * sum in the end. The weights p change hands in local memory: the units want them otherwise than
 * they leave sums.
 *
 * Rows are padded to the shape's width by zeros, scores of keys beyond the end are -inf. As long as
 * a row has had no other scores, its maximum counts as 0, so that weights are 0 and not NaN; if it
 * never has, it is made NaN in the end, as exp (-inf - -inf) is.
 *
 * The shape is that of FlashAttention-2 (Dao, arXiv:2307.08691); measured: bench/results/h200/. */
#include "kernels/matrix/segattention.h"
#include "common/policy.h"

#include "ir/chains/attention.h"
#include "kernels/matrix/tiles.h"

#include <math.h>

enum {
    WARPS = 4,
    WARP_ROWS = 32,
    BLOCK = WARPS * WARP_ROWS,
    THREADS = WARPS * KTILE_LANES,
    STAGES = 2,
    PIECE = 64,                              /* columns that are multiplied at once */
    QUAD = 4,                                /* lanes that have a row's sums, */
    PAIR = 2,                                /* neighbours that each has in a row, of 8 columns */
    EIGHT = KTILE_ROWS / PAIR,               /* rows between those of a lane, */
    OWN = WARP_ROWS / EIGHT,                 /* which are so many */
    CELLS = WARP_ROWS * PIECE / KTILE_LANES, /* sums of a lane */
    MOST_PIECES = 2
};

typedef struct {
    int width; /* of rows of q, k and v, at most */
    int keys;  /* of a tile */
} Shape;

/* One of q, k and v, of which a tile has rows of `across` or, where it is turned, `along`. */
typedef struct {
    KLoc lies; /* an element, over the indices of rows, keys and columns */
    const Var *row;
    Atom n_rows, n_cols;
    const KExp *apart; /* host: rows, in memory */
    TileCopy copy;     /* as far as it is always the same */
} Factor;

typedef struct {
    KGen *kg;
    const Stm *stm;
    const Nest *nest;
    Attention a;
    const Body *score;
    Shape shape;
    const NestDim *rows;
    Var *key, *col; /* indices */
    Atom keys;
    Factor q, k, v;
    KBuf *tiles, *weights, *fragments;
    KBuf *s[MOST_PIECES], *out[MOST_PIECES]; /* sums, CELLS each */
    KBuf *max, *sum, *grown;                 /* of the lane's rows; grown: r */
    KBuf *pairs;                             /* the weights, two a word */
    KBuf *told;                              /* what a quad tells each other, without shuffles */
    const KExp *first;                       /* row of the block */
    const KExp *thread, *lane, *row, *pair;  /* row, column of the lane's first sum */
} Fused;

static int pieces_of_keys(const Fused *f)
{
    return f->shape.keys / PIECE;
}

static int pieces_of_cols(const Fused *f)
{
    return f->shape.width / PIECE;
}

/* Elements of tiles: the block of q, and a stage of k and v; of its weights. */
static int block_of(const Fused *f)
{
    return BLOCK * f->shape.width;
}

static int weights_of(const Fused *f)
{
    return BLOCK * f->shape.keys;
}

static int stage_of(const Fused *f)
{
    return 2 * f->shape.keys * f->shape.width;
}

static const KExp *real(KGen *kg, double x)
{
    return kg_atom(kg, atom_float(T_F32, x));
}

static const KExp *op2(KGen *kg, PrimOp op, const KExp *x, const KExp *y)
{
    return kx_prim2(kg->cx->perm, op, x, y);
}

/* exp x, x <= 0, as a power of 2, for which devices have an instruction: that errs by some 2^-24 *
 * |x| more, and weights are rounded to f16, where x < -17 makes 0. */
static const KExp *exp_of(KGen *kg, const KExp *x)
{
    KVar *power = kb_var_new(kg->kb, "power", ktype(T_F32));
    const KExp *of = op2(kg, OP_MUL, x, real(kg, M_LOG2E));
    kb_stm(kg->kb, (KStm){.kind = KST_POWER, .var = power, .x = {of}});
    return kg_of(kg, power);
}

/* --- What is read ---------------------------------------------------------------------------- */

/* Scalars and views of a row: those before the scores, or those behind. */
static void row_stms(const Fused *f, bool before)
{
    const Stms *ss = &f->a.body->stms;
    bool behind = false;
    for (int i = 0; i < ss->n; i++) {
        behind |= &ss->at[i] == f->a.scores;
        if (behind != before && !exp_has_soac(ss->at[i].exp))
            kg_stm(f->kg, &ss->at[i]);
    }
}

static KLoc element(const Fused *f, Atom arr, const Var *outer, const Var *inner)
{
    KGen *kg = f->kg;
    KLoc l = *kg_arr(kg, arr.var);
    if (outer)
        l = loc_row(kg, &l, 2, sx_var(kg->cx, outer));
    return loc_row(kg, &l, 1, sx_var(kg->cx, inner));
}

/* Finds where q, k and v lie, in code that is not kept. */
static void find_factors(Fused *f)
{
    KGen *kg = f->kg;
    const Exp *scores = f->a.scores->exp, *product = f->a.product->exp;
    Atom d = f->a.dot->exp->soac.width;
    KBlock aside = {0};
    int mark = ranges_mark(kg->known);
    kb_enter(kg->kb, &aside);
    nest_bind_dim(kg, f->rows, kg_int(kg, 0));
    row_stms(f, true);
    f->q = (Factor){.lies = element(f, f->a.q, NULL, f->col),
                    .row = f->rows->idx,
                    .n_rows = f->rows->width,
                    .n_cols = d};
    f->k = (Factor){.lies = element(f, scores->soac.arrs.at[f->a.key], f->key, f->col),
                    .row = f->key,
                    .n_rows = f->keys,
                    .n_cols = d};
    f->v = (Factor){.lies = element(f, product->soac.arrs.at[f->a.value], f->col, f->key),
                    .row = f->key,
                    .n_rows = f->keys,
                    .n_cols = product->soac.width};
    kb_end(kg->kb);
    ranges_reset(kg->known, mark);
}

static void add_all(VarSet *set, const Vars *vs)
{
    for (int i = 0; i < vs->n; i++)
        varset_add(set, vs->at[i]);
}

/* Host: 1 where tiles of it can be copied, else 0; NULL: nowhere. */
static const KExp *can_copy(const Fused *f, Factor *x)
{
    Ctx *cx = f->kg->cx;
    VarSet *inside = varmap_new(cx->perm);
    bool turned = x == &f->v, own = x == &f->q;
    for (int d = 0; d < f->nest->n; d++) {
        varset_add(inside, f->nest->at[d].idx);
        add_all(inside, &f->nest->at[d].xs);
    }
    bound_in_body(inside, f->a.body);
    Source s = {.elem = T_F16,
                .at = x->lies.at.offset,
                .nest = f->nest,
                .batch = f->nest->n - 1,
                .inside = inside,
                .across = turned ? f->col : x->row,
                .along = turned ? f->key : f->col,
                .n_across = turned ? x->n_cols : x->n_rows,
                .n_along = turned ? x->n_rows : x->n_cols,
                .turned = turned};
    const KExp *varies = tile_growth(cx, s.at, f->rows->idx);
    if (x->lies.computed || !varies || (!own && !kx_same(varies, sx_const(cx, 0))))
        return NULL;
    return tile_source(f->kg, &s, &x->apart);
}

/* Host: 1 where the atom is no more than the shape's width, else 0. */
static const KExp *is_narrow(const Fused *f, Atom n)
{
    Ctx *cx = f->kg->cx;
    const KExp *over = sx_sub(cx, sx_atom(cx, n), sx_const(cx, f->shape.width));
    over = sx_op(cx, SX_MAX, over, sx_const(cx, 0));
    return sx_select(cx, over, sx_const(cx, 0), sx_const(cx, 1));
}

static const KExp *can_fuse(Fused *f)
{
    Ctx *cx = f->kg->cx;
    find_factors(f);
    const KExp *can = tile_both(cx, is_narrow(f, f->q.n_cols), is_narrow(f, f->v.n_cols));
    can = tile_both(cx, can, can_copy(f, &f->q));
    can = tile_both(cx, can, can_copy(f, &f->k));
    return tile_both(cx, can, can_copy(f, &f->v));
}

/* --- Tiles ----------------------------------------------------------------------------------- */

static void locate(Fused *f, Factor *x, int rows)
{
    x->copy = (TileCopy){.tiles = f->tiles,
                         .mem = x->lies.mem,
                         .pitch = f->shape.width,
                         .rows = rows,
                         .threads = THREADS};
    tile_locate(f->kg, &x->copy, f->thread);
}

/* Copies a tile from row `first` on to the elements from `to` on. */
static void copy_tile(const Fused *f, const Factor *x, const KExp *first, const KExp *to)
{
    KGen *kg = f->kg;
    TileCopy c = x->copy;
    c.number = kb_let(kg->kb, "number", kg_add(kg, first, c.row));
    kb_open_block(kg->kb);
    kg_let(kg, x->row, c.number);
    kg_let(kg, f->col, c.begin);
    c.from = kb_let(kg->kb, "from", kg_at(kg, x->lies.at.offset));
    c.apart = kg_host(kg, x->apart);
    c.to = to;
    c.end = kg_atom(kg, x->n_rows);
    c.in_row = kg_lt(kg, c.begin, kg_atom(kg, x->n_cols));
    tile_copy(kg, &c);
    kb_end(kg->kb);
}

static const KExp *stage_at(const Fused *f, const KExp *t)
{
    KGen *kg = f->kg;
    const KExp *stage = kg_mul(kg, kg_rem(kg, t, kg_int(kg, STAGES)), kg_int(kg, stage_of(f)));
    return kb_let(kg->kb, "stage", kg_add(kg, kg_int(kg, block_of(f)), stage));
}

/* v of a stage, which begins with k. */
static const KExp *values_at(const Fused *f, const KExp *stage)
{
    return kg_add(f->kg, stage, kg_int(f->kg, stage_of(f) / 2));
}

static void copy_keys(const Fused *f, const KExp *t)
{
    KGen *kg = f->kg;
    const KExp *stage = stage_at(f, t), *first = kg_mul(kg, t, kg_int(kg, f->shape.keys));
    copy_tile(f, &f->k, first, stage);
    copy_tile(f, &f->v, first, values_at(f, stage));
}

/* What two tiles are multiplied: of `rows` the warp's, of `cols` pieces of columns. */
typedef struct {
    KBuf *rows, *cols;
    const KExp *rows_at, *cols_at;
    int pitch;   /* of rows */
    bool turned; /* cols */
} Product;

/* Loads what is multiplied from number k on: the warp's rows, or the columns from `col` on (-1: the
 * rows). */
static KTile load(const Fused *f, const Product *p, int k, int col)
{
    KGen *kg = f->kg;
    bool rows = col < 0;
    const KExp *lanes = kg_int(kg, KTILE_LANES), *zero = kg_int(kg, 0);
    const KExp *warp = kg_mul(kg, kg_quot(kg, f->thread, lanes), kg_int(kg, WARP_ROWS));
    KStm s = {.kind = KST_FRAGMENTS, .buf = rows ? p->rows : p->cols, .with = f->fragments};
    s.tile = (KTile){.elem = T_F16, .rows = WARP_ROWS, .cols = PIECE, .k = k};
    s.tile.pitch[0] = rows ? p->pitch : 0;
    s.tile.pitch[1] = rows ? 0 : f->shape.width;
    s.tile.turned[1] = p->turned;
    s.x[0] = rows ? p->rows_at : zero;
    s.x[1] = rows ? zero : p->cols_at;
    vec_push(kg->cx->perm, &s.args, rows ? warp : zero);
    vec_push(kg->cx->perm, &s.args, rows ? zero : kg_int(kg, col));
    kb_stm(kg->kb, s);
    return s.tile;
}

/* sums += the product, of so many numbers and pieces of columns. */
static void multiply(const Fused *f, const Product *p, int depth, int pieces, KBuf *const *sums)
{
    for (int k = 0; k < depth; k += ktile_depth(T_F16)) {
        load(f, p, k, -1);
        for (int i = 0; i < pieces; i++) {
            KTile shape = load(f, p, k, i * PIECE);
            tile_multiply(f->kg, f->fragments, sums[i], &shape);
        }
    }
}

/* --- Elements of a lane ---------------------------------------------------------------------- */

static const KExp *open_each(const Fused *f, int n)
{
    KGen *kg = f->kg;
    const KExp *i = kb_for(kg->kb, "i", kg_int(kg, 0), kg_int(kg, n), kg_int(kg, 1));
    kg_loop_unroll(kg, n);
    return i;
}

/* Opens the loop over the lane's rows; the number of one. */
static const KExp *open_rows(const Fused *f)
{
    return open_each(f, OWN);
}

/* A sum of the lane in one of them, of a piece. */
typedef struct {
    const KExp *cell, *col; /* its number, and column in the piece */
    const KExp *eight;      /* number of the eight columns in which it is */
} Cell;

/* Opens the loop over pairs of these, one of eight columns; the first one. */
static Cell open_pairs(const Fused *f, const KExp *own)
{
    KGen *kg = f->kg;
    const KExp *pair = kg_int(kg, PAIR), *in_row = kg_int(kg, PIECE / KTILE_COLS);
    const KExp *eight = open_each(f, PIECE / KTILE_COLS);
    const KExp *part = kg_add(kg, kg_mul(kg, kg_quot(kg, own, pair), in_row), eight);
    const KExp *in_part = kg_mul(kg, kg_rem(kg, own, pair), pair);
    return (Cell){kg_add(kg, kg_mul(kg, part, kg_int(kg, PAIR * PAIR)), in_part),
                  kg_add(kg, kg_mul(kg, eight, kg_int(kg, KTILE_COLS)), f->pair), eight};
}

static Cell open_cells(const Fused *f, const KExp *own)
{
    KGen *kg = f->kg;
    Cell c = open_pairs(f, own);
    const KExp *beside = open_each(f, PAIR);
    return (Cell){kg_add(kg, c.cell, beside), kg_add(kg, c.col, beside), c.eight};
}

static void close_cells(const Fused *f)
{
    kb_end(f->kg->kb);
    kb_end(f->kg->kb);
}

/* The row in the block. */
static const KExp *row_in_block(const Fused *f, const KExp *own)
{
    return kg_add(f->kg, f->row, kg_mul(f->kg, own, kg_int(f->kg, EIGHT)));
}

static void fill(const Fused *f, KBuf *buf, int n, double x)
{
    const KExp *i = open_each(f, n);
    kb_store(f->kg->kb, buf, i, real(f->kg, x));
    kb_end(f->kg->kb);
}

/* x of the lane's rows := op of those that the lanes of a quad have. */
static void agree(const Fused *f, KBuf *x, PrimOp op)
{
    KGen *kg = f->kg;
    KBuild *b = kg->kb;
    kb_if(b, kg_lt(kg, kg_int(kg, 1), kg_id(kg, KID_LANES)));
    const KExp *own = open_rows(f);
    const KExp *all = kb_load(b, "x", x, own);
    for (int step = 1; step < QUAD; step *= 2) {
        KVar *v = kb_var_new(b, "other", all->type);
        const KExp *lane = op2(kg, OP_XOR, f->lane, kg_int(kg, step));
        kb_stm(b, (KStm){.kind = KST_SHUFFLE, .var = v, .x = {all, lane}});
        all = kb_let(b, "x", op2(kg, op, all, kg_of(kg, v)));
    }
    kb_store(b, x, own, all);
    kb_end(b);
    kb_else(b);
    const KExp *rows = kg_int(kg, OWN);
    own = open_rows(f);
    kb_store(b, f->told, kg_add(kg, kg_mul(kg, f->thread, rows), own), kb_load(b, "x", x, own));
    kb_end(b);
    tile_meet(kg);
    own = open_rows(f);
    const KExp *quad = kg_mul(kg, kg_quot(kg, f->thread, kg_int(kg, QUAD)), kg_int(kg, QUAD));
    all = NULL;
    for (int i = 0; i < QUAD; i++) {
        const KExp *lane = kg_mul(kg, kg_add(kg, quad, kg_int(kg, i)), rows);
        const KExp *one = kb_load(b, "x", f->told, kg_add(kg, lane, own));
        all = all ? op2(kg, op, all, one) : one;
    }
    kb_store(b, x, own, all);
    kb_end(b);
    tile_meet(kg);
    kb_end(b);
}

/* --- Scores and weights ---------------------------------------------------------------------- */

/* Binds the row of that number, and what the row's body computes before the scores. Beyond the end
 * it is the last one. */
static void bind_row(const Fused *f, const KExp *own)
{
    KGen *kg = f->kg;
    const KExp *last = kg_sub(kg, kg_atom(kg, f->rows->width), kg_int(kg, 1));
    nest_bind_dim(kg, f->rows, kg_min(kg, kg_add(kg, f->first, row_in_block(f, own)), last));
    row_stms(f, true);
}

/* The score of the product x with key number j; beyond the end that is the last one, since the
 * program may read by it. */
static const KExp *score_of(const Fused *f, const KExp *x, const KExp *j)
{
    KGen *kg = f->kg;
    const Exp *e = f->a.scores->exp;
    const KExp *last = kg_sub(kg, kg_atom(kg, f->keys), kg_int(kg, 1));
    const KExp *number = kb_let(kg->kb, "number", kg_min(kg, j, last));
    for (int i = 0; i < e->soac.arrs.n; i++)
        kg_bind_row(kg, e->soac.fn->params.at[i], e->soac.arrs.at[i], number);
    kg_let(kg, f->a.dot->pat.at[0], x);
    kg_stms(kg, f->score);
    return kg_atom(kg, f->score->res.at[0]);
}

/* s := scores of tile t; max: the rows' largest ones of these and before, of the lane's columns. */
static void score(const Fused *f, const KExp *t)
{
    KGen *kg = f->kg;
    KBuild *b = kg->kb;
    const KExp *first = kb_let(b, "first", kg_mul(kg, t, kg_int(kg, f->shape.keys)));
    const KExp *left = kb_let(b, "left", kg_sub(kg, kg_atom(kg, f->keys), first));
    int mark = ranges_mark(kg->known);
    const KExp *own = open_rows(f);
    bind_row(f, own);
    for (int p = 0; p < pieces_of_keys(f); p++) {
        Cell c = open_cells(f, own);
        const KExp *j = kg_add(kg, kg_add(kg, first, kg_int(kg, p * PIECE)), c.col);
        const KExp *x = kb_load(b, "x", f->s[p], c.cell);
        kb_store(b, f->s[p], c.cell, score_of(f, x, kb_let(b, "j", j)));
        close_cells(f);
    }
    kb_if(b, kg_lt(kg, left, kg_int(kg, f->shape.keys)));
    for (int p = 0; p < pieces_of_keys(f); p++) {
        Cell c = open_cells(f, own);
        kb_if(b, kg_le(kg, left, kg_add(kg, c.col, kg_int(kg, p * PIECE))));
        kb_store(b, f->s[p], c.cell, real(kg, -INFINITY));
        kb_end(b);
        close_cells(f);
    }
    kb_end(b);
    KVar *most = kb_var(b, "most", T_F32, kb_load(b, "x", f->max, own));
    for (int p = 0; p < pieces_of_keys(f); p++) {
        Cell c = open_cells(f, own);
        kb_set(b, most, op2(kg, OP_MAX, kg_of(kg, most), kb_load(b, "x", f->s[p], c.cell)));
        close_cells(f);
    }
    kb_store(b, f->grown, own, kg_of(kg, most));
    kb_end(b);
    ranges_reset(kg->known, mark);
}

/* Which word of the weights has the pair (as runtime/kernels/matrix.cl says): eights of a row have
 * changed places by the row's number, which is the lane's, of eight. */
static const KExp *word_at(const Fused *f, const KExp *own, int piece, const Cell *c)
{
    KGen *kg = f->kg;
    const KExp *pitch = kg_int(kg, f->shape.keys / PAIR), *words = kg_int(kg, KTILE_COLS / PAIR);
    const KExp *eight = kg_add(kg, c->eight, kg_int(kg, piece * (PIECE / KTILE_COLS)));
    const KExp *turned = op2(kg, OP_XOR, eight, kg_quot(kg, f->lane, kg_int(kg, QUAD)));
    const KExp *word = kg_quot(kg, f->pair, kg_int(kg, PAIR));
    const KExp *at = kg_add(kg, kg_mul(kg, turned, words), word);
    return kg_add(kg, kg_mul(kg, row_in_block(f, own), pitch), at);
}

/* sum += weights of the lane's sums of a piece; as f16, two a word, they are stored. */
static void weigh_piece(const Fused *f, const KExp *own, int piece, const KExp *from, KVar *sum)
{
    KGen *kg = f->kg;
    KBuild *b = kg->kb;
    Arena *a = kg->cx->perm;
    Cell c = open_pairs(f, own);
    const KExp *both[PAIR];
    for (int i = 0; i < PAIR; i++) {
        const KExp *x = kb_load(b, "x", f->s[piece], kg_add(kg, c.cell, kg_int(kg, i)));
        x = exp_of(kg, op2(kg, OP_SUB, x, from));
        kb_set(b, sum, op2(kg, OP_ADD, kg_of(kg, sum), x));
        both[i] = kx_to_word(a, T_U32, kx_conv(a, T_F16, x));
    }
    const KExp *half = kx_const(a, atom_int(T_U32, 16).c);
    const KExp *word = op2(kg, OP_OR, both[0], op2(kg, OP_SHL, both[1], half));
    kb_store(b, f->pairs, word_at(f, own, piece, &c), word);
    kb_end(b);
}

/* The weights of the tile; sums and products of those before become those of the new maximum. */
static void weigh(const Fused *f)
{
    KGen *kg = f->kg;
    KBuild *b = kg->kb;
    const KExp *own = open_rows(f), *none = real(kg, -INFINITY);
    const KExp *most = kb_load(b, "most", f->grown, own), *was = kb_load(b, "was", f->max, own);
    const KExp *is_none = kx_eq(kg->cx->perm, most, none);
    const KExp *from = kb_let(b, "from", kx_select(kg->cx->perm, is_none, real(kg, 0), most));
    const KExp *grown = exp_of(kg, op2(kg, OP_SUB, was, from));
    kb_store(b, f->max, own, most);
    KVar *sum = kb_var(b, "sum", T_F32, op2(kg, OP_MUL, kb_load(b, "x", f->sum, own), grown));
    for (int p = 0; p < pieces_of_keys(f); p++)
        weigh_piece(f, own, p, from, sum);
    kb_store(b, f->sum, own, kg_of(kg, sum));
    for (int p = 0; p < pieces_of_cols(f); p++) {
        Cell c = open_cells(f, own);
        const KExp *x = kb_load(b, "x", f->out[p], c.cell);
        kb_store(b, f->out[p], c.cell, op2(kg, OP_MUL, x, grown));
        close_cells(f);
    }
    kb_end(b);
}

static void do_tile(const Fused *f, const KExp *t)
{
    KGen *kg = f->kg;
    int width = f->shape.width, keys = f->shape.keys;
    const KExp *stage = stage_at(f, t);
    const KExp *zero = kg_int(kg, 0);
    Product scores = {f->tiles, f->tiles, zero, stage, width, false};
    Product out = {f->weights, f->tiles, zero, values_at(f, stage), keys, true};
    tile_round(kg, 0);
    tile_meet(kg);
    copy_keys(f, kb_let(kg->kb, "next", kg_add(kg, t, kg_int(kg, 1))));
    for (int p = 0; p < pieces_of_keys(f); p++)
        fill(f, f->s[p], CELLS, 0);
    multiply(f, &scores, width, pieces_of_keys(f), f->s);
    score(f, t);
    agree(f, f->grown, OP_MAX);
    weigh(f);
    tile_meet(kg);
    multiply(f, &out, keys, pieces_of_cols(f), f->out);
}

/* --- Results --------------------------------------------------------------------------------- */

/* 1; but NaN where a row's scores are -inf alone, of which the program makes such weights. */
static const KExp *weight_of_none(const Fused *f, const KExp *most)
{
    KGen *kg = f->kg;
    Arena *a = kg->cx->perm;
    const KExp *some = kg_lt(kg, kg_int(kg, 0), kg_atom(kg, f->keys)), *one = real(kg, 1);
    const KExp *none = kg_and(kg, some, kx_eq(a, most, real(kg, -INFINITY)));
    return kb_let(kg->kb, "none", kx_select(a, none, real(kg, NAN), one));
}

/* By what a row's sums over keys are to be multiplied; no keys have none. */
static const KExp *share_of(const Fused *f, const KExp *none, const KExp *sum)
{
    KGen *kg = f->kg;
    const KExp *empty = kg_eq(kg, kg_atom(kg, f->keys), kg_int(kg, 0)), *one = real(kg, 1);
    const KExp *share = f->a.divided ? op2(kg, OP_DIV, one, sum) : none;
    return kb_let(kg->kb, "share", kx_select(kg->cx->perm, empty, one, share));
}

static void store_cell(const Fused *f, const KLoc *out, const KExp *x, const KExp *col)
{
    KGen *kg = f->kg;
    const Exp *map = f->a.product->exp;
    const Body *g = map->soac.fn->body;
    const KExp **ix = NEWN(kg->cx->perm, const KExp *, f->nest->n + 1);
    for (int i = 0; i < map->soac.arrs.n; i++)
        kg_bind_row(kg, map->soac.fn->params.at[i], map->soac.arrs.at[i], col);
    for (int i = 0; i < g->stms.n; i++) {
        if (&g->stms.at[i] == f->a.weighed)
            kg_let(kg, f->a.weighed->pat.at[0], x);
        else
            kg_stm(kg, &g->stms.at[i]);
    }
    nest_indices(kg, f->nest, f->nest->n, ix);
    ix[f->nest->n] = col;
    loc_store(kg, out, ix, f->nest->n + 1, kg_atom(kg, g->res.at[0]));
}

static void store_rows(const Fused *f, const KLoc *out)
{
    KGen *kg = f->kg;
    KBuild *b = kg->kb;
    agree(f, f->sum, OP_ADD);
    int mark = ranges_mark(kg->known);
    const KExp *own = open_rows(f);
    const KExp *row = kb_let(b, "i", kg_add(kg, f->first, row_in_block(f, own)));
    kb_if(b, kg_lt(kg, row, kg_atom(kg, f->rows->width)));
    nest_bind_dim(kg, f->rows, row);
    const KExp *most = kb_load(b, "most", f->max, own), *none = weight_of_none(f, most);
    const KExp *sum = kb_let(b, "sum", op2(kg, OP_MUL, kb_load(b, "sum", f->sum, own), none));
    const KExp *share = share_of(f, none, sum);
    kg_let(kg, f->a.scores->pat.at[0], most);
    kg_let(kg, f->a.sum->pat.at[0], sum);
    row_stms(f, true);
    row_stms(f, false);
    for (int p = 0; p < pieces_of_cols(f); p++) {
        Cell c = open_cells(f, own);
        const KExp *col = kb_let(b, "c", kg_add(kg, c.col, kg_int(kg, p * PIECE)));
        kb_if(b, kg_lt(kg, col, kg_atom(kg, f->v.n_cols)));
        const KExp *x = kb_load(b, "x", f->out[p], c.cell);
        store_cell(f, out, kb_let(b, "x", op2(kg, OP_MUL, x, share)), col);
        kb_end(b);
        close_cells(f);
    }
    kb_end(b);
    kb_end(b);
    ranges_reset(kg->known, mark);
}

/* --- The kernel ------------------------------------------------------------------------------ */

static void number_threads(Fused *f)
{
    KGen *kg = f->kg;
    KBuild *b = kg->kb;
    const KExp *lanes = kg_int(kg, KTILE_LANES), *quad = kg_int(kg, QUAD);
    f->thread = kb_let(b, "thread", kg_rem(kg, kg->lid, kg_int(kg, THREADS)));
    f->lane = kb_let(b, "lane", kg_rem(kg, f->thread, lanes));
    const KExp *warp = kg_mul(kg, kg_quot(kg, f->thread, lanes), kg_int(kg, WARP_ROWS));
    f->row = kb_let(b, "row", kg_add(kg, warp, kg_quot(kg, f->lane, quad)));
    f->pair = kb_let(b, "pair", kg_mul(kg, kg_rem(kg, f->lane, quad), kg_int(kg, PAIR)));
}

/* Host: blocks of rows, of one element of the dimensions around; of all. */
static const KExp *blocks_each(const Fused *f)
{
    Ctx *cx = f->kg->cx;
    return sx_op(cx, SX_CEILDIV, sx_atom(cx, f->rows->width), sx_const(cx, BLOCK));
}

static const KExp *blocks_of(const Fused *f)
{
    Ctx *cx = f->kg->cx;
    return sx_mul(cx, nest_size(cx, f->nest, 0, f->nest->n - 1), blocks_each(f));
}

static void open_blocks(Fused *f)
{
    KGen *kg = f->kg;
    KBuild *b = kg->kb;
    const KExp *each = kg_host(kg, blocks_each(f));
    const KExp *block = kb_for(b, "block", kg_id(kg, KID_GROUP), nest_total(kg, blocks_of(f)),
                               kg_id(kg, KID_GROUPS));
    const KExp *outer = kb_let(b, "outer", kg_quot(kg, block, each));
    const KExp *in = kg_sub(kg, block, kg_mul(kg, outer, each));
    f->first = kb_let(b, "first", kg_mul(kg, in, kg_int(kg, BLOCK)));
    nest_bind_range(kg, f->nest, 0, f->nest->n - 1, outer);
}

/* Begins the kernel. Host: 1 where it can be used, else 0; NULL: nowhere. */
static const KExp *open_kernel(Fused *f)
{
    KGen *kg = f->kg;
    kg->group_size = sx_const(kg->cx, THREADS);
    kg->declares = true;
    kg->at = f->stm->exp->loc;
    kg_if_teams(kg);
    number_threads(f);
    open_blocks(f);
    return can_fuse(f);
}

static void declare(Fused *f)
{
    KGen *kg = f->kg;
    KTile shape = {.elem = T_F16, .rows = WARP_ROWS, .cols = PIECE};
    int elems = block_of(f) + STAGES * stage_of(f);
    ASSERT(2 * (elems + weights_of(f)) + 4 * THREADS * OWN <= RT_ATTENTION_BYTES);
    f->tiles = kg_param_local(kg, "tiles", T_F16, sx_const(kg->cx, elems));
    f->weights = kg_param_local(kg, "weights", T_F16, sx_const(kg->cx, weights_of(f)));
    f->tiles->align = f->weights->align = TILE_ALIGN;
    f->pairs = kb_buf_new(kg->kb, "pairs", KS_LOCAL, T_U32);
    f->pairs->of = f->weights;
    kb_stm(kg->kb, (KStm){.kind = KST_VIEW, .buf = f->pairs});
    f->told = kg_param_local(kg, "told", T_F32, sx_const(kg->cx, THREADS * OWN));
    f->fragments = kb_array(kg->kb, "fragments", T_U32, ktile_words(&shape));
    for (int p = 0; p < pieces_of_keys(f); p++)
        f->s[p] = kb_array(kg->kb, "scores", T_F32, CELLS);
    for (int p = 0; p < pieces_of_cols(f); p++)
        f->out[p] = kb_array(kg->kb, "acc", T_F32, CELLS);
    f->max = kb_array(kg->kb, "max", T_F32, OWN);
    f->sum = kb_array(kg->kb, "sum", T_F32, OWN);
    f->grown = kb_array(kg->kb, "grown", T_F32, OWN);
}

static void do_block(const Fused *f, const KLoc *out)
{
    KGen *kg = f->kg;
    KBuild *b = kg->kb;
    const KExp *keys = kg_int(kg, f->shape.keys), *zero = kg_int(kg, 0);
    copy_tile(f, &f->q, f->first, zero);
    copy_keys(f, zero);
    fill(f, f->max, OWN, -INFINITY);
    fill(f, f->sum, OWN, 0);
    for (int p = 0; p < pieces_of_cols(f); p++)
        fill(f, f->out[p], CELLS, 0);
    const KExp *more = kg_add(kg, kg_atom(kg, f->keys), kg_int(kg, f->shape.keys - 1));
    const KExp *tiles = kb_let(b, "tiles", kg_quot(kg, more, keys));
    do_tile(f, kb_for(b, "t", zero, tiles, kg_int(kg, 1)));
    kb_end(b);
    tile_round(kg, 0);
    store_rows(f, out);
    tile_meet(kg);
}

static Kernel *fused_kernel(Fused *f, const ArrLoc *outs)
{
    KGen *kg = f->kg;
    declare(f);
    locate(f, &f->q, BLOCK);
    locate(f, &f->k, f->shape.keys);
    locate(f, &f->v, f->shape.keys);
    KLoc out = kg_result(kg, &outs[0], f->stm->pat.at[0]->type);
    do_block(f, &out);
    kb_end(kg->kb);
    kb_end(kg->kb);
    return kg_finish(kg);
}

static void fused_branch(PlanBuild *pb, Fused *f, const KExp *can, const ArrLoc *outs)
{
    enum { LEAST = 32 }; /* rows and keys: else most of a block is empty */
    Ctx *cx = pb->cx;
    Kernel *k = fused_kernel(f, outs);
    const KExp *rows = sx_atom(cx, f->rows->width), *keys = sx_atom(cx, f->keys);
    const KExp *few = sx_op(cx, SX_MIN, rows, keys);
    const char *when = arena_printf(cx->perm,
                                    "rows of up to %d elements fit the matrix units: one pass over "
                                    "keys, no scores in memory",
                                    f->shape.width);
    pb_choose(pb, "attention", sx_op(cx, SX_MIN, can, tile_units(cx, THREADS)),
              cost_percent(cx, few, sx_const(cx, LEAST)), when);
    pb_if_fits(pb, (Fit){k, f->kg->group_size, kg_local_bytes(f->kg)});
    kg_launch(f->kg, k, nest_groups(f->kg, blocks_of(f), sx_const(cx, 1)));
}

int attention_branches(PlanBuild *pb, const Stm *s, const ArrLoc *outs)
{
    static const Shape shapes[] = {{.width = 64, .keys = 128}, {.width = 128, .keys = 64}};
    Ctx *cx = pb->cx;
    Attention a;
    int n = 0;
    if (!attention_of(cx, s->exp, &a))
        return 0;
    for (int i = 0; i < (int)(sizeof shapes / sizeof *shapes); i++) {
        Fused f = {.kg = kg_new(pb, "attention", s->exp),
                   .stm = s,
                   .nest = &s->exp->seg.nest,
                   .a = a,
                   .score = attention_score(cx, &a),
                   .shape = shapes[i],
                   .rows = &vec_last(&s->exp->seg.nest),
                   .keys = a.scores->exp->soac.width};
        f.key = var_new(cx, "j", type_prim(T_I64), s->exp->loc);
        f.col = var_new(cx, "c", type_prim(T_I64), s->exp->loc);
        const KExp *can = open_kernel(&f);
        if (!can)
            return n;
        fused_branch(pb, &f, can, outs);
        pb_else(pb);
        n++;
    }
    return n;
}
