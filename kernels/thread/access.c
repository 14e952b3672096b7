/* Elements, views, copies and checks of arrays inside a kernel. */
#include "kernels/kernel.h"

const KExp *kg_iota_elem(KGen *kg, const Exp *e, const KExp *i)
{
    Arena *a = kg->cx->perm;
    const KExp *x = kx_conv(a, atom_type(e->iota.start).elem, i);
    if (!atom_is_int(e->iota.stride, 1))
        x = kx_prim2(a, OP_MUL, x, kg_atom(kg, e->iota.stride));
    return atom_is_int(e->iota.start, 0) ? x : kx_prim2(a, OP_ADD, kg_atom(kg, e->iota.start), x);
}

/* The element of an array without memory. */
static const KExp *elem_of(KGen *kg, const KLoc *l, const KExp *const *ix, int n)
{
    if (l->computed->kind == E_REPLICATE)
        return kg_atom(kg, l->computed->replicate.val);
    return kg_iota_elem(kg, l->computed, kg_at(kg, lmad_at(kg->cx, l->at, ix, n)));
}

const KExp *loc_load(KGen *kg, const char *base, const KLoc *l, const KExp *const *ix, int n)
{
    if (l->computed)
        return kb_let(kg->kb, base, elem_of(kg, l, ix, n));
    return kb_load(kg->kb, base, l->mem, kg_at(kg, lmad_at(kg->cx, l->at, ix, n)));
}

void kg_load(KGen *kg, const Var *v, const KLoc *l, const KExp *const *ix, int n)
{
    if (varmap_get(kg->results, v) || l->computed)
        kg_let(kg, v, loc_load(kg, v->base, l, ix, n));
    else
        kb_load_var(kg->kb, kg_bind(kg, v), l->mem, kg_at(kg, lmad_at(kg->cx, l->at, ix, n)));
}

void loc_store(KGen *kg, const KLoc *l, const KExp *const *ix, int n, const KExp *x)
{
    kb_store(kg->kb, l->mem, kg_at(kg, lmad_at(kg->cx, l->at, ix, n)), x);
}

void loc_store_at(KGen *kg, KPlace p, const KLoc *l, const KExp *x)
{
    KStm s = {.kind = KST_STORE, .buf = l->mem, .x = {kg_at(kg, l->at.offset), x}};
    kb_insert(kg->kb, p, s);
}

KLoc loc_row_n(KGen *kg, const KLoc *l, int rank, const KExp *const *ix, int n)
{
    KLoc r = *l;
    r.at = lmad_rows(kg->cx, l->at, rank, ix, n);
    return r;
}

KLoc loc_row(KGen *kg, const KLoc *l, int rank, const KExp *i)
{
    return loc_row_n(kg, l, rank, &i, 1);
}

/* --- Group mode: who writes shared memory, and when ---------------------------------------- */

void kg_touch(KGen *kg)
{
    kg->clean = false;
}

void kg_meet(KGen *kg)
{
    kb_meet(kg->kb, 1u << KS_LOCAL | 1u << KS_GLOBAL);
    kg->clean = true;
}

void kg_sync(KGen *kg)
{
    if (kg->coop && !kg->clean)
        kg_meet(kg);
}

/* --- Loops over positions ------------------------------------------------------------------ */

enum { SHARED_UNROLL = 4 }; /* loads of so many elements are on their way at a time */

/* All work-items take every turn of a loop with loops inside: PoCL 3.1 goes wrong where an inner
 * loop stands in one that work-items leave at different times. */
const KExp *kg_open_shared(KGen *kg, const KExp *total, bool straight)
{
    KBuild *b = kg->kb;
    if (straight) {
        const KExp *j = kb_for(b, "j", kg->lid, total, kg_id(kg, KID_GROUP_SIZE));
        kg_loop_unroll(kg, SHARED_UNROLL);
        kb_if(b, kx_bool(kg->cx->perm, true));
        return j;
    }
    const KExp *base = kb_for(b, "base", kg_int(kg, 0), total, kg_id(kg, KID_GROUP_SIZE));
    const KExp *j = kb_let(b, "j", kg_add(kg, base, kg->lid));
    kb_if(b, kg_lt(kg, j, total));
    return j;
}

void kg_close_shared(KGen *kg)
{
    kb_end(kg->kb);
    kb_end(kg->kb);
}

const KExp *kg_split(KGen *kg, const KExp *flat, const KExp *width, const KExp **r)
{
    const KExp *q = kb_let(kg->kb, "q", kg_quot(kg, flat, width));
    *r = kg_sub(kg, flat, kg_mul(kg, q, width));
    return q;
}

void kg_loops_open_shared(KGen *kg, Type t, const KExp **ix)
{
    const KExp *total = sx_const(kg->cx, 1);
    for (int k = 0; k < t.rank; k++)
        total = sx_mul(kg->cx, total, kg_sx(kg, t.dims[k]));
    const KExp *rest = kg_open_shared(kg, kg_at(kg, total), true), *r;
    for (int k = t.rank - 1; k > 0; k--) {
        rest = kg_split(kg, rest, kg_atom(kg, t.dims[k]), &r);
        ix[k] = kg_sx_of(kg, kb_let(kg->kb, "c", r));
    }
    if (t.rank > 0)
        ix[0] = kg_sx_of(kg, rest);
}

void kg_loops_open(KGen *kg, Type t, const KExp **ix)
{
    if (kg->coop) {
        kg_loops_open_shared(kg, t, ix);
        return;
    }
    for (int k = 0; k < t.rank; k++)
        ix[k] =
            kg_sx_of(kg, kb_for(kg->kb, "c", kg_int(kg, 0), kg_atom(kg, t.dims[k]), kg_int(kg, 1)));
}

void kg_loops_close(KGen *kg, Type t)
{
    if (kg->coop) {
        kg_close_shared(kg);
        return;
    }
    for (int k = 0; k < t.rank; k++)
        kb_end(kg->kb);
}

void kg_copy(KGen *kg, const KLoc *dst, const KLoc *src, Type t)
{
    if (dst->mem == src->mem && lmad_eq(dst->at, src->at, t.rank))
        return;
    const KExp *ix[LMAD_MAX_RANK];
    ASSERT(t.rank <= LMAD_MAX_RANK);
    kg_sync(kg);
    kg_loops_open(kg, t, ix);
    loc_store(kg, dst, ix, t.rank, loc_load(kg, "x", src, ix, t.rank));
    kg_loops_close(kg, t);
    kg_touch(kg);
    kg_sync(kg);
}

void kg_store(KGen *kg, const KLoc *dst, Type t, Atom v)
{
    if (t.rank > 0) {
        kg_copy(kg, dst, kg_arr(kg, v.var), t);
        return;
    }
    const KExp *x = kg_atom(kg, v);
    if (!kg->coop) {
        loc_store(kg, dst, NULL, 0, x);
        return;
    }
    kg_sync(kg);
    kg_if_first(kg);
    loc_store(kg, dst, NULL, 0, x);
    kb_end(kg->kb);
    kg_touch(kg);
    kg_sync(kg);
}

void kg_if_first(KGen *kg)
{
    kb_if(kg->kb, kg_eq(kg, kg->lid, kg_int(kg, 0)));
}

void kg_bind_row(KGen *kg, const Var *x, Atom arr, const KExp *i)
{
    const KLoc *l = kg_arr(kg, arr.var);
    int rank = arr.var->type.rank;
    if (rank == 1) {
        kg_load(kg, x, l, &i, 1);
        kg_touch(kg);
    } else {
        kg_bind_arr(kg, x, loc_row(kg, l, rank, i));
    }
}

void kg_unflatten(KGen *kg, const KExp *flat, Var *const *idx, const Atom *widths, int n)
{
    const KExp *rest = flat, *r;
    for (int k = n - 1; k > 0; k--) {
        rest = kg_split(kg, rest, kg_atom(kg, widths[k]), &r);
        kg_let(kg, idx[k], r);
    }
    if (n > 0)
        kg_let(kg, idx[0], rest);
}
