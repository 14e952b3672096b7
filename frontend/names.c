/* Scopes, look-up of names, and messages about names that are not there. */
#include "frontend/check.h"

#include "base/intern.h"
#include "runtime/spell.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

Binding *new_binding(Ck *ck, BindKind k, const char *name, Loc loc)
{
    Binding *b = NEW(ck->a, Binding);
    b->kind = k;
    b->name = name;
    b->loc = loc;
    b->uid = ck->n_bindings++;
    b->cls = TC_VALUE;
    return b;
}

/* --- Names: what the program binds at all, and its definitions by name ---------------------- */

static NameRow *name_row(NameTable *t, const char *name)
{
    size_t mask = (size_t)t->cap - 1; /* names are interned: their addresses tell them apart */
    size_t i = ((uintptr_t)name >> 3) * 0x9E3779B97F4A7C15u >> 20 & mask;
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
    t->n += !r->name;
    r->name = name;
    return r;
}

/* --- Scopes --------------------------------------------------------------------------------- */

void bind_name(Ck *ck, Binding *b)
{
    bool type = b->kind == BIND_TYPE || b->kind == BIND_TYPE_PARAM;
    if (!strcmp(b->name, "&&") || !strcmp(b->name, "||"))
        ck_error(ck, b->loc, "`%s` cannot be defined: its right operand is not always evaluated",
                 b->name);
    Scope **top = type ? &ck->types : &ck->scope;
    Scope *s = NEW(ck->a, Scope);
    *s = (Scope){.name = b->name, .bind = b, .up = *top};
    s->file = !ck->current.n && (b->kind == BIND_TYPE || b->kind == BIND_DEF) ? ck->file : NULL;
    s->local = s->file && ck->file->decls.at[ck->decl].local;
    *top = s;
    NameRow *r = add_name(ck, b->name);
    if (s->file) {
        s->hidden = type ? r->type : r->value;
        *(type ? &r->type : &r->value) = s;
    }
}

const Scope *find_global(Ck *ck, const char *name, bool type)
{
    const NameRow *r = find_name(ck, name);
    return !r ? NULL : type ? r->type : r->value;
}

void open_module(Ck *ck, const char *module)
{
    Scope *s = NEW(ck->a, Scope);
    *s = (Scope){.name = "", .open = module, .up = ck->scope};
    ck->scope = s;
    ck->opened++;
}

static bool is_known(const Ck *ck, const Scope *s)
{
    const File *f = ck->file ? ck->file : ck->ast->main; /* whose entry points come last */
    bool known = s->file == f || s->file == ck->prelude;
    for (int i = 0; !known && !s->local && i < f->known.n; i++)
        known = f->known.at[i] == s->file;
    return known;
}

/* Definitions, which are many, are found by their names, not by going through them. */
static Binding *in_scope(Ck *ck, const Scope *s, const char *name, bool type)
{
    while (s && !s->file && s->name != name)
        s = s->up;
    if (s && s->file)
        for (s = find_global(ck, name, type); s && !is_known(ck, s);)
            s = s->hidden;
    return s ? s->bind : NULL;
}

Binding *find_local(Ck *ck, const char *name)
{
    return find_name(ck, name) ? in_scope(ck, ck->scope, name, false) : NULL;
}

/* --- Messages ------------------------------------------------------------------------------- */

void ck_error(Ck *ck, Loc loc, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    diag_error(loc, "%s", arena_vprintf(ck->a, fmt, ap));
    va_end(ap);
}

void ck_note(Ck *ck, Loc loc, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    diag_note(loc, "%s", arena_vprintf(ck->a, fmt, ap));
    va_end(ap);
}

const char *show(Ck *ck, const AType *t)
{
    return type_str(ck->a, t);
}

static void try_scope(const Scope *s, rt_spelling *sp)
{
    for (; s && !diag_is_full(); s = s->up)
        rt_spell_try(sp, s->name);
}

/* Where the file defines the name further down, {0,0} if it does not. */
static Loc later_decl(const Ck *ck, const char *name, bool type)
{
    for (int i = ck->decl + 1; ck->file && i < ck->file->decls.n && !diag_is_full(); i++) {
        const Decl *d = &ck->file->decls.at[i];
        if (type ? d->type && d->type->name == name : d->def && d->def->name == name)
            return type ? d->type->loc : d->def->loc;
    }
    return (Loc){0, 0};
}

static void report_later(Ck *ck, const char *name, Loc loc, Loc later)
{
    ck_error(ck, loc, "`%s` is used before its definition", name);
    ck_note(ck, later, "it is defined here; a definition may use earlier ones only");
}

/* Types of other languages. */
static const char *foreign_type(const char *name)
{
    static const char *const foreign[][2] = {
        {"int", "i32"}, {"float", "f32"},    {"double", "f64"},  {"long", "i64"},
        {"char", "u8"}, {"boolean", "bool"}, {"integer", "i32"}, {"real", "f64"}};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (!strcmp(name, foreign[i][0]))
            return foreign[i][1];
    return NULL;
}

static bool is_operator_name(const char *name)
{
    return strchr("+-*/%=!><|&^", name[0]) != NULL;
}

/* A definition of a file that was read, but is not known here. */
static bool report_unseen(Ck *ck, const char *name, Loc loc, bool type)
{
    const Scope *s = find_global(ck, name, type);
    if (!s)
        return false;
    if (s->local)
        ck_error(ck, loc, "`%s` is `local` to `%s`", name, s->file->path);
    else
        ck_error(ck, loc, "`%s` is defined in `%s`, which this file does not import", name,
                 s->file->path);
    ck_note(ck, s->bind->loc, "it is defined here");
    return true;
}

static Binding *find_binding(Ck *ck, const char *name)
{
    for (const Scope *s = ck->scope; ck->opened && s && !s->file; s = s->up) {
        Binding *member =
            s->open ? find_builtin(ck, intern(arena_printf(ck->a, "%s.%s", s->open, name))) : NULL;
        if (member || s->name == name)
            return member ? member : s->bind;
    }
    Binding *b = find_local(ck, name);
    return b ? b : find_builtin(ck, name);
}

Binding *find_value(Ck *ck, const char *name, Loc loc)
{
    Binding *b = find_binding(ck, name);
    if (b)
        return b;
    for (int i = 0; i < ck->current.n; i++) {
        if (ck->current.at[i]->name == name) {
            ck_error(ck, loc, "`%s` is used in its own definition: recursion is not supported",
                     name);
            ck_note(ck, ck->current.at[i]->loc, "`%s` is being defined here", name);
            return NULL;
        }
    }
    Loc later = later_decl(ck, name, false);
    if (later.beg) {
        report_later(ck, name, loc, later);
        return NULL;
    }
    if (report_unseen(ck, name, loc, false))
        return NULL;
    Scalar s;
    const char *type = scalar_from_name(name, &s) ? name : foreign_type(name);
    if (type) {
        ck_error(ck, loc, "`%s` is a type%s; convert with `%s.from_type`, as in `%s.i64 x`", name,
                 type == name ? "" : arena_printf(ck->a, ", here called `%s`", type), type, type);
        return NULL;
    }
    const char *dot = strchr(name, '.');
    const char *module =
        dot && !is_operator_name(name) ? intern_n(name, (size_t)(dot - name)) : NULL;
    rt_spelling sp = rt_spell(name);
    if (!is_operator_name(name)) {
        try_scope(ck->scope, &sp);
        try_builtins(&sp);
    }
    if (sp.nearest)
        ck_error(ck, loc, "unknown name `%s`; did you mean `%s`?", name, sp.nearest);
    else if (module && scalar_from_name(module, &s))
        ck_error(ck, loc, "`%s` has no member `%s`", module, dot + 1);
    else
        ck_error(ck, loc, "unknown %s `%s`", is_operator_name(name) ? "operator" : "name", name);
    return NULL;
}

Binding *find_type(Ck *ck, const char *name, Loc loc)
{
    Binding *b = in_scope(ck, ck->types, name, true);
    if (b)
        return b;
    if (!strcmp(name, "f16")) {
        ck_error(ck, loc, "type `f16` is not supported");
        return NULL;
    }
    if (report_unseen(ck, name, loc, true))
        return NULL;
    Loc later = later_decl(ck, name, true);
    const Decl *self =
        ck->file && ck->decl < ck->file->decls.n ? &ck->file->decls.at[ck->decl] : NULL;
    if (later.beg) {
        report_later(ck, name, loc, later);
        return NULL;
    }
    if (self && self->type && self->type->name == name) {
        ck_error(ck, loc, "type `%s` is used in its own definition", name);
        return NULL;
    }
    rt_spelling sp = rt_spell(name);
    try_scope(ck->types, &sp);
    for (int i = 0; i < N_SCALARS; i++)
        rt_spell_try(&sp, scalar_name((Scalar)i));
    const char *near = foreign_type(name) ? foreign_type(name) : sp.nearest;
    if (near)
        ck_error(ck, loc, "unknown type `%s`; did you mean `%s`?", name, near);
    else
        ck_error(ck, loc, "unknown type `%s`", name);
    return NULL;
}
