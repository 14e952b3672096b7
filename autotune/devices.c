/* minifut devices: what OpenCL offers here. The loader is opened at run time, so that the compiler
 * itself runs on machines without OpenCL. */
#include "autotune/autotune.h"
#include "base/diag.h"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef cl_int PlatformIds(cl_uint, cl_platform_id *, cl_uint *);
typedef cl_int PlatformInfo(cl_platform_id, cl_platform_info, size_t, void *, size_t *);
typedef cl_int DeviceIds(cl_platform_id, cl_device_type, cl_uint, cl_device_id *, cl_uint *);
typedef cl_int DeviceInfo(cl_device_id, cl_device_info, size_t, void *, size_t *);

static struct {
    PlatformIds *platforms;
    PlatformInfo *platform_info;
    DeviceIds *devices;
    DeviceInfo *device_info;
} cl;

enum { MAX_PLATFORMS = 16, MAX_DEVICES = 64 };

static bool open_loader(void)
{
    void *lib = dlopen("libOpenCL.so.1", RTLD_NOW);
    if (!lib)
        lib = dlopen("libOpenCL.so", RTLD_NOW);
    if (!lib)
        return false;
    *(void **)&cl.platforms = dlsym(lib, "clGetPlatformIDs");
    *(void **)&cl.platform_info = dlsym(lib, "clGetPlatformInfo");
    *(void **)&cl.devices = dlsym(lib, "clGetDeviceIDs");
    *(void **)&cl.device_info = dlsym(lib, "clGetDeviceInfo");
    return cl.platforms && cl.platform_info && cl.devices && cl.device_info;
}

static cl_ulong number(cl_device_id d, cl_device_info what)
{
    cl_ulong v = 0;
    cl.device_info(d, what, sizeof v, &v, NULL);
    return v;
}

static void print_device(cl_device_id d, const char *platform, bool taken)
{
    char name[256] = "", version[128] = "", driver[128] = "";
    cl.device_info(d, CL_DEVICE_NAME, sizeof name, name, NULL);
    cl.device_info(d, CL_DEVICE_VERSION, sizeof version, version, NULL);
    cl.device_info(d, CL_DRIVER_VERSION, sizeof driver, driver, NULL);
    cl_device_type type = number(d, CL_DEVICE_TYPE);
    printf("%s %s\n", taken ? "*" : " ", name);
    printf("    platform        %s\n", platform);
    printf("    type            %s\n", type & CL_DEVICE_TYPE_GPU   ? "GPU"
                                       : type & CL_DEVICE_TYPE_CPU ? "CPU"
                                                                   : "other");
    printf("    version         %s, driver %s\n", version, driver);
    printf("    compute units   %u\n", (unsigned)number(d, CL_DEVICE_MAX_COMPUTE_UNITS));
    printf("    work-group      up to %zu work-items\n",
           (size_t)number(d, CL_DEVICE_MAX_WORK_GROUP_SIZE));
    printf("    local memory    %llu KiB\n",
           (unsigned long long)number(d, CL_DEVICE_LOCAL_MEM_SIZE) / 1024);
    printf("    global memory   %.1f GiB\n",
           (double)number(d, CL_DEVICE_GLOBAL_MEM_SIZE) / (1 << 30));
    printf("    f64             %s\n", number(d, CL_DEVICE_DOUBLE_FP_CONFIG) ? "yes" : "no");
}

int devices_main(int argc, char **argv)
{
    if (argc == 1 && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0)) {
        puts("usage: minifut devices\n\n"
             "Lists OpenCL's platforms and devices; the one that programs take without -d has a "
             "star.");
        return 0;
    }
    if (argc > 0) {
        fprintf(stderr, "minifut devices: takes no arguments, got '%s'\n", argv[0]);
        return EXIT_USAGE;
    }
    if (!open_loader()) {
        fprintf(stderr,
                "minifut: no OpenCL loader (libOpenCL.so.1) here; on Debian or Ubuntu: apt-get "
                "install ocl-icd-libopencl1 pocl-opencl-icd\n");
        return EXIT_USER;
    }
    cl_platform_id ps[MAX_PLATFORMS];
    cl_uint n_p = 0;
    cl.platforms(MAX_PLATFORMS, ps, &n_p);
    static cl_device_id ds[MAX_DEVICES];
    static char names[MAX_DEVICES][256];
    cl_uint n_d = 0;
    int best = -1;
    for (cl_uint i = 0; i < n_p && i < MAX_PLATFORMS; i++) {
        cl_uint k = 0;
        cl.devices(ps[i], CL_DEVICE_TYPE_ALL, MAX_DEVICES - n_d, ds + n_d, &k);
        for (cl_uint j = n_d; j < n_d + k; j++)
            cl.platform_info(ps[i], CL_PLATFORM_NAME, sizeof names[j], names[j], NULL);
        n_d += k;
    }
    /* As a program without -d: the GPU with the most compute units, else the first device. */
    for (cl_uint j = 0; j < n_d; j++) {
        bool gpu = number(ds[j], CL_DEVICE_TYPE) & CL_DEVICE_TYPE_GPU;
        bool best_gpu = best >= 0 && number(ds[best], CL_DEVICE_TYPE) & CL_DEVICE_TYPE_GPU;
        if (best < 0 || (gpu && !best_gpu) ||
            (gpu && number(ds[j], CL_DEVICE_MAX_COMPUTE_UNITS) >
                        number(ds[best], CL_DEVICE_MAX_COMPUTE_UNITS)))
            best = (int)j;
    }
    for (cl_uint j = 0; j < n_d; j++)
        print_device(ds[j], names[j], (int)j == best);
    if (n_d == 0) {
        fprintf(stderr,
                "minifut: OpenCL is installed, but offers no device; a CPU device comes with the "
                "package pocl-opencl-icd\n");
        return EXIT_USER;
    }
    printf("\n* is the device that a program takes without -d.\n");
    return 0;
}
