/* Questions to a session. Each parses and checks all that has been said, and the text that is
 * asked about behind it; results go to standard output, messages to standard error. They leave the
 * session as it is, and memory behind: who asks many questions does so in processes of their own
 * (child.h). All give an exit code. */
#ifndef REPL_ASK_H
#define REPL_ASK_H

#include "repl/dialogue.h"

/* How a value is shown. */
typedef enum {
    SHOW_VALUE = 0,
    SHOW_TYPE = 1, /* with its type behind it */
    SHOW_ENDS = 2, /* of a large array the ends */
} Shown;

/* Interprets an expression and prints its value on one line. What has no text form, functions, is
 * an error that tells the type. */
int ask_value(const Session *s, const FePiece *exp, unsigned shown);
/* Prints the type of an expression; `name`: with the expression before it. */
int ask_type(const Session *s, const FePiece *exp, bool name);
/* Prints what `minifut explain` does of an entry point of that expression: if it is a function, of
 * its parameters, and values of the session that it mentions. */
int ask_explain(const Session *s, const FePiece *exp);
/* Checks declarations, computes the values that they define, prints the types of all that is
 * defined, and writes what is to be kept of them. */
int ask_declare(const Session *s, const FePiece *decls, FILE *found);
/* Checks the text of a program, whose values are computed where they are used; writes what is to be
 * kept of it, if found is not NULL. */
int ask_load(const Session *s, const FePiece *program, FILE *found);

/* Prints what has been defined, or, unless it is "", what a module has, a line each; what a name
 * is, and what is said of it. `nothing` is an empty text. */
int ask_names(const Session *s, const FePiece *nothing, const char *module);
int ask_doc(const Session *s, const FePiece *nothing, const char *name);

#endif
