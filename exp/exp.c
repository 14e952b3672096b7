/* Expressions: constructors that fold constants and identities. */
#include "exp/exp.h"

#include <string.h>

const char *const kexp_word[N_KEXPS] = {
#define KEXP(TAG, word) [KE_##TAG] = word,
#include "exp/exp.def"
};

const KIdInfo kid_info[N_KIDS] = {
#define X(TAG, word, type, uniform) [KID_##TAG] = {word, type, uniform, false},
    KIDS(X)
#undef X
#define X(TAG, word, type, uniform) [KID_##TAG] = {word, type, uniform, true},
        KTRAITS(X)
#undef X
};

static bool ktype_eq(KType a, KType b)
{
    return a.elem == b.elem && a.lanes == b.lanes && a.index == b.index;
}

static KExp *new_exp(Arena *a, KExpKind kind, KType t, const KExp *const *x, int n)
{
    KExp *e = NEW(a, KExp);
    *e = (KExp){.kind = kind, .type = t, .n = n};
    if (n > 0)
        e->x = arena_memdup(a, x, sizeof *x * (size_t)n);
    return e;
}

/* --- Leaves ----------------------------------------------------------------------------------- */

const KExp *kx_const(Arena *a, Const c)
{
    KExp *e = new_exp(a, KE_CONST, ktype(c.type), NULL, 0);
    e->c = c;
    return e;
}

/* Most numbers of a kernel are among these. */
enum { FEWEST = -1, MOST = 8 };
#define INT(k)                                                                                     \
    [(k)-FEWEST] = {                                                                               \
        .kind = KE_CONST, .type = {.elem = T_I64, .lanes = 1}, .c = {.type = T_I64, .i = (k)}}
static const KExp small_ints[] = {INT(-1), INT(0), INT(1), INT(2), INT(3),
                                  INT(4),  INT(5), INT(6), INT(7), INT(8)};
#undef INT

const KExp *kx_int(Arena *a, int64_t k)
{
    if (k >= FEWEST && k <= MOST)
        return &small_ints[k - FEWEST];
    return kx_const(a, (Const){.type = T_I64, .i = k});
}

const KExp *kx_bool(Arena *a, bool b)
{
    return kx_const(a, (Const){.type = T_BOOL, .i = b});
}

const KExp *kx_var(Arena *a, const KVar *v)
{
    KExp *e = new_exp(a, KE_VAR, v->type, NULL, 0);
    e->var = v;
    return e;
}

const KExp *kx_host(Arena *a, const Var *v)
{
    KExp *e = new_exp(a, KE_HOST, ktype(v->type.elem), NULL, 0);
    e->host = v;
    return e;
}

const KExp *kx_id_dim(Arena *a, KId id, int dim)
{
    KExp *e = new_exp(a, KE_ID, ktype(kid_info[id].type), NULL, 0);
    e->id = id;
    e->dim = dim;
    return e;
}

const KExp *kx_id(Arena *a, KId id)
{
    return kx_id_dim(a, id, 0);
}

/* --- Questions -------------------------------------------------------------------------------- */

bool kx_is_int(const KExp *x, int64_t k)
{
    return x->kind == KE_CONST && !prim_is_float(x->c.type) && x->c.i == k;
}

static bool is_int_const(const KExp *x)
{
    return x->kind == KE_CONST && x->c.type == T_I64;
}

static bool same_const(Const a, Const b)
{
    if (a.type != b.type)
        return false;
    return prim_is_float(a.type) ? memcmp(&a.f, &b.f, sizeof a.f) == 0 : a.i == b.i;
}

bool kx_same(const KExp *x, const KExp *y)
{
    if (x == y)
        return true;
    if (x->kind != y->kind || !ktype_eq(x->type, y->type) || x->n != y->n)
        return false;
    switch (x->kind) {
    case KE_CONST: return same_const(x->c, y->c);
    case KE_VAR: return x->var == y->var;
    case KE_HOST: return x->host == y->host;
    case KE_ID: return x->id == y->id && x->dim == y->dim;
    case KE_PRIM:
        if (x->op != y->op || x->exact != y->exact || x->saturate != y->saturate)
            return false;
        break;
    case KE_PART:
        if (x->dim != y->dim)
            return false;
        break;
    case KE_CONV:
    case KE_SELECT:
    case KE_VECTOR:
    case N_KEXPS: break;
    }
    for (int i = 0; i < x->n; i++)
        if (!kx_same(x->x[i], y->x[i]))
            return false;
    return true;
}

/* --- Operations of the language --------------------------------------------------------------- */

/* What an operation on operands of type t gives. */
static KType result_type(PrimOp op, KType t)
{
    KType r = t;
    r.elem = prim_result(op, t.elem);
    r.index = t.index && r.elem == t.elem;
    return r;
}

static KExp *prim(Arena *a, PrimOp op, const KExp *const *x, int n)
{
    KExp *e = new_exp(a, KE_PRIM, result_type(op, x[0]->type), x, n);
    e->op = op;
    return e;
}

const KExp *kx_prim(Arena *a, PrimOp op, PrimType type, const KExp *const *args)
{
    (void)type;
    return prim(a, op, args, prim_info[op].arity);
}

const KExp *kx_prim1(Arena *a, PrimOp op, const KExp *x)
{
    return prim(a, op, &x, 1);
}

const KExp *kx_prim2(Arena *a, PrimOp op, const KExp *x, const KExp *y)
{
    const KExp *args[] = {x, y};
    return prim(a, op, args, 2);
}

const KExp *kx_conv(Arena *a, PrimType to, const KExp *x)
{
    if (x->type.elem == to && !x->type.index)
        return x;
    KType t = x->type;
    t.elem = to;
    t.index = false;
    return new_exp(a, KE_CONV, t, &x, 1);
}

/* Has an i64 room for every number of that type? */
static bool is_small_int(KType t)
{
    return (prim_is_int(t.elem) || t.elem == T_BOOL) && prim_type_bytes[t.elem] < 8;
}

const KExp *kx_index(Arena *a, const KExp *x)
{
    if (x->type.index)
        return x;
    bool leaf = x->kind == KE_CONST, through = x->kind == KE_CONV && is_small_int(x->x[0]->type);
    KExp *e = new_exp(a, leaf ? KE_CONST : KE_CONV, x->type, through ? x->x : &x, !leaf);
    e->c = x->c;
    e->type.index = true;
    return e;
}

const KExp *kx_to_word(Arena *a, PrimType word, const KExp *x)
{
    return kx_conv(a, word, prim_is_float(x->type.elem) ? kx_prim1(a, OP_TO_BITS, x) : x);
}

const KExp *kx_from_word(Arena *a, PrimType t, const KExp *word)
{
    if (prim_is_float(t))
        return kx_prim1(a, OP_FROM_BITS, kx_conv(a, prim_like(PK_UNSIGNED, t), word));
    return kx_conv(a, t, word);
}

const KExp *kx_converted(const KExp *x)
{
    return x->kind == KE_CONV && x->type.elem == T_I64 && x->x[0]->type.elem == T_I64 ? x->x[0] : x;
}

const KExp *kx_select(Arena *a, const KExp *c, const KExp *x, const KExp *y)
{
    if (c->kind == KE_CONST)
        return c->c.i ? x : y;
    if (kx_same(x, y))
        return x;
    const KExp *args[] = {c, x, y};
    return new_exp(a, KE_SELECT, x->type, args, 3);
}

const KExp *kx_part(Arena *a, const KExp *v, int k)
{
    if (v->kind == KE_VECTOR)
        return v->x[k];
    KType t = v->type;
    t.lanes = 1;
    KExp *e = new_exp(a, KE_PART, t, &v, 1);
    e->dim = k;
    return e;
}

const KExp *kx_vector(Arena *a, const KExp *const *x, int n)
{
    KType t = x[0]->type;
    t.lanes = n;
    return new_exp(a, KE_VECTOR, t, x, n);
}

/* --- Exact arithmetic ------------------------------------------------------------------------- */

static const KExp *exact(Arena *a, PrimOp op, const KExp *x, const KExp *y)
{
    const KExp *args[] = {x, y};
    KExp *e = prim(a, op, args, 2);
    e->exact = true;
    return e;
}

static bool fold2(PrimOp op, int64_t x, int64_t y, int64_t *r)
{
    switch ((int)op) {
    case OP_ADD: return !__builtin_add_overflow(x, y, r);
    case OP_SUB: return !__builtin_sub_overflow(x, y, r);
    case OP_MUL: return !__builtin_mul_overflow(x, y, r);
    case OP_QUOT: *r = y > 0 ? x / y : 0; return x >= 0 && y > 0;
    case OP_REM: *r = y > 0 ? x % y : 0; return x >= 0 && y > 0;
    case OP_MIN: *r = x < y ? x : y; return true;
    case OP_MAX: *r = x > y ? x : y; return true;
    }
    return false;
}

static const KExp *folded(Arena *a, PrimOp op, const KExp *x, const KExp *y)
{
    int64_t r;
    if (is_int_const(x) && is_int_const(y) && fold2(op, x->c.i, y->c.i, &r))
        return kx_int(a, r);
    return NULL;
}

const KExp *kx_add(Arena *a, const KExp *x, const KExp *y)
{
    const KExp *r = folded(a, OP_ADD, x, y);
    return r ? r : kx_is_int(x, 0) ? y : kx_is_int(y, 0) ? x : exact(a, OP_ADD, x, y);
}

const KExp *kx_sub(Arena *a, const KExp *x, const KExp *y)
{
    const KExp *r = folded(a, OP_SUB, x, y);
    return r ? r : kx_same(x, y) ? kx_int(a, 0) : kx_is_int(y, 0) ? x : exact(a, OP_SUB, x, y);
}

const KExp *kx_mul(Arena *a, const KExp *x, const KExp *y)
{
    const KExp *r = folded(a, OP_MUL, x, y);
    if (r)
        return r;
    if (kx_is_int(x, 0) || kx_is_int(y, 1))
        return x;
    return kx_is_int(y, 0) || kx_is_int(x, 1) ? y : exact(a, OP_MUL, x, y);
}

const KExp *kx_quot(Arena *a, const KExp *x, const KExp *y)
{
    const KExp *r = folded(a, OP_QUOT, x, y);
    return r ? r : kx_is_int(y, 1) ? x : exact(a, OP_QUOT, x, y);
}

const KExp *kx_rem(Arena *a, const KExp *x, const KExp *y)
{
    const KExp *r = folded(a, OP_REM, x, y);
    return r ? r : kx_is_int(y, 1) ? kx_int(a, 0) : exact(a, OP_REM, x, y);
}

const KExp *kx_saturate(Arena *a, PrimOp op, const KExp *x, const KExp *y)
{
    const KExp *r = folded(a, op, x, y);
    if (r)
        return r;
    if (op == OP_MUL && kx_is_int(x, 1))
        return y;
    if (op == OP_MUL && kx_is_int(y, 1))
        return x;
    const KExp *args[] = {x, y};
    KExp *e = prim(a, op, args, 2);
    e->saturate = true;
    return e;
}

const KExp *kx_min(Arena *a, const KExp *x, const KExp *y)
{
    const KExp *r = folded(a, OP_MIN, x, y);
    return r ? r : kx_same(x, y) ? x : exact(a, OP_MIN, x, y);
}

const KExp *kx_max(Arena *a, const KExp *x, const KExp *y)
{
    const KExp *r = folded(a, OP_MAX, x, y);
    return r ? r : kx_same(x, y) ? x : exact(a, OP_MAX, x, y);
}

/* --- Comparisons and truth -------------------------------------------------------------------- */

const KExp *kx_lt(Arena *a, const KExp *x, const KExp *y)
{
    if (is_int_const(x) && is_int_const(y))
        return kx_bool(a, x->c.i < y->c.i);
    return kx_prim2(a, OP_LT, x, y);
}

const KExp *kx_le(Arena *a, const KExp *x, const KExp *y)
{
    if (is_int_const(x) && is_int_const(y))
        return kx_bool(a, x->c.i <= y->c.i);
    return kx_prim2(a, OP_LE, x, y);
}

const KExp *kx_eq(Arena *a, const KExp *x, const KExp *y)
{
    if (is_int_const(x) && is_int_const(y))
        return kx_bool(a, x->c.i == y->c.i);
    return kx_prim2(a, OP_EQ, x, y);
}

const KExp *kx_ne(Arena *a, const KExp *x, const KExp *y)
{
    if (is_int_const(x) && is_int_const(y))
        return kx_bool(a, x->c.i != y->c.i);
    return kx_prim2(a, OP_NE, x, y);
}

const KExp *kx_and(Arena *a, const KExp *x, const KExp *y)
{
    if (kx_is_int(x, 1) || kx_is_int(y, 0))
        return y;
    return kx_is_int(y, 1) || kx_is_int(x, 0) ? x : kx_prim2(a, OP_LAND, x, y);
}

const KExp *kx_or(Arena *a, const KExp *x, const KExp *y)
{
    if (kx_is_int(x, 0) || kx_is_int(y, 1))
        return y;
    return kx_is_int(y, 0) || kx_is_int(x, 1) ? x : kx_prim2(a, OP_LOR, x, y);
}

const KExp *kx_not(Arena *a, const KExp *x)
{
    return x->kind == KE_CONST ? kx_bool(a, !x->c.i) : kx_prim1(a, OP_NOT, x);
}
