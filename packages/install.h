/* The folder lib/ of a project: the files of its packages, and what else the user has there. It is
 * made anew beside the old one, whose place it then takes in one step. */
#ifndef PACKAGES_INSTALL_H
#define PACKAGES_INSTALL_H

#include "packages/solve.h"

typedef struct Install Install;

/* Makes the new lib/ of the working directory beside the old one. Files that come from packages are
 * replaced or left out, all others are kept; one that stands where a package has a file is an
 * error, unless `force`. NULL after messages; nothing has changed then. */
Install *install_prepare(Origin *o, const Packages *ps, bool force);
/* Is lib/ what it should be already? */
bool install_is_done(const Install *in);
/* Has it take the place of the old one. False after a message; the old one is there then. */
bool install_put(Install *in);
/* How many files were kept that are of no package. */
int install_kept(const Install *in);
/* Ends it, put or not. */
void install_end(Install *in);

#endif
