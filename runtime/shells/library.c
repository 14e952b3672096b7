/* Libraries: configurations and contexts of Futhark's C API, on the same core as programs. A
 * failure is a code and a message that is kept; what would end a program leaves the context, which
 * is then of no more use. */
#include "runtime/shells/library.h"

#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#ifdef __TINYC__
#error "tcc has no variables of a thread, which libraries need: compile this by gcc or clang"
#endif

struct futhark_context {
    rt_ctx *rt; /* NULL: the device could not be opened */
    char *error;
    bool no_memory; /* of the host: nothing works any more */
    pthread_mutex_t lock;
};

static const char rt_no_host_memory[] = "out of memory";

/* --- Configurations --- */

RT_API struct futhark_context_config *rt_lib_config_new(const rt_program *prog)
{
    struct futhark_context_config *cfg = calloc(1, sizeof *cfg);
    if (cfg) {
        cfg->prog = prog;
        cfg->rt.cache = "";
        cfg->rt.quiet = true;
    }
    return cfg;
}

void futhark_context_config_free(struct futhark_context_config *cfg)
{
    if (!cfg)
        return;
    for (int i = 0; i < cfg->n_settings; i++)
        free(cfg->settings[i].name);
    free(cfg->settings);
    free(cfg->device);
    free(cfg->platform);
    free(cfg->cache);
    free(cfg->build_options);
    free(cfg->tuning);
    free(cfg->kernels);
    free(cfg->binaries);
    free(cfg);
}

/* *own becomes a copy of the text, which may be what it is already; NULL stays NULL. */
static const char *rt_lib_keep(struct futhark_context_config *cfg, char **own, const char *text)
{
    char *copy = text ? strdup(text) : NULL;
    free(*own);
    *own = copy;
    cfg->no_memory = cfg->no_memory || (text && !*own);
    return *own;
}

void futhark_context_config_set_debugging(struct futhark_context_config *cfg, int flag)
{
    cfg->rt.debug = flag != 0;
}

void futhark_context_config_set_logging(struct futhark_context_config *cfg, int flag)
{
    cfg->rt.log = flag != 0;
}

void futhark_context_config_set_profiling(struct futhark_context_config *cfg, int flag)
{
    cfg->rt.profile = flag != 0;
}

void futhark_context_config_set_device(struct futhark_context_config *cfg, const char *s)
{
    cfg->rt.device = rt_lib_keep(cfg, &cfg->device, s);
}

void futhark_context_config_set_platform(struct futhark_context_config *cfg, const char *s)
{
    cfg->rt.platform = rt_lib_keep(cfg, &cfg->platform, s);
}

void futhark_context_config_list_devices(struct futhark_context_config *cfg)
{
    if (!rt_device_list(cfg->prog, stdout))
        puts("no OpenCL device found");
}

void futhark_context_config_select_device_interactively(struct futhark_context_config *cfg)
{
    int k;
    char number[16];
    futhark_context_config_list_devices(cfg);
    printf("Number of the device: ");
    fflush(stdout);
    if (scanf("%d", &k) != 1 || k < 0)
        return;
    snprintf(number, sizeof number, "#%d", k);
    futhark_context_config_set_device(cfg, number);
}

void futhark_context_config_set_num_threads(struct futhark_context_config *cfg, int n)
{
    cfg->rt.threads = n;
}

void futhark_context_config_set_command_queue(struct futhark_context_config *cfg,
                                              cl_command_queue queue)
{
    cfg->rt.queue = queue;
}

int futhark_context_config_set_communicator(struct futhark_context_config *cfg, int communicator)
{
    cfg->chosen = true;
    cfg->communicator = communicator;
    return cfg->prog->ranks ? FUTHARK_SUCCESS : FUTHARK_PROGRAM_ERROR;
}

void futhark_context_config_set_cache_file(struct futhark_context_config *cfg, const char *path)
{
    cfg->rt.cache = rt_lib_keep(cfg, &cfg->cache, path ? path : "");
}

void futhark_context_config_load_binary_from(struct futhark_context_config *cfg, const char *path)
{
    cfg->rt.binaries = rt_lib_keep(cfg, &cfg->binaries, path);
}

void futhark_context_config_set_program(struct futhark_context_config *cfg, const char *s)
{
    cfg->rt.kernels = rt_lib_keep(cfg, &cfg->kernels, s);
}

void futhark_context_config_add_build_option(struct futhark_context_config *cfg, const char *opt)
{
    const char *old = cfg->build_options ? cfg->build_options : "";
    size_t n = strlen(old) + strlen(opt) + 2;
    char *both = malloc(n);
    if (both)
        snprintf(both, n, "%s%s%s", old, *old ? " " : "", opt);
    cfg->no_memory = cfg->no_memory || !both;
    free(cfg->build_options);
    cfg->rt.build_options = cfg->build_options = both;
}

void futhark_context_config_set_unified_memory(struct futhark_context_config *cfg, int flag)
{
    (void)cfg, (void)flag;
}

/* Names are looked at when the context is made, which knows the general sizes. */
static void rt_lib_set(struct futhark_context_config *cfg, const char *name, int64_t value)
{
    rt_lib_setting *more = realloc(cfg->settings, (size_t)(cfg->n_settings + 1) * sizeof *more);
    char *copy = strdup(name);
    if (more)
        cfg->settings = more;
    if (more && copy)
        more[cfg->n_settings++] = (rt_lib_setting){copy, value};
    else
        free(copy);
    cfg->no_memory = cfg->no_memory || !more || !copy;
}

#define RT_LIB_SIZE(function, name)                                                                \
    void futhark_context_config_set_default_##function(struct futhark_context_config *cfg, int n)  \
    {                                                                                              \
        rt_lib_set(cfg, "default_" name, n);                                                       \
    }
RT_LIB_SIZE(thread_block_size, "group_size")
RT_LIB_SIZE(group_size, "group_size")
RT_LIB_SIZE(grid_size, "num_groups")
RT_LIB_SIZE(num_groups, "num_groups")
RT_LIB_SIZE(tile_size, "tile_size")
RT_LIB_SIZE(reg_tile_size, "reg_tile_size")
RT_LIB_SIZE(threshold, "threshold")

int futhark_context_config_set_tuning_param(struct futhark_context_config *cfg, const char *name,
                                            size_t value)
{
    if (!rt_param_known(cfg->prog, name) || value > INT64_MAX)
        return FUTHARK_PROGRAM_ERROR;
    rt_lib_set(cfg, name, (int64_t)value);
    return cfg->no_memory ? FUTHARK_OUT_OF_MEMORY : FUTHARK_SUCCESS;
}

int futhark_context_config_load_tuning(struct futhark_context_config *cfg, const char *path)
{
    const char *wrong;
    FILE *f = rt_file_open(path, false, &wrong);
    if (!f)
        return FUTHARK_PROGRAM_ERROR;
    fclose(f);
    rt_lib_keep(cfg, &cfg->tuning, path);
    return cfg->no_memory ? FUTHARK_OUT_OF_MEMORY : FUTHARK_SUCCESS;
}

const char *futhark_context_config_get_program(struct futhark_context_config *cfg)
{
    size_t n;
    FILE *f = cfg->kernels ? NULL : open_memstream(&cfg->kernels, &n);
    if (f) {
        rt_dump_kernels(cfg->prog, f);
        fclose(f);
    }
    return cfg->kernels;
}

/* --- Operations --- */

static void rt_lib_say(struct futhark_context *c, const char *message)
{
    free(c->error);
    c->error = strdup(message);
}

/* Where a rank has no memory of its host's to go on, the others would wait for it. */
static void rt_lib_no_memory(const rt_program *prog)
{
    if (!prog->ranks)
        return;
    fprintf(stderr, "%s: %s\n", prog->name, rt_no_host_memory);
    prog->ranks->comm->stop();
}

static rt_lib_op rt_lib_report, rt_lib_clear, rt_lib_profiling, rt_lib_logging_file;

/* Does a rank do it for itself? */
static bool rt_lib_alone(rt_lib_op *op)
{
    return op == rt_lib_free || op == rt_lib_report || op == rt_lib_clear ||
           op == rt_lib_profiling || op == rt_lib_logging_file;
}

static int rt_lib_run(rt_ctx *ctx, rt_lib_op *op, const rt_job_args *a)
{
    if (rt_lib_alone(op))
        return op(ctx, a);
    ctx->ranks.failed = false;
    return rt_agree(ctx, op(ctx, a), RT_AT_LIBRARY);
}

RT_API int rt_lib_do(struct futhark_context *c, rt_lib_op *op, const rt_job_args *a)
{
    jmp_buf leave;
    int code;
    pthread_mutex_lock(&c->lock);
    if (!c->rt || c->no_memory) {
        if (!c->error) /* that says more */
            rt_lib_say(c, c->rt ? rt_no_host_memory : "the context could not be made");
        code = c->rt ? FUTHARK_OUT_OF_MEMORY : FUTHARK_PROGRAM_ERROR;
    } else if (setjmp(leave) == 0) {
        rt_leave_to(&leave);
        c->rt->out_of_memory = false;
        rt_ctx_enter(c->rt);
        code = rt_lib_run(c->rt, op, a) == RT_OK ? FUTHARK_SUCCESS : FUTHARK_PROGRAM_ERROR;
        if (code != FUTHARK_SUCCESS)
            rt_lib_say(c, rt_error(c->rt));
        if (code != FUTHARK_SUCCESS && c->rt->out_of_memory)
            code = FUTHARK_OUT_OF_MEMORY;
    } else {
        rt_lib_no_memory(c->rt->prog);
        c->no_memory = true;
        rt_lib_say(c, rt_no_host_memory);
        code = FUTHARK_OUT_OF_MEMORY;
    }
    rt_leave_to(NULL);
    pthread_mutex_unlock(&c->lock);
    return code;
}

RT_API void *rt_lib_make(struct futhark_context *c, rt_lib_op *op, rt_job_args a)
{
    void *made = NULL, *const out[] = {&made};
    a.out = out;
    if (rt_lib_do(c, op, &a) == FUTHARK_SUCCESS)
        return made;
    if (made) /* and another rank has failed */
        (void)rt_lib_do(c, rt_lib_free, &(rt_job_args){.obj = made});
    return NULL;
}

/* --- Contexts --- */

static int rt_lib_settings(rt_ctx *ctx, const struct futhark_context_config *cfg)
{
    int rc = cfg->tuning ? rt_tuning_file(ctx, cfg->tuning) : RT_OK;
    for (int i = 0; i < cfg->n_settings && rc == RT_OK; i++)
        rc = rt_set_param(ctx, cfg->settings[i].name, cfg->settings[i].value);
    return rc;
}

/* Of several ranks: have all of them a context, and one that goes with the others'? A message to
 * free(), and no context, if not. */
static char *rt_lib_together(struct futhark_context *c, const rt_config *config, char *error)
{
    char text[4096];
    int first = rt_together(config, c->rt ? NULL : error, text, sizeof text);
    bool differ = first < 0 && rt_ranks_open(c->rt);
    if (first < 0 && !differ)
        return error;
    free(error);
    error = differ ? rt_format("%s", rt_error(c->rt)) : rt_format("rank %d: %s", first, text);
    if (c->rt)
        rt_ctx_free(c->rt);
    c->rt = NULL;
    config->comm->close(config->group);
    return error;
}

/* Opens the device, as configured; a message to free() if it cannot be. */
static char *rt_lib_open(struct futhark_context *c, const struct futhark_context_config *cfg)
{
    char *error = NULL;
    jmp_buf leave;
    rt_config config = cfg->rt;
    if (cfg->no_memory || setjmp(leave) != 0) {
        rt_leave_to(NULL);
        rt_lib_no_memory(cfg->prog);
        return strdup(rt_no_host_memory);
    }
    rt_leave_to(&leave);
    if (cfg->prog->ranks) {
        config.comm = cfg->prog->ranks->comm;
        config.group = config.comm->join(cfg->chosen ? &cfg->communicator : NULL, &config.at);
    }
    if (config.comm && !config.group) {
        rt_leave_to(NULL);
        return strdup("the library is for several ranks: call MPI_Init before the context is made");
    }
    c->rt = rt_ctx_new(cfg->prog, &config, &error);
    if (c->rt && rt_lib_settings(c->rt, cfg)) {
        error = rt_format("%s", rt_error(c->rt));
        rt_ctx_free(c->rt);
        c->rt = NULL;
    }
    if (config.comm)
        error = rt_lib_together(c, &config, error);
    rt_leave_to(NULL);
    return error;
}

struct futhark_context *futhark_context_new(struct futhark_context_config *cfg)
{
    struct futhark_context *c = calloc(1, sizeof *c);
    if (!c) {
        rt_lib_no_memory(cfg->prog);
        return NULL;
    }
    pthread_mutex_init(&c->lock, NULL);
    c->error = rt_lib_open(c, cfg);
    return c;
}

struct futhark_context *futhark_context_new_with_command_queue(struct futhark_context_config *cfg,
                                                               cl_command_queue queue)
{
    futhark_context_config_set_command_queue(cfg, queue);
    return futhark_context_new(cfg);
}

void futhark_context_free(struct futhark_context *c)
{
    if (!c)
        return;
    if (c->rt) {
        rt_config config = c->rt->config;
        rt_ctx_enter(c->rt);
        rt_exchange_close(c->rt);
        rt_ctx_free(c->rt);
        if (config.comm)
            config.comm->close(config.group);
    }
    pthread_mutex_destroy(&c->lock);
    free(c->error);
    free(c);
}

char *futhark_context_get_error(struct futhark_context *c)
{
    pthread_mutex_lock(&c->lock);
    char *error = c->error;
    c->error = NULL;
    pthread_mutex_unlock(&c->lock);
    return error;
}

static int rt_lib_tune(rt_ctx *ctx, const rt_job_args *a)
{
    int rc = rt_agree(ctx, rt_tuning_file(ctx, a->from), RT_AT_LIBRARY);
    return rc ? rc : rt_ranks_open(ctx);
}

int futhark_context_load_tuning(struct futhark_context *c, const char *path)
{
    return rt_lib_do(c, rt_lib_tune, &(rt_job_args){.from = path});
}

char *futhark_context_get_device(struct futhark_context *c)
{
    const rt_dev_info *d = c->rt ? &c->rt->device : NULL;
    char *text = NULL;
    if (d &&
        asprintf(&text, "%s, %s, %s, %s", d->platform_name, d->name, d->version, d->driver) < 0)
        text = NULL;
    return text;
}

static int rt_lib_sync(rt_ctx *ctx, const rt_job_args *a)
{
    (void)a;
    return rt_ask_waited(ctx) ? RT_ERR : rt_sync(ctx);
}

int futhark_context_sync(struct futhark_context *c)
{
    return rt_lib_do(c, rt_lib_sync, &(rt_job_args){0});
}

static int rt_lib_report(rt_ctx *ctx, const rt_job_args *a)
{
    size_t n;
    FILE *f = rt_sync(ctx) == RT_OK ? open_memstream((char **)a->to, &n) : NULL;
    if (!f)
        return RT_ERR;
    rt_report_json(ctx, f);
    return fclose(f) == 0 ? RT_OK : rt_error_set(ctx, "%s", rt_no_host_memory);
}

char *futhark_context_report(struct futhark_context *c)
{
    char *text = NULL;
    (void)rt_lib_do(c, rt_lib_report, &(rt_job_args){.to = &text});
    return text;
}

static int rt_lib_clear(rt_ctx *ctx, const rt_job_args *a)
{
    (void)a;
    if (rt_sync(ctx))
        return RT_ERR;
    rt_free_dead_blocks(ctx);
    return RT_OK;
}

int futhark_context_clear_caches(struct futhark_context *c)
{
    return rt_lib_do(c, rt_lib_clear, &(rt_job_args){0});
}

static int rt_lib_profiling(rt_ctx *ctx, const rt_job_args *a)
{
    ctx->profiling = ctx->config.profile && a->type;
    return RT_OK;
}

void futhark_context_pause_profiling(struct futhark_context *c)
{
    (void)rt_lib_do(c, rt_lib_profiling, &(rt_job_args){.type = false});
}

void futhark_context_unpause_profiling(struct futhark_context *c)
{
    (void)rt_lib_do(c, rt_lib_profiling, &(rt_job_args){.type = true});
}

static int rt_lib_logging_file(rt_ctx *ctx, const rt_job_args *a)
{
    ctx->log_file = ctx->debug_file = a->to;
    return RT_OK;
}

void futhark_context_set_logging_file(struct futhark_context *c, FILE *f)
{
    (void)rt_lib_do(c, rt_lib_logging_file, &(rt_job_args){.to = f});
}

cl_command_queue futhark_context_get_command_queue(struct futhark_context *c)
{
    return c->rt ? rt_dev_queue(c->rt->dev) : NULL;
}

RT_API cl_mem rt_lib_raw(struct futhark_context *c, const rt_obj *obj)
{
    rt_mem *m = obj->values[0].mem;
    if (!c->rt || !m)
        return NULL;
    if (m->rows > 0 && rt_lib_do(c, rt_lib_whole, &(rt_job_args){.obj = (rt_obj *)(uintptr_t)obj}))
        return NULL;
    pthread_mutex_lock(&c->lock);
    m->content = 0; /* the caller may write to it from now on */
    pthread_mutex_unlock(&c->lock);
    return rt_dev_handle(c->rt->dev, m->buf);
}
