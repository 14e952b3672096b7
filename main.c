/* The compiler's command line: options, files, exit codes. Each command is a function that takes
 * its own arguments; the tools around a compiled program (tune, bench, dataset, devices) are in
 * autotune/. */
#include "autotune/autotune.h"
#include "base/intern.h"
#include "base/stage.h"
#include "base/version.h"
#include "command/args.h"
#include "command/cc.h"
#include "command/child.h"
#include "command/html.h"
#include "command/output.h"
#include "command/source.h"
#include "common/cost.h"
#include "common/spell.h"
#include "docgen/docgen.h"
#include "emit/emit.h"
#include "flatten/flatten.h"
#include "fmt/fmt.h"
#include "frontend/lower/lower.h"
#include "host/host.h"
#include "interp/interp.h"
#include "kir/passes/passes.h"
#include "kir/tool/tool.h"
#include "lsp/lsp.h"
#include "packages/pkg.h"
#include "pipeline/binary.h"
#include "pipeline/explained.h"
#include "pipeline/passes.h"
#include "project/new.h"
#include "repl/eval.h"
#include "repl/repl.h"
#include "testing/test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
    const char *file;      /* the program */
    const char *output;    /* -o */
    const char *entry;     /* -e */
    const char *emit;      /* --emit */
    const char *target;    /* --target: of --emit=opencl, kernel-ir */
    const char *from;      /* --from: the file is IR text, to which the passes from here on apply */
    const char *to;        /* --to, --after: the last pass */
    const char *html;      /* --html: explain writes a page there */
    const char *threshold; /* --threshold: of all guards, when interpreting */
    bool json, binary, text, list;
    bool verbose;                 /* -v: explain tells rules, too */
    bool compiled;                /* --compiled: run does not interpret */
    bool portable;                /* --portable: kernels do not use what only this processor has */
    bool force;                   /* --force: writes over files that are not ours */
    bool strict_math, fast_math;  /* --strict-math: see MF_STRICT_MATH (runtime/kernels/native.h) */
    bool mpi;                     /* --mpi: for several ranks */
    bool server, library, shared; /* what the compiled program is, if not a command */
    int mode;                     /* FlattenMode */
    PassOptions passes;
    bool verify_each; /* --verify */
    bool times;       /* --time-passes */
} Options;

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

/* Which commands an option goes with. */
enum { COMPILE = 1, CHECK = 2, RUN = 4, EXPLAIN = 8, IR = 16, ANY = 31 };

typedef struct {
    const char *name;
    const char
        *shown; /* it and its arguments in the list of commands; NULL: the list leaves it out */
    const char *does;                   /* ... and what it does: lines */
    int (*tool)(int argc, char **argv); /* takes the arguments itself; else: */
    int (*run)(Options *);
    int bit;           /* of the table of options */
    const char *about; /* what its help begins with */
} Command;

#define EMIT_KINDS "c opencl kernel-ir plan memory ir"
#define TARGETS    "gpu native"

static bool emits(const Options *o, const char *kind)
{
    return o->emit && strcmp(o->emit, kind) == 0;
}

static int check_options(Options *o, const char *mode)
{
    if (o->emit && !args_listed(EMIT_KINDS, o->emit))
        return usage_error("--emit=%s: c, opencl, kernel-ir, plan, memory or ir", o->emit);
    if (o->target && !(ktarget_named(o->target) && (emits(o, "opencl") || emits(o, "kernel-ir"))))
        return usage_error("--target=%s: gpu or native, with --emit=opencl or kernel-ir",
                           o->target);
    if (o->output && !*o->output)
        return usage_error("-o needs a name");
    const char *library = o->shared ? "--shared" : "--library";
    o->library |= o->shared;
    if (o->library && (o->emit || o->server))
        return usage_error("%s does not go with --emit or --server", library);
    if (o->portable && (o->emit || (o->library && !o->shared)))
        return usage_error(
            "--portable is about a program that is built: it does not go with --emit or "
            "--library");
    if (o->emit && o->output)
        return usage_error("--emit prints the program: it does not go with -o");
    if (o->compiled && o->threshold)
        return usage_error("--threshold is the interpreter's: it does not go with --compiled");
    o->mode = fl_mode_of_text(mode);
    if (o->mode < 0)
        return usage_error("%s", unknown_mode(arena_new(), mode));
    const char *const names[] = {o->from, o->to};
    for (int i = 0; i < 2; i++) {
        if (!names[i] || pass_find(names[i]) >= 0 || (i == 1 && strcmp(names[i], "lower") == 0))
            continue;
        rt_spelling s = rt_spell(names[i]);
        for (int k = 0; k < n_passes; k++)
            rt_spell_try(&s, pipeline[k].name);
        return usage_error("unknown pass '%s'%s", names[i],
                           s.nearest ? rt_spell_hint(&s) : ": `minifut ir --list` lists them");
    }
    if (o->binary && o->text)
        return usage_error("-b and --text do not go together");
    return o->file || o->list ? -1 : usage_error("which program?");
}

static int take_program(void *env, const char *word)
{
    Options *o = env;
    if (o->file)
        return usage_error("one program at a time: '%s' and '%s'", o->file, word);
    o->file = word;
    return -1;
}

/* Reads the options of compile, check, run, explain, ir. -1, or the exit code. */
static int parse_options(Options *o, const Command *c, int argc, char **argv)
{
    Arena *a = arena_new();
    const char *mode = "incremental", *modes = mode_words(a), *passes = pass_words(a);
    const ArgRow rows[] = {
        {"-o NAME", "writes NAME.c and builds NAME (default: the program's name)",
         .text = &o->output, .commands = COMPILE},
        {"--compiled", "compiles the program and runs that, leaving no file behind",
         .flag = &o->compiled, .commands = RUN},
        {"-e ENTRY", "the entry point (default: main, or the only one)", .text = &o->entry,
         .commands = RUN},
        {"-b", "results in binary form", .flag = &o->binary, .commands = RUN},
        {"--text", "results of type []u8 as the text that they are", .flag = &o->text,
         .commands = RUN},
        {"--json", "as JSON", .flag = &o->json, .commands = EXPLAIN},
        {"--html FILE", "as a page for browsers", .text = &o->html, .commands = EXPLAIN},
        {"-v, --verbose", "the rules that made them, and kernels' local memory",
         .flag = &o->verbose, .commands = EXPLAIN},
        {"--emit KIND", "prints c, opencl, kernel-ir, plan, memory or ir instead", .text = &o->emit,
         .commands = COMPILE, .values = EMIT_KINDS},
        {"--target T", "gpu or native: kernels of that target only, of --emit=opencl and kernel-ir",
         .text = &o->target, .commands = COMPILE, .values = TARGETS},
        {"--flatten MODE", "incremental (default), moderate, full, outer", .text = &mode,
         .commands = ANY & ~CHECK, .values = modes},
        {"--portable", "NAME runs on other processors of this kind, too", .flag = &o->portable,
         .commands = COMPILE},
        {"--strict-math",
         "on CPUs, no functions of vectors and no fused products, whose last bits may differ",
         .flag = &o->strict_math, .commands = COMPILE},
        {"--fast-math",
         "f32 have 11 bits (tf32) in matrix units, and sums of floats may have factors taken out",
         .flag = &o->fast_math, .commands = COMPILE},
        {"--mpi", "for several ranks, by MPI: what is worth it is shared out over them",
         .flag = &o->mpi, .commands = COMPILE | EXPLAIN | IR},
        {"--server", "NAME speaks the server protocol without being asked to", .flag = &o->server,
         .commands = COMPILE},
        {"--force", "writes over files that minifut did not make", .flag = &o->force,
         .commands = COMPILE | EXPLAIN},
        {"--library", "writes NAME.c, NAME.h and NAME.json instead, with Futhark's C API",
         .flag = &o->library, .commands = COMPILE},
        {"--shared", "the same, and builds the library: NAME.so", .flag = &o->shared,
         .commands = COMPILE},
        {"--threshold N", "of all comparisons that choose versions, interpreting",
         .text = &o->threshold, .commands = RUN},
        {"--after, --to PASS", "the last pass", .text = &o->to, .commands = RUN | IR,
         .values = passes},
        {"--to PASS", "the last pass", .text = &o->to, .commands = ANY & ~(CHECK | RUN | IR),
         .values = passes},
        {"--from PASS", "the program is IR text, to which the passes from this one on apply",
         .text = &o->from, .commands = ANY & ~CHECK,
         .values = strchr(passes, ' ') + 1}, /* all but lower */
        {"--list", "lists the passes", .flag = &o->list, .commands = IR},
        {"--verify", "checks the program after each pass", .flag = &o->verify_each},
        {"--time-passes", "tells how long each pass takes", .flag = &o->times},
        {"--trace-passes", "prints the program after each pass", .flag = &o->passes.trace},
        {0}};
    const Args args = {
        arena_printf(a, "minifut %s", c->name), c->about, rows, c->bit, o, NULL, take_program,
        c->bit == CHECK ? "sf" : "sf ir",       NULL};
    int code = args_read(&args, argc, argv);
    return code < 0 ? check_options(o, mode) : code;
}

static Ctx *new_ctx(const Options *o)
{
    Arena *perm = arena_new();
    Ctx *cx = NEW(perm, Ctx);
    cx->perm = perm;
    cx->scratch = arena_new();
    cx->flatten_mode = o->mode;
    cx->ranks = o->mpi;
    cx->fast_math = o->fast_math;
    cx->verify = o->passes.verify;
    cx->trace = o->passes.trace;
    return cx;
}

/* Parses, checks and lowers the program; NULL after reporting what is wrong. */
static Prog *front(Ctx *cx, const Options *o)
{
    Prog *p = front_end(cx, o->file);
    if (p && o->passes.verify)
        ir_verify(cx, p, "lower");
    return p;
}

/* The program in a file of IR text; NULL after reporting what is wrong. */
static Prog *read_ir(Ctx *cx, const Options *o)
{
    size_t n;
    char *text = source_read(cx->perm, o->file, true, (Loc){0, 0}, &n);
    diag_flush();
    if (!text)
        return NULL;
    stage_enter("read");
    Prog *p = ir_read(cx, o->file, text, n);
    diag_flush();
    const char *wrong = p ? ir_check(cx, p) : NULL;
    if (wrong)
        fprintf(stderr, "%s: error: not a well-formed program: %s\n", o->file, wrong);
    return wrong ? NULL : p;
}

/* The program after the passes up to --to, else up to number `last`. 0, or the exit code after
 * reporting what is wrong. */
static int load(Ctx *cx, const Options *o, int last, Prog **out)
{
    int first = o->from ? pass_find(o->from) : 0;
    if (o->to)
        last = pass_find(o->to);
    Prog *p = o->from ? read_ir(cx, o) : front(cx, o);
    if (!p)
        return diag_errors() ? diag_exit_code() : EXIT_USER;
    if (o->from && first <= last && !(p->dialect & pipeline[first].needs)) {
        fprintf(stderr, "%s: error: pass %s works on the other dialect\n", o->file, o->from);
        return EXIT_USER;
    }
    *out = passes_run(cx, p, first, passes_last(p, last), &o->passes);
    diag_flush();
    return diag_exit_code();
}

/* Is the program in the SEG dialect? Else a message. */
static bool is_flat(const Options *o, const Prog *p)
{
    if (p->dialect != D_SEG)
        fprintf(stderr, "%s: error: code is made from the SEG dialect: pass flatten is missing\n",
                o->file);
    return p->dialect == D_SEG;
}

/* The plan of a program in the SEG dialect. 0, or the exit code after reporting what is wrong. */
static int make_plan(Ctx *cx, const Options *o, const Prog *p, Plan **plan)
{
    if (!is_flat(o, p))
        return EXIT_USER;
    *plan = host_plan(cx, p, o->fast_math);
    (*plan)->server = o->server;
    (*plan)->ranks = o->mpi;
    (*plan)->strict_math = o->strict_math;
    diag_flush();
    return diag_exit_code();
}

static int print_out(Out *out)
{
    bool ok =
        fwrite(out->text ? out->text : "", 1, out->n, stdout) == out->n && fflush(stdout) == 0;
    out_free(out);
    if (!ok)
        fprintf(stderr, "minifut: cannot write to standard output: %s\n", strerror(errno));
    return ok ? 0 : EXIT_USER;
}

/* `dir/prog.sf` -> `dir/prog`; `prog.fut` too. */
static const char *default_output(Ctx *cx, const char *file)
{
    size_t n = source_stem(file);
    return file[n] ? arena_strndup(cx->perm, file, n) : arena_printf(cx->perm, "%s.out", file);
}

static const OutputKind c_text = {.heads = {"/* " EMIT_HEAD}},
                        manifest = {.heads = {EMIT_MANIFEST_HEAD, EMIT_MANIFEST_HEAD_0_9}},
                        binary_kind = {.ours = binary_is_ours};

/* The text that --emit asks for. */
static void emit(Ctx *cx, Out *out, const Options *o, const Plan *plan)
{
    const KTarget *t = o->target ? ktarget_named(o->target) : NULL;
    if (emits(o, "plan"))
        plan_print(out, plan);
    else if (emits(o, "opencl"))
        emit_opencl(out, plan, t);
    else if (emits(o, "kernel-ir"))
        emit_kernel_ir(out, plan, t);
    else
        emit_c(cx, out, plan, o->file);
}

/* Writes NAME.c, NAME.h and NAME.json, and builds NAME.so if it is to be shared. */
static int write_library(Ctx *cx, const Options *o, const Plan *plan, const char *name,
                         const Outputs *os)
{
    Library lib = {0};
    stage_enter("emit");
    BinaryKernels kernels = {.bytes = emit_library(cx, plan, o->file, &lib),
                             .portable = o->portable,
                             .shared = true,
                             .mpi = o->mpi};
    Out *texts[] = {&lib.c, &lib.h, &lib.json};
    int code = 0;
    for (int i = 0; i < os->n - o->shared; i++) {
        code = code ? code : output_write(os, &os->of[i], texts[i]);
        out_free(texts[i]);
    }
    return code || !o->shared ? code : binary_build(cx->perm, name, &kernels);
}

/* The C text of a program, and what there is to know for building it. */
static BinaryKernels program_text(Ctx *cx, const Options *o, const Plan *plan, Out *text)
{
    stage_enter("emit");
    return (BinaryKernels){
        .bytes = emit_c(cx, text, plan, o->file), .portable = o->portable, .mpi = o->mpi};
}

/* Writes NAME.c and builds NAME. */
static int write_program(Ctx *cx, const Options *o, const Plan *plan, const Outputs *os)
{
    Out text = {0};
    BinaryKernels kernels = program_text(cx, o, plan, &text);
    int code = output_write(os, &os->of[0], &text);
    out_free(&text);
    return code ? code : binary_build(cx->perm, os->of[1].path, &kernels);
}

/* The text that --emit asks for, without a plan where it needs none. */
static int print_emitted(Ctx *cx, const Options *o, const Prog *p)
{
    Out out = {0};
    Plan *plan;
    if (emits(o, "ir")) {
        ir_print(&out, p);
    } else if (emits(o, "memory")) {
        if (!is_flat(o, p))
            return EXIT_USER;
        Memory m = mem_assign(cx, p);
        mem_print(&out, &m);
    } else {
        int code = make_plan(cx, o, p, &plan);
        if (code)
            return code;
        stage_enter("emit");
        emit(cx, &out, o, plan);
    }
    return print_out(&out);
}

/* The program behind all passes, as a plan wants it. */
static int load_for_plan(Ctx *cx, Options *o, Prog **p)
{
    o->passes.lean = true;
    return load(cx, o, n_passes - 1, p);
}

static int cmd_compile(Options *o)
{
    Ctx *cx = new_ctx(o);
    Prog *p;
    Plan *plan;
    int code = load_for_plan(cx, o, &p);
    if (code)
        return code;
    if (p->entries.n == 0) {
        fprintf(stderr,
                "%s: error: no entry point: nothing to compile (entry f ... = ..., or def main ... "
                "= ...)\n",
                o->file);
        return EXIT_USER;
    }
    if (o->emit)
        return print_emitted(cx, o, p);
    const char *name = o->output ? o->output : default_output(cx, o->file),
               *option = o->output ? "-o" : NULL;
    const char *c_file = arena_printf(cx->perm, "%s.c", name);
    const Output program[] = {{c_file, NULL, &c_text}, {name, option, &binary_kind}},
                 library[] = {{c_file, NULL, &c_text},
                              {arena_printf(cx->perm, "%s.h", name), NULL, &c_text},
                              {arena_printf(cx->perm, "%s.json", name), NULL, &manifest},
                              {binary_file(cx->perm, name, true), NULL, &binary_kind}};
    const Outputs os = {"minifut compile", o->force, o->library ? library : program,
                        o->library ? 3 + o->shared : 2};
    output_protect("/proc/self/exe", "the compiler");
    if ((code = output_check(&os)))
        return code;
    if ((!o->library || o->shared) && !binary_may_be(binary_file(cx->perm, name, o->shared)))
        return EXIT_USER;
    if ((code = make_plan(cx, o, p, &plan)))
        return code;
    return o->library ? write_library(cx, o, plan, name, &os) : write_program(cx, o, plan, &os);
}

static int cmd_check(Options *o)
{
    Ast *ast = fe_load(arena_new(), o->file);
    if (ast && fe_check(ast))
        fe_limits(ast);
    diag_flush();
    return diag_exit_code();
}

static int64_t same_threshold(void *env, const char *name)
{
    (void)name;
    return *(int64_t *)env;
}

/* Once: of what a command has done before it becomes another program, or all of it. */
static void tell_times(Options *o)
{
    if (o->times)
        stage_times_print(stderr);
    o->times = false;
}

/* Builds a program of the entry point alone, and becomes it. */
static int run_compiled(Options *o)
{
    Ctx *cx = new_ctx(o);
    Prog *p;
    Plan *plan;
    int code = load_for_plan(cx, o, &p);
    if (code)
        return code;
    const Entry *entry = interp_entry(p, o->entry);
    if (!entry)
        return interp_no_entry(p, o->entry);
    Prog one = {.dialect = p->dialect};
    vec_push(cx->perm, &one.entries, *entry);
    if ((code = make_plan(cx, o, &one, &plan)))
        return code;
    Out text = {0};
    BinaryKernels kernels = program_text(cx, o, plan, &text);
    int file = binary_build_unnamed(cx->perm, &text, &kernels);
    out_free(&text);
    if (file < 0)
        return EXIT_USER;
    tell_times(o);
    const char *form = o->binary ? "-b" : o->text ? "--text" : NULL;
    return binary_become(file, (const char *const[]){default_output(cx, o->file), form, NULL});
}

static int cmd_run(Options *o)
{
    if (o->compiled)
        return run_compiled(o);
    Ctx *cx = new_ctx(o);
    Prog *p;
    int64_t threshold = RT_FULL_DEVICE;
    char *end = NULL;
    if (o->threshold)
        threshold = strtoll(o->threshold, &end, 10);
    if (end && (*end || end == o->threshold))
        return usage_error("--threshold=%s: a number is expected", o->threshold);
    cx->traces = !o->from && !o->to;
    if (!o->from && o->to && pass_find(o->to) < pass_find("ad"))
        o->to = "ad"; /* the interpreter knows no derivatives */
    int code = load(cx, o, pass_find("flatten") - 1, &p);
    InterpGuards guards = {.env = &threshold, .threshold = same_threshold};
    InterpFormat format = o->binary ? INTERP_BINARY : o->text ? INTERP_CHARS : INTERP_VALUES;
    return code ? code : interp_main(p, o->entry, stdin, stdout, format, &guards);
}

/* The program behind all passes, and in *shared, if it is for several ranks, as it was when it had
 * been shared out over them; else NULL. */
static int load_explained(Ctx *cx, const Options *o, Prog **shared, Prog **p)
{
    int share = pass_find("share"), last = o->to ? pass_find(o->to) : n_passes - 1;
    bool passes = o->mpi && last > share && (!o->from || pass_find(o->from) <= share);
    Options first = *o;
    *shared = NULL;
    if (!passes)
        return load(cx, o, n_passes - 1, p);
    first.to = "share";
    int code = load(cx, &first, share, p);
    if (code || passes_last(*p, last) < last)
        return code;
    *shared = *p;
    *p = passes_run(cx, *p, share + 1, last, &o->passes);
    diag_flush();
    return diag_exit_code();
}

static int cmd_explain(Options *o)
{
    Ctx *cx = new_ctx(o);
    Prog *p, *shared;
    Plan *plan;
    const Output page = {o->html, "--html", &html_page};
    const Outputs os = {"minifut explain", o->force, &page, 1};
    int code = load_explained(cx, o, &shared, &p);
    if (code || (code = output_check(&os)) || (code = make_plan(cx, o, p, &plan)))
        return code;
    stage_enter("explain");
    FlExplainHook hook = explain_hook(plan, shared);
    Out out = {0};
    if (!o->html) {
        (o->json      ? fl_explain_json
         : o->verbose ? fl_explain
                      : fl_explain_plain)(&out, cx, p, &hook);
        return print_out(&out);
    }
    size_t n;
    const char *source = source_read(cx->perm, o->file, false, NO_LOC, &n);
    diag_flush();
    if (!source)
        return diag_exit_code();
    fl_explain_html(&out, cx, p, &hook, o->file, source);
    code = output_write(&os, &page, &out);
    out_free(&out);
    return code;
}

static void list_kernel_passes(const KPass *p)
{
    for (; p->name; p++)
        printf("%-22s %s\n", p->name, p->why);
}

static int list_passes(void)
{
    printf("%-22s the frontend's result\n", "lower");
    for (int i = 0; i < n_passes; i++)
        printf("%-22s %s\n", pipeline[i].name, pipeline[i].why);
    printf("\nA plan of it:\n%-22s where arrays lie\n%-22s the host's operations, and kernels\n",
           "assign", "host");
    for (const PlanStage *s = plan_stages; s->name; s++)
        printf("%-22s %s\n", s->name, s->why);
    printf("\nKernels as they are made:\n");
    list_kernel_passes(kir_making_table);
    printf("\n... and on each target:\n");
    list_kernel_passes(kir_pass_table);
    return 0;
}

/* The files that a program is made of, for the tools, which must not write over them: each name is
 * followed by a zero byte. */
static int cmd_sources(Options *o)
{
    int code = cmd_check(o);
    output_print_protected(stdout);
    return code;
}

/* `ir --after=PASS prog.sf`, `ir --from=PASS --to=PASS file.ir`. */
static int cmd_ir(Options *o)
{
    if (o->list)
        return list_passes();
    Ctx *cx = new_ctx(o);
    Prog *p;
    o->passes.verify = VERIFY_EACH;
    int code = load(cx, o, o->from ? pass_find(o->from) : -1, &p);
    if (code)
        return code;
    Out out = {0};
    ir_print(&out, p);
    return print_out(&out);
}

static int with_program(const Command *c, int argc, char **argv)
{
    Options o = {0};
    int code = parse_options(&o, c, argc, argv);
    if (code >= 0)
        return code;
    o.passes.verify = o.verify_each ? VERIFY_EACH : verify_wanted();
    if (o.times)
        stage_times_begin();
    code = c->run(&o);
    tell_times(&o);
    return code;
}

/* The commands, as the list shows them. */
static const Command commands[] = {
    {"compile",
     "compile [-o NAME] [--flatten=MODE] [--emit=KIND] [--server | --library] [--force] prog.sf",
     "writes NAME.c and builds NAME\n"
     "(--force: over files that minifut did not make); --emit=c|opencl|kernel-ir|plan|memory|ir\n"
     "prints instead; --target=gpu|native: kernels of that target only; with --strict-math,\n"
     "results on CPUs do not differ in their last bits; with --server, NAME speaks the server\n"
     "protocol; with --library, NAME.c, NAME.h, NAME.json for other programs (--shared: NAME.so)\n",
     .run = cmd_compile, .bit = COMPILE,
     .about = "usage: minifut compile [options] prog.sf\n\n"
              "Writes the program as C with its kernels, and builds it.\n"},
    {"check", "check prog.sf", "types, sizes, consumption; silent when all is well\n",
     .run = cmd_check, .bit = CHECK,
     .about = "usage: minifut check [options] prog.sf\n\n"
              "Types, sizes, consumption; silent when all is well.\n"},
    {"run", "run [--compiled] [-e ENTRY] [-b | --text] prog.sf < input",
     "interprets the program; --compiled: compiles it and runs that, leaving no file behind\n",
     .run = cmd_run, .bit = RUN,
     .about =
         "usage: minifut run [options] prog.sf < input\n\n"
         "Interprets the program: what all its versions have to give; with --compiled, compiles "
         "it\nand runs that.\n"},
    {"eval", "eval [-t] [-f prog.sf] EXPRESSION...",
     "interprets expressions and prints their values, or types\n", .tool = eval_main},
    {"explain", "explain [-v | --json | --html FILE] [--flatten=MODE] prog.sf",
     "versions, when each is taken, kernels; -v: the rules; as a page in FILE\n",
     .run = cmd_explain, .bit = EXPLAIN,
     .about = "usage: minifut explain [options] prog.sf\n\n"
              "The versions of the program, when each is taken, and its kernels.\n"},
    {"ir", "ir --after=PASS prog.sf\n  ir --from=PASS --to=PASS file.ir",
     "the program between passes\n"
     "(`ir --list` lists them); --from and --to go with compile, run and explain too\n",
     .run = cmd_ir, .bit = IR,
     .about = "usage: minifut ir --after=PASS prog.sf\n"
              "       minifut ir --from=PASS --to=PASS file.ir\n\n"
              "The program between two passes.\n"},
    {"test", "test [options] FILES|FOLDERS",
     "runs programs' own test cases, interpreted and compiled\n", .tool = test_main},
    {"tune", "tune [options] prog.sf [datasets/]", "finds the thresholds: writes prog.sf.tuning\n",
     .tool = tune_main},
    {"bench", "bench [options] prog.sf [datasets/]",
     "times and checks, with and without the tuning file\n", .tool = bench_main},
    {"profile", "profile [options] prog.sf [datasets/]",
     "where the time of runs goes: lines, kernels, transfers, host\n", .tool = profile_main},
    {"dataset", "dataset -g TYPE ...", "makes random inputs\n", .tool = dataset_main},
    {"devices", "devices", "the OpenCL devices here\n", .tool = devices_main},
    {"new", "new NAME", "a folder with a small project to begin with\n", .tool = new_main},
    {"pkg", "pkg add PATH ...", "packages of others: futhark.pkg, lib/\n", .tool = pkg_main},
    {"fmt", "fmt [--check] [-w] [FILES]", "programs in their layout\n", .tool = fmt_main},
    {"doc", "doc [-o FILE] [--html FILE] prog.sf | --prelude",
     "documentation of a program as Markdown, from its comments\n", .tool = doc_main},
    {"repl", "repl [prog.sf]", "a dialogue: expressions are interpreted, definitions kept\n",
     .tool = repl_main},
    {"lsp", "lsp", "a language server for editors, on standard input and output\n",
     .tool = lsp_main},
    {"sources", NULL, NULL, .run = cmd_sources, .bit = CHECK},
    {"kir", NULL, NULL, .tool = kir_main},
};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

static void usage(FILE *f)
{
    enum { COLUMN = 21 };
    fputs("usage: minifut COMMAND [options] prog.sf\n\n", f);
    for (const Command *c = commands; c < commands + N_COMMANDS; c++) {
        if (!c->shown)
            continue;
        bool fits = strlen(c->shown) < COLUMN - 2;
        fprintf(f, fits ? "  %-*s" : "  %-*s\n", fits ? COLUMN - 2 : 0, c->shown);
        for (const char *line = c->does; *line; line = strchr(line, '\n') + 1)
            fprintf(f, "%*s%.*s\n", fits && line == c->does ? 0 : COLUMN, "",
                    (int)strcspn(line, "\n"), line);
    }
    fputs("\n"
          "MODE: incremental (default), moderate, full, outer\n"
          "All commands on programs: --verify (check the IR after each pass), --time-passes, "
          "--trace-passes\n"
          "`minifut COMMAND --help` says more; `minifut --version`: which minifut this is.\n",
          f);
}

/* What may stand first on the command line, for completion: names and what they do, a
 * tab between. */
static int complete_commands(void)
{
    for (const Command *c = commands; c < commands + N_COMMANDS; c++)
        if (c->shown)
            printf("%s\t%.*s\n", c->name, (int)strcspn(c->does, "\n"), c->does);
    puts("--help\tthe list of commands\n--version\twhich minifut this is");
    return 0;
}

static int command(int argc, char **argv)
{
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        usage(stdout);
        return 0;
    }
    if (strcmp(name, "--version") == 0) {
        printf("minifut %s\n", version_text());
        return 0;
    }
    if (strcmp(name, "--complete") == 0)
        return complete_commands();
    rt_spelling s = rt_spell(name);
    for (const Command *c = commands; c < commands + N_COMMANDS; c++) {
        if (strcmp(name, c->name) == 0)
            return c->tool ? c->tool(argc - 2, argv + 2) : with_program(c, argc - 2, argv + 2);
        rt_spell_try(&s, c->name);
    }
    return usage_error("unknown command '%s'%s", name, rt_spell_hint(&s));
}

typedef struct {
    int argc;
    char **argv;
    int code;
} CommandLine;

static void *run_command(void *arg)
{
    CommandLine *c = arg;
    c->code = command(c->argc, c->argv);
    return NULL;
}

/* Runs the command on a stack that the deepest program the parser takes does not fill: what it
 * allows (parse.h) recurses deeper than the usual 8 MB carry. */
static int command_on_stack(int argc, char **argv)
{
    enum { STACK_MB = 256 };
    CommandLine c = {argc, argv, 0};
    pthread_attr_t attr;
    pthread_t thread;
    if (pthread_attr_init(&attr) == 0 &&
        pthread_attr_setstacksize(&attr, (size_t)STACK_MB << 20) == 0 &&
        pthread_create(&thread, &attr, run_command, &c) == 0) {
        /* Signals are for the thread that works: they must end what it waits for. */
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, NULL);
        pthread_join(thread, NULL);
    } else {
        run_command(&c);
    }
    return c.code;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        usage(stderr);
        return EXIT_USAGE;
    }
    int code = command_on_stack(argc, argv);
    if ((fflush(stdout) != 0 || ferror(stdout)) && code == 0) {
        fprintf(stderr, "minifut: cannot write to standard output: %s\n", strerror(errno));
        return EXIT_USER;
    }
    return code;
}
