/* Index functions: where the elements of an array lie in its block.
 *
 * An Lmad (linear memory access descriptor) is an offset and a stride for each dimension, counted
 * in elements: element (i_0, .., i_{r-1}) is element number offset + sum i_k * strides[k] of the
 * block. Slicing, permuting, reversing and most reshaping of an array are then operations on its
 * index function, and no element moves. The sizes stand in the array's type, which is exact, so
 * they are not kept twice: functions that need them take the type.
 *
 * Source: Paek, Hoeflinger and Padua, "Efficient and precise array access analysis" (2002); as the
 * memory representation of a functional language, Munksgaard et al., "Memory optimizations in an
 * array language" (SC 2022). */
#ifndef MEMORY_LMAD_H
#define MEMORY_LMAD_H

#include "size/size.h"

enum { LMAD_MAX_RANK = 32 };

typedef struct {
    const KExp *offset;
    const KExp *const *strides; /* as many as the array's rank */
} Lmad;

/* Row-major from `offset` on, neighbours `unit` apart. */
Lmad lmad_row_major(Ctx *cx, Type t, const KExp *offset, const KExp *unit);
/* An array of type t from the start of its block on, laid out such that the dimensions permuted by
 * perm are row-major: the k-th outermost dimension in memory is dimension perm[k]. NULL: row-major.
 */
Lmad lmad_permuted(Ctx *cx, Type t, const int *perm);
/* Is l, up to its offset, lmad_permuted by some perm? Fills it in (rank of them). Of dimensions
 * with the same stride the last counts as the inner one, so row-major wins. */
bool lmad_perm(Ctx *cx, Lmad l, Type t, int *perm);
/* Is l, up to its offset, row-major? Strides of dimensions of size 1 do not matter. */
bool lmad_is_row_major(Ctx *cx, Lmad l, Type t);
bool lmad_eq(Lmad a, Lmad b, int rank);

/* The element's number; fewer indices than dimensions: that of the row's first element. */
const KExp *lmad_at(Ctx *cx, Lmad l, const KExp *const *ix, int n);
/* The rows (of a rank-dimensional array) under n outer indices. */
Lmad lmad_rows(Ctx *cx, Lmad l, int rank, const KExp *const *ix, int n);
/* The part that the components select: positions disappear, slices stay. */
Lmad lmad_index(Ctx *cx, Lmad l, const DimIndexes *at);
/* Dimension d of the result is dimension perm[d] of l. */
Lmad lmad_rearrange(Ctx *cx, Lmad l, int rank, const int *perm);
/* The inverse: l = lmad_rearrange(result, perm). */
Lmad lmad_unrearrange(Ctx *cx, Lmad l, int rank, const int *perm);
/* n more dimensions outside, along which nothing changes. */
Lmad lmad_repeat(Ctx *cx, Lmad l, int rank, int n);
/* View v of the elements of l (of type t) in row-major order. False if l does not lie so that this
 * is an Lmad: it is one for a row-major l and for a single dimension. */
bool lmad_compose(Ctx *cx, Lmad l, Type t, Lmad v, int rank, Lmad *r);
/* The same elements in row-major order as an array of type `to`. Dimensions that stay at either end
 * may lie anyhow, those between must be row-major among themselves; else false. */
bool lmad_reshape(Ctx *cx, Lmad l, Type from, Type to, Lmad *r);
/* One more than the greatest element number that an index within t can have: what the block must
 * hold. */
const KExp *lmad_span(Ctx *cx, Lmad l, Type t);
/* The dimension along which neighbours lie side by side, the last of several; -1 if there is none.
 */
int lmad_unit_dim(Lmad l, int rank);

bool perm_eq(const int *a, const int *b, int rank);
bool perm_is_identity(const int *perm, int rank);

#endif
