/* Maps keyed by expressions. */
#include "exp/expmap.h"

typedef struct Slot Slot;
struct Slot {
    const KExp *key;
    const void *value;
    Slot *next;
};

enum { BUCKETS = 1024 };
struct ExpMap {
    Arena *arena;
    Slot *at[BUCKETS];
};

ExpMap *expmap_new(Arena *a)
{
    ExpMap *m = NEW(a, ExpMap);
    m->arena = a;
    return m;
}

static uint64_t mix(uint64_t h, uint64_t x)
{
    return (h ^ x) * 0x9e3779b97f4a7c15u >> 7 ^ h << 13;
}

static uint64_t hash(const KExp *x)
{
    uint64_t h = mix(x->kind, (uint64_t)x->type.elem * 16 + (uint64_t)x->type.lanes);
    if (x->kind == KE_CONST)
        h = mix(h, (uint64_t)x->c.i);
    h = mix(h, (uintptr_t)x->var + (uintptr_t)x->host);
    h = mix(h, (uint64_t)x->op * 64 + (uint64_t)x->id * 4 + (uint64_t)x->dim);
    for (int i = 0; i < x->n; i++)
        h = mix(h, hash(x->x[i]));
    return h;
}

static Slot **find(const ExpMap *m, const KExp *key)
{
    Slot **e = (Slot **)&m->at[hash(key) % BUCKETS];
    while (*e && !kx_same((*e)->key, key))
        e = &(*e)->next;
    return e;
}

void *expmap_get(const ExpMap *m, const KExp *key)
{
    const Slot *e = *find(m, key);
    return e ? (void *)(uintptr_t)e->value : NULL;
}

void expmap_put(ExpMap *m, const KExp *key, const void *value)
{
    Slot **e = find(m, key);
    if (!*e && value) {
        *e = NEW(m->arena, Slot);
        **e = (Slot){.key = key};
    }
    if (*e)
        (*e)->value = value;
}
