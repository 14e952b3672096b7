/* minifut tune --json: what was found, for programs. docs/tuner.md describes it; a change that a
 * reader must know of is a new version. */
#include "autotune/tuner/tuning.h"

#include <inttypes.h>
#include <math.h>

enum { FORMAT_VERSION = 1 };

/* The start of an object's member: `first` without a comma. */
static void key(Out *o, bool first, const char *name)
{
    out_puts(o, first ? "" : ", ");
    out_quoted(o, name);
    out_puts(o, ": ");
}

static void text_member(Out *o, bool first, const char *name, const char *text)
{
    key(o, first, name);
    if (text)
        out_quoted(o, text);
    else
        out_puts(o, "null");
}

static void bool_member(Out *o, const char *name, bool value)
{
    key(o, false, name);
    out_puts(o, value ? "true" : "false");
}

static void threshold_member(Out *o, bool first, const char *name, int64_t value)
{
    key(o, first, name);
    if (value != THRESHOLD_UNSET)
        out_printf(o, "%" PRId64, value);
    else
        out_puts(o, "null");
}

/* null for what is not finite, which JSON cannot say. */
static void number_member(Out *o, const char *name, double value)
{
    key(o, false, name);
    if (isfinite(value))
        out_printf(o, "%.4f", value);
    else
        out_puts(o, "null");
}

void json_measurement(Out *o, const char *name, const Measurement *m)
{
    out_printf(o, "\"%s\": ", name);
    if (m->ok)
        out_printf(o, "{\"median_us\": %.3f, \"noise\": %.4f, \"runs\": %d%s}", m->median * 1e6,
                   m->noise, m->n, m->cut ? ", \"cut\": true" : "");
    else {
        out_puts(o, "{\"error\": ");
        out_quoted(o, m->why);
        out_puts(o, "}");
    }
}

static void thresholds(Out *o, const Tuning *t)
{
    const Forest *f = t->forest;
    out_puts(o, ",\n\"thresholds\": [");
    for (int i = 0; i < f->nodes.n; i++) {
        const Node *n = &f->nodes.at[i];
        Range r = tuning_range(t, i);
        out_puts(o, i ? ",\n  {" : "\n  {");
        text_member(o, true, "name", n->name);
        text_member(o, false, "parent", n->parent < 0 ? NULL : f->nodes.at[n->parent].name);
        bool_member(o, "when", n->outcome);
        threshold_member(o, false, "chosen", t->found->settings[i]);
        out_printf(o, ", \"low\": %" PRId64 ", \"high\": %" PRId64, r.low, r.high);
        bool_member(o, "common", r.low < r.high);
        out_printf(o, ", \"asked\": %d, \"refused\": %d}", r.asked, r.refused);
    }
    out_puts(o, "]");
}

static void sizes(Out *o, const Tuning *t)
{
    const SizesFound *f = t->sizes_found;
    out_puts(o, ",\n\"sizes\": [");
    for (int i = 0; i < t->sizes->n; i++) {
        out_puts(o, i ? ",\n  {" : "\n  {");
        text_member(o, true, "name", t->sizes->at[i].name);
        out_printf(o, ", \"default\": %" PRId64, t->sizes->at[i].def);
        threshold_member(o, false, "chosen", t->size_values ? t->size_values[i] : 0);
        out_printf(o, ", \"tried\": %d}", f ? f->tried[i] : 0);
    }
    out_puts(o, "]");
    out_printf(o, ", \"size_runs\": %d", f ? f->runs : 0);
    bool_member(o, "sizes_limited", f && f->limited);
}

static void conflicts(Out *o, const Tuning *t)
{
    out_puts(o, ",\n\"conflicts\": [");
    for (int i = 0; i < t->found->conflicts.n; i++) {
        const Conflict *c = &t->found->conflicts.at[i];
        out_puts(o, i ? ",\n  {" : "\n  {");
        text_member(o, true, "threshold", t->forest->nodes.at[c->node].name);
        threshold_member(o, false, "chosen", c->chosen);
        number_member(o, "loss", c->loss);
        out_puts(o, ", \"datasets\": [");
        for (int k = 0; k < c->n_datasets; k++) {
            out_puts(o, k ? ", " : "");
            out_quoted(o, t->datasets->at[c->datasets[k]].name);
        }
        out_puts(o, "]}");
    }
    out_puts(o, "]");
}

static void path(Out *o, const Tuning *t, const uint8_t *ways)
{
    static const char *const outcome[] = {"", "true", "false", "\"both\""};
    const char *sep = "";
    out_puts(o, ", \"path\": {");
    for (int i = 0; i < t->forest->nodes.n; i++) {
        if (!ways[i])
            continue;
        out_puts(o, sep);
        out_quoted(o, t->forest->nodes.at[i].name);
        out_printf(o, ": %s", outcome[ways[i]]);
        sep = ", ";
    }
    out_puts(o, "}");
}

static void versions(Out *o, const Tuning *t, int d)
{
    const Trials *ts = &t->trials[d];
    out_puts(o, ",\n   \"versions\": [");
    for (int k = 0; k < ts->n; k++) {
        const Trial *v = &ts->at[k];
        out_puts(o, k ? ",\n     {" : "\n     {");
        text_member(o, true, "taken", v->taken);
        path(o, t, v->ways);
        out_printf(o, ", \"measured\": %d, ", v->times);
        json_measurement(o, "time", &v->m);
        bool_member(o, "wrong", v->m.wrong);
        out_puts(o, ", \"settings\": {");
        for (int i = 0; v->settings && i < t->forest->nodes.n; i++) {
            threshold_member(o, i == 0, t->forest->nodes.at[i].name, v->settings[i]);
        }
        out_puts(o, "}}");
    }
    out_puts(o, "]");
}

/* What the data set asks of the thresholds that it gets to. */
static void opinions(Out *o, const Tuning *t, int d)
{
    const char *sep = "\n     ";
    out_puts(o, ",\n   \"thresholds\": {");
    for (int i = 0; i < t->forest->nodes.n; i++) {
        const Opinion *op = &t->found->datasets[d].opinions[i];
        if (op->pars.n == 0)
            continue;
        out_puts(o, sep);
        out_quoted(o, t->forest->nodes.at[i].name);
        out_puts(o, ": {\"parallelism\": [");
        for (int k = 0; k < op->pars.n; k++)
            out_printf(o, "%s%" PRId64, k ? ", " : "", op->pars.at[k]);
        out_printf(o, "], \"low\": %" PRId64 ", \"high\": %" PRId64, op->low, op->high);
        bool_member(o, "free", op->free);
        bool_member(o, "refused", op->refused);
        out_puts(o, "}");
        sep = ",\n     ";
    }
    out_puts(o, "}");
}

static void verdict(Arena *a, Out *o, const Tuning *t, int d)
{
    const Verdict *v = &t->verdicts[d];
    number_member(o, "best_us", tuning_best(t, d) * 1e6);
    if (!v->made)
        return;
    out_puts(o, ",\n   ");
    json_measurement(o, "untuned", &v->untuned);
    out_puts(o, ", ");
    json_measurement(o, "tuned", &v->tuned);
    number_member(o, "regret", tuning_regret(t, d));
    number_member(o, "left_out_us", t->found->datasets[d].unseen * 1e6);
    bool_member(o, "same_versions", v->same);
    bool_member(o, "loses", v->loses);
    if (v->tuned.ok) {
        uint8_t *ways = ways_of(a, t->forest, &v->tuned.log);
        text_member(o, false, "taken", versions_taken(a, t->forest, ways));
        path(o, t, ways);
    }
}

void report_json(Arena *a, Out *o, const Tuning *t)
{
    out_printf(o, "{\"format\": \"minifut tune\", \"version\": %d,\n", FORMAT_VERSION);
    text_member(o, true, "program", t->source);
    text_member(o, false, "entry", t->entry);
    text_member(o, false, "data", t->folder);
    text_member(o, false, "device", t->device);
    text_member(o, false, "strategy", t->strategy);
    text_member(o, false, "objective", t->objective);
    bool_member(o, "complete", t->complete);
    out_printf(o, ", \"runs\": %d, \"seconds\": %.3f", t->found->runs, t->seconds);
    number_member(o, "untuned", tuning_loss(t, false));
    number_member(o, "tuned", tuning_loss(t, true));
    number_member(o, "left_out", t->found->unseen);
    bool_member(o, "distrusted", t->found->distrusted);
    bool_member(o, "withdrawn", t->withdrawn);
    thresholds(o, t);
    sizes(o, t);
    conflicts(o, t);
    out_puts(o, ",\n\"datasets\": [");
    for (int d = 0; d < t->datasets->n; d++) {
        out_puts(o, d ? ",\n  {" : "\n  {");
        text_member(o, true, "name", t->datasets->at[d].name);
        bool_member(o, "usable", tuning_usable(t, d));
        if (tuning_usable(t, d))
            verdict(a, o, t, d);
        versions(o, t, d);
        opinions(o, t, d);
        out_puts(o, "}");
    }
    out_puts(o, "]}\n");
}
