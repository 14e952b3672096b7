/* Values that leave the program: to rank 0, which writes them; of an array in parts (parted.c) a
 * piece after the other, so that nobody needs memory for all of it. */
#include "runtime/values/boundary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void rt_sink_take(rt_sink *s, const rt_hvalue *v, int64_t from, int64_t n, const void *elems)
{
    if (!s->wrong && !s->how(s->f, v, from, n, elems))
        s->wrong = errno ? errno : EIO;
}

/* The rows of rank r, to rank 0: each piece, and a byte that says whether it is one. */
static int rt_rows_leave(rt_ctx *ctx, int r, const int64_t *at, rt_mem *mem, const rt_hvalue *v,
                         rt_sink *sink, char *piece, int rc)
{
    const rt_config *c = &ctx->config;
    int64_t size = rt_prim_size(v->prim), most = RT_MOVED / size * size;
    for (int64_t from = at[r]; from < at[r + 1]; from += most) {
        int64_t left = at[r + 1] - from, bytes = left < most ? left : most;
        if (c->at.rank == r) {
            if (rc == RT_OK)
                rc = rt_read(ctx, mem, from - at[r], bytes, piece);
            piece[bytes] = rc == RT_OK;
        }
        if (r > 0 && (c->at.rank == 0 || c->at.rank == r))
            c->comm->give(r, 0, piece, bytes + 1);
        if (c->at.rank > 0)
            continue;
        if (!piece[bytes])
            rc = RT_ERR;
        if (rc == RT_OK)
            rt_sink_take(sink, v, from / size, bytes / size, piece);
    }
    return rc;
}

static int rt_parts_leave(rt_ctx *ctx, const rt_value *v, const rt_hvalue *shape, rt_sink *sink,
                          int rc)
{
    const rt_config *c = &ctx->config;
    char *piece = rt_host_memory(ctx, RT_MOVED + 1);
    if (rt_agree(ctx, rc || !piece || rt_ask_waited(ctx), RT_AT_ROWS))
        return RT_ERR;
    int64_t *at = rt_rows_of_ranks(c, v->shape[0], rt_row_bytes(v));
    rc = RT_OK;
    for (int r = 0; r < c->at.ranks; r++)
        rc = rt_rows_leave(ctx, r, at, v->mem, shape, sink, piece, rc);
    free(at);
    return rt_agree(ctx, rc, RT_AT_ROWS);
}

RT_API int rt_leave(rt_ctx *ctx, int rc, const rt_value *v, rt_sink *sink)
{
    rt_hvalue h = {.prim = v->prim, .rank = v->rank};
    memcpy(h.shape, v->shape, sizeof h.shape);
    if (v->rank > 0 && v->mem->rows > 0)
        return rt_parts_leave(ctx, v, &h, sink, rc);
    if (rc != RT_OK || ctx->config.at.rank > 0)
        return rc;
    if (rt_download(ctx, v, &h))
        return RT_ERR;
    rt_sink_take(sink, &h, 0, rt_hvalue_count(&h), h.data);
    rt_hvalue_free(&h);
    return RT_OK;
}
