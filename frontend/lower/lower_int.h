/* Shared by the files of lowering, lower*.c; nobody else includes it.
 *
 * Lowering is a partial evaluator. An expression of the language evaluates to a Val, known in shape
 * at compile time: atoms for scalars and arrays, tuples of Vals for tuples and records (fields
 * sorted by name), functions with what they captured. An array of tuples is a tuple of arrays that
 * agree in the outer sizes. Applying a function evaluates its body with the actual arguments, so
 * type and size polymorphism and function arguments never reach the IR. The types of the IR atoms
 * are the truth about sizes; the types of the tree are consulted where a wanted size must be known
 * (annotations, branches and loops) and where there is no value yet (literals, empty arrays,
 * parameters).
 *
 * The files are here in their order, each above those before it; the ways up are lower_exp and
 * apply.
 *
 * Fixed local names: L the state, e an expression of the tree or of the IR, v a Val, at AType. */
#ifndef FRONTEND_LOWER_LOWER_INT_H
#define FRONTEND_LOWER_LOWER_INT_H

#include "base/intern.h"
#include "frontend/lower/lower.h"
#include "ir/stops.h"

#include <setjmp.h>

typedef struct Val Val;
typedef struct Env Env;
typedef struct Fun Fun;
typedef struct SumLayout SumLayout;
typedef VEC(Val *) Vals;

typedef enum { V_ATOM, V_TUPLE, V_FUN } ValKind;
struct Val {
    ValKind kind;
    Atom atom;            /* V_ATOM: scalar or array */
    Vals elems;           /* V_TUPLE: components in order */
    const SumLayout *sum; /* V_TUPLE: of a sum (lower_layout.c), else NULL */
    Fun *fun;             /* V_FUN */
};

/* What each constructor of a sum holds: the structure of a tuple, and which components of the sum
 * its leaves are. */
typedef VEC(int) SumPlaces;
struct SumLayout {
    Vals holds;
    VEC(SumPlaces) places;
};

/* What a function value does when it has all its arguments. */
typedef enum {
    FUN_LAMBDA,  /* exp: AE_LAMBDA */
    FUN_DEF,     /* def: its body; env is empty for a top-level definition */
    FUN_BUILTIN, /* bind->builtin */
    FUN_SECTION, /* (op right) */
    FUN_PATH,    /* exp: AE_PATHSECT */
    FUN_HOLE,    /* exp: AE_HOLE */
} FunKind;

struct Fun {
    FunKind kind;
    int arity;
    Vals args; /* given so far: fewer than arity */
    Env *env;
    const AExp *exp;
    const Def *def;
    const Binding *bind;
    const AType
        *type; /* as instantiated at the use, NULL if unknown; its sizes are names in env_use */
    Env *env_use;
    Val *op, *right;
};

/* Innermost first. Type parameters are bound too: to a value of the type that has `drop` more outer
 * dimensions. */
struct Env {
    const Binding *bind; /* NULL: a function's body begins */
    Val *val;
    int drop;
    const AType *type; /* of a type parameter that no value shows; in type_env */
    const Env *type_env;
    const Fun *call; /* bind NULL: of which definition the body is, and at which types it is used */
    Env *next;
};

/* An accumulator is the list of what was written to it: a tuple of arrays like those that it is
 * for, which are there for their sizes alone, how many writes there were, and the indices and
 * values of the first of them; what these two are decides lower_acc.c. */
enum { ACC_LIKE, ACC_COUNT, ACC_AT, ACC_VALUES };

/* Known about i64 atoms in a scope: res = op a b, a == b, a >= 0, or that an array of a * b
 * elements is not too large. */
typedef enum { FACT_OP, FACT_EQ, FACT_NONNEG, FACT_PRODUCT } FactKind;
typedef struct {
    FactKind kind;
    PrimOp op;
    Atom a, b, res;
} Fact;

/* What a size that only the run knows is in one evaluation of the code whose types speak of it. */
typedef struct {
    int id;
    const Env *body; /* the function's body that is evaluated, NULL outside of all */
    Atom n;
} SizeMet;

/* A body under construction and what is known there. */
typedef struct Scope Scope;
struct Scope {
    Scope *up;
    Bld bld;
    VEC(Fact) facts;
    VEC(SizeMet) met;
};

/* A type of the interface: its name with the parts of records and sums sorted, and the one
 * it has. */
typedef struct {
    const char *sorted, *name;
} ExtName;
typedef VEC(ExtName) ExtNames;

typedef struct Low {
    Ctx *cx;
    const Ast *ast;
    Entry *entry;            /* being made */
    const FeGiven *given;    /* or NULL */
    UserParams *user_params; /* of the entry */
    ExtNames *ext_names;     /* that entries write */
    Scope *sc, *root;        /* where statements go; the entry's body */
    Val **consts;            /* by uid: top-level values met in this entry, */
    VEC(const Def *) met;    /* these */
    PtrMap *shared;          /* of the program: Def -> Shared (lower_function.c) */
    int n_within;            /* recursive functions lowered within others, of this entry */
    int *n_functions;        /* of the program */
    Val *acc;        /* the accumulator that the innermost function that writes began with */
    unsigned attrs;  /* of the expression around, for the SOACs directly inside */
    bool unsafe;     /* inside #[unsafe] */
    Loc site;        /* in library code: the call in the user's program */
    const char *tmp; /* the base name of what has no better one */
    int n_varying;   /* sizes of type variables' values made up so far */
    int n_calls;     /* of functions of the program, up to MAX_CALLS: most are inlined */
    VarMap
        *guards; /* the names of values that are asserted: the assertion of each; NULL: none yet */
    PtrSet *droppable; /* assertions that go if none of their names is used */
    /* What is above those that need it, set by lower.c: parts of expressions are expressions, and
     * bodies of builtins apply functions (lower_exp, apply). */
    Val *(*exp)(struct Low *L, Env *env, const AExp *e);
    Val *(*apply)(struct Low *L, Val *fn, const Vals *args, Loc loc);
    struct Recursion
        *recursion;  /* functions that call themselves, being lowered: innermost first */
    jmp_buf abandon; /* after a limitation was reported */
} Low;

/* An application of a builtin. */
typedef struct {
    const Fun *fn;
    BuiltinId id;
    Val **arg;
    int n;
    Loc loc;
} Call;

enum { MAX_CALLS = 100000, MAX_WITHIN = 16 };

/* Reports a known limitation and gives up this entry. */
#define low_limit(L, ...) (diag_limit(__VA_ARGS__), longjmp((L)->abandon, 1))

/* --- Parts ---------------------------------------------------------------------------------- */

/* The value of a part of an expression (eval_exp); what a function value gives (apply_fun). */
static inline Val *lower_exp(Low *L, Env *env, const AExp *e)
{
    return L->exp(L, env, e);
}
static inline Val *apply(Low *L, Val *fn, const Vals *args, Loc loc)
{
    return L->apply(L, fn, args, loc);
}

/* --- lower_val.c: values, scopes, statements ------------------------------------------------ */

Val *val_atom(Low *L, Atom a);
/* (): a scalar that says nothing, so that arrays of () have a size as others have. */
Val *val_unit(Low *L);
Val *val_tuple(Low *L, Vals elems);
Val *val_pair(Low *L, Val *a, Val *b);
Val *val_fun(Low *L, Fun fn);
/* The scalars and arrays of a value, in order; functions are passed over. */
Atoms val_leaves(Low *L, const Val *v);
/* The first of them, NULL if there is none. */
const Atom *val_first_leaf(const Val *v);
/* The structure of `like` with other leaves. */
Val *val_rebuild(Low *L, const Val *like, const Atoms *leaves);
bool val_has_fun(const Val *v);
Atom val_scalar(const Val *v, Loc loc); /* the atom of a V_ATOM */

/* The position for what stands at loc: in library code that of the call in the user's program. */
Loc low_loc(const Low *L, Loc loc);

Env *env_add(Low *L, Env *env, const Binding *b, Val *v);
Env *env_enter(Low *L, Env *env);                      /* for the body of a function */
const Env *env_find(const Env *env, const Binding *b); /* NULL if unbound */

Scope *scope_push(Low *L);
void scope_pop(Low *L, Scope *sc);    /* sc is the innermost; it can still be added to */
void scope_splice(Low *L, Scope *sc); /* statements and facts of the popped sc, here */

Atoms emit_all(Low *L, const char *base, Exp *e);
Atom emit(Low *L, Exp *e);      /* one result */
void emit_none(Low *L, Exp *e); /* no result */
/* Gives fresh results the name of the variable that they are bound to. */
void name_val(Low *L, Val *v, const char *name);
/* The field of that name of a record or tuple. */
Val *lower_project(const AType *at, const Val *v, const char *name, Loc loc);
Val *apply1(Low *L, Val *fn, Val *a, Loc loc);
Val *apply2(Low *L, Val *fn, Val *a, Val *b, Loc loc);

/* --- lower_layout.c: sums ------------------------------------------------------------------- */

/* The sum of which constructor number k would hold the tuple holds[k], and `chosen` does (-1: none
 * in particular). An array of sums has as many dimensions as `rank` says. */
Val *val_sum(Low *L, const Vals *holds, int chosen, Atom tag, int rank);
/* The tuple that constructor k of the sum, or the sums in an array, holds. */
Val *sum_holds(Low *L, const Val *v, int k);
/* The type of a constructor's number. */
PrimType sum_tag(const AType *at);
/* Of how many scalars and arrays a value of a type consists that has no type parameters. */
int sum_values(Low *L, const AType *at);
/* Which of these what constructor k holds is, in order; without what stands for (). */
SumPlaces sum_type_places(Low *L, const AType *at, int k);

/* --- lower_num.c: numbers, what is known of them, assertions -------------------------------- */

Atom atom_highest(PrimType t);
Atom atom_lowest(PrimType t);
Atom atom_number(PrimType t, int i);
Atom neutral(PrimType t, PrimOp op); /* of ADD MUL MIN MAX LAND LOR AND OR XOR */
/* Enters a fact: it holds in the scope at work and further inside. */
void add_fact(Low *L, Fact f);
/* A binary operation, folded or reused where its result is already at hand (i64). */
Atom emit_op(Low *L, Loc loc, PrimOp op, Atom a, Atom b);
Atom emit_conv(Low *L, Loc loc, PrimType to, Atom a);
Atom emit_neg(Low *L, Loc loc, Atom a);
Atom emit_not(Low *L, Loc loc, Atom a);
Atom emit_both(Low *L, Loc loc, Atom a, Atom b); /* && of truth values */

void assert_that(Low *L, Loc loc, Atom cond, const char *msg, const Atom *args, int n);
/* `a == b`, else that is said of these numbers. */
void assert_eq(Low *L, Loc loc, Atom a, Atom b, const char *msg, const Atom *args, int n);
/* Asserts 0 <= n, which is at most a size; the result is the size to use (0 for a negative
 * constant). */
Atom checked_size(Low *L, Loc loc, Atom n, const char *msg, const Atom *args, int n_args);
/* 0 <= n <= most, for an n that may have wrapped around. */
Atom within(Low *L, Loc loc, Atom n, int64_t most);
/* As argument of iota and the like: 0 <= n <= MAX_SIZE is asserted. */
Atom count_arg(Low *L, Loc loc, Atom n);
/* The same where a negative one is something else, of which this is said. */
Atom count_saying(Low *L, Loc loc, Atom n, const char *negative, const Atom *args, int n_args);
/* The same, with a message of one's own, for an n that may have wrapped around. */
Atom bounded_size(Low *L, Loc loc, Atom n, const char *msg, const Atom *args, int n_args);
Atom size_sum(Low *L, Loc loc, Atom n, Atom m);     /* of sizes; asserted to be one, */
Atom size_product(Low *L, Loc loc, Atom n, Atom m); /* ... of any two numbers */
void know_nonneg(Low *L, Atom n);                   /* n is a size: 0 <= n <= MAX_SIZE */
/* arr with the type dims ++ its remaining dimensions; unequal sizes are asserted to be equal. */
Atom fit_atom(Low *L, Loc loc, Atom arr, const Atom *dims, int n);
/* Leaf by leaf to the shapes of another value of the same structure. */
Val *fit_like(Low *L, Loc loc, Val *v, const Val *like);
/* if test then a else b, of scalars at hand */
Atom emit_choice(Low *L, Loc loc, Atom test, Atom a, Atom b);
Atom at_least_0(Low *L, Loc loc, Atom n); /* n, or 0 if that is more */
/* The size of the outer dimension of all of them, asserted to be the same one: each val is changed
 * to have it. */
Atom common_width(Low *L, Loc loc, Val **vals, int n);

/* --- lower_size.c: sizes of types ----------------------------------------------------------- */

/* The sizes that a type gives to the dimensions of each leaf of a value (as far as it says: a leaf
 * under a type variable has fewer, but of one whose sizes may vary unknown ones). */
typedef VEC(const Size *) Sizes;
typedef VEC(Sizes) LeafSizes;
LeafSizes leaf_sizes(Low *L, const AType *at, const Val *v);
/* The size of an array that a sum holds, or would hold if it were of that constructor: then the
 * size may come out negative, which is 0. */
const Size *size_held(Low *L, const Size *s);
/* The atom of a size, computed here if it is an expression; false if it is unknown here. */
bool size_atom(Low *L, const Env *env, const Size *s, Atom *out);
/* The size that an unknown size s is, if it is one of v, of type `at`. */
bool size_shown_by(const AType *at, const Val *v, const Size *s, Atom *out);
/* Notes the unknown sizes of a value that is at hand, */
void meet_sizes(Low *L, const Env *env, const AType *at, const Val *v);
/* ... and the same as size_atom, of sizes with parts that were noted. For sizes at a use only: what
 * a loop or a branch results in may be of another size each time. */
bool size_met(Low *L, const Env *env, const Size *s, Atom *out);
/* Computes the sizes of a type here, so that what is computed further inside reuses them. made:
 * where arrays of this type are made in any case, which asserts their sizes (NULL: perhaps not). */
void preload_sizes(Low *L, const Env *env, const AType *at, const Loc *made);
/* Binds the still unbound sizes and types of `at` to those of v. */
Env *bind_sizes(Low *L, Env *env, const AType *at, const Val *v);
/* The same for those inside of a size, when all others in it are bound: n in [n + 1]. */
Env *bind_sizes_inside(Low *L, Env *env, const AType *at, const Val *v);
/* Makes v have the type: binds its unbound sizes, asserts that the others are as they should be. */
Val *match_type(Low *L, Env **env, const AType *at, Val *v, Loc loc);

/* Sizes and types that no argument determines, from the type at the use: `f 3 : [10]i32`. */
Env *sizes_from_use(Low *L, Env *env, const AType *scheme, const AType *use, const Env *env_use);

/* --- lower_lambda.c: functions of the IR ---------------------------------------------------- */

/* A fresh variable for each leaf of v: of its type, or of its rows' type. */
Val *params_like(Low *L, const Val *v, bool rows, Vars *params, Loc loc);
/* The function whose body is sc (popped) with result `res`. Sizes of the results that are computed
 * inside are moved out; `at` (in env; may be NULL) says what the others have to be. */
Lambda *close_lambda(Low *L, Scope *sc, Vars params, Val *res, const AType *at, const Env *env,
                     Loc loc);

/* --- lower_blank.c: values that only a type describes --------------------------------------- */

/* A number, or array of numbers, of that type. */
Atom zeros(Low *L, Loc loc, Type t);
Val *empty_array(Low *L, const Env *env, const AType *elem, Loc loc);
/* A value of zeros of the type; NULL if that says not of which sizes it is. */
Val *blank_value(Low *L, const Env *env, const AType *at, Loc loc);
/* A value of the type whose unknown sizes are 0: for its structure. */
Val *blank_structure(Low *L, const Env *env, const AType *at, Loc loc);
/* The tuple of this type, which a constructor holds that a sum is not of; `beside` is what the one
 * holds that it is of, another part of the same value. */
Val *blank_holds(Low *L, const Env *env, const AType *holds, const AType *beside,
                 const Val *beside_val, Loc loc);

/* --- lower_pat.c: patterns ------------------------------------------------------------------ */

Env *bind_pat(Low *L, Env *env, const Pat *p, Val *v);
/* Whether v is of the pattern's form. */
Atom pat_matches(Low *L, const Pat *p, const Val *v);

/* --- lower_if.c ----------------------------------------------------------------------------- */

Val *lower_if(Low *L, Env *env, const AExp *e);
/* if test then ... else ..., both sides being in popped scopes. */
Val *join_branches(Low *L, Loc loc, Atom test, Scope *s1, Val *v1, Scope *s2, Val *v2,
                   const AType *at, const Env *env);
Val *lower_short_circuit(Low *L, Env *env, const AExp *e, bool is_and);

/* --- lower_index.c: indexing, ranges, array literals ---------------------------------------- */

typedef struct {
    Atom start, step, count; /* count: i64 */
} Range;
Range lower_range_parts(Low *L, Env *env, const AExp *e);
Val *lower_range(Low *L, Env *env, const AExp *e);
Val *lower_array(Low *L, Env *env, const AExp *e);
Val *hole_value(Low *L, Env *env, const AExp *e, const AType *at);
Val *lower_index(Low *L, Env *env, Val *arr, const ADimIndices *dims, Loc loc);
/* (.path) of v */
Val *lower_path(Low *L, Env *env, const Steps *path, Val *v, Loc loc);
Val *lower_update(Low *L, Env *env, const AExp *e);
/* Each leaf's rows at positions start, start+stride, ... (n of them) without any check. */
Val *slice_rows(Low *L, Loc loc, Val *v, Atom start, Atom n, Atom stride, bool safe);
Val *index_row(Low *L, Loc loc, Val *v, Atom i, bool safe);
Atom make_iota(Low *L, Loc loc, Atom n);

/* --- lower_loop.c, lower_sum.c, lower_assert.c ---------------------------------------------- */

Val *lower_loop(Low *L, Env *env, const AExp *e);
Val *lower_constr(Low *L, Env *env, const AExp *e);
Val *lower_match(Low *L, Env *env, const AExp *e);
Val *lower_assert(Low *L, Env *env, const AExp *e);
/* Takes the program's assertions out of an entry's body of which nobody uses the value. */
void drop_assertions(Low *L, Body *b);

/* --- lower_ext.c: types of entry points as their callers see them --------------------------- */

ExtParam ext_param(Low *L, const EntryParam *p);
/* Notes the names that the entry writes, before any is asked for. */
void ext_collect_names(Low *L, const EntryPoint *p);
ExtType ext_type_of(Low *L, const AType *at); /* of a type without parameters */
/* Adds the leaves of v, which is of the type, that such a type covers: all but those for () outside
 * of arrays. */
void ext_leaves(Low *L, const AType *at, const Val *v, Atoms *out);

/* --- lower_param.c -------------------------------------------------------------------------- */

/* Values that the entry gets as further arguments. */
Vals entry_params(Low *L, const EntryParam *params, int n);

/* --- lower_soac.c, lower_acc.c, lower_array.c, lower_prim.c: builtins ----------------------- */

/* NULL if the builtin is not of that file's. */
Val *lower_soac(Low *L, const Call *c);
Val *lower_accumulator(Low *L, const Call *c);
Val *lower_array_builtin(Low *L, const Call *c);
Val *copied(Low *L, Loc loc, const Val *v); /* its arrays, in memory of their own */
Val *lower_prim(Low *L, const Call *c);
/* A member without parameters: f32.inf. */
Val *lower_member_const(Low *L, const Binding *b);
/* map over arrays of the same width with a body made by `body` (in a scope of its own). */
typedef Val *BodyFn(Low *L, void *env, Val **args, Loc loc);
Val *make_map(Low *L, Loc loc, Val **arrs, int n, BodyFn *body, void *env, const AType *elem_type,
              const Env *tenv);
/* Reduction of an array of scalars with an operation that has a neutral element. */
Atom reduce_prim(Low *L, Loc loc, PrimOp op, Atom arr);
/* The type of a call's result in fn->env_use; NULL if not known. */
const AType *call_result_type(const Call *c);
/* The type of the elements of an array type; NULL if not known. */
const AType *elem_of(const AType *at);

/* --- lower_global.c ------------------------------------------------------------------------- */

Val *def_fun(Low *L, const Def *def, Env *env, const AType *use, Env *env_use);
/* A top-level value or function. */
Val *lower_global(Low *L, const Binding *b, const AType *use, Env *env_use, Loc loc);

/* --- lower_function.c ----------------------------------------------------------------------- */

typedef Val *CallFn(Low *L, const Fun *fn, Val **args, Loc loc);
/* Applies a definition: by a call of a function of the IR if it is one, else inlined. */
Val *call_shared(Low *L, const Fun *fn, Val **args, Loc loc, CallFn *inlined);
/* --- lower_apply.c -------------------------------------------------------------------------- */

/* What L->apply is. */
Val *apply_fun(Low *L, Val *fn, const Vals *args, Loc loc);

/* --- lower_exp.c ---------------------------------------------------------------------------- */

/* What L->exp is. */
Val *eval_exp(Low *L, Env *env, const AExp *e);

#endif
