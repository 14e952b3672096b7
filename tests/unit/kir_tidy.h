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

#endif
