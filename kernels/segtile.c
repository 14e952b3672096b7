/* segmap^1 over at least two dimensions whose body reduces over arrays of which each varies with
 * one of the two innermost: matrix products and their likes, whatever the functions and
 * orientations.
 *
 *     segmap^1 .. <xs in xss> <ys in yss> { redomap op f xs ys }
 *
 * Each element of xs is wanted by all columns, each of ys by all rows. So a group of 16 x 16
 * threads works on a block of 16*R rows and columns, R x R of them a thread:
 *
 *     acc[R][R] := neutral elements                       in registers
 *     for k0 = 0, 16 ..:
 *         tiles := the elements k0 .. k0+15 of the block's rows and columns, in local memory
 *         for k in the tile:
 *             a[R], b[R] := those of the thread
 *             acc[i][j] := op(acc[i][j], f(a[i], b[j]))
 *     results of the thread's elements := what the body makes of acc
 *
 * An element of global memory is then read once for 16*R results and one of local memory for R. The
 * elements of the next tile are on their way to registers while this one is worked on. In both
 * dimensions a thread's elements are 16 apart: a warp reads neighbours or one element of the tiles,
 * and stores neighbours. Who loads what of a tile depends on which of its directions lies side by
 * side in memory: transposed operands cost the same.
 *
 * At a block's edge, rows, columns and k beyond the end are clamped to the last, which makes loads
 * right; only what belongs to an element is stored. No accumulator sees a k beyond the end, so
 * nothing is asked of the operator: elements are combined as one thread would, one after the other.
 *
 * The shape is that of Volkov and Demmel, "Benchmarking GPUs to tune dense linear algebra" (SC
 * 2008); as a transformation of mapnests, "block and register tiling", Futhark has it as well. */
#include "kernels/segments.h"

enum {
    SIDE = 16,                /* of a group */
    GROUP = SIDE * SIDE,      /* its threads */
    TILE_DEPTH = 16,          /* elements of a row that are staged at a time */
    TOGETHER = 4,             /* rows of a thread that are neighbours: vectors in a tile */
    VECTOR_BYTES = 16,        /* to which tiles are aligned */
    ACC_BYTES = 512,          /* of a thread's accumulators, at most: half of its registers */
    MOST_APPLICATIONS = 4096, /* statements of f and op in straight code */
    MOST_AROUND = 8           /* statements around the reduction, for each of R x R elements */
};
enum { ROWS, COLS, N_SIDES };

/* What f reads of an array: a parameter, or an access of which the position is known. */
typedef struct {
    const Var *v; /* takes its value */
    KLoc from;      /* its element, over the indices of the nest and k */
    const Sx *step; /* by which it grows with k */
    int side;       /* with which it varies; N_SIDES: with none */
    KBuf *tile;     /* staged, by k and number in the block */
    KBuf *next;     /* the thread's share of the next tile */
    KBuf *own;      /* the thread's elements at k */
} Operand;

typedef struct {
    KGen *kg;
    const Stm *stm; /* the construct, */
    const Exp *e;   /* its expression */
    const Stm *red; /* the reduction in its body */
    int reg;        /* R */
    const NestDim *dim[N_SIDES];
    Var *k;         /* the number of an element of the reduction */
    VarSet *inside; /* variables that differ between elements of a block */
    VEC(Operand) operands;
    Body rest; /* f without what is staged */
    KBuf **acc;
    const KExp *first[N_SIDES]; /* row and column of the block's first element */
    const KExp *lane;           /* the thread's number: of a group of GROUP, which passes see */
    const KExp *mine[N_SIDES];  /* its row and column in the group */
} Tiles;

static int block_of(const Tiles *t)
{
    return SIDE * t->reg;
}

/* Between the elements of a tile that are one k apart: with a gap, so that these are in many banks.
 */
static int pitch_of(const Tiles *t, PrimType elem)
{
    return block_of(t) + VECTOR_BYTES / prim_type_bytes[elem];
}

/* --- Which nests ----------------------------------------------------------------------------- */

static bool is_plain(const Exp *e)
{
    return (exp_is(e, F_SCALAR) || e->kind == E_INDEX || e->kind == E_REARRANGE) && !exp_traps(e);
}

/* The only statement of the body that is more than an access or a scalar; NULL: there are more. */
static const Stm *reduction_of(const Body *b)
{
    const Stm *red = NULL;
    for (int i = 0; i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i];
        if (is_plain(s->exp))
            continue;
        if (red || s->exp->kind != E_REDOMAP)
            return NULL;
        red = s;
    }
    return red && b->stms.n <= 1 + MOST_AROUND ? red : NULL;
}

static bool is_scalar_reduction(const Exp *e, int n_results)
{
    return e->soac.nes.n == n_results && types_scalar(&e->soac.op->params, 0, 2 * n_results) &&
           seg_is_short(e->soac.fn->body, true) && seg_is_short(e->soac.op->body, true) &&
           !exp_traps(e);
}

static int acc_bytes(const Exp *red)
{
    int n = 0;
    for (int j = 0; j < red->soac.nes.n; j++)
        n += prim_type_bytes[red->soac.op->params.at[j]->type.elem];
    return n;
}

static bool has_shape(const Stm *s)
{
    const Exp *e = s->exp;
    int depth = e->seg.nest.n;
    const Stm *red = reduction_of(e->seg.body);
    if (depth < 2 || !red || !is_scalar_reduction(red->exp, red->pat.n))
        return false;
    for (int j = 0; j < s->pat.n; j++)
        if (s->pat.at[j]->type.rank != depth)
            return false;
    return true;
}

static void add_vars(VarSet *set, const Vars *vs)
{
    for (int i = 0; i < vs->n; i++)
        varset_add(set, vs->at[i]);
}

static void find_inside(Tiles *t)
{
    const Body *b = t->e->seg.body;
    for (int d = 0; d < N_SIDES; d++) {
        varset_add(t->inside, t->dim[d]->idx);
        add_vars(t->inside, &t->dim[d]->xs);
    }
    for (int i = 0; i < b->stms.n; i++)
        add_vars(t->inside, &b->stms.at[i].pat);
}

/* The columns are the dimension along which results lie side by side. */
static void find_sides(Tiles *t, const ArrLoc *outs)
{
    const Nest *nest = &t->e->seg.nest;
    const Sx *const *strides = outs[0].at.strides;
    int n = nest->n;
    bool turned = sx_is_const(strides[n - 2], 1) && !sx_is_const(strides[n - 1], 1);
    t->dim[ROWS] = &nest->at[turned ? n - 1 : n - 2];
    t->dim[COLS] = &nest->at[turned ? n - 2 : n - 1];
}

/* --- Operands -------------------------------------------------------------------------------- */

typedef struct {
    const Tiles *t;
    bool varies[N_SIDES], unknown;
} Leaves;

static bool is_parameter(const KGen *kg, const KVar *v)
{
    for (int i = 0; i < kg->params.n; i++)
        if (kg->params.at[i].var == v)
            return true;
    return false;
}

static void note_leaf(void *env, const Sx *x)
{
    Leaves *l = env;
    if (x->kind == SX_KVAR)
        l->unknown |= !is_parameter(l->t->kg, x->kvar);
    if (x->kind != SX_VAR)
        return;
    bool side = false;
    for (int d = 0; d < N_SIDES; d++) {
        bool same = x->var == l->t->dim[d]->idx;
        l->varies[d] |= same;
        side |= same;
    }
    l->unknown |= !side && varset_has(l->t->inside, x->var);
}

/* v takes the element `from`; false if that depends on more than one side and k. */
static bool add_operand(Tiles *t, const Var *v, KLoc from, const Sx *step)
{
    Leaves l = {.t = t};
    sx_leaves(from.at.offset, note_leaf, &l);
    if (l.unknown || (l.varies[ROWS] && l.varies[COLS]))
        return false;
    Operand o = {.v = v, .from = from, .step = step};
    o.side = l.varies[ROWS] ? ROWS : l.varies[COLS] ? COLS : N_SIDES;
    vec_push(t->kg->cx->perm, &t->operands, o);
    return true;
}

/* The array of which the variable is a row in f; its number, -1 if there is none. */
static int row_param(const Exp *red, const Var *v)
{
    for (int p = 0; p < red->soac.arrs.n; p++)
        if (red->soac.fn->params.at[p] == v)
            return p;
    return -1;
}

static const Sx *step_of(const Tiles *t, int p)
{
    const Atoms *arrs = &t->red->exp->soac.arrs;
    return p < 0 ? sx_const(t->kg->cx, 0) : kg_arr(t->kg, arrs->at[p].var)->at.strides[0];
}

static bool param_operands(Tiles *t)
{
    KGen *kg = t->kg;
    const Exp *red = t->red->exp;
    const Sx *k = sx_var(kg->cx, t->k);
    for (int p = 0; p < red->soac.arrs.n; p++) {
        const Var *v = red->soac.fn->params.at[p];
        const KLoc *l = kg_arr(kg, red->soac.arrs.at[p].var);
        if (v->type.rank > 0)
            kg_bind_arr(kg, v, loc_row(kg, l, v->type.rank + 1, k));
        else if (!add_operand(t, v, loc_row(kg, l, 1, k), step_of(t, p)))
            return false;
    }
    return true;
}

/* Accesses in f at positions that f has not computed; the other statements are left in `rest`. */
static bool access_operands(Tiles *t)
{
    KGen *kg = t->kg;
    const Exp *red = t->red->exp;
    const Body *b = red->soac.fn->body;
    t->rest.res = b->res;
    for (int i = 0; i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i];
        if (s->exp->kind != E_INDEX) {
            vec_push(kg->cx->perm, &t->rest.stms, *s);
            continue;
        }
        const Var *arr = s->exp->index.arr.var;
        const KLoc *l = kg_arr(kg, arr);
        KLoc from = *l;
        from.at = lmad_index(kg->cx, l->at, &s->exp->index.at);
        if (s->pat.at[0]->type.rank > 0 ||
            !add_operand(t, s->pat.at[0], from, step_of(t, row_param(red, arr))))
            return false;
    }
    return true;
}

static bool uses_inside(const Tiles *t, VarSet *used)
{
    Vars vs = varset_list(t->kg->cx->perm, used);
    for (int i = 0; i < vs.n; i++)
        if (varset_has(t->inside, vs.at[i]))
            return true;
    return false;
}

/* Does f, once operands are there, know no more than them and what is the same for all? */
static bool is_closed(const Tiles *t)
{
    Arena *a = t->kg->cx->perm;
    const Exp *red = t->red->exp;
    VarSet *used = varmap_new(a);
    free_in_body(used, &t->rest);
    for (int i = 0; i < t->operands.n; i++)
        varmap_del(used, t->operands.at[i].v);
    free_in_lambda(used, red->soac.op);
    for (int j = 0; j < red->soac.nes.n; j++)
        if (red->soac.nes.at[j].var)
            varset_add(used, red->soac.nes.at[j].var);
    if (red->soac.width.var)
        varset_add(used, red->soac.width.var);
    return !uses_inside(t, used);
}

/* Finds the operands, in code that is not kept: indices and arrays of the nest are bound in it. */
static bool find_operands(Tiles *t)
{
    KGen *kg = t->kg;
    const Nest *nest = &t->e->seg.nest;
    const Body *b = t->e->seg.body;
    KBlock aside = {0};
    bool sides[N_SIDES] = {false, false};
    int mark = ranges_mark(kg->known);
    kb_enter(kg->kb, &aside);
    for (int d = nest->n - 2; d < nest->n; d++)
        nest_bind_dim(kg, &nest->at[d], kg_int(kg, 0));
    kg_let(kg, t->k, kg_int(kg, 0));
    for (int i = 0; &b->stms.at[i] != t->red; i++)
        kg_stm(kg, &b->stms.at[i]);
    /* f's own variables are not free in what is asked of its accesses. */
    add_vars(t->inside, &t->red->exp->soac.fn->params);
    const Body *f = t->red->exp->soac.fn->body;
    for (int i = 0; i < f->stms.n; i++)
        add_vars(t->inside, &f->stms.at[i].pat);
    bool found = param_operands(t) && access_operands(t);
    kb_end(kg->kb);
    ranges_reset(kg->known, mark);
    for (int i = 0; i < t->operands.n; i++)
        if (t->operands.at[i].side != N_SIDES)
            sides[t->operands.at[i].side] = true;
    return found && sides[ROWS] && sides[COLS];
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
    int block = block_of(t);
    const KExp *along = kx_eq(a, kg_host(kg, o->step), kg_int(kg, 1));
    const KExp *depth = kg_int(kg, TILE_DEPTH), *wide = kg_int(kg, block);
    const KExp *below = kg_mul(kg, turn, kg_int(kg, GROUP / block));
    const KExp *beside = kg_mul(kg, turn, kg_int(kg, GROUP / TILE_DEPTH));
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
    const NestDim *d = t->dim[o->side];
    const KExp *turn = open_each(kg, t->reg), *k, *number;
    share_at(t, o, turn, &k, &number);
    kg_let(kg, d->idx, clamped(kg, kg_add(kg, t->first[o->side], number), d->width));
    kg_let(kg, t->k, clamped(kg, kg_add(kg, k0, k), t->red->exp->soac.width));
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
    const KExp *turn = open_each(kg, t->reg), *k, *number;
    share_at(t, o, turn, &k, &number);
    const KExp *x = kb_load(kg->kb, "x", o->next, turn);
    kb_store(kg->kb, o->tile, tile_at(t, o, k, number), x);
    kb_end(kg->kb);
}

static void each_staged(Tiles *t, const KExp *k0)
{
    for (int i = 0; i < t->operands.n; i++) {
        const Operand *o = &t->operands.at[i];
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
    const KExp *some = kg_int(kg, TOGETHER);
    if (side == ROWS) {
        const KExp *vec =
            kg_add(kg, t->mine[ROWS], kg_mul(kg, kg_quot(kg, i, some), kg_int(kg, SIDE)));
        return kg_add(kg, kg_mul(kg, vec, some), kg_rem(kg, i, some));
    }
    return kg_add(kg, t->mine[side], kg_mul(kg, i, kg_int(kg, SIDE)));
}

/* The values of the operands at k of the tile that begins at k0: the thread's own, and what is the
 * same for all elements. */
static void load_own(Tiles *t, const KExp *k0, const KExp *k)
{
    KGen *kg = t->kg;
    kg_let(kg, t->k, kg_add(kg, k0, k));
    for (int n = 0; n < t->operands.n; n++) {
        const Operand *o = &t->operands.at[n];
        if (o->side == N_SIDES) {
            kg_let(kg, o->v, loc_load(kg, "x", &o->from, NULL, 0));
            continue;
        }
        const KExp *i = open_each(kg, t->reg);
        kg_loop_unroll(kg, -1); /* by us: neighbours are seen to be such */
        const KExp *at = tile_at(t, o, k, number_of(t, o->side, i));
        kb_store(kg->kb, o->own, i, kb_load(kg->kb, "x", o->tile, at));
        kb_end(kg->kb);
    }
}

static const KExp *acc_at(const Tiles *t, const KExp *i, const KExp *j)
{
    return kg_add(t->kg, kg_mul(t->kg, i, kg_int(t->kg, t->reg)), j);
}

/* acc[i][j] := op(acc[i][j], f(the operands' elements i and j)) */
static void accumulate(Tiles *t, const KExp *const *at)
{
    KGen *kg = t->kg;
    const Exp *red = t->red->exp;
    const Lambda *op = red->soac.op;
    int n = red->soac.nes.n;
    for (int i = 0; i < t->operands.n; i++) {
        const Operand *o = &t->operands.at[i];
        if (o->side != N_SIDES)
            kg_let(kg, o->v, kb_load(kg->kb, "x", o->own, at[o->side]));
    }
    kg_stms(kg, &t->rest);
    const KExp *cell = acc_at(t, at[ROWS], at[COLS]);
    for (int j = 0; j < n; j++) {
        kg_let(kg, op->params.at[j], kb_load(kg->kb, "acc", t->acc[j], cell));
        kg_let(kg, op->params.at[n + j], kg_atom(kg, t->rest.res.at[j]));
    }
    kg_stms(kg, op->body);
    for (int j = 0; j < n; j++)
        kb_store(kg->kb, t->acc[j], cell, kg_atom(kg, op->body->res.at[j]));
}

/* How many k of a tile become straight code. */
static int depth_unrolled(const Tiles *t)
{
    int stms = 1 + t->rest.stms.n + t->red->exp->soac.op->body->stms.n;
    int n = MOST_APPLICATIONS / (t->reg * t->reg * stms);
    return n > TILE_DEPTH ? TILE_DEPTH : n < 1 ? 1 : n;
}

/* Accumulates the first `depth` k of the tile that begins at k0. */
static void work_on(Tiles *t, const KExp *k0, const KExp *depth, int unroll)
{
    KGen *kg = t->kg;
    const KExp *at[N_SIDES];
    const KExp *k = kb_for(kg->kb, "k", kg_int(kg, 0), depth, kg_int(kg, 1));
    kg_loop_unroll(kg, unroll);
    load_own(t, k0, k);
    at[ROWS] = open_each(kg, t->reg);
    at[COLS] = open_each(kg, t->reg);
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
    const KExp *width = kg_atom(kg, t->red->exp->soac.width), *depth = kg_int(kg, TILE_DEPTH);
    kb_if(b, kg_lt(kg, kg_int(kg, 0), width));
    each_staged(t, kg_int(kg, 0));
    kb_end(b);
    const KExp *k0 = kb_for(b, "k", kg_int(kg, 0), width, depth);
    const KExp *next = kb_let(b, "next", kg_add(kg, k0, depth));
    each_staged(t, NULL);
    meet(kg);
    kb_if(b, kg_lt(kg, next, width));
    each_staged(t, next);
    kb_end(b);
    kb_if(b, kg_le(kg, next, width));
    work_on(t, k0, depth, depth_unrolled(t));
    kb_else(b);
    work_on(t, k0, kg_min(kg, depth, kg_sub(kg, width, k0)), 1);
    kb_end(b);
    meet(kg); /* the tiles are written again */
    kb_end(b);
}

/* --- Results --------------------------------------------------------------------------------- */

/* The body of the element in row at[ROWS] and column at[COLS], whose reduction is in acc at `cell`.
 */
static void finish_element(Tiles *t, const KLoc *outs, const KExp *const *at, const KExp *cell)
{
    KGen *kg = t->kg;
    const Nest *nest = &t->e->seg.nest;
    const Body *b = t->e->seg.body;
    const Sx **ix = NEWN(kg->cx->perm, const Sx *, nest->n);
    int mark = ranges_mark(kg->known);
    for (int d = nest->n - 2; d < nest->n; d++)
        nest_bind_dim(kg, &nest->at[d], at[&nest->at[d] == t->dim[ROWS] ? ROWS : COLS]);
    for (int i = 0; i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i];
        for (int j = 0; s == t->red && j < s->pat.n; j++)
            kg_let(kg, s->pat.at[j], kb_load(kg->kb, "acc", t->acc[j], cell));
        if (s != t->red)
            kg_stm(kg, s);
    }
    nest_indices(kg, nest, nest->n, ix);
    for (int j = 0; j < t->stm->pat.n; j++)
        loc_store(kg, &outs[j], ix, nest->n, kg_atom(kg, b->res.at[j]));
    ranges_reset(kg->known, mark);
}

static void store_block(Tiles *t, const KLoc *outs)
{
    KGen *kg = t->kg;
    const KExp *i[N_SIDES], *at[N_SIDES], *there = kx_bool(kg->cx->perm, true);
    for (int d = 0; d < N_SIDES; d++) {
        i[d] = open_each(kg, t->reg);
        at[d] = kb_let(kg->kb, "at", kg_add(kg, t->first[d], number_of(t, d, i[d])));
        there = kg_and(kg, there, kg_lt(kg, at[d], kg_atom(kg, t->dim[d]->width)));
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
    return sx_op(cx, SX_CEILDIV, sx_atom(cx, t->dim[side]->width), sx_const(cx, block_of(t)));
}

static const Sx *blocks_in_all(const Tiles *t)
{
    Ctx *cx = t->kg->cx;
    const Nest *nest = &t->e->seg.nest;
    const Sx *n = sx_mul(cx, blocks_along(t, ROWS), blocks_along(t, COLS));
    return sx_mul(cx, nest_size(cx, nest, 0, nest->n - 2), n);
}

/* Opens the loop over the blocks of a group and locates the one at hand. */
static void open_blocks(Tiles *t)
{
    KGen *kg = t->kg;
    KBuild *b = kg->kb;
    const KExp *total = nest_total(kg, blocks_in_all(t)), *size = kg_int(kg, block_of(t));
    const KExp *rest = kb_for(b, "block", kg_id(kg, KID_GROUP), total, kg_id(kg, KID_GROUPS));
    for (int d = COLS; d >= ROWS; d--) {
        const KExp *n = kg_host(kg, blocks_along(t, d));
        const KExp *q = kb_let(b, "q", kg_quot(kg, rest, n));
        t->first[d] = kb_let(b, "first", kg_mul(kg, kg_sub(kg, rest, kg_mul(kg, q, n)), size));
        rest = q;
    }
    nest_bind_range(kg, &t->e->seg.nest, 0, t->e->seg.nest.n - 2, rest);
}

static void declare_buffers(Tiles *t)
{
    KGen *kg = t->kg;
    const Atoms *nes = &t->red->exp->soac.nes;
    t->acc = NEWN(kg->cx->perm, KBuf *, nes->n);
    for (int i = 0; i < t->operands.n; i++) {
        Operand *o = &t->operands.at[i];
        PrimType elem = o->v->type.elem;
        if (o->side == N_SIDES)
            continue;
        o->tile = kg_param_local(kg, "tile", elem,
                                 sx_const(kg->cx, (int64_t)TILE_DEPTH * pitch_of(t, elem)));
        o->tile->align = VECTOR_BYTES;
        o->next = kb_array(kg->kb, "next", elem, t->reg);
        o->own = kb_array(kg->kb, "own", elem, t->reg);
    }
    for (int j = 0; j < nes->n; j++) {
        PrimType elem = t->red->exp->soac.op->params.at[j]->type.elem;
        t->acc[j] = kb_array(kg->kb, "acc", elem, (int64_t)t->reg * t->reg);
        const KExp *i = open_each(kg, t->reg * t->reg);
        kb_store(kg->kb, t->acc[j], i, kg_atom(kg, nes->at[j]));
        kb_end(kg->kb);
    }
}

/* The kernel whose threads have reg x reg elements each; NULL where an operand varies with more
 * than one side, or f knows of more than operands. */
static Kernel *tile_kernel(Tiles *t, const ArrLoc *outs)
{
    KGen *kg = t->kg;
    kg->group_size = sx_const(kg->cx, GROUP);
    kg->at = t->e->loc;
    kg_if_teams(kg);
    t->lane = kb_let(kg->kb, "lane", kg_rem(kg, kg->lid, kg_int(kg, GROUP)));
    t->mine[ROWS] = kb_let(kg->kb, "row", kg_quot(kg, t->lane, kg_int(kg, SIDE)));
    t->mine[COLS] = kb_let(kg->kb, "col", kg_rem(kg, t->lane, kg_int(kg, SIDE)));
    open_blocks(t);
    if (!find_operands(t) || !is_closed(t))
        return NULL;
    declare_buffers(t);
    reduce_block(t);
    store_block(t, seg_outs(kg, t->stm, 0, outs));
    kb_end(kg->kb);
    kb_end(kg->kb);
    return kg_finish(kg);
}

/* Not 0 if there are blocks enough to keep the device busy, of those that are whole (and one more),
 * and it has groups of such a kind. */
static const Sx *is_worth(const Tiles *t)
{
    Ctx *cx = t->kg->cx;
    const Nest *nest = &t->e->seg.nest;
    const Sx *n = nest_size(cx, nest, 0, nest->n - 2);
    for (int d = 0; d < N_SIDES; d++)
        n = sx_mul(cx, n,
                   sx_op(cx, SX_DIV, sx_atom(cx, t->dim[d]->width), sx_const(cx, block_of(t))));
    n = sx_op(cx, SX_DIV, sx_add(cx, n, sx_const(cx, 1)), sx_size(cx, SIZE_TILE_GROUPS));
    const Sx *room = sx_op(cx, SX_DIV, sx_size(cx, SIZE_LOCAL_MEMORY), kg_local_bytes(t->kg));
    const Sx *team = sx_op(cx, SX_DIV, sx_size(cx, SIZE_TEAM_LIMIT), sx_const(cx, GROUP));
    return sx_op(cx, SX_MIN, n, sx_op(cx, SX_MIN, room, team));
}

static Tiles tiles_of(PlanBuild *pb, const Stm *s, const ArrLoc *outs, int reg)
{
    KGen *kg = kg_new(pb, "segtile", s->exp);
    Tiles t = {.kg = kg, .stm = s, .e = s->exp, .reg = reg};
    t.red = reduction_of(s->exp->seg.body);
    t.k = var_new(pb->cx, "k", type_prim(T_I64), s->exp->loc);
    t.inside = varmap_new(pb->cx->perm);
    find_sides(&t, outs);
    find_inside(&t);
    return t;
}

int segtile_branches(PlanBuild *pb, const Stm *s, const ArrLoc *outs)
{
    static const int regs[] = {8, 4};
    int n = 0;
    for (int i = 0; has_shape(s) && i < 2; i++) {
        Tiles t = tiles_of(pb, s, outs, regs[i]);
        if (acc_bytes(t.red->exp) * t.reg * t.reg > ACC_BYTES)
            continue;
        Kernel *k = tile_kernel(&t, outs);
        if (!k)
            break;
        pb_if_more(pb, is_worth(&t), 0);
        pb_if_fits(pb, (Fit){k, t.kg->group_size, kg_local_bytes(t.kg)});
        kg_launch(t.kg, k, nest_groups(t.kg, blocks_in_all(&t), sx_const(pb->cx, 1)));
        pb_else(pb);
        n++;
    }
    return n;
}
