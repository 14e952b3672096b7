/* What has no effect goes away: variables and loads whose values nobody needs, stores to private
 * arrays that nobody reads, statements with nothing left in them.
 *
 * Statements are taken to be dead until something that has an effect needs them: what computes its
 * operands, what is stored in the memory that it reads, the statements around it. A loop without
 * effect is taken to end. Afterwards blocks that need no bounds of their own are spliced into those
 * around them; names are unique, so nothing is captured. */
#include "kir/passes/passes.h"
#include "kir/walk.h"

typedef struct Node Node;
struct Node {
    KStm *s;
    Node *parent;
    bool live;
};
typedef VEC(Node *) Nodes;

typedef struct {
    Arena *mem;
    PtrMap *nodes;  /* KStm -> Node */
    PtrMap *makers; /* KVar -> Nodes: what binds or changes it; KBuf -> what declares it */
    PtrMap *stores; /* private KBuf -> Nodes: stores to its memory */
    Nodes work;
} Dead;

/* --- Who makes what --------------------------------------------------------------------------- */

static void note(Dead *d, PtrMap *map, const void *what, Node *n)
{
    Nodes *list = ptrmap_get(map, what);
    if (!list)
        ptrmap_put(map, what, list = NEW(d->mem, Nodes));
    vec_push(d->mem, list, n);
}

static void note_block(Dead *d, const KBlock *b, Node *parent)
{
    for (int i = 0; i < b->n; i++) {
        KStm *s = b->at[i];
        Node *n = NEW(d->mem, Node);
        *n = (Node){.s = s, .parent = parent};
        ptrmap_put(d->nodes, s, n);
        if (s->var)
            note(d, d->makers, s->var, n);
        if (s->top)
            note(d, d->makers, s->top, n);
        if (kstm_declares(s))
            note(d, d->makers, s->buf, n);
        if (s->kind == KST_STORE && s->buf->space == KS_PRIVATE)
            note(d, d->stores, kbuf_root(s->buf), n);
        for (int k = 0; k < 2; k++)
            note_block(d, &s->body[k], n);
    }
}

/* --- Who is needed ---------------------------------------------------------------------------- */

static void need(Dead *d, Node *n)
{
    if (n->live)
        return;
    n->live = true;
    vec_push(d->mem, &d->work, n);
}

static void need_all(Dead *d, PtrMap *map, const void *what)
{
    const Nodes *list = ptrmap_get(map, what);
    for (int i = 0; list && i < list->n; i++)
        need(d, list->at[i]);
}

static void need_exp(void *env, const KExp *x)
{
    Dead *d = env;
    if (x->kind == KE_VAR)
        need_all(d, d->makers, x->var);
}

static void need_operands(Dead *d, const Node *n)
{
    const KStm *s = n->s;
    kstm_visit_exps(s, need_exp, d);
    if (n->parent)
        need(d, n->parent);
    if (s->kind == KST_HEAP) {
        need_all(d, d->makers, s->var);
        need_all(d, d->makers, s->top);
    }
    for (const KBuf *b = s->buf; b; b = b->of)
        need_all(d, d->makers, b);
    if (s->with) {
        need_all(d, d->makers, s->with);
        need_all(d, d->stores, kbuf_root(s->with));
    }
    if (s->buf && kstm_reads(s))
        need_all(d, d->stores, kbuf_root(s->buf));
}

static bool has_effect(const KStm *s)
{
    if (s->kind == KST_COMMENT || (s->kind == KST_STORE && s->buf->space == KS_PRIVATE))
        return false;
    return kstm_info[s->kind].flags & KF_EFFECT;
}

static bool need_effect(void *env, KStm *s)
{
    Dead *d = env;
    if (has_effect(s))
        need(d, ptrmap_get(d->nodes, s));
    return true;
}

/* --- What is left ----------------------------------------------------------------------------- */

static bool needs_bounds(const KBlock *b)
{
    for (int i = 0; i < b->n; i++)
        if (b->at[i]->kind == KST_ARRAY)
            return true;
    return false;
}

/* Goes to where the end of the block leads anyway? */
static bool leaves_at_end(const KStm *s, const KBlock *b)
{
    const KStm *last = b->n > 0 ? vec_last(b) : NULL;
    return last && last->kind == KST_LEAVE && last->target == s;
}

static bool test_leave(const KBlock *b, const KStm *work)
{
    for (int i = 0; i < b->n; i++) {
        const KStm *s = b->at[i];
        if (s->target == work || test_leave(&s->body[0], work) || test_leave(&s->body[1], work))
            return true;
    }
    return false;
}

static void splice(KBuild *b, const KBlock *block)
{
    for (int i = 0; i < block->n; i++)
        kb_push(b, block->at[i]);
}

static void keep_if(KBuild *b, KStm *s)
{
    if (s->body[0].n == 0 && s->body[1].n > 0) {
        s->body[0] = s->body[1];
        s->body[1] = (KBlock){0};
        s->x[0] = kx_not(b->arena, s->x[0]);
    }
    const KBlock *taken = s->x[0]->kind == KE_CONST ? &s->body[kx_is_int(s->x[0], 0)] : NULL;
    if (taken && !needs_bounds(taken))
        splice(b, taken);
    else if (s->body[0].n > 0)
        kb_push(b, s);
}

static void keep_block(KBuild *b, KStm *s)
{
    if (s->kind == KST_WORK && leaves_at_end(s, &s->body[0]))
        s->body[0].n--;
    bool bounds = (s->kind == KST_WORK && test_leave(&s->body[0], s)) || needs_bounds(&s->body[0]);
    if (bounds)
        kb_push(b, s);
    else
        splice(b, &s->body[0]);
}

/* Comments stay where what they are in does. */
static void keep(void *env, KBuild *b, KStm *s)
{
    const Dead *d = env;
    const Node *n = ptrmap_get(d->nodes, s);
    if (!n->live && s->kind != KST_COMMENT)
        return;
    if (s->kind == KST_IF)
        keep_if(b, s);
    else if (s->kind == KST_BLOCK || s->kind == KST_WORK)
        keep_block(b, s);
    else
        kb_push(b, s);
}

/* What was there before is not asked for. */
static bool drop_results(void *env, KStm *s)
{
    if ((s->kind == KST_ATOMIC || s->kind == KST_CAS) && s->var && !kinfo_get(env, s->var).uses)
        s->var = NULL;
    return true;
}

void kir_dead(Arena *a, KFun *f)
{
    KInfo *info = kinfo_of(a, &f->body);
    kblock_visit(&f->body, &(KVisitor){.env = info, .enter = drop_results});
    Dead d = {.mem = a, .nodes = ptrmap_new(a), .makers = ptrmap_new(a), .stores = ptrmap_new(a)};
    note_block(&d, &f->body, NULL);
    kblock_visit(&f->body, &(KVisitor){.env = &d, .enter = need_effect});
    while (d.work.n > 0) {
        const Node *n = vec_last(&d.work);
        d.work.n--;
        need_operands(&d, n);
    }
    KBuild *b = kb_more(a, f);
    kblock_rewrite(b, &f->body, &(KRewriter){.env = &d, .leave = keep});
}
