/* Functions of the IR: parameters like values, and bodies whose results have sizes that are known
 * outside. */
#include "frontend/lower/lower_int.h"

Val *params_like(Low *L, const Val *v, bool rows, Vars *params, Loc loc)
{
    Atoms as = val_leaves(L, v);
    for (int i = 0; i < as.n; i++) {
        Type t = atom_type(as.at[i]);
        Var *p = var_new(L->cx, L->tmp, rows ? type_row(t) : t, loc);
        p->base = L->tmp;
        vec_push(L->cx->perm, params, p);
        as.at[i] = atom_var(p);
    }
    return val_rebuild(L, v, &as);
}

/* The statement of sc that binds v: its index, or -1. */
static int binder_of(const Scope *sc, const Var *v)
{
    for (int i = 0; i < sc->bld.stms.n; i++)
        for (int j = 0; j < sc->bld.stms.at[i].pat.n; j++)
            if (sc->bld.stms.at[i].pat.at[j] == v)
                return i;
    return -1;
}

typedef struct {
    Scope *sc;
    const Vars *params;
    bool ok;
} Hoist;

static void check_hoist(void *env, Atom a)
{
    Hoist *h = env;
    if (!a.var || !h->ok)
        return;
    if (vars_find(h->params, a.var) >= 0) {
        h->ok = false;
        return;
    }
    int i = binder_of(h->sc, a.var);
    if (i < 0)
        return;
    const Exp *e = h->sc->bld.stms.at[i].exp;
    if (e->kind != E_ATOM && e->kind != E_PRIM && e->kind != E_CONV && e->kind != E_INDEX) {
        h->ok = false;
        return;
    }
    ExpVisitor v = {.env = h, .atom = check_hoist};
    exp_visit(e, &v);
}

static void remove_stm(Stms *stms, int at)
{
    for (int i = at; i + 1 < stms->n; i++)
        stms->at[i] = stms->at[i + 1];
    stms->n--;
}

typedef struct {
    Low *L;
    Scope *sc;
} Mover;

/* Moves the computation of a size from scope sc to the current scope. */
static void move_out(void *env, Atom a)
{
    Mover *m = env;
    Low *L = m->L;
    int i = a.var ? binder_of(m->sc, a.var) : -1;
    if (i < 0)
        return;
    ExpVisitor v = {.env = m, .atom = move_out};
    exp_visit(m->sc->bld.stms.at[i].exp, &v);
    i = binder_of(m->sc, a.var);
    bld_stm(&L->sc->bld, m->sc->bld.stms.at[i]);
    remove_stm(&m->sc->bld.stms, i);
    for (int k = 0; k < m->sc->facts.n; k++)
        if (m->sc->facts.at[k].kind == FACT_OP && m->sc->facts.at[k].res.var == a.var)
            add_fact(L, m->sc->facts.at[k]);
}

/* Whether `a` is available outside sc, perhaps after moving its computation there. */
static bool available_outside(Low *L, Scope *sc, const Vars *params, Atom a)
{
    Hoist h = {sc, params, true};
    check_hoist(&h, a);
    if (!h.ok)
        return false;
    Mover m = {L, sc};
    move_out(&m, a);
    return true;
}

/* The result leaf `a` of sc, with sizes that are known outside. They are sizes of an array there,
 * even if it has no elements: what the lambda itself asserts of them is not enough. */
static Atom known_sizes(Low *L, Scope *sc, const Vars *params, Atom a, const Sizes *sizes,
                        const Env *env, Loc loc)
{
    Type t = atom_type(a);
    Atom *dims = NEWN(L->cx->perm, Atom, t.rank);
    for (int d = 0; d < t.rank; d++) {
        dims[d] = t.dims[d];
        if (!available_outside(L, sc, params, dims[d]) &&
            (d >= sizes->n || !size_atom(L, env, sizes->at[d], &dims[d])))
            low_limit(L, loc,
                      "the sizes of this function's results must not depend on its arguments");
        dims[d] = count_arg(L, loc, dims[d]);
    }
    L->sc = sc;
    a = fit_atom(L, loc, a, dims, t.rank);
    L->sc = sc->up;
    return a;
}

Lambda *close_lambda(Low *L, Scope *sc, Vars params, Val *res, const AType *at, const Env *env,
                     Loc loc)
{
    ASSERT(L->sc == sc->up);
    LeafSizes ls = leaf_sizes(L, at, res);
    Atoms as = val_leaves(L, res);
    if (val_has_fun(res))
        ice(loc, "lowering: an array of functions");
    for (int i = 0; i < as.n; i++)
        as.at[i] = known_sizes(L, sc, &params, as.at[i], &ls.at[i], env, loc);
    return lambda_new(L->cx, params, bld_body(&sc->bld, as));
}
