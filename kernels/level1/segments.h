/* Segmented reductions and scans: what their kernels share.
 *
 * Each of the S segments (the product of the outer widths) of w elements is cut into C chunks of
 * `chunk` elements; a work-group of L threads gives P threads to each chunk and so works on L/P
 * chunks at a time. One kernel text serves every regime, the numbers are chosen at run time:
 *   C > 1          few long segments: several groups a segment; the partial results are combined
 *   C = 1, P = L   a group a segment
 *   C = 1, P < L   several segments a group
 *   C = 1, P = 1   a thread a segment
 * No group of a launch waits for another (but in segback.c; of rows in rowback.c), and every
 * barrier is passed by all threads of a group the same number of times. On a CPU P is always 1 and
 * there are no barriers: the work-items of a group run one after the other there anyway. Short
 * segments are packed into tiles of work-groups instead (segpack.c). */
#ifndef KERNELS_LEVEL1_SEGMENTS_H
#define KERNELS_LEVEL1_SEGMENTS_H

#include "kernels/kernel.h"

/* Host values. */
typedef struct {
    const KExp *n_segs, *width;
    const KExp *chunks, *chunk; /* a segment */
    const KExp *threads;        /* a chunk */
} Segments;
/* Inside a kernel. */
typedef struct {
    const KExp *chunks, *chunk, *threads, *width; /* as above */
    const KExp *unit;                             /* the number of the chunk, over all segments */
    const KExp *seg, *c;                          /* its segment, its number in the segment */
    const KExp *p;                                /* this thread's number in the chunk */
    const KExp *apart;                            /* from it to the next in the group; NULL: 1 */
    const KExp *active;                           /* has this thread a chunk at all? */
    const KExp *beg, *len;                        /* the chunk's elements in the segment */
    const KExp *row;                              /* ... that are this row's points; NULL: none */
    bool whole;                                   /* are these all of it, in any case? */
    bool only;                                    /* is there one segment, in any case? */
} Chunk;

/* The numbers of e, a reduction or scan, with `least` elements a thread, up to `most` where
 * segments are many. */
Segments segments_plan(PlanBuild *pb, const Exp *e, int least, int most);
/* S segments of C partial results, a second stage over them. */
Segments segments_of_partials(PlanBuild *pb, const Segments *first);
/* Sets chunks and chunk: a segment is cut so that all of them together give work to `workers`, into
 * at most `most` chunks. */
void segments_cut(PlanBuild *pb, Segments *sg, const KExp *workers, const KExp *most);
/* Opens the loop over the chunks of a group's threads. Inside, `active` is known; seg, c, beg and
 * len only after segments_locate, for active threads. */
Chunk segments_open(KGen *kg, const Segments *sg);
/* The loop in which the threads of a group, `threads` to each, share out the chunks `first` ..
 * units-1 in steps of so many as a group works on at a time, times `groups`: sets unit, p, active.
 */
void segments_share(KGen *kg, Chunk *n, const KExp *group, const KExp *groups, const KExp *units);
/* The chunk's segment. */
const KExp *segments_number(KGen *kg, const Chunk *n);
/* Sets seg, c, beg, len. */
void segments_locate(KGen *kg, Chunk *n);
/* Opens the loop over the chunks first, first+step .. of one worker (a thread or a whole group),
 * and locates them. */
Chunk segments_each(KGen *kg, const Segments *sg, const KExp *first, const KExp *step);

/* --- accs.c --- */

/* The accumulators of a reduction or scan in a thread. */
typedef struct {
    const Lambda *op;
    int n;
    const PrimType *types;
    KVar **acc;
    KBuf **bufs;   /* local memory: one element a thread */
    KBuf **beside; /* ... and another one, for scans */
} Accs;
Accs accs_new(KGen *kg, const Exp *e); /* of a segred or segscan */
Accs accs_of(KGen *kg, const Lambda *op, int n);
void accs_declare(KGen *kg, const Accs *ac, const Atoms *nes);
/* acc := op(a, x). */
void accs_apply(KGen *kg, const Accs *ac, const KExp **a, const KExp **x);
/* The same operator with accumulators of its own: to be declared; copies of those of ac. */
Accs accs_like(KGen *kg, const Accs *ac);
Accs accs_copy(KGen *kg, const Accs *ac, const char *base);
/* The local buffers of a kernel at level 1. */
void accs_local(KGen *kg, Accs *ac, bool scan);
const KExp **accs_now(KGen *kg, const Accs *ac);                  /* acc */
const KExp **accs_load(KGen *kg, const Accs *ac, const KExp *at); /* buf[at] */
const KExp **accs_atoms(KGen *kg, const Accs *ac, const Atom *atoms);
/* Does the group consist of whole sub-groups that exchange registers? */
const KExp *accs_have_lanes(KGen *kg);
/* The variable, acc of that lane of the sub-group, which all of its lanes ask for together. */
const KExp *kg_of_lane(KGen *kg, const KVar *x, const KExp *lane);
const KExp **accs_of_lane(KGen *kg, const Accs *ac, const KExp *lane);
void accs_set(KGen *kg, const Accs *ac, const KExp **x); /* acc := x */
void accs_put(KGen *kg, const Accs *ac, const KExp *at); /* buf[at] := acc */
/* Reduces the accumulators of the threads of each chunk, in order, into thread 0's acc. Barriers:
 * uniform if threads is. */
void accs_tree(KGen *kg, const Accs *ac, const Chunk *n);
/* Inclusive scan of acc over the threads of each chunk; the sums are in the buffers then, behind a
 * barrier. */
void accs_scan(KGen *kg, const Accs *ac, const Chunk *n);

/* A barrier between uses of the buffers. */
void seg_meet(KGen *kg);

/* The mapped-out results of the present element (its nest is bound): wishes and stores. */
void seg_hint_maps(KGen *kg, const Exp *e, const KLoc *maps, const Stm *s);
void seg_store_maps(KGen *kg, const Exp *e, const KLoc *maps, const Stm *s);

/* The locations of s's results from .. inside a kernel. */
KLoc *seg_outs(KGen *kg, const Stm *s, int from, const ArrLoc *outs);
/* Stores what the reductions of segment number `seg` of segred s give. */
void seg_store_reduced(KGen *kg, const Stm *s, const ArrLoc *outs, const KExp *seg,
                       const KExp *const *x);
/* The active thread's share of its chunk, accumulated; outer dimensions are bound. maps: where the
 * mapped-out results go (NULL: nowhere). */
void seg_accumulate(KGen *kg, const Exp *e, const Accs *ac, const Chunk *n, const KLoc *maps,
                    const Stm *s);
/* Elements, and an operator, of little code: loads of several are on their way at a time. */
bool seg_is_brief(const Exp *e);
/* The share of thread p of a chunk of len elements: opens a loop over its elements, and returns the
 * element's number in the chunk. Neighbouring threads take neighbouring elements where the order
 * does not matter (and groups have several threads); else each takes consecutive ones. */
const KExp *seg_open_share(KGen *kg, const Chunk *n, const Exp *e);
/* Tiles: several neighbouring elements a thread, which change in local memory, the stage, between
 * those dealt out, as global memory is read and written, and a run for each thread. */
/* How many a thread has (1 where the work for each is long, or it is large). */
int seg_each(const Exp *e);
/* Not 0 if the local memory has room for a tile; of no elements: for what threads exchange. */
const KExp *seg_tile_fits(Ctx *cx, const Exp *e, int each);
KBuf **seg_stage(KGen *kg, const Accs *ac, int each);
enum { STAGE_GAP = 32 };
/* The place in the stage of an element of the tile: a gap every so many elements, so that a column
 * of them does not lie in one bank. */
const KExp *seg_stage_at(KGen *kg, const KExp *number);

/* Level 0: the threads of a group are dealt out evenly to the segments; opens the loop over
 * segments (all threads take every turn). */
Chunk group_segments(KGen *kg, const Nest *nest);
/* Reduces the one segment of s by all work-items, between barriers; outs: where mapped-out results
 * go. results: variables that get the accumulated values, in all of them (groupred.c). */
void group_reduce(KGen *kg, const Stm *s, const Accs *ac, const KLoc *outs, KVar **results);
/* Maps behind a scan that are done with it (groupafter.c). */
typedef struct {
    const Stm *maps;
    int n;
    bool *kept;  /* by result of the scan: is it read by others, too? */
    KLoc **outs; /* by map: where its results go */
} GroupAfter;
/* Those behind statement i of b, a scan. */
GroupAfter group_after(KGen *kg, const Body *b, int i);
/* ... at the element of scan s at indices ix, with the scanned values in ac: the variables that
 * hold what they make; and stored. */
VarMap *group_after_elem(KGen *kg, const Stm *s, const GroupAfter *a, const Accs *ac,
                         const KExp *const *ix);
void group_after_store(KGen *kg, const Stm *s, const GroupAfter *a, const KExp *const *ix,
                       const VarMap *now);
/* Scans all segments, after and before barriers; outs: where the results go (groupscan.c). */
void group_scan(KGen *kg, const Stm *s, const Accs *ac, const KLoc *outs, const GroupAfter *after);
/* A whole segment by this thread, whatever the operator works on; outer dimensions are bound, or
 * the row is. */
void seg_fold(KGen *kg, const Exp *e, const Stm *s, KLoc *outs, bool scan);
/* A kernel of it. */
void seg_sequential(PlanBuild *pb, const Stm *s, const ArrLoc *outs, bool scan);

/* One stage of a segmented reduction: a kernel with an output for each accumulator, written at the
 * number of the chunk. */
typedef struct {
    KGen *kg;
    Kernel *k;
} Stage;
/* Reduces the chunks of e's elements; mapped-out results are not written. */
Stage red_elements(PlanBuild *pb, const Exp *e, const Segments *sg);
/* Launches it, with the blocks `outs` in place of its output parameters. */
void stage_launch(const Stage *st, const Segments *sg, Mem *const *outs);
/* Two stages: where segments have several chunks the first one gives partial results, which a
 * second one combines. */
typedef struct {
    Stage first;
    const Segments *sg;
    Mem **parts; /* blocks of the n partial results */
} Stages;
/* Launches the first stage for several chunks; the second one's launch belongs between the two.
 * bytes: of the partial results of a chunk. */
void stages_begin(Stages *st, int n, const KExp *const *bytes);
/* ... and for one chunk a segment, with the results in `final`. */
void stages_end(Stages *st, Mem *const *final);

/* Launches the scan of segments of several chunks in one pass over the elements, and opens the
 * branch (pb_end) for where the device cannot do that; false, with nothing done, for scans that
 * never are (segback.c). */
bool segscan_back(PlanBuild *pb, const Stm *s, const Segments *sg, const ArrLoc *outs);

/* The same of a scan over one dimension and the scatter that reads it. */
bool segscan_scatter(PlanBuild *pb, const Stm *s, const ScanReader *reader);
/* ... by three launches, chunk by chunk, where work-items work by themselves (segscan.c). */
void segscan_scatter_chunks(PlanBuild *pb, const Stm *s, const ScanReader *reader);
/* What the reader does with the present element of the scan, whose body is done and whose scanned
 * values are `sum`; last: is it the scan's last one? NULL: what is wanted of that is stored
 * otherwise. (segscatter.c) */
void seg_read_scanned(KGen *kg, const Stm *scan, const ScanReader *r, const KExp *last,
                      const Accs *sum);
/* Is the last element wanted of nothing but the scanned values, which are known behind a loop... */
bool seg_lasts_are_sums(const ScanReader *r, const Stm *scan);
/* ... and stored there, at position `at`? */
void seg_store_last(KGen *kg, const Stm *scan, const ScanReader *r, const KExp *at,
                    const Accs *sum);
/* Do they make a filter: the scan counts flags, by which the scatter places elements one behind the
 * other, in arrays with room for all? */
bool seg_keeps(const Stm *scan, const ScanReader *r);
/* seg_read_scanned of a filter, where elements are done in order: each is stored behind the
 * `before` ones that were kept, and the next one that is kept overwrites it. `end`: those that are
 * kept up to the last element that is done here; behind them others store theirs. So nothing waits
 * for a guess whether an element is kept. */
void seg_keep(KGen *kg, const Stm *scan, const ScanReader *r, const KExp *last, const KExp *before,
              const KExp *end, const Accs *sum);

/* Reductions whose order matters, elements dealt out (segdealt.c): of so many elements of a thread
 * at a time; 0: never. */
int seg_dealt_each(const Exp *e);
/* acc := the thread's run of the chunk, which is a whole group's; stage: seg_stage of so many. */
void seg_accumulate_dealt(KGen *kg, const Exp *e, const Accs *ac, const Chunk *n, KBuf **stage,
                          int each);

/* --- Segments that lie beside each other in memory (segacross.c) --- */

/* Host: all segments; those of a block; its threads to a segment; and how blocks are cut, as if
 * they were segments, each of whose chunks is a group's. */
typedef struct {
    const KExp *n_segs, *beside, *threads;
    Segments cut;
} Blocks;
/* Blocks of `most` segments of s, strips where work-items work for themselves; a thread has so many
 * `turns` of the elements that are worth one, if there are as many. */
Blocks blocks_of(PlanBuild *pb, const Stm *s, int most, int turns);
/* Opens the loop over a group's chunks of blocks: `unit`, number c of block `block`; returns what
 * the thread has of it, a share of its segment's part. */
Chunk blocks_open(KGen *kg, const Blocks *bl, Chunk *unit, const KExp **block);

/* What a work-item that works for itself has of a block: its accumulators are private arrays, of an
 * element for each segment. */
typedef struct {
    KGen *kg;
    const Exp *e;
    const Chunk *n; /* of the first segment */
    const KExp *count;
    Accs ac;
    KBuf **bufs;
} Strip;
/* Can strips be worked on? Else a block is one segment there. */
bool has_strips(const Stm *s);
Strip strip_open(KGen *kg, const Exp *e, const Blocks *bl, const Accs *ac, const Chunk *n);
const KExp *strip_each(const Strip *st); /* opens a loop over the segments, numbers in the strip */
const KExp *strip_segment(const Strip *st, const KExp *i); /* number i of them */
const KExp **strip_get(const Strip *st, const KExp *i);
void strip_set(const Strip *st, const KExp *i, const KExp *const *x);
void strip_clear(const Strip *st); /* to neutral elements */
/* Adds the chunk's elements, all segments of each number after the other, as they lie; `done` gets
 * the sum up to each, whose nest is bound (NULL: nobody asks). */
void strip_add(const Strip *st, void (*done)(void *env, const Accs *sum), void *env);

/* Scans the sums of the chunks of each segment, which lie one behind the other, in place
 * (segscan.c). */
Stage scan_partials(PlanBuild *pb, const Exp *e, const Segments *sg, Mem *const *parts);
/* Elements of code that may come out otherwise in another kernel, and must not: they are made
 * twice, and counted. */
void want_same_elements(Plan *plan, const Exp *e);

/* The construct, with operators on scalars, by chunks of its segments. */
KernelMaker segred_chunks;    /* segred.c */
KernelMaker segred_across;    /* segacross.c */
KernelMaker segscan_across;   /* scanacross.c */
KernelMaker segscan_chunks;   /* segscan.c */
KernelMaker segscan_launches; /* the same, never in one launch */

#endif
