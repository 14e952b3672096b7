/* minifut tune: sizes, after the thresholds and with these. */
#include "autotune/run/talk.h"
#include "autotune/tuner/tuning.h"

#include <math.h>
#include <stdio.h>

/* How long it may take if nothing else is asked for: sizes gain little where thresholds gain much.
 * Of each data set so many measurements at most. */
static const double SECONDS = 3;
enum { MOST_TESTS = 40 };

/* Only kernels with more than this part of the device's time matter, in per mille. */
enum { MATTERS = 50 };

/* "group_size=128", "sizes as they are" */
static const char *values_text(const SizeTuner *t, const int64_t *values)
{
    const char *text = "";
    for (int i = 0; i < t->sizes->n; i++)
        if (values[i])
            text = arena_printf(t->a, "%s%s%s=%lld", text, *text ? " " : "",
                                short_name(t->sizes->at[i].name), (long long)values[i]);
    return *text ? text : "sizes as they are";
}

static void show(SizeTuner *t, int d, const int64_t *values, double best)
{
    progress_show(t->a, t->shown,
                  &(ProgressState){t->runs, t->runs, t->ds->at[d].name, values_text(t, values),
                                   best, t->clock() - t->start});
    t->runs++;
}

/* What a measurement tells the search. False: it is no use to go on. */
static bool take(SizeTuner *t, int d, const int64_t *values, const Measurement *m, Sample *out)
{
    if (m->gone)
        t->gone = m->why;
    if (server_interrupted() || m->gone)
        return false;
    *out = (Sample){.seconds = m->median, .noise = m->noise, .cut = m->cut, .partial = m->partial};
    if (m->wrong) {
        progress_clear(t->shown);
        fprintf(stderr,
                "%s: %s: %s\n    sizes that change results are a bug of minifut, if no rounding "
                "explains it "
                "(--tolerance): please report it\n",
                t->ds->at[d].name, values_text(t, values), m->why);
    }
    return true;
}

static bool run_sizes(void *env, int d, const int64_t *values, double rival, double parts,
                      Sample *out)
{
    SizeTuner *t = env;
    (void)parts;
    if (isinf(t->found->datasets[d].best)) { /* no version runs */
        *out = (Sample){.seconds = INFINITY};
        return true;
    }
    show(t, d, values, rival);
    Measurement m = meter_measure(t->m, d, (Setup){t->found->settings, values}, rival, 0);
    return take(t, d, values, &m, out);
}

static bool run_pair(void *env, int d, const int64_t *const values[2], Sample out[2])
{
    SizeTuner *t = env;
    Measurement m[2];
    const Setup both[2] = {{t->found->settings, values[0]}, {t->found->settings, values[1]}};
    show(t, d, values[1], INFINITY);
    meter_measure_in_turn(t->m, d, 2, both, m);
    return take(t, d, values[0], &m[0], &out[0]) && take(t, d, values[1], &m[1], &out[1]);
}

/* The defaults of choices that are close. */
static int64_t *defaults_of_choices(SizeTuner *t, int *n_others)
{
    int n = t->sizes->n;
    int64_t *defaults = NEWN(t->a, int64_t, n);
    *n_others = n;
    for (int i = 0; i < n; i++)
        if (t->sizes->at[i].choice) {
            defaults[i] = t->close[i] ? t->sizes->at[i].def : 0;
            (*n_others)--;
        }
    return defaults;
}

/* ... and of those sizes that kernels depend on which matter on some data set; 0 of the others. */
static int64_t *defaults_that_matter(SizeTuner *t)
{
    int n = t->sizes->n, left;
    int64_t *defaults = defaults_of_choices(t, &left), *shares = NEWN(t->a, int64_t, n);
    for (int d = 0; d < t->ds->n && left && !server_interrupted(); d++) {
        if (isinf(t->found->datasets[d].best))
            continue;
        progress_show(t->a, t->shown,
                      &(ProgressState){t->runs, t->runs, t->ds->at[d].name, "which kernels matter",
                                       INFINITY, t->clock() - t->start});
        bool told = meter_shares(t->m, d, t->found->settings, shares);
        for (int i = 0; i < n; i++)
            if (!defaults[i] && !t->sizes->at[i].choice && (!told || shares[i] > MATTERS)) {
                defaults[i] = t->sizes->at[i].def;
                left--;
            }
    }
    meter_shares_end(t->m);
    return defaults;
}

int sizes_tests(int n_datasets)
{
    return MOST_TESTS * n_datasets;
}

SizesFound tune_sizes(SizeTuner *t)
{
    double now = t->clock(), end = t->seconds > 0 ? t->start + t->seconds : now + SECONDS;
    double expected = (now - t->start) / (t->found->runs + 1);
    bool time = now + expected * (t->ds->n + 1) < end; /* for the defaults and a value */
    int64_t *defaults = time ? defaults_that_matter(t) : NEWN(t->a, int64_t, t->sizes->n);
    SizesFound found = sizes_search(t->a, &(SizeSearch){.n = t->sizes->n,
                                                        .n_datasets = t->ds->n,
                                                        .defaults = defaults,
                                                        .run = run_sizes,
                                                        .pair = run_pair,
                                                        .env = t,
                                                        .tests = sizes_tests(t->ds->n),
                                                        .seconds = end,
                                                        .expected = expected,
                                                        .clock = t->clock});
    found.limited |= t->sizes->n && !time;
    return found;
}
