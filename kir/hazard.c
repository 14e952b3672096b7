/* Do barriers stand where all work-items meet, and wherever one must be waited for? (uniform.h)
 *
 * A walk over the kernel carries the accesses to local memory that no barrier has followed yet, and
 * holds each new access against them. Two of them are safe together if neither writes, if both are
 * done in one step, or if it is certain enough that they are a work-item's own:
 *
 *  - both stand where one work-item alone comes, by the same choice: `if local_id == 0`;
 *  - both are at the same place, which differs between work-items: buf[local_id];
 *  - they are at places that differ and are the same for all: buf[0], buf[1];
 *  - all work-items have written the same value to a place that is the same for all;
 *  - an earlier load and a later store stand under one choice that varies and has to do with the
 *    place of only one of them: a step of a tree, where those that read what is d away are chosen
 *    so that nobody writes there.
 *
 * The third and the last believe the maker, and so does this: memory that VIEWs name from
 * different offsets on is different. Where there is one work-item in a group (cpu), nothing is
 * asked. */
#include "kir/uniform.h"

#include "base/ptrmap.h"
#include "kir/text.h"
#include "kir/walk.h"

#include <string.h>

enum { DIMS = 3, MOST_NODES = 64, MOST_CHOICES = 64 };

/* A branch of an IF that is around. */
typedef struct {
    const KStm *stm;
    int branch;
} Choice;

typedef struct {
    const KStm *stm;
    int number;
    const KExp *at;          /* position, expanded */
    const KExp *offset;      /* of the VIEW, expanded; NULL: 0 */
    const KExp *alone[DIMS]; /* conditions that leave one work-item, a dimension each */
    Choice choices[MOST_CHOICES];
    int n_choices;
} Access;

typedef struct {
    Arena *arena;
    const KUniform *uniform;
    PtrMap *defs;    /* immutable variable -> expression that it stands for */
    PtrMap *offsets; /* VIEW's buffer -> its offset */
    PtrMap *access;  /* statement -> Access */
    VEC(Access *) all;
    VEC(Choice) around;
    PtrMap *exits;   /* WORK -> what is pending where it is left */
    unsigned dims;   /* in which the kernel tells work-items apart */
    const KStm *stm; /* what is wrong, and with it */
    const char *error;
} Hazard;

/* --- What expressions stand for --------------------------------------------------------------- */

static void count_node(void *env, const KExp *x)
{
    (void)x;
    ++*(int *)env;
}

static const KExp *expand_var(void *env, const KExp *x)
{
    const KExp *def = x->kind == KE_VAR ? ptrmap_get(((Hazard *)env)->defs, x->var) : NULL;
    return def ? def : x;
}

static const KExp *expand(Hazard *h, const KExp *x)
{
    return x ? kexp_map(h->arena, x, expand_var, h) : NULL;
}

static void find_mutable(void *env, const KExp *x)
{
    *(bool *)env |= x->kind == KE_VAR && x->var->mutable_;
}

static void define(Hazard *h, const KStm *s)
{
    const KExp *x = expand(h, s->x[0]);
    int nodes = 0;
    bool changes = false;
    kexp_visit(x, count_node, &nodes);
    kexp_visit(x, find_mutable, &changes);
    if (nodes <= MOST_NODES && !changes)
        ptrmap_put(h->defs, s->var, x);
}

/* x = base + k; no base: k. */
static const KExp *split_sum(const KExp *x, int64_t *k)
{
    *k = x->kind == KE_CONST ? x->c.i : 0;
    if (x->kind == KE_CONST)
        return NULL;
    bool sum = x->kind == KE_PRIM && x->exact && (x->op == OP_ADD || x->op == OP_SUB);
    if (!sum || x->x[1]->kind != KE_CONST)
        return x;
    *k = x->op == OP_ADD ? x->x[1]->c.i : -x->x[1]->c.i;
    return x->x[0];
}

/* Are the two different numbers, whatever variables are? */
static bool differ(const KExp *x, const KExp *y)
{
    int64_t k, l;
    const KExp *a = split_sum(x, &k), *b = split_sum(y, &l);
    return k != l && (a && b ? kx_same(a, b) : a == b);
}

/* --- Who comes here --------------------------------------------------------------------------- */

/* Is x the work-item's number in a dimension, moved by what is the same for all? */
static bool is_number(const Hazard *h, const KExp *x, int *dim)
{
    if (x->kind == KE_ID && x->id == KID_LOCAL) {
        *dim = x->dim;
        return true;
    }
    if (x->kind != KE_PRIM || !x->exact || (x->op != OP_ADD && x->op != OP_SUB))
        return false;
    return (kuniform_exp(h->uniform, x->x[1]) && is_number(h, x->x[0], dim)) ||
           (kuniform_exp(h->uniform, x->x[0]) && is_number(h, x->x[1], dim));
}

static void note_alone(const Hazard *h, Access *a, const KExp *cond)
{
    int dim;
    bool changes = false;
    kexp_visit(cond, find_mutable, &changes);
    if (cond->kind != KE_PRIM || changes)
        return;
    if (cond->op == OP_LAND) {
        note_alone(h, a, cond->x[0]);
        note_alone(h, a, cond->x[1]);
    } else if (cond->op == OP_EQ) {
        for (int i = 0; i < 2; i++)
            if (is_number(h, cond->x[i], &dim) && kuniform_exp(h->uniform, cond->x[1 - i]))
                a->alone[dim] = cond;
    }
}

static void note_dims(void *env, const KExp *x)
{
    Hazard *h = env;
    if (x->kind == KE_ID && (x->id == KID_LOCAL || x->id == KID_GROUP_SIZE))
        h->dims |= 1u << x->dim;
}

/* --- Two accesses ----------------------------------------------------------------------------- */

static bool reads(const Access *a)
{
    return kstm_reads(a->stm);
}

static bool writes(const Access *a)
{
    return kstm_writes(a->stm);
}

static bool one_step(const Access *a)
{
    return a->stm->kind != KST_LOAD && a->stm->kind != KST_STORE;
}

static bool same_alone(const Hazard *h, const Access *a, const Access *b)
{
    for (int d = 0; d < DIMS; d++)
        if (h->dims & 1u << d && !(a->alone[d] && b->alone[d] && kx_same(a->alone[d], b->alone[d])))
            return false;
    return true;
}

static bool same_or_none(const KExp *x, const KExp *y)
{
    return x && y ? kx_same(x, y) : x == y;
}

static bool uniform_store(const Hazard *h, const Access *a)
{
    return a->stm->kind == KST_STORE && kuniform_exp(h->uniform, a->stm->x[1]) &&
           kuniform_flow(h->uniform, a->stm);
}

typedef struct {
    const KExp *x, *y;
    bool in_one;
} Only;

/* Is it a variable or a number of the work-item that the one has and the other has not? */
static void find_only(void *env, const KExp *v)
{
    Only *o = env;
    if (v->kind == KE_VAR)
        o->in_one |= kexp_uses(o->x, v->var) != kexp_uses(o->y, v->var);
}

/* An earlier load and a later store of those that a condition on the distance has chosen. */
static bool chosen(const Hazard *h, const Access *load, const Access *store)
{
    if (load->stm->kind != KST_LOAD || store->stm->kind != KST_STORE)
        return false;
    for (int i = 0; i < load->n_choices && i < store->n_choices; i++) {
        const Choice *c = &load->choices[i], *d = &store->choices[i];
        Only o = {load->at, store->at, false};
        if (c->stm != d->stm || c->branch != d->branch)
            return false;
        kexp_visit(c->stm->x[0], find_only, &o);
        if (o.in_one && !kuniform_exp(h->uniform, c->stm->x[0]))
            return true;
    }
    return false;
}

/* Places in the same memory, seen as elements of the same type. */
static bool safe_places(const Hazard *h, const Access *a, const Access *b)
{
    bool same = kx_same(a->at, b->at);
    bool varies =
        !kuniform_exp(h->uniform, a->at) || (a->offset && !kuniform_exp(h->uniform, a->offset));
    if (varies)
        return same;
    return same ? uniform_store(h, a) : kuniform_exp(h->uniform, b->at) && differ(a->at, b->at);
}

static bool conflict(const Hazard *h, const Access *a, const Access *b)
{
    bool ordered = (writes(a) && reads(b)) || (reads(a) && writes(b));
    if (!ordered || (one_step(a) && one_step(b)))
        return false;
    if (!kbuf_overlap(a->stm->buf, b->stm->buf) || !same_or_none(a->offset, b->offset))
        return false;
    if (same_alone(h, a, b) || chosen(h, a, b))
        return false;
    return a->stm->buf->elem != b->stm->buf->elem || !safe_places(h, a, b);
}

/* --- What there is ---------------------------------------------------------------------------- */

static bool is_local_access(const KStm *s)
{
    return (kstm_reads(s) || kstm_writes(s)) && s->buf && s->buf->space == KS_LOCAL;
}

static void note_access(Hazard *h, const KStm *s)
{
    Access *a = NEW(h->arena, Access);
    *a = (Access){.stm = s, .number = h->all.n, .at = expand(h, s->x[0])};
    a->offset = ptrmap_get(h->offsets, s->buf);
    for (int i = 0; i < h->around.n; i++) {
        Choice c = h->around.at[i];
        if (c.branch == 0)
            note_alone(h, a, expand(h, c.stm->x[0]));
        if (i < MOST_CHOICES)
            a->choices[a->n_choices++] = c;
    }
    vec_push(h->arena, &h->all, a);
    ptrmap_put(h->access, s, a);
}

static void note_block(Hazard *h, const KBlock *b);

static void note_stm(Hazard *h, const KStm *s)
{
    kstm_visit_exps(s, note_dims, h);
    if (s->kind == KST_LET)
        define(h, s);
    if (s->kind == KST_VIEW && s->x[0])
        ptrmap_put(h->offsets, s->buf, expand(h, s->x[0]));
    if (is_local_access(s))
        note_access(h, s);
    for (int k = 0; k < 2; k++) {
        if (s->kind == KST_IF)
            vec_push(h->arena, &h->around, ((Choice){s, k}));
        note_block(h, &s->body[k]);
        h->around.n -= s->kind == KST_IF;
    }
}

static void note_block(Hazard *h, const KBlock *b)
{
    for (int i = 0; i < b->n; i++)
        note_stm(h, b->at[i]);
}

/* --- The walk: which accesses may have come since the last barrier ---------------------------- */

static bool *pending_new(Hazard *h)
{
    return NEWN(h->arena, bool, h->all.n + 1);
}

static bool *pending_copy(Hazard *h, const bool *p)
{
    return arena_memdup(h->arena, p, sizeof *p * (size_t)(h->all.n + 1));
}

/* p := p or q; did that change it? */
static bool pending_join(const Hazard *h, bool *p, const bool *q)
{
    bool changed = false;
    for (int i = 0; i < h->all.n; i++) {
        changed |= q[i] && !p[i];
        p[i] |= q[i];
    }
    return changed;
}

static void pending_clear(const Hazard *h, bool *p)
{
    memset(p, 0, sizeof *p * (size_t)h->all.n);
}

static void wrong(Hazard *h, const KStm *s, const char *error)
{
    if (!h->error) {
        h->stm = s;
        h->error = error;
    }
}

static void access(Hazard *h, const KStm *s, bool *p)
{
    const Access *b = ptrmap_get(h->access, s);
    for (int i = 0; i < h->all.n; i++) {
        const Access *a = h->all.at[i];
        if (p[i] && conflict(h, a, b))
            wrong(h, s,
                  arena_printf(h->arena, "no barrier between this and another work-item's '%s'",
                               kstm_text(a->stm)));
    }
    p[b->number] = true;
}

static void walk_block(Hazard *h, const KBlock *b, bool *p);

static bool is_cpu(const KExp *x)
{
    return x->kind == KE_ID && x->id == KID_CPU;
}

static bool is_not_cpu(const KExp *x)
{
    return x->kind == KE_PRIM && x->op == OP_NOT && is_cpu(x->x[0]);
}

/* What is only for a group of one work-item does not count. */
static void walk_if(Hazard *h, const KStm *s, bool *p)
{
    bool *q = pending_copy(h, p);
    bool then = !is_cpu(s->x[0]), els = !is_not_cpu(s->x[0]);
    if (then)
        walk_block(h, &s->body[0], p);
    if (els)
        walk_block(h, &s->body[1], q);
    if (!then)
        pending_clear(h, p);
    if (els)
        pending_join(h, p, q);
}

static void walk_loop(Hazard *h, const KStm *s, bool *p)
{
    bool *in = pending_copy(h, p), *out;
    do {
        out = pending_copy(h, in);
        walk_block(h, &s->body[0], out);
    } while (pending_join(h, in, out));
    /* Without a turn, what came before stays. */
    if (s->post)
        pending_clear(h, p);
    pending_join(h, p, out);
}

static void walk_work(Hazard *h, const KStm *s, bool *p)
{
    bool *left = pending_new(h);
    ptrmap_put(h->exits, s, left);
    walk_block(h, &s->body[0], p);
    pending_join(h, p, left);
}

static void walk_barrier(Hazard *h, const KStm *s, bool *p)
{
    if (!kuniform_flow(h->uniform, s))
        wrong(h, s, "not all work-items of a group come here together");
    if (s->fence & 1u << KS_LOCAL)
        pending_clear(h, p);
}

static void walk_stm(Hazard *h, const KStm *s, bool *p)
{
    if (is_local_access(s))
        access(h, s, p);
    else if (s->kind == KST_BARRIER)
        walk_barrier(h, s, p);
    else if (s->kind == KST_IF)
        walk_if(h, s, p);
    else if (s->kind == KST_FOR || s->kind == KST_WHILE)
        walk_loop(h, s, p);
    else if (s->kind == KST_BLOCK)
        walk_block(h, &s->body[0], p);
    else if (s->kind == KST_WORK)
        walk_work(h, s, p);
    else if (s->kind == KST_LEAVE) {
        pending_join(h, ptrmap_get(h->exits, s->target), p);
        pending_clear(h, p); /* nothing follows */
    }
}

static void walk_block(Hazard *h, const KBlock *b, bool *p)
{
    for (int i = 0; i < b->n; i++)
        walk_stm(h, b->at[i], p);
}

const char *kir_hazard(Arena *a, const KFun *f, const KStm **at)
{
    Hazard *h = NEW(a, Hazard);
    *h = (Hazard){.arena = a,
                  .uniform = kuniform_of(a, f),
                  .defs = ptrmap_new(a),
                  .offsets = ptrmap_new(a),
                  .access = ptrmap_new(a),
                  .exits = ptrmap_new(a),
                  .dims = 1};
    note_block(h, &f->body);
    walk_block(h, &f->body, pending_new(h));
    *at = h->stm;
    return h->error;
}
