/* Expressions below flattening, as data: what kernels compute, and what the host program computes
 * its scalars, the sizes of arrays and the shapes of launches with.
 *
 *   exp.def     the kinds, a row each
 *   exp.c       constructors that fold, questions; exp_walk.c  visiting and rewriting
 *   exp_c.c     as C text; literal.c  constants
 *   expmap.h    expmap.c  maps keyed by them
 *
 * They read no memory and have no effects, so they mean the same wherever their variables do. They
 * never change, and equal ones of an arena are one.
 *
 * A kernel's are over its variables (VAR), the host program's over its own (HOST)
 * and facts of the device.
 *
 * Arithmetic. Operations are those of the language (ir/prims.def) and wrap around as there. Index
 * arithmetic is marked `exact`: its maker vouches that it does not wrap, and that operands of QUOT
 * and REM are not negative (divisor positive). It prints as plain operators, and passes may compute
 * it in fewer bits where the result has room. */
#ifndef EXP_EXP_H
#define EXP_EXP_H

#include "base/ptrmap.h"
#include "common/facts.def"
#include "ir/ir.h"

typedef struct {
    PrimType elem : 8;
    int lanes : 8; /* 1, or 2, 4, 8: a vector */
    bool index;    /* of elem T_I64: as wide as the kernel's variant needs (narrow.c) */
} KType;

typedef struct KVar {
    const char *name; /* unique in the kernel, valid in C */
    KType type;
    bool mutable_;
} KVar;

typedef enum {
#define KEXP(TAG, word) KE_##TAG,
#include "exp/exp.def"
    N_KEXPS
} KExpKind;
extern const char *const kexp_word[N_KEXPS];

/* Numbers that a work-item finds: KID(TAG, word, type, uniform in the group). */
#define KIDS(X)                                                                                    \
    X(GROUP, "group_id", T_I64, true) /* of dimension `dim` */                                     \
    X(LOCAL, "local_id", T_I64, false)                                                             \
    X(GROUP_SIZE, "group_size", T_I64, true)                                                       \
    X(GROUPS, "groups", T_I64, true)                                                               \
    X(GRID_SIZE, "grid_size", T_I64, true) /* groups times group size, which costs less */         \
    X(LANE, "lane", T_I64, false)          /* in the sub-group */                                  \
    X(LANES, "lanes", T_I64, true)         /* of a sub-group */                                    \
    /* The lead of a group is its first sub-group, where sub-groups have barriers of their own     \
     * (and, unless the group has fewer work-items, LEAD_LEAST or more); else it is the whole      \
     * group. */                                                                                   \
    X(IN_LEAD, "in_lead", T_BOOL, false)                                                           \
    X(LEAD_SIZE, "lead_size", T_I64, true)                                                         \
    X(FAILED_BEFORE, "failed_before", T_BOOL, true) /* did an earlier launch fail? */              \
    X(ATOMIC64, "atomic64", T_BOOL, true)           /* has the device atomics on 64 bits? */       \
    /* Is the kernel built for the sizes of its launch, so that loops of few turns are unrolled?   \
     */                                                                                            \
    X(UNROLLS, "unrolls", T_BOOL, true)                                                            \
    /* ... and are slices (KFun.slices) private arrays instead? */                                 \
    X(HAS_SLICES, "has_slices", T_BOOL, true)
/* Traits of targets (target.h): the same, but gone after kir_specialize. */
#define KTRAITS(X)                                                                                 \
    /* Work-items of a group share out pieces of work; else each has pieces of its own, the        \
     * sizes of groups that share anything are 1, and no barrier is needed. */                     \
    X(TEAMS, "teams", T_BOOL, true)                                                                \
    /* Neighbouring work-items should be at neighbouring elements; else each at consecutive. */    \
    X(COALESCES, "coalesces", T_BOOL, true)                                                        \
    /* Inner loops become vectors, by the target's compiler: a loop that combines elements wants   \
     * several accumulators (kernels/thread/lanes.c). */                                           \
    X(VECTORS, "vectors", T_BOOL, true)
typedef enum {
#define X(TAG, word, type, uniform) KID_##TAG,
    KIDS(X) KTRAITS(X)
#undef X
        N_KIDS
} KId;
typedef struct {
    const char *word;
    PrimType type;
    bool uniform, trait;
} KIdInfo;
extern const KIdInfo kid_info[N_KIDS];
enum { LEAD_LEAST = 32 };

/* Facts of the device and the user, known only at run time: SIZE_COALESCES, SIZE_GROUP_SIZE ... */
typedef enum {
#define FACT(id, name, gpu, native, unit)                      SIZE_##id,
#define SIZE(id, name, option, gpu, native, unit, most, tried) SIZE_##id,
#define SYNONYM(id, name, option)
    RT_FACTS(FACT, SIZE, SYNONYM)
#undef FACT
#undef SIZE
#undef SYNONYM
        N_SIZES
} SizeId;

typedef struct KExp KExp;
/* 64 bytes: there are many. */
struct KExp {
    KExpKind kind;
    KType type;
    PrimOp op : 8;     /* PRIM */
    KId id : 8;        /* ID */
    SizeId fact : 8;   /* SIZE */
    unsigned dim : 4;  /* ID: 0..2; PART: component */
    bool exact : 1;    /* PRIM on integers: see above */
    bool saturate : 1; /* PRIM ADD, SUB, MUL on i64: what does not fit becomes the nearest that does
                        */
    int n;
    const KExp *const *x; /* operands */
    Const c;              /* CONST */
    const KVar *var;      /* VAR */
    const Var *host;      /* HOST */
    int parts;            /* how many nodes its text has, this one included */
    uint32_t hash;        /* the same for those that are the same */
};
typedef VEC(const KExp *) KExps;

/* --- exp.c: expressions; they fold constants and identities --------------------------------- */

/* The one of the arena that has these parts, as they are: nothing is folded. Operands are copied
 * (they may be of another arena that lives as long), parts and hash found. */
const KExp *kx_node(Arena *a, KExp e);

static inline KType ktype(PrimType t)
{
    return (KType){.elem = t, .lanes = 1};
}

const KExp *kx_const(Arena *a, Const c);
const KExp *kx_int(Arena *a, int64_t k); /* i64 */
const KExp *kx_bool(Arena *a, bool b);
const KExp *kx_var(Arena *a, const KVar *v);
const KExp *kx_host(Arena *a, const Var *v);
const KExp *kx_size(Arena *a, SizeId id);
const KExp *kx_id(Arena *a, KId id);
const KExp *kx_id_dim(Arena *a, KId id, int dim);
/* An operation of the language; type: of the operands. */
const KExp *kx_prim(Arena *a, PrimOp op, PrimType type, const KExp *const *args);
const KExp *kx_prim1(Arena *a, PrimOp op, const KExp *x);
const KExp *kx_prim2(Arena *a, PrimOp op, const KExp *x, const KExp *y);
const KExp *kx_conv(Arena *a, PrimType to, const KExp *x);
/* The bits of a scalar as a word, an unsigned type that is as wide or wider, and the scalar of type
 * t in one. */
const KExp *kx_to_word(Arena *a, PrimType word, const KExp *x);
const KExp *kx_from_word(Arena *a, PrimType t, const KExp *word);
const KExp *kx_index(Arena *a, const KExp *x); /* an i64, as an index: it must have room */
const KExp *
kx_converted(const KExp *x); /* of an i64 or index, before it was converted from the other */
const KExp *kx_select(Arena *a, const KExp *c, const KExp *x, const KExp *y);
const KExp *kx_part(Arena *a, const KExp *v, int k);
const KExp *kx_vector(Arena *a, const KExp *const *x, int n);
/* Exact i64 arithmetic: ADD, SUB, MUL, QUOT and REM (x >= 0, y > 0), MIN, MAX. */
const KExp *kx_exact(Arena *a, PrimOp op, const KExp *x, const KExp *y);
const KExp *kx_add(Arena *a, const KExp *x, const KExp *y);
const KExp *kx_sub(Arena *a, const KExp *x, const KExp *y);
const KExp *kx_mul(Arena *a, const KExp *x, const KExp *y);
const KExp *kx_quot(Arena *a, const KExp *x, const KExp *y);
const KExp *kx_rem(Arena *a, const KExp *x, const KExp *y);
const KExp *kx_min(Arena *a, const KExp *x, const KExp *y);
const KExp *kx_max(Arena *a, const KExp *x, const KExp *y);
const KExp *kx_ceildiv(Arena *a, const KExp *x, const KExp *y);
const KExp *kx_saturate(Arena *a, PrimOp op, const KExp *x, const KExp *y); /* ADD, SUB, MUL */
/* Comparisons (of any type) and truth. */
const KExp *kx_lt(Arena *a, const KExp *x, const KExp *y);
const KExp *kx_le(Arena *a, const KExp *x, const KExp *y);
const KExp *kx_eq(Arena *a, const KExp *x, const KExp *y);
const KExp *kx_ne(Arena *a, const KExp *x, const KExp *y);
const KExp *kx_and(Arena *a, const KExp *x, const KExp *y);
const KExp *kx_or(Arena *a, const KExp *x, const KExp *y);
const KExp *kx_not(Arena *a, const KExp *x);
bool kx_is_int(const KExp *x, int64_t k);
/* Are two of the same hash? */
bool kx_same_parts(const KExp *x, const KExp *y);
/* The same expression, over the same variables? */
static inline bool kx_same(const KExp *x, const KExp *y)
{
    return x == y || (x->hash == y->hash && kx_same_parts(x, y));
}

/* --- exp_walk.c ----------------------------------------------------------------------------- */

/* The expression and all inside it, from the outside in. */
typedef void KExpFn(void *env, const KExp *x);
void kexp_visit(const KExp *x, KExpFn *fn, void *env);
bool kexp_uses(const KExp *x, const KVar *v);
void kexp_hosts(const KExp *x, VarSet *s); /* adds its variables of the host */
/* Does its value depend on when it is asked for: is there a variable in it that SETs change? */
bool kexp_changes(const KExp *x);

/* The expression with its operands replaced; folded as the constructors do. */
const KExp *kexp_with(Arena *a, const KExp *x, const KExp *const *operands);
/* fn of each expression inside, innermost first, whose operands are rewritten by then. */
typedef const KExp *KExpMap(void *env, const KExp *x);
const KExp *kexp_map(Arena *a, const KExp *x, KExpMap *fn, void *env);
/* With the expressions that `to` maps variables to (KVar -> KExp) in their stead. */
const KExp *kexp_subst(Arena *a, const KExp *x, const PtrMap *to);

/* --- exp_c.c --------------------------------------------------------------------------------- */

const char *kir_exp_c(const KExp *x); /* as C text, which compiles on the host, too */
/* Of sizes (size/size.h), on the host and for people: constants without their type, quotients as
 * operators. */
const char *sx_c(const KExp *a);
const char *
sx_c_factor(const KExp *a); /* in parentheses where it stands beside a tighter operator */
/* The same on the host, and where sizes meet that no array has yet: what does not fit into an i64
 * becomes its end instead of wrapping around, and is then found too large. */
const char *sx_exact_c(const KExp *a);
const char *size_c_name(SizeId id);  /* its variable in host code: "group_size" */
const char *size_rt_name(SizeId id); /* its number in the runtime: "RT_GROUP_SIZE" */

/* --- literal.c ------------------------------------------------------------------------------ */

const char *kir_const_c(Const c); /* as C text */
const char *ctype_c(PrimType t);  /* i32, f32, mf_bool ...: the short types of common/scalar.h */

#endif
