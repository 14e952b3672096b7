/* Application of function values: those of the program are inlined, builtins go to their files. */
#include "frontend/lower/lower_int.h"

/* --- Application ---------------------------------------------------------------------------- */

static bool all_bound(const Env *env, const Bindings *tparams)
{
    for (int i = 0; i < tparams->n; i++)
        if (!env_find(env, tparams->at[i]))
            return false;
    return true;
}

static Val *call_def(Low *L, const Fun *fn, Val **args, Loc loc)
{
    const Def *def = fn->def;
    Env *env = env_enter(L, fn->env);
    env->call = fn;
    for (int i = 0; i < def->params.n; i++)
        env = bind_sizes(L, env, def->params.at[i]->type, args[i]);
    if (!all_bound(env, &def->bind->tparams))
        env = sizes_from_use(L, env, def->bind->type, fn->type, fn->env_use);
    for (int i = 0; i < def->params.n && !all_bound(env, &def->bind->tparams); i++)
        env = bind_sizes_inside(L, env, def->params.at[i]->type, args[i]);
    for (int i = 0; i < def->params.n; i++) {
        Val *v = match_type(L, &env, def->params.at[i]->type, args[i], loc);
        env = bind_pat(L, env, def->params.at[i], v);
    }
    Val *v = lower_exp(L, env, def->body);
    if (def->ret)
        v = match_type(L, &env, def->ret_type, v, low_loc(L, def->body->loc));
    return v;
}

static Val *call_lambda(Low *L, const Fun *fn, Val **args)
{
    const AExp *e = fn->exp;
    Env *env = env_enter(L, fn->env);
    for (int i = 0; i < e->lambda.params.n; i++)
        env = bind_pat(L, env, e->lambda.params.at[i], args[i]);
    Val *v = lower_exp(L, env, e->lambda.body);
    if (!e->lambda.ret)
        return v;
    const AType *t = type_deref(e->type);
    for (int i = 0; i < e->lambda.params.n && t->kind == TY_FUN; i++)
        t = type_deref(t->fun.result);
    return match_type(L, &env, t, v, low_loc(L, e->lambda.body->loc));
}

static Val *call_builtin(Low *L, const Fun *fn, Val **args, Loc loc)
{
    Call c = {fn, fn->bind->builtin, args, fn->arity, loc};
    Val *v = lower_soac(L, &c);
    if (!v)
        v = lower_accumulator(L, &c);
    if (!v)
        v = lower_array_builtin(L, &c);
    if (!v)
        v = lower_prim(L, &c);
    if (!v)
        ice(loc, "lowering: builtin `%s` is not known", fn->bind->name);
    return v;
}

/* Where the text of a function stands: code of the library counts as being at its call. */
static Loc fun_site(const Low *L, const Fun *fn, Loc loc)
{
    Loc own = fn->kind == FUN_DEF ? fn->def->loc : fn->exp ? fn->exp->loc : (Loc){0, 0};
    if (!own.beg)
        return L->site;
    Place p = diag_place(own);
    bool library = p.file && p.file[0] == '<';
    return library ? low_loc(L, loc) : (Loc){0, 0};
}

static Val *call(Low *L, const Fun *fn, Val **args, Loc loc)
{
    Loc site = L->site;
    Val *v = NULL;
    loc = low_loc(L, loc);
    if (fn->kind != FUN_BUILTIN && ++L->n_calls > MAX_CALLS)
        low_limit(L, loc,
                  "this entry point is too large: functions are inlined, and there are more "
                  "than %d calls",
                  MAX_CALLS);
    if (fn->kind != FUN_BUILTIN)
        L->site = fun_site(L, fn, loc);
    switch (fn->kind) {
    case FUN_LAMBDA: v = call_lambda(L, fn, args); break;
    case FUN_DEF: v = call_shared(L, fn, args, loc, call_def); break;
    case FUN_BUILTIN: v = call_builtin(L, fn, args, loc); break;
    case FUN_SECTION: v = apply2(L, fn->op, args[0], fn->right, loc); break;
    case FUN_PATH: v = lower_path(L, fn->env, &fn->exp->update.path, args[0], loc); break;
    }
    L->site = site;
    return v;
}

Val *apply_fun(Low *L, Val *fv, const Vals *args, Loc loc)
{
    if (fv->kind != V_FUN)
        ice(loc, "lowering: not a function");
    Fun *fn = fv->fun;
    Vals all = {0};
    vec_append(L->cx->perm, &all, &fn->args);
    vec_append(L->cx->perm, &all, args);
    if (all.n < fn->arity) {
        Fun part = *fn;
        part.args = all;
        return val_fun(L, part);
    }
    Val *v = call(L, fn, all.at, loc);
    if (all.n == fn->arity)
        return v;
    Vals rest = {0};
    for (int i = fn->arity; i < all.n; i++)
        vec_push(L->cx->perm, &rest, all.at[i]);
    return apply_fun(L, v, &rest, loc);
}
