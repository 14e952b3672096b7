/* Built-in kernels: fill, iota, transposition, strided copy. Built with
 *   -DELEM=uchar|ushort|uint|ulong  the element, by size only
 *   -DIDX=int|long                  what indices fit
 *   -DRANK=n                        of a strided copy
 *   -DROWS=n -DCOLS=n -DVEC=n       the tile of a transposition, and its vectors
 * Offsets are long and are added to the pointers first. */

__kernel void mf_fill(MF_GRID __global ELEM *dst, long off, long n, ELEM value)
{
    dst += off;
    for (long i = get_global_id(0); i < n; i += get_global_size(0))
        dst[i] = value;
}

__kernel void mf_iota(MF_GRID __global ELEM *dst, long off, long n, long start, long step)
{
    dst += off;
    for (long i = get_global_id(0); i < n; i += get_global_size(0))
        dst[i] = (ELEM)((ulong)start + (ulong)i * (ulong)step);
}

#ifdef ROWS
#define MF_JOIN(a, b)   a##b
#define MF_VECTOR(a, b) MF_JOIN(a, b)
/* The elements of a vector of a row, each into its column of the tile. */
#if VEC == 2
#define MF_SPREAD(to, v) ((to)[0] = (v).s0, (to)[ROWS] = (v).s1)
#else
#define MF_SPREAD(to, v)                                                                           \
    ((to)[0] = (v).s0, (to)[ROWS] = (v).s1, (to)[2 * ROWS] = (v).s2, (to)[3 * ROWS] = (v).s3)
#endif
typedef MF_VECTOR(ELEM, VEC) mf_vector;

/* Where the tile holds row r of column c. A column's rows lie together, in vectors, whose order differs
 * from column to column so that work-items that write a row do not all meet in one bank. */
#define TILE_AT(r, c) ((c) * ROWS + (((r) / VEC ^ (c) / VEC) % (ROWS / VEC)) * VEC + (r) % VEC)

/* Each group moves one tile of ROWS x COLS elements through local memory, so that reads and writes are
 * both of runs of elements; of vectors, where they are aligned: with vectors all positions are multiples
 * of VEC, so a vector is within the matrix or outside. Outside, what is nearest is read, without a
 * branch, so that all reads of a work-item are on their way together. Groups are numbered along columns,
 * rows, batch. */
#define GROUP 256
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void mf_transpose_tiled(__global ELEM *restrict dst, long dst_off, __global const ELEM *restrict src,
                        long src_off, long rows, long cols)
{
    __local ELEM tile[ROWS * COLS] __attribute__((aligned(16)));
    enum { SCALARS = ROWS * COLS / GROUP, VECTORS = SCALARS / VEC }; /* of a work-item */
    const IDX height = rows, width = cols, group = get_group_id(0);
    const IDX tiles_x = (width + COLS - 1) / COLS, tiles_y = (height + ROWS - 1) / ROWS;
    const IDX band = group / tiles_x, b = band / tiles_y;
    const IDX c0 = (group - band * tiles_x) * COLS, r0 = (band - b * tiles_y) * ROWS;
    const uint me = get_local_id(0);
    src += src_off + b * rows * cols;
    dst += dst_off + b * rows * cols;
    if ((src_off | cols) % VEC == 0) {
        mf_vector v[VECTORS];
#pragma unroll
        for (uint k = 0; k < VECTORS; k++) {
            const uint e = k * GROUP + me;
            const IDX y = min((IDX)(r0 + e / (COLS / VEC)), (IDX)(height - 1));
            const IDX x = min((IDX)(c0 + e % (COLS / VEC) * VEC), (IDX)(width - VEC));
            v[k] = *(__global const mf_vector *)(src + (y * width + x));
        }
#pragma unroll
        for (uint k = 0; k < VECTORS; k++) {
            const uint e = k * GROUP + me, r = e / (COLS / VEC), c = e % (COLS / VEC) * VEC;
            MF_SPREAD(tile + TILE_AT(r, c), v[k]);
        }
    } else {
        ELEM v[SCALARS];
#pragma unroll
        for (uint k = 0; k < SCALARS; k++) {
            const uint e = k * GROUP + me;
            const IDX y = min((IDX)(r0 + e / COLS), (IDX)(height - 1));
            const IDX x = min((IDX)(c0 + e % COLS), (IDX)(width - 1));
            v[k] = src[y * width + x];
        }
#pragma unroll
        for (uint k = 0; k < SCALARS; k++) {
            const uint e = k * GROUP + me;
            tile[TILE_AT(e / COLS, e % COLS)] = v[k];
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if ((dst_off | rows) % VEC == 0) {
#pragma unroll
        for (uint k = 0; k < VECTORS; k++) {
            const uint e = k * GROUP + me, c = e / (ROWS / VEC), r = e % (ROWS / VEC) * VEC;
            const IDX y = r0 + r, x = c0 + c;
            if (y < height && x < width)
                *(__global mf_vector *)(dst + (x * height + y)) =
                    *(__local const mf_vector *)(tile + TILE_AT(r, c));
        }
    } else {
#pragma unroll
        for (uint k = 0; k < SCALARS; k++) {
            const uint e = k * GROUP + me, c = e / ROWS, r = e % ROWS;
            const IDX y = r0 + r, x = c0 + c;
            if (y < height && x < width)
                dst[x * height + y] = tile[TILE_AT(r, c)];
        }
    }
}
#endif

/* One element of the result at a time: for narrow matrices, whose rows share cache lines anyway. */
__kernel void mf_transpose_plain(MF_GRID __global ELEM *dst, long dst_off, __global const ELEM *src,
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

/* For CPUs: each work-item moves tiles that fit the first-level cache, one beside the other, so that
 * what it reads is ahead of it. */
#define TILE 32
__kernel void mf_transpose_cpu(MF_GRID __global ELEM *dst, long dst_off, __global const ELEM *src,
                               long src_off, long rows, long cols, long tiles)
{
    const long tiles_x = (cols + TILE - 1) / TILE, tiles_y = (rows + TILE - 1) / TILE;
    src += src_off;
    dst += dst_off;
    const long share = (tiles + get_global_size(0) - 1) / get_global_size(0);
    const long first = get_global_id(0) * share, last = min(first + share, tiles);
    for (long t = first; t < last; t++) {
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
#endif
