/* The functions that every library has: Futhark's C API for OpenCL. This text begins the header of
 * each library; what follows there are the functions of its types and entry points.
 *
 * - Functions that can fail return FUTHARK_SUCCESS or another code, or NULL;
 *   futhark_context_get_error says why.
 * - Strings that are passed are copied. Strings that are returned as `char *` are the caller's, to
 *   free().
 * - Several contexts may be used at once. A context may be used by several threads: one waits for
 *   the other.
 * - Calls of entry points do not wait for the device. Failures inside of kernels show in
 *   futhark_context_sync, or where values are fetched, which waits.
 * - Nothing is printed, and no file is read or written, unless the configuration asks for it. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
/* OpenCL's header, where there is one: a library does without, but for two types. */
#if defined __has_include && !defined RT_DEV_H
#if __has_include(<CL/cl.h>)
#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>
#endif
#endif
#ifndef CL_VERSION_1_0
/* Futhark's FFI has its own; it drops lines that begin like the next one, so does not see them.
#*/
typedef struct _cl_command_queue *cl_command_queue;
typedef struct _cl_mem *cl_mem;
/**/
#endif

#define FUTHARK_BACKEND_opencl
#define FUTHARK_SUCCESS 0
/* Wrong arguments, an index out of bounds, a device that is not there, ... */
#define FUTHARK_PROGRAM_ERROR 2
/* Memory is short, of the device or of the host; after the latter the context is of no more use. A
 * number on a line of its own, behind a backslash, would be more than Futhark's FFI can read. */
#define FUTHARK_OUT_OF_MEMORY 3

#ifdef __cplusplus
extern "C" {
#endif

struct futhark_context_config;
struct futhark_context;

/* --- Configurations: of one context each, to be freed after it --- */

struct futhark_context_config *futhark_context_config_new(void);
void futhark_context_config_free(struct futhark_context_config *cfg);
/* Messages for debugging, a log of the code versions that are chosen: to standard error, or the
 * logging file. */
void futhark_context_config_set_debugging(struct futhark_context_config *cfg, int flag);
void futhark_context_config_set_logging(struct futhark_context_config *cfg, int flag);
/* Times of kernels and transfers, for futhark_context_report. */
void futhark_context_config_set_profiling(struct futhark_context_config *cfg, int flag);
/* Part of the name of a device or platform; "#k": the k-th that matches. */
void futhark_context_config_set_device(struct futhark_context_config *cfg, const char *s);
void futhark_context_config_set_platform(struct futhark_context_config *cfg, const char *s);
/* Lists the devices on standard output; and asks for the number of one on standard input. */
void futhark_context_config_list_devices(struct futhark_context_config *cfg);
void futhark_context_config_select_device_interactively(struct futhark_context_config *cfg);
/* Threads of the device "native", of which each context has its own; 0: as many as may run. */
void futhark_context_config_set_num_threads(struct futhark_context_config *cfg, int n);
/* The context uses this queue, which must be in-order, and its device and OpenCL context. */
void futhark_context_config_set_command_queue(struct futhark_context_config *cfg,
                                              cl_command_queue queue);
/* minifut's own, of a library for several ranks (compile --mpi --library): the processes of this
 * communicator, by the number that MPI_Comm_c2f gives for it, are the ranks of the context; else
 * those of MPI_COMM_WORLD. Contexts are freed before MPI_Finalize. Nonzero: the library is for one
 * process. */
int futhark_context_config_set_communicator(struct futhark_context_config *cfg, int communicator);
/* A folder where built kernels are kept, made if it is missing; NULL: they are not kept. */
void futhark_context_config_set_cache_file(struct futhark_context_config *cfg, const char *path);
/* A folder that another configuration's set_cache_file has filled: kernels that are in it, for the
 * same text, options, device and driver, are not built. Nothing is written there. NULL: none. */
void futhark_context_config_load_binary_from(struct futhark_context_config *cfg, const char *path);
void futhark_context_config_add_build_option(struct futhark_context_config *cfg, const char *opt);
/* OpenCL has its own; no effect. */
void futhark_context_config_set_unified_memory(struct futhark_context_config *cfg, int flag);
void futhark_context_config_set_default_thread_block_size(struct futhark_context_config *cfg,
                                                          int size);
void futhark_context_config_set_default_group_size(struct futhark_context_config *cfg, int size);
void futhark_context_config_set_default_grid_size(struct futhark_context_config *cfg, int num);
void futhark_context_config_set_default_num_groups(struct futhark_context_config *cfg, int num);
void futhark_context_config_set_default_tile_size(struct futhark_context_config *cfg, int num);
void futhark_context_config_set_default_reg_tile_size(struct futhark_context_config *cfg, int num);
void futhark_context_config_set_default_threshold(struct futhark_context_config *cfg, int num);
/* Nonzero if there is no such parameter. */
int futhark_context_config_set_tuning_param(struct futhark_context_config *cfg, const char *name,
                                            size_t value);
/* minifut's own: the parameters in a file that `minifut tune` wrote. Nonzero if it cannot be read
 * or is none. */
int futhark_context_config_load_tuning(struct futhark_context_config *cfg, const char *path);
/* The text of all kernels in OpenCL C, which is the configuration's; NULL: no memory. And another
 * text in its place, a changed one, say; NULL: again the library's own. Each kernel is behind the
 * line that names it, "Kernel NAME" in a comment of its own, what all have in common before the
 * first of these lines (if nothing is, it stays). A context of a text that lacks a kernel cannot be
 * made. The device "native" has no use for it. */
const char *futhark_context_config_get_program(struct futhark_context_config *cfg);
void futhark_context_config_set_program(struct futhark_context_config *cfg, const char *s);

int futhark_get_tuning_param_count(void);
const char *futhark_get_tuning_param_name(int i);
const char *futhark_get_tuning_param_class(int i);

/* --- Contexts --- */

/* Of a library for several ranks: all of them make, use and free a context together, by the same
 * calls in the same order with the same values, each with all of an array; what fails on one fails
 * on all. Only what frees values and what is said of a context (its device, error, report,
 * profiling, log) is a rank's own. Calls of entry points wait. A rank without memory of its host's
 * ends all.
 *
 * Opens the device. If that fails, futhark_context_get_error of the result says why, and all that
 * may be done with it is to free it. NULL: no memory. */
struct futhark_context *futhark_context_new(struct futhark_context_config *cfg);
/* minifut's own: the same with a queue. */
struct futhark_context *futhark_context_new_with_command_queue(struct futhark_context_config *cfg,
                                                               cl_command_queue queue);
void futhark_context_free(struct futhark_context *ctx);
/* minifut's own: sets the parameters in a file that `minifut tune` wrote, for the calls that
 * follow. */
int futhark_context_load_tuning(struct futhark_context *ctx, const char *path);
/* minifut's own: the device, as "platform, name, version, driver". NULL: there is none, or no
 * memory. */
char *futhark_context_get_device(struct futhark_context *ctx);
/* Waits for the device. */
int futhark_context_sync(struct futhark_context *ctx);
/* The last failure's message, once; NULL if there was none. */
char *futhark_context_get_error(struct futhark_context *ctx);
/* What profiling found, as JSON. */
char *futhark_context_report(struct futhark_context *ctx);
/* Releases memory of the device that is kept to be used again. */
int futhark_context_clear_caches(struct futhark_context *ctx);
void futhark_context_pause_profiling(struct futhark_context *ctx);
void futhark_context_unpause_profiling(struct futhark_context *ctx);
void futhark_context_set_logging_file(struct futhark_context *ctx, FILE *f);
/* NULL: the device is not driven by OpenCL. */
cl_command_queue futhark_context_get_command_queue(struct futhark_context *ctx);
