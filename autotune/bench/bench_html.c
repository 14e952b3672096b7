/* minifut bench --report: times, versions and kernels as a page. */
#include "autotune/bench/bench.h"
#include "autotune/tuner/words.h"
#include "command/html.h"

#include <math.h>
#include <stdlib.h>

static void summary(Arena *a, Out *o, const Bench *b)
{
    static const char *const heads[] = {"data set", "#untuned", "#tuned", "#speedup",
                                        "versions", "result",   NULL};
    html_section(o, "Data sets");
    html_para(o, "Medians of the computation alone: no transfers, no building of kernels.");
    html_table(o, heads);
    for (int d = 0; d < b->datasets->n; d++) {
        const BenchRow *r = &b->rows[d];
        const Measurement *last = b->tuning ? &r->tuned : &r->untuned;
        html_row(o);
        html_head_cell(o, b->datasets->at[d].name);
        html_number(o, measured_text(a, &r->untuned));
        html_number(o, b->tuning ? measured_text(a, &r->tuned) : "");
        html_number(o, !b->tuning || !r->untuned.ok || !r->tuned.ok ? ""
                       : r->same                                    ? "the same program"
                                 : arena_printf(a, "%.2f\xc3\x97 (%s)",
                                                speedup(r->untuned.median, r->tuned.median),
                                                speedup_range(a, &r->untuned, &r->tuned)));
        const uint8_t *ways = ways_of(a, b->forest, &last->log);
        VersionIds ids = version_ids(a, b->forest, ways);
        words_cell(o, false, versions_taken(a, b->forest, ways), &b->words, &ids);
        html_cell(o, r->result);
    }
    html_table_end(o);
    html_section_end(o);
}

typedef struct {
    Arena *a;
    const Bench *b;
} Times;

/* The best time of each data set with the version at the end of this way. */
static const char *times(void *env, int node, bool outcome)
{
    const Times *t = env;
    const char *text = "";
    for (int d = 0; d < t->b->datasets->n; d++) {
        const Trials *ts = &t->b->rows[d].trials;
        double best = INFINITY;
        for (int k = 0; k < ts->n; k++)
            if (ts->at[k].m.ok && ts->at[k].ways[node] & (outcome ? WAY_TRUE : WAY_FALSE))
                best = fmin(best, ts->at[k].m.median);
        if (!isinf(best))
            text = arena_printf(t->a, "%s%s%s: %s", text, *text ? ", " : "",
                                t->b->datasets->at[d].name, time_text(t->a, best));
    }
    return text;
}

static void versions(Arena *a, Out *o, const Bench *b)
{
    html_section(o, "Versions");
    html_para(o, b->tuning
                     ? "A version is taken when its parallelism reaches its threshold; in "
                       "brackets: what the tuning file sets. Beside a version: its time on "
                       "each data set, by itself."
                     : "A version is taken when its parallelism reaches its threshold. Beside "
                       "a version: its time on each data set, by itself.");
    Times t = {a, b};
    tree_html(&(Tree){a, o, b->forest, b->settings, &b->words, &t, times});
    html_section_end(o);
}

static int by_seconds(const void *x, const void *y)
{
    double a = ((const ProfileRow *)x)->seconds, b = ((const ProfileRow *)y)->seconds;
    return (a < b) - (a > b);
}

static void kernels(Arena *a, Out *o, const Bench *b, const BenchRow *r)
{
    static const char *const heads[] = {
        "kernel", "#share", "of the run's kernels", "#time", "#launches", "place", NULL};
    Profile p = {0};
    double all = 0;
    vec_append(a, &p, &r->profile);
    for (int i = 0; i < p.n; i++)
        all += p.at[i].seconds;
    if (!p.n) {
        html_para(o, "No profile: %s.", r->unprofiled ? r->unprofiled : "nothing was launched");
        return;
    }
    qsort(p.at, (size_t)p.n, sizeof *p.at, by_seconds);
    html_table(o, heads);
    for (int i = 0; i < p.n; i++) {
        double share = all > 0 ? p.at[i].seconds / all : 0;
        html_row(o);
        html_head_cell(o, p.at[i].name);
        html_number(o, arena_printf(a, "%.1f %%", 100 * share));
        html_bar(o, share, share, share, 1);
        html_number(o, time_text(a, p.at[i].seconds));
        html_number(o, arena_printf(a, "%.4g", p.at[i].launches));
        out_puts(o, "<td>");
        html_place(o, p.at[i].place, b->source);
        out_puts(o, "</td>");
    }
    html_table_end(o);
}

static void dataset(Arena *a, Out *o, const Bench *b, int d)
{
    const BenchRow *r = &b->rows[d];
    html_section(o, arena_printf(a, "Data set %s", b->datasets->at[d].name));
    out_puts(o, "<h3>Versions</h3>\n");
    trials_html(a, o, b->forest, &b->words, &r->trials);
    out_puts(o, b->tuning ? "<h3>Kernels of the tuned program</h3>\n" : "<h3>Kernels</h3>\n");
    kernels(a, o, b, r);
    html_section_end(o);
}

void bench_html(Arena *a, Out *o, const Bench *b)
{
    html_begin(o, arena_printf(a, "Times of %s", b->source));
    html_para(o, "Entry point %s, on %s; %s%s.", b->entry, b->device,
              b->tuning ? "tuned by " : "without a tuning file", b->tuning ? b->tuning : "");
    summary(a, o, b);
    versions(a, o, b);
    for (int d = 0; d < b->datasets->n; d++)
        dataset(a, o, b, d);
    html_section(o, b->source);
    html_source(o, b->text);
    html_section_end(o);
    html_end(o);
}
