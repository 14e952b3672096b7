/* Kernels, and expressions, up to names; and kernels as they are. */
#ifndef KIR_HASH_H
#define KIR_HASH_H

#include "base/ptrmap.h"
#include "kir/kir.h"

/* What a kernel does, as a sequence of words that says nothing of the names in it, of where it
 * comes from, and of comments. */
typedef struct {
    uint64_t hash;
    int n;
    const uint64_t *words;
} KKey;

/* Words as they come. Variables, buffers and whatever else is known by its address are told by the
 * numbers that they get where they come first. */
typedef struct {
    Arena *arena;
    VEC(uint64_t) words;
    PtrMap *numbers;
} KKeyWords;

KKeyWords kkey_words(Arena *a);
void kkey_put(KKeyWords *k, uint64_t w);
bool kkey_put_object(KKeyWords *k, const void *p); /* p may be NULL. Was it not met before? */
void kkey_put_const(KKeyWords *k, Const c);        /* its bits, without its type */
void kkey_put_exp(KKeyWords *k, const KExp *x);    /* x may be NULL */
KKey kkey_of(const KKeyWords *k);

KKey kir_key(Arena *a, const KFun *f);
/* Do the kernels that have them do the same? Their parameters correspond one by one. */
bool kkey_same(KKey x, KKey y);

/* Another number as soon as something in the kernel is another: its names and comments, too, and
 * the objects that it is made of. Expressions never change, so that their addresses are enough. */
uint64_t kir_stamp(const KFun *f);

#endif
