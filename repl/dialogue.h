/* What has been said so far: texts that follow each other, and the values that they define.
 *
 * Nothing of them is kept but their bytes: each question parses and checks all of them again
 * (ask.h), which takes a millisecond or so for each hundred lines, and forgets what it made.
 * Values are computed once, when they are defined. */
#ifndef REPL_DIALOGUE_H
#define REPL_DIALOGUE_H

#include "common/values.h"
#include "frontend/frontend.h"

#include <stdio.h>

/* The value of a definition, as the leaves that an entry point has of it. */
typedef struct {
    uint32_t at; /* the offset of the name in its piece */
    rt_hvalue *leaves;
    int n;
} Known;

typedef struct {
    FePiece text;
    VEC(Known) known;
} Piece;

/* A file that a piece imports, as it was when it was read. */
typedef struct {
    const char *path, *text;
    size_t n;
} Source;

typedef struct {
    Arena *a;
    VEC(Piece) pieces;
    VEC(Source) sources;
} Session;

Session *session_new(void);
void session_free(Session *s);

/* The texts, and one more behind them; how many. */
int session_texts(const Session *s, Arena *a, const FePiece *last, FePiece **out);
/* The value of a definition of a piece, or NULL. */
const Known *session_known(const Session *s, const Ast *ast, const Def *d);
/* From now on files that pieces import are as they were when they were read. */
void session_fix_sources(const Session *s);

/* What is to be kept of a piece that was checked: the files that it imports, and the values of its
 * definitions. It is written by the process that has asked and read by the one that keeps. */
typedef struct {
    VEC(Source) sources;
    VEC(Known) known;
} Findings;
bool findings_write(FILE *f, const Findings *found);
/* Adds a piece (of which all is copied) with what was found, if that is not NULL. False: it cannot
 * be read. */
bool session_add(Session *s, const FePiece *text, FILE *found);

#endif
