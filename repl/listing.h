/* What is defined, for people. */
#ifndef REPL_LISTING_H
#define REPL_LISTING_H

#include "frontend/frontend.h"

typedef struct {
    Arena *a;
    VEC(const Binding *) all; /* in order */
} Listing;
/* Prints bindings as they could be declared, a line each: of those of one name and kind the last.
 */
void listing_print(const Listing *l);

#endif
