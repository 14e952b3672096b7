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

/* --- Nodes ------------------------------------------------------------------------------------ */

/* What was made in an arena, by hash, with gaps: half of the places are NULL at least. */
typedef struct {
    const KExp **at;
    uint32_t *hash; /* theirs; 0: a gap */
    int n, size;
} Nodes;

static bool ktype_eq(KType a, KType b)
{
    return a.elem == b.elem && a.lanes == b.lanes && a.index == b.index;
}

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ (h >> 29);
}

static uint32_t hash_of(const KExp *x)
{
    uint64_t what = (uint64_t)x->kind << 56 | (uint64_t)x->op << 48 | (uint64_t)x->id << 40 |
                    (uint64_t)x->fact << 32 | (uint64_t)x->dim << 24 |
                    (uint64_t)x->type.elem << 16 | (uint64_t)x->type.lanes << 8 |
                    x->type.index << 2 | x->saturate << 1 | x->exact;
    /* What it is of: of these at most one is not 0. Of a float the bits. */
    uint64_t h = mix(what, (uint64_t)x->c.i ^ (uintptr_t)x->var ^ (uintptr_t)x->host);
    for (int i = 0; i < x->n; i++)
        h = mix(h, x->x[i]->hash);
    return (uint32_t)(h >> 32) | 1;
}

static int parts_of(const KExp *x)
{
    enum { MOST = INT32_MAX / 16 }; /* they may be shared: any number */
    int parts = 1;
    for (int i = 0; i < x->n; i++)
        parts += x->x[i]->parts;
    return parts < MOST ? parts : MOST;
}

bool kx_same_parts(const KExp *x, const KExp *y)
{
    if (x->kind != y->kind || !ktype_eq(x->type, y->type) || x->n != y->n || x->var != y->var ||
        x->host != y->host || x->op != y->op || x->exact != y->exact ||
        x->saturate != y->saturate || x->id != y->id || x->fact != y->fact || x->dim != y->dim ||
        x->c.i != y->c.i)
        return false;
    for (int i = 0; i < x->n; i++)
        if (!kx_same(x->x[i], y->x[i]))
            return false;
    return true;
}

/* Where one of that hash that is e is, or would be. */
static unsigned find(const Nodes *t, uint32_t hash, const KExp *e)
{
    unsigned mask = (unsigned)t->size - 1, at = hash >> 1 & mask;
    while (t->hash[at] && (t->hash[at] != hash || !kx_same(t->at[at], e)))
        at = (at + 1) & mask;
    return at;
}

static void put(Nodes *t, unsigned at, const KExp *e)
{
    t->at[at] = e;
    t->hash[at] = e->hash;
    t->n++;
}

static Nodes *with_room(Arena *a)
{
    enum { FIRST = 128 };
    Nodes *old = *arena_table(a);
    if (old && 2 * old->n < old->size)
        return old;
    Nodes *t = NEW(a, Nodes);
    t->size = old ? 2 * old->size : FIRST;
    t->at = NEWN(a, const KExp *, t->size);
    t->hash = NEWN(a, uint32_t, t->size);
    for (int i = 0; old && i < old->size; i++)
        if (old->hash[i])
            put(t, find(t, old->hash[i], old->at[i]), old->at[i]);
    return *arena_table(a) = t;
}

const KExp *kx_node(Arena *a, KExp e)
{
    Nodes *t = with_room(a);
    e.hash = hash_of(&e);
    unsigned at = find(t, e.hash, &e);
    if (t->hash[at])
        return t->at[at];
    struct {
        KExp node;
        const KExp *operands[];
    } *made = arena_alloc(a, sizeof *made + sizeof *e.x * (size_t)e.n);
    for (int i = 0; i < e.n; i++)
        made->operands[i] = e.x[i];
    e.x = e.n > 0 ? made->operands : NULL;
    e.parts = parts_of(&e);
    made->node = e;
    put(t, at, &made->node);
    return &made->node;
}

/* --- Leaves ----------------------------------------------------------------------------------- */

const KExp *kx_const(Arena *a, Const c)
{
    return kx_node(a, (KExp){.kind = KE_CONST, .type = ktype(c.type), .c = c});
}

const KExp *kx_int(Arena *a, int64_t k)
{
    return kx_const(a, (Const){.type = T_I64, .i = k});
}

const KExp *kx_bool(Arena *a, bool b)
{
    return kx_const(a, (Const){.type = T_BOOL, .i = b});
}

const KExp *kx_var(Arena *a, const KVar *v)
{
    return kx_node(a, (KExp){.kind = KE_VAR, .type = v->type, .var = v});
}

const KExp *kx_host(Arena *a, const Var *v)
{
    return kx_node(a, (KExp){.kind = KE_HOST, .type = ktype(v->type.elem), .host = v});
}

const KExp *kx_size(Arena *a, SizeId id)
{
    return kx_node(a, (KExp){.kind = KE_SIZE, .type = ktype(T_I64), .fact = id});
}

const KExp *kx_id_dim(Arena *a, KId id, int dim)
{
    return kx_node(a,
                   (KExp){.kind = KE_ID, .type = ktype(kid_info[id].type), .id = id, .dim = dim});
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

/* --- Operations of the language --------------------------------------------------------------- */

/* What an operation on operands of type t gives. */
static KType result_type(PrimOp op, KType t)
{
    KType r = t;
    r.elem = prim_result(op, t.elem);
    r.index = t.index && r.elem == t.elem;
    return r;
}

static KExp prim(PrimOp op, const KExp *const *x, int n)
{
    return (KExp){.kind = KE_PRIM, .type = result_type(op, x[0]->type), .op = op, .n = n, .x = x};
}

const KExp *kx_prim(Arena *a, PrimOp op, PrimType type, const KExp *const *args)
{
    (void)type;
    return kx_node(a, prim(op, args, prim_info[op].arity));
}

const KExp *kx_prim1(Arena *a, PrimOp op, const KExp *x)
{
    return kx_node(a, prim(op, &x, 1));
}

const KExp *kx_prim2(Arena *a, PrimOp op, const KExp *x, const KExp *y)
{
    const KExp *args[] = {x, y};
    return kx_node(a, prim(op, args, 2));
}

const KExp *kx_conv(Arena *a, PrimType to, const KExp *x)
{
    if (x->type.elem == to && !x->type.index)
        return x;
    KType t = x->type;
    t.elem = to;
    t.index = false;
    return kx_node(a, (KExp){.kind = KE_CONV, .type = t, .n = 1, .x = &x});
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
    KExp e = {.kind = KE_CONV, .type = x->type, .n = 1, .x = through ? x->x : &x};
    if (leaf)
        e = *x;
    e.type.index = true;
    return kx_node(a, e);
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
    return kx_node(a, (KExp){.kind = KE_SELECT, .type = x->type, .n = 3, .x = args});
}

const KExp *kx_part(Arena *a, const KExp *v, int k)
{
    if (v->kind == KE_VECTOR)
        return v->x[k];
    KType t = v->type;
    t.lanes = 1;
    return kx_node(a, (KExp){.kind = KE_PART, .type = t, .dim = k, .n = 1, .x = &v});
}

const KExp *kx_vector(Arena *a, const KExp *const *x, int n)
{
    KType t = x[0]->type;
    t.lanes = n;
    return kx_node(a, (KExp){.kind = KE_VECTOR, .type = t, .n = n, .x = x});
}

/* --- Exact arithmetic ------------------------------------------------------------------------- */

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

/* The other summand of the exact sum x, if one is y; else NULL. */
static const KExp *summand_beside(const KExp *x, const KExp *y)
{
    if (x->kind != KE_PRIM || x->op != OP_ADD || !x->exact)
        return NULL;
    return kx_same(x->x[1], y) ? x->x[0] : kx_same(x->x[0], y) ? x->x[1] : NULL;
}

/* What x op y is though x or y is unknown; else NULL. */
static const KExp *identity(Arena *a, PrimOp op, const KExp *x, const KExp *y)
{
    switch ((int)op) {
    case OP_ADD: return kx_is_int(x, 0) ? y : kx_is_int(y, 0) ? x : NULL;
    case OP_SUB:
        if (kx_same(x, y) || kx_is_int(y, 0))
            return kx_is_int(y, 0) ? x : kx_int(a, 0);
        return summand_beside(x, y);
    case OP_MUL:
        if (kx_is_int(x, 0) || kx_is_int(y, 1))
            return x;
        return kx_is_int(y, 0) || kx_is_int(x, 1) ? y : NULL;
    case OP_QUOT: return kx_is_int(y, 1) ? x : NULL;
    case OP_REM: return kx_is_int(y, 1) ? kx_int(a, 0) : NULL;
    case OP_MIN:
    case OP_MAX: return kx_same(x, y) ? x : NULL;
    }
    return NULL;
}

const KExp *kx_exact(Arena *a, PrimOp op, const KExp *x, const KExp *y)
{
    const KExp *r = folded(a, op, x, y);
    if (!r)
        r = identity(a, op, x, y);
    if (r)
        return r;
    const KExp *args[] = {x, y};
    KExp e = prim(op, args, 2);
    e.exact = true;
    return kx_node(a, e);
}

#define EXACT(name, op)                                                                            \
    const KExp *kx_##name(Arena *a, const KExp *x, const KExp *y)                                  \
    {                                                                                              \
        return kx_exact(a, op, x, y);                                                              \
    }
EXACT(add, OP_ADD)
EXACT(sub, OP_SUB)
EXACT(mul, OP_MUL)
EXACT(quot, OP_QUOT)
EXACT(rem, OP_REM)
EXACT(min, OP_MIN)
EXACT(max, OP_MAX)
#undef EXACT

const KExp *kx_ceildiv(Arena *a, const KExp *x, const KExp *y)
{
    if (kx_is_int(y, 1) || kx_is_int(x, 0))
        return x;
    if (is_int_const(x) && is_int_const(y) && x->c.i >= 0 && y->c.i > 0)
        return kx_int(a, x->c.i / y->c.i + (x->c.i % y->c.i != 0));
    const KExp *args[] = {x, y};
    return kx_node(a, (KExp){.kind = KE_CEILDIV, .type = x->type, .n = 2, .x = args});
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
    KExp e = prim(op, args, 2);
    e.saturate = true;
    return kx_node(a, e);
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
