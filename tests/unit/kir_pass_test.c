/* The passes over kernels: what they must keep, on random kernels, and what they must reach. */
#include "check.h"

#include "kir/passes.h"
#include "kir/verify.h"
#include "kir/walk.h"
#include "kir_random.h"

#include <stdlib.h>

static void print_kernel(const char *title, const KFun *f)
{
    Out o = {0};
    kir_opencl(&o, f);
    fprintf(stderr, "--- %s\n%s\n", title, o.text);
    out_free(&o);
}

/* Before and after, on some data. */
static bool pass_keeps(Arena *a, const KPass *pass, uint64_t seed)
{
    KFun *before = rk_kernel(a, seed), *after = kfun_copy(a, before);
    /* What work-items exchange, the verifier sees in part; the evaluator sees it all. */
    Loc at;
    bool known = !kir_check(a, before, &at);
    pass->run(a, after);
    const char *wrong = known ? kir_check(a, after, &at) : NULL;
    if (wrong)
        fprintf(stderr, "%s, seed %llu: %s\n", pass->name, (unsigned long long)seed, wrong);
    if (wrong)
        return false;
    for (uint64_t k = 1; k <= 3; k++) {
        const Ev *x = rk_run(a, before, seed * 3 + k, false);
        const Ev *y = rk_run(a, after, seed * 3 + k, true);
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

static void all_passes(Arena *a, KFun *f)
{
    kir_passes(a, f, false);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 300;
    const char *only = argc > 2 ? argv[2] : NULL;
    uint64_t first = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    Arena *a = arena_new();
    static const KPass all = {"all", all_passes, ""};
    for (uint64_t seed = first; seed < first + (uint64_t)n; seed++) {
        ArenaMark m = arena_mark(a);
        for (const KPass *p = kir_pass_table; p->name; p++)
            if (!only || strcmp(only, p->name) == 0)
                CHECK(pass_keeps(a, p, seed));
        if (!only)
            CHECK(pass_keeps(a, &all, seed));
        arena_reset(a, m);
    }
    arena_free(a);
    return check_summary();
}
