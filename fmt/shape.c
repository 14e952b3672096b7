/* The shape of each construct: which of its gaps have a space, which may end a line, and where the
 * next one begins. A function for each kind of node, in one table at the end; what it does not say
 * is as default_spaces has it. */
#include "fmt/layout.h"

#include <string.h>

/* --- Types ---------------------------------------------------------------------------------- */

static void walk_size(Layout *l, const CNode *n, int group)
{
    walk_index(l, n, 0, n->kids.n - 1, group);
}

static void walk_term(Layout *l, const CNode *n, int group)
{
    walk_kids(l, n, 0, group);
    space(l, n->kids.at[1], false);
}

/* A type or a constructor and what it is applied to. */
static void walk_tapply(Layout *l, const CNode *n, int group)
{
    walk_kids(l, n, 0, group);
    for (int i = 1; i < n->kids.n; i++)
        space(l, n->kids.at[i], true);
}

/* t -> u -> v: lines begin with arrows, under the first type. */
static void walk_arrow(Layout *l, const CNode *n, int arrow, int group, int first)
{
    const CNode *right = n->kids.at[arrow + 1];
    int next = right->kind == n->kind ? find_token(l, right, 0, ARROW) : NONE;
    may_break(l, n->kids.at[arrow]->first, FITS, group, at_token(first, 0));
    for (int i = 0; i <= arrow; i++)
        walk(l, n->kids.at[i], group);
    if (next == NONE)
        walk(l, right, group);
    else
        walk_arrow(l, right, next, group, first);
}

static void walk_arrows(Layout *l, const CNode *n, int group)
{
    walk_arrow(l, n, find_token(l, n, 0, ARROW), new_group(l, group, EACH), n->first);
}

/* t -> u, (n: t) -> u, ?[n].t */
static void walk_type(Layout *l, const CNode *n, int group)
{
    if (find_token(l, n, 0, ARROW) != NONE) {
        walk_arrows(l, n, group);
        return;
    }
    for (int i = 1; i < n->kids.n; i++)
        space(l, n->kids.at[i], false);
    walk_kids(l, n, 0, group);
}

/* #a t | #b: lines begin with bars, under the first alternative. */
static void walk_sum(Layout *l, const CNode *n, int group)
{
    int own = new_group(l, group, EACH);
    for (int i = 1; i < n->kids.n; i += 2)
        may_break(l, n->kids.at[i]->first, FITS, own, at_token(n->first, 0));
    walk_kids(l, n, 0, own);
}

/* A type behind a colon. */
static void walk_ret(Layout *l, const CNode *n, int group)
{
    walk_kids(l, n, 0, group);
}

/* --- Operators and applications ------------------------------------------------------------- */

/* The level of a node that is two operands and an operator, else 0. */
static int chain_level(const Layout *l, const CNode *n)
{
    return n->kind == CN_op && n->kids.n >= 3 && kid_kind(l, n, 1) != NONE
               ? operator_level(kid_kind(l, n, 1))
               : 0;
}

/* a + b - c: lines begin with operators, under the first operand. */
static void walk_chain(Layout *l, const CNode *n, int group, int first)
{
    int level = chain_level(l, n), last = n->kids.n - 1, op = n->kids.at[1]->first;
    const CNode *left = n->kids.at[0], *right = n->kids.at[last];
    if (chain_level(l, left) == level)
        walk_chain(l, left, group, first);
    else
        walk(l, left, group);
    Gap *g = may_break(l, op, FITS, group, at_token(first, 0));
    g->wanted |= l->newlines[right->first] && !comments_before(l, right->first);
    l->gaps[right->first].at = at_token(first, INDENT);
    l->group_of[op] = group;
    if (last == 4) { /* `f` */
        walk(l, n->kids.at[2], group);
        space(l, n->kids.at[2], false);
        space(l, n->kids.at[3], false);
    }
    if (chain_level(l, right) == level)
        walk_chain(l, right, group, first);
    else
        walk(l, right, group);
}

/* If the node is a call, it belongs to an argument of that one. */
static void expect_call(Layout *l, const CNode *n, int outer, int behind)
{
    bool is_call = n && n->kind == CN_apply;
    l->outer = is_call ? outer : NONE;
    l->behind = is_call ? behind : NONE;
}

/* A lambda, an argument of the call, or NONE. */
static void walk_lambda_of(Layout *l, const CNode *n, int group, int call)
{
    int last = n->kids.n - 1, own = new_group(l, group, EACH);
    const CNode *body = n->kids.at[last];
    may_break(l, body->first, FITS, own, at_token(n->first, INDENT))->call = call;
    for (int i = call; i != NONE; i = l->calls.at[i].outer) {
        Group *g = &l->groups.at[l->calls.at[i].group];
        if (g->moves == NONE)
            g->moves = body->first;
    }
    for (int i = 0; i < last; i++) {
        walk(l, n->kids.at[i], own);
        if (i > 1 && i < last - 1 && n->kids.at[i]->kind != CN_lret)
            space(l, n->kids.at[i], true);
    }
    expect_call(l, body, call, body->first);
    walk(l, body, own);
    expect_call(l, NULL, NONE, NONE);
}

static void walk_lambda(Layout *l, const CNode *n, int group)
{
    walk_lambda_of(l, n, group, NONE);
}

/* What stands in the parentheses that a node is, else the node. */
static const CNode *without_parens(const Layout *l, const CNode *n)
{
    return n->kind == CN_atom && n->kids.n == 3 && kid_kind(l, n, 0) == '(' ? n->kids.at[1] : n;
}

static void walk_argument(Layout *l, const CNode *n, int group, int call)
{
    const CNode *in = without_parens(l, n);
    if (in->kind == CN_lambda) {
        if (in != n)
            l->group_of[n->first] = l->group_of[n->last] = group;
        walk_lambda_of(l, in, group, call);
        return;
    }
    expect_call(l, in, call, NONE);
    walk(l, n, group);
    expect_call(l, NULL, NONE, NONE);
}

/* Functions with names no longer than this have their arguments beside them, one under the other.
 */
enum { LONG_HEAD = 24 };

/* Characters of the tokens: what is between them may be another line, once it is formatted. */
static int head_width(const Layout *l, const CNode *n)
{
    size_t width = 0;
    for (int i = n->first; i <= n->last; i++)
        width += token_length(l, i);
    return (int)width;
}

/* An application and its arguments, of which the last may be a lambda behind the node. */
typedef struct {
    const CNode *fn, *args[2]; /* the node, and the lambda or NULL */
    int n;                     /* arguments */
} Application;

static const CNode *argument(const Application *app, int i)
{
    return i + 1 < app->args[0]->kids.n ? app->args[0]->kids.at[i + 1] : app->args[1];
}

/* Can one see it at a glance? */
static bool is_short(const Layout *l, const CNode *n)
{
    enum { GLANCE = 6 }; /* tokens */
    return is_simple(l, n) && n->last - n->first <= GLANCE;
}

/* Short arguments, with any other behind them, fill lines. */
static int call_how(const Layout *l, const Application *app)
{
    for (int i = 0; i + 1 < app->n; i++)
        if (!is_short(l, argument(app, i)))
            return EACH;
    return FILL;
}

/* When a line ends in front of the argument. A function behind short arguments begins beside them;
 * short arguments behind others share a line. */
static MayBreak before_argument(const Layout *l, const Application *app, int i, int how)
{
    bool lambda = without_parens(l, argument(app, app->n - 1))->kind == CN_lambda;
    if (app->n == 1 && lambda)
        return KEPT;
    if (head_width(l, app->fn) > LONG_HEAD)
        return FITS;
    if (i == 0 || (how == FILL && lambda))
        return LAST;
    bool both = is_short(l, argument(app, i - 1)) && is_short(l, argument(app, i));
    return how == EACH && both ? LAST : FITS;
}

/* f x y, and, with `more`, a lambda behind. */
static void walk_call(Layout *l, const CNode *n, const CNode *more, int around)
{
    Application app = {n->kids.at[0], {n, more}, n->kids.n - 1 + (more != NULL)};
    int how = call_how(l, &app), group = new_group(l, around, how), call = l->calls.n;
    int first = argument(&app, 0)->first;
    vec_push(l->a, &l->calls,
             (Call){.start = n->first, .group = group, .outer = l->outer, .behind = l->behind});
    expect_call(l, NULL, NONE, NONE);
    walk(l, app.fn, group);
    for (int i = 0; i < app.n; i++) {
        const CNode *arg = argument(&app, i);
        Gap *g = may_break(l, arg->first, before_argument(l, &app, i, how), group,
                           at_token(n->first, INDENT));
        g->space = true;
        if (i > 0) {
            g->if_gap = first;
            g->else_at = at_token(first, 0);
            g->along = head_width(l, app.fn) > LONG_HEAD ? first : NONE;
        }
        walk_argument(l, arg, group, call);
    }
}

static void walk_apply(Layout *l, const CNode *n, int group)
{
    walk_call(l, n, NULL, group);
}

/* a...b, with spaces if an operand has some. */
static void walk_range(Layout *l, const CNode *n, int group)
{
    bool tight = true;
    for (int i = 0; i < n->kids.n; i += 2)
        tight &= is_simple(l, n->kids.at[i]) || is_small_sum(l, n->kids.at[i]);
    walk_kids(l, n, 0, group);
    for (int i = 1; i < n->kids.n; i++)
        space(l, n->kids.at[i], !tight);
}

static void walk_prefix(Layout *l, const CNode *n, int group)
{
    walk_kids(l, n, 0, group);
    space(l, n->kids.at[1], false);
}

/* e : t, e :> t; in patterns, x: t, and -1 */
static void walk_ascription(Layout *l, const CNode *n, int group)
{
    if (kid_kind(l, n, 0) == MINUS) {
        walk_prefix(l, n, group);
        return;
    }
    int own = new_group(l, group, EACH);
    if (n->kind == CN_exp) {
        may_break(l, n->kids.at[1]->first, LAST, own, at_token(n->first, INDENT));
        space(l, n->kids.at[1], true);
    }
    walk_kids(l, n, 0, own);
}

/* A field or [i] of a path; .[i] */
static void walk_step(Layout *l, const CNode *n, int group)
{
    int last = n->kids.n - 1, open = kid_kind(l, n, 0) == '.' ? 1 : 0;
    if (kid_kind(l, n, last) != ']') {
        walk_kids(l, n, 0, group);
        return;
    }
    if (open)
        walk(l, n->kids.at[0], group);
    space(l, n->kids.at[open], n->kind == CN_with_step);
    walk_index(l, n, open, last, group);
}

/* e with a[i].b = v */
static void walk_update(Layout *l, const CNode *n, int group)
{
    int own = new_group(l, group, EACH), last = n->kids.n - 1;
    may_break(l, n->kids.at[1]->first, FITS, own, at_token(n->first, INDENT));
    may_break(l, n->kids.at[last]->first, LAST, own, at_token(n->first, 2 * INDENT));
    walk_kids(l, n, 0, own);
}

/* --- Statements ----------------------------------------------------------------------------- */

/* if c then a else b; `else if` goes on with the one that `start` begins. */
static void walk_if(Layout *l, const CNode *n, int group, int start, int elses)
{
    enum { TEST = 1, THEN_KW, YES, ELSE_KW, NO };
    int thens = new_group(l, elses, EACH), bodies = new_group(l, thens, EACH);
    int then = n->kids.at[THEN_KW]->first, els = n->kids.at[ELSE_KW]->first;
    const CNode *yes = n->kids.at[YES], *no = n->kids.at[NO];
    Gap *g = may_break(l, then, FITS, thens, at_token(start, 0));
    g->along = els;
    may_break(l, els, FITS, elses, at_token(start, 0));
    may_break(l, yes->first, KEPT, bodies, at_token(start, INDENT))->along = els;
    l->group_of[n->first] = l->group_of[then] = l->group_of[els] = elses;
    walk(l, n->kids.at[TEST], thens);
    walk(l, yes, thens);
    l->gaps[no->first].at = at_token(start, INDENT);
    if (no->kind == CN_op && kid_kind(l, no, 0) == IF) {
        walk_if(l, no, group, start, elses);
        return;
    }
    may_break(l, no->first, KEPT, bodies, at_token(start, INDENT));
    walk(l, no, elses);
}

/* loop p = e for i < n do body */
static void walk_loop(Layout *l, const CNode *n, int group)
{
    int body = n->kids.n - 1, do_at = body - 1, form = body - 2, equals = find_token(l, n, 0, '=');
    int own = new_group(l, group, EACH), head = new_group(l, own, EACH);
    enum { HEAD = 5 }; /* under the pattern */
    may_break(l, n->kids.at[body]->first, FITS, own, at_token(n->first, INDENT));
    Gap *g = may_break(l, n->kids.at[form]->first, FITS, head, at_token(n->first, HEAD));
    g->along = n->kids.at[body]->first;
    if (equals != NONE && equals < form)
        may_break(l, n->kids.at[equals + 1]->first, LAST, head, at_token(n->first, HEAD + INDENT));
    l->group_of[n->first] = head;
    for (int i = 1; i < do_at; i++)
        walk(l, n->kids.at[i], head);
    l->group_of[n->kids.at[do_at]->first] = own;
    walk(l, n->kids.at[body], own);
}

/* case p -> e */
static void walk_case(Layout *l, const CNode *n, int group)
{
    const CNode *body = n->kids.at[n->kids.n - 1];
    int own = new_group(l, group, EACH);
    may_break(l, body->first, FITS, own, at_token(n->first, INDENT));
    walk_kids(l, n, 0, own);
    int inside = l->group_of[body->first];
    if (body->kind == CN_let || body->kind == CN_match)
        l->groups.at[inside].opens = body->first;
}

/* match e case p -> e ...: on one line, or each case on its own. */
static void walk_match(Layout *l, const CNode *n, int group)
{
    enum { CASES = 2 };
    int lines = new_group(l, group, TOGETHER), inside = new_group(l, lines, EACH);
    l->group_of[n->first] = lines;
    l->groups.at[inside].opens_deep = n->kids.at[CASES]->first;
    for (int i = CASES; i < n->kids.n; i++)
        may_break(l, n->kids.at[i]->first, FITS, lines, at_token(n->first, 0))->blanks = 1;
    walk_kids(l, n, 1, inside);
}

/* assert c e; #[a] e */
static void walk_marked(Layout *l, const CNode *n, int group)
{
    int last = n->kids.n - 1, own = new_group(l, group, EACH);
    bool attribute = kid_kind(l, n, 0) == HASH;
    space(l, n->kids.at[last], true); /* an array that touched the attribute would be an index */
    may_break(l, n->kids.at[last]->first, attribute ? KEPT : LAST, own,
              at_token(n->first, attribute ? 0 : INDENT));
    walk_kids(l, n, 0, own);
}

static void walk_op(Layout *l, const CNode *n, int group)
{
    switch (kid_kind(l, n, 0)) {
    case IF: walk_if(l, n, group, n->first, new_group(l, group, TOGETHER)); return;
    case LOOP: walk_loop(l, n, group); return;
    case ASSERTION:
    case HASH: walk_marked(l, n, group); return;
    case MINUS:
    case BANG: walk_prefix(l, n, group); return;
    }
    const CNode *fn = n->kids.at[0], *last = n->kids.at[n->kids.n - 1];
    if (kid_kind(l, n, 1) == WITH) {
        walk_update(l, n, group);
    } else if (chain_level(l, n)) {
        walk_chain(l, n, new_group(l, group, EACH), n->first);
    } else if (fn->kind == CN_apply) {
        walk_call(l, fn, last, group);
    } else { /* x \y -> ... */
        CNode call = {.kind = CN_apply, .first = fn->first, .last = fn->last};
        vec_push(l->a, &call.kids, n->kids.at[0]);
        walk_call(l, &call, last, group);
    }
}

/* let ... let ... in e */
static void walk_let(Layout *l, const CNode *n, int around)
{
    int chain = new_group(l, around, TOGETHER), start = n->first;
    for (;;) {
        const CNode *last = n->kids.at[n->kids.n - 1];
        l->group_of[n->first] = chain;
        walk_equation(l, n, 1, n->first, chain, false);
        may_break(l, last->first, FITS, chain, at_token(start, 0))->blanks = 1;
        if (last->kind != CN_let) {
            const CNode *body = last->kids.at[1];
            l->group_of[last->first] = chain;
            may_break(l, body->first, KEPT, new_group(l, chain, EACH), at_token(start, INDENT));
            walk(l, body, chain);
            return;
        }
        n = last;
    }
}

static void walk_attr(Layout *l, const CNode *n, int group)
{
    space(l, n->kids.at[1], false);
    walk_kids(l, n, 0, group);
}

static void walk_quoted(Layout *l, const CNode *n, int group)
{
    walk_kids(l, n, 0, group);
    if (kid_kind(l, n, 0) == '`')
        for (int i = 1; i < n->kids.n; i++)
            space(l, n->kids.at[i], false);
}

/* --- All nodes ------------------------------------------------------------------------------ */

static const Shape shapes[] = {
    [CN_decl] = walk_decl,
    [CN_def_rest] = walk_def_rest,
    [CN_let] = walk_let,
    [CN_op] = walk_op,
    [CN_apply] = walk_apply,
    [CN_lambda] = walk_lambda,
    [CN_range] = walk_range,
    [CN_exp] = walk_ascription,
    [CN_pat] = walk_ascription,
    [CN_case_pat] = walk_ascription,
    [CN_case_param] = walk_prefix,
    [CN_atom] = walk_atom,
    [CN_section] = walk_atom,
    [CN_param] = walk_atom,
    [CN_tatom] = walk_atom,
    [CN_bind_name] = walk_atom,
    [CN_dim] = walk_slice,
    [CN_step] = walk_step,
    [CN_sect_step] = walk_step,
    [CN_with_step] = walk_step,
    [CN_let_step] = walk_step,
    [CN_size] = walk_size,
    [CN_term] = walk_term,
    [CN_tapply] = walk_tapply,
    [CN_alternative] = walk_tapply,
    [CN_applied] = walk_tapply,
    [CN_payload] = walk_term,
    [CN_sum] = walk_sum,
    [CN_type] = walk_type,
    [CN_ret] = walk_ret,
    [CN_attr] = walk_attr,
    [CN_not_minus] = walk_quoted,
    [CN_match] = walk_match,
    [CN_case] = walk_case,
    [CN_mod_exp] = walk_mod_exp,
    [CN_mod_apply] = walk_mod_apply,
    [CN_mod_atom] = walk_mod_term,
    [CN_mod_term] = walk_mod_term,
    [CN_mod_type] = walk_arrows,
    [CN_mod_param] = walk_atom,
    [CN_spec] = walk_spec,
};

static void walk_top(Layout *l, const CNode *decl)
{
    Gap *g = may_break(l, decl->first, FITS, 0, (Spot){AT_MARGIN, 0, 0});
    g->wanted = true;
    g->blanks = 2;
    walk(l, decl, 0);
}

void layout_shape(Layout *l)
{
    const CNode *root = l->c->root;
    l->gaps = NEWN(l->a, Gap, l->n);
    l->group_of = NEWN(l->a, int, l->n);
    for (int i = 0; i < l->n; i++) {
        l->gaps[i] = (Gap){.group = NONE, .along = NONE, .if_gap = NONE, .call = NONE};
        l->gaps[i].blanks = comments_before(l, i) ? 1 : 0;
    }
    expect_call(l, NULL, NONE, NONE);
    l->shapes = shapes;
    l->n_shapes = (int)(sizeof shapes / sizeof *shapes);
    default_spaces(l);
    new_group(l, NONE, EACH);
    if (root && root->kind == CN_decls)
        for (int i = 0; i < root->kids.n; i++)
            walk_top(l, root->kids.at[i]);
    else if (root)
        walk_top(l, root);
    Gap *end = may_break(l, l->n - 1, FITS, 0, (Spot){AT_MARGIN, 0, 0});
    end->wanted = true;
    end->blanks = 2;
    needed_spaces(l);
    for (int i = 0; i < l->n; i++)
        if (comments_before(l, i) || (l->gaps[i].wanted && l->gaps[i].may != NEVER))
            layout_break(l, i);
}
