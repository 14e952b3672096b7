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

/* For editors: a checked tree's main file with another text, of which is parsed what begins with
 * the first declaration that has changed: the others are those of the tree, and were checked with
 * it (fe_check_again, which takes the tree). Messages are those about the text. NULL: it has to be
 * parsed and checked as a whole. */
Ast *fe_parse_again(Ast *before, const char *text, size_t n);

/* --- Sessions ------------------------------------------------------------------------------- */

/* A text that follows others: it has the names of all that are known at their ends, and may define
 * them anew. */
typedef struct {
    const char *name; /* of its file, or what messages call it; imports are relative to it */
    const char *text; /* of n bytes */
    size_t n;
    bool exp; /* an expression, of which a definition is made; else declarations */
} FePiece;

/* Parses the pieces of a session, of which the last one is the main file. Warnings about those
 * before it are taken for told. */
Ast *fe_parse_session(Arena *a, const FePiece *pieces, int n);

/* What a text can be that somebody types. */
typedef enum {
    FE_NOTHING,    /* nothing but blanks and comments */
    FE_DECLS,      /* declarations */
    FE_EXP,        /* an expression */
    FE_UNFINISHED, /* neither, but the beginning of one; what is missing is reported */
    FE_WRONG,      /* neither; what is wrong is reported of the reading that came further */
} FeReading;
/* Messages and sources that there were are forgotten. */
FeReading fe_reading(Arena *a, const char *name, const char *text, size_t n);

#endif
