/* Random kernels that are right: in bounds, free of races, barriers in uniform flow only. */
#ifndef TESTS_UNIT_KIR_RANDOM_H
#define TESTS_UNIT_KIR_RANDOM_H

#include "kir_eval.h"

#include <math.h>

enum { RK_ITEMS = 8, RK_SLOTS = 4, RK_SHARED = 5, RK_NAMES = 64 };

/* How work-items use a shared buffer until the next barrier that orders it. */
typedef enum { RK_OWN, RK_READ, RK_NEXT, RK_DEALT, RK_BESIDE, RK_MODES } RkMode;

typedef struct {
    Arena *a;
    KBuild *b;
    uint64_t seed;
    KBuf *in, *out, *priv, *fixed;
    KBuf *shared[RK_SHARED]; /* the last in global memory, the others in local */
    RkMode mode[RK_SHARED];
    KFun *function;              /* of two numbers, gives two */
    bool idle[RK_SHARED];        /* its contents are not asked for until it is fresh */
    const KExp *index[RK_NAMES]; /* at least 0, small */
    int n_index;
    const KExp *data[RK_NAMES]; /* i64, any */
    int n_data;
    KVar *vars[RK_NAMES];
    int n_vars;
    int depth;
} Rk;

static inline int rk(Rk *r, int n)
{
    return (int)(ev_random(&r->seed) % (unsigned)n);
}

static inline const KExp *rk_index(Rk *r, int depth)
{
    Arena *a = r->a;
    if (depth == 0 || rk(r, 3) == 0)
        return rk(r, 4) ? r->index[rk(r, r->n_index)] : kx_int(a, rk(r, 9));
    const KExp *x = rk_index(r, depth - 1), *y = rk_index(r, depth - 1);
    const KExp *q;
    switch (rk(r, 8)) {
    case 0: return kx_add(a, x, y);
    case 1: return kx_mul(a, x, kx_rem(a, y, kx_int(a, 16)));
    case 2: return kx_min(a, x, y);
    case 3: return kx_max(a, x, y);
    case 4: return kx_quot(a, x, kx_add(a, y, kx_int(a, 1)));
    case 5: return kx_rem(a, x, kx_add(a, y, kx_int(a, 1)));
    case 6: /* a remainder by hand */
        y = kx_add(a, y, kx_int(a, 1));
        q = kb_let(r->b, "q", kx_quot(a, x, y));
        return kx_sub(a, x, kx_mul(a, q, y));
    default: return kx_max(a, kx_int(a, 0), kx_sub(a, x, y));
    }
}

static inline const KExp *rk_below(Rk *r, int64_t size)
{
    return kx_rem(r->a, rk_index(r, 2), kx_int(r->a, size));
}

static inline const KExp *rk_data(Rk *r, int depth);

static inline const KExp *rk_test(Rk *r)
{
    const KExp *x = rk_data(r, 1), *y = rk_data(r, 1);
    switch (rk(r, 5)) {
    case 0: return kx_le(r->a, x, y);
    case 1: return kx_eq(r->a, x, y);
    case 2: return kx_lt(r->a, rk_index(r, 1), rk_index(r, 1));
    case 3: return kx_and(r->a, kx_lt(r->a, x, y), kx_ne(r->a, y, kx_int(r->a, 3)));
    default: return kx_lt(r->a, x, y);
    }
}

static inline const KExp *rk_data(Rk *r, int depth)
{
    static const PrimOp ops[] = {OP_ADD, OP_SUB, OP_MUL, OP_XOR, OP_MIN, OP_MAX,
                                 OP_DIV, OP_MOD, OP_SHR, OP_REM, OP_AND};
    int leaf = rk(r, 4);
    if (depth > 0 && rk(r, 3))
        return rk(r, 8) == 0
                   ? kx_select(r->a, rk_test(r), rk_data(r, depth - 1), rk_data(r, depth - 1))
                   : kx_prim2(r->a, ops[rk(r, 11)], rk_data(r, depth - 1), rk_data(r, depth - 1));
    if (leaf == 0 && r->n_vars > 0)
        return kx_var(r->a, r->vars[rk(r, r->n_vars)]);
    if (leaf == 1)
        return rk_index(r, 1);
    return leaf == 2 || r->n_data == 0 ? kx_int(r->a, rk(r, 99) - 33) : r->data[rk(r, r->n_data)];
}

static inline void rk_push_data(Rk *r, const KExp *x)
{
    if (r->n_data < RK_NAMES)
        r->data[r->n_data++] = x;
}

static inline KFun *rk_function(Rk *r)
{
    Arena *a = r->a;
    KBuild *b = kb_new(a);
    const KExp *x[2];
    b->fun->name = "mix_f1";
    b->fun->is_function = true;
    for (int i = 0; i < 2; i++) {
        KVar *v = kb_var_new(b, "arg", ktype(T_I64));
        vec_push(a, &b->fun->params, (KFormal){.kind = KP_SCALAR, .var = v});
        x[i] = kx_var(a, v);
    }
    KVar *v = kb_var(b, "sum", T_I64, x[0]);
    const KExp *i = kb_for(b, "turn", kx_int(a, 0), kx_int(a, 3), kx_int(a, 1));
    kb_set(b, v, kx_prim2(a, OP_ADD, kx_prim2(a, OP_MUL, kx_var(a, v), x[1]), i));
    kb_if(b, kx_lt(a, kx_var(a, v), x[1]));
    kb_set(b, v, kx_prim2(a, OP_XOR, kx_var(a, v), x[0]));
    kb_end(b);
    kb_end(b);
    const KExp *gives[] = {kx_var(a, v), kx_prim2(a, OP_SUB, x[1], kx_var(a, v))};
    kb_stm(b, (KStm){.kind = KST_GIVE, .x = {kx_vector(a, gives, 2)}});
    return b->fun;
}

static inline void rk_call(Rk *r)
{
    KStm call = {.kind = KST_CALL, .fun = r->function};
    for (int i = 0; i < 2; i++)
        vec_push(r->a, &call.args, rk_data(r, 2));
    call.var = kb_var_new(r->b, "pair", (KType){.elem = T_I64, .lanes = 2});
    kb_stm(r->b, call);
    for (int i = 0; i < 2; i++)
        rk_push_data(r, kx_part(r->a, kx_var(r->a, call.var), i));
}

/* The number plus a multiple of the group's size. */
static inline const KExp *rk_dealt(Rk *r, const KExp *lid)
{
    const KExp *n = kx_id(r->a, KID_GROUP_SIZE), *k = rk_below(r, RK_SLOTS - 1);
    const KExp *at = kx_add(r->a, kx_mul(r->a, k, n), lid);
    return rk(r, 2) ? at : kb_let(r->b, "at", at);
}

/* A place that is this work-item's alone; RK_NEXT, RK_BESIDE: of those that are its neighbour's in
 * RK_OWN, RK_DEALT. */
static inline const KExp *rk_own(Rk *r, RkMode mode)
{
    const KExp *lid = kx_id(r->a, KID_LOCAL);
    if (mode == RK_DEALT || mode == RK_BESIDE)
        return rk_dealt(r, kx_add(r->a, lid, kx_int(r->a, mode == RK_BESIDE)));
    if (mode == RK_NEXT)
        lid = kx_rem(r->a, kx_add(r->a, lid, kx_int(r->a, 1)), kx_int(r->a, RK_ITEMS));
    return kx_add(r->a, kx_mul(r->a, lid, kx_int(r->a, RK_SLOTS)), rk_below(r, RK_SLOTS));
}

static inline void rk_shared_access(Rk *r)
{
    int k = rk(r, RK_SHARED);
    KBuf *s = r->shared[k];
    if (r->idle[k])
        return;
    if (r->mode[k] == RK_READ)
        rk_push_data(r, kb_load(r->b, "s", s, rk_below(r, RK_ITEMS * RK_SLOTS)));
    else if (rk(r, 2))
        kb_store(r->b, s, rk_own(r, r->mode[k]), rk_data(r, 2));
    else
        rk_push_data(r, kb_load(r->b, "s", s, rk_own(r, r->mode[k])));
}

static inline void rk_private_access(Rk *r)
{
    KBuf *s = rk(r, 2) ? r->fixed : r->priv;
    const KExp *at = s == r->fixed ? kx_int(r->a, rk(r, RK_SLOTS)) : rk_below(r, RK_SLOTS);
    if (rk(r, 2))
        kb_store(r->b, s, at, rk_data(r, 2));
    else
        rk_push_data(r, kb_load(r->b, "p", s, at));
}

/* The position of a row of RK_SLOTS elements: of `in` any one, by a variable that changes, or
 * anywhere; else one of this work-item. */
static inline const KExp *rk_row(Rk *r, const KBuf *buf, RkMode mode, KVar **changing)
{
    Arena *a = r->a;
    const KExp *row = kx_id(a, KID_LOCAL), *slots = kx_int(a, RK_SLOTS);
    *changing = NULL;
    if (mode == RK_NEXT)
        row = kx_rem(a, kx_add(a, row, kx_int(a, 1)), kx_int(a, RK_ITEMS));
    if (buf == r->in && rk(r, 3) == 0)
        return kb_let(r->b, "from", rk_below(r, (RK_ITEMS - 1) * RK_SLOTS));
    if (buf == r->in)
        row = rk_below(r, RK_ITEMS);
    if (buf == r->in && rk(r, 2))
        row = kx_var(a, *changing = kb_var(r->b, "row", T_I64, row));
    const KExp *at = kx_mul(a, row, slots);
    return *changing || rk(r, 2) ? at : kb_let(r->b, "at", at);
}

/* Accesses to the elements of a row one after the other, not all and some twice, with other
 * statements between. */
static inline void rk_row_access(Rk *r)
{
    int k = rk(r, RK_SHARED + 2), first = rk(r, RK_SLOTS), loads = rk(r, 3);
    if (k < RK_SHARED && (r->mode[k] == RK_DEALT || r->mode[k] == RK_BESIDE))
        k = RK_SHARED; /* there are no rows */
    if (k < RK_SHARED && r->idle[k])
        return;
    KBuf *buf = k == RK_SHARED ? r->out : k > RK_SHARED ? r->in : r->shared[k];
    RkMode mode = k < RK_SHARED ? r->mode[k] : k == RK_SHARED ? RK_OWN : RK_READ;
    KVar *changing;
    const KExp *at = rk_row(r, buf, mode, &changing);
    for (int i = 0, n = 2 + rk(r, 6); i < n; i++) {
        int slot = rk(r, 6) ? (first + i) % RK_SLOTS : rk(r, RK_SLOTS);
        const KExp *el = kx_add(r->a, at, kx_int(r->a, slot));
        if (mode == RK_READ || loads == 0 || (loads == 1 && rk(r, 4)))
            rk_push_data(r, kb_load(r->b, "r", buf, el));
        else
            kb_store(r->b, buf, el, rk_data(r, 2));
        if (changing && rk(r, 4) == 0)
            kb_set(r->b, changing, rk_below(r, RK_ITEMS));
        if (rk(r, 6) == 0 && r->n_vars > 0)
            kb_set(r->b, r->vars[rk(r, r->n_vars)], rk_data(r, 2));
    }
    if (r->n_data > 1) /* what was loaded shows */
        kb_store(r->b, r->out, rk_own(r, RK_OWN),
                 kx_prim2(r->a, OP_SUB, r->data[r->n_data - 1], r->data[r->n_data - 2]));
}

static inline void rk_access(Rk *r)
{
    switch (rk(r, 6)) {
    case 0: rk_push_data(r, kb_load(r->b, "g", r->in, rk_below(r, RK_ITEMS))); return;
    case 1: kb_store(r->b, r->out, rk_own(r, RK_OWN), rk_data(r, 2)); return;
    case 2: rk_private_access(r); return;
    case 3: rk_row_access(r); return;
    default: rk_shared_access(r); return;
    }
}

/* Orders some spaces; what it orders may be used in another way afterwards. */
static inline void rk_meet(Rk *r)
{
    unsigned fence = rk(r, 2) ? 1u << KS_LOCAL : 1u << KS_LOCAL | 1u << KS_GLOBAL;
    kb_meet(r->b, fence);
    for (int k = 0; k < RK_SHARED; k++)
        if (fence >> r->shared[k]->space & 1)
            r->mode[k] = (RkMode)rk(r, RK_MODES);
}

static inline void rk_begin(Rk *r, int k)
{
    kb_fresh(r->b, r->shared[k]);
    for (int i = 0; i < RK_SLOTS; i++) {
        const KExp *at = kx_mul(r->a, kx_id(r->a, KID_LOCAL), kx_int(r->a, RK_SLOTS));
        kb_store(r->b, r->shared[k], kx_add(r->a, at, kx_int(r->a, i)), rk_data(r, 1));
    }
    r->mode[k] = RK_OWN;
    r->idle[k] = false;
}

/* New contents of a local buffer, behind a barrier; some others are not needed any more. */
static inline void rk_fresh(Rk *r)
{
    int k = rk(r, RK_SHARED - 1);
    kb_meet(r->b, 1u << KS_LOCAL);
    for (int i = 0; i < RK_SHARED - 1; i++)
        r->idle[i] |= rk(r, 2);
    rk_begin(r, k);
}

typedef struct {
    int n_index, n_data, n_vars;
    RkMode mode[RK_SHARED];
    bool idle[RK_SHARED];
} RkScope;

static inline RkScope rk_enter(Rk *r)
{
    RkScope s = {r->n_index, r->n_data, r->n_vars, {0}, {0}};
    memcpy(s.mode, r->mode, sizeof s.mode);
    memcpy(s.idle, r->idle, sizeof s.idle);
    r->depth++;
    return s;
}

/* Out of a block that others may go around. */
static inline void rk_exit(Rk *r, RkScope s)
{
    r->depth--;
    r->n_index = s.n_index;
    r->n_data = s.n_data;
    r->n_vars = s.n_vars;
    for (int i = 0; i < RK_SHARED; i++)
        r->idle[i] |= s.idle[i];
    if (memcmp(s.mode, r->mode, sizeof s.mode) != 0) {
        kb_meet(r->b, 1u << KS_LOCAL | 1u << KS_GLOBAL);
        memcpy(r->mode, s.mode, sizeof s.mode);
    }
}

static inline void rk_block(Rk *r, int n, bool uniform);

static inline void rk_for(Rk *r, bool uniform)
{
    Arena *a = r->a;
    RkScope s = rk_enter(r);
    const KExp *to = rk(r, 2) ? kx_int(a, rk(r, 5)) : r->index[rk(r, 2)];
    if (!uniform && rk(r, 2))
        to = rk_below(r, 4);
    const KExp *i;
    switch (rk(r, 6)) {
    case 0: i = kb_for_times(r->b, "d", kx_int(a, 1), to, 2); break;
    case 1: i = kb_for(r->b, "i", kx_int(a, 1), to, kx_int(a, 2)); break;
    default: i = kb_for(r->b, "i", kx_int(a, 0), to, kx_int(a, 1)); break;
    }
    r->index[r->n_index++] = i;
    rk_block(r, 1 + rk(r, 4), uniform);
    rk_exit(r, s);
    kb_end(r->b);
}

static inline void rk_if(Rk *r, bool uniform)
{
    RkScope s = rk_enter(r);
    kb_if(r->b, uniform ? kx_lt(r->a, r->index[0], kx_int(r->a, rk(r, 6))) : rk_test(r));
    rk_block(r, 1 + rk(r, 4), uniform);
    rk_exit(r, s);
    if (rk(r, 2)) {
        kb_else(r->b);
        s = rk_enter(r);
        rk_block(r, 1 + rk(r, 3), uniform);
        rk_exit(r, s);
    }
    kb_end(r->b);
}

static inline void rk_work(Rk *r)
{
    RkScope s = rk_enter(r);
    KStm *w = kb_work(r->b);
    rk_block(r, 1 + rk(r, 3), false);
    kb_if(r->b, rk_test(r));
    kb_leave(r->b, w);
    kb_end(r->b);
    rk_block(r, 1 + rk(r, 3), false);
    if (rk(r, 3) == 0)
        kb_leave(r->b, w);
    rk_exit(r, s);
    kb_end(r->b);
}

/* A loop that counts by itself. */
static inline void rk_do(Rk *r, bool uniform)
{
    KVar *k = kb_var(r->b, "count", T_I64, kx_int(r->a, 0));
    RkScope s = rk_enter(r);
    bool post = rk(r, 2);
    const KExp *more = kx_lt(r->a, kx_var(r->a, k), kx_int(r->a, 3));
    KStm *loop = post ? kb_do(r->b) : kb_while(r->b, more);
    rk_block(r, 1 + rk(r, 3), uniform);
    kb_set(r->b, k, kx_add(r->a, kx_var(r->a, k), kx_int(r->a, 1)));
    rk_exit(r, s);
    if (post)
        kb_do_end(r->b, loop, more);
    else
        kb_end(r->b);
}

static inline void rk_stm(Rk *r, bool uniform)
{
    int kind = rk(r, r->depth < 3 ? 16 : 11);
    if (kind < 5) {
        rk_access(r);
        if (uniform && rk(r, 3) == 0)
            rk_meet(r);
    } else if (kind == 5 && uniform) {
        rk_fresh(r);
    } else if (kind < 7 && rk(r, 4) == 0) {
        rk_call(r);
    } else if (kind < 7) {
        rk_push_data(r, kb_let(r->b, "x", rk_data(r, 3)));
    } else if (kind == 7 && r->n_index < RK_NAMES) {
        r->index[r->n_index++] = kb_let(r->b, "i", kx_rem(r->a, rk_index(r, 3), kx_int(r->a, 64)));
    } else if (kind == 8 && r->n_vars < RK_NAMES) {
        r->vars[r->n_vars++] = kb_var(r->b, "v", T_I64, rk_data(r, 2));
    } else if (kind == 9 && r->n_vars > 0) {
        kb_set(r->b, r->vars[rk(r, r->n_vars)], rk_data(r, 2));
    } else if (kind == 10 && uniform) {
        rk_meet(r);
    } else if (kind < 13) {
        if (r->depth < 3)
            rk_for(r, uniform && rk(r, 2));
    } else if (kind == 13) {
        rk_work(r);
    } else if (kind == 14) {
        rk_do(r, uniform && rk(r, 2));
    } else {
        rk_if(r, uniform && rk(r, 2));
    }
}

static inline void rk_block(Rk *r, int n, bool uniform)
{
    for (int i = 0; i < n; i++)
        rk_stm(r, uniform);
}

static inline KBuf *rk_param(Rk *r, const char *name, KParamKind kind)
{
    KBuf *b = kb_buf_new(r->b, name, kind == KP_LOCAL ? KS_LOCAL : KS_GLOBAL, T_I64);
    vec_push(r->a, &r->b->fun->params, (KFormal){.kind = kind, .buf = b});
    return b;
}

static inline KVar *rk_scalar(Rk *r, const char *name)
{
    KVar *v = kb_var_new(r->b, name, ktype(T_I64));
    vec_push(r->a, &r->b->fun->params, (KFormal){.kind = KP_SCALAR, .var = v});
    r->index[r->n_index++] = kx_var(r->a, v);
    return v;
}

static inline KFun *rk_kernel(Arena *a, uint64_t seed)
{
    Rk *r = NEW(a, Rk);
    *r = (Rk){.a = a, .b = kb_new(a), .seed = seed * 0x9e3779b97f4a7c15u | 1};
    for (int i = 0; i < 9; i++)
        rk(r, 2);
    r->b->fun->name = "random";
    r->function = rk_function(r);
    r->b->fun->may_fail = true; /* barriers of the grid can */
    vec_push(a, &r->b->fun->params, (KFormal){.kind = KP_FAILURE});
    rk_scalar(r, "n");
    rk_scalar(r, "m");
    r->in = rk_param(r, "in", KP_MEM);
    r->out = rk_param(r, "out", KP_MEM);
    for (int k = 0; k < RK_SHARED - 1; k++)
        r->shared[k] = rk_param(r, "local", KP_LOCAL);
    KBuf *scratch = r->shared[RK_SHARED - 1] = rk_param(r, "scratch", KP_MEM);
    r->b->fun->vector_bytes = 16 << rk(r, 2);
    for (int i = 0; i < r->b->fun->params.n; i++)
        if (r->b->fun->params.at[i].buf)
            r->b->fun->params.at[i].buf->align = 8 << rk(r, 3);
    r->in->read_only = true;
    r->out->own_writes = rk(r, 2);
    r->in->no_alias = r->out->no_alias = scratch->no_alias = rk(r, 2);
    r->index[r->n_index++] = kb_let(r->b, "lid", kx_id(a, KID_LOCAL));
    r->index[r->n_index++] = kx_id(a, KID_GROUP);
    r->priv = kb_array(r->b, "priv", T_I64, RK_SLOTS);
    r->fixed = kb_array(r->b, "fixed", T_I64, RK_SLOTS);
    for (int i = 0; i < RK_SLOTS; i++) {
        kb_store(r->b, r->priv, kx_int(a, i), rk_data(r, 1));
        kb_store(r->b, r->fixed, kx_int(a, i), rk_data(r, 1));
    }
    for (int k = 0; k < RK_SHARED - 1; k++) {
        r->idle[k] = rk(r, 2);
        if (!r->idle[k])
            rk_begin(r, k);
    }
    rk_block(r, 4 + rk(r, 9), true);
    return r->b->fun;
}

/* In real numbers, as kir/facts/limits.h says. */
static inline double rk_real(Ev *ev, const KExp *x)
{
    if (x->kind != KE_PRIM) {
        int64_t n = ev_scalar(ev, x).i;
        return n < 0 ? INFINITY : n == 0 ? 1.0 : (double)n;
    }
    double y = rk_real(ev, x->x[0]), z = rk_real(ev, x->x[1]);
    switch ((int)x->op) {
    case OP_ADD: return y + z;
    case OP_MUL: return y * z;
    case OP_QUOT: return y / z;
    case OP_MIN: return fmin(y, z);
    case OP_MAX: return fmax(y, z);
    }
    ice((Loc){0}, "not a limit");
}

/* Does a condition of narrow_when hold? */
static inline bool rk_holds(Ev *ev, const KExp *cond)
{
    if (kx_is_int(cond->x[0], 0))
        return ev_scalar(ev, cond->x[1]).i >= 0;
    return rk_real(ev, cond->x[0]) <= rk_real(ev, cond->x[1]);
}

/* Runs it on numbers drawn from the seed. */
static inline Ev *rk_run(Arena *a, const KFun *f, uint64_t seed, int index_bits)
{
    Ev *ev = ev_new(a, f, RK_ITEMS, seed);
    ev->groups = 3;
    ev->group = (int)(seed % 3);
    for (int i = 0; i < f->params.n; i++) {
        const KFormal *p = &f->params.at[i];
        uint64_t data = seed * 77 | 1;
        for (const char *c = p->buf ? p->buf->name : p->var ? p->var->name : ""; *c; c++)
            data = (data ^ (uint64_t)*c) * 0x9e3779b97f4a7c15u | 1;
        if (p->var)
            ev_scalar_arg(ev, p->var, (int64_t)(ev_random(&data) % 7));
        if (!p->buf)
            continue;
        EvMem *m = ev_add(ev, p->buf, RK_ITEMS * RK_SLOTS);
        for (int64_t k = 0; k < RK_ITEMS * RK_SLOTS; k++)
            ev_put(T_I64, m->at + 8 * k, (Val){.i = (int64_t)(ev_random(&data) % 2001) - 1000});
    }
    ev->now = 0;
    bool fits = true;
    for (int i = 0; i < f->narrow_when.n; i++)
        fits &= rk_holds(ev, f->narrow_when.at[i]);
    ev->index_bits = fits ? index_bits : 0;
    ev->narrow = f->narrow && fits;
    ev_run(ev);
    return ev;
}

#endif
