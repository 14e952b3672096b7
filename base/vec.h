/* Typed growable arrays in an arena. `VEC(T)` is a struct {at, n, cap}; name each instance with a
 * typedef. The zero value is the empty vector; copying the struct shares the elements (push on one
 * copy only). */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include "base/arena.h"

#define VEC(T)                                                                                     \
    struct {                                                                                       \
        T *at;                                                                                     \
        int n, cap;                                                                                \
    }

/* Makes room for one more element. */
void *vec_grow(Arena *a, void *at, int n, int *cap, size_t elem);

/* Appends an element; the vector must not be read by the element expression. */
#define vec_push(a, v, ...)                                                                        \
    do {                                                                                           \
        if ((v)->n == (v)->cap)                                                                    \
            (v)->at = vec_grow((a), (v)->at, (v)->n, &(v)->cap, sizeof *(v)->at);                  \
        (v)->at[(v)->n++] = (__VA_ARGS__);                                                         \
    } while (0)

#define vec_last(v) ((v)->at[(v)->n - 1])
#define vec_append(a, v, w)                                                                        \
    do {                                                                                           \
        for (int vec_i_ = 0; vec_i_ < (w)->n; vec_i_++)                                            \
            vec_push((a), (v), (w)->at[vec_i_]);                                                   \
    } while (0)

#endif
