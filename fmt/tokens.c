/* The tokens and comments of a program with their classes: what the tests of editors' modes compare
 * with. */
#include "fmt/fmt.h"

#include "frontend/syntax/concrete.h"

#include <string.h>

static bool is_keyword(int kind)
{
    return kind != COERCE && kind != ARROW && kind != HASH && kind >= DEF && kind <= ASSERTION;
}

static const char *word_class(const char *text, size_t n)
{
    char name[8] = "";
    PrimType s;
    memcpy(name, text, n < sizeof name ? n : 0);
    return prim_named(name, &s) ? "type" : "name";
}

static const char *literal_class(const char *text)
{
    return *text == '\'' ? "char" : *text == 't' || *text == 'f' ? "boolean" : "number";
}

/* `before`: the token in front, or 0. */
static const char *token_class(int kind, int before, const char *text, size_t n)
{
    if (is_keyword(kind))
        return "keyword";
    switch (kind) {
    case LITERAL: return literal_class(text);
    case STRING: return "string";
    case PROJNUM: return "member";
    case CONSTR: return "constructor";
    case ID: return before == '.' ? "member" : before == HASH ? "attribute" : word_class(text, n);
    default: return "symbol";
    }
}

bool fmt_tokens(const char *name, const char *text, size_t n, Out *o)
{
    Arena *a = arena_new();
    Concrete *c;
    bool ok = fe_parse_concrete(a, name, text, n, &c) != NULL;
    uint32_t base = ok ? vec_last(&c->tokens).loc.end - (uint32_t)n : 0;
    for (int i = 0; ok && i + 1 < c->tokens.n; i++) {
        CToken t = c->tokens.at[i];
        const char *kind = token_class(t.kind, i ? c->tokens.at[i - 1].kind : 0,
                                       text + (t.loc.beg - base), t.loc.end - t.loc.beg);
        out_printf(o, "%u %u %s\n", t.loc.beg - base, t.loc.end - base, kind);
    }
    for (int i = 0; ok && i < c->comments.n; i++)
        out_printf(o, "%u %u comment\n", c->comments.at[i].beg - base,
                   c->comments.at[i].end - base);
    arena_free(a);
    return ok;
}
