/* Lowering: values, environments, statements, lambdas; whole programs. */
#include "frontend/lower/lower_int.h"

#include "base/stage.h"

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
        e->attrs |= L->attrs;
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

/* --- Lambdas of the IR ---------------------------------------------------------------------- */

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

static bool is_param(const Vars *params, const Var *v)
{
    for (int i = 0; i < params->n; i++)
        if (params->at[i] == v)
            return true;
    return false;
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
    if (is_param(h->params, a.var)) {
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

/* --- Programs ------------------------------------------------------------------------------- */

Prog *fe_lower(Ctx *cx, const Ast *ast)
{
    stage_enter("lower");
    int errors = diag_errors();
    Prog *p = NEW(cx->perm, Prog);
    p->dialect = D_SOAC;
    Val **consts = NEWN(cx->perm, Val *, ast->n_bindings + 1);
    ExtNames ext_names = {0};
    Low names = {.cx = cx, .ast = ast, .ext_names = &ext_names};
    for (int i = 0; i < ast->entries.n; i++)
        ext_collect_names(&names, &ast->entries.at[i]);
    for (int i = 0; i < ast->entries.n; i++) {
        Low L = {
            .cx = cx, .ast = ast, .ext_names = &ext_names, .tmp = intern("t"), .consts = consts};
        if (!setjmp(L.abandon))
            vec_push(cx->perm, &p->entries, lower_entry(&L, &ast->entries.at[i]));
        for (int k = 0; k < L.met.n; k++)
            consts[L.met.at[k]] = NULL;
    }
    return diag_errors() > errors ? NULL : p;
}
