/* Types and entries as functions of Futhark's C API (its user's guide, "C API Reference", as of
 * 0.25.33): names, declarations, and what each calls of runtime/shells/library.h. */
#include "emit/emit_parts.h"

#include "base/intern.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *text(const Api *api, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static const char *text(const Api *api, const char *fmt, ...)
{
    Out o = {0};
    va_list ap;
    va_start(ap, fmt);
    out_vprintf(&o, fmt, ap);
    va_end(ap);
    const char *s = arena_strndup(api->cx->perm, o.text ? o.text : "", o.n);
    out_free(&o);
    return s;
}

/* --- Names ----------------------------------------------------------------------------------- */

static void name_types(Api *api)
{
    for (int i = 0; i < api->b->types.n; i++) {
        const BType *t = &api->b->types.at[i];
        bool plain = t->kind == BT_ARRAY || t->kind == BT_PRIM;
        const char *name = plain ? text(api, "%s_%dd", prim_type_text[t->prim], t->rank)
                                 : api_opaque_name(api->cx, t->name, &api->short_names);
        vec_push(api->cx->perm, &api->short_names, name);
    }
}

/* What follows "futhark_" in the type's struct and "futhark_OP_" in its functions. */
static const char *short_name(const Api *api, int type)
{
    return api->short_names.at[type];
}

/* In the interface bool is C's; in memory it is the byte that C makes of it. */
static const char *type_c(PrimType t)
{
    static const char *const c[N_PRIM_TYPES] = {
#define X(TAG, T, text, bits, C, ...) [T_##TAG] = #C,
        RT_SCALARS(X, )
#undef X
    };
    return t == T_BOOL ? "bool" : c[t];
}

/* A value of the type as a result, `float *` or `struct futhark_f32_1d **`, and as a parameter. */
static const char *out_c(const Api *api, int type)
{
    const BType *t = &api->b->types.at[type];
    return t->kind == BT_PRIM ? text(api, "%s *", type_c(t->prim))
                              : text(api, "struct futhark_%s **", short_name(api, type));
}

static const char *in_c(const Api *api, int type)
{
    const BType *t = &api->b->types.at[type];
    return t->kind == BT_PRIM ? text(api, "const %s ", type_c(t->prim))
                              : text(api, "const struct futhark_%s *", short_name(api, type));
}

/* ", int64_t dim0, int64_t dim1", or ", dim0, dim1" with no type. */
static const char *numbered(const Api *api, const char *type, const char *name, int n)
{
    const char *s = "";
    for (int i = 0; i < n; i++)
        s = text(api, "%s, %s%s%s%d", s, type, *type ? " " : "", name, i);
    return s;
}

/* (int64_t[]){dim0, dim1} */
static const char *list_c(const Api *api, const char *name, int n)
{
    return text(api, "(int64_t[]){%s}", numbered(api, "", name, n) + 2);
}

/* --- Functions ------------------------------------------------------------------------------- */

/* A function `futhark_OP_TYPE`, which returns what the words in front say and has these parameters
 * behind the context. */
static ApiFn function(const Api *api, const char *returns, const char *op, const char *type,
                      const char *params, const char *body)
{
    const char *name = text(api, "futhark_%s_%s", op, type);
    return (ApiFn){name, text(api, "%s%s(struct futhark_context *ctx%s)", returns, name, params),
                   body};
}

static const char *does(const Api *api, const char *op, const char *args)
{
    return text(api, "return rt_lib_do(ctx, rt_lib_%s, &(rt_job_args){%s});\n", op, args);
}

static const char *makes(const Api *api, const char *op, const char *args)
{
    return text(api, "return rt_lib_make(ctx, rt_lib_%s, (rt_job_args){%s});\n", op, args);
}

static void array_functions(const Api *api, ApiType *x)
{
    const BType *t = &api->b->types.at[x->type];
    const char *c = x->c_name, *e = type_c(t->prim), *name = short_name(api, x->type);
    const char *dims = numbered(api, "int64_t", "dim", t->rank),
               *index = numbered(api, "int64_t", "i", t->rank);
    const char *returns = text(api, "struct %s *", c), *arr = text(api, ", struct %s *arr", c);
    const char *at = list_c(api, "dim", t->rank);
    x->ops[OP_API_NEW] = function(
        api, returns, "new", name, text(api, ", const %s *data%s", e, dims),
        makes(api, "new_array", text(api, ".type = %d, .from = data, .at = %s", x->type, at)));
    x->ops[OP_API_NEW_RAW] = function(
        api, returns, "new_raw", name, text(api, ", cl_mem data%s", dims),
        makes(api, "new_raw", text(api, ".type = %d, .from = data, .at = %s", x->type, at)));
    x->ops[OP_API_FREE] =
        function(api, "int ", "free", name, arr, does(api, "free", ".obj = (rt_obj *)arr"));
    x->ops[OP_API_VALUES] = function(api, "int ", "values", name, text(api, "%s, %s *data", arr, e),
                                     does(api, "values", ".obj = (rt_obj *)arr, .to = data"));
    x->ops[OP_API_VALUES_RAW] = function(api, "cl_mem ", "values_raw", name, arr,
                                         "return rt_lib_raw(ctx, (const rt_obj *)arr);\n");
    x->ops[OP_API_INDEX] = function(
        api, "int ", "index", name, text(api, ", %s *out%s%s", e, arr, index),
        does(api, "index",
             text(api, ".obj = (rt_obj *)arr, .to = out, .at = %s", list_c(api, "i", t->rank))));
    x->ops[OP_API_SHAPE] = function(api, "const int64_t *", "shape", name, arr,
                                    "(void)ctx;\nreturn rt_lib_shape((const rt_obj *)arr);\n");
}

/* A field as a parameter: `0` is `v0`, `name` is `f_name`. */
static const char *field_param(const Api *api, const char *field)
{
    return text(api, isdigit((unsigned char)*field) ? "v%s" : "f_%s",
                api_member_name(api->cx, field));
}

/* A parameter as an rt_lib_part. */
static const char *part_c(const Api *api, int type, const char *param)
{
    const BType *t = &api->b->types.at[type];
    const char *member = rt_member_c(t->prim);
    return t->kind == BT_PRIM ? text(api, "{.scalar.%s = %s}", member, param)
                              : text(api, "{.obj = %s}", param);
}

/* Fields by name, those of tuples by number: the order of parameters. */
static Ints field_order(const Api *api, const BType *t)
{
    Ints order = {0};
    for (int i = 0; i < t->fields.n; i++)
        vec_push(api->cx->perm, &order, i);
    for (int i = 1; i < order.n; i++)
        for (int k = i; k > 0; k--) {
            const char *a = t->field_names.at[order.at[k - 1]], *b = t->field_names.at[order.at[k]];
            bool digits = isdigit((unsigned char)*a) && isdigit((unsigned char)*b);
            if (digits ? atoi(a) <= atoi(b) : strcmp(a, b) <= 0)
                break;
            int swap = order.at[k];
            order.at[k] = order.at[k - 1];
            order.at[k - 1] = swap;
        }
    return order;
}

/* One value from one of each field: `new` of records, `zip` of arrays of them. */
static ApiFn from_fields(const Api *api, const ApiType *x, const char *called, const char *op)
{
    const BType *t = &api->b->types.at[x->type];
    const char *params = text(api, ", struct %s **out", x->c_name), *parts = "";
    for (int i = 0; i < x->order.n; i++) {
        int k = x->order.at[i];
        params = text(api, "%s, %s%s", params, in_c(api, t->fields.at[k]),
                      field_param(api, t->field_names.at[k]));
    }
    for (int k = 0; k < t->fields.n; k++) /* as the runtime has them */
        parts = text(api, "%s%s%s", parts, k ? ", " : "",
                     part_c(api, t->fields.at[k], field_param(api, t->field_names.at[k])));
    if (t->fields.n)
        parts = text(api, ", .parts = (const rt_lib_part[]){%s}", parts);
    return function(
        api, "int ", called, short_name(api, x->type), params,
        does(api, op, text(api, ".type = %d%s, .out = (void *const[]){out}", x->type, parts)));
}

static void field_functions(const Api *api, ApiType *x)
{
    const BType *t = &api->b->types.at[x->type];
    const char *name = short_name(api, x->type);
    x->order = field_order(api, t);
    for (int k = 0; k < t->fields.n; k++) {
        const char *type = text(api, "%s_%s", name, api_member_name(api->cx, t->field_names.at[k]));
        const char *params =
            text(api, ", %sout, const struct %s *obj", out_c(api, t->fields.at[k]), x->c_name);
        ApiFn f = function(
            api, "int ", "project", type, params,
            does(api, "project",
                 text(api, ".type = %d, .obj = (rt_obj *)obj, .out = (void *const[]){out}", k)));
        vec_push(api->cx->perm, &x->project, f);
    }
}

static void elements_functions(const Api *api, ApiType *x)
{
    const BType *t = &api->b->types.at[x->type];
    const char *name = short_name(api, x->type), *arr = text(api, "struct %s *arr", x->c_name);
    x->ops[OP_API_SHAPE] = function(api, "const int64_t *", "shape", name, text(api, ", %s", arr),
                                    "(void)ctx;\nreturn rt_lib_shape((const rt_obj *)arr);\n");
    if (t->fields.n)
        x->ops[OP_API_ZIP] = from_fields(api, x, "zip", "new_record");
    if (t->elem < 0)
        return;
    const char *index = numbered(api, "int64_t", "i", t->rank), *at = list_c(api, "i", t->rank);
    const char *elem = text(api, "struct futhark_%s *", short_name(api, t->elem));
    x->ops[OP_API_INDEX] = function(
        api, "int ", "index", name, text(api, ", %s*out, %s%s", elem, arr, index),
        does(api, "index_record",
             text(api, ".obj = (rt_obj *)arr, .at = %s, .out = (void *const[]){out}", at)));
    x->ops[OP_API_SET] = function(
        api, "int ", "set", name, text(api, ", %s, const %selem%s", arr, elem, index),
        does(api, "set_record", text(api, ".obj = (rt_obj *)arr, .from = elem, .at = %s", at)));
    x->ops[OP_API_NEW] =
        function(api, "int ", "new", name,
                 text(api, ", struct %s **out, %s*elems%s", x->c_name, elem,
                      numbered(api, "int64_t", "dim", t->rank)),
                 does(api, "new_records",
                      text(api, ".type = %d, .from = elems, .at = %s, .out = (void *const[]){out}",
                           x->type, list_c(api, "dim", t->rank))));
}

/* What variant k holds, as parameters of its own functions. */
static void variant_functions(const Api *api, ApiType *x, int k)
{
    const BVariant *v = &api->b->types.at[x->type].variants.at[k];
    const char *name =
        text(api, "%s_%s", short_name(api, x->type), api_member_name(api->cx, v->name));
    const char *takes = "", *gives = "", *parts = "", *outs = "";
    for (int i = 0; i < v->types.n; i++) {
        const char *param = text(api, "v%d", i), *comma = i ? ", " : "";
        takes = text(api, "%s, %s%s", takes, in_c(api, v->types.at[i]), param);
        gives = text(api, "%s, %s%s", gives, out_c(api, v->types.at[i]), param);
        parts = text(api, "%s%s%s", parts, comma, part_c(api, v->types.at[i], param));
        outs = text(api, "%s%s%s", outs, comma, param);
    }
    if (v->types.n) {
        parts = text(api, ", .parts = (const rt_lib_part[]){%s}", parts);
        outs = text(api, ", .out = (void *const[]){%s}", outs);
    }
    const char *which = text(api, ".at = (int64_t[]){%d}", k);
    ApiVariant f = {
        function(api, "int ", "new", name, text(api, ", struct %s **out%s", x->c_name, takes),
                 does(api, "construct",
                      text(api, ".type = %d, %s%s, .out = (void *const[]){out}", x->type, which,
                           parts))),
        function(api, "int ", "destruct", name,
                 text(api, "%s, const struct %s *obj", gives, x->c_name),
                 does(api, "destruct", text(api, ".obj = (rt_obj *)obj, %s%s", which, outs)))};
    vec_push(api->cx->perm, &x->variants, f);
}

static void sum_functions(const Api *api, ApiType *x)
{
    for (int k = 0; k < api->b->types.at[x->type].variants.n; k++)
        variant_functions(api, x, k);
    x->ops[OP_API_VARIANT] = function(api, "int ", "variant", short_name(api, x->type),
                                      text(api, ", const struct %s *v", x->c_name),
                                      "(void)ctx;\nreturn rt_lib_variant((const rt_obj *)v);\n");
}

static void opaque_functions(const Api *api, ApiType *x)
{
    const BType *t = &api->b->types.at[x->type];
    const char *c = x->c_name, *name = short_name(api, x->type);
    x->ops[OP_API_FREE] = function(api, "int ", "free", name, text(api, ", struct %s *obj", c),
                                   does(api, "free", ".obj = (rt_obj *)obj"));
    x->ops[OP_API_STORE] = function(api, "int ", "store", name,
                                    text(api, ", const struct %s *obj, void **p, size_t *n", c),
                                    does(api, "store", ".obj = (rt_obj *)obj, .to = p, .size = n"));
    x->ops[OP_API_RESTORE] =
        function(api, text(api, "struct %s *", c), "restore", name, ", const void *p",
                 makes(api, "restore", text(api, ".type = %d, .from = p", x->type)));
    field_functions(api, x);
    if (t->kind == BT_SUM)
        sum_functions(api, x);
    else if (t->kind == BT_OPAQUE)
        elements_functions(api, x);
    else
        x->ops[OP_API_NEW] = from_fields(api, x, "new", "new_record");
}

static ApiFn entry_function(const Api *api, int id)
{
    const BEntry *e = &api->b->entries.at[id];
    const char *params = "", *outs = "", *parts = "";
    for (int i = 0; i < e->out.n; i++) {
        params = text(api, "%s, %sout%d", params, out_c(api, e->out.at[i].type), i);
        outs = text(api, "%s%sout%d", outs, i ? ", " : "", i);
    }
    for (int i = 0; i < e->in.n; i++) {
        const char *param = text(api, "in%d", i);
        params = text(api, "%s, %s%s", params, in_c(api, e->in.at[i].type), param);
        parts = text(api, "%s%s%s", parts, i ? ", " : "", part_c(api, e->in.at[i].type, param));
    }
    if (e->in.n)
        parts = text(api, ", .parts = (const rt_lib_part[]){%s}", parts);
    if (e->out.n)
        outs = text(api, ", .out = (void *const[]){%s}", outs);
    return function(api, "int ", "entry", api_member_name(api->cx, e->plan->entry->name), params,
                    does(api, "call", text(api, ".type = %d%s%s", id, parts, outs)));
}

Api *api_new(Ctx *cx, const Boundary *b, const Plan *p)
{
    Api *api = NEW(cx->perm, Api);
    *api = (Api){.cx = cx, .b = b, .plan = p};
    name_types(api);
    for (int i = 0; i < b->types.n; i++) {
        if (b->types.at[i].kind == BT_PRIM)
            continue;
        ApiType x = {.type = i, .c_name = text(api, "futhark_%s", short_name(api, i))};
        if (b->types.at[i].kind == BT_ARRAY)
            array_functions(api, &x);
        else
            opaque_functions(api, &x);
        vec_push(cx->perm, &api->types, x);
    }
    for (int i = 0; i < b->entries.n; i++) {
        ApiFn f = entry_function(api, i);
        vec_push(cx->perm, &api->entries, f);
    }
    return api;
}

/* --- Text ------------------------------------------------------------------------------------ */

typedef void Put(Out *o, const ApiFn *f);

/* Each function of a type. */
static void put_type(Out *o, const ApiType *x, Put *put)
{
    for (int i = 0; i < N_API_OPS; i++)
        if (x->ops[i].name)
            put(o, &x->ops[i]);
    for (int i = 0; i < x->project.n; i++)
        put(o, &x->project.at[i]);
    for (int i = 0; i < x->variants.n; i++) {
        put(o, &x->variants.at[i].construct);
        put(o, &x->variants.at[i].destruct);
    }
}

static void declare(Out *o, const ApiFn *f)
{
    out_printf(o, "%s;\n", f->proto);
}

static void define(Out *o, const ApiFn *f)
{
    out_printf(o, "%s\n{\n", f->proto);
    o->indent++;
    out_puts(o, f->body);
    o->indent--;
    out_puts(o, "}\n\n");
}

void api_header(Out *o, const Api *api)
{
    out_puts(o, "/* --- Types --- */\n\n");
    for (int i = 0; i < api->types.n; i++) {
        const ApiType *x = &api->types.at[i];
        out_printf(o, "struct %s; ", x->c_name);
        out_c_comment(o, "%s", api->b->types.at[x->type].name);
        out_puts(o, "\n");
    }
    for (int i = 0; i < api->types.n; i++) {
        out_puts(o, "\n");
        put_type(o, &api->types.at[i], declare);
    }
    out_puts(o, "\n/* --- Entry points --- */\n\n");
    for (int i = 0; i < api->entries.n; i++)
        declare(o, &api->entries.at[i]);
    out_puts(o, "\n#ifdef __cplusplus\n}\n#endif\n");
}

/* The functions that all libraries have but that need the program's tables. */
static void put_program(Out *o, const Plan *p)
{
    int n = plan_n_params(p);
    out_puts(o, "struct futhark_context_config *futhark_context_config_new(void)\n{\n"
                "    return rt_lib_config_new(&program);\n}\n\n");
    out_printf(o, "int futhark_get_tuning_param_count(void)\n{\n    return %d;\n}\n\n", n);
    for (int i = 0; i < 2; i++)
        out_printf(o,
                   "const char *futhark_get_tuning_param_%s(int i)\n{\n"
                   "    return i >= 0 && i < %d ? program.params[i].%s : NULL;\n}\n\n",
                   i ? "class" : "name", n, i ? "cls" : "name");
}

void api_functions(Out *o, const Api *api)
{
    put_program(o, api->plan);
    for (int i = 0; i < api->types.n; i++)
        out_printf(o, "struct %s;\n", api->types.at[i].c_name);
    out_puts(o, "\n");
    for (int i = 0; i < api->types.n; i++)
        put_type(o, &api->types.at[i], define);
    for (int i = 0; i < api->entries.n; i++)
        define(o, &api->entries.at[i]);
}
