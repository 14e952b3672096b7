/* Lowering of if, && and ||. Sizes that differ between branches become results of their own
 * (existential sizes). */
#include "frontend/lower/lower_int.h"

/* Fits leaf k of a branch to dims, inside the branch. */
static void fit_in(Low *L, Scope *sc, Loc loc, Atom *leaf, const Atom *dims)
{
    Scope *out = L->sc;
    L->sc = sc;
    *leaf = fit_atom(L, loc, *leaf, dims, atom_type(*leaf).rank);
    L->sc = out;
}

static void add_size_pair(Low *L, Atoms *x, Atoms *y, Atom a, Atom b)
{
    for (int i = 0; i < x->n; i++)
        if (atom_eq(x->at[i], a) && atom_eq(y->at[i], b))
            return;
    vec_push(L->cx->perm, x, a);
    vec_push(L->cx->perm, y, b);
}

/* Dimension by dimension: the same size in both branches, or the size that the type names, or one
 * that the branches return: the pair is added to x, y. */
static void join_leaf(Low *L, Loc loc, Scope *s1, Atom *l1, Scope *s2, Atom *l2, const Sizes *sizes,
                      const Env *env, Atoms *x, Atoms *y)
{
    Type t1 = atom_type(*l1), t2 = atom_type(*l2);
    ASSERT(t1.rank == t2.rank);
    Atom *d1 = NEWN(L->cx->perm, Atom, t1.rank), *d2 = NEWN(L->cx->perm, Atom, t1.rank);
    for (int d = 0; d < t1.rank; d++) {
        Atom want;
        d1[d] = t1.dims[d];
        d2[d] = t2.dims[d];
        if (atom_eq(d1[d], d2[d]))
            continue;
        if (d < sizes->n && size_atom(L, env, sizes->at[d], &want))
            d1[d] = d2[d] = want;
        else
            add_size_pair(L, x, y, d1[d], d2[d]);
    }
    fit_in(L, s1, loc, l1, d1);
    fit_in(L, s2, loc, l2, d2);
}

Val *join_branches(Low *L, Loc loc, Atom test, Scope *s1, Val *v1, Scope *s2, Val *v2,
                   const AType *at, const Env *env)
{
    Atoms l1 = val_leaves(L, v1), l2 = val_leaves(L, v2), x = {0}, y = {0};
    ASSERT(l1.n == l2.n);
    if (val_has_fun(v1))
        ice(loc, "lowering: a conditional between functions");
    LeafSizes ls = leaf_sizes(L, at, v1);
    for (int i = 0; i < l1.n; i++)
        join_leaf(L, loc, s1, &l1.at[i], s2, &l2.at[i], &ls.at[i], env, &x, &y);
    int n_sizes = x.n;
    vec_append(L->cx->perm, &x, &l1);
    vec_append(L->cx->perm, &y, &l2);
    Exp *e = exp_if(L->cx, loc, test, bld_body(&s1->bld, x), bld_body(&s2->bld, y));
    Atoms res = emit_all(L, L->tmp, e);
    for (int i = 0; i < n_sizes; i++) {
        res.at[i].var->base = intern("n");
        know_nonneg(L, res.at[i]);
    }
    Atoms vals = {res.at + n_sizes, res.n - n_sizes, res.n - n_sizes};
    return val_rebuild(L, v1, &vals);
}

Val *lower_if(Low *L, Env *env, const AExp *e)
{
    Atom test = val_scalar(lower_exp(L, env, e->cond.test), e->loc);
    if (!test.var)
        return lower_exp(L, env, test.c.i ? e->cond.then : e->cond.els);
    preload_sizes(L, env, e->type, NULL);
    Scope *s1 = scope_push(L);
    Val *v1 = lower_exp(L, env, e->cond.then);
    scope_pop(L, s1);
    Scope *s2 = scope_push(L);
    Val *v2 = lower_exp(L, env, e->cond.els);
    scope_pop(L, s2);
    return join_branches(L, low_loc(L, e->loc), test, s1, v1, s2, v2, e->type, env);
}

/* May the statements of a scope as well always be evaluated: few, scalar, and sure to succeed? */
static bool is_cheap(const Scope *sc)
{
    enum { CHEAP = 6 };
    if (sc->bld.stms.n > CHEAP)
        return false;
    for (int i = 0; i < sc->bld.stms.n; i++) {
        const Exp *e = sc->bld.stms.at[i].exp;
        if ((e->kind != E_PRIM && e->kind != E_CONV && e->kind != E_ATOM) || exp_traps(e))
            return false;
    }
    return true;
}

Val *lower_short_circuit(Low *L, Env *env, const AExp *e, bool is_and)
{
    Loc loc = low_loc(L, e->loc);
    Atom a = val_scalar(lower_exp(L, env, e->app.args.at[0]), loc);
    if (!a.var)
        return (a.c.i != 0) == is_and ? lower_exp(L, env, e->app.args.at[1]) : val_atom(L, a);
    Scope *sc = scope_push(L);
    Val *vb = lower_exp(L, env, e->app.args.at[1]);
    scope_pop(L, sc);
    Atom b = val_scalar(vb, loc);
    if (is_cheap(sc)) {
        scope_splice(L, sc);
        return val_atom(L, emit(L, exp_binop(L->cx, loc, is_and ? OP_LAND : OP_LOR, a, b)));
    }
    Scope *other = scope_push(L);
    scope_pop(L, other);
    Val *konst = val_atom(L, atom_bool(!is_and));
    return is_and ? join_branches(L, loc, a, sc, vb, other, konst, NULL, env)
                  : join_branches(L, loc, a, other, konst, sc, vb, NULL, env);
}
