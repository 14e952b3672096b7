/* The runtime of generated programs: what the code generator writes against.
 *
 * A generated program prog.c is: the text of runtime/bundle.sh's output (every file of this folder,
 * in order, local includes left out; the .cl files as string constants), static const tables, one C
 * function an entry point, an `rt_program`, and
 *
 *     int main(int argc, char **argv) { return rt_main(&program, argc, argv); }
 *
 * A library has library.c and library_values.c in the place of the server and the command line, and
 * the functions of Futhark's C API in that of main.
 *
 * Names: everything of the runtime is rt_... / RT_..., scalar functions are mf_... (scalar.h), so a
 * program is free to use any other name.
 *
 * Conventions
 * - Every function that can fail returns RT_OK, RT_ERR (message stored in the context: pass it up)
 *   or, rt_launch only, RT_REFUSED. Typical code:
 *       if ((rc = rt_alloc(ctx, &a, n * 4, "a")))
 *           goto done;
 * - An rt_mem * variable starts as NULL and owns one reference; `rt_unref(ctx, &a)` ends that.
 *   Block variables may be overwritten by rt_alloc and rt_set, which release what they held.
 * - Sizes, offsets and shapes are int64_t. rt_copy, rt_read, rt_write, rt_read_scalar and
 *   rt_write_scalar count bytes; everything that is told an element size counts elements.
 * - One in-order queue. Nothing waits for the device but rt_sync, rt_read and rt_read_scalar, and
 *   these are the places where failures inside kernels surface.
 * - A context is used by one thread at a time. */
#ifndef RT_H
#define RT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cost.h"
#include "common/facts.def"
#include "common/policy.h"
#include "common/values.h"
#include "runtime/drivers/comm.h"
#include "runtime/drivers/dev.h"

typedef struct rt_ctx rt_ctx; /* one device with its queue, kernels, blocks and settings */
typedef struct rt_mem rt_mem; /* a reference-counted block of device memory */
typedef struct rt_arg rt_arg; /* an argument of a launch */

enum {
    RT_OK = 0,
    RT_ERR = 1,    /* failed: rt_error(ctx) holds the message */
    RT_REFUSED = 2 /* the device cannot run this kernel with this group size and local memory */
};

/* ------------------------------------------------------------------------------------------------
 * Tables of a generated program
 * --------------------------------------------------------------------------------------------- */

/* Are 32 bits enough for all indices (mf_index of prelude.cl) of a kernel in a launch with these
 * arguments, of groups[d] groups of size[d] work-items? */
typedef bool rt_narrow(const rt_arg *args, const int64_t groups[3], const int64_t size[3]);
/* Argument i, an i32 or i64, as a factor in such a function (kir/facts/limits.h), and what a sum
 * has to be at most. */
RT_API double rt_count(const rt_arg *args, int i);
#define RT_INT 2147483647.0

/* A name that a kernel's text leaves open, and what it stands for. */
typedef struct {
    const char *name, *value;
} rt_define;

/* A kernel that is a function, declared and in its row. RT_WIDE: there are two of it, since the
 * program is for other processors, too (native.h). */
#ifdef RT_WIDE
#define RT_DECLARED(name) name, name##_wide
#define RT_FUNCTION(name)                                                                          \
    {                                                                                              \
        name, name##_wide                                                                          \
    }
#else
#define RT_DECLARED(name) name
#define RT_FUNCTION(name)                                                                          \
    {                                                                                              \
        name, NULL                                                                                 \
    }
#endif

/* A kernel. The id used below is its index in rt_program.kernels.
 *
 * `source` is OpenCL C 1.2 without prelude: scalar.h and prelude.cl are put in front of it. It
 * defines one kernel called `name`. NULL: it is among the program's texts, if it has one. If it
 * records failures, or asks whether there were any, its first two parameters are the block of
 * failures and the number of the launch, which rt_launch sets; the arguments given to rt_launch
 * follow. */
typedef struct {
    const char *name; /* of the kernel in it */
    const char *source;
    rt_dev_function *function[2]; /* NULL: none. The second, or NULL: for processors with AVX2 and
                                   * FMA, which the first one does without (RT_FUNCTION) */
    const char *prov;             /* where it comes from: "prog.sf:12:7" */
    const rt_define *defines;     /* up to one without a name; NULL: none */
    bool failure;                 /* has those two parameters */
    bool may_fail;                /* calls mf_fail */
    bool fixed_group;  /* has barriers: it cannot do with smaller groups than it is given */
    rt_narrow *narrow; /* NULL: in every launch */
    uint64_t reads;    /* set of arguments of rt_launch, blocks that it does not write to */
    bool sized;        /* it may be built for the numbers of its launches, see sized.c ... */
    uint64_t steady;   /* ... for these arguments (a set), which seldom change */
    int private_words; /* that a work-item's arrays have on GPUs: they are to be registers */
    unsigned types;    /* set of 1u << rt_prim, those in its text: it may do without scalar.h's
                        * functions for others */
} rt_kernel_def;

/* A tuning parameter. Its id is its index in rt_program.params.
 *
 * cls is what --print-params shows in brackets: "threshold(def, !main.suff_outer_par_0)",
 * "group_size", "num_groups", "tile_size", ...; "user": `#[param(NAME)]` of the program. A default
 * of 0 means: the general size that the class names (RT_THRESHOLD, RT_GROUP_SIZE, ...), which
 * options and the tuning file may set; of the user's, that it is not set. */
typedef struct {
    const char *name; /* "main.suff_outer_par_0" */
    const char *cls;
    int64_t value; /* the default */
} rt_param_def;

/* A place in the program that can fail. Its id is its index in rt_program.sites.
 * `text` may hold up to 8 "%ld", replaced in order by the arguments; "%%" is a percent sign:
 * "Index [%ld] out of bounds for array of shape [%ld]." */
typedef struct {
    const char *text;
    const char *pos;     /* "prog.sf:12:7" */
    const char *excerpt; /* the source line, and one with a caret, printed below the message; NULL
                            if not known */
} rt_site_def;

/* The types at the boundary. A type's id is its index in rt_program.types. Every value at the
 * boundary is flattened into one or more rt_value ("components"): records field by field, in the
 * order given. */
typedef enum {
    RT_KIND_PRIM,   /* prim; one component of rank 0 */
    RT_KIND_ARRAY,  /* prim and rank >= 1; one component */
    RT_KIND_RECORD, /* fields: records, tuples (fields "0", "1", ...) */
    RT_KIND_SUM,   /* variants; its own components: the number of one of them (i8, i16 or i32), what
                      they hold */
    RT_KIND_OPAQUE /* arrays of others: the components of elem (of the fields, if it is not there),
                    * each with the dimensions in front; of records, with the fields as arrays */
} rt_kind;

typedef struct {
    const char *name;
    int type; /* id */
} rt_field_def;

/* A variant of a sum: types of what it holds, and which of the sum's components their components
 * are. */
typedef struct {
    const char *name;
    int n;
    const int *types, *places;
} rt_variant_def;

typedef struct {
    rt_prim prim;
    int rank;
} rt_component_def;

typedef struct {
    const char *name; /* "i32", "[][]f32", "(i32, []f32)", "point": Futhark's spelling, no sizes */
    rt_kind kind;
    rt_prim prim;
    int rank;
    int n_fields;
    const rt_field_def *fields;
    int elem; /* RT_KIND_OPAQUE: id of an element's type, without `rank` dimensions; -1 if there is
                 none */
    int n_variants, n_components; /* RT_KIND_SUM */
    const rt_variant_def *variants;
    const rt_component_def *components;
} rt_type_def;

typedef struct {
    const char *name; /* of the parameter; may be NULL */
    int type;         /* id */
    bool unique;      /* parameter: consumed by the call; result: aliases nothing */
} rt_slot_def;

/* A component of a value at the boundary: a scalar in host memory or a row-major array, without
 * padding, in device memory. */
typedef struct {
    rt_prim prim;
    int rank;
    int64_t shape[RT_MAX_RANK];
    rt_scalar scalar; /* rank 0 */
    rt_mem *mem;      /* rank > 0; elements start at byte 0 */
} rt_value;

/* An entry point.
 *
 * call: `in` has one rt_value per component of the parameters, in order, with prim and rank as
 * declared; their blocks are borrowed (rt_ref what is kept). It may overwrite the blocks of unique
 * parameters only. It checks sizes that several parameters share and reports a mismatch with
 * rt_error_set. `out` starts zeroed; on RT_OK each component is filled in completely and owns a
 * reference to its block. On RT_ERR what is filled in is released by the caller. It need not
 * rt_sync. */
typedef struct {
    const char *name;
    int n_in, n_out;
    const rt_slot_def *in, *out;
    int (*call)(rt_ctx *ctx, const rt_value *in, rt_value *out);
    int n_params;
    const int *params; /* ids of the tuning parameters that it (transitively) uses */
    int n_attrs;
    const char *const *attrs;
    uint64_t
        key; /* of what it does, wherever in whichever file it is written, and of the runtime */
} rt_entry_def;

/* What a program for several ranks has besides. */
typedef struct {
    const rt_comm *comm; /* by which they speak */
    /* Of each entry: NULL, or for each component of `in`: it may be this rank's rows alone */
    const bool *const *parted;
} rt_ranks_def;

typedef struct {
    const char *name; /* "prog" */
    int n_kernels, n_params, n_sites, n_types, n_entries;
    int n_recalls; /* inspectors' numbers are below */
    const rt_kernel_def *kernels;
    const rt_param_def *params;
    const rt_site_def *sites;
    const rt_type_def *types;
    const rt_entry_def *entries;
    bool server;           /* compiled with --server: speaks the protocol without being asked to */
    bool same_products;    /* see MF_SAME_PRODUCTS (runtime/kernels/prelude.cl) */
    uint64_t kernels_hash; /* of what the kernels do, wherever in whichever file they are written */
    const char *texts; /* of the kernels, in their order, in few characters: common/packed.h; NULL:
                        * they have a `source` */
    const rt_ranks_def *ranks; /* NULL: it is for one process */
} rt_program;

/* ------------------------------------------------------------------------------------------------
 * Contexts: a program has one, a library as many as are asked for
 * --------------------------------------------------------------------------------------------- */

/* That kernels are being built is not said; in a line on standard error, which goes away; in the
 * log. */
typedef enum { RT_TELL_NOTHING, RT_TELL_LINE, RT_TELL_LOG } rt_telling;

/* How to make a context: zero-initialise, then fill in what differs. Strings are not copied. */
typedef struct {
    const char *device, *platform; /* substring of the name, "#k" the k-th, NULL best */
    const char *cache;         /* folder of built kernels; NULL the user's cache folder, "" none */
    const char *binaries;      /* folder of built kernels that is only read; NULL none */
    const char *kernels;       /* their texts, as rt_dump_kernels writes them; NULL the program's */
    const char *build_options; /* added to each kernel's */
    bool log, debug, profile;  /* -L, -D, -P */
    bool quiet;                /* no warnings */
    rt_telling tell;           /* of building kernels */
    void *queue;               /* the driver's: use it, and its device; NULL: one of our own */
    int threads;               /* of `native`; 0: as many as may run, or MINIFUT_THREADS */
    int64_t memory;            /* bytes of the device's that may be taken; 0: all */
    const rt_comm *comm;       /* with the other ranks; NULL: there are none */
    rt_group *group;           /* which are those that have joined here */
    rt_place at;               /* which of them this is */
} rt_config;

/* Opens the device. NULL on failure, the message in error (to free()). */
RT_API rt_ctx *rt_ctx_new(const rt_program *prog, const rt_config *config, char **error);
/* Waits for the device and releases everything, blocks that are still referenced too. */
RT_API void rt_ctx_free(rt_ctx *ctx);
/* Before what a thread does that may be another one than before. */
RT_API void rt_ctx_enter(rt_ctx *ctx);
/* The last failure's message, without newline; "" if there was none. */
RT_API const char *rt_error(const rt_ctx *ctx);

/* Stores a message and returns RT_ERR: for checks in generated code, as
 *     return rt_error_set(ctx, "main: argument 2: expected [n][4], got [%ld][%ld]", ..)
 * with the usual printf directives. */
RT_API int rt_error_set(rt_ctx *ctx, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Stores the message of a site with its arguments (NULL or 8 of them) and returns RT_ERR. */
RT_API int rt_fail(rt_ctx *ctx, int site, const int64_t *args);
/* The same with a text of its own. */
RT_API int rt_fail_with(rt_ctx *ctx, int site, const char *text);

/* Facts of the device, and sizes that options (--default-group-size...) and tuning lines can set:
 * facts.def lists them. */
#define RT_FACT_ID(id, ...) RT_##id,
#define RT_FACT_NONE(...)
typedef enum {
    RT_NO_SIZE = -1,
    RT_FACTS(RT_FACT_ID, RT_FACT_ID, RT_FACT_NONE) RT_N_SIZES
} rt_size_class;

/* The present value, for the device: what cannot be asked is tried, once. */
RT_API int64_t rt_size(rt_ctx *ctx, rt_size_class c);
/* The present value of a tuning parameter: set by the user, else its default. */
RT_API int64_t rt_param(rt_ctx *ctx, int param);
/* Sets a parameter or a general size ("default_group_size") by name, at once; 0 = back to default.
 * RT_ERR when the name is unknown or the value negative. */
RT_API int rt_set_param(rt_ctx *ctx, const char *name, int64_t value);

/* ------------------------------------------------------------------------------------------------
 * Guards of code versions. Both are safe to evaluate in any order and cost no device time (rt_fits
 * builds the kernel the first time).
 * --------------------------------------------------------------------------------------------- */

/* Has the device matrix units, and groups as much local memory as attention by them needs? */
RT_API bool rt_does_attention(rt_ctx *ctx);
/* Is there enough parallelism: value of the threshold `param` <= PAR, what version_par counts of
 * `work` in all (mf_par_in_effect)? Logs "Compared NAME <= PAR: true." under -L, and is listed in
 * the server's report of the call. */
RT_API bool rt_suff(rt_ctx *ctx, int param, int64_t version_par, int64_t work);
/* The same, but where no launches are weighed (RT_WEIGHS_LAUNCHES) it is not taken unless somebody
 * has set this threshold or the default of all: what follows multiplies matrices, in blocks. */
RT_API bool rt_suff_beside_blocks(rt_ctx *ctx, int param, int64_t version_par, int64_t work);
/* Is a maker's kernel taken: can it run here, and does it pay? pays: what there is of what it takes
 * to pay, in percent, which is compared with the parameter: 100, unless users or the tuner set
 * another one; 1 takes the kernel wherever it can run. Logs why under -L, and is listed in the
 * server's report of the call. */
RT_API bool rt_takes(rt_ctx *ctx, int param, bool can, int64_t pays);
/* As rt_suff, but where launches are weighed (RT_WEIGHS_LAUNCHES) and nobody has set this threshold
 * or the default of all, the default is one with which the version is taken if it `pays`. Where
 * they are not, one that spares none is never taken. */
RT_API bool rt_suff_or_pays(rt_ctx *ctx, int param, int64_t version_par, int64_t work,
                            int64_t spared, bool pays);
/* ... of a version whose time is that of its longest element, so many `steps`, by the side of one
 * that goes over `elems` together in `spared` launches more: where launches are weighed, how often
 * the second time goes into the first is compared (mf_gain), not parallelism. Where they are not,
 * the default is one with which the version is taken if each thread has some elements. */
RT_API bool rt_suff_balanced(rt_ctx *ctx, int param, int64_t version_par, int64_t work,
                             int64_t spared, int64_t steps, int64_t elems);
/* Can the kernel be launched with this many work-items a group, and local_bytes of local memory
 * given as arguments? Asks the device and the built kernel. False too after such a launch was
 * refused. Logs "Refused NAME: needs N bytes of local memory, the device offers M." once per cause
 * under -L. A kernel that does not compile is RT_ERR at the launch, and true here.
 *
 * Whether a launch takes the variant with 32-bit or 64-bit indices hangs on its arguments, which
 * are not there yet: the one that the last launch took is asked. If it turns out to be the other
 * one, which does not fit, the launch is refused, and for the rest of the run so is this. */
RT_API bool rt_fits(rt_ctx *ctx, int kernel, int64_t group_size, int64_t local_bytes);

/* ------------------------------------------------------------------------------------------------
 * Several ranks. All of them make these calls in the same order.
 * --------------------------------------------------------------------------------------------- */

/* Which rank this is, of how many: 0 and 1 where there are no others. */
RT_API int64_t rt_my_rank(const rt_ctx *ctx);
RT_API int64_t rt_ranks(const rt_ctx *ctx);
/* Is `work` shared out over the ranks, which costs so many additions, with so many elements
 * gathered afterwards, and anything exchanged (1, 0): are there others, and is it at least the
 * threshold? Untuned: does it pay (mf_shares)? */
RT_API bool rt_shares_out(rt_ctx *ctx, int param, int64_t work, double cost, int64_t gathered,
                          int64_t exchanges);
/* Tells all ranks n values of this one; *which: the exchange, for rt_peer. */
RT_API int rt_exchange(rt_ctx *ctx, int n, const rt_scalar *mine, int64_t *which);
/* Value k of a rank's in one of the last 8 exchanges. */
RT_API const rt_scalar *rt_peer(const rt_ctx *ctx, int64_t which, int64_t k, int64_t rank);
/* What is first to be copied: all `bytes` of `mem` to byte `at`. */
typedef struct {
    rt_mem *mem;
    int64_t at, bytes;
} rt_placed;
/* The rows of a row-major array that starts at byte 0, of which each rank has those from row
 * `first` to where the next one's begin (RT_SHARE: its share, mf_share), become known to all, and
 * before that this rank's `part` (NULL: they are there) gets there; `waits`: with those of the call
 * that comes next, in one message. */
enum { RT_SHARE = -1 };
RT_API int rt_gather(rt_ctx *ctx, rt_mem *mem, const rt_placed *part, int64_t first, int64_t rows,
                     int64_t row_bytes, bool waits);
/* An array that holds this rank's share of so many rows behind `low` others and before `high` ones:
 * these become what the ranks beside it have, as far as there are such rows. */
RT_API int rt_halo(rt_ctx *ctx, rt_mem *mem, int64_t rows, int64_t low, int64_t high,
                   int64_t row_bytes);

/* The block holds an array of so many rows, of which, if shared, each rank has its share. */
RT_API void rt_parted(rt_mem *mem, int64_t rows, bool shared);
/* The block of an argument of so many rows holds this rank's share; all of them unless shared. */
RT_API int rt_own_rows(rt_ctx *ctx, rt_mem *mem, int64_t rows, int64_t row_bytes, bool shared);

/* ------------------------------------------------------------------------------------------------
 * Launching
 * --------------------------------------------------------------------------------------------- */

/* RT_ARG_HEAP stands for two parameters, memory for arrays whose sizes only the work-items know and
 * the bytes of it that each of them has. How much that must be shows when the kernel runs: it is
 * launched again until it was enough, with fewer work-items when memory is short (so such a kernel
 * loops over its work). RT_ARG_UPDATED: a block that a kernel
 * with a heap reads and writes; it is put back before another attempt. */
typedef enum {
    RT_ARG_SCALAR,
    RT_ARG_FLOAT,
    RT_ARG_MEM,
    RT_ARG_LOCAL,
    RT_ARG_HEAP,
    RT_ARG_UPDATED
} rt_arg_kind;
struct rt_arg {
    rt_arg_kind kind;
    size_t size;      /* SCALAR, FLOAT: bytes of it; LOCAL: bytes to reserve (0 becomes 8) */
    rt_scalar scalar; /* SCALAR; FLOAT: f32 or f64 */
    rt_mem *mem;      /* MEM, UPDATED; NULL is passed as an empty block */
};

/* Arguments: RT_A_I32(n), RT_A_MEM(block), RT_A_LOCAL(bytes), ... for initialising rt_arg[]. */
#define RT_A_NUMBER(kind, T, x)                                                                    \
    {                                                                                              \
        kind, sizeof(((rt_scalar *)0)->T), {.T = (x)}, 0                                           \
    }
#define RT_A_BOOL(x) RT_A_NUMBER(RT_ARG_SCALAR, b, x)
#define RT_A_I8(x)   RT_A_NUMBER(RT_ARG_SCALAR, i8, x)
#define RT_A_I16(x)  RT_A_NUMBER(RT_ARG_SCALAR, i16, x)
#define RT_A_I32(x)  RT_A_NUMBER(RT_ARG_SCALAR, i32, x)
#define RT_A_I64(x)  RT_A_NUMBER(RT_ARG_SCALAR, i64, x)
#define RT_A_U8(x)   RT_A_NUMBER(RT_ARG_SCALAR, u8, x)
#define RT_A_U16(x)  RT_A_NUMBER(RT_ARG_SCALAR, u16, x)
#define RT_A_U32(x)  RT_A_NUMBER(RT_ARG_SCALAR, u32, x)
#define RT_A_U64(x)  RT_A_NUMBER(RT_ARG_SCALAR, u64, x)
#define RT_A_F16(x)  RT_A_NUMBER(RT_ARG_SCALAR, f16, x)
#define RT_A_F32(x)  RT_A_NUMBER(RT_ARG_FLOAT, f32, x)
#define RT_A_F64(x)  RT_A_NUMBER(RT_ARG_FLOAT, f64, x)
#define RT_A_MEM(m)                                                                                \
    {                                                                                              \
        RT_ARG_MEM, 0, {.i64 = 0}, (m)                                                             \
    }
#define RT_A_UPDATED(m)                                                                            \
    {                                                                                              \
        RT_ARG_UPDATED, 0, {.i64 = 0}, (m)                                                         \
    }
#define RT_A_HEAP                                                                                  \
    {                                                                                              \
        RT_ARG_HEAP, 0, {.i64 = 0}, 0                                                              \
    }
#define RT_A_LOCAL(n)                                                                              \
    {                                                                                              \
        RT_ARG_LOCAL, (size_t)(n), {.i64 = 0}, 0                                                   \
    }

/* Launches a kernel over n_dims (1 to 3) dimensions with local[i] work-items a group. global[i]
 * counts work-items and is rounded up to full groups (so kernels check their index against the real
 * bound). A global size of 0 launches nothing. Returns RT_REFUSED when the device cannot run it in
 * this shape: nothing has happened then, the shape is remembered for rt_fits, and another version
 * should be tried. Builds the kernel first if needed (from the disk cache, else by the driver). */
RT_API int rt_launch(rt_ctx *ctx, int kernel, int n_dims, const int64_t *global,
                     const int64_t *local, int n_args, const rt_arg *args);
/* For profiles: what the launch just made has to move and compute, whatever its kernel does. */
RT_API void rt_work(rt_ctx *ctx, int kernel, double bytes, double operations);

/* Around a loop that launches: where its steps are short, many of them become one launch. They are
 * if the threshold `param` is more than a launch's work-items. The end may fail for what the last
 * ones did. */
RT_API void rt_loop_begin(rt_ctx *ctx, int param);
RT_API int rt_loop_end(rt_ctx *ctx);

/* ------------------------------------------------------------------------------------------------
 * Memory
 * --------------------------------------------------------------------------------------------- */

/* A block of at least `bytes` (>= 0) for *out, whose contents are undefined; what *out held before
 * is released first. `name` (not copied) is for -D. Takes a dead block of about that size when
 * there is one, of equal ones that which had this name; frees all dead blocks and tries again when
 * the device is full. */
RT_API int rt_alloc(rt_ctx *ctx, rt_mem **out, int64_t bytes, const char *name);
/* The same for an array of a program, with the place of the site in the message. bytes < 0: for
 * none, of an array that was moved out of a map over nothing (ir.h). */
RT_API int rt_alloc_at(rt_ctx *ctx, rt_mem **out, int64_t bytes, const char *name, int site);
/* The board: a block of the context's that was 0 at first and that no array lies in, so that groups
 * of a kernel may count on it when they tell each other something (kernels/level1/board.h). All
 * launches share it, one after the other, and leave it as the next one needs it. */
RT_API int rt_board(rt_ctx *ctx, rt_mem **out, int64_t bytes, int site);
/* The same, but each launch finds it 0 and leaves it 0: groups count there who of them is the last
 * (kernels/level1/arrive.h). */
RT_API int rt_counts(rt_ctx *ctx, rt_mem **out, int64_t bytes, int site);
/* One more reference; returns m (which may be NULL). */
RT_API rt_mem *rt_ref(rt_mem *m);
/* Gives up *m's reference (none if NULL) and sets *m to NULL. The last one hands the block to the
 * free list; the queue is in order, so launched kernels may still be using it. */
RT_API void rt_unref(rt_ctx *ctx, rt_mem **m);
/* *dst = src, with the references that takes; right also when both are the same. */
RT_API void rt_set(rt_ctx *ctx, rt_mem **dst, rt_mem *src);
/* Exchanges two variables (double buffering). */
RT_API void rt_swap(rt_mem **a, rt_mem **b);
/* True when this is the only reference. */
RT_API bool rt_sole(const rt_mem *m);

/* Device to device, in bytes, without waiting; the ranges must not overlap in one block. */
RT_API int rt_copy(rt_ctx *ctx, rt_mem *dst, int64_t dst_off, rt_mem *src, int64_t src_off,
                   int64_t bytes);
/* Host to device. The source may be changed or freed after the call. */
RT_API int rt_write(rt_ctx *ctx, rt_mem *dst, int64_t dst_off, int64_t bytes, const void *src);
/* Device to host: waits, and reports failures of the kernels before. */
RT_API int rt_read(rt_ctx *ctx, rt_mem *src, int64_t src_off, int64_t bytes, void *dst);
/* Are the results of inspector number `site` kept of a run in which the blocks `of`, unchanged
 * since, and the numbers were the same (kept.c)? Then they take the places of the blocks in
 * `found`; else these, fresh ones which the launches that follow fill and nothing changes later,
 * are kept. */
RT_API bool rt_recall(rt_ctx *ctx, int site, int n_of, rt_mem *const *of, int n,
                      const int64_t *numbers, int n_found, rt_mem **const *found);
/* One scalar of `size` bytes, as rt_read and rt_write. */
RT_API int rt_read_scalar(rt_ctx *ctx, rt_mem *src, int64_t src_off, int size, void *dst);
RT_API int rt_write_scalar(rt_ctx *ctx, rt_mem *dst, int64_t dst_off, int size, const void *src);
/* Waits for everything launched, and reports failures inside kernels as RT_ERR. */
RT_API int rt_sync(rt_ctx *ctx);

/* --- Built-in kernels. Element sizes 1, 2, 4, 8; offsets and counts in elements. --- */

/* dst[off .. off+count) = *value (a scalar of `elem` bytes). */
RT_API int rt_fill(rt_ctx *ctx, rt_mem *dst, int64_t off, int64_t count, int elem,
                   const void *value);
/* dst[off + i] = start + i * step for i < count, wrapping around in `elem` bytes. */
RT_API int rt_iota(rt_ctx *ctx, rt_mem *dst, int64_t off, int64_t count, int elem, int64_t start,
                   int64_t step);
/* `batch` matrices of rows x cols one after the other, each transposed to cols x rows. */
RT_API int rt_transpose(rt_ctx *ctx, rt_mem *dst, int64_t dst_off, rt_mem *src, int64_t src_off,
                        int64_t batch, int64_t rows, int64_t cols, int elem);
/* dst[dst_off + sum i_k*dst_stride[k]] = src[src_off + sum i_k*src_stride[k]] for all i_k <
 * shape[k]. rank 0 to 8. Strides may be negative; a source stride may be 0 (replicate);
 * destinations must be distinct and must not overlap the source. Becomes one plain copy or a
 * transposition where it is one. */
RT_API int rt_copy_strided(rt_ctx *ctx, int elem, int rank, const int64_t *shape, rt_mem *dst,
                           int64_t dst_off, const int64_t *dst_stride, rt_mem *src, int64_t src_off,
                           const int64_t *src_stride);

#endif
