/* textDocument/completion: the names in scope, members behind a point, keywords. Editors choose
 * among them by what has been typed. */
#include "lsp/look.h"

#include "base/intern.h"
#include "base/ptrmap.h"

#include <ctype.h>
#include <string.h>

/* Kinds of the protocol. */
enum {
    ITEM_FUNCTION = 3,
    ITEM_FIELD = 5,
    ITEM_VARIABLE = 6,
    ITEM_INTERFACE = 8,
    ITEM_MODULE = 9,
    ITEM_KEYWORD = 14,
    ITEM_ENUM_MEMBER = 20,
    ITEM_CONSTANT = 21,
    ITEM_STRUCT = 22,
    ITEM_TYPE_PARAMETER = 25
};

/* The nearer a name is bound, the further up it is shown. */
typedef enum { NEAR_LOCAL, NEAR_FILE, NEAR_IMPORT, NEAR_LANGUAGE, NEAR_KEYWORD } Near;

typedef struct {
    const char *name; /* interned */
    const Binding *bind;
    Near near;
} Known;

typedef struct {
    Look *look;
    uint32_t place;
    VEC(Known) known;     /* from the outermost on */
    const AType *matched; /* what the innermost `match` around takes apart, or NULL */
    const char *module;
    cJSON *items;
} Completion;

/* --- Names in scope ------------------------------------------------------------------------- */

static void know(Completion *c, const char *name, const Binding *b, Near near)
{
    vec_push(c->look->a, &c->known, (Known){name, b, near});
}

static void know_pat(Completion *c, const Pat *p)
{
    if (p->kind == P_VAR)
        know(c, p->name, p->bind, NEAR_LOCAL);
    for (int i = 0; i < p->elems.n; i++)
        know_pat(c, p->elems.at[i]);
    if (p->pat)
        know_pat(c, p->pat);
}

static void know_sizes(Completion *c, const Bindings *bs)
{
    for (int i = 0; i < bs->n; i++)
        know(c, bs->at[i]->name, bs->at[i], NEAR_LOCAL);
}

static void know_tparams(Completion *c, const TParams *tps)
{
    for (int i = 0; i < tps->n; i++)
        know(c, tps->at[i].name, tps->at[i].bind, NEAR_LOCAL);
}

typedef struct {
    Completion *c;
    Near near;
} Opened;

static void know_member(void *env, const Binding *b)
{
    const Opened *o = env;
    know(o->c, b->name, b, o->near);
}

static const AType *field_type(const AType *t, const char *name)
{
    int k = type_field(t, name);
    return k >= 0 ? type_deref(t->elems.at[k]) : NULL;
}

/* What `a.b.c` is, as far as it is known: a module, or a value of some type. */
typedef struct {
    const Binding *module;
    const AType *type;
} Whole;

static Whole whole_of(const Binding *b)
{
    bool module = b && b->kind == BIND_MODULE;
    return (Whole){module ? b : NULL, !module && b && b->type ? type_deref(b->type) : NULL};
}

typedef struct {
    const char *name;
    Whole found;
} Wanted;

static void want_member(void *env, const Binding *b)
{
    Wanted *w = env;
    if (b->name == w->name && (b->type || b->kind == BIND_MODULE))
        w->found = whole_of(b);
}

/* Of n bytes of text. */
static Whole chain_whole(const Completion *c, const char *text, size_t n)
{
    Whole it = {0};
    for (size_t at = 0; at < n;) {
        size_t k = 0;
        while (at + k < n && text[at + k] != '.')
            k++;
        Wanted w = {.name = intern_n(text + at, k)};
        if (at == 0) {
            for (int i = 0; i < c->known.n; i++) /* the innermost */
                if (c->known.at[i].name == w.name && c->known.at[i].bind)
                    want_member(&w, c->known.at[i].bind);
        } else if (it.module) {
            fe_members(it.module->module, want_member, &w);
        } else if (it.type) {
            w.found.type = field_type(it.type, w.name);
        }
        it = w.found;
        at += k + 1;
    }
    return it;
}

/* The members of the module of that name, in M.(...). */
static void know_opened(Completion *c, const char *module)
{
    Opened o = {c, NEAR_LOCAL};
    Whole it = chain_whole(c, module, strlen(module));
    if (it.module)
        fe_members(it.module->module, know_member, &o);
}

static void inside(Completion *c, const AExp *e);
static void inside_form(Completion *c, const AExp *e);

static void inside_child(void *env, AExp *e)
{
    Completion *c = env;
    if (loc_has(e->loc, c->place))
        inside(c, e);
}

static void inside_def(Completion *c, const Def *d)
{
    know_tparams(c, &d->tparams);
    for (int i = 0; i < d->params.n; i++)
        know_pat(c, d->params.at[i]);
    inside(c, d->body);
}

static void inside_case(Completion *c, const Case *k)
{
    if (!loc_has(k->body->loc, c->place))
        return;
    know_pat(c, k->pat);
    inside(c, k->body);
}

/* Adds what is bound around the place in an expression. */
static void inside(Completion *c, const AExp *e)
{
    if (e->open)
        know_opened(c, e->open);
    inside_form(c, e);
}

static void inside_form(Completion *c, const AExp *e)
{
    switch (e->kind) {
    case AE_LAMBDA:
        for (int i = 0; i < e->lambda.params.n; i++)
            know_pat(c, e->lambda.params.at[i]);
        inside(c, e->lambda.body);
        return;
    case AE_LET:
        if (c->place <= e->let.rhs->loc.end) {
            inside(c, e->let.rhs);
            return;
        }
        know_sizes(c, &e->let.sizes);
        know_pat(c, e->let.pat);
        inside(c, e->let.body);
        return;
    case AE_LETFUN:
        if (c->place <= e->letfun.def->body->loc.end) {
            inside_def(c, e->letfun.def);
            return;
        }
        know(c, e->letfun.def->name, e->letfun.def->bind, NEAR_LOCAL);
        inside(c, e->letfun.body);
        return;
    case AE_LOOP:
        if (loc_has(e->loop.init->loc, c->place)) {
            inside(c, e->loop.init);
            return;
        }
        know_sizes(c, &e->loop.sizes);
        know_pat(c, e->loop.pat);
        if (e->loop.var && c->place > e->loop.bound->loc.end)
            know_pat(c, e->loop.var);
        inside(c, c->place > e->loop.bound->loc.end ? e->loop.body : e->loop.bound);
        return;
    case AE_MATCH:
        if (loc_has(e->match.e->loc, c->place))
            inside(c, e->match.e);
        else
            c->matched = e->match.e->type;
        for (int i = 0; i < e->match.cases.n; i++)
            inside_case(c, &e->match.cases.at[i]);
        return;
    default: aexp_children(e, inside_child, c); return;
    }
}

static void know_decl(Completion *c, const Decl *d, Near near)
{
    Opened o = {c, d->import ? NEAR_IMPORT : near};
    if (d->opened)
        fe_members(d->opened, know_member, &o);
    else if (d->def)
        know(c, d->def->name, d->def->bind, near);
    else if (d->type)
        know(c, d->type->name, d->type->bind, near);
    else if (d->name)
        know(c, d->name, d->bind, near);
}

static void inside_decls(Completion *c, const Decls *ds);

static void inside_module(Completion *c, const ModExp *m)
{
    if (!m || !loc_has(m->loc, c->place))
        return;
    if (m->kind == ME_LAMBDA)
        know(c, m->param.name, bound_at(c->look->ast, m->param.loc), NEAR_LOCAL);
    inside_decls(c, &m->decls);
    inside_module(c, m->e);
    inside_module(c, m->arg);
}

static void inside_specs(Completion *c, const ModType *t)
{
    for (int i = 0; t->kind == MT_SPECS && i < t->specs.n; i++) {
        const Spec *s = t->specs.at[i];
        if (s->name && s->loc.end < c->place)
            know(c, s->name, bound_at(c->look->ast, s->loc), NEAR_LOCAL);
    }
}

static void inside_decls(Completion *c, const Decls *ds)
{
    for (int i = 0; i < ds->n && ds->at[i].loc.beg <= c->place; i++) {
        const Decl *d = &ds->at[i];
        if (d->loc.end < c->place)
            know_decl(c, d, NEAR_FILE);
        else if (d->def)
            inside_def(c, d->def);
        else if (d->type)
            know_tparams(c, &d->type->tparams);
        else if (d->mod)
            inside_module(c, d->mod);
        else if (d->modtype)
            inside_specs(c, d->modtype);
    }
}

static void names_in_scope(Completion *c)
{
    const Ast *ast = c->look->ast;
    for (int i = 0; i < ast->prelude->decls.n; i++)
        if (!ast->prelude->decls.at[i].local)
            know_decl(c, &ast->prelude->decls.at[i], NEAR_LANGUAGE);
    inside_decls(c, &ast->main->decls);
}

/* --- Items ---------------------------------------------------------------------------------- */

static void add(Completion *c, const char *label, int kind, const char *detail, const char *doc,
                Near near)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "label", label);
    cJSON_AddNumberToObject(o, "kind", kind);
    if (detail)
        cJSON_AddItemToObject(o, "detail", json_text(detail));
    if (doc)
        cJSON_AddItemToObject(o, "documentation", json_text(doc));
    cJSON_AddStringToObject(o, "sortText", arena_printf(c->look->a, "%d%s", (int)near, label));
    cJSON_AddItemToArray(c->items, o);
}

static bool is_word(const char *name)
{
    return isalpha((unsigned char)*name) || *name == '_';
}

static void add_binding(Completion *c, const char *label, const Binding *b, Near near)
{
    int kind = ITEM_VARIABLE;
    const char *detail = NULL;
    if (b && b->kind == BIND_TYPE)
        kind = ITEM_STRUCT;
    else if (b && b->kind == BIND_MODULE)
        kind = ITEM_MODULE;
    else if (b && b->kind == BIND_MODTYPE)
        kind = ITEM_INTERFACE;
    else if (b && b->kind == BIND_TYPE_PARAM)
        kind = ITEM_TYPE_PARAMETER;
    else if (b && b->type)
        kind = type_arity(b->type)                              ? ITEM_FUNCTION
               : b->kind == BIND_DEF || b->kind == BIND_BUILTIN ? ITEM_CONSTANT
                                                                : ITEM_VARIABLE;
    if (b && b->type)
        detail = type_str(c->look->a, b->type);
    add(c, label, kind, detail, b ? show_doc(b) : NULL, near);
}

static void add_builtin(void *env, const char *name)
{
    Completion *c = env;
    if (!strchr(name, ' ') && is_word(name)) {
        const char *full = c->module ? arena_printf(c->look->a, "%s.%s", c->module, name) : name;
        add_binding(c, name, fe_builtin(c->look->ast, full), NEAR_LANGUAGE);
    }
}

static void add_known(Completion *c)
{
    PtrSet *seen = ptrmap_new(c->look->a);
    for (int i = c->known.n - 1; i >= 0; i--) {
        const Known *k = &c->known.at[i];
        if (!ptrset_has(seen, k->name) && is_word(k->name))
            add_binding(c, k->name, k->bind, k->near);
        ptrset_add(seen, k->name);
    }
}

static void add_all(Completion *c)
{
    add_known(c);
    fe_builtins(NULL, add_builtin, c);
    for (int i = 0; i < N_PRIM_TYPES; i++)
        add(c, prim_type_text[i], ITEM_MODULE, "a type, and the module of what there is on it",
            NULL, NEAR_LANGUAGE);
    for (int i = 0; show_keywords[i]; i++)
        add(c, show_keywords[i], ITEM_KEYWORD, NULL, NULL, NEAR_KEYWORD);
}

/* --- Behind a point ------------------------------------------------------------------------- */

static void add_fields(Completion *c, const AType *t)
{
    Arena *a = c->look->a;
    for (int i = 0; (t->kind == TY_RECORD || t->kind == TY_TUPLE) && i < t->elems.n; i++)
        add(c, t->kind == TY_RECORD ? t->names.at[i] : arena_printf(a, "%d", i), ITEM_FIELD,
            type_str(a, t->elems.at[i]), NULL, NEAR_LOCAL);
}

static void add_member(void *env, const Binding *b)
{
    if (is_word(b->name))
        add_binding(env, b->name, b, NEAR_LOCAL);
}

static void add_members(Completion *c, const char *text, size_t n)
{
    PrimType s;
    c->module = arena_strndup(c->look->a, text, n);
    if (prim_named(c->module, &s)) {
        fe_builtins(c->module, add_builtin, c);
        return;
    }
    Whole it = chain_whole(c, text, n);
    if (it.module)
        fe_members(it.module->module, add_member, c);
    else if (it.type)
        add_fields(c, it.type);
}

/* --- Behind # ------------------------------------------------------------------------------- */

typedef struct {
    Completion *c;
    PtrSet *seen;
} Constructors;

static void add_constructor(Constructors *all, const char *name, const AType *sum, const char *text)
{
    if (ptrset_has(all->seen, name))
        return;
    ptrset_add(all->seen, name);
    Arena *a = all->c->look->a;
    add(all->c, name, ITEM_ENUM_MEMBER, sum ? show_constructor(a, sum, name) : text, NULL,
        sum ? NEAR_LOCAL : NEAR_FILE);
}

static void constructor_site(void *env, const Site *s)
{
    Constructors *all = env;
    if (s->binds && s->alt) {
        const File *f = look_file(all->c->look, s->alt->loc);
        Loc loc = s->alt->loc;
        add_constructor(
            all, s->name, NULL,
            arena_strndup(all->c->look->a, f->text + (loc.beg - f->base), loc.end - loc.beg));
    }
}

/* Those of the sum that is matched on, then all that are written in types. */
static void add_constructors(Completion *c)
{
    const AType *sum = c->matched ? type_deref(c->matched) : NULL;
    Constructors all = {.c = c, .seen = ptrmap_new(c->look->a)};
    for (int i = 0; sum && sum->kind == TY_SUM && i < sum->names.n; i++)
        add_constructor(&all, sum->names.at[i], sum, NULL);
    const Ast *ast = c->look->ast;
    for (int i = 0; i < ast->files.n; i++)
        sites_of_file(ast, ast->files.at[i], &(Visit){.env = &all, .site = constructor_site});
}

/* --- The request ---------------------------------------------------------------------------- */

/* Is the place in a comment, or behind what looks like the start of one? */
static bool in_comment(const char *text, size_t at)
{
    while (at > 0 && text[at - 1] != '\n') {
        at--;
        if (text[at] == '-' && text[at + 1] == '-')
            return true;
    }
    return false;
}

cJSON *query_completion(const Query *q)
{
    const char *text = q->doc->text;
    size_t word = q->at, end = q->at;
    while (word > 0 && text_in_name(text[word - 1]))
        word--;
    while (text_in_name(text[end]))
        end++;
    bool range = word > 1 && text[word - 1] == '.' && text[word - 2] == '.';
    bool point = word > 0 && text[word - 1] == '.' && !range;
    size_t chain = word;
    while (point && chain > 0 && (text_in_name(text[chain - 1]) || text[chain - 1] == '.'))
        chain--;
    bool constructor = word > 0 && text[word - 1] == '#';
    if (constructor)
        chain = word - 1;
    if (in_comment(text, word) || isdigit((unsigned char)text[chain]) ||
        (point && text[chain] == '.'))
        return NULL;
    Look l = look_at(q->a, q->docs, q->doc, LOOK_COMPLETE, chain, end);
    Completion c = {.look = &l, .items = cJSON_CreateArray()};
    if (!look_place(&l, chain, &c.place))
        c.place = look_nearest(&l, chain);
    names_in_scope(&c);
    if (constructor)
        add_constructors(&c);
    else if (point)
        add_members(&c, text + chain, word - 1 - chain);
    else
        add_all(&c);
    return c.items;
}
