/* minifut pkg: packages of others in a project. */
#ifndef PACKAGES_PKG_H
#define PACKAGES_PKG_H

/* Takes the arguments after its name; returns the exit code. */
int pkg_main(int argc, char **argv);

#endif
