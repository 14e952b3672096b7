/* A part of an array as a list of its elements' positions. */
#include "ad/reverse.h"

const Bend *rev_bend(const Piece *p, int d)
{
    for (int i = 0; i < p->bends.n; i++)
        if (p->bends.at[i].dim == d)
            return &p->bends.at[i];
    return NULL;
}

/* Are there positions first, then all of the other dimensions? */
static bool is_rows(const Piece *p, Type t, int *positions)
{
    int k = 0;
    while (k < p->at.n && !p->at.at[k].is_slice)
        k++;
    *positions = k;
    for (int d = k; d < p->at.n; d++)
        if (!p->at.at[d].is_slice || rev_bend(p, d) || !atom_is_int(p->at.at[d].start, 0) ||
            !atom_is_int(p->at.at[d].stride, 1) || !atom_eq(p->at.at[d].n, t.dims[d]))
            return false;
    return true;
}

/* The position x with b's bend. */
static Atom bent(Bld *bl, Loc loc, const Bend *b, Atom x)
{
    if (b && b->wraps)
        return bld_binop(bl, loc, OP_MOD, x, b->hi);
    if (b && b->above > 0)
        x = bld_binop(bl, loc, OP_MIN, x, b->hi);
    return b && b->below > 0 ? bld_binop(bl, loc, OP_MAX, x, b->lo) : x;
}

/* An array of shape dims whose element [i_0, i_1, ..] is d's position number i_axis; axis < 0: its
 * start. */
static Atom positions(Bld *bl, Loc loc, const Atoms *dims, int at, int axis, const DimIndex *d,
                      const Bend *bend, Atom chosen)
{
    if (at == dims->n)
        return bent(bl, loc, bend, chosen);
    Ctx *cx = bl->cx;
    Bld in = bld_new(cx);
    Vars ps = {0};
    Atoms arrs = {0}, res = {0};
    Exp *e = exp_new(cx, E_IOTA, loc);
    e->iota.n = dims->at[at];
    e->iota.start = at == axis ? d->start : atom_i64(0);
    e->iota.stride = at == axis ? d->stride : atom_i64(1);
    ad_atom(cx, &arrs, bld_exp(bl, "is", e));
    if (dims->n == 1 && at == axis && !bend)
        return arrs.at[0];
    vec_push(cx->perm, &ps, var_new(cx, "i", type_prim(T_I64), loc));
    Atom mine = at == axis ? atom_var(ps.at[0]) : chosen;
    ad_atom(cx, &res, positions(&in, loc, dims, at + 1, axis, d, bend, mine));
    Lambda *fn = lambda_new(cx, ps, bld_body(&in, res));
    return bld_exp(bl, "at", exp_map(cx, loc, dims->at[at], arrs, fn));
}

Piece rev_as_list(Rev *r, const Var *v, const Piece *p)
{
    int k;
    Piece l = {.loc = p->loc, .val = p->val};
    if (!p->is_place)
        return *p;
    bool rows = is_rows(p, v->type, &k);
    for (int d = 0; !rows && d < p->at.n; d++)
        if (p->at.at[d].is_slice)
            ad_atom(r->cx, &l.dims, p->at.at[d].n);
    int axis = 0;
    for (int d = 0; d < (rows ? k : p->at.n); d++) {
        const DimIndex *at = &p->at.at[d];
        int mine = at->is_slice ? axis++ : -1;
        ad_atom(r->cx, &l.idx,
                positions(&r->bl, v->loc, &l.dims, 0, mine, at, rev_bend(p, d), at->start));
    }
    return l;
}
