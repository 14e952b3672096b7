/* A built-in kernel: fills with a value.
 *   -DELEM=uchar|ushort|uint|ulong  the element, by size only
 * Of this and the other built-in kernels: offsets are long and are added to the pointers first. */
__kernel void mf_fill(MF_GRID __global ELEM *dst, long off, long n, ELEM value)
{
    dst += off;
    for (long i = get_global_id(0); i < n; i += get_global_size(0))
        dst[i] = value;
}
