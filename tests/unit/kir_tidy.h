/* What the passes must leave of any kernel: each question gives the first statement that is wrong,
 * NULL if there is none. */
#ifndef TESTS_UNIT_KIR_TIDY_H
#define TESTS_UNIT_KIR_TIDY_H

#include "kir/walk.h"

/* --- Barriers with nothing between them ------------------------------------------------------- */

typedef struct {
    PtrMap *left;       /* WORKs that a LEAVE ends while the last barrier is still idle */
    const KStm *second; /* the barrier behind an idle one */
} Idle;

static inline bool td_is_access(const KStm *s)
{
    return (s->buf && s->buf->space != KS_PRIVATE && (kstm_reads(s) || kstm_writes(s))) ||
           s->kind == KST_FAIL || s->kind == KST_FAILING || s->kind == KST_HEAP;
}

static inline bool td_has_access(const KBlock *b)
{
    for (int i = 0; i < b->n; i++) {
        const KStm *s = b->at[i];
        if (td_is_access(s) || td_has_access(&s->body[0]) || td_has_access(&s->body[1]))
            return true;
    }
    return false;
}

static inline bool td_waits(const KStm *s)
{
    return kblock_meets(&s->body[0]) || kblock_meets(&s->body[1]);
}

static inline bool td_is_lead(const KExp *x)
{
    return x->kind == KE_ID && x->id == KID_IN_LEAD;
}

/* idle: on some way here there was no access since a barrier. Loops turn at least once; of a choice
 * without barriers the side with an access is taken, by some work-item at least, and any group has
 * a lead. Barriers of that are not looked at: one that a later turn needs may stand behind one of
 * the group in the first. */
static inline bool td_idle(Idle *d, const KBlock *b, bool idle)
{
    for (int i = 0; i < b->n; i++) {
        const KStm *s = b->at[i];
        if (s->kind == KST_BARRIER && s->lead)
            continue;
        if (s->kind == KST_BARRIER) {
            if (idle && !d->second)
                d->second = s;
            idle = true;
        } else if (s->kind == KST_LEAVE) {
            if (idle)
                ptrmap_put(d->left, s->target, s);
            return false;
        } else if (!td_waits(s)) {
            bool leaves = kblock_has(&s->body[0], KST_LEAVE) || kblock_has(&s->body[1], KST_LEAVE);
            bool access =
                td_is_access(s) || td_has_access(&s->body[0]) || td_has_access(&s->body[1]);
            if (leaves) {
                td_idle(d, &s->body[0], idle);
                td_idle(d, &s->body[1], idle);
            }
            idle = (idle && !access) || ptrmap_get(d->left, s);
        } else if (s->kind == KST_IF) {
            bool then_ = td_idle(d, &s->body[0], idle), else_ = td_idle(d, &s->body[1], idle);
            idle = then_ || (else_ && !td_is_lead(s->x[0]));
        } else {
            bool again =
                (s->kind == KST_FOR || s->kind == KST_WHILE) && td_idle(d, &s->body[0], idle);
            idle = td_idle(d, &s->body[0], idle || again) || ptrmap_get(d->left, s);
        }
    }
    return idle;
}

static inline const KStm *td_idle_barrier(Arena *a, const KFun *f)
{
    Idle d = {.left = ptrmap_new(a)};
    td_idle(&d, &f->body, false);
    return d.second;
}

/* --- Loads that nobody uses ------------------------------------------------------------------- */

typedef struct {
    const KInfo *info;
    const KStm *found;
} Unused;

static inline bool td_find_unused(void *env, KStm *s)
{
    Unused *u = env;
    if (s->kind == KST_LOAD && kinfo_get(u->info, s->var).uses == 0 && !u->found)
        u->found = s;
    return true;
}

static inline const KStm *td_unused_load(Arena *a, const KFun *f)
{
    Unused u = {.info = kinfo_of(a, &f->body)};
    kblock_visit(&f->body, &(KVisitor){.env = &u, .enter = td_find_unused});
    return u.found;
}

/* --- 64 bits in loops ------------------------------------------------------------------------- */

static inline bool td_is_wide(KType t)
{
    return (t.elem == T_I64 || t.elem == T_U64) && !t.index;
}

/* Is something computed in 64 bits? */
static inline void td_find_wide(void *found, const KExp *x)
{
    bool wide = x->kind == KE_CONV && td_is_wide(x->type);
    for (int i = 0; i < x->n && x->kind == KE_PRIM; i++)
        wide |= td_is_wide(x->x[i]->type);
    *(bool *)found |= wide;
}

/* In a loop or in what its header computes for each turn. Failures are told in 64 bits, which a
 * turn without one does not compute. */
static inline const KStm *td_wide_in(const KBlock *b, bool in_loop)
{
    for (int i = 0; i < b->n; i++) {
        const KStm *s = b->at[i];
        bool loop = s->kind == KST_FOR || s->kind == KST_WHILE, wide = false;
        if (in_loop && s->kind != KST_FAIL)
            kstm_visit_exps(s, td_find_wide, &wide);
        for (int k = 0; loop && k < kstm_info[s->kind].operands; k++)
            if (s->kind == KST_WHILE || k > 0)
                kexp_visit(s->x[k], td_find_wide, &wide);
        if (wide)
            return s;
        for (int k = 0; k < 2; k++) {
            const KStm *inside = td_wide_in(&s->body[k], in_loop || loop);
            if (inside)
                return inside;
        }
    }
    return NULL;
}

static inline const KStm *td_wide_loop(Arena *a, const KFun *f)
{
    (void)a;
    return f->narrow ? td_wide_in(&f->body, false) : NULL;
}

static inline bool td_note_wide_buf(void *env, KStm *s)
{
    *(bool *)env |= s->buf && (s->buf->elem == T_I64 || s->buf->elem == T_U64);
    return true;
}

/* Does it work on integers of 64 bits besides indices? */
static inline bool td_has_wide_data(const KFun *f)
{
    bool found = false;
    kblock_visit(&f->body, &(KVisitor){.env = &found, .enter = td_note_wide_buf});
    return found;
}

#endif
