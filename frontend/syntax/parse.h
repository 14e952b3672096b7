/* What the scanner, the grammar and the constructors of nodes share while one file is parsed. */
#ifndef FRONTEND_SYNTAX_PARSE_H
#define FRONTEND_SYNTAX_PARSE_H

#include "frontend/syntax/ast.h"

/* Nodes nest no deeper than this: later stages recurse over the tree. */
enum { MAX_LEVELS = 1000, LEVEL = 20 };

/* A bracket that is open where the scanner is. */
typedef struct {
    unsigned char closer;
    Loc loc;
} Open;

typedef struct Concrete Concrete;

/* What a text is. */
typedef enum { PARSE_FILE, PARSE_TYPE, PARSE_EXP } ParseAs;

typedef struct ParseCtx {
    Arena *a;
    uint32_t base; /* offset of the file's first byte */
    Loc before;    /* the token before the one at hand */
    uint32_t pos;  /* offset of the next byte to scan */
    const char *text;
    size_t n;
    File *file;    /* receives the declarations */
    TypeExp *type; /* result when the text is a type */
    AExp *exp;     /* ... an expression */
    ParseAs as;
    int start;         /* pseudo token that selects the start symbol, 0 once it was sent */
    uint32_t index_at; /* a `[` at this offset is an index: it touches the operand before it */
    uint32_t line_at;  /* offset of the beginning of the current line */
    VEC(Open) open;    /* the brackets open at the token at hand, outermost first */
    bool recovering;   /* skip tokens until a declaration starts */
    bool at_decl;      /* the token scanned last may start a declaration */
    bool too_deep;     /* reported; the scanner has gone quiet */
    bool unfinished;   /* the first syntax error is that the text ends: more may mend it */
    int errors;
    VEC(Loc) docs;      /* `-- |` comments, each with the comment lines that follow it at once */
    uint32_t docs_from; /* where the last declaration ended, or a list of them began */
    Concrete *concrete; /* what was written is kept there (concrete.h), or NULL */
} ParseCtx;

/* Parses ctx->text into ctx->file, ctx->type or ctx->exp; false on syntax errors. */
bool parse_text(ParseCtx *ctx, ParseAs as);
/* Counts and reports a syntax error. */
void parse_error(ParseCtx *ctx, Loc loc, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The limit of depth, once a file. */
void parse_too_deep(ParseCtx *ctx, Loc loc);

/* --- lex.l ---------------------------------------------------------------------------------- */

/* A scanner of ctx->text, for yyparse. */
void *scan_begin(ParseCtx *ctx);
void scan_end(void *scanner);

/* --- scan.c: values of tokens --------------------------------------------------------------- */

AExp *scan_bool(ParseCtx *ctx, bool v, Loc loc);
AExp *scan_int(ParseCtx *ctx, const char *s, Loc loc);
AExp *scan_real(ParseCtx *ctx, const char *s, Loc loc);
AExp *scan_char(ParseCtx *ctx, const char *s, Loc loc);
AExp *scan_string(ParseCtx *ctx, const char *s, size_t n, Loc loc);
int scan_operator(const char *s);
void scan_doc(ParseCtx *ctx, Loc loc, bool starts);
/* What a comment of ctx->docs says, without dashes. */
const char *scan_doc_text(const ParseCtx *ctx, Loc doc);
void scan_bad(ParseCtx *ctx, const char *s, size_t n, Loc loc);

/* --- ast.c, ast_decl.c: constructors --- */

/* Depth of a node whose deepest child has depth d. */
int node_above(ParseCtx *c, int d, int step, Loc loc);
#define DEEPEN_BY(c, node, child, step)                                                            \
    do {                                                                                           \
        if ((child) && (child)->depth + (step) > (node)->depth)                                    \
            (node)->depth = node_above((c), (child)->depth, (step), (node)->loc);                  \
    } while (0)
#define DEEPEN(c, node, child) DEEPEN_BY(c, node, child, LEVEL)

/* `loc` is the place of the whole node. The depth of a node is kept to bound recursion: beyond
 * MAX_LEVELS an error is reported. What people write in long chains, `let` and operators, counts as
 * a LEVEL-th of a level. */

typedef struct {
    Names names;
    AExps exps; /* or ... */
    Pats pats;
    TypeExps types;
} Fields;

/* `module NAME` or `module type NAME`, and the doc comment above. */
typedef struct {
    NameLoc name;
    const char *doc;
} ModHead;

AExp *mk_exp(ParseCtx *c, AExpKind k, Loc loc);
AExp *mk_var(ParseCtx *c, NameLoc n);
AExp *mk_seq(ParseCtx *c, AExpKind k, AExps es, Loc loc);
AExp *mk_record(ParseCtx *c, Fields fs, Loc loc);
AExp *mk_apply(ParseCtx *c, AExp *fn, AExp *arg, Loc loc);
AExp *mk_binop(ParseCtx *c, NameLoc op, AExp *l, AExp *r, Loc loc);
AExp *mk_prefix(ParseCtx *c, const char *op, Loc oploc, AExp *e, Loc loc);
AExp *mk_opsect(ParseCtx *c, NameLoc op, AExp *arg, Loc loc);
AExp *mk_range(ParseCtx *c, AExp *start, AExp *second, RangeKind k, AExp *end, Loc loc);
AExp *mk_lambda(ParseCtx *c, Pats params, TypeExp *ret, AExp *body, Loc loc);
AExp *mk_proj(ParseCtx *c, AExp *e, const char *field, Loc loc);
AExp *mk_index(ParseCtx *c, AExp *e, ADimIndices dims, Loc loc);
/* .field, or with NULL for that [dims] */
Step mk_step(ParseCtx *c, const char *field, ADimIndices dims, Loc loc);
/* `e with path = v`, or with NULL for both the section (path). */
AExp *mk_update(ParseCtx *c, AExp *e, Steps path, AExp *v, Loc loc);
AExp *mk_if(ParseCtx *c, AExp *t, AExp *a, AExp *b, Loc loc);
AExp *mk_let(ParseCtx *c, NameLocs sizes, Pat *p, AExp *rhs, AExp *body, Loc loc);
/* let a.b[i] = v in body */
AExp *mk_letwith(ParseCtx *c, NameLoc a, Steps path, AExp *v, AExp *body, Loc loc);
AExp *mk_letfun(ParseCtx *c, Def *d, AExp *body, Loc loc);
AExp *mk_loop(ParseCtx *c, NameLocs sizes, Pat *p, AExp *init, AExp *form, AExp *body, Loc loc);
/* The loop form alone, an AE_LOOP without pattern; mk_loop completes it. */
AExp *mk_form(ParseCtx *c, ALoopKind k, Pat *var, AExp *bound, Loc loc);
AExp *mk_ascribe(ParseCtx *c, AExpKind k, AExp *e, TypeExp *te, Loc loc);
AExp *mk_assert(ParseCtx *c, AExp *test, AExp *e, Loc loc);
/* module.(e) */
AExp *mk_open(ParseCtx *c, const AExp *module, AExp *e, Loc loc);
/* A constructor without payload yet: what it is applied to becomes that. */
AExp *mk_constr(ParseCtx *c, NameLoc n);
AExp *mk_match(ParseCtx *c, AExp *e, Cases cases, Loc loc);
AExp *mk_attr(ParseCtx *c, Attr *at, AExp *e, Loc loc);

Pat *mk_pat(ParseCtx *c, PatKind k, Loc loc);
Pat *mk_pvar(ParseCtx *c, NameLoc n);
Pat *mk_ptuple(ParseCtx *c, Pats ps, Loc loc);
Pat *mk_precord(ParseCtx *c, Fields fs, Loc loc);
/* The pattern itself: attributes of patterns mean nothing, but unknown ones are warned of. */
Pat *mk_pattr(ParseCtx *c, Attr *at, Pat *p);
Pat *mk_plit(ParseCtx *c, AExp *lit, Loc loc);
Pat *mk_pconstr(ParseCtx *c, NameLoc n, Pats payload, Loc loc);
Pat *mk_pascribe(ParseCtx *c, Pat *p, TypeExp *te, Loc loc);

TypeExp *mk_tname(ParseCtx *c, NameLoc n);
TypeExp *mk_targ(ParseCtx *c, TypeExp *t, TypeExp *arg, Loc loc);
TypeExp *mk_tarray(ParseCtx *c, TypeExp *size, TypeExp *elem, Loc loc);
TypeExp *mk_tsize(ParseCtx *c, AExp *dim, Loc loc);
TypeExp *mk_twrap(ParseCtx *c, TypeExpKind k, NameLocs sizes, TypeExp *t, Loc loc);
TypeExp *mk_tfun(ParseCtx *c, NameLoc pname, TypeExp *p, TypeExp *r, Loc loc);
TypeExp *mk_ttuple(ParseCtx *c, TypeExps ts, Loc loc);
TypeExp *mk_trecord(ParseCtx *c, Fields fs, Loc loc);
/* The sum type `sum` (NULL: none yet) with one more alternative; and one that holds more. */
TypeExp *mk_tsum(ParseCtx *c, TypeExp *sum, TypeExp *alternative, Loc loc);
TypeExp *mk_tpayload(ParseCtx *c, TypeExp *alternative, TypeExp *payload, Loc loc);

Def *mk_def(ParseCtx *c, NameLoc n, TParams tps, Pats ps, TypeExp *ret, AExp *body, Loc span);
Decl *mk_def_decl(ParseCtx *c, Def *d);
Decl *mk_decl_end(ParseCtx *c, Decl *d, Loc loc); /* its place, with the keyword */
Decl *mk_type_decl(ParseCtx *c, NameLoc n, TParamKind lifted, TParams tps, TypeExp *te, Loc loc);
Decl *mk_module_decl(ParseCtx *c, ModHead head, ModParams ps, ModType *ret, ModExp *m, Loc loc);
Decl *mk_modtype_decl(ParseCtx *c, ModHead head, ModType *t, Loc loc);
Decl *mk_import_decl(ParseCtx *c, Import *import, bool open, Loc loc);
Decl *mk_open_decl(ParseCtx *c, ModExp *m, Loc loc);

ModExp *mk_mod(ParseCtx *c, ModExpKind k, Loc loc);
ModExp *mk_mascribe(ParseCtx *c, ModExp *m, ModType *t, Loc loc);
ModExp *mk_mlambda(ParseCtx *c, ModParam p, ModType *ret, ModExp *body, Loc loc);
ModExp *mk_mapply(ParseCtx *c, ModExp *fn, ModExp *arg, Loc loc);
void mk_members(ParseCtx *c, ModExp *m, Decls members);

ModType *mk_modtype(ParseCtx *c, ModTypeKind k, Loc loc);
ModType *mk_mfun(ParseCtx *c, ModParam p, ModType *result, Loc loc);
ModType *mk_mwith(ParseCtx *c, ModType *t, NameLoc n, TParams tps, TypeExp *te, Loc loc);
void mk_specs(ParseCtx *c, ModType *t, Specs specs);
Spec *mk_spec(ParseCtx *c, SpecKind k, NameLoc n, Loc loc);

/* The text of the last doc comment between the last declaration and the one at loc, or NULL. */
const char *doc_above(const ParseCtx *c, Loc loc);

#endif
