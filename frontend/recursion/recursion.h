/* Functions that call themselves: what lowering leaves of one, with calls of itself in its body,
 * becomes loops. Nothing behind lowering knows recursion, nor does the interpreter.
 *
 *   recursion_parts.c  what they share
 *   split.c      the body, cut where something has to be done after a call
 *   tail.c       nothing has to be done after any: a loop
 *   machine.c    a loop with a stack of what is to be done, and with which values
 *   recursion.c  which of these */
#ifndef FRONTEND_RECURSION_RECURSION_H
#define FRONTEND_RECURSION_RECURSION_H

#include "ir/ir.h"

/* A function that calls itself, applied once. */
typedef struct {
    Ctx *cx;
    const char *name;     /* for messages */
    const Function *self; /* each CALL of it in the body is a recursive call */
    Loc loc;              /* of the definition */
    int64_t depth;        /* how many calls may wait for others; 0: any number */
    Vars params;          /* sizes (i64) before what has them in its type */
    Atoms inits;          /* what it is applied to */
    Body *body;           /* what is free in it, but the parameters, is bound around */
    Loc failed;           /* where recursion_lower could not go on */
} SelfCalls;

/* Where the body has no recursive call after all: appends it to bl, and gives what it gives. */
Atoms recursion_inline(Bld *bl, SelfCalls *f);

/* Appends code to bl that binds `pat` to the results of f: i64 sizes come before what has them in
 * its type. NULL, or what cannot be compiled, in words that follow "`f` calls itself"; then
 * f->failed is the place. */
const char *recursion_lower(Bld *bl, SelfCalls *f, const Vars *pat);

#endif
