/* The command line of generated programs. */
#include "common/spell.h"
#include "runtime/shells/serve.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A setting that waits for the context: a tuning file, or NAME=INT. */
typedef struct {
    bool is_file;
    char *text;
} rt_setting;

typedef struct {
    rt_config cfg;
    const char *entry, *times, *dump, *profile_json;
    int runs;
    bool warm_up, binary, text, quiet, print_params, list_devices, server, help, force;
    bool profile_table; /* of -P, and not of --profile-json */
    int n_settings;
    rt_setting *settings;
    char *build_options;
} rt_options;

enum {
    RT_O_TUNING = 256,
    RT_O_PARAM,
    RT_O_PRINT_PARAMS,
    RT_O_CACHE,
    RT_O_DUMP,
    RT_O_LIST,
    RT_O_SERVER,
    RT_O_BUILD,
    RT_O_PROFILE_JSON,
    RT_O_FORCE,
    RT_O_TEXT,
    RT_O_THREADS,
    RT_O_MEMORY,
    RT_O_IGNORED,
    RT_O_SIZE /* any that sets a size: the name follows from the option's */
};

#define RT_SIZE_OPTION(id, name, option, ...) {option, required_argument, NULL, RT_O_SIZE},

static const struct option rt_long_options[] = {
    {"write-runtime-to", required_argument, NULL, 't'},
    {"runs", required_argument, NULL, 'r'},
    {"binary-output", no_argument, NULL, 'b'},
    {"text", no_argument, NULL, RT_O_TEXT},
    {"no-print-result", no_argument, NULL, 'n'},
    {"entry-point", required_argument, NULL, 'e'},
    {"debugging", no_argument, NULL, 'D'},
    {"log", no_argument, NULL, 'L'},
    {"profile", optional_argument, NULL, 'P'},
    {"profile-json", required_argument, NULL, RT_O_PROFILE_JSON},
    {"device", required_argument, NULL, 'd'},
    {"platform", required_argument, NULL, 'p'},
    {"list-devices", no_argument, NULL, RT_O_LIST},
    {"threads", required_argument, NULL, RT_O_THREADS},
    {"memory", required_argument, NULL, RT_O_MEMORY},
    {"tuning", required_argument, NULL, RT_O_TUNING},
    {"param", required_argument, NULL, RT_O_PARAM},
    {"print-params", no_argument, NULL, RT_O_PRINT_PARAMS},
    /* clang-format off */
    RT_FACTS(RT_FACT_NONE, RT_SIZE_OPTION, RT_SIZE_OPTION)
    /* clang-format on */
    {"unified-memory", required_argument, NULL, RT_O_IGNORED},
    {"cache-file", required_argument, NULL, RT_O_CACHE},
    {"dump-opencl", required_argument, NULL, RT_O_DUMP},
    {"build-option", required_argument, NULL, RT_O_BUILD},
    {"force", no_argument, NULL, RT_O_FORCE},
    {"server", no_argument, NULL, RT_O_SERVER},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0}};

static const char rt_help[] = RT_HELP_HEAD
    ", in text or binary form, and\n"
    "writes its results to standard output.\n"
    "\n"
    "  -e, --entry-point NAME       which entry point (default: main)\n"
    "  -t, --write-runtime-to FILE  write the running time, in microseconds, a line a run,\n"
    "                               after a warm-up; without transfers and building\n"
    "  -r, --runs N                 run N times, after a warm-up\n"
    "  -b, --binary-output          write results in binary form\n"
    "      --text                   write results of type []u8 as the text that they are\n"
    "  -n, --no-print-result        write no results\n"
    "  -d, --device NAME            a device whose name contains NAME; #K: the K-th; NAME and #K\n"
    "                               together: \"#K NAME\"\n"
    "  -p, --platform NAME          likewise for the platform\n"
    "      --list-devices           list the devices and stop\n"
    "      --threads N              the device 'native' works with N threads\n"
    "      --memory N               take no more than N bytes of the device's memory\n"
    "      --tuning FILE            take tuning parameters from a file of lines name=int\n"
    "      --param NAME=INT         set one tuning parameter\n"
    "      --print-params           list the tuning parameters with their classes and stop\n"
    "      --default-threshold N, --default-group-size N, --default-num-groups N,\n"
    "      --default-item-elems N, --default-tile-groups N, --default-tile-size N,\n"
    "      --default-reg-tile-size N\n"
    "                               general sizes, where no tuning parameter says otherwise\n"
    "      --matrix-units 0|1       products of f16, summed in f32, by matrix units\n"
    "      --local-memory-limit N   use no more than N bytes of local memory a group\n"
    "  -L, --log                    say which code versions are chosen or refused\n"
    "  -D, --debugging              say what the program does: device, builds, memory\n"
    "  -P, --profile[=FILE]         print the time of each kernel; as JSON to FILE\n"
    "      --profile-json FILE      the same as JSON only\n"
    "      --cache-file FOLDER      keep built kernels there (default: ~/.cache/minifut)\n"
    "      --dump-opencl FILE       write the kernels' source to FILE and stop\n"
    "      --build-option OPTION    pass an option to the OpenCL compiler\n"
    "      --force                  write over files that such options did not make\n"
    "      --server                 serve commands on standard input\n"
    "  -h, --help                   this text\n";

static void rt_add_setting(rt_options *o, bool is_file, char *text)
{
    o->settings = rt_grow(o->settings, (size_t)(o->n_settings + 1) * sizeof *o->settings);
    o->settings[o->n_settings++] = (rt_setting){is_file, text};
}

/* --default-group-size N as the setting default_group_size=N. */
static bool rt_add_size(rt_options *o, const char *program, const char *option, const char *value)
{
    if (!*value || strspn(value, "0123456789") != strlen(value)) {
        fprintf(stderr, "%s: --%s needs a number, got '%s'\n", program, option, value);
        return false;
    }
    rt_add_setting(o, false, rt_format("default_%s=%s", rt_size_of_option(option)->name, value));
    return true;
}

static bool rt_set_runs(rt_options *o, const char *program, const char *text)
{
    char *end;
    long n = strtol(text, &end, 10);
    if (end == text || *end || n < 0 || n > 1000000000) {
        fprintf(stderr, "%s: -r needs a number of runs, got '%s'\n", program, text);
        return false;
    }
    o->runs = (int)n;
    o->warm_up = o->warm_up || n > 0;
    return true;
}

static bool rt_set_memory(rt_options *o, const char *program, const char *text)
{
    char *end;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    if (end == text || *end || errno || n < 1) {
        fprintf(stderr, "%s: --memory needs a number of bytes, got '%s'\n", program, text);
        return false;
    }
    o->cfg.memory = n;
    return true;
}

static bool rt_set_threads(rt_options *o, const char *program, const char *text)
{
    char *end;
    long n = strtol(text, &end, 10);
    if (end == text || *end || n < 1 || n > RT_DEV_MOST_THREADS) {
        fprintf(stderr, "%s: --threads needs a number from 1 to %d, got '%s'\n", program,
                RT_DEV_MOST_THREADS, text);
        return false;
    }
    o->cfg.threads = (int)n;
    return true;
}

static void rt_set_profile(rt_options *o, const char *file)
{
    o->cfg.profile = true;
    if (file)
        o->profile_json = file[0] == '=' ? file + 1 : file;
}

/* One option; false when it is wrong (a message has been printed). */
static bool rt_take_option(rt_options *o, const char *program, int c, int index)
{
    switch (c) {
    case 't':
        o->times = optarg;
        o->warm_up = true;
        break;
    case 'r': return rt_set_runs(o, program, optarg);
    case 'b': o->binary = true; break;
    case RT_O_TEXT: o->text = true; break;
    case 'n': o->quiet = true; break;
    case 'e': o->entry = optarg; break;
    case 'D': o->cfg.debug = true; break;
    case 'L': o->cfg.log = true; break;
    case 'P':
        o->profile_table = true;
        rt_set_profile(o, optarg);
        break;
    case 'd': o->cfg.device = optarg; break;
    case 'p': o->cfg.platform = optarg; break;
    case 'h': o->help = true; break;
    case RT_O_PROFILE_JSON: rt_set_profile(o, optarg); break;
    case RT_O_LIST: o->list_devices = true; break;
    case RT_O_THREADS: return rt_set_threads(o, program, optarg);
    case RT_O_MEMORY: return rt_set_memory(o, program, optarg);
    case RT_O_TUNING: rt_add_setting(o, true, rt_format("%s", optarg)); break;
    case RT_O_PARAM: rt_add_setting(o, false, rt_format("%s", optarg)); break;
    case RT_O_PRINT_PARAMS: o->print_params = true; break;
    case RT_O_SIZE: return rt_add_size(o, program, rt_long_options[index].name, optarg);
    case RT_O_CACHE: o->cfg.cache = optarg; break;
    case RT_O_DUMP: o->dump = optarg; break;
    case RT_O_FORCE: o->force = true; break;
    case RT_O_SERVER: o->server = true; break;
    case RT_O_IGNORED: break;
    case RT_O_BUILD: {
        char *more = rt_format("%s %s", o->build_options ? o->build_options : "", optarg);
        free(o->build_options);
        o->build_options = more;
        o->cfg.build_options = more;
        break;
    }
    default: return false; /* getopt_long has printed why */
    }
    return true;
}

/* getopt_long has said that there is no such option. */
static void rt_suggest_option(const char *program, const char *option)
{
    rt_spelling s = rt_spell(option);
    for (const struct option *l = rt_long_options; l->name; l++)
        rt_spell_try(&s, l->name);
    if (s.nearest)
        fprintf(stderr, "%s: did you mean '--%s'?\n", program, s.nearest);
}

static bool rt_parse_options(rt_options *o, int argc, char **argv)
{
    int c, index = 0;
    optind = 1;
    while ((c = getopt_long(argc, argv, "t:r:bne:DLP::d:p:h", rt_long_options, &index)) != -1) {
        if (!rt_take_option(o, argv[0], c, index)) {
            if (c == '?' && strncmp(argv[optind - 1], "--", 2) == 0)
                rt_suggest_option(argv[0], argv[optind - 1] + 2);
            fprintf(stderr, "%s --help lists the options.\n", argv[0]);
            return false;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "%s: unexpected argument '%s': arguments are read from standard input\n",
                argv[0], argv[optind]);
        return false;
    }
    if (o->binary && o->text) {
        fprintf(stderr, "%s: -b and --text do not go together\n", argv[0]);
        return false;
    }
    return true;
}

/* --- Several ranks --- */

/* Rank 0 speaks for all. Returns where this one can speak for itself; NULL: it has no others. */
static FILE *rt_join(const rt_program *prog, rt_options *o, int *argc, char ***argv)
{
    o->cfg.comm = prog->ranks ? prog->ranks->comm : NULL;
    if (!prog->ranks)
        return NULL;
    o->cfg.group = prog->ranks->comm->open(argc, argv, &o->cfg.at);
    if (o->cfg.at.rank == 0)
        return stderr;
    int fd = dup(STDERR_FILENO);
    FILE *aloud = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!aloud || setvbuf(aloud, NULL, _IONBF, 0) != 0 || !freopen("/dev/null", "w", stdout) ||
        !freopen("/dev/null", "w", stderr))
        prog->ranks->comm->stop();
    return aloud;
}

/* Is all well on all ranks? If not, rank 0 tells what is wrong on another one: `wrong`, there. */
static bool rt_all_well(const rt_options *o, const char *program, bool ok, const char *wrong)
{
    char text[4096];
    if (!o->cfg.comm)
        return ok;
    int first = rt_together(&o->cfg, ok ? NULL : wrong ? wrong : "", text, sizeof text);
    if (first > 0 && *text)
        fprintf(stderr, "%s: rank %d: %s\n", program, first, text);
    return first < 0;
}

/* Has rank 0 the options of all? Of those alone that decide what they do together. */
static bool rt_options_alike(const rt_options *o, const char *program)
{
    const bool flags[] = {o->help,   o->list_devices, o->print_params, o->dump != NULL,
                          o->server, o->warm_up,      o->quiet};
    uint64_t hash = rt_hash((uint64_t)o->runs, o->entry ? o->entry : "");
    for (size_t i = 0; i < sizeof flags; i++)
        hash = 2 * hash + flags[i];
    int other = rt_other_rank(&o->cfg, hash);
    if (other > 0)
        fprintf(stderr, "%s: rank %d has other options than rank 0\n", program, other);
    return other < 0;
}

/* --- Reading, running, writing --- */

/* A run of one entry point. */
typedef struct {
    rt_ctx *ctx;
    const rt_options *o;
    const char *program;
    const rt_entry_def *e;
    int n_in, n_out; /* components */
    rt_value *in, *out;
} rt_job;

static const rt_entry_def *rt_find_entry(const rt_program *prog, const char *program,
                                         const char *name)
{
    const char *want = name ? name : "main";
    for (int i = 0; i < prog->n_entries; i++)
        if (strcmp(prog->entries[i].name, want) == 0)
            return &prog->entries[i];
    if (!name && prog->n_entries == 1)
        return &prog->entries[0];
    rt_spelling s = rt_spell(want);
    for (int i = 0; i < prog->n_entries; i++)
        rt_spell_try(&s, prog->entries[i].name);
    fprintf(stderr, "%s: no entry point '%s'%s; choose one by -e:", program, want,
            rt_spell_hint(&s));
    for (int i = 0; i < prog->n_entries; i++)
        fprintf(stderr, " %s", prog->entries[i].name);
    fprintf(stderr, "\n");
    return NULL;
}

/* What is wrong with argument i, on standard error. */
static bool rt_argument_wrong(const rt_job *j, int i, const char *sep, const char *wrong)
{
    const rt_slot_def *slot = &j->e->in[i];
    fprintf(stderr, "%s: argument %d (%s%s%s)%s%s\n", j->program, i + 1,
            slot->name ? slot->name : "", slot->name ? ": " : "",
            j->ctx->prog->types[slot->type].name, sep, wrong);
    return false;
}

/* Component k of parameter i, of which the entry needs all. */
static bool rt_read_whole(rt_job *j, rt_reader *r, int i, rt_prim prim, int rank, rt_value *v)
{
    rt_hvalue h;
    bool first = j->o->cfg.at.rank == 0, ok = first && rt_read_value(r, prim, rank, &h);
    if (first && !ok)
        rt_argument_wrong(j, i, ": ", r->error);
    if (!rt_tell_value(&j->o->cfg, ok, &h))
        return false;
    int rc = rt_agree(j->ctx, rt_upload(j->ctx, &h, v), RT_AT_BEGIN);
    rt_hvalue_free(&h);
    if (rc)
        fprintf(stderr, "%s: argument %d: %s\n", j->program, i + 1, rt_error(j->ctx));
    return rc == RT_OK;
}

/* Reads and uploads parameter i, whose components start at `at`. */
static bool rt_read_argument(rt_job *j, rt_reader *r, int i, int at)
{
    const rt_program *prog = j->ctx->prog;
    const bool *parted = rt_parted_in(prog, j->e);
    int type = j->e->in[i].type, n = rt_type_components(prog, type);
    if (rt_type_holds_sum(prog, type))
        return rt_argument_wrong(j, i, " cannot be read: it is or holds a sum", "");
    for (int k = 0; k < n; k++) {
        rt_prim prim = RT_I32;
        rt_hvalue h;
        int rank = 0;
        rt_type_component(prog, type, k, &prim, &rank);
        if (rt_ranks(j->ctx) == 1 || !parted || !parted[at + k]) {
            if (!rt_read_whole(j, r, i, prim, rank, &j->in[at + k]))
                return false;
        } else if (rt_arrive(j->ctx, r, NULL, prim, rank, &h, &j->in[at + k])) {
            return rt_argument_wrong(j, i, ": ", rt_error(j->ctx));
        }
    }
    return true;
}

static bool rt_read_arguments(rt_job *j)
{
    rt_reader r;
    bool ok = rt_reader_file(&r, stdin, "standard input");
    for (int i = 0, at = 0; ok && i < j->e->n_in; i++) {
        ok = rt_read_argument(j, &r, i, at);
        at += rt_type_components(j->ctx->prog, j->e->in[i].type);
    }
    if (ok && j->o->cfg.at.rank == 0 && !rt_reader_at_end(&r)) {
        fprintf(stderr,
                "%s: standard input:%" PRId64 ":%" PRId64
                ": data after the last argument (%s takes %d)\n",
                j->program, r.line, r.col, j->e->name, j->e->n_in);
        ok = false;
    }
    rt_reader_close(&r);
    return rt_all_well(j->o, j->program, ok, NULL);
}

/* One call with the arguments as they are; consumed ones are copied, unless this is the last call.
 */
static bool rt_run_once(rt_job *j, bool last, int64_t *us)
{
    rt_value *in = rt_grow(NULL, (size_t)j->n_in * sizeof *in);
    for (int i = 0; i < j->n_in; i++) {
        in[i] = j->in[i];
        rt_ref(in[i].mem);
        if (last)
            rt_unref(j->ctx, &j->in[i].mem);
    }
    int rc = rt_call_entry(j->ctx, j->e, in, j->out, us);
    rt_values_release(j->ctx, j->n_in, in);
    free(in);
    if (rc)
        fprintf(stderr, "%s\n", rt_error(j->ctx));
    return rc == RT_OK;
}

static bool rt_run_all(rt_job *j, FILE *times)
{
    int runs = j->o->runs > 0 ? j->o->runs : 1, total = runs + j->o->warm_up;
    for (int i = 0; i < total; i++) {
        int64_t us;
        if (!rt_run_once(j, i == total - 1, &us))
            return false;
        if (i == 0 && j->o->warm_up)
            rt_profile_reset(j->ctx);
        else if (times)
            fprintf(times, "%" PRId64 "\n", us);
        if (i < total - 1)
            rt_values_release(j->ctx, j->n_out, j->out);
    }
    return true;
}

/* How a value is written. */
static rt_write_fn *rt_written_as(const rt_options *o, const rt_value *v)
{
    const rt_hvalue is = {.prim = v->prim, .rank = v->rank};
    return o->binary                     ? rt_binary_elements
           : o->text && rt_is_chars(&is) ? rt_chars_elements
                                         : rt_text_elements;
}

/* Of a sum no more than its type, as Futhark does. All ranks come here for what is in parts, even
 * if rank 0 cannot write any more. */
static int rt_write_result(rt_job *j, int type, int at, rt_sink *to, int rc)
{
    int n = rt_type_components(j->ctx->prog, type);
    if (rt_type_holds_sum(j->ctx->prog, type)) {
        if (fprintf(to->f, "#<opaque %s>\n", j->ctx->prog->types[type].name) < 0)
            to->wrong = errno;
        return rc;
    }
    for (int i = at; i < at + n; i++) {
        to->how = rt_written_as(j->o, &j->out[i]);
        rc = rt_leave(j->ctx, rc, &j->out[i], to);
        if (rc == RT_OK && !to->wrong && to->how == rt_text_elements && putc('\n', to->f) == EOF)
            to->wrong = errno;
    }
    return rc;
}

static bool rt_write_results(rt_job *j)
{
    rt_sink to = {.f = stdout};
    int rc = RT_OK;
    for (int i = 0, at = 0; i < j->e->n_out; i++) {
        int was = rc;
        rc = rt_write_result(j, j->e->out[i].type, at, &to, rc);
        if (rc && !was)
            fprintf(stderr, "%s: result %d: %s\n", j->program, i + 1, rt_error(j->ctx));
        at += rt_type_components(j->ctx->prog, j->e->out[i].type);
    }
    if (rc)
        return false;
    if (fflush(stdout) != 0 && !to.wrong)
        to.wrong = errno;
    if (to.wrong)
        fprintf(stderr, "%s: cannot write the results: %s\n", j->program, strerror(to.wrong));
    return !to.wrong;
}

static bool rt_write_profile(rt_job *j)
{
    if (!j->ctx->config.profile)
        return true;
    if (j->o->profile_table)
        rt_profile_table(j->ctx, stderr);
    if (!j->o->profile_json)
        return true;
    FILE *f = fopen(j->o->profile_json, "w");
    if (f)
        rt_report_json(j->ctx, f);
    if (!f || !rt_close_written(f)) {
        fprintf(stderr, "%s: cannot write %s: %s\n", j->program, j->o->profile_json,
                strerror(errno));
        return false;
    }
    return true;
}

/* Opens the file of -t (NULL without that option). */
static bool rt_open_times(const rt_options *o, const char *program, FILE **f)
{
    *f = o->times ? fopen(o->times, "w") : NULL;
    if (o->times && !*f)
        fprintf(stderr, "%s: cannot write %s: %s\n", program, o->times, strerror(errno));
    return !o->times || *f;
}

static int rt_run_program(rt_ctx *ctx, const rt_options *o, const char *program)
{
    FILE *times = NULL;
    rt_job j = {.ctx = ctx, .o = o, .program = program};
    j.e = rt_find_entry(ctx->prog, program, o->entry);
    bool speaks = o->cfg.at.rank == 0;
    if (!j.e || !rt_all_well(o, program, !speaks || rt_open_times(o, program, &times), NULL))
        return 1;
    j.n_in = rt_slots_components(ctx->prog, j.e->n_in, j.e->in);
    j.n_out = rt_slots_components(ctx->prog, j.e->n_out, j.e->out);
    j.in = calloc((size_t)j.n_in + 1, sizeof *j.in);
    j.out = calloc((size_t)j.n_out + 1, sizeof *j.out);
    bool ok = j.in && j.out && rt_read_arguments(&j) && rt_run_all(&j, times);
    if (times && !rt_close_written(times) && ok) {
        fprintf(stderr, "%s: cannot write %s: %s\n", program, o->times, strerror(errno));
        ok = false;
    }
    ok = rt_all_well(o, program, ok, NULL) && (o->quiet || rt_write_results(&j)) &&
         (!speaks || rt_write_profile(&j));
    ok = rt_all_well(o, program, ok, NULL);
    rt_debug(ctx,
             "Peak device memory: %" PRId64 " bytes; blocks allocated: %" PRId64
             ", reused: %" PRId64,
             ctx->peak_bytes, ctx->n_allocs, ctx->n_reused);
    if (j.in)
        rt_values_release(ctx, j.n_in, j.in);
    if (j.out)
        rt_values_release(ctx, j.n_out, j.out);
    free(j.in);
    free(j.out);
    return ok ? 0 : 1;
}

/* --- The program --- */

static int rt_dump(const rt_program *prog, const rt_options *o, const char *program)
{
    FILE *f = fopen(o->dump, "w");
    if (f)
        rt_dump_kernels(prog, f);
    if (f && rt_close_written(f))
        return 0;
    fprintf(stderr, "%s: cannot write %s: %s\n", program, o->dump, strerror(errno));
    return 1;
}

static void rt_print_params(const rt_program *prog)
{
    for (int i = 0; i < prog->n_params; i++)
        printf("%s (%s)\n", prog->params[i].name, prog->params[i].cls);
}

static int rt_list_devices(const rt_program *prog, const char *program)
{
    if (rt_device_list(prog, stdout))
        return 0;
    fprintf(stderr, "%s: no OpenCL device found\n", program);
    return 1;
}

/* Whoever waits before a terminal is told for what; a log has it anyway. */
static rt_telling rt_tells(const rt_options *o)
{
    if (o->server || o->cfg.quiet)
        return RT_TELL_NOTHING;
    return o->cfg.log                               ? RT_TELL_LOG
           : isatty(STDERR_FILENO) && !o->cfg.debug ? RT_TELL_LINE
                                                    : RT_TELL_NOTHING;
}

static int rt_with_context(const rt_program *prog, const rt_options *o, const char *program)
{
    char *error;
    rt_config config = o->cfg;
    config.tell = rt_tells(o);
    rt_ctx *ctx = rt_ctx_new(prog, &config, &error);
    if (!ctx)
        fprintf(stderr, "%s: %s\n", program, error);
    bool well = rt_all_well(o, program, ctx != NULL, error);
    free(error);
    if (!well) {
        if (ctx)
            rt_ctx_free(ctx);
        return 1;
    }
    int rc = RT_OK;
    for (int i = 0; i < o->n_settings && rc == RT_OK; i++)
        rc = o->settings[i].is_file ? rt_tuning_file(ctx, o->settings[i].text)
                                    : rt_tuning_assignment(ctx, o->settings[i].text);
    if (rc)
        fprintf(stderr, "%s: %s\n", program, rt_error(ctx));
    bool set = rt_all_well(o, program, rc == RT_OK, rt_error(ctx));
    if (set && rt_ranks_open(ctx)) {
        fprintf(stderr, "%s: %s\n", program, rt_error(ctx));
        set = false;
    }
    rc = !set ? RT_ERR : o->server ? rt_serve(ctx) : rt_run_program(ctx, o, program);
    rt_tell_end(ctx);
    rt_exchange_close(ctx);
    rt_ctx_free(ctx);
    return rc;
}

/* May all files be written that options ask for? 0, or the exit code after a message. */
static int rt_check_outputs(const rt_options *o, const char *program)
{
    rt_outputs w = {.program = program, .force = o->force};
    w.read = rt_grow(NULL, (size_t)(o->n_settings + 1) * sizeof *w.read);
    for (int i = 0; i < o->n_settings; i++)
        if (o->settings[i].is_file)
            w.read[w.n_read++] = o->settings[i].text;
    int rc = rt_output_check(&w, "-t", o->times, NULL);
    if (!rc)
        rc = rt_output_check(&w, "--profile", o->profile_json, RT_PROFILE_HEAD);
    if (!rc)
        rc = rt_output_check(&w, "--dump-opencl", o->dump, RT_DUMP_HEAD);
    free(w.read);
    return rc;
}

/* What the options ask for; the exit code. */
static int rt_do(const rt_program *prog, rt_options *o, const char *program, int argc, char **argv)
{
    int rc = 0;
    bool known = rt_parse_options(o, argc, argv);
    if (!rt_all_well(o, program, known, "wrong options") || !rt_options_alike(o, program))
        rc = known ? 1 : 2;
    else if (o->help)
        (void)printf("Usage: %s [OPTION]...\n%s", program, rt_help);
    else if (o->list_devices)
        rc = rt_list_devices(prog, program);
    else if (o->print_params)
        rt_print_params(prog);
    else if (!rt_all_well(o, program, o->cfg.at.rank > 0 || !(rc = rt_check_outputs(o, program)),
                          NULL))
        rc = rc ? rc : 1;
    else if (o->dump)
        rc = o->cfg.at.rank == 0 ? rt_dump(prog, o, program) : 0;
    else
        rc = rt_with_context(prog, o, program);
    for (int i = 0; i < o->n_settings; i++)
        free(o->settings[i].text);
    free(o->settings);
    free(o->build_options);
    if ((fflush(stdout) != 0 || ferror(stdout)) && rc == 0) {
        fprintf(stderr, "%s: cannot write to standard output: %s\n", program, strerror(errno));
        rc = 1;
    }
    return rc;
}

RT_API int rt_main(const rt_program *prog, int argc, char **argv)
{
    jmp_buf leave;
    const char *program = argc > 0 ? argv[0] : prog->name;
    rt_options o = {.server = prog->server};
    FILE *aloud = rt_join(prog, &o, &argc, &argv);
    if (aloud && setjmp(leave) != 0) { /* the others may wait anywhere */
        fprintf(aloud, "%s: rank %d: out of memory\n", program, o.cfg.at.rank);
        prog->ranks->comm->stop();
    }
    if (aloud)
        rt_leave_to(&leave);
    int rc = rt_do(prog, &o, program, argc, argv);
    if (aloud && aloud != stderr)
        fclose(aloud);
    if (aloud)
        prog->ranks->comm->close(o.cfg.group);
    return rc;
}
