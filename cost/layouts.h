/* What accesses to memory cost, by how arrays lie: what layouts are chosen by. Costs of an element,
 * with a coalesced access as the measure. */
#ifndef COST_LAYOUTS_H
#define COST_LAYOUTS_H

#include "size/size.h"

/* How the elements of an array are wanted. */
typedef enum {
    WANT_ONCE,  /* each by one work-item */
    WANT_AGAIN, /* the same work-item wants the neighbours in memory as well, or many work-items the
                   same element: more than once from memory if they lie apart */
    WANT_PART,  /* only those of some positions: one of the indices is the same for all */
    WANT_GUESS  /* nothing is known, so perhaps in the program's order */
} WantKind;

/* Accesses: coalesced; of work-items by themselves, each element once or again and again, in groups
 * where there is other work meanwhile; of a part of the array; of one of which nothing is known.
 * Results that are written apart, by work-items and by groups. A transposed copy; an array passed
 * on that must be laid out anew, as such a copy or, times SCATTERED, element by element. Another
 * order of threads than their nest's: programs are mostly written in one that suits. */
enum { RIGHT = 2, ONCE = 8, AGAIN = 16, GROUP_ONCE = 4, SOME = 1, GUESSED = 4 };
enum { WRITE = 8, GROUP_WRITE = 3, COPY = 6, PASS_ON = 12, SCATTERED = 3, OTHER_ORDER = 2 };
/* What is in a host loop counts so many times, up to so many in nested ones. WHOLE is the share of
 * what surely runs, of which the first of two versions has a third; one beside blocks, which
 * untuned programs take for small data, a ninth; one that they never take less. */
enum { LOOP_TURNS = 8, MAX_TURNS = 512 };
enum { WHOLE = 81, FIRST_TAKEN = 3, LITTLE_TAKEN = 9, NEVER_TAKEN = 27 };

/* An element wanted like that, which lies right or apart; once: ONCE or GROUP_ONCE. */
int cost_access(WantKind kind, bool right, int once);
/* Do elements so many bytes apart share a transaction? */
bool cost_together(int64_t bytes);
/* Positive if a copy in another layout pays before the array is read by work-items whose elements
 * lie `stride` elements apart: n elements of so many bytes in all, on devices that coalesce. */
const KExp *cost_copy_pays(Ctx *cx, const KExp *stride, const KExp *n, int bytes);

#endif
