/* A driver of a device with fast memory: copies of large arrays seem to take 1 ms, what comes
 * before them less and less. To be loaded before the OpenCL loader. */
#define CL_TARGET_OPENCL_VERSION 120
#define _GNU_SOURCE
#include <CL/cl.h>

#include <dlfcn.h>

typedef cl_int Told(cl_event event, cl_profiling_info what, size_t size, void *value, size_t *told);
typedef cl_mem Made(cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *rc);

static const size_t LARGE = (size_t)1 << 27; /* bytes */
static double ns = 1e5;
static int large;

cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *rc)
{
    large = large || size >= LARGE;
    return ((Made *)dlsym(RTLD_NEXT, "clCreateBuffer"))(context, flags, size, host, rc);
}

cl_int clGetEventProfilingInfo(cl_event event, cl_profiling_info what, size_t size, void *value,
                               size_t *told)
{
    Told *tell = (Told *)dlsym(RTLD_NEXT, "clGetEventProfilingInfo");
    cl_ulong start = 0;
    cl_int rc = tell(event, what, size, value, told);
    if (rc != CL_SUCCESS || what != CL_PROFILING_COMMAND_END ||
        tell(event, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL) != CL_SUCCESS)
        return rc;
    ns = large ? 1e6 : 0.8 * ns;
    *(cl_ulong *)value = start + 1 + (cl_ulong)ns;
    return rc;
}
