/* Private to ad/: what forward and reverse mode share. */
#ifndef AD_AD_INT_H
#define AD_AD_INT_H

#include "ir/ir.h"

/* --- value.c: tangents and adjoints have the types of what they belong to --- */

/* Has a value of the type derivatives, being of floats? All others are constants to them. */
bool ad_is_float(Type t);
/* An array of shape dims ++ that of val, which has val everywhere; val itself if there are none. */
Atom ad_filled(Bld *bl, Loc loc, const Atom *dims, int n, Atom val);
/* The zero of the type, a constant or an array of them. */
Atom ad_zero(Bld *bl, Loc loc, Type t);
/* The sum of two scalars or of two arrays of the same shape; without a statement where one is 0. */
Atom ad_add(Bld *bl, Loc loc, Atom a, Atom b);

/* --- partial.c: scalar operations --- */

/* Of a PRIM: can its derivative by operand i be anything but 0? Not by a constant. */
bool ad_has_partial(const Exp *e, int i);
/* The derivative of a PRIM, whose result is `res`, by operand i; of the operand's type. Constants
 * and 0 need no statement. */
Atom ad_partial(Bld *bl, Loc loc, const Exp *e, Atom res, int i);
/* ... by all operands; out has room for as many. */
void ad_partials(Bld *bl, Loc loc, const Exp *e, Atom res, Atom *out);

/* --- inlined.c --- */

/* A fresh copy in which nothing is called: the bodies of functions stand where they were. */
Lambda *ad_inlined(Ctx *cx, const Lambda *fn);
/* The body, fn, without what is said of derivatives: WITH_VJP is its function, which forward mode
 * goes through; */
Lambda *ad_plain(Ctx *cx, Lambda *fn);
/* ... and so is STOP, when all derivatives are made. Functions that have them are inlined. */
Body *ad_final(Ctx *cx, Body *b);
/* Is it, or has what it calls, one of them? */
bool ad_is_special(const Exp *e);

/* --- active.c --- */

/* What a form is to derivatives. */
typedef enum {
    AD_RESOLVED, /* none has it here: functions are inlined, derivatives inside made already */
    AD_NONE,     /* nothing of it has a derivative */
    AD_PRIM,     /* a scalar operation */
    AD_MOVED,    /* its result are elements of its operands, as they are */
    AD_BRANCH,
    AD_LOOP,
    AD_SOAC,
    AD_OWN /* it has a derivative of its own, in reverse mode */
} AdClass;
AdClass ad_class(const Exp *e);

/* Adds what a statement, a body makes of active variables in a way that has a derivative:
 * variables at any depth. All else is constant to derivatives. No functions are called there. */
void ad_activity_stm(VarSet *active, const Stm *s);
void ad_activity(VarSet *active, const Body *b);
/* What depends on the floats among fn's parameters, and these. In cx->scratch. */
VarSet *ad_active(Ctx *cx, const Lambda *fn);

/* --- forward.c --- */

/* fn with tangents, a fresh function: its parameters are fn's, then a tangent for each that has
 * floats, of the same type; its results fn's, then a tangent for each that has floats. Variables
 * free in fn are constants. Arrays that fn consumes may be read afterwards: ir_copy_needed. */
Lambda *ad_forward(Ctx *cx, const Lambda *fn);

#endif
