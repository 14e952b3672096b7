/* Sets of variables as lists; as maps they are those of base/ptrmap.h. */
#include "ir/ir.h"

#include <stdlib.h>

static int id_cmp(const void *a, const void *b)
{
    const Var *const *x = a, *const *y = b;
    return ((*x)->id > (*y)->id) - ((*x)->id < (*y)->id);
}

Vars varset_list(Arena *a, const VarSet *s)
{
    Vars vs = {0};
    for (int i = 0; (i = ptrmap_next(s, i)) >= 0; i++)
        vec_push(a, &vs, (Var *)(uintptr_t)ptrmap_key(s, i));
    if (vs.n > 1)
        qsort(vs.at, (size_t)vs.n, sizeof *vs.at, id_cmp);
    return vs;
}
