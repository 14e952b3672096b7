/* minifut profile --html: one page with what the tables say, and the program's lines with their
 * heat. */
#include "autotune/bench/profiling.h"
#include "autotune/tuner/words.h"
#include "command/html.h"

#include <stdlib.h>
#include <string.h>

static const char *percent_text(Arena *a, double share, double whole)
{
    return arena_printf(a, "%.1f %%", whole > 0 ? 100 * share / whole : 0);
}

/* What was moved, and how long that took. */
static const char *moved_text(Arena *a, const Moved *m)
{
    return arena_printf(a, "%s in %s", bytes_text(a, m->bytes), time_text(a, m->seconds));
}

static void summary(Arena *a, Out *o, const Profiling *all)
{
    static const char *const heads[] = {
        "data set",     "#a run",       "#profiled",        "#kernels", "#transfers", "#host",
        "#peak memory", "#inputs sent", "#results fetched", "versions", NULL};
    html_section(o, "Data sets");
    html_para(o,
              "Means of %d runs. Kernels, transfers within a run and the host, while the device "
              "waits, are shares of a profiled run. "
              "Inputs are sent before it, and results fetched behind it.",
              all->runs);
    html_table(o, heads);
    for (int d = 0; d < all->datasets->n; d++) {
        const Profiled *p = &all->of[d];
        html_row(o);
        html_head_cell(o, all->datasets->at[d].name);
        if (p->failed) {
            html_cell(o, p->failed);
            continue;
        }
        html_number(o, time_text(a, p->run));
        html_number(o, time_text(a, p->profiled));
        html_number(o, percent_text(a, p->kernels, p->whole));
        html_number(o, percent_text(a, p->transfers, p->whole));
        html_number(o, percent_text(a, p->host, p->whole));
        html_number(o, bytes_text(a, p->peak));
        html_number(o, moved_text(a, &p->inputs));
        html_number(o, moved_text(a, &p->results));
        words_cell(o, false, p->versions, &all->words, &p->ids);
    }
    html_table_end(o);
    html_section_end(o);
}

/* Launches and rates, as cells. */
static void number_cells(Arena *a, Out *o, const Profiling *all, const ProfileRow *r, double least)
{
    html_number(o, count_text(a, r->launches));
    html_number(o, r->bytes > 0 ? bytes_text(a, r->bytes) : "");
    html_number(o, rate_text(a, r->bytes, r->seconds));
    html_number(o, rate_text(a, r->operations, r->seconds));
    html_number(o, bound_text(a, &all->ceilings, r, least));
}

/* The last column; NULL: the table has none. */
static const char *busy_head(const Profiled *p)
{
    return p->threads ? "#threads busy" : NULL;
}

static void busy_cell(Arena *a, Out *o, const Profiled *p, const ProfileRow *r)
{
    if (p->threads)
        html_number(o, busy_text(a, r));
}

static const char *constructs_text(Arena *a, const Share *s)
{
    const char *text = "";
    for (int i = 0; i < s->kernels.n; i++)
        text = arena_printf(a, "%s%s%s", text, *text ? ", " : "", s->kernels.at[i].construct);
    return text;
}

/* The first characters of a line, for a cell. */
static const char *cut_text(Arena *a, const char *text)
{
    enum { MOST = 44 };
    size_t n = 0;
    for (int left = MOST; left > 0 && text[n]; left--)
        n += utf8_length(text + n) ? utf8_length(text + n) : 1;
    return text[n] ? arena_printf(a, "%.*s\xe2\x80\xa6", (int)n, text) : text;
}

static void lines(Arena *a, Out *o, const Profiling *all, const Profiled *p)
{
    const char *const heads[] = {"#share",    "of a run",   "#time", "line, constructs",
                                 "#launches", "#moves",     "#GB/s", "#GFLOP/s",
                                 "#of bound", busy_head(p), NULL};
    html_table(o, heads);
    for (int i = 0; i < p->shares.n; i++) {
        const Share *s = &p->shares.at[i];
        double share = p->whole > 0 ? s->sum.seconds / p->whole : 0;
        html_row(o);
        html_number(o, percent_text(a, s->sum.seconds, p->whole));
        html_bar(o, share, share, share, 1);
        html_number(o, time_text(a, s->sum.seconds));
        out_puts(o, "<td>");
        if (s->kind == SHARE_LINE) {
            html_place(o, arena_printf(a, "%s:%d", s->file, s->line), all->source);
            out_puts(o, " <code>");
            html_text(o, cut_text(a, s->text));
            out_puts(o, "</code><div class=\"dim\">");
            html_text(o, constructs_text(a, s));
            out_puts(o, "</div>");
        } else {
            html_text(o, s->text);
        }
        out_puts(o, "</td>");
        number_cells(a, o, all, &s->sum, s->least);
        busy_cell(a, o, p, &s->sum);
    }
    html_table_end(o);
}

static int longest_row(const void *x, const void *y)
{
    double a = ((const ProfileRow *)x)->seconds, b = ((const ProfileRow *)y)->seconds;
    return (a < b) - (a > b);
}

static void kernels(Arena *a, Out *o, const Profiling *all, const Profiled *p)
{
    const char *const heads[] = {"kernel",   "#share",    "#time", "#launches",  "#moves", "#GB/s",
                                 "#GFLOP/s", "#of bound", "place", busy_head(p), NULL};
    Profile rows = {0};
    vec_append(a, &rows, &p->rows);
    if (rows.n)
        qsort(rows.at, (size_t)rows.n, sizeof *rows.at, longest_row);
    html_table(o, heads);
    for (int i = 0; i < rows.n; i++) {
        const ProfileRow *r = &rows.at[i];
        html_row(o);
        html_head_cell(o, r->name);
        html_number(o, percent_text(a, r->seconds, p->whole));
        html_number(o, time_text(a, r->seconds));
        number_cells(a, o, all, r, least_seconds(&all->ceilings, r));
        out_puts(o, "<td>");
        html_place(o, r->place, all->source);
        out_puts(o, "</td>");
        busy_cell(a, o, p, r);
    }
    html_table_end(o);
}

/* What part of the runs' time each line of the program takes: means over the data sets. */
static double *heat_of(Arena *a, const Profiling *all)
{
    int n = 2, profiled = 0;
    for (const char *t = all->text; *t; t++)
        n += *t == '\n';
    double *heat = NEWN(a, double, n);
    for (int d = 0; d < all->datasets->n; d++) {
        const Profiled *p = &all->of[d];
        profiled += !p->failed;
        for (int i = 0; i < p->shares.n; i++) {
            const Share *s = &p->shares.at[i];
            if (s->kind == SHARE_LINE && strcmp(s->file, all->source) == 0 && s->line < n &&
                p->whole > 0)
                heat[s->line] += s->sum.seconds / p->whole;
        }
    }
    for (int i = 0; i < n && profiled; i++)
        heat[i] /= profiled;
    return heat;
}

void profiling_html(Arena *a, Out *o, const Profiling *all)
{
    html_begin(o, arena_printf(a, "Profile of %s", all->source));
    html_para(o, "Entry point %s, on %s; %s%s.", all->entry, all->device,
              all->tuning ? "tuned by " : "without a tuning file", all->tuning ? all->tuning : "");
    html_para(
        o,
        "The device reaches %.4g GB/s in a copy and %.4g GFLOP/s in chains of multiply-adds%s. "
        "\"Of bound\" says how much of "
        "the time it would need for the work at the nearer of these two.",
        all->ceilings.bytes * 1e-9, all->ceilings.operations * 1e-9,
        ceilings_doubt(&all->ceilings));
    summary(a, o, all);
    for (int d = 0; d < all->datasets->n; d++) {
        const Profiled *p = &all->of[d];
        html_section(o, arena_printf(a, "Data set %s", all->datasets->at[d].name));
        if (p->failed) {
            html_para(o, "No profile: %s.", p->failed);
        } else {
            lines(a, o, all, p);
            const char *above = above_ceilings(&all->ceilings, p);
            if (above)
                html_para(o, "Over 100 %%: %s.", above);
            out_puts(o, "<h3>Kernels and transfers</h3>\n");
            kernels(a, o, all, p);
        }
        html_section_end(o);
    }
    html_section(o, all->source);
    html_para(o, "Beside each line: its kernels' share of a run, mean over the data sets.");
    html_source_heat(o, all->text, heat_of(a, all));
    html_section_end(o);
    html_end(o);
}
