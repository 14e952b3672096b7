/* Inside libraries: what the functions that are generated for types and entry points call. Objects
 * of all types are rt_obj; each type has its own name for it in the header, so that C tells them
 * apart. */
#ifndef RT_LIBRARY_H
#define RT_LIBRARY_H

#include "runtime/shells/library_api.h"
#include "runtime/values/boundary.h"

/* An array, a record, a sum or an array of these. */
typedef struct {
    int type;      /* id */
    int n;         /* components */
    bool consumed; /* by a call: good for nothing but to be freed */
    rt_value values[];
} rt_obj;

/* A parameter of an entry or a field: a scalar or an object, as the type says. */
typedef union {
    rt_scalar scalar;
    const void *obj;
} rt_lib_part;

/* A tuning parameter or general size that a configuration sets. */
typedef struct {
    char *name;
    int64_t value;
} rt_lib_setting;

struct futhark_context_config {
    const rt_program *prog;
    rt_config rt;
    char *device, *platform, *cache, *build_options, *tuning, *kernels, *binaries;
    int n_settings;
    rt_lib_setting *settings;
    bool no_memory; /* for one of them: no context can be made */
    bool chosen;    /* whose ranks are to be those of a context: */
    int communicator;
};

/* What an operation works with; each says which of these it has. */
typedef struct {
    int type; /* id of a type, entry or field */
    rt_obj *obj;
    const rt_lib_part *parts; /* of a record or call */
    void *const *out;         /* pointers to what the results become: scalars, objects */
    const int64_t *at;        /* a shape, or an index */
    const void *from;         /* data */
    void *to;
    size_t *size;
} rt_job_args;

/* --- library.c --- */

RT_API struct futhark_context_config *rt_lib_config_new(const rt_program *prog);
/* Does it with the context locked; a code, after a failure with the message stored. Of several
 * ranks all do it, but for what frees and reports, and it fails on all if it does on one. */
typedef int rt_lib_op(rt_ctx *ctx, const rt_job_args *a);
RT_API int rt_lib_do(struct futhark_context *c, rt_lib_op *op, const rt_job_args *a);
/* The same for those whose result is an object. NULL after a failure. */
RT_API void *rt_lib_make(struct futhark_context *c, rt_lib_op *op, rt_job_args a);

/* --- library_values.c: operations --- */

/* Arrays: of `type` with shape `at` and the elements `from`; around the buffer `from` (a cl_mem),
 * which is not copied; to `out`. */
RT_API rt_lib_op rt_lib_new_array;
RT_API rt_lib_op rt_lib_new_raw;
/* obj, an array, becomes whole where ranks have its rows. */
RT_API rt_lib_op rt_lib_whole;
/* The elements of obj go to `to`; the one with index `at` does. */
RT_API rt_lib_op rt_lib_values;
RT_API rt_lib_op rt_lib_index;
/* Gives up obj. */
RT_API rt_lib_op rt_lib_free;
/* Field number `type` of obj goes to `out`; a record, or array of records, of `type` is made of
 * `parts`. */
RT_API rt_lib_op rt_lib_project;
RT_API rt_lib_op rt_lib_new_record;
/* Arrays of records and sums: the element of obj with index `at` goes to `out`; becomes `from`, an
 * object; an array of `type` with shape `at` is made of the objects in the array `from`; or, of
 * records, of an array for each field, parts. */
RT_API rt_lib_op rt_lib_index_record;
RT_API rt_lib_op rt_lib_set_record;
RT_API rt_lib_op rt_lib_new_records;
/* A sum of `type`, variant number `at`, is made of `parts`; what obj of that variant holds goes to
 * `out`. */
RT_API rt_lib_op rt_lib_construct;
RT_API rt_lib_op rt_lib_destruct;
/* obj as bytes: *size of them to *to, which is allocated if it is NULL; to NULL: only their number.
 * And back from `from`. */
RT_API rt_lib_op rt_lib_store;
RT_API rt_lib_op rt_lib_restore;
/* Calls entry number `type` with `parts`. */
RT_API rt_lib_op rt_lib_call;

/* The number of the variant that a sum is. */
RT_API int rt_lib_variant(const rt_obj *obj);
/* The shape of an array, or of an array of records or sums. */
RT_API const int64_t *rt_lib_shape(const rt_obj *obj);
/* The buffer of an array as a cl_mem; NULL: the device is not driven by OpenCL. */
RT_API cl_mem rt_lib_raw(struct futhark_context *c, const rt_obj *obj);

#endif
