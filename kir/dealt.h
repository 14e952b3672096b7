/* Elements that the work-items of a group share out by their numbers, each every group-size-th. */
#ifndef KIR_DEALT_H
#define KIR_DEALT_H

#include "kir/kir.h"

typedef struct KDealt KDealt;
KDealt *kdealt_of(Arena *a, const KFun *f);
/* Is x, wherever it is computed, the work-item's number plus a multiple of the group's size? Then two
 * work-items never find the same, whatever turns of whatever loops they are in. */
bool kdealt_exp(const KDealt *d, const KExp *x);
/* Is the access to such an element, counted from the beginning of the buffer's memory? */
bool kdealt_access(const KDealt *d, const KStm *s);

#endif
