/* Reading the texts of programs. */
#ifndef BASE_SOURCE_H
#define BASE_SOURCE_H

#include "base/arena.h"
#include "base/diag.h"

#include <stdbool.h>
#include <stddef.h>

enum { MAX_SOURCE = 1 << 28 }; /* bytes of a file: positions are 32-bit offsets into all of them */

/* The text of a file, followed by a zero byte; NULL after a message at loc. It must be a regular
 * file, or a pipe if `pipe`: a device may have no end. */
char *source_read(Arena *a, const char *path, bool pipe, Loc loc, size_t *n);

#endif
