/* Index functions against the interpreter's views: random chains of views of an array that holds
 * its own element numbers, so that what the interpreter finds at an index is what lmad_at must say.
 */
#include "interp/interp.h"
#include "memory/lmad.h"
#include "tests/unit/check.h"

#include <stdlib.h>

enum { MAX_STEPS = 6, CHAINS = 400 };

static uint32_t seed = 1;

static int below(int n)
{
    seed = seed * 1664525u + 1013904223u;
    return (int)((seed >> 8) % (uint32_t)n);
}

static int between(int from, int to)
{
    return from + below(to - from + 1);
}

static Type shape(Ctx *cx, int rank, const int64_t *dims)
{
    Type t = {.elem = T_I64, .rank = rank, .dims = NEWN(cx->perm, Atom, rank)};
    for (int k = 0; k < rank; k++)
        t.dims[k] = atom_i64(dims[k]);
    return t;
}

static void random_perm(int *perm, int rank)
{
    for (int k = 0; k < rank; k++)
        perm[k] = k;
    for (int k = rank - 1; k > 0; k--) {
        int j = below(k + 1), p = perm[k];
        perm[k] = perm[j];
        perm[j] = p;
    }
}

static Type permuted_type(Ctx *cx, Type t, const int *perm)
{
    int64_t dims[LMAD_MAX_RANK];
    for (int k = 0; k < t.rank; k++)
        dims[k] = t.dims[perm[k]].c.i;
    return shape(cx, t.rank, dims);
}

/* --- A chain of views as text and as index function ------------------------------------------- */

typedef struct {
    Ctx *cx;
    Out text; /* the program */
    int n;    /* views so far: v0, v1, .. */
    Type t;   /* of the last */
    Lmad l;
} Chain;

static void bind(Chain *c, Type t, Lmad l)
{
    c->t = t;
    c->l = l;
    c->n++;
}

static void rearrange(Chain *c)
{
    int perm[LMAD_MAX_RANK];
    random_perm(perm, c->t.rank);
    Type t = permuted_type(c->cx, c->t, perm);
    out_printf(&c->text, "let (v%d: %s) = rearrange (", c->n, type_text(t));
    for (int k = 0; k < t.rank; k++)
        out_printf(&c->text, "%s%d", k ? ", " : "", perm[k]);
    out_printf(&c->text, ") v%d\n", c->n - 1);
    Lmad l = lmad_rearrange(c->cx, c->l, t.rank, perm);
    CHECK(lmad_eq(lmad_unrearrange(c->cx, l, t.rank, perm), c->l, t.rank));
    bind(c, t, l);
}

/* A random slice, forwards or backwards, of a dimension of n elements. */
static DimIndex random_slice(int n)
{
    int count = between(n > 0, n), stride = count > 1 ? between(1, (n - 1) / (count - 1)) : 1;
    int start = count > 0 ? below(n - (count - 1) * stride) : 0;
    if (below(2)) {
        start += count > 0 ? (count - 1) * stride : 0;
        stride = -stride;
    }
    return (DimIndex){true, atom_i64(start), atom_i64(count), atom_i64(stride)};
}

static void index_some(Chain *c)
{
    DimIndexes at = {0};
    int64_t dims[LMAD_MAX_RANK];
    int rank = 0;
    Out ix = {0};
    for (int k = 0; k < c->t.rank; k++) {
        int n = (int)c->t.dims[k].c.i;
        bool slice = n == 0 || rank + 1 == c->t.rank - k || below(3) > 0;
        DimIndex d = slice ? random_slice(n) : (DimIndex){.start = atom_i64(below(n))};
        vec_push(c->cx->perm, &at, d);
        out_printf(&ix, "%s%lld", k ? ", " : "", (long long)d.start.c.i);
        if (slice) {
            out_printf(&ix, ":%lld:%lld", (long long)d.n.c.i, (long long)d.stride.c.i);
            dims[rank++] = d.n.c.i;
        }
    }
    if (rank > 0) {
        Type t = shape(c->cx, rank, dims);
        out_printf(&c->text, "let (v%d: %s) = v%d[%s]\n", c->n, type_text(t), c->n - 1, ix.text);
        bind(c, t, lmad_index(c->cx, c->l, &at));
    }
    out_free(&ix);
}

static void row(Chain *c)
{
    if (c->t.rank < 2 || c->t.dims[0].c.i == 0)
        return;
    int i = below((int)c->t.dims[0].c.i);
    const KExp *ix[] = {sx_const(c->cx, i)};
    Type t = type_row(c->t);
    out_printf(&c->text, "let (v%d: %s) = v%d[%d", c->n, type_text(t), c->n - 1, i);
    for (int k = 0; k < t.rank; k++)
        out_puts(&c->text, ", :");
    out_puts(&c->text, "]\n");
    bind(c, t, lmad_rows(c->cx, c->l, c->t.rank, ix, 1));
}

/* Two dimensions become one, or one becomes two, where that is a view. */
static void reshape(Chain *c)
{
    int64_t dims[LMAD_MAX_RANK] = {0};
    int rank = 0, at = below(c->t.rank);
    bool join = at + 1 < c->t.rank && below(2);
    for (int k = 0; k < c->t.rank; k++) {
        int64_t n = c->t.dims[k].c.i;
        if (k == at && join) {
            dims[rank++] = n * c->t.dims[++k].c.i;
        } else if (k == at && n % 2 == 0) {
            dims[rank++] = 2;
            dims[rank++] = n / 2;
        } else {
            dims[rank++] = n;
        }
    }
    Type t = shape(c->cx, rank, dims);
    Lmad l;
    if (!lmad_reshape(c->cx, c->l, c->t, t, &l))
        return;
    out_printf(&c->text, "let (v%d: %s) = reshape [", c->n, type_text(t));
    for (int k = 0; k < rank; k++)
        out_printf(&c->text, "%s%lld", k ? ", " : "", (long long)dims[k]);
    out_printf(&c->text, "] v%d\n", c->n - 1);
    bind(c, t, l);
}

/* An array of random shape that holds its element numbers, in row-major order. */
static void begin(Chain *c)
{
    int64_t dims[4], n = 1;
    int rank = between(1, 4);
    for (int k = 0; k < rank; k++)
        n *= dims[k] = between(1, 4);
    c->t = shape(c->cx, rank, dims);
    c->l = lmad_permuted(c->cx, c->t, NULL);
    c->n = 1;
    out_printf(
        &c->text,
        "dialect soac\nentry main (u: i64) = {\nlet (a: [%lld]i64) = iota %lldi64 0i64 1i64\n"
        "let (v0: %s) = reshape [",
        (long long)n, (long long)n, type_text(c->t));
    for (int k = 0; k < rank; k++)
        out_printf(&c->text, "%s%lld", k ? ", " : "", (long long)dims[k]);
    out_puts(&c->text, "] a\n");
}

/* --- Comparison ------------------------------------------------------------------------------- */

static void compare(const Chain *c, const rt_hvalue *v)
{
    const KExp *ix[LMAD_MAX_RANK];
    int64_t n = rt_hvalue_count(v), wrong = 0, most = -1;
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = i, got = ((const int64_t *)v->data)[i];
        for (int k = c->t.rank - 1; k >= 0; k--) {
            ix[k] = sx_const(c->cx, rest % v->shape[k]);
            rest /= v->shape[k];
        }
        wrong += !kx_is_int(lmad_at(c->cx, c->l, ix, c->t.rank), got);
        most = got > most ? got : most;
    }
    CHECK_INT(wrong, 0);
    if (n > 0)
        CHECK(kx_is_int(lmad_span(c->cx, c->l, c->t), most + 1));
    if (wrong)
        fprintf(stderr, "%s", c->text.text);
}

static void run(Chain *c)
{
    out_printf(&c->text, "in v%d }\n", c->n - 1);
    Prog *p = ir_read(c->cx, "chain", c->text.text, c->text.n);
    CHECK(p != NULL);
    if (!p) {
        diag_flush();
        fprintf(stderr, "%s", c->text.text);
        return;
    }
    int64_t zero = 0;
    rt_hvalue arg = {.prim = RT_I64, .rank = 0, .data = &zero};
    Interp *in = interp_new(p);
    InterpResult r = interp_run(in, interp_entry(p, "main"), &arg, 1, NULL);
    CHECK_INT(r.status, INTERP_OK);
    if (r.status == INTERP_OK)
        compare(c, &r.values[0]);
    interp_result_free(&r);
    interp_free(in);
}

static void random_chain(Ctx *cx)
{
    static void (*const steps[])(Chain *) = {rearrange, index_some, row, reshape};
    Chain c = {.cx = cx};
    begin(&c);
    for (int i = between(1, MAX_STEPS); i > 0; i--)
        steps[below(4)](&c);
    run(&c);
    out_free(&c.text);
}

/* --- Layouts, with sizes that are not known ----------------------------------------------------
 */

static Type unknown_shape(Ctx *cx, int rank)
{
    Type t = {.elem = T_F32, .rank = rank, .dims = NEWN(cx->perm, Atom, rank)};
    for (int k = 0; k < rank; k++)
        t.dims[k] = atom_var(var_new(cx, "n", type_prim(T_I64), NO_LOC));
    return t;
}

static void layouts(Ctx *cx, int rank)
{
    Type t = unknown_shape(cx, rank);
    int perm[LMAD_MAX_RANK], found[LMAD_MAX_RANK];
    random_perm(perm, rank);
    Lmad l = lmad_permuted(cx, t, perm);
    CHECK(lmad_perm(cx, l, t, found) && perm_eq(perm, found, rank));
    CHECK(lmad_is_row_major(cx, l, t) == perm_is_identity(perm, rank));
    CHECK_INT(lmad_unit_dim(l, rank), perm[rank - 1]);
    Type in_memory = {.elem = t.elem, .rank = rank, .dims = NEWN(cx->perm, Atom, rank)};
    for (int k = 0; k < rank; k++)
        in_memory.dims[k] = t.dims[perm[k]];
    CHECK(lmad_is_row_major(cx, lmad_rearrange(cx, l, rank, perm), in_memory));
}

static void a_slice_is_no_layout(Ctx *cx)
{
    Type t = unknown_shape(cx, 2);
    const KExp *i = sx_const(cx, 3);
    int perm[2];
    Lmad l = lmad_permuted(cx, t, NULL), row_of = lmad_rows(cx, l, 2, &i, 1);
    CHECK(lmad_is_row_major(cx, row_of, type_row(t)) && !kx_is_int(row_of.offset, 0));
    Type half = {.elem = t.elem, .rank = 2, .dims = (Atom[]){t.dims[0], atom_i64(5)}};
    CHECK(!lmad_perm(cx, l, half, perm));
    Lmad turned = lmad_permuted(cx, t, (int[]){1, 0}), flat;
    Type line = {.elem = t.elem, .rank = 1, .dims = (Atom[]){atom_i64(12)}};
    CHECK(!lmad_reshape(cx, turned, t, line, &flat));
    CHECK(lmad_reshape(cx, l, t, line, &flat) && kx_is_int(flat.strides[0], 1));
}

/* Elements that lie apart are a line, whatever the stride of a dimension of size 1. */
static void a_dimension_of_1_does_not_matter(Ctx *cx)
{
    const KExp *one = sx_const(cx, 1), *w = sx_const(cx, 7);
    Type line = shape(cx, 1, (int64_t[]){12}), t = shape(cx, 3, (int64_t[]){3, 4, 1});
    const KExp *strides[] = {sx_const(cx, 28), w, one};
    Lmad flat;
    CHECK(lmad_reshape(cx, (Lmad){one, strides}, t, line, &flat));
    CHECK(kx_same(flat.offset, one) && kx_same(flat.strides[0], w));
    Lmad columns = lmad_row_major(cx, line, one, w);
    CHECK(lmad_eq(flat, columns, 1));
}

/* Composition: a view of a view of an array is a view of the array, position by position. */
static void compositions(Ctx *cx)
{
    Type t = shape(cx, 2, (int64_t[]){4, 6}), line = shape(cx, 1, (int64_t[]){5});
    const KExp *strides[] = {sx_const(cx, 7), sx_const(cx, -1)};
    Lmad view = {sx_const(cx, 2), strides}, r;
    CHECK(lmad_compose(cx, lmad_permuted(cx, t, NULL), t, view, 2, &r) && lmad_eq(r, view, 2));
    CHECK(!lmad_compose(cx, lmad_permuted(cx, t, (int[]){1, 0}), t, view, 2, &r));
    const KExp *three[] = {sx_const(cx, 3)};
    CHECK(lmad_compose(cx, (Lmad){sx_const(cx, 10), three}, line, view, 2, &r));
    CHECK(kx_is_int(r.offset, 16) && kx_is_int(r.strides[0], 21) && kx_is_int(r.strides[1], -3));
    Lmad twice = lmad_repeat(cx, view, 2, 1);
    CHECK(kx_is_int(twice.strides[0], 0) && twice.strides[1] == strides[0]);
}

int main(void)
{
    Ctx cx = {.perm = arena_new(), .scratch = arena_new()};
    for (int i = 0; i < CHAINS; i++)
        random_chain(&cx);
    for (int rank = 1; rank < 6; rank++)
        for (int i = 0; i < 10; i++)
            layouts(&cx, rank);
    a_slice_is_no_layout(&cx);
    a_dimension_of_1_does_not_matter(&cx);
    compositions(&cx);
    return check_summary();
}
