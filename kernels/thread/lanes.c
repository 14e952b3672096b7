/* Many elements combined by one work-item, in lanes: on targets whose inner loops become vectors
 * (trait VECTORS) several accumulators stand beside each other, each for every LANES-th element, so
 * that a turn of the loop has work for a vector, and none waits for the turn before it:
 *
 *     lanes[0..LANES] = neutral
 *     for t in 0, LANES .. full:  for j in 0..LANES:  lanes[j] = op(lanes[j], element t + j)
 *     for j in 0..LANES:  acc = op(acc, lanes[j])
 *     for t in full .. n:  acc = op(acc, element t)
 *
 * The operator must commute. A sum of 2^18 f32 takes a twentieth of the time of the plain loop, a
 * maximum with its place a fifth (bench/results/decisions.md). Rows too short for that are left to
 * the last loop, which is all that there is on other targets. */
#include "kernels/kernel.h"

enum { LANES = 32, LEAST_TURNS = 4 };

/* acc := op(acc, x). */
static void combine(KGen *kg, const Combined *l, KVar *const *acc, const KExp *const *x)
{
    const KExp **now = NEWN(kg->cx->perm, const KExp *, l->n);
    for (int j = 0; j < l->n; j++)
        now[j] = kg_of(kg, acc[j]);
    kg_combine(kg, l->op, l->n, acc, now, x);
}

/* acc := op(acc, element i). */
static void combine_element(KGen *kg, const Combined *l, KVar *const *acc, const KExp *i)
{
    const Atom *xs = l->element(kg, l->env, i);
    const KExp **x = NEWN(kg->cx->perm, const KExp *, l->n);
    for (int j = 0; j < l->n; j++)
        x[j] = kg_atom(kg, xs[j]);
    combine(kg, l, acc, x);
}

static const KExp *open_lanes(KGen *kg)
{
    const KExp *j = kb_for(kg->kb, "lane", kg_int(kg, 0), kg_int(kg, LANES), kg_int(kg, 1));
    kg_loop_unroll(kg, 1); /* the target's compiler makes vectors of it */
    return j;
}

/* Elements 0 .. full, a multiple of LANES that is not 0. */
static void combine_in_lanes(KGen *kg, const Combined *l, KVar *const *acc, const KExp *full)
{
    KBuild *b = kg->kb;
    Arena *a = kg->cx->perm;
    KBuf **lanes = NEWN(a, KBuf *, l->n);
    KVar **at = NEWN(a, KVar *, l->n);
    const KExp **x = NEWN(a, const KExp *, l->n);
    for (int k = 0; k < l->n; k++)
        lanes[k] = kb_array(b, "lanes", acc[k]->type.elem, LANES);
    const KExp *j = open_lanes(kg);
    for (int k = 0; k < l->n; k++)
        kb_store(b, lanes[k], j, kg_atom(kg, l->nes->at[k]));
    kb_end(b);
    const KExp *t = kb_for(b, "t", kg_int(kg, 0), full, kg_int(kg, LANES));
    j = open_lanes(kg);
    for (int k = 0; k < l->n; k++)
        at[k] = kb_var(b, "acc", acc[k]->type.elem, kb_load(b, "x", lanes[k], j));
    combine_element(kg, l, at, kb_let(b, "i", kg_add(kg, t, j)));
    for (int k = 0; k < l->n; k++)
        kb_store(b, lanes[k], j, kg_of(kg, at[k]));
    kb_end(b);
    kb_end(b);
    j = open_lanes(kg);
    for (int k = 0; k < l->n; k++)
        x[k] = kb_load(b, "x", lanes[k], j);
    combine(kg, l, acc, x);
    kb_end(b);
}

const KExp *kg_lanes(KGen *kg, const Combined *l, KVar *const *acc, const KExp *n)
{
    Arena *a = kg->cx->perm;
    const KExp *zero = kg_int(kg, 0), *vectors = kg_id(kg, KID_VECTORS);
    if (n->kind == KE_CONST && n->c.i < LEAST_TURNS * LANES)
        return zero;
    const KExp *many = kg_and(kg, vectors, kg_le(kg, kg_int(kg, LEAST_TURNS * LANES), n));
    const KExp *full = kg_sub(kg, n, kg_rem(kg, n, kg_int(kg, LANES)));
    kb_if(kg->kb, many);
    combine_in_lanes(kg, l, acc, full);
    kb_end(kg->kb);
    return kx_select(a, many, full, zero);
}
