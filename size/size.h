/* Sizes: array sizes, offsets, strides, launch shapes and bytes of memory, from the host level down
 * to the index arithmetic of kernels. They are expressions (exp/exp.h) of i64 arithmetic that is
 * exact, over host scalars, facts of the device and variables of a kernel, in a normal form.
 *
 * The variables of one expression have values of their own: nothing here knows where they are
 * bound. As C text: exp/exp.h. */
#ifndef SIZE_SIZE_H
#define SIZE_SIZE_H

#include "exp/exp.h"

/* What it is as a size. */
typedef enum {
    SX_CONST,
    SX_VAR,  /* an i64 IR variable (host scalar, or inside a kernel any scalar in scope) */
    SX_KVAR, /* a variable of a kernel */
    SX_ADD,
    SX_SUB,
    SX_MUL,
    SX_DIV,     /* of non-negative numbers, rounded down */
    SX_CEILDIV, /* rounded up */
    SX_MOD,
    SX_MIN,
    SX_MAX,
    SX_SELECT, /* cond != 0 ? left : right */
    SX_SIZE,   /* a run-time size of the device or the user: rt_size(ctx, fact) */
    N_SX_KINDS
} SxKind;
SxKind sx_kind(const KExp *a);

/* What has more parts gets a name where it would grow. */
enum { SX_MANY_PARTS = 20 };

/* Operands from SX_ADD to SX_SELECT. */
static inline const KExp *sx_left(const KExp *a)
{
    return a->x[a->n - 2];
}
static inline const KExp *sx_right(const KExp *a)
{
    return a->x[a->n - 1];
}
static inline const KExp *sx_cond(const KExp *a) /* SX_SELECT */
{
    return a->x[0];
}

/* Constructors fold constants (where the result fits into an i64) and the identities of 0 and 1. */
const KExp *sx_const(Ctx *cx, int64_t k);
const KExp *sx_var(Ctx *cx, const Var *v); /* of any integers, as an i64 */
const KExp *sx_atom(Ctx *cx, Atom a);
const KExp *sx_size(Ctx *cx, SizeId id);
const KExp *sx_op(Ctx *cx, SxKind op, const KExp *a, const KExp *b); /* SX_ADD to SX_MAX */
#define sx_add(cx, a, b) sx_op((cx), SX_ADD, (a), (b))
#define sx_sub(cx, a, b) sx_op((cx), SX_SUB, (a), (b))
#define sx_mul(cx, a, b) sx_op((cx), SX_MUL, (a), (b))
/* cond != 0 ? a : b */
const KExp *sx_select(Ctx *cx, const KExp *cond, const KExp *a, const KExp *b);
const KExp *sx_product(Ctx *cx, const Atom *dims, int n); /* 1 if n = 0 */

/* a with x in place of v. */
const KExp *sx_with(Ctx *cx, const KExp *a, const Var *v, const KExp *x);

/* Does it have that form, and all inside it: i64 arithmetic that is exact? */
bool sx_is_size(const KExp *a);
/* Only sums, differences and products of constants and IR variables? */
bool sx_is_polynomial(const KExp *a);

#endif
