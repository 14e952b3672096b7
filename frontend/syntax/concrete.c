/* The tree of the grammar's reductions, made beside the syntax tree. */
#include "frontend/syntax/concrete.h"

typedef enum { IS_NODE, IS_LIST, IS_LONG } KindTrait;

static KindTrait trait(CNodeKind k)
{
    static const unsigned char traits[] = {IS_NODE,
#define NODE(name) [CN_##name] = IS_NODE,
#define LIST(name) [CN_##name] = IS_LIST,
#define LONG(name) [CN_##name] = IS_LONG,
                                           CONCRETE_KINDS(NODE, LIST, LONG)
#undef NODE
#undef LIST
#undef LONG
    };
    return traits[k];
}

/* The token at that offset: most are among the last ones. */
static int token_at(const Concrete *c, uint32_t beg)
{
    int high = c->tokens.n - 1, low = high, step = 1;
    for (; low > 0 && c->tokens.at[low].loc.beg > beg; step *= 2) {
        high = low;
        low = low > step ? low - step : 0;
    }
    while (low < high) {
        int mid = low + (high - low) / 2;
        if (c->tokens.at[mid].loc.beg < beg)
            low = mid + 1;
        else
            high = mid;
    }
    ASSERT(low < c->tokens.n && c->tokens.at[low].loc.beg == beg);
    return low;
}

static CNode *node(ParseCtx *ctx, CNodeKind kind, int first)
{
    CNode *n = NEW(ctx->a, CNode);
    n->kind = kind;
    n->first = n->last = first;
    return n;
}

/* Appends a part, or its parts if it is a list. */
static void append(ParseCtx *ctx, CNode *to, CNode *part)
{
    if (part->kind != CN_TOKEN && trait(part->kind) == IS_LIST)
        vec_append(ctx->a, &to->kids, &part->kids);
    else
        vec_push(ctx->a, &to->kids, part);
    to->last = part->last;
}

void concrete_reduce(ParseCtx *ctx, CNodeKind kind, const CSymbol *symbols, int n)
{
    Concrete *c = ctx->concrete;
    int used = 0, parts = 0;
    if (n == 1 && symbols[0].kind != CN_TOKEN) { /* it stays what it is, as most do */
        c->root = vec_last(&c->stack);
        return;
    }
    for (int i = 0; i < n; i++)
        used += symbols[i].kind != CN_TOKEN;
    CNode **at = c->stack.at + (c->stack.n - used), *only = NULL, *made = NULL;
    for (int i = 0, k = 0; i < n; i++) {
        bool token = symbols[i].kind == CN_TOKEN;
        CNode *part = token ? NULL : at[k++];
        if (token && symbols[i].loc.beg < symbols[i].loc.end)
            part = node(ctx, CN_TOKEN, token_at(c, symbols[i].loc.beg));
        if (!part)
            continue;
        bool goes_on = parts == 0 && n > 1 && part->kind == kind && trait(kind) != IS_NODE;
        if (goes_on) {
            made = part;
        } else if (parts && !made) {
            made = node(ctx, kind, only->first);
            append(ctx, made, only);
        }
        if (made && !goes_on)
            append(ctx, made, part);
        only = part;
        parts++;
    }
    c->stack.n -= used;
    CNode *result = made ? made : only;
    vec_push(ctx->a, &c->stack, result);
    c->root = result;
}
