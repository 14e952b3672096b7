#include "autotune/session.h"

#include "autotune/apart.h"
#include "autotune/replies.h"
#include "autotune/talk.h"
#include "base/tempdir.h"
#include "runtime/policy.h"
#include "runtime/values.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A parameter, result or record field of the program. */
typedef struct {
    const char *type; /* without '*' */
    bool unique;
} Slot;
typedef VEC(Slot) Slots;
typedef VEC(rt_hvalue) Values;

typedef struct {
    Values values; /* the results that runs must equal */
    bool known;
    VEC(const char *) digests; /* of results that do */
} Expected;

/* The inputs of a data set in the server. */
typedef struct {
    bool there;
    int64_t bytes;
} Resident;

/* An input of a run. */
typedef struct {
    const char *name; /* its variable */
    bool copied;      /* for this run */
} Argument;

/* Data sets stay there up to so many bytes in all, so that none is sent again. */
static const int64_t RESIDENT_BYTES = (int64_t)1 << 29;

struct Session {
    Arena *a;
    SessionOptions o;
    const Datasets *ds;
    Server *server;
    Out reply;
    const char *entry;
    Slots inputs, outputs;
    Forest forest;
    Sizes sizes;
    int64_t *settings; /* as last asked for; NULL: the defaults */
    int64_t *set_sizes; /* the same of sizes */
    bool sent, sizes_sent; /* the server has these settings */
    double stop;       /* seconds after which runs give up; 0: never */
    bool stop_sent;    /* the server knows */
    bool parts, parts_sent; /* runs tell them; the server knows */
    Resident *resident; /* [dataset] */
    Expected *expected;
    const char *turns; /* the file whose lock says whose turn it is; NULL: nobody else runs */
    int turn;          /* it, opened */
    TempDir tmp;       /* for values in transit */
    const char *value; /* the file there, as a word of the protocol */
};

/* --- Asking the server ---------------------------------------------------------------------- */

/* What went wrong with a command, in words. */
static const char *reason(Session *s, TalkStatus st, const char *what)
{
    static const char *const word[] = {"", "failed", "took too long", "ended the program"};
    const char *text = s->reply.text ? s->reply.text : "";
    size_t n = strcspn(text, "\n");
    if (n)
        return arena_printf(s->a, "%s %s: %.*s", what, word[st], (int)n, text);
    const char *log = st == TALK_DEAD ? server_log(s->server) : "";
    return arena_printf(s->a, "%s %s%s%s", what, word[st], *log ? ": " : "", log);
}

#define ASK(s, ...) server_command((s)->server, (s)->o.timeout, &(s)->reply, __VA_ARGS__)

/* The lines of the reply as slots; `named`: each line is "name type". */
static Slots reply_slots(Session *s, bool named)
{
    Slots slots = {0};
    char *text = arena_strdup(s->a, s->reply.text ? s->reply.text : ""), *save;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        if (named && strchr(line, ' '))
            line = strchr(line, ' ') + 1;
        bool unique = *line == '*';
        vec_push(s->a, &slots, ((Slot){line + unique, unique}));
    }
    return slots;
}

/* --- Inputs --------------------------------------------------------------------------------- */

/* Moves the next value of the data set to the server, as variable `var`; *bytes grows by its. NULL
 * or what is wrong. */
static const char *send_simple(Session *s, rt_reader *r, const char *var, const char *type,
                               rt_prim prim, int rank, int64_t *bytes)
{
    rt_hvalue v;
    if (!rt_read_value(r, prim, rank, &v))
        return arena_strdup(s->a, r->error);
    FILE *f = fopen(s->value, "wb");
    if (f)
        (void)rt_write_binary(f, &v);
    bool ok = f && rt_close_written(f);
    *bytes += rt_hvalue_bytes(&v);
    rt_hvalue_free(&v);
    if (!ok)
        return arena_printf(s->a, "cannot write %s: %s", s->value, strerror(errno));
    TalkStatus st = ASK(s, "restore \"%s\" %s \"%s\"", s->value, var, type);
    return st == TALK_OK ? NULL : reason(s, st, "loading a value");
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
        return reason(s, st, arena_printf(s->a, "an input of type %s", type));
    Slots fields = reply_slots(s, true);
    Out cmd = {0};
    out_printf(&cmd, "new %s \"%s\"", var, type); /* a type may have blanks */
    const char *wrong = NULL;
    for (int i = 0; i < fields.n && !wrong; i++) {
        const char *part = arena_printf(s->a, "%s_%d", var, i);
        wrong = send_value(s, r, part, fields.at[i].type, bytes);
        out_printf(&cmd, " %s", part);
    }
    if (!wrong && (st = ASK(s, "%s", cmd.text)) != TALK_OK)
        wrong = reason(s, st, "making a record");
    for (int i = 0; i < fields.n; i++)
        ASK(s, "free %s_%d", var, i);
    out_free(&cmd);
    return wrong;
}

/* Input i of data set d in the server. */
static const char *input_name(Session *s, int d, int i)
{
    return arena_printf(s->a, "d%d_in%d", d, i);
}

static void unload(Session *s, int d)
{
    for (int i = 0; s->resident[d].there && i < s->inputs.n; i++)
        ASK(s, "free %s", input_name(s, d, i));
    s->resident[d] = (Resident){0};
}

/* All but data set d (-1: all of them). Were there any? */
static bool unload_others(Session *s, int d)
{
    bool any = false;
    for (int i = 0; i < s->ds->n; i++) {
        any |= i != d && s->resident[i].there;
        if (i != d)
            unload(s, i);
    }
    return any;
}

/* Nothing is in the server any more. */
static void forget_resident(Session *s)
{
    memset(s->resident, 0, (size_t)s->ds->n * sizeof *s->resident);
}

/* Reads data set d and sends it. NULL or what is wrong. */
static const char *send_dataset(Session *s, int d)
{
    const DataSource *in = &s->ds->at[d].in;
    rt_reader r;
    const char *wrong = NULL;
    Resident *now = &s->resident[d];
    if (!data_source_open(in, &r))
        return arena_strdup(s->a, r.error);
    r.stopped = server_interrupted;
    now->there = true;
    for (int i = 0; i < s->inputs.n && !wrong; i++) {
        wrong = send_value(s, &r, input_name(s, d, i), s->inputs.at[i].type, &now->bytes);
        if (wrong)
            wrong = arena_printf(s->a, "%s: input %d of type %s: %s", in->name, i + 1,
                                 s->inputs.at[i].type, wrong);
    }
    if (!wrong && !rt_reader_at_end(&r))
        wrong = arena_printf(s->a, "%s: data after the last input of %s", in->name, s->entry);
    if (!rt_reader_close(&r) && !wrong)
        wrong = arena_strdup(s->a, r.error);
    if (wrong)
        unload(s, d);
    return wrong;
}

/* Sees to it that the server holds data set d's inputs. NULL or what is wrong. */
static const char *load(Session *s, int d)
{
    if (s->resident[d].there)
        return NULL;
    const char *wrong = send_dataset(s, d);
    if (wrong && !server_interrupted() && unload_others(s, d)) /* they may have taken its room */
        wrong = send_dataset(s, d);
    int64_t total = 0;
    for (int i = 0; i < s->ds->n; i++)
        total += s->resident[i].bytes;
    if (total > RESIDENT_BYTES)
        unload_others(s, d);
    return wrong;
}

/* Has the inputs of the next run ready: copies of those that it consumes. Where there is no room
 * for a copy, it consumes what was sent, which is sent again for the run after it. */
static const char *prepare(Session *s, int d, Argument *in)
{
    const char *wrong = load(s, d);
    for (int i = 0; i < s->inputs.n && !wrong; i++) {
        in[i] = (Argument){input_name(s, d, i), false};
        if (!s->inputs.at[i].unique)
            continue;
        const char *copy = arena_printf(s->a, "in%d", i);
        TalkStatus st = ASK(s, "copy %s %s", copy, in[i].name);
        if (st == TALK_FAILURE && unload_others(s, d))
            st = ASK(s, "copy %s %s", copy, in[i].name);
        if (st == TALK_OK)
            in[i] = (Argument){copy, true};
        else if (st != TALK_FAILURE)
            wrong = reason(s, st, "copying an input");
    }
    return wrong;
}

/* ... and afterwards. */
static void clean_up(Session *s, int d, const Argument *in)
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
        return reason(s, st, "reading the result");
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

static void free_values(Values *vs)
{
    for (int i = 0; i < vs->n; i++)
        rt_hvalue_free(&vs->at[i]);
    vs->n = 0;
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
        free_values(&e->values);
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

/* Compares the results with what they must be. Keeps them as the expected ones if none are known. */
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
    free_values(&got);
    return wrong;
}

/* The same, where the program's digest does not say that they are what they were before: most versions' are, and
 * megabytes would go through a file for each run. */
static const char *check_results(Session *s, int d, bool *is_wrong)
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

/* --- Starting ------------------------------------------------------------------------------- */

static bool start(Session *s, const char **wrong)
{
    const char *args[8] = {"-L"};
    int n = 1;
    if (s->o.device) {
        args[n++] = "-d";
        args[n++] = s->o.device;
    }
    if (s->o.platform) {
        args[n++] = "-p";
        args[n++] = s->o.platform;
    }
    if (s->o.profile)
        args[n++] = "-P";
    args[n] = NULL;
    Out why = {0};
    s->server = server_start(s->o.program, s->o.forked, args, &why);
    forget_resident(s);
    s->sent = s->sizes_sent = s->stop_sent = s->parts_sent = false;
    if (!s->server)
        *wrong = arena_strdup(s->a, why.text ? why.text : "?");
    else if (s->o.profile) /* only session_profile's runs: others are timed as without */
        ASK(s, "pause_profiling");
    out_free(&why);
    return s->server != NULL;
}

/* Starts the program again if it died, or was killed for taking too long. A device may need a moment
 * to come back. */
static bool revive(Session *s, const char **wrong)
{
    enum { TRIES = 3 };
    if (s->server && ASK(s, "entry_points") == TALK_OK)
        return true;
    for (int i = 0; i < TRIES && !server_interrupted(); i++) {
        if (i)
            sleep(1);
        server_stop(s->server);
        s->server = NULL;
        if (start(s, wrong))
            return true;
    }
    return false;
}

/* The entry point asked for: "main", or the only one. */
static bool choose_entry(Session *s, const char **wrong)
{
    TalkStatus st = ASK(s, "entry_points");
    if (st != TALK_OK) {
        *wrong = reason(s, st, "entry_points");
        return false;
    }
    Slots names = reply_slots(s, false);
    const char *want = s->o.entry ? s->o.entry : names.n == 1 ? names.at[0].type : "main";
    for (int i = 0; i < names.n; i++)
        if (strcmp(names.at[i].type, want) == 0)
            s->entry = want;
    if (!s->entry)
        *wrong = arena_printf(s->a, "%s has no entry point '%s'", s->o.program, want);
    return s->entry != NULL;
}

/* The types of the entry's inputs or outputs, or the names of its parameters. */
static bool ask_slots(Session *s, const char *command, Slots *slots, const char **wrong)
{
    TalkStatus st = ASK(s, "%s %s", command, s->entry);
    if (st != TALK_OK)
        *wrong = reason(s, st, command);
    else
        *slots = reply_slots(s, false);
    return st == TALK_OK;
}

/* "group_size(segmap_main_1 segred_main_2)": a size, if the program tells its value, too. */
static void ask_size(Session *s, const char *name, char *cls)
{
    char *kernels = strchr(cls, '(');
    if (!kernels || ASK(s, "tuning_param_value %s", name) != TALK_OK || !s->reply.text)
        return;
    *kernels++ = '\0';
    kernels[strcspn(kernels, ")")] = '\0';
    vec_push(s->a, &s->sizes, ((Size){name, strtoll(s->reply.text, NULL, 10), kernels}));
}

/* The thresholds and sizes that are the entry's tuning parameters. */
static bool ask_params(Session *s, const char **wrong)
{
    Slots params;
    if (!ask_slots(s, "tuning_params", &params, wrong))
        return false;
    for (int i = 0; i < params.n; i++) {
        const char *name = params.at[i].type;
        TalkStatus st = ASK(s, "tuning_param_class %s", name);
        if (st != TALK_OK) {
            *wrong = reason(s, st, "tuning_param_class");
            return false;
        }
        char *cls = arena_strdup(s->a, s->reply.text ? s->reply.text : "");
        cls[strcspn(cls, "\n")] = '\0';
        if (strncmp(cls, "threshold", 9) != 0)
            ask_size(s, name, cls);
        else if (!forest_add(s->a, &s->forest, name, cls, RT_FULL_DEVICE, wrong))
            return false;
    }
    return true;
}

static bool ask_entry(Session *s, const char **wrong)
{
    return ask_slots(s, "inputs", &s->inputs, wrong) &&
           ask_slots(s, "outputs", &s->outputs, wrong) && ask_params(s, wrong);
}

Session *session_open(Arena *a, const SessionOptions *o, const Datasets *ds, const char **wrong)
{
    Session *s = NEW(a, Session);
    s->a = a;
    s->o = *o;
    s->ds = ds;
    s->expected = NEWN(a, Expected, ds->n);
    s->resident = NEWN(a, Resident, ds->n);
    server_catch_interrupts(); /* the folder below must not be left behind */
    /* The protocol has no way to write a word with quotes or line breaks in it. */
    const char *base = getenv("TMPDIR");
    if (!tempdir_open(&s->tmp, base && strpbrk(base, "\"\n\r") ? "/tmp" : NULL)) {
        *wrong = arena_printf(a, "cannot make a temporary folder %s: %s", s->tmp.path, strerror(errno));
        free(s->tmp.path);
        return NULL;
    }
    s->value = arena_printf(a, "%s/value", s->tmp.path);
    if (start(s, wrong) && choose_entry(s, wrong) && ask_entry(s, wrong))
        return s;
    session_close(s);
    return NULL;
}

const char *session_use(Session *s, const char *entry)
{
    const char *wrong = NULL;
    if (s->entry && strcmp(entry, s->entry) == 0)
        return NULL;
    if (!revive(s, &wrong))
        return wrong;
    unload_others(s, -1);
    s->entry = NULL;
    s->o.entry = entry;
    s->forest = (Forest){0};
    s->sizes = (Sizes){0};
    s->settings = s->set_sizes = NULL;
    (void)(choose_entry(s, &wrong) && ask_entry(s, &wrong));
    return wrong;
}

void session_expect(Session *s, int d, const rt_hvalue *values, int n)
{
    Expected *e = &s->expected[d];
    free_values(&e->values);
    for (int i = 0; i < n; i++) {
        rt_hvalue v;
        if (!rt_hvalue_make(&v, values[i].prim, values[i].rank, values[i].shape))
            ice(NO_LOC, "no room for an expected value");
        memcpy(v.data, values[i].data, (size_t)rt_hvalue_bytes(&v));
        vec_push(s->a, &e->values, v);
    }
    e->known = true;
}

double session_tolerance(rt_prim p, double asked)
{
    return asked > 0 ? asked : p == RT_F64 ? 1e-9 : 1e-5;
}

void session_close(Session *s)
{
    if (!s)
        return;
    server_stop(s->server);
    s->server = NULL;
    if (s->turns)
        close(s->turn);
    for (int d = 0; d < s->ds->n; d++)
        free_values(&s->expected[d].values);
    out_free(&s->reply);
    tempdir_close(&s->tmp);
}

const char *session_entry(const Session *s)
{
    return s->entry;
}

const Forest *session_forest(const Session *s)
{
    return &s->forest;
}

const Sizes *session_sizes(const Session *s)
{
    return &s->sizes;
}

bool session_knows(Session *s, const char *param)
{
    return ASK(s, "tuning_param_class %s", param) == TALK_OK;
}

const char *session_told(Session *s, const char *command)
{
    const char *wrong;
    bool told = revive(s, &wrong) && ASK(s, "%s %s", command, s->entry) == TALK_OK && s->reply.text;
    return told ? arena_strdup(s->a, s->reply.text) : "";
}

void session_set(Session *s, const int64_t *values)
{
    size_t n = (size_t)s->forest.nodes.n;
    s->settings = arena_memdup(s->a, values, n * sizeof *values);
    s->sent = false;
}

void session_set_up(Session *s, Setup u)
{
    size_t bytes = (size_t)s->sizes.n * sizeof *u.sizes;
    session_set(s, u.thresholds);
    if (!u.sizes && !s->set_sizes)
        return;
    s->set_sizes = u.sizes ? arena_memdup(s->a, u.sizes, bytes) : NEWN(s->a, int64_t, s->sizes.n);
    s->sizes_sent = false;
}

void session_stop_after(Session *s, double seconds)
{
    s->stop_sent &= seconds == s->stop;
    s->stop = seconds;
}

void session_tell_parts(Session *s, bool on)
{
    s->parts_sent &= on == s->parts;
    s->parts = on;
}

const char *session_device(Session *s)
{
    if (ASK(s, "device") != TALK_OK)
        return "unknown";
    size_t n = strcspn(s->reply.text, "\n");
    return arena_strndup(s->a, s->reply.text, n);
}

static const char *send_param(Session *s, const char *name, int64_t value)
{
    TalkStatus st = ASK(s, "set_tuning_param %s %lld", name, (long long)value);
    return st == TALK_OK ? NULL : reason(s, st, "setting a tuning parameter");
}

static const char *send_settings(Session *s)
{
    const char *wrong = NULL;
    if (!s->stop_sent && ASK(s, "time_limit %.0f", s->stop * 1e6) == TALK_OK)
        s->stop_sent = true;
    if (!s->parts_sent)
        ASK(s, "time_parts %s", s->parts ? "on" : "off");
    s->parts_sent = true;
    for (int i = 0; s->settings && !s->sent && !wrong && i < s->forest.nodes.n; i++)
        wrong = send_param(s, s->forest.nodes.at[i].name, s->settings[i]);
    for (int i = 0; s->set_sizes && !s->sizes_sent && !wrong && i < s->sizes.n; i++)
        wrong = send_param(s, s->sizes.at[i].name, s->set_sizes[i]);
    s->sent = s->sizes_sent = !wrong;
    return wrong;
}

/* --- Running -------------------------------------------------------------------------------- */

/* Leaves the device to others but for what the program itself takes turns for, or has it alone again. */
static void share(Session *s, bool on)
{
    Out reply = {0};
    server_command(s->server, s->o.timeout, &reply, on ? "turns \"%s\"" : "turns", s->turns);
    turn_pass(s->turn, !on, server_interrupted);
    out_free(&reply);
}

bool session_can_take_turns(Session *s, const char *path)
{
    return ASK(s, "turns \"%s\"", path) == TALK_OK && ASK(s, "turns") == TALK_OK;
}

bool session_take_turns(Session *s, const char *path)
{
    s->turn = session_can_take_turns(s, path) ? turn_open(path) : -1;
    s->turns = s->turn < 0 ? NULL : path;
    return s->turns && turn_pass(s->turn, true, server_interrupted);
}

static RunResult run_with(Session *s, int d, const Argument *in, double limit, bool check)
{
    RunResult res = {0};
    Out cmd = {0};
    out_printf(&cmd, "call %s", s->entry);
    for (int i = 0; i < s->outputs.n; i++)
        out_printf(&cmd, " out%d", i);
    for (int i = 0; i < s->inputs.n; i++)
        out_printf(&cmd, " %s", in[i].name);
    if (s->turns && check)
        share(s, true);
    TalkStatus st = server_command(s->server, limit, &s->reply, "%s", cmd.text);
    out_free(&cmd);
    reply_run(s->a, s->reply.text, &res);
    if (s->turns && check)
        share(s, false);
    if (st != TALK_OK) {
        res.seconds = reply_seconds(s->reply.text, "stopped: ");
        res.stopped = st == TALK_FAILURE && res.seconds >= 0;
        res.why = reason(s, st, "the run");
        return res;
    }
    res.seconds = reply_seconds(s->reply.text, "runtime: ");
    if (res.seconds < 0)
        res.why = "the program did not tell its run time";
    else if (check)
        res.why = check_results(s, d, &res.wrong);
    for (int i = 0; i < s->outputs.n; i++)
        ASK(s, "free out%d", i);
    res.ok = !res.why;
    return res;
}

const char *session_check(Session *s, int d)
{
    const char *wrong = NULL;
    return revive(s, &wrong) ? load(s, d) : wrong;
}

/* A run with what is in the server now. */
static RunResult run_prepared(Session *s, int d, double limit, bool check)
{
    RunResult res = {0};
    Argument *in = NEWN(s->a, Argument, s->inputs.n);
    if (!(res.why = prepare(s, d, in)))
        res = run_with(s, d, in, limit, check);
    clean_up(s, d, in);
    return res;
}

RunResult session_run(Session *s, int d, double limit, bool check)
{
    RunResult res = {0};
    if (server_interrupted()) {
        res.why = "interrupted";
        return res;
    }
    if (!revive(s, &res.why)) {
        res.gone = !server_interrupted();
        return res;
    }
    if ((res.why = send_settings(s)))
        return res;
    res = run_prepared(s, d, limit, check);
    bool failed = !res.ok && !res.stopped && !res.wrong && !server_interrupted();
    bool alive = failed && ASK(s, "entry_points") == TALK_OK;
    if (alive && unload_others(s, d)) /* it may have had no room beside them */
        return session_run(s, d, limit, check);
    return res;
}

/* --- Profiles ------------------------------------------------------------------------------- */

const char *session_profile_begin(Session *s)
{
    const char *wrong = NULL;
    if (!revive(s, &wrong))
        return wrong;
    bool can = ASK(s, "pause_profiling") == TALK_OK && ASK(s, "clear") == TALK_OK;
    forget_resident(s);
    return can ? NULL : "the program does not profile";
}

void session_profile_all(Session *s, bool on)
{
    ASK(s, on ? "unpause_profiling" : "pause_profiling");
}

const char *session_profile_runs(Session *s, int d, double limit, int runs, RunResult each[])
{
    RunResult r = session_run(s, d, limit, false);
    Argument *in = NEWN(s->a, Argument, s->inputs.n);
    for (int i = 0; i < runs && r.ok; i++) {
        if ((r.why = prepare(s, d, in)))
            return r.why;
        session_profile_all(s, true);
        each[i] = r = run_with(s, d, in, limit, false);
        session_profile_all(s, false);
        clean_up(s, d, in);
    }
    return r.ok ? NULL : r.why;
}

const char *session_profile(Session *s, int d, double limit, Profile *p)
{
    enum { RUNS = 3 };
    RunResult each[RUNS];
    const char *wrong = session_profile_begin(s);
    if (wrong || (wrong = session_profile_runs(s, d, limit, RUNS, each)))
        return wrong;
    reply_profile(s->a, session_told(s, "profile"), RUNS, p);
    return NULL;
}
