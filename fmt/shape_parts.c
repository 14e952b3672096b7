/* What the shapes of constructs are made of: groups, spaces between tokens, small questions. */
#include "fmt/layout.h"

#include <ctype.h>
#include <string.h>

int new_group(Layout *l, int parent, int how)
{
    vec_push(l->a, &l->groups,
             (Group){.parent = parent,
                     .how = how,
                     .opens = NONE,
                     .opens_deep = NONE,
                     .block = NONE,
                     .moves = NONE});
    return l->groups.n - 1;
}

int token_kind(const Layout *l, int token)
{
    return l->c->tokens.at[token].kind;
}

bool is_token(const Layout *l, const CNode *n, int kind)
{
    return n->kind == CN_TOKEN && token_kind(l, n->first) == kind;
}

int kid_kind(const Layout *l, const CNode *n, int i)
{
    return i < n->kids.n && n->kids.at[i]->kind == CN_TOKEN ? token_kind(l, n->kids.at[i]->first)
                                                            : NONE;
}

int find_token(const Layout *l, const CNode *n, int i, int kind)
{
    for (; i < n->kids.n; i++)
        if (kid_kind(l, n, i) == kind)
            return i;
    return NONE;
}

void space(Layout *l, const CNode *n, bool yes)
{
    l->gaps[n->first].space = yes;
}

Gap *may_break(Layout *l, int token, MayBreak may, int group, Spot at)
{
    Gap *g = &l->gaps[token];
    g->may = may;
    g->group = group;
    g->at = at;
    g->wanted |= l->newlines[token] > 0;
    vec_push(l->a, &l->groups.at[group].gaps, token);
    return g;
}

/* Which side of a token has no space. */
enum { TIGHT_BEFORE = 1, TIGHT_AFTER = 2 };

static int tight_sides(int kind)
{
    switch (kind) {
    case '(':
    case '[':
    case '{':
    case HASH:
    case '\\':
    case QUOTE:
    case '?': return TIGHT_AFTER;
    case ')':
    case ']':
    case '}':
    case ',':
    case ':':
    case PROJNUM:
    case YYEOF: return TIGHT_BEFORE;
    case INDEX:
    case '.':
    case DOTS2:
    case DOTS3:
    case DOTS_LT:
    case DOTS_GT: return TIGHT_BEFORE | TIGHT_AFTER;
    default: return 0;
    }
}

void default_spaces(Layout *l)
{
    for (int i = 1; i < l->n; i++) {
        int before = token_kind(l, i - 1), here = token_kind(l, i);
        bool tight = (tight_sides(before) & TIGHT_AFTER) || (tight_sides(here) & TIGHT_BEFORE);
        l->gaps[i].space = !tight && !(before == ']' && here == '[');
        l->gaps[i].space |= before == ',' && here == ':';
    }
}

static bool is_operator_char(char c)
{
    return c && strchr("-+*/%=!><|&^", c);
}

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '\'';
}

/* Would the token and the one before become others if they touched? */
static bool would_join(const Layout *l, int token)
{
    const char *s = token_text(l, token - 1);
    char end = s[token_length(l, token - 1) - 1], next = token_text(l, token)[0];
    if (is_operator_char(s[0]))
        return is_operator_char(next) || next == '.';
    if (s[0] == ':')
        return next == '>';
    if (token_kind(l, token - 1) == QUOTE)
        return false;
    return is_name_char(end) && (is_name_char(next) ||
                                 (token_kind(l, token) == PROJNUM && isdigit((unsigned char)s[0])));
}

void needed_spaces(Layout *l)
{
    for (int i = 1; i < l->n; i++)
        if (token_kind(l, i) != YYEOF && would_join(l, i))
            l->gaps[i].space = true;
}

int operator_level(int kind)
{
    switch (kind) {
    case '`': return 1;
    case OP_PIPE: return 2;
    case OP_RPIPE: return 3;
    case OP_OR: return 4;
    case OP_AND: return 5;
    case OP_CMP:
    case LESS: return 6;
    case OP_BIT: return 7;
    case OP_SHIFT: return 8;
    case OP_ADD:
    case MINUS: return 9;
    case OP_MUL:
    case STAR: return 10;
    case OP_POW: return 11;
    default: return 0;
    }
}

static bool is_word(const Layout *l, const CNode *n)
{
    return is_token(l, n, ID) || is_token(l, n, LITERAL);
}

bool is_small_sum(const Layout *l, const CNode *n)
{
    if (n->kind != CN_op || n->kids.n != 3 || n->kids.at[1]->kind != CN_TOKEN)
        return false;
    int level = operator_level(token_kind(l, n->kids.at[1]->first));
    return level == operator_level(OP_ADD) && is_word(l, n->kids.at[0]) &&
           is_token(l, n->kids.at[2], LITERAL);
}

bool is_simple(const Layout *l, const CNode *n)
{
    bool minus = n->kind == CN_op && n->kids.n == 2 && is_token(l, n->kids.at[0], MINUS);
    return n->kind == CN_TOKEN || n->kind == CN_atom || n->kind == CN_section ||
           (minus && is_word(l, n->kids.at[1]));
}

/* --- Nodes ---------------------------------------------------------------------------------- */

void walk(Layout *l, const CNode *n, int group)
{
    for (int i = 1; i < n->kids.n; i++) /* after comments */
        l->gaps[n->kids.at[i]->first].at = at_token(n->first, INDENT);
    if (n->kind == CN_TOKEN)
        l->group_of[n->first] = group;
    else if ((int)n->kind < l->n_shapes && l->shapes[n->kind])
        l->shapes[n->kind](l, n, group);
    else
        walk_kids(l, n, 0, group);
}

void walk_kids(Layout *l, const CNode *n, int from, int group)
{
    for (int i = from; i < n->kids.n; i++)
        walk(l, n->kids.at[i], group);
}
