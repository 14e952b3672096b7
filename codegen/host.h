/* The parts of the host walk among themselves (host.c host_array.c host_ctl.c host_life.c). */
#ifndef CODEGEN_HOST_H
#define CODEGEN_HOST_H

#include "codegen/plan.h"

/* host.c */
void host_body(Host *h, const Body *b); /* appends the statements' operations */
void host_set(Host *h, const Var *v, Atom a);
Mem *host_mem(Host *h, const char *base); /* a new name, without H_ALLOC */
void host_alloc_mem(Host *h, Mem *m, const Sx *bytes);

/* host_array.c */
void host_array_stm(Host *h, const Stm *s);
ArrLoc host_atom_loc(const Host *h, Atom arr);
/* host_ctl.c */
void host_if(Host *h, const Stm *s);
void host_loop(Host *h, const Stm *s);

/* host_life.c: after the walk */
void host_prune(Ctx *cx, EntryPlan *ep);     /* scalars that nothing uses */
void host_lifetimes(Ctx *cx, EntryPlan *ep); /* inserts H_RELEASE */
/* The variables that an operation reads, nested ones included. */
void host_op_uses(VarSet *used, const HostOp *op);
/* The sizes of the device that an operation mentions, nested ones included. */
void host_op_sizes(bool used[N_SIZES], const HostOp *op);
/* The block names that an operation itself mentions (not nested ones), at most n. */
typedef VEC(Mem *) Mems;
void host_op_mems(Arena *a, Mems *out, const HostOp *op);

#endif
