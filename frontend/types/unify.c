/* Unification of types. That of sizes is in size_term.c. */
#include "frontend/types/types.h"

/* --- Variables inside a type that another one takes ----------------------------------------- */

/* Those of the type belong to the outer level from then on; names that are bound after the variable
 * was made are not in its scope. */
static bool ty_lower(Ck *ck, AType *t, const AType *meta, const Outer *o)
{
    t = type_deref(t);
    switch (t->kind) {
    case TY_META:
        if (t == meta) {
            ck->why = "a type would contain itself";
            ck->why_more = true;
            return false;
        }
        if (t->meta.level > o->level || t->meta.born > o->born) {
            save_type(ck, t);
            t->meta.level = t->meta.level > o->level ? o->level : t->meta.level;
            t->meta.born = t->meta.born > o->born ? o->born : t->meta.born;
        }
        return true;
    case TY_ARRAY: return sz_lower(ck, t->array.dim, o) && ty_lower(ck, t->array.elem, meta, o);
    case TY_TUPLE:
    case TY_RECORD:
    case TY_SUM:
        for (int i = 0; i < t->elems.n; i++)
            if (!ty_lower(ck, t->elems.at[i], meta, o))
                return false;
        return true;
    case TY_FUN: {
        Outer in = {o->level, o->born, t, o};
        return ty_lower(ck, t->fun.param, meta, o) && ty_lower(ck, t->fun.result, meta, &in);
    }
    case TY_VAR:
        for (int i = 0; i < t->targs.n; i++)
            if (!ty_lower(ck, t->targs.at[i], meta, o))
                return false;
        for (int i = 0; i < t->sargs.n; i++)
            if (!sz_lower(ck, t->sargs.at[i], o))
                return false;
        if (t->var->uid < o->born)
            return true;
        ck->why =
            arena_printf(ck->a, "the type parameter `%s` would leave its scope", t->var->name);
        ck->why_more = true;
        return false;
    case TY_SCALAR:
    case TY_ERROR: return true;
    }
    return true;
}

/* --- Unification of types ------------------------------------------------------------------- */

static bool class_meet(TypeClass a, TypeClass b, TypeClass *out)
{
    if (a > b) {
        TypeClass t = a;
        a = b;
        b = t;
    }
    bool same = a == b || a < TC_BITS || (a == TC_NUM) || (a == TC_BITS && b == TC_INT);
    if (a == TC_BITS && b == TC_NUM) {
        *out = TC_INT;
        return true;
    }
    *out = b;
    return same;
}

static bool scalar_in(PrimType s, TypeClass c)
{
    switch (c) {
    case TC_ANY:
    case TC_SIZED:
    case TC_VALUE:
    case TC_EQ:
    case TC_PRIM: return true;
    case TC_BITS: return !prim_is_float(s);
    case TC_NUM: return s != T_BOOL;
    case TC_INT: return prim_is_int(s);
    case TC_FLOAT: return prim_is_float(s);
    }
    return false;
}

/* Requires that t belongs to a class; narrows the variables in it. */
static bool ty_restrict(Ck *ck, AType *t, TypeClass c)
{
    t = type_deref(t);
    if (c == TC_ANY || t->kind == TY_ERROR)
        return true;
    bool composite = c == TC_SIZED || c == TC_VALUE || c == TC_EQ;
    switch (t->kind) {
    case TY_META: {
        TypeClass m;
        if (!class_meet(t->meta.cls, c, &m))
            return false;
        if (m != t->meta.cls) {
            save_type(ck, t);
            t->meta.cls = m;
        }
        return true;
    }
    case TY_SCALAR: return scalar_in(t->scalar, c);
    case TY_ARRAY:
        if (c != TC_SIZED && composite && sz_varies(ck, t->array.dim))
            return false;
        return composite && ty_restrict(ck, t->array.elem, c);
    case TY_TUPLE:
    case TY_RECORD:
    case TY_SUM:
        for (int i = 0; composite && i < t->elems.n; i++)
            if (!ty_restrict(ck, t->elems.at[i], c))
                return false;
        return composite;
    case TY_VAR:
        for (int i = 0; c == TC_VALUE && i < t->sargs.n; i++)
            if (sz_varies(ck, t->sargs.at[i]))
                return false;
        if (ck->in_args && t->var->tdecl && c == TC_VALUE)
            c = TC_SIZED;
        return c <= TC_VALUE ? t->var->cls >= c
                             : c == TC_EQ && t->var->tdecl && t->var->cls >= TC_SIZED;
    case TY_FUN: return false;
    case TY_ERROR: return true;
    }
    return false;
}

/* What a variable of a type whose sizes may vary stands for: those that functions make up at each
 * call are any sizes. */
static AType *with_any(Ck *ck, const AType *m, AType *t)
{
    return m->meta.cls <= TC_SIZED ? ty_any_at_call(ck, t) : t;
}

static bool bind_meta(Ck *ck, AType *m, AType *t)
{
    Outer o = {.level = m->meta.level, .born = m->meta.born};
    if (!ty_lower(ck, t, m, &o))
        return false;
    if (!ty_restrict(ck, t, m->meta.cls)) {
        if (!ck->why)
            ck->why =
                ty_has_fun(t)
                    ? arena_printf(ck->a, "functions like `%s` cannot be stored", show(ck, t))
                    : arena_printf(ck->a, "`%s` is not %s", show(ck, t), class_words(m->meta.cls));
        return false;
    }
    save_type(ck, m);
    m->meta.ref = ty_plain(ck, with_any(ck, m, t));
    return true;
}

static const char *missing_name(const Names *from, const Names *in)
{
    for (int i = 0; i < from->n; i++) {
        bool found = false;
        for (int k = 0; k < in->n; k++)
            found |= from->at[i] == in->at[k];
        if (!found)
            return from->at[i];
    }
    return NULL;
}

/* In what the components of two tuples, records or sums differ. */
static const char *other_parts(Ck *ck, const AType *want, const AType *have)
{
    if (ck->contrary) {
        const AType *other = want;
        want = have;
        have = other;
    }
    if (want->kind == TY_TUPLE)
        return arena_printf(ck->a, "%d components, not %d", have->elems.n, want->elems.n);
    const char *less = missing_name(&want->names, &have->names);
    const char *more = missing_name(&have->names, &want->names);
    const char *what = want->kind == TY_SUM ? "constructor" : "field";
    const char *mark = want->kind == TY_SUM ? "#" : "";
    return less && more ? arena_printf(ck->a, "%s `%s%s` is missing, `%s%s` is one too many", what,
                                       mark, less, mark, more)
           : less       ? arena_printf(ck->a, "%s `%s%s` is missing", what, mark, less)
                        : arena_printf(ck->a, "%s `%s%s` is one too many", what, mark, more);
}

/* The result of a function type, when the function is one that is at hand (`have`: the sizes that
 * it makes up, or that depend on its argument, may be others at each call), or one that is wanted
 * (any sizes are good there). */
static AType *open_result(Ck *ck, AType *f, bool have)
{
    Subst s = {0};
    Bindings *exists = &f->fun.exists;
    for (int i = 0; i < exists->n; i++) {
        Size *z = have ? sz_unknown(ck, exists->at[i]->loc) : sz_meta(ck, exists->at[i]->loc);
        z->varies = true;
        z->each_call = have;
        subst_size(ck, &s, exists->at[i], z);
    }
    return ty_subst(ck, f->fun.result, &s);
}

bool ty_unify_params(Ck *ck, AType *want, AType *have)
{
    ck->contrary = !ck->contrary;
    bool same = ty_unify(ck, have->fun.param, want->fun.param);
    ck->contrary = !ck->contrary;
    return same;
}

static bool unify_funs(Ck *ck, AType *want, AType *have)
{
    if (!ty_unify_params(ck, want, have))
        return false;
    AType *rw = open_result(ck, want, false), *rh = open_result(ck, have, true);
    Binding *w = want->fun.name, *h = have->fun.name;
    if (w == h)
        return ty_unify(ck, rw, rh);
    Subst s = {0};
    Size *z = w ? sz_var(ck, w) : sz_unknown(ck, h->loc);
    z->varies = z->each_call = !w;
    if (h)
        subst_size(ck, &s, h, z);
    return ty_unify(ck, rw, ty_subst(ck, rh, &s));
}

/* The arguments of an abstract type, which may be types whose sizes vary, as where such a type is
 * written. */
static bool unify_args(Ck *ck, AType *want, AType *have)
{
    bool same = true;
    ck->in_args++;
    for (int i = 0; i < want->targs.n && same; i++)
        same = ty_unify(ck, want->targs.at[i], have->targs.at[i]);
    ck->in_args--;
    if (!same)
        return false;
    for (int i = 0; i < want->sargs.n; i++)
        if (!sz_unify(ck, want->sargs.at[i], have->sargs.at[i]))
            return false;
    return true;
}

static void size_give_up(Ck *ck, Size *s)
{
    s = size_deref(s);
    if (s->kind == SZ_META)
        sz_unify(ck, s, sz_error(ck, s->loc));
}

/* Something else of this type was wrong: what is not known of it is not complained of. */
static void ty_give_up(Ck *ck, AType *t)
{
    t = type_deref(t);
    if (t->kind == TY_META) {
        save_type(ck, t);
        t->meta.ref = ty_error(ck);
        ck->skipped = true;
    }
    for (int i = 0; type_is_composite(t) && i < t->elems.n; i++)
        ty_give_up(ck, t->elems.at[i]);
    if (t->kind == TY_ARRAY) {
        size_give_up(ck, t->array.dim);
        ty_give_up(ck, t->array.elem);
    }
    for (int i = 0; t->kind == TY_VAR && i < t->sargs.n; i++)
        size_give_up(ck, t->sargs.at[i]);
    for (int i = 0; t->kind == TY_VAR && i < t->targs.n; i++)
        ty_give_up(ck, t->targs.at[i]);
    if (t->kind == TY_FUN) {
        ty_give_up(ck, t->fun.param);
        ty_give_up(ck, t->fun.result);
    }
}

bool ty_unify(Ck *ck, AType *want, AType *have)
{
    want = type_deref(want);
    have = type_deref(have);
    if (want == have)
        return true;
    if (want->kind == TY_ERROR || have->kind == TY_ERROR) {
        ty_give_up(ck, want);
        ty_give_up(ck, have);
        return true;
    }
    if (want->kind == TY_META && have->kind == TY_META) {
        TypeClass m;
        if (!class_meet(want->meta.cls, have->meta.cls, &m)) {
            ck->why = arena_printf(ck->a, "%s is not %s", class_words(have->meta.cls),
                                   class_words(want->meta.cls));
            return false;
        }
        save_type(ck, want);
        want->meta.cls = m;
        return bind_meta(ck, have, want);
    }
    if (want->kind == TY_META)
        return bind_meta(ck, want, have);
    if (have->kind == TY_META)
        return bind_meta(ck, have, want);
    if (want->kind != have->kind)
        return false;
    switch (want->kind) {
    case TY_SCALAR: return want->scalar == have->scalar;
    case TY_ARRAY:
        return ty_unify(ck, want->array.elem, have->array.elem) &&
               sz_unify(ck, want->array.dim, have->array.dim);
    case TY_RECORD:
    case TY_TUPLE:
    case TY_SUM:
        if (want->elems.n != have->elems.n || !names_same(&want->names, &have->names)) {
            ck->why = other_parts(ck, want, have);
            return false;
        }
        for (int i = 0; i < want->elems.n; i++)
            if (!ty_unify(ck, want->elems.at[i], have->elems.at[i]))
                return false;
        return true;
    case TY_FUN: return unify_funs(ck, want, have);
    case TY_VAR: return want->var == have->var && unify_args(ck, want, have);
    case TY_META:
    case TY_ERROR: return true;
    }
    return false;
}
