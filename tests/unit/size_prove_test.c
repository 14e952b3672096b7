/* What is proved of sizes: what must be, what must not be (numbers may be negative, operations may
 * wrap around), bounds elsewhere, and a search for claims that are wrong. */
#include "size/prove.h"
#include "tests/unit/check.h"

#include <stdlib.h>

static Ctx cx;
static VarMap *defs;
static Ranges *ra;
static SxFacts *wrap, *exact; /* of the same variables */
static Var *n, *m, *i, *x, *y;
static const KExp *sn, *sm, *si, *sx, *sy;

static const KExp *num(int64_t k)
{
    return sx_const(&cx, k);
}

#define ADD(a, b)       sx_add(&cx, a, b)
#define SUB(a, b)       sx_sub(&cx, a, b)
#define MUL(a, b)       sx_mul(&cx, a, b)
#define OP(op, a, b)    sx_op(&cx, SX_##op, a, b)
#define SELECT(c, a, b) sx_select(&cx, c, a, b)

static Var *variable(const char *base)
{
    return var_new(&cx, base, type_prim(T_I64), (Loc){0});
}

/* n, m: sizes of an array; i: a counter below n; x, y: any numbers. */
static void known_variables(void)
{
    n = variable("n"), m = variable("m"), i = variable("i"), x = variable("x"), y = variable("y");
    n->id = 1001, m->id = 1002;
    sn = sx_var(&cx, n), sm = sx_var(&cx, m), si = sx_var(&cx, i);
    sx = sx_var(&cx, x), sy = sx_var(&cx, y);
    defs = varmap_new(cx.perm);
    ra = ranges_new(&cx, defs);
    Atom dims[] = {atom_var(n), atom_var(m)};
    ranges_given(ra, (Type){T_I32, 2, dims});
    ranges_dim(ra, &(NestDim){.idx = i, .width = atom_var(n)});
    wrap = sx_facts_new(&cx, ra, SX_MAY_WRAP);
    exact = sx_facts_new(&cx, ra, SX_EXACT);
}

/* --- Comparisons ------------------------------------------------------------------------------ */

static void test_sums(void)
{
    CHECK(sx_nonneg(wrap, sn) && sx_nonneg(wrap, si) && !sx_nonneg(wrap, sx));
    CHECK(sx_lt(wrap, si, sn) && sx_le(wrap, ADD(si, num(1)), sn) && !sx_lt(wrap, sn, si));
    CHECK(!sx_lt(wrap, ADD(si, num(1)), sn) && sx_le(wrap, num(1), sn));
    CHECK(sx_le(wrap, sx, sx) && !sx_lt(wrap, sx, sx));
    CHECK(sx_lt(wrap, SUB(SUB(sn, num(1)), si), sn) && sx_nonneg(wrap, SUB(SUB(sn, num(1)), si)));
    CHECK(sx_le(wrap, sn, ADD(sn, sm)) && !sx_le(wrap, ADD(sn, sm), sn));
    CHECK(!sx_nonneg(wrap, SUB(sn, sm)) && !sx_le(wrap, num(1), sm));
}

/* What is true of numbers, but not of those that a machine computes with. */
static void test_wrapping(void)
{
    CHECK(!sx_lt(wrap, sx, ADD(sx, num(1))) && sx_lt(exact, sx, ADD(sx, num(1))));
    CHECK(!sx_lt(wrap, SUB(sx, num(1)), sx) && sx_lt(exact, SUB(sx, num(1)), sx));
    CHECK(!sx_nonneg(wrap, MUL(sn, sm)) && sx_nonneg(exact, MUL(sn, sm)));
    CHECK(!sx_le(wrap, MUL(si, sm), MUL(sn, sm)) && sx_le(exact, MUL(si, sm), MUL(sn, sm)));
    CHECK(sx_le(wrap, MUL(sn, num(3)), MUL(sn, num(1 << 10))));
    CHECK(!sx_le(wrap, MUL(sn, num(3)), MUL(sn, num(1 << 20))));
    CHECK(sx_lt(wrap, ADD(MUL(si, num(8)), num(7)), MUL(sn, num(8))));
    CHECK(!sx_le(wrap, sn, MUL(MUL(sn, sn), sn)));
    CHECK(!sx_le(exact, sn, MUL(sx, sn)) && !sx_le(exact, MUL(sx, sn), MUL(sx, MUL(sn, sn))));
}

static void test_positions(void)
{
    int mark = sx_facts_mark(exact);
    sx_assume_le(exact, num(0), sx);
    CHECK(!sx_lt(exact, ADD(MUL(si, sm), sx), MUL(sn, sm)));
    sx_assume_lt(exact, sx, sm);
    CHECK(sx_lt(exact, ADD(MUL(si, sm), sx), MUL(sn, sm)));
    CHECK(sx_lt(exact, ADD(MUL(sx, sn), si), MUL(sn, sm)));
    CHECK(!sx_lt(exact, ADD(MUL(si, sn), sx), MUL(sn, sm)));
    CHECK(sx_le(exact, ADD(MUL(sn, sm), sn), MUL(ADD(sn, num(1)), ADD(sm, num(1)))));
    sx_facts_reset(exact, mark);
    CHECK(!sx_nonneg(exact, sx));
}

static void test_quotients(void)
{
    const KExp *half = OP(DIV, sn, num(2)), *tiles = OP(CEILDIV, sn, num(32));
    CHECK(sx_le(wrap, half, sn) && sx_le(wrap, MUL(half, num(2)), sn) && sx_nonneg(wrap, half));
    CHECK(!sx_le(wrap, sn, MUL(half, num(2))) && sx_le(wrap, sn, ADD(MUL(half, num(2)), num(1))));
    CHECK(sx_le(wrap, sn, MUL(tiles, num(32))) && sx_le(wrap, num(1), tiles)); /* i < n */
    CHECK(sx_lt(wrap, MUL(tiles, num(32)), ADD(sn, num(32))));
    CHECK(!sx_le(wrap, MUL(tiles, num(32)), sn));
    CHECK(sx_le(wrap, tiles, sn));
    CHECK(sx_lt(wrap, OP(MOD, sn, num(32)), num(32)) && sx_nonneg(wrap, OP(MOD, sn, num(32))));
    CHECK(sx_le(wrap, OP(MOD, sm, sn), sm) && sx_lt(wrap, OP(MOD, sm, sn), sn));
    /* Nothing is said of what may be negative, or divided by 0. */
    CHECK(!sx_nonneg(wrap, OP(DIV, sx, num(2))) && !sx_le(wrap, OP(DIV, sx, num(2)), sx));
    CHECK(!sx_le(wrap, OP(DIV, sn, sm), sn) && !sx_lt(wrap, OP(MOD, sn, sm), sm));
    CHECK(sx_le(wrap, OP(DIV, sm, sn), sm));
    CHECK(sx_le(exact, MUL(OP(DIV, sm, sn), sn), sm));
}

static void test_choices(void)
{
    const KExp *near = sx_size(&cx, SIZE_COALESCES), *group = sx_size(&cx, SIZE_GROUP_SIZE);
    const KExp *min = OP(MIN, sn, sm), *max = OP(MAX, sn, sx);
    CHECK(sx_le(wrap, min, sn) && sx_le(wrap, min, sm) && sx_nonneg(wrap, min));
    CHECK(!sx_le(wrap, num(1), min) && !sx_le(wrap, sn, min));
    CHECK(sx_le(wrap, sn, max) && sx_le(wrap, sx, max) && sx_nonneg(wrap, max));
    CHECK(sx_le(wrap, min, max) && !sx_le(wrap, max, sn));
    CHECK(sx_le(wrap, num(1), OP(MAX, num(1), sx)));
    const KExp *s = SELECT(near, num(1), sn);
    CHECK(sx_nonneg(wrap, s) && sx_le(wrap, s, sn) && sx_le(wrap, num(1), s));
    CHECK(!sx_le(wrap, s, num(1)) && !sx_le(wrap, SELECT(near, num(1), sm), sm));
    CHECK(sx_le(wrap, num(1), SELECT(sm, sm, num(1)))); /* 0 is not taken */
    CHECK(sx_nonneg(wrap, group) && !sx_le(wrap, num(1), group));
    CHECK(sx_le(wrap, OP(MAX, OP(MIN, sn, group), num(1)), sn));
    CHECK(sx_nonneg(wrap, MUL(SELECT(near, num(1), group), num(8))));
}

static void test_kvars(void)
{
    static const KVar one = {.name = "k", .type = {T_I64, 1}},
                      two = {.name = "t", .type = {T_I64, 1}};
    const KExp *k = kx_var(cx.perm, &one);
    const KExp *t = kx_var(cx.perm, &two);
    int mark = sx_facts_mark(wrap);
    sx_assume_le(wrap, num(0), k);
    sx_assume_lt(wrap, k, OP(DIV, sn, num(4)));
    CHECK(sx_lt(wrap, k, sn) && sx_lt(wrap, ADD(MUL(k, num(4)), num(3)), sn));
    CHECK(!sx_lt(wrap, ADD(MUL(k, num(4)), num(4)), sn));
    sx_assume_le(wrap, t, k);
    CHECK(sx_lt(wrap, t, sn) && !sx_nonneg(wrap, t));
    sx_facts_reset(wrap, mark);
    CHECK(!sx_nonneg(wrap, k) && !sx_lt(wrap, k, sn));
}

static void interval(int line, const KExp *a, int64_t lo, int64_t hi)
{
    int64_t l, h;
    sx_interval(wrap, a, &l, &h);
    CHECK(l == lo && h == hi);
    if (l != lo || h != hi)
        fprintf(stderr, "    line %d: %lld to %lld\n", line, (long long)l, (long long)h);
}
#define INTERVAL(a, lo, hi) interval(__LINE__, a, lo, hi)

static void test_intervals(void)
{
    INTERVAL(num(5), 5, 5);
    INTERVAL(sx, INT64_MIN, INT64_MAX);
    INTERVAL(sm, 0, MAX_SIZE);
    INTERVAL(ADD(sm, num(2)), 2, MAX_SIZE + 2);
    INTERVAL(si, 0, MAX_SIZE - 1);
    INTERVAL(MUL(sn, sm), INT64_MIN, INT64_MAX);
    INTERVAL(OP(MIN, sx, num(7)), INT64_MIN, 7);
    INTERVAL(OP(MAX, OP(MIN, sx, num(7)), num(-3)), -3, 7);
    INTERVAL(OP(MOD, sn, num(32)), 0, 31);
    INTERVAL(SELECT(sx, num(3), num(10)), 3, 10);
    INTERVAL(OP(DIV, sm, num(1 << 20)), 0, (1 << 28) - 1);
}

/* --- Bounds ----------------------------------------------------------------------------------- */

static bool is_n_or_m(void *env, const KExp *leaf)
{
    (void)env;
    return leaf->kind == KE_SIZE || (leaf->kind == KE_HOST && (leaf->host == n || leaf->host == m));
}

static void bound(int line, const KExp *got, const char *want)
{
    const char *text = got ? sx_c(got) : "none";
    CHECK(strcmp(text, want) == 0);
    if (strcmp(text, want) != 0)
        fprintf(stderr, "    line %d: %s, expected %s\n", line, text, want);
}
#define UPPER(a, want) bound(__LINE__, sx_upper(b, a), want)
#define LOWER(a, want) bound(__LINE__, sx_lower(b, a), want)

/* A variable that the IR defines as op(p, q). */
static const KExp *define(PrimOp op, const KExp *p, const KExp *q)
{
    Atom args[] = {p->kind == KE_HOST ? atom_var((Var *)(uintptr_t)p->host) : atom_i64(p->c.i),
                   q->kind == KE_HOST ? atom_var((Var *)(uintptr_t)q->host) : atom_i64(q->c.i)};
    Var *v = variable("v");
    Exp *e = exp_binop(&cx, (Loc){0}, op, args[0], args[1]);
    ranges_bind(ra, &(Vars){&v, 1, 1}, e);
    return sx_var(&cx, v);
}

static void test_bounds(void)
{
    SxBounds *b = sx_bounds_new(&cx, wrap, is_n_or_m, NULL);
    UPPER(sn, "n_1001");
    UPPER(si, "n_1001 - 1");
    UPPER(sx, "none");
    LOWER(si, "0");
    LOWER(sx, "none");
    UPPER(ADD(si, sm), "n_1001 - 1 + m_1002");
    UPPER(SUB(sm, si), "m_1002");
    LOWER(SUB(sm, si), "m_1002 - (n_1001 - 1)");
    UPPER(MUL(si, sm), "m_1002 * (n_1001 - 1)");
    UPPER(MUL(si, sx), "none");
    UPPER(SUB(sm, sx), "none");
    UPPER(SUB(sx, sm), "none");
    UPPER(OP(MIN, sx, si), "n_1001 - 1");
    UPPER(OP(MAX, sx, si), "none");
    LOWER(OP(MAX, sx, sm), "m_1002");
    UPPER(OP(DIV, si, num(2)), "mf_max_i64(n_1001 - 1, 0) / 2");
    UPPER(OP(DIV, sn, sx), "none");
    UPPER(OP(MOD, sx, sm), "mf_max_i64(m_1002 - 1, 0)");
    UPPER(SELECT(sx, si, num(5)), "mf_max_i64(n_1001 - 1, 5)");
    UPPER(SELECT(sx_size(&cx, SIZE_COALESCES), num(1), si), "(coalesces ? 1 : n_1001 - 1)");
    /* What the IR says. */
    UPPER(define(OP_SUB, sn, si), "n_1001");
    UPPER(define(OP_MUL, si, si), "(n_1001 - 1) * (n_1001 - 1)");
    UPPER(define(OP_DIV, define(OP_ADD, si, sm), num(2)), "mf_max_i64(n_1001 - 1 + m_1002, 0) / 2");
    UPPER(define(OP_MAX, si, num(3)), "mf_max_i64(n_1001 - 1, 3)");
    UPPER(define(OP_ADD, sx, sm), "none");
    UPPER(define(OP_REM, sx, sm), "mf_max_i64(m_1002 - 1, 0)");
    UPPER(define(OP_REM, sm, sx), "none");
    UPPER(define(OP_XOR, si, sm), "none");
    /* Shared many times over: in time. */
    const KExp *big = si, *none = sx;
    for (int k = 0; k < 12; k++) {
        big = define(OP_MIN, define(OP_ADD, big, big), sm);
        none = define(OP_ADD, none, none);
    }
    CHECK(sx_upper(b, big) != NULL);
    UPPER(none, "none");
}

/* --- A search for wrong claims ---------------------------------------------------------------- */

typedef __int128 Wide;
typedef enum { TRUE_VALUE, WRAPPED, AT_END } Meaning;
typedef struct {
    int64_t n, m, i, x, y;
    Meaning meaning;
    bool undefined;
} Point;

static Wide result(Point *p, Wide r)
{
    if (p->meaning == WRAPPED)
        return (int64_t)(uint64_t)r;
    if (p->meaning == AT_END)
        return r > INT64_MAX ? INT64_MAX : r < INT64_MIN ? INT64_MIN : r;
    if (r > (Wide)1 << 80 || r < -((Wide)1 << 80))
        p->undefined = true;
    return r;
}

static Wide eval(const KExp *a, Point *p)
{
    if (p->undefined || a->kind == KE_CONST)
        return a->c.i;
    if (a->kind == KE_HOST)
        return a->host == n   ? p->n
               : a->host == m ? p->m
               : a->host == i ? p->i
               : a->host == x ? p->x
                              : p->y;
    if (a->kind == KE_SELECT)
        return eval(sx_cond(a), p) ? eval(sx_left(a), p) : eval(sx_right(a), p);
    Wide l = eval(sx_left(a), p), r = eval(sx_right(a), p);
    bool quotient = sx_kind(a) == SX_DIV || a->kind == KE_CEILDIV || sx_kind(a) == SX_MOD;
    if (p->undefined || (quotient && (l < 0 || r <= 0))) {
        p->undefined = true;
        return 0;
    }
    switch ((int)sx_kind(a)) {
    case SX_ADD: return result(p, l + r);
    case SX_SUB: return result(p, l - r);
    case SX_MUL: return result(p, l * r);
    case SX_DIV: return l / r;
    case SX_CEILDIV: return l / r + (l % r != 0);
    case SX_MOD: return l % r;
    case SX_MIN: return l < r ? l : r;
    default: return l > r ? l : r;
    }
}

static int64_t random_number(void)
{
    static const int64_t ends[] = {0,
                                   1,
                                   2,
                                   -1,
                                   INT64_MAX,
                                   INT64_MIN,
                                   MAX_SIZE,
                                   INT64_C(1) << 31,
                                   INT64_MAX / 2,
                                   INT64_C(1) << 62};
    return rand() % 3 ? rand() % 9 - 2 : ends[rand() % 10];
}

static int64_t random_size(void)
{
    return rand() % 3 ? 1 + rand() % 6 : MAX_SIZE - rand() % 2;
}

static const KExp *random_sx(int depth)
{
    const KExp *vars[] = {sn, sm, si, sx, sy};
    if (depth == 0 || rand() % 6 == 0)
        return rand() % 4 ? vars[rand() % 5] : num(rand() % 40 ? rand() % 9 - 2 : random_number());
    const KExp *a = random_sx(depth - 1), *b = random_sx(depth - 1);
    SxKind op = SX_ADD + rand() % (SX_SELECT - SX_ADD + 1);
    return op == SX_SELECT ? SELECT(random_sx(depth - 1), a, b) : sx_op(&cx, op, a, b);
}

typedef struct {
    const KExp *a, *b, *up, *low; /* facts: a <= b */
    int64_t lo, hi;
} Claim;

/* Is what is claimed wrong at p? Points where it has no meaning are no counterexamples. */
static bool contradicts(const Claim *c, Point p)
{
    Wide a = eval(c->a, &p), b = eval(c->b, &p);
    bool below = c->lo != INT64_MIN && a < c->lo, above = c->hi != INT64_MAX && a > c->hi;
    return !p.undefined && (a > b || below || above);
}

/* Is the bound, computed exactly, below (above) the number, computed as p says? */
static bool passes(const KExp *a, const KExp *limit, bool up, Point p)
{
    if (!limit)
        return false;
    Wide value = eval(a, &p);
    Point host = p;
    host.meaning = AT_END;
    Wide end = eval(limit, &host);
    return !p.undefined && !host.undefined && (up ? value > end : value < end);
}

static bool satisfies(const Claim *facts, int n_facts, Point p)
{
    for (int k = 0; k < n_facts; k++) {
        Point q = p;
        if (eval(facts[k].a, &q) > eval(facts[k].b, &q) || q.undefined)
            return false;
    }
    return true;
}

static void search(SxFacts *f, Meaning meaning, unsigned seed)
{
    enum { ROUNDS = 150, FACTS = 3, GOALS = 4, POINTS = 60 };
    static const SxKind related[] = {SX_ADD, SX_MUL, SX_MAX, SX_MAX};
    int proved = 0, bounded = 0, wrong = 0, mark = sx_facts_mark(f);
    SxBounds *b = sx_bounds_new(&cx, f, is_n_or_m, NULL);
    srand(seed);
    for (int r = 0; r < ROUNDS; r++) {
        Claim facts[FACTS], goal;
        for (int k = 0; k < FACTS; k++) {
            facts[k] = (Claim){.a = random_sx(1), .b = random_sx(2)};
            sx_assume_le(f, facts[k].a, facts[k].b);
        }
        for (int g = 0; g < GOALS; g++) {
            const KExp *a = random_sx(2);
            goal = (Claim){.a = random_sx(3), .b = a};
            if (rand() % 2) /* likely to be true */
                goal = (Claim){.a = a, .b = sx_op(&cx, related[rand() % 4], a, random_sx(1))};
            sx_interval(f, goal.a, &goal.lo, &goal.hi);
            goal.up = sx_upper(b, goal.a);
            goal.low = sx_lower(b, goal.a);
            bounded += goal.up != NULL || goal.low != NULL;
            bool le = sx_le(f, goal.a, goal.b);
            proved += le;
            if (!le)
                goal.b = goal.a;
            for (int k = 0; k < POINTS; k++) {
                Point p = {.n = random_size(),
                           .m = random_size() - 1,
                           .x = random_number(),
                           .y = random_number(),
                           .meaning = meaning};
                p.i = rand() % 2 ? p.n - 1 : rand() % p.n;
                if (!satisfies(facts, FACTS, p))
                    continue;
                bool bad = contradicts(&goal, p);
                if (meaning != TRUE_VALUE)
                    bad = bad || passes(goal.a, goal.up, true, p) ||
                          passes(goal.a, goal.low, false, p);
                if (bad && wrong++ < 3)
                    fprintf(stderr,
                            "    %s <= %s, from %s to %s: n %lld m %lld i %lld x %lld y %lld\n",
                            sx_c(goal.a), sx_c(goal.b), goal.low ? sx_c(goal.low) : "-",
                            goal.up ? sx_c(goal.up) : "-", (long long)p.n, (long long)p.m,
                            (long long)p.i, (long long)p.x, (long long)p.y);
            }
        }
        sx_facts_reset(f, mark);
    }
    CHECK_INT(wrong, 0);
    CHECK(proved > ROUNDS / 4); /* else the search means nothing */
    CHECK(bounded > ROUNDS / 4);
}

int main(void)
{
    Arena *a = arena_new();
    cx = (Ctx){.perm = a, .scratch = a};
    known_variables();
    test_sums();
    test_wrapping();
    test_positions();
    test_quotients();
    test_choices();
    test_kvars();
    test_intervals();
    test_bounds();
    known_variables();
    search(exact, TRUE_VALUE, 1);
    search(wrap, WRAPPED, 2);
    search(wrap, AT_END, 3);
    arena_free(a);
    return check_summary();
}
