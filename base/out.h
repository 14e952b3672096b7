/* An indenting writer into memory: all text that the compiler makes (IR, C, OpenCL C, JSON) is
 * collected here and written to its file in one go, so that nothing is left half-written. */
#ifndef BASE_OUT_H
#define BASE_OUT_H

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
/* Puts text (whole lines) in front of the line that begins at byte `at`, indented by `indent`. */
void out_insert_line(Out *o, size_t at, int indent, const char *text);
/* A quoted string with C (and JSON) escapes. */
void out_quoted(Out *o, const char *s);

/* The text as a string to free() (never NULL); leaves the writer empty. */
char *out_take(Out *o);

/* Writes the text to a file, atomically: a temporary file in the same folder, renamed when it is
 * complete. False and errno on failure; the old file is then untouched. */
bool out_write_file(const Out *o, const char *path);

#endif
