/* Values of the type of another one: zeros and sums, in the SOAC dialect. Sums of arrays are nests
 * of maps, which fuse with what makes the arrays. */
#include "ad/ad_int.h"

bool ad_is_float(Type t)
{
    return prim_is_float(t.elem);
}

Atom ad_filled(Bld *bl, Loc loc, const Atom *dims, int n, Atom val)
{
    if (n == 0)
        return val;
    Exp *e = exp_new(bl->cx, E_REPLICATE, loc);
    for (int d = 0; d < n; d++)
        vec_push(bl->cx->perm, &e->replicate.dims, dims[d]);
    e->replicate.val = val;
    return bld_exp(bl, "filled", e);
}

Atom ad_zero(Bld *bl, Loc loc, Type t)
{
    return ad_filled(bl, loc, t.dims, t.rank, atom_zero(t.elem));
}

static bool is_zero(Atom a)
{
    return !a.var && prim_is_float(a.c.type) && a.c.f == 0;
}

static Exp *sum_exp(Ctx *cx, Loc loc, Atom a, Atom b)
{
    Type t = atom_type(a);
    if (t.rank == 0)
        return exp_binop(cx, loc, OP_ADD, a, b);
    Var *x = var_new(cx, "x", type_row(t), loc), *y = var_new(cx, "y", type_row(t), loc);
    Vars params = {0};
    Atoms arrs = {0}, res = {0};
    vec_push(cx->perm, &params, x);
    vec_push(cx->perm, &params, y);
    vec_push(cx->perm, &arrs, a);
    vec_push(cx->perm, &arrs, b);
    Bld in = bld_new(cx);
    Atom sum = bld_exp(&in, "sum", sum_exp(cx, loc, atom_var(x), atom_var(y)));
    vec_push(cx->perm, &res, sum);
    return exp_map(cx, loc, t.dims[0], arrs, lambda_new(cx, params, bld_body(&in, res)));
}

Atom ad_add(Bld *bl, Loc loc, Atom a, Atom b)
{
    if (is_zero(a))
        return b;
    return is_zero(b) ? a : bld_exp(bl, "sum", sum_exp(bl->cx, loc, a, b));
}
