/* Which gaps end a line. Lines are laid out from the first one on; where one is too long, gaps of
 * the outermost construct around the place where it is are added, and the layout goes on from the
 * first that has changed. */
#include "fmt/layout.h"

#include <string.h>

/* A line ends in the group for the first time: definitions around it begin a line behind their `=`.
 */
static void open_around(Layout *l, int group)
{
    for (int i = group; i != NONE; i = l->groups.at[i].parent) {
        const Group *g = &l->groups.at[i];
        if (g->block != NONE && l->gaps[g->block].broken)
            return;
        if (g->opens_deep != NONE)
            layout_break(l, g->opens_deep);
    }
}

void layout_break(Layout *l, int gap)
{
    Gap *g = &l->gaps[gap];
    if (g->broken)
        return;
    g->broken = true;
    if (gap < l->changed)
        l->changed = gap;
    if (gap > l->unbroken_from && gap < l->unbroken_to)
        l->unbroken_to = gap;
    if (g->along != NONE)
        layout_break(l, g->along);
    if (g->group == NONE)
        return;
    Group *group = &l->groups.at[g->group];
    group->broken++;
    if (group->broken == 1 && group->moves != NONE && group->moves < l->changed)
        l->changed = group->moves;
    if (group->opens != NONE)
        layout_break(l, group->opens);
    if (group->broken == 1)
        open_around(l, g->group);
    if (group->how == TOGETHER && group->broken == 1)
        for (int i = 0; i < group->gaps.n; i++)
            layout_break(l, group->gaps.at[i]);
}

/* Where a function's body begins that is an argument of the call: under the outermost call around
 * it whose arguments are on one line; NONE if those of the call itself are not. */
static int under_call(const Layout *l, int call)
{
    int under = NONE;
    for (int i = call; i != NONE && !l->groups.at[l->calls.at[i].group].broken;
         i = l->calls.at[i].outer) {
        under = i;
        if (l->calls.at[i].behind != NONE && l->gaps[l->calls.at[i].behind].broken)
            break;
    }
    return under == NONE ? NONE : l->column[l->calls.at[under].start] + INDENT;
}

static int place(const Layout *l, int gap)
{
    const Gap *g = &l->gaps[gap];
    int under = g->call == NONE ? NONE : under_call(l, g->call);
    if (under != NONE)
        return under;
    const Spot *p = g->if_gap == NONE || l->gaps[g->if_gap].broken ? &g->at : &g->else_at;
    switch (p->from) {
    case AT_MARGIN: return p->plus;
    case AT_TOKEN: return l->column[p->token] + p->plus;
    case AT_LINE: return l->indent[p->token] + p->plus;
    }
    return 0;
}

/* Characters of the token's first and last line (a string may have several). */
static void widths(const Layout *l, int token, int *first, int *last)
{
    const char *s = token_text(l, token);
    bool one = true;
    *first = *last = 0;
    for (size_t i = 0; i < token_length(l, token); i++) {
        if (s[i] == '\n') {
            one = false;
            *last = -1;
        }
        bool starts = ((unsigned char)s[i] & 0xc0) != 0x80;
        *last += starts;
        *first += starts && one;
    }
}

/* The first token of the line after the one that begins with the token. Kept, since of a long line
 * many beginnings are asked for. */
static int line_end(Layout *l, int token)
{
    if (token < l->unbroken_from || token >= l->unbroken_to) {
        l->unbroken_from = token;
        for (l->unbroken_to = token + 1; l->unbroken_to < l->n && !l->gaps[l->unbroken_to].broken;)
            l->unbroken_to++;
    }
    return l->unbroken_to;
}

/* Lays out the line of the tokens from to end - 1, all of it or as far as it is short enough. The
 * first token that is too far to the right, or NONE. */
static int lay_line(Layout *l, int from, int end, bool all)
{
    int indent = from ? place(l, from) : 0, column = indent, over = NONE, first, last;
    for (int i = from; i < end && (all || over == NONE); i++) {
        column += i > from && l->gaps[i].space;
        l->column[i] = column;
        l->indent[i] = indent;
        widths(l, i, &first, &last);
        if (column + first > WIDTH && over == NONE)
            over = i;
        bool many = memchr(token_text(l, i), '\n', token_length(l, i)) != NULL;
        column = many ? last : column + first;
    }
    return over;
}

/* Index of the group's first gap behind the token. */
static int first_behind(const Group *g, int token)
{
    int low = 0, high = g->gaps.n;
    while (low < high) {
        int mid = low + (high - low) / 2;
        if (g->gaps.at[mid] > token)
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}

typedef struct {
    int from, end; /* tokens of the line */
    int over;
    MayBreak may; /* which gaps to take */
} Line;

/* The first gap of the group that may be taken, NONE if there is none. For FILL: the one to take.
 */
static int choice(const Layout *l, const Group *g, const Line *line)
{
    int found = NONE;
    for (int i = first_behind(g, line->from); i < g->gaps.n && g->gaps.at[i] < line->end; i++) {
        const Gap *gap = &l->gaps[g->gaps.at[i]];
        if (gap->broken || gap->may != line->may)
            continue;
        if (g->how != FILL && line->may == FITS)
            return g->gaps.at[i];
        if (g->gaps.at[i] > line->over)
            break;
        found = g->gaps.at[i];
    }
    return found;
}

/* What fills lines and has got one more goes on with the next line. */
static void join_next(Layout *l, int group, int end)
{
    Gap *g = &l->gaps[end];
    if (end >= l->n || g->group != group || !g->broken || g->may != FITS || comments_before(l, end))
        return;
    g->broken = false;
    l->groups.at[group].broken--;
    l->unbroken_to = l->unbroken_from; /* forgets it */
}

static bool break_outermost(Layout *l, const Line *line)
{
    int token = line->over, best = NONE;
    while (token > line->from && l->gaps[token].may != FITS)
        token--;
    for (int g = l->group_of[token]; g != NONE; g = l->groups.at[g].parent)
        if (choice(l, &l->groups.at[g], line) != NONE)
            best = g;
    if (best == NONE)
        return false;
    const Group *g = &l->groups.at[best];
    if (g->how == FILL || line->may != FITS) {
        layout_break(l, choice(l, g, line));
        if (g->how == FILL)
            join_next(l, best, line->end);
        return true;
    }
    for (int i = first_behind(g, line->from); i < g->gaps.n && g->gaps.at[i] < line->end; i++)
        if (l->gaps[g->gaps.at[i]].may == FITS)
            layout_break(l, g->gaps.at[i]);
    return true;
}

void layout_lines(Layout *l)
{
    l->column = NEWN(l->a, int, l->n);
    l->indent = NEWN(l->a, int, l->n);
    for (int token = 0; token < l->n;) {
        Line line = {.from = token, .end = line_end(l, token), .may = FITS};
        l->changed = l->n;
        line.over = lay_line(l, token, line.end, false);
        bool more = line.over != NONE && break_outermost(l, &line);
        if (!more && line.over != NONE) {
            line.may = LAST;
            more = break_outermost(l, &line);
        }
        while (more && l->lines.n && token >= l->changed)
            token = l->lines.at[--l->lines.n];
        if (more)
            continue;
        if (line.over != NONE) /* it stays too long */
            lay_line(l, token, line.end, true);
        vec_push(l->a, &l->lines, token);
        token = line.end;
    }
}
