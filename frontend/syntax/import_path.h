/* Where imports are looked up, within load.c. */
#ifndef FRONTEND_SYNTAX_IMPORT_PATH_H
#define FRONTEND_SYNTAX_IMPORT_PATH_H

#include "frontend/syntax/ast.h"

/* The path of the file that is imported as `name` by the file `from` of the program whose file is
 * `main`; NULL after a message at loc if there is none. */
const char *import_find(Arena *a, const char *main, const char *from, const char *name, Loc loc);

/* A name that all names of a file have in common (interned); of what is no file, the path. */
const char *import_real(const char *path);

#endif
