/* What must hold of a kernel, before and after each pass. */
#ifndef KIR_FACTS_VERIFY_H
#define KIR_FACTS_VERIFY_H

#include "kir/kir.h"

/* NULL if the kernel is well-formed, else what is wrong; *at: where, as far as that is known.
 *
 *  - operands have the types that operations and statements take; an index is as good as an i64;
 *  - variables, buffers and blocks to leave are bound before they are used, in a block around,
 * once, by names that are unique in the kernel and valid in C;
 *  - SET and HEAP change what a VAR bound, and nothing else is mutable;
 *  - buffers agree with what is loaded and stored, and with what is said of them;
 *  - barriers stand where all work-items of a group meet (uniform.h), and order what they exchange
 *    through local memory (hazard.c), unless a group is one work-item. */
const char *kir_check(Arena *a, const KFun *f, Loc *at);
/* An internal error that names the pass, unless all that holds. */
void kir_verify(const KFun *f, const char *pass);

#endif
