/* What goes out: results that nothing else needs whole stay in parts. */
#include "level2/shares.h"

Atom parts_result(Parts *P, Atom a)
{
    Part *p = a.var ? varmap_get(P->parts, a.var) : NULL;
    if (p && p->share->kept_of) /* whoever reads it outside knows shares alone */
        parts_gather(P, a.var);
    if (!p || p->whole)
        return a;
    Exp *e = exp_new(P->cx, E_PARTED, a.var->loc);
    vec_push(P->cx->perm, &e->ranks.args, atom_var(parts_settled(P, p)));
    vec_push(P->cx->perm, &e->ranks.args, p->share->n);
    vec_push(P->cx->perm, &e->ranks.args, p->share->shared);
    if (p->rows)
        return bld_exp(&P->at->bl, a.var->base, e);
    p->whole = true;
    bld_define(&P->at->bl, a.var, e);
    return a;
}
