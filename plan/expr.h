/* Scalar expressions and the conditions of checks, for the host and for kernels (expr.c). */
#ifndef PLAN_EXPR_H
#define PLAN_EXPR_H

#include "plan/plan.h"

typedef struct Ranges Ranges; /* ir/ranges.h */

const char *atom_c(Atom a); /* C text on the host */
/* What makes expressions of scalar atoms: variables of the host, or of a kernel. */
typedef struct {
    Arena *arena;
    const KExp *(*atom)(void *env, Atom a);
    void *env;
    Ranges *known; /* of numbers, at this place: what is certain is not checked */
} Scalars;
Scalars scalars_host(Arena *a, Ranges *known);
const KExp *host_atom(Arena *a, Atom x);
const KExp *scalar_exp(const Scalars *sc, const Exp *e); /* PRIM, CONV, ATOM */
/* The condition that must hold for a PRIM not to trap (divisor not 0, exponent not negative) and
 * the message of its site; NULL if it cannot trap. */
const KExp *scalar_check(const Scalars *sc, const Exp *e, const char **msg);
/* For INDEX and UPDATE: the condition that all positions are in bounds, NULL if there is nothing to
 * check (safe, or constants that are). index_site: the place for the message; its arguments (at
 * most 8 integers) in *args. */
const KExp *index_check(const Scalars *sc, const Exp *e);
int index_site(const Scalars *sc, Plan *p, const Exp *e, KExps *args);
/* The place and the arguments of an ASSERT. */
int assert_site(const Scalars *sc, Plan *p, const Exp *e, KExps *args);

#endif
