/* What a tuning file sets of a program that runs. */
#ifndef AUTOTUNE_RUN_SETTINGS_H
#define AUTOTUNE_RUN_SETTINGS_H

#include "autotune/run/options.h"

typedef struct {
    const char *file; /* NULL: there is none, nothing is set */
    Setup setup;
} FileSettings;

/* The settings of the tuning file of these options, unset where it has none. Warns, in the name of
 * the tool, of a file for another device or program and of parameters that the program has not.
 * False after a message. */
bool settings_read(Arena *a, Session *s, const char *tool, const ToolOptions *o, FileSettings *res);

#endif
