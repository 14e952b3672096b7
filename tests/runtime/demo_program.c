/* A program as the code generator writes them, by hand: put behind the output of runtime/bundle.sh.
 *
 * main (xs: [n]i32) (k: i32): ([n]i32, {lo: i32, total: i64})   xs scaled by k, in one of two
 * versions; k == 13 fails at index 2 inside a kernel, k == 14 on the host bump (xs: *[n]f32):
 * *[n]f32  in place turn (a: [n][m]f64): [m][n]f64 same (a: [n]i32) (b: [n]i32): i64    checks a
 * shared size; unit (n: i32) (u: ()): ((), i32)   n + 1; swap (a: *[n]f32) (b: *[m]f32)   both, the
 * other way round */

static const char src_scale[] =
    "__kernel void scale(__global mf_failure *failure, int launch, __global i32 *out,\n"
    "                    __global const i32 *xs, i64 n, i32 k)\n"
    "{\n"
    "    const i64 i = get_global_id(0);\n"
    "    if (i >= n)\n"
    "        return;\n"
    "    if (k == 13 && i >= 2)\n"
    "        mf_fail(failure, launch, 0, i + 3, n, 0, 0, 0, 0, 0, 0);\n"
    "    else\n"
    "        out[i] = mf_mul_i32(xs[i], k);\n"
    "}\n";

static const char src_scale_local[] =
    "__kernel void scale_local(__global i32 *out, __global const i32 *xs, i64 n, i32 k,\n"
    "                          __local i32 *tmp)\n"
    "{\n"
    "    const i64 i = get_global_id(0);\n"
    "    const int l = get_local_id(0), w = get_local_size(0);\n"
    "    tmp[w - 1 - l] = i < n ? xs[i] : 0;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    if (i < n)\n"
    "        out[i] = mf_mul_i32(tmp[w - 1 - l], k);\n"
    "}\n";

static const char src_stats[] =
    "__kernel void stats(__global mf_failure *failure, int launch, __global i64 *total,\n"
    "                    __global i32 *lo, __global const i32 *xs, i64 n)\n"
    "{\n"
    "    if (mf_failed_before(failure, launch))\n"
    "        return;\n"
    "    i64 t = 0;\n"
    "    i32 m = 2147483647;\n"
    "    for (i64 i = 0; i < n; i++) {\n"
    "        t += xs[i];\n"
    "        m = mf_min_i32(m, xs[i]);\n"
    "    }\n"
    "    *total = t;\n"
    "    *lo = m;\n"
    "}\n";

static const char src_bump[] = "__kernel void bump(__global f32 *xs, i64 n)\n"
                               "{\n"
                               "    const i64 i = get_global_id(0);\n"
                               "    if (i < n)\n"
                               "        xs[i] += 1;\n"
                               "}\n";

enum { K_SCALE, K_SCALE_LOCAL, K_STATS, K_BUMP };
static const rt_kernel_def kernels[] = {
    {.name = "scale",
     .source = src_scale,
     .prov = "demo.sf:3:5",
     .failure = true,
     .may_fail = true},
    {.name = "scale_local", .source = src_scale_local, .prov = "demo.sf:3:5", .fixed_group = true},
    {.name = "stats", .source = src_stats, .prov = "demo.sf:4:5", .failure = true},
    {.name = "bump", .source = src_bump, .prov = "demo.sf:8:5", .types = 1u << RT_F32}};

enum { P_OUTER, P_INTRA };
static const rt_param_def params[] = {
    {"main.suff_outer_par_0", "threshold(def, )", 0},
    {"main.suff_intra_par_1", "threshold(32, !main.suff_outer_par_0)", 32}};

static const rt_site_def sites[] = {{"Index [%ld] out of bounds for array of shape [%ld].",
                                     "demo.sf:3:9",
                                     "    map (\\x -> xs[x]) is\n                ^~~~~"},
                                    {"k cannot be %ld", "demo.sf:2:1", NULL}};

enum { T_I32, T_I64, T_ARR_I32, T_STATS, T_ARR_F32, T_ARR2_F64, T_UNIT };
static const rt_field_def stats_fields[] = {{"lo", T_I32}, {"total", T_I64}};
static const rt_type_def types[] = {
    {"i32", RT_KIND_PRIM, RT_I32, 0, 0, NULL, -1, 0, 0, NULL, NULL},
    {"i64", RT_KIND_PRIM, RT_I64, 0, 0, NULL, -1, 0, 0, NULL, NULL},
    {"[]i32", RT_KIND_ARRAY, RT_I32, 1, 0, NULL, -1, 0, 0, NULL, NULL},
    {"stats", RT_KIND_RECORD, RT_I32, 0, 2, stats_fields, -1, 0, 0, NULL, NULL},
    {"[]f32", RT_KIND_ARRAY, RT_F32, 1, 0, NULL, -1, 0, 0, NULL, NULL},
    {"[][]f64", RT_KIND_ARRAY, RT_F64, 2, 0, NULL, -1, 0, 0, NULL, NULL},
    {"()", RT_KIND_RECORD, RT_BOOL, 0, 0, NULL, -1, 0, 0, NULL, NULL},
};

static int call_main(rt_ctx *ctx, const rt_value *in, rt_value *out)
{
    int64_t n = in[0].shape[0];
    int32_t k = in[1].scalar.i32;
    rt_mem *ys = NULL, *total = NULL, *lo = NULL;
    int rc;
    if (k == 14)
        return rt_fail(ctx, 1, (const int64_t[8]){k});
    if ((rc = rt_alloc(ctx, &ys, n * 4, "ys")) || (rc = rt_alloc(ctx, &total, 8, "total")) ||
        (rc = rt_alloc(ctx, &lo, 4, "lo")))
        goto done;
    int64_t group = rt_size(ctx, RT_GROUP_SIZE);
    rt_arg args[] = {RT_A_MEM(ys), RT_A_MEM(in[0].mem), RT_A_I64(n), RT_A_I32(k),
                     RT_A_LOCAL(group * 4)};
    bool done = false;
    if (rt_suff(ctx, P_OUTER, n, n)) {
        rc = rt_launch(ctx, K_SCALE, 1, &n, &group, 4, args);
        done = rc != RT_REFUSED;
    } else if (rt_fits(ctx, K_SCALE_LOCAL, group, group * 4) && rt_suff(ctx, P_INTRA, n, n)) {
        rc = rt_launch(ctx, K_SCALE_LOCAL, 1, &n, &group, 5, args);
        done = rc != RT_REFUSED;
    }
    if (!done)
        rc = rt_launch(ctx, K_SCALE, 1, &n, (const int64_t[]){1}, 4, args);
    if (rc)
        goto done;
    rt_arg sargs[] = {RT_A_MEM(total), RT_A_MEM(lo), RT_A_MEM(ys), RT_A_I64(n)};
    int64_t one = 1;
    if ((rc = rt_launch(ctx, K_STATS, 1, &one, &one, 4, sargs)))
        goto done;
    out[1] = (rt_value){.prim = RT_I32};
    out[2] = (rt_value){.prim = RT_I64};
    if ((rc = rt_read_scalar(ctx, lo, 0, 4, &out[1].scalar)) ||
        (rc = rt_read_scalar(ctx, total, 0, 8, &out[2].scalar)))
        goto done;
    out[0] = (rt_value){.prim = RT_I32, .rank = 1, .shape = {n}, .mem = rt_ref(ys)};
done:
    rt_unref(ctx, &ys);
    rt_unref(ctx, &total);
    rt_unref(ctx, &lo);
    return rc;
}

static int call_bump(rt_ctx *ctx, const rt_value *in, rt_value *out)
{
    int64_t n = in[0].shape[0], group = rt_size(ctx, RT_GROUP_SIZE);
    rt_arg args[] = {RT_A_MEM(in[0].mem), RT_A_I64(n)};
    int rc = rt_launch(ctx, K_BUMP, 1, &n, &group, 2, args);
    if (rc == RT_OK)
        out[0] = (rt_value){.prim = RT_F32, .rank = 1, .shape = {n}, .mem = rt_ref(in[0].mem)};
    return rc;
}

static int call_turn(rt_ctx *ctx, const rt_value *in, rt_value *out)
{
    int64_t n = in[0].shape[0], m = in[0].shape[1];
    rt_mem *b = NULL;
    int rc;
    if ((rc = rt_alloc(ctx, &b, n * m * 8, "b")))
        return rc;
    if ((rc = rt_transpose(ctx, b, 0, in[0].mem, 0, 1, n, m, 8)) == RT_OK)
        out[0] = (rt_value){.prim = RT_F64, .rank = 2, .shape = {m, n}, .mem = rt_ref(b)};
    rt_unref(ctx, &b);
    return rc;
}

static int call_same(rt_ctx *ctx, const rt_value *in, rt_value *out)
{
    if (in[1].shape[0] != in[0].shape[0])
        return rt_error_set(ctx, "same: argument 2: expected an array of shape [%ld], got [%ld]",
                            (long)in[0].shape[0], (long)in[1].shape[0]);
    out[0] = (rt_value){.prim = RT_I64, .scalar = {.i64 = in[0].shape[0]}};
    return RT_OK;
}

static int call_unit(rt_ctx *ctx, const rt_value *in, rt_value *out)
{
    (void)ctx;
    out[0] = (rt_value){.prim = RT_I32, .scalar = {.i32 = in[0].scalar.i32 + 1}};
    return RT_OK;
}

static int call_swap(rt_ctx *ctx, const rt_value *in, rt_value *out)
{
    (void)ctx;
    for (int i = 0; i < 2; i++) {
        out[i] = in[1 - i];
        rt_ref(out[i].mem);
    }
    return RT_OK;
}

static const rt_slot_def main_in[] = {{"xs", T_ARR_I32, false}, {"k", T_I32, false}};
static const rt_slot_def main_out[] = {{NULL, T_ARR_I32, true}, {NULL, T_STATS, true}};
static const rt_slot_def bump_in[] = {{"xs", T_ARR_F32, true}};
static const rt_slot_def bump_out[] = {{NULL, T_ARR_F32, true}};
static const rt_slot_def turn_in[] = {{"a", T_ARR2_F64, false}};
static const rt_slot_def turn_out[] = {{NULL, T_ARR2_F64, true}};
static const rt_slot_def same_in[] = {{"a", T_ARR_I32, false}, {"b", T_ARR_I32, false}};
static const rt_slot_def same_out[] = {{NULL, T_I64, true}};
static const rt_slot_def unit_in[] = {{"n", T_I32, false}, {"u", T_UNIT, false}};
static const rt_slot_def unit_out[] = {{NULL, T_UNIT, true}, {NULL, T_I32, true}};
static const rt_slot_def swap_in[] = {{"a", T_ARR_F32, true}, {"b", T_ARR_F32, true}};
static const rt_slot_def swap_out[] = {{NULL, T_ARR_F32, true}, {NULL, T_ARR_F32, true}};
static const int main_params[] = {P_OUTER, P_INTRA};
static const char *const main_attrs[] = {"demo"};

static const rt_entry_def entries[] = {
    {"main", 2, 2, main_in, main_out, call_main, 2, main_params, 1, main_attrs, 0},
    {"bump", 1, 1, bump_in, bump_out, call_bump, 0, NULL, 0, NULL, 0},
    {"turn", 1, 1, turn_in, turn_out, call_turn, 0, NULL, 0, NULL, 0},
    {"same", 2, 1, same_in, same_out, call_same, 0, NULL, 0, NULL, 0},
    {"unit", 2, 2, unit_in, unit_out, call_unit, 0, NULL, 0, NULL, 0},
    {"swap", 2, 2, swap_in, swap_out, call_swap, 0, NULL, 0, NULL, 0}};

static const rt_program program = {
    .name = "demo",
    .n_kernels = 4,
    .n_params = 2,
    .n_sites = 2,
    .n_types = 7,
    .n_entries = 6,
    .kernels = kernels,
    .params = params,
    .sites = sites,
    .types = types,
    .entries = entries,
};

int main(int argc, char **argv)
{
    return rt_main(&program, argc, argv);
}
