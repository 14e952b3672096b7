/* Turns side by side (a loop that is unrolled whole) with checks in them become straight code.
 *
 *     for k from 0 to 8 by 1 unroll {               var bad = false
 *       work w {                                    for k from 0 to 8 by 1 unroll {
 *         load i = is[k]                              load i = is[k]
 *         if !(0 <= i && i < n) {                     set bad = bad || !(0 <= i && i < n)
 *           fail 3 (i, n)                      =>     let fine = 0 <= i && i < n
 *           leave w                                   load x = xs[fine ? i : 0]
 *         }                                           ...
 *         load x = xs[i]                            }
 *         ...                                       if bad { the loop as it was }
 *       }
 *     }
 *
 * Where turns are for elements p, and positions count up with p, the first and the last one are
 * looked at before the loop; if one of them is beyond, the loop as it was does it all.
 *
 * A branch between two turns keeps the target's compiler from having the loads of all of them on
 * their way: sums of ragged rows take 96 us on an H200 with branches, 47 without. What is not to be
 * loaded comes from the beginning of the block, which is never empty. Turns that change nothing but
 * variables and what a group shares can be done once more, to say what failed; what was computed of
 * wrong numbers until then nobody sees.
 *
 * Before: a kernel on a target. After: well-formed. */
#include "kir/facts/counted.h"
#include "kir/passes/passes.h"
#include "kir/walk.h"

/* if .. { fail ..; leave .. } */
static bool is_check(const KStm *s)
{
    const KBlock *b = &s->body[0];
    return s->kind == KST_IF && s->body[1].n == 0 && b->n == 2 && b->at[0]->kind == KST_FAIL &&
           b->at[1]->kind == KST_LEAVE;
}

typedef struct {
    const KBlock *body;
    int checks, others; /* what cannot be done twice, or has turns itself */
} Found;

/* Somebody may be storing what lies at the beginning. */
static bool is_shared(const KBlock *body, const KStm *load)
{
    return load->buf->space == KS_LOCAL && kblock_writes(body, load->buf);
}

static bool look(void *env, KStm *s)
{
    Found *f = env;
    switch (s->kind) {
    case KST_LET:
    case KST_VAR:
    case KST_SET:
    case KST_WORK: return true;
    case KST_IF: f->checks += is_check(s); return !is_check(s);
    case KST_LOAD: f->others += is_shared(f->body, s); return true;
    case KST_STORE: f->others += s->buf->space == KS_GLOBAL; return true;
    default: f->others++; return false;
    }
}

static bool becomes_straight(const KStm *s)
{
    if (s->kind != KST_FOR || s->unroll >= 0)
        return false;
    Found f = {.body = &s->body[0]};
    kblock_visit(&s->body[0], &(KVisitor){.env = &f, .enter = look});
    return f.checks > 0 && f.others == 0;
}

typedef struct {
    KBuild *b;
    KVar *bad;
    KCounted *counted; /* may be NULL */
    PtrSet *passed;    /* checks that were made before the loop */
} Straight;

static const KExp *both(const Straight *w, const KExp *x, const KExp *y)
{
    return x ? kx_and(w->b->arena, x, y) : y;
}

static const KExp *beginning(const Straight *w, const KExp *like)
{
    const KExp *zero = kx_int(w->b->arena, 0);
    return like->type.index ? kx_index(w->b->arena, zero) : zero;
}

static void straighten(const Straight *w, const KBlock *block, const KExp *fine);

/* What is done where `fine` holds; NULL: always. What it is for the statements behind it. */
static const KExp *straighten_stm(const Straight *w, KStm *s, const KExp *fine)
{
    KBuild *b = w->b;
    Arena *a = b->arena;
    if (s->kind == KST_WORK) {
        straighten(w, &s->body[0], fine);
    } else if (s->kind == KST_IF) {
        if (ptrset_has(w->passed, s))
            return fine;
        const KExp *so = kb_let(b, "so", s->x[0]), *not_so = kx_not(a, so);
        if (is_check(s)) {
            kb_set(b, w->bad, kx_or(a, kx_var(a, w->bad), both(w, fine, so)));
            return kb_let(b, "fine", both(w, fine, not_so));
        }
        straighten(w, &s->body[0], kb_let(b, "fine", both(w, fine, so)));
        if (s->body[1].n > 0)
            straighten(w, &s->body[1], kb_let(b, "fine", both(w, fine, not_so)));
    } else if (s->kind == KST_STORE && fine) {
        kb_if(b, fine);
        kb_push(b, s);
        kb_end(b);
    } else {
        if (s->kind == KST_LOAD && fine)
            s->x[0] = kx_select(a, fine, s->x[0], beginning(w, s->x[0]));
        if (s->kind == KST_SET && fine)
            s->x[0] = kx_select(a, fine, s->x[0], kx_var(a, s->var));
        kb_push(b, s);
    }
    return fine;
}

static void straighten(const Straight *w, const KBlock *block, const KExp *fine)
{
    for (int i = 0; i < block->n; i++)
        fine = straighten_stm(w, block->at[i], fine);
}

static void drop_store(void *env, KBuild *b, KStm *s)
{
    (void)env;
    if (s->kind != KST_STORE)
        kb_push(b, s);
}

/* The loop as it was; if only what it records is wanted, what it stores is stored. */
static KStm *once_more(KBuild *b, KStm *loop, bool records)
{
    KBlock one = {0};
    vec_push(b->arena, &one, loop);
    KBlock again = kblock_copy(b, &one, NULL);
    if (records) {
        kblock_rewrite(b, &again, &(KRewriter){.env = NULL, .leave = drop_store});
        again.at[0]->unroll = 0;
    }
    return again.at[0];
}

/* The checks in the block, not in its branches, that the ends tell of: are some beyond? */
static const KExp *pass_checks(const Straight *w, const KBlock *block, const KExp *beyond)
{
    for (int i = 0; i < block->n; i++) {
        KStm *s = block->at[i];
        if (s->kind == KST_WORK)
            beyond = pass_checks(w, &s->body[0], beyond);
        if (!is_check(s) || !kcounted_is_range(w->counted, s->x[0]))
            continue;
        ptrset_add(w->passed, s);
        const KExp *more = kcounted_beyond(w->counted, w->b, s->x[0]);
        beyond = beyond ? kx_or(w->b->arena, beyond, more) : more;
    }
    return beyond;
}

/* Before the loop: those of its checks that the ends tell of; what is beyond is bad, and its
 * elements are left to the loop as it was. */
static void look_at_ends(const Straight *w)
{
    KBuild *b = w->b;
    Arena *a = b->arena;
    if (!w->counted)
        return;
    KStm *when = (KStm *)(uintptr_t)kcounted_if(w->counted);
    const KExp *beyond = pass_checks(w, &when->body[0], NULL);
    if (!beyond)
        return;
    kb_set(b, w->bad, beyond);
    const KExp *fine = kx_not(a, kx_var(a, w->bad)), *less = when->x[0];
    const KExp *none = kx_conv(a, less->x[1]->type.elem, kx_int(a, 0));
    if (less->x[1]->type.index)
        none = kx_index(a, kx_int(a, 0));
    const KExp *limit = kb_let(b, "limit", kx_select(a, fine, less->x[1], none));
    when->x[0] = kx_lt(a, less->x[0], limit);
}

typedef struct {
    const KInfo *info;
    bool any;
} Straightened;

static void leave(void *env, KBuild *b, KStm *s)
{
    Straightened *k = env;
    if (!becomes_straight(s)) {
        kb_push(b, s);
        return;
    }
    Straight w = {.b = b, .bad = kb_var(b, "bad", T_BOOL, kx_bool(b->arena, false))};
    w.passed = ptrmap_new(b->arena);
    w.counted = kcounted_of(b->arena, k->info, s);
    k->any = true;
    KStm *was = once_more(b, s, false);
    look_at_ends(&w);
    KStm *again = ptrmap_count(w.passed) > 0 ? was : once_more(b, s, true);
    KBlock body = s->body[0];
    s->body[0] = (KBlock){0};
    kb_push(b, s);
    kb_into(b, &s->body[0]);
    straighten(&w, &body, NULL);
    kb_end(b);
    kb_if(b, kx_var(b->arena, w.bad));
    kb_push(b, again);
    kb_end(b);
}

void kir_straighten(Arena *a, KFun *f)
{
    if (f->alone)
        return;
    Straightened k = {.info = kinfo_of(a, &f->body)};
    kblock_rewrite(kb_more(a, f), &f->body, &(KRewriter){.env = &k, .leave = leave});
    if (k.any) /* what was loaded for a store alone, or for a check that was made before */
        kir_dead(a, f);
}
