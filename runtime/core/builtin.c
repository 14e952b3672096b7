/* Built-in operations on blocks: fill, iota, transposition, strided copies. What they are comes
 * last; before it how they are done where kernels have texts: by kernels of runtime/kernels. */
#include "runtime/core/internal.h"
#include "runtime/texts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- The kernels: one row for each element size, kind of index and rank --- */

#define RT_B_KERNEL(kind, elem, size, fixed, ...)                                                  \
    {.name = "mf_" #kind,                                                                          \
     .source = rt_text_##kind##_cl,                                                                \
     .prov = "built-in, elements of " #size " bytes",                                              \
     .defines = (const rt_define[]){{"ELEM", #elem}, __VA_ARGS__, {NULL, NULL}},                   \
     .fixed_group = fixed,                                                                         \
     .reads = ~(uint64_t)1},
#define RT_B_IDX(kind, elem, size, idx) RT_B_KERNEL(kind, elem, size, false, {"IDX", #idx})
#define RT_B_TILE(elem, size, idx, rows, cols, vec)                                                \
    RT_B_KERNEL(transpose_tiled, elem, size, true, {"IDX", #idx}, {"ROWS", #rows},                 \
                {"COLS", #cols}, {"VEC", #vec})
/* Tiles of one number of elements, in the order of rt_tiles; vectors of 16 bytes at most. */
#define RT_B_TILES(elem, size, idx)                                                                \
    RT_B_TILE(elem, size, idx, 64, 64, 4)                                                          \
    RT_B_TILE(elem, size, idx, 256, 16, 4)                                                         \
    RT_B_TILE(elem, size, idx, 16, 256, 4)
#define RT_B_SMALL_TILES(elem, size, idx)                                                          \
    RT_B_TILE(elem, size, idx, 32, 64, 2)                                                          \
    RT_B_TILE(elem, size, idx, 128, 16, 2)                                                         \
    RT_B_TILE(elem, size, idx, 16, 128, 2)
/* Elements of local memory that a group has for them, of any size. */
#define RT_B_ROOM      4096
#define RT_B_STRING(x) #x
#define RT_B_TEXT(x)   RT_B_STRING(x)
#define RT_B_NARROW(elem, size, idx)                                                               \
    RT_B_KERNEL(transpose_narrow, elem, size, true, {"IDX", #idx}, {"ROOM", RT_B_TEXT(RT_B_ROOM)})
#define RT_B_RANK(elem, size, idx, rank)                                                           \
    RT_B_KERNEL(copy_strided, elem, size, false, {"IDX", #idx}, {"RANK", #rank})
#define RT_B_RANKS(elem, size, idx)                                                                \
    RT_B_RANK(elem, size, idx, 1)                                                                  \
    RT_B_RANK(elem, size, idx, 2)                                                                  \
    RT_B_RANK(elem, size, idx, 3)                                                                  \
    RT_B_RANK(elem, size, idx, 4)                                                                  \
    RT_B_RANK(elem, size, idx, 8)
#define RT_B_ELEM(elem, size, tiles)                                                               \
    RT_B_IDX(fill, elem, size, long)                                                               \
    RT_B_IDX(iota, elem, size, long)                                                               \
    tiles(elem, size, int) tiles(elem, size, long) RT_B_IDX(transpose_plain, elem, size, int)      \
        RT_B_IDX(transpose_plain, elem, size, long) RT_B_NARROW(elem, size, int)                   \
            RT_B_NARROW(elem, size, long) RT_B_RANKS(elem, size, int) RT_B_RANKS(elem, size, long)

/* Rows of one element size, in the order above; a kernel with two kinds of index has int first. */
enum {
    RT_B_FILL = 0,
    RT_B_IOTA = 1,
    RT_B_TILED = 2,
    RT_B_TILED_LONG = 5,
    RT_B_PLAIN = 8,
    RT_B_NARROWS = 10,
    RT_B_STRIDED = 12,
    RT_B_STRIDED_LONG = 17,
    RT_B_ROWS = 22
};

#define RT_B_OF_RANKS(kernel)                                                                      \
    .name = #kernel, .source = rt_text_gather_cl, .prov = "built-in",                              \
    .defines = (const rt_define[]){{"GROUPS", RT_B_TEXT(RT_GATHER_GROUPS)}, {NULL, NULL}},         \
    .fixed_group = true

static const rt_kernel_def rt_builtin_table[] = {
    RT_B_ELEM(uchar, 1, RT_B_TILES) RT_B_ELEM(ushort, 2, RT_B_TILES) RT_B_ELEM(uint, 4, RT_B_TILES)
        RT_B_ELEM(ulong, 8, RT_B_SMALL_TILES){RT_B_OF_RANKS(mf_gather)},
    {RT_B_OF_RANKS(mf_beside)}};
enum { RT_B_GATHER = 4 * RT_B_ROWS, RT_B_BESIDE };

/* The kernel in a row above, for elements of this size. */
static int rt_builtin(const rt_ctx *ctx, int elem, int row)
{
    int group = elem == 1 ? 0 : elem == 2 ? 1 : elem == 4 ? 2 : 3;
    return ctx->prog->n_kernels + group * RT_B_ROWS + row;
}

/* Launches a kernel that strides over n items with as many work-items as fill the device, and moves
 * so many bytes. */
static int rt_launch_over(rt_ctx *ctx, int kernel, int64_t n, int64_t bytes, int n_args,
                          const rt_arg *args)
{
    int64_t local = ctx->target->stride_group, max = ctx->facts[RT_MAX_GROUP_SIZE];
    int64_t most = ctx->facts[RT_COMPUTE_UNITS] * ctx->target->stride_groups;
    int rc;
    local = local < max ? local : max;
    do {
        int64_t groups = (n + local - 1) / local;
        int64_t global = (groups < most ? groups : most) * local;
        rc = rt_launch(ctx, kernel, 1, &global, &local, n_args, args);
        local /= 4;
    } while (rc == RT_REFUSED && local >= 1);
    if (rc == RT_OK)
        rt_work(ctx, kernel, (double)bytes, 0);
    return rc == RT_REFUSED ? RT_ERR : rc;
}

static rt_arg rt_scalar_arg(int size, const void *value)
{
    rt_arg a = {.kind = RT_ARG_SCALAR, .size = (size_t)size};
    const unsigned char *from = value;
    unsigned char *to = (unsigned char *)&a.scalar;
    for (int i = 0; i < size; i++)
        to[i] = from[i];
    return a;
}

static int rt_kernel_fill(rt_ctx *ctx, rt_mem *dst, int64_t off, int64_t count, int elem,
                          const void *value)
{
    rt_arg args[] = {RT_A_MEM(dst), RT_A_I64(off), RT_A_I64(count), rt_scalar_arg(elem, value)};
    return rt_launch_over(ctx, rt_builtin(ctx, elem, RT_B_FILL), count, count * elem, 4, args);
}

static int rt_kernel_iota(rt_ctx *ctx, rt_mem *dst, int64_t off, int64_t count, int elem,
                          int64_t start, int64_t step)
{
    rt_arg args[] = {RT_A_MEM(dst), RT_A_I64(off), RT_A_I64(count), RT_A_I64(start),
                     RT_A_I64(step)};
    return rt_launch_over(ctx, rt_builtin(ctx, elem, RT_B_IOTA), count, count * elem, 5, args);
}

/* --- Transposition --- */

/* The arguments that all of the kernels begin with. */
#define RT_A_MATRICES(m)                                                                           \
    RT_A_MEM((m)->dst), RT_A_I64((m)->dst_off), RT_A_MEM((m)->src), RT_A_I64((m)->src_off),        \
        RT_A_I64((m)->rows), RT_A_I64((m)->cols)

static int64_t rt_tiles_of(const rt_matrices *m, int64_t rows, int64_t cols)
{
    return (m->rows + rows - 1) / rows * ((m->cols + cols - 1) / cols) * m->batch;
}

static int rt_launch_tiles(rt_ctx *ctx, const rt_matrices *m, int row, int64_t global,
                           int64_t local, int n_args, const rt_arg *args)
{
    int kernel = rt_builtin(ctx, m->elem, row);
    int rc = rt_launch(ctx, kernel, 1, &global, &local, n_args, args);
    if (rc == RT_OK)
        rt_work(ctx, kernel, 2.0 * (double)(m->batch * m->rows * m->cols * m->elem), 0);
    return rc;
}

/* Of few rows or columns by many. RT_REFUSED where these are so many, or so few, that tiles are
 * full or rows share lines, and where neighbours would meet in a bank of local memory. */
static int rt_transpose_narrow(rt_ctx *ctx, const rt_matrices *m, bool small)
{
    enum { GROUP = 256, MOST = 64, FEW = 4, BANKS = 8 /* that few rows are no multiple of */ };
    int64_t few = m->rows < m->cols ? m->rows : m->cols, many = m->rows + m->cols - few;
    int64_t run = MOST, local = GROUP;
    int32_t shift = 6;
    if (few <= FEW || few > MOST || few % BANKS == 0 || many < 4 * MOST ||
        ctx->facts[RT_MAX_GROUP_SIZE] < GROUP || ctx->facts[RT_LOCAL_MEMORY] < RT_B_ROOM * m->elem)
        return RT_REFUSED;
    for (; run * 2 * few <= RT_B_ROOM; shift++)
        run *= 2;
    int64_t global = (many + run - 1) / run * m->batch * GROUP;
    if (global > RT_DEV_MOST_ITEMS)
        return RT_REFUSED;
    rt_arg args[] = {RT_A_MATRICES(m), RT_A_I32(shift)};
    return rt_launch_tiles(ctx, m, RT_B_NARROWS + !small, global, local, 7, args);
}

/* small: 32 bits are enough for positions. Of the tiles with as many elements, the one that leaves
 * the least of itself empty. RT_REFUSED where that is most of it, where its groups or local memory
 * do not fit, and for few rows: neighbours of the result then read as many runs. */
static int rt_transpose_tiled(rt_ctx *ctx, const rt_matrices *m, bool small)
{
    static const int16_t rt_tiles[2][3][2] = {{{64, 64}, {256, 16}, {16, 256}},
                                              {{32, 64}, {128, 16}, {16, 128}}};
    enum { GROUP = 256, LEAST_USED = 4, FEW_ROWS = 4 };
    int best = 0, row = small ? RT_B_TILED : RT_B_TILED_LONG;
    int64_t tiles[3], local = GROUP;
    for (int i = 0; i < 3; i++) {
        const int16_t *tile = rt_tiles[m->elem == 8][i];
        tiles[i] = rt_tiles_of(m, tile[0], tile[1]);
        best = tiles[i] < tiles[best] ? i : best;
    }
    const int16_t *tile = rt_tiles[m->elem == 8][best];
    int64_t global = tiles[best] * GROUP, used = m->batch * m->rows * m->cols / tiles[best];
    if (m->rows <= FEW_ROWS || used < tile[0] * tile[1] / LEAST_USED ||
        global > RT_DEV_MOST_ITEMS || ctx->facts[RT_MAX_GROUP_SIZE] < GROUP)
        return RT_REFUSED;
    rt_arg args[] = {RT_A_MATRICES(m)};
    return rt_launch_tiles(ctx, m, row + best, global, local, 6, args);
}

static int rt_kernel_transpose(rt_ctx *ctx, const rt_matrices *m)
{
    int64_t n = m->batch * m->rows * m->cols;
    bool small = n < (int64_t)1 << 30 && !ctx->wide;
    if (!rt_noting(ctx)) {
        int rc = rt_transpose_narrow(ctx, m, small);
        if (rc == RT_REFUSED)
            rc = rt_transpose_tiled(ctx, m, small);
        if (rc != RT_REFUSED)
            return rc;
    }
    rt_arg args[] = {RT_A_MATRICES(m), RT_A_I64(n)};
    return rt_launch_over(ctx, rt_builtin(ctx, m->elem, RT_B_PLAIN + !small), n, 2 * n * m->elem, 7,
                          args);
}

/* --- Strided copies --- */

static int64_t rt_abs64(int64_t x)
{
    return x < 0 ? -x : x;
}

/* Do all index computations of the copy fit 32 bits? */
static bool rt_dims_small(const rt_dim dims[], int rank, int64_t n)
{
    int64_t most = (int64_t)1 << 30, to = 0, from = 0;
    for (int i = 0; i < rank; i++) {
        to += dims[i].n * rt_abs64(dims[i].dst);
        from += dims[i].n * rt_abs64(dims[i].src);
    }
    return n < most && to < most && from < most;
}

static int rt_kernel_copy(rt_ctx *ctx, const rt_copied *c)
{
    enum { MOST = RT_MOST_DIMS };
    rt_arg args[5 + 3 * MOST] = {RT_A_MEM(c->dst), RT_A_I64(c->dst_off), RT_A_MEM(c->src),
                                 RT_A_I64(c->src_off), RT_A_I64(c->n)};
    for (int i = 0; i < MOST; i++) {
        bool in = i < c->rank;
        args[5 + i] = (rt_arg)RT_A_I64(in ? c->dims[i].n : 1);
        args[5 + MOST + i] = (rt_arg)RT_A_I64(in ? c->dims[i].dst : 0);
        args[5 + 2 * MOST + i] = (rt_arg)RT_A_I64(in ? c->dims[i].src : 0);
    }
    int row = rt_dims_small(c->dims, c->rank, c->n) ? RT_B_STRIDED : RT_B_STRIDED_LONG;
    return rt_launch_over(ctx, rt_builtin(ctx, c->elem, row + (c->rank <= 4 ? c->rank - 1 : 4)),
                          c->n, 2 * c->n * c->elem, 5 + 3 * MOST, args);
}

/* --- What ranks get from each other --- */

/* Kernel `row`, with its own n arguments between the windows and where ranks meet; `most` bytes of
 * what one gives another are given by so many groups, which tell each other `tells` times. */
static int rt_launch_of_ranks(rt_ctx *ctx, int row, const rt_meeting *m, int n, const rt_arg *own,
                              int64_t most, int64_t tells)
{
    enum { MOST = RT_TOGETHER, GROUP = 512, FOR_EACH = 16 * GROUP, ARGS = 6 * MOST + 16 };
    const rt_place *p = &ctx->config.at;
    int64_t groups = 1 + most / FOR_EACH, local = GROUP;
    int64_t global = (groups < RT_GATHER_GROUPS ? groups : RT_GATHER_GROUPS) * GROUP;
    const rt_arg rest[] = {RT_A_I32(p->rank), RT_A_I32(p->ranks), RT_A_I64(m->half),
                           RT_A_I64(m->slot), RT_A_I64(m->words), RT_A_I32((int32_t)*m->turn)};
    rt_arg args[ARGS];
    for (int k = 0; k < MOST; k++)
        args[k] = (rt_arg)RT_A_MEM(&m->windows[k < p->ranks ? k : 0].whole);
    memcpy(args + MOST, own, (size_t)n * sizeof *own);
    memcpy(args + MOST + n, rest, sizeof rest);
    *m->turn += tells;
    n += MOST + (int)(sizeof rest / sizeof *rest);
    /* No launch of a loop: the copies in whose place it stands are none. */
    return rt_launch_once(ctx, ctx->prog->n_kernels + row, 1, &global, &local, n, args, NULL, 0);
}

static void rt_profile_of_ranks(rt_ctx *ctx, int row, int64_t bytes)
{
    if (ctx->profiling)
        ctx->kernels[ctx->prog->n_kernels + row].bytes += (double)bytes;
}

static int rt_kernel_gather(rt_ctx *ctx, const rt_meeting *m, const rt_gathered *arrays, int n,
                            int64_t done, int64_t most)
{
    enum { MOST = RT_TOGETHER, PIECE = 4 << 20, EACH = 4 };
    int ranks = ctx->config.at.ranks;
    int64_t piece = most < PIECE ? most + 16 - most % 16 : PIECE;
    const rt_arg rest[] = {RT_A_I32(n), RT_A_I64(done), RT_A_I64(most), RT_A_I64(piece)};
    enum { MORE = sizeof rest / sizeof *rest };
    rt_arg args[EACH * MOST + MORE];
    for (int k = 0; k < MOST; k++) {
        const rt_gathered *a = k < n ? &arrays[k] : NULL;
        rt_arg *of = args + EACH * k;
        of[0] = (rt_arg)RT_A_MEM(a ? a->mem : &m->windows[0].whole);
        of[1] = (rt_arg)RT_A_MEM(a ? a->from : &m->windows[0].whole);
        of[2] = (rt_arg)RT_A_I64(a ? a->at[1] : 0);
        of[3] = (rt_arg)RT_A_I64(a ? a->at[ranks] : 0);
    }
    memcpy(args + EACH * MOST, rest, sizeof rest);
    rt_profile_of_ranks(ctx, RT_B_GATHER, 2 * most * ranks);
    return rt_launch_of_ranks(ctx, RT_B_GATHER, m, EACH * MOST + MORE, args, most,
                              (most + piece - 1) / piece);
}

static int rt_kernel_beside(rt_ctx *ctx, const rt_meeting *m, rt_mem *mem, const rt_sides *s,
                            int64_t most)
{
    const rt_arg args[] = {RT_A_MEM(mem),          RT_A_I64(s->own_at), RT_A_I64(s->own),
                           RT_A_I64(s->low),       RT_A_I64(s->high),   RT_A_I64(s->give_low),
                           RT_A_I64(s->give_high), RT_A_I64(s->row)};
    rt_profile_of_ranks(ctx, RT_B_BESIDE, 2 * (s->low + s->high + s->give_low + s->give_high));
    return rt_launch_of_ranks(ctx, RT_B_BESIDE, m, sizeof args / sizeof *args, args, most, 1);
}

RT_API const rt_builtins *rt_builtins_by_kernels(void)
{
    static const rt_builtins by_kernels = {.kernels = rt_builtin_table,
                                           .n_kernels =
                                               sizeof rt_builtin_table / sizeof *rt_builtin_table,
                                           .fill = rt_kernel_fill,
                                           .iota = rt_kernel_iota,
                                           .transpose = rt_kernel_transpose,
                                           .copy = rt_kernel_copy,
                                           .gather = rt_kernel_gather,
                                           .beside = rt_kernel_beside};
    return &by_kernels;
}

/* --- The operations --- */

RT_API int rt_fill(rt_ctx *ctx, rt_mem *dst, int64_t off, int64_t count, int elem,
                   const void *value)
{
    return count <= 0 ? RT_OK : ctx->builtins->fill(ctx, dst, off, count, elem, value);
}

RT_API int rt_iota(rt_ctx *ctx, rt_mem *dst, int64_t off, int64_t count, int elem, int64_t start,
                   int64_t step)
{
    return count <= 0 ? RT_OK : ctx->builtins->iota(ctx, dst, off, count, elem, start, step);
}

RT_API int rt_transpose(rt_ctx *ctx, rt_mem *dst, int64_t dst_off, rt_mem *src, int64_t src_off,
                        int64_t batch, int64_t rows, int64_t cols, int elem)
{
    int64_t n = batch * rows * cols;
    if (n <= 0)
        return RT_OK;
    if (rows == 1 || cols == 1)
        return rt_copy(ctx, dst, dst_off * elem, src, src_off * elem, n * elem);
    rt_matrices m = {dst, src, dst_off, src_off, batch, rows, cols, elem};
    return ctx->builtins->transpose(ctx, &m);
}

/* Drops dimensions of size 1, sorts by the destination's stride (innermost first), and joins
 * dimensions that are contiguous on both sides. Returns the new rank. */
static int rt_dims_normal(rt_dim dims[], int rank)
{
    int n = 0;
    for (int i = 0; i < rank; i++) {
        if (dims[i].n == 1)
            continue;
        rt_dim d = dims[i];
        int at = n++;
        while (at > 0 && rt_abs64(dims[at - 1].dst) > rt_abs64(d.dst)) {
            dims[at] = dims[at - 1];
            at--;
        }
        dims[at] = d;
    }
    int m = n > 0;
    for (int i = 1; i < n; i++) {
        rt_dim *in = &dims[m - 1];
        if (dims[i].dst == in->dst * in->n && dims[i].src == in->src * in->n)
            in->n *= dims[i].n;
        else
            dims[m++] = dims[i];
    }
    return m;
}

/* Is it a dense batch of matrices, transposed? Dimension 0 is the innermost of the destination. */
static bool rt_dims_transpose(const rt_dim dims[], int rank)
{
    int64_t rows = dims[0].n, cols = rank > 1 ? dims[1].n : 1;
    if (rank < 2 || rank > 3 || dims[0].dst != 1 || dims[1].dst != rows || dims[1].src != 1 ||
        dims[0].src != cols)
        return false;
    return rank == 2 || (dims[2].dst == rows * cols && dims[2].src == rows * cols);
}

RT_API bool rt_by_kernel(const rt_ctx *ctx, int64_t bytes)
{
    return rt_noting(ctx) || bytes <= ctx->target->by_kernel;
}

RT_API int rt_copy_strided(rt_ctx *ctx, int elem, int rank, const int64_t *shape, rt_mem *dst,
                           int64_t dst_off, const int64_t *dst_stride, rt_mem *src, int64_t src_off,
                           const int64_t *src_stride)
{
    rt_copied c = {dst, src, dst_off, src_off, .n = 1, .elem = elem};
    rt_dim *dims = c.dims;
    if (rank > RT_MOST_DIMS)
        return rt_error_set(ctx, "a strided copy of %d dimensions: at most %d", rank, RT_MOST_DIMS);
    for (int i = 0; i < rank; i++) {
        c.n *= shape[i];
        dims[i] = (rt_dim){shape[i], dst_stride[i], src_stride[i]};
    }
    if (c.n <= 0)
        return RT_OK;
    c.rank = rt_dims_normal(dims, rank);
    bool dense = c.rank == 0 || (c.rank == 1 && dims[0].dst == 1 && dims[0].src == 1);
    if (dense && !rt_by_kernel(ctx, c.n * elem))
        return rt_copy(ctx, dst, dst_off * elem, src, src_off * elem, c.n * elem);
    if (c.rank == 0)
        dims[c.rank++] = (rt_dim){1, 1, 1};
    if (rt_dims_transpose(dims, c.rank))
        return rt_transpose(ctx, dst, dst_off, src, src_off, c.rank == 3 ? dims[2].n : 1, dims[0].n,
                            dims[1].n, elem);
    return ctx->builtins->copy(ctx, &c);
}

RT_API int rt_copy_by_kernel(rt_ctx *ctx, rt_mem *dst, int64_t dst_off, rt_mem *src,
                             int64_t src_off, int64_t bytes)
{
    int elem = 8;
    const int64_t stride = 1;
    while ((dst_off | src_off | bytes) % elem != 0)
        elem /= 2;
    const int64_t shape = bytes / elem;
    return rt_copy_strided(ctx, elem, 1, &shape, dst, dst_off / elem, &stride, src, src_off / elem,
                           &stride);
}
