/* Open addressing over a power of two of slots. */
#include "base/ptrmap.h"

#include <stdint.h>

typedef struct {
    const void *key;
    void *value; /* NULL: taken out */
} Slot;

struct PtrMap {
    Arena *mem;
    Slot *slots;
    int n_slots, n_used, n_live;
};

PtrMap *ptrmap_new(Arena *a)
{
    PtrMap *m = NEW(a, PtrMap);
    m->mem = a;
    return m;
}

static Slot *find_slot(const PtrMap *m, const void *key)
{
    unsigned mask = (unsigned)m->n_slots - 1;
    uint64_t h = (uint64_t)(uintptr_t)key * UINT64_C(0x9E3779B97F4A7C15);
    for (unsigned i = (unsigned)(h >> 32);; i++) {
        Slot *s = &m->slots[i & mask];
        if (!s->key || s->key == key)
            return s;
    }
}

static void grow(PtrMap *m)
{
    PtrMap old = *m;
    m->n_slots = old.n_slots ? 2 * old.n_slots : 8;
    m->slots = NEWN(m->mem, Slot, m->n_slots);
    m->n_used = old.n_live;
    for (int i = 0; i < old.n_slots; i++)
        if (old.slots[i].value)
            *find_slot(m, old.slots[i].key) = old.slots[i];
}

void ptrmap_put(PtrMap *m, const void *key, const void *value)
{
    if (4 * (m->n_used + 1) > 3 * m->n_slots)
        grow(m);
    Slot *s = find_slot(m, key);
    m->n_used += !s->key;
    m->n_live += (value != NULL) - (s->value != NULL);
    /* Values are handed back as the caller's own pointers. */
    *s = (Slot){key, (void *)(uintptr_t)value};
}

void *ptrmap_get(const PtrMap *m, const void *key)
{
    return m->n_slots ? find_slot(m, key)->value : NULL;
}

int ptrmap_count(const PtrMap *m)
{
    return m->n_live;
}

int ptrmap_next(const PtrMap *m, int i)
{
    while (i < m->n_slots && !m->slots[i].value)
        i++;
    return i < m->n_slots ? i : -1;
}

const void *ptrmap_key(const PtrMap *m, int i)
{
    return m->slots[i].key;
}

PtrMap *ptrmap_copy(Arena *a, const PtrMap *m)
{
    PtrMap *to = NEW(a, PtrMap);
    *to = *m;
    to->mem = a;
    if (m->n_slots)
        to->slots = arena_memdup(a, m->slots, sizeof *m->slots * (size_t)m->n_slots);
    return to;
}
