/* What goes to a session's server, the inputs of data sets, and what comes back: results, which are
 * compared with what they must be. */
#include "autotune/run/replies.h"
#include "autotune/run/session_parts.h"
#include "common/values.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Data sets stay there up to so many bytes in all, so that none is sent again. */
static const int64_t RESIDENT_BYTES = (int64_t)1 << 29;

/* --- Inputs --------------------------------------------------------------------------------- */

/* Moves the next value of the data set to the server, as variable `var`; *bytes grows by its. NULL
 * or what is wrong. */
static const char *send_simple(Session *s, rt_reader *r, const char *var, const char *type,
                               rt_prim prim, int rank, int64_t *bytes)
{
    rt_hvalue v;
    if (!rt_read_value(r, prim, rank, &v))
        return arena_strdup(s->a, r->error);
    const char *wrong = session_put_value(s, &v, var, type);
    *bytes += rt_hvalue_bytes(&v);
    rt_hvalue_free(&v);
    return wrong;
}

/* A value of any type; a record is put together from its fields. */
static const char *send_value(Session *s, rt_reader *r, const char *var, const char *type,
                              int64_t *bytes)
{
    rt_prim prim;
    int rank;
    if (reply_type(type, &prim, &rank))
        return send_simple(s, r, var, type, prim, rank, bytes);
    TalkStatus st = ASK(s, "fields \"%s\"", type);
    if (st != TALK_OK)
        return session_reason(s, st, arena_printf(s->a, "an input of type %s", type));
    Slots fields = session_reply_slots(s, true);
    Out cmd = {0};
    out_printf(&cmd, "new %s \"%s\"", var, type); /* a type may have blanks */
    const char *wrong = NULL;
    for (int i = 0; i < fields.n && !wrong; i++) {
        const char *part = arena_printf(s->a, "%s_%d", var, i);
        wrong = send_value(s, r, part, fields.at[i].type, bytes);
        out_printf(&cmd, " %s", part);
    }
    if (!wrong && (st = ASK(s, "%s", cmd.text)) != TALK_OK)
        wrong = session_reason(s, st, "making a record");
    for (int i = 0; i < fields.n; i++)
        ASK(s, "free %s_%d", var, i);
    out_free(&cmd);
    return wrong;
}

static void unload(Session *s, int d)
{
    for (int i = 0; s->resident[d].there && i < s->inputs.n; i++)
        ASK(s, "free %s", session_input_name(s, d, i));
    s->resident[d] = (Resident){0};
}

bool session_unload_others(Session *s, int d)
{
    bool any = false;
    for (int i = 0; i < s->ds->n; i++) {
        any |= i != d && s->resident[i].there;
        if (i != d)
            unload(s, i);
    }
    return any;
}

void session_forget_resident(Session *s)
{
    memset(s->resident, 0, (size_t)s->ds->n * sizeof *s->resident);
}

/* Reads data set d and sends it. NULL or what is wrong. */
static const char *send_inputs(Session *s, int d, int64_t *bytes)
{
    const DataSource *in = &s->ds->at[d].in;
    rt_reader r;
    const char *wrong = NULL;
    if (!data_source_open(in, &r))
        return arena_strdup(s->a, r.error);
    r.stopped = server_interrupted;
    for (int i = 0; i < s->inputs.n && !wrong; i++) {
        wrong = send_value(s, &r, session_input_name(s, d, i), s->inputs.at[i].type, bytes);
        if (wrong)
            wrong = arena_printf(s->a, "%s: input %d of type %s: %s", in->name, i + 1,
                                 s->inputs.at[i].type, wrong);
    }
    if (!wrong && !rt_reader_at_end(&r))
        wrong = arena_printf(s->a, "%s: data after the last input of %s", in->name, s->entry);
    if (!rt_reader_close(&r) && !wrong)
        wrong = arena_strdup(s->a, r.error);
    return wrong;
}

static const char *send_dataset(Session *s, int d)
{
    Resident *now = &s->resident[d];
    now->there = true;
    const char *wrong = s->ds->at[d].script ? session_make_inputs(s, d, &now->bytes)
                                            : send_inputs(s, d, &now->bytes);
    if (wrong)
        unload(s, d);
    return wrong;
}

const char *session_load(Session *s, int d)
{
    if (s->resident[d].there)
        return NULL;
    const char *wrong = send_dataset(s, d);
    bool lives = wrong && !server_interrupted() && ASK(s, "entry_points") == TALK_OK;
    if (lives && session_unload_others(s, d)) /* they may have taken its room */
        wrong = send_dataset(s, d);
    int64_t total = 0;
    for (int i = 0; i < s->ds->n; i++)
        total += s->resident[i].bytes;
    if (total > RESIDENT_BYTES)
        session_unload_others(s, d);
    return wrong;
}

const char *session_prepare(Session *s, int d, Argument *in)
{
    const char *wrong = session_load(s, d);
    for (int i = 0; i < s->inputs.n && !wrong; i++) {
        in[i] = (Argument){session_input_name(s, d, i), false};
        if (!s->inputs.at[i].unique)
            continue;
        const char *copy = arena_printf(s->a, "in%d", i);
        TalkStatus st = ASK(s, "copy %s %s", copy, in[i].name);
        if (st == TALK_FAILURE && session_unload_others(s, d))
            st = ASK(s, "copy %s %s", copy, in[i].name);
        if (st == TALK_OK)
            in[i] = (Argument){copy, true};
        else if (st != TALK_FAILURE)
            wrong = session_reason(s, st, "copying an input");
    }
    return wrong;
}

void session_clean_up(Session *s, int d, const Argument *in)
{
    bool used_up = false;
    for (int i = 0; i < s->inputs.n; i++) {
        used_up |= s->inputs.at[i].unique && !in[i].copied;
        if (in[i].copied)
            ASK(s, "free %s", in[i].name);
    }
    if (used_up)
        unload(s, d);
}

/* --- Results -------------------------------------------------------------------------------- */

/* Appends the components of variable `var` to vs. NULL or what is wrong. */
static const char *fetch_value(Session *s, const char *var, Values *vs)
{
    rt_reader r;
    const char *wrong = NULL;
    TalkStatus st = ASK(s, "store \"%s\" %s", s->value, var);
    if (st != TALK_OK)
        return session_reason(s, st, "reading the result");
    if (!rt_reader_open(&r, s->value))
        return arena_strdup(s->a, r.error);
    while (!wrong && !rt_reader_at_end(&r)) {
        rt_hvalue v;
        if (rt_read_any(&r, &v))
            vec_push(s->a, vs, v);
        else
            wrong = arena_strdup(s->a, r.error);
    }
    rt_reader_close(&r);
    return wrong;
}

/* Reads the data set's expected output; the results just got tell the types. */
static const char *read_expected(Session *s, int d, const Values *got)
{
    Expected *e = &s->expected[d];
    rt_reader r;
    const DataSource *out = &s->ds->at[d].out;
    const char *wrong = NULL;
    if (!data_source_open(out, &r))
        return arena_strdup(s->a, r.error);
    r.stopped = server_interrupted;
    for (int i = 0; i < got->n && !wrong; i++) {
        rt_hvalue v;
        if (rt_read_value(&r, got->at[i].prim, got->at[i].rank, &v))
            vec_push(s->a, &e->values, v);
        else
            wrong = arena_strdup(s->a, r.error);
    }
    if (!wrong && !rt_reader_at_end(&r))
        wrong = arena_printf(s->a, "%s: data after the last result of %s", out->name, s->entry);
    rt_reader_close(&r);
    e->known = !wrong;
    if (wrong)
        session_free_values(&e->values);
    return wrong;
}

/* The program's digest of the results; "" if it tells none. */
static const char *digest_results(Session *s)
{
    Out cmd = {0};
    out_puts(&cmd, "digest");
    for (int i = 0; i < s->outputs.n; i++)
        out_printf(&cmd, " out%d", i);
    bool told = s->outputs.n > 0 && ASK(s, "%s", cmd.text) == TALK_OK && s->reply.text;
    out_free(&cmd);
    return told ? arena_strdup(s->a, s->reply.text) : "";
}

/* Compares the results with what they must be. Keeps them as the expected ones if none
 * are known. */
static const char *compare_results(Session *s, int d, bool *is_wrong)
{
    Values got = {0};
    const char *wrong = NULL;
    for (int i = 0; i < s->outputs.n && !wrong; i++)
        wrong = fetch_value(s, arena_printf(s->a, "out%d", i), &got);
    Expected *e = &s->expected[d];
    if (!wrong && !e->known && s->ds->at[d].out.name)
        wrong = read_expected(s, d, &got);
    if (!wrong && !e->known) {
        e->values = got;
        e->known = true;
        return NULL;
    }
    char why[1024];
    if (!wrong && got.n != e->values.n)
        wrong = arena_printf(s->a, "%d results, expected %d", got.n, e->values.n);
    for (int i = 0; i < got.n && !wrong; i++)
        if (!rt_hvalue_equal(&got.at[i], &e->values.at[i],
                             session_tolerance(got.at[i].prim, s->o.tolerance), why, sizeof why)) {
            wrong = arena_printf(s->a, "wrong result %d: %s", i, why);
            *is_wrong = true;
        }
    session_free_values(&got);
    return wrong;
}

/* They are compared where the program's digest does not say that they are what they were before:
 * most versions' are, and megabytes would go through a file for each run. */
const char *session_check_results(Session *s, int d, bool *is_wrong)
{
    Expected *e = &s->expected[d];
    const char *digest = digest_results(s);
    for (int i = 0; i < e->digests.n; i++)
        if (strcmp(e->digests.at[i], digest) == 0)
            return NULL;
    const char *wrong = compare_results(s, d, is_wrong);
    if (!wrong && *digest)
        vec_push(s->a, &e->digests, digest);
    return wrong;
}

void session_expect(Session *s, int d, const rt_hvalue *values, int n)
{
    Expected *e = &s->expected[d];
    session_free_values(&e->values);
    for (int i = 0; i < n; i++) {
        rt_hvalue v;
        if (!rt_hvalue_make(&v, values[i].prim, values[i].rank, values[i].shape))
            ice(NO_LOC, "no room for an expected value");
        memcpy(v.data, values[i].data, (size_t)rt_hvalue_bytes(&v));
        vec_push(s->a, &e->values, v);
    }
    e->known = true;
}

void session_expect_same(Session *s, Session *other)
{
    Expected *none = s->expected;
    s->expected = other->expected;
    other->expected = none;
}

double session_tolerance(rt_prim p, double asked)
{
    return asked > 0 ? asked : p == RT_F64 ? 1e-9 : p == RT_F32 ? 1e-5 : 1e-2;
}
