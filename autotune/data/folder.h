/* Data sets, and those of a folder. */
#ifndef AUTOTUNE_DATA_FOLDER_H
#define AUTOTUNE_DATA_FOLDER_H

#include "autotune/data/directives.h"

/* A data set: NAME.in (or NAME.in.gz) in a folder, with its expected output NAME.out (or .gz) if
 * there is one; or a case of the program's directives. */
typedef struct {
    const char *name;
    DataSource in, out;
    const Script *script; /* makes the inputs, of which `in` then tells the text alone; NULL: `in`
                             holds them */
} Dataset;
typedef VEC(Dataset) Datasets;

/* The folder's data sets by name. False and *wrong if it cannot be read or holds none. */
bool datasets_find(Arena *a, const char *folder, Datasets *ds, const char **wrong);

#endif
