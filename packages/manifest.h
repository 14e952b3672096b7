/* The file futhark.pkg: which package a project is, if it is one, and which ones it requires, with
 * its comments.
 *
 *     -- comment
 *     package github.com/user/own
 *
 *     require {
 *       github.com/user/other 1.2.0 #COMMIT
 *     }
 */
#ifndef PACKAGES_MANIFEST_H
#define PACKAGES_MANIFEST_H

#include "base/diag.h"
#include "base/out.h"
#include "base/vec.h"
#include "packages/semver.h"

#define MANIFEST_NAME "futhark.pkg"

/* A line between the braces: a requirement, or a comment (path == NULL). */
typedef struct {
    const char *path, *comment;
    Semver version;   /* the oldest that will do */
    const char *hash; /* the commit that it is to be; NULL: any */
    Loc loc;
} Require;
typedef VEC(Require) Requires;
typedef VEC(const char *) Comments; /* each what is behind `--` */

typedef struct {
    Comments head;       /* before `package` */
    const char *package; /* NULL: no package */
    Loc loc;             /* of its path */
    Comments middle;     /* before `require` */
    Requires lines;
    Comments tail;
} Manifest;

/* Reads the text. NULL, or what is wrong with it and where, from the offset `base` on. */
const char *manifest_parse(Arena *a, const char *text, size_t n, uint32_t base, Manifest *m,
                           Loc *where);
/* The same of a file of that name: false after a message. Says if a package is required twice:
 * the last one counts. */
bool manifest_read(Arena *a, const char *name, const char *text, size_t n, Manifest *m);
/* In its layout, comments on lines of their own. */
void manifest_print(Out *o, Arena *a, const Manifest *m);

/* The requirement of a package; NULL if there is none. */
Require *manifest_find(const Manifest *m, const char *path);

/* What is wrong with the path of a package: "it has a part `..`"; NULL if it may be one. Such a
 * path stays below the folder that it is looked for in. */
const char *package_path_wrong(Arena *a, const char *path);

#endif
