/* Plans as data: sharing of kernels and sites. */
#include "plan/plan.h"

#include "ir/stops.h"

#include <string.h>

/* --- Sites and kernels ------------------------------------------------------------------------ */

int plan_site(Plan *p, Loc loc, const char *text)
{
    Out o = {0};
    stop_format(&o, text);
    const char *msg = out_keep(&o, p->arena);
    for (int i = 0; i < p->sites.n; i++) {
        const Site *s = &p->sites.at[i];
        if (s->loc.beg == loc.beg && s->loc.end == loc.end && strcmp(s->msg, msg) == 0)
            return i;
    }
    vec_push(p->arena, &p->sites, (Site){loc, msg});
    return p->sites.n - 1;
}

static bool name_taken(const Plan *p, const char *name)
{
    for (int i = 0; i < p->kernels.n; i++)
        if (strcmp(p->kernels.at[i]->name, name) == 0)
            return true;
    return false;
}

const char *const alloc_from_text[] = {
    [ALLOC_FRESH] = "fresh", [ALLOC_BOARD] = "board", [ALLOC_COUNTS] = "counts"};

/* Kernels that do the same are one if they come from the same place, too: people are told of it. */
static bool same_kernel(const Kernel *a, const Kernel *b)
{
    return kkey_same(a->key, b->key) && a->loc.beg == b->loc.beg && a->loc.end == b->loc.end &&
           strcmp(a->fun->what, b->fun->what) == 0;
}

Kernel *kernel_intern(Plan *p, Ctx *cx, Kernel k)
{
    ArenaMark m = arena_mark(cx->scratch);
    k.key = kir_key(cx->scratch, k.fun);
    for (int i = 0; i < p->kernels.n; i++)
        if (same_kernel(p->kernels.at[i], &k)) {
            arena_reset(cx->scratch, m);
            return p->kernels.at[i];
        }
    k.key.words = arena_memdup(cx->perm, k.key.words, sizeof *k.key.words * (size_t)k.key.n);
    arena_reset(cx->scratch, m);
    const char *name = k.name;
    for (int i = 2; name_taken(p, name); i++)
        name = arena_printf(cx->perm, "%s_%d", k.name, i);
    k.name = k.fun->name = name;
    k.id = p->kernels.n;
    Kernel *new = NEW(cx->perm, Kernel);
    *new = k;
    vec_push(cx->perm, &p->kernels, new);
    return new;
}

int plan_n_params(const Plan *p)
{
    return p->thresholds.n + p->size_params.n + p->user_params.n + p->choices.n;
}

const char *plan_param_name(const Plan *p, int id)
{
    int size = id - p->thresholds.n, user = size - p->size_params.n,
        choice = user - p->user_params.n;
    if (size < 0)
        return p->thresholds.at[id].name;
    if (user < 0)
        return p->size_params.at[size].name;
    return choice < 0 ? p->user_params.at[user] : p->choices.at[choice]->name;
}
