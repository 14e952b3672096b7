/* The passes over kernels: what they must keep, on random kernels, and what they must reach. */
#include "check.h"

#include "kir/facts/verify.h"
#include "kir/hash.h"
#include "kir/passes/passes.h"
#include "kir/text/text.h"
#include "kir/walk.h"
#include "kir_random.h"

#include <stdlib.h>
#include <string.h>

static void print_kernel(const char *title, const KFun *f)
{
    Out o = {0};
    kir_opencl(&o, f);
    fprintf(stderr, "--- %s\n%s\n", title, o.text);
    out_free(&o);
}

static int index_bits = 32, runs, narrow_runs, merged, unchanged, vectors[N_KSTMS];

static bool count_vectors(void *env, KStm *s)
{
    (void)env;
    bool access = s->kind == KST_LOAD || s->kind == KST_STORE;
    vectors[s->kind] += access && kstm_lanes(s) > 1;
    return true;
}

static int n_locals(const KFun *f)
{
    int n = 0;
    for (int i = 0; i < f->params.n; i++)
        n += f->params.at[i].kind == KP_LOCAL;
    return n;
}

static bool same_text(const KFun *f, const KFun *g)
{
    Out x = {0}, y = {0};
    kir_print(&x, f);
    kir_print(&y, g);
    bool same = strcmp(x.text, y.text) == 0;
    out_free(&x);
    out_free(&y);
    return same;
}

enum { DATA = 3 };

/* A kernel that all passes are tried on: what it computes is asked once, not for each of them. */
typedef struct {
    uint64_t seed;
    const Ev *wide[DATA], *narrow[DATA]; /* with all bits of indices, and with index_bits 32 */
} Known;

static const Ev *known_run(Arena *a, const Ev **known, const KFun *f, uint64_t data, int bits)
{
    if (!*known)
        *known = rk_run(a, f, data, bits);
    return *known;
}

/* Before and after, on some data. What a pass leaves as it was has been run already. */
static bool pass_keeps(Arena *a, const KPass *pass, Known *known)
{
    uint64_t seed = known->seed;
    KFun *before = rk_kernel(a, seed), *after = kfun_copy(a, before);
    Loc at;
    bool right = !kir_check(a, before, &at);
    uint64_t stamp = kir_stamp(after);
    pass->run(a, after);
    if (stamp == kir_stamp(after) && !same_text(before, after)) {
        fprintf(stderr, "%s, seed %llu: changes that the stamp does not show\n", pass->name,
                (unsigned long long)seed);
        return false;
    }
    bool same = stamp == kir_stamp(after);
    unchanged += same;
    kblock_visit(&after->body, &(KVisitor){.enter = count_vectors});
    merged += n_locals(before) - n_locals(after);
    const char *wrong = right ? kir_check(a, after, &at) : NULL;
    /* What work-items exchange, the verifier guesses; the evaluator sees it. */
    if (wrong && strstr(wrong, "no barrier between"))
        wrong = NULL;
    if (wrong)
        fprintf(stderr, "%s, seed %llu: %s\n", pass->name, (unsigned long long)seed, wrong);
    if (wrong)
        return false;
    for (int k = 0; k < DATA; k++) {
        uint64_t data = seed * DATA + (uint64_t)k + 1;
        runs++;
        const Ev *x = known_run(a, &known->wide[k], before, data, 0);
        const Ev *y = same && index_bits == 32
                          ? known_run(a, &known->narrow[k], after, data, index_bits)
                          : rk_run(a, after, data, index_bits);
        narrow_runs += y->narrow;
        if (!x->error[0] && !y->error[0] && ev_same(x, y))
            continue;
        fprintf(stderr, "%s, seed %llu: before: %s; after: %s\n", pass->name,
                (unsigned long long)seed, x->error, y->error[0] ? y->error : "other results");
        if (getenv("KIR_SHOW")) {
            print_kernel("before", before);
            print_kernel("after", after);
        }
        return false;
    }
    return true;
}

/* Conditions that do not always hold, and ranges that are soon left. */
static void narrow_to_bits(Arena *a, KFun *f)
{
    kir_narrow_to(a, f, index_bits);
}

static void random_narrow(Arena *a, Known *known)
{
    static const KPass narrow = {"narrow to few bits", narrow_to_bits, KP_KERNELS, ""};
    for (index_bits = 5; index_bits < 32; index_bits += 4)
        CHECK(pass_keeps(a, &narrow, known));
    index_bits = 32;
}

static void all_passes(Arena *a, KFun *f)
{
    kir_locals(a, f);
    KRun r = krun_begin(f, false, false, NULL);
    kir_passes(&r, a, f);
}

static void try_table(Arena *a, const KPass *p, const char *only, Known *known)
{
    for (; p->name; p++)
        if (!only || strcmp(only, p->name) == 0)
            CHECK(pass_keeps(a, p, known));
}

/* The first two parameters may be one block, and the last two. */
static bool apart(void *env, int i, int k)
{
    (void)env;
    return (i > 1 || k > 1) && (i < 4 || k < 4);
}

static KBuf *param(KBuild *b, const char *name)
{
    KBuf *buf = kb_buf_new(b, name, KS_GLOBAL, T_I32);
    vec_push(b->arena, &b->fun->params, (KFormal){.kind = KP_MEM, .buf = buf});
    return buf;
}

static void test_aliases(Arena *a)
{
    KBuild *b = kb_new(a);
    KBuf *x = param(b, "x"), *y = param(b, "y"), *z = param(b, "z"), *out = param(b, "out");
    b->fun->name = "aliases";
    KBuf *p = param(b, "p"), *q = param(b, "q");
    const KExp *zero = kx_int(a, 0), *sum = kb_load(b, "v", z, zero);
    sum = kx_prim2(a, OP_ADD, sum, kb_load(b, "v", p, zero));
    sum = kx_prim2(a, OP_ADD, sum, kb_load(b, "v", q, zero));
    kb_store(b, y, zero, kb_load(b, "v", x, zero));
    kb_store(b, out, zero, sum);
    kir_aliases(a, b->fun, apart, NULL);
    CHECK(!x->read_only && !x->no_alias && !y->read_only && !y->no_alias);
    CHECK(z->read_only && z->no_alias && !out->read_only && out->no_alias);
    CHECK(p->read_only && p->no_alias && q->read_only && q->no_alias); /* nobody writes it */
    Out o = {0};
    kir_opencl(&o, b->fun);
    CHECK(strstr(o.text, "__global i32 *x_k1, __global i32 *y_k2, "
                         "const __global i32 *restrict z_k3, __global i32 *restrict out_k4"));
    out_free(&o);
}

static KVar *scalar(KBuild *b, const char *name)
{
    KVar *v = kb_var_new(b, name, ktype(T_I64));
    vec_push(b->arena, &b->fun->params, (KFormal){.kind = KP_SCALAR, .var = v});
    return v;
}

/* if unrolls && v <= group_size { out[1] = 0 } else { out[2] = 0 } */
static void choose(KBuild *b, KBuf *out, const KVar *v)
{
    Arena *a = b->arena;
    const KExp *few = kx_le(a, kx_var(a, v), kx_id(a, KID_GROUP_SIZE));
    kb_if(b, kx_and(a, kx_id(a, KID_UNROLLS), few));
    kb_store(b, out, kx_int(a, 1), kx_conv(a, T_I32, kx_int(a, 0)));
    kb_else(b);
    kb_store(b, out, kx_int(a, 2), kx_conv(a, T_I32, kx_int(a, 0)));
    kb_end(b);
}

/* Only what is steady is known where a kernel is built for its launches. */
static void test_settle_own(Arena *a)
{
    KBuild *b = kb_new(a);
    KBuf *out = param(b, "out");
    KVar *n = scalar(b, "n"), *m = scalar(b, "m");
    static const bool steady[] = {false, true, false};
    b->fun->name = "chooses";
    choose(b, out, n);
    choose(b, out, m);
    kir_settle_own(a, b->fun, steady);
    CHECK(b->fun->body.n == 2 && b->fun->body.at[0]->kind == KST_IF);
    CHECK(b->fun->body.at[1]->kind == KST_STORE && b->fun->body.at[1]->x[0]->c.i == 2);
    kir_settle_own(a, b->fun, NULL);
    CHECK(b->fun->body.at[0]->kind == KST_STORE && b->fun->body.at[0]->x[0]->c.i == 2);
}

/* barrier; for j from local_id to n by group_size { to[j] = 3 * from[n - 1 - j] - from[j] } */
static void mirror(KBuild *b, KBuf *from, KBuf *to, int64_t n)
{
    Arena *a = b->arena;
    kb_meet(b, 1u << KS_LOCAL);
    const KExp *j = kb_for(b, "j", kx_id(a, KID_LOCAL), kx_int(a, n), kx_id(a, KID_GROUP_SIZE));
    const KExp *x = kb_load(b, "x", from, kx_sub(a, kx_int(a, n - 1), j)),
               *y = kb_load(b, "y", from, j);
    kb_store(b, to, j, kx_prim2(a, OP_SUB, kx_prim2(a, OP_MUL, x, kx_int(a, 3)), y));
    kb_end(b);
}

static KBuf *local_param(KBuild *b, const char *name)
{
    KBuf *buf = kb_buf_new(b, name, KS_LOCAL, T_I64);
    vec_push(b->arena, &b->fun->params, (KFormal){.kind = KP_LOCAL, .buf = buf});
    return buf;
}

/* All put in, waves of n elements, all take out. */
static KFun *waves(Arena *a, int64_t n)
{
    KBuild *b = kb_new(a);
    KBuf *out = param(b, "out"), *local = local_param(b, "local"), *next = local_param(b, "next");
    out->elem = T_I64;
    b->fun->name = "waves";
    const KExp *lid = kx_id(a, KID_LOCAL),
               *other = kx_sub(a, kx_sub(a, kx_id(a, KID_GROUP_SIZE), lid), kx_int(a, 1));
    kb_store(b, local, other, kx_prim2(a, OP_ADD, lid, kx_int(a, 7)));
    kb_for(b, "wave", kx_int(a, 0), kx_int(a, 5), kx_int(a, 1));
    mirror(b, local, next, n);
    mirror(b, next, local, n);
    kb_end(b);
    kb_meet(b, 1u << KS_LOCAL);
    kb_store(b, out, lid, kb_load(b, "x", local, other));
    return b->fun;
}

static bool find_lead(void *env, KStm *s)
{
    *(int *)env += s->kind == KST_BARRIER && s->lead;
    return true;
}

static Ev *run_waves(Arena *a, const KFun *f, int items, uint64_t seed)
{
    Ev *ev = ev_new(a, f, items, seed);
    for (int i = 0; i < f->params.n; i++)
        ev_add(ev, f->params.at[i].buf, EV_ITEMS);
    ev->now = 0;
    ev_run(ev);
    return ev;
}

/* Narrow loops give the same in groups of any size, and the barriers of the lead are enough. */
static void test_lead(Arena *a)
{
    for (int64_t n = 2; n <= 34; n += 16) {
        KFun *before = waves(a, n), *after = kfun_copy(a, before);
        int met = 0;
        Loc at;
        kir_serialise(a, after);
        CHECK(!kir_check(a, after, &at));
        kir_barriers(a, after);
        CHECK(!kir_check(a, after, &at));
        kblock_visit(&after->body, &(KVisitor){.env = &met, .enter = find_lead});
        CHECK(n > LEAD_LEAST ? met == 0 : met == 2);
        for (int items = n < 34 ? 18 : 34; items <= EV_ITEMS; items += 7) {
            const Ev *x = run_waves(a, before, items, 5), *y = run_waves(a, after, items, 6);
            CHECK(!x->error[0] && !y->error[0] && ev_same(x, y));
        }
    }
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 300;
    const char *only = argc > 2 ? argv[2] : NULL;
    uint64_t first = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    Arena *a = arena_new();
    test_aliases(a);
    test_settle_own(a);
    test_lead(a);
    arena_free(a);
    static const KPass all = {"all", all_passes, KP_ALL, ""};
    for (uint64_t seed = first; seed < first + (uint64_t)n; seed++) {
        a = arena_new();
        Known known = {.seed = seed};
        try_table(a, kir_making_table, only, &known);
        try_table(a, kir_pass_table, only, &known);
        if (!only)
            CHECK(pass_keeps(a, &all, &known));
        if (!only || strcmp(only, "narrow") == 0)
            random_narrow(a, &known);
        arena_free(a);
    }
    CHECK(only || (narrow_runs > runs / 5 && merged > n / 2 && unchanged > n));
    CHECK(only || (vectors[KST_LOAD] > n / 8 && vectors[KST_STORE] > n / 8));
    return check_summary();
}
