/* Building kernels when first needed, from the cache on disk or from source: one OpenCL program
 * each, or together where a program costs far more than its kernels. */
#include "runtime/core/internal.h"
#include "runtime/texts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RT_N_SOURCES = 5, RT_N_COMMON = 4 };

/* The texts that make up a kernel's program. */
static void rt_sources(const rt_ctx *ctx, const rt_kernel *k, const char *text[RT_N_SOURCES])
{
    text[0] = k->definitions ? k->definitions : "";
    text[1] = ctx->common ? ctx->common : rt_text_prelude_cl;
    text[2] = ctx->common ? "" : rt_text_scalar_h;
    text[3] = ctx->common ? "" : rt_text_matrix_cl;
    text[4] = rt_text_of(ctx, k);
}

/* Where a program costs far more than its kernels; else most runs need a few kernels, and those are
 * built alone. */
static bool rt_builds_together(const rt_ctx *ctx)
{
    return !ctx->build_alone && !ctx->cache[0] && !ctx->config.binaries &&
           ctx->device.costly_programs;
}

static bool rt_optimises(const rt_ctx *ctx, const rt_kernel *k)
{
    const char *text = rt_text_of(ctx, k);
    return !text || strlen(text) <= ctx->target->most_optimised;
}

/* " -DELEM=uint -DIDX=int", to free(). */
static char *rt_defines_options(const rt_define *d)
{
    char *all = rt_format("%s", "");
    for (; d && d->name; d++) {
        char *more = rt_format("%s -D%s=%s", all, d->name, d->value);
        free(all);
        all = more;
    }
    return all;
}

static bool rt_defines_alike(const rt_define *a, const rt_define *b)
{
    if (!a || !b)
        return a == b;
    for (; a->name && b->name; a++, b++)
        if (strcmp(a->name, b->name) != 0 || strcmp(a->value, b->value) != 0)
            return false;
    return a->name == b->name;
}

/* The build options, to free(). A kernel built alone comes without the functions of scalar.h for
 * types that are not in it: reading them is a fifth of what a small kernel takes to build. */
static char *rt_build_options(const rt_ctx *ctx, const rt_kernel *k)
{
    static const struct {
        const char *option;
        unsigned types;
    } parts[] = {{" -DMF_WITHOUT_SMALL", 1u << RT_I8 | 1u << RT_U8 | 1u << RT_I16 | 1u << RT_U16},
                 {" -DMF_WITHOUT_F16", 1u << RT_F16},
                 {" -DMF_WITHOUT_F32", 1u << RT_F16 | 1u << RT_F32},
                 {" -DMF_WITHOUT_F64", 1u << RT_F64}};
    enum { N_PARTS = sizeof parts / sizeof *parts };
    const char *more = ctx->config.build_options, *without[N_PARTS];
    for (int i = 0; i < N_PARTS; i++)
        without[i] =
            rt_builds_together(ctx) || (k->def->types & parts[i].types) ? "" : parts[i].option;
    char *defines = rt_defines_options(k->def->defines);
    char *all =
        rt_format("%s%s%s%s%s%s%s%s%s%s %s %s", defines, k->wide ? "" : " -DMF_INDEX32",
                  ctx->device.matrix_units > 1 ? " -DMF_WIDE" : "",
                  ctx->prog->same_products ? " -DMF_SAME_PRODUCTS" : "", ctx->target->options,
                  rt_optimises(ctx, k) ? "" : " -cl-opt-disable", without[0], without[1],
                  without[2], without[3], more ? more : "", k->options ? k->options : "");
    free(defines);
    return all;
}

RT_API rt_kernel *rt_variant(rt_ctx *ctx, int kernel, bool wide)
{
    return &ctx->kernels[kernel + (wide || ctx->wide ? ctx->n_kernels : 0)];
}

/* --- The cache on disk --- */

/* Makes a folder and those above it. */
static bool rt_make_folders(char *path)
{
    struct stat st;
    for (char *s = path + 1; *s; s++) {
        if (*s != '/')
            continue;
        *s = '\0';
        (void)mkdir(path, 0700);
        *s = '/';
    }
    (void)mkdir(path, 0700);
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode) && access(path, W_OK | X_OK) == 0;
}

RT_API void rt_cache_open(rt_ctx *ctx)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n = 0, cap = (int)sizeof ctx->cache;
    ctx->cache[0] = '\0';
    if (!ctx->config.cache && ctx->device.own_cache)
        return;
    if (ctx->config.cache)
        n = snprintf(ctx->cache, sizeof ctx->cache, "%s", ctx->config.cache);
    else if (xdg && xdg[0] == '/')
        n = snprintf(ctx->cache, sizeof ctx->cache, "%s/minifut", xdg);
    else if (home && home[0] == '/')
        n = snprintf(ctx->cache, sizeof ctx->cache, "%s/.cache/minifut", home);
    if (n <= 0 || n >= cap || !rt_make_folders(ctx->cache))
        ctx->cache[0] = '\0';
}

static uint64_t rt_hash_bytes(const unsigned char *s, size_t n)
{
    uint64_t h = RT_HASH_START;
    for (size_t i = 0; i < n; i++)
        h = (h ^ s[i]) * 0x100000001b3u;
    return h;
}

/* The file in a folder of a kernel built with these options on this device and driver, to free().
 */
static char *rt_cache_file(const rt_ctx *ctx, const char *folder, const rt_kernel *k,
                           const char *options)
{
    const char *text[RT_N_SOURCES];
    uint64_t h[2] = {RT_HASH_START, 0x9e3779b97f4a7c15u};
    rt_sources(ctx, k, text);
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < RT_N_SOURCES; j++)
            h[i] = rt_hash(h[i], text[j]);
        h[i] = rt_hash(h[i], options);
        h[i] = rt_hash(h[i], ctx->device.platform_name);
        h[i] = rt_hash(h[i], ctx->device.name);
        h[i] = rt_hash(h[i], ctx->device.driver);
    }
    return rt_format("%s/%016" PRIx64 "%016" PRIx64 ".bin", folder, h[0], h[1]);
}

/* In front of each cached binary. The folder may be one that others write to: what belongs to
 * somebody else, or what they could have changed, is not taken, nothing is written through links,
 * and a file counts under its own name only. */
typedef struct {
    char magic[8];
    uint64_t size, check;
} rt_cache_head;
static const char rt_cache_magic[8] = "mfkern2";

/* Opens a file of the cache; -1 if there is none, or none to be trusted. */
static int rt_cache_fd(const char *path, int flags)
{
    struct stat st;
    int fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    bool ours = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
                (st.st_uid == geteuid() || st.st_uid == 0) && !(st.st_mode & (S_IWGRP | S_IWOTH));
    if (fd >= 0 && !ours) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static uint64_t rt_cache_check(const char *path, const unsigned char *data, size_t n)
{
    return rt_hash(rt_hash_bytes(data, n), strrchr(path, '/'));
}

/* The binary in a cache file, to free(); NULL if there is none or it is damaged. */
static unsigned char *rt_cache_read(const char *path, size_t *n)
{
    rt_cache_head head;
    unsigned char *data = NULL;
    int fd = rt_cache_fd(path, O_RDONLY);
    FILE *f = fd >= 0 ? fdopen(fd, "rb") : NULL;
    if (!f) {
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    bool ok = fread(&head, sizeof head, 1, f) == 1 &&
              memcmp(head.magic, rt_cache_magic, sizeof head.magic) == 0 && head.size > 0 &&
              head.size < (uint64_t)1 << 30 && (data = malloc(head.size)) != NULL &&
              fread(data, 1, head.size, f) == head.size && fgetc(f) == EOF &&
              rt_cache_check(path, data, head.size) == head.check;
    fclose(f);
    if (!ok) {
        free(data);
        return NULL;
    }
    *n = head.size;
    return data;
}

/* Writes through a temporary file, so that others see all of it or nothing. Failure is no matter.
 */
static void rt_cache_write(const char *path, const unsigned char *data, size_t n)
{
    rt_cache_head head = {.size = n, .check = rt_cache_check(path, data, n)};
    char *tmp = rt_format("%s.XXXXXX", path);
    int fd = mkostemp(tmp, O_CLOEXEC);
    FILE *f = fd >= 0 ? fdopen(fd, "wb") : NULL;
    if (f) {
        memcpy(head.magic, rt_cache_magic, sizeof head.magic);
        bool ok = fwrite(&head, sizeof head, 1, f) == 1 && fwrite(data, 1, n, f) == n;
        ok = rt_close_written(f) && ok;
        if (!ok || rename(tmp, path) != 0)
            (void)unlink(tmp);
    } else if (fd >= 0) {
        close(fd);
        (void)unlink(tmp);
    }
    free(tmp);
}

static void rt_cache_store(const rt_ctx *ctx, const rt_kernel *k, const char *path)
{
    size_t n;
    unsigned char *data = rt_dev_binary(ctx->dev, k->program, &n);
    if (data)
        rt_cache_write(path, data, n);
    free(data);
}

/* Of processes that need the same kernel at the same time one builds it, and the others wait for
 * it: a tuner's processes go through the same versions side by side. The lock goes with its
 * process; -1: there is none. */
static int rt_cache_lock(const char *path, bool *waited)
{
    char *name = rt_format("%s.lock", path);
    int fd = rt_cache_fd(name, O_CREAT | O_RDWR);
    free(name);
    *waited = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0;
    if (*waited && flock(fd, LOCK_EX) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static void rt_cache_unlock(const char *path, int fd)
{
    char *name = rt_format("%s.lock", path);
    (void)unlink(name);
    close(fd);
    free(name);
}

static void rt_program_drop(rt_ctx *ctx, rt_kernel *k)
{
    if (k->program)
        rt_dev_program_unref(ctx->dev, k->program);
    k->program = NULL;
}

/* Tries to take the kernel from the cache; silent when that does not work. */
static void rt_build_cached(rt_ctx *ctx, rt_kernel *k, const char *path, const char *options)
{
    size_t n;
    char *log = NULL;
    unsigned char *data = rt_cache_read(path, &n);
    if (!data)
        return;
    rt_dev_load(ctx->dev, data, n, options, &k->program);
    free(data);
    if (k->program)
        rt_dev_kernel_new(ctx->dev, k->program, k->def->name, &k->kernel, &log);
    free(log);
    if (!k->kernel)
        rt_program_drop(ctx, k);
}

/* --- From source --- */

/* The kernels that go into one program with k: variants like k, with the same definitions. Built-in
 * ones of one kind have one text. */
static bool rt_goes_with(const rt_ctx *ctx, const rt_kernel *k, const rt_kernel *other)
{
    return other == k || (other->wide == k->wide && !other->program && rt_text_of(ctx, other) &&
                          !other->build_error && rt_optimises(ctx, other) == rt_optimises(ctx, k) &&
                          rt_defines_alike(other->def->defines, k->def->defines));
}

/* Builds the program of k and all that go with it. If that fails, none has a program: each is then
 * built alone, so that one kernel's error is not the others'. */
static void rt_build_together(rt_ctx *ctx, rt_kernel *k, const char *options)
{
    const char **text = rt_grow(NULL, (size_t)(ctx->n_kernels + RT_N_COMMON) * sizeof *text);
    const char *own[RT_N_SOURCES];
    int n = RT_N_COMMON;
    char *log;
    rt_dev_program *program;
    rt_sources(ctx, k, own);
    memcpy(text, own, RT_N_COMMON * sizeof *text);
    for (int i = 0; i < 2 * ctx->n_kernels; i++) {
        const char *more = rt_text_of(ctx, &ctx->kernels[i]);
        if (rt_goes_with(ctx, k, &ctx->kernels[i]) && more != text[n - 1])
            text[n++] = more;
    }
    rt_dev_build(ctx->dev, n, text, options, &program, &log);
    free(text);
    free(log);
    ctx->build_alone = !program;
    if (!program)
        return;
    for (int i = 0; i < 2 * ctx->n_kernels; i++)
        if (rt_goes_with(ctx, k, &ctx->kernels[i]))
            ctx->kernels[i].program = rt_dev_program_ref(ctx->dev, program);
    rt_dev_program_unref(ctx->dev, program);
}

/* RT_ERR if the driver cannot build at all; else k has a kernel or a build_error. */
static int rt_build_source(rt_ctx *ctx, rt_kernel *k, const char *options)
{
    const char *text[RT_N_SOURCES];
    char *log = NULL;
    rt_dev_error e = {RT_DEV_OK, "", ""};
    if (!k->program && k->id >= 0 && !k->numbers && rt_builds_together(ctx))
        rt_build_together(ctx, k, options);
    if (!k->program) {
        rt_sources(ctx, k, text);
        e = rt_dev_build(ctx->dev, RT_N_SOURCES, text, options, &k->program, &log);
        if (!k->program && !log)
            return rt_dev_check(ctx, e, k->def->name);
    }
    if (k->program)
        e = rt_dev_kernel_new(ctx->dev, k->program, k->def->name, &k->kernel, &log);
    if (k->kernel)
        return RT_OK;
    k->too_large = e.status == RT_DEV_REFUSED;
    k->build_error = rt_format("kernel %s (%s) does not build: %s\n%s", k->def->name, k->def->prov,
                               e.name, log ? log : "");
    free(log);
    rt_program_drop(ctx, k);
    return RT_OK;
}

/* What the built kernel needs. */
static void rt_kernel_facts(rt_ctx *ctx, rt_kernel *k)
{
    rt_dev_kernel_needs(ctx->dev, k->kernel, &k->max_group, &k->own_local);
    if (k->max_group == 0)
        k->max_group = ctx->facts[RT_MAX_GROUP_SIZE];
}

RT_API void rt_kernel_free(rt_ctx *ctx, rt_kernel *k)
{
    if (k->kernel)
        rt_dev_kernel_free(ctx->dev, k->kernel);
    if (k->program)
        rt_dev_program_unref(ctx->dev, k->program);
    while (k->sized) {
        rt_kernel *own = k->sized;
        k->sized = own->next;
        rt_kernel_free(ctx, own);
        free(own);
    }
    free(k->numbers);
    free(k->definitions);
    free(k->build_error);
    free(k->refusals);
    free(k->busy);
    free(k->set);
}

/* Has the processor what the second of a kernel's functions needs? */
static bool rt_is_wide(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi2");
#else
    return false;
#endif
}

/* A function needs no building. */
static int rt_build_function(rt_ctx *ctx, rt_kernel *k)
{
    rt_dev_function *wide = k->def->function[1],
                    *f = wide && rt_is_wide() ? wide : k->def->function[0];
    if (rt_dev_check(ctx, rt_dev_kernel_of(ctx->dev, f, &k->kernel), k->def->name))
        return RT_ERR;
    rt_kernel_facts(ctx, k);
    rt_debug(ctx, "Kernel %s (%s) is a function of the program", k->def->name, k->def->prov);
    return RT_OK;
}

/* From the cache, or from source, and then the cache keeps it. */
static int rt_build_any(rt_ctx *ctx, rt_kernel *k, bool *cached)
{
    char *options = rt_build_options(ctx, k);
    const char *given = ctx->config.binaries;
    char *read_only = given ? rt_cache_file(ctx, given, k, options) : NULL;
    char *path = ctx->cache[0] ? rt_cache_file(ctx, ctx->cache, k, options) : NULL;
    int lock = -1, rc = RT_OK;
    if (read_only)
        rt_build_cached(ctx, k, read_only, options);
    free(read_only);
    if (path && !k->kernel)
        rt_build_cached(ctx, k, path, options);
    if (path && !k->kernel) {
        bool waited;
        lock = rt_cache_lock(path, &waited);
        rt_build_cached(ctx, k, path, options);
        if (waited && lock >= 0 &&
            !k->kernel) { /* it cannot be had that way: then no one waits for this build */
            rt_cache_unlock(path, lock);
            lock = -1;
        }
    }
    *cached = k->kernel != NULL;
    if (!*cached) {
        double start = rt_seconds();
        rt_tell_source(ctx);
        rc = rt_build_source(ctx, k, options);
        rt_tell_built(ctx, rt_seconds() - start);
    }
    if (path && k->kernel && !*cached)
        rt_cache_store(ctx, k, path);
    if (lock >= 0)
        rt_cache_unlock(path, lock);
    free(path);
    free(options);
    return rc;
}

RT_API int rt_build(rt_ctx *ctx, rt_kernel *k)
{
    if (k->kernel)
        return RT_OK;
    if (!rt_text_of(ctx, k))
        return rt_build_function(ctx, k);
    if (!k->build_error) {
        double start = rt_seconds();
        bool cached = false, mine = rt_turn_give(ctx);
        ctx->limit.held++;
        int rc = rt_build_any(ctx, k, &cached);
        ctx->build_seconds += rt_seconds() - start;
        rt_timeline_host(ctx, RT_TRACK_BUILD, k->def->name, k->def->prov, start);
        ctx->limit.held--;
        if (mine)
            rt_turn_take(ctx);
        if (rc)
            return rc;
        if (k->kernel) {
            rt_kernel_facts(ctx, k);
            rt_debug(ctx, "Built kernel %s (%s)%s%s%s%s in %.1f ms", k->def->name, k->def->prov,
                     k->wide ? " with 64-bit indices" : "", k->numbers ? " for its sizes" : "",
                     rt_optimises(ctx, k) ? "" : " without optimisation",
                     cached ? " from the cache" : "", 1e3 * (rt_seconds() - start));
            return RT_OK;
        }
    }
    rt_error_set(ctx, "%s", k->build_error);
    return k->too_large ? RT_REFUSED : RT_ERR;
}

RT_API void rt_dump_kernels(const rt_program *prog, FILE *f)
{
    fprintf(f, RT_DUMP_HEAD "\n%s\n%s\n%s\n", rt_text_prelude_cl, rt_text_scalar_h,
            rt_text_matrix_cl);
    char *texts = prog->texts ? rt_unpack(prog->texts) : NULL;
    const char *text = texts;
    for (int i = 0; i < prog->n_kernels; i++) {
        fprintf(f, RT_DUMP_KERNEL "%s\n", prog->kernels[i].name,
                texts ? text : prog->kernels[i].source);
        text += texts ? strlen(text) + 1 : 0;
    }
    free(texts);
}
