/* Kernel plans: a compiled program as plain data, before it is text. A plan is a list of kernels
 * (the device side: kernel IR as made and on each target, with a typed parameter list) and, for
 * each entry point, a tree of host operations (allocate, launch, copy, read a scalar, branch,
 * loop). `--emit=plan` prints it, emit/ turns it into C against runtime/core/rt.h.
 * host/ walks the host level of an entry and appends operations; kernels/ makes the piece of a plan
 * that a parallel construct is. */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include "base/ident.h"
#include "kir/hash.h"
#include "kir/target/target.h"
#include "memory/memory.h"

typedef VEC(const char *) Texts;

/* --- Kernels ------------------------------------------------------------------------------- */

typedef struct {
    KParamKind kind;
    const char *name; /* C name of the parameter */
    KVar *var;        /* KP_SCALAR, KP_HEAP: the kernel's variable */
    KBuf *buf;        /* KP_MEM, KP_LOCAL, KP_HEAP: the kernel's buffer */
    PrimType type;    /* KP_SCALAR: its type; KP_MEM, KP_LOCAL: element type */
    /* The argument at the launch: */
    Mem *mem;          /* KP_MEM */
    bool updated;      /* KP_MEM: read and written, so that a second launch would not do the same */
    const KExp *value; /* KP_SCALAR; of type i64 a size */
    const KExp *bytes; /* KP_LOCAL */
} KParam;
typedef VEC(KParam) KParams;

/* An irregular piece of a kernel: an array whose size is known only inside the thread, and what
 * that meant (explain). */
typedef struct {
    Loc loc;
    const char *text; /* follows "runs sequentially inside the thread, " */
    bool heap;        /* no bound of its memory is known before the launch */
} Irregular;
typedef VEC(Irregular) Irregulars;

typedef struct Kernel {
    const char *name; /* C identifier, says what it is: "segmap_main_12", unique in the program */
    int id;           /* index in Plan.kernels */
    Loc loc;          /* provenance: the source construct */
    const char *what; /* one line for people: the seg construct as the paper prints it */
    KFun *fun;        /* what it does, as made */
    KFun *on[N_KTARGETS]; /* ... and as each target runs it (plan_put_on_targets) */
    bool *together;       /* by two parameters: may they be about one block in some launch? */
    bool sized;           /* it pays to build it for its sizes, see steady.c */
    bool declares;        /* ... for that of local memory, no others */
    bool *steady;         /* by parameter: is it the same in each launch of a run? */
    KKey key;             /* set by kernel_intern: what it does, up to names */
    KParams params;       /* of the first launch; identical kernels are shared, see kernel_intern */
    bool failure;         /* records run-time failures, or asks for them: KP_FAILURE is there */
    bool may_fail;        /* records run-time failures */
    bool fixed_group;     /* its work-items meet at barriers: groups have their size for a reason */
    int private_words;    /* that a work-item's arrays have on GPUs */
    const Exp *seg;       /* the construct it was made for (explain), NULL for helpers */
    const char *local;    /* bytes of local memory, for people; NULL: none */
    Irregulars irregulars; /* in the order of the text */
} Kernel;
typedef VEC(Kernel *) Kernels;

/* --- Host operations ----------------------------------------------------------------------- */

typedef struct HostOp HostOp;
typedef VEC(HostOp *) HostOps;

typedef enum {
#define HOSTOP(TAG, ...) H_##TAG,
#include "plan/hostops.def"
#undef HOSTOP
    N_HOSTOPS
} HostOpKind;

/* Members of an operation that say what it works with. */
enum {
    HM_TEXT = 1 << 0,
    HM_MEM = 1 << 1,
    HM_MEM2 = 1 << 2,
    HM_VAR = 1 << 3,
    HM_EXP = 1 << 4,
    HM_EXP2 = 1 << 5,
    HM_CHOICE = 1 << 6,
    HM_SUFF = 1 << 7,
    HM_DIMS = 1 << 8,
    HM_DST = 1 << 9,
    HM_SRC = 1 << 10,
    HM_KERNEL = 1 << 11,
    HM_ARGS = 1 << 12,
    HM_SIDES = 1 << 13,
    HM_FITS = 1 << 14,
    HM_NUMBERS = 1 << 15,
    HM_ELEMS = 1 << 16,
    HM_RANKS = 1 << 17
};
/* Traits: hostops.def tells of them. */
enum {
    HO_DEFINES = 1 << 0,
    HO_TOTAL = 1 << 1,
    HO_GIVES = 1 << 2,
    HO_TAKES = 1 << 3,
    HO_ACTS = 1 << 4,
    HO_CALLS = 1 << 5,
    HO_REPORTS = 1 << 6,
    HO_SITE = 1 << 7,
    HO_BYTES = 1 << 8,
    HO_PLACE = 1 << 9,
    HO_STAYS = 1 << 10
};
typedef struct {
    const char *tag, *word;
    unsigned has, may, traits;
    int lines;
} HostOpInfo;
extern const HostOpInfo hostop_info[N_HOSTOPS]; /* hostops.def has the columns */

/* A block: fresh, or one of the context that launches share (rt_board, rt_counts). */
typedef enum { ALLOC_FRESH, ALLOC_BOARD, ALLOC_COUNTS } AllocFrom;
extern const char *const alloc_from_text[];

/* A version works inside work-groups: before it is taken, each kernel in it must fit. So must one
 * that a maker launches where it has another. */
typedef struct {
    Kernel *kernel;
    const KExp *group_size;  /* work-items */
    const KExp *local_bytes; /* dynamic local memory */
} Fit;
typedef VEC(Fit) Fits;

/* A kernel that a maker takes where it can run and pays, instead of what it takes else. Users may
 * say otherwise. */
typedef struct {
    const char *kind;   /* of kernel: "segtile" */
    const char *pays;   /* when, for people: "blocks of both factors keep the device busy" */
    Loc loc;            /* of the construct ... */
    const Entry *entry; /* ... and whose it is */
    const char *name;   /* "main.choice_segtile_0" (host_choices) */
} Choice;

struct HostOp {
    HostOpKind kind;
    Loc loc;
    const char *text;
    Mem *mem, *mem2;
    const Var *var;
    const KExp *exp, *exp2;
    Choice *choice;   /* H_CHOOSE */
    const Exp *suff;  /* H_SUFF: a SUFF */
    const Exp *ranks; /* H_RANKS: SHARED, .. PEER; H_GATHER; rows given or got: ROWS, PARTED */
    PrimType type;
    Atoms dims;
    ArrLoc dst, src;
    /* launch */
    Kernel *kernel;
    KParams args; /* like kernel->params, with the arguments of this launch */
    int n_launch_dims;
    const KExp *groups[3], *local[3];
    const KExp *bytes,
        *operations; /* that it must move and compute (work.c); for profiles; NULL: not known */
    /* branch and loop */
    LoopKind loop_kind;
    const char *threshold; /* H_LOOP that launches, not in another one: whether its steps are short;
                            * H_RANKS of SHARED: its name */
    HostOps then_, else_;  /* H_LOOP: then_ is the body */
    Fits fits;             /* H_IF: then_ is taken only if all fit */
    bool guard;            /* H_IF on a SUFF: if a launch in then_ is refused, else_ runs */
    int site;              /* index in Plan.sites; H_RECALL: its number */
    AllocFrom from;        /* H_ALLOC */
    KExps numbers;         /* of messages, i64 */
    KExps elems;           /* H_LITERAL */
};

/* A place where the program may fail at run time. */
typedef struct {
    Loc loc;
    const char *msg; /* printf-like with %ld for each argument, at most 8 */
} Site;
typedef VEC(Site) Sites;

typedef struct {
    const Entry *entry;
    VEC(ArrLoc) param_locs;  /* per entry->params (mem NULL for scalars); row-major, offset 0 */
    VEC(ArrLoc) result_locs; /* per result, row-major, offset 0, fresh or param block */
    Atoms results;
    HostOps ops;
    int n_mems; /* Mem.id is below that */
} EntryPlan;

typedef struct {
    const char *name; /* "main.suff_outer_par_0" */
    bool intra;
    bool loop;         /* of a loop's steps: they are launched one by one where it is reached */
    bool ranks;        /* of what is shared out over ranks */
    Loc loc;           /* that loop, or the first of what is shared out ... */
    const char *entry; /* ... and whose it is */
    Path path;
} Threshold;

/* A size that users may set for an entry: another number of work-items in its groups... */
typedef struct {
    SizeId id;
    const Entry *entry;
    const char *name; /* "main.group_size" */
    Kernels kernels;  /* those that it has a part in */
} SizeParam;

typedef struct {
    Arena *arena;
    Kernels kernels;
    PtrMap *functions; /* Function -> KFun: those that kernels call */
    Sites sites;
    VEC(EntryPlan *) entries;
    VEC(Threshold) thresholds;
    VEC(SizeParam) size_params;
    VEC(Choice *) choices;
    Texts user_params;  /* names of the user's tuning parameters, of all entries */
    bool strict_math;   /* on CPUs, see MF_STRICT_MATH (runtime/kernels/native.h) */
    bool fast_math;     /* matrix units may round factors of f32 */
    bool same_math;     /* ... see MF_SAME_MATH there */
    bool same_products; /* on GPUs, see MF_SAME_PRODUCTS (runtime/kernels/prelude.cl) */
    int n_recalls;      /* numbers of H_RECALL are below */
    bool ranks;         /* it is for several processes: MPI */
    bool server;        /* the program speaks the server protocol without being asked to */
} Plan;

/* --- plan.c -------------------------------------------------------------------------------- */

int plan_site(Plan *p, Loc loc, const char *text); /* a text of ir/stops.h; shared if equal */
/* The program's tuning parameters by their ids: thresholds, sizes, the user's, choices. */
int plan_n_params(const Plan *p);
const char *plan_param_name(const Plan *p, int id);
/* Adds the kernel, or finds one of the same construct that does the same: versions share kernels. A
 * new one is not on targets yet. */
Kernel *kernel_intern(Plan *p, Ctx *cx, Kernel k);

/* stages.c: what is done to a plan when all launches are there. */
typedef struct {
    const char *name;
    void (*run)(Ctx *cx, Plan *p);
    const char *why;
} PlanStage;
extern const PlanStage plan_stages[]; /* the last row has no name */
/* Verifies a plan as the host level leaves it, and runs them all. */
void plan_finish(Ctx *cx, Plan *p);

/* launches.c: finds which parameters of kernels share no block; makes of each kernel those of the
 * targets. */
void plan_note_blocks(Ctx *cx, Plan *p);
void plan_put_on_targets(Ctx *cx, Plan *p);
/* steady.c: finds the steady parameters of kernels, by all launches. */
void plan_steady(Ctx *cx, Plan *p);
/* ... and says so in the kernel of a target, of those that it computes indices with. */
void kernel_put_steady(const Kernel *k, KFun *on);
/* size_params.c: finds the sizes that each entry's kernels depend on. */
void plan_size_params(Ctx *cx, Plan *p);

/* --- plan_ops.c: questions about operations ------------------------------------------------ */

/* Has an operation of that kind one of the traits? */
static inline bool op_is(const HostOp *op, unsigned traits)
{
    return (hostop_info[op->kind].traits & traits) != 0;
}
/* Does it give all ranks all rows of an array, not only some beside their own? */
static inline bool op_is_gather(const HostOp *op)
{
    return op->kind == H_ROWS && op->ranks->kind == E_GATHER && op->ranks->ranks.args.n <= 2;
}
/* The members that it has, as HM_. */
unsigned op_members(const HostOp *op);
/* The operation without those inside. */
HostOp op_alone(const HostOp *op);
/* All operations, in order, one before those inside. */
void ops_visit(const HostOps *ops, void (*f)(void *env, HostOp *op), void *env);
/* Is one of them of one of these traits, of that kind, nested ones included? */
bool ops_are(const HostOps *ops, unsigned traits);
bool ops_have(const HostOps *ops, HostOpKind kind);
/* The variables that an operation reads, nested ones included. */
void op_uses(VarSet *used, const HostOp *op);
/* The variables that a result of an entry mentions: itself, its sizes. */
void result_uses(VarSet *used, Atom a);
/* The sizes of the device that an operation mentions, nested ones included. */
void op_sizes(bool used[N_SIZES], const HostOp *op);
/* The block names that an operation itself mentions (not nested ones). */
typedef VEC(Mem *) Mems;
void op_mems(Arena *a, Mems *out, const HostOp *op);
bool op_mentions(const HostOp *op, const Mem *m); /* nested ones too */

/* --- entry_key.c --------------------------------------------------------------------------- */

/* What the entry does, wherever in whichever file it is written. kernels: by id, what each does. */
uint64_t plan_entry_key(const EntryPlan *ep, const uint64_t *kernels);

/* --- plan_verify.c ------------------------------------------------------------------------- */

/* What is wrong with the operations of an entry, NULL if nothing; *at: where (NULL: at its
 * results). */
const char *plan_wrong(Arena *a, const Plan *p, const EntryPlan *ep, const HostOp **at);
void plan_verify(Ctx *cx, const Plan *p); /* ice if there is something */

/* --- plan_print.c -------------------------------------------------------------------------- */

void plan_print(Out *o, const Plan *p); /* as --emit=plan shows it */

#endif
