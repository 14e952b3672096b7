/* Messages about names that are not there: what they may be meant to be. */
#include "frontend/names/names.h"

#include "base/intern.h"
#include "common/spell.h"

#include <ctype.h>
#include <string.h>

/* Where the name is declared further down, {0,0} if it is not. */
static Loc later_decl(Ck *ck, const char *name, Space space)
{
    ck->below = true;
    for (int i = ck->decl + 1; ck->decls && i < ck->decls->n && !diag_is_full(); i++) {
        Loc at = declared_at(&ck->decls->at[i], name, space);
        if (at.beg)
            return at;
    }
    return (Loc){0, 0};
}

static void report_later(Ck *ck, const char *name, Loc loc, Loc later)
{
    ck_error(ck, loc, "`%s` is used before its definition", name);
    ck_note(ck, later, "it is defined here; a definition may use earlier ones only");
}

/* Words of other languages, and those that say the same here. */
typedef const char *Foreign[2];

static const Foreign foreign_types[] = {{"int", "i32"},     {"float", "f32"}, {"double", "f64"},
                                        {"long", "i64"},    {"char", "u8"},   {"boolean", "bool"},
                                        {"integer", "i32"}, {"real", "f64"}};

static const Foreign foreign_values[] = {{"len", "length"},
                                         {"size", "length"},
                                         {"count", "length"},
                                         {"fold", "reduce"},
                                         {"foldl1", "reduce"},
                                         {"foldr1", "reduce"},
                                         {"accumulate", "scan"},
                                         {"cumsum", "scan"},
                                         {"scanl", "scan"},
                                         {"scanl1", "scan"},
                                         {"range", "iota"},
                                         {"arange", "iota"},
                                         {"append", "++"},
                                         {"concatMap", "flatten"},
                                         {"div", "/"},
                                         {"mod", "%"},
                                         {"rem", "%%"},
                                         {"quot", "//"},
                                         {"pow", "**"},
                                         {"xor", "^"},
                                         {"fst", ".0"},
                                         {"snd", ".1"},
                                         {"fill", "replicate"},
                                         {"repeat", "replicate"},
                                         {"full", "replicate"},
                                         {"isEmpty", "null"},
                                         {"zipWith", "map2"},
                                         {"zipWith3", "map3"},
                                         {"print", "trace"},
                                         {"println", "trace"},
                                         {"printf", "trace"},
                                         {"clone", "copy"},
                                         {"reshape", "unflatten"},
                                         {"ravel", "flatten"},
                                         {"where", "filter"},
                                         {"select", "filter"}};

static const char *here(const Foreign *words, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(name, words[i][0]))
            return words[i][1];
    return NULL;
}
#define HERE(words, name) here(words, sizeof(words) / sizeof *(words), name)

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
        const Def *d = ck->current.at[i];
        if (d->name == name) {
            ck_error(ck, loc,
                     d->params.n ? "`%s` calls itself: then the type of its result has to be "
                                   "written, as in `def f (n: i64): i64 = ..`"
                                 : "`%s` is used in its own definition, but is no function",
                     name);
            ck_note(ck, d->loc, "`%s` is being defined here", name);
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
    if (self && space != SPACE_TERM && declared_at(self, name, space).beg) {
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

const Binding *nearest_member(Ck *ck, Module *m, const char *name, Space space)
{
    rt_spelling sp = rt_spell(name);
    Try t = {&sp, space};
    if (!is_operator_name(name))
        module_each(ck, m, try_member, &t);
    return sp.nearest ? module_member(ck, m, intern(sp.nearest), space) : NULL;
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
        const char *first = intern_n(name, strcspn(name, "."));
        report_no_module(ck, first, loc, find_binding(ck, first, SPACE_TERM));
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
        if (sp.nearest) {
            ck_error(ck, loc, "unknown %s `%s.%s`; did you mean `%s.%s`?", space_words[space],
                     module, member, module, sp.nearest);
            diag_fix_word(loc, member, sp.nearest);
        } else
            ck_error(ck, loc, "`%s` has no %s `%s`", module,
                     space == SPACE_TERM ? "member" : space_words[space], member);
    }
}

/* The name of that member of some module that is known, or NULL. */
static const char *in_some_module(Ck *ck, const char *name)
{
    static const PrimType likely[] = {T_F32, T_I32, T_BOOL};
    for (const Scope *s = ck->scopes[SPACE_TERM]; s && !diag_is_full(); s = s->up) {
        bool module = s->bind && s->bind->kind == BIND_MODULE && !is_parametric(s->bind->module);
        const Binding *b = module ? module_member(ck, s->bind->module, name, SPACE_TERM) : NULL;
        if (b && b->kind != BIND_MODULE)
            return arena_printf(ck->a, "%s.%s", s->name, name);
    }
    for (size_t i = 0; i < sizeof likely / sizeof *likely; i++) {
        const char *member = arena_printf(ck->a, "%s.%s", prim_type_text[likely[i]], name);
        if (find_builtin(ck, intern(member)))
            return member;
    }
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

/* near: what may have been meant, or NULL. */
static void report_unknown(Ck *ck, const char *what, const char *name, const char *near, Loc loc)
{
    if (!near) {
        ck_error(ck, loc, "unknown %s `%s`", what, name);
        return;
    }
    ck_error(ck, loc, "unknown %s `%s`; did you mean `%s`?", what, name, near);
    bool word = isalpha((unsigned char)*near) || *near == '_';
    diag_fix_word(loc, name, word ? near : arena_printf(ck->a, "(%s)", near));
}

void report_no_value(Ck *ck, const char *name, Loc loc, const Binding *b)
{
    PrimType s;
    if (b) {
        if (is_parametric(b->module))
            ck_error(ck, loc,
                     "`%s` is a parametric module, not a value; apply it in a declaration: `module "
                     "m = %s ...`",
                     name, name);
        else
            ck_error(ck, loc, "`%s` is a module, not a value", name);
        return;
    }
    if (last_dot(name)) {
        report_member(ck, name, loc, SPACE_TERM);
        return;
    }
    if (report_not_yet(ck, name, loc, SPACE_TERM))
        return;
    const char *type = prim_named(name, &s) ? name : HERE(foreign_types, name);
    if (!type && report_other_space(ck, name, loc, SPACE_TERM, "value"))
        return;
    if (type) {
        ck_error(ck, loc, "`%s` is a type%s; convert with `%s.from_type`, as in `%s.i64 x`", name,
                 type == name ? "" : arena_printf(ck->a, ", here called `%s`", type), type, type);
        return;
    }
    if (told_unknown(ck, name))
        return;
    const char *near = in_some_module(ck, name);
    near = near ? near : HERE(foreign_values, name);
    if (near) {
        report_unknown(ck, "name", name, near, loc);
        return;
    }
    rt_spelling sp = rt_spell(name);
    if (!is_operator_name(name)) {
        try_scope(ck, SPACE_TERM, &sp);
        try_builtins(&sp);
    }
    report_unknown(ck, is_operator_name(name) ? "operator" : "name", name, sp.nearest, loc);
}

void report_no_module(Ck *ck, const char *name, Loc loc, const Binding *b)
{
    if (last_dot(name)) {
        report_member(ck, name, loc, SPACE_TERM);
        return;
    }
    if (b) {
        ck_error(ck, loc, "`%s` is a value, not a module", name);
        if (b->loc.beg)
            ck_note(ck, b->loc, "it is defined here");
        return;
    }
    if (report_other_space(ck, name, loc, SPACE_TERM, "module") ||
        report_not_yet(ck, name, loc, SPACE_TERM))
        return;
    rt_spelling sp = rt_spell(name);
    for (const Scope *s = ck->scopes[SPACE_TERM]; s && !diag_is_full(); s = s->up)
        if (s->bind && s->bind->kind == BIND_MODULE)
            rt_spell_try(&sp, s->name);
    for (int i = 0; i < N_PRIM_TYPES; i++)
        rt_spell_try(&sp, prim_type_text[i]);
    report_unknown(ck, "module", name, sp.nearest, loc);
}

void report_no_sig(Ck *ck, const char *name, Loc loc)
{
    if (last_dot(name)) {
        report_member(ck, name, loc, SPACE_SIG);
        return;
    }
    if (report_other_space(ck, name, loc, SPACE_SIG, "module type") ||
        report_not_yet(ck, name, loc, SPACE_SIG))
        return;
    PrimType scalar;
    if (prim_named(name, &scalar)) {
        ck_error(ck, loc, "`%s` is a type and a module, not a module type", name);
        return;
    }
    rt_spelling sp = rt_spell(name);
    try_scope(ck, SPACE_SIG, &sp);
    report_unknown(ck, "module type", name, sp.nearest, loc);
}

void report_no_type(Ck *ck, const char *name, Loc loc)
{
    if (last_dot(name)) {
        report_member(ck, name, loc, SPACE_TYPE);
        return;
    }
    bool other =
        !HERE(foreign_types, name) && report_other_space(ck, name, loc, SPACE_TYPE, "type");
    if (other || report_not_yet(ck, name, loc, SPACE_TYPE))
        return;
    if (told_unknown(ck, name))
        return;
    rt_spelling sp = rt_spell(name);
    try_scope(ck, SPACE_TYPE, &sp);
    for (int i = 0; i < N_PRIM_TYPES; i++)
        rt_spell_try(&sp, prim_type_text[i]);
    report_unknown(ck, "type", name,
                   HERE(foreign_types, name) ? HERE(foreign_types, name) : sp.nearest, loc);
}
