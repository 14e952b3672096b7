/* dev.h for OpenCL 1.2: buffers, programs, kernels and events are the driver's own objects. */
#include "runtime/drivers/dev_opencl.h"
#include "runtime/drivers/dev_driver.h"
#include "runtime/texts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    rt_dev base;
    rt_cl_device_id device;
    rt_cl_context context;
    rt_cl_command_queue queue;
    int64_t memory;
    bool idle; /* nothing was enqueued since the queue was last waited for */
    int64_t changes;
    bool long_header, wide_units; /* see rt_dev_info */
    /* See rt_dev_fetch. */
    bool looks; /* fetched words are looked at until they come */
    bool late;  /* some may not be there yet, */
    bool kept;  /* ... and the driver may not have begun with that */
    rt_cl_mem pinned;
    rt_cl_mem host; /* see rt_dev_host_new; NULL: that is memory as all other */
    volatile uint32_t *fetched;
    int64_t last, last_end,
        last_changes; /* where what was fetched last is, and behind how many changes */
} rt_cl_dev;

/* --- Errors --- */

static const char *rt_cl_name(rt_cl_int err)
{
#define RT_CL_NAMED(name, code) {code, "CL_" #name},
    static const struct {
        rt_cl_int code;
        const char *name;
    } names[] = {RT_CL_ERRORS(RT_CL_NAMED)};
#undef RT_CL_NAMED
    static char other[32];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].code == err)
            return names[i].name;
    snprintf(other, sizeof other, "error %d", err);
    return other;
}

/* Those of shape and memory mean "not like this" rather than "something is wrong". */
static rt_dev_error rt_cl_error(rt_cl_int err, const char *call)
{
    static const rt_cl_int refusals[] = {
        RT_CL_OUT_OF_RESOURCES, RT_CL_INVALID_WORK_GROUP_SIZE, RT_CL_INVALID_WORK_ITEM_SIZE,
        RT_CL_MEM_OBJECT_ALLOCATION_FAILURE, RT_CL_OUT_OF_HOST_MEMORY};
    if (err == RT_CL_SUCCESS)
        return (rt_dev_error){RT_DEV_OK, call, ""};
    rt_dev_error e = {RT_DEV_FAILED, call, rt_cl_name(err)};
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        if (refusals[i] == err)
            e.status = RT_DEV_REFUSED;
    return e;
}

/* The outcome of waiting for all commands. */
static rt_dev_error rt_cl_waited(rt_cl_dev *d, rt_cl_int err, const char *call)
{
    d->idle = err == RT_CL_SUCCESS;
    d->late = d->late && !d->idle;
    return rt_cl_error(err, call);
}

/* The outcome of enqueuing a command that changes memory. */
static rt_dev_error rt_cl_enqueued(rt_cl_dev *d, rt_cl_int err, const char *call)
{
    d->idle = false;
    d->changes++;
    return rt_cl_error(err, call);
}

/* --- The device --- */

static const rt_driver rt_cl_driver;
static void rt_cl_unpinned(rt_cl_dev *d, void *memory, rt_cl_mem of);

/* A context and a queue in it, the caller's or new ones, each with a reference. */
static rt_cl_int rt_cl_open_queue(rt_cl_dev *d, const rt_dev_info *info, bool profiling,
                                  const char **call)
{
    rt_cl_int err;
    rt_cl_bits props = profiling ? RT_CL_QUEUE_PROFILING_ENABLE : 0;
    intptr_t platform[] = {RT_CL_CONTEXT_PLATFORM, (intptr_t)info->platform, 0};
    d->queue = info->queue;
    *call = "clGetCommandQueueInfo";
    if (d->queue) {
        err = rt_cl()->GetCommandQueueInfo(d->queue, RT_CL_QUEUE_CONTEXT, sizeof d->context,
                                           &d->context, NULL);
        if (err == RT_CL_SUCCESS && (err = rt_cl()->RetainCommandQueue(d->queue)) == RT_CL_SUCCESS)
            err = rt_cl()->RetainContext(d->context);
        return err;
    }
    *call = "clCreateContext";
    d->context = rt_cl()->CreateContext(platform, 1, &d->device, NULL, NULL, &err);
    if (err != RT_CL_SUCCESS)
        return err;
    *call = "clCreateCommandQueue";
    d->queue = rt_cl()->CreateCommandQueue(d->context, d->device, props, &err);
    if (err != RT_CL_SUCCESS)
        rt_cl()->ReleaseContext(d->context);
    return err;
}

RT_API rt_dev_error rt_cl_open(const rt_dev_info *info, bool profiling, rt_dev **out)
{
    const char *call;
    rt_cl_dev d = {.base.driver = &rt_cl_driver,
                   .device = info->device,
                   .memory = info->memory,
                   .long_header = info->long_header,
                   .wide_units = info->matrix_units > 1,
                   .looks = !info->rank.cpu && !profiling};
    rt_cl_int err = rt_cl_open_queue(&d, info, profiling, &call);
    rt_cl_dev *dev = err == RT_CL_SUCCESS ? malloc(sizeof d) : NULL;
    *out = dev ? &dev->base : NULL;
    if (dev) {
        *dev = d;
    } else if (err == RT_CL_SUCCESS) {
        rt_cl()->ReleaseCommandQueue(d.queue);
        rt_cl()->ReleaseContext(d.context);
        err = RT_CL_OUT_OF_HOST_MEMORY;
    }
    return rt_cl_error(err, call);
}

RT_API void *rt_cl_of_queue(void *queue, bool *profiling)
{
    rt_cl_device_id device = NULL;
    rt_cl_bits props = 0;
    *profiling = false;
    if (!rt_cl())
        return NULL;
    rt_cl()->GetCommandQueueInfo(queue, RT_CL_QUEUE_DEVICE, sizeof device, &device, NULL);
    rt_cl()->GetCommandQueueInfo(queue, RT_CL_QUEUE_PROPERTIES, sizeof props, &props, NULL);
    *profiling = props & RT_CL_QUEUE_PROFILING_ENABLE;
    return props & RT_CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE ? NULL : device;
}

RT_API bool rt_cl_uuid(const rt_dev_info *info, unsigned char uuid[RT_UUID])
{
    return rt_cl()->GetDeviceInfo(info->device, RT_CL_DEVICE_UUID_KHR, RT_UUID, uuid, NULL) ==
           RT_CL_SUCCESS;
}

static void rt_cl_close(rt_dev *base)
{
    rt_cl_dev *d = (rt_cl_dev *)base;
    rt_cl_unpinned(d, (void *)d->fetched, d->pinned);
    rt_cl()->ReleaseCommandQueue(d->queue);
    rt_cl()->ReleaseContext(d->context);
    free(d);
}

static rt_dev_error rt_cl_finish(rt_dev *base)
{
    rt_cl_dev *d = (rt_cl_dev *)base;
    if (d->idle)
        return rt_cl_error(RT_CL_SUCCESS, "");
    return rt_cl_waited(d, rt_cl()->Finish(d->queue), "clFinish");
}

static int64_t rt_cl_local_given(rt_dev *base)
{
    (void)base;
    return 0;
}

static int64_t rt_cl_changes(const rt_dev *base)
{
    return ((const rt_cl_dev *)base)->changes;
}

static void *rt_cl_queue(rt_dev *base)
{
    return ((rt_cl_dev *)base)->queue;
}

/* --- Programs and kernels --- */

/* Does the compiler's log say that a kernel is too large for the device, rather than wrong? */
static bool rt_cl_log_too_large(const char *log)
{
    static const char *const said[] = {"too much shared data", "too much local",
                                       "exceeds local memory", "local memory limit",
                                       "Out of resources"};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        if (strstr(log, said[i]))
            return true;
    return false;
}

/* What the compiler said of a program that it refused for `err`. */
static rt_dev_error rt_cl_build_error(rt_cl_dev *d, rt_cl_program p, rt_cl_int err,
                                      const char *call, char **log)
{
    rt_dev_error e = rt_cl_error(err, call);
    size_t n = 0;
    rt_cl()->GetProgramBuildInfo(p, d->device, RT_CL_PROGRAM_BUILD_LOG, 0, NULL, &n);
    *log = calloc(n + 1, 1);
    if (*log)
        rt_cl()->GetProgramBuildInfo(p, d->device, RT_CL_PROGRAM_BUILD_LOG, n, *log, NULL);
    bool too_large = err == RT_CL_OUT_OF_RESOURCES || (*log && rt_cl_log_too_large(*log));
    e.status = too_large ? RT_DEV_REFUSED : RT_DEV_FAILED;
    return e;
}

static rt_dev_error rt_cl_compile(rt_cl_dev *d, int n, const char **texts, const char *options,
                                  rt_dev_program **out, char **log)
{
    rt_cl_int err;
    *log = NULL;
    *out = NULL;
    rt_cl_program p =
        rt_cl()->CreateProgramWithSource(d->context, (rt_cl_uint)n, texts, NULL, &err);
    if (err != RT_CL_SUCCESS)
        return rt_cl_error(err, "clCreateProgramWithSource");
    err = rt_cl()->BuildProgram(p, 1, &d->device, options, NULL, NULL);
    if (err == RT_CL_SUCCESS) {
        *out = (rt_dev_program *)p;
        return rt_cl_error(err, "clBuildProgram");
    }
    rt_dev_error e = rt_cl_build_error(d, p, err, "clBuildProgram", log);
    rt_cl()->ReleaseProgram(p);
    return e;
}

/* The same without the compiler's header, of which the texts need little: what they call is
 * declared in front of them, and the header believes that it was read before. */
static rt_dev_error rt_cl_compile_declared(rt_cl_dev *d, int n, const char **texts,
                                           const char *options, rt_dev_program **out, char **log)
{
    static const char read[] = "-D_OPENCL_H_";
    size_t size = sizeof read + 1 + strlen(options);
    const char **all = malloc((size_t)(n + 1) * sizeof *all);
    char *more = malloc(size);
    rt_dev_error e = rt_cl_error(RT_CL_OUT_OF_HOST_MEMORY, "clBuildProgram");
    *out = NULL;
    *log = NULL;
    if (all && more) {
        all[0] = rt_text_declared_cl;
        memcpy(all + 1, texts, (size_t)n * sizeof *all);
        snprintf(more, size, "%s %s", read, options);
        e = rt_cl_compile(d, n + 1, all, more, out, log);
    }
    free(more);
    free(all);
    return e;
}

static rt_dev_error rt_cl_load(rt_dev *base, const unsigned char *binary, size_t n,
                               const char *options, rt_dev_program **out)
{
    rt_cl_dev *d = (rt_cl_dev *)base;
    rt_cl_int err, status = RT_CL_SUCCESS;
    *out = NULL;
    rt_cl_program p =
        rt_cl()->CreateProgramWithBinary(d->context, 1, &d->device, &n, &binary, &status, &err);
    if (err == RT_CL_SUCCESS && status == RT_CL_SUCCESS)
        err = rt_cl()->BuildProgram(p, 1, &d->device, options, NULL, NULL);
    err = err == RT_CL_SUCCESS ? status : err;
    if (err == RT_CL_SUCCESS)
        *out = (rt_dev_program *)p;
    else if (p)
        rt_cl()->ReleaseProgram(p);
    return rt_cl_error(err, "clCreateProgramWithBinary");
}

static unsigned char *rt_cl_binary(rt_dev *base, rt_dev_program *p, size_t *n)
{
    (void)base;
    rt_cl_program program = (rt_cl_program)p;
    *n = 0;
    if (rt_cl()->GetProgramInfo(program, RT_CL_PROGRAM_BINARY_SIZES, sizeof *n, n, NULL) !=
            RT_CL_SUCCESS ||
        !*n)
        return NULL;
    unsigned char *data = malloc(*n);
    if (data && rt_cl()->GetProgramInfo(program, RT_CL_PROGRAM_BINARIES, sizeof data, &data,
                                        NULL) != RT_CL_SUCCESS) {
        free(data);
        return NULL;
    }
    return data;
}

/* Instructions that NVIDIA's compiler does not know, but its assembler (matrix.cl), stand in its
 * PTX as remarks, and are for devices of just this capability. */
static const char rt_cl_mark[] = "//@wide";

/* Makes them what they are, over the text, which keeps its length. False: it is not for such
 * devices. */
static bool rt_cl_raise_ptx(char *ptx)
{
    static const char target[] = ".target sm_90, ", own[] = ".target sm_90a,";
    char *of = strstr(ptx, target);
    if (of)
        memcpy(of, own, sizeof own - 1);
    for (char *at = ptx; of && (at = strstr(at, rt_cl_mark)) != NULL;)
        memset(at, ' ', sizeof rt_cl_mark - 1);
    return of != NULL;
}

/* A program with such ones is built once more. */
static rt_dev_error rt_cl_raise(rt_cl_dev *d, const char *options, rt_dev_program **program)
{
    rt_dev_program *made = *program;
    size_t n;
    unsigned char *binary = rt_cl_binary(&d->base, made, &n);
    char *ptx = binary ? calloc(n + 1, 1) : NULL;
    rt_dev_error e = rt_cl_error(RT_CL_SUCCESS, "clBuildProgram");
    if (ptx)
        memcpy(ptx, binary, n);
    if (!ptx || strstr(ptx, rt_cl_mark)) {
        *program = NULL;
        e = ptx && rt_cl_raise_ptx(ptx)
                ? rt_cl_load(&d->base, (const unsigned char *)ptx, n, options, program)
                : (rt_dev_error){RT_DEV_FAILED, "clGetProgramInfo",
                                 "no PTX for devices of compute capability 9.0"};
        rt_cl()->ReleaseProgram((rt_cl_program)made);
    }
    free(ptx);
    free(binary);
    return e;
}

static rt_dev_error rt_cl_build(rt_dev *base, int n, const char **texts, const char *options,
                                rt_dev_program **out, char **log)
{
    rt_cl_dev *d = (rt_cl_dev *)base;
    rt_dev_error e = d->long_header ? rt_cl_compile_declared(d, n, texts, options, out, log)
                                    : rt_cl_compile(d, n, texts, options, out, log);
    if (!*out && d->long_header) {
        free(*log);
        e = rt_cl_compile(d, n, texts, options, out, log);
        d->long_header = !*out; /* the header of this version is different */
    }
    return *out && d->wide_units ? rt_cl_raise(d, options, out) : e;
}

static rt_dev_program *rt_cl_program_ref(rt_dev *base, rt_dev_program *p)
{
    (void)base;
    return rt_cl()->RetainProgram((rt_cl_program)p) == RT_CL_SUCCESS ? p : NULL;
}

static void rt_cl_program_unref(rt_dev *base, rt_dev_program *p)
{
    (void)base;
    rt_cl()->ReleaseProgram((rt_cl_program)p);
}

static rt_dev_error rt_cl_kernel_new(rt_dev *base, rt_dev_program *p, const char *name,
                                     rt_dev_kernel **out, char **log)
{
    rt_cl_dev *d = (rt_cl_dev *)base;
    rt_cl_int err;
    rt_cl_kernel k = rt_cl()->CreateKernel((rt_cl_program)p, name, &err);
    *log = NULL;
    *out = err == RT_CL_SUCCESS ? (rt_dev_kernel *)k : NULL;
    return err == RT_CL_SUCCESS
               ? rt_cl_error(err, "clCreateKernel")
               : rt_cl_build_error(d, (rt_cl_program)p, err, "clCreateKernel", log);
}

static void rt_cl_kernel_free(rt_dev *base, rt_dev_kernel *k)
{
    (void)base;
    rt_cl()->ReleaseKernel((rt_cl_kernel)k);
}

static void rt_cl_kernel_needs(rt_dev *base, rt_dev_kernel *k, int64_t *max_group, int64_t *local)
{
    rt_cl_dev *d = (rt_cl_dev *)base;
    size_t group = 0;
    rt_cl_ulong bytes = 0;
    rt_cl()->GetKernelWorkGroupInfo((rt_cl_kernel)k, d->device, RT_CL_KERNEL_WORK_GROUP_SIZE,
                                    sizeof group, &group, NULL);
    rt_cl()->GetKernelWorkGroupInfo((rt_cl_kernel)k, d->device, RT_CL_KERNEL_LOCAL_MEM_SIZE,
                                    sizeof bytes, &bytes, NULL);
    *max_group = (int64_t)group;
    *local = (int64_t)bytes;
}

/* --- Launches --- */

static rt_dev_error rt_cl_arg(rt_dev *base, rt_dev_kernel *k, int index, size_t size,
                              const void *value)
{
    (void)base;
    return rt_cl_error(rt_cl()->SetKernelArg((rt_cl_kernel)k, (rt_cl_uint)index, size, value),
                       "clSetKernelArg");
}

static rt_dev_error rt_cl_arg_buffer(rt_dev *base, rt_dev_kernel *k, int index, rt_dev_buffer *b)
{
    (void)base;
    rt_cl_mem m = (rt_cl_mem)b;
    return rt_cl_arg(base, k, index, sizeof m, &m);
}

static rt_dev_error rt_cl_launch(rt_dev *base, rt_dev_kernel *k, int n_dims, const size_t *global,
                                 const size_t *local, rt_dev_event **event)
{
    rt_cl_dev *d = (rt_cl_dev *)base;
    rt_cl_int err =
        rt_cl()->EnqueueNDRangeKernel(d->queue, (rt_cl_kernel)k, (rt_cl_uint)n_dims, NULL, global,
                                      local, 0, NULL, (rt_cl_event *)event);
    return rt_cl_enqueued(d, err, "clEnqueueNDRangeKernel");
}

/* --- Memory --- */

static rt_dev_error rt_cl_alloc(rt_dev *base, int64_t bytes, int64_t in_use, rt_dev_buffer **out)
{
    rt_cl_dev *d = (rt_cl_dev *)base;
    rt_cl_int err = RT_CL_MEM_OBJECT_ALLOCATION_FAILURE;
    *out = NULL;
    /* Some drivers promise memory that they do not have, and fail when it is used. */
    if (d->memory <= 0 || in_use + bytes <= d->memory)
        *out = (rt_dev_buffer *)rt_cl()->CreateBuffer(d->context, RT_CL_MEM_READ_WRITE,
                                                      (size_t)bytes, NULL, &err);
    return rt_cl_error(err, "clCreateBuffer");
}

/* Buffers in the caller's memory may begin anywhere. */
static rt_dev_error rt_cl_adopt(rt_dev *base, const void *handle, rt_dev_buffer **out,
                                int64_t *bytes)
{
    (void)base;
    rt_cl_mem m = (rt_cl_mem)(uintptr_t)handle;
    size_t size = 0;
    void *host = NULL;
    rt_cl_bits flags = 0;
    *out = NULL;
    rt_cl_int err = rt_cl()->GetMemObjectInfo(m, RT_CL_MEM_SIZE, sizeof size, &size, NULL);
    if (err != RT_CL_SUCCESS)
        return rt_cl_error(err, "clGetMemObjectInfo");
    rt_cl()->GetMemObjectInfo(m, RT_CL_MEM_FLAGS, sizeof flags, &flags, NULL);
    rt_cl()->GetMemObjectInfo(m, RT_CL_MEM_HOST_PTR, sizeof host, &host, NULL);
    bool elsewhere = (flags & RT_CL_MEM_USE_HOST_PTR) && (uintptr_t)host % RT_BLOCK_ALIGN != 0;
    if (elsewhere || (flags & (RT_CL_MEM_READ_ONLY | RT_CL_MEM_WRITE_ONLY)))
        return (rt_dev_error){RT_DEV_REFUSED, "clGetMemObjectInfo",
                              elsewhere
                                  ? "memory of the host that does not begin at a multiple of 128"
                                  : "it is not CL_MEM_READ_WRITE"};
    err = rt_cl()->RetainMemObject(m);
    *out = err == RT_CL_SUCCESS ? (rt_dev_buffer *)m : NULL;
    *bytes = (int64_t)size;
    return rt_cl_error(err, "clRetainMemObject");
}

static void *rt_cl_handle(rt_dev *base, rt_dev_buffer *b)
{
    (void)base;
    return b;
}

static void rt_cl_free(rt_dev *base, rt_dev_buffer *b)
{
    (void)base;
    rt_cl()->ReleaseMemObject((rt_cl_mem)b);
}

static rt_dev_error rt_cl_part(rt_dev *base, rt_dev_buffer *whole, int64_t off, int64_t bytes,
                               rt_dev_buffer **out)
{
    (void)base;
    rt_cl_int err;
    rt_cl_buffer_region part = {(size_t)off, (size_t)bytes};
    *out = (rt_dev_buffer *)rt_cl()->CreateSubBuffer((rt_cl_mem)whole, RT_CL_MEM_READ_WRITE,
                                                     RT_CL_BUFFER_CREATE_TYPE_REGION, &part, &err);
    return rt_cl_error(err, "clCreateSubBuffer");
}

static rt_dev_error rt_cl_write(rt_dev *base, rt_dev_buffer *dst, int64_t off, int64_t bytes,
                                const void *src, rt_dev_event **event)
{
    rt_cl_dev *d = (rt_cl_dev *)base;
    rt_cl_int err = rt_cl()->EnqueueWriteBuffer(d->queue, (rt_cl_mem)dst, true, (size_t)off,
                                                (size_t)bytes, src, 0, NULL, (rt_cl_event *)event);
    return rt_cl_enqueued(d, err, "clEnqueueWriteBuffer");
}

static rt_dev_error rt_cl_write_later(rt_dev *base, rt_dev_buffer *dst, int64_t off, int64_t bytes,
                                      const void *src)
{
    rt_cl_dev *d = (rt_cl_dev *)base;
    rt_cl_int err = rt_cl()->EnqueueWriteBuffer(d->queue, (rt_cl_mem)dst, false, (size_t)off,
                                                (size_t)bytes, src, 0, NULL, NULL);
    return rt_cl_enqueued(d, err, "clEnqueueWriteBuffer");
}

static rt_dev_error rt_cl_read(rt_dev *base, rt_dev_buffer *src, int64_t off, int64_t bytes,
                               void *dst, rt_dev_event **event)
{
    rt_cl_dev *d = (rt_cl_dev *)base;
    rt_cl_int err = rt_cl()->EnqueueReadBuffer(d->queue, (rt_cl_mem)src, true, (size_t)off,
                                               (size_t)bytes, dst, 0, NULL, (rt_cl_event *)event);
    return rt_cl_waited(d, err, "clEnqueueReadBuffer");
}

/* Memory of the host's that the device writes without the driver's help; *of is NULL, and it is
 * memory as all other, if the driver gives none. */
static void *rt_cl_pinned(rt_cl_dev *d, size_t bytes, rt_cl_mem *of)
{
    rt_cl_int err;
    void *memory = NULL;
    *of = rt_cl()->CreateBuffer(d->context, RT_CL_MEM_ALLOC_HOST_PTR, bytes, NULL, &err);
    if (err == RT_CL_SUCCESS)
        memory = rt_cl()->EnqueueMapBuffer(d->queue, *of, true, RT_CL_MAP_READ | RT_CL_MAP_WRITE, 0,
                                           bytes, 0, NULL, NULL, &err);
    if (err == RT_CL_SUCCESS)
        return memory;
    if (*of)
        rt_cl()->ReleaseMemObject(*of);
    *of = NULL;
    return malloc(bytes);
}

static void rt_cl_unpinned(rt_cl_dev *d, void *memory, rt_cl_mem of)
{
    if (of) {
        rt_cl()->EnqueueUnmapMemObject(d->queue, of, memory, 0, NULL, NULL);
        rt_cl()->ReleaseMemObject(of);
    } else {
        free(memory);
    }
}

static void *rt_cl_host_new(rt_dev *base, int64_t bytes)
{
    rt_cl_dev *d = (rt_cl_dev *)base;
    return rt_cl_pinned(d, (size_t)bytes, &d->host);
}

static void rt_cl_host_free(rt_dev *base, void *memory)
{
    rt_cl_dev *d = (rt_cl_dev *)base;
    rt_cl_unpinned(d, memory, d->host);
    d->host = NULL;
}

/* Where what is fetched is not pinned nobody looks. */
static void rt_fetch_open(rt_cl_dev *d)
{
    d->fetched = d->looks ? rt_cl_pinned(d, RT_DEV_FETCH, &d->pinned) : malloc(RT_DEV_FETCH);
    d->looks = d->pinned != NULL;
}

/* Waits until these words are there. */
static rt_dev_error rt_cl_look(rt_cl_dev *d, int64_t from, int64_t bytes)
{
    bool there = !d->late || (d->looks && rt_words_come(d->fetched, from, bytes, false));
    if (!there && d->looks && d->kept)
        rt_cl()->Flush(d->queue);
    d->kept = d->kept && there;
    return there || (d->looks && rt_words_come(d->fetched, from, bytes, true))
               ? rt_cl_error(RT_CL_SUCCESS, "")
               : rt_cl_waited(d, rt_cl()->Finish(d->queue), "clFinish");
}

static rt_dev_error rt_cl_fetch(rt_dev *base, rt_dev_buffer *src, int64_t off, int64_t bytes,
                                int64_t to, rt_dev_event **event)
{
    rt_cl_dev *d = (rt_cl_dev *)base;
    if (!d->fetched)
        rt_fetch_open(d);
    if (!d->fetched)
        return rt_cl_error(RT_CL_OUT_OF_HOST_MEMORY, "malloc");
    if (d->looks) { /* the rest of what was fetched before would come over the marks */
        rt_dev_error e = rt_cl_look(d, to, bytes);
        if (e.status != RT_DEV_OK)
            return e;
        rt_words_expect(d->fetched, to, bytes);
    }
    rt_cl_int err =
        rt_cl()->EnqueueReadBuffer(d->queue, (rt_cl_mem)src, false, (size_t)off, (size_t)bytes,
                                   (char *)d->fetched + to, 0, NULL, (rt_cl_event *)event);
    d->idle = false;
    d->late = d->kept = true;
    d->last = to;
    d->last_end = to + bytes;
    d->last_changes = d->changes;
    return rt_cl_error(err, "clEnqueueReadBuffer");
}

static rt_dev_error rt_cl_fetched(rt_dev *base, int64_t from, int64_t bytes, void *dst)
{
    rt_cl_dev *d = (rt_cl_dev *)base;
    rt_dev_error e = rt_cl_look(d, from, bytes);
    if (e.status != RT_DEV_OK)
        return e;
    __sync_synchronize();
    /* Commands run one after the other. */
    d->idle = d->idle || (from >= d->last && from < d->last_end && d->changes == d->last_changes);
    memcpy(dst, (const char *)d->fetched + from, (size_t)bytes);
    return rt_cl_error(RT_CL_SUCCESS, "");
}

static rt_dev_error rt_cl_copy(rt_dev *base, rt_dev_buffer *dst, int64_t dst_off,
                               rt_dev_buffer *src, int64_t src_off, int64_t bytes,
                               rt_dev_event **event)
{
    rt_cl_dev *d = (rt_cl_dev *)base;
    rt_cl_int err =
        rt_cl()->EnqueueCopyBuffer(d->queue, (rt_cl_mem)src, (rt_cl_mem)dst, (size_t)src_off,
                                   (size_t)dst_off, (size_t)bytes, 0, NULL, (rt_cl_event *)event);
    return rt_cl_enqueued(d, err, "clEnqueueCopyBuffer");
}

static rt_dev_error rt_cl_fill(rt_dev *base, rt_dev_buffer *dst, int64_t off, int size,
                               const void *value, rt_dev_event **event)
{
    rt_cl_dev *d = (rt_cl_dev *)base;
    rt_cl_int err =
        rt_cl()->EnqueueFillBuffer(d->queue, (rt_cl_mem)dst, value, (size_t)size, (size_t)off,
                                   (size_t)size, 0, NULL, (rt_cl_event *)event);
    return rt_cl_enqueued(d, err, "clEnqueueFillBuffer");
}

/* --- Profiling --- */

static int64_t rt_cl_event_span(rt_dev *base, rt_dev_event *e, int64_t *begin)
{
    (void)base;
    rt_cl_event event = (rt_cl_event)e;
    rt_cl_ulong start = 0, end = 0;
    rt_cl()->GetEventProfilingInfo(event, RT_CL_PROFILING_COMMAND_START, sizeof start, &start,
                                   NULL);
    rt_cl()->GetEventProfilingInfo(event, RT_CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
    rt_cl()->ReleaseEvent(event);
    *begin = (int64_t)start;
    return end > start ? (int64_t)(end - start) : 0;
}

#define RT_CL_CALL(result, name, params, ...) .name = rt_cl_##name,
static const rt_driver rt_cl_driver = {RT_DRIVER_CALLS(RT_CL_CALL).host_new = rt_cl_host_new,
                                       .host_free = rt_cl_host_free};
#undef RT_CL_CALL
