/* Values that one statement wants. Half of what is loaded is mentioned once, by the next statement:
 * its text may stand there instead of a name. Arithmetic keeps its names but where it is copied: a
 * compiler may contract what stands in one expression. */
#ifndef KIR_TARGET_ONCE_H
#define KIR_TARGET_ONCE_H

#include "kir/kir.h"

/* Does only the next statement of the block that does more than name a value mention the one that
 * statement i names, once and where its text may stand? */
bool kstm_goes_on(const KBlock *b, int i);

#endif
