/* What is said behind a syntax error to help. Tokens are those of the grammar (parse.tab.h). */
#ifndef FRONTEND_SYNTAX_HINT_H
#define FRONTEND_SYNTAX_HINT_H

#include "frontend/syntax/parse.h"

enum { MAX_TOKENS = 400 };

typedef struct {
    int token; /* that cannot stand there */
    Loc loc;
    bool has[MAX_TOKENS]; /* which might */
} SyntaxError;

/* `; what to do`, or "". */
const char *syntax_hint(ParseCtx *ctx, const SyntaxError *e);
/* The token that is meant, or NULL. */
const char *syntax_meant(const SyntaxError *e);
/* Points at the innermost open bracket if closing it is what would have helped. */
void note_open(const ParseCtx *ctx, const SyntaxError *e);

#endif
