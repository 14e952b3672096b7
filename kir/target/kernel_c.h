/* Statements of kernels as text of a language that is like C: OpenCL C (opencl.c) or C itself
 * (native.c). Each of these has a table of the words in which they differ, and makes the head of a
 * kernel, which names its parameters; all that is equal stands once, here. */
#ifndef KIR_TARGET_KERNEL_C_H
#define KIR_TARGET_KERNEL_C_H

#include "exp/exp_c.h"
#include "kir/kir.h"

typedef struct {
    const char *space[N_KSPACES]; /* in front of a type: where that lies */
    const char *view;             /* ... that a VIEW's elements have: memory of other types, too */
    const char *at; /* a function around positions that are one variable; NULL: none */
    /* What stands in front of a position, and ")" behind it, to have elements from there on as a
     * vector: a cast of the sum of buffer and position. */
    void (*vector)(Out *o, const KStm *s, KType t);
    void (*unroll)(Out *o, int turns);   /* a line in front of a FOR; -1: all turns */
    void (*meet)(Out *o, const KStm *s); /* a BARRIER */
    /* The call of an ATOMIC or CAS up to the place. name: "add", "xchg", "cmpxchg" */
    void (*atomic)(Out *o, const KStm *s, const char *name);
    /* An IF in other words than `if`; false, with nothing printed: there are none. May be NULL. */
    bool (*branch)(const void *env, Out *o, const KStm *s);
    const void *env;
} KWords;

/* The statements, a line each or more. */
void kernel_c(Out *o, const KWords *w, const KBlock *b);
/* The functions that a kernel calls, in front of it: each is there once in a text. */
void kernel_c_functions(Out *o, const KWords *w, const KFun *f);
/* A comment that says what the kernel is and where it comes from, if it does. */
void kernel_c_comment(Out *o, const KFun *f);

#endif
