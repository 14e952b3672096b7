/* OpenCL, as far as it is used: of CL/cl.h, what stands here under its names with RT_ or rt_ in
 * front, so that both may be in one text. Programs have their driver wherever they are compiled,
 * and look for OpenCL where they run. Also part of the compiler. */
#ifndef RT_DEV_OPENCL_H
#define RT_DEV_OPENCL_H

#include "common/values.h"

#include <stddef.h>
#include <stdint.h>

/* --- Types: those of cl.h for C --- */

typedef int32_t rt_cl_int;
typedef uint32_t rt_cl_uint, rt_cl_bool; /* and which fact is asked for */
typedef uint64_t rt_cl_ulong, rt_cl_bits;
typedef struct _cl_platform_id *rt_cl_platform_id;
typedef struct _cl_device_id *rt_cl_device_id;
typedef struct _cl_context *rt_cl_context;
typedef struct _cl_command_queue *rt_cl_command_queue;
typedef struct _cl_program *rt_cl_program;
typedef struct _cl_kernel *rt_cl_kernel;
typedef struct _cl_mem *rt_cl_mem;
typedef struct _cl_event *rt_cl_event;

/* cl_buffer_region */
typedef struct {
    size_t origin, size;
} rt_cl_buffer_region;

/* --- Numbers --- */

#define RT_CL_ERRORS(X)                                                                            \
    X(DEVICE_NOT_FOUND, -1)                                                                        \
    X(DEVICE_NOT_AVAILABLE, -2)                                                                    \
    X(COMPILER_NOT_AVAILABLE, -3)                                                                  \
    X(MEM_OBJECT_ALLOCATION_FAILURE, -4)                                                           \
    X(OUT_OF_RESOURCES, -5)                                                                        \
    X(OUT_OF_HOST_MEMORY, -6)                                                                      \
    X(PROFILING_INFO_NOT_AVAILABLE, -7)                                                            \
    X(MEM_COPY_OVERLAP, -8)                                                                        \
    X(BUILD_PROGRAM_FAILURE, -11)                                                                  \
    X(MISALIGNED_SUB_BUFFER_OFFSET, -13)                                                           \
    X(EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, -14)                                              \
    X(INVALID_VALUE, -30)                                                                          \
    X(INVALID_DEVICE, -33)                                                                         \
    X(INVALID_CONTEXT, -34)                                                                        \
    X(INVALID_QUEUE_PROPERTIES, -35)                                                               \
    X(INVALID_COMMAND_QUEUE, -36)                                                                  \
    X(INVALID_MEM_OBJECT, -38)                                                                     \
    X(INVALID_BINARY, -42)                                                                         \
    X(INVALID_BUILD_OPTIONS, -43)                                                                  \
    X(INVALID_PROGRAM, -44)                                                                        \
    X(INVALID_PROGRAM_EXECUTABLE, -45)                                                             \
    X(INVALID_KERNEL_NAME, -46)                                                                    \
    X(INVALID_KERNEL, -48)                                                                         \
    X(INVALID_ARG_INDEX, -49)                                                                      \
    X(INVALID_ARG_VALUE, -50)                                                                      \
    X(INVALID_ARG_SIZE, -51)                                                                       \
    X(INVALID_KERNEL_ARGS, -52)                                                                    \
    X(INVALID_WORK_DIMENSION, -53)                                                                 \
    X(INVALID_WORK_GROUP_SIZE, -54)                                                                \
    X(INVALID_WORK_ITEM_SIZE, -55)                                                                 \
    X(INVALID_GLOBAL_OFFSET, -56)                                                                  \
    X(INVALID_EVENT, -58)                                                                          \
    X(INVALID_OPERATION, -59)                                                                      \
    X(INVALID_BUFFER_SIZE, -61)                                                                    \
    X(INVALID_GLOBAL_WORK_SIZE, -63)                                                               \
    X(PLATFORM_NOT_FOUND_KHR, -1001)

#define RT_CL_NUMBERS(X)                                                                           \
    X(PLATFORM_NAME, 0x0902)                                                                       \
    X(DEVICE_TYPE, 0x1000)                                                                         \
    X(DEVICE_TYPE_CPU, 1 << 1)                                                                     \
    X(DEVICE_TYPE_GPU, 1 << 2)                                                                     \
    X(DEVICE_VENDOR_ID, 0x1001)                                                                    \
    X(DEVICE_MAX_COMPUTE_UNITS, 0x1002)                                                            \
    X(DEVICE_MAX_WORK_GROUP_SIZE, 0x1004)                                                          \
    X(DEVICE_MAX_CLOCK_FREQUENCY, 0x100c)                                                          \
    X(DEVICE_GLOBAL_MEM_SIZE, 0x101f)                                                              \
    X(DEVICE_LOCAL_MEM_SIZE, 0x1023)                                                               \
    X(DEVICE_NAME, 0x102b)                                                                         \
    X(DRIVER_VERSION, 0x102d)                                                                      \
    X(DEVICE_VERSION, 0x102f)                                                                      \
    X(DEVICE_EXTENSIONS, 0x1030)                                                                   \
    X(DEVICE_DOUBLE_FP_CONFIG, 0x1032)                                                             \
    X(DEVICE_UUID_KHR, 0x106a)                                                                     \
    X(CONTEXT_PLATFORM, 0x1084)                                                                    \
    X(QUEUE_CONTEXT, 0x1090)                                                                       \
    X(QUEUE_DEVICE, 0x1091)                                                                        \
    X(QUEUE_PROPERTIES, 0x1093)                                                                    \
    X(QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 1 << 0)                                                 \
    X(QUEUE_PROFILING_ENABLE, 1 << 1)                                                              \
    X(MEM_READ_WRITE, 1 << 0)                                                                      \
    X(MEM_WRITE_ONLY, 1 << 1)                                                                      \
    X(MEM_READ_ONLY, 1 << 2)                                                                       \
    X(MEM_USE_HOST_PTR, 1 << 3)                                                                    \
    X(MEM_ALLOC_HOST_PTR, 1 << 4)                                                                  \
    X(MEM_FLAGS, 0x1101)                                                                           \
    X(MEM_SIZE, 0x1102)                                                                            \
    X(MEM_HOST_PTR, 0x1103)                                                                        \
    X(MAP_READ, 1 << 0)                                                                            \
    X(MAP_WRITE, 1 << 1)                                                                           \
    X(PROGRAM_BINARY_SIZES, 0x1165)                                                                \
    X(PROGRAM_BINARIES, 0x1166)                                                                    \
    X(PROGRAM_BUILD_LOG, 0x1183)                                                                   \
    X(KERNEL_WORK_GROUP_SIZE, 0x11b0)                                                              \
    X(KERNEL_LOCAL_MEM_SIZE, 0x11b2)                                                               \
    X(BUFFER_CREATE_TYPE_REGION, 0x1220)                                                           \
    X(PROFILING_COMMAND_START, 0x1282)                                                             \
    X(PROFILING_COMMAND_END, 0x1283)

enum {
    RT_CL_SUCCESS,
#define RT_CL_ROW(name, value) RT_CL_##name = (value),
    RT_CL_ERRORS(RT_CL_ROW) RT_CL_NUMBERS(RT_CL_ROW)
#undef RT_CL_ROW
};
#define RT_CL_DEVICE_TYPE_ALL 0xffffffffu

/* --- Functions --- */

/* Result, name without "cl", parameters. */
#define RT_CL_FUNCTIONS(X)                                                                         \
    X(rt_cl_int, GetPlatformIDs, (rt_cl_uint, rt_cl_platform_id *, rt_cl_uint *))                  \
    X(rt_cl_int, GetPlatformInfo, (rt_cl_platform_id, rt_cl_uint, size_t, void *, size_t *))       \
    X(rt_cl_int, GetDeviceIDs,                                                                     \
      (rt_cl_platform_id, rt_cl_bits, rt_cl_uint, rt_cl_device_id *, rt_cl_uint *))                \
    X(rt_cl_int, GetDeviceInfo, (rt_cl_device_id, rt_cl_uint, size_t, void *, size_t *))           \
    X(rt_cl_context, CreateContext,                                                                \
      (const intptr_t *, rt_cl_uint, const rt_cl_device_id *,                                      \
       void (*)(const char *, const void *, size_t, void *), void *, rt_cl_int *))                 \
    X(rt_cl_int, RetainContext, (rt_cl_context))                                                   \
    X(rt_cl_int, ReleaseContext, (rt_cl_context))                                                  \
    X(rt_cl_command_queue, CreateCommandQueue,                                                     \
      (rt_cl_context, rt_cl_device_id, rt_cl_bits, rt_cl_int *))                                   \
    X(rt_cl_int, RetainCommandQueue, (rt_cl_command_queue))                                        \
    X(rt_cl_int, ReleaseCommandQueue, (rt_cl_command_queue))                                       \
    X(rt_cl_int, GetCommandQueueInfo, (rt_cl_command_queue, rt_cl_uint, size_t, void *, size_t *)) \
    X(rt_cl_int, Finish, (rt_cl_command_queue))                                                    \
    X(rt_cl_int, Flush, (rt_cl_command_queue))                                                     \
    X(rt_cl_program, CreateProgramWithSource,                                                      \
      (rt_cl_context, rt_cl_uint, const char **, const size_t *, rt_cl_int *))                     \
    X(rt_cl_program, CreateProgramWithBinary,                                                      \
      (rt_cl_context, rt_cl_uint, const rt_cl_device_id *, const size_t *, const unsigned char **, \
       rt_cl_int *, rt_cl_int *))                                                                  \
    X(rt_cl_int, BuildProgram,                                                                     \
      (rt_cl_program, rt_cl_uint, const rt_cl_device_id *, const char *,                           \
       void (*)(rt_cl_program, void *), void *))                                                   \
    X(rt_cl_int, GetProgramInfo, (rt_cl_program, rt_cl_uint, size_t, void *, size_t *))            \
    X(rt_cl_int, GetProgramBuildInfo,                                                              \
      (rt_cl_program, rt_cl_device_id, rt_cl_uint, size_t, void *, size_t *))                      \
    X(rt_cl_int, RetainProgram, (rt_cl_program))                                                   \
    X(rt_cl_int, ReleaseProgram, (rt_cl_program))                                                  \
    X(rt_cl_kernel, CreateKernel, (rt_cl_program, const char *, rt_cl_int *))                      \
    X(rt_cl_int, ReleaseKernel, (rt_cl_kernel))                                                    \
    X(rt_cl_int, GetKernelWorkGroupInfo,                                                           \
      (rt_cl_kernel, rt_cl_device_id, rt_cl_uint, size_t, void *, size_t *))                       \
    X(rt_cl_int, SetKernelArg, (rt_cl_kernel, rt_cl_uint, size_t, const void *))                   \
    X(rt_cl_int, EnqueueNDRangeKernel,                                                             \
      (rt_cl_command_queue, rt_cl_kernel, rt_cl_uint, const size_t *, const size_t *,              \
       const size_t *, rt_cl_uint, const rt_cl_event *, rt_cl_event *))                            \
    X(rt_cl_mem, CreateBuffer, (rt_cl_context, rt_cl_bits, size_t, void *, rt_cl_int *))           \
    X(rt_cl_mem, CreateSubBuffer, (rt_cl_mem, rt_cl_bits, rt_cl_uint, const void *, rt_cl_int *))  \
    X(rt_cl_int, GetMemObjectInfo, (rt_cl_mem, rt_cl_uint, size_t, void *, size_t *))              \
    X(rt_cl_int, RetainMemObject, (rt_cl_mem))                                                     \
    X(rt_cl_int, ReleaseMemObject, (rt_cl_mem))                                                    \
    X(rt_cl_int, EnqueueReadBuffer,                                                                \
      (rt_cl_command_queue, rt_cl_mem, rt_cl_bool, size_t, size_t, void *, rt_cl_uint,             \
       const rt_cl_event *, rt_cl_event *))                                                        \
    X(rt_cl_int, EnqueueWriteBuffer,                                                               \
      (rt_cl_command_queue, rt_cl_mem, rt_cl_bool, size_t, size_t, const void *, rt_cl_uint,       \
       const rt_cl_event *, rt_cl_event *))                                                        \
    X(rt_cl_int, EnqueueCopyBuffer,                                                                \
      (rt_cl_command_queue, rt_cl_mem, rt_cl_mem, size_t, size_t, size_t, rt_cl_uint,              \
       const rt_cl_event *, rt_cl_event *))                                                        \
    X(rt_cl_int, EnqueueFillBuffer,                                                                \
      (rt_cl_command_queue, rt_cl_mem, const void *, size_t, size_t, size_t, rt_cl_uint,           \
       const rt_cl_event *, rt_cl_event *))                                                        \
    X(void *, EnqueueMapBuffer,                                                                    \
      (rt_cl_command_queue, rt_cl_mem, rt_cl_bool, rt_cl_bits, size_t, size_t, rt_cl_uint,         \
       const rt_cl_event *, rt_cl_event *, rt_cl_int *))                                           \
    X(rt_cl_int, EnqueueUnmapMemObject,                                                            \
      (rt_cl_command_queue, rt_cl_mem, void *, rt_cl_uint, const rt_cl_event *, rt_cl_event *))    \
    X(rt_cl_int, GetEventProfilingInfo, (rt_cl_event, rt_cl_uint, size_t, void *, size_t *))       \
    X(rt_cl_int, ReleaseEvent, (rt_cl_event))

typedef struct {
#define RT_CL_FIELD(result, name, params) result(*name) params;
    RT_CL_FUNCTIONS(RT_CL_FIELD)
#undef RT_CL_FIELD
} rt_cl_functions;

/* --- dev_opencl_load.c --- */

/* OpenCL's functions, looked for when they are first asked for; NULL: there is no OpenCL here. Any
 * thread may ask. MINIFUT_OPENCL=FILE: those of that library, or none. */
RT_API const rt_cl_functions *rt_cl(void);

#endif
