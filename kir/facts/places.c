/* Which work-items come to a place of local memory: its column, its row, its turns. */
#include "kir/facts/places.h"

#include "kir/facts/dealt.h"

#include <string.h>

typedef struct {
    const PtrMap *but;
    bool found;
} Mutable;

static void find_mutable(void *env, const KExp *x)
{
    Mutable *m = env;
    m->found |= x->kind == KE_VAR && x->var->mutable_ && !ptrmap_get(m->but, x->var);
}

/* Does its value depend on when it is asked for? On which half is which it may. */
bool kplaces_changes(const KPlaces *p, const KExp *x)
{
    Mutable m = {p->halves, false};
    kexp_visit(x, find_mutable, &m);
    return m.found;
}

/* Numbers of work-items have less than 32 bits. */
static const KExp *unconverted(const KExp *x)
{
    bool whole = x->kind == KE_CONV && (x->type.elem == T_I32 || x->type.elem == T_I64);
    return whole && x->x[0]->kind == KE_ID ? x->x[0] : x;
}

/* Is x the work-item's number in a dimension, moved by what is the same for all? */
static bool is_number(const KPlaces *p, const KExp *x, int *dim)
{
    x = unconverted(x);
    if (x->kind == KE_ID && x->id == KID_LOCAL) {
        *dim = x->dim;
        return true;
    }
    if (x->kind != KE_PRIM || !x->exact || (x->op != OP_ADD && x->op != OP_SUB))
        return false;
    return (kuniform_exp(p->uniform, x->x[1]) && is_number(p, x->x[0], dim)) ||
           (kuniform_exp(p->uniform, x->x[0]) && is_number(p, x->x[1], dim));
}

/* Does x hold for one number of work-items in the dimension? */
bool kplaces_alone(const KPlaces *p, const KExp *x, int *dim)
{
    if (x->kind != KE_PRIM || x->op != OP_EQ || kplaces_changes(p, x))
        return false;
    for (int i = 0; i < 2; i++)
        if (is_number(p, x->x[i], dim) && kuniform_exp(p->uniform, x->x[1 - i]))
            return true;
    return false;
}

/* --- Columns ---------------------------------------------------------------------------------- */

/* Do work-items that go from here to there by this step never meet? Each starts at its number, or
 * one alone starts before the end. */
static bool deals(const KPlaces *p, const KExp *from, const KExp *to, const KExp *step)
{
    int dim;
    if (is_number(p, from, &dim))
        return kdealt_step(step, to) && step->dim == dim;
    if (from->kind != KE_SELECT)
        return false;
    if (kplaces_alone(p, from->x[0], &dim))
        return p->dims == 1 && kx_same(from->x[2], to);
    return step->kind == KE_SELECT && kx_same(from->x[0], step->x[0]) &&
           deals(p, from->x[1], to, step->x[1]) && deals(p, from->x[2], to, step->x[2]);
}

static const KStm *loop_of(const KPlaces *p, const KExp *x)
{
    return x->kind == KE_VAR ? ptrmap_get(p->loops, x->var) : NULL;
}

/* The loop that deals its turns to the work-items and has x as its variable; else NULL. */
static const KStm *dealt_by(const KPlaces *p, const KExp *x)
{
    const KStm *s = loop_of(p, x);
    return s && !s->doubling && deals(p, s->x[0], s->x[1], s->x[2]) ? s : NULL;
}

static bool is_local_id(const KExp *x)
{
    x = unconverted(x);
    return x->kind == KE_ID && x->id == KID_LOCAL;
}

static bool is_sum(const KExp *x)
{
    return x->kind == KE_PRIM && x->exact && x->op == OP_ADD;
}

const KStm *kplaces_turn(const KPlaces *p, const KExp *cond)
{
    bool less = cond->kind == KE_PRIM && cond->op == OP_LT && is_sum(cond->x[0]);
    if (!less || kplaces_changes(p, cond))
        return NULL;
    for (int i = 0; i < 2; i++) {
        const KStm *s = loop_of(p, cond->x[0]->x[i]);
        if (s && !s->doubling && kx_is_int(s->x[0], 0) && kdealt_step(s->x[2], s->x[1]) &&
            kx_same(s->x[1], cond->x[1]) && is_local_id(cond->x[0]->x[1 - i]))
            return s;
    }
    return NULL;
}

static bool is_multiple(const KExp *x, const KExp *of)
{
    if (of->kind == KE_CONST && x->kind == KE_CONST)
        return of->c.i > 0 && x->c.i % of->c.i == 0;
    if (kx_same(x, of) || kx_is_int(of, 1))
        return true;
    return x->kind == KE_PRIM && x->exact && x->op == OP_MUL &&
           (is_multiple(x->x[0], of) || is_multiple(x->x[1], of));
}

/* The summands of a position: how often the loop's variable, and the work-item's number. */
typedef struct {
    const KStm *loop;
    int vars, numbers;
} Column;

/* Is the rest a multiple of how many columns there are? */
static bool sums_up(Column *c, const KExp *x)
{
    if (is_sum(x))
        return sums_up(c, x->x[0]) && sums_up(c, x->x[1]);
    bool var = x->kind == KE_VAR && x->var == c->loop->var, number = is_local_id(x);
    c->vars += var;
    c->numbers += number;
    return var || number || is_multiple(x, c->loop->x[1]);
}

/* Is x in the column whose number is the loop's variable, with the work-item's number added so many
 * times? */
static bool in_column(const KExp *x, const KStm *loop, int numbers)
{
    Column c = {.loop = loop};
    return sums_up(&c, x) && c.vars == 1 && c.numbers == numbers;
}

/* The loop whose turn it is to which the column of the whole belongs, by a variable in its summand
 * x; NULL if that is not seen. */
static const KStm *column_of(const KPlaces *p, const KExp *whole, const KExp *x)
{
    const KStm *s = dealt_by(p, x);
    if (s)
        return in_column(whole, s, 0) ? s : NULL;
    for (int i = 0; !s && is_sum(x) && i < 2; i++)
        s = column_of(p, whole, x->x[i]);
    return s;
}

bool kplaces_same_column(const KPlaces *p, const KExp *x, const KExp *y, const KStm *turn)
{
    if (turn && p->dims == 1 && in_column(x, turn, 1) && in_column(y, turn, 1))
        return true;
    const KStm *s = column_of(p, x, x);
    return s && s == column_of(p, y, y);
}

/* --- Rows ------------------------------------------------------------------------------------- */

/* Does no other work-item have the same number x? */
static bool is_own_number(const KPlaces *p, const KExp *x)
{
    return (x->kind == KE_ID && x->id == KID_LOCAL) || dealt_by(p, x);
}

/* Is the term q rows of this width? */
static bool rows_of(const Term *t, const Term *width, Term *q)
{
    return (width->k == -1 || t->k % width->k == 0) && term_quotient(t, width, q);
}

/* How often the polynomial has the leaves of t. */
static int64_t count_of(const Poly *p, const Term *t)
{
    for (int i = 0; i < p->n; i++)
        if (memcmp(p->t[i].leaves, t->leaves, sizeof t->leaves) == 0)
            return p->t[i].k;
    return t->leaves[0] ? 0 : p->c;
}

/* Of what positions grow by with a work-item's number, only rows count as many as a row has
 * elements: what else there is of the number is the place in the row. */
static bool rest_within_row(const Poly *factor, const Term *width)
{
    Term q;
    for (int i = 0; i < factor->n; i++)
        if (rows_of(&factor->t[i], width, &q) && q.leaves[0])
            return false;
    return true;
}

/* Are j and k times some leaves the same rows, the lesser of them, and what is the rest within one?
 * It may be all of a row where that has a dimension of one element. */
static bool counts_rows(int64_t j, int64_t k, int64_t *lesser)
{
    *lesser = j < k ? j : k;
    return j == k ? k != 0 : *lesser > 0 && (j < k ? k : j) - *lesser <= *lesser;
}

/* The width of the rows that a number of work-items counts in two positions, which grow by v and w
 * with it: k times some leaves. The number may be the place in a row, too, or in some dimensions of
 * one: buf[k * m * i + x], buf[k * m * i + k * i + i]. */
static bool width_of(const Poly *v, const Poly *w, Term *width)
{
    for (int i = 0; i <= w->n; i++) {
        *width = i < w->n ? w->t[i] : (Term){.k = w->c};
        if (counts_rows(count_of(v, width), width->k, &width->k) && rest_within_row(v, width) &&
            rest_within_row(w, width))
            return true;
    }
    return false;
}

static bool row_width(const KPlaces *p, const Poly *x, const Poly *y, Term *width)
{
    for (int i = 0; i < x->n; i++)
        for (int k = 0; k < POLY_DEGREE && x->t[i].leaves[k]; k++) {
            Leaf l = x->t[i].leaves[k];
            Poly v, w, rest;
            if (!is_own_number(p, kposition_leaf(p->positions, l)))
                continue;
            poly_split(x, l, &w, &rest);
            poly_split(y, l, &v, &rest);
            if (width_of(&v, &w, width))
                return true;
        }
    return false;
}

static bool is_one(const Term *width)
{
    return width->k == 1 && !width->leaves[0];
}

/* The polynomial in the first turn of loops from 0 on, which may be about the elements of a row. */
static bool in_first_turns(const KPlaces *p, Poly *d, const Term *width)
{
    for (int i = 0; i < d->n; i++)
        for (int k = 0; k < POLY_DEGREE && d->t[i].leaves[k]; k++) {
            Leaf l = d->t[i].leaves[k];
            const KStm *s = loop_of(p, kposition_leaf(p->positions, l));
            Poly none = poly_const(0);
            if (!s || s->doubling || !kx_is_int(s->x[0], 0))
                continue;
            if (is_one(width) && !kx_is_int(s->x[1], 1))
                continue;
            if (!poly_replace(d, l, &none))
                return false;
            i = -1;
            break;
        }
    return true;
}

/* Is the term a row or some for sure: a number of them, or as many as a loop doubles? */
static bool is_rows(const KPlaces *p, const Term *t, const Term *width)
{
    Term q;
    if (!rows_of(t, width, &q))
        return false;
    for (int i = 0; i < POLY_DEGREE && q.leaves[i]; i++) {
        const KStm *s = loop_of(p, kposition_leaf(p->positions, q.leaves[i]));
        if (!s || !s->doubling)
            return false;
    }
    return true;
}

/* May it be 0, as far as can be told? */
static bool is_unknown(const KPlaces *p, const Poly *d)
{
    const Term *t = &d->t[0];
    if (d->n != 1 || (t->k != 1 && t->k != -1) || t->leaves[1])
        return d->n == 0 && d->c == 0;
    const KExp *x = kposition_leaf(p->positions, t->leaves[0]);
    return x->kind != KE_ID && !loop_of(p, x);
}

/* Are places that differ by d in rows that differ? A row of one element is as good as one that
 * has not been dealt: there only what is data, or was computed before, is not compared. */
static bool is_other_row(const KPlaces *p, const Poly *d, const Term *width)
{
    bool number = !width->leaves[0];
    if (is_one(width))
        return !is_unknown(p, d);
    if (!d->n)
        return number && (d->c >= width->k || -d->c >= width->k);
    for (int i = 0; i < d->n; i++)
        if (!is_rows(p, &d->t[i], width))
            return false;
    return number ? d->c % width->k == 0 : d->c == 0;
}

/* Two places of the row that is the work-item's own, as far as can be told. Where work-items have
 * numbers in two dimensions, a row may be of several. */
bool kplaces_maybe_same_row(const KPlaces *p, const KExp *at, const KExp *bt)
{
    Poly x = kposition_exact(p->positions, at), d = kposition_exact(p->positions, bt);
    Term width;
    if (p->dims != 1 || !row_width(p, &x, &d, &width))
        return false;
    return !poly_add(&d, &x, -1) || !in_first_turns(p, &d, &width) || !is_other_row(p, &d, &width);
}

/* --- Turns ------------------------------------------------------------------------------------ */

/* By how much the position grows with base + local_id, the element that a loop deals; 0:
 * not known. */
static int64_t factor_of(const KPlaces *p, const Poly *x)
{
    int64_t own = 0, base = 0;
    for (int i = 0; i < x->n; i++)
        for (int m = 0; m < POLY_DEGREE && x->t[i].leaves[m]; m++) {
            const KExp *leaf = kposition_leaf(p->positions, x->t[i].leaves[m]);
            bool dealt =
                loop_of(p, leaf) && loop_of(p, leaf)->x[2]->kind == KE_ID; /* see kdealt_step */
            if (leaf->kind == KE_ID && leaf->id == KID_LOCAL)
                own = kposition_factor(x, x->t[i].leaves[m]);
            else if (!kuniform_exp(p->uniform, leaf) || (dealt && base))
                return 0;
            else if (dealt)
                base = kposition_factor(x, x->t[i].leaves[m]);
        }
    return own == base ? own : 0;
}

/* Are they at a distance that no two turns have? */
bool kplaces_turns_apart(const KPlaces *p, const KExp *at, const KExp *bt)
{
    Poly x = kposition(p->positions, at), y = kposition(p->positions, bt);
    return p->dims == 1 && factor_of(p, &x) == factor_of(p, &y) &&
           kposition_turns_apart(&x, &y, factor_of(p, &x));
}
