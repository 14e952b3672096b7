/* Tuning files: lines `name=int`, comments from `--`, the last line for a name wins. */
#ifndef AUTOTUNE_DATA_FILE_H
#define AUTOTUNE_DATA_FILE_H

#include "base/out.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    const char *name;
    int64_t value;
} Setting;
typedef VEC(Setting) Settings;

/* Adds the file's settings. False, and a message in *wrong, if it cannot be read or has a bad line.
 */
bool tuning_read(Arena *a, const char *path, Settings *s, const char **wrong);
/* What follows HEAD in the last comment of the file that begins with it; NULL: none does. */
const char *tuning_comment(Arena *a, const char *path, const char *head);
/* Is it a tuning file, ours or written by hand? */
bool tuning_is(const char *path);
/* The text of a file, with a comment of one or more lines on top. */
void tuning_print(Out *o, const char *comment, const Settings *s);

#endif
