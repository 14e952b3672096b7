/* Arrays of which each rank has its rows: they become whole, and the whole becomes parts.
 *
 * That an array is in parts is said of its block (rt_mem.rows): whoever has a reference sees it.
 * All ranks do what is here together, as they come to it in the same order. */
#include "runtime/values/boundary.h"

#include <stdlib.h>

RT_API void rt_parted(rt_mem *mem, int64_t rows, bool shared)
{
    mem->rows = shared ? rows : 0;
}

RT_API int64_t rt_row_bytes(const rt_value *v)
{
    return rt_shape_bytes(v->prim, v->rank - 1, v->shape + 1);
}

/* A block of this rank's rows, of all of them, or the other way round, takes the place of mem's. */
static int rt_reparted(rt_ctx *ctx, rt_mem *mem, int64_t rows, int64_t row_bytes, const int64_t *at)
{
    const rt_place *p = &ctx->config.at;
    int64_t begin = at[p->rank], own = at[p->rank + 1] - begin;
    bool shared = mem->rows == 0;
    rt_mem *to = NULL;
    int rc = rt_steps_run(ctx) || rt_alloc(ctx, &to, shared ? own : at[p->ranks], mem->name);
    if (rc == RT_OK)
        rc = rt_copy(ctx, to, shared ? 0 : begin, mem, shared ? begin : 0, own);
    rc = rt_agree(ctx, rc, RT_AT_ROWS);
    if (rc == RT_OK && !shared)
        rc = rt_agree(ctx, rt_gather(ctx, to, NULL, RT_SHARE, rows, row_bytes, false), RT_AT_ROWS);
    if (rc == RT_OK) {
        rt_exchange_blocks(mem, to);
        mem->rows = shared ? rows : 0;
    }
    rt_unref(ctx, &to);
    return rc;
}

RT_API int rt_own_rows(rt_ctx *ctx, rt_mem *mem, int64_t rows, int64_t row_bytes, bool shared)
{
    if (rt_ranks(ctx) == 1 || rows == 0 || (mem->rows > 0) == shared)
        return RT_OK;
    int64_t *at = rt_rows_of_ranks(&ctx->config, rows, row_bytes);
    double start = rt_seconds();
    int rc = rt_reparted(ctx, mem, rows, row_bytes, at);
    ctx->build_seconds += rt_seconds() - start; /* what a call is given is not its work */
    free(at);
    return rc;
}

RT_API int rt_whole(rt_ctx *ctx, const rt_value *v)
{
    return v->rank > 0 && v->mem->rows > 0
               ? rt_own_rows(ctx, v->mem, v->shape[0], rt_row_bytes(v), false)
               : RT_OK;
}
