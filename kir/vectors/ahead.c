/* Loops ask for what arrays of positions say some turns ahead:
 *
 *     for i from lo to hi by 1 {                let ahead = max(lo, hi - AHEAD)
 *         load c = cols[i]                      for i from lo to ahead by 1 {
 *         if !(0 <= c && c < n) {                   load d = cols[i + AHEAD]
 *             fail 3 (c, n)              =>         prefetch x[d]
 *             leave w                               load c = cols[i]
 *         }                                         ..
 *         load v = x[c]                         }
 *         ..                                    for j from ahead to hi by 1 { as before }
 *     }
 *
 * A processor looks at some 30 turns of such a loop at once, and each branch in it makes them
 * fewer: what they wait for is memory. Only what a turn loads without a question is loaded ahead
 * (the turn for which it is comes, or something fails before), and only in loops with a branch (the
 * others become vectors) that write nothing (those, of which some read their neighbours' positions,
 * took 1.0 to 1.2 of the time). Sparse products of long rows take 0.6 to 0.7 of it.
 *
 * Before: a kernel on a target. After: well-formed. */
#include "kir/vectors/vectors.h"
#include "kir/walk.h"

enum { AHEAD = 16 /* turns */, MOST_COPIED = 64 /* statements */, MOST_PLACES = 4 };

typedef struct {
    Arena *arena;
    const KStm *loop;
    PtrMap *inside; /* variable that the loop binds -> its statement */
    PtrSet *own;    /* statements of the turn that are in no block in it */
    PtrSet *known;  /* those of them before which nothing is asked or done */
    int n;
    bool loops, branches, stores, views;
} Turn;

static bool note(void *env, KStm *s)
{
    Turn *t = env;
    KVar *v = kstm_def(s);
    if (v)
        ptrmap_put(t->inside, v, s);
    if (kstm_info[s->kind].flags & KF_SET)
        ptrmap_put(t->inside, s->var, s);
    if (s->kind == KST_HEAP)
        ptrmap_put(t->inside, s->top, s);
    t->views |= s->kind == KST_VIEW;
    t->n++;
    t->loops |= s->kind == KST_FOR || s->kind == KST_WHILE;
    t->branches |= s->kind == KST_IF;
    t->stores |= kstm_writes(s);
    return true;
}

/* What an expression needs. */
typedef struct {
    const Turn *turn;
    PtrSet *needed; /* statements */
    bool counts;    /* the number of the turn */
    bool loads;     /* what is at a place that counts */
    bool plain;     /* nothing that turns change, or that may not be done for a later one */
} Need;

static void need_exp(Need *n, const KExp *x);

static void need_stm(Need *n, const KStm *s)
{
    bool load = s->kind == KST_LOAD && ptrset_has(n->turn->known, s) && kstm_lanes(s) == 1;
    bool let = s->kind == KST_LET && ptrset_has(n->turn->own, s);
    n->plain &= (load || let) && !kstm_divides(s);
    if (!n->plain)
        return;
    Need place = {.turn = n->turn, .needed = n->needed, .plain = true};
    need_exp(&place, s->x[0]);
    ptrset_add(n->needed, s);
    n->plain = place.plain;
    n->counts |= place.counts;
    n->loads |= place.loads || (load && place.counts);
}

static void need_var(void *env, const KExp *x)
{
    Need *n = env;
    if (x->kind != KE_VAR || !n->plain)
        return;
    const KStm *s = ptrmap_get(n->turn->inside, x->var);
    n->counts |= x->var == n->turn->loop->var;
    if (s)
        need_stm(n, s);
}

static void need_exp(Need *n, const KExp *x)
{
    kexp_visit(x, need_var, n);
}

/* What a turn may wait for: loads whose place another load says. */
typedef struct {
    PtrSet *needed;
    VEC(const KStm *) places;
} Ahead;

/* One of each buffer: others are often neighbours of it. */
static bool is_asked(const Ahead *ahead, const KBuf *buf)
{
    bool found = ahead->places.n == MOST_PLACES;
    for (int i = 0; i < ahead->places.n; i++)
        found |= ahead->places.at[i]->buf == buf;
    return found;
}

static void find_places(const Turn *t, const KBlock *b, Ahead *ahead)
{
    for (int i = 0; i < b->n; i++) {
        const KStm *s = b->at[i];
        if (s->kind == KST_WORK)
            find_places(t, &s->body[0], ahead);
        if (s->kind != KST_LOAD || s->buf->space != KS_GLOBAL || is_asked(ahead, s->buf))
            continue;
        Need n = {.turn = t, .needed = ptrmap_new(t->arena), .plain = !kstm_divides(s)};
        need_exp(&n, s->x[0]);
        if (!n.plain || !n.loads)
            continue;
        for (int k = 0; (k = ptrmap_next(n.needed, k)) >= 0; k++)
            ptrset_add(ahead->needed, ptrmap_key(n.needed, k));
        vec_push(t->arena, &ahead->places, s);
    }
}

/* What is loaded for a later turn was not looked at: sums of it may be too large. */
static const KExp *wrapping(void *env, const KExp *x)
{
    bool exact = x->kind == KE_PRIM && x->exact && x->n == 2 && !x->type.index;
    return exact ? kx_prim2(env, x->op, x->x[0], x->x[1]) : x;
}

/* All of what is needed, for a later turn, and the places. */
static KBlock for_turn(KBuild *b, const Turn *t, const Ahead *ahead, const KExp *turn)
{
    KBlock all = {0};
    const KBlock *body = &t->loop->body[0];
    for (int i = 0; i < body->n; i++)
        if (ptrset_has(ahead->needed, body->at[i]))
            vec_push(b->arena, &all, body->at[i]);
    for (int i = 0; i < ahead->places.n; i++) {
        const KStm *load = ahead->places.at[i];
        KStm *s = NEW(b->arena, KStm);
        *s = (KStm){.kind = KST_PREFETCH, .loc = load->loc, .buf = load->buf, .x = {load->x[0]}};
        vec_push(b->arena, &all, s);
    }
    PtrMap *to = ptrmap_new(b->arena);
    ptrmap_put(to, t->loop->var, (void *)(uintptr_t)turn);
    all = kblock_copy(b, &all, to);
    kblock_map_exps(b->arena, &all, wrapping, b->arena);
    return all;
}

static void split(KBuild *b, const Turn *t, const Ahead *ahead, KStm *loop)
{
    Arena *a = b->arena;
    const KExp *by = kx_int(a, AHEAD), *lo = loop->x[0], *hi = loop->x[1];
    const KExp *more = kstm_has_turns(a, loop, by);
    const KExp *end = kb_let(b, "ahead", kx_select(a, more, kx_sub(a, hi, by), lo));
    KBlock one = {0};
    vec_push(a, &one, loop);
    KStm *rest = kblock_copy(b, &one, NULL).at[0];
    rest->x[0] = end;
    KBlock body = for_turn(b, t, ahead, kx_add(a, kx_var(a, loop->var), by));
    for (int i = 0; i < loop->body[0].n; i++)
        vec_push(a, &body, loop->body[0].at[i]);
    loop->x[1] = end;
    loop->body[0] = body;
    kb_push(b, loop);
    kb_push(b, rest);
}

static void note_own(Turn *t)
{
    const KBlock *b = &t->loop->body[0];
    bool known = true;
    for (int i = 0; i < b->n; i++) {
        known &= b->at[i]->kind == KST_LET || b->at[i]->kind == KST_LOAD;
        ptrset_add(t->own, b->at[i]);
        if (known)
            ptrset_add(t->known, b->at[i]);
    }
}

/* Has it surely no more turns than it would look ahead? */
static bool is_short(const KStm *loop)
{
    return kstm_turns(loop) && loop->x[1]->c.i - loop->x[0]->c.i <= AHEAD;
}

static void leave(void *env, KBuild *b, KStm *s)
{
    (void)env;
    bool counts = s->kind == KST_FOR && !s->doubling && s->unroll == 0 && kx_is_int(s->x[2], 1) &&
                  s->var->type.elem == T_I64 && !s->var->type.index && !kexp_changes(s->x[0]) &&
                  !kexp_changes(s->x[1]) && !is_short(s);
    Turn t = {.arena = b->arena, .loop = s};
    Ahead ahead = {0};
    if (counts) {
        t.inside = ptrmap_new(b->arena);
        t.own = ptrmap_new(b->arena);
        t.known = ptrmap_new(b->arena);
        ahead.needed = ptrmap_new(b->arena);
        kblock_visit(&s->body[0], &(KVisitor){.env = &t, .enter = note});
        note_own(&t);
        if (t.branches && !t.loops && !t.stores && !t.views && t.n <= MOST_COPIED)
            find_places(&t, &s->body[0], &ahead);
    }
    if (ahead.places.n > 0)
        split(b, &t, &ahead, s);
    else
        kb_push(b, s);
}

void kir_load_ahead(Arena *a, KFun *f)
{
    kblock_rewrite(kb_more(a, f), &f->body, &(KRewriter){.env = NULL, .leave = leave});
}
