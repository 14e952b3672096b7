/* A built-in kernel: transposes matrices on CPUs. Each work-item moves tiles that fit the first-level cache, one beside
 * the other, so that what it reads is ahead of it.
 *   -DELEM=uchar|ushort|uint|ulong  the element, by size only */
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
