#include "command/opencl.h"

#include <dlfcn.h>
#include <stddef.h>

/* Parameters and arguments of the functions that are passed on to the loader. */
#define FUNCTIONS(F)                                                                               \
    F(cl_int, clGetPlatformIDs, (cl_uint n, cl_platform_id * p, cl_uint * count), (n, p, count))   \
    F(cl_int, clGetPlatformInfo,                                                                   \
      (cl_platform_id p, cl_platform_info what, size_t n, void *to, size_t *size),                 \
      (p, what, n, to, size))                                                                      \
    F(cl_int, clGetDeviceIDs,                                                                      \
      (cl_platform_id p, cl_device_type type, cl_uint n, cl_device_id * d, cl_uint * count),       \
      (p, type, n, d, count))                                                                      \
    F(cl_int, clGetDeviceInfo,                                                                     \
      (cl_device_id d, cl_device_info what, size_t n, void *to, size_t *size),                     \
      (d, what, n, to, size))                                                                      \
    F(cl_context, clCreateContext,                                                                 \
      (const cl_context_properties *props, cl_uint n, const cl_device_id *d,                       \
       void(CL_CALLBACK * notify)(const char *, const void *, size_t, void *), void *user,         \
       cl_int *err),                                                                               \
      (props, n, d, notify, user, err))                                                            \
    F(cl_program, clCreateProgramWithSource,                                                       \
      (cl_context c, cl_uint n, const char **texts, const size_t *sizes, cl_int *err),             \
      (c, n, texts, sizes, err))                                                                   \
    F(cl_int, clBuildProgram,                                                                      \
      (cl_program p, cl_uint n, const cl_device_id *d, const char *options,                        \
       void(CL_CALLBACK * notify)(cl_program, void *), void *user),                                \
      (p, n, d, options, notify, user))

#define POINTER(type, name, parameters, arguments) type(*name) parameters;
static struct {
    FUNCTIONS(POINTER)
} loader;

#define CALL(type, name, parameters, arguments)                                                    \
    type name parameters                                                                           \
    {                                                                                              \
        return loader.name arguments;                                                              \
    }
FUNCTIONS(CALL)

bool opencl_open(void)
{
#define FOUND(type, name, parameters, arguments) {#name, &loader.name},
    static const struct {
        const char *name;
        void *to;
    } functions[] = {FUNCTIONS(FOUND)};
    void *lib = dlopen("libOpenCL.so.1", RTLD_NOW);
    if (!lib)
        lib = dlopen("libOpenCL.so", RTLD_NOW);
    for (size_t i = 0; lib && i < sizeof functions / sizeof *functions; i++)
        if (!(*(void **)functions[i].to = dlsym(lib, functions[i].name)))
            return false;
    return lib != NULL;
}
