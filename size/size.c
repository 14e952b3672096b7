/* Sizes in their normal form. */
#include "size/size.h"

#include <string.h>

/* --- Operations and leaves -------------------------------------------------------------------- */

/* N_PRIM_OPS: no operation of the language. */
static const PrimOp prim_of[] = {
    [SX_CONST] = N_PRIM_OPS, [SX_VAR] = N_PRIM_OPS,     [SX_KVAR] = N_PRIM_OPS,
    [SX_ADD] = OP_ADD,       [SX_SUB] = OP_SUB,         [SX_MUL] = OP_MUL,
    [SX_DIV] = OP_QUOT,      [SX_CEILDIV] = N_PRIM_OPS, [SX_MOD] = OP_REM,
    [SX_MIN] = OP_MIN,       [SX_MAX] = OP_MAX,         [SX_SELECT] = N_PRIM_OPS,
    [SX_SIZE] = N_PRIM_OPS};

/* N_SX_KINDS: nothing that sizes have. */
static SxKind kind_or_none(const KExp *a)
{
    switch (a->kind) {
    case KE_CONST: return SX_CONST;
    case KE_HOST: return SX_VAR;
    case KE_VAR: return SX_KVAR;
    case KE_SIZE: return SX_SIZE;
    case KE_SELECT: return SX_SELECT;
    case KE_CEILDIV: return SX_CEILDIV;
    case KE_PRIM:
        for (SxKind k = SX_ADD; k <= SX_MAX && a->exact; k++)
            if (prim_of[k] == a->op)
                return k;
        break;
    case KE_CONV:
    case KE_ID:
    case KE_PART:
    case KE_VECTOR:
    case N_KEXPS: break;
    }
    return N_SX_KINDS;
}

SxKind sx_kind(const KExp *a)
{
    SxKind k = kind_or_none(a);
    if (k == N_SX_KINDS)
        ice(NO_LOC, "%s is no size", kir_exp_c(a));
    return k;
}

bool sx_is_size(const KExp *a)
{
    bool is = a->type.elem == T_I64 && kind_or_none(a) != N_SX_KINDS;
    for (int i = 0; i < a->n && is; i++)
        is = sx_is_size(a->x[i]);
    return is;
}

const KExp *sx_const(Ctx *cx, int64_t k)
{
    return kx_int(cx->perm, k);
}

const KExp *sx_var(Ctx *cx, const Var *v)
{
    return kx_node(cx->perm, (KExp){.kind = KE_HOST, .type = ktype(T_I64), .host = v});
}

const KExp *sx_atom(Ctx *cx, Atom a)
{
    return a.var ? sx_var(cx, a.var) : sx_const(cx, a.c.i);
}

const KExp *sx_size(Ctx *cx, SizeId id)
{
    return kx_size(cx->perm, id);
}

/* --- Order ------------------------------------------------------------------------------------ */

/* Variables of kernels by name; those of the same name stay as they come (nothing else of them is
 * the same in each run). */
static int kvar_cmp(const KExp *a, const KExp *b)
{
    if (a->var == b->var)
        return 0;
    int c = strcmp(a->var->name, b->var->name);
    return c ? c : 1;
}

/* An order of expressions, for normal forms; 0 only if they are equal. */
static int sx_cmp(const KExp *a, const KExp *b)
{
    if (a == b)
        return 0;
    SxKind k = sx_kind(a), l = sx_kind(b);
    if (k != l)
        return k < l ? -1 : 1;
    if (k == SX_CONST)
        return a->c.i < b->c.i ? -1 : a->c.i > b->c.i;
    if (k == SX_SIZE)
        return a->fact < b->fact ? -1 : a->fact > b->fact;
    if (k == SX_VAR)
        return a->host->id < b->host->id ? -1 : a->host->id > b->host->id;
    if (k == SX_KVAR)
        return kvar_cmp(a, b);
    int c = 0;
    for (int i = 0; i < a->n && c == 0; i++)
        c = sx_cmp(a->x[i], b->x[i]);
    return c;
}

/* --- Normal forms ----------------------------------------------------------------------------- */

static bool is_op(const KExp *a, PrimOp op)
{
    return a->kind == KE_PRIM && a->op == op;
}

/* As it is. */
static const KExp *node(Ctx *cx, PrimOp op, const KExp *a, const KExp *b)
{
    const KExp *of[] = {a, b};
    return kx_node(
        cx->perm,
        (KExp){.kind = KE_PRIM, .type = ktype(T_I64), .op = op, .exact = true, .n = 2, .x = of});
}

/* Products are kept as (..(f1*f2)*..)*const with the factors in order, so that equal products are
 * equal as trees, whatever the order they were multiplied in. */
static const KExp *mul_factor(Ctx *cx, const KExp *prod, const KExp *f)
{
    if (kx_is_int(prod, 0) || kx_is_int(f, 0))
        return sx_const(cx, 0);
    if (kx_is_int(f, 1))
        return prod;
    if (kx_is_int(prod, 1))
        return f;
    int64_t k;
    if (prod->kind == KE_CONST) {
        if (f->kind == KE_CONST && !__builtin_mul_overflow(prod->c.i, f->c.i, &k))
            return sx_const(cx, k);
        return node(cx, OP_MUL, f, prod);
    }
    const KExp *last = is_op(prod, OP_MUL) ? prod->x[1] : prod;
    bool before = f->kind != KE_CONST && (last->kind == KE_CONST || sx_cmp(f, last) < 0);
    if (f->kind == KE_CONST && last->kind == KE_CONST &&
        !__builtin_mul_overflow(last->c.i, f->c.i, &k))
        return node(cx, OP_MUL, prod->x[0], sx_const(cx, k));
    if (!before)
        return node(cx, OP_MUL, prod, f);
    if (!is_op(prod, OP_MUL))
        return node(cx, OP_MUL, f, prod);
    return node(cx, OP_MUL, mul_factor(cx, prod->x[0], f), last);
}

static const KExp *sx_product2(Ctx *cx, const KExp *a, const KExp *b)
{
    if (is_op(b, OP_MUL))
        return mul_factor(cx, sx_product2(cx, a, b->x[0]), b->x[1]);
    return mul_factor(cx, a, b);
}

/* a + k with constants collected at the right end. */
static const KExp *add_const(Ctx *cx, const KExp *a, int64_t k)
{
    int64_t sum;
    bool ends = a->n == 2 && a->x[1]->kind == KE_CONST;
    if (ends && is_op(a, OP_ADD) && !__builtin_add_overflow(a->x[1]->c.i, k, &sum))
        return add_const(cx, a->x[0], sum);
    if (ends && is_op(a, OP_SUB) && !__builtin_sub_overflow(k, a->x[1]->c.i, &sum))
        return add_const(cx, a->x[0], sum);
    if (a->kind == KE_CONST && !__builtin_add_overflow(a->c.i, k, &sum))
        return sx_const(cx, sum);
    if (k == 0)
        return a;
    if (k < 0 && k != INT64_MIN)
        return node(cx, OP_SUB, a, sx_const(cx, -k));
    return node(cx, OP_ADD, a, sx_const(cx, k));
}

/* Is a op b just a, beyond what all expressions fold? A quotient or remainder of 0; the least (the
 * greatest) of two of which b is one. */
static bool stays(SxKind op, const KExp *a, const KExp *b)
{
    if (op == SX_DIV || op == SX_MOD)
        return kx_is_int(a, 0);
    return (op == SX_MIN || op == SX_MAX) && is_op(a, prim_of[op]) &&
           (a->x[0] == b || a->x[1] == b);
}

const KExp *sx_op(Ctx *cx, SxKind op, const KExp *a, const KExp *b)
{
    ASSERT(op >= SX_ADD && op <= SX_MAX);
    if (op == SX_MUL)
        return sx_product2(cx, a, b);
    if (op == SX_ADD && b->kind == KE_CONST)
        return add_const(cx, a, b->c.i);
    if (op == SX_ADD && a->kind == KE_CONST)
        return add_const(cx, b, a->c.i);
    if (op == SX_SUB && b->kind == KE_CONST && b->c.i != INT64_MIN)
        return add_const(cx, a, -b->c.i);
    if (op == SX_CEILDIV)
        return kx_ceildiv(cx->perm, a, b);
    return stays(op, a, b) ? a : kx_exact(cx->perm, prim_of[op], a, b);
}

/* What a is where cond is known to be 0, or not to be. */
static const KExp *arm(const KExp *a, const KExp *cond, bool not_zero)
{
    while (a->kind == KE_SELECT && kx_same(sx_cond(a), cond))
        a = not_zero ? sx_left(a) : sx_right(a);
    return a;
}

const KExp *sx_select(Ctx *cx, const KExp *cond, const KExp *a, const KExp *b)
{
    return kx_select(cx->perm, cond, arm(a, cond, true), arm(b, cond, false));
}

const KExp *sx_product(Ctx *cx, const Atom *dims, int n)
{
    const KExp *p = sx_const(cx, 1);
    for (int i = 0; i < n; i++)
        p = sx_mul(cx, p, sx_atom(cx, dims[i]));
    return p;
}

const KExp *sx_with(Ctx *cx, const KExp *a, const Var *v, const KExp *x)
{
    if (a->kind == KE_HOST && a->host == v)
        return x;
    if (a->n == 0)
        return a;
    const KExp *l = sx_with(cx, sx_left(a), v, x), *r = sx_with(cx, sx_right(a), v, x);
    if (a->kind == KE_SELECT)
        return sx_select(cx, sx_with(cx, sx_cond(a), v, x), l, r);
    return sx_op(cx, sx_kind(a), l, r);
}

bool sx_is_polynomial(const KExp *a)
{
    if (is_op(a, OP_ADD) || is_op(a, OP_SUB) || is_op(a, OP_MUL))
        return sx_is_polynomial(a->x[0]) && sx_is_polynomial(a->x[1]);
    return a->kind == KE_CONST || a->kind == KE_HOST;
}
