/* The shapes of what stands in brackets: lists, indices, slices, atoms. */
#include "fmt/layout.h"

/* Items that one can see at a glance fill lines, others have lines of their own. */
static int list_how(const Layout *l, const CNode *n, int open, int close)
{
    for (int i = open + 1; i < close; i++)
        if (kid_kind(l, n, i) != ',' && !is_simple(l, n->kids.at[i]))
            return EACH;
        else if (n->kids.at[i]->last - n->kids.at[i]->first > 4)
            return EACH;
    return FILL;
}

/* Parts open to close: a bracket, items with commas between, a bracket. A line that ends behind the
 * first bracket makes a block of it. */
static void walk_brackets(Layout *l, const CNode *n, int open, int close, int around)
{
    int opening = n->kids.at[open]->first, closing = n->kids.at[close]->first, first = opening + 1;
    int group = new_group(l, around, list_how(l, n, open, close)),
        ends = new_group(l, around, EACH);
    l->group_of[opening] = l->group_of[closing] = group;
    if (first == closing)
        return;
    l->groups.at[group].block = l->groups.at[ends].block = first;
    Gap *after = may_break(l, first, KEPT, ends, at_line(opening, INDENT));
    after->along = closing;
    for (int i = open + 2; i < close; i++)
        if (kid_kind(l, n, i - 1) == ',') {
            Gap *g = may_break(l, n->kids.at[i]->first, FITS, group, at_line(opening, INDENT));
            g->if_gap = first;
            g->else_at = at_token(first, 0);
            g->blanks = 1;
        }
    Gap *before = may_break(l, closing, KEPT, ends, at_line(opening, 0));
    before->wanted = false; /* with the opening one only */
    before->closing = true;
    before->if_gap = first;
    before->else_at = at_token(opening, 0);
    for (int i = open + 1; i < close; i++)
        walk(l, n->kids.at[i], group);
}

void walk_index(Layout *l, const CNode *n, int open, int close, int around)
{
    walk_brackets(l, n, open, close, around);
    for (int i = open + 1; i < close; i++) {
        const CNode *item = n->kids.at[i];
        for (int k = 1; is_small_sum(l, item) && k < 3; k++) {
            l->gaps[item->kids.at[k]->first].space = false;
            l->gaps[item->kids.at[k]->first].may = NEVER;
        }
    }
}

void walk_slice(Layout *l, const CNode *n, int group)
{
    bool tight = true;
    for (int i = 0; i < n->kids.n; i++)
        tight &= is_simple(l, n->kids.at[i]) || is_small_sum(l, n->kids.at[i]);
    walk_kids(l, n, 0, group);
    for (int i = 0; i < n->kids.n; i++) {
        if (i)
            space(l, n->kids.at[i],
                  !tight && (kid_kind(l, n, i) != ':' || kid_kind(l, n, i - 1) != ':'));
        for (int k = 1; is_small_sum(l, n->kids.at[i]) && k < 3; k++) {
            l->gaps[n->kids.at[i]->kids.at[k]->first].space = !tight;
            l->gaps[n->kids.at[i]->kids.at[k]->first].may = NEVER;
        }
    }
}

void walk_atom(Layout *l, const CNode *n, int group)
{
    static const int opens[] = {'(', '[', '{', INDEX};
    int last = n->kids.n - 1;
    for (size_t i = 0; i < sizeof opens / sizeof *opens; i++)
        if (kid_kind(l, n, 0) == opens[i]) {
            walk_brackets(l, n, 0, last, group);
            return;
        }
    walk(l, n->kids.at[0], group);
    if (kid_kind(l, n, 1) == INDEX) {
        walk_index(l, n, 1, last, group);
    } else if (kid_kind(l, n, 2) == '(') {
        space(l, n->kids.at[2], false);
        walk(l, n->kids.at[1], group);
        walk_brackets(l, n, 2, last, group);
    } else {
        walk_kids(l, n, 1, group);
    }
}
