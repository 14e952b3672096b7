/* Versions of packages: X.Y.Z, or 0.0.0-TIME+COMMIT for a commit that has none. */
#ifndef PACKAGES_SEMVER_H
#define PACKAGES_SEMVER_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t major, minor, patch;
    const char *time;   /* digits behind a `-`: it comes before the version without; NULL: none */
    const char *commit; /* letters and digits behind a `+`; NULL: none */
} Semver;

/* Reads the version that s begins with, at most n characters: how many it has, 0 if there is none.
 * Of semantic versions those that Futhark knows: what is behind `-` are digits. */
size_t semver_read(Arena *a, const char *s, size_t n, Semver *v);
/* The version that the whole text is. */
bool semver_is(Arena *a, const char *s, Semver *v);
/* Below, at, or above zero as x comes before y, is as old, or comes behind it; commits do not
 * count. */
int semver_compare(Semver x, Semver y);
const char *semver_text(Arena *a, Semver v);
/* Does it stand for a commit, and not for a release? */
bool semver_is_commit(Semver v);

#endif
