/* Which files of a `lib` packages have brought: the record that lies there. */
#ifndef PACKAGES_RECORD_H
#define PACKAGES_RECORD_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>

#define PACKAGE_RECORD ".minifut-packages" /* in lib/ */
#define PACKAGE_RECORD_HEAD                                                                        \
    "Files of packages, by `minifut pkg sync`: hash of the contents, name.\n"

/* The contents of a regular file, n bytes and a zero byte, in the arena; NULL and errno. */
char *package_file_text(Arena *a, const char *path, size_t *n);

/* Calls `file` for each file of a record, the text of which it writes over: its name below lib/, in
 * the arena, and the hash of its contents. */
typedef void PackageRecordFile(void *env, const char *name, const char *hash);
void package_record_each(Arena *a, char *text, PackageRecordFile *file, void *env);

/* What is known of files by their paths; nothing of folders that it has not been asked about. */
typedef struct PackageFiles PackageFiles;
PackageFiles *package_files_new(Arena *a);
/* Has a package brought the file of that path, or one of another content in its place? That is,
 * does it stand in the record of a `lib` above it. A `lib` without one, beside a `futhark.pkg`, is
 * filled by `futhark pkg`: then of packages is what lies in it, but what the project itself is. A
 * `lib` that begins in the first `above` bytes of the path is passed over. */
bool package_has_file(PackageFiles *p, const char *path, size_t above);

#endif
