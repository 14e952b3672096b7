/* A driver on a machine that is less and less busy: each command seems to take nine tenths of the
 * time of the one before, however long it really took. To be loaded before the OpenCL loader. */
#define CL_TARGET_OPENCL_VERSION 120
#define _GNU_SOURCE
#include <CL/cl.h>

#include <dlfcn.h>

typedef cl_int Told(cl_event event, cl_profiling_info what, size_t size, void *value, size_t *told);

static double ns = 1e9;

cl_int clGetEventProfilingInfo(cl_event event, cl_profiling_info what, size_t size, void *value,
                               size_t *told)
{
    Told *tell = (Told *)dlsym(RTLD_NEXT, "clGetEventProfilingInfo");
    cl_ulong start = 0;
    cl_int rc = tell(event, what, size, value, told);
    if (rc != CL_SUCCESS || what != CL_PROFILING_COMMAND_END ||
        tell(event, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL) != CL_SUCCESS)
        return rc;
    *(cl_ulong *)value = start + 1 + (cl_ulong)ns;
    ns *= 0.9;
    return rc;
}
