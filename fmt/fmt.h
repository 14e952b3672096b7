/* minifut fmt: programs in one layout. */
#ifndef FMT_FMT_H
#define FMT_FMT_H

#include "base/out.h"

/* Formats the text of a program; false after messages, of its syntax errors. That the result has
 * the same tree and the same comments is made sure of: all else is an internal error. */
bool fmt_text(const char *name, const char *text, size_t n, Out *o);

/* Writes a line for each token and each comment of a program: first byte, end, class (`keyword`,
 * `number`, ...). False after messages. */
bool fmt_tokens(const char *name, const char *text, size_t n, Out *o);

/* The command, with what follows its name; the exit code. */
int fmt_main(int argc, char **argv);

#endif
