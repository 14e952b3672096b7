/* What kernels in OpenCL C (prelude.cl) and in C (native.h) have alike: failures, memory of
 * work-items, quotients of indices. What is around this text says how helpers are declared
 * (MF_HELPER), where what is shared lies (MF_GLOBAL), and how words there are accessed in one step:
 * int by MF_SEE(place), and MF_SWAP(place, x) and MF_CAS(place, old, new), which give what was
 * there; unsigned by MF_RAISE(place, x), to the maximum. */

/* The first failure since the host looked. site < 0: none. `launch` is the number of the launch
 * that failed, so that later launches know and their own items agree. */
typedef struct {
    int site;
    int launch;
    long args[8];
    unsigned heap_need; /* the largest chunk that a work-item lacked, see mf_heap_alloc; 0: none */
    int heap_launch;    /* the launch in which that was */
    unsigned met,
        told; /* groups at a barrier over the grid, and what they say there, see mf_meet_groups */
} mf_failure;

/* Records a failure of this launch at a site of the program, with up to 8 numbers for its message;
 * only the first one is kept. The work-item must go on (barriers!) or, if no barrier follows, may
 * return. */
MF_HELPER void mf_fail(MF_GLOBAL mf_failure *failure, int launch, int site, long a0, long a1,
                       long a2, long a3, long a4, long a5, long a6, long a7)
{
    if (MF_CAS(&failure->site, -1, site) == -1) {
        failure->launch = launch;
        failure->args[0] = a0;
        failure->args[1] = a1;
        failure->args[2] = a2;
        failure->args[3] = a3;
        failure->args[4] = a4;
        failure->args[5] = a5;
        failure->args[6] = a6;
        failure->args[7] = a7;
    }
}

/* Did an earlier launch fail? Then its results are rubbish and this one may return at once: the
 * answer is the same for all work-items of a launch. */
MF_HELPER bool mf_failed_before(MF_GLOBAL mf_failure *failure, int launch)
{
    return failure->launch < launch;
}

/* Has something failed in this launch? Asked by one work-item for its group, see mf_heap_alloc too.
 */
MF_HELPER int mf_failing(MF_GLOBAL mf_failure *failure, int launch)
{
    if (MF_SEE(&failure->heap_launch) == launch)
        return 1;
    return MF_SEE(&failure->site) >= 0 && !mf_failed_before(failure, launch);
}

/* Memory of one work-item for arrays whose sizes only it knows: a stack in its chunk of a global
 * block, of which the first *top bytes are taken. Returns where the new array of `count` elements
 * of `size` bytes begins, in elements. -1 if the chunk is too small: how large it should have been
 * is recorded, in units of 64 bytes; the host looks, gives larger chunks, and launches again. */
MF_HELPER long mf_heap_alloc(MF_GLOBAL mf_failure *failure, int launch, long chunk, long *top,
                             long count, int size)
{
    const long most = 1L << 37;
    long n = count < 0 ? 0 : count < most ? count : most;
    long at = *top, end = at + ((n * size + 7) & ~7L);
    if (end <= chunk) {
        *top = end;
        return at / size;
    }
    long units = (end + 63) >> 6;
    MF_RAISE(&failure->heap_need, units < 0xffffffffL ? (unsigned)units : 0xffffffffu);
    MF_SWAP(&failure->heap_launch, launch);
    return -1;
}

/* Quotient of non-negative numbers: 32-bit division, which is several times faster, where it is
 * enough. */
MF_HELPER long mf_index_div(long a, long b)
{
    return ((a | b) >> 32) == 0 ? (long)((unsigned)a / (unsigned)b) : a / b;
}

MF_HELPER long mf_index_mod(long a, long b)
{
    return ((a | b) >> 32) == 0 ? (long)((unsigned)a % (unsigned)b) : a % b;
}
