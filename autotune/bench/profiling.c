/* minifut profile: where the time of a program's runs goes, on each data set. */
#include "autotune/bench/profiling.h"
#include "autotune/autotune.h"
#include "autotune/run/settings.h"
#include "autotune/tuner/words.h"
#include "base/diag.h"
#include "command/source.h"

#include <stdio.h>

static const Tool tool = {
    "profile", TOOL_PROFILE,
    "usage: minifut profile [options] prog.sf [datasets/]\n"
    "\n"
    "Compiles prog.sf, runs it on each data set (NAME.in) and shows where the time goes: lines of "
    "the\n"
    "program with their kernels, transfers, the host between kernels, beside what the device can "
    "do.\n"
    "Tuned, if there is a tuning file.\n"
    "Without a folder, the data sets are the cases in the program's directives (`-- ==`).\n"};

/* Profiles all data sets and prints each one's table; how many failed. */
static int profile_all(Arena *a, Session *s, Profiling *all, const ToolOptions *o)
{
    int bad = 0;
    profiling_head(a, all);
    for (int d = 0; d < all->datasets->n; d++) {
        Profiled *p = &all->of[d];
        profile_dataset(a, s, d, o->session.timeout, all->runs, p);
        if (p->interrupted) {
            fprintf(stderr, "\nminifut profile: interrupted\n");
            return bad + 1;
        }
        if (p->failed) {
            fprintf(stderr, "minifut profile: %s: %s\n", all->datasets->at[d].name, p->failed);
            bad++;
            continue;
        }
        if (o->trace && p->dropped > 0)
            fprintf(stderr, "minifut profile: warning: %s: the trace lacks the last %.0f events\n",
                    all->datasets->at[d].name, p->dropped);
        profile_shares(a, all, p);
        profiling_text(a, all, d);
    }
    return bad;
}

/* The files that were asked for; false after a message. */
static bool write_all(Arena *a, Profiling *all, const ToolOptions *o)
{
    Out json = {0}, page = {0}, trace = {0};
    bool ok = true;
    if (o->json) {
        profiling_json(&json, all);
        ok &= tool_write("profile", o, o->json, &json);
    }
    if (o->html) {
        all->words = words_of(a, o->source, all->entry);
        profiling_html(a, &page, all);
        ok &= tool_write("profile", o, o->html, &page);
    }
    if (o->trace) {
        profiling_trace(a, &trace, all);
        ok &= tool_write("profile", o, o->trace, &trace);
    }
    out_free(&json);
    out_free(&page);
    out_free(&trace);
    return ok;
}

static int profile(Arena *a, Session *s, const Datasets *ds, const ToolOptions *o)
{
    FileSettings file;
    size_t n;
    Profiling all = {.source = o->source,
                     .text = source_read(a, o->source, false, NO_LOC, &n),
                     .entry = session_entry(s),
                     .device = session_device(s),
                     .runs = o->runs > 0 ? (int)o->runs : 5,
                     .ceilings = {.bytes = o->gbs * 1e9, .operations = o->gflops * 1e9},
                     .datasets = ds,
                     .of = NEWN(a, Profiled, ds->n)};
    diag_flush();
    if (!all.text || !settings_read(a, s, "profile", o, &file))
        return EXIT_USER;
    const char *wrong = ceilings_measure(a, &o->session, &all.ceilings);
    if (wrong) {
        fprintf(stderr, "minifut profile: ceilings: %s\n", wrong);
        return EXIT_USER;
    }
    all.tuning = file.file;
    session_set_up(s, file.setup);
    int bad = profile_all(a, s, &all, o);
    if (all.of[ds->n - 1].interrupted || !write_all(a, &all, o))
        return EXIT_USER;
    return bad ? EXIT_USER : 0;
}

int profile_main(int argc, char **argv)
{
    Arena *a = arena_new();
    ToolOptions o;
    int code = tool_options(a, &tool, argc, argv, &o);
    Datasets ds = {0};
    Session *s = code < 0 ? tool_open(a, "profile", &o, &ds, &code) : NULL;
    if (s) {
        code = profile(a, s, &ds, &o);
        session_close(s);
    }
    arena_free(a);
    return code;
}
