/* Several ranks: what generated code asks for, and how a failure of one becomes one of all.
 *
 * A rank that has failed does not go on to what the others will wait for. So whatever they do
 * together begins with each of them saying whether it has failed (rt_agree), and so does the end of
 * a call: a rank that fails says so there, the others where they are, and all fail with the message
 * of the first one. */
#include "runtime/core/internal.h"

#include <stdlib.h>
#include <string.h>

RT_API int64_t rt_my_rank(const rt_ctx *ctx)
{
    return ctx->config.at.rank;
}

RT_API int64_t rt_ranks(const rt_ctx *ctx)
{
    return ctx->config.comm ? ctx->config.at.ranks : 1;
}

RT_API bool rt_shares_out(rt_ctx *ctx, int param, int64_t work, int64_t gathered)
{
    int64_t ranks = rt_ranks(ctx), bar = rt_param(ctx, param);
    if (ranks == 1)
        return false;
    if (ctx->user_params[param] == 0 && ctx->user_sizes[RT_THRESHOLD] == 0)
        bar = mf_shares(work, gathered, ranks, ctx->ranks.steps_us) ? work : work + 1;
    return rt_compare(ctx, param, work, bar);
}

/* --- Agreeing --------------------------------------------------------------------------------- */

/* A byte of each rank; to free(). */
static unsigned char *rt_all_bytes(const rt_config *c, unsigned char mine)
{
    unsigned char *all = rt_grow(NULL, (size_t)c->at.ranks);
    c->comm->all(&mine, 1, all);
    return all;
}

/* The first rank with a byte that has one of the bits; -1: none. */
static int rt_first_with(const rt_config *c, const unsigned char *all, unsigned bits)
{
    for (int r = 0; r < c->at.ranks; r++)
        if (all[r] & bits)
            return r;
    return -1;
}

RT_API bool rt_alike(const rt_config *c, bool so)
{
    if (!c->comm)
        return true;
    unsigned char *all = rt_all_bytes(c, so ? 1 : 2);
    bool alike = rt_first_with(c, all, so ? 2 : 1) < 0;
    free(all);
    return alike;
}

RT_API bool rt_all_have(const rt_config *c, bool so)
{
    if (!c->comm)
        return so;
    unsigned char *all = rt_all_bytes(c, !so);
    bool have = rt_first_with(c, all, 1) < 0;
    free(all);
    return have;
}

/* What rank `of` says, as its own to all. */
static void rt_words_of(const rt_config *c, int of, const char *mine, char *text, size_t size)
{
    char *own = calloc(1, size), *all = rt_grow(NULL, (size_t)c->at.ranks * size);
    if (own)
        snprintf(own, size, "%s", mine);
    c->comm->all(own ? own : all, (int64_t)size, all);
    memcpy(text, all + (size_t)of * size, size);
    free(own);
    free(all);
}

RT_API int rt_together(const rt_config *c, const char *wrong, char *text, size_t size)
{
    if (!c->comm)
        return wrong ? 0 : -1;
    unsigned char *all = rt_all_bytes(c, wrong != NULL);
    int first = rt_first_with(c, all, 1);
    free(all);
    if (first >= 0)
        rt_words_of(c, first, wrong ? wrong : "", text, size);
    return first;
}

/* Bits of what each says: it has failed, by its time limit; then where it is. */
enum { RT_FAILED = 1, RT_OVER = 2, RT_WHERE = 4 };

/* Are all ranks at the same place? */
static bool rt_meet(const rt_config *c, const unsigned char *all)
{
    bool meet = true;
    for (int r = 1; r < c->at.ranks; r++)
        meet = meet && all[r] == all[0];
    return meet;
}

RT_API int rt_agree(rt_ctx *ctx, int rc, rt_where where)
{
    const rt_config *c = &ctx->config;
    rt_ranks_state *s = &ctx->ranks;
    if (rt_ranks(ctx) == 1 || s->failed)
        return rc;
    unsigned failed = rc ? RT_FAILED | (ctx->limit.over ? RT_OVER : 0) : 0;
    unsigned char *all = rt_all_bytes(c, (unsigned char)(where * RT_WHERE + failed));
    int first = rt_first_with(c, all, RT_FAILED);
    bool meet = rt_meet(c, all), over = first >= 0 && (all[first] & RT_OVER);
    free(all);
    if (first < 0 && meet)
        return RT_OK;
    s->failed = true; /* all know */
    if (first >= 0)
        rt_words_of(c, first, rc ? ctx->error : "", s->error, sizeof s->error);
    else
        snprintf(s->error, sizeof s->error,
                 "the ranks found different results of the same computation");
    ctx->limit.over |= over;
    if (rc == RT_OK)
        rt_error_set(ctx, "%s", s->error);
    return RT_ERR;
}

RT_API int rt_ranks_open(rt_ctx *ctx)
{
    const rt_config *c = &ctx->config;
    const rt_program *prog = ctx->prog;
    struct {
        double steps_us;
        uint64_t hash;
    } mine = {.hash = prog->kernels_hash}, *all;
    if (!c->comm)
        return RT_OK;
    mine.steps_us = ctx->device.rank.cpu ? RT_CPU_STEPS_US * (double)ctx->facts[RT_COMPUTE_UNITS]
                                         : RT_GPU_STEPS_US;
    for (int i = 0; i < prog->n_params; i++)
        mine.hash = (mine.hash ^ (uint64_t)ctx->user_params[i]) * UINT64_C(0x100000001b3);
    for (int i = 0; i < RT_N_SIZES; i++)
        mine.hash = (mine.hash ^ (uint64_t)ctx->user_sizes[i]) * UINT64_C(0x100000001b3);
    all = rt_grow(NULL, (size_t)c->at.ranks * sizeof *all);
    c->comm->all(&mine, sizeof mine, all);
    ctx->ranks.steps_us = mine.steps_us;
    int other = -1;
    for (int r = 0; r < c->at.ranks; r++) {
        if (all[r].steps_us < ctx->ranks.steps_us)
            ctx->ranks.steps_us = all[r].steps_us;
        if (all[r].hash != all[0].hash)
            other = r;
    }
    free(all);
    return other < 0 ? RT_OK
                     : rt_error_set(ctx,
                                    "rank %d has another program or other tuning parameters "
                                    "than rank 0",
                                    other);
}

RT_API bool rt_tell_value(const rt_config *c, bool ok, rt_hvalue *v)
{
    struct {
        bool ok;
        rt_prim prim;
        int rank;
        int64_t shape[RT_MAX_RANK];
    } head = {0};
    if (!c->comm)
        return ok;
    if (c->at.rank == 0 && ok) {
        head.ok = true;
        head.prim = v->prim;
        head.rank = v->rank;
        memcpy(head.shape, v->shape, sizeof head.shape);
    }
    c->comm->tell(&head, sizeof head);
    char why[64];
    bool made = head.ok && (c->at.rank == 0 || rt_hvalue_make(v, head.prim, head.rank, head.shape));
    if (!head.ok || rt_together(c, made ? NULL : "out of memory", why, sizeof why) >= 0)
        return false;
    c->comm->tell(v->data, rt_hvalue_bytes(v));
    return true;
}

/* --- Exchanges -------------------------------------------------------------------------------- */

enum { RT_EXCHANGES = 8 }; /* that are kept */

RT_API int rt_exchange(rt_ctx *ctx, int n, const rt_scalar *mine, int64_t *which)
{
    rt_ranks_state *s = &ctx->ranks;
    size_t each = (size_t)rt_ranks(ctx) * RT_EXCHANGED;
    if (rt_agree(ctx, RT_OK, RT_AT_EXCHANGE))
        return RT_ERR;
    if (!s->told)
        s->told = rt_grow(NULL, RT_EXCHANGES * each * sizeof *s->told);
    rt_scalar own[RT_EXCHANGED] = {0};
    memcpy(own, mine, (size_t)n * sizeof *own);
    *which = s->exchanges++ % RT_EXCHANGES;
    ctx->config.comm->all(own, sizeof own, s->told + (size_t)*which * each);
    return RT_OK;
}

RT_API const rt_scalar *rt_peer(const rt_ctx *ctx, int64_t which, int64_t k, int64_t rank)
{
    return &ctx->ranks.told[(which * rt_ranks(ctx) + rank) * RT_EXCHANGED + k];
}

/* Where the rows of ranks begin, in bytes; to free(). */
static int64_t *rt_rows_of_ranks(const rt_config *c, int64_t rows, int64_t row_bytes)
{
    int64_t each = mf_share(rows, c->at.ranks);
    int64_t *at = rt_grow(NULL, ((size_t)c->at.ranks + 1) * sizeof *at);
    for (int r = 0; r <= c->at.ranks; r++)
        at[r] = (r * each < rows ? r * each : rows) * row_bytes;
    return at;
}

/* Host memory that the next such call may take again; NULL and a message if there is none. */
static char *rt_host_memory(rt_ctx *ctx, int64_t bytes)
{
    rt_ranks_state *s = &ctx->ranks;
    if (bytes < s->host_bytes)
        return s->host;
    free(s->host);
    s->host_bytes = 0;
    s->host = malloc((size_t)bytes + 1);
    if (s->host)
        s->host_bytes = bytes + 1;
    else
        rt_error_set(ctx, "out of memory: %" PRId64 " bytes", bytes);
    return s->host;
}

/* All rows in host memory; those of this rank come from byte `from` of mem. NULL on failure. */
static char *rt_all_rows(rt_ctx *ctx, rt_mem *mem, int64_t from, const int64_t *at)
{
    const rt_config *c = &ctx->config;
    int64_t begin = at[c->at.rank], end = at[c->at.rank + 1], total = at[c->at.ranks];
    char *all = rt_host_memory(ctx, total);
    int rc = all ? rt_read(ctx, mem, from, end - begin, all + begin) : RT_ERR;
    if (rt_agree(ctx, rc, RT_AT_ROWS))
        return NULL;
    c->comm->blocks(all, at);
    return all;
}

/* The same, of rows of which each rank knows where its own begin; NULL on failure. */
static int64_t *rt_rows_told(rt_ctx *ctx, int64_t first, int64_t rows, int64_t row_bytes)
{
    const rt_config *c = &ctx->config;
    if (rt_agree(ctx, RT_OK, RT_AT_ROWS))
        return NULL;
    int64_t *at = rt_grow(NULL, ((size_t)c->at.ranks + 1) * sizeof *at), begin = first * row_bytes;
    c->comm->all(&begin, sizeof begin, at);
    at[c->at.ranks] = rows * row_bytes;
    return at;
}

RT_API int rt_gather(rt_ctx *ctx, rt_mem *mem, int64_t first, int64_t rows, int64_t row_bytes)
{
    const rt_config *c = &ctx->config;
    int64_t *at = first == RT_SHARE ? rt_rows_of_ranks(c, rows, row_bytes)
                                    : rt_rows_told(ctx, first, rows, row_bytes);
    if (!at)
        return RT_ERR;
    int64_t begin = at[c->at.rank], end = at[c->at.rank + 1], total = at[c->at.ranks];
    char *all = rt_all_rows(ctx, mem, begin, at);
    int rc = all ? rt_write(ctx, mem, 0, begin, all) : RT_ERR;
    if (rc == RT_OK)
        rc = rt_write(ctx, mem, end, total - end, all + end);
    free(at);
    return rc;
}

/* A block of a rank's own rows and what lies beside them, in bytes, as far as there are such rows:
 * what it wants, and what it gives. */
typedef struct {
    int64_t low, high, own, low_at, own_at, high_at;
    int64_t give_low, give_high;
} rt_sides;

/* From the ranks beside this one, which have all of it. */
static int rt_from_beside(rt_ctx *ctx, rt_mem *mem, const rt_sides *s)
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
        ctx->config.comm->beside(to, from);
        rc = rt_write(ctx, mem, s->low_at, s->low, buf);
    }
    if (rc == RT_OK)
        rc = rt_write(ctx, mem, s->high_at, s->high, high);
    return rc;
}

static int64_t rt_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

RT_API int rt_halo(rt_ctx *ctx, rt_mem *mem, int64_t rows, int64_t low, int64_t high,
                   int64_t row_bytes)
{
    const rt_config *c = &ctx->config;
    int64_t *at = rt_rows_of_ranks(c, rows, row_bytes), each = mf_share(rows, c->at.ranks);
    int64_t begin = at[c->at.rank], end = at[c->at.rank + 1], total = at[c->at.ranks];
    rt_sides s = {.own = end - begin, .own_at = low * row_bytes};
    if (s.own > 0) { /* who has no rows wants none, and has none to give */
        s.low = rt_least(begin, low * row_bytes);
        s.high = rt_least(total - end, high * row_bytes);
        s.give_low = begin > 0 ? rt_least(s.own, high * row_bytes) : 0;
        s.give_high = end < total ? low * row_bytes : 0;
    }
    s.low_at = s.own_at - s.low;
    s.high_at = s.own_at + s.own;
    int rc;
    if (low <= each && high <= each) {
        rc = rt_from_beside(ctx, mem, &s);
    } else { /* it is spread over several ranks */
        char *all = rt_all_rows(ctx, mem, s.own_at, at);
        rc = all ? rt_write(ctx, mem, s.low_at, s.low, all + begin - s.low) : RT_ERR;
        if (rc == RT_OK)
            rc = rt_write(ctx, mem, s.high_at, s.high, all + end);
    }
    free(at);
    return rc;
}
