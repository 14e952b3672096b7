/* For passes on the SOAC dialect: what the arrays of an entry are bound to and how often they are
 * used. Of the program as it was when it was looked at. */
#ifndef IR_PASSES_USES_H
#define IR_PASSES_USES_H

#include "ir/ir.h"

typedef struct {
    VarMap *count;    /* Var -> how often it is mentioned */
    VarMap *defs;     /* Var -> Exp *, what binds it */
    VarSet *unstable; /* arrays whose memory is consumed somewhere */
} Uses;

Uses *uses_entry(Ctx *cx, const Entry *en);
/* How often the array v is mentioned, anywhere. */
uintptr_t uses_count(const Uses *us, const Var *v);
/* The expression of which a is a result; NULL for parameters and constants. */
const Exp *uses_def(const Uses *us, Atom a);
/* Does a keep its value as long as it is in scope? */
bool uses_stable(const Uses *us, Atom a);
/* Do all of these? */
bool uses_all_stable(const Uses *us, Arena *scratch, const VarSet *vars);
/* An input 0, 1, .. of e, which has these inputs and parameters of its function already: one of
 * them, or a new one, made by `out`. Its parameter. */
Atom uses_index_input(const Uses *us, Bld *out, const Exp *e, Atoms *arrs, Vars *params);

#endif
