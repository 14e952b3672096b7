/* Lowering of expressions: names, application by inlining, tuples, lets, attributes. */
#include "frontend/lower/lower_int.h"

#include <string.h>

/* --- Names ---------------------------------------------------------------------------------- */

static Val *def_fun(Low *L, const Def *def, Env *env, const AType *use, Env *env_use)
{
    return val_fun(L, (Fun){.kind = FUN_DEF,
                            .arity = def->params.n,
                            .env = env,
                            .def = def,
                            .bind = def->bind,
                            .type = use,
                            .env_use = env_use});
}

/* Names in the size of a scheme stand for the same part of the size at the use: `[n * m]`, `[3 *
 * 4]`. */
static Env *size_from_use(Low *L, Env *env, const Size *scheme, const Size *use, const Env *env_use)
{
    scheme = size_deref(scheme);
    use = size_deref(use);
    Atom a;
    if (scheme->kind == SZ_VAR) {
        bool open = scheme->var->kind == BIND_SIZE && !env_find(env, scheme->var);
        bool known = open && size_met(L, env_use, use, &a);
        return known ? env_add(L, env, scheme->var, val_atom(L, a)) : env;
    }
    if (scheme->kind == SZ_OP && use->kind == SZ_OP && scheme->op == use->op) {
        env = size_from_use(L, env, scheme->a, use->a, env_use);
        env = size_from_use(L, env, scheme->b, use->b, env_use);
    }
    bool calls = scheme->kind == SZ_EXP && use->kind == SZ_EXP && scheme->args.n == use->args.n;
    for (int i = 0; calls && i < scheme->args.n; i++)
        env = size_from_use(L, env, scheme->args.at[i], use->args.at[i], env_use);
    return env;
}

/* Sizes and types that no argument determines, from the type at the use: `f 3 : [10]i32`. */
static Env *sizes_from_use(Low *L, Env *env, const AType *scheme, const AType *use,
                           const Env *env_use)
{
    if (!scheme || !use)
        return env;
    scheme = type_deref(scheme);
    use = type_deref(use);
    if (scheme->kind == TY_VAR && !env_find(env, scheme->var)) {
        env = env_add(L, env, scheme->var, NULL);
        env->type = use;
        env->type_env = env_use;
        return env;
    }
    if (scheme->kind != use->kind)
        return env;
    switch (scheme->kind) {
    case TY_ARRAY:
        env = size_from_use(L, env, scheme->array.dim, use->array.dim, env_use);
        return sizes_from_use(L, env, scheme->array.elem, use->array.elem, env_use);
    case TY_TUPLE:
    case TY_RECORD:
    case TY_SUM:
        for (int i = 0; i < scheme->elems.n && i < use->elems.n; i++)
            env = sizes_from_use(L, env, scheme->elems.at[i], use->elems.at[i], env_use);
        return env;
    case TY_FUN:
        env = sizes_from_use(L, env, scheme->fun.param, use->fun.param, env_use);
        return sizes_from_use(L, env, scheme->fun.result, use->fun.result, env_use);
    case TY_SCALAR:
    case TY_VAR:
    case TY_META:
    case TY_ERROR: return env;
    }
    return env;
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
    if (tparams->n == 0)
        L->sc = L->root;
    L->attrs = 0;
    L->unsafe = false;
    L->site = (Loc){0, 0};
    Env *env = tparams->n ? sizes_from_use(L, NULL, def->bind->type, use, env_use) : NULL;
    Val *v = lower_exp(L, env, def->body);
    if (def->ret_type)
        v = match_type(L, &env, def->ret_type, v, def->body->loc);
    name_val(L, v, def->name);
    if (tparams->n == 0) {
        *known = v;
        vec_push(L->cx->perm, &L->met, def->bind->uid);
    }
    L->sc = sc;
    L->attrs = attrs;
    L->unsafe = unsafe;
    L->site = site;
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

static Val *lower_name(Low *L, Env *env, const AExp *e)
{
    const Binding *b = e->var.bind;
    const Env *en = env_find(env, b);
    if (!en)
        return lower_global(L, b, e->type, env, low_loc(L, e->loc));
    Val *v = en->val;
    if (v->kind == V_FUN && v->fun->kind == FUN_DEF && b->kind == BIND_DEF)
        return def_fun(L, v->fun->def, v->fun->env, e->type, env);
    return v;
}

/* --- Patterns ------------------------------------------------------------------------------- */

Env *bind_pat(Low *L, Env *env, const Pat *p, Val *v)
{
    switch (p->kind) {
    case P_VAR:
        name_val(L, v, p->name);
        env = bind_sizes(L, env, p->type, v);
        return env_add(L, env, p->bind, v);
    case P_WILD: return bind_sizes(L, env, p->type, v);
    case P_TUPLE:
        if (p->elems.n == 1 && v->kind != V_TUPLE)
            return bind_pat(L, env, p->elems.at[0], v);
        for (int i = 0; i < p->elems.n; i++)
            env = bind_pat(L, env, p->elems.at[i], v->elems.at[i]);
        return env;
    case P_RECORD:
        for (int i = 0; i < p->elems.n; i++)
            env =
                bind_pat(L, env, p->elems.at[i], lower_project(p->type, v, p->names.at[i], p->loc));
        return env;
    case P_ASCRIBE:
        v = match_type(L, &env, p->type, v, low_loc(L, p->loc));
        return bind_pat(L, env, p->pat, v);
    case P_LIT: return env;
    case P_CONSTR:
        v = sum_holds(L, v, type_part(type_deref(p->type), p->name));
        for (int i = 0; i < p->elems.n; i++)
            env = bind_pat(L, env, p->elems.at[i], v->elems.at[i]);
        return env;
    }
    ice(p->loc, "no pattern");
}

/* --- Fields --------------------------------------------------------------------------------- */

Val *lower_project(const AType *at, const Val *v, const char *name, Loc loc)
{
    int i = type_field(at, name);
    if (v->kind != V_TUPLE || i < 0 || i >= v->elems.n)
        ice(loc, "lowering: no field `%s`", name);
    return v->elems.at[i];
}

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
    case FUN_DEF: v = call_def(L, fn, args, loc); break;
    case FUN_BUILTIN: v = call_builtin(L, fn, args, loc); break;
    case FUN_SECTION: v = apply2(L, fn->op, args[0], fn->right, loc); break;
    case FUN_PATH: v = lower_path(L, fn->env, &fn->exp->update.path, args[0], loc); break;
    }
    L->site = site;
    return v;
}

Val *apply(Low *L, Val *fv, const Vals *args, Loc loc)
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
    return apply(L, v, &rest, loc);
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

static Val *lower_app(Low *L, Env *env, const AExp *e)
{
    const AExp *f = e->app.fn;
    if (f->kind == AE_VAR && f->var.bind->kind == BIND_BUILTIN && e->app.args.n == 2 &&
        (f->var.bind->builtin == BI_LOGAND || f->var.bind->builtin == BI_LOGOR))
        return lower_short_circuit(L, env, e, f->var.bind->builtin == BI_LOGAND);
    Val *fn = lower_exp(L, env, f);
    Vals args = {0};
    for (int i = 0; i < e->app.args.n; i++) {
        Val *v = lower_exp(L, env, e->app.args.at[i]);
        vec_push(L->cx->perm, &args, v);
    }
    return apply(L, fn, &args, e->loc);
}

/* --- Tuples and records --------------------------------------------------------------------- */

static Val *lower_tuple(Low *L, Env *env, const AExp *e)
{
    if (!e->seq.elems.n)
        return val_unit(L);
    Vals vs = {0};
    for (int i = 0; i < e->seq.elems.n; i++) {
        Val *v = lower_exp(L, env, e->seq.elems.at[i]);
        vec_push(L->cx->perm, &vs, v);
    }
    return val_tuple(L, vs);
}

static Val *lower_record(Low *L, Env *env, const AExp *e)
{
    if (!e->seq.elems.n)
        return val_unit(L);
    Vals vs = {0};
    for (int i = 0; i < e->seq.elems.n; i++)
        vec_push(L->cx->perm, &vs, NULL);
    for (int i = 0; i < e->seq.elems.n; i++) {
        int k = type_field(e->type, e->seq.names.at[i]);
        ASSERT(k >= 0 && k < vs.n);
        vs.at[k] = lower_exp(L, env, e->seq.elems.at[i]);
        name_val(L, vs.at[k], e->seq.names.at[i]);
    }
    return val_tuple(L, vs);
}

/* --- Attributes ----------------------------------------------------------------------------- */

static unsigned attr_bits(const Attrs *as)
{
    static const struct {
        const char *name, *arg;
        unsigned bit;
    } table[] = {
        {"sequential", NULL, ATTR_SEQUENTIAL},
        {"sequential_outer", NULL, ATTR_SEQUENTIAL_OUTER},
        {"sequential_inner", NULL, ATTR_SEQUENTIAL_INNER},
        {"flattening", "no_outer", ATTR_NO_OUTER},
        {"flattening", "no_intra", ATTR_NO_INTRA},
        {"flattening", "only_intra", ATTR_ONLY_INTRA},
        {"flattening", "only_inner", ATTR_ONLY_INNER},
        {"incremental_flattening", "no_outer", ATTR_NO_OUTER},
        {"incremental_flattening", "no_intra", ATTR_NO_INTRA},
        {"incremental_flattening", "only_intra", ATTR_ONLY_INTRA},
        {"incremental_flattening", "only_inner", ATTR_ONLY_INNER},
        {"unroll", NULL, ATTR_UNROLL},
    };
    unsigned bits = 0;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        bool there = table[i].arg ? attr_has(as, table[i].name, table[i].arg)
                                  : attr_find(as, table[i].name) != NULL;
        if (there)
            bits |= table[i].bit;
    }
    return bits;
}

/* The entry's tuning parameter of that name. */
static Atom user_param(Low *L, const char *name, Loc loc)
{
    for (int i = 0; i < L->user_params->n; i++)
        if (L->user_params->at[i].name == name)
            return atom_var(L->user_params->at[i].var);
    UserParam p = {name, var_new(L->cx, name, type_prim(T_I64), loc)};
    vec_push(L->cx->perm, L->user_params, p);
    return atom_var(p.var);
}

/* What is set, else v. */
static Val *tuned_value(Low *L, const char *name, const Val *v, Loc loc)
{
    Atom p = user_param(L, name, loc);
    Atom unset = emit_op(L, loc, OP_EQ, p, atom_i64(0));
    return val_atom(L, emit_choice(L, loc, unset, v->atom, p));
}

static Val *lower_attr(Low *L, Env *env, const AExp *e)
{
    if (attr_find(&e->attr.attrs, "blank") || attr_find(&e->attr.attrs, "scratch")) {
        Val *v = blank_value(L, env, e->type, low_loc(L, e->loc)); /* nobody looks at what it is */
        if (v)
            return v;
    }
    unsigned attrs = L->attrs;
    bool unsafe = L->unsafe;
    L->attrs |= attr_bits(&e->attr.attrs);
    L->unsafe |= attr_find(&e->attr.attrs, "unsafe") != NULL;
    Val *v = lower_exp(L, env, e->attr.e);
    L->attrs = attrs;
    L->unsafe = unsafe;
    const char *param = attr_param(&e->attr.attrs);
    if (param)
        v = tuned_value(L, param, v, low_loc(L, e->loc));
    const Attr *trace = attr_find(&e->attr.attrs, "trace");
    if (trace && L->cx->traces)
        lower_trace(L, env, e->attr.e, trace, v);
    return v;
}

/* --- Expressions ---------------------------------------------------------------------------- */

static Val *lower_lit(Low *L, const AExp *e)
{
    PrimType t = e->lit.scalar;
    if (prim_is_float(t))
        return val_atom(L, atom_float(t, e->lit.fval));
    if (t == T_BOOL)
        return val_atom(L, atom_bool(e->lit.bits != 0));
    return val_atom(L, atom_int(t, (int64_t)e->lit.bits));
}

static Env *lower_let(Low *L, Env *env, const AExp *e)
{
    Val *v = lower_exp(L, env, e->let.rhs);
    if (e->let.sizes.n)
        v = match_type(L, &env, e->let.pat->type, v, low_loc(L, e->let.pat->loc));
    return bind_pat(L, env, e->let.pat, v);
}

static Val *lower_section(Low *L, Env *env, const AExp *e)
{
    Val *op = lower_exp(L, env, e->opsect.op), *right = lower_exp(L, env, e->opsect.arg);
    return val_fun(L, (Fun){.kind = FUN_SECTION, .arity = 1, .op = op, .right = right});
}

static Val *lower_ascribe(Low *L, Env *env, const AExp *e)
{
    const AType *to = e->ascribe.to ? e->ascribe.to : e->type;
    preload_sizes(L, env, to, NULL);
    Val *v = lower_exp(L, env, e->ascribe.e);
    return match_type(L, &env, to, v, low_loc(L, e->loc));
}

static Val *lower_fun_exp(Low *L, Env *env, const AExp *e, FunKind kind, int arity)
{
    return val_fun(L, (Fun){.kind = kind, .arity = arity, .env = env, .exp = e});
}

static Val *evaluate(Low *L, Env *env, const AExp *e)
{
    switch (e->kind) {
    case AE_LIT: return lower_lit(L, e);
    case AE_HOLE: return lower_hole(L, env, e);
    case AE_VAR: return lower_name(L, env, e);
    case AE_TUPLE: return lower_tuple(L, env, e);
    case AE_RECORD: return lower_record(L, env, e);
    case AE_ARRAY:
    case AE_STRING: return lower_array(L, env, e);
    case AE_RANGE: return lower_range(L, env, e);
    case AE_APP: return lower_app(L, env, e);
    case AE_OPSECT: return lower_section(L, env, e);
    case AE_PATHSECT: return lower_fun_exp(L, env, e, FUN_PATH, 1);
    case AE_LAMBDA: return lower_fun_exp(L, env, e, FUN_LAMBDA, e->lambda.params.n);
    case AE_PROJ:
        return lower_project(e->proj.e->type, lower_exp(L, env, e->proj.e), e->proj.names.at[0],
                             e->loc);
    case AE_INDEX:
        return lower_index(L, env, lower_exp(L, env, e->index.e), &e->index.dims,
                           low_loc(L, e->loc));
    case AE_UPDATE: return lower_update(L, env, e);
    case AE_IF: return lower_if(L, env, e);
    case AE_CONSTR: return lower_constr(L, env, e);
    case AE_MATCH: return lower_match(L, env, e);
    case AE_LOOP: return lower_loop(L, env, e);
    case AE_ASCRIBE:
    case AE_COERCE: return lower_ascribe(L, env, e);
    case AE_ASSERT: return lower_assert(L, env, e);
    case AE_ATTR: return lower_attr(L, env, e);
    case AE_LET:
    case AE_LETFUN: break;
    }
    ice(e->loc, "no expression");
}

Val *lower_exp(Low *L, Env *env, const AExp *e)
{
    while (e->kind == AE_LET || e->kind == AE_LETFUN) {
        if (e->kind == AE_LET) {
            env = lower_let(L, env, e);
            e = e->let.body;
        } else {
            const Def *def = e->letfun.def;
            env = env_add(L, env, def->bind, def_fun(L, def, env, NULL, env));
            e = e->letfun.body;
        }
    }
    Val *v = evaluate(L, env, e);
    meet_sizes(L, env, e->type, v);
    return v;
}
