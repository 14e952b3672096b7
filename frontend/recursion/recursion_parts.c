/* What code of both kinds is made of. */
#include "frontend/recursion/recursion_int.h"

Atom subst_in(Ctx *cx, Subst *su, Atom a)
{
    return a.var ? subst_exp(cx, su, exp_atom(cx, a.var->loc, a))->atom : a;
}

Atom as_type(Bld *bl, Loc loc, Atom a, Type t)
{
    Type have = atom_type(a);
    ASSERT(have.elem == t.elem);
    if (type_eq(have, t))
        return a;
    Exp *e = exp_new(bl->cx, E_RESHAPE, loc);
    for (int d = 0; d < t.rank; d++)
        vec_push(bl->cx->perm, &e->reshape.dims, t.dims[d]);
    e->reshape.arr = a;
    return bld_exp(bl, a.var->base, e);
}

void define_results(Bld *bl, Loc loc, const Vars *pat, const Atoms *vals)
{
    ASSERT(pat->n == vals->n);
    for (int i = 0; i < pat->n; i++)
        bld_define(bl, pat->at[i],
                   exp_atom(bl->cx, loc, as_type(bl, loc, vals->at[i], pat->at[i]->type)));
}
