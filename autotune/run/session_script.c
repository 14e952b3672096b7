/* Inputs that the program itself makes: a data set's script (script.h) is run in the session's
 * server. */
#include "autotune/run/replies.h"
#include "autotune/run/session_parts.h"
#include "common/values.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What an expression gives. */
typedef struct Given Given;
struct Given {
    enum { IN_SERVER, HERE, PARTS } where;
    const char *var, *type; /* IN_SERVER: a variable there and its type */
    rt_hvalue value;        /* HERE */
    const Script *literal;  /* HERE, written in the script: the type that is wanted says what it is;
                               else NULL */
    VEC(Given *) parts;     /* PARTS: a tuple, or a record if there are names */
    VEC(const char *) names;
};

/* What `let` has bound. */
typedef struct Bound Bound;
struct Bound {
    const char *name;
    Given *given;
    const Bound *up;
};

typedef struct {
    const char *var, *input;
} Used;

typedef struct {
    Session *s;
    VEC(const char *) vars; /* all that were made in the server */
    VEC(Used) used;         /* of those, what has become an input */
    Values values;          /* all that were made here */
    const char *wrong;      /* NULL: nothing so far */
} Maker;

static void *fail(Maker *m, Loc loc, const char *what)
{
    if (!m->wrong)
        m->wrong = arena_printf(m->s->a, "%s: script input: %s", diag_place_str(loc), what);
    return NULL;
}

static const char *new_var(Maker *m)
{
    const char *var = arena_printf(m->s->a, "script%d", m->vars.n);
    vec_push(m->s->a, &m->vars, var);
    return var;
}

static Given *new_given(Maker *m, int where)
{
    Given *g = NEW(m->s->a, Given);
    g->where = where;
    return g;
}

static Given *given_here(Maker *m, rt_hvalue v)
{
    Given *g = new_given(m, HERE);
    g->value = v;
    vec_push(m->s->a, &m->values, v);
    return g;
}

/* --- To the server -------------------------------------------------------------------------- */

/* Its type as messages have it. */
static const char *type_text(Maker *m, const Given *g)
{
    Arena *a = m->s->a;
    char buf[256];
    if (g->where == IN_SERVER)
        return g->type;
    if (g->where == HERE) {
        rt_type_name(g->value.prim, g->value.rank, buf, sizeof buf);
        return arena_strdup(a, buf);
    }
    const char *text = g->names.n ? "{" : "(";
    for (int i = 0; i < g->parts.n; i++)
        text = arena_printf(a, "%s%s%s%s%s", text, i ? ", " : "", g->names.n ? g->names.at[i] : "",
                            g->names.n ? ": " : "", type_text(m, g->parts.at[i]));
    return arena_printf(a, "%s%s", text, g->names.n ? "}" : ")");
}

/* A value of this type that is here as one of the server. */
static const char *send_here(Maker *m, const Given *g, const char *type, Loc loc)
{
    rt_prim prim;
    int rank;
    rt_reader r;
    rt_hvalue v = g->value;
    if (!reply_type(type, &prim, &rank))
        return NULL;
    if (g->literal) {
        rt_reader_mem(&r, g->literal->text, g->literal->n, "script");
        if (rt_read_value(&r, prim, rank, &v))
            vec_push(m->s->a, &m->values, v);
        else
            v = g->value;
    }
    if (v.rank != rank)
        return NULL;
    if (v.prim != prim) {
        rt_hvalue converted;
        if (!script_convert(&v, prim, &converted))
            return NULL;
        v = converted;
        vec_push(m->s->a, &m->values, v);
    }
    const char *var = new_var(m), *wrong = session_put_value(m->s, &v, var, type);
    return wrong ? fail(m, loc, wrong) : var;
}

static const char *to_server(Maker *m, const Given *g, const char *type, Loc loc);

/* What g has for field i of a type: of a record the part of that name, of a tuple the one in its
 * place; else NULL. */
static const Given *field_of(Maker *m, const Given *g, const Slot *field, int i)
{
    if (g->where == IN_SERVER) {
        Given *part = new_given(m, IN_SERVER);
        part->var = new_var(m);
        part->type = field->type;
        return ASK(m->s, "project %s %s %s", part->var, g->var, field->name) == TALK_OK ? part
                                                                                        : NULL;
    }
    for (int k = 0; k < g->names.n; k++)
        if (strcmp(g->names.at[k], field->name) == 0)
            return g->parts.at[k];
    bool placed = !g->names.n && strcmp(field->name, arena_printf(m->s->a, "%d", i)) == 0;
    return placed ? g->parts.at[i] : NULL;
}

/* A variable of a type of tuples or records out of parts, or of a value of another type that has
 * such fields. */
static const char *send_record(Maker *m, const Given *g, const char *type, Loc loc)
{
    Session *s = m->s;
    TalkStatus st = ASK(s, "fields \"%s\"", type);
    if (st != TALK_OK)
        return st == TALK_FAILURE ? NULL : fail(m, loc, session_reason(s, st, "a record's fields"));
    Slots fields = session_reply_slots(s, true);
    if (g->where == PARTS && g->parts.n != fields.n)
        return NULL;
    const char *var = new_var(m), *made = arena_printf(s->a, "new %s \"%s\"", var, type);
    for (int i = 0; i < fields.n; i++) {
        const Given *part = field_of(m, g, &fields.at[i], i);
        const char *sent = part ? to_server(m, part, fields.at[i].type, loc) : NULL;
        if (!sent)
            return NULL;
        made = arena_printf(s->a, "%s %s", made, sent);
    }
    st = ASK(s, "%s", made);
    return st == TALK_OK ? var : fail(m, loc, session_reason(s, st, "making a record"));
}

/* A variable of this type; NULL after fail. */
static const char *to_server(Maker *m, const Given *g, const char *type, Loc loc)
{
    if (g->where == IN_SERVER && strcmp(g->type, type) == 0)
        return g->var;
    const char *var = g->where == HERE ? send_here(m, g, type, loc) : send_record(m, g, type, loc);
    return var ? var
               : fail(m, loc,
                      arena_printf(m->s->a, "this is of type %s, but %s is needed", type_text(m, g),
                                   type));
}

/* --- Evaluation ----------------------------------------------------------------------------- */

static Given *evaluate(Maker *m, const Script *e, const Bound *known);

/* One value, or a tuple of several. */
static Given *all_of(Given *parts)
{
    return parts->parts.n == 1 ? parts->parts.at[0] : parts;
}

static Given *call(Maker *m, const Script *e, const Bound *known)
{
    Session *s = m->s;
    TalkStatus st = ASK(s, "inputs %s", e->name);
    if (st != TALK_OK)
        return fail(m, e->loc,
                    st == TALK_FAILURE ? script_no_entry(s->a, e) : session_reason(s, st, e->name));
    Slots in = session_reply_slots(s, false);
    if (in.n != e->parts.n)
        return fail(m, e->loc,
                    arena_printf(s->a, "`%s` takes %d argument%s, not %d", e->name, in.n,
                                 in.n == 1 ? "" : "s", e->parts.n));
    const char *args = "", *outs = "";
    for (int i = 0; i < in.n && !m->wrong; i++) {
        const Given *arg = evaluate(m, e->parts.at[i], known);
        const char *var = arg ? to_server(m, arg, in.at[i].type, e->parts.at[i]->loc) : NULL;
        args = arena_printf(s->a, "%s %s", args, var);
    }
    if (m->wrong)
        return NULL;
    st = ASK(s, "outputs %s", e->name);
    Slots out = st == TALK_OK ? session_reply_slots(s, false) : (Slots){0};
    Given *all = new_given(m, PARTS);
    for (int i = 0; i < out.n; i++) {
        Given *g = new_given(m, IN_SERVER);
        g->var = new_var(m);
        g->type = out.at[i].type;
        outs = arena_printf(s->a, "%s %s", outs, g->var);
        vec_push(s->a, &all->parts, g);
    }
    if (st == TALK_OK)
        st = ASK(s, "call %s%s%s", e->name, outs, args);
    return st == TALK_OK ? all_of(all) : fail(m, e->loc, session_reason(s, st, e->name));
}

static Given *data_of(Maker *m, const Script *e)
{
    rt_reader r;
    rt_hvalue v;
    Given *all = new_given(m, PARTS);
    if (!rt_reader_open(&r, e->name))
        return fail(m, e->loc, r.error);
    r.stopped = server_interrupted;
    while (!m->wrong && !rt_reader_at_end(&r)) {
        if (rt_read_any(&r, &v))
            vec_push(m->s->a, &all->parts, given_here(m, v));
        else
            fail(m, e->loc, arena_strdup(m->s->a, r.error));
    }
    rt_reader_close(&r);
    return m->wrong ? NULL : all_of(all);
}

/* The bytes of a string, or of a file. */
static Given *bytes_of(Maker *m, const Script *e)
{
    rt_hvalue v;
    const char *wrong = script_bytes(m->s->a, e, server_interrupted, &v);
    return wrong ? fail(m, e->loc, wrong) : given_here(m, v);
}

static Given *parts_of(Maker *m, const Script *e, const Bound *known)
{
    Given *g = new_given(m, PARTS);
    for (int i = 0; i < e->parts.n && !m->wrong; i++)
        vec_push(m->s->a, &g->parts, evaluate(m, e->parts.at[i], known));
    for (int i = 0; i < e->names.n; i++)
        vec_push(m->s->a, &g->names, e->names.at[i]);
    return m->wrong ? NULL : g;
}

static Given *let(Maker *m, const Script *e, const Bound *known)
{
    Given *g = evaluate(m, e->parts.at[0], known);
    bool whole = e->names.n == 1;
    if (g && !whole && (g->where != PARTS || g->parts.n != e->names.n))
        return fail(
            m, e->parts.at[0]->loc,
            arena_printf(m->s->a, "this is of type %s, for %d names", type_text(m, g), e->names.n));
    for (int i = 0; g && i < e->names.n; i++) {
        Bound *b = NEW(m->s->a, Bound);
        *b = (Bound){e->names.at[i], whole ? g : g->parts.at[i], known};
        known = b;
    }
    return g ? evaluate(m, e->parts.at[1], known) : NULL;
}

static Given *literal(Maker *m, const Script *e)
{
    rt_reader r;
    rt_hvalue v;
    rt_reader_mem(&r, e->text, e->n, "script");
    if (!rt_read_any(&r, &v))
        return fail(m, e->loc, arena_strdup(m->s->a, r.error));
    Given *g = given_here(m, v);
    g->literal = e;
    return g;
}

static Given *named(Maker *m, const Script *e, const Bound *known)
{
    const Bound *b = known;
    while (b && strcmp(b->name, e->name) != 0)
        b = b->up;
    if (b && e->parts.n)
        return fail(m, e->loc, arena_printf(m->s->a, "`%s` is no function", e->name));
    return b ? b->given : call(m, e, known);
}

static Given *evaluate(Maker *m, const Script *e, const Bound *known)
{
    switch (e->kind) {
    case SCRIPT_CALL: return named(m, e, known);
    case SCRIPT_VALUE: return literal(m, e);
    case SCRIPT_DATA: return data_of(m, e);
    case SCRIPT_STRING:
    case SCRIPT_BYTES: return bytes_of(m, e);
    case SCRIPT_TUPLE:
    case SCRIPT_RECORD: return parts_of(m, e, known);
    case SCRIPT_LET: return let(m, e, known);
    case SCRIPT_CODE: return fail(m, e->loc, e->name);
    }
    return NULL;
}

/* --- Inputs --------------------------------------------------------------------------------- */

/* Makes a variable an input, which has a name of its own; one that is several inputs is copied. */
static void claim(Maker *m, const char *var, const char *input, Loc loc)
{
    Session *s = m->s;
    const char *before = NULL;
    for (int i = 0; i < m->used.n; i++)
        if (strcmp(m->used.at[i].var, var) == 0)
            before = m->used.at[i].input;
    TalkStatus st =
        before ? ASK(s, "copy %s %s", input, before) : ASK(s, "rename %s %s", var, input);
    vec_push(s->a, &m->used, ((Used){var, input}));
    if (st != TALK_OK)
        fail(m, loc, session_reason(s, st, "making an input"));
}

/* Of an array that the server can tell the shape of; else 0. */
static int64_t bytes_in_server(Session *s, const char *var, const char *type)
{
    rt_prim prim;
    int rank;
    if (!reply_type(type, &prim, &rank) || !rank || ASK(s, "shape %s", var) != TALK_OK)
        return 0;
    int64_t bytes = rt_prim_size(prim);
    const char *p = s->reply.text;
    for (int i = 0, at; i < rank && p; i++, p += at) {
        int64_t n = 0;
        if (sscanf(p, "%" SCNd64 "%n", &n, &at) != 1)
            return 0;
        bytes *= n;
    }
    return bytes;
}

static void make_inputs(Maker *m, int d, const Script *e, int64_t *bytes)
{
    Session *s = m->s;
    Given *g = evaluate(m, e, NULL);
    int n = s->inputs.n;
    bool tuple = g && g->where == PARTS && !g->names.n;
    if (g && n != 1 && (!tuple || g->parts.n != n))
        fail(m, e->loc,
             arena_printf(s->a, "this is of type %s, but `%s` takes %d inputs", type_text(m, g),
                          s->entry, n));
    for (int i = 0; i < n && !m->wrong; i++) {
        const char *type = s->inputs.at[i].type, *input = session_input_name(s, d, i);
        const char *var = to_server(m, n == 1 ? g : g->parts.at[i], type, e->loc);
        if (var)
            claim(m, var, input, e->loc);
        if (!m->wrong)
            *bytes += bytes_in_server(s, input, type);
    }
}

const char *session_make_inputs(Session *s, int d, int64_t *bytes)
{
    Maker m = {.s = s};
    ASK(s, "time_limit 0"); /* that is for runs */
    make_inputs(&m, d, s->ds->at[d].script, bytes);
    for (int i = 0; i < m.vars.n; i++) /* inputs have other names by now */
        ASK(s, "free %s", m.vars.at[i]);
    session_free_values(&m.values);
    if (s->stop_sent)
        ASK(s, "time_limit %.0f", s->stop * 1e6);
    return m.wrong;
}
