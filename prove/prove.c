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
    const void *key;
} Key;

struct Prover {
    Arena *mem;
    ProverCases *cases;
    void *env;
    VEC(Fact) facts;
    Key *keys; /* by leaf, open addressing */
    int n_keys, n_slots;
    int steps;  /* left for the proof at work */
    int nested; /* proofs at work within each other */
};

struct Goal {
    Prover *pr;
    const Poly *p;
    Leaf leaf; /* whose cases are tried */
    int depth;
};

Prover *prover_new(Arena *a, ProverCases *cases, void *env)
{
    Prover *pr = NEW(a, Prover);
    *pr = (Prover){.mem = a, .cases = cases, .env = env};
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

Poly prover_leaf(Prover *pr, Leaf l, const void *key)
{
    if (2 * pr->n_keys >= pr->n_slots)
        grow_keys(pr);
    Key *k = find_key(pr, l);
    pr->n_keys += k->l == 0;
    *k = (Key){l, key};
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

static bool is_leaf(const Term *t, Leaf l)
{
    return t->leaves[0] == l && t->leaves[1] == 0;
}

bool prover_knows(const Prover *pr, Leaf l, int64_t c)
{
    uint64_t bit = UINT64_C(1) << (l % 64);
    for (int i = 0; i < pr->facts.n; i++) {
        const Fact *f = &pr->facts.at[i]; /* tight: the coefficient of a single leaf is 1 or -1 */
        if (f->leaves == bit && f->p.n == 1 && is_leaf(&f->p.t[0], l) && f->p.t[0].k == 1 &&
            f->p.c <= -c)
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

/* rest := |q|*goal - |k|*w*fact, or a fraction of it. */
static bool cancelled(const Poly *goal, int64_t k, const Term *w, const Poly *fact, int64_t q,
                      Poly *rest)
{
    int64_t ak = magnitude(k), aq = magnitude(q);
    bool whole = ak % aq == 0;
    Poly f = {.n = 1, .t = {*w}};
    if (!w->leaves[0])
        f = poly_const(1);
    *rest = *goal;
    return poly_mul(&f, fact) && poly_scale(rest, whole ? 1 : aq) &&
           poly_add(rest, &f, whole ? -(ak / aq) : -ak);
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
        if (!(pr->facts.at[i].leaves & all))
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
        if (!(pr->facts.at[i].leaves >> (l % 64) & 1))
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
    return pr->cases && pr->n_slots && pr->cases(pr->env, l, find_key(pr, l)->key, &g);
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

/* ProverCases may ask for proofs of its own: up to a limit. */
bool prover_nonneg(Prover *pr, const Poly *p)
{
    if (pr->nested == MAX_NESTED)
        return false;
    int outer = pr->steps;
    pr->steps = MAX_STEPS;
    pr->nested++;
    bool ok = prove(pr, p, MAX_DEPTH);
    pr->nested--;
    pr->steps = outer;
    return ok;
}
