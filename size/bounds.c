/* Bounds of sizes in terms of what is known elsewhere: the host allocates for the largest array
 * that a thread can make, say.
 *
 * An upper bound is computed exactly where it is used, so results that wrap around at the upper end
 * need no care: their bound is the end of i64 itself or what would have been the result. What wraps
 * around at the lower end would be a large number with a small bound; sums, differences and
 * products are looked into only where that cannot be. */
#include "size/prove.h"

SxBounds *sx_bounds_new(Ctx *cx, SxFacts *f, bool (*known)(void *env, const KExp *leaf), void *env)
{
    SxBounds *b = NEW(cx->perm, SxBounds);
    *b = (SxBounds){cx, f, known, env, varmap_new(cx->perm), 0};
    return b;
}

/* What a number was computed by, in arithmetic of type t. */
typedef struct {
    SxKind op;
    const KExp *x, *y;
    PrimType t;
} Step;

static bool fits(SxBounds *b, const Step *s)
{
    int64_t lo, hi, most = INT64_MAX >> (64 - prim_bits(s->t));
    sx_interval(b->facts, sx_op(b->cx, s->op, s->x, s->y), &lo, &hi);
    return lo > -most && hi < most;
}

/* --- Definitions ------------------------------------------------------------------------------ */

static bool prim_step(SxBounds *b, const Exp *e, Step *s)
{
    static const SxKind ops[N_PRIM_OPS] = {
        [OP_ADD] = SX_ADD, [OP_SUB] = SX_SUB,  [OP_MUL] = SX_MUL,
        [OP_DIV] = SX_DIV, [OP_QUOT] = SX_DIV, [OP_MOD] = SX_MOD,
        [OP_REM] = SX_MOD, [OP_MIN] = SX_MIN,  [OP_MAX] = SX_MAX};
    SxKind op = ops[e->prim.op];
    if (op == SX_CONST || !prim_is_signed(e->prim.type)) /* not in the table, not of integers */
        return false;
    *s = (Step){op, sx_atom(b->cx, e->prim.args.at[0]), sx_atom(b->cx, e->prim.args.at[1]),
                e->prim.type};
    return e->prim.op != OP_REM || sx_nonneg(b->facts, s->y);
}

/* The operation that a is, or that its definition is. */
static bool step_of(SxBounds *b, const KExp *a, Step *s)
{
    if (a->kind == KE_HOST) {
        const Def *d = ranges_def(sx_facts_ranges(b->facts), a->host);
        return d && d->exp->kind == E_PRIM && prim_step(b, d->exp, s);
    }
    if (a->n == 0 || a->kind == KE_SELECT)
        return false;
    *s = (Step){sx_kind(a), sx_left(a), sx_right(a), T_I64};
    return true;
}

/* --- Upper bounds ----------------------------------------------------------------------------- */

static const KExp *upper_sum(SxBounds *b, const Step *s)
{
    const KExp *u = sx_upper(b, s->x), *v;
    if (!u || !(v = s->op == SX_ADD ? sx_upper(b, s->y) : sx_lower(b, s->y)))
        return NULL;
    bool ok =
        sx_nonneg(b->facts, s->x) || (s->op == SX_ADD && sx_nonneg(b->facts, s->y)) || fits(b, s);
    return ok ? sx_op(b->cx, s->op, u, v) : NULL;
}

static const KExp *upper_product(SxBounds *b, const Step *s)
{
    const KExp *u = sx_upper(b, s->x), *v = u ? sx_upper(b, s->y) : NULL,
               *zero = sx_const(b->cx, 0);
    if (!v)
        return NULL;
    bool x = sx_nonneg(b->facts, s->x), y = sx_nonneg(b->facts, s->y);
    if (!(x && y) && !((x || y) && fits(b, s)))
        return NULL;
    return sx_mul(b->cx, x ? u : sx_op(b->cx, SX_MAX, u, zero),
                  y ? v : sx_op(b->cx, SX_MAX, v, zero));
}

/* Of what may be negative, too, by a divisor that may not. */
static const KExp *upper_quotient(SxBounds *b, const Step *s)
{
    const KExp *one = sx_const(b->cx, 1), *u = sx_upper(b, s->x);
    if (!u || !sx_le(b->facts, one, s->y))
        return NULL;
    const KExp *v = sx_lower(b, s->y);
    u = sx_op(b->cx, SX_MAX, u, sx_const(b->cx, 0));
    /* Where the bound is computed, that the divisor is positive here need not hold. */
    return v ? sx_op(b->cx, s->op, u, sx_op(b->cx, SX_MAX, v, one)) : u;
}

/* Less than the divisor if that is positive, not positive if it is negative. */
static const KExp *upper_remainder(SxBounds *b, const Step *s)
{
    const KExp *v = sx_upper(b, s->y);
    if (!v)
        return NULL;
    return sx_op(b->cx, SX_MAX, sx_sub(b->cx, v, sx_const(b->cx, 1)), sx_const(b->cx, 0));
}

static const KExp *upper_step(SxBounds *b, const Step *s)
{
    if (s->op == SX_ADD || s->op == SX_SUB)
        return upper_sum(b, s);
    if (s->op == SX_MUL)
        return upper_product(b, s);
    if (s->op == SX_DIV || s->op == SX_CEILDIV)
        return upper_quotient(b, s);
    if (s->op == SX_MOD)
        return upper_remainder(b, s);
    const KExp *u = sx_upper(b, s->x), *v = u || s->op == SX_MIN ? sx_upper(b, s->y) : NULL;
    if (u && v)
        return sx_op(b->cx, s->op, u, v);
    return s->op == SX_MIN ? u ? u : v : NULL;
}

/* The larger of both, or the one that is taken. */
static const KExp *upper_choice(SxBounds *b, const KExp *cond, const KExp *x, const KExp *y)
{
    const KExp *u = sx_upper(b, x), *v = u ? sx_upper(b, y) : NULL;
    if (!v)
        return NULL;
    return cond ? sx_select(b->cx, cond, u, v) : sx_op(b->cx, SX_MAX, u, v);
}

static const KExp *upper_def(SxBounds *b, const Var *v)
{
    const Atom *below = ranges_below(sx_facts_ranges(b->facts), v);
    if (below) {
        const KExp *u = sx_upper(b, sx_atom(b->cx, *below));
        return u ? sx_sub(b->cx, u, sx_const(b->cx, 1)) : NULL;
    }
    const Def *d = ranges_def(sx_facts_ranges(b->facts), v);
    if (!d)
        return NULL;
    const Exp *e = d->exp;
    if (e->kind == E_ATOM)
        return sx_upper(b, sx_atom(b->cx, e->atom));
    if (e->kind == E_CONV && e->conv.to == T_I64 && prim_is_signed(e->conv.from))
        return sx_upper(b, sx_atom(b->cx, e->conv.arg));
    if (e->kind == E_IF)
        return upper_choice(b, NULL, sx_atom(b->cx, e->branch.then_->res.at[d->k]),
                            sx_atom(b->cx, e->branch.else_->res.at[d->k]));
    Step s;
    return e->kind == E_PRIM && prim_step(b, e, &s) ? upper_step(b, &s) : NULL;
}

static bool is_known(SxBounds *b, const KExp *a)
{
    return a->kind == KE_CONST || (a->n == 0 && b->known(b->env, a));
}

const KExp *sx_upper(SxBounds *b, const KExp *a)
{
    Step s;
    if (is_known(b, a))
        return a;
    if (a->kind == KE_HOST) {
        const KExp *u = varmap_get(b->upper, a->host);
        u = u ? u : upper_def(b, a->host);
        if (u)
            varmap_put(b->upper, a->host, u);
        return u;
    }
    if (a->kind == KE_SELECT) {
        bool told = is_known(b, sx_cond(a));
        return upper_choice(b, told ? sx_cond(a) : NULL, sx_left(a), sx_right(a));
    }
    return step_of(b, a, &s) ? upper_step(b, &s) : NULL;
}

void sx_set_upper(SxBounds *b, const Var *v, const KExp *upper)
{
    varmap_put(b->upper, v, upper);
}

const KExp *sx_upper_count(SxBounds *b, Ranges *there, Type t)
{
    const KExp *count = sx_const(b->cx, 1), *zero = sx_const(b->cx, 0);
    for (int k = 0; k < t.rank; k++) {
        const KExp *n = sx_atom(b->cx, t.dims[k]), *d = sx_upper(b, n);
        if (!d)
            return NULL;
        /* A bound may be negative, and so may a size that a branch not taken would check. */
        if (!is_known(b, n) || !ranges_le(there, atom_i64(0), t.dims[k], 0))
            d = sx_op(b->cx, SX_MAX, d, zero);
        count = sx_mul(b->cx, count, d);
    }
    return count;
}

/* --- Lower bounds ----------------------------------------------------------------------------- */

static const KExp *lower_step(SxBounds *b, const Step *s)
{
    const KExp *u = NULL, *v = NULL;
    if (s->op == SX_ADD || s->op == SX_SUB || s->op == SX_MIN || s->op == SX_MAX) {
        u = sx_lower(b, s->x);
        v = s->op == SX_SUB ? sx_upper(b, s->y) : sx_lower(b, s->y);
    }
    if (s->op == SX_MAX && (!u || !v))
        return u ? u : v;
    bool sum = s->op == SX_ADD || s->op == SX_SUB;
    return u && v && (!sum || fits(b, s)) ? sx_op(b->cx, s->op, u, v) : NULL;
}

const KExp *sx_lower(SxBounds *b, const KExp *a)
{
    enum { MAX_DEPTH = 6 };
    Step s;
    if (is_known(b, a))
        return a;
    b->depth++;
    const KExp *l = b->depth <= MAX_DEPTH && step_of(b, a, &s) ? lower_step(b, &s) : NULL;
    b->depth--;
    return l ? l : sx_nonneg(b->facts, a) ? sx_const(b->cx, 0) : NULL;
}
