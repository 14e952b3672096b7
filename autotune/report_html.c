/* minifut tune --report: what was found, as a page. */
#include "autotune/tuning.h"
#include "base/html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *percent_text(Arena *a, double part)
{
    return isinf(part) ? "fails" : arena_printf(a, "%.1f %%", 100 * part);
}

/* "1.23 ms ± 0.4 %", or why there is no time. */
static const char *measured_text(Arena *a, const Measurement *m)
{
    if (m->ok && m->cut)
        return arena_printf(a, "\xe2\x89\xa5 %s, stopped", time_text(a, m->median));
    return m->ok ? arena_printf(a, "%s \xc2\xb1 %.1f %%", time_text(a, m->median), 100 * m->noise)
                 : m->why;
}

/* "0 < t ≤ 32768" */
static const char *interval_text(Arena *a, int64_t low, int64_t high)
{
    if (low >= high)
        return "no common value";
    return arena_printf(a, "%lld < t \xe2\x89\xa4 %s", (long long)low, threshold_text(a, high));
}

/* The names of the data sets whose final run took this way at the node. */
static const char *takers(Arena *a, const Tuning *t, int node, int way)
{
    const char *text = "";
    for (int d = 0; d < t->datasets->n; d++) {
        if (!t->verdicts[d].made)
            continue;
        uint8_t *ways = ways_of(a, t->forest, &t->verdicts[d].tuned.log);
        if (ways[node] & way)
            text = arena_printf(a, "%s%s%s", text, *text ? ", " : "", t->datasets->at[d].name);
    }
    return text;
}

/* --- The forest ----------------------------------------------------------------------------- */

static void tree_below(Arena *a, Out *o, const Tuning *t, int parent, bool outcome);

/* The child to go on with on the same level: the only one; -1 if there are none or several. */
static int only_child(const Forest *f, int parent, bool outcome, int *n)
{
    int only = -1;
    *n = 0;
    for (int i = 0; i < f->nodes.n; i++)
        if (f->nodes.at[i].parent == parent && f->nodes.at[i].outcome == outcome) {
            only = i;
            ++*n;
        }
    return *n == 1 ? only : -1;
}

/* The version at the end of a way, as in versions_taken. */
static const char *version_at(Arena *a, const Forest *f, int node, bool outcome)
{
    uint8_t *ways = NEWN(a, uint8_t, f->nodes.n);
    for (; node >= 0; outcome = f->nodes.at[node].outcome, node = f->nodes.at[node].parent)
        ways[node] = outcome ? WAY_TRUE : WAY_FALSE;
    return versions_taken(a, f, ways);
}

/* What follows an outcome: a version with the data sets that take it, or further comparisons. */
static void tree_way(Arena *a, Out *o, const Tuning *t, int node, bool outcome, int n_below)
{
    const char *who = takers(a, t, node, outcome ? WAY_TRUE : WAY_FALSE);
    if (n_below) {
        tree_below(a, o, t, node, outcome);
        return;
    }
    const char *what = !node_is_loop(&t->forest->nodes.at[node])
                           ? version_at(a, t->forest, node, outcome)
                       : outcome ? "the loop's launches stay apart"
                                 : "they become one";
    html_textf(o, "%s ", what);
    if (*who) {
        out_puts(o, "<span class=\"tag\">");
        html_text(o, who);
        out_puts(o, "</span>");
    }
}

/* A comparison, and on the same level what is compared instead where it fails. */
static void tree_node(Arena *a, Out *o, const Tuning *t, int node)
{
    int n_then, n_else, next = only_child(t->forest, node, false, &n_else);
    only_child(t->forest, node, true, &n_then);
    out_puts(o, "<li><b>");
    html_text(o, short_name(t->forest->nodes.at[node].name));
    out_puts(o, "</b>");
    html_textf(o, " (%s) reached: ", threshold_text(a, t->found->settings[node]));
    tree_way(a, o, t, node, true, n_then);
    out_puts(o, "</li>\n");
    if (next >= 0) {
        tree_node(a, o, t, next);
        return;
    }
    out_puts(o, "<li>else: ");
    tree_way(a, o, t, node, false, n_else);
    out_puts(o, "</li>\n");
}

static void tree_below(Arena *a, Out *o, const Tuning *t, int parent, bool outcome)
{
    for (int i = 0; i < t->forest->nodes.n; i++) {
        const Node *n = &t->forest->nodes.at[i];
        if (n->parent != parent || (parent >= 0 && n->outcome != outcome))
            continue;
        out_puts(o, parent < 0 ? "<ul class=\"tree\">\n" : "<ul>\n");
        tree_node(a, o, t, i);
        out_puts(o, "</ul>\n");
    }
}

static void thresholds(Arena *a, Out *o, const Tuning *t)
{
    static const char *const heads[] = {"threshold",           "#chosen",     "suits all",
                                        "#data sets that ask", "#refused on", NULL};
    html_section(o, "Thresholds");
    html_para(o,
              "A version is taken when its parallelism reaches its threshold. \"unset\": nothing "
              "beats what the program chooses by itself; \"never\": out of reach.");
    out_puts(o, "<div class=\"scroll\">");
    tree_below(a, o, t, -1, false);
    out_puts(o, "</div>\n");
    html_table(o, heads);
    for (int i = 0; i < t->forest->nodes.n; i++) {
        Range r = tuning_range(t, i);
        html_row(o);
        html_head_cell(o, short_name(t->forest->nodes.at[i].name));
        html_number(o, threshold_text(a, t->found->settings[i]));
        html_cell(o, r.asked ? interval_text(a, r.low, r.high) : "any value");
        html_number(o, arena_printf(a, "%d", r.asked));
        html_number(o, arena_printf(a, "%d", r.refused));
    }
    html_table_end(o);
    html_section_end(o);
}

static void conflicts(Arena *a, Out *o, const Tuning *t)
{
    static const char *const heads[] = {"threshold", "#chosen", "data sets", NULL};
    html_section(o, "Conflicts");
    if (t->found->conflicts.n == 0) {
        html_para(o, "None: for each threshold there is a value that suits all data sets.");
    } else {
        html_para(o, "No value of these thresholds is best for all of the data sets beside them. "
                     "The one chosen loses least in total.");
        html_table(o, heads);
        for (int i = 0; i < t->found->conflicts.n; i++) {
            const Conflict *c = &t->found->conflicts.at[i];
            const char *names = "";
            for (int k = 0; k < c->n_datasets; k++)
                names = arena_printf(a, "%s%s%s", names, k ? ", " : "",
                                     t->datasets->at[c->datasets[k]].name);
            html_row(o);
            html_head_cell(o, short_name(t->forest->nodes.at[c->node].name));
            html_number(o, threshold_text(a, c->chosen));
            html_cell(o, names);
        }
        html_table_end(o);
    }
    html_section_end(o);
}

/* --- Data sets ------------------------------------------------------------------------------ */

static void summary(Arena *a, Out *o, const Tuning *t)
{
    static const char *const heads[] = {"data set",         "#untuned", "#tuned",   "#speedup",
                                        "#best of its own", "#regret",  "versions", NULL};
    html_section(o, "Data sets");
    html_para(o,
              "Medians of the computation alone. Regret: by how much the versions that the tuned "
              "program takes are slower than the fastest that was measured on the data set.");
    html_table(o, heads);
    for (int d = 0; d < t->datasets->n; d++) {
        const Verdict *v = &t->verdicts[d];
        html_row(o);
        html_head_cell(o, t->datasets->at[d].name);
        if (!v->made) {
            html_cell(o, "no version runs");
            continue;
        }
        html_number(o, v->untuned.ok ? time_text(a, v->untuned.median) : "fails");
        html_number(o, v->tuned.ok ? time_text(a, v->tuned.median) : "fails");
        out_puts(o, v->loses ? "<td class=\"n bad\">" : "<td class=\"n\">");
        if (v->untuned.ok && v->tuned.ok)
            html_textf(o, "%.2f\xc3\x97%s",
                       v->same ? 1 : speedup(v->untuned.median, v->tuned.median),
                       v->loses ? " (slower)" : "");
        out_puts(o, "</td>");
        html_number(o, time_text(a, tuning_best(t, d)));
        html_number(o, percent_text(a, tuning_regret(t, d)));
        html_cell(o, versions_taken(a, t->forest, ways_of(a, t->forest, &v->tuned.log)));
    }
    html_table_end(o);
    html_section_end(o);
}

static int by_time(const void *x, const void *y)
{
    double a = ((const Trial *)x)->m.median, b = ((const Trial *)y)->m.median;
    return (a > b) - (a < b);
}

/* The settings of a trial, of the thresholds that it compared with. */
static const char *settings_text(Arena *a, const Tuning *t, const Trial *v)
{
    const char *text = "";
    for (int i = 0; v->settings && i < t->forest->nodes.n; i++)
        if (v->settings[i] != THRESHOLD_UNSET && v->ways[i])
            text = arena_printf(a, "%s%s%s=%s", text, *text ? " " : "",
                                short_name(t->forest->nodes.at[i].name),
                                threshold_text(a, v->settings[i]));
    return *text ? text : "nothing set";
}

static void versions(Arena *a, Out *o, const Tuning *t, int d)
{
    static const char *const heads[] = {"versions", "#time", "from 0 to the slowest",
                                        "#runs",    "under", NULL};
    Trials ts = {0};
    double most = 0;
    vec_append(a, &ts, &t->trials[d]);
    if (ts.n)
        qsort(ts.at, (size_t)ts.n, sizeof *ts.at, by_time);
    for (int k = 0; k < ts.n; k++)
        most = ts.at[k].m.ok ? fmax(most, ts.at[k].m.median * (1 + ts.at[k].m.noise)) : most;
    html_table(o, heads);
    for (int k = 0; k < ts.n; k++) {
        const Measurement *m = &ts.at[k].m;
        html_row(o);
        html_head_cell(o, *ts.at[k].taken ? ts.at[k].taken : "none");
        html_number(o, measured_text(a, m));
        if (m->ok)
            html_bar(o, m->median, m->median * (1 - m->noise), m->median * (1 + m->noise), most);
        else
            html_cell(o, m->wrong ? "a wrong result" : "fails");
        html_number(o, arena_printf(a, "%d", m->n));
        html_cell(o, settings_text(a, t, &ts.at[k]));
    }
    html_table_end(o);
}

/* The path that the tuned program takes, comparison by comparison. */
static void path(Arena *a, Out *o, const Tuning *t, int d)
{
    static const char *const outcome[] = {"", "reached", "not reached", "both"};
    static const char *const heads[] = {"threshold",           "#chosen", "parallelism", "tuned",
                                        "suits this data set", NULL};
    uint8_t *ways = ways_of(a, t->forest, &t->verdicts[d].tuned.log);
    html_table(o, heads);
    for (int i = 0; i < t->forest->nodes.n; i++) {
        const Opinion *op = &t->found->datasets[d].opinions[i];
        if (!ways[i] && op->pars.n == 0)
            continue;
        const char *pars = op->pars.n ? arena_printf(a, "%lld", (long long)op->pars.at[0]) : "";
        if (op->pars.n > 1)
            pars = arena_printf(a, "%s to %lld (%d)", pars, (long long)op->pars.at[op->pars.n - 1],
                                op->pars.n);
        html_row(o);
        html_head_cell(o, short_name(t->forest->nodes.at[i].name));
        html_number(o, threshold_text(a, t->found->settings[i]));
        html_cell(o, pars);
        html_cell(o, ways[i] ? outcome[ways[i]] : "not compared");
        html_cell(o, op->pars.n == 0 ? ""
                     : op->refused   ? "the device refuses the version"
                     : op->free      ? "any value"
                                     : interval_text(a, op->low, op->high));
    }
    html_table_end(o);
}

static void dataset(Arena *a, Out *o, const Tuning *t, int d)
{
    const Verdict *v = &t->verdicts[d];
    html_section(o, arena_printf(a, "Data set %s", t->datasets->at[d].name));
    if (v->made) {
        html_para(o, "Tuned: %s, by %s. Untuned: %s, by %s.", measured_text(a, &v->tuned),
                  versions_taken(a, t->forest, ways_of(a, t->forest, &v->tuned.log)),
                  measured_text(a, &v->untuned),
                  versions_taken(a, t->forest, ways_of(a, t->forest, &v->untuned.log)));
        out_puts(o, "<h3>The path taken</h3>\n");
        path(a, o, t, d);
    }
    out_puts(o, "<h3>What was tried</h3>\n");
    versions(a, o, t, d);
    html_section_end(o);
}

void report_html(Arena *a, Out *o, const Tuning *t)
{
    html_begin(o, arena_printf(a, "Tuning of %s", t->source));
    html_para(o, "Entry point %s; %s%s; %d runs, %.1f s%s%s.", t->entry,
              t->folder ? "data sets of " : "the program's own data sets",
              t->folder ? t->folder : "", t->found->runs, t->seconds, t->device ? "; on " : "",
              t->device ? t->device : "");
    summary(a, o, t);
    thresholds(a, o, t);
    conflicts(a, o, t);
    for (int d = 0; d < t->datasets->n; d++)
        dataset(a, o, t, d);
    html_end(o);
}
