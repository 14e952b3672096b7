/* Substitution and renaming: copies with other operands and fresh binders. */
#include "ir/ir.h"

struct Subst {
    Ctx *cx;
    VarMap *map; /* to Atom * */
};

Subst *subst_new(Ctx *cx)
{
    Subst *su = NEW(cx->perm, Subst);
    su->cx = cx;
    su->map = varmap_new(cx->perm);
    return su;
}

void subst_add(Subst *su, const Var *from, Atom to)
{
    varmap_put(su->map, from, arena_memdup(su->cx->perm, &to, sizeof to));
}

static Atom subst_atom(const Subst *su, Atom a)
{
    const Atom *to = a.var ? varmap_get(su->map, a.var) : NULL;
    return to ? *to : a;
}

static Type subst_type(Ctx *cx, const Subst *su, Type t)
{
    Type r = {t.elem, t.rank, t.rank ? NEWN(cx->perm, Atom, t.rank) : NULL};
    for (int i = 0; i < t.rank; i++)
        r.dims[i] = subst_atom(su, t.dims[i]);
    return r;
}

static Atom su_atom(void *env, Atom a)
{
    return subst_atom(env, a);
}

/* The type is substituted later, when all binders of the list are known. */
static Var *su_binder(void *env, Var *v)
{
    Subst *su = env;
    Var *w = var_like(su->cx, v);
    subst_add(su, v, atom_var(w));
    return w;
}

static Body *subst_body(Ctx *cx, Subst *su, const Body *b);

static Body *su_body(void *env, Body *b)
{
    return subst_body(((Subst *)env)->cx, env, b);
}

static Lambda *subst_lambda(Ctx *cx, Subst *su, const Lambda *l);

static Lambda *su_lambda(void *env, Lambda *l)
{
    return subst_lambda(((Subst *)env)->cx, env, l);
}

static Vars su_binders(Subst *su, const Vars *vs)
{
    Vars r = {0};
    for (int i = 0; i < vs->n; i++) {
        Var *v = su_binder(su, vs->at[i]);
        vec_push(su->cx->perm, &r, v);
    }
    for (int i = 0; i < r.n; i++)
        r.at[i]->type = subst_type(su->cx, su, r.at[i]->type);
    return r;
}

Exp *subst_exp(Ctx *cx, Subst *su, const Exp *e)
{
    ExpMapper m = {su, su_atom, su_binder, su_body, su_lambda};
    Exp *r = exp_map_parts(cx, e, &m);
    if (r->kind == E_LOOP) {
        for (int i = 0; i < r->loop.params.n; i++)
            r->loop.params.at[i]->type = subst_type(cx, su, r->loop.params.at[i]->type);
    } else if (exp_is_seg(r)) {
        for (int i = 0; i < r->seg.nest.n; i++)
            for (int j = 0; j < r->seg.nest.at[i].xs.n; j++) {
                Var *v = r->seg.nest.at[i].xs.at[j];
                v->type = subst_type(cx, su, v->type);
            }
    }
    return r;
}

Stm subst_stm(Ctx *cx, Subst *su, const Stm *s)
{
    Exp *e = subst_exp(cx, su, s->exp);
    return (Stm){su_binders(su, &s->pat), e};
}

static Atoms subst_atoms(const Subst *su, const Atoms *as)
{
    Atoms r = {0};
    for (int i = 0; i < as->n; i++)
        vec_push(su->cx->perm, &r, subst_atom(su, as->at[i]));
    return r;
}

static Body *subst_body(Ctx *cx, Subst *su, const Body *b)
{
    Bld bl = bld_new(cx);
    for (int i = 0; i < b->stms.n; i++)
        bld_stm(&bl, subst_stm(cx, su, &b->stms.at[i]));
    return bld_body(&bl, subst_atoms(su, &b->res));
}

static Lambda *subst_lambda(Ctx *cx, Subst *su, const Lambda *l)
{
    Vars params = su_binders(su, &l->params);
    return lambda_new(cx, params, subst_body(cx, su, l->body));
}

Body *rename_body(Ctx *cx, const Body *b)
{
    return subst_body(cx, subst_new(cx), b);
}

Lambda *rename_lambda(Ctx *cx, const Lambda *l)
{
    return subst_lambda(cx, subst_new(cx), l);
}

Exp *rename_exp(Ctx *cx, const Exp *e)
{
    return subst_exp(cx, subst_new(cx), e);
}

static Atoms inline_stms(Bld *bl, Subst *su, const Body *b)
{
    for (int i = 0; i < b->stms.n; i++)
        bld_stm(bl, subst_stm(bl->cx, su, &b->stms.at[i]));
    return subst_atoms(su, &b->res);
}

Atoms bld_inline_lambda(Bld *bl, const Lambda *lam, const Atoms *args)
{
    ASSERT(lam->params.n == args->n);
    Subst *su = subst_new(bl->cx);
    for (int i = 0; i < args->n; i++)
        subst_add(su, lam->params.at[i], args->at[i]);
    return inline_stms(bl, su, lam->body);
}
