/* Operands of matrix units: arrays of f16, or f32, in global memory, of which tiles come into local
 * memory by copies that wait for nobody (kinds.def: COPY, ROUND, FRAGMENTS, MULTIPLY;
 * runtime/kernels/matrix.cl).
 *
 * Copies are of 16 bytes, neighbours in memory: rows are a multiple of that apart, and begin
 * at one; or rows begin anywhere, and threads load the elements of a copy and wait for these. In a
 * tile these change places, so that neither the copies nor the units, which want
 * one of each of eight rows, meet in a bank of local memory. What is beyond the end is 0 in a tile.
 */
#ifndef KERNELS_MATRIX_TILES_H
#define KERNELS_MATRIX_TILES_H

#include "kernels/kernel.h"

enum { TILE_ALIGN = KTILE_COPY_BYTES };

/* An operand, by its position over indices of the nest: elements of a product's row (or column) are
 * `along` apart, rows `across`. */
typedef struct {
    PrimType elem;
    const KExp *at;
    const Nest *nest;
    int batch;            /* dimensions of the nest that are the same for a group */
    const VarSet *inside; /* variables that the kernel binds */
    const Var *across, *along;
    Atom n_across, n_along; /* how many there are */
    bool turned;            /* neighbours in memory are neighbours across: rows are of `along` */
    bool anywhere;          /* rows may begin */
} Source;

/* By how much a position grows with v; NULL: that is not the same everywhere. */
const KExp *tile_growth(Ctx *cx, const KExp *x, const Var *v);
/* The smaller one of two conditions of the host (1: yes, 0: no); NULL if one is. */
const KExp *tile_both(Ctx *cx, const KExp *x, const KExp *y);
/* Host: 1 where neighbours can be copied at once, else 0; NULL: nowhere. *apart: by how
 * much rows are in memory. */
const KExp *tile_source(KGen *kg, const Source *s, const KExp **apart);
/* Host: so many groups' worth of work-items work side by side, on matrix units (of products that
 * are wide); 0: they cannot. */
const KExp *tile_units(Ctx *cx, int threads, bool wide);

/* The copies of one tile by so many threads of a group: rows of `pitch` elements; in panels, where
 * products are wide (KTile). */
typedef struct {
    KBuf *tiles, *mem;
    const KExp *to; /* element of `tiles` where the tile begins */
    int pitch, rows, threads;
    bool panels;
    bool anywhere;
    const KExp *row, *begin;  /* of the thread's first copy: its row in the tile, where in that */
    const KExp *from, *apart; /* where that is in mem; between rows there */
    const KExp *number, *end; /* the number of that row there; how many there are */
    const KExp *place, *len;  /* of its first element in the row; how long that is */
} TileCopy;
/* Sets row and begin, of pitch and the thread's number. */
void tile_locate(KGen *kg, TileCopy *c, const KExp *thread);
void tile_copy(KGen *kg, const TileCopy *c);
/* Ends a round of copies; waits for all rounds but the last n. */
void tile_round(KGen *kg, int n);
void tile_meet(KGen *kg);
void tile_expose(KGen *kg);
void tile_settle(KGen *kg, KBuf *sums);
void tile_multiply(KGen *kg, KBuf *fragments, KBuf *sums, const KTile *shape);

#endif
