/* See limits.h. An expression x becomes two sums of products, `up` and `down`, which are at least x
 * and -x; what is subtracted is left out of `up`, so that all terms are positive. A condition for
 * which another one has a term as large for each of its terms is left out. */
#include "kir/facts/limits.h"

#include "kir/walk.h"

enum { MOST_FACTORS = 8, MOST_TERMS = 8 };

/* times / over * the product of x^power; each x is at least 1. */
typedef struct {
    int64_t times, over;
    int n;
    struct {
        const KExp *x;
        int power;
    } at[MOST_FACTORS];
} Term;

typedef struct {
    int n;
    const Term *at;
} Sum;

typedef struct {
    Sum up, down;
} Both;

typedef struct {
    Arena *arena; /* of expressions */
    Arena *terms;
    PtrMap *made; /* KExp -> Both: limits are of the same few expressions */
} Maker;

/* --- Terms ------------------------------------------------------------------------------------ */

static Term number(int64_t k)
{
    return (Term){.times = k, .over = 1};
}

static int find(const Term *t, const KExp *x)
{
    int i = 0;
    while (i < t->n && !kx_same(t->at[i].x, x))
        i++;
    return i;
}

static bool put_factor(Term *t, const KExp *x, int power)
{
    int i = find(t, x);
    if (i == MOST_FACTORS)
        return false;
    if (i == t->n) {
        t->at[t->n++].x = x;
        t->at[i].power = 0;
    }
    t->at[i].power += power;
    if (t->at[i].power == 0)
        t->at[i] = t->at[--t->n];
    return true;
}

static int64_t gcd(int64_t a, int64_t b)
{
    return b == 0 ? a : gcd(b, a % b);
}

/* A quotient of a number is at most that number, rounded up. */
static void simplify(Term *t)
{
    for (int i = 0; i < t->n; i++)
        if (t->at[i].power > 0)
            return;
    *t = number(t->times / t->over + (t->times % t->over != 0));
}

/* t := t * other, or t / other. False if that is too large for a term. */
static bool times(Term *t, const Term *other, bool inverse)
{
    int64_t up = inverse ? other->over : other->times, down = inverse ? other->times : other->over;
    int64_t cut = gcd(up, t->over), cut2 = gcd(t->times, down);
    if (__builtin_mul_overflow(t->times / cut2, up / cut, &t->times) ||
        __builtin_mul_overflow(t->over / cut, down / cut2, &t->over))
        return false;
    for (int i = 0; i < other->n; i++)
        if (!put_factor(t, other->at[i].x, inverse ? -other->at[i].power : other->at[i].power))
            return false;
    simplify(t);
    return true;
}

static bool is_leaf(const KExp *x)
{
    return x->kind == KE_VAR || x->kind == KE_ID || x->kind == KE_CONV;
}

static int power_of(const Term *t, const KExp *x)
{
    int i = find(t, x);
    return i < t->n ? t->at[i].power : 0;
}

/* Is t at most u, whatever the factors are? */
static bool factors_below(const Term *t, const Term *u)
{
    int64_t a, b;
    if (__builtin_mul_overflow(t->times, u->over, &a) ||
        __builtin_mul_overflow(u->times, t->over, &b) || a > b)
        return false;
    for (int i = 0; i < t->n; i++)
        if (t->at[i].power > power_of(u, t->at[i].x))
            return false;
    for (int i = 0; i < u->n; i++)
        if (u->at[i].power < power_of(t, u->at[i].x))
            return false;
    return true;
}

/* The same, if a smallest of two in t counts as one of them, too. */
static bool term_below(const Term *t, const Term *u)
{
    if (factors_below(t, u))
        return true;
    for (int i = 0; i < t->n; i++) {
        const KExp *x = t->at[i].x;
        bool least = x->kind == KE_PRIM && x->op == OP_MIN && t->at[i].power > 0;
        for (int k = 0; least && k < 2; k++) {
            Term more = *t;
            if (is_leaf(x->x[k]) && put_factor(&more, x, -1) && put_factor(&more, x->x[k], 1) &&
                term_below(&more, u))
                return true;
        }
    }
    return false;
}

static const KExp *product(Arena *a, const Term *t, int sign)
{
    const KExp *x = kx_int(a, sign > 0 ? t->times : t->over);
    for (int i = 0; i < t->n; i++)
        for (int k = 0; k < sign * t->at[i].power; k++)
            x = kx_is_int(x, 1) ? t->at[i].x : kx_mul(a, x, t->at[i].x);
    return x;
}

static const KExp *term_exp(Arena *a, const Term *t)
{
    const KExp *x = product(a, t, 1), *y = product(a, t, -1);
    return kx_is_int(y, 1) ? x : kx_quot(a, x, y);
}

/* --- Sums ------------------------------------------------------------------------------------- */

/* Has each term of s another one of t that is at least as large? */
static bool sum_below(Sum s, Sum t)
{
    bool taken[MOST_TERMS] = {false};
    for (int i = 0; i < s.n; i++) {
        int k = 0;
        while (k < t.n && (taken[k] || !term_below(&s.at[i], &t.at[k])))
            k++;
        if (k == t.n)
            return false;
        taken[k] = true;
    }
    return true;
}

static const KExp *sum_exp(Arena *a, Sum s)
{
    const KExp *x = kx_int(a, 0);
    for (int i = 0; i < s.n; i++)
        x = kx_add(a, x, term_exp(a, &s.at[i]));
    return x;
}

static Sum sum_of(const Maker *m, const Term *t, int n)
{
    return (Sum){n, arena_memdup(m->terms, t, (size_t)n * sizeof *t)};
}

static Sum constant(const Maker *m, int64_t k)
{
    Term t = number(k);
    return sum_of(m, &t, k > 0);
}

/* x, which is an expression of others, as a factor. */
static Sum factor(const Maker *m, const KExp *x)
{
    Term t = number(1);
    put_factor(&t, x, 1);
    return sum_of(m, &t, 1);
}

/* Is it at least 1 unless it is 0 by having no terms? */
static bool is_whole(Sum s)
{
    static const Term one = {.times = 1, .over = 1};
    for (int i = 0; i < s.n; i++)
        if (term_below(&one, &s.at[i]))
            return true;
    return s.n == 0;
}

/* A sum as an expression that may be a factor. */
static const KExp *whole(const Maker *m, Sum s)
{
    const KExp *x = sum_exp(m->arena, s);
    return is_whole(s) ? x : kx_max(m->arena, x, kx_int(m->arena, 1));
}

/* A sum that is made. */
typedef struct {
    int n;
    Term at[MOST_TERMS];
} Terms;

static bool put_term(Terms *s, const Term *t)
{
    for (int i = 0; i < s->n; i++) {
        Term *u = &s->at[i], like = *t;
        int64_t sum;
        like.times = u->times;
        if (factors_below(u, &like) && factors_below(&like, u) &&
            !__builtin_add_overflow(u->times, t->times, &sum)) {
            u->times = sum;
            return true;
        }
    }
    if (s->n == MOST_TERMS)
        return false;
    s->at[s->n++] = *t;
    return true;
}

static Sum add(const Maker *m, Sum s, Sum t)
{
    Terms r;
    r.n = 0;
    if (s.n == 0 || t.n == 0)
        return s.n == 0 ? t : s;
    for (int i = 0; i < s.n + t.n; i++)
        if (!put_term(&r, i < s.n ? &s.at[i] : &t.at[i - s.n]))
            return factor(m, kx_add(m->arena, whole(m, s), whole(m, t)));
    return sum_of(m, r.at, r.n);
}

static Sum mul(const Maker *m, Sum s, Sum t)
{
    Terms r;
    r.n = 0;
    for (int i = 0; i < s.n; i++)
        for (int k = 0; k < t.n; k++) {
            Term p = s.at[i];
            if (!times(&p, &t.at[k], false) || !put_term(&r, &p))
                return factor(m, kx_mul(m->arena, whole(m, s), whole(m, t)));
        }
    return sum_of(m, r.at, r.n);
}

/* s / by, or s if that is too large. */
static Sum divided(const Maker *m, Sum s, const Term *by)
{
    Terms r;
    r.n = 0;
    for (int i = 0; i < s.n; i++) {
        Term p = s.at[i];
        if (!times(&p, by, true) || !put_term(&r, &p))
            return s;
    }
    return sum_of(m, r.at, r.n);
}

static Sum smaller(const Maker *m, Sum s, Sum t)
{
    if (sum_below(s, t))
        return s;
    return sum_below(t, s) ? t : factor(m, kx_min(m->arena, whole(m, s), whole(m, t)));
}

static Sum larger(const Maker *m, Sum s, Sum t)
{
    if (sum_below(s, t))
        return t;
    return sum_below(t, s) ? s : factor(m, kx_max(m->arena, whole(m, s), whole(m, t)));
}

/* --- Expressions ------------------------------------------------------------------------------ */

/* What divisor y is at least; 1 if nothing better is seen. A leaf that may be 0 is not what it
 * counts as, so what is made of it may be less, too: it is known if max(1, y) is asked for. */
static Term least(const KExp *y)
{
    Term t = number(1);
    if (y->kind == KE_PRIM && y->op == OP_MAX && kx_is_int(y->x[0], 1))
        y = y->x[1];
    else if (y->kind == KE_PRIM && y->op == OP_MAX && kx_is_int(y->x[1], 1))
        y = y->x[0];
    if (y->kind == KE_CONST && y->c.i > 0)
        return number(y->c.i);
    if (is_leaf(y))
        put_factor(&t, y, 1);
    return t;
}

static Both both_of(const Maker *m, const KExp *x);

static Both prim(const Maker *m, const KExp *x)
{
    Both p = both_of(m, x->x[0]), q = both_of(m, x->x[1]);
    switch ((int)x->op) { /* what bounds are made of */
    case OP_ADD: return (Both){add(m, p.up, q.up), add(m, p.down, q.down)};
    case OP_SUB: return (Both){add(m, p.up, q.down), add(m, p.down, q.up)};
    case OP_MUL:
        return (Both){add(m, mul(m, p.up, q.up), mul(m, p.down, q.down)),
                      add(m, mul(m, p.up, q.down), mul(m, p.down, q.up))};
    case OP_MIN: return (Both){smaller(m, p.up, q.up), larger(m, p.down, q.down)};
    case OP_MAX: return (Both){larger(m, p.up, q.up), smaller(m, p.down, q.down)};
    case OP_QUOT: {
        Term by = least(x->x[1]);
        return (Both){divided(m, p.up, &by), divided(m, p.down, &by)};
    }
    }
    ice((Loc){0}, "a limit has an operation %s", prim_info[x->op].text);
}

static Both make_both(const Maker *m, const KExp *x)
{
    if (x->kind == KE_PRIM)
        return prim(m, x);
    if (is_leaf(x))
        return (Both){factor(m, x), constant(m, 0)};
    ASSERT(x->kind == KE_CONST);
    /* Too large is as good as infinite. */
    return (Both){constant(m, x->c.i), constant(m, x->c.i == INT64_MIN ? INT64_MAX : -x->c.i)};
}

static Both both_of(const Maker *m, const KExp *x)
{
    const Both *made = ptrmap_get(m->made, x);
    if (made)
        return *made;
    Both b = make_both(m, x);
    ptrmap_put(m->made, x, arena_memdup(m->terms, &b, sizeof b));
    return b;
}

/* --- Conditions ------------------------------------------------------------------------------- */

typedef struct {
    Maker maker;
    VEC(Sum) sums;
    KExps leaves;
} Limits;

static void note_leaf(void *env, const KExp *x)
{
    Limits *l = env;
    if (x->kind != KE_VAR)
        return;
    for (int i = 0; i < l->leaves.n; i++)
        if (kx_same(l->leaves.at[i], x))
            return;
    vec_push(l->maker.terms, &l->leaves, x);
}

static void limit(Limits *l, Sum s)
{
    int n = 0;
    for (int i = 0; i < l->sums.n; i++)
        if (sum_below(s, l->sums.at[i]))
            return;
    for (int i = 0; i < l->sums.n; i++)
        if (!sum_below(l->sums.at[i], s))
            l->sums.at[n++] = l->sums.at[i];
    l->sums.n = n;
    vec_push(l->maker.terms, &l->sums, s);
}

/* Is the sum infinite if v is? */
static bool grows_with(Sum s, const KVar *v)
{
    for (int i = 0; i < s.n; i++)
        for (int k = 0; k < s.at[i].n; k++) {
            const KExp *x = s.at[i].at[k].x;
            x = x->kind == KE_CONV ? x->x[0] : x;
            if (x->kind == KE_VAR && x->var == v && s.at[i].at[k].power > 0)
                return true;
        }
    return false;
}

static bool is_limited(const Limits *l, const KVar *v)
{
    for (int i = 0; i < l->sums.n; i++)
        if (grows_with(l->sums.at[i], v))
            return true;
    return false;
}

KExps klimits_conditions(Arena *a, const KLimits *limits, int64_t most)
{
    Limits l = {.maker = {a, arena_new(), NULL}};
    l.maker.made = ptrmap_new(l.maker.terms);
    KExps r = {0};
    PtrSet *highest = ptrmap_new(l.maker.terms), *lowest = ptrmap_new(l.maker.terms);
    for (int i = 0; i < limits->n; i++) {
        KRange x = limits->at[i];
        if (x.hi && !ptrset_has(highest, x.hi)) {
            ptrset_add(highest, x.hi);
            limit(&l, both_of(&l.maker, x.hi).up);
            kexp_visit(x.hi, note_leaf, &l);
        }
        if (x.lo && !ptrset_has(lowest, x.lo)) { /* there is one more below 0 */
            ptrset_add(lowest, x.lo);
            limit(&l, both_of(&l.maker, kbound_add(a, x.lo, kx_int(a, 1))).down);
            kexp_visit(x.lo, note_leaf, &l);
        }
    }
    for (int i = 0; i < l.leaves.n; i++)
        if (!is_limited(&l, l.leaves.at[i]->var))
            vec_push(a, &r, kx_le(a, kx_int(a, 0), kx_conv(a, T_I64, l.leaves.at[i])));
    for (int i = 0; i < l.sums.n; i++) {
        const KExp *x = sum_exp(a, l.sums.at[i]);
        if (x->kind != KE_CONST || x->c.i > most)
            vec_push(a, &r, kx_prim2(a, OP_LE, x, kx_int(a, most)));
    }
    arena_free(l.maker.terms);
    return r;
}
