/* A built-in kernel: copies between blocks with strides.
 *   -DELEM=uchar|ushort|uint|ulong  the element, by size only
 *   -DIDX=int|long                  what indices fit
 *   -DRANK=n                        the number of dimensions */
/* The innermost dimension is number RANK-1. */
#define MF_DIM(k)                                                                                  \
    if (RANK > (k) + 1) {                                                                          \
        const IDX q = i / (IDX)n##k, x = i - q * (IDX)n##k;                                        \
        to += x * (IDX)d##k;                                                                       \
        from += x * (IDX)s##k;                                                                     \
        i = q;                                                                                     \
    } else if (RANK == (k) + 1) {                                                                  \
        to += i * (IDX)d##k;                                                                       \
        from += i * (IDX)s##k;                                                                     \
    }
/* Dimension 0 is the innermost here: n sizes, d and s strides of destination and source. */
__kernel void mf_copy_strided(MF_GRID __global ELEM *dst, long dst_off,
                              __global const ELEM *src, long src_off, long n, long n0,
                              long n1, long n2, long n3, long n4, long n5, long n6, long n7,
                              long d0, long d1, long d2, long d3, long d4, long d5, long d6,
                              long d7, long s0, long s1, long s2, long s3, long s4, long s5,
                              long s6, long s7)
{
    dst += dst_off;
    src += src_off;
    for (IDX at = get_global_id(0); at < n; at += get_global_size(0)) {
        IDX i = at, to = 0, from = 0;
        MF_DIM(0)
        MF_DIM(1)
        MF_DIM(2)
        MF_DIM(3)
        MF_DIM(4)
        MF_DIM(5)
        MF_DIM(6)
        MF_DIM(7)
        dst[to] = src[from];
    }
}
