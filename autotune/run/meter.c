#include "autotune/run/meter.h"

#include "autotune/run/journal.h"
#include "autotune/run/talk.h"
#include "base/out.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct Meter {
    Arena *a;
    Session *s;
    const Datasets *ds;
    SessionOptions options;
    Session *profiler; /* the program once more, timing its kernels; NULL: not started */
    const char *log;
    Journal *journal;
    int recalled;
    bool beside; /* others run on the device, too */
};

/* A version that takes this long, and more by what its rival takes, is given up, whatever it does;
 * half a minute for building kernels. */
static const double PATIENCE = 30, PATIENCE_RIVALS = 30;

static void add_text(Fingerprint *f, const char *text)
{
    fingerprint_text(f, text, strlen(text) + 1);
}

/* What decides how long runs take, apart from data and settings: of the program, the entry point
 * alone; the timeout is of it, since runs that took too long are in the log. */
static const char *context_of(Arena *a, Session *s, const ToolOptions *o, const char *device)
{
    Fingerprint f = fingerprint();
    const char *key = session_key(s);
    add_text(&f, key);
    if (!*key && !fingerprint_file(&f, o->session.program))
        add_text(&f, "?");
    add_text(&f, device);
    add_text(&f, session_entry(s));
    add_text(&f, session_user_params(s));
    add_text(&f, arena_printf(a, "%.17g %.17g", o->session.timeout, o->session.tolerance));
    for (char **e = environ; *e; e++)
        if (strncmp(*e, "MINIFUT_", 8) == 0) /* settings of the program (docs/commands.md) */
            add_text(&f, *e);
    return fingerprint_digits(a, &f);
}

static void add_source(Arena *a, Fingerprint *f, const DataSource *d)
{
    struct stat st;
    if (!d->name)
        add_text(f, "none");
    else if (d->text)
        fingerprint_text(f, d->text, d->n);
    else if (stat(d->name, &st) == 0)
        add_text(f, arena_printf(a, "%lld %lld.%09ld", (long long)st.st_size,
                                 (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec));
}

/* What a script calls and reads. */
static void add_script(Meter *m, Fingerprint *f, const Script *s)
{
    if (s->kind == SCRIPT_CALL)
        add_text(f, session_key_of(m->s, s->name));
    if (s->kind == SCRIPT_DATA || s->kind == SCRIPT_BYTES)
        add_source(m->a, f, &(DataSource){.name = s->name});
    for (int i = 0; i < s->parts.n; i++)
        add_script(m, f, s->parts.at[i]);
}

/* The data set's name, and a fingerprint of its contents, or of its files' sizes and times. */
static const char *dataset_key(Meter *m, const Dataset *d)
{
    Arena *a = m->a;
    Fingerprint f = fingerprint();
    add_source(a, &f, &d->in);
    add_source(a, &f, &d->out);
    if (d->script)
        add_script(m, &f, d->script);
    return arena_printf(a, "%s/%s", d->name, fingerprint_digits(a, &f));
}

/* Thresholds, and, behind a plus, sizes if some are set. */
static const char *setup_key(Meter *m, Setup u)
{
    const Forest *f = session_forest(m->s);
    const Sizes *sizes = session_sizes(m->s);
    Out o = {0};
    bool any = false;
    for (int i = 0; i < f->nodes.n; i++)
        out_printf(&o, u.thresholds[i] == THRESHOLD_NEVER ? "%snever" : "%s%lld", i ? "/" : "",
                   (long long)u.thresholds[i]);
    for (int i = 0; u.sizes && i < sizes->n; i++)
        any |= u.sizes[i] != 0;
    for (int i = 0; any && i < sizes->n; i++)
        out_printf(&o, "%s%lld", i ? "/" : "+", (long long)u.sizes[i]);
    const char *key = arena_strdup(m->a, o.text ? o.text : "");
    out_free(&o);
    return key;
}

static void say(const char *wrong)
{
    fprintf(stderr, "minifut tune: warning: %s: an interrupted tuning will have to measure again\n",
            wrong);
}

Meter *meter_open(Arena *a, Session *s, const Datasets *ds, const ToolOptions *o)
{
    Meter *m = NEW(a, Meter);
    const char *wrong, *device = session_device(s), *context = context_of(a, s, o, device);
    JournalMode mode = o->dry_run ? JOURNAL_LOOKS : o->fresh ? JOURNAL_AFRESH : JOURNAL_GOES_ON;
    *m = (Meter){.a = a, .s = s, .ds = ds, .options = o->session};
    m->log = tool_log(a, o);
    m->journal = journal_open(a, m->log, context,
                              arena_printf(a, "%s: %s on %s", context, session_entry(s), device),
                              mode, &wrong);
    if (wrong)
        say(wrong);
    return m;
}

void meter_close(Meter *m)
{
    meter_shares_end(m);
    journal_close(m->journal);
}

void meter_beside_others(Meter *m)
{
    m->beside = true;
}

const char *meter_log(const Meter *m)
{
    return m->log;
}

int meter_known(const Meter *m)
{
    return journal_left(m->journal);
}

int meter_recalled(const Meter *m)
{
    return m->recalled;
}

/* What the log knows of data set and settings, if that is of use for the rival. */
static bool recall(Meter *m, const char *dataset, const char *settings, double rival,
                   Measurement *res)
{
    while (journal_next(m->journal, dataset, settings, res))
        if (!res->cut ||
            res->median > rival) { /* else it had another rival then, and may win here */
            m->recalled++;
            return true;
        }
    return false;
}

/* Logs n measurements of one data set, unless they say nothing of the settings. */
static void record(Meter *m, const char *dataset, int n, const char *const settings[],
                   const Measurement res[])
{
    const char *wrong;
    bool made = !server_interrupted();
    for (int i = 0; i < n; i++)
        made &= !res[i].gone && (res[i].ok || !m->beside);
    if (made && !journal_add(m->journal, dataset, n, settings, res, &wrong))
        say(wrong);
}

Measurement meter_measure(Meter *m, int d, Setup setup, double rival, double slowdown)
{
    Measurement res;
    const char *dataset = dataset_key(m, &m->ds->at[d]), *key = setup_key(m, setup);
    if (recall(m, dataset, key, rival, &res))
        return res;
    session_set_up(m->s, setup);
    double limit = fmin(m->options.timeout, PATIENCE + PATIENCE_RIVALS * rival);
    res = slowdown > 0 ? session_measure_parts(m->s, d, limit, rival, slowdown)
                       : session_measure(m->s, d, limit, rival);
    record(m, dataset, 1, &key, &res);
    return res;
}

void meter_measure_in_turn(Meter *m, int d, int n, const Setup setups[], Measurement res[])
{
    const char *dataset = dataset_key(m, &m->ds->at[d]), *keys[MOST_IN_TURN];
    bool known = true;
    for (int i = 0; i < n; i++)
        keys[i] = setup_key(m, setups[i]);
    for (int i = 0; i < n; i++)
        known &= recall(m, dataset, keys[i], INFINITY, &res[i]);
    if (known)
        return;
    session_measure_in_turn(m->s, d, n, setups, m->options.timeout, res);
    record(m, dataset, n, keys, res);
}

/* --- Shares of the device's time ------------------------------------------------------------- */

/* Is the word one of those in the text? */
static bool has_word(const char *text, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = text; (p = strstr(p, word)); p += n)
        if ((p == text || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0'))
            return true;
    return false;
}

/* For each size the share of the kernel that takes most of those that depend on it, as a line of
 * the log: in per mille. */
static Measurement shares_of(Meter *m, const Profile *p)
{
    const Sizes *sizes = session_sizes(m->s);
    Measurement res = {.ok = true, .n = 1};
    for (int k = 0; k < p->n; k++)
        res.median += p->at[k].seconds;
    for (int i = 0; i < sizes->n; i++) {
        double most = 0;
        for (int k = 0; k < p->n; k++)
            if (has_word(sizes->at[i].kernels, p->at[k].name))
                most = fmax(most, p->at[k].seconds);
        int64_t part = res.median > 0 ? llround(1000 * most / res.median) : 1000;
        vec_push(m->a, &res.log, ((LogLine){sizes->at[i].name, part, true}));
    }
    return res;
}

/* Other queues time kernels than those that the program has else, so it is another process. */
static bool profile(Meter *m, int d, const int64_t *thresholds, Profile *p)
{
    const char *wrong;
    SessionOptions o = m->options;
    o.profile = true;
    o.entry = session_entry(m->s);
    if (!m->profiler && !(m->profiler = session_open(m->a, &o, m->ds, &wrong)))
        return false;
    session_set(m->profiler, thresholds);
    return !session_profile(m->profiler, d, o.timeout, p);
}

void meter_shares_end(Meter *m)
{
    session_close(m->profiler);
    m->profiler = NULL;
}

bool meter_shares(Meter *m, int d, const int64_t *thresholds, int64_t *shares)
{
    const Sizes *sizes = session_sizes(m->s);
    Profile p = {0};
    Measurement res;
    const char *dataset = dataset_key(m, &m->ds->at[d]),
               *key = arena_printf(m->a, "%s+shares", setup_key(m, (Setup){thresholds, NULL}));
    if (!recall(m, dataset, key, INFINITY, &res)) {
        if (!profile(m, d, thresholds, &p))
            return false;
        res = shares_of(m, &p);
        record(m, dataset, 1, &key, &res);
    }
    for (int i = 0; i < sizes->n; i++)
        shares[i] = i < res.log.n ? res.log.at[i].par : 1000;
    return true;
}
