/* The intermediate representation: A-normal form over tuples of arrays.
 *
 * Two dialects share the forms of forms.def. In the SOAC dialect map, reduce, scan, redomap,
 * scanomap, scatter and hist are parallel. In the SEG dialect (after flattening) they are
 * sequential code, and segmap, segred, segscan, segscatter and seghist are parallel at hardware
 * level `level` (1 = grid, 0 = work-group). A construct at level l contains only constructs of
 * level l-1 and sequential code.
 *
 * Invariants (checked by ir_verify after every pass):
 *  - each Var is bound once in the whole program; every use points to the Var of its binder, so a
 *    variable's type is at hand wherever it is used;
 *  - types are exact: a size in a type is an i64 constant or an i64 variable in scope at the binder
 *    (or bound by the same pattern / parameter list: an existential size);
 *  - operands of a form agree in element type and, size by size, in shape (the same atom);
 *  - UPDATE, SCATTER, HIST, their SEG forms and array-carrying LOOPs consume: neither the consumed
 * array nor an alias of it is used afterwards.
 *
 * Passes do not change nodes in place: a pass builds fresh nodes that may share what did not
 * change. What is bound twice after a duplication must be renamed (ir_rename_*).
 *
 * Fixed local names: e Exp, s Stm, b Body, lam Lambda, t Type, a Atom, v Var, cx Ctx. */
#ifndef IR_IR_H
#define IR_IR_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/out.h"
#include "base/ptrmap.h"
#include "base/vec.h"
#include "common/prim.h"
#include "ir/attrs.h"

#include <stdbool.h>
#include <stdint.h>

/* --- Scalars -------------------------------------------------------------------------------- */

typedef enum {
#define PRIM(tag, text, arity, operands, result, cost, partials) OP_##tag,
#include "ir/prims.def"
#undef PRIM
    N_PRIM_OPS
} PrimOp;

/* A scalar constant. Integers (and bool: 0, 1) are kept sign- or zero-extended from their width in
 * `i`; floats are kept as the double of equal value. */
typedef struct {
    PrimType type;
    union {
        int64_t i; /* all integers and bool */
        double f;  /* floats */
    };
} Const;

/* --- Variables, atoms, types ---------------------------------------------------------------- */

typedef struct Var Var;

/* A variable (var != NULL) or a constant. */
typedef struct {
    Var *var;
    Const c;
} Atom;
typedef VEC(Atom) Atoms;

/* rank 0: a scalar. dims[0..rank-1] are i64 atoms, outermost first. */
typedef struct {
    PrimType elem;
    int rank;
    Atom *dims;
} Type;
typedef VEC(Type) Types;

/* Prints as base_id. Two Vars are the same variable iff the pointers are equal; ids are unique in
 * the process and dense, for tables indexed by variable. */
struct Var {
    const char *base; /* interned source name, or one that a pass chose */
    int id;
    Type type;
    Loc loc;
};
typedef VEC(Var *) Vars;

/* --- Expressions ---------------------------------------------------------------------------- */

typedef struct Exp Exp;
typedef struct Body Body;
typedef struct Lambda Lambda;

/* let (pat) = exp */
typedef struct {
    Vars pat;
    Exp *exp;
} Stm;
typedef VEC(Stm) Stms;

struct Body {
    Stms stms;
    Atoms res;
};

struct Lambda {
    Vars params;
    Body *body;
};

/* A function of the program that stands once however often it is called (CALL): scalars out of
 * scalars. Nothing is free in it, and it always gives its results: nothing in it traps. Whoever
 * calls it points to it; programs keep no list. */
typedef struct {
    const char *name; /* unique in the program: "mul_f3" */
    Loc loc;
    const Lambda *lam;
    bool noinline; /* it stays wherever it can */
    int steps; /* statements that a call executes, those of loops and of what it calls counted */
} Function;
typedef VEC(const Function *) Functions;
enum { MOST_RESULTS = 8, MOST_EXCHANGED = 16 }; /* of a function (at least one); by EXCHANGE */

/* One dimension of an INDEX or UPDATE: the single position `start`, or (is_slice) the `n` positions
 * start, start+stride, ... All i64; stride may be negative or zero-sized n. */
typedef struct {
    bool is_slice;
    Atom start, n, stride;
} DimIndex;
typedef VEC(DimIndex) DimIndexes;

typedef struct {
    Atom arr; /* consumed */
    int rank; /* how many index components address one value: its outermost dimensions */
} Dest;
typedef VEC(Dest) Dests;

/* A mapnest dimension <x_1 .. x_k in arrs_1 .. arrs_k>: idx runs over 0 <= idx < width and
 * xs_j = arrs_j[idx]. idx (i64) is always bound, xs may be empty. An arr of an inner dimension may
 * be an x of an outer one.
 *
 * The outermost one may be ragged: `rows` rows of different lengths, one behind the other. Then
 * idx is a point's number among those of all rows, `width` how many points there are, `row` (i64,
 * else NULL) the number of its row, and row r has the points with offs[r] <= offs[0] + idx <
 * offs[r+1]: offs is an array of rows + 1 i64 or more, which do not decrease and grow by width. As
 * innermost dimension it is reduced and scanned along each of its rows. */
typedef struct {
    Var *idx;
    Atom width;
    Vars xs;
    Atoms arrs;
    Var *row;
    Atom rows, offs;
} NestDim;
typedef VEC(NestDim) Nest;

/* Ancestors of a threshold, outermost first: which comparison had which outcome. */
typedef struct {
    const char *name;
    bool taken;
} PathStep;
typedef VEC(PathStep) Path;

typedef enum {
#define FORM(tag, text, member, dialects, traits) E_##tag,
#include "ir/forms.def"
#undef FORM
    N_FORMS
} ExpKind;

/* The members of struct Exp's union: what differs in the parts it has is another member. */
typedef enum {
#define MEMBER(member, parts) M_##member,
#include "ir/members.def"
#undef MEMBER
    N_MEMBERS
} ExpMember;

enum { D_SOAC = 1, D_SEG = 2, D_BOTH = 3 };

/* Traits of forms (bits). */
enum {
    F_SCALAR = 1, /* a scalar (CALL: some) out of scalars (ATOM: or another name for an array) */
    F_VIEW = 2,   /* an array that it gives shares the memory of its operand, exp_view_of */
    F_ALLOC = 4,  /* copies or fills memory of its own; forms with F_CODE may */
    F_CODE = 8,   /* bodies or functions inside */
    F_FN = 16,    /* applies soac.fn to each element */
    F_FOLD = 32,  /* op and nes: over all elements, one value stays */
    F_SCAN = 64,  /* op and nes: a value for each element */
    F_BINS = 128, /* op and nes: combines with what the destinations hold */
    F_OP = F_FOLD | F_SCAN | F_BINS,
    F_DESTS = 256, /* its results are its destinations, which it consumes, exp_dests */
    F_STAYS = 512  /* not to be moved: it has an effect, consumes, or is where it is on purpose */
};

/* Every size of an array is at least 0 and at most MAX_SIZE: the frontend asserts it where a
 * program makes one. So sums of a few sizes cannot wrap around; products can. */
enum { SIZE_BITS = 48 };
#define MAX_SIZE  ((INT64_C(1) << SIZE_BITS) - 1)
#define MAX_BYTES (INT64_MAX / 2) /* of an array, and most elements of a nest */

typedef enum { LOOP_FOR, LOOP_WHILE } LoopKind;

struct Exp {
    ExpKind kind; /* live member: third column of forms.def */
    Loc loc;      /* survives every pass: provenance of kernels, place of run-time errors */
    unsigned attrs;
    union {
        Atom atom;
        struct {
            PrimOp op;
            PrimType type; /* of the operands */
            Atoms args;    /* as many as the operation's arity */
        } prim;
        struct {
            PrimType from, to;
            Atom arg;
        } conv;
        struct {
            const Function *fn;
            Atoms args;
        } call;
        /* As many dims as arr's rank. Result: the sliced dimensions; a scalar if there are none.
         * Out-of-bounds positions stop the program unless `safe` says that no element outside is
         * accessed: where a dimension's part is empty, the other positions may be anything. Who
         * moves a safe access to where less is known asks ranges_safe (ir/ranges.h). */
        struct {
            Atom arr;
            DimIndexes at;
            bool safe;
        } index;
        struct {
            Atom arr;
            DimIndexes at;
            Atom val; /* scalar, or array of the sliced shape */
            bool safe;
        } update;
        struct {
            Atom n, start, stride; /* element i: start + i*stride; start's type is the element's */
        } iota;
        struct {
            /* At least one. An array of a negative size (an iota, too) is empty: passes move it out
             * of maps over nothing, and leave the assertion inside. */
            Atoms dims;
            Atom val; /* scalar or array: result shape is dims ++ its shape */
        } replicate;
        struct {
            Type type;
        } scratch;
        struct {
            Type elem; /* of one element (also when there are none) */
            Atoms elems;
        } arraylit;
        struct {
            int dim; /* the dimension along which the arrays are joined */
            Atom n;  /* its size in the result */
            Atoms arrs;
        } concat;
        struct {
            const int *perm; /* dimension d of the result is dimension perm[d] of arr */
            Atom arr;
        } rearrange;
        struct {
            Atoms dims;
            Atom arr;
        } reshape;
        struct {
            Atom arr;
        } copy;
        struct {
            Atom test;
            Body *then_, *else_; /* results agree in type, up to existential sizes */
        } branch;
        /* params := inits; FOR: i = 0 .. bound-1 (bound's type is any integer type); WHILE: as long
         * as the bool param `cond` is true. The body's results are the next params. Result: the
         * params. */
        struct {
            LoopKind kind;
            Vars params;
            Atoms inits;
            Var *i;     /* FOR only */
            Atom bound; /* FOR only; else a constant that nobody looks at */
            Var *cond;  /* WHILE only: one of the params */
            Body *body;
        } loop;
        struct {
            Atom cond;
            const char *msg; /* printf-like: each %d stands for the next arg (an integer) */
            Atoms args;
        } assertion;
        struct {
            const char *label;
            struct ExtType *type; /* of the values */
            Atoms args;
        } trace;
        /* What ranks do together, in the same order, at the host level. SHARED: steps, cost (f64,
         * additions), elements gathered, is anything exchanged (1, 0); SHARE: n, ranks (mf_share);
         * EXCHANGE: scalars; PEER: which (constant), exchange, whose; GATHER: an array, of n rows,
         * each has its SHARE, or those from `first` to the next one's; or (n, lo, hi): lo rows, its
         * own, hi. ROWS: an argument, count, shared; PARTED: count rows, n, shared */
        struct {
            const char *name; /* SHARED: ENTRY.suff_dist_K */
            PrimType type;
            Atoms args;
        } ranks;
        /* MAP:      fn (a row of each arr) -> results, each of size width
         * REDUCE:   op (acc.., x..) -> acc..; nes; arrs                    (no fn)
         * SCAN:     likewise, inclusive
         * REDOMAP:  fn's first nes.n results are reduced by op, the others are mapped out;
         *           result: the reduced values, then the mapped-out arrays
         * SCANOMAP: likewise
         * SCATTER:  fn gives, for each dest in turn, its rank i64 index components, then for each
         *           dest in turn its value; positions out of bounds are ignored;
         *           result: the dests
         * HIST:     fn gives the index components of one element, rank (the same for all dests) of
         *           them, then for each dest a value x; dest[index] := op(dest[index].., x..), in
         *           an order that is not specified; positions out of bounds are ignored. op is
         *           associative and commutative, nes its neutral elements; result: the dests */
        struct {
            Atom width;
            Atoms arrs;
            Lambda *fn;
            Lambda *op;
            Atoms nes;
            bool comm; /* op is commutative */
            Dests dests;
        } soac;
        /* JVP: what fn gives at args, then its tangents along `seeds`, tangents of args.
         * VJP: what fn gives at args, then the adjoints of args by `seeds`, adjoints of what fn
         * gives. Each is of the type of what it belongs to; of integers and bool it is zero. What
         * is free in fn is constant, and fn consumes nothing of its params, which are args.
         * WITH_VJP: what fn gives at args; in reverse mode adjoints of args are what `back` gives
         * for that and adjoints of it, what is free in fn is constant; in forward mode it is fn.
         * STOP: what fn gives at args, constant to derivatives. Neither has seeds. */
        struct {
            Atoms args, seeds;
            Lambda *fn, *back; /* back: of WITH_VJP */
        } deriv;
        struct {
            const char *name; /* ENTRY.suff_outer_par_K, ENTRY.suff_intra_par_K */
            bool intra; /* the guarded version works inside work-groups: also asks that it fits */
            Path path;
            Atom par;  /* i64: the degree of parallelism of the guarded version */
            Atom work; /* i64: all parallelism there is, a multiple of par */
            /* i64: what the version costs, and what it spares (mf_pays); steps 0: not known */
            Atom spared, steps, elems;
            const char *never; /* why it is never taken untuned; NULL: sizes decide */
            Atom units;        /* i64: where there are matrix units, untuned: > 0: it is taken,
                                  < 0: it is not; else 0 */
            bool balanced;     /* par is less where the longest element is what takes the time */
            bool blocks;       /* what follows multiplies matrices, in blocks */
        } suff;
        /* Perfect nests, as in the paper (section 2.1): the body is the innermost function.
         * SEGMAP:     results: nest widths ++ type of each body result
         * SEGRED:     the first nes.n body results are reduced by op along the innermost dimension
         *             (results: outer widths ++ type; [rows] ++ type along rows), the others mapped
         *             out (all widths ++ type)
         * SEGSCAN:    the first nes.n are scanned along the innermost dimension, others mapped out
         * SEGSCATTER: body results as SCATTER's fn; result: the dests
         * SEGHIST:    body results as HIST's fn; result: the dests */
        struct {
            int level;
            Nest nest; /* at least one dimension, outermost first */
            Body *body;
            Lambda *op;
            Atoms nes;
            bool comm;
            /* SEGRED: what is found is how work is to be shared out, such as how many points rows
             * have: of arguments that were there before it need not be found again */
            bool inspects;
            Dests dests;
        } seg;
    };
};

/* --- Programs ------------------------------------------------------------------------------- */

typedef struct ExtType ExtType;
/* A parameter or result type as the user wrote it, for the outside: it covers n_vals consecutive IR
 * values (1 for a scalar or array, more for a tuple or record, whose parts are `fields`). */
struct ExtType {
    const char *text; /* "[][]f32", "{re: f32, im: f32}" : sizes left out as Futhark's servers do */
    const char *doc;  /* of the declaration of `alias`, or NULL; no part of the text form */
    const char *alias; /* what Futhark calls it, if that is something else: "point", "{x:f32,
                          y:f32}"; else NULL */
    int n_vals;
    int n_fields; /* 0 for a scalar or array */
    const char **field_names;
    ExtType *fields;
    int n_variants; /* of a sum, whose first value is the number of the variant */
    struct ExtVariant *variants;
    ExtType *elem; /* of an array of anything but scalars, with `rank` dimensions: each of its
                      values is an array; else NULL */
    int rank;
};

typedef struct ExtVariant {
    const char *name;
    int n; /* what it holds, and which of the sum's values that is */
    ExtType *holds;
    int n_places;
    int *places;
} ExtVariant;

typedef struct {
    const char *name;
    bool unique; /* may be consumed */
    ExtType type;
} ExtParam;
typedef VEC(ExtParam) ExtParams;

/* A tuning parameter of the user's: an i64 that whoever starts the program sets, else 0. */
typedef struct {
    const char *name;
    Var *var;
} UserParam;
typedef VEC(UserParam) UserParams;

/* Params: first the size parameters that no array determines (none at present: each size occurs in
 * the type of some later param), then one Var per value. A size variable of a param's type that is
 * not itself a param is bound by the entry: `sizes`. */
typedef struct {
    const char *name;
    const char *doc, *signature; /* "entry f (x: i32): i32"; or NULL; no part of the text form */
    const char *generator, *shrinker; /* #[prop(gen(f), shrink(g), size(n))]: f and g, or NULL, */
    int64_t size;                     /* and n, or 0; no part of the text form */
    Loc loc;
    Vars sizes; /* i64; bound by the shapes of the arguments */
    Vars params;
    UserParams user_params; /* no arguments: bound when the entry begins */
    ExtParams ext_params;
    ExtParams ext_results;
    Body *body;
} Entry;
typedef VEC(Entry) Entries;

typedef struct {
    unsigned dialect; /* D_SOAC or D_SEG */
    Entries entries;
} Prog;

/* When what stages leave is verified: a program at the end of its dialect, a kernel when it is made
 * and as targets get it; or after each pass, to name the wrong one, in a fourth more time. */
typedef enum { VERIFY_NEVER, VERIFY_ENDS, VERIFY_EACH } VerifyWhen;

/* What a pass works with. */
typedef struct {
    Arena *perm;      /* results */
    Arena *scratch;   /* temporaries, between arena_mark and arena_reset */
    int flatten_mode; /* FlattenMode of flatten/flatten.h */
    bool ranks;       /* the program is for several ranks: level 2 */
    bool fast_math;   /* --fast-math: factors may be taken out of sums of floats */
    bool traces; /* #[trace] is to be kept: the program is for the interpreter, as it is lowered */
    VerifyWhen verify;
    bool trace;        /* prints plans and kernels after each of their stages, to standard error */
    struct FlLog *log; /* what the last fl_flatten did, for explain */
} Ctx;

typedef Prog *PassFn(Ctx *cx, const Prog *in);

/* --- build.c: the only allocator of nodes --------------------------------------------------- */

/* What scalar operations cost, roughly in additions. Up to a division, computing again is cheaper
 * than going through memory. */
enum { PRIM_COST_ONE = 1, PRIM_COST_DIVISION = 4, PRIM_COST_ROOT = 5, PRIM_COST_FUNCTION = 16 };

typedef struct {
    const char *text;
    int arity;
    char operands; /* 'I' 'F' 'N' 'B' 'A' 'S' 'W' */
    char result;   /* 'S' same, 'B' bool, 'I' i32, 'R' recast */
    int cost;
    const char *partials; /* by the operands, see prims.def */
} PrimInfo;
extern const PrimInfo prim_info[N_PRIM_OPS];
typedef struct {
    const char *tag, *text;
    ExpMember member;
    unsigned dialects, traits;
} FormInfo;
extern const FormInfo form_info[N_FORMS];
PrimType prim_result(PrimOp op, PrimType operands);

Atom atom_var(Var *v);
Atom atom_int(PrimType t, int64_t i); /* wrapped to t's width */
Atom atom_i64(int64_t i);
Atom atom_float(PrimType t, double f); /* rounded to t */
Atom atom_bool(bool b);
Atom atom_zero(PrimType t);            /* 0, or false */
Atom const_conv(PrimType to, Const c); /* what E_CONV makes of c */
bool atom_eq(Atom a, Atom b);          /* same variable or same constant (floats bit by bit) */
bool atom_is_int(Atom a, int64_t i);   /* the integer constant i */
Type atom_type(Atom a);

Type type_prim(PrimType t);
Type type_array(Ctx *cx, Type row, Atom outer); /* [outer]row */
Type type_array_n(Ctx *cx, Type row, const Atom *outer, int n);
Type type_row(Type t);         /* without the outermost dimension */
Type type_drop(Type t, int n); /* without the n outermost dimensions */
bool type_eq(Type a, Type b);

/* A fresh variable; a suffix _id of base is dropped. */
Var *var_new(Ctx *cx, const char *base, Type t, Loc loc);
Var *var_like(Ctx *cx, const Var *v); /* fresh, same base, type, loc */
/* For the reader, which keeps the ids of the text: the next fresh id; fresh ids start at `below`
 * at least; a variable with an id that the caller knows to be free. */
int var_next_id(void);
void var_reserve_ids(int below);
Var *var_new_id(Ctx *cx, const char *base, int id, Type t, Loc loc);

Exp *exp_new(Ctx *cx, ExpKind k, Loc loc); /* zeroed members */
Exp *exp_atom(Ctx *cx, Loc loc, Atom a);
Exp *exp_unop(Ctx *cx, Loc loc, PrimOp op, Atom a);
Exp *exp_binop(Ctx *cx, Loc loc, PrimOp op, Atom a, Atom b);
Exp *exp_conv(Ctx *cx, Loc loc, PrimType to, Atom a);
/* arr[i_1, .., i_k], the remaining dimensions whole. */
Exp *exp_index(Ctx *cx, Loc loc, Atom arr, const Atom *ix, int k, bool safe);
Exp *exp_rearrange(Ctx *cx, Loc loc, const int *perm, Atom arr);
Exp *exp_replicate(Ctx *cx, Loc loc, Atom n, Atom val);
Exp *exp_if(Ctx *cx, Loc loc, Atom test, Body *then_, Body *else_);
Exp *exp_map(Ctx *cx, Loc loc, Atom width, Atoms arrs, Lambda *fn);
Exp *exp_call(Ctx *cx, Loc loc, const Function *fn, Atoms args);
/* "mul_f3" of any text and a number: the name of no variable. */
const char *function_name(Ctx *cx, const char *base, int number);

/* A body under construction: statements are appended, results set by bld_body. */
typedef struct {
    Ctx *cx;
    Stms stms;
} Bld;
Bld bld_new(Ctx *cx);
void bld_stm(Bld *bl, Stm s);
void bld_define(Bld *bl, Var *v, Exp *e); /* v is bound to e, of one result */
/* Binds e (one result) to a fresh variable of e's type; for scalar operations constants are not
 * folded here (simplify does it). */
Atom bld_exp(Bld *bl, const char *base, Exp *e);
/* Binds all results of e. */
Atoms bld_exps(Bld *bl, const char *base, Exp *e);
Atom bld_binop(Bld *bl, Loc loc, PrimOp op, Atom a, Atom b); /* folds i64 constants and x*1, x+0 */
Body *bld_body(Bld *bl, Atoms res);
Lambda *lambda_new(Ctx *cx, Vars params, Body *body);
Atoms atoms_of_vars(Ctx *cx, const Vars *vs);
int vars_find(const Vars *vs, const Var *v); /* its place among them, -1: it is not there */

/* Result types of an expression, one per result. Sizes that only the pattern can name (existential
 * ones of IF and LOOP) are given as they stand in the first branch / as the loop's params. */
Types exp_types(Ctx *cx, const Exp *e);
/* Fresh variables for the results of e; existential sizes of IF and LOOP results (sizes that differ
 * between the branches or change in the loop) name the variables of the pattern that carry them. */
Vars exp_pat(Ctx *cx, const char *base, const Exp *e);

/* --- walk.c: children, free variables ------------------------------------------------------- */

/* A set of, and a map from, variables; in cx->scratch or perm as the arena says. */
typedef PtrMap VarMap;
static inline VarMap *varmap_new(Arena *a)
{
    return ptrmap_new(a);
}
static inline void varmap_put(VarMap *m, const Var *v, const void *value) /* replaces */
{
    ptrmap_put(m, v, value);
}
static inline void *varmap_get(const VarMap *m, const Var *v) /* NULL if absent */
{
    return ptrmap_get(m, v);
}
static inline void varmap_del(VarMap *m, const Var *v)
{
    ptrmap_put(m, v, NULL);
}
typedef VarMap VarSet;                       /* value non-NULL: member */
Vars varset_list(Arena *a, const VarSet *s); /* by their ids */
static inline void varset_add(VarSet *s, const Var *v)
{
    varmap_put(s, v, v);
}
static inline bool varset_has(const VarSet *s, const Var *v)
{
    return varmap_get(s, v) != NULL;
}

/* Children, generically: the functions are called (if not NULL) for each part directly in e. Atoms
 * include those inside types of e (scratch, arraylit) and nests, not those in types of binders;
 * binders are loop params, loop indices, lambda params, nest idx and xs. */
typedef struct {
    void *env;
    void (*atom)(void *env, Atom a);
    void (*binder)(void *env, Var *v);
    void (*body)(void *env, Body *b);     /* bodies of if, loop, seg */
    void (*lambda)(void *env, Lambda *l); /* fn and op */
} ExpVisitor;
void exp_visit(const Exp *e, const ExpVisitor *v);

/* Rebuilds e with each part replaced; NULL functions keep the part. Binders are mapped before the
 * bodies that they scope over; the params of a lambda are left to `lambda`. */
typedef struct {
    void *env;
    Atom (*atom)(void *env, Atom a);
    Var *(*binder)(void *env, Var *v);
    Body *(*body)(void *env, Body *b);
    Lambda *(*lambda)(void *env, Lambda *l);
} ExpMapper;
/* fn of each atom; shares the atoms of `as` if they stay the same. */
Atoms atoms_map(Ctx *cx, const Atoms *as, Atom (*fn)(const void *env, Atom a), const void *env);
Exp *exp_map_parts(Ctx *cx, const Exp *e, const ExpMapper *m);

/* Free variables, those in types of binders included; added to the set. */
void free_in_exp(VarSet *s, const Exp *e);
void free_in_stm(VarSet *s, const Stm *st);
void free_in_body(VarSet *s, const Body *b);
void free_in_lambda(VarSet *s, const Lambda *l);
/* What its statements bind, at any depth, parameters included; added to the set. */
void bound_in_body(VarSet *s, const Body *b);
/* The free variables of a body or lambda in order of first occurrence. */
Vars free_vars_body(Ctx *cx, const Body *b);
Vars free_vars_lambda(Ctx *cx, const Lambda *l);
bool exp_uses_any(const Exp *e, const VarSet *s);

/* --- rename.c: substitution, renaming ------------------------------------------------------- */

/* A substitution: variables to atoms. Substituting always gives fresh binders inside, so the result
 * can stand beside the original. */
typedef struct Subst Subst;
Subst *subst_new(Ctx *cx);
void subst_add(Subst *su, const Var *from, Atom to);
Exp *subst_exp(Ctx *cx, Subst *su, const Exp *e);
/* Statement: the pattern gets fresh variables, added to su for what follows. */
Stm subst_stm(Ctx *cx, Subst *su, const Stm *s);
/* Copies with fresh binders. */
Body *rename_body(Ctx *cx, const Body *b);
Lambda *rename_lambda(Ctx *cx, const Lambda *l);
Exp *rename_exp(Ctx *cx, const Exp *e);
/* The statements of lam's body with args for params appended to bl; returns the results. */
Atoms bld_inline_lambda(Bld *bl, const Lambda *lam, const Atoms *args);

/* --- query.c: questions about expressions --------------------------------------------------- */

/* The scalar operation on both parameters, in any order, that is all of op; NULL: it is more. */
const Exp *lambda_op(const Lambda *op);

static inline ExpMember exp_member(const Exp *e)
{
    return form_info[e->kind].member;
}
/* What evaluating e once costs in statements of scalar code, where it is one that is short. */
static inline int exp_steps(const Exp *e)
{
    return e->kind == E_CALL ? e->call.fn->steps : 1;
}
/* Has e one of these traits? */
static inline bool exp_is(const Exp *e, unsigned traits)
{
    return (form_info[e->kind].traits & traits) != 0;
}
/* Is it a sum, or has parts or elements that are? Such a value cannot be written outside. */
bool ext_holds_sum(const ExtType *x);
/* What cannot be of the type: elements, and what variants hold, are of its values. NULL: nothing.
 */
const char *ext_mistake(Ctx *cx, const ExtType *x);
static inline const char *ext_name(const ExtType *x)
{
    return x->alias ? x->alias : x->text;
}
static inline bool exp_is_soac(const Exp *e) /* MAP .. HIST */
{
    return exp_member(e) == M_soac;
}
static inline bool exp_is_seg(const Exp *e) /* SEGMAP .. SEGHIST */
{
    return exp_member(e) == M_seg;
}
static inline bool nest_is_ragged(const Nest *nest)
{
    return nest->at[0].row != NULL;
}
/* Is its innermost dimension the ragged one, so that reductions and scans are of rows? */
static inline bool nest_has_rows(const Nest *nest)
{
    return nest->n == 1 && nest_is_ragged(nest);
}
bool exp_is_fold(const Exp *e);  /* a SOAC with F_FOLD: REDUCE, REDOMAP */
bool exp_is_guard(const Exp *e); /* SUFF */
bool exp_is_rows(const Exp *e);  /* ROWS, PARTED, GATHER: what ranks form of an array */
/* The kind of a SOAC with fn mapped in front: a plain REDUCE or SCAN becomes another one. */
ExpKind kind_with_fn(ExpKind k);
/* The array that e is a view of; not a variable if e has not F_VIEW. */
Atom exp_view_of(const Exp *e);
const Dests *exp_dests(const Exp *e); /* of SOACs and their SEG forms; else NULL */
/* The array in whose memory result j is made, by UPDATE and F_DESTS; else not a variable. */
Atom exp_updates(const Exp *e, int j);
bool types_scalar(const Vars *vs, int from, int n); /* all of from .. n-1 */
/* Does `ask` hold of e or of an expression somewhere inside, in bodies and lambdas? */
bool exp_any(const Exp *e, bool (*ask)(const Exp *e));
bool body_any(const Body *b, bool (*ask)(const Exp *e));
bool exp_has_soac(const Exp *e); /* a SOAC somewhere inside, e itself included; so below */
bool body_has_soac(const Body *b);
bool exp_has_seg(const Exp *e); /* a parallel construct */
bool body_has_seg(const Body *b);
bool exp_has_effect(const Exp *e); /* an assertion: not to be dropped */
bool exp_has_call(const Exp *e);
/* Can evaluating e fail (a bounds check, a division by what may be zero, an assert) or not end (a
 * while loop)? Only what does not trap may be evaluated speculatively. Other loops and SOACs count
 * by their bodies. */
bool exp_traps(const Exp *e);
bool body_traps(const Body *b);

/* --- function.c --- */

const Function *function_new(Ctx *cx, const char *name, Loc loc, bool noinline, const Lambda *lam);
/* The functions that a program calls, each behind those that it calls itself. */
Functions prog_functions(Arena *a, const Prog *p);

/* --- summing.c: bodies that do nothing but reduce --- */

/* Statement `at` of a body holds its only reduction of scalars: red, a redomap; or a loop that
 * does, which combines what it gives with what it has, by the same operator (which commutes). */
typedef struct {
    int at;
    const Stm *red;
    const Exp *loop; /* NULL: there is none */
    int in_loop;     /* the number of red in its body */
} Summing;
/* Is b like that, with scalar code besides that may fail, but not in the reduction? */
bool body_sums(Ctx *cx, const Body *b, Summing *s);

/* --- alias.c: which arrays may share memory, what is consumed ------------------------------- */

/* The variables free in e that evaluating it consumes: of UPDATE, SCATTER, HIST, SEG.., LOOP inits
 * and SOAC inputs whose params the body consumes, what the branches of an IF consume. */
Vars exp_consumes(Ctx *cx, const Exp *e);

/* Aliases of statements, walked in order (essay atop alias.c). The roots of an array are the
 * variables that stand for the memory it may live in: arrays that share a root may overlap. */
typedef struct Alias Alias;
Alias *alias_new(Ctx *cx);
void alias_bind(Alias *al, Var *v, bool consumable); /* a parameter: a root of its own */
void alias_body(Alias *al, const Body *b);
Vars alias_roots(Alias *al, Atom a);         /* empty for scalars */
bool alias_is_root(Alias *al, const Var *v); /* the only one of its own */
bool alias_overlap(Alias *al, Atom a, Atom b);
bool alias_ever_consumed(Alias *al, Atom a); /* so far, in any branch or iteration */
/* Every array of the entry, at any depth, whose memory is consumed at some point. The others keep
 * their value as long as they are in scope. */
VarSet *alias_consumed(Ctx *cx, const Entry *en);
/* The first violation of the rules of consumption, NULL if there is none; *at: in which statement
 * (NULL: in the result of a body). */
const char *alias_error(const Alias *al, const Stm **at);
/* An operand to copy, before statement number `stm` of `body` (the last plus one: the operand is a
 * result), so that the violation were none. Of an analysis of whole bodies. */
typedef struct {
    Body *body;
    int stm;
    Atom *operand;
} AliasSite;
AliasSite alias_error_site(const Alias *al);
/* Walks an entry: its parameters, then its body. */
Alias *alias_entry(Ctx *cx, const Entry *en);
/* Copies arrays that would be consumed although they are still needed. */
void ir_copy_needed(Ctx *cx, Entry *en);

/* --- print.c, read.c: one text form --------------------------------------------------------- */

void ir_print(Out *o, const Prog *p);
void ir_print_exp(Out *o, const Exp *e);
void ir_print_stm(Out *o, const Stm *s);
const char *var_text(const Var *v);   /* "xs_12", interned */
const char *var_c_name(const Var *v); /* ... valid in C and OpenCL C */
const char *atom_text(Atom a);        /* "xs_12", "3i64", "1.5f32" */
const char *type_text(Type t);        /* "[n_3][4i64]f32" without suffix on sizes: "[n_3][4]f32" */
/* "!a.suff_outer_par_0 b.suff_intra_par_1": what tuners are told of a threshold's ancestors */
const char *path_text(Ctx *cx, const Path *path);
const char *nest_text(const Nest *nest); /* "<xs in xss> <x in xs>" as the paper prints it */
/* Reads and checks a program; errors are diagnostics about the text, source `name`: NULL then. */
Prog *ir_read(Ctx *cx, const char *name, const char *text, size_t n);

/* --- verify.c ------------------------------------------------------------------------------- */

/* Checks the invariants above and the dialect; an internal error names the pass else. */
void ir_verify(Ctx *cx, const Prog *p, const char *pass);
/* The same as a question: NULL if well-formed, else what is wrong (for tests). */
const char *ir_check(Ctx *cx, const Prog *p);
const char *ir_check_at(Ctx *cx, const Prog *p, Loc *at); /* also where */

/* --- passes on the IR ----------------------------------------------------------------------- */

PassFn pass_functions;     /* calls.c, SOAC dialect: functions simplified, or inlined */
PassFn pass_calls;         /* calls.c, SEG dialect: what the host calls is inlined */
PassFn pass_simplify;      /* simplify.c, both dialects */
PassFn pass_cse;           /* cse.c, both dialects */
PassFn pass_cse_views;     /* cse.c, both dialects: only of scalars and views */
PassFn pass_interchange;   /* loop_interchange.c, SEG dialect: nests run along their arrays */
PassFn pass_choices;       /* choices.c, SOAC dialect: rows made in two ways, chosen by elements */
PassFn pass_hoist;         /* hoist.c, both dialects: loop- and nest-invariant code outwards */
PassFn pass_fuse;          /* fuse.c, SOAC dialect */
PassFn pass_renest;        /* renest.c, SOAC dialect: maps take the shape in which they are read */
PassFn pass_rematerialise; /* rematerialise.c, SEG dialect: readers compute cheap arrays */
PassFn pass_ahead;         /* ahead.c, SOAC dialect: what a loop reduces a turn ahead, fused */
PassFn pass_operands;      /* chains/operands.c, SOAC dialect: what matrix units take */
PassFn pass_turn_sums, pass_factored; /* chains/, SOAC dialect: sums of turns; factors of sums */
PassFn pass_masked; /* filters/masked.c, SOAC dialect: sums of what a filter keeps */
PassFn pass_joined; /* joined.c, SOAC dialect: SOACs read parts, concatenations are not made */

#endif
