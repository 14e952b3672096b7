/* What the scanner, the grammar and the constructors of nodes share while one file is parsed. */
#ifndef FRONTEND_PARSE_H
#define FRONTEND_PARSE_H

#include "frontend/ast.h"

/* Nodes nest no deeper than this: later stages recurse over the tree. */
enum { MAX_DEPTH = 1000 };

typedef struct ParseCtx {
    Arena *a;
    uint32_t base; /* offset of the file's first byte */
    uint32_t pos;  /* offset of the next byte to scan */
    const char *text;
    size_t n;
    File *file;        /* receives the declarations */
    TypeExp *type;     /* result when the text is a type */
    int start;         /* pseudo token that selects the start symbol, 0 once it was sent */
    uint32_t index_at; /* a `[` at this offset is an index: it touches the operand before it */
    uint32_t line_at;  /* offset of the beginning of the current line */
    bool recovering;   /* skip tokens until a declaration starts */
    bool at_decl;      /* the token scanned last may start a declaration */
    bool too_deep;     /* reported; the scanner has gone quiet */
    int errors;
    const char *doc; /* `-- |` comment pending for the next declaration */
    uint32_t doc_end;
} ParseCtx;

/* Parses ctx->text into ctx->file (as_type false) or ctx->type; false on syntax errors. */
bool parse_text(ParseCtx *ctx, bool as_type);
/* Counts and reports a syntax error. */
void parse_error(ParseCtx *ctx, Loc loc, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- scan.c: values of tokens ---- */

Exp *scan_bool(ParseCtx *ctx, bool v, Loc loc);
Exp *scan_int(ParseCtx *ctx, const char *s, Loc loc);
Exp *scan_real(ParseCtx *ctx, const char *s, Loc loc);
Exp *scan_char(ParseCtx *ctx, const char *s, Loc loc);
Exp *scan_string(ParseCtx *ctx, const char *s, size_t n, Loc loc);
int scan_operator(const char *s);
void scan_doc(ParseCtx *ctx, const char *text, Loc loc, bool starts);
void scan_bad(ParseCtx *ctx, const char *s, size_t n, Loc loc);

/* ---- ast.c: constructors; `loc` is the place of the whole node. The depth of a node is kept to
 * bound recursion: beyond MAX_DEPTH an error is reported and the node is cut off. ---- */

typedef struct {
    const char *name;
    Loc loc;
} NameLoc;

typedef struct {
    Names names;
    Exps exps; /* or ... */
    Pats pats;
    TypeExps types;
} Fields;

Exp *mk_exp(ParseCtx *c, ExpKind k, Loc loc);
Exp *mk_var(ParseCtx *c, NameLoc n);
Exp *mk_seq(ParseCtx *c, ExpKind k, Exps es, Loc loc);
Exp *mk_record(ParseCtx *c, Fields fs, Loc loc);
Exp *mk_apply(ParseCtx *c, Exp *fn, Exp *arg, Loc loc);
Exp *mk_binop(ParseCtx *c, NameLoc op, Exp *l, Exp *r, Loc loc);
Exp *mk_prefix(ParseCtx *c, const char *op, Loc oploc, Exp *e, Loc loc);
Exp *mk_opsect(ParseCtx *c, NameLoc op, Exp *arg, Loc loc);
Exp *mk_projsect(ParseCtx *c, Names names, Loc loc);
Exp *mk_range(ParseCtx *c, Exp *start, Exp *second, RangeKind k, Exp *end, Loc loc);
Exp *mk_lambda(ParseCtx *c, Pats params, TypeExp *ret, Exp *body, Loc loc);
Exp *mk_proj(ParseCtx *c, Exp *e, const char *field, Loc loc);
Exp *mk_index(ParseCtx *c, Exp *e, DimIndices dims, Loc loc);
Exp *mk_update(ParseCtx *c, Exp *e, DimIndices dims, Exp *v, Loc loc);
Exp *mk_recupdate(ParseCtx *c, Exp *e, Names path, Exp *v, Loc loc);
Exp *mk_if(ParseCtx *c, Exp *t, Exp *a, Exp *b, Loc loc);
Exp *mk_let(ParseCtx *c, Names sizes, Pat *p, Exp *rhs, Exp *body, Loc loc);
Exp *mk_letwith(ParseCtx *c, NameLoc a, DimIndices dims, Exp *v, Exp *body, Loc loc);
Exp *mk_letfun(ParseCtx *c, Def *d, Exp *body, Loc loc);
Exp *mk_loop(ParseCtx *c, Names sizes, Pat *p, Exp *init, Exp *form, Exp *body, Loc loc);
/* The loop form alone, an E_LOOP without pattern; mk_loop completes it. */
Exp *mk_form(ParseCtx *c, LoopKind k, Pat *var, Exp *bound, Loc loc);
Exp *mk_ascribe(ParseCtx *c, ExpKind k, Exp *e, TypeExp *te, Loc loc);
Exp *mk_assert(ParseCtx *c, Exp *test, Exp *e, Loc loc);
Exp *mk_attr(ParseCtx *c, Attr *at, Exp *e, Loc loc);

Pat *mk_pat(ParseCtx *c, PatKind k, Loc loc);
Pat *mk_pvar(ParseCtx *c, NameLoc n);
Pat *mk_ptuple(ParseCtx *c, Pats ps, Loc loc);
Pat *mk_precord(ParseCtx *c, Fields fs, Loc loc);
Pat *mk_pascribe(ParseCtx *c, Pat *p, TypeExp *te, Loc loc);

TypeExp *mk_type(ParseCtx *c, TypeExpKind k, Loc loc);
TypeExp *mk_tname(ParseCtx *c, NameLoc n);
TypeExp *mk_targ(ParseCtx *c, TypeExp *t, TypeExp *arg, Loc loc);
TypeExp *mk_tarray(ParseCtx *c, TypeExp *size, TypeExp *elem, Loc loc);
TypeExp *mk_tsize(ParseCtx *c, Exp *dim, Loc loc);
TypeExp *mk_twrap(ParseCtx *c, TypeExpKind k, Names names, TypeExp *t, Loc loc);
TypeExp *mk_tfun(ParseCtx *c, const char *pname, TypeExp *p, TypeExp *r, Loc loc);
TypeExp *mk_ttuple(ParseCtx *c, TypeExps ts, Loc loc);
TypeExp *mk_trecord(ParseCtx *c, Fields fs, Loc loc);

Def *mk_def(ParseCtx *c, NameLoc n, TParams tps, Pats ps, TypeExp *ret, Exp *body, Loc span);
/* Adds a declaration to the file, with the doc comment that ends just above it. */
Decl *add_decl(ParseCtx *c, DeclKind k, Loc loc);

#endif
