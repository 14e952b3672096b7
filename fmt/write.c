/* Writes a layout. Comments behind code that stood in one column, line by line, stand in one column
 * again. */
#include "fmt/layout.h"

#include <string.h>

typedef VEC(char) Chars;

/* A line of the result: its code, as a range of all code, and the comment behind it. */
typedef struct {
    int from, end, width;
    const Comment *comment; /* or NULL */
} OutLine;

typedef struct {
    const Layout *l;
    Chars code;
    VEC(OutLine) lines;
} Writer;

static void put(Writer *w, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        vec_push(w->l->a, &w->code, s[i]);
}

static void new_line(Writer *w)
{
    vec_push(w->l->a, &w->lines, (OutLine){.from = w->code.n, .end = w->code.n});
}

static void end_line(Writer *w, int width)
{
    OutLine *line = &vec_last(&w->lines);
    line->end = w->code.n;
    line->width = width;
}

static void empty_lines(Writer *w, int n, int most)
{
    for (int i = 0; i < n && i < most; i++)
        new_line(w);
}

/* The comments in front of a token, behind the line before and above its own. */
static void write_comments(Writer *w, int token, int column)
{
    const Layout *l = w->l;
    const Gap *gap = &l->gaps[token];
    if (gap->closing)
        column += l->gaps[gap->if_gap].broken ? INDENT : 1;
    int trailing = NONE; /* column of the last comment behind code, and those under it */
    for (int i = l->first_comment[token]; i < l->first_comment[token + 1]; i++) {
        const Comment *c = &l->comments[i];
        bool under = trailing == c->column && !c->blanks && !c->verbatim;
        if (c->trailing || under) {
            if (under)
                new_line(w);
            vec_last(&w->lines).comment = c;
            trailing = c->column;
            continue;
        }
        trailing = NONE;
        empty_lines(w, c->blanks, gap->blanks);
        new_line(w);
        for (int k = c->verbatim ? c->column : column; k > 0; k--)
            put(w, " ", 1);
        put(w, l->text + (c->loc.beg - l->base), c->loc.end - c->loc.beg);
        end_line(w, 0);
    }
}

static void write_line(Writer *w, int from, int end)
{
    const Layout *l = w->l;
    int last = end - 1;
    write_comments(w, from, l->indent[from]);
    if (token_kind(l, from) == YYEOF)
        return;
    empty_lines(w, l->blanks[from], l->gaps[from].blanks);
    new_line(w);
    for (int k = l->indent[from]; k > 0; k--)
        put(w, " ", 1);
    for (int i = from; i < end; i++) {
        if (i > from && l->gaps[i].space)
            put(w, " ", 1);
        put(w, token_text(l, i), token_length(l, i));
    }
    const char *text = token_text(l, last), *newline = memrchr(text, '\n', token_length(l, last));
    end_line(w, newline ? (int)(text + token_length(l, last) - newline - 1)
                        : l->column[last] + (int)token_length(l, last));
}

/* Columns of the comments behind lines from to end - 1, which stood in one. */
static int common_column(const Writer *w, int from, int end)
{
    int most = 0;
    for (int i = from; i < end; i++)
        if (w->lines.at[i].width > most)
            most = w->lines.at[i].width;
    return most + 1;
}

static void print_lines(const Writer *w, Out *o)
{
    const Layout *l = w->l;
    for (int i = 0, run = 0, column = 0; i < w->lines.n; i++) {
        const OutLine *line = &w->lines.at[i];
        if (i >= run && line->comment) {
            for (run = i + 1; run < w->lines.n && w->lines.at[run].comment &&
                              w->lines.at[run].comment->column == line->comment->column;)
                run++;
            column = common_column(w, i, run);
        }
        if (line->end > line->from)
            out_putn(o, w->code.at + line->from, (size_t)(line->end - line->from));
        if (line->comment) {
            for (int k = line->width; k < column; k++)
                out_puts(o, " ");
            Loc loc = line->comment->loc;
            out_putn(o, l->text + (loc.beg - l->base), loc.end - loc.beg);
        }
        out_puts(o, "\n");
    }
}

void layout_write(const Layout *l, Out *o)
{
    Writer w = {.l = l};
    for (int i = 0; i < l->lines.n; i++)
        write_line(&w, l->lines.at[i], i + 1 < l->lines.n ? l->lines.at[i + 1] : l->n);
    print_lines(&w, o);
}
