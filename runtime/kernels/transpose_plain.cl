/* A built-in kernel: transposes matrices, one element of the result at a time; for narrow ones, whose rows share cache
 * lines anyway.
 *   -DELEM=uchar|ushort|uint|ulong  the element, by size only
 *   -DIDX=int|long                  what indices fit */
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
