/* Measuring a version: a warm-up, then as many runs as it takes to know whether it is faster than
 * its rival, or the median where that is as fast. A version that lost by far gets one run,
 * or less. */
#include "autotune/run/measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MIN_RUNS = 5, MAX_RUNS = 60 };
static const double ENOUGH_SECONDS = 0.25; /* of running, once MIN_RUNS are made */
static const double GOOD_NOISE = 0.01;
static const double LONG_RUNS = 1.0; /* seconds in all: two runs of these are enough */

/* A run has lost by far if it takes longer than FAR rivals and FAR_SECONDS, which a device may have
 * taken for something else. The first one also loads kernels and finds memory. */
static const double FAR = 2, FAR_SECONDS = 50e-6;
static const double FAR_AT_FIRST = 4, FAR_SECONDS_AT_FIRST = 10e-3;
/* ... if it also tells its parts, for which the device is waited for at each comparison; times the
 * slowdown known. */
static const double FAR_WITH_PARTS = 8;
/* What is taken for the noise of the parts of a single run. */
static const double ONE_NOISE = 0.05;
/* When the first one is stopped, at the earliest: the program looks at the clock only now
 * and then. */
static const double STOP_SECONDS = 0.1;
/* Runs that are all slower than the rival by this need not be MIN_RUNS. */
static const double CLEARLY = 1.25;
enum { CLEAR_RUNS = 3 };
/* How well the time of a version is to be known that is faster than its rival. */
static const double WINNER_NOISE = 0.03;
/* Short runs that differ by more had the device or a processor not for themselves: some of 18 us
 * took 230 while other programs started. They are made again, a little later. */
static const double DISTURBED = 0.2;
static const struct timespec LATER = {0, 20 * 1000 * 1000};
enum { MORE_TRIES = 2 };

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

const char *speedup_range(Arena *a, const Measurement *untuned, const Measurement *tuned)
{
    return arena_printf(
        a, "%.2f to %.2f",
        speedup(untuned->median * fmax(0, 1 - untuned->noise), tuned->median * (1 + tuned->noise)),
        speedup(untuned->median * (1 + untuned->noise), tuned->median * fmax(0, 1 - tuned->noise)));
}

bool was_disturbed(const Measurement *m)
{
    static const double WIDE = 0.2; /* an interval, of which `noise` is half */
    return m->ok && !m->cut && 2 * m->noise > WIDE && m->noise * m->median > 2 * RESOLUTION;
}

void warn_if_busy(const char *tool, int disturbed, int n, double worst)
{
    if (disturbed)
        fprintf(stderr,
                "minifut %s: warning: the machine is busy: times on %d of %d data set%s are known "
                "to \xc2\xb1 %.0f %% only; "
                "run this again when nothing else runs\n",
                tool, disturbed, n, n == 1 ? "" : "s", 100 * worst);
}

/* Times in order, and what they say of the median. */
typedef struct {
    double t[MAX_RUNS];
    int n;
    double median, low,
        high; /* the median lies there with 95 % confidence, or as near to that as n runs get */
} Times;

/* How many times at each end of n in order lie outside the 95 % confidence interval of the median:
 * so many of n fair coins show heads in less than 2.5 % of all throws. */
static int outside(int n)
{
    double p = ldexp(1, -n), sum = p;
    int k = 0;
    while (sum <= 0.025) {
        p = p * (n - k) / (k + 1);
        sum += p;
        k++;
    }
    return k > 0 ? k - 1 : 0;
}

static void add_time(Times *s, double seconds)
{
    s->t[s->n++] = seconds;
    qsort(s->t, (size_t)s->n, sizeof *s->t, cmp_double);
    int n = s->n, k = outside(n);
    s->median = n % 2 ? s->t[n / 2] : (s->t[n / 2 - 1] + s->t[n / 2]) / 2;
    s->low = s->t[k];
    s->high = s->t[n - 1 - k];
}

static double noise_of(const Times *s)
{
    double half = fmax(fmax(s->high - s->median, s->median - s->low), RESOLUTION / 2);
    return s->median > 0 ? half / s->median : 0;
}

/* Need nothing more be known of the version? total: seconds of running so far. */
static bool decided(const Times *s, double rival, double total)
{
    double noise = noise_of(s);
    if (s->n >= MAX_RUNS || (total >= LONG_RUNS && s->n >= 2))
        return true;
    if (s->n >= CLEAR_RUNS && s->t[0] > CLEARLY * rival + FAR_SECONDS)
        return true;
    if (s->n < MIN_RUNS)
        return false;
    return total >= ENOUGH_SECONDS || noise < GOOD_NOISE || s->low > rival ||
           (s->high < rival && noise < WINNER_NOISE);
}

/* What a run that did not end well says. */
static Measurement failed(const RunResult *r)
{
    return (Measurement){
        .why = r->why, .wrong = r->wrong, .gone = r->gone, .median = INFINITY, .log = r->log};
}

/* A version that lost by far: all that is known is what this run took. */
static Measurement cut(const RunResult *r)
{
    return (Measurement){.ok = true,
                         .cut = true,
                         .partial = r->stopped,
                         .median = r->seconds,
                         .n = 1,
                         .log = r->log};
}

/* The comparisons, each once: a loop makes them again and again. */
static LogLines distinct(const LogLines *log)
{
    LogLines res = {.at = log->at};
    for (int i = 0; i < log->n; i++) {
        const LogLine *l = &log->at[i];
        bool known = false;
        for (int k = 0; k < res.n && !known; k++)
            known = res.at[k].par == l->par && res.at[k].outcome == l->outcome &&
                    strcmp(res.at[k].name, l->name) == 0;
        if (!known)
            res.at[res.n++] = *l;
    }
    return res;
}

/* The first run, which is checked, and stopped when it has taken so many rivals. */
static RunResult warm_up(Session *s, int d, double limit, double rival, double far)
{
    bool may_stop = !isinf(rival);
    session_stop_after(s, may_stop ? fmax(STOP_SECONDS, far * rival) : 0);
    RunResult r = session_run(s, d, limit, true);
    session_stop_after(s, 0);
    r.log = distinct(&r.log);
    return r;
}

/* Runs that follow a first one which has not lost; *total: seconds that they took. */
static Measurement measure_once(Session *s, int d, double limit, double rival,
                                const RunResult *first, double *total)
{
    RunResult r = {0};
    Times times = {0};
    *total = 0;
    do {
        r = session_run(s, d, limit, false);
        if (!r.ok)
            return failed(&r);
        r.log = first->log;
        if (times.n == 0 && r.seconds > FAR * rival + FAR_SECONDS)
            return cut(&r);
        add_time(&times, r.seconds);
        *total += r.seconds;
    } while (!decided(&times, rival, *total));
    return (Measurement){.ok = true,
                         .median = times.median,
                         .noise = noise_of(&times),
                         .n = times.n,
                         .log = first->log};
}

/* ... the fastest of some tries, where something disturbed them. */
static Measurement measure_on(Session *s, int d, double limit, double rival, const RunResult *first)
{
    double total;
    Measurement best = measure_once(s, d, limit, rival, first, &total);
    for (int i = 0;
         i < MORE_TRIES && best.ok && !best.cut && best.noise > DISTURBED && total < ENOUGH_SECONDS;
         i++) {
        nanosleep(&LATER, NULL);
        Measurement m = measure_once(s, d, limit, rival, first, &total);
        if (!m.ok)
            return m;
        if (!m.cut && m.median <= best.median)
            best = m;
    }
    return best;
}

static bool is_lost(const RunResult *first, double rival, double far)
{
    return first->stopped || (first->ok && first->seconds > far * rival + FAR_SECONDS_AT_FIRST);
}

Measurement session_measure(Session *s, int d, double limit, double rival)
{
    RunResult first = warm_up(s, d, limit, rival, FAR_AT_FIRST);
    if (is_lost(&first, rival, FAR_AT_FIRST))
        return cut(&first);
    return first.ok ? measure_on(s, d, limit, rival, &first) : failed(&first);
}

/* --- Parts ---------------------------------------------------------------------------------- */

/* Adds a run's parts to the times of each; false if it has others. */
static bool add_parts(Times *times, const TimedParts *parts, const TimedParts *run)
{
    bool same = run->n == parts->n;
    for (int i = 0; i < parts->n && same; i++)
        same = strcmp(run->at[i].name, parts->at[i].name) == 0;
    for (int i = 0; i < parts->n && same; i++)
        add_time(&times[i], run->at[i].seconds);
    return same;
}

/* Are the parts known well enough, for runs of so many seconds? */
static bool parts_decided(const Times *times, int n, double total)
{
    enum { MOST_RUNS = 15 };
    int runs = times->n;
    double half = 0;
    for (int i = 0; i < n; i++)
        half = fmax(half, times[i].high - times[i].low) / 2;
    return runs >= MOST_RUNS || (total >= LONG_RUNS && runs >= 2) ||
           (runs >= CLEAR_RUNS && total >= ENOUGH_SECONDS) ||
           (runs >= MIN_RUNS && half * runs < GOOD_NOISE * total);
}

/* Medians of the parts of some runs, or of what has lost those of one; none if a run has no parts,
 * or others than another. */
static TimedParts measure_parts(Session *s, int d, double limit, bool lost)
{
    RunResult r = session_run(s, d, limit, false);
    TimedParts parts = r.parts;
    Times *times = calloc((size_t)parts.n + 1, sizeof *times);
    double total = r.seconds;
    bool same = times && r.ok && parts.n > 0 && add_parts(times, &parts, &r.parts);
    while (same && !lost && !parts_decided(times, parts.n, total)) {
        r = session_run(s, d, limit, false);
        total += r.seconds;
        same = r.ok && add_parts(times, &parts, &r.parts);
    }
    for (int i = 0; i < parts.n && same; i++) {
        parts.at[i].seconds = times[i].median;
        parts.at[i].noise = lost ? ONE_NOISE : noise_of(&times[i]);
    }
    free(times);
    return same ? parts : (TimedParts){0};
}

Measurement session_measure_parts(Session *s, int d, double limit, double rival, double slowdown)
{
    double far = FAR_WITH_PARTS * slowdown;
    session_tell_parts(s, true);
    RunResult first = warm_up(s, d, limit, rival, far);
    session_tell_parts(s, false);
    if (first.stopped || !first.ok) {
        Measurement m = first.stopped ? cut(&first) : failed(&first);
        m.parts = first.stopped ? first.parts : m.parts;
        return m;
    }
    bool lost = is_lost(&first, rival, far);
    Measurement m = lost ? cut(&first) : measure_on(s, d, limit, rival, &first);
    if (m.ok) {
        session_tell_parts(s, true);
        m.parts = measure_parts(s, d, limit, m.cut);
        session_tell_parts(s, false);
    }
    return m;
}

/* --- Several in turn ------------------------------------------------------------------------ */

/* Several settings that are measured in turn. */
typedef struct {
    int n;
    Times t[MOST_IN_TURN];
    bool going[MOST_IN_TURN]; /* it has not failed */
    double total;
} Turns;

/* Is it known which of the two is faster, or that both are as fast as far as can be told? */
static bool pair_decided(const Times *a, const Times *b)
{
    const Times *slow = a->median > b->median ? a : b, *fast = slow == a ? b : a;
    int n = a->n;
    if (n >= CLEAR_RUNS && slow->t[0] > CLEARLY * fast->t[n - 1] + FAR_SECONDS)
        return true;
    return n >= MIN_RUNS &&
           (slow->low > fast->high || (noise_of(a) < GOOD_NOISE && noise_of(b) < GOOD_NOISE));
}

static bool turns_decided(const Turns *w)
{
    const Times *first = NULL;
    int going = 0;
    bool all = true;
    for (int i = 0; i < w->n; i++) {
        if (!w->going[i])
            continue;
        all &= first ? pair_decided(first, &w->t[i]) : true;
        first = first ? first : &w->t[i];
        going++;
    }
    if (going <= 1)
        return going == 0 || decided(first, INFINITY, w->total);
    return all || first->n >= MAX_RUNS || (first->n >= 2 && w->total >= going * LONG_RUNS) ||
           (first->n >= MIN_RUNS && w->total >= going * ENOUGH_SECONDS);
}

/* A run of each that is going; none is always the one that follows the same other. */
static void run_turns(Session *s, int d, Turns *w, const Setup setups[], double limit,
                      Measurement m[], int round)
{
    for (int k = 0; k < w->n; k++) {
        int i = (round + k) % w->n;
        if (!w->going[i])
            continue;
        session_set_up(s, setups[i]);
        RunResult r = session_run(s, d, limit, false);
        if (r.ok) {
            add_time(&w->t[i], r.seconds);
            w->total += r.seconds;
        } else {
            m[i] = failed(&r);
            w->going[i] = false;
        }
    }
}

void session_measure_in_turn(Session *s, int d, int n, const Setup setups[], double limit,
                             Measurement m[])
{
    Turns w = {.n = n};
    int round = 0;
    for (int i = 0; i < n; i++) {
        session_set_up(s, setups[i]);
        RunResult r = warm_up(s, d, limit, INFINITY, FAR_AT_FIRST);
        m[i] = r.ok ? (Measurement){.ok = true, .log = r.log} : failed(&r);
        w.going[i] = r.ok;
    }
    do {
        run_turns(s, d, &w, setups, limit, m, round++);
    } while (!turns_decided(&w));
    for (int i = 0; i < n; i++)
        if (w.going[i]) {
            m[i].median = w.t[i].median;
            m[i].noise = noise_of(&w.t[i]);
            m[i].n = w.t[i].n;
        }
}

const char *time_text(Arena *a, double seconds)
{
    if (seconds < 1e-3)
        return arena_printf(a, "%.1f us", seconds * 1e6);
    if (seconds < 1)
        return arena_printf(a, "%.2f ms", seconds * 1e3);
    return seconds < 1e9 ? arena_printf(a, "%.2f s", seconds) : "never";
}
