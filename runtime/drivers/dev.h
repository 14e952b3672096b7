/* What the runtime asks of a driver, all of it. dev_opencl.c and dev_opencl_find.c answer for
 * OpenCL, dev_cuda.c for libcuda, dev_native.c for functions of the program; the rest of the
 * runtime holds policy (what is kept, when to try again, what to say) and knows no driver.
 *
 * A device is opened with one in-order queue. Nothing waits for it but rt_dev_finish, rt_dev_write,
 * rt_dev_read and rt_dev_fetched. Handles are released by whoever got them, before the device is
 * closed. Where a function has an `event`, it may be NULL, and takes one for rt_dev_event_span; a
 * device that was not opened for profiling has none. */
#ifndef RT_DEV_H
#define RT_DEV_H

#include "common/rank.h"
#include "common/values.h"

typedef struct rt_dev rt_dev;                 /* an open device and its queue */
typedef struct rt_dev_program rt_dev_program; /* what the driver's compiler made of texts */
typedef struct rt_dev_kernel rt_dev_kernel;
typedef struct rt_dev_buffer rt_dev_buffer; /* of device memory */
typedef struct rt_dev_event rt_dev_event;   /* when a command ran */

typedef enum {
    RT_DEV_OK,
    RT_DEV_REFUSED, /* too large a shape, too little memory: less of it may do */
    RT_DEV_FAILED
} rt_dev_status;

/* The outcome of a call: if it is not RT_DEV_OK, which function of the driver failed, and its error
 * by name. The texts are the driver's, for messages. */
typedef struct {
    rt_dev_status status;
    const char *call, *name;
} rt_dev_error;

/* A device that there is. Numbers are 0, or 1 where 0 makes no sense, if the driver does not say.
 */
typedef struct {
    void *platform, *device; /* the driver's handles */
    void *queue;             /* one of the device's that is there already, to be used; NULL: none */
    char platform_name[256], name[256], version[256], driver[256];
    rt_rank rank;         /* its kind, compute units, clock */
    int64_t units;        /* compute units */
    int64_t max_group;    /* work-items of a group */
    int64_t memory;       /* bytes */
    int64_t local_memory; /* bytes that a group may use */
    bool hides_local;     /* kernels may declare more of it */
    int64_t local_given;  /* ... or are given more of it: so much; else 0 */
    bool groups_wait;     /* work-groups that run at once all make progress */
    bool parts_meet;      /* warps of a group may have a barrier of their own (steps.cl) */
    bool has_f64;
    int matrix_units; /* of f16, with sums of f32: 1; 2: of four warps together, too */
    bool tells;     /* groups that run go on beside each other, and see words of 64 bits that others
                       write */
    bool parts;     /* buffers may be parts of others */
    bool own_cache; /* the driver caches kernels, and getting a binary costs a build */
    bool long_header; /* the compiler reads a header before each program, which may be kept
                       * from it */
    bool among;       /* it exchanges data with devices of other processes: asked for, not told */
    bool costly_programs; /* a program costs far more than its kernels, which are built at the
                             launch */
} rt_dev_info;

/* What no command may exceed: work-items in one dimension of a launch (NVIDIA's kernels count them
 * in 32 bits, with sign), and the end of what rt_dev_fill writes (its fill breaks the context
 * there). */
enum { RT_DEV_MOST_ITEMS = INT32_MAX, RT_DEV_FILL_END = INT32_MAX };

/* Threads of `native`, at most. */
enum { RT_DEV_MOST_THREADS = 1024 };

/* --- Devices --- */

/* Devices, to free(): OpenCL's in its order, if they are asked for, which takes drivers a while;
 * then `native`, if there are functions for it. MINIFUT_DRIVER=native: that alone, and OpenCL is
 * not even looked for; opencl, cuda: OpenCL's alone. */
RT_API rt_dev_info *rt_dev_find(bool opencl, bool native, int *n);
RT_API rt_dev_error rt_dev_open(const rt_dev_info *info, bool profiling, rt_dev **out);
/* The handle of the device of a queue, and whether the queue takes times; NULL: it is no queue that
 * can be used. */
RT_API void *rt_dev_of_queue(void *queue, bool *profiling);
/* The device's queue, for OpenCL; NULL: it has no such. */
RT_API void *rt_dev_queue(rt_dev *d);
RT_API void rt_dev_close(rt_dev *d);
/* Before calls by a thread that did not open it, or after others have called the driver. */
RT_API void rt_dev_enter(rt_dev *d);
/* Waits for all commands. */
RT_API rt_dev_error rt_dev_finish(rt_dev *d);
/* What runs ends early, and launches do nothing, until that is taken back: in a handler of signals,
 * too. False: the driver cannot do that. */
RT_API bool rt_dev_stop(rt_dev *d, bool stop);
/* Bytes of local memory that arguments of a kernel may have in all, if more than the device tells;
 * else 0. */
RT_API int64_t rt_dev_local_given(rt_dev *d);
/* How many commands that may change memory were enqueued so far. */
RT_API int64_t rt_dev_changes(const rt_dev *d);

/* --- Programs and kernels --- */

/* Compiles n texts as one. Where the compiler ran and failed, *log, to free(), is what it said, and
 * RT_DEV_REFUSED means that a kernel needs more than the device has; else *log is NULL. */
RT_API rt_dev_error rt_dev_build(rt_dev *d, int n, const char **texts, const char *options,
                                 rt_dev_program **out, char **log);
/* The same from a binary, built with the same options. */
RT_API rt_dev_error rt_dev_load(rt_dev *d, const unsigned char *binary, size_t n,
                                const char *options, rt_dev_program **out);
/* The binary, to free(); NULL if there is none. */
RT_API unsigned char *rt_dev_binary(rt_dev *d, rt_dev_program *p, size_t *n);
/* One more owner, one less. */
RT_API rt_dev_program *rt_dev_program_ref(rt_dev *d, rt_dev_program *p);
RT_API void rt_dev_program_unref(rt_dev *d, rt_dev_program *p);
/* A program's kernel by name; *log as above. */
RT_API rt_dev_error rt_dev_kernel_new(rt_dev *d, rt_dev_program *p, const char *name,
                                      rt_dev_kernel **out, char **log);
RT_API void rt_dev_kernel_free(rt_dev *d, rt_dev_kernel *k);
/* Are accesses to memory watched (AddressSanitizer)? Then blocks are hardly longer than what is in
 * them, and lie by themselves. */
#if defined(__SANITIZE_ADDRESS__)
#define RT_WATCHED 1
#elif defined(__has_feature)
#define RT_WATCHED __has_feature(address_sanitizer)
#else
#define RT_WATCHED 0
#endif

/* A kernel as a function of the program's: what groups `first` to `end`, without that, of a launch
 * do. There are groups[d] groups of size[d] work-items in dimension d, counted with dimension 0
 * innermost. args[i] points to what argument i was set to: a value, the beginning of a buffer, or
 * local memory, which the groups of a call use one after the other. */
typedef void rt_dev_function(void *const *args, const size_t groups[3], const size_t size[3],
                             size_t first, size_t end);
/* A kernel that is one. Fails where the driver builds texts. */
RT_API rt_dev_error rt_dev_kernel_of(rt_dev *d, rt_dev_function *f, rt_dev_kernel **out);
/* The most work-items that a group of it may have (0: the driver does not say), and the bytes of
 * local memory that it takes apart from arguments. */
RT_API void rt_dev_kernel_needs(rt_dev *d, rt_dev_kernel *k, int64_t *max_group, int64_t *local);

/* --- Launches --- */

/* Sets an argument: a value, or `size` bytes of local memory where value is NULL. */
RT_API rt_dev_error rt_dev_arg(rt_dev *d, rt_dev_kernel *k, int index, size_t size,
                               const void *value);
RT_API rt_dev_error rt_dev_arg_buffer(rt_dev *d, rt_dev_kernel *k, int index, rt_dev_buffer *b);
/* global[i] is a multiple of local[i]. */
RT_API rt_dev_error rt_dev_launch(rt_dev *d, rt_dev_kernel *k, int n_dims, const size_t *global,
                                  const size_t *local, rt_dev_event **event);
/* Builds a kernel that is given two numbers, and runs a group of so many work-items of it. False:
 * that fails, somewhere. */
RT_API bool rt_dev_tries(rt_dev *d, const char *text, const char *options, const char *name,
                         size_t group, int32_t x[2]);

/* --- Memory, in bytes --- */

/* The buffer begins at a multiple of RT_BLOCK_ALIGN; in_use: what the caller holds already. */
RT_API rt_dev_error rt_dev_alloc(rt_dev *d, int64_t bytes, int64_t in_use, rt_dev_buffer **out);
RT_API void rt_dev_free(rt_dev *d, rt_dev_buffer *b);
/* A buffer that others have made, in the queue's context: it lives until both have freed it. It has
 * so many bytes, and refused is what does not begin as ours do. Back: its handle, NULL if there is
 * no such. */
RT_API rt_dev_error rt_dev_adopt(rt_dev *d, const void *handle, rt_dev_buffer **out,
                                 int64_t *bytes);
RT_API void *rt_dev_handle(rt_dev *d, rt_dev_buffer *b);
/* A part of a buffer as one of its own, to be freed before that. */
RT_API rt_dev_error rt_dev_part(rt_dev *d, rt_dev_buffer *whole, int64_t off, int64_t bytes,
                                rt_dev_buffer **out);
/* src may be changed afterwards. */
RT_API rt_dev_error rt_dev_write(rt_dev *d, rt_dev_buffer *dst, int64_t off, int64_t bytes,
                                 const void *src, rt_dev_event **event);
/* Waits for nothing: src stays as it is up to the next rt_dev_finish. */
RT_API rt_dev_error rt_dev_write_later(rt_dev *d, rt_dev_buffer *dst, int64_t off, int64_t bytes,
                                       const void *src);
RT_API rt_dev_error rt_dev_read(rt_dev *d, rt_dev_buffer *src, int64_t off, int64_t bytes,
                                void *dst, rt_dev_event **event);
/* Reads little, for a host that waits for it: into RT_DEV_FETCH bytes of its memory that the device
 * writes, from byte `to` on. Offsets and sizes are multiples of 4. */
enum { RT_DEV_FETCH = 8192 };
RT_API rt_dev_error rt_dev_fetch(rt_dev *d, rt_dev_buffer *src, int64_t off, int64_t bytes,
                                 int64_t to, rt_dev_event **event);
/* Waits until bytes from .. of that memory are there, and copies them. */
RT_API rt_dev_error rt_dev_fetched(rt_dev *d, int64_t from, int64_t bytes, void *dst);
RT_API rt_dev_error rt_dev_copy(rt_dev *d, rt_dev_buffer *dst, int64_t dst_off, rt_dev_buffer *src,
                                int64_t src_off, int64_t bytes, rt_dev_event **event);
/* A scalar of 1, 2, 4 or 8 bytes; value may be changed afterwards, and nothing waits. */
RT_API rt_dev_error rt_dev_fill(rt_dev *d, rt_dev_buffer *dst, int64_t off, int size,
                                const void *value, rt_dev_event **event);

/* --- Beside other processes --- */

/* Memory of the host's, such that transfers are fast with, if the driver has any; NULL: out of
 * memory. A device gives one block at a time. */
RT_API void *rt_dev_host_new(rt_dev *d, int64_t bytes);
RT_API void rt_dev_host_free(rt_dev *d, void *memory);
/* A new buffer, as rt_dev_alloc's, that other processes of this machine may copy from: what to tell
 * them. */
typedef struct {
    unsigned char bytes[64];
} rt_dev_offer;
/* Has the driver a way to? */
RT_API bool rt_dev_offers(const rt_dev *d);
RT_API rt_dev_error rt_dev_offer_new(rt_dev *d, int64_t bytes, int64_t in_use, rt_dev_buffer **out,
                                     rt_dev_offer *offer);
/* Another process's, to copy from, until it is left. Nothing waits for what that process does with
 * it but by marks. Fails where this device cannot read that one's memory. */
RT_API rt_dev_error rt_dev_take(rt_dev *d, const rt_dev_offer *offer, rt_dev_buffer **out);
RT_API void rt_dev_leave(rt_dev *d, rt_dev_buffer *taken);
/* What other processes know the device by, if its kernels see at once what those of other devices
 * write to such buffers; 0: they do not, or nobody knows. */
RT_API uint64_t rt_dev_identity(const rt_dev *d);
/* Places in what devices do, which wait for each other there while no host does. A new mark, and
 * what to tell other processes; another process's, which is told. Each is to be freed. */
typedef struct rt_dev_mark rt_dev_mark;
RT_API rt_dev_error rt_dev_mark_new(rt_dev *d, rt_dev_mark **out, rt_dev_offer *offer);
RT_API rt_dev_error rt_dev_mark_take(rt_dev *d, const rt_dev_offer *offer, rt_dev_mark **out);
RT_API void rt_dev_mark_free(rt_dev *d, rt_dev_mark *m);
/* The mark, one of this process's own, is behind all that has been asked for so far, and nowhere
 * else any more. */
RT_API rt_dev_error rt_dev_mark_set(rt_dev *d, rt_dev_mark *m);
/* What is asked for from now on waits until the device of whoever owns the mark has come to where
 * it is set now; for nothing if it is set nowhere. */
RT_API rt_dev_error rt_dev_mark_await(rt_dev *d, rt_dev_mark *m);

/* --- Profiling --- */

/* How long a finished command ran, in nanoseconds, and when it began, by a clock of the device's
 * own; releases the event. Events are asked for in the order of their commands. */
RT_API int64_t rt_dev_event_span(rt_dev *d, rt_dev_event *e, int64_t *begin);
/* Adds to ns[] what each thread of the device worked in the command, in nanoseconds, before the
 * event is released. How many threads; 0: the device has none of this process. */
RT_API int rt_dev_event_busy(rt_dev *d, const rt_dev_event *e, int64_t *ns);

#endif
