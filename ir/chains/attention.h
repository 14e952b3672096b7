/* Attention, as it is left by fusion: for a row, softmax(q k^T) v (attention.c). */
#ifndef IR_CHAINS_ATTENTION_H
#define IR_CHAINS_ATTENTION_H

#include "ir/ir.h"

/* Parts of a body that does it for one row. All of f16 are products' operands, all of f32 scores,
 * sums and what follows. */
typedef struct {
    const Body *body;
    const Stm *scores;  /* m, s = redomap max (\k_j .. -> f (q . k_j)) ks ..; m: its first result */
    const Stm *dot;     /* q . k_j, in its function, perhaps in a branch; one of its results */
    Atom q;             /* [d]f16, no array of the function's own */
    int key;            /* number of ks among the arrays of the scores: [keys][d]f16 */
    const Stm *sum;     /* z, .. = redomap + (\s_j -> exp (s_j - m)) s; z: its first result */
    const Stm *product; /* map (\v_c -> g (p . v_c)) vs: the body's only result, of rank 1 */
    const Stm *weighed; /* p . v_c, in its function */
    int value;          /* number of vs among its arrays: [c][keys]f16 */
    bool divided;       /* p_j = f16 (exp (s_j - m) / z); else f16 (exp (s_j - m)) */
} Attention;

/* Is that what b does, beside scalars and views that cannot fail? Nothing else of it reads scores,
 * or what is made of them. */
bool attention_find(Ctx *cx, const Body *b, Attention *a);
/* The same of a construct: a segmap^1 for rows of equal lengths. */
bool attention_of(Ctx *cx, const Exp *seg, Attention *a);
/* The function of the scores without the dot product, whose result is bound before. */
const Body *attention_score(Ctx *cx, const Attention *a);

#endif
