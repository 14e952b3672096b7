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

/* Reads and parses a file and all it imports (import_path.c; once each). NULL if the main file cannot be read. After syntax errors (reported) fe_check will
 * refuse the tree. */
Ast *fe_load(Arena *a, const char *path);

/* Parses a text as if it were a file of that name; imports are looked up relative to it. */
Ast *fe_parse(Arena *a, const char *name, const char *text, size_t n);

/* Resolves names, infers types and sizes, checks consumption and entry points, fills in what ast.h
 * marks [check]. False if there were errors; at once if there were syntax errors before. */
bool fe_check(Ast *ast);

/* --- For editors ---------------------------------------------------------------------------- */

/* As fe_check, but of what has been parsed, if not all has: messages then follow from what is missing. */
bool fe_check_parsed(Ast *ast);
/* Calls fn for each name that the language has built in: of a scalar type ("f32"), without it, or, if
 * module is NULL, those that stand alone. */
void fe_builtins(const char *module, void (*fn)(void *env, const char *name), void *env);
/* A built-in name ("map", "f32.sqrt") as it is bound in a program that was checked, NULL if there is none; what is said of
 * it, as in a doc comment, or NULL; and the section of docs/library.md that it is in. */
const Binding *fe_builtin(Ast *ast, const char *name);
const char *fe_builtin_doc(const char *name);
const char *fe_builtin_section(const char *name);
/* Calls fn for each member of a module that the program defines. */
void fe_members(const Module *m, void (*fn)(void *env, const Binding *b), void *env);
/* `def f [n] (x: [n]i32): i32`, with types that were found; `type t [n] = [n]i32`. */
void fe_print_head(Out *o, const Def *d);
void fe_print_interface(Out *o, const Def *d); /* the same with the types that are written as they are */
void fe_print_type(Out *o, const TypeDecl *d);
void fe_print_tparams(Out *o, const Bindings *tparams); /* ` [n] 'a`, of types that may be any */
void fe_print_spec(Out *o, const Spec *s); /* `val f: i32`, ... */
/* A module without its members: `module m (p: t) : s = f p`. */
void fe_print_module(Out *o, const char *name, const ModExp *m);
/* `module m : t`, `module type s = t` */
void fe_print_modtype(Out *o, const char *head, const ModType *t);

/* --- Documentation (doc_text.c) -------------------------------------------------------------- */

/* A doc comment is Markdown; lines that begin with `>>> ` and what follows up to an empty line are examples. Prints it with
 * these as code. */
void fe_doc_markdown(Out *o, const char *doc);

/* --- Printing ------------------------------------------------------------------------------- */

/* Prints the tree as a program; with `types`, each binding with its type, each implicit size check
 * (`:?`) and each literal with its suffix. */
void fe_print(Out *o, const Ast *ast, bool types);
/* An expression as it stands in an application: in parentheses unless it is an atom. */
void fe_print_argument(Out *o, const AExp *e);
/* An expression on one line where it can be, with names that stand for something else: `var` prints it, or says that it does
 * not. */
typedef bool PrintVar(const void *env, Out *o, const Binding *b);
void fe_print_exp_with(Out *o, const AExp *e, PrintVar *var, const void *env);
/* A type as written. */
void fe_print_type_exp(Out *o, const TypeExp *te);

#endif
