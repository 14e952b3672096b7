/* Private to read.c and read_lex.c: tokens and the reader's state. */
#ifndef IR_READ_H
#define IR_READ_H

#include "ir/ir.h"

#include <setjmp.h>

enum { K_END = 0, K_NAME = 256, K_NUM, K_STR, K_ARROW }; /* or a character */

typedef struct {
    int kind;
    Loc loc;
    const char *text; /* NAME, NUM: interned; STR: decoded */
} Token;

/* What a name means here. */
typedef struct Name Name;
struct Name {
    Name *next;
    const char *text;
    Var *var;        /* NULL: not in scope */
    bool ever_bound; /* for names with an id: bound before, somewhere */
};

typedef struct {
    Name *name;
    Var *before;
} Undo;

enum { N_BUCKETS = 1024, MAX_KEPT_ID = 1000000 };

typedef struct {
    Ctx *cx;
    const char *src;
    size_t n;
    uint32_t base;
    VEC(Token) toks;
    int pos;
    Name *names[N_BUCKETS];
    VEC(Undo) undo;
    bool keep_ids; /* no id of the text is taken yet in this process */
    bool *taken;   /* by id */
    jmp_buf fail;
} Reader;

/* read_lex.c. Reports at the place and gives up reading. */
_Noreturn void read_fail(Reader *r, Loc loc, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Cuts the whole text into r->toks, the last of which is K_END. */
void read_lex(Reader *r);

#endif
