/* What the turns of a loop do alike (alike.c). */
#ifndef IR_CHAINS_ALIKE_H
#define IR_CHAINS_ALIKE_H

#include "ir/ir.h"

/* --- What varies, and what is live ------------------------------------------------------------ */

/* Is it among what varies? Sizes of t, of what pat binds, that vary or that pat itself binds. */
bool atom_variant(const VarSet *variant, Atom a);
bool type_variant(const VarSet *variant, Type t, const Vars *pat);
bool types_variant(const VarSet *variant, const Vars *pat);
bool binds_any(const Stm *s, const VarSet *set);
/* The statements among ss that `need` depends on, in order; `need` grows by what they use. Asserts
 * stay if keep_asserts. */
Stms stms_live(Ctx *cx, const Stms *ss, VarSet *need, bool keep_asserts);

/* --- Turns ------------------------------------------------------------------------------------ */

/* What is known of the program around. */
typedef struct {
    Ctx *cx;
    const VarMap *defs;        /* Var -> const Exp *: what defines it */
    const VarSet *overwritten; /* arrays that are consumed, and what may share memory with them */
} AlikeAt;

/* A body in two: statements in order. */
typedef struct {
    Stms common; /* those that may be done elsewhere */
    Stms stay;   /* all but the common ones that are worth it */
    Vars given;  /* what these bind */
} Alike;

/* What turns of a loop have in common, which is known but for what varies around. False: nothing
 * that is worth it, or arrays of sizes that vary. */
bool alike_turns(const AlikeAt *in, const VarSet *varies, const Exp *loop, Alike *p);
/* map (\j -> what is given by turn from + j) (iota n); the iota goes to out. */
Exp *alike_map(const AlikeAt *in, const Exp *loop, const Alike *p, Atom from, Atom n, Bld *out);

/* --- once.c ----------------------------------------------------------------------------------- */

/* fn, a function in `en`: what iterations of its maps do alike in turns of loops is done once. */
Lambda *once_turns(Ctx *cx, const Entry *en, Lambda *fn);

#endif
