/* A kernel that runs many launches, steps, one after the other (steps.c). This text stands in it twice: before the
 * texts of the steps' kernels, and behind them, where these are defined:
 *
 *   MF_STRIDE     words of a step: number of its kernel and whether the next one waits; groups and their size;
 *                 launch, local memory of a group, and groups beside each other; arguments
 *   MF_BLOCKS(X)  X(0) X(1) .. for as many blocks as there are parameters
 *   MF_N_BLOCKS   so many
 *   MF_FULL_GROUP work-items of a group, if it is built for so many
 *   MF_PHASES     the cases of a switch: a call of each kernel
 *
 * The kernels are functions here, which are told where in their launch they are: a step has as many groups as
 * its launch would have, whatever runs it. Nothing is said to be apart from everything else: what one step only
 * reads, others write. */
#ifndef MF_PHASES
static inline uint mf_real_group(void)
{
    return (uint)get_group_id(0);
}

static inline uint mf_real_groups(void)
{
    return (uint)get_num_groups(0);
}

static inline uint mf_real_me(void)
{
    return (uint)get_local_id(0);
}

static inline uint mf_real_size(void)
{
    return (uint)get_local_size(0);
}

/* Where a work-item is in a step: number `part` of the groups that its group does beside each other. */
typedef struct {
    uint group, me, size, groups, part;
} mf_grid;

/* The grid of a step with items of work-items in groups of `size`, of which this is number `item`. */
static inline mf_grid mf_grid_of(uint item, uint size, uint groups)
{
    mf_grid grid = {item / size, item % size, size, groups, 0};
    return grid;
}

static inline void mf_real_barrier(void)
{
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
}

/* Groups of a step are parts of larger ones, some warps with a barrier of their own. A warp is in step anyway. */
#if defined(__NV_CL_C_VERSION)
static inline void mf_part_barrier(mf_grid grid)
{
    if (grid.size == 32)
        __asm__ volatile("bar.warp.sync 0xffffffff;" : : : "memory");
    else
        __asm__ volatile("bar.sync %0,%1;" : : "r"(grid.part + 1), "r"(grid.size) : "memory");
}
#define barrier(fence) mf_part_barrier(grid)
#ifdef MF_FULL_GROUP /* parts are whole warps, and loops that their leads share out have a turn that compilers see */
#undef MF_LEAD_SIZE
#define MF_LEAD_SIZE MF_LANES
#endif
#endif

#undef MF_GRID
#define MF_GRID              mf_grid grid,
#define get_group_id(d)      (grid.group)
#define get_local_id(d)      (grid.me)
#define get_local_size(d)    (grid.size)
#define get_num_groups(d)    (grid.groups)
#define get_global_size(d)   (grid.groups * grid.size)
#define get_global_id(d)     (grid.group * grid.size + grid.me)
#define __kernel             static
#define restrict
/* Not before this launch, and no step begins that had to know. */
#define mf_failed_before(failure, launch) false

#else
#undef __kernel
#undef mf_failed_before

/* Arguments of a call, from words of the step. */
#define MF_A_BLOCK(i)    block[step[i]]
#define MF_A_LOCAL(i)    ((__local void *)(pool + step[i] + part * local_each))
#define MF_A_INT(t, i)   ((t)step[i])
#define MF_A_FLOAT(i)    as_float((uint)step[i])
#define MF_A_DOUBLE(i)   as_double(step[i])
#define MF_FAILURES    failure, (int)step[2]

/* A call for each group of the step, whose work-items meet and share local memory; or for each work-item of those
 * that go their own way, whatever the groups. */
#define MF_GROUPWISE(call)                                                                         \
    if (part < parts)                                                                              \
        for (uint g = mf_real_group() * parts + part; g < groups; g += mf_real_groups() * parts) { \
            const mf_grid grid = {g, me - part * size, size, groups, part};                        \
            if (g >= mf_real_groups() * parts)                                                     \
                barrier(CLK_LOCAL_MEM_FENCE);                                                      \
            call;                                                                                  \
        }                                                                                          \
    break;
#define MF_ITEMWISE(call)                                                                          \
    for (uint i = mf_real_group() * all + me; i < groups * size; i += mf_real_groups() * all) {    \
        const mf_grid grid = mf_grid_of(i, size, groups);                                          \
        call;                                                                                      \
    }                                                                                              \
    break;

#define MF_PARAMETER(i) , __global void *b##i
#define MF_ENTER(i)     block[i] = b##i;

/* Each step comes to local memory; its words are asked for while the one before it runs. */
#ifdef MF_FULL_GROUP
__attribute__((reqd_work_group_size(MF_FULL_GROUP, 1, 1)))
#endif
__kernel void mf_steps(__global mf_failure *failure, int launch, __global const ulong *steps, int n,
                       __local ulong2 *pool MF_BLOCKS(MF_PARAMETER))
{
    __local ulong words[2][MF_STRIDE];
    __local int failed;
    __global void *__local block[MF_N_BLOCKS];
    const uint me = mf_real_me(), all = mf_real_size();
    if (mf_failed_before(failure, (int)steps[2]))
        return;
    if (me == 0) {
        MF_BLOCKS(MF_ENTER)
    }
    for (uint i = me; i < MF_STRIDE; i += all)
        words[0][i] = steps[i];
    mf_real_barrier();
    for (int at = 0; at < n; at++) {
        __local const ulong *step = words[at & 1];
        __local ulong *after = words[~at & 1];
        __global const ulong *from = steps + (at + 1) * MF_STRIDE;
        const bool more = at + 1 < n;
        const ulong next = more && me < MF_STRIDE ? from[me] : 0;
        const uint groups = (uint)step[1], size = (uint)(step[1] >> 32);
        const uint local_each = (uint)(step[2] >> 32) & 0xffff, parts = (uint)(step[2] >> 48), part = me / size;
        switch ((uint)step[0]) {
            MF_PHASES
        }
        if (!more)
            break;
        if (me < MF_STRIDE)
            after[me] = next;
        for (uint i = me + all; i < MF_STRIDE; i += all)
            after[i] = from[i];
        const uint meets = (uint)(step[0] >> 32);
        if (!meets)
            mf_real_barrier();
        else if (mf_meet_grid(failure, launch, meets == 2, &failed))
            break;
    }
}
#endif
