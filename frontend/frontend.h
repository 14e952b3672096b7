/* The frontend: .sf text to a typed tree (ast.h) to the SOAC dialect of the IR (lower.c).
 *
 *     Ast *ast = fe_load(arena, "prog.sf");
 *     if (!ast || !fe_check(ast)) { diag_flush(); return diag_exit_code(); }
 *
 * All functions report through base/diag.h and go on where they can, so that one run shows several
 * errors. */
#ifndef FRONTEND_FRONTEND_H
#define FRONTEND_FRONTEND_H

#include "frontend/ast.h"

/* Reads and parses a file and all it imports (relative to the importing file, `.sf` added; once
 * each). NULL if the main file cannot be read. After syntax errors (reported) fe_check will
 * refuse the tree. */
Ast *fe_load(Arena *a, const char *path);

/* Parses a text as if it were a file of that name; imports are looked up relative to it. */
Ast *fe_parse(Arena *a, const char *name, const char *text, size_t n);

/* Resolves names, infers types and sizes, checks consumption and entry points, fills in what ast.h
 * marks [check]. False if there were errors; at once if there were syntax errors before. */
bool fe_check(Ast *ast);

/* Prints the tree as a program; with `types`, each binding with its type, each implicit size check
 * (`:?`) and each literal with its suffix. */
void fe_print(Out *o, const Ast *ast, bool types);
/* One expression, on one line where it can be (for messages and `explain`). */
void fe_print_exp(Out *o, const AExp *e, bool types);

#endif
