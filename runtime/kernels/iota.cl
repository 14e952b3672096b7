/* A built-in kernel: start, start + step, ...
 *   -DELEM=uchar|ushort|uint|ulong  the element, by size only */
__kernel void mf_iota(MF_GRID __global ELEM *dst, long off, long n, long start, long step)
{
    dst += off;
    for (long i = get_global_id(0); i < n; i += get_global_size(0))
        dst[i] = (ELEM)((ulong)start + (ulong)i * (ulong)step);
}
