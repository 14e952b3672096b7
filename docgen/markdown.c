/* A page as Markdown. */
#include "docgen/docgen.h"

enum { MAX_DEPTH = 6 }; /* of headings */

static void put_heading(Out *o, int depth)
{
    for (int i = 0; i < (depth < MAX_DEPTH ? depth : MAX_DEPTH); i++)
        out_puts(o, "#");
    out_puts(o, " ");
}

/* --- Items below each other ------------------------------------------------------------------ */

static void put_items(Out *o, const Items *items, int depth);

/* Items from..to-1 under one heading. */
static void put_group(Out *o, const Items *items, int from, int to, int depth)
{
    put_heading(o, depth);
    for (int i = from; i < to; i++)
        out_printf(o, i > from ? ", `%s`" : "`%s`", items->at[i]->name);
    out_puts(o, "\n\n```\n");
    for (int i = from; i < to; i++)
        out_printf(o, "%s\n", items->at[i]->head);
    out_puts(o, "```\n");
    for (int i = from; i < to; i++) {
        if (items->at[i]->doc) {
            out_puts(o, "\n");
            fe_doc_markdown(o, items->at[i]->doc);
        }
    }
    out_puts(o, "\n");
    for (int i = from; i < to; i++)
        put_items(o, &items->at[i]->members, depth + 1);
}

static void put_items(Out *o, const Items *items, int depth)
{
    for (int from = 0, to; from < items->n; from = to) {
        for (to = from + 1; to < items->n && items->at[to]->with_last;)
            to++;
        put_group(o, items, from, to, depth);
    }
}

/* --- Tables ---------------------------------------------------------------------------------- */

/* In a cell, where `|` ends it and lines cannot. */
static void put_cell(Out *o, const char *text)
{
    for (; *text; text++) {
        if (*text == '|')
            out_puts(o, "\\");
        out_putn(o, *text == '\n' ? " " : text, 1);
    }
}

static void put_code(Out *o, const char *text)
{
    out_puts(o, *text ? "| `" : "| ");
    put_cell(o, text);
    out_puts(o, *text ? "` " : "");
}

static void put_table(Out *o, Arena *a, const Items *items)
{
    out_puts(o, "| | type | | example | gives |\n|---|---|---|---|---|\n");
    for (int i = 0; i < items->n; i++) {
        ItemExample e = item_example(a, items->at[i]);
        put_code(o, items->at[i]->name);
        put_code(o, items->at[i]->head);
        out_puts(o, "| ");
        put_cell(o, e.words);
        out_puts(o, " ");
        put_code(o, e.expression);
        put_code(o, e.gives);
        out_puts(o, "|\n");
    }
    out_puts(o, "\n");
}

/* --- Pages ----------------------------------------------------------------------------------- */

void page_markdown(Out *o, Arena *a, const Page *p)
{
    out_printf(o, PAGE_MARK "# %s\n\n", p->title);
    if (p->doc) {
        fe_doc_markdown(o, p->doc);
        out_puts(o, "\n");
    }
    for (int i = 0; i < p->sections.n; i++) {
        const Section *s = &p->sections.at[i];
        int depth = s->below ? 3 : 2;
        if (s->title) {
            put_heading(o, depth);
            out_printf(o, "%s\n\n", s->title);
        }
        if (s->doc)
            out_printf(o, "%s\n\n", s->doc);
        if (s->table && s->items.n)
            put_table(o, a, &s->items);
        else
            put_items(o, &s->items, s->title ? depth + 1 : depth);
    }
    while (o->n > 1 && o->text[o->n - 1] == '\n' && o->text[o->n - 2] == '\n')
        o->text[--o->n] = '\0';
}
