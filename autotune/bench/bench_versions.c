/* minifut bench --report: every version by itself. */
#include "autotune/bench/bench.h"
#include "autotune/run/talk.h"

#include <math.h>

/* Settings with which the node's comparison is made and holds, and no other one that may not; node
 * -1: none holds at all. Loops are left to the program. */
static int64_t *settings_for(Arena *a, const Forest *f, int node)
{
    int64_t *settings = NEWN(a, int64_t, f->nodes.n);
    for (int i = 0; i < f->nodes.n; i++)
        settings[i] = node_is_loop(&f->nodes.at[i]) ? THRESHOLD_UNSET : THRESHOLD_NEVER;
    for (bool holds = true; node >= 0;
         holds = f->nodes.at[node].outcome, node = f->nodes.at[node].parent)
        if (holds)
            settings[node] = THRESHOLD_ALWAYS;
    return settings;
}

Trials bench_versions(Arena *a, Session *s, int d, double limit)
{
    Trials trials = {0};
    const Forest *f = session_forest(s);
    for (int node = -1; node < f->nodes.n && !server_interrupted(); node++) {
        if (node >= 0 && node_is_loop(&f->nodes.at[node]))
            continue;
        const int64_t *settings = settings_for(a, f, node);
        session_set(s, settings);
        Measurement m = session_measure(s, d, limit, INFINITY);
        trial_note(a, &trials, f, settings, &m);
    }
    return trials;
}
