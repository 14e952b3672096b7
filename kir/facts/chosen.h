/* Variables whose values are chosen among indices. */
#ifndef KIR_FACTS_CHOSEN_H
#define KIR_FACTS_CHOSEN_H

#include "kir/facts/range.h"

typedef struct KChosen KChosen;

/* Variables and buffers that give each other their values. */
typedef struct KFamily KFamily;
struct KFamily {
    KFamily *joined; /* towards the one that stands for all; NULL: it does itself */
    KRange range;    /* of the values that come from elsewhere, as far as they were seen */
    bool seen;       /* there were some */
    VEC(const KVar *) scalars; /* those that are parameters */
    bool spoilt;               /* something else gets in */
    bool changes;              /* there is more in it than what LOADs bind */
};

KChosen *kchosen_of(Arena *a, const KBlock *b);
/* The family of the variable that the statement (VAR, LOAD, SHUFFLE) binds; NULL: of none. */
KFamily *kchosen_family(const KChosen *c, const KStm *s);
/* Is there one at all that may be of indices? */
bool kchosen_any(const KChosen *c);
/* The values that the statement brings to a family (*to) from elsewhere. */
KExps kchosen_sources(const KChosen *c, const KStm *s, KFamily **to);

#endif
