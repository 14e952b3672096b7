/* Products of tiles of f16 with sums of f32, for kernels with COPY, ROUND, FRAGMENTS, MULTIPLY and POWER (kir/kinds.def). On NVIDIA's devices from
 * compute capability 8 on these are instructions (PTX ISA: cp.async, ldmatrix, mma.m16n8k16); elsewhere the same is done without,
 * so that kernels can be tried. Of a tile of pitch 0 nothing is loaded. */
#ifndef MF_WITHOUT_F16

/* Where a tile with rows of so many elements has that element of a row: eights have changed places with others of the row, so that
 * those of eight rows one below the other are in different banks. */
#define mf_place(row, at, pitch) ((row) * (pitch) + ((at) ^ (((row) & 7) << 3)))

#if defined(__NV_CL_C_VERSION)

/* 2^x (PTX ISA: ex2.approx). */
static inline float mf_power(float x)
{
    float y;
    __asm__("ex2.approx.ftz.f32 %0,%1;" : "=f"(y) : "f"(x));
    return y;
}

static inline void mf_copy(__local void *to, const __global void *from, bool there)
{
    __asm__ volatile("cp.async.cg.shared.global.L2::128B [%0],[%1],16,%2;" : : "r"((uint)(size_t)to), "l"(from), "r"(there ? 16 : 0)
                     : "memory");
}
#define MF_COPY(tile, row, at, pitch, from, there) mf_copy((tile) + mf_place((uint)(row), (uint)(at), pitch), from, there)
#define MF_ROUND(n)                                               \
    __asm__ volatile("cp.async.commit_group;" : : : "memory");    \
    __asm__ volatile("cp.async.wait_group %0;" : : "n"((int)(n)) : "memory")

/* Four matrices of 8 x 8: the lanes' addresses are those of rows. */
static inline void mf_load_matrices(uint *x, const __local ushort *at, bool turned)
{
    uint from = (uint)(size_t)at;
    if (turned)
        __asm__ volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3},[%4];"
                         : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(from) : "memory");
    else
        __asm__ volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3},[%4];"
                         : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(from) : "memory");
}

/* 16 rows and 16 k; 16 columns and 16 k. */
static inline void mf_load_rows(uint *x, const __local ushort *tile, uint row, uint k, uint pitch, bool turned)
{
    uint lane = (uint)get_local_id(0) & 31, r = row, c = k;
    if (turned)
        r = k + (lane & 7) + (lane >> 4) * 8, c = row + (lane >> 3 & 1) * 8;
    else
        r += lane & 15, c += (lane >> 4) * 8;
    mf_load_matrices(x, tile + mf_place(r, c, pitch), turned);
}
static inline void mf_load_cols(uint *x, const __local ushort *tile, uint col, uint k, uint pitch, bool turned)
{
    uint lane = (uint)get_local_id(0) & 31, r = k, c = col;
    if (turned)
        r += lane & 15, c += (lane >> 4) * 8;
    else
        r = col + (lane & 7) + (lane >> 4) * 8, c = k + (lane >> 3 & 1) * 8;
    mf_load_matrices(x, tile + mf_place(r, c, pitch), turned);
}

static inline void mf_multiply_add(float *sums, const uint *a, const uint *b)
{
    __asm__ volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
                     : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

#define MF_FRAGMENTS(words, half, rows, cols, k, a, row, a_pitch, a_turned, b, col, b_pitch, b_turned)                       \
    {                                                                                                                        \
        MF_PRAGMA(unroll)                                                                                                    \
        for (int mf_i = 0; mf_i < (a_pitch ? (rows) / 16 : 0); mf_i++)                                                       \
            mf_load_rows((words) + ((half) * ((rows) + (cols)) / 4 + mf_i * 4), a, (uint)(row) + mf_i * 16, k, a_pitch, a_turned); \
        MF_PRAGMA(unroll)                                                                                                    \
        for (int mf_j = 0; mf_j < (b_pitch ? (cols) / 16 : 0); mf_j++)                                                       \
            mf_load_cols((words) + ((half) * ((rows) + (cols)) / 4 + (rows) / 4 + mf_j * 4), b, (uint)(col) + mf_j * 16, k, b_pitch, \
                         b_turned);                                                                                          \
    }
#define MF_MULTIPLY(sums, words, half, rows, cols)                                                                           \
    {                                                                                                                        \
        MF_PRAGMA(unroll)                                                                                                    \
        for (int mf_i = 0; mf_i < (rows) / 16; mf_i++) {                                                                     \
            MF_PRAGMA(unroll)                                                                                                \
            for (int mf_j = 0; mf_j < (cols) / 8; mf_j++)                                                                    \
                mf_multiply_add((sums) + (mf_i * ((cols) / 8) + mf_j) * 4, (words) + ((half) * ((rows) + (cols)) / 4 + mf_i * 4), \
                                (words) + ((half) * ((rows) + (cols)) / 4 + (rows) / 4 + mf_j * 2));                         \
        }                                                                                                                    \
    }

#else

#define mf_power(x) exp2(x)
static inline void mf_copy(__local void *to, const __global void *from, bool there)
{
    *(__local uint4 *)to = there ? *(const __global uint4 *)from : (uint4)(0);
}
#define MF_COPY(tile, row, at, pitch, from, there) mf_copy((tile) + mf_place((uint)(row), (uint)(at), pitch), from, there)
#define MF_ROUND(n)

/* A lane's sums are of the rows and columns of which the instruction would give them: of 16 x 8 two neighbours in row lane / 4, and
 * two eight rows below. The fragments are all that they take, two elements a word. */
#define mf_sum_row(i, lane) ((i) * 8 + (lane) / 4)
#define mf_sum_col(j, lane) ((j) / 2 * 8 + (lane) % 4 * 2 + (j) % 2)

static inline uint mf_two(const __local ushort *tile, int number, int k, int pitch, bool turned)
{
    uint x = tile[turned ? mf_place(k, number, pitch) : mf_place(number, k, pitch)];
    uint y = tile[turned ? mf_place(k + 1, number, pitch) : mf_place(number, k + 1, pitch)];
    return x | y << 16;
}

static inline void mf_fragments(uint *words, int half_, int rows, int cols, int k, const __local ushort *a, int row, int a_pitch,
                                bool a_turned, const __local ushort *b, int col, int b_pitch, bool b_turned)
{
    int lane = (int)get_local_id(0) & 31;
    words += half_ * (rows + 2 * cols);
    for (int i = 0; a_pitch && i < rows / 8; i++)
        for (int w = 0; w < 8; w++)
            words[i * 8 + w] = mf_two(a, row + mf_sum_row(i, lane), k + 2 * w, a_pitch, a_turned);
    words += rows;
    for (int j = 0; b_pitch && j < cols / 4; j++)
        for (int w = 0; w < 8; w++)
            words[j * 8 + w] = mf_two(b, col + mf_sum_col(j, lane), k + 2 * w, b_pitch, b_turned);
}

static inline void mf_multiply(float *sums, const uint *words, int half_, int rows, int cols)
{
    words += half_ * (rows + 2 * cols);
    for (int s = 0; s < rows * cols / 32; s++) {
        int piece = s / 4, i = piece / (cols / 8) * 2 + s / 2 % 2, j = piece % (cols / 8) * 2 + s % 2;
        const uint *x = words + i * 8, *y = words + rows + j * 8;
        for (int w = 0; w < 8; w++) {
            sums[s] += mf_f16_to_f32((ushort)x[w]) * mf_f16_to_f32((ushort)y[w]);
            sums[s] += mf_f16_to_f32((ushort)(x[w] >> 16)) * mf_f16_to_f32((ushort)(y[w] >> 16));
        }
    }
}
#define MF_FRAGMENTS(words, half, rows, cols, k, a, row, a_pitch, a_turned, b, col, b_pitch, b_turned) \
    mf_fragments(words, half, rows, cols, k, a, row, a_pitch, a_turned, b, col, b_pitch, b_turned)
#define MF_MULTIPLY(sums, words, half, rows, cols) mf_multiply(sums, words, half, rows, cols)

#endif
#endif
