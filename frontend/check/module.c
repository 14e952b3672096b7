/* Modules by static interpretation: an expression of modules becomes the bindings that it has, made
 * by its declarations in the order written; so does a file, when it is first imported. A parametric
 * module is checked once, with what is known of any argument; for each application its body is
 * checked again, with the argument in place, which gives the definitions that are compiled.
 * (Elsman, Henriksen, Annenkov, Oancea: Static interpretation of higher-order modules in Futhark,
 * ICFP 2018.) */
#include "frontend/check/module.h"

/* Applications inside each other, and in all: parametric modules that apply others twice would take
 * all memory otherwise. */
enum { MAX_APPLIED = 100, MAX_APPLICATIONS = 10000 };

static Module *check_module(Ck *ck, ModExp *e);
static void check_decls(Ck *ck, const Decls *ds, int first, bool marked);

static Module *module_wrong(Ck *ck, Loc loc)
{
    Module *m = module_new(ck, loc);
    m->wrong = true;
    return m;
}

/* --- Copies with other types ---------------------------------------------------------------- */

typedef struct {
    Ck *ck;
    const Subst *s;
    Module *to;
} Reveal;

static Module *module_reveal(Ck *ck, Module *m, const Subst *s);

static TypeDecl *meaning_of(const Subst *s, const Binding *abstract)
{
    for (int i = 0; i < s->from.n; i++)
        if (s->from.at[i] == abstract)
            return s->decls.at[i];
    return NULL;
}

/* A declaration of a type with what abstract types in it, or it itself, stand for. */
static TypeDecl *reveal_decl(Ck *ck, TypeDecl *d, const Subst *s)
{
    if (!d->type) {
        TypeDecl *means = meaning_of(s, d->bind);
        return means ? means : d;
    }
    TypeDecl *copy = arena_memdup(ck->a, d, sizeof *d);
    copy->type = ty_reveal(ck, d->type, s, AT_FREE, NULL);
    return copy;
}

/* What abstract types stand for by `first`, and after that by `then`. */
static Subst composed(Ck *ck, const Subst *first, const Subst *then)
{
    Subst s = {0};
    add_meanings(ck, &s, first);
    for (int i = 0; i < s.decls.n; i++)
        if (s.decls.at[i])
            s.decls.at[i] = reveal_decl(ck, s.decls.at[i], then);
    add_meanings(ck, &s, then);
    return s;
}

/* A value that types may have as a size is not copied: it is itself, or the one that it was seen
 * as. */
static Binding *size_meaning(const Subst *s, Binding *b)
{
    for (int i = 0; i < s->from.n; i++)
        if (s->from.at[i] == b && s->sizes.at[i] && s->sizes.at[i]->kind == SZ_VAR)
            return s->sizes.at[i]->var;
    return b;
}

static void reveal_member(void *env, Binding *b)
{
    Reveal *r = env;
    Ck *ck = r->ck;
    Binding *c = new_binding(ck, b->kind, b->name, b->loc);
    int uid = c->uid;
    *c = *b;
    c->uid = uid;
    if (b->kind == BIND_MODULE) {
        c->module = module_reveal(ck, b->module, r->s);
    } else if (b->kind == BIND_TYPE) {
        c->tdecl = reveal_decl(ck, b->tdecl, r->s);
        if (b->tdecl->type)
            c->tdecl->bind = c;
        else if (c->tdecl == b->tdecl) /* it stays abstract */
            c = b;
    } else if (b->type && type_deref(b->type)->kind == TY_SCALAR) {
        c = size_meaning(r->s, b);
    } else if (b->type) {
        c->tparams.cap = c->tparams.n; /* pushes must not write into those of b */
        c->type =
            ty_reveal(ck, b->type, r->s,
                      type_deref(b->type)->kind == TY_FUN ? AT_PARAM : AT_UNKNOWN, &c->tparams);
    }
    vec_push(ck->a, &r->to->members, c);
}

/* The module with what abstract types stand for. */
static Module *module_reveal(Ck *ck, Module *m, const Subst *s)
{
    if (!s->from.n || m->scalar || m->wrong)
        return m;
    if (is_parametric(m)) {
        Module *f = arena_memdup(ck->a, m, sizeof *m);
        f->known = composed(ck, &m->known, s);
        f->inside = composed(ck, &m->inside, s);
        return f;
    }
    Module *to = module_new(ck, m->loc);
    Reveal r = {ck, s, to};
    module_each(ck, m, reveal_member, &r);
    return to;
}

/* --- Parametric modules --------------------------------------------------------------------- */

static Binding *bind_module(Ck *ck, const char *name, Loc loc, Module *m)
{
    Binding *b = new_binding(ck, BIND_MODULE, name, loc);
    b->module = m;
    bind_name(ck, b);
    note_name(ck, loc, 0, b);
    return b;
}

static const ModSig *sig_here(Ck *ck, const ModType *t)
{
    ModSig *s = NEW(ck->a, ModSig);
    *s = (ModSig){t, closure_now(ck), false, false};
    return s;
}

/* Checks `body` with the argument's name bound to `view` and declarations in it as inner ones. */
static Module *check_body(Ck *ck, const ModParam *p, Module *view, ModExp *body)
{
    ck->in_module++;
    bind_module(ck, p->name, p->loc, view);
    Module *m = check_module(ck, body);
    ck->in_module--;
    return m;
}

static Module *check_lambda_module(Ck *ck, ModExp *e)
{
    Module *f = module_new(ck, e->loc);
    f->lambda = e;
    f->at = closure_now(ck);
    if (ck->applying) { /* the one around has been checked */
        e->unchecked = e->e;
        return f;
    }
    e->unchecked = clone_module(ck->a, e->e);
    int errors = diag_errors();
    Scopes scopes = scopes_now(ck);
    const char *path = ck->path;
    ck->path = arena_printf(ck->a, "%s.", e->param.name);
    Module *view = module_ascribe(ck, NULL, sig_here(ck, e->param.type), e->param.loc, NULL, NULL);
    ck->path = path;
    ck->supposing++;
    check_body(ck, &e->param, view, e->e);
    ck->supposing--;
    scopes_back(ck, scopes);
    f->wrong = diag_errors() > errors;
    return f;
}

/* The body of a parametric module for an argument that was seen as of the parameter's type. */
static Module *applied(Ck *ck, Module *f, Module *arg, Bindings *seen, Loc at)
{
    const ModParam *p = f->sig ? &f->sig->type->param : &f->lambda->param;
    Closure back = closure_enter(ck, f->sig ? &f->sig->at : &f->at);
    const char *path = back.path; /* types made by the body are called after what is applied for */
    ck->path = p->name ? arena_printf(ck->a, "%s.", p->name) : "";
    Module *view = module_ascribe(ck, arg, sig_here(ck, p->type), at, seen, &f->known), *m;
    ck->path = path;
    if (view->wrong) {
        m = module_wrong(ck, at);
    } else if (f->sig) {
        if (p->name) {
            ck->in_module++;
            bind_module(ck, p->name, p->loc, view);
            ck->in_module--;
        }
        const ModSig *result = sig_here(ck, f->sig->type->e);
        Module *made = NULL;
        Subst known = {0};
        add_meanings(ck, &known, &f->inside);
        add_meanings(ck, &known, &f->known);
        if (f->inner)
            made = module_apply(ck, module_reveal(ck, f->inner, &f->known),
                                module_reveal(ck, view, &f->inside), at);
        m = module_ascribe(ck, made, result, at, NULL, &known);
    } else {
        m = check_body(ck, p, view, clone_module(ck->a, f->lambda->unchecked));
    }
    closure_enter(ck, &back);
    return m;
}

Module *module_apply(Ck *ck, Module *f, Module *arg, Loc at)
{
    if (f->wrong || arg->wrong)
        return module_wrong(ck, at);
    if (!is_parametric(f)) {
        ck_error(ck, at, "this module is not parametric: it takes no argument");
        return module_wrong(ck, at);
    }
    if (ck->applying >= MAX_APPLIED || ck->applications >= MAX_APPLICATIONS) {
        if (ck->applications <= MAX_APPLICATIONS)
            diag_limit(at, "more than %d applications of modules%s",
                       ck->applying >= MAX_APPLIED ? MAX_APPLIED : MAX_APPLICATIONS,
                       ck->applying >= MAX_APPLIED ? " inside each other" : "");
        ck->applications += ck->applications == MAX_APPLICATIONS;
        return module_wrong(ck, at);
    }
    ck->applications++;
    int errors = diag_errors();
    Bindings seen = {0};
    ck->applying++;
    Module *m = applied(ck, f, arg, &seen, at);
    ck->applying--;
    if (diag_errors() > errors || m->wrong)
        return module_wrong(ck, at);
    Subst s = meanings(ck, &seen);
    m = module_reveal(ck, m, &s);
    return module_reveal(ck, m, &f->known);
}

/* --- Expressions ---------------------------------------------------------------------------- */

static Module *check_structure(Ck *ck, ModExp *e)
{
    Module *outer = ck->module, *m = ck->module = module_new(ck, e->loc);
    const Decls *decls = ck->decls;
    int decl = ck->decl;
    bool lost = ck->lost;
    Scopes scopes = scopes_now(ck);
    ck->in_module++;
    check_decls(ck, &e->decls, 0, false);
    ck->in_module--;
    ck->lost = lost;
    scopes_back(ck, scopes);
    ck->module = outer;
    ck->decls = decls;
    ck->decl = decl;
    return m;
}

static Module *check_module(Ck *ck, ModExp *e)
{
    switch (e->kind) {
    case ME_NAME: {
        Module *m = find_module(ck, e->name, e->loc);
        note_module(ck, e->name, e->loc);
        if (m && m->intrinsics) {
            ck_error(ck, e->loc,
                     "`%s` is no module for other modules: what is provided is known without it",
                     e->name);
            return module_wrong(ck, e->loc);
        }
        return m ? m : module_wrong(ck, e->loc);
    }
    case ME_DECLS: return check_structure(ck, e);
    case ME_ASCRIBE: {
        Module *m = check_module(ck, e->e);
        return m->wrong ? m : module_ascribe(ck, m, sig_here(ck, e->type), e->e->loc, NULL, NULL);
    }
    case ME_APPLY: {
        Module *f = check_module(ck, e->e), *arg = check_module(ck, e->arg);
        return module_apply(ck, f, arg, e->loc);
    }
    case ME_LAMBDA: return check_lambda_module(ck, e);
    case ME_IMPORT:
        return e->import->file ? file_module(ck, e->import->file) : module_wrong(ck, e->loc);
    }
    ice(e->loc, "module expression of unknown kind");
}

/* --- Declarations --------------------------------------------------------------------------- */

static void check_module_decl(Ck *ck, Decl *d)
{
    const char *path = ck->path;
    ck->path = arena_printf(ck->a, "%s%s.", path ? path : "", d->name);
    Module *m = check_module(ck, d->mod);
    ck->path = path;
    d->bind = bind_module(ck, d->name, d->name_loc, m);
    d->bind->doc = d->doc;
}

typedef struct {
    Ck *ck;
    Module *to; /* or NULL */
} Open;

static void open_member(void *env, Binding *b)
{
    Open *o = env;
    bind_opened(o->ck, b);
    if (o->to)
        vec_push(o->ck->a, &o->to->members, b);
}

/* The members of a module become known by their names, and members of the one at work, unless the
 * declaration is local. */
static void open_members(Ck *ck, Module *m, bool local)
{
    Open o = {ck, local ? NULL : ck->module};
    module_each(ck, m, open_member, &o);
}

/* Is it not known outside of the file or module at work? */
static bool stays_inside(const Ck *ck, const Decl *d)
{
    bool local = d->local || (d->import && !d->open);
    return local && !(ck->file->bare && ck->module == ck->file->module);
}

static void check_open(Ck *ck, Decl *d)
{
    Module *m = d->import ? d->import->file ? file_module(ck, d->import->file) : NULL
                          : check_module(ck, d->mod);
    if (m && is_parametric(m))
        ck_error(ck, d->loc, "a parametric module cannot be opened: apply it first");
    bool local = stays_inside(ck, d);
    if (!m || m->wrong || is_parametric(m)) {
        ck->lost = true;
        ck->module->wrong |= !local; /* members may be missing */
    } else {
        open_members(ck, m, local);
    }
    d->opened = m;
}

/* Where the declarations before this one of the same list have defined its name, but for `local`
 * ones; {0,0}: nowhere. */
static Loc defined_before(Ck *ck, const char *name, Space space)
{
    if (!ck->in_module) { /* there may be many */
        const Scope *other = find_global(ck, name, space);
        while (other && (!other->own || other->local || other->file != ck->file))
            other = other->hidden;
        return other ? other->bind->loc : (Loc){0, 0};
    }
    for (int i = 0; i < ck->decl; i++) {
        const Decl *d = &ck->decls->at[i];
        Loc at = d->local ? (Loc){0, 0} : declared_at(d, name, space);
        if (at.beg)
            return at;
    }
    return (Loc){0, 0};
}

/* A name may be defined once in a file or module; what is opened, imported or `local` may be
 * hidden. */
static void check_once(Ck *ck, const Decl *d)
{
    Space space;
    Loc loc, other;
    const char *name = declares(d, &space, &loc);
    if (!name || d->local || !(other = defined_before(ck, name, space)).beg)
        return;
    ck_error(ck, loc, "`%s` is defined twice in this %s", name, ck->in_module ? "module" : "file");
    ck_note(ck, other, "the other definition is here");
}

static void check_modtype_decl(Ck *ck, Decl *d)
{
    ModSig *sig = NEW(ck->a, ModSig);
    *sig = (ModSig){d->modtype, closure_now(ck), false, false};
    d->bind = new_binding(ck, BIND_MODTYPE, d->name, d->name_loc);
    d->bind->sig = sig;
    d->bind->doc = d->doc;
    bind_name(ck, d->bind);
    if (ck->file == ck->prelude)
        return;
    ck->supposing++; /* what is wrong with it is reported here, once */
    int errors = diag_errors(), large = ck->large;
    module_ascribe(ck, NULL, sig, d->name_loc, NULL, NULL);
    sig->wrong = diag_errors() > errors;
    sig->large = ck->large > large;
    ck->supposing--;
}

static void check_decl(Ck *ck, Decl *d)
{
    check_once(ck, d);
    ck->unknown.n = 0;
    switch (d->kind) {
    case D_IMPORT:
    case D_OPEN: check_open(ck, d); return;
    case D_TYPE:
        check_type_decl(ck, d->type);
        d->bind = d->type->bind;
        break;
    case D_DEF:
        if (d->def->entry && ck->in_module)
            ck_error(ck, d->def->loc, "an entry point cannot be defined in a module");
        check_top(ck, d->def);
        d->bind = d->def->bind;
        break;
    case D_MODULE: check_module_decl(ck, d); break;
    case D_MODTYPE: check_modtype_decl(ck, d); break;
    }
    if (!stays_inside(ck, d))
        vec_push(ck->a, &ck->module->members, d->bind);
}

static void push_mark(Ck *ck)
{
    CkMark *m = NEW(ck->a, CkMark);
    *m = (CkMark){.ck = *ck,
                  .defs = ck->ast->defs.n,
                  .matches = ck->ast->matches.n,
                  .members = ck->module->members.n,
                  .messages = diag_count(),
                  .wrong = ck->module->wrong};
    vec_push(ck->a, &ck->marks, m);
}

static void check_decls(Ck *ck, const Decls *ds, int first, bool marked)
{
    for (int i = first; i < ds->n; i++) {
        if (marked)
            push_mark(ck);
        ck->decls = ds;
        ck->decl = i;
        check_decl(ck, &ds->at[i]);
    }
    if (marked)
        push_mark(ck);
}

/* --- Files ---------------------------------------------------------------------------------- */

static void check_file(Ck *ck, const File *f, int first)
{
    check_decls(ck, &f->decls, first, f == ck->ast->main && ck->ast->uses);
}

static void leave_file(Ck *ck, const Ck *outer)
{
    ck->file = outer->file;
    ck->lost = outer->lost;
    ck->module = outer->module;
    ck->in_module = outer->in_module;
    ck->applying = outer->applying;
    ck->supposing = outer->supposing;
    ck->horizon = outer->horizon;
    ck->path = outer->path;
    ck->decls = outer->decls;
    ck->decl = outer->decl;
    ck->below = outer->below;
}

/* Checks a file when it is first imported, in whatever module that is. */
Module *file_module(Ck *ck, File *f)
{
    if (f->module)
        return f->module;
    Ck outer = *ck;
    f->module = module_new(ck, (Loc){f->base, f->base});
    ck->file = f;
    ck->module = f->module;
    ck->in_module = ck->applying = ck->supposing = ck->horizon = 0;
    ck->lost = false;
    ck->path = NULL;
    for (int i = 0; i < N_SPACES; i++) /* no names of modules around the import */
        while (ck->scopes[i] && !ck->scopes[i]->file)
            ck->scopes[i] = ck->scopes[i]->up;
    check_file(ck, f, 0);
    leave_file(ck, &outer);
    if (outer.in_module)
        scopes_back(ck, scopes_now(&outer));
    return f->module;
}

void file_module_from(Ck *ck, File *f, int first)
{
    check_file(ck, f, first);
    leave_file(ck, &(Ck){0}); /* nothing is around the main file */
}
