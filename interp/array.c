/* Arrays of the interpreter: reference-counted buffers and the views on them. */
#include "common/scalar.h"
#include "interp/code.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK = 256, BUF_HEADER = (sizeof(Buf) + 15) / 16 * 16 };

static Arr *header_new(Interp *in)
{
    if (!in->free_arrs) {
        Arr *chunk = calloc(CHUNK, sizeof *chunk);
        if (!chunk)
            interp_fail(in, INTERP_USER, (Loc){0, 0}, "out of memory");
        vec_push(in->mem, &in->arr_chunks, (void *)chunk);
        for (int i = 0; i < CHUNK; i++) {
            chunk[i].next_free = in->free_arrs;
            in->free_arrs = &chunk[i];
        }
    }
    Arr *a = in->free_arrs;
    in->free_arrs = a->next_free;
    a->refs = 1;
    return a;
}

static Buf *buf_new(Interp *in, Loc loc, int64_t bytes)
{
    Buf *b = malloc(BUF_HEADER + (size_t)bytes);
    if (!b)
        interp_fail(in, INTERP_USER, loc, "out of memory: array of %lld bytes", (long long)bytes);
    b->refs = 1;
    b->bytes = bytes;
    b->prev = NULL;
    b->next = in->bufs;
    if (in->bufs)
        in->bufs->prev = b;
    in->bufs = b;
    return b;
}

static void buf_release(Interp *in, Buf *b)
{
    if (--b->refs > 0)
        return;
    if (b->prev)
        b->prev->next = b->next;
    else
        in->bufs = b->next;
    if (b->next)
        b->next->prev = b->prev;
    free(b);
}

bool dims_are_empty(const int64_t *n, int rank)
{
    for (int d = 0; d < rank; d++)
        if (n[d] <= 0)
            return true;
    return false;
}

static void natural_dims(int rank, const int64_t *n, int64_t *natural)
{
    for (int d = 0; d < rank; d++)
        natural[d] = n[d] < 0 ? 0 : n[d];
}

Arr *arr_new(Interp *in, Loc loc, PrimType elem, int rank, const int64_t *dims)
{
    int64_t n[RT_MAX_RANK], stride[RT_MAX_RANK], bytes = prim_type_bytes[elem];
    natural_dims(rank, dims, n);
    for (int d = rank - 1; d >= 0; d--) {
        stride[d] = bytes;
        bytes = mf_size_mul(bytes, n[d]);
    }
    if (bytes > RT_MAX_BYTES)
        interp_stop(in, loc, stop_too_large(in->mem, rank), n, rank);
    Buf *b = buf_new(in, loc, bytes);
    Arr *a = header_new(in);
    a->elem = (uint8_t)elem;
    a->rank = (uint8_t)rank;
    a->buf = b;
    a->base = (char *)b + BUF_HEADER;
    memcpy(a->n, n, sizeof *n * (size_t)rank);
    memcpy(a->stride, stride, sizeof *stride * (size_t)rank);
    return a;
}

Arr *arr_view(Interp *in, const Arr *a)
{
    Arr *v = header_new(in);
    v->elem = a->elem;
    v->rank = a->rank;
    v->buf = a->buf;
    v->base = a->base;
    memcpy(v->n, a->n, sizeof *a->n * a->rank);
    memcpy(v->stride, a->stride, sizeof *a->stride * a->rank);
    a->buf->refs++;
    return v;
}

void arr_release(Interp *in, Arr *a)
{
    if (!a || --a->refs > 0)
        return;
    buf_release(in, a->buf);
    a->buf = NULL;
    a->next_free = in->free_arrs;
    in->free_arrs = a;
}

bool arr_row_major(const Arr *a)
{
    int64_t want = prim_type_bytes[a->elem];
    for (int d = a->rank - 1; d >= 0; d--) {
        if (a->n[d] != 1 && a->stride[d] != want)
            return false;
        want = mf_size_mul(want, a->n[d]);
    }
    return true;
}

#define COPY_LINE(T)                                                                               \
    for (int64_t i = 0; i < n; i++)                                                                \
    *(T *)(to + i * ts) = *(const T *)(from + i * fs)

static void copy_line(PrimType t, char *to, int64_t ts, const char *from, int64_t fs, int64_t n)
{
    int size = prim_type_bytes[t];
    if (ts == size && fs == size) {
        memmove(to, from, (size_t)(n * size));
        return;
    }
    switch (size) {
    case 1: COPY_LINE(uint8_t); break;
    case 2: COPY_LINE(uint16_t); break;
    case 4: COPY_LINE(uint32_t); break;
    default: COPY_LINE(uint64_t); break;
    }
}

static void copy_dims(const Arr *a, int d, char *to, const int64_t *ts, const char *from)
{
    if (d == a->rank - 1) {
        copy_line((PrimType)a->elem, to, ts[d], from, a->stride[d], a->n[d]);
        return;
    }
    for (int64_t i = 0; i < a->n[d]; i++)
        copy_dims(a, d + 1, to + i * ts[d], ts, from + i * a->stride[d]);
}

bool arr_is_empty(const Arr *a)
{
    for (int d = 0; d < a->rank; d++)
        if (a->n[d] == 0)
            return true;
    return false;
}

void arr_copy_to(char *base, const int64_t *stride, const Arr *src)
{
    if (!arr_is_empty(src)) /* there may be very many rows of nothing */
        copy_dims(src, 0, base, stride, src->base);
}

Arr *arr_copy(Interp *in, Loc loc, const Arr *a)
{
    Arr *c = arr_new(in, loc, (PrimType)a->elem, a->rank, a->n);
    arr_copy_to(c->base, c->stride, a);
    return c;
}

Arr *arr_unique(Interp *in, Loc loc, Arr *a)
{
    if (a->refs == 1 && a->buf->refs == 1)
        return a;
    Arr *c = arr_copy(in, loc, a);
    arr_release(in, a);
    return c;
}

static void fill_dims(const Arr *a, int d, char *to, Val v)
{
    for (int64_t i = 0; i < a->n[d]; i++)
        if (d == a->rank - 1)
            scalar_store((PrimType)a->elem, to + i * a->stride[d], v);
        else
            fill_dims(a, d + 1, to + i * a->stride[d], v);
}

void arr_fill(Arr *a, Val v)
{
    if (!arr_is_empty(a))
        fill_dims(a, 0, a->base, v);
}

void heap_free(Interp *in)
{
    while (in->bufs) {
        Buf *b = in->bufs;
        in->bufs = b->next;
        free(b);
    }
    for (int i = 0; i < in->arr_chunks.n; i++)
        free(in->arr_chunks.at[i]);
    in->arr_chunks.n = 0;
    in->free_arrs = NULL;
}
