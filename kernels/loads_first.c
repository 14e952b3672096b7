/* Turns of a loop whose loads are on their way together, each for some neighbours.
 *
 *     for i < n, j < 4 {              for i < n by 4 {
 *         load x = xs[i, j]               for r < 4 {
 *         let y = exp(x) / 3                  load x = xs[min(i + r, n-1), 0], ..
 *         store ys[i, j] = y     ==>          store first[r * 4] = x, ..
 *     }                                   }
 *                                         for r < 4 {
 *                                             load x = first[r * 4], ..
 *                                             let y = exp(x) / 3, ..
 *                                             store ys[min(i + r, n-1), 0] = y, ..
 *                                         }
 *                                     }
 *
 * Compilers of targets unroll such loops, but do not move loads across branches, which a division
 * has (of numbers with small exponents), so that each turn waits for memory. That counts where few
 * work-items have many registers: what a product of matrices stores. Neighbours are straight code,
 * however much that is, so that they are stored as vectors (kir/passes/vector.c). */
#include "kernels/kernel.h"
#include "kir/walk.h"

enum { AT_ONCE = 4, CELLS_AT_ONCE = 16 };

KTurns kg_turns(KGen *kg, const KExp *n, int together)
{
    KTurns t = {.n = n, .together = together};
    t.turn = kb_var_new(kg->kb, "i", n->type);
    t.beside = kb_var_new(kg->kb, "j", n->type);
    return t;
}

/* How many statements, to the last load, come before all that do more than to load; 0: nobody wants
 * what they load from global memory. */
static int first_loads(const KBlock *b)
{
    int n = 0;
    bool waits = false;
    for (int i = 0; i < b->n; i++) {
        const KStm *s = b->at[i];
        if (s->kind != KST_LET && s->kind != KST_LOAD)
            break;
        waits |= s->kind == KST_LOAD && s->buf->space == KS_GLOBAL && kblock_uses(b, s->var);
        n = s->kind == KST_LOAD ? i + 1 : n;
    }
    return waits ? n : 0;
}

/* The block for that neighbour in that turn. */
static KBlock cell_of(KGen *kg, const KTurns *t, const KExp *turn, int beside, const KBlock *b)
{
    PtrMap *to = ptrmap_new(kg->cx->perm);
    ptrmap_put(to, t->turn, turn);
    ptrmap_put(to, t->beside, kg_int(kg, beside));
    return kblock_copy(kg->kb, b, to);
}

static void one_by_one(KGen *kg, const KTurns *t, const KBlock *one)
{
    const KExp *turn = kb_for(kg->kb, "i", kg_int(kg, 0), t->n, kg_int(kg, 1));
    kg_loop_unroll(kg, AT_ONCE);
    for (int j = 0; j < t->together; j++) {
        KBlock cell = cell_of(kg, t, turn, j, one);
        for (int i = 0; i < cell.n; i++)
            kb_push(kg->kb, cell.at[i]);
    }
    kb_end(kg->kb);
}

/* Opens a loop over the turns from `from` on; the one at hand, and where its first element is. */
static const KExp *open_some(KGen *kg, const KTurns *t, const KExp *from, const KExp **first)
{
    int rows = CELLS_AT_ONCE / t->together;
    const KExp *r = kb_for(kg->kb, "r", kg_int(kg, 0), kg_int(kg, rows), kg_int(kg, 1));
    kg_loop_unroll(kg, -1);
    *first = kg_mul(kg, r, kg_int(kg, t->together));
    /* That there is a turn here is not seen from n: without it positions would be of 64 bits. */
    const KExp *last = kg_max(kg, kg_sub(kg, t->n, kg_int(kg, 1)), kg_int(kg, 0));
    return kb_let(kg->kb, "i", kg_min(kg, kg_add(kg, from, r), last));
}

/* Of the turns from `from` on: what they load, in the first statements of `one`. */
static void load_some(KGen *kg, const KTurns *t, const KExp *from, const KBlock *one,
                      KBuf *const *kept)
{
    const KExp *first, *turn = open_some(kg, t, from, &first);
    for (int j = 0; j < t->together; j++) {
        KBlock cell = cell_of(kg, t, turn, j, one);
        for (int i = 0; i < cell.n; i++) {
            kb_push(kg->kb, cell.at[i]);
            if (kept[i])
                kb_store(kg->kb, kept[i], kg_add(kg, first, kg_int(kg, j)),
                         kx_var(kg->cx->perm, cell.at[i]->var));
        }
    }
    kb_end(kg->kb);
}

/* ... and the whole, with what `loads` statements have loaded. */
static void do_some(KGen *kg, const KTurns *t, const KExp *from, const KBlock *one,
                    KBuf *const *kept, int loads)
{
    const KExp *first, *turn = open_some(kg, t, from, &first);
    for (int j = 0; j < t->together; j++) {
        KBlock cell = cell_of(kg, t, turn, j, one);
        for (int i = 0; i < cell.n; i++) {
            if (i < loads && kept[i])
                kb_load_var(kg->kb, cell.at[i]->var, kept[i], kg_add(kg, first, kg_int(kg, j)));
            else
                kb_push(kg->kb, cell.at[i]);
        }
    }
    kb_end(kg->kb);
}

static void loads_first(KGen *kg, const KTurns *t, KBlock *one, int loads)
{
    KBuild *b = kg->kb;
    KBuf **kept = NEWN(kg->cx->perm, KBuf *, loads);
    for (int i = 0; i < loads; i++)
        if (one->at[i]->kind == KST_LOAD)
            kept[i] = kb_array(b, "kept", one->at[i]->var->type.elem, CELLS_AT_ONCE);
    int rows = CELLS_AT_ONCE / t->together;
    const KExp *from = kb_for(b, "i", kg_int(kg, 0), t->n, kg_int(kg, rows));
    load_some(kg, t, from, &(KBlock){.at = one->at, .n = loads}, kept);
    do_some(kg, t, from, one, kept, loads);
    kb_end(b);
}

void kg_take_turns(KGen *kg, const KTurns *t, KBlock *one)
{
    int loads = first_loads(one);
    ASSERT(CELLS_AT_ONCE % t->together == 0);
    if (loads > 0)
        loads_first(kg, t, one, loads);
    else
        one_by_one(kg, t, one);
}
