/* What was asked is not asked again: where a condition is known to hold, or not to, since an IF
 * around has asked for it or one before was left otherwise, it is a constant, and an IF with a
 * constant condition the branch that is taken.
 *
 *     if !(0 <= i && i < n) { fail ... leave w }
 *     load x: f32 = xs[i * 2]
 *     if !(0 <= i && i < n) { fail ... leave w }     -- goes away
 *     load y: f32 = xs[i * 2 + 1]
 *
 * On CPUs, where a thread goes through elements in loops, a loop's condition is known in its turns.
 *
 * Only of variables that do not change. Ranges (narrow.c) find as much as before: they go by the
 * IFs that are left in the same way. */
#include "kir/passes/passes.h"
#include "kir/walk.h"

enum { MOST_FACTS = 64 };

typedef struct {
    const KExp *x;
    bool so;
} Fact;

typedef struct {
    Arena *arena;
    Fact facts[MOST_FACTS];
    int n;
    bool alone; /* KFun.alone */
} Known;

static const KExp *answer(void *env, const KExp *x)
{
    const Known *k = env;
    if (x->type.elem == T_BOOL && x->kind != KE_CONST)
        for (int i = 0; i < k->n; i++)
            if (kx_same(k->facts[i].x, x))
                return kx_bool(k->arena, k->facts[i].so);
    return x;
}

static bool is_op(const KExp *x, PrimOp op)
{
    return x->kind == KE_PRIM && x->op == op;
}

static void assume(Known *k, const KExp *x, bool so)
{
    if (is_op(x, OP_NOT)) {
        assume(k, x->x[0], !so);
    } else if (is_op(x, so ? OP_LAND : OP_LOR)) {
        assume(k, x->x[0], so);
        assume(k, x->x[1], so);
    } else if (k->n < MOST_FACTS && x->kind != KE_CONST && !kexp_changes(x)) {
        k->facts[k->n++] = (Fact){x, so};
    }
}

static void walk(Known *k, KBlock *block);

static void walk_if(Known *k, KStm *s)
{
    for (int branch = 0; branch < 2; branch++) {
        int n = k->n;
        assume(k, s->x[0], branch == 0);
        walk(k, &s->body[branch]);
        k->n = n;
    }
    /* What follows is reached by those that did not leave. */
    for (int branch = 0; branch < 2; branch++)
        if (kblock_ends_by_leaving(&s->body[branch]))
            assume(k, s->x[0], branch == 1);
}

static void walk_body(Known *k, KStm *s)
{
    int n = k->n;
    if (s->kind == KST_FOR && k->alone)
        assume(k, kx_lt(k->arena, kx_var(k->arena, s->var), s->x[1]), true);
    walk(k, &s->body[0]);
    k->n = n;
}

static void walk(Known *k, KBlock *block)
{
    int n = k->n;
    KBlock old = *block;
    *block = (KBlock){0};
    for (int i = 0; i < old.n; i++) {
        KStm *s = old.at[i];
        if (s->kind == KST_IF)
            s->x[0] = kexp_map(k->arena, s->x[0], answer, k);
        if (s->kind == KST_IF && s->x[0]->kind == KE_CONST) { /* names are unique */
            KBlock *taken = &s->body[s->x[0]->c.i ? 0 : 1];
            walk(k, taken);
            vec_append(k->arena, block, taken);
            continue;
        }
        vec_push(k->arena, block, s);
        if (s->kind == KST_IF)
            walk_if(k, s);
        else
            walk_body(k, s);
    }
    k->n = n;
}

void kir_fold_conditions(Arena *a, KFun *f)
{
    Known k = {.arena = a, .alone = f->alone};
    walk(&k, &f->body);
}
