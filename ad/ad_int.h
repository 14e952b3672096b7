/* Private to ad/: what forward and reverse mode share. */
#ifndef AD_AD_INT_H
#define AD_AD_INT_H

#include "ir/ir.h"

/* --- partial.c: scalar operations --- */

/* The derivatives of a PRIM, whose result is `res`, by its operands: atoms of their type in out,
 * which has room for as many. Constants and 0 need no statement. */
void ad_partials(Bld *bl, Loc loc, const Exp *e, Atom res, Atom *out);

#endif
