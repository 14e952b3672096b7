/* The tokens of the IR's text form. */
#include "ir/read.h"

#include "base/intern.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

_Noreturn void read_fail(Reader *r, Loc loc, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    diag_error(loc, "%s", arena_vprintf(r->cx->perm, fmt, ap));
    va_end(ap);
    longjmp(r->fail, 1);
}

static void push_token(Reader *r, int kind, size_t beg, size_t end, const char *text)
{
    Loc loc = {r->base + (uint32_t)beg, r->base + (uint32_t)end};
    vec_push(r->cx->perm, &r->toks, ((Token){kind, loc, text}));
}

static bool name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '\'';
}

static size_t lex_number(Reader *r, size_t i)
{
    const char *s = r->src;
    size_t beg = i;
    i += s[i] == '-';
    while (i < r->n && isdigit((unsigned char)s[i]))
        i++;
    if (i + 1 < r->n && s[i] == '.' && isdigit((unsigned char)s[i + 1]))
        for (i++; i < r->n && isdigit((unsigned char)s[i]);)
            i++;
    if (i < r->n && s[i] == 'e') {
        i++;
        i += i < r->n && (s[i] == '+' || s[i] == '-');
    }
    while (i < r->n && name_char(s[i]))
        i++;
    push_token(r, K_NUM, beg, i, intern_n(s + beg, i - beg));
    return i;
}

static size_t lex_string(Reader *r, size_t i)
{
    const char *s = r->src;
    size_t beg = i++;
    char *buf = arena_alloc(r->cx->perm, r->n - beg + 1);
    size_t k = 0;
    for (; i < r->n && s[i] != '"' && s[i] != '\n'; i++) {
        if (s[i] != '\\' || i + 1 >= r->n) {
            buf[k++] = s[i];
            continue;
        }
        i++;
        unsigned code;
        if (s[i] == 'n')
            buf[k++] = '\n';
        else if (s[i] == 't')
            buf[k++] = '\t';
        else if (s[i] == 'u' && i + 4 < r->n && sscanf(s + i + 1, "%4x", &code) == 1 &&
                 code < 0x80) {
            buf[k++] = (char)code;
            i += 4;
        } else
            buf[k++] = s[i];
    }
    if (i >= r->n || s[i] != '"')
        read_fail(r, (Loc){r->base + (uint32_t)beg, r->base + (uint32_t)i},
                  "string without an end");
    push_token(r, K_STR, beg, i + 1, intern_n(buf, k));
    return i + 1;
}

void read_lex(Reader *r)
{
    const char *s = r->src;
    for (size_t i = 0; i < r->n;) {
        size_t beg = i;
        char c = s[i], next = i + 1 < r->n ? s[i + 1] : '\0';
        if (c == '-' && next == '-') {
            while (i < r->n && s[i] != '\n')
                i++;
        } else if (isspace((unsigned char)c)) {
            i++;
        } else if (c == '-' && next == '>') {
            i += 2;
            push_token(r, K_ARROW, beg, i, "->");
        } else if (isdigit((unsigned char)c) || (c == '-' && isdigit((unsigned char)next))) {
            i = lex_number(r, i);
        } else if (isalpha((unsigned char)c) || c == '_') {
            while (i < r->n && name_char(s[i]))
                i++;
            push_token(r, K_NAME, beg, i, intern_n(s + beg, i - beg));
        } else if (c == '"') {
            i = lex_string(r, i);
        } else if (c && strchr(r->marks, c)) {
            push_token(r, c, beg, ++i, intern_n(s + beg, 1));
        } else {
            read_fail(r, (Loc){r->base + (uint32_t)beg, r->base + (uint32_t)beg + 1},
                      "unexpected character");
        }
    }
    push_token(r, K_END, r->n, r->n, "end of the text");
}
