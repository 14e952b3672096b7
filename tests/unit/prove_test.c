/* The prover of inequalities: what it must find, what it must not, and a search for a wrong claim.
 */
#include "prove/prove.h"
#include "tests/unit/check.h"

#include <stdlib.h>

enum { N = 1, M, I, J, D, MIN };

static Arena *mem;
static Prover *pr;
static const Leaf leaves[] = {0, N, M, I, J, D, MIN, 7, 8, 9, 10, 11};

/* MIN is the smaller of N and M. */
static bool min_cases(void *env, const void *key, Goal *g)
{
    (void)env;
    Poly n = poly_leaf(N), m = poly_leaf(M);
    return *(const Leaf *)key == MIN && prove_case(g, &n) && prove_case(g, &m);
}

static const LeafKind kind = {.cases = min_cases};

/* --- Polynomials in short --------------------------------------------------------------------- */

static Poly num(int64_t c)
{
    return poly_const(c);
}

static Poly var(Leaf l)
{
    return prover_leaf(pr, l, &kind, &leaves[l]);
}

static void must(bool ok)
{
    if (!ok)
        CHECK(ok);
}

static Poly add(Poly a, Poly b)
{
    must(poly_add(&a, &b, 1));
    return a;
}

static Poly sub(Poly a, Poly b)
{
    must(poly_add(&a, &b, -1));
    return a;
}

static Poly mul(Poly a, Poly b)
{
    must(poly_mul(&a, &b));
    return a;
}

static void assume_le(Poly a, Poly b)
{
    Poly p = sub(b, a);
    prover_assume(pr, &p);
}

static void assume_lt(Poly a, Poly b)
{
    assume_le(add(a, num(1)), b);
}

static bool le(Poly a, Poly b)
{
    Poly p = sub(b, a);
    return prover_nonneg(pr, &p);
}

static bool lt(Poly a, Poly b)
{
    return le(add(a, num(1)), b);
}

/* --- Arithmetic ------------------------------------------------------------------------------- */

static void test_polynomials(void)
{
    Poly n = var(N), m = var(M), p = mul(add(n, m), sub(n, m)), q = sub(mul(n, n), mul(m, m)), r;
    CHECK(memcmp(&p, &q, sizeof p) == 0);
    CHECK_INT(p.n, 2);
    CHECK_INT(p.t[0].leaves[0], M);
    p = sub(p, p);
    CHECK(p.n == 0 && p.c == 0);
    /* (2n + 3m + 5)[n := m + 1] = 5m + 7 */
    p = add(add(mul(num(2), n), mul(num(3), m)), num(5));
    q = add(m, num(1));
    CHECK(poly_replace(&p, N, &q));
    CHECK(p.n == 1 && p.t[0].k == 5 && p.c == 7);
    p = mul(mul(n, n), m);
    CHECK(poly_replace(&p, N, &q));
    CHECK_INT(p.n, 3); /* m^3 + 2m^2 + m */
    poly_split(&p, M, &q, &r);
    CHECK(q.n == 2 && q.c == 1 && r.n == 0 && r.c == 0);
    p = mul(num(4), n), q = p;
    p = add(p, num(-7));
    poly_tighten(&p);
    CHECK(p.t[0].k == 1 && p.c == -2); /* 4n >= 7: n >= 2 */
    q = add(q, num(7));
    poly_tighten(&q);
    CHECK(q.t[0].k == 1 && q.c == 1); /* 4n >= -7: n >= -1 */
}

/* What does not fit is refused. */
static void test_limits(void)
{
    Poly n = var(N), p = num(INT64_MAX), q = num(1), wide = num(0);
    CHECK(!poly_add(&p, &q, 1));
    p = mul(num(INT64_MAX), n), q = p;
    CHECK(!poly_add(&p, &q, 1));
    p = mul(mul(n, n), mul(n, n));
    CHECK(!poly_mul(&p, &n));
    for (Leaf l = 1; l <= POLY_TERMS; l++)
        wide = add(wide, var(l));
    p = var(POLY_TERMS + 1);
    CHECK(!poly_add(&wide, &p, 1));
}

/* --- Proofs ----------------------------------------------------------------------------------- */

static void test_linear(void)
{
    Poly n = var(N), i = var(I);
    CHECK(le(n, n) && lt(n, add(n, num(1))) && !lt(n, n));
    CHECK(!le(num(0), n) && !le(n, num(0)));
    int mark = prover_mark(pr);
    assume_le(num(0), i);
    assume_lt(i, n);
    CHECK(le(num(0), i) && lt(i, n) && le(num(1), n) && le(i, sub(n, num(1))));
    CHECK(le(mul(num(3), i), sub(mul(num(3), n), num(3))));
    CHECK(lt(sub(sub(n, num(1)), i), n)); /* n - 1 - i < n */
    CHECK(!lt(add(i, num(1)), n) && !le(num(2), n) && !le(num(1), i));
    CHECK(prover_knows(pr, I, 0) && prover_knows(pr, I, -3) && !prover_knows(pr, I, 1));
    prover_reset(pr, mark);
    CHECK(!le(num(1), n) && !prover_knows(pr, I, 0));
    assume_le(mul(num(2), n), num(7)); /* n <= 3 */
    CHECK(le(n, num(3)) && !le(n, num(2)));
    prover_reset(pr, mark);
}

/* Positions in arrays of several dimensions. */
static void test_products(void)
{
    Poly n = var(N), m = var(M), i = var(I), j = var(J);
    int mark = prover_mark(pr);
    CHECK(!le(num(0), mul(n, m)) && !le(mul(n, m), mul(m, m)));
    CHECK(!le(num(0), mul(n, n))); /* true, but not by what it knows */
    assume_le(num(0), n);
    CHECK(!le(num(0), mul(n, m)));
    assume_le(num(0), m);
    CHECK(le(num(0), mul(n, m)) && !le(num(1), mul(n, m)) && !le(n, mul(n, m)));
    assume_le(num(0), i);
    assume_lt(i, n);
    assume_le(num(0), j);
    CHECK(!le(add(mul(i, m), j), mul(n, m)));
    assume_lt(j, m);
    Poly at = add(mul(i, m), j);
    CHECK(lt(at, mul(n, m)) && le(num(0), at) && lt(at, mul(mul(n, m), m)));
    CHECK(le(add(mul(n, m), n), mul(add(n, num(1)), mul(m, num(2)))));
    CHECK(!lt(add(mul(j, n), i), sub(mul(n, m), num(1))));
    CHECK(!lt(add(mul(i, n), j), mul(n, m))); /* the strides of another array */
    CHECK(lt(add(mul(j, n), i), mul(n, m)));
    CHECK(le(n, mul(n, m)) && le(num(1), mul(n, m)));
    prover_reset(pr, mark);
    /* Without a sign of the stride nothing is known of its multiples. */
    assume_le(num(0), i);
    assume_lt(i, n);
    CHECK(!le(mul(i, m), mul(n, m)) && !le(mul(n, m), mul(i, m)));
    prover_reset(pr, mark);
}

/* The coefficient of what is bounded is a sum. */
static void test_factored(void)
{
    Poly n = var(N), m = var(M), i = var(I);
    int mark = prover_mark(pr);
    assume_le(num(0), n);
    assume_le(n, m);
    assume_le(num(0), i);
    CHECK(le(mul(i, n), mul(i, m)));
    CHECK(!le(mul(i, m), mul(i, n)));
    assume_le(i, num(9));
    CHECK(le(mul(i, sub(m, n)), mul(num(9), sub(m, n))));
    CHECK(!le(mul(i, sub(m, n)), mul(num(8), sub(m, n))));
    CHECK(le(mul(num(9), sub(n, m)), mul(i, sub(n, m))));
    prover_reset(pr, mark);
}

/* d = i / m as facts: m*d <= i < m*d + m */
static void test_quotients(void)
{
    Poly n = var(N), m = var(M), i = var(I), d = var(D);
    int mark = prover_mark(pr);
    assume_le(num(1), m);
    assume_le(num(0), i);
    assume_lt(i, mul(n, m));
    assume_le(mul(m, d), i);
    assume_lt(i, add(mul(m, d), m));
    CHECK(le(num(0), sub(i, mul(m, d))) && lt(sub(i, mul(m, d)), m));
    CHECK(!lt(sub(i, mul(m, d)), sub(m, num(1))));
    CHECK(!le(num(1), d));
    prover_reset(pr, mark);
}

static void test_cases(void)
{
    Poly n = var(N), m = var(M), min = var(MIN);
    int mark = prover_mark(pr);
    assume_le(num(3), n);
    assume_le(num(5), m);
    CHECK(le(num(3), min) && !le(num(4), min));
    CHECK(le(mul(num(3), min), mul(min, min)));
    CHECK(!le(min, num(100)));
    prover_reset(pr, mark);
}

static void in_range(int line, Poly p, int64_t lo, int64_t hi)
{
    int64_t l, h;
    prover_range(pr, &p, &l, &h);
    CHECK(l == lo && h == hi);
    if (l != lo || h != hi)
        fprintf(stderr, "    line %d: %lld to %lld\n", line, (long long)l, (long long)h);
}
#define RANGE(p, lo, hi) in_range(__LINE__, p, lo, hi)

static void test_ranges(void)
{
    Poly n = var(N), m = var(M), i = var(I);
    int mark = prover_mark(pr);
    RANGE(n, INT64_MIN, INT64_MAX);
    RANGE(num(7), 7, 7);
    assume_le(num(-2), n);
    RANGE(n, -2, INT64_MAX);
    RANGE(sub(num(5), n), INT64_MIN, 7);
    assume_le(mul(num(3), n), num(10));
    RANGE(n, -2, 3);
    RANGE(mul(n, n), -6, 9);
    RANGE(mul(n, num(-4)), -12, 8);
    assume_lt(i, n);
    RANGE(i, INT64_MIN, 2);
    assume_le(num(0), i);
    RANGE(n, 1, 3);
    RANGE(add(mul(i, num(100)), n), 1, 203);
    RANGE(mul(m, num(0)), 0, 0);
    assume_le(num(0), m);
    RANGE(mul(i, m), 0, INT64_MAX);
    assume_le(m, num(INT64_MAX / 2));
    RANGE(mul(n, m), 0, INT64_MAX);
    RANGE(add(m, m), 0, INT64_MAX - 1);
    RANGE(sub(mul(n, m), mul(i, m)), 1 - INT64_MAX, INT64_MAX);
    prover_reset(pr, mark);
}

/* --- A search for wrong claims ---------------------------------------------------------------- */

enum { LEAVES = 4, LOW = -2, HIGH = 5 };

static int64_t eval(const Poly *p, const int64_t *at)
{
    int64_t sum = p->c;
    for (int i = 0; i < p->n; i++) {
        int64_t x = p->t[i].k;
        for (int j = 0; j < POLY_DEGREE && p->t[i].leaves[j]; j++)
            x *= at[p->t[i].leaves[j]];
        sum += x;
    }
    return sum;
}

static Poly random_poly(void)
{
    Poly p = num(rand() % 7 - 3);
    for (int n = 1 + rand() % 3; n > 0; n--) {
        Poly t = num(rand() % 5 - 2);
        for (int d = 1 + rand() % 2; d > 0; d--)
            t = mul(t, var(1 + rand() % LEAVES));
        p = add(p, t);
    }
    return p;
}

/* The next point of the cube; false after the last. */
static bool next_point(int64_t *at)
{
    for (int l = 1; l <= LEAVES; l++) {
        if (++at[l] <= HIGH)
            return true;
        at[l] = LOW;
    }
    return false;
}

/* Is lo <= goal <= hi wherever the facts hold (in the cube)? */
static bool holds(const Poly *facts, int n, const Poly *goal, int64_t lo, int64_t hi)
{
    int64_t at[LEAVES + 1] = {0, LOW, LOW, LOW, LOW};
    do {
        bool all = true;
        for (int i = 0; i < n && all; i++)
            all = eval(&facts[i], at) >= 0;
        int64_t x = all ? eval(goal, at) : lo;
        if (x < lo || x > hi)
            return false;
    } while (next_point(at));
    return true;
}

static void test_random(void)
{
    enum { ROUNDS = 3000, FACTS = 6, GOALS = 4 };
    int proved = 0, wrong = 0, mark = prover_mark(pr);
    srand(7);
    for (int r = 0; r < ROUNDS; r++) {
        Poly facts[FACTS + LEAVES];
        int n = 0;
        for (int l = 1; l <= LEAVES; l++)
            if (rand() % 3)
                facts[n++] = add(var(l), num(rand() % 3));
        while (n < FACTS)
            facts[n++] = random_poly();
        for (int i = 0; i < n; i++)
            prover_assume(pr, &facts[i]);
        for (int g = 0; g < GOALS; g++) {
            Poly goal = random_poly();
            int64_t lo, hi;
            prover_range(pr, &goal, &lo, &hi);
            if (prover_nonneg(pr, &goal)) {
                proved++;
                wrong += !holds(facts, n, &goal, 0, INT64_MAX);
            }
            if (g == 0)
                wrong += !holds(facts, n, &goal, lo, hi);
        }
        prover_reset(pr, mark);
    }
    CHECK_INT(wrong, 0);
    CHECK(proved > ROUNDS / 10); /* else the search means nothing */
    if (proved <= ROUNDS / 10)
        fprintf(stderr, "    %d proved\n", proved);
}

int main(void)
{
    mem = arena_new();
    pr = prover_new(mem);
    test_polynomials();
    test_limits();
    test_linear();
    test_products();
    test_factored();
    test_quotients();
    test_cases();
    test_ranges();
    test_random();
    arena_free(mem);
    return check_summary();
}
