/* What kernels are made for: a row a kind of device. A maker asks for traits, by name (KTRAITS),
 * and makes one kernel; kir_specialize answers them for a target. What differs in numbers only, and
 * is known at run time, are facts of the device (common/facts.def).
 *
 * A new target is a row, its printer and its column of facts; a new trait is a row of KTRAITS and
 * what the rows here say of it. */
#ifndef KIR_TARGET_TARGET_H
#define KIR_TARGET_TARGET_H

#include "kir/kir.h"

typedef enum { KTARGET_GPU, KTARGET_NATIVE, N_KTARGETS } KTargetId;

typedef struct {
    const char *name;                       /* "gpu" */
    const char *what;                       /* for people: "OpenCL C" */
    unsigned traits;                        /* of KTRAITS, those that it has: set of 1u << KId */
    int vector_bytes;                       /* bytes that a work-item should load or store at most
                                             * at once; 0: elements one by one */
    bool sized;                             /* building a kernel once more for its sizes pays */
    void (*print)(Out *o, const KFun *fun); /* of a kernel that is specialised to it */
} KTarget;

extern const KTarget ktargets[N_KTARGETS];
/* NULL if there is none of that name. */
const KTarget *ktarget_named(const char *name);

/* The kernel as it is on the target: a copy, in which branches on traits are taken or gone. */
KFun *kir_specialize(Arena *a, const KFun *f, const KTarget *t);

#endif
