/* Kernels on each target. What their parameters have to do with each other only the launches know,
 * so this comes when all of them are there: a kernel is for each of its launches.
 *
 * Which names of blocks may stand for one block is followed operation by operation. ALLOC gives a
 * name a block that no other name in use has, ALIAS another name's; what a caller gives may be one
 * block. Loops swap blocks: what was one in the turn before need not be one in this. A version that
 * is refused may be left after any of its operations. */
#include "plan/plan.h"

#include "kir/passes/passes.h"
#include "kir/walk.h"

#include <string.h>

/* --- Which names may stand for one block ------------------------------------------------------ */

typedef struct {
    size_t at;
    uint64_t value;
} Word;
typedef VEC(Word) Words;

/* A symmetric relation between names, by Mem.id: a row of bits for each. Branches and loops change
 * little of it, so it is not copied for them, but what they change is noted. */
typedef struct {
    int n;
    size_t words; /* of a row */
    uint64_t *same;
    int inside;      /* branches and loops around */
    Words before;    /* what they changed, in order, as it was */
    unsigned *stamp; /* of each word, the last join that saw it */
    unsigned joins;
} Same;

typedef struct {
    Ctx *cx;
    VEC(Same *) left; /* where versions that are around may be left */
} Blocks;

static size_t same_size(const Same *s)
{
    return (size_t)s->n * s->words;
}

static Same same_new(Ctx *cx, int n)
{
    Same s = {.n = n, .words = (size_t)n / 64 + 1};
    s.same = NEWN(cx->scratch, uint64_t, same_size(&s) + 1);
    s.stamp = NEWN(cx->scratch, unsigned, same_size(&s) + 1);
    return s;
}

static Same same_copy(Ctx *cx, const Same *s)
{
    Same copy = same_new(cx, s->n);
    memcpy(copy.same, s->same, same_size(s) * sizeof *s->same);
    return copy;
}

static void set_word(Ctx *cx, Same *s, size_t at, uint64_t value)
{
    if (s->same[at] == value)
        return;
    if (s->inside)
        vec_push(cx->perm, &s->before, ((Word){at, s->same[at]}));
    s->same[at] = value;
}

/* s := s or t */
static void same_join(Ctx *cx, Same *s, const Same *t)
{
    for (size_t i = 0; i < same_size(s); i++)
        set_word(cx, s, i, s->same[i] | t->same[i]);
}

/* Begins a branch or a turn; what is noted from here on is its own. */
static int enter(Same *s)
{
    s->inside++;
    return s->before.n;
}

static void leave(Same *s)
{
    if (!--s->inside)
        s->before.n = 0;
}

/* Takes back what was changed since `from`, and tells what that was, in cx->scratch. */
static Words take_back(Ctx *cx, Same *s, int from)
{
    Words after = {0};
    for (int i = from; i < s->before.n; i++)
        vec_push(cx->scratch, &after, ((Word){s->before.at[i].at, s->same[s->before.at[i].at]}));
    while (s->before.n > from) {
        Word w = s->before.at[--s->before.n];
        s->same[w.at] = w.value;
    }
    return after;
}

/* s := s or what it was with these words; did that change it? */
static bool join_words(Ctx *cx, Same *s, const Words *ws)
{
    bool changed = false;
    for (int i = 0; i < ws->n; i++) {
        Word w = ws->at[i];
        changed |= (w.value & ~s->same[w.at]) != 0;
        set_word(cx, s, w.at, s->same[w.at] | w.value);
    }
    return changed;
}

/* s, since `from` the one branch, := that or the other one, which had these words. */
static void join_branches(Ctx *cx, Same *s, int from, const Words *other)
{
    int end = s->before.n;
    s->joins++;
    for (int i = 0; i < other->n; i++)
        s->stamp[other->at[i].at] = s->joins;
    for (int i = from; i < end; i++) {
        Word was =
            s->before.at[i]; /* the other branch left it so, if this is the first change of it */
        if (s->stamp[was.at] != s->joins)
            set_word(cx, s, was.at, s->same[was.at] | was.value);
        s->stamp[was.at] = s->joins;
    }
    join_words(cx, s, other);
}

static uint64_t *same_word(const Same *s, int i, int k)
{
    return &s->same[(size_t)i * s->words + (size_t)k / 64];
}

static bool same_has(const Same *s, int i, int k)
{
    return *same_word(s, i, k) >> k % 64 & 1;
}

static void put_bit(Ctx *cx, Same *s, int i, int k, bool same)
{
    uint64_t *w = same_word(s, i, k), bit = (uint64_t)1 << k % 64;
    set_word(cx, s, (size_t)(w - s->same), same ? *w | bit : *w & ~bit);
}

static void same_put(Ctx *cx, Same *s, int i, int k, bool same)
{
    put_bit(cx, s, i, k, same);
    put_bit(cx, s, k, i, same);
}

/* Those bits of word w of row i that `which` has. */
static void put_row(Ctx *cx, Same *s, int i, size_t w, uint64_t bits, uint64_t which)
{
    uint64_t other = (*same_word(s, i, (int)w * 64) ^ bits) & which;
    for (int k = 0; k < 64 && other >> k; k++)
        if (other >> k & 1)
            same_put(cx, s, i, (int)w * 64 + k, bits >> k & 1);
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
    for (size_t w = 0; w < s->words; w++) {
        uint64_t want = of ? *same_word(s, of->id, (int)w * 64) : 0;
        if (of && (size_t)of->id / 64 == w)
            want |= (uint64_t)1 << of->id % 64;
        if ((size_t)m->id / 64 == w)
            want &= ~((uint64_t)1 << m->id % 64);
        put_row(b->cx, s, m->id, w, want, ~(uint64_t)0);
        for (int k = 0; want && k < b->left.n; k++)
            put_row(b->cx, b->left.at[k], m->id, w, want, want);
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

/* A version may be left after each operation: what is then, is followed beside it. */
static void walk_guard(Blocks *b, const HostOp *op, Same *s)
{
    Same other = same_copy(b->cx, s);
    vec_push(b->cx->perm, &b->left, &other);
    walk(b, &op->then_, s);
    b->left.n--;
    walk(b, &op->else_, &other);
    same_join(b->cx, s, &other);
}

static void walk_if(Blocks *b, const HostOp *op, Same *s)
{
    int from = enter(s);
    walk(b, &op->then_, s);
    Words then = take_back(b->cx, s, from);
    walk(b, &op->else_, s);
    join_branches(b->cx, s, from, &then);
    leave(s);
}

static void walk_loop(Blocks *b, const HostOp *op, Same *s)
{
    bool changed;
    do {
        int from = enter(s);
        walk(b, &op->then_, s);
        Words turn = take_back(b->cx, s, from);
        changed = join_words(b->cx, s, &turn);
        leave(s);
    } while (changed);
}

static void walk(Blocks *b, const HostOps *ops, Same *s)
{
    for (int i = 0; i < ops->n; i++) {
        const HostOp *op = ops->at[i];
        if (op_is(op, HO_GIVES))
            set_block(b, s, op->mem, op->mem2);
        else if (op->kernel)
            note_launch(s, op);
        ArenaMark m = arena_mark(b->cx->scratch);
        if (op->kind == H_IF && op->guard)
            walk_guard(b, op, s);
        else if (op->kind == H_IF)
            walk_if(b, op, s);
        else if (op->kind == H_LOOP)
            walk_loop(b, op, s);
        arena_reset(b->cx->scratch, m);
    }
}

static void note_entry(Ctx *cx, const EntryPlan *ep)
{
    ArenaMark m = arena_mark(cx->scratch);
    Blocks b = {.cx = cx};
    Same s = same_new(cx, ep->n_mems);
    for (int i = 0; i < ep->param_locs.n; i++)
        for (int k = 0; k < i; k++)
            if (ep->param_locs.at[i].mem && ep->param_locs.at[k].mem)
                same_put(cx, &s, ep->param_locs.at[i].mem->id, ep->param_locs.at[k].mem->id, true);
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
    KRun r = krun_begin(NULL, cx->verify, cx->trace, t->name);
    bool sized = t->sized && k->sized;
    krun_enter(&r, "specialize");
    KFun *f = kir_specialize(a, k->fun, t);
    kir_aliases(a, f, apart, k);
    kir_settle_own(a, f, sized ? k->steady : NULL);
    kir_settle_slices(a, f, sized ? k->steady : NULL);
    krun_leave(&r, f);
    kir_passes(&r, a, f);
    if (sized)
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

void plan_note_blocks(Ctx *cx, Plan *p)
{
    for (int i = 0; i < p->kernels.n; i++) {
        Kernel *k = p->kernels.at[i];
        k->together = NEWN(cx->perm, bool, k->params.n * k->params.n + 1);
    }
    for (int i = 0; i < p->entries.n; i++)
        note_entry(cx, p->entries.at[i]);
}

void plan_put_on_targets(Ctx *cx, Plan *p)
{
    for (int i = 0; i < p->kernels.n; i++)
        put_on_targets(cx, p->kernels.at[i]);
}
