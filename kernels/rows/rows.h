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
    int each; /* points of a work-item of a team: in a tile, at most */
    const KExp *group_size;
    const KExp *items, *share, *tiles, *groups;
    Mem *starts; /* a tile each, and the end: rows that end before it */
    Mem **tails; /* a group each: a value (NULL: they ask each other, rowback.c), */
    Mem *ended;  /* ... does a row end in it, */
    Mem *first;  /* ... the first one that does, -1: none */
} Rows;

/* In a kernel. */
typedef struct {
    const Rows *r;
    KGen *kg;
    const KExp *group; /* its number */
    Accs ac;
    KBuf *flags, *flags_beside; /* of the group: has a row ended up to here? */
    KBuf **tails, *ended, *first;
    KLoc *outs;
    KVar *has_ended; /* in this work-item's share */
    KVar **found;    /* ... of the first row that does */
} RowsKernel;

/* What a point weighs for a team; a row's end weighs 1: it has less to do for it, and room for no
 * value. Who works alone has both alike. */
enum { POINT_WEIGHT = 2 };

/* A tail in parts, one of each work-item, is made so many before the row's end is done. */
enum { FEW_PARTS = 8 };

/* Numbers of a tile. */
#define kg_i32(kg, k)      kx_conv(KX_ARENA(kg), T_I32, kg_int(kg, k))
#define kg_to_i32(kg, x)   kx_conv(KX_ARENA(kg), T_I32, (x))
#define kg_to_i64(kg, x)   kx_conv(KX_ARENA(kg), T_I64, (x))
#define kg_op(kg, o, x, y) kx_prim2(KX_ARENA(kg), (o), (x), (y))

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
/* How many rows end before that item, of who works alone. */
const KExp *rows_before(RowsKernel *w, const KExp *item);
/* result[row] := x */
void rows_store(RowsKernel *w, const KExp *row, const KExp *const *x);
/* What is bound of the point, computed: the body's results. maps: what is mapped out is stored. */
const KExp **rows_point(RowsKernel *w, bool maps);
/* In a row that ends: it is stored, or kept if it is the first one; then acc := neutral. */
void rows_end(RowsKernel *w, WalkWhat what, const KExp *row);
/* Inclusive scan of acc over the work-items, from one at which a row ended to the next such (flag,
 * an i32 that is not 0): the sums are in the buffers then, and in flags whether a row ended up to
 * there. */
void rows_scan_tails(RowsKernel *w, KVar *flag);
/* Declares what the work-items before this one leave in the group, and whether a row ended there.
 */
Accs rows_before_in_group(RowsKernel *w, KVar **ended);
/* What the group leaves. */
void rows_leave(RowsKernel *w, const KExp *const *tail, const KExp *ended);
/* acc := (x if ended, else acc and x) */
void rows_add_tail(RowsKernel *w, const Accs *acc, const KExp *const *x, const KExp *ended);

/* A barrier between uses of local memory. */
void rows_meet(KGen *kg);
/* A flag, a number in memory, as a condition. */
const KExp *rows_is_set(KGen *kg, const KExp *flag);

/* --- Tiles ---------------------------------------------------------------------------------- */

/* Local memory of a tile, to be declared where the kernel's parameters are. */
typedef struct {
    RowsKernel *w;
    KBuf **stage;          /* its points */
    KBuf *heads;           /* of each: does a row begin there that is not the tile's first? */
    Accs carried;          /* of a reduction: the tail of the tiles before, a few parts of it */
    Accs parts;            /* ... or one of each work-item, of which few are made */
    Accs strips;           /* what each strip of work-items leaves, */
    KBuf *strip_ended;     /* ... and whether a row ended in it */
    KBuf *begins, *row_of; /* which row begins at a point, 0: none, and the row of each point; NULL:
                            * nobody asks */
    KBuf *latest, *latest_beside; /* the row that begins last in a strip; two, a work-item each,
                                   * where none exchange registers */
    KBuf *starts;
    KVar *next_row0, *next_row1; /* of the next tile, and of the one behind it; asked for ahead */
} RowTiles;

/* The tile at work. */
typedef struct {
    RowTiles *t;
    RowsKernel *w;
    KGen *kg;
    const KExp *row0, *point0; /* where it begins */
    bool one_row;              /* are all points of that row? */
    const KExp *rows, *points; /* how many end in it, and there are: i32 */
    const KExp *end;           /* where the last row that ends here does: i32, at least 0 */
} Tile;
/* Where a row begins, counted from the tile's first point: i64; it ends where the next one begins.
 */
const KExp *tile_offset(Tile *x, const KExp *row);
/* Points of a tile in local memory, the stage, of so many a work-item. There are gaps, so that
 * neighbouring work-items that take runs of four elements at a time meet in no bank. */
enum { GAP_EVERY = 32, GAP = 4 };
KBuf **tile_stage(KGen *kg, const Accs *ac, int each);
/* What is noted down of the points, of few bytes each: a run is loaded at a time. */
KBuf *tile_marks(KGen *kg, const char *base, PrimType t, int each);
/* The place in the stage of a point, an i32. */
const KExp *tile_place(KGen *kg, const KExp *point);
/* Opens a loop over all points of a tile, dealt out: the number of the point, i32. Behind the
 * tile's last one are more. *k: of the turn. */
const KExp *tile_points_open(KGen *kg, int each, int unroll, const KExp **k);

/* What the group has of a row that goes on: known to all work-items in a scan, else to the last
 * one, which adds up what strips leave while others store the rows that end. */
typedef struct {
    Accs tail;
    KVar *ended; /* has a row ended in the group? i32; known to all work-items */
    KVar *apart; /* may other work-items have parts of the tail, too? NULL: they never do */
} Carried;

/* --- rowtiles.c: by teams ------------------------------------------------------------------- */

/* Its local memory. */
RowTiles row_tiles(RowsKernel *w);
/* The group's tiles, one after the other. */
void row_tiles_walk(RowTiles *t, WalkWhat what);
/* What the groups of a scan leave, of which row_tiles_walk then begins. */
void row_tiles_leave(RowTiles *t);
/* The row at which the group's tiles begin. */
const KExp *row_tiles_first(RowTiles *t);
/* Does that row have points before these tiles? */
const KExp *row_tiles_goes_on(RowTiles *t, const KExp *row);
/* acc of the first work-item := that; returned: has a row ended in the group? i32 */
KVar *row_tiles_tail(RowTiles *t);
/* Nothing so far. */
Carried row_tiles_carry(RowTiles *t);
/* The group's tiles, with what is carried from one to the next. */
void row_tiles_each(RowTiles *t, WalkWhat what, const Carried *c);
/* ... of a map: each point and its row is bound, then `point` writes the code. */
typedef void RowsPoint(RowsKernel *w);
void row_tiles_map(RowTiles *t, RowsPoint *point);

/* --- rowruns.c: the points of a tile, summed up along their rows ------------------------------ */

/* Local memory for it. */
void runs_locals(RowTiles *t);
/* Before the first tile. */
void runs_begin(RowTiles *t);
/* Is this the work-item that knows the tail in a reduction? */
const KExp *runs_is_last(KGen *kg);
/* Notes down where rows begin, once the heads of the tile before were taken; before a barrier. */
void runs_mark_heads(Tile *x);
/* May each work-item add up what it has of a row, for itself? */
bool runs_in_any_order(const Exp *e);
/* A tile in which no row ends: of its points, `own`, each work-item adds those that it has computed
 * to its part of the tail. */
void runs_add_apart(Tile *x, KBuf *const *own, const Carried *c);
/* Behind the last tile: the last work-item gets all parts of the tail. */
void runs_gather(RowTiles *t, const Carried *c);
/* A tile of rows without points, which end in it and begin there, too. */
void runs_of_none(Tile *x, const Carried *c);
/* What lies before the tile, for the first row that ends in it: between two barriers before
 * runs_sum of a reduction. */
void runs_tell_carried(Tile *x, const Carried *c);
/* Sums up, stores what is wanted, and carries on; barriers between. Behind it others
 * still read the stage, the strips, and what lies before their runs. */
void runs_sum(Tile *x, WalkWhat what, const Carried *c);

/* --- rowback.c: in one launch ---------------------------------------------------------------- */

/* Launches it, and opens the branch (pb_end) for where the device cannot do that; false, with
 * nothing done, for what is never done so. Before rows_alloc. */
bool rows_back(const Rows *r);

#endif
