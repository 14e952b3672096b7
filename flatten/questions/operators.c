/* What operators are: of scalars or arrays, the same for a whole nest, a map over their elements
 * (rule G4; histograms). */
#include "flatten/rules.h"

bool op_has_arrays(const Lambda *op)
{
    for (int k = 0; k < op->params.n; k++)
        if (op->params.at[k]->type.rank > 0)
            return true;
    return false;
}

/* Do operator and neutral elements not depend on the nest? */
static bool op_is_invariant(const VarSet *variant, const Exp *e)
{
    for (int k = 0; k < e->soac.nes.n; k++)
        if (atom_variant(variant, e->soac.nes.at[k]))
            return false;
    Arena *tmp = arena_new();
    Ctx cx = {.perm = tmp};
    Vars frees = free_vars_lambda(&cx, e->soac.op);
    bool flat = true;
    for (int i = 0; i < frees.n; i++)
        flat = flat && !varset_has(variant, frees.at[i]);
    arena_free(tmp);
    return flat;
}

bool is_flat_op(const VarSet *variant, const Exp *e)
{
    return !op_has_arrays(e->soac.op) && op_is_invariant(variant, e);
}

/* --- Maps: \x y -> map op1 x y --------------------------------------------------------------- */

/* The map that the operator consists of; NULL if it is something else. */
static const Stm *mapped_op(const Lambda *op)
{
    const Body *b = op->body;
    if (b->stms.n != 1 || b->stms.at[0].exp->kind != E_MAP || b->res.n != b->stms.at[0].pat.n)
        return NULL;
    const Stm *s = &b->stms.at[0];
    for (int k = 0; k < b->res.n; k++)
        if (b->res.at[k].var != s->pat.at[k])
            return NULL;
    return s;
}

static int index_of(const Vars *vs, Atom a)
{
    for (int k = 0; k < vs->n; k++)
        if (a.var == vs->at[k])
            return k;
    return -1;
}

/* The operator's params must be used as inputs of the map only. */
static bool params_only_mapped(const Lambda *op, const Exp *map)
{
    for (int k = 0; k < map->soac.arrs.n; k++)
        if (index_of(&op->params, map->soac.arrs.at[k]) < 0)
            return false;
    Arena *tmp = arena_new();
    Ctx cx = {.perm = tmp};
    Vars frees = free_vars_lambda(&cx, map->soac.fn);
    bool ok = true;
    for (int i = 0; i < frees.n; i++)
        ok = ok && index_of(&op->params, atom_var(frees.at[i])) < 0;
    arena_free(tmp);
    return ok;
}

bool g4_applies(const Exp *e)
{
    const Stm *m = mapped_op(e->soac.op);
    return m && params_only_mapped(e->soac.op, m->exp);
}

bool g14_applies(const Flat *fl, const VarSet *variant, const Exp *e)
{
    const Lambda *op = e->soac.op;
    if (fl->level == 0 || !op_has_arrays(op))
        return false;
    for (int k = 0; k < op->params.n; k++) {
        Type t = op->params.at[k]->type;
        for (int d = 0; d < t.rank; d++)
            if (atom_variant(variant, t.dims[d]))
                return false;
    }
    return true;
}

/* The operator on one element: the map's function with params (accumulators, elements). */
static Lambda *element_op(Flat *fl, const Lambda *op, const Exp *map)
{
    Vars params = {0};
    Atoms args = {0};
    for (int k = 0; k < op->params.n; k++) {
        const Var *v = op->params.at[k];
        vec_push(fl->cx->perm, &params, var_new(fl->cx, v->base, type_row(v->type), v->loc));
    }
    for (int k = 0; k < map->soac.arrs.n; k++) {
        int at = index_of(&op->params, map->soac.arrs.at[k]);
        vec_push(fl->cx->perm, &args, atom_var(params.at[at]));
    }
    Bld bl = bld_new(fl->cx);
    Atoms res = bld_inline_lambda(&bl, map->soac.fn, &args);
    return lambda_new(fl->cx, params, bld_body(&bl, res));
}

Lambda *op_on_elements(Flat *fl, const Lambda *op, Atom *width)
{
    const Stm *m = mapped_op(op);
    if (!m || !params_only_mapped(op, m->exp))
        return NULL;
    *width = m->exp->soac.width;
    return element_op(fl, op, m->exp);
}

/* --- Histograms --- */

bool repeated_element(Flat *fl, Atom ne, Atom *elem)
{
    const Exp *e = def_of(fl, ne);
    if (!e || e->kind != E_REPLICATE || atom_type(e->replicate.val).rank > 0)
        return false;
    if (elem)
        *elem = e->replicate.val;
    return true;
}

bool hist_is_vectorised(Flat *fl, const Exp *e)
{
    const Lambda *op = e->soac.op;
    if (body_has_soac(e->soac.fn->body))
        return false;
    for (int k = 0; k < e->soac.nes.n; k++)
        if (atom_type(e->soac.nes.at[k]).rank > 0 && !repeated_element(fl, e->soac.nes.at[k], NULL))
            return false;
    Atom width;
    while (op_has_arrays(op)) {
        for (int k = 0; k < op->params.n; k++)
            if (op->params.at[k]->type.rank != op->params.at[0]->type.rank)
                return false;
        op = op_on_elements(fl, op, &width);
        if (!op)
            return false;
    }
    return true;
}

bool hist_is_parallel(Flat *fl, const VarSet *variant, const Exp *e)
{
    return op_is_invariant(variant, e) &&
           (fl->level > 0 || !op_has_arrays(e->soac.op) || hist_is_vectorised(fl, e));
}
