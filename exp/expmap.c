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

static Slot **find(const ExpMap *m, const KExp *key)
{
    Slot **e = (Slot **)&m->at[key->hash % BUCKETS];
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
