/* Executes compiled bodies: the meaning of every form but the SOACs (nests.c). */
#include "common/policy.h"
#include "common/scalar.h"
#include "interp/code.h"

#include <stdlib.h>
#include <string.h>

/* --- Slots ---------------------------------------------------------------------------------- */

static void set_slot(Interp *in, int32_t slot, bool array, Val v)
{
    if (array)
        slot_set_array(in, slot, v.a);
    else
        in->slots[slot] = v;
}

/* "[3][4]" */
static void dims_text(char *buf, size_t size, const int64_t *n, int rank)
{
    size_t k = 0;
    buf[0] = 0;
    for (int d = 0; d < rank && k < size; d++)
        k += (size_t)snprintf(buf + k, size - k, "[%lld]", (long long)n[d]);
}

/* The value of a variable has the shape that its type says. Nothing is nothing in any shape: it
 * gets that one. */
static void check_shape(Interp *in, const Ins *p)
{
    const Arr *a = interp_array(in, p->dst, p->e->loc);
    bool alike = a->rank == p->shape->rank && a->elem == p->shape->elem, same = alike;
    for (int d = 0; same && d < a->rank; d++)
        same = a->n[d] == in->slots[p->shape->dims[d]].i;
    if (same)
        return;
    int64_t want[RT_MAX_RANK];
    char got_text[400], want_text[400];
    interp_shape(in, p->shape, want);
    if (alike && arr_is_empty(a) && dims_are_empty(want, a->rank)) {
        slot_set_array(in, p->dst, arr_new(in, p->e->loc, a->elem, a->rank, want));
        return;
    }
    dims_text(got_text, sizeof got_text, a->n, a->rank);
    dims_text(want_text, sizeof want_text, want, p->shape->rank);
    interp_fail(in, INTERP_BUG, p->e->loc, "%s has the value %s%s, but its type %s says %s%s",
                var_text(p->v), got_text, prim_type_text[a->elem], type_text(p->v->type), want_text,
                prim_type_text[p->shape->elem]);
}

/* --- Indexing ------------------------------------------------------------------------------- */

_Noreturn static void out_of_bounds(Interp *in, const Ins *p, const Arr *a)
{
    IndexStop stop = stop_index(in->mem, p->e);
    int64_t numbers[MOST_STOP_NUMBERS];
    for (int i = 0; i < stop.n; i++) {
        int dim = stop.at[i].dim;
        const DimPlan *x = &p->index[dim];
        int64_t start = in->slots[x->start].i;
        switch (stop.at[i].part) {
        case INDEX_START: numbers[i] = start; break;
        case INDEX_END:
            numbers[i] = mf_slice_end(start, in->slots[x->n].i, in->slots[x->stride].i);
            break;
        case INDEX_STRIDE: numbers[i] = in->slots[x->stride].i; break;
        case INDEX_SIZE: numbers[i] = a->n[dim]; break;
        }
    }
    interp_stop(in, p->e->loc, stop.text, numbers, stop.n);
}

/* The positions start, start+stride, .. (n of them) lie in 0 .. size-1? */
static bool slice_fits(int64_t start, int64_t n, int64_t stride, int64_t size)
{
    int64_t last;
    if (n <= 0)
        return n == 0;
    return start >= 0 && start < size && !__builtin_mul_overflow(n - 1, stride, &last) &&
           !__builtin_add_overflow(start, last, &last) && last >= 0 && last < size;
}

/* Address of the element, all components being single positions. */
static char *locate(Interp *in, const Ins *p, const Arr *a)
{
    char *at = a->base;
    for (int d = 0; d < p->n; d++) {
        int64_t i = in->slots[p->index[d].start].i;
        if ((uint64_t)i >= (uint64_t)a->n[d])
            out_of_bounds(in, p, a);
        at += i * a->stride[d];
    }
    return at;
}

/* Does an access that cannot fail pick no element at all? Then its other positions do not matter:
 * flattening makes one for all elements of a nest that was written for each of them, and there may
 * be none. */
static bool picks_nothing(const Interp *in, const Ins *p)
{
    bool none = false;
    for (int d = 0; d < p->n; d++)
        none = none || (p->index[d].is_slice && in->slots[p->index[d].n].i == 0);
    return none && (p->e->kind == E_UPDATE ? p->e->update.safe : p->e->index.safe);
}

/* A view of the sliced part. A zero stride makes elements overlap: fine for reading. */
static Arr *slice(Interp *in, const Ins *p, const Arr *a)
{
    const Val *S = in->slots;
    bool nothing = picks_nothing(in, p);
    for (int d = 0; d < p->n; d++) {
        const DimPlan *x = &p->index[d];
        int64_t i = S[x->start].i;
        bool fits = x->is_slice ? slice_fits(i, S[x->n].i, S[x->stride].i, a->n[d])
                                : (uint64_t)i < (uint64_t)a->n[d];
        if (!fits && !nothing)
            out_of_bounds(in, p, a);
    }
    Arr *v = arr_view(in, a);
    int rank = 0;
    for (int d = 0; d < a->rank; d++) {
        const DimPlan *x = d < p->n ? &p->index[d] : NULL;
        int64_t i = x ? S[x->start].i : 0;
        v->n[rank] = !x ? a->n[d] : x->is_slice ? S[x->n].i : 1;
        v->stride[rank] = a->stride[d];
        if (v->n[rank] > 1 && x)
            v->stride[rank] *= S[x->stride].i;
        if (!nothing && (!x || v->n[rank] > 0))
            v->base += i * a->stride[d];
        rank += !x || x->is_slice;
    }
    v->rank = (uint8_t)rank;
    return v;
}

static void exec_slice(Interp *in, const Ins *p)
{
    Arr *v = slice(in, p, interp_array(in, p->a, p->e->loc));
    for (int d = 0; d < v->rank; d++)
        if (v->stride[d] == 0 && v->n[d] > 1) { /* overlapping: must not be updated in place */
            Arr *c = arr_copy(in, p->e->loc, v);
            arr_release(in, v);
            v = c;
        }
    slot_set_array(in, p->dst, v);
}

static Arr *consume(Interp *in, const Ins *p)
{
    Arr *a = interp_array(in, p->a, p->e->loc);
    in->slots[p->a].a = NULL;
    return arr_unique(in, p->e->loc, a);
}

static void exec_put(Interp *in, const Ins *p)
{
    Arr *val = interp_array(in, p->c, p->e->loc);
    val->refs++; /* it may be the consumed array itself */
    Arr *a = consume(in, p);
    slot_set_array(in, p->dst, a);
    Arr *v = slice(in, p, a);
    bool same = v->rank == val->rank;
    for (int d = 0; same && d < v->rank; d++)
        same = v->n[d] == val->n[d];
    if (!same)
        interp_fail(in, INTERP_BUG, p->e->loc, "update with a value of another shape");
    arr_copy_to(v->base, v->stride, val);
    arr_release(in, v);
    arr_release(in, val);
}

static void exec_store(Interp *in, const Ins *p)
{
    Arr *a = interp_array(in, p->a, p->e->loc);
    if (p->op == I_STORE1) {
        if ((uint64_t)in->slots[p->b].i >= (uint64_t)a->n[0])
            out_of_bounds(in, p, a);
    } else {
        locate(in, p, a);
    }
    a = consume(in, p);
    char *at = p->op == I_STORE1 ? a->base + in->slots[p->b].i * a->stride[0] : locate(in, p, a);
    scalar_store((PrimType)a->elem, at, in->slots[p->c]);
    slot_set_array(in, p->dst, a);
}

/* --- Making arrays -------------------------------------------------------------------------- */

static void exec_iota(Interp *in, const Ins *p)
{
    int64_t n = in->slots[p->a].i;
    uint64_t v = (uint64_t)in->slots[p->b].i, step = (uint64_t)in->slots[p->c].i;
    Arr *a = arr_new(in, p->e->loc, p->t, 1, &n);
    for (int64_t i = 0; i < n; i++, v += step)
        scalar_store(p->t, a->base + i * a->stride[0], (Val){.i = (int64_t)v});
    slot_set_array(in, p->dst, a);
}

static void exec_replicate(Interp *in, const Ins *p)
{
    int64_t n[RT_MAX_RANK], times = 1;
    const Arr *val = p->b ? interp_array(in, p->a, p->e->loc) : NULL;
    int rank = p->n + (val ? val->rank : 0);
    if (rank > RT_MAX_RANK)
        interp_fail(in, INTERP_BUG, p->e->loc, "arrays of more than %d dimensions", RT_MAX_RANK);
    for (int d = 0; d < p->n; d++)
        n[d] = in->slots[p->list[d]].i;
    if (val)
        memcpy(n + p->n, val->n, sizeof *n * val->rank);
    Arr *a = arr_new(in, p->e->loc, p->t, rank, n);
    for (int d = 0; d < p->n; d++)
        times = mf_size_mul(times, n[d]);
    if (!val)
        arr_fill(a, in->slots[p->a]);
    for (int64_t i = 0; val && !arr_is_empty(val) && i < times; i++)
        arr_copy_to(a->base + i * a->stride[p->n - 1], a->stride + p->n, val);
    slot_set_array(in, p->dst, a);
}

/* Elements that nobody may read before writing them: a value that shows when somebody does. */
static void exec_scratch(Interp *in, const Ins *p)
{
    int64_t n[RT_MAX_RANK];
    interp_shape(in, p->shape, n);
    Arr *a = arr_new(in, p->e->loc, p->t, p->shape->rank, n);
    memset(a->base, p->t == T_BOOL ? 1 : 0xA5, (size_t)a->buf->bytes);
    slot_set_array(in, p->dst, a);
}

static void exec_arraylit(Interp *in, const Ins *p)
{
    int64_t n[RT_MAX_RANK];
    int inner = p->v->type.rank - 1;
    n[0] = p->n;
    if (inner)
        memcpy(n + 1, interp_array(in, p->list[0], p->e->loc)->n, sizeof *n * (size_t)inner);
    Arr *a = arr_new(in, p->e->loc, p->t, inner + 1, n);
    for (int i = 0; i < p->n; i++) {
        char *at = a->base + i * a->stride[0];
        if (!inner) {
            scalar_store(p->t, at, in->slots[p->list[i]]);
            continue;
        }
        const Arr *row = interp_array(in, p->list[i], p->e->loc);
        if (memcmp(row->n, n + 1, sizeof *n * (size_t)inner))
            interp_fail(in, INTERP_BUG, p->e->loc, "rows of different shapes in an array literal");
        arr_copy_to(at, a->stride + 1, row);
    }
    slot_set_array(in, p->dst, a);
}

static void exec_concat(Interp *in, const Ins *p)
{
    int64_t n[RT_MAX_RANK];
    int dim = p->e->concat.dim;
    const Arr *first = interp_array(in, p->list[0], p->e->loc);
    memcpy(n, first->n, sizeof *n * first->rank);
    for (int i = 1; i < p->n; i++) {
        const Arr *a = interp_array(in, p->list[i], p->e->loc);
        for (int d = 0; d < a->rank; d++)
            if (d != dim && a->n[d] != n[d])
                interp_fail(in, INTERP_BUG, p->e->loc, "concat of arrays of different shapes");
        n[dim] += a->n[dim];
    }
    Arr *r = arr_new(in, p->e->loc, p->t, first->rank, n);
    char *at = r->base;
    for (int i = 0; i < p->n; i++) {
        const Arr *a = in->slots[p->list[i]].a;
        arr_copy_to(at, r->stride, a);
        at += a->n[dim] * r->stride[dim];
    }
    slot_set_array(in, p->dst, r);
}

static void exec_rearrange(Interp *in, const Ins *p)
{
    const Arr *a = interp_array(in, p->a, p->e->loc);
    Arr *v = arr_view(in, a);
    for (int d = 0; d < a->rank; d++) {
        v->n[d] = a->n[p->perm[d]];
        v->stride[d] = a->stride[p->perm[d]];
    }
    slot_set_array(in, p->dst, v);
}

static void exec_reshape(Interp *in, const Ins *p)
{
    Arr *a = interp_array(in, p->a, p->e->loc);
    int64_t n[RT_MAX_RANK], from = 1, to = 1;
    interp_shape(in, p->shape, n);
    for (int d = 0; d < a->rank; d++)
        from = mf_size_mul(from, a->n[d]);
    for (int d = 0; d < p->shape->rank; d++)
        to = mf_size_mul(to, n[d]);
    if (from != to)
        interp_fail(in, INTERP_BUG, p->e->loc, "reshape of %lld elements to %lld", (long long)from,
                    (long long)to);
    Arr *v = arr_row_major(a) ? arr_view(in, a) : arr_copy(in, p->e->loc, a);
    int64_t stride = prim_type_bytes[a->elem];
    v->rank = (uint8_t)p->shape->rank;
    for (int d = v->rank - 1; d >= 0; d--) {
        v->n[d] = n[d];
        v->stride[d] = stride;
        stride = mf_size_mul(stride, n[d]);
    }
    slot_set_array(in, p->dst, v);
}

/* --- Control -------------------------------------------------------------------------------- */

static void exec_if(Interp *in, const Ins *p)
{
    const IfCode *x = p->branch;
    const Code *c = in->slots[p->a].i ? &x->then_ : &x->else_;
    interp_exec(in, c);
    for (int k = 0; k < x->n; k++)
        set_slot(in, x->dst[k], c->res[k].is_array, interp_take(in, c->res[k], p->e->loc));
}

static void exec_call(Interp *in, const Ins *p)
{
    const CallCode *x = p->call;
    for (int k = 0; k < x->fn->n_params; k++)
        in->slots[x->fn->params[k].slot] = in->slots[x->args[k]];
    interp_exec(in, &x->fn->body);
    for (int k = 0; k < x->n; k++)
        in->slots[x->dst[k]] = in->slots[x->fn->body.res[k].slot];
}

static bool loop_goes_on(Interp *in, const LoopCode *x, uint64_t i)
{
    const Val *S = in->slots;
    if (x->cond >= 0)
        return S[x->cond].i != 0;
    return prim_is_signed(x->i_type) ? (int64_t)i < S[x->bound].i : i < (uint64_t)S[x->bound].i;
}

static void exec_loop(Interp *in, const Ins *p)
{
    const LoopCode *x = p->loop;
    Loc loc = p->e->loc;
    for (int k = 0; k < x->n; k++)
        x->next[k] = interp_take(in, x->inits[k], loc);
    for (int k = 0; k < x->n; k++)
        set_slot(in, x->params[k].slot, x->params[k].is_array, x->next[k]);
    for (uint64_t i = 0; loop_goes_on(in, x, i); i++) {
        if (x->cond < 0)
            in->slots[x->i].i = (int64_t)i;
        interp_exec(in, &x->body);
        for (int k = 0; k < x->n; k++)
            x->next[k] = interp_take(in, x->body.res[k], loc);
        for (int k = 0; k < x->n; k++)
            set_slot(in, x->params[k].slot, x->params[k].is_array, x->next[k]);
    }
    for (int k = 0; k < x->n; k++) {
        Opd o = x->params[k];
        o.move = true;
        set_slot(in, x->dst[k], o.is_array, interp_take(in, o, loc));
    }
}

_Noreturn static void assertion_failed(Interp *in, const Ins *p)
{
    int64_t numbers[MOST_STOP_NUMBERS];
    for (int k = 0; k < p->n && k < MOST_STOP_NUMBERS; k++)
        numbers[k] = in->slots[p->list[k]].i;
    interp_stop(in, p->e->loc, p->e->assertion.msg, numbers, p->n);
}

static void exec_suff(Interp *in, const Ins *p)
{
    const InterpGuards *g = in->guards;
    const char *name = p->e->suff.name;
    int64_t par = mf_par_in_effect(in->slots[p->a].i, in->slots[p->b].i);
    int64_t t = g && g->threshold ? g->threshold(g->env, name) : RT_FULL_DEVICE;
    bool ok = t <= par;
    if (g && g->compared)
        g->compared(g->env, name, par, ok);
    if (ok && p->e->suff.intra && g && g->fits)
        ok = g->fits(g->env, p->e);
    in->slots[p->dst].i = ok;
}

_Static_assert(MOST_EXCHANGED == RT_EXCHANGED, "an exchange");

/* Of one rank, which shares nothing out. */
static void exec_ranks(Interp *in, const Ins *p)
{
    Val *S = in->slots;
    switch (p->e->kind) {
    case E_MY_RANK: S[p->dst].i = 0; break;
    case E_RANKS: S[p->dst].i = 1; break;
    case E_SHARE: S[p->dst].i = mf_share(S[p->list[0]].i, S[p->list[1]].i); break;
    case E_EXCHANGE:
        for (int k = 0; k < p->n; k++)
            in->exchanged[k] = S[p->list[k]];
        S[p->dst].i = 0;
        break;
    case E_PEER: S[p->dst] = in->exchanged[S[p->list[0]].i]; break;
    default: S[p->dst].i = 0; break; /* SHARED */
    }
}

/* --- Values for outside --------------------------------------------------------------------- */

void interp_value(Interp *in, int slot, bool is_array, PrimType t, rt_hvalue *v)
{
    const Arr *a = is_array ? interp_array(in, slot, NO_LOC) : NULL;
    if (!rt_hvalue_make(v, (rt_prim)t, a ? a->rank : 0, a ? a->n : NULL))
        interp_fail(in, INTERP_USER, NO_LOC, "out of memory");
    if (!a) {
        scalar_store(t, v->data, in->slots[slot]);
        return;
    }
    int64_t stride[RT_MAX_RANK], bytes = prim_type_bytes[t];
    for (int d = a->rank - 1; d >= 0; d--) {
        stride[d] = bytes;
        bytes *= a->n[d];
    }
    arr_copy_to(v->data, stride, a);
}

static void trace(Interp *in, const Ins *p)
{
    const Atoms *args = &p->e->trace.args;
    rt_hvalue *values = calloc((size_t)args->n + 1, sizeof *values);
    for (int i = 0; i < args->n && values; i++) {
        Type t = atom_type(args->at[i]);
        interp_value(in, p->list[i], t.rank > 0, t.elem, &values[i]);
    }
    fprintf(stderr, "%s: %s: ", diag_place_str(p->e->loc), p->e->trace.label);
    if (values)
        interp_show(stderr, p->e->trace.type, values);
    fputc('\n', stderr);
    for (int i = 0; i < args->n && values; i++)
        rt_hvalue_free(&values[i]);
    free(values);
}

/* --- The main switch ------------------------------------------------------------------------ */

/* Not inlined, so that the fast path has a small frame. */
__attribute__((noinline)) static void exec_other(Interp *in, const Ins *p)
{
    Val *S = in->slots;
    switch (p->op) {
    case I_SLICE: exec_slice(in, p); break;
    case I_STORE1:
    case I_STORE: exec_store(in, p); break;
    case I_PUT: exec_put(in, p); break;
    case I_IOTA: exec_iota(in, p); break;
    case I_REPLICATE: exec_replicate(in, p); break;
    case I_SCRATCH: exec_scratch(in, p); break;
    case I_ARRAYLIT: exec_arraylit(in, p); break;
    case I_CONCAT: exec_concat(in, p); break;
    case I_REARRANGE: exec_rearrange(in, p); break;
    case I_RESHAPE: exec_reshape(in, p); break;
    case I_COPY: {
        Arr *c = arr_copy(in, p->e->loc, interp_array(in, p->a, p->e->loc));
        slot_set_array(in, p->dst, c);
        break;
    }
    case I_ALIAS: {
        Arr *a = interp_array(in, p->a, p->e->loc);
        a->refs++;
        slot_set_array(in, p->dst, a);
        break;
    }
    case I_CHECK: check_shape(in, p); break;
    case I_CALL: exec_call(in, p); break;
    case I_IF: exec_if(in, p); break;
    case I_LOOP: exec_loop(in, p); break;
    case I_ASSERT:
        if (!S[p->a].i)
            assertion_failed(in, p);
        break;
    case I_TRACE: trace(in, p); break;
    case I_SOAC:
    case I_SEG: interp_soac(in, p); break;
    case I_SUFF: exec_suff(in, p); break;
    case I_RANKS: exec_ranks(in, p); break;
    case I_NONZERO:
        if (S[p->a].i == 0)
            interp_stop(in, p->e->loc, stop_text[STOP_DIVISION], NULL, 0);
        break;
    case I_NONNEG:
        if (S[p->a].i < 0)
            interp_stop(in, p->e->loc, stop_text[STOP_EXPONENT], NULL, 0);
        break;
#define D(o, ty, ctype, e) case I_##o##_##ty:
        DIRECT_OPS(D)
#undef D
    case I_SCALAR:
    case I_MOV:
    case I_KILL:
    case I_LOAD1:
    case I_LOAD2:
    case I_LOAD:
    case I_END: ice(p->e->loc, "instruction of the fast path");
    }
}

/* Runs a body; its results are then in the slots of c->res. */
void interp_exec(Interp *in, const Code *c)
{
    Val *S = in->slots;
    for (const Ins *p = c->ins;; p++) {
        switch (p->op) {
        case I_END: return;
#define VALUE_mf_f32(v)  v.f
#define VALUE_mf_f64(v)  v.d
#define VALUE_mf_i32(v)  v.i
#define VALUE_mf_i64(v)  v.i
#define VALUE_mf_bool(v) v.i
#define D(o, ty, ctype, e)                                                                         \
    case I_##o##_##ty: {                                                                           \
        ctype x = (ctype)VALUE_##ctype(S[p->a]), y = (ctype)VALUE_##ctype(S[p->b]);                \
        S[p->dst] = e;                                                                             \
        break;                                                                                     \
    }
            DIRECT_OPS(D)
#undef D
        case I_SCALAR: p->fn(&S[p->dst], &S[p->a], &S[p->b], &S[p->c]); break;
        case I_MOV: S[p->dst] = S[p->a]; break;
        case I_KILL: slot_set_array(in, p->dst, NULL); break;
        case I_LOAD1: {
            const Arr *a = interp_array(in, p->a, p->e->loc);
            int64_t i = S[p->b].i;
            if ((uint64_t)i >= (uint64_t)a->n[0])
                out_of_bounds(in, p, a);
            S[p->dst] = scalar_load(p->t, a->base + i * a->stride[0]);
            break;
        }
        case I_LOAD2: {
            const Arr *a = interp_array(in, p->a, p->e->loc);
            int64_t i = S[p->b].i, j = S[p->c].i;
            if ((uint64_t)i >= (uint64_t)a->n[0] || (uint64_t)j >= (uint64_t)a->n[1])
                out_of_bounds(in, p, a);
            S[p->dst] = scalar_load(p->t, a->base + i * a->stride[0] + j * a->stride[1]);
            break;
        }
        case I_LOAD:
            S[p->dst] = scalar_load(p->t, locate(in, p, interp_array(in, p->a, p->e->loc)));
            break;
        case I_NONZERO:
        case I_NONNEG:
        case I_ALIAS:
        case I_CHECK:
        case I_SLICE:
        case I_STORE1:
        case I_STORE:
        case I_PUT:
        case I_IOTA:
        case I_REPLICATE:
        case I_SCRATCH:
        case I_ARRAYLIT:
        case I_CONCAT:
        case I_REARRANGE:
        case I_RESHAPE:
        case I_COPY:
        case I_CALL:
        case I_IF:
        case I_LOOP:
        case I_ASSERT:
        case I_TRACE:
        case I_SOAC:
        case I_SEG:
        case I_SUFF:
        case I_RANKS: exec_other(in, p); break;
        }
    }
}
