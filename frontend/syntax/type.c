/* Small questions about types and sizes. */
#include "frontend/syntax/ast.h"

#include <stdlib.h>
#include <string.h>

AType *type_deref(const AType *t)
{
    while (t->kind == TY_META && t->meta.ref)
        t = t->meta.ref;
    return (AType *)t;
}

Size *size_deref(const Size *s)
{
    while (s->kind == SZ_META && s->ref)
        s = s->ref;
    return (Size *)s;
}

bool type_any_part(const AType *t, bool (*ask)(void *env, const AType *part), void *env)
{
    const ATypes none = {0}, *parts = &none;
    if (t->kind == TY_ARRAY)
        return ask(env, t->array.elem);
    if (t->kind == TY_FUN)
        return ask(env, t->fun.param) || ask(env, t->fun.result);
    if (type_is_composite(t))
        parts = &t->elems;
    if (t->kind == TY_VAR)
        parts = &t->targs;
    for (int i = 0; i < parts->n; i++)
        if (ask(env, parts->at[i]))
            return true;
    return false;
}

bool type_is_acc(const AType *t)
{
    t = type_deref(t);
    return t->kind == TY_VAR && t->var->tdecl && t->var->tdecl->acc;
}

bool names_same(const Names *a, const Names *b)
{
    if (a->n != b->n)
        return false;
    for (int i = 0; i < a->n; i++)
        if (a->at[i] != b->at[i])
            return false;
    return true;
}

int type_part(const AType *t, const char *name)
{
    for (int i = 0; i < t->names.n; i++)
        if (t->names.at[i] == name)
            return i;
    return -1;
}

int type_field(const AType *t, const char *name)
{
    t = type_deref(t);
    if (t->kind == TY_RECORD)
        return type_part(t, name);
    size_t digits = strspn(name, "0123456789");
    bool number = digits > 0 && digits < 6 && !name[digits];
    int i = t->kind == TY_TUPLE && number ? atoi(name) : -1;
    return i < t->elems.n ? i : -1;
}

int type_rank(const AType *t)
{
    int n = 0;
    for (t = type_deref(t); t->kind == TY_ARRAY; t = type_deref(t->array.elem))
        n++;
    return n;
}

AType *type_elem(const AType *t)
{
    for (t = type_deref(t); t->kind == TY_ARRAY; t = type_deref(t->array.elem)) {
    }
    return (AType *)t;
}

int type_arity(const AType *t)
{
    int n = 0;
    for (t = type_deref(t); t->kind == TY_FUN; t = type_deref(t->fun.result))
        n++;
    return n;
}

AType *type_result(const AType *t)
{
    for (t = type_deref(t); t->kind == TY_FUN; t = type_deref(t->fun.result)) {
    }
    return (AType *)t;
}

/* --- Expressions in sizes ------------------------------------------------------------------- */

bool size_exp_form(const AExp *e)
{
    enum { MOST = 100 }; /* of a list's elements */
    switch (e->kind) {
    case AE_LIT:
    case AE_VAR:
    case AE_PROJ:
    case AE_APP:
    case AE_TUPLE:
    case AE_RECORD:
    case AE_CONSTR:
    case AE_RANGE:
    case AE_INDEX:
    case AE_OPSECT:
    case AE_PATHSECT:
    case AE_IF: return true;
    case AE_ARRAY:
    case AE_STRING: return e->seq.elems.n <= MOST;
    case AE_UPDATE: /* not of an array, which would be consumed */
        for (int i = 0; i < e->update.path.n; i++)
            if (!e->update.path.at[i].field)
                return false;
        return true;
    default: return false;
    }
}

const AExp *size_exp_essence(const AExp *e)
{
    for (;;)
        switch ((int)e->kind) {
        case AE_ASCRIBE:
        case AE_COERCE: e = e->ascribe.e; break;
        case AE_ASSERT: e = e->assertion.e; break;
        case AE_ATTR:
            if (attr_changes_value(&e->attr.attrs))
                return e;
            e = e->attr.e;
            break;
        default: return e;
        }
}

typedef struct {
    Arena *a;
    AExps *to;
} Parts;

static void add_part(void *env, AExp *e)
{
    Parts *p = env;
    vec_push(p->a, p->to, e);
}

AExps size_exp_parts(Arena *a, const AExp *e)
{
    AExps parts = {0};
    Parts p = {a, &parts};
    aexp_children(e, add_part, &p);
    return parts;
}
