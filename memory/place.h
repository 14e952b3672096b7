/* Where results are built (place.c): what is said of bodies alone, for those who decide about
 * memory and those who make code. */
#ifndef MEMORY_PLACE_H
#define MEMORY_PLACE_H

#include "memory/lmad.h"

/* The variable outside b in whose memory v's value lies (a parameter or a free variable), followed
 * through updates, aliases, loops and branches that work in place; NULL if it lies elsewhere.
 * *updated: the memory is written on the way. */
Var *place_root(const Body *b, const Var *v, bool *updated);
/* Is v what a loop of b carries, or an array that b updates once it is made, in a branch too, or a
 * view of such a one? */
bool place_worked_on(const Body *b, const Var *v);
/* Does b itself bind v (not in an inner body)? */
bool place_binds(const Body *b, const Var *v);
/* Does the pattern of s bind a size of its array v, in dimension `from` or further inside? From 1
 * on these are the sizes that strides depend on: they are known when s is done only. */
bool place_binds_size(const Stm *s, const Var *v, int from);
/* The variable in whose memory result j of e lies, if e works in place (see place_root); else NULL.
 */
Var *place_of_exp(const Exp *e, int j, bool *updated);

/* v is wanted by this index function in a block that both sides know. False: it is wanted elsewhere
 * already; the first wish counts. */
typedef bool PlaceWish(void *env, const Var *v, Lmad at);
/* v, if b binds it, is wanted at `at`: its maker is told so, and those of what it is built upon. */
void place_wish(Ctx *cx, const Body *b, Atom v, Lmad at, PlaceWish *wish, void *env);

#endif
