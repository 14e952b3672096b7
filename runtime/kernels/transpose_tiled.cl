/* A built-in kernel: transposes matrices by tiles.
 *   -DELEM=uchar|ushort|uint|ulong  the element, by size only
 *   -DIDX=int|long                  what indices fit
 *   -DROWS=n -DCOLS=n -DVEC=n       the tile, and its vectors */
#define MF_JOIN(a, b)   a##b
#define MF_WIDE(a, b) MF_JOIN(a, b)
/* The elements of a vector of a row, each into its column of the tile. */
#if VEC == 2
#define MF_SPREAD(to, v) ((to)[0] = (v).s0, (to)[ROWS] = (v).s1)
#else
#define MF_SPREAD(to, v)                                                                           \
    ((to)[0] = (v).s0, (to)[ROWS] = (v).s1, (to)[2 * ROWS] = (v).s2, (to)[3 * ROWS] = (v).s3)
#endif
typedef MF_WIDE(ELEM, VEC) mf_vector;

/* Where the tile holds row r of column c. A column's rows lie together, in vectors, whose order differs
 * from column to column so that work-items that write a row do not all meet in one bank. */
#define TILE_AT(r, c) ((c) * ROWS + (((r) / VEC ^ (c) / VEC) % (ROWS / VEC)) * VEC + (r) % VEC)

/* Each group moves one tile of ROWS x COLS elements through local memory, so that reads and writes are
 * both of runs of elements; of vectors, where they are aligned: with vectors all positions are multiples
 * of VEC, so a vector is within the matrix or outside. Outside, what is nearest is read, without a
 * branch, so that all reads of a work-item are on their way together. Groups are numbered along the
 * side of fewer tiles first, which share lines of memory: rows that are read, or that are written. */
#define GROUP 256
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void mf_transpose_tiled(__global ELEM *restrict dst, long dst_off, __global const ELEM *restrict src,
                        long src_off, long rows, long cols)
{
    __local ELEM tile[ROWS * COLS] __attribute__((aligned(16)));
    enum { SCALARS = ROWS * COLS / GROUP, VECTORS = SCALARS / VEC }; /* of a work-item */
    const IDX height = rows, width = cols, group = get_group_id(0);
    const IDX tiles_x = (width + COLS - 1) / COLS, tiles_y = (height + ROWS - 1) / ROWS;
    const IDX side = min(tiles_x, tiles_y), other = max(tiles_x, tiles_y), band = group / side, b = band / other;
    const IDX near = group - band * side, far = band - b * other;
    const IDX c0 = (tiles_x <= tiles_y ? near : far) * COLS, r0 = (tiles_x <= tiles_y ? far : near) * ROWS;
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
