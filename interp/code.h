/* Private to interp/: the compact form that a body is compiled to before it runs.
 *
 * Every Var is bound once and the IR has no recursion, so a variable of an entry is a fixed slot of
 * one flat table; constants have slots too, so every operand is a slot number. A slot of array type
 * owns one reference or is NULL. Array variables are released after the last statement of their own
 * body that mentions them (KILL), or moved out at their last use where the reference count matters:
 * the initial values of loops and the results of bodies. UPDATE and SCATTER always move what they
 * consume. So an array that is updated in a loop keeps a count of one and is updated in place. */
#ifndef INTERP_CODE_H
#define INTERP_CODE_H

#include "interp/interp.h"
#include "ir/scalar.h"
#include "ir/stops.h"

#include <setjmp.h>

/* --- Arrays: array.c, interp_stop and _fail: slots.c --------------------------------------- */

typedef struct Buf Buf;
struct Buf {
    Buf *prev, *next; /* all live buffers, to be freed after an error */
    int64_t refs;     /* views */
    int64_t bytes;    /* the elements follow */
};

/* A view of a buffer; strides in bytes. */
typedef struct Arr Arr;
struct Arr {
    int refs;
    uint8_t elem, rank; /* PrimType; rank >= 1 */
    Buf *buf;
    char *base; /* element [0, .., 0] */
    int64_t n[RT_MAX_RANK], stride[RT_MAX_RANK];
    Arr *next_free;
};

/* Leaves with INTERP_USER: a text of ir/stops.h with these numbers. */
_Noreturn void interp_stop(Interp *in, Loc loc, const char *text, const int64_t *numbers, int n);
_Noreturn void interp_fail(Interp *in, InterpStatus st, Loc loc, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Is one of the dimensions 0? A negative one counts as 0: it was simplified inside a nest, whose
 * widths are not 0 there, and moved out of it, or an array was (ir.h). */
bool dims_are_empty(const int64_t *n, int rank);

/* Fresh array with undefined elements, one reference. Errors: negative size, out of memory. */
Arr *arr_new(Interp *in, Loc loc, PrimType elem, int rank, const int64_t *dims);
/* A second view of a's buffer with a's shape; to be adapted by the caller. */
Arr *arr_view(Interp *in, const Arr *a);
void arr_release(Interp *in, Arr *a); /* gives up one reference; NULL is fine */
/* An array with the value of a that nobody else can see: a itself or a copy. Takes a's reference.
 */
Arr *arr_unique(Interp *in, Loc loc, Arr *a);
Arr *arr_copy(Interp *in, Loc loc, const Arr *a); /* fresh, row-major */
/* Copies the elements of src to base with these strides (in bytes), for src's shape. */
void arr_copy_to(char *base, const int64_t *stride, const Arr *src);
bool arr_row_major(const Arr *a);
bool arr_is_empty(const Arr *a);
/* All elements := the scalar v. */
void arr_fill(Arr *a, Val v);
/* Frees all buffers and headers. */
void heap_free(Interp *in);

static inline Val scalar_load(PrimType t, const char *p)
{
    Val v = {0};
    switch (t) {
#define X(TAG, T, text, bits, C, CL, V, ...)                                                       \
    case T_##TAG: VAL_PUT_##V(v, *(const C *)p); break;
        RT_SCALARS(X, )
#undef X
    case N_PRIM_TYPES: break;
    }
    return v;
}

static inline void scalar_store(PrimType t, char *p, Val v)
{
    switch (t) {
#define X(TAG, T, text, bits, C, CL, V, ...)                                                       \
    case T_##TAG: *(C *)p = (C)v.V; break;
        RT_SCALARS(X, )
#undef X
    case N_PRIM_TYPES: break;
    }
}

/* --- Code ----------------------------------------------------------------------------------- */

/* The most frequent scalar operations have an instruction of their own, all else being the same as
 * I_SCALAR: D(operation, type, C type, result as a Val), operands x and y. */
#define DIRECT_OPS(D)                                                                              \
    D(ADD, F32, mf_f32, val_f32(x + y))                                                            \
    D(SUB, F32, mf_f32, val_f32(x - y))                                                            \
    D(MUL, F32, mf_f32, val_f32(x *y))                                                             \
    D(DIV, F32, mf_f32, val_f32(x / y))                                                            \
    D(ADD, F64, mf_f64, (Val){.d = x + y})                                                         \
    D(SUB, F64, mf_f64, (Val){.d = x - y})                                                         \
    D(MUL, F64, mf_f64, (Val){.d = x * y})                                                         \
    D(DIV, F64, mf_f64, (Val){.d = x / y})                                                         \
    D(ADD, I32, mf_i32, (Val){.i = mf_add_i32(x, y)})                                              \
    D(SUB, I32, mf_i32, (Val){.i = mf_sub_i32(x, y)})                                              \
    D(MUL, I32, mf_i32, (Val){.i = mf_mul_i32(x, y)})                                              \
    D(ADD, I64, mf_i64, (Val){.i = mf_add_i64(x, y)})                                              \
    D(SUB, I64, mf_i64, (Val){.i = mf_sub_i64(x, y)})                                              \
    D(MUL, I64, mf_i64, (Val){.i = mf_mul_i64(x, y)})                                              \
    D(LT, I64, mf_i64, (Val){.i = x < y})                                                          \
    D(LE, I64, mf_i64, (Val){.i = x <= y})                                                         \
    D(EQ, I64, mf_i64, (Val){.i = x == y})                                                         \
    D(LT, I32, mf_i32, (Val){.i = x < y})                                                          \
    D(EQ, I32, mf_i32, (Val){.i = x == y})                                                         \
    D(LT, F32, mf_f32, (Val){.i = x < y})                                                          \
    D(LAND, BOOL, mf_bool, (Val){.i = x & y})

typedef enum {
#define D(op, t, ctype, e) I_##op##_##t,
    DIRECT_OPS(D)
#undef D
        I_SCALAR, /* dst := fn(a, b, c) */
    I_NONZERO,    /* fails with "division by zero" if a is 0 */
    I_NONNEG,     /* fails with "negative exponent" if a < 0 */
    I_MOV,        /* dst := scalar a */
    I_ALIAS,      /* dst := array a */
    I_KILL,       /* releases the array dst */
    I_CHECK,      /* the array dst has the shape that its type says */
    I_LOAD1,      /* dst := a[b] */
    I_LOAD2,      /* dst := a[b, c] */
    I_LOAD,       /* dst := a[index] */
    I_SLICE,      /* dst := a[index], a view */
    I_STORE1,     /* dst := a with [b] = c */
    I_STORE,      /* dst := a with [index] = c, scalar c */
    I_PUT,        /* dst := a with [index] = array c */
    I_IOTA,       /* dst := a, start b, stride c */
    I_REPLICATE,  /* dst := shape of dims, all scalar a or array a */
    I_SCRATCH,
    I_ARRAYLIT,
    I_CONCAT,
    I_REARRANGE,
    I_RESHAPE,
    I_COPY,
    I_CALL,
    I_IF,
    I_LOOP,
    I_ASSERT,
    I_TRACE,
    I_SOAC, /* map, reduce, scan, redomap, scanomap, scatter, hist */
    I_SEG,  /* segmap, segred, segscan, segscatter, seghist */
    I_SUFF,
    I_RANKS, /* RANKS forms but those of arrays: the interpreter is one rank */
    I_END
} InsOp;

/* An operand that may hand over its reference. */
typedef struct {
    int32_t slot;
    bool is_array, move;
} Opd;

typedef struct {
    PrimType elem;
    int rank;
    const int32_t *dims; /* slots */
} Shape;

typedef struct {
    bool is_slice;
    int32_t start, n, stride; /* slots */
} DimPlan;

typedef struct Ins Ins;
typedef struct {
    Ins *ins; /* up to I_END */
    int n_res;
    Opd *res;
} Code;

typedef struct {
    int n_params;
    Opd *params;
    Code body;
} Fn;

/* Of scalars. */
typedef struct {
    const Fn *fn;
    int n;
    const int32_t *args, *dst;
} CallCode;

typedef struct {
    Code then_, else_;
    int n;
    int32_t *dst;
} IfCode;

typedef struct {
    int n;
    Opd *inits, *params;
    int32_t *dst;
    int32_t i, bound, cond; /* FOR: cond < 0 */
    PrimType i_type;
    Code body;
    Val *next; /* scratch: n */
} LoopCode;

typedef struct {
    int32_t width, idx;      /* idx < 0: none */
    int32_t row, rows, offs; /* row < 0: it is not ragged */
    int n;
    Opd *xs;
    int32_t *arrs;
    Arr **in; /* scratch: n, retained while running */
} DimCode;

typedef struct {
    Opd arr;
    int rank;
} DestCode;

/* Where a line of scalars is in memory, element by element. */
typedef struct {
    char *at;
    int64_t stride;
    PrimType t;
    int32_t slot;
} Cursor;

/* SOACs and SEG forms alike: the first n_red results of `body` (of the rows themselves if it has no
 * code) go to op, the rest out. */
typedef struct {
    ExpKind kind;
    int n_dims;
    DimCode *dims;
    bool has_body;
    Code body;
    Fn op;
    int n_red;
    Opd *nes;
    bool is_scan;
    bool is_hist;    /* op combines with what the dests hold; nes are not used */
    bool all_scalar; /* innermost inputs, accumulators and results are scalars, no scatter, no hist
                      */
    int n_dst;
    int32_t *dst;
    Shape *shapes; /* per result */
    int n_dests;
    DestCode *dests;
    Val *acc;     /* scratch: n_red */
    char **bins;  /* scratch: n_red, a histogram's elements at work */
    Arr **out;    /* scratch: n_dst (owned while running) */
    int64_t *at;  /* scratch: n_dims */
    Cursor *from; /* scratch: inputs of the innermost dimension */
    Cursor *to;   /* scratch: n_dst */
} SoacCode;

struct Ins {
    InsOp op;
    PrimType t; /* of elements */
    int32_t dst, a, b, c;
    int n;
    union {
        ScalarFn *fn;
        const DimPlan *index; /* n of them */
        const Shape *shape;
        const int32_t *list; /* n slots */
        const int *perm;     /* n */
        CallCode *call;
        IfCode *branch;
        LoopCode *loop;
        SoacCode *soac;
    };
    const Exp *e; /* for its place, and what is not copied here */
    const Var *v; /* of dst, for messages */
};

typedef struct {
    const Entry *entry;
    int n_slots;
    Val *init; /* the slots at the start: constants, all else 0 */
    Code code;
    int32_t *params, *sizes; /* slots */
} EntryCode;

struct Interp {
    const Prog *prog;
    Arena *mem;                           /* code */
    void (*exec)(Interp *, const Code *); /* interp_exec, set by interp_new: the knot */
    VEC(EntryCode *) entries;
    Val *slots; /* of the running entry */
    const InterpGuards *guards;
    Val exchanged[MOST_EXCHANGED]; /* by the last EXCHANGE */
    Buf *bufs;
    Arr *free_arrs;
    VEC(void *) arr_chunks;
    jmp_buf on_fail;
    InterpStatus status;
    char *message; /* malloc'd */
    Loc fail_loc;
};

/* compile.c */
EntryCode *interp_compile(Interp *in, const Entry *en);

/* slots.c */
/* The value of an operand with a reference of its own. */
Val interp_take_array(Interp *in, Opd o, Loc loc);
static inline Val interp_take(Interp *in, Opd o, Loc loc)
{
    return o.is_array ? interp_take_array(in, o, loc) : in->slots[o.slot];
}
/* The array in a slot, not retained; fails if it was consumed. */
Arr *interp_array(Interp *in, int32_t slot, Loc loc);
void interp_shape(Interp *in, const Shape *s, int64_t *n);

static inline void slot_set_array(Interp *in, int32_t slot, Arr *a)
{
    Arr *old = in->slots[slot].a;
    in->slots[slot].a = a;
    if (old)
        arr_release(in, old);
}

/* nests.c: what an element or an operator is is code again, run by in->exec */
void interp_soac(Interp *in, const Ins *p);

/* exec.c */
void interp_exec(Interp *in, const Code *c);
/* A copy of the value in a slot, of that type of elements. */
void interp_value(Interp *in, int slot, bool is_array, PrimType t, rt_hvalue *v);

#endif
