/* Where what a thread, or a group, does for itself multiplies matrices, which what follows does in
 * blocks (kernels/level1/segtile.c, segblock.c):
 *
 *     map (\x -> .. map (\ys -> .. map (\row -> .. redomap (+) (*) row ys) rows) ..) xs
 *
 * Of two dimensions each has a row for an element of the nest, which is their product: the inner
 * one is that whose elements are reduced, the other one of those around it (further ones, between
 * them or outside, tell which matrices these are; ir/passes/loop_interchange.c puts the two side by
 * side). A row of the one does not vary with the other. */
#include "flatten/rules.h"

/* Does it go over rows that are not known to be short, which tiles have little of? */
static bool is_long(const Exp *e)
{
    enum { SHORT = 64 };
    return exp_is_soac(e) && (e->soac.width.var || e->soac.width.c.i > SHORT);
}

/* Adds what of body b depends on what is in `varies`. */
static void add_varying(VarSet *varies, const Body *b)
{
    for (int i = 0; i < b->stms.n; i++)
        for (int k = 0; k < b->stms.at[i].pat.n && exp_uses_any(b->stms.at[i].exp, varies); k++)
            varset_add(varies, b->stms.at[i].pat.at[k]);
}

/* Adds those xs whose arrays vary. */
static void add_elements(VarSet *varies, const Vars *xs, const Atoms *arrs)
{
    for (int k = 0; k < arrs->n; k++)
        if (atom_variant(varies, arrs->at[k]))
            varset_add(varies, xs->at[k]);
}

/* The reduction by which body b, of a dimension's element, multiplies its row, one of xs in arrs
 * that does not vary, with one that varies and is the same for all of the dimension. A row of
 * neither makes it no product of two matrices. NULL: none. */
static const Exp *product_of_rows(const VarSet *varies, const Vars *xs, const Atoms *arrs,
                                  const Body *b)
{
    const Exp *found = NULL;
    for (int i = 0; i < b->stms.n; i++) {
        const Exp *r = b->stms.at[i].exp;
        if (r->kind == E_LOOP || (exp_has_soac(r) && !exp_is_fold(r)))
            return NULL;
        int shared = 0, own = 0, rows = is_long(r) ? r->soac.arrs.n : 0;
        for (int k = 0; k < rows; k++) {
            Atom a = r->soac.arrs.at[k];
            int x = vars_find(xs, a.var);
            shared += x >= 0 && !atom_variant(varies, arrs->at[x]);
            own += x < 0 && atom_variant(varies, a);
        }
        if (shared && own && shared + own == rows)
            found = r;
    }
    return found;
}

/* ... at any depth inside of b, which belongs to a dimension in which `varies` varies; that
 * grows. */
static const Exp *product_below(VarSet *varies, const Body *b)
{
    add_varying(varies, b);
    for (int i = 0; i < b->stms.n; i++) {
        const Exp *e = b->stms.at[i].exp, *r = NULL;
        if (exp_is_seg(e)) {
            const Nest *nest = &e->seg.nest;
            for (int d = 0; d < nest->n; d++)
                add_elements(varies, &nest->at[d].xs, &nest->at[d].arrs);
            const NestDim *last = &vec_last(nest);
            r = product_of_rows(varies, &last->xs, &last->arrs, e->seg.body);
            r = r ? r : product_below(varies, e->seg.body);
        } else if (exp_is_soac(e) && !exp_is(e, F_SCAN) && e->soac.fn) {
            const Lambda *fn = e->soac.fn;
            add_elements(varies, &fn->params, &e->soac.arrs);
            r = product_of_rows(varies, &fn->params, &e->soac.arrs, fn->body);
            r = r ? r : product_below(varies, fn->body);
        }
        if (r)
            return r;
    }
    return NULL;
}

static VarSet *set_of(Ctx *cx, const Vars *vs)
{
    VarSet *s = varmap_new(cx->perm);
    for (int i = 0; i < vs->n; i++)
        varset_add(s, vs->at[i]);
    return s;
}

const Exp *product_inside(Ctx *cx, const Vars *xs, const Body *b)
{
    const Exp *r = product_below(set_of(cx, xs), b);
    for (int i = 0; i < b->stms.n && !r; i++) {
        const Exp *e = b->stms.at[i].exp;
        const Lambda *fn = exp_is_soac(e) && !exp_is(e, F_SCAN) ? e->soac.fn : NULL;
        r = fn ? product_inside(cx, &fn->params, fn->body) : NULL;
    }
    return r;
}

/* What varies in dimension d of S. */
static VarSet *varying_in(Ctx *cx, const MapNest *S, int d)
{
    VarSet *varies = set_of(cx, &S->dims.at[d].xs);
    for (int i = d + 1; i < S->dims.n; i++)
        add_elements(varies, &S->dims.at[i].xs, &S->dims.at[i].arrs);
    return varies;
}

const Exp *product_under(Ctx *cx, const MapNest *S, const Body *b)
{
    int last = S->dims.n - 1;
    const MapDim *in = &S->dims.at[last];
    const Exp *r = product_inside(cx, &in->xs, b);
    for (int d = 0; d < last && !r; d++) {
        VarSet *varies = varying_in(cx, S, d);
        r = product_of_rows(varies, &in->xs, &in->arrs, b);
        r = r ? r : product_below(varies, b);
    }
    return r;
}

bool product_of_groups(Ctx *cx, const MapNest *S, const Body *b, const Exp *seg)
{
    const NestDim *last = &vec_last(&seg->seg.nest);
    for (int d = 0; d < S->dims.n; d++) {
        VarSet *varies = varying_in(cx, S, d);
        add_varying(varies, b);
        for (int i = 0; i < seg->seg.nest.n; i++)
            add_elements(varies, &seg->seg.nest.at[i].xs, &seg->seg.nest.at[i].arrs);
        if (product_of_rows(varies, &last->xs, &last->arrs, seg->seg.body) ||
            product_below(varies, seg->seg.body))
            return true;
    }
    return false;
}
