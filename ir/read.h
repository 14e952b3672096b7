/* Private to read.c, read_atom.c and read_lex.c: tokens and the reader's state. The reader of
 * kernels (kir/text/read.c) shares the tokens and the constants. */
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
    const char *marks; /* characters that are tokens */
    uint32_t base;
    VEC(Token) toks;
    int pos;
    Name *names[N_BUCKETS];
    VEC(Undo) undo;
    Functions functions; /* of the text so far */
    bool keep_ids;       /* no id of the text is taken yet in this process */
    bool *taken;         /* by id */
    jmp_buf fail;
} Reader;

/* read_lex.c. Reports at the place and gives up reading. */
_Noreturn void read_fail(Reader *r, Loc loc, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Cuts the whole text into r->toks, the last of which is K_END. */
void read_lex(Reader *r);

/* read_atom.c. Of tokens: the one at hand, the k-th from it; the same and stepping over it; whether
 * it is of a kind (a word) and, if so, stepping over it; the same as a demand (`what`: of what). */
const Token *read_peek(const Reader *r);
const Token *read_peek_at(const Reader *r, int k);
const Token *read_next(Reader *r);
bool read_accept(Reader *r, int kind);
bool read_accept_word(Reader *r, const char *word);
const Token *read_expect(Reader *r, int kind, const char *what);
void read_expect_word(Reader *r, const char *word);
/* After an element of a list: another one follows (true), or the list is closed. */
bool read_more(Reader *r, int close, const char *what);

/* Names: binders keep the ids of the text if none of them is in use (read_reserve_ids comes first).
 * A scope lasts from a mark, r->undo.n, until it is left. */
void read_reserve_ids(Reader *r);
Var *read_bind(Reader *r, const Token *t);
void read_leave_scope(Reader *r, int mark);

PrimType read_prim(Reader *r);
Atom read_atom(Reader *r);
Atoms read_atoms(Reader *r, int open, int close);
Type read_type(Reader *r);
void read_skip_type(Reader *r);
int read_small(Reader *r, const char *what); /* a number of up to six digits */

/* param,* close: names are bound before the types are read. Values after "=" (of loops) belong to
 * the scope outside and are read first. unique: stars before types, or NULL. */
Vars read_params(Reader *r, int close, Atoms *inits, bool *unique);
Vars read_pattern(Reader *r);
void read_skip_pattern(Reader *r);

#endif
