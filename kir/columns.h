/* Groups that work on several neighbouring elements at a time. */
#ifndef KIR_COLUMNS_H
#define KIR_COLUMNS_H

#include "kir/kir.h"

/* Is it a kernel whose groups work on one element after the other, that reads and writes memory mostly in runs of
 * neighbouring elements, and can its groups have several of them at a time? Then it is marked, the pass
 * will see to it, and each launch has groups of two dimensions, elements and work-items of an element, with
 * local memory for all of its elements. */
bool kir_want_columns(KFun *f);

#endif
