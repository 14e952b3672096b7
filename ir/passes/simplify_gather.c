/* Reads at the index of a map are inputs of the map:
 *
 *     map n (iota n) (\i -> .. xss[i, j] ..)  =>  map n (iota n, xss) (\i xs -> .. xs[j] ..)
 *
 * for an array that is bound outside, has n rows, and is never consumed. What was a gather is then
 * plainly regular: for fusion, for flattening (xs is a row of the nest), for coalescing. Reads
 * inside inner functions count too; there the rule applies again to xs. A checked read keeps its
 * place unless the check cannot fail in the other dimensions, so that messages stay what they were.
 */
#include "ir/passes/simplify.h"

typedef struct {
    Simp *S;
    Atom width;
    Var *index;
    VarSet *inside; /* bound by the function */
    Atoms *arrs;    /* of the SOAC */
    Vars *params;
    bool changed;
} Gather;

/* --- Rewriting ------------------------------------------------------------------------------ */

static Body *gather_body(void *env, Body *b);

/* The parameter for rows of arr, made when first needed. */
static Var *row_of(Gather *G, Atom arr)
{
    for (int k = 0; k < G->arrs->n; k++)
        if (atom_eq(simp_atom(G->S, G->arrs->at[k]), arr) &&
            simp_stable(G->S, atom_var(G->params->at[k])))
            return G->params->at[k];
    Var *row = var_new(G->S->cx, arr.var->base, type_row(arr.var->type), arr.var->loc);
    vec_push(G->S->cx->perm, G->arrs, arr);
    vec_push(G->S->cx->perm, G->params, row);
    return row;
}

static bool reads_row(const Gather *G, const Exp *e, Atom *arr)
{
    if (e->kind != E_INDEX || e->index.at.at[0].is_slice ||
        e->index.at.at[0].start.var != G->index || varset_has(G->inside, e->index.arr.var))
        return false;
    *arr = simp_atom(G->S, e->index.arr);
    Type t = atom_type(*arr);
    if (!arr->var || !simp_stable(G->S, *arr) || !atom_eq(t.dims[0], G->width))
        return false;
    return e->index.safe || e->index.at.n == 1;
}

static Exp *read_of_row(Gather *G, const Exp *e, Atom arr)
{
    Ctx *cx = G->S->cx;
    Atom row = atom_var(row_of(G, arr));
    G->changed = true;
    if (e->index.at.n == 1)
        return exp_atom(cx, e->loc, row);
    Exp *r = exp_new(cx, E_INDEX, e->loc);
    r->attrs = e->attrs;
    r->index.arr = row;
    r->index.at = (DimIndexes){.at = e->index.at.at + 1, .n = e->index.at.n - 1};
    r->index.safe = e->index.safe;
    return r;
}

static Lambda *gather_lambda(void *env, Lambda *l)
{
    Gather *G = env;
    return lambda_new(G->S->cx, l->params, gather_body(env, l->body));
}

static Body *gather_body(void *env, Body *b)
{
    Gather *G = env;
    ExpMapper m = {.env = env, .body = gather_body, .lambda = gather_lambda};
    Bld bl = bld_new(G->S->cx);
    for (int i = 0; i < b->stms.n; i++) {
        Stm s = b->stms.at[i];
        Atom arr;
        s.exp = reads_row(G, s.exp, &arr) ? read_of_row(G, s.exp, arr)
                                          : exp_map_parts(G->S->cx, s.exp, &m);
        bld_stm(&bl, s);
    }
    return bld_body(&bl, b->res);
}

/* Is arr 0, 1, .., width - 1? */
static bool counts_rows(const Simp *S, Atom arr)
{
    const Exp *d = simp_def(S, arr);
    return d && d->kind == E_IOTA && atom_is_int(d->iota.start, 0) &&
           atom_is_int(d->iota.stride, 1) && atom_type(d->iota.start).elem == T_I64;
}

const Body *simp_gathers(Simp *S, const Exp *e, Atoms *arrs, Vars *params)
{
    const Lambda *fn = e->soac.fn;
    Body *b = fn->body;
    Atoms more = {0};
    Vars rows = {0};
    vec_append(S->cx->perm, &more, arrs);
    vec_append(S->cx->perm, &rows, params);
    for (int j = 0; j < fn->params.n; j++) {
        if (!counts_rows(S, simp_atom(S, e->soac.arrs.at[j])))
            continue;
        Gather G = {.S = S, .width = simp_atom(S, e->soac.width), .index = fn->params.at[j]};
        G.inside = varmap_new(S->cx->perm);
        G.arrs = &more;
        G.params = &rows;
        for (int k = 0; k < rows.n; k++)
            varset_add(G.inside, rows.at[k]);
        bound_in_body(G.inside, fn->body);
        Body *r = gather_body(&G, b);
        if (!G.changed)
            continue;
        S->changed = true;
        b = r;
        *arrs = more;
        *params = rows;
    }
    return b;
}
