/* Layouts of programs. Between two tokens is a gap: nothing, a space or the end of a line. Which
 * gaps may end a line, and where the next one then begins, is said from the concrete tree
 * (shape.c); those where people have ended a line are ends of lines again, and where a line is too
 * long, more are chosen (breaks.c). Gaps are only ever added and where lines begin depends on the
 * gaps alone: so the formatter changes nothing in what it has made. */
#ifndef FMT_LAYOUT_H
#define FMT_LAYOUT_H

#include "frontend/syntax/concrete.h"

#include "base/out.h"

enum { WIDTH = 100, INDENT = 2, NONE = -1 };

/* A column: that of a token, or of the beginning of the line it is on, and more. */
typedef struct {
    enum { AT_MARGIN, AT_TOKEN, AT_LINE } from;
    int token, plus;
} Spot;

/* When a line may end in a gap. */
typedef enum {
    NEVER, /* only after a comment */
    KEPT,  /* where it ended before */
    LAST,  /* also if nothing else makes the line short enough */
    FITS,  /* also to make the line short enough */
} MayBreak;

/* The gap in front of a token. */
typedef struct {
    bool space; /* on one line */
    bool wanted, broken;
    bool closing; /* a bracket's: comments stand as what is inside */
    MayBreak may;
    int blanks; /* most empty lines that are kept */
    int group;
    int along;        /* a gap that ends a line if this one does, or NONE */
    Spot at, else_at; /* where the next line begins */
    int if_gap;       /* at `at` if that gap ends a line, else at `else_at`; NONE: at `at` */
    int call; /* in the body of a function that is an argument: at `at` if a line ends between the
               * arguments, else under the call; NONE */
} Gap;

/* An application. */
typedef struct {
    int start;  /* token */
    int group;  /* of the gaps in front of its arguments */
    int outer;  /* the call of which an argument is this one, or a function that begins with it; or
                   NONE */
    int behind; /* the gap in front of that function's body, or NONE */
} Call;

/* Gaps of one construct. Those of the constructs around it are tried first. */
typedef struct {
    int parent; /* or NONE */
    enum {
        EACH,     /* all those on a line that is too long */
        FILL,     /* the last one that helps */
        TOGETHER, /* all or none */
    } how;
    VEC(int) gaps;
    int broken;     /* how many */
    int opens;      /* a gap that ends a line if one of these does, or NONE */
    int opens_deep; /* ... if one of these does or of groups inside, but for blocks in brackets; or
                       NONE */
    int block;      /* of brackets: the gap behind the first one, or NONE */
    int moves; /* the first gap behind which lines begin elsewhere if one of these ends a line, or
                  NONE */
} Group;

typedef struct {
    Loc loc;       /* without blanks at the end, but in directives */
    bool trailing; /* behind a token of its line */
    bool verbatim; /* of a block of directives: stays in its column */
    int column;
    int blanks; /* empty lines above */
} Comment;

struct Layout;
typedef void (*Shape)(struct Layout *l, const CNode *n, int group);

typedef struct Layout {
    Arena *a;
    const char *text; /* of the file; positions are offsets from base */
    uint32_t base;
    const Concrete *c;
    int n;                  /* tokens, the end of the file included */
    Gap *gaps;              /* in front of each token */
    int *group_of;          /* innermost group around each token */
    Comment *comments;      /* in order */
    int *first_comment;     /* of each gap; n + 1 of them */
    int *blanks, *newlines; /* in front of each token: empty lines; has its line begun after the
                               token before? */
    VEC(Group) groups;
    VEC(Call) calls;
    /* By kind of node: parts of any shape are nodes of any kind (walk). NULL: as its parts. */
    const Shape *shapes;
    int n_shapes;
    int outer, behind; /* while shapes are found: those of the call that may come next */
    /* Found by breaks.c. */
    int *column, *indent; /* of each token; of its line */
    VEC(int) lines;       /* first tokens */
    int changed;          /* the first gap that a choice has changed */
    int unbroken_from,
        unbroken_to; /* no gap between these tokens ends a line, that of the second does */
} Layout;

static inline const char *token_text(const Layout *l, int token)
{
    return l->text + (l->c->tokens.at[token].loc.beg - l->base);
}
static inline size_t token_length(const Layout *l, int token)
{
    Loc loc = l->c->tokens.at[token].loc;
    return loc.end - loc.beg;
}
static inline int comments_before(const Layout *l, int token)
{
    return l->first_comment[token + 1] - l->first_comment[token];
}

/* --- comments.c --- */
/* Fills in comments, blanks and newlines. */
void layout_comments(Layout *l);

/* --- shape.c: expressions, types, patterns; the table of all shapes --- */
/* Fills in gaps and groups. */
void layout_shape(Layout *l);

/* --- shape_decl.c: definitions, modules --- */
/* Parts from `name` on: head = right-hand side. What a definition is in several lines begins one,
 * as does a `let` in lines of another. */
void walk_equation(Layout *l, const CNode *n, int name, int start, int around, bool definition);
void walk_decl(Layout *l, const CNode *n, int around);
void walk_def_rest(Layout *l, const CNode *n, int group);
void walk_mod_exp(Layout *l, const CNode *n, int group);
void walk_mod_apply(Layout *l, const CNode *n, int group);
void walk_mod_term(Layout *l, const CNode *n, int group); /* a module's atom, too */
void walk_spec(Layout *l, const CNode *n, int group);

/* --- shape_brackets.c --- */
/* Parts open to close, brackets and indices or sizes in them: sums of two are written without
 * spaces. */
void walk_index(Layout *l, const CNode *n, int open, int close, int around);
/* i:j:s, with spaces around the colons if an operand has some. */
void walk_slice(Layout *l, const CNode *n, int group);
/* Of a node that is brackets and what stands in them, perhaps behind something. */
void walk_atom(Layout *l, const CNode *n, int group);

/* --- shape_parts.c: what the shapes are made of --- */
/* Gives a node inside the group its shape, that of its kind; parts of a node from that one on. */
void walk(Layout *l, const CNode *n, int group);
void walk_kids(Layout *l, const CNode *n, int from, int group);
int new_group(Layout *l, int parent, int how);
static inline Spot at_token(int token, int plus)
{
    return (Spot){AT_TOKEN, token, plus};
}
static inline Spot at_line(int token, int plus)
{
    return (Spot){AT_LINE, token, plus};
}
int token_kind(const Layout *l, int token);
bool is_token(const Layout *l, const CNode *n, int kind);
/* Of a part that is a token, else NONE. */
int kid_kind(const Layout *l, const CNode *n, int i);
/* The first part of this token, at or behind part i; NONE if there is none. */
int find_token(const Layout *l, const CNode *n, int i, int kind);
void space(Layout *l, const CNode *n, bool yes); /* in front of the node, on one line */
Gap *may_break(Layout *l, int token, MayBreak may, int group, Spot at);
/* Spaces between tokens of any constructs, which shapes then correct; spaces without which tokens
 * would be others. */
void default_spaces(Layout *l);
void needed_spaces(Layout *l);
/* Precedence class of an operator's token, 0 if it is none. */
int operator_level(int kind);
/* Is it so short that operators around it need no spaces in an index or a size: a name, a number, a
 * call's parentheses? */
bool is_simple(const Layout *l, const CNode *n);
/* n+1, n-1 */
bool is_small_sum(const Layout *l, const CNode *n);

/* --- breaks.c --- */
/* Ends a line in that gap, and in those that go with it. */
void layout_break(Layout *l, int gap);
/* Chooses ends of lines; fills in columns and lines. */
void layout_lines(Layout *l);

/* --- write.c --- */
void layout_write(const Layout *l, Out *o);

#endif
