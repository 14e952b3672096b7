/* libcuda.so.1 for tests on a machine without NVIDIA's: the functions that
 * runtime/drivers/dev_cuda.c and the package for Python want, by OpenCL, on a device whose memory
 * is the host's. PTX is OpenCL's binary here, addresses are of shared virtual memory, and nothing
 * runs beside the host. */
#define CL_TARGET_OPENCL_VERSION 200
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OK, INVALID_VALUE, NO_MEMORY, RESERVED = 1024, MOST_ARGS = 256 };
typedef unsigned long long Address;

static cl_device_id device;
static cl_context context;
static cl_command_queue queue;
static _Thread_local void *current; /* what there is without one, nobody may use */

typedef struct {
    cl_kernel kernel;
    cl_ulong own; /* local memory apart from arguments */
    unsigned n;
    enum { NUMBER, LOCAL, GLOBAL } space[MOST_ARGS];
} Function;

int cuInit(unsigned flags)
{
    cl_platform_id platform;
    cl_int err = clGetPlatformIDs(1, &platform, NULL);
    (void)flags;
    if (err || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return NO_MEMORY;
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &err);
    queue = err ? NULL : clCreateCommandQueue(context, device, 0, &err);
    return err ? NO_MEMORY : OK;
}

int cuGetErrorName(int err, const char **name)
{
    *name = err == NO_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_INVALID_VALUE";
    return OK;
}

int cuDeviceGetCount(int *n)
{
    *n = 1;
    return OK;
}

int cuDeviceGet(int *d, int i)
{
    *d = i;
    return OK;
}

int cuDeviceGetUuid(unsigned char *uuid, int d)
{
    (void)d;
    return clGetDeviceInfo(device, 0x106a, 16, uuid, NULL) == CL_SUCCESS
               ? OK
               : (memset(uuid, 0, 16), OK);
}

int cuDeviceGetAttribute(int *value, int what, int d)
{
    (void)d;
    *value = what == 111 ? RESERVED : 49152;
    return OK;
}

int cuDevicePrimaryCtxRetain(void **c, int d)
{
    (void)d;
    *c = context;
    return OK;
}

int cuDevicePrimaryCtxRelease_v2(int d)
{
    (void)d;
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return OK;
}

int cuCtxSetCurrent(void *c)
{
    current = c;
    return OK;
}

/* Contexts that were pushed: the only ones that are waited for. */
static int pushed;

int cuCtxPushCurrent_v2(void *c)
{
    pushed++;
    return c == context ? OK : INVALID_VALUE;
}

int cuCtxPopCurrent_v2(void **c)
{
    pushed--;
    *c = context;
    return OK;
}

int cuCtxSynchronize(void)
{
    return pushed > 0 && clFinish(queue) == CL_SUCCESS ? OK : INVALID_VALUE;
}

/* Of addresses their context and the number of their device alone. */
int cuPointerGetAttribute(void *value, int what, Address p)
{
    (void)p;
    if (what == 1)
        *(void **)value = context;
    else
        *(int *)value = 0;
    return what == 1 || what == 9 ? OK : INVALID_VALUE;
}

int cuStreamCreate(void **s, unsigned flags)
{
    (void)flags;
    *s = queue;
    return OK;
}

int cuStreamDestroy_v2(void *s)
{
    (void)s;
    return OK;
}

int cuStreamSynchronize(void *s)
{
    return clFinish(s) == CL_SUCCESS ? OK : INVALID_VALUE;
}

/* --- Programs --- */

int cuModuleLoadDataEx(void **m, const void *data, unsigned n, int *options, void **values)
{
    const unsigned char *binary = data;
    size_t size = malloc_usable_size((void *)(uintptr_t)data);
    cl_int err;
    (void)n, (void)options, (void)values;
    cl_program p = clCreateProgramWithBinary(context, 1, &device, &size, &binary, NULL, &err);
    if (!err)
        err = clBuildProgram(p, 1, &device, "", NULL, NULL);
    *m = p;
    return err ? INVALID_VALUE : OK;
}

int cuModuleUnload(void *m)
{
    return clReleaseProgram(m) == CL_SUCCESS ? OK : INVALID_VALUE;
}

/* Binaries do not say, but only local memory can be given without a value in whatever size, and
 * only a buffer in that of a pointer. */
static int space_of(cl_kernel k, cl_uint i)
{
    if (clSetKernelArg(k, i, 16, NULL) == CL_SUCCESS)
        return LOCAL;
    return clSetKernelArg(k, i, sizeof(cl_mem), NULL) == CL_SUCCESS ? GLOBAL : NUMBER;
}

int cuModuleGetFunction(void **out, void *m, const char *name)
{
    cl_int err;
    Function *f = calloc(1, sizeof *f);
    cl_uint n = 0;
    f->kernel = clCreateKernel(m, name, &err);
    *out = f;
    if (err || clGetKernelInfo(f->kernel, CL_KERNEL_NUM_ARGS, sizeof n, &n, NULL) || n > MOST_ARGS)
        return INVALID_VALUE;
    f->n = n;
    clGetKernelWorkGroupInfo(f->kernel, device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof f->own, &f->own,
                             NULL);
    for (cl_uint i = 0; i < n; i++)
        f->space[i] = space_of(f->kernel, i);
    return OK;
}

int cuFuncGetAttribute(int *value, int what, void *f)
{
    *value = what == 0 ? 1024 : what == 1 ? (int)((Function *)f)->own : 0;
    return OK;
}

int cuFuncSetAttribute(void *f, int what, int value)
{
    (void)f, (void)what, (void)value;
    return OK;
}

/* A number of whatever size the kernel wants. */
static cl_int set_number(cl_kernel k, unsigned i, const void *value)
{
    static const size_t sizes[] = {8, 4, 2, 1};
    cl_int err = CL_INVALID_ARG_SIZE;
    for (int s = 0; s < 4 && err; s++)
        err = clSetKernelArg(k, i, sizes[s], value);
    return err;
}

/* Where the local memory of argument i ends: where the next one begins, or that of the group. */
static uint64_t local_end(const Function *f, unsigned i, void **args, uint64_t all)
{
    for (unsigned k = i + 1; k < f->n; k++)
        if (f->space[k] == LOCAL)
            return *(uint64_t *)args[k];
    return all;
}

int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned x, unsigned y,
                   unsigned z, unsigned local, void *s, void **args, void **extra)
{
    const Function *f = function;
    const size_t size[3] = {x, y, z}, global[3] = {(size_t)gx * x, (size_t)gy * y, (size_t)gz * z};
    const uint64_t first = RESERVED + f->own;
    cl_int err = CL_SUCCESS;
    (void)extra;
    for (unsigned i = 0; i < f->n && !err; i++) {
        uint64_t value = f->space[i] == NUMBER ? 0 : *(uint64_t *)args[i];
        if (f->space[i] == LOCAL) {
            uint64_t end = local_end(f, i, args, first + local);
            if (value < first || value % 16 || end <= value)
                return INVALID_VALUE;
            err = clSetKernelArg(f->kernel, i, end - value, NULL);
        } else if (f->space[i] == NUMBER) {
            err = set_number(f->kernel, i, args[i]);
        } else {
            err = clSetKernelArgSVMPointer(f->kernel, i, (void *)(uintptr_t)value);
        }
    }
    if (!err)
        err = clEnqueueNDRangeKernel(s, f->kernel, 3, NULL, global, size, 0, NULL, NULL);
    return err ? INVALID_VALUE : OK;
}

/* --- Memory --- */

static void *at(Address p)
{
    clFinish(queue);
    return (void *)(uintptr_t)p;
}

int cuMemAlloc_v2(Address *p, size_t n)
{
    if (!current)
        return INVALID_VALUE;
    *p = (Address)(uintptr_t)clSVMAlloc(context, CL_MEM_READ_WRITE, n, 128);
    return *p ? OK : NO_MEMORY;
}

int cuMemFree_v2(Address p)
{
    clSVMFree(context, at(p));
    return OK;
}

int cuMemAllocHost_v2(void **p, size_t n)
{
    *p = malloc(n);
    return *p ? OK : NO_MEMORY;
}

int cuMemFreeHost(void *p)
{
    free(p);
    return OK;
}

int cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t n, void *s)
{
    (void)s;
    memcpy(at(to), from, n);
    return OK;
}

int cuMemcpyDtoHAsync_v2(void *to, Address from, size_t n, void *s)
{
    (void)s;
    memcpy(to, at(from), n);
    return OK;
}

int cuMemcpyDtoDAsync_v2(Address to, Address from, size_t n, void *s)
{
    (void)s;
    memmove(at(to), at(from), n);
    return OK;
}

/* There are no other processes. */
int cuIpcGetMemHandle(void *handle, Address p)
{
    (void)handle, (void)p;
    return INVALID_VALUE;
}

typedef struct {
    char bytes[64];
} Ipc;

int cuIpcOpenMemHandle_v2(Address *p, Ipc handle, unsigned flags)
{
    (void)p, (void)handle, (void)flags;
    return INVALID_VALUE;
}

int cuIpcCloseMemHandle(Address p)
{
    (void)p;
    return INVALID_VALUE;
}

int cuIpcGetEventHandle(void *handle, void *event)
{
    (void)handle, (void)event;
    return INVALID_VALUE;
}

int cuIpcOpenEventHandle(void **event, Ipc handle)
{
    (void)event, (void)handle;
    return INVALID_VALUE;
}

int cuStreamWaitEvent(void *s, void *event, unsigned flags)
{
    (void)s, (void)event, (void)flags;
    return INVALID_VALUE;
}

int cuMemsetD8Async(Address to, unsigned char v, size_t n, void *s)
{
    (void)s;
    memset(at(to), v, n);
    return OK;
}

int cuMemsetD16Async(Address to, unsigned short v, size_t n, void *s)
{
    unsigned short *p = at(to);
    (void)s;
    for (size_t i = 0; i < n; i++)
        p[i] = v;
    return OK;
}

int cuMemsetD32Async(Address to, unsigned v, size_t n, void *s)
{
    unsigned *p = at(to);
    (void)s;
    for (size_t i = 0; i < n; i++)
        p[i] = v;
    return OK;
}

/* --- Events --- */

int cuEventCreate(void **e, unsigned flags)
{
    (void)flags;
    *e = malloc(sizeof(double));
    return OK;
}

int cuEventDestroy_v2(void *e)
{
    free(e);
    return OK;
}

int cuEventRecord(void *e, void *s)
{
    struct timespec now;
    clFinish(s);
    timespec_get(&now, TIME_UTC);
    *(double *)e = (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
    return OK;
}

int cuEventElapsedTime(float *ms, void *a, void *b)
{
    *ms = (float)(*(double *)b - *(double *)a);
    return OK;
}
