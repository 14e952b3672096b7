/* What names of the top level mean: values, which each entry computes once, functions, builtins. */
#include "frontend/lower/lower_int.h"

Val *def_fun(Low *L, const Def *def, Env *env, const AType *use, Env *env_use)
{
    return val_fun(L, (Fun){.kind = FUN_DEF,
                            .arity = def->params.n,
                            .env = env,
                            .def = def,
                            .bind = def->bind,
                            .type = use,
                            .env_use = env_use});
}

/* What a value is said to be, of one that the entry gets. */
static Val *given_value(Low *L, const Def *def)
{
    const EntryParam p = {.name = def->name, .type = def->bind->type, .loc = def->loc};
    return entry_params(L, &p, 1).at[0];
}

/* A top-level value: computed at the start of the entry, once. Those with type or size parameters
 * are computed at each use. */
static Val *global_value(Low *L, const Def *def, const AType *use, const Env *env_use)
{
    const Bindings *tparams = &def->bind->tparams;
    Val **known = &L->consts[def->bind->uid];
    if (*known)
        return *known;
    Scope *sc = L->sc;
    unsigned attrs = L->attrs;
    bool unsafe = L->unsafe;
    Loc site = L->site;
    struct Recursion *recursion = L->recursion;
    Val *acc = L->acc;
    if (tparams->n == 0)
        L->sc = L->root;
    L->recursion = NULL; /* it belongs to no function that is being lowered */
    L->acc = NULL;
    L->attrs = 0;
    L->unsafe = false;
    L->site = (Loc){0, 0};
    Env *env = tparams->n ? sizes_from_use(L, NULL, def->bind->type, use, env_use) : NULL;
    bool given = !tparams->n && L->given && L->given->has(L->given->env, def);
    Val *v = given ? given_value(L, def) : lower_exp(L, env, def->body);
    if (def->ret_type)
        v = match_type(L, &env, def->ret_type, v, def->body->loc);
    name_val(L, v, def->name);
    if (tparams->n == 0) {
        *known = v;
        vec_push(L->cx->perm, &L->met, def);
    }
    L->sc = sc;
    L->attrs = attrs;
    L->unsafe = unsafe;
    L->site = site;
    L->recursion = recursion;
    L->acc = acc;
    return v;
}

static Val *builtin_value(Low *L, const Binding *b, const AType *use, Env *env_use)
{
    int arity = type_arity(b->type ? b->type : use);
    if (arity == 0)
        return lower_member_const(L, b);
    return val_fun(
        L, (Fun){.kind = FUN_BUILTIN, .arity = arity, .bind = b, .type = use, .env_use = env_use});
}

Val *lower_global(Low *L, const Binding *b, const AType *use, Env *env_use, Loc loc)
{
    if (b->kind == BIND_BUILTIN)
        return builtin_value(L, b, use, env_use);
    if (b->kind == BIND_DEF && b->def->params.n)
        return def_fun(L, b->def, NULL, use, env_use);
    if (b->kind == BIND_DEF) {
        Val *v = global_value(L, b->def, use, env_use);
        return b->fresh ? copied(L, loc, v) : v;
    }
    low_limit(L, loc, "the size or value of `%s` cannot be determined here", b->name);
}
