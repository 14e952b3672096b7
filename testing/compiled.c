/* The compiled route: every version of a program on every case. */
#include "testing/testing.h"

#include "autotune/run/compiler.h"
#include "autotune/tuner/tuning.h"
#include "interp/interp.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Thresholds: one value for each node of the entry's forest, NULL for the defaults. */
typedef struct {
    const char *label;
    const int64_t *values;
} Forcing;
typedef VEC(Forcing) Forcings;

/* A run that was made: its thresholds and the comparisons. */
typedef struct {
    const int64_t *values;
    LogLines log;
} Past;
typedef VEC(Past) Pasts;

typedef struct {
    Run *run;
    FlattenMode mode;
    Session *s;
    Datasets ds; /* beside run->d.cases */
} Versions;

/* Versions and loops (`suff_loop`) have each one value. */
static int64_t *fill(Arena *a, const Forest *f, int64_t versions, int64_t loops)
{
    int64_t *v = NEWN(a, int64_t, f->nodes.n);
    for (int i = 0; i < f->nodes.n; i++)
        v[i] = node_is_loop(&f->nodes.at[i]) ? loops : versions;
    return v;
}

/* The threshold's comparison true on its own path; of other versions those that lead there, of
 * loops as `loops` says. */
static int64_t *force(Arena *a, const Forest *f, int node, int64_t loops)
{
    const Node *nodes = f->nodes.at;
    int64_t *v = fill(a, f, THRESHOLD_NEVER, loops);
    v[node] = THRESHOLD_ALWAYS;
    for (int n = node; nodes[n].parent >= 0; n = nodes[n].parent)
        v[nodes[n].parent] = nodes[n].outcome ? THRESHOLD_ALWAYS : THRESHOLD_NEVER;
    return v;
}

/* Defaults; no comparison true; each true on its own path; all true. Where a loop's comparison is
 * not true, its launches become one: so that of no version, of all, and of those of whole
 * work-groups, whose kernels meet and share memory in it. */
static Forcings settings_of(Arena *a, const Forest *f)
{
    const int64_t never = THRESHOLD_NEVER, always = THRESHOLD_ALWAYS;
    Forcings cs = {0};
    int64_t *def = NEWN(a, int64_t, f->nodes.n);
    for (int i = 0; i < f->nodes.n; i++)
        def[i] = f->nodes.at[i].def;
    vec_push(a, &cs, ((Forcing){"default thresholds", def}));
    if (!f->nodes.n)
        return cs;
    vec_push(a, &cs, ((Forcing){"all never", fill(a, f, never, never)}));
    for (int i = 0; i < f->nodes.n; i++) {
        const char *name = f->nodes.at[i].name;
        bool loop = node_is_loop(&f->nodes.at[i]);
        vec_push(
            a, &cs,
            ((Forcing){arena_printf(a, "%s=always", name), force(a, f, i, loop ? never : always)}));
        if (strstr(name, ".suff_intra_"))
            vec_push(a, &cs,
                     ((Forcing){arena_printf(a, "%s=always, loops in one launch", name),
                                force(a, f, i, never)}));
    }
    vec_push(a, &cs, ((Forcing){"all versions always", fill(a, f, always, never)}));
    vec_push(a, &cs, ((Forcing){"all always", fill(a, f, always, always)}));
    return cs;
}

/* May a run have done otherwise with what a loop's threshold is now? Unset it is not always
 * compared. */
static bool loop_untold(const Forest *f, const Past *p, const int64_t *values, int node)
{
    for (int i = 0; i < p->log.n; i++)
        if (forest_find(f, p->log.at[i].name) == node)
            return false;
    return node_is_loop(&f->nodes.at[node]) && p->values[node] == THRESHOLD_UNSET &&
           values[node] == THRESHOLD_NEVER;
}

/* Would a run with `values` do what a past one did? It does if every comparison made then comes
 * out the same. */
static bool same_run(const Forest *f, const Past *p, const int64_t *values)
{
    for (int i = 0; i < f->nodes.n; i++)
        if (loop_untold(f, p, values, i))
            return false;
    for (int i = 0; i < p->log.n; i++) {
        int node = forest_find(f, p->log.at[i].name);
        int64_t par = p->log.at[i].par;
        if (node < 0 || (p->values[node] <= par) != (values[node] <= par))
            return false;
    }
    return true;
}

static bool known_run(const Forest *f, const Pasts *ps, const int64_t *values)
{
    for (int i = 0; i < ps->n; i++)
        if (same_run(f, &ps->at[i], values))
            return true;
    return false;
}

/* What is wrong with a run of a case; NULL if nothing is. */
static const char *judge(Arena *a, const TestCase *c, const RunResult *r)
{
    if (c->expect != EXPECT_ERROR)
        return r->ok ? NULL : r->why;
    if (r->ok || r->wrong)
        return "it should fail, but did not";
    if (!directives_match(c->error, r->told ? r->told : r->why))
        return arena_printf(a, "%s; expected a match of `%s`", r->why, c->error);
    return NULL;
}

/* What came of a case under all settings. */
typedef struct {
    int bad;
    const char *label, *why; /* of the first one that is wrong */
} Outcome;

/* All settings of thresholds that differ, under what is said of makers' choices (label "":
 * nothing). */
static void run_settings(Versions *v, int d, const char *said, Outcome *out)
{
    Run *run = v->run;
    const TestCase *c = &run->d.cases.at[d];
    const Forest *f = session_forest(v->s);
    Forcings cs = settings_of(run->a, f);
    Pasts past = {0};
    for (int i = 0; i < cs.n; i++) {
        if (known_run(f, &past, cs.at[i].values))
            continue;
        const char *label = arena_printf(run->a, "%s%s", cs.at[i].label, said);
        test_at(run, "%s at case %s of %s, %s", fl_mode_text[v->mode], c->name, c->entry, label);
        session_set(v->s, cs.at[i].values);
        RunResult r = session_run(v->s, d, run->o->timeout, c->expect != EXPECT_ERROR);
        const char *why = judge(run->a, c, &r);
        out->bad += why != NULL;
        if (why && !out->label) {
            out->label = label;
            out->why = why;
        }
        Past p = {cs.at[i].values, r.log};
        if (!why)
            vec_push(run->a, &past, p);
    }
}

static void run_case(Versions *v, int d)
{
    Run *run = v->run;
    const TestCase *c = &run->d.cases.at[d];
    const char *mode = fl_mode_text[v->mode], *wrong = test_unwritable(run, c);
    if (!wrong)
        wrong = session_use(v->s, c->entry);
    if (wrong) {
        test_fail(run, c, "%s: %s", mode, wrong);
        return;
    }
    Outcome out = {0};
    run_settings(v, d, "", &out);
    if (run->o->choices && session_choices(v->s)) {
        session_choose(v->s, THRESHOLD_ALWAYS);
        run_settings(v, d, ", all choices taken", &out);
        session_choose(v->s, THRESHOLD_NEVER);
        run_settings(v, d, ", no choice taken", &out);
        session_choose(v->s, THRESHOLD_UNSET);
    }
    if (!out.bad)
        test_pass(run);
    else if (out.bad == 1)
        test_fail(run, c, "%s, %s: %s", mode, out.label, out.why);
    else
        test_fail(run, c, "%s, %s: %s (and %d more settings)", mode, out.label, out.why,
                  out.bad - 1);
}

static const char *build(Run *run, FlattenMode mode)
{
    const char *binary = arena_printf(run->a, "%s/%s", run->tmp, fl_mode_text[mode]);
    test_at(run, "building it (%s)", fl_mode_text[mode]);
    int code = compile_program(run->file, binary, fl_mode_text[mode], run->o->ranks > 0, false);
    if (code) {
        test_fail(run, NULL, "compile --flatten=%s: exit code %d", fl_mode_text[mode], code);
        return NULL;
    }
    test_pass(run);
    return binary;
}

static bool for_compiled(const Run *run, int d)
{
    const TestCase *c = &run->d.cases.at[d];
    return !c->notest && c->input.name && interp_entry(run->prog, c->entry);
}

void test_versions(Run *run, FlattenMode mode)
{
    Versions v = {.run = run, .mode = mode};
    const char *binary = build(run, mode), *wrong = NULL, *entry = NULL;
    if (!binary)
        return;
    for (int d = 0; d < run->d.cases.n; d++) {
        const TestCase *c = &run->d.cases.at[d];
        Dataset ds = {.name = c->name, .in = c->input, .out = c->output};
        if (for_compiled(run, d) && c->script && test_takes_sum(run, c))
            ds.script = c->script;
        vec_push(run->a, &v.ds, ds);
        if (for_compiled(run, d) && !entry)
            entry = c->entry;
    }
    if (!entry)
        return;
    SessionOptions so = {.program = binary,
                         .entry = entry,
                         .device = run->o->device,
                         .timeout = run->o->timeout,
                         .tolerance = test_tolerance(run),
                         .forked = run->o->forks,
                         .ranks = run->o->ranks};
    test_at(run, "starting it (%s)", fl_mode_text[mode]);
    v.s = session_open(run->a, &so, &v.ds, &wrong);
    if (!v.s) {
        test_fail(run, NULL, "%s: %s", fl_mode_text[mode], wrong);
        return;
    }
    for (int d = 0; d < run->d.cases.n; d++) {
        const CaseResult *known = &run->results[d];
        if (known->known && run->d.cases.at[d].expect != EXPECT_VALUES)
            session_expect(v.s, d, known->values, known->n);
        if (for_compiled(run, d))
            run_case(&v, d);
    }
    session_close(v.s);
}
