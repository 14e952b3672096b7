/* Kernels up to names, and as they are. */
#ifndef KIR_HASH_H
#define KIR_HASH_H

#include "kir/kir.h"

/* What a kernel does, as a sequence of words that says nothing of the names in it, of where it
 * comes from, and of comments. */
typedef struct {
    uint64_t hash;
    int n;
    const uint64_t *words;
} KKey;

KKey kir_key(Arena *a, const KFun *f);
/* Do the kernels that have them do the same? Their parameters correspond one by one. */
bool kkey_same(KKey x, KKey y);

/* Another number as soon as something in the kernel is another: its names and comments, too, and
 * the objects that it is made of. Expressions never change, so that their addresses are enough. */
uint64_t kir_stamp(const KFun *f);

#endif
