/* Values at the boundary of a program: their components and blocks, what they are made of, calls
 * with them. */
#ifndef RT_BOUNDARY_H
#define RT_BOUNDARY_H

#include "runtime/core/internal.h"

/* --- boundary.c --- */

/* The number of components of a type, and the prim and rank of the k-th. */
RT_API int rt_type_components(const rt_program *prog, int type);
RT_API void rt_type_component(const rt_program *prog, int type, int k, rt_prim *prim, int *rank);
RT_API int rt_type_named(const rt_program *prog, const char *name); /* id or -1 */
RT_API int rt_slots_components(const rt_program *prog, int n, const rt_slot_def *slots);
/* For each component of an entry's parameters: may it be this rank's rows alone? NULL: none. */
RT_API const bool *rt_parted_in(const rt_program *prog, const rt_entry_def *e);
RT_API int rt_upload(rt_ctx *ctx, const rt_hvalue *h, rt_value *v);
RT_API int rt_download(rt_ctx *ctx, const rt_value *v, rt_hvalue *h);
RT_API void rt_values_release(rt_ctx *ctx, int n, rt_value *v);
/* Gives v a block of its own, with the same contents. */
RT_API int rt_value_own(rt_ctx *ctx, rt_value *v);
/* Calls an entry and waits. Consumed parameters whose blocks have other owners are copied first, so
 * the values given stay valid. On failure out is all zero. *us: wall-clock microseconds of call and
 * wait, without the time spent in building kernels. */
RT_API int rt_call_entry(rt_ctx *ctx, const rt_entry_def *e, rt_value *in, rt_value *out,
                         int64_t *us);
/* The same without waiting for the device, before or after: what fails in kernels shows when it is
 * waited for. */
RT_API int rt_call_later(rt_ctx *ctx, const rt_entry_def *e, rt_value *in, rt_value *out);
/* Did groups wait in vain for others? That is a bug, and asking would cost each run a transfer, so
 * it is asked of results that are wanted. */
RT_API int rt_ask_waited(rt_ctx *ctx);

/* --- parted.c --- */

/* Bytes of a row of an array. */
RT_API int64_t rt_row_bytes(const rt_value *v);
/* From here on the block holds all of v: all ranks ask for it. */
RT_API int rt_whole(rt_ctx *ctx, const rt_value *v);

/* --- arrive.c --- */

enum { RT_MOVED = 1 << 24 }; /* bytes that are moved at once */

/* The next value of rank 0's reader becomes *v, of which each rank has its rows. *h: its type and
 * shape, no data. path: its file, which other ranks may see as well; NULL: they do not. RT_ERR on
 * all ranks if it cannot be read. */
RT_API int rt_arrive(rt_ctx *ctx, rt_reader *r, const char *path, rt_prim prim, int rank,
                     rt_hvalue *h, rt_value *v);

/* --- leave.c --- */

/* Where elements go. */
typedef struct {
    FILE *f;          /* of rank 0 */
    const char *path; /* of a file that other ranks may see; NULL: there is none */
    rt_write_fn *how;
    int wrong; /* errno of a write that failed, after which there are no more; 0: none has */
} rt_sink;

/* v goes to rank 0's sink, of what is in parts a piece after the other. All ranks call it; rc: did
 * all go well so far? If not, nothing goes. */
RT_API int rt_leave(rt_ctx *ctx, int rc, const rt_value *v, rt_sink *sink);

/* --- elements.c --- */

/* The number of the element with an index of `rank` dimensions of v. */
RT_API int rt_element(rt_ctx *ctx, const rt_value *v, int rank, const int64_t *index, int64_t *at);
/* Do the outer dimensions of all components of an array of the type agree? */
RT_API int rt_same_shapes(rt_ctx *ctx, int type, const rt_value *v);
/* Element `at` of an array of `rank` dimensions, with n components: it goes to `to`; it becomes e,
 * of type `elem`. */
RT_API int rt_element_get(rt_ctx *ctx, int n, const rt_value *from, int rank, int64_t at,
                          rt_value *to);
RT_API int rt_element_set(rt_ctx *ctx, int elem, int n, rt_value *to, int rank, int64_t at,
                          const rt_value *e);
/* An array of the type with this shape, of so many elements of type elem. */
RT_API int rt_elements_new(rt_ctx *ctx, int type, int elem, const int64_t *shape, int64_t count,
                           const rt_value *const *elems, rt_value *out);
/* Which variant a sum is. */
RT_API int rt_variant_number(const rt_value *sum);
/* The components of what a variant holds. */
RT_API int rt_variant_components(const rt_program *prog, const rt_variant_def *v);
/* A sum of variant k with these components, which stay the caller's. What other variants hold
 * becomes zero. */
RT_API int rt_variant_make(rt_ctx *ctx, int type, int k, const rt_value *holds, rt_value *out);
/* What a sum of the type holds, with references of its own; the number of components. */
RT_API int rt_variant_holds(rt_ctx *ctx, int type, const rt_value *from, rt_value *out);
/* Is it a sum, or has parts or elements that are? */
RT_API bool rt_type_holds_sum(const rt_program *prog, int type);
/* A value of the type from its components, which it frees. An error if it can be none: arrays of
 * other sizes, no such variant. out: all zero, but for components that are there, whose h has no
 * data. */
RT_API int rt_take_value(rt_ctx *ctx, int type, rt_hvalue *h, rt_value *out);

#endif
