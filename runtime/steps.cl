/* A kernel that runs many launches, steps, one after the other (steps.c). This text stands in it twice: before the
 * texts of the steps' kernels, and behind them, where these are defined:
 *
 *   MF_STRIDE     words of a step: number of its kernel and whether it waits, groups and their size, launch, arguments
 *   MF_BLOCKS(X)  X(0) X(1) .. for as many blocks as there are parameters
 *   MF_N_BLOCKS   so many
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

typedef struct {
    uint group, me, size, groups;
} mf_grid;

/* The grid of a step with items of work-items in groups of `size`, of which this is number `item`. */
static inline mf_grid mf_grid_of(uint item, uint size, uint groups)
{
    mf_grid grid = {item / size, item % size, size, groups};
    return grid;
}

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

#else
#undef __kernel

/* Arguments of a call, from words of the step. */
#define MF_A_BLOCK(i)    block[step[i]]
#define MF_A_LOCAL(i)    ((__local void *)(pool + step[i]))
#define MF_A_INT(t, i)   ((t)step[i])
#define MF_A_FLOAT(i)    as_float((uint)step[i])
#define MF_A_DOUBLE(i)   as_double(step[i])
#define MF_FAILURES    failure, (int)step[2]

/* A call for each group of the step, whose work-items meet and share local memory; or for each work-item of those
 * that go their own way, whatever the groups. */
#define MF_GROUPWISE(call)                                                                         \
    for (uint g = mf_real_group(); g < groups; g += mf_real_groups()) {                            \
        const mf_grid grid = {g, me, size, groups};                                                \
        if (g != mf_real_group())                                                                  \
            barrier(CLK_LOCAL_MEM_FENCE);                                                          \
        call;                                                                                      \
    }                                                                                              \
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
__kernel void mf_steps(__global mf_failure *failure, int launch, __global const ulong *steps, int n,
                       __local ulong2 *pool MF_BLOCKS(MF_PARAMETER))
{
    __local ulong step[MF_STRIDE];
    __local int failed;
    __global void *__local block[MF_N_BLOCKS];
    const uint me = mf_real_me(), all = mf_real_size();
    if (me == 0) {
        MF_BLOCKS(MF_ENTER)
    }
    for (uint i = me; i < MF_STRIDE; i += all)
        step[i] = steps[i];
    for (int at = 1;; at++) {
        const ulong next = at < n && me < MF_STRIDE ? steps[at * MF_STRIDE + me] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint groups = (uint)step[1], size = (uint)(step[1] >> 32);
        switch ((uint)step[0]) {
            MF_PHASES
        }
        if (at == n)
            break;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (me < MF_STRIDE)
            step[me] = next;
        for (uint i = me + all; i < MF_STRIDE; i += all)
            step[i] = steps[at * MF_STRIDE + i];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (step[0] >> 32 && mf_meet_grid(failure, launch, &failed))
            break;
    }
}
#endif
