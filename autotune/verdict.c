/* The final check of a tuning: the tuned program against the untuned one. */
#include "autotune/tuning.h"

#include <math.h>

static bool slower(const Measurement *m, const Measurement *than)
{
    return m->median > than->median * (1.03 + m->noise + than->noise);
}

/* The faster of what was known and what a run made once more gives. */
static void keep_faster(Measurement *known, Measurement again)
{
    if (again.ok && again.median < known->median)
        *known = again;
}

Verdict verdict_on(Meter *m, int d, const int64_t *untuned, const int64_t *tuned)
{
    Verdict v = {.made = true,
                 .untuned = meter_measure(m, d, untuned, INFINITY),
                 .tuned = meter_measure(m, d, tuned, INFINITY)};
    bool both = v.untuned.ok && v.tuned.ok;
    v.same = both && same_versions(&v.untuned, &v.tuned);
    for (int again = 0; again < 3 && both && !v.same && slower(&v.tuned, &v.untuned); again++) {
        keep_faster(&v.untuned, meter_measure(m, d, untuned, INFINITY));
        keep_faster(&v.tuned, meter_measure(m, d, tuned, INFINITY));
    }
    if (v.same) { /* then they differ by noise */
        keep_faster(&v.untuned, v.tuned);
        v.tuned = v.untuned;
    }
    v.loses = !v.tuned.ok || (both && !v.same && slower(&v.tuned, &v.untuned));
    return v;
}
