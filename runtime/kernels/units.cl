/* Do products of four warps (matrix.cl) work? All numbers are 1, so each of the 64 x 8 sums should be 16; x[1], which is 0, becomes
 * the number of work-items that have such ones. */
#define MF_KNOWN(text) "//@wide " text "\n\t"
__kernel __attribute__((reqd_work_group_size(128, 1, 1))) void mf_units(__global int *x)
{
    __local ushort tile[64 * 64] __attribute__((aligned(1024)));
    float sums[4] = {0, 0, 0, 0};
    int ones = 0;
    for (uint i = get_local_id(0); i < 64 * 64; i += 128)
        tile[i] = 0x3c00;
    __asm__ volatile(MF_KNOWN("fence.proxy.async.shared::cta;") : : : "memory");
    barrier(CLK_LOCAL_MEM_FENCE);
    ulong told = (ulong)(1 << 30 | 64) << 32 | 1 << 16 | ((uint)(size_t)tile & 0x3ffff) >> 4;
    __asm__ volatile(MF_KNOWN("wgmma.fence.sync.aligned;") : : : "memory");
    __asm__ volatile(MF_KNOWN("{ .reg .pred p; setp.eq.u32 p,0,0;")
                     MF_KNOWN("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3},%4,%4,p,1,1,0,0; }")
                     : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3]) : "l"(told));
    __asm__ volatile(MF_KNOWN("wgmma.commit_group.sync.aligned;") : : : "memory");
    __asm__ volatile(MF_KNOWN("wgmma.wait_group.sync.aligned 0;")
                     : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3]) : : "memory");
    for (int i = 0; i < 4; i++)
        ones += sums[i] == 16;
    if (ones == 4)
        atomic_inc(&x[1]);
}
