/* Loops that hand their elements on become one: what a work-item computes in its turn, and reads
 * back in its turn of the next loop, needs no memory and no barrier in between.
 *
 *     for j from lid to n by group_size {               for j from lid to n by group_size {
 *         if c { v = -1 } else { .. v = f(a, j) }           if c {} else { .. a[p] = f(a, j) }
 *         places[j] = ..; values[j] = v             =>  }
 *     }
 *     barrier
 *     for j from lid to n by group_size {
 *         if 0 <= places[j] { a[places[j]] = values[j] }
 *     }
 *
 * So a scatter comes together with the map that finds its places and values, although that reads
 * what the scatter overwrites: all that one loop touches and the other one writes is at positions
 * that are the same for no two turns, k * j + c and k * j + c' with c - c' no multiple of k but 0.
 * What stands in the second loop under a condition which one branch of the first rules out goes
 * into the other branch, where the positions are known.
 *
 * Barriers stay before and behind; `barriers` takes those that order nothing.
 *
 * Before: a kernel as made, with its FRESHs. After: well-formed; arrays that are handed on alone
 * are not accessed. */
#include "kir/facts/dealt.h"
#include "kir/facts/position.h"
#include "kir/facts/uniform.h"
#include "kir/passes/passes.h"
#include "kir/walk.h"

typedef struct {
    Arena *arena;
    KFun *fun;
    KBuild *b;
    const KInfo *info; /* of the kernel as it is */
    PtrMap *accesses;  /* KBuf -> how many statements are about it, as a pointer */
} Together;

/* Two loops, and what stands between them. */
typedef struct {
    int first, second;
    KDealtLoop a, b;
} Pair;

/* --- What may be in such loops --- */

static bool note_other(void *env, KStm *s)
{
    bool known = s->kind == KST_LET || s->kind == KST_VAR || s->kind == KST_SET ||
                 s->kind == KST_IF || s->kind == KST_LOAD || s->kind == KST_STORE ||
                 s->kind == KST_WORK || s->kind == KST_LEAVE || s->kind == KST_FAIL ||
                 s->kind == KST_COMMENT;
    *(bool *)env |= !known;
    return true;
}

static bool is_straight(const KBlock *b)
{
    bool other = false;
    kblock_visit(b, &(KVisitor){.env = &other, .enter = note_other});
    return !other;
}

/* Names are unique, so what only has bounds is spliced in. */
static void splice(Together *w, const KBlock *from, KBlock *to)
{
    for (int i = 0; i < from->n; i++) {
        KStm *s = from->at[i];
        if (s->kind == KST_WORK && !kir_leaves(&s->body[0], s))
            splice(w, &s->body[0], to);
        else if (s->kind == KST_IF && s->x[0]->kind == KE_CONST)
            splice(w, &s->body[s->x[0]->c.i ? 0 : 1], to);
        else
            vec_push(w->arena, to, s);
    }
}

/* --- What is handed on --- */

static int n_accesses(const Together *w, const KBuf *b)
{
    return (int)(uintptr_t)ptrmap_get(w->accesses, b);
}

static bool count_access(void *env, KStm *s)
{
    Together *w = env;
    if (kstm_reads(s) || kstm_writes(s)) {
        const KBuf *b = kbuf_root(s->buf);
        ptrmap_put(w->accesses, b, (const void *)(uintptr_t)(n_accesses(w, b) + 1));
    }
    return true;
}

static bool sets_later(const KBlock *b, int from, const KExp *x)
{
    if (x->kind == KE_VAR) {
        for (int i = from; i < b->n && x->var->mutable_; i++)
            if (kstm_sets(b->at[i], x->var) || kblock_sets(&b->at[i]->body[0], x->var) ||
                kblock_sets(&b->at[i]->body[1], x->var))
                return true;
        return false;
    }
    for (int i = 0; i < x->n; i++)
        if (sets_later(b, from, x->x[i]))
            return true;
    return false;
}

/* One body after the other: the first n_first statements are of the first loop. */
typedef struct {
    KBlock all;
    int n_first;
} Joined;

/* An array of which the first loop stores an element in each turn, and which the rest of the kernel
 * only loads in the second one, each in its turn. */
typedef struct {
    const KBuf *buf;
    bool in_second;
    int n, loads; /* accesses that were seen */
    Poly at;
    KPositions *positions;
    bool ok;
} Handed;

static bool note_handed(void *env, KStm *s)
{
    Handed *h = env;
    if (!(kstm_reads(s) || kstm_writes(s)) || kbuf_root(s->buf) != h->buf)
        return true;
    int64_t by = 0;
    Poly at = kposition(h->positions, s->x[0]);
    h->n++;
    h->loads += s->kind == KST_LOAD;
    h->ok &= s->kind == (h->in_second ? KST_LOAD : KST_STORE) && !s->buf->of &&
             kstm_lanes(s) == 1 && kposition_distance(&h->at, &at, &by) && by == 0;
    return true;
}

static void note_in(Together *w, Handed *h, KStm *s)
{
    KBlock alone = {0};
    vec_push(w->arena, &alone, s);
    kblock_visit(&alone, &(KVisitor){.env = h, .enter = note_handed});
}

/* Is statement i the last store to such an array? Those before it are there for turns that fail. */
static bool is_handed(Together *w, KPositions *ps, const Joined *b, int i)
{
    const KStm *s = b->all.at[i];
    if (s->kind != KST_STORE || s->buf->of || s->buf->space != KS_LOCAL || kstm_lanes(s) != 1 ||
        sets_later(&b->all, i, s->x[1]))
        return false;
    Handed h = {.buf = s->buf, .at = kposition(ps, s->x[0]), .positions = ps, .ok = true};
    for (int k = 0; k < b->all.n; k++) {
        int seen = h.n;
        bool stores = b->all.at[k]->kind == KST_STORE && b->all.at[k]->buf == s->buf;
        h.in_second = k >= b->n_first;
        note_in(w, &h, b->all.at[k]);
        h.ok &= h.in_second || h.n == seen || (stores && k <= i);
    }
    return h.ok && h.loads > 0 && h.n == n_accesses(w, s->buf);
}

typedef struct {
    const KBuf *buf;
    const KExp *x;
} Instead;

static void replace(void *env, KBuild *b, KStm *s)
{
    const Instead *in = env;
    bool about = (kstm_reads(s) || kstm_writes(s)) && s->buf == in->buf;
    if (!about)
        kb_push(b, s);
    else if (s->kind == KST_LOAD)
        kb_let_var(b, s->var, in->x);
}

/* Takes the stores to the array away, and the loads of what statement i stores. */
static void hand_on(Together *w, Joined *b, int i)
{
    const KStm *s = b->all.at[i];
    for (int k = 0, n = b->n_first; k < n; k++)
        b->n_first -= b->all.at[k]->kind == KST_STORE && b->all.at[k]->buf == s->buf;
    Instead in = {s->buf, s->x[1]};
    kblock_rewrite(w->b, &b->all, &(KRewriter){.env = &in, .leave = replace});
}

static bool hand_all(Together *w, Joined *b, KStm *loop)
{
    bool any = false;
    for (int i = b->n_first - 1; i >= 0; i--) {
        KFun f = {.params = w->fun->params}; /* the statements are in no kernel yet */
        vec_push(w->arena, &f.body, loop);
        vec_append(w->arena, &f.body, &b->all);
        if (i < b->n_first && is_handed(w, kpositions_new(w->arena, &f), b, i)) {
            hand_on(w, b, i);
            any = true;
        }
    }
    return any;
}

/* --- Into the branch that matters --- */

/* What the branch leaves in the variables that it sets; NULL: it is not known. */
static PtrMap *results_of(Together *w, const KBlock *branch)
{
    PtrMap *to = ptrmap_new(w->arena);
    for (int i = branch->n - 1; i >= 0 && branch->at[i]->kind == KST_SET; i--) {
        const KStm *s = branch->at[i];
        if (kexp_changes(s->x[0]) || ptrmap_get(to, s->var))
            return NULL;
        ptrmap_put(to, s->var, s->x[0]);
    }
    return to;
}

/* Is nothing done by what follows from statement i on, where variables are what `to` says? */
static bool is_idle(Together *w, const KBlock *b, int i, const PtrMap *known)
{
    PtrMap *to = ptrmap_copy(w->arena, known);
    for (; i < b->n; i++) {
        const KStm *s = b->at[i];
        const KExp *x = s->x[0] ? kexp_subst(w->arena, s->x[0], to) : NULL;
        if (s->kind == KST_LET)
            ptrmap_put(to, s->var, x);
        else if (s->kind != KST_LOAD &&
                 !(s->kind == KST_IF && kx_is_int(x, 0) && s->body[1].n == 0))
            return false;
    }
    return true;
}

/* What follows an IF, and does nothing after one of its branches, goes to the end of the other. */
static void sink(Together *w, Joined *b)
{
    for (int i = 0; i < b->n_first; i++) {
        KStm *s = b->all.at[i];
        if (s->kind != KST_IF)
            continue;
        for (int k = 0; k < 2; k++) {
            PtrMap *idle = results_of(w, &s->body[k]), *to = results_of(w, &s->body[1 - k]);
            if (!idle || !to || !is_idle(w, &b->all, i + 1, idle))
                continue;
            KBlock rest = {0};
            for (int j = i + 1; j < b->all.n; j++)
                vec_push(w->arena, &rest, b->all.at[j]);
            kblock_subst(w->arena, &rest, to);
            vec_append(w->arena, &s->body[1 - k], &rest);
            b->all.n = i + 1;
            return;
        }
    }
}

/* --- Who meets whom --- */

typedef struct {
    Arena *arena;
    const PtrSet *second; /* accesses of the second loop */
    VEC(const KStm *) first_accesses, second_accesses;
    PtrSet *bound; /* variables that the loop binds or changes */
} Accesses;

static bool is_shared(const KStm *s)
{
    return (kstm_reads(s) || kstm_writes(s)) && s->buf->space != KS_PRIVATE;
}

static bool note_second(void *env, KStm *s)
{
    if (is_shared(s))
        ptrset_add(env, s);
    return true;
}

static bool note_access(void *env, KStm *s)
{
    Accesses *acc = env;
    if (s->var)
        ptrset_add(acc->bound, s->var);
    if (is_shared(s) && ptrset_has(acc->second, s))
        vec_push(acc->arena, &acc->second_accesses, s);
    else if (is_shared(s))
        vec_push(acc->arena, &acc->first_accesses, s);
    return true;
}

typedef struct {
    const Accesses *acc;
    const KUniform *uniform;
    bool fixed;
} Fixed;

static void find_bound(void *env, const KExp *x)
{
    Fixed *f = env;
    f->fixed &= x->kind != KE_VAR || !ptrset_has(f->acc->bound, x->var);
}

/* Is a part of a position the same for all work-items and turns? */
static bool is_fixed(const Accesses *acc, const KUniform *u, const KExp *x)
{
    Fixed f = {acc, u, kuniform_exp(u, x) && !kexp_changes(x)};
    kexp_visit(x, find_bound, &f);
    return f.fixed;
}

/* By how much the position grows from turn to turn, each of which has a number j, a sum of leaves;
 * 0: it is not known. */
static int64_t factor_of(const Accesses *acc, const KUniform *u, const KPositions *ps,
                         const Poly *at, const Poly *j)
{
    Poly rest = *at;
    int64_t k = kposition_factor(at, j->t[0].leaves[0]);
    if (!k || !poly_add(&rest, j, -k))
        return 0;
    for (int i = 0; i < rest.n; i++)
        for (int m = 0; m < POLY_DEGREE && rest.t[i].leaves[m]; m++)
            if (!is_fixed(acc, u, kposition_leaf(ps, rest.t[i].leaves[m])))
                return 0;
    return k;
}

static bool is_plain(const KStm *s)
{
    return (s->kind == KST_LOAD || s->kind == KST_STORE) && !s->buf->of && kstm_lanes(s) == 1;
}

/* May two different turns find the same element? */
static bool may_meet(const Accesses *acc, const KUniform *u, KPositions *ps, const KExp *j,
                     const KStm *s, const KStm *t)
{
    if (!(kstm_writes(s) || kstm_writes(t)) || !kbuf_overlap(s->buf, t->buf))
        return false;
    if (!is_plain(s) || !is_plain(t) || s->buf != t->buf)
        return true;
    Poly x = kposition(ps, s->x[0]), y = kposition(ps, t->x[0]), turn = kposition(ps, j);
    int64_t k = factor_of(acc, u, ps, &x, &turn);
    return factor_of(acc, u, ps, &y, &turn) != k || !kposition_turns_apart(&x, &y, k);
}

/* Of the loop, which stands in the kernel now: need its turns no order but that of a work-item's
 * own? */
static bool turns_apart(Together *w, const KDealtLoop *loop, const PtrSet *second)
{
    KPositions *ps = kpositions_new(w->arena, w->fun);
    const KUniform *u = kuniform_of(w->arena, w->fun);
    Accesses acc = {.arena = w->arena, .second = second, .bound = ptrmap_new(w->arena)};
    ptrset_add(acc.bound, loop->loop->var);
    kblock_visit(&loop->loop->body[0], &(KVisitor){.env = &acc, .enter = note_access});
    for (int i = 0; i < acc.first_accesses.n; i++)
        for (int k = 0; k < acc.second_accesses.n; k++)
            if (may_meet(&acc, u, ps, loop->j, acc.first_accesses.at[i], acc.second_accesses.at[k]))
                return false;
    return true;
}

/* --- Pairs --- */

static bool stands_between(const KStm *s)
{
    return s->kind == KST_BARRIER || s->kind == KST_FRESH || s->kind == KST_COMMENT;
}

typedef struct {
    const KBuf *buf;
    int loads, stores;
} Counted;

static bool count_on(void *env, KStm *s)
{
    Counted *c = env;
    if ((kstm_reads(s) || kstm_writes(s)) && kbuf_root(s->buf) == c->buf) {
        c->loads += s->kind == KST_LOAD;
        c->stores += s->kind != KST_LOAD;
    }
    return true;
}

static Counted counted(const KBlock *b, const KBuf *buf)
{
    Counted c = {buf, 0, 0};
    kblock_visit(b, &(KVisitor){.env = &c, .enter = count_on});
    return c;
}

typedef struct {
    const Together *w;
    const Pair *p;
    bool found;
} Hands;

static bool find_handed(void *env, KStm *s)
{
    Hands *h = env;
    if (s->kind == KST_STORE && s->buf->space == KS_LOCAL)
        h->found |= counted(h->p->a.body, s->buf).stores + counted(h->p->b.body, s->buf).loads ==
                    n_accesses(h->w, s->buf);
    return true;
}

/* Is there an array that only goes from one loop to the other? */
static bool hands(const Together *w, const Pair *p)
{
    Hands h = {w, p, false};
    kblock_visit(p->a.body, &(KVisitor){.env = &h, .enter = find_handed});
    return h.found;
}

/* The pair that begins with statement i. */
static bool find_pair(Together *w, const KBlock *b, int i, Pair *p)
{
    *p = (Pair){.first = i, .second = i + 1};
    if (!kdealt_loop(w->arena, w->info, b->at[i], &p->a))
        return false;
    while (p->second < b->n && stands_between(b->at[p->second])) {
        const KStm *s = b->at[p->second++];
        Counted c = s->kind == KST_FRESH ? counted(p->a.body, s->buf) : (Counted){0};
        if (c.loads + c.stores > 0)
            return false;
    }
    if (p->second == b->n || !kdealt_loop(w->arena, w->info, b->at[p->second], &p->b))
        return false;
    const KExp *total = p->a.loop->x[1];
    return !p->a.more && !p->b.more && kx_same(total, p->b.loop->x[1]) && !kexp_changes(total) &&
           is_straight(p->a.body) && is_straight(p->b.body) && hands(w, p);
}

/* Where the first body goes on: in a WORK at its end, which turns that fail leave. */
static KBlock *innermost(Together *w, KBlock *b)
{
    KBlock all = {0};
    splice(w, b, &all);
    *b = all;
    return b->n > 0 && vec_last(b)->kind == KST_WORK ? innermost(w, &vec_last(b)->body[0]) : b;
}

/* for base from 0 to n by group_size { let j = base + local_id; if j < n {} }: in kernels that are
 * built for their sizes compilers know how many turns this has, where j alone counts they do not
 * (NW's 63 waves on an H200: 11 us, 7 this way). */
static KDealtLoop loop_like(Together *w, const KStm *s)
{
    Arena *a = w->arena;
    KBlock one = {0};
    kb_into(w->b, &one);
    const KExp *base = kb_for(w->b, "base", kx_int(a, 0), s->x[1], kx_id(a, KID_GROUP_SIZE));
    vec_last(&one)->unroll = s->unroll;
    const KExp *j = kb_let(w->b, "j", kx_add(a, base, kx_id(a, KID_LOCAL)));
    kb_if(w->b, kx_lt(a, j, s->x[1]));
    KDealtLoop loop = {.loop = one.at[0], .j = j, .body = kb_block(w->b)};
    kb_end(w->b);
    kb_end(w->b);
    w->b->open.n--;
    return loop;
}

/* The one loop, which is in no kernel yet, and the accesses that it has of the second one; no
 * `loop`: nothing is handed on. */
static KDealtLoop joined_loop(Together *w, const Pair *p, PtrSet *second)
{
    KDealtLoop loop = loop_like(w, p->a.loop);
    PtrMap *to = ptrmap_new(w->arena);
    ptrmap_put(to, p->a.j->var, loop.j);
    ptrmap_put(to, p->b.j->var, loop.j);
    *loop.body = kblock_copy(w->b, p->a.body, to);
    KBlock after = kblock_copy(w->b, p->b.body, to);
    kblock_visit(&after, &(KVisitor){.env = second, .enter = note_second});
    KBlock *body = innermost(w, loop.body);
    Joined b = {*body, body->n};
    splice(w, &after, &b.all);
    if (!hand_all(w, &b, loop.loop))
        return (KDealtLoop){0};
    sink(w, &b);
    *body = b.all;
    return loop;
}

/* The block with the loop in the pair's stead, barriers around it. */
static KBlock with_loop(Together *w, const KBlock *b, const Pair *p, KStm *loop)
{
    KBlock to = {0};
    for (int i = 0; i < b->n; i++) {
        KStm *s = b->at[i];
        if (i < p->first || i > p->second ||
            (i != p->first && i != p->second && s->kind != KST_BARRIER))
            vec_push(w->arena, &to, s);
        if (i != p->second)
            continue;
        kb_into(w->b, &to);
        kb_meet(w->b, 1u << KS_LOCAL | 1u << KS_GLOBAL);
        kb_push(w->b, loop);
        kb_meet(w->b, 1u << KS_LOCAL | 1u << KS_GLOBAL);
        w->b->open.n--;
    }
    return to;
}

static void look_again(Together *w)
{
    w->info = kinfo_of(w->arena, &w->fun->body);
    w->accesses = ptrmap_new(w->arena);
    kblock_visit(&w->fun->body, &(KVisitor){.env = w, .enter = count_access});
}

static bool join(Together *w, KBlock *b, const Pair *p)
{
    PtrSet *second = ptrmap_new(w->arena);
    KDealtLoop loop = joined_loop(w, p, second);
    if (!loop.loop)
        return false;
    KBlock was = *b;
    *b = with_loop(w, b, p, loop.loop);
    if (!turns_apart(w, &loop, second)) {
        *b = was;
        return false;
    }
    look_again(w);
    return true;
}

static void walk(Together *w, KBlock *b)
{
    Pair p;
    for (int i = 0; i < b->n; i++) {
        if (find_pair(w, b, i, &p) && join(w, b, &p))
            i = p.first - 1; /* what the loop hands on to the next one */
        else
            for (int k = 0; k < 2; k++)
                walk(w, &b->at[i]->body[k]);
    }
}

void kir_fuse_loops(Arena *a, KFun *f)
{
    Together w = {.arena = a, .fun = f, .b = kb_more(a, f)};
    look_again(&w);
    walk(&w, &f->body);
}
