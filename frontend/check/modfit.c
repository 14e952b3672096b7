/* What a member of a module is against what its specification says: the types of a value, of what
 * an abstract type may be. Reports nothing. */
#include "frontend/check/module.h"

/* --- Values --------------------------------------------------------------------------------- */

/* Whether the type, or a component, is marked by `*`. */
static bool marked(const AType *t)
{
    bool found = t->unique;
    t = type_deref(t);
    found |= t->unique;
    for (int i = 0; type_is_composite(t) && i < t->elems.n && !found; i++)
        found = marked(t->elems.at[i]);
    return found;
}

/* Whether something is wanted fresh that may be shared at hand; of functions, in their results, and
 * the other way round in their parameters, which they may consume if they are fresh. A tuple that
 * is wanted fresh as a whole is so if one component is, as in Futhark (no memory is shared by that:
 * what is needed later is copied). What an abstract type of which nothing is known will be is seen
 * when the parametric module is applied. *parts: of the type at hand so far; of one that is too
 * large, which is reported where it is used, it does not matter. */
static bool shares(Ck *ck, const AType *want, bool fresh, AType *have, int *parts)
{
    if (++*parts > MAX_TYPE_PARTS)
        return false;
    fresh |= want->unique; /* as a variable is looked through, its `*` is lost */
    bool own = have->unique;
    want = type_deref(want);
    have = type_deref(have);
    fresh |= want->unique;
    if (own || have->unique)
        return false;
    if (want->kind == TY_FUN && have->kind == TY_FUN)
        return shares(ck, have->fun.param, false, want->fun.param, parts) ||
               shares(ck, want->fun.result, false, have->fun.result, parts);
    if (have->kind == TY_VAR && have->var->tdecl)
        return have->var->tdecl->means && shares(ck, want, fresh, ty_meaning(ck, have), parts);
    if (fresh && marked(have))
        return false;
    if (!type_is_composite(have))
        return fresh && (have->kind == TY_ARRAY || have->kind == TY_VAR);
    bool alike = type_is_composite(want) && want->elems.n == have->elems.n;
    for (int i = 0; i < have->elems.n; i++)
        if (shares(ck, alike ? want->elems.at[i] : want, fresh, have->elems.at[i], parts))
            return true;
    return false;
}

/* Sizes that a specification leaves open, other than in functions, and what they are of the value
 * at hand. A function takes arguments of any size there. */
struct LeftOpen {
    Ck *ck;
    VEC(Size *) open, at_hand;
};

static Size *size_at_hand(void *env, Size *s)
{
    struct LeftOpen *l = env;
    s = size_deref(s);
    if (s->kind != SZ_UNKNOWN || s->wrong)
        return s;
    for (int i = 0; i < l->open.n; i++)
        if (l->open.at[i]->id == s->id)
            return l->at_hand.at[i];
    Size *meta = sz_meta(l->ck, s->loc);
    vec_push(l->ck->a, &l->open, s);
    vec_push(l->ck->a, &l->at_hand, meta);
    return meta;
}

const char *value_misfit(Ck *ck, AType *want, AType *have)
{
    struct LeftOpen l = {.ck = ck};
    TypeMap sizes = {.ck = ck, .size = size_at_hand, .env = &l, .but_functions = true};
    want = type_deref(ty_map(&sizes, want));
    have = type_deref(have);
    while (want->kind == TY_FUN && have->kind == TY_FUN) {
        if (!ty_unify_params(ck, want, have))
            return ck->why ? ck->why : "";
        int parts = 0;
        if (shares(ck, have->fun.param, false, want->fun.param, &parts))
            return type_deref(have->fun.param)->kind == TY_FUN
                       ? "it needs more of a function that it is given"
                       : "it consumes an argument";
        Subst w = {0}, h = {0};
        for (int i = 0; i < want->fun.exists.n; i++)
            subst_size(ck, &w, want->fun.exists.at[i], sz_meta(ck, want->fun.exists.at[i]->loc));
        for (int i = 0; i < have->fun.exists.n; i++)
            subst_size(ck, &h, have->fun.exists.at[i], sz_unknown(ck, have->fun.exists.at[i]->loc));
        if (have->fun.name)
            subst_size(ck, &h, have->fun.name,
                       want->fun.name ? sz_var(ck, want->fun.name)
                                      : sz_unknown(ck, have->fun.name->loc));
        want = ty_subst(ck, want->fun.result, &w);
        have = ty_subst(ck, have->fun.result, &h);
        parts = 0;
        if (type_deref(want)->kind != TY_FUN && type_deref(have)->kind != TY_FUN &&
            shares(ck, want, false, have, &parts))
            return "its result may be shared";
        want = type_deref(want);
        have = type_deref(have);
    }
    return ty_unify(ck, want, have) ? NULL : ck->why ? ck->why : "";
}

/* An anonymous size of a value of the type, other than of a function; NULL: there is none. */
static const TypeExp *own_anonymous(const TypeExp *te)
{
    if (te->kind == TE_FUN)
        return NULL;
    if ((te->kind == TE_ARRAY || te->kind == TE_SIZE) && !te->dim)
        return te;
    const TypeExp *found = te->elem ? own_anonymous(te->elem) : NULL;
    for (int i = 0; i < te->args.n && !found; i++)
        found = own_anonymous(te->args.at[i]);
    return found;
}

const TypeExp *anonymous_in_param(const TypeExp *te)
{
    const TypeExp *found = te->param ? own_anonymous(te->param) : NULL;
    found = found || !te->param ? found : anonymous_in_param(te->param);
    found = found || !te->elem ? found : anonymous_in_param(te->elem);
    for (int i = 0; i < te->args.n && !found; i++)
        found = anonymous_in_param(te->args.at[i]);
    return found;
}

/* --- Types ---------------------------------------------------------------------------------- */

bool params_fit(const TParams *spec, const TParams *have)
{
    for (int i = 0; i < spec->n && i < have->n; i++)
        if ((spec->at[i].kind == TP_SIZE) != (have->at[i].kind == TP_SIZE) ||
            spec->at[i].kind > have->at[i].kind)
            return false;
    return spec->n == have->n;
}

TParamKind type_lifted_in_fact(const TypeDecl *d)
{
    while (!d->type && d->means)
        d = d->means;
    return d->type ? lifted_of(d->type) : TP_TYPE;
}

/* Abstract types in t may be used as what they are said to be from here on, as in Futhark; for
 * those of a parameter an application sees to it. */
static void take_for(AType *t, TParamKind said)
{
    t = type_deref(t);
    for (TypeDecl *d = t->kind == TY_VAR ? t->var->tdecl : NULL; d; d = d->means) {
        if (d->type)
            take_for(d->type, said);
        else if (type_lifted_in_fact(d) <= said && d->bind->cls < class_of_lifted(said))
            d->bind->cls = class_of_lifted(said);
    }
    if (t->kind == TY_ARRAY)
        take_for(t->array.elem, said);
    for (int i = 0; type_is_composite(t) && i < t->elems.n; i++)
        take_for(t->elems.at[i], said);
}

TypeDecl *type_refined(Ck *ck, const TypeDecl *with, TParamKind said)
{
    TypeDecl *d = arena_memdup(ck->a, with, sizeof *d);
    take_for(d->type, said);
    d->lifted = lifted_of(d->type);
    d->eased |= d->lifted > said;
    if (said > d->lifted)
        d->lifted = said;
    return d;
}
