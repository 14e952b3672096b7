/* Passes over kernels: each takes a verified kernel and leaves one that does the same. */
#ifndef KIR_PASSES_H
#define KIR_PASSES_H

#include "kir/kir.h"

typedef void KPassFn(Arena *a, KFun *f);
typedef struct {
    const char *name;
    KPassFn *run;
    const char *why;
} KPass;

/* All of them in the order in which they run; the last row has no name. */
extern const KPass kir_pass_table[];
/* NULL if there is none of that name. */
const KPass *kir_pass(const char *name);
/* Runs them all; verify: asks kir_verify after each. */
void kir_passes(Arena *a, KFun *f, bool verify);

/* Do parameters i and k (their numbers) never name the same memory in a launch? */
typedef bool KApartFn(void *env, int i, int k);
/* Finds read_only and no_alias of the parameters in global memory. */
void kir_aliases(Arena *a, KFun *f, KApartFn *apart, void *env);

KPassFn kir_dead;
KPassFn kir_barriers;
KPassFn kir_invariant;
KPassFn kir_narrow;
KPassFn kir_unroll;
KPassFn kir_scalarize;
KPassFn kir_known;
KPassFn kir_vector;
/* kir_narrow with indices of `bits` bits instead of 32: smaller ones are easier to test. */
void kir_narrow_to(Arena *a, KFun *f, int bits);

#endif
