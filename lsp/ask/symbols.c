/* textDocument/documentSymbol: the definitions of a file, with those of modules below them. */
#include "lsp/look.h"

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
