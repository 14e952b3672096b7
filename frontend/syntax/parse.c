/* Texts as trees: above the grammar (parse.y), which is above the scanner (lex.l, scan.c). */
#include "frontend/syntax/concrete.h"

bool parse_text(ParseCtx *ctx, bool as_type)
{
    void *scanner = scan_begin(ctx);
    ctx->start = as_type ? START_TYPE : START_FILE;
    ctx->line_at = ctx->base;
    yyparse(scanner, ctx);
    scan_end(scanner);
    return ctx->errors == 0;
}
