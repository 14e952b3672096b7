/* A branch that gives scalars that were known before it becomes selections:
 *
 *     var x: f32                                let x: f32 = select(c, a, b)
 *     var y: i64                                let y: i64 = select(c, i, j)
 *     if c {
 *         set x = a
 *         set y = i
 *     } else {
 *         set x = b
 *         set y = j
 *     }
 *
 * Where work-items run one after the other, loops without branches become vectors. On GPUs it is
 * the other way: a branch that few lanes take costs less than a longer chain of selections (on an
 * H100 the nearest neighbours of bench/NN took 1.27 times as long with them). Functions are the
 * same everywhere, and have them. */
#include "kir/vectors/vectors.h"
#include "kir/walk.h"

typedef struct {
    Arena *arena;
    const KInfo *info;
    PtrMap *places; /* KVar of a VAR without a value -> the block that it is in */
    PtrSet *chosen; /* those that become LETs */
} Selections;

/* Is it known without work, so that it may be asked for whatever the condition says? */
static bool is_known(const KExp *x)
{
    return x->n == 0;
}

/* Does the pair of SETs give a variable of the block its only value? */
static bool gives(const Selections *s, const KBlock *block, const KStm *x, const KStm *y)
{
    return x->kind == KST_SET && y->kind == KST_SET && x->var == y->var &&
           ptrmap_get(s->places, x->var) == block && kinfo_get(s->info, x->var).sets == 2 &&
           is_known(x->x[0]) && is_known(y->x[0]);
}

static bool selects(const Selections *s, const KBlock *block, const KStm *branch)
{
    const KBlock *then_ = &branch->body[0], *else_ = &branch->body[1];
    if (branch->kind != KST_IF || then_->n == 0 || then_->n != else_->n)
        return false;
    for (int i = 0; i < then_->n; i++)
        if (!gives(s, block, then_->at[i], else_->at[i]))
            return false;
    return true;
}

static void choose(Selections *s, const KBlock *block)
{
    for (int i = 0; i < block->n; i++) {
        const KStm *stm = block->at[i];
        if (stm->kind == KST_VAR && !stm->x[0])
            ptrmap_put(s->places, stm->var, (void *)(uintptr_t)block);
        for (int k = 0; k < 2; k++)
            choose(s, &stm->body[k]);
        if (selects(s, block, stm))
            for (int k = 0; k < stm->body[0].n; k++)
                ptrset_add(s->chosen, stm->body[0].at[k]->var);
    }
}

static void select_one(const Selections *s, KBuild *b, const KExp *c, const KStm *x, const KStm *y)
{
    x->var->mutable_ = false;
    kb_let_var(b, x->var, kx_select(s->arena, c, x->x[0], y->x[0]));
}

static void rewrite(void *env, KBuild *b, KStm *stm)
{
    const Selections *s = env;
    if (stm->kind == KST_VAR && ptrset_has(s->chosen, stm->var))
        return;
    const KStm *first = stm->kind == KST_IF && stm->body[0].n > 0 ? stm->body[0].at[0] : NULL;
    if (!first || first->kind != KST_SET || !ptrset_has(s->chosen, first->var)) {
        kb_push(b, stm);
        return;
    }
    const KExp *c = kb_let(b, "c", stm->x[0]);
    for (int i = 0; i < stm->body[0].n; i++)
        select_one(s, b, c, stm->body[0].at[i], stm->body[1].at[i]);
}

void kir_select(Arena *a, KFun *f)
{
    Selections s = {.arena = a,
                    .info = kinfo_of(a, &f->body),
                    .places = ptrmap_new(a),
                    .chosen = ptrmap_new(a)};
    choose(&s, &f->body);
    kblock_rewrite(kb_more(a, f), &f->body, &(KRewriter){.env = &s, .leave = rewrite});
}
