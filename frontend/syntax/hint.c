/* Hints behind syntax errors: what people mean who write a token where it cannot stand. */
#include "frontend/syntax/hint.h"

#include "frontend/syntax/concrete.h"

#include <ctype.h>
#include <string.h>

typedef struct {
    int token;          /* that cannot stand there */
    const char *text;   /* its text; NULL: any */
    const char *before; /* the text of the one before it; NULL: any */
    int wants, more;    /* what might stand there instead; 0: whatever */
    int lacks;          /* and what might not; 0: whatever */
    const char *hint;
} Row;

#define VALUES         "a module type says `val x: t`; what a module has stands behind `=`"
#define NO_WITH        "a `match` has no `with`: `match x case #a -> ...`"
#define ONE_PATTERN    "a case has one pattern"
#define NO_GUARD       "a case has no condition: an `if` stands behind its `->`"
#define NO_COMMAS      "nothing stands between declarations"
#define TYPE_PARAMETER "a parameter that is a type is written `'a`, one that is a size `[n]`"
#define SPECIFIED      "a specification gives a type: `val x: t`"

/* The first that fits counts. What is wanted includes DEF where a declaration may begin, VAL where
 * a specification, STRING where an expression, ARROW behind a pattern. */
static const Row rows[] = {
    {'=', NULL, NULL, OP_ADD, 0, WITH, "what is defined needs a name"},
    {'=', NULL, NULL, THEN, 0, 0, "to compare, write `==`"},
    {'=', NULL, NULL, QUOTE, ':', 0, SPECIFIED},
    {'~', NULL, NULL, STRING, 0, 0, "the bits of a number are turned by `!`"},
    {QUOTE, NULL, NULL, STRING, 0, 0, "a character is written as in `'a'`"},
    {QUOTE, NULL, NULL, DEF, 0, 0, "a type variable is used without `'`"},
    {QUOTE, NULL, NULL, 0, 0, 0,
     "a type variable is declared before the parameters, as in `def f 'a (x: a)`"},
    {DEF, NULL, NULL, VAL, 0, 0, VALUES},
    {LET, NULL, NULL, VAL, 0, 0, VALUES},
    {VAL, NULL, NULL, DEF, 0, 0, "`val` stands in a module type"},
    {INCLUDE, NULL, NULL, DEF, 0, 0,
     "`include` stands in a module type; a module's names are made known by `open`"},
    {CASE, NULL, "{", 0, 0, 0, "cases stand without brackets"},
    {CASE, NULL, "with", 0, 0, 0, NO_WITH},
    {BAR, NULL, "with", 0, 0, 0, NO_WITH},
    {BAR, NULL, NULL, DEF, 0, 0, "constructors begin with `#`, as in `#a | #b`"},
    {BAR, NULL, NULL, CONSTR, STAR, STRING, "no `|` stands in front of the first constructor"},
    {ID, "as", NULL, DEF, 0, 0, "a module of a file's names: `module m = import \"file\"`"},
    {ID, NULL, NULL, QUOTE, '=', 0, TYPE_PARAMETER},
    {LESS, NULL, NULL, QUOTE, '=', 0, TYPE_PARAMETER},
    {ID, NULL, NULL, QUOTE, ':', '=', SPECIFIED},
    {TYPE, NULL, "with", 0, 0, 0, "behind `with` stands the name of the type alone"},
    {TYPE, NULL, "let", 0, 0, 0, "a type is declared by `type` alone, outside of functions"},
    {TYPE, NULL, "def", 0, 0, 0, "a type is declared by `type` alone"},
    {MODULE, NULL, "let", 0, 0, 0, "modules are declared outside of functions"},
    {COERCE, NULL, NULL, DEF, 0, 0, "the type of a module stands behind `:`"},
    {CONSTR, NULL, ".", 0, 0, 0, "constructors are in no module"},
    {':', NULL, ":", 0, 0, 0, "a member of a module is written `m.x`"},
    {':', NULL, NULL, '}', 0, ':', "the value of a field stands behind `=`"},
    {ARROW, NULL, NULL, DEF, 0, 0, "`->` stands behind `case` and a pattern, or behind `\\x`"},
    {',', NULL, NULL, DEF, 0, 0, NO_COMMAS},
    {',', NULL, NULL, VAL, 0, 0, NO_COMMAS},
    {ID, NULL, NULL, DEF, 0, 0, "a definition begins with `def`"},
    {',', NULL, NULL, ')', 0, ',', "each parameter and argument has brackets of its own"},
};

/* Tokens that other languages write for one that might stand there. */
static const struct {
    int token, wants;
    const char *meant;
} meant[] = {{'=', THEN, "=="}, {'~', STRING, "!"}};

/* Behind the pattern of a case, in front of its arrow. */
static const Row in_case[] = {
    {BAR, NULL, NULL, ARROW, 0, 0, ONE_PATTERN},
    {',', NULL, NULL, ARROW, 0, 0, ONE_PATTERN},
    {IF, NULL, NULL, ARROW, 0, 0, NO_GUARD},
    {ID, "when", NULL, ARROW, 0, 0, NO_GUARD},
};

static const char *text_at(const ParseCtx *ctx, Loc loc)
{
    return ctx->text + (loc.beg - ctx->base);
}

static bool has_text(const ParseCtx *ctx, Loc loc, const char *s)
{
    return loc.end - loc.beg == strlen(s) && !memcmp(text_at(ctx, loc), s, strlen(s));
}

static const char *row_hint(const ParseCtx *ctx, const Row *rs, size_t n, const SyntaxError *e)
{
    for (const Row *r = rs; r < rs + n; r++)
        if (r->token == e->token && (!r->text || has_text(ctx, e->loc, r->text)) &&
            (!r->before || has_text(ctx, ctx->before, r->before)) &&
            (!r->wants || e->has[r->wants]) && (!r->more || e->has[r->more]) &&
            (!r->lacks || !e->has[r->lacks]))
            return r->hint;
    return NULL;
}

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '\'';
}

/* Does the word stand in front of the place, perhaps with blanks between? */
static bool word_before(const ParseCtx *ctx, Loc loc, const char *word)
{
    const char *end = text_at(ctx, loc), *from = end;
    size_t n = strlen(word);
    while (end > ctx->text && isspace((unsigned char)end[-1]))
        end--;
    return (size_t)(end - ctx->text) >= n && end < from && !memcmp(end - n, word, n) &&
           ((size_t)(end - ctx->text) == n || !is_word_char(end[-1 - (int)n]));
}

/* Is what stands in front of the place a pattern of a case, not of a function? */
static bool behind_case(const ParseCtx *ctx, Loc loc)
{
    for (const char *s = text_at(ctx, loc); s > ctx->text && *s != '\\' && strncmp(s, "->", 2); s--)
        if (!strncmp(s, "case", 4) && !is_word_char(s[4]) &&
            (s == ctx->text || !is_word_char(s[-1])))
            return true;
    return false;
}

const char *syntax_hint(ParseCtx *ctx, const SyntaxError *e)
{
    bool name_before = isalpha((unsigned char)*text_at(ctx, ctx->before));
    const char *s = NULL;
    if (e->has[ARROW] && behind_case(ctx, e->loc)) {
        s = row_hint(ctx, in_case, sizeof in_case / sizeof *in_case, e);
        bool payload = e->token == ID || e->token == '(' || e->token == LITERAL || e->token == '_';
        if (!s && payload && name_before)
            s = arena_printf(ctx->a, "a constructor is written `#%.*s`",
                             (int)(ctx->before.end - ctx->before.beg), text_at(ctx, ctx->before));
    }
    s = s ? s : row_hint(ctx, rows, sizeof rows / sizeof *rows, e);
    if (!s && e->token == ID && e->has['='] && name_before &&
        word_before(ctx, ctx->before, "module"))
        s = "a parameter of a module is written `(P: t)`";
    bool keyword = e->token >= DEF && e->token <= ASSERTION;
    bool field = e->has['}'] && !e->has[')'] && has_text(ctx, ctx->before, ",");
    if (!s && keyword && ((e->has[ID] && !e->has[STRING] && !e->has[IMPORT]) || field))
        s = "it is a keyword";
    return s ? arena_printf(ctx->a, "; %s", s) : "";
}

/* The first line behind the bracket that stands as far to the left as the bracket's own line, and
 * does not close it; {0, 0}: there is none. */
static Loc line_as_left(const ParseCtx *ctx, Loc open)
{
    const char *line = text_at(ctx, open), *end = ctx->text + ctx->n;
    while (line > ctx->text && line[-1] != '\n')
        line--;
    size_t indent = strspn(line, " \t");
    for (const char *s = text_at(ctx, open); (s = memchr(s, '\n', (size_t)(end - s)));) {
        s++;
        size_t blank = strspn(s, " \t");
        const char *first = s + blank;
        if (blank <= indent && is_word_char(*first)) {
            uint32_t at = ctx->base + (uint32_t)(first - ctx->text), n = 1;
            while (is_word_char(first[n]))
                n++;
            return (Loc){at, at + n};
        }
    }
    return (Loc){0, 0};
}

const char *syntax_meant(const SyntaxError *e)
{
    for (size_t i = 0; i < sizeof meant / sizeof *meant; i++)
        if (meant[i].token == e->token && e->has[meant[i].wants])
            return meant[i].meant;
    return NULL;
}

void note_open(const ParseCtx *ctx, const SyntaxError *e)
{
    const Open *o = ctx->open.n ? &vec_last(&ctx->open) : NULL;
    bool just_opened = o && e->token != YYEOF && o->loc.end >= ctx->before.end;
    if (!o || just_opened || !e->has[o->closer])
        return;
    diag_note(o->loc, "this `%.*s` is still open", (int)(o->loc.end - o->loc.beg),
              text_at(ctx, o->loc));
    Loc line = e->token == YYEOF && o->closer == '}' ? line_as_left(ctx, o->loc) : (Loc){0, 0};
    if (line.beg)
        diag_note(line, "is its `}` missing in front of this?");
}
