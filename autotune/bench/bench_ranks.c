/* minifut bench --ranks 1,2,4: each data set on several numbers of ranks, beside one another.
 *
 * One number after the other, each with a program of its own: ranks that wait for others keep
 * processors busy, so two programs at a time would disturb each other. */
#include "autotune/bench/bench.h"
#include "autotune/run/settings.h"
#include "autotune/run/talk.h"
#include "base/diag.h"

#include <math.h>
#include <stdio.h>

typedef struct {
    const ToolOptions *o;
    const Datasets *ds;
    bool tuned;
    Measurement *m; /* [dataset][number of ranks] */
} Counts;

static const Measurement *measured(const Counts *c, int d, int k)
{
    return &c->m[d * c->o->n_counts + k];
}

/* All data sets on the ranks of s. */
static void measure_all(Session *s, const Counts *c, int k)
{
    for (int d = 0; d < c->ds->n && !server_interrupted(); d++)
        c->m[d * c->o->n_counts + k] = session_measure(s, d, c->o->session.timeout, INFINITY);
}

/* The session on the next number of ranks, instead of s; its results must be the same. NULL after a
 * message. */
static Session *next_session(Arena *a, Session *s, const Datasets *ds, ToolOptions *o, int k)
{
    const char *wrong;
    o->session.ranks = o->counts[k];
    o->session.entry = session_entry(s);
    Session *next = session_open(a, &o->session, ds, &wrong);
    if (next)
        session_expect_same(next, s);
    else
        fprintf(stderr, "minifut bench: on %d ranks: %s\n", o->counts[k], wrong);
    session_close(s);
    return next;
}

/* Below the session on the first number of ranks; false: there was a message. */
static bool measure_counts(Arena *a, Session *s, const Counts *c, Setup setup, ToolOptions *o)
{
    for (int k = 0; k < o->n_counts && !server_interrupted(); k++) {
        if (k > 0 && !(s = next_session(a, s, c->ds, o, k)))
            return false;
        if (!o->quiet)
            fprintf(stderr, "minifut bench: on %d rank%s\n", o->counts[k],
                    o->counts[k] == 1 ? "" : "s");
        session_set_up(s, setup);
        measure_all(s, c, k);
    }
    session_close(s);
    return true;
}

static void print_head(Arena *a, const Counts *c)
{
    printf("%-24s", "data set");
    for (int k = 0; k < c->o->n_counts; k++)
        printf(" %12s%s",
               arena_printf(a, "%d rank%s", c->o->counts[k], c->o->counts[k] == 1 ? "" : "s"),
               k ? "  speedup" : "");
    printf("  result\n");
}

/* False: something failed. */
static bool print_row(Arena *a, const Counts *c, int d)
{
    const Measurement *first = measured(c, d, 0);
    bool fine = true;
    printf("%-24s", c->ds->at[d].name);
    for (int k = 0; k < c->o->n_counts; k++) {
        const Measurement *m = measured(c, d, k);
        printf(" %12s", m->ok ? time_text(a, m->median) : m->wrong ? "WRONG" : "FAILS");
        if (k && m->ok && first->ok)
            printf(" %7.2fx", speedup(first->median, m->median));
        else if (k)
            printf(" %8s", "");
        fine = fine && m->ok;
    }
    printf("  %s\n", !fine ? "" : c->ds->at[d].out.name ? "right" : "ranks agree");
    fflush(stdout);
    for (int k = 0; k < c->o->n_counts; k++)
        if (!measured(c, d, k)->ok)
            fprintf(stderr, "minifut bench: %s on %d ranks: %s\n", c->ds->at[d].name,
                    c->o->counts[k], measured(c, d, k)->why);
    return fine;
}

static void json_row(Arena *a, Out *json, const Counts *c, int d)
{
    const Measurement *first = measured(c, d, 0);
    out_puts(json, d ? ",\n  " : "\n  ");
    out_quoted(json, c->ds->at[d].name);
    out_puts(json, ": [");
    for (int k = 0; k < c->o->n_counts; k++) {
        const Measurement *m = measured(c, d, k);
        out_printf(json, "%s{\"ranks\": %d, ", k ? ", " : "", c->o->counts[k]);
        json_measurement(json, c->tuned ? "tuned" : "untuned", m);
        if (k && m->ok && first->ok)
            out_printf(json, ", \"speedup\": %.4f, \"sure\": \"%s\"",
                       speedup(first->median, m->median), speedup_range(a, first, m));
        out_puts(json, "}");
    }
    out_puts(json, "]");
}

static void say_if_busy(const Counts *c)
{
    int disturbed = 0;
    double worst = 0;
    for (int d = 0; d < c->ds->n; d++) {
        bool any = false;
        for (int k = 0; k < c->o->n_counts; k++) {
            const Measurement *m = measured(c, d, k);
            if (m->ok && was_disturbed(m)) {
                any = true;
                worst = fmax(worst, m->noise);
            }
        }
        disturbed += any;
    }
    warn_if_busy("bench", disturbed, c->ds->n, worst);
}

int bench_ranks(Arena *a, Session *s, const Datasets *ds, ToolOptions *o)
{
    FileSettings file;
    Counts c = {o, ds, false, NEWN(a, Measurement, ds->n * o->n_counts)};
    if (!settings_read(a, s, "bench", o, &file)) {
        session_close(s);
        return EXIT_USER;
    }
    c.tuned = file.file != NULL;
    if (!measure_counts(a, s, &c, file.setup, o))
        return EXIT_USER;
    if (server_interrupted()) {
        fprintf(stderr, "\nminifut bench: interrupted\n");
        return EXIT_USER;
    }
    bool fine = true;
    Out json = {0};
    out_puts(&json, "{\"program\": ");
    out_quoted(&json, o->source);
    out_puts(&json, ", \"datasets\": {");
    print_head(a, &c);
    for (int d = 0; d < ds->n; d++) {
        fine &= print_row(a, &c, d);
        json_row(a, &json, &c, d);
    }
    out_puts(&json, "\n}}\n");
    say_if_busy(&c);
    if (o->json && !tool_write("bench", o, o->json, &json))
        fine = false;
    out_free(&json);
    return fine ? 0 : EXIT_USER;
}
