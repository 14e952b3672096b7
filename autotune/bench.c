/* minifut bench: times each data set untuned and with the tuning file, and checks the results. */
#include "autotune/autotune.h"
#include "autotune/file.h"
#include "autotune/options.h"
#include "autotune/roofline.h"
#include "autotune/talk.h"
#include "autotune/tuning.h"
#include "base/diag.h"
#include "base/out.h"
#include "runtime/spell.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: minifut bench [options] prog.sf [datasets/]\n"
    "\n"
    "Compiles prog.sf and times it on each data set (NAME.in; the result is checked against "
    "NAME.out if\n"
    "there), with default thresholds and, if there is one, with the tuning file. Times are medians "
    "of\n"
    "the computation alone: no transfers, no kernel build.\n"
    "Without a folder, the data sets are the cases in the program's directives (`-- ==`).\n"
    "  -d, --device NAME      OpenCL device (substring of its name, or #k)\n"
    "  -p, --platform NAME    OpenCL platform\n"
    "  -e, --entry-point E    entry point (default: main, or the only one)\n"
    "      --tuning FILE      default: prog.sf.tuning if it exists\n"
    "      --json FILE        results as JSON too\n"
    "      --roofline         each kernel's bytes and operations beside what the device can do\n"
    "      --gbs N            its gigabytes a second (default: measured)\n"
    "      --gflops N         its operations a second, in 10^9 (default: measured)\n"
    "      --timeout S        seconds a run may take (default 600)\n"
    "      --tolerance T      relative difference allowed from NAME.out (default 0.002)\n"
    "      --skip-compilation the binary is up to date\n";

static void warn_of_parameter(const char *file, const char *name, const Forest *f)
{
    rt_spelling s = rt_spell(name);
    for (int i = 0; i < f->nodes.n; i++)
        rt_spell_try(&s, f->nodes.at[i].name);
    fprintf(stderr, "minifut bench: warning: %s: the program has no parameter %s%s\n", file, name,
            rt_spell_hint(&s));
}

/* The settings of the tuning file, unset where it has none; false after a message. */
static bool read_settings(Arena *a, Session *s, const ToolOptions *o, int64_t *tuned,
                          bool *has_tuning)
{
    const Forest *f = session_forest(s);
    *has_tuning = o->tuning_given || access(o->tuning, F_OK) == 0;
    Settings file = {0};
    const char *wrong;
    if (*has_tuning && !tuning_read(a, o->tuning, &file, &wrong)) {
        fprintf(stderr, "minifut bench: %s\n", wrong);
        return false;
    }
    for (int i = 0; i < file.n; i++) {
        int node = forest_find(f, file.at[i].name);
        if (node >= 0)
            tuned[node] = file.at[i].value;
        else if (!session_knows(s, file.at[i].name)) /* no other entry point's either */
            warn_of_parameter(o->tuning, file.at[i].name, f);
    }
    return true;
}

static const char *cell(Arena *a, const Measurement *m)
{
    return m->ok ? time_text(a, m->median) : m->wrong ? "WRONG" : "FAILS";
}

/* A table of kernels below the data set's line, under the settings that are in force. */
static bool bench_roofline(Arena *a, Session *s, const Datasets *ds, int d, const ToolOptions *o,
                           const Ceilings *c, Out *json)
{
    const char *wrong = roofline(a, s, d, o->session.timeout, c, json);
    if (wrong)
        fprintf(stderr, "minifut bench: %s: %s\n", ds->at[d].name, wrong);
    return !wrong;
}

/* What the device can do, measured where it is not given; false after a message. */
static bool read_ceilings(Arena *a, const ToolOptions *o, Ceilings *c, Out *json)
{
    *c = (Ceilings){o->gbs * 1e9, o->gflops * 1e9};
    if (!o->roofline)
        return true;
    const char *wrong = ceilings_measure(a, &o->session, c);
    if (wrong) {
        fprintf(stderr, "minifut bench: ceilings: %s\n", wrong);
        return false;
    }
    printf("ceilings: %.4g GB/s, %.4g GFLOP/s\n", c->bytes * 1e-9, c->operations * 1e-9);
    out_printf(json, ", \"ceilings\": {\"gbs\": %g, \"gflops\": %g}", c->bytes * 1e-9,
               c->operations * 1e-9);
    return true;
}

static int bench_all(Arena *a, Session *s, const Datasets *ds, const ToolOptions *o, Out *json)
{
    const Forest *f = session_forest(s);
    int64_t *unset = NEWN(a, int64_t, f->nodes.n), *tuned = NEWN(a, int64_t, f->nodes.n);
    bool has_tuning;
    int bad = 0;
    Ceilings ceilings;
    out_printf(json, "{\"program\": ");
    out_quoted(json, o->source);
    if (!read_settings(a, s, o, tuned, &has_tuning) || !read_ceilings(a, o, &ceilings, json))
        return EXIT_USER;
    printf("%-24s %12s %12s %9s  %s\n", "data set", "untuned", has_tuning ? "tuned" : "", "",
           "result");
    out_puts(json, ", \"datasets\": {");
    for (int d = 0; d < ds->n && !server_interrupted(); d++) {
        session_set(s, unset);
        Measurement u = session_measure(s, d, o->session.timeout, INFINITY), t = {0};
        if (has_tuning) {
            session_set(s, tuned);
            t = session_measure(s, d, o->session.timeout, INFINITY);
        }
        if (server_interrupted())
            break;
        bool fine = u.ok && (!has_tuning || t.ok);
        bad += !fine;
        printf("%-24s %12s %12s ", ds->at[d].name, cell(a, &u), has_tuning ? cell(a, &t) : "");
        if (has_tuning && fine)
            printf("%8.2fx", speedup(u.median, t.median));
        else
            printf("%9s", "");
        printf("  %s\n", !fine                ? ""
                         : ds->at[d].out.name ? "right"
                         : has_tuning         ? "versions agree"
                                              : "not checked");
        if (!fine)
            fprintf(stderr, "minifut bench: %s: %s\n", ds->at[d].name, u.ok ? t.why : u.why);
        fflush(stdout);
        out_puts(json, d ? ",\n  " : "\n  ");
        out_quoted(json, ds->at[d].name);
        out_puts(json, ": {");
        json_measurement(json, "untuned", &u);
        if (has_tuning) {
            out_puts(json, ", ");
            json_measurement(json, "tuned", &t);
        }
        if (o->roofline && fine)
            bad += !bench_roofline(a, s, ds, d, o, &ceilings, json);
        out_puts(json, "}");
    }
    out_puts(json, "\n}}\n");
    if (server_interrupted()) {
        fprintf(stderr, "\nminifut bench: interrupted\n");
        return EXIT_USER;
    }
    return bad ? EXIT_USER : 0;
}

int bench_main(int argc, char **argv)
{
    Arena *a = arena_new();
    ToolOptions o;
    int code = tool_options(a, "bench", help, argc, argv, &o);
    Datasets ds = {0};
    Session *s = code < 0 ? tool_open(a, "bench", &o, &ds, &code) : NULL;
    if (s) {
        Out json = {0};
        code = bench_all(a, s, &ds, &o, &json);
        if (o.json && !server_interrupted() && !out_write_file(&json, o.json)) {
            fprintf(stderr, "minifut bench: cannot write %s: %s\n", o.json, strerror(errno));
            code = EXIT_USER;
        }
        out_free(&json);
        session_close(s);
    }
    arena_free(a);
    return code;
}
