/* Reading values: a stream of bytes with positions, literals, arrays, the binary form. */
#include "common/values.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RT_READ_WINDOW = 1 << 16, RT_MAX_TOKEN = 512 };

/* --- The stream --- */

RT_API bool rt_reader_file(rt_reader *r, FILE *f, const char *name)
{
    memset(r, 0, sizeof *r);
    r->f = f;
    r->name = name;
    r->line = r->col = 1;
    r->buf = malloc(RT_READ_WINDOW);
    if (!r->buf)
        snprintf(r->error, sizeof r->error, "%s: out of memory", name);
    return r->buf != NULL;
}

RT_API void rt_reader_mem(rt_reader *r, const void *text, size_t n, const char *name)
{
    memset(r, 0, sizeof *r);
    r->name = name;
    r->line = r->col = 1;
    r->buf = (unsigned char *)(uintptr_t)text;
    r->len = n;
}

/* Makes sure that k+1 bytes are in the window, if the stream has them. */
static bool rt_reader_has(rt_reader *r, size_t k)
{
    while (r->len - r->pos <= k) {
        if (!r->f || r->io_error)
            return false;
        memmove(r->buf, r->buf + r->pos, r->len - r->pos);
        r->len -= r->pos;
        r->pos = 0;
        size_t got = 0;
        if (r->stopped && r->stopped())
            errno = EINTR;
        else
            got = fread(r->buf + r->len, 1, RT_READ_WINDOW - r->len, r->f);
        if (got == 0) {
            bool stopped = r->stopped && r->stopped();
            if (!stopped && ferror(r->f) && errno == EINTR) {
                clearerr(r->f);
                continue;
            }
            if (stopped || ferror(r->f))
                r->io_error = errno ? errno : EIO;
            return false;
        }
        r->len += got;
    }
    return true;
}

/* The byte k places ahead, or -1. */
static int rt_peek(rt_reader *r, size_t k)
{
    return rt_reader_has(r, k) ? r->buf[r->pos + k] : -1;
}

static void rt_skip_byte(rt_reader *r)
{
    if (r->buf[r->pos++] == '\n') {
        r->line++;
        r->col = 1;
    } else {
        r->col++;
    }
    r->offset++;
}

/* n bytes to dst; false when there are fewer. */
static bool rt_read_bytes(rt_reader *r, void *dst, size_t n)
{
    unsigned char *to = dst;
    while (n > 0) {
        if (!rt_reader_has(r, 0))
            return false;
        size_t k = r->len - r->pos < n ? r->len - r->pos : n;
        memcpy(to, r->buf + r->pos, k);
        r->pos += k;
        r->offset += (int64_t)k;
        to += k;
        n -= k;
    }
    return true;
}

/* White space and comments. */
static void rt_skip_space(rt_reader *r)
{
    for (;;) {
        int c = rt_peek(r, 0);
        if (c == '-' && rt_peek(r, 1) == '-') {
            while ((c = rt_peek(r, 0)) != -1 && c != '\n')
                rt_skip_byte(r);
        } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v') {
            rt_skip_byte(r);
        } else {
            return;
        }
    }
}

RT_API bool rt_reader_at_end(rt_reader *r)
{
    rt_skip_space(r);
    return rt_peek(r, 0) == -1 && !r->io_error;
}

/* Stores a message with the position; returns false. */
static bool __attribute__((format(printf, 2, 3))) rt_read_error(rt_reader *r, const char *fmt, ...)
{
    int n;
    va_list ap;
    if (r->binary)
        n = snprintf(r->error, sizeof r->error, "%s: byte %" PRId64 ": ", r->name, r->offset);
    else
        n = snprintf(r->error, sizeof r->error, "%s:%" PRId64 ":%" PRId64 ": ", r->name, r->line,
                     r->col);
    if (n < 0 || (size_t)n >= sizeof r->error)
        return false;
    if (r->io_error) {
        snprintf(r->error + n, sizeof r->error - (size_t)n, "cannot read: %s",
                 strerror(r->io_error));
        return false;
    }
    va_start(ap, fmt);
    vsnprintf(r->error + n, sizeof r->error - (size_t)n, fmt, ap);
    va_end(ap);
    return false;
}

/* What comes next, for messages: "'x'", "end of input". */
static const char *rt_next_text(rt_reader *r, char buf[16])
{
    int c = rt_peek(r, 0);
    if (c == -1)
        return "end of input";
    snprintf(buf, 16, isprint(c) ? "'%c'" : "byte %d", c);
    return buf;
}

/* --- Literals --- */

/* A scalar literal taken apart. */
typedef struct {
    bool is_bool, is_float, hex, binary, negative;
    bool typed; /* has a suffix, which is `suffix` */
    rt_prim suffix;
    uint64_t magnitude;      /* integers: modulo 2^64 */
    bool too_big;            /* of an integer: does not fit 64 bits */
    char text[RT_MAX_TOKEN]; /* number without suffix and underscores, or true, false, nan, inf */
} rt_literal;

/* The token at the front: letters, digits, '_' and '.', a sign first or in an exponent. */
static bool rt_read_token(rt_reader *r, char tok[RT_MAX_TOKEN])
{
    size_t n = 0;
    bool hex = false;
    for (;;) {
        int c = rt_peek(r, 0);
        char prev = n > 0 ? (char)tolower((unsigned char)tok[n - 1]) : '\0';
        bool sign = (c == '-' || c == '+') && (n == 0 || prev == 'p' || (prev == 'e' && !hex));
        if (!(c != -1 && (isalnum(c) || c == '_' || c == '.' || sign)))
            break;
        if (n + 1 >= RT_MAX_TOKEN)
            return rt_read_error(r, "a literal of more than %d characters", RT_MAX_TOKEN - 1);
        tok[n++] = (char)c;
        hex = hex || ((c == 'x' || c == 'X') && prev == '0');
        rt_skip_byte(r);
    }
    tok[n] = '\0';
    return true;
}

/* Cuts a type suffix off tok, if it has one. Letters that are hexadecimal digits are no suffix. */
static void rt_cut_suffix(char *tok, rt_literal *l)
{
    size_t n = strlen(tok);
    for (int p = 0; p < RT_N_PRIMS; p++) {
        const char *name = rt_prim_name((rt_prim)p);
        size_t k = strlen(name);
        if (p == RT_BOOL || n <= k || strcmp(tok + n - k, name) != 0)
            continue;
        if (rt_prim_is_float((rt_prim)p) && l->hex && !strpbrk(tok, ".pP"))
            continue;
        l->typed = true;
        l->suffix = (rt_prim)p;
        tok[n - k] = '\0';
        return;
    }
}

/* The digits of an integer in base 2, 10 or 16. */
static bool rt_parse_digits(const char *s, int base, rt_literal *l)
{
    if (!*s)
        return false;
    for (; *s; s++) {
        int c = tolower((unsigned char)*s);
        int d = isdigit(c) ? c - '0' : isalpha(c) ? c - 'a' + 10 : 99;
        if (d >= base)
            return false;
        l->too_big = l->too_big || l->magnitude > (UINT64_MAX - (uint64_t)d) / (uint64_t)base;
        l->magnitude = l->magnitude * (uint64_t)base + (uint64_t)d;
    }
    return true;
}

/* A number without sign and suffix: fills in is_float, magnitude, text. */
static bool rt_parse_number(const char *s, rt_literal *l)
{
    size_t n = strlen(l->text);
    const char *first = s;
    if (!isdigit((unsigned char)*s) && *s != '.')
        return false;
    for (; *s; s++)
        if (*s != '_')
            l->text[n++] = *s;
    l->text[n] = '\0';
    const char *digits = l->text + (l->negative ? 1 : 0);
    l->binary = digits[0] == '0' && (digits[1] == 'b' || digits[1] == 'B');
    l->is_float = strpbrk(digits, l->hex ? ".pP" : ".eE") != NULL && !l->binary;
    if (l->is_float) {
        char *end;
        (void)strtod(l->text, &end);
        return *end == '\0' && strspn(first, "._") != strlen(first);
    }
    int base = l->hex ? 16 : l->binary ? 2 : 10;
    return rt_parse_digits(digits + (base == 10 ? 0 : 2), base, l);
}

/* f32.nan, f64.inf, ... without their sign. */
static bool rt_special_float(const char *s, rt_literal *l)
{
    char type[8];
    size_t n = strcspn(s, ".");
    snprintf(type, sizeof type, "%.*s", (int)n, s);
    l->typed = l->is_float = (strcmp(s + n, ".nan") == 0 || strcmp(s + n, ".inf") == 0) &&
                             rt_prim_named(type, &l->suffix) && rt_prim_is_float(l->suffix);
    if (l->typed)
        strcat(l->text, s + n + 1);
    return l->typed;
}

/* Takes a token apart; false when it is not a literal. */
static bool rt_parse_literal(const char *token, rt_literal *l)
{
    char tok[RT_MAX_TOKEN];
    memset(l, 0, sizeof *l);
    snprintf(tok, sizeof tok, "%s", token);
    if (strcmp(tok, "true") == 0 || strcmp(tok, "false") == 0) {
        l->is_bool = true;
        strcpy(l->text, tok);
        return true;
    }
    char *s = tok;
    if (*s == '-' || *s == '+')
        l->negative = *s++ == '-';
    strcpy(l->text, l->negative ? "-" : "");
    if (rt_special_float(s, l))
        return true;
    l->hex = s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
    rt_cut_suffix(s, l);
    return rt_parse_number(s, l);
}

/* Does the literal's number fit the integer type? Unsigned hexadecimal ones may be all bits. */
static bool rt_int_fits(const rt_literal *l, rt_prim p)
{
    int bits = rt_prim_size(p) * 8;
    uint64_t all = UINT64_MAX >> (64 - bits);
    if (l->too_big)
        return false;
    if (!rt_prim_is_signed(p))
        return l->negative ? l->magnitude == 0 : l->magnitude <= all;
    return l->magnitude <= (l->negative ? (all >> 1) + 1 : l->hex ? all : all >> 1);
}

/* The literal as a scalar of type p; false and a reason if it is none. 255i8 is -1i8. */
static bool rt_literal_as(const rt_literal *l, rt_prim p, rt_scalar *out, char *why, size_t n)
{
    const char *kind = l->is_bool ? "a bool" : l->is_float ? "a decimal number" : "an integer";
    memset(out, 0, sizeof *out);
    if (l->typed && l->suffix != p) {
        snprintf(why, n, "expected %s, got a literal of type %s", rt_prim_name(p),
                 rt_prim_name(l->suffix));
        return false;
    }
    if (rt_prim_is_float(p) && !l->is_float && (l->hex || l->binary)) {
        snprintf(why, n, "expected %s, got %s integer", rt_prim_name(p),
                 l->hex ? "a hexadecimal" : "a binary");
        return false;
    }
    if (l->is_bool != (p == RT_BOOL) || (l->is_float && !rt_prim_is_float(p))) {
        snprintf(why, n, "expected %s, got %s", rt_prim_name(p), kind);
        return false;
    }
    if (p == RT_BOOL) {
        out->b = l->text[0] == 't';
    } else if (rt_prim_is_float(p)) {
        rt_float_put(p, rt_float_read(p, l->text), out);
    } else {
        out->u64 = l->negative ? 0 - l->magnitude : l->magnitude;
    }
    return true;
}

RT_API bool rt_parse_scalar(const char *text, rt_prim prim, rt_scalar *out)
{
    rt_literal l;
    char why[128];
    if (strlen(text) >= RT_MAX_TOKEN || !rt_parse_literal(text, &l))
        return false;
    bool whole = !l.is_bool && !l.is_float && prim != RT_BOOL && !rt_prim_is_float(prim);
    return (!whole || rt_int_fits(&l, prim)) && rt_literal_as(&l, prim, out, why, sizeof why);
}

/* --- Values --- */

/* An array being read. */
typedef struct {
    rt_reader *r;
    rt_prim prim;
    bool prim_known, rank_known;
    int rank;
    int64_t shape[RT_MAX_RANK]; /* -1: not known yet */
    unsigned char *data;
    size_t n, cap; /* bytes */
    bool begins;   /* the elements of a binary one are not wanted yet, ... */
    bool begun;    /* ... and come next */
} rt_building;

static bool rt_push_bytes(rt_building *b, const void *bytes, size_t k)
{
    if (b->n + k > b->cap) {
        size_t cap = b->cap ? 2 * b->cap : 64;
        unsigned char *data = realloc(b->data, cap);
        if (!data)
            return rt_read_error(b->r, "out of memory");
        b->data = data;
        b->cap = cap;
    }
    memcpy(b->data + b->n, bytes, k);
    b->n += k;
    return true;
}

/* The type of an untyped literal when nothing else says it. */
static rt_prim rt_literal_prim(const rt_literal *l)
{
    if (l->typed)
        return l->suffix;
    if (l->is_bool)
        return RT_BOOL;
    if (l->is_float)
        return RT_F64;
    return rt_int_fits(l, RT_I32) ? RT_I32 : RT_I64;
}

static bool rt_read_element(rt_building *b)
{
    rt_reader *r = b->r;
    rt_literal l;
    rt_scalar s;
    char tok[RT_MAX_TOKEN], why[128], next[16];
    rt_reader start = {.line = r->line, .col = r->col};
    if (!rt_read_token(r, tok))
        return false;
    if (tok[0] == '\0')
        return rt_read_error(r, "expected %s, got %s",
                             b->prim_known ? rt_prim_name(b->prim) : "a value",
                             rt_next_text(r, next));
    bool ok = rt_parse_literal(tok, &l);
    if (!ok) {
        snprintf(why, sizeof why, "expected %s, got '%.60s'",
                 b->prim_known ? rt_prim_name(b->prim) : "a value", tok);
    } else {
        if (!b->prim_known)
            b->prim = rt_literal_prim(&l);
        b->prim_known = true;
        ok = rt_literal_as(&l, b->prim, &s, why, sizeof why);
    }
    if (!ok) {
        r->line = start.line;
        r->col = start.col;
        return rt_read_error(r, "%s", why);
    }
    return rt_push_bytes(b, &s, (size_t)rt_prim_size(b->prim));
}

/* Sets the number of rows of dimension d, or checks that it is the one seen before. */
static bool rt_close_row(rt_building *b, int d, int64_t count)
{
    if (b->shape[d] >= 0 && b->shape[d] != count)
        return rt_read_error(b->r, "a row of %" PRId64 " elements after one of %" PRId64, count,
                             b->shape[d]);
    b->shape[d] = count;
    return true;
}

/* Whether elements, and no rows, may stand in a row of dimension d; from here on they do. */
static bool rt_may_have_elements(rt_building *b, int d)
{
    rt_reader *r = b->r;
    char next[16];
    if (d >= RT_MAX_RANK)
        return rt_read_error(r, "more than %d dimensions", RT_MAX_RANK);
    if (b->rank_known && d + 1 != b->rank)
        return rt_read_error(r, "expected an array of %d dimensions, got %s after %d brackets",
                             b->rank, rt_next_text(r, next), d + 1);
    if (d + 1 < RT_MAX_RANK && b->shape[d + 1] >= 0)
        return rt_read_error(r, "expected a row, as before, got %s", rt_next_text(r, next));
    b->rank = d + 1;
    b->rank_known = true;
    return true;
}

/* "text" as a row of dimension d, of u8; the quote is next. */
static bool rt_read_string(rt_building *b, int d)
{
    rt_reader *r = b->r;
    int64_t count = 0;
    int c;
    if ((b->prim_known && b->prim != RT_U8) || (b->rank_known && b->rank != d + 1)) {
        char want[64];
        rt_type_name(b->prim, b->rank_known ? b->rank - d : 1, want, sizeof want);
        return rt_read_error(r, "expected %s, got a string, which is a []u8", want);
    }
    if (!rt_may_have_elements(b, d))
        return false;
    b->prim = RT_U8;
    b->prim_known = true;
    rt_skip_byte(r);
    while ((c = rt_peek(r, 0)) != '"') {
        if (c == -1 || c == '\n')
            return rt_read_error(r, "unterminated string");
        rt_skip_byte(r);
        if (c == '\\') {
            int e = rt_peek(r, 0);
            if (e == -1)
                return rt_read_error(r, "unterminated string");
            c = e == 'n' ? '\n' : e == 't' ? '\t' : e == 'r' ? '\r' : e == '0' ? '\0' : e;
            rt_skip_byte(r);
        }
        unsigned char byte = (unsigned char)c;
        if (!rt_push_bytes(b, &byte, 1))
            return false;
        count++;
    }
    rt_skip_byte(r);
    return rt_close_row(b, d, count);
}

static bool rt_next_is_word(rt_reader *r, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i < n; i++)
        if (rt_peek(r, i) != word[i])
            return false;
    return !isalnum(rt_peek(r, n));
}

/* "[0][3]", the sizes of an empty array; how many there are, -1 after a message. */
static int rt_read_sizes(rt_reader *r, int64_t shape[RT_MAX_RANK])
{
    char tok[RT_MAX_TOKEN], *end;
    int rank = 0;
    for (rt_skip_space(r); rt_peek(r, 0) == '['; rt_skip_space(r)) {
        rt_skip_byte(r);
        rt_skip_space(r);
        bool room = rank < RT_MAX_RANK || rt_read_error(r, "more than %d dimensions", RT_MAX_RANK);
        if (!room || !rt_read_token(r, tok))
            return -1;
        errno = 0;
        shape[rank++] = strtoll(tok, &end, 10);
        rt_skip_space(r);
        if (!isdigit((unsigned char)tok[0]) || *end || errno || rt_peek(r, 0) != ']') {
            rt_read_error(r, "expected a size and ']' in the type of an empty array");
            return -1;
        }
        rt_skip_byte(r);
    }
    return rank;
}

/* The empty array of this shape as what stands in dimension d. */
static bool rt_add_empty(rt_building *b, int d, rt_prim p, int rank, const int64_t *shape)
{
    char want[64], got[64];
    bool rows = d + rank < RT_MAX_RANK && b->shape[d + rank] >= 0;
    if (d + rank > RT_MAX_RANK)
        return rt_read_error(b->r, "more than %d dimensions", RT_MAX_RANK);
    if ((b->prim_known && p != b->prim) || (b->rank_known && d + rank != b->rank) || rows) {
        rt_type_name(b->prim_known ? b->prim : p, b->rank_known ? b->rank - d : rank + rows, want,
                     sizeof want);
        rt_type_name(p, rank, got, sizeof got);
        return rt_read_error(b->r, "expected %s, got an empty %s", want, got);
    }
    b->prim = p;
    b->rank = d + rank;
    b->prim_known = b->rank_known = true;
    for (int i = 0; i < rank; i++)
        if (!rt_close_row(b, d + i, shape[i]))
            return false;
    return true;
}

/* "empty([0][3]i32)" as what stands in dimension d; the word is next. */
static bool rt_read_empty(rt_building *b, int d)
{
    rt_reader *r = b->r;
    char tok[RT_MAX_TOKEN], next[16];
    int64_t shape[RT_MAX_RANK];
    rt_prim p;
    bool zero = false;
    (void)rt_read_token(r, tok); /* the word */
    rt_skip_space(r);
    if (rt_peek(r, 0) != '(')
        return rt_read_error(r, "expected '(' after empty, got %s", rt_next_text(r, next));
    rt_skip_byte(r);
    int rank = rt_read_sizes(r, shape);
    if (rank < 0 || !rt_read_token(r, tok))
        return false;
    if (!rt_prim_named(tok, &p))
        return rt_read_error(r, "unknown element type '%.40s'", tok);
    for (int i = 0; i < rank; i++)
        zero = zero || shape[i] == 0;
    if (!zero)
        return rt_read_error(r, "an empty array needs a dimension of 0");
    if (rt_shape_bytes(p, rank, shape) < 0)
        return rt_read_error(r, "the array is larger than any memory");
    if (!rt_add_empty(b, d, p, rank, shape))
        return false;
    rt_skip_space(r);
    if (rt_peek(r, 0) != ')')
        return rt_read_error(r, "expected ')', got %s", rt_next_text(r, next));
    rt_skip_byte(r);
    return true;
}

/* Reads "[...]" of dimension d; the bracket is next. */
static bool rt_read_row(rt_building *b, int d)
{
    rt_reader *r = b->r;
    char next[16];
    int64_t count = 0;
    if (d >= (b->rank_known ? b->rank : RT_MAX_RANK))
        return rt_read_error(r, "too many dimensions: expected %d", b->rank_known ? b->rank : d);
    rt_skip_byte(r);
    rt_skip_space(r);
    while (rt_peek(r, 0) != ']') {
        int c = rt_peek(r, 0);
        bool ok = c == '['                      ? rt_read_row(b, d + 1)
                  : c == '"'                    ? rt_read_string(b, d + 1)
                  : rt_next_is_word(r, "empty") ? rt_read_empty(b, d + 1)
                                                : rt_may_have_elements(b, d) && rt_read_element(b);
        if (!ok)
            return false;
        count++;
        rt_skip_space(r);
        if (rt_peek(r, 0) == ',') {
            rt_skip_byte(r);
            rt_skip_space(r);
        } else if (rt_peek(r, 0) != ']') {
            return rt_read_error(r, "expected ',' or ']', got %s", rt_next_text(r, next));
        }
    }
    rt_skip_byte(r);
    return rt_close_row(b, d, count);
}

static bool rt_read_text_value(rt_building *b)
{
    rt_reader *r = b->r;
    char next[16];
    if (rt_next_is_word(r, "empty"))
        return rt_read_empty(b, 0);
    if (rt_peek(r, 0) == '"')
        return rt_read_string(b, 0);
    if (rt_peek(r, 0) == '[') {
        if (b->rank_known && b->rank == 0)
            return rt_read_error(r, "expected %s, got an array", rt_prim_name(b->prim));
        if (!rt_read_row(b, 0))
            return false;
        if (!b->prim_known || !b->rank_known)
            return rt_read_error(r, "the type of an empty array is not known: write empty([0]i32)");
        for (int i = 0; i < b->rank; i++)
            b->shape[i] = b->shape[i] < 0 ? 0 : b->shape[i];
        return true;
    }
    if (b->rank_known && b->rank > 0)
        return rt_read_error(r, "expected an array of %d dimension%s, got %s", b->rank,
                             b->rank == 1 ? "" : "s", rt_next_text(r, next));
    b->rank = 0;
    return rt_read_element(b);
}

RT_API void rt_mend_elements(rt_prim p, unsigned char *data, size_t n)
{
    for (size_t i = 0; p == RT_BOOL && i < n; i++)
        data[i] = data[i] != 0;
}

static bool rt_data_ends(rt_reader *r, int64_t bytes)
{
    return rt_read_error(r, "the data ends in the middle of an array of %" PRId64 " bytes", bytes);
}

RT_API bool rt_read_elements(rt_reader *r, const rt_hvalue *v, int64_t n, void *dst)
{
    size_t bytes = (size_t)(n * rt_prim_size(v->prim));
    r->binary = true;
    bool ok = rt_read_bytes(r, dst, bytes) || rt_data_ends(r, rt_hvalue_bytes(v));
    r->binary = false;
    if (ok)
        rt_mend_elements(v->prim, dst, bytes);
    return ok;
}

/* The elements of a binary array. Room is made as data arrives: headers may be wrong. */
static bool rt_read_binary_data(rt_building *b, int64_t bytes)
{
    while ((int64_t)b->n < bytes) {
        size_t left = (size_t)bytes - b->n, step = b->n ? b->n : (size_t)1 << 24;
        step = step < left ? step : left;
        unsigned char *data = realloc(b->data, b->n + step);
        if (!data)
            return rt_read_error(b->r, "out of memory for an array of %" PRId64 " bytes", bytes);
        b->data = data;
        if (!rt_read_bytes(b->r, b->data + b->n, step))
            return rt_data_ends(b->r, bytes);
        b->n += step;
    }
    rt_mend_elements(b->prim, b->data, b->n);
    return true;
}

static bool rt_read_binary_value(rt_building *b)
{
    rt_reader *r = b->r;
    unsigned char head[7];
    char type[5] = {0}, want[64], got[64];
    rt_prim p;
    r->binary = true;
    if (!rt_read_bytes(r, head, 7))
        return rt_read_error(r, "the data ends inside the header of a binary value");
    if (head[1] != 2)
        return rt_read_error(r, "version %d of the binary format, expected 2", head[1]);
    memcpy(type, head + 3, 4);
    const char *name = type + strspn(type, " ");
    if (!rt_prim_named(name, &p))
        return rt_read_error(r, "unknown element type '%s'", name);
    int rank = head[2];
    if (rank > RT_MAX_RANK)
        return rt_read_error(r, "%d dimensions: at most %d", rank, RT_MAX_RANK);
    if ((b->prim_known && p != b->prim) || (b->rank_known && rank != b->rank)) {
        rt_type_name(b->prim, b->rank, want, sizeof want);
        rt_type_name(p, rank, got, sizeof got);
        return rt_read_error(r, "expected %s, got a binary %s", want, got);
    }
    b->prim = p;
    b->rank = rank;
    if (!rt_read_bytes(r, b->shape, 8 * (size_t)rank))
        return rt_read_error(r, "the data ends inside the header of a binary value");
    for (int i = 0; i < rank; i++)
        if (b->shape[i] < 0)
            return rt_read_error(r, "a dimension of size %" PRId64, b->shape[i]);
    int64_t bytes = rt_shape_bytes(p, rank, b->shape);
    if (bytes < 0)
        return rt_read_error(r, "the array is larger than any memory");
    b->begun = b->begins;
    return b->begun || rt_read_binary_data(b, bytes);
}

static bool rt_read_building(rt_building *b, rt_hvalue *v)
{
    rt_reader *r = b->r;
    char next[16];
    memset(v, 0, sizeof *v);
    for (int i = 0; i < RT_MAX_RANK; i++)
        b->shape[i] = -1;
    r->error[0] = '\0';
    r->binary = false;
    rt_skip_space(r);
    bool ok;
    if (rt_peek(r, 0) == -1)
        ok = rt_read_error(r, "expected a value, got %s", rt_next_text(r, next));
    else if (rt_peek(r, 0) == 'b')
        ok = rt_read_binary_value(b);
    else
        ok = rt_read_text_value(b);
    r->binary = false;
    unsigned char *exact = ok ? realloc(b->data, b->n ? b->n : 1) : NULL;
    if (exact)
        b->data = exact;
    else if (ok)
        ok = rt_read_error(r, "out of memory");
    if (!ok) {
        free(b->data);
        return false;
    }
    v->prim = b->prim;
    v->rank = b->rank;
    memcpy(v->shape, b->shape, sizeof b->shape);
    v->data = b->data;
    if (b->begun)
        rt_hvalue_free(v);
    return true;
}

RT_API bool rt_read_begin(rt_reader *r, rt_prim prim, int rank, rt_hvalue *v)
{
    rt_building b = {.r = r, .prim = prim, .prim_known = true, .rank_known = true, .rank = rank};
    b.begins = true;
    return rt_read_building(&b, v);
}

RT_API bool rt_read_value(rt_reader *r, rt_prim prim, int rank, rt_hvalue *v)
{
    rt_building b = {.r = r, .prim = prim, .prim_known = true, .rank_known = true, .rank = rank};
    return rt_read_building(&b, v);
}

RT_API bool rt_read_any(rt_reader *r, rt_hvalue *v)
{
    rt_building b = {.r = r};
    return rt_read_building(&b, v);
}
