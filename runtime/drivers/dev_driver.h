/* Between dev.h and its drivers: each device says by whom it is served. */
#ifndef RT_DEV_DRIVER_H
#define RT_DEV_DRIVER_H

#include "runtime/drivers/dev.h"

/* What a driver does, of which dev.h says what: result, name, parameters, arguments. */
#define RT_DRIVER_CALLS(X)                                                                         \
    X(void, close, (rt_dev * d), d)                                                                \
    X(rt_dev_error, finish, (rt_dev * d), d)                                                       \
    X(int64_t, local_given, (rt_dev * d), d)                                                       \
    X(int64_t, changes, (const rt_dev *d), d)                                                      \
    X(void *, queue, (rt_dev * d), d)                                                              \
    X(rt_dev_error, adopt, (rt_dev * d, const void *handle, rt_dev_buffer **out, int64_t *bytes),  \
      d, handle, out, bytes)                                                                       \
    X(void *, handle, (rt_dev * d, rt_dev_buffer * b), d, b)                                       \
    X(rt_dev_error, build,                                                                         \
      (rt_dev * d, int n, const char **texts, const char *options, rt_dev_program **out,           \
       char **log),                                                                                \
      d, n, texts, options, out, log)                                                              \
    X(rt_dev_error, load,                                                                          \
      (rt_dev * d, const unsigned char *binary, size_t n, const char *options,                     \
       rt_dev_program **out),                                                                      \
      d, binary, n, options, out)                                                                  \
    X(unsigned char *, binary, (rt_dev * d, rt_dev_program * p, size_t * n), d, p, n)              \
    X(rt_dev_program *, program_ref, (rt_dev * d, rt_dev_program * p), d, p)                       \
    X(void, program_unref, (rt_dev * d, rt_dev_program * p), d, p)                                 \
    X(rt_dev_error, kernel_new,                                                                    \
      (rt_dev * d, rt_dev_program * p, const char *name, rt_dev_kernel **out, char **log), d, p,   \
      name, out, log)                                                                              \
    X(void, kernel_free, (rt_dev * d, rt_dev_kernel * k), d, k)                                    \
    X(void, kernel_needs, (rt_dev * d, rt_dev_kernel * k, int64_t * max_group, int64_t * local),   \
      d, k, max_group, local)                                                                      \
    X(rt_dev_error, arg,                                                                           \
      (rt_dev * d, rt_dev_kernel * k, int index, size_t size, const void *value), d, k, index,     \
      size, value)                                                                                 \
    X(rt_dev_error, arg_buffer, (rt_dev * d, rt_dev_kernel * k, int index, rt_dev_buffer *b), d,   \
      k, index, b)                                                                                 \
    X(rt_dev_error, launch,                                                                        \
      (rt_dev * d, rt_dev_kernel * k, int n_dims, const size_t *global, const size_t *local,       \
       rt_dev_event **event),                                                                      \
      d, k, n_dims, global, local, event)                                                          \
    X(rt_dev_error, alloc, (rt_dev * d, int64_t bytes, int64_t in_use, rt_dev_buffer * *out), d,   \
      bytes, in_use, out)                                                                          \
    X(void, free, (rt_dev * d, rt_dev_buffer * b), d, b)                                           \
    X(rt_dev_error, write,                                                                         \
      (rt_dev * d, rt_dev_buffer * dst, int64_t off, int64_t bytes, const void *src,               \
       rt_dev_event **event),                                                                      \
      d, dst, off, bytes, src, event)                                                              \
    X(rt_dev_error, write_later,                                                                   \
      (rt_dev * d, rt_dev_buffer * dst, int64_t off, int64_t bytes, const void *src), d, dst, off, \
      bytes, src)                                                                                  \
    X(rt_dev_error, part,                                                                          \
      (rt_dev * d, rt_dev_buffer * whole, int64_t off, int64_t bytes, rt_dev_buffer * *out), d,    \
      whole, off, bytes, out)                                                                      \
    X(rt_dev_error, read,                                                                          \
      (rt_dev * d, rt_dev_buffer * src, int64_t off, int64_t bytes, void *dst,                     \
       rt_dev_event **event),                                                                      \
      d, src, off, bytes, dst, event)                                                              \
    X(rt_dev_error, fetch,                                                                         \
      (rt_dev * d, rt_dev_buffer * src, int64_t off, int64_t bytes, int64_t to,                    \
       rt_dev_event * *event),                                                                     \
      d, src, off, bytes, to, event)                                                               \
    X(rt_dev_error, fetched, (rt_dev * d, int64_t from, int64_t bytes, void *dst), d, from, bytes, \
      dst)                                                                                         \
    X(rt_dev_error, copy,                                                                          \
      (rt_dev * d, rt_dev_buffer * dst, int64_t dst_off, rt_dev_buffer * src, int64_t src_off,     \
       int64_t bytes, rt_dev_event * *event),                                                      \
      d, dst, dst_off, src, src_off, bytes, event)                                                 \
    X(rt_dev_error, fill,                                                                          \
      (rt_dev * d, rt_dev_buffer * dst, int64_t off, int size, const void *value,                  \
       rt_dev_event **event),                                                                      \
      d, dst, off, size, value, event)                                                             \
    X(int64_t, event_span, (rt_dev * d, rt_dev_event * e, int64_t * begin), d, e, begin)

typedef struct {
#define RT_DRIVER_FIELD(result, name, params, ...) result(*name) params;
    RT_DRIVER_CALLS(RT_DRIVER_FIELD)
#undef RT_DRIVER_FIELD
    /* NULL: there is no such. */
    rt_dev_error (*kernel_of)(rt_dev *d, rt_dev_function *f, rt_dev_kernel **out);
    void (*enter)(rt_dev *d);
    bool (*stop)(rt_dev *d, bool stop);
    int (*busy)(rt_dev *d, const rt_dev_event *e, int64_t *ns);
    void *(*host_new)(rt_dev *d, int64_t bytes);
    void (*host_free)(rt_dev *d, void *memory);
    rt_dev_error (*offer_new)(rt_dev *d, int64_t bytes, int64_t in_use, rt_dev_buffer **out,
                              rt_dev_offer *offer);
    rt_dev_error (*take)(rt_dev *d, const rt_dev_offer *offer, rt_dev_buffer **out);
    void (*leave)(rt_dev *d, rt_dev_buffer *taken);
    rt_dev_error (*mark_new)(rt_dev *d, rt_dev_mark **out, rt_dev_offer *offer);
    rt_dev_error (*mark_take)(rt_dev *d, const rt_dev_offer *offer, rt_dev_mark **out);
    rt_dev_error (*mark_set)(rt_dev *d, rt_dev_mark *m);
    rt_dev_error (*mark_await)(rt_dev *d, rt_dev_mark *m);
    void (*mark_free)(rt_dev *d, rt_dev_mark *m);
    uint64_t (*identity)(const rt_dev *d);
} rt_driver;

/* What each driver's device begins with. */
struct rt_dev {
    const rt_driver *driver;
};

/* --- symbols.c: functions of libraries that are looked for when a program runs --- */

typedef struct {
    const char *name;
    void *to; /* the pointer to the function that becomes it */
} rt_symbol;

/* Each from the first place that has it, as dlsym means places. False: one of them is nowhere. */
RT_API bool rt_symbols_find(int n_places, void *const *places, int n, const rt_symbol *symbols);

/* --- looked.c: words of the host's memory that a device writes while the host looks --- */

/* None of these bytes is there. */
RT_API void rt_words_expect(volatile uint32_t *words, int64_t to, int64_t bytes);
/* Are they there now, or within some 0.1 ms if the caller waits? */
RT_API bool rt_words_come(const volatile uint32_t *words, int64_t from, int64_t bytes, bool wait);

/* --- dev_opencl.c --- */

RT_API rt_dev_error rt_cl_open(const rt_dev_info *info, bool profiling, rt_dev **out);
RT_API void *rt_cl_of_queue(void *queue, bool *profiling);
/* What tells the device from all others, whatever driver is asked. False if the driver does not
 * say. */
enum { RT_UUID = 16 };
RT_API bool rt_cl_uuid(const rt_dev_info *info, unsigned char uuid[RT_UUID]);

/* --- dev_opencl_find.c --- */

/* OpenCL's devices in its order, to free(). */
RT_API rt_dev_info *rt_cl_find(int *n);

/* --- dev_find.c --- */

/* How many threads the system lets this process run at once. */
RT_API int rt_nat_cpus(void);

/* --- dev_native.c --- */

RT_API rt_dev_error rt_nat_open(const rt_dev_info *info, bool profiling, rt_dev **out);

/* --- dev_cuda.c --- */

/* The same device without OpenCL; refused if there is no such way to it. */
RT_API rt_dev_error rt_cu_open(const rt_dev_info *info, bool profiling, rt_dev **out);

#endif
