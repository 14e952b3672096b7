/* Maps keyed by expressions: two that are the same (kx_same) are one key. */
#ifndef EXP_EXPMAP_H
#define EXP_EXPMAP_H

#include "exp/exp.h"

typedef struct ExpMap ExpMap;

ExpMap *expmap_new(Arena *a);
void expmap_put(ExpMap *m, const KExp *key, const void *value); /* replaces; NULL takes it out */
void *expmap_get(const ExpMap *m, const KExp *key);             /* NULL if absent */

#endif
