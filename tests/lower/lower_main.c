/* Test driver of lowering: prints the IR of a program, or runs it.
 *     lower_main prog.sf            the IR after lowering, verified
 *     lower_main --run prog.sf      the interpreter: arguments from standard input
 *     lower_main --run -e E prog.sf */
#include "frontend/lower.h"
#include "ir/interp.h"

#include <stdio.h>
#include <string.h>

static int finish(void)
{
    diag_flush();
    return diag_exit_code();
}

int main(int argc, char **argv)
{
    const char *entry = NULL, *path = NULL;
    bool run = false;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--run"))
            run = true;
        else if (!strcmp(argv[i], "-e") && i + 1 < argc)
            entry = argv[++i];
        else
            path = argv[i];
    }
    if (!path) {
        fprintf(stderr, "usage: lower_main [--run] [-e ENTRY] PROG.sf\n");
        return EXIT_USAGE;
    }
    Ctx cx = {.perm = arena_new(), .scratch = arena_new()};
    Ast *ast = fe_load(cx.perm, path);
    if (!ast || !fe_check(ast))
        return finish();
    Prog *p = fe_lower(&cx, ast);
    if (!p)
        return finish();
    ir_verify(&cx, p, "lower");
    diag_flush();
    if (run)
        return interp_main(p, entry, stdin, stdout, false, NULL);
    Out o = {0};
    ir_print(&o, p);
    fputs(o.text, stdout);
    out_free(&o);
    return 0;
}
