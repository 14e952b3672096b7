/* What inspectors found. Before rows of unequal length are shared out, kernels find out how many
 * points and how long a longest row there are, and where the shares begin. That takes as long as a
 * sum of the rows, most of it waiting, and often the rows are those of the last run: a matrix that
 * is multiplied again. So what is found is kept beside what it was found of: numbers for the
 * content of blocks (rt_mem.content), which change whenever an array is another one, and numbers.
 *
 * Each inspector has a few places, of which the oldest is the next to be taken. A failure, also one
 * that is seen only later, makes what was found doubtful: all is forgotten. */
#include "runtime/core/internal.h"

#include <stdlib.h>
#include <string.h>

enum { RT_KEPT_PLACES = 4, RT_KEPT_WORDS = 32, RT_KEPT_BLOCKS = 2 };

struct rt_kept {
    int64_t words[RT_KEPT_WORDS];
    int n_words; /* 0: the place is free */
    int n_blocks;
    rt_mem *blocks[RT_KEPT_BLOCKS];
};

static void rt_kept_clear(rt_ctx *ctx, rt_kept *k)
{
    for (int i = 0; i < k->n_blocks; i++)
        rt_unref(ctx, &k->blocks[i]);
    *k = (rt_kept){.n_words = 0};
}

static void rt_forget(rt_ctx *ctx)
{
    for (int i = 0; ctx->keeps && i < ctx->prog->n_recalls * RT_KEPT_PLACES; i++)
        rt_kept_clear(ctx, &ctx->kept[i]);
    ctx->keeps = false;
}

RT_API void rt_kept_free(rt_ctx *ctx)
{
    rt_forget(ctx);
    free(ctx->kept);
    ctx->kept = NULL;
}

/* False: too many, or of a block that somebody else may change. */
static bool rt_kept_words(rt_kept *k, int n_of, rt_mem *const *of, int n, const int64_t *numbers)
{
    if (n_of + n > RT_KEPT_WORDS)
        return false;
    for (int i = 0; i < n_of; i++) {
        if (!of[i] || !of[i]->content)
            return false;
        k->words[k->n_words++] = of[i]->content;
    }
    for (int i = 0; i < n; i++)
        k->words[k->n_words++] = numbers[i];
    return true;
}

static bool rt_kept_same(const rt_kept *a, const rt_kept *b)
{
    return a->n_words == b->n_words &&
           memcmp(a->words, b->words, (size_t)a->n_words * sizeof *a->words) == 0;
}

RT_API bool rt_recall(rt_ctx *ctx, int site, int n_of, rt_mem *const *of, int n,
                      const int64_t *numbers, int n_found, rt_mem **const *found)
{
    rt_kept now = {.n_words = 0};
    if (n_found > RT_KEPT_BLOCKS || !rt_kept_words(&now, n_of, of, n, numbers))
        return false;
    if (!ctx->kept) {
        const char *user = getenv("MINIFUT_KEPT");
        size_t bytes = (size_t)ctx->prog->n_recalls * RT_KEPT_PLACES * sizeof *ctx->kept;
        ctx->kept = memset(rt_grow(NULL, bytes), 0, bytes);
        ctx->keeps_nothing = user && strcmp(user, "0") == 0;
    }
    if (ctx->keeps_nothing)
        return false;
    if (ctx->kept_in_doubt)
        rt_forget(ctx);
    ctx->kept_in_doubt = false;
    rt_kept *places = ctx->kept + (ptrdiff_t)site * RT_KEPT_PLACES,
            *last = places + RT_KEPT_PLACES - 1;
    for (rt_kept *k = places; k <= last; k++) {
        if (!rt_kept_same(k, &now))
            continue;
        for (int i = 0; i < n_found; i++)
            rt_set(ctx, found[i], k->blocks[i]);
        return true;
    }
    rt_kept_clear(ctx, last);
    memmove(places + 1, places, (RT_KEPT_PLACES - 1) * sizeof *places);
    for (int i = 0; i < n_found; i++) {
        now.blocks[now.n_blocks++] = rt_ref(*found[i]);
        now.blocks[i]->kept = true;
    }
    *places = now;
    ctx->keeps = true;
    return false;
}
