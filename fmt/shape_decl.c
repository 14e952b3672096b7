/* The shapes of declarations: definitions, modules, what modules have. */
#include "fmt/layout.h"

/* --- Definitions ---------------------------------------------------------------------------- */

/* May a parameter stand behind this part? */
static bool ends_head(const Layout *l, const CNode *n)
{
    int kind = token_kind(l, n->last);
    return kind == ID || kind == ')' || kind == ']' || kind == '}' || kind == '_' ||
           operator_level(kind);
}

static bool is_param(const Layout *l, const CNode *n)
{
    return n->kind == CN_param || is_token(l, n, ID) || is_token(l, n, '_');
}

static bool is_size_param(const Layout *l, const CNode *n)
{
    return n->kind == CN_tparam && token_kind(l, n->first) != QUOTE;
}

/* What stands between a definition's name (part `name`) and its `=` (part `equals`): parameters
 * fill lines. */
static void walk_head(Layout *l, const CNode *n, int name, int equals, int start, int group)
{
    int first = NONE;
    for (int i = name; i < equals; i++) {
        const CNode *k = n->kids.at[i];
        const CNode *before = i > name ? n->kids.at[i - 1] : NULL;
        walk(l, k, group);
        if (!before)
            continue;
        if (k->kind == CN_tparam)
            space(l, k, !is_size_param(l, k) || !is_size_param(l, before));
        if (k->kind == CN_ret)
            may_break(l, k->first, LAST, group, at_token(start, 2 * INDENT));
        if (!is_param(l, k) || !ends_head(l, before))
            continue;
        Gap *g = may_break(l, k->first, FITS, group, at_token(start, 2 * INDENT));
        g->space = true;
        if (first == NONE) {
            first = k->first;
            g->may = LAST;
        } else {
            g->if_gap = first;
            g->else_at = at_token(first, 0);
        }
    }
}

void walk_equation(Layout *l, const CNode *n, int name, int start, int around, bool definition)
{
    int equals = find_token(l, n, name, '=');
    const CNode *rhs = n->kids.at[equals + 1];
    int own = new_group(l, around, EACH), head = new_group(l, own, FILL);
    walk_head(l, n, name, equals, start, head);
    l->group_of[n->kids.at[equals]->first] = head;
    l->gaps[n->kids.at[equals]->first].at = at_token(start, INDENT);
    may_break(l, rhs->first, FITS, own, at_token(start, INDENT));
    int inside = new_group(l, own, EACH);
    if (definition)
        l->groups.at[inside].opens_deep = rhs->first;
    walk(l, rhs, inside);
    if (rhs->kind == CN_let)
        l->groups.at[inside + 1].opens = rhs->first; /* its first group is that of its lines */
}

/* The first token of a declaration that goes on with this one. */
static int decl_start(const Layout *l, int token)
{
    while (token > 0 && token_kind(l, token - 1) == LOCAL)
        token--;
    return token;
}

void walk_def_rest(Layout *l, const CNode *n, int group)
{
    walk_equation(l, n, 0, decl_start(l, n->first - 1), group, true);
}

/* type t ... = ..., or without what it is */
static void walk_type_decl(Layout *l, const CNode *n, int group)
{
    int start = decl_start(l, n->first);
    if (find_token(l, n, 1, '=') != NONE)
        walk_equation(l, n, 1, start, group, true);
    else
        walk_head(l, n, 1, n->kids.n, start, group);
    if (kid_kind(l, n, 1) == ID)
        return;
    space(l, n->kids.at[1], false);
    space(l, n->kids.at[2], true);
}

/* --- Modules -------------------------------------------------------------------------------- */

static Spot indented(Spot s)
{
    s.plus += INDENT;
    return s;
}

/* { ... }: on one line, or each member on its own, indented from where `base` is. */
static void walk_members(Layout *l, const CNode *n, int group, Spot base)
{
    int lines = new_group(l, group, TOGETHER), inside = new_group(l, lines, EACH),
        closing = n->last, first = n->first + 1;
    l->group_of[n->first] = l->group_of[closing] = lines;
    if (first < closing) {
        l->groups.at[lines].block = l->groups.at[inside].block = first;
        l->groups.at[inside].opens_deep = first;
    }
    for (int i = 1; i + 1 < n->kids.n; i++) {
        Gap *g = may_break(l, n->kids.at[i]->first, FITS, lines, indented(base));
        g->space = true;
        g->blanks = i > 1 || g->blanks;
        walk(l, n->kids.at[i], inside);
    }
    Gap *end = may_break(l, closing, first < closing ? FITS : NEVER, lines, base);
    end->space = first < closing;
    end->closing = true;
    end->if_gap = closing;
}

/* A module, or its type, behind `=`, `:` or `->` of what begins where `base` is. */
static void walk_module_of(Layout *l, const CNode *n, Spot base, int group)
{
    bool ascribed = n->kind == CN_mod_exp && kid_kind(l, n, 1) == ':';
    const CNode *block = ascribed ? n->kids.at[0] : n;
    if (kid_kind(l, block, 0) != '{') {
        may_break(l, n->first, FITS, group, indented(base));
        walk(l, n, group);
        return;
    }
    l->gaps[n->first].at = indented(base);
    walk_members(l, block, group, base);
    if (ascribed) {
        space(l, n->kids.at[1], true);
        walk_kids(l, n, 1, group);
    }
}

/* module m (p: t): t = e, module type t = e */
static void walk_module_decl(Layout *l, const CNode *n, int group)
{
    int start = decl_start(l, n->first), equals = find_token(l, n, 0, '='),
        params = new_group(l, group, FILL), first = NONE;
    walk(l, n->kids.at[0], group);
    for (int i = 1; i < equals; i++) {
        const CNode *k = n->kids.at[i];
        walk(l, k, params);
        if (k->kind != CN_mod_param) {
            may_break(l, k->first, LAST, params, at_token(start, 2 * INDENT));
            continue;
        }
        Gap *g = may_break(l, k->first, FITS, params, at_token(start, 2 * INDENT));
        if (first == NONE) {
            first = k->first;
        } else {
            g->if_gap = first;
            g->else_at = at_token(first, 0);
        }
    }
    l->gaps[n->kids.at[equals]->first].at = at_token(start, INDENT);
    walk_module_of(l, n->kids.at[equals + 1], at_token(start, 0), group);
}

/* \(p: t) -> e, e : t, import "x" */
void walk_mod_exp(Layout *l, const CNode *n, int group)
{
    int own = new_group(l, group, EACH), last = n->kids.n - 1, colon = find_token(l, n, 0, ':');
    if (colon == 1)
        may_break(l, n->kids.at[colon]->first, LAST, own, at_token(n->first, INDENT));
    space(l, n->kids.at[1], colon == 1 || kid_kind(l, n, 0) == IMPORT);
    for (int i = 0; i < last; i++)
        walk(l, n->kids.at[i], own);
    if (kid_kind(l, n, last - 1) == ARROW && !is_token(l, n->kids.at[last], STRING))
        walk_module_of(l, n->kids.at[last], at_line(n->first, 0), own);
    else
        walk(l, n->kids.at[last], own);
}

/* f a { ... } */
void walk_mod_apply(Layout *l, const CNode *n, int group)
{
    int own = new_group(l, group, FILL);
    walk(l, n->kids.at[0], own);
    for (int i = 1; i < n->kids.n; i++) {
        const CNode *arg = n->kids.at[i];
        if (kid_kind(l, arg, 0) != '{')
            may_break(l, arg->first, FITS, own, at_token(n->first, INDENT));
        walk(l, arg, own);
    }
}

/* t with a = u with b = v; lines begin with `with`. */
static void walk_with(Layout *l, const CNode *n, int group, int first)
{
    const CNode *of = n->kids.at[0];
    if (kid_kind(l, of, 1) == WITH)
        walk_with(l, of, group, first);
    else
        walk(l, of, group);
    may_break(l, n->kids.at[1]->first, FITS, group, at_line(first, 2 * INDENT));
    l->group_of[n->kids.at[1]->first] = group;
    walk_head(l, n, 2, find_token(l, n, 2, '='), n->kids.at[1]->first, group);
    walk_kids(l, n, find_token(l, n, 2, '='), group);
}

void walk_mod_term(Layout *l, const CNode *n, int group)
{
    if (kid_kind(l, n, 1) == WITH)
        walk_with(l, n, new_group(l, group, EACH), n->first);
    else if (kid_kind(l, n, 0) == '{')
        walk_members(l, n, group, at_line(n->first, 0));
    else
        walk_atom(l, n, group);
}

/* val x 'a: t, module m: t */
static void walk_typed(Layout *l, const CNode *n, int group)
{
    int colon = find_token(l, n, 1, ':');
    const CNode *type = n->kids.at[colon + 1];
    walk_head(l, n, 1, colon, n->first, group);
    l->group_of[n->kids.at[colon]->first] = group;
    if (kid_kind(l, n, 0) == MODULE) {
        walk_module_of(l, type, at_token(n->first, 0), group);
        return;
    }
    may_break(l, type->first, FITS, group, at_token(n->first, INDENT));
    int inside = new_group(l, group, EACH);
    l->groups.at[inside].opens_deep = type->first;
    walk(l, type, inside);
}

void walk_spec(Layout *l, const CNode *n, int around)
{
    int own = new_group(l, around, EACH);
    l->group_of[n->first] = own;
    switch (kid_kind(l, n, 0)) {
    case VAL:
    case MODULE: walk_typed(l, n, own); return;
    case TYPE: walk_type_decl(l, n, own); return;
    case HASH:
        may_break(l, n->kids.at[n->kids.n - 1]->first, KEPT, own, at_token(n->first, 0));
        break;
    }
    walk_kids(l, n, 0, own);
}

/* --- Declarations --------------------------------------------------------------------------- */

void walk_decl(Layout *l, const CNode *n, int around)
{
    int own = new_group(l, around, EACH), last = n->kids.n - 1;
    l->group_of[n->first] = own;
    if (n->kids.at[0]->kind == CN_mod_head || n->kids.at[0]->kind == CN_modtype_head) {
        walk_module_decl(l, n, own);
        return;
    }
    switch (kid_kind(l, n, 0)) {
    case TYPE: walk_type_decl(l, n, own); return;
    case HASH: may_break(l, n->kids.at[last]->first, KEPT, own, at_token(n->first, 0)); break;
    }
    walk_kids(l, n, 0, own);
}
