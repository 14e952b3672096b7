#include "base/opencl.h"

#include <dlfcn.h>

const OpenCL *opencl_open(void)
{
    static OpenCL cl;
    static const struct {
        const char *name;
        void *to;
    } functions[] = {
        {"clGetPlatformIDs", &cl.platforms}, {"clGetPlatformInfo", &cl.platform_info},
        {"clGetDeviceIDs", &cl.devices},     {"clGetDeviceInfo", &cl.device_info},
        {"clCreateContext", &cl.context},    {"clCreateProgramWithSource", &cl.program},
        {"clBuildProgram", &cl.build}};
    void *lib = dlopen("libOpenCL.so.1", RTLD_NOW);
    if (!lib)
        lib = dlopen("libOpenCL.so", RTLD_NOW);
    for (size_t i = 0; lib && i < sizeof functions / sizeof *functions; i++)
        if (!(*(void **)functions[i].to = dlsym(lib, functions[i].name)))
            return NULL;
    return lib ? &cl : NULL;
}
