/* Memory for arrays whose sizes only the thread knows. A kernel that needs it has a heap: a chunk of
 * a global block for each thread, used as a stack (heap_top: the bytes in use). Every piece of work
 * and every turn of a loop gives back what it took. A thread whose chunk is too small ends its
 * work; the runtime then launches the kernel again with larger chunks (runtime/heap.c).
 *
 * An array of the heap lies row-major at an offset that a variable holds, so that an array whose
 * size changes from one turn of a loop to the next, or differs between two branches, is one variable
 * too. Values that a loop carries are moved to the bottom of the loop's part of the heap when a
 * turn ends:
 *
 *   base          turn: xs, then what the turn makes       end of turn
 *   | xs |        | xs | temporaries | next xs |           | next xs |
 */
#include "codegen/kernel.h"

/* --- Notes for explain ------------------------------------------------------------------------ */

/* One note a place: the heap says more than a bound. */
void kg_irregular(KGen *kg, bool heap, const char *text)
{
    for (int i = 0; i < kg->irregulars.n; i++) {
        Irregular *r = &kg->irregulars.at[i];
        if (r->loc.beg != kg->at.beg)
            continue;
        if (heap && !r->heap)
            *r = (Irregular){kg->at, text, heap};
        return;
    }
    vec_push(kg->cx->perm, &kg->irregulars, (Irregular){kg->at, text, heap});
}

/* --- Allocation ------------------------------------------------------------------------------- */

/* The pointer to the chunk for elements of type t. */
static const char *heap_pointer(KGen *kg, PrimType t)
{
    const char *name = kg_text(kg, "heap_%s", prim_type_text[t]);
    if (!kg->uses_heap) {
        kg->uses_heap = true;
        vec_push(kg->cx->perm, &kg->params, (KParam){.kind = KP_HEAP, .name = "heap"});
        out_puts(&kg->top, "__global char *const heap_mine = heap + get_global_id(0) * heap_chunk;\n"
                           "i64 heap_top = 0;\n");
    }
    if (!(kg->heap_types & (1u << t))) {
        kg->heap_types |= 1u << t;
        out_printf(&kg->top, "__global %s *const %s = (__global %s *)heap_mine;\n", ctype_c(t), name,
                   ctype_c(t));
    }
    return name;
}

/* The number of elements as C text; a negative size counts as 0. */
static const char *count_c(KGen *kg, Type t)
{
    const Sx *n = sx_const(kg->cx, 1);
    for (int k = 0; k < t.rank; k++) {
        const Sx *d = kg_sx(kg, t.dims[k]);
        n = sx_mul(kg->cx, n, t.dims[k].var ? sx_op(kg->cx, SX_MAX, d, sx_const(kg->cx, 0)) : d);
    }
    return sx_exact_c(n);
}

KLoc heap_at(KGen *kg, Type t, const char *off)
{
    KLoc l = {.space = SP_GLOBAL, .elem = t.elem, .fresh = true, .heap = true};
    l.mem = heap_pointer(kg, t.elem);
    l.offset = sx_text(kg->cx, off);
    l.strides = loc_strides_row_major(kg, t, sx_const(kg->cx, 1));
    return l;
}

/* var = place for an array of type t, or the end of the thread's work. */
static void take(KGen *kg, const char *var, Type t)
{
    heap_pointer(kg, t.elem);
    kg_line(kg, "%s = mf_heap_alloc(failure, launch, heap_chunk, &heap_top, %s, %d);", var,
            count_c(kg, t), prim_type_bytes[t.elem]);
    kg_open(kg, "if (%s < 0)", var);
    kg_line(kg, "goto %s;", kg->fail_to);
    kg_close(kg);
    kg->fail_used = kg->heap_dirty = true;
}

KLoc heap_alloc(KGen *kg, const Var *v, Type t)
{
    const char *off = kg_name(kg, v ? v->base : "tmp");
    if (!kg->fail_to)
        ice(kg->at, "memory of a thread outside its work");
    kg_irregular(kg, true, "memory from the thread's heap");
    kg_line(kg, "i64 %s;", off);
    take(kg, off, t);
    return heap_at(kg, t, off);
}

HeapMark heap_mark(KGen *kg)
{
    HeapMark m = {kg->out.n, kg->out.indent, kg->heap_dirty};
    kg->heap_dirty = false;
    return m;
}

void heap_release(KGen *kg, HeapMark m)
{
    if (kg->heap_dirty) {
        const char *mark = kg_name(kg, "mark");
        out_insert_line(&kg->out, m.at, m.indent, kg_text(kg, "const i64 %s = heap_top;", mark));
        kg_line(kg, "heap_top = %s;", mark);
    }
    kg->heap_dirty = kg->heap_dirty || m.dirty;
}

/* Is l, which holds an array of type t, row-major in the heap? */
static bool plain_in_heap(KGen *kg, const KLoc *l, Type t)
{
    if (!l->heap)
        return false;
    const Sx **want = loc_strides_row_major(kg, t, sx_const(kg->cx, 1));
    for (int k = 0; k < t.rank; k++)
        if (!sx_eq(l->strides[k], want[k]))
            return false;
    return true;
}

/* --- Branches --------------------------------------------------------------------------------- */

void heap_join(KGen *kg, const char *off, const Var *v)
{
    const KLoc *l = kg_arr(kg, v);
    if (l->fresh && plain_in_heap(kg, l, v->type)) {
        kg_line(kg, "%s = %s;", off, sx_c(l->offset));
        return;
    }
    take(kg, off, v->type);
    KLoc dst = heap_at(kg, v->type, off);
    kg_copy(kg, &dst, l, v->type);
}

/* --- Loops ------------------------------------------------------------------------------------ */

const char *heap_carry_begin(KGen *kg, const Var *param, const Var *init)
{
    const char *off = kg_name(kg, param->base);
    kg_irregular(kg, true, "carried by a loop with changing sizes, memory from the thread's heap");
    kg_line(kg, "i64 %s;", off);
    take(kg, off, init->type);
    KLoc dst = heap_at(kg, init->type, off);
    kg_copy(kg, &dst, kg_arr(kg, init), init->type);
    return off;
}

void heap_carry_open(KGen *kg, HeapCarry *hc)
{
    hc->base = kg_name(kg, "base");
    kg_line(kg, "const i64 %s = heap_top;", hc->base);
}

/* Sources in increasing order, none below what the ones before it move to: then moving them down one
 * after the other, first elements first, overwrites nothing that is still wanted. A source that is
 * not like that is copied to the top. */
static void source(KGen *kg, const HeapCarry *hc, int i, const char *end)
{
    const Var *v = hc->at[i].next;
    Type t = v->type;
    const KLoc *l = kg_arr(kg, v);
    int bytes = prim_type_bytes[t.elem];
    const char *src = hc->at[i].src, *size = hc->at[i].size, *tmp = kg_name(kg, "tmp");
    bool plain = plain_in_heap(kg, l, t);
    kg_line(kg, "const i64 %s = (%s * %d + 7) & ~(i64)7;", size, count_c(kg, t), bytes);
    kg_line(kg, "i64 %s = %s;", src,
            plain ? kg_text(kg, "%s * %d", sx_c_factor(l->offset), bytes) : "-1");
    kg_open(kg, "if (%s < %s)", src, end);
    kg_line(kg, "i64 %s;", tmp);
    take(kg, tmp, t);
    KLoc dst = heap_at(kg, t, tmp);
    kg_copy(kg, &dst, l, t);
    kg_line(kg, "%s = %s * %d;", src, tmp, bytes);
    kg_close(kg);
    kg_line(kg, "%s = %s + %s;", end, src, size);
}

static void move_down(KGen *kg, const HeapCarry *hc, int i)
{
    Type t = hc->at[i].next->type;
    int bytes = prim_type_bytes[t.elem];
    const char *src = hc->at[i].src, *j = kg_name(kg, "j"), *p = heap_pointer(kg, t.elem);
    kg_open(kg, "if (%s != heap_top)", src);
    kg_open(kg, "for (i64 %s = 0; %s < %s; %s++)", j, j, count_c(kg, t), j);
    kg_line(kg, "%s[heap_top / %d + %s] = %s[%s / %d + %s];", p, bytes, j, p, src, bytes, j);
    kg_close(kg);
    kg_close(kg);
    kg_line(kg, "%s = heap_top / %d;", hc->at[i].off, bytes);
    kg_line(kg, "heap_top += %s;", hc->at[i].size);
}

void heap_carry_step(KGen *kg, HeapCarry *hc)
{
    const char *end = kg_name(kg, "end");
    kg_line(kg, "i64 %s = %s;", end, hc->base);
    for (int i = 0; i < hc->n; i++) {
        hc->at[i].src = kg_name(kg, "src");
        hc->at[i].size = kg_name(kg, "size");
        source(kg, hc, i, end);
    }
    kg_line(kg, "heap_top = %s;", hc->base);
    for (int i = 0; i < hc->n; i++)
        move_down(kg, hc, i);
    kg->heap_dirty = true;
}
