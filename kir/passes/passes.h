/* Passes over kernels: each takes a verified kernel and leaves one that does the same. */
#ifndef KIR_PASSES_PASSES_H
#define KIR_PASSES_PASSES_H

#include "kir/kir.h"

typedef void KPassFn(Arena *a, KFun *f);
/* What a pass is for: all; kernels, of whose indices a function knows no conditions; kernels whose
 * groups are one work-item, and functions, which are the same for all targets. */
typedef enum { KP_ALL, KP_KERNELS, KP_ALONE } KPassWhere;
typedef struct {
    const char *name;
    KPassFn *run;
    KPassWhere where;
    const char *why;
} KPass;

/* Those of a kernel as its maker leaves it; the last row has no name. */
extern const KPass kir_making_table[];
/* All of those of a kernel on a target in the order in which they run; the last row has no name. */
extern const KPass kir_pass_table[];
/* Of both tables; NULL if there is none of that name. */
const KPass *kir_pass(const char *name);

/* How passes run on a kernel, one after the other: each a stage (base/stage.h), and what it leaves
 * is verified (VERIFY_EACH) and printed, unless it left the kernel as it was. */
typedef struct {
    VerifyWhen verify;
    bool trace;
    const char *on;     /* the target; NULL: as the kernel is made */
    uint64_t stamp;     /* of the kernel, behind the last one */
    const char *around; /* the stage that these are in */
} KRun;
/* f: a kernel that is verified and printed; NULL: the next one is neither. */
KRun krun_begin(const KFun *f, VerifyWhen verify, bool trace, const char *on);
void krun(KRun *r, Arena *a, KFun *f, const KPass *p);
/* Around what is a pass and needs more than the kernel. */
void krun_enter(KRun *r, const char *name);
void krun_leave(KRun *r, const KFun *f);
/* Behind the last one: the kernel is verified, if it was not (VERIFY_ENDS). */
void krun_end(const KRun *r, const KFun *f);
/* All of those on a target, to the end. */
void kir_passes(KRun *r, Arena *a, KFun *f);

/* Do parameters i and k (their numbers) never name the same memory in a launch? */
typedef bool KApartFn(void *env, int i, int k);
/* Finds read_only and no_alias of the parameters in global memory. */
void kir_aliases(Arena *a, KFun *f, KApartFn *apart, void *env);

/* kir_locals, with what is known of sizes: sizes[i], by parameter, is the same number for buffers
 * of the same size, less than 0 where a buffer should stay with those of its size. Gives the number
 * of the parameter with whose memory each one goes, by the numbers of before, -1 for those that are
 * not needed; the others are parameters no more. */
const int *kir_merge_locals(Arena *a, KFun *f, const int *sizes);

/* Marks the local buffers that should be padded (padded.c): bytes of theirs are then a
 * 32nd more. */
void kir_mark_padded(Arena *a, KFun *f);

/* Takes the other branch of IFs on `unrolls` that ask for parameters which launches change:
 * steady[i], by parameter, says which they do not. NULL: the kernel is not built for the sizes of
 * its launches at all. */
void kir_settle_own(Arena *a, KFun *f, const bool *steady);

/* The same for slices (KFun.slices): has_slices is false, and there are none, where private arrays
 * cannot take their place. */
void kir_settle_slices(Arena *a, KFun *f, const bool *steady);

KPassFn kir_fuse_loops;
KPassFn kir_replace_scalars;
KPassFn kir_locals;
KPassFn kir_dead;
KPassFn kir_serialise;
KPassFn kir_barriers;
KPassFn kir_padded;
KPassFn kir_columns;
KPassFn kir_invariant;
KPassFn kir_narrow;
KPassFn kir_unroll;
KPassFn kir_scalarize;
KPassFn kir_shifts;
KPassFn kir_fold_conditions;
KPassFn kir_straighten;
KPassFn kir_failures;
KPassFn kir_compose;
KPassFn kir_vector;
/* kir_narrow with indices of `bits` bits instead of 32: smaller ones are easier to test. */
void kir_narrow_to(Arena *a, KFun *f, int bits);

#endif
