/* Memory for arrays whose sizes only the thread knows. A kernel that needs it has a heap: a chunk
 * of a global block for each thread, used as a stack (heap_top: the bytes in use). Every piece of
 * work and every turn of a loop gives back what it took. A thread whose chunk is too small ends its
 * work; the runtime then launches the kernel again with larger chunks (runtime/core/heap.c).
 *
 * An array of the heap lies row-major at an offset that a variable holds, so that an array whose
 * size changes from one turn of a loop to the next, or differs between two branches, is one
 * variable too. Values that a loop carries are moved to the bottom of the loop's part of the heap
 * when a turn ends:
 *
 *   base          turn: xs, then what the turn makes       end of turn
 *   | xs |        | xs | temporaries | next xs |           | next xs |
 */
#include "kernels/kernel.h"

/* --- Allocation ---------------------------------------------------------------------------- */

/* The thread's chunk, as bytes. */
static void open_heap(KGen *kg)
{
    KBuild *b = kg->kb;
    Arena *a = kg->cx->perm;
    kg->uses_heap = true;
    kg->heap = NEW(a, KBuf);
    *kg->heap = (KBuf){.name = "heap", .space = KS_GLOBAL, .elem = T_I8};
    KVar *chunk = NEW(a, KVar);
    *chunk = (KVar){.name = "heap_chunk", .type = ktype(T_I64)};
    vec_push(a, &kg->params,
             (KParam){.kind = KP_HEAP, .name = "heap", .buf = kg->heap, .var = chunk});
    kg->heap_mine = kb_let(b, "heap_mine", kg_mul(kg, kg_global_id(kg), kg_of(kg, chunk)));
    kg->heap_top = kb_var(b, "heap_top", T_I64, kg_int(kg, 0));
}

/* The chunk as elements of type t. */
static KBuf *heap_of(KGen *kg, PrimType t)
{
    KBuild *b = kg->kb;
    if (kg->heaps[t])
        return kg->heaps[t];
    kb_enter(b, &kg->top);
    if (!kg->uses_heap)
        open_heap(kg);
    KBuf *buf =
        kb_buf_new(b, arena_printf(kg->cx->perm, "heap_%s", prim_type_text[t]), KS_GLOBAL, t);
    buf->of = kg->heap;
    kb_stm(b, (KStm){.kind = KST_VIEW, .buf = buf, .x = {kg->heap_mine}});
    kb_end(b);
    return kg->heaps[t] = buf;
}

/* The number of elements; a negative size counts as 0. */
static const KExp *count_of(KGen *kg, Type t)
{
    Arena *a = kg->cx->perm;
    const KExp *n = kg_int(kg, 1);
    for (int k = 0; k < t.rank; k++) {
        const KExp *d = kg_atom(kg, t.dims[k]);
        n = kx_saturate(a, OP_MUL, n, t.dims[k].var ? kg_max(kg, d, kg_int(kg, 0)) : d);
    }
    return n;
}

KLoc heap_at(KGen *kg, Type t, const KVar *off)
{
    KLoc l = {.mem = heap_of(kg, t.elem), .fresh = true, .heap = true};
    l.at = lmad_row_major(kg->cx, t, kg_sx_of(kg, kg_of(kg, off)), sx_const(kg->cx, 1));
    return l;
}

/* var = place for an array of type t, or the end of the thread's work. */
static void take(KGen *kg, KVar *var, Type t)
{
    KBuild *b = kg->kb;
    const KExp *bytes = kg_int(kg, prim_type_bytes[t.elem]);
    heap_of(kg, t.elem);
    kb_stm(
        b,
        (KStm){.kind = KST_HEAP, .var = var, .top = kg->heap_top, .x = {count_of(kg, t), bytes}});
    kb_if(b, kg_lt(kg, kg_of(kg, var), kg_int(kg, 0)));
    kb_leave(b, kg->work);
    kb_end(b);
    kg->heap_dirty = true;
}

KLoc heap_alloc(KGen *kg, const Var *v, Type t)
{
    if (!kg->work)
        ice(kg->at, "memory of a thread outside its work");
    kg_irregular(kg, true, "memory from the thread's heap");
    KVar *off = kb_var(kg->kb, v ? v->base : "tmp", T_I64, NULL);
    take(kg, off, t);
    return heap_at(kg, t, off);
}

HeapMark heap_mark(KGen *kg)
{
    HeapMark m = {kb_place(kg->kb), kg->heap_dirty};
    kg->heap_dirty = false;
    return m;
}

void heap_release(KGen *kg, HeapMark m)
{
    if (kg->heap_dirty) {
        KVar *mark = kb_var_new(kg->kb, "mark", ktype(T_I64));
        const KExp *top = kg_of(kg, kg->heap_top);
        kb_insert(kg->kb, m.at, (KStm){.kind = KST_LET, .var = mark, .x = {top}});
        kb_set(kg->kb, kg->heap_top, kg_of(kg, mark));
    }
    kg->heap_dirty = kg->heap_dirty || m.dirty;
}

/* Is l, which holds an array of type t, row-major in the heap? */
static bool plain_in_heap(KGen *kg, const KLoc *l, Type t)
{
    return l->heap && lmad_is_row_major(kg->cx, l->at, t);
}

/* --- Branches ------------------------------------------------------------------------------ */

void heap_join(KGen *kg, KVar *off, const Var *v)
{
    const KLoc *l = kg_arr(kg, v);
    if (l->fresh && plain_in_heap(kg, l, v->type)) {
        kb_set(kg->kb, off, kg_at(kg, l->at.offset));
        return;
    }
    take(kg, off, v->type);
    KLoc dst = heap_at(kg, v->type, off);
    kg_copy(kg, &dst, l, v->type);
}

/* --- Loops --------------------------------------------------------------------------------- */

KVar *heap_carry_begin(KGen *kg, const Var *param, const Var *init)
{
    kg_irregular(kg, true, "carried by a loop with changing sizes, memory from the thread's heap");
    KVar *off = kb_var(kg->kb, param->base, T_I64, NULL);
    take(kg, off, init->type);
    KLoc dst = heap_at(kg, init->type, off);
    kg_copy(kg, &dst, kg_arr(kg, init), init->type);
    return off;
}

void heap_carry_open(KGen *kg, HeapCarry *hc)
{
    heap_of(kg, T_I8);
    hc->base = kb_let(kg->kb, "base", kg_of(kg, kg->heap_top));
}

/* A number of bytes, in full words of 8. */
static const KExp *full_words(KGen *kg, const KExp *bytes)
{
    const KExp *eight = kg_int(kg, 8);
    return kg_mul(kg, kg_quot(kg, kg_add(kg, bytes, kg_int(kg, 7)), eight), eight);
}

/* Sources in increasing order, none below what the ones before it move to: then moving them down
 * one after the other, first elements first, overwrites nothing that is still wanted. A source that
 * is not like that is copied to the top. */
static void source(KGen *kg, HeapMove *m, KVar *end)
{
    KBuild *b = kg->kb;
    Type t = m->next->type;
    const KLoc *l = kg_arr(kg, m->next);
    const KExp *bytes = kg_int(kg, prim_type_bytes[t.elem]);
    bool plain = plain_in_heap(kg, l, t);
    m->size = kb_let(b, "size", full_words(kg, kg_mul(kg, count_of(kg, t), bytes)));
    m->src = kb_var(b, "src", T_I64,
                    plain ? kg_mul(kg, kg_at(kg, l->at.offset), bytes) : kg_int(kg, -1));
    kb_if(b, kg_lt(kg, kg_of(kg, m->src), kg_of(kg, end)));
    KVar *tmp = kb_var(b, "tmp", T_I64, NULL);
    take(kg, tmp, t);
    KLoc dst = heap_at(kg, t, tmp);
    kg_copy(kg, &dst, l, t);
    kb_set(b, m->src, kg_mul(kg, kg_of(kg, tmp), bytes));
    kb_end(b);
    kb_set(b, end, kg_add(kg, kg_of(kg, m->src), m->size));
}

static void move_down(KGen *kg, const HeapMove *m)
{
    KBuild *b = kg->kb;
    Type t = m->next->type;
    const KExp *bytes = kg_int(kg, prim_type_bytes[t.elem]), *top = kg_of(kg, kg->heap_top);
    const KExp *src = kg_of(kg, m->src);
    KBuf *buf = heap_of(kg, t.elem);
    kb_if(b, kx_ne(kg->cx->perm, src, top));
    const KExp *j = kb_for(b, "j", kg_int(kg, 0), count_of(kg, t), kg_int(kg, 1));
    const KExp *x = kb_load(b, "x", buf, kg_add(kg, kg_quot(kg, src, bytes), j));
    kb_store(b, buf, kg_add(kg, kg_quot(kg, top, bytes), j), x);
    kb_end(b);
    kb_end(b);
    kb_set(b, m->off, kg_quot(kg, top, bytes));
    kb_set(b, kg->heap_top, kg_add(kg, top, m->size));
}

void heap_carry_step(KGen *kg, HeapCarry *hc)
{
    KVar *end = kb_var(kg->kb, "end", T_I64, hc->base);
    for (int i = 0; i < hc->n; i++)
        source(kg, &hc->at[i], end);
    kb_set(kg->kb, kg->heap_top, hc->base);
    for (int i = 0; i < hc->n; i++)
        move_down(kg, &hc->at[i]);
    kg->heap_dirty = true;
}

/* --- Pieces of work ------------------------------------------------------------------------ */

WorkMark kg_work_begin(KGen *kg)
{
    WorkMark m = {kg->work, heap_mark(kg)};
    kg->work = kb_work(kg->kb);
    return m;
}

void kg_work_end(KGen *kg, WorkMark m)
{
    kb_end(kg->kb);
    heap_release(kg, m.heap);
    kg->work = m.work;
}

bool kg_work_fails(KGen *kg)
{
    return kir_leaves(&kg->work->body[0], kg->work);
}
