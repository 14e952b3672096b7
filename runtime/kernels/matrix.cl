/* Products of tiles of f16, or of f32, with sums of f32, for kernels with COPY, ROUND, FRAGMENTS, MULTIPLY and POWER (kir/kinds.def). On NVIDIA's devices from
 * compute capability 8 on these are instructions (PTX ISA: cp.async, ldmatrix, mma.m16n8k16, m16n8k8); elsewhere the same is done without,
 * so that kernels can be tried. Of a tile of pitch 0 nothing is loaded. */
#ifndef MF_WITHOUT_F32

/* Where a tile with rows of so many elements has that element of a row: words of 16 bytes have changed places with others of the
 * row, so that those of eight rows one below the other are in different banks; of f32, eight neighbours in each of four rows, too. */
#define mf_place_f16(row, at, pitch) ((row) * (pitch) + ((at) ^ (((row) & 7) << 3)))
#define mf_place_f32(row, at, pitch) ((row) * (pitch) + ((at) ^ (((row) & 3) << 3 | ((row) & 4))))

/* A word of 16 bytes of a tile, of so many elements from anywhere in memory, and zeros. Those of 16 bits are loaded two by two: as
 * buffers end where a word does, what stands beside an element is there, too. */
static inline void mf_copy_some_f32(__local float *to, const __global float *from, long n)
{
    float4 x = 0;
    if (n > 0)
        x.x = from[0];
    if (n > 1)
        x.y = from[1];
    if (n > 2)
        x.z = from[2];
    if (n > 3)
        x.w = from[3];
    *(__local float4 *)to = x;
}
#ifndef MF_WITHOUT_F16
static inline void mf_copy_some_f16(__local ushort *to, const __global ushort *from, long n)
{
    int odd = (size_t)from >> 1 & 1;
    const __global uint *words = (const __global uint *)(from - odd);
    uint x[5], y[4];
    MF_PRAGMA(unroll)
    for (int i = 0; i < 5; i++)
        x[i] = 2 * i - odd < n && (i < 4 || odd) ? words[i] : 0;
    MF_PRAGMA(unroll)
    for (int i = 0; i < 4; i++) {
        y[i] = odd ? x[i] >> 16 | x[i + 1] << 16 : x[i];
        y[i] = 2 * i + 1 < n ? y[i] : 2 * i < n ? y[i] & 0xffff : 0;
    }
    *(__local uint4 *)to = (uint4)(y[0], y[1], y[2], y[3]);
}
#endif
#define MF_COPY_SOME(elem, tile, row, at, pitch, from, n) \
    mf_copy_some_##elem((tile) + mf_place_##elem((uint)(row), (uint)(at), pitch), from, n)

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
#define MF_COPY(elem, tile, row, at, pitch, from, there) \
    mf_copy((tile) + mf_place_##elem((uint)(row), (uint)(at), pitch), from, there)
#define MF_ROUND(n)                                               \
    __asm__ volatile("cp.async.commit_group;" : : : "memory");    \
    __asm__ volatile("cp.async.wait_group %0;" : : "n"((int)(n)) : "memory")

/* Four matrices of 8 x 8: the lanes' addresses are those of rows. */
static inline void mf_load_matrices(uint *x, const __local void *at, bool turned)
{
    uint from = (uint)(size_t)at;
    if (turned)
        __asm__ volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3},[%4];"
                         : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(from) : "memory");
    else
        __asm__ volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3},[%4];"
                         : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(from) : "memory");
}

/* 16 rows and the k of a step; 16 columns and these. */
static inline void mf_load_rows_f16(uint *x, const __local ushort *tile, uint row, uint k, uint pitch, bool turned)
{
    uint lane = (uint)get_local_id(0) & 31, r = row, c = k;
    if (turned)
        r = k + (lane & 7) + (lane >> 4) * 8, c = row + (lane >> 3 & 1) * 8;
    else
        r += lane & 15, c += (lane >> 4) * 8;
    mf_load_matrices(x, tile + mf_place_f16(r, c, pitch), turned);
}
static inline void mf_load_cols_f16(uint *x, const __local ushort *tile, uint col, uint k, uint pitch, bool turned)
{
    uint lane = (uint)get_local_id(0) & 31, r = k, c = col;
    if (turned)
        r += lane & 15, c += (lane >> 4) * 8;
    else
        r = col + (lane & 7) + (lane >> 4) * 8, c = k + (lane >> 3 & 1) * 8;
    mf_load_matrices(x, tile + mf_place_f16(r, c, pitch), turned);
}

/* 32 numbers of a tile that is turned and k of a step: four neighbours, which are in a lane's pieces one after the other, at once. */
static inline void mf_load_turned(uint4 *x, const __local float *tile, uint number, uint k, uint pitch)
{
    uint lane = (uint)get_local_id(0) & 31, r = k + (lane & 3), at = number + (lane >> 2) * 4;
    x[0] = as_uint4(*(const __local float4 *)(tile + mf_place_f32(r, at, pitch)));
    x[1] = as_uint4(*(const __local float4 *)(tile + mf_place_f32(r + 4, at, pitch)));
}
/* 32 rows; words of 16 bytes that are not turned are four f32. */
static inline void mf_load_rows_f32(uint *x, const __local float *tile, uint row, uint k, uint pitch, bool turned)
{
    uint lane = (uint)get_local_id(0) & 31, r = row + (lane & 15), c = k + (lane >> 4) * 4;
    if (turned) {
        uint4 y[2];
        mf_load_turned(y, tile, row, k, pitch);
        x[0] = y[0].x, x[1] = y[0].y, x[2] = y[1].x, x[3] = y[1].y;
        x[4] = y[0].z, x[5] = y[0].w, x[6] = y[1].z, x[7] = y[1].w;
    } else {
        mf_load_matrices(x, tile + mf_place_f32(r, c, pitch), false);
        mf_load_matrices(x + 4, tile + mf_place_f32(r + 16, c, pitch), false);
    }
}
static inline void mf_load_cols_f32(uint *x, const __local float *tile, uint col, uint k, uint pitch, bool turned)
{
    uint lane = (uint)get_local_id(0) & 31, r = col + (lane & 7) + (lane >> 4) * 8, c = k + (lane >> 3 & 1) * 4;
    if (turned) {
        uint4 y[2];
        mf_load_turned(y, tile, col, k, pitch);
        x[0] = y[0].x, x[1] = y[1].x, x[2] = y[0].y, x[3] = y[1].y;
        x[4] = y[0].z, x[5] = y[1].z, x[6] = y[0].w, x[7] = y[1].w;
    } else {
        mf_load_matrices(x, tile + mf_place_f32(r, c, pitch), false);
        mf_load_matrices(x + 4, tile + mf_place_f32(r + 16, c, pitch), false);
    }
}

/* Rows, or columns, that are loaded at once. */
#define MF_AT_ONCE_f16 16
#define MF_AT_ONCE_f32 32

#define MF_MULTIPLY_ADD(elem, instruction)                                                                            \
    static inline void mf_multiply_add_##elem(float *sums, const uint *a, const uint *b)                              \
    {                                                                                                                 \
        __asm__ volatile("mma.sync.aligned." instruction " {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"        \
                         : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])                                 \
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                         \
    }
MF_MULTIPLY_ADD(f16, "m16n8k16.row.col.f32.f16.f16.f32")
MF_MULTIPLY_ADD(tf32, "m16n8k8.row.col.f32.tf32.tf32.f32")

#define MF_FRAGMENTS(elem, words, half, rows, cols, k, a, row, a_pitch, a_turned, b, col, b_pitch, b_turned)                 \
    {                                                                                                                        \
        MF_PRAGMA(unroll)                                                                                                    \
        for (int mf_i = 0; mf_i < (a_pitch ? (rows) : 0); mf_i += MF_AT_ONCE_##elem)                                         \
            mf_load_rows_##elem((words) + ((half) * ((rows) + (cols)) + mf_i) / 4, a, (uint)(row) + mf_i, k, a_pitch, a_turned); \
        MF_PRAGMA(unroll)                                                                                                    \
        for (int mf_j = 0; mf_j < (b_pitch ? (cols) : 0); mf_j += MF_AT_ONCE_##elem)                                         \
            mf_load_cols_##elem((words) + ((half) * ((rows) + (cols)) + (rows) + mf_j) / 4, b, (uint)(col) + mf_j, k, b_pitch, \
                                b_turned);                                                                                   \
    }
/* Pieces of 16 rows and of 8 columns: the words of a step begin with those of rows. */
#define MF_EACH_PIECE(rows, cols, i, j, ...)     \
    MF_PRAGMA(unroll)                            \
    for (int i = 0; i < (rows) / 16; i++) {      \
        MF_PRAGMA(unroll)                        \
        for (int j = 0; j < (cols) / 8; j++) {   \
            __VA_ARGS__                          \
        }                                        \
    }
#define MF_WORDS_OF(words, half, rows, cols) ((words) + (half) * ((rows) + (cols)) / 4)
#define MF_MULTIPLY_f16(sums, words, rows, cols) \
    MF_EACH_PIECE(rows, cols, mf_i, mf_j,        \
                  mf_multiply_add_f16((sums) + (mf_i * ((cols) / 8) + mf_j) * 4, (words) + mf_i * 4, (words) + (rows) / 4 + mf_j * 2);)

/* Of f32 the units take 8 bits of exponent and 10 of fraction (tf32), and leave the last 13 bits away. What comes here to numbers that
 * are rounded so is, in the mean, half of the last bit that is left (so much of 1.44), so that errors are up to 0.7 of that bit to both
 * sides. Numbers of 11 bits, infinities and NaNs stay what they are. Rounding to nearest, cvt.rna.tf32.f32, is three instructions. */
static inline uint mf_round_tf32(uint x)
{
    return as_uint(as_float(x) * 1.000338f);
}
#define MF_MULTIPLY_tf32(sums, words, rows, cols)                                 \
    {                                                                             \
        MF_PRAGMA(unroll)                                                         \
        for (int mf_i = 0; mf_i < ((rows) + (cols)) / 4; mf_i++)                  \
            (words)[mf_i] = mf_round_tf32((words)[mf_i]);                         \
        MF_EACH_PIECE(rows, cols, mf_i, mf_j,                                     \
                      mf_multiply_add_tf32((sums) + (mf_i * ((cols) / 8) + mf_j) * 4, (words) + mf_i * 4, (words) + (rows) / 4 + mf_j * 2);) \
    }

/* An f32 is the sum of two numbers, of its first 11 bits and of what is left, of which the units leave two bits away. Of the four
 * products of two such, that of both rests is too small to count (Ootomo and Yokota, "Recovering single precision accuracy from Tensor
 * Cores while surpassing the FP32 theoretical peak performance", 2022). As the units cut sums off, which would be seen after some
 * hundred of them, those of a step begin at 0, and are then added. Of an infinity, or a NaN, the first number is the largest there
 * is, and the rest is the infinity, or the NaN: as both numbers have one sign, products are then what they should be. Of numbers below
 * 1e-34 the rest has few bits. */
static inline void mf_halve(uint *first, uint *rest, const uint *x, int n)
{
    const float most = 0x1.ffcp127f;
    MF_PRAGMA(unroll)
    for (int i = 0; i < n; i++) {
        float y = fmax(fmin(as_float(x[i] & 0xffffe000), most), -most);
        first[i] = as_uint(y);
        rest[i] = as_uint(as_float(x[i]) - y);
    }
}
/* sums += the products of pieces. None waits for the one before it. */
static inline void mf_pieces(float *sums, const uint *a, const uint *b, int rows, int cols)
{
    MF_PRAGMA(unroll)
    for (int i = 0; i < rows / 16; i++)
        MF_PRAGMA(unroll)
        for (int j = 0; j < cols / 8; j++)
            mf_multiply_add_tf32(sums + (i * (cols / 8) + j) * 4, a + i * 4, b + j * 2);
}
#define MF_MULTIPLY_f32(sums, words, rows, cols)                                           \
    {                                                                                      \
        uint mf_first[((rows) + (cols)) / 4], mf_rest[((rows) + (cols)) / 4];              \
        float mf_step[(rows) * (cols) / 32];                                               \
        mf_halve(mf_first, mf_rest, words, ((rows) + (cols)) / 4);                         \
        MF_PRAGMA(unroll)                                                                  \
        for (int mf_s = 0; mf_s < (rows) * (cols) / 32; mf_s++)                            \
            mf_step[mf_s] = 0;                                                             \
        mf_pieces(mf_step, mf_rest, mf_first + (rows) / 4, rows, cols);                    \
        mf_pieces(mf_step, mf_first, mf_rest + (rows) / 4, rows, cols);                    \
        mf_pieces(mf_step, mf_first, mf_first + (rows) / 4, rows, cols);                   \
        MF_PRAGMA(unroll)                                                                  \
        for (int mf_s = 0; mf_s < (rows) * (cols) / 32; mf_s++)                            \
            (sums)[mf_s] += mf_step[mf_s];                                                 \
    }
#define MF_MULTIPLY(elem, sums, words, half, rows, cols) \
    MF_MULTIPLY_##elem(sums, MF_WORDS_OF(words, half, rows, cols), rows, cols)

/* Products of four warps together, of 64 rows (PTX ISA: wgmma), which take tiles where they are in local memory: a tile is panels
 * of 128 bytes a row, so many rows (`tall`) each, that follow on each other. Of the words of a step, the first and the fifth are
 * what the units are told of both tiles; of rows that are in registers (pitch 0), the first four have two elements each. NVIDIA's OpenCL does not know these instructions, whose
 * assembler does: here they are remarks, which dev_opencl.c takes for what they are. Local memory that kernels declare begins where
 * such tiles may; so does what they are given first. */
#if defined(MF_WIDE) && MF_SIZED
#define MF_KNOWN(text) "//@wide " text "\n\t"
#define MF_EXPOSE()    __asm__ volatile(MF_KNOWN("fence.proxy.async.shared::cta;") : : : "memory")

/* Numbers of registers stay in order, since one asm of `volatile` does not pass another. */
#define MF_PIN(x, n)                                               \
    {                                                              \
        MF_PRAGMA(unroll)                                          \
        for (int mf_i = 0; mf_i < (n); mf_i++)                     \
            __asm__ volatile("" : "+f"((x)[mf_i]) : : "memory");   \
    }
#define MF_SETTLE(sums, n)                                                                    \
    {                                                                                         \
        __asm__ volatile(MF_KNOWN("wgmma.wait_group.sync.aligned 0;") : : : "memory");        \
        MF_PIN(sums, n)                                                                       \
    }

/* The lower word of what PTX calls a matrix descriptor: where those four warps' rows, or columns from `from` on, begin at k, in
 * units of 16 bytes, and how far panels are apart in a tile that is turned. MF_ROWS_TOLD is the upper one. */
static inline uint mf_told(const __local ushort *tile, uint from, bool turned, uint k, uint tall)
{
    uint at = (from / 64 * 64 + k / 64 * tall) * 64 + k % 64;
    if (turned)
        at = (from / 64 * tall + k) * 64;
    return ((uint)(size_t)(tile + at) & 0x3ffff) >> 4 | (turned ? tall * 8 : 1) << 16;
}
#define MF_WIDE_FRAGMENTS(words, n, k, a, row, a_pitch, a_turned, a_tall, b, col, b_pitch, b_turned, b_tall) \
    {                                                                                            \
        if (b_pitch)                                                                             \
            (words)[4] = mf_told(b, (uint)(col), b_turned, k, b_tall);                           \
        if (a_pitch)                                                                             \
            (words)[0] = mf_told(a, (uint)(row), a_turned, k, a_tall);                           \
    }

/* What a tile's rows of 128 bytes are told: eight of them are 1024 apart, words of 16 in an order that these give. */
#define MF_ROWS_TOLD ((ulong)(1 << 30 | 64) << 32)
#define MF_SUMS_8(x, i)  "+f"((x)[i]), "+f"((x)[i + 1]), "+f"((x)[i + 2]), "+f"((x)[i + 3]), \
                         "+f"((x)[i + 4]), "+f"((x)[i + 5]), "+f"((x)[i + 6]), "+f"((x)[i + 7])
#define MF_SUMS_32(x, i) MF_SUMS_8(x, i), MF_SUMS_8(x, i + 8), MF_SUMS_8(x, i + 16), MF_SUMS_8(x, i + 24)
#define MF_SUMS_64(x, i) MF_SUMS_32(x, i), MF_SUMS_32(x, i + 32)
#define MF_SUMS_128(x, i) MF_SUMS_64(x, i), MF_SUMS_64(x, i + 64)
#define MF_NAMES_32   "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define MF_NAMES_64   MF_NAMES_32 ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define MF_NAMES_128  MF_NAMES_64 ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95" \
    ",%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"
#define MF_WIDE_STEP(n, names, rows, cols, p, turns, sums, ...)                                                              \
    __asm__ volatile(MF_KNOWN("{") MF_KNOWN(".reg .pred p;") MF_KNOWN("setp.ne.b32 p," p ",0;")                               \
                     MF_KNOWN("wgmma.mma_async.sync.aligned.m64n" #n "k16.f32.f16.f16 {" names "}," rows "," cols ",p,1,1," turns ";") \
                     MF_KNOWN("}") : sums : __VA_ARGS__)
#define MF_WIDE_TILES_64(sums, words, more, a_turned, b_turned)                                                        \
    MF_WIDE_STEP(64, MF_NAMES_32, "%32", "%33", "%34", "%35,%36", MF_SUMS_32(sums, 0), "l"(MF_ROWS_TOLD | (words)[0]), \
                 "l"(MF_ROWS_TOLD | (words)[4]), "r"((int)(more)), "n"((int)(a_turned)), "n"((int)(b_turned)))
#define MF_WIDE_WORDS_64(sums, words, more, a_turned, b_turned)                                                        \
    MF_WIDE_STEP(64, MF_NAMES_32, "{%32,%33,%34,%35}", "%36", "%37", "%38", MF_SUMS_32(sums, 0), "r"((words)[0]), \
                 "r"((words)[1]), "r"((words)[2]), "r"((words)[3]), "l"(MF_ROWS_TOLD | (words)[4]), "r"((int)(more)),   \
                 "n"((int)(b_turned)))
#define MF_WIDE_TILES_128(sums, words, more, a_turned, b_turned)                                                        \
    MF_WIDE_STEP(128, MF_NAMES_64, "%64", "%65", "%66", "%67,%68", MF_SUMS_64(sums, 0), "l"(MF_ROWS_TOLD | (words)[0]), \
                 "l"(MF_ROWS_TOLD | (words)[4]), "r"((int)(more)), "n"((int)(a_turned)), "n"((int)(b_turned)))
#define MF_WIDE_WORDS_128(sums, words, more, a_turned, b_turned)                                                        \
    MF_WIDE_STEP(128, MF_NAMES_64, "{%64,%65,%66,%67}", "%68", "%69", "%70", MF_SUMS_64(sums, 0), "r"((words)[0]), \
                 "r"((words)[1]), "r"((words)[2]), "r"((words)[3]), "l"(MF_ROWS_TOLD | (words)[4]), "r"((int)(more)),   \
                 "n"((int)(b_turned)))
#define MF_WIDE_TILES_256(sums, words, more, a_turned, b_turned)                                                        \
    MF_WIDE_STEP(256, MF_NAMES_128, "%128", "%129", "%130", "%131,%132", MF_SUMS_128(sums, 0), "l"(MF_ROWS_TOLD | (words)[0]), \
                 "l"(MF_ROWS_TOLD | (words)[4]), "r"((int)(more)), "n"((int)(a_turned)), "n"((int)(b_turned)))
#define MF_WIDE_WORDS_256(sums, words, more, a_turned, b_turned)                                                        \
    MF_WIDE_STEP(256, MF_NAMES_128, "{%128,%129,%130,%131}", "%132", "%133", "%134", MF_SUMS_128(sums, 0), "r"((words)[0]), \
                 "r"((words)[1]), "r"((words)[2]), "r"((words)[3]), "l"(MF_ROWS_TOLD | (words)[4]), "r"((int)(more)),   \
                 "n"((int)(b_turned)))
#define MF_WIDE_MULTIPLY(sums, words, n, from, a_turned, b_turned, first, fresh, last)                     \
    {                                                                                                      \
        if (first) {                                                                                       \
            MF_PIN(sums, (fresh) ? 0 : (n) / 2)                                                            \
            __asm__ volatile(MF_KNOWN("wgmma.fence.sync.aligned;") : : : "memory");                        \
        }                                                                                                  \
        MF_WIDE_##from##_##n(sums, words, !(fresh), a_turned, b_turned);                                   \
        if (last)                                                                                          \
            __asm__ volatile(MF_KNOWN("wgmma.commit_group.sync.aligned;") : : : "memory");                 \
    }
#endif

#else

#define mf_power(x) exp2(x)
static inline void mf_copy(__local void *to, const __global void *from, bool there)
{
    *(__local uint4 *)to = there ? *(const __global uint4 *)from : (uint4)(0);
}
#define MF_COPY(elem, tile, row, at, pitch, from, there) \
    mf_copy((tile) + mf_place_##elem((uint)(row), (uint)(at), pitch), from, there)
#define MF_ROUND(n)

/* A lane's sums are of the rows and columns of which the instruction would give them: of 16 x 8 two neighbours in row lane / 4, and
 * two eight rows below. The fragments are all that they take, two elements a word. */
#define mf_sum_row(i, lane, spread) mf_number(i, (lane) / 4, spread)
#define mf_sum_col(j, lane, spread) mf_number((j) / 2, (lane) % 4 * 2 + (j) % 2, spread)
/* Number `of` of that piece of eight, or of four pieces whose numbers are neighbours. */
static inline int mf_number(int piece, int of, bool spread)
{
    return spread ? piece / 4 * 32 + of * 4 + piece % 4 : piece * 8 + of;
}
#define MF_SPREAD_f16 false
#define MF_SPREAD_f32 true

/* What a word of the fragments has: two f16 in a row, or an f32. */
#ifndef MF_WITHOUT_F16
static inline uint mf_word_f16(const __local ushort *tile, int number, int k, int w, int pitch, bool turned)
{
    int of = k + 2 * w;
    uint x = tile[turned ? mf_place_f16(of, number, pitch) : mf_place_f16(number, of, pitch)];
    uint y = tile[turned ? mf_place_f16(of + 1, number, pitch) : mf_place_f16(number, of + 1, pitch)];
    return x | y << 16;
}
static inline float mf_product_f16(float sum, uint x, uint y)
{
    sum += mf_f16_to_f32((ushort)x) * mf_f16_to_f32((ushort)y);
    return sum + mf_f16_to_f32((ushort)(x >> 16)) * mf_f16_to_f32((ushort)(y >> 16));
}
#endif
static inline uint mf_word_f32(const __local float *tile, int number, int k, int w, int pitch, bool turned)
{
    return as_uint(tile[turned ? mf_place_f32(k + w, number, pitch) : mf_place_f32(number, k + w, pitch)]);
}
static inline float mf_product_f32(float sum, uint x, uint y)
{
    return sum + as_float(x) * as_float(y);
}
static inline float mf_rounded_tf32(uint x)
{
    return as_float(as_uint(as_float(x) * 1.000338f) & 0xffffe000);
}
static inline float mf_product_tf32(float sum, uint x, uint y)
{
    return sum + mf_rounded_tf32(x) * mf_rounded_tf32(y);
}

#define MF_EMULATED_WORDS(elem, type)                                                                                               \
    static inline void mf_fragments_##elem(uint *words, int half_, int rows, int cols, int k, const __local type *a, int row, \
                                           int a_pitch, bool a_turned, const __local type *b, int col, int b_pitch,           \
                                           bool b_turned)                                                                     \
    {                                                                                                                         \
        int lane = (int)get_local_id(0) & 31;                                                                                 \
        words += half_ * (rows + 2 * cols);                                                                                   \
        for (int i = 0; a_pitch && i < rows / 8; i++)                                                                         \
            for (int w = 0; w < 8; w++)                                                                                       \
                words[i * 8 + w] = mf_word_##elem(a, row + mf_sum_row(i, lane, a_turned && MF_SPREAD_##elem), k, w, a_pitch, a_turned); \
        words += rows;                                                                                                        \
        for (int j = 0; b_pitch && j < cols / 4; j++)                                                                         \
            for (int w = 0; w < 8; w++)                                                                                       \
                words[j * 8 + w] = mf_word_##elem(b, col + mf_sum_col(j, lane, b_turned && MF_SPREAD_##elem), k, w, b_pitch, b_turned); \
    }
#define MF_EMULATED_PRODUCTS(elem)                                                                                      \
    static inline void mf_multiply_##elem(float *sums, const uint *words, int half_, int rows, int cols)                      \
    {                                                                                                                         \
        words += half_ * (rows + 2 * cols);                                                                                   \
        for (int s = 0; s < rows * cols / 32; s++) {                                                                          \
            int piece = s / 4, i = piece / (cols / 8) * 2 + s / 2 % 2, j = piece % (cols / 8) * 2 + s % 2;                    \
            const uint *x = words + i * 8, *y = words + rows + j * 8;                                                         \
            for (int w = 0; w < 8; w++)                                                                                       \
                sums[s] = mf_product_##elem(sums[s], x[w], y[w]);                                                             \
        }                                                                                                                     \
    }
#ifndef MF_WITHOUT_F16
MF_EMULATED_WORDS(f16, ushort)
MF_EMULATED_PRODUCTS(f16)
#endif
MF_EMULATED_WORDS(f32, float)
MF_EMULATED_PRODUCTS(f32)
MF_EMULATED_PRODUCTS(tf32)

#define MF_FRAGMENTS(elem, words, half, rows, cols, k, a, row, a_pitch, a_turned, b, col, b_pitch, b_turned) \
    mf_fragments_##elem(words, half, rows, cols, k, a, row, a_pitch, a_turned, b, col, b_pitch, b_turned)
#define MF_MULTIPLY(elem, sums, words, half, rows, cols) mf_multiply_##elem(sums, words, half, rows, cols)

/* Products of four sub-groups: each has 16 rows of the sums, as above. */
#define MF_EXPOSE()
#define MF_SETTLE(sums, n)
#ifndef MF_WITHOUT_F16
/* What a word has of a tile of panels. */
static inline uint mf_wide_word(const __local ushort *tile, int number, int k, int w, bool turned, int tall)
{
    int panel = turned ? number / 64 : k / 64;
    tile += panel * tall * 64;
    return turned ? mf_word_f16(tile, number % 64, k, w, 64, true) : mf_word_f16(tile, number, k % 64, w, 64, false);
}
static inline void mf_wide_fragments(uint *words, int cols, int k, const __local ushort *a, int row, int a_pitch, bool a_turned,
                                     int a_tall, const __local ushort *b, int col, int b_pitch, bool b_turned, int b_tall)
{
    int lane = (int)get_local_id(0) & 31;
    for (int i = 0; a_pitch && i < 2; i++)
        for (int w = 0; w < 8; w++)
            words[i * 8 + w] = mf_wide_word(a, row + mf_sum_row(i, lane, false), k, w, a_turned, a_tall);
    for (int j = 0; b_pitch && j < cols / 4; j++)
        for (int w = 0; w < 8; w++)
            words[16 + j * 8 + w] = mf_wide_word(b, col + mf_sum_col(j, lane, false), k, w, b_turned, b_tall);
}
static inline void mf_wide_multiply(float *sums, const uint *words, int cols, bool fresh)
{
    for (int s = 0; fresh && s < cols / 2; s++)
        sums[s] = 0;
    mf_multiply_f16(sums, words, 0, 16, cols);
}
#endif
#define MF_WIDE_FRAGMENTS(words, n, k, a, row, a_pitch, a_turned, a_tall, b, col, b_pitch, b_turned, b_tall) \
    mf_wide_fragments(words, n, k, a, row, a_pitch, a_turned, a_tall, b, col, b_pitch, b_turned, b_tall)
#define MF_WIDE_MULTIPLY(sums, words, n, from, a_turned, b_turned, first, fresh, last) mf_wide_multiply(sums, words, n, fresh)

#endif
#endif
