/* What lowering works on: values, environments, scopes and the statements in them. */
#include "frontend/lower/lower_int.h"

#include <string.h>

/* --- Values --------------------------------------------------------------------------------- */

Val *val_atom(Low *L, Atom a)
{
    Val *v = NEW(L->cx->perm, Val);
    v->kind = V_ATOM;
    v->atom = a;
    return v;
}

Val *val_unit(Low *L)
{
    return val_atom(L, atom_bool(false));
}

Val *val_tuple(Low *L, Vals elems)
{
    Val *v = NEW(L->cx->perm, Val);
    v->kind = V_TUPLE;
    v->elems = elems;
    return v;
}

Val *val_pair(Low *L, Val *a, Val *b)
{
    Vals vs = {0};
    vec_push(L->cx->perm, &vs, a);
    vec_push(L->cx->perm, &vs, b);
    return val_tuple(L, vs);
}

Val *val_fun(Low *L, Fun fn)
{
    Val *v = NEW(L->cx->perm, Val);
    v->kind = V_FUN;
    v->fun = arena_memdup(L->cx->perm, &fn, sizeof fn);
    return v;
}

static void add_leaves(Low *L, const Val *v, Atoms *out)
{
    if (v->kind == V_ATOM)
        vec_push(L->cx->perm, out, v->atom);
    for (int i = 0; v->kind == V_TUPLE && i < v->elems.n; i++)
        add_leaves(L, v->elems.at[i], out);
}

Atoms val_leaves(Low *L, const Val *v)
{
    Atoms as = {0};
    add_leaves(L, v, &as);
    return as;
}

const Atom *val_first_leaf(const Val *v)
{
    if (v->kind == V_ATOM)
        return &v->atom;
    for (int i = 0; v->kind == V_TUPLE && i < v->elems.n; i++) {
        const Atom *a = val_first_leaf(v->elems.at[i]);
        if (a)
            return a;
    }
    return NULL;
}

static Val *rebuild(Low *L, const Val *like, const Atoms *leaves, int *next)
{
    if (like->kind == V_ATOM) {
        ASSERT(*next < leaves->n);
        return val_atom(L, leaves->at[(*next)++]);
    }
    if (like->kind == V_FUN)
        return (Val *)like;
    Vals vs = {0};
    for (int i = 0; i < like->elems.n; i++)
        vec_push(L->cx->perm, &vs, rebuild(L, like->elems.at[i], leaves, next));
    Val *v = val_tuple(L, vs);
    v->sum = like->sum;
    return v;
}

Val *val_rebuild(Low *L, const Val *like, const Atoms *leaves)
{
    int next = 0;
    Val *v = rebuild(L, like, leaves, &next);
    ASSERT(next == leaves->n);
    return v;
}

bool val_has_fun(const Val *v)
{
    if (v->kind == V_FUN)
        return true;
    for (int i = 0; v->kind == V_TUPLE && i < v->elems.n; i++)
        if (val_has_fun(v->elems.at[i]))
            return true;
    for (int i = 0; v->kind == V_TUPLE && v->sum && i < v->sum->holds.n; i++)
        if (val_has_fun(v->sum->holds.at[i]))
            return true;
    return false;
}

Atom val_scalar(const Val *v, Loc loc)
{
    if (v->kind != V_ATOM)
        ice(loc, "lowering: a scalar or array was expected here");
    return v->atom;
}

Val *lower_project(const AType *at, const Val *v, const char *name, Loc loc)
{
    int i = type_field(at, name);
    if (v->kind != V_TUPLE || i < 0 || i >= v->elems.n)
        ice(loc, "lowering: no field `%s`", name);
    return v->elems.at[i];
}

Val *apply1(Low *L, Val *fn, Val *a, Loc loc)
{
    Vals args = {&a, 1, 1};
    return apply(L, fn, &args, loc);
}

Val *apply2(Low *L, Val *fn, Val *a, Val *b, Loc loc)
{
    Val *ab[2] = {a, b};
    Vals args = {ab, 2, 2};
    return apply(L, fn, &args, loc);
}

/* --- Environments --------------------------------------------------------------------------- */

Env *env_add(Low *L, Env *env, const Binding *b, Val *v)
{
    Env *en = NEW(L->cx->perm, Env);
    *en = (Env){.bind = b, .val = v, .next = env};
    return en;
}

Env *env_enter(Low *L, Env *env)
{
    return env_add(L, env, NULL, NULL);
}

const Env *env_find(const Env *env, const Binding *b)
{
    for (; env; env = env->next)
        if (env->bind == b)
            return env;
    return NULL;
}

Loc low_loc(const Low *L, Loc loc)
{
    return L->site.beg ? L->site : loc;
}

/* --- Scopes and statements ------------------------------------------------------------------ */

Scope *scope_push(Low *L)
{
    Scope *sc = NEW(L->cx->perm, Scope);
    sc->up = L->sc;
    sc->bld = bld_new(L->cx);
    return L->sc = sc;
}

void scope_pop(Low *L, Scope *sc)
{
    ASSERT(L->sc == sc);
    L->sc = sc->up;
}

void scope_splice(Low *L, Scope *sc)
{
    for (int i = 0; i < sc->bld.stms.n; i++)
        bld_stm(&L->sc->bld, sc->bld.stms.at[i]);
    vec_append(L->cx->perm, &L->sc->facts, &sc->facts);
    vec_append(L->cx->perm, &L->sc->met, &sc->met);
}

Atoms emit_all(Low *L, const char *base, Exp *e)
{
    if (exp_is(e, F_CODE))
        e->attrs |= e->kind == E_LOOP ? L->attrs : attr_with_strips(L->attrs, 0);
    if (L->unsafe && e->kind == E_INDEX)
        e->index.safe = true;
    if (L->unsafe && e->kind == E_UPDATE)
        e->update.safe = true;
    return bld_exps(&L->sc->bld, base, e);
}

Atom emit(Low *L, Exp *e)
{
    Atoms as = emit_all(L, L->tmp, e);
    ASSERT(as.n == 1);
    return as.at[0];
}

void emit_none(Low *L, Exp *e)
{
    bld_stm(&L->sc->bld, (Stm){{0}, e});
}

void name_val(Low *L, Val *v, const char *name)
{
    if (strchr("+-*/%=!><|&^", name[0])) /* an operator's name is none in the IR */
        return;
    if (v->kind == V_ATOM && v->atom.var && v->atom.var->base == L->tmp)
        v->atom.var->base = name;
    for (int i = 0; v->kind == V_TUPLE && i < v->elems.n; i++)
        name_val(L, v->elems.at[i], name);
}
