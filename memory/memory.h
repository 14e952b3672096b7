/* Memory and layout of the arrays of the host level: which block each one lies in and by which
 * index function, decided before any kernel or host operation is made.
 *
 *   lmad.c         index functions
 *   computed.c     arrays that are never made
 *   place.c        where results are built (place.h)
 *   reads.c        how a construct reads arrays
 *   layout.c       readers, writers and ways of each array
 *   layout_search.c  the layouts that cost least
 *   order.c        in which order threads go through a nest
 *   reread.c       the pass that makes copies in other layouts for reading
 *   within.c       results that are built in the array that they become part of
 *   assign.c       blocks and index functions; the copies that these need are statements
 *   level0.c       the arrays that work-groups make
 *   memory_print.c the text of --emit=memory */
#ifndef MEMORY_MEMORY_H
#define MEMORY_MEMORY_H

#include "memory/lmad.h"

/* A block of device memory, named by a host variable of type rt_mem*, reference-counted at run
 * time; or of local memory, of a work-group. */
typedef struct {
    const char *name; /* C identifier, unique in its entry: "xs_mem_12" */
    int id;
    bool is_param; /* owned by the caller */
    bool borrowed; /* may be a block that must not be overwritten: a parameter that is not unique */
    int root;      /* smallest id of the blocks that it may stand for */
    bool local;
    const Exp *computed; /* an IOTA, or a REPLICATE of a scalar, that is no block at all: an element
                            is computed from where it would lie (computed.c) */
    const KExp *elems;   /* local: as many elements as this, which the host knows; NULL: no bound */
} Mem;

/* Where a host-level array lies. Bool elements take one byte. */
typedef struct {
    Mem *mem;
    Lmad at;
} ArrLoc;

Mem *mem_new(Ctx *cx, const char *base, int id);

/* The pass `layout`: arrays that a construct would read with a stride again and again are read
 * through let am = manifest (perm) a which is a with its dimensions laid out so that permuting them
 * by perm gives row-major order. */
PassFn mem_layout;

/* The pass `memory`: what must be copied is copied by statements:
 *  - an array that a branch or a loop passes on in another layout than its block has;
 *  - an array that is updated in place although its block must stay as it is: a parameter that the
 * caller keeps, or what a guarded version finds, in case that it is refused;
 *  - the operand of a reshape that no index function can say, results of the entry that are views.
 */
PassFn mem_explicit;

/* Memory that a work-group takes for an array: local memory of its own, or the place where the
 * array is wanted. A loop that builds the next value beside the present one has both in one block.
 */
typedef struct {
    ArrLoc loc;            /* the array's, or both of a loop's */
    bool own;              /* in a block that holds nothing else */
    ArrLoc next_loc;       /* a loop's next value ... */
    const Var *cur, *next; /* ... and the variables that hold the offsets of both; else NULL */
    const Var *turn;       /* the array is built row by row: the row's number */
} ArrMade;

typedef struct {
    VarMap *locs;   /* array variable of the host level and of level-0 bodies -> ArrLoc * */
    VarMap *made;   /* ... of level-0 bodies, for which memory is taken -> ArrMade * */
    VarSet *within; /* results of constructs that are built in what they become part of */
    VarSet *groups; /* outermost indices of nests that work-groups can run */
    int n_mems;     /* blocks so far: ids below */
} EntryMemory;
/* The program with its copies (p itself if it has passed `memory`), and for each entry where its
 * arrays lie. */
typedef struct {
    const Prog *prog;
    VEC(EntryMemory) entries;
} Memory;
Memory mem_assign(Ctx *cx, const Prog *p);
/* The arrays of level-0 bodies; those of the host level are there. */
void mem_level0(Ctx *cx, const Entry *en, EntryMemory *em);

/* Do neighbours of the construct's innermost dimension read neighbours in memory, wherever anything
 * can be said of what they read? locs: where arrays lie, ArrLoc *. */
bool mem_reads_along(Ctx *cx, const Exp *seg, const VarMap *locs);

/* Do neighbours of its last dimension but one, as long as that is said of anything? */
bool mem_reads_across(Ctx *cx, const Exp *seg, const VarMap *locs);

/* A loop that computes scalars from array elements, one after the other, is one kernel of one
 * work-item rather than as many transfers as it has steps. */
bool mem_is_device_loop(const Stm *s);

/* Reading `l` as it lies, neighbours being neighbours in dimension `fast`: does a copy pay? A
 * number that is greater than 0 if so, known at run time. */
const KExp *mem_copy_pays(Ctx *cx, Lmad l, Type t, int fast);

/* Arrays of the host level and of work-groups with block and index function, and the statements
 * that make them (--emit=memory). */
void mem_print(Out *o, const Memory *m);
/* "mem[i0*n + i1]" */
void mem_print_loc(Out *o, const ArrLoc *l, int rank);

#endif
