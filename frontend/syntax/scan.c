/* Values of tokens: literals, operators' precedence classes, doc comments, bytes that belong to no
 * token. Called by the scanner (lex.l). */
#include "frontend/syntax/concrete.h"

#include "base/intern.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Copies a number without its underscores. */
static char *plain_digits(ParseCtx *ctx, const char *s)
{
    char *d = arena_strdup(ctx->a, s), *to = d;
    for (; *s; s++)
        if (*s != '_')
            *to++ = *s;
    *to = 0;
    return d;
}

/* Cuts a scalar type's name off the end; whether there was one. */
static bool cut_suffix(char *s, PrimType *out, bool hex)
{
    size_t n = strlen(s);
    for (int len = 2; len <= 3; len++) {
        if (n <= (size_t)len)
            break;
        const char *suf = s + n - len;
        if ((hex && *suf == 'f') || !prim_named(suf, out) || *out == T_BOOL)
            continue;
        s[n - len] = 0;
        return true;
    }
    return false;
}

static AExp *literal(ParseCtx *ctx, Loc loc)
{
    return mk_exp(ctx, AE_LIT, loc);
}

AExp *scan_bool(ParseCtx *ctx, bool v, Loc loc)
{
    AExp *e = literal(ctx, loc);
    e->lit.suffixed = true;
    e->lit.scalar = T_BOOL;
    e->lit.bits = v;
    return e;
}

/* The value of a roman number, by subtracting what stands before something greater. */
static uint64_t roman(const char *s)
{
    static const char letters[] = "IVXLCDM";
    static const int values[] = {1, 5, 10, 50, 100, 500, 1000};
    uint64_t sum = 0;
    for (; *s; s++) {
        int v = values[strchr(letters, s[0]) - letters];
        bool less = s[1] && values[strchr(letters, s[1]) - letters] > v;
        sum += less ? (uint64_t)-v : (uint64_t)v;
    }
    return sum;
}

AExp *scan_int(ParseCtx *ctx, const char *s, Loc loc)
{
    AExp *e = literal(ctx, loc);
    char *d = plain_digits(ctx, s);
    int base = d[0] == '0' && (d[1] == 'x' || d[1] == 'X')   ? 16
               : d[0] == '0' && (d[1] == 'b' || d[1] == 'B') ? 2
                                                             : 10;
    e->lit.suffixed = cut_suffix(d, &e->lit.scalar, base == 16);
    errno = 0;
    if (d[0] == '0' && (d[1] == 'r' || d[1] == 'R')) {
        e->lit.bits = roman(d + 2);
        return e;
    }
    e->lit.bits = strtoull(base == 10 ? d : d + 2, NULL, base);
    if (errno == ERANGE)
        parse_error(ctx, loc, "integer `%s` does not fit in 64 bits", s);
    return e;
}

AExp *scan_real(ParseCtx *ctx, const char *s, Loc loc)
{
    AExp *e = literal(ctx, loc);
    char *d = plain_digits(ctx, s);
    e->lit.is_float = true;
    e->lit.suffixed = cut_suffix(d, &e->lit.scalar, false);
    e->lit.fval = prim_read(e->lit.suffixed ? e->lit.scalar : T_F64, d);
    return e;
}

static int digit_value(unsigned char c)
{
    return isdigit(c) ? c - '0' : tolower(c) - 'a' + 10;
}

static bool is_digit(unsigned char c, int base)
{
    return isxdigit(c) && digit_value(c) < base;
}

/* The code of ASCII's control character whose name, or `^` and the key for it, begins at *s, which
 * steps over it; -1 if none does. */
static int64_t control(const unsigned char **s)
{
    static const char *const names[] = {
        "NUL", "SOH", "STX", "ETX", "EOT", "ENQ", "ACK", "BEL", "BS",  "HT",  "LF",
        "VT",  "FF",  "CR",  "SO",  "SI",  "DLE", "DC1", "DC2", "DC3", "DC4", "NAK",
        "SYN", "ETB", "CAN", "EM",  "SUB", "ESC", "FS",  "GS",  "RS",  "US",  "SP"};
    const char *p = (const char *)*s;
    if (p[0] == '^' && p[1] >= '@' && p[1] <= '_') {
        *s += 2;
        return p[1] - '@';
    }
    int found = -1;
    size_t n = 0;
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
        if (strlen(names[i]) > n &&
            !strncmp(p, names[i], strlen(names[i]))) { /* SOH is not SO and H */
            found = i;
            n = strlen(names[i]);
        }
    if (!strncmp(p, "DEL", 3)) {
        found = 127;
        n = 3;
    }
    *s += n;
    return found;
}

/* Decodes one character of a literal at *s, an escape or UTF-8, and steps over it; -1 for an
 * escape that does not exist. */
static int64_t character(const unsigned char **s)
{
    const unsigned char *p = *s;
    if (*p == '\\') {
        static const char from[] = "abfnrtv\\'\"0", to[] = "\a\b\f\n\r\t\v\\'\"";
        p++;
        int base = *p == 'x' ? 16 : *p == 'o' ? 8 : 10;
        if (is_digit(p[base != 10], base)) {
            int64_t v = 0;
            for (p += base != 10; is_digit(*p, base) && v < 0x110000; p++)
                v = base * v + digit_value(*p);
            *s = p;
            return v < 0x110000 ? v : -1;
        }
        const char *k = *p ? strchr(from, *p) : NULL;
        *s = p + (k != NULL);
        int64_t named = k ? to[k - from] : control(s);
        *s += named < 0;
        return named;
    }
    int64_t c = *p++;
    int more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc2 ? 1 : 0;
    if (more)
        c &= 0x3f >> more;
    while (more-- > 0 && (*p & 0xc0) == 0x80)
        c = c << 6 | (*p++ & 0x3f);
    *s = p;
    return c;
}

AExp *scan_char(ParseCtx *ctx, const char *s, Loc loc)
{
    const unsigned char *p = (const unsigned char *)s + 1;
    int64_t c = character(&p);
    if (c < 0 || *p != '\'')
        parse_error(ctx, loc, "unknown escape sequence in %s", s);
    AExp *e = literal(ctx, loc);
    e->lit.bits = c < 0 ? 0 : (uint64_t)c;
    return e;
}

static AExp *byte_literal(ParseCtx *ctx, unsigned char byte, Loc loc)
{
    AExp *b = literal(ctx, loc);
    b->lit.suffixed = true;
    b->lit.scalar = T_U8;
    b->lit.bits = byte;
    return b;
}

/* The UTF-8 bytes of a character; how many. */
static int utf8(int64_t c, unsigned char *out)
{
    int more = c >= 0x10000 ? 3 : c >= 0x800 ? 2 : c >= 0x80 ? 1 : 0;
    static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
    for (int i = more; i > 0; i--, c >>= 6)
        out[i] = (unsigned char)(0x80 | (c & 0x3f));
    out[0] = (unsigned char)(lead[more] | c);
    return more + 1;
}

/* Equal bytes are one node: a string may be long. */
AExp *scan_string(ParseCtx *ctx, const char *s, size_t n, Loc loc)
{
    AExps bytes = {0};
    AExp *made[256] = {0};
    const unsigned char *p = (const unsigned char *)s + 1, *end = (const unsigned char *)s + n - 1;
    while (p < end) {
        const unsigned char *from = p;
        unsigned char coded[4];
        if (p[0] == '\\' && p[1] == '&') { /* nothing: it ends a code before a digit */
            p += 2;
            continue;
        }
        int64_t c = *p == '\\' ? character(&p) : *p++; /* else it is UTF-8 already */
        Loc at = {loc.beg + (uint32_t)(from - (const unsigned char *)s),
                  loc.beg + (uint32_t)(p - (const unsigned char *)s)};
        if (c < 0)
            parse_error(ctx, at, "unknown escape sequence in string");
        int many = *from == '\\' ? utf8(c < 0 ? 0 : c, coded) : 1;
        if (*from != '\\')
            coded[0] = *from;
        for (int i = 0; i < many; i++) {
            if (!made[coded[i]])
                made[coded[i]] = byte_literal(ctx, coded[i], loc);
            vec_push(ctx->a, &bytes, made[coded[i]]);
        }
    }
    return mk_seq(ctx, AE_STRING, bytes, loc);
}

/* The token of an operator, which is its precedence: that of the longest known operator that it
 * begins with. A module before it (f32.+) does not count. */
int scan_operator(const char *s)
{
    static const struct {
        const char *prefix;
        int token;
    } classes[] = {
        {">>", OP_SHIFT}, {"<<", OP_SHIFT}, {"|>", OP_PIPE}, {"<|", OP_RPIPE}, {"||", OP_OR},
        {"&&", OP_AND},   {"**", OP_POW},   {"//", OP_MUL},  {"%%", OP_MUL},   {"==", OP_CMP},
        {"!=", OP_CMP},   {"<=", OP_CMP},   {">=", OP_CMP},  {"+", OP_ADD},    {"-", OP_ADD},
        {"*", OP_MUL},    {"/", OP_MUL},    {"%", OP_MUL},   {"<", OP_CMP},    {">", OP_CMP},
        {"=", OP_CMP},    {"!", OP_CMP},    {"&", OP_BIT},   {"|", OP_BIT},    {"^", OP_BIT},
    };
    if (!strcmp(s, "-"))
        return MINUS;
    if (!strcmp(s, "*"))
        return STAR;
    if (!strcmp(s, "<"))
        return LESS;
    if (!strcmp(s, "|"))
        return BAR;
    if (!strcmp(s, "!"))
        return BANG;
    s += strcspn(s, "-+*/%=!><|&^");
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (!strncmp(s, classes[i].prefix, strlen(classes[i].prefix)))
            return classes[i].token;
    ice(((Loc){0, 0}), "operator `%s` has no class", s);
}

/* What the comment says: behind the dashes (and the bar, where documentation starts) and a blank,
 * without blanks at its end. */
static const char *comment_words(const char *comment, const char *end, bool starts, int *n)
{
    const char *words = comment + (starts ? strlen("-- |") : strlen("--"));
    words += words < end && *words == ' ';
    while (end > words && strchr(" \t\r", end[-1]))
        end--;
    *n = (int)(end - words);
    return words;
}

static const char *char_at(const ParseCtx *ctx, uint32_t offset)
{
    return ctx->text + (offset - ctx->base);
}

/* Keeps where `-- |` comments are, and the comment lines that follow at once, for declarations;
 * directives (`-- ==`) are none of it. */
void scan_doc(ParseCtx *ctx, Loc loc, bool starts)
{
    if (ctx->concrete)
        vec_push(ctx->a, &ctx->concrete->comments, loc);
    const char *beg = char_at(ctx, loc.beg);
    Loc *last = ctx->docs.n ? &vec_last(&ctx->docs) : NULL;
    const char *line = char_at(ctx, ctx->line_at);
    int n;
    const char *words = comment_words(beg, char_at(ctx, loc.end), false, &n);
    bool directive = n == 2 && !memcmp(words, "==", 2);
    if (starts && line + strspn(line, " \t") == beg) /* behind code it is no doc */
        vec_push(ctx->a, &ctx->docs, loc);
    else if (last && !directive &&
             strspn(char_at(ctx, last->end), " \t\r\n") >= loc.beg - last->end)
        *last = loc_join(*last, loc);
}

const char *scan_doc_text(const ParseCtx *ctx, Loc doc)
{
    Out o = {0};
    const char *end = char_at(ctx, doc.end);
    for (const char *s = char_at(ctx, doc.beg); s < end; s += strspn(s, " \t\r\n")) {
        int n;
        bool first = s == char_at(ctx, doc.beg);
        const char *eol = memchr(s, '\n', (size_t)(end - s));
        eol = eol ? eol : end;
        const char *words = comment_words(s, eol, first, &n);
        out_printf(&o, "%s%.*s", first ? "" : "\n", n, words);
        s = eol;
    }
    char *text = arena_strdup(ctx->a, o.text ? o.text : "");
    out_free(&o);
    return text;
}

void scan_bad(ParseCtx *ctx, const char *s, size_t n, Loc loc)
{
    unsigned char c = (unsigned char)s[0];
    if (c >= 0xc2 && n > 1)
        parse_error(ctx, loc, "`%.*s` may stand in comments and strings only", (int)n, s);
    else if (c >= 0x80 || c < 0x20 || c == 0x7f)
        parse_error(ctx, loc, "unexpected byte 0x%02x", c);
    else
        parse_error(ctx, loc, "unexpected character `%c`%s", c,
                    c == ';'
                        ? "; declarations, and one `let` and the next, follow each other without it"
                        : "");
}
