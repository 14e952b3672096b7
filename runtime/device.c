/* Choosing a device; the driver's error codes by name. */
#include "runtime/internal.h"
#include "runtime/rank.h"

#include <stdlib.h>
#include <string.h>

RT_API const char *rt_cl_name(cl_int err)
{
    static const struct {
        cl_int code;
        const char *name;
    } names[] = {
        {CL_DEVICE_NOT_FOUND, "CL_DEVICE_NOT_FOUND"},
        {CL_DEVICE_NOT_AVAILABLE, "CL_DEVICE_NOT_AVAILABLE"},
        {CL_COMPILER_NOT_AVAILABLE, "CL_COMPILER_NOT_AVAILABLE"},
        {CL_MEM_OBJECT_ALLOCATION_FAILURE, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
        {CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES"},
        {CL_OUT_OF_HOST_MEMORY, "CL_OUT_OF_HOST_MEMORY"},
        {CL_PROFILING_INFO_NOT_AVAILABLE, "CL_PROFILING_INFO_NOT_AVAILABLE"},
        {CL_MEM_COPY_OVERLAP, "CL_MEM_COPY_OVERLAP"},
        {CL_BUILD_PROGRAM_FAILURE, "CL_BUILD_PROGRAM_FAILURE"},
        {CL_MISALIGNED_SUB_BUFFER_OFFSET, "CL_MISALIGNED_SUB_BUFFER_OFFSET"},
        {CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
         "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
        {CL_INVALID_VALUE, "CL_INVALID_VALUE"},
        {CL_INVALID_DEVICE, "CL_INVALID_DEVICE"},
        {CL_INVALID_CONTEXT, "CL_INVALID_CONTEXT"},
        {CL_INVALID_QUEUE_PROPERTIES, "CL_INVALID_QUEUE_PROPERTIES"},
        {CL_INVALID_COMMAND_QUEUE, "CL_INVALID_COMMAND_QUEUE"},
        {CL_INVALID_MEM_OBJECT, "CL_INVALID_MEM_OBJECT"},
        {CL_INVALID_BINARY, "CL_INVALID_BINARY"},
        {CL_INVALID_BUILD_OPTIONS, "CL_INVALID_BUILD_OPTIONS"},
        {CL_INVALID_PROGRAM, "CL_INVALID_PROGRAM"},
        {CL_INVALID_PROGRAM_EXECUTABLE, "CL_INVALID_PROGRAM_EXECUTABLE"},
        {CL_INVALID_KERNEL_NAME, "CL_INVALID_KERNEL_NAME"},
        {CL_INVALID_KERNEL, "CL_INVALID_KERNEL"},
        {CL_INVALID_ARG_INDEX, "CL_INVALID_ARG_INDEX"},
        {CL_INVALID_ARG_VALUE, "CL_INVALID_ARG_VALUE"},
        {CL_INVALID_ARG_SIZE, "CL_INVALID_ARG_SIZE"},
        {CL_INVALID_KERNEL_ARGS, "CL_INVALID_KERNEL_ARGS"},
        {CL_INVALID_WORK_DIMENSION, "CL_INVALID_WORK_DIMENSION"},
        {CL_INVALID_WORK_GROUP_SIZE, "CL_INVALID_WORK_GROUP_SIZE"},
        {CL_INVALID_WORK_ITEM_SIZE, "CL_INVALID_WORK_ITEM_SIZE"},
        {CL_INVALID_GLOBAL_OFFSET, "CL_INVALID_GLOBAL_OFFSET"},
        {CL_INVALID_EVENT, "CL_INVALID_EVENT"},
        {CL_INVALID_OPERATION, "CL_INVALID_OPERATION"},
        {CL_INVALID_BUFFER_SIZE, "CL_INVALID_BUFFER_SIZE"},
        {CL_INVALID_GLOBAL_WORK_SIZE, "CL_INVALID_GLOBAL_WORK_SIZE"},
        {-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
    };
    static char other[32];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].code == err)
            return names[i].name;
    snprintf(other, sizeof other, "error %d", err);
    return other;
}

RT_API int rt_cl_check(rt_ctx *ctx, cl_int err, const char *call, const char *what)
{
    if (err == CL_SUCCESS)
        return RT_OK;
    return rt_error_set(ctx, "%s failed: %s (%s)", call, rt_cl_name(err), what);
}

/* A device that could be taken. */
typedef struct {
    cl_platform_id platform;
    cl_device_id device;
    char platform_name[256], name[256];
    cl_device_type type;
    rt_rank rank;
} rt_candidate;

static void rt_candidate_fill(rt_candidate *c)
{
    cl_uint units = 1, clock = 1;
    clGetPlatformInfo(c->platform, CL_PLATFORM_NAME, sizeof c->platform_name, c->platform_name,
                      NULL);
    clGetDeviceInfo(c->device, CL_DEVICE_NAME, sizeof c->name, c->name, NULL);
    clGetDeviceInfo(c->device, CL_DEVICE_TYPE, sizeof c->type, &c->type, NULL);
    clGetDeviceInfo(c->device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL);
    clGetDeviceInfo(c->device, CL_DEVICE_MAX_CLOCK_FREQUENCY, sizeof clock, &clock, NULL);
    c->rank = (rt_rank){.gpu = (c->type & CL_DEVICE_TYPE_GPU) != 0,
                        .cpu = (c->type & CL_DEVICE_TYPE_CPU) != 0,
                        .units = units,
                        .mhz = clock};
}

/* All devices of all platforms, to free(). */
static rt_candidate *rt_candidates(int *n)
{
    cl_platform_id platforms[RT_MAX_PLATFORMS];
    cl_device_id devices[RT_MAX_DEVICES];
    cl_uint n_platforms = 0, n_devices;
    rt_candidate *all = NULL;
    *n = 0;
    if (clGetPlatformIDs(RT_MAX_PLATFORMS, platforms, &n_platforms) != CL_SUCCESS)
        return NULL;
    for (cl_uint p = 0; p < n_platforms && p < RT_MAX_PLATFORMS; p++) {
        n_devices = 0;
        if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, RT_MAX_DEVICES, devices, &n_devices) !=
            CL_SUCCESS)
            continue;
        for (cl_uint d = 0; d < n_devices && d < RT_MAX_DEVICES; d++) {
            all = rt_grow(all, (size_t)(*n + 1) * sizeof *all);
            memset(&all[*n], 0, sizeof *all);
            all[*n].platform = platforms[p];
            all[*n].device = devices[d];
            rt_candidate_fill(&all[*n]);
            ++*n;
        }
    }
    return all;
}

static const char *rt_type_text(cl_device_type type)
{
    return type & CL_DEVICE_TYPE_GPU ? "GPU" : type & CL_DEVICE_TYPE_CPU ? "CPU" : "accelerator";
}

RT_API bool rt_device_list(FILE *f)
{
    int n;
    rt_candidate *all = rt_candidates(&n);
    for (int i = 0; i < n; i++)
        fprintf(f, "#%d: %s (%s, %s)\n", i, all[i].name, rt_type_text(all[i].type),
                all[i].platform_name);
    free(all);
    return n > 0;
}

/* "#k" and what follows; k, or -1 when the text is no such thing. */
static int rt_ordinal(const char *text, const char **rest)
{
    char *end;
    *rest = text;
    if (!text || text[0] != '#')
        return -1;
    long k = strtol(text + 1, &end, 10);
    if (end == text + 1 || k < 0 || k > 1000)
        return -1;
    while (*end == ' ')
        end++;
    *rest = end;
    return (int)k;
}

/* The device that the options ask for: its index in all, or -1. "#k" counts the devices that match.
 */
static int rt_choose(const rt_config *cfg, const rt_candidate *all, int n)
{
    const char *device, *platform;
    int k = rt_ordinal(cfg->device, &device), best = -1;
    int pk = rt_ordinal(cfg->platform, &platform), n_platforms = 0;
    for (int i = 0; i < n; i++) {
        bool new_platform = i == 0 || all[i].platform != all[i - 1].platform;
        bool matches = !platform || strstr(all[i].platform_name, platform);
        if (!matches)
            continue;
        n_platforms += new_platform;
        if ((pk >= 0 && n_platforms != pk + 1) || (device && !strstr(all[i].name, device)))
            continue;
        if (k == 0)
            return i;
        k -= k > 0;
        if (k < 0 && (best < 0 || rt_rank_better(all[i].rank, all[best].rank)))
            best = i;
    }
    return best;
}

/* What the driver says of a device. */
typedef struct {
    int64_t units, max_group, local_memory;
} rt_found;

static void rt_set_facts(rt_ctx *ctx, const rt_found *d)
{
#define RT_FACT_VALUE(id, name, gpu, cpu, unit)                                                    \
    ctx->facts[RT_##id] = (ctx->is_cpu ? (cpu) : (gpu)) * (unit);
#define RT_SIZE_VALUE(id, name, option, gpu, cpu, unit, most)                                      \
    RT_FACT_VALUE(id, name, gpu, cpu, unit)
    RT_FACTS(RT_FACT_VALUE, RT_SIZE_VALUE, RT_FACT_NONE)
}

/* Facts and default sizes of the chosen device. */
static void rt_device_facts(rt_ctx *ctx)
{
    cl_uint units = 1;
    size_t group = 1;
    cl_ulong local = 0, memory = 0;
    clGetDeviceInfo(ctx->device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL);
    clGetDeviceInfo(ctx->device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof group, &group, NULL);
    clGetDeviceInfo(ctx->device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof local, &local, NULL);
    clGetDeviceInfo(ctx->device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof memory, &memory, NULL);
    clGetDeviceInfo(ctx->device, CL_DRIVER_VERSION, sizeof ctx->driver, ctx->driver, NULL);
    ctx->memory = (int64_t)memory;
    rt_set_facts(ctx, &(rt_found){(int64_t)units, (int64_t)group, (int64_t)local});
}

RT_API bool rt_device_open(rt_ctx *ctx, char **error)
{
    int n;
    const rt_config *cfg = &ctx->config;
    rt_candidate *all = rt_candidates(&n);
    if (n == 0) {
        free(all);
        *error = rt_format("no OpenCL device found: install a driver (for CPUs: PoCL, in Debian "
                           "the package pocl-opencl-icd)");
        return false;
    }
    int i = rt_choose(cfg, all, n);
    if (i < 0) {
        *error = rt_format("no OpenCL device matches%s%s%s%s; --list-devices shows the %d there %s",
                           cfg->device ? " device " : "", cfg->device ? cfg->device : "",
                           cfg->platform ? " platform " : "", cfg->platform ? cfg->platform : "", n,
                           n == 1 ? "is" : "are");
        free(all);
        return false;
    }
    ctx->platform = all[i].platform;
    ctx->device = all[i].device;
    ctx->is_cpu = (all[i].type & CL_DEVICE_TYPE_CPU) != 0;
    /* "gpu", "cpu": for testing that shape of code here */
    const char *shape = getenv("MINIFUT_CODE");
    if (shape && *shape)
        ctx->is_cpu = strcmp(shape, "cpu") == 0;
    snprintf(ctx->platform_name, sizeof ctx->platform_name, "%s", all[i].platform_name);
    snprintf(ctx->device_name, sizeof ctx->device_name, "%s", all[i].name);
    free(all);
    rt_device_facts(ctx);
    return true;
}
