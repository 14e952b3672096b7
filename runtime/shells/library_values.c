/* What libraries do with values: arrays, records, calls. */
#include "runtime/shells/library.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- Objects --- */

static bool rt_is_scalar(const rt_program *prog, int type)
{
    return prog->types[type].kind == RT_KIND_PRIM;
}

/* An object of the type without values. */
static rt_obj *rt_obj_new(rt_ctx *ctx, int type)
{
    int n = rt_type_components(ctx->prog, type);
    size_t bytes = sizeof(rt_obj) + (size_t)n * sizeof(rt_value);
    rt_obj *o = memset(rt_grow(NULL, bytes), 0, bytes);
    o->type = type;
    o->n = n;
    return o;
}

static int rt_obj_drop(rt_ctx *ctx, rt_obj *o)
{
    rt_values_release(ctx, o->n, o->values);
    free(o);
    return RT_ERR;
}

/* Can it be used? */
static int rt_obj_check(rt_ctx *ctx, const rt_obj *o)
{
    if (!o)
        return rt_error_set(ctx, "a value is NULL");
    return o->consumed
               ? rt_error_set(ctx, "a value of type %s is used that an earlier call consumed",
                              ctx->prog->types[o->type].name)
               : RT_OK;
}

/* The values of a type, whose references go over, as what callers get: *to becomes a scalar or an
 * object. */
static void rt_obj_give(rt_ctx *ctx, int type, const rt_value *values, void *to)
{
    if (rt_is_scalar(ctx->prog, type)) {
        memcpy(to, &values[0].scalar, (size_t)rt_prim_size(values[0].prim));
        return;
    }
    rt_obj *o = rt_obj_new(ctx, type);
    if (o->n)
        memcpy(o->values, values, (size_t)o->n * sizeof *values);
    memcpy(to, &o, sizeof o);
}

/* Adds what the part of a type is to the values, with references of their own. */
static int rt_part_take(rt_ctx *ctx, int type, const rt_lib_part *part, rt_value *values)
{
    if (rt_is_scalar(ctx->prog, type)) {
        values[0] = (rt_value){.prim = ctx->prog->types[type].prim, .scalar = part->scalar};
        return RT_OK;
    }
    const rt_obj *o = part->obj;
    if (rt_obj_check(ctx, o))
        return RT_ERR;
    for (int i = 0; i < o->n; i++) {
        values[i] = o->values[i];
        rt_ref(values[i].mem);
    }
    return RT_OK;
}

RT_API int rt_lib_free(rt_ctx *ctx, const rt_job_args *a)
{
    if (a->obj)
        (void)rt_obj_drop(ctx, a->obj);
    return RT_OK;
}

/* --- Arrays --- */

/* A new array of the type with this shape in *out, and its bytes. */
static int rt_array_new(rt_ctx *ctx, int type, const int64_t *shape, rt_obj **out, int64_t *bytes)
{
    const rt_type_def *t = &ctx->prog->types[type];
    rt_obj *o = rt_obj_new(ctx, type);
    rt_value *v = o->values;
    v->prim = t->prim;
    v->rank = t->rank;
    memcpy(v->shape, shape, (size_t)t->rank * sizeof *shape);
    *bytes = rt_shape_bytes(t->prim, t->rank, shape);
    *out = o;
    if (*bytes >= 0)
        return RT_OK;
    rt_error_set(ctx, "%s: a size is negative or too large", t->name);
    return rt_obj_drop(ctx, o);
}

RT_API int rt_lib_new_array(rt_ctx *ctx, const rt_job_args *a)
{
    rt_obj *o;
    int64_t bytes;
    if (rt_array_new(ctx, a->type, a->at, &o, &bytes))
        return RT_ERR;
    if (rt_alloc(ctx, &o->values[0].mem, bytes, "array") ||
        rt_write(ctx, o->values[0].mem, 0, bytes, a->from))
        return rt_obj_drop(ctx, o);
    memcpy(a->out[0], &o, sizeof o);
    return RT_OK;
}

RT_API int rt_lib_new_raw(rt_ctx *ctx, const rt_job_args *a)
{
    rt_obj *o;
    int64_t bytes;
    if (rt_array_new(ctx, a->type, a->at, &o, &bytes))
        return RT_ERR;
    if (rt_adopt(ctx, &o->values[0].mem, a->from, bytes))
        return rt_obj_drop(ctx, o);
    memcpy(a->out[0], &o, sizeof o);
    return RT_OK;
}

RT_API const int64_t *rt_lib_shape(const rt_obj *obj)
{
    return obj->values[0].shape;
}

/* The array can be read here. */
static int rt_array_ready(rt_ctx *ctx, const rt_obj *o)
{
    return rt_obj_check(ctx, o) || rt_whole(ctx, &o->values[0]) || rt_ask_waited(ctx);
}

RT_API int rt_lib_whole(rt_ctx *ctx, const rt_job_args *a)
{
    return rt_array_ready(ctx, a->obj) ? RT_ERR : RT_OK;
}

RT_API int rt_lib_values(rt_ctx *ctx, const rt_job_args *a)
{
    if (rt_array_ready(ctx, a->obj))
        return RT_ERR;
    const rt_value *v = &a->obj->values[0];
    return rt_read(ctx, v->mem, 0, rt_shape_bytes(v->prim, v->rank, v->shape), a->to);
}

RT_API int rt_lib_index(rt_ctx *ctx, const rt_job_args *a)
{
    int64_t at;
    if (rt_array_ready(ctx, a->obj))
        return RT_ERR;
    const rt_value *v = &a->obj->values[0];
    int size = rt_prim_size(v->prim);
    return rt_element(ctx, v, v->rank, a->at, &at)
               ? RT_ERR
               : rt_read_scalar(ctx, v->mem, at * size, size, a->to);
}

/* --- Records --- */

RT_API int rt_lib_project(rt_ctx *ctx, const rt_job_args *a)
{
    if (rt_obj_check(ctx, a->obj))
        return RT_ERR;
    const rt_type_def *t = &ctx->prog->types[a->obj->type];
    const rt_value *values = a->obj->values;
    for (int i = 0; i < a->type; i++)
        values += rt_type_components(ctx->prog, t->fields[i].type);
    int type = t->fields[a->type].type, n = rt_type_components(ctx->prog, type);
    for (int i = 0; i < n; i++)
        rt_ref(values[i].mem);
    rt_obj_give(ctx, type, values, a->out[0]);
    return RT_OK;
}

/* A record, or an array of records, of its fields; an array's have the same shape. */
RT_API int rt_lib_new_record(rt_ctx *ctx, const rt_job_args *a)
{
    const rt_type_def *t = &ctx->prog->types[a->type];
    rt_obj *o = rt_obj_new(ctx, a->type);
    rt_value *values = o->values;
    for (int i = 0; i < t->n_fields; i++) {
        if (rt_part_take(ctx, t->fields[i].type, &a->parts[i], values))
            return rt_obj_drop(ctx, o);
        values += rt_type_components(ctx->prog, t->fields[i].type);
    }
    if (t->kind == RT_KIND_OPAQUE && rt_same_shapes(ctx, a->type, o->values))
        return rt_obj_drop(ctx, o);
    memcpy(a->out[0], &o, sizeof o);
    return RT_OK;
}

/* --- Arrays of records and sums --- */

RT_API int rt_lib_index_record(rt_ctx *ctx, const rt_job_args *a)
{
    int64_t at = 0;
    const rt_obj *from = a->obj;
    if (rt_obj_check(ctx, from) || rt_ask_waited(ctx))
        return RT_ERR;
    const rt_type_def *t = &ctx->prog->types[from->type];
    if (from->n && rt_element(ctx, &from->values[0], t->rank, a->at, &at))
        return RT_ERR;
    rt_obj *o = rt_obj_new(ctx, t->elem);
    if (rt_element_get(ctx, o->n, from->values, t->rank, at, o->values))
        return rt_obj_drop(ctx, o);
    memcpy(a->out[0], &o, sizeof o);
    return RT_OK;
}

RT_API int rt_lib_set_record(rt_ctx *ctx, const rt_job_args *a)
{
    int64_t at = 0;
    rt_obj *to = a->obj;
    const rt_obj *e = a->from;
    if (rt_obj_check(ctx, to) || rt_obj_check(ctx, e))
        return RT_ERR;
    int rank = ctx->prog->types[to->type].rank;
    if (to->n && rt_element(ctx, &to->values[0], rank, a->at, &at))
        return RT_ERR;
    return rt_element_set(ctx, e->type, to->n, to->values, rank, at, e->values);
}

RT_API int rt_lib_new_records(rt_ctx *ctx, const rt_job_args *a)
{
    const rt_type_def *t = &ctx->prog->types[a->type];
    const rt_obj *const *elems = a->from;
    int64_t count = rt_shape_bytes(RT_I8, t->rank, a->at);
    if (count < 0)
        return rt_error_set(ctx, "%s: a size is negative or too large", t->name);
    for (int64_t i = 0; i < count; i++)
        if (rt_obj_check(ctx, elems[i]))
            return RT_ERR;
    const rt_value **values = rt_grow(NULL, (size_t)count * sizeof *values);
    for (int64_t i = 0; i < count; i++)
        values[i] = elems[i]->values;
    rt_obj *o = rt_obj_new(ctx, a->type);
    int rc = rt_elements_new(ctx, a->type, t->elem, a->at, count, values, o->values);
    free(values);
    if (rc)
        return rt_obj_drop(ctx, o);
    memcpy(a->out[0], &o, sizeof o);
    return RT_OK;
}

/* --- Sums --- */

RT_API int rt_lib_construct(rt_ctx *ctx, const rt_job_args *a)
{
    int k = (int)a->at[0], at = 0, rc = RT_OK;
    const rt_variant_def *v = &ctx->prog->types[a->type].variants[k];
    int n = rt_variant_components(ctx->prog, v);
    rt_value *holds =
        memset(rt_grow(NULL, (size_t)(n + 1) * sizeof *holds), 0, (size_t)(n + 1) * sizeof *holds);
    for (int i = 0; i < v->n && rc == RT_OK; i++) {
        rc = rt_part_take(ctx, v->types[i], &a->parts[i], holds + at);
        at += rt_type_components(ctx->prog, v->types[i]);
    }
    if (rc == RT_OK) {
        rt_obj *o = rt_obj_new(ctx, a->type);
        rc = rt_variant_make(ctx, a->type, k, holds, o->values);
        if (rc)
            (void)rt_obj_drop(ctx, o);
        else
            memcpy(a->out[0], &o, sizeof o);
    }
    rt_values_release(ctx, n, holds);
    free(holds);
    return rc;
}

RT_API int rt_lib_destruct(rt_ctx *ctx, const rt_job_args *a)
{
    if (rt_obj_check(ctx, a->obj))
        return RT_ERR;
    const rt_type_def *t = &ctx->prog->types[a->obj->type];
    int k = (int)a->at[0], is = rt_lib_variant(a->obj);
    if (is != k)
        return rt_error_set(ctx, "a value of type %s is #%s, not #%s", t->name,
                            t->variants[is].name, t->variants[k].name);
    const rt_variant_def *v = &t->variants[k];
    rt_value *holds =
                 rt_grow(NULL, (size_t)(rt_variant_components(ctx->prog, v) + 1) * sizeof *holds),
             *next = holds;
    (void)rt_variant_holds(ctx, a->obj->type, a->obj->values, holds);
    for (int i = 0; i < v->n; i++) {
        rt_obj_give(ctx, v->types[i], next, a->out[i]);
        next += rt_type_components(ctx->prog, v->types[i]);
    }
    free(holds);
    return RT_OK;
}

RT_API int rt_lib_variant(const rt_obj *obj)
{
    return rt_variant_number(obj->values);
}

/* --- Bytes: the binary form of the values, one after the other --- */

/* Writes one of so many bytes, and moves behind it. */
static int rt_store_value(rt_ctx *ctx, const rt_value *v, int64_t bytes, char **to)
{
    size_t sizes = (size_t)v->rank * sizeof *v->shape;
    rt_binary_head(v->prim, v->rank, *to);
    memcpy(*to + RT_HEAD, v->shape, sizes);
    *to += RT_HEAD + sizes;
    if (v->rank == 0)
        memcpy(*to, &v->scalar, (size_t)bytes);
    else if (rt_whole(ctx, v) || rt_read(ctx, v->mem, 0, bytes, *to))
        return RT_ERR;
    *to += bytes;
    return RT_OK;
}

RT_API int rt_lib_store(rt_ctx *ctx, const rt_job_args *a)
{
    int64_t size = 0;
    if (rt_obj_check(ctx, a->obj) || rt_ask_waited(ctx))
        return RT_ERR;
    for (int k = 0; k < a->obj->n; k++) {
        const rt_value *v = &a->obj->values[k];
        size += RT_HEAD + 8 * v->rank + rt_shape_bytes(v->prim, v->rank, v->shape);
    }
    *a->size = (size_t)size;
    if (!a->to)
        return RT_OK;
    char *given, *allocated = NULL;
    memcpy(&given, a->to, sizeof given);
    char *to = given ? given : (allocated = rt_grow(NULL, (size_t)size));
    for (int k = 0; k < a->obj->n; k++) {
        const rt_value *v = &a->obj->values[k];
        if (rt_store_value(ctx, v, rt_shape_bytes(v->prim, v->rank, v->shape), &to)) {
            free(allocated);
            return RT_ERR;
        }
    }
    if (allocated)
        memcpy(a->to, &allocated, sizeof allocated);
    return RT_OK;
}

/* The bytes of the value that begins there; -1 if it is no array of that type. */
static int64_t rt_stored_bytes(const char *p, rt_prim prim, int rank)
{
    char head[RT_HEAD];
    int64_t shape[RT_MAX_RANK];
    rt_binary_head(prim, rank, head);
    if (memcmp(p, head, sizeof head) != 0)
        return -1;
    memcpy(shape, p + RT_HEAD, (size_t)rank * sizeof *shape);
    int64_t bytes = rt_shape_bytes(prim, rank, shape);
    return bytes < 0 ? -1 : RT_HEAD + 8 * rank + bytes;
}

/* Reads component k of a value of the type, and moves behind it. */
static bool rt_restore_component(const rt_program *prog, int type, int k, const char **p,
                                 rt_hvalue *h)
{
    rt_prim prim = RT_I32;
    int rank = 0;
    rt_reader r;
    rt_type_component(prog, type, k, &prim, &rank);
    int64_t n = rt_stored_bytes(*p, prim, rank);
    if (n < 0)
        return false;
    rt_reader_mem(&r, *p, (size_t)n, "stored value");
    bool ok = rt_read_value(&r, prim, rank, h);
    rt_reader_close(&r);
    *p += n;
    return ok;
}

RT_API int rt_lib_restore(rt_ctx *ctx, const rt_job_args *a)
{
    const char *p = a->from;
    rt_obj *o = rt_obj_new(ctx, a->type);
    rt_hvalue *h = rt_grow(NULL, (size_t)(o->n + 1) * sizeof *h);
    int done = 0;
    while (done < o->n && rt_restore_component(ctx->prog, a->type, done, &p, &h[done]))
        done++;
    int rc = RT_ERR;
    if (done == o->n)
        rc = rt_take_value(ctx, a->type, h, o->values);
    else
        rt_error_set(ctx, "these bytes are no stored value of type %s",
                     ctx->prog->types[a->type].name);
    for (int k = 0; k < done && done < o->n; k++)
        rt_hvalue_free(&h[k]);
    free(h);
    if (rc)
        return rt_obj_drop(ctx, o);
    memcpy(a->out[0], &o, sizeof o);
    return RT_OK;
}

/* --- Calls --- */

/* Parameters that the call consumes lose their references to it, so that it need not copy what
 * nobody else has. */
static void rt_give_up(rt_ctx *ctx, const rt_entry_def *e, const rt_lib_part *parts)
{
    for (int i = 0; i < e->n_in; i++) {
        rt_obj *o =
            rt_is_scalar(ctx->prog, e->in[i].type) ? NULL : (rt_obj *)(uintptr_t)parts[i].obj;
        if (!e->in[i].unique || !o || o->consumed)
            continue;
        rt_values_release(ctx, o->n, o->values);
        o->consumed = true;
    }
}

RT_API int rt_lib_call(rt_ctx *ctx, const rt_job_args *a)
{
    const rt_entry_def *e = &ctx->prog->entries[a->type];
    int n_in = rt_slots_components(ctx->prog, e->n_in, e->in), at = 0, rc = RT_OK;
    int n_out = rt_slots_components(ctx->prog, e->n_out, e->out);
    size_t bytes = (size_t)(n_in + n_out) * sizeof(rt_value);
    rt_value *in = memset(rt_grow(NULL, bytes), 0, bytes ? bytes : 1), *out = in + n_in;
    for (int i = 0; i < e->n_in && rc == RT_OK; i++) {
        rc = rt_part_take(ctx, e->in[i].type, &a->parts[i], in + at);
        at += rt_type_components(ctx->prog, e->in[i].type);
    }
    rc = rt_agree(ctx, rc, RT_AT_LIBRARY);
    if (rc == RT_OK) {
        rt_give_up(ctx, e, a->parts);
        rc = rt_call_later(ctx, e, in, out);
    }
    rt_values_release(ctx, n_in, in);
    const rt_value *next = out;
    for (int i = 0; i < e->n_out && rc == RT_OK; i++) {
        rt_obj_give(ctx, e->out[i].type, next, a->out[i]);
        next += rt_type_components(ctx->prog, e->out[i].type);
    }
    free(in);
    return rc;
}
