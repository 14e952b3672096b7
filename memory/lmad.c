#include "memory/lmad.h"

#include <string.h>

bool perm_eq(const int *a, const int *b, int rank)
{
    return rank == 0 || memcmp(a, b, sizeof *a * (size_t)rank) == 0;
}

bool perm_is_identity(const int *perm, int rank)
{
    for (int d = 0; d < rank; d++)
        if (perm[d] != d)
            return false;
    return true;
}

static const KExp **strides_new(Ctx *cx, int rank)
{
    return NEWN(cx->perm, const KExp *, rank);
}

static Lmad packed(Ctx *cx, Type t, const int *perm, const KExp *offset, const KExp *unit)
{
    const KExp **strides = strides_new(cx, t.rank);
    for (int k = t.rank - 1; k >= 0; k--) {
        int d = perm ? perm[k] : k;
        strides[d] = unit;
        unit = sx_mul(cx, unit, sx_atom(cx, t.dims[d]));
    }
    return (Lmad){offset, strides};
}

Lmad lmad_row_major(Ctx *cx, Type t, const KExp *offset, const KExp *unit)
{
    return packed(cx, t, NULL, offset, unit);
}

Lmad lmad_permuted(Ctx *cx, Type t, const int *perm)
{
    return packed(cx, t, perm, sx_const(cx, 0), sx_const(cx, 1));
}

bool lmad_perm(Ctx *cx, Lmad l, Type t, int *perm)
{
    const KExp *stride = sx_const(cx, 1);
    bool used[LMAD_MAX_RANK] = {false};
    ASSERT(t.rank <= LMAD_MAX_RANK);
    for (int k = t.rank - 1; k >= 0; k--) {
        int d = t.rank - 1;
        while (d >= 0 && (used[d] || !kx_same(l.strides[d], stride)))
            d--;
        if (d < 0)
            return false;
        used[d] = true;
        perm[k] = d;
        stride = sx_mul(cx, stride, sx_atom(cx, t.dims[d]));
    }
    return true;
}

/* Are dimensions from .. to-1 of t row-major among themselves, with elements `unit` apart? */
static bool block_is_row_major(Ctx *cx, Lmad l, Type t, int from, int to, const KExp *unit)
{
    for (int k = to - 1; k >= from; k--) {
        if (!kx_same(l.strides[k], unit) && !atom_is_int(t.dims[k], 1))
            return false;
        unit = sx_mul(cx, unit, sx_atom(cx, t.dims[k]));
    }
    return true;
}

bool lmad_is_row_major(Ctx *cx, Lmad l, Type t)
{
    return block_is_row_major(cx, l, t, 0, t.rank, sx_const(cx, 1));
}

bool lmad_eq(Lmad a, Lmad b, int rank)
{
    if (!kx_same(a.offset, b.offset))
        return false;
    for (int k = 0; k < rank; k++)
        if (!kx_same(a.strides[k], b.strides[k]))
            return false;
    return true;
}

const KExp *lmad_at(Ctx *cx, Lmad l, const KExp *const *ix, int n)
{
    const KExp *at = l.offset;
    for (int k = 0; k < n; k++)
        at = sx_add(cx, at, sx_mul(cx, ix[k], l.strides[k]));
    return at;
}

Lmad lmad_rows(Ctx *cx, Lmad l, int rank, const KExp *const *ix, int n)
{
    ASSERT(n <= rank);
    return (Lmad){lmad_at(cx, l, ix, n), l.strides + n};
}

Lmad lmad_index(Ctx *cx, Lmad l, const DimIndexes *at)
{
    const KExp **strides = strides_new(cx, at->n), *offset = l.offset;
    int n = 0;
    for (int k = 0; k < at->n; k++) {
        DimIndex d = at->at[k];
        offset = sx_add(cx, offset, sx_mul(cx, sx_atom(cx, d.start), l.strides[k]));
        if (d.is_slice)
            strides[n++] = sx_mul(cx, sx_atom(cx, d.stride), l.strides[k]);
    }
    return (Lmad){offset, strides};
}

Lmad lmad_rearrange(Ctx *cx, Lmad l, int rank, const int *perm)
{
    const KExp **strides = strides_new(cx, rank);
    for (int k = 0; k < rank; k++)
        strides[k] = l.strides[perm[k]];
    return (Lmad){l.offset, strides};
}

Lmad lmad_unrearrange(Ctx *cx, Lmad l, int rank, const int *perm)
{
    const KExp **strides = strides_new(cx, rank);
    for (int k = 0; k < rank; k++)
        strides[perm[k]] = l.strides[k];
    return (Lmad){l.offset, strides};
}

Lmad lmad_repeat(Ctx *cx, Lmad l, int rank, int n)
{
    const KExp **strides = strides_new(cx, n + rank);
    for (int k = 0; k < n + rank; k++)
        strides[k] = k < n ? sx_const(cx, 0) : l.strides[k - n];
    return (Lmad){l.offset, strides};
}

bool lmad_compose(Ctx *cx, Lmad l, Type t, Lmad v, int rank, Lmad *r)
{
    const KExp *unit = t.rank == 1 ? l.strides[0] : sx_const(cx, 1);
    if (t.rank != 1 && !lmad_is_row_major(cx, l, t))
        return false;
    const KExp **strides = strides_new(cx, rank);
    for (int k = 0; k < rank; k++)
        strides[k] = sx_mul(cx, unit, v.strides[k]);
    *r = (Lmad){sx_add(cx, l.offset, sx_mul(cx, unit, v.offset)), strides};
    return true;
}

bool lmad_reshape(Ctx *cx, Lmad l, Type from, Type to, Lmad *r)
{
    int head = 0, tail = 0, least = from.rank < to.rank ? from.rank : to.rank;
    while (head < least && atom_eq(from.dims[head], to.dims[head]))
        head++;
    while (head + tail < least &&
           atom_eq(from.dims[from.rank - 1 - tail], to.dims[to.rank - 1 - tail]))
        tail++;
    int last = from.rank - tail - 1; /* of the dimensions that change */
    while (last > head && atom_is_int(from.dims[last], 1))
        last--;
    const KExp *unit = last >= head ? l.strides[last] : sx_const(cx, 1);
    if (!block_is_row_major(cx, l, from, head, last + 1, unit))
        return false;
    const KExp **strides = strides_new(cx, to.rank);
    for (int k = to.rank - 1; k >= 0; k--) {
        if (k < head) {
            strides[k] = l.strides[k];
        } else if (k >= to.rank - tail) {
            strides[k] = l.strides[k - to.rank + from.rank];
        } else {
            strides[k] = unit;
            unit = sx_mul(cx, unit, sx_atom(cx, to.dims[k]));
        }
    }
    *r = (Lmad){l.offset, strides};
    return true;
}

const KExp *lmad_span(Ctx *cx, Lmad l, Type t)
{
    const KExp *most = sx_add(cx, l.offset, sx_const(cx, 1)), *zero = sx_const(cx, 0);
    for (int k = 0; k < t.rank; k++) {
        const KExp *last = sx_sub(cx, sx_atom(cx, t.dims[k]), sx_const(cx, 1));
        most = sx_add(cx, most, sx_op(cx, SX_MAX, zero, sx_mul(cx, last, l.strides[k])));
    }
    return most;
}

int lmad_unit_dim(Lmad l, int rank)
{
    for (int k = rank - 1; k >= 0; k--)
        if (kx_is_int(l.strides[k], 1))
            return k;
    return -1;
}
