/* Both sweeps over bodies and functions. */
#include "ad/reverse.h"

void rev_body(Rev *r, const Body *b)
{
    r->sweep(r, b);
}

/* The checks of the forward sweep are made where the function itself runs. */
Body *rev_close(Rev *r, Atoms res)
{
    Bld all = bld_new(r->cx);
    for (int i = 0; i < r->fwd.n; i++)
        if (r->fwd.at[i].pat.n)
            bld_stm(&all, r->fwd.at[i]);
    vec_append(r->cx->perm, &all.stms, &r->bl.stms);
    return ad_needed(r->cx, bld_body(&all, res));
}

Lambda *rev_lambda(const Rev *r, const Lambda *fn, const bool *seeded, const bool *wanted)
{
    ASSERT(!rev_active_inside(r, fn));
    Rev in = rev_inner(r);
    Lambda *own = rename_lambda(r->cx, fn);
    Vars ps = {0};
    Atoms res = {0};
    vec_append(r->cx->perm, &ps, &own->params);
    in.inside = NULL;
    for (int i = 0; i < own->params.n; i++)
        if (wanted[i] && ad_is_float(own->params.at[i]->type))
            varset_add(r->active, own->params.at[i]);
    ad_activity(r->active, own->body);
    for (int j = 0; j < own->body->res.n; j++)
        if (seeded[j]) {
            Atom a = own->body->res.at[j];
            Var *seed = var_new(r->cx, "seed", atom_type(a), fn->params.at[0]->loc);
            vec_push(r->cx->perm, &ps, seed);
            rev_add(&in, seed->loc, a, atom_var(seed));
        }
    rev_body(&in, own->body);
    for (int i = 0; i < own->params.n; i++)
        if (wanted[i])
            ad_atom(r->cx, &res, rev_take(&in, own->params.at[i]));
    return lambda_new(r->cx, ps, rev_close(&in, res));
}
