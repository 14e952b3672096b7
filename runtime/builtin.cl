/* Built-in kernels: fill, iota, transposition, strided copy. Built with
 *   -DELEM=uchar|ushort|uint|ulong  the element, by size only
 *   -DIDX=int|long                  what indices fit
 *   -DRANK=n                        of a strided copy
 * Offsets are long and are added to the pointers first. */

__kernel void mf_fill(__global ELEM *dst, long off, long n, ELEM value)
{
    dst += off;
    for (long i = get_global_id(0); i < n; i += get_global_size(0))
        dst[i] = value;
}

__kernel void mf_iota(__global ELEM *dst, long off, long n, long start, long step)
{
    dst += off;
    for (long i = get_global_id(0); i < n; i += get_global_size(0))
        dst[i] = (ELEM)((ulong)start + (ulong)i * (ulong)step);
}

/* Each group of 32 x 8 work-items moves one tile of 32 x 32 elements through local memory, so that
 * reads and writes are both of whole rows. Groups are numbered along columns, rows, batch. */
#define TILE 32
__kernel void mf_transpose_tiled(__global ELEM *dst, long dst_off, __global const ELEM *src,
                                 long src_off, long rows, long cols, __local ELEM *tile)
{
    const long tiles_x = (cols + TILE - 1) / TILE, tiles_y = (rows + TILE - 1) / TILE;
    const long group = get_group_id(0), tx = group % tiles_x, ty = group / tiles_x % tiles_y;
    const long base = group / tiles_x / tiles_y * rows * cols;
    const int lx = get_local_id(0) % TILE, ly = get_local_id(0) / TILE;
    const int step = get_local_size(0) / TILE;
    src += src_off + base;
    dst += dst_off + base;
    for (int k = ly; k < TILE; k += step) {
        const IDX r = ty * TILE + k, c = tx * TILE + lx;
        if (r < rows && c < cols)
            tile[k * (TILE + 1) + lx] = src[r * (IDX)cols + c];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = ly; k < TILE; k += step) {
        const IDX c = tx * TILE + k, r = ty * TILE + lx;
        if (r < rows && c < cols)
            dst[c * (IDX)rows + r] = tile[lx * (TILE + 1) + k];
    }
}

/* One element of the result at a time: for narrow matrices, whose rows share cache lines anyway. */
__kernel void mf_transpose_plain(__global ELEM *dst, long dst_off, __global const ELEM *src,
                                 long src_off, long rows, long cols, long n)
{
    const IDX size = rows * cols;
    src += src_off;
    dst += dst_off;
    for (IDX i = get_global_id(0); i < n; i += get_global_size(0)) {
        const IDX b = i / size, j = i - b * size, c = j / (IDX)rows, r = j - c * (IDX)rows;
        dst[i] = src[b * size + r * (IDX)cols + c];
    }
}

/* For CPUs: each work-item moves tiles that fit the first-level cache. */
__kernel void mf_transpose_cpu(__global ELEM *dst, long dst_off, __global const ELEM *src,
                               long src_off, long rows, long cols, long tiles)
{
    const long tiles_x = (cols + TILE - 1) / TILE, tiles_y = (rows + TILE - 1) / TILE;
    src += src_off;
    dst += dst_off;
    for (long t = get_global_id(0); t < tiles; t += get_global_size(0)) {
        const long c0 = t % tiles_x * TILE, r0 = t / tiles_x % tiles_y * TILE;
        const long base = t / tiles_x / tiles_y * rows * cols;
        const long c1 = min(c0 + TILE, cols), r1 = min(r0 + TILE, rows);
        for (long c = c0; c < c1; c++)
            for (long r = r0; r < r1; r++)
                dst[base + c * rows + r] = src[base + r * cols + c];
    }
}

#ifdef RANK
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
__kernel void mf_copy_strided(__global ELEM *dst, long dst_off,
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
#endif
