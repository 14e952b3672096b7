/* dev.h for NVIDIA's devices by the driver's own interface, which is looked for when a device of
 * theirs is opened through OpenCL: a launch costs the host a third to a half of what it costs
 * there, and a wait less, too. Kernels stay OpenCL C: NVIDIA's OpenCL makes PTX of them, which is
 * loaded here. */
#include "runtime/drivers/dev_cuda.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int refs;
    rt_cu_ptr module;
    unsigned char *ptx; /* as OpenCL's compiler made it */
    size_t size;
} rt_cu_program;

typedef struct {
    uint64_t bits; /* the value, or where the local memory is */
    size_t local;  /* bytes of local memory; 0: it is a value */
} rt_cu_set_arg;

typedef struct {
    rt_cu_ptr function;
    unsigned own; /* local memory apart from arguments */
    unsigned most;
    int n;
    rt_cu_set_arg *args;
    void **places; /* of the values */
} rt_cu_kernel;

typedef struct {
    rt_cu_ptr begin, end;
} rt_cu_event;

static rt_dev_error rt_cu_wait(rt_cu_dev *d)
{
    rt_cu_result err = d->f.stream_wait(d->stream);
    d->idle = err == 0;
    d->late = d->late && !d->idle;
    return rt_cu_error(d, err, "cuStreamSynchronize");
}

/* --- The device --- */

static const rt_driver rt_cu_driver;

static bool rt_cu_find_functions(rt_cu_functions *f)
{
    f->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!f->library)
        return false;
#define RT_CU_SYMBOL(name, symbol, params) {symbol, &f->name},
    const rt_symbol symbols[] = {RT_CU_FUNCTIONS(RT_CU_SYMBOL)};
#undef RT_CU_SYMBOL
    return rt_symbols_find(1, &f->library, sizeof symbols / sizeof *symbols, symbols);
}

/* The number that OpenCL's device has there: both know the same identifier. */
static bool rt_cu_find_device(rt_cu_dev *d, const rt_dev_info *info)
{
    unsigned char want[RT_UUID];
    bool told = rt_cl_uuid(info, want);
    int n = 0;
    if (d->f.device_count(&n) != 0)
        return false;
    for (int i = 0; i < n; i++) {
        if (d->f.device(&d->device, i) != 0 || d->f.device_uuid(d->uuid, d->device) != 0)
            continue;
        if (told ? memcmp(want, d->uuid, sizeof want) == 0 : n == 1)
            return true;
    }
    return false;
}

static void rt_cu_close(rt_dev *base)
{
    rt_cu_dev *d = (rt_cu_dev *)base;
    if (d->compiler)
        rt_dev_close(d->compiler);
    if (d->fetched)
        d->f.pinned_free((void *)d->fetched);
    if (d->counted)
        d->f.event_free(d->counted);
    if (d->stream)
        d->f.stream_free(d->stream);
    if (d->context)
        d->f.release(d->device);
    if (d->f.library)
        dlclose(d->f.library);
    free(d);
}

/* NULL, or what there is not. */
static const char *rt_cu_begin(rt_cu_dev *d, const rt_dev_info *info)
{
    int reserved = 0;
    void *fetched = NULL;
    if (!rt_cu_find_functions(&d->f))
        return "libcuda.so.1 or one of its functions";
    if (d->f.init(0) != 0)
        return "a driver";
    if (!rt_cu_find_device(d, info))
        return "this device";
    if (d->f.retain(&d->context, d->device) != 0) {
        d->context = NULL;
        return "a context";
    }
    if (d->f.set_current(d->context) != 0 || d->f.stream_new(&d->stream, RT_CU_STREAM_APART) != 0 ||
        d->f.pinned(&fetched, RT_DEV_FETCH) != 0)
        return "a stream";
    d->f.device_fact(&reserved, RT_CU_RESERVED_SHARED, d->device);
    d->reserved = (unsigned)reserved;
    d->fetched = fetched;
    return NULL;
}

RT_API rt_dev_error rt_cu_open(const rt_dev_info *info, bool profiling, rt_dev **out)
{
    rt_cu_dev *d = calloc(1, sizeof *d);
    *out = NULL;
    if (!d)
        return (rt_dev_error){RT_DEV_FAILED, "cuInit", "out of memory"};
    d->base.driver = &rt_cu_driver;
    d->info = *info;
    d->memory = info->memory;
    d->profiling = profiling;
    d->is_nvidia = strstr(info->platform_name, "NVIDIA") != NULL;
    const char *missing = rt_cu_begin(d, info);
    if (missing) {
        rt_cu_close(&d->base);
        return (rt_dev_error){RT_DEV_REFUSED, "cuInit", missing};
    }
    *out = &d->base;
    return (rt_dev_error){RT_DEV_OK, "", ""};
}

/* A context is current in a thread. */
static void rt_cu_enter(rt_dev *base)
{
    rt_cu_dev *d = (rt_cu_dev *)base;
    (void)d->f.set_current(d->context);
}

static rt_dev_error rt_cu_finish(rt_dev *base)
{
    rt_cu_dev *d = (rt_cu_dev *)base;
    return d->idle ? rt_cu_error(d, 0, "") : rt_cu_wait(d);
}

static int64_t rt_cu_local_given(rt_dev *base)
{
    rt_cu_dev *d = (rt_cu_dev *)base;
    int most = 0;
    d->f.device_fact(&most, RT_CU_MOST_GIVEN, d->device);
    return most > d->info.local_memory ? most : 0;
}

static void *rt_cu_queue(rt_dev *base)
{
    (void)base;
    return NULL;
}

static int64_t rt_cu_changes(const rt_dev *base)
{
    return ((const rt_cu_dev *)base)->changes;
}

/* --- Programs and kernels --- */

/* Blanks n characters, puts a word there. */
static void rt_cu_blank(char *at, size_t n, const char *word)
{
    memset(at, ' ', n);
    memcpy(at, word, strlen(word));
}

/* OpenCL's PTX is that of CUDA but for three things: it says how textures are told, of which there
 * are none; it knows that parameters are addresses of local memory, which are numbers here; and it
 * asks OpenCL's own registers for the offset of groups and work-items in the launch (0 to 5), which
 * is 0, and for the number of groups (6 to 8), which has a register in CUDA, too. Written over the
 * text, which keeps its length. False: there is something else. */
static bool rt_cu_adapt(char *ptx)
{
    static const char mode[] = "texmode_independent", local[] = ".ptr .shared .align ",
                      own[] = "%envreg";
    static const char *const groups[] = {"%nctaid.x", "%nctaid.y", "%nctaid.z"};
    const size_t n_own = sizeof own - 1, n_local = sizeof local - 1;
    char *at = strstr(ptx, mode);
    if (at)
        rt_cu_blank(at, sizeof mode - 1, "");
    while (at && at > ptx && strchr(", ", at[-1]))
        *--at = ' ';
    for (at = ptx; (at = strstr(at, local)) != NULL;)
        rt_cu_blank(at, n_local + strspn(at + n_local, "0123456789"), "");
    for (at = ptx; (at = strstr(at, own)) != NULL; at++) {
        size_t digits = strspn(at + n_own, "0123456789");
        int number = atoi(at + n_own);
        if (digits != 1 || number > 8 || at[-1] != ' ')
            return false;
        if (number < 6)
            rt_cu_blank(at, n_own + digits, "0");
        else
            rt_cu_blank(at - 1, 1 + n_own + digits, groups[number - 6]);
    }
    return true;
}

static rt_dev_error rt_cu_load_ptx(rt_cu_dev *d, const unsigned char *ptx, size_t size,
                                   rt_dev_program **out, char **log)
{
    enum { LOG = 8192 };
    char *said = calloc(LOG, 1);
    rt_cu_program *p = calloc(1, sizeof *p);
    int options[] = {RT_CU_ERROR_LOG, RT_CU_ERROR_LOG + 1};
    void *values[] = {said, (void *)(uintptr_t)(LOG - 1)};
    rt_dev_error e = {RT_DEV_FAILED, "cuModuleLoadDataEx", "out of memory"};
    *out = NULL;
    char *text = calloc(size + 1, 1);
    if (said && p && text && (p->ptx = malloc(size + 1))) {
        memcpy(p->ptx, ptx, size);
        memcpy(text, ptx, size);
        p->size = size;
        p->refs = 1;
        bool known = !d->is_nvidia || rt_cu_adapt(text);
        rt_cu_result err =
            known ? d->f.module_load(&p->module, text, 2, options, values) : RT_CU_INVALID_PTX;
        e = rt_cu_error(d, err, "cuModuleLoadDataEx");
        if (err == 0)
            *out = (rt_dev_program *)p;
    }
    free(text);
    if (*out || !said) {
        free(said);
    } else {
        *log = said;
        if (strstr(said, "too much shared data"))
            e.status = RT_DEV_REFUSED;
    }
    if (!*out && p) {
        free(p->ptx);
        free(p);
    }
    return e;
}

/* OpenCL's compiler, which makes PTX. */
static rt_dev_error rt_cu_compiler(rt_cu_dev *d)
{
    return d->compiler ? rt_cu_error(d, 0, "") : rt_cl_open(&d->info, false, &d->compiler);
}

static rt_dev_error rt_cu_build(rt_dev *base, int n, const char **texts, const char *options,
                                rt_dev_program **out, char **log)
{
    rt_cu_dev *d = (rt_cu_dev *)base;
    rt_dev_program *made;
    size_t size;
    *out = NULL;
    *log = NULL;
    rt_dev_error e = rt_cu_compiler(d);
    if (e.status == RT_DEV_OK)
        e = rt_dev_build(d->compiler, n, texts, options, &made, log);
    if (e.status != RT_DEV_OK)
        return e;
    unsigned char *ptx = rt_dev_binary(d->compiler, made, &size);
    rt_dev_program_unref(d->compiler, made);
    if (!ptx)
        return (rt_dev_error){RT_DEV_FAILED, "clGetProgramInfo", "no binary"};
    e = rt_cu_load_ptx(d, ptx, size, out, log);
    free(ptx);
    return e;
}

static rt_dev_error rt_cu_load(rt_dev *base, const unsigned char *binary, size_t n,
                               const char *options, rt_dev_program **out)
{
    char *log = NULL;
    (void)options;
    rt_dev_error e = rt_cu_load_ptx((rt_cu_dev *)base, binary, n, out, &log);
    free(log);
    return e;
}

static unsigned char *rt_cu_binary(rt_dev *base, rt_dev_program *program, size_t *n)
{
    const rt_cu_program *p = (const rt_cu_program *)program;
    (void)base;
    unsigned char *copy = malloc(p->size + 1);
    *n = copy ? p->size : 0;
    return copy ? memcpy(copy, p->ptx, p->size) : NULL;
}

static rt_dev_program *rt_cu_program_ref(rt_dev *base, rt_dev_program *program)
{
    (void)base;
    ((rt_cu_program *)program)->refs++;
    return program;
}

static void rt_cu_program_unref(rt_dev *base, rt_dev_program *program)
{
    rt_cu_program *p = (rt_cu_program *)program;
    if (--p->refs)
        return;
    ((rt_cu_dev *)base)->f.module_free(p->module);
    free(p->ptx);
    free(p);
}

static rt_dev_error rt_cu_kernel_new(rt_dev *base, rt_dev_program *program, const char *name,
                                     rt_dev_kernel **out, char **log)
{
    rt_cu_dev *d = (rt_cu_dev *)base;
    int own = 0;
    rt_cu_kernel *k = calloc(1, sizeof *k);
    *log = NULL;
    *out = NULL;
    if (!k)
        return (rt_dev_error){RT_DEV_FAILED, "cuModuleGetFunction", "out of memory"};
    rt_cu_result err = d->f.function(&k->function, ((rt_cu_program *)program)->module, name);
    if (err != 0) {
        free(k);
        return rt_cu_error(d, err, "cuModuleGetFunction");
    }
    d->f.function_fact(&own, RT_CU_OWN_SHARED, k->function);
    k->own = (unsigned)own;
    *out = (rt_dev_kernel *)k;
    return rt_cu_error(d, 0, "");
}

static void rt_cu_kernel_free(rt_dev *base, rt_dev_kernel *kernel)
{
    rt_cu_kernel *k = (rt_cu_kernel *)kernel;
    (void)base;
    free(k->args);
    free(k->places);
    free(k);
}

static void rt_cu_kernel_needs(rt_dev *base, rt_dev_kernel *kernel, int64_t *max_group,
                               int64_t *local)
{
    rt_cu_dev *d = (rt_cu_dev *)base;
    const rt_cu_kernel *k = (const rt_cu_kernel *)kernel;
    int most = 0;
    d->f.function_fact(&most, RT_CU_MAX_GROUP, k->function);
    *max_group = most;
    *local = k->own;
}

/* --- Launches --- */

/* Room for argument `index`. */
static bool rt_cu_room(rt_cu_kernel *k, int index)
{
    if (index < k->n)
        return true;
    int n = 2 * (index + 1);
    rt_cu_set_arg *args = realloc(k->args, (size_t)n * sizeof *args);
    if (args)
        k->args = args;
    void **places = realloc(k->places, (size_t)n * sizeof *places);
    if (places)
        k->places = places;
    if (!args || !places)
        return false;
    memset(args + k->n, 0, (size_t)(n - k->n) * sizeof *args);
    for (int i = 0; i < n; i++)
        places[i] = &args[i].bits;
    k->n = n;
    return true;
}

static rt_dev_error rt_cu_arg(rt_dev *base, rt_dev_kernel *kernel, int index, size_t size,
                              const void *value)
{
    rt_cu_kernel *k = (rt_cu_kernel *)kernel;
    if (size > sizeof(uint64_t) && value)
        return (rt_dev_error){RT_DEV_FAILED, "cuLaunchKernel", "an argument is too large"};
    if (!rt_cu_room(k, index))
        return (rt_dev_error){RT_DEV_FAILED, "cuLaunchKernel", "out of memory"};
    rt_cu_set_arg *a = &k->args[index];
    *a = (rt_cu_set_arg){.local = value ? 0 : size};
    if (value)
        memcpy(&a->bits, value, size);
    return rt_cu_error((rt_cu_dev *)base, 0, "");
}

static rt_dev_error rt_cu_arg_buffer(rt_dev *base, rt_dev_kernel *kernel, int index,
                                     rt_dev_buffer *b)
{
    rt_cu_pointer at = rt_cu_at(b, 0);
    return rt_cu_arg(base, kernel, index, sizeof at, &at);
}

/* Says where local memory that is given begins: behind what the kernel has itself. Returns its
 * bytes. */
static unsigned rt_cu_lay_out(const rt_cu_dev *d, rt_cu_kernel *k)
{
    enum { ALIGN = 16 };
    unsigned own = (k->own + ALIGN - 1) / ALIGN * ALIGN, bytes = own;
    for (int i = 0; i < k->n; i++) {
        rt_cu_set_arg *a = &k->args[i];
        if (!a->local)
            continue;
        a->bits = d->reserved + bytes;
        bytes += (unsigned)((a->local + ALIGN - 1) / ALIGN * ALIGN);
    }
    return bytes - k->own;
}

static rt_dev_error rt_cu_events_new(rt_cu_dev *d, rt_cu_event **out)
{
    rt_cu_event *e = calloc(1, sizeof *e);
    *out = e;
    if (!e)
        return (rt_dev_error){RT_DEV_FAILED, "cuEventCreate", "out of memory"};
    rt_cu_result err = d->f.event_new(&e->begin, 0);
    err = err ? err : d->f.event_new(&e->end, 0);
    return rt_cu_error(d, err ? err : d->f.event_record(e->begin, d->stream), "cuEventCreate");
}

/* Before and after a command: when it begins and ends, if somebody asks. */
static rt_cu_event *rt_cu_timed(rt_cu_dev *d, rt_dev_event **event)
{
    rt_cu_event *e = NULL;
    if (event) {
        *event = NULL;
        if (d->profiling && rt_cu_events_new(d, &e).status == RT_DEV_OK)
            *event = (rt_dev_event *)e;
    }
    return e;
}

static rt_dev_error rt_cu_done(rt_cu_dev *d, rt_cu_event *e, rt_cu_result err, const char *call)
{
    if (e)
        d->f.event_record(e->end, d->stream);
    return rt_cu_enqueued(d, err, call);
}

static rt_dev_error rt_cu_launch(rt_dev *base, rt_dev_kernel *kernel, int n_dims,
                                 const size_t *global, const size_t *local, rt_dev_event **event)
{
    rt_cu_dev *d = (rt_cu_dev *)base;
    rt_cu_kernel *k = (rt_cu_kernel *)kernel;
    unsigned groups[3] = {1, 1, 1}, size[3] = {1, 1, 1}, bytes = rt_cu_lay_out(d, k);
    for (int i = 0; i < n_dims; i++) {
        groups[i] = (unsigned)(global[i] / local[i]);
        size[i] = (unsigned)local[i];
    }
    if (bytes > k->most) {
        rt_cu_result err = d->f.function_may(k->function, RT_CU_MOST_SHARED, (int)bytes);
        if (err)
            return rt_cu_error(d, err, "cuFuncSetAttribute");
        k->most = bytes;
    }
    rt_cu_event *e = rt_cu_timed(d, event);
    rt_cu_result err = d->f.launch(k->function, groups[0], groups[1], groups[2], size[0], size[1],
                                   size[2], bytes, d->stream, k->places, NULL);
    return rt_cu_done(d, e, err, "cuLaunchKernel");
}

/* --- Memory --- */

/* The handle of a buffer is its place, a CUdeviceptr of the device's primary context. */
static rt_dev_error rt_cu_adopt(rt_dev *base, const void *handle, rt_dev_buffer **out,
                                int64_t *bytes)
{
    (void)bytes;
    *out = NULL;
    if (!handle || (uintptr_t)handle % RT_BLOCK_ALIGN != 0)
        return (rt_dev_error){RT_DEV_REFUSED, "a buffer of others",
                              "it does not begin at a multiple of 128"};
    *out = (rt_dev_buffer *)((uintptr_t)handle | RT_CU_PART);
    return rt_cu_error((rt_cu_dev *)base, 0, "");
}

static void *rt_cu_handle(rt_dev *base, rt_dev_buffer *b)
{
    (void)base;
    return (void *)(uintptr_t)rt_cu_at(b, 0);
}

static rt_dev_error rt_cu_alloc(rt_dev *base, int64_t bytes, int64_t in_use, rt_dev_buffer **out)
{
    rt_cu_dev *d = (rt_cu_dev *)base;
    rt_cu_pointer p = 0;
    rt_cu_result err = RT_CU_NO_MEMORY;
    if (d->memory <= 0 || in_use + bytes <= d->memory)
        err = d->f.alloc(&p, (size_t)bytes);
    *out = err == 0 ? (rt_dev_buffer *)(uintptr_t)p : NULL;
    return rt_cu_error(d, err, "cuMemAlloc");
}

static void rt_cu_free(rt_dev *base, rt_dev_buffer *b)
{
    if (!((uintptr_t)b & RT_CU_PART))
        ((rt_cu_dev *)base)->f.free(rt_cu_at(b, 0));
}

static rt_dev_error rt_cu_part(rt_dev *base, rt_dev_buffer *whole, int64_t off, int64_t bytes,
                               rt_dev_buffer **out)
{
    (void)bytes;
    *out = (rt_dev_buffer *)(uintptr_t)(rt_cu_at(whole, off) | RT_CU_PART);
    return rt_cu_error((rt_cu_dev *)base, 0, "");
}

/* What is copied from is read before the copy is made unless the driver knows the memory, which it
 * does not. */
static rt_dev_error rt_cu_write_later(rt_dev *base, rt_dev_buffer *dst, int64_t off, int64_t bytes,
                                      const void *src)
{
    rt_cu_dev *d = (rt_cu_dev *)base;
    return rt_cu_enqueued(d, d->f.write(rt_cu_at(dst, off), src, (size_t)bytes, d->stream),
                          "cuMemcpyHtoDAsync");
}

static rt_dev_error rt_cu_write(rt_dev *base, rt_dev_buffer *dst, int64_t off, int64_t bytes,
                                const void *src, rt_dev_event **event)
{
    rt_cu_dev *d = (rt_cu_dev *)base;
    rt_cu_event *e = rt_cu_timed(d, event);
    rt_cu_result err = d->f.write(rt_cu_at(dst, off), src, (size_t)bytes, d->stream);
    rt_dev_error done = rt_cu_done(d, e, err, "cuMemcpyHtoDAsync");
    return done.status == RT_DEV_OK ? rt_cu_wait(d) : done;
}

static rt_dev_error rt_cu_read_to(rt_cu_dev *d, rt_dev_buffer *src, int64_t off, int64_t bytes,
                                  void *dst, rt_dev_event **event)
{
    rt_cu_event *e = rt_cu_timed(d, event);
    rt_cu_result err = d->f.read(dst, rt_cu_at(src, off), (size_t)bytes, d->stream);
    if (e)
        d->f.event_record(e->end, d->stream);
    d->idle = false;
    return rt_cu_error(d, err, "cuMemcpyDtoHAsync");
}

static rt_dev_error rt_cu_read(rt_dev *base, rt_dev_buffer *src, int64_t off, int64_t bytes,
                               void *dst, rt_dev_event **event)
{
    rt_cu_dev *d = (rt_cu_dev *)base;
    rt_dev_error e = rt_cu_read_to(d, src, off, bytes, dst, event);
    return e.status == RT_DEV_OK ? rt_cu_wait(d) : e;
}

/* Waits until these words are there; with a profile until the device has ended, too, whose times
 * are asked for where it is idle. */
static rt_dev_error rt_cu_look(rt_cu_dev *d, int64_t from, int64_t bytes)
{
    bool there = !d->late || (!d->profiling && rt_words_come(d->fetched, from, bytes, true));
    return there ? rt_cu_error(d, 0, "") : rt_cu_wait(d);
}

static rt_dev_error rt_cu_fetch(rt_dev *base, rt_dev_buffer *src, int64_t off, int64_t bytes,
                                int64_t to, rt_dev_event **event)
{
    rt_cu_dev *d = (rt_cu_dev *)base;
    /* The rest of what was fetched before would come over the marks. */
    rt_dev_error e = rt_cu_look(d, to, bytes);
    if (e.status != RT_DEV_OK)
        return e;
    rt_words_expect(d->fetched, to, bytes);
    d->late = true;
    d->last = to;
    d->last_end = to + bytes;
    d->last_changes = d->changes;
    return rt_cu_read_to(d, src, off, bytes, (char *)d->fetched + to, event);
}

static rt_dev_error rt_cu_fetched(rt_dev *base, int64_t from, int64_t bytes, void *dst)
{
    rt_cu_dev *d = (rt_cu_dev *)base;
    rt_dev_error e = rt_cu_look(d, from, bytes);
    if (e.status != RT_DEV_OK)
        return e;
    __sync_synchronize();
    /* Commands run one after the other. */
    d->idle = d->idle || (from >= d->last && from < d->last_end && d->changes == d->last_changes);
    memcpy(dst, (const char *)d->fetched + from, (size_t)bytes);
    return e;
}

static rt_dev_error rt_cu_copy(rt_dev *base, rt_dev_buffer *dst, int64_t dst_off,
                               rt_dev_buffer *src, int64_t src_off, int64_t bytes,
                               rt_dev_event **event)
{
    rt_cu_dev *d = (rt_cu_dev *)base;
    rt_cu_event *e = rt_cu_timed(d, event);
    rt_cu_result err =
        d->f.copy(rt_cu_at(dst, dst_off), rt_cu_at(src, src_off), (size_t)bytes, d->stream);
    return rt_cu_done(d, e, err, "cuMemcpyDtoDAsync");
}

static rt_dev_error rt_cu_fill(rt_dev *base, rt_dev_buffer *dst, int64_t off, int size,
                               const void *value, rt_dev_event **event)
{
    rt_cu_dev *d = (rt_cu_dev *)base;
    rt_cu_pointer at = rt_cu_at(dst, off);
    uint8_t v8;
    uint16_t v16;
    uint32_t v32[2];
    rt_cu_result err = 0;
    rt_cu_event *e = rt_cu_timed(d, event);
    if (size == 1) {
        memcpy(&v8, value, sizeof v8);
        err = d->f.fill8(at, v8, 1, d->stream);
    } else if (size == 2) {
        memcpy(&v16, value, sizeof v16);
        err = d->f.fill16(at, v16, 1, d->stream);
    } else {
        memcpy(v32, value, (size_t)size);
        bool once = size == 4 || v32[0] == v32[1];
        err = d->f.fill32(at, v32[0], once ? (size_t)size / 4 : 1, d->stream);
        if (!once && err == 0)
            err = d->f.fill32(at + 4, v32[1], 1, d->stream);
    }
    return rt_cu_done(d, e, err, "cuMemsetD32Async");
}

/* --- Profiling --- */

/* There is no clock to read but the time between two events, which is told in few digits: so it is
 * counted from one command to the next. */
static int64_t rt_cu_event_span(rt_dev *base, rt_dev_event *event, int64_t *begin)
{
    rt_cu_dev *d = (rt_cu_dev *)base;
    rt_cu_event *e = (rt_cu_event *)event;
    float ms = 0, since = 0;
    *begin = d->clock;
    if (!e)
        return 0;
    if (d->f.event_ms(&ms, e->begin, e->end) != 0)
        ms = 0;
    if (d->counted) {
        if (d->f.event_ms(&since, d->counted, e->begin) == 0)
            *begin = d->clock += (int64_t)(since * 1e6f);
        d->f.event_free(d->counted);
    }
    d->counted = e->begin;
    d->f.event_free(e->end);
    free(e);
    return (int64_t)(ms * 1e6f);
}

#define RT_CU_ROW(result, name, params, ...) .name = rt_cu_##name,
static const rt_driver rt_cu_driver = {RT_DRIVER_CALLS(RT_CU_ROW).enter = rt_cu_enter,
                                       .host_new = rt_cu_host_new,
                                       .host_free = rt_cu_host_free,
                                       .offer_new = rt_cu_offer_new,
                                       .take = rt_cu_take,
                                       .leave = rt_cu_leave,
                                       .mark_new = rt_cu_mark_new,
                                       .mark_take = rt_cu_mark_take,
                                       .mark_set = rt_cu_mark_set,
                                       .mark_await = rt_cu_mark_await,
                                       .mark_free = rt_cu_mark_free,
                                       .identity = rt_cu_identity};
#undef RT_CU_ROW
