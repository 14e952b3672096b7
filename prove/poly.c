/* Arithmetic of polynomials. */
#include "prove/poly.h"

#include <string.h>

/* --- Terms ------------------------------------------------------------------------------------ */

/* The youngest first: by the first leaf that differs, a missing one is the oldest. */
static int term_cmp(const Term *a, const Term *b)
{
    for (int i = 0; i < POLY_DEGREE; i++)
        if (a->leaves[i] != b->leaves[i])
            return a->leaves[i] > b->leaves[i] ? -1 : 1;
    return 0;
}

static bool add_term(Poly *p, const Term *t)
{
    int i = 0;
    while (i < p->n && term_cmp(&p->t[i], t) < 0)
        i++;
    if (i < p->n && term_cmp(&p->t[i], t) == 0) {
        if (__builtin_add_overflow(p->t[i].k, t->k, &p->t[i].k))
            return false;
        if (p->t[i].k == 0)
            memmove(&p->t[i], &p->t[i + 1], (size_t)(--p->n - i) * sizeof(Term));
        return true;
    }
    if (t->k == 0)
        return true;
    if (p->n == POLY_TERMS)
        return false;
    memmove(&p->t[i + 1], &p->t[i], (size_t)(p->n++ - i) * sizeof(Term));
    p->t[i] = *t;
    return true;
}

static int degree(const Term *t)
{
    int n = 0;
    while (n < POLY_DEGREE && t->leaves[n])
        n++;
    return n;
}

static bool term_mul(const Term *a, const Term *b, Term *r)
{
    int na = degree(a), nb = degree(b);
    *r = (Term){0};
    if (na + nb > POLY_DEGREE || __builtin_mul_overflow(a->k, b->k, &r->k))
        return false;
    for (int i = 0, j = 0; i + j < na + nb;) {
        bool first = j == nb || (i < na && a->leaves[i] >= b->leaves[j]);
        r->leaves[i + j] = first ? a->leaves[i] : b->leaves[j];
        if (first)
            i++;
        else
            j++;
    }
    return true;
}

bool term_quotient(const Term *a, const Term *b, Term *quotient)
{
    int n = 0, j = 0;
    *quotient = (Term){.k = 1};
    for (int i = 0; i < POLY_DEGREE && a->leaves[i]; i++) {
        if (j < POLY_DEGREE && b->leaves[j] == a->leaves[i])
            j++;
        else
            quotient->leaves[n++] = a->leaves[i];
    }
    return j == degree(b);
}

/* --- Polynomials ------------------------------------------------------------------------------ */

bool poly_add(Poly *p, const Poly *q, int64_t k)
{
    int64_t x;
    if (__builtin_mul_overflow(q->c, k, &x) || __builtin_add_overflow(p->c, x, &p->c))
        return false;
    for (int i = 0; i < q->n; i++) {
        Term t = q->t[i];
        if (__builtin_mul_overflow(t.k, k, &t.k) || !add_term(p, &t))
            return false;
    }
    return true;
}

bool poly_scale(Poly *p, int64_t k)
{
    Poly q = *p;
    *p = poly_const(0);
    return poly_add(p, &q, k);
}

bool poly_mul(Poly *p, const Poly *q)
{
    Poly r = *p;
    if (!poly_scale(&r, q->c))
        return false;
    for (int i = 0; i < q->n; i++) {
        Term constant = {.k = p->c}, t;
        if (!term_mul(&q->t[i], &constant, &t) || !add_term(&r, &t))
            return false;
        for (int j = 0; j < p->n; j++)
            if (!term_mul(&p->t[j], &q->t[i], &t) || !add_term(&r, &t))
                return false;
    }
    *p = r;
    return true;
}

void poly_split(const Poly *p, Leaf l, Poly *coefficient, Poly *rest)
{
    const Term leaf = {1, {l}};
    *coefficient = poly_const(0);
    *rest = poly_const(p->c);
    for (int i = 0; i < p->n; i++) {
        Term q;
        if (!term_quotient(&p->t[i], &leaf, &q)) {
            rest->t[rest->n++] = p->t[i];
            continue;
        }
        q.k = p->t[i].k;
        if (q.leaves[0])
            add_term(coefficient, &q);
        else
            coefficient->c = q.k;
    }
}

bool poly_replace(Poly *p, Leaf l, const Poly *q)
{
    Poly coefficient, rest;
    for (int i = 0; i < POLY_DEGREE; i++) {
        poly_split(p, l, &coefficient, &rest);
        if (coefficient.n == 0 && coefficient.c == 0)
            return true;
        if (!poly_mul(&coefficient, q) || !poly_add(&rest, &coefficient, 1))
            return false;
        *p = rest;
    }
    poly_split(p, l, &coefficient, &rest);
    return coefficient.n == 0 && coefficient.c == 0; /* not if q has l itself */
}

static uint64_t magnitude(int64_t k)
{
    return k < 0 ? -(uint64_t)k : (uint64_t)k;
}

void poly_tighten(Poly *p)
{
    uint64_t g = 0;
    for (int i = 0; i < p->n; i++)
        for (uint64_t a = magnitude(p->t[i].k); a;) {
            uint64_t r = g % a;
            g = a;
            a = r;
        }
    if (g <= 1 || g > INT64_MAX)
        return;
    int64_t d = (int64_t)g;
    for (int i = 0; i < p->n; i++)
        p->t[i].k /= d;
    p->c = p->c / d - (p->c % d < 0); /* rounded down: the terms are a whole number */
}

uint64_t poly_leaves(const Poly *p)
{
    uint64_t set = 0;
    for (int i = 0; i < p->n; i++)
        for (int j = 0; j < POLY_DEGREE && p->t[i].leaves[j]; j++)
            set |= UINT64_C(1) << (p->t[i].leaves[j] % 64);
    return set;
}
