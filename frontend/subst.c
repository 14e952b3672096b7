/* Types under substitution: instances of polymorphic types, results of calls, sizes that leave the
 * scope of the names they mention. */
#include "frontend/check.h"

#include <string.h>

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

typedef struct {
    Ck *ck;
    Size *(*size)(void *env, Size *s);  /* of leaves; never NULL */
    AType *(*var)(void *env, AType *t); /* of TY_VAR and unbound TY_META; NULL keeps them */
    void *env;
    int parts; /* seen so far */
} Mapper;

static Size *map_size(Mapper *m, Size *s)
{
    s = size_deref(s);
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

static AType *map_type(Mapper *m, AType *t);

/* The arguments of an abstract type. */
static AType *map_args(Mapper *m, AType *t)
{
    ATypes ts = {0};
    ASizes zs = {0};
    bool changed = false;
    for (int i = 0; i < t->targs.n; i++) {
        vec_push(m->ck->a, &ts, map_type(m, t->targs.at[i]));
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

static AType *map_type(Mapper *m, AType *t)
{
    bool unique = t->unique;
    AType *d = type_deref(t), *c = d;
    Ck *ck = m->ck;
    if (++m->parts > MAX_TYPE_PARTS) {
        ck->too_large = true;
        return ty_error(ck);
    }
    switch (d->kind) {
    case TY_SCALAR:
    case TY_ERROR: return t;
    case TY_VAR:
    case TY_META: {
        AType *r = m->var ? m->var(m->env, d) : NULL;
        c = r ? r : d->kind == TY_VAR ? map_args(m, d) : d;
        break;
    }
    case TY_ARRAY: {
        Size *z = map_size(m, d->array.dim);
        AType *e = map_type(m, d->array.elem);
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
            AType *e = map_type(m, d->elems.at[i]);
            changed |= e != d->elems.at[i];
            vec_push(ck->a, &es, e);
        }
        if (changed)
            c = ty_elems_like(ck, d, es);
        break;
    }
    case TY_FUN: {
        AType *p = map_type(m, d->fun.param), *r = map_type(m, d->fun.result);
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
    return c == d && t != d && !unique ? t : c;
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
    Mapper m = {ck, subst_one_size, subst_one_var, &env, 0};
    return s->from.n ? map_type(&m, t) : t;
}

AType *ty_instance(Ck *ck, const Binding *b, Loc loc)
{
    Subst s = {0};
    for (int i = 0; i < b->tparams.n; i++) {
        Binding *p = b->tparams.at[i];
        if (p->kind == BIND_TYPE_PARAM)
            fe_subst_type(ck, &s, p, ty_meta(ck, p->cls, loc));
        else
            subst_size(ck, &s, p, sz_meta(ck, loc));
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

static Size *any_at_call(void *env, Size *z)
{
    Ck *ck = env;
    if (z->kind != SZ_UNKNOWN || !z->each_call || !z->varies)
        return z;
    Size *any = sz_unknown(ck, z->loc);
    any->any = any->varies = any->each_call = true;
    return any;
}

AType *ty_any_at_call(Ck *ck, AType *t)
{
    Mapper m = {ck, any_at_call, NULL, ck, 0};
    return map_type(&m, t);
}

static Size *any_settled(void *env, Size *z)
{
    return z->kind == SZ_UNKNOWN && z->any ? sz_unknown(env, z->loc) : z;
}

AType *ty_any_settled(Ck *ck, AType *t)
{
    Mapper m = {ck, any_settled, NULL, ck, 0};
    return map_type(&m, t);
}

/* --- Leaving a scope ------------------------------------------------------------------------ */

typedef struct {
    Ck *ck;
    int from;
    const Bindings *keep;
    const AType *whole;
    Loc loc;
    Subst left; /* the names that have left: each is one unknown size, wherever it stands */
} LeaveEnv;

/* Whether a function type in t binds the name. */
static bool ty_binds(const AType *t, const Binding *b)
{
    t = type_deref(t);
    if (t->kind == TY_ARRAY)
        return ty_binds(t->array.elem, b);
    for (int i = 0; type_is_composite(t) && i < t->elems.n; i++)
        if (ty_binds(t->elems.at[i], b))
            return true;
    return t->kind == TY_FUN &&
           (fun_binds(t, b) || ty_binds(t->fun.param, b) || ty_binds(t->fun.result, b));
}

static bool leaves(void *env, const Binding *b)
{
    LeaveEnv *le = env;
    if (ty_binds(le->whole, b))
        return false;
    if (b->uid < le->from || b->kind == BIND_BUILTIN) /* of those, uids tell the first use only */
        return false;
    for (int i = 0; le->keep && i < le->keep->n; i++)
        if (le->keep->at[i] == b)
            return false;
    return true;
}

static Size *leave_size(void *env, Size *z)
{
    LeaveEnv *le = env;
    if (z->kind != SZ_VAR || !leaves(env, z->var))
        return z;
    int i = subst_find(&le->left, z->var);
    if (i < 0) {
        i = le->left.from.n;
        subst_size(le->ck, &le->left, z->var, sz_unknown(le->ck, le->loc));
    }
    return le->left.sizes.at[i];
}

/* n*m with m leaving is as unknown as m: the mapper would leave n * ?, which is kept, since equal
 * products of the same unknown are equal. */
AType *ty_leave(Ck *ck, AType *t, int from, const Bindings *keep, Loc loc)
{
    LeaveEnv env = {.ck = ck, .from = from, .keep = keep, .whole = t, .loc = loc};
    Mapper m = {ck, leave_size, NULL, &env, 0};
    return map_type(&m, t);
}

/* --- Questions ------------------------------------------------------------------------------ */

static bool count_size(const Size *s, int *left)
{
    s = size_deref(s);
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

bool ty_has_fun(const AType *t)
{
    t = type_deref(t);
    switch (t->kind) {
    case TY_ARRAY: return ty_has_fun(t->array.elem);
    case TY_TUPLE:
    case TY_RECORD:
    case TY_SUM:
        for (int i = 0; i < t->elems.n; i++)
            if (ty_has_fun(t->elems.at[i]))
                return true;
        return false;
    case TY_FUN: return true;
    case TY_VAR: return t->var->cls == TC_ANY;
    case TY_SCALAR:
    case TY_META:
    case TY_ERROR: return false;
    }
    return false;
}

static bool is_wrong(void *env, const Size *leaf)
{
    (void)env;
    return leaf->wrong;
}

static bool has_error(const AType *t)
{
    t = type_deref(t);
    bool found = t->kind == TY_ERROR;
    if (t->kind == TY_ARRAY)
        return has_error(t->array.elem);
    if (t->kind == TY_FUN)
        return has_error(t->fun.param) || has_error(t->fun.result);
    for (int i = 0; type_is_composite(t) && i < t->elems.n && !found; i++)
        found = has_error(t->elems.at[i]);
    for (int i = 0; t->kind == TY_VAR && i < t->targs.n && !found; i++)
        found = has_error(t->targs.at[i]);
    return found;
}

bool ty_has_error(const AType *t)
{
    return has_error(t) || ty_any_size(t, is_wrong, NULL);
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
