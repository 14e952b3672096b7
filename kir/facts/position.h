/* Positions of a kernel as polynomials: by how much two of them differ, of what they are multiples.
 *
 * What variables are bound to for good stands for them; what is neither sum nor product is a leaf.
 * A position is what its polynomial is modulo 2^64, so it does not matter whether the kernel
 * computes it exactly: of two that are in bounds the distance is that of the polynomials. */
#ifndef KIR_FACTS_POSITION_H
#define KIR_FACTS_POSITION_H

#include "kir/kir.h"
#include "prove/poly.h"

typedef struct KPositions KPositions;

/* Of the kernel as it is. Statements may be replaced by others that bind a variable to the same. */
KPositions *kpositions_new(Arena *a, const KFun *f);
Poly kposition(KPositions *p, const KExp *x);
/* The same with all that may wrap around for leaves: what makers make of numbers, rows and columns
 * is exact, what the program computes is not. */
Poly kposition_exact(KPositions *p, const KExp *x);
/* What a leaf of such a polynomial is. */
const KExp *kposition_leaf(const KPositions *p, Leaf l);
/* Is y the position that is *by elements behind x? */
bool kposition_distance(const Poly *x, const Poly *y, int64_t *by);
/* By how much x grows with the leaf; 0: not at all, or not by a number. */
int64_t kposition_factor(const Poly *x, Leaf l);
/* x and y grow by k with i, all else in them is the same: is x with one i another place than y with
 * another i for sure? */
bool kposition_turns_apart(const Poly *x, const Poly *y, int64_t k);
/* A power of two, at most the power of two `most`, that divides x, its number (Poly's c) taken
 * away, for sure. */
int64_t kposition_step(KPositions *p, const Poly *x, int64_t most);
/* A power of two, at most `most`: bytes to which the first element of the buffer is aligned. */
int64_t kposition_align(KPositions *p, const KBuf *b, int64_t most);

#endif
