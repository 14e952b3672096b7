/* Loops of CPUs that are split in two, so that one becomes vectors.
 *
 * Loops that scatter: what an element writes, and where, is computed for a block of elements before
 * it is written.
 *
 *     for i in from .. to              for base in from, BLOCK .. to
 *         ..                               for k in 0 .. min(BLOCK, to - base)
 *         if cond                              ..
 *             xs[at] = x           =>          ats[k] = cond ? at : -1;  values[k] = x
 *                                          for k in 0 .. min(BLOCK, to - base)
 *                                              if 0 <= ats[k]
 *                                                  xs[ats[k]] = values[k]
 *
 * The first loop becomes vectors, with the branches in it, half of which would often be guessed
 * wrong; the second has none (target/native.c). Only where something branches, and what is written
 * is not read in the loop.
 *
 * Loops that look at neighbours: elements whose neighbours are all there have a loop of their own,
 * in which nothing asks for the edges.
 *
 *     for i in from .. to                    for part in 0 .. 3
 *         .. xs[max(i - 1, 0)]                   if part == 1
 *         .. xs[min(i + 1, n - 1)]   =>              for i in lo .. hi
 *                                                        .. xs[i - 1] .. xs[i + 1]
 *                                                else
 *                                                    for i in from .. lo, or hi .. to
 *                                                        .. as before
 *
 * lo: the first i with 0 <= i - 1, hi: the first behind those with i + 1 <= n - 1, within the loop.
 * What compares i with an edge, as rotations do, has one answer for all i on one side: the middle
 * is the longer one.
 *
 *     if i < k                               behind = k - from < to - k
 *         j = i + (n - k)                    lo = behind ? k : from, hi = behind ? to : k
 *     else                          =>       if !behind
 *         j = i - k                              j = i + (n - k)
 *     .. xs[j]                                   ..
 *
 * That is for vectors alone: a loop that carries values from turn to turn keeps its comparisons.
 * The order of turns stays. What both are worth: bench/results/decisions.md. */
#include "kir/vectors/vectors.h"
#include "kir/walk.h"

/* --- Scatters --------------------------------------------------------------------------------- */

enum { BLOCK = 128 };

typedef struct {
    const KBuf *to;
    bool branches, plain;
} Scatter;

static bool note(void *env, KStm *s)
{
    Scatter *w = env;
    switch (s->kind) {
    case KST_IF: w->branches = true; return true;
    case KST_LOAD: w->plain &= !kbuf_overlap(s->buf, w->to); return true;
    case KST_LET:
    case KST_VAR:
    case KST_SET:
    case KST_BLOCK: return true;
    default: w->plain = false; return false;
    }
}

/* The store at the end of the loop, if something is stored; NULL: it is another loop. */
static const KStm *scattered(const KStm *loop)
{
    const KBlock *b = &loop->body[0];
    const KStm *last = b->n > 0 ? b->at[b->n - 1] : NULL;
    if (loop->doubling || !kx_is_int(loop->x[2], 1) || !last || last->kind != KST_IF ||
        last->body[0].n != 1 || last->body[1].n > 0)
        return NULL;
    const KStm *st = last->body[0].at[0];
    bool one = st->kind == KST_STORE && st->buf->space == KS_GLOBAL && st->x[1]->type.lanes == 1;
    return one ? st : NULL;
}

static bool pays(const KStm *loop, const KStm *st)
{
    KBlock before = loop->body[0];
    before.n--;
    Scatter w = {st->buf, false, true};
    kblock_visit(&before, &(KVisitor){.env = &w, .enter = note});
    return w.branches && w.plain;
}

/* The loop over a block's elements. */
static const KExp *open_block(KBuild *b, const KStm *loop, const KExp *base)
{
    Arena *a = b->arena;
    const KExp *left = kx_exact(a, OP_SUB, loop->x[1], base), *most = kx_int(a, BLOCK);
    const KExp *n = kb_let(b, "n", kx_prim2(a, OP_MIN, most, left));
    return kb_for(b, "k", kx_int(a, 0), n, kx_int(a, 1));
}

static void split_scatter(KBuild *b, const KStm *loop)
{
    Arena *a = b->arena;
    PrimType elem = scattered(loop)->buf->elem;
    KBuf *ats = kb_array(b, "ats", T_I64, BLOCK), *values = kb_array(b, "values", elem, BLOCK);
    const KExp *base = kb_for(b, "base", loop->x[0], loop->x[1], kx_int(a, BLOCK));
    const KExp *k = open_block(b, loop, base);
    PtrMap *to = ptrmap_new(a);
    ptrmap_put(to, loop->var, kb_let(b, "i", kx_exact(a, OP_ADD, base, k)));
    KBlock copy = kblock_copy(b, &loop->body[0], to);
    for (int i = 0; i < copy.n - 1; i++)
        kb_push(b, copy.at[i]);
    const KStm *last = copy.at[copy.n - 1], *st = last->body[0].at[0];
    const KExp *at =
        kx_select(a, last->x[0], kx_conv(a, T_I64, st->x[0]), kx_conv(a, T_I64, kx_int(a, -1)));
    kb_store(b, ats, k, at);
    kb_store(b, values, k, st->x[1]);
    kb_end(b);
    k = open_block(b, loop, base);
    at = kb_let(b, "at", kx_index(a, kb_load(b, "at", ats, k)));
    const KExp *x = kb_load(b, "x", values, k);
    kb_if(b, kx_prim2(a, OP_LE, kx_int(a, 0), at));
    kb_store(b, st->buf, at, x);
    kb_end(b);
    kb_end(b);
    kb_end(b);
}

static void leave_scatter(void *env, KBuild *b, KStm *s)
{
    (void)env;
    const KStm *st = s->kind == KST_FOR ? scattered(s) : NULL;
    if (st && pays(s, st))
        split_scatter(b, s);
    else
        kb_push(b, s);
}

void kir_split_scatters(Arena *a, KFun *f)
{
    if (f->alone)
        kblock_rewrite(kb_more(a, f), &f->body, &(KRewriter){.env = NULL, .leave = leave_scatter});
}

/* --- Edges ------------------------------------------------------------------------------------ */

enum { MOST_STMS = 64, MOST_APART = 64, PARTS = 3 };

typedef struct {
    KBuild *b;
    const KStm *loop;
    const KVar *i;       /* its counter, in the copy that gets no edges */
    PtrMap *lets;        /* KVar -> the value of its LET in the loop */
    PtrSet *bound;       /* variables bound in the loop */
    bool carries;        /* do elements wait for those before? */
    const KExp *lo, *hi; /* so far; NULL: there is none */
} Edges;

typedef struct {
    bool straight;
    int n;
} Straight;

static bool note_kind(void *env, KStm *s)
{
    Straight *w = env;
    bool own = s->kind == KST_LET || s->kind == KST_VAR || s->kind == KST_SET ||
               s->kind == KST_LOAD || s->kind == KST_STORE || s->kind == KST_IF ||
               s->kind == KST_BLOCK;
    w->straight &= own;
    return ++w->n <= MOST_STMS && own;
}

static bool is_straight(const KStm *s)
{
    Straight w = {true, 0};
    if (s->kind != KST_FOR || s->doubling || !kx_is_int(s->x[2], 1))
        return false;
    kblock_visit(&s->body[0], &(KVisitor){.env = &w, .enter = note_kind});
    return w.straight && w.n <= MOST_STMS;
}

static const KExp *named(const Edges *w, const KExp *x)
{
    const KExp *let;
    while (x->kind == KE_VAR && (let = ptrmap_get(w->lets, x->var)))
        x = let;
    return x;
}

/* Is it i + by? */
static bool is_beside(const Edges *w, const KExp *x, int64_t *by)
{
    x = named(w, x);
    *by = 0;
    if (x->kind == KE_VAR)
        return x->var == w->i;
    if (x->kind != KE_PRIM || (x->op != OP_ADD && x->op != OP_SUB))
        return false;
    const KExp *v = named(w, x->x[0]), *c = x->x[1];
    if (x->op == OP_ADD && v->kind == KE_CONST) {
        c = v;
        v = named(w, x->x[1]);
    }
    if (v->kind != KE_VAR || v->var != w->i || c->kind != KE_CONST || c->c.i < -MOST_APART ||
        c->c.i > MOST_APART)
        return false;
    *by = x->op == OP_ADD ? c->c.i : -c->c.i;
    return true;
}

static bool is_steady(const Edges *w, const KExp *x)
{
    return x->kind == KE_CONST ||
           (x->kind == KE_VAR && !x->var->mutable_ && !ptrset_has(w->bound, x->var));
}

/* The edge, or what is as far off, near enough to the loop that the next sums do not wrap. */
static const KExp *near(const Edges *w, const KExp *edge)
{
    Arena *a = w->b->arena;
    const KExp *off = kx_int(a, 2 * MOST_APART);
    if (edge->kind == KE_CONST && edge->c.i >= -MOST_APART && edge->c.i <= MOST_APART)
        return edge;
    edge = kx_prim2(a, OP_MIN, edge, kx_exact(a, OP_ADD, w->loop->x[1], off));
    return kx_prim2(a, OP_MAX, edge, kx_exact(a, OP_SUB, w->loop->x[0], off));
}

static void begin_behind(Edges *w, const KExp *lo)
{
    w->lo = w->lo ? kx_prim2(w->b->arena, OP_MAX, w->lo, lo) : lo;
}

static void end_before(Edges *w, const KExp *hi)
{
    w->hi = w->hi ? kx_prim2(w->b->arena, OP_MIN, w->hi, hi) : hi;
}

/* max(i + by, edge) is i + by from edge - by on, min(i + by, edge) before edge - by + 1. There
 * i + by is no number that wraps around: vectors need to know. */
static const KExp *without_clamp(Edges *w, PrimOp op, const KExp *edge, int64_t by)
{
    Arena *a = w->b->arena;
    edge = near(w, edge);
    if (op == OP_MAX)
        begin_behind(w, kx_exact(a, OP_SUB, edge, kx_int(a, by)));
    else
        end_before(w, kx_exact(a, OP_SUB, edge, kx_int(a, by - 1)));
    return kx_exact(a, OP_ADD, kx_var(a, w->i), kx_int(a, by));
}

/* Leaves i from `cut` on in the middle, or those before, whichever are more, and `cut` itself in
 * neither if it is `only` that one which differs. Is it those from there on? */
static const KExp *longer_side(Edges *w, const KExp *cut, bool only)
{
    Arena *a = w->b->arena;
    const KExp *from = w->loop->x[0], *to = w->loop->x[1];
    if (cut->kind != KE_CONST)
        cut = kb_let(w->b, "cut", cut);
    const KExp *ahead = kx_exact(a, OP_SUB, cut, from), *left = kx_exact(a, OP_SUB, to, cut);
    const KExp *behind = kb_let(w->b, "behind", kx_lt(a, ahead, left));
    const KExp *first = only ? kx_exact(a, OP_ADD, cut, kx_int(a, 1)) : cut;
    begin_behind(w, kx_select(a, behind, first, from));
    end_before(w, kx_select(a, behind, to, cut));
    return behind;
}

/* What i + by `op` edge is in the middle, or edge `op` i + by if the edge is on the left. */
static const KExp *without_comparison(Edges *w, PrimOp op, const KExp *edge, int64_t by, bool left)
{
    Arena *a = w->b->arena;
    const KExp *cut = kx_exact(a, OP_SUB, near(w, edge), kx_int(a, by));
    if (op == OP_EQ) {
        longer_side(w, cut, true);
        return kx_bool(a, false);
    }
    if ((op == OP_LT) == left)
        cut = kx_exact(a, OP_ADD, cut, kx_int(a, 1));
    const KExp *behind = longer_side(w, cut, false);
    return left ? behind : kx_not(a, behind);
}

/* What an expression of the loop is for the elements in the middle. */
static const KExp *within(void *env, const KExp *x)
{
    Edges *w = env;
    bool clamps = x->kind == KE_PRIM && (x->op == OP_MAX || x->op == OP_MIN);
    bool compares =
        x->kind == KE_PRIM && !w->carries && (x->op == OP_LT || x->op == OP_LE || x->op == OP_EQ);
    int64_t by;
    if ((!clamps && !compares) || x->x[0]->type.elem != T_I64)
        return x;
    for (int k = 0; k < 2; k++)
        if (is_steady(w, x->x[1 - k]) && is_beside(w, x->x[k], &by))
            return clamps ? without_clamp(w, x->op, x->x[1 - k], by)
                          : without_comparison(w, x->op, x->x[1 - k], by, k == 1);
    return x;
}

/* What is bound comes before what changes it. */
static bool note_bound(void *env, KStm *s)
{
    Edges *w = env;
    w->carries |= s->kind == KST_SET && !ptrset_has(w->bound, s->var);
    if (kstm_def(s))
        ptrset_add(w->bound, kstm_def(s));
    return true;
}

static bool drop_edges(void *env, KStm *s)
{
    Edges *w = env;
    kstm_map_exps(w->b->arena, s, within, w);
    if (s->kind == KST_LET)
        ptrmap_put(w->lets, s->var, s->x[0]);
    return true;
}

/* s, whose copy `middle` has no edges. */
static void split_edges(KBuild *b, KStm *s, KStm *middle, const Edges *w)
{
    Arena *a = b->arena;
    const KExp *from = s->x[0], *to = s->x[1];
    const KExp *lo = w->lo ? kx_prim2(a, OP_MAX, from, w->lo) : from;
    lo = kb_let(b, "lo", kx_prim2(a, OP_MIN, lo, to));
    const KExp *hi = w->hi ? kx_prim2(a, OP_MIN, to, w->hi) : to;
    hi = kb_let(b, "hi", kx_prim2(a, OP_MAX, lo, hi));
    const KExp *part = kb_for(b, "part", kx_int(a, 0), kx_int(a, PARTS), kx_int(a, 1));
    kb_if(b, kx_eq(a, part, kx_int(a, 1)));
    middle->x[0] = lo;
    middle->x[1] = hi;
    kb_push(b, middle);
    kb_else(b);
    const KExp *first = kx_eq(a, part, kx_int(a, 0));
    s->x[0] = kx_select(a, first, from, hi);
    s->x[1] = kx_select(a, first, lo, to);
    kb_push(b, s);
    kb_end(b);
    kb_end(b);
}

static void leave_edges(void *env, KBuild *b, KStm *s)
{
    (void)env;
    Arena *a = b->arena;
    if (!is_straight(s)) {
        kb_push(b, s);
        return;
    }
    KBlock one = {0};
    vec_push(a, &one, s);
    KStm *middle = kblock_copy(b, &one, NULL).at[0];
    Edges w = {b, s, middle->var, ptrmap_new(a), ptrmap_new(a), false, NULL, NULL};
    kblock_visit(&middle->body[0], &(KVisitor){.env = &w, .enter = note_bound});
    kblock_visit(&middle->body[0], &(KVisitor){.env = &w, .enter = drop_edges});
    if (w.lo || w.hi)
        split_edges(b, s, middle, &w);
    else
        kb_push(b, s);
}

void kir_split_edges(Arena *a, KFun *f)
{
    if (f->alone)
        kblock_rewrite(kb_more(a, f), &f->body, &(KRewriter){.env = NULL, .leave = leave_edges});
}
