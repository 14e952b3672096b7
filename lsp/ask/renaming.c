/* textDocument/rename and prepareRename. What is changed is what must be called alike: the name
 * that is meant, what it stands for in modules, what modules must have for it. Whether the program
 * is the same afterwards is not argued but tried: it is looked at again as it would be then, and
 * each name has to mean what it meant. So captured names, taken ones and operators of another
 * precedence are found in one way. */
#include "lsp/look.h"

#include "base/intern.h"
#include "base/ptrmap.h"
#include "packages/record.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef VEC(Site) Sites;

/* What is renamed. */
typedef struct {
    const char *name;
    VEC(uint32_t) defs;       /* where it is defined */
    VEC(const char *) wholes; /* of a constructor or field: what it is a part of */
    bool fixed;               /* the language has called something so that must be called alike */
} Family;

typedef struct {
    const Query *q;
    Look look;
    PackageFiles *packages;
    Site at;
    Family family;
    const char *name; /* what it is to be called */
    Sites sites;      /* that concern both names, of all files, in the order of the walk */
    Sites fields;     /* names that stand for a field, too: {x} is {x = x} */
} Renaming;

/* --- Names in texts ------------------------------------------------------------------------- */

static bool is_operator(const char *name)
{
    return !(isalpha((unsigned char)*name) || *name == '_');
}

/* The name itself where it is written: without `#`, backquotes or brackets. */
static Loc name_within(const File *f, Loc loc, const char *name)
{
    const char *text = f->text;
    size_t n = strlen(name), beg = loc.beg - f->base, end = loc.end - f->base;
    bool word = !is_operator(name);
    for (size_t at = end >= n ? end - n + 1 : 0; at-- > beg;)
        if (!memcmp(text + at, name, n) &&
            !(word && ((at > beg && text_in_name(text[at - 1])) || text_in_name(text[at + n]))))
            return (Loc){f->base + (uint32_t)at, f->base + (uint32_t)(at + n)};
    return NO_LOC;
}

/* --- The names of the program --------------------------------------------------------------- */

/* Is it written with one of both names, or a part of what has a part of such a name? What names of
 * another spelling mean does not depend on these. But all names stand in another order if an
 * operator has another precedence. */
static bool concerns(const Renaming *r, const Site *s)
{
    const char *const names[] = {r->family.name, r->name};
    const File *f = look_file(&r->look, s->loc);
    if (is_operator(r->family.name))
        return true;
    for (int i = 0; i < 2; i++)
        if ((f && name_within(f, s->loc, names[i]).beg) || (s->whole && strstr(s->whole, names[i])))
            return true;
    return false;
}

static void keep_site(void *env, const Site *s)
{
    Renaming *r = env;
    if (concerns(r, s))
        vec_push(r->look.a, &r->sites, *s);
}

/* Is nothing between two places but blanks, comments, commas and what opens a record? */
static bool nothing_between(const File *f, uint32_t from, uint32_t to)
{
    const char *s = f->text + (from - f->base), *end = f->text + (to - f->base);
    for (; s < end; s++) {
        if (s[0] == '-' && s[1] == '-')
            s += strcspn(s, "\n");
        else if (*s == '=' || text_in_name(*s))
            return false;
    }
    return true;
}

/* A part of a record: a field of its name without one being written. */
static void keep_field(Renaming *r, uint32_t from, Loc at, const char *name, const char *field)
{
    bool ours = name == field && (name == r->family.name || name == r->name);
    const File *f = ours ? look_file(&r->look, at) : NULL;
    if (f && from && nothing_between(f, from, at.beg))
        vec_push(r->look.a, &r->fields, (Site){.loc = at, .name = name});
}

static void keep_fields_of_exp(void *env, const AExp *e)
{
    uint32_t from = e->loc.beg;
    for (int i = 0; e->kind == AE_RECORD && i < e->seq.elems.n; i++) {
        const AExp *x = e->seq.elems.at[i];
        if (x->kind == AE_VAR && !x->parens)
            keep_field(env, from, x->loc, x->var.name, e->seq.names.at[i]);
        from = x->loc.end;
    }
}

static void keep_fields_of_pat(void *env, const Pat *p)
{
    uint32_t from = p->loc.beg;
    for (int i = 0; p->kind == P_RECORD && i < p->elems.n; i++) {
        const Pat *x = p->elems.at[i], *v = x->kind == P_ASCRIBE ? x->pat : x;
        if (v->kind == P_VAR)
            keep_field(env, from, v->loc, v->name, p->names.at[i]);
        from = x->loc.end;
    }
}

static void collect(Renaming *r)
{
    Visit v = {.env = r, .site = keep_site, .exp = keep_fields_of_exp, .pat = keep_fields_of_pat};
    r->sites.n = r->fields.n = 0;
    for (int i = 0; i < r->look.ast->files.n; i++)
        if (r->look.ast->files.at[i]->module) /* others do not read what is renamed */
            sites_of_file(r->look.ast, r->look.ast->files.at[i], &v);
}

/* --- What must be called alike --------------------------------------------------------------- */

static bool has_def(const Family *f, uint32_t at)
{
    for (int i = 0; i < f->defs.n; i++)
        if (f->defs.at[i] == at)
            return true;
    return false;
}

static bool add_def(Renaming *r, Loc def)
{
    r->family.fixed |= !look_file(&r->look, def);
    if (has_def(&r->family, def.beg))
        return false;
    vec_push(r->look.a, &r->family.defs, def.beg);
    return true;
}

static bool has_whole(const Family *f, const char *whole)
{
    for (int i = 0; i < f->wholes.n; i++)
        if (f->wholes.at[i] == whole)
            return true;
    return false;
}

static bool belongs(const Family *f, const Site *s)
{
    if (s->whole)
        return s->name == f->name && has_whole(f, s->whole);
    bool found = s->bind && s->bind->name == f->name && has_def(f, s->def.beg);
    for (const Binding *b = s->bind; b && !found; b = b->stands)
        found = b->name == f->name && b->loc.beg && has_def(f, b->loc.beg);
    return found;
}

static int by_place(const void *a, const void *b)
{
    const Site *x = *(const Site *const *)a, *y = *(const Site *const *)b;
    return x->loc.beg != y->loc.beg ? (x->loc.beg < y->loc.beg ? -1 : 1) : x < y ? -1 : x > y;
}

/* The sites in the order of places. */
static const Site **sorted(const Renaming *r)
{
    const Site **all = NEWN(r->look.a, const Site *, r->sites.n + 1);
    for (int i = 0; i < r->sites.n; i++)
        all[i] = &r->sites.at[i];
    qsort(all, (size_t)r->sites.n, sizeof *all, by_place);
    return all;
}

/* Names at one place are one: `let a[i] = v` makes a new `a` of the one before. */
static bool grow_by_places(Renaming *r, const Site **all)
{
    bool more = false;
    for (int i = 0, j; i < r->sites.n; i = j) {
        bool any = false;
        for (j = i; j < r->sites.n && all[j]->loc.beg == all[i]->loc.beg; j++)
            any |= belongs(&r->family, all[j]);
        for (int k = i; any && j > i + 1 && k < j; k++)
            if (all[k]->bind && all[k]->bind->name == r->family.name)
                more |= add_def(r, all[k]->def);
    }
    return more;
}

static bool grow_by_matches(Renaming *r)
{
    const Ast *ast = r->look.ast;
    bool more = false;
    for (int i = 0; i < ast->matches.n; i++) {
        const NameMatch *m = &ast->matches.at[i];
        if (has_def(&r->family, m->asked.beg) ||
            (m->given.beg && has_def(&r->family, m->given.beg))) {
            more |= add_def(r, m->asked);
            more |= add_def(r, m->given);
        }
    }
    return more;
}

static void find_family(Renaming *r, const Site **all)
{
    if (r->at.whole)
        vec_push(r->look.a, &r->family.wholes, r->at.whole);
    else
        add_def(r, r->at.def);
    while (!r->at.whole && (grow_by_places(r, all) | grow_by_matches(r))) {
    }
}

/* --- What is asked -------------------------------------------------------------------------- */

/* May the file be changed? Those of packages are as they were published. */
static bool may_be_changed(const Renaming *r, const File *f)
{
    return !package_has_file(r->packages, f->path, 0) ||
           query_refuse(r->q,
                        "`%s` stands in %s, which is of a package: the next `minifut pkg sync` "
                        "would undo the change, or refuse to",
                        r->family.name, f->path);
}

/* What has the field of an expression of which the type is not known? */
static bool fields_are_known(const Renaming *r)
{
    return !r->at.field || !diag_wrong() ||
           query_refuse(r->q, "which values have the field `%s` is not known: there are errors",
                        r->family.name);
}

/* Looks at the name under the cursor; false: it cannot be renamed. */
static bool find_name(Renaming *r)
{
    const Query *q = r->q;
    uint32_t place;
    r->look = look_at(q->a, q->docs, q->doc, LOOK_NAMES, q->at, q->at);
    Look *l = &r->look;
    if (!look_is_current(l))
        return query_refuse(q, "there is a syntax error: what names mean is not known");
    if (!look_place(l, q->at, &place) || !site_at(l, place, &r->at) || !(r->at.bind || r->at.whole))
        return query_refuse(q, "there is no name here that can be changed");
    const char *name = r->at.whole ? r->at.name : r->at.bind->name;
    r->family.name = name;
    if (!look_file(l, r->at.def) || strchr(name, ' '))
        return query_refuse(q, "`%s` is called so by the language", name);
    if (!name_within(l->ast->main, r->at.loc, name).beg)
        return query_refuse(q, "there is no name here that can be changed");
    r->packages = package_files_new(q->a);
    return fields_are_known(r) && may_be_changed(r, look_file(l, r->at.def));
}

cJSON *query_renamable(const Query *q)
{
    Renaming r = {.q = q};
    if (!find_name(&r))
        return NULL;
    cJSON *o = cJSON_CreateObject();
    Loc loc = name_within(r.look.ast->main, r.at.loc, r.family.name);
    cJSON_AddItemToObject(o, "range", look_range(&r.look, loc));
    cJSON_AddItemToObject(o, "placeholder", json_text(r.family.name));
    return o;
}

/* Is it what a name of that kind may be, and not one that the language has? */
static bool may_be_called(const Renaming *r, const char *name)
{
    Ast *ast = r->look.ast;
    PrimType s;
    bool op = is_operator(r->family.name);
    size_t n = 0;
    while (op ? name[n] && strchr("+-*/%=!><|&^.", name[n]) : text_in_name(name[n]))
        n++;
    if (!n || name[n] || (op ? *name == '.' : is_operator(name)))
        return query_refuse(r->q, "`%s` is no %s", name, op ? "operator" : "name");
    if (show_is_keyword(name))
        return query_refuse(r->q, "`%s` is a keyword", name);
    if (r->at.field) /* which never stand alone */
        return true;
    bool known = fe_builtin(ast, name) || prim_named(name, &s);
    for (int i = 0; i < ast->prelude->decls.n && !known; i++) {
        const Decl *d = &ast->prelude->decls.at[i];
        const char *has = d->def ? d->def->name : d->type ? d->type->name : d->name;
        known = has && !d->local && strcmp(has, name) == 0;
    }
    return !known || query_refuse(r->q, "`%s` is a name that all programs have", name);
}

/* Are all names that may be meant understood? */
static bool all_understood(const Renaming *r)
{
    const Ast *ast = r->look.ast;
    for (int i = 0; i < ast->files.n; i++)
        if (ast->files.at[i]->module && !ast->files.at[i]->parsed)
            return query_refuse(r->q, "%s has a syntax error: what names mean is not known",
                                ast->files.at[i]->path);
    for (int i = 0; i < r->sites.n; i++) {
        const Site *s = &r->sites.at[i];
        const File *f = look_file(&r->look, s->loc);
        if (!s->bind && !s->whole && f && name_within(f, s->loc, r->family.name).beg)
            return query_refuse(r->q, "what `%s` means at %s is not known: there are errors",
                                r->family.name, diag_place_str(s->loc));
    }
    return !r->family.fixed ||
           query_refuse(r->q, "`%s` is called so by the language, or by a module type of it",
                        r->family.name);
}

/* --- Changes -------------------------------------------------------------------------------- */

typedef struct {
    Loc at;
    const char *text; /* instead */
} Change;
typedef VEC(Change) Changes;

static bool is_field(const Renaming *r, Loc loc)
{
    for (int i = 0; i < r->fields.n; i++)
        if (r->fields.at[i].loc.beg == loc.beg)
            return true;
    return false;
}

/* What a name becomes: of `{x}` the field or the variable keeps its own. */
static const char *new_text(const Renaming *r, const Site *s, const char *name)
{
    const char *old = r->family.name;
    return s->pun                             ? arena_printf(r->look.a, "%s = %s", name, old)
           : !s->whole && is_field(r, s->loc) ? arena_printf(r->look.a, "%s = %s", old, name)
                                              : name;
}

/* Those of a file, in the order of places. */
static Changes changes_of(const Renaming *r, const Site **all, const File *f, const char *name)
{
    Changes cs = {0};
    for (int i = 0; i < r->sites.n; i++) {
        const Site *s = all[i];
        if (look_file(&r->look, s->loc) != f || !belongs(&r->family, s))
            continue;
        Loc at = name_within(f, s->loc, r->family.name);
        if (at.beg && !(cs.n && vec_last(&cs).at.beg == at.beg))
            vec_push(r->look.a, &cs, (Change){at, new_text(r, s, name)});
    }
    return cs;
}

/* The document that a file would be; its text is in the arena. */
static Document *changed(const Renaming *r, const File *f, const Changes *cs)
{
    Arena *a = r->look.a;
    const Document *open =
        f == r->look.ast->main ? r->q->doc : document_of_file(r->q->docs, f->path);
    Document *d = NEW(a, Document);
    Out o = {0};
    uint32_t from = f->base;
    for (int i = 0; i < cs->n; i++) {
        out_putn(&o, f->text + (from - f->base), cs->at[i].at.beg - from);
        out_puts(&o, cs->at[i].text);
        from = cs->at[i].at.end;
    }
    out_puts(&o, f->text + (from - f->base));
    if (open)
        *d = *open;
    d->path = arena_strdup(a, open ? open->path : f->path);
    d->text = arena_strdup(a, o.text ? o.text : "");
    d->n = o.n;
    d->good = NULL;
    out_free(&o);
    return d;
}

static cJSON *edit_of(const Renaming *r, const File *f, const Changes *cs)
{
    const Document *open =
        f == r->look.ast->main ? r->q->doc : document_of_file(r->q->docs, f->path);
    cJSON *o = cJSON_CreateObject(), *at = cJSON_AddObjectToObject(o, "textDocument");
    cJSON *edits = cJSON_AddArrayToObject(o, "edits");
    cJSON_AddItemToObject(at, "uri", look_uri(&r->look, f));
    cJSON_AddItemToObject(at, "version",
                          open ? cJSON_CreateNumber(open->version) : cJSON_CreateNull());
    for (int i = 0; i < cs->n; i++) {
        cJSON *e = cJSON_CreateObject();
        cJSON_AddItemToObject(e, "range", look_range((Look *)&r->look, cs->at[i].at));
        cJSON_AddItemToObject(e, "newText", json_text(cs->at[i].text));
        cJSON_AddItemToArray(edits, e);
    }
    return o;
}

/* --- Whether it is the same program --------------------------------------------------------- */

/* What tells the things apart that names of a look mean. */
static uintptr_t meaning(const Look *l, const Site *s)
{
    if (s->whole)
        return (uintptr_t)intern_member(s->whole, s->name);
    if (!s->bind)
        return 0;
    return look_file(l, s->def) ? s->def.beg : (uintptr_t)s->bind->name;
}

/* Notes that one meaning goes with another one; false: it has gone with yet another. Either may be
 * 0. */
static bool goes_with(PtrMap *m, uintptr_t one, uintptr_t other)
{
    const void *key = (const void *)(one + 1), *value = (const void *)(other + 1);
    const void *had = ptrmap_get(m, key);
    if (!had)
        ptrmap_put(m, key, value);
    return !had || had == value;
}

/* A place where a name means something else, or {0}. */
static Loc other_meaning(const Renaming *was, const Renaming *is)
{
    PtrMap *became = ptrmap_new(was->look.a), *came_of = ptrmap_new(was->look.a);
    for (int i = 0; i < was->sites.n; i++) {
        const Site *s = &was->sites.at[i], *t = &is->sites.at[i];
        uintptr_t then = meaning(&was->look, s), now = meaning(&is->look, t);
        bool same_kind = !s->bind == !t->bind && !s->whole == !t->whole && s->binds == t->binds;
        if (!same_kind || (!look_file(&was->look, s->def) && !s->whole && then != now) ||
            !goes_with(became, then, now) || !goes_with(came_of, now, then))
            return t->loc;
    }
    return NO_LOC;
}

static void first_error(void *env, const DiagMessage *m, const DiagMessage *notes, int n_notes)
{
    DiagMessage *first = env;
    (void)notes, (void)n_notes;
    if (m->kind != DIAG_WARNING && !first->text)
        *first = *m;
}

/* Looks at the program as it would be. errors: those that it has. */
static bool stays(const Renaming *r, const Documents *docs, const Document *doc, int errors)
{
    Renaming then = {.q = r->q, .family.name = r->family.name, .name = r->name};
    const char *name = r->name;
    DiagMessage first = {0};
    LookKind as_before = r->look.ast->names_only ? LOOK_NAMES : LOOK_CHECKED;
    then.look = look_at(r->look.a, docs, doc, as_before, 0, 0);
    for (int i = 0; i < r->look.ast->files.n; i++) {
        File *f = fe_parse_besides(then.look.ast, r->look.ast->files.at[i]->path);
        if (f && r->look.ast->files.at[i]->module && !f->module)
            fe_check_besides(then.look.ast, f);
    }
    look_sort_uses(&then.look);
    diag_take(first_error, &first);
    if (diag_wrong() > errors)
        return query_refuse(r->q, "with `%s` there would be an error at %s: %s", name,
                            diag_place_str(first.loc), first.text ? first.text : "");
    collect(&then);
    Loc other = then.sites.n == r->sites.n ? other_meaning(r, &then) : r->at.loc;
    return !other.beg ||
           query_refuse(r->q, "at %s a name would mean something else", diag_place_str(other));
}

/* --- The request ---------------------------------------------------------------------------- */

/* {documentChanges}, or {changes} for editors that know nothing else. */
static cJSON *workspace_edit(const Query *q, cJSON *changes)
{
    cJSON *o = cJSON_CreateObject(), *c;
    if (q->client->versioned) {
        cJSON_AddItemToObject(o, "documentChanges", changes);
        return o;
    }
    cJSON *by_uri = cJSON_AddObjectToObject(o, "changes");
    cJSON_ArrayForEach(c, changes)
    {
        cJSON_AddItemToObject(by_uri, json_string(c, "textDocument.uri"),
                              cJSON_DetachItemFromObjectCaseSensitive(c, "edits"));
    }
    cJSON_Delete(changes);
    return o;
}

cJSON *query_rename(const Query *q)
{
    const char *name = intern(json_string(q->params, "newName"));
    Renaming r = {.q = q, .name = name};
    if (!find_name(&r) || !may_be_called(&r, name))
        return NULL;
    sites_look_at_readers(&r.look, q->client, &r.at);
    int errors = diag_wrong();
    collect(&r);
    const Site **all = sorted(&r);
    find_family(&r, all);
    if (!fields_are_known(&r) || !all_understood(&r))
        return NULL;
    Documents then = *q->docs;
    const Document *doc = q->doc;
    cJSON *changes = cJSON_CreateArray();
    for (int i = 0; i < r.look.ast->files.n; i++) {
        const File *f = r.look.ast->files.at[i];
        Changes cs = changes_of(&r, all, f, name);
        if (!cs.n)
            continue;
        if (!may_be_changed(&r, f))
            return NULL;
        Document *d = changed(&r, f, &cs);
        d->next = then.first;
        then.first = d;
        doc = f == r.look.ast->main ? d : doc;
        cJSON_AddItemToArray(changes, edit_of(&r, f, &cs));
    }
    if (name != r.family.name && !stays(&r, &then, doc, errors))
        return NULL;
    return workspace_edit(q, changes);
}
