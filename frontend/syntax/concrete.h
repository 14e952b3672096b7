/* Programs as they are written: all tokens, all comments, and the tree of the grammar's reductions,
 * with each parenthesis that the syntax tree (ast.h) forgets. The parser makes it when it is asked
 * to (ParseCtx.concrete): the grammar stands in parse.y alone. */
#ifndef FRONTEND_SYNTAX_CONCRETE_H
#define FRONTEND_SYNTAX_CONCRETE_H

#include "frontend/syntax/parse.h"

#include "frontend/syntax/parse.tab.h"

/* The nonterminals of parse.y. NODE: a node. LIST: its parts are parts of the node around it. LONG:
 * a chain that leans to the left is one node. A reduction of one part is that part, of none
 * nothing. */
/* clang-format off */
#define CONCRETE_KINDS(NODE, LIST, LONG)                                                           \
    NODE(start) LIST(decls) NODE(decl) NODE(def_rest) NODE(lifted) NODE(bind_name) NODE(binop)     \
    NODE(not_minus) NODE(qualified) NODE(ret) LIST(tparams) NODE(tparam) LIST(local_tparams)       \
    NODE(lbr) LIST(params) LIST(params1) NODE(param) NODE(pat) LIST(pats) NODE(comma)              \
    NODE(field) LIST(pat_fields) NODE(type) NODE(term) LONG(tapply) NODE(tatom) LIST(types)        \
    LIST(type_fields) NODE(size) LIST(sizes) NODE(exp) NODE(exp1) NODE(range) NODE(op)             \
    NODE(lambda) NODE(lret) LIST(lsizes) NODE(form) NODE(let) NODE(let_body) LONG(apply)           \
    NODE(atom) NODE(section) LIST(sect_path) LIST(with_path) LIST(let_path) NODE(step)             \
    NODE(field_step) NODE(sect_step) NODE(with_step) NODE(let_step) LIST(exps)                     \
    LIST(record_fields) LIST(dims) LIST(dims1) NODE(dim) NODE(attr) LIST(attrs) NODE(mod_head)     \
    NODE(modtype_head) LIST(mod_params) NODE(mod_param) NODE(mod_ret) NODE(mod_result)             \
    NODE(mod_exp) LONG(mod_apply) NODE(mod_atom) LIST(members) NODE(mod_type) NODE(mod_term)       \
    NODE(with_type) LIST(specs) NODE(spec) NODE(spec_name) NODE(case_pat) LIST(case_params)        \
    NODE(case_param) LONG(sum) NODE(alternative) LONG(applied) NODE(payload) NODE(match)           \
    LIST(cases) NODE(case)
/* clang-format on */

typedef enum {
    CN_TOKEN,
#define CONCRETE_KIND(name) CN_##name,
    CONCRETE_KINDS(CONCRETE_KIND, CONCRETE_KIND, CONCRETE_KIND)
#undef CONCRETE_KIND
} CNodeKind;

typedef struct CNode CNode;
struct CNode {
    CNodeKind kind;
    int first, last; /* tokens */
    VEC(CNode *) kids;
};

typedef struct {
    int kind; /* yytoken_kind_t */
    Loc loc;
} CToken;

struct Concrete {
    VEC(CToken) tokens; /* the last one is the end of the file */
    VEC(Loc) comments;  /* from `--` to before the newline */
    bool flat;          /* that is all: there is no tree */
    VEC(CNode *) stack; /* a node for each nonterminal on the parser's stack; NULL: of no tokens */
    CNode *root;        /* NULL: no declarations; one declaration, or CN_decls */
};

/* A symbol on the right-hand side of a rule: a token (kind CN_TOKEN) at loc, or a nonterminal. */
typedef struct {
    CNodeKind kind;
    Loc loc;
} CSymbol;

/* Parses a text as a file of that name, whose imports are not looked at; its tree, and what is
 * written. NULL after syntax errors (reported). (load.c) */
Ast *fe_parse_concrete(Arena *a, const char *name, const char *text, size_t n, Concrete **concrete);
/* The tokens and comments of a text alone; NULL after errors of single tokens (reported; offsets
 * begin at 0). (parse.c) */
Concrete *fe_scan(Arena *a, const char *text, size_t n);

/* --- lex.l --- */

/* The next token of a scanner (scan_begin), with its value and place; kept in ParseCtx.concrete. */
int sf_next_token(YYSTYPE *val, Loc *loc, void *scanner);

/* --- concrete.c --- */

/* The parser has reduced symbols 0 to n - 1 to `kind`. */
void concrete_reduce(ParseCtx *ctx, CNodeKind kind, const CSymbol *symbols, int n);

#endif
