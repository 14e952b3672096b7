/* Attention in one kernel (segattention.c): what its parts share. */
#ifndef KERNELS_MATRIX_FUSED_H
#define KERNELS_MATRIX_FUSED_H

#include "ir/chains/attention.h"
#include "kernels/matrix/tiles.h"

enum {
    STAGES = 2,
    PIECE = KTILE_PANEL,       /* columns that are multiplied at once, unless products are wide */
    QUAD = 4,                  /* lanes that have a row's sums, */
    PAIR = 2,                  /* neighbours that each has in a row, of 8 columns */
    EIGHT = KTILE_ROWS / PAIR, /* rows between those of a lane */
    MOST_PIECES = 2
};

typedef struct {
    int width; /* of rows of q, k and v, at most */
    int keys;  /* of a tile */
    int warps, warp_rows;
    bool wide; /* products (KTile) */
} Shape;

/* One of q, k and v, of which a tile has rows of `across` or, where it is turned, `along`. */
typedef struct {
    KLoc lies; /* an element, over the indices of rows, keys and columns */
    const Var *row;
    Atom n_rows, n_cols;
    const KExp *apart; /* host: rows, in memory */
    TileCopy copy;     /* as far as it is always the same */
} Factor;

typedef struct {
    KGen *kg;
    const Stm *stm;
    const Nest *nest;
    Attention a;
    const Body *score;
    Shape shape;
    const NestDim *rows;
    Var *key, *col; /* indices */
    Atom keys;
    Factor q, k, v;
    KBuf *tiles, *weights, *fragments;
    KBuf *s[MOST_PIECES], *out[MOST_PIECES]; /* sums, of a piece each */
    KBuf *max, *sum;                         /* of the lane's rows; largest scores, */
    KBuf *from;        /* and what weights are exp (s - from) of, as far as these are behind */
    KBuf *pairs;       /* the weights, two a word */
    KBuf *own;         /* the weights, as the units take the lane's */
    KBuf *told;        /* what a quad tells each other, without shuffles */
    const KExp *first; /* row of the block */
    const KExp *thread, *lane, *row, *pair; /* row, column of the lane's first sum */
} Fused;

/* --- Sizes ----------------------------------------------------------------------------------- */

/* Rows of a block, and of a lane. */
static inline int fused_block(const Fused *f)
{
    return f->shape.warps * f->shape.warp_rows;
}

static inline int fused_own(const Fused *f)
{
    return f->shape.warp_rows / EIGHT;
}

static inline int fused_threads(const Fused *f)
{
    return f->shape.warps * KTILE_LANES;
}

/* A piece of so many columns, which are those of sums in an array; how many there are. */
static inline int fused_piece(const Fused *f, int cols)
{
    return f->shape.wide ? cols : PIECE;
}

static inline int fused_pieces(const Fused *f, int cols)
{
    return cols / fused_piece(f, cols);
}

/* Sums of a lane in an array. */
static inline int fused_cells(const Fused *f, int cols)
{
    return f->shape.warp_rows * fused_piece(f, cols) / KTILE_LANES;
}

/* --- The lane's rows (fused.c) --------------------------------------------------------------- */

/* buf[0 .. n] := x. */
void fused_fill(const Fused *f, KBuf *buf, int n, double x);
/* Scalars and views of a row: those before the scores, or those behind. */
void fused_row_stms(const Fused *f, bool before);
/* s := scores of tile t, max: the rows' largest ones of these and before, of all lanes. */
void fused_score(const Fused *f, const KExp *t);
/* own := the weights of the tile; sums and products of those before become those of the new
 * maximum, where that has grown by much. */
void fused_weigh(const Fused *f);
/* From there to local memory, for products without units. */
void fused_spread(const Fused *f);
/* Stores the rows' results. */
void fused_store(const Fused *f, const KLoc *out);

#endif
