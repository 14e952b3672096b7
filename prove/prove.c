/* Proofs by elimination, youngest leaf first (after Fourier and Motzkin).
 *
 * To prove G >= 0, the youngest product of leaves in G is cancelled with a fact F >= 0: where G has
 * k*u*w and F has q*u with the sign of k, and w is a product of leaves that are not negative, then
 * |q|*G - |k|*w*F >= 0 proves G >= 0, and lacks the product. So on until a constant is left. Where
 * the youngest leaf l is in several products, G = A*l + B, and the sign of A can be proved, l is
 * replaced by a bound that a fact gives: G >= A*bound + B. A leaf that may be one of several values
 * is also replaced by each of them in turn.
 *
 * Each proof has a number of steps and a depth; what takes more is not proved. */
#include "prove/prove.h"

#include "base/vec.h"

#include <stddef.h>

enum { MAX_DEPTH = 8, MAX_STEPS = 400, MAX_NESTED = 3 };

typedef struct {
    Poly p; /* >= 0 */
    uint64_t leaves;
} Fact;

typedef struct {
    Leaf l; /* 0: free */
    const LeafKind *kind;
    const void *key;
} Key;

struct Prover {
    Arena *mem;
    VEC(Fact) facts;
    Key *keys; /* by leaf, open addressing */
    int n_keys, n_slots;
    int steps;                /* left for the proof at work */
    int nested;               /* proofs at work within each other */
    int range_steps, ranging; /* the same of ranges */
};

struct Goal {
    Prover *pr;
    const Poly *p;
    Leaf leaf; /* whose cases are tried */
    int depth;
};

Prover *prover_new(Arena *a)
{
    Prover *pr = NEW(a, Prover);
    pr->mem = a;
    return pr;
}

/* --- Leaves and facts ------------------------------------------------------------------------- */

static Key *find_key(const Prover *pr, Leaf l)
{
    unsigned mask = (unsigned)pr->n_slots - 1, i = (unsigned)l * 2654435761u;
    for (i ^= i >> 15;; i++) {
        Key *k = &pr->keys[i & mask];
        if (k->l == l || k->l == 0)
            return k;
    }
}

static void grow_keys(Prover *pr)
{
    Prover old = *pr;
    pr->n_slots = old.n_slots ? 2 * old.n_slots : 16;
    pr->keys = NEWN(pr->mem, Key, pr->n_slots);
    for (int i = 0; i < old.n_slots; i++)
        if (old.keys[i].l)
            *find_key(pr, old.keys[i].l) = old.keys[i];
}

Poly prover_leaf(Prover *pr, Leaf l, const LeafKind *kind, const void *key)
{
    if (2 * pr->n_keys >= pr->n_slots)
        grow_keys(pr);
    Key *k = find_key(pr, l);
    pr->n_keys += k->l == 0;
    *k = (Key){l, kind, key};
    return poly_leaf(l);
}

int prover_mark(const Prover *pr)
{
    return pr->facts.n;
}

void prover_reset(Prover *pr, int mark)
{
    pr->facts.n = mark;
}

void prover_assume(Prover *pr, const Poly *p)
{
    if (p->n == 0)
        return;
    Fact f = {.p = *p};
    poly_tighten(&f.p);
    f.leaves = poly_leaves(p);
    vec_push(pr->mem, &pr->facts, f);
}

/* Has fact i one of the leaves (as bits)? */
static bool fact_has(const Prover *pr, int i, uint64_t leaves)
{
    return (pr->facts.at[i].leaves & leaves) != 0;
}

static bool is_leaf(const Term *t, Leaf l)
{
    return t->leaves[0] == l && t->leaves[1] == 0;
}

bool prover_knows(const Prover *pr, Leaf l, int64_t c)
{
    uint64_t bit = UINT64_C(1) << (l % 64);
    for (int i = 0; i < pr->facts.n; i++) {
        const Poly *p = &pr->facts.at[i].p; /* tight: the coefficient of a single leaf is 1 or -1 */
        if (fact_has(pr, i, bit) && p->n == 1 && is_leaf(&p->t[0], l) && p->t[0].k == 1 &&
            p->c <= -c)
            return true;
    }
    return false;
}

/* --- Proofs ----------------------------------------------------------------------------------- */

static bool prove(Prover *pr, const Poly *goal, int depth);

static bool leaf_nonneg(Prover *pr, Leaf l, int depth)
{
    Poly p = poly_leaf(l);
    return prover_knows(pr, l, 0) || prove(pr, &p, depth);
}

static bool leaves_nonneg(Prover *pr, const Term *t, int depth)
{
    for (int i = 0; i < POLY_DEGREE && t->leaves[i]; i++)
        if ((i == 0 || t->leaves[i] != t->leaves[i - 1]) && !leaf_nonneg(pr, t->leaves[i], depth))
            return false;
    return true;
}

static int64_t magnitude(int64_t k)
{
    return k < 0 ? -k : k; /* not of INT64_MIN, see same_sign */
}

static bool same_sign(int64_t a, int64_t b)
{
    return (a > 0) == (b > 0) && a != INT64_MIN && b != INT64_MIN;
}

/* rest := |q|*goal - |k|*w*fact, or a fraction of it. Of whole numbers t, q*t >= r says that t is
 * at least r/q rounded up: t >= s follows already from q*s - r <= q - 1. */
static bool cancelled(const Poly *goal, int64_t k, const Term *w, const Poly *fact, int64_t q,
                      Poly *rest)
{
    int64_t ak = magnitude(k), aq = magnitude(q);
    bool whole = ak % aq == 0;
    Poly f = {.n = 1, .t = {*w}}, slack = poly_const(ak == 1 ? aq - 1 : 0);
    if (!w->leaves[0])
        f = poly_const(1);
    *rest = *goal;
    return poly_mul(&f, fact) && poly_scale(rest, whole ? 1 : aq) &&
           poly_add(rest, &f, whole ? -(ak / aq) : -ak) && poly_add(rest, &slack, 1);
}

/* Cancels the first term of the goal with term j of fact i. */
static bool prove_with(Prover *pr, const Poly *goal, int i, int j, int depth)
{
    const Term *t = &goal->t[0], *by = &pr->facts.at[i].p.t[j];
    Term w;
    if (!same_sign(t->k, by->k) || !term_quotient(t, by, &w))
        return false;
    Poly rest, fact = pr->facts.at[i].p; /* proofs within this one add facts, and take them away */
    if (!cancelled(goal, t->k, &w, &fact, by->k, &rest))
        return false;
    return leaves_nonneg(pr, &w, depth - 2) && prove(pr, &rest, depth - 1);
}

static bool prove_cancelling(Prover *pr, const Poly *goal, int depth)
{
    uint64_t all = poly_leaves(&(Poly){.n = 1, .t = {goal->t[0]}});
    for (int i = pr->facts.n - 1; i >= 0; i--) {
        if (!fact_has(pr, i, all))
            continue;
        for (int j = 0; j < pr->facts.at[i].p.n; j++)
            if (prove_with(pr, goal, i, j, depth))
                return true;
    }
    return false;
}

/* goal = a*l + b; bounds of l from facts with q*l, where the sign of a is that of q. */
static bool prove_bounding(Prover *pr, const Poly *a, const Poly *b, Leaf l, bool up, int depth)
{
    for (int i = pr->facts.n - 1; i >= 0; i--) {
        if (!fact_has(pr, i, UINT64_C(1) << (l % 64)))
            continue;
        Poly q, r, rest = *b, f;
        poly_split(&pr->facts.at[i].p, l, &q, &r);
        if (q.n || q.c == 0 || q.c == INT64_MIN || (q.c > 0) != up)
            continue;
        /* |q|*goal - |a|*fact = |q|*b - |a|*r */
        f = *a;
        if (poly_scale(&f, up ? -1 : 1) && poly_mul(&f, &r) && poly_scale(&rest, magnitude(q.c)) &&
            poly_add(&rest, &f, 1) && prove(pr, &rest, depth - 1))
            return true;
    }
    return false;
}

/* The youngest leaf is in several terms. */
static bool prove_factored(Prover *pr, const Poly *goal, int depth)
{
    Leaf l = goal->t[0].leaves[0];
    if (goal->n < 2 || goal->t[1].leaves[0] != l)
        return false;
    Poly a, b, minus;
    poly_split(goal, l, &a, &b);
    if (prove(pr, &a, depth - 2))
        return prove_bounding(pr, &a, &b, l, true, depth);
    minus = a;
    return poly_scale(&minus, -1) && prove(pr, &minus, depth - 2) &&
           prove_bounding(pr, &a, &b, l, false, depth);
}

bool prove_case(Goal *g, const Poly *value)
{
    Poly p = *g->p;
    return poly_replace(&p, g->leaf, value) && prove(g->pr, &p, g->depth - 1);
}

static bool prove_cases(Prover *pr, const Poly *goal, int depth)
{
    Leaf l = goal->t[0].leaves[0];
    Goal g = {pr, goal, l, depth};
    const Key *k = pr->n_slots ? find_key(pr, l) : NULL;
    return k && k->kind && k->kind->cases && k->kind->cases(k->kind->env, k->key, &g);
}

static bool prove(Prover *pr, const Poly *given, int depth)
{
    if (given->n == 0)
        return given->c >= 0;
    if (depth <= 0 || pr->steps <= 0)
        return false;
    pr->steps -= 1 + pr->facts.n / 256; /* each step goes through the facts */
    Poly goal = *given;
    poly_tighten(&goal);
    return prove_cancelling(pr, &goal, depth) || prove_factored(pr, &goal, depth) ||
           prove_cases(pr, &goal, depth);
}

/* Cases may ask for proofs of their own, which get a share of the steps. */
bool prover_nonneg(Prover *pr, const Poly *p)
{
    enum { SHARE = 4 };
    if (pr->nested == MAX_NESTED)
        return false;
    int outer = pr->steps, given = pr->nested++ ? outer / SHARE : MAX_STEPS;
    pr->steps = given;
    bool ok = prove(pr, p, MAX_DEPTH);
    pr->steps = outer - (given - pr->steps);
    pr->nested--;
    return ok;
}

/* --- Ranges ----------------------------------------------------------------------------------- */

typedef __int128 Wide;
typedef struct {
    Wide lo, hi;
} Range;

static const Wide unbounded = (Wide)1 << 100, far = (Wide)1 << 99;

/* What is far away is as good as unbounded: no arithmetic on it makes it near again. */
static Wide clamp(Wide x)
{
    return x <= -far ? -unbounded : x >= far ? unbounded : x;
}

static Wide times(Wide a, Wide b)
{
    Wide r;
    if (__builtin_mul_overflow(a, b, &r))
        return (a < 0) == (b < 0) ? unbounded : -unbounded;
    return clamp(r);
}

static Range range_mul(Range a, Range b)
{
    Wide x[] = {times(a.lo, b.lo), times(a.lo, b.hi), times(a.hi, b.lo), times(a.hi, b.hi)};
    Range r = {x[0], x[0]};
    for (int i = 1; i < 4; i++) {
        r.lo = x[i] < r.lo ? x[i] : r.lo;
        r.hi = x[i] > r.hi ? x[i] : r.hi;
    }
    return r;
}

static Range range_of(Prover *pr, const Poly *p, int depth);

/* q*l + r >= 0 */
static void range_by_fact(Prover *pr, const Poly *fact, Leaf l, Range *of, int depth)
{
    Poly q, r;
    poly_split(fact, l, &q, &r);
    if (q.n || q.c == 0)
        return;
    Wide most = range_of(pr, &r, depth - 1).hi, aq = q.c < 0 ? -(Wide)q.c : q.c;
    if (most >= unbounded || most <= -unbounded)
        return;
    Wide end = most / aq + (most < 0 && most % aq ? -1 : 0); /* |l| <= r / |q|, rounded down */
    if (q.c > 0 && -end > of->lo)
        of->lo = -end;
    if (q.c < 0 && end < of->hi)
        of->hi = end;
}

static Range range_of_leaf(Prover *pr, Leaf l, int depth)
{
    int64_t lo = INT64_MIN, hi = INT64_MAX;
    if (pr->range_steps-- <= 0)
        return (Range){-unbounded, unbounded};
    const Key *k = pr->n_slots ? find_key(pr, l) : NULL;
    if (k && k->kind && k->kind->range)
        k->kind->range(k->kind->env, k->key, &lo, &hi);
    Range r = {lo == INT64_MIN ? -unbounded : lo, hi == INT64_MAX ? unbounded : hi};
    for (int i = pr->facts.n - 1; i >= 0 && depth > 0; i--)
        if (fact_has(pr, i, UINT64_C(1) << (l % 64)))
            range_by_fact(pr, &pr->facts.at[i].p, l, &r, depth);
    return r;
}

static Range range_of(Prover *pr, const Poly *p, int depth)
{
    Range sum = {p->c, p->c};
    for (int i = 0; i < p->n; i++) {
        Range t = {p->t[i].k, p->t[i].k};
        for (int j = 0; j < POLY_DEGREE && p->t[i].leaves[j]; j++)
            t = range_mul(t, range_of_leaf(pr, p->t[i].leaves[j], depth));
        sum.lo = sum.lo <= -unbounded ? sum.lo : clamp(sum.lo + t.lo);
        sum.hi = sum.hi >= unbounded ? sum.hi : clamp(sum.hi + t.hi);
    }
    return sum;
}

void prover_range(Prover *pr, const Poly *p, int64_t *lo, int64_t *hi)
{
    enum { RANGE_DEPTH = 3, RANGE_STEPS = 200 };
    if (pr->ranging++ == 0)
        pr->range_steps = RANGE_STEPS;
    Range r = range_of(pr, p, RANGE_DEPTH);
    pr->ranging--;
    *lo = r.lo < INT64_MIN ? INT64_MIN : r.lo > INT64_MAX ? INT64_MAX : (int64_t)r.lo;
    *hi = r.hi > INT64_MAX ? INT64_MAX : r.hi < INT64_MIN ? INT64_MIN : (int64_t)r.hi;
}
