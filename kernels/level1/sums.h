/* A reduction for each element of a nest, by kernels that read an array's element once for several
 * of them (segtile.c, segmatrix.c, segshare.c, segblock.c): a segmap^1 whose body reduces, or a
 * segred^1.
 *
 * Where the elements are too few to fill the device, each reduction is cut into pieces: a kernel
 * reduces pieces, a second one combines the partial results of an element in their order, and makes
 * the element's results. */
#ifndef KERNELS_LEVEL1_SUMS_H
#define KERNELS_LEVEL1_SUMS_H

#include "kernels/level1/segments.h"

typedef struct {
    const Stm *stm; /* the construct, */
    const Exp *e;   /* its expression */
    int depth;      /* dimensions of the nest of elements */
    const Stm *red; /* the reduction in a segmap's body; NULL: a segred */
    Atom width;     /* of a reduction */
    Var *k;         /* the number of an element of it */
    const Atoms *arrs;
    const Vars *params; /* in f: rows k of arrs */
    const Body *f;      /* gives what op combines */
    const Lambda *op;
    const Atoms *nes;
    bool comm;
    bool branches;     /* there are branches around the reduction */
    int behind;        /* dimensions behind the one in which a thread has several elements */
    const VarSet *own; /* what depends on the innermost dimension; NULL: nobody asks */
} Sums;

/* Are s's results reductions of scalars by short code that cannot fail, with no more than scalars,
 * and branches of such, around it? */
bool sums_of(Ctx *cx, const Stm *s, Sums *r);
/* Sets what r says of a reduction in a segmap. */
void sums_take(Ctx *cx, Sums *r, const Exp *sum);
int sums_bytes(const Sums *r); /* of the accumulators of an element */
void sums_add_vars(VarSet *set, const Vars *vs);
/* Adds what the nest's dimensions from .. on bind, and the body around the reduction. */
void sums_inside(const Sums *r, int from, VarSet *inside);
bool sums_uses(Ctx *cx, VarSet *used, const VarSet *inside); /* have they a variable in common? */
/* What is before the reduction in the body of the element whose nest is bound; of statements, if
 * somebody asked which, those that depend on the innermost dimension. */
void sums_before(KGen *kg, const Sums *r);
/* op(acc[j], x[j]) */
const KExp **sums_combined(KGen *kg, const Sums *r, const KExp *const *acc, const KExp *const *x);
/* acc[j][at] := op(acc[j][at], x[j]). */
void sums_apply(KGen *kg, const Sums *r, KBuf **acc, const KExp *at, const KExp *const *x);
/* Private buffers for n elements' accumulators, set to neutral elements. */
KBuf **sums_accs(KGen *kg, const Sums *r, int n);
/* Stores the results of the element whose nest is bound, and whose reduction is in acc
 * at `cell`. */
void sums_store(KGen *kg, const Sums *r, const KLoc *outs, KBuf **acc, const KExp *cell);

/* --- Several elements a thread ------------------------------------------------------------- */

typedef struct {
    KGen *kg;
    const Sums *r;
    int n;                    /* so many */
    Vars mine;                /* what f and op know of an element */
    KBuf **own;               /* the values of those for the thread's elements */
    KBuf **acc;               /* sums_accs */
    const KExp *first, *step; /* in that dimension: the thread's first element, to the next */
} Each;

/* The dimension in which a thread has several elements, or neighbours have neighbouring ones: the
 * innermost one unless some are behind it. */
const NestDim *sums_inner(const Sums *r);
/* Finds what f and op know of an element, of the variables that depend on it (inside); returns how
 * many elements a thread can have, 0 if that are not just some scalars. */
int each_find(Ctx *cx, const Sums *r, const VarSet *inside, Vars *mine);
/* Opens a loop over the thread's elements, straight code in the end; the number in the nest's
 * innermost dimension of the i-th one. */
const KExp *each_open(const Each *t);
const KExp *each_element(const Each *t, const KExp *i);
/* own := what f knows of the thread's elements; of the last one where there are no more. */
void each_load(Each *t);
/* Declares the number k of an element of the arrays, and rows there; scalars are loaded if asked
 * for. */
void each_bind(const Each *t, const KExp *k, bool scalars);
/* acc := op(acc, f(own, what is bound of an element of the arrays)) */
void each_accumulate(const Each *t);

/* --- Pieces -------------------------------------------------------------------------------- */

/* Host: the pieces of a reduction, each (but the last) of so many times `unit` elements, where
 * partial results are put. */
typedef struct {
    const KExp *pieces, *units;
    int unit;
    Mem **parts;
} Pieces;
/* Can they be combined where nothing of an element's nest is known? */
bool sums_can_cut(Ctx *cx, const Sums *r);
/* About `want` pieces, of multiples of `unit` elements. */
Pieces sums_cut(PlanBuild *pb, const Sums *r, const KExp *want, int unit);
void sums_alloc(PlanBuild *pb, const Sums *r, const Pieces *p); /* the partial results */
/* The loop of a group over `blocks` (host) times the pieces (NULL: whole reductions): declares the
 * block, and where the piece begins and ends. */
typedef struct {
    const KExp *block, *piece, *from, *to;
} Share;
Share sums_open_share(KGen *kg, const Sums *r, const KExp *blocks, const Pieces *p);
/* Stores acc from `cell` on as the partial results of the element whose indices are bound and of
 * the n - 1 that follow it. If these are several, the place of the first is a multiple of n. */
void sums_store_parts(KGen *kg, const Sums *r, const Pieces *p, const KExp *piece, KBuf **acc,
                      const KExp *cell, int n);
/* Launches the kernel that combines partial results and stores results. */
void sums_combine(PlanBuild *pb, const Sums *r, const Pieces *p, const ArrLoc *outs);

/* --- sides.c ------------------------------------------------------------------------------- */

/* Reductions of elements in two dimensions, of which each array read varies with one: rows and
 * columns. */
enum { ROWS, COLS, N_SIDES };
/* What f reads of an array: a parameter, or an access of which the position is known. */
typedef struct {
    const Var *v;     /* takes its value */
    KLoc from;        /* its element, over the indices of the nest and k */
    const KExp *step; /* by which it grows with k */
    int side;         /* with which it varies; N_SIDES: with none */
    bool beside;      /* it is a neighbour of that of the next number on this side */
    KBuf *tile;       /* the maker's: staged, by k and number in the block, */
    KBuf *next;       /* ... the thread's share of the next tile, */
    KBuf *own;        /* ... the thread's elements at k */
} Operand;
typedef VEC(Operand) Operands;
typedef struct {
    KGen *kg;
    const Sums *r;
    const NestDim *dim[N_SIDES];
    VarSet *inside; /* variables that differ between elements of a block */
    Operands operands;
    Body rest; /* f without the operands */
} Sides;
/* Columns are the dimension along which results lie side by side. */
Sides sides_of(KGen *kg, const Sums *r, const ArrLoc *outs);
/* Finds the operands, with all but the two dimensions bound; false where one varies with both, none
 * with one of them, or f knows of more than operands. */
bool sides_find(Sides *s);

/* Blocking of elements in two dimensions, each of a group. */
typedef struct {
    int size[N_SIDES]; /* rows, columns */
    int depth;         /* of a tile: pieces of reductions are whole ones */
    int piece;         /* elements of a piece, at least */
    int least;         /* rows and columns, at least */
    bool either;       /* ... or columns: blocks may be mostly empty */
    int groups;        /* wanted for a compute unit, where there are fewer than one */
    int fill;          /* groups for a hundred compute units, at least */
    int full;          /* elements for a hundred that blocks have room for, at least */
} Blocking;
/* Host: how many there are. */
const KExp *blocking_count(const Sides *s, const Blocking *b);
/* Host: pieces of a reduction, several where the blocks are too few to keep the device busy. */
const KExp *blocking_pieces(const Sides *s, const Blocking *b);
/* Host, as cost_percent: do so many pieces of all blocks keep the device busy, and are these not
 * mostly empty? */
const KExp *blocking_worth(const Sides *s, const Blocking *b, const KExp *pieces);
/* Opens the loop over the blocks of a group, in pieces (NULL: there are none), and locates the one
 * at hand: first, its row and column. */
Share blocking_open(const Sides *s, const Blocking *b, const Pieces *p, const KExp *first[N_SIDES]);

/* --- segblock.c, segtile.c, segmatrix.c, segshare.c ---------------------------------------- */

/* Opens a branch (pb_end) for a launch on devices whose work-items work for themselves; 0: the
 * construct has not the shape. */
int segblock_branch(PlanBuild *pb, const Sums *r, const ArrLoc *outs);
/* Opens branches (pb_end) for launches in which groups work on blocks of elements in two
 * dimensions, if the construct has the shape; what is appended next is done where none of them is
 * worth it. Their number. */
int segtile_branches(PlanBuild *pb, const Sums *r, const ArrLoc *outs);
/* The same for products of f16, summed in f32, on devices with matrix units. */
int segmatrix_branches(PlanBuild *pb, const Sums *r, const ArrLoc *outs);
/* The same where lanes share out what an element's reduction goes over; of reductions in loops, too
 * (seglanes.c). */
int lanes_branches(PlanBuild *pb, const Stm *s, const ArrLoc *outs);
/* The same in whatever shape fits. */
int sums_branches(PlanBuild *pb, const Stm *s, const ArrLoc *outs);

#endif
