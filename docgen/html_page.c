/* A page for browsers. Of the Markdown in comments paragraphs, lists of one level, code and
 * examples are known; the rest is text. */
#include "docgen/docgen.h"

#include "command/html.h"

#include <string.h>

/* --- Comments -------------------------------------------------------------------------------- */

typedef enum { NOTHING, PARA, ITEM, CODE, FENCED, EXAMPLE } Inside;

static void put_text(Out *o, Arena *a, const char *text, size_t n)
{
    html_text(o, arena_strndup(a, text, n));
}

/* What stands at `text`, of n bytes, between `open` there and `close`; NULL: it does not. */
static const char *between(const char *text, size_t n, const char *open, char close, size_t *inside)
{
    size_t skip = strlen(open);
    if (n <= skip || strncmp(text, open, skip) != 0)
        return NULL;
    const char *end = memchr(text + skip, close, n - skip);
    *inside = end ? (size_t)(end - text) - skip : 0;
    return end ? text + skip : NULL;
}

/* `code` at the text, or a link, whose target is another page's that may not be there: its words.
 * How long it is; 0: neither. */
static size_t put_marked(Out *o, Arena *a, const char *text, size_t n)
{
    size_t inside, target;
    const char *code = between(text, n, "`", '`', &inside);
    if (code) {
        out_puts(o, "<code>");
        put_text(o, a, code, inside);
        out_puts(o, "</code>");
        return inside + 2;
    }
    const char *words = between(text, n, "[", ']', &inside);
    if (!words || !between(words + inside, n - inside - 1, "](", ')', &target))
        return 0;
    put_text(o, a, words, inside);
    return inside + target + 4;
}

/* Words, with code between backticks, and links. */
static void put_words(Out *o, Arena *a, const char *line, size_t n)
{
    while (n) {
        size_t plain = 0, marked = 0;
        while (plain < n && line[plain] != '`' && line[plain] != '[')
            plain++;
        put_text(o, a, line, plain);
        if (plain < n && !(marked = put_marked(o, a, line + plain, n - plain)))
            put_text(o, a, line + plain, marked = 1);
        line += plain + marked;
        n -= plain + marked;
    }
}

typedef struct {
    Out *o;
    Arena *a;
    Inside in;
    Out words; /* of the paragraph or item so far */
} Comment;

static void put_so_far(Comment *c)
{
    put_words(c->o, c->a, c->words.text, c->words.n);
    out_free(&c->words);
}

static void leave(Comment *c)
{
    static const char *const ends[] = {"",         "</p>\n",   "</li></ul>\n",
                                       "</pre>\n", "</pre>\n", "</pre>\n"};
    put_so_far(c);
    out_puts(c->o, ends[c->in]);
}

static bool begins_item(const char *line)
{
    return !strncmp(line, "- ", 2) || !strncmp(line, "* ", 2);
}

/* What the line is, behind others that were `in`. */
static Inside kind_of(const char *line, size_t n, Inside in)
{
    bool fence = n >= 3 && !strncmp(line, "```", 3);
    if (in == FENCED)
        return fence ? NOTHING : FENCED;
    if (fence)
        return FENCED;
    if (n == 0)
        return NOTHING;
    if (in == EXAMPLE || !strncmp(line, ">>> ", 4))
        return EXAMPLE;
    if ((in == NOTHING || in == CODE) && !strncmp(line, "    ", 4))
        return CODE;
    if (begins_item(line))
        return ITEM;
    return in == NOTHING || in == CODE ? PARA : in;
}

static void put_line(Comment *c, const char *line, size_t n)
{
    bool item = c->in == ITEM && begins_item(line);
    bool code = c->in == CODE || c->in == EXAMPLE || c->in == FENCED;
    size_t skip = c->in == CODE ? 4 : item ? 2 : 0;
    if (code)
        put_text(c->o, c->a, line + skip, n - skip);
    else
        out_putn(&c->words, line + skip, n - skip);
    out_puts(code ? c->o : &c->words, "\n");
}

static void put_doc(Out *o, Arena *a, const char *doc)
{
    static const char *const begins[] = {"", "<p>", "<ul><li>", "<pre>", "<pre>", "<pre>"};
    Comment c = {.o = o, .a = a};
    for (const char *line = doc; *line;) {
        size_t n = strcspn(line, "\n");
        Inside now = kind_of(line, n, c.in);
        bool fence = (now == FENCED) != (c.in == FENCED);
        if (now != c.in) {
            leave(&c);
            out_puts(o, begins[now]);
        } else if (now == ITEM && begins_item(line)) {
            put_so_far(&c);
            out_puts(o, "</li><li>");
        }
        c.in = now;
        if (now != NOTHING && !fence)
            put_line(&c, line, n);
        line += n + (line[n] == '\n');
    }
    leave(&c);
}

/* --- Items ----------------------------------------------------------------------------------- */

static void put_items(Out *o, Arena *a, const Items *items, int depth)
{
    for (int i = 0; i < items->n; i++) {
        const Item *item = items->at[i];
        int h = depth < 6 ? depth : 6;
        if (!item->with_last) {
            out_printf(o, "<h%d>", h);
            html_text(o, item->name);
            for (int k = i + 1; k < items->n && items->at[k]->with_last; k++)
                html_textf(o, ", %s", items->at[k]->name);
            out_printf(o, "</h%d>\n", h);
        }
        out_puts(o, "<pre class=\"tag\">");
        html_text(o, item->head);
        out_puts(o, "</pre>\n");
        if (item->doc)
            put_doc(o, a, item->doc);
        if (item->members.n) {
            out_puts(o, "<ul class=\"tree\"><li>\n");
            put_items(o, a, &item->members, depth + 1);
            out_puts(o, "</li></ul>\n");
        }
    }
}

static void put_table(Out *o, Arena *a, const Items *items)
{
    html_table(o, (const char *const[]){"", "type", "", "example", "gives", NULL});
    for (int i = 0; i < items->n; i++) {
        const Item *item = items->at[i];
        ItemExample e = item_example(a, item);
        html_row(o);
        html_head_cell(o, item->name);
        html_cell(o, item->head);
        out_puts(o, "<td style=\"white-space:normal;min-width:14rem\">");
        put_words(o, a, e.words, strlen(e.words));
        out_puts(o, "</td>");
        html_cell(o, e.expression);
        html_cell(o, e.gives);
    }
    html_table_end(o);
}

void page_html(Out *o, Arena *a, const Page *p)
{
    html_begin(o, p->title);
    if (p->doc)
        put_doc(o, a, p->doc);
    for (int i = 0; i < p->sections.n; i++) {
        const Section *s = &p->sections.at[i];
        html_section(o, s->title ? s->title : "Definitions");
        if (s->doc)
            put_doc(o, a, s->doc);
        if (s->table)
            put_table(o, a, &s->items);
        else
            put_items(o, a, &s->items, 3);
        html_section_end(o);
    }
    html_end(o);
}
