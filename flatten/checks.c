/* Accesses that may fail, as assertions and accesses that do not.
 *
 * Views are recomputed by each construct, and elements of them become elements of the array: nobody
 * would know the view again that failed, nor would it fail where nothing of it is read. */
#include "flatten/rules.h"

#include "ir/stops.h"

/* 0 <= i < size; of a slice: it is empty, or 0 <= start <= size - n. */
static Atom is_inside(Flat *fl, DimIndex d, Atom size, Loc loc, Bld *bl)
{
    Ctx *cx = fl->cx;
    Atom zero = atom_i64(0);
    Atom low = bld_exp(bl, "low", exp_binop(cx, loc, OP_LE, zero, d.start));
    if (!d.is_slice) {
        Atom high = bld_exp(bl, "high", exp_binop(cx, loc, OP_LT, d.start, size));
        return bld_exp(bl, "inside", exp_binop(cx, loc, OP_LAND, low, high));
    }
    Atom most = bld_exp(bl, "most", exp_binop(cx, loc, OP_SUB, size, d.n));
    Atom high = bld_exp(bl, "high", exp_binop(cx, loc, OP_LE, d.start, most));
    Atom inside = bld_exp(bl, "inside", exp_binop(cx, loc, OP_LAND, low, high));
    Atom empty = bld_exp(bl, "empty", exp_binop(cx, loc, OP_EQ, d.n, zero));
    return bld_exp(bl, "inside", exp_binop(cx, loc, OP_LOR, empty, inside));
}

static Atom stop_number(Flat *fl, const Exp *e, IndexPart part, int dim, Bld *bl)
{
    DimIndex d = e->index.at.at[dim];
    switch (part) {
    case INDEX_START: return d.start;
    case INDEX_END: return bld_exp(bl, "end", exp_binop(fl->cx, e->loc, OP_ADD, d.start, d.n));
    case INDEX_STRIDE: return d.stride;
    case INDEX_SIZE: return atom_type(e->index.arr).dims[dim];
    }
    return d.start;
}

void assert_index(Flat *fl, const Stm *s, Bld *bl)
{
    Ctx *cx = fl->cx;
    const Exp *e = s->exp;
    Atom all = atom_bool(true);
    for (int k = 0; k < e->index.at.n; k++) {
        Atom in = is_inside(fl, e->index.at.at[k], atom_type(e->index.arr).dims[k], e->loc, bl);
        all = k ? bld_exp(bl, "inside", exp_binop(cx, e->loc, OP_LAND, all, in)) : in;
    }
    IndexStop stop = stop_index(cx->perm, e);
    Exp *check = exp_new(cx, E_ASSERT, e->loc), *safe = exp_new(cx, E_INDEX, e->loc);
    check->assertion.cond = all;
    check->assertion.msg = stop.text;
    for (int i = 0; i < stop.n; i++)
        vec_push(cx->perm, &check->assertion.args,
                 stop_number(fl, e, stop.at[i].part, stop.at[i].dim, bl));
    bld_stm(bl, (Stm){.exp = check});
    safe->index = e->index;
    safe->index.safe = true;
    safe->attrs = e->attrs;
    bld_stm(bl, (Stm){s->pat, safe});
    varmap_put(fl->defs, s->pat.at[0], safe);
}

bool assert_slice(Flat *fl, const VarSet *variant, const Stm *s, Bld *bl)
{
    const Exp *e = s->exp;
    if (e->kind != E_INDEX || e->index.safe || !types_variant(variant, &s->pat) || has_strides(e))
        return false;
    assert_index(fl, s, bl);
    return true;
}
