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
    double steps_us = ctx->device.rank.cpu ? 1000. * (double)ctx->facts[RT_COMPUTE_UNITS] : 2e6;
    if (ranks == 1)
        return false;
    if (bar == 0)
        bar = mf_shares(work, gathered, ranks, steps_us) ? work : work + 1;
    return rt_compare(ctx, param, work, bar);
}

/* --- Agreeing --------------------------------------------------------------------------------- */

/* The first rank of which this holds; -1: none. */
static int rt_first_failed(const rt_config *c, bool failed)
{
    unsigned char mine = failed, *all = rt_grow(NULL, (size_t)c->at.ranks);
    int first = -1;
    c->comm->all(&mine, 1, all);
    for (int r = c->at.ranks - 1; r >= 0; r--)
        if (all[r])
            first = r;
    free(all);
    return first;
}

RT_API bool rt_all_have(const rt_config *c, bool so)
{
    return c->comm ? rt_first_failed(c, !so) < 0 : so;
}

RT_API int rt_together(const rt_config *c, const char *wrong, char *text, size_t size)
{
    if (!c->comm)
        return wrong ? 0 : -1;
    int first = rt_first_failed(c, wrong != NULL);
    if (first < 0)
        return -1;
    char *mine = calloc(1, size), *all = rt_grow(NULL, (size_t)c->at.ranks * size);
    if (mine && wrong)
        snprintf(mine, size, "%s", wrong);
    c->comm->all(mine, (int64_t)size, all);
    memcpy(text, all + (size_t)first * size, size);
    free(mine);
    free(all);
    return first;
}

RT_API int rt_agree(rt_ctx *ctx, int rc)
{
    if (rt_ranks(ctx) == 1 || ctx->ranks.failed)
        return rc;
    int first = rt_together(&ctx->config, rc ? ctx->error : NULL, ctx->ranks.error,
                            sizeof ctx->ranks.error);
    if (first < 0)
        return rc;
    ctx->ranks.failed = true; /* the others know */
    if (rc == RT_OK)
        rt_error_set(ctx, "%s", ctx->ranks.error);
    return RT_ERR;
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

enum { RT_EXCHANGES = 8, RT_EXCHANGED = 16 }; /* kept; values of each at most */

RT_API int rt_exchange(rt_ctx *ctx, int n, const rt_scalar *mine, int64_t *which)
{
    rt_ranks_state *s = &ctx->ranks;
    size_t each = (size_t)rt_ranks(ctx) * RT_EXCHANGED;
    if (rt_agree(ctx, RT_OK))
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

RT_API int rt_gather(rt_ctx *ctx, rt_mem *mem, int64_t rows, int64_t row_bytes)
{
    const rt_config *c = &ctx->config;
    int64_t total = rows * row_bytes, each = mf_share(rows, c->at.ranks);
    int64_t *at = rt_grow(NULL, ((size_t)c->at.ranks + 1) * sizeof *at);
    for (int r = 0; r <= c->at.ranks; r++)
        at[r] = (r * each < rows ? r * each : rows) * row_bytes;
    int64_t begin = at[c->at.rank], end = at[c->at.rank + 1];
    char *all = malloc((size_t)total + 1);
    int rc = all ? RT_OK : rt_error_set(ctx, "out of memory: %" PRId64 " bytes", total);
    if (rc == RT_OK)
        rc = rt_read(ctx, mem, begin, end - begin, all + begin);
    rc = rt_agree(ctx, rc);
    if (rc == RT_OK)
        c->comm->blocks(all, at);
    if (rc == RT_OK)
        rc = rt_write(ctx, mem, 0, begin, all);
    if (rc == RT_OK)
        rc = rt_write(ctx, mem, end, total - end, all + end);
    free(all);
    free(at);
    return rc;
}
