/* Elements that the work-items of a group share out by their numbers, each every group-size-th. */
#ifndef KIR_DEALT_H
#define KIR_DEALT_H

#include "kir/kir.h"

typedef struct KDealt KDealt;
KDealt *kdealt_of(Arena *a, const KFun *f);
/* Is the access to an element whose number, counted from the beginning of the buffer's memory, is the
 * work-item's plus a multiple of the group's size? Then two work-items never find the same, whatever turns of
 * whatever loops they are in. */
bool kdealt_access(const KDealt *d, const KStm *s);

#endif
