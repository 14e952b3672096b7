/* What the passes must leave of any kernel: each question gives the first statement that is wrong,
 * NULL if there is none. */
#ifndef TESTS_UNIT_KIR_TIDY_H
#define TESTS_UNIT_KIR_TIDY_H

#include "kir/walk.h"

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
