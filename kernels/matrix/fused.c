/* Attention in one kernel: what a lane does with the sums of its rows, which are scores, weights
 * and results (fused.h). Four neighbours, a quad, have all columns of a row: they agree on its
 * maximum in each tile, on its sum in the end. */
#include "kernels/matrix/fused.h"

#include <math.h>

static const KExp *real(KGen *kg, double x)
{
    return kg_atom(kg, atom_float(T_F32, x));
}

static const KExp *op2(KGen *kg, PrimOp op, const KExp *x, const KExp *y)
{
    return kx_prim2(kg->cx->perm, op, x, y);
}

/* 2 to the power of x, x <= 0, for which devices have an instruction: that errs by some 2^-22. */
static const KExp *power_of(KGen *kg, const KExp *x)
{
    KVar *power = kb_var_new(kg->kb, "power", ktype(T_F32));
    kb_stm(kg->kb, (KStm){.kind = KST_POWER, .var = power, .x = {x}});
    return kg_of(kg, power);
}

/* x / log 2: exp x is a power of 2. Rounded, for a maximum, it is the same for all that is made of
 * that. */
static const KExp *in_twos(KGen *kg, const KExp *x)
{
    return kb_let(kg->kb, "twos", op2(kg, OP_MUL, x, real(kg, M_LOG2E)));
}

void fused_row_stms(const Fused *f, bool before)
{
    const Stms *ss = &f->a.body->stms;
    bool behind = false;
    for (int i = 0; i < ss->n; i++) {
        behind |= &ss->at[i] == f->a.scores;
        if (behind != before && !exp_has_soac(ss->at[i].exp))
            kg_stm(f->kg, &ss->at[i]);
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
    return open_each(f, fused_own(f));
}

/* A sum of the lane in one of them, of a piece. */
typedef struct {
    const KExp *cell, *col; /* its number, and column in the piece */
    const KExp *eight;      /* number of the eight columns in which it is */
} Cell;

/* Opens the loop over pairs of these, one of eight columns; the first one. */
static Cell open_pairs(const Fused *f, const KExp *own, int cols)
{
    KGen *kg = f->kg;
    const KExp *pair = kg_int(kg, PAIR), *in_row = kg_int(kg, fused_piece(f, cols) / KTILE_COLS);
    const KExp *eight = open_each(f, fused_piece(f, cols) / KTILE_COLS);
    const KExp *part = kg_add(kg, kg_mul(kg, kg_quot(kg, own, pair), in_row), eight);
    const KExp *in_part = kg_mul(kg, kg_rem(kg, own, pair), pair);
    return (Cell){kg_add(kg, kg_mul(kg, part, kg_int(kg, PAIR * PAIR)), in_part),
                  kg_add(kg, kg_mul(kg, eight, kg_int(kg, KTILE_COLS)), f->pair), eight};
}

static Cell open_cells(const Fused *f, const KExp *own, int cols)
{
    KGen *kg = f->kg;
    Cell c = open_pairs(f, own, cols);
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

void fused_fill(const Fused *f, KBuf *buf, int n, double x)
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
    const KExp *rows = kg_int(kg, fused_own(f));
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
    fused_row_stms(f, true);
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

void fused_score(const Fused *f, const KExp *t)
{
    KGen *kg = f->kg;
    KBuild *b = kg->kb;
    const KExp *first = kb_let(b, "first", kg_mul(kg, t, kg_int(kg, f->shape.keys)));
    const KExp *left = kb_let(b, "left", kg_sub(kg, kg_atom(kg, f->keys), first));
    int mark = ranges_mark(kg->known);
    const KExp *own = open_rows(f);
    bind_row(f, own);
    for (int p = 0; p < fused_pieces(f, f->shape.keys); p++) {
        Cell c = open_cells(f, own, f->shape.keys);
        const KExp *j =
            kg_add(kg, kg_add(kg, first, kg_int(kg, p * fused_piece(f, f->shape.keys))), c.col);
        const KExp *x = kb_load(b, "x", f->s[p], c.cell);
        kb_store(b, f->s[p], c.cell, score_of(f, x, kb_let(b, "j", j)));
        close_cells(f);
    }
    kb_if(b, kg_lt(kg, left, kg_int(kg, f->shape.keys)));
    for (int p = 0; p < fused_pieces(f, f->shape.keys); p++) {
        Cell c = open_cells(f, own, f->shape.keys);
        kb_if(b, kg_le(kg, left, kg_add(kg, c.col, kg_int(kg, p * fused_piece(f, f->shape.keys)))));
        kb_store(b, f->s[p], c.cell, real(kg, -INFINITY));
        kb_end(b);
        close_cells(f);
    }
    kb_end(b);
    KVar *most = kb_var(b, "most", T_F32, kb_load(b, "x", f->max, own));
    for (int p = 0; p < fused_pieces(f, f->shape.keys); p++) {
        Cell c = open_cells(f, own, f->shape.keys);
        kb_set(b, most, op2(kg, OP_MAX, kg_of(kg, most), kb_load(b, "x", f->s[p], c.cell)));
        close_cells(f);
    }
    kb_store(b, f->max, own, kg_of(kg, most));
    kb_end(b);
    ranges_reset(kg->known, mark);
    agree(f, f->max, OP_MAX);
}

/* Which word of the weights' tile has the lane's pair in eight columns of its rows (as
 * runtime/kernels/matrix.cl says): in panels, in whose rows eights have changed places by the row's
 * number, which is the lane's, of eight. */
static const KExp *word_at(const Fused *f, const KExp *own, const KExp *eight)
{
    enum { EIGHTS = KTILE_PANEL / KTILE_COLS, WORDS = KTILE_COLS / PAIR };
    KGen *kg = f->kg;
    const KExp *panel = kg_int(kg, fused_block(f) * KTILE_PANEL / PAIR);
    const KExp *in_row = kg_rem(kg, eight, kg_int(kg, EIGHTS));
    in_row = op2(kg, OP_XOR, in_row, kg_quot(kg, f->lane, kg_int(kg, QUAD)));
    const KExp *word = kg_quot(kg, f->pair, kg_int(kg, PAIR));
    const KExp *at = kg_add(kg, kg_mul(kg, in_row, kg_int(kg, WORDS)), word);
    const KExp *row = kg_mul(kg, row_in_block(f, own), kg_int(kg, KTILE_PANEL / PAIR));
    const KExp *number = kg_quot(kg, eight, kg_int(kg, EIGHTS));
    return kg_add(kg, kg_add(kg, kg_mul(kg, number, panel), row), at);
}

/* Which of the lane's own words: of 16 rows and columns it has a pair of each of two rows, then
 * those eight columns further. */
static const KExp *own_at(const Fused *f, const KExp *own, const KExp *eight)
{
    KGen *kg = f->kg;
    const KExp *pair = kg_int(kg, PAIR), *parts = kg_int(kg, fused_own(f) / PAIR);
    const KExp *part =
        kg_add(kg, kg_mul(kg, kg_quot(kg, eight, pair), parts), kg_quot(kg, own, pair));
    const KExp *in_part =
        kg_add(kg, kg_mul(kg, kg_rem(kg, eight, pair), pair), kg_rem(kg, own, pair));
    return kg_add(kg, kg_mul(kg, part, kg_int(kg, PAIR * PAIR)), in_part);
}

/* sum += weights of the lane's sums of a piece; as f16, two a word, they are kept. from: the
 * maximum, in twos. */
static void weigh_piece(const Fused *f, const KExp *own, int piece, const KExp *from, KVar *sum)
{
    KGen *kg = f->kg;
    KBuild *b = kg->kb;
    Arena *a = kg->cx->perm;
    int eights = fused_piece(f, f->shape.keys) / KTILE_COLS;
    Cell c = open_pairs(f, own, f->shape.keys);
    const KExp *both[PAIR];
    for (int i = 0; i < PAIR; i++) {
        const KExp *x = kb_load(b, "x", f->s[piece], kg_add(kg, c.cell, kg_int(kg, i)));
        const KExp *twos[] = {x, real(kg, M_LOG2E), kx_prim1(a, OP_NEG, from)};
        x = power_of(kg, kx_prim(a, OP_FMA, T_F32, twos));
        kb_set(b, sum, op2(kg, OP_ADD, kg_of(kg, sum), x));
        both[i] = kx_to_word(a, T_U32, kx_conv(a, T_F16, x));
    }
    const KExp *half = kx_const(a, atom_int(T_U32, 16).c);
    const KExp *word = op2(kg, OP_OR, both[0], op2(kg, OP_SHL, both[1], half));
    const KExp *eight = kg_add(kg, c.eight, kg_int(kg, piece * eights));
    kb_store(b, f->own, own_at(f, own, eight), word);
    kb_end(b);
}

/* Sums and products of a row become those of its maximum, if that has grown by more than BEHIND:
 * below, weights are up to 2^7.3, which f16 has as exactly as others, and as a rule there is no
 * more to do behind the first tiles. */
static void catch_up(const Fused *f, const KExp *own, const KExp *most)
{
    enum { BEHIND = 5 };
    KGen *kg = f->kg;
    KBuild *b = kg->kb;
    const KExp *was = kb_load(b, "was", f->from, own);
    kb_if(b, kx_lt(kg->cx->perm, op2(kg, OP_ADD, was, real(kg, BEHIND)), most));
    const KExp *grown = power_of(kg, op2(kg, OP_SUB, in_twos(kg, was), in_twos(kg, most)));
    kb_store(b, f->from, own, most);
    kb_store(b, f->sum, own, op2(kg, OP_MUL, kb_load(b, "x", f->sum, own), grown));
    for (int p = 0; p < fused_pieces(f, f->shape.width); p++) {
        Cell c = open_cells(f, own, f->shape.width);
        const KExp *x = kb_load(b, "x", f->out[p], c.cell);
        kb_store(b, f->out[p], c.cell, op2(kg, OP_MUL, x, grown));
        close_cells(f);
    }
    kb_end(b);
}

void fused_weigh(const Fused *f)
{
    KGen *kg = f->kg;
    KBuild *b = kg->kb;
    const KExp *own = open_rows(f), *none = real(kg, -INFINITY);
    catch_up(f, own, kb_load(b, "most", f->max, own));
    const KExp *from = kb_load(b, "from", f->from, own);
    const KExp *is_none = kx_eq(kg->cx->perm, from, none);
    from = in_twos(kg, kx_select(kg->cx->perm, is_none, real(kg, 0), from));
    KVar *sum = kb_var(b, "sum", T_F32, kb_load(b, "x", f->sum, own));
    for (int p = 0; p < fused_pieces(f, f->shape.keys); p++)
        weigh_piece(f, own, p, from, sum);
    kb_store(b, f->sum, own, kg_of(kg, sum));
    kb_end(b);
}

void fused_spread(const Fused *f)
{
    KGen *kg = f->kg;
    const KExp *own = open_rows(f), *eight = open_each(f, f->shape.keys / KTILE_COLS);
    kb_store(kg->kb, f->pairs, word_at(f, own, eight),
             kb_load(kg->kb, "word", f->own, own_at(f, own, eight)));
    kb_end(kg->kb);
    kb_end(kg->kb);
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

/* By what weights of `from` are to be multiplied to be those of the maximum. */
static const KExp *behind_by(const Fused *f, const KExp *own, const KExp *most)
{
    KGen *kg = f->kg;
    const KExp *from = kb_load(kg->kb, "from", f->from, own);
    const KExp *by = power_of(kg, op2(kg, OP_SUB, in_twos(kg, from), in_twos(kg, most)));
    const KExp *none = kx_eq(kg->cx->perm, most, real(kg, -INFINITY));
    return kb_let(kg->kb, "by", kx_select(kg->cx->perm, none, real(kg, 1), by));
}

/* By what a row's sums over keys are to be multiplied; no keys have none. */
static const KExp *share_of(const Fused *f, const KExp *weight, const KExp *sum)
{
    KGen *kg = f->kg;
    const KExp *empty = kg_eq(kg, kg_atom(kg, f->keys), kg_int(kg, 0)), *one = real(kg, 1);
    const KExp *share = f->a.divided ? op2(kg, OP_DIV, one, sum) : weight;
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

void fused_store(const Fused *f, const KLoc *out)
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
    const KExp *by = behind_by(f, own, most);
    const KExp *sum = kb_let(b, "sum", op2(kg, OP_MUL, kb_load(b, "sum", f->sum, own), none));
    const KExp *share = share_of(f, op2(kg, OP_MUL, none, by), sum);
    kg_let(kg, f->a.scores->pat.at[0], most);
    kg_let(kg, f->a.sum->pat.at[0], op2(kg, OP_MUL, sum, by));
    fused_row_stms(f, true);
    fused_row_stms(f, false);
    for (int p = 0; p < fused_pieces(f, f->shape.width); p++) {
        Cell c = open_cells(f, own, f->shape.width);
        const KExp *col =
            kb_let(b, "c", kg_add(kg, c.col, kg_int(kg, p * fused_piece(f, f->shape.width))));
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
