/* Memory for the arrays that a kernel makes. A thread has private arrays, slices of a global block
 * and its heap (heap.c); a work-group has local memory. */
#include "kernels/kernel.h"

/* Arrays up to this size, known at compile time, are private arrays (registers where the driver
 * can). */
enum { PRIVATE_MAX_ELEMS = 64, PRIVATE_MAX_BYTES = 256 };

/* --- Local memory -------------------------------------------------------------------------- */

/* Each block has a buffer of its own here: those that are not needed at once become one when the
 * kernel is finished (kir/passes/locals.c). */
KBuf *group_buffer(KGen *kg, PrimType elem, const KExp *count)
{
    KBuf *b = kg_param_local(kg, "local", elem, count);
    kb_fresh(kg->kb, b);
    return b;
}

KLoc group_alloc(KGen *kg, Type t)
{
    KBuf *b = group_buffer(kg, t.elem, kg_bound_count(kg, t));
    return (KLoc){.mem = b, .at = lmad_permuted(kg->cx, t, NULL), .fresh = true};
}

const ArrMade *group_made(KGen *kg, const Var *v)
{
    return varmap_get(kg->pb->made, v);
}

/* The buffer of a block of local memory; its contents begin when it is first mentioned. */
static KBuf *block_buffer(KGen *kg, const Mem *m, PrimType elem)
{
    KBuf *b = ptrmap_get(kg->blocks, m);
    if (!b)
        ptrmap_put(kg->blocks, m, b = group_buffer(kg, elem, m->elems));
    return b;
}

/* The memory of a work-group that v has. */
static KLoc group_place(KGen *kg, const Var *v)
{
    const ArrMade *made = group_made(kg, v);
    if (!made)
        ice(v->loc, "no memory of a work-group for %s", var_text(v));
    const Mem *m = made->loc.mem;
    PrimType t = v->type.elem;
    KBuf *buf = m->local ? block_buffer(kg, m, t) : kg_param_mem(kg, (Mem *)m, t);
    return (KLoc){.mem = buf, .at = made->loc.at, .fresh = true};
}

/* --- Memory of a thread -------------------------------------------------------------------- */

static bool const_count(Type t, int64_t *count)
{
    *count = 1;
    for (int k = 0; k < t.rank; k++) {
        if (t.dims[k].var || t.dims[k].c.i < 0)
            return false;
        *count *= t.dims[k].c.i;
        if (*count > PRIVATE_MAX_ELEMS)
            return false;
    }
    return *count * prim_type_bytes[t.elem] <= PRIVATE_MAX_BYTES;
}

static KLoc alloc_private(KGen *kg, const Var *v, Type t, int64_t count)
{
    KLoc l = {.mem = kb_array(kg->kb, v ? v->base : "tmp", t.elem, count), .fresh = true};
    l.at = lmad_permuted(kg->cx, t, NULL);
    return l;
}

/* A slice of a global block for each thread. On a GPU element k of thread t is number k*T + t, so
 * that neighbouring threads touch neighbouring elements; on a CPU a thread's elements are
 * consecutive. */
static KLoc alloc_scratch(KGen *kg, const Var *v, Type t, const KExp *count)
{
    Ctx *cx = kg->cx;
    Arena *a = cx->perm;
    if (!kg_is_regular(kg, t))
        kg_irregular(kg, false, "memory bounded before the launch");
    if (!kg->max_threads)
        ice(kg->seg->loc, "thread memory in a kernel without a bound on its threads");
    const KExp *bytes =
        sx_mul(cx, sx_mul(cx, count, kg->max_threads), sx_const(cx, prim_type_bytes[t.elem]));
    Mem *mem = pb_alloc(kg->pb, v ? v->base : "thread", bytes);
    KLoc l = {.mem = kg_param_mem(kg, mem, t.elem), .fresh = true};
    l.mem->unshared = true;
    const KExp *woven = kg_id(kg, KID_COALESCES);
    const KExp *private = kg_id(kg, KID_HAS_SLICES), *one = kg_int(kg, 1);
    kb_enter(kg->kb, &kg->top);
    if (!kg->thread_stride) {
        const KExp *stride = kx_select(a, private, one, kg_global_size(kg));
        kg->thread_stride = kb_let(kg->kb, "thread_stride", kx_select(a, woven, stride, one));
    }
    const KExp *thread = kg_global_id(kg), *n = kg_host(kg, count);
    const KExp *off = kx_select(a, private, kg_int(kg, 0), thread);
    off = kb_let(kg->kb, v ? v->base : "thread", kx_select(a, woven, off, kg_mul(kg, thread, n)));
    kb_end(kg->kb);
    vec_push(cx->perm, &kg->kb->fun->slices, ((KSlice){l.mem, n}));
    kg->uses_scratch = true;
    l.at = lmad_row_major(cx, t, kg_sx_of(kg, off), kg_sx_of(kg, kg->thread_stride));
    return l;
}

bool kg_is_private(KGen *kg, Type t)
{
    int64_t count;
    return !kg->coop && const_count(t, &count);
}

typedef struct {
    KGen *kg;
    KLoc dest;
} Hint;

static bool take_hint(void *env, const Var *v, Lmad at)
{
    const Hint *h = env;
    if (varmap_get(h->kg->hints, v))
        return false;
    KLoc *d = NEW(h->kg->cx->perm, KLoc);
    *d = h->dest;
    d->at = at;
    varmap_put(h->kg->hints, v, d);
    return true;
}

void place_hint(KGen *kg, const Body *b, Atom v, KLoc dest)
{
    /* What is worked on stays near until it is done. */
    if (kg->coop || (v.var && kg_is_private(kg, v.var->type) && place_worked_on(b, v.var)))
        return;
    Hint h = {kg, dest};
    place_wish(kg->cx, b, v, dest.at, take_hint, &h);
}

KLoc kg_alloc(KGen *kg, const Var *v, Type t)
{
    KLoc *hint = v ? varmap_get(kg->hints, v) : NULL;
    int64_t count;
    if (kg->coop)
        return t.rank > 0 ? group_place(kg, v) : group_alloc(kg, t);
    if (hint)
        return *hint;
    if (const_count(t, &count))
        return alloc_private(kg, v, t, count);
    const KExp *bound = kg_bound_count(kg, t);
    return bound ? alloc_scratch(kg, v, t, bound) : heap_alloc(kg, v, t);
}

bool kg_is_scratch(KGen *kg, const Var *v, Type t)
{
    int64_t n;
    return !kg->coop && !varmap_get(kg->hints, v) && !const_count(t, &n) && kg_bound_count(kg, t) &&
           kg_bound_count(kg, type_row(t));
}

void kg_alloc_after_row(KGen *kg, const Var *v, Type t, KLoc *first, KLoc *rest)
{
    const KExp *row = kg_bound_count(kg, type_row(t)), *all = kg_bound_count(kg, t);
    *first = *rest = alloc_scratch(kg, v, t, sx_add(kg->cx, all, row));
    rest->at.offset = sx_add(kg->cx, first->at.offset, first->at.strides[0]);
}

KLoc kg_alloc_own(KGen *kg, const Var *v, Type t)
{
    return kg->coop ? group_place(kg, v) : kg_alloc(kg, NULL, t);
}

bool kg_in_place(KGen *kg, const Var *v, const KLoc *l)
{
    return kg->coop ? !group_made(kg, v) : l->fresh;
}
