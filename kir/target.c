/* What a kernel is on one target: branches on the target are taken, the others are gone. */
#include "kir/passes.h"
#include "kir/walk.h"

typedef struct {
    Arena *arena;
    bool cpu;
} Target;

static const KExp *known(void *env, const KExp *x)
{
    const Target *t = env;
    return x->kind == KE_ID && x->id == KID_CPU ? kx_bool(t->arena, t->cpu) : x;
}

/* Names are unique: the statements of the branch that is taken need no block of their own. */
static void take_branch(void *env, KBuild *b, KStm *s)
{
    (void)env;
    if (s->kind != KST_IF || s->x[0]->kind != KE_CONST) {
        kb_push(b, s);
        return;
    }
    const KBlock *taken = &s->body[s->x[0]->c.i ? 0 : 1];
    for (int i = 0; i < taken->n; i++)
        kb_push(b, taken->at[i]);
}

KFun *kir_specialize(Arena *a, const KFun *f, bool cpu)
{
    KFun *own = kfun_copy(a, f);
    Target t = {a, cpu};
    kblock_map_exps(a, &own->body, known, &t);
    KRewriter r = {.leave = take_branch};
    kblock_rewrite(kb_more(a, own), &own->body, &r);
    own->alone = cpu;
    own->may_fail = kblock_has(&own->body, KST_FAIL);
    return own;
}
