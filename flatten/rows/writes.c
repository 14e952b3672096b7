/* Scatters and histograms of rows whose widths vary: G10 for what writes into arrays. All points
 * are one ragged dimension; each writes into the part of the outer array that its row has. */
#include "flatten/rules.h"

bool writes_rows(Flat *fl, const VarSet *variant, const Stm *s)
{
    const Exp *e = s->exp;
    if (fl->level != 1 || (e->kind != E_SCATTER && e->kind != E_HIST) ||
        (e->attrs & ATTR_SEQUENTIAL) || !atom_variant(variant, e->soac.width) ||
        types_variant(variant, &s->pat))
        return false;
    for (int k = 0; k < e->soac.arrs.n; k++)
        if (is_consumed(fl, e->soac.arrs.at[k]))
            return false;
    return e->kind == E_SCATTER || hist_is_parallel(fl, variant, e);
}

Atoms flatten_writes(Flat *fl, MapNest *S, const Stm *s, Bld *out)
{
    const Exp *e = s->exp;
    Ragged r = ragged_of(fl, S, e->soac.width, e->loc, out);
    MapNest P = points_of(fl, S, e, &e->soac.fn->params, &r);
    log_rule(fl, "G10", S, e, "a ragged dimension: all points, balanced");
    return e->kind == E_HIST ? hist_over(fl, S, &P, s, out) : scatter_over(fl, S, &P, s, out);
}
