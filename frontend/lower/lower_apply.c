/* Application of function values: those of the program are inlined, those that call themselves are
 * lowered once and become loops, builtins go to their files. */
#include "frontend/lower/lower_int.h"
#include "frontend/recursion/recursion.h"

/* --- Application ---------------------------------------------------------------------------- */

static bool all_bound(const Env *env, const Bindings *tparams)
{
    for (int i = 0; i < tparams->n; i++)
        if (!env_find(env, tparams->at[i]))
            return false;
    return true;
}

/* What the body of a definition knows of its arguments, which become as its types want them. */
static Env *enter_def(Low *L, const Fun *fn, Val **args, Loc loc)
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
        args[i] = match_type(L, &env, def->params.at[i]->type, args[i], loc);
        env = bind_pat(L, env, def->params.at[i], args[i]);
    }
    return env;
}

static Val *def_result(Low *L, Env *env, const Def *def)
{
    Val *v = lower_exp(L, env, def->body);
    if (def->ret)
        v = match_type(L, &env, def->ret_type, v, low_loc(L, def->body->loc));
    return v;
}

static Val *call_def(Low *L, const Fun *fn, Val **args, Loc loc)
{
    return def_result(L, enter_def(L, fn, args, loc), fn->def);
}

/* --- Functions that call themselves --------------------------------------------------------- */

/* A dimension of an argument's leaf. */
typedef struct {
    int arg, leaf, dim;
} ArgDim;

/* A size that is known of arguments: by its name, if it has one. */
typedef struct {
    const Binding *name;
    Atom n;
} KnownSize;

/* A function that calls itself, while its body is lowered, once: applications inside become calls
 * of `self`, which frontend/recursion/ makes loops of. */
typedef struct Recursion Recursion;
struct Recursion {
    Recursion *up;
    const Fun *fn;
    Val **args;        /* parameters in the place of their leaves */
    Vars sizes;        /* parameters, too: of what is in the leaves' types */
    VEC(ArgDim) shown; /* where each of these is seen */
    VEC(KnownSize) known;
    Vars leaves;
    Function self;
    bool called; /* inside; else others call it */
    Val *result; /* its structure */
    LeafSizes result_sizes;
};

static const Binding *direct_name(const Pat *p)
{
    while (p->kind == P_ASCRIBE)
        p = p->pat;
    return p->kind == P_VAR ? p->bind : NULL;
}

/* The size s of an argument inside of the function: one that all calls share, or a parameter. */
static Atom param_size(Low *L, Recursion *r, const Size *s, ArgDim at, Loc loc)
{
    Atom a;
    const Binding *name = s && s->kind == SZ_VAR ? s->var : NULL;
    for (int i = 0; name && i < r->known.n; i++)
        if (r->known.at[i].name == name)
            return r->known.at[i].n;
    if (s && size_atom(L, r->fn->env, s, &a))
        return a;
    Var *v = var_new(L->cx, name ? name->name : "n", type_prim(T_I64), loc);
    vec_push(L->cx->perm, &r->sizes, v);
    vec_push(L->cx->perm, &r->shown, at);
    vec_push(L->cx->perm, &r->known, ((KnownSize){name, atom_var(v)}));
    know_nonneg(L, atom_var(v));
    return atom_var(v);
}

/* Argument number i with parameters in the place of its leaves. */
static Val *param_like(Low *L, Recursion *r, int i, const Val *arg, Loc loc)
{
    const Pat *p = r->fn->def->params.at[i];
    Atoms leaves = val_leaves(L, arg);
    LeafSizes ls = leaf_sizes(L, p->type, arg);
    for (int k = 0; k < leaves.n; k++) {
        Type t = atom_type(leaves.at[k]);
        Atom *dims = NEWN(L->cx->perm, Atom, t.rank);
        for (int d = 0; d < t.rank; d++)
            dims[d] = param_size(L, r, d < ls.at[k].n ? size_deref(ls.at[k].at[d]) : NULL,
                                 (ArgDim){i, k, d}, loc);
        const char *base = leaves.at[k].var ? leaves.at[k].var->base : L->tmp;
        Var *v = var_new(L->cx, base, (Type){t.elem, t.rank, dims}, p->loc);
        vec_push(L->cx->perm, &r->leaves, v);
        leaves.at[k] = atom_var(v);
    }
    Val *v = val_rebuild(L, arg, &leaves);
    if (direct_name(p) && v->kind == V_ATOM && !atom_type(v->atom).rank)
        vec_push(L->cx->perm, &r->known, ((KnownSize){direct_name(p), v->atom}));
    return v;
}

static bool same_function(const Fun *a, const Fun *b)
{
    if (a == b)
        return true;
    if (a->kind != b->kind || a->exp != b->exp || a->def != b->def || a->bind != b->bind)
        return false;
    return a->kind == FUN_BUILTIN
               ? !a->args.n && !b->args.n
               : a->kind == FUN_DEF && a->env == b->env && !a->args.n && !b->args.n;
}

/* Whether the value has the structure of the other one, scalars of its types, and its functions. */
static bool same_structure(const Val *a, const Val *b, bool *other_function)
{
    if (a->kind != b->kind)
        return false;
    if (a->kind == V_FUN) {
        *other_function |= !same_function(a->fun, b->fun);
        return true;
    }
    if (a->kind == V_ATOM) {
        Type t = atom_type(a->atom), u = atom_type(b->atom);
        return t.elem == u.elem && t.rank == u.rank;
    }
    bool same = a->elems.n == b->elems.n && !a->sum == !b->sum;
    for (int i = 0; same && i < a->elems.n; i++)
        same = same_structure(a->elems.at[i], b->elems.at[i], other_function);
    return same;
}

/* Sizes, then leaves. */
static Atoms self_args(Low *L, const Recursion *r, Val **args)
{
    Atoms all = {0};
    for (int i = 0; i < r->sizes.n; i++) {
        ArgDim s = r->shown.at[i];
        Atoms leaves = val_leaves(L, args[s.arg]);
        vec_push(L->cx->perm, &all, atom_type(leaves.at[s.leaf]).dims[s.dim]);
    }
    for (int i = 0; i < r->fn->arity; i++) {
        Atoms leaves = val_leaves(L, args[i]);
        vec_append(L->cx->perm, &all, &leaves);
    }
    return all;
}

/* The result of a call, as variables: first sizes that the arguments do not tell. */
static Val *self_result(Low *L, const Recursion *r, const Env *env, Vars *pat, Loc loc)
{
    Vars leaves = {0};
    VEC(const Size *) made = {0};
    Atoms as = val_leaves(L, r->result);
    for (int k = 0; k < as.n; k++) {
        Type t = atom_type(as.at[k]);
        Atom *dims = NEWN(L->cx->perm, Atom, t.rank);
        for (int d = 0; d < t.rank; d++) {
            const Size *s =
                d < r->result_sizes.at[k].n ? size_deref(r->result_sizes.at[k].at[d]) : NULL;
            if (s && size_atom(L, env, s, &dims[d]))
                continue;
            int i = 0;
            while (i < made.n &&
                   !(s && made.at[i] && made.at[i]->kind == s->kind &&
                     (s->kind == SZ_VAR ? made.at[i]->var == s->var : made.at[i]->id == s->id)))
                i++;
            if (i == made.n) {
                vec_push(L->cx->perm, &made, s);
                vec_push(L->cx->perm, pat, var_new(L->cx, "n", type_prim(T_I64), loc));
                know_nonneg(L, atom_var(vec_last(pat)));
            }
            dims[d] = atom_var(pat->at[i]);
        }
        Var *v = var_new(L->cx, L->tmp, (Type){t.elem, t.rank, dims}, loc);
        v->base = L->tmp;
        vec_push(L->cx->perm, &leaves, v);
        as.at[k] = atom_var(v);
    }
    vec_append(L->cx->perm, pat, &leaves);
    return val_rebuild(L, r->result, &as);
}

/* What the body gives, in the order of self_result's pattern. */
static Atoms self_results(Low *L, const Vars *pat, const Val *like, const Val *v)
{
    Atoms want = val_leaves(L, like), have = val_leaves(L, v), all = {0};
    for (int i = 0; i < pat->n - want.n; i++) {
        bool found = false;
        for (int k = 0; k < want.n && !found; k++) {
            Type t = atom_type(want.at[k]);
            for (int d = 0; d < t.rank && !found; d++) {
                found = t.dims[d].var == pat->at[i];
                if (found)
                    vec_push(L->cx->perm, &all, atom_type(have.at[k]).dims[d]);
            }
        }
        ASSERT(found);
    }
    vec_append(L->cx->perm, &all, &have);
    return all;
}

/* An application inside of the function itself. */
static Val *call_self(Low *L, Recursion *r, const Fun *fn, Val **args, Loc loc)
{
    Fun own = *fn;
    bool other = false, same = true;
    own.env = r->fn->env;
    for (int i = 0; i < fn->arity; i++)
        same = same && same_structure(args[i], r->args[i], &other);
    if (!same)
        low_limit(L, loc, "`%s` calls itself at another type, which is not supported",
                  fn->def->name);
    if (other)
        low_limit(L, loc,
                  "`%s` calls itself with another function as argument, which is not supported: "
                  "functions are chosen when the program is compiled",
                  fn->def->name);
    r->called = true;
    Env *env = enter_def(L, &own, args, loc);
    Vars pat = {0};
    Val *v = self_result(L, r, env, &pat, loc);
    Exp *e = exp_new(L->cx, E_CALL, loc);
    e->call.fn = &r->self;
    e->call.args = self_args(L, r, args);
    bld_stm(&L->sc->bld, (Stm){pat, e});
    return match_type(L, &env, fn->def->ret_type, v, loc);
}

/* The structure of what the function gives, of which nothing else is needed. */
static void find_result(Low *L, Recursion *r, const Env *env, Loc loc)
{
    Scope *sc = scope_push(L);
    r->result = blank_structure(L, env, r->fn->def->ret_type, loc);
    r->result_sizes = leaf_sizes(L, r->fn->def->ret_type, r->result);
    scope_pop(L, sc);
    if (val_has_fun(r->result))
        low_limit(L, loc, "`%s` calls itself and returns a function, which is not supported",
                  r->fn->def->name);
}

static Val *call_recursive(Low *L, const Fun *fn, Val **args, Loc loc)
{
    const Def *def = fn->def;
    /* Another one of the same definition, made by another application of what is around it, has an
     * environment of its own; where it names itself it has none. */
    for (Recursion *r = L->recursion; r; r = r->up)
        if (r->fn->def == def && (!fn->env || fn->env == r->fn->env))
            return call_self(L, r, fn, args, loc);
    if (L->recursion && ++L->n_within > MAX_WITHIN)
        low_limit(L, loc,
                  "`%s` and `%s` call each other in more ways than are supported: each way "
                  "through functions that call themselves is one of its own, and there are more "
                  "than %d",
                  L->recursion->fn->def->name, def->name, MAX_WITHIN);
    Env *outer = enter_def(L, fn, args, loc);
    Recursion r = {.up = L->recursion, .fn = fn, .self = {.name = def->name, .loc = def->loc}};
    Scope *sc = scope_push(L);
    r.args = NEWN(L->cx->perm, Val *, fn->arity);
    for (int i = 0; i < fn->arity; i++)
        r.args[i] = param_like(L, &r, i, args[i], def->loc);
    Val **own = arena_memdup(L->cx->perm, r.args, sizeof(Val *) * (size_t)fn->arity);
    Env *env = enter_def(L, fn, own, loc);
    find_result(L, &r, env, loc);
    L->recursion = &r;
    Vars inside = {0}, pat = {0};
    Val *like = self_result(L, &r, env, &inside, loc), *v = def_result(L, env, def);
    L->recursion = r.up;
    scope_pop(L, sc);
    SelfCalls f = {.cx = L->cx, .name = def->name, .self = &r.self, .loc = def->loc};
    f.depth = attr_depth(&def->attrs);
    f.inits = self_args(L, &r, args);
    vec_append(L->cx->perm, &f.params, &r.sizes);
    vec_append(L->cx->perm, &f.params, &r.leaves);
    f.body = bld_body(&sc->bld, self_results(L, &inside, like, v));
    if (!r.called) {
        Atoms all = recursion_inline(&L->sc->bld, &f), leaves = {0};
        for (int i = inside.n - val_leaves(L, v).n; i < all.n; i++)
            vec_push(L->cx->perm, &leaves, all.at[i]);
        return val_rebuild(L, v, &leaves);
    }
    drop_assertions(L, f.body);
    v = self_result(L, &r, outer, &pat, loc);
    const char *why = recursion_lower(&L->sc->bld, &f, &pat);
    if (why)
        low_limit(L, f.failed, "`%s` calls itself %s", def->name, why);
    return match_type(L, &outer, def->ret_type, v, loc);
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

static const AType *result_after(const AType *t, int params)
{
    for (; params; params--)
        t = type_deref(t)->fun.result;
    return t;
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
    case FUN_DEF:
        v = fn->def->recursive ? call_recursive(L, fn, args, loc)
                               : call_shared(L, fn, args, loc, call_def);
        break;
    case FUN_BUILTIN: v = call_builtin(L, fn, args, loc); break;
    case FUN_SECTION: v = apply2(L, fn->op, args[0], fn->right, loc); break;
    case FUN_PATH: v = lower_path(L, fn->env, &fn->exp->update.path, args[0], loc); break;
    case FUN_HOLE: v = hole_value(L, fn->env, fn->exp, result_after(fn->type, fn->arity)); break;
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
