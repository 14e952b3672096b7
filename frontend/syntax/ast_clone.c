/* Deep copies of what the parser made, for the checker to fill in again: each application of a
 * parametric module checks its body with other types. Only trees that were not checked yet are
 * copied. */
#include "frontend/syntax/ast.h"

static AExp *clone_exp(Arena *a, const AExp *e);
static Def *clone_def(Arena *a, const Def *d);

#define COPY(a, x) arena_memdup((a), (x), sizeof *(x))
/* A list becomes one of its own; one of nodes one of copies. */
#define COPY_LIST(a, list)                                                                         \
    do {                                                                                           \
        (list).at =                                                                                \
            (list).n ? arena_memdup((a), (list).at, (size_t)(list).n * sizeof *(list).at) : NULL;  \
        (list).cap = (list).n;                                                                     \
    } while (0)
#define CLONE_ALL(a, list, fn)                                                                     \
    do {                                                                                           \
        COPY_LIST(a, list);                                                                        \
        for (int i_ = 0; i_ < (list).n; i_++)                                                      \
            (list).at[i_] = fn((a), (list).at[i_]);                                                \
    } while (0)
#define CLONE(a, node, fn) ((node) = (node) ? fn((a), (node)) : NULL)

TypeExp *clone_type(Arena *a, const TypeExp *t)
{
    TypeExp *c = COPY(a, t);
    CLONE_ALL(a, c->args, clone_type);
    CLONE(a, c->dim, clone_exp);
    CLONE(a, c->elem, clone_type);
    CLONE(a, c->param, clone_type);
    return c;
}

static Pat *clone_pat(Arena *a, const Pat *p)
{
    Pat *c = COPY(a, p);
    CLONE_ALL(a, c->elems, clone_pat);
    CLONE(a, c->pat, clone_pat);
    CLONE(a, c->te, clone_type);
    CLONE(a, c->lit, clone_exp);
    return c;
}

TParams clone_tparams(Arena *a, TParams tps)
{
    COPY_LIST(a, tps);
    return tps;
}

static void clone_dims(Arena *a, ADimIndices *ds)
{
    COPY_LIST(a, *ds);
    for (int i = 0; i < ds->n; i++) {
        CLONE(a, ds->at[i].i, clone_exp);
        CLONE(a, ds->at[i].j, clone_exp);
        CLONE(a, ds->at[i].s, clone_exp);
    }
}

static void clone_cases(Arena *a, Cases *cs)
{
    COPY_LIST(a, *cs);
    for (int i = 0; i < cs->n; i++) {
        CLONE(a, cs->at[i].pat, clone_pat);
        CLONE(a, cs->at[i].body, clone_exp);
    }
}

static AExp *clone_exp(Arena *a, const AExp *e)
{
    AExp *c = COPY(a, e);
    switch (e->kind) {
    case AE_LIT:
    case AE_HOLE:
    case AE_VAR: break;
    case AE_TUPLE:
    case AE_RECORD:
    case AE_ARRAY:
    case AE_STRING: CLONE_ALL(a, c->seq.elems, clone_exp); break;
    case AE_RANGE:
        CLONE(a, c->range.start, clone_exp);
        CLONE(a, c->range.second, clone_exp);
        CLONE(a, c->range.end, clone_exp);
        break;
    case AE_APP:
        CLONE(a, c->app.fn, clone_exp);
        CLONE_ALL(a, c->app.args, clone_exp);
        break;
    case AE_OPSECT:
        CLONE(a, c->opsect.op, clone_exp);
        CLONE(a, c->opsect.arg, clone_exp);
        break;
    case AE_LAMBDA:
        CLONE_ALL(a, c->lambda.params, clone_pat);
        CLONE(a, c->lambda.ret, clone_type);
        CLONE(a, c->lambda.body, clone_exp);
        break;
    case AE_PROJ: CLONE(a, c->proj.e, clone_exp); break;
    case AE_INDEX:
        CLONE(a, c->index.e, clone_exp);
        clone_dims(a, &c->index.dims);
        break;
    case AE_PATHSECT:
    case AE_UPDATE:
        COPY_LIST(a, c->update.path);
        for (int i = 0; i < c->update.path.n; i++)
            clone_dims(a, &c->update.path.at[i].dims);
        CLONE(a, c->update.e, clone_exp);
        CLONE(a, c->update.value, clone_exp);
        break;
    case AE_IF:
        CLONE(a, c->cond.test, clone_exp);
        CLONE(a, c->cond.then, clone_exp);
        CLONE(a, c->cond.els, clone_exp);
        break;
    case AE_LET:
        CLONE(a, c->let.pat, clone_pat);
        CLONE(a, c->let.rhs, clone_exp);
        CLONE(a, c->let.body, clone_exp);
        break;
    case AE_LETFUN:
        CLONE(a, c->letfun.def, clone_def);
        CLONE(a, c->letfun.body, clone_exp);
        break;
    case AE_LOOP:
        CLONE(a, c->loop.pat, clone_pat);
        CLONE(a, c->loop.init, clone_exp);
        CLONE(a, c->loop.var, clone_pat);
        CLONE(a, c->loop.bound, clone_exp);
        CLONE(a, c->loop.body, clone_exp);
        break;
    case AE_ASCRIBE:
    case AE_COERCE:
        CLONE(a, c->ascribe.e, clone_exp);
        CLONE(a, c->ascribe.te, clone_type);
        break;
    case AE_ASSERT:
        CLONE(a, c->assertion.test, clone_exp);
        CLONE(a, c->assertion.e, clone_exp);
        break;
    case AE_ATTR: CLONE(a, c->attr.e, clone_exp); break;
    case AE_CONSTR: CLONE_ALL(a, c->constr.elems, clone_exp); break;
    case AE_MATCH:
        CLONE(a, c->match.e, clone_exp);
        clone_cases(a, &c->match.cases);
        break;
    }
    return c;
}

static Def *clone_def(Arena *a, const Def *d)
{
    Def *c = COPY(a, d);
    c->tparams = clone_tparams(a, d->tparams);
    CLONE_ALL(a, c->params, clone_pat);
    CLONE(a, c->ret, clone_type);
    CLONE(a, c->body, clone_exp);
    return c;
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
