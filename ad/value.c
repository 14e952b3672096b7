/* Zeros and sums of values of any shape. */
#include "ad/ad_int.h"

bool ad_is_float(Type t)
{
    return prim_is_float(t.elem);
}

Atom ad_zero(Bld *bl, Loc loc, Type t)
{
    Atom zero = atom_zero(t.elem);
    if (t.rank == 0)
        return zero;
    Exp *e = exp_new(bl->cx, E_REPLICATE, loc);
    for (int d = 0; d < t.rank; d++)
        vec_push(bl->cx->perm, &e->replicate.dims, t.dims[d]);
    e->replicate.val = zero;
    return bld_exp(bl, "zero", e);
}

static bool is_zero(Atom a)
{
    return !a.var && prim_is_float(a.c.type) && a.c.f == 0;
}

Atom ad_add(Bld *bl, Loc loc, Atom a, Atom b)
{
    Type t = atom_type(a);
    if (is_zero(a) || is_zero(b))
        return is_zero(a) ? b : a;
    if (t.rank == 0)
        return bld_exp(bl, "sum", exp_binop(bl->cx, loc, OP_ADD, a, b));
    Bld in = bld_new(bl->cx);
    Vars ps = {0};
    Atoms arrs = {0}, res = {0};
    vec_push(bl->cx->perm, &arrs, a);
    vec_push(bl->cx->perm, &arrs, b);
    vec_push(bl->cx->perm, &ps, var_new(bl->cx, "x", type_row(t), loc));
    vec_push(bl->cx->perm, &ps, var_new(bl->cx, "y", type_row(t), loc));
    vec_push(bl->cx->perm, &res, ad_add(&in, loc, atom_var(ps.at[0]), atom_var(ps.at[1])));
    Lambda *fn = lambda_new(bl->cx, ps, bld_body(&in, res));
    return bld_exp(bl, "sum", exp_map(bl->cx, loc, t.dims[0], arrs, fn));
}
