/* Plans as they are made are right, and the verifier sees each operation that is missing, each
 * block that is given back too early, each argument too few, and each comparison too many. */
#include "check.h"

#include "host/host.h"
#include "pipeline/passes.h"

typedef struct {
    Ctx *cx;
    Plan *plan;
    EntryPlan *ep;
    int tried, seen;
} Test;

enum { EVERY = 3 }; /* of the operations */

static bool is_wrong(Test *t)
{
    const HostOp *at;
    ArenaMark m = arena_mark(t->cx->scratch);
    bool wrong = plan_wrong(t->cx->scratch, t->plan, t->ep, &at) != NULL;
    arena_reset(t->cx->scratch, m);
    return wrong;
}

/* With `in` operations at i instead of one of them. */
static void try(Test *t, HostOps *list, int i, HostOp *const *in, int n)
{
    HostOps right = *list, changed = {0};
    for (int k = 0; k < right.n; k++) {
        for (int j = 0; k == i && j < n; j++)
            vec_push(t->cx->perm, &changed, in[j]);
        if (k != i)
            vec_push(t->cx->perm, &changed, right.at[k]);
    }
    *list = changed;
    t->tried++;
    bool seen = is_wrong(t);
    t->seen += seen;
    if (!seen)
        printf("%s: operation %d of %d, kind %d, is replaced by %d, which nobody sees\n",
               t->ep->entry->name, i, right.n, (int)right.at[i]->kind, n);
    *list = right;
}

typedef struct {
    const Var *var;
    bool found;
} Declared;

static void find_declared(void *env, HostOp *op)
{
    Declared *d = env;
    d->found |= op->kind == H_DECLARE && op->var == d->var;
}

/* Without an operation that others need; what is declared has a value in any case. */
static void without(Test *t, HostOps *list, int i)
{
    HostOpKind kind = list->at[i]->kind;
    Declared d = {.var = list->at[i]->var};
    ops_visit(&t->ep->ops, find_declared, &d);
    if (kind == H_ALLOC || kind == H_SUFF || kind == H_READ || (kind == H_EXP && !d.found))
        try(t, list, i, NULL, 0);
}

/* Operations with a member that is not of their kind, and without one that is. */
static void wrong_members(Test *t, HostOps *list, int i)
{
    HostOp *op = list->at[i], more = *op, less = *op;
    more.text = op->kind == H_COMMENT ? NULL : "more";
    try(t, list, i, &(HostOp *){&more}, 1);
    less.exp = NULL;
    if ((hostop_info[op->kind].has & HM_EXP) && !op->guard)
        try(t, list, i, &(HostOp *){&less}, 1);
}

/* The launch of op with its first block given back before, and without its last argument. */
static void wrong_launch(Test *t, HostOps *list, int i)
{
    HostOp *op = list->at[i], less = *op, release = {.kind = H_RELEASE};
    less.args.n--;
    try(t, list, i, &(HostOp *){&less}, 1);
    for (int k = 0; k < op->args.n && !release.mem; k++)
        if (op->args.at[k].kind == KP_MEM)
            release.mem = op->args.at[k].mem;
    if (release.mem)
        try(t, list, i, (HostOp *[]){&release, op}, 2);
}

static void try_all(Test *t, HostOps *list)
{
    for (int i = 0; i < list->n; i++) {
        if (i % EVERY == 0) {
            without(t, list, i);
            wrong_members(t, list, i);
        }
        if (list->at[i]->kind == H_LAUNCH)
            wrong_launch(t, list, i);
        if (list->at[i]->kind == H_SUFF)
            try(t, list, i, (HostOp *[]){list->at[i], list->at[i]}, 2);
        try_all(t, &list->at[i]->then_);
        try_all(t, &list->at[i]->else_);
    }
}

static void check_program(const char *file)
{
    PassOptions none = {0};
    Arena *a = arena_new();
    Ctx cx = {.perm = a, .scratch = arena_new()};
    Prog *p = front_end(&cx, file);
    CHECK(p != NULL);
    if (!p)
        return;
    Test t = {.cx = &cx, .plan = host_plan(&cx, passes_run(&cx, p, 0, n_passes - 1, &none), false)};
    for (int i = 0; i < t.plan->entries.n; i++) {
        t.ep = t.plan->entries.at[i];
        CHECK(!is_wrong(&t));
        try_all(&t, &t.ep->ops);
    }
    CHECK(t.tried > 0);
    CHECK_INT(t.seen, t.tried);
}

int main(void)
{
    static const char *const files[] = {"bench/SRAD/SRAD.sf",
                                        "bench/NN/NN.sf",
                                        "bench/LUD/LUD.sf",
                                        "bench/Pathfinder/Pathfinder.sf",
                                        "tests/programs/hist/records.sf",
                                        "tests/programs/irregular/host_bfs.sf",
                                        "examples/kmeans_step.sf"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        check_program(files[i]);
    return check_summary();
}
