/* Texts of what programs say when they stop. */
#include "ir/stops.h"

#include <string.h>

const char *const stop_text[N_STOPS] = {
#define STOP(name, text) [STOP_##name] = (text),
#include "ir/stops.def"
#undef STOP
};

/* --- Numbers in texts ------------------------------------------------------------------------- */

/* The text up to the next number, which is left out; what follows, NULL at the end. */
static const char *until_number(Out *o, const char *text, bool escaped)
{
    for (; *text; text++) {
        if (text[0] == '%' && text[1] == 'd')
            return text + 2;
        bool percent = text[0] == '%' && text[1] == '%';
        out_putn(o, text, percent && escaped ? 2 : 1);
        text += percent;
    }
    return NULL;
}

void stop_print(Out *o, const char *text, const int64_t *numbers, int n)
{
    for (int k = 0; (text = until_number(o, text, false)); k++)
        if (k < n && k < MOST_STOP_NUMBERS)
            out_printf(o, "%lld", (long long)numbers[k]);
        else
            out_puts(o, "?");
}

void stop_format(Out *o, const char *text)
{
    for (int k = 0; (text = until_number(o, text, true)); k++)
        out_puts(o, k < MOST_STOP_NUMBERS ? "%ld" : "?");
}

/* --- Shapes ----------------------------------------------------------------------------------- */

static void put_shape(Out *o, int rank)
{
    for (int d = 0; d < rank; d++)
        out_puts(o, "[%d]");
}

const char *stop_too_large(Arena *a, int rank)
{
    Out o = {0};
    out_puts(&o, "Array of ");
    for (int d = 0; d < rank; d++)
        out_puts(&o, d ? " x %d" : "%d");
    out_puts(&o, " elements is too large.");
    return out_keep(&o, a);
}

const char *stop_shape(Arena *a, int rank, PrimType elem)
{
    if (2 * rank > MOST_STOP_NUMBERS)
        return NULL;
    Out o = {0};
    out_puts(&o, "Value of (desugared) shape ");
    put_shape(&o, rank);
    out_puts(&o, " cannot match shape of type \"");
    put_shape(&o, rank);
    out_printf(&o, "%s\".", prim_type_text[elem]);
    return out_keep(&o, a);
}

/* --- Indices ---------------------------------------------------------------------------------- */

const DimIndexes *index_dims(const Exp *e, Type *t, bool *safe)
{
    if (e->kind == E_INDEX) {
        *t = atom_type(e->index.arr);
        *safe = e->index.safe;
        return &e->index.at;
    }
    ASSERT(e->kind == E_UPDATE);
    *t = atom_type(e->update.arr);
    *safe = e->update.safe;
    return &e->update.at;
}

static bool is_whole(DimIndex d, Atom size)
{
    return d.is_slice && atom_is_int(d.start, 0) && atom_is_int(d.stride, 1) && atom_eq(d.n, size);
}

static void put_number(IndexStop *s, Out *o, const char *text, IndexPart part, int dim)
{
    out_puts(o, text);
    if (s->n < MOST_STOP_NUMBERS) {
        s->at[s->n].part = part;
        s->at[s->n].dim = dim;
    }
    s->n++;
}

static void put_index(IndexStop *s, Out *o, DimIndex d, int dim)
{
    put_number(s, o, dim ? ", %d" : "%d", INDEX_START, dim);
    if (d.is_slice)
        put_number(s, o, ":%d", INDEX_END, dim);
    if (d.is_slice && !atom_is_int(d.stride, 1))
        put_number(s, o, ":%d", INDEX_STRIDE, dim);
}

IndexStop stop_index(Arena *a, const Exp *e)
{
    Type t;
    bool safe;
    const DimIndexes *at = index_dims(e, &t, &safe);
    IndexStop s = {0};
    Out o = {0};
    int n = at->n;
    while (n > 1 && is_whole(at->at[n - 1], t.dims[n - 1]))
        n--;
    out_puts(&o, "Index [");
    for (int k = 0; k < n; k++)
        put_index(&s, &o, at->at[k], k);
    out_puts(&o, "] out of bounds for array of shape ");
    for (int k = 0; k < n; k++)
        put_number(&s, &o, "[%d]", INDEX_SIZE, k);
    out_puts(&o, ".");
    s.text = out_keep(&o, a);
    if (s.n > MOST_STOP_NUMBERS)
        s = (IndexStop){.text = stop_text[STOP_INDEX_LONG]};
    return s;
}
