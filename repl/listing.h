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
/* Adds what a checked program knows at its end; or what a module has, "M.N" or one of a scalar
 * type, "f32"; false: there is no such module. */
void listing_all(Listing *l, const Ast *ast);
bool listing_members(Listing *l, Ast *ast, const char *module);
/* Prints what a name, "f" or "M.f", is, and what is said of it; false: there is nothing of that
 * name. */
bool listing_doc(Arena *a, Ast *ast, const char *name);

#endif
