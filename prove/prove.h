/* A small prover of inequalities between integers: from facts "polynomial >= 0" it concludes that
 * another polynomial is >= 0. True means certain; false means that no proof was found. It knows
 * mathematical integers only: who makes polynomials out of machine arithmetic sees to it that
 * nothing wraps around. */
#ifndef PROVE_PROVE_H
#define PROVE_PROVE_H

#include "base/arena.h"
#include "prove/poly.h"

typedef struct Prover Prover;
typedef struct Goal Goal; /* a proof at work */

/* What leaves of one kind stand for; either function may be NULL. key: see prover_leaf. */
typedef struct {
    /* A leaf may be one of several values (a minimum, a choice). If it is: calls prove_case for
     * each of them, within prover_mark and prover_reset with what is then known besides, and
     * answers whether all were true. Otherwise false. */
    bool (*cases)(void *env, const void *key, Goal *g);
    /* Raises *lo and lowers *hi to what is known without facts. */
    void (*range)(void *env, const void *key, int64_t *lo, int64_t *hi);
    void *env;
} LeafKind;

Prover *prover_new(Arena *a);
/* The leaf as a polynomial. kind must stay; NULL: nothing is known but facts. */
Poly prover_leaf(Prover *pr, Leaf l, const LeafKind *kind, const void *key);
/* Facts are forgotten in the reverse order. */
int prover_mark(const Prover *pr);
void prover_reset(Prover *pr, int mark);
void prover_assume(Prover *pr, const Poly *p); /* p >= 0 */
/* Is there a fact that l, without anything added, is at least c? */
bool prover_knows(const Prover *pr, Leaf l, int64_t c);
bool prover_nonneg(Prover *pr, const Poly *p); /* p >= 0? */
/* *lo <= p <= *hi; INT64_MIN and INT64_MAX where nothing is known. */
void prover_range(Prover *pr, const Poly *p, int64_t *lo, int64_t *hi);
/* Is the goal of g certain where its leaf has the value `value`? */
bool prove_case(Goal *g, const Poly *value);

#endif
