/* What is known of integers at a place of the program (ranges.c), and whether accesses that are
 * marked safe can do with it (ranges_safe.c). Facts are entered while a pass walks; ranges_mark and
 * ranges_reset are its scopes. */
#ifndef IR_RANGES_H
#define IR_RANGES_H

#include "ir/ir.h"
#include "prove/prove.h"

typedef struct Ranges Ranges;

/* What a variable is bound to. */
typedef struct {
    const Exp *exp;
    int k; /* which of its results */
} Def;

/* --- ranges.c ------------------------------------------------------------------------------- */

Ranges *ranges_new(Ctx *cx, VarMap *defs); /* defs: Var -> Def *; ranges_bind enters into it */
int ranges_mark(const Ranges *ra);
void ranges_reset(Ranges *ra, int mark);
/* Sizes of arrays that were given: 0 <= n. */
void ranges_given(Ranges *ra, Type t);
/* Sizes of arrays that the program makes. What maps over nothing make has no elements, and their
 * sizes may be any number: `map (\x -> replicate (n - 1) x) xs` for no xs. So a dimension says
 * something where the others are certainly not 0. */
void ranges_type(Ranges *ra, Type t);
bool ranges_dim_exists(Ranges *ra, Type t, int d);           /* the same of dimension d */
void ranges_bind(Ranges *ra, const Vars *pat, const Exp *e); /* what the definition says */
void ranges_cond(Ranges *ra, Atom cond, bool truth);
/* What the binders of a loop, a dimension and a function say in its body; rows: of arrs, the last
 * of the params. */
void ranges_loop(Ranges *ra, const Exp *loop);
void ranges_dim(Ranges *ra, const NestDim *nd);
void ranges_rows(Ranges *ra, const Vars *params, const Atoms *arrs);
/* There is an element among so many. */
void ranges_some(Ranges *ra, Atom width);
/* Is a + slack <= b certain? Integers of any type. */
bool ranges_le(Ranges *ra, Atom a, Atom b, int64_t slack);
/* Are all positions certainly within arr? */
bool ranges_in_bounds(Ranges *ra, Type arr, const DimIndexes *at);

/* For those who say more than atoms can (size/prove.h): the prover with all facts; a as a
 * polynomial over what it was computed from (false: too large); the atom that the counter v of a
 * loop or a dimension stays below, NULL for others; what v is bound to, NULL if unknown. */
Prover *ranges_prover(Ranges *ra);
bool ranges_poly(Ranges *ra, Atom a, Poly *p);
const Atom *ranges_below(const Ranges *ra, const Var *v);
const Def *ranges_def(const Ranges *ra, const Var *v);

/* --- ranges_safe.c -------------------------------------------------------------------------- */

/* Are the accesses of e that are marked safe so at this place too? The mark stands for a proof
 * where e was: in a loop that turns at least once, behind an assertion. */
bool ranges_safe(Ranges *ra, const Exp *e);
/* The same for a place of which nothing is known but what e's free variables say; defs: Var -> Exp
 * *. */
bool exp_safe_anywhere(const VarMap *defs, const Exp *e);

#endif
