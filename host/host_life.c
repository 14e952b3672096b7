/* After the walk: scalars that nothing uses are dropped, and each block name is released right
 * after its last use, so that the next allocation finds the block on the free list.
 *
 * Lifetimes. The home of a block name is the smallest list of operations that contains all its
 * mentions. It is released in its home, after the last operation that mentions it (itself or
 * inside); if that is a branch, inside the branch, in each of its sides. Two exceptions:
 *  - in a guarded version (the first side of a guard) what is older than the version is kept to its
 *    end, because the other side may still have to run; what it made itself is released first
 *    there;
 *  - a loop parameter dies in the body too, between its last use in an iteration and the end of the
 *    iteration, where it is set anew. */
#include "host/host_walk.h"

/* --- Scalars ---------------------------------------------------------------------------------- */

static bool prune_ops(HostOps *ops, const VarSet *used)
{
    int n = 0;
    bool changed = false;
    for (int i = 0; i < ops->n; i++) {
        HostOp *op = ops->at[i];
        changed |= prune_ops(&op->then_, used);
        changed |= prune_ops(&op->else_, used);
        if (op_is(op, HO_DEFINES) && !varset_has(used, op->var))
            changed = true;
        else
            ops->at[n++] = op;
    }
    ops->n = n;
    return changed;
}

void host_prune(Ctx *cx, EntryPlan *ep)
{
    VarSet *used;
    do {
        used = varmap_new(cx->perm);
        for (int i = 0; i < ep->ops.n; i++)
            op_uses(used, ep->ops.at[i]);
        for (int i = 0; i < ep->results.n; i++)
            result_uses(used, ep->results.at[i]);
    } while (prune_ops(&ep->ops, used));
}

/* --- Homes ------------------------------------------------------------------------------------ */

typedef struct Block Block;
struct Block {
    HostOps *ops;
    Block *parent;
    int at; /* index in parent of the operation that contains it */
    int depth;
    bool guarded; /* the first side of a guard */
    Mems *after;  /* per operation: released behind it */
    Mems front;   /* released at the start */
};

typedef struct {
    Block *first; /* where it is mentioned first, by its operation `begin` */
    int begin;
    Block *home;
    int last;  /* index in home of the last operation that mentions it */
    bool keep; /* a parameter or result: never released */
} Life;

typedef struct {
    Ctx *cx;
    VEC(Life) lives; /* by Mem.id */
    Mems all;        /* by Mem.id */
} Lifetimes;

static Life *life_of(Lifetimes *lt, Mem *m)
{
    while (lt->lives.n <= m->id) {
        vec_push(lt->cx->perm, &lt->lives, (Life){.last = -1});
        vec_push(lt->cx->perm, &lt->all, NULL);
    }
    lt->all.at[m->id] = m;
    return &lt->lives.at[m->id];
}

static void mention(Lifetimes *lt, Mem *m, Block *b, int at)
{
    Life *l = life_of(lt, m);
    if (!l->home) {
        l->home = l->first = b;
        l->last = l->begin = at;
        return;
    }
    while (b->depth > l->home->depth) {
        at = b->at;
        b = b->parent;
    }
    while (l->home != b) { /* up to the common list */
        if (l->home->depth == b->depth) {
            at = b->at;
            b = b->parent;
        }
        l->last = l->home->at;
        l->home = l->home->parent;
    }
    if (at > l->last)
        l->last = at;
}

typedef VEC(Block *) Blocks;

static Block *block_new(Lifetimes *lt, HostOps *ops, Block *parent, int at, bool guarded)
{
    Block *b = NEW(lt->cx->perm, Block);
    *b = (Block){ops,     parent,
                 at,      parent ? parent->depth + 1 : 0,
                 guarded, NEWN(lt->cx->perm, Mems, ops->n + 1),
                 {0}};
    return b;
}

/* Makes a block for each list of operations (a parent before its children) and finds the homes. */
static void visit(Lifetimes *lt, Block *b, Blocks *blocks)
{
    Arena *a = lt->cx->perm;
    vec_push(a, blocks, b);
    for (int i = 0; i < b->ops->n; i++) {
        HostOp *op = b->ops->at[i];
        Mems ms = {0};
        op_mems(a, &ms, op);
        for (int k = 0; k < ms.n; k++)
            mention(lt, ms.at[k], b, i);
        if (op_members(op) & HM_SIDES) {
            visit(lt, block_new(lt, &op->then_, b, i, op->guard), blocks);
            visit(lt, block_new(lt, &op->else_, b, i, false), blocks);
        }
    }
}

static Block *child(const Blocks *blocks, const HostOps *ops)
{
    for (int i = 0; i < blocks->n; i++)
        if (blocks->at[i]->ops == ops)
            return blocks->at[i];
    ice((Loc){0}, "a list of operations without block");
}

/* --- Releases --------------------------------------------------------------------------------- */

static void release_in(Lifetimes *lt, const Blocks *blocks, Block *b, Mem *m);

/* m, whose last mention in b is at operation `last` (-1: none), dies there. */
static void release_at(Lifetimes *lt, const Blocks *blocks, Block *b, int last, Mem *m)
{
    Arena *a = lt->cx->perm;
    if (last < 0) {
        vec_push(a, &b->front, m);
        return;
    }
    HostOp *op = b->ops->at[last];
    if (op->kind != H_IF) {
        vec_push(a, &b->after[last], m);
        return;
    }
    Block *side = child(blocks, &op->then_);
    if (op->guard && op->then_.n > 0)
        vec_push(a, &side->after[op->then_.n - 1], m); /* only when it has run to its end */
    else
        release_in(lt, blocks, side, m);
    release_in(lt, blocks, child(blocks, &op->else_), m);
}

static void release_in(Lifetimes *lt, const Blocks *blocks, Block *b, Mem *m)
{
    int last = b->ops->n - 1;
    while (last >= 0 && !op_mentions(b->ops->at[last], m))
        last--;
    release_at(lt, blocks, b, last, m);
}

static bool inside(const Block *b, const Block *outer)
{
    while (b && b != outer)
        b = b->parent;
    return b != NULL;
}

/* The other side of a guard starts by releasing what the refused version had made. */
static void release_refused(Lifetimes *lt, const Blocks *blocks, const Block *version)
{
    Block *other = child(blocks, &version->parent->ops->at[version->at]->else_);
    for (int i = 0; i < lt->lives.n; i++)
        if (lt->lives.at[i].home && inside(lt->lives.at[i].home, version) && !lt->lives.at[i].keep)
            vec_push(lt->cx->perm, &other->front, lt->all.at[i]);
}

/* A name that operation j sets anew is dead between its last mention before and j. */
static void release_before_set(Lifetimes *lt, const Blocks *blocks, Block *b, int j)
{
    const HostOp *op = b->ops->at[j];
    if (!op_is(op, HO_GIVES) || op->mem == op->mem2)
        return;
    Life *l = life_of(lt, op->mem);
    if (l->first == b && l->begin == j) /* as most are: there is no need to look for more */
        return;
    for (const Block *p = b; p != l->home; p = p->parent)
        if (p->guarded) /* the name is older than the version */
            return;
    int i = j - 1;
    while (i >= 0 && !op_mentions(b->ops->at[i], op->mem))
        i--;
    if (i >= 0 && i < j - 1)
        release_at(lt, blocks, b, i, op->mem);
}

static void push_releases(Ctx *cx, HostOps *out, const Mems *ms)
{
    for (int i = 0; i < ms->n; i++) {
        HostOp *op = NEW(cx->perm, HostOp);
        *op = (HostOp){.kind = H_RELEASE, .mem = ms->at[i]};
        vec_push(cx->perm, out, op);
    }
}

static void insert_releases(Ctx *cx, Block *b)
{
    HostOps out = {0};
    push_releases(cx, &out, &b->front);
    for (int i = 0; i < b->ops->n; i++) {
        vec_push(cx->perm, &out, b->ops->at[i]);
        push_releases(cx, &out, &b->after[i]);
    }
    *b->ops = out;
}

void host_lifetimes(Ctx *cx, EntryPlan *ep)
{
    Lifetimes lt = {.cx = cx};
    Blocks blocks = {0};
    visit(&lt, block_new(&lt, &ep->ops, NULL, 0, false), &blocks);
    for (int i = 0; i < lt.lives.n; i++)
        lt.lives.at[i].keep = lt.all.at[i] && lt.all.at[i]->is_param;
    for (int i = 0; i < ep->result_locs.n; i++)
        if (ep->result_locs.at[i].mem)
            life_of(&lt, ep->result_locs.at[i].mem)->keep = true;
    for (int i = 0; i < blocks.n; i++)
        for (int j = 0; j < blocks.at[i]->ops->n; j++)
            release_before_set(&lt, &blocks, blocks.at[i], j);
    for (int i = 0; i < lt.lives.n; i++) {
        Life *l = &lt.lives.at[i];
        if (l->home && !l->keep)
            release_at(&lt, &blocks, l->home, l->last, lt.all.at[i]);
    }
    for (int i = 0; i < blocks.n; i++)
        if (blocks.at[i]->guarded && ops_have(blocks.at[i]->ops, H_LAUNCH))
            release_refused(&lt, &blocks, blocks.at[i]);
    for (int i = 0; i < blocks.n; i++)
        insert_releases(cx, blocks.at[i]);
}
