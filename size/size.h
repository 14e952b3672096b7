/* Sizes as expressions: i64 arithmetic over host scalars, facts of the device and variables of a
 * kernel. Array sizes, offsets, strides, launch shapes and bytes of memory are of this type from
 * the host level down to the index arithmetic of kernels.
 *
 *   size.c        constructors that fold, equality, walks
 *   size_print.c  as C text
 *
 * An Sx is immutable, and equal ones of a Ctx are one. The variables of one expression have values
 * of their own: nothing here knows where they are bound. */
#ifndef SIZE_SIZE_H
#define SIZE_SIZE_H

#include "common/facts.def"
#include "ir/ir.h"

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
    SX_SELECT, /* cond != 0 ? a : b */
    SX_SIZE    /* a run-time size of the device or the user: rt_size(ctx, id) */
} SxKind;

/* Facts of the device and the user, known only at run time: SIZE_COALESCES, SIZE_GROUP_SIZE ... */
typedef enum {
#define FACT(id, name, gpu, cpu, unit)                      SIZE_##id,
#define SIZE(id, name, option, gpu, cpu, unit, most, tried) SIZE_##id,
#define SYNONYM(id, name, option)
    RT_FACTS(FACT, SIZE, SYNONYM)
#undef FACT
#undef SIZE
#undef SYNONYM
        N_SIZES
} SizeId;

struct KVar; /* of the kernel representation; nothing here looks into it */

typedef struct Sx Sx;
struct Sx {
    SxKind kind;
    int64_t k;               /* SX_CONST; SX_SIZE: SizeId */
    const Var *var;          /* SX_VAR */
    const char *text;        /* SX_KVAR: the name */
    const struct KVar *kvar; /* SX_KVAR */
    const Sx *cond;          /* SX_SELECT */
    const Sx *a, *b;         /* from SX_ADD to SX_SELECT */
    int parts; /* of its text; what has more than SX_MANY_PARTS gets a name where it would grow */
};
enum { SX_MANY_PARTS = 20 };

/* --- size.c ----------------------------------------------------------------------------------- */

/* Constructors fold constants (where the result fits into an i64) and the identities of 0 and 1. */
const Sx *sx_const(Ctx *cx, int64_t k);
const Sx *sx_var(Ctx *cx, const Var *v);
const Sx *sx_atom(Ctx *cx, Atom a);
/* Equal to those of the same v only; name: its C text. */
const Sx *sx_kvar(Ctx *cx, const struct KVar *v, const char *name);
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

/* a with other operands (NULL where it has none), as they are: nothing is folded. */
const Sx *sx_with_operands(Ctx *cx, const Sx *a, const Sx *cond, const Sx *l, const Sx *r);

bool sx_eq(const Sx *a, const Sx *b); /* after folding */
bool sx_is_const(const Sx *a, int64_t k);
/* Only sums, differences and products of constants and IR variables? */
bool sx_is_polynomial(const Sx *a);
/* leaf(env, x) for each leaf (constants, variables, names, facts) in order of occurrence; a: NULL
 * is none. */
void sx_leaves(const Sx *a, void (*leaf)(void *env, const Sx *x), void *env);
void sx_vars(const Sx *a, VarSet *s);

/* --- size_print.c ----------------------------------------------------------------------------- */

const char *size_c_name(SizeId id);   /* its variable in host code: "group_size" */
const char *size_rt_name(SizeId id);  /* its number in the runtime: "RT_GROUP_SIZE" */
const char *sx_c(const Sx *a);        /* C text; variables print by var_c_name */
const char *sx_c_factor(const Sx *a); /* in parentheses where it stands beside a tighter operator */
/* The same on the host, and where sizes meet that no array has yet: what does not fit into an i64
 * becomes its end instead of wrapping around, and is then found too large. */
const char *sx_exact_c(const Sx *a);

#endif
