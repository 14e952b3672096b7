/* Histograms: seghist^l over S and the elements. An operator that is a map over the rows of the
 * bins is turned inside out first, as rule G4 does for reductions: the rows become dimensions of
 * the nest and of the index, and what is left is an operator on scalars.
 *
 *     hist (is, vs) (map2 op) (replicate m d)       S |- seghist^l S <i, v in is, vs> <j < m>
 *          into dest: [k][m]t                 ==>        op d into dest: (S's indices, i, j), v[j]
 */
#include "flatten/rules.h"

/* A histogram under construction: the nest, the code of an element, its position and values. */
typedef struct {
    MapNest S1;
    Bld bl;
    Atoms index, vals, nes;
    Lambda *op;
} Hist;

static void unmap_op(Flat *fl, const Exp *e, Hist *h)
{
    Atoms ix = {0};
    while (op_has_arrays(h->op)) {
        Atom width;
        h->op = op_on_elements(fl, h->op, &width);
        h->S1 = nest_push(fl, &h->S1, width, NULL, NULL);
        vec_push(fl->cx->perm, &ix, atom_var(vec_last(&h->S1.dims).idx));
    }
    vec_append(fl->cx->perm, &h->index, &ix);
    for (int k = 0; k < h->vals.n; k++) {
        Exp *elem = exp_index(fl->cx, e->loc, h->vals.at[k], ix.at, ix.n, true);
        h->vals.at[k] = bld_exp(&h->bl, "x", elem);
        repeated_element(fl, h->nes.at[k], &h->nes.at[k]);
    }
    log_rule(fl, "G4", &h->S1, e, "the map in the histogram's operator becomes part of the nest");
}

/* The destinations over S, addressed by the indices of S first. */
static Dests dests_over(Flat *fl, const MapNest *S, const Exp *e, int rank, Bld *out)
{
    Dests ds = {0};
    for (int k = 0; k < e->soac.dests.n; k++) {
        Dest d = {e->soac.dests.at[k].arr, rank};
        if (!is_host(S))
            d.arr = expand_atom(fl, S, d.arr, "dest", e->loc, out);
        vec_push(fl->cx->perm, &ds, d);
    }
    return ds;
}

Atoms hist_over(Flat *fl, const MapNest *S, const MapNest *S1, const Stm *s, Bld *out)
{
    const Exp *e = s->exp;
    const Lambda *fn = e->soac.fn;
    int rank = e->soac.dests.at[0].rank;
    Hist h = {.bl = bld_new(fl->cx), .op = e->soac.op, .S1 = *S1};
    vec_append(fl->cx->perm, &h.nes, &e->soac.nes);
    for (int d = 0; d < S->dims.n; d++)
        vec_push(fl->cx->perm, &h.index, atom_var(S->dims.at[d].idx));
    for (int k = 0; k < fn->body->res.n; k++)
        vec_push(fl->cx->perm, k < rank ? &h.index : &h.vals, fn->body->res.at[k]);
    for (int k = 0; k < fn->body->stms.n; k++)
        bld_stm(&h.bl, fn->body->stms.at[k]);
    if (op_has_arrays(h.op) && hist_is_vectorised(fl, e))
        unmap_op(fl, e, &h);
    Seg sg = {.kind = E_SEGHIST, .S = &h.S1, .stms = h.bl.stms, .op = h.op, .nes = h.nes};
    sg.loc = e->loc;
    sg.dests = dests_over(fl, S, e, h.index.n, out);
    vec_append(fl->cx->perm, &sg.res, &h.index);
    vec_append(fl->cx->perm, &sg.res, &h.vals);
    log_rule(fl, "hist", &h.S1, e, "seghist^%d", fl->level);
    return bind_results(fl, S, &s->pat, seg_make(fl, &sg), out);
}

Atoms flatten_hist(Flat *fl, const MapNest *S, const Stm *s, Bld *out)
{
    const Exp *e = s->exp;
    MapNest S1 = nest_push(fl, S, e->soac.width, &e->soac.fn->params, &e->soac.arrs);
    return hist_over(fl, S, &S1, s, out);
}
