/* Conditions of launches (kir/facts/limits.h): they imply what was asked for, on random expressions
 * and numbers, and hold where there is plenty of room. */
#include "check.h"

#include "kir/facts/limits.h"
#include "kir/walk.h"
#include "kir_random.h"

enum { VARS = 3, RANGES = 3, DEPTH = 4 };

typedef struct {
    Arena *a;
    uint64_t seed;
    KVar *vars[VARS];
} Rand;

static int64_t below(Rand *r, int n)
{
    return (int64_t)(ev_random(&r->seed) % (unsigned)n);
}

static const KExp *leaf(Rand *r)
{
    switch (below(r, 6)) {
    case 0: return kx_int(r->a, below(r, 9) - 4);
    case 1: return kx_id_dim(r->a, KID_GROUPS, 0);
    case 2: return kx_id_dim(r->a, KID_GROUP_SIZE, 0);
    }
    return kx_var(r->a, r->vars[below(r, VARS)]);
}

static const KExp *bound(Rand *r, int depth)
{
    if (depth == 0 || below(r, 4) == 0)
        return leaf(r);
    const KExp *x = bound(r, depth - 1), *y = bound(r, depth - 1);
    switch (below(r, 6)) {
    case 0: return kx_add(r->a, x, y);
    case 1: return kx_sub(r->a, x, y);
    case 2: return kx_mul(r->a, x, y);
    case 3: return kx_min(r->a, x, y);
    case 4: return kx_max(r->a, x, y);
    }
    return kx_quot(r->a, x, kx_max(r->a, kx_int(r->a, 1), y));
}

static bool is_within(Ev *ev, KRange x, int64_t most)
{
    return ev_scalar(ev, x.lo).i >= -most - 1 && ev_scalar(ev, x.hi).i <= most;
}

/* Is each scalar in it at least 0? */
typedef struct {
    Ev *ev;
    bool so;
} Natural;

static void see_natural(void *env, const KExp *x)
{
    Natural *n = env;
    if (x->kind == KE_VAR)
        n->so &= ev_scalar(n->ev, x).i >= 0;
}

static bool is_natural(Ev *ev, KRange x)
{
    Natural n = {ev, true};
    kexp_visit(x.lo, see_natural, &n);
    kexp_visit(x.hi, see_natural, &n);
    return n.so;
}

static int fitted, held, roomy, roomy_held;

static void test_random(Arena *a, uint64_t seed)
{
    Rand r = {.a = a, .seed = seed * 0x9e3779b97f4a7c15u | 1};
    KFun f = {.name = "f"};
    KLimits limits = {0};
    const int64_t most = 1 << (4 + below(&r, 20));
    KBuild *b = kb_new(a);
    for (int i = 0; i < VARS; i++)
        r.vars[i] = kb_var_new(b, "v", ktype(T_I64));
    for (int i = 0; i < RANGES; i++)
        vec_push(a, &limits, ((KRange){bound(&r, DEPTH), bound(&r, DEPTH)}));
    KExps when = klimits_conditions(a, &limits, most);
    for (int run = 0; run < 8; run++) {
        Ev *ev = ev_new(a, &f, 1 + (int)below(&r, 6), 1);
        ev->groups = 1 + (int)below(&r, 6);
        bool within = true, room = true, holds = true;
        for (int i = 0; i < VARS; i++) {
            int64_t n = below(&r, 2) ? below(&r, 9) - 1 : below(&r, 200);
            ev_scalar_arg(ev, r.vars[i], n);
            room &= n > 0;
        }
        ev->now = 0;
        for (int i = 0; i < RANGES; i++) {
            within &= is_natural(ev, limits.at[i]) && is_within(ev, limits.at[i], most);
            room &= is_within(ev, limits.at[i], most / 64);
        }
        for (int i = 0; i < when.n; i++)
            holds &= rk_holds(ev, when.at[i]);
        CHECK(!ev->error[0]);
        CHECK(!holds || within);
        fitted += within;
        held += holds;
        roomy += room;
        roomy_held += room && holds;
    }
}

int main(void)
{
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        Arena *a = arena_new();
        test_random(a, seed);
        arena_free(a);
    }
    CHECK(held > fitted / 2);
    CHECK(roomy_held > roomy / 10 * 9);
    return check_summary();
}
