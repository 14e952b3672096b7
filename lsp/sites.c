/* Walks over the names and expressions of a file, patterns and types included. */
#include "lsp/look.h"

#include <string.h>

typedef const Visit V;

static void walk_exp(V *v, const AExp *e);

static void name_at(V *v, Loc loc, const char *name, const Binding *b, const AExp *use, bool binds)
{
    Site s = {loc, name, b, use, binds};
    if (v->site && loc.beg)
        v->site(v->env, &s);
}

static void walk_type(V *v, const TypeExp *t)
{
    if (!t)
        return;
    if (t->kind == TE_NAME)
        name_at(v, (Loc){t->loc.beg, t->loc.beg + (uint32_t)strlen(t->name)}, t->name, t->bind,
                NULL, false);
    walk_exp(v, t->dim);
    for (int i = 0; i < t->args.n; i++)
        walk_type(v, t->args.at[i]);
    walk_type(v, t->param);
    walk_type(v, t->elem);
}

static void walk_pat(V *v, const Pat *p)
{
    if (!p)
        return;
    if (p->kind == P_VAR)
        name_at(v, p->loc, p->name, p->bind, NULL, true);
    for (int i = 0; i < p->elems.n; i++)
        walk_pat(v, p->elems.at[i]);
    walk_pat(v, p->pat);
    walk_type(v, p->te);
}

static void walk_tparams(V *v, const TParams *tps)
{
    for (int i = 0; i < tps->n; i++)
        name_at(v, tps->at[i].loc, tps->at[i].name, tps->at[i].bind, NULL, true);
}

static void walk_sizes(V *v, const Bindings *sizes)
{
    for (int i = 0; i < sizes->n; i++)
        name_at(v, sizes->at[i]->loc, sizes->at[i]->name, sizes->at[i], NULL, true);
}

static void walk_def(V *v, const Def *d)
{
    name_at(v, d->loc, d->name, d->bind, NULL, true);
    walk_tparams(v, &d->tparams);
    for (int i = 0; i < d->params.n; i++)
        walk_pat(v, d->params.at[i]);
    walk_type(v, d->ret);
    walk_exp(v, d->body);
}

static void walk_child(void *env, AExp *e)
{
    walk_exp(env, e);
}

static void walk_exp(V *v, const AExp *e)
{
    if (!e)
        return;
    if (v->exp)
        v->exp(v->env, e);
    switch (e->kind) {
    case AE_VAR: name_at(v, e->loc, e->var.name, e->var.bind, e, false); return;
    case AE_STRING: return; /* its elements are bytes */
    case AE_LAMBDA:
        for (int i = 0; i < e->lambda.params.n; i++)
            walk_pat(v, e->lambda.params.at[i]);
        walk_type(v, e->lambda.ret);
        break;
    case AE_LET:
        walk_sizes(v, &e->let.sizes);
        walk_pat(v, e->let.pat);
        break;
    case AE_LETFUN:
        walk_def(v, e->letfun.def);
        walk_exp(v, e->letfun.body);
        return;
    case AE_LOOP:
        walk_sizes(v, &e->loop.sizes);
        walk_pat(v, e->loop.pat);
        walk_pat(v, e->loop.var);
        break;
    case AE_ASCRIBE:
    case AE_COERCE: walk_type(v, e->ascribe.te); break;
    case AE_LIT:
    case AE_HOLE:
    case AE_TUPLE:
    case AE_RECORD:
    case AE_ARRAY:
    case AE_RANGE:
    case AE_APP:
    case AE_OPSECT:
    case AE_PROJSECT:
    case AE_IDXSECT:
    case AE_PROJ:
    case AE_INDEX:
    case AE_UPDATE:
    case AE_RECUPDATE:
    case AE_IF:
    case AE_ASSERT:
    case AE_ATTR:
    case AE_CONSTR:
    case AE_MATCH: break;
    }
    aexp_children(e, walk_child, (void *)v);
}

void sites_of_file(const File *f, const Visit *v)
{
    for (int i = 0; i < f->decls.n; i++) {
        const Decl *d = &f->decls.at[i];
        switch (d->kind) {
        case D_DEF: walk_def(v, d->def); break;
        case D_TYPE:
            name_at(v, d->type->loc, d->type->name, d->type->bind, NULL, true);
            walk_tparams(v, &d->type->tparams);
            walk_type(v, d->type->te);
            break;
        case D_IMPORT:
        case D_MODULE:
        case D_MODTYPE:
        case D_OPEN: break;
        }
    }
}

typedef struct {
    uint32_t place;
    int score;
    Site best;
} Search;

/* A name has the place behind it, too, unless another one begins there. Of two at one place it is
 * that which is used: `let a[i] = v` makes a new `a` of the one before. */
static void search(void *env, const Site *s)
{
    Search *f = env;
    int score = 1 + 4 * (f->place < s->loc.end) + 2 * (s->bind != NULL) + !s->binds;
    if (!loc_has(s->loc, f->place) || score <= f->score)
        return;
    f->best = *s;
    f->score = score;
}

bool site_at(const Look *l, uint32_t place, Site *out)
{
    Search f = {.place = place};
    sites_of_file(l->ast->main, &(Visit){.env = &f, .site = search});
    *out = f.best;
    return f.best.name != NULL;
}
