/* Reductions of elements in two dimensions over arrays of which each varies with one of the two:
 * which they are, what they read, and blocks of their elements (sums.h). */
#include "kernels/level1/sums.h"

/* The columns are the dimension along which results lie side by side. */
static void find_sides(Sides *s, const ArrLoc *outs)
{
    const Nest *nest = &s->r->e->seg.nest;
    const KExp *const *strides = outs[0].at.strides;
    int n = s->r->depth;
    bool turned = kx_is_int(strides[n - 2], 1) && !kx_is_int(strides[n - 1], 1);
    s->dim[ROWS] = &nest->at[turned ? n - 1 : n - 2];
    s->dim[COLS] = &nest->at[turned ? n - 2 : n - 1];
}

/* --- Operands --------------------------------------------------------------------------------- */

typedef struct {
    const Sides *s;
    bool varies[N_SIDES], unknown;
} Leaves;

static bool is_parameter(const KGen *kg, const KVar *v)
{
    for (int i = 0; i < kg->params.n; i++)
        if (kg->params.at[i].var == v)
            return true;
    return false;
}

static void note_leaf(void *env, const KExp *x)
{
    Leaves *l = env;
    if (x->kind == KE_VAR)
        l->unknown |= !is_parameter(l->s->kg, x->var);
    if (x->kind != KE_HOST)
        return;
    bool side = false;
    for (int d = 0; d < N_SIDES; d++) {
        bool same = x->host == l->s->dim[d]->idx;
        l->varies[d] |= same;
        side |= same;
    }
    l->unknown |= !side && varset_has(l->s->inside, x->host);
}

/* Are elements whose indices v differ by one neighbours, as far as is seen? */
static bool lies_beside(const Sides *s, const KExp *at, const Var *v)
{
    Ctx *cx = s->kg->cx;
    const KExp *zero = sx_const(cx, 0), *one = sx_const(cx, 1),
               *first = sx_with(cx, at, s->r->k, zero);
    return kx_same(sx_add(cx, sx_with(cx, first, v, zero), one), sx_with(cx, first, v, one));
}

/* v takes the element `from`; false if that depends on more than one side and k. */
static bool add_operand(Sides *s, const Var *v, KLoc from, const KExp *step)
{
    Leaves l = {.s = s};
    kexp_visit(from.at.offset, note_leaf, &l);
    if (l.unknown || (l.varies[ROWS] && l.varies[COLS]))
        return false;
    Operand o = {.v = v, .from = from, .step = step};
    o.side = l.varies[ROWS] ? ROWS : l.varies[COLS] ? COLS : N_SIDES;
    if (o.side != N_SIDES)
        o.beside = lies_beside(s, from.at.offset, s->dim[o.side]->idx);
    vec_push(s->kg->cx->perm, &s->operands, o);
    return true;
}

/* The array of which the variable is a row in f; its number, -1 if there is none. */
static int row_param(const Sums *r, const Var *v)
{
    for (int p = 0; p < r->arrs->n; p++)
        if (r->params->at[p] == v)
            return p;
    return -1;
}

static const KExp *step_of(const Sides *s, int p)
{
    const Atoms *arrs = s->r->arrs;
    return p < 0 ? sx_const(s->kg->cx, 0) : kg_arr(s->kg, arrs->at[p].var)->at.strides[0];
}

static bool param_operands(Sides *s)
{
    KGen *kg = s->kg;
    const KExp *k = sx_var(kg->cx, s->r->k);
    for (int p = 0; p < s->r->arrs->n; p++) {
        const Var *v = s->r->params->at[p];
        const KLoc *l = kg_arr(kg, s->r->arrs->at[p].var);
        if (v->type.rank > 0)
            kg_bind_arr(kg, v, loc_row(kg, l, v->type.rank + 1, k));
        else if (!add_operand(s, v, loc_row(kg, l, 1, k), step_of(s, p)))
            return false;
    }
    return true;
}

/* Accesses in f at positions that f has not computed; the other statements are left in `rest`. */
static bool access_operands(Sides *s)
{
    KGen *kg = s->kg;
    const Body *f = s->r->f;
    s->rest.res = f->res;
    for (int i = 0; i < f->stms.n; i++) {
        const Stm *st = &f->stms.at[i];
        if (st->exp->kind != E_INDEX) {
            vec_push(kg->cx->perm, &s->rest.stms, *st);
            continue;
        }
        const Var *arr = st->exp->index.arr.var;
        const KLoc *l = kg_arr(kg, arr);
        KLoc from = *l;
        from.at = lmad_index(kg->cx, l->at, &st->exp->index.at);
        if (st->pat.at[0]->type.rank > 0 ||
            !add_operand(s, st->pat.at[0], from, step_of(s, row_param(s->r, arr))))
            return false;
    }
    return true;
}

/* Does f, once operands are there, know no more than them and what is the same for all? */
static bool is_closed(const Sides *s)
{
    Arena *a = s->kg->cx->perm;
    const Sums *r = s->r;
    VarSet *used = varmap_new(a);
    free_in_body(used, &s->rest);
    for (int i = 0; i < s->operands.n; i++)
        varmap_del(used, s->operands.at[i].v);
    free_in_lambda(used, r->op);
    for (int j = 0; j < r->nes->n; j++)
        if (r->nes->at[j].var)
            varset_add(used, r->nes->at[j].var);
    if (r->width.var)
        varset_add(used, r->width.var);
    return !sums_uses(s->kg->cx, used, s->inside);
}

/* Finds the operands, in code that is not kept: indices and arrays of the nest are bound in it. */
static bool find_operands(Sides *s)
{
    KGen *kg = s->kg;
    const Nest *nest = &s->r->e->seg.nest;
    KBlock aside = {0};
    bool sides[N_SIDES] = {false, false};
    int mark = ranges_mark(kg->known);
    kb_enter(kg->kb, &aside);
    for (int d = s->r->depth - 2; d < s->r->depth; d++)
        nest_bind_dim(kg, &nest->at[d], kg_int(kg, 0));
    kg_let(kg, s->r->k, kg_int(kg, 0));
    sums_before(kg, s->r);
    /* f's own variables are not free in what is asked of its accesses. */
    sums_add_vars(s->inside, s->r->params);
    const Body *f = s->r->f;
    for (int i = 0; i < f->stms.n; i++)
        sums_add_vars(s->inside, &f->stms.at[i].pat);
    bool found = param_operands(s) && access_operands(s);
    kb_end(kg->kb);
    ranges_reset(kg->known, mark);
    for (int i = 0; i < s->operands.n; i++)
        if (s->operands.at[i].side != N_SIDES)
            sides[s->operands.at[i].side] = true;
    return found && sides[ROWS] && sides[COLS];
}

Sides sides_of(KGen *kg, const Sums *r, const ArrLoc *outs)
{
    Sides s = {.kg = kg, .r = r, .inside = varmap_new(kg->cx->perm)};
    find_sides(&s, outs);
    sums_inside(r, r->depth - 2, s.inside);
    return s;
}

bool sides_find(Sides *s)
{
    return find_operands(s) && is_closed(s);
}

/* --- Blocking -------------------------------------------------------------------------------- */

enum { SHARED = 2 }; /* rows or columns that read an element, at least */

/* Blocking along a side, the last of which may be cut. */
static const KExp *blocks_along(const Sides *s, const Blocking *b, int side)
{
    Ctx *cx = s->kg->cx;
    return sx_op(cx, SX_CEILDIV, sx_atom(cx, s->dim[side]->width), sx_const(cx, b->size[side]));
}

const KExp *blocking_count(const Sides *s, const Blocking *b)
{
    Ctx *cx = s->kg->cx;
    const KExp *n = sx_mul(cx, blocks_along(s, b, ROWS), blocks_along(s, b, COLS));
    return sx_mul(cx, nest_size(cx, &s->r->e->seg.nest, 0, s->r->depth - 2), n);
}

const KExp *blocking_pieces(const Sides *s, const Blocking *b)
{
    Ctx *cx = s->kg->cx;
    const KExp *one = sx_const(cx, 1), *units = sx_size(cx, SIZE_TILE_GROUPS);
    const KExp *blocks = sx_op(cx, SX_MAX, blocking_count(s, b), one);
    const KExp *groups = sx_mul(cx, units, sx_const(cx, b->groups));
    const KExp *most = sx_op(cx, SX_DIV, sx_atom(cx, s->r->width), sx_const(cx, b->piece));
    const KExp *want = sx_op(cx, SX_MIN, sx_op(cx, SX_DIV, groups, blocks), most);
    want = sx_select(cx, sx_op(cx, SX_DIV, units, blocks), want, one);
    return sx_op(cx, SX_MAX, want, one);
}

/* Are there elements for that share of the blocks? */
static const KExp *are_full(const Sides *s, const Blocking *b)
{
    Ctx *cx = s->kg->cx;
    const KExp *n = sx_const(cx, 100), *room = sx_const(cx, b->full);
    for (int d = 0; d < N_SIDES; d++) {
        const KExp *size = sx_const(cx, b->size[d]);
        n = sx_mul(cx, n, sx_atom(cx, s->dim[d]->width));
        room = sx_mul(cx, room, sx_mul(cx, blocks_along(s, b, d), size));
    }
    return cost_percent(cx, n, room);
}

const KExp *blocking_worth(const Sides *s, const Blocking *b, const KExp *pieces)
{
    Ctx *cx = s->kg->cx;
    const KExp *percent = sx_const(cx, 100);
    const KExp *fill = sx_mul(cx, sx_size(cx, SIZE_TILE_GROUPS), sx_const(cx, b->fill));
    const KExp *n = sx_mul(cx, sx_mul(cx, blocking_count(s, b), pieces), percent);
    const KExp *worth = cost_percent(cx, n, fill);
    const KExp *rows = sx_atom(cx, s->dim[ROWS]->width), *cols = sx_atom(cx, s->dim[COLS]->width);
    const KExp *few = sx_op(cx, SX_MIN, rows, cols), *many = sx_op(cx, SX_MAX, rows, cols);
    if (b->full)
        worth = cost_both(cx, worth, are_full(s, b));
    worth = cost_both(cx, worth, cost_percent(cx, b->either ? many : few, sx_const(cx, b->least)));
    return cost_both(cx, worth, cost_percent(cx, few, sx_const(cx, SHARED)));
}

Share blocking_open(const Sides *s, const Blocking *b, const Pieces *p, const KExp *first[N_SIDES])
{
    KGen *kg = s->kg;
    Share share = sums_open_share(kg, s->r, blocking_count(s, b), p);
    const KExp *rest = share.block;
    for (int d = COLS; d >= ROWS; d--) {
        const KExp *size = kg_int(kg, b->size[d]), *n = kg_host(kg, blocks_along(s, b, d));
        const KExp *q = kb_let(kg->kb, "q", kg_quot(kg, rest, n));
        first[d] = kb_let(kg->kb, "first", kg_mul(kg, kg_sub(kg, rest, kg_mul(kg, q, n)), size));
        rest = q;
    }
    nest_bind_range(kg, &s->r->e->seg.nest, 0, s->r->depth - 2, rest);
    return share;
}
