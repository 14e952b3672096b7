/* Which version of each package: the oldest that all who require it accept, by minimal version
 * selection as Futhark does it (after Russ Cox's vgo). */
#ifndef PACKAGES_SOLVE_H
#define PACKAGES_SOLVE_H

#include "packages/repository.h"

typedef struct {
    const char *path;
    Semver version;
    Repository *repo;
    const char *commit;
    Loc loc; /* who requires it */
    Manifest manifest;
    bool reached; /* by the versions that were chosen in the end */
} Package;
typedef VEC(Package) Packages;

/* The packages that the project needs, by their paths: what it requires, and what these require.
 * Hashes of requirements are compared. False after messages. Packages that require each other are
 * no mistake. */
bool solve(Origin *o, const Manifest *m, Packages *to);

#endif
