/* Several ranks: what generated code asks for, and how a failure of one becomes one of all.
 *
 * A rank that has failed does not go on to what the others will wait for. So whatever they do
 * together begins with each of them saying whether it has failed (rt_agree), and so does the end of
 * a call: a rank that fails says so there, the others where they are, and all fail with the message
 * of the first one. */
#include "runtime/core/internal.h"

#include <math.h>
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

RT_API bool rt_shares_out(rt_ctx *ctx, int param, int64_t work, double cost, int64_t gathered,
                          int64_t exchanges)
{
    int64_t ranks = rt_ranks(ctx), bar = rt_param(ctx, param);
    if (ranks == 1)
        return false;
    if (ctx->user_params[param] == 0 && ctx->user_sizes[RT_THRESHOLD] == 0)
        bar = ctx->ranks.crowded || mf_shares(cost, gathered, exchanges, ranks, ctx->ranks.adds_us,
                                              ctx->ranks.gathered_us)
                  ? work
                  : work + 1;
    return rt_compare(ctx, param, work, bar);
}

/* --- Agreeing --------------------------------------------------------------------------------- */

/* A byte of each rank; to free(). */
static unsigned char *rt_all_bytes(const rt_config *c, unsigned char mine)
{
    unsigned char *all = rt_grow(NULL, (size_t)c->at.ranks);
    c->comm->all(c->group, &mine, 1, all);
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
        snprintf(own, size, "%.*s", (int)size - 1, mine);
    c->comm->all(c->group, own ? own : all, (int64_t)size, all);
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

RT_API int rt_other_rank(const rt_config *c, uint64_t mine)
{
    int other = -1;
    if (!c->comm)
        return other;
    uint64_t *all = rt_grow(NULL, (size_t)c->at.ranks * sizeof *all);
    c->comm->all(c->group, &mine, sizeof mine, all);
    for (int r = c->at.ranks; r-- > 1;)
        if (all[r] != all[0])
            other = r;
    free(all);
    return other;
}

/* Bits of what each says: it has failed, by its time limit, with a message that is complete; then
 * where it is. */
enum { RT_FAILED = 1, RT_OVER = 2, RT_TOLD = 4, RT_WHERE = 8 };

/* Are all ranks at the same place? */
static bool rt_meet(const rt_config *c, const unsigned char *all)
{
    bool meet = true;
    for (int r = 1; r < c->at.ranks; r++)
        meet = meet && all[r] == all[0];
    return meet;
}

/* Some or all have failed, as all know now. */
static int rt_disagree(rt_ctx *ctx, int rc, const unsigned char *said)
{
    const rt_config *c = &ctx->config;
    rt_ranks_state *s = &ctx->ranks;
    int first = rt_first_with(c, said, RT_FAILED);
    bool over = first >= 0 && (said[first] & RT_OVER), told = first >= 0 && (said[first] & RT_TOLD);
    s->failed = true;
    s->windows.turn = 0; /* whoever waits for the others' words has copied what it was to copy */
    (void)rt_dev_finish(ctx->dev);
    if (first >= 0)
        rt_words_of(c, first, rc ? ctx->error : "", s->error, sizeof s->error);
    else
        snprintf(s->error, sizeof s->error, RT_DIFFER);
    ctx->limit.over |= over;
    if (rc == RT_OK) {
        rt_error_set(ctx, "%s", s->error);
        ctx->error_told = told;
    }
    return RT_ERR;
}

/* What each says where they meet: of one size wherever that is, as one may be elsewhere. */
typedef struct {
    rt_scalar told[RT_EXCHANGED];
    unsigned char where;
} rt_said;

RT_API int rt_agree_telling(rt_ctx *ctx, int rc, rt_where where, int n, const rt_scalar *mine,
                            rt_scalar *told)
{
    const rt_config *c = &ctx->config;
    if (rt_ranks(ctx) == 1 || ctx->ranks.failed)
        return rc;
    size_t ranks = (size_t)c->at.ranks;
    unsigned failed =
        rc ? RT_FAILED | (ctx->limit.over ? RT_OVER : 0) | (ctx->error_told ? RT_TOLD : 0) : 0;
    rt_said own = {.where = (unsigned char)(where * RT_WHERE + failed)};
    rt_said *all = rt_grow(NULL, ranks * (sizeof *all + 1));
    unsigned char *places = (unsigned char *)(all + ranks);
    if (n > 0)
        memcpy(own.told, mine, (size_t)n * sizeof *mine);
    c->comm->all(c->group, &own, sizeof own, all);
    for (size_t r = 0; r < ranks; r++) {
        places[r] = all[r].where;
        if (n > 0)
            memcpy(told + r * RT_EXCHANGED, all[r].told, sizeof own.told);
    }
    bool well = rt_first_with(c, places, RT_FAILED) < 0 && rt_meet(c, places);
    rc = well ? RT_OK : rt_disagree(ctx, rc, places);
    free(all);
    return rc;
}

RT_API int rt_agree(rt_ctx *ctx, int rc, rt_where where)
{
    return rt_agree_telling(ctx, rc, where, 0, NULL, NULL);
}

/* Of what decides which exchanges there are. */
static uint64_t rt_ranks_hash(const rt_ctx *ctx)
{
    const rt_program *prog = ctx->prog;
    uint64_t hash = prog->kernels_hash;
    for (int i = 0; i < prog->n_entries; i++)
        hash = rt_hash(hash ^ prog->entries[i].key, prog->entries[i].name);
    for (int i = 0; i < prog->n_params; i++)
        hash = (hash ^ (uint64_t)ctx->user_params[i]) * UINT64_C(0x100000001b3);
    for (int i = 0; i < RT_N_SIZES; i++)
        hash = (hash ^ (uint64_t)ctx->user_sizes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

RT_API bool rt_windows_wanted(int most)
{
    const char *user = getenv("MINIFUT_WINDOWS");
    return !user || !*user || atoi(user) >= most;
}

RT_API bool rt_windows_likely(const rt_ctx *ctx)
{
    const rt_place *p = &ctx->config.at;
    return rt_windows_wanted(1) && p->beside == p->ranks && ctx->device.among &&
           rt_dev_offers(ctx->dev);
}

RT_API int rt_ranks_open(rt_ctx *ctx)
{
    const rt_config *c = &ctx->config;
    if (!c->comm)
        return RT_OK;
    struct {
        double adds_us, gathered_us;
        int64_t memory;
    } mine = {.memory = ctx->device.memory}, *all;
    bool cpu = ctx->device.rank.cpu;
    mine.adds_us = cpu ? RT_CPU_ADDS_US * (double)ctx->facts[RT_COMPUTE_UNITS] : RT_GPU_ADDS_US;
    mine.gathered_us = !cpu && rt_windows_likely(ctx) ? RT_BESIDE_US : RT_TOLD_US;
    all = rt_grow(NULL, (size_t)c->at.ranks * sizeof *all);
    c->comm->all(c->group, &mine, sizeof mine, all);
    for (int r = 0; r < c->at.ranks; r++) {
        mine.adds_us = fmin(mine.adds_us, all[r].adds_us);
        mine.gathered_us = fmin(mine.gathered_us, all[r].gathered_us);
        if (all[r].memory < mine.memory)
            mine.memory = all[r].memory;
    }
    ctx->ranks.adds_us = mine.adds_us;
    ctx->ranks.gathered_us = mine.gathered_us;
    ctx->ranks.memory = mine.memory;
    free(all);
    int other = rt_other_rank(c, rt_ranks_hash(ctx));
    return other < 0 ? RT_OK
                     : rt_error_set(ctx,
                                    "rank %d has another program or other tuning parameters "
                                    "than rank 0",
                                    other);
}

RT_API bool rt_tell_shape(const rt_config *c, bool ok, rt_hvalue *v)
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
    c->comm->tell(c->group, &head, sizeof head);
    if (head.ok && c->at.rank > 0) {
        *v = (rt_hvalue){.prim = head.prim, .rank = head.rank};
        memcpy(v->shape, head.shape, sizeof head.shape);
    }
    return head.ok;
}

RT_API bool rt_tell_value(const rt_config *c, bool ok, rt_hvalue *v)
{
    char why[64];
    if (!c->comm || !rt_tell_shape(c, ok, v))
        return ok && !c->comm;
    rt_hvalue shape = *v;
    bool made = c->at.rank == 0 || rt_hvalue_make(v, shape.prim, shape.rank, shape.shape);
    int without = rt_together(c, made ? NULL : "out of memory", why, sizeof why);
    if (without >= 0) {
        if (c->at.rank == 0)
            fprintf(stderr, "rank %d: %s\n", without, why);
        if (made)
            rt_hvalue_free(v);
        return false;
    }
    c->comm->tell(c->group, v->data, rt_hvalue_bytes(v));
    return true;
}
