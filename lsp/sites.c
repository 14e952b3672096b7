/* Walks over the names and expressions of a file, patterns and types included. */
#include "lsp/look.h"

#include "base/intern.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef const struct {
    const Visit *visit;
    const File *file;
    Arena *a;
} V;

/* Where it is defined that a binding stands for. */
static Loc origin(const Binding *b)
{
    while (b->stands)
        b = b->stands;
    const TypeDecl *t = b->kind == BIND_TYPE ? b->tdecl : NULL;
    while (t && t->means)
        t = t->means;
    return t ? t->loc : b->loc;
}

static void name_at(V *v, Loc loc, const char *name, const Binding *b, const AExp *use, bool binds)
{
    Site s = {.loc = loc,
              .name = name,
              .bind = b,
              .def = b ? origin(b) : (Loc){0, 0},
              .use = use,
              .binds = binds};
    if (v->visit->site && loc.beg)
        v->visit->site(v->visit->env, &s);
}

/* --- Constructors ---------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The constructors of a sum. */
static const char *constructors_of(Arena *a, const AType *t)
{
    t = t ? type_deref(t) : NULL;
    if (!t || t->kind != TY_SUM)
        return NULL;
    const char *all = "";
    for (int i = 0; i < t->names.n; i++)
        all = arena_printf(a, "%s#%s", all, t->names.at[i]);
    return intern(all);
}

/* The same of a sum as it is written. */
static const char *constructors_written(Arena *a, const TypeExp *t)
{
    const char *all = "", **names = NEWN(a, const char *, t->args.n + 1);
    for (int i = 0; i < t->args.n; i++)
        names[i] = t->args.at[i]->name;
    qsort(names, (size_t)t->args.n, sizeof *names, by_text);
    for (int i = 0; i < t->args.n; i++)
        all = arena_printf(a, "%s#%s", all, names[i]);
    return intern(all);
}

/* What begins at loc with a constructor. */
static void constructor_at(V *v, Loc loc, const char *name, Site s)
{
    s.name = name;
    s.loc = s.def = (Loc){loc.beg, loc.beg + 1 + (uint32_t)strlen(name)};
    if (s.sum && v->visit->site && loc.beg && v->file->text[loc.beg - v->file->base] == '#')
        v->visit->site(v->visit->env, &s);
}

/* Part k of the name A.B.c at loc. */
static Loc part_loc(const File *f, Loc loc, int k)
{
    const char *s = f->text + (loc.beg - f->base), *end = f->text + (loc.end - f->base);
    for (; k > 0 && memchr(s, '.', (size_t)(end - s)); k--)
        for (s = (const char *)memchr(s, '.', (size_t)(end - s)) + 1;
             s < end && isspace((unsigned char)*s);)
            s++;
    const char *to = s;
    while (to < end && (isalnum((unsigned char)*to) || *to == '_' || *to == '\''))
        to++;
    return (Loc){f->base + (uint32_t)(s - f->text),
                 f->base + (uint32_t)((to > s ? to : end) - f->text)};
}

static int parts_before(const char *name)
{
    int n = 0;
    for (; *name && !strchr("+-*/%=!><|&^", *name); name++)
        n += *name == '.';
    return n;
}

/* --- The walk ------------------------------------------------------------------------------- */

static TreeParts walks(V *v);

static void walk_type(void *env, TypeExp **at)
{
    V *v = env;
    TypeExp *t = *at;
    TreeParts p = walks(v);
    if (t->kind == TE_FUN && t->bind)
        name_at(v, t->name_loc, t->name, t->bind, NULL, true);
    const char *sum = t->kind == TE_SUM ? constructors_written(v->a, t) : NULL;
    for (int i = 0; sum && i < t->args.n; i++) {
        const TypeExp *arg = t->args.at[i];
        constructor_at(v, arg->loc, arg->name, (Site){.sum = sum, .binds = true, .alt = arg});
    }
    texp_parts(t, &p);
}

static void walk_pat(void *env, Pat **at)
{
    V *v = env;
    Pat *pat = *at;
    TreeParts p = walks(v);
    if (v->visit->pat)
        v->visit->pat(v->visit->env, pat);
    if (pat->kind == P_VAR)
        name_at(v, pat->loc, pat->name, pat->bind, NULL, true);
    if (pat->kind == P_CONSTR)
        constructor_at(v, pat->loc, pat->name,
                       (Site){.sum = constructors_of(v->a, pat->type), .of = pat->type});
    if (pat->kind != P_LIT)
        pat_parts(pat, &p);
}

static void walk_tparams(V *v, const TParams *tps)
{
    for (int i = 0; i < tps->n; i++)
        name_at(v, tps->at[i].loc, tps->at[i].name, tps->at[i].bind, NULL, true);
}

static void walk_size(void *env, Binding *b)
{
    name_at(env, b->loc, b->name, b, NULL, true);
}

static void walk_def(void *env, Def **d)
{
    V *v = env;
    TreeParts p = walks(v);
    if (v->visit->def)
        v->visit->def(v->visit->env, *d);
    name_at(v, (*d)->loc, (*d)->name, (*d)->bind, NULL, true);
    walk_tparams(v, &(*d)->tparams);
    def_parts(*d, &p);
}

static void walk_var(V *v, const AExp *e)
{
    int parts = parts_before(e->var.name);
    name_at(v, parts ? part_loc(v->file, e->loc, parts) : e->loc, e->var.name, e->var.bind, e,
            false);
}

static void walk_exp(void *env, AExp **at)
{
    V *v = env;
    AExp *e = *at;
    TreeParts p = walks(v);
    if (v->visit->exp)
        v->visit->exp(v->visit->env, e);
    if (e->kind == AE_VAR)
        walk_var(v, e);
    if (e->kind == AE_CONSTR)
        constructor_at(v, e->loc, e->constr.name,
                       (Site){.sum = constructors_of(v->a, e->type), .of = e->type, .use = e});
    if (e->kind != AE_STRING) /* its elements are bytes */
        aexp_parts(e, &p);
}

static TreeParts walks(V *v)
{
    return (TreeParts){.env = (void *)v,
                       .exp = walk_exp,
                       .pat = walk_pat,
                       .type = walk_type,
                       .size = walk_size,
                       .def = walk_def};
}

static void walk_decls(V *v, const Decls *ds);

static void walk_module(V *v, const ModExp *m)
{
    if (!m)
        return;
    walk_decls(v, &m->decls);
    walk_module(v, m->e);
    walk_module(v, m->arg);
}

static void walk_decls(V *v, const Decls *ds)
{
    for (int i = 0; i < ds->n; i++) {
        Decl *d = &ds->at[i];
        switch (d->kind) {
        case D_DEF: walk_def((void *)v, &d->def); break;
        case D_TYPE:
            name_at(v, d->type->loc, d->type->name, d->type->bind, NULL, true);
            walk_tparams(v, &d->type->tparams);
            if (d->type->te)
                walk_type((void *)v, &d->type->te);
            break;
        case D_MODTYPE: name_at(v, d->name_loc, d->name, d->bind, NULL, true); break;
        case D_IMPORT:
        case D_MODULE:
        case D_OPEN: walk_module(v, d->mod); break;
        }
    }
}

void sites_of_file(const Ast *ast, const File *f, const Visit *v)
{
    V walk = {v, f, ast->arena};
    walk_decls(&walk, &f->decls);
    for (int i = 0; ast->uses && i < ast->uses->n; i++) {
        const NameUse *u = &ast->uses->at[i];
        if (u->loc.beg < f->base || u->loc.end > f->base + f->n)
            continue;
        Loc loc = part_loc(f, u->loc, u->part);
        name_at(&walk, loc, u->bind->name, u->bind, NULL, loc.beg == origin(u->bind).beg);
    }
}

bool site_same(const Site *a, const Site *b)
{
    bool one_place = a->def.beg && a->def.beg == b->def.beg;
    if (a->sum || b->sum)
        return a->sum == b->sum && a->name == b->name;
    return a->bind && b->bind &&
           (a->bind == b->bind || (one_place && a->bind->name == b->bind->name));
}

typedef struct {
    const Site *of;
    Site *found;
} Written;

static void find_written(void *env, const Site *s)
{
    Written *w = env;
    if (!w->found->sum && s->binds && site_same(s, w->of))
        *w->found = *s;
}

static bool written_in(const Ast *ast, const File *f, const Site *s, Site *out)
{
    *out = (Site){0};
    sites_of_file(ast, f, &(Visit){.env = &(Written){s, out}, .site = find_written});
    return out->sum != NULL;
}

bool constructor_written(const Ast *ast, const Site *s, Site *out)
{
    bool found = false;
    for (int i = 0; i < ast->files.n && !found; i++)
        found = written_in(ast, ast->files.at[i], s, out);
    return found;
}

void sites_look_at_readers(Look *l, const Client *client, const Site *s)
{
    Site written;
    int n = l->ast->files.n;
    bool shared = s->bind && (s->bind->kind == BIND_DEF || s->bind->kind >= BIND_TYPE);
    const File *of = shared ? look_file(l, s->def) : NULL;
    if (of)
        look_at_readers(l, client, of, s->bind->name);
    for (int i = 0; s->sum && i < n; i++)
        if (written_in(l->ast, l->ast->files.at[i], s, &written))
            look_at_readers(l, client, l->ast->files.at[i], s->name);
}

/* --- What is asked of a place --------------------------------------------------------------- */

const Binding *bound_at(const Ast *ast, Loc loc)
{
    for (int i = 0; i < ast->uses->n; i++)
        if (ast->uses->at[i].loc.beg == loc.beg)
            return ast->uses->at[i].bind;
    return NULL;
}

static const TypeDecl *type_in_module(const ModExp *m, Loc loc);

static const TypeDecl *type_in_decls(const Decls *ds, Loc loc)
{
    for (int i = 0; i < ds->n; i++) {
        const Decl *d = &ds->at[i];
        if (loc_has(d->loc, loc.beg))
            return d->type ? d->type : type_in_module(d->mod, loc);
    }
    return NULL;
}

static const TypeDecl *type_in_module(const ModExp *m, Loc loc)
{
    if (!m)
        return NULL;
    const TypeDecl *t = type_in_decls(&m->decls, loc);
    t = t ? t : type_in_module(m->e, loc);
    return t ? t : type_in_module(m->arg, loc);
}

const TypeDecl *type_around(const Ast *ast, Loc loc)
{
    const TypeDecl *t = NULL;
    for (int i = 0; i < ast->files.n && !t; i++)
        t = type_in_decls(&ast->files.at[i]->decls, loc);
    return t;
}

static ModuleAt module_in_specs(const ModType *t, Loc name)
{
    ModuleAt m = {0};
    for (; t && !m.type; t = t->e) {
        if (t->param.type)
            m = t->param.loc.beg == name.beg ? (ModuleAt){NULL, t->param.type}
                                             : module_in_specs(t->param.type, name);
        for (int i = 0; i < t->specs.n && !m.type; i++) {
            const Spec *s = t->specs.at[i];
            m = s->kind == SPEC_MODULE && s->loc.beg == name.beg ? (ModuleAt){NULL, s->mtype}
                                                                 : module_in_specs(s->mtype, name);
        }
    }
    return m;
}

static ModuleAt module_in_decls(const Decls *ds, Loc name);

static ModuleAt module_in(const ModExp *e, Loc name)
{
    ModuleAt m = {0};
    for (; e && !m.mod && !m.type; e = e->e) {
        m = module_in_decls(&e->decls, name);
        if (!m.mod && !m.type && e->param.type)
            m = e->param.loc.beg == name.beg ? (ModuleAt){NULL, e->param.type}
                                             : module_in_specs(e->param.type, name);
        if (!m.mod && !m.type)
            m = module_in(e->arg, name);
        if (!m.mod && !m.type)
            m = module_in_specs(e->type, name);
    }
    return m;
}

static ModuleAt module_in_decls(const Decls *ds, Loc name)
{
    for (int i = 0; i < ds->n; i++) {
        const Decl *d = &ds->at[i];
        if (!loc_has(d->loc, name.beg))
            continue;
        if (d->name && d->name_loc.beg == name.beg)
            return (ModuleAt){d->mod, d->modtype};
        return d->mod ? module_in(d->mod, name) : module_in_specs(d->modtype, name);
    }
    return (ModuleAt){0};
}

ModuleAt module_at(const Ast *ast, Loc name)
{
    ModuleAt m = {0};
    for (int i = 0; i < ast->files.n && !m.mod && !m.type; i++)
        m = module_in_decls(&ast->files.at[i]->decls, name);
    return m;
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
    int score = 1 + 4 * (f->place < s->loc.end) + 2 * (s->bind != NULL || s->sum) + !s->binds;
    if (!loc_has(s->loc, f->place) || score <= f->score)
        return;
    f->best = *s;
    f->score = score;
}

bool site_at(const Look *l, uint32_t place, Site *out)
{
    Search f = {.place = place};
    sites_of_file(l->ast, l->ast->main, &(Visit){.env = &f, .site = search});
    *out = f.best;
    return f.best.name != NULL;
}
