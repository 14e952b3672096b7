/* Measuring a version: a warm-up, then as many runs as it takes to know the median. */
#include "autotune/measure.h"

#include <math.h>
#include <stdlib.h>

enum { MIN_RUNS = 5, MAX_RUNS = 60 };
static const double ENOUGH_SECONDS = 0.25; /* of running, once MIN_RUNS are made */
static const double GOOD_NOISE = 0.01;
static const double LONG_RUN = 1.0; /* seconds: two of these are enough */

static int cmp_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static const double RESOLUTION = 1e-6; /* programs tell whole microseconds */

double speedup(double untuned, double tuned)
{
    return fmax(untuned, RESOLUTION) / fmax(tuned, RESOLUTION);
}

/* Median and the relative half-width of its confidence interval: 1.57 IQR / sqrt n (McGill, Tukey
 * and Larsen 1978). */
static void summarise(Measurement *m, double *t, int n)
{
    qsort(t, (size_t)n, sizeof *t, cmp_double);
    m->median = n % 2 ? t[n / 2] : (t[n / 2 - 1] + t[n / 2]) / 2;
    double iqr = t[(3 * n) / 4 < n ? (3 * n) / 4 : n - 1] - t[n / 4];
    double half = fmax(1.57 * iqr / sqrt(n), RESOLUTION / 2);
    m->noise = m->median > 0 ? half / m->median : 0;
    m->n = n;
}

static void fail(Measurement *m, const RunResult *r)
{
    m->ok = false;
    m->why = r->why;
    m->wrong = r->wrong;
    m->median = INFINITY;
    m->log = r->log;
}

Measurement session_measure(Session *s, int d, double limit)
{
    Measurement m = {0};
    double t[MAX_RUNS], total = 0;
    RunResult first = session_run(s, d, limit, true);
    if (!first.ok) {
        fail(&m, &first);
        return m;
    }
    m.ok = true;
    m.log = first.log;
    int n = 0;
    while (n < MAX_RUNS) {
        RunResult r = session_run(s, d, limit, false);
        if (!r.ok) {
            fail(&m, &r);
            return m;
        }
        t[n++] = r.seconds;
        total += r.seconds;
        summarise(&m, t, n);
        bool enough = n >= MIN_RUNS && (total >= ENOUGH_SECONDS || m.noise < GOOD_NOISE);
        if (enough || (r.seconds >= LONG_RUN && n >= 2))
            break;
    }
    return m;
}

const char *time_text(Arena *a, double seconds)
{
    if (seconds < 1e-3)
        return arena_printf(a, "%.1f us", seconds * 1e6);
    if (seconds < 1)
        return arena_printf(a, "%.2f ms", seconds * 1e3);
    return seconds < 1e9 ? arena_printf(a, "%.2f s", seconds) : "never";
}
