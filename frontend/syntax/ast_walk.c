/* The children of expressions, for walks that do the same to most kinds. */
#include "frontend/syntax/ast.h"

typedef struct {
    void (*fn)(void *env, AExp *child);
    void *env;
} Walk;

static void one(const Walk *w, AExp *e)
{
    if (e)
        w->fn(w->env, e);
}

static void all(const Walk *w, const AExps *es)
{
    for (int i = 0; i < es->n; i++)
        one(w, es->at[i]);
}

static void dims(const Walk *w, const ADimIndices *ds)
{
    for (int i = 0; i < ds->n; i++) {
        one(w, ds->at[i].i);
        one(w, ds->at[i].j);
        one(w, ds->at[i].s);
    }
}

static void three(const Walk *w, AExp *a, AExp *b, AExp *c)
{
    one(w, a);
    one(w, b);
    one(w, c);
}

void aexp_children(const AExp *e, void (*fn)(void *env, AExp *child), void *env)
{
    Walk walk = {fn, env}, *w = &walk;
    switch (e->kind) {
    case AE_LIT:
    case AE_HOLE:
    case AE_VAR: return;
    case AE_TUPLE:
    case AE_RECORD:
    case AE_ARRAY:
    case AE_STRING: all(w, &e->seq.elems); return;
    case AE_RANGE: three(w, e->range.start, e->range.second, e->range.end); return;
    case AE_APP:
        one(w, e->app.fn);
        all(w, &e->app.args);
        return;
    case AE_OPSECT: three(w, e->opsect.op, e->opsect.arg, NULL); return;
    case AE_LAMBDA: one(w, e->lambda.body); return;
    case AE_PROJ: one(w, e->proj.e); return;
    case AE_INDEX:
        one(w, e->index.e);
        dims(w, &e->index.dims);
        return;
    case AE_PATHSECT:
    case AE_UPDATE:
        for (int i = 0; i < e->update.path.n; i++)
            dims(w, &e->update.path.at[i].dims);
        three(w, e->update.e, e->update.value, NULL);
        return;
    case AE_IF: three(w, e->cond.test, e->cond.then, e->cond.els); return;
    case AE_LET: three(w, e->let.rhs, e->let.body, NULL); return;
    case AE_LETFUN: three(w, e->letfun.def->body, e->letfun.body, NULL); return;
    case AE_LOOP: three(w, e->loop.init, e->loop.bound, e->loop.body); return;
    case AE_ASCRIBE:
    case AE_COERCE: one(w, e->ascribe.e); return;
    case AE_ASSERT: three(w, e->assertion.test, e->assertion.e, NULL); return;
    case AE_ATTR: one(w, e->attr.e); return;
    case AE_CONSTR: all(w, &e->constr.elems); return;
    case AE_MATCH:
        one(w, e->match.e);
        for (int i = 0; i < e->match.cases.n; i++)
            one(w, e->match.cases.at[i].body);
        return;
    }
}
