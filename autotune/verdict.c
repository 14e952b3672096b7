/* The final check of a tuning: the tuned program against the untuned one. */
#include "autotune/paths.h"
#include "autotune/tuning.h"

static bool slower(const Measurement *m, const Measurement *than)
{
    static const double BEYOND = 0.03; /* ... noise */
    return m->median > than->median &&
           !times_equal(m->median, than->median, BEYOND + m->noise + than->noise);
}

/* The faster of what was known and what a run made once more gives. */
static void keep_faster(Measurement *known, const Measurement *again)
{
    if (again->ok && again->median < known->median)
        *known = *again;
}

Verdict verdict_on(Meter *m, int d, const int64_t *untuned, const int64_t *tuned)
{
    enum { MORE = 2 };
    const int64_t *const settings[2] = {untuned, tuned};
    Measurement pair[2];
    meter_measure_pair(m, d, settings, pair);
    Verdict v = {.made = true, .untuned = pair[0], .tuned = pair[1]};
    bool both = v.untuned.ok && v.tuned.ok;
    v.same = both && same_versions(&v.untuned, &v.tuned);
    for (int again = 0; again < MORE && both && !v.same && slower(&v.tuned, &v.untuned); again++) {
        meter_measure_pair(m, d, settings, pair);
        keep_faster(&v.untuned, &pair[0]);
        keep_faster(&v.tuned, &pair[1]);
    }
    if (v.same) { /* then they differ by noise */
        keep_faster(&v.untuned, &v.tuned);
        v.tuned = v.untuned;
    }
    v.loses = !v.tuned.ok || (both && !v.same && slower(&v.tuned, &v.untuned));
    return v;
}
