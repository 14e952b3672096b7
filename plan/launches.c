/* Kernels on each target. What their parameters have to do with each other only the launches know,
 * so this comes when all of them are there: a kernel is for each of its launches.
 *
 * Which names of blocks may stand for one block is followed operation by operation. ALLOC gives a
 * name a block that no other name in use has, ALIAS another name's; what a caller gives may be one
 * block. Loops swap blocks: what was one in the turn before need not be one in this. A version that
 * is refused may be left after any of its operations. */
#include "plan/plan.h"

#include "kir/passes.h"
#include "kir/walk.h"

#include <string.h>

/* --- Which names may stand for one block ------------------------------------------------------ */

/* A symmetric relation between names, by Mem.id: a row of bits for each. */
typedef struct {
    int n;
    size_t words; /* of a row */
    uint64_t *same;
} Same;

typedef struct {
    Ctx *cx;
    VEC(Same *) left; /* where versions that are around may be left */
} Blocks;

static size_t same_size(const Same *s)
{
    return (size_t)s->n * s->words;
}

static Same same_copy(Ctx *cx, const Same *s)
{
    Same copy = *s;
    copy.same = arena_memdup(cx->scratch, s->same, same_size(s) * sizeof *s->same);
    return copy;
}

/* s := s or t; did that change it? */
static bool same_join(Same *s, const Same *t)
{
    bool changed = false;
    for (size_t i = 0; i < same_size(s); i++) {
        changed |= (t->same[i] & ~s->same[i]) != 0;
        s->same[i] |= t->same[i];
    }
    return changed;
}

static uint64_t *same_word(const Same *s, int i, int k)
{
    return &s->same[(size_t)i * s->words + (size_t)k / 64];
}

static bool same_has(const Same *s, int i, int k)
{
    return *same_word(s, i, k) >> k % 64 & 1;
}

static void put_bit(Same *s, int i, int k, bool same)
{
    uint64_t *w = same_word(s, i, k), bit = (uint64_t)1 << k % 64;
    *w = same ? *w | bit : *w & ~bit;
}

static void same_put(Same *s, int i, int k, bool same)
{
    put_bit(s, i, k, same);
    put_bit(s, k, i, same);
}

static bool same_get(const Same *s, const Mem *x, const Mem *y)
{
    return x == y || !x || !y || same_has(s, x->id, y->id);
}

/* m stands for another block from here on: that of `of`, or a fresh one. */
static void set_block(const Blocks *b, Same *s, const Mem *m, const Mem *of)
{
    if (m == of)
        return;
    for (int i = 0; i < s->n; i++) {
        bool same = of && i != m->id && (i == of->id || same_has(s, i, of->id));
        same_put(s, m->id, i, same);
        for (int k = 0; same && k < b->left.n; k++)
            same_put(b->left.at[k], m->id, i, true);
    }
}

static void note_launch(const Same *s, const HostOp *op)
{
    Kernel *k = op->kernel;
    for (int i = 0; i < op->args.n; i++)
        for (int j = 0; j < i; j++)
            if (op->args.at[i].kind == KP_MEM && op->args.at[j].kind == KP_MEM &&
                same_get(s, op->args.at[i].mem, op->args.at[j].mem))
                k->together[i * k->params.n + j] = k->together[j * k->params.n + i] = true;
}

static void walk(Blocks *b, const HostOps *ops, Same *s);

static void walk_if(Blocks *b, const HostOp *op, Same *s)
{
    ArenaMark m = arena_mark(b->cx->scratch);
    Same other = same_copy(b->cx, s);
    if (op->guard)
        vec_push(b->cx->perm, &b->left, &other);
    walk(b, &op->then_, s);
    b->left.n -= op->guard;
    walk(b, &op->else_, &other);
    same_join(s, &other);
    arena_reset(b->cx->scratch, m);
}

static void walk_loop(Blocks *b, const HostOp *op, Same *s)
{
    bool changed;
    do {
        ArenaMark m = arena_mark(b->cx->scratch);
        Same turn = same_copy(b->cx, s);
        walk(b, &op->then_, &turn);
        changed = same_join(s, &turn);
        arena_reset(b->cx->scratch, m);
    } while (changed);
}

static void walk(Blocks *b, const HostOps *ops, Same *s)
{
    for (int i = 0; i < ops->n; i++) {
        const HostOp *op = ops->at[i];
        if (op->kind == H_ALLOC)
            set_block(b, s, op->mem, NULL);
        else if (op->kind == H_ALIAS)
            set_block(b, s, op->mem, op->mem2);
        else if (op->kind == H_LAUNCH)
            note_launch(s, op);
        else if (op->kind == H_IF)
            walk_if(b, op, s);
        else if (op->kind == H_LOOP)
            walk_loop(b, op, s);
    }
}

static void note_entry(Ctx *cx, const EntryPlan *ep)
{
    ArenaMark m = arena_mark(cx->scratch);
    Blocks b = {.cx = cx};
    Same s = {.n = ep->n_mems, .words = (size_t)ep->n_mems / 64 + 1};
    s.same = NEWN(cx->scratch, uint64_t, same_size(&s) + 1);
    for (int i = 0; i < ep->param_locs.n; i++)
        for (int k = 0; k < i; k++)
            if (ep->param_locs.at[i].mem && ep->param_locs.at[k].mem)
                same_put(&s, ep->param_locs.at[i].mem->id, ep->param_locs.at[k].mem->id, true);
    walk(&b, &ep->ops, &s);
    arena_reset(cx->scratch, m);
}

/* --- Kernels ---------------------------------------------------------------------------------- */

static bool apart(void *env, int i, int k)
{
    const Kernel *kernel = env;
    return !kernel->together[i * kernel->params.n + k];
}

/* Without its first parameter. */
static void drop_failure(Arena *a, KFun *f)
{
    KFormals params = {0};
    for (int i = 1; i < f->params.n; i++)
        vec_push(a, &params, f->params.at[i]);
    f->params = params;
}

/* What the passes leave is a small part of what they make on the way. */
static KFun *on_target(Ctx *cx, Kernel *k, const KTarget *t)
{
    Arena *a = arena_new();
    KFun *f = kir_specialize(a, k->fun, t);
    kir_aliases(a, f, apart, k);
    kir_settle_own(a, f, t->sized && k->sized ? k->steady : NULL);
    kir_settle_slices(a, f, t->sized && k->sized ? k->steady : NULL);
    kir_passes(a, f, cx->verify);
    if (t->sized && k->sized)
        kernel_put_steady(k, f);
    f = kfun_copy(cx->perm, f);
    arena_free(a);
    return f;
}

static bool add_words(void *env, KStm *s)
{
    int *words = env;
    enum { WORD = 4 };
    if (s->kind == KST_ARRAY)
        *words += (int)((s->buf->count * prim_type_bytes[s->buf->elem] + WORD - 1) / WORD);
    return true;
}

static int private_words(const KFun *f)
{
    int words = 0;
    kblock_visit(&f->body, &(KVisitor){.env = &words, .enter = add_words});
    return words;
}

/* Launches cost less without the parameter for failures, which goes away where no target needs it.
 */
static void put_on_targets(Ctx *cx, Kernel *k)
{
    for (int t = 0; t < N_KTARGETS; t++) {
        k->on[t] = on_target(cx, k, &ktargets[t]);
        k->fixed_group = k->fixed_group || kblock_meets(&k->on[t]->body);
        k->failure = k->failure || kblock_knows_failures(&k->on[t]->body);
    }
    k->private_words = private_words(k->on[KTARGET_GPU]);
    for (int t = 0; t < N_KTARGETS && !k->failure; t++)
        drop_failure(cx->perm, k->on[t]);
}

void plan_on_targets(Ctx *cx, Plan *p)
{
    for (int i = 0; i < p->kernels.n; i++) {
        Kernel *k = p->kernels.at[i];
        k->together = NEWN(cx->perm, bool, k->params.n * k->params.n + 1);
    }
    for (int i = 0; i < p->entries.n; i++)
        note_entry(cx, p->entries.at[i]);
    plan_steady(cx, p);
    plan_size_params(cx, p);
    for (int i = 0; i < p->kernels.n; i++)
        put_on_targets(cx, p->kernels.at[i]);
}
