/* Times put together from parts of runs. Nests beside each other do not know of each other: what a
 * version of one takes is known from any run in which it ran, whatever the others did there. So a
 * run may try a version of each nest at once, and tells all of them apart:
 *
 *     run      nest a   nest b                   a's version 1 beside b's version 0, never run:
 *     A        v0  4    v0  6                    10 + (3 - 4) = 9
 *     B        v1  3    v1  8
 *
 * Only differences between parts of runs count, so that waiting for the device to tell them, which
 * makes all runs longer, does not matter. */
#include "autotune/search/paths.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The settings of which something is to be known, and what is. */
typedef struct {
    const Forest *f;
    const DatasetResult *res;
    const int64_t *path;
} Look;

/* What a nest takes: a node and all below it. */
typedef struct {
    double seconds, noise; /* both in seconds */
    bool known;
    bool cut; /* at least that, which is longer than another version takes */
} Slice;

/* --- Runs ------------------------------------------------------------------------------------- */

static const Part *part_of(const Sample *s, int node)
{
    for (int i = 0; i < s->parts.n; i++)
        if (s->parts.at[i].node == node)
            return &s->parts.at[i];
    return NULL;
}

static bool has_parts(const Memo *row)
{
    return row->path && row->sample.parts.n > 0;
}

static bool is_whole(const Memo *row)
{
    return has_parts(row) && !row->sample.partial;
}

static bool is_in(const Forest *f, int node, int top)
{
    while (node > top)
        node = f->nodes.at[node].parent;
    return node == top;
}

/* What the nest at `top` took in a run. */
static Slice slice_in(const Look *l, const Memo *row, int top)
{
    Slice s = {.known = true};
    for (int i = 0; i < row->sample.parts.n; i++) {
        const Part *p = &row->sample.parts.at[i];
        if (!is_in(l->f, p->node, top))
            continue;
        s.seconds += p->seconds;
        s.noise += p->seconds * p->noise;
    }
    return s;
}

static bool same_above(const Look *l, const Memo *row, int node)
{
    for (int i = l->f->nodes.at[node].parent; i >= 0; i = l->f->nodes.at[i].parent)
        if (row->path[i] != l->path[i])
            return false;
    return true;
}

static bool same_in(const Look *l, const Memo *row, int top)
{
    for (int i = top; i < l->f->nodes.n; i++)
        if (is_in(l->f, i, top) && row->path[i] != l->path[i])
            return false;
    return true;
}

/* --- Nests ------------------------------------------------------------------------------------ */

/* What the nest takes, from a run that took the same versions in it. Of one that was stopped it is
 * only known that it has lost, if it had then taken much longer than another version: a nest that
 * is innocent may have waited for memory or kernels, too. */
static Slice slice_run(const Look *l, int top)
{
    const double MUCH = 2; /* runs are stopped that take longer: one of the nests must have lost */
    double least = INFINITY;
    Slice lost = {0};
    for (int i = 0; i < l->res->memory.n; i++) {
        const Memo *row = &l->res->memory.at[i];
        if (!has_parts(row) || !same_above(l, row, top))
            continue;
        Slice s = slice_in(l, row, top);
        bool same = same_in(l, row, top);
        if (same && is_whole(row))
            return s;
        if (is_whole(row))
            least = fmin(least, s.seconds);
        else if (same && s.seconds > lost.seconds)
            lost = (Slice){s.seconds, s.noise, false, true};
    }
    lost.known = lost.seconds >= MUCH * least;
    return lost;
}

static Slice slice_of(const Look *l, int top);

/* ... put together from the nests in it, and what a run took apart from these. */
static Slice slice_together(const Look *l, int top)
{
    const Part *own = NULL;
    for (int i = 0; i < l->res->memory.n && !own; i++) {
        const Memo *row = &l->res->memory.at[i];
        if (is_whole(row) && same_above(l, row, top) && row->path[top] == l->path[top])
            own = part_of(&row->sample, top);
    }
    if (!own)
        return (Slice){0};
    Slice all = {own->seconds, own->seconds * own->noise, true, false};
    bool any = false;
    for (int i = top + 1; i < l->f->nodes.n && all.known; i++) {
        if (l->f->nodes.at[i].parent != top || l->path[i] == PATH_NONE)
            continue;
        Slice s = slice_of(l, i);
        all = (Slice){all.seconds + s.seconds, all.noise + s.noise, s.known, all.cut || s.cut};
        any = true;
    }
    all.known &= any;
    return all;
}

static Slice slice_of(const Look *l, int top)
{
    Slice s = slice_run(l, top);
    return s.known ? s : slice_together(l, top);
}

/* --- The run that another one differs from in nests only -------------------------------------- */

/* Was that a nest of its own in the run, beside another one, got to in the same way? */
static bool is_nest(const Look *l, const Memo *row, int node)
{
    const Node *n = &l->f->nodes.at[node];
    bool beside = false;
    for (int i = 0; i < l->f->nodes.n && !beside; i++) {
        const Node *other = &l->f->nodes.at[i];
        beside = i != node && other->parent == n->parent &&
                 (n->parent < 0 || other->outcome == n->outcome) && part_of(&row->sample, i);
    }
    return beside && part_of(&row->sample, node) && same_above(l, row, node);
}

/* The nest that node is in, -1 if it is in none. */
static int nest_of(const Look *l, const Memo *row, int node)
{
    while (node >= 0 && !is_nest(l, row, node))
        node = l->f->nodes.at[node].parent;
    return node;
}

/* Does the nest take other versions than in the run, and is in no larger one that does? */
static bool differs(const Look *l, const Memo *row, int nest)
{
    int up = l->f->nodes.at[nest].parent;
    bool any = false;
    if (!is_nest(l, row, nest))
        return false;
    for (int i = nest; i < l->f->nodes.n && !any; i++)
        any = l->path[i] != row->path[i] && nest_of(l, row, i) == nest;
    while (any && up >= 0) {
        any = !differs(l, row, up);
        up = l->f->nodes.at[up].parent;
    }
    return any;
}

/* How many nodes are as in the run, which differs in nests only; -1 if it does not. */
static int nearness(const Look *l, const Memo *row)
{
    int same = 0, n = l->f->nodes.n;
    bool fits = is_whole(row) && !row->sample.cut && isfinite(row->sample.seconds);
    for (int i = 0; i < n && fits; i++) {
        bool as_there = l->path[i] == row->path[i];
        same += as_there;
        fits = as_there || nest_of(l, row, i) >= 0;
    }
    return fits ? same : -1;
}

/* The first such run: what is compared is told by the same one. */
static const Memo *base_of(const Look *l)
{
    for (int k = 0; k < l->res->memory.n; k++)
        if (nearness(l, &l->res->memory.at[k]) >= 0)
            return &l->res->memory.at[k];
    return NULL;
}

/* The seconds of that run which is most like it; +inf if there is none. */
static double nearest_seconds(const Look *l)
{
    double seconds = INFINITY;
    int most = -1;
    for (int k = 0; k < l->res->memory.n; k++) {
        const Memo *row = &l->res->memory.at[k];
        int same = nearness(l, row);
        seconds = same > most ? row->sample.seconds : seconds;
        most = same > most ? same : most;
    }
    return seconds;
}

static bool told(const Look *l, Sample *out, double *in_all)
{
    const Memo *base = base_of(l);
    if (!base)
        return false;
    double noise = 0;
    *out = (Sample){.seconds = base->sample.seconds, .told = true};
    for (int i = 0; i < l->f->nodes.n; i++) {
        if (!differs(l, base, i))
            continue;
        Slice now = slice_of(l, i), was = slice_in(l, base, i);
        if (!now.known)
            return false;
        out->seconds += now.seconds - was.seconds;
        out->cut |= now.cut;
        noise += now.noise * now.noise + was.noise * was.noise;
    }
    out->noise = sqrt(noise) / out->seconds;
    if (in_all)
        *in_all = sqrt(noise) + base->sample.seconds * base->sample.noise;
    return out->seconds > 0;
}

bool parts_told(const Forest *f, const DatasetResult *res, const int64_t *settings, Sample *out,
                double *noise)
{
    int64_t *path = malloc(sizeof *path * (size_t)f->nodes.n);
    bool ok = path && path_of(f, res, settings, path) && told(&(Look){f, res, path}, out, noise);
    free(path);
    return ok;
}

/* --- Trying several versions at once ---------------------------------------------------------- */

/* Is it known what the node, or what it is in, takes under the settings? */
static bool is_tried(const Look *l, const int64_t *settings, int64_t *path, int node)
{
    bool any = false;
    path_of(l->f, l->res, settings, path);
    for (int i = node; i >= 0 && !any; i = l->f->nodes.at[i].parent)
        any = slice_of(l, i).known;
    return any;
}

static void put(const Forest *f, int64_t *settings, int node, int64_t value)
{
    for (int i = node; i < f->nodes.n; i++)
        if (is_in(f, i, node))
            settings[i] = THRESHOLD_UNSET;
    settings[node] = value;
}

/* Sets the node and what is below it to what was not tried yet, in the order in which the search
 * asks for it: first of all, what the program does unset. */
static bool put_untried(const Look *l, int64_t *settings, int64_t *path, int node)
{
    static const int64_t values[] = {THRESHOLD_NEVER, THRESHOLD_ALWAYS};
    put(l->f, settings, node, THRESHOLD_UNSET);
    if (!l->res->opinions[node].met_unset)
        return true;
    for (int k = 0; k < 2; k++) {
        bool inner = false, any = false;
        put(l->f, settings, node, values[k]);
        for (int i = node + 1; i < l->f->nodes.n; i++)
            if (l->f->nodes.at[i].parent == node && l->f->nodes.at[i].outcome == (k == 1)) {
                inner = true;
                any |= put_untried(l, settings, path, i);
            }
        if (any || (!inner && !is_tried(l, settings, path, node)))
            return true;
    }
    put(l->f, settings, node, THRESHOLD_UNSET);
    return false;
}

bool parts_ride(const Forest *f, const DatasetResult *res, const bool *open, int64_t *settings,
                double *rival)
{
    int64_t *path = malloc(sizeof *path * (size_t)f->nodes.n);
    bool any = false;
    if (!path)
        return false;
    Look l = {f, res, path};
    path_of(f, res, settings, path);
    *rival = nearest_seconds(&l);
    for (int i = 0; i < f->nodes.n && isfinite(*rival); i++)
        if (open[i] && l.res->opinions[i].met_unset && node_reached(f, res, settings, i))
            any |= put_untried(&l, settings, path, i);
    free(path);
    return any;
}

bool parts_settle(const Forest *f, const DatasetResult *res, const bool *open,
                  const int64_t *settings)
{
    int64_t *path = malloc(sizeof *path * (size_t)f->nodes.n);
    bool any = false;
    if (!path)
        return false;
    Look l = {f, res, path};
    for (int i = 0; i < f->nodes.n; i++)
        any |= open[i] && is_tried(&l, settings, path, i);
    free(path);
    return any;
}

double parts_slowdown(const DatasetResult *res)
{
    double most = 1;
    for (int i = 0; i < res->memory.n; i++) {
        const Sample *s = &res->memory.at[i].sample;
        double all = 0;
        for (int k = 0; k < s->parts.n; k++)
            all += s->parts.at[k].seconds;
        if (!s->cut && s->seconds > 0 && isfinite(s->seconds))
            most = fmax(most, all / s->seconds);
    }
    return most;
}
