/* Values as people write them, with the structure of their types: `#some 3i32`, `{x = 1f32, y =
 * true}`, `[(1i32, 2i32)]`. */
#include "interp/interp.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    FILE *out;
    int64_t ends;            /* so many elements at each end of a dimension; 0: all */
    int depth;               /* dimensions around, */
    int64_t at[RT_MAX_RANK]; /* and where in them */
} Show;

static void show(Show *s, const ExtType *x, const rt_hvalue *const *vals);

/* The part of v that is at s->at. */
static rt_hvalue part_of(const Show *s, const rt_hvalue *v)
{
    rt_hvalue part = {.prim = v->prim, .rank = v->rank - s->depth};
    int64_t first = 0;
    for (int d = 0; d < v->rank; d++)
        first = first * v->shape[d] + (d < s->depth ? s->at[d] : 0);
    memcpy(part.shape, v->shape + s->depth, (size_t)part.rank * sizeof *part.shape);
    part.data = (char *)v->data + (size_t)first * rt_prim_size(v->prim);
    return part;
}

/* The element to be shown behind number i of n; what stands between is shown. */
static int64_t show_next(const Show *s, int64_t i, int64_t n)
{
    bool leap = s->ends && i + 1 == s->ends && n > 2 * s->ends;
    if (i + 1 < n)
        fputs(leap ? ", ..., " : ", ", s->out);
    return leap ? n - s->ends : i + 1;
}

static void show_part(Show *s, const rt_hvalue *v)
{
    rt_hvalue part = part_of(s, v);
    if (!s->ends || !part.rank || !rt_hvalue_count(&part)) {
        rt_write_text(s->out, &part);
        return;
    }
    int64_t n = part.shape[0];
    fputc('[', s->out);
    for (int64_t i = 0; i < n; i = show_next(s, i, n)) {
        s->at[s->depth++] = i;
        show_part(s, v);
        s->depth--;
    }
    fputc(']', s->out);
}

/* Dimensions s->depth .. depth-1, of elements of that type. */
static void show_array(Show *s, const ExtType *elem, int depth, const rt_hvalue *const *vals)
{
    if (s->depth == depth) {
        show(s, elem, vals);
        return;
    }
    fputc('[', s->out);
    int64_t n = vals[0]->shape[s->depth];
    for (int64_t i = 0; i < n; i = show_next(s, i, n)) {
        s->at[s->depth++] = i;
        show_array(s, elem, depth, vals);
        s->depth--;
    }
    fputc(']', s->out);
}

static const ExtVariant *variant_of(const Show *s, const ExtType *x, const rt_hvalue *tags)
{
    rt_hvalue tag = part_of(s, tags);
    int k = (int)rt_int_get(tag.prim, tag.data);
    return &x->variants[k];
}

static void show_sum(Show *s, const ExtType *x, const rt_hvalue *const *vals)
{
    const ExtVariant *v = variant_of(s, x, vals[0]);
    const rt_hvalue **held = calloc((size_t)v->n_places + 1, sizeof *held);
    fprintf(s->out, "#%s", v->name);
    for (int i = 0; held && i < v->n_places; i++)
        held[i] = vals[v->places[i]];
    for (int i = 0, at = 0; held && i < v->n; at += v->holds[i++].n_vals) {
        const ExtType *h = &v->holds[i];
        bool brackets = h->n_variants && variant_of(s, h, held[at])->n;
        fputs(brackets ? " (" : " ", s->out);
        show(s, h, held + at);
        fputs(brackets ? ")" : "", s->out);
    }
    free(held);
}

static void show_fields(Show *s, const ExtType *x, const rt_hvalue *const *vals)
{
    bool tuple = isdigit((unsigned char)x->field_names[0][0]);
    fputc(tuple ? '(' : '{', s->out);
    for (int i = 0, at = 0; i < x->n_fields; at += x->fields[i++].n_vals) {
        fputs(i ? ", " : "", s->out);
        if (!tuple)
            fprintf(s->out, "%s = ", x->field_names[i]);
        show(s, &x->fields[i], vals + at);
    }
    fputc(tuple ? ')' : '}', s->out);
}

/* Of a type that says no more; what has no parts, (), is its text. */
static void show_parts(Show *s, const ExtType *x, const rt_hvalue *const *vals)
{
    fputs(x->n_vals ? "(" : x->text, s->out);
    for (int i = 0; i < x->n_vals; i++) {
        fputs(i ? ", " : "", s->out);
        show_part(s, vals[i]);
    }
    fputs(x->n_vals ? ")" : "", s->out);
}

static void show(Show *s, const ExtType *x, const rt_hvalue *const *vals)
{
    if (x->elem)
        show_array(s, x->elem, s->depth + x->rank, vals);
    else if (x->n_variants)
        show_sum(s, x, vals);
    else if (x->n_fields)
        show_fields(s, x, vals);
    else if (x->n_vals == 1)
        show_part(s, vals[0]);
    else
        show_parts(s, x, vals);
}

static bool show_all(Show s, const ExtType *x, const rt_hvalue *vals)
{
    const rt_hvalue **all = calloc((size_t)x->n_vals + 1, sizeof *all);
    for (int i = 0; all && i < x->n_vals; i++)
        all[i] = &vals[i];
    if (all)
        show(&s, x, all);
    free(all);
    return all && !ferror(s.out);
}

bool interp_show(FILE *out, const ExtType *x, const rt_hvalue *vals)
{
    return show_all((Show){.out = out}, x, vals);
}

bool interp_show_ends(FILE *out, const ExtType *x, const rt_hvalue *vals, bool *all)
{
    enum { MANY = 1000, ENDS = 3 };
    *all = true;
    for (int i = 0; i < x->n_vals; i++)
        *all = *all && rt_hvalue_count(&vals[i]) <= MANY;
    return show_all((Show){.out = out, .ends = *all ? 0 : ENDS}, x, vals);
}
