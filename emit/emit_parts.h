/* The parts of the emitter among themselves:
 *
 *   emit.c        the whole C file
 *   emit_kernels.c  the kernels' texts and their table
 *   emit_pack.c  texts in few characters
 *   emit_functions.c  kernels that are functions
 *   emit_narrow.c  when 32 bits are enough for their indices
 *   emit_names.c  names and literals that several of them mention
 *   boundary.c    types and entries as callers see them, as data
 *   emit_types.c  ... as tables of the runtime
 *   api.c, api_manifest.c  ... as Futhark's C API
 *   emit_split.c  an entry's operations as functions, and what these share
 *   emit_entry.c  the functions' text around their operations: parameters, state, blocks, results
 *   emit_host.c   the operations
 *   emit_work.c   what launches must do
 *   emit_sizes.c  names for sizes that are long or occur again
 *   embed.c       the text of the runtime */
#ifndef EMIT_EMIT_PARTS_H
#define EMIT_EMIT_PARTS_H

#include "emit/api.h"
#include "emit/emit.h"
#include "plan/expr.h"

typedef struct {
    Ctx *cx;
    Out *o;
    const Plan *p;
    const Boundary *b;
    uint64_t *kernel_hashes; /* by id: of what each kernel does */
    uint64_t kernels_hash;   /* ... and of all of them */
    bool shares_texts;       /* kernels' texts refer to the table `shared` */
    const Kernel **alike;    /* by id: whose function each kernel takes */
    size_t functions;        /* how many bytes of text those are */
} Emit;

/* --- embed.c --------------------------------------------------------------------------------- */

void emit_runtime(Out *o, RuntimePart part);

/* --- emit_names.c ---------------------------------------------------------------------------- */

const char *c_string(Ctx *cx, const char *s);      /* a text as a string literal */
const char *rt_prim_c(PrimType t);                 /* "RT_I32" */
const char *rt_member_c(PrimType t);               /* "i32", of rt_scalar */
const char *entry_fn(const Entry *en);             /* "entry_main" */
const char *kernel_enum(const Kernel *k);          /* "K_segmap_main_12" */
const char *param_enum(Ctx *cx, const char *name); /* "P_main_suff_outer_par_0" */
int emit_param_id(const Plan *p, const char *threshold);

/* --- emit_split.c: the functions that an entry becomes --------------------------------------- */

typedef struct HostFn HostFn;
typedef struct CodeBlock CodeBlock;

/* An operation, or (op NULL) a run of operations that is a function of its own. */
typedef struct {
    const HostOp *op;
    CodeBlock *then_, *else_; /* sides of a branch, body of a loop; NULL: nothing there */
} CodeItem;

struct CodeBlock {
    VEC(CodeItem) items;
    int lines;    /* about how many lines of C it takes where it stands */
    bool chooses; /* versions are compared inside */
    int version;  /* its number in explain's tree; -1: none */
    HostFn *fn;   /* the function that it became; NULL: it stands where it is */
};

typedef enum { FN_ENTRY, FN_VERSION, FN_CHOICE, FN_LOOP, FN_BRANCH, FN_STEP, N_FN_KINDS } FnKind;

/* A C function: an entry, or a piece of one that it calls. Variables and blocks that several of an
 * entry's functions mention are fields of the entry's state; all others are local. */
struct HostFn {
    FnKind kind;
    const char *name;  /* "entry_main", "main__version_3" */
    const char *about; /* for people; NULL: the entry */
    CodeBlock *body;
    HostFn *caller; /* NULL: the entry */
    int depth;
    bool
        guarded; /* if a launch is refused, another version runs: the function returns RT_REFUSED */
    VarSet *reads; /* what its own operations read */
    VarSet *begun; /* what is declared or set here first */
    Vars loads;    /* what another function has begun and this one mentions */
    VarSet *sets;  /* what it sets, or a function that it calls */
    Vars set_list;
    bool sizes[N_SIZES]; /* of the device, that it mentions */
};

/* A variable or block: the first function that mentions it, or the innermost that all functions
 * that do are in, which gives the block back. */
typedef struct {
    HostFn *fn;
    bool shared; /* by several functions */
} Use;

typedef struct {
    VEC(HostFn *) fns; /* those that are called before their callers; the entry is last */
    VarMap *uses;      /* Var -> Use* */
    Vars shared;       /* variables, in order of their first mention */
    Mems mems;         /* all blocks, likewise */
    VEC(Use) mem_uses; /* by Mem.id */
} Split;

/* used: the variables that something reads; others of the entry's parameters are left out. */
Split *emit_split(Ctx *cx, const EntryPlan *ep, const VarSet *used);
bool split_shares(const Split *sp, const Var *v);
const Use *split_mem(const Split *sp, const Mem *m);
/* In how many places of the parameters' types does the size stand? */
int entry_size_count(const Entry *en, const Var *n);
bool entry_has_size(const Entry *en, const Var *n); /* is it a size parameter? */

/* --- emit_sizes.c: names for sizes ----------------------------------------------------------- */

typedef struct SizeNames SizeNames; /* of one function */

SizeNames *size_names_new(Ctx *cx);
/* Before and after the text of a block: counts what occurs in it; forgets what was named in it. */
void size_names_enter(SizeNames *sn, const CodeBlock *b);
void size_names_leave(SizeNames *sn);
/* Before an operation: writes declarations of the names that its sizes want. */
void size_names_for(SizeNames *sn, Out *o, const HostOp *op);
void size_names_is(SizeNames *sn, const KExp *size,
                   const Var *v); /* v has that value from here on */
void size_names_set(SizeNames *sn,
                    const Var *v); /* v gets another value: names made of it are old */
/* The size with its parts by their names. */
const KExp *size_named(SizeNames *sn, const KExp *size);
const char *size_named_c(SizeNames *sn, const KExp *size);

/* --- emit_host.c: operations as text --------------------------------------------------------- */

/* A function while its text is made. */
typedef struct {
    Emit *em;
    Out *o;
    const Split *split;
    const HostFn *fn;
    VarSet *seen; /* scalars declared so far */
    SizeNames *sizes;
    bool owns; /* blocks, so that failures go to `done` */
    bool uses_done, uses_ctx, uses_in, uses_state;
    Loc loc; /* of the last comment */
} Fn;

void emit_block(Fn *f, const CodeBlock *b);
void emit_fail(Fn *f);                 /* `goto done;` or `return rc;` */
void emit_assign(Fn *f, const Var *v); /* `i64 n_3 = `, `n_3 = `, `i64 n_3 = s->n_3 = ` */
const char *mem_c(Fn *f, const Mem *m);
/* Texts with commas between, in lines of at most 100 columns; the first is `first` columns after
 * the indentation, the others begin `indent` columns after it. */
void emit_wrapped(Out *o, const Texts *ts, size_t first, int indent);
void emit_enum(Out *o, const Texts *names); /* numbers from 0 on */

/* --- emit_work.c ----------------------------------------------------------------------------- */

void emit_work(Fn *f, const HostOp *launch); /* a call of rt_work, if there is something to tell */

/* --- emit_entry.c: the C functions of an entry ----------------------------------------------- */

void emit_entry(Emit *em, const EntryPlan *ep);

/* --- emit_kernels.c -------------------------------------------------------------------------- */

void emit_kernels(Emit *em); /* their texts, and the table `kernels` */

/* --- emit_pack.c ----------------------------------------------------------------------------- */

/* The texts in few characters: common/packed.h. */
const char *emit_pack(Arena *a, const Texts *texts);

/* --- emit_functions.c ------------------------------------------------------------------------ */

/* Kernels as C functions. */
void emit_functions(Emit *em);
/* "kernel_segmap_main_0", of the first kernel that does the same. */
const char *kernel_function_name(const Emit *em, const Kernel *k);

/* --- emit_narrow.c: a function for each kernel, an rt_narrow --------------------------------- */

void emit_narrow(Emit *em, const Kernel *k);
/* "NULL": in no launch has the host to ask whether 32 bits are enough for indices. */
const char *narrow_name(Ctx *cx, const Kernel *k);

/* --- emit_types.c ---------------------------------------------------------------------------- */

void emit_entries(Emit *em); /* the tables `types` and `entries` and what they refer to */

#endif
