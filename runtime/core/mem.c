/* Device memory: blocks, the free list, transfers. */
#include "runtime/core/internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- Small blocks --- */

static rt_page *rt_page_new(rt_ctx *ctx)
{
    rt_dev_buffer *buf;
    rt_dev_alloc(ctx->dev, RT_PAGE, ctx->live_bytes, &buf);
    if (!buf)
        return NULL;
    rt_page *p = rt_grow(NULL, sizeof *p);
    int64_t number = ctx->pages ? ctx->pages->whole.number - 1 : -1; /* no block has that */
    *p = (rt_page){
        .whole = {.refs = 1, .buf = buf, .number = number, .size = RT_PAGE, .name = "page"},
        .next = ctx->pages};
    ctx->pages = p;
    return p;
}

/* The oldest one with a free slot; NULL if there is no memory for a new one. */
static rt_page *rt_page_with_room(rt_ctx *ctx)
{
    rt_page *oldest = NULL;
    for (rt_page *p = ctx->pages; p; p = p->next)
        if (p->taken != (1u << RT_SLOTS) - 1)
            oldest = p;
    return oldest ? oldest : rt_page_new(ctx);
}

RT_API rt_dev_error rt_small_buffer(rt_ctx *ctx, rt_page **page, int *slot, rt_dev_buffer **out)
{
    *page = ctx->device.parts ? rt_page_with_room(ctx) : NULL;
    *slot = 0;
    while (*page && (*page)->taken >> *slot & 1)
        (*slot)++;
    if (*page &&
        rt_dev_part(ctx->dev, (*page)->whole.buf, *slot * RT_SLOT, RT_BLOCK_ROUND, out).status ==
            RT_DEV_OK) {
        (*page)->taken |= 1u << *slot;
        return (rt_dev_error){RT_DEV_OK, "", ""};
    }
    *page = NULL;
    return rt_dev_alloc(ctx->dev, RT_BLOCK_ROUND, ctx->live_bytes, out);
}

RT_API void rt_pages_free(rt_ctx *ctx)
{
    while (ctx->pages) {
        rt_page *p = ctx->pages;
        ctx->pages = p->next;
        rt_dev_free(ctx->dev, p->whole.buf);
        free(p);
    }
}

/* --- Blocks --- */

static void rt_block_release(rt_ctx *ctx, rt_mem *m)
{
    if (m->page)
        m->page->taken &= ~(1u << m->in_page);
    if (m->prev)
        m->prev->next = m->next;
    else
        ctx->blocks = m->next;
    if (m->next)
        m->next->prev = m->prev;
    rt_dev_free(ctx->dev, m->buf);
    free(m);
}

RT_API void rt_free_dead_blocks(rt_ctx *ctx)
{
    while (ctx->free_blocks) {
        rt_mem *m = ctx->free_blocks;
        ctx->free_blocks = m->next_free;
        rt_block_release(ctx, m);
    }
    ctx->free_bytes = 0;
}

RT_API void rt_free_all_blocks(rt_ctx *ctx)
{
    while (ctx->blocks)
        rt_block_release(ctx, ctx->blocks);
    ctx->free_blocks = NULL;
    ctx->free_bytes = ctx->live_bytes = 0;
}

/* Is dead block a better one than b (NULL: none) for `size` bytes under this name? The smallest, of
 * these the one that bore the name last: then arguments of launches in loops stay what they are. */
static bool rt_better_block(const rt_mem *a, const rt_mem *b, int64_t size, const char *name)
{
    if (a->size < size || a->size > (RT_WATCHED ? size : size + size / 4 + 4096))
        return false;
    return !b || a->size < b->size || (a->size == b->size && a->name == name);
}

/* Takes a dead block that is large enough and not much too large. */
static rt_mem *rt_take_dead_block(rt_ctx *ctx, int64_t size, const char *name)
{
    rt_mem **best = NULL;
    for (rt_mem **at = &ctx->free_blocks; *at; at = &(*at)->next_free) {
        if (rt_better_block(*at, best ? *best : NULL, size, name))
            best = at;
        if (best && (*best)->size == size && (*best)->name == name)
            break;
    }
    if (!best)
        return NULL;
    rt_mem *m = *best;
    *best = m->next_free;
    ctx->free_bytes -= m->size;
    ctx->n_reused++;
    return m;
}

/* The block of a buffer, among the context's. */
static rt_mem *rt_add_block(rt_ctx *ctx, rt_dev_buffer *buf, int64_t size)
{
    rt_mem *m = rt_grow(NULL, sizeof *m);
    *m = (rt_mem){.buf = buf, .number = ++ctx->n_allocs, .size = size, .next = ctx->blocks};
    if (m->next)
        m->next->prev = m;
    ctx->blocks = m;
    return m;
}

RT_API int64_t rt_memory_left(const rt_ctx *ctx)
{
    return ctx->device.memory > 0 ? ctx->device.memory - ctx->live_bytes : INT64_MAX;
}

/* A new block from the driver, or NULL and *err. */
static rt_mem *rt_new_block(rt_ctx *ctx, int64_t size, rt_dev_error *err)
{
    rt_dev_buffer *buf;
    rt_page *page = NULL;
    int slot = 0;
    if (ctx->config.memory > 0 && size > rt_memory_left(ctx)) {
        *err = (rt_dev_error){RT_DEV_REFUSED, "--memory", "more than is allowed"};
        return NULL;
    }
    *err = size == RT_BLOCK_ROUND && !RT_WATCHED
               ? rt_small_buffer(ctx, &page, &slot, &buf)
               : rt_dev_alloc(ctx->dev, size, ctx->live_bytes, &buf);
    if (!buf)
        return NULL;
    rt_mem *m = rt_add_block(ctx, buf, size);
    m->page = page;
    m->in_page = slot;
    return m;
}

RT_API int rt_adopt(rt_ctx *ctx, rt_mem **out, const void *handle, int64_t bytes)
{
    rt_dev_buffer *buf;
    int64_t size = bytes;
    rt_dev_error err = rt_dev_adopt(ctx->dev, handle, &buf, &size);
    if (!buf)
        return rt_error_set(ctx, "a buffer cannot be used (%s: %s)", err.call, err.name);
    if (size < bytes) {
        rt_dev_free(ctx->dev, buf);
        return rt_error_set(ctx, "a buffer of %" PRId64 " bytes cannot be an array of %" PRId64,
                            size, bytes);
    }
    rt_mem *m = rt_add_block(ctx, buf, size);
    m->refs = 1;
    m->foreign = true;
    m->name = "the caller's";
    ctx->live_bytes += size;
    *out = m;
    return RT_OK;
}

RT_API void rt_content_new(rt_ctx *ctx, rt_mem *m)
{
    if (m && m->content)
        m->content = ++ctx->contents;
}

RT_API int rt_alloc(rt_ctx *ctx, rt_mem **out, int64_t bytes, const char *name)
{
    rt_dev_error err = {RT_DEV_OK, "", ""};
    rt_unref(ctx, out);
    if (bytes < 0 || bytes > RT_MAX_BYTES)
        return rt_error_set(ctx, "array of %" PRId64 " bytes is too large (block %s)", bytes, name);
    /* Whole words, in which atomics change bytes (kernels/thread/hist.c). */
    int64_t round = RT_WATCHED ? (int64_t)sizeof(uint32_t) : RT_BLOCK_ROUND;
    int64_t some = bytes ? bytes : 1;
    int64_t size = (some / round + (some % round != 0)) * round;
    rt_mem *m = rt_take_dead_block(ctx, size, name);
    if (!m) {
        if (size + ctx->free_bytes > rt_memory_left(ctx)) {
            if (rt_steps_run(ctx))
                return RT_ERR;
            rt_free_dead_blocks(ctx);
        }
        m = rt_new_block(ctx, size, &err);
        if (!m && ctx->free_blocks) {
            if (rt_steps_run(ctx))
                return RT_ERR;
            rt_free_dead_blocks(ctx);
            rt_dev_finish(ctx->dev);
            m = rt_new_block(ctx, size, &err);
        }
    }
    ctx->out_of_memory = ctx->out_of_memory || !m;
    if (!m)
        return rt_error_set(ctx,
                            "out of device memory: block %s of %" PRId64 " bytes, beside %" PRId64
                            " bytes in use (%s: %s)",
                            name, bytes, ctx->live_bytes, err.call, err.name);
    m->refs = 1;
    m->name = name;
    m->kept = false;
    m->known = 0;
    m->rows = 0;
    m->content = ++ctx->contents;
    ctx->live_bytes += m->size;
    if (ctx->live_bytes + ctx->free_bytes > ctx->peak_bytes)
        ctx->peak_bytes = ctx->live_bytes + ctx->free_bytes;
    *out = m;
    return RT_OK;
}

RT_API int rt_alloc_at(rt_ctx *ctx, rt_mem **out, int64_t bytes, const char *name, int site)
{
    char why[sizeof ctx->error];
    if (rt_alloc(ctx, out, bytes < 0 ? 0 : bytes, name) == RT_OK)
        return RT_OK;
    if (ctx->error_told) /* what was launched before has failed */
        return RT_ERR;
    memcpy(why, ctx->error, sizeof why);
    return rt_fail_with(ctx, site, why);
}

/* Words of earlier launches tell theirs by a number of 31 bits, which comes again in the end. */
enum { RT_BOARD_FRESH = 1 << 30, RT_SHARED_LEAST = 1 << 16 };

/* *block has so many bytes, and is 0 if it is a new one, or asked to be. */
static int rt_shared(rt_ctx *ctx, rt_mem **block, int64_t bytes, bool clear, const char *name,
                     int site)
{
    static const int64_t none = 0;
    enum { WORD = sizeof none };
    bool grows = !*block || (*block)->size < bytes;
    int64_t size = bytes < RT_SHARED_LEAST ? RT_SHARED_LEAST : bytes;
    if (grows && rt_alloc_at(ctx, block, size, name, site))
        return RT_ERR;
    if ((grows || clear) && rt_fill(ctx, *block, 0, (*block)->size / WORD, WORD, &none)) {
        rt_unref(ctx, block);
        return RT_ERR;
    }
    return RT_OK;
}

RT_API int rt_counts(rt_ctx *ctx, rt_mem **out, int64_t bytes, int site)
{
    if (rt_shared(ctx, &ctx->counts, bytes, false, "counts", site))
        return RT_ERR;
    rt_set(ctx, out, ctx->counts);
    return RT_OK;
}

RT_API int rt_board(rt_ctx *ctx, rt_mem **out, int64_t bytes, int site)
{
    bool again = ctx->board_given == RT_BOARD_FRESH;
    if (rt_shared(ctx, &ctx->board, bytes, again, "board", site))
        return RT_ERR;
    ctx->board_given = again ? 1 : ctx->board_given + 1;
    ctx->waited = true;
    rt_set(ctx, out, ctx->board);
    return RT_OK;
}

RT_API rt_mem *rt_ref(rt_mem *m)
{
    if (m)
        m->refs++;
    return m;
}

RT_API void rt_unref(rt_ctx *ctx, rt_mem **m)
{
    rt_mem *b = *m;
    *m = NULL;
    if (!b || --b->refs > 0)
        return;
    ctx->live_bytes -= b->size;
    if (b->foreign) {
        rt_block_release(ctx, b);
        return;
    }
    ctx->free_bytes += b->size;
    b->next_free = ctx->free_blocks;
    ctx->free_blocks = b;
}

RT_API void rt_set(rt_ctx *ctx, rt_mem **dst, rt_mem *src)
{
    rt_ref(src);
    rt_unref(ctx, dst);
    *dst = src;
}

RT_API void rt_swap(rt_mem **a, rt_mem **b)
{
    rt_mem *m = *a;
    *a = *b;
    *b = m;
}

RT_API void rt_exchange_blocks(rt_mem *a, rt_mem *b)
{
    rt_mem x = *a, y = *b;
    *a = y;
    *b = x;
    a->refs = x.refs, b->refs = y.refs;
    a->name = x.name, b->name = y.name;
    a->next = x.next, b->next = y.next;
    a->prev = x.prev, b->prev = y.prev;
    a->next_free = x.next_free, b->next_free = y.next_free;
}

RT_API bool rt_sole(const rt_mem *m)
{
    return m && m->refs == 1;
}

/* --- Transfers --- */

/* Is [off, off + bytes) inside the block? A wrong range is a bug of the compiler: say so, do not
 * crash. */
static int rt_check_range(rt_ctx *ctx, const rt_mem *m, int64_t off, int64_t bytes)
{
    if (m && off >= 0 && bytes >= 0 && off <= m->size - bytes)
        return RT_OK;
    return rt_error_set(ctx, "bytes %" PRId64 " to %" PRId64 " of block %s, which has %" PRId64,
                        off, off + bytes, m ? m->name : "(none)", m ? m->size : 0);
}

/* rt_dev_check for a transfer of so many bytes that may have left an event behind. */
static int rt_transferred(rt_ctx *ctx, int transfer, int64_t bytes, rt_dev_error err,
                          rt_dev_event **event, const char *name)
{
    if (err.status == RT_DEV_OK)
        rt_work(ctx, ctx->n_kernels + transfer, (double)bytes, 0);
    else if (event)
        ctx->n_pending--;
    return rt_dev_check(ctx, err, name);
}

RT_API int rt_copy_buffer(rt_ctx *ctx, rt_dev_buffer *dst, int64_t dst_off, rt_dev_buffer *src,
                          int64_t src_off, int64_t bytes, const char *name)
{
    if (bytes == 0)
        return RT_OK;
    if (rt_steps_run(ctx))
        return RT_ERR;
    rt_dev_event **event = rt_profile_event(ctx, ctx->n_kernels + RT_PROF_COPY);
    rt_dev_error err = rt_dev_copy(ctx->dev, dst, dst_off, src, src_off, bytes, event);
    return rt_transferred(ctx, RT_PROF_COPY, 2 * bytes, err, event, name);
}

RT_API int rt_copy(rt_ctx *ctx, rt_mem *dst, int64_t dst_off, rt_mem *src, int64_t src_off,
                   int64_t bytes)
{
    if (bytes == 0 || (dst == src && dst_off == src_off))
        return RT_OK;
    if (rt_check_range(ctx, dst, dst_off, bytes) || rt_check_range(ctx, src, src_off, bytes))
        return RT_ERR;
    if (rt_noting(ctx))
        return rt_copy_by_kernel(ctx, dst, dst_off, src, src_off, bytes);
    return rt_copy_buffer(ctx, dst->buf, dst_off, src->buf, src_off, bytes, dst->name);
}

RT_API int rt_write(rt_ctx *ctx, rt_mem *dst, int64_t dst_off, int64_t bytes, const void *src)
{
    if (bytes == 0)
        return RT_OK;
    if (rt_check_range(ctx, dst, dst_off, bytes) || rt_steps_run(ctx))
        return RT_ERR;
    rt_dev_event **event = rt_profile_event(ctx, ctx->n_kernels + RT_PROF_WRITE);
    rt_dev_error err = rt_dev_write(ctx->dev, dst->buf, dst_off, bytes, src, event);
    return rt_transferred(ctx, RT_PROF_WRITE, bytes, err, event, dst->name);
}

RT_API int rt_read(rt_ctx *ctx, rt_mem *src, int64_t src_off, int64_t bytes, void *dst)
{
    if (bytes == 0)
        return rt_sync(ctx);
    ctx->steps.waits++;
    if (rt_check_range(ctx, src, src_off, bytes) || rt_steps_run(ctx) || rt_ask_failure(ctx))
        return RT_ERR;
    rt_dev_event **event = rt_profile_event(ctx, ctx->n_kernels + RT_PROF_READ);
    rt_dev_error err = rt_dev_read(ctx->dev, src->buf, src_off, bytes, dst, event);
    if (rt_transferred(ctx, RT_PROF_READ, bytes, err, event, src->name))
        return RT_ERR;
    return rt_answer_failure(ctx);
}

/* Fetches the window of so many bytes that byte `at` of the block or page begins, unless it was
 * fetched. The first page says whether something failed, too. */
static int rt_fetch_window(rt_ctx *ctx, rt_mem *src, int64_t at, int64_t bytes)
{
    rt_window *w = &ctx->window;
    int64_t changes = rt_dev_changes(ctx->dev);
    bool tells = ctx->failure_page && src == &ctx->failure_page->whole;
    if (w->block == src->number && w->at == at && w->changes == changes)
        return RT_OK;
    w->block = 0;
    ctx->steps.waits++;
    if (!tells && rt_ask_failure(ctx))
        return RT_ERR;
    rt_dev_event **event = rt_profile_event(ctx, ctx->n_kernels + RT_PROF_READ);
    rt_dev_error err = rt_dev_fetch(ctx->dev, src->buf, at, bytes, RT_FETCH_WINDOW, event);
    if (rt_transferred(ctx, RT_PROF_READ, bytes, err, event, src->name))
        return RT_ERR;
    if (tells) {
        ctx->asked = ctx->unchecked;
        ctx->answer_at = RT_FETCH_WINDOW;
    }
    if (rt_answer_failure(ctx))
        return RT_ERR;
    *w = (rt_window){src->number, at, changes};
    return RT_OK;
}

/* A window costs no more than a scalar. */
static int rt_read_window(rt_ctx *ctx, rt_mem *src, int64_t src_off, int size, void *dst)
{
    if (rt_check_range(ctx, src, src_off, size) || rt_steps_run(ctx))
        return RT_ERR;
    rt_mem *from = src->page ? &src->page->whole : src;
    int64_t in = src->page ? src_off + src->in_page * RT_SLOT : src_off % RT_BLOCK_ROUND;
    /* Buffers of others may end within a window. */
    if (!src->page && (in + size > RT_BLOCK_ROUND || src_off - in > src->size - RT_BLOCK_ROUND))
        return rt_read(ctx, src, src_off, size, dst);
    if (rt_fetch_window(ctx, from, src->page ? 0 : src_off - in,
                        src->page ? RT_PAGE : RT_BLOCK_ROUND))
        return RT_ERR;
    return rt_dev_check(ctx, rt_dev_fetched(ctx->dev, RT_FETCH_WINDOW + in, size, dst), src->name);
}

RT_API int rt_read_scalar(rt_ctx *ctx, rt_mem *src, int64_t src_off, int size, void *dst)
{
    bool keeps = src && src->kept && src_off == 0 && size <= (int)sizeof src->first;
    /* Where something may have failed that nobody has asked for, it is asked for first. */
    if (keeps && src->known == size && !ctx->unchecked && ctx->steps.n == 0) {
        memcpy(dst, src->first, (size_t)size);
        return RT_OK;
    }
    if (rt_read_window(ctx, src, src_off, size, dst))
        return RT_ERR;
    if (keeps) {
        memcpy(src->first, dst, (size_t)size);
        src->known = size;
    }
    return RT_OK;
}

/* A fill copies its pattern at once, so unlike a write it need not wait for the queue; on GPUs a
 * kernel begins sooner than the driver's fill (builtin.c). */
RT_API int rt_write_scalar(rt_ctx *ctx, rt_mem *dst, int64_t dst_off, int size, const void *src)
{
    if (rt_check_range(ctx, dst, dst_off, size))
        return RT_ERR;
    bool by_kernel = rt_by_kernel(ctx, size) || dst_off > RT_DEV_FILL_END - size;
    if (by_kernel && dst_off % size == 0)
        return rt_fill(ctx, dst, dst_off / size, 1, size, src);
    if (rt_steps_run(ctx))
        return RT_ERR;
    rt_dev_event **event = rt_profile_event(ctx, ctx->n_kernels + RT_PROF_WRITE);
    rt_dev_error err = rt_dev_fill(ctx->dev, dst->buf, dst_off, size, src, event);
    return rt_transferred(ctx, RT_PROF_WRITE, size, err, event, dst->name);
}
