/* Hardware level 2: a program on several ranks, each a process with a device. README.md tells how.
 */
#ifndef LEVEL2_LEVEL2_H
#define LEVEL2_LEVEL2_H

#include "ir/ir.h"

/* share.c, SOAC dialect, in programs for several ranks (Ctx.ranks): what the host's SOACs go over
 * is shared out. Before and after: well-formed. */
PassFn l2_share;

#endif
