/* Inside a kernel: how one kernel (kir/kir.h) is made from SEG-dialect code.
 *
 *   kernel.c     the builder: parameters, variables, the finished kernel, launches
 *   access.c     elements, rows, copies, loops over positions
 *   heap.c       memory for arrays whose sizes only the thread knows; pieces of work
 *   alloc.c      memory for arrays
 *   index.c      what may go wrong: indices, updates, assertions
 *   call.c       functions, made once for all kernels, and calls of them; operators applied
 *   body.c       statements of one thread, or uniformly of a work-group
 *   carry.c      loops and the values they carry from one iteration to the next
 *   lanes.c      many elements combined, in several accumulators
 *   soac.c       sequential map, reduce, scan, redomap, scanomap, scatter
 *   hist.c       sequential histograms; updates of bins (hist.h)
 *   nest.c       index spaces of seg constructs; what their kernels have in common
 *   segmap.c segtile.c segred.c segscan.c segscatter.c seghist.c   level 1
 *   group.c groupseg.c groupscan.c groupafter.c   level 0 inside a level-1 segmap
 *
 * Two modes of the same walk over statements:
 *   thread mode (kg->coop false)  the code belongs to one work-item;
 *   group mode  (kg->coop true)   all work-items of a group execute it: scalars are computed
 *       redundantly and are the same everywhere, arrays lie in local memory and are written by all
 *       together. Shared memory is written only between barriers, see kg_sync.
 *
 * A variable that the kernel does not bind is the host's: kg_atom and kg_arr make it a parameter at
 * its first use. Index arithmetic is made of sizes (size/size.h) and becomes expressions in kg_at.
 */
#ifndef KERNELS_KERNEL_H
#define KERNELS_KERNEL_H

#include "base/ptrmap.h"
#include "cost/cost.h"
#include "kernels/makers.h"
#include "memory/place.h"
#include "plan/expr.h"
#include "size/prove.h"

/* Where an array's elements lie inside a kernel. */
typedef struct {
    KBuf *mem;
    const Exp *computed; /* no memory: elements are computed from their positions (memory.h) */
    Lmad at;             /* over variables of the kernel */
    bool fresh;          /* memory of this thread (group mode: group), may be written in place */
    bool heap;           /* in the thread's heap (heap.c) */
} KLoc;

typedef struct KGen KGen;
typedef void KStms(KGen *kg, const Body *b);

struct KGen {
    PlanBuild *pb; /* of the construct at work */
    Ctx *cx;
    const Exp *seg;
    const char *kind; /* "segmap": begins the kernel's name */
    KStms *stms;      /* kg_stms: what constructs hold is code, whose maker has them all below it */
    KBuild *kb;       /* the kernel being made */
    KBlock top;       /* declarations at the kernel's beginning */
    KParams params;
    const KExp *lid,
        *stopped;      /* the work-item's number in its group; has an earlier launch failed? */
    VarMap *arrs;      /* array variable -> KLoc* */
    VarMap *vars;      /* scalar variable -> its KVar */
    VarMap *params_of; /* set: those that are parameters */
    VarMap *results;   /* scalar variable -> KVar bound further out that takes its value */
    PtrMap *blocks;    /* group mode: Mem of local memory -> its KBuf */
    VarMap *hints;     /* array variable -> KLoc*: where its value is wanted */
    const Var *turn;   /* of the loop at work; NULL: there is none with a counter */
    VarSet *early;     /* what was loaded before the branch that does it */
    VarSet *unread;    /* results of scans that nobody reads: they are not stored */
    Ranges *known;     /* of numbers, at the place where code is made */
    SxBounds *bounds;  /* of sizes computed here, as host expressions */
    bool coop;         /* group mode */
    bool clean;        /* group mode: nothing touched shared memory since the last barrier */
    bool may_fail;     /* records failures */
    bool waits; /* for other groups; that it did so in vain is a failure, which is seen late */
    bool guard; /* does nothing once an earlier launch failed: its data decide addresses */
    bool uses_scratch; /* has thread memory in a global block: the number of threads is bounded */
    bool uses_heap;    /* ... or a heap */
    bool heap_dirty;   /* something was taken from the heap since the last mark */
    KVar *heap_top;    /* bytes in use */
    const KExp *heap_mine;            /* where the thread's chunk begins */
    const KExp *thread_stride;        /* between elements of a thread's slice of a global block */
    KBuf *heap, *heaps[N_PRIM_TYPES]; /* the thread's chunk, and as elements of a type */
    bool sized;                       /* it pays to build it for its sizes: see plan/steady.c */
    bool declares; /* ... only for local memory's, of which it takes more than devices tell */
    bool solo;     /* level-0 constructs are executed by one thread */
    Loc at;        /* of the statement at work */
    Irregulars irregulars;
    const KStm *work;        /* the thread's present piece of work: failures leave it */
    const KExp *max_threads; /* host: how many threads there are at most when uses_scratch */
    const KExp *group_size;  /* host: work-items a group, or a column of it */
    const KExp *columns; /* host: elements that a group may have at a time (kir/passes/columns.h);
                          NULL: one */
    bool pads;           /* its arrays in local memory may have gaps (kir/passes/padded.c) */
    bool few;            /* few work-items may do for an element, less than a warp */
};

/* --- kernel.c ------------------------------------------------------------------------------ */

KGen *kg_begin(PlanBuild *pb, const char *kind, const Exp *seg, KStms *stms); /* body.c: kg_new */
/* The statements of b; what it binds is bound, until it is made again. */
void kg_stms(KGen *kg, const Body *b);
/* The variable of the kernel that v is, new: to be bound by what the caller makes next. */
KVar *kg_bind(KGen *kg, const Var *v);
void kg_let(KGen *kg, const Var *v, const KExp *x); /* binds v to x */
/* Binds v to a variable that changes; init may be NULL. kg_set changes it. */
void kg_var(KGen *kg, const Var *v, const KExp *init);
void kg_set(KGen *kg, const Var *v, const KExp *x);
/* A scalar atom; a host variable becomes a parameter. */
const KExp *kg_atom(KGen *kg, Atom a);
const KExp *kg_sx(KGen *kg, Atom a); /* the same as a size */
/* An expression of the kernel as a size: it gets a name unless it is a constant or has one. */
const KExp *kg_sx_of(KGen *kg, const KExp *x);
/* A size over variables of the kernel (and of the host: parameters) as exact arithmetic. */
const KExp *kg_at(KGen *kg, const KExp *sx);
/* A scalar expression (PRIM, CONV, ATOM). */
const KExp *kg_scalar(KGen *kg, const Exp *e);
/* Is it a division by what the host knows to be at least 1? */
bool kg_divides_safely(KGen *kg, const Exp *e);
Scalars kg_scalars(KGen *kg);
/* The value of a host expression, through parameters: as a size, as an expression. */
const KExp *kg_host_sx(KGen *kg, const KExp *sx);
const KExp *kg_host(KGen *kg, const KExp *sx);
Lmad kg_host_lmad(KGen *kg, Lmad l, int rank);
/* A parameter for a host value / a block, shared when there is one already. */
KBuf *kg_param_mem(KGen *kg, Mem *mem, PrimType elem);
/* A block that each launch gives (kg_launch_on). */
KBuf *kg_param_out(KGen *kg, const char *base, PrimType elem);
/* The kernel reads and writes this block, so that a second launch would not do the same as the
 * first. */
void kg_updates(KGen *kg, const Mem *mem);
KBuf *kg_param_local(KGen *kg, const char *base, PrimType elem, const KExp *count);
const KExp *kg_local_bytes(const KGen *kg); /* host: of all of these */

/* Open a branch for targets whose work-items work together in a group (trait TEAMS), or those
 * where each works by itself; kb_else and kb_end go with it. */
void kg_if_teams(KGen *kg);
void kg_if_single(KGen *kg);
const KExp *kg_global_id(KGen *kg);   /* the work-item's number in the grid ... */
const KExp *kg_global_size(KGen *kg); /* ... of so many */

/* Short forms of what makers write most. kx: (kg, x, y) -> expression. */
#define KX_ARENA(kg)      ((kg)->cx->perm)
#define kg_int(kg, k)     kx_int(KX_ARENA(kg), (k))
#define kg_id(kg, id)     kx_id(KX_ARENA(kg), (id))
#define kg_add(kg, x, y)  kx_add(KX_ARENA(kg), (x), (y))
#define kg_sub(kg, x, y)  kx_sub(KX_ARENA(kg), (x), (y))
#define kg_mul(kg, x, y)  kx_mul(KX_ARENA(kg), (x), (y))
#define kg_quot(kg, x, y) kx_quot(KX_ARENA(kg), (x), (y))
#define kg_rem(kg, x, y)  kx_rem(KX_ARENA(kg), (x), (y))
#define kg_min(kg, x, y)  kx_min(KX_ARENA(kg), (x), (y))
#define kg_max(kg, x, y)  kx_max(KX_ARENA(kg), (x), (y))
#define kg_lt(kg, x, y)   kx_lt(KX_ARENA(kg), (x), (y))
#define kg_le(kg, x, y)   kx_le(KX_ARENA(kg), (x), (y))
#define kg_eq(kg, x, y)   kx_eq(KX_ARENA(kg), (x), (y))
#define kg_and(kg, x, y)  kx_and(KX_ARENA(kg), (x), (y))
#define kg_of(kg, v)      kx_var(KX_ARENA(kg), (v))

/* An upper bound, as a host expression, of an i64 atom; NULL if none is known. */
const KExp *kg_bound(KGen *kg, Atom a);

/* The number of elements of an array of type t, or a bound of it, as a host expression; NULL where
 * none is known. */
const KExp *kg_bound_count(KGen *kg, Type t);

bool kg_is_regular(KGen *kg, Type t); /* are all its sizes known to the host? */

/* Array locations. */
KLoc *kg_arr(KGen *kg, const Var *v);
void kg_bind_arr(KGen *kg, const Var *v, KLoc loc);
const KExp *kg_zero(KGen *kg, PrimType t);
/* The loop that was just opened is unrolled so many times (-1: whole). */
void kg_loop_unroll(KGen *kg, int times);
/* Turns of a loop (loads_first.c): each for so many neighbours, `together`. */
typedef struct {
    const KExp *n;
    int together;
    KVar *turn,
        *beside; /* the number of the turn, and of a neighbour, in the block of one of them */
} KTurns;
KTurns kg_turns(KGen *kg, const KExp *n, int together);
/* The loop, with `one`, which nobody needs any more. Where that loads from global memory before it
 * does anything else, some turns load what they need before the first one goes on; the last turn
 * may be done several times, then. */
void kg_take_turns(KGen *kg, const KTurns *t, KBlock *one);
/* Notes the statement at work as irregular, for explain. */
void kg_irregular(KGen *kg, bool heap, const char *text);
/* The finished kernel, interned (kg->columns becomes NULL if it can not have any); its launch as
 * `groups` work-groups of kg->group_size, with the blocks `outs` in place of the parameters made by
 * kg_param_out. */
Kernel *kg_finish(KGen *kg);
/* The function that is made with a GIVE of this, and the passes over kernels. */
void kg_finish_function(KGen *kg, const KExp *gives);
void kg_launch(KGen *kg, Kernel *k, const KExp *groups);
void kg_launch_on(KGen *kg, Kernel *k, Mem *const *outs, const KExp *groups);

/* Work-items of a group that share out work; 1 where the trait TEAMS is not. */
const KExp *sx_team_size(Ctx *cx);
/* 1 where the trait TEAMS is not: work-items work for themselves; else 0. */
const KExp *sx_single(Ctx *cx);
/* More than 0 where the trait TEAMS is, also of teams that a user made of one; else 0. */
const KExp *sx_teams(Ctx *cx);

/* Is v read by statements of b from number `from` on, or a result? */
bool body_reads_from(Ctx *cx, const Body *b, int from, const Var *v);

/* --- access.c ------------------------------------------------------------------------------ */

/* Element i of an IOTA. */
const KExp *kg_iota_elem(KGen *kg, const Exp *e, const KExp *i);
/* The element; v bound to it; the store of one. */
const KExp *loc_load(KGen *kg, const char *base, const KLoc *l, const KExp *const *ix, int n);
void kg_load(KGen *kg, const Var *v, const KLoc *l, const KExp *const *ix, int n);
void loc_store(KGen *kg, const KLoc *l, const KExp *const *ix, int n, const KExp *x);
void loc_store_at(KGen *kg, KPlace p, const KLoc *l, const KExp *x); /* the only one, at p */
/* Row i of the array (of the given rank). */
KLoc loc_row(KGen *kg, const KLoc *l, int rank, const KExp *i);
KLoc loc_row_n(KGen *kg, const KLoc *l, int rank, const KExp *const *ix, int n);
/* Copies all elements of an array of type t; in group mode cooperatively, between barriers. */
void kg_copy(KGen *kg, const KLoc *dst, const KLoc *src, Type t);
/* Loops over all positions of a shape; ix (t.rank of them) become their indices. In group mode the
 * positions are dealt out to the threads. */
void kg_loops_open(KGen *kg, Type t, const KExp **ix);
void kg_loops_close(KGen *kg, Type t);
void kg_loops_open_shared(KGen *kg, Type t,
                          const KExp **ix); /* always dealt out; kg_close_shared */
/* A loop in which the threads of a group share out 0 .. total-1; this thread's number. straight: it
 * will hold little code, without loops. */
const KExp *kg_open_shared(KGen *kg, const KExp *total, bool straight);
void kg_close_shared(KGen *kg);
/* Stores v (scalar or array of type t) at loc; array values already there are left. */
void kg_store(KGen *kg, const KLoc *dst, Type t, Atom v);
/* Binds x (scalar: declared and loaded; array: a view) to row i of arr. */
void kg_bind_row(KGen *kg, const Var *x, Atom arr, const KExp *i);
/* flat = q * width + r: q is returned, r goes to *r. */
const KExp *kg_split(KGen *kg, const KExp *flat, const KExp *width, const KExp **r);
/* The flat number's indices in a shape: declares them by the given variables, outermost first. */
void kg_unflatten(KGen *kg, const KExp *flat, Var *const *idx, const Atom *widths, int n);
void kg_meet(KGen *kg);
/* Group mode: a barrier unless there was just one. Thread mode: nothing. */
void kg_sync(KGen *kg);
void kg_if_first(KGen *kg); /* opens the branch of the group's first work-item */
void kg_touch(KGen *kg);    /* shared memory is read or written from here on */

/* --- heap.c -------------------------------------------------------------------------------- */

typedef struct {
    KPlace at;
    bool dirty;
} HeapMark;
/* Memory from the heap for an array of type t, whose sizes are known now. */
KLoc heap_alloc(KGen *kg, const Var *v, Type t);
/* An array of type t that lies at the offset held by variable off. */
KLoc heap_at(KGen *kg, Type t, const KVar *off);
/* Between the two, at the same depth of blocks, what is taken from the heap is given back. */
HeapMark heap_mark(KGen *kg);
void heap_release(KGen *kg, HeapMark m);
/* In a branch: off := where array v lies in the heap, which is copied there if it lies elsewhere.
 */
void heap_join(KGen *kg, KVar *off, const Var *v);
/* The arrays of changing size that a loop carries. */
typedef struct {
    KVar *off;        /* where the param lies */
    const Var *next;  /* the next value */
    KVar *src;        /* where that lies */
    const KExp *size; /* its bytes */
} HeapMove;
typedef struct {
    const KExp *base; /* the heap's top before the loop */
    int n;
    HeapMove *at;
} HeapCarry;
void heap_carry_open(KGen *kg, HeapCarry *hc);
/* The variable for a param that starts as init. */
KVar *heap_carry_begin(KGen *kg, const Var *param, const Var *init);
/* At the end of an iteration: params := next values, the rest is given back. */
void heap_carry_step(KGen *kg, HeapCarry *hc);
/* Pieces of work that end early on failure: between begin and end, failures jump to the end.
 * Returns the state to give back to kg_work_end. */
typedef struct {
    const KStm *work;
    HeapMark heap;
} WorkMark;
WorkMark kg_work_begin(KGen *kg);
void kg_work_end(KGen *kg, WorkMark m);
bool kg_work_fails(KGen *kg); /* can the present piece of work end early, so far? */

/* --- alloc.c ------------------------------------------------------------------------------- */

/* Memory for an array of type t: a private array, a slice of a global block, the thread's heap, or
 * local memory. A hint for v (may be NULL) is taken instead. */
KLoc kg_alloc(KGen *kg, const Var *v, Type t);
/* Memory of its own for what is made beside v: never where v is wanted. */
KLoc kg_alloc_own(KGen *kg, const Var *v, Type t);
/* Would kg_alloc give v a slice of a global block for each thread? */
bool kg_is_scratch(KGen *kg, const Var *v, Type t);
/* The same slice, with room for one row more in front: from there on, and v. */
void kg_alloc_after_row(KGen *kg, const Var *v, Type t, KLoc *first, KLoc *rest);
/* May v be built by writing over the array at l? */
bool kg_in_place(KGen *kg, const Var *v, const KLoc *l);
/* Thread mode: v, if b binds it, is wanted at dest: its maker is told so. (For a group
 * memory/level0.c has done that.) */
void place_hint(KGen *kg, const Body *b, Atom v, KLoc dest);
/* Would an array of this type be a private one? */
bool kg_is_private(KGen *kg, Type t);

/* The memory that the group takes for v; NULL if v lies in another array's. */
const ArrMade *group_made(KGen *kg, const Var *v);
KLoc group_alloc(KGen *kg, Type t); /* for what a construct needs; t has a bound */
KBuf *group_buffer(KGen *kg, PrimType elem, const KExp *count); /* local memory from here on */

/* --- index.c ------------------------------------------------------------------------------- */

void kg_index(KGen *kg, const Stm *s);
void kg_update(KGen *kg, const Stm *s);
void kg_assert(KGen *kg, const Stm *s);
/* Checks of a scalar operation that may trap (division). */
void kg_prim_checks(KGen *kg, const Exp *e);

/* --- call.c -------------------------------------------------------------------------------- */

void kg_call(KGen *kg, const Stm *s);
/* n scalars: op(a, x). */
const KExp **kg_apply(KGen *kg, const Lambda *op, int n, const KExp *const *a,
                      const KExp *const *x);
/* n scalars: acc := op(a, x). */
void kg_combine(KGen *kg, const Lambda *op, int n, KVar *const *acc, const KExp *const *a,
                const KExp *const *x);

/* --- body.c -------------------------------------------------------------------------------- */

/* A kernel to be made; kind: "segmap", which begins its name. */
KGen *kg_new(PlanBuild *pb, const char *kind, const Exp *seg);
void kg_stm(KGen *kg, const Stm *s);

/* --- carry.c ------------------------------------------------------------------------------- */

/* One value carried by a loop. */
typedef struct {
    const Var *param;
    bool array;
    bool buffers; /* the next value is built beside the present one */
    bool swaps;   /* ... and they change roles; else it is copied back */
    bool moves;   /* its size changes: it lies in the heap */
    KVar *off;
    KVar *cur_at, *next_at; /* swaps: the offsets */
    KLoc cur, next;
} Carry;
typedef struct {
    Carry *at;
    int n;
    HeapMark turn; /* no array changes its size: the heap at the start of an iteration */
    HeapCarry heap;
} Carries;
/* Declares and initialises the params before a loop whose body ends with `res`; pats (may be NULL)
 * name the final values, so that hints for them are used. */
Carries *carry_begin(KGen *kg, const Vars *params, int n, const Atoms *inits, const Body *b,
                     const Atom *res, Var *const *pats);
/* First thing in the loop. */
void carry_turn(KGen *kg, Carries *c);
/* To be called before the body's statements: tells where the results are wanted. */
void carry_hint(KGen *kg, Carries *c, const Body *b, const Atom *res);
/* At the end of an iteration: params := res. */
void carry_step(KGen *kg, Carries *c, const Atom *res);
/* After the loop: pats are the last params. */
void carry_end(KGen *kg, Carries *c, Var *const *pats);
void kg_unroll(KGen *kg, const Exp *e); /* the loop that was just opened, if e asks for it */
void kg_loop(KGen *kg, const Stm *s);

/* --- lanes.c ------------------------------------------------------------------------------- */

/* What is combined: n scalars of each element. */
typedef struct {
    const Lambda *op; /* commutes */
    int n;
    const Atoms *nes; /* neutral */
    /* Makes element i: the scalars. */
    const Atom *(*element)(KGen *kg, void *env, const KExp *i);
    void *env;
} Combined;
/* acc := op(acc, the first of n elements), where lanes pay; the number of those that are left for a
 * loop of its own begins at what is returned. The code of an element and of op is made twice more:
 * let it be short. */
const KExp *kg_lanes(KGen *kg, const Combined *l, KVar *const *acc, const KExp *n);

/* --- soac.c -------------------------------------------------------------------------------- */

void kg_soac(KGen *kg, const Stm *s);
void kg_scatter(KGen *kg, const Stm *s);
void kg_hist(KGen *kg, const Stm *s);
/* Where the destinations of s are written in place: copies of those that are not ours to write. */
KLoc *kg_dests(KGen *kg, const Stm *s, const Dests *dests);
/* Binds params to row i of the arrays. */
void kg_bind_rows(KGen *kg, Var *const *params, const Atoms *arrs, const KExp *i);
const KExp *kg_in_bounds(KGen *kg, Atom i, Atom n); /* 0 <= i < n */
/* Writes one scatter value: dest[ix] = val unless out of bounds. */
void kg_scatter_write(KGen *kg, const Dest *d, const KLoc *loc, const Atom *ix, Atom val);
/* Binds params to atoms (scalars are declared, arrays are aliases). */
void kg_bind_params(KGen *kg, Var *const *params, const Atom *args, int n);

/* --- nest.c -------------------------------------------------------------------------------- */

/* Product of the widths of dimensions from .. to-1. */
const KExp *nest_size(Ctx *cx, const Nest *nest, int from, int to);    /* host */
const KExp *nest_size_k(KGen *kg, const Nest *nest, int from, int to); /* kernel */
/* Binds the indices of dimensions 0..n-1 from a flat number, and their xs. */
void nest_bind(KGen *kg, const Nest *nest, int n, const KExp *flat);
/* The same for dimensions from .. to-1; those before are bound. */
void nest_bind_range(KGen *kg, const Nest *nest, int from, int to, const KExp *flat);
/* Binds one dimension at index i. */
void nest_bind_dim(KGen *kg, const NestDim *d, const KExp *i);
/* The first of the numbers from .. to-1 (to, if there is none) that does not come before what is
 * looked for; those that do come first. */
typedef const KExp *NestBefore(KGen *kg, void *env, const KExp *number);
const KExp *nest_bisect(KGen *kg, const KExp *from, const KExp *to, NestBefore *before, void *env);
/* The same for memory that answers late, and several questions at a time: 7 of them a step. */
const KExp *nest_search(KGen *kg, const KExp *from, const KExp *to, NestBefore *before, void *env);
/* Of a ragged dimension: where its rows begin, counted from the first point; the row of a point;
 * does the construct's body ask for that? */
const KExp *nest_offset(KGen *kg, const NestDim *d, const KExp *row);
const KExp *nest_row_of(KGen *kg, const NestDim *d, const KExp *point);
bool nest_wants_row(KGen *kg, const NestDim *d);
/* Binds a point whose row is known. */
void nest_bind_point(KGen *kg, const NestDim *d, const KExp *i, const KExp *row);
/* A host location as a kernel location that may be written. */
KLoc kg_result(KGen *kg, const ArrLoc *l, Type t);
Atom nest_width(const Nest *nest);
/* How many groups are launched for n items a group handles `per_group` of. */
const KExp *nest_groups(KGen *kg, const KExp *n, const KExp *per_group);
/* The same for groups that compute something before their first items: no more than fill the device
 * twice, so that they have several turns each, as many as the others. */
const KExp *nest_groups_turning(KGen *kg, const KExp *n, const KExp *per_group);
/* How many threads these are at most where each has memory of its own. */
const KExp *nest_max_threads(KGen *kg, const KExp *n, const KExp *per_group);
/* n, or nothing to do after an earlier failure. */
const KExp *nest_total(KGen *kg, const KExp *n);
/* Opens the loop over the n (host) elements, one a thread; returns the number. */
const KExp *nest_open(KGen *kg, const KExp *n);
void nest_close(KGen *kg);
/* The same over the elements of the first `depth` dimensions, which it binds; what nest_finish is
 * told. */
const KExp *nest_open_dims(KGen *kg, const Nest *nest, int depth);
/* With a strip a thread, if there are two dimensions or more: a few elements below each other
 * (consecutive in the last dimension but one) where there is plenty to do and work-items should be
 * beside each other. Their loads are on their way at the same time, and indices are computed once.
 */
const KExp *nest_open_strips(KGen *kg, const Nest *nest, int depth);
void nest_close_dims(KGen *kg); /* of either */
/* Finishes and launches the kernel of such a loop, which the caller has closed. */
void nest_finish(KGen *kg, const KExp *n);
bool op_is_comm(const Exp *seg);
/* Does op combine its n scalars one by one, with commutative operations? */
bool lambda_commutes(const Lambda *op, int n);
/* A little scalar code without loops (or branches), so that several elements can be worked on side
 * by side? */
bool seg_is_short(const Body *b, bool branches);
/* Not so little, but without loops? */
bool seg_is_straight(const Body *b);
/* Such that a thread may have it once for each of several elements, as a side of a branch? */
bool seg_is_side(const Body *b);
/* index atoms of nest dims as KExp */
void nest_indices(KGen *kg, const Nest *nest, int n, const KExp **ix);

/* --- group.c, groupseg.c, groupscan.c ------------------------------------------------------ */

/* Level-1 segmap with level-0 constructs inside, all of whose arrays have a bound. */
void make_group(PlanBuild *pb, const Stm *s, const ArrLoc *outs);
void group_seg(KGen *kg, const Stm *s);
/* Statement i of b, which are as many as it returns: a level-0 scan with the maps behind it; 0 if
 * it is something else. */
int group_scan_stms(KGen *kg, const Body *b, int i);

#endif
