/* What inference makes: types, variables, bindings; and the trail of what variables were, to undo
 * it. Sizes are made in size_term.c. */
#include "frontend/types/types.h"

#include <string.h>

Binding *new_binding(Ck *ck, BindKind k, const char *name, Loc loc)
{
    Binding *b = NEW(ck->a, Binding);
    b->kind = k;
    b->name = name;
    b->loc = loc;
    b->uid = ck->n_bindings++;
    b->cls = TC_VALUE;
    return b;
}

/* --- Types ---------------------------------------------------------------------------------- */

static AType *ty_new(Ck *ck, TypeKind k)
{
    AType *t = NEW(ck->a, AType);
    t->kind = k;
    return t;
}

AType *ty_scalar(Ck *ck, PrimType s)
{
    AType *t = ty_new(ck, TY_SCALAR);
    t->scalar = s;
    return t;
}

AType *ty_array(Ck *ck, Size *dim, AType *elem)
{
    AType *t = ty_new(ck, TY_ARRAY);
    t->array.dim = dim;
    t->array.elem = elem;
    return t;
}

AType *ty_tuple(Ck *ck, ATypes elems)
{
    AType *t = ty_new(ck, TY_TUPLE);
    t->elems = elems;
    return t;
}

AType *ty_fun(Ck *ck, AType *param, AType *result)
{
    AType *t = ty_new(ck, TY_FUN);
    t->fun.param = param;
    t->fun.result = result;
    return t;
}

AType *ty_elems_like(Ck *ck, const AType *t, ATypes elems)
{
    AType *c = ty_tuple(ck, elems);
    c->kind = t->kind;
    c->names = t->names;
    return c;
}

AType *ty_fun_like(Ck *ck, const AType *t, AType *param, AType *result)
{
    AType *c = ty_fun(ck, param, result);
    c->fun.name = t->fun.name;
    c->fun.exists = t->fun.exists;
    return c;
}

bool ty_part_add(Ck *ck, AType *t, const char *name, AType *part)
{
    int at = 0;
    while (at < t->names.n && strcmp(t->names.at[at], name) < 0)
        at++;
    if (at < t->names.n && t->names.at[at] == name)
        return false;
    vec_push(ck->a, &t->elems, part);
    vec_push(ck->a, &t->names, name);
    for (int j = t->elems.n - 1; j > at; j--) {
        t->elems.at[j] = t->elems.at[j - 1];
        t->names.at[j] = t->names.at[j - 1];
    }
    t->elems.at[at] = part;
    t->names.at[at] = name;
    return true;
}

AType *ty_error(Ck *ck)
{
    return ty_new(ck, TY_ERROR);
}

AType *ty_meta(Ck *ck, TypeClass cls, Loc loc)
{
    AType *t = ty_new(ck, TY_META);
    t->meta.id = ck->ids++;
    t->meta.level = ck->level;
    t->meta.born = ck->n_bindings;
    t->meta.cls = cls;
    t->meta.loc = loc;
    return t;
}

AType *ty_plain(Ck *ck, const AType *t)
{
    AType *d = type_deref(t);
    if (type_is_composite(d)) {
        ATypes elems = {0};
        bool changed = d->unique;
        for (int i = 0; i < d->elems.n; i++) {
            AType *e = ty_plain(ck, d->elems.at[i]);
            changed |= e != d->elems.at[i];
            vec_push(ck->a, &elems, e);
        }
        if (!changed)
            return d;
        AType *c = ty_new(ck, d->kind);
        c->elems = elems;
        c->names = d->names;
        return c;
    }
    if (!d->unique)
        return d;
    AType *c = NEW(ck->a, AType);
    *c = *d;
    c->unique = false;
    return c;
}

/* --- Binding variables, and undoing it ------------------------------------------------------ */

int trail_mark(const Ck *ck)
{
    return ck->trail.n;
}

void trail_undo(Ck *ck, int mark)
{
    while (ck->trail.n > mark) {
        Undo *u = &ck->trail.at[--ck->trail.n];
        if (u->type)
            *u->type = u->old_type;
        else
            *u->size = u->old_size;
    }
}

void save_type(Ck *ck, AType *t)
{
    Undo u = {.type = t, .old_type = *t};
    vec_push(ck->a, &ck->trail, u);
}

void save_size(Ck *ck, Size *s)
{
    Undo u = {.size = s, .old_size = *s};
    vec_push(ck->a, &ck->trail, u);
}
