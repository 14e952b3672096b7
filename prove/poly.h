/* Polynomials with integer coefficients over leaves, small and by value: what inequalities are made
 * of. A leaf is any quantity with one integer value; who makes it knows which. Operations are
 * exact: what needs more room than there is fails, and the result is then of no use. */
#ifndef PROVE_POLY_H
#define PROVE_POLY_H

#include <stdbool.h>
#include <stdint.h>

typedef int Leaf; /* > 0; greater ones are younger: defined in terms of others, or later */

enum { POLY_TERMS = 10, POLY_DEGREE = 4 };

/* k times the leaves, which are in descending order with zeros behind: {5, 2, 2, 0} */
typedef struct {
    int64_t k;
    Leaf leaves[POLY_DEGREE];
} Term;

/* c + the terms: each product of leaves once, none with k = 0, the youngest first */
typedef struct {
    int64_t c;
    int n;
    Term t[POLY_TERMS];
} Poly;

static inline Poly poly_const(int64_t c)
{
    return (Poly){.c = c};
}
static inline Poly poly_leaf(Leaf l)
{
    return (Poly){.n = 1, .t = {{1, {l}}}};
}

bool poly_add(Poly *p, const Poly *q, int64_t k); /* p := p + k*q */
bool poly_scale(Poly *p, int64_t k);              /* p := k*p */
bool poly_mul(Poly *p, const Poly *q);            /* p := p*q */
/* The quotient of the leaves of a and those of b (its k is 1); false where b has one that a has
 * not. */
bool term_quotient(const Term *a, const Term *b, Term *quotient);
/* p = coefficient*l + rest; the coefficient may have l again. */
void poly_split(const Poly *p, Leaf l, Poly *coefficient, Poly *rest);
/* p with l replaced by q. */
bool poly_replace(Poly *p, Leaf l, const Poly *q);
/* Divides p by what divides all coefficients; p >= 0 is then the same statement as before. */
void poly_tighten(Poly *p);
/* A bit for each leaf, several leaves to a bit. */
uint64_t poly_leaves(const Poly *p);

#endif
