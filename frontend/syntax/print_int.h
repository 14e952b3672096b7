/* Printing of the tree, shared by its files: what stands in a definition (ast_print.c) below types
 * (type_print.c), whose sizes are expressions, below declarations (print_decl.c). */
#ifndef FRONTEND_SYNTAX_PRINT_INT_H
#define FRONTEND_SYNTAX_PRINT_INT_H

#include "frontend/syntax/print.h"

typedef struct {
    Out *o;
    bool types;
    bool written; /* but those that are written, as they are */
    /* Types that were found have expressions in them, and expressions, with `types`, types. */
    const char *(*type_str)(Arena *a, const AType *t);
    Arena *a;      /* scratch for type_str */
    PrintVar *var; /* or NULL */
    const void *env;
} Pr;

/* --- ast_print.c ---------------------------------------------------------------------------- */

bool name_is_operator(const char *name); /* `+`, `f32.+` */
void pr_te(Pr *p, const TypeExp *t);
void pr_te_atom(Pr *p, const TypeExp *t);
void pr_tparams(Pr *p, const TParams *tps);
void pr_param(Pr *p, const Pat *x);
void pr_head(Pr *p, const Def *d);
void pr_def(Pr *p, const Def *d);

#endif
