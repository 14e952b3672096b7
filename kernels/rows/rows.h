/* Constructs along the rows of a ragged nest: what their kernels share (see segrows.c, maprows.c).
 */
#ifndef KERNELS_ROWS_ROWS_H
#define KERNELS_ROWS_ROWS_H

#include "kernels/level1/segments.h"

/* Host: the construct, how its items are shared out, and what groups leave. */
typedef struct {
    PlanBuild *pb;
    const Stm *s;
    const Exp *e;
    const NestDim *d;
    const ArrLoc *outs;
    bool scan;
    int each; /* items of a work-item of a team */
    const KExp *group_size;
    const KExp *items, *share, *tiles, *groups;
    Mem *starts; /* a tile each, and the end: rows that end before it */
    Mem **tails; /* a group each: a value, */
    Mem *ended;  /* ... does a row end in it, */
    Mem *first;  /* ... the first one that does, -1: none */
} Rows;

/* In a kernel. */
typedef struct {
    const Rows *r;
    KGen *kg;
    Accs ac;
    KBuf *flags, *flags_beside; /* of the group: has a row ended up to here? */
    KBuf **tails, *ended, *first;
    KLoc *outs;
    KVar *has_ended; /* in this work-item's share */
    KVar **found;    /* ... of the first row that does */
} RowsKernel;

typedef enum { WALK_TAILS, WALK_REDUCE, WALK_SCAN } WalkWhat;

/* How the items are shared out, and room for `starts`. A team's shares are as large as its local
 * memory is for, and groups have several tiles; who works alone has as much as gives work to all.
 */
Rows rows_plan(PlanBuild *pb, const Stm *s, const ArrLoc *outs, bool scan);
/* Finds where tiles begin, which teams want to know. */
void rows_launch_starts(const Rows *r);
/* Of what is accumulated. */
int rows_value_bytes(const Exp *e);
/* Does the kernel want more than local memory and registers? */
bool rows_need_memory(const KGen *kg);

/* A kernel of it, with local memory for the exchange of tails. */
RowsKernel rows_kernel(const Rows *r, const char *kind);
/* acc := neutral, no row has ended. */
void rows_declare(RowsKernel *w);
/* How many rows end before that item. */
const KExp *rows_before(RowsKernel *w, const KExp *item);
/* result[row] := x */
void rows_store(RowsKernel *w, const KExp *row, const KExp *const *x);
/* What is bound of the point, computed: the body's results. maps: what is mapped out is stored. */
const KExp **rows_point(RowsKernel *w, bool maps);
/* In a row that ends: it is stored, or kept if it is the first one; then acc := neutral. */
void rows_end(RowsKernel *w, WalkWhat what, const KExp *row);
/* Inclusive scan of acc over the work-items, from one at which a row ended to the next such: the
 * sums are in the buffers then, and in flags whether a row ended up to there. */
void rows_scan_tails(RowsKernel *w);
/* Declares what the work-items before this one leave in the group, and whether a row ended there.
 */
Accs rows_before_in_group(RowsKernel *w, KVar **ended);
/* What the group leaves. */
void rows_leave(RowsKernel *w, const KExp *const *tail, const KExp *ended);
/* acc := (x if ended, else acc and x) */
void rows_add_tail(RowsKernel *w, const Accs *acc, const KExp *const *x, const KExp *ended);

/* --- rowtiles.c: by teams ------------------------------------------------------------------- */

/* Local memory of a tile, to be declared where the kernel's parameters are. */
typedef struct {
    RowsKernel *w;
    KBuf **stage; /* its points */
    KBuf *ends;   /* where its rows end: numbers of points */
    KBuf *row_of; /* the row of each point, where the body asks for it; else NULL */
    KBuf *starts;
} RowTiles;
RowTiles row_tiles(RowsKernel *w);
/* The group's tiles, one after the other. */
void row_tiles_walk(RowTiles *t, WalkWhat what);
/* ... of a map: each point and its row is bound, then `point` writes the code. */
typedef void RowsPoint(RowsKernel *w);
void row_tiles_map(RowTiles *t, RowsPoint *point);

#endif
