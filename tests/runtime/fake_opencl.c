/* An OpenCL driver that computes nothing, to be preloaded or linked: it counts how often a program
 * calls which function, and notes what each launch is given. It has one GPU; buffers hold zeros and
 * what is written; kernels do nothing. Handles of released buffers are the first to be used again.
 *
 *   FAKE_CALLS=FILE   at exit: "NAME COUNT" for each function that was called, by name
 *   FAKE_TRACE=FILE   at each launch: kernel, work-items, groups, arguments (buffers: numbers)
 *   FAKE_LATE=1       reads that nobody waits for are done by clFinish only
 *
 * A launch ends the program if an argument is a buffer that was released after it was set, as
 * drivers look at a buffer when it is set. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Counting --- */

enum { MOST_NAMES = 64 };
static struct {
    const char *name;
    long count;
} calls[MOST_NAMES];
static FILE *trace;

long fake_calls(const char *prefix);

static void called(const char *name)
{
    int i = 0;
    while (calls[i].name && strcmp(calls[i].name, name) != 0)
        i++;
    calls[i].name = name;
    calls[i].count++;
}
#define CALLED called(__func__)

/* For tests: the calls so far of the functions whose names begin like this. */
long fake_calls(const char *prefix)
{
    long n = 0;
    for (int i = 0; calls[i].name; i++)
        n += strncmp(calls[i].name, prefix, strlen(prefix)) == 0 ? calls[i].count : 0;
    return n;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("FAKE_TRACE");
    trace = path ? fopen(path, "w") : NULL;
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("FAKE_CALLS");
    FILE *f = path ? fopen(path, "w") : NULL;
    int n = 0;
    while (calls[n].name)
        n++;
    qsort(calls, (size_t)n, sizeof *calls, by_name);
    for (int i = 0; f && i < n; i++)
        fprintf(f, "%s %ld\n", calls[i].name, calls[i].count);
    if (f)
        fclose(f);
    if (trace)
        fclose(trace);
}

/* --- Objects --- */

struct _cl_mem {
    long number; /* of this buffer; 0: released */
    size_t size;
    char *data;
    bool part;   /* of another one's data */
    cl_mem next; /* all that ever were */
};
static cl_mem mems;
static long n_mems;

typedef struct {
    bool set;
    size_t size;
    long mem; /* the number of a buffer */
    cl_mem handle;
    unsigned char value[8];
} Arg;
enum { MOST_ARGS = 128 };
struct _cl_kernel {
    char name[128];
    Arg args[MOST_ARGS];
};

static int object; /* stands for all that has no state */
#define HANDLE(type) ((type)(void *)&object)

static cl_mem live(const void *value, size_t size)
{
    cl_mem m = mems, want;
    if (!value || size != sizeof want)
        return NULL;
    memcpy(&want, value, sizeof want);
    while (m && (m != want || m->number == 0))
        m = m->next;
    return m;
}

/* Answers a question about an object. */
static cl_int answer(const void *from, size_t n, size_t size, void *to, size_t *ret)
{
    if (ret)
        *ret = n;
    if (to && size < n)
        return CL_INVALID_VALUE;
    if (to)
        memcpy(to, from, n);
    return CL_SUCCESS;
}

static cl_int done(cl_int *err)
{
    if (err)
        *err = CL_SUCCESS;
    return CL_SUCCESS;
}

/* --- The device --- */

cl_int clGetPlatformIDs(cl_uint n, cl_platform_id *ids, cl_uint *found)
{
    CALLED;
    if (n && ids)
        ids[0] = HANDLE(cl_platform_id);
    *found = 1;
    return CL_SUCCESS;
}

cl_int clGetPlatformInfo(cl_platform_id p, cl_platform_info what, size_t size, void *to,
                         size_t *ret)
{
    (void)p, (void)what;
    CALLED;
    return answer("Fake", 5, size, to, ret);
}

cl_int clGetDeviceIDs(cl_platform_id p, cl_device_type t, cl_uint n, cl_device_id *ids,
                      cl_uint *found)
{
    (void)p, (void)t;
    CALLED;
    if (n && ids)
        ids[0] = HANDLE(cl_device_id);
    *found = 1;
    return CL_SUCCESS;
}

cl_int clGetDeviceInfo(cl_device_id d, cl_device_info what, size_t size, void *to, size_t *ret)
{
    cl_ulong v = 0;
    (void)d;
    CALLED;
    switch (what) {
    case CL_DEVICE_TYPE: v = CL_DEVICE_TYPE_GPU; break;
    case CL_DEVICE_MAX_COMPUTE_UNITS: v = 100; break;
    case CL_DEVICE_MAX_CLOCK_FREQUENCY: v = 1000; break;
    case CL_DEVICE_MAX_WORK_GROUP_SIZE: v = 1024; break;
    case CL_DEVICE_GLOBAL_MEM_SIZE: v = (cl_ulong)1 << 34; break;
    case CL_DEVICE_LOCAL_MEM_SIZE: v = 49152; break;
    case CL_DEVICE_DOUBLE_FP_CONFIG: v = 1; break;
    default: return answer("Fake", 5, size, to, ret);
    }
    return answer(&v, size < sizeof v ? size : sizeof v, size, to, ret);
}

cl_context clCreateContext(const cl_context_properties *props, cl_uint n, const cl_device_id *ds,
                           void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                           void *data, cl_int *err)
{
    (void)props, (void)n, (void)ds, (void)notify, (void)data;
    CALLED;
    done(err);
    return HANDLE(cl_context);
}

cl_int clReleaseContext(cl_context c)
{
    (void)c;
    CALLED;
    return CL_SUCCESS;
}

cl_command_queue clCreateCommandQueue(cl_context c, cl_device_id d, cl_command_queue_properties p,
                                      cl_int *err)
{
    (void)c, (void)d, (void)p;
    CALLED;
    done(err);
    return HANDLE(cl_command_queue);
}

cl_int clRetainCommandQueue(cl_command_queue q)
{
    (void)q;
    CALLED;
    return CL_SUCCESS;
}

cl_int clRetainContext(cl_context c)
{
    (void)c;
    CALLED;
    return CL_SUCCESS;
}

cl_int clGetCommandQueueInfo(cl_command_queue q, cl_command_queue_info what, size_t size, void *to,
                             size_t *ret)
{
    const size_t none = 0;
    (void)q, (void)what;
    CALLED;
    return answer(&none, sizeof none, size, to, ret);
}

cl_int clReleaseCommandQueue(cl_command_queue q)
{
    (void)q;
    CALLED;
    return CL_SUCCESS;
}

/* A read that is not done yet. */
static struct {
    void *to;
    const char *from;
    size_t size;
} late;

static void do_late(void)
{
    if (late.to)
        memcpy(late.to, late.from, late.size);
    late.to = NULL;
}

/* ... or only in part. */
static void do_first(void)
{
    size_t first = late.size < 512 ? late.size : 512;
    memcpy(late.to, late.from, first);
    late.to = (char *)late.to + first;
    late.from += first;
    late.size -= first;
}

cl_int clFinish(cl_command_queue q)
{
    (void)q;
    CALLED;
    do_late();
    return CL_SUCCESS;
}

cl_int clFlush(cl_command_queue q)
{
    (void)q;
    CALLED;
    return CL_SUCCESS;
}

/* --- Programs and kernels --- */

cl_program clCreateProgramWithSource(cl_context c, cl_uint n, const char **texts,
                                     const size_t *lengths, cl_int *err)
{
    (void)c, (void)n, (void)texts, (void)lengths;
    CALLED;
    done(err);
    return HANDLE(cl_program);
}

cl_program clCreateProgramWithBinary(cl_context c, cl_uint n, const cl_device_id *ds,
                                     const size_t *lengths, const unsigned char **binaries,
                                     cl_int *status, cl_int *err)
{
    (void)c, (void)n, (void)ds, (void)lengths, (void)binaries;
    CALLED;
    done(status);
    done(err);
    return HANDLE(cl_program);
}

cl_int clBuildProgram(cl_program p, cl_uint n, const cl_device_id *ds, const char *options,
                      void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
    (void)p, (void)n, (void)ds, (void)options, (void)notify, (void)data;
    CALLED;
    return CL_SUCCESS;
}

cl_int clGetProgramInfo(cl_program p, cl_program_info what, size_t size, void *to, size_t *ret)
{
    const size_t none = 0;
    (void)p, (void)what;
    CALLED;
    return answer(&none, sizeof none, size, to, ret);
}

cl_int clGetProgramBuildInfo(cl_program p, cl_device_id d, cl_program_build_info what, size_t size,
                             void *to, size_t *ret)
{
    (void)p, (void)d, (void)what;
    CALLED;
    return answer("", 1, size, to, ret);
}

cl_int clRetainProgram(cl_program p)
{
    (void)p;
    CALLED;
    return CL_SUCCESS;
}

cl_int clReleaseProgram(cl_program p)
{
    (void)p;
    CALLED;
    return CL_SUCCESS;
}

cl_kernel clCreateKernel(cl_program p, const char *name, cl_int *err)
{
    cl_kernel k = calloc(1, sizeof *k);
    (void)p;
    CALLED;
    snprintf(k->name, sizeof k->name, "%s", name);
    done(err);
    return k;
}

cl_int clReleaseKernel(cl_kernel k)
{
    CALLED;
    free(k);
    return CL_SUCCESS;
}

cl_int clGetKernelWorkGroupInfo(cl_kernel k, cl_device_id d, cl_kernel_work_group_info what,
                                size_t size, void *to, size_t *ret)
{
    cl_ulong v = what == CL_KERNEL_WORK_GROUP_SIZE ? 1024 : 0;
    (void)k, (void)d;
    CALLED;
    return answer(&v, sizeof v, size, to, ret);
}

cl_int clSetKernelArg(cl_kernel k, cl_uint i, size_t size, const void *value)
{
    cl_mem m = live(value, size);
    CALLED;
    if (i >= MOST_ARGS)
        return CL_INVALID_ARG_INDEX;
    k->args[i] = (Arg){.set = true, .size = size, .mem = m ? m->number : 0, .handle = m};
    if (value)
        memcpy(k->args[i].value, value, size < 8 ? size : 8);
    return CL_SUCCESS;
}

/* --- Commands --- */

static void trace_arg(const Arg *a)
{
    if (a->handle && a->handle->number != a->mem) {
        fprintf(stderr, "fake OpenCL: an argument is a buffer that was released\n");
        abort();
    }
    if (!trace)
        return;
    fprintf(trace, a->mem ? " m%ld" : " ", a->mem);
    for (size_t i = 0; !a->mem && i < a->size && i < 8; i++)
        fprintf(trace, "%02x", a->value[i]);
}

cl_int clEnqueueNDRangeKernel(cl_command_queue q, cl_kernel k, cl_uint dims, const size_t *offset,
                              const size_t *global, const size_t *local, cl_uint n,
                              const cl_event *wait, cl_event *event)
{
    (void)q, (void)offset, (void)n, (void)wait;
    CALLED;
    if (event)
        *event = HANDLE(cl_event);
    if (trace) {
        fprintf(trace, "%s", k->name);
        for (cl_uint i = 0; i < dims; i++)
            fprintf(trace, " %zu/%zu", global[i], local[i]);
    }
    for (int i = 0; i < MOST_ARGS && k->args[i].set; i++)
        trace_arg(&k->args[i]);
    if (trace)
        putc('\n', trace);
    return CL_SUCCESS;
}

/* A handle for data of that size. */
static cl_mem mem_new(size_t size, char *data, bool part)
{
    cl_mem m = mems;
    while (m && m->number)
        m = m->next;
    if (!m) {
        m = calloc(1, sizeof *m);
        m->next = mems;
        mems = m;
    }
    m->number = ++n_mems;
    m->size = size;
    m->data = data;
    m->part = part;
    return m;
}

cl_mem clCreateBuffer(cl_context c, cl_mem_flags flags, size_t size, void *host, cl_int *err)
{
    (void)c, (void)flags, (void)host;
    CALLED;
    done(err);
    return mem_new(size, calloc(1, size), false);
}

cl_mem clCreateSubBuffer(cl_mem whole, cl_mem_flags flags, cl_buffer_create_type type,
                         const void *region, cl_int *err)
{
    const cl_buffer_region *r = region;
    (void)flags, (void)type;
    CALLED;
    done(err);
    return mem_new(r->size, whole->data + r->origin, true);
}

cl_int clRetainMemObject(cl_mem m)
{
    (void)m;
    CALLED;
    return CL_SUCCESS;
}

cl_int clGetMemObjectInfo(cl_mem m, cl_mem_info what, size_t size, void *to, size_t *ret)
{
    (void)what;
    CALLED;
    return answer(&m->size, sizeof m->size, size, to, ret);
}

cl_int clReleaseMemObject(cl_mem m)
{
    CALLED;
    m->number = 0;
    if (!m->part)
        free(m->data);
    return CL_SUCCESS;
}

cl_int clEnqueueWriteBuffer(cl_command_queue q, cl_mem m, cl_bool blocking, size_t off, size_t size,
                            const void *from, cl_uint n, const cl_event *wait, cl_event *event)
{
    (void)q, (void)blocking, (void)n, (void)wait;
    CALLED;
    if (event)
        *event = HANDLE(cl_event);
    memcpy(m->data + off, from, size);
    return CL_SUCCESS;
}

cl_int clEnqueueReadBuffer(cl_command_queue q, cl_mem m, cl_bool blocking, size_t off, size_t size,
                           void *to, cl_uint n, const cl_event *wait, cl_event *event)
{
    (void)q, (void)n, (void)wait;
    CALLED;
    if (event)
        *event = HANDLE(cl_event);
    do_late();
    late.to = to;
    late.from = m->data + off;
    late.size = size;
    const char *is_late = getenv("FAKE_LATE");
    if (blocking || !is_late)
        do_late();
    else if (strcmp(is_late, "part") == 0)
        do_first();
    return CL_SUCCESS;
}

void *clEnqueueMapBuffer(cl_command_queue q, cl_mem m, cl_bool blocking, cl_map_flags flags,
                         size_t off, size_t size, cl_uint n, const cl_event *wait, cl_event *event,
                         cl_int *err)
{
    (void)q, (void)blocking, (void)flags, (void)size, (void)n, (void)wait, (void)event;
    CALLED;
    done(err);
    return m->data + off;
}

cl_int clEnqueueUnmapMemObject(cl_command_queue q, cl_mem m, void *p, cl_uint n,
                               const cl_event *wait, cl_event *event)
{
    (void)q, (void)m, (void)p, (void)n, (void)wait, (void)event;
    CALLED;
    return CL_SUCCESS;
}

cl_int clEnqueueCopyBuffer(cl_command_queue q, cl_mem from, cl_mem to, size_t from_off,
                           size_t to_off, size_t size, cl_uint n, const cl_event *wait,
                           cl_event *event)
{
    (void)q, (void)n, (void)wait;
    CALLED;
    if (event)
        *event = HANDLE(cl_event);
    memmove(to->data + to_off, from->data + from_off, size);
    return CL_SUCCESS;
}

cl_int clEnqueueFillBuffer(cl_command_queue q, cl_mem m, const void *pattern, size_t pattern_size,
                           size_t off, size_t size, cl_uint n, const cl_event *wait,
                           cl_event *event)
{
    (void)q, (void)n, (void)wait;
    CALLED;
    if (event)
        *event = HANDLE(cl_event);
    for (size_t i = 0; i < size; i += pattern_size)
        memcpy(m->data + off + i, pattern, pattern_size);
    return CL_SUCCESS;
}

cl_int clGetEventProfilingInfo(cl_event e, cl_profiling_info what, size_t size, void *to,
                               size_t *ret)
{
    const cl_ulong v = 0;
    (void)e, (void)what;
    CALLED;
    return answer(&v, sizeof v, size, to, ret);
}

cl_int clReleaseEvent(cl_event e)
{
    (void)e;
    CALLED;
    return CL_SUCCESS;
}
