/* minifut devices: what OpenCL offers here. */
#include "autotune/autotune.h"
#include "base/diag.h"
#include "base/opencl.h"
#include "runtime/rank.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const OpenCL *cl;

typedef struct {
    cl_device_id id;
    rt_rank rank;
    char platform[256];
} Device;

static cl_ulong number(cl_device_id d, cl_device_info what)
{
    cl_ulong v = 0;
    cl->device_info(d, what, sizeof v, &v, NULL);
    return v;
}

static rt_rank rank_of(cl_device_id d)
{
    cl_ulong type = number(d, CL_DEVICE_TYPE);
    return (rt_rank){.gpu = (type & CL_DEVICE_TYPE_GPU) != 0,
                     .cpu = (type & CL_DEVICE_TYPE_CPU) != 0,
                     .units = (unsigned)number(d, CL_DEVICE_MAX_COMPUTE_UNITS),
                     .mhz = (unsigned)number(d, CL_DEVICE_MAX_CLOCK_FREQUENCY)};
}

static void print_device(cl_device_id d, const char *platform, bool taken)
{
    char name[256] = "", version[128] = "", driver[128] = "";
    cl->device_info(d, CL_DEVICE_NAME, sizeof name, name, NULL);
    cl->device_info(d, CL_DEVICE_VERSION, sizeof version, version, NULL);
    cl->device_info(d, CL_DRIVER_VERSION, sizeof driver, driver, NULL);
    cl_device_type type = number(d, CL_DEVICE_TYPE);
    printf("%s %s\n", taken ? "*" : " ", name);
    printf("    platform        %s\n", platform);
    printf("    type            %s\n", type & CL_DEVICE_TYPE_GPU   ? "GPU"
                                       : type & CL_DEVICE_TYPE_CPU ? "CPU"
                                                                   : "accelerator");
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
    if (!(cl = opencl_open())) {
        fprintf(stderr,
                "minifut: no OpenCL loader (libOpenCL.so.1) here; on Debian or Ubuntu: apt-get "
                "install ocl-icd-libopencl1 pocl-opencl-icd\n");
        return EXIT_USER;
    }
    cl_platform_id ps[RT_MAX_PLATFORMS];
    cl_uint n_p = 0;
    if (cl->platforms(RT_MAX_PLATFORMS, ps, &n_p) != CL_SUCCESS)
        n_p = 0;
    static Device ds[RT_MAX_PLATFORMS * RT_MAX_DEVICES];
    int n_d = 0, best = -1;
    for (cl_uint i = 0; i < n_p && i < RT_MAX_PLATFORMS; i++) {
        cl_device_id ids[RT_MAX_DEVICES];
        cl_uint k = 0;
        if (cl->devices(ps[i], CL_DEVICE_TYPE_ALL, RT_MAX_DEVICES, ids, &k) != CL_SUCCESS)
            continue;
        for (cl_uint j = 0; j < k && j < RT_MAX_DEVICES; j++) {
            ds[n_d] = (Device){.id = ids[j], .rank = rank_of(ids[j])};
            cl->platform_info(ps[i], CL_PLATFORM_NAME, sizeof ds[n_d].platform, ds[n_d].platform,
                              NULL);
            if (best < 0 || rt_rank_better(ds[n_d].rank, ds[best].rank))
                best = n_d;
            n_d++;
        }
    }
    for (int j = 0; j < n_d; j++)
        print_device(ds[j].id, ds[j].platform, j == best);
    if (n_d == 0) {
        fprintf(stderr,
                "minifut: OpenCL is installed, but offers no device; a CPU device comes with the "
                "package pocl-opencl-icd\n");
        return EXIT_USER;
    }
    printf("\n* is the device that a program takes without -d.\n");
    return 0;
}
