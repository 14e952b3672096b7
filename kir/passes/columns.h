/* Groups that work on several neighbouring elements at a time. */
#ifndef KIR_PASSES_COLUMNS_H
#define KIR_PASSES_COLUMNS_H

#include "kir/kir.h"

/* Is it a kernel whose groups work on one element after the other, and can they have several of
 * them at a time? Then it is marked, the pass will see to it, and each launch has groups of two
 * dimensions, with local memory for all of their elements: elements and work-items of an element
 * (KC_LATER) where it reads and writes memory mostly in runs of neighbouring elements; else, if it
 * is wanted at all, the other way round (KC_BEHIND). */
void kir_want_columns(KFun *f, bool behind);

#endif
