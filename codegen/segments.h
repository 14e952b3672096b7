/* Segmented reductions and scans: what their kernels share.
 *
 * Each of the S segments (the product of the outer widths) of w elements is cut into C chunks of
 * `chunk` elements; a work-group of L threads gives P threads to each chunk and so works on L/P
 * chunks at a time. One kernel text serves every regime, the numbers are chosen at run time:
 *   C > 1          few long segments: several groups a segment, and a second stage
 *   C = 1, P = L   a group a segment
 *   C = 1, P < L   several segments a group
 *   C = 1, P = 1   a thread a segment
 * There is no communication between groups of one launch, and every barrier is passed by all
 * threads of a group the same number of times. On a CPU device P is always 1 and the barriers are
 * left out of the text (MF_IS_CPU): the work-items of a group run one after the other there anyway.
 */
#ifndef CODEGEN_SEGMENTS_H
#define CODEGEN_SEGMENTS_H

#include "codegen/kernel.h"

/* Host values. */
typedef struct {
    const Sx *n_segs, *width;
    const Sx *chunks, *chunk; /* a segment */
    const Sx *threads;        /* a chunk */
} Segments;
/* Names inside a kernel. */
typedef struct {
    const char *chunks, *chunk, *threads, *width; /* as above */
    const char *unit;                             /* the number of the chunk, over all segments */
    const char *seg, *c;                          /* its segment, its number in the segment */
    const char *p;                                /* this thread's number in the chunk */
    const char *active;                           /* has this thread a chunk at all? */
    const char *beg, *len;                        /* the chunk's elements in the segment */
} SegNames;

/* The numbers for a reduction (elements need 4 to a thread to be worth it) or a scan. */
Segments segments_plan(KGen *kg, const Nest *nest, int per_thread);
/* S segments of C partial results, a second stage over them. */
Segments segments_of_partials(Host *h, const Segments *first);
/* Opens the loop over the chunks of a group's threads. Inside, `active` is known; seg, c, beg and
 * len only after segments_locate, for active threads. */
SegNames segments_open(KGen *kg, const Segments *sg);
/* How many chunks a group works on at a time, and which of them this thread shares: declares both
 * and p. */
void segments_share(KGen *kg, const SegNames *n, const char *per, const char *mine);
void segments_locate(KGen *kg, const SegNames *sn);
/* Launches: kernel k with the blocks `outs` in place of the output parameters. */
const Sx *segments_groups(KGen *kg, const Segments *sg);

/* The accumulators of a reduction or scan in a thread. */
typedef struct {
    const Lambda *op;
    int n;
    const PrimType *types;
    const char **acc;  /* C variables */
    const char **bufs; /* local memory: one element a thread */
} Accs;
Accs accs_new(KGen *kg, const Exp *e);
void accs_declare(KGen *kg, const Accs *ac, const Atoms *nes);
/* acc := op(a, x), for C texts a and x. */
void accs_apply(KGen *kg, const Accs *ac, const char **a, const char **x);
/* The local buffers of a kernel at level 1. */
void accs_local(KGen *kg, Accs *ac);
/* "buf[at]" for each buffer. */
const char **accs_at(KGen *kg, const Accs *ac, const char *at);
const char **accs_atoms(KGen *kg, const Accs *ac, const Atom *atoms);
void accs_put(KGen *kg, const Accs *ac, const char *at); /* buf[at] = acc */
/* Reduces the accumulators of the `threads` threads p = 0.. of each chunk, in order, into thread
 * 0's acc. Barriers: uniform if threads is. `lid`: this thread's place in the buffers. */
void accs_tree(KGen *kg, const Accs *ac, const char *lid, const char *p, const char *threads,
               const char *active);
/* Inclusive scan of acc over p = 0 .. threads-1; afterwards (behind a barrier) also in the buffers.
 */
void accs_scan(KGen *kg, const Accs *ac, const char *lid, const char *p, const char *threads,
               const char *active);

/* A barrier between uses of the buffers. */
void seg_barrier(KGen *kg);

/* A branch of host operations: cond is an i64 host value, then_ is taken when it is not 0. */
typedef struct {
    HostOp op;
    HostOps *outer;
} HostIf;
HostIf host_if_more(Host *h, const Sx *a, int64_t than); /* a > than: now in then_ */
void host_if_else(Host *h, HostIf *hi);
void host_if_end(Host *h, HostIf *hi);

/* The mapped-out results of the present element (its nest is bound): wishes and stores. */
void seg_hint_maps(KGen *kg, const Exp *e, const KLoc *maps, const Stm *s);
void seg_store_maps(KGen *kg, const Exp *e, const KLoc *maps, const Stm *s);

/* The locations of s's results from .. inside a kernel. */
KLoc *seg_outs(KGen *kg, const Stm *s, int from, const ArrLoc *outs);
/* The active thread's share of its chunk, accumulated; outer dimensions are bound. maps: where the
 * mapped-out results go (NULL: nowhere). */
void seg_accumulate(KGen *kg, const Exp *e, const Accs *ac, const SegNames *n, const KLoc *maps,
                    const Stm *s);
/* Scans a chunk in tiles, beginning with acc. Closes the loop over chunks. All threads must come
 * here. */
void seg_scan_chunk(KGen *kg, const Stm *s, const Accs *ac, const SegNames *n, const KLoc *outs);
/* A whole segment by this thread, whatever the operator works on; outer dimensions are bound. */
void seg_fold(KGen *kg, const Exp *e, const Stm *s, KLoc *outs, bool scan);
/* A kernel of it. */
void seg_sequential(Host *h, const Stm *s, const ArrLoc *outs, bool scan);

/* One stage of a segmented reduction: a kernel whose outputs are the parameters named outs, one an
 * accumulator, written at the number of the chunk. */
typedef struct {
    KGen *kg;
    Kernel *k;
    const char **outs;
} Stage;
/* Reduces the elements of e's nest (mapped-out results written to outs, or not at all if NULL). */
Stage red_elements(Host *h, const Exp *e, const Segments *sg, const ArrLoc *outs, const Stm *s);
/* Reduces partial results read from parts: sg->n_segs times sg->width of them. */
Stage red_partials(Host *h, const Exp *e, const Segments *sg, Mem *const *parts);
void stage_launch(const Stage *st, const Segments *sg, Mem *const *outs);

#endif
