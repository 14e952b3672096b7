/* Attention in one pass over keys, by matrix units: a segmap^1 for rows, of which each is the chain
 * that ir/chains/attention.c finds (there is why this may be done, too).
 *
 *     segmap^1 .. <q_i in q> { out_i = softmax (f (q_i k^T)) v }
 *
 * A group has a block of rows, each of its warps some of them. It goes over tiles of keys, of which
 * the next one is copied meanwhile:
 *
 *     copy the block of q, tile 0 of k;  max = from = -inf, sum = 0, out = 0, for each row
 *     for tiles t = 0 ..:
 *         until tile t of k is there; barrier;  copy tile t of v, t+1 of k
 *         s = f (q k^T)                           sums of the units, in registers
 *         max = max max s
 *         where it is much larger than from:
 *             r = exp (from - max);  sum = sum * r;  out = out * r;  from = max
 *         p = exp (s - from);  until tile t of v is there; barrier
 *         sum = sum + p summed;  out = out + f16 p v
 *     out = g (out / sum), where the program divides
 *
 * So no more than inputs and outputs is in memory. A lane has the sums of some columns of a row;
 * four neighbours, a quad, have all columns. They agree on the row's maximum in each tile, on its
 * sum in the end. The weights p stay in registers: where a lane has sums of two times eight columns
 * the units want its weights of them, two a word.
 *
 * Rows are padded to the shape's width by zeros, scores of keys beyond the end are -inf. As long as
 * a row has had no other scores, its maximum counts as 0, so that weights are 0 and not NaN; if it
 * never has, it is made NaN in the end, as exp (-inf - -inf) is.
 *
 * The shape is that of FlashAttention-2 (Dao, arXiv:2307.08691); measured: bench/results/h200/. */
#include "kernels/matrix/segattention.h"
#include "common/policy.h"

#include "kernels/matrix/fused.h"

#include <math.h>

/* Elements of tiles: the block of q, and a stage of k, or v; of its weights. */
static int block_of(const Fused *f)
{
    return fused_block(f) * f->shape.width;
}

static int weights_of(const Fused *f)
{
    return fused_block(f) * f->shape.keys;
}

static int stage_of(const Fused *f)
{
    return f->shape.keys * f->shape.width;
}

/* --- What is read ---------------------------------------------------------------------------- */

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
    fused_row_stms(f, true);
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
    x->copy = (TileCopy){.panels = true,
                         .tiles = f->tiles,
                         .mem = x->lies.mem,
                         .pitch = f->shape.width,
                         .rows = rows,
                         .threads = fused_threads(f)};
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
    c.place = c.begin;
    c.len = kg_atom(kg, x->n_cols);
    tile_copy(kg, &c);
    kb_end(kg->kb);
}

static const KExp *stage_at(const Fused *f, const KExp *t)
{
    KGen *kg = f->kg;
    const KExp *stage = kg_mul(kg, kg_rem(kg, t, kg_int(kg, STAGES)), kg_int(kg, stage_of(f)));
    return kb_let(kg->kb, "stage", kg_add(kg, kg_int(kg, block_of(f)), stage));
}

static const KExp *first_key(const Fused *f, const KExp *t)
{
    return kg_mul(f->kg, t, kg_int(f->kg, f->shape.keys));
}

static void copy_keys(const Fused *f, const KExp *t)
{
    copy_tile(f, &f->k, first_key(f, t), stage_at(f, t));
}

/* v of a tile, which has one place, behind all stages of k. */
static const KExp *values_at(const Fused *f)
{
    return kg_int(f->kg, block_of(f) + STAGES * stage_of(f));
}

/* The values of tile t, in a round, and the keys of the next one. */
static void copy_ahead(const Fused *f, const KExp *t)
{
    KGen *kg = f->kg;
    copy_tile(f, &f->v, first_key(f, t), values_at(f));
    tile_round(kg, STAGES);
    copy_keys(f, kb_let(kg->kb, "next", kg_add(kg, t, kg_int(kg, 1))));
}

/* What two tiles are multiplied: of `rows` the warp's, of `cols` all columns, over a depth. */
typedef struct {
    KBuf *rows, *cols;
    const KExp *rows_at, *cols_at;
    int tall; /* rows of the tile `cols` */
    bool turned;
    int depth, n; /* of numbers, of columns */
} Product;

/* The place of an element of a row in a tile, as an element of the panel that has it. */
static const KExp *in_panel(const Fused *f, const KExp *tile, int tall, int *at)
{
    int panel = *at / KTILE_PANEL;
    *at %= KTILE_PANEL;
    return kg_add(f->kg, tile, kg_int(f->kg, panel * tall * KTILE_PANEL));
}

static const KExp *warp_row(const Fused *f)
{
    KGen *kg = f->kg;
    const KExp *warp = kg_quot(kg, f->thread, kg_int(kg, KTILE_LANES));
    return kg_mul(kg, warp, kg_int(kg, f->shape.warp_rows));
}

/* Loads what is multiplied from number k on: the warp's rows, or the columns from `col` on (-1: the
 * rows). */
static KTile load(const Fused *f, const Product *p, int k, int col)
{
    KGen *kg = f->kg;
    bool rows = col < 0;
    const KExp *zero = kg_int(kg, 0);
    KStm s = {.kind = KST_FRAGMENTS, .buf = rows ? p->rows : p->cols, .with = f->fragments};
    s.tile = (KTile){.elem = T_F16, .rows = f->shape.warp_rows, .cols = PIECE};
    s.tile.pitch[0] = rows ? KTILE_PANEL : 0;
    s.tile.pitch[1] = rows ? 0 : KTILE_PANEL;
    s.tile.turned[1] = p->turned;
    s.x[0] = s.x[1] = zero;
    if (rows)
        s.x[0] = in_panel(f, p->rows_at, fused_block(f), &k);
    else
        s.x[1] = in_panel(f, p->cols_at, p->tall, p->turned ? &col : &k);
    s.tile.k = k;
    vec_push(kg->cx->perm, &s.args, rows ? warp_row(f) : zero);
    vec_push(kg->cx->perm, &s.args, rows ? zero : kg_int(kg, col));
    kb_stm(kg->kb, s);
    return s.tile;
}

/* The lane's own words from number k on are those of the rows, which are not in a tile. */
static void load_own(const Fused *f, int k)
{
    KGen *kg = f->kg;
    int words = f->shape.warp_rows * ktile_depth(T_F16) / PAIR / KTILE_LANES;
    for (int i = 0; i < words; i++) {
        const KExp *at = kg_int(kg, k / ktile_depth(T_F16) * words + i);
        kb_store(kg->kb, f->fragments, kg_int(kg, i), kb_load(kg->kb, "word", f->own, at));
    }
}

static void multiply_narrow(const Fused *f, const Product *p, KBuf *const *sums, bool fresh)
{
    for (int i = 0; fresh && i < fused_pieces(f, p->n); i++)
        fused_fill(f, sums[i], fused_cells(f, p->n), 0);
    for (int k = 0; k < p->depth; k += ktile_depth(T_F16)) {
        if (p->rows)
            load(f, p, k, -1);
        else
            load_own(f, k);
        for (int i = 0; i < fused_pieces(f, p->n); i++) {
            KTile shape = load(f, p, k, i * PIECE);
            tile_multiply(f->kg, f->fragments, sums[i], &shape);
        }
    }
}

static KTile wide_shape(const Fused *f, const Product *p, int k)
{
    KTile t = {.elem = T_F16, .rows = f->shape.warp_rows, .cols = p->n, .k = k, .wide = true};
    t.pitch[0] = p->rows ? KTILE_PANEL : 0;
    t.pitch[1] = KTILE_PANEL;
    t.turned[1] = p->turned;
    t.tall[0] = p->rows ? fused_block(f) : 0;
    t.tall[1] = p->tall;
    return t;
}

/* What the units are told of one of both tiles. */
static void load_wide(const Fused *f, const Product *p, int k, int side)
{
    KGen *kg = f->kg;
    KStm s = {.kind = KST_FRAGMENTS, .buf = side ? p->cols : p->rows, .with = f->fragments};
    s.tile = wide_shape(f, p, k);
    s.tile.pitch[!side] = 0;
    s.x[0] = p->rows_at;
    s.x[1] = p->cols_at;
    vec_push(kg->cx->perm, &s.args, warp_row(f));
    vec_push(kg->cx->perm, &s.args, kg_int(kg, 0));
    kb_stm(kg->kb, s);
}

/* The same by wide products, which are under way then. */
static void multiply_wide(const Fused *f, const Product *p, KBuf *sums, bool fresh)
{
    int step = ktile_depth(T_F16);
    for (int k = 0; k < p->depth; k += step) {
        KTile shape = wide_shape(f, p, k);
        shape.fresh = fresh && k == 0;
        shape.last = k + step == p->depth;
        if (p->rows)
            load_wide(f, p, k, 0);
        else
            load_own(f, k);
        load_wide(f, p, k, 1);
        tile_multiply(f->kg, f->fragments, sums, &shape);
    }
}

/* sums += the product; `fresh`: sums := it. Meanwhile what follows on tile t, if that is given, is
 * copied. */
static void multiply(const Fused *f, const Product *p, KBuf *const *sums, bool fresh, const KExp *t)
{
    if (f->shape.wide)
        multiply_wide(f, p, sums[0], fresh);
    if (t)
        copy_ahead(f, t);
    if (f->shape.wide)
        tile_settle(f->kg, sums[0]);
    else
        multiply_narrow(f, p, sums, fresh);
}

/* --- Tiles of keys --------------------------------------------------------------------------- */

static Product scores_of(const Fused *f, const KExp *stage)
{
    return (Product){.rows = f->tiles,
                     .cols = f->tiles,
                     .rows_at = kg_int(f->kg, 0),
                     .cols_at = stage,
                     .tall = f->shape.keys,
                     .depth = f->shape.width,
                     .n = f->shape.keys};
}

static Product out_of(const Fused *f)
{
    return (Product){.rows = f->weights,
                     .cols = f->tiles,
                     .rows_at = kg_int(f->kg, 0),
                     .cols_at = values_at(f),
                     .tall = f->shape.keys,
                     .turned = true,
                     .depth = f->shape.keys,
                     .n = f->shape.width};
}

/* Until all but the last n rounds are there, for the whole group. */
static void await(const Fused *f, int n)
{
    tile_round(f->kg, n);
    if (f->shape.wide)
        tile_expose(f->kg);
    tile_meet(f->kg);
}

/* Where there are units, they take the weights as the lanes have them; else all of a group's. */
static void do_tile(const Fused *f, const KExp *stage, const KExp *t)
{
    KGen *kg = f->kg;
    Product scores = scores_of(f, stage), out = out_of(f), own = out;
    own.rows = NULL;
    multiply(f, &scores, f->s, true, t);
    fused_score(f, t);
    fused_weigh(f);
    await(f, 1);
    kb_if(kg->kb, kg_lt(kg, kg_int(kg, 1), kg_id(kg, KID_LANES)));
    multiply(f, &own, f->out, false, NULL);
    kb_else(kg->kb);
    fused_spread(f);
    tile_meet(kg);
    multiply(f, &out, f->out, false, NULL);
    kb_end(kg->kb);
}

static void do_tiles(const Fused *f, const KExp *tiles)
{
    KGen *kg = f->kg;
    const KExp *t = kb_for(kg->kb, "t", kg_int(kg, 0), tiles, kg_int(kg, 1));
    const KExp *stage = stage_at(f, t);
    await(f, 0);
    do_tile(f, stage, t);
    kb_end(kg->kb);
}

/* --- The kernel ------------------------------------------------------------------------------ */

static void number_threads(Fused *f)
{
    KGen *kg = f->kg;
    KBuild *b = kg->kb;
    const KExp *lanes = kg_int(kg, KTILE_LANES), *quad = kg_int(kg, QUAD);
    f->thread = kb_let(b, "thread", kg_rem(kg, kg->lid, kg_int(kg, fused_threads(f))));
    f->lane = kb_let(b, "lane", kg_rem(kg, f->thread, lanes));
    const KExp *warp = kg_mul(kg, kg_quot(kg, f->thread, lanes), kg_int(kg, f->shape.warp_rows));
    f->row = kb_let(b, "row", kg_add(kg, warp, kg_quot(kg, f->lane, quad)));
    f->pair = kb_let(b, "pair", kg_mul(kg, kg_rem(kg, f->lane, quad), kg_int(kg, PAIR)));
}

/* Host: blocks of rows, of one element of the dimensions around; of all. */
static const KExp *blocks_each(const Fused *f)
{
    Ctx *cx = f->kg->cx;
    return sx_op(cx, SX_CEILDIV, sx_atom(cx, f->rows->width), sx_const(cx, fused_block(f)));
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
    f->first = kb_let(b, "first", kg_mul(kg, in, kg_int(kg, fused_block(f))));
    nest_bind_range(kg, f->nest, 0, f->nest->n - 1, outer);
}

/* Begins the kernel. Host: 1 where it can be used, else 0; NULL: nowhere. */
static const KExp *open_kernel(Fused *f)
{
    KGen *kg = f->kg;
    kg->group_size = sx_const(kg->cx, fused_threads(f));
    kg->declares = true;
    kg->at = f->stm->exp->loc;
    kg_if_teams(kg);
    number_threads(f);
    open_blocks(f);
    return can_fuse(f);
}

/* Host: elements of local memory that only products without units want: such wide ones are of
 * units 3. */
static const KExp *unless_units(const Fused *f, int n)
{
    Ctx *cx = f->kg->cx;
    const KExp *is_two = sx_sub(cx, sx_size(cx, SIZE_MATRIX_UNITS), sx_const(cx, 2));
    return f->shape.wide ? sx_select(cx, is_two, sx_const(cx, n), sx_const(cx, 1))
                         : sx_const(cx, n);
}

static void declare(Fused *f)
{
    KGen *kg = f->kg;
    int keys = f->shape.keys, width = f->shape.width, own = fused_own(f);
    KTile shape = {.elem = T_F16,
                   .rows = f->shape.warp_rows,
                   .cols = f->shape.wide ? (keys > width ? keys : width) : PIECE};
    int elems = block_of(f) + (STAGES + 1) * stage_of(f), told = fused_threads(f) * own;
    ASSERT(!f->shape.wide || 2 * elems > KTILE_WIDE_BYTES);
    ASSERT(f->shape.wide || 2 * (elems + weights_of(f)) + 4 * told <= RT_ATTENTION_BYTES);
    f->tiles = kg_param_local(kg, "tiles", T_F16, sx_const(kg->cx, elems));
    f->weights = kg_param_local(kg, "weights", T_F16, unless_units(f, weights_of(f)));
    f->tiles->align = f->weights->align = TILE_ALIGN;
    f->pairs = kb_buf_new(kg->kb, "pairs", KS_LOCAL, T_U32);
    f->pairs->of = f->weights;
    kb_stm(kg->kb, (KStm){.kind = KST_VIEW, .buf = f->pairs});
    f->told = kg_param_local(kg, "told", T_F32, unless_units(f, told));
    f->fragments = kb_array(kg->kb, "fragments", T_U32, ktile_words(&shape));
    f->own = kb_array(kg->kb, "own", T_U32, own * keys / KTILE_COLS);
    for (int p = 0; p < fused_pieces(f, keys); p++)
        f->s[p] = kb_array(kg->kb, "scores", T_F32, fused_cells(f, keys));
    for (int p = 0; p < fused_pieces(f, width); p++)
        f->out[p] = kb_array(kg->kb, "acc", T_F32, fused_cells(f, width));
    f->max = kb_array(kg->kb, "max", T_F32, own);
    f->sum = kb_array(kg->kb, "sum", T_F32, own);
    f->from = kb_array(kg->kb, "from", T_F32, own);
}

static void do_block(const Fused *f, const KLoc *out)
{
    KGen *kg = f->kg;
    const KExp *keys = kg_int(kg, f->shape.keys), *zero = kg_int(kg, 0);
    copy_tile(f, &f->q, f->first, zero);
    copy_keys(f, zero);
    fused_fill(f, f->max, fused_own(f), -INFINITY);
    fused_fill(f, f->from, fused_own(f), -INFINITY);
    fused_fill(f, f->sum, fused_own(f), 0);
    for (int p = 0; p < fused_pieces(f, f->shape.width); p++)
        fused_fill(f, f->out[p], fused_cells(f, f->shape.width), 0);
    const KExp *more = kg_add(kg, kg_atom(kg, f->keys), kg_int(kg, f->shape.keys - 1));
    do_tiles(f, kb_let(kg->kb, "tiles", kg_quot(kg, more, keys)));
    tile_round(kg, 0);
    fused_store(f, out);
    tile_meet(kg);
}

static Kernel *fused_kernel(Fused *f, const ArrLoc *outs)
{
    KGen *kg = f->kg;
    declare(f);
    locate(f, &f->q, fused_block(f));
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
    pb_choose(pb, "attention",
              sx_op(cx, SX_MIN, can, tile_units(cx, fused_threads(f), f->shape.wide)),
              cost_percent(cx, few, sx_const(cx, LEAST)), when);
    pb_if_fits(pb, (Fit){k, f->kg->group_size, kg_local_bytes(f->kg)});
    kg_launch(f->kg, k, nest_groups(f->kg, blocks_of(f), sx_const(cx, 1)));
}

int attention_branches(PlanBuild *pb, const Stm *s, const ArrLoc *outs)
{
    static const Shape shapes[] = {
        {.width = 64, .keys = 128, .warps = 4, .warp_rows = 16, .wide = true},
        {.width = 128, .keys = 64, .warps = 4, .warp_rows = 16, .wide = true},
        {.width = 64, .keys = 128, .warps = 4, .warp_rows = 32},
        {.width = 128, .keys = 64, .warps = 4, .warp_rows = 32},
    };
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
