/* Ranges of integers: see range.h. A bound that would grow beyond MOST_NODES is given up, so the
 * work for an expression is in proportion to its size. */
#include "kir/facts/range.h"

#include "kir/walk.h"

enum { MOST_NODES = 96, MOST_LANES = 1024 };

typedef struct {
    PtrMap *map;
    const KVar *var;
    const void *was;
} Undo;

struct KRanges {
    Arena *arena;
    PtrMap *of;     /* KVar -> KRange */
    PtrMap *def;    /* KVar -> KExp */
    PtrMap *end;    /* KVar of a FOR -> KExp */
    PtrSet *scalar; /* parameters */
    PtrSet *some;   /* those that are at least 1 here */
    VEC(Undo) undo;
};

static const KRange unknown = {NULL, NULL};

KRanges *kranges_new(Arena *a, const KFun *f)
{
    KRanges *r = NEW(a, KRanges);
    *r = (KRanges){.arena = a,
                   .of = ptrmap_new(a),
                   .def = ptrmap_new(a),
                   .end = ptrmap_new(a),
                   .scalar = ptrmap_new(a),
                   .some = ptrmap_new(a)};
    for (int i = 0; i < f->params.n; i++)
        if (f->params.at[i].kind == KP_SCALAR)
            ptrset_add(r->scalar, f->params.at[i].var);
    return r;
}

/* Until it is forgotten. */
static void put(KRanges *r, PtrMap *map, const KVar *v, const void *what)
{
    vec_push(r->arena, &r->undo, (Undo){map, v, ptrmap_get(map, v)});
    ptrmap_put(map, v, what);
}

void kranges_set(KRanges *r, const KVar *v, KRange range)
{
    put(r, r->of, v, arena_memdup(r->arena, &range, sizeof range));
}

void kranges_define(KRanges *r, const KVar *v, const KExp *x)
{
    if (!kexp_changes(x))
        ptrmap_put(r->def, v, x);
}

void kranges_end(KRanges *r, const KVar *v, const KExp *end)
{
    if (!kexp_changes(end))
        ptrmap_put(r->end, v, end);
}

int kranges_mark(const KRanges *r)
{
    return r->undo.n;
}

void kranges_forget(KRanges *r, int mark)
{
    while (r->undo.n > mark) {
        const Undo *u = &r->undo.at[--r->undo.n];
        ptrmap_put(u->map, u->var, u->was);
    }
}

/* --- Bounds ----------------------------------------------------------------------------------- */

static int nodes(const KExp *x)
{
    int n = 1;
    for (int i = 0; i < x->n; i++)
        n += nodes(x->x[i]);
    return n;
}

static const KExp *small(const KExp *x)
{
    return x && nodes(x) <= MOST_NODES ? x : NULL;
}

typedef const KExp *Op(Arena *a, const KExp *x, const KExp *y);

/* NULL where an operand is unknown. */
static const KExp *op(KRanges *r, Op *make, const KExp *x, const KExp *y)
{
    return x && y ? small(make(r->arena, x, y)) : NULL;
}

/* Whichever is known, or both. */
static const KExp *op_any(KRanges *r, Op *make, const KExp *x, const KExp *y)
{
    return x && y ? small(make(r->arena, x, y)) : x ? x : y;
}

/* At most both: a plain one if the other one is long, which leaves room for what is added; else the
 * least. */
static const KExp *at_most(KRanges *r, const KExp *x, const KExp *y)
{
    enum { PLAIN = 5, LONG = 16 };
    if (x && y && nodes(x) <= PLAIN && nodes(y) > LONG)
        return x;
    if (x && y && nodes(y) <= PLAIN && nodes(x) > LONG)
        return y;
    return op_any(r, kx_min, x, y);
}

static const KExp *number(KRanges *r, int64_t k)
{
    return kx_int(r->arena, k);
}

/* x = term + *k */
static const KExp *split(Arena *a, const KExp *x, int64_t *k)
{
    *k = 0;
    if (x->kind == KE_CONST) {
        *k = x->c.i;
        return kx_int(a, 0);
    }
    bool sum = x->kind == KE_PRIM && x->exact && (x->op == OP_ADD || x->op == OP_SUB);
    if (!sum || x->x[1]->kind != KE_CONST)
        return x;
    *k = x->op == OP_ADD ? x->x[1]->c.i : -x->x[1]->c.i;
    return x->x[0];
}

static const KExp *plus(Arena *a, const KExp *x, int64_t k)
{
    return k < 0 ? kx_sub(a, x, kx_int(a, -k)) : kx_add(a, x, kx_int(a, k));
}

/* Sums with one number in them, the last summand. */
const KExp *kbound_add(Arena *a, const KExp *x, const KExp *y)
{
    int64_t i, k, sum;
    const KExp *s = split(a, x, &i), *t = split(a, y, &k);
    if (__builtin_add_overflow(i, k, &sum) || sum == INT64_MIN)
        return kx_add(a, x, y);
    return plus(a, kx_add(a, s, t), sum);
}

static const KExp *bound_sub(Arena *a, const KExp *x, const KExp *y)
{
    int64_t k;
    if (y->kind == KE_CONST && y->c.i != INT64_MIN)
        return kbound_add(a, x, kx_int(a, -y->c.i));
    x = split(a, x, &k);
    return k == INT64_MIN ? kx_sub(a, plus(a, x, k), y) : plus(a, kx_sub(a, x, y), k);
}

bool kbound_is_natural(const KExp *x)
{
    switch (x->kind) {
    case KE_CONST: return x->c.i >= 0;
    case KE_VAR:
    case KE_ID: return true;
    case KE_CONV: return kbound_is_natural(x->x[0]);
    case KE_PRIM: break;
    case KE_HOST:
    case KE_SIZE:
    case KE_CEILDIV:
    case KE_SELECT:
    case KE_PART:
    case KE_VECTOR:
    case N_KEXPS: return false;
    }
    switch ((int)x->op) { /* what bounds are made of */
    case OP_ADD:
    case OP_MUL:
    case OP_MIN:
    case OP_QUOT:
    case OP_REM: return kbound_is_natural(x->x[0]) && kbound_is_natural(x->x[1]);
    case OP_MAX: return kbound_is_natural(x->x[0]) || kbound_is_natural(x->x[1]);
    }
    return false;
}

static bool natural(const KExp *x)
{
    return x && kbound_is_natural(x);
}

static bool positive(const KExp *x)
{
    if (!x)
        return false;
    if (x->kind == KE_CONST)
        return x->c.i > 0;
    return x->kind == KE_PRIM && x->op == OP_MAX && (positive(x->x[0]) || positive(x->x[1]));
}

/* --- Leaves ----------------------------------------------------------------------------------- */

static KRange exactly(const KExp *x)
{
    return (KRange){x, x};
}

static KRange between(KRanges *r, int64_t lo, int64_t hi)
{
    return (KRange){number(r, lo), number(r, hi)};
}

static KRange below(KRanges *r, const KExp *end)
{
    return (KRange){number(r, 0), op(r, bound_sub, end, number(r, 1))};
}

static KRange id_range(KRanges *r, const KExp *x)
{
    switch (x->id) {
    case KID_GROUP: return below(r, kx_id_dim(r->arena, KID_GROUPS, x->dim));
    case KID_LOCAL: return below(r, kx_id_dim(r->arena, KID_GROUP_SIZE, x->dim));
    case KID_GROUP_SIZE:
    case KID_GROUPS: return exactly(x);
    case KID_GRID_SIZE:
        return exactly(kx_mul(r->arena, kx_id_dim(r->arena, KID_GROUPS, x->dim),
                              kx_id_dim(r->arena, KID_GROUP_SIZE, x->dim)));
    case KID_LANE: return between(r, 0, MOST_LANES - 1);
    case KID_LANES: return between(r, 1, MOST_LANES);
    case KID_LEAD_SIZE: return (KRange){number(r, 1), kx_id(r->arena, KID_GROUP_SIZE)};
    case KID_IN_LEAD:
    case KID_FAILED_BEFORE:
    case KID_ATOMIC64:
    case KID_UNROLLS:
    case KID_HAS_SLICES:
    case KID_TEAMS:
    case KID_COALESCES:
    case KID_VECTORS:
    case N_KIDS: break;
    }
    return unknown;
}

static KRange var_range(KRanges *r, const KExp *x)
{
    const KRange *known = ptrmap_get(r->of, x->var);
    if (known)
        return *known;
    return ptrset_has(r->scalar, x->var) ? exactly(x) : unknown;
}

/* Of an integer of fewer bits, as an i64. */
static KRange conv_range(KRanges *r, const KExp *x)
{
    PrimType t = x->x[0]->type.elem;
    if (t == T_I64)
        return krange_of(r, x->x[0]);
    if (x->x[0]->kind == KE_VAR && ptrset_has(r->scalar, x->x[0]->var) && t == T_I32)
        return exactly(x); /* the host knows counts by their values, what is narrower by its type */
    int bits = prim_bits(t);
    if (t == T_BOOL)
        return between(r, 0, 1);
    if (prim_is_signed(t))
        return between(r, prim_wrap(t, INT64_C(1) << (bits - 1)), (INT64_C(1) << (bits - 1)) - 1);
    if (prim_is_int(t) && bits < 32) /* of what has more bits nothing is known */
        return between(r, 0, (INT64_C(1) << bits) - 1);
    return unknown;
}

/* --- Operations ------------------------------------------------------------------------------- */

/* The larger of the distances of its ends from 0. */
static const KExp *magnitude(KRanges *r, KRange x)
{
    return op(r, kx_max, x.hi, op(r, bound_sub, number(r, 0), x.lo));
}

static KRange product(KRanges *r, KRange x, KRange y)
{
    if (natural(x.lo) && natural(y.lo))
        return (KRange){op(r, kx_mul, x.lo, y.lo), op(r, kx_mul, x.hi, y.hi)};
    const KExp *most = op(r, kx_mul, magnitude(r, x), magnitude(r, y));
    return (KRange){op(r, bound_sub, number(r, 0), most), most};
}

static const KExp *definition(const KRanges *r, const KExp *x)
{
    const KExp *d = x->kind == KE_VAR ? ptrmap_get(r->def, x->var) : NULL;
    return d ? d : x;
}

static bool is_exact(const KExp *x, PrimOp op)
{
    return x->kind == KE_PRIM && x->op == op && x->exact;
}

/* i counts to less than `end`. If that is x - at, or at most that: x, which i + at is less than;
 * else NULL. So a thread goes through its chunk. */
static const KExp *end_behind(const KRanges *r, const KExp *end, const KExp *at)
{
    const KExp *x = NULL;
    end = definition(r, end);
    if (is_exact(end, OP_SUB))
        return kx_same(end->x[1], at) ? end->x[0] : NULL;
    for (int i = 0; i < 2 && !x; i++)
        if (is_exact(end, OP_MIN) || (is_exact(end, OP_MAX) && kx_is_int(end->x[1 - i], 0)))
            x = end_behind(r, end->x[i], at);
    return x;
}

/* The same where i * step + at is asked for, and `end` is (x + step - 1 - at) / step: elements are
 * dealt out. */
static const KExp *end_of_steps(const KRanges *r, const KExp *end, const KExp *step, const KExp *at)
{
    const KExp *q = definition(r, end);
    const KExp *rest = is_exact(q, OP_QUOT) && kx_same(q->x[1], step) ? definition(r, q->x[0]) : q;
    const KExp *up =
        is_exact(rest, OP_SUB) && kx_same(rest->x[1], at) ? definition(r, rest->x[0]) : q;
    const KExp *both = is_exact(up, OP_SUB) && kx_is_int(up->x[1], 1) ? definition(r, up->x[0]) : q;
    for (int i = 0; i < 2 && is_exact(both, OP_ADD); i++)
        if (kx_same(both->x[i], step))
            return both->x[1 - i];
    return NULL;
}

/* What the variable of a FOR, which begins with at least 0, counts to; else NULL. */
static const KExp *count_of(KRanges *r, const KExp *i)
{
    const KExp *end = i->kind == KE_VAR ? ptrmap_get(r->end, i->var) : NULL;
    return end && natural(krange_of(r, i).lo) ? end : NULL;
}

/* What x + at is less than, as a loop around says; else NULL. */
static const KExp *end_of_sum(KRanges *r, const KExp *x, const KExp *at)
{
    const KExp *end = count_of(r, x), *m = definition(r, x), *all = NULL;
    if (end)
        return end_behind(r, end, at);
    for (int i = 0; i < 2 && !all && is_exact(m, OP_MUL); i++)
        if ((end = count_of(r, m->x[i])))
            all = end_of_steps(r, end, m->x[1 - i], at);
    return all;
}

static KRange sum(KRanges *r, const KExp *e, KRange x, KRange y)
{
    const KExp *end = end_of_sum(r, e->x[0], e->x[1]);
    if (!end)
        end = end_of_sum(r, e->x[1], e->x[0]);
    return (KRange){op(r, kbound_add, x.lo, y.lo),
                    end ? op(r, kbound_add, krange_of(r, end).hi, number(r, -1))
                        : op(r, kbound_add, x.hi, y.hi)};
}

/* x is at most a * y - 1: a, so that x / y is below a. */
static const KExp *factor_of_end(const KExp *hi, KRange y)
{
    if (!hi || hi->kind != KE_PRIM || hi->op != OP_SUB || !positive(hi->x[1]) || y.lo != y.hi)
        return NULL;
    const KExp *m = hi->x[0];
    for (int i = 0; y.hi && m->kind == KE_PRIM && m->op == OP_MUL && i < 2; i++)
        if (kx_same(m->x[i], y.hi) && natural(y.hi))
            return m->x[1 - i];
    return NULL;
}

/* n of max(1, n), as divisors are that are computed before it is known that there is something to
 * divide; else the divisor itself. */
static const KExp *divisor(const KExp *y)
{
    for (int i = 0; i < 2; i++)
        if (is_exact(y, OP_MAX) && kx_is_int(y->x[i], 1))
            return y->x[1 - i];
    return y;
}

/* Is it x / y, or x / max(1, y) where y is at least 1? */
static bool is_quotient(const KRanges *r, const KExp *q, const KExp *x, const KExp *y)
{
    if (!is_exact(q, OP_QUOT) || !kx_same(q->x[0], x))
        return false;
    bool some = y->kind == KE_VAR && ptrset_has(r->some, y->var);
    return kx_same(q->x[1], y) || (some && kx_same(divisor(q->x[1]), y));
}

/* x - (x / y) * y: y, else NULL. */
static const KExp *remainder_of(const KRanges *r, const KExp *sub)
{
    const KExp *x = sub->x[0], *m = definition(r, sub->x[1]);
    if (m->kind != KE_PRIM || m->op != OP_MUL)
        return NULL;
    for (int i = 0; i < 2; i++)
        if (is_quotient(r, definition(r, m->x[i]), x, m->x[1 - i]))
            return m->x[1 - i];
    return NULL;
}

static KRange difference(KRanges *r, const KExp *sub, KRange x, KRange y)
{
    const KExp *divisor = remainder_of(r, sub);
    if (divisor)
        return below(r, krange_of(r, divisor).hi);
    return (KRange){op(r, bound_sub, x.lo, y.hi), op(r, bound_sub, x.hi, y.lo)};
}

static KRange quotient(KRanges *r, const KExp *e, KRange x, KRange y)
{
    if (!e->exact && !(natural(x.lo) && positive(y.lo)))
        return unknown;
    const KExp *a = factor_of_end(x.hi, krange_of(r, divisor(e->x[1])));
    if (a)
        return below(r, a);
    const KExp *one = number(r, 1), *least = positive(y.lo) ? y.lo : op_any(r, kx_max, one, y.lo);
    return (KRange){number(r, 0), op(r, kx_quot, x.hi, least ? least : one)};
}

static KRange remainder_(KRanges *r, const KExp *e, KRange x, KRange y)
{
    if (!e->exact && !(natural(x.lo) && positive(y.lo)))
        return unknown;
    return y.hi ? below(r, y.hi) : (KRange){number(r, 0), x.hi};
}

static KRange prim_range(KRanges *r, const KExp *e)
{
    if (prim_info[e->op].arity != 2)
        return unknown;
    KRange x = krange_of(r, e->x[0]), y = krange_of(r, e->x[1]);
    switch ((int)e->op) { /* what indices are computed with */
    case OP_ADD: return sum(r, e, x, y);
    case OP_SUB: return difference(r, e, x, y);
    case OP_MUL: return product(r, x, y);
    case OP_MIN: return (KRange){op(r, kx_min, x.lo, y.lo), at_most(r, x.hi, y.hi)};
    case OP_MAX: return (KRange){op_any(r, kx_max, x.lo, y.lo), op(r, kx_max, x.hi, y.hi)};
    case OP_QUOT:
    case OP_DIV: return quotient(r, e, x, y);
    case OP_REM:
    case OP_MOD: return remainder_(r, e, x, y);
    case OP_AND:
        if (natural(x.lo) && natural(y.lo))
            return (KRange){number(r, 0), x.hi};
    }
    return unknown;
}

KRange kranges_either(KRanges *r, KRange x, KRange y)
{
    return (KRange){op(r, kx_min, x.lo, y.lo), op(r, kx_max, x.hi, y.hi)};
}

KRange krange_of(KRanges *r, const KExp *x)
{
    if (x->type.lanes > 1 || (x->type.elem != T_I64 && x->kind != KE_CONV))
        return unknown;
    switch (x->kind) {
    case KE_CONST: return exactly(x);
    case KE_VAR: return var_range(r, x);
    case KE_ID: return id_range(r, x);
    case KE_CONV: return x->type.elem == T_I64 ? conv_range(r, x) : unknown;
    case KE_PRIM: return prim_range(r, x);
    case KE_SELECT: return kranges_either(r, krange_of(r, x->x[1]), krange_of(r, x->x[2]));
    case KE_HOST:
    case KE_SIZE:
    case KE_CEILDIV:
    case KE_PART:
    case KE_VECTOR:
    case N_KEXPS: break;
    }
    return unknown;
}

/* --- Conditions ------------------------------------------------------------------------------- */

/* Is the bound a number, and not one that a type has? */
static bool is_small_number(const KExp *bound)
{
    return bound->kind == KE_CONST && bound->c.i < INT32_MAX && bound->c.i > INT32_MIN;
}

/* A bound that an IF tells is mostly better than what was found, unless that is a number. */
static const KExp *better(const KExp *was, const KExp *told)
{
    return told && (!was || !is_small_number(was)) ? told : was;
}

static void narrow_var(KRanges *r, const KExp *x, KRange told)
{
    if (x->kind != KE_VAR || x->var->mutable_ || x->type.elem != T_I64 ||
        ptrset_has(r->scalar, x->var))
        return;
    KRange was = krange_of(r, x);
    kranges_set(r, x->var, (KRange){better(was.lo, told.lo), better(was.hi, told.hi)});
}

bool kexp_may_wrap(const KExp *x)
{
    if (x->kind == KE_PRIM && !x->exact && x->type.elem == T_I64 &&
        (x->op == OP_ADD || x->op == OP_SUB || x->op == OP_MUL))
        return true;
    for (int i = 0; i < x->n; i++)
        if (kexp_may_wrap(x->x[i]))
            return true;
    return false;
}

/* What others may be held against. */
static KRange certain(KRanges *r, const KExp *x)
{
    return kexp_may_wrap(x) ? unknown : krange_of(r, x);
}

/* x + k <= y */
static void assume_below(KRanges *r, const KExp *x, const KExp *y, int64_t k)
{
    KRange a = certain(r, x), b = certain(r, y);
    narrow_var(r, x, (KRange){NULL, op(r, bound_sub, b.hi, number(r, k))});
    narrow_var(r, y, (KRange){op(r, kbound_add, a.lo, number(r, k)), NULL});
}

static void assume_prim(KRanges *r, const KExp *c, bool so)
{
    const KExp *x = c->x[0], *y = c->n > 1 ? c->x[1] : NULL;
    switch ((int)c->op) { /* what says something about ranges */
    case OP_NOT: kranges_assume(r, x, !so); return;
    case OP_LAND:
    case OP_LOR:
        if (so == (c->op == OP_LAND)) {
            kranges_assume(r, x, so);
            kranges_assume(r, y, so);
        }
        return;
    case OP_LT:
        if (so)
            assume_below(r, x, y, 1);
        else
            assume_below(r, y, x, 0);
        return;
    case OP_LE:
        if (so)
            assume_below(r, x, y, 0);
        else
            assume_below(r, y, x, 1);
        return;
    case OP_EQ:
        if (so) {
            narrow_var(r, x, certain(r, y));
            narrow_var(r, y, certain(r, x));
        }
        return;
    }
}

void kranges_assume(KRanges *r, const KExp *cond, bool so)
{
    const KExp *c = cond->kind == KE_VAR && !cond->var->mutable_ ? definition(r, cond) : cond;
    if (c->kind == KE_PRIM)
        assume_prim(r, c, so);
}

void kranges_assume_some(KRanges *r, const KExp *x)
{
    x = definition(r, x);
    if (x->kind == KE_VAR && ptrset_has(r->scalar, x->var))
        put(r, r->some, x->var, x->var);
    for (int i = 0; i < 2 && (is_exact(x, OP_MUL) || is_exact(x, OP_MIN)); i++)
        kranges_assume_some(r, x->x[i]);
    for (int i = 1; i <= 2 && x->kind == KE_SELECT; i++)
        if (kx_is_int(x->x[i], 0))
            kranges_assume_some(r, x->x[3 - i]);
}
