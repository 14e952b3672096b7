/* #[trace] e: the value of e is printed, with the structure of its type. In a polymorphic function
 * that is found out from the uses around: a value by itself knows neither fields
 * nor constructors. */
#include "frontend/lower/lower_int.h"

/* What the variable is where a type that has it is used as `use`; NULL: that does not say. */
static const AType *use_of(const AType *scheme, const AType *use, const Binding *var)
{
    const AType *found = NULL;
    scheme = type_deref(scheme);
    use = type_deref(use);
    if (scheme->kind == TY_VAR && scheme->var == var)
        return use;
    if (scheme->kind != use->kind)
        return NULL;
    if (scheme->kind == TY_ARRAY)
        return use_of(scheme->array.elem, use->array.elem, var);
    if (scheme->kind == TY_FUN) {
        found = use_of(scheme->fun.param, use->fun.param, var);
        return found ? found : use_of(scheme->fun.result, use->fun.result, var);
    }
    for (int i = 0; type_is_composite(scheme) && i < scheme->elems.n && i < use->elems.n && !found;
         i++)
        found = use_of(scheme->elems.at[i], use->elems.at[i], var);
    return found;
}

static AType *closed(Low *L, const Env *env, AType *at);

static AType *closed_var(Low *L, const Env *env, const AType *at)
{
    for (; env; env = env->next) {
        const Fun *fn = env->bind ? NULL : env->call;
        const AType *use = fn && fn->type ? use_of(fn->def->bind->type, fn->type, at->var) : NULL;
        if (use)
            return closed(L, fn->env_use, type_deref(use));
    }
    return NULL;
}

/* The type without type parameters; NULL if it is not known what they are. */
static AType *closed(Low *L, const Env *env, AType *at)
{
    at = type_deref(at);
    AType *c = at;
    if (at->kind == TY_VAR)
        return closed_var(L, env, at);
    if (at->kind == TY_ARRAY) {
        c = arena_memdup(L->cx->perm, at, sizeof *at);
        c->array.elem = closed(L, env, at->array.elem);
        return c->array.elem ? c : NULL;
    }
    if (!type_is_composite(at))
        return at->kind == TY_SCALAR ? at : NULL;
    c = arena_memdup(L->cx->perm, at, sizeof *at);
    c->elems = (ATypes){0};
    for (int i = 0; i < at->elems.n; i++) {
        AType *elem = closed(L, env, at->elems.at[i]);
        if (!elem)
            return NULL;
        vec_push(L->cx->perm, &c->elems, elem);
    }
    return c;
}

void lower_trace(Low *L, const Env *env, const AExp *e, const Attr *trace, const Val *v)
{
    Exp *t = exp_new(L->cx, E_TRACE, low_loc(L, e->loc));
    AType *at = closed(L, env, e->type);
    ExtType type = {.n_vals = -1};
    if (at) {
        type = ext_type_of(L, at);
        ext_leaves(L, at, v, &t->trace.args);
    }
    if (type.n_vals != t->trace.args.n) { /* functions in it, or nobody knows */
        t->trace.args = val_leaves(L, v);
        type = (ExtType){.text = "#<fun>", .n_vals = t->trace.args.n};
    }
    t->trace.type = arena_memdup(L->cx->perm, &type, sizeof type);
    t->trace.label = trace->args.n && trace->args.at[0]->name ? trace->args.at[0]->name : "trace";
    emit_none(L, t);
}
