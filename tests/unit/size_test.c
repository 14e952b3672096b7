/* Sizes: what their constructors fold, when they are equal, their C text, their walks. */
#include "size/size.h"
#include "tests/unit/check.h"

#include <stdlib.h>

static Ctx cx;
static Var *n, *m, *k;
static const KExp *sn, *sm, *sk;

static const KExp *num(int64_t i)
{
    return sx_const(&cx, i);
}

#define ADD(a, b)       sx_add(&cx, a, b)
#define SUB(a, b)       sx_sub(&cx, a, b)
#define MUL(a, b)       sx_mul(&cx, a, b)
#define OP(op, a, b)    sx_op(&cx, SX_##op, a, b)
#define SELECT(c, a, b) sx_select(&cx, c, a, b)

static void same_text(int line, const char *got, const char *want)
{
    CHECK(strcmp(got, want) == 0);
    if (strcmp(got, want) != 0)
        fprintf(stderr, "    line %d: %s, expected %s\n", line, got, want);
}
#define TEXT(a, want)   same_text(__LINE__, sx_c(a), want)
#define FACTOR(a, want) same_text(__LINE__, sx_c_factor(a), want)
#define EXACT(a, want)  same_text(__LINE__, sx_exact_c(a), want)

/* A variable whose C name is base_1, whatever was made before it. */
static Var *variable(const char *base)
{
    static int ids;
    Var *v = var_new(&cx, base, type_prim(T_I64), (Loc){0});
    v->id = ++ids;
    return v;
}

/* --- Folding ---------------------------------------------------------------------------------- */

static void test_constants(void)
{
    CHECK(kx_is_int(ADD(num(2), num(3)), 5));
    CHECK(kx_is_int(SUB(num(2), num(3)), -1));
    CHECK(kx_is_int(MUL(num(-2), num(3)), -6));
    CHECK(kx_is_int(OP(DIV, num(7), num(2)), 3));
    CHECK(kx_is_int(OP(CEILDIV, num(7), num(2)), 4));
    CHECK(kx_is_int(OP(CEILDIV, num(8), num(2)), 4));
    CHECK(kx_is_int(OP(MOD, num(7), num(2)), 1));
    CHECK(kx_is_int(OP(MIN, num(7), num(-2)), -2));
    CHECK(kx_is_int(OP(MAX, num(7), num(-2)), 7));
    CHECK(!kx_is_int(num(2), 3));
    /* What is no size stays as it is. */
    CHECK(sx_kind(OP(DIV, num(7), num(0))) == SX_DIV);
    CHECK(sx_kind(OP(MOD, num(7), num(0))) == SX_MOD);
    CHECK(sx_kind(OP(CEILDIV, num(-7), num(2))) == SX_CEILDIV);
}

static void test_overflow(void)
{
    CHECK(sx_kind(ADD(num(INT64_MAX), num(1))) != SX_CONST);
    CHECK(sx_kind(SUB(num(INT64_MIN), num(1))) != SX_CONST);
    CHECK(sx_kind(MUL(num(INT64_MAX), num(2))) != SX_CONST);
    CHECK(kx_is_int(OP(CEILDIV, num(INT64_MAX), num(2)), INT64_MAX / 2 + 1));
    /* Constants at the right end of sums and products are collected as far as they fit. */
    const KExp *far = ADD(ADD(sn, num(INT64_MAX)), num(1));
    CHECK(sx_kind(far) == SX_ADD && kx_is_int(sx_right(far), 1));
    const KExp *wide = MUL(MUL(sn, num(INT64_MAX)), num(2));
    CHECK(sx_kind(wide) == SX_MUL && kx_is_int(sx_right(wide), 2));
    CHECK(sx_kind(SUB(sn, num(INT64_MIN))) == SX_SUB);
}

static void test_identities(void)
{
    CHECK(ADD(sn, num(0)) == sn && ADD(num(0), sn) == sn && SUB(sn, num(0)) == sn);
    CHECK(MUL(sn, num(1)) == sn && MUL(num(1), sn) == sn);
    CHECK(kx_is_int(MUL(sn, num(0)), 0) && kx_is_int(MUL(num(0), sn), 0));
    CHECK(kx_is_int(SUB(sn, sx_var(&cx, n)), 0));
    CHECK(OP(DIV, sn, num(1)) == sn && OP(CEILDIV, sn, num(1)) == sn);
    CHECK(kx_is_int(OP(MOD, sn, num(1)), 0));
    CHECK(kx_is_int(OP(DIV, num(0), sn), 0));
    CHECK(OP(MIN, sn, sn) == sn && OP(MAX, sn, sx_var(&cx, n)) == sn);
    const KExp *min = OP(MIN, sn, sm);
    CHECK(OP(MIN, min, sm) == min && OP(MIN, min, sn) == min);
    CHECK(sx_kind(OP(MAX, min, sn)) == SX_MAX);
    CHECK(sx_kind(SUB(sm, sn)) == SX_SUB);
}

static void test_select(void)
{
    CHECK(SELECT(num(1), sn, sm) == sn && SELECT(num(-7), sn, sm) == sn);
    CHECK(SELECT(num(0), sn, sm) == sm);
    CHECK(SELECT(sk, sn, sx_var(&cx, n)) == sn);
    const KExp *s = SELECT(sk, sn, sm);
    CHECK(s->kind == KE_SELECT && sx_cond(s) == sk && sx_left(s) == sn && sx_right(s) == sm);
    /* An arm that asks the same again knows the answer. */
    CHECK(kx_same(SELECT(sk, s, num(3)), SELECT(sk, sn, num(3))));
    CHECK(kx_same(SELECT(sk, num(3), s), SELECT(sk, num(3), sm)));
    CHECK(SELECT(sk, s, sn) == sn);
    CHECK(!kx_same(SELECT(sm, s, num(3)), SELECT(sm, sn, num(3))));
}

static void test_equality(void)
{
    CHECK(kx_same(MUL(sn, MUL(sm, sk)), MUL(MUL(sk, sn), sm)));
    CHECK(kx_same(MUL(num(4), MUL(sm, sn)), MUL(MUL(sn, num(2)), MUL(num(2), sm))));
    CHECK(kx_same(ADD(ADD(sn, num(1)), num(2)), ADD(num(3), sn)));
    CHECK(kx_same(SUB(ADD(sn, num(1)), num(1)), sn));
    CHECK(!kx_same(sn, sm));
    CHECK(!kx_same(OP(DIV, sn, sm), OP(DIV, sm, sn)));
    CHECK(!kx_same(OP(DIV, sn, sm), OP(CEILDIV, sn, sm)));
    CHECK(kx_same(sx_size(&cx, SIZE_GROUP_SIZE), sx_size(&cx, SIZE_GROUP_SIZE)));
    CHECK(!kx_same(sx_size(&cx, SIZE_GROUP_SIZE), sx_size(&cx, SIZE_LOCAL_MEMORY)));
    CHECK(kx_same(SELECT(sk, sn, sm), SELECT(sk, sn, sm)));
    CHECK(!kx_same(SELECT(sk, sn, sm), SELECT(sk, sm, sn)));
    CHECK(!kx_same(SELECT(sk, sn, num(1)), SELECT(sm, sn, num(1))));
}

/* Variables of kernels: the same by what they are, not by name. */
static void test_kvars(void)
{
    const KVar a = {.name = "i", .type = ktype(T_I64)}, c = a;
    const KVar b = {.name = "j", .type = ktype(T_I64)};
    const KExp *i = kx_var(cx.perm, &a), *j = kx_var(cx.perm, &b), *other = kx_var(cx.perm, &c);
    CHECK(kx_same(i, kx_var(cx.perm, &a)) && !kx_same(i, j));
    CHECK(!kx_same(i, other) && !kx_same(other, i));
    CHECK(kx_same(MUL(i, j), MUL(j, i)));
    TEXT(ADD(MUL(j, MUL(sn, i)), i), "n_1 * i * j + i");
    CHECK(!sx_is_polynomial(i));
}

/* What wraps around, or is of another type, is no size. */
static void test_is_size(void)
{
    const KExp *sum = kx_prim2(cx.perm, OP_ADD, sn, sm), *test = kx_lt(cx.perm, sn, sm);
    CHECK(sx_is_size(sn) && sx_is_size(num(3)) && sx_is_size(SELECT(sk, ADD(sn, sm), num(1))));
    CHECK(!sx_is_size(sum) && !sx_is_size(SELECT(sk, sum, sn)));
    CHECK(!sx_is_size(test) && !sx_is_size(kx_select(cx.perm, test, sn, sm)));
    CHECK(!sx_is_size(kx_bool(cx.perm, true)) && !sx_is_size(kx_conv(cx.perm, T_I32, sn)));
}

/* --- Text ------------------------------------------------------------------------------------- */

static void test_text(void)
{
    TEXT(MUL(ADD(sn, num(1)), sm), "m_2 * (n_1 + 1)");
    TEXT(SUB(sn, ADD(sm, sk)), "n_1 - (m_2 + k_3)");
    TEXT(SUB(SUB(sn, sm), sk), "n_1 - m_2 - k_3");
    TEXT(OP(DIV, sn, MUL(sm, sk)), "n_1 / (m_2 * k_3)");
    TEXT(MUL(OP(DIV, sn, sm), sk), "k_3 * (n_1 / m_2)");
    TEXT(OP(CEILDIV, sn, num(32)), "(n_1 + 32 - 1) / 32");
    TEXT(OP(MIN, sn, OP(MAX, sm, num(1))), "mf_min_i64(n_1, mf_max_i64(m_2, 1))");
    TEXT(OP(MOD, sn, sx_size(&cx, SIZE_GROUP_SIZE)), "n_1 % group_size");
    TEXT(num(-5), "(-5)");
    TEXT(num(INT64_C(1) << 40), "1099511627776L");
    TEXT(num(INT64_MIN), "(-9223372036854775807L - 1)");
    FACTOR(sn, "n_1");
    FACTOR(ADD(sn, sm), "(n_1 + m_2)");
    FACTOR(MUL(sn, sm), "(n_1 * m_2)");
    FACTOR(OP(CEILDIV, sn, sm), "((n_1 + m_2 - 1) / m_2)");
    for (int id = 0; id < N_SIZES; id++)
        TEXT(sx_size(&cx, (SizeId)id), size_c_name((SizeId)id));
    CHECK(strcmp(size_c_name(SIZE_GROUP_SIZE), "group_size") == 0);
    CHECK(strcmp(size_rt_name(SIZE_GROUP_SIZE), "RT_GROUP_SIZE") == 0);
}

static void test_select_text(void)
{
    const KExp *near = sx_size(&cx, SIZE_COALESCES), *s = SELECT(near, num(1), sn);
    TEXT(s, "(coalesces ? 1 : n_1)");
    FACTOR(s, "(coalesces ? 1 : n_1)");
    TEXT(ADD(MUL(s, sm), num(1)), "m_2 * (coalesces ? 1 : n_1) + 1");
    TEXT(SELECT(SUB(sn, sm), s, sk), "(n_1 - m_2 ? (coalesces ? 1 : n_1) : k_3)");
    /* Within an arm an operator is as exact as elsewhere. */
    EXACT(SELECT(near, MUL(sn, sm), num(1)), "(coalesces ? mf_size_mul(n_1, m_2) : 1)");
}

/* On the host, what might wrap around is computed by functions that do not. */
static void test_exact_text(void)
{
    const KExp *group = sx_size(&cx, SIZE_GROUP_SIZE), *near = sx_size(&cx, SIZE_COALESCES);
    EXACT(ADD(sn, sm), "mf_size_add(n_1, m_2)");
    EXACT(SUB(sn, num(1)), "mf_size_sub(n_1, 1)");
    EXACT(MUL(MUL(sn, sm), num(8)), "mf_size_mul(mf_size_mul(n_1, m_2), 8)");
    EXACT(OP(CEILDIV, sn, num(32)), "mf_size_ceildiv(n_1, 32)");
    EXACT(OP(DIV, sn, num(32)), "n_1 / 32");
    /* Facts of the device have less than 40 bits, what is divided or reduced by them no more. */
    EXACT(ADD(group, num(1)), "group_size + 1");
    EXACT(MUL(group, num(1 << 20)), "group_size * 1048576");
    EXACT(MUL(group, group), "mf_size_mul(group_size, group_size)");
    EXACT(MUL(group, num(1 << 23)), "mf_size_mul(group_size, 8388608)");
    EXACT(OP(CEILDIV, group, num(32)), "(group_size + 32 - 1) / 32");
    EXACT(ADD(OP(MOD, sn, group), num(1)), "n_1 % group_size + 1");
    EXACT(MUL(SELECT(sn, group, num(1)), num(8)), "(n_1 ? group_size : 1) * 8");
    EXACT(MUL(SELECT(near, num(1), sn), num(8)), "mf_size_mul((coalesces ? 1 : n_1), 8)");
}

/* --- Walks ------------------------------------------------------------------------------------ */

static void write_leaf(void *env, const KExp *x)
{
    if (x->n == 0)
        out_printf(env, "%s ", sx_c(x));
}

static void test_walks(void)
{
    const KVar var = {.name = "lid", .type = ktype(T_I64)};
    const KExp *lid = kx_var(cx.perm, &var);
    const KExp *a = SELECT(sk, ADD(sn, lid), MUL(sn, num(4)));
    Out o = {0};
    kexp_visit(a, write_leaf, &o);
    kexp_visit(NULL, write_leaf, &o);
    CHECK(strcmp(o.text, "k_3 n_1 lid n_1 4 ") == 0);
    out_free(&o);
    VarSet *s = varmap_new(cx.perm);
    kexp_hosts(a, s);
    CHECK(varset_has(s, n) && varset_has(s, k) && !varset_has(s, m));
    CHECK(sx_is_polynomial(SUB(MUL(sn, sm), ADD(sk, num(1)))));
    CHECK(!sx_is_polynomial(a) && !sx_is_polynomial(OP(DIV, sn, num(2))));
    CHECK_INT(a->parts, 8);
    const KExp *big = sn;
    for (int i = 0; i < 100; i++)
        big = OP(MOD, big, big);
    CHECK(big->parts > SX_MANY_PARTS);
}

/* --- Folding keeps values --------------------------------------------------------------------- */

enum { N_VARS = 3, POINTS = 8 };
static int64_t point[POINTS][N_VARS];

static int64_t value_of(SxKind op, int64_t a, int64_t b)
{
    switch ((int)op) {
    case SX_ADD: return a + b;
    case SX_SUB: return a - b;
    case SX_MUL: return a * b;
    case SX_DIV: return b > 0 && a >= 0 ? a / b : 0;
    case SX_CEILDIV: return b > 0 && a >= 0 ? a / b + (a % b != 0) : 0;
    case SX_MOD: return b > 0 && a >= 0 ? a % b : 0;
    case SX_MIN: return a < b ? a : b;
    default: return a > b ? a : b;
    }
}

static int64_t eval(const KExp *a, const int64_t *at)
{
    if (a->kind == KE_CONST)
        return a->c.i;
    if (a->kind == KE_HOST)
        return at[a->host == n ? 0 : a->host == m ? 1 : 2];
    if (a->kind == KE_SELECT)
        return eval(sx_cond(a), at) ? eval(sx_left(a), at) : eval(sx_right(a), at);
    return value_of(sx_kind(a), eval(sx_left(a), at), eval(sx_right(a), at));
}

/* A random expression, and what it is at the points as computed without it. Dividends that are
 * negative and divisors that are not positive somewhere are taken for other operands. */
static const KExp *random_sx(int depth, int64_t *values)
{
    int64_t a[POINTS], b[POINTS], c[POINTS];
    if (depth == 0) {
        int which = rand() % (N_VARS + 2);
        int64_t constant = rand() % 7 - 2;
        for (int p = 0; p < POINTS; p++)
            values[p] = which < N_VARS ? point[p][which] : constant;
        return which == 0 ? sn : which == 1 ? sm : which == 2 ? sk : num(constant);
    }
    const KExp *x = random_sx(rand() % depth, a), *y = random_sx(rand() % depth, b);
    SxKind op = SX_ADD + rand() % (SX_SELECT - SX_ADD + 1);
    if (op == SX_SELECT) {
        const KExp *cond = random_sx(rand() % depth, c);
        for (int p = 0; p < POINTS; p++)
            values[p] = c[p] ? a[p] : b[p];
        return SELECT(cond, x, y);
    }
    if (op == SX_DIV || op == SX_CEILDIV || op == SX_MOD)
        for (int p = 0; p < POINTS; p++)
            if (a[p] < 0 || b[p] <= 0)
                op = SX_MIN;
    for (int p = 0; p < POINTS; p++)
        values[p] = value_of(op, a[p], b[p]);
    return sx_op(&cx, op, x, y);
}

static void test_random(void)
{
    srand(1);
    int wrong = 0;
    for (int i = 0; i < 20000; i++) {
        for (int p = 0; p < POINTS; p++)
            for (int v = 0; v < N_VARS; v++)
                point[p][v] = rand() % 6;
        int64_t values[POINTS];
        const KExp *a = random_sx(4, values);
        for (int p = 0; p < POINTS; p++)
            wrong += eval(a, point[p]) != values[p];
    }
    CHECK_INT(wrong, 0);
}

int main(void)
{
    Arena *a = arena_new();
    cx = (Ctx){.perm = a, .scratch = a};
    n = variable("n"), m = variable("m"), k = variable("k");
    sn = sx_var(&cx, n), sm = sx_var(&cx, m), sk = sx_var(&cx, k);
    test_constants();
    test_overflow();
    test_identities();
    test_select();
    test_equality();
    test_kvars();
    test_is_size();
    test_text();
    test_select_text();
    test_exact_text();
    test_walks();
    test_random();
    arena_free(a);
    return check_summary();
}
