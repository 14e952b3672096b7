/* What comes from outside and goes there: results that nothing else needs whole stay in parts. */
#include "level2/shares.h"

static Exp *rows_exp(Ctx *cx, ExpKind k, Loc loc, Atom arr, Atom n, const Share *share)
{
    Exp *e = exp_new(cx, k, loc);
    vec_push(cx->perm, &e->ranks.args, arr);
    vec_push(cx->perm, &e->ranks.args, n);
    vec_push(cx->perm, &e->ranks.args, share->shared);
    return e;
}

void parts_result(Parts *P, Atom a)
{
    Part *p = a.var ? varmap_get(P->parts, a.var) : NULL;
    if (p && p->share->kept_of) /* whoever reads it outside knows shares alone */
        parts_gather(P, a.var);
    if (!p || p->whole)
        return;
    p->whole = true;
    bld_define(&P->at->bl, a.var,
               rows_exp(P->cx, E_PARTED, a.var->loc, atom_var(p->var), p->share->n, p->share));
}
