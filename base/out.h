/* An indenting writer into memory: all text that the compiler makes (IR, C, OpenCL C, JSON) is
 * collected here and written to its file in one go, so that nothing is left half-written. */
#ifndef BASE_OUT_H
#define BASE_OUT_H

#include "base/arena.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct {
    char *text; /* NUL-terminated; malloc'd */
    size_t n, cap;
    int indent;    /* levels of four spaces */
    bool mid_line; /* something was written since the last newline */
} Out;

void out_free(Out *o);
/* Text as it is; each line is indented when its first character is written. */
void out_puts(Out *o, const char *s);
void out_putn(Out *o, const char *s, size_t n);
void out_printf(Out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
__attribute__((format(printf, 2, 0))) void out_vprintf(Out *o, const char *fmt, va_list ap);
/* Length of the UTF-8 character at s (1 to 4 bytes); 0 if there is none. */
size_t utf8_length(const char *s);
/* A quoted string with JSON's escapes, which the reader of IR text knows, too. What is no UTF-8
 * becomes the character for that. */
void out_quoted(Out *o, const char *s);
/* A member of a JSON object: "KEY": "text", or null. */
void out_member(Out *o, const char *key, const char *text);
/* A C string literal of any n bytes: printable ASCII as it is, everything else escaped, so that
 * whatever a path, name or message holds stays inside the literal. */
void out_c_string(Out *o, const char *s, size_t n);
/* A C comment of any text: what would end it, and all but printable ASCII, is escaped. */
void out_c_comment(Out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The text as a string to free() (never NULL); leaves the writer empty. */
char *out_take(Out *o);
/* The same in an arena. */
const char *out_keep(Out *o, Arena *a);

/* Writes the text to a file, atomically: a temporary file in the same folder, renamed when it is
 * complete; a link stays one, and an old file's mode is kept. False and errno on failure; the old
 * file is then untouched. What is there and no file (a device, a pipe) is written to as it is. */
bool out_write_file(const Out *o, const char *path);

#endif
