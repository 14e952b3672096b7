/* textDocument/semanticTokens: what each name is, which the grammars of editors cannot know. */
#include "lsp/look.h"

#include "base/ptrmap.h"

#include <stdlib.h>
#include <string.h>

/* In the order of SEMANTIC_TOKENS_OFFERED. */
typedef enum {
    TOKEN_NAMESPACE,
    TOKEN_TYPE,
    TOKEN_INTERFACE,
    TOKEN_TYPE_PARAMETER,
    TOKEN_PARAMETER,
    TOKEN_VARIABLE,
    TOKEN_FUNCTION,
    TOKEN_ENUM_MEMBER,
    TOKEN_OPERATOR
} TokenKind;
enum { DECLARATION = 1, OF_LANGUAGE = 2 };

typedef struct {
    size_t beg, end;
    int kind, modifiers;
} Token;

typedef struct {
    Look *look;
    PtrSet *params; /* bindings */
    VEC(Token) all;
} Tokens;

/* Those of a function are known before its parts are visited. */
static void know_params(Tokens *t, const Pat *p)
{
    if (p->kind == P_VAR && p->bind)
        ptrset_add(t->params, p->bind);
    for (int i = 0; i < p->elems.n; i++)
        know_params(t, p->elems.at[i]);
    if (p->pat)
        know_params(t, p->pat);
}

static void know_def(void *env, const Def *d)
{
    for (int i = 0; i < d->params.n; i++)
        know_params(env, d->params.at[i]);
}

static void know_exp(void *env, const AExp *e)
{
    for (int i = 0; e->kind == AE_LAMBDA && i < e->lambda.params.n; i++)
        know_params(env, e->lambda.params.at[i]);
}

static TokenKind kind_of(const Tokens *t, const Site *s)
{
    if (s->whole)
        return TOKEN_ENUM_MEMBER;
    switch (s->bind->kind) {
    case BIND_MODULE: return TOKEN_NAMESPACE;
    case BIND_MODTYPE: return TOKEN_INTERFACE;
    case BIND_TYPE: return TOKEN_TYPE;
    case BIND_TYPE_PARAM: return TOKEN_TYPE_PARAMETER;
    case BIND_SIZE: return TOKEN_PARAMETER;
    case BIND_LOCAL:
    case BIND_DEF:
    case BIND_BUILTIN: break;
    }
    if (strchr("+-*/%=!><|&^", s->bind->name[0]) || strchr(s->bind->name, ' '))
        return TOKEN_OPERATOR;
    if (ptrset_has(t->params, s->bind))
        return TOKEN_PARAMETER;
    return s->bind->type && type_arity(s->bind->type) ? TOKEN_FUNCTION : TOKEN_VARIABLE;
}

static void add(void *env, const Site *s)
{
    Tokens *t = env;
    size_t beg, end;
    if (!(s->bind || s->whole) || s->field || !look_offset(t->look, s->loc.beg, &beg) ||
        !look_offset(t->look, s->loc.end, &end) || end <= beg)
        return;
    bool ours = s->whole || look_file(t->look, s->def);
    Token one = {beg, end, (int)kind_of(t, s),
                 (s->binds ? DECLARATION : 0) | (ours ? 0 : OF_LANGUAGE)};
    vec_push(t->look->a, &t->all, one);
}

static int by_place(const void *a, const void *b)
{
    const Token *x = a, *y = b;
    return x->beg != y->beg ? (x->beg < y->beg ? -1 : 1) : y->modifiers - x->modifiers;
}

/* {data}: of each token the lines and units since the one before, its units, kind, modifiers. */
static cJSON *encoded(const Tokens *t)
{
    cJSON *o = cJSON_CreateObject();
    Out data = {0};
    Position last = {0, 0};
    size_t done = 0;
    for (int i = 0; i < t->all.n; i++) {
        const Token *k = &t->all.at[i];
        if (k->beg < done)
            continue;
        Position at = lines_position_behind(&t->look->now, last, k->beg);
        Position end = lines_position_behind(&t->look->now, at, k->end);
        if (end.line != at.line)
            continue;
        uint32_t line = at.line - last.line, unit = line ? at.unit : at.unit - last.unit;
        const uint32_t five[] = {line, unit, end.unit - at.unit, (uint32_t)k->kind,
                                 (uint32_t)k->modifiers};
        out_puts(&data, data.n ? "," : "[");
        json_put_counts(&data, five, 5);
        last = at;
        done = k->end;
    }
    out_puts(&data, data.n ? "]" : "[]");
    cJSON_AddItemToObject(o, "data", json_taken(&data));
    return o;
}

cJSON *query_tokens(const Query *q)
{
    Look l = look_at(q->a, q->docs, q->doc, LOOK_NAMES, 0, 0);
    Tokens t = {.look = &l, .params = ptrmap_new(q->a)};
    sites_of_file(l.ast, l.ast->main,
                  &(Visit){.env = &t, .exp = know_exp, .def = know_def, .site = add});
    if (t.all.n)
        qsort(t.all.at, (size_t)t.all.n, sizeof *t.all.at, by_place);
    return encoded(&t);
}
