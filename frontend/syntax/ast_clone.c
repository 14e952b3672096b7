/* Deep copies of what the parser made, for the checker to fill in again: each application of a
 * parametric module checks its body with other types. Only trees that were not checked yet are
 * copied. */
#include "frontend/syntax/ast.h"

#define COPY(a, x) arena_memdup((a), (x), sizeof *(x))
/* A list becomes one of its own. */
#define COPY_LIST(a, list)                                                                         \
    do {                                                                                           \
        (list).at =                                                                                \
            (list).n ? arena_memdup((a), (list).at, (size_t)(list).n * sizeof *(list).at) : NULL;  \
        (list).cap = (list).n;                                                                     \
    } while (0)
#define CLONE(a, node, fn) ((node) = (node) ? fn((a), (node)) : NULL)

static TreeParts copies(Arena *a);

TypeExp *clone_type(Arena *a, const TypeExp *t)
{
    TypeExp *c = COPY(a, t);
    TreeParts p = copies(a);
    texp_parts(c, &p);
    return c;
}

TParams clone_tparams(Arena *a, TParams tps)
{
    COPY_LIST(a, tps);
    return tps;
}

static Def *clone_def(Arena *a, const Def *d)
{
    Def *c = COPY(a, d);
    TreeParts p = copies(a);
    c->tparams = clone_tparams(a, d->tparams);
    def_parts(c, &p);
    return c;
}

static void copy_exp(void *a, AExp **e)
{
    TreeParts p = copies(a);
    *e = COPY(a, *e);
    aexp_parts(*e, &p);
}

static void copy_pat(void *a, Pat **pat)
{
    TreeParts p = copies(a);
    *pat = COPY(a, *pat);
    pat_parts(*pat, &p);
}

static void copy_type(void *a, TypeExp **t)
{
    *t = clone_type(a, *t);
}

static void copy_def(void *a, Def **d)
{
    *d = clone_def(a, *d);
}

static void *copy_list(void *a, void *at, size_t bytes)
{
    return arena_memdup(a, at, bytes);
}

static TreeParts copies(Arena *a)
{
    return (TreeParts){.env = a,
                       .exp = copy_exp,
                       .pat = copy_pat,
                       .type = copy_type,
                       .def = copy_def,
                       .list = copy_list};
}

/* --- Declarations --------------------------------------------------------------------------- */

static TypeDecl *clone_type_decl(Arena *a, const TypeDecl *d)
{
    TypeDecl *c = COPY(a, d);
    c->tparams = clone_tparams(a, d->tparams);
    CLONE(a, c->te, clone_type);
    return c;
}

/* Types of modules are not filled in: each look at one copies what it needs. */
ModExp *clone_module(Arena *a, const ModExp *m)
{
    ModExp *c = COPY(a, m);
    COPY_LIST(a, c->decls);
    for (int i = 0; i < c->decls.n; i++) {
        Decl *d = &c->decls.at[i];
        CLONE(a, d->def, clone_def);
        CLONE(a, d->type, clone_type_decl);
        CLONE(a, d->mod, clone_module);
    }
    CLONE(a, c->e, clone_module);
    CLONE(a, c->arg, clone_module);
    return c;
}
