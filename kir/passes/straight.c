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
 * A branch with a check between two turns keeps the target's compiler from having the loads of all
 * of them on their way: sums of ragged rows take 96 us on an H200 with branches, 47 without. What
 * is not to be loaded comes from the beginning of the block, which is never empty. A load alone may
 * have a branch, which becomes a condition of one instruction: those from counted positions have.
 * Turns that look at nothing that they have changed can be done once more, to say what failed; what
 * was computed of wrong numbers until then nobody sees.
 *
 * Before: a kernel on a target. After: well-formed. */
#include "kir/facts/counted.h"
#include "kir/passes/passes.h"
#include "kir/walk.h"

/* What there is in the turns of a loop. */
typedef struct {
    const KBlock *body;
    PtrSet *bound; /* variables that are bound in it; works of it */
    int checks, others;
} Found;

static bool note_bound(void *env, KStm *s)
{
    Found *f = env;
    if (kstm_def(s) || s->kind == KST_WORK)
        ptrset_add(f->bound, s->kind == KST_WORK ? (const void *)s : kstm_def(s));
    return true;
}

/* What a second time would find changed: memory that the turns write (or, of the group's, that
 * somebody may be writing while its beginning is loaded). */
static bool reads_own(const Found *f, const KStm *s)
{
    return s->kind == KST_LOAD && s->buf->space != KS_GLOBAL && kblock_writes(f->body, s->buf);
}

static bool is_other(const Found *f, const KStm *s)
{
    switch (s->kind) {
    case KST_LET:
    case KST_VAR: return false;
    case KST_LOAD: return reads_own(f, s);
    case KST_SET: return !ptrset_has(f->bound, s->var);
    case KST_STORE: return s->buf->space == KS_GLOBAL;
    default: return true;
    }
}

/* sometimes: only where something holds. */
static void look(Found *f, const KBlock *b, bool sometimes)
{
    for (int i = 0; i < b->n; i++) {
        const KStm *s = b->at[i];
        f->others += sometimes && kstm_divides(s);
        if (s->kind == KST_WORK) {
            look(f, &s->body[0], sometimes);
        } else if (kstm_checks(s)) {
            f->checks++;
            f->others += !ptrset_has(f->bound, s->body[0].at[1]->target);
            sometimes = true;
        } else if (s->kind == KST_IF) {
            look(f, &s->body[0], true);
            look(f, &s->body[1], true);
        } else {
            f->others += is_other(f, s);
        }
    }
}

/* Its turns can be done once more, with nothing changed by the first time that they look at. */
static bool becomes_straight(Arena *a, const KStm *s)
{
    if (s->kind != KST_FOR || s->unroll >= 0)
        return false;
    Found f = {.body = &s->body[0], .bound = ptrmap_new(a)};
    kblock_visit(f.body, &(KVisitor){.env = &f, .enter = note_bound});
    look(&f, f.body, false);
    return f.checks > 0 && f.others == 0;
}

typedef struct {
    KBuild *b;
    KVar *bad;
    KCounted *counted; /* may be NULL */
    PtrSet *passed;    /* checks that were made before the loop */
    PtrMap *places; /* loads of the IF from positions that these are about -> the same, counted on
                       from the first element's */
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

/* Is all that is done for an element loads from places that lie side by side, or are the same for
 * all, and what is computed of them? */
static bool is_all_counted(const Straight *w, const KBlock *block)
{
    for (int i = 0; i < block->n; i++) {
        const KStm *s = block->at[i];
        bool counted = s->kind == KST_LOAD &&
                       (ptrmap_get(w->places, s) || kcounted_is_same(w->counted, s->x[0]));
        bool plain = s->kind == KST_LET || s->kind == KST_VAR || s->kind == KST_SET;
        bool inside = s->kind == KST_WORK && is_all_counted(w, &s->body[0]);
        if (!counted && !plain && !inside && !ptrset_has(w->passed, s))
            return false;
    }
    return true;
}

/* Those stay in their branch, which targets make conditions of single instructions: so addresses
 * are counted once for all turns, which a choice between two of them is not, and nothing asks for
 * what was loaded before the turns are over. */
static void count_on(const Straight *w, const KBlock *block)
{
    for (int i = 0; i < block->n; i++) {
        KStm *s = block->at[i];
        const KExp *place = ptrmap_get(w->places, s);
        if (place)
            s->x[0] = place;
        if (s->kind == KST_WORK)
            count_on(w, &s->body[0]);
        else if (!ptrset_has(w->passed, s))
            kb_push(w->b, s);
    }
}

/* Where there is more to it only the loads from there do. */
static bool load_counted(const Straight *w, KStm *s, const KExp *fine)
{
    KBuild *b = w->b;
    const KExp *place = ptrmap_get(w->places, s);
    if (!place)
        return false;
    PrimType t = s->var->type.elem;
    KVar *x = kb_var(b, "x", t, kx_const(b->arena, (Const){.type = t}));
    kb_if(b, fine);
    kb_set(b, x, kb_load(b, "x", s->buf, place));
    kb_end(b);
    kb_stm(b, (KStm){.kind = KST_LET, .var = s->var, .x = {kx_var(b->arena, x)}});
    return true;
}

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
        if (ptrmap_count(w->places) > 0 && s == kcounted_if(w->counted) &&
            is_all_counted(w, &s->body[0])) {
            kb_if(b, s->x[0]);
            count_on(w, &s->body[0]);
            kb_end(b);
            return fine;
        }
        const KExp *so = kb_let(b, "so", s->x[0]), *not_so = kx_not(a, so);
        if (kstm_checks(s)) {
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
        if (s->kind == KST_LOAD && fine && load_counted(w, s, fine))
            return fine;
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

/* Notes down the loads in the block, and in its branches, from position `at`, which is `base` for
 * the first element. */
static void note_places(const Straight *w, const KBlock *block, const KExp *at, const KExp *base)
{
    Arena *a = w->b->arena;
    for (int i = 0; i < block->n; i++) {
        const KStm *s = block->at[i];
        note_places(w, &s->body[0], at, base);
        note_places(w, &s->body[1], at, base);
        if (s->kind != KST_LOAD || kstm_lanes(s) != 1 || !kx_same(kx_converted(s->x[0]), at))
            continue;
        const KExp *p = kx_conv(a, T_I64, kcounted_number(w->counted, a));
        const KExp *place =
            s->x[0]->type.index ? kx_add(a, kx_index(a, base), kx_index(a, p)) : kx_add(a, base, p);
        ptrmap_put(w->places, s, (void *)(uintptr_t)place);
    }
}

/* The checks in the block, not in its branches, that the ends tell of: are some beyond? */
static const KExp *pass_checks(const Straight *w, const KBlock *block, const KExp *beyond)
{
    for (int i = 0; i < block->n; i++) {
        KStm *s = block->at[i];
        if (s->kind == KST_WORK)
            beyond = pass_checks(w, &s->body[0], beyond);
        if (!kstm_checks(s) || !kcounted_is_range(w->counted, s->x[0]))
            continue;
        ptrset_add(w->passed, s);
        const KExp *base, *more = kcounted_beyond(w->counted, w->b, s->x[0], &base);
        note_places(w, &kcounted_if(w->counted)->body[0], kcounted_position(s->x[0]), base);
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
    if (!becomes_straight(b->arena, s)) {
        kb_push(b, s);
        return;
    }
    Straight w = {.b = b, .bad = kb_var(b, "bad", T_BOOL, kx_bool(b->arena, false))};
    w.passed = ptrmap_new(b->arena);
    w.places = ptrmap_new(b->arena);
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
