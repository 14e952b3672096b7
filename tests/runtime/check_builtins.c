/* Fill, iota, transposition, strided copies against plain loops, on whatever device: between the
 * runtime's text and a test's. */
static int passed, failed;

static void check(bool ok, const char *what)
{
    passed += ok;
    failed += !ok;
    if (!ok)
        printf("FAIL runtime: %s\n", what);
}

static unsigned seed = 12345;
static int64_t below(int64_t n)
{
    return rand_r(&seed) % n;
}

/* A block of n random bytes, and the same bytes in host memory. */
static unsigned char *random_block(rt_ctx *ctx, rt_mem **m, int64_t n)
{
    unsigned char *h = malloc((size_t)n + 1);
    for (int64_t i = 0; i < n; i++)
        h[i] = (unsigned char)below(256);
    if (rt_alloc(ctx, m, n, "random") || rt_write(ctx, *m, 0, n, h))
        printf("FAIL runtime: %s\n", rt_error(ctx));
    return h;
}

static bool same_bytes(rt_ctx *ctx, rt_mem *m, const unsigned char *want, int64_t n)
{
    unsigned char *got = malloc((size_t)n + 1);
    bool ok = rt_read(ctx, m, 0, n, got) == RT_OK && memcmp(got, want, (size_t)n) == 0;
    free(got);
    return ok;
}

static void test_fill_iota(rt_ctx *ctx)
{
    static const int64_t counts[] = {0, 1, 7, 1000, 70001};
    for (int elem = 1; elem <= 8; elem *= 2) {
        for (int c = 0; c < 5; c++) {
            char what[80];
            rt_mem *m = NULL;
            int64_t n = counts[c], v = 0x1122334455667788, bytes = (n + 5) * elem;
            unsigned char *h = random_block(ctx, &m, bytes);
            for (int64_t i = 0; i < n; i++)
                memcpy(h + (i + 3) * elem, &v, (size_t)elem);
            bool ok = rt_fill(ctx, m, 3, n, elem, &v) == RT_OK && same_bytes(ctx, m, h, bytes);
            snprintf(what, sizeof what, "fill of %ld elements of %d bytes", (long)n, elem);
            check(ok, what);
            for (int64_t i = 0; i < n; i++) {
                v = -7 + i * 3;
                memcpy(h + (i + 2) * elem, &v, (size_t)elem);
            }
            v = 0x1122334455667788;
            if (n > 0)
                memcpy(h + (n + 2) * elem, &v, (size_t)elem);
            ok = rt_iota(ctx, m, 2, n, elem, -7, 3) == RT_OK && same_bytes(ctx, m, h, bytes);
            snprintf(what, sizeof what, "iota of %ld elements of %d bytes", (long)n, elem);
            check(ok, what);
            free(h);
            rt_unref(ctx, &m);
        }
    }
}

typedef struct {
    int64_t batch, rows, cols;
} Shape;

static void transpose_once(rt_ctx *ctx, Shape s, int64_t from, int64_t to, int elem,
                           const char *how)
{
    int64_t size = s.rows * s.cols, n = s.batch * size;
    rt_mem *src = NULL, *dst = NULL;
    unsigned char *h = random_block(ctx, &src, (n + from + 1) * elem);
    unsigned char *want = random_block(ctx, &dst, (n + to + 1) * elem);
    for (int64_t i = 0; i < n; i++) {
        int64_t x = i / size, y = i / s.cols % s.rows, z = i % s.cols;
        memcpy(want + (to + x * size + z * s.rows + y) * elem, h + (from + i) * elem, (size_t)elem);
    }
    bool ok = rt_transpose(ctx, dst, to, src, from, s.batch, s.rows, s.cols, elem) == RT_OK &&
              same_bytes(ctx, dst, want, (n + to + 1) * elem);
    char what[120];
    snprintf(what, sizeof what, "transpose %ld of %ldx%ld, %d bytes, from %ld to %ld, %s",
             (long)s.batch, (long)s.rows, (long)s.cols, elem, (long)from, (long)to, how);
    check(ok, what);
    free(h);
    free(want);
    rt_unref(ctx, &src);
    rt_unref(ctx, &dst);
}

/* Around the tiles' edges; rows, columns and offsets that vectors divide and that they do not. */
static void test_transpose(rt_ctx *ctx, bool as_gpu)
{
    static const Shape shapes[] = {
        {1, 5, 7},    {3, 1, 9},     {2, 40, 50},   {1, 200, 33}, {5, 32, 64},  {1, 3, 900},
        {1, 900, 3},  {7, 13, 12},   {0, 4, 4},     {2, 31, 65},  {100, 2, 2},  {1, 1025, 17},
        {1, 0, 9},    {3, 64, 64},   {1, 63, 65},   {1, 65, 63},  {2, 128, 61}, {1, 300, 16},
        {2, 16, 300}, {1, 16, 1024}, {2, 1024, 16}, {3, 257, 12}, {1, 12, 257}, {1, 4, 1000},
        {4, 1000, 4}, {1, 1, 1},     {2, 20, 512},  {1, 513, 18}};
    static const int64_t offsets[][2] = {{3, 1}, {8, 4}, {4, 2}, {1, 0}};
    const rt_target *target = ctx->target;
    bool was_wide = ctx->wide;
    ctx->target = as_gpu ? rt_target_named("gpu") : target;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int elem = 1; elem <= 8; elem *= 2)
            for (int o = 0; o < 4; o++) {
                ctx->wide = (s + (size_t)o) % 3 == 0;
                transpose_once(ctx, shapes[s], offsets[o][0], offsets[o][1], elem,
                               as_gpu ? "tiled" : "default");
            }
    ctx->target = target;
    ctx->wide = was_wide;
}

/* A random dense destination with permuted strides, and a source sliced, reversed or replicated. */
static void random_strides(int rank, int64_t *shape, int64_t *ds, int64_t *ss, int64_t *so,
                           int64_t *span)
{
    int perm[8];
    int64_t step = 1;
    for (int i = 0; i < rank; i++) {
        shape[i] = 1 + below(rank > 3 ? 5 : 14);
        perm[i] = i;
    }
    for (int i = rank - 1; i > 0; i--) {
        int j = (int)below(i + 1), t = perm[i];
        perm[i] = perm[j];
        perm[j] = t;
    }
    for (int i = rank - 1; i >= 0; i--) {
        ds[i] = step;
        step *= shape[i];
    }
    bool plain = below(2);
    *so = 0;
    *span = 1;
    for (int i = 0; i < rank; i++) {
        int d = perm[i];
        int64_t kind = plain ? 9 : below(10), every = kind == 1 ? 2 : 1;
        ss[d] = kind == 0 ? 0 : *span * every;
        if (kind == 2) {
            *so += ss[d] * (shape[d] - 1);
            ss[d] = -ss[d];
        }
        *span *= kind == 0 ? 1 : shape[d] * every;
    }
}

static void test_strided(rt_ctx *ctx, bool as_gpu)
{
    const rt_target *target = ctx->target;
    ctx->target = as_gpu ? rt_target_named("gpu") : target;
    for (int k = 0; k < 150; k++) {
        int rank = (int)below(7), elem = 1 << 2 * below(2);
        int64_t shape[8], ds[8], ss[8], so, span, n = 1;
        random_strides(rank, shape, ds, ss, &so, &span);
        for (int i = 0; i < rank; i++)
            n *= shape[i];
        rt_mem *src = NULL, *dst = NULL;
        unsigned char *h = random_block(ctx, &src, (span + 2) * elem);
        unsigned char *want = random_block(ctx, &dst, (n + 3) * elem);
        for (int64_t i = 0; i < n; i++) {
            int64_t from = so + 2, rest = i;
            for (int d = rank - 1; d >= 0; d--) {
                from += rest % shape[d] * ss[d];
                rest /= shape[d];
            }
            memcpy(want + (i + 3) * elem, h + from * elem, (size_t)elem);
        }
        bool ok = rt_copy_strided(ctx, elem, rank, shape, dst, 3, ds, src, so + 2, ss) == RT_OK &&
                  same_bytes(ctx, dst, want, (n + 3) * elem);
        char what[60];
        snprintf(what, sizeof what, "strided copy number %d, rank %d", k, rank);
        check(ok, what);
        free(h);
        free(want);
        rt_unref(ctx, &src);
        rt_unref(ctx, &dst);
    }
    ctx->target = target;
}
