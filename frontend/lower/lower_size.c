/* Sizes: those that types say, those that were met, values as types want them. */
#include "frontend/lower/lower_int.h"

/* --- Sizes met ------------------------------------------------------------------------------ */

static void meet_at(Low *L, const Env *env, const AType *at, const Val *v, int depth)
{
    at = type_deref(at);
    if (at->kind == TY_ARRAY) {
        const Size *dim = size_deref(at->array.dim);
        const Atom *leaf = dim->kind == SZ_UNKNOWN ? val_first_leaf(v) : NULL;
        if (leaf && depth < atom_type(*leaf).rank) {
            while (env && env->bind)
                env = env->next;
            SizeMet m = {dim->id, env, atom_type(*leaf).dims[depth]};
            vec_push(L->cx->perm, &L->sc->met, m);
        }
        meet_at(L, env, at->array.elem, v, depth + 1);
    }
    if (type_is_acc(at))
        meet_at(L, env, at->targs.at[0], v->elems.at[ACC_LIKE], 0);
    bool parts = type_is_composite(at) && at->kind != TY_SUM && v->kind == V_TUPLE && !v->sum;
    for (int i = 0; parts && i < at->elems.n && i < v->elems.n; i++)
        meet_at(L, env, at->elems.at[i], v->elems.at[i], depth);
}

void meet_sizes(Low *L, const Env *env, const AType *at, const Val *v)
{
    if (at)
        meet_at(L, env, at, v, 0);
}

static bool is_in(const Env *env, const Env *body)
{
    while (env && env != body)
        env = env->next;
    return env == body;
}

/* The last one is meant, of this evaluation of the code. */
static Val *size_seen(Low *L, const Env *env, const Size *s)
{
    for (Scope *sc = L->sc; sc; sc = sc->up) {
        for (int i = sc->met.n; i-- > 0;) {
            SizeMet *m = &sc->met.at[i];
            if (m->id == s->id && is_in(env, m->body))
                return val_atom(L, m->n);
        }
    }
    return NULL;
}

/* --- Sizes ---------------------------------------------------------------------------------- */

static void add_leaf_sizes(Low *L, const AType *at, const Val *v, Sizes outer, LeafSizes *out);

const Size *size_held(Low *L, const Size *s)
{
    s = size_deref(s);
    bool real = s->kind == SZ_CONST || (s->kind == SZ_VAR && s->var->kind == BIND_SIZE);
    bool held = s->kind == SZ_OP && s->op == '^'; /* by a sum inside of this one */
    if (real || held || s->kind == SZ_UNKNOWN || s->kind == SZ_META)
        return s;
    Size *z = NEW(L->cx->perm, Size), *h = NEW(L->cx->perm, Size);
    *z = (Size){.kind = SZ_CONST, .loc = s->loc};
    *h = (Size){.kind = SZ_OP, .op = '^', .a = (Size *)s, .b = z, .loc = s->loc};
    return h;
}

/* Of the components of a sum: those of the arrays that its constructors hold. */
static void add_sum_sizes(Low *L, const AType *at, const Val *v, Sizes outer, LeafSizes *out)
{
    int first = out->n;
    for (int i = 0; i < v->elems.n; i++)
        vec_push(L->cx->perm, out, outer);
    for (int k = 0; k < at->elems.n; k++) {
        LeafSizes own = {0};
        add_leaf_sizes(L, type_deref(at->elems.at[k]), v->sum->holds.at[k], outer, &own);
        for (int i = 0; i < own.n; i++) {
            for (int d = outer.n; d < own.at[i].n; d++)
                own.at[i].at[d] = size_held(L, own.at[i].at[d]);
            if (own.at[i].n > outer.n)
                out->at[first + v->sum->places.at[k].at[i]] = own.at[i];
        }
    }
}

/* Of what a type variable stands for whose sizes may vary: each is one of its own. */
static void add_varying_sizes(Low *L, const Val *v, const Sizes *outer, LeafSizes *out)
{
    for (int i = 0; v->kind == V_TUPLE && i < v->elems.n; i++)
        add_varying_sizes(L, v->elems.at[i], outer, out);
    if (v->kind != V_ATOM)
        return;
    Sizes all = {0};
    vec_append(L->cx->perm, &all, outer);
    while (all.n < atom_type(v->atom).rank) {
        Size *z = NEW(L->cx->perm, Size);
        *z = (Size){.kind = SZ_UNKNOWN, .id = --L->n_varying};
        vec_push(L->cx->perm, &all, z);
    }
    vec_push(L->cx->perm, out, all);
}

static void add_leaf_sizes(Low *L, const AType *at, const Val *v, Sizes outer, LeafSizes *out)
{
    if (v->kind == V_FUN)
        return;
    Sizes all = {0};
    vec_append(L->cx->perm, &all, &outer);
    for (; at && at->kind == TY_ARRAY; at = type_deref(at->array.elem))
        vec_push(L->cx->perm, &all, size_deref(at->array.dim));
    if (at && at->kind == TY_VAR && at->var->cls <= TC_SIZED && !type_is_acc(at)) {
        add_varying_sizes(L, v, &all, out);
        return;
    }
    if (v->kind == V_ATOM) {
        vec_push(L->cx->perm, out, all);
        return;
    }
    if (v->sum && at && at->kind == TY_SUM) {
        add_sum_sizes(L, at, v, all, out);
        return;
    }
    bool known = at && type_is_composite(at);
    for (int i = 0; i < v->elems.n; i++)
        add_leaf_sizes(L, known ? type_deref(at->elems.at[i]) : NULL, v->elems.at[i], all, out);
}

LeafSizes leaf_sizes(Low *L, const AType *at, const Val *v)
{
    LeafSizes out = {0};
    add_leaf_sizes(L, at ? type_deref(at) : NULL, v, (Sizes){0}, &out);
    return out;
}

/* met: sizes that were met count, too. */
static Val *size_val(Low *L, const Env *env, const Size *s, bool met);

/* Binds the names in a size's expression to what stands for them in its arguments; false if one is
 * not known here. */
static bool bind_names(Low *L, const Env *env, const Size *s, bool met, const AExp *e, Env **inner)
{
    if (e->kind == AE_VAR && e->var.bind->kind != BIND_BUILTIN) {
        Val *v = size_val(L, env, s, met);
        if (v && v->kind != V_FUN)
            *inner = env_add(L, *inner, e->var.bind, v);
        return v != NULL;
    }
    if (s->kind == SZ_EXP) {
        AExps parts = size_exp_parts(L->cx->perm, e);
        for (int i = 0; i < parts.n; i++) {
            const AExp *part = size_exp_essence(parts.at[i]);
            if (!bind_names(L, env, size_deref(s->args.at[i]), met, part, inner))
                return false;
        }
    }
    return true;
}

static bool number(const Val *v, Atom *out)
{
    bool is = v && v->kind == V_ATOM;
    if (is)
        *out = v->atom;
    return is;
}

/* s->a op s->b */
static bool size_op(Low *L, const Env *env, const Size *s, bool met, Atom *out)
{
    Atom a, b;
    if (!number(size_val(L, env, s->a, met), &a) || !number(size_val(L, env, s->b, met), &b))
        return false;
    if (s->op == '^') {
        *out = at_least_0(L, s->loc, a);
        return true;
    }
    bool divides = s->op == '/' || s->op == '%';
    PrimOp op = s->op == '+'   ? OP_ADD
                : s->op == '-' ? OP_SUB
                : s->op == '*' ? OP_MUL
                : s->op == '/' ? OP_DIV
                               : OP_MOD;
    if (divides && atom_is_int(b, 0))
        return false;
    *out = emit_op(L, s->loc, op, a, b);
    return true;
}

static Val *size_val(Low *L, const Env *env, const Size *s, bool met)
{
    s = size_deref(s);
    Atom a;
    switch (s->kind) {
    case SZ_CONST: return val_atom(L, atom_i64(s->value));
    case SZ_VAR: {
        const Env *en = env_find(env, s->var);
        const AExp global = {.kind = AE_VAR, .loc = s->loc, .var.bind = s->var};
        return en && en->val              ? en->val
               : s->var->kind == BIND_DEF ? lower_exp(L, NULL, &global)
                                          : NULL;
    }
    case SZ_OP: return size_op(L, env, s, met, &a) ? val_atom(L, a) : NULL;
    case SZ_EXP: {
        Env *inner = (Env *)env;
        return bind_names(L, env, s, met, s->exp, &inner) ? lower_exp(L, inner, s->exp) : NULL;
    }
    case SZ_UNKNOWN: return met ? size_seen(L, env, s) : NULL;
    case SZ_META: break;
    }
    return NULL;
}

bool size_atom(Low *L, const Env *env, const Size *s, Atom *out)
{
    return number(size_val(L, env, s, false), out);
}

bool size_met(Low *L, const Env *env, const Size *s, Atom *out)
{
    return number(size_val(L, env, s, true), out);
}

static bool shown_at(const AType *at, const Val *v, int depth, const Size *s, Atom *out)
{
    at = type_deref(at);
    if (at->kind == TY_ARRAY) {
        const Size *dim = size_deref(at->array.dim);
        const Atom *leaf = val_first_leaf(v);
        if (dim->kind == SZ_UNKNOWN && dim->id == s->id && leaf && depth < atom_type(*leaf).rank) {
            *out = atom_type(*leaf).dims[depth];
            return true;
        }
        return shown_at(at->array.elem, v, depth + 1, s, out);
    }
    if (!type_is_composite(at) || v->kind != V_TUPLE || (at->kind == TY_SUM) != (v->sum != NULL))
        return false;
    for (int i = 0; at->kind != TY_SUM && i < at->elems.n && i < v->elems.n; i++)
        if (shown_at(at->elems.at[i], v->elems.at[i], depth, s, out))
            return true;
    return false;
}

bool size_shown_by(const AType *at, const Val *v, const Size *s, Atom *out)
{
    return shown_at(at, v, 0, s, out);
}

static void preload(Low *L, const Env *env, const AType *at, const Loc *made, bool held)
{
    at = type_deref(at);
    Atom a;
    if (at->kind == TY_ARRAY) {
        const Size *s = size_deref(at->array.dim);
        if (held)
            s = size_held(L, s);
        if ((made || s->kind == SZ_EXP || s->kind == SZ_OP) && size_atom(L, env, s, &a) && made)
            count_arg(L, *made, a);
        preload(L, env, at->array.elem, made, held);
    }
    for (int i = 0; type_is_composite(at) && i < at->elems.n; i++)
        preload(L, env, at->elems.at[i], made, held || at->kind == TY_SUM);
}

void preload_sizes(Low *L, const Env *env, const AType *at, const Loc *made)
{
    preload(L, env, at, made, false);
}

/* What a size `s` of a type tells if it is n. */
typedef Env *(*BindSize)(Low *L, Env *env, const Size *s, Atom n);

static Env *bind_size(Low *L, Env *env, const Size *s, Atom n)
{
    bool open = s->kind == SZ_VAR && s->var->kind == BIND_SIZE && !env_find(env, s->var);
    return open ? env_add(L, env, s->var, val_atom(L, n)) : env;
}

/* Of an operation the side that is not known, from the other one. */
static Env *solve_size(Low *L, Env *env, const Size *s, Atom n)
{
    s = size_deref(s);
    if (s->kind != SZ_OP)
        return bind_size(L, env, s, n);
    Atom a, b;
    bool left = size_atom(L, env, s->a, &a), right = size_atom(L, env, s->b, &b);
    if (left == right)
        return env;
    const Size *side = left ? s->b : s->a;
    Atom k = left ? a : b;
    if (s->op == '+')
        return solve_size(L, env, side, emit_op(L, s->loc, OP_SUB, n, k));
    if (s->op == '-')
        return solve_size(L, env, side,
                          left ? emit_op(L, s->loc, OP_SUB, k, n)
                               : emit_op(L, s->loc, OP_ADD, n, k));
    if (s->op == '*' && !k.var && k.c.i)
        return solve_size(L, env, side, emit_op(L, s->loc, OP_DIV, n, k));
    return env;
}

static Env *bind_at(Low *L, Env *env, const AType *at, const Val *v, int depth, BindSize bind)
{
    at = type_deref(at);
    switch (at->kind) {
    case TY_ARRAY: {
        const Size *s = size_deref(at->array.dim);
        const Atom *leaf = val_first_leaf(v);
        if (leaf && depth < atom_type(*leaf).rank)
            env = bind(L, env, s, atom_type(*leaf).dims[depth]);
        return bind_at(L, env, at->array.elem, v, depth + 1, bind);
    }
    case TY_TUPLE:
    case TY_RECORD:
        for (int i = 0; v->kind == V_TUPLE && i < at->elems.n && i < v->elems.n; i++)
            env = bind_at(L, env, at->elems.at[i], v->elems.at[i], depth, bind);
        return env;
    case TY_SUM:
        for (int k = 0; k < at->elems.n; k++)
            env = bind_at(L, env, at->elems.at[k], sum_holds(L, v, k), depth, bind);
        return env;
    case TY_VAR:
        if (type_is_acc(at))
            return bind_at(L, env, at->targs.at[0], v->elems.at[ACC_LIKE], 0, bind);
        if (!env_find(env, at->var)) {
            env = env_add(L, env, at->var, (Val *)v);
            env->drop = depth;
        }
        return env;
    case TY_SCALAR:
    case TY_FUN:
    case TY_META:
    case TY_ERROR: return env;
    }
    return env;
}

Env *bind_sizes(Low *L, Env *env, const AType *at, const Val *v)
{
    meet_sizes(L, env, at, v);
    return bind_at(L, env, at, v, 0, bind_size);
}

Env *bind_sizes_inside(Low *L, Env *env, const AType *at, const Val *v)
{
    return bind_at(L, env, at, v, 0, solve_size);
}

Val *match_type(Low *L, Env **env, const AType *at, Val *v, Loc loc)
{
    *env = bind_sizes(L, *env, at, v);
    LeafSizes ls = leaf_sizes(L, at, v);
    Atoms as = val_leaves(L, v);
    ASSERT(ls.n == as.n);
    for (int i = 0; i < as.n; i++) {
        Type t = atom_type(as.at[i]);
        Atom *dims = NEWN(L->cx->perm, Atom, t.rank);
        for (int d = 0; d < t.rank; d++) {
            Atom want;
            dims[d] = t.dims[d];
            if (d < ls.at[i].n && size_atom(L, *env, ls.at[i].at[d], &want))
                dims[d] = want;
        }
        as.at[i] = fit_atom(L, loc, as.at[i], dims, t.rank);
    }
    return val_rebuild(L, v, &as);
}

/* --- Sizes and types from the use ----------------------------------------------------------- */

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

Env *sizes_from_use(Low *L, Env *env, const AType *scheme, const AType *use, const Env *env_use)
{
    if (!scheme || !use)
        return env;
    scheme = type_deref(scheme);
    use = type_deref(use);
    if (type_is_acc(scheme))
        return type_is_acc(use)
                   ? sizes_from_use(L, env, scheme->targs.at[0], use->targs.at[0], env_use)
                   : env;
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
