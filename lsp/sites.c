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

/* --- Constructors and fields ----------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* What has parts of these names, in order: sums have a mark of their own. */
static const char *whole_of(Arena *a, char mark, const char *const *names, int n)
{
    size_t size = 0;
    for (int i = 0; i < n; i++)
        size += 1 + strlen(names[i]);
    char *all = arena_alloc(a, size + 1), *to = all;
    for (int i = 0; i < n; i++) {
        *to++ = mark;
        to = stpcpy(to, names[i]);
    }
    return intern_n(all, size);
}

static const char *whole_of_type(Arena *a, const AType *t, TypeKind kind)
{
    t = t ? type_deref(t) : NULL;
    return t && t->kind == kind ? whole_of(a, kind == TY_SUM ? '#' : '{', t->names.at, t->names.n)
                                : NULL;
}

/* The same of one that is written. */
static const char *whole_written(Arena *a, const TypeExp *t)
{
    const char **names = NEWN(a, const char *, t->args.n + 1);
    for (int i = 0; i < t->args.n; i++)
        names[i] = t->kind == TE_SUM ? t->args.at[i]->name : t->names.at[i];
    qsort(names, (size_t)t->args.n, sizeof *names, by_text);
    return whole_of(a, t->kind == TE_SUM ? '#' : '{', names, t->args.n);
}

static void part_at(V *v, Loc loc, const char *name, Site s)
{
    s.name = name;
    s.loc = s.def = loc;
    if (s.whole && v->visit->site)
        v->visit->site(v->visit->env, &s);
}

/* What begins at loc with a constructor. */
static void constructor_at(V *v, Loc loc, const char *name, Site s)
{
    if (loc.beg && v->file->text[loc.beg - v->file->base] == '#')
        part_at(v, (Loc){loc.beg, loc.beg + 1 + (uint32_t)strlen(name)}, name, s);
}

/* A field whose name comes next behind a place, but for blanks, comments and what separates parts.
 * `value`: where that begins. */
static void field_at(V *v, uint32_t from, const char *name, uint32_t value, Site s)
{
    if (!from || !s.whole || !v->visit->site)
        return;
    const char *at = v->file->text + (from - v->file->base);
    for (at += strspn(at, " \t\r\n{,.()"); at[0] == '-' && at[1] == '-';
         at += strspn(at, " \t\r\n{,.()"))
        at += strcspn(at, "\n");
    size_t n = strlen(name);
    uint32_t beg = v->file->base + (uint32_t)(at - v->file->text);
    s.field = true;
    s.pun = beg == value;
    if (strncmp(at, name, n) == 0 && !text_in_name(at[n]))
        part_at(v, (Loc){beg, beg + (uint32_t)n}, name, s);
}

static void steps_at(V *v, const Steps *path)
{
    for (int i = 0; i < path->n; i++) {
        const Step *s = &path->at[i];
        if (s->field)
            field_at(v, s->loc.beg, s->field, 0,
                     (Site){.whole = whole_of_type(v->a, s->of, TY_RECORD), .of = s->of});
    }
}

/* The fields of a record. */
static void fields_of_exp(V *v, const AExp *e)
{
    uint32_t from = e->loc.beg;
    const char *whole = whole_of_type(v->a, e->type, TY_RECORD);
    for (int i = 0; i < e->seq.elems.n; i++) {
        Loc value = e->seq.elems.at[i]->loc;
        field_at(v, from, e->seq.names.at[i], value.beg, (Site){.whole = whole, .of = e->type});
        from = value.end;
    }
}

static void fields_of_pat(V *v, const Pat *p)
{
    uint32_t from = p->loc.beg;
    const char *whole = whole_of_type(v->a, p->type, TY_RECORD);
    for (int i = 0; i < p->elems.n; i++) {
        Loc part = p->elems.at[i]->loc;
        field_at(v, from, p->names.at[i], part.beg, (Site){.whole = whole, .of = p->type});
        from = part.end;
    }
}

static void fields_written(V *v, const TypeExp *t)
{
    uint32_t from = t->loc.beg;
    const char *whole = whole_written(v->a, t);
    for (int i = 0; i < t->args.n; i++) {
        field_at(v, from, t->names.at[i], 0, (Site){.whole = whole, .binds = true});
        from = t->args.at[i]->loc.end;
    }
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
    const char *sum = t->kind == TE_SUM ? whole_written(v->a, t) : NULL;
    for (int i = 0; sum && i < t->args.n; i++) {
        const TypeExp *arg = t->args.at[i];
        constructor_at(v, arg->loc, arg->name, (Site){.whole = sum, .binds = true, .alt = arg});
    }
    if (t->kind == TE_RECORD)
        fields_written(v, t);
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
                       (Site){.whole = whole_of_type(v->a, pat->type, TY_SUM), .of = pat->type});
    if (pat->kind == P_RECORD)
        fields_of_pat(v, pat);
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

static void walk_fields(V *v, const AExp *e)
{
    if (e->kind == AE_RECORD)
        fields_of_exp(v, e);
    else if (e->kind == AE_UPDATE || e->kind == AE_PATHSECT)
        steps_at(v, &e->update.path);
    else if (e->kind == AE_PROJ)
        field_at(v, e->proj.e->loc.end, e->proj.names.at[0], 0,
                 (Site){.whole = whole_of_type(v->a, e->proj.e->type, TY_RECORD),
                        .of = e->proj.e->type});
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
        constructor_at(
            v, e->loc, e->constr.name,
            (Site){.whole = whole_of_type(v->a, e->type, TY_SUM), .of = e->type, .use = e});
    walk_fields(v, e);
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
    if (a->whole || b->whole)
        return a->whole == b->whole && a->name == b->name;
    return a->bind && b->bind &&
           (a->bind == b->bind || (one_place && a->bind->name == b->bind->name));
}

typedef struct {
    const Site *of;
    bool binds; /* where it is written in a type */
    Site *found;
} Search;

static void find_part(void *env, const Site *s)
{
    Search *f = env;
    if (!f->found->whole && (s->binds || !f->binds) && site_same(s, f->of))
        *f->found = *s;
}

static bool part_in(const Ast *ast, const File *f, const Site *s, bool binds, Site *out)
{
    *out = (Site){0};
    sites_of_file(ast, f, &(Visit){.env = &(Search){s, binds, out}, .site = find_part});
    return out->whole != NULL;
}

bool part_written(const Ast *ast, const Site *s, Site *out)
{
    bool found = false;
    for (int i = 0; i < ast->files.n && !found; i++)
        found = part_in(ast, ast->files.at[i], s, true, out);
    return found;
}

/* Sums and records are what their parts are: in whichever file these stand, its readers may have
 * them, and in theirs. */
void sites_look_at_readers(Look *l, const Client *client, const Site *s)
{
    Site any;
    bool shared = s->bind && (s->bind->kind == BIND_DEF || s->bind->kind >= BIND_TYPE);
    const File *of = shared ? look_file(l, s->def) : NULL;
    if (of)
        look_at_readers(l, client, of, s->bind->name);
    for (int i = 0; s->whole && i < l->ast->files.n; i++)
        if (part_in(l->ast, l->ast->files.at[i], s, false, &any))
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
} AtPlace;

/* A name has the place behind it, too, unless another one begins there. Of two at one place it is
 * that which is used: `let a[i] = v` makes a new `a` of the one before. */
static void search(void *env, const Site *s)
{
    AtPlace *f = env;
    bool known = s->bind || (s->whole && !s->pun); /* of `{x}` the variable */
    int score = 1 + 4 * (f->place < s->loc.end) + 2 * known + (!s->binds && !s->pun);
    if (!loc_has(s->loc, f->place) || score <= f->score)
        return;
    f->best = *s;
    f->score = score;
}

bool site_at(const Look *l, uint32_t place, Site *out)
{
    AtPlace f = {.place = place};
    sites_of_file(l->ast, l->ast->main, &(Visit){.env = &f, .site = search});
    *out = f.best;
    return f.best.name != NULL;
}
