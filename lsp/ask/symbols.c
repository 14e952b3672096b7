/* textDocument/documentSymbol: the definitions of a file, with those of modules below them;
 * workspace/symbol: those of all files that are called about so. */
#include "lsp/look.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Symbol kinds of the protocol. */
enum {
    SYMBOL_MODULE = 2,
    SYMBOL_INTERFACE = 11,
    SYMBOL_FUNCTION = 12,
    SYMBOL_CONSTANT = 14,
    SYMBOL_STRUCT = 23,
    SYMBOL_OPERATOR = 25,
    SYMBOL_EVENT = 24
};

static cJSON *add(Look *l, cJSON *all, const char *name, int kind, Loc span, Loc loc, Out *head)
{
    cJSON *o = cJSON_CreateObject();
    char *text = out_take(head);
    cJSON_AddItemToObject(o, "name", json_text(name));
    cJSON_AddItemToObject(o, "detail", json_text(text));
    cJSON_AddNumberToObject(o, "kind", kind);
    cJSON_AddItemToObject(o, "range", look_range(l, loc_join(span, loc)));
    cJSON_AddItemToObject(o, "selectionRange", look_range(l, loc));
    cJSON_AddItemToArray(all, o);
    free(text);
    return o;
}

static int kind_of(const Def *d)
{
    if (d->entry)
        return SYMBOL_EVENT;
    return strchr("+-*/%=!><|&^", d->name[0]) ? SYMBOL_OPERATOR
           : d->params.n || (d->bind && d->bind->type && type_arity(d->bind->type))
               ? SYMBOL_FUNCTION
               : SYMBOL_CONSTANT;
}

static void add_specs(Look *l, cJSON *all, const ModType *t)
{
    for (; t; t = t->e) {
        for (int i = 0; i < t->specs.n; i++) {
            const Spec *s = t->specs.at[i];
            Out head = {0};
            if (!s->name)
                continue;
            fe_print_spec(&head, s);
            int kind = s->kind == SPEC_TYPE     ? SYMBOL_STRUCT
                       : s->kind == SPEC_MODULE ? SYMBOL_MODULE
                                                : SYMBOL_FUNCTION;
            cJSON *o = add(l, all, s->name, kind, s->loc, s->loc, &head);
            if (s->kind == SPEC_MODULE)
                add_specs(l, cJSON_AddArrayToObject(o, "children"), s->mtype);
        }
    }
}

static void add_decls(Look *l, cJSON *all, const Decls *ds);

static void add_members(Look *l, cJSON *all, const ModExp *m)
{
    for (; m; m = m->e) {
        add_decls(l, all, &m->decls);
        add_members(l, all, m->arg);
    }
}

static void add_decls(Look *l, cJSON *all, const Decls *ds)
{
    for (int i = 0; i < ds->n; i++) {
        const Decl *d = &ds->at[i];
        Out head = {0};
        if (d->kind == D_DEF) {
            fe_print_head(&head, d->def);
            add(l, all, d->def->name, kind_of(d->def), d->loc, d->def->loc, &head);
        } else if (d->kind == D_TYPE) {
            fe_print_type(&head, d->type);
            add(l, all, d->type->name, SYMBOL_STRUCT, d->loc, d->type->loc, &head);
        } else if (d->kind == D_MODULE || d->kind == D_MODTYPE) {
            bool module = d->kind == D_MODULE;
            out_puts(&head, module ? "module" : "module type");
            cJSON *o = add(l, all, d->name, module ? SYMBOL_MODULE : SYMBOL_INTERFACE, d->loc,
                           d->name_loc, &head);
            cJSON *members = cJSON_AddArrayToObject(o, "children");
            add_members(l, members, d->mod);
            add_specs(l, members, d->modtype);
        }
    }
}

cJSON *query_symbols(const Query *q)
{
    Look l = look_at(q->a, q->docs, q->doc, LOOK_AS_IS, 0, 0);
    cJSON *all = cJSON_CreateArray();
    add_decls(&l, all, &l.ast->main->decls);
    return all;
}

/* --- In the workspace ------------------------------------------------------------------------ */

typedef struct {
    const char *name, *inside; /* the module that it is in, "A.B", or its file */
    int kind, score;
    Loc loc;
} Found;

typedef struct {
    Look *look;
    const char *query;
    VEC(Found) all;
} Finding;

/* How well a name fits what was typed, from 1 on, the less the better: it begins so, has it
 * somewhere, or has its letters in that order, rather at beginnings of words. 0: not at all. */
static int fit(const char *name, const char *query)
{
    enum { EXACT = 1, BEGINS = 2, SOMEWHERE = 1000, LETTERS = 2000 };
    size_t n = strlen(query), length = strlen(name);
    if (!n)
        return BEGINS;
    if (length < n)
        return 0;
    for (size_t i = 0; i + n <= length; i++)
        if (strncasecmp(name + i, query, n) == 0)
            return i ? SOMEWHERE + (int)(i < 500 ? i : 500)
                     : (length == n ? EXACT : BEGINS + (int)(length < 500 ? length : 500));
    int gaps = 0;
    for (size_t i = 0, k = 0; k < n; i++) {
        if (i >= length)
            return 0;
        bool same = tolower((unsigned char)name[i]) == tolower((unsigned char)query[k]);
        bool begins = i == 0 || name[i - 1] == '_' || isupper((unsigned char)name[i]);
        gaps += same ? !begins : 1;
        k += same;
    }
    return LETTERS + gaps;
}

static void find(Finding *f, const char *name, const char *inside, int kind, Loc loc)
{
    int score = fit(name, f->query);
    if (score)
        vec_push(f->look->a, &f->all, (Found){name, inside, kind, score, loc});
}

static void find_decls(Finding *f, const Decls *ds, const char *inside);

static void find_members(Finding *f, const ModExp *m, const char *inside)
{
    for (; m; m = m->e) {
        find_decls(f, &m->decls, inside);
        find_members(f, m->arg, inside);
    }
}

static void find_decls(Finding *f, const Decls *ds, const char *inside)
{
    for (int i = 0; i < ds->n; i++) {
        const Decl *d = &ds->at[i];
        if (d->kind == D_DEF)
            find(f, d->def->name, inside, kind_of(d->def), d->def->loc);
        else if (d->kind == D_TYPE)
            find(f, d->type->name, inside, SYMBOL_STRUCT, d->type->loc);
        else if (d->name)
            find(f, d->name, inside, d->kind == D_MODULE ? SYMBOL_MODULE : SYMBOL_INTERFACE,
                 d->name_loc);
        if (d->mod)
            find_members(f, d->mod,
                         !d->name  ? inside
                         : *inside ? arena_printf(f->look->a, "%s.%s", inside, d->name)
                                   : d->name);
    }
}

static int by_fit(const void *a, const void *b)
{
    const Found *x = a, *y = b;
    if (x->score != y->score)
        return x->score - y->score;
    int k = strcmp(x->name, y->name);
    return k ? k : x->loc.beg < y->loc.beg ? -1 : x->loc.beg > y->loc.beg;
}

cJSON *query_workspace_symbols(const Query *q)
{
    enum { MOST = 500 };
    Look l = look_at_workspace(q->a, q->docs, q->client);
    Finding f = {.look = &l, .query = json_string(q->params, "query")};
    for (int i = 0; i < l.ast->files.n; i++)
        find_decls(&f, &l.ast->files.at[i]->decls, "");
    if (f.all.n)
        qsort(f.all.at, (size_t)f.all.n, sizeof *f.all.at, by_fit);
    cJSON *all = cJSON_CreateArray();
    for (int i = 0; i < f.all.n && i < MOST; i++) {
        const Found *s = &f.all.at[i];
        cJSON *o = cJSON_CreateObject(), *place = look_location(&l, s->loc);
        cJSON_AddItemToObject(o, "name", json_text(s->name));
        cJSON_AddNumberToObject(o, "kind", s->kind);
        cJSON_AddItemToObject(o, "location", place);
        if (*s->inside)
            cJSON_AddItemToObject(o, "containerName", json_text(s->inside));
        cJSON_AddItemToArray(all, o);
    }
    return all;
}
