/* Inside the runtime: the context and what its files share. Not for generated code. */
#ifndef RT_INTERNAL_H
#define RT_INTERNAL_H

#include <setjmp.h>
#include <stdio.h>

#include "runtime/core/rt.h"
#include "runtime/drivers/dev.h"

/* Work-items of a group, and bytes of local memory given as arguments. */
typedef struct {
    int64_t group, local;
} rt_shape;

/* What an argument of a kernel is set to. Drivers may give a new buffer the handle of a released
 * one, so buffers are told apart by number. */
typedef struct {
    enum { RT_SET_NOTHING, RT_SET_VALUE, RT_SET_LOCAL, RT_SET_BUFFER } kind;
    size_t size;   /* VALUE, LOCAL: bytes */
    uint64_t bits; /* VALUE: padded with zeros; BUFFER: its number */
} rt_arg_state;

/* One of the two variants of a kernel: with indices of 32 bits or, where those are not enough, of
 * 64. Or what was made of it for the numbers of a launch. */
typedef struct rt_kernel rt_kernel;
struct rt_kernel {
    const rt_kernel_def *def;
    int id;        /* of the kernel */
    bool wide;     /* 64 bits */
    int64_t run;   /* of an entry, in which it was launched last; 0: never */
    bool launched; /* once at least */
    size_t
        built_for[3]; /* where drivers build at launches: the groups of the last one, see tell.c */
    rt_dev_program *program; /* may be that of other kernels, too */
    rt_dev_kernel *kernel;   /* NULL until built */
    const char *options;     /* of its build, beside those of all; NULL: none */
    char *build_error;       /* malloc'd; set when a build was tried and failed */
    bool too_large;          /* it did not build because it needs more resources than there are */
    int64_t chunk;     /* bytes of heap that its work-items got at the last launch, see heap.c */
    int64_t max_group; /* work-items that a group of it may have */
    int64_t own_local; /* bytes of local memory apart from arguments */
    rt_shape fits;     /* the last shape found to fit; smaller ones do, too */
    int n_refusals, cap_refusals;
    rt_shape *refusals; /* it cannot be launched in these, nor in larger ones */
    int n_set;
    rt_arg_state *set;         /* its arguments as they are */
    int64_t runs, nanoseconds; /* profile */
    int64_t *busy; /* ... of each thread of the device, nanoseconds; NULL: none were asked for */
    double bytes, operations; /* ... that it must move and compute, see rt_work */
    /* See sized.c: */
    int64_t *numbers;  /* those that it is built for; NULL: for any */
    char *definitions; /* ... as text */
    bool declares;     /* ... and it declares its local memory itself */
    rt_kernel *sized;  /* of one for any: those made of it, the last one used first */
    rt_kernel *next;   /* one of them -> another one */
    uint64_t
        sizes; /* rt_ctx.sizes when it was made; of one for any: when the last one was asked for */
    int64_t sized_run; /* in which run the last one was made ... */
    int in_run;        /* ... the how manieth of it */
    bool changing;     /* numbers change too often: no more are made, under these sizes */
    bool unsized;      /* they do not build or do not fit: none is used */
};

/* Small blocks lie together in pages, so that what several of them hold is read in one transfer:
 * RT_SLOT bytes apart, which is what drivers want of parts of buffers. */
enum {
    RT_BLOCK_ROUND = 2 * RT_BLOCK_ALIGN,
    RT_SLOT = 512,
    RT_SLOTS = 8,
    RT_PAGE = RT_SLOT * RT_SLOTS
};
typedef struct rt_page rt_page;
typedef struct rt_kept rt_kept;

/* What surrounds the last scalar that was read, as it was when the device had seen so many changes:
 * its neighbours are often the next. */
typedef struct {
    int64_t block, at, changes; /* the block's number, 0 for none; from which byte on */
} rt_window;
/* Where it is fetched to, and where failures are. */
enum { RT_FETCH_FAILURE = 0, RT_FETCH_WINDOW = RT_SLOT };

/* In which epoch (steps.c) a block was last read or written, written. */
typedef struct {
    int64_t touched, written;
} rt_uses;

struct rt_mem {
    int refs;
    rt_dev_buffer *buf;
    int64_t number; /* of its buffer: no other one of the context has or had it */
    int64_t size;   /* a multiple of RT_BLOCK_ROUND, unless it is foreign or RT_WATCHED */
    const char *name;
    rt_mem *next, *prev; /* all blocks of the context */
    rt_mem *next_free;
    int64_t rows;  /* of which it holds this rank's share; 0: what it holds is all there is */
    bool foreign;  /* its buffer is somebody else's: it is not used for other arrays */
    rt_page *page; /* of a small one, NULL: none; and where it lies there */
    int in_page;
    /* Of what is in it: nothing else had or will have this number; 0: somebody else may change it.
     */
    int64_t content;
    bool kept;     /* kept.c has or had it: nobody writes to it */
    int known;     /* ... bytes of its first element that the host has read, */
    char first[8]; /* ... which are these */
    /* In steps.c: by any group, by several; its number in batch `batch`. */
    rt_uses any, spread;
    int64_t batch;
    int slot;
};

struct rt_page {
    rt_mem whole;
    unsigned taken; /* a bit for each slot */
    rt_page *next;
};

/* A launch that is noted down, see steps.c. */
typedef struct {
    int kernel;
    uint32_t groups, size; /* ... of that many work-items */
    int first_arg, n_args;
    int32_t launch;
    bool fixed; /* its groups have their size for a reason */
    enum {
        RT_GOES_ON,
        RT_MEETS,
        RT_MEETS_AND_LOOKS
    } meets; /* waits for what was before; may that fail? */
} rt_step;
enum { RT_MOST_STEP_BLOCKS = 64, RT_STEP_BUFFERS = 8 };
typedef struct rt_stepper rt_stepper;

/* A loop of short steps, and what is noted of it. */
typedef struct {
    bool in_loop, on, running;
    bool asked; /* somebody has set the loop's threshold */
    int param;  /* that threshold */
    int window, launches, waits;
    int groupwise; /* of these launches, those that need groups of their size */
    int told;      /* ... those of which is known what they have to do: */
    double bytes, operations;
    int64_t items;
    /* The batch at work: */
    int n, cap, limit, n_args, cap_args, n_blocks;
    rt_step *list;
    rt_arg *args;
    rt_mem *blocks[RT_MOST_STEP_BLOCKS];
    int64_t group; /* work-items of a group, if steps need just so many; 0: they do not */
    bool parts;    /* there is a step whose groups may be parts of larger ones */
    bool wide;     /* there is one that needs indices of 64 bits */
    int64_t batch, epoch,
        failed; /* epochs end where groups wait; in which one could something fail? */
    /* On the way to the device: */
    int next_buffer;
    uint64_t *words[RT_STEP_BUFFERS];
    rt_mem *buffers[RT_STEP_BUFFERS];
    rt_stepper *steppers;
} rt_steps;

/* A comparison made since the last rt_comparisons_clear, and how often. */
typedef struct {
    int param;
    int64_t par, threshold;
    bool result;
    int64_t count;
} rt_comparison;

/* What calls may take: limit.c. */
typedef struct {
    double seconds; /* 0: what they like */
    bool running;   /* there is a call */
    bool over;      /* the last call was stopped for it */
    double start,
        built;       /* of the present call: when it began, what had then been spent in building */
    double looked;   /* its age when the device was last waited for */
    double building; /* when a launch began that builds its kernel; 0: it does not */
    bool stops;      /* the driver can end launches */
    volatile bool stopped; /* ... and did */
    volatile int held;     /* the program must not be ended now: it builds a kernel, or writes */
    int batch, left;       /* launches from then to the next time; of them, those to come */
} rt_limit;

/* Who runs on the device: turns.c. */
typedef struct {
    int file; /* whose lock says so; 0: nobody asks */
    bool mine;
} rt_turn;

/* Where the time of a call goes: parts.c. */
typedef struct {
    bool wanted;
    bool there;      /* those of the last call, or the present one so far */
    int param;       /* the last one compared, -1: none yet */
    double since;    /* when, in seconds of the call */
    double *seconds; /* [param], then what was before all comparisons; -1: not compared */
} rt_parts;

/* Transfers are profiled as if they were kernels, after the real ones. */
enum { RT_PROF_WRITE, RT_PROF_READ, RT_PROF_COPY, RT_N_PROF };

typedef struct {
    rt_dev_event *event;
    int kernel;
    double asked; /* when the host did, for the timeline */
} rt_pending;

/* What happened when: timeline.c. */
typedef enum { RT_TRACK_HOST, RT_TRACK_BUILD, RT_TRACK_KERNEL, RT_TRACK_TRANSFER } rt_track;
typedef struct {
    rt_track track;
    const char *name, *place;
    double asked;  /* by the host's clock, in seconds */
    int64_t begin; /* on the device: by its clock */
    int64_t ns;
} rt_span;
typedef struct {
    bool on;
    int n, cap;
    rt_span *spans;
    int64_t dropped; /* more than are kept */
} rt_timeline;

/* What prelude.cl declares as mf_failure; RT_UNMET: MF_UNMET. */
enum { RT_UNMET = -2 };
typedef struct {
    int32_t site, launch;
    int64_t args[8];
    uint32_t heap_need;
    int32_t heap_launch;
    uint32_t met, told;
} rt_failure;

/* Matrices, one behind the other, to be transposed. */
typedef struct {
    rt_mem *dst, *src;
    int64_t dst_off, src_off, batch, rows, cols;
    int elem;
} rt_matrices;

/* A copy of n elements, by dimensions: sizes and strides, the destination's innermost first. */
enum { RT_MOST_DIMS = 8 };
typedef struct {
    int64_t n, dst, src;
} rt_dim;
typedef struct {
    rt_mem *dst, *src;
    int64_t dst_off, src_off, n;
    int elem, rank; /* 1 at least */
    rt_dim dims[RT_MOST_DIMS];
} rt_copied;

/* Memory of a rank's device that the others' copy from or into, in two halves, and a mark for each:
 * where it has been filled. */
typedef struct {
    rt_mem whole;
    rt_dev_mark *filled[2];
} rt_rank_window;

/* Rows of an array of which each rank has some. */
typedef struct {
    rt_mem *mem, *from; /* this rank's are in `from`, from byte `own` on; mem: in their place */
    int64_t *at, own;   /* the byte where each rank's begin; and how many there are */
    bool even;          /* they are shares, as many for each as there are */
} rt_gathered;
enum { RT_TOGETHER = 8 }; /* arrays in a message */

/* Where kernels of all ranks meet. */
#define RT_GATHER_GROUPS 128 /* work-groups that take part in it, at most */
typedef struct {
    rt_rank_window *windows;
    int64_t half, slot; /* where in each they write: slots of so many bytes for each other rank */
    int64_t words;      /* where groups tell each other */
    int64_t *turn;      /* how often these have told each other so far */
} rt_meeting;

/* A block of a rank's own rows and what lies beside them, in bytes, as far as there are such rows:
 * what it wants, and what it gives. */
typedef struct {
    int64_t low, high, own, low_at, own_at, high_at, give_low, give_high, row;
} rt_sides;

/* How built-in operations are done, as rt.h tells of them, where there is something to do that is
 * no plain copy; and the kernels that are launched for that. */
typedef struct {
    const rt_kernel_def *kernels;
    int n_kernels;
    int (*fill)(rt_ctx *ctx, rt_mem *dst, int64_t off, int64_t count, int elem, const void *value);
    int (*iota)(rt_ctx *ctx, rt_mem *dst, int64_t off, int64_t count, int elem, int64_t start,
                int64_t step);
    int (*transpose)(rt_ctx *ctx, const rt_matrices *m);
    int (*copy)(rt_ctx *ctx, const rt_copied *c);
    /* By kernels of all ranks, or NULL. A message of n arrays that are even, or a part of it: of
     * each rank's rows, one array's behind the other's, `most` bytes from byte `done` on. */
    int (*gather)(rt_ctx *ctx, const rt_meeting *m, const rt_gathered *arrays, int n, int64_t done,
                  int64_t most);
    int (*beside)(rt_ctx *ctx, const rt_meeting *m, rt_mem *mem, const rt_sides *s, int64_t most);
} rt_builtins;

/* What has been told of building kernels. */
typedef struct {
    bool logged;
    bool missed;    /* a kernel was not in the cache */
    double seconds; /* building took so far */
} rt_tell;

/* A launch at which the driver builds the kernel. */
typedef struct {
    bool on;
    double start;
    rt_dev_event *event; /* NULL: the driver does not tell when it ran */
} rt_late;

/* What hangs on the target of a device: target.c. */
typedef struct {
    const char *name; /* "gpu" */
    bool functions; /* it takes kernels' functions, and the column `native` of facts.def; else their
                       texts, and the column `gpu` */
    const char *options;      /* of each build */
    const char *step_options; /* ... of a loop's short steps in one launch: steps.c; may be NULL */
    size_t most_optimised;    /* bytes of a kernel's text; longer ones: without the optimiser */
    bool sized;               /* kernels may be built for the numbers of their launches: sized.c */
    bool builds_aside;        /* others may run while kernels are built: turns.c */
    /* Built-in kernels that stride: work-items of a group, groups for each compute unit. */
    int64_t stride_group, stride_groups;
    int64_t by_kernel; /* so many bytes at most are moved by a kernel, not by the driver */
} rt_target;

/* Where ranks meet; all at the same place. */
typedef enum {
    RT_AT_BEGIN,
    RT_AT_EXCHANGE,
    RT_AT_WINDOWS,
    RT_AT_ROWS,
    RT_AT_SIDES,
    RT_AT_END,
    RT_AT_LIBRARY
} rt_where;

#define RT_DIFFER "the ranks found different results of the same computation"

/* Those of devices of one machine (exchange.c). */
typedef struct {
    bool tried;
    rt_rank_window *of; /* each rank; NULL: there are none */
    int64_t turn;       /* how many exchanges there were */
    bool meet;          /* kernels of all ranks may wait for each other */
    int64_t told;       /* how often they have done so */
} rt_windows;

/* What ranks exchange: single numbers, rows beside their own, whole arrays. */
typedef enum { RT_NUMBERS, RT_BESIDE, RT_WHOLES, RT_N_EXCHANGES } rt_exchange_kind;

/* How often, how many bytes this rank got, and for how many seconds the host was at it, waiting for
 * the device and for other ranks. */
typedef struct {
    int64_t n, bytes;
    double seconds;
} rt_exchanged;

/* What is known of other ranks. */
typedef struct {
    rt_exchanged done[RT_N_EXCHANGES]; /* since profiles began */
    rt_scalar *told;                   /* by the last exchanges; NULL: none yet */
    int64_t exchanges;                 /* so far */
    rt_windows windows;
    rt_gathered waiting[RT_TOGETHER]; /* for those that are gathered with them */
    int n_waiting;
    char *host; /* memory that exchanges go through, kept: new pages cost as much as they do */
    int64_t host_bytes;
    double adds_us, gathered_us; /* additions, and elements gathered, in a us */
    int64_t memory;              /* of the smallest of their devices; 0: one does not say */
    bool crowded;     /* this call's arguments in parts would hardly have room there as a whole */
    bool failed;      /* in this call, and all know it */
    char error[4096]; /* ... with this message */
} rt_ranks_state;

struct rt_ctx {
    const rt_program *prog;
    rt_config config;
    FILE *log_file;   /* where -L goes: standard error, or standard output when serving */
    FILE *debug_file; /* ... -D */
    char error[8192];
    bool error_told; /* ... is that of a place in the program, and says so */

    rt_dev_info device;
    rt_dev *dev;
    const rt_target *target;
    char *unpacked;     /* the texts of the program's kernels; NULL: they have a source; ... */
    const char **texts; /* ... by id: rt_text_of */
    const char *common; /* what stands before each, of config.kernels; NULL: the runtime's */

    int64_t facts[RT_N_SIZES];      /* defaults for this device */
    int64_t user_sizes[RT_N_SIZES]; /* 0: not set; -1: set to 0 */
    int64_t *user_params;           /* 0: not set */
    rt_size_class *param_sizes;     /* the general sizes that their classes name */
    uint64_t sizes;                 /* stands for all that is set of sizes */

    double build_seconds; /* spent in building kernels so far */
    bool build_alone;     /* kernels do not build together */
    const rt_builtins *builtins;
    int n_kernels;      /* the program's, then the built-in ones */
    rt_kernel *kernels; /* with indices of 32 bits; then all again, with 64 */
    bool wide;          /* only those are used */
    bool sized;         /* kernels are built for numbers of launches */
    int64_t room;       /* bytes of local memory that these may declare; 0: nobody has asked */
    int wide_units;     /* 0: nobody has asked, see target.c */
    int64_t run;        /* of an entry: the present one is the how manieth? */
    char cache[1024];   /* folder of built kernels, "" for none */

    rt_dev_buffer *failure; /* an mf_failure of prelude.cl */
    int launch;             /* number of the last launch that could fail */
    bool unchecked;         /* a kernel that can fail was launched since the last check */
    bool asked;             /* the answer is being fetched, to there */
    int answer_at;

    rt_mem *blocks, *free_blocks;
    rt_page *pages,
        *failure_page;   /* the latter holds `failure`, in its first slot; NULL: none does */
    rt_mem *board;       /* see rt_board */
    rt_mem *counts;      /* see rt_counts */
    bool waited;         /* kernels may have waited in vain: to be asked when results are read */
    int64_t board_given; /* since it was cleared */
    int64_t contents;    /* numbers of contents so far */
    rt_kept *kept;       /* kept.c; NULL: nothing yet */
    bool keeps, keeps_nothing;                  /* is something there; nothing ever will be */
    bool kept_in_doubt;                         /* something has failed since */
    int64_t live_bytes, free_bytes, peak_bytes; /* peak of both together */
    int64_t n_allocs, n_reused;
    bool out_of_memory; /* of the device: a block could not be had */
    rt_window window;

    int n_comparisons, cap_comparisons;
    rt_comparison *comparisons;
    rt_steps steps;
    rt_limit limit;
    rt_ranks_state ranks;
    rt_turn turn;
    rt_parts parts;
    rt_tell tell;

    bool profiling; /* now: config.profile and not paused */
    int n_pending, cap_pending;
    rt_pending *pending;
    rt_timeline timeline;
    int64_t transfer_runs[RT_N_PROF], transfer_ns[RT_N_PROF];
    double transfer_bytes[RT_N_PROF];
};

/* --- runtime/values/ranks.c --- */

/* The first rank that has found something wrong, and what: `text`. -1: none has. All ranks ask. */
RT_API int rt_together(const rt_config *c, const char *wrong, char *text, size_t size);
/* Is it so on all ranks? */
RT_API bool rt_all_have(const rt_config *c, bool so);
/* The first rank with another number than rank 0; -1: there is none. All ranks ask. */
RT_API int rt_other_rank(const rt_config *c, uint64_t mine);
/* The type and shape of what rank 0 has read become known to all; ok: it has been, at rank 0. False
 * on all of them if it was not. */
RT_API bool rt_tell_shape(const rt_config *c, bool ok, rt_hvalue *v);
/* What rank 0 has read becomes known to all; ok: it has been, at rank 0. False on all of them if it
 * was not, or one has no memory for it. */
RT_API bool rt_tell_value(const rt_config *c, bool ok, rt_hvalue *v);
/* rc, or RT_ERR and the message of a rank where something has failed. */
RT_API int rt_agree(rt_ctx *ctx, int rc, rt_where where);
/* The same, and n numbers of each rank become known: RT_EXCHANGED a rank in `told`. */
RT_API int rt_agree_telling(rt_ctx *ctx, int rc, rt_where where, int n, const rt_scalar *mine,
                            rt_scalar *told);
/* Frees what exchanges have had: before the context is. */
RT_API void rt_exchange_close(rt_ctx *ctx);
/* Is it so on all ranks, or on none? */
RT_API bool rt_alike(const rt_config *c, bool so);
/* What ranks must agree on before they run entries: RT_ERR on all of them if they do not. */
RT_API int rt_ranks_open(rt_ctx *ctx);
/* MINIFUT_WINDOWS=0, for tests: as if devices could not read each other's memory; 1: as if their
 * kernels could not wait for each other. */
RT_API bool rt_windows_wanted(int most);
/* Can other ranks probably read this device's memory? */
RT_API bool rt_windows_likely(const rt_ctx *ctx);
/* Where the rows of ranks begin, in bytes; to free(). */
RT_API int64_t *rt_rows_of_ranks(const rt_config *c, int64_t rows, int64_t row_bytes);
/* Host memory that the next such call may take again; NULL and a message if there is none. */
RT_API char *rt_host_memory(rt_ctx *ctx, int64_t bytes);

/* --- basics.c --- */

/* realloc. When memory is short it ends the process with a message; or goes to the place that this
 * thread has named last, where the context can only be freed any more. NULL: none. */
RT_API void *rt_grow(void *p, size_t bytes);
RT_API void rt_leave_to(jmp_buf *place);
/* printf into a new string. */
RT_API char *rt_format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
#define RT_HASH_START 0xcbf29ce484222325u
/* FNV-1a of a text, with the terminating NUL, so that the boundaries between texts count. */
RT_API uint64_t rt_hash(uint64_t h, const char *s);
/* A clock. */
RT_API double rt_seconds(void);

/* A line to the log under -L, or to standard error under -D. */
RT_API void rt_log(rt_ctx *ctx, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
RT_API void rt_debug(rt_ctx *ctx, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* RT_OK; or "CALL failed: NAME (what)" is stored and RT_ERR returned. */
RT_API int rt_dev_check(rt_ctx *ctx, rt_dev_error e, const char *what);

/* --- target.c --- */

/* That of a device; MINIFUT_CODE names another one. */
RT_API const rt_target *rt_target_of(const rt_dev_info *d);
/* The kernel's text for the device; NULL: there it is a function. */
RT_API const char *rt_text_of(const rt_ctx *ctx, const rt_kernel *k);
/* Before the first is asked for. False, with the message in error (to free()): config.kernels lacks
 * one. */
RT_API bool rt_texts_open(rt_ctx *ctx, char **error);
/* Packed texts (common/packed.h) as they are, one behind the other, each with its NUL; to free().
 */
RT_API char *rt_unpack(const char *packed);
/* "gpu", "cpu"; NULL if there is none of that name. */
RT_API const rt_target *rt_target_named(const char *name);
/* The facts of the device, by its target. */
RT_API void rt_facts_open(rt_ctx *ctx);
/* v, or less: what the device allows of a size. */
RT_API int64_t rt_at_most(const rt_ctx *ctx, rt_size_class c, int64_t v);

/* --- device.c --- */

/* Fills in the device, its target and its facts. False and *error (to free()) if there is no such
 * one. */
RT_API bool rt_device_open(rt_ctx *ctx, char **error);
/* Prints all devices that the program can run on, in the order of -d #k. False if there is none. */
RT_API bool rt_device_list(const rt_program *prog, FILE *f);

/* --- params.c --- */

/* Parameters that nobody has set; gives back what is kept of them. */
RT_API void rt_params_open(rt_ctx *ctx);
RT_API void rt_params_free(rt_ctx *ctx);
/* A name of a size: "group_size", "default-group-size". */
typedef struct {
    const char *name, *option;
    rt_size_class size; /* RT_NO_SIZE: known, without effect */
} rt_size_name;
/* That of an option there is. */
RT_API const rt_size_name *rt_size_of_option(const char *option);
/* The parameter with this name, or -1. */
RT_API int rt_param_named(const rt_program *prog, const char *name);
/* Is it one, or a general size ("default_group_size")? */
RT_API bool rt_param_known(const rt_program *prog, const char *name);

/* --- guards.c --- */

RT_API void rt_comparisons_clear(rt_ctx *ctx);
/* threshold <= par? That is logged, and listed in the report of the call. */
RT_API bool rt_compare(rt_ctx *ctx, int param, int64_t par, int64_t threshold);

/* --- refusals.c --- */

/* rt_fits by kernel, and what to do when the driver refused a launch for `why`. */
RT_API bool rt_kernel_fits(rt_ctx *ctx, rt_kernel *k, int64_t group, int64_t local);
RT_API void rt_kernel_refused(rt_ctx *ctx, rt_kernel *k, int64_t group, int64_t local,
                              const char *why);
/* Another limit holds: every kernel is asked anew. */
RT_API void rt_refusals_forget(rt_ctx *ctx);

/* --- build.c --- */

/* The kernel's variant with indices of so many bits; wide if only those are used. */
RT_API rt_kernel *rt_variant(rt_ctx *ctx, int kernel, bool wide);
/* Builds a kernel unless it is built. RT_REFUSED when it needs more than the device has. */
RT_API int rt_build(rt_ctx *ctx, rt_kernel *k);
/* Gives back what a variant holds, and those that were made of it. */
RT_API void rt_kernel_free(rt_ctx *ctx, rt_kernel *k);
/* The folder for config.cache, made if it is missing; "" if it cannot be used. */
RT_API void rt_cache_open(rt_ctx *ctx);
/* All kernels of the program as one text of OpenCL C, for --dump-opencl: what all have in common,
 * then each behind a line that names it. */
#define RT_DUMP_HEAD   "/* The kernels in OpenCL C */" /* how it begins */
#define RT_DUMP_KERNEL "/* Kernel %s */\n"
RT_API void rt_dump_kernels(const rt_program *prog, FILE *f);

/* --- sized.c --- */

/* Whether that is done here at all. */
RT_API void rt_sized_open(rt_ctx *ctx);
/* Is k one that is built when it is launched, for the numbers that there are? */
RT_API bool rt_is_sized(const rt_ctx *ctx, const rt_kernel *k);
/* Of variant k the one for a launch in groups of `local` with these arguments, perhaps not built
 * yet; k itself where it is for any. */
RT_API rt_kernel *rt_sized(rt_ctx *ctx, rt_kernel *k, int n_dims, const size_t *local,
                           const rt_arg *args);
/* Those of k are not used any more: this one does not build, or does not fit. */
RT_API void rt_sized_give_up(rt_ctx *ctx, rt_kernel *k);

/* --- room.c --- */

/* How many bytes of local memory a group may have of a kernel that declares them itself and needs
 * so many. */
RT_API int64_t rt_room(rt_ctx *ctx, int64_t bytes);
/* Bytes of local memory for an argument: so many that the next one lies aligned for any elements,
 * since kernels see buffers of small elements as words. */
enum { RT_LOCAL_ALIGN = 16 };
RT_API size_t rt_local_size(const rt_arg *a);
/* ... of all of them, apart from what the kernel declares itself. */
RT_API int64_t rt_local_bytes(const rt_kernel *k, int n_args, const rt_arg *args);
/* Is argument i local memory that the kernel declares itself? */
RT_API bool rt_is_own_local(const rt_kernel *k, int i, const rt_arg *a);

/* --- turns.c --- */

/* From now on runs only while it has the lock on the file; NULL: as it likes. Not where kernels are
 * built by what runs them. */
RT_API int rt_turns(rt_ctx *ctx, const char *path);
/* Waits for the lock, which does not count as time of a call. */
RT_API void rt_turn_take(rt_ctx *ctx);
/* Waits for the device and leaves it to others. False: it was not its turn. */
RT_API bool rt_turn_give(rt_ctx *ctx);

/* --- limit.c --- */

/* A call begins; what it took, without the building of kernels. */
RT_API void rt_limit_begin(rt_ctx *ctx);
RT_API double rt_limit_end(rt_ctx *ctx);
/* Before a launch of k: RT_ERR if the call has taken longer than it may. And behind it. */
RT_API int rt_limit_launch(rt_ctx *ctx, const rt_kernel *k);
/* ... of a launch to come, which then takes place whatever the time. */
RT_API int rt_limit_ahead(rt_ctx *ctx);
RT_API int rt_limit_launched(rt_ctx *ctx, rt_kernel *k);

/* --- tell.c --- */

/* A kernel is being built from source, if that is to be told; it is, which took so long; the
 * program's runs have ended. */
RT_API void rt_tell_source(rt_ctx *ctx);
RT_API void rt_tell_built(rt_ctx *ctx, double seconds);
RT_API void rt_tell_end(rt_ctx *ctx);
/* Is it asked how long the driver builds at launches? Before a launch of k that may be such a one,
 * and behind it. */
RT_API bool rt_late_asks(const rt_ctx *ctx);
RT_API int rt_late_begin(rt_ctx *ctx, rt_kernel *k, int n_dims, const size_t *local, rt_late *l);
RT_API int rt_late_end(rt_ctx *ctx, const rt_kernel *k, rt_late *l);

/* --- parts.c --- */

/* Seconds of the present call, without the building of kernels. */
RT_API double rt_call_gone(const rt_ctx *ctx);
/* Calls tell their parts from now on, or do not. */
RT_API void rt_parts_wanted(rt_ctx *ctx, bool wanted);
/* A call begins; the parameter is compared, and its versions follow; the call has ended. */
RT_API void rt_parts_begin(rt_ctx *ctx);
RT_API void rt_part(rt_ctx *ctx, int param);
RT_API void rt_parts_end(rt_ctx *ctx);
/* Those of the last call, a line each: "part: NAME MICROSECONDS". */
RT_API void rt_parts_print(const rt_ctx *ctx, FILE *f);

/* --- launch.c --- */

/* Asks whether a kernel has failed (nothing happens if none can have); and waits for the answer:
 * RT_ERR with the site's message. */
RT_API int rt_ask_failure(rt_ctx *ctx);
RT_API int rt_answer_failure(rt_ctx *ctx);
RT_API int rt_failure_init(rt_ctx *ctx);

/* One launch, of full groups of the variant that has room for its indices: builds that if it is the
 * first one, numbers the launch if it can fail, sets the arguments that changed (heap: the
 * block for RT_ARG_HEAP and the bytes of it for each work-item) and enqueues it. */
RT_API int rt_launch_once(rt_ctx *ctx, int kernel, int n_dims, const int64_t *global,
                          const int64_t *local, int n_args, const rt_arg *args, rt_mem *heap,
                          int64_t chunk);
/* How many groups of `group` work-items and `local` bytes of local memory as arguments the device
 * surely runs at once, so that they may wait for each other; 1 where they may not. The kernel is
 * built. */
RT_API int64_t rt_groups_at_once(const rt_ctx *ctx, const rt_kernel *k, int64_t group,
                                 int64_t local);
/* Enqueues a launch of a kernel that is built; the last two arguments are those of a heap. */
RT_API int rt_enqueue(rt_ctx *ctx, rt_kernel *k, int n_dims, const size_t *global,
                      const size_t *local, int n_args, const rt_arg *args, rt_mem *heap,
                      int64_t chunk);
/* The number of a launch: larger than that of any before which could fail. Only those that can fail
 * themselves need one of their own; for others the argument stays what it is. */
RT_API int32_t rt_launch_number(rt_ctx *ctx, const rt_kernel *k, const rt_mem *heap);
/* Forgets all failures. */
RT_API int rt_failure_reset(rt_ctx *ctx);

/* --- steps.c --- */

/* A launch of so many work-items comes in a loop (nothing happens elsewhere): are the steps of the
 * loop short? */
RT_API int rt_loop_launches(rt_ctx *ctx, const rt_kernel_def *def, int n_args, const rt_arg *args,
                            int64_t items);
/* ... which must move so many bytes and do so many operations. */
RT_API void rt_loop_work(rt_ctx *ctx, double bytes, double operations);
/* Are launches noted down at present? */
RT_API bool rt_noting(const rt_ctx *ctx);
/* ... and can those of this kernel be, in groups of so many work-items? */
RT_API bool rt_may_note(const rt_ctx *ctx, const rt_kernel *k, int n_dims, int64_t size, int n_args,
                        const rt_arg *args);
/* Notes one down, of a variant that is built and fits. */
RT_API int rt_step_note(rt_ctx *ctx, rt_kernel *k, int kernel, int64_t groups, int64_t size,
                        int n_args, const rt_arg *args);
/* Has everything that is noted down done: before the device is waited for, or memory given back. */
RT_API int rt_steps_run(rt_ctx *ctx);
/* Forgets it. */
RT_API void rt_steps_drop(rt_ctx *ctx);
/* The loop was left, in whatever way. */
RT_API void rt_loop_leave(rt_ctx *ctx);
RT_API void rt_steps_free(rt_ctx *ctx);

/* --- heap.c --- */

/* A launch of a kernel that has an argument RT_ARG_HEAP, repeated until the heap is large enough.
 * What that took is kept in k, whichever variant is launched. */
RT_API int rt_launch_heap(rt_ctx *ctx, rt_kernel *k, int n_dims, const int64_t *global,
                          const int64_t *local, int n_args, const rt_arg *args);

/* --- kept.c --- */

RT_API void rt_kept_free(rt_ctx *ctx);

/* --- mem.c --- */

/* The block is about to have another content; what somebody else may change stays unknown. */
RT_API void rt_content_new(rt_ctx *ctx, rt_mem *m);

/* Between two buffers, perhaps another process's, as rt_copy does: name is of what is copied. */
RT_API int rt_copy_buffer(rt_ctx *ctx, rt_dev_buffer *dst, int64_t dst_off, rt_dev_buffer *src,
                          int64_t src_off, int64_t bytes, const char *name);
/* A small buffer, and its place in a page: NULL if the driver does not allow that. */
RT_API rt_dev_error rt_small_buffer(rt_ctx *ctx, rt_page **page, int *slot, rt_dev_buffer **out);
RT_API void rt_pages_free(rt_ctx *ctx);
/* A block around a buffer that others have made (rt_dev_adopt), with at least so many bytes. */
RT_API int rt_adopt(rt_ctx *ctx, rt_mem **out, const void *handle, int64_t bytes);
RT_API void rt_free_dead_blocks(rt_ctx *ctx);
/* What each has becomes the other's; names and references stay. Nothing that is noted down may read
 * or write them. */
RT_API void rt_exchange_blocks(rt_mem *a, rt_mem *b);
/* How many bytes could still be allocated; INT64_MAX when the device does not say. */
RT_API int64_t rt_memory_left(const rt_ctx *ctx);
RT_API void rt_free_all_blocks(rt_ctx *ctx);

/* --- profile.c --- */

/* Where a command puts its event: NULL unless profiling. `kernel`: index, or n_kernels +
 * RT_PROF_... */
RT_API rt_dev_event **rt_profile_event(rt_ctx *ctx, int kernel);
/* Adds up the events so far; waits for the device. */
RT_API void rt_profile_collect(rt_ctx *ctx);
RT_API void rt_profile_reset(rt_ctx *ctx);
/* The table of -P. */
RT_API void rt_profile_table(rt_ctx *ctx, FILE *f);
/* What ran, a line each: "RUNS NANOSECONDS BYTES OPERATIONS NAME<tab>PROVENANCE<tab>", and then
 * nanoseconds that each thread worked, if the device tells, each with a blank behind it. */
RT_API void rt_profile_lines(rt_ctx *ctx, FILE *f);
/* One line of JSON: memory, events (kernels), comparisons of the last call. */
#define RT_PROFILE_HEAD "{\"device\": " /* how it begins */
RT_API void rt_report_json(rt_ctx *ctx, FILE *f);

/* --- timeline.c --- */

/* The host's clock, in seconds; 0: there is no timeline. */
RT_API double rt_timeline_now(const rt_ctx *ctx);
/* The host did this since then (0: nothing happens). */
RT_API void rt_timeline_host(rt_ctx *ctx, rt_track track, const char *name, const char *place,
                             double since);
/* The device ran a command, for which it was asked then. */
RT_API void rt_timeline_device(rt_ctx *ctx, rt_track track, const char *name, const char *place,
                               double asked, int64_t begin, int64_t ns);
/* What happened as far as events are collected, a line each: "TRACK BEGIN DURATION NAME<tab>PLACE",
 * in nanoseconds by the host's clock. */
RT_API void rt_timeline_print(const rt_ctx *ctx, FILE *f);
RT_API void rt_timeline_clear(rt_ctx *ctx);
RT_API void rt_timeline_free(rt_ctx *ctx);

/* --- builtin_native.c --- */

/* Loops in C. */
RT_API const rt_builtins *rt_builtins_by_functions(void);

/* --- builtin.c --- */

/* Those of runtime/kernels. */
RT_API const rt_builtins *rt_builtins_by_kernels(void);
/* Are so many bytes moved by a kernel, not by a command of the driver? */
RT_API bool rt_by_kernel(const rt_ctx *ctx, int64_t bytes);
/* rt_copy as a launch. */
RT_API int rt_copy_by_kernel(rt_ctx *ctx, rt_mem *dst, int64_t dst_off, rt_mem *src,
                             int64_t src_off, int64_t bytes);

/* --- tuning.c --- */

/* Reads a tuning file: unknown names are warnings, and so are lines of rt_tuning_origin that are
 * not of this program and device; bad lines errors. */
RT_API int rt_tuning_file(rt_ctx *ctx, const char *path);
/* What tuning holds for, as it stands in comments of tuning files: "device: NAME", or "program: "
 * and a hash of its parameters and kernels. To free(). */
typedef enum { RT_ORIGIN_DEVICE, RT_ORIGIN_PROGRAM, RT_N_ORIGINS } rt_origin;
RT_API char *rt_tuning_origin(const rt_ctx *ctx, rt_origin which);
/* "NAME=INT" of --param. */
RT_API int rt_tuning_assignment(rt_ctx *ctx, const char *text);

#endif
