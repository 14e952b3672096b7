/* Scopes, and what a name means in them, also that of a member of a module, or that it means
 * nothing. */
#include "frontend/names/names.h"

#include "base/intern.h"

#include <string.h>

/* --- Names: what the program binds at all, and its definitions by name ---------------------- */

/* Names are interned: their addresses tell them apart. */
static uint64_t name_hash(const char *name)
{
    return ((uint64_t)(uintptr_t)name >> 3) * 0x9E3779B97F4A7C15u;
}

static NameRow *name_row(NameTable *t, const char *name)
{
    size_t mask = (size_t)t->cap - 1;
    size_t i = name_hash(name) >> 20 & mask;
    while (t->at[i].name && t->at[i].name != name)
        i = (i + 1) & mask;
    return &t->at[i];
}

static NameRow *find_name(Ck *ck, const char *name)
{
    NameRow *r = ck->names.cap ? name_row(&ck->names, name) : NULL;
    return r && r->name ? r : NULL;
}

static NameRow *add_name(Ck *ck, const char *name)
{
    NameTable *t = &ck->names;
    if (2 * t->n >= t->cap) {
        NameTable more = {.cap = t->cap ? 2 * t->cap : 1024, .n = t->n};
        more.at = NEWN(ck->a, NameRow, more.cap);
        for (int i = 0; i < t->cap; i++)
            if (t->at[i].name)
                *name_row(&more, t->at[i].name) = t->at[i];
        *t = more;
    }
    NameRow *r = name_row(t, name);
    if (!r->name)
        *r = (NameRow){.name = name, .number = t->n++};
    return r;
}

void names_back(Ck *ck, int names, int seq)
{
    NameTable old = ck->names, t = {.cap = old.cap, .n = names};
    t.at = NEWN(ck->a, NameRow, t.cap);
    for (int i = 0; i < old.cap; i++) {
        if (!old.at[i].name || old.at[i].number >= names)
            continue;
        NameRow *r = name_row(&t, old.at[i].name);
        *r = old.at[i];
        for (int k = 0; k < N_SPACES; k++)
            while (r->at[k] && r->at[k]->seq > seq)
                r->at[k] = (Scope *)r->at[k]->hidden;
    }
    ck->names = t;
}

/* --- Scopes --------------------------------------------------------------------------------- */

Scopes scopes_now(const Ck *ck)
{
    Scopes s;
    memcpy(s.at, ck->scopes, sizeof s.at);
    return s;
}

void scopes_back(Ck *ck, Scopes s)
{
    memcpy(ck->scopes, s.at, sizeof s.at);
}

Closure closure_now(const Ck *ck)
{
    return (Closure){scopes_now(ck), ck->file, ck->horizon ? ck->horizon : ck->seq + 1, ck->path};
}

Closure closure_enter(Ck *ck, const Closure *c)
{
    Closure was = {scopes_now(ck), ck->file, ck->horizon, ck->path};
    scopes_back(ck, c->scopes);
    ck->file = c->file;
    ck->horizon = c->horizon;
    ck->path = c->path;
    return was;
}

static const Scope *find_local(const LocalNames *t, const char *name)
{
    for (uint64_t h = name_hash(name); t; t = t->kid[h >> 63], h = h << 1 | h >> 63)
        if (t->name == name)
            return t->at;
    return NULL;
}

static const LocalNames *with_local(Ck *ck, const LocalNames *t, uint64_t hash, const Scope *s)
{
    LocalNames *c = NEW(ck->a, LocalNames);
    if (!t || t->name == s->name) {
        *c = (LocalNames){s->name, s, {t ? t->kid[0] : NULL, t ? t->kid[1] : NULL}};
        return c;
    }
    *c = *t;
    c->kid[hash >> 63] = with_local(ck, t->kid[hash >> 63], hash << 1 | hash >> 63, s);
    return c;
}

static Scope *push_scope(Ck *ck, Space space, Binding *b, Module *open)
{
    Scope *s = NEW(ck->a, Scope), *up = ck->scopes[space];
    *s = (Scope){.name = b ? b->name : "", .bind = b, .open = open, .up = up};
    ck->scopes[space] = s;
    return s;
}

/* A name that was pushed, or a module that is opened, is local. */
static void make_local(Ck *ck, Scope *s)
{
    const Scope *up = s->up && !s->up->file ? s->up : NULL;
    s->depth = up ? up->depth + 1 : 1;
    s->opened = s->open ? s : up ? up->opened : NULL;
    s->locals = up ? up->locals : NULL;
    if (!s->open)
        s->locals = with_local(ck, s->locals, name_hash(s->name), s);
}

static void bind_in_scope(Ck *ck, Binding *b, bool own)
{
    Space space = space_of(b);
    Scope *s = push_scope(ck, space, b, NULL);
    NameRow *r = add_name(ck, b->name);
    bool declared = b->kind >= BIND_TYPE || b->kind == BIND_DEF || b->kind == BIND_BUILTIN;
    if (!declared || ck->current.n || ck->in_module) {
        make_local(ck, s);
        return;
    }
    s->file = ck->file;
    s->own = own;
    s->local = own && ck->decls && ck->decls->at[ck->decl].local;
    s->seq = ++ck->seq;
    s->hidden = r->at[space];
    r->at[space] = s;
}

void bind_name(Ck *ck, Binding *b)
{
    if (!strcmp(b->name, "&&") || !strcmp(b->name, "||"))
        ck_error(ck, b->loc, "`%s` cannot be defined: its right operand is not always evaluated",
                 b->name);
    bind_in_scope(ck, b, true);
}

void bind_opened(Ck *ck, Binding *b)
{
    bind_in_scope(ck, b, false);
}

void open_scope(Ck *ck, Module *m)
{
    for (int i = 0; i < N_SPACES; i++)
        make_local(ck, push_scope(ck, (Space)i, NULL, m));
}

const Scope *find_global(Ck *ck, const char *name, Space space)
{
    const NameRow *r = find_name(ck, name);
    return r ? r->at[space] : NULL;
}

static bool is_known(const Ck *ck, const Scope *s)
{
    const File *f = ck->file ? ck->file : ck->ast->main; /* whose entry points come last */
    bool there = s->file == f || (s->file == ck->prelude && !s->local);
    return there && (!ck->horizon || s->seq < ck->horizon);
}

/* Names may be many: they are found, not gone through. */
Binding *in_scope(Ck *ck, const char *name, Space space)
{
    const Scope *top = ck->scopes[space], *s = top ? find_local(top->locals, name) : NULL;
    for (const Scope *o = top ? top->opened : NULL; o && (!s || o->depth > s->depth);
         o = o->up ? o->up->opened : NULL) {
        Binding *b = module_member(ck, o->open, name, space);
        if (b)
            return b;
    }
    if (s)
        return s->bind;
    for (s = find_global(ck, name, space); s && !is_known(ck, s);)
        s = s->hidden;
    return s ? s->bind : NULL;
}

/* --- Names of members ----------------------------------------------------------------------- */

bool is_operator_name(const char *name)
{
    return strchr("+-*/%=!><|&^", name[0]) != NULL;
}

const char *last_dot(const char *name)
{
    const char *dot = NULL;
    if (!strchr(name, '.')) /* nearly all of them */
        return NULL;
    for (const char *p = name; *p && !is_operator_name(p); p++)
        if (*p == '.')
            dot = p;
    return dot;
}

/* A variable may be called as a scalar type is; only one that may have fields hides the module. */
static bool may_have_fields(const Binding *b)
{
    const AType *t = b->type ? type_deref(b->type) : NULL;
    return t && (t->kind == TY_RECORD || t->kind == TY_TUPLE || t->kind == TY_ERROR ||
                 (t->kind == TY_META && t->meta.cls <= TC_VALUE));
}

/* The module of a name without dots; NULL if the name is none of a module. */
static Module *module_named(Ck *ck, const char *name)
{
    PrimType s;
    Binding *b = in_scope(ck, name, SPACE_TERM);
    if (b && b->kind == BIND_MODULE)
        return b->module;
    if (!b && !strcmp(name, "intrinsics"))
        return intrinsics_module(ck);
    bool hidden = b && may_have_fields(b);
    return !hidden && prim_named(name, &s) ? scalar_module(ck, s) : NULL;
}

Module *module_path(Ck *ck, const char *name, const char **known, Module **outer)
{
    const char *dot = last_dot(name);
    *known = NULL;
    *outer = NULL;
    if (!dot)
        return module_named(ck, name);
    const char *before = intern_n(name, (size_t)(dot - name));
    Module *m = module_path(ck, before, known, outer);
    if (!m)
        return NULL;
    *known = before;
    *outer = m;
    Binding *b = module_member(ck, m, intern(dot + 1), SPACE_TERM);
    return b && b->kind == BIND_MODULE ? b->module : NULL;
}

Module *module_of_exp(Ck *ck, const AExp *e)
{
    if (e->open || e->parens)
        return NULL;
    if (e->kind == AE_VAR)
        return module_named(ck, e->var.name);
    if (e->kind != AE_PROJ)
        return NULL;
    Module *m = module_of_exp(ck, e->proj.e);
    Binding *b = m ? module_member(ck, m, e->proj.names.at[0], SPACE_TERM) : NULL;
    return b && b->kind == BIND_MODULE ? b->module : NULL;
}

/* --- Look-up -------------------------------------------------------------------------------- */

/* What the prelude defines, also for itself alone. */
static Binding *in_prelude(Ck *ck, const char *name, Space space)
{
    const Scope *s = find_global(ck, name, space);
    while (s && s->file != ck->prelude)
        s = s->hidden;
    return s ? s->bind : NULL;
}

static Binding *provided(Ck *ck, const char *name)
{
    Binding *b = find_builtin(ck, name);
    return b && b->for_prelude && ck->file != ck->prelude ? NULL : b;
}

/* The binding of a name, with or without dots; NULL if there is none. */
Binding *find_binding(Ck *ck, const char *name, Space space)
{
    const char *dot = last_dot(name), *known;
    Module *outer;
    if (dot) {
        Module *m = module_path(ck, intern_n(name, (size_t)(dot - name)), &known, &outer);
        Binding *b = m ? module_member(ck, m, intern(dot + 1), space) : NULL;
        return b || !m || !m->intrinsics ? b : in_prelude(ck, intern(dot + 1), space);
    }
    Binding *b = in_scope(ck, name, space);
    return b                     ? b
           : space == SPACE_TERM ? provided(ck, name)
           : space == SPACE_TYPE ? provided_type(ck, name)
                                 : NULL;
}

/* --- Names that declarations give ----------------------------------------------------------- */

const char *declares(const Decl *d, Space *space, Loc *loc)
{
    switch (d->kind) {
    case D_DEF:
    case D_MODULE:
        *space = SPACE_TERM;
        *loc = d->def ? d->def->loc : d->name_loc;
        return d->def ? d->def->name : d->name;
    case D_TYPE:
        *space = SPACE_TYPE;
        *loc = d->type->loc;
        return d->type->name;
    case D_MODTYPE:
        *space = SPACE_SIG;
        *loc = d->name_loc;
        return d->name;
    case D_IMPORT:
    case D_OPEN: break;
    }
    return NULL;
}

Loc declared_at(const Decl *d, const char *name, Space space)
{
    Space in = space;
    Loc at = {0, 0};
    const char *declared = declares(d, &in, &at);
    return declared == name && in == space ? at : (Loc){0, 0};
}

/* --- Names of sizes in messages ------------------------------------------------------------- */

static bool is_bound(void *env, const char *name)
{
    Ck *ck = env;
    return ck->names.n && name_row(&ck->names, intern(name))->name;
}

void forget_size_names(Ck *ck)
{
    ck->size_names = (SizeNames){.bound = is_bound, .env = ck};
    ck->sizes_said = 0;
}
