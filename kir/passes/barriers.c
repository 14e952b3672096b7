/* Barriers that order nothing go away, and fences shrink to the spaces that need them.
 *
 * A barrier is needed for two accesses, one before and one after it, that may be by different
 * work-items and about the same memory, and one of them writes, unless another barrier that orders
 * their space lies between them and this one. What may come before without one in between is found
 * by a walk forwards, what may come after by one backwards. Barriers are in uniform control flow,
 * so all work-items of a group pass the same ones. Elements of a buffer that are dealt to the
 * work-items (dealt.h) are memory of its own kind: by each other no two of these accesses are by
 * different work-items, with other elements of the buffer they may meet.
 *
 * Failures are recorded by atomics: they count as an access to memory of their own, which any
 * barrier orders. An atomic in global memory may tell another group that data are there: what this
 * group did in global memory before it, a barrier in between keeps before it.
 *
 * Barriers of a group's lead order what the lead does, for itself: they need not where another one
 * of either kind lies between, but spare no barrier of the group. */
#include "kir/facts/dealt.h"
#include "kir/passes/passes.h"
#include "kir/walk.h"

#include <string.h>

enum { BIT_FAILURE = 62, BIT_TELL = 63, MAX_BITS = 61, BIT_REST = 61 };
#define BIT(k) ((uint64_t)1 << (k))

typedef struct {
    uint64_t read, written; /* sets of memory, a bit each */
} Access;

/* What there is without a barrier in between: of the group; of any kind. */
typedef struct {
    Access group, any;
} Open;

typedef struct {
    Access before, after;
    int depth; /* loops around it */
} Use;

typedef struct {
    const KBuf *buf;
    bool dealt;
} Spot;

typedef struct {
    Arena *mem;
    const KDealt *dealt;
    PtrSet *changing;     /* buffers whose memory is written */
    Spot spots[MAX_BITS]; /* by bit; what is too much shares BIT_REST */
    int n;
    uint64_t overlap[64]; /* what may be the same memory, for a read and a write */
    uint64_t clash[64];   /* ... for two writes */
    uint64_t of_space[N_KSPACES];
    PtrMap *uses;  /* barrier -> Use */
    PtrMap *exits; /* WORK -> Open at its end */
    VEC(KStm *) barriers;
} Barriers;

/* --- Memory --------------------------------------------------------------------------------- */

static int bit_of(Barriers *w, const KStm *s)
{
    Spot p = {kbuf_root(s->buf), kdealt_access(w->dealt, s, s->x[0])};
    for (int i = 0; i < w->n; i++)
        if (w->spots[i].buf == p.buf && w->spots[i].dealt == p.dealt)
            return i;
    if (w->n == MAX_BITS)
        return BIT_REST;
    w->spots[w->n] = p;
    return w->n++;
}

static bool is_shared(const Barriers *w, const KStm *s)
{
    return (kstm_reads(s) || kstm_writes(s)) && s->buf->space != KS_PRIVATE &&
           ptrset_has(w->changing, kbuf_root(s->buf));
}

static bool collect(void *env, KStm *s)
{
    Barriers *w = env;
    if (is_shared(w, s))
        w->of_space[s->buf->space] |= BIT(bit_of(w, s)) & ~BIT(BIT_REST);
    if (s->kind == KST_BARRIER)
        vec_push(w->mem, &w->barriers, s);
    return true;
}

/* Buffers that are accessed, and those of them that are written. */
typedef struct {
    Arena *mem;
    VEC(const KBuf *) bufs, written;
} Accessed;

static bool find_accessed(void *env, KStm *s)
{
    Accessed *acc = env;
    if (kstm_reads(s) || kstm_writes(s))
        vec_push(acc->mem, &acc->bufs, kbuf_root(s->buf));
    if (kstm_writes(s))
        vec_push(acc->mem, &acc->written, kbuf_root(s->buf));
    return true;
}

static PtrSet *find_changing(Arena *a, const KBlock *b)
{
    Accessed acc = {.mem = a};
    PtrSet *changing = ptrmap_new(a);
    kblock_visit(b, &(KVisitor){.env = &acc, .enter = find_accessed});
    for (int i = 0; i < acc.bufs.n; i++)
        for (int k = 0; k < acc.written.n && !ptrset_has(changing, acc.bufs.at[i]); k++)
            if (kbuf_overlap(acc.bufs.at[i], acc.written.at[k]))
                ptrset_add(changing, acc.bufs.at[i]);
    return changing;
}

static bool may_meet(const Barriers *w, int i, int k)
{
    const Spot *p = &w->spots[i], *q = &w->spots[k];
    if (p->buf == q->buf && (p->buf->unshared || (p->dealt && q->dealt)))
        return false;
    return !p->buf->unshared && !q->buf->unshared && kbuf_overlap(p->buf, q->buf);
}

static void find_overlaps(Barriers *w)
{
    uint64_t all = ~(BIT(BIT_FAILURE) | BIT(BIT_TELL)), global = w->of_space[KS_GLOBAL];
    for (int i = 0; i < w->n; i++) {
        w->overlap[i] = w->clash[i] = BIT(BIT_REST);
        for (int k = 0; k < w->n; k++)
            if (may_meet(w, i, k)) {
                w->overlap[i] |= BIT(k);
                if (w->spots[i].buf != w->spots[k].buf || !w->spots[i].buf->own_writes)
                    w->clash[i] |= BIT(k);
            }
        if (global & BIT(i)) {
            w->overlap[i] |= BIT(BIT_TELL);
            w->clash[i] |= BIT(BIT_TELL);
        }
    }
    w->overlap[BIT_REST] = w->clash[BIT_REST] = all | BIT(BIT_TELL);
    w->overlap[BIT_TELL] = w->clash[BIT_TELL] = global | BIT(BIT_TELL);
    w->overlap[BIT_FAILURE] = BIT(BIT_FAILURE); /* which of two failures is kept is no matter */
    w->of_space[KS_GLOBAL] |= BIT(BIT_TELL);
}

static Access access_of(Barriers *w, const KStm *s)
{
    if (s->kind == KST_FAIL || s->kind == KST_HEAP)
        return (Access){.written = BIT(BIT_FAILURE)};
    if (s->kind == KST_FAILING)
        return (Access){.read = BIT(BIT_FAILURE)};
    Access a = {0};
    if (!is_shared(w, s))
        return a;
    uint64_t bit = BIT(bit_of(w, s));
    if (kstm_tells(s))
        bit |= BIT(BIT_TELL);
    a.read = kstm_reads(s) ? bit : 0;
    a.written = kstm_writes(s) ? bit : 0;
    return a;
}

static Access either_access(Access a, Access b)
{
    return (Access){a.read | b.read, a.written | b.written};
}

static Open either(Open a, Open b)
{
    return (Open){either_access(a.group, b.group), either_access(a.any, b.any)};
}

static Open with(Barriers *w, Open a, const KStm *s)
{
    Access more = access_of(w, s);
    return either(a, (Open){more, more});
}

static Access among(Access a, uint64_t keep)
{
    return (Access){a.read & keep, a.written & keep};
}

static Open past(const Barriers *w, Open a, const KStm *barrier)
{
    uint64_t keep = ~BIT(BIT_FAILURE);
    unsigned fence = kstm_fence(barrier);
    for (int s = 0; s < N_KSPACES; s++)
        if (fence >> s & 1)
            keep &= ~w->of_space[s];
    if (fence == (1u << KS_LOCAL | 1u << KS_GLOBAL))
        keep &= ~BIT(BIT_REST);
    return (Open){barrier->lead ? a.group : among(a.group, keep), among(a.any, keep)};
}

/* --- Walks ---------------------------------------------------------------------------------- */

static Use *use_of(Barriers *w, const KStm *s)
{
    Use *u = ptrmap_get(w->uses, s);
    if (!u)
        ptrmap_put(w->uses, s, u = NEW(w->mem, Use));
    return u;
}

static Open *exit_of(Barriers *w, const KStm *work)
{
    Open *a = ptrmap_get(w->exits, work);
    if (!a)
        ptrmap_put(w->exits, work, a = NEW(w->mem, Open));
    return a;
}

static bool is_loop(const KStm *s)
{
    return s->kind == KST_FOR || s->kind == KST_WHILE;
}

typedef Open Walk(Barriers *w, const KBlock *b, Open a, int depth);

/* Around and around until nothing is added. */
static Open walk_loop(Barriers *w, const KStm *s, Open a, int depth, Walk *walk)
{
    for (;;) {
        Open turned = walk(w, &s->body[0], a, depth + 1), next = either(a, turned);
        if (memcmp(&next, &a, sizeof a) == 0)
            return kstm_turns(s) ? turned : a;
        a = next;
    }
}

/* Of what there is at a barrier, what it is about. */
static Access waiting(Open a, const KStm *barrier)
{
    return barrier->lead ? a.any : a.group;
}

static Open forwards(Barriers *w, const KBlock *b, Open a, int depth)
{
    for (int i = 0; i < b->n; i++) {
        const KStm *s = b->at[i];
        if (s->kind == KST_BARRIER && s->fence) {
            Use *u = use_of(w, s);
            u->before = either_access(u->before, waiting(a, s));
            u->depth = depth;
            a = past(w, a, s);
        } else if (s->kind == KST_LEAVE) {
            Open *at = exit_of(w, s->target);
            *at = either(*at, a);
            a = (Open){0};
        } else if (is_loop(s)) {
            a = walk_loop(w, s, a, depth, forwards);
        } else {
            Open in = with(w, a, s);
            a = forwards(w, &s->body[0], in, depth);
            if (s->kind == KST_IF)
                a = either(a, forwards(w, &s->body[1], in, depth));
            if (s->kind == KST_WORK)
                a = either(a, *exit_of(w, s));
        }
    }
    return a;
}

static Open backwards(Barriers *w, const KBlock *b, Open a, int depth)
{
    for (int i = b->n - 1; i >= 0; i--) {
        const KStm *s = b->at[i];
        if (s->kind == KST_BARRIER && s->fence) {
            Use *u = use_of(w, s);
            u->after = either_access(u->after, waiting(a, s));
            a = past(w, a, s);
        } else if (s->kind == KST_LEAVE) {
            a = *exit_of(w, s->target);
        } else if (is_loop(s)) {
            a = walk_loop(w, s, a, depth, backwards);
        } else {
            if (s->kind == KST_WORK)
                *exit_of(w, s) = a;
            Open in = a;
            a = backwards(w, &s->body[0], in, depth);
            if (s->kind == KST_IF)
                a = either(a, backwards(w, &s->body[1], in, depth));
            a = with(w, a, s);
        }
    }
    return a;
}

static void analyse(Barriers *w, const KBlock *b)
{
    w->uses = ptrmap_new(w->mem);
    w->exits = ptrmap_new(w->mem);
    forwards(w, b, (Open){0}, 0);
    w->exits = ptrmap_new(w->mem);
    backwards(w, b, (Open){0}, 0);
}

/* --- Decisions ------------------------------------------------------------------------------ */

/* Must something in `among` before it be ordered with something after it? */
static bool orders(const Barriers *w, const Use *u, uint64_t among)
{
    for (int i = 0; i < 64; i++) {
        uint64_t bit = BIT(i) & among, meet = w->overlap[i] & among, clash = w->clash[i] & among;
        if ((u->before.written & bit && (u->after.read & meet || u->after.written & clash)) ||
            (u->before.read & bit && u->after.written & meet))
            return true;
    }
    return false;
}

static unsigned fence_needed(const Barriers *w, const KStm *s)
{
    const Use *u = ptrmap_get(w->uses, s);
    unsigned fence = 0;
    if (!u) /* not reached */
        return 0;
    for (unsigned k = 0; k < N_KSPACES; k++)
        if (s->fence >> k & 1 && orders(w, u, w->of_space[k] | BIT(BIT_REST)))
            fence |= 1u << k;
    if (orders(w, u, BIT(BIT_FAILURE)))
        return s->fence;
    return fence;
}

/* The barrier in the deepest loop that is needed less than it is there, the last one of them: what
 * a barrier after a loop orders, one at its end need not. whole: one that is not needed at all. */
static KStm *too_strong(const Barriers *w, bool whole)
{
    KStm *best = NULL;
    int depth = -1;
    for (int i = 0; i < w->barriers.n; i++) {
        KStm *s = w->barriers.at[i];
        const Use *u = ptrmap_get(w->uses, s);
        int d = u ? u->depth : 0;
        unsigned needed = s->fence ? fence_needed(w, s) : 0;
        if (d >= depth && needed != s->fence && !(whole && needed)) {
            best = s;
            depth = d;
        }
    }
    return best;
}

/* Whole ones first, or of two in a row each would be left with a part of the fence. */
static void weaken(Barriers *w, KBlock *b)
{
    for (int whole = 1; whole >= 0; whole--) {
        KStm *s;
        for (analyse(w, b); (s = too_strong(w, whole)); analyse(w, b))
            s->fence = fence_needed(w, s);
    }
}

static void drop_empty(void *env, KBuild *b, KStm *s)
{
    (void)env;
    if (s->kind != KST_BARRIER || s->fence)
        kb_push(b, s);
}

void kir_barriers(Arena *a, KFun *f)
{
    Barriers w = {.mem = a, .dealt = kdealt_of(a, f), .changing = find_changing(a, &f->body)};
    for (int i = 0; i < f->params.n; i++)
        if (f->params.at[i].kind == KP_HEAP) /* a chunk of it for each work-item */
            f->params.at[i].buf->unshared = true;
    kblock_visit(&f->body, &(KVisitor){.env = &w, .enter = collect});
    find_overlaps(&w);
    weaken(&w, &f->body);
    kblock_rewrite(kb_more(a, f), &f->body, &(KRewriter){.env = NULL, .leave = drop_empty});
}
