/* Kernel IR: what one kernel does, as data. Typed, structured, imperative; made by the kernel
 * makers, reshaped by passes, turned into text by a target's printer, which alone knows OpenCL's
 * words.
 *
 *   kinds.def   the kinds of statements, a row each
 *   kir.h       the data; build.c  making it
 *   walk.h      walk.c  visiting and questions; rewrite.c  rewriting and copying
 *   text.h      print.c  text form; read.c  back; syntax.c  what both go by; tool.c  minifut kir
 *   verify.h    verify.c  what must hold; hazard.c  of barriers
 *   uniform.h   uniform.c  what is the same for a whole group
 *   dealt.h     dealt.c  elements that the work-items of a group share out
 *   hash.h      hash.c  kernels up to names
 *   target.h    target.c  kinds of devices; a kernel on one of them
 *   opencl.c    OpenCL C; native.c  C; kernel_c.c  what they have in common
 *
 * Loads are statements, so an expression means the same wherever its variables do. There are no
 * early returns: a LEAVE ends the WORK around it and nothing else. A variable is bound once, by
 * name and object; only those bound by VAR (and a HEAP's, which a VAR binds) are ever changed.
 *
 * Vectors. A LOAD binds, and a STORE stores, as many elements as the type has lanes. The position
 * of the first is a multiple of that number, and the buffer aligned to all of them. */
#ifndef KIR_KIR_H
#define KIR_KIR_H

#include "exp/exp.h"

typedef enum { KS_GLOBAL, KS_LOCAL, KS_PRIVATE, N_KSPACES } KSpace;
extern const char *const kspace_text[N_KSPACES];

/* Elements of one type in one space: a parameter, a private array (ARRAY) or a VIEW. */
typedef struct KBuf KBuf;
struct KBuf {
    const char *name;
    KSpace space;
    PrimType elem;
    int64_t count;   /* elements of a private array; else 0 */
    const KBuf *of;  /* VIEW: whose memory it is */
    bool read_only;  /* no launch that reads it writes it */
    bool no_alias;   /* no other parameter reaches its memory, or nobody writes it */
    bool write_any;  /* RACEs only */
    bool own_writes; /* what a work-item writes, no other of its group writes */
    bool unshared;   /* ... or reads */
    bool padded;     /* local: it has room for a word behind each 32, see padded.c */
    int align;       /* bytes to which its first element and its end are aligned; 0: its own size */
};

typedef enum {
#define KSTM(TAG, word, operands, flags) KST_##TAG,
#include "kir/kinds.def"
    N_KSTMS
} KStmKind;

enum {
    KF_DEF = 1,
    KF_SET = 2,
    KF_BUF = 4,
    KF_BODY = 8,
    KF_ELSE = 16,
    KF_LABEL = 32,
    KF_EFFECT = 64
};
typedef struct {
    const char *word;
    int operands;
    unsigned flags;
} KStmInfo;
extern const KStmInfo kstm_info[N_KSTMS];

/* What a sub-group multiplies by matrix units: rows x k of one tile by k x cols of another, k being
 * 32 bytes of elements; these are f16, or f32, and summed in f32. Of f32 the units take 11 bits
 * (tf32): each is two such numbers, of 11 bits and of those that are left, or `rounded` to one.
 * A row of a tile has, for each k, an element of a row of the product, or (the second tile) of a
 * column; in one that is turned, for each of those an element of a k. Rows lie `pitch` elements
 * apart, words of 16 bytes in a row in an order of their own, and sums are a lane's as the units
 * have them (both: runtime/kernels/matrix.cl); of f32 in tiles that are turned, a lane's four
 * neighbours are in four pieces of eight, one after the other. FRAGMENTS hold those of two k, or
 * halves: the next ones are loaded while these are multiplied. A tile of pitch 0 there is none of:
 * what the fragments hold of such a one stays.
 *
 * Those that are `wide`, of f16, are for four sub-groups together, whose rows follow on each other,
 * 16 each; they may be under way until a SETTLE. Tiles are then panels of 64 elements a row, `tall`
 * rows each, one behind the other, and pitch is that of a panel. A series of them for the same
 * sums, k = 0 first, may begin at 0 (`fresh`), and ends with the one that is `last`. Where there
 * are units, the first words of rows of pitch 0 are those of a lane: two elements each, of a row
 * and k pairs as sums are. */
enum { KTILE_LANES = 32, KTILE_ROWS = 16, KTILE_COLS = 8, KTILE_COPY_BYTES = 16 };
/* Of those that are wide: the pitch; bytes that their array has more of, which then begins where
 * such tiles may. */
enum { KTILE_PANEL = 64, KTILE_WIDE_BYTES = 16384 };
typedef struct {
    PrimType elem;
    int rows, cols;
    int half, k; /* FRAGMENTS: from that k of the tiles on */
    int pitch[2];
    bool turned[2];
    bool rounded;
    bool wide, fresh, last;
    int tall[2];
} KTile;
/* Elements that are copied at once; k of a step. */
static inline int ktile_beside(PrimType elem)
{
    return KTILE_COPY_BYTES / prim_type_bytes[elem];
}
static inline int ktile_depth(PrimType elem)
{
    return 2 * ktile_beside(elem);
}
/* Words of FRAGMENTS: room for what a lane's sums take, which it keeps where there are no units. */
static inline int ktile_words(const KTile *t)
{
    return 2 * (t->rows + 2 * t->cols);
}
static inline int ktile_sums(const KTile *t)
{
    return t->rows * t->cols / KTILE_LANES;
}

typedef struct KStm KStm;
typedef VEC(KStm *) KBlock;
typedef struct KFun KFun;
typedef VEC(KFun *) KFuns;

struct KStm {
    KStmKind kind;
    Loc loc;
    KVar *var;
    KVar *top; /* HEAP: the bytes that are in use, changed too */
    KBuf *buf;
    KBuf *with; /* COPY: from where; FRAGMENTS, MULTIPLY: the private array that they change */
    KTile tile; /* the same; args: of COPY, row and place in it; of FRAGMENTS, the sub-group's first
                   row and column */
    const KExp *x[3]; /* what is optional may be NULL */
    KBlock body[2];
    PrimOp op;          /* ATOMIC; N_PRIM_OPS: exchange */
    bool doubling;      /* FOR */
    int unroll;         /* FOR: 0 as it is, -1 whole, else that many times */
    bool post;          /* WHILE */
    bool likely;        /* IF: seldom false, so that a branch is guessed right */
    unsigned fence;     /* BARRIER: set of 1u << KSpace */
    bool lead;          /* BARRIER: of the lead alone; in an IF that only in_lead enters */
    const KStm *target; /* LEAVE: a WORK */
    const char *label;  /* WORK: its name, unique */
    int site;           /* FAIL */
    KExps args;         /* FAIL: integers, at most 8; CALL: one for each parameter */
    const char *text;   /* COMMENT */
    KFun *fun;          /* CALL: a function, which all kernels and targets share */
};

typedef enum {
    KP_FAILURE, /* where failures are recorded; the number of the launch. First, if any */
    KP_MEM,     /* buf in global memory */
    KP_SCALAR,  /* var */
    KP_LOCAL,   /* buf in local memory, sized at the launch */
    KP_HEAP     /* buf of bytes; var: how many of them each work-item has */
} KParamKind;

typedef struct {
    KParamKind kind;
    KBuf *buf;
    KVar *var;
    bool steady; /* SCALAR, or size of LOCAL, of a kernel that is `sized`: seldom another number
                    than at the last launch */
} KFormal;
typedef VEC(KFormal) KFormals;

/* A block in global memory (a parameter) of which each work-item has a slice for itself, of `count`
 * elements, an expression over scalar parameters. Where the kernel is built for the sizes of its
 * launch, and these are few, private arrays take the place of the slices of all such blocks
 * (slices.c). */
typedef struct {
    KBuf *buf;
    const KExp *count;
} KSlice;
typedef VEC(KSlice) KSlices;

/* Has a group several elements of a nest at a time, as columns of work-items (columns.c)? */
typedef enum {
    KC_NONE,
    KC_LATER,  /* yes, but it is written for one element so far; columns lie beside each other, */
    KC_BEHIND, /* ... or one behind the other: work-items of one element are neighbours */
    KC_DONE,   /* work-items have two numbers: of their column, and in it */
    N_KCOLUMNS
} KColumns;

/* A kernel; or a function that kernels and functions call: its parameters are SCALAR, its body
 * works on nothing but variables and ends with a GIVE, no other statement of it is one. */
struct KFun {
    const char *name;
    const char *what;  /* one line for people; NULL: nothing is said */
    const char *place; /* of the construct, for people: "prog.sf:8:3"; NULL: nothing is said */
    Loc loc;           /* the same for messages; of a kernel that was read, where it stands there */
    KFormals params;
    KSlices slices;
    KBlock body;
    KExps narrow_when;   /* an index has 32 bits where all hold, in the sense of limits.h. None: if
                          * `narrow`, always */
    bool narrow;         /* it has indices (KType) */
    unsigned heap_types; /* set of PrimType: what is taken from the heap */
    bool may_fail;
    bool alone; /* a group is one work-item: barriers are not needed */
    bool
        sized; /* it is built for the numbers of a launch: what is steady, and the size of groups */
    KColumns columns;
    int vector_bytes; /* bytes of the largest access that pays (vector.c); 0: of one element */
    bool is_function;
};

/* --- build.c: statements, appended to the innermost open block ------------------------------ */

typedef struct {
    Arena *arena;
    VEC(KBlock *) open; /* blocks at work, outermost first */
    int n_names;
    KFun *fun;
    Loc at; /* of the statements being made */
} KBuild;

KBuild *kb_new(Arena *a);
/* A name that no other variable has: base_kN. base: any text that c_ident makes an identifier of.
 */
const char *kb_name(KBuild *b, const char *base);
KVar *kb_var_new(KBuild *b, const char *base, KType t); /* not bound yet */
KBuf *kb_buf_new(KBuild *b, const char *base, KSpace s, PrimType elem);
KStm *kb_stm(KBuild *b, KStm s); /* appends a copy */
KBlock *kb_block(KBuild *b);     /* the innermost open one */

/* Bind a fresh variable and return its value; let gives back what needs no name as it is. */
const KExp *kb_let(KBuild *b, const char *base, const KExp *x);
const KExp *kb_load(KBuild *b, const char *base, KBuf *buf, const KExp *at);
KVar *kb_var(KBuild *b, const char *base, PrimType t, const KExp *init); /* init may be NULL */
/* The same for a variable that there is already. */
void kb_let_var(KBuild *b, KVar *v, const KExp *x);
void kb_load_var(KBuild *b, KVar *v, KBuf *buf, const KExp *at);
void kb_var_var(KBuild *b, KVar *v, const KExp *init);
void kb_set(KBuild *b, KVar *v, const KExp *x);
void kb_store(KBuild *b, KBuf *buf, const KExp *at, const KExp *x);
KBuf *kb_array(KBuild *b, const char *base, PrimType elem, int64_t count);
void kb_fresh(KBuild *b, KBuf *buf);     /* local memory: its contents begin here */
void kb_meet(KBuild *b, unsigned fence); /* a BARRIER: all work-items of the group meet */

/* Blocks: what follows goes into them until kb_end. */
const KExp *kb_for(KBuild *b, const char *base, const KExp *from, const KExp *to, const KExp *step);
void kb_for_var(KBuild *b, KVar *v, const KExp *from, const KExp *to, const KExp *step);
const KExp *kb_for_times(KBuild *b, const char *base, const KExp *from, const KExp *to, int factor);
KStm *kb_while(KBuild *b, const KExp *cond);
void kb_if(KBuild *b, const KExp *cond);
void kb_if_likely(KBuild *b, const KExp *cond);
void kb_else(KBuild *b); /* ends the IF's first branch, and begins its second */
void kb_open_block(KBuild *b);
KStm *kb_work(KBuild *b);
void kb_leave(KBuild *b, const KStm *work);
void kb_enter(KBuild *b, KBlock *block); /* a block that stands elsewhere, or nowhere yet */
void kb_end(KBuild *b);
bool kir_leaves(const KBlock *b, const KStm *work); /* is there a LEAVE of that WORK? */
/* Do-while: cond is told at the end. */
KStm *kb_do(KBuild *b);
void kb_do_end(KBuild *b, KStm *loop, const KExp *cond);

/* A place among statements, where others can be put later. */
typedef struct {
    KBlock *block;
    int i;
} KPlace;
KPlace kb_place(KBuild *b);
void kb_insert(KBuild *b, KPlace p, KStm s);

KType kfun_gives(const KFun *f); /* the type of what a function gives */

/* --- opencl.c, native.c ----------------------------------------------------------------------- */

void kir_opencl(Out *o, const KFun *f);
/* The C functions of a kernel: kernel_NAME is an rt_dev_function (runtime/drivers/dev.h). */
void kir_native(Out *o, const KFun *f);

#endif
