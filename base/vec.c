#include "base/vec.h"

#include <string.h>

void *vec_grow(Arena *a, void *at, int n, int *cap, size_t elem)
{
    *cap = *cap ? 2 * *cap : 4;
    void *fresh = arena_alloc(a, elem * (size_t)*cap);
    if (n)
        memcpy(fresh, at, elem * (size_t)n);
    return fresh;
}
