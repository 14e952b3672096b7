/* Reading the texts of programs. */
#ifndef COMMAND_SOURCE_H
#define COMMAND_SOURCE_H

#include "base/arena.h"
#include "base/diag.h"

#include <stdbool.h>
#include <stddef.h>

enum { MAX_SOURCE = 1 << 28 }; /* bytes of a file: positions are 32-bit offsets into all of them */

/* The text of a file, followed by a zero byte; NULL after a message at loc. It must be a regular
 * file, or a pipe if `pipe`: a device may have no end. */
char *source_read(Arena *a, const char *path, bool pipe, Loc loc, size_t *n);

/* Is there a file of that name, readable or not, or a text instead of one? */
bool source_there(const char *path);
/* The length of a program's name without its ending, `.sf` or `.fut`; of all of it if it
 * has none. */
size_t source_stem(const char *name);

/* From now on source_read asks `instead` first: the text, of n bytes and followed by a zero byte,
 * that is taken for the file's, or NULL (an editor has not written it yet). */
typedef const char *SourceInstead(void *env, const char *path, size_t *n);
void source_set_instead(SourceInstead *instead, void *env);

#endif
