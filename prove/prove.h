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

/* A leaf may be one of several values (a minimum, a choice). If l is of that kind: calls prove_case
 * for each value that it may have, within prover_mark and prover_reset with what is then known
 * besides, and answers whether all were true. Otherwise false. key: see prover_leaf. */
typedef bool ProverCases(void *env, Leaf l, const void *key, Goal *g);

Prover *prover_new(Arena *a, ProverCases *cases, void *env); /* cases may be NULL */
/* The leaf as a polynomial; key: what it stands for, kept for ProverCases. */
Poly prover_leaf(Prover *pr, Leaf l, const void *key);
/* Facts are forgotten in the reverse order. */
int prover_mark(const Prover *pr);
void prover_reset(Prover *pr, int mark);
void prover_assume(Prover *pr, const Poly *p); /* p >= 0 */
/* Is there a fact that l, without anything added, is at least c? */
bool prover_knows(const Prover *pr, Leaf l, int64_t c);
bool prover_nonneg(Prover *pr, const Poly *p); /* p >= 0? */
/* Is the goal of g certain where its leaf has the value `value`? */
bool prove_case(Goal *g, const Poly *value);

#endif
