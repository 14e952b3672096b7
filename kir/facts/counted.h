/* Elements that a loop's turns are for, numbered p, of which those below a limit are there, and
 * checks of positions that count up with p. */
#ifndef KIR_FACTS_COUNTED_H
#define KIR_FACTS_COUNTED_H

#include "kir/walk.h"

/* `for k from c to ..  { let p = ..  if p < limit { .. } }`, p at least 0, limit bound before. */
typedef struct KCounted KCounted;
/* NULL: the loop is not of that kind. info: of the kernel. */
KCounted *kcounted_of(Arena *a, const KInfo *info, const KStm *loop);
/* `for p from .. to limit by 1 { .. }`, the same without an IF: what is said of p = 0 holds of the
 * first p. NULL: the loop is not of that kind. */
KCounted *kcounted_of_turns(Arena *a, const KInfo *info, const KStm *loop);
/* The IF; NULL: there is none. */
const KStm *kcounted_if(const KCounted *c);
/* Does the condition, asked in it, say that something is not within 0 .. n-1 that grows by one
 * where p does, and n is the same for all? Then both ends tell of all that is between them. */
bool kcounted_is_range(const KCounted *c, const KExp *cond);
/* The position that such a condition is about, 64 bits. */
const KExp *kcounted_position(const KExp *cond);
/* Before the loop: is something beyond that range for p = 0, or the last p? There is no p: no.
 * base: what the position is for p = 0; if nothing is beyond, it is p more for all p that are
 * there. */
const KExp *kcounted_beyond(KCounted *c, KBuild *b, const KExp *cond, const KExp **base);
/* Before the loop: for how many p from the first on is it not beyond? 64 bits, counted beyond the
 * last p, too. */
const KExp *kcounted_within(KCounted *c, KBuild *b, const KExp *cond);
const KExp *kcounted_number(const KCounted *c, Arena *a); /* p */
/* Is x, asked in the IF, the same for all elements? */
bool kcounted_is_same(const KCounted *c, const KExp *x);

#endif
