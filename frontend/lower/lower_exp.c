/* Lowering of expressions: names, tuples, lets, attributes; other forms have files below. */
#include "frontend/lower/lower_int.h"

/* --- Names ---------------------------------------------------------------------------------- */

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

/* --- Application ---------------------------------------------------------------------------- */

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

/* --- Traces --------------------------------------------------------------------------------- */

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

/* #[trace] e: the value of e is printed, with the structure of its type. In a polymorphic function
 * that is found out from the uses around: a value by itself knows neither fields nor constructors.
 */
static void lower_trace(Low *L, const Env *env, const AExp *e, const Attr *trace, const Val *v)
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
    int64_t strips = attr_strip_depth(attr_find(&e->attr.attrs, "stripmine"));
    if (strips)
        L->attrs =
            attr_with_strips(L->attrs, strips < MOST_STRIPS ? (unsigned)strips : MOST_STRIPS);
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
    case AE_HOLE: return hole_value(L, env, e, e->type);
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

Val *eval_exp(Low *L, Env *env, const AExp *e)
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
