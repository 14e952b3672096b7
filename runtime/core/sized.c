/* Kernels built for the numbers of their launches. A loop of known length is unrolled, a division
 * by a known number a multiplication, a short array in registers: kernels with loops over sizes
 * take 0.7 to 0.95 of the time so (plan/steady.c says which kernels, and which of their arguments).
 * The size of the group belongs to it: the compiler then knows how many registers a work-item may
 * have (OptionPricing D1 on an H200: 431 us, 527 with sizes alone, 357).
 *
 * Both builds have one text; definitions in front of it make numbers of arguments, which the kernel
 * is given all the same (MF_SIZE in prelude.cl). The first launch builds the kernel for its numbers
 * at once, so that no time is lost, and other numbers get a kernel of their own, each of which
 * costs as much again. So where there are more than a few in one run, or many in all, the rest is
 * left to a kernel for any numbers. What users set anew, by other sizes of groups, is no change of
 * that kind: a tuner tries some, and wants to know what each is like alone. */
#include "runtime/core/internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { RT_MOST_SIZED = 8, RT_MOST_IN_RUN = 3 };

RT_API void rt_sized_open(rt_ctx *ctx)
{
    const char *user = getenv("MINIFUT_SIZED");
    bool wanted = user && *user ? strcmp(user, "1") == 0 : !ctx->device.costly_programs;
    ctx->sized = wanted && ctx->target->sized;
}

RT_API bool rt_is_sized(const rt_ctx *ctx, const rt_kernel *k)
{
    return ctx->sized && k->def->sized && !k->unsized && !k->numbers;
}

/* The number of a steady argument; the next one is found behind it. */
static int rt_next_steady(uint64_t *left)
{
    int i = __builtin_ctzll(*left);
    *left &= *left - 1;
    return i;
}

/* The size of groups in two dimensions, then the steady arguments. */
enum { RT_GROUP_NUMBERS = 2 };

static int64_t rt_group_number(int n_dims, const size_t *local, int d)
{
    return d < n_dims ? (int64_t)local[d] : 1;
}

/* Of local memory it is the bytes, which such a kernel declares itself. */
static int64_t rt_steady_number(const rt_arg *a)
{
    return a->kind == RT_ARG_LOCAL ? (int64_t)rt_local_size(a) : a->scalar.i64;
}

static bool rt_has_numbers(const rt_kernel *k, int n_dims, const size_t *local, const rt_arg *args)
{
    const int64_t *n = k->numbers;
    for (int d = 0; d < RT_GROUP_NUMBERS; d++)
        if (*n++ != rt_group_number(n_dims, local, d))
            return false;
    for (uint64_t left = k->def->steady; left;)
        if (*n++ != rt_steady_number(&args[rt_next_steady(&left)]))
            return false;
    return true;
}

/* 16L; the least number has no literal. */
static void rt_number_text(FILE *f, int64_t n)
{
    if (n == INT64_MIN)
        fprintf(f, "(%" PRId64 "L - 1)", n + 1);
    else
        fprintf(f, n < 0 ? "(%" PRId64 "L)" : "%" PRId64 "L", n);
}

static char *rt_definitions_of(const rt_kernel *k)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    const int64_t *n = k->numbers;
    if (!f)
        return NULL;
    fprintf(f, "#define MF_SIZED 1\n%s", k->declares ? "" : "#define MF_LOCAL_GIVEN\n");
    fprintf(f, "#define MF_GROUP %" PRId64 "\n#define MF_GROUP_1 %" PRId64 "\n", n[0], n[1]);
    n += RT_GROUP_NUMBERS;
    for (uint64_t left = k->def->steady; left;) {
        fprintf(f, "#define MF_SIZE_%d ", rt_next_steady(&left));
        rt_number_text(f, *n++);
        fprintf(f, "\n");
    }
    if (fclose(f) == 0)
        return text;
    free(text);
    return NULL;
}

static rt_kernel *rt_sized_new(rt_ctx *ctx, rt_kernel *k, int n_dims, const size_t *local,
                               const rt_arg *args)
{
    rt_kernel *own = rt_grow(NULL, sizeof *own);
    size_t count = RT_GROUP_NUMBERS + (size_t)__builtin_popcountll(k->def->steady);
    *own = (rt_kernel){.def = k->def, .id = k->id, .wide = k->wide, .sizes = ctx->sizes};
    int64_t *n = own->numbers = rt_grow(NULL, count * sizeof *n);
    for (int d = 0; d < RT_GROUP_NUMBERS; d++)
        *n++ = rt_group_number(n_dims, local, d);
    for (uint64_t left = k->def->steady; left;)
        *n++ = rt_steady_number(&args[rt_next_steady(&left)]);
    own->declares = !ctx->device.local_given;
    own->definitions = rt_definitions_of(own);
    own->next = k->sized;
    k->sized = own;
    k->in_run = k->sized_run == ctx->run ? k->in_run + 1 : 1;
    k->sized_run = ctx->run;
    return own;
}

/* Numbers that change while a program runs are not worth more; what there is stays. */
static bool rt_may_be_new(const rt_ctx *ctx, rt_kernel *k)
{
    int made = 0;
    for (const rt_kernel *own = k->sized; own; own = own->next)
        made += own->sizes == ctx->sizes;
    bool full = made >= RT_MOST_SIZED || (k->sized_run == ctx->run && k->in_run >= RT_MOST_IN_RUN);
    k->changing = full || (k->changing && k->sizes == ctx->sizes);
    k->sizes = ctx->sizes;
    return !k->changing;
}

RT_API rt_kernel *rt_sized(rt_ctx *ctx, rt_kernel *k, int n_dims, const size_t *local,
                           const rt_arg *args)
{
    if (!rt_is_sized(ctx, k) || n_dims > RT_GROUP_NUMBERS)
        return k;
    for (rt_kernel **at = &k->sized; *at; at = &(*at)->next) {
        rt_kernel *found = *at;
        if (!rt_has_numbers(found, n_dims, local, args))
            continue;
        *at = found->next;
        found->next = k->sized;
        return k->sized = found;
    }
    return rt_may_be_new(ctx, k) ? rt_sized_new(ctx, k, n_dims, local, args) : k;
}

RT_API void rt_sized_give_up(rt_ctx *ctx, rt_kernel *k)
{
    rt_debug(ctx, "Kernel %s is not built for its sizes: %s", k->def->name, ctx->error);
    k->unsized = true;
}
