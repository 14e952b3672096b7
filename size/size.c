/* Making, comparing and walking sizes. */
#include "size/size.h"

#include "base/intern.h"

#include <string.h>

/* --- Leaves ----------------------------------------------------------------------------------- */

static int parts_of(const Sx *a)
{
    return a ? a->parts : 0;
}

/* By hash, with gaps: half of them are NULL at least. */
struct SxTable {
    const Sx **at;
    int n, size;
};

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ (h >> 29);
}

static uint64_t hash(const Sx *s)
{
    uint64_t h = mix(mix((uint64_t)s->kind, (uint64_t)s->k), (uintptr_t)s->var);
    h = mix(mix(h, (uintptr_t)s->kvar), (uintptr_t)s->cond);
    return mix(mix(h, (uintptr_t)s->a), (uintptr_t)s->b);
}

static bool is_same(const Sx *x, const Sx *y)
{
    return x->kind == y->kind && x->k == y->k && x->var == y->var && x->kvar == y->kvar &&
           x->cond == y->cond && x->a == y->a && x->b == y->b;
}

/* Where s is, or would be. */
static const Sx **find(const struct SxTable *t, const Sx *s)
{
    unsigned mask = (unsigned)t->size - 1, at = (unsigned)hash(s) & mask;
    while (t->at[at] && !is_same(t->at[at], s))
        at = (at + 1) & mask;
    return &t->at[at];
}

static void grow(Ctx *cx)
{
    enum { FIRST = 256 };
    struct SxTable *t = NEW(cx->perm, struct SxTable), *old = cx->sizes;
    *t = (struct SxTable){.n = old ? old->n : 0, .size = old ? 2 * old->size : FIRST};
    t->at = NEWN(cx->perm, const Sx *, t->size);
    for (int i = 0; old && i < old->size; i++)
        if (old->at[i])
            *find(t, old->at[i]) = old->at[i];
    cx->sizes = t;
}

/* The one that has these parts. */
static const Sx *sx_new(Ctx *cx, Sx s)
{
    enum { MOST = INT32_MAX / 4 }; /* they may be shared: any number */
    if (!cx->sizes || 2 * cx->sizes->n >= cx->sizes->size)
        grow(cx);
    const Sx **place = find(cx->sizes, &s);
    if (*place)
        return *place;
    int parts = 1 + parts_of(s.cond) + parts_of(s.a) + parts_of(s.b);
    s.parts = parts < MOST ? parts : MOST;
    cx->sizes->n++;
    return *place = arena_memdup(cx->perm, &s, sizeof s);
}

const Sx *sx_const(Ctx *cx, int64_t k)
{
    return sx_new(cx, (Sx){.kind = SX_CONST, .k = k});
}

const Sx *sx_var(Ctx *cx, const Var *v)
{
    return sx_new(cx, (Sx){.kind = SX_VAR, .var = v});
}

const Sx *sx_atom(Ctx *cx, Atom a)
{
    return a.var ? sx_var(cx, a.var) : sx_const(cx, a.c.i);
}

const Sx *sx_kvar(Ctx *cx, const struct KVar *v, const char *name)
{
    return sx_new(cx, (Sx){.kind = SX_KVAR, .kvar = v, .text = intern(name)});
}

const Sx *sx_size(Ctx *cx, SizeId id)
{
    return sx_new(cx, (Sx){.kind = SX_SIZE, .k = id});
}

/* --- Order and equality ----------------------------------------------------------------------- */

bool sx_is_const(const Sx *a, int64_t k)
{
    return a->kind == SX_CONST && a->k == k;
}

/* Variables of kernels by name; those of the same name stay as they come (nothing else of them is
 * the same in each run). */
static int kvar_cmp(const Sx *a, const Sx *b)
{
    if (a->kvar == b->kvar)
        return 0;
    int c = strcmp(a->text, b->text);
    return c ? c : 1;
}

/* An order of expressions, for normal forms; 0 only if they are equal. */
static int sx_cmp(const Sx *a, const Sx *b)
{
    if (a == b)
        return 0;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    switch (a->kind) {
    case SX_CONST:
    case SX_SIZE: return a->k < b->k ? -1 : a->k > b->k;
    case SX_VAR: return a->var->id < b->var->id ? -1 : a->var->id > b->var->id;
    case SX_KVAR: return kvar_cmp(a, b);
    case SX_ADD:
    case SX_SUB:
    case SX_MUL:
    case SX_DIV:
    case SX_CEILDIV:
    case SX_MOD:
    case SX_MIN:
    case SX_MAX:
    case SX_SELECT: break;
    }
    int c = a->kind == SX_SELECT ? sx_cmp(a->cond, b->cond) : 0;
    if (c == 0)
        c = sx_cmp(a->a, b->a);
    return c ? c : sx_cmp(a->b, b->b);
}

bool sx_eq(const Sx *a, const Sx *b)
{
    return a == b;
}

/* --- Folding ---------------------------------------------------------------------------------- */

/* False when the result does not fit. */
static bool fold(SxKind op, int64_t a, int64_t b, int64_t *r)
{
    switch (op) {
    case SX_ADD: return !__builtin_add_overflow(a, b, r);
    case SX_SUB: return !__builtin_sub_overflow(a, b, r);
    case SX_MUL: return !__builtin_mul_overflow(a, b, r);
    case SX_DIV: *r = b > 0 ? a / b : 0; return b > 0;
    case SX_CEILDIV: *r = b > 0 ? a / b + (a % b != 0) : 0; return b > 0 && a >= 0;
    case SX_MOD: *r = b > 0 ? a % b : 0; return b > 0;
    case SX_MIN: *r = a < b ? a : b; return true;
    case SX_MAX: *r = a > b ? a : b; return true;
    case SX_CONST:
    case SX_VAR:
    case SX_KVAR:
    case SX_SELECT:
    case SX_SIZE: break;
    }
    return false;
}

/* Products are kept as (..(f1*f2)*..)*const with the factors in order, so that equal products are
 * equal as trees, whatever the order they were multiplied in. */
static const Sx *mul_factor(Ctx *cx, const Sx *prod, const Sx *f)
{
    if (sx_is_const(prod, 0) || sx_is_const(f, 0))
        return sx_const(cx, 0);
    if (sx_is_const(f, 1))
        return prod;
    if (sx_is_const(prod, 1))
        return f;
    int64_t k;
    if (prod->kind == SX_CONST) {
        if (f->kind == SX_CONST && fold(SX_MUL, prod->k, f->k, &k))
            return sx_const(cx, k);
        return sx_new(cx, (Sx){.kind = SX_MUL, .a = f, .b = prod});
    }
    const Sx *last = prod->kind == SX_MUL ? prod->b : prod;
    bool before = f->kind != SX_CONST && (last->kind == SX_CONST || sx_cmp(f, last) < 0);
    if (f->kind == SX_CONST && last->kind == SX_CONST && fold(SX_MUL, last->k, f->k, &k))
        return sx_new(cx, (Sx){.kind = SX_MUL, .a = prod->a, .b = sx_const(cx, k)});
    if (!before)
        return sx_new(cx, (Sx){.kind = SX_MUL, .a = prod, .b = f});
    if (prod->kind != SX_MUL)
        return sx_new(cx, (Sx){.kind = SX_MUL, .a = f, .b = prod});
    return sx_new(cx, (Sx){.kind = SX_MUL, .a = mul_factor(cx, prod->a, f), .b = last});
}

static const Sx *sx_product2(Ctx *cx, const Sx *a, const Sx *b)
{
    if (b->kind == SX_MUL)
        return mul_factor(cx, sx_product2(cx, a, b->a), b->b);
    return mul_factor(cx, a, b);
}

/* a + k with constants collected at the right end. */
static const Sx *add_const(Ctx *cx, const Sx *a, int64_t k)
{
    int64_t sum;
    if (a->kind == SX_ADD && a->b->kind == SX_CONST && fold(SX_ADD, a->b->k, k, &sum))
        return add_const(cx, a->a, sum);
    if (a->kind == SX_SUB && a->b->kind == SX_CONST && fold(SX_SUB, k, a->b->k, &sum))
        return add_const(cx, a->a, sum);
    if (k == 0)
        return a;
    if (k < 0 && k != INT64_MIN)
        return sx_new(cx, (Sx){.kind = SX_SUB, .a = a, .b = sx_const(cx, -k)});
    return sx_new(cx, (Sx){.kind = SX_ADD, .a = a, .b = sx_const(cx, k)});
}

/* The constant that a op b is though a or b is unknown, or the operand that it equals; else NULL.
 */
static const Sx *identity(Ctx *cx, SxKind op, const Sx *a, const Sx *b)
{
    bool same = sx_eq(a, b);
    switch (op) {
    case SX_SUB: return same ? sx_const(cx, 0) : NULL;
    case SX_DIV:
    case SX_CEILDIV: return sx_is_const(b, 1) || sx_is_const(a, 0) ? a : NULL;
    case SX_MOD: return sx_is_const(b, 1) ? sx_const(cx, 0) : sx_is_const(a, 0) ? a : NULL;
    case SX_MIN:
    case SX_MAX:
        if (a->kind == op && (sx_eq(a->a, b) || sx_eq(a->b, b)))
            return a;
        return same ? a : NULL;
    case SX_ADD:
    case SX_MUL:
    case SX_CONST:
    case SX_VAR:
    case SX_KVAR:
    case SX_SELECT:
    case SX_SIZE: break;
    }
    return NULL;
}

const Sx *sx_op(Ctx *cx, SxKind op, const Sx *a, const Sx *b)
{
    ASSERT(op >= SX_ADD && op <= SX_MAX);
    int64_t k;
    if (a->kind == SX_CONST && b->kind == SX_CONST && fold(op, a->k, b->k, &k))
        return sx_const(cx, k);
    if (op == SX_MUL)
        return sx_product2(cx, a, b);
    if (op == SX_ADD && b->kind == SX_CONST)
        return add_const(cx, a, b->k);
    if (op == SX_ADD && a->kind == SX_CONST)
        return add_const(cx, b, a->k);
    if (op == SX_SUB && b->kind == SX_CONST && b->k != INT64_MIN)
        return add_const(cx, a, -b->k);
    const Sx *id = identity(cx, op, a, b);
    return id ? id : sx_new(cx, (Sx){.kind = op, .a = a, .b = b});
}

/* What a is where cond is known to be 0, or not to be. */
static const Sx *arm(const Sx *a, const Sx *cond, bool not_zero)
{
    while (a->kind == SX_SELECT && sx_eq(a->cond, cond))
        a = not_zero ? a->a : a->b;
    return a;
}

const Sx *sx_select(Ctx *cx, const Sx *cond, const Sx *a, const Sx *b)
{
    if (cond->kind == SX_CONST)
        return cond->k != 0 ? a : b;
    a = arm(a, cond, true);
    b = arm(b, cond, false);
    return sx_eq(a, b) ? a : sx_new(cx, (Sx){.kind = SX_SELECT, .cond = cond, .a = a, .b = b});
}

const Sx *sx_product(Ctx *cx, const Atom *dims, int n)
{
    const Sx *p = sx_const(cx, 1);
    for (int i = 0; i < n; i++)
        p = sx_mul(cx, p, sx_atom(cx, dims[i]));
    return p;
}

const Sx *sx_with(Ctx *cx, const Sx *a, const Var *v, const Sx *x)
{
    if (a->kind == SX_VAR && a->var == v)
        return x;
    if (!a->a)
        return a;
    const Sx *l = sx_with(cx, a->a, v, x), *r = sx_with(cx, a->b, v, x);
    if (a->kind == SX_SELECT)
        return sx_select(cx, sx_with(cx, a->cond, v, x), l, r);
    return sx_op(cx, a->kind, l, r);
}

const Sx *sx_with_operands(Ctx *cx, const Sx *a, const Sx *cond, const Sx *l, const Sx *r)
{
    Sx s = *a;
    s.cond = cond;
    s.a = l;
    s.b = r;
    return sx_new(cx, s);
}

/* --- Walks ------------------------------------------------------------------------------------ */

bool sx_is_polynomial(const Sx *a)
{
    if (a->kind == SX_ADD || a->kind == SX_SUB || a->kind == SX_MUL)
        return sx_is_polynomial(a->a) && sx_is_polynomial(a->b);
    return a->kind == SX_CONST || a->kind == SX_VAR;
}

void sx_leaves(const Sx *a, void (*leaf)(void *env, const Sx *x), void *env)
{
    if (!a)
        return;
    if (!a->a)
        leaf(env, a);
    sx_leaves(a->cond, leaf, env);
    sx_leaves(a->a, leaf, env);
    sx_leaves(a->b, leaf, env);
}

static void add_var(void *env, const Sx *x)
{
    if (x->kind == SX_VAR)
        varset_add(env, x->var);
}

void sx_vars(const Sx *a, VarSet *s)
{
    sx_leaves(a, add_var, s);
}
