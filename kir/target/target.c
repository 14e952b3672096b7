#include "kir/target/target.h"

#include "kir/walk.h"

#include <string.h>

const KTarget ktargets[N_KTARGETS] = {
    [KTARGET_GPU] = {.name = "gpu",
                     .what = "OpenCL C",
                     .traits = 1u << KID_TEAMS | 1u << KID_COALESCES,
                     .vector_bytes = 16,
                     .sized = true,
                     .print = kir_opencl},
    /* The work-items of a group run one after the other, so that each gets a piece of work of its
     * own, and consecutive elements: inner loops become vectors, of scalars and by the compiler. */
    [KTARGET_NATIVE] = {.name = "native",
                        .what = "C for CPUs",
                        .traits = 1u << KID_VECTORS,
                        .print = kir_native},
};

const KTarget *ktarget_named(const char *name)
{
    for (int t = 0; t < N_KTARGETS; t++)
        if (strcmp(ktargets[t].name, name) == 0)
            return &ktargets[t];
    return NULL;
}

/* --- A kernel on a target --------------------------------------------------------------------- */

typedef struct {
    Arena *arena;
    const KTarget *target;
    bool single; /* a group is one work-item */
} Answers;

static const KExp *answer(void *env, const KExp *x)
{
    const Answers *s = env;
    if (x->kind != KE_ID)
        return x;
    if (kid_info[x->id].trait)
        return kx_bool(s->arena, s->target->traits & 1u << x->id);
    if (s->single && (x->id == KID_LOCAL || x->id == KID_GROUP_SIZE))
        return kx_int(s->arena, x->id == KID_GROUP_SIZE);
    return x;
}

/* A loop of one turn, 0, where there is one for other targets. */
static bool is_once(const KStm *s)
{
    return s->kind == KST_FOR && kx_is_int(s->x[0], 0) && kx_is_int(s->x[1], 1) && !s->doubling;
}

/* Names are unique: the statements of the branch that is taken need no block of their own. Nobody
 * waits in a group of one. */
static void take_branch(void *env, KBuild *b, KStm *s)
{
    const Answers *own = env;
    bool decided = s->kind == KST_IF && s->x[0]->kind == KE_CONST, once = is_once(s);
    if (s->kind == KST_BARRIER && own->single)
        return;
    if (!decided && !once) {
        kb_push(b, s);
        return;
    }
    KBlock *taken = &s->body[once || s->x[0]->c.i ? 0 : 1];
    if (once) {
        PtrMap *to = ptrmap_new(own->arena);
        ptrmap_put(to, s->var, s->x[0]);
        kblock_subst(own->arena, taken, to);
    }
    for (int i = 0; i < taken->n; i++)
        kb_push(b, taken->at[i]);
}

KFun *kir_specialize(Arena *a, const KFun *f, const KTarget *t)
{
    KFun *own = kfun_copy(a, f);
    Answers s = {.arena = a, .target = t};
    kblock_map_exps(a, &own->body, answer, &s);
    KRewriter r = {.env = &s, .leave = take_branch};
    kblock_rewrite(kb_more(a, own), &own->body, &r);
    /* Where work-items of a group run one after the other, a kernel in which they would have to
     * meet is launched with groups of one. */
    s.single = !(t->traits & 1u << KID_TEAMS) && kblock_meets(&own->body);
    if (s.single) {
        kblock_map_exps(a, &own->body, answer, &s);
        kblock_rewrite(kb_more(a, own), &own->body, &r);
    }
    own->vector_bytes = t->vector_bytes;
    own->alone = !(t->traits & 1u << KID_TEAMS);
    own->may_fail = kblock_has(&own->body, KST_FAIL);
    return own;
}
