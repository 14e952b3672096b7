/* Members of modules: those of the program's, of scalars' and of what is built in. */
#include "frontend/names/names.h"

#include "base/intern.h"

#include <string.h>

Module *module_new(Ck *ck, Loc loc)
{
    Module *m = NEW(ck->a, Module);
    m->loc = loc;
    return m;
}

Space space_of(const Binding *b)
{
    switch (b->kind) {
    case BIND_TYPE:
    case BIND_TYPE_PARAM: return SPACE_TYPE;
    case BIND_MODTYPE: return SPACE_SIG;
    default: return SPACE_TERM;
    }
}

Module *scalar_module(Ck *ck, PrimType s)
{
    if (!ck->scalars[s]) {
        Module *m = ck->scalars[s] = module_new(ck, (Loc){0, 0});
        m->scalar = true;
        m->of = s;
    }
    return ck->scalars[s];
}

Module *intrinsics_module(Ck *ck)
{
    if (!ck->intrinsics) {
        ck->intrinsics = module_new(ck, (Loc){0, 0});
        ck->intrinsics->intrinsics = true;
    }
    return ck->intrinsics;
}

/* The types t and int_t of a scalar's module. */
static Binding *scalar_type_member(Ck *ck, Module *m, const char *name)
{
    bool bits = !strcmp(name, "int_t") && prim_is_float(m->of);
    if (strcmp(name, "t") && !bits)
        return NULL;
    TypeDecl *d = NEW(ck->a, TypeDecl);
    Binding *b = new_binding(ck, BIND_TYPE, name, (Loc){0, 0});
    *d = (TypeDecl){.name = name, .bind = b};
    d->type = ty_scalar(ck, bits ? prim_like(PK_UNSIGNED, m->of) : m->of);
    b->tdecl = d;
    vec_push(ck->a, &m->members, b);
    return b;
}

Binding *module_member(Ck *ck, Module *m, const char *name, Space space)
{
    for (int i = m->members.n - 1; i >= 0; i--)
        if (m->members.at[i]->name == name && space_of(m->members.at[i]) == space)
            return m->members.at[i];
    if (m->intrinsics && space == SPACE_TERM)
        return find_builtin(ck, name);
    if (m->intrinsics && space == SPACE_TYPE)
        return provided_type(ck, name);
    if (m->scalar && space == SPACE_TERM)
        return find_builtin(ck, intern_member(prim_type_text[m->of], name));
    return m->scalar && space == SPACE_TYPE ? scalar_type_member(ck, m, name) : NULL;
}

Binding *provided_type(Ck *ck, const char *name)
{
    PrimType s;
    bool is = prim_named(name, &s);
    if (!strcmp(name, "acc"))
        return acc_type(ck);
    return is ? module_member(ck, scalar_module(ck, s), intern("t"), SPACE_TYPE) : NULL;
}

typedef struct {
    Ck *ck;
    Module *m;
    void (*fn)(void *env, Binding *b);
    void *env;
} EachScalar;

static void each_scalar_member(void *env, const char *name)
{
    EachScalar *e = env;
    Binding *b = module_member(e->ck, e->m, intern(name), SPACE_TERM);
    if (b) { /* known by the name alone, as by f32.name */
        Binding *plain = arena_memdup(e->ck->a, b, sizeof *b);
        plain->name = intern(name);
        e->fn(e->env, plain);
    }
}

void module_each(Ck *ck, Module *m, void (*fn)(void *env, Binding *b), void *env)
{
    EachScalar es = {ck, m, fn, env};
    if (m->scalar) {
        module_member(ck, m, intern("t"), SPACE_TYPE);
        module_member(ck, m, intern("int_t"), SPACE_TYPE);
        fe_builtins(prim_type_text[m->of], each_scalar_member, &es);
    }
    if (m->intrinsics)
        fe_builtins(NULL, each_scalar_member, &es);
    for (int i = 0; i < m->members.n; i++) {
        Binding *b = m->members.at[i];
        if (module_member(ck, m, b->name, space_of(b)) == b)
            fn(env, b);
    }
}

void fe_members(const Module *m, void (*fn)(void *env, const Binding *b), void *env)
{
    const Bindings *all = &m->members;
    for (int i = 0; i < all->n; i++) {
        bool hidden = false;
        for (int k = i + 1; k < all->n && !hidden; k++)
            hidden = all->at[k]->name == all->at[i]->name &&
                     space_of(all->at[k]) == space_of(all->at[i]);
        if (!hidden)
            fn(env, all->at[i]);
    }
}
