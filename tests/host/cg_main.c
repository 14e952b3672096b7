/* A driver for the tests of the code generator: reads a program (one of the SOAC dialect is
 * flattened first) and prints its plan, its C text, its kernels, or runs it in the interpreter on
 * standard input. cg_main plan|c|opencl|layout|run FILE.ir [ENTRY]     MODE=full ... in the
 * environment: how to flatten */
#include "codegen/plan.h"
#include "flatten/flatten.h"
#include "ir/interp.h"

#include <stdlib.h>
#include <string.h>

static char *read_all(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        exit(EXIT_USAGE);
    }
    Out o = {0};
    char buf[4096];
    size_t k;
    while ((k = fread(buf, 1, sizeof buf, f)) > 0) {
        o.mid_line = true;
        out_putn(&o, buf, k);
    }
    fclose(f);
    *n = o.n;
    return out_take(&o);
}

int main(int argc, char **argv)
{
    if (argc != 3 && argc != 4) {
        fputs("usage: cg_main plan|c|opencl|layout|run FILE.ir [ENTRY]\n", stderr);
        return EXIT_USAGE;
    }
    const char *what = argv[1], *path = argv[2];
    Ctx cx = {.perm = arena_new(), .scratch = arena_new()};
    size_t n;
    char *text = read_all(path, &n);
    Prog *p = ir_read(&cx, path, text, n);
    free(text);
    diag_flush();
    if (!p)
        return diag_exit_code();
    ir_verify(&cx, p, "read");
    if (strcmp(what, "run") == 0)
        return interp_main(p, argc == 4 ? argv[3] : NULL, stdin, stdout, false, NULL);
    if (p->dialect == D_SOAC) {
        const char *mode = getenv("MODE");
        cx.flatten_mode = fl_mode_of_text(mode ? mode : "incremental");
        diag_set_pass("flatten");
        p = pass_simplify(&cx, fl_flatten(&cx, p));
        ir_verify(&cx, p, "flatten");
    }
    diag_set_pass("layout");
    p = cg_layout(&cx, p);
    ir_verify(&cx, p, "layout");
    Out o = {0};
    diag_set_pass("plan");
    if (strcmp(what, "layout") == 0)
        ir_print(&o, p);
    else if (strcmp(what, "plan") == 0)
        plan_print(&o, cg_plan(&cx, p));
    else if (strcmp(what, "c") == 0)
        cg_emit_c(&cx, &o, cg_plan(&cx, p), path);
    else
        cg_emit_opencl(&o, cg_plan(&cx, p));
    diag_flush();
    if (o.text)
        fwrite(o.text, 1, o.n, stdout);
    out_free(&o);
    return diag_exit_code();
}
