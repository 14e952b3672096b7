/* Scopes, look-up of names, also of members of modules, and messages about names that are not
 * there. */
#include "frontend/module.h"

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

Space space_of(const Binding *b)
{
    switch (b->kind) {
    case BIND_TYPE:
    case BIND_TYPE_PARAM: return SPACE_TYPE;
    case BIND_MODTYPE: return SPACE_SIG;
    default: return SPACE_TERM;
    }
}

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

static Scope *push_scope(Ck *ck, Space space, const char *name, Binding *b)
{
    Scope *s = NEW(ck->a, Scope);
    *s = (Scope){.name = name, .bind = b, .up = ck->scopes[space]};
    ck->scopes[space] = s;
    return s;
}

static void bind_in_scope(Ck *ck, Binding *b, bool own)
{
    Space space = space_of(b);
    Scope *s = push_scope(ck, space, b->name, b);
    NameRow *r = add_name(ck, b->name);
    bool declared = b->kind >= BIND_TYPE || b->kind == BIND_DEF || b->kind == BIND_BUILTIN;
    if (!declared || ck->current.n || ck->in_module)
        return;
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
        push_scope(ck, (Space)i, "", NULL)->open = m;
}

const Scope *find_global(Ck *ck, const char *name, Space space)
{
    const NameRow *r = find_name(ck, name);
    return r ? r->at[space] : NULL;
}

static bool is_known(const Ck *ck, const Scope *s)
{
    const File *f = ck->file ? ck->file : ck->ast->main; /* whose entry points come last */
    return (s->file == f || s->file == ck->prelude) && (!ck->horizon || s->seq < ck->horizon);
}

/* Definitions at top level, which are many, are found by their names, not by going through them. */
static Binding *in_scope(Ck *ck, const char *name, Space space)
{
    const Scope *s = ck->scopes[space];
    for (; s && !s->file; s = s->up) {
        Binding *b = s->open ? module_member(ck, s->open, name, space) : s->bind;
        if (b && (s->open || b->name == name))
            return b;
    }
    for (s = find_global(ck, name, space); s && !is_known(ck, s);)
        s = s->hidden;
    return s ? s->bind : NULL;
}

Binding *find_local(Ck *ck, const char *name)
{
    return in_scope(ck, name, SPACE_TERM);
}

/* --- Names of members ----------------------------------------------------------------------- */

static bool is_operator_name(const char *name)
{
    return strchr("+-*/%=!><|&^", name[0]) != NULL;
}

/* The dot before the last part of a name; NULL if it has one part. Operators may have dots. */
static const char *last_dot(const char *name)
{
    const char *dot = NULL;
    for (const char *p = name; *p && !is_operator_name(p); p++)
        if (*p == '.')
            dot = p;
    return dot;
}

/* A variable may be called as a scalar type is; only one that may have fields hides the module. */
static bool may_have_fields(const Binding *b)
{
    const AType *t = b->type ? type_deref(b->type) : NULL;
    return t && (t->kind == TY_RECORD || t->kind == TY_TUPLE ||
                 (t->kind == TY_META && t->meta.cls <= TC_VALUE));
}

/* The module of a name without dots; NULL if the name is none of a module. */
static Module *module_named(Ck *ck, const char *name)
{
    Scalar s;
    Binding *b = in_scope(ck, name, SPACE_TERM);
    if (b && b->kind == BIND_MODULE)
        return b->module;
    if (!b && !strcmp(name, "intrinsics"))
        return intrinsics_module(ck);
    bool hidden = b && may_have_fields(b);
    return !hidden && scalar_from_name(name, &s) ? scalar_module(ck, s) : NULL;
}

/* The module A.B, or NULL; *known then becomes the longest beginning A that is one. */
static Module *module_path(Ck *ck, const char *name, const char **known, Module **outer)
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

/* --- For editors ---------------------------------------------------------------------------- */

void note_name(Ck *ck, Loc loc, int part, Binding *b)
{
    if (ck->ast->uses && !ck->applying && b)
        vec_push(ck->a, ck->ast->uses, (NameUse){loc, part, b});
}

/* Of a value, the modules in front of it. */
static void note_parts(Ck *ck, const char *name, Loc loc, Space space)
{
    Module *m = NULL;
    for (int part = 0; ck->ast->uses; part++) {
        size_t n = is_operator_name(name) ? strlen(name) : strcspn(name, ".");
        bool last = !name[n];
        const char *s = intern_n(name, n);
        Space in = last ? space : SPACE_TERM;
        Binding *b = m ? module_member(ck, m, s, in) : in_scope(ck, s, in);
        bool module = b && b->kind == BIND_MODULE;
        if (module || in != SPACE_TERM)
            note_name(ck, loc, part, b);
        if (last || !module)
            return;
        m = b->module;
        name += n + 1;
    }
}

void note_module(Ck *ck, const char *name, Loc loc)
{
    note_parts(ck, name, loc, SPACE_TERM);
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

static const char *declared_name(const Decl *d, Space space)
{
    switch (d->kind) {
    case D_DEF: return space == SPACE_TERM ? d->def->name : NULL;
    case D_TYPE: return space == SPACE_TYPE ? d->type->name : NULL;
    case D_MODULE: return space == SPACE_TERM ? d->name : NULL;
    case D_MODTYPE: return space == SPACE_SIG ? d->name : NULL;
    case D_IMPORT:
    case D_OPEN: break;
    }
    return NULL;
}

/* Where the name is declared further down, {0,0} if it is not. */
static Loc later_decl(const Ck *ck, const char *name, Space space)
{
    for (int i = ck->decl + 1; ck->decls && i < ck->decls->n && !diag_is_full(); i++) {
        const Decl *d = &ck->decls->at[i];
        if (declared_name(d, space) == name)
            return d->def ? d->def->loc : d->type ? d->type->loc : d->name_loc;
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

/* A definition of a file that was read, but is not known here. */
static bool report_unseen(Ck *ck, const char *name, Loc loc, Space space)
{
    const Scope *s = find_global(ck, name, space);
    while (s && (!s->own || s->file == ck->file))
        s = s->hidden;
    if (!s)
        return false;
    bool as_module = false;
    for (int i = 0; ck->file && i < ck->file->imports.n; i++)
        as_module |= ck->file->imports.at[i]->file == s->file;
    if (s->local)
        ck_error(ck, loc, "`%s` is `local` to `%s`", name, s->file->path);
    else if (as_module)
        ck_error(ck, loc, "`%s` is defined in `%s`, which is imported as a module", name,
                 s->file->path);
    else
        ck_error(ck, loc, "`%s` is defined in `%s`, which this file does not import", name,
                 s->file->path);
    ck_note(ck, s->bind->loc, "it is defined here");
    return true;
}

/* Whether the module of that name is being defined. */
static bool is_around(const Ck *ck, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = ck->path; p && *p; p = strchr(p, '.') + 1)
        if (!strncmp(p, name, n) && p[n] == '.')
            return true;
    return false;
}

/* A name of something else. */
static bool report_other_space(Ck *ck, const char *name, Loc loc, Space space, const char *wanted)
{
    const Binding *b = NULL;
    for (int i = 0; i < N_SPACES && !b; i++)
        b = i == (int)space ? NULL : in_scope(ck, name, (Space)i);
    if (!b || (b->kind != BIND_MODULE && b->kind < BIND_TYPE))
        return false;
    const char *is = b->kind == BIND_MODULE    ? "module"
                     : b->kind == BIND_MODTYPE ? "module type"
                                               : "type";
    ck_error(ck, loc, "`%s` is a %s, not a %s", name, is, wanted);
    ck_note(ck, b->loc, "it is defined here");
    return true;
}

/* What is being defined, or will be; what may be a member of a module that is wrong is passed over.
 */
static bool report_not_yet(Ck *ck, const char *name, Loc loc, Space space)
{
    if (ck->lost) {
        ck->skipped = true;
        return true;
    }
    for (int i = 0; space == SPACE_TERM && i < ck->current.n; i++) {
        if (ck->current.at[i]->name == name) {
            ck_error(ck, loc, "`%s` is used in its own definition: recursion is not supported",
                     name);
            ck_note(ck, ck->current.at[i]->loc, "`%s` is being defined here", name);
            return true;
        }
    }
    if (space == SPACE_TERM && is_around(ck, name)) {
        ck_error(ck, loc, "module `%s` is used in its own definition", name);
        return true;
    }
    const Decl *self = ck->decls && ck->decl < ck->decls->n ? &ck->decls->at[ck->decl] : NULL;
    Loc later = later_decl(ck, name, space);
    if (later.beg) {
        report_later(ck, name, loc, later);
        return true;
    }
    if (self && space != SPACE_TERM && declared_name(self, space) == name) {
        ck_error(ck, loc, "type `%s` is used in its own definition", name);
        return true;
    }
    return report_unseen(ck, name, loc, space);
}

typedef struct {
    rt_spelling *sp;
    Space space;
} Try;

static void try_member(void *env, Binding *b)
{
    const Try *t = env;
    if (space_of(b) == t->space)
        rt_spell_try(t->sp, b->name);
}

const char *nearest_member(Ck *ck, Module *m, const char *name, Space space)
{
    rt_spelling sp = rt_spell(name);
    Try t = {&sp, space};
    if (!is_operator_name(name))
        module_each(ck, m, try_member, &t);
    return sp.nearest ? arena_printf(ck->a, "; did you mean `%s`?", sp.nearest) : "";
}

static void try_scope(Ck *ck, Space space, rt_spelling *sp)
{
    Try t = {sp, space};
    for (const Scope *s = ck->scopes[space]; s && !diag_is_full(); s = s->up) {
        if (s->open)
            module_each(ck, s->open, try_member, &t);
        else
            rt_spell_try(sp, s->name);
    }
}

static const char *const space_words[] = {
    [SPACE_TERM] = "name", [SPACE_TYPE] = "type", [SPACE_SIG] = "module type"};

/* A.B.x, of which A.B, or A, is a module or not. */
static void report_member(Ck *ck, const char *name, Loc loc, Space space)
{
    const char *dot = last_dot(name), *known;
    const char *module = intern_n(name, (size_t)(dot - name)), *member = dot + 1;
    Module *outer, *m = module_path(ck, module, &known, &outer);
    if (!m && !known) { /* not even the first part is a module */
        find_module(ck, intern_n(name, strcspn(name, ".")), loc);
        return;
    }
    if (!m) {
        const char *next = name + strlen(known) + 1;
        m = outer;
        module = known;
        member = intern_n(next, strcspn(next, "."));
        space = SPACE_TERM;
    }
    if (m->wrong) {
        ck->skipped = true;
        return;
    }
    rt_spelling sp = rt_spell(intern(member));
    Try t = {&sp, space};
    if (is_parametric(m))
        ck_error(ck, loc, "`%s` is a parametric module: it has members only when it is applied",
                 module);
    else if (module_member(ck, m, intern(member), SPACE_TERM) && space == SPACE_TERM)
        ck_error(ck, loc, "`%s.%s` is not a module", module, member);
    else {
        if (!is_operator_name(member))
            module_each(ck, m, try_member, &t);
        if (sp.nearest)
            ck_error(ck, loc, "unknown %s `%s.%s`; did you mean `%s.%s`?", space_words[space],
                     module, member, module, sp.nearest);
        else
            ck_error(ck, loc, "`%s` has no %s `%s`", module,
                     space == SPACE_TERM ? "member" : space_words[space], member);
    }
}

/* The binding of a name, with or without dots; NULL if there is none. */
static Binding *find_binding(Ck *ck, const char *name, Space space)
{
    const char *dot = last_dot(name), *known;
    Module *outer;
    if (dot) {
        Module *m = module_path(ck, intern_n(name, (size_t)(dot - name)), &known, &outer);
        return m ? module_member(ck, m, intern(dot + 1), space) : NULL;
    }
    Binding *b = in_scope(ck, name, space);
    return b || space != SPACE_TERM ? b : find_builtin(ck, name);
}

/* The name of that member of some module that is known, or NULL. */
static const char *in_some_module(Ck *ck, const char *name)
{
    static const Scalar likely[] = {S_F32, S_I32, S_BOOL};
    for (const Scope *s = ck->scopes[SPACE_TERM]; s && !diag_is_full(); s = s->up) {
        bool module = s->bind && s->bind->kind == BIND_MODULE && !is_parametric(s->bind->module);
        const Binding *b = module ? module_member(ck, s->bind->module, name, SPACE_TERM) : NULL;
        if (b && b->kind != BIND_MODULE)
            return arena_printf(ck->a, "%s.%s", s->name, name);
    }
    for (size_t i = 0; i < sizeof likely / sizeof *likely; i++) {
        const char *member = arena_printf(ck->a, "%s.%s", scalar_name(likely[i]), name);
        if (find_builtin(ck, intern(member)))
            return member;
    }
    return NULL;
}

/* What Futhark has, and the language here has not. */
static const char *unsupported(const char *name)
{
    static const char *const names[][2] = {
        {"vjp", "automatic differentiation"},  {"jvp", "automatic differentiation"},
        {"vjp2", "automatic differentiation"}, {"jvp2", "automatic differentiation"},
        {"scatter_stream", "an accumulator"},  {"reduce_by_index_stream", "an accumulator"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i][0]))
            return names[i][1];
    return NULL;
}

/* Whether the declaration at work has been told that the name is not known. */
static bool told_unknown(Ck *ck, const char *name)
{
    for (int i = 0; i < ck->unknown.n; i++)
        if (ck->unknown.at[i] == name) {
            ck->skipped = true;
            return true;
        }
    vec_push(ck->a, &ck->unknown, name);
    return false;
}

Binding *find_value(Ck *ck, const char *name, Loc loc)
{
    Binding *b = find_binding(ck, name, SPACE_TERM);
    Scalar s;
    if (last_dot(name))
        note_parts(ck, name, loc, SPACE_TERM);
    if (b && b->kind != BIND_MODULE)
        return b;
    if (b) {
        if (is_parametric(b->module))
            ck_error(ck, loc,
                     "`%s` is a parametric module, not a value; apply it in a declaration: `module "
                     "m = %s ...`",
                     name, name);
        else
            ck_error(ck, loc, "`%s` is a module, not a value", name);
        return NULL;
    }
    if (last_dot(name)) {
        report_member(ck, name, loc, SPACE_TERM);
        return NULL;
    }
    if (report_not_yet(ck, name, loc, SPACE_TERM))
        return NULL;
    if (unsupported(name)) {
        ck_error(ck, loc, "`%s`, %s, is not supported", name, unsupported(name));
        return NULL;
    }
    const char *type = scalar_from_name(name, &s) ? name : foreign_type(name);
    if (!type && report_other_space(ck, name, loc, SPACE_TERM, "value"))
        return NULL;
    if (type) {
        ck_error(ck, loc, "`%s` is a type%s; convert with `%s.from_type`, as in `%s.i64 x`", name,
                 type == name ? "" : arena_printf(ck->a, ", here called `%s`", type), type, type);
        return NULL;
    }
    if (told_unknown(ck, name))
        return NULL;
    const char *member = in_some_module(ck, name);
    if (member) {
        ck_error(ck, loc, "unknown name `%s`; did you mean `%s`?", name, member);
        return NULL;
    }
    rt_spelling sp = rt_spell(name);
    if (!is_operator_name(name)) {
        try_scope(ck, SPACE_TERM, &sp);
        try_builtins(&sp);
    }
    if (sp.nearest)
        ck_error(ck, loc, "unknown name `%s`; did you mean `%s`?", name, sp.nearest);
    else
        ck_error(ck, loc, "unknown %s `%s`", is_operator_name(name) ? "operator" : "name", name);
    return NULL;
}

Module *find_module(Ck *ck, const char *name, Loc loc)
{
    const char *known;
    Module *outer, *m = module_path(ck, name, &known, &outer);
    if (m)
        return m;
    if (last_dot(name)) {
        report_member(ck, name, loc, SPACE_TERM);
        return NULL;
    }
    Binding *b = find_binding(ck, name, SPACE_TERM);
    if (b) {
        ck_error(ck, loc, "`%s` is a value, not a module", name);
        if (b->loc.beg)
            ck_note(ck, b->loc, "it is defined here");
        return NULL;
    }
    if (report_other_space(ck, name, loc, SPACE_TERM, "module") ||
        report_not_yet(ck, name, loc, SPACE_TERM))
        return NULL;
    rt_spelling sp = rt_spell(name);
    for (const Scope *s = ck->scopes[SPACE_TERM]; s && !diag_is_full(); s = s->up)
        if (s->bind && s->bind->kind == BIND_MODULE)
            rt_spell_try(&sp, s->name);
    for (int i = 0; i < N_SCALARS; i++)
        rt_spell_try(&sp, scalar_name((Scalar)i));
    if (sp.nearest)
        ck_error(ck, loc, "unknown module `%s`; did you mean `%s`?", name, sp.nearest);
    else
        ck_error(ck, loc, "unknown module `%s`", name);
    return NULL;
}

struct ModSig *find_sig(Ck *ck, const char *name, Loc loc)
{
    Binding *b = find_binding(ck, name, SPACE_SIG);
    note_parts(ck, name, loc, SPACE_SIG);
    if (b)
        return b->sig;
    if (last_dot(name)) {
        report_member(ck, name, loc, SPACE_SIG);
        return NULL;
    }
    if (report_other_space(ck, name, loc, SPACE_SIG, "module type") ||
        report_not_yet(ck, name, loc, SPACE_SIG))
        return NULL;
    Scalar scalar;
    if (scalar_from_name(name, &scalar)) {
        ck_error(ck, loc, "`%s` is a type and a module, not a module type", name);
        return NULL;
    }
    rt_spelling sp = rt_spell(name);
    try_scope(ck, SPACE_SIG, &sp);
    if (sp.nearest)
        ck_error(ck, loc, "unknown module type `%s`; did you mean `%s`?", name, sp.nearest);
    else
        ck_error(ck, loc, "unknown module type `%s`", name);
    return NULL;
}

Binding *find_type(Ck *ck, const char *name, Loc loc)
{
    Binding *b = find_binding(ck, name, SPACE_TYPE);
    note_parts(ck, name, loc, SPACE_TYPE);
    if (b)
        return b;
    if (last_dot(name)) {
        report_member(ck, name, loc, SPACE_TYPE);
        return NULL;
    }
    if (!strcmp(name, "f16")) {
        ck_error(ck, loc, "type `f16` is not supported");
        return NULL;
    }
    bool other = !foreign_type(name) && report_other_space(ck, name, loc, SPACE_TYPE, "type");
    if (other || report_not_yet(ck, name, loc, SPACE_TYPE))
        return NULL;
    if (told_unknown(ck, name))
        return NULL;
    rt_spelling sp = rt_spell(name);
    try_scope(ck, SPACE_TYPE, &sp);
    for (int i = 0; i < N_SCALARS; i++)
        rt_spell_try(&sp, scalar_name((Scalar)i));
    const char *near = foreign_type(name) ? foreign_type(name) : sp.nearest;
    if (near)
        ck_error(ck, loc, "unknown type `%s`; did you mean `%s`?", name, near);
    else
        ck_error(ck, loc, "unknown type `%s`", name);
    return NULL;
}
