/* The compiler's command line: options, files, exit codes. Each command is a function that takes its
 * own arguments; the tools around a compiled program (tune, bench, dataset, devices) are in
 * autotune/. */
#include "autotune/autotune.h"
#include "base/intern.h"
#include "codegen/plan.h"
#include "flatten/flatten.h"
#include "frontend/lower.h"
#include "ir/interp.h"
#include "passes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
    const char *file;   /* the program */
    const char *output; /* -o */
    const char *entry;  /* -e */
    const char *emit;   /* --emit */
    const char *after, *from, *to;
    bool json, binary;
    int mode; /* FlattenMode */
    PassOptions passes;
} Options;

static const char usage_text[] =
    "usage: minifut COMMAND [options] prog.sf\n"
    "\n"
    "  compile [-o NAME] [--flatten=MODE] [--emit=KIND] prog.sf\n"
    "                     writes NAME.c and builds NAME; --emit=c|opencl|plan|ir prints instead\n"
    "  check prog.sf      types, sizes, consumption; silent when all is well\n"
    "  run [-e ENTRY] [-b] prog.sf < input\n"
    "                     interprets the program\n"
    "  explain [--json] [--flatten=MODE] prog.sf\n"
    "                     rules, versions, thresholds, kernels\n"
    "  ir --after=PASS prog.sf\n"
    "  ir --from=PASS --to=PASS file.ir\n"
    "                     the program between passes; `ir --list` lists them\n"
    "  tune [options] prog.sf datasets/\n"
    "                     finds the thresholds: writes prog.sf.tuning\n"
    "  bench [options] prog.sf datasets/\n"
    "                     times and checks, with and without the tuning file\n"
    "  dataset -g TYPE ... makes random inputs\n"
    "  devices            the OpenCL devices here\n"
    "\n"
    "MODE: incremental (default), moderate, full, outer\n"
    "All commands: --verify (check the IR after each pass), --time-passes, --trace-passes\n"
    "`minifut COMMAND --help` says more about tune, bench and dataset.\n";

__attribute__((format(printf, 1, 2))) static int usage_error(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fprintf(stderr, "minifut: ");
    vfprintf(stderr, fmt, ap);
    fprintf(stderr, " (minifut --help)\n");
    va_end(ap);
    return EXIT_USAGE;
}

/* `--name=value`: the value, else NULL. */
static const char *option_value(const char *arg, const char *name)
{
    size_t n = strlen(name);
    return strncmp(arg, name, n) == 0 && arg[n] == '=' ? arg + n + 1 : NULL;
}

/* Reads the options of compile, check, run, explain, ir. 0, or the exit code. */
static int parse_options(Options *o, int argc, char **argv)
{
    for (int i = 0; i < argc; i++) {
        const char *a = argv[i], *v;
        if ((strcmp(a, "-o") == 0 || strcmp(a, "-e") == 0) && i + 1 == argc)
            return usage_error("option %s needs a value", a);
        if (strcmp(a, "-o") == 0)
            o->output = argv[++i];
        else if (strcmp(a, "-e") == 0)
            o->entry = argv[++i];
        else if (strcmp(a, "-b") == 0)
            o->binary = true;
        else if (strcmp(a, "--json") == 0)
            o->json = true;
        else if (strcmp(a, "--verify") == 0)
            o->passes.verify = true;
        else if (strcmp(a, "--time-passes") == 0)
            o->passes.time = true;
        else if (strcmp(a, "--trace-passes") == 0)
            o->passes.trace = true;
        else if ((v = option_value(a, "--emit")))
            o->emit = v;
        else if ((v = option_value(a, "--after")))
            o->after = v;
        else if ((v = option_value(a, "--from")))
            o->from = v;
        else if ((v = option_value(a, "--to")))
            o->to = v;
        else if ((v = option_value(a, "--flatten"))) {
            o->mode = fl_mode_of_text(v);
            if (o->mode < 0)
                return usage_error("unknown mode '%s': incremental, moderate, full or outer", v);
        } else if (a[0] == '-' && a[1])
            return usage_error("unknown option '%s'", a);
        else if (o->file)
            return usage_error("one program at a time: '%s' and '%s'", o->file, a);
        else
            o->file = a;
    }
    return 0;
}

static Ctx *new_ctx(const Options *o)
{
    Arena *perm = arena_new();
    Ctx *cx = NEW(perm, Ctx);
    cx->perm = perm;
    cx->scratch = arena_new();
    cx->flatten_mode = o->mode;
    return cx;
}

/* Parses, checks and lowers the program; NULL after reporting what is wrong. */
static Prog *front(Ctx *cx, const Options *o)
{
    diag_set_pass("parse");
    Ast *ast = fe_load(cx->perm, o->file);
    diag_set_pass("check");
    if (!ast || !fe_check(ast) || diag_errors()) {
        diag_flush();
        return NULL;
    }
    diag_set_pass("lower");
    Prog *p = fe_lower(cx, ast);
    diag_flush();
    if (diag_errors())
        return NULL;
    if (o->passes.verify)
        ir_verify(cx, p, "lower");
    return p;
}

/* The program after all passes; NULL after reporting what is wrong. */
static Prog *all_passes(Ctx *cx, const Options *o)
{
    Prog *p = front(cx, o);
    if (p)
        p = passes_run(cx, p, 0, n_passes - 1, &o->passes);
    diag_flush();
    return diag_errors() ? NULL : p;
}

static int print_out(Out *out)
{
    bool ok = fwrite(out->text ? out->text : "", 1, out->n, stdout) == out->n && fflush(stdout) == 0;
    out_free(out);
    if (!ok)
        fprintf(stderr, "minifut: cannot write to standard output: %s\n", strerror(errno));
    return ok ? 0 : EXIT_USER;
}

/* `dir/prog.sf` -> `dir/prog`. */
static const char *default_output(Ctx *cx, const char *file)
{
    size_t n = strlen(file);
    if (n > 3 && strcmp(file + n - 3, ".sf") == 0)
        return arena_strndup(cx->perm, file, n - 3);
    return arena_printf(cx->perm, "%s.out", file);
}

/* Runs the C compiler ($CC, else cc) on NAME.c. */
static int build_binary(Ctx *cx, const char *name)
{
    const char *c_file = arena_printf(cx->perm, "%s.c", name);
    /* -O1: host code does little, and entries with many versions are long functions, on which -O2
     * takes ten times as long. */
    static const char cmd[] = "exec ${CC:-cc} -std=gnu11 -O1 ${CFLAGS} -o \"$1\" \"$2\" -lOpenCL -lm";
    pid_t pid = fork();
    if (pid == 0) {
        execl("/bin/sh", "sh", "-c", cmd, "sh", name, c_file, (char *)NULL);
        _exit(127);
    }
    int status;
    if (pid < 0 || waitpid(pid, &status, 0) < 0) {
        fprintf(stderr, "minifut: cannot run the C compiler: %s\n", strerror(errno));
        return EXIT_USER;
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fprintf(stderr, "minifut: the C compiler failed on %s; are a C compiler and OpenCL's headers and "
                        "loader installed (gcc, opencl-headers, ocl-icd-opencl-dev)?\n", c_file);
        return EXIT_USER;
    }
    return 0;
}

static int cmd_compile(Options *o)
{
    Ctx *cx = new_ctx(o);
    Prog *p = all_passes(cx, o);
    if (!p)
        return diag_exit_code();
    Out out = {0};
    if (o->emit && strcmp(o->emit, "ir") == 0) {
        ir_print(&out, p);
        return print_out(&out);
    }
    diag_set_pass("plan");
    Plan *plan = cg_plan(cx, p);
    diag_flush();
    if (diag_errors())
        return diag_exit_code();
    diag_set_pass("emit");
    if (o->emit && strcmp(o->emit, "plan") == 0)
        plan_print(&out, plan);
    else if (o->emit && strcmp(o->emit, "opencl") == 0)
        cg_emit_opencl(&out, plan);
    else
        cg_emit_c(cx, &out, plan, o->file);
    if (o->emit)
        return print_out(&out);
    const char *name = o->output ? o->output : default_output(cx, o->file);
    const char *c_file = arena_printf(cx->perm, "%s.c", name);
    bool ok = out_write_file(&out, c_file);
    out_free(&out);
    if (!ok) {
        fprintf(stderr, "minifut: cannot write %s: %s\n", c_file, strerror(errno));
        return EXIT_USER;
    }
    return build_binary(cx, name);
}

static int cmd_check(Options *o)
{
    Ctx *cx = new_ctx(o);
    Ast *ast = fe_load(cx->perm, o->file);
    if (ast)
        fe_check(ast);
    diag_flush();
    return diag_exit_code();
}

static int cmd_run(Options *o)
{
    Ctx *cx = new_ctx(o);
    Prog *p = front(cx, o);
    if (!p)
        return diag_exit_code();
    p = passes_run(cx, p, 0, pass_find("flatten") - 1, &o->passes);
    return interp_main(p, o->entry, stdin, stdout, o->binary, NULL);
}

static int cmd_explain(Options *o)
{
    Ctx *cx = new_ctx(o);
    Prog *p = front(cx, o);
    if (!p)
        return diag_exit_code();
    p = passes_run(cx, p, 0, n_passes - 1, &o->passes);
    diag_set_pass("plan");
    Plan *plan = cg_plan(cx, p);
    diag_flush();
    if (diag_errors())
        return diag_exit_code();
    diag_set_pass("explain");
    FlExplainHook hook = {plan, cg_describe, cg_describe_json};
    Out out = {0};
    (o->json ? fl_explain_json : fl_explain)(&out, cx, p, &hook);
    return print_out(&out);
}

/* The text of a file, in cx->perm; NULL after a message. */
static char *read_file(Ctx *cx, const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    if (!f) {
        fprintf(stderr, "minifut: cannot read %s: %s\n", path, strerror(errno));
        return NULL;
    }
    Out o = {0};
    char buf[65536];
    size_t k;
    while ((k = fread(buf, 1, sizeof buf, f)) > 0)
        out_putn(&o, buf, k);
    bool ok = !ferror(f);
    fclose(f);
    char *text = ok ? arena_strndup(cx->perm, o.text ? o.text : "", o.n) : NULL;
    *n = o.n;
    out_free(&o);
    if (!ok)
        fprintf(stderr, "minifut: cannot read %s: %s\n", path, strerror(errno));
    return text;
}

static int list_passes(void)
{
    printf("%-18s the frontend's result\n", "lower");
    for (int i = 0; i < n_passes; i++)
        printf("%-18s %s\n", pipeline[i].name, pipeline[i].why);
    return 0;
}

/* `ir --after=PASS prog.sf`, `ir --from=PASS --to=PASS file.ir`. */
static int cmd_ir(Options *o)
{
    Ctx *cx = new_ctx(o);
    const char *last_name = o->from ? (o->to ? o->to : o->from) : o->after ? o->after : "lower";
    int last = pass_find(last_name), first = o->from ? pass_find(o->from) : 0;
    if (last < 0 && strcmp(last_name, "lower") != 0)
        return usage_error("unknown pass '%s': `minifut ir --list` lists them", last_name);
    if (first < 0)
        return usage_error("unknown pass '%s': `minifut ir --list` lists them", o->from);
    Prog *p;
    if (o->from) {
        size_t n;
        char *text = read_file(cx, o->file, &n);
        if (!text)
            return EXIT_USER;
        diag_set_pass("read");
        p = ir_read(cx, o->file, text, n);
        diag_flush();
        const char *wrong = p ? ir_check(cx, p) : NULL;
        if (wrong)
            fprintf(stderr, "%s: error: not a well-formed program: %s\n", o->file, wrong);
        if (!p || wrong)
            return EXIT_USER;
        if (!(p->dialect & pipeline[first].needs)) {
            fprintf(stderr, "%s: error: pass %s works on the other dialect\n", o->file,
                    pipeline[first].name);
            return EXIT_USER;
        }
    } else {
        p = front(cx, o);
        if (!p)
            return diag_exit_code();
    }
    o->passes.verify = true;
    p = passes_run(cx, p, first, last, &o->passes);
    diag_flush();
    if (diag_errors())
        return diag_exit_code();
    Out out = {0};
    ir_print(&out, p);
    return print_out(&out);
}

static int with_program(int (*cmd)(Options *), int argc, char **argv)
{
    Options o = {.mode = FLATTEN_INCREMENTAL};
#ifndef NDEBUG
    o.passes.verify = getenv("MINIFUT_NO_VERIFY") == NULL;
#endif
    if (cmd == cmd_ir && argc == 1 && strcmp(argv[0], "--list") == 0)
        return list_passes();
    int code = parse_options(&o, argc, argv);
    if (code)
        return code;
    if (!o.file)
        return usage_error("which program?");
    if (o.emit && strcmp(o.emit, "c") != 0 && strcmp(o.emit, "opencl") != 0 &&
        strcmp(o.emit, "plan") != 0 && strcmp(o.emit, "ir") != 0)
        return usage_error("--emit=%s: c, opencl, plan or ir", o.emit);
    return cmd(&o);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fputs(usage_text, stderr);
        return EXIT_USAGE;
    }
    const char *name = argv[1];
    int n = argc - 2;
    char **rest = argv + 2;
    static const struct {
        const char *name;
        int (*run)(Options *);
    } commands[] = {{"compile", cmd_compile}, {"check", cmd_check}, {"run", cmd_run},
                    {"explain", cmd_explain}, {"ir", cmd_ir}};
    static const struct {
        const char *name;
        int (*run)(int argc, char **argv);
    } tools[] = {{"tune", tune_main}, {"bench", bench_main}, {"dataset", dataset_main},
                 {"devices", devices_main}};
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        fputs(usage_text, stdout);
        return 0;
    }
    if (strcmp(name, "--version") == 0) {
        puts("minifut 0.1");
        return 0;
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(name, commands[i].name) == 0)
            return with_program(commands[i].run, n, rest);
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++)
        if (strcmp(name, tools[i].name) == 0)
            return tools[i].run(n, rest);
    return usage_error("unknown command '%s'", name);
}
