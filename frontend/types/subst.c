/* Types under substitution: instances of polymorphic types, results of calls, sizes that leave the
 * scope of the names they mention. */
#include "frontend/types/types.h"

void fe_subst_type(Ck *ck, Subst *s, Binding *b, AType *t)
{
    vec_push(ck->a, &s->from, b);
    vec_push(ck->a, &s->types, t);
    vec_push(ck->a, &s->sizes, NULL);
    vec_push(ck->a, &s->decls, NULL);
}

void subst_decl(Ck *ck, Subst *s, Binding *abstract, TypeDecl *means)
{
    vec_push(ck->a, &s->from, abstract);
    vec_push(ck->a, &s->types, NULL);
    vec_push(ck->a, &s->sizes, NULL);
    vec_push(ck->a, &s->decls, means);
}

void subst_size(Ck *ck, Subst *s, Binding *b, Size *z)
{
    vec_push(ck->a, &s->from, b);
    vec_push(ck->a, &s->types, NULL);
    vec_push(ck->a, &s->sizes, z);
    vec_push(ck->a, &s->decls, NULL);
}

static int subst_find(const Subst *s, const Binding *b)
{
    for (int i = 0; i < s->from.n; i++)
        if (s->from.at[i] == b)
            return i;
    return -1;
}

/* --- A map over the sizes and type parameters of a type, sharing what does not change ------- */

static Size *map_size(TypeMap *m, Size *s)
{
    s = size_deref(s);
    if (m->whole)
        return m->whole(m->env, s);
    const ASizes *leaves = sz_leaves(s);
    bool stays = leaves != NULL;
    for (int i = 0; stays && i < leaves->n; i++)
        stays = map_size(m, leaves->at[i]) == leaves->at[i];
    if (stays)
        return s;
    if (s->kind == SZ_OP) {
        Size *a = map_size(m, s->a), *b = map_size(m, s->b);
        return a == s->a && b == s->b ? s : sz_op(m->ck, s->op, a, b);
    }
    if (s->kind != SZ_EXP)
        return m->size(m->env, s);
    ASizes args = {0};
    bool changed = false;
    for (int i = 0; i < s->args.n; i++) {
        vec_push(m->ck->a, &args, map_size(m, s->args.at[i]));
        changed |= args.at[i] != s->args.at[i];
    }
    return changed ? sz_exp_with(m->ck, s, args) : s;
}

/* The arguments of an abstract type. */
static AType *map_args(TypeMap *m, AType *t)
{
    ATypes ts = {0};
    ASizes zs = {0};
    bool changed = false;
    for (int i = 0; i < t->targs.n; i++) {
        vec_push(m->ck->a, &ts, ty_map(m, t->targs.at[i]));
        changed |= ts.at[i] != t->targs.at[i];
    }
    for (int i = 0; i < t->sargs.n; i++) {
        vec_push(m->ck->a, &zs, map_size(m, t->sargs.at[i]));
        changed |= zs.at[i] != t->sargs.at[i];
    }
    if (!changed)
        return t;
    AType *c = arena_memdup(m->ck->a, t, sizeof *t);
    c->targs = ts;
    c->sargs = zs;
    return c;
}

/* Chains of variables may be long. */
static void shorten(AType *t, AType *end)
{
    for (AType *next; t != end; t = next) {
        next = t->meta.ref;
        t->meta.ref = end;
    }
}

AType *ty_map(TypeMap *m, AType *t)
{
    bool unique = t->unique;
    AType *d = type_deref(t), *c = d;
    Ck *ck = m->ck;
    if ((m->last && ck->too_large) || ++m->parts > MAX_TYPE_PARTS) {
        ck->too_large = true;
        return ty_error(ck);
    }
    if (m->last)
        shorten(t, d);
    if (d != t && m->bound)
        m->bound(m->env);
    switch (d->kind) {
    case TY_SCALAR:
    case TY_ERROR:
        if (!m->last)
            return t;
        break;
    case TY_VAR:
    case TY_META: {
        AType *r = m->var ? m->var(m->env, d) : NULL;
        c = r ? r : d->kind == TY_VAR ? map_args(m, d) : d;
        break;
    }
    case TY_ARRAY: {
        Size *z = map_size(m, d->array.dim);
        AType *e = ty_map(m, d->array.elem);
        if (z != d->array.dim || e != d->array.elem)
            c = ty_array(ck, z, e);
        break;
    }
    case TY_TUPLE:
    case TY_RECORD:
    case TY_SUM: {
        ATypes es = {0};
        bool changed = false;
        for (int i = 0; i < d->elems.n; i++) {
            AType *e = ty_map(m, d->elems.at[i]);
            changed |= e != d->elems.at[i];
            vec_push(ck->a, &es, e);
        }
        if (changed)
            c = ty_elems_like(ck, d, es);
        break;
    }
    case TY_FUN: {
        if (m->but_functions)
            break;
        AType *p = ty_map(m, d->fun.param), *r = ty_map(m, d->fun.result);
        if (p != d->fun.param || r != d->fun.result)
            c = ty_fun_like(ck, d, p, r);
        break;
    }
    }
    unique |= d->unique;
    if (c->unique != unique) {
        AType *copy = NEW(ck->a, AType);
        *copy = *c;
        if (c->kind == TY_META) /* a variable has one node: this one stands for it */
            copy->meta.ref = c;
        copy->unique = unique;
        return copy;
    }
    return c == d && t != d && !unique && !m->last ? t : c;
}

/* --- Substitution --------------------------------------------------------------------------- */

typedef struct {
    Ck *ck;
    const Subst *s;
} SubstEnv;

static Size *subst_one_size(void *env, Size *z)
{
    const Subst *s = ((SubstEnv *)env)->s;
    int i = z->kind == SZ_VAR ? subst_find(s, z->var) : -1;
    return i >= 0 && s->sizes.at[i] ? s->sizes.at[i] : z;
}

static AType *subst_one_var(void *env, AType *t)
{
    const Subst *s = ((SubstEnv *)env)->s;
    int i = t->kind == TY_VAR ? subst_find(s, t->var) : -1;
    return i >= 0 ? s->types.at[i] : NULL;
}

AType *ty_subst(Ck *ck, AType *t, const Subst *s)
{
    SubstEnv env = {ck, s};
    TypeMap m = {.ck = ck, .size = subst_one_size, .var = subst_one_var, .env = &env};
    return s->from.n ? ty_map(&m, t) : t;
}

AType *ty_instance(Ck *ck, const Binding *b, Loc loc)
{
    Subst s = {0};
    ck->n_bindings++; /* what stands for its parameters is younger than all before */
    for (int i = 0; i < b->tparams.n; i++) {
        Binding *p = b->tparams.at[i];
        if (p->kind == BIND_TYPE_PARAM) {
            fe_subst_type(ck, &s, p, ty_meta(ck, p->cls, loc));
            continue;
        }
        Size *z = sz_meta(ck, loc);
        z->by_use = true;
        subst_size(ck, &s, p, z);
    }
    return ty_subst(ck, b->type, &s);
}

AType *ty_open(Ck *ck, const Bindings *exists, AType *t, Loc loc)
{
    Subst s = {0};
    for (int i = 0; i < exists->n; i++)
        subst_size(ck, &s, exists->at[i], sz_unknown(ck, loc));
    return ty_subst(ck, t, &s);
}

static Size *idle_size(Ck *ck, Loc loc)
{
    Size *z = sz_meta(ck, loc);
    z->idle = true;
    return z;
}

/* t with the sizes that `make` makes. */
static AType *other_sizes(Ck *ck, AType *t, Loc loc, Size *(*make)(Ck *, Loc))
{
    t = type_deref(t);
    if (t->kind == TY_ARRAY)
        return ty_array(ck, make(ck, loc), other_sizes(ck, t->array.elem, loc, make));
    if (t->kind == TY_VAR && t->sargs.n) { /* an abstract type of some size */
        AType *c = arena_memdup(ck->a, t, sizeof *t);
        c->sargs = (ASizes){0};
        for (int i = 0; i < t->sargs.n; i++)
            vec_push(ck->a, &c->sargs, make(ck, loc));
        return c;
    }
    if (!type_is_composite(t))
        return t;
    ATypes elems = {0};
    for (int i = 0; i < t->elems.n; i++)
        vec_push(ck->a, &elems, other_sizes(ck, t->elems.at[i], loc, make));
    return ty_elems_like(ck, t, elems);
}

AType *ty_any_sizes(Ck *ck, AType *t, Loc loc)
{
    return other_sizes(ck, t, loc, sz_meta);
}

AType *ty_idle_sizes(Ck *ck, AType *t, Loc loc)
{
    return other_sizes(ck, t, loc, idle_size);
}

/* What stands for sizes of a type: the same for the same. */
typedef struct {
    Ck *ck;
    ASizes from, to;
} Renamed;

static Size *renamed(Renamed *r, Size *z)
{
    for (int i = 0; i < r->from.n; i++)
        if (r->from.at[i] == z)
            return r->to.at[i];
    Size *other = sz_unknown(r->ck, z->loc);
    other->varies = z->varies;
    vec_push(r->ck->a, &r->from, z);
    vec_push(r->ck->a, &r->to, other);
    return other;
}

static Size *any_at_call(void *env, Size *z)
{
    if (z->kind != SZ_UNKNOWN || !z->each_call || !z->varies)
        return z;
    Size *any = renamed(env, z);
    any->any = any->varies = any->each_call = true;
    return any;
}

AType *ty_any_at_call(Ck *ck, AType *t)
{
    Renamed r = {.ck = ck};
    TypeMap m = {.ck = ck, .size = any_at_call, .env = &r};
    return ty_map(&m, t);
}

static Size *any_settled(void *env, Size *z)
{
    return z->kind == SZ_UNKNOWN && z->any ? renamed(env, z) : z;
}

/* Each value of a variable's type has sizes of its own, which are the same in all of that value. */
static void next_value(void *env)
{
    Renamed *r = env;
    r->from.n = r->to.n = 0;
}

AType *ty_any_settled(Ck *ck, AType *t)
{
    Renamed r = {.ck = ck};
    TypeMap m = {.ck = ck, .size = any_settled, .bound = next_value, .env = &r};
    return ty_map(&m, t);
}

/* --- Leaving a scope ------------------------------------------------------------------------ */

/* Sizes that have a leaf which is not known outside become unknown ones, as wholes: `m + 1` with an
 * m that nobody knows could be any size. Only what is the size of an array itself stays a part of
 * others: of `(iota m, iota (m + 1))` the second is longer than the first by one. */
typedef struct {
    Ck *ck;
    bool (*hidden)(void *env, const Size *leaf);
    void *env;
    Loc loc;
    ASizes from, to; /* sizes met, and what they are outside */
} Leaving;

/* The size with the parts that have another meaning outside. */
static Size *known_parts(Leaving *l, Size *s)
{
    s = size_deref(s);
    for (int i = 0; i < l->from.n; i++)
        if (sz_written_same(l->from.at[i], s))
            return l->to.at[i];
    if (s->kind == SZ_OP) {
        Size *a = known_parts(l, s->a), *b = known_parts(l, s->b);
        return a == size_deref(s->a) && b == size_deref(s->b) ? s : sz_op(l->ck, s->op, a, b);
    }
    if (s->kind != SZ_EXP)
        return s;
    ASizes args = {0};
    for (int i = 0; i < s->args.n; i++)
        vec_push(l->ck->a, &args, known_parts(l, s->args.at[i]));
    return sz_exp_with(l->ck, s, args);
}

static Size *leave_size(void *env, Size *s)
{
    Leaving *l = env;
    if (!sz_any(s, l->hidden, l->env))
        return s;
    Size *z = known_parts(l, s);
    if (sz_any(z, l->hidden, l->env)) {
        z = sz_unknown(l->ck, l->loc);
        vec_push(l->ck->a, &l->from, size_deref(s));
        vec_push(l->ck->a, &l->to, z);
    }
    return z;
}

/* Sizes of arrays in the type that have a leaf which is not known outside, other than
 * in functions. */
static void sizes_leaving(Leaving *l, const AType *t, ASizes *out)
{
    t = type_deref(t);
    if (t->kind == TY_ARRAY) {
        if (sz_any(t->array.dim, l->hidden, l->env))
            vec_push(l->ck->a, out, t->array.dim);
        sizes_leaving(l, t->array.elem, out);
    }
    for (int i = 0; type_is_composite(t) && i < t->elems.n; i++)
        sizes_leaving(l, t->elems.at[i], out);
    for (int i = 0; t->kind == TY_VAR && i < t->sargs.n; i++)
        if (sz_any(t->sargs.at[i], l->hidden, l->env))
            vec_push(l->ck->a, out, t->sargs.at[i]);
}

static bool is_operation(const Size *s)
{
    s = size_deref(s);
    return s->kind == SZ_OP || s->kind == SZ_EXP;
}

static AType *leave(Leaving *l, AType *t)
{
    if (!ty_any_size(t, l->hidden, l->env))
        return t;
    ASizes sizes = {0};
    sizes_leaving(l, t, &sizes);
    for (int wholes = 0; wholes < 2; wholes++) /* names first: they are parts of the others */
        for (int i = 0; i < sizes.n; i++)
            if (is_operation(sizes.at[i]) == (wholes == 1))
                leave_size(l, sizes.at[i]);
    TypeMap m = {.ck = l->ck, .whole = leave_size, .env = l};
    return ty_map(&m, t);
}

typedef struct {
    int from;
    const Bindings *keep;
    const AType *whole;
} Scoped;

/* Whether a function type in t binds the name. */
static bool ty_binds(void *b, const AType *t)
{
    t = type_deref(t);
    return (t->kind == TY_FUN && fun_binds(t, b)) ||
           (t->kind != TY_VAR && type_any_part(t, ty_binds, b));
}

static bool leaves(void *env, const Size *leaf)
{
    const Scoped *s = env;
    const Binding *b = leaf->kind == SZ_VAR ? leaf->var : NULL;
    if (!b || b->uid < s->from ||
        b->kind == BIND_BUILTIN) /* of those, uids tell the first use only */
        return false;
    for (int i = 0; s->keep && i < s->keep->n; i++)
        if (s->keep->at[i] == b)
            return false;
    return !ty_binds((void *)b, s->whole);
}

AType *ty_leave(Ck *ck, AType *t, int from, const Bindings *keep, Loc loc)
{
    Scoped scoped = {from, keep, t};
    Leaving l = {.ck = ck, .hidden = leaves, .env = &scoped, .loc = loc};
    return leave(&l, t);
}

typedef struct {
    int first_id;
    const ASizes *witnessed;
} Made;

static bool is_unwitnessed(void *env, const Size *leaf)
{
    const Made *m = env;
    if (leaf->kind != SZ_UNKNOWN || leaf->id < m->first_id)
        return false;
    for (int i = 0; i < m->witnessed->n; i++)
        if (sz_same(m->witnessed->at[i], leaf))
            return false;
    return true;
}

static bool is_made_up(void *env, const Size *leaf)
{
    return leaf->kind == SZ_UNKNOWN && leaf->id >= *(int *)env;
}

/* The sizes made up since first_id that arrays in t have by themselves. */
static ASizes witnessed(Ck *ck, const AType *t, int first_id)
{
    Leaving all = {.ck = ck, .hidden = is_made_up, .env = &first_id};
    ASizes sizes = {0}, names = {0};
    sizes_leaving(&all, t, &sizes);
    for (int i = 0; i < sizes.n; i++)
        if (!is_operation(sizes.at[i]))
            vec_push(ck->a, &names, size_deref(sizes.at[i]));
    return names;
}

AType *ty_unwitnessed(Ck *ck, AType *t, int first_id, Loc loc)
{
    ASizes names = witnessed(ck, t, first_id);
    Made made = {first_id, &names};
    Leaving l = {.ck = ck, .hidden = is_unwitnessed, .env = &made, .loc = loc};
    return leave(&l, t);
}

static const AType *takes_unwitnessed(const AType *t, const Made *made)
{
    const AType *found = NULL;
    t = type_deref(t);
    if (t->kind == TY_FUN)
        return ty_any_size(t->fun.param, is_unwitnessed, (void *)made)
                   ? t->fun.param
                   : takes_unwitnessed(t->fun.result, made);
    for (int i = 0; type_is_composite(t) && i < t->elems.n && !found; i++)
        found = takes_unwitnessed(t->elems.at[i], made);
    return found;
}

const AType *ty_takes_unwitnessed(Ck *ck, const AType *t, int first_id)
{
    ASizes names = witnessed(ck, t, first_id);
    Made made = {first_id, &names};
    return takes_unwitnessed(t, &made);
}

/* --- Questions ------------------------------------------------------------------------------ */

static bool count_size(const Size *s, int *left)
{
    s = size_deref(s);
    const SizeFacts *f = sz_facts(s);
    if (f)
        return (*left -= f->parts) >= 0;
    if (--*left < 0)
        return false;
    for (int i = 0; s->kind == SZ_EXP && i < s->args.n; i++)
        if (!count_size(s->args.at[i], left))
            return false;
    return s->kind != SZ_OP || (count_size(s->a, left) && count_size(s->b, left));
}

/* Takes the parts of a type from *left; false if there are more. */
static bool count_type(const AType *t, int *left)
{
    if (--*left < 0)
        return false;
    t = type_deref(t);
    if (t->kind == TY_ARRAY)
        return count_size(t->array.dim, left) && count_type(t->array.elem, left);
    if (t->kind == TY_FUN)
        return count_type(t->fun.param, left) && count_type(t->fun.result, left);
    for (int i = 0; type_is_composite(t) && i < t->elems.n; i++)
        if (!count_type(t->elems.at[i], left))
            return false;
    for (int i = 0; t->kind == TY_VAR && i < t->targs.n; i++)
        if (!count_type(t->targs.at[i], left))
            return false;
    for (int i = 0; t->kind == TY_VAR && i < t->sargs.n; i++)
        if (!count_size(t->sargs.at[i], left))
            return false;
    return true;
}

bool ty_fits(const AType *t, int parts)
{
    return count_type(t, &parts);
}

AType *ty_limited(Ck *ck, AType *t, Loc loc)
{
    if (!ck->too_large && ty_fits(t, MAX_TYPE_PARTS))
        return t;
    ck->too_large = false;
    diag_limit(loc, "the type of this is too large (more than %d parts)", MAX_TYPE_PARTS);
    return ty_error(ck);
}

bool ty_witnesses(const AType *t, const Binding *b)
{
    t = type_deref(t);
    if (t->kind == TY_ARRAY) {
        const Size *s = size_deref(t->array.dim);
        return (s->kind == SZ_VAR && s->var == b) || ty_witnesses(t->array.elem, b);
    }
    for (int i = 0; type_is_composite(t) && i < t->elems.n; i++)
        if (ty_witnesses(t->elems.at[i], b))
            return true;
    for (int i = 0; t->kind == TY_VAR && i < t->sargs.n; i++) { /* of an abstract type */
        const Size *s = size_deref(t->sargs.at[i]);
        if (s->kind == SZ_VAR && s->var == b)
            return true;
    }
    return false;
}

static bool has_fun(void *env, const AType *t)
{
    t = type_deref(t);
    return t->kind == TY_FUN ||
           (t->kind == TY_VAR ? t->var->cls == TC_ANY : type_any_part(t, has_fun, env));
}

bool ty_has_fun(const AType *t)
{
    return has_fun(NULL, t);
}

static bool is_wrong(void *env, const Size *leaf)
{
    (void)env;
    return leaf->wrong;
}

static bool has_error(void *env, const AType *t)
{
    t = type_deref(t);
    return t->kind == TY_ERROR || type_any_part(t, has_error, env);
}

bool ty_has_error(const AType *t)
{
    return has_error(NULL, t) || ty_any_size(t, is_wrong, NULL);
}

bool ty_has_abstract(const AType *t)
{
    t = type_deref(t);
    if (t->kind == TY_ARRAY)
        return ty_has_abstract(t->array.elem);
    if (type_is_composite(t)) {
        for (int i = 0; i < t->elems.n; i++)
            if (ty_has_abstract(t->elems.at[i]))
                return true;
    }
    return t->kind == TY_VAR && t->var->tdecl;
}
