/* minifut tune --report: what was found, as a page. */
#include "autotune/tuner/words.h"
#include "command/html.h"

#include <math.h>

static const char *percent_text(Arena *a, double part)
{
    return isinf(part) ? "fails" : arena_printf(a, "%.1f %%", 100 * part);
}

/* "0 < t ≤ 32768" */
static const char *interval_text(Arena *a, int64_t low, int64_t high)
{
    if (low >= high)
        return "no common value";
    return arena_printf(a, "%lld < t \xe2\x89\xa4 %s", (long long)low, threshold_text(a, high));
}

typedef struct {
    Arena *a;
    const Tuning *t;
} Takers;

/* The names of the data sets whose tuned run went this way. */
static const char *takers(void *env, int node, bool outcome)
{
    const Takers *k = env;
    const Tuning *t = k->t;
    const char *text = "";
    for (int d = 0; d < t->datasets->n; d++) {
        uint8_t *ways = ways_of(k->a, t->forest, &t->verdicts[d].tuned.log);
        if (ways[node] & (outcome ? WAY_TRUE : WAY_FALSE))
            text = arena_printf(k->a, "%s%s%s", text, *text ? ", " : "", t->datasets->at[d].name);
    }
    return text;
}

static void thresholds(Arena *a, Out *o, const Tuning *t)
{
    static const char *const heads[] = {"threshold",           "#chosen",     "suits all",
                                        "#data sets that ask", "#refused on", NULL};
    html_section(o, "Thresholds");
    html_para(o,
              "A version is taken when its parallelism reaches its threshold. \"unset\": nothing "
              "beats what the program chooses by itself; \"never\": out of reach.");
    Takers k = {a, t};
    tree_html(&(Tree){a, o, t->forest, t->found->settings, t->words, &k, takers});
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

static void sizes(Arena *a, Out *o, const Tuning *t)
{
    static const char *const heads[] = {"size", "#chosen", "#default", "#others tried", NULL};
    const SizesFound *f = t->sizes_found;
    if (!t->sizes->n || (!f && !t->size_values))
        return;
    html_section(o, "Sizes");
    html_para(o,
              "Found with these thresholds, by twice and half of what is best so far. \"unset\": "
              "nothing beats the "
              "default on one data set and loses on none.%s",
              f && f->limited ? " Time was up before all was tried."
              : !f            ? " They were left alone."
                              : "");
    html_table(o, heads);
    for (int i = 0; i < t->sizes->n; i++) {
        if (!size_is_told(t, i))
            continue;
        html_row(o);
        html_head_cell(o, short_name(t->sizes->at[i].name));
        html_number(o, threshold_text(a, t->size_values ? t->size_values[i] : 0));
        html_number(o, arena_printf(a, "%lld", (long long)t->sizes->at[i].def));
        html_number(o, arena_printf(a, "%d", f ? f->tried[i] : 0));
    }
    html_table_end(o);
    html_section_end(o);
}

static void conflicts(Arena *a, Out *o, const Tuning *t)
{
    static const char *const heads[] = {"threshold", "#chosen", "#loss in sum", "data sets", NULL};
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
            html_number(o, percent_text(a, c->loss));
            html_cell(o, names);
        }
        html_table_end(o);
    }
    html_section_end(o);
}

/* --- Data sets ------------------------------------------------------------------------------ */

static void summary(Arena *a, Out *o, const Tuning *t)
{
    static const char *const heads[] = {"data set",  "#untuned",         "#tuned",
                                        "#speedup",  "#best of its own", "#regret",
                                        "#left out", "versions",         NULL};
    const SearchResult *r = t->found;
    html_section(o, "Data sets");
    html_para(o, "Medians of the computation alone, of runs in turn. Regret: by how much the tuned "
                 "program is slower than the versions that are best on the data set. Left "
                 "out: its time with what is chosen "
                 "from the other data sets alone, as the search tells.");
    html_table(o, heads);
    for (int d = 0; d < t->datasets->n; d++) {
        const Verdict *v = &t->verdicts[d];
        html_row(o);
        html_head_cell(o, t->datasets->at[d].name);
        if (!v->made) {
            html_cell(o, tuning_usable(t, d) ? "not compared" : "no version runs");
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
        double unseen = r->datasets[d].unseen;
        html_number(o, isnan(unseen) ? "" : isinf(unseen) ? "fails" : time_text(a, unseen));
        const uint8_t *ways = ways_of(a, t->forest, &v->tuned.log);
        VersionIds ids = version_ids(a, t->forest, ways);
        words_cell(o, false, versions_taken(a, t->forest, ways), t->words, &ids);
    }
    html_table_end(o);
    double untuned = tuning_loss(t, false), tuned = tuning_loss(t, true);
    if (isfinite(untuned) && isfinite(tuned)) {
        out_puts(o, "<p>");
        html_textf(o, "Of each data set's own best time: untuned %.2f, tuned %.2f", untuned, tuned);
        if (isfinite(r->unseen))
            html_textf(o, ", on a data set left out %.2f", r->unseen);
        out_puts(o, " (geometric means).</p>\n");
    }
    if (r->distrusted)
        html_para(
            o, "What is faster on these data sets only, and loses on those left out, is not set.");
    html_section_end(o);
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
    trials_html(a, o, t->forest, t->words, &t->trials[d]);
    html_section_end(o);
}

void report_html(Arena *a, Out *o, const Tuning *t)
{
    html_begin(o, arena_printf(a, "Tuning of %s", t->source));
    html_para(o, "Entry point %s; %s%s; %d runs, %.1f s%s%s. Strategy: %s; objective: %s.",
              t->entry, t->folder ? "data sets of " : "the program's own data sets",
              t->folder ? t->folder : "", t->found->runs, t->seconds, t->device ? "; on " : "",
              t->device ? t->device : "", t->strategy, t->objective);
    if (!t->complete)
        html_para(o, "The tuning did not get to its end: this is the best so far.");
    summary(a, o, t);
    thresholds(a, o, t);
    sizes(a, o, t);
    conflicts(a, o, t);
    for (int d = 0; d < t->datasets->n; d++)
        dataset(a, o, t, d);
    html_end(o);
}
