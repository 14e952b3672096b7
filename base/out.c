#include "base/out.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void out_free(Out *o)
{
    free(o->text);
    *o = (Out){0};
}

static void put_raw(Out *o, const char *s, size_t n)
{
    if (o->cap - o->n < n + 1 || !o->text) {
        size_t cap = o->cap ? o->cap : 256;
        while (cap - o->n < n + 1)
            cap *= 2;
        o->text = mem_or_exit(realloc(o->text, cap));
        o->cap = cap;
    }
    if (n)
        memcpy(o->text + o->n, s, n);
    o->n += n;
    o->text[o->n] = '\0';
}

/* Lines deeper than this begin where it does: the text of a deep program would else be as long as
 * the square of its depth. */
enum { MAX_INDENT = 24 };

static size_t indent_of(int depth)
{
    return 4 * (size_t)(depth < MAX_INDENT ? depth : MAX_INDENT);
}

void out_putn(Out *o, const char *s, size_t n)
{
    while (n) {
        const char *nl = memchr(s, '\n', n);
        size_t line = nl ? (size_t)(nl - s) : n;
        if (line && !o->mid_line)
            for (size_t i = indent_of(o->indent); i > 0; i--)
                put_raw(o, " ", 1);
        put_raw(o, s, line);
        o->mid_line = o->mid_line || line > 0;
        if (nl) {
            put_raw(o, "\n", 1);
            o->mid_line = false;
            line++;
        }
        s += line;
        n -= line;
    }
}

void out_puts(Out *o, const char *s)
{
    out_putn(o, s, strlen(s));
}

void out_vprintf(Out *o, const char *fmt, va_list ap)
{
    char small[512];
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(small, sizeof small, fmt, again);
    va_end(again);
    if ((size_t)n < sizeof small) {
        out_putn(o, small, (size_t)n);
        return;
    }
    char *big = mem_or_exit(malloc((size_t)n + 1));
    vsnprintf(big, (size_t)n + 1, fmt, ap);
    out_putn(o, big, (size_t)n);
    free(big);
}

void out_printf(Out *o, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    out_vprintf(o, fmt, ap);
    va_end(ap);
}

size_t utf8_length(const char *s)
{
    const unsigned char *c = (const unsigned char *)s;
    size_t n = c[0] < 0x80                    ? 1
               : c[0] >= 0xc2 && c[0] <= 0xdf ? 2
               : (c[0] & 0xf0) == 0xe0        ? 3
               : c[0] >= 0xf0 && c[0] <= 0xf4 ? 4
                                              : 0;
    for (size_t i = 1; i < n; i++)
        if ((c[i] & 0xc0) != 0x80)
            return 0;
    bool wrong = (c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f) || /* surrogates */
                 (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] > 0x8f);
    return wrong ? 0 : n;
}

void out_quoted(Out *o, const char *s)
{
    out_puts(o, "\"");
    for (size_t k; *s; s += k) {
        unsigned char c = (unsigned char)*s;
        for (k = 0; s[k] >= ' ' && s[k] < 0x7f && s[k] != '"' && s[k] != '\\';)
            k++;
        if (k) { /* most of it */
            out_putn(o, s, k);
            continue;
        }
        k = utf8_length(s);
        if (c == '"' || c == '\\')
            out_printf(o, "\\%c", c);
        else if (c == '\n')
            out_puts(o, "\\n");
        else if (c == '\t')
            out_puts(o, "\\t");
        else if (c < 0x20)
            out_printf(o, "\\u%04x", c);
        else if (k == 0)
            out_puts(o, "\\ufffd");
        else
            out_putn(o, s, k);
        k = k ? k : 1;
    }
    out_puts(o, "\"");
}

void out_c_string(Out *o, const char *s, size_t n)
{
    out_puts(o, "\"");
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == '\n')
            out_puts(o, "\\n");
        else if (c < 0x20 || c > 0x7e)
            out_printf(o, "\\%03o", c); /* always three digits: a digit may follow */
        else if (c == '"' || c == '\\' || (c == '?' && i > 0 && s[i - 1] == '?'))
            out_printf(o, "\\%c", c); /* `?`: of trigraphs */
        else
            out_putn(o, s + i, 1);
    }
    out_puts(o, "\"");
}

void out_c_comment(Out *o, const char *fmt, ...)
{
    Out text = {0};
    va_list ap;
    va_start(ap, fmt);
    out_vprintf(&text, fmt, ap);
    va_end(ap);
    out_puts(o, "/* ");
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.text[i];
        if (c < 0x20 || c > 0x7e || (c == '/' && i > 0 && text.text[i - 1] == '*'))
            out_printf(o, "\\x%02x", c);
        else
            out_putn(o, text.text + i, 1);
    }
    out_puts(o, " */");
    out_free(&text);
}

char *out_take(Out *o)
{
    if (!o->text)
        put_raw(o, "", 0);
    char *s = o->text;
    *o = (Out){0};
    return s;
}

const char *out_keep(Out *o, Arena *a)
{
    const char *kept = arena_strdup(a, o->text ? o->text : "");
    out_free(o);
    return kept;
}

static bool write_all(int fd, const char *s, size_t n)
{
    while (n) {
        ssize_t k = write(fd, s, n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return false;
        s += k;
        n -= (size_t)k;
    }
    return true;
}

/* Through a temporary file beside it. */
static bool replace_file(const Out *o, const char *path)
{
    size_t len = strlen(path);
    char *tmp = mem_or_exit(malloc(len + 8));
    memcpy(tmp, path, len);
    memcpy(tmp + len, ".XXXXXX", 8);
    sigset_t all, mask;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &mask); /* none leaves the temporary file there */
    int fd = mkstemp(tmp);
    bool ok = fd >= 0;
    if (ok) {
        struct stat old;
        mode_t hidden = umask(0);
        umask(hidden);
        mode_t mode = stat(path, &old) == 0 ? old.st_mode & 07777 : 0666 & ~hidden;
        ok = write_all(fd, o->text ? o->text : "", o->n) && fchmod(fd, mode) == 0;
        int saved = errno;
        if (close(fd) != 0 && ok)
            ok = false;
        else
            errno = saved;
        ok = ok && rename(tmp, path) == 0;
        if (!ok) {
            saved = errno;
            unlink(tmp);
            errno = saved;
        }
    }
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    free(tmp);
    return ok;
}

bool out_write_file(const Out *o, const char *path)
{
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
        int fd = open(path, O_WRONLY | O_NOCTTY);
        bool ok = fd >= 0 && write_all(fd, o->text ? o->text : "", o->n);
        int saved = errno;
        if (fd >= 0 && close(fd) != 0 && ok)
            return false;
        errno = saved;
        return ok;
    }
    char *target = lstat(path, &st) == 0 && S_ISLNK(st.st_mode) ? realpath(path, NULL) : NULL;
    bool ok = replace_file(o, target ? target : path);
    int saved = errno;
    free(target);
    errno = saved;
    return ok;
}

void out_member(Out *o, const char *key, const char *text)
{
    out_printf(o, "\"%s\": ", key);
    if (text)
        out_quoted(o, text);
    else
        out_puts(o, "null");
}
