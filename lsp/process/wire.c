/* Frames in and out of buffers: reading and writing descriptors is lsp.c's. */
#include "lsp/process/wire.h"

#include "base/arena.h"
#include "base/out.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char length_key[] = "Content-Length:";
enum { KEY = sizeof length_key - 1, MAX_HEADER = 4096 };

void buffer_put(Buffer *b, const char *bytes, size_t n)
{
    if (b->n + n + 1 > b->cap) {
        b->cap = 2 * (b->n + n + 1);
        b->bytes = mem_or_exit(realloc(b->bytes, b->cap));
    }
    memcpy(b->bytes + b->n, bytes, n);
    b->n += n;
    b->bytes[b->n] = 0;
}

/* Takes bytes off the front. */
static void buffer_drop(Buffer *b, size_t n)
{
    memmove(b->bytes, b->bytes + n, b->n - n);
    b->n -= n;
    b->bytes[b->n] = 0;
}

/* --- Headers -------------------------------------------------------------------------------- */

/* The value of a Content-Length; false if it is no number, or too large a one. */
static bool read_length(const char *s, const char *end, size_t *length)
{
    *length = 0;
    while (s < end && *s == ' ')
        s++;
    const char *digits = s;
    for (; s < end && *s >= '0' && *s <= '9'; s++) {
        *length = 10 * *length + (size_t)(*s - '0');
        if (*length > MAX_MESSAGE)
            return false;
    }
    return s > digits && s == end;
}

/* Reads the header that the buffer begins with: its own bytes and those of what follows. WIRE_NONE:
 * it is not complete. */
static WireStatus read_header(const Buffer *in, size_t *header, size_t *length)
{
    bool found = false;
    size_t at = 0;
    for (;;) {
        const char *line = in->bytes + at;
        const char *end = memmem(line, in->n - at, "\r\n", 2);
        if (!end)
            return in->n - at > MAX_HEADER ? WIRE_BROKEN : WIRE_NONE;
        at = (size_t)(end - in->bytes) + 2;
        if (end == line)
            break;
        if ((size_t)(end - line) > KEY && strncasecmp(line, length_key, KEY) == 0) {
            if (!read_length(line + KEY, end, length))
                return WIRE_BROKEN;
            found = true;
        } else if (!memchr(line, ':', (size_t)(end - line))) {
            return WIRE_BROKEN;
        }
        if (at > MAX_HEADER)
            return WIRE_BROKEN;
    }
    *header = at;
    return found ? WIRE_MESSAGE : WIRE_BROKEN;
}

/* Drops bytes up to the next thing that looks like a header, or like the beginning of one behind
 * which nothing is there yet, but the first byte at least. */
static void resynchronise(Buffer *in)
{
    size_t at = 1;
    while (at < in->n &&
           strncasecmp(in->bytes + at, length_key, in->n - at < KEY ? in->n - at : KEY) != 0)
        at++;
    buffer_drop(in, at);
}

/* --- Bodies --------------------------------------------------------------------------------- */

static unsigned hex4(const char *s)
{
    unsigned v = 0;
    for (int i = 0; i < 4; i++) {
        const char *digits = "0123456789abcdef", *d = s[i] ? strchr(digits, s[i] | 0x20) : NULL;
        if (!d)
            return 0x10000;
        v = 16 * v + (unsigned)(d - digits);
    }
    return v;
}

/* The library ends strings at a zero character and refuses half a surrogate pair, both of which an
 * editor's text may have; others of the same length in UTF-16 take their places, which no program
 * may have outside comments either. */
static void mend_escapes(char *s, size_t n)
{
    for (size_t i = 0; i + 1 < n; i++) {
        if (s[i] != '\\')
            continue;
        if (s[i + 1] != 'u' || i + 6 > n) {
            i++; /* what it escapes */
            continue;
        }
        unsigned c = hex4(s + i + 2);
        unsigned low = i + 12 <= n && s[i + 6] == '\\' && s[i + 7] == 'u' ? hex4(s + i + 8) : 0;
        bool pair = c >= 0xd800 && c < 0xdc00 && low >= 0xdc00 && low < 0xe000;
        if (c == 0)
            memcpy(s + i + 2, "0001", 4);
        else if (c >= 0xd800 && c < 0xe000 && !pair)
            memcpy(s + i + 2, "fffd", 4);
        i += pair ? 11 : 5;
    }
}

/* What is no UTF-8, which answers would give back: the library does not look. */
static void mend_bytes(char *s, size_t n)
{
    for (size_t i = 0, k; i < n; i += k) {
        k = utf8_length(s + i);
        if (k == 0 || k > n - i) {
            s[i] = '?';
            k = 1;
        }
    }
}

WireStatus wire_next(Buffer *in, cJSON **out)
{
    size_t header = 0, length = 0;
    if (!in->n)
        return WIRE_NONE;
    WireStatus status = read_header(in, &header, &length);
    if (status == WIRE_BROKEN) {
        resynchronise(in);
        return WIRE_BROKEN;
    }
    if (status == WIRE_NONE || in->n - header < length)
        return WIRE_NONE;
    char *body = in->bytes + header;
    mend_bytes(body, length);
    mend_escapes(body, length);
    const char *end = body;
    *out = cJSON_ParseWithLengthOpts(body, length, &end, false);
    while (*out && end < body + length && strchr(" \t\r\n", *end) && *end)
        end++;
    if (*out && end != body + length) {
        cJSON_Delete(*out);
        *out = NULL;
    }
    buffer_drop(in, header + length);
    return *out ? WIRE_MESSAGE : WIRE_BROKEN;
}

void wire_put_text(Buffer *out, const char *text)
{
    char header[64];
    size_t n = strlen(text);
    int k = snprintf(header, sizeof header, "%s %zu\r\n\r\n", length_key, n);
    buffer_put(out, header, (size_t)k);
    buffer_put(out, text, n);
}

void wire_put(Buffer *out, cJSON *message)
{
    char *text = mem_or_exit(cJSON_PrintUnformatted(message));
    wire_put_text(out, text);
    cJSON_free(text);
    cJSON_Delete(message);
}
