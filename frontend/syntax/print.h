/* The tree as text, and doc comments. */
#ifndef FRONTEND_SYNTAX_PRINT_H
#define FRONTEND_SYNTAX_PRINT_H

#include "frontend/syntax/ast.h"

/* Prints the tree as a program; with `types`, each binding with its type, each implicit size check
 * (`:?`) and each literal with its suffix. */
void fe_print(Out *o, const Ast *ast, bool types);
/* An expression as it stands in an application: in parentheses unless it is an atom. */
void fe_print_argument(Out *o, const AExp *e);
/* An expression on one line where it can be, with names that stand for something else: `var` prints
 * it, or says that it does not. */
typedef bool PrintVar(const void *env, Out *o, const Binding *b);
void fe_print_exp_with(Out *o, const AExp *e, PrintVar *var, const void *env);
/* A type as written. */
void fe_print_type_exp(Out *o, const TypeExp *te);

/* --- Heads of definitions, for editors and documentation --- */

/* `def f [n] (x: [n]i32): i32`, with types that were found; `type t [n] = [n]i32`. */
void fe_print_head(Out *o, const Def *d);
void fe_print_interface(Out *o,
                        const Def *d); /* the same with the types that are written as they are */
void fe_print_param(Out *o, const Pat *p); /* `(x: i32)`, with the type that was found */
void fe_print_type(Out *o, const TypeDecl *d);
void fe_print_tparams(Out *o, const Bindings *tparams); /* ` [n] 'a`, of types that may be any */
void fe_print_spec(Out *o, const Spec *s);              /* `val f: i32`, ... */
/* A module without its members: `module m (p: t) : s = f p`. */
void fe_print_module(Out *o, const char *name, const ModExp *m);
/* `module m : t`, `module type s = t` */
void fe_print_modtype(Out *o, const char *head, const ModType *t);

/* --- Documentation (doc_text.c) -------------------------------------------------------------- */

/* A doc comment is Markdown; lines that begin with `>>> ` and what follows up to an empty line are
 * examples. Prints it with these as code. */
void fe_doc_markdown(Out *o, const char *doc);

#endif
