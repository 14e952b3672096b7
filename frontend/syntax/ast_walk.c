/* The parts of expressions, patterns, types as written and definitions: visited, or replaced. */
#include "frontend/syntax/ast.h"

/* --- Kinds of parts: exps.def --------------------------------------------------------------- */

static void part_exp(const TreeParts *p, AExp **e)
{
    if (*e && p->exp)
        p->exp(p->env, e);
}

static void part_pat(const TreeParts *p, Pat **pat)
{
    if (*pat && p->pat)
        p->pat(p->env, pat);
}

static void part_type(const TreeParts *p, TypeExp **t)
{
    if (*t && p->type)
        p->type(p->env, t);
}

static void part_found(const TreeParts *p, AType **t)
{
    if (*t && p->found)
        p->found(p->env, t);
}

static void part_def(const TreeParts *p, Def **d)
{
    if (p->def)
        p->def(p->env, d);
    else
        def_parts(*d, p);
}

static void part_sizes(const TreeParts *p, const Bindings *sizes)
{
    for (int i = 0; p->size && i < sizes->n; i++)
        p->size(p->env, sizes->at[i]);
}

/* The list itself, before what is in it. */
#define LIST(p, xs)                                                                                \
    do {                                                                                           \
        if ((p)->list) {                                                                           \
            size_t bytes_ = (size_t)(xs)->n * sizeof *(xs)->at;                                    \
            (xs)->at = bytes_ ? (p)->list((p)->env, (xs)->at, bytes_) : NULL;                      \
            (xs)->cap = (xs)->n;                                                                   \
        }                                                                                          \
    } while (0)

static void part_exps(const TreeParts *p, AExps *es)
{
    LIST(p, es);
    for (int i = 0; i < es->n; i++)
        part_exp(p, &es->at[i]);
}

static void part_pats(const TreeParts *p, Pats *ps)
{
    LIST(p, ps);
    for (int i = 0; i < ps->n; i++)
        part_pat(p, &ps->at[i]);
}

static void part_dims(const TreeParts *p, ADimIndices *ds)
{
    LIST(p, ds);
    for (int i = 0; i < ds->n; i++) {
        part_exp(p, &ds->at[i].i);
        part_exp(p, &ds->at[i].j);
        part_exp(p, &ds->at[i].s);
    }
}

static void part_path(const TreeParts *p, Steps *path)
{
    LIST(p, path);
    for (int i = 0; i < path->n; i++) {
        part_found(p, &path->at[i].of);
        part_dims(p, &path->at[i].dims);
    }
}

static void part_cases(const TreeParts *p, Cases *cs)
{
    LIST(p, cs);
    for (int i = 0; i < cs->n; i++) {
        part_pat(p, &cs->at[i].pat);
        part_exp(p, &cs->at[i].body);
    }
}

/* --- Nodes ---------------------------------------------------------------------------------- */

void aexp_parts(AExp *e, const TreeParts *p)
{
    switch (e->kind) {
#define PART(kind, field) part_##kind(p, &e->field);
#define EXP(tag, parts)                                                                            \
    case AE_##tag:                                                                                 \
        parts return;
#include "frontend/syntax/exps.def"
#undef EXP
#undef PART
    }
}

void pat_parts(Pat *pat, const TreeParts *p)
{
    part_found(p, &pat->type);
    part_pats(p, &pat->elems);
    part_pat(p, &pat->pat);
    part_exp(p, &pat->lit);
    part_type(p, &pat->te);
}

void texp_parts(TypeExp *t, const TreeParts *p)
{
    part_exp(p, &t->dim);
    LIST(p, &t->args);
    for (int i = 0; i < t->args.n; i++)
        part_type(p, &t->args.at[i]);
    part_type(p, &t->param);
    part_type(p, &t->elem);
}

void def_parts(Def *d, const TreeParts *p)
{
    part_pats(p, &d->params);
    part_type(p, &d->ret);
    part_exp(p, &d->body);
    part_found(p, &d->ret_type);
}

/* --- Expressions alone ---------------------------------------------------------------------- */

typedef struct {
    void (*fn)(void *env, AExp *child);
    void *env;
} Walk;

static void child(void *env, AExp **e)
{
    const Walk *w = env;
    w->fn(w->env, *e);
}

void aexp_children(const AExp *e, void (*fn)(void *env, AExp *child), void *env)
{
    Walk w = {fn, env};
    aexp_parts((AExp *)e, &(TreeParts){.env = &w, .exp = child});
}
