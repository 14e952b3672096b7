/* Sizes: array sizes, offsets, strides, launch shapes and bytes of memory, from the host level down
 * to the index arithmetic of kernels. They are expressions (exp/exp.h) of i64 arithmetic that is
 * exact, over host scalars, facts of the device and variables of a kernel, in a normal form.
 *
 * The variables of one expression have values of their own: nothing here knows where they are
 * bound. As C text: exp/exp.h. */
#ifndef SIZE_SIZE_H
#define SIZE_SIZE_H

#include "exp/exp.h"

typedef KExp Sx;

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
    SX_SIZE    /* a run-time size of the device or the user: rt_size(ctx, fact) */
} SxKind;
SxKind sx_kind(const Sx *a);

/* What has more parts gets a name where it would grow. */
enum { SX_MANY_PARTS = 20 };

/* Operands from SX_ADD to SX_SELECT. */
static inline const Sx *sx_left(const Sx *a)
{
    return a->x[a->n - 2];
}
static inline const Sx *sx_right(const Sx *a)
{
    return a->x[a->n - 1];
}
static inline const Sx *sx_cond(const Sx *a) /* SX_SELECT */
{
    return a->x[0];
}

/* Constructors fold constants (where the result fits into an i64) and the identities of 0 and 1. */
const Sx *sx_const(Ctx *cx, int64_t k);
const Sx *sx_var(Ctx *cx, const Var *v);
const Sx *sx_atom(Ctx *cx, Atom a);
const Sx *sx_kvar(Ctx *cx, const KVar *v);
const Sx *sx_size(Ctx *cx, SizeId id);
const Sx *sx_op(Ctx *cx, SxKind op, const Sx *a, const Sx *b); /* SX_ADD to SX_MAX */
#define sx_add(cx, a, b) sx_op((cx), SX_ADD, (a), (b))
#define sx_sub(cx, a, b) sx_op((cx), SX_SUB, (a), (b))
#define sx_mul(cx, a, b) sx_op((cx), SX_MUL, (a), (b))
/* cond != 0 ? a : b */
const Sx *sx_select(Ctx *cx, const Sx *cond, const Sx *a, const Sx *b);
const Sx *sx_product(Ctx *cx, const Atom *dims, int n); /* 1 if n = 0 */

/* a with x in place of v. */
const Sx *sx_with(Ctx *cx, const Sx *a, const Var *v, const Sx *x);

bool sx_eq(const Sx *a, const Sx *b); /* after folding */
bool sx_is_const(const Sx *a, int64_t k);
/* Only sums, differences and products of constants and IR variables? */
bool sx_is_polynomial(const Sx *a);

#endif
