/* What the core has of its host: memory, texts in it, a clock; and what it says: of what failed, to
 * the log, for debugging. */
#include "runtime/core/internal.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static __thread jmp_buf *rt_no_memory;

RT_API void *rt_grow(void *p, size_t bytes)
{
    void *q = realloc(p, bytes ? bytes : 1);
    if (!q && rt_no_memory)
        longjmp(*rt_no_memory, 1);
    if (!q) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return q;
}

RT_API void rt_leave_to(jmp_buf *place)
{
    rt_no_memory = place;
}

RT_API char *rt_format(const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    char *s = rt_grow(NULL, (size_t)(n < 0 ? 0 : n) + 1);
    s[0] = '\0';
    vsnprintf(s, (size_t)(n < 0 ? 0 : n) + 1, fmt, again);
    va_end(again);
    va_end(ap);
    return s;
}

RT_API uint64_t rt_hash(uint64_t h, const char *s)
{
    do {
        h = (h ^ (unsigned char)*s) * 0x100000001b3u;
    } while (*s++);
    return h;
}

RT_API double rt_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* --- Messages --- */

RT_API const char *rt_error(const rt_ctx *ctx)
{
    return ctx->error;
}

RT_API int rt_error_set(rt_ctx *ctx, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(ctx->error, sizeof ctx->error, fmt, ap);
    va_end(ap);
    ctx->error_told = false;
    ctx->kept_in_doubt = true;
    return RT_ERR;
}

RT_API int rt_dev_check(rt_ctx *ctx, rt_dev_error e, const char *what)
{
    if (e.status == RT_DEV_OK)
        return RT_OK;
    return rt_error_set(ctx, "%s failed: %s (%s)", e.call, e.name, what);
}

RT_API int rt_fail_with(rt_ctx *ctx, int site, const char *text)
{
    if (site < 0 || site >= ctx->prog->n_sites)
        return rt_error_set(ctx, "failure %d, which does not exist: %s", site, text);
    const rt_site_def *s = &ctx->prog->sites[site];
    rt_error_set(ctx, "Error: %s\n%s:%s%s", text, s->pos, s->excerpt ? "\n" : "",
                 s->excerpt ? s->excerpt : "");
    ctx->error_told = true;
    return RT_ERR;
}

RT_API int rt_fail(rt_ctx *ctx, int site, const int64_t *args)
{
    char text[sizeof ctx->error];
    size_t at = 0;
    int next = 0;
    bool known = site >= 0 && site < ctx->prog->n_sites;
    for (const char *t = known ? ctx->prog->sites[site].text : ""; *t && at + 24 < sizeof text;
         t++) {
        if (strncmp(t, "%ld", 3) == 0 && args && next < 8) {
            at += (size_t)snprintf(text + at, sizeof text - at, "%" PRId64, args[next++]);
            t += 2;
        } else {
            t += t[0] == '%' && t[1] == '%';
            text[at++] = *t;
        }
    }
    text[at] = '\0';
    return rt_fail_with(ctx, site, text);
}

RT_API void rt_log(rt_ctx *ctx, const char *fmt, ...)
{
    va_list ap;
    if (!ctx->config.log)
        return;
    ctx->limit.held++;
    va_start(ap, fmt);
    vfprintf(ctx->log_file, fmt, ap);
    va_end(ap);
    putc('\n', ctx->log_file);
    ctx->limit.held--;
}

RT_API void rt_debug(rt_ctx *ctx, const char *fmt, ...)
{
    va_list ap;
    if (!ctx->config.debug)
        return;
    va_start(ap, fmt);
    vfprintf(ctx->debug_file, fmt, ap);
    va_end(ap);
    putc('\n', ctx->debug_file);
}
