/* The frontend: .sf text to a typed tree (ast.h) to the SOAC dialect of the IR (lower.c).
 *
 *     Ast *ast = fe_load(arena, "prog.sf");
 *     if (!ast || !fe_check(ast)) { diag_flush(); return diag_exit_code(); }
 *
 * All functions report through base/diag.h and go on where they can, so that one run shows several
 * errors. */
#ifndef FRONTEND_FRONTEND_H
#define FRONTEND_FRONTEND_H

#include "frontend/check/fe_check.h"
#include "frontend/names/fe_names.h"
#include "frontend/syntax/print.h"

/* Reads and parses a file and all it imports (import_path.c; once each). NULL if the main file
 * cannot be read. After syntax errors (reported) fe_check will refuse the tree. */
Ast *fe_load(Arena *a, const char *path);

/* Parses a text as if it were a file of that name; imports are looked up relative to it. */
Ast *fe_parse(Arena *a, const char *name, const char *text, size_t n);

/* For editors: reads and parses another file, with what it imports, beside the program in a tree;
 * it is that of the tree if it is there already. NULL if it cannot be read. Of messages, drop them:
 * they are none of the program's. */
File *fe_parse_besides(Ast *ast, const char *path);

#endif
