/* The final check of a tuning: the tuned program against the untuned one, and against what was
 * found to be best on the data set. */
#include "autotune/search/choose.h"
#include "autotune/tuner/tuning.h"

#include <math.h>
#include <string.h>

/* What is slower by less is as fast. */
static const double LITTLE = 0.03;

/* ... beyond noise */
static bool slower(const Measurement *m, const Measurement *than)
{
    return m->median > than->median &&
           !times_equal(m->median, than->median, LITTLE + m->noise + than->noise);
}

/* ... though it may be noise, of which the medians of few runs know little. */
static bool looks_slower(const Measurement *m, const Measurement *than)
{
    static const double MUCH = 1.25;
    return m->ok && than->ok && m->noise + than->noise > 0 && m->median > than->median &&
           m->median < MUCH * than->median && !times_equal(m->median, than->median, LITTLE);
}

/* The faster of what was known and what a run made once more gives. */
static void keep_faster(Measurement *known, const Measurement *again)
{
    if (again->ok && again->median < known->median)
        *known = *again;
}

/* What is compared: each setup[i] is measured as at[place[i]]. */
enum { TUNED, UNTUNED, OWN, N_COMPARED };
typedef struct {
    Setup setup[N_COMPARED], distinct[N_COMPARED];
    int place[N_COMPARED], n;
    Measurement at[N_COMPARED];
} Comparison;

/* Are both known to take the same versions? Sizes are the tuned ones or the defaults. */
static bool alike(const Forest *f, const DatasetResult *res, Setup a, Setup b)
{
    size_t size = sizeof *a.thresholds * (size_t)f->nodes.n;
    if (a.sizes != b.sizes)
        return false;
    int row = f->nodes.n ? memory_find(f, res, a.thresholds) : -1;
    return f->nodes.n == 0 || memcmp(a.thresholds, b.thresholds, size) == 0 ||
           (row >= 0 && memory_find(f, res, b.thresholds) == row);
}

/* What is known to be alike is measured once. */
static void find_distinct(Comparison *c, const Forest *f, const DatasetResult *res)
{
    for (int i = 0; i < N_COMPARED; i++) {
        int k = 0;
        while (k < c->n && !alike(f, res, c->setup[i], c->distinct[k]))
            k++;
        c->place[i] = k;
        if (k == c->n)
            c->distinct[c->n++] = c->setup[i];
    }
}

static void measure_all(Meter *m, int d, const Comparison *c, Measurement *at)
{
    if (c->n == 1)
        at[0] = meter_measure(m, d, c->distinct[0], INFINITY, 0);
    else
        meter_measure_in_turn(m, d, c->n, c->distinct, at);
}

Verdict verdict_on(Meter *m, const Forest *f, int d, const DatasetResult *res,
                   const int64_t *untuned, Setup tuned)
{
    enum { MORE = 2 };
    Comparison c = {
        .setup = {[TUNED] = tuned, [UNTUNED] = {untuned, NULL}, [OWN] = {res->own, tuned.sizes}}};
    find_distinct(&c, f, res);
    measure_all(m, d, &c, c.at);
    Measurement *of_tuned = &c.at[c.place[TUNED]], *of_untuned = &c.at[c.place[UNTUNED]],
                *of_own = &c.at[c.place[OWN]];
    bool both = of_untuned->ok && of_tuned->ok;
    bool same = both && !tuned.sizes && same_versions(of_untuned, of_tuned);
    for (int again = 0; again < MORE && both &&
                        (looks_slower(of_tuned, of_own) || (!same && slower(of_tuned, of_untuned)));
         again++) {
        Measurement at[N_COMPARED];
        measure_all(m, d, &c, at);
        for (int i = 0; i < c.n; i++)
            keep_faster(&c.at[i], &at[i]);
    }
    if (same) { /* then they differ by noise */
        keep_faster(of_untuned, of_tuned);
        *of_tuned = *of_untuned;
    }
    return (Verdict){.made = true,
                     .untuned = *of_untuned,
                     .tuned = *of_tuned,
                     .own = *of_own,
                     .same = same,
                     .gains = both && !same && slower(of_untuned, of_tuned),
                     .loses = !of_tuned->ok || (both && !same && slower(of_tuned, of_untuned))};
}

const char *verdicts_refuse(Arena *a, const Tuning *t, const SearchOptions *o)
{
    static const double BEYOND = 0.02; /* ... noise */
    int n = t->datasets->n;
    Choice c = choice_of(a, t->forest, n, o, t->found->datasets);
    double *untuned = NEWN(a, double, n), *tuned = NEWN(a, double, n);
    bool any = false, gains = false;
    for (int d = 0; d < n; d++) {
        const Verdict *v = &t->verdicts[d];
        c.in[d] = v->made && v->untuned.ok;
        untuned[d] = v->untuned.median;
        tuned[d] = v->tuned.ok ? v->tuned.median : INFINITY;
        any |= c.in[d] && v->loses;
        gains |= c.in[d] && v->gains;
        if (v->made && !v->untuned.ok && v->tuned.ok)
            return NULL; /* it does not even run */
    }
    if (!gains)
        return "on no data set is the tuned program faster when both run in turn";
    double now = any ? objective_of(&c, tuned) : 0, before = any ? objective_of(&c, untuned) : 0;
    /* a user's may be negative */
    return now > before + BEYOND * fabs(before) ? "all in all the untuned program is faster" : NULL;
}
