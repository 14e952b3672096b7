/* Maps keyed by addresses, in an arena. */
#ifndef BASE_PTRMAP_H
#define BASE_PTRMAP_H

#include "base/arena.h"

#include <stdbool.h>

typedef struct PtrMap PtrMap;

PtrMap *ptrmap_new(Arena *a);
void ptrmap_put(PtrMap *m, const void *key, const void *value); /* replaces; NULL takes it out */
void *ptrmap_get(const PtrMap *m, const void *key);             /* NULL if absent */
int ptrmap_count(const PtrMap *m);
/* Its keys, in no order: for (int i = 0; (i = ptrmap_next(m, i)) >= 0; i++) ptrmap_key(m, i) */
int ptrmap_next(const PtrMap *m, int i);
const void *ptrmap_key(const PtrMap *m, int i);
PtrMap *ptrmap_copy(Arena *a, const PtrMap *m);

/* Maps used as sets. */
typedef PtrMap PtrSet;
static inline void ptrset_add(PtrSet *s, const void *p)
{
    ptrmap_put(s, p, p);
}
static inline bool ptrset_has(const PtrSet *s, const void *p)
{
    return ptrmap_get(s, p) != NULL;
}

#endif
