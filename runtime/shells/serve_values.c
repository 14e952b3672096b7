/* Commands of the server that look into values and types, and make values of others. */
#include "common/scalar.h"
#include "runtime/shells/serve.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Arrays whose elements have a type: all but those of programs whose types are not described. */
static bool rt_srv_is_array(const rt_program *prog, int type)
{
    const rt_type_def *t = type >= 0 ? &prog->types[type] : NULL;
    return t && (t->kind == RT_KIND_ARRAY || (t->kind == RT_KIND_OPAQUE && t->elem >= 0));
}

RT_API bool rt_cmd_kind(rt_server *s, int n, char **w)
{
    static const char *const names[] = {"primitive", "array", "record", "sum", "opaque"};
    (void)n;
    int type = rt_type_named(s->prog, w[0]);
    if (type >= 0)
        puts(names[rt_srv_is_array(s->prog, type) ? RT_KIND_ARRAY : s->prog->types[type].kind]);
    else if (w[0][0] == '(')
        puts("record");
    else
        return rt_srv_fail("Unknown type: %s", w[0]);
    return true;
}

RT_API bool rt_cmd_type(rt_server *s, int n, char **w)
{
    (void)n;
    const rt_var *v = rt_srv_var(s, w[0]);
    if (!v)
        return false;
    rt_srv_print_type(s, v->type);
    putchar('\n');
    return true;
}

/* The definition of an array type, *type its number; or a failure. */
static const rt_type_def *rt_srv_array_type(const rt_server *s, const char *name, int *type)
{
    if (!rt_srv_type(s, name, type))
        return NULL;
    const rt_type_def *t = &s->prog->types[*type];
    if (rt_srv_is_array(s->prog, *type))
        return t;
    rt_srv_fail("Not an array type: %s", name);
    return NULL;
}

RT_API bool rt_cmd_rank(rt_server *s, int n, char **w)
{
    (void)n;
    int type;
    const rt_type_def *t = rt_srv_array_type(s, w[0], &type);
    if (t)
        printf("%d\n", t->rank);
    return t != NULL;
}

RT_API bool rt_cmd_elemtype(rt_server *s, int n, char **w)
{
    (void)n;
    int type;
    const rt_type_def *t = rt_srv_array_type(s, w[0], &type);
    if (t)
        puts(t->elem < 0 ? rt_prim_name(t->prim) : s->prog->types[t->elem].name);
    return t != NULL;
}

/* A variable that is an array, or a failure. */
static rt_var *rt_srv_array(const rt_server *s, const char *name)
{
    rt_var *v = rt_srv_var(s, name);
    if (v && !rt_srv_is_array(s->prog, v->type)) {
        rt_srv_fail("Not an array: %s", name);
        return NULL;
    }
    return v;
}

RT_API bool rt_cmd_shape(rt_server *s, int n, char **w)
{
    (void)n;
    const rt_var *v = rt_srv_array(s, w[0]);
    for (int i = 0; v && v->n && i < s->prog->types[v->type].rank; i++)
        printf("%" PRId64 "\n", v->values[0].shape[i]);
    return v != NULL;
}

/* --- Digests ---------------------------------------------------------------------------------- */

/* Four words, each of every fourth word of the data: a change of any one changes its own. */
typedef struct {
    uint64_t word[4];
} rt_digest;

static uint64_t rt_stir(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 32;
}

static void rt_digest_bytes(rt_digest *d, const unsigned char *at, size_t n)
{
    uint64_t x[4];
    for (; n >= sizeof x; at += sizeof x, n -= sizeof x) {
        memcpy(x, at, sizeof x);
        for (int i = 0; i < 4; i++)
            d->word[i] = rt_stir(d->word[i], x[i]);
    }
    memset(x, 0, sizeof x);
    memcpy(x, at, n);
    for (int i = 0; i < 4; i++)
        d->word[i] = rt_stir(d->word[i], x[i]);
}

/* digest VAR...: hexadecimal digits that are the same for values of the same types, shapes and
 * bits. */
RT_API bool rt_cmd_digest(rt_server *s, int n, char **w)
{
    rt_digest d = {{RT_HASH_START, RT_HASH_START, RT_HASH_START, RT_HASH_START}};
    for (int i = 0; i < n; i++) {
        const rt_var *v = rt_srv_var(s, w[i]);
        for (int k = 0; v && k < v->n; k++) {
            rt_hvalue h;
            if (rt_download(s->ctx, &v->values[k], &h))
                return rt_srv_fail("%s", rt_error(s->ctx));
            int64_t head[2] = {h.prim, h.rank};
            rt_digest_bytes(&d, (const unsigned char *)head, sizeof head);
            rt_digest_bytes(&d, (const unsigned char *)h.shape, (size_t)h.rank * sizeof *h.shape);
            rt_digest_bytes(&d, h.data, (size_t)rt_hvalue_bytes(&h));
            rt_hvalue_free(&h);
        }
        if (!v)
            return false;
    }
    for (int i = 0; i < 4; i++)
        printf("%016" PRIx64 "%s", d.word[i], i < 3 ? "" : "\n");
    return true;
}

/* --- Elements --------------------------------------------------------------------------------- */

/* The place of the element of an array with these indexes, or a failure. */
static bool rt_srv_position(const rt_server *s, const rt_var *v, int n, char **w, int64_t *at)
{
    int rank = s->prog->types[v->type].rank;
    if (n != rank)
        return rt_srv_fail("%s has %d dimensions: got %d indexes", v->name, rank, n);
    *at = 0;
    for (int i = 0; i < n && v->n; i++) {
        char *end;
        errno = 0;
        int64_t k = strtoll(w[i], &end, 10), size = v->values[0].shape[i];
        if (end == w[i] || *end || errno || k < 0 || k >= size)
            return rt_srv_fail("Index %s out of bounds for dimension %d of size %" PRId64, w[i], i,
                               size);
        *at = *at * size + k;
    }
    return true;
}

/* The type of an array's elements. */
static int rt_srv_elem(const rt_server *s, int type)
{
    const rt_type_def *t = &s->prog->types[type];
    return t->elem >= 0 ? t->elem : rt_type_named(s->prog, rt_prim_name(t->prim));
}

/* index TO ARRAY I...: one element. */
RT_API bool rt_cmd_index(rt_server *s, int n, char **w)
{
    const rt_var *v = rt_srv_array(s, w[1]);
    int64_t at;
    if (!v || !rt_srv_is_new(s, w[0]) || !rt_srv_position(s, v, n - 2, w + 2, &at))
        return false;
    int count = v->n, type = rt_srv_elem(s, v->type);
    rt_value *values = rt_grow(NULL, (size_t)count * sizeof *values);
    bool ok = rt_element_get(s->ctx, count, v->values, s->prog->types[v->type].rank, at, values) ==
                  RT_OK ||
              rt_srv_fail("%s", rt_error(s->ctx));
    if (ok)
        rt_srv_define(s, w[0], type, count, values);
    free(values);
    return ok;
}

/* A variable of that type, or a failure. */
static const rt_var *rt_srv_typed(const rt_server *s, const char *name, int type)
{
    const rt_var *v = rt_srv_var(s, name);
    if (!v || v->type == type)
        return v;
    rt_srv_fail("Not of type %s: %s", s->prog->types[type].name, name);
    return NULL;
}

/* set ARRAY VALUE I...: changes one element in place. */
RT_API bool rt_cmd_set(rt_server *s, int n, char **w)
{
    rt_var *v = rt_srv_array(s, w[0]);
    int64_t at;
    if (!v || !rt_srv_position(s, v, n - 2, w + 2, &at))
        return false;
    const rt_var *x = rt_srv_typed(s, w[1], rt_srv_elem(s, v->type));
    if (!x)
        return false;
    int rank = s->prog->types[v->type].rank;
    return rt_element_set(s->ctx, rt_srv_elem(s, v->type), v->n, v->values, rank, at, x->values) ==
               RT_OK ||
           rt_srv_fail("%s", rt_error(s->ctx));
}

/* new_array TO TYPE SIZES... VALUES...: an array of its elements. */
RT_API bool rt_cmd_new_array(rt_server *s, int n, char **w)
{
    int type;
    const rt_type_def *t = rt_srv_is_new(s, w[0]) ? rt_srv_array_type(s, w[1], &type) : NULL;
    if (!t)
        return false;
    if (n - 2 < t->rank)
        return rt_srv_fail("%s needs %d sizes", w[1], t->rank);
    int64_t shape[RT_MAX_RANK], count = 1;
    for (int i = 0; i < t->rank; i++) {
        char *end;
        errno = 0;
        shape[i] = strtoll(w[2 + i], &end, 10);
        if (end == w[2 + i] || *end || errno || shape[i] < 0)
            return rt_srv_fail("Not a size: %s", w[2 + i]);
        count = mf_size_mul(count, shape[i]);
    }
    int given = n - 2 - t->rank, n_values = rt_type_components(s->prog, type);
    if (count != given)
        return rt_srv_fail("%d values do not make an array of these sizes", given);
    const rt_value **elems = rt_grow(NULL, (size_t)given * sizeof *elems);
    rt_value *values = rt_grow(NULL, (size_t)n_values * sizeof *values);
    bool ok = true;
    for (int i = 0; i < given && ok; i++) {
        const rt_var *x = rt_srv_typed(s, w[2 + t->rank + i], rt_srv_elem(s, type));
        ok = x != NULL;
        elems[i] = ok ? x->values : NULL;
    }
    if (ok && rt_elements_new(s->ctx, type, rt_srv_elem(s, type), shape, given, elems, values))
        ok = rt_srv_fail("%s", rt_error(s->ctx));
    if (ok)
        rt_srv_define(s, w[0], type, n_values, values);
    free(values);
    free(elems);
    return ok;
}

/* --- Records ---------------------------------------------------------------------------------- */

RT_API bool rt_cmd_fields(rt_server *s, int n, char **w)
{
    (void)n;
    int type;
    for (int i = 0; i < s->prog->n_entries && w[0][0] == '('; i++) {
        /* A tuple of results may have no type of its own in the program. */
        const rt_entry_def *e = &s->prog->entries[i];
        char *name = rt_format("(");
        for (int k = 0; k < e->n_out; k++) {
            char *more =
                rt_format("%s%s%s", name, k ? ", " : "", s->prog->types[e->out[k].type].name);
            free(name);
            name = more;
        }
        size_t len = strlen(name);
        bool same = strncmp(name, w[0], len) == 0 && strcmp(w[0] + len, ")") == 0;
        free(name);
        for (int k = 0; same && k < e->n_out; k++)
            printf("%d %s\n", k, s->prog->types[e->out[k].type].name);
        if (same)
            return true;
    }
    if (!rt_srv_type(s, w[0], &type))
        return false;
    const rt_type_def *t = &s->prog->types[type];
    if (!rt_srv_has_fields(t))
        return rt_srv_fail("Not a record type: %s", w[0]);
    for (int i = 0; i < t->n_fields; i++)
        printf("%s %s\n", t->fields[i].name, s->prog->types[t->fields[i].type].name);
    return true;
}

/* project TO FROM FIELD */
RT_API bool rt_cmd_project(rt_server *s, int n, char **w)
{
    (void)n;
    int type, at;
    rt_var *v = rt_srv_var(s, w[1]);
    if (!v || !rt_srv_is_new(s, w[0]))
        return false;
    if (v->type >= 0 && !rt_srv_has_fields(&s->prog->types[v->type]))
        return rt_srv_fail("Not a record: %s", w[1]);
    if (!rt_srv_field(s, v->type, w[2], &type, &at))
        return rt_srv_fail("No such field: %s", w[2]);
    int k = rt_type_components(s->prog, type);
    for (int i = 0; i < k; i++)
        rt_ref(v->values[at + i].mem);
    rt_srv_define(s, w[0], type, k, v->values + at);
    return true;
}

/* new TO TYPE FIELDS...: a record; an array of records, of arrays of the same shape. */
RT_API bool rt_cmd_new(rt_server *s, int n, char **w)
{
    int type, at = 0;
    if (!rt_srv_is_new(s, w[0]) || !rt_srv_type(s, w[1], &type))
        return false;
    const rt_type_def *t = &s->prog->types[type];
    if (!rt_srv_has_fields(t))
        return rt_srv_fail("Not a record type: %s", w[1]);
    if (n - 2 != t->n_fields)
        return rt_srv_fail("%s has %d fields: got %d", w[1], t->n_fields, n - 2);
    for (int i = 0; i < t->n_fields; i++) {
        const rt_var *v = rt_srv_var(s, w[2 + i]);
        if (!v)
            return false;
        if (v->type != t->fields[i].type)
            return rt_srv_fail("Field %s of %s: expected %s", t->fields[i].name, w[1],
                               s->prog->types[t->fields[i].type].name);
    }
    int total = rt_type_components(s->prog, type);
    rt_value *values = rt_grow(NULL, (size_t)total * sizeof *values);
    for (int i = 0; i < t->n_fields; i++) {
        const rt_var *v = rt_srv_lookup(s, w[2 + i]);
        for (int k = 0; k < v->n; k++) {
            values[at] = v->values[k];
            rt_ref(values[at++].mem);
        }
    }
    bool ok = t->kind != RT_KIND_OPAQUE || rt_same_shapes(s->ctx, type, values) == RT_OK;
    if (ok) {
        rt_srv_define(s, w[0], type, total, values);
    } else {
        rt_values_release(s->ctx, total, values);
        rt_srv_fail("%s", rt_error(s->ctx));
    }
    free(values);
    return ok;
}

static bool rt_srv_is_records(const rt_program *prog, int type)
{
    return type >= 0 && prog->types[type].kind == RT_KIND_OPAQUE && prog->types[type].n_fields;
}

/* zip TO TYPE ARRAYS...: an array of records, from an array for each field. */
RT_API bool rt_cmd_zip(rt_server *s, int n, char **w)
{
    int type;
    if (!rt_srv_type(s, w[1], &type))
        return false;
    if (!rt_srv_is_records(s->prog, type))
        return rt_srv_fail("Not an array of records: %s", w[1]);
    return rt_cmd_new(s, n, w);
}

/* unzip ARRAY TO...: a variable for each field of an array of records. */
RT_API bool rt_cmd_unzip(rt_server *s, int n, char **w)
{
    const rt_var *v = rt_srv_var(s, w[0]);
    if (!v)
        return false;
    if (!rt_srv_is_records(s->prog, v->type))
        return rt_srv_fail("Not an array of records: %s", w[0]);
    const rt_type_def *t = &s->prog->types[v->type];
    if (n - 1 != t->n_fields)
        return rt_srv_fail("%s has %d fields: got %d names", w[0], t->n_fields, n - 1);
    if (!rt_srv_all_new(s, n - 1, w + 1))
        return false;
    for (int i = 0; i < t->n_fields; i++) {
        char *field[] = {w[1 + i], w[0], (char *)(uintptr_t)t->fields[i].name};
        if (!rt_cmd_project(s, 3, field))
            return false;
    }
    return true;
}

/* --- Sums ------------------------------------------------------------------------------------- */

/* The definition of a sum type, or a failure. */
static const rt_type_def *rt_srv_sum_type(const rt_server *s, const char *name, int *type)
{
    if (!rt_srv_type(s, name, type))
        return NULL;
    const rt_type_def *t = &s->prog->types[*type];
    if (t->kind == RT_KIND_SUM)
        return t;
    rt_srv_fail("Not a sum type: %s", name);
    return NULL;
}

/* variants TYPE: each by its name, then the types of what it holds. */
RT_API bool rt_cmd_variants(rt_server *s, int n, char **w)
{
    (void)n;
    int type;
    const rt_type_def *t = rt_srv_sum_type(s, w[0], &type);
    for (int k = 0; t && k < t->n_variants; k++) {
        const rt_variant_def *v = &t->variants[k];
        puts(v->name);
        for (int i = 0; i < v->n; i++)
            printf("- %s\n", s->prog->types[v->types[i]].name);
    }
    return t != NULL;
}

/* A variable that is a sum, and the variant that it is; or a failure. */
static const rt_var *rt_srv_sum(const rt_server *s, const char *name,
                                const rt_variant_def **variant)
{
    const rt_var *v = rt_srv_var(s, name);
    if (!v)
        return NULL;
    const rt_type_def *t = v->type >= 0 ? &s->prog->types[v->type] : NULL;
    if (!t || t->kind != RT_KIND_SUM) {
        rt_srv_fail("Not a sum: %s", name);
        return NULL;
    }
    *variant = &t->variants[rt_variant_number(v->values)];
    return v;
}

RT_API bool rt_cmd_variant(rt_server *s, int n, char **w)
{
    (void)n;
    const rt_variant_def *variant;
    const rt_var *v = rt_srv_sum(s, w[0], &variant);
    if (v)
        puts(variant->name);
    return v != NULL;
}

/* construct TO TYPE VARIANT VALUES... */
RT_API bool rt_cmd_construct(rt_server *s, int n, char **w)
{
    int type, k = 0, at = 0;
    const rt_type_def *t = rt_srv_is_new(s, w[0]) ? rt_srv_sum_type(s, w[1], &type) : NULL;
    if (!t)
        return false;
    while (k < t->n_variants && strcmp(t->variants[k].name, w[2]) != 0)
        k++;
    if (k == t->n_variants)
        return rt_srv_fail("%s has no variant %s", w[1], w[2]);
    const rt_variant_def *variant = &t->variants[k];
    if (n - 3 != variant->n)
        return rt_srv_fail("%s holds %d values: got %d", w[2], variant->n, n - 3);
    int n_holds = rt_variant_components(s->prog, variant), n_values = t->n_components;
    rt_value *holds = rt_grow(NULL, (size_t)n_holds * sizeof *holds);
    rt_value *values = rt_grow(NULL, (size_t)n_values * sizeof *values);
    bool ok = true;
    for (int i = 0; i < variant->n && ok; i++) {
        const rt_var *x = rt_srv_typed(s, w[3 + i], variant->types[i]);
        ok = x != NULL;
        for (int j = 0; ok && j < x->n; j++)
            holds[at++] = x->values[j];
    }
    if (ok && rt_variant_make(s->ctx, type, k, holds, values))
        ok = rt_srv_fail("%s", rt_error(s->ctx));
    if (ok)
        rt_srv_define(s, w[0], type, n_values, values);
    free(values);
    free(holds);
    return ok;
}

/* destruct SUM TO...: a variable for each value that it holds. */
RT_API bool rt_cmd_destruct(rt_server *s, int n, char **w)
{
    const rt_variant_def *variant;
    const rt_var *v = rt_srv_sum(s, w[0], &variant);
    if (!v)
        return false;
    if (n - 1 != variant->n)
        return rt_srv_fail("%s is %s, which holds %d values: got %d names", w[0], variant->name,
                           variant->n, n - 1);
    if (!rt_srv_all_new(s, n - 1, w + 1))
        return false;
    rt_value *holds =
                 rt_grow(NULL, (size_t)rt_variant_components(s->prog, variant) * sizeof *holds),
             *next = holds;
    (void)rt_variant_holds(s->ctx, v->type, v->values, holds);
    for (int i = 0; i < variant->n; i++) {
        int count = rt_type_components(s->prog, variant->types[i]);
        rt_srv_define(s, w[1 + i], variant->types[i], count, next);
        next += count;
    }
    free(holds);
    return true;
}
