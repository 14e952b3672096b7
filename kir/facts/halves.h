/* The two halves of a buffer that a loop works on in turns: what is read from one goes to the
 * other, then they are exchanged: t = v; v = w; w = t. */
#ifndef KIR_FACTS_HALVES_H
#define KIR_FACTS_HALVES_H

#include "base/ptrmap.h"
#include "base/vec.h"
#include "kir/kir.h"

/* Two variables that are exchanged: t = v; v = w; w = t. */
typedef struct {
    const KVar *v, *w;
    const KStm *last;
} KSwap;

typedef struct {
    VEC(KSwap) swaps;
    PtrMap *other; /* variable of a swap -> the other one, as an expression */
} KHalves;

/* The variables that never change but by being exchanged, once or, where loops have been unrolled,
 * several times. */
KHalves khalves_of(Arena *a, const KBlock *b);
/* Is one position in one half and one in the other? */
bool khalves_apart(const KHalves *h, const KExp *x, const KExp *y);

#endif
