/* A driver for the tests of the IR: `ir_main ir [--to=PASS,PASS...] FILE.ir` reads, checks, runs
 * the passes with a check after each, and prints; `ir_main run` interprets the result on standard
 * input instead. */
#include "ir/interp.h"
#include "ir/ir.h"

#include "base/intern.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    PassFn *run;
} passes[] = {
    {"simplify", pass_simplify}, {"dce", pass_dce},   {"cse", pass_cse},
    {"hoist", pass_hoist},       {"fuse", pass_fuse},
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

static Prog *run_pass(Ctx *cx, Prog *p, const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++) {
        if (!passes[i].name || strlen(passes[i].name) != n || strncmp(passes[i].name, name, n) != 0)
            continue;
        diag_set_pass(passes[i].name);
        p = passes[i].run(cx, p);
        ir_verify(cx, p, passes[i].name);
        return p;
    }
    fprintf(stderr, "ir_main: no pass %.*s\n", (int)n, name);
    exit(EXIT_USAGE);
}

static int64_t same_threshold(void *env, const char *name)
{
    (void)name;
    return *(int64_t *)env;
}

/* Everything is freed, for leak checkers. */
static int finish(Ctx *cx, int code)
{
    arena_free(cx->perm);
    arena_free(cx->scratch);
    diag_reset();
    intern_free_all();
    return code;
}

int main(int argc, char **argv)
{
    const char *list = "", *path = NULL, *entry = NULL;
    int64_t threshold = INTERP_DEFAULT_THRESHOLD;
    InterpGuards guards = {.env = &threshold, .threshold = same_threshold};
    bool run = argc > 1 && strcmp(argv[1], "run") == 0;
    for (int i = 2; i < argc; i++) {
        if (strncmp(argv[i], "--to=", 5) == 0)
            list = argv[i] + 5;
        else if (strncmp(argv[i], "--threshold=", 12) == 0)
            threshold = atoll(argv[i] + 12);
        else if (strcmp(argv[i], "-e") == 0 && i + 1 < argc)
            entry = argv[++i];
        else if (argv[i][0] != '-')
            path = argv[i];
    }
    if (!path) {
        fputs("usage: ir_main (ir | run) [--to=PASS,PASS...] [-e ENTRY] [--threshold=N] FILE.ir\n",
              stderr);
        return EXIT_USAGE;
    }
    Ctx cx = {.perm = arena_new(), .scratch = arena_new()};
    size_t n;
    char *text = read_all(path, &n);
    Prog *p = ir_read(&cx, path, text, n);
    diag_flush();
    free(text);
    if (!p)
        return finish(&cx, diag_exit_code());
    for (const char *s = list; *s;) {
        size_t k = strcspn(s, ",");
        p = run_pass(&cx, p, s, k);
        s += k + (s[k] == ',');
    }
    if (run)
        return finish(&cx, interp_main(p, entry, stdin, stdout, false, &guards));
    Out o = {0};
    ir_print(&o, p);
    fputs(o.text, stdout);
    out_free(&o);
    return finish(&cx, 0);
}
