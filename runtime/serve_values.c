/* Commands of the server that look into values and types, and make values of others. */
#include "runtime/scalar.h"
#include "runtime/serve.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

RT_API bool rt_cmd_kind(rt_server *s, int n, char **w)
{
    static const char *const names[] = {"primitive", "array", "record", "opaque"};
    (void)n;
    int type = rt_type_named(s->prog, w[0]);
    if (type >= 0)
        puts(names[s->prog->types[type].kind]);
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
    if (t->kind == RT_KIND_ARRAY)
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
        puts(rt_prim_name(t->prim));
    return t != NULL;
}

/* A variable that is an array, or a failure. */
static rt_var *rt_srv_array(const rt_server *s, const char *name)
{
    rt_var *v = rt_srv_var(s, name);
    if (v && (v->type < 0 || s->prog->types[v->type].kind != RT_KIND_ARRAY)) {
        rt_srv_fail("Not an array: %s", name);
        return NULL;
    }
    return v;
}

RT_API bool rt_cmd_shape(rt_server *s, int n, char **w)
{
    (void)n;
    const rt_var *v = rt_srv_array(s, w[0]);
    for (int i = 0; v && i < v->values[0].rank; i++)
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

/* digest VAR...: hexadecimal digits that are the same for values of the same types, shapes and bits. */
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

/* The place of the element with these indexes, or a failure. */
static bool rt_srv_position(const rt_value *a, const char *name, int n, char **w, int64_t *at)
{
    if (n != a->rank)
        return rt_srv_fail("%s has %d dimensions: got %d indexes", name, a->rank, n);
    *at = 0;
    for (int i = 0; i < n; i++) {
        char *end;
        errno = 0;
        int64_t k = strtoll(w[i], &end, 10);
        if (end == w[i] || *end || errno || k < 0 || k >= a->shape[i])
            return rt_srv_fail("Index %s out of bounds for dimension %d of size %" PRId64, w[i], i,
                               a->shape[i]);
        *at = *at * a->shape[i] + k;
    }
    return true;
}

/* index TO ARRAY I...: one element, as a scalar. */
RT_API bool rt_cmd_index(rt_server *s, int n, char **w)
{
    const rt_var *v = rt_srv_array(s, w[1]);
    if (!v || !rt_srv_is_new(s, w[0]))
        return false;
    const rt_value *a = &v->values[0];
    int64_t at;
    if (!rt_srv_position(a, w[1], n - 2, w + 2, &at))
        return false;
    int type, size = rt_prim_size(a->prim);
    rt_value value = {.prim = a->prim};
    if (!rt_srv_type(s, rt_prim_name(a->prim), &type))
        return false;
    if (rt_read_scalar(s->ctx, a->mem, at * size, size, &value.scalar))
        return rt_srv_fail("%s", rt_error(s->ctx));
    rt_srv_define(s, w[0], type, 1, &value);
    return true;
}

/* A scalar variable of an array's element type, or a failure. */
static const rt_var *rt_srv_scalar(const rt_server *s, const char *name, rt_prim prim)
{
    const rt_var *v = rt_srv_var(s, name);
    if (!v)
        return NULL;
    if (v->type >= 0 && s->prog->types[v->type].kind == RT_KIND_PRIM && v->values[0].prim == prim)
        return v;
    rt_srv_fail("Not of type %s: %s", rt_prim_name(prim), name);
    return NULL;
}

/* set ARRAY VALUE I...: changes one element in place. */
RT_API bool rt_cmd_set(rt_server *s, int n, char **w)
{
    rt_var *v = rt_srv_array(s, w[0]);
    int64_t at;
    if (!v || !rt_srv_position(&v->values[0], w[0], n - 2, w + 2, &at))
        return false;
    rt_value *a = &v->values[0];
    const rt_var *x = rt_srv_scalar(s, w[1], a->prim);
    if (!x)
        return false;
    int size = rt_prim_size(a->prim);
    /* Others that share the block keep what they have. */
    if ((!rt_sole(a->mem) && rt_value_own(s->ctx, a)) ||
        rt_write_scalar(s->ctx, a->mem, at * size, size, &x->values[0].scalar))
        return rt_srv_fail("%s", rt_error(s->ctx));
    return true;
}

/* new_array TO TYPE SIZES... VALUES...: an array of scalars. */
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
    int given = n - 2 - t->rank;
    rt_hvalue h;
    if (count != given)
        return rt_srv_fail("%d values do not make an array of these sizes", given);
    if (!rt_hvalue_make(&h, t->prim, t->rank, shape))
        return rt_srv_fail("out of memory");
    rt_value value = {0};
    bool ok = true;
    int size = rt_prim_size(t->prim);
    for (int i = 0; i < given && ok; i++) {
        const rt_var *x = rt_srv_scalar(s, w[2 + t->rank + i], t->prim);
        ok = x != NULL;
        if (ok)
            memcpy((char *)h.data + (size_t)i * (size_t)size, &x->values[0].scalar, (size_t)size);
    }
    if (ok && rt_upload(s->ctx, &h, &value))
        ok = rt_srv_fail("%s", rt_error(s->ctx));
    rt_hvalue_free(&h);
    if (ok)
        rt_srv_define(s, w[0], type, 1, &value);
    return ok;
}

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

/* new TO TYPE FIELDS... */
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
    rt_srv_define(s, w[0], type, total, values);
    free(values);
    return true;
}

/* zip TO TYPE ARRAYS...: an array of records, from an array for each field. */
RT_API bool rt_cmd_zip(rt_server *s, int n, char **w)
{
    int type;
    if (!rt_srv_type(s, w[1], &type))
        return false;
    if (s->prog->types[type].kind != RT_KIND_OPAQUE)
        return rt_srv_fail("Not an array of records: %s", w[1]);
    const rt_var *first = n > 2 ? rt_srv_var(s, w[2]) : NULL;
    if (n > 2 && !first)
        return false;
    for (int i = 3; i < n; i++) {
        const rt_var *v = rt_srv_var(s, w[i]);
        if (!v)
            return false;
        if (v->n && first->n && v->values[0].rank && first->values[0].rank &&
            v->values[0].shape[0] != first->values[0].shape[0])
            return rt_srv_fail("%s has %" PRId64 " elements, %s has %" PRId64, w[i],
                               v->values[0].shape[0], w[2], first->values[0].shape[0]);
    }
    return rt_cmd_new(s, n, w);
}

/* unzip ARRAY TO...: a variable for each field of an array of records. */
RT_API bool rt_cmd_unzip(rt_server *s, int n, char **w)
{
    const rt_var *v = rt_srv_var(s, w[0]);
    if (!v)
        return false;
    const rt_type_def *t = v->type >= 0 ? &s->prog->types[v->type] : NULL;
    if (!t || t->kind != RT_KIND_OPAQUE)
        return rt_srv_fail("Not an array of records: %s", w[0]);
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

/* What is for sum types: no program has one. */
RT_API bool rt_cmd_no_sum(rt_server *s, int n, char **w)
{
    (void)s, (void)n;
    return rt_srv_fail("Not a sum type: %s", w[0]);
}
