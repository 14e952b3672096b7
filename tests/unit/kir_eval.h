/* One work-group of a kernel, run as data: what the passes of kir/ must not change.
 *
 * Work-items take turns after each statement, in an order drawn from a seed, and stop at barriers,
 * of the group or of its lead. Found and told in `error`: accesses out of bounds, work-items at
 * different barriers, races (two work-items at one byte, one of them writing, with no barrier
 * between them that orders the space), and two that write what each writes alone (own_writes).
 * Indices must fit in index_bits. */
#ifndef TESTS_UNIT_KIR_EVAL_H
#define TESTS_UNIT_KIR_EVAL_H

#include "ir/scalar.h"
#include "kir/walk.h"

#include <stdio.h>
#include <string.h>

enum { EV_ITEMS = 64, EV_BUFS = 64, EV_VARS = 1024, EV_DEPTH = 64, EV_STEPS = 1 << 22 };

typedef struct {
    Val lane[8];
} EvCell;

/* Barriers that were met so far: of the group, of its lead. */
typedef struct {
    int all, lead;
} EvPhase;

enum { EV_NONE = -1, EV_SEVERAL_OF_LEAD = EV_ITEMS, EV_SEVERAL };

typedef struct {
    int writer, reader; /* item; EV_NONE; of readers several */
    EvPhase written, read;
} EvTrace;

typedef struct {
    const KBuf *buf;
    int64_t bytes;
    unsigned char *at; /* of a private one: EV_ITEMS times */
    EvTrace *trace;    /* NULL if private */
} EvMem;

typedef struct {
    const KBlock *block;
    int pc;
    KStm *owner; /* what the block is a body of */
} EvFrame;

typedef struct {
    EvFrame stack[EV_DEPTH];
    int depth;
    const KStm *at; /* the barrier it stands at */
    EvCell *vars;
    int64_t heap_top;
} EvItem;

typedef struct {
    Arena *arena;
    const KFun *fun;
    int items, groups, group, lanes;
    int index_bits; /* that indices may have; 0: any */
    uint64_t seed;
    EvMem mem[EV_BUFS];
    int n_mem;
    const KVar *vars[EV_VARS]; /* open addressing */
    EvItem item[EV_ITEMS];
    int now; /* the item at work */
    EvPhase phase[N_KSPACES];
    bool failed;
    bool narrow; /* an index has index_bits in this run */
    long long steps;
    char error[256];
} Ev;

#define EV_ERROR(ev, ...)                                                                          \
    do {                                                                                           \
        if (!(ev)->error[0])                                                                       \
            snprintf((ev)->error, sizeof(ev)->error, __VA_ARGS__);                                 \
    } while (0)

static inline uint64_t ev_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* --- Variables and memory ----------------------------------------------------------------------
 */

static inline EvCell *ev_var(Ev *ev, const KVar *v)
{
    size_t h = ((size_t)v >> 4) % EV_VARS;
    while (ev->vars[h] && ev->vars[h] != v)
        h = (h + 1) % EV_VARS;
    ev->vars[h] = v;
    return &ev->item[ev->now].vars[h];
}

static inline EvMem *ev_mem(Ev *ev, const KBuf *b)
{
    for (int i = 0; i < ev->n_mem; i++)
        if (ev->mem[i].buf == b)
            return &ev->mem[i];
    return NULL;
}

/* Memory of a parameter or of a private array. */
static inline EvMem *ev_add(Ev *ev, const KBuf *b, int64_t count)
{
    EvMem *m = ev_mem(ev, b);
    if (m)
        return m;
    ASSERT(ev->n_mem < EV_BUFS);
    m = &ev->mem[ev->n_mem++];
    *m = (EvMem){.buf = b, .bytes = count * prim_type_bytes[b->elem]};
    m->at = arena_alloc(ev->arena,
                        (size_t)m->bytes * (b->space == KS_PRIVATE ? (size_t)ev->items : 1) + 8);
    if (b->space != KS_PRIVATE) {
        m->trace = NEWN(ev->arena, EvTrace, m->bytes + 1);
        for (int64_t i = 0; i < m->bytes; i++)
            m->trace[i] = (EvTrace){.writer = EV_NONE, .reader = EV_NONE};
    }
    return m;
}

static inline int ev_lead_size(const Ev *ev)
{
    return ev->items < LEAD_LEAST ? ev->items : LEAD_LEAST;
}

static inline bool ev_in_lead(const Ev *ev, int item)
{
    return item < ev_lead_size(ev) || item == EV_SEVERAL_OF_LEAD;
}

/* Is no barrier for both between what `other` did then and what the item at work does? */
static inline bool ev_unordered(const Ev *ev, int other, EvPhase then, EvPhase phase)
{
    if (other == EV_NONE || other == ev->now || then.all != phase.all)
        return false;
    return then.lead == phase.lead || !ev_in_lead(ev, other) || !ev_in_lead(ev, ev->now);
}

static inline void ev_trace(Ev *ev, EvTrace *t, EvPhase phase, bool write, bool atomic)
{
    int me = ev->now;
    bool other_wrote = ev_unordered(ev, t->writer, t->written, phase);
    bool other_read = ev_unordered(ev, t->reader, t->read, phase);
    if (!atomic && (other_wrote || (write && other_read)))
        EV_ERROR(ev, "race");
    if (atomic)
        return;
    if (write) {
        t->writer = me;
        t->written = phase;
    } else {
        bool lead = ev_in_lead(ev, me) && ev_in_lead(ev, t->reader);
        t->reader = !other_read ? me : lead ? EV_SEVERAL_OF_LEAD : EV_SEVERAL;
        t->read = phase;
    }
}

/* Where `bytes` bytes from element i on lie. NULL after an error. */
static inline unsigned char *ev_place(Ev *ev, const KBuf *b, int64_t i, int lanes, bool write,
                                      bool atomic)
{
    int size = prim_type_bytes[b->elem];
    int64_t at = i * size;
    while (b->of) { /* a view: its variable in the table is the byte it begins at */
        at += ev_var(ev, (const KVar *)b)->lane[0].i;
        b = b->of;
    }
    EvMem *m = ev_mem(ev, b);
    if (!m || at < 0 || at + size * lanes > m->bytes) {
        EV_ERROR(ev, "%s[%lld] is out of bounds", b->name, (long long)i);
        return NULL;
    }
    if (lanes > 1 && at % (size * lanes) != 0)
        EV_ERROR(ev, "%s[%lld] is no place of a vector", b->name, (long long)i);
    if (!m->trace)
        return m->at + m->bytes * ev->now + at;
    if (write && b->own_writes && m->trace[at].writer >= 0 && m->trace[at].writer != ev->now)
        EV_ERROR(ev, "%s[%lld] is written by two", b->name, (long long)i);
    for (int64_t k = at; k < at + size * lanes; k++)
        ev_trace(ev, &m->trace[k], ev->phase[b->space], write, atomic);
    return m->at + at;
}

static inline Val ev_get(PrimType t, const unsigned char *p)
{
    Val v = {.i = 0};
    switch (t) {
#define X(TAG, T, text, bits, C, CL, V, ...)                                                       \
    case T_##TAG: {                                                                                \
        C x;                                                                                       \
        memcpy(&x, p, sizeof x);                                                                   \
        VAL_PUT_##V(v, x);                                                                         \
        break;                                                                                     \
    }
        RT_SCALARS(X, )
#undef X
    case N_PRIM_TYPES: break;
    }
    return v;
}

static inline void ev_put(PrimType t, unsigned char *p, Val v)
{
    memcpy(p, &v, (size_t)prim_type_bytes[t]); /* little-endian */
}

/* --- Expressions -------------------------------------------------------------------------------
 */

static inline EvCell ev_exp(Ev *ev, const KExp *x);

static inline Val ev_scalar(Ev *ev, const KExp *x)
{
    return ev_exp(ev, x).lane[0];
}

static inline void ev_check_index(Ev *ev, int64_t i)
{
    int64_t most = ev->index_bits ? (int64_t)1 << (ev->index_bits - 1) : INT64_MAX;
    if (i >= most || i < -most)
        EV_ERROR(ev, "an index of %lld", (long long)i);
}

static inline int64_t ev_id(Ev *ev, const KExp *x)
{
    switch (x->id) {
    case KID_GROUP: return x->dim ? 0 : ev->group;
    case KID_LOCAL: return x->dim ? 0 : ev->now;
    case KID_GROUP_SIZE: return x->dim ? 1 : ev->items;
    case KID_GROUPS: return x->dim ? 1 : ev->groups;
    case KID_GRID_SIZE: return x->dim ? 1 : ev->groups * ev->items;
    case KID_LANE: return ev->now % ev->lanes;
    case KID_LANES: return ev->lanes;
    case KID_IN_LEAD: return ev_in_lead(ev, ev->now);
    case KID_LEAD_SIZE: return ev_lead_size(ev);
    case KID_FAILED_BEFORE: return 0;
    case KID_TEAMS:
    case KID_COALESCES: return 1;
    case KID_VECTORS: return 0;
    case KID_ATOMIC64:
    case KID_UNROLLS: return 1;
    case KID_HAS_SLICES: return 0;
    case N_KIDS: break;
    }
    return 0;
}

static inline Val ev_prim(Ev *ev, const KExp *x, const EvCell *a, int lane)
{
    PrimType t = x->x[0]->type.elem;
    Val r = {.i = 0};
    if (x->exact && (x->op == OP_QUOT || x->op == OP_REM) && a[1].lane[lane].i <= 0)
        EV_ERROR(ev, "index division by %lld", (long long)a[1].lane[lane].i);
    scalar_fn(x->op, t)(&r, &a[0].lane[lane], &a[1].lane[lane], &a[2].lane[lane]);
    return r;
}

static inline EvCell ev_conv(const KExp *x, EvCell v)
{
    ScalarFn *fn = scalar_conv(x->x[0]->type.elem, x->type.elem);
    EvCell r = v;
    for (int k = 0; fn && k < x->type.lanes; k++)
        fn(&r.lane[k], &v.lane[k], NULL, NULL);
    return r;
}

static inline EvCell ev_exp(Ev *ev, const KExp *x)
{
    EvCell r = {0}, a[8] = {0};
    for (int i = 0; i < x->n; i++)
        if (x->kind != KE_SELECT)
            a[i] = ev_exp(ev, x->x[i]);
    switch (x->kind) {
    case KE_CONST: r.lane[0] = scalar_const(x->c); break;
    case KE_VAR: r = *ev_var(ev, x->var); break;
    case KE_PRIM:
        for (int k = 0; k < x->type.lanes; k++)
            r.lane[k] = ev_prim(ev, x, a, k);
        break;
    case KE_CONV: r = ev_conv(x, a[0]); break;
    case KE_SELECT: r = ev_exp(ev, x->x[ev_scalar(ev, x->x[0]).i ? 1 : 2]); break;
    case KE_ID: r.lane[0].i = ev_id(ev, x); break;
    case KE_PART: r.lane[0] = a[0].lane[x->dim]; break;
    case KE_VECTOR:
        for (int k = 0; k < x->n; k++)
            r.lane[k] = a[k].lane[0];
        break;
    case KE_HOST:
    case KE_SIZE:
    case KE_CEILDIV:
    case N_KEXPS: EV_ERROR(ev, "text"); break;
    }
    if (x->type.index)
        ev_check_index(ev, r.lane[0].i);
    return r;
}

/* --- Statements --------------------------------------------------------------------------------
 */

static inline void ev_enter(Ev *ev, EvItem *it, KStm *s, int branch)
{
    ASSERT(it->depth < EV_DEPTH);
    (void)ev;
    it->stack[it->depth++] = (EvFrame){&s->body[branch], 0, s};
}

static inline void ev_access(Ev *ev, const KStm *s)
{
    int64_t i = ev_scalar(ev, s->x[0]).i;
    PrimType t = s->buf->elem;
    bool load = s->kind == KST_LOAD || s->kind == KST_PEEK,
         atomic = s->kind == KST_ATOMIC || s->kind == KST_CAS;
    bool arrive = s->kind == KST_ARRIVE;
    EvCell x = load || arrive ? (EvCell){0} : ev_exp(ev, s->x[1]), old = {0};
    int lanes = load || arrive ? s->var->type.lanes : s->x[1]->type.lanes;
    unsigned char *p =
        ev_place(ev, s->buf, i, lanes, !load, atomic || arrive || s->kind == KST_RACE);
    if (!p)
        return;
    for (int k = 0; k < lanes; k++)
        old.lane[k] = ev_get(t, p + k * prim_type_bytes[t]);
    if (s->var)
        *ev_var(ev, s->var) = old;
    if (load)
        return;
    if (arrive)
        x.lane[0].i = old.lane[0].i + 1;
    if (s->kind == KST_CAS)
        x.lane[0] = old.lane[0].i == x.lane[0].i ? ev_scalar(ev, s->x[2]) : old.lane[0];
    if (s->kind == KST_ATOMIC && s->op != N_PRIM_OPS)
        scalar_fn(s->op, t)(&x.lane[0], &old.lane[0], &x.lane[0], NULL);
    for (int k = 0; k < lanes; k++)
        ev_put(t, p + k * prim_type_bytes[t], x.lane[k]);
}

static inline void ev_heap(Ev *ev, const KStm *s)
{
    int64_t n = ev_scalar(ev, s->x[0]).i, size = ev_scalar(ev, s->x[1]).i;
    EvCell *top = ev_var(ev, s->top);
    int64_t at = top->lane[0].i;
    top->lane[0].i = at + ((n * size + 7) & ~(int64_t)7);
    ev_var(ev, s->var)->lane[0].i = at / size;
}

static inline void ev_leave(EvItem *it, const KStm *work)
{
    while (it->stack[it->depth - 1].owner != work)
        it->depth--;
    it->depth--;
}

/* Its variables are those of all its calls: there is no recursion. */
static inline void ev_call(Ev *ev, EvItem *it, KStm *s)
{
    ASSERT(it->depth < EV_DEPTH);
    for (int i = 0; i < s->args.n; i++)
        *ev_var(ev, s->fun->params.at[i].var) = ev_exp(ev, s->args.at[i]);
    it->stack[it->depth++] = (EvFrame){&s->fun->body, 0, s};
}

static inline void ev_give(Ev *ev, const EvItem *it, const KStm *s)
{
    const KStm *call = it->stack[it->depth - 1].owner;
    ASSERT(call && call->kind == KST_CALL);
    *ev_var(ev, call->var) = ev_exp(ev, s->x[0]);
}

static inline void ev_stm(Ev *ev, EvItem *it, KStm *s)
{
    switch (s->kind) {
    case KST_LET:
    case KST_VAR:
    case KST_SET:
        if (s->x[0])
            *ev_var(ev, s->var) = ev_exp(ev, s->x[0]);
        return;
    case KST_LOAD:
    case KST_STORE:
    case KST_RACE:
    case KST_PEEK:
    case KST_POST:
    case KST_ARRIVE:
    case KST_ATOMIC:
    case KST_CAS: ev_access(ev, s); return;
    case KST_ARRAY: ev_add(ev, s->buf, s->buf->count); return;
    case KST_VIEW:
        ev_var(ev, (const KVar *)s->buf)->lane[0].i = s->x[0] ? ev_scalar(ev, s->x[0]).i : 0;
        return;
    case KST_FAILING: ev_var(ev, s->var)->lane[0].i = ev->failed; return;
    case KST_FOR:
        *ev_var(ev, s->var) = ev_exp(ev, s->x[0]);
        if (ev_var(ev, s->var)->lane[0].i < ev_scalar(ev, s->x[1]).i)
            ev_enter(ev, it, s, 0);
        return;
    case KST_WHILE:
        if (s->post || ev_scalar(ev, s->x[0]).i)
            ev_enter(ev, it, s, 0);
        return;
    case KST_IF: ev_enter(ev, it, s, ev_scalar(ev, s->x[0]).i ? 0 : 1); return;
    case KST_BLOCK:
    case KST_WORK: ev_enter(ev, it, s, 0); return;
    case KST_LEAVE: ev_leave(it, s->target); return;
    case KST_BARRIER: it->at = s; return;
    case KST_FAIL: ev->failed = true; return;
    case KST_HEAP: ev_heap(ev, s); return;
    case KST_CALL: ev_call(ev, it, s); return;
    case KST_GIVE: ev_give(ev, it, s); return;
    case KST_FRESH:
    case KST_PREFETCH:
    case KST_COMMENT: return;
    case KST_SHUFFLE:
    case KST_POWER:
    case KST_COPY:
    case KST_ROUND:
    case KST_FRAGMENTS:
    case KST_MULTIPLY:
    case KST_EXPOSE:
    case KST_SETTLE:
    case N_KSTMS: EV_ERROR(ev, "cannot run %s", kstm_info[s->kind].word); return;
    }
}

/* At the end of a body: around again, or out of it. */
static inline void ev_end(Ev *ev, EvItem *it)
{
    EvFrame *f = &it->stack[it->depth - 1];
    KStm *s = f->owner;
    bool again = false;
    if (s && s->kind == KST_FOR) {
        int64_t *i = &ev_var(ev, s->var)->lane[0].i, step = ev_scalar(ev, s->x[2]).i;
        *i = s->doubling ? *i * step : *i + step;
        again = *i < ev_scalar(ev, s->x[1]).i;
        if (s->var->type.index)
            ev_check_index(ev, *i);
    } else if (s && s->kind == KST_WHILE) {
        again = ev_scalar(ev, s->x[0]).i;
    }
    f->pc = 0;
    it->depth -= !again;
}

static inline void ev_step(Ev *ev, EvItem *it)
{
    EvFrame *f = &it->stack[it->depth - 1];
    if (f->pc == f->block->n)
        ev_end(ev, it);
    else
        ev_stm(ev, it, f->block->at[f->pc++]);
    if (++ev->steps > EV_STEPS)
        EV_ERROR(ev, "does not end");
}

/* --- Running ------------------------------------------------------------------------------------
 */

static inline Ev *ev_new(Arena *a, const KFun *f, int items, uint64_t seed)
{
    Ev *ev = NEW(a, Ev);
    *ev = (Ev){.arena = a, .fun = f, .items = items, .groups = 1, .lanes = 4, .seed = seed | 1};
    for (int i = 0; i < items; i++)
        ev->item[i].vars = NEWN(a, EvCell, EV_VARS);
    return ev;
}

static inline void ev_scalar_arg(Ev *ev, const KVar *v, int64_t x)
{
    for (ev->now = 0; ev->now < ev->items; ev->now++)
        ev_var(ev, v)->lane[0].i = x;
}

/* Lets the first n items go on, which all stand at one barrier. */
static inline void ev_pass(Ev *ev, int n)
{
    const KStm *at = ev->item[0].at;
    for (int i = 0; i < n; i++) {
        if (ev->item[i].depth == 0 || ev->item[i].at != at)
            EV_ERROR(ev, "work-items at different barriers");
        ev->item[i].at = NULL;
    }
    for (int s = 0; s < N_KSPACES; s++) {
        int met = at && (kstm_fence(at) >> s & 1);
        ev->phase[s].lead += met;
        ev->phase[s].all += met && !at->lead;
    }
}

/* Is there anyone who can go on? */
static inline bool ev_meet(Ev *ev)
{
    bool some = false, lead = ev->item[0].at && ev->item[0].at->lead;
    for (int i = 0; i < ev->items; i++)
        some |= ev->item[i].depth > 0;
    if (some)
        ev_pass(ev, lead ? ev_lead_size(ev) : ev->items);
    return some;
}

/* Until all stand at a barrier or have ended. */
static inline void ev_run_phase(Ev *ev)
{
    int ready[EV_ITEMS], n = 0;
    for (int i = 0; i < ev->items; i++)
        if (ev->item[i].depth > 0)
            ready[n++] = i;
    while (n > 0 && !ev->error[0]) {
        int k = (int)(ev_random(&ev->seed) % (unsigned)n);
        EvItem *it = &ev->item[ev->now = ready[k]];
        for (int t = (int)(ev_random(&ev->seed) % 9); t >= 0 && it->depth > 0 && !it->at; t--)
            ev_step(ev, it);
        if (it->depth == 0 || it->at)
            ready[k] = ready[--n];
    }
}

/* Memory of parameters must be there (ev_add), and values of scalars. */
static inline void ev_run(Ev *ev)
{
    for (int i = 0; i < ev->items; i++) {
        EvItem *it = &ev->item[i];
        it->stack[0] = (EvFrame){&ev->fun->body, 0, NULL};
        it->depth = 1;
    }
    do
        ev_run_phase(ev);
    while (!ev->error[0] && ev_meet(ev));
}

/* The two runs, of a kernel and a copy, left the same in the parameters in global memory? */
static inline bool ev_same(const Ev *a, const Ev *b)
{
    for (int i = 0; i < a->n_mem; i++)
        for (int k = 0; k < b->n_mem; k++) {
            const EvMem *x = &a->mem[i], *y = &b->mem[k];
            if (x->buf->space == KS_GLOBAL && strcmp(x->buf->name, y->buf->name) == 0 &&
                (x->bytes != y->bytes || memcmp(x->at, y->at, (size_t)x->bytes) != 0))
                return false;
        }
    return a->failed == b->failed;
}

#endif
