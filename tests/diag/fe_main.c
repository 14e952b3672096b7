/* A checker on its own: fe_main [--parse|--print|--types] prog.sf. Silent when all is well. */
#include "base/out.h"
#include "frontend/frontend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    const char *mode = argc == 3 ? argv[1] : "";
    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: fe_main [--parse|--print|--types] prog.sf\n");
        return EXIT_USAGE;
    }
    Arena *a = arena_new();
    Ast *ast = fe_load(a, argv[argc - 1]);
    bool ok = ast && ast->syntax_ok;
    if (ok && strcmp(mode, "--parse") && strcmp(mode, "--print"))
        ok = fe_check(ast);
    diag_flush();
    if (ok && (!strcmp(mode, "--print") || !strcmp(mode, "--types"))) {
        Out o = {0};
        fe_print(&o, ast, !strcmp(mode, "--types"));
        fputs(o.text ? o.text : "", stdout);
        out_free(&o);
    }
    arena_free(a);
    return ok ? 0 : diag_exit_code();
}
