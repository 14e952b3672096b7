/* Comments and empty lines, by the gaps that they stand in. */
#include "fmt/layout.h"

#include <ctype.h>
#include <string.h>

/* Lines and columns of offsets that only grow. */
typedef struct {
    const char *text;
    size_t at, line_at;
    int line;
} Cursor;

static void go_to(Cursor *c, size_t to)
{
    for (; c->at < to; c->at++)
        if (c->text[c->at] == '\n') {
            c->line++;
            c->line_at = c->at + 1;
        }
}

static size_t without_blanks(const char *text, size_t beg, size_t end)
{
    while (end > beg && isspace((unsigned char)text[end - 1]))
        end--;
    return end;
}

/* `-- ==`, which makes directives of the comments around it (autotune/data/directives.c). */
static bool is_separator(const Layout *l, const Comment *c)
{
    const char *s = l->text + (c->loc.beg - l->base) + 2, *end = l->text + (c->loc.end - l->base);
    while (s < end && isspace((unsigned char)*s))
        s++;
    return without_blanks(s, 0, (size_t)(end - s)) == 2 && !memcmp(s, "==", 2);
}

/* Comments from to end - 1 are lines without a gap between them. */
static void mark_run(Layout *l, int from, int end)
{
    bool block = false;
    for (int i = from; i < end; i++)
        block |= is_separator(l, &l->comments[i]);
    for (int i = from; i < end; i++) {
        Loc *loc = &l->comments[i].loc;
        size_t at = loc->beg - l->base, after = loc->end - l->base;
        l->comments[i].verbatim = block;
        if (!block)
            loc->end = (uint32_t)without_blanks(l->text, at, after) + l->base;
        else if (l->text[after - 1] == '\r')
            loc->end--;
    }
}

static void mark_runs(Layout *l, int from, int end)
{
    for (int run = from, i = from; i < end; i++) {
        bool last = i + 1 == end || l->comments[i].trailing || l->comments[i + 1].blanks;
        if (last) {
            mark_run(l, run, i + 1);
            run = i + 1;
        }
    }
}

void layout_comments(Layout *l)
{
    int n_comments = l->c->comments.n, k = 0, before = 0;
    l->comments = NEWN(l->a, Comment, n_comments + 1);
    l->first_comment = NEWN(l->a, int, l->n + 1);
    l->blanks = NEWN(l->a, int, l->n);
    l->newlines = NEWN(l->a, int, l->n);
    Cursor at = {.text = l->text};
    for (int i = 0; i < l->n; i++) {
        Loc token = l->c->tokens.at[i].loc;
        l->first_comment[i] = k;
        for (; k < n_comments && l->c->comments.at[k].beg < token.beg; k++) {
            Comment *c = &l->comments[k];
            c->loc = l->c->comments.at[k];
            go_to(&at, c->loc.beg - l->base);
            c->trailing = i > 0 && at.line == before;
            c->column = (int)(at.at - at.line_at);
            c->blanks = at.line > before + 1 && (i || k) ? at.line - before - 1 : 0;
            before = at.line;
        }
        mark_runs(l, l->first_comment[i], k);
        go_to(&at, token.beg - l->base);
        l->newlines[i] = at.line > before;
        l->blanks[i] = at.line > before + 1 && (i || k) ? at.line - before - 1 : 0;
        go_to(&at, token.end - l->base);
        before = at.line;
    }
    l->first_comment[l->n] = k;
}
