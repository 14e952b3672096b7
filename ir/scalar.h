/* Scalar values of the language in the compiler, and its scalar operations as functions on them:
 * what the interpreter runs and constants are folded with. Their meaning is common/scalar.h's, the
 * same text as in generated programs. */
#ifndef IR_SCALAR_H
#define IR_SCALAR_H

#include "ir/ir.h"

#include <string.h>

/* A scalar, by its type: integers and bool, sign- or zero-extended, in i. Slots of the interpreter
 * hold arrays too (interp/code.h). */
typedef union {
    int64_t i;
    float f;
    double d;
    struct Arr *a;
} Val;

/* All 64 bits are written: slots are copied whole, and a load that is wider than the store before
 * it would have to wait for the cache. */
static inline Val val_f32(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return (Val){.i = bits};
}

/* v := the number x, by the member of Val that its type is kept in. */
#define VAL_PUT_i(v, x) ((v).i = (int64_t)(x))
#define VAL_PUT_f(v, x) ((v) = val_f32(x))
#define VAL_PUT_d(v, x) ((v).d = (x))

/* Does an operation with these operands (prims.def) work on the type? */
bool prim_takes(char operands, PrimType t);
/* Can its type hold the constant? */
bool const_fits(Const c);
/* *d := the operation's result; operands that it does not have are not looked at. */
typedef void ScalarFn(Val *d, const Val *a, const Val *b, const Val *c);
/* The operation on operands of type t, NULL where it does not take them. All are total: what traps
 * is tested before (division by zero, negative exponents). */
ScalarFn *scalar_fn(PrimOp op, PrimType t);
/* The conversion, NULL from a type to itself. */
ScalarFn *scalar_conv(PrimType from, PrimType to);
Val scalar_const(Const c);
Atom const_atom(PrimType t, Val v);

#endif
