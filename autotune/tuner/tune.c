/* minifut tune: measures, searches, reports, writes the tuning file. */
#include "autotune/autotune.h"
#include "autotune/data/file.h"
#include "autotune/run/apart.h"
#include "autotune/run/options.h"
#include "autotune/run/talk.h"
#include "autotune/tuner/progress.h"
#include "autotune/tuner/strategies.h"
#include "autotune/tuner/tuning.h"
#include "autotune/tuner/words.h"
#include "base/diag.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const Tool tool = {
    "tune", TOOL_TUNE,
    "usage: minifut tune [options] prog.sf [datasets/]\n"
    "\n"
    "Compiles prog.sf, finds the thresholds that make it fastest on the data sets (files NAME.in, "
    "with\n"
    "NAME.out checked if there), and writes prog.sf.tuning. Every version is run on every data "
    "set; its\n"
    "result is compared with the others'.\n"
    "Without a folder, the data sets are the cases in the program's directives (`-- ==`).\n"};

/* The fastest so far on the data set that is being searched. */
typedef struct {
    int dataset;
    double untuned, seconds;
    int64_t *settings; /* what it does not ask is unset */
} Leader;

typedef struct {
    Arena *a;
    Session *s;
    Meter *m;
    Datasets *ds;
    const Forest *f;
    Progress shown;
    int runs, expected; /* so far, and at least */
    int known;          /* measurements of earlier tunings, at the start */
    double *best;       /* [dataset] seconds */
    Leader leader;
    Trials *trials;          /* [dataset] */
    Verdict *verdicts;       /* [dataset] */
    const int64_t *sizes;    /* values that are set; NULL: none */
    SizesFound *sizes_found; /* NULL: they are left alone */
    bool *close;             /* [size] SizeTuner */
    const SearchPlan *plan;
    const char *device;
    const char **said; /* [dataset] why the last version failed, as shown */
    double start;
    int broken;       /* data sets that could not be read */
    const char *gone; /* why it cannot go on: the program does not start any more, or the objective
                         failed */
} Tuner;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* One that has not begun to measure. */
static Tuner tuner_new(Arena *a, Session *s, Datasets *ds, const SearchPlan *plan)
{
    Tuner t = {.a = a,
               .s = s,
               .ds = ds,
               .f = session_forest(s),
               .plan = plan,
               .device = session_device(s),
               .start = now()};
    t.best = NEWN(a, double, ds->n);
    t.said = NEWN(a, const char *, ds->n);
    t.trials = NEWN(a, Trials, ds->n);
    t.verdicts = NEWN(a, Verdict, ds->n);
    t.close = NEWN(a, bool, session_sizes(s)->n);
    for (int d = 0; d < ds->n; d++)
        t.best[d] = INFINITY;
    return t;
}

/* The comparisons of a run in terms of the forest, without repetitions. */
static void note_compared(Tuner *t, const Measurement *m, Compareds *out)
{
    for (int i = 0; i < m->log.n; i++) {
        int node = forest_find(t->f, m->log.at[i].name);
        bool known = node < 0;
        Compared c = {node, m->log.at[i].par, m->log.at[i].outcome};
        for (int k = 0; k < out->n && !known; k++)
            known = out->at[k].node == node && out->at[k].par == c.par && out->at[k].held == c.held;
        if (!known)
            vec_push(t->a, out, c);
    }
}

/* Which choices of makers a search from their defaults on would turn: it doubles or halves. */
static void note_close(Tuner *t, const Measurement *m)
{
    const Sizes *sizes = session_sizes(t->s);
    for (int i = 0; i < sizes->n; i++)
        for (int k = 0; k < m->log.n && sizes->at[i].choice && !t->close[i]; k++) {
            const LogLine *l = &m->log.at[k];
            t->close[i] = strcmp(l->name, sizes->at[i].name) == 0 &&
                          l->par >= sizes->at[i].def / 2 && l->par < 2 * sizes->at[i].def;
        }
}

static void progress(Tuner *t, int d, const char *trying)
{
    progress_show(t->a, &t->shown,
                  &(ProgressState){t->runs, t->expected, t->ds->at[d].name, trying, t->best[d],
                                   now() - t->start});
}

/* Says that a version failed on data set d, unless that was said of the version before. */
static void complain(Tuner *t, int d, const Measurement *m, const int64_t *settings)
{
    if (t->said[d] && strcmp(t->said[d], m->why) == 0)
        return;
    t->said[d] = m->why;
    progress_clear(&t->shown);
    fprintf(stderr, "%s: a version cannot be used: %s\n", t->ds->at[d].name, m->why);
    if (!m->wrong)
        return;
    fprintf(stderr, "    (settings:");
    for (int i = 0; i < t->f->nodes.n; i++)
        fprintf(stderr, " %s=%s", t->f->nodes.at[i].name, threshold_text(t->a, settings[i]));
    fprintf(stderr, ")\n    %s\n",
            t->ds->at[d].out.name && isinf(t->best[d])
                ? "either the expected output is not what the program gives, or this is a bug of "
                  "minifut"
                : "versions that disagree are a bug of minifut, if no rounding explains it "
                  "(--tolerance): please report it");
}

/* Keeps what is faster than all before it on its data set. */
static void note_leader(Tuner *t, int d, const int64_t *settings, double seconds,
                        const Compareds *compared)
{
    if (seconds >= t->best[d])
        return;
    bool first = isinf(t->best[d]); /* the search begins with the untuned program */
    t->best[d] = seconds;
    t->leader = (Leader){d, first ? seconds : t->leader.untuned, seconds,
                         NEWN(t->a, int64_t, t->f->nodes.n)};
    for (int i = 0; i < compared->n; i++)
        t->leader.settings[compared->at[i].node] = settings[compared->at[i].node];
}

/* The search's run function: one version on one data set. */
static bool run_version(void *env, int d, const int64_t *settings, double rival, double parts,
                        Sample *out)
{
    Tuner *t = env;
    progress(t, d, trying_text(t->a, t->f, settings));
    Measurement m = meter_measure(t->m, d, (Setup){settings, t->sizes}, rival, parts);
    if (m.gone)
        t->gone = m.why;
    if (server_interrupted() || m.gone)
        return false;
    t->runs++;
    if (t->runs > t->expected)
        t->expected = t->runs;
    trial_note(t->a, &t->trials[d], t->f, settings, &m);
    *out = (Sample){.seconds = m.median, .noise = m.noise, .cut = m.cut, .partial = m.partial};
    note_compared(t, &m, &out->compared);
    note_close(t, &m);
    for (int i = 0; i < m.parts.n; i++) {
        const TimedPart *p = &m.parts.at[i];
        int node = forest_find(t->f, p->name);
        if (node >= 0)
            vec_push(t->a, &out->parts, ((Part){node, p->seconds, p->noise}));
    }
    if (!m.ok)
        complain(t, d, &m, settings);
    else
        note_leader(t, d, settings, m.median, &out->compared);
    return true;
}

/* --- Report --------------------------------------------------------------------------------- */

/* The tuned program against the untuned one on every data set. */
static void compare_with_default(Tuner *t, const Tuning *u)
{
    const int64_t *unset = NEWN(t->a, int64_t, t->f->nodes.n);
    for (int d = 0; d < t->ds->n; d++) {
        if (isinf(u->found->datasets[d].best))
            continue;
        progress(t, d, "the tuned program against others");
        u->verdicts[d] = verdict_on(t->m, t->f, d, &u->found->datasets[d], unset,
                                    (Setup){u->found->settings, t->sizes});
        progress_clear(&t->shown);
        if (!u->verdicts[d].tuned.ok)
            fprintf(stderr, "minifut tune: %s: %s\n", t->ds->at[d].name, u->verdicts[d].tuned.why);
    }
}

/* The table of what was compared; on how many data sets the tuned program loses. */
static int show_verdicts(const Tuner *t, const Tuning *u)
{
    int losses = 0;
    report_verdict_head();
    for (int d = 0; d < t->ds->n; d++) {
        if (!u->verdicts[d].made)
            continue;
        report_verdict(t->a, u, d);
        losses += u->verdicts[d].loses;
    }
    return losses;
}

/* What was measured while something else ran decides little. */
static void say_if_busy(const Tuner *t, const Tuning *u)
{
    int disturbed = 0, made = 0;
    double worst = 0;
    for (int d = 0; d < t->ds->n; d++) {
        const Verdict *v = &u->verdicts[d];
        const Measurement *const ms[] = {&v->untuned, &v->tuned, &v->own};
        bool any = false;
        for (int i = 0; i < 3 && v->made; i++)
            if (was_disturbed(ms[i])) {
                any = true;
                worst = fmax(worst, ms[i]->noise);
            }
        made += v->made;
        disturbed += any;
    }
    warn_if_busy("tune", disturbed, made, worst);
}

/* Makes the setting the last one of s; THRESHOLD_UNSET: takes it away. */
static void put_setting(Arena *a, Settings *s, const char *name, int64_t value)
{
    int k = 0;
    while (k < s->n && strcmp(s->at[k].name, name) != 0)
        k++;
    if (k < s->n)
        memmove(s->at + k, s->at + k + 1, sizeof *s->at * (size_t)(--s->n - k));
    if (value != THRESHOLD_UNSET)
        vec_push(a, s, ((Setting){name, value}));
}

static int write_tuning(const Tuner *t, const ToolOptions *o, const SearchResult *r)
{
    Settings out = {0};
    const char *wrong;
    const Sizes *sizes = session_sizes(t->s);
    /* Other entries' thresholds in an existing file are kept. */
    if (access(o->tuning, F_OK) == 0 && !tuning_read(t->a, o->tuning, &out, &wrong))
        fprintf(stderr, "minifut tune: %s: the file is written anew\n", wrong);
    for (int i = 0; i < t->f->nodes.n; i++)
        put_setting(t->a, &out, t->f->nodes.at[i].name, r->settings[i]);
    for (int i = 0; i < sizes->n; i++)
        put_setting(t->a, &out, sizes->at[i].name, t->sizes ? t->sizes[i] : 0);
    const char *data = o->folder ? o->folder : "its own data sets";
    const char *comment =
        arena_printf(t->a, "thresholds and sizes of %s, found by minifut tune on %s\n%s", o->source,
                     data, session_origin(t->s));
    Out text = {0};
    tuning_print(&text, comment, &out);
    bool ok = tool_write("tune", o, o->tuning, &text);
    out_free(&text);
    return ok ? 0 : EXIT_USER;
}

/* The best settings known: those for the data sets that the search is through with; before the
 * first one, what is clearly faster than the untuned program on that. Nothing is set where `found`
 * is NULL. */
static int64_t *best_so_far(const Tuner *t, const SearchResult *found)
{
    static const double CLEARLY = 0.95;
    bool none = true;
    for (int d = 0; found && d < t->ds->n; d++)
        none &= isinf(found->datasets[d].best);
    if (found && !none)
        return found->settings;
    return found && t->leader.settings && t->leader.seconds < CLEARLY * t->leader.untuned
               ? t->leader.settings
               : NEWN(t->a, int64_t, t->f->nodes.n);
}

/* The reports that were asked for, for programs and for browsers. */
static bool write_reports(Arena *a, const ToolOptions *o, const Tuning *u)
{
    Out json = {0}, page = {0};
    bool ok = true;
    if (o->json) {
        report_json(a, &json, u);
        ok &= tool_write("tune", o, o->json, &json);
    }
    if (o->report) {
        Tuning with_words = *u;
        VersionWords words = words_of(a, u->source, u->entry);
        with_words.words = &words;
        report_html(a, &page, &with_words);
        ok &= tool_write("tune", o, o->report, &page);
    }
    out_free(&json);
    out_free(&page);
    return ok;
}

static Tuning tuning_of(const Tuner *t, const ToolOptions *o, const SearchResult *r)
{
    return (Tuning){.source = o->source,
                    .folder = o->folder,
                    .entry = session_entry(t->s),
                    .device = t->device,
                    .strategy = o->strategy ? o->strategy : t->plan->strategy->name,
                    .objective = t->plan->objective,
                    .complete = r->complete,
                    .forest = t->f,
                    .datasets = t->ds,
                    .found = r,
                    .trials = t->trials,
                    .verdicts = t->verdicts,
                    .seconds = now() - t->start,
                    .sizes = session_sizes(t->s),
                    .size_values = t->sizes,
                    .sizes_found = t->sizes_found};
}

/* The search or what follows it could not end: `found`, NULL or what is known by now, is written.
 */
static int ended_early(Tuner *t, const ToolOptions *o, const SearchResult *found)
{
    const char *why = server_interrupted() ? "interrupted" : t->gone;
    SearchResult best = found ? *found : (SearchResult){0};
    best.settings = best_so_far(t, found);
    best.complete = false;
    bool any = false;
    for (int i = 0; i < t->f->nodes.n; i++)
        any |= best.settings[i] != THRESHOLD_UNSET;
    for (int i = 0; t->sizes && i < session_sizes(t->s)->n; i++)
        any |= t->sizes[i] != 0;
    progress_clear(&t->shown);
    fprintf(stderr, "%sminifut tune: %s", t->shown.columns ? "" : "\n", why);
    if (!any)
        fprintf(stderr, ": %s is as it was", o->tuning);
    else if (write_tuning(t, o, &best) == 0)
        fprintf(stderr, ": the best so far is written to %s", o->tuning);
    fprintf(stderr, "; the same command goes on from there\n");
    Tuning u = found ? tuning_of(t, o, &best) : (Tuning){0};
    if (found)
        write_reports(t->a, o, &u);
    return EXIT_USER;
}

static int nothing_written(const ToolOptions *o)
{
    fprintf(stderr, "minifut tune: no data set can be used: %s is as it was\n", o->tuning);
    return EXIT_USER;
}

/* Would anything be written that this tuning found? */
static bool sets_something(const Tuner *t, const SearchResult *r)
{
    bool any = false;
    for (int i = 0; i < t->f->nodes.n; i++)
        any |= r->settings[i] != THRESHOLD_UNSET;
    for (int i = 0; t->sizes_found && t->sizes && i < session_sizes(t->s)->n; i++)
        any |= t->sizes[i] != 0;
    return any;
}

/* Sets nothing: the tuned program is the untuned one. */
static void withdraw(Tuner *t, Tuning *u, SearchResult *r)
{
    u->withdrawn = true;
    if (t->sizes_found) /* else they are the user's */
        u->size_values = t->sizes = NULL;
    for (int i = 0; i < t->f->nodes.n; i++)
        r->settings[i] = THRESHOLD_UNSET;
    for (int d = 0; d < t->ds->n; d++) {
        Verdict *v = &u->verdicts[d];
        v->tuned = v->untuned;
        v->same = v->untuned.ok;
        v->loses = false;
        r->datasets[d].chosen = r->datasets[d].untuned.seconds;
    }
    r->conflicts.n = 0;
}

static int report(Tuner *t, const ToolOptions *o, SearchResult *r)
{
    Tuning u = tuning_of(t, o, r);
    progress_clear(&t->shown);
    int good = 0;
    for (int d = 0; d < t->ds->n; d++)
        if (isinf(r->datasets[d].best))
            fprintf(stderr, "minifut tune: no version runs on %s: left out\n", t->ds->at[d].name);
        else
            good++;
    if (!good)
        return nothing_written(o);
    compare_with_default(t, &u);
    if (server_interrupted())
        return ended_early(t, o, r);
    /* What is shown is what is written. */
    const char *why = sets_something(t, r) ? verdicts_refuse(t->a, &u, &t->plan->o) : NULL;
    if (why)
        withdraw(t, &u, r);
    report_found(t->a, &u);
    report_sizes(&u);
    if (why)
        printf("nothing is set: %s\n", why);
    int losses = show_verdicts(t, &u);
    report_loss(&u);
    fflush(stdout);
    int code = write_tuning(t, o, r),
        recalled = meter_recalled(t->m) < t->known ? meter_recalled(t->m) : t->known;
    if (recalled)
        printf("%d of the measurements are from %s (--fresh makes them again)\n", recalled,
               meter_log(t->m));
    if (code == 0)
        printf("written to %s\n", o->tuning);
    if (!write_reports(t->a, o, &u))
        code = EXIT_USER;
    say_if_busy(t, &u);
    if (losses)
        fprintf(stderr,
                "minifut tune: warning: on %d data set%s the tuned program is slower than the "
                "untuned one\n",
                losses, losses == 1 ? "" : "s");
    return code ? code : good < t->ds->n || t->broken ? EXIT_USER : 0;
}

/* Can the file be written? Better said before hours of measuring than after. */
static bool can_write(Arena *a, const char *path)
{
    struct stat st;
    const char *slash = strrchr(path, '/');
    const char *folder = !slash          ? "."
                         : slash == path ? "/"
                                         : arena_strndup(a, path, (size_t)(slash - path));
    bool there = stat(path, &st) == 0;
    if (there && S_ISDIR(st.st_mode))
        errno = EISDIR;
    else if (access(arena_printf(a, "%s/.", folder), W_OK) == 0 &&
             (!there || access(path, W_OK) == 0))
        return true;
    fprintf(stderr, "minifut tune: cannot write %s: %s\n", path, strerror(errno));
    return false;
}

/* Reads all data sets once, before the search: the broken ones are named and left out. The session
 * knows data sets by their numbers, but nothing of those that it could not load. */
static void check_datasets(Tuner *t)
{
    for (int d = 0; d < t->ds->n && !server_interrupted();) {
        const char *wrong = session_check(t->s, d);
        if (!wrong) {
            d++;
        } else if (!server_interrupted()) {
            fprintf(stderr, "minifut tune: %s: left out\n", wrong);
            t->ds->n--;
            memmove(t->ds->at + d, t->ds->at + d + 1, sizeof *t->ds->at * (size_t)(t->ds->n - d));
            t->broken++;
        }
    }
}

/* What would be measured. */
static int say_plan(const Tuner *t, const ToolOptions *o, const SearchPlan *plan)
{
    int n = t->f->nodes.n, known = meter_known(t->m);
    printf("%s: %d thresholds, %d data sets\n", session_entry(t->s), n, t->ds->n);
    for (int i = 0; i < plan->n; i++)
        if (plan->strategy[i].search == search_monotone)
            printf("%s: %d runs, a version each; more where a threshold is compared with several "
                   "degrees of parallelism, fewer where nests are beside each other\n",
                   plan->strategy[i].name, t->expected);
        else if (plan->strategy[i].search == search_stochastic)
            printf("%s: about %d runs at most\n", plan->strategy[i].name,
                   search_tests(&plan->o, n, t->ds->n));
        else
            printf("%s: the number of runs shows when each data set has run once\n",
                   plan->strategy[i].name);
    for (int i = 0; i < n; i++)
        printf("  %s\n", t->f->nodes.at[i].name);
    const Sizes *sizes = session_sizes(t->s);
    if (sizes->n && !o->only_thresholds)
        printf("then sizes, with the best thresholds: at most %d runs\n", sizes_tests(t->ds->n));
    for (int i = 0; i < sizes->n && !o->only_thresholds; i++)
        if (!sizes->at[i].choice)
            printf("  %s, by default %lld\n", sizes->at[i].name, (long long)sizes->at[i].def);
    if (session_choices(t->s) && !o->only_thresholds)
        printf("  those of %d choices of kernels that are close on some data set\n",
               session_choices(t->s));
    for (int d = 0; d < t->ds->n; d++)
        printf("  %s%s\n", t->ds->at[d].name,
               t->ds->at[d].out.name ? "" : ": versions are compared with one another");
    printf("%d measurement%s in %s: not made again\n", known, known == 1 ? " is" : "s are",
           meter_log(t->m));
    printf("the tuning would be written to %s\n", o->tuning);
    return 0;
}

static void say_count(double combinations, double paths)
{
    printf("exhaustive: %.0f combinations of paths, of %.0f paths\n", combinations, paths);
    fflush(stdout);
}

/* A row of the table that compares strategies: the times are those that it tells of
 * its settings. */
static void say_strategy(const Tuner *t, const char *name, const SearchResult *r, double seconds)
{
    printf("%-12s %6d runs %8.1f s  ", name, r->runs, seconds);
    for (int d = 0; d < t->ds->n; d++)
        printf(" %s %s", t->ds->at[d].name, time_text(t->a, r->datasets[d].chosen));
    printf("\n");
}

/* The mean over the data sets of what the settings take : what those of the other result take. */
static double compared_with(const Tuner *t, const SearchResult *r, const SearchResult *other)
{
    double all = 0;
    int n = 0;
    for (int d = 0; d < t->ds->n; d++)
        if (isfinite(r->datasets[d].best) && isfinite(other->datasets[d].best)) {
            all += log(r->datasets[d].chosen / other->datasets[d].chosen);
            n++;
        }
    return n ? exp(all / n) : 1;
}

/* What the settings are worth to the user's own function, with those data sets that run. */
static double worth_to_user(const Tuner *t, const SearchResult *r)
{
    int n = 0, *datasets = NEWN(t->a, int, t->ds->n);
    double *seconds = NEWN(t->a, double, t->ds->n), *bests = NEWN(t->a, double, t->ds->n);
    for (int d = 0; d < t->ds->n; d++)
        if (isfinite(r->datasets[d].best)) {
            datasets[n] = d;
            seconds[n] = r->datasets[d].chosen;
            bests[n++] = r->datasets[d].best;
        }
    return n ? cost_of(t->plan->cost, n, datasets, seconds, bests) : INFINITY;
}

static bool beats(const Tuner *t, const SearchResult *r, const SearchResult *other)
{
    const double NOISE = 0.02;
    return t->plan->cost ? worth_to_user(t, r) < worth_to_user(t, other)
                         : compared_with(t, r, other) < 1 - NOISE;
}

/* Searches by each strategy asked for. Of several results, the first one unless another is better
 * beyond noise. */
static SearchResult search_by(Tuner *t, const SearchPlan *plan)
{
    SearchResult best = {0};
    for (int i = 0; i < plan->n; i++) {
        const Strategy *by = &plan->strategy[i];
        double start = now();
        SearchResult r = by->search(t->a, t->f, t->ds->n, &plan->o, run_version, t);
        if (!r.complete && i > 0)
            best.complete = false;
        if (!r.complete)
            return i ? best : r;
        progress_clear(&t->shown);
        if (plan->n > 1)
            say_strategy(t, by->name, &r, now() - start);
        if (i == 0 || beats(t, &r, &best))
            best = r;
    }
    return best;
}

/* Those of the tuning file, for --only=thresholds; NULL if it sets none. */
static const int64_t *sizes_of_file(Tuner *t, const ToolOptions *o)
{
    Settings file = {0};
    const char *wrong;
    const Sizes *sizes = session_sizes(t->s);
    int64_t *values = NEWN(t->a, int64_t, sizes->n);
    bool any = false;
    if (access(o->tuning, F_OK) != 0 || !tuning_read(t->a, o->tuning, &file, &wrong))
        return NULL;
    for (int i = 0; i < sizes->n; i++)
        for (int k = 0; k < file.n; k++)
            if (strcmp(file.at[k].name, sizes->at[i].name) == 0) {
                values[i] = file.at[k].value;
                any |= values[i] != 0;
            }
    return any ? values : NULL;
}

/* Searches for sizes with the thresholds found. False if that had to end. */
static bool search_sizes(Tuner *t, const ToolOptions *o, const SearchResult *r)
{
    SizeTuner u = {.a = t->a,
                   .m = t->m,
                   .ds = t->ds,
                   .sizes = session_sizes(t->s),
                   .close = t->close,
                   .found = r,
                   .shown = &t->shown,
                   .start = t->start,
                   .seconds = o->seconds,
                   .clock = now};
    if (o->only_thresholds)
        return true;
    SizesFound *found = NEW(t->a, SizesFound);
    *found = tune_sizes(&u);
    t->gone = u.gone ? u.gone : t->gone;
    t->sizes_found = found;
    for (int i = 0; i < u.sizes->n; i++)
        if (found->chosen[i])
            t->sizes = found->chosen;
    return found->complete;
}

/* --- Data sets at the same time ------------------------------------------------------------- */

/* A search on some data sets in processes of their own. */
typedef struct {
    Tuner *t;
    const ToolOptions *o;
    const char *log;
} Ahead;

/* The search on data set d alone. What it measures is in the log, all that counts of it. */
static void search_alone(void *env, int d)
{
    const Ahead *w = env;
    Arena *a = arena_new();
    const char *wrong;
    Datasets one = {.at = &w->t->ds->at[d], .n = 1};
    ToolOptions o = *w->o;
    o.fresh = false;
    Session *s = session_open(a, &o.session, &one, &wrong);
    if (s && session_take_turns(s, w->log)) {
        Tuner t = tuner_new(a, s, &one, w->t->plan);
        t.shown = progress_open(true);
        t.sizes = w->t->sizes;
        t.m = meter_open(a, s, &one, &o);
        meter_beside_others(t.m);
        search_monotone(a, t.f, 1, &(SearchOptions){0}, run_version, &t);
        meter_close(t.m);
    }
    session_close(s);
}

static void look_at_log(void *env)
{
    const Ahead *w = env;
    Tuner *t = w->t;
    int c, lines = 0;
    FILE *f = fopen(w->log, "r");
    while (f && (c = getc(f)) != EOF)
        lines += c == '\n';
    if (f)
        fclose(f);
    progress_show(t->a, &t->shown,
                  &(ProgressState){lines, lines > t->expected ? lines : t->expected, "data sets",
                                   "at the same time", INFINITY, now() - t->start});
}

/* Several data sets at the same time, each in a process of its own, which take turns in running:
 * what takes long is building kernels. The search then finds all it asks for in the log. */
static void search_ahead(Tuner *t, const ToolOptions *o)
{
    Ahead w = {t, o, meter_log(t->m)};
    int most = o->jobs >= 1 ? (int)fmin(o->jobs, t->ds->n) : processes_apart();
    bool monotone = t->plan->n == 1 && t->plan->strategy->search == search_monotone;
    if (!monotone || most < 2 || t->ds->n < 2 || meter_known(t->m) >= t->expected ||
        !session_can_take_turns(t->s, w.log))
        return;
    ToolOptions goes_on = *o;
    goes_on.fresh = false;
    meter_close(t->m);
    work_apart(&(Apart){&w, search_alone, look_at_log, server_interrupted}, t->ds->n, most);
    t->m = meter_open(t->a, t->s, t->ds, &goes_on);
}

static int tune(Arena *a, Session *s, Datasets *ds, const ToolOptions *o, SearchPlan *plan)
{
    Tuner t = tuner_new(a, s, ds, plan);
    const Forest *f = t.f;
    check_datasets(&t);
    if (server_interrupted())
        return ended_early(&t, o, NULL);
    if (ds->n == 0)
        return nothing_written(o);
    t.shown = progress_open(o->quiet);
    t.expected = (f->nodes.n + 1) * ds->n;
    if (!search_weights(a, o, ds, plan) || !search_cost(a, o, ds, plan))
        return EXIT_USER;
    plan->o.plan = say_count;
    plan->o.clock = now;
    t.m = meter_open(a, s, ds, o);
    int code = 0;
    if (o->dry_run) {
        code = say_plan(&t, o, plan);
    } else {
        t.known = meter_known(t.m);
        t.sizes = o->only_thresholds ? sizes_of_file(&t, o) : NULL;
        search_ahead(&t, o);
        SearchResult r = search_by(&t, plan);
        settle(a, f, ds->n, &plan->o, run_version, &t, &r);
        const char *wrong = plan->cost ? cost_wrong(plan->cost) : NULL;
        t.gone = wrong ? wrong : t.gone;
        code = wrong                                   ? ended_early(&t, o, NULL)
               : r.complete && search_sizes(&t, o, &r) ? report(&t, o, &r)
                                                       : ended_early(&t, o, &r);
        if (!wrong && plan->cost && cost_wrong(plan->cost)) { /* in the final check */
            fprintf(stderr, "minifut tune: %s\n", cost_wrong(plan->cost));
            code = EXIT_USER;
        }
    }
    meter_close(t.m);
    return code;
}

int tune_main(int argc, char **argv)
{
    Arena *a = arena_new();
    ToolOptions o;
    int code = tool_options(a, &tool, argc, argv, &o);
    Datasets ds = {0};
    SearchPlan plan;
    if (code < 0)
        code = search_plan(&o, &plan);
    const char *outputs[] = {o.tuning, o.json, o.report};
    for (int i = 0; i < 3 && code < 0; i++)
        if (outputs[i] && !can_write(a, outputs[i]))
            code = EXIT_USER;
    Session *s = code < 0 ? tool_open(a, "tune", &o, &ds, &code) : NULL;
    if (s) {
        code = tune(a, s, &ds, &o, &plan);
        session_close(s);
    }
    arena_free(a);
    return code;
}
