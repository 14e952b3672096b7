/* Texts as trees: above the grammar (parse.y), which is above the scanner (lex.l, scan.c). */
#include "frontend/syntax/concrete.h"

bool parse_text(ParseCtx *ctx, ParseAs as)
{
    void *scanner = scan_begin(ctx);
    static const int starts[] = {
        [PARSE_FILE] = START_FILE, [PARSE_TYPE] = START_TYPE, [PARSE_EXP] = START_EXP};
    ctx->as = as;
    ctx->start = starts[as];
    ctx->line_at = ctx->base;
    yyparse(scanner, ctx);
    scan_end(scanner);
    return ctx->errors == 0;
}

Concrete *fe_scan(Arena *a, const char *text, size_t n)
{
    Concrete *c = NEW(a, Concrete);
    ParseCtx ctx = {.a = a, .text = text, .n = n, .concrete = c};
    void *scanner = scan_begin(&ctx);
    YYSTYPE value;
    Loc loc = {0, 0};
    while (sf_next_token(&value, &loc, scanner) != YYEOF) {
    }
    scan_end(scanner);
    return ctx.errors ? NULL : c;
}
