/* Folders for the time that a command runs. */
#ifndef COMMAND_TEMPDIR_H
#define COMMAND_TEMPDIR_H

#include <stdbool.h>

typedef struct {
    char *path; /* malloc'd; NULL: none */
    int lock;   /* held as long as the process lives: says that the folder is in use */
} TempDir;

/* Makes a new folder in `base` (NULL: $TMPDIR, else /tmp), and removes those there whose processes
 * were killed. False and errno on failure; *path is then what was tried, to free(). */
bool tempdir_open(TempDir *t, const char *base);
/* Removes the folder with all that is in it. Nothing happens to one that is not open. */
void tempdir_close(TempDir *t);
/* Leaves the folder there for good. */
void tempdir_keep(TempDir *t);
/* Removes a folder with all that is in it. */
void remove_folder(const char *path);

#endif
