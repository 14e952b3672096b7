/* What the pages of tune and bench share: the forest of thresholds with its versions, and the times
 * of versions on a data set. */
#include "autotune/tuner/words.h"
#include "command/html.h"

#include <math.h>
#include <stdlib.h>

/* --- The forest ----------------------------------------------------------------------------- */

static void tree_below(const Tree *t, int parent, bool outcome);

/* How many comparisons follow an outcome, and the last of them; `loops`: those of loops count. */
static int n_below(const Forest *f, int parent, bool outcome, bool loops, int *last)
{
    int n = 0;
    for (int i = 0; i < f->nodes.n; i++) {
        const Node *node = &f->nodes.at[i];
        if (node->parent != parent || node->outcome != outcome || (!loops && node_is_loop(node)))
            continue;
        *last = i;
        n++;
    }
    return n;
}

/* The comparisons up to the end of a way. */
static const uint8_t *ways_to(Arena *a, const Forest *f, int node, bool outcome)
{
    uint8_t *ways = NEWN(a, uint8_t, f->nodes.n);
    for (; node >= 0; outcome = f->nodes.at[node].outcome, node = f->nodes.at[node].parent)
        ways[node] = outcome ? WAY_TRUE : WAY_FALSE;
    return ways;
}

/* What follows an outcome: a version and what is to be said of it, or further comparisons. */
static void tree_way(const Tree *t, int node, bool outcome)
{
    int last;
    const Node *n = &t->forest->nodes.at[node];
    if (n_below(t->forest, node, outcome, false, &last) == 0) {
        const uint8_t *ways = ways_to(t->a, t->forest, node, outcome);
        html_text(t->o, !node_is_loop(n) ? versions_taken(t->a, t->forest, ways)
                        : outcome        ? "the loop's launches stay apart"
                                         : "they become one");
        const char *what = t->leaf(t->env, node, outcome);
        if (*what) {
            out_puts(t->o, " <span class=\"tag\">");
            html_text(t->o, what);
            out_puts(t->o, "</span>");
        }
        VersionIds ids = version_ids(t->a, t->forest, ways);
        if (!node_is_loop(n))
            words_html(t->o, t->words, &ids);
    }
    tree_below(t, node, outcome);
}

/* A comparison, and on the same level what is compared instead where it fails. */
static void tree_node(const Tree *t, int node)
{
    int next;
    out_puts(t->o, "<li><b>");
    html_text(t->o, short_name(t->forest->nodes.at[node].name));
    out_puts(t->o, "</b>");
    html_textf(t->o, " (%s) reached: ", threshold_text(t->a, t->settings[node]));
    tree_way(t, node, true);
    out_puts(t->o, "</li>\n");
    if (n_below(t->forest, node, false, true, &next) == 1 &&
        !node_is_loop(&t->forest->nodes.at[next])) {
        tree_node(t, next);
        return;
    }
    out_puts(t->o, "<li>else: ");
    tree_way(t, node, false);
    out_puts(t->o, "</li>\n");
}

static void tree_below(const Tree *t, int parent, bool outcome)
{
    for (int i = 0; i < t->forest->nodes.n; i++) {
        const Node *n = &t->forest->nodes.at[i];
        if (n->parent != parent || (parent >= 0 && n->outcome != outcome))
            continue;
        out_puts(t->o, parent < 0 ? "<ul class=\"tree\">\n" : "<ul>\n");
        tree_node(t, i);
        out_puts(t->o, "</ul>\n");
    }
}

void tree_html(const Tree *t)
{
    out_puts(t->o, "<div class=\"scroll\">");
    tree_below(t, -1, false);
    out_puts(t->o, "</div>\n");
}

/* --- Times ---------------------------------------------------------------------------------- */

const char *measured_text(Arena *a, const Measurement *m)
{
    if (!m->ok)
        return m->why;
    if (m->cut)
        return arena_printf(a, "\xe2\x89\xa5 %s, stopped", time_text(a, m->median));
    return arena_printf(a, "%s \xc2\xb1 %.1f %%", time_text(a, m->median), 100 * m->noise);
}

static int by_time(const void *x, const void *y)
{
    double a = ((const Trial *)x)->m.median, b = ((const Trial *)y)->m.median;
    return (a > b) - (a < b);
}

/* The settings of a trial, of the thresholds that it compared with. */
static const char *settings_text(Arena *a, const Forest *f, const Trial *v)
{
    const char *text = "";
    for (int i = 0; v->settings && i < f->nodes.n; i++)
        if (v->settings[i] != THRESHOLD_UNSET && v->ways[i])
            text = arena_printf(a, "%s%s%s=%s", text, *text ? " " : "",
                                short_name(f->nodes.at[i].name), threshold_text(a, v->settings[i]));
    return *text ? text : "nothing set";
}

void trials_html(Arena *a, Out *o, const Forest *f, const VersionWords *words, const Trials *trials)
{
    static const char *const heads[] = {"versions", "#time", "from 0 to the slowest",
                                        "#runs",    "under", NULL};
    Trials ts = {0};
    double most = 0;
    vec_append(a, &ts, trials);
    if (ts.n)
        qsort(ts.at, (size_t)ts.n, sizeof *ts.at, by_time);
    for (int k = 0; k < ts.n; k++)
        most = ts.at[k].m.ok ? fmax(most, ts.at[k].m.median * (1 + ts.at[k].m.noise)) : most;
    html_table(o, heads);
    for (int k = 0; k < ts.n; k++) {
        const Measurement *m = &ts.at[k].m;
        html_row(o);
        VersionIds ids = version_ids(a, f, ts.at[k].ways);
        words_cell(o, true, *ts.at[k].taken ? ts.at[k].taken : "none", words, &ids);
        html_number(o, measured_text(a, m));
        if (m->ok)
            html_bar(o, m->median, m->median * (1 - m->noise), m->median * (1 + m->noise), most);
        else
            html_cell(o, m->wrong ? "a wrong result" : "fails");
        html_number(o, arena_printf(a, "%d", m->n));
        html_cell(o, settings_text(a, f, &ts.at[k]));
    }
    html_table_end(o);
}
