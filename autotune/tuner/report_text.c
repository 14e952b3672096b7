/* minifut tune: what was found, on standard output. */
#include "autotune/tuner/tuning.h"

#include <math.h>
#include <stdio.h>

const char *threshold_text(Arena *a, int64_t value)
{
    return value == THRESHOLD_UNSET   ? "unset"
           : value >= THRESHOLD_NEVER ? "never"
                                      : arena_printf(a, "%lld", (long long)value);
}

static const char *range_text(Arena *a, const Tuning *t, int node)
{
    Range r = tuning_range(t, node);
    const char *note = r.refused == t->datasets->n ? "the device cannot run this version"
                       : r.refused                 ? arena_printf(a, " (refused on %d)", r.refused)
                                                   : "";
    if (!r.asked)
        return *note ? note : "any value will do";
    if (r.low >= r.high)
        return arena_printf(a, "%d data sets, no common value%s", r.asked, note);
    return arena_printf(a, "%d data set%s: %lld < t <= %s%s", r.asked, r.asked == 1 ? "" : "s",
                        (long long)r.low, threshold_text(a, r.high), note);
}

static void print_conflicts(Arena *a, const Tuning *t)
{
    for (int i = 0; i < t->found->conflicts.n; i++) {
        const Conflict *c = &t->found->conflicts.at[i];
        printf("no value of %s is best for all of:", t->forest->nodes.at[c->node].name);
        for (int k = 0; k < c->n_datasets; k++)
            printf(" %s", t->datasets->at[c->datasets[k]].name);
        printf("; %s loses least in total\n", threshold_text(a, c->chosen));
    }
}

void report_found(Arena *a, const Tuning *t)
{
    int good = 0;
    for (int d = 0; d < t->datasets->n; d++)
        good += !isinf(t->found->datasets[d].best);
    printf("%s: %d thresholds, %d data sets, %d runs, %.1f s\n", t->entry, t->forest->nodes.n, good,
           t->found->runs, t->seconds);
    printf("thresholds (a version is taken when its parallelism reaches its threshold):\n");
    for (int i = 0; i < t->forest->nodes.n; i++)
        printf("  %-28s %12s   %s\n", t->forest->nodes.at[i].name,
               threshold_text(a, t->found->settings[i]), range_text(a, t, i));
    print_conflicts(a, t);
}

void report_sizes(const Tuning *t)
{
    const SizesFound *f = t->sizes_found;
    if (!t->sizes->n || (!f && !t->size_values))
        return;
    printf(f ? "sizes (%d runs%s):\n" : "sizes (left alone):\n", f ? f->runs : 0,
           f && f->limited ? ", then time was up: --seconds" : "");
    for (int i = 0; i < t->sizes->n; i++) {
        int64_t set = t->size_values ? t->size_values[i] : 0;
        if (!size_is_told(t, i))
            continue;
        char value[32] = "unset";
        if (set)
            snprintf(value, sizeof value, "%lld", (long long)set);
        printf("  %-28s %12s   %lld by default", t->sizes->at[i].name, value,
               (long long)t->sizes->at[i].def);
        if (f && f->tried[i])
            printf(", %d other%s tried", f->tried[i], f->tried[i] == 1 ? "" : "s");
        else if (f && f->complete && !f->limited)
            printf(", takes no part in 5 %% of the time");
        printf("\n");
    }
}

void report_loss(const Tuning *t)
{
    double untuned = tuning_loss(t, false), tuned = tuning_loss(t, true);
    if (isfinite(untuned) && isfinite(tuned)) {
        printf("of each data set's own best time: untuned %.2f, tuned %.2f", untuned, tuned);
        if (isfinite(t->found->unseen))
            printf(", on a data set left out %.2f", t->found->unseen);
        printf(" (geometric means)\n");
    }
    if (t->found->distrusted)
        printf("what is faster on these data sets only, and loses on those left out, is not set\n");
}

void report_verdict_head(void)
{
    printf("%-24s %12s %12s %9s %8s\n", "data set", "untuned", "tuned", "speedup", "regret");
}

void report_verdict(Arena *a, const Tuning *t, int d)
{
    const Verdict *v = &t->verdicts[d];
    const char *name = t->datasets->at[d].name;
    const char *untuned = v->untuned.ok ? time_text(a, v->untuned.median) : "fails";
    if (!v->tuned.ok) {
        printf("%-24s %12s %12s\n", name, untuned, "fails");
        return;
    }
    double faster = v->same         ? 1
                    : v->untuned.ok ? speedup(v->untuned.median, v->tuned.median)
                                    : INFINITY;
    printf("%-24s %12s %12s %8.2fx %6.1f %%%s\n", name, untuned, time_text(a, v->tuned.median),
           faster, 100 * tuning_regret(t, d),
           t->withdrawn ? "  (the same program)"
           : v->same    ? "  (the same versions)"
           : v->loses   ? "  (slower than untuned)"
           : v->gains   ? ""
                        : "  (no difference beyond noise)");
}
