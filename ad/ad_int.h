/* Private to ad/: what forward and reverse mode share. */
#ifndef AD_AD_INT_H
#define AD_AD_INT_H

#include "ir/ir.h"

/* --- partial.c: scalar operations --- */

/* The derivatives of a PRIM, whose result is `res`, by its operands: atoms of their type in out,
 * which has room for as many. Constants and 0 need no statement. */
void ad_partials(Bld *bl, Loc loc, const Exp *e, Atom res, Atom *out);

/* --- value.c --- */

bool ad_is_float(Type t);
Atom ad_zero(Bld *bl, Loc loc, Type t);
/* Element by element. */
Atom ad_add(Bld *bl, Loc loc, Atom a, Atom b);

/* --- forward.c --- */

/* fn and its tangents: parameters: fn's, then a tangent for each of those that hold floats;
 * results: fn's, then the tangents of those that hold floats. What is free in fn is constant. */
Lambda *ad_forward(Ctx *cx, const Lambda *fn);

#endif
