/* Maps keyed by variables: open addressing, a power of two of slots. */
#include "ir/ir.h"

#include <stdlib.h>

typedef struct {
    const Var *key;
    void *value; /* NULL: deleted */
} Slot;

struct VarMap {
    Arena *mem;
    Slot *slots;
    int n_slots, n_used;
};

VarMap *varmap_new(Arena *a)
{
    VarMap *m = NEW(a, VarMap);
    m->mem = a;
    return m;
}

static Slot *find_slot(const VarMap *m, const Var *v)
{
    unsigned mask = (unsigned)m->n_slots - 1;
    unsigned i = (unsigned)v->id * 2654435761u;
    for (i ^= i >> 15;; i++) {
        Slot *s = &m->slots[i & mask];
        if (!s->key || s->key == v)
            return s;
    }
}

static void grow_map(VarMap *m)
{
    VarMap old = *m;
    m->n_slots = old.n_slots ? 2 * old.n_slots : 8;
    m->slots = NEWN(m->mem, Slot, m->n_slots);
    m->n_used = 0;
    for (int i = 0; i < old.n_slots; i++)
        if (old.slots[i].value) {
            *find_slot(m, old.slots[i].key) = old.slots[i];
            m->n_used++;
        }
}

void varmap_put(VarMap *m, const Var *v, const void *value)
{
    if (4 * (m->n_used + 1) > 3 * m->n_slots)
        grow_map(m);
    Slot *s = find_slot(m, v);
    m->n_used += !s->key;
    /* Values are handed back as the caller's own pointers. */
    *s = (Slot){v, (void *)(uintptr_t)value};
}

void *varmap_get(const VarMap *m, const Var *v)
{
    return m->n_slots ? find_slot(m, v)->value : NULL;
}

void varmap_del(VarMap *m, const Var *v)
{
    if (m->n_slots && find_slot(m, v)->key)
        find_slot(m, v)->value = NULL;
}

static int id_cmp(const void *a, const void *b)
{
    const Var *const *x = a, *const *y = b;
    return ((*x)->id > (*y)->id) - ((*x)->id < (*y)->id);
}

Vars varset_list(Arena *a, const VarSet *s)
{
    Vars vs = {0};
    for (int i = 0; i < s->n_slots; i++)
        if (s->slots[i].value)
            vec_push(a, &vs, (Var *)(uintptr_t)s->slots[i].key);
    if (vs.n > 1)
        qsort(vs.at, (size_t)vs.n, sizeof *vs.at, id_cmp);
    return vs;
}
