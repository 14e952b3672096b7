/* What a page about a program has: its declarations but the local ones, with the types that were
 * found, those in modules below them. What a module has that is seen by a type or made by an
 * application is asked of the checker; so is nothing of a parametric one, which has only what is
 * written. */
#include "docgen/docgen.h"

#include <ctype.h>
#include <string.h>

const char *item_name(const char *name)
{
    const char *space = strchr(name, ' ');
    return space ? space + 1 : name;
}

const char *item_operand(Arena *a, const char *name)
{
    name = item_name(name);
    bool word = isalpha((unsigned char)name[0]) || name[0] == '_';
    return word ? name : arena_printf(a, "(%s)", name);
}

Section *page_section(Arena *a, Page *p, const char *title)
{
    for (int i = 0; i < p->sections.n; i++) {
        const char *there = p->sections.at[i].title;
        if (title == there || (title && there && !strcmp(title, there)))
            return &p->sections.at[i];
    }
    vec_push(a, &p->sections, (Section){.title = title});
    return &vec_last(&p->sections);
}

ItemExample item_example(Arena *a, const Item *item)
{
    static const char mark[] = "\n\n>>> ";
    const char *doc = item->doc ? item->doc : "", *example = strstr(doc, mark);
    if (!example)
        return (ItemExample){doc, "", ""};
    const char *expression = example + sizeof mark - 1;
    size_t n = strcspn(expression, "\n");
    return (ItemExample){arena_strndup(a, doc, (size_t)(example - doc)),
                         arena_strndup(a, expression, n), expression[n] ? expression + n + 1 : ""};
}

/* --- Items ---------------------------------------------------------------------------------- */

static Item *add_item(Arena *a, Items *items, const char *name, Out *head, const char *doc)
{
    Item *item = NEW(a, Item);
    *item = (Item){.name = name, .head = out_keep(head, a), .doc = doc};
    vec_push(a, items, item);
    return item;
}

/* Of what a module type says; included ones by their names. */
static void add_specs(Arena *a, Items *items, const ModType *t)
{
    for (; t; t = t->e) {
        for (int i = 0; i < t->specs.n; i++) {
            const Spec *s = t->specs.at[i];
            Out head = {0};
            if (s->kind == SPEC_MODULE && s->mtype->kind == MT_SPECS)
                out_printf(&head, "module %s", s->name);
            else
                fe_print_spec(&head, s);
            Item *item = add_item(a, items, s->name ? s->name : "include", &head, s->doc);
            if (s->kind == SPEC_MODULE)
                add_specs(a, &item->members, s->mtype);
        }
    }
}

/* --- Members, as they are bound -------------------------------------------------------------- */

typedef struct {
    Arena *a;
    Items *items;
} Members;

static void add_value(Members *m, const Binding *b)
{
    Out head = {0};
    bool seen_by_type = b->stands || !b->def || !b->def->name;
    if (!seen_by_type) {
        fe_print_head(&head, b->def);
    } else {
        out_printf(&head, "val %s", item_operand(m->a, b->name));
        fe_print_tparams(&head, &b->tparams);
        out_printf(&head, " : %s", type_str(m->a, b->type));
    }
    add_item(m->a, m->items, b->name, &head, b->doc);
}

static void add_member(void *env, const Binding *b)
{
    Members *m = env;
    Out head = {0};
    switch (b->kind) {
    case BIND_DEF:
    case BIND_BUILTIN: add_value(m, b); return;
    case BIND_TYPE:
        fe_print_type(&head, b->tdecl);
        add_item(m->a, m->items, b->name, &head, b->doc);
        return;
    case BIND_MODULE: {
        out_printf(&head, "module %s", b->name);
        Item *item = add_item(m->a, m->items, b->name, &head, b->doc);
        fe_members(b->module, add_member, &(Members){m->a, &item->members});
        return;
    }
    case BIND_MODTYPE:
        out_printf(&head, "module type %s", b->name);
        add_item(m->a, m->items, b->name, &head, b->doc);
        return;
    case BIND_LOCAL:
    case BIND_SIZE:
    case BIND_TYPE_PARAM: return;
    }
}

/* --- Declarations ---------------------------------------------------------------------------- */

static void add_decl(Arena *a, Items *items, const Decl *d);

static void add_module(Arena *a, Items *items, const Decl *d)
{
    Out head = {0};
    const ModExp *m = d->mod;
    bool parametric = m->kind == ME_LAMBDA;
    fe_print_module(&head, d->name, m);
    Item *item = add_item(a, items, d->name, &head, d->doc);
    while (m->kind == ME_LAMBDA)
        m = m->e;
    if (m->kind == ME_DECLS)
        for (int i = 0; i < m->decls.n; i++)
            add_decl(a, &item->members, &m->decls.at[i]);
    else if (!parametric && d->bind)
        fe_members(d->bind->module, add_member, &(Members){a, &item->members});
}

static void add_decl(Arena *a, Items *items, const Decl *d)
{
    Out head = {0};
    Item *item;
    if (d->local)
        return;
    switch (d->kind) {
    case D_DEF:
        fe_print_interface(&head, d->def);
        add_item(a, items, d->def->name, &head, d->def->doc);
        return;
    case D_TYPE:
        fe_print_type(&head, d->type);
        add_item(a, items, d->type->name, &head, d->type->doc);
        return;
    case D_MODULE: add_module(a, items, d); return;
    case D_MODTYPE:
        if (d->modtype->kind == MT_SPECS)
            out_printf(&head, "module type %s", d->name);
        else
            fe_print_modtype(&head, arena_printf(a, "module type %s = ", d->name), d->modtype);
        item = add_item(a, items, d->name, &head, d->doc);
        if (d->modtype->kind == MT_SPECS)
            add_specs(a, &item->members, d->modtype);
        return;
    case D_IMPORT:
    case D_OPEN: return;
    }
}

/* --- Sections -------------------------------------------------------------------------------- */

/* The title that the last line `-- # TITLE` before the offset gives; goes on from *at. */
static const char *title_before(Arena *a, const File *f, size_t offset, size_t *at,
                                const char *title)
{
    static const char mark[] = "-- # ";
    while (*at < offset && *at < f->n) {
        const char *line = f->text + *at;
        size_t n = strcspn(line, "\n");
        if (!strncmp(line, mark, sizeof mark - 1))
            title = arena_strndup(a, line + sizeof mark - 1, n - (sizeof mark - 1));
        *at += n + 1;
    }
    return title;
}

void page_add_decls(Arena *a, Page *p, const File *f)
{
    size_t at = 0;
    const char *title = NULL;
    for (int i = 0; i < f->decls.n; i++) {
        const Decl *d = &f->decls.at[i];
        if (d->loc.beg < f->base || d->loc.beg > f->base + f->n)
            continue;
        title = title_before(a, f, d->loc.beg - f->base, &at, title);
        Items items = {0};
        add_decl(a, &items, d);
        if (items.n)
            vec_append(a, &page_section(a, p, title)->items, &items);
    }
}

/* The comment that begins the file and has an empty line behind it is the file's; NULL: there is
 * none. */
static const char *doc_of_file(Arena *a, const File *f)
{
    const char *line = f->text + strspn(f->text, " \t\r\n");
    Out o = {0};
    if (strncmp(line, "-- |", 4) != 0)
        return NULL;
    for (size_t skip = 4; !strncmp(line, "--", 2); skip = 2) {
        size_t n = strcspn(line, "\n");
        const char *text = line + skip;
        text += *text == ' ';
        out_printf(&o, "%.*s\n", (int)(line + n - text), text);
        line += n + (line[n] == '\n');
    }
    bool apart = *line == '\n' || *line == '\r' || !*line;
    const char *doc = out_keep(&o, a);
    return apart ? arena_strndup(a, doc, strlen(doc) - 1) : NULL;
}

Page page_of_program(Arena *a, const Ast *ast)
{
    const File *f = ast->main;
    const char *slash = strrchr(f->path, '/');
    Page p = {.title = slash ? slash + 1 : f->path, .doc = doc_of_file(a, f)};
    page_add_decls(a, &p, f);
    Item *first = p.sections.n ? p.sections.at[0].items.at[0] : NULL;
    if (p.doc && first && first->doc && !strcmp(first->doc, p.doc))
        first->doc = NULL; /* what is said of the file is not said of what stands first in it */
    return p;
}
