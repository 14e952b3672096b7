/* The repositories that packages come from: in a mirror, a folder of repositories; else those of
 * the network, of which there are copies in the user's cache. What is there already is not fetched
 * again. All that fails is said at the place of the requirement that asks. */
#ifndef PACKAGES_REPOSITORY_H
#define PACKAGES_REPOSITORY_H

#include "packages/manifest.h"

typedef struct {
    const char *name; /* the package's path without its major version: github.com/user/repo */
    const char *dir;
    bool fresh; /* it is as new as it gets in this run */
    bool copy;  /* ... of what is in the network */
} Repository;
typedef VEC(Repository *) Repositories;

/* Where repositories are looked for. */
typedef struct {
    Arena *a;
    const char *mirror; /* NULL: none */
    bool offline;       /* nothing is fetched */
    Repositories open;
} Origin;

/* The repository of a package; NULL after a message. */
Repository *repo_open(Origin *o, const char *package, Loc loc);
/* Fetches what is new. False after a message. */
bool repo_refresh(Origin *o, Repository *r, Loc loc);

typedef VEC(Semver) Semvers;
/* The versions of the package that the repository has releases of (tags vX.Y.Z), the oldest first:
 * those of the major version that the path ends in (PATH@2), else those below 2. False after a
 * message. */
bool repo_versions(Origin *o, Repository *r, const char *package, Semvers *to, Loc loc);
/* The commit of a version, fetched if need be; NULL after a message, which tells the versions that
 * there are. */
const char *repo_commit(Origin *o, Repository *r, const char *package, Semver v, Loc loc);
/* The version that stands for a commit, given by its hash or the beginning of it; NULL: the newest
 * commit of the default branch, of a repository without releases. False after a message. */
bool repo_commit_version(Origin *o, Repository *r, const char *package, const char *hash, Semver *v,
                         Loc loc);

/* A file of a package. */
typedef struct {
    const char *name; /* below the package's folder */
    const char *blob; /* the hash of its contents, as git has it */
    const char *text; /* its contents */
    size_t n;
} RepoFile;
typedef VEC(RepoFile) RepoFiles;

/* The file futhark.pkg of the package at that commit. False after a message. */
bool repo_manifest(Origin *o, Repository *r, const char *package, const char *version,
                   const char *commit, Manifest *m, Loc loc);
/* What lies in the folder lib/PACKAGE at that commit: files only. False after a message, of links
 * and names that could lead elsewhere, too. */
bool repo_files(Origin *o, Repository *r, const char *package, const char *version,
                const char *commit, RepoFiles *to, Loc loc);
/* Is it the contents of a file, of whichever commit? */
bool repo_knows(Origin *o, const Repository *r, const char *blob);

#endif
