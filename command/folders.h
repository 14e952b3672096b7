/* Programs in folders. */
#ifndef COMMAND_FOLDERS_H
#define COMMAND_FOLDERS_H

#include "base/arena.h"
#include "base/vec.h"

#include <stdbool.h>

typedef VEC(const char *) Paths;

typedef struct {
    Arena *a;
    bool flat;   /* none of folders below */
    int most;    /* files, and twenty times as many names that are none; 0: any number */
    int looked;  /* so many names so far */
    Paths files; /* found so far */
    /* Is told of a folder that cannot be read (errno); NULL: nobody is. */
    void (*unread)(void *env, const char *folder);
    /* Says which files are passed over, by their paths, which begin with the folder, of so many
     * bytes; NULL: none. */
    bool (*passes)(void *env, const char *path, size_t folder);
    void *env;
} FolderSearch;

bool folder_is(const char *path);
/* Adds the files NAME.sf and NAME.fut of a folder and of those below it, by name, without hidden
 * ones. Links are followed, but not to where they came from. */
void folder_search(FolderSearch *s, const char *folder);

#endif
