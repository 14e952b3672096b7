/* What was chosen for all data sets together is put together from parts of runs where nobody has
 * run it, which goes wrong where nests are not as independent as the forest says. So it is run, and
 * if it is not what it was taken for, chosen again with what is known now. So is what was stopped
 * as it lost by far, which may matter little beside others. */
#include "autotune/search/choose.h"

#include <math.h>

/* Runs the settings on the data set unless that has been done, to its end. Did it run, or must all
 * end? */
typedef enum { KNOWN, MEASURED, GIVEN_UP } Outcome;

static Outcome settle_dataset(Arena *a, const Forest *f, int d, RunFn *run, void *env,
                              const int64_t *settings, DatasetResult *res)
{
    int memo, runs = res->runs;
    int64_t *cur = NEWN(a, int64_t, f->nodes.n);
    for (int i = 0; i < f->nodes.n; i++)
        cur[i] = settings[i];
    Probe p = {.a = a, .f = f, .dataset = d, .run = run, .env = env, .res = res, .cur = cur};
    int row = memory_find(f, res, settings);
    bool cut = row >= 0 && res->memory.at[row].sample.cut;
    if (row >= 0 && !cut)
        return KNOWN;
    Sample s = probe_measure(&p, cut ? INFINITY : res->best, &memo);
    if (p.failed)
        return GIVEN_UP;
    if (cut)
        points_refresh(f, res);
    if (!s.cut && s.seconds < res->best)
        res->best = s.seconds;
    return res->runs > runs ? MEASURED : KNOWN;
}

void settle(Arena *a, const Forest *f, int n_datasets, const SearchOptions *o, RunFn *run,
            void *env, SearchResult *r)
{
    /* Each round excludes settings, or ends it; a few more than there are data sets, whose own
     * settings compete. */
    int rounds = n_datasets + 4;
    for (bool news = true; news && r->complete && rounds-- > 0;) {
        news = false;
        for (int d = 0; d < n_datasets && r->complete; d++) {
            if (isinf(r->datasets[d].best))
                continue;
            Outcome now = settle_dataset(a, f, d, run, env, r->settings, &r->datasets[d]);
            news |= now == MEASURED;
            r->runs += now == MEASURED;
            r->complete = now != GIVEN_UP;
        }
        if (news) {
            r->conflicts.n = 0;
            r->distrusted = false;
            choose(a, f, n_datasets, o, r);
        }
    }
}
