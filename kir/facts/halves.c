/* Exchanges: three statements in a row, of two variables that nothing else changes. */
#include "kir/facts/halves.h"

#include "kir/walk.h"

static bool is_let_of(const KStm *s, const KVar *v)
{
    return s->x[0] && s->x[0]->kind == KE_VAR && s->x[0]->var == v;
}

/* The exchange that ends with statement i, if there is one. */
static bool find_swap(const KBlock *b, int i, KSwap *s)
{
    if (i < 2 || b->at[i]->kind != KST_SET || b->at[i - 1]->kind != KST_SET ||
        b->at[i - 2]->kind != KST_LET)
        return false;
    *s = (KSwap){b->at[i - 1]->var, b->at[i]->var, b->at[i]};
    return is_let_of(b->at[i - 2], s->v) && is_let_of(b->at[i - 1], s->w) &&
           is_let_of(b->at[i], b->at[i - 2]->var);
}

static void find_swaps(Arena *a, KHalves *h, const KBlock *b)
{
    for (int i = 0; i < b->n; i++) {
        KSwap s;
        if (find_swap(b, i, &s))
            vec_push(a, &h->swaps, s);
        for (int k = 0; k < 2; k++)
            find_swaps(a, h, &b->at[i]->body[k]);
    }
}

static bool same_pair(const KSwap *s, const KSwap *t)
{
    return (s->v == t->v && s->w == t->w) || (s->v == t->w && s->w == t->v);
}

/* Are the exchanges of the two all that changes them? */
static bool only_swapped(const KHalves *h, const KInfo *info, const KSwap *s)
{
    int n = 0;
    for (int i = 0; i < h->swaps.n; i++)
        n += same_pair(s, &h->swaps.at[i]);
    return kinfo_get(info, s->v).sets == n && kinfo_get(info, s->w).sets == n;
}

KHalves khalves_of(Arena *a, const KBlock *b)
{
    KHalves all = {0}, h = {.other = ptrmap_new(a)};
    const KInfo *info = kinfo_of(a, b);
    find_swaps(a, &all, b);
    for (int i = 0; i < all.swaps.n; i++) {
        KSwap s = all.swaps.at[i];
        if (!only_swapped(&all, info, &s))
            continue;
        vec_push(a, &h.swaps, s);
        ptrmap_put(h.other, s.v, kx_var(a, s.w));
        ptrmap_put(h.other, s.w, kx_var(a, s.v));
    }
    return h;
}

bool khalves_apart(const KHalves *h, const KExp *x, const KExp *y)
{
    for (int i = 0; i < h->swaps.n; i++) {
        const KSwap *s = &h->swaps.at[i];
        bool xv = kexp_uses(x, s->v), xw = kexp_uses(x, s->w);
        if (xv != xw && xv == kexp_uses(y, s->w) && xw == kexp_uses(y, s->v))
            return true;
    }
    return false;
}
