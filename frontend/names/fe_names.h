/* Names that programs have without defining them, and members of modules, for editors. */
#ifndef FRONTEND_NAMES_FE_NAMES_H
#define FRONTEND_NAMES_FE_NAMES_H

#include "frontend/syntax/ast.h"

/* Calls fn for each name that the language has built in: of a scalar type ("f32"), without it, or,
 * if module is NULL, those that stand alone. */
void fe_builtins(const char *module, void (*fn)(void *env, const char *name), void *env);
/* A built-in name ("map", "f32.sqrt") as it is bound in a program that was checked, NULL if there
 * is none; what is said of it, as in a doc comment, or NULL; and the section of docs/library.md
 * that it is in. */
const Binding *fe_builtin(Ast *ast, const char *name);
const char *fe_builtin_doc(const char *name);
const char *fe_builtin_section(const char *name);
/* Calls fn for each member of a module that the program defines. */
void fe_members(const Module *m, void (*fn)(void *env, const Binding *b), void *env);

#endif
