/* minifut bench: times each data set untuned and with the tuning file, and checks the results. */
#include "autotune/bench/bench.h"
#include "autotune/autotune.h"
#include "autotune/bench/roofline.h"
#include "autotune/run/options.h"
#include "autotune/run/settings.h"
#include "autotune/run/talk.h"
#include "autotune/tuner/words.h"
#include "base/diag.h"
#include "base/out.h"
#include "command/source.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

static const Tool tool = {
    "bench", TOOL_BENCH,
    "usage: minifut bench [options] prog.sf [datasets/]\n"
    "\n"
    "Compiles prog.sf and times it on each data set (NAME.in; the result is checked against "
    "NAME.out if\n"
    "there), with default thresholds and, if there is one, with the tuning file. Times are medians "
    "of\n"
    "the computation alone: no transfers, no kernel build.\n"
    "Without a folder, the data sets are the cases in the program's directives (`-- ==`).\n"};

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
    *c = (Ceilings){.bytes = o->gbs * 1e9, .operations = o->gflops * 1e9};
    if (!o->roofline)
        return true;
    const char *wrong = ceilings_measure(a, &o->session, c);
    if (wrong) {
        fprintf(stderr, "minifut bench: ceilings: %s\n", wrong);
        return false;
    }
    printf("ceilings: %.4g GB/s, %.4g GFLOP/s%s\n", c->bytes * 1e-9, c->operations * 1e-9,
           ceilings_doubt(c));
    out_printf(json, ", \"ceilings\": {\"gbs\": %g, \"gflops\": %g}, \"steady_ceilings\": %s",
               c->bytes * 1e-9, c->operations * 1e-9, c->unsteady ? "false" : "true");
    return true;
}

static bool sets_any(const int64_t *values, int n)
{
    for (int i = 0; values && i < n; i++)
        if (values[i])
            return true;
    return false;
}

/* Both in turn, so that what else the machine does is no speedup of either. Where the settings do
 * not change which versions run, they differ by noise alone. */
static void measure_both(Session *s, BenchRow *r, int d, const Setup setups[2], double limit,
                         bool sizes)
{
    Measurement m[2];
    session_measure_in_turn(s, d, 2, setups, limit, m);
    r->same = m[0].ok && m[1].ok && !sizes && same_versions(&m[0], &m[1]);
    if (r->same)
        m[0] = m[1] = m[1].median < m[0].median ? m[1] : m[0];
    r->untuned = m[0];
    r->tuned = m[1];
}

/* Measures data set d untuned and, if there is a tuning file, tuned; those settings stay in force.
 */
static void measure_row(Arena *a, Session *s, const Bench *b, int d, const ToolOptions *o)
{
    BenchRow *r = &b->rows[d];
    const int64_t *unset = NEWN(a, int64_t, b->forest->nodes.n);
    const Setup setups[2] = {{unset, NULL}, {b->settings, b->sizes}};
    bool sizes = sets_any(b->sizes, session_sizes(s)->n);
    if (b->tuning && (sizes || sets_any(b->settings, b->forest->nodes.n))) {
        measure_both(s, r, d, setups, o->session.timeout, sizes);
    } else {
        session_set_up(s, setups[0]);
        r->tuned = r->untuned = session_measure(s, d, o->session.timeout, INFINITY);
        r->same = true;
    }
    session_set_up(s, setups[b->tuning != NULL]);
    r->fine = r->untuned.ok && (!b->tuning || r->tuned.ok);
    r->result = !r->fine                      ? ""
                : b->datasets->at[d].out.name ? "right"
                : b->tuning                   ? "versions agree"
                                              : "not checked";
}

static void print_row(Arena *a, const Bench *b, int d)
{
    const BenchRow *r = &b->rows[d];
    const char *name = b->datasets->at[d].name;
    printf("%-24s %12s %12s ", name, cell(a, &r->untuned), b->tuning ? cell(a, &r->tuned) : "");
    if (b->tuning && r->fine)
        printf("%8.2fx  %-14s", speedup(r->untuned.median, r->tuned.median),
               r->same ? "same program" : speedup_range(a, &r->untuned, &r->tuned));
    else
        printf("%9s  %-14s", "", "");
    printf("  %s\n", r->result);
    if (!r->fine)
        fprintf(stderr, "minifut bench: %s: %s\n", name,
                r->untuned.ok ? r->tuned.why : r->untuned.why);
    fflush(stdout);
}

static void say_if_busy(const Bench *b)
{
    int disturbed = 0;
    double worst = 0;
    for (int d = 0; d < b->datasets->n; d++) {
        const BenchRow *r = &b->rows[d];
        bool untuned = was_disturbed(&r->untuned), tuned = was_disturbed(&r->tuned);
        disturbed += untuned || tuned;
        worst = fmax(worst, fmax(untuned ? r->untuned.noise : 0, tuned ? r->tuned.noise : 0));
    }
    warn_if_busy("bench", disturbed, b->datasets->n, worst);
}

static void json_row(Out *json, const Bench *b, int d)
{
    out_puts(json, d ? ",\n  " : "\n  ");
    out_quoted(json, b->datasets->at[d].name);
    out_puts(json, ": {");
    json_measurement(json, "untuned", &b->rows[d].untuned);
    if (b->tuning) {
        out_puts(json, ", ");
        json_measurement(json, "tuned", &b->rows[d].tuned);
        out_printf(json, ", \"same_program\": %s", b->rows[d].same ? "true" : "false");
    }
}

/* What the page tells besides: each kernel's share, under the settings in force, and each version.
 */
static void look_closer(Arena *a, Session *s, const Bench *b, int d, const ToolOptions *o)
{
    BenchRow *r = &b->rows[d];
    r->unprofiled =
        r->fine ? session_profile(s, d, o->session.timeout, &r->profile) : "the run failed";
    r->trials = bench_versions(a, s, d, o->session.timeout);
}

static int bench_all(Arena *a, Session *s, Bench *b, const ToolOptions *o, Out *json)
{
    FileSettings file;
    int bad = 0;
    Ceilings ceilings;
    out_printf(json, "{\"program\": ");
    out_quoted(json, o->source);
    if (!settings_read(a, s, "bench", o, &file) || !read_ceilings(a, o, &ceilings, json))
        return EXIT_USER;
    b->settings = file.setup.thresholds;
    b->sizes = file.setup.sizes;
    b->tuning = file.file;
    printf("%-24s %12s %12s %9s  %-14s  %s\n", "data set", "untuned", b->tuning ? "tuned" : "",
           b->tuning ? "speedup" : "", b->tuning ? "95 % sure" : "", "result");
    out_puts(json, ", \"datasets\": {");
    for (int d = 0; d < b->datasets->n && !server_interrupted(); d++) {
        measure_row(a, s, b, d, o);
        if (server_interrupted())
            break;
        bad += !b->rows[d].fine;
        print_row(a, b, d);
        json_row(json, b, d);
        if (o->roofline && b->rows[d].fine)
            bad += !bench_roofline(a, s, b->datasets, d, o, &ceilings, json);
        if (o->report)
            look_closer(a, s, b, d, o);
        out_puts(json, "}");
    }
    out_puts(json, "\n}}\n");
    say_if_busy(b);
    if (server_interrupted()) {
        fprintf(stderr, "\nminifut bench: interrupted\n");
        return EXIT_USER;
    }
    return bad ? EXIT_USER : 0;
}

static int bench(Arena *a, Session *s, const Datasets *ds, const ToolOptions *o)
{
    Bench b = {.source = o->source,
               .entry = session_entry(s),
               .device = session_device(s),
               .forest = session_forest(s),
               .datasets = ds,
               .rows = NEWN(a, BenchRow, ds->n)};
    Out json = {0}, page = {0};
    int code = bench_all(a, s, &b, o, &json);
    bool measured = !server_interrupted() && b.settings;
    if (o->json && measured && !tool_write("bench", o, o->json, &json))
        code = EXIT_USER;
    if (o->report && measured) {
        size_t n;
        b.text = source_read(a, o->source, false, NO_LOC, &n);
        diag_flush();
        b.words = words_of(a, o->source, b.entry);
        if (b.text)
            bench_html(a, &page, &b);
        if (!b.text || !tool_write("bench", o, o->report, &page))
            code = EXIT_USER;
    }
    out_free(&json);
    out_free(&page);
    return code;
}

int bench_main(int argc, char **argv)
{
    Arena *a = arena_new();
    ToolOptions o;
    int code = tool_options(a, &tool, argc, argv, &o);
    Datasets ds = {0};
    Session *s = code < 0 ? tool_open(a, "bench", &o, &ds, &code) : NULL;
    if (s && o.n_counts > 1) {
        code = bench_ranks(a, s, &ds, &o);
    } else if (s) {
        code = bench(a, s, &ds, &o);
        session_close(s);
    }
    arena_free(a);
    return code;
}
