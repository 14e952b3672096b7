/* Histograms inside kernels: dest[index] := op(dest[index], x), by one work-item or by many.
 *
 * How work-items that may meet in one bin take care of each other depends on what a bin holds:
 *   HIST_ATOMIC  one integer, and an operation that OpenCL's atomics have
 *   HIST_CAS     one scalar of at most 64 bits: read it, combine, compare and swap, again if it was
 *                changed meanwhile. Some work-item always succeeds, so no other can wait forever.
 *   HIST_TURNS   several scalars, or arrays: the work-items of a group write their numbers into a
 *                table, at a place that the bin tells; whoever finds his own number there after a
 *                barrier combines, the others try again in the next round. Nobody holds a lock, so
 *                nothing depends on how the device schedules work-items. Groups have bins of their
 *                own, which are combined afterwards.
 * Atomics on 64 bits are an extension; without it one work-item does everything. */
#ifndef CODEGEN_HIST_H
#define CODEGEN_HIST_H

#include "codegen/kernel.h"

typedef enum { HIST_ATOMIC, HIST_CAS, HIST_TURNS } HistWay;

/* The parts of a HIST or SEGHIST. */
typedef struct {
    const Lambda *op;
    const Dests *dests;
    const Atom *index, *vals, *nes;
    int n, rank; /* values; index components */
    HistWay way;
    PrimOp prim; /* HIST_ATOMIC: the operation */
} Hist;
Hist hist_of(const Exp *e);
/* Type of bin j: dest j below its index. */
Type hist_bin_type(const Hist *h, int j);
/* How many of the outer dimensions of seghist e's nest also are outermost dimensions of the
 * destinations, each position of the nest having bins of its own there. */
int hist_segments(const Exp *e);
/* May a work-item beside others update a bin? A constant of the device. */
const KExp *hist_shared(KGen *kg, const Hist *h);

/* The second operand of an update: a scalar, or where an array lies. */
typedef struct {
    const KExp *x;
    KLoc loc;
} HistVal;
/* The values of the element at hand. */
HistVal *hist_vals(KGen *kg, const Hist *h);

/* bin := x; the value of a bin, whose memory may have wider elements. */
void hist_put(KGen *kg, const KLoc *bin, const KExp *x);
const KExp *hist_get(KGen *kg, const KLoc *bin, PrimType t);

/* Opens a block that is entered only if the element's position lies in bounds; the first n_safe
 * components do. */
void hist_open_bounds(KGen *kg, const Hist *h, int n_safe);
/* The bins at position ix (rank components) of arrays at locs. */
KLoc *hist_bins(KGen *kg, const Hist *h, const KLoc *locs, const Sx *const *ix);
const Sx **hist_index(KGen *kg, const Hist *h);
/* bin := op(bin, x) by one work-item; by many (not HIST_TURNS). */
void hist_combine(KGen *kg, const Hist *h, const KLoc *bins, const HistVal *xs);
void hist_update(KGen *kg, const Hist *h, const KLoc *bin, const HistVal *x);

/* HIST_TURNS: the variables that hold an element for the rounds, declared; the element at hand put
 * into them; the rounds, to be passed by all work-items of the group. */
typedef struct {
    KVar *todo, *slot, **vals, *round;
    Var **ix;
    KBuf *owner, *left; /* local memory: the table, a flag */
} Turns;
Turns turns_begin(KGen *kg, const Hist *h, KBuf *owner, KBuf *left);
void turns_declare(KGen *kg, const Hist *h, Turns *t);
void turns_set(KGen *kg, const Hist *h, const Turns *t);
void turns_take(KGen *kg, const Hist *h, const Turns *t, const KLoc *locs);

#endif
