/* Tiles of operands of matrix units (tiles.h): which arrays these can be of, and their copies. */
#include "kernels/matrix/tiles.h"

/* --- Where operands lie ---------------------------------------------------------------------- */

const KExp *tile_growth(Ctx *cx, const KExp *x, const Var *v)
{
    if (x->kind == KE_HOST)
        return sx_const(cx, x->host == v);
    bool sum = x->kind == KE_PRIM && (x->op == OP_ADD || x->op == OP_SUB);
    const KExp *g[2] = {NULL, NULL}, *zero = sx_const(cx, 0);
    bool none = true;
    for (int i = 0; i < x->n; i++) {
        const KExp *of = tile_growth(cx, x->x[i], v);
        if (!of)
            return NULL;
        none &= kx_same(of, zero);
        if (i < 2)
            g[i] = of;
    }
    if (none)
        return zero;
    if (sum)
        return sx_op(cx, x->op == OP_ADD ? SX_ADD : SX_SUB, g[0], g[1]);
    if (x->kind != KE_PRIM || x->op != OP_MUL || !(kx_same(g[0], zero) || kx_same(g[1], zero)))
        return NULL;
    return kx_same(g[0], zero) ? sx_mul(cx, x->x[0], g[1]) : sx_mul(cx, g[0], x->x[1]);
}

/* What a parameter of the kernel is given. */
static const KExp *given(void *env, const KExp *x)
{
    const KParams *ps = &((KGen *)env)->params;
    for (int i = 0; x->kind == KE_VAR && i < ps->n; i++)
        if (ps->at[i].var == x->var && ps->at[i].value)
            return ps->at[i].value;
    return x;
}

static void find_bound(void *env, const KExp *x)
{
    bool *bound = env;
    *bound |= x->kind == KE_VAR;
}

/* The same as the host knows it; NULL: that does not. */
static const KExp *for_host(KGen *kg, const Source *s, const KExp *x)
{
    VarSet *used = varmap_new(kg->cx->perm);
    bool bound = false;
    x = kexp_map(kg->cx->perm, x, given, kg);
    kexp_visit(x, find_bound, &bound);
    kexp_hosts(x, used);
    bound |= varset_has(used, s->across) || varset_has(used, s->along);
    Vars vs = varset_list(kg->cx->perm, used);
    for (int i = 0; i < vs.n; i++)
        bound |= varset_has(s->inside, vs.at[i]);
    return bound ? NULL : x;
}

/* Host: 1 where x is a multiple of what is copied at once, else 0. */
static const KExp *in_copies(Ctx *cx, const Source *s, const KExp *x)
{
    const KExp *rest = sx_op(cx, SX_MOD, x, sx_const(cx, ktile_beside(s->elem)));
    return sx_select(cx, rest, sx_const(cx, 0), sx_const(cx, 1));
}

const KExp *tile_both(Ctx *cx, const KExp *x, const KExp *y)
{
    return x && y ? sx_op(cx, SX_MIN, x, y) : NULL;
}

static const KExp *host_in_copies(KGen *kg, const Source *s, const KExp *x)
{
    x = x ? for_host(kg, s, x) : NULL;
    if (x && s->anywhere)
        return sx_const(kg->cx, 1);
    return x ? in_copies(kg->cx, s, x) : NULL;
}

/* Host: 1 where x is 1, else 0; NULL: it is not. */
static const KExp *is_one(KGen *kg, const Source *s, const KExp *x)
{
    Ctx *cx = kg->cx;
    const KExp *one = sx_const(cx, 1), *zero = sx_const(cx, 0);
    x = for_host(kg, s, x);
    if (!x || (x->kind == KE_CONST && !kx_same(x, one)))
        return NULL;
    return sx_select(cx, sx_sub(cx, x, one), zero, one);
}

const KExp *tile_source(KGen *kg, const Source *s, const KExp **apart)
{
    Ctx *cx = kg->cx;
    const KExp *zero = sx_const(cx, 0), *begin = s->at;
    const KExp *across = tile_growth(cx, s->at, s->across),
               *along = tile_growth(cx, s->at, s->along);
    if (!across || !along)
        return NULL;
    *apart = s->turned ? along : across;
    const KExp *can =
        tile_both(cx, is_one(kg, s, s->turned ? across : along), host_in_copies(kg, s, *apart));
    if (s->anywhere)
        return can;
    for (int d = 0; d < s->batch; d++) {
        const Var *idx = s->nest->at[d].idx;
        can = tile_both(cx, can, host_in_copies(kg, s, tile_growth(cx, s->at, idx)));
        begin = sx_with(cx, begin, idx, zero);
    }
    begin = sx_with(cx, sx_with(cx, begin, s->across, zero), s->along, zero);
    can = tile_both(cx, can, host_in_copies(kg, s, begin));
    return tile_both(cx, can, in_copies(cx, s, sx_atom(cx, s->turned ? s->n_across : s->n_along)));
}

const KExp *tile_units(Ctx *cx, int threads, bool wide)
{
    const KExp *team = sx_op(cx, SX_DIV, sx_size(cx, SIZE_TEAM_LIMIT), sx_const(cx, threads));
    const KExp *units = sx_size(cx, SIZE_MATRIX_UNITS);
    if (wide) /* 2: there are those, too */
        units = sx_op(cx, SX_MAX, sx_sub(cx, units, sx_const(cx, 1)), sx_const(cx, 0));
    return sx_op(cx, SX_MIN, units, team);
}

/* --- Copies ---------------------------------------------------------------------------------- */

void tile_locate(KGen *kg, TileCopy *c, const KExp *thread)
{
    int beside = ktile_beside(c->tiles->elem);
    const KExp *in_row = kg_int(kg, c->pitch / beside), *word = kg_int(kg, beside);
    c->row = kb_let(kg->kb, "row", kg_quot(kg, thread, in_row));
    c->begin = kb_let(kg->kb, "begin", kg_mul(kg, kg_rem(kg, thread, in_row), word));
}

/* Where a copy's tile, or panel, begins; its place in the row of that. */
static const KExp *copy_tile_at(KGen *kg, const TileCopy *c, const KExp **in_row)
{
    *in_row = c->begin;
    if (!c->panels)
        return c->to;
    const KExp *panel = kg_int(kg, KTILE_PANEL);
    *in_row = kg_rem(kg, c->begin, panel);
    const KExp *number = kg_quot(kg, c->begin, panel);
    return kg_add(kg, c->to, kg_mul(kg, number, kg_int(kg, c->rows * KTILE_PANEL)));
}

/* What says which elements of a copy there are, `rows` rows behind the thread's first one. */
static const KExp *copy_there(KGen *kg, const TileCopy *c, const KExp *rows)
{
    const KExp *there = kg_lt(kg, kg_add(kg, c->number, rows), c->end);
    if (!c->anywhere)
        return kg_and(kg, kg_lt(kg, c->place, c->len), there);
    return kx_select(kg->cx->perm, there, kg_sub(kg, c->len, c->place), kg_int(kg, 0));
}

void tile_copy(KGen *kg, const TileCopy *c)
{
    const KExp *in_row, *to = copy_tile_at(kg, c, &in_row);
    int at_once = c->threads * ktile_beside(c->tiles->elem) / c->pitch;
    int turns = c->rows / at_once;
    ASSERT(at_once * turns == c->rows);
    const KExp *turn = kb_for(kg->kb, "i", kg_int(kg, 0), kg_int(kg, turns), kg_int(kg, 1));
    kg_loop_unroll(kg, turns);
    const KExp *rows = kg_mul(kg, turn, kg_int(kg, at_once));
    KStm copy = {.kind = KST_COPY, .buf = c->tiles, .with = c->mem};
    copy.tile.elem = c->tiles->elem;
    copy.tile.pitch[0] = c->panels ? KTILE_PANEL : c->pitch;
    vec_push(kg->cx->perm, &copy.args, kg_add(kg, c->row, rows));
    vec_push(kg->cx->perm, &copy.args, in_row);
    copy.x[0] = to;
    copy.x[1] = kg_add(kg, c->from, kg_mul(kg, rows, c->apart));
    copy.x[2] = copy_there(kg, c, rows);
    kb_stm(kg->kb, copy);
    kb_end(kg->kb);
}

void tile_round(KGen *kg, int n)
{
    kb_stm(kg->kb, (KStm){.kind = KST_ROUND, .x = {kg_int(kg, n)}});
}

void tile_meet(KGen *kg)
{
    kb_meet(kg->kb, 1u << KS_LOCAL);
}

void tile_expose(KGen *kg)
{
    kb_stm(kg->kb, (KStm){.kind = KST_EXPOSE});
}

void tile_settle(KGen *kg, KBuf *sums)
{
    kb_stm(kg->kb, (KStm){.kind = KST_SETTLE, .buf = sums});
}

void tile_multiply(KGen *kg, KBuf *fragments, KBuf *sums, const KTile *shape)
{
    kb_stm(kg->kb, (KStm){.kind = KST_MULTIPLY, .buf = fragments, .with = sums, .tile = *shape});
}
