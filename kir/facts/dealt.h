/* Elements that the work-items of a group share out by their numbers, each every group-size-th. */
#ifndef KIR_FACTS_DEALT_H
#define KIR_FACTS_DEALT_H

#include "kir/walk.h"

/* Of a loop to `to` from the work-item's number on, or from 0 with that number added: does it deal
 * its turns to the work-items of a group? By the size of the group; or by that of its lead, where
 * these are the turns of the same work-items because they are so few. */
bool kdealt_step(const KExp *step, const KExp *to);

typedef struct KDealt KDealt;
KDealt *kdealt_of(Arena *a, const KFun *f);
/* Is the access, which is at `at`, to an element whose number, counted from the beginning of the
 * buffer's memory, is the work-item's plus a multiple of the group's size? Then two work-items
 * never find the same, whatever turns of whatever loops they are in. */
bool kdealt_access(const KDealt *d, const KStm *s, const KExp *at);

/* A loop of a kernel as made whose turns are dealt to the work-items of a group: `for j from
 * local_id to n by group_size`, or `for base from 0 to n by group_size { let j = base + local_id;
 * if j < n {} }`. */
typedef struct {
    KStm *loop;
    const KExp *j; /* the element of the turn */
    KBlock *body;  /* what is done for it */
    bool more;     /* is something else bound before that, too? */
} KDealtLoop;

/* Is x the work-item's number? info: of the kernel. */
bool kdealt_is_number(const KInfo *info, const KExp *x);
/* false: it is no such loop. */
bool kdealt_loop(Arena *a, const KInfo *info, KStm *s, KDealtLoop *loop);

#endif
