/* Local buffers of which never two hold what is needed become one: less local memory, more groups
 * at once. Makers take a buffer for each array and say where its contents begin (FRESH).
 *
 * Between two barriers the work-items of a group are anywhere, so what stands there counts as done
 * at once. A buffer that is written clashes with those that somebody touches since the barrier
 * before, or whose contents are read later: by a walk forwards, and one backwards. Then each buffer
 * moves to the first one with which it does not clash, of its size and type before others. What is
 * of another type is seen through a VIEW. What nobody touches goes away.
 *
 * Before: a kernel as made. After: no FRESH is left. */
#include "kir/passes/passes.h"
#include "kir/walk.h"

#include <string.h>

typedef uint64_t *Set; /* of buffers, by number */

/* What no barrier divides. */
typedef struct {
    Set read, written;
    Set before, after; /* touched since the last barrier; read later */
} Unit;

typedef struct {
    Arena *arena; /* of what is needed until the end */
    Arena *out;   /* of the kernel */
    KFun *fun;
    PtrMap *numbers; /* KBuf -> 1 + its number */
    VEC(KBuf *) bufs;
    VEC(int) params; /* of which each is */
    int words;
    PtrMap *units; /* KStm -> Unit; NULL: there is a barrier in it */
    PtrMap *exits; /* WORK at work -> Set at its end */
    Set *clash;    /* by buffer */
} Locals;

/* --- Sets ------------------------------------------------------------------------------------- */

static Set set_new(const Locals *l)
{
    return NEWN(l->arena, uint64_t, l->words);
}

static Set set_copy(const Locals *l, const uint64_t *s)
{
    return arena_memdup(l->arena, s, sizeof *s * (size_t)l->words);
}

static bool set_has(const uint64_t *s, int i)
{
    return s[i / 64] >> (i % 64) & 1;
}

static void set_put(Set s, int i, bool in)
{
    uint64_t bit = (uint64_t)1 << (i % 64);
    s[i / 64] = in ? s[i / 64] | bit : s[i / 64] & ~bit;
}

/* s := s or t; did that change it? */
static bool set_join(const Locals *l, Set s, const uint64_t *t)
{
    bool changed = false;
    for (int i = 0; i < l->words; i++) {
        changed |= (t[i] & ~s[i]) != 0;
        s[i] |= t[i];
    }
    return changed;
}

/* --- Units ------------------------------------------------------------------------------------ */

/* -1: it is not a local buffer. */
static int number_of(const Locals *l, const KBuf *b)
{
    return (int)(uintptr_t)ptrmap_get(l->numbers, kbuf_root(b)) - 1;
}

typedef struct {
    const Locals *l;
    Unit *u;
} Touch;

static bool touch(void *env, KStm *s)
{
    const Touch *t = env;
    int i = kstm_reads(s) || kstm_writes(s) ? number_of(t->l, s->buf) : -1;
    if (i >= 0 && kstm_reads(s))
        set_put(t->u->read, i, true);
    if (i >= 0 && kstm_writes(s))
        set_put(t->u->written, i, true);
    return true;
}

static bool meets(const KStm *s)
{
    return kstm_fence(s) || kblock_meets(&s->body[0]) || kblock_meets(&s->body[1]);
}

static void find_units(Locals *l, const KBlock *b)
{
    for (int i = 0; i < b->n; i++) {
        KStm *s = b->at[i];
        if (meets(s)) {
            find_units(l, &s->body[0]);
            find_units(l, &s->body[1]);
            continue;
        }
        Unit *u = NEW(l->arena, Unit);
        *u = (Unit){set_new(l), set_new(l), set_new(l), set_new(l)};
        KBlock alone = {0};
        vec_push(l->arena, &alone, s);
        kblock_visit(&alone, &(KVisitor){.env = &(Touch){l, u}, .enter = touch});
        ptrmap_put(l->units, s, u);
    }
}

/* --- Walks ------------------------------------------------------------------------------------ */

typedef struct {
    Locals *l;
    Set s;
    bool forwards;
} AtExits;

static bool at_exit(void *env, KStm *s)
{
    const AtExits *a = env;
    Set at = s->kind == KST_LEAVE ? ptrmap_get(a->l->exits, s->target) : NULL;
    if (at)
        set_join(a->l, a->forwards ? at : a->s, a->forwards ? a->s : at);
    return true;
}

/* Where the statement leaves WORKs around it. */
static void leave(Locals *l, const KStm *s, Set set, bool forwards)
{
    AtExits a = {l, set, forwards};
    if (s->kind == KST_LEAVE)
        at_exit(&a, (KStm *)s);
    for (int k = 0; k < 2; k++)
        kblock_visit(&s->body[k], &(KVisitor){.env = &a, .enter = at_exit});
}

typedef void Walk(Locals *l, const KBlock *b, Set s);

static void walk_if(Locals *l, const KStm *s, Set set, Walk *walk)
{
    Set other = set_copy(l, set);
    walk(l, &s->body[0], set);
    walk(l, &s->body[1], other);
    set_join(l, set, other);
}

static void walk_loop(Locals *l, const KStm *s, Set set, Walk *walk)
{
    Set turn;
    do {
        turn = set_copy(l, set);
        walk(l, &s->body[0], turn);
    } while (set_join(l, set, turn));
}

static void walk_inside(Locals *l, const KStm *s, Set set, Walk *walk)
{
    if (s->kind == KST_IF)
        walk_if(l, s, set, walk);
    else if (s->kind == KST_FOR || s->kind == KST_WHILE)
        walk_loop(l, s, set, walk);
    else
        walk(l, &s->body[0], set);
}

/* pending: what is touched since the last barrier. */
static void forwards(Locals *l, const KBlock *b, Set pending)
{
    for (int i = 0; i < b->n; i++) {
        const KStm *s = b->at[i];
        Unit *u = ptrmap_get(l->units, s);
        if (u) {
            set_join(l, u->before, pending);
            set_join(l, pending, u->read);
            set_join(l, pending, u->written);
            leave(l, s, pending, true);
        } else if (kstm_fence(s)) {
            if (kstm_fence(s) & 1u << KS_LOCAL)
                memset(pending, 0, sizeof *pending * (size_t)l->words);
        } else if (s->kind == KST_WORK) {
            Set left = set_new(l);
            ptrmap_put(l->exits, s, left);
            forwards(l, &s->body[0], pending);
            set_join(l, pending, left);
        } else {
            walk_inside(l, s, pending, forwards);
        }
    }
}

/* needed: what is read later. */
static void backwards(Locals *l, const KBlock *b, Set needed)
{
    for (int i = b->n - 1; i >= 0; i--) {
        const KStm *s = b->at[i];
        Unit *u = ptrmap_get(l->units, s);
        if (u) {
            leave(l, s, needed, false);
            set_join(l, u->after, needed);
            set_join(l, needed, u->read);
            if (s->kind == KST_FRESH && number_of(l, s->buf) >= 0)
                set_put(needed, number_of(l, s->buf), false);
        } else if (s->kind == KST_WORK) {
            ptrmap_put(l->exits, s, set_copy(l, needed));
            backwards(l, &s->body[0], needed);
        } else if (!kstm_fence(s)) {
            walk_inside(l, s, needed, backwards);
        }
    }
}

/* --- Clashes ---------------------------------------------------------------------------------- */

static void find_clashes(Locals *l, const KBlock *b)
{
    for (int i = 0; i < b->n; i++) {
        const KStm *s = b->at[i];
        const Unit *u = ptrmap_get(l->units, s);
        for (int k = 0; u && k < l->bufs.n; k++) {
            if (!set_has(u->written, k))
                continue;
            const uint64_t *with[] = {u->read, u->written, u->before, u->after};
            for (int j = 0; j < 4; j++)
                set_join(l, l->clash[k], with[j]);
        }
        for (int k = 0; !u && k < 2; k++)
            find_clashes(l, &s->body[k]);
    }
}

static void find_all(Locals *l)
{
    find_units(l, &l->fun->body);
    l->exits = ptrmap_new(l->arena);
    forwards(l, &l->fun->body, set_new(l));
    l->exits = ptrmap_new(l->arena);
    backwards(l, &l->fun->body, set_new(l));
    l->clash = NEWN(l->arena, Set, l->bufs.n);
    for (int i = 0; i < l->bufs.n; i++)
        l->clash[i] = set_new(l);
    find_clashes(l, &l->fun->body);
    for (int i = 0; i < l->bufs.n; i++)
        for (int k = 0; k < l->bufs.n; k++)
            if (set_has(l->clash[i], k))
                set_put(l->clash[k], i, true);
}

/* --- Moving ----------------------------------------------------------------------------------- */

/* How alike the buffers must be: the less the later. */
enum { SAME_TYPE, SAME_SIZE, ANY_SIZE, N_LIKENESSES };

static bool alike(const Locals *l, const int *sizes, int i, int k, int how)
{
    int a = sizes ? sizes[l->params.at[i]] : 0, b = sizes ? sizes[l->params.at[k]] : 0;
    if (how == ANY_SIZE)
        return a >= 0 && b >= 0;
    return a == b && (how == SAME_SIZE || l->bufs.at[i]->elem == l->bufs.at[k]->elem);
}

static void merge(const Locals *l, int *to, int from, int into)
{
    for (int j = 0; j < l->bufs.n; j++) {
        if (to[j] == from)
            to[j] = into;
        if (set_has(l->clash[from], j))
            set_put(l->clash[j], into, true);
    }
    set_join(l, l->clash[into], l->clash[from]);
}

/* to[i]: the buffer to which i moves, or i. Devices place a buffer as its elements ask for it, so
 * those of larger elements take the others in. */
static void choose(const Locals *l, const int *sizes, int *to)
{
    for (int i = 0; i < l->bufs.n; i++)
        to[i] = i;
    for (int how = 0; how < N_LIKENESSES; how++)
        for (int i = 0; i < l->bufs.n; i++)
            for (int k = 0; k < i && to[i] == i; k++) {
                if (to[k] != k || !alike(l, sizes, i, k, how) || set_has(l->clash[k], i))
                    continue;
                bool first =
                    prim_type_bytes[l->bufs.at[k]->elem] >= prim_type_bytes[l->bufs.at[i]->elem];
                merge(l, to, first ? i : k, first ? k : i);
            }
}

typedef struct {
    const Locals *l;
    const int *to;
} Move;

/* The buffer that stands for b: itself, if that is of another type. */
static KBuf *moved(const Move *m, const KBuf *b)
{
    int i = (int)(uintptr_t)ptrmap_get(m->l->numbers, b) - 1;
    KBuf *to = i >= 0 ? m->l->bufs.at[m->to[i]] : NULL;
    return to && to->elem == b->elem ? to : (KBuf *)b;
}

static void move(void *env, KBuild *b, KStm *s)
{
    const Move *m = env;
    if (s->kind == KST_FRESH)
        return;
    if (s->kind == KST_VIEW)
        s->buf->of = moved(m, s->buf->of);
    else if (s->buf)
        s->buf = moved(m, s->buf);
    kb_push(b, s);
}

/* A buffer is aligned as all that move to it were. */
static void align(const Locals *l, const int *to)
{
    for (int i = 0; i < l->bufs.n; i++) {
        KBuf *of = l->bufs.at[to[i]];
        if (of->align < l->bufs.at[i]->align)
            of->align = l->bufs.at[i]->align;
    }
}

/* What is of another type than the buffer to which it moves becomes a VIEW of that. */
static void add_views(const Locals *l, const int *to)
{
    KBlock body = {0};
    for (int i = 0; i < l->bufs.n; i++) {
        KBuf *b = l->bufs.at[i], *of = l->bufs.at[to[i]];
        if (of->elem == b->elem)
            continue;
        KStm *s = NEW(l->out, KStm);
        *s = (KStm){.kind = KST_VIEW, .loc = l->fun->loc, .buf = b};
        b->of = of;
        b->align = of->align;
        vec_push(l->out, &body, s);
    }
    if (body.n > 0) {
        vec_append(l->out, &body, &l->fun->body);
        l->fun->body = body;
    }
}

/* The parameters that stay; with[i]: where parameter i went, by the numbers of before,
 * -1: nowhere. */
static int *drop_params(const Locals *l, const int *to)
{
    KFun *f = l->fun;
    KFormals stay = {0};
    int *with = NEWN(l->out, int, f->params.n + 1);
    for (int i = 0; i < f->params.n; i++)
        with[i] = f->params.at[i].kind == KP_LOCAL ? -1 : i;
    for (int i = 0; i < l->bufs.n; i++)
        with[l->params.at[i]] = l->params.at[to[i]];
    for (int i = 0; i < f->params.n; i++)
        if (with[i] == i)
            vec_push(l->out, &stay, f->params.at[i]);
    f->params = stay;
    return with;
}

static bool note_touched(void *env, KStm *s)
{
    if ((kstm_info[s->kind].flags & KF_BUF) && s->kind != KST_FRESH)
        ptrset_add(env, kbuf_root(s->buf));
    return true;
}

const int *kir_merge_locals(Arena *a, KFun *f, const int *sizes)
{
    Arena *own = arena_new();
    Locals l = {
        .arena = own, .out = a, .fun = f, .numbers = ptrmap_new(own), .units = ptrmap_new(own)};
    PtrSet *touched = ptrmap_new(own);
    kblock_visit(&f->body, &(KVisitor){.env = touched, .enter = note_touched});
    for (int i = 0; i < f->params.n; i++) {
        if (f->params.at[i].kind != KP_LOCAL || !ptrset_has(touched, f->params.at[i].buf))
            continue;
        vec_push(own, &l.bufs, f->params.at[i].buf);
        vec_push(own, &l.params, i);
        ptrmap_put(l.numbers, f->params.at[i].buf, (const void *)(uintptr_t)l.bufs.n);
    }
    l.words = l.bufs.n / 64 + 1;
    find_all(&l);
    int *to = NEWN(own, int, l.bufs.n + 1);
    choose(&l, sizes, to);
    Move m = {&l, to};
    kblock_rewrite(kb_more(a, f), &f->body, &(KRewriter){.env = &m, .leave = move});
    align(&l, to);
    add_views(&l, to);
    const int *with = drop_params(&l, to);
    arena_free(own);
    return with;
}

void kir_locals(Arena *a, KFun *f)
{
    kir_merge_locals(a, f, NULL);
}
