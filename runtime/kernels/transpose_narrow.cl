/* A built-in kernel: transposes matrices of few rows, or few columns, that leave much of a tile empty.
 *   -DELEM=uchar|ushort|uint|ulong  the element, by size only
 *   -DIDX=int|long                  what indices fit
 *   -DROOM=n                        elements of local memory
 *
 * On one side all elements of some rows, or columns, are one run: as they lie there they lie in local memory, too. Each
 * group has `run` of them, 2 to the power of shift, and all of a work-item's loads are on their way together. */
#define GROUP 256
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void mf_transpose_narrow(MF_GRID __global ELEM *restrict dst, long dst_off, __global const ELEM *restrict src,
                         long src_off, long rows, long cols, int shift)
{
    __local ELEM part[ROOM];
    enum { EACH = ROOM / GROUP };
    const uint run = 1u << shift;
    const IDX few = min(rows, cols), many = max(rows, cols), group = get_group_id(0);
    const IDX groups = (many + (IDX)run - 1) / (IDX)run, b = group / groups;
    const IDX first = (group - b * groups) * (IDX)run;
    const uint n = min((IDX)run, (IDX)(many - first)), all = n * (uint)few, me = get_local_id(0);
    const uint most = (uint)few << shift;
    ELEM v[EACH];
    src += src_off + b * few * many;
    dst += dst_off + b * few * many;
    if (rows < cols) {
#pragma unroll
        for (uint k = 0; k < EACH; k++) {
            const uint e = min(k * GROUP + me, most - 1);
            v[k] = src[(e >> shift) * many + (IDX)(first + min(e & (run - 1), n - 1))];
        }
#pragma unroll
        for (uint k = 0; k < EACH; k++) {
            const uint e = k * GROUP + me, c = e & (run - 1);
            if (e < most && c < n)
                part[c * (uint)few + (e >> shift)] = v[k];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint e = me; e < all; e += GROUP)
            dst[first * few + e] = part[e];
    } else {
#pragma unroll
        for (uint k = 0; k < EACH; k++)
            v[k] = src[first * few + (IDX)min(k * GROUP + me, all - 1)];
#pragma unroll
        for (uint k = 0; k < EACH; k++)
            part[k * GROUP + me] = v[k];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint e = me; e < most; e += GROUP) {
            const uint c = e & (run - 1), r = e >> shift;
            if (c < n)
                dst[r * many + (IDX)(first + c)] = part[c * (uint)few + r];
        }
    }
}
