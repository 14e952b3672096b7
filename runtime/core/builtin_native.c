/* The built-in operations of the target `native`: loops in C, launched as kernels that are
 * functions, so that threads share them out, and profiles and time limits know of them. A group is
 * a piece of the result that is worth a thread's coming. */
#include "runtime/core/internal.h"

#include <string.h>

enum { RT_PIECE = 1 << 16 /* bytes */ };

/* Loops over elements are to become vectors, however little the program's host code is optimised.
 */
#if defined(__GNUC__) && !defined(__clang__)
#define RT_VECTORS __attribute__((optimize("O3")))
#else
#define RT_VECTORS
#endif

/* An argument's value, the beginning of a block. */
#define RT_N_I64(i)    (*(const int64_t *)args[i])
#define RT_N_AT(i, at) ((char *)args[i] + (at))

static int64_t rt_n_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* What is done by element, for each size of one: F(bits) defines the function of that size, and
 * RT_N_BY_SIZE calls the one for `elem` bytes. */
#define RT_N_SIZES(F) F(8) F(16) F(32) F(64)
#define RT_N_BY_SIZE(elem, name, ...)                                                              \
    switch (elem) {                                                                                \
    case 1: name##8(__VA_ARGS__); break;                                                           \
    case 2: name##16(__VA_ARGS__); break;                                                          \
    case 4: name##32(__VA_ARGS__); break;                                                          \
    default: name##64(__VA_ARGS__); break;                                                         \
    }

/* --- Fill: dst, off, count, elem, value --- */

/* A line of elements is copied over and over. */
static void rt_n_fill(void *const *args, const size_t groups[3], const size_t size[3], size_t first,
                      size_t end)
{
    enum { LINE = 1024 };
    char line[LINE];
    int64_t elem = RT_N_I64(3), bytes = RT_N_I64(2) * elem;
    int64_t at = (int64_t)first * RT_PIECE, to = rt_n_min((int64_t)end * RT_PIECE, bytes);
    (void)groups, (void)size;
    for (int64_t i = 0; i < LINE && i < to - at; i += elem)
        memcpy(line + i, args[4], (size_t)elem);
    for (char *dst = RT_N_AT(0, RT_N_I64(1) * elem); at < to; at += LINE)
        memcpy(dst + at, line, (size_t)rt_n_min(LINE, to - at));
}

/* --- Iota: dst, off, count, elem, start, step --- */

#define RT_N_IOTA(bits)                                                                            \
    RT_VECTORS static void rt_n_iota##bits(uint##bits##_t *dst, int64_t at, int64_t to,            \
                                           uint64_t start, uint64_t step)                          \
    {                                                                                              \
        for (int64_t i = at; i < to; i++)                                                          \
            dst[i] = (uint##bits##_t)(start + (uint64_t)i * step);                                 \
    }
RT_N_SIZES(RT_N_IOTA)

static void rt_n_iota(void *const *args, const size_t groups[3], const size_t size[3], size_t first,
                      size_t end)
{
    int64_t elem = RT_N_I64(3), piece = RT_PIECE / elem;
    int64_t at = (int64_t)first * piece, to = rt_n_min((int64_t)end * piece, RT_N_I64(2));
    void *dst = RT_N_AT(0, RT_N_I64(1) * elem);
    (void)groups, (void)size;
    RT_N_BY_SIZE(elem, rt_n_iota, dst, at, to, (uint64_t)RT_N_I64(4), (uint64_t)RT_N_I64(5))
}

/* --- Transposition: dst, dst_off, src, src_off, rows, cols, elem, tiles --- */

/* A tile goes through memory of its own, four rows at a time, and its columns are copied out of
 * that: both matrices are then touched by lines, however far apart their rows are. Of few rows or
 * columns a tile has all, and more of the others. */
enum { RT_N_TILE = 64, RT_N_NARROW = 16, RT_N_AREA = 1024, RT_N_ROWS = 4 };

typedef struct {
    int64_t rows, cols;           /* of the matrix */
    int64_t tile_rows, tile_cols; /* of a tile */
    int64_t down, across;         /* tiles */
} rt_n_tiles;

static rt_n_tiles rt_n_tiles_of(int64_t rows, int64_t cols)
{
    rt_n_tiles t = {.rows = rows, .cols = cols, .tile_rows = RT_N_TILE, .tile_cols = RT_N_TILE};
    if (rows < RT_N_NARROW) {
        t.tile_rows = rows;
        t.tile_cols = RT_N_AREA / rows;
    } else if (cols < RT_N_NARROW) {
        t.tile_cols = cols;
        t.tile_rows = RT_N_AREA / cols;
    }
    t.down = (rows + t.tile_rows - 1) / t.tile_rows;
    t.across = (cols + t.tile_cols - 1) / t.tile_cols;
    return t;
}

#define RT_N_TRANSPOSE(bits)                                                                       \
    RT_VECTORS static void rt_n_tile##bits(const rt_n_tiles *t, void *to, const void *from,        \
                                           int64_t tile)                                           \
    {                                                                                              \
        uint##bits##_t kept[RT_N_TILE * (RT_N_TILE + RT_N_ROWS)], *dst = to;                       \
        const uint##bits##_t *src = from;                                                          \
        int64_t in = tile % (t->down * t->across), off = tile / (t->down * t->across);             \
        int64_t row = in / t->across * t->tile_rows, col = in % t->across * t->tile_cols;          \
        int64_t rows = rt_n_min(t->tile_rows, t->rows - row), r = 0, step = rows;                  \
        int64_t cols = rt_n_min(t->tile_cols, t->cols - col);                                      \
        step += rows < t->rows ? RT_N_ROWS : 0;                                                    \
        src += off * t->rows * t->cols + row * t->cols + col;                                      \
        dst += off * t->rows * t->cols + col * t->rows + row;                                      \
        for (; r + RT_N_ROWS <= rows; r += RT_N_ROWS) {                                            \
            const uint##bits##_t *r0 = src + r * t->cols, *r1 = r0 + t->cols, *r2 = r1 + t->cols,  \
                                 *r3 = r2 + t->cols;                                               \
            for (int64_t c = 0; c < cols; c++) {                                                   \
                uint##bits##_t *k = kept + c * step + r;                                           \
                k[0] = r0[c];                                                                      \
                k[1] = r1[c];                                                                      \
                k[2] = r2[c];                                                                      \
                k[3] = r3[c];                                                                      \
            }                                                                                      \
        }                                                                                          \
        for (; r < rows; r++)                                                                      \
            for (int64_t c = 0; c < cols; c++)                                                     \
                kept[c * step + r] = src[r * t->cols + c];                                         \
        if (rows == t->rows)                                                                       \
            memcpy(dst, kept, (size_t)(rows * cols) * sizeof *dst);                                \
        for (int64_t c = 0; c < cols && rows < t->rows; c++)                                       \
            memcpy(dst + c * t->rows, kept + c * step, (size_t)rows * sizeof *dst);                \
    }
RT_N_SIZES(RT_N_TRANSPOSE)

/* Tiles of a group: as many as make a piece. */
static int64_t rt_n_tiles_at_once(const rt_n_tiles *t, int elem)
{
    int64_t some = RT_PIECE / (t->tile_rows * t->tile_cols * elem);
    return some > 1 ? some : 1;
}

static void rt_n_transpose(void *const *args, const size_t groups[3], const size_t size[3],
                           size_t first, size_t end)
{
    rt_n_tiles t = rt_n_tiles_of(RT_N_I64(4), RT_N_I64(5));
    int64_t elem = RT_N_I64(6), some = rt_n_tiles_at_once(&t, (int)elem);
    int64_t at = (int64_t)first * some, to = rt_n_min((int64_t)end * some, RT_N_I64(7));
    void *dst = RT_N_AT(0, RT_N_I64(1) * elem), *src = RT_N_AT(2, RT_N_I64(3) * elem);
    (void)groups, (void)size;
    for (; at < to; at++)
        RT_N_BY_SIZE(elem, rt_n_tile, &t, dst, src, at)
}

/* --- Copies: dst, dst_off, src, src_off, n, elem, rank, sizes and strides --- */

enum { RT_N_DIMS = 7 }; /* where those begin */

#define RT_N_COPY(bits)                                                                            \
    RT_VECTORS static void rt_n_copy##bits(void *to, int64_t dst_step, const void *from,           \
                                           int64_t src_step, int64_t n)                            \
    {                                                                                              \
        uint##bits##_t *dst = to;                                                                  \
        const uint##bits##_t *src = from;                                                          \
        if (dst_step == 1 && src_step == 1)                                                        \
            memcpy(dst, src, (size_t)n * sizeof *src);                                             \
        else if (dst_step == 1)                                                                    \
            for (int64_t i = 0; i < n; i++)                                                        \
                dst[i] = src[i * src_step];                                                        \
        else                                                                                       \
            for (int64_t i = 0; i < n; i++)                                                        \
                dst[i * dst_step] = src[i * src_step];                                             \
    }
RT_N_SIZES(RT_N_COPY)

/* Goes through the elements by rows of the innermost dimension, counting the others up. */
static void rt_n_copy(void *const *args, const size_t groups[3], const size_t size[3], size_t first,
                      size_t end)
{
    int64_t elem = RT_N_I64(5), piece = RT_PIECE / elem, rank = RT_N_I64(6);
    int64_t at = (int64_t)first * piece, to = rt_n_min((int64_t)end * piece, RT_N_I64(4));
    int64_t dst = RT_N_I64(1), src = RT_N_I64(3), rest = at, is[RT_MOST_DIMS];
    rt_dim dims[RT_MOST_DIMS];
    (void)groups, (void)size;
    for (int k = 0; k < rank; k++) {
        dims[k] = (rt_dim){RT_N_I64(RT_N_DIMS + 3 * k), RT_N_I64(RT_N_DIMS + 3 * k + 1),
                           RT_N_I64(RT_N_DIMS + 3 * k + 2)};
        is[k] = rest % dims[k].n;
        rest /= dims[k].n;
        dst += is[k] * dims[k].dst;
        src += is[k] * dims[k].src;
    }
    while (at < to) {
        int64_t n = rt_n_min(dims[0].n - is[0], to - at);
        RT_N_BY_SIZE(elem, rt_n_copy, RT_N_AT(0, dst * elem), dims[0].dst, RT_N_AT(2, src * elem),
                     dims[0].src, n)
        at += n;
        dst -= is[0] * dims[0].dst;
        src -= is[0] * dims[0].src;
        is[0] = 0;
        for (int k = 1; k < rank; k++) {
            dst += dims[k].dst;
            src += dims[k].src;
            if (++is[k] < dims[k].n)
                break;
            dst -= dims[k].n * dims[k].dst;
            src -= dims[k].n * dims[k].src;
            is[k] = 0;
        }
    }
}

/* --- Launches --- */

enum { RT_N_FILLS, RT_N_IOTAS, RT_N_TRANSPOSES, RT_N_COPIES };

#define RT_N_KERNEL(kernel, f)                                                                     \
    {                                                                                              \
        .name = kernel, .function = {f}, .prov = "built-in", .reads = ~(uint64_t)1                 \
    }
static const rt_kernel_def rt_n_table[] = {
    [RT_N_FILLS] = RT_N_KERNEL("mf_fill", rt_n_fill),
    [RT_N_IOTAS] = RT_N_KERNEL("mf_iota", rt_n_iota),
    [RT_N_TRANSPOSES] = RT_N_KERNEL("mf_transpose", rt_n_transpose),
    [RT_N_COPIES] = RT_N_KERNEL("mf_copy_strided", rt_n_copy)};

/* So many groups, which move so many bytes in all. */
static int rt_n_launch(rt_ctx *ctx, int row, int64_t groups, int64_t bytes, int n_args,
                       const rt_arg *args)
{
    int kernel = ctx->prog->n_kernels + row;
    const int64_t one = 1;
    int rc = rt_launch(ctx, kernel, 1, &groups, &one, n_args, args);
    if (rc == RT_OK)
        rt_work(ctx, kernel, (double)bytes, 0);
    return rc == RT_REFUSED ? RT_ERR : rc;
}

/* For a result of so many elements. */
static int64_t rt_n_pieces(int64_t n, int elem)
{
    return (n * elem + RT_PIECE - 1) / RT_PIECE;
}

static int rt_native_fill(rt_ctx *ctx, rt_mem *dst, int64_t off, int64_t count, int elem,
                          const void *value)
{
    rt_arg args[] = {RT_A_MEM(dst), RT_A_I64(off), RT_A_I64(count), RT_A_I64(elem), RT_A_I64(0)};
    memcpy(&args[4].scalar, value, (size_t)elem);
    return rt_n_launch(ctx, RT_N_FILLS, rt_n_pieces(count, elem), count * elem, 5, args);
}

static int rt_native_iota(rt_ctx *ctx, rt_mem *dst, int64_t off, int64_t count, int elem,
                          int64_t start, int64_t step)
{
    rt_arg args[] = {RT_A_MEM(dst),  RT_A_I64(off),   RT_A_I64(count),
                     RT_A_I64(elem), RT_A_I64(start), RT_A_I64(step)};
    return rt_n_launch(ctx, RT_N_IOTAS, rt_n_pieces(count, elem), count * elem, 6, args);
}

static int rt_native_transpose(rt_ctx *ctx, const rt_matrices *m)
{
    rt_n_tiles t = rt_n_tiles_of(m->rows, m->cols);
    int64_t tiles = t.down * t.across * m->batch, some = rt_n_tiles_at_once(&t, m->elem);
    rt_arg args[] = {RT_A_MEM(m->dst),     RT_A_I64(m->dst_off), RT_A_MEM(m->src),
                     RT_A_I64(m->src_off), RT_A_I64(m->rows),    RT_A_I64(m->cols),
                     RT_A_I64(m->elem),    RT_A_I64(tiles)};
    return rt_n_launch(ctx, RT_N_TRANSPOSES, (tiles + some - 1) / some,
                       2 * m->batch * m->rows * m->cols * m->elem, 8, args);
}

static int rt_native_copy(rt_ctx *ctx, const rt_copied *c)
{
    rt_arg args[RT_N_DIMS + 3 * RT_MOST_DIMS] = {
        RT_A_MEM(c->dst), RT_A_I64(c->dst_off), RT_A_MEM(c->src), RT_A_I64(c->src_off),
        RT_A_I64(c->n),   RT_A_I64(c->elem),    RT_A_I64(c->rank)};
    for (int k = 0; k < c->rank; k++) {
        args[RT_N_DIMS + 3 * k] = (rt_arg)RT_A_I64(c->dims[k].n);
        args[RT_N_DIMS + 3 * k + 1] = (rt_arg)RT_A_I64(c->dims[k].dst);
        args[RT_N_DIMS + 3 * k + 2] = (rt_arg)RT_A_I64(c->dims[k].src);
    }
    return rt_n_launch(ctx, RT_N_COPIES, rt_n_pieces(c->n, c->elem), 2 * c->n * c->elem,
                       RT_N_DIMS + 3 * c->rank, args);
}

RT_API const rt_builtins *rt_builtins_by_functions(void)
{
    static const rt_builtins by_functions = {.kernels = rt_n_table,
                                             .n_kernels = sizeof rt_n_table / sizeof *rt_n_table,
                                             .fill = rt_native_fill,
                                             .iota = rt_native_iota,
                                             .transpose = rt_native_transpose,
                                             .copy = rt_native_copy};
    return &by_functions;
}
