#include "autotune/run/options.h"

#include "autotune/data/directives.h"
#include "autotune/data/file.h"
#include "autotune/run/compiler.h"
#include "autotune/run/journal.h"
#include "base/diag.h"
#include "command/args.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_RUNS = 10000 }; /* of profile: each has its events */

typedef struct {
    Args args;
    ToolOptions *o;
} Taking;

/* The program, then the folder. */
static int take_word(void *env, const char *word)
{
    Taking *t = env;
    if (t->o->source && t->o->folder)
        return args_wrong(&t->args, "one program and one folder of data sets; what is '%s'", word);
    *(t->o->source ? &t->o->folder : &t->o->source) = word;
    return -1;
}

static const OutputKind log_file = {.ours = journal_is}, tuning_file = {.ours = tuning_is},
                        json_file = {
                            .heads = {"{\"format\": \"minifut ", "{\"program\": ", TRACE_HEAD}};
enum { N_WRITTEN = sizeof((ToolOptions *)0)->written / sizeof(Output) };

const char *tool_log(Arena *a, const ToolOptions *o)
{
    return arena_printf(a, "%s.log", o->tuning);
}

/* All that the tool writes; what it reads it must not write over. */
static void list_outputs(Arena *a, bool tunes, ToolOptions *o)
{
    const char *log = tool_log(a, o);
    const Output all[N_WRITTEN] = {
        {tunes ? o->tuning : NULL, o->tuning_given ? "-o" : NULL, &tuning_file},
        {tunes ? log : NULL, NULL, &log_file},
        {o->json, "--json", &json_file},
        {o->report, "--report", &html_page},
        {o->html, "--html", &html_page},
        {o->trace, "--trace", &json_file}};
    memcpy(o->written, all, sizeof all);
    if (!tunes) {
        output_protect(o->tuning, "the tuning file");
        output_protect(log, "the tuning's log");
    }
}

static Outputs outputs_of(const char *command, const ToolOptions *o)
{
    return (Outputs){command, o->force, o->written, N_WRITTEN};
}

static void protect_script(const Script *s)
{
    if (s->kind == SCRIPT_DATA || s->kind == SCRIPT_BYTES)
        output_protect(s->name, "data that it reads");
    for (int i = 0; i < s->parts.n; i++)
        protect_script(s->parts.at[i]);
}

/* No output may be what the tool reads. 0, or the exit code after a message. */
static int check_outputs(const char *tool, const ToolOptions *o, const Datasets *ds)
{
    char command[64];
    snprintf(command, sizeof command, "minifut %s", tool);
    const Outputs os = outputs_of(command, o);
    for (int d = 0; d < ds->n; d++) {
        const Dataset *set = &ds->at[d];
        if (set->in.name && !set->in.text)
            output_protect(set->in.name, "the input of a data set");
        if (set->out.name && !set->out.text)
            output_protect(set->out.name, "an expected result");
        if (set->script)
            protect_script(set->script);
    }
    if (o->weights)
        output_protect(o->weights, "the weights");
    output_protect(o->session.program, "the program's binary");
    output_protect(o->source, "the program");
    if (output_any_there(&os))
        compiler_protect_sources(o->source);
    return output_check(&os);
}

/* Reads the numbers of ranks of --ranks. -1, or the exit code after a message. */
static int read_counts(const Args *args, ToolOptions *o)
{
    for (const char *at = o->ranks_list; at; at = *at == ',' ? at + 1 : NULL) {
        char *end;
        long n = strtol(at, &end, 10);
        if (end == at || (*end && *end != ',') || n < 1 || n > MOST_RANKS)
            return args_wrong(args, "--ranks %s: numbers from 1 to %d, with commas between",
                              o->ranks_list, MOST_RANKS);
        if (o->n_counts == MOST_COUNTS)
            return args_wrong(args, "--ranks %s: at most %d numbers", o->ranks_list, MOST_COUNTS);
        o->counts[o->n_counts++] = (int)n;
        at = end;
    }
    if (o->n_counts > 1 && (o->roofline || o->report))
        return args_wrong(args, "%s is about one number of ranks, not %s",
                          o->report ? "--report" : "--roofline", o->ranks_list);
    return -1;
}

static int check_options(const Args *args, ToolOptions *o)
{
    const struct {
        const char *option;
        double value;
        int most;
    } all[] = {{"--runs", o->runs, MOST_RUNS}, {"--ranks", o->ranks, MOST_RANKS}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].value > all[i].most || all[i].value != floor(all[i].value))
            return args_wrong(args, "%s: a whole number, at most %d", all[i].option, all[i].most);
    if (o->only && strcmp(o->only, "thresholds") != 0)
        return args_wrong(args, "only thresholds can be asked for, not '%s'", o->only);
    if (o->untuned && o->tuning)
        return args_wrong(args, "--untuned and --tuning %s: which?", o->tuning);
    return read_counts(args, o);
}

int tool_options(Arena *a, const Tool *tool, int argc, char **argv, ToolOptions *o)
{
    *o = (ToolOptions){.session = {.timeout = 600, .tolerance = 2e-3}};
    enum { TUNE = TOOL_TUNE, BENCH = TOOL_BENCH, PROFILE = TOOL_PROFILE };
    const ArgRow rows[] = {
        {"-d, --device NAME", "OpenCL device (substring of its name, or #k)",
         .text = &o->session.device},
        {"-p, --platform NAME", "OpenCL platform", .text = &o->session.platform},
        {"-e, --entry-point E", "entry point (default: main, or the only one)",
         .text = &o->session.entry},
        {"-o, --tuning FILE", "where to write (default: prog.sf.tuning)", .text = &o->tuning,
         .commands = TUNE},
        {"--tuning FILE", "default: prog.sf.tuning if it exists", .text = &o->tuning,
         .commands = BENCH | PROFILE},
        {"--untuned", "without a tuning file", .flag = &o->untuned, .commands = PROFILE},
        {"-r, --runs N", "profiled runs of each data set (default 5)", .number = &o->runs,
         .commands = PROFILE},
        {"--json FILE", "what was found and measured, for programs (docs/tuner.md)",
         .text = &o->json, .commands = TUNE},
        {"--report FILE", "the same as a page for browsers", .text = &o->report, .commands = TUNE},
        {"--json FILE", "results as JSON too", .text = &o->json, .commands = BENCH | PROFILE},
        {"--html FILE", "... and as a page for browsers", .text = &o->html, .commands = PROFILE},
        {"--trace FILE", "when what ran, for chrome://tracing and ui.perfetto.dev",
         .text = &o->trace, .commands = PROFILE},
        {"--report FILE",
         "... and as a page for browsers, with each version's time and each kernel's share",
         .text = &o->report, .commands = BENCH},
        {"--strategy S", "monotone (default), exhaustive, stochastic; all: a table of them",
         .text = &o->strategy, .commands = TUNE, .values = "monotone exhaustive stochastic all"},
        {"--tests N", "runs that the stochastic search may make (default: 20 a version)",
         .number = &o->tests, .commands = TUNE},
        {"--seconds S",
         "time that it, and then the search for sizes, may take (default: no limit;\nsizes: 3)",
         .number = &o->seconds, .commands = TUNE},
        {"--only=thresholds", "leave sizes (of work-groups...) as they are", .text = &o->only,
         .commands = TUNE},
        {"--objective O",
         "what is to be least: regret (the mean of times relative to each data\n"
         "set's best; default), sum, geomean, worst (the greatest relative time);\n"
         "or a shell command, which gets lines of name, microseconds, weight and\n"
         "least microseconds, tabs between, and prints what that is worth",
         .text = &o->objective, .commands = TUNE, .values = "regret sum geomean worst"},
        {"--weights FILE", "how much each data set counts: lines of a name and a number",
         .text = &o->weights, .commands = TUNE},
        {"--roofline", "each kernel's bytes and operations beside what the device can do",
         .flag = &o->roofline, .commands = BENCH},
        {"--gbs N", "its gigabytes a second (default: measured)", .number = &o->gbs,
         .commands = BENCH | PROFILE},
        {"--gflops N", "its operations a second, in 10^9 (default: measured)", .number = &o->gflops,
         .commands = BENCH | PROFILE},
        {"--ranks N", "by MPI, on N ranks (mpirun -np N)", .number = &o->ranks, .commands = TUNE},
        {"--ranks N", "by MPI, on N ranks (mpirun -np N); of several, N,N..., a table of them",
         .text = &o->ranks_list, .commands = BENCH},
        {"--timeout S", "seconds a run may take (default 600)", .number = &o->session.timeout},
        {"--tolerance T", "relative difference allowed between results (default 0.002)",
         .number = &o->session.tolerance},
        {"--skip-compilation", "the binary is up to date", .flag = &o->skip_compile},
        {"--jobs N", "data sets to search at the same time, on GPUs (default: half the processors)",
         .number = &o->jobs, .commands = TUNE},
        {"--fresh", "measure everything again (else: what is in prog.sf.tuning.log counts)",
         .flag = &o->fresh, .commands = TUNE},
        {"--dry-run", "say what would be measured, and stop", .flag = &o->dry_run,
         .commands = TUNE},
        {"--force", "writes over files that minifut did not make", .flag = &o->force},
        {"-q, --quiet", "only errors and the summary", .flag = &o->quiet},
        {0}};
    Taking t = {{arena_printf(a, "minifut %s", tool->name), tool->about, rows, tool->which, &t,
                 NULL, take_word, "sf", NULL},
                o};
    int code = args_read(&t.args, argc, argv);
    if (code >= 0)
        return code;
    if (!o->source)
        return args_wrong(&t.args, "which program?");
    if ((code = check_options(&t.args, o)) >= 0)
        return code;
    o->session.ranks = o->n_counts > 0 ? o->counts[0] : (int)o->ranks;
    o->only_thresholds = o->only != NULL;
    o->tuning_given = o->tuning != NULL;
    o->tuning = o->tuning ? o->tuning : arena_printf(a, "%s.tuning", o->source);
    list_outputs(a, tool->which == TUNE, o);
    return -1;
}

/* The entry point to work on: the one asked for; else main, or the first that has cases. */
static const char *case_entry(const Directives *d, const ToolOptions *o)
{
    if (o->session.entry || !d->cases.n)
        return o->session.entry;
    for (int i = 0; i < d->cases.n; i++)
        if (strcmp(d->cases.at[i].entry, "main") == 0)
            return "main";
    return d->cases.at[0].entry;
}

/* The data sets of the program's directives. False after a message. */
static bool from_directives(Arena *a, const char *tool, ToolOptions *o, Datasets *ds)
{
    Directives d;
    bool ok = directives_read(a, o->source, &d), bench = strcmp(tool, "tune") != 0;
    o->session.entry = ok ? case_entry(&d, o) : NULL;
    int left_out = 0;
    for (int i = 0; i < d.cases.n && ok; i++) {
        TestCase *c = &d.cases.at[i];
        if (strcmp(c->entry, o->session.entry) != 0 || c->expect == EXPECT_ERROR)
            continue;
        if (bench ? c->nobench : c->notune) {
            left_out++;
            continue;
        }
        ok = directives_random(a, c);
        vec_push(
            a, ds,
            ((Dataset){.name = c->name, .in = c->input, .out = c->output, .script = c->script}));
    }
    diag_flush();
    if (!ok || ds->n)
        return ok;
    fprintf(
        stderr,
        "minifut %s: %s has no data sets%s%s%s: give a folder of files NAME.in, or cases in the "
        "program (`-- ==` and `-- input { }` or `-- input @ FILE`)\n",
        tool, o->source, o->session.entry ? " for " : "", o->session.entry ? o->session.entry : "",
        !left_out ? ""
        : bench   ? " (its cases are marked nobench)"
                  : " (its cases are marked notune)");
    return false;
}

/* What the tuning file sets, for the user's own parameters: a file that is wrong is reported where
 * the rest of it is read. */
static void read_file(Arena *a, ToolOptions *o)
{
    const char *wrong;
    if (!o->untuned && access(o->tuning, F_OK) == 0)
        (void)tuning_read(a, o->tuning, &o->session.file, &wrong);
}

Session *tool_open(Arena *a, const char *tool, ToolOptions *o, Datasets *ds, int *code)
{
    const char *wrong;
    *code = EXIT_USER;
    if (access(o->source, R_OK) != 0) {
        fprintf(stderr, "minifut %s: cannot read %s\n", tool, o->source);
        return NULL;
    }
    if (!o->folder && !from_directives(a, tool, o, ds))
        return NULL;
    if (o->folder && !datasets_find(a, o->folder, ds, &wrong)) {
        fprintf(stderr, "minifut %s: %s\n", tool, wrong);
        return NULL;
    }
    o->session.program = program_binary(a, o->source);
    o->session.profile =
        strcmp(tool, "profile") == 0 || o->roofline || (o->report && strcmp(tool, "bench") == 0);
    if ((*code = check_outputs(tool, o, ds)) != 0)
        return NULL;
    if (!o->skip_compile && (*code = compile_program(o->source, o->session.program, NULL,
                                                     o->session.ranks > 0, o->force)) != 0)
        return NULL;
    *code = EXIT_USER;
    read_file(a, o);
    Session *s = session_open(a, &o->session, ds, &wrong);
    if (!s)
        fprintf(stderr, "minifut %s: %s\n", tool, wrong);
    return s;
}

bool tool_write(const char *tool, const ToolOptions *o, const char *path, const Out *text)
{
    char command[64];
    snprintf(command, sizeof command, "minifut %s", tool);
    const Outputs os = outputs_of(command, o);
    int i = 0;
    while (!os.of[i].path || strcmp(os.of[i].path, path) != 0)
        i++;
    return output_write(&os, &os.of[i], text) == 0;
}
