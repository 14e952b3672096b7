#include "autotune/options.h"

#include "autotune/compiler.h"
#include "autotune/directives.h"
#include "base/diag.h"
#include "runtime/spell.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    const char *name;
    const char **text;
    double *number;
    bool *flag;
} Option;

static int bad(const char *tool, const char *what, const char *arg)
{
    fprintf(stderr, "minifut %s: %s '%s' (minifut %s --help)\n", tool, what, arg, tool);
    return EXIT_USAGE;
}

/* Takes one option; its value stands after '=' or in the next argument. */
static int take(const char *tool, const Option *opts, int argc, char **argv, int *i)
{
    const char *arg = argv[*i];
    size_t n = strcspn(arg, "=");
    for (const Option *o = opts; o->name; o++) {
        if (strlen(o->name) != n || strncmp(o->name, arg, n) != 0)
            continue;
        if (o->flag) {
            *o->flag = true;
            return -1;
        }
        const char *v = arg[n] == '=' ? arg + n + 1 : *i + 1 < argc ? argv[++*i] : NULL;
        if (!v)
            return bad(tool, "a value is missing after", arg);
        if (o->text) {
            *o->text = v;
            return -1;
        }
        char *end;
        *o->number = strtod(v, &end);
        return *end || end == v || !(*o->number > 0) || isinf(*o->number)
                   ? bad(tool, "not a positive number:", v)
                   : -1;
    }
    rt_spelling s = rt_spell(arg);
    for (const Option *o = opts; o->name; o++)
        rt_spell_try(&s, o->name);
    fprintf(stderr, "minifut %s: unknown option '%s'%s (minifut %s --help)\n", tool, arg,
            rt_spell_hint(&s), tool);
    return EXIT_USAGE;
}

int tool_options(Arena *a, const char *tool, const char *help, int argc, char **argv,
                 ToolOptions *o)
{
    *o = (ToolOptions){.session = {.timeout = 600, .tolerance = 2e-3}};
    const Option opts[] = {{"-d", &o->session.device, NULL, NULL},
                           {"--device", &o->session.device, NULL, NULL},
                           {"-p", &o->session.platform, NULL, NULL},
                           {"--platform", &o->session.platform, NULL, NULL},
                           {"-e", &o->session.entry, NULL, NULL},
                           {"--entry-point", &o->session.entry, NULL, NULL},
                           {"--tuning", &o->tuning, NULL, NULL},
                           {"-o", &o->tuning, NULL, NULL},
                           {"--json", &o->json, NULL, NULL},
                           {"--report", &o->report, NULL, NULL},
                           {"--timeout", NULL, &o->session.timeout, NULL},
                           {"--tolerance", NULL, &o->session.tolerance, NULL},
                           {"--roofline", NULL, NULL, &o->roofline},
                           {"--gbs", NULL, &o->gbs, NULL},
                           {"--gflops", NULL, &o->gflops, NULL},
                           {"--skip-compilation", NULL, NULL, &o->skip_compile},
                           {"--strategy", &o->strategy, NULL, NULL},
                           {"--objective", &o->objective, NULL, NULL},
                           {"--weights", &o->weights, NULL, NULL},
                           {"--tests", NULL, &o->tests, NULL},
                           {"--seconds", NULL, &o->seconds, NULL},
                           {"--only", &o->only, NULL, NULL},
                           {"--jobs", NULL, &o->jobs, NULL},
                           {"--fresh", NULL, NULL, &o->fresh},
                           {"--dry-run", NULL, NULL, &o->dry_run},
                           {"-q", NULL, NULL, &o->quiet},
                           {"--quiet", NULL, NULL, &o->quiet},
                           {0}};
    bool options = true; /* until `--` */
    for (int i = 0; i < argc; i++) {
        if (options && (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)) {
            fputs(help, stdout);
            return 0;
        }
        if (options && strcmp(argv[i], "--") == 0) {
            options = false;
        } else if (options && argv[i][0] == '-') {
            int code = take(tool, opts, argc, argv, &i);
            if (code >= 0)
                return code;
        } else if (!o->source) {
            o->source = argv[i];
        } else if (!o->folder) {
            o->folder = argv[i];
        } else {
            return bad(tool, "one program and one folder of data sets; what is", argv[i]);
        }
    }
    if (!o->source) {
        fprintf(stderr, "minifut %s: which program? (minifut %s --help)\n", tool, tool);
        return EXIT_USAGE;
    }
    if (o->only && strcmp(o->only, "thresholds") != 0)
        return bad(tool, "only thresholds can be asked for, not", o->only);
    o->only_thresholds = o->only != NULL;
    o->tuning_given = o->tuning != NULL;
    if (!o->tuning)
        o->tuning = arena_printf(a, "%s.tuning", o->source);
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
    bool ok = directives_read(a, o->source, &d), bench = strcmp(tool, "bench") == 0;
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
        vec_push(a, ds, ((Dataset){c->name, c->input, c->output}));
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
    o->session.profile = o->roofline || (o->report && strcmp(tool, "bench") == 0);
    if (!o->skip_compile && (*code = compile_program(o->source, o->session.program, NULL)) != 0)
        return NULL;
    *code = EXIT_USER;
    Session *s = session_open(a, &o->session, ds, &wrong);
    if (!s)
        fprintf(stderr, "minifut %s: %s\n", tool, wrong);
    return s;
}

bool tool_write(const char *tool, const Out *o, const char *path)
{
    bool ok = out_write_file(o, path);
    if (!ok)
        fprintf(stderr, "minifut %s: cannot write %s: %s\n", tool, path, strerror(errno));
    return ok;
}
