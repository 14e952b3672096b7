/* Profiles: kernel times by events, the table of -P, the server's report. */
#include "runtime/core/internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const rt_transfer_names[RT_N_PROF] = {"copy to device", "copy from device",
                                                         "copy on device"};

RT_API rt_dev_event **rt_profile_event(rt_ctx *ctx, int kernel)
{
    enum { MOST = 16384 }; /* events that the driver is asked to keep */
    if (!ctx->profiling)
        return NULL;
    if (ctx->n_pending >= MOST)
        rt_profile_collect(ctx);
    if (ctx->n_pending == ctx->cap_pending) {
        ctx->cap_pending = ctx->cap_pending ? 2 * ctx->cap_pending : 256;
        ctx->pending = rt_grow(ctx->pending, (size_t)ctx->cap_pending * sizeof *ctx->pending);
    }
    rt_pending *p = &ctx->pending[ctx->n_pending++];
    *p = (rt_pending){.kernel = kernel, .asked = rt_timeline_now(ctx)};
    return &p->event;
}

RT_API void rt_work(rt_ctx *ctx, int kernel, double bytes, double operations)
{
    int transfer = kernel - ctx->n_kernels;
    if (transfer < 0)
        rt_loop_work(ctx, bytes, operations);
    if (!ctx->profiling)
        return;
    if (transfer >= 0) {
        ctx->transfer_bytes[transfer] += bytes;
        return;
    }
    ctx->kernels[kernel].bytes += bytes;
    ctx->kernels[kernel].operations += operations;
}

/* Are the device's threads those of the program, which it can be asked about? */
static int rt_profile_threads(const rt_ctx *ctx)
{
    return ctx->device.rank.native ? (int)ctx->device.units : 0;
}

static void rt_profile_busy(rt_ctx *ctx, rt_kernel *k, const rt_dev_event *e)
{
    int threads = rt_profile_threads(ctx);
    if (threads > 0 && !k->busy) {
        k->busy = rt_grow(NULL, (size_t)threads * sizeof *k->busy);
        memset(k->busy, 0, (size_t)threads * sizeof *k->busy);
    }
    if (threads > 0)
        rt_dev_event_busy(ctx->dev, e, k->busy);
}

RT_API void rt_profile_collect(rt_ctx *ctx)
{
    if (ctx->n_pending == 0)
        return;
    rt_dev_finish(ctx->dev);
    for (int i = 0; i < ctx->n_pending; i++) {
        const rt_pending *p = &ctx->pending[i];
        if (p->kernel < ctx->n_kernels)
            rt_profile_busy(ctx, &ctx->kernels[p->kernel], p->event);
        int64_t begin, ns = rt_dev_event_span(ctx->dev, p->event, &begin);
        int transfer = p->kernel - ctx->n_kernels;
        if (transfer >= 0) {
            rt_timeline_device(ctx, RT_TRACK_TRANSFER, rt_transfer_names[transfer], "", p->asked,
                               begin, ns);
            ctx->transfer_runs[transfer]++;
            ctx->transfer_ns[transfer] += ns;
        } else {
            const rt_kernel_def *def = ctx->kernels[p->kernel].def;
            rt_timeline_device(ctx, RT_TRACK_KERNEL, def->name, def->prov, p->asked, begin, ns);
            ctx->kernels[p->kernel].runs++;
            ctx->kernels[p->kernel].nanoseconds += ns;
        }
    }
    ctx->n_pending = 0;
}

RT_API void rt_profile_reset(rt_ctx *ctx)
{
    rt_profile_collect(ctx);
    for (int i = 0; i < ctx->n_kernels; i++) {
        rt_kernel *k = &ctx->kernels[i];
        k->runs = k->nanoseconds = 0;
        if (k->busy)
            memset(k->busy, 0, (size_t)rt_profile_threads(ctx) * sizeof *k->busy);
        k->bytes = k->operations = 0;
    }
    memset(ctx->transfer_runs, 0, sizeof ctx->transfer_runs);
    memset(ctx->transfer_ns, 0, sizeof ctx->transfer_ns);
    memset(ctx->ranks.done, 0, sizeof ctx->ranks.done);
    for (int i = 0; i < RT_N_PROF; i++)
        ctx->transfer_bytes[i] = 0;
}

/* A row of the report. */
typedef struct {
    const char *name, *prov;
    int64_t runs, ns;
    double bytes, operations;
    const int64_t *busy; /* of each thread; NULL: not known */
} rt_row;

static int rt_row_order(const void *a, const void *b)
{
    const rt_row *x = a, *y = b;
    return x->ns != y->ns ? (x->ns < y->ns ? 1 : -1) : strcmp(x->name, y->name);
}

/* Everything that ran, the longest first; to free(). */
static rt_row *rt_rows(rt_ctx *ctx, int *n, int64_t *total)
{
    rt_profile_collect(ctx);
    rt_row *rows = rt_grow(NULL, (size_t)(ctx->n_kernels + RT_N_PROF) * sizeof *rows);
    *n = 0;
    *total = 0;
    for (int i = 0; i < ctx->n_kernels; i++) {
        const rt_kernel *k = &ctx->kernels[i];
        if (k->runs > 0)
            rows[(*n)++] = (rt_row){k->def->name, k->def->prov,  k->runs, k->nanoseconds,
                                    k->bytes,     k->operations, k->busy};
    }
    for (int i = 0; i < RT_N_PROF; i++)
        if (ctx->transfer_runs[i] > 0)
            rows[(*n)++] = (rt_row){rt_transfer_names[i],
                                    "",
                                    ctx->transfer_runs[i],
                                    ctx->transfer_ns[i],
                                    ctx->transfer_bytes[i],
                                    0,
                                    NULL};
    for (int i = 0; i < *n; i++)
        *total += rows[i].ns;
    qsort(rows, (size_t)*n, sizeof *rows, rt_row_order);
    return rows;
}

/* What a nanosecond did, as a column. */
static void rt_rate(FILE *f, double work, int64_t ns)
{
    if (work > 0 && ns > 0)
        fprintf(f, "  %8.1f", work / (double)ns);
    else
        fprintf(f, "  %8s", "-");
}

/* How much of a kernel's time its threads worked, the least and the most busy one; the rest they
 * waited for each other, or were not called. */
static void rt_busy(FILE *f, const rt_row *r, int threads)
{
    if (!r->busy || r->ns <= 0)
        return;
    int64_t all = 0, least = INT64_MAX, most = 0;
    for (int i = 0; i < threads; i++) {
        all += r->busy[i];
        least = r->busy[i] < least ? r->busy[i] : least;
        most = r->busy[i] > most ? r->busy[i] : most;
    }
    double percent = 100.0 / (double)r->ns;
    fprintf(f, "  %4.0f%% %4.0f-%.0f%%", percent * (double)all / threads, percent * (double)least,
            percent * (double)most);
}

/* What this rank has exchanged with others. */
static void rt_exchanged_lines(const rt_ctx *ctx, FILE *f)
{
    static const char *const names[] = {"numbers", "rows beside", "whole arrays"};
    for (int k = 0; k < RT_N_EXCHANGES; k++) {
        const rt_exchanged *e = &ctx->ranks.done[k];
        if (e->n > 0)
            fprintf(f,
                    "exchanged %s: %" PRId64 " times, %" PRId64
                    " bytes from others, %.1f us each with waiting\n",
                    names[k], e->n, e->bytes, 1e6 * e->seconds / (double)e->n);
    }
}

RT_API void rt_profile_table(rt_ctx *ctx, FILE *f)
{
    int n, wide = 6, prov = 10, threads = rt_profile_threads(ctx);
    int64_t total;
    rt_row *rows = rt_rows(ctx, &n, &total);
    for (int i = 0; i < n; i++) {
        int a = (int)strlen(rows[i].name), b = (int)strlen(rows[i].prov);
        wide = a > wide ? a : wide;
        prov = b > prov ? b : prov;
    }
    fprintf(f, "%-*s  %-*s  %8s  %12s  %12s  %6s  %8s  %8s%s\n", wide, "kernel", prov, "provenance",
            "runs", "total us", "mean us", "share", "GB/s", "GFLOP/s",
            threads > 0 ? "  threads busy" : "");
    for (int i = 0; i < n; i++) {
        double us = 1e-3 * (double)rows[i].ns;
        fprintf(f, "%-*s  %-*s  %8" PRId64 "  %12.1f  %12.1f  %5.1f%%", wide, rows[i].name, prov,
                rows[i].prov, rows[i].runs, us, us / (double)rows[i].runs,
                total > 0 ? 100.0 * (double)rows[i].ns / (double)total : 0.0);
        rt_rate(f, rows[i].bytes, rows[i].ns);
        rt_rate(f, rows[i].operations, rows[i].ns);
        rt_busy(f, &rows[i], threads);
        putc('\n', f);
    }
    fprintf(f,
            "total %.1f us; peak device memory %" PRId64 " bytes, %" PRId64
            " blocks allocated, %" PRId64 " reused\n",
            1e-3 * (double)total, ctx->peak_bytes, ctx->n_allocs, ctx->n_reused);
    rt_exchanged_lines(ctx, f);
    free(rows);
}

RT_API void rt_profile_lines(rt_ctx *ctx, FILE *f)
{
    int n, threads = rt_profile_threads(ctx);
    int64_t total;
    rt_row *rows = rt_rows(ctx, &n, &total);
    for (int i = 0; i < n; i++) {
        const rt_row *r = &rows[i];
        fprintf(f, "%" PRId64 " %" PRId64 " %.0f %.0f %s\t%s\t", r->runs, r->ns, r->bytes,
                r->operations, r->name, r->prov);
        for (int k = 0; k < threads && r->busy; k++)
            fprintf(f, "%" PRId64 " ", r->busy[k]);
        putc('\n', f);
    }
    free(rows);
}

static void rt_json_string(FILE *f, const char *s)
{
    putc('"', f);
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            fprintf(f, "\\%c", *s);
        else if ((unsigned char)*s < 0x20)
            fprintf(f, "\\u%04x", (unsigned char)*s);
        else
            putc(*s, f);
    }
    putc('"', f);
}

/* What each thread worked, in microseconds. */
static void rt_json_busy(FILE *f, const int64_t *busy, int threads)
{
    if (!busy)
        return;
    for (int i = 0; i < threads; i++)
        fprintf(f, "%s%.3f", i ? ", " : ", \"busy\": [", 1e-3 * (double)busy[i]);
    putc(']', f);
}

RT_API void rt_report_json(rt_ctx *ctx, FILE *f)
{
    int n;
    int64_t total;
    rt_row *rows = rt_rows(ctx, &n, &total);
    fputs(RT_PROFILE_HEAD, f);
    rt_json_string(f, ctx->device.name);
    fprintf(f, ", \"memory\": {\"device\": %" PRId64 "}, \"events\": [", ctx->peak_bytes);
    for (int i = 0; i < n; i++) {
        fprintf(f, "%s{\"name\": ", i ? ", " : "");
        rt_json_string(f, rows[i].name);
        fprintf(f, ", \"provenance\": ");
        rt_json_string(f, rows[i].prov);
        fprintf(f,
                ", \"details\": \"\", \"runs\": %" PRId64
                ", \"duration\": %.3f, \"bytes\": %.0f, \"operations\": %.0f",
                rows[i].runs, 1e-3 * (double)rows[i].ns, rows[i].bytes, rows[i].operations);
        rt_json_busy(f, rows[i].busy, rt_profile_threads(ctx));
        putc('}', f);
    }
    fprintf(f, "], \"comparisons\": [");
    for (int i = 0; i < ctx->n_comparisons; i++) {
        const rt_comparison *c = &ctx->comparisons[i];
        fprintf(f, "%s{\"name\": ", i ? ", " : "");
        rt_json_string(f, ctx->prog->params[c->param].name);
        fprintf(f,
                ", \"value\": %" PRId64 ", \"threshold\": %" PRId64
                ", \"result\": %s, \"count\": %" PRId64 "}",
                c->par, c->threshold, c->result ? "true" : "false", c->count);
    }
    fprintf(f, "]}\n");
    free(rows);
}
