/* Types under substitution: instances of polymorphic types, results of calls, sizes that leave the
 * scope of the names they mention. */
#include "frontend/check.h"

#include <string.h>

void fe_subst_type(Ck *ck, Subst *s, Binding *b, AType *t)
{
    vec_push(ck->a, &s->from, b);
    vec_push(ck->a, &s->types, t);
    vec_push(ck->a, &s->sizes, NULL);
}

void subst_size(Ck *ck, Subst *s, Binding *b, Size *z)
{
    vec_push(ck->a, &s->from, b);
    vec_push(ck->a, &s->types, NULL);
    vec_push(ck->a, &s->sizes, z);
}

static int subst_find(const Subst *s, const Binding *b)
{
    for (int i = 0; i < s->from.n; i++)
        if (s->from.at[i] == b)
            return i;
    return -1;
}

/* ---- A map over the sizes and type parameters of a type, sharing what does not change ---- */

typedef struct {
    Ck *ck;
    Size *(*size)(void *env, Size *s);  /* of dereferenced sizes other than SZ_OP; never NULL */
    AType *(*var)(void *env, AType *t); /* of TY_VAR and unbound TY_META; NULL keeps them */
    void *env;
    int parts; /* seen so far */
} Mapper;

static Size *map_size(Mapper *m, Size *s)
{
    s = size_deref(s);
    if (s->kind != SZ_OP)
        return m->size(m->env, s);
    Size *a = map_size(m, s->a), *b = map_size(m, s->b);
    return a == s->a && b == s->b ? s : sz_op(m->ck, s->op, a, b);
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
        c = r ? r : d;
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
    case TY_RECORD: {
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

/* ---- Substitution ---- */

typedef struct {
    Ck *ck;
    const Subst *s;
} SubstEnv;

static bool exp_mentions(const AExp *e, bool (*test)(void *env, const Binding *b), void *env)
{
    switch (e->kind) {
    case AE_VAR: return test(env, e->var.bind);
    case AE_PROJ: return exp_mentions(e->proj.e, test, env);
    case AE_APP:
        for (int i = 0; i < e->app.args.n; i++)
            if (exp_mentions(e->app.args.at[i], test, env))
                return true;
        return exp_mentions(e->app.fn, test, env);
    default: return false;
    }
}

static bool is_substituted(void *env, const Binding *b)
{
    return subst_find(((SubstEnv *)env)->s, b) >= 0;
}

static Size *subst_one_size(void *env, Size *z)
{
    SubstEnv *se = env;
    if (z->kind == SZ_VAR) {
        int i = subst_find(se->s, z->var);
        return i >= 0 && se->s->sizes.at[i] ? se->s->sizes.at[i] : z;
    }
    if (z->kind == SZ_EXP && exp_mentions(z->exp, is_substituted, env))
        return sz_unknown(se->ck, z->loc);
    return z;
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

Size *sz_subst(Ck *ck, Size *z, const Subst *s)
{
    SubstEnv env = {ck, s};
    Mapper m = {ck, subst_one_size, subst_one_var, &env, 0};
    return map_size(&m, z);
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

/* ---- Leaving a scope ---- */

typedef struct {
    Ck *ck;
    int from;
    const Bindings *keep;
    Loc loc;
} LeaveEnv;

static bool leaves(void *env, const Binding *b)
{
    LeaveEnv *le = env;
    if (b->uid < le->from)
        return false;
    for (int i = 0; le->keep && i < le->keep->n; i++)
        if (le->keep->at[i] == b)
            return false;
    return true;
}

static Size *leave_size(void *env, Size *z)
{
    LeaveEnv *le = env;
    if ((z->kind == SZ_VAR && leaves(env, z->var)) ||
        (z->kind == SZ_EXP && exp_mentions(z->exp, leaves, env)))
        return sz_unknown(le->ck, le->loc);
    return z;
}

/* n*m with m leaving is as unknown as m: the mapper would leave n * ?, which is kept, since equal
 * products of the same unknown are equal. */
AType *ty_leave(Ck *ck, AType *t, int from, const Bindings *keep, Loc loc)
{
    LeaveEnv env = {ck, from, keep, loc};
    Mapper m = {ck, leave_size, NULL, &env, 0};
    return map_type(&m, t);
}

/* ---- Questions ---- */

static bool count_size(const Size *s, int *n)
{
    s = size_deref(s);
    return ++*n <= MAX_SIZE_PARTS &&
           (s->kind != SZ_OP || (count_size(s->a, n) && count_size(s->b, n)));
}

/* Adds the parts of a type to *n; false beyond the limit. Its sizes that have grown too large, since
 * variables in them stand for something now, become unknown. */
static bool count_parts(Ck *ck, const AType *t, int *n)
{
    if (++*n > MAX_TYPE_PARTS)
        return false;
    t = type_deref(t);
    if (t->kind == TY_ARRAY) {
        Size *z = size_deref(t->array.dim);
        int parts = 0;
        if (!count_size(z, &parts)) {
            z->kind = SZ_UNKNOWN;
            z->id = ck->ids++;
            ck->large_sizes++;
        }
        return count_parts(ck, t->array.elem, n);
    }
    if (t->kind == TY_FUN)
        return count_parts(ck, t->fun.param, n) && count_parts(ck, t->fun.result, n);
    for (int i = 0; (t->kind == TY_TUPLE || t->kind == TY_RECORD) && i < t->elems.n; i++)
        if (!count_parts(ck, t->elems.at[i], n))
            return false;
    return true;
}

AType *ty_limited(Ck *ck, AType *t, Loc loc)
{
    int parts = 0;
    if (!ck->too_large && count_parts(ck, t, &parts))
        return t;
    ck->too_large = false;
    diag_limit(loc, "the type of this is too large (more than %d parts)", MAX_TYPE_PARTS);
    return ty_error(ck);
}

static bool sz_unknown_since(const Size *s, int id)
{
    s = size_deref(s);
    return (s->kind == SZ_UNKNOWN && s->id >= id) ||
           (s->kind == SZ_OP && (sz_unknown_since(s->a, id) || sz_unknown_since(s->b, id)));
}

bool ty_has_unknown(const AType *t, int id)
{
    t = type_deref(t);
    switch (t->kind) {
    case TY_ARRAY: return sz_unknown_since(t->array.dim, id) || ty_has_unknown(t->array.elem, id);
    case TY_TUPLE:
    case TY_RECORD:
        for (int i = 0; i < t->elems.n; i++)
            if (ty_has_unknown(t->elems.at[i], id))
                return true;
        return false;
    case TY_FUN:
    case TY_SCALAR:
    case TY_VAR:
    case TY_META:
    case TY_ERROR: return false;
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
