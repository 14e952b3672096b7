/* Histograms inside kernels: dest[index] := op(dest[index], x), by one work-item or by many.
 *
 * How work-items that may meet in one bin take care of each other depends on the operator:
 *   parts        it combines each value of a bin, a scalar of at most 64 bits, apart from the
 *                others: each by one operation of the device, or read, combined, compared and
 *                swapped, again if it was changed meanwhile. Some work-item always succeeds, so no
 *                other can wait forever.
 *   turns        else (no parts): the work-items of a group write their numbers into a
 *                table, at a place that the bin tells; whoever finds his own number there after a
 *                barrier combines, the others try again in the next round. Nobody holds a lock, so
 *                nothing depends on how the device schedules work-items. Groups have bins of their
 *                own, which are combined afterwards.
 * Atomics on 64 bits are an extension; without it one work-item does everything. */
#ifndef KERNELS_THREAD_HIST_H
#define KERNELS_THREAD_HIST_H

#include "kernels/kernel.h"

/* How one value of a bin is combined where the others do not matter. */
typedef struct {
    const Lambda *op; /* of two parameters */
    PrimOp atomic;    /* the same in one step; N_PRIM_OPS: not known */
    PrimOp in_word;   /* ... of a value of less than 4 bytes, in a word of its own (hist_word) */
} HistPart;

/* The parts of a HIST or SEGHIST. */
typedef struct {
    const Exp *e;
    const Lambda *op;
    const Dests *dests;
    const Atom *index, *vals, *nes;
    int n, rank; /* values; index components */
    int segs;    /* SEGHIST: so many of the nest's outer dimensions also are outermost ones of the
                    destinations, each position of the nest having bins of its own there */
    const HistPart *parts; /* n; NULL: it combines in turns */
} Hist;
Hist hist_of(Ctx *cx, const Exp *e);
/* The parts of an operator (histop.c); NULL: there are arrays, or values depend on each other. */
const HistPart *hist_parts(Ctx *cx, const Lambda *op);
/* The type of a word of 4 bytes or more that may hold a value of type t. */
PrimType hist_word(PrimType t);
/* Type of bin j: dest j below its index. */
Type hist_bin_type(const Hist *h, int j);
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

/* Opens a block that is entered only if the position of the element at hand lies in bounds. */
void hist_open_bounds(KGen *kg, const Hist *h);
/* SEGHIST: computes element number `at` of the nest's dimensions from .. (those before are bound),
 * in a piece of work of its own; opens the block that is entered if its position lies in bounds. */
WorkMark hist_open_element(KGen *kg, const Hist *h, int from, const KExp *at);
void hist_close_element(KGen *kg, WorkMark m);
/* Opens the loop in which the work-items of a group share out 0 .. total-1, elements or bins that
 * they update; where they may not do so side by side the first one has all. */
const KExp *hist_open_shared(KGen *kg, const Hist *h, const KExp *total);
/* The bins at position ix (rank components) of arrays at locs. */
KLoc *hist_bins(KGen *kg, const Hist *h, const KLoc *locs, const KExp *const *ix);
/* The position, which lies in bounds: where there is one bin, it is that one. */
const KExp **hist_index(KGen *kg, const Hist *h);
/* bin := op(bin, x) by one work-item; by many (not in turns). */
void hist_combine(KGen *kg, const Hist *h, const KLoc *bins, const HistVal *xs);
void hist_update(KGen *kg, const Hist *h, const KLoc *bins, const HistVal *xs);

/* In turns, to be passed by all work-items of the group: what they share; the updates of arrays
 * at locs by the elements beg .. beg+len-1 of the nest's dimensions from .. (those before are
 * bound). */
typedef struct {
    KVar *todo, *slot, **vals; /* the element at hand, for the rounds */
    Var **ix;
    KVar *round;
    KBuf *owner, *left; /* local memory: the table, a flag */
} Turns;
Turns turns_begin(KGen *kg, const Hist *h, KBuf *owner, KBuf *left);
void turns_update(KGen *kg, const Hist *h, Turns *t, int from, const KExp *beg, const KExp *len,
                  const KLoc *locs);

#endif
