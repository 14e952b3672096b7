/* The final check of a tuning: the tuned program against the untuned one. */
#include "autotune/tuning.h"

#include <string.h>

static Measurement measure_with(Session *s, const int64_t *settings, int d, double limit)
{
    session_set(s, settings);
    return session_measure(s, d, limit);
}

/* Did both runs take the same versions? */
static bool same_versions(const Measurement *a, const Measurement *b)
{
    if (a->log.n != b->log.n)
        return false;
    for (int i = 0; i < a->log.n; i++)
        if (strcmp(a->log.at[i].name, b->log.at[i].name) != 0 ||
            a->log.at[i].outcome != b->log.at[i].outcome)
            return false;
    return true;
}

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

Verdict verdict_on(Session *s, int d, double limit, const int64_t *untuned, const int64_t *tuned)
{
    Verdict v = {.made = true,
                 .untuned = measure_with(s, untuned, d, limit),
                 .tuned = measure_with(s, tuned, d, limit)};
    bool both = v.untuned.ok && v.tuned.ok;
    v.same = both && same_versions(&v.untuned, &v.tuned);
    for (int again = 0; again < 3 && both && !v.same && slower(&v.tuned, &v.untuned); again++) {
        keep_faster(&v.untuned, measure_with(s, untuned, d, limit));
        keep_faster(&v.tuned, measure_with(s, tuned, d, limit));
    }
    v.loses = !v.tuned.ok || (both && !v.same && slower(&v.tuned, &v.untuned));
    return v;
}
