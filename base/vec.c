#include "base/vec.h"

#include <string.h>

void *vec_grow(Arena *a, void *at, int n, int *cap, size_t elem)
{
    size_t old = elem * (size_t)*cap;
    *cap = *cap ? 2 * *cap : 4;
    size_t size = elem * (size_t)*cap;
    if (at && arena_extend(a, at, old, size))
        return at;
    void *fresh = arena_alloc(a, size);
    if (n)
        memcpy(fresh, at, elem * (size_t)n);
    return fresh;
}
