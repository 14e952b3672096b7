/* Comparing sizes: they are made polynomials for the prover. Its leaves are the IR's variables,
 * which ir/ranges.c knows, and what is no sum or product: names, quotients, minima, choices, each
 * with facts of its own for as long as a question is at work. */
#include "size/prove.h"

enum { FIRST_LEAF = 1 << 30, MAX_LOOKS = 2, KEPT = -1 };

typedef struct {
    const KExp *sx;
    int entered; /* the question that entered its facts, from `fact` on, or KEPT */
    int fact;
} SxLeaf;

struct SxFacts {
    Ctx *cx;
    Ranges *ra;
    Prover *prover;
    bool exact;
    VEC(SxLeaf) leaves;
    LeafKind kind;
    int question; /* the one at work, counted */
    int looks;    /* ranges of leaves at work within each other */
};

static bool leaf_cases(void *env, const void *leaf, Goal *g);
static void leaf_range(void *env, const void *leaf, int64_t *lo, int64_t *hi);

SxFacts *sx_facts_new(Ctx *cx, Ranges *ra, SxArithmetic arithmetic)
{
    SxFacts *f = NEW(cx->perm, SxFacts);
    f->cx = cx;
    f->ra = ra ? ra : ranges_new(cx, varmap_new(cx->perm));
    f->prover = ranges_prover(f->ra);
    f->exact = arithmetic == SX_EXACT;
    f->kind = (LeafKind){.cases = leaf_cases, .range = leaf_range, .env = f};
    return f;
}

Ranges *sx_facts_ranges(SxFacts *f)
{
    return f->ra;
}

int sx_facts_mark(const SxFacts *f)
{
    return ranges_mark(f->ra);
}

void sx_facts_reset(SxFacts *f, int mark)
{
    ranges_reset(f->ra, mark);
    for (int i = 0; i < f->leaves.n; i++)
        if (f->leaves.at[i].fact >= mark)
            f->leaves.at[i].entered = 0;
}

/* --- Polynomials ------------------------------------------------------------------------------ */

static bool poly_of(SxFacts *f, const KExp *a, Poly *p);

static void assume_nonneg(SxFacts *f, const Poly *p)
{
    prover_assume(f->prover, p);
}

/* p + k*q + c >= 0 is known */
static void assume_sum(SxFacts *f, Poly p, const Poly *q, int64_t k, int64_t c)
{
    Poly constant = poly_const(c);
    if (poly_add(&p, q, k) && poly_add(&p, &constant, 1))
        assume_nonneg(f, &p);
}

/* What is computed from a >= 0 and b >= 1. */
static void quotient_facts(SxFacts *f, const KExp *sx, const Poly *me)
{
    Poly a, b, b1, most, part = *me;
    if (!poly_of(f, sx_left(sx), &a) || !poly_of(f, sx_right(sx), &b))
        return;
    b1 = poly_const(-1);
    if (!poly_add(&b1, &b, 1) || !prover_nonneg(f->prover, &a) || !prover_nonneg(f->prover, &b1))
        return;
    assume_nonneg(f, me);
    assume_sum(f, a, me, -1, 0); /* each is at most a */
    if (sx_kind(sx) == SX_MOD) {
        assume_sum(f, b1, me, -1, 0);
        return;
    }
    most = a;
    if (!poly_mul(&part, &b) || !poly_add(&most, &b1, 1))
        return;
    if (sx_kind(sx) == SX_DIV) { /* b*me <= a <= b*me + b - 1 */
        assume_sum(f, a, &part, -1, 0);
        assume_sum(f, part, &b1, 1, 0);
        Poly above = part;
        if (poly_add(&above, &b1, 1))
            assume_sum(f, above, &a, -1, 0);
    } else { /* a <= b*me <= a + b - 1 */
        assume_sum(f, part, &a, -1, 0);
        assume_sum(f, most, &part, -1, 0);
    }
}

static void extremum_facts(SxFacts *f, const KExp *sx, const Poly *me)
{
    int64_t k = sx_kind(sx) == SX_MIN ? 1 : -1;
    const KExp *of[] = {sx_left(sx), sx_right(sx)};
    for (int i = 0; i < 2; i++) {
        Poly p;
        if (poly_of(f, of[i], &p) && poly_scale(&p, k))
            assume_sum(f, p, me, -k, 0);
    }
}

static void leaf_facts(SxFacts *f, const KExp *sx, const Poly *me)
{
    if (sx->kind == KE_SIZE)
        assume_nonneg(f, me);
    else if (sx_kind(sx) == SX_DIV || sx->kind == KE_CEILDIV || sx_kind(sx) == SX_MOD)
        quotient_facts(f, sx, me);
    else if (sx_kind(sx) == SX_MIN || sx_kind(sx) == SX_MAX)
        extremum_facts(f, sx, me);
}

static int leaf_index(const SxFacts *f, const KExp *a)
{
    int i = 0;
    while (i < f->leaves.n && !kx_same(f->leaves.at[i].sx, a))
        i++;
    return i;
}

/* Is a a leaf whose facts are there? */
static bool is_entered(const SxFacts *f, const KExp *a, int *index)
{
    *index = leaf_index(f, a);
    if (*index == f->leaves.n)
        return false;
    const SxLeaf *l = &f->leaves.at[*index];
    return l->entered == f->question || (l->entered == KEPT && l->fact < prover_mark(f->prover));
}

/* What a is made of becomes leaves before a does: it is younger. */
static void visit_parts(SxFacts *f, const KExp *a)
{
    Poly p;
    for (int i = 0; i < a->n; i++)
        poly_of(f, a->x[i], &p);
}

static Poly leaf_of(SxFacts *f, const KExp *a)
{
    visit_parts(f, a);
    int i = leaf_index(f, a), mark = prover_mark(f->prover);
    if (i == f->leaves.n)
        vec_push(f->cx->perm, &f->leaves, (SxLeaf){.sx = a});
    f->leaves.at[i].entered = f->question;
    f->leaves.at[i].fact = mark;
    Poly me = prover_leaf(f->prover, FIRST_LEAF + i, &f->kind, f->leaves.at[i].sx);
    leaf_facts(f, a, &me);
    return me;
}

static bool fits(SxFacts *f, const Poly *p)
{
    int64_t lo, hi;
    if (f->exact)
        return true;
    prover_range(f->prover, p, &lo, &hi);
    return lo > INT64_MIN && hi < INT64_MAX;
}

/* False where a has no polynomial, or one that may be another number than a. */
static bool poly_of_op(SxFacts *f, const KExp *a, Poly *p)
{
    Poly b;
    if (!poly_of(f, sx_left(a), p) || !poly_of(f, sx_right(a), &b))
        return false;
    bool ok =
        sx_kind(a) == SX_MUL ? poly_mul(p, &b) : poly_add(p, &b, sx_kind(a) == SX_ADD ? 1 : -1);
    return ok && fits(f, p);
}

static bool poly_of(SxFacts *f, const KExp *a, Poly *p)
{
    int leaf;
    if (a->kind == KE_CONST) {
        *p = poly_const(a->c.i);
        return true;
    }
    if (a->kind == KE_HOST)
        return ranges_poly(f->ra, atom_var((Var *)(uintptr_t)a->host), p);
    if (is_entered(f, a, &leaf)) {
        *p = poly_leaf(FIRST_LEAF + leaf);
        return true;
    }
    bool sum = sx_kind(a) == SX_ADD || sx_kind(a) == SX_SUB || sx_kind(a) == SX_MUL;
    if (!sum || !poly_of_op(f, a, p))
        *p = leaf_of(f, a);
    return true;
}

/* --- What leaves stand for -------------------------------------------------------------------- */

static bool case_of(SxFacts *f, Goal *g, const KExp *value)
{
    Poly p;
    return poly_of(f, value, &p) && prove_case(g, &p);
}

/* cond != 0, or cond == 0 */
static void assume_cond(SxFacts *f, const KExp *cond, bool holds)
{
    Poly p, minus, none = poly_const(0);
    if (!poly_of(f, cond, &p))
        return;
    minus = p;
    if (holds) {
        if (prover_nonneg(f->prover, &p))
            assume_sum(f, p, &none, 0, -1);
    } else if (poly_scale(&minus, -1)) {
        assume_nonneg(f, &p);
        assume_nonneg(f, &minus);
    }
}

static bool leaf_cases(void *env, const void *leaf, Goal *g)
{
    SxFacts *f = env;
    const KExp *a = leaf;
    if (sx_kind(a) == SX_MIN || sx_kind(a) == SX_MAX)
        return case_of(f, g, sx_left(a)) && case_of(f, g, sx_right(a));
    if (a->kind != KE_SELECT)
        return false;
    bool ok = true;
    for (int holds = 1; holds >= 0 && ok; holds--) {
        int mark = sx_facts_mark(f);
        assume_cond(f, sx_cond(a), holds);
        ok = case_of(f, g, holds ? sx_left(a) : sx_right(a));
        sx_facts_reset(f, mark);
    }
    return ok;
}

static void leaf_range(void *env, const void *leaf, int64_t *lo, int64_t *hi)
{
    enum { FACT_BITS = 40 };
    SxFacts *f = env;
    const KExp *a = leaf;
    Poly p, q;
    int64_t l[2], h[2];
    if (a->kind == KE_SIZE) {
        *lo = 0;
        *hi = (INT64_C(1) << FACT_BITS) - 1;
    }
    bool choice = sx_kind(a) == SX_MIN || sx_kind(a) == SX_MAX || a->kind == KE_SELECT;
    if (!choice || f->looks == MAX_LOOKS || !poly_of(f, sx_left(a), &p) ||
        !poly_of(f, sx_right(a), &q))
        return;
    f->looks++;
    prover_range(f->prover, &p, &l[0], &h[0]);
    prover_range(f->prover, &q, &l[1], &h[1]);
    f->looks--;
    *lo = (l[0] < l[1]) != (sx_kind(a) == SX_MAX) ? l[0] : l[1];
    *hi = (h[0] > h[1]) != (sx_kind(a) == SX_MIN) ? h[0] : h[1];
}

/* --- Facts and questions ---------------------------------------------------------------------- */

/* b - a - slack */
static bool difference(SxFacts *f, const KExp *a, const KExp *b, int64_t slack, Poly *p)
{
    Poly pa, constant = poly_const(-slack);
    return poly_of(f, a, &pa) && poly_of(f, b, p) && poly_add(p, &pa, -1) &&
           poly_add(p, &constant, 1);
}

static void assume(SxFacts *f, const KExp *a, const KExp *b, int64_t slack)
{
    Poly p;
    f->question++;
    if (!difference(f, a, b, slack, &p))
        return;
    for (int i = 0; i < f->leaves.n; i++)
        if (f->leaves.at[i].entered == f->question && f->leaves.at[i].fact < sx_facts_mark(f))
            f->leaves.at[i].entered = KEPT;
    assume_nonneg(f, &p);
}

void sx_assume_le(SxFacts *f, const KExp *a, const KExp *b)
{
    assume(f, a, b, 0);
}

void sx_assume_lt(SxFacts *f, const KExp *a, const KExp *b)
{
    assume(f, a, b, 1);
}

static bool certain(SxFacts *f, const KExp *a, const KExp *b, int64_t slack)
{
    Poly p;
    f->question++;
    int mark = sx_facts_mark(f);
    bool ok = difference(f, a, b, slack, &p) && prover_nonneg(f->prover, &p);
    sx_facts_reset(f, mark);
    return ok;
}

bool sx_le(SxFacts *f, const KExp *a, const KExp *b)
{
    return certain(f, a, b, 0);
}

bool sx_lt(SxFacts *f, const KExp *a, const KExp *b)
{
    return certain(f, a, b, 1);
}

bool sx_nonneg(SxFacts *f, const KExp *a)
{
    return certain(f, sx_const(f->cx, 0), a, 0);
}

void sx_interval(SxFacts *f, const KExp *a, int64_t *lo, int64_t *hi)
{
    Poly p;
    *lo = INT64_MIN;
    *hi = INT64_MAX;
    f->question++;
    int mark = sx_facts_mark(f);
    if (poly_of(f, a, &p))
        prover_range(f->prover, &p, lo, hi);
    sx_facts_reset(f, mark);
}
