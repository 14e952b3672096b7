/* What generated code exchanges with the other ranks: scalars, rows of arrays, rows beside one's
 * own.
 *
 * Rows go through the hosts' memory, or, where all devices are of one machine and can read each
 * other's memory, through windows: each device has a block, of two halves by turns, that the others
 * copy from or into. Hosts only tell each other that they have asked for what an exchange consists
 * of; their devices wait for each other: at marks, which are set before ranks meet and awaited
 * behind that, until a half is filled; or in one kernel that does all of it (gather.cl), which each
 * rank launches once they have met. Who fills a half, its own or its slot of another rank's, has
 * waited, in the exchange before, until the others were there, and so had copied what they wanted
 * of what was there two exchanges ago. */
#include "runtime/core/internal.h"

#include <stdlib.h>
#include <string.h>

/* An exchange that began then has ended. */
static int rt_exchange_done(rt_ctx *ctx, rt_exchange_kind kind, int64_t bytes, double began, int rc)
{
    rt_exchanged *e = &ctx->ranks.done[kind];
    e->n++;
    e->bytes += bytes;
    e->seconds += rt_seconds() - began;
    return rc;
}

/* --- Scalars ---------------------------------------------------------------------------------- */

enum { RT_EXCHANGES = 8 }; /* that are kept */

RT_API int rt_exchange(rt_ctx *ctx, int n, const rt_scalar *mine, int64_t *which)
{
    rt_ranks_state *s = &ctx->ranks;
    double began = rt_seconds();
    size_t each = (size_t)rt_ranks(ctx) * RT_EXCHANGED;
    if (!s->told)
        s->told = rt_grow(NULL, RT_EXCHANGES * each * sizeof *s->told);
    *which = s->exchanges++ % RT_EXCHANGES;
    int rc = rt_agree_telling(ctx, RT_OK, RT_AT_EXCHANGE, n, mine, s->told + (size_t)*which * each);
    int64_t bytes = (rt_ranks(ctx) - 1) * n * (int64_t)sizeof *mine;
    return rt_exchange_done(ctx, RT_NUMBERS, bytes, began, rc);
}

RT_API const rt_scalar *rt_peer(const rt_ctx *ctx, int64_t which, int64_t k, int64_t rank)
{
    return &ctx->ranks.told[(which * rt_ranks(ctx) + rank) * RT_EXCHANGED + k];
}

/* --- Windows ---------------------------------------------------------------------------------- */

enum { RT_WINDOW_HALF = 32 << 20 };

/* Behind the halves are the words at which groups of kernels that wait for each other tell each
 * other, of each rank's. */
enum { RT_WORDS_OF_RANK = RT_GATHER_GROUPS * 8 * 4 };

static void rt_free_window(rt_ctx *ctx, rt_rank_window *w, bool own)
{
    for (int k = 0; k < 2; k++)
        if (w->filled[k])
            rt_dev_mark_free(ctx->dev, w->filled[k]);
    if (w->whole.buf && own)
        rt_dev_free(ctx->dev, w->whole.buf);
    else if (w->whole.buf)
        rt_dev_leave(ctx->dev, w->whole.buf);
}

/* All ranks do this together: nobody frees what another one has not left. */
static void rt_windows_close(rt_ctx *ctx)
{
    rt_windows *w = &ctx->ranks.windows;
    const rt_place *p = &ctx->config.at;
    if (!w->tried)
        return;
    (void)rt_dev_finish(ctx->dev);
    for (int r = 0; w->of && r < p->ranks; r++)
        if (r != p->rank)
            rt_free_window(ctx, &w->of[r], false);
    (void)rt_all_have(&ctx->config, true);
    if (w->of)
        rt_free_window(ctx, &w->of[p->rank], true);
    free(w->of);
    w->of = NULL;
}

/* What a rank offers, if it can. */
typedef struct {
    bool ok;
    uint64_t identity; /* of its device, if its kernels may wait for others' */
    rt_dev_offer memory, filled[2];
} rt_offered;

/* Nobody has told anything yet. */
static bool rt_clear_words(rt_ctx *ctx, rt_dev_buffer *window, int64_t bytes)
{
    void *none = calloc(1, (size_t)bytes);
    bool ok =
        none &&
        rt_dev_write(ctx->dev, window, 2 * (int64_t)RT_WINDOW_HALF, bytes, none, NULL).status ==
            RT_DEV_OK;
    free(none);
    return ok;
}

static bool rt_own_window(rt_ctx *ctx, rt_rank_window *w, rt_offered *o)
{
    rt_dev *d = ctx->dev;
    const rt_place *p = &ctx->config.at;
    int64_t in_use = ctx->live_bytes + ctx->free_bytes, words = p->ranks * RT_WORDS_OF_RANK;
    bool ok =
        rt_windows_likely(ctx) &&
        rt_dev_offer_new(d, 2 * (int64_t)RT_WINDOW_HALF + words, in_use, &w->whole.buf, &o->memory)
                .status == RT_DEV_OK &&
        rt_clear_words(ctx, w->whole.buf, words);
    for (int k = 0; k < 2 && ok; k++)
        ok = rt_dev_mark_new(d, &w->filled[k], &o->filled[k]).status == RT_DEV_OK;
    if (ok && ctx->builtins->gather && p->ranks <= RT_TOGETHER && rt_windows_wanted(2))
        o->identity = rt_dev_identity(d);
    return ok;
}

static bool rt_take_window(rt_ctx *ctx, rt_rank_window *w, const rt_offered *o)
{
    rt_dev *d = ctx->dev;
    bool ok = rt_dev_take(d, &o->memory, &w->whole.buf).status == RT_DEV_OK;
    for (int k = 0; k < 2 && ok; k++)
        ok = rt_dev_mark_take(d, &o->filled[k], &w->filled[k]).status == RT_DEV_OK;
    return ok;
}

/* Has each rank a device of its own whose kernels may wait for the others'? */
static bool rt_devices_meet(const rt_offered *all, int ranks)
{
    bool meet = true;
    for (int r = 0; r < ranks; r++)
        for (int k = 0; k <= r; k++)
            meet = meet && all[r].identity != 0 && (k == r || all[k].identity != all[r].identity);
    return meet;
}

/* What other devices are to get is asked for, or rc says that it is not. What might have failed
 * before is waited for: the others would go on with it. */
static int rt_half_asked(rt_ctx *ctx, int rc)
{
    return rc ? rc : ctx->unchecked ? rt_sync(ctx) : rt_steps_run(ctx);
}

static int rt_gather_part(rt_ctx *ctx, const rt_gathered *gs, int n, int half, int64_t done,
                          int64_t most);

/* Finds out, at the first exchange, whether all ranks have windows, and the kernel that works on
 * them, which is tried with nothing to do. RT_ERR if one has failed, and did not come here. */
static int rt_windows_open(rt_ctx *ctx)
{
    const rt_config *c = &ctx->config;
    rt_windows *w = &ctx->ranks.windows;
    if (w->tried)
        return RT_OK;
    if (rt_agree(ctx, rt_half_asked(ctx, RT_OK), RT_AT_WINDOWS))
        return RT_ERR;
    w->tried = true;
    size_t ranks = (size_t)c->at.ranks;
    rt_offered mine = {0}, *all = rt_grow(NULL, ranks * sizeof *all);
    w->of = memset(rt_grow(NULL, ranks * sizeof *w->of), 0, ranks * sizeof *w->of);
    for (int r = 0; r < c->at.ranks; r++) /* no block has such a number */
        w->of[r].whole = (rt_mem){
            .refs = 1, .number = INT64_MIN + r, .size = 2 * RT_WINDOW_HALF, .name = "window"};
    mine.ok = rt_own_window(ctx, &w->of[c->at.rank], &mine);
    c->comm->all(c->group, &mine, sizeof mine, all);
    bool ok = true;
    for (int r = 0; r < c->at.ranks; r++)
        ok = ok && all[r].ok;
    for (int r = 0; r < c->at.ranks && ok; r++)
        if (r != c->at.rank)
            ok = rt_take_window(ctx, &w->of[r], &all[r]);
    bool meet = rt_devices_meet(all, c->at.ranks);
    free(all);
    if (!rt_all_have(c, ok))
        rt_windows_close(ctx);
    else if (meet)
        w->meet = rt_all_have(c, rt_gather_part(ctx, NULL, 0, 0, 0, 0) == RT_OK);
    rt_debug(ctx, "What ranks exchange goes through the memory of %s%s",
             w->of ? "devices" : "hosts", w->meet ? ", whose kernels wait for each other" : "");
    return RT_OK;
}

RT_API void rt_exchange_close(rt_ctx *ctx)
{
    free(ctx->ranks.told);
    rt_windows_close(ctx);
    if (ctx->ranks.host)
        rt_dev_host_free(ctx->dev, ctx->ranks.host);
}

/* The half of the next exchange, for this rank to fill. */
static int rt_half_next(rt_ctx *ctx)
{
    return (int)(ctx->ranks.windows.turn++ % 2);
}

/* What is asked for is told when it is there. */
static int rt_half_filled(rt_ctx *ctx, int half, int rc)
{
    rt_dev_mark *m = ctx->ranks.windows.of[ctx->config.at.rank].filled[half];
    rc = rt_half_asked(ctx, rc);
    return rc ? rc : rt_dev_check(ctx, rt_dev_mark_set(ctx->dev, m), "telling other devices");
}

/* The device waits for those of the others. */
static int rt_await_others(rt_ctx *ctx, int half)
{
    const rt_place *p = &ctx->config.at;
    int rc = RT_OK;
    for (int r = 0; r < p->ranks && rc == RT_OK; r++)
        if (r != p->rank) {
            rt_dev_mark *m = ctx->ranks.windows.of[r].filled[half];
            rc = rt_dev_check(ctx, rt_dev_mark_await(ctx->dev, m), "waiting for another device");
        }
    return rc;
}

/* --- Rows of all ----------------------------------------------------------------------------- */

RT_API int64_t *rt_rows_of_ranks(const rt_config *c, int64_t rows, int64_t row_bytes)
{
    int64_t each = mf_share(rows, c->at.ranks);
    int64_t *at = rt_grow(NULL, ((size_t)c->at.ranks + 1) * sizeof *at);
    for (int r = 0; r <= c->at.ranks; r++)
        at[r] = (r * each < rows ? r * each : rows) * row_bytes;
    return at;
}

/* The same, of rows of which each rank knows where its own begin; NULL on failure. */
static int64_t *rt_rows_told(rt_ctx *ctx, int64_t first, int64_t rows, int64_t row_bytes)
{
    const rt_config *c = &ctx->config;
    int64_t *at = rt_grow(NULL, ((size_t)c->at.ranks + 1) * sizeof *at), which;
    const rt_scalar begin = {.i64 = first * row_bytes};
    if (rt_exchange(ctx, 1, &begin, &which)) {
        free(at);
        return NULL;
    }
    for (int r = 0; r < c->at.ranks; r++)
        at[r] = rt_peer(ctx, which, 0, r)->i64;
    at[c->at.ranks] = rows * row_bytes;
    return at;
}

RT_API char *rt_host_memory(rt_ctx *ctx, int64_t bytes)
{
    rt_ranks_state *s = &ctx->ranks;
    if (bytes < s->host_bytes)
        return s->host;
    if (s->host)
        rt_dev_host_free(ctx->dev, s->host);
    s->host_bytes = 0;
    s->host = rt_dev_host_new(ctx->dev, bytes + 1);
    if (s->host)
        s->host_bytes = bytes + 1;
    else
        rt_error_set(ctx, "out of memory: %" PRId64 " bytes", bytes);
    return s->host;
}

/* rt_agree of ranks that are to exchange as many bytes, which those who found different results do
 * not. */
static int rt_agree_of(rt_ctx *ctx, int rc, rt_where where, int64_t bytes)
{
    int ranks = ctx->config.at.ranks;
    rt_scalar *told = rt_grow(NULL, (size_t)ranks * RT_EXCHANGED * sizeof *told);
    const rt_scalar mine = {.i64 = bytes};
    rc = rt_agree_telling(ctx, rc, where, 1, &mine, told);
    for (int r = 0; r < ranks && rc == RT_OK; r++)
        if (told[r * RT_EXCHANGED].i64 != told[0].i64)
            rc = rt_error_set(ctx, RT_DIFFER);
    free(told);
    return rc;
}

/* Bytes of all arrays where each rank's begin, all that it has of them one behind the other; to
 * free(). */
static int64_t *rt_streams(const rt_config *c, const rt_gathered *gs, int n)
{
    int64_t *at = memset(rt_grow(NULL, ((size_t)c->at.ranks + 1) * sizeof *at), 0,
                         ((size_t)c->at.ranks + 1) * sizeof *at);
    for (int r = 0; r <= c->at.ranks; r++)
        for (int k = 0; k < n; k++)
            at[r] += gs[k].at[r];
    return at;
}

static int64_t rt_bytes_of(const rt_gathered *g, int r)
{
    return g->at[r + 1] - g->at[r];
}

/* All rows in host memory, each rank's as they are in its stream. NULL on failure. */
static char *rt_all_rows(rt_ctx *ctx, const rt_gathered *gs, int n, const int64_t *at)
{
    const rt_config *c = &ctx->config;
    int rank = c->at.rank, rc = RT_OK;
    int64_t total = at[c->at.ranks];
    char *all = rt_host_memory(ctx, total), *to = all ? all + at[rank] : NULL;
    for (int k = 0; k < n && rc == RT_OK; k++) {
        rc = all ? rt_read(ctx, gs[k].mem, gs[k].own, rt_bytes_of(&gs[k], rank), to) : RT_ERR;
        to += rt_bytes_of(&gs[k], rank);
    }
    if (rt_agree_of(ctx, rc, RT_AT_ROWS, total))
        return NULL;
    c->comm->blocks(c->group, all, at);
    return all;
}

static int64_t rt_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* What of rank r's stream is in the half that begins with its byte `done`: from its device into the
 * window, or from there. */
static int rt_copy_half(rt_ctx *ctx, const rt_gathered *gs, int n, int r, int64_t done,
                        int64_t half)
{
    rt_dev_buffer *window = ctx->ranks.windows.of[r].whole.buf;
    int64_t before = 0;
    int rc = RT_OK;
    for (int k = 0; k < n && rc == RT_OK; k++) {
        const rt_gathered *g = &gs[k];
        int64_t bytes = rt_bytes_of(g, r), from = done > before ? done - before : 0;
        int64_t to = rt_least(bytes, done + RT_WINDOW_HALF - before);
        int64_t in_window = half + before + from - done, in_array = g->at[r] + from;
        if (from < to && r == ctx->config.at.rank)
            rc = rt_copy_buffer(ctx, window, in_window, g->mem->buf, in_array, to - from,
                                g->mem->name);
        else if (from < to)
            rc = rt_copy_buffer(ctx, g->mem->buf, in_array, window, in_window, to - from,
                                g->mem->name);
        before += bytes;
    }
    return rc;
}

static int rt_gather_by_windows(rt_ctx *ctx, const rt_gathered *gs, int n, const int64_t *at)
{
    const rt_place *p = &ctx->config.at;
    int64_t longest = 0;
    for (int r = 0; r < p->ranks; r++)
        longest = at[r + 1] - at[r] > longest ? at[r + 1] - at[r] : longest;
    for (int64_t done = 0; done < longest; done += RT_WINDOW_HALF) {
        int k = rt_half_next(ctx);
        int64_t half = k * (int64_t)RT_WINDOW_HALF;
        int rc = rt_half_filled(ctx, k, rt_copy_half(ctx, gs, n, p->rank, done, half));
        rc = rt_agree_of(ctx, rc, RT_AT_ROWS, at[p->ranks]);
        if (rc == RT_OK)
            rc = rt_await_others(ctx, k);
        for (int r = 0; r < p->ranks && rc == RT_OK; r++)
            if (r != p->rank)
                rc = rt_copy_half(ctx, gs, n, r, done, half);
        if (rc)
            return RT_ERR;
    }
    return RT_OK;
}

/* Bytes that do not begin at words are copied one by one: these are few. */
static bool rt_gathers_by_kernel(const rt_ctx *ctx, const rt_gathered *gs, int n)
{
    enum { BYTES = 1 << 18 };
    int ranks = ctx->config.at.ranks;
    bool can = ctx->ranks.windows.meet;
    for (int k = 0; k < n && can; k++)
        can = gs[k].even && ((gs[k].at[1] | gs[k].at[ranks]) % 4 == 0 || gs[k].at[1] <= BYTES);
    return can;
}

/* Of a half, for each rank but its own. */
static int64_t rt_slot(int ranks)
{
    enum { ALIGN = 128 };
    return RT_WINDOW_HALF / (ranks > 1 ? ranks - 1 : 1) / ALIGN * ALIGN;
}

static rt_meeting rt_meeting_at(rt_ctx *ctx, int half)
{
    rt_windows *w = &ctx->ranks.windows;
    return (rt_meeting){.windows = w->of,
                        .half = half * (int64_t)RT_WINDOW_HALF,
                        .slot = rt_slot(ctx->config.at.ranks),
                        .words = 2 * (int64_t)RT_WINDOW_HALF,
                        .turn = &w->told};
}

static int rt_gather_part(rt_ctx *ctx, const rt_gathered *gs, int n, int half, int64_t done,
                          int64_t most)
{
    const rt_meeting m = rt_meeting_at(ctx, half);
    return ctx->builtins->gather(ctx, &m, gs, n, done, most);
}

/* Words are numbers of 32 bits, compared with others that are not far: long before they are, all
 * begin anew, none of whose devices is still waiting, or has not been told. */
static int rt_words_anew(rt_ctx *ctx)
{
    enum { FAR = 1 << 30 };
    rt_windows *w = &ctx->ranks.windows;
    const rt_place *p = &ctx->config.at;
    if (w->told < FAR)
        return RT_OK;
    if (rt_agree(ctx, rt_sync(ctx), RT_AT_WINDOWS))
        return RT_ERR;
    bool ok = rt_clear_words(ctx, w->of[p->rank].whole.buf, p->ranks * RT_WORDS_OF_RANK);
    w->told = 0;
    return rt_agree(ctx, ok ? RT_OK : rt_error_set(ctx, "the window cannot be cleared"),
                    RT_AT_WINDOWS);
}

/* What hosts do before their devices wait for each other in a kernel: behind the agreement they do,
 * whatever the time. */
static int rt_before_meeting(rt_ctx *ctx, rt_where where, int64_t bytes)
{
    if (rt_words_anew(ctx))
        return RT_ERR;
    return rt_agree_of(ctx, rt_half_asked(ctx, rt_limit_ahead(ctx)), where, bytes);
}

/* The kernel was launched, or all ranks end, as the others' devices wait for it. */
static int rt_met(rt_ctx *ctx, int rc)
{
    if (rc) {
        fprintf(stderr, "%s: rank %d: %s\n", ctx->prog->name, ctx->config.at.rank, ctx->error);
        ctx->config.comm->stop();
    }
    return rc;
}

static int rt_gather_by_kernel(rt_ctx *ctx, const rt_gathered *gs, int n, const int64_t *at)
{
    enum { ALIGN = 16 }; /* in streams: gather.cl */
    const rt_place *p = &ctx->config.at;
    int64_t longest = 0, slot = rt_slot(p->ranks); /* that of rank 0 */
    for (int k = 0; k < n; k++)
        longest += (rt_bytes_of(&gs[k], 0) + ALIGN - 1) / ALIGN * ALIGN;
    for (int64_t done = 0; done < longest; done += slot) {
        int64_t most = rt_least(longest - done, slot);
        if (rt_before_meeting(ctx, RT_AT_ROWS, at[p->ranks]) ||
            rt_met(ctx, rt_gather_part(ctx, gs, n, rt_half_next(ctx), done, most)))
            return RT_ERR;
    }
    return RT_OK;
}

static int rt_gather_by_hosts(rt_ctx *ctx, const rt_gathered *gs, int n, const int64_t *at)
{
    const rt_place *p = &ctx->config.at;
    const char *all = rt_all_rows(ctx, gs, n, at);
    int rc = all ? RT_OK : RT_ERR;
    for (int r = 0; r < p->ranks; r++)
        for (int k = 0; k < n && rc == RT_OK; k++) {
            int64_t bytes = rt_bytes_of(&gs[k], r);
            if (r != p->rank)
                rc = rt_write(ctx, gs[k].mem, gs[k].at[r], bytes, all);
            all += bytes;
        }
    return rc;
}

/* This rank's own get to their places. */
static int rt_own_in_place(rt_ctx *ctx, rt_gathered *gs, int n)
{
    int rank = ctx->config.at.rank, rc = RT_OK;
    for (int k = 0; k < n && rc == RT_OK; k++) {
        rt_gathered *g = &gs[k];
        if (g->from != g->mem)
            rc = rt_copy_buffer(ctx, g->mem->buf, g->at[rank], g->from->buf, g->own,
                                rt_bytes_of(g, rank), g->mem->name);
        g->from = g->mem;
        g->own = g->at[rank];
    }
    return rc;
}

/* Those that wait, as one message. */
static int rt_gather_waiting(rt_ctx *ctx)
{
    rt_ranks_state *s = &ctx->ranks;
    int n = s->n_waiting, rank = ctx->config.at.rank;
    double began = rt_seconds();
    int64_t *at = rt_streams(&ctx->config, s->waiting, n);
    int64_t others = at[ctx->config.at.ranks] - (at[rank + 1] - at[rank]);
    int rc = rt_windows_open(ctx);
    bool by_kernel = rc == RT_OK && rt_gathers_by_kernel(ctx, s->waiting, n);
    s->n_waiting = 0;
    if (rc == RT_OK && !by_kernel)
        rc = rt_own_in_place(ctx, s->waiting, n);
    if (rc == RT_OK)
        rc = by_kernel       ? rt_gather_by_kernel(ctx, s->waiting, n, at)
             : s->windows.of ? rt_gather_by_windows(ctx, s->waiting, n, at)
                             : rt_gather_by_hosts(ctx, s->waiting, n, at);
    free(at);
    for (int k = 0; k < n; k++)
        free(s->waiting[k].at);
    return rt_exchange_done(ctx, RT_WHOLES, others, began, rc);
}

RT_API int rt_gather(rt_ctx *ctx, rt_mem *mem, const rt_placed *part, int64_t first, int64_t rows,
                     int64_t row_bytes, bool waits)
{
    rt_ranks_state *s = &ctx->ranks;
    int rank = ctx->config.at.rank;
    int64_t *at = first == RT_SHARE ? rt_rows_of_ranks(&ctx->config, rows, row_bytes)
                                    : rt_rows_told(ctx, first, rows, row_bytes);
    rt_gathered g = {.mem = mem, .from = mem, .at = at, .even = first == RT_SHARE};
    int rc = at ? RT_OK : RT_ERR;
    if (rc == RT_OK) {
        g.own = at[rank];
        if (part && part->at == g.own && part->bytes == rt_bytes_of(&g, rank)) {
            g.from = part->mem;
            g.own = 0;
        } else if (part) {
            rc = rt_copy(ctx, mem, part->at, part->mem, 0, part->bytes);
        }
    }
    if (rc) {
        while (s->n_waiting > 0)
            free(s->waiting[--s->n_waiting].at);
        free(at);
        return rc;
    }
    s->waiting[s->n_waiting++] = g;
    return waits && s->n_waiting < RT_TOGETHER ? RT_OK : rt_gather_waiting(ctx);
}

/* --- Rows beside ------------------------------------------------------------------------------ */

/* From the ranks beside this one, which have all of it: in a window what is given to the rank
 * before lies in front of its half, and what is given to the next one in the middle. */
static int rt_beside_by_windows(rt_ctx *ctx, rt_mem *mem, const rt_sides *s)
{
    const rt_rank_window *of = ctx->ranks.windows.of;
    int rank = ctx->config.at.rank, k = rt_half_next(ctx);
    int64_t half = k * (int64_t)RT_WINDOW_HALF, middle = half + RT_WINDOW_HALF / 2;
    rt_dev_buffer *own = of[rank].whole.buf;
    int rc = rt_copy_buffer(ctx, own, half, mem->buf, s->own_at, s->give_low, mem->name);
    if (rc == RT_OK)
        rc = rt_copy_buffer(ctx, own, middle, mem->buf, s->own_at + s->own - s->give_high,
                            s->give_high, mem->name);
    if (rt_agree(ctx, rt_half_filled(ctx, k, rc), RT_AT_SIDES))
        return RT_ERR;
    rc = rt_await_others(ctx, k);
    if (rc == RT_OK && s->low > 0)
        rc = rt_copy_buffer(ctx, mem->buf, s->low_at, of[rank - 1].whole.buf, middle, s->low,
                            mem->name);
    if (rc == RT_OK && s->high > 0)
        rc = rt_copy_buffer(ctx, mem->buf, s->high_at, of[rank + 1].whole.buf, half, s->high,
                            mem->name);
    return rc;
}

/* As rt_gathers_by_kernel. */
static bool rt_beside_kernel_can(const rt_ctx *ctx, const rt_sides *s, int64_t most)
{
    enum { BYTES = 1 << 18 };
    return ctx->ranks.windows.meet && most <= rt_slot(ctx->config.at.ranks) &&
           (s->row % 4 == 0 || most <= BYTES);
}

static int rt_beside_by_kernel(rt_ctx *ctx, rt_mem *mem, const rt_sides *s, int64_t most)
{
    if (rt_before_meeting(ctx, RT_AT_SIDES, most))
        return RT_ERR;
    const rt_meeting m = rt_meeting_at(ctx, rt_half_next(ctx));
    return rt_met(ctx, ctx->builtins->beside(ctx, &m, mem, s, most));
}

static int rt_beside_by_hosts(rt_ctx *ctx, rt_mem *mem, const rt_sides *s)
{
    char *buf = rt_host_memory(ctx, s->low + s->high + s->give_low + s->give_high);
    char *high = buf + s->low, *first = high + s->high, *last = first + s->give_low;
    int rc = buf ? RT_OK : RT_ERR;
    if (rc == RT_OK)
        rc = rt_read(ctx, mem, s->own_at, s->give_low, first);
    if (rc == RT_OK)
        rc = rt_read(ctx, mem, s->own_at + s->own - s->give_high, s->give_high, last);
    rc = rt_agree(ctx, rc, RT_AT_SIDES);
    if (rc == RT_OK) {
        const rt_message to[] = {{first, s->give_low}, {last, s->give_high}};
        const rt_message from[] = {{buf, s->low}, {high, s->high}};
        ctx->config.comm->beside(ctx->config.group, to, from);
        rc = rt_write(ctx, mem, s->low_at, s->low, buf);
    }
    if (rc == RT_OK)
        rc = rt_write(ctx, mem, s->high_at, s->high, high);
    return rc;
}

RT_API int rt_halo(rt_ctx *ctx, rt_mem *mem, int64_t rows, int64_t low, int64_t high,
                   int64_t row_bytes)
{
    const rt_config *c = &ctx->config;
    int64_t *at = rt_rows_of_ranks(c, rows, row_bytes), each = mf_share(rows, c->at.ranks);
    int64_t begin = at[c->at.rank], end = at[c->at.rank + 1], total = at[c->at.ranks];
    rt_sides s = {.own = end - begin, .own_at = low * row_bytes, .row = row_bytes};
    if (s.own > 0) { /* who has no rows wants none, and has none to give */
        s.low = rt_least(begin, low * row_bytes);
        s.high = rt_least(total - end, high * row_bytes);
        s.give_low = begin > 0 ? rt_least(s.own, high * row_bytes) : 0;
        s.give_high = end < total ? low * row_bytes : 0;
    }
    s.low_at = s.own_at - s.low;
    s.high_at = s.own_at + s.own;
    int64_t most = (low > high ? low : high) * row_bytes;
    double began = rt_seconds();
    int rc = rt_windows_open(ctx);
    if (rc == RT_OK && low <= each && high <= each) {
        rc = rt_beside_kernel_can(ctx, &s, most) ? rt_beside_by_kernel(ctx, mem, &s, most)
             : most <= RT_WINDOW_HALF / 2 && ctx->ranks.windows.of
                 ? rt_beside_by_windows(ctx, mem, &s)
                 : rt_beside_by_hosts(ctx, mem, &s);
    } else if (rc == RT_OK) { /* it is spread over several ranks */
        char *all = rt_all_rows(ctx, &(rt_gathered){mem, mem, at, s.own_at, true}, 1, at);
        rc = all ? rt_write(ctx, mem, s.low_at, s.low, all + begin - s.low) : RT_ERR;
        if (rc == RT_OK)
            rc = rt_write(ctx, mem, s.high_at, s.high, all + end);
    }
    free(at);
    return rt_exchange_done(ctx, RT_BESIDE, s.low + s.high, began, rc);
}
