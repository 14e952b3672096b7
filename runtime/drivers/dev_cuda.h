/* NVIDIA's devices by the driver's own interface (dev_cuda.c): its functions, as far as they are
 * used, and what is known of an open device. The names of functions and numbers are those of
 * cuda.h, of which nothing is needed to build a program. */
#ifndef RT_DEV_CUDA_H
#define RT_DEV_CUDA_H

#include "runtime/drivers/dev_driver.h"

typedef int rt_cu_result;
typedef unsigned long long rt_cu_pointer;
typedef struct rt_cu_handle *rt_cu_ptr; /* contexts, streams, modules, functions, events */
typedef rt_dev_offer rt_cu_ipc;         /* CUipcMemHandle, CUipcEventHandle, given by value */

/* The functions of libcuda: name here, there, parameters. */
#define RT_CU_FUNCTIONS(X)                                                                         \
    X(init, "cuInit", (unsigned))                                                                  \
    X(error_name, "cuGetErrorName", (rt_cu_result, const char **))                                 \
    X(device_count, "cuDeviceGetCount", (int *))                                                   \
    X(device, "cuDeviceGet", (int *, int))                                                         \
    X(device_uuid, "cuDeviceGetUuid", (unsigned char *, int))                                      \
    X(retain, "cuDevicePrimaryCtxRetain", (rt_cu_ptr *, int))                                      \
    X(release, "cuDevicePrimaryCtxRelease_v2", (int))                                              \
    X(set_current, "cuCtxSetCurrent", (rt_cu_ptr))                                                 \
    X(stream_new, "cuStreamCreate", (rt_cu_ptr *, unsigned))                                       \
    X(stream_free, "cuStreamDestroy_v2", (rt_cu_ptr))                                              \
    X(stream_wait, "cuStreamSynchronize", (rt_cu_ptr))                                             \
    X(module_load, "cuModuleLoadDataEx", (rt_cu_ptr *, const void *, unsigned, int *, void **))    \
    X(module_free, "cuModuleUnload", (rt_cu_ptr))                                                  \
    X(function, "cuModuleGetFunction", (rt_cu_ptr *, rt_cu_ptr, const char *))                     \
    X(function_fact, "cuFuncGetAttribute", (int *, int, rt_cu_ptr))                                \
    X(function_may, "cuFuncSetAttribute", (rt_cu_ptr, int, int))                                   \
    X(device_fact, "cuDeviceGetAttribute", (int *, int, int))                                      \
    X(launch, "cuLaunchKernel",                                                                    \
      (rt_cu_ptr, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, rt_cu_ptr, \
       void **, void **))                                                                          \
    X(alloc, "cuMemAlloc_v2", (rt_cu_pointer *, size_t))                                           \
    X(free, "cuMemFree_v2", (rt_cu_pointer))                                                       \
    X(pinned, "cuMemAllocHost_v2", (void **, size_t))                                              \
    X(pinned_free, "cuMemFreeHost", (void *))                                                      \
    X(write, "cuMemcpyHtoDAsync_v2", (rt_cu_pointer, const void *, size_t, rt_cu_ptr))             \
    X(read, "cuMemcpyDtoHAsync_v2", (void *, rt_cu_pointer, size_t, rt_cu_ptr))                    \
    X(copy, "cuMemcpyDtoDAsync_v2", (rt_cu_pointer, rt_cu_pointer, size_t, rt_cu_ptr))             \
    X(fill8, "cuMemsetD8Async", (rt_cu_pointer, unsigned char, size_t, rt_cu_ptr))                 \
    X(fill16, "cuMemsetD16Async", (rt_cu_pointer, unsigned short, size_t, rt_cu_ptr))              \
    X(fill32, "cuMemsetD32Async", (rt_cu_pointer, unsigned, size_t, rt_cu_ptr))                    \
    X(ipc_offer, "cuIpcGetMemHandle", (rt_cu_ipc *, rt_cu_pointer))                                \
    X(ipc_take, "cuIpcOpenMemHandle_v2", (rt_cu_pointer *, rt_cu_ipc, unsigned))                   \
    X(ipc_leave, "cuIpcCloseMemHandle", (rt_cu_pointer))                                           \
    X(ipc_offer_event, "cuIpcGetEventHandle", (rt_cu_ipc *, rt_cu_ptr))                            \
    X(ipc_take_event, "cuIpcOpenEventHandle", (rt_cu_ptr *, rt_cu_ipc))                            \
    X(stream_await, "cuStreamWaitEvent", (rt_cu_ptr, rt_cu_ptr, unsigned))                         \
    X(event_new, "cuEventCreate", (rt_cu_ptr *, unsigned))                                         \
    X(event_free, "cuEventDestroy_v2", (rt_cu_ptr))                                                \
    X(event_record, "cuEventRecord", (rt_cu_ptr, rt_cu_ptr))                                       \
    X(event_ms, "cuEventElapsedTime", (float *, rt_cu_ptr, rt_cu_ptr))

typedef struct {
    void *library;
#define RT_CU_FIELD(name, symbol, params) rt_cu_result(*name) params;
    RT_CU_FUNCTIONS(RT_CU_FIELD)
#undef RT_CU_FIELD
} rt_cu_functions;

enum {                              /* of cuda.h */
       RT_CU_STREAM_APART = 1,      /* CU_STREAM_NON_BLOCKING */
       RT_CU_EVENT_SHARED = 6,      /* CU_EVENT_INTERPROCESS, CU_EVENT_DISABLE_TIMING */
       RT_CU_IPC_PEERS = 1,         /* CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS */
       RT_CU_RESERVED_SHARED = 111, /* CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK */
       RT_CU_MOST_GIVEN = 97,       /* CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN */
       RT_CU_MAX_GROUP = 0,         /* CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK */
       RT_CU_OWN_SHARED = 1,        /* CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES */
       RT_CU_MOST_SHARED = 8,       /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */
       RT_CU_ERROR_LOG = 5,         /* CU_JIT_ERROR_LOG_BUFFER, and its size the next */
       RT_CU_NO_MEMORY = 2,
       RT_CU_INVALID_VALUE = 1,
       RT_CU_INVALID_PTX = 218,
       RT_CU_NO_RESOURCES = 701
};

typedef struct {
    rt_dev base;
    rt_cu_functions f;
    int device;
    unsigned char uuid[RT_UUID];
    rt_cu_ptr context, stream;
    rt_dev_info info;
    rt_dev *compiler; /* OpenCL's, opened when something is compiled */
    bool profiling, idle;
    bool is_nvidia; /* programs are PTX */
    int64_t changes, memory;
    unsigned reserved;          /* local memory begins behind so many bytes */
    volatile uint32_t *fetched; /* memory that the device writes by itself */
    int64_t last, last_end,
        last_changes;  /* where what was fetched last is, and behind how many changes */
    bool host_pinned;  /* of rt_dev_host_new */
    bool late;         /* what is fetched may not be there yet */
    rt_cu_ptr counted; /* an event, NULL: none yet, at ... */
    int64_t clock;     /* ... so many nanoseconds from the first one */
} rt_cu_dev;

/* --- dev_cuda_calls.c --- */

/* Buffers are addresses; the lowest bit tells parts of others. */
enum { RT_CU_PART = 1 };
/* Byte off of the buffer, or part of one. */
RT_API rt_cu_pointer rt_cu_at(const rt_dev_buffer *b, int64_t off);
/* What a call has given. */
RT_API rt_dev_error rt_cu_error(const rt_cu_dev *d, rt_cu_result err, const char *call);
/* ... that enqueues something. */
RT_API rt_dev_error rt_cu_enqueued(rt_cu_dev *d, rt_cu_result err, const char *call);

/* --- dev_cuda_beside.c: what rt_driver says of other processes --- */

RT_API void *rt_cu_host_new(rt_dev *base, int64_t bytes);
RT_API void rt_cu_host_free(rt_dev *base, void *memory);
RT_API rt_dev_error rt_cu_offer_new(rt_dev *base, int64_t bytes, int64_t in_use,
                                    rt_dev_buffer **out, rt_dev_offer *offer);
RT_API rt_dev_error rt_cu_take(rt_dev *base, const rt_dev_offer *offer, rt_dev_buffer **out);
RT_API void rt_cu_leave(rt_dev *base, rt_dev_buffer *taken);
RT_API rt_dev_error rt_cu_mark_new(rt_dev *base, rt_dev_mark **out, rt_dev_offer *offer);
RT_API rt_dev_error rt_cu_mark_take(rt_dev *base, const rt_dev_offer *offer, rt_dev_mark **out);
RT_API rt_dev_error rt_cu_mark_set(rt_dev *base, rt_dev_mark *m);
RT_API rt_dev_error rt_cu_mark_await(rt_dev *base, rt_dev_mark *m);
RT_API void rt_cu_mark_free(rt_dev *base, rt_dev_mark *m);
RT_API uint64_t rt_cu_identity(const rt_dev *base);

#endif
