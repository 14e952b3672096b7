/* Where variables are bound, of the levels that are being made. */
#include "level2/shares.h"

Level *parts_level(const Parts *P, Atom a)
{
    const Bound *b = a.var ? varmap_get(P->bound, a.var) : NULL;
    Level *l = P->at;
    while (a.var ? l && (!b || b->level != l) : l->outer != NULL)
        l = l->outer;
    return l;
}

bool parts_in_scope(const Parts *P, Atom a)
{
    return parts_level(P, a) != NULL;
}

void parts_know(Parts *P, const Var *v)
{
    Bound *b = NEW(P->cx->perm, Bound);
    *b = (Bound){P->at, P->at->bl.stms.n};
    varmap_put(P->bound, v, b);
    varmap_del(P->parts, v); /* of a trial before */
}

void parts_know_all(Parts *P, const Vars *vs)
{
    for (int i = 0; i < vs->n; i++)
        parts_know(P, vs->at[i]);
}

bool parts_before(const Parts *P, Atom a, const Level *level, int at)
{
    const Bound *b = a.var ? varmap_get(P->bound, a.var) : NULL;
    const Level *l = level;
    while (b && l && b->level != l)
        l = l->outer;
    return !a.var || (b && l && (l != level || b->at <= at));
}
