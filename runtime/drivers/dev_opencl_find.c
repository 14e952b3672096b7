/* The devices that OpenCL offers. Also part of the compiler, for `minifut devices`. */
#include "runtime/drivers/dev_driver.h"
#include "runtime/drivers/dev_opencl.h"

#include <stdlib.h>
#include <string.h>

enum { RT_MAX_PLATFORMS = 32, RT_MAX_DEVICES = 64 /* of a platform */ };

/* A number of the device, of the type that OpenCL gives this fact; `other` if it does not say. */
#define RT_CL_NUMBER(type, fact, other)                                                            \
    static int64_t rt_cl_##fact(rt_cl_device_id d)                                                 \
    {                                                                                              \
        type v = 0;                                                                                \
        if (rt_cl()->GetDeviceInfo(d, RT_CL_DEVICE_##fact, sizeof v, &v, NULL) != RT_CL_SUCCESS)   \
            v = (other);                                                                           \
        return (int64_t)v;                                                                         \
    }
RT_CL_NUMBER(rt_cl_bits, TYPE, 0)
RT_CL_NUMBER(rt_cl_uint, VENDOR_ID, 0)
RT_CL_NUMBER(rt_cl_uint, MAX_COMPUTE_UNITS, 1)
RT_CL_NUMBER(rt_cl_uint, MAX_CLOCK_FREQUENCY, 1)
RT_CL_NUMBER(size_t, MAX_WORK_GROUP_SIZE, 1)
RT_CL_NUMBER(rt_cl_ulong, GLOBAL_MEM_SIZE, 0)
RT_CL_NUMBER(rt_cl_ulong, LOCAL_MEM_SIZE, 0)
RT_CL_NUMBER(rt_cl_bits, DOUBLE_FP_CONFIG, 0)

/* What OpenCL leaves open: NVIDIA's groups never stop for others once they run, and on a CPU each
 * has a thread of the system. */
static bool rt_cl_tells(rt_cl_device_id d, rt_rank rank)
{
    enum { NVIDIA = 0x10de };
    char extensions[8192] = "";
    rt_cl()->GetDeviceInfo(d, RT_CL_DEVICE_EXTENSIONS, sizeof extensions - 1, extensions, NULL);
    bool goes_on = rank.cpu || rt_cl_VENDOR_ID(d) == NVIDIA;
    return goes_on && strstr(extensions, "cl_khr_int64_base_atomics");
}

/* NVIDIA's devices multiply tiles of 16 x 8 x 16, and copy to local memory beside that, from
 * compute capability 8 on, which OpenCL's extension cl_nv_device_attribute_query tells; those
 * of 9.0 have units for four warps, too. */
static int rt_cl_matrix_units(rt_cl_device_id d)
{
    enum { CAPABILITY_MAJOR = 0x4000, CAPABILITY_MINOR, LEAST = 8, WIDE = 9 };
    rt_cl_uint major = 0, minor = 1;
    if (rt_cl()->GetDeviceInfo(d, CAPABILITY_MAJOR, sizeof major, &major, NULL) != 0)
        return 0;
    rt_cl()->GetDeviceInfo(d, CAPABILITY_MINOR, sizeof minor, &minor, NULL);
    return major < LEAST ? 0 : major == WIDE && minor == 0 ? 2 : 1;
}

static void rt_cl_describe(rt_dev_info *i, rt_cl_platform_id p, rt_cl_device_id d)
{
    memset(i, 0, sizeof *i);
    i->platform = p;
    i->device = d;
    rt_cl()->GetPlatformInfo(p, RT_CL_PLATFORM_NAME, sizeof i->platform_name, i->platform_name,
                             NULL);
    rt_cl()->GetDeviceInfo(d, RT_CL_DEVICE_NAME, sizeof i->name, i->name, NULL);
    rt_cl()->GetDeviceInfo(d, RT_CL_DEVICE_VERSION, sizeof i->version, i->version, NULL);
    rt_cl()->GetDeviceInfo(d, RT_CL_DRIVER_VERSION, sizeof i->driver, i->driver, NULL);
    i->units = rt_cl_MAX_COMPUTE_UNITS(d);
    i->rank = (rt_rank){.gpu = (rt_cl_TYPE(d) & RT_CL_DEVICE_TYPE_GPU) != 0,
                        .cpu = (rt_cl_TYPE(d) & RT_CL_DEVICE_TYPE_CPU) != 0,
                        .units = (unsigned)i->units,
                        .mhz = (unsigned)rt_cl_MAX_CLOCK_FREQUENCY(d)};
    i->max_group = rt_cl_MAX_WORK_GROUP_SIZE(d);
    i->memory = rt_cl_GLOBAL_MEM_SIZE(d);
    i->local_memory = rt_cl_LOCAL_MEM_SIZE(d);
    /* OpenCL promises nothing. NVIDIA's groups stay where they are until they end, and warps take
     * turns; PoCL and Oclgrind run one group after the other. */
    i->groups_wait = strstr(i->platform_name, "NVIDIA") != NULL;
    i->parts_meet = i->hides_local = i->groups_wait;
    i->matrix_units = i->groups_wait ? rt_cl_matrix_units(d) : 0;
    i->has_f64 = rt_cl_DOUBLE_FP_CONFIG(d) != 0;
    i->tells = rt_cl_tells(d, i->rank);
    /* A program of PoCL's or Oclgrind's costs a quarter of a second before its first kernel, and
     * they compile kernels when these are launched; other drivers compile all kernels of a program.
     */
    i->own_cache = strcmp(i->platform_name, "Portable Computing Language") == 0;
    i->long_header =
        i->own_cache && atoi(i->driver) >= 3; /* before, types were declared there, too */
    bool oclgrind = strcmp(i->platform_name, "Oclgrind") == 0;
    i->costly_programs = i->own_cache || oclgrind;
    i->parts = !oclgrind; /* it does not know what was written to them */
}

/* Adds a platform's devices to *all. */
static void rt_cl_add_devices(rt_dev_info **all, int *n, rt_cl_platform_id p)
{
    rt_cl_device_id devices[RT_MAX_DEVICES];
    rt_cl_uint found = 0;
    if (rt_cl()->GetDeviceIDs(p, RT_CL_DEVICE_TYPE_ALL, RT_MAX_DEVICES, devices, &found) !=
        RT_CL_SUCCESS)
        return;
    found = found < RT_MAX_DEVICES ? found : RT_MAX_DEVICES;
    rt_dev_info *more = realloc(*all, ((size_t)*n + found + 1) * sizeof *more);
    for (rt_cl_uint d = 0; more && d < found; d++)
        rt_cl_describe(&more[(*n)++], p, devices[d]);
    *all = more ? more : *all;
}

RT_API rt_dev_info *rt_cl_find(int *n)
{
    rt_cl_platform_id platforms[RT_MAX_PLATFORMS];
    rt_cl_uint found = 0;
    rt_dev_info *all = NULL;
    *n = 0;
    if (!rt_cl() || rt_cl()->GetPlatformIDs(RT_MAX_PLATFORMS, platforms, &found) != RT_CL_SUCCESS)
        return NULL;
    for (rt_cl_uint p = 0; p < found && p < RT_MAX_PLATFORMS; p++)
        rt_cl_add_devices(&all, n, platforms[p]);
    return all;
}
