/* The server protocol: a command a line on standard input; answers on standard output, each ended
 * by a line "%%% OK"; a failure is announced by a line "%%% FAILURE" before its message. */
#include "runtime/shells/serve.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- Commands: each has the words after its name, and returns false after a failure --- */

static const rt_entry_def *rt_srv_entry(const rt_server *s, const char *name)
{
    for (int i = 0; i < s->prog->n_entries; i++)
        if (strcmp(s->prog->entries[i].name, name) == 0)
            return &s->prog->entries[i];
    rt_srv_fail("Unknown entry point: %s", name);
    return NULL;
}

static bool rt_cmd_types(rt_server *s, int n, char **w)
{
    (void)n, (void)w;
    for (int i = 0; i < s->prog->n_types; i++)
        puts(s->prog->types[i].name);
    return true;
}

static bool rt_cmd_entry_points(rt_server *s, int n, char **w)
{
    (void)n, (void)w;
    for (int i = 0; i < s->prog->n_entries; i++)
        puts(s->prog->entries[i].name);
    return true;
}

static bool rt_cmd_slots(rt_server *s, int n, const rt_slot_def *slots)
{
    for (int i = 0; i < n; i++)
        printf("%s%s\n", slots[i].unique ? "*" : "", s->prog->types[slots[i].type].name);
    return true;
}

static bool rt_cmd_inputs(rt_server *s, int n, char **w)
{
    (void)n;
    const rt_entry_def *e = rt_srv_entry(s, w[0]);
    return e && rt_cmd_slots(s, e->n_in, e->in);
}

static bool rt_cmd_outputs(rt_server *s, int n, char **w)
{
    (void)n;
    const rt_entry_def *e = rt_srv_entry(s, w[0]);
    return e && rt_cmd_slots(s, e->n_out, e->out);
}

/* The type of the single variable that a call makes: the result's, or a tuple. */
static int rt_srv_result_type(const rt_server *s, const rt_entry_def *e)
{
    return e->n_out == 1 ? e->out[0].type : -1 - (int)(e - s->prog->entries);
}

static bool rt_cmd_output(rt_server *s, int n, char **w)
{
    (void)n;
    const rt_entry_def *e = rt_srv_entry(s, w[0]);
    if (!e)
        return false;
    bool unique = true;
    for (int i = 0; i < e->n_out; i++)
        unique = unique && e->out[i].unique;
    if (unique && e->n_out > 0)
        putchar('*');
    rt_srv_print_type(s, rt_srv_result_type(s, e));
    putchar('\n');
    return true;
}

/* Checks the arguments of a call. */
static bool rt_srv_check_arguments(rt_server *s, const rt_entry_def *e, char **w)
{
    for (int i = 0; i < e->n_in; i++) {
        const rt_var *v = rt_srv_var(s, w[i]);
        if (!v)
            return false;
        if (v->type != e->in[i].type) {
            puts("%%% FAILURE");
            printf("Argument %d of %s: expected %s, got ", i + 1, e->name,
                   s->prog->types[e->in[i].type].name);
            rt_srv_print_type(s, v->type);
            putchar('\n');
            return false;
        }
        for (int k = 0; k < e->n_in; k++)
            if (k != i && e->in[i].unique && strcmp(w[k], w[i]) == 0)
                return rt_srv_fail("Argument %d of %s is consumed: %s cannot be argument %d, too",
                                   i + 1, e->name, w[i], k + 1);
    }
    return true;
}

/* Collects the arguments' values with a reference each; consumed variables give up theirs. */
static void rt_srv_take_arguments(rt_server *s, const rt_entry_def *e, char **w, rt_value *in)
{
    int at = 0;
    for (int i = 0; i < e->n_in; i++) {
        const rt_var *v = rt_srv_lookup(s, w[i]);
        for (int k = 0; k < v->n; k++) {
            in[at] = v->values[k];
            rt_ref(in[at++].mem);
        }
    }
    for (int i = 0; i < e->n_in; i++) {
        rt_var *v = rt_srv_lookup(s, w[i]);
        if (e->in[i].unique) {
            rt_values_release(s->ctx, v->n, v->values);
            v->consumed = true;
        }
    }
}

/* Makes the variables of a call's results: one for all, or one for each. */
static void rt_srv_define_results(rt_server *s, const rt_entry_def *e, int n_names, char **w,
                                  const rt_value *out)
{
    if (n_names == 1 && e->n_out != 1) {
        int type = rt_srv_result_type(s, e);
        rt_srv_define(s, w[0], type, rt_srv_components(s, type), out);
        return;
    }
    for (int i = 0; i < e->n_out; i++) {
        int n = rt_type_components(s->prog, e->out[i].type);
        rt_srv_define(s, w[i], e->out[i].type, n, out);
        out += n;
    }
}

static bool rt_cmd_call(rt_server *s, int n, char **w)
{
    const rt_entry_def *e = rt_srv_entry(s, w[0]);
    if (!e)
        return false;
    int n_names = n - 1 - e->n_in;
    if (n_names != 1 && n_names != e->n_out)
        return rt_srv_fail("%s takes %d arguments and gives %d results: got %d words", e->name,
                           e->n_in, e->n_out, n - 1);
    if (!rt_srv_all_new(s, n_names, w + 1))
        return false;
    char **names = w + 1, **args = w + 1 + n_names;
    if (!rt_srv_check_arguments(s, e, args))
        return false;
    int n_in = rt_slots_components(s->prog, e->n_in, e->in);
    int n_out = rt_slots_components(s->prog, e->n_out, e->out);
    rt_value *in = rt_grow(NULL, (size_t)n_in * sizeof *in);
    rt_value *out = rt_grow(NULL, (size_t)n_out * sizeof *out);
    int64_t us;
    rt_srv_take_arguments(s, e, args, in);
    bool speaks = s->ctx->config.at.rank == 0;
    if (speaks)
        rt_turn_take(s->ctx);
    int rc = rt_call_entry(s->ctx, e, in, out, &us);
    if (speaks)
        rt_turn_give(s->ctx);
    rt_values_release(s->ctx, n_in, in);
    rt_parts_print(s->ctx, stdout);
    if (rc == RT_OK) {
        printf("runtime: %" PRId64 "\n", us);
        rt_srv_define_results(s, e, n_names, names, out);
    } else {
        if (s->ctx->limit.over)
            printf("stopped: %" PRId64 "\n", us);
        rt_srv_fail("%s", rt_error(s->ctx));
    }
    free(in);
    free(out);
    return rc == RT_OK;
}

/* Has a command ended well on all ranks? */
static bool rt_srv_all(const rt_server *s, bool ok)
{
    bool all = rt_all_have(&s->ctx->config, ok);
    return all || !ok ? all : rt_srv_fail("another rank has failed");
}

/* Is there an entry that may have such an array in parts? */
static bool rt_srv_may_be_parted(const rt_server *s, rt_prim prim, int rank)
{
    for (int i = 0; i < s->prog->n_entries && rt_ranks(s->ctx) > 1; i++) {
        const rt_entry_def *e = &s->prog->entries[i];
        const bool *parted = rt_parted_in(s->prog, e);
        for (int k = 0, at = 0; parted && k < e->n_in; k++) {
            int n = rt_type_components(s->prog, e->in[k].type);
            for (int j = 0; j < n; j++, at++) {
                rt_prim its = RT_I32;
                int its_rank = 0;
                rt_type_component(s->prog, e->in[k].type, j, &its, &its_rank);
                if (parted[at] && its == prim && its_rank == rank)
                    return true;
            }
        }
    }
    return false;
}

/* Component k of a variable, to *v or *h. A file has a reader at rank 0. */
static bool rt_srv_restore_component(rt_server *s, rt_reader *r, const char *path, int type, int k,
                                     rt_value *v, rt_hvalue *h, bool parted)
{
    rt_prim prim = RT_I32;
    int rank = 0;
    rt_type_component(s->prog, type, k, &prim, &rank);
    memset(v, 0, sizeof *v);
    if (parted && rank > 0 && rt_srv_may_be_parted(s, prim, rank))
        return rt_arrive(s->ctx, r, path, prim, rank, h, v) == RT_OK;
    bool ok = r && rt_read_value(r, prim, rank, h);
    if (r && !ok)
        rt_error_set(s->ctx, "%s", r->error);
    return rt_tell_value(&s->ctx->config, ok, h);
}

/* Reads one variable of a file; no reader: rank 0 does. */
static bool rt_srv_restore_one(rt_server *s, rt_reader *r, const char *path, const char *name,
                               int type)
{
    int n = rt_type_components(s->prog, type), done = 0;
    rt_value *values = rt_grow(NULL, (size_t)n * sizeof *values);
    rt_hvalue *h = rt_grow(NULL, (size_t)n * sizeof *h);
    bool ok = true, parted = !rt_type_holds_sum(s->prog, type);
    for (int k = 0; k < n && ok; k++) {
        ok = rt_srv_restore_component(s, r, path, type, k, &values[k], &h[k], parted);
        done += ok;
    }
    if (!ok) {
        for (int k = 0; k < done; k++)
            rt_hvalue_free(&h[k]);
        rt_values_release(s->ctx, done, values);
    }
    if (ok)
        ok = rt_all_have(&s->ctx->config, !rt_take_value(s->ctx, type, h, values));
    if (ok)
        rt_srv_define(s, name, type, n, values);
    else
        rt_srv_fail("Failed to restore variable %s: %s", name, rt_error(s->ctx));
    free(h);
    free(values);
    return ok;
}

static bool rt_cmd_restore(rt_server *s, int n, char **w)
{
    const rt_config *c = &s->ctx->config;
    rt_reader r = {0};
    bool reads = c->at.rank == 0, ok = true;
    int type;
    if (n % 2 == 0)
        return rt_srv_fail("restore needs a file, then pairs of a variable and its type");
    ok = !reads || rt_reader_open(&r, w[0]) || rt_srv_fail("%s", r.error);
    if (!rt_all_have(c, ok))
        return false;
    int i = 1;
    for (; i < n && ok; i += 2)
        ok = rt_srv_is_new(s, w[i]) && rt_srv_type(s, w[i + 1], &type) &&
             rt_srv_restore_one(s, reads ? &r : NULL, w[0], w[i], type);
    if (ok && reads && !rt_reader_at_end(&r))
        ok = rt_srv_fail("%s:%" PRId64 ":%" PRId64 ": data after the %d expected values", w[0],
                         r.line, r.col, (n - 1) / 2);
    if (reads && !rt_reader_close(&r) && ok)
        ok = rt_srv_fail("%s", r.error);
    return rt_srv_all(s, ok);
}

static bool rt_cmd_store(rt_server *s, int n, char **w)
{
    for (int i = 1; i < n; i++)
        if (!rt_srv_var(s, w[i]))
            return false;
    FILE *f = rt_store_open(s->ctx->config.at.rank == 0 ? w[0] : "/dev/null");
    bool ok = f || rt_srv_fail("cannot write %s: %s", w[0], strerror(errno));
    if (!rt_srv_all(s, ok)) {
        if (f)
            fclose(f);
        return false;
    }
    rt_sink to = {.f = f, .path = w[0], .how = rt_binary_elements};
    int rc = RT_OK;
    for (int i = 1; i < n; i++) {
        const rt_var *v = rt_srv_lookup(s, w[i]);
        for (int k = 0; k < v->n; k++)
            rc = rt_leave(s->ctx, rc, &v->values[k], &to);
    }
    if (!rt_close_written(f) && !to.wrong)
        to.wrong = errno;
    if (rc)
        ok = rt_srv_fail("%s", rt_error(s->ctx));
    else if (to.wrong)
        ok = rt_srv_fail("cannot write %s: %s", w[0], strerror(to.wrong));
    return rt_srv_all(s, ok);
}

static bool rt_cmd_free(rt_server *s, int n, char **w)
{
    for (int i = 0; i < n; i++) {
        rt_var *v = rt_srv_lookup(s, w[i]);
        if (!v)
            return rt_srv_fail("Unknown variable: %s", w[i]);
        rt_srv_drop(s, v);
    }
    return true;
}

static bool rt_cmd_rename(rt_server *s, int n, char **w)
{
    (void)n;
    rt_var *v = rt_srv_var(s, w[0]);
    if (!v || !rt_srv_is_new(s, w[1]))
        return false;
    free(v->name);
    v->name = rt_format("%s", w[1]);
    return true;
}

/* All that was measured; variables stay. */
static bool rt_cmd_clear_profile(rt_server *s, int n, char **w)
{
    (void)n, (void)w;
    rt_free_dead_blocks(s->ctx);
    rt_profile_reset(s->ctx);
    rt_timeline_clear(s->ctx);
    rt_comparisons_clear(s->ctx);
    s->ctx->peak_bytes = s->ctx->live_bytes;
    return true;
}

static bool rt_cmd_clear(rt_server *s, int n, char **w)
{
    while (s->n_vars > 0)
        rt_srv_drop(s, &s->vars[s->n_vars - 1]);
    return rt_cmd_clear_profile(s, n, w);
}

static bool rt_cmd_report(rt_server *s, int n, char **w)
{
    (void)n, (void)w;
    rt_report_json(s->ctx, stdout);
    return true;
}

/* The following are not of the protocol, but for the compiler's own tools. */

/* The device, its driver, and what else decides how long runs take. */
static bool rt_cmd_device(rt_server *s, int n, char **w)
{
    (void)n, (void)w;
    const rt_dev_info *d = &s->ctx->device;
    printf("%s, %s, %s, %s\n", d->platform_name, d->name, d->version, d->driver);
    return true;
}

/* What tuning holds for, for the comments of tuning files. */
static bool rt_cmd_tuning_origin(rt_server *s, int n, char **w)
{
    (void)n, (void)w;
    for (int i = 0; i < RT_N_ORIGINS; i++) {
        char *line = rt_tuning_origin(s->ctx, i);
        printf("%s\n", line);
        free(line);
    }
    return true;
}

/* A time limit for calls, in microseconds; 0: none. */
static bool rt_cmd_time_limit(rt_server *s, int n, char **w)
{
    (void)n;
    char *end;
    long long us = strtoll(w[0], &end, 10);
    if (end == w[0] || *end || us < 0)
        return rt_srv_fail("A time limit is a number of microseconds: got %s", w[0]);
    s->ctx->limit.seconds = (double)us * 1e-6;
    return true;
}

/* turns FILE: calls run while the lock on the file is theirs; turns: as they like. */
static bool rt_cmd_turns(rt_server *s, int n, char **w)
{
    return rt_turns(s->ctx, n > 0 ? w[0] : NULL) == RT_OK || rt_srv_fail("%s", rt_error(s->ctx));
}

/* Calls tell where their time goes. */
static bool rt_cmd_time_parts(rt_server *s, int n, char **w)
{
    (void)n;
    bool on = strcmp(w[0], "on") == 0;
    if (!on && strcmp(w[0], "off") != 0)
        return rt_srv_fail("time_parts is on or off: got %s", w[0]);
    rt_parts_wanted(s->ctx, on);
    return true;
}

/* The value of a tuning parameter: as it was set, else its default on this device. */
static bool rt_cmd_param_value(rt_server *s, int n, char **w)
{
    (void)n;
    int p = rt_param_named(s->prog, w[0]);
    if (p < 0)
        return rt_srv_fail("Unknown tuning parameter: %s", w[0]);
    printf("%" PRId64 "\n", rt_param(s->ctx, p));
    return true;
}

/* copy NEW OLD: with arrays of its own, for a call to consume. */
static bool rt_cmd_copy(rt_server *s, int n, char **w)
{
    (void)n;
    const rt_var *v = rt_srv_var(s, w[1]);
    if (!v || !rt_srv_is_new(s, w[0]))
        return false;
    int type = v->type, n_values = v->n, rc = RT_OK;
    rt_value *values = rt_grow(NULL, (size_t)n_values * sizeof *values);
    for (int i = 0; i < n_values; i++) {
        values[i] = v->values[i];
        rt_ref(values[i].mem);
    }
    for (int i = 0; i < n_values && rc == RT_OK; i++)
        rc = values[i].rank > 0 ? rt_value_own(s->ctx, &values[i]) : RT_OK;
    if (rc == RT_OK)
        rt_srv_define(s, w[0], type, n_values, values);
    else
        rt_values_release(s->ctx, n_values, values);
    free(values);
    return rc == RT_OK || rt_srv_fail("%s", rt_error(s->ctx));
}

static bool rt_cmd_profile(rt_server *s, int n, char **w)
{
    (void)n, (void)w;
    rt_profile_lines(s->ctx, stdout);
    return true;
}

static bool rt_cmd_timeline(rt_server *s, int n, char **w)
{
    (void)n, (void)w;
    rt_profile_collect(s->ctx);
    rt_timeline_print(s->ctx, stdout);
    return true;
}

static bool rt_cmd_pause(rt_server *s, int n, char **w)
{
    (void)n, (void)w;
    s->ctx->profiling = false;
    return true;
}

static bool rt_cmd_unpause(rt_server *s, int n, char **w)
{
    (void)n, (void)w;
    s->ctx->profiling = s->ctx->config.profile;
    return true;
}

static bool rt_cmd_set_param(rt_server *s, int n, char **w)
{
    (void)n;
    char *end;
    errno = 0;
    int64_t value = strtoll(w[1], &end, 10);
    if (end == w[1] || *end)
        return rt_srv_fail("Tuning parameter %s needs an integer, got %s", w[0], w[1]);
    if (errno)
        return rt_srv_fail("Tuning parameter %s is out of range: %s", w[0], w[1]);
    return rt_set_param(s->ctx, w[0], value) == RT_OK || rt_srv_fail("%s", rt_error(s->ctx));
}

static bool rt_cmd_params(rt_server *s, int n, char **w)
{
    (void)n;
    const rt_entry_def *e = rt_srv_entry(s, w[0]);
    for (int i = 0; e && i < e->n_params; i++)
        puts(s->prog->params[e->params[i]].name);
    return e != NULL;
}

static bool rt_cmd_param_class(rt_server *s, int n, char **w)
{
    (void)n;
    int p = rt_param_named(s->prog, w[0]);
    if (p < 0)
        return rt_srv_fail("Unknown tuning parameter: %s", w[0]);
    puts(s->prog->params[p].cls);
    return true;
}

static bool rt_cmd_attributes(rt_server *s, int n, char **w)
{
    (void)n;
    const rt_entry_def *e = rt_srv_entry(s, w[0]);
    for (int i = 0; e && i < e->n_attrs; i++)
        puts(e->attrs[i]);
    return e != NULL;
}

/* Where it is another, what was measured of the entry does not hold. */
static bool rt_cmd_entry_key(rt_server *s, int n, char **w)
{
    (void)n;
    const rt_entry_def *e = rt_srv_entry(s, w[0]);
#ifdef __OPTIMIZE__
    static const char how[] = "optimised by " __VERSION__;
#else
    static const char how[] = "compiled by " __VERSION__;
#endif
    if (e)
        printf("%016" PRIx64 " %s\n", e->key, how);
    return e != NULL;
}

static const struct {
    const char *name;
    rt_command_fn *run;
    int least; /* words after the name */
} rt_commands[] = {
    {"types", rt_cmd_types, 0},
    {"entry_points", rt_cmd_entry_points, 0},
    {"call", rt_cmd_call, 1},
    {"restore", rt_cmd_restore, 1},
    {"store", rt_cmd_store, 1},
    {"free", rt_cmd_free, 0},
    {"rename", rt_cmd_rename, 2},
    {"inputs", rt_cmd_inputs, 1},
    {"outputs", rt_cmd_outputs, 1},
    {"output", rt_cmd_output, 1},
    {"clear", rt_cmd_clear, 0},
    {"clear_profile", rt_cmd_clear_profile, 0},
    {"report", rt_cmd_report, 0},
    {"profile", rt_cmd_profile, 0},
    {"timeline", rt_cmd_timeline, 0},
    {"device", rt_cmd_device, 0},
    {"tuning_origin", rt_cmd_tuning_origin, 0},
    {"entry_key", rt_cmd_entry_key, 1},
    {"tuning_param_value", rt_cmd_param_value, 1},
    {"time_limit", rt_cmd_time_limit, 1},
    {"turns", rt_cmd_turns, 0},
    {"time_parts", rt_cmd_time_parts, 1},
    {"copy", rt_cmd_copy, 2},
    {"digest", rt_cmd_digest, 1},
    {"pause_profiling", rt_cmd_pause, 0},
    {"unpause_profiling", rt_cmd_unpause, 0},
    {"set_tuning_param", rt_cmd_set_param, 2},
    {"tuning_params", rt_cmd_params, 1},
    {"tuning_param_class", rt_cmd_param_class, 1},
    {"attributes", rt_cmd_attributes, 1},
    {"kind", rt_cmd_kind, 1},
    {"type", rt_cmd_type, 1},
    {"rank", rt_cmd_rank, 1},
    {"elemtype", rt_cmd_elemtype, 1},
    {"shape", rt_cmd_shape, 1},
    {"index", rt_cmd_index, 2},
    {"set", rt_cmd_set, 2},
    {"new_array", rt_cmd_new_array, 2},
    {"fields", rt_cmd_fields, 1},
    {"project", rt_cmd_project, 3},
    {"new", rt_cmd_new, 2},
    {"zip", rt_cmd_zip, 2},
    {"unzip", rt_cmd_unzip, 1},
    {"variants", rt_cmd_variants, 1},
    {"variant", rt_cmd_variant, 1},
    {"construct", rt_cmd_construct, 3},
    {"destruct", rt_cmd_destruct, 1},
};

/* Splits a line into words, in place: without blanks, or anything but quotes between quotes. */
static int rt_srv_split(char *line, char ***words, int *cap)
{
    int n = 0;
    for (char *s = line; *(s += strspn(s, " \t\r\n"));) {
        if (n == *cap) {
            *cap = *cap ? 2 * *cap : 16;
            *words = rt_grow(*words, (size_t)*cap * sizeof **words);
        }
        bool quoted = *s == '"';
        s += quoted;
        (*words)[n++] = s;
        s += strcspn(s, quoted ? "\"\n" : " \t\r\n");
        if (*s)
            *s++ = '\0';
    }
    return n;
}

static bool rt_srv_run(rt_server *s, int n, char **w)
{
    for (size_t i = 0; i < sizeof rt_commands / sizeof *rt_commands; i++) {
        if (strcmp(rt_commands[i].name, w[0]) != 0)
            continue;
        double start = s->ctx->profiling ? rt_timeline_now(s->ctx) : 0;
        bool ok = n - 1 < rt_commands[i].least
                      ? rt_srv_fail("%s needs at least %d arguments", w[0], rt_commands[i].least)
                      : rt_commands[i].run(s, n - 1, w + 1);
        rt_timeline_host(s->ctx, RT_TRACK_HOST, rt_commands[i].name, "", start);
        return ok;
    }
    return rt_srv_fail("Unknown command: %s", w[0]);
}

static void rt_srv_ready(void)
{
    puts("%%% OK");
    fflush(stdout);
}

/* The next command, which rank 0 reads for all; false: there is none. */
static bool rt_srv_line(const rt_config *c, char **line, size_t *cap)
{
    if (!c->comm)
        return getline(line, cap, stdin) >= 0;
    int64_t bytes =
        c->at.rank == 0 && getline(line, cap, stdin) >= 0 ? (int64_t)strlen(*line) + 1 : 0;
    c->comm->tell(c->group, &bytes, sizeof bytes);
    if (bytes == 0)
        return false;
    if ((size_t)bytes > *cap) {
        *cap = (size_t)bytes;
        *line = rt_grow(*line, *cap);
    }
    c->comm->tell(c->group, *line, bytes);
    return true;
}

RT_API int rt_serve(rt_ctx *ctx)
{
    rt_server s = {.ctx = ctx, .prog = ctx->prog};
    char *line = NULL, **words = NULL;
    size_t cap_line = 0;
    int cap = 0;
    bool alike = true; /* else ranks do not have the same variables any more */
    ctx->log_file = stdout;
    ctx->timeline.on = ctx->config.profile;
    rt_srv_ready();
    while (alike && rt_srv_line(&ctx->config, &line, &cap_line)) {
        int n = rt_srv_split(line, &words, &cap);
        ctx->ranks.failed = false;
        bool ok = n == 0 ? rt_srv_fail("Empty line") : rt_srv_run(&s, n, words);
        alike = rt_alike(&ctx->config, ok);
        if (!alike && ok)
            rt_srv_fail("another rank has failed");
        rt_srv_ready();
    }
    while (s.n_vars > 0)
        rt_srv_drop(&s, &s.vars[s.n_vars - 1]);
    free(s.vars);
    free(words);
    free(line);
    return alike ? 0 : 1;
}
