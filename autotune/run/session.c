#include "autotune/run/apart.h"
#include "autotune/run/replies.h"
#include "autotune/run/session_parts.h"
#include "common/cost.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- Starting ------------------------------------------------------------------------------- */

static bool is_choice(const char *cls)
{
    return strncmp(cls, "choice(", 7) == 0;
}

/* Is it a parameter for which nobody searches a value, the user's own? */
static bool is_users(Session *s, const char *param)
{
    return ASK(s, "tuning_param_class %s", param) == TALK_OK &&
           strcmp(s->reply.text ? s->reply.text : "", "user\n") == 0;
}

static void send_user_params(Session *s)
{
    for (int i = 0; s->server && i < s->o.file.n; i++)
        if (is_users(s, s->o.file.at[i].name))
            ASK(s, "set_tuning_param %s %lld", s->o.file.at[i].name,
                (long long)s->o.file.at[i].value);
}

const char *session_user_params(Session *s)
{
    const char *all = "";
    for (int i = 0; i < s->o.file.n; i++)
        if (is_users(s, s->o.file.at[i].name))
            all = arena_printf(s->a, "%s%s=%lld ", all, s->o.file.at[i].name,
                               (long long)s->o.file.at[i].value);
    return all;
}

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
    s->server = server_start(s->o.program, s->o.forked, s->o.ranks, args, &why);
    session_forget_resident(s);
    send_user_params(s);
    s->sent = s->sizes_sent = s->stop_sent = s->parts_sent = false;
    if (!s->server)
        *wrong = arena_strdup(s->a, why.text ? why.text : "?");
    else if (s->o.profile) /* only session_profile's runs: others are timed as without */
        ASK(s, "pause_profiling");
    out_free(&why);
    return s->server != NULL;
}

/* Starts the program again if it died, or was killed for taking too long. A device may need a
 * moment to come back. */
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
        *wrong = session_reason(s, st, "entry_points");
        return false;
    }
    Slots names = session_reply_slots(s, false);
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
        *wrong = session_reason(s, st, command);
    else
        *slots = session_reply_slots(s, false);
    return st == TALK_OK;
}

/* "group_size(segmap_main_1 segred_main_2)", "choice(segtile)": a size, if the program tells its
 * value, too. */
static void ask_size(Session *s, const char *name, char *cls)
{
    char *kernels = strchr(cls, '(');
    bool choice = is_choice(cls);
    if (!kernels || ASK(s, "tuning_param_value %s", name) != TALK_OK || !s->reply.text)
        return;
    *kernels++ = '\0';
    kernels[strcspn(kernels, ")")] = '\0';
    vec_push(s->a, &s->sizes, ((Size){name, strtoll(s->reply.text, NULL, 10), kernels, choice}));
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
            *wrong = session_reason(s, st, "tuning_param_class");
            return false;
        }
        char *cls = arena_strdup(s->a, s->reply.text ? s->reply.text : "");
        cls[strcspn(cls, "\n")] = '\0';
        if (is_choice(cls))
            vec_push(s->a, &s->choices, name);
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
        *wrong =
            arena_printf(a, "cannot make a temporary folder %s: %s", s->tmp.path, strerror(errno));
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
    session_unload_others(s, -1);
    s->entry = NULL;
    s->o.entry = entry;
    s->forest = (Forest){0};
    s->sizes = (Sizes){0};
    s->choices.n = 0;
    s->settings = s->set_sizes = NULL;
    (void)(choose_entry(s, &wrong) && ask_entry(s, &wrong));
    return wrong;
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
        session_free_values(&s->expected[d].values);
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

static const char *told_of(Session *s, const char *command, const char *entry)
{
    const char *wrong;
    bool told = revive(s, &wrong) && ASK(s, "%s %s", command, entry) == TALK_OK && s->reply.text;
    return told ? arena_strdup(s->a, s->reply.text) : "";
}

const char *session_told(Session *s, const char *command)
{
    return told_of(s, command, s->entry);
}

const char *session_key_of(Session *s, const char *entry)
{
    return told_of(s, "entry_key", entry);
}

void session_set(Session *s, const int64_t *values)
{
    size_t n = (size_t)s->forest.nodes.n;
    s->settings = arena_memdup(s->a, values, n * sizeof *values);
    s->sent = false;
}

void session_choose(Session *s, int64_t value)
{
    s->chosen = value;
    s->chooses = true;
    s->sent = false;
}

int session_choices(const Session *s)
{
    return s->choices.n;
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
    return st == TALK_OK ? NULL : session_reason(s, st, "setting a tuning parameter");
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
    for (int i = 0; s->chooses && !s->sent && !wrong && i < s->choices.n; i++)
        wrong = send_param(s, s->choices.at[i], s->chosen);
    for (int i = 0; s->set_sizes && !s->sizes_sent && !wrong && i < s->sizes.n; i++)
        wrong = send_param(s, s->sizes.at[i].name, s->set_sizes[i]);
    s->sent = s->sizes_sent = !wrong;
    return wrong;
}

/* --- Running -------------------------------------------------------------------------------- */

/* Leaves the device to others but for what the program itself takes turns for, or has it alone
 * again. */
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
        res.why = session_reason(s, st, "the run");
        res.told = st == TALK_FAILURE ? session_failure(s) : NULL;
        return res;
    }
    res.seconds = reply_seconds(s->reply.text, "runtime: ");
    if (res.seconds < 0)
        res.why = "the program did not tell its run time";
    else if (check)
        res.why = session_check_results(s, d, &res.wrong);
    for (int i = 0; i < s->outputs.n; i++)
        ASK(s, "free out%d", i);
    res.ok = !res.why;
    return res;
}

const char *session_check(Session *s, int d)
{
    const char *wrong = NULL;
    return revive(s, &wrong) ? session_load(s, d) : wrong;
}

/* A run with what is in the server now. */
static RunResult run_prepared(Session *s, int d, double limit, bool check)
{
    RunResult res = {0};
    Argument *in = NEWN(s->a, Argument, s->inputs.n);
    if (!(res.why = session_prepare(s, d, in)))
        res = run_with(s, d, in, limit, check);
    session_clean_up(s, d, in);
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
    if (alive && session_unload_others(s, d)) /* it may have had no room beside them */
        return session_run(s, d, limit, check);
    return res;
}

/* --- Profiles ------------------------------------------------------------------------------- */

const char *session_profile_begin(Session *s, int d)
{
    const char *wrong = NULL;
    if (!revive(s, &wrong))
        return wrong;
    bool can = ASK(s, "pause_profiling") == TALK_OK && ASK(s, "clear") == TALK_OK;
    session_forget_resident(s);
    if (!can)
        return "the program does not profile";
    if (!s->ds->at[d].script)
        return NULL;
    wrong = session_load(s, d);
    ASK(s, "clear_profile");
    return wrong;
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
        if ((r.why = session_prepare(s, d, in)))
            return r.why;
        session_profile_all(s, true);
        each[i] = r = run_with(s, d, in, limit, false);
        session_profile_all(s, false);
        session_clean_up(s, d, in);
    }
    return r.ok ? NULL : r.why;
}

const char *session_profile(Session *s, int d, double limit, Profile *p)
{
    enum { RUNS = 3 };
    RunResult each[RUNS];
    const char *wrong = session_profile_begin(s, d);
    if (wrong || (wrong = session_profile_runs(s, d, limit, RUNS, each)))
        return wrong;
    reply_profile(s->a, session_told(s, "profile"), RUNS, p);
    return NULL;
}
