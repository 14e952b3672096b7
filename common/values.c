/* Host values: types, storage, writing, comparing. Reading is in values_read.c. */
#include "common/values.h"

#include "common/scalar.h"

#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the binary data format is read and written on little endian machines only"
#endif

static const struct {
    const char *name;
    int size;
    bool is_signed, is_float;
} rt_prim_table[RT_N_PRIMS] = {
#define X(TAG, T, text, bits, C, CL, V, is_signed, is_float)                                       \
    [RT_##TAG] = {text, (bits) / 8, is_signed, is_float},
    RT_BOOLS(X, false, false) RT_SIGNED(X, true, false) RT_UNSIGNED(X, false, false)
        RT_FLOATS(X, false, true)
#undef X
};

RT_API int rt_prim_size(rt_prim p)
{
    return rt_prim_table[p].size;
}

RT_API const char *rt_prim_name(rt_prim p)
{
    return rt_prim_table[p].name;
}

RT_API bool rt_prim_named(const char *name, rt_prim *p)
{
    for (int i = 0; i < RT_N_PRIMS; i++) {
        if (strcmp(name, rt_prim_table[i].name) == 0) {
            *p = (rt_prim)i;
            return true;
        }
    }
    return false;
}

RT_API bool rt_prim_is_signed(rt_prim p)
{
    return rt_prim_table[p].is_signed;
}

RT_API bool rt_prim_is_float(rt_prim p)
{
    return rt_prim_table[p].is_float;
}

RT_API int64_t rt_int_get(rt_prim p, const void *elem)
{
    int unused = 64 - 8 * rt_prim_size(p);
    uint64_t bits = 0;
    memcpy(&bits, elem, (size_t)rt_prim_size(p));
    return rt_prim_is_signed(p) ? (int64_t)(bits << unused) >> unused : (int64_t)bits;
}

RT_API double rt_float_get(rt_prim p, const void *elem)
{
    switch ((int)p) {
#define X(TAG, T, text, bits, C, ...)                                                              \
    case RT_##TAG: {                                                                               \
        C x;                                                                                       \
        memcpy(&x, elem, sizeof x);                                                                \
        return mf_##T##_to_f64(x);                                                                 \
    }
        RT_FLOATS(X, )
#undef X
    }
    return 0;
}

RT_API void rt_float_put(rt_prim p, double x, rt_scalar *out)
{
    switch ((int)p) {
#define X(TAG, T, text, bits, C, ...)                                                              \
    case RT_##TAG: out->T = mf_f64_to_##T(x); return;
        RT_FLOATS(X, )
#undef X
    }
}

/* C reads no numbers of a soft type. By one of the two f64 around it, the one whose last bit is
 * odd: the nearest may be a half of the type's where the text is none. */
static double rt_soft_read(rt_prim p, const char *text)
{
    rt_scalar x;
    int mode = fegetround();
    fesetround(FE_DOWNWARD);
    double below = strtod(text, NULL);
    fesetround(FE_UPWARD);
    double above = strtod(text, NULL);
    fesetround(mode);
    rt_float_put(p, mf_to_bits_f64(below) & 1 ? below : above, &x);
    return rt_float_get(p, &x);
}

RT_API double rt_float_read(rt_prim p, const char *text)
{
    return p == RT_F32   ? (double)strtof(text, NULL)
           : p == RT_F64 ? strtod(text, NULL)
                         : rt_soft_read(p, text);
}

RT_API int64_t rt_shape_bytes(rt_prim p, int rank, const int64_t *shape)
{
    int64_t n = rt_prim_size(p);
    for (int i = 0; i < rank; i++) {
        if (shape[i] < 0 || shape[i] > RT_MAX_SIZE)
            return -1;
        n = mf_size_mul(n, shape[i]);
    }
    return n <= RT_MAX_BYTES ? n : -1;
}

RT_API int64_t rt_hvalue_count(const rt_hvalue *v)
{
    int64_t n = 1;
    for (int i = 0; i < v->rank; i++)
        n = mf_size_mul(n, v->shape[i]);
    return n;
}

RT_API int64_t rt_hvalue_bytes(const rt_hvalue *v)
{
    return mf_size_mul(rt_hvalue_count(v), rt_prim_size(v->prim));
}

RT_API bool rt_hvalue_make(rt_hvalue *v, rt_prim p, int rank, const int64_t *shape)
{
    memset(v, 0, sizeof *v);
    v->prim = p;
    v->rank = rank;
    for (int i = 0; i < rank; i++)
        v->shape[i] = shape[i];
    int64_t bytes = rt_shape_bytes(p, rank, shape);
    if (bytes < 0)
        return false;
    v->data = calloc(bytes == 0 ? 1 : (size_t)bytes, 1);
    return v->data != NULL;
}

RT_API void rt_hvalue_free(rt_hvalue *v)
{
    free(v->data);
    v->data = NULL;
}

RT_API void rt_type_name(rt_prim p, int rank, char *buf, size_t n)
{
    size_t at = 0;
    if (n == 0)
        return;
    for (int i = 0; i < rank && at + 3 <= n; i++, at += 2)
        memcpy(buf + at, "[]", 2);
    snprintf(buf + at, n - at, "%s", rt_prim_name(p));
}

RT_API void rt_hvalue_type(const rt_hvalue *v, char *buf, size_t n)
{
    size_t at = 0;
    if (n == 0)
        return;
    buf[0] = '\0';
    for (int i = 0; i < v->rank && at < n; i++)
        at += (size_t)snprintf(buf + at, n - at, "[%" PRId64 "]", v->shape[i]);
    if (at < n)
        snprintf(buf + at, n - at, "%s", rt_prim_name(v->prim));
}

/* --- Writing --- */

/* A finite float with the fewest digits that read back as x, and at least one after the point. The
 * first numbers of digits are those that any text of so many survives, the last ones those that
 * tell all numbers of the type apart. */
static void rt_float_text(rt_prim p, double x, char *buf, size_t n)
{
    static const int first[] = {[2] = 3, [4] = 6, [8] = 15}, last[] = {[2] = 5, [4] = 9, [8] = 17};
    int size = rt_prim_size(p);
    for (int digits = first[size]; digits <= last[size]; digits++) {
        snprintf(buf, n, "%.*g", digits, x);
        if (rt_float_read(p, buf) == x)
            break;
    }
    if (!strpbrk(buf, ".e"))
        strncat(buf, ".0", n - strlen(buf) - 1);
}

RT_API void rt_scalar_text(rt_prim p, const void *elem, char *buf, size_t n)
{
    const char *name = rt_prim_name(p);
    int64_t i = rt_int_get(p, elem);
    double x = rt_float_get(p, elem);
    char num[40];
    if (p == RT_BOOL) {
        snprintf(buf, n, "%s", i ? "true" : "false");
    } else if (rt_prim_is_signed(p)) {
        snprintf(buf, n, "%" PRId64 "%s", i, name);
    } else if (!rt_prim_is_float(p)) {
        snprintf(buf, n, "%" PRIu64 "%s", (uint64_t)i, name);
    } else if (isnan(x)) {
        snprintf(buf, n, "%s.nan", name);
    } else if (isinf(x)) {
        snprintf(buf, n, "%s%s.inf", x < 0 ? "-" : "", name);
    } else {
        rt_float_text(p, x, num, sizeof num);
        snprintf(buf, n, "%s%s", num, name);
    }
}

/* What stands between element i - 1 and element i: as many rows end, and begin, as i is a multiple
 * of their sizes. Before the first one they begin, behind the last one they end. */
static void rt_write_between(FILE *f, const rt_hvalue *v, int64_t i, int64_t count)
{
    int rows = 0;
    for (int64_t size = 1; rows < v->rank; rows++) {
        size *= v->shape[v->rank - 1 - rows];
        if (i % size != 0)
            break;
    }
    for (int d = 0; i > 0 && d < rows; d++)
        putc(']', f);
    if (i > 0 && i < count)
        fputs(", ", f);
    for (int d = 0; i < count && d < rows; d++)
        putc('[', f);
}

RT_API bool rt_text_elements(FILE *f, const rt_hvalue *v, int64_t from, int64_t n,
                             const void *elems)
{
    const unsigned char *at = elems;
    int64_t count = rt_hvalue_count(v);
    char buf[RT_MAX_RANK * 24];
    if (count == 0) {
        rt_hvalue_type(v, buf, sizeof buf);
        fprintf(f, "empty(%s)", buf);
    }
    for (int64_t i = from; i < from + n; i++, at += rt_prim_size(v->prim)) {
        rt_write_between(f, v, i, count);
        rt_scalar_text(v->prim, at, buf, sizeof buf);
        fputs(buf, f);
    }
    if (n > 0 && from + n == count)
        rt_write_between(f, v, count, count);
    return !ferror(f);
}

RT_API bool rt_write_text(FILE *f, const rt_hvalue *v)
{
    return rt_text_elements(f, v, 0, rt_hvalue_count(v), v->data);
}

RT_API bool rt_is_chars(const rt_hvalue *v)
{
    return v->prim == RT_U8 && v->rank == 1;
}

RT_API bool rt_chars_elements(FILE *f, const rt_hvalue *v, int64_t from, int64_t n,
                              const void *elems)
{
    const char *text = elems;
    fwrite(text, 1, (size_t)n, f);
    if (from + n == v->shape[0] && (n == 0 || text[n - 1] != '\n'))
        putc('\n', f);
    return !ferror(f);
}

RT_API bool rt_write_chars(FILE *f, const rt_hvalue *v)
{
    return rt_chars_elements(f, v, 0, v->shape[0], v->data);
}

RT_API void rt_binary_head(rt_prim prim, int rank, char head[RT_HEAD])
{
    char name[8];
    snprintf(name, sizeof name, "%4s", rt_prim_name(prim));
    head[0] = 'b';
    head[1] = 2;
    head[2] = (char)rank;
    memcpy(head + 3, name, 4);
}

RT_API bool rt_binary_elements(FILE *f, const rt_hvalue *v, int64_t from, int64_t n,
                               const void *elems)
{
    char head[RT_HEAD];
    if (from == 0) {
        rt_binary_head(v->prim, v->rank, head);
        fwrite(head, 1, sizeof head, f);
        fwrite(v->shape, 8, (size_t)v->rank, f);
    }
    fwrite(elems, (size_t)rt_prim_size(v->prim), (size_t)n, f);
    return !ferror(f);
}

RT_API bool rt_write_binary(FILE *f, const rt_hvalue *v)
{
    return rt_binary_elements(f, v, 0, rt_hvalue_count(v), v->data);
}

RT_API FILE *rt_file_open(const char *path, bool pipe, const char **wrong)
{
    struct stat st = {0};
    /* A pipe that is wanted is waited for; others, and devices, are not touched. */
    bool there = stat(path, &st) == 0, wait = there && pipe && S_ISFIFO(st.st_mode);
    int fd = there && !wait && !S_ISREG(st.st_mode)
                 ? -1
                 : open(path, O_RDONLY | O_CLOEXEC | (wait ? 0 : O_NONBLOCK));
    FILE *f = NULL;
    *wrong = there && S_ISDIR(st.st_mode)             ? strerror(EISDIR)
             : there && !wait && !S_ISREG(st.st_mode) ? "it is no regular file"
                                                      : NULL;
    if (fd >= 0 && !(fstat(fd, &st) == 0 && (wait || S_ISREG(st.st_mode))))
        *wrong = "it is no regular file";
    if (!*wrong && (fd < 0 || !(f = fdopen(fd, "rb"))))
        *wrong = strerror(errno);
    if (!f && fd >= 0)
        close(fd);
    return f;
}

RT_API bool rt_close_written(FILE *f)
{
    int saved = 0;
    if (ferror(f))
        saved = errno ? errno : EIO;
    if (fclose(f) != 0 && !saved)
        saved = errno;
    errno = saved;
    return !saved;
}

/* --- Comparing --- */

static bool rt_float_near(double x, double y, double tol)
{
    if (isnan(x) || isnan(y))
        return isnan(x) && isnan(y);
    if (x == y)
        return true;
    if (isinf(x) || isinf(y))
        return false;
    double m = fmax(fabs(x), fabs(y));
    return fabs(x - y) <= tol * fmax(m, 1.0);
}

static bool rt_elem_near(rt_prim p, const unsigned char *x, const unsigned char *y, double tol)
{
    return rt_prim_is_float(p) ? rt_float_near(rt_float_get(p, x), rt_float_get(p, y), tol)
                               : memcmp(x, y, (size_t)rt_prim_size(p)) == 0;
}

/* "[2][3]" of element i of v, or "the value" for a scalar. */
static void rt_index_text(const rt_hvalue *v, int64_t i, char *buf, size_t n)
{
    int64_t index[RT_MAX_RANK];
    size_t at = 0;
    for (int d = v->rank - 1; d >= 0; d--) {
        index[d] = i % v->shape[d];
        i /= v->shape[d];
    }
    snprintf(buf, n, "the value");
    for (int d = 0; d < v->rank && at < n; d++)
        at += (size_t)snprintf(buf + at, n - at, "[%" PRId64 "]", index[d]);
}

RT_API bool rt_hvalue_equal(const rt_hvalue *got, const rt_hvalue *want, double tol, char *why,
                            size_t n)
{
    char a[RT_MAX_RANK * 24], b[RT_MAX_RANK * 24], at[RT_MAX_RANK * 24];
    rt_hvalue_type(got, a, sizeof a);
    rt_hvalue_type(want, b, sizeof b);
    if (strcmp(a, b) != 0) {
        if (why)
            snprintf(why, n, "a value of type %s, expected %s", a, b);
        return false;
    }
    int64_t count = rt_hvalue_count(got), first = -1, wrong = 0;
    size_t size = (size_t)rt_prim_size(got->prim);
    const unsigned char *x = got->data, *y = want->data;
    for (int64_t i = 0; i < count; i++) {
        if (!rt_elem_near(got->prim, x + size * (size_t)i, y + size * (size_t)i, tol)) {
            first = first < 0 ? i : first;
            wrong++;
        }
    }
    if (wrong > 0 && why) {
        rt_index_text(got, first, at, sizeof at);
        rt_scalar_text(got->prim, x + size * (size_t)first, a, sizeof a);
        rt_scalar_text(got->prim, y + size * (size_t)first, b, sizeof b);
        snprintf(why, n, "%s: %s, expected %s; %" PRId64 " of %" PRId64 " elements differ", at, a,
                 b, wrong, count);
    }
    return wrong == 0;
}
