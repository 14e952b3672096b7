/* A driver for the tests of the IR: `ir_main ir [--from=PASS --to=PASS] FILE.ir` reads, checks, runs
 * one pass (if named), checks again and prints; the same command line as minifut's. */
#include "ir/ir.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    PassFn *run;
} passes[] = {
    {"simplify", pass_simplify},
    {"dce", pass_dce},
    {"cse", pass_cse},
    {"hoist", pass_hoist},
};

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
    const char *pass = NULL, *path = NULL;
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--to=", 5) == 0)
            pass = argv[i] + 5;
        else if (argv[i][0] != '-' && (i > 1 || strcmp(argv[i], "ir") != 0))
            path = argv[i];
    }
    if (!path) {
        fputs("usage: ir_main ir [--from=PASS --to=PASS] FILE.ir\n", stderr);
        return EXIT_USAGE;
    }
    Ctx cx = {.perm = arena_new(), .scratch = arena_new()};
    size_t n;
    char *text = read_all(path, &n);
    Prog *p = ir_read(&cx, path, text, n);
    diag_flush();
    if (!p)
        return diag_exit_code();
    bool found = pass == NULL;
    for (size_t i = 0; pass && i < sizeof passes / sizeof *passes; i++)
        if (passes[i].name && strcmp(passes[i].name, pass) == 0) {
            diag_set_pass(pass);
            p = passes[i].run(&cx, p);
            ir_verify(&cx, p, pass);
            found = true;
        }
    if (!found) {
        fprintf(stderr, "ir_main: no pass %s\n", pass);
        return EXIT_USAGE;
    }
    Out o = {0};
    ir_print(&o, p);
    fputs(o.text, stdout);
    out_free(&o);
    free(text);
    arena_free(cx.perm);
    arena_free(cx.scratch);
    return 0;
}
