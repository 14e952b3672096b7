/* The checker as others see it. */
#ifndef FRONTEND_CHECK_FE_CHECK_H
#define FRONTEND_CHECK_FE_CHECK_H

#include "frontend/syntax/ast.h"

/* Resolves names, infers types and sizes, checks consumption and entry points, fills in what ast.h
 * marks [check]. False if there were errors; at once if there were syntax errors before. */
bool fe_check(Ast *ast);

/* --- For sessions --------------------------------------------------------------------------- */

/* What can be done with the value that a checked definition without parameters has. */
typedef enum {
    FE_VALUE,    /* printed */
    FE_FUNCTION, /* it is or holds a function: nothing */
    FE_GENERAL,  /* its type has parameters: nothing, before they are said */
    FE_WRITING,  /* it is or holds an accumulator: nothing */
} FeValue;
FeValue fe_value(const Def *d);
/* Makes an entry point of a definition that is FE_VALUE, which gives one value. */
void fe_add_value(Ast *ast, Def *d);

/* Makes entry points of the main file's functions that call themselves and could be ones, of which
 * the sizes of arguments are those of arrays, but of those that are. */
void fe_add_recursive(Ast *ast);

/* --- For editors ---------------------------------------------------------------------------- */

/* As fe_check, but of what has been parsed, if not all has: messages then follow from what is
 * missing. */
bool fe_check_parsed(Ast *ast);
/* Checks another file (fe_parse_besides) of a tree that was checked; bindings of files that both
 * import are the same. */
void fe_check_besides(Ast *ast, File *f);
/* How many declarations of the main file, from the first on, were checked without a look at what
 * stands behind them; -1: the checker cannot go on from there. */
int fe_checked_alone(const Ast *ast);
/* As fe_check_parsed, of a tree that has a part of another one, which is lost (fe_parse_again). */
bool fe_check_again(Ast *ast);
#endif
